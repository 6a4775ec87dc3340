// SPDX-License-Identifier: Apache-2.0
// Compression of whole blocks through zstd, zlib, lz4, snappy and brotli.
#include "base/codec/compression.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"

enum {
    GZIP_WINDOW = 15 + 16, // zlib's windowBits for each wrapping
    RAW_WINDOW = -15,
    ZLIB_WINDOW = 15,
    BROTLI_LEVEL = 8,       // as Arrow; the library's own 11 is a hundred times slower
    SNAPPY_MOST = 64,       // no element of snappy gives more than 64 bytes
    LZ4_MOST = 255,         // a byte of LZ4 gives at most 255
    FIRST_STEP = 32 * 1024, // first piece of an output of unknown size
};

const char *fz_codec_name(fz_codec codec) {
    static const char *const names[] = {
        [FZ_CODEC_NONE] = "none",       [FZ_CODEC_SNAPPY] = "snappy", [FZ_CODEC_GZIP] = "gzip",
        [FZ_CODEC_DEFLATE] = "deflate", [FZ_CODEC_ZLIB] = "zlib",     [FZ_CODEC_ZSTD] = "zstd",
        [FZ_CODEC_LZ4_RAW] = "lz4_raw", [FZ_CODEC_BROTLI] = "brotli",
    };
    return (size_t)codec < FZ_COUNT(names) ? names[codec] : "unknown";
}

void fz_compressor_deinit(fz_compressor *compressor) {
    if (compressor) {
        ZSTD_freeCCtx(compressor->zstd_compress);
        ZSTD_freeDCtx(compressor->zstd_decompress);
        *compressor = (fz_compressor){0};
    }
}

static ZSTD_DCtx *zstd_decoder(fz_compressor *compressor) {
    if (!compressor->zstd_decompress) {
        compressor->zstd_decompress = ZSTD_createDCtx();
        FZ_ASSERT(compressor->zstd_decompress != NULL);
    }
    ZSTD_DCtx_reset(compressor->zstd_decompress, ZSTD_reset_session_only);
    return compressor->zstd_decompress;
}

static int clamp(int level, int lowest, int highest) {
    return level < lowest ? lowest : level > highest ? highest : level;
}

static fz_code no_compression(fz_codec codec, const char *why, fz_err *err) {
    return fz_err_set(err, FZ_INTERNAL, "%s compression failed: %s", fz_codec_name(codec), why);
}

static int zlib_window(fz_codec codec) {
    return codec == FZ_CODEC_GZIP ? GZIP_WINDOW : codec == FZ_CODEC_ZLIB ? ZLIB_WINDOW : RAW_WINDOW;
}

