// SPDX-License-Identifier: Apache-2.0
// Fields of shapes, the same for every format: identities, names that clash, where a field comes
// from and goes to.
#ifndef FZ_FORMAT_SHAPE_NAMES_H
#define FZ_FORMAT_SHAPE_NAMES_H

#include "data/type.h"

// What fz_field.origin of a shape holds besides a format's own bits.
#define FZ_SHAPE_ORIGIN_NONE (-1)        // made by the caller: a struct around all columns
#define FZ_SHAPE_ORIGIN_ROOT (1 << 28)   // column `value`: the whole of a schema that is no record
#define FZ_SHAPE_ORIGIN_INDEX 0x00ffffff // index of the source field or branch

/** `parent.step`, with dots and backslashes of the step escaped; an empty step is `\e`. */
fz_str fz_shape_identity(fz_arena *arena, fz_str parent, fz_str step);
/**
 * Two fields of one struct whose names differ only in the case of ASCII letters, or are the same.
 *
 * any_case  only those that are the same
 * Returns the first such field, its twin in *twin; NULL if there is none.
 */
const fz_field *fz_shape_find_twins(const fz_field *fields, size_t count, bool any_case,
                                    const fz_field **twin);

/** The shape's field of a source field or branch, NULL: it has none. *next is where it is looked
 * for first, and moves on. */
const fz_field *fz_shape_find_origin(const fz_type *shape, size_t index, size_t *next);
/** The table's field of a shape's (NULL allowed) by its id, and its place; NULL: there is none. */
const fz_field *fz_shape_find_target(const fz_type *target, const fz_field *shape,
                                     uint32_t *column);

#endif
