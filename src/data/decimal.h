// SPDX-License-Identifier: Apache-2.0
// Unscaled decimals as 128-bit integers.
#ifndef FZ_DATA_DECIMAL_H
#define FZ_DATA_DECIMAL_H

#include "base/buf.h"

__extension__ typedef __int128 fz_i128;
__extension__ typedef unsigned __int128 fz_u128;

/** 10^n, n 0..38. */
fz_i128 fz_decimal_power(int n);
/** |value| < 10^precision. */
bool fz_decimal_fits(fz_i128 value, int precision);
/** Two's complement big-endian of any length, sign-extension bytes allowed; false when it needs
 * more than 128 bits or size is 0. */
bool fz_decimal_from_be(const uint8_t *data, size_t size, fz_i128 *out);
/** Fewest big-endian two's complement bytes; their count (1..16), written at the start of out. */
size_t fz_decimal_to_be_min(fz_i128 value, uint8_t out[16]);
/** Exactly `size` bytes (1..16), sign-extended. */
void fz_decimal_to_be(fz_i128 value, uint8_t *out, size_t size);
/** Bytes of the FIXED that holds `precision` digits: 9 -> 4, 18 -> 8, 20 -> 9, 38 -> 16. */
int fz_decimal_fixed_size(int precision);
/** `-0.01`: exactly `scale` digits behind the point. */
void fz_decimal_format(fz_buf *out, fz_i128 value, int scale);
/**
 * Digits with optional sign, point and exponent, exactly: "1.50" at scale 2 is 150.
 * Errors: INVALID not a number; LIMIT does not fit `precision`, or digits would be lost.
 */
FZ_CHECKED fz_code fz_decimal_parse(fz_str text, int precision, int scale, fz_i128 *out,
                                    fz_err *err);

#endif
