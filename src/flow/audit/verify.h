// SPDX-License-Identifier: Apache-2.0
// The ledger: each record of the log is once in the table, each file of the table is as it is
// listed.
#ifndef FZ_FLOW_AUDIT_VERIFY_H
#define FZ_FLOW_AUDIT_VERIFY_H

#include "base/map.h"
#include "flow/ingest/stream.h"

/** Differences that are named; all are counted. */
#define FZ_AUDIT_NAMED 20

/** Something that is not as it should be. */
typedef struct fz_audit_difference {
    const char *kind;  // file_missing, file_size, file_rows, file_unreadable, missing, twice,
                       // beyond, log_ends
    const char *topic; // borrowed from the report; NULL: of a file
    int32_t partition; // -1: of a file
    int64_t offset;
    char text[600];
} fz_audit_difference;

/** What was compared of one partition. */
typedef struct fz_audit_part {
    int32_t partition;
    int64_t generation;
    int64_t log_start;
    int64_t checked_from; // first offset that could be compared
    int64_t checked_to;   // the table's position, or the end of the log below it
    int64_t records;      // of the log, that must be somewhere
    int64_t tombstones;
    int64_t rows;
    int64_t letters;
    int64_t skipped; // in ranges that the table's state names
    int64_t missing;
    int64_t twice;
    int64_t not_in_log; // rows and letters whose record is not there any more (compacted away)
} fz_audit_part;

typedef struct fz_audit_topic {
    char *topic;
    FZ_VEC(fz_audit_part) parts;
    int64_t skipped_records; // by on_error: skip; which ones is not recorded
    char not_checked[800];   // why; empty: it was
} fz_audit_topic;

/** Zeroed is empty; deinit it. */
typedef struct fz_audit_report {
    int64_t files;
    int64_t rows; // as the files' entries say
    int64_t differences;
    FZ_VEC(fz_audit_difference) first; // FZ_AUDIT_NAMED at most
    FZ_VEC(fz_audit_topic *) topics;
    fz_map bad_files; // by URI
} fz_audit_report;

void fz_audit_report_deinit(fz_audit_report *report);
/** Count a difference, and name it while there is room. text by printf. */
void fz_audit_report_add(fz_audit_report *report, const char *kind, const char *topic,
                         int32_t partition, int64_t offset, const char *format, ...)
    FZ_PRINTF(6, 7);

/**
 * Compare a table with its files and with the logs that it was written from; nothing is changed.
 *
 * table  "namespace.table", or "table" of any namespace
 * Errors: NOT_FOUND no entry writes the table, or it is not there; what could not be asked.
 * Differences are no errors. Memory: two bits an offset, in rounds within a sixteenth of the budget
 * each.
 */
FZ_CHECKED fz_code fz_audit_verify(const fz_ingest_host *host, fz_str table,
                                   fz_audit_report *report, fz_err *err);

/** Every live file is there with its size and rows; others go into report->bad_files. Errors: the
 * store's. */
FZ_CHECKED fz_code fz_audit_check_files(fz_store *store, fz_iceberg_metadata *metadata,
                                        fz_budget *budget, fz_audit_report *report, fz_err *err);
/** A stream's topic against its table, at `state` of stream->metadata. Errors: of source, stores,
 * catalog. */
FZ_CHECKED fz_code fz_audit_check_log(fz_stream *stream, const fz_commit_state *state,
                                      fz_audit_report *report, fz_err *err);

#endif
