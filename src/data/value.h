// SPDX-License-Identifier: Apache-2.0
// Single primitive values: partition values, bounds, defaults.
#ifndef FZ_DATA_VALUE_H
#define FZ_DATA_VALUE_H

#include "data/decimal.h"
#include "data/type.h"

/** A value of a primitive type; bytes of STRING, BINARY, FIXED, UUID are borrowed. */
typedef struct fz_value {
    bool is_null;
    fz_type_kind kind;
    union {
        int64_t integer; // BOOLEAN (0, 1), INT, LONG, DATE, TIME, TIMESTAMP*
        float real32;
        double real64;
        fz_i128 decimal; // unscaled
        fz_str bytes;
    } as;
} fz_value;

/** Order of Iceberg: bytes unsigned, -0.0 before 0.0, NaN last. Both not null, of one kind. */
int fz_value_compare(const fz_value *a, const fz_value *b);
/** Append the single-value binary form (spec Appendix D). */
void fz_value_encode(const fz_value *value, fz_buf *out);
/** From the binary form; a 4-byte INT is accepted for LONG, a FLOAT for DOUBLE, a DATE for
 * TIMESTAMP. Bytes are borrowed. */
FZ_CHECKED fz_code fz_value_decode(const fz_type *type, fz_str bytes, fz_value *out, fz_err *err);
/** Single-value JSON form (Appendix D), a new reference; null is json_null. */
json_t *fz_value_to_json(const fz_value *value, const fz_type *type);
/** As people read it: 42, 2017-11-16, -0.01, text as it is, bytes in hex; "null". */
void fz_value_format(const fz_value *value, const fz_type *type, fz_buf *out);
/**
 * Bounds cut to `width` code points (STRING) or bytes (BINARY, FIXED is not cut): a lower one is a
 * prefix, an upper one is incremented (skipping surrogates; formats.md 1.17). `arena` holds the new
 * bytes. Returns false when there is no such upper bound. Other kinds are kept.
 */
bool fz_value_truncate_upper(fz_value *value, size_t width, fz_arena *arena);
void fz_value_truncate_lower(fz_value *value, size_t width);

#endif
