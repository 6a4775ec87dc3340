// SPDX-License-Identifier: Apache-2.0
// The columns of a table as rows are written now: its schema, who fills which column, how it is
// partitioned.
#ifndef FZ_FLOW_INGEST_LAYOUT_H
#define FZ_FLOW_INGEST_LAYOUT_H

#include "conf/config.h"
#include "flow/ingest/evolve.h"
#include "table/iceberg/metadata.h"

/** A column that tells where a record came from. */
typedef struct fz_layout_meta {
    fz_config_metadata_field field;
    int32_t top;   // index of the top-level column
    int32_t child; // index within it, -1: the column itself
} fz_layout_meta;

/** Immutable, counted; lanes hold one and change over when the stream has a newer one. */
typedef struct fz_layout {
    _Atomic int32_t references;
    int64_t number;                // rises with each layout of a stream
    fz_iceberg_metadata *metadata; // that it was made on; NULL before the table exists
    fz_schema *schema;
    int32_t base_schema_id; // current schema id of `metadata`
    bool schema_changed;    // `schema` is not in the table yet: goes with the next commit
    bool link_changed;
    json_t *link;
    int32_t last_column_id;
    int format_version;
    fz_arena arena;
    fz_partition_spec spec;
    fz_sort_order order;
    bool
        *owned[3]; // [side][top-level column]; every column has one owner, foreign ones the value's
    fz_layout_meta *meta;
    size_t meta_count;
} fz_layout;

fz_layout *fz_layout_ref(fz_layout *layout);
/** NULL allowed. */
void fz_layout_unref(fz_layout *layout);

/** Fill a LIST type with the element of record headers: struct<key string, value binary>, ids 0. */
void fz_layout_headers_type(fz_arena *arena, fz_type *type);

/** The shape of the metadata columns that an entry asks for: `_kafka` and promoted ones; NULL when
 * there are none. */
fz_schema *fz_layout_metadata_shape(const fz_config_entry *entry, bool several_topics);

/** A key schema's shape as columns: optional, with the prefix, or in one struct `key`; a new
 * schema. */
fz_schema *fz_layout_key_shape(const fz_config_entry *entry, const fz_schema *key);

/**
 * Layout of a table that is to be made: key, value and metadata shapes put together, ids given,
 * partitioning resolved. Shapes may be NULL. The bound shapes come from fz_layout_bind afterwards.
 *
 * Errors: UNSUPPORTED kind unsupported_type two names that clash; INVALID partitioning names no
 * column, or one that the transform does not take.
 */
FZ_CHECKED fz_code fz_layout_create(const fz_config_entry *entry, const fz_schema *key,
                                    const fz_schema *value, const fz_schema *metadata_shape,
                                    fz_layout **out, fz_err *err);

/**
 * The entry's partitioning on the layout's schema, field ids from 1000, in `arena`.
 * Errors: NOT_FOUND it names no column; UNSUPPORTED the transform does not take the column.
 */
FZ_CHECKED fz_code fz_layout_wanted_spec(const fz_layout *layout, const fz_config_entry *entry,
                                         fz_arena *arena, fz_partition_spec *out, fz_err *err);

/** The entry's sort order, likewise; without fields if it has none. */
FZ_CHECKED fz_code fz_layout_wanted_order(const fz_layout *layout, const fz_config_entry *entry,
                                          fz_arena *arena, fz_sort_order *out, fz_err *err);

/** Layout of a table as loaded. */
FZ_CHECKED fz_code fz_layout_load(const fz_config_entry *entry, fz_iceberg_metadata *metadata,
                                  fz_layout **out, fz_err *err);

/**
 * A layout with the schema and the link that an outbox tells (Iceberg JSON): on the table as
 * loaded, or for one that is to be made.
 *
 * metadata  NULL: no table, the entry's partitioning
 * Errors: CORRUPT schema or link; as fz_layout_load; as fz_layout_create.
 */
FZ_CHECKED fz_code fz_layout_restore(const fz_config_entry *entry, const json_t *schema,
                                     const json_t *link, fz_iceberg_metadata *metadata,
                                     fz_layout **out, fz_err *err);

/**
 * Bind a shape; *layout is replaced by a newer one if the schema or the link must change.
 *
 * older    fz_writer_schemas_is_older of the schema
 * bound    the shape with ids, fz_schema_unref it
 * changes  NULL or what was changed, a line each
 * Errors: as fz_ingest_evolve.
 */
FZ_CHECKED fz_code fz_layout_bind(fz_layout **layout, const fz_config_entry *entry,
                                  const fz_schema *shape, fz_evolve_side side, bool may_change,
                                  bool older, fz_schema **bound, fz_buf *changes, fz_err *err);

/** Does a table of schema and link `big` hold rows of schema and link `small` as they are? */
bool fz_layout_covers(const fz_layout *big, const fz_layout *small);

#endif