static fz_code zlib_compress(fz_codec codec, int level, fz_str input, fz_buf *out, fz_err *err) {
    z_stream stream = {0};
    level = level ? clamp(level, 1, 9) : Z_DEFAULT_COMPRESSION;
    if (deflateInit2(&stream, level, Z_DEFLATED, zlib_window(codec), 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return no_compression(codec, "no memory", err);
    }
    size_t left = input.size;
    size_t start = out->size;
    int state = Z_OK;
    stream.next_in = (Bytef *)(uintptr_t)input.data;
    if (!fz_buf_reserve(out, deflateBound(&stream, input.size))) {
        deflateEnd(&stream);
        return fz_buf_check(out, "compressed block", err);
    }
    while (state == Z_OK) {
        // zlib counts in 32 bits
        uInt piece = left > UINT_MAX ? UINT_MAX : (uInt)left;
        size_t room = out->capacity - out->size;
        stream.avail_in = piece;
        stream.avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
        stream.next_out = out->data + out->size;
        uInt offered = stream.avail_out;
        state = deflate(&stream, left == piece ? Z_FINISH : Z_NO_FLUSH);
        left -= piece - stream.avail_in;
        out->size += offered - stream.avail_out;
    }
    deflateEnd(&stream);
    if (state != Z_STREAM_END) {
        out->size = start;
        return no_compression(codec, "output larger than its bound", err);
    }
    return FZ_OK;
}

static fz_code zstd_compress(fz_compressor *compressor, int level, fz_str input, fz_buf *out,
                             fz_err *err) {
    if (!compressor->zstd_compress) {
        compressor->zstd_compress = ZSTD_createCCtx();
        FZ_ASSERT(compressor->zstd_compress != NULL);
    }
    if (fz_buf_reserve(out, ZSTD_compressBound(input.size))) {
        size_t size = ZSTD_compressCCtx(
            compressor->zstd_compress, out->data + out->size, out->capacity - out->size, input.data,
            input.size, level ? clamp(level, 1, ZSTD_maxCLevel()) : ZSTD_CLEVEL_DEFAULT);
        if (ZSTD_isError(size)) {
            return no_compression(FZ_CODEC_ZSTD, ZSTD_getErrorName(size), err);
        }
        out->size += size;
    }
    return fz_buf_check(out, "compressed block", err);
}

static fz_code snappy_deflate(fz_str input, fz_buf *out, fz_err *err) {
    if (input.size > UINT32_MAX) {
        return fz_err_set(err, FZ_LIMIT, "a block of %zu bytes is too large for snappy",
                          input.size);
    }
    size_t size = snappy_max_compressed_length(input.size);
    if (fz_buf_reserve(out, size)) {
        if (snappy_compress(input.data, input.size, (char *)out->data + out->size, &size) !=
            SNAPPY_OK) {
            return no_compression(FZ_CODEC_SNAPPY, "refused", err);
        }
        out->size += size;
    }
    return fz_buf_check(out, "compressed block", err);
}

static fz_code lz4_deflate(fz_str input, fz_buf *out, fz_err *err) {
    if (input.size > LZ4_MAX_INPUT_SIZE) {
        return fz_err_set(err, FZ_LIMIT, "a block of %zu bytes is too large for lz4", input.size);
    }
    int bound = LZ4_compressBound((int)input.size);
    if (fz_buf_reserve(out, (size_t)bound)) {
        int size =
            LZ4_compress_default(input.data, (char *)out->data + out->size, (int)input.size, bound);
        if (size <= 0) {
            return no_compression(FZ_CODEC_LZ4_RAW, "refused", err);
        }
        out->size += (size_t)size;
    }
    return fz_buf_check(out, "compressed block", err);
}

static fz_code brotli_deflate(int level, fz_str input, fz_buf *out, fz_err *err) {
    size_t size = BrotliEncoderMaxCompressedSize(input.size);
    if (fz_buf_reserve(out, size)) {
        level = level ? clamp(level, 0, 11) : BROTLI_LEVEL;
        if (!BrotliEncoderCompress(level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, input.size,
                                   (const uint8_t *)input.data, &size, out->data + out->size)) {
            return no_compression(FZ_CODEC_BROTLI, "refused", err);
        }
        out->size += size;
    }
    return fz_buf_check(out, "compressed block", err);
}

fz_code fz_compress(fz_compressor *compressor, fz_codec codec, int level, fz_str input, fz_buf *out,
                    fz_err *err) {
    if (!input.data) {
        input = fz_str_make("", 0);
    }
    switch (codec) {
    case FZ_CODEC_NONE:
        fz_buf_append_str(out, input);
        return fz_buf_check(out, "block", err);
    case FZ_CODEC_SNAPPY:
        return snappy_deflate(input, out, err);
    case FZ_CODEC_GZIP:
    case FZ_CODEC_DEFLATE:
    case FZ_CODEC_ZLIB:
        return zlib_compress(codec, level, input, out, err);
    case FZ_CODEC_ZSTD:
        return zstd_compress(compressor, level, input, out, err);
    case FZ_CODEC_LZ4_RAW:
        return lz4_deflate(input, out, err);
    case FZ_CODEC_BROTLI:
        return brotli_deflate(level, input, out, err);
    }
    return fz_err_set(err, FZ_INTERNAL, "unknown codec %d", (int)codec);
}

static fz_code corrupt(fz_codec codec, const char *why, fz_err *err) {
    return fz_err_set(err, FZ_CORRUPT, "%s block is corrupt: %s", fz_codec_name(codec), why);
}

// One step of a streaming decoder: consumes and fills what it can.
typedef struct fz_step_io {
    const uint8_t *in;
    size_t in_left;
    uint8_t *to;
    size_t room;
} fz_step_io;
typedef enum fz_step { STEP_MORE, STEP_END, STEP_BAD } fz_step;
typedef fz_step fz_step_fn(void *decoder, fz_step_io *io);

static fz_step zlib_step(void *decoder, fz_step_io *io) {
    z_stream *stream = decoder;
    uInt offered_in = io->in_left > UINT_MAX ? UINT_MAX : (uInt)io->in_left;
    uInt offered_out = io->room > UINT_MAX ? UINT_MAX : (uInt)io->room;
    stream->next_in = (Bytef *)(uintptr_t)io->in;
    stream->avail_in = offered_in;
    stream->next_out = io->to;
    stream->avail_out = offered_out;
    int state = inflate(stream, Z_NO_FLUSH);
    io->in += offered_in - stream->avail_in;
    io->in_left -= offered_in - stream->avail_in;
    io->to += offered_out - stream->avail_out;
    io->room -= offered_out - stream->avail_out;
    return state == Z_STREAM_END                   ? STEP_END
           : state == Z_OK || state == Z_BUF_ERROR ? STEP_MORE
                                                   : STEP_BAD;
}

// RFC 1952: a file may be several members one behind the other.
static fz_step gzip_step(void *decoder, fz_step_io *io) {
    fz_step step = zlib_step(decoder, io);
    if (step == STEP_END && io->in_left > 0) {
        return inflateReset(decoder) == Z_OK ? STEP_MORE : STEP_BAD;
    }
    return step;
}

static fz_step zstd_step(void *decoder, fz_step_io *io) {
    ZSTD_inBuffer in = {io->in, io->in_left, 0};
    ZSTD_outBuffer out = {io->to, io->room, 0};
    size_t hint = ZSTD_decompressStream(decoder, &out, &in);
    io->in += in.pos;
    io->in_left -= in.pos;
    io->to += out.pos;
    io->room -= out.pos;
    if (ZSTD_isError(hint)) {
        return STEP_BAD;
    }
    return hint == 0 && io->in_left == 0 ? STEP_END : STEP_MORE;
}

static fz_step brotli_step(void *decoder, fz_step_io *io) {
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder, &io->in_left, &io->in, &io->room, &io->to, NULL);
    return result == BROTLI_DECODER_RESULT_SUCCESS ? STEP_END
           : result == BROTLI_DECODER_RESULT_ERROR ? STEP_BAD
                                                   : STEP_MORE;
}

