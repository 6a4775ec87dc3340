// SPDX-License-Identifier: Apache-2.0
// A dead-letter table as records again.
#ifndef FZ_FLOW_AUDIT_LETTER_TABLE_H
#define FZ_FLOW_AUDIT_LETTER_TABLE_H

#include "flow/audit/places.h"
#include "flow/ingest/stream.h"

/** Zeroed is empty. */
typedef struct fz_audit_letter_table {
    fz_store *store;               // borrowed
    fz_iceberg_metadata *metadata; // a reference; NULL: there is no such table yet
    fz_budget *budget;
    fz_str topic;
} fz_audit_letter_table;

/**
 * The dead-letter table of a stream whose catalog is open.
 *
 * name  "namespace.table"
 * Errors: of catalog and store. A table that is not there is none.
 */
FZ_CHECKED fz_code fz_audit_letter_table_open(const fz_stream *stream, const char *name,
                                              fz_audit_letter_table *out, fz_err *err);
void fz_audit_letter_table_deinit(fz_audit_letter_table *table);

/** Coordinates of the topic's letters; false ends. */
FZ_CHECKED fz_code fz_audit_letter_table_places(
    const fz_audit_letter_table *table, int64_t first, int64_t last,
    bool (*each)(void *context, int64_t partition, int64_t offset), void *context, fz_err *err);

/** Reads letters whole. */
typedef struct fz_audit_letter_scan fz_audit_letter_scan;

/** Letters of the topic with offsets from first to last, and perhaps others. Errors: INVALID kind
 * table_incompatible. */
FZ_CHECKED fz_code fz_audit_letter_scan_open(const fz_audit_letter_table *table, int64_t first,
                                             int64_t last, fz_audit_letter_scan **out, fz_err *err);
/** NULL allowed. */
void fz_audit_letter_scan_free(fz_audit_letter_scan *scan);
/**
 * The next letter as the record it was, valid until the next call; *found false at the end. What a
 * letter does not keep (leader epoch, type of the timestamp) is unknown in it.
 */
FZ_CHECKED fz_code fz_audit_letter_scan_next(fz_audit_letter_scan *scan, int64_t *partition,
                                             fz_record *out, bool *found, fz_err *err);
/** A source that knows nothing but the headers of such records; static. */
fz_source *fz_audit_letter_source(void);

#endif
