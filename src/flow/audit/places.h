// SPDX-License-Identifier: Apache-2.0
// Where the rows of a table came from: partition and offset of each row of a topic.
#ifndef FZ_FLOW_AUDIT_PLACES_H
#define FZ_FLOW_AUDIT_PLACES_H

#include "table/scan/scan.h"

/** Dotted paths of the columns that tell it. Zeroed is empty; deinit it. */
typedef struct fz_audit_columns {
    fz_buf partition;
    fz_buf offset;
    fz_buf topic; // empty: the table has none, all rows are of one topic
} fz_audit_columns;

/**
 * By the table's own link. Errors: NOT_FOUND the table has no such columns (`metadata: false`,
 * dropped); CORRUPT.
 */
FZ_CHECKED fz_code fz_audit_columns_find(const fz_iceberg_metadata *metadata, fz_audit_columns *out,
                                         fz_err *err);
/** Those of a dead-letter table. */
void fz_audit_columns_of_letters(fz_audit_columns *out);
void fz_audit_columns_deinit(fz_audit_columns *columns);

typedef struct fz_audit_places_options {
    const fz_audit_columns *columns;
    fz_str topic;
    int64_t first; // files without offsets from first to last are left out; other rows are given
                   // all the same
    int64_t last;
    /** A row; false ends the scan. */
    bool (*each)(void *context, int64_t partition, int64_t offset);
    /** Leave this file out? NULL: no. */
    bool (*skip)(void *context, const fz_iceberg_entry *entry);
    void *context;
    fz_budget *budget;
} fz_audit_places_options;

/** Rows of others, without coordinates, are passed over. Errors: as fz_scan_next. */
FZ_CHECKED fz_code fz_audit_places_scan(fz_store *store, fz_iceberg_metadata *metadata,
                                        const fz_audit_places_options *options, fz_err *err);

#endif
