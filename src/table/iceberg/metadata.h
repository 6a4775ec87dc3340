// SPDX-License-Identifier: Apache-2.0
// Iceberg table metadata: the parsed document, carried whole, and what Frazil asks of it.
#ifndef FZ_TABLE_ICEBERG_METADATA_H
#define FZ_TABLE_ICEBERG_METADATA_H

#include "base/text/json.h"
#include "data/transform.h"
#include "data/type.h"

/** No snapshot, no schema: what a number may be instead of absent. */
#define FZ_ICEBERG_NONE (-1)
/** The branch that readers see. */
#define FZ_ICEBERG_MAIN "main"

/** Immutable once made, shared by reference; views into it live as long as it does. Any thread. */
typedef struct fz_iceberg_metadata {
    json_t *root;    // the document; unknown members are kept. Never changed
    fz_str location; // of the metadata file it was read from or written to; empty: none yet. Owned,
                     // terminated
    _Atomic int32_t references;
} fz_iceberg_metadata;

/** A snapshot, viewed. */
typedef struct fz_iceberg_snapshot {
    int64_t snapshot_id;
    int64_t parent_id;       // FZ_ICEBERG_NONE: none
    int64_t sequence_number; // 0 in version 1
    int64_t timestamp_ms;
    fz_str manifest_list; // empty: version 1 with inline manifests
    int32_t schema_id;    // FZ_ICEBERG_NONE: none
    int64_t first_row_id; // FZ_ICEBERG_NONE: none
    const json_t *json;   // borrowed
} fz_iceberg_snapshot;

/**
 * From the bytes of a metadata file; gzip is known by its magic bytes.
 *
 * location  of that file, copied
 * Errors: CORRUPT naming the member; UNSUPPORTED format version; LIMIT.
 */
FZ_CHECKED fz_code fz_iceberg_metadata_parse(fz_str bytes, fz_str location,
                                             fz_iceberg_metadata **out, fz_err *err);
/** From a document (a REST answer, an applied update); takes its own reference. Checks as parse. */
FZ_CHECKED fz_code fz_iceberg_metadata_from_json(json_t *root, fz_str location,
                                                 fz_iceberg_metadata **out, fz_err *err);
fz_iceberg_metadata *fz_iceberg_metadata_ref(fz_iceberg_metadata *metadata);
/** NULL allowed. */
void fz_iceberg_metadata_unref(fz_iceberg_metadata *metadata);
/** The same document at another location; a new object. */
fz_iceberg_metadata *fz_iceberg_metadata_moved(const fz_iceberg_metadata *metadata,
                                               fz_str location);

typedef struct fz_iceberg_new_options {
    const fz_schema *schema; // ids above 0 are kept, others given as Iceberg's fresh ids
    const fz_partition_spec
        *spec; // source ids are the schema's; field ids 0 are given from 1000; NULL: unpartitioned
    const fz_sort_order *order; // NULL: unsorted
    fz_str location;            // absolute with scheme, no '/' at the end
    const json_t *properties;   // object of texts, may be NULL
    int format_version;         // 2 or 3
    int64_t now_ms;
} fz_iceberg_new_options;

/** Metadata of a new, empty table with a random table-uuid. INVALID for what cannot be. */
FZ_CHECKED fz_code fz_iceberg_metadata_new(const fz_iceberg_new_options *options,
                                           fz_iceberg_metadata **out, fz_err *err);

/** 1, 2 or 3. */
int fz_iceberg_metadata_version(const fz_iceberg_metadata *metadata);
/** Table uuid, empty in an old version 1. */
fz_str fz_iceberg_metadata_uuid(const fz_iceberg_metadata *metadata);
/** The table's base location, without '/' at the end. */
fz_str fz_iceberg_metadata_base(const fz_iceberg_metadata *metadata);
int64_t fz_iceberg_metadata_last_sequence(const fz_iceberg_metadata *metadata);
int64_t fz_iceberg_metadata_last_updated_ms(const fz_iceberg_metadata *metadata);
int32_t fz_iceberg_metadata_last_column_id(const fz_iceberg_metadata *metadata);
int32_t fz_iceberg_metadata_last_partition_id(const fz_iceberg_metadata *metadata);
int64_t fz_iceberg_metadata_next_row_id(const fz_iceberg_metadata *metadata);
int32_t fz_iceberg_metadata_schema_id(const fz_iceberg_metadata *metadata);
int32_t fz_iceberg_metadata_spec_id(const fz_iceberg_metadata *metadata);
int32_t fz_iceberg_metadata_order_id(const fz_iceberg_metadata *metadata);

