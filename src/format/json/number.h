// SPDX-License-Identifier: Apache-2.0
// JSON numbers, decided from their digits: never through a double where that could round.
#ifndef FZ_FORMAT_JSON_NUMBER_H
#define FZ_FORMAT_JSON_NUMBER_H

#include "base/error.h"
#include "base/str.h"

/** Value is mantissa * 10^exponent, where `exact`; else only the text tells. */
typedef struct fz_json_number {
    fz_str text;
    uint64_t mantissa;
    int64_t exponent;
    bool minus;
    bool exact;
} fz_json_number;

/** A number's extent and digits; NULL with *fault where the grammar does not hold. */
const uint8_t *fz_json_number_scan(const uint8_t *p, const uint8_t *end, fz_json_number *out,
                                   const uint8_t **fault);
/** Errors: INVALID it has a fraction; LIMIT beyond 64 bits. */
FZ_CHECKED fz_code fz_json_number_integer(const fz_json_number *number, int64_t *out);
/** The nearest double. Errors: LIMIT beyond its range. */
FZ_CHECKED fz_code fz_json_number_double(const fz_json_number *number, double *out);
/** The nearest float. Errors: LIMIT beyond its range. */
FZ_CHECKED fz_code fz_json_number_float(const fz_json_number *number, float *out);

#endif