// Runs a decoder until its end, at most `limit` bytes. *over: it had more to give.
static fz_code pull(fz_codec codec, fz_step_fn *step, void *decoder, fz_str input, size_t limit,
                    fz_buf *out, bool *over, fz_err *err) {
    fz_step_io io = {(const uint8_t *)input.data, input.size, NULL, 0};
    size_t start = out->size;
    for (;;) {
        size_t done = out->size - start;
        uint8_t spare; // where one byte too many shows itself
        size_t room = limit - done;
        size_t grow = room < FIRST_STEP ? room : FIRST_STEP;
        if (room && !fz_buf_reserve(out, grow)) {
            out->size = start;
            return fz_buf_check(out, "decompressed block", err);
        }
        size_t free_room = out->capacity - out->size;
        size_t offered = room == 0 ? 1 : room < free_room ? room : free_room;
        size_t in_before = io.in_left;
        io.to = room ? out->data + out->size : &spare;
        io.room = offered;
        fz_step state = step(decoder, &io);
        size_t got = offered - io.room;
        if (state == STEP_BAD) {
            out->size = start;
            return corrupt(codec, "bad data", err);
        }
        if (room == 0 && got) {
            out->size = start;
            *over = true;
            return FZ_LIMIT;
        }
        out->size += got;
        if (state == STEP_END) {
            break;
        }
        if (got == 0 && io.in_left == in_before) {
            out->size = start;
            return corrupt(codec, "it ends early", err);
        }
    }
    // Python's Avro libraries cut a zlib stream by one byte at its end to make raw deflate, which
    // leaves three bytes of its checksum.
    size_t tolerated = codec == FZ_CODEC_DEFLATE ? 4 : 0;
    if (io.in_left > tolerated) {
        out->size = start;
        return corrupt(codec, "bytes behind its end", err);
    }
    return FZ_OK;
}

