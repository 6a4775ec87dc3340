// SPDX-License-Identifier: Apache-2.0
// Writer schemas of a stream by registry id: parsed once, kept for ever.
#ifndef FZ_FLOW_INGEST_WRITER_SCHEMAS_H
#define FZ_FLOW_INGEST_WRITER_SCHEMAS_H

#include "base/clock.h"
#include "conf/config.h"
#include "format/decoder.h"
#include "io/registry/frame.h"
#include "io/registry/registry.h"

/** One schema. Immutable but for the bound pair, which the stream guards. */
typedef struct fz_writer_schema_entry {
    fz_registry_frame frame; // id or guid; id -1: a configured or raw schema
    fz_writer_schema *schema;
    fz_schema *shape; // unbound
    bool may_change;  // registered under one of the entry's subjects
    fz_str subject;   // where it was found by name; empty: by id
    int32_t version;
    char *texts;
    fz_str record; // full name of the record, in the schema; empty: it has none
    // the last binding
    int64_t bound_number; // number of the layout, -1: none
    fz_schema *bound;
} fz_writer_schema_entry;

typedef struct fz_writer_schemas fz_writer_schemas;

/** Borrowed. */
typedef struct fz_writer_schemas_options {
    fz_registry *registry; // NULL: none
    const fz_config_side *side;
    bool is_key;
    fz_str topic;
    fz_mapping_options mapping;
    fz_clock *clock;
    const char *side_name; // "value", "key"
    bool by_record;        // a table a record type: versions of other records tell nothing
} fz_writer_schemas_options;

fz_writer_schemas *fz_writer_schemas_new(const fz_writer_schemas_options *options);
/** NULL allowed. */
void fz_writer_schemas_free(fz_writer_schemas *schemas);

/**
 * The schema that the table is made from: the newest of the subject, the configured one, or a raw
 * one.
 *
 * warnings  lines appended, may be NULL
 * Errors: NOT_FOUND kind no_schema naming subject, strategy, registry and near misses; UNSUPPORTED,
 * CORRUPT with the kinds of schemas; UNAVAILABLE; DENIED.
 */
FZ_CHECKED fz_code fz_writer_schemas_latest(fz_writer_schemas *schemas,
                                            fz_writer_schema_entry **out, fz_buf *warnings,
                                            fz_err *err);
/**
 * The schema of a frame. Any thread.
 *
 * Errors: NOT_FOUND kind unknown_schema_id (asked again after 1 s, then the denial is kept for 10
 * s); UNAVAILABLE (not the record's fault); CORRUPT, UNSUPPORTED: kept, the schema cannot be used.
 */
FZ_CHECKED fz_code fz_writer_schemas_find(fz_writer_schemas *schemas,
                                          const fz_registry_frame *frame,
                                          fz_writer_schema_entry **out, fz_err *err);

/**
 * Is a newer version of its subject known by now? What an older one lacks was added later
 * (fz_evolve_input.older). Any thread.
 */
bool fz_writer_schemas_is_older(fz_writer_schemas *schemas, const fz_writer_schema_entry *entry);

/** Name of the subject by strategy and side; record names need the schema's own name. fz_free it.
 */
char *fz_writer_schemas_subject(const fz_writer_schemas_options *options, fz_str record_name);

#endif
