// SPDX-License-Identifier: Apache-2.0
// What other tables are owed stands in the home table's outbox, and is delivered from there
// (protocol.md R19-R21, 5.5).
#ifndef FZ_FLOW_INGEST_OUTBOX_H
#define FZ_FLOW_INGEST_OUTBOX_H

#include "flow/ingest/stream.h"

/** Largest outbox of a table, bytes: more waits until something was delivered. */
#define FZ_OUTBOX_MAX (256 * 1024)

/**
 * The entries that a home commit adds for its cut: one for its letters (when the home is the main
 * table), one for each record type; a new array, NULL when nothing is owed. What is long goes into
 * an object beside the home's metadata.
 *
 * {"id", "source", "sink": "db.table", "moves": [[partition, generation, start, end, last row],
 * ...], and for letters "files": [uri, ...]; for record types "record", "rows", "made_ms",
 * "content": {"files", "schema", "columns"} or "at": its URI}
 *
 * Errors: the store's.
 */
FZ_CHECKED fz_code fz_outbox_entries(const fz_stream *stream, const fz_stream_cut *cut,
                                     json_t **out, fz_err *err);

/** Content of an entry for a record type, a new reference. Errors: the store's; CORRUPT. */
FZ_CHECKED fz_code fz_outbox_content(const fz_stream *stream, const json_t *entry, json_t **out,
                                     fz_err *err);

/** The newest entry that this table is owed, a new reference; NULL: none. Takes the mutex. */
json_t *fz_outbox_newest(fz_stream *stream, fz_str table);

/** Take over the outbox of a loaded state: stream->owed, the stream's own entries only. Takes the
 * mutex. */
void fz_outbox_owe(fz_stream *stream, const fz_commit_state *state);

/** Remove the delivered entries from an attempt's state: what a home commit's edit does. Takes the
 * mutex. */
void fz_outbox_drop_delivered(fz_stream *stream, fz_commit_state *state);

/**
 * Deliver every entry that is owed and not delivered yet: create the sink if need be, append the
 * rows that it lacks, move its vector. A sink that refuses does not hold up the others. On the
 * pool, or while the stream is opened.
 *
 * Errors: of the first sink that failed; stream->deliver_at_ms is set, call again then.
 */
FZ_CHECKED fz_code fz_outbox_deliver(fz_stream *stream, fz_err *err);

/** Is something owed that the sink has not? Takes the mutex. */
bool fz_outbox_waits(fz_stream *stream);

/** Bytes of what is owed and not delivered. Takes the mutex. */
size_t fz_outbox_size(fz_stream *stream);

#endif
