// SPDX-License-Identifier: Apache-2.0
// The data files that a lane has open for a table: one a partition value, rolled by size.
#ifndef FZ_FLOW_INGEST_FILES_H
#define FZ_FLOW_INGEST_FILES_H

#include "base/clock.h"
#include "flow/ingest/layout.h"
#include "io/store/store.h"
#include "table/iceberg/append.h"

typedef struct fz_files fz_files;

/** Borrowed but for the layout, which is referenced. */
typedef struct fz_files_options {
    fz_layout *layout;
    fz_store *store;
    fz_str location; // table's base URI
    fz_str instance; // random part of this process for names
    const fz_config_files *config;
    fz_clock *clock;
    fz_budget *budget;
} fz_files_options;

/** One lane's. `batch` is what rows are collected in: it belongs to the caller and outlives the
 * files. */
FZ_CHECKED fz_code fz_files_new(const fz_files_options *options, fz_batch *batch, fz_files **out,
                                fz_err *err);
/**
 * Ask for a row of the batch that is about to count whether a file can hold it.
 *
 * Errors: CORRUPT, kind out_of_range: a value has no partition.
 */
FZ_CHECKED fz_code fz_files_check(const fz_files *files, int64_t row, fz_err *err);
/**
 * Put the batch's rows into files, partition value by partition value; the caller resets the batch.
 *
 * Errors: INTERNAL: a value has no partition (nothing was written then); LIMIT: memory, even after
 * flushing; store errors: all files are lost then, abort.
 */
FZ_CHECKED fz_code fz_files_append(fz_files *files, fz_err *err);
/** Bytes written or buffered since new or the last finish. */
int64_t fz_files_size(const fz_files *files);
/** Number of open files. */
size_t fz_files_open_count(const fz_files *files);
/** Wall clock when the first file since new or the last finish was begun, 0: none. */
int64_t fz_files_oldest_ms(const fz_files *files);
/**
 * Close and publish every file and add them to `append`; then there are none.
 * On failure some may be in the store: they are orphans, forget all.
 */
FZ_CHECKED fz_code fz_files_finish(fz_files *files, fz_iceberg_append *append, int64_t *bytes,
                                   fz_err *err);
/** Abandon what is open. NULL allowed. */
void fz_files_free(fz_files *files);

#endif