static fz_code zlib_pull(fz_codec codec, fz_str input, size_t limit, fz_buf *out, bool *over,
                         fz_err *err) {
    z_stream stream = {0};
    if (inflateInit2(&stream, zlib_window(codec)) != Z_OK) {
        return fz_err_set(err, FZ_LIMIT, "no memory for %s", fz_codec_name(codec));
    }
    fz_code code = pull(codec, codec == FZ_CODEC_GZIP ? gzip_step : zlib_step, &stream, input,
                        limit, out, over, err);
    inflateEnd(&stream);
    return code;
}

static fz_code brotli_pull(fz_str input, size_t limit, fz_buf *out, bool *over, fz_err *err) {
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (!state) {
        return fz_err_set(err, FZ_LIMIT, "no memory for brotli");
    }
    fz_code code = pull(FZ_CODEC_BROTLI, brotli_step, state, input, limit, out, over, err);
    BrotliDecoderDestroyInstance(state);
    return code;
}

static fz_code snappy_pull(fz_str input, size_t limit, fz_buf *out, bool *over, fz_err *err) {
    size_t size;
    if (snappy_uncompressed_length(input.data, input.size, &size) != SNAPPY_OK ||
        size / SNAPPY_MOST > input.size) {
        return corrupt(FZ_CODEC_SNAPPY, "bad length", err);
    }
    if (size > limit) {
        *over = true;
        return FZ_LIMIT;
    }
    if (fz_buf_reserve(out, size)) {
        if (snappy_uncompress(input.data, input.size, (char *)out->data + out->size, &size) !=
            SNAPPY_OK) {
            return corrupt(FZ_CODEC_SNAPPY, "bad data", err);
        }
        out->size += size;
    }
    return fz_buf_check(out, "decompressed block", err);
}

// An LZ4 block does not say its size, and its decoder does not say why it failed: too long and
// corrupt are told apart by the room it had.
static fz_code lz4_pull(fz_str input, size_t limit, fz_buf *out, bool *over, fz_err *err) {
    if (input.size > INT_MAX) {
        return corrupt(FZ_CODEC_LZ4_RAW, "too large", err);
    }
    size_t most = input.size * LZ4_MOST;
    most = most < INT_MAX ? most : INT_MAX;
    bool bounded = limit < most;
    most = bounded ? limit : most;
    size_t room = input.size * 4 + 64;
    for (;; room *= 2) {
        room = room < most ? room : most;
        if (!fz_buf_reserve(out, room)) {
            return fz_buf_check(out, "decompressed block", err);
        }
        int size = LZ4_decompress_safe(input.data, (char *)out->data + out->size, (int)input.size,
                                       (int)room);
        if (size >= 0) {
            out->size += (size_t)size;
            return FZ_OK;
        }
        if (room == most) {
            *over = bounded;
            return bounded ? FZ_LIMIT : corrupt(FZ_CODEC_LZ4_RAW, "bad data", err);
        }
    }
}

