// SPDX-License-Identifier: Apache-2.0
// The commit loop: one batch against the table's own watermark, applied once or forgotten
// (protocol.md 5.4).
#ifndef FZ_TABLE_COMMIT_COMMIT_H
#define FZ_TABLE_COMMIT_COMMIT_H

#include "table/commit/table.h"
#include "table/iceberg/append.h"

/** What a batch moves on one partition. */
typedef struct fz_commit_move {
    int32_t partition;
    int64_t generation;
    int64_t start;                     // the watermark that it was read from
    int64_t end;                       // the position behind it
    int64_t last_row;                  // offset of its last row, -1: none
    fz_commit_fingerprint fingerprint; // of the last record delivered; offset -1: none
} fz_commit_move;

/** One commit: files, schema change, watermark moves, all or nothing. Borrowed. */
typedef struct fz_commit_batch {
    const char *op; // append, offsets, skip, repair, rollback, replay, generation, pause
    fz_str uuid;    // of the table it was read for
    fz_str source;  // name; empty: no source is touched
    fz_str route;
    const fz_commit_move *moves;
    size_t move_count;
    fz_iceberg_append *files; // may be empty, not NULL; carries the commit id over attempts
    fz_str commit;            // 36 characters
    int64_t oldest_file_ms;   // wall clock when the first of the files was made; 0: no files
    int64_t rows, dead_letters, skipped, tombstones;
    int32_t schema_id; // current schema id that the files were written for (asserted in every
                       // attempt); FZ_ICEBERG_NONE: any
    const fz_schema
        *schema; // new current schema, its ids given on top of schema_id's; NULL: unchanged
    const json_t *properties; // further table properties to set, may be NULL
    const json_t *outbox;     // entries to add, may be NULL (R20)
    // state changes of operations (R26), each optional
    void (*edit)(void *context, fz_commit_state *state, fz_commit_source *source);
    void *edit_context;
    // the position that an edit was decided on: another one now (its vector or its number) forgets
    // the batch. NULL: the moves alone decide, or the edit is right on any position
    const fz_commit_state *expected;
    // builds the snapshot of an attempt in the stead of an append of `files` (maintenance: a
    // replace); CONFLICT forgets. NULL: fz_iceberg_append_build
    fz_code (*build)(void *context, const fz_iceberg_metadata *base,
                     const fz_iceberg_append_options *options, fz_iceberg_change *change,
                     fz_err *err);
    void *build_context;
    fz_str reason;
} fz_commit_batch;

typedef enum fz_commit_result {
    FZ_COMMIT_DONE,      // seen in the chain of main
    FZ_COMMIT_FORGOTTEN, // fenced, too old, schema changed or not accounted for: read again from
                         // the table's position
    FZ_COMMIT_SUSPENDED, // err->kind says why; a person is needed
    FZ_COMMIT_STOPPED,   // told to stop while waiting; outcome unknown or not sent
} fz_commit_result;

typedef struct fz_commit_outcome {
    fz_commit_result result;
    int64_t snapshot_id;
    int attempts;
    int conflicts;
    fz_iceberg_metadata *metadata; // as last loaded, a reference; NULL if never
    fz_commit_state *state;        // position there, after FORGOTTEN always; NULL if none
    fz_err err;                    // why it was forgotten or suspended
} fz_commit_outcome;

void fz_commit_outcome_deinit(fz_commit_outcome *outcome);

typedef struct fz_commit_options {
    int64_t max_file_age_ms;     // 12 h (R11)
    int64_t check_file_age_ms;   // 1 h: older files are looked for before the attempt
    int64_t backoff_first_ms;    // 100
    int64_t backoff_most_ms;     // 30,000
    bool (*stop)(void *context); // asked between waits; NULL: never
    void *stop_context;
    void (*waiting)(void *context,
                    const fz_err *err); // told of every retry, for status; NULL allowed
    void *waiting_context;
    fz_commit_content_fn content;
    void *content_context;
    // `on_rollback: suspend`: a position with rolled_back is SUSPENDED with kind rolled_back
    bool suspend_on_rollback;
    fz_log *log;
} fz_commit_options;

void fz_commit_options_init(fz_commit_options *options);

/**
 * Run the loop until there is an answer (R1-R12, R26-R29). Never deletes a file that was named in a
 * request. Catalog or store away: waits with jittered back-off, for as long as it takes. A table
 * that has its state but not yet its empty snapshot gets that first (R13). Op "adopt" with an edit
 * takes up a table without state and snapshots.
 *
 * out  always filled; deinit it
 * Thread: any; one batch of a table at a time.
 */
void fz_commit_run(const fz_commit_table *table, const fz_commit_batch *batch,
                   const fz_commit_options *options, fz_commit_outcome *out);

#endif
