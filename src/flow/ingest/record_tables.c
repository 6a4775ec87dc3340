// SPDX-License-Identifier: Apache-2.0
// Finding and opening tables of record types.
#include "flow/ingest/record_tables.h"

#include <stdlib.h>

#include "base/codec/hash.h"
#include "base/memory.h"
#include "flow/ingest/delivery.h"
#include "flow/ingest/open.h"
#include "flow/ingest/outbox.h"
#include "flow/ingest/settings.h"

void fz_stream_share_deinit(fz_stream_share *share) {
    fz_iceberg_append_free(share->files);
    fz_free(share->last_rows);
    memset(share, 0, sizeof *share);
}

fz_stream_share *fz_stream_cut_share(fz_stream_cut *cut, fz_record_table *sink) {
    for (size_t i = 0; i < cut->shares.count; i++) {
        if (cut->shares.data[i].table == sink) {
            return &cut->shares.data[i];
        }
    }
    fz_stream_share share = {
        .table = sink,
        .files = fz_iceberg_append_new(fz_str_from(cut->commit)),
        .last_count = sink->stream->part_count,
        .last_rows = (int64_t *)fz_calloc((size_t)sink->stream->part_count + 1, sizeof(int64_t)),
    };
    for (int32_t p = 0; p < share.last_count; p++) {
        share.last_rows[p] = -1;
    }
    fz_vec_push(&cut->shares, share);
    return &cut->shares.data[cut->shares.count - 1];
}

// --- finding

void fz_record_table_route(const fz_stream *stream, fz_str record, char out[33]) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_buf_printf(&text, "%s|%.*s", stream->route, FZ_STR_ARGS(record));
    fz_xxh3_128_hex(text.data, text.size, out);
}

char *fz_record_table_location(const fz_stream *stream, const char *name) {
    const fz_config_entry *entry = stream->entry;
    fz_str root =
        entry->storage.bucket.size > 0 ? entry->storage.bucket : entry->catalog.items[0].warehouse;
    char *space = fz_str_dup(entry->catalog.items[0].database);
    for (char *at = space; *at; at++) {
        *at = *at == '.' ? '/' : *at;
    }
    char *location = fz_str_printf("%.*s/%s/%s", FZ_STR_ARGS(root), space, name);
    fz_free(space);
    return location;
}

static fz_record_table *sink_new(fz_stream *stream, fz_str record, char *name) {
    fz_record_table *sink = (fz_record_table *)fz_calloc(1, sizeof *sink);
    sink->stream = stream;
    sink->record = fz_str_dup(record);
    sink->name = name;
    sink->full_name =
        fz_str_printf("%.*s.%s", FZ_STR_ARGS(stream->entry->catalog.items[0].database), name);
    fz_record_table_route(stream, record, sink->route);
    return sink;
}

static void sink_free(fz_record_table *sink) {
    fz_layout_unref(sink->layout);
    fz_iceberg_metadata_unref(sink->metadata);
    fz_free(sink->location);
    fz_free(sink->full_name);
    fz_free(sink->name);
    fz_free(sink->record);
    fz_free(sink);
}

/** Under the opening mutex. */
static fz_code find(fz_stream *stream, fz_str record, fz_record_table **out, fz_err *err) {
    char *name = fz_stream_record_table(stream, record);
    for (size_t i = 0; i < stream->tables.count; i++) {
        fz_record_table *sink = stream->tables.data[i];
        if (fz_str_equal(fz_str_from(sink->record), record)) {
            fz_free(name);
            *out = sink;
            return FZ_OK;
        }
        if (strcmp(sink->name, name) == 0) {
            fz_free(name);
            return fz_err_set_kind(err, FZ_UNSUPPORTED, "schema_incompatible",
                                   "records \"%s\" and \"%.*s\" both make table \"%s\"",
                                   sink->record, FZ_STR_ARGS(fz_str_slice(record, 0, 200)),
                                   sink->full_name);
        }
    }
    *out = sink_new(stream, record, name);
    fz_mutex_lock(&stream->mutex);
    fz_vec_push(&stream->tables, *out);
    fz_mutex_unlock(&stream->mutex);
    return FZ_OK;
}

