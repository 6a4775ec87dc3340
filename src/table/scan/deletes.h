// SPDX-License-Identifier: Apache-2.0
// Delete files of a snapshot, and which rows of a data file they delete.
#ifndef FZ_TABLE_SCAN_DELETES_H
#define FZ_TABLE_SCAN_DELETES_H

#include "table/scan/plan.h"
#include "table/scan/positions.h"

/** One thread. */
typedef struct fz_scan_deletes fz_scan_deletes;

fz_scan_deletes *fz_scan_deletes_new(fz_scan_files files, fz_budget *budget);
/** NULL allowed. */
void fz_scan_deletes_free(fz_scan_deletes *deletes);
/** Note a delete file (copied). UNSUPPORTED naming it: equality deletes. */
FZ_CHECKED fz_code fz_scan_deletes_add(fz_scan_deletes *deletes, const fz_iceberg_entry *entry,
                                       fz_err *err);
/**
 * Read what is deleted of a data file.
 *
 * out  empty, set when there is something; fz_scan_positions_deinit it
 * Errors: CORRUPT, UNSUPPORTED, what the store answers; naming the delete file.
 * Source: Iceberg specification, Scan Planning.
 */
FZ_CHECKED fz_code fz_scan_deletes_read(const fz_scan_deletes *deletes,
                                        const fz_iceberg_entry *data, fz_scan_positions *out,
                                        fz_err *err);

#endif
