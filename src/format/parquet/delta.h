// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY (parquet-format Encodings.md).
#ifndef FZ_FORMAT_PARQUET_DELTA_H
#define FZ_FORMAT_PARQUET_DELTA_H

#include "base/buf.h"
#include "base/cursor.h"

/** Append `count` integers of `width` bytes (4 or 8) as DELTA_BINARY_PACKED. */
void fz_parquet_delta_encode(fz_buf *out, const void *values, size_t count, int width);
/**
 * Decode DELTA_BINARY_PACKED; the cursor is left behind it.
 *
 * out    [count], sign-extended
 * count  most values wanted; *found is how many there were (never more)
 * Returns false (cursor failed or not) on malformed bytes or more than `count` values.
 */
FZ_CHECKED bool fz_parquet_delta_decode(fz_cur *cur, int width, int64_t *out, size_t count,
                                        size_t *found);

#endif
