// SPDX-License-Identifier: Apache-2.0
// Dead letters that can be decoded now go into the table, once (protocol.md R25).
#ifndef FZ_FLOW_AUDIT_REPLAY_H
#define FZ_FLOW_AUDIT_REPLAY_H

#include "flow/ingest/stream.h"

/** Letters that still fail for one reason. */
typedef struct fz_audit_failing {
    char kind[40];
    int64_t count;
    int32_t partition; // of the first one
    int64_t offset;
    char text[300];
} fz_audit_failing;

/** What a replay of one topic's letters did. Deinit it. */
typedef struct fz_audit_replay_report {
    int64_t letters;  // of the topic, in the dead-letter table
    int64_t replayed; // are rows now
    int64_t already;  // were replayed before
    int64_t in_table; // are rows without a replay: read again after a rollback
    int64_t beyond;   // at or behind the table's position: they are read again, or of an older log
    int64_t failing;
    FZ_VEC(fz_audit_failing) kinds;
    int64_t snapshot_id; // of the commit, -1: none was needed
    int tries;
} fz_audit_replay_report;

void fz_audit_replay_report_deinit(fz_audit_replay_report *report);

/**
 * Replay the letters of every topic of a table, a commit a topic.
 *
 * table  "namespace.table", or "table" of any namespace
 * each   told of each topic; report NULL: it failed for the reason in err
 *
 * Errors: NOT_FOUND no entry of the configuration writes the table; else what the first topic that
 * failed says: INVALID with kind refused (upsert: an old event would come after newer ones), others
 * as fz_commit_position, registry, stores. Killed at any point it has added everything or nothing;
 * run again it adds nothing twice.
 */
FZ_CHECKED fz_code fz_audit_replay(const fz_ingest_host *host, fz_str table,
                                   void (*each)(void *context, const fz_stream *stream,
                                                const fz_audit_replay_report *report,
                                                const fz_err *err),
                                   void *context, fz_err *err);

#endif
