// SPDX-License-Identifier: Apache-2.0
// Rows of a batch in a table's sort order.
#ifndef FZ_DATA_ROW_SORT_H
#define FZ_DATA_ROW_SORT_H

#include "data/transform.h"

/** Can rows of the schema be put in this order: are its columns there, are its transforms known? */
bool fz_row_sort_can(const fz_sort_order *order, const fz_schema *schema);

/**
 * Sort the rows of a batch; equal ones keep their places.
 *
 * order  fz_row_sort_can of it and the batch's schema
 * index  [batch->rows] row numbers in order; written on OK only
 * Errors: LIMIT no memory for the keys (the batch's budget), or a value without a result.
 * Source: Iceberg specification, Sort Orders; floats as IEEE's total order.
 */
FZ_CHECKED fz_code fz_row_sort(const fz_sort_order *order, fz_batch *batch, uint32_t *index,
                               fz_err *err);

#endif
