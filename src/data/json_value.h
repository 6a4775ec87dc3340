// SPDX-License-Identifier: Apache-2.0
// Values from Iceberg's single-value JSON form (spec, Appendix D): defaults become cells of a
// column.
#ifndef FZ_DATA_JSON_VALUE_H
#define FZ_DATA_JSON_VALUE_H

#include "data/batch.h"
#include "data/value.h"

/**
 * A primitive value from its JSON form.
 *
 * type   primitive
 * arena  holds bytes of UUID, FIXED, BINARY and texts
 * Errors: CORRUPT not that form; LIMIT beyond the type.
 */
FZ_CHECKED fz_code fz_value_from_json(const fz_type *type, const json_t *json, fz_arena *arena,
                                      fz_value *out, fz_err *err);
/** Append a primitive value of the column's type, null as fz_column_append_null. */
FZ_CHECKED fz_code fz_column_append_value(fz_column *column, const fz_value *value, fz_err *err);
/**
 * Append a value of any type; a struct's members are named by field id, those that are absent take
 * their own initial default, else null.
 *
 * Errors: as fz_value_from_json; the column may be left with children half filled: truncate it.
 */
FZ_CHECKED fz_code fz_column_append_json(fz_column *column, const json_t *json, fz_err *err);

#endif
