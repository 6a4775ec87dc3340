// SPDX-License-Identifier: Apache-2.0
// Tables of record types beside a stream's home (`catalog.table: "{record}"`): found by record
// name, opened with the first record, written to through the home's outbox only (protocol.md
// R19-R21).
#ifndef FZ_FLOW_INGEST_RECORD_TABLES_H
#define FZ_FLOW_INGEST_RECORD_TABLES_H

#include "flow/ingest/stream.h"

/** One record type's table. Made once, lives as long as its stream. Fields below "mutex" are
 * guarded by the stream's. */
struct fz_record_table {
    fz_stream *stream;
    char *record;    // full name
    char *name;      // of the table
    char *full_name; // with its namespace
    char route[33];  // R22
    // set while the stream's opening mutex is held, read by lanes afterwards
    fz_store *store;
    char *location; // of new files
    // mutex
    fz_layout *layout; // rows are written so; NULL: not opened since the stream was
    fz_stream_counts run;
    fz_iceberg_metadata *metadata; // as last seen, NULL: never
    fz_err err;                    // of the last delivery; code FZ_OK: delivered
};

/** Files of one sink in a cut. */
struct fz_stream_share {
    fz_record_table *table;
    fz_iceberg_append *files;
    int64_t rows;
    int64_t oldest_file_ms;
    int64_t *last_rows; // [partition], -1: no row of it
    int32_t last_count;
};

void fz_stream_share_deinit(fz_stream_share *share);
/** The sink's share of a cut, made if there is none. Under the stream's mutex. */
fz_stream_share *fz_stream_cut_share(fz_stream_cut *cut, fz_record_table *sink);

/**
 * The sink of a record type, ready to be written to: its table is loaded, or created with the
 * home's position as its own. A catalog that denies it is no obstacle: rows are collected, and
 * delivered when it allows.
 *
 * Errors: UNSUPPORTED kind schema_incompatible the schema has no record name or makes a table name
 * that another record has; kind table_incompatible; UNAVAILABLE try again. Any thread.
 */
FZ_CHECKED fz_code fz_record_table_open(fz_stream *stream, fz_writer_schema_entry *schema,
                                        fz_record_table **out, fz_err *err);
/**
 * For a look before the first record: the table of the subject's newest record, as it is or would
 * be made; nothing is changed.
 *
 * name, location  fz_free them; NULL after an error
 * exists          `layout` is the table's with what the schema adds, and `changes` has a line for
 * each such addition Errors: NOT_FOUND the subject has no schema yet; of the schema; of the
 * catalog.
 */
FZ_CHECKED fz_code fz_record_table_preview(fz_stream *stream, char **name, char **location,
                                           bool *exists, fz_layout **layout, fz_buf *changes,
                                           fz_err *err);
/** After a delivery: the table as it is now. Takes the mutex. */
void fz_record_table_delivered(fz_record_table *sink, fz_iceberg_metadata *metadata,
                               const fz_layout *committed);
/** Hash of the route of a record type into its table (R22). */
void fz_record_table_route(const fz_stream *stream, fz_str record, char out[33]);
/** Where the table of that name goes if it is made; fz_free it. */
char *fz_record_table_location(const fz_stream *stream, const char *name);
/** By full table name, NULL if absent. Takes the mutex. */
fz_record_table *fz_record_table_find(fz_stream *stream, fz_str full_name);
/** The stream is opened again: what layouts hold beyond the tables was dropped with its rows. No
 * lane holds partitions. */
void fz_record_tables_forget_layouts(fz_stream *stream);
void fz_record_tables_free(fz_stream *stream);

/** Properties that a new table gets: the link, what engines should write with, the entry's own on
 * top. New reference. */
json_t *fz_record_table_properties(const fz_config_entry *entry, const json_t *link);

#endif
