// SPDX-License-Identifier: Apache-2.0
// Keeps a table small and fast beside ingestion: expiry, manifests, compaction, orphans; when each
// is due.
#ifndef FZ_FLOW_MAINTAIN_MAINTAIN_H
#define FZ_FLOW_MAINTAIN_MAINTAIN_H

#include "conf/config.h"
#include "table/commit/commit.h"

typedef enum fz_maintain_job {
    FZ_MAINTAIN_NONE,
    FZ_MAINTAIN_EXPIRE,
    FZ_MAINTAIN_MANIFESTS,
    FZ_MAINTAIN_COMPACT,
    FZ_MAINTAIN_ORPHANS,
    FZ_MAINTAIN_JOBS, // how many kinds
} fz_maintain_job;

/** "expire", "manifests", "compact", "orphans"; static. */
const char *fz_maintain_job_name(fz_maintain_job job);

/** The table and how it is kept. What it points to is borrowed and outlives the user. */
typedef struct fz_maintain_options {
    fz_commit_table table;
    fz_config_maintenance config;
    fz_config_files files; // how data files are written
    fz_budget *budget;     // may be NULL
    fz_log *log;           // may be NULL
    bool dry_run;          // nothing is changed; the report tells what would be
    bool thorough;         // asked for by a person: also what is not worthwhile by itself yet
    /** Asked between steps; NULL: never stop. */
    bool (*stop)(void *context);
    void *stop_context;
    /** Told of everything that goes: "snapshot", "data file", "manifest", "manifest list",
     * "metadata file", "statistics", "orphan". NULL: nobody is. */
    void (*each)(void *context, const char *what, fz_str name);
    void *each_context;
} fz_maintain_options;

/** What a job did, or would. Zeroed is nothing. Jobs add to it. */
typedef struct fz_maintain_report {
    int64_t snapshots; // expired
    int64_t refs;
    int64_t data_files_deleted;
    int64_t manifests_deleted;
    int64_t lists_deleted;
    int64_t statistics_deleted;
    int64_t manifests_before; // of main, merged
    int64_t manifests_after;
    int64_t files_in; // compacted
    int64_t files_out;
    int64_t rows;
    int64_t bytes_in;
    int64_t bytes_out;
    int64_t orphans;
    int64_t orphan_bytes;
    int64_t not_deleted; // the store refused: orphan removal has them later
    int64_t conflicts;
    char skipped[256]; // why nothing was done; empty: it was
} fz_maintain_report;

/**
 * Jobs, each on the table as it is then, each commit by compare-and-swap on it (R3, R9, H10).
 *
 * Errors: CONFLICT other writers were faster each time; CANCELLED told to stop; INVALID with a
 * kind: a person is needed, as for appends; what catalog and store answer. Thread: any; one at a
 * time for a table and process.
 */
FZ_CHECKED fz_code fz_maintain_expire(const fz_maintain_options *options,
                                      fz_maintain_report *report, fz_err *err);
FZ_CHECKED fz_code fz_maintain_manifests(const fz_maintain_options *options,
                                         fz_maintain_report *report, fz_err *err);
FZ_CHECKED fz_code fz_maintain_compact(const fz_maintain_options *options,
                                       fz_maintain_report *report, fz_err *err);
FZ_CHECKED fz_code fz_maintain_orphans(const fz_maintain_options *options,
                                       fz_maintain_report *report, fz_err *err);
FZ_CHECKED fz_code fz_maintain_do(fz_maintain_job job, const fz_maintain_options *options,
                                  fz_maintain_report *report, fz_err *err);

/** When which job is due for one table. */
typedef struct fz_maintain fz_maintain;

/** options are copied; now_ms of the monotonic clock. */
fz_maintain *fz_maintain_new(const fz_maintain_options *options, int64_t now_ms);
/** NULL allowed. No job may be running. */
void fz_maintain_free(fz_maintain *maintain);
/** Tell of the table's metadata after a commit: many snapshots or manifests make a job due at once.
 * Any thread. */
void fz_maintain_saw(fz_maintain *maintain, const fz_iceberg_metadata *metadata);
/**
 * The job that is due, to be given to fz_maintain_run once; NONE: nothing, or one is running.
 * Cheap, no I/O. Thread: the service's own.
 */
fz_maintain_job fz_maintain_tick(fz_maintain *maintain, int64_t now_ms);
/** Run what tick said. Failures are logged and tried again later. Thread: a pool's. */
void fz_maintain_run(fz_maintain *maintain, fz_maintain_job job);
/** A job was given out by tick and has not ended. Any thread. */
bool fz_maintain_is_running(const fz_maintain *maintain);

#endif