fz_record_table *fz_record_table_find(fz_stream *stream, fz_str full_name) {
    fz_record_table *found = NULL;
    fz_mutex_lock(&stream->mutex);
    for (size_t i = 0; i < stream->tables.count && !found; i++) {
        if (fz_str_equal(fz_str_from(stream->tables.data[i]->full_name), full_name)) {
            found = stream->tables.data[i];
        }
    }
    fz_mutex_unlock(&stream->mutex);
    return found;
}

// --- opening

json_t *fz_record_table_properties(const fz_config_entry *entry, const json_t *link) {
    json_t *properties = json_object();
    fz_json_set_str(properties, "write.parquet.compression-codec",
                    fz_str_from(entry->files.compression.codec == FZ_CODEC_NONE
                                    ? "uncompressed"
                                    : fz_codec_name(entry->files.compression.codec)));
    fz_json_set_str(properties, "write.metadata.delete-after-commit.enabled", FZ_STR("true"));
    fz_json_set_str(properties, "write.metadata.previous-versions-max", FZ_STR("100"));
    char *text = json_dumps(link, JSON_COMPACT);
    fz_json_set_str(properties, FZ_EVOLVE_LINK_PROPERTY, fz_str_from(text));
    free(text);
    for (size_t i = 0; i < entry->properties.count; i++) {
        const fz_config_pair *pair = &entry->properties.items[i];
        json_object_setn_new(properties, pair->key.data, pair->key.size,
                             fz_json_string(pair->value));
    }
    return properties;
}

/** The table's vector is born at the home's committed position, so below everything that it will be
 * owed. */
static void birth_source(fz_record_table *sink, fz_arena *arena, fz_commit_source *out) {
    fz_stream *stream = sink->stream;
    memset(out, 0, sizeof *out);
    out->name = out->topic = fz_str_from(stream->topic);
    out->route = fz_str_from(sink->route);
    out->parts = FZ_ARENA_ARRAY(arena, fz_commit_part, (size_t)stream->part_count + 1);
    fz_mutex_lock(&stream->mutex);
    out->known = stream->part_count;
    for (int32_t p = 0; p < stream->part_count; p++) {
        out->parts[p] = (fz_commit_part){.generation = stream->parts[p].generation,
                                         .next = stream->parts[p].committed,
                                         .last_row = -1,
                                         .epoch = -1};
    }
    fz_mutex_unlock(&stream->mutex);
}

/** Another decision for an error, its text as it is. */
static fz_code refuse(fz_code code, const char *kind, fz_err *err) {
    if (err) {
        err->code = code;
        err->kind = kind;
    }
    return code;
}

/** Layout of a table that is not there, from the first schema. */
static fz_code plan_layout(fz_record_table *sink, fz_writer_schema_entry *schema, fz_layout **out,
                           fz_err *err) {
    fz_stream *stream = sink->stream;
    fz_open_shapes shapes = {.value = schema};
    shapes.metadata = fz_layout_metadata_shape(stream->entry, stream->several_topics);
    fz_code code = FZ_OK;
    if (stream->key_schemas) {
        code = fz_writer_schemas_latest(stream->key_schemas, &shapes.key, &shapes.warnings, err);
        if (code == FZ_OK) {
            shapes.key_shape = fz_layout_key_shape(stream->entry, shapes.key->shape);
        }
    }
    if (code == FZ_OK) {
        code = fz_open_new_layout(stream, &shapes, out, err);
        if (code == FZ_NOT_FOUND) { // a column to partition by
            (void)fz_err_prepend(err, "record \"%s\"", sink->record);
            code = refuse(FZ_UNSUPPORTED, "table_incompatible", err);
        }
    }
    fz_open_shapes_deinit(&shapes);
    return code;
}

