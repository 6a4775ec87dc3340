// SPDX-License-Identifier: Apache-2.0
// Manifests and manifest lists: data files and what is known of them, as Avro.
#ifndef FZ_TABLE_ICEBERG_MANIFEST_H
#define FZ_TABLE_ICEBERG_MANIFEST_H

#include "data/file_metrics.h"
#include "data/transform.h"
#include "table/iceberg/metadata.h"

typedef enum fz_iceberg_content {
    FZ_ICEBERG_DATA = 0,
    FZ_ICEBERG_POSITION_DELETES = 1, // and deletion vectors
    FZ_ICEBERG_EQUALITY_DELETES = 2,
} fz_iceberg_content;

typedef enum fz_iceberg_status {
    FZ_ICEBERG_EXISTING = 0,
    FZ_ICEBERG_ADDED = 1,
    FZ_ICEBERG_DELETED = 2,
} fz_iceberg_status;

/** A map from field id to long. */
typedef struct fz_iceberg_counts {
    int32_t *ids;
    int64_t *values;
    size_t count;
    bool present; // an empty map is not an absent one
} fz_iceberg_counts;

/** A map from field id to bytes. */
typedef struct fz_iceberg_bounds {
    int32_t *ids;
    fz_str *values; // single-value binary form
    size_t count;
    bool present;
} fz_iceberg_bounds;

/** A file of a table. What it points to is in the arena it was made or read in. */
typedef struct fz_iceberg_file {
    fz_iceberg_content content;
    fz_str path;   // full URI
    fz_str format; // "PARQUET"
    int32_t spec_id;
    fz_value *partition; // tuple of the spec
    size_t partition_count;
    int64_t record_count;
    int64_t file_size_bytes;
    fz_iceberg_counts column_sizes;
    fz_iceberg_counts value_counts;
    fz_iceberg_counts null_counts;
    fz_iceberg_counts nan_counts;
    fz_iceberg_bounds lower_bounds;
    fz_iceberg_bounds upper_bounds;
    fz_str key_metadata;    // data NULL: none
    int64_t *split_offsets; // ascending; count 0: none
    size_t split_count;
    int32_t *equality_ids;
    size_t equality_count;
    int32_t sort_order_id;       // FZ_ICEBERG_NONE: none
    int64_t first_row_id;        // FZ_ICEBERG_NONE: none
    fz_str referenced_data_file; // data NULL: none
    int64_t content_offset;      // FZ_ICEBERG_NONE: none
    int64_t content_size_bytes;  // FZ_ICEBERG_NONE: none
} fz_iceberg_file;

/** A data file without partition, metrics and numbers. */
static inline fz_iceberg_file fz_iceberg_file_make(fz_str path, int32_t spec_id) {
    return (fz_iceberg_file){.path = path,
                             .format = FZ_STR("PARQUET"),
                             .spec_id = spec_id,
                             .first_row_id = FZ_ICEBERG_NONE,
                             .content_offset = FZ_ICEBERG_NONE,
                             .content_size_bytes = FZ_ICEBERG_NONE};
}

/** A manifest's line. Numbers read from a manifest are inherited already; FZ_ICEBERG_NONE: unknown,
 * or written as null. */
typedef struct fz_iceberg_entry {
    fz_iceberg_status status;
    int64_t snapshot_id;
    int64_t sequence_number; // data sequence
    int64_t file_sequence_number;
    fz_iceberg_file file;
} fz_iceberg_entry;

/** What a manifest list knows of the values of one partition field. */
typedef struct fz_iceberg_field_summary {
    bool contains_null;
    int contains_nan; // 0, 1; -1 unknown
    fz_str lower;     // data NULL: none
    fz_str upper;
} fz_iceberg_field_summary;

