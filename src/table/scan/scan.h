// SPDX-License-Identifier: Apache-2.0
// Rows of an Iceberg table as batches of its schema.
#ifndef FZ_TABLE_SCAN_SCAN_H
#define FZ_TABLE_SCAN_SCAN_H

#include "table/scan/plan.h"

typedef struct fz_scan_options {
    int64_t snapshot_id; // 0: of main, with the current schema; else with the snapshot's own schema
    const fz_str *columns; // dotted paths, in the order wanted; NULL: all. Parts of a struct keep
                           // their struct
    size_t column_count;
    const fz_scan_range *ranges; // leaves files out, not rows; borrowed
    size_t range_count;
    /** Leave this file out? NULL: no. */
    bool (*skip)(void *context, const fz_iceberg_entry *entry);
    void *context;
    int64_t batch_rows; // at most so many rows a batch; 0: 8192
    fz_budget *budget;  // may be NULL
} fz_scan_options;

/** One thread. */
typedef struct fz_scan fz_scan;

/**
 * Plan a scan; the first file is read by fz_scan_next.
 *
 * files     copied; metadata a reference is kept
 * Errors: NOT_FOUND the snapshot or a column, naming it; as fz_scan_plan_open.
 */
FZ_CHECKED fz_code fz_scan_open(fz_scan_files files, fz_iceberg_metadata *metadata,
                                const fz_scan_options *options, fz_scan **out, fz_err *err);
/** NULL allowed. */
void fz_scan_free(fz_scan *scan);
/** What the batches are of; borrowed. */
fz_schema *fz_scan_schema(const fz_scan *scan);
/**
 * The next rows, all of one file, valid until the next call; NULL at the end.
 *
 * A column that the file lacks is its partition's value (identity), else its initial default, else
 * null. Rows that position deletes and deletion vectors delete are left out.
 *
 * Errors: UNSUPPORTED equality deletes (before the first row), file formats and types that are not
 * read; CORRUPT, also a required column that is not there; NOT_FOUND a file that the table lists;
 * LIMIT; naming the file. After an error only free is left.
 */
FZ_CHECKED fz_code fz_scan_next(fz_scan *scan, fz_batch **out, fz_err *err);
/** Where the last batch came from, valid until the next fz_scan_next; and the place in the file
 * where it began, deleted rows counted. */
const fz_iceberg_entry *fz_scan_file(const fz_scan *scan, int64_t *first_row);

#endif