/** What the newest entry for this table says that it will be, if one waits: base of what comes. */
static fz_code layout_of_owed(fz_record_table *sink, fz_iceberg_metadata *metadata, fz_layout **out,
                              fz_err *err) {
    FZ_CLEANUP(fz_json_release)
    json_t *entry = fz_outbox_newest(sink->stream, fz_str_from(sink->full_name));
    *out = NULL;
    if (!entry) {
        return FZ_OK;
    }
    FZ_CLEANUP(fz_json_release) json_t *content = NULL;
    FZ_TRY(fz_outbox_content(sink->stream, entry, &content, err));
    return fz_layout_restore(sink->stream->entry, json_object_get(content, "schema"),
                             json_object_get(content, "columns"), metadata, out, err);
}

static fz_code create(fz_record_table *sink, const fz_commit_table *table, const fz_layout *layout,
                      fz_iceberg_metadata **out, fz_err *err) {
    fz_arena arena = {0};
    fz_commit_source source;
    birth_source(sink, &arena, &source);
    FZ_CLEANUP(fz_json_release)
    json_t *properties = fz_record_table_properties(sink->stream->entry, layout->link);
    fz_delivery_patience patience;
    fz_commit_options options = fz_delivery_options(sink->stream, &patience);
    fz_commit_create_options how = {.schema = layout->schema,
                                    .spec = &layout->spec,
                                    .order = &layout->order,
                                    .location = fz_str_from(sink->location),
                                    .properties = properties,
                                    .format_version = layout->format_version,
                                    .source = &source,
                                    .commit = &options};
    fz_code code = fz_commit_create(table, &how, out, err);
    fz_arena_deinit(&arena);
    if (code == FZ_CANCELLED) {
        code = fz_err_set(err, FZ_UNAVAILABLE, "table \"%s\" was not created in time",
                          sink->full_name);
    }
    if (code == FZ_OK) {
        FZ_LOG(sink->stream->host->log, FZ_LOG_INFO, "table_created",
               FZ_KV_TEXT("topic", sink->stream->topic), FZ_KV_TEXT("table", sink->full_name),
               FZ_KV_TEXT("record", sink->record),
               FZ_KV_STR("location", fz_iceberg_metadata_base(*out)));
    }
    return code;
}

static fz_code open_store(fz_record_table *sink, fz_str location, fz_err *err) {
    const fz_ingest_host *host = sink->stream->host;
    fz_free(sink->location);
    sink->location = fz_str_dup(location);
    return host->store(host->context, &sink->stream->entry->storage, fz_str_from(sink->location),
                       &sink->store, err);
}

/** The layout of a table that is not there or not ours to see: what is owed to it, else planned;
 * *metadata if created. */
static fz_code open_absent(fz_record_table *sink, fz_commit_table *table,
                           fz_writer_schema_entry *schema, bool unseen, fz_layout **out,
                           fz_iceberg_metadata **metadata, fz_err *err) {
    char *location = fz_record_table_location(sink->stream, sink->name);
    fz_code code = open_store(sink, fz_str_from(location), err);
    fz_free(location);
    FZ_TRY(code);
    table->store = sink->store;
    FZ_TRY(layout_of_owed(sink, NULL, out, err));
    if (*out) {
        return FZ_OK;
    }
    FZ_TRY(plan_layout(sink, schema, out, err));
    code = unseen ? FZ_DENIED : create(sink, table, *out, metadata, err);
    if (code == FZ_DENIED) {
        FZ_LOG(sink->stream->host->log, FZ_LOG_WARN, "table_unseen",
               FZ_KV_TEXT("topic", sink->stream->topic), FZ_KV_TEXT("table", sink->full_name));
        return FZ_OK;
    }
    fz_layout_unref(*out);
    *out = NULL;
    return code;
}

