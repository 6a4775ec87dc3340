// SPDX-License-Identifier: Apache-2.0
// Brings one entry of an outbox to its table (protocol.md R20, 5.5).
#ifndef FZ_FLOW_INGEST_DELIVERY_H
#define FZ_FLOW_INGEST_DELIVERY_H

#include "flow/ingest/stream.h"

/** How long one sink may hold up the others. */
typedef struct fz_delivery_patience {
    fz_stream *stream;
    int64_t until_ms; // monotonic
    bool denied;
} fz_delivery_patience;

/** Options of a commit to a sink: it gives up when the sink is denied or does not answer for some
 * seconds. */
fz_commit_options fz_delivery_options(fz_stream *stream, fz_delivery_patience *patience);

/**
 * Append to the entry's table the rows that it lacks, and move its vector. Rows at or above its own
 * vector are appended as the files that they are in; of rows below it only those whose coordinates
 * are not there.
 *
 * Errors: of catalog and store; INVALID kind table_incompatible or as fz_commit_position: a person
 * is needed; UNAVAILABLE, DENIED: later again.
 */
FZ_CHECKED fz_code fz_delivery_run(fz_stream *stream, const json_t *entry, fz_err *err);

#endif