/** JSON of a schema by id, borrowed; NULL if absent. */
const json_t *fz_iceberg_metadata_schema_json(const fz_iceberg_metadata *metadata,
                                              int32_t schema_id);
/** A schema by id, parsed, a new reference; NOT_FOUND, or what fz_schema_from_json answers. */
FZ_CHECKED fz_code fz_iceberg_metadata_schema(const fz_iceberg_metadata *metadata,
                                              int32_t schema_id, fz_schema **out, fz_err *err);
/** JSON of a spec's fields array by id, borrowed; NULL if absent. */
const json_t *fz_iceberg_metadata_spec_json(const fz_iceberg_metadata *metadata, int32_t spec_id);
/**
 * A partition spec by id, its sources resolved in `schema` (NULL: current), in `arena`. A source
 * that the schema lost is looked up in the older schemas. Errors: NOT_FOUND, CORRUPT, UNSUPPORTED.
 */
FZ_CHECKED fz_code fz_iceberg_metadata_spec(const fz_iceberg_metadata *metadata, int32_t spec_id,
                                            const fz_schema *schema, fz_arena *arena,
                                            fz_partition_spec *out, fz_err *err);
/** The default sort order, in `arena`. */
FZ_CHECKED fz_code fz_iceberg_metadata_order(const fz_iceberg_metadata *metadata, fz_arena *arena,
                                             fz_sort_order *out, fz_err *err);

/** A table property; empty data if absent. */
fz_str fz_iceberg_metadata_property(const fz_iceberg_metadata *metadata, const char *key);
/** A property as integer, `fallback` when absent or not one. */
int64_t fz_iceberg_metadata_property_int(const fz_iceberg_metadata *metadata, const char *key,
                                         int64_t fallback);

/** Snapshot id of a branch or tag, FZ_ICEBERG_NONE if absent; for main current-snapshot-id counts
 * too (-1 is none). */
int64_t fz_iceberg_metadata_ref_id(const fz_iceberg_metadata *metadata, const char *ref);
/** Snapshot by id; false if not listed. */
bool fz_iceberg_metadata_snapshot(const fz_iceberg_metadata *metadata, int64_t snapshot_id,
                                  fz_iceberg_snapshot *out);
/** Snapshot of main; false if there is none. */
bool fz_iceberg_metadata_main(const fz_iceberg_metadata *metadata, fz_iceberg_snapshot *out);
size_t fz_iceberg_metadata_snapshot_count(const fz_iceberg_metadata *metadata);
void fz_iceberg_metadata_snapshot_at(const fz_iceberg_metadata *metadata, size_t index,
                                     fz_iceberg_snapshot *out);
/** A summary value; empty if absent. */
fz_str fz_iceberg_snapshot_summary(const fz_iceberg_snapshot *snapshot, const char *key);

/** Entries of metadata-log, oldest first. */
size_t fz_iceberg_metadata_log_count(const fz_iceberg_metadata *metadata);
/** Location of an older metadata file and its time. */
fz_str fz_iceberg_metadata_log_at(const fz_iceberg_metadata *metadata, size_t index,
                                  int64_t *timestamp_ms);

/** R27: max(now, last-updated-ms + 1, last snapshot-log entry + 1). */
int64_t fz_iceberg_metadata_time_ms(const fz_iceberg_metadata *metadata, int64_t now_ms);
/** Random, positive, unused in `metadata` (NULL allowed). */
int64_t fz_iceberg_snapshot_id_new(const fz_iceberg_metadata *metadata);
/** Append the folder of metadata files, without '/' at the end: write.metadata.path, else
 * `<base>/metadata`. */
void fz_iceberg_metadata_folder(const fz_iceberg_metadata *metadata, fz_buf *out);
/** `<folder>/<V+1 in 5 digits>-<uuid>.metadata.json`, V taken from the previous location
 * (none: 0 is written); append. */
void fz_iceberg_metadata_next_location(const fz_iceberg_metadata *metadata, fz_str previous,
                                       fz_buf *out);
/** A sort order as it stands in metadata and updates; id 1, without fields 0. NULL: unsorted. */
json_t *fz_iceberg_metadata_order_json(const fz_sort_order *order);
/** Append the document's text, or its gzip when write.metadata.compression-codec says so (*gzip).
 */
FZ_CHECKED fz_code fz_iceberg_metadata_format(const fz_iceberg_metadata *metadata, fz_buf *out,
                                              fz_err *err);

#endif