/** What the entry says of tables; one that cannot be changed now is written as it is (E6). */
static void apply_settings(fz_record_table *sink, fz_commit_table *table,
                           fz_iceberg_metadata **metadata) {
    fz_delivery_patience patience;
    fz_commit_options options = fz_delivery_options(sink->stream, &patience);
    table->store = sink->store;
    fz_settings_table of = {.entry = sink->stream->entry,
                            .table = table,
                            .metadata = *metadata,
                            .source = fz_str_from(sink->stream->topic),
                            .route = fz_str_from(sink->route),
                            .options = &options,
                            .log = sink->stream->host->log};
    fz_iceberg_metadata *newer = NULL;
    fz_err err = {0};
    if (fz_settings_apply(&of, &newer, &err) != FZ_OK) {
        FZ_LOG(sink->stream->host->log, FZ_LOG_WARN, "table_settings",
               FZ_KV_TEXT("table", sink->full_name), FZ_KV_TEXT("error", fz_err_text(&err)));
    }
    if (newer) {
        fz_iceberg_metadata_unref(*metadata);
        *metadata = newer;
    }
}

static fz_code open_table(fz_record_table *sink, fz_writer_schema_entry *schema, fz_layout **out,
                          fz_iceberg_metadata **metadata, fz_err *err) {
    fz_stream *stream = sink->stream;
    fz_commit_table table = stream->table;
    table.name =
        (fz_catalog_name){stream->entry->catalog.items[0].database, fz_str_from(sink->name)};
    fz_code code = fz_catalog_load(table.catalog, table.name, metadata, err);
    // a table that cannot be seen must not hold up the others: its rows are collected all the same
    // (E6)
    bool unseen =
        code == FZ_DENIED || code == FZ_CORRUPT || code == FZ_INVALID || code == FZ_UNSUPPORTED;
    if (code == FZ_NOT_FOUND || unseen) {
        FZ_TRY(open_absent(sink, &table, schema, unseen, out, metadata, err));
    } else if (code != FZ_OK) {
        return code;
    }
    if (*metadata) {
        FZ_TRY(open_store(sink, fz_iceberg_metadata_base(*metadata), err));
        apply_settings(sink, &table, metadata);
        FZ_TRY(layout_of_owed(sink, *metadata, out, err));
        if (!*out) {
            FZ_TRY(fz_layout_load(stream->entry, *metadata, out, err));
        }
    } else {
        (*out)->metadata = fz_iceberg_metadata_ref(stream->metadata); // for metrics modes
    }
    return FZ_OK;
}

fz_code fz_record_table_open(fz_stream *stream, fz_writer_schema_entry *schema,
                             fz_record_table **out, fz_err *err) {
    if (schema->record.size == 0) {
        return fz_err_set_kind(err, FZ_UNSUPPORTED, "schema_incompatible",
                               "its schema has no record name, and catalog.table holds {record}");
    }
    fz_mutex_lock(&stream->tables_mutex);
    fz_record_table *sink = NULL;
    fz_layout *layout = NULL;
    fz_iceberg_metadata *metadata = NULL;
    fz_code code = find(stream, schema->record, &sink, err);
    bool fresh = code == FZ_OK && !sink->layout;
    if (fresh) {
        code = open_table(sink, schema, &layout, &metadata, err);
    }
    if (fresh && code == FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        // numbers of different tables never meet: schemas of keys are bound to several
        layout->number = ++stream->layout_epoch << 32;
        sink->layout = layout;
        fz_iceberg_metadata_unref(sink->metadata);
        sink->metadata = metadata;
        fz_mutex_unlock(&stream->mutex);
    } else {
        fz_layout_unref(layout);
        fz_iceberg_metadata_unref(metadata);
    }
    fz_mutex_unlock(&stream->tables_mutex);
    if (code == FZ_OK) {
        *out = sink;
    } else if (code == FZ_INVALID || code == FZ_EXISTS) {
        code = refuse(FZ_UNSUPPORTED, err && err->kind ? err->kind : "table_incompatible", err);
    } else if (code != FZ_UNSUPPORTED) { // never the record's fault
        code = refuse(FZ_UNAVAILABLE, NULL, err);
    }
    return code;
}

