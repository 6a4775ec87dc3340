// SPDX-License-Identifier: Apache-2.0
// Opening a stream in steps that others use too: what a check prints, what a log says.
#ifndef FZ_FLOW_INGEST_OPEN_H
#define FZ_FLOW_INGEST_OPEN_H

#include "flow/ingest/stream.h"

/** Shapes of an entry as the registry tells them now. Deinit it. */
typedef struct fz_open_shapes {
    fz_writer_schema_entry *value; // owned by the stream's schemas
    fz_writer_schema_entry *key;   // NULL: no key columns
    fz_schema *key_shape;          // as columns of the table; NULL: no key columns
    fz_schema *metadata;           // NULL: no metadata columns
    fz_buf warnings;
} fz_open_shapes;

/**
 * What the configuration knows and this build does not do: UNSUPPORTED, kind unsupported, with the
 * place. Stores, catalogs and formats of records say so themselves.
 */
FZ_CHECKED fz_code fz_open_supported(const fz_config_entry *entry, fz_err *err);

void fz_open_shapes_deinit(fz_open_shapes *shapes);
/** Errors: as fz_writer_schemas_latest. */
FZ_CHECKED fz_code fz_open_shapes_find(fz_stream *stream, fz_open_shapes *out, fz_err *err);
/** Layout of a table that does not exist yet, all shapes bound. */
FZ_CHECKED fz_code fz_open_new_layout(fz_stream *stream, const fz_open_shapes *shapes,
                                      fz_layout **out, fz_err *err);
/** Bind all shapes to a layout of a loaded table; *layout is replaced where the table would change.
 */
FZ_CHECKED fz_code fz_open_bind_all(fz_stream *stream, const fz_open_shapes *shapes,
                                    fz_layout **layout, fz_buf *changes, fz_err *err);
/** Catalog, and the table's metadata; NOT_FOUND leaves the catalog set. */
FZ_CHECKED fz_code fz_open_load(fz_stream *stream, fz_iceberg_metadata **out, fz_err *err);

/**
 * Is the log the one that the state counts in? (R14-R16) Fills stream->parts.
 *
 * edits  set when positions of the state must change by an own commit first (new partitions, a lost
 * range) Errors: INVALID kind log_changed or watermark_missing; UNAVAILABLE.
 */
FZ_CHECKED fz_code fz_open_check_log(fz_stream *stream, const fz_commit_state *state,
                                     const fz_commit_source *source, bool *edits, fz_err *err);

/** Read records until one names its schema: record_name and topic_record_name without a subject
 * (interface.md). */
FZ_CHECKED fz_code fz_open_peek_schema(fz_stream *stream, fz_err *err);

/** The entry's `start` resolved for every partition, as the state of a new source, in `arena`. */
FZ_CHECKED fz_code fz_open_resolve_start(fz_stream *stream, fz_arena *arena, fz_commit_source *out,
                                         fz_err *err);

#endif
