// SPDX-License-Identifier: Apache-2.0
// A part of a table's schema, chosen by paths.
#ifndef FZ_TABLE_SCAN_PROJECTION_H
#define FZ_TABLE_SCAN_PROJECTION_H

#include "data/type.h"

/**
 * The columns of `table` with these dotted paths, in the order in which their top-level columns are
 * first named; a part of a nested column keeps what is around it. columns NULL: all of it.
 *
 * Errors: NOT_FOUND naming the path.
 */
FZ_CHECKED fz_code fz_scan_projection(fz_schema *table, const fz_str *columns, size_t count,
                                      fz_schema **out, fz_err *err);

#endif
