// SPDX-License-Identifier: Apache-2.0
// Compression of whole blocks, with contexts reused.
#ifndef FZ_BASE_CODEC_COMPRESSION_H
#define FZ_BASE_CODEC_COMPRESSION_H

#include "base/buf.h"

typedef enum fz_codec {
    FZ_CODEC_NONE,
    FZ_CODEC_SNAPPY,
    FZ_CODEC_GZIP,    // RFC 1952 member
    FZ_CODEC_DEFLATE, // raw RFC 1951, Avro's "deflate"
    FZ_CODEC_ZLIB,    // RFC 1950
    FZ_CODEC_ZSTD,
    FZ_CODEC_LZ4_RAW, // block format
    FZ_CODEC_BROTLI,
} fz_codec;

/** Name in lower case, "zstd"; static. */
const char *fz_codec_name(fz_codec codec);

/** Contexts of one thread, made when first used. Zeroed is valid. */
typedef struct fz_compressor {
    void *zstd_compress;
    void *zstd_decompress;
} fz_compressor;

void fz_compressor_deinit(fz_compressor *compressor);

/**
 * Append the compressed form of `input` to `out`.
 *
 * level  zstd 1..22, gzip/deflate/zlib 1..9, brotli 0..11, 0 the codec's default; others ignore it
 * Errors: LIMIT (out's ceiling or budget), INTERNAL.
 */
FZ_CHECKED fz_code fz_compress(fz_compressor *compressor, fz_codec codec, int level, fz_str input,
                               fz_buf *out, fz_err *err);

/**
 * Append exactly `size` decompressed bytes to `out`.
 *
 * Errors: CORRUPT when the input is bad or does not give exactly `size` bytes; LIMIT.
 */
FZ_CHECKED fz_code fz_decompress(fz_compressor *compressor, fz_codec codec, fz_str input,
                                 size_t size, fz_buf *out, fz_err *err);

/** As fz_decompress where the size is not known (Avro blocks): at most `limit` bytes, LIMIT beyond.
 */
FZ_CHECKED fz_code fz_decompress_stream(fz_compressor *compressor, fz_codec codec, fz_str input,
                                        size_t limit, fz_buf *out, fz_err *err);

#endif
