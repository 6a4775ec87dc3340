// SPDX-License-Identifier: Apache-2.0
// What a column without a source gets: its write default, else null; what a column takes.
#ifndef FZ_FORMAT_FILL_H
#define FZ_FORMAT_FILL_H

#include "data/json_value.h"

/**
 * The value of a column that the writer knows nothing of.
 *
 * arena  holds its bytes
 * path   of the column, for messages
 * Errors: UNSUPPORTED kind schema_incompatible, the column is required and has no default.
 */
FZ_CHECKED fz_code fz_fill_value(const fz_field *column, fz_str path, fz_arena *arena,
                                 fz_value *out, fz_err *err);
/** May values of the type that a shape asks for go into a column of `to`? It may be wider, nothing
 * else is let through; nested types are of one kind. */
bool fz_fill_widens(const fz_type *shape, const fz_type *to);

#endif
