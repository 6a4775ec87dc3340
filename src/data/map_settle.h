// SPDX-License-Identifier: Apache-2.0
// Maps with a key twice: the last entry counts.
#ifndef FZ_DATA_MAP_SETTLE_H
#define FZ_DATA_MAP_SETTLE_H

#include "data/batch.h"

/**
 * Remove from a MAP's children, of the entries from `start` on, those whose key comes again later.
 * Keys of nested types are not compared. Errors: LIMIT no memory.
 */
FZ_CHECKED fz_code fz_map_column_settle(fz_column *map, int64_t start, fz_err *err);

#endif
