// SPDX-License-Identifier: Apache-2.0
// Codec 5 was never specified: Java wrote Hadoop's frames, C++ once wrote bare blocks. Which it is
// shows only when the sizes add up.
#include "format/parquet/lz4_hadoop.h"

#include "base/cursor.h"

/** One frame: its size, then packed blocks until that is reached. */
static bool decode_frame(fz_compressor *compressor, fz_cur *cur, size_t end, fz_buf *out) {
    size_t left = fz_cur_be32(cur);
    if (cur->fault != FZ_CUR_OK || left > end - out->size) {
        return false;
    }
    while (left > 0) {
        size_t before = out->size;
        size_t packed = fz_cur_be32(cur);
        const uint8_t *block = fz_cur_bytes(cur, packed);
        if (cur->fault != FZ_CUR_OK || packed == 0 ||
            fz_decompress_stream(compressor, FZ_CODEC_LZ4_RAW, fz_str_make(block, packed), left,
                                 out, NULL) != FZ_OK ||
            out->size == before) {
            return false;
        }
        left -= out->size - before;
    }
    return true;
}

static bool decode_frames(fz_compressor *compressor, fz_str input, size_t size, fz_buf *out) {
    fz_cur cur = fz_cur_make(input.data, input.size);
    size_t end = out->size + size;
    while (cur.pos < input.size) {
        if (!decode_frame(compressor, &cur, end, out)) {
            return false;
        }
    }
    return out->size == end;
}

fz_code fz_parquet_lz4_hadoop_decode(fz_compressor *compressor, fz_str input, size_t size,
                                     fz_buf *out, fz_err *err) {
    size_t start = out->size;
    if (decode_frames(compressor, input, size, out)) {
        return FZ_OK;
    }
    FZ_TRY(fz_buf_check(out, "parquet page", err));
    out->size = start;
    return fz_decompress(compressor, FZ_CODEC_LZ4_RAW, input, size, out, err);
}
