// SPDX-License-Identifier: Apache-2.0
// Reads Parquet files of any writer into batches of a wanted schema, by field id. Every byte is
// untrusted.
#ifndef FZ_FORMAT_PARQUET_READER_H
#define FZ_FORMAT_PARQUET_READER_H

#include "data/batch.h"

/** Random access to a file. First member of every implementation; one thread at a time. */
typedef struct fz_parquet_source fz_parquet_source;
struct fz_parquet_source {
    int64_t size; // bytes
    /** Append exactly `size` bytes from offset `at` to out. */
    fz_code (*read)(fz_parquet_source *source, int64_t at, size_t size, fz_buf *out, fz_err *err);
};

/** A file in memory (borrowed). */
typedef struct fz_parquet_memory_source {
    fz_parquet_source source;
    fz_str bytes;
} fz_parquet_memory_source;
void fz_parquet_memory_source_init(fz_parquet_memory_source *source, fz_str bytes);

/** What a file may make us do. */
typedef struct fz_parquet_limits {
    int64_t footer_size; // bytes; default 256 MiB
    int64_t page_size;   // bytes of a page, before and after decompression; default 256 MiB
    int32_t elements;    // schema elements; default 20,000
    int32_t depth;       // of nesting; default 100
    int64_t row_groups;  // default 1,000,000
    bool ignore_crc;     // of pages; default false: a page with a wrong checksum is CORRUPT
} fz_parquet_limits;
void fz_parquet_limits_init(fz_parquet_limits *limits);

/** One open file. One thread at a time. */
typedef struct fz_parquet_reader fz_parquet_reader;

/**
 * Read and check the footer.
 *
 * source  borrowed until free
 * limits  NULL: the defaults
 * budget  NULL or outliving the reader
 * Errors: CORRUPT, LIMIT, UNSUPPORTED (encrypted), what the source answers.
 */
FZ_CHECKED fz_code fz_parquet_reader_open(fz_parquet_source *source,
                                          const fz_parquet_limits *limits, fz_budget *budget,
                                          fz_parquet_reader **out, fz_err *err);
/** NULL allowed. */
void fz_parquet_reader_free(fz_parquet_reader *reader);

int64_t fz_parquet_reader_rows(const fz_parquet_reader *reader);
size_t fz_parquet_reader_row_groups(const fz_parquet_reader *reader);
int64_t fz_parquet_reader_row_group_rows(const fz_parquet_reader *reader, size_t row_group);
/** Value of a key of the footer; false if absent. */
bool fz_parquet_reader_pair(const fz_parquet_reader *reader, fz_str key, fz_str *value);
fz_str fz_parquet_reader_created_by(const fz_parquet_reader *reader);
/** Some column of the file carries a field id: columns are found by id, else by name. */
bool fz_parquet_reader_has_ids(const fz_parquet_reader *reader);
/**
 * The file's schema as it stands, borrowed until free: field ids of the file, fresh ones if it has
 * none. Columns of types that cannot be read (interval, variant...) are left out.
 */
fz_schema *fz_parquet_reader_schema(const fz_parquet_reader *reader);

/**
 * Give the columns of a file without ids those of a name mapping, at any depth;
 * columns that it does not name are not there then. A file with ids, or NULL, is left as it is.
 *
 * mapping  Iceberg's: [{"names": [...], "field-id": 1, "fields": [...]}]; before project
 * Source: Iceberg specification, Column Projection and Name Mapping Serialization.
 */
void fz_parquet_reader_map_names(fz_parquet_reader *reader, const json_t *mapping);

/**
 * Choose what to read: the columns of `schema` by field id at any depth (by name if the file has no
 * ids).
 *
 * schema  a reference is kept; batches given to next are of this very schema
 * Absent columns read as null (a zero placeholder where required; see fz_parquet_reader_has).
 * Promotions: int to long, float to double, decimal to greater precision, date to timestamp; times
 * and timestamps of any unit, INT96. Errors: UNSUPPORTED a column that cannot become the wanted
 * type, naming both.
 */
FZ_CHECKED fz_code fz_parquet_reader_project(fz_parquet_reader *reader, fz_schema *schema,
                                             fz_err *err);
/** The projected field is in the file. */
bool fz_parquet_reader_has(const fz_parquet_reader *reader, int32_t field_id);
/** Continue with the first row of a row group; after open or project it is the first one. INVALID
 * past the last. */
FZ_CHECKED fz_code fz_parquet_reader_seek(fz_parquet_reader *reader, size_t row_group, fz_err *err);
/**
 * Append at most `max_rows` rows (never across row groups) to a batch of the projected schema.
 *
 * rows  rows appended; 0 at the end of the file
 * Errors: CORRUPT, LIMIT, UNSUPPORTED (an encoding), what the source answers; the batch is as
 * before and the reader failed until the next seek.
 */
FZ_CHECKED fz_code fz_parquet_reader_next(fz_parquet_reader *reader, fz_batch *batch,
                                          int64_t max_rows, int64_t *rows, fz_err *err);

#endif
