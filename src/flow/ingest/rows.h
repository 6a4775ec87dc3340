// SPDX-License-Identifier: Apache-2.0
// What one lane collects for one stream: records become rows, rows become files, files become a
// cut.
#ifndef FZ_FLOW_INGEST_ROWS_H
#define FZ_FLOW_INGEST_ROWS_H

#include "flow/ingest/stream.h"

typedef struct fz_rows fz_rows;

fz_rows *fz_rows_new(fz_stream *stream, int lane);
/** Drops what is in no cut. NULL allowed. */
void fz_rows_free(fz_rows *rows);

/**
 * Turn the records of part->fetch from part->at on into rows, by the entry's rules for bad ones.
 * Raises part->next and part->at; what is not taken stays in the fetch.
 *
 * Errors: UNAVAILABLE registry away: part->retry_at_ms is set, call again then; CANCELLED: the
 * stream was suspended at part->next; others: rows may be lost, drop everything of the stream and
 * read again.
 */
FZ_CHECKED fz_code fz_rows_take(fz_rows *rows, fz_stream_part *part, fz_err *err);

/** Rows taken since the last cut, of all tables. */
int64_t fz_rows_count(const fz_rows *rows);
/**
 * Finish all files and add them, the moves of `parts` and the counts to stream->cut. Takes the
 * stream's mutex.
 *
 * Errors: store, memory: as for take.
 */
FZ_CHECKED fz_code fz_rows_cut(fz_rows *rows, fz_stream_part *const *parts, size_t count,
                               fz_err *err);

#endif
