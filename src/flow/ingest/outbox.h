// SPDX-License-Identifier: Apache-2.0
// What other tables are owed stands in the home table's outbox, and is delivered from there (protocol.md R19-R21, 5.5).
#ifndef FZ_FLOW_INGEST_OUTBOX_H
#define FZ_FLOW_INGEST_OUTBOX_H

#include "flow/ingest/stream.h"

/**
 * The entry that a home commit adds for the letters of its cut, in an array; a new reference. NULL: no letters.
 *
 * {"id", "sink": "db.table", "files": [uri], "moves": [[partition, generation, start, end]]}
 */
json_t *fz_outbox_entry(const fz_stream *stream, const fz_stream_cut *cut);

/** Take over the outbox of a loaded state: stream->owed. Takes the mutex. */
void fz_outbox_owe(fz_stream *stream, const fz_commit_state *state);

/** Remove the delivered entries from an attempt's state: what a home commit's edit does. Takes the mutex. */
void fz_outbox_drop_delivered(fz_stream *stream, fz_commit_state *state);

/**
 * Deliver every entry that is owed and not delivered yet: create the sink if need be, append the rows that it lacks, move
 * its vector. On the pool.
 *
 * Errors: of the sink; stream->deliver_at_ms is set, call again then.
 */
FZ_CHECKED fz_code fz_outbox_deliver(fz_stream *stream, fz_err *err);

/** Is something owed that the sink has not? Takes the mutex. */
bool fz_outbox_waits(fz_stream *stream);

#endif