// At most `limit` bytes of any codec; LIMIT with *over if there were more (err is not set then).
static fz_code pull_any(fz_compressor *compressor, fz_codec codec, fz_str input, size_t limit,
                        fz_buf *out, bool *over, fz_err *err) {
    switch (codec) {
    case FZ_CODEC_NONE:
        if (input.size > limit) {
            *over = true;
            return FZ_LIMIT;
        }
        fz_buf_append_str(out, input);
        return fz_buf_check(out, "block", err);
    case FZ_CODEC_SNAPPY:
        return snappy_pull(input, limit, out, over, err);
    case FZ_CODEC_GZIP:
    case FZ_CODEC_DEFLATE:
    case FZ_CODEC_ZLIB:
        return zlib_pull(codec, input, limit, out, over, err);
    case FZ_CODEC_ZSTD:
        return pull(codec, zstd_step, zstd_decoder(compressor), input, limit, out, over, err);
    case FZ_CODEC_LZ4_RAW:
        return lz4_pull(input, limit, out, over, err);
    case FZ_CODEC_BROTLI:
        return brotli_pull(input, limit, out, over, err);
    }
    return fz_err_set(err, FZ_INTERNAL, "unknown codec %d", (int)codec);
}

// zstd and LZ4 decode in one call into room of the right size.
static fz_code decompress_at_once(fz_compressor *compressor, fz_codec codec, fz_str input,
                                  size_t size, fz_buf *out, fz_err *err) {
    if (!fz_buf_reserve(out, size ? size : 1)) {
        return fz_buf_check(out, "decompressed block", err);
    }
    uint8_t *to = out->data + out->size;
    if (codec == FZ_CODEC_ZSTD) {
        size_t got =
            ZSTD_decompressDCtx(zstd_decoder(compressor), to, size, input.data, input.size);
        if (ZSTD_isError(got)) {
            return corrupt(codec, ZSTD_getErrorName(got), err);
        }
        if (got != size) {
            return corrupt(codec, "fewer bytes than its header says", err);
        }
    } else {
        if (size > INT_MAX || input.size > INT_MAX) {
            return fz_err_set(err, FZ_LIMIT, "a block of %zu bytes is too large for lz4", size);
        }
        int got = LZ4_decompress_safe(input.data, (char *)to, (int)input.size, (int)size);
        if (got < 0 || (size_t)got != size) {
            return corrupt(codec,
                           got < 0 ? "bad data or more bytes than its header says"
                                   : "fewer bytes than its header says",
                           err);
        }
    }
    out->size += size;
    return FZ_OK;
}

fz_code fz_decompress(fz_compressor *compressor, fz_codec codec, fz_str input, size_t size,
                      fz_buf *out, fz_err *err) {
    if (input.size == 0) {
        // some writers leave nothing where there was nothing
        return size == 0 ? FZ_OK : corrupt(codec, "it is empty", err);
    }
    if (codec == FZ_CODEC_ZSTD || codec == FZ_CODEC_LZ4_RAW) {
        return decompress_at_once(compressor, codec, input, size, out, err);
    }
    size_t start = out->size;
    bool over = false;
    if (!fz_buf_reserve(out, size)) {
        return fz_buf_check(out, "decompressed block", err);
    }
    fz_code code = pull_any(compressor, codec, input, size, out, &over, err);
    if (over) {
        return corrupt(codec, "more bytes than its header says", err);
    }
    if (code == FZ_OK && out->size - start != size) {
        fz_err_set(err, FZ_CORRUPT, "%s block is corrupt: %zu bytes where %zu were expected",
                   fz_codec_name(codec), out->size - start, size);
        out->size = start;
        return FZ_CORRUPT;
    }
    return code;
}

fz_code fz_decompress_stream(fz_compressor *compressor, fz_codec codec, fz_str input, size_t limit,
                             fz_buf *out, fz_err *err) {
    if (input.size == 0) {
        return FZ_OK;
    }
    bool over = false;
    fz_code code = pull_any(compressor, codec, input, limit, out, &over, err);
    if (over) {
        return fz_err_set(err, FZ_LIMIT, "%s block is larger than the limit of %zu bytes",
                          fz_codec_name(codec), limit);
    }
    return code;
}
