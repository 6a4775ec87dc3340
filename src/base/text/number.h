// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and sizes as people write them.
#ifndef FZ_BASE_TEXT_NUMBER_H
#define FZ_BASE_TEXT_NUMBER_H

#include "base/error.h"
#include "base/str.h"

/** Decimal digits with optional sign, all of the text; INVALID, or LIMIT beyond int64. */
FZ_CHECKED fz_code fz_int_parse(fz_str text, int64_t *out, fz_err *err);
/** JSON or C notation, `NaN`, `Infinity`; locale-free. */
FZ_CHECKED fz_code fz_real_parse(fz_str text, double *out, fz_err *err);
/** As fz_real_parse, the nearest float. */
FZ_CHECKED fz_code fz_float_parse(fz_str text, float *out, fz_err *err);
/** Shortest text that reads back as the same double, locale-free, NaN, Infinity; 32 bytes are
 * enough. Its length. */
size_t fz_real_format(double value, char out[32]);
/** As fz_real_format for a float. */
size_t fz_float_format(float value, char out[32]);
/** `500ms 30s 5m 2h 7d`, in milliseconds; a bare 0 is allowed. */
FZ_CHECKED fz_code fz_duration_parse(fz_str text, int64_t *ms, fz_err *err);
/** `64KiB 512MB 1GiB`, bare bytes; in bytes. */
FZ_CHECKED fz_code fz_size_parse(fz_str text, int64_t *bytes, fz_err *err);

#endif
