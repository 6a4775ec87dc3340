// SPDX-License-Identifier: Apache-2.0
// Rows on their way to a writer, held back so that they can be put in order.
#ifndef FZ_FORMAT_PARQUET_SORTER_H
#define FZ_FORMAT_PARQUET_SORTER_H

#include "data/row_sort.h"
#include "format/parquet/writer.h"

/**
 * Of one file. Rows leave in sorted runs, each its own row groups; a file of one run is sorted as a
 * whole.
 */
typedef struct fz_parquet_sorter fz_parquet_sorter;

/**
 * order   borrowed; fz_row_sort_can of it and the schema
 * schema  of the writer
 * budget  NULL or outliving the sorter; charged with what is held; a run takes an eighth at most
 */
fz_parquet_sorter *fz_parquet_sorter_new(const fz_sort_order *order, fz_schema *schema,
                                         fz_budget *budget);
/** What is held is lost. NULL allowed. */
void fz_parquet_sorter_free(fz_parquet_sorter *sorter);
/**
 * Take rows of a batch, and give a run to the writer when it is full.
 *
 * index  [count] rows, NULL: the first `count`
 * Errors: LIMIT with the writer not failed: nothing was taken, free memory (fz_parquet_sorter_end)
 * and try again; else as fz_parquet_writer_append, the file is lost.
 */
FZ_CHECKED fz_code fz_parquet_sorter_append(fz_parquet_sorter *sorter, fz_parquet_writer *writer,
                                            const fz_batch *batch, const uint32_t *index,
                                            int64_t count, fz_err *err);
/** As fz_parquet_writer_overdraw; nothing is held. */
void fz_parquet_sorter_overdraw(fz_parquet_sorter *sorter);
/** Give the writer what is held, and the memory back. Errors: the file is lost. */
FZ_CHECKED fz_code fz_parquet_sorter_end(fz_parquet_sorter *sorter, fz_parquet_writer *writer,
                                         fz_err *err);
/** Bytes held. */
int64_t fz_parquet_sorter_held(const fz_parquet_sorter *sorter);
/** Everything that was given to the writer is in order. */
bool fz_parquet_sorter_is_sorted(const fz_parquet_sorter *sorter);

#endif
