// SPDX-License-Identifier: Apache-2.0
// Dead letters: their table's columns, and the files that a lane collects them in.
#ifndef FZ_FLOW_INGEST_LETTERS_H
#define FZ_FLOW_INGEST_LETTERS_H

#include "flow/ingest/files.h"
#include "flow/ingest/stream.h"

/** Columns of a dead-letter table, in order (interface.md). */
typedef enum fz_letters_column {
    FZ_LETTERS_TOPIC,
    FZ_LETTERS_PARTITION,
    FZ_LETTERS_OFFSET,
    FZ_LETTERS_TIMESTAMP,
    FZ_LETTERS_KEY,
    FZ_LETTERS_VALUE,
    FZ_LETTERS_HEADERS,
    FZ_LETTERS_ERROR,
    FZ_LETTERS_MESSAGE,
    FZ_LETTERS_SCHEMA_ID,
    FZ_LETTERS_FAILED_AT,
    FZ_LETTERS_COLUMNS
} fz_letters_column;

/** Schema of a new dead-letter table, ids as Iceberg gives them; a new reference. */
fz_schema *fz_letters_schema(void);
/**
 * A layout of that schema, unpartitioned, for files that are no table's yet or for a new home of
 * record types.
 *
 * metadata  gives metrics modes; NULL: none yet
 */
fz_layout *fz_letters_layout(fz_iceberg_metadata *metadata);

/** What a lane has of one stream since the last cut. */
typedef struct fz_letters fz_letters;

fz_letters *fz_letters_new(fz_stream *stream);
/** Abandons what is open. NULL allowed. */
void fz_letters_free(fz_letters *letters);
/** One bad record. schema_id -1: was not read. */
FZ_CHECKED fz_code fz_letters_append(fz_letters *letters, int32_t partition,
                                     const fz_record *record, const char *kind, const char *message,
                                     int32_t schema_id, fz_err *err);
/** Publish the files and add them to `files`; *oldest_ms is lowered to when the first was begun,
 * *bytes grows. */
FZ_CHECKED fz_code fz_letters_finish(fz_letters *letters, fz_iceberg_append *files, int64_t *bytes,
                                     int64_t *oldest_ms, fz_err *err);

#endif
