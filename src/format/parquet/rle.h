// SPDX-License-Identifier: Apache-2.0
// The RLE / bit-packing hybrid of levels and dictionary indices (parquet-format Encodings.md).
#ifndef FZ_FORMAT_PARQUET_RLE_H
#define FZ_FORMAT_PARQUET_RLE_H

#include "base/buf.h"
#include "base/cursor.h"

/** Bits that hold values 0..max. */
static inline unsigned fz_parquet_bit_width(uint32_t max) {
    return max ? 32u - (unsigned)__builtin_clz(max) : 0;
}

/** Append `count` values below 2^bit_width (0..32) as hybrid runs; bit_width 0 gives one run
 * without bytes. */
void fz_parquet_rle_encode(fz_buf *out, const uint32_t *values, size_t count, unsigned bit_width);
/** As above for levels, which are bytes. */
void fz_parquet_rle_encode_levels(fz_buf *out, const uint8_t *levels, size_t count,
                                  unsigned bit_width);
/** Append one run of `count` times `value`. */
void fz_parquet_rle_encode_run(fz_buf *out, uint32_t value, size_t count, unsigned bit_width);
/** Append `count` values, a multiple of 32, bit-packed without a head. */
void fz_parquet_bits_pack(fz_buf *out, const uint32_t *values, size_t count, unsigned bit_width);

/** Where a run of runs is being decoded. */
typedef struct fz_parquet_rle {
    const uint8_t *at;
    const uint8_t *end;
    unsigned bit_width;
    uint32_t value;      // of the repeated run
    uint64_t repeated;   // values left of it
    uint64_t packed;     // values left of a bit-packed run
    uint64_t packed_bit; // next bit of it, from `packed_at`
    const uint8_t *packed_at;
} fz_parquet_rle;

/** bit_width 0..32. */
void fz_parquet_rle_init(fz_parquet_rle *rle, fz_str bytes, unsigned bit_width);
/** Decode exactly `count` values; false when the bytes end before or are malformed. */
FZ_CHECKED bool fz_parquet_rle_decode(fz_parquet_rle *rle, uint32_t *out, size_t count);
/** As above for levels of at most 8 bits. */
FZ_CHECKED bool fz_parquet_rle_decode_levels(fz_parquet_rle *rle, uint8_t *out, size_t count);

#endif
