// SPDX-License-Identifier: Apache-2.0
// Decoders of a page's values, in every encoding.
#ifndef FZ_FORMAT_PARQUET_DECODE_H
#define FZ_FORMAT_PARQUET_DECODE_H

#include "base/cursor.h"
#include "format/parquet/format.h"
#include "format/parquet/rle.h"

/**
 * Decoded values one after the other.
 *
 * fixed  booleans a byte each, numbers and fixed bytes as the file has them
 * data   byte arrays, whose ends (uint32_t) are in `ends`
 */
typedef struct fz_parquet_values {
    fz_buf fixed;
    fz_buf data;
    fz_buf ends;
} fz_parquet_values;

void fz_parquet_values_init(fz_parquet_values *values, fz_budget *budget);
void fz_parquet_values_deinit(fz_parquet_values *values);
void fz_parquet_values_reset(fz_parquet_values *values);

/** State over one page. Zeroed is valid. */
typedef struct fz_parquet_decoder {
    int physical;
    size_t width; // bytes of a value, 0 for byte arrays
    int encoding;
    fz_cur cur;         // PLAIN; the bytes of DELTA_*_BYTE_ARRAY
    uint64_t bit;       // PLAIN booleans
    fz_parquet_rle rle; // indices, RLE booleans
    const fz_parquet_values *dictionary;
    size_t dictionary_count;
    fz_buf numbers;  // DELTA_BINARY_PACKED: the page's; lengths of the byte arrays
    fz_buf prefixes; // DELTA_BYTE_ARRAY
    size_t count;    // of numbers; of values in BYTE_STREAM_SPLIT
    size_t next;
    fz_buf last; // DELTA_BYTE_ARRAY: the value before
} fz_parquet_decoder;

/** Bytes of a value of a physical type, 0 for byte arrays. */
size_t fz_parquet_physical_width(int physical, int32_t type_length);
void fz_parquet_decoder_init(fz_parquet_decoder *decoder, int physical, int32_t type_length,
                             fz_budget *budget);
void fz_parquet_decoder_deinit(fz_parquet_decoder *decoder);
/**
 * Begin the values of a page.
 *
 * bytes  stay in place while values are decoded
 * count  most values that the page can have
 * dictionary  NULL: the chunk has none
 * Errors: CORRUPT; UNSUPPORTED the encoding; LIMIT.
 */
FZ_CHECKED fz_code fz_parquet_decoder_begin(fz_parquet_decoder *decoder, int encoding, fz_str bytes,
                                            size_t count, const fz_parquet_values *dictionary,
                                            size_t dictionary_count, fz_err *err);
/** Append the next `count` values; CORRUPT when there are fewer. */
FZ_CHECKED fz_code fz_parquet_decoder_read(fz_parquet_decoder *decoder, size_t count,
                                           fz_parquet_values *out, fz_err *err);

#endif