/** A line of a manifest list. */
typedef struct fz_iceberg_manifest {
    fz_str path;
    int64_t size_bytes;
    int32_t spec_id;
    int content;                 // 0 data, 1 deletes
    int64_t sequence_number;     // FZ_ICEBERG_NONE: not given yet, becomes that of the commit
    int64_t min_sequence_number; // as above
    int64_t added_snapshot_id;
    int32_t added_files; // counts FZ_ICEBERG_NONE: unknown (version 1)
    int32_t existing_files;
    int32_t deleted_files;
    int64_t added_rows;
    int64_t existing_rows;
    int64_t deleted_rows;
    fz_iceberg_field_summary *partitions; // [partition_count], NULL: none
    size_t partition_count;
    fz_str key_metadata;  // data NULL: none
    int64_t first_row_id; // FZ_ICEBERG_NONE: none
} fz_iceberg_manifest;

typedef struct fz_iceberg_manifest_writer fz_iceberg_manifest_writer;

/**
 * Start a manifest in `out` (borrowed).
 *
 * version  2 or 3
 * schema   the table schema's JSON, for the header
 * spec     partition spec with result types; copied
 * content  0 data, 1 deletes
 */
FZ_CHECKED fz_code fz_iceberg_manifest_writer_new(int version, const json_t *schema,
                                                  const fz_partition_spec *spec, int content,
                                                  fz_buf *out, fz_iceberg_manifest_writer **writer,
                                                  fz_err *err);
/** INVALID when the file does not fit the spec, or an EXISTING or DELETED entry lacks its numbers.
 */
FZ_CHECKED fz_code fz_iceberg_manifest_writer_append(fz_iceberg_manifest_writer *writer,
                                                     const fz_iceberg_entry *entry, fz_err *err);
/** Finish the bytes; *out gets counts, sizes and summaries in `arena`. path and added_snapshot_id
 * are the caller's. */
FZ_CHECKED fz_code fz_iceberg_manifest_writer_finish(fz_iceberg_manifest_writer *writer,
                                                     fz_arena *arena, fz_iceberg_manifest *out,
                                                     fz_err *err);
void fz_iceberg_manifest_writer_free(fz_iceberg_manifest_writer *writer);

typedef struct fz_iceberg_manifest_reader fz_iceberg_manifest_reader;

/**
 * Read a manifest of version 1, 2 or 3, matching fields by id.
 *
 * bytes     the whole file, borrowed until free
 * manifest  its line in the list: numbers and row ids are inherited from it
 * spec      the spec of that id, to type the tuple; copied
 */
FZ_CHECKED fz_code fz_iceberg_manifest_reader_open(fz_str bytes,
                                                   const fz_iceberg_manifest *manifest,
                                                   const fz_partition_spec *spec,
                                                   fz_iceberg_manifest_reader **out, fz_err *err);
/** The next entry, wholly in `arena`; *found false at the end. Errors: CORRUPT, LIMIT. */
FZ_CHECKED fz_code fz_iceberg_manifest_reader_next(fz_iceberg_manifest_reader *reader,
                                                   fz_arena *arena, fz_iceberg_entry *out,
                                                   bool *found, fz_err *err);
void fz_iceberg_manifest_reader_free(fz_iceberg_manifest_reader *reader);

typedef struct fz_iceberg_list {
    fz_iceberg_manifest *manifests;
    size_t count;
} fz_iceberg_list;

/** Read a manifest list, in `arena`. Errors: CORRUPT, LIMIT. */
FZ_CHECKED fz_code fz_iceberg_list_read(fz_str bytes, fz_arena *arena, fz_iceberg_list *out,
                                        fz_err *err);

typedef struct fz_iceberg_list_options {
    int version; // 2 or 3
    int64_t snapshot_id;
    int64_t parent_id; // FZ_ICEBERG_NONE: none
    int64_t sequence_number;
    int64_t first_row_id; // version 3: the table's next-row-id
} fz_iceberg_list_options;

/**
 * Append a manifest list's bytes to `out`. Numbers that a manifest lacks become those of the
 * commit; in version 3 data manifests without first_row_id get one, and *added_rows (may be NULL)
 * is what was given out.
 */
FZ_CHECKED fz_code fz_iceberg_list_write(const fz_iceberg_list *list,
                                         const fz_iceberg_list_options *options, fz_buf *out,
                                         int64_t *added_rows, fz_err *err);

#endif