static fz_code preview(fz_record_table *sink, fz_writer_schema_entry *schema, bool *exists,
                       fz_layout **layout, fz_buf *changes, fz_err *err) {
    fz_stream *stream = sink->stream;
    fz_catalog_name name = {stream->entry->catalog.items[0].database, fz_str_from(sink->name)};
    fz_iceberg_metadata *metadata = NULL;
    fz_code code = fz_catalog_load(stream->table.catalog, name, &metadata, err);
    *exists = code == FZ_OK;
    if (code == FZ_NOT_FOUND) {
        sink->location = fz_record_table_location(stream, sink->name);
        return plan_layout(sink, schema, layout, err);
    }
    FZ_TRY(code);
    sink->location = fz_str_dup(fz_iceberg_metadata_base(metadata));
    code = fz_layout_load(stream->entry, metadata, layout, err);
    if (code == FZ_OK) {
        fz_open_shapes shapes = {.value = schema};
        shapes.metadata = fz_layout_metadata_shape(stream->entry, stream->several_topics);
        code = fz_open_bind_all(stream, &shapes, layout, changes, err);
        fz_open_shapes_deinit(&shapes);
    }
    fz_iceberg_metadata_unref(metadata);
    return code;
}

fz_code fz_record_table_preview(fz_stream *stream, char **name, char **location, bool *exists,
                                fz_layout **layout, fz_buf *changes, fz_err *err) {
    *name = *location = NULL;
    fz_writer_schema_entry *schema = NULL;
    FZ_TRY(fz_writer_schemas_latest(stream->schemas, &schema, NULL, err));
    if (schema->record.size == 0) {
        return fz_err_set_kind(err, FZ_UNSUPPORTED, "schema_incompatible",
                               "its schema has no record name, and catalog.table holds {record}");
    }
    fz_record_table *sink =
        sink_new(stream, schema->record, fz_stream_record_table(stream, schema->record));
    fz_code code = preview(sink, schema, exists, layout, changes, err);
    if (code == FZ_OK) {
        *name = fz_str_dup(fz_str_from(sink->full_name));
        *location = fz_str_dup(fz_str_from(sink->location));
    }
    sink_free(sink);
    return code;
}

void fz_record_table_delivered(fz_record_table *sink, fz_iceberg_metadata *metadata,
                               const fz_layout *committed) {
    fz_mutex_lock(&sink->stream->mutex);
    fz_iceberg_metadata_unref(sink->metadata);
    sink->metadata = fz_iceberg_metadata_ref(metadata);
    sink->err = (fz_err){0};
    // columns that others added meanwhile are known from now on; what is not delivered yet stays
    if (sink->layout && fz_layout_covers(committed, sink->layout) &&
        !fz_layout_covers(sink->layout, committed)) {
        fz_layout *newer = fz_layout_ref((fz_layout *)committed);
        newer->number = sink->layout->number + 1;
        fz_layout_unref(sink->layout);
        sink->layout = newer;
    }
    fz_mutex_unlock(&sink->stream->mutex);
}

void fz_record_tables_forget_layouts(fz_stream *stream) {
    fz_mutex_lock(&stream->mutex);
    for (size_t i = 0; i < stream->tables.count; i++) {
        fz_layout_unref(stream->tables.data[i]->layout);
        stream->tables.data[i]->layout = NULL;
    }
    fz_mutex_unlock(&stream->mutex);
}

void fz_record_tables_free(fz_stream *stream) {
    for (size_t i = 0; i < stream->tables.count; i++) {
        sink_free(stream->tables.data[i]);
    }
    fz_vec_deinit(&stream->tables);
}
