// SPDX-License-Identifier: Apache-2.0
// Opening a stream: schemas, table, position, log.
#include "flow/ingest/open.h"

#include "base/memory.h"
#include "flow/ingest/letters.h"
#include "flow/ingest/outbox.h"
#include "flow/ingest/record_tables.h"
#include "flow/ingest/settings.h"
#include "table/iceberg/file_options.h"

void fz_open_shapes_deinit(fz_open_shapes *shapes) {
    fz_schema_unref(shapes->key_shape);
    fz_schema_unref(shapes->metadata);
    fz_buf_deinit(&shapes->warnings);
    memset(shapes, 0, sizeof *shapes);
}

/** Key fields that a value field is named like are not columns: the value wins (types.md). */
static void warn_of_clashes(const fz_schema *key, const fz_schema *value, fz_buf *warnings) {
    for (size_t i = 0; i < key->root.field_count; i++) {
        if (fz_type_find(&value->root, key->root.fields[i].name)) {
            fz_buf_printf(
                warnings,
                "key field \"%.*s\" has the name of a value field, which wins; key.prefix "
                "keeps both\n",
                FZ_STR_ARGS(key->root.fields[i].name));
        }
    }
}

static bool has_zorder(const fz_config_entry *entry) {
    for (size_t i = 0; i < entry->sort_order.count; i++) {
        if (entry->sort_order.items[i].zorder) {
            return true;
        }
    }
    return false;
}

fz_code fz_open_supported(const fz_config_entry *entry, fz_err *err) {
    const char *what = NULL;
    if (entry->table_format != FZ_TABLE_ICEBERG) {
        what = "table_format but ICEBERG";
    } else if (entry->write_mode != FZ_WRITE_MODE_APPEND) {
        what = "write_mode but append";
    } else if (entry->value.framing == FZ_FRAMING_GLUE || entry->key.framing == FZ_FRAMING_GLUE) {
        what = "framing glue";
    } else if (has_zorder(entry)) {
        what = "sort_order zorder";
    } else if (entry->catalog.count > 1) {
        what = "second catalog to publish to";
    }
    return what ? fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported", "%.*s: this build has no %s",
                                  FZ_STR_ARGS(entry->where), what)
                : FZ_OK;
}

fz_code fz_open_shapes_find(fz_stream *stream, fz_open_shapes *out, fz_err *err) {
    memset(out, 0, sizeof *out);
    FZ_TRY(fz_stream_make_schemas(stream, err));
    if (stream->by_record) {
        return FZ_OK; // schemas of values come with their records
    }
    fz_code code = fz_writer_schemas_latest(stream->schemas, &out->value, &out->warnings, err);
    const fz_config_side *value = &stream->entry->value;
    if (code == FZ_NOT_FOUND && value->subject.size == 0 &&
        value->subject_name_strategy != FZ_STRATEGY_TOPIC_NAME) {
        FZ_TRY(fz_open_peek_schema(stream, err));
        code = fz_writer_schemas_latest(stream->schemas, &out->value, &out->warnings, err);
    }
    if (code == FZ_OK && stream->key_schemas) {
        code = fz_writer_schemas_latest(stream->key_schemas, &out->key, &out->warnings, err);
        if (code == FZ_OK) {
            out->key_shape = fz_layout_key_shape(stream->entry, out->key->shape);
            warn_of_clashes(out->key_shape, out->value->shape, &out->warnings);
        }
    }
    if (code != FZ_OK) {
        fz_open_shapes_deinit(out);
        bool away = code == FZ_UNAVAILABLE || code == FZ_DENIED;
        return away ? fz_err_prepend(err,
                                     "cannot ask the schema registry (schema_registry) for topic "
                                     "\"%s\"",
                                     stream->topic)
                    : code;
    }
    out->metadata = fz_layout_metadata_shape(stream->entry, stream->several_topics);
    return FZ_OK;
}

fz_code fz_open_bind_all(fz_stream *stream, const fz_open_shapes *shapes, fz_layout **layout,
                         fz_buf *changes, fz_err *err) {
    const struct {
        const fz_schema *shape;
        fz_evolve_side side;
    } parts[] = {{shapes->value ? shapes->value->shape : NULL, FZ_EVOLVE_VALUE},
                 {shapes->key_shape, FZ_EVOLVE_KEY},
                 {shapes->metadata, FZ_EVOLVE_METADATA}};
    for (size_t i = 0; i < FZ_COUNT(parts); i++) {
        if (!parts[i].shape) {
            continue;
        }
        fz_schema *bound = NULL;
        fz_code code = fz_layout_bind(layout, stream->entry, parts[i].shape, parts[i].side, true,
                                      false, &bound, changes, err);
        fz_schema_unref(bound);
        // records of a version that does not fit are letters then; the topic goes on with what the
        // table has
        bool of_records = code == FZ_UNSUPPORTED && (*layout)->metadata &&
                          stream->entry->evolution.incompatible == FZ_POLICY_RECORD_ERROR;
        if (!of_records) {
            FZ_TRY(code);
        }
    }
    return FZ_OK;
}

fz_code fz_open_new_layout(fz_stream *stream, const fz_open_shapes *shapes, fz_layout **out,
                           fz_err *err) {
    fz_layout *layout = NULL;
    if (!shapes->value) { // the home of record types
        *out = fz_letters_layout(NULL);
        return FZ_OK;
    }
    FZ_TRY(fz_layout_create(stream->entry, shapes->key_shape, shapes->value->shape,
                            shapes->metadata, &layout, err));
    fz_code code = fz_open_bind_all(stream, shapes, &layout, NULL, err);
    if (code != FZ_OK) {
        fz_layout_unref(layout);
        return code;
    }
    *out = layout;
    return FZ_OK;
}

fz_code fz_open_load(fz_stream *stream, fz_iceberg_metadata **out, fz_err *err) {
    const fz_ingest_host *host = stream->host;
    if (!stream->table.catalog) {
        FZ_TRY(host->catalog(host->context, &stream->entry->catalog.items[0],
                             &stream->table.catalog, err));
    }
    stream->table.name =
        (fz_catalog_name){fz_str_from(stream->space), fz_str_from(stream->table_name)};
    stream->table.clock = host->clock;
    stream->table.instance = host->instance;
    return fz_catalog_load(stream->table.catalog, stream->table.name, out, err);
}

static fz_code open_store(fz_stream *stream, fz_str location, fz_err *err) {
    const fz_ingest_host *host = stream->host;
    return host->store(host->context, &stream->entry->storage, location, &stream->table.store, err);
}

static fz_code create_table(fz_stream *stream, const fz_open_shapes *shapes,
                            fz_iceberg_metadata **out, fz_err *err) {
    fz_layout *layout = NULL;
    FZ_TRY(fz_open_new_layout(stream, shapes, &layout, err));
    fz_arena arena = {0};
    fz_commit_source source;
    fz_code code = open_store(stream, fz_str_from(stream->location), err);
    if (code == FZ_OK) {
        code = fz_open_resolve_start(stream, &arena, &source, err);
    }
    if (code == FZ_OK) {
        json_t *properties = fz_record_table_properties(stream->entry, layout->link);
        code = fz_iceberg_file_options_places(properties, fz_str_from(stream->location), err);
        fz_commit_create_options options = {.schema = layout->schema,
                                            .spec = &layout->spec,
                                            .order = &layout->order,
                                            .location = fz_str_from(stream->location),
                                            .exact = stream->location_exact,
                                            .properties = properties,
                                            .format_version = (int)stream->entry->format_version,
                                            .source = &source,
                                            .commit = &stream->commit_options};
        if (code == FZ_OK) {
            code = fz_commit_create(&stream->table, &options, out, err);
        }
        json_decref(properties);
    }
    fz_arena_deinit(&arena);
    fz_layout_unref(layout);
    if (code == FZ_OK) {
        FZ_LOG(stream->host->log, FZ_LOG_INFO, "table_created", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("table", stream->full_name),
               FZ_KV_STR("location", fz_iceberg_metadata_base(*out)));
    }
    return code;
}

/** State changes that opening needs: a source that the table did not know, new partitions, lost
 * ranges. */
static void edit_positions(void *context, fz_commit_state *state, fz_commit_source *source) {
    fz_stream *stream = (fz_stream *)context;
    if (source->known < stream->part_count) {
        fz_commit_part *parts =
            FZ_ARENA_ARRAY(&state->arena, fz_commit_part, (size_t)stream->part_count);
        if (source->known > 0) {
            memcpy(parts, source->parts, (size_t)source->known * sizeof *parts);
        }
        for (int32_t p = source->known; p < stream->part_count; p++) {
            parts[p] =
                (fz_commit_part){.next = stream->parts[p].committed, .last_row = -1, .epoch = -1};
        }
        source->parts = parts;
        source->known = stream->part_count;
    }
    fz_commit_range *ranges = FZ_ARENA_ARRAY(&state->arena, fz_commit_range,
                                             source->range_count + (size_t)stream->part_count);
    if (source->range_count > 0) {
        memcpy(ranges, source->ranges, source->range_count * sizeof *ranges);
    }
    source->ranges = ranges;
    for (int32_t p = 0; p < stream->part_count; p++) {
        fz_commit_part *part = &source->parts[p];
        if (part->generation == stream->parts[p].generation &&
            part->next < stream->parts[p].committed) {
            ranges[source->range_count++] = (fz_commit_range){
                p, part->generation, part->next, stream->parts[p].committed, FZ_STR("lost")};
            part->next = stream->parts[p].committed;
        }
    }
}

fz_code fz_stream_commit_edit(fz_stream *stream, const char *op,
                              void (*edit)(void *, fz_commit_state *, fz_commit_source *),
                              fz_str reason, fz_commit_state **state, fz_err *err) {
    fz_stream_cut cut = {0};
    fz_stream_cut_reset(&cut);
    fz_commit_batch batch = {.op = op,
                             .uuid = fz_iceberg_metadata_uuid(stream->metadata),
                             .source = fz_str_from(stream->topic),
                             .route = fz_str_from(stream->route),
                             .files = cut.files,
                             .commit = fz_str_from(cut.commit),
                             .schema_id = fz_iceberg_metadata_schema_id(stream->metadata),
                             .edit = edit,
                             .edit_context = stream,
                             // two processes that see the new log at once: one generation, not two
                             .expected = strcmp(op, "generation") == 0 ? *state : NULL,
                             .reason = reason};
    fz_commit_outcome outcome;
    fz_commit_run(&stream->table, &batch, &stream->commit_options, &outcome);
    fz_code code = FZ_OK;
    if (outcome.result == FZ_COMMIT_DONE) {
        fz_mutex_lock(&stream->mutex);
        fz_iceberg_metadata_unref(stream->metadata);
        stream->metadata = fz_iceberg_metadata_ref(outcome.metadata);
        fz_mutex_unlock(&stream->mutex);
        fz_outbox_owe(stream, outcome.state);
        if (state) {
            fz_commit_state_free(*state);
            *state = outcome.state;
            outcome.state = NULL;
        }
    } else if (outcome.result == FZ_COMMIT_FORGOTTEN) {
        code = fz_err_set(err, FZ_UNAVAILABLE, "another writer was first: %s", outcome.err.text);
    } else {
        if (err) {
            *err = outcome.err;
        }
        code = outcome.err.code == FZ_OK ? FZ_CANCELLED : outcome.err.code;
    }
    fz_commit_outcome_deinit(&outcome);
    fz_iceberg_append_free(cut.files);
    json_decref(cut.letters);
    return code;
}

static void edit_generation(void *context, fz_commit_state *state, fz_commit_source *source) {
    fz_stream *stream = (fz_stream *)context;
    fz_commit_part *parts =
        FZ_ARENA_ARRAY(&state->arena, fz_commit_part, (size_t)stream->part_count);
    for (int32_t p = 0; p < stream->part_count; p++) {
        int64_t generation = p < source->known ? source->parts[p].generation + 1 : 0;
        parts[p] = (fz_commit_part){.generation = generation,
                                    .next = stream->parts[p].committed,
                                    .last_row = -1,
                                    .epoch = -1};
    }
    source->parts = parts;
    source->known = stream->part_count;
    source->fingerprint_count = 0;
}

/** on_log_change: restart_from_earliest (R15): every partition from the start of the new log, a
 * generation up. */
static fz_code restart_from_earliest(fz_stream *stream, fz_commit_state **state, const fz_err *why,
                                     fz_err *err) {
    int32_t count = 0;
    fz_str topic = fz_str_from(stream->topic);
    FZ_TRY(fz_source_partitions(stream->host->source, topic, &count, err));
    fz_free(stream->parts);
    stream->parts = (fz_stream_part *)fz_calloc((size_t)count, sizeof *stream->parts);
    stream->part_count = count;
    for (int32_t p = 0; p < count; p++) {
        int64_t end;
        FZ_TRY(fz_source_bounds(stream->host->source, topic, p, &stream->parts[p].committed, &end,
                                err));
    }
    FZ_LOG(stream->host->log, FZ_LOG_WARN, "new_generation", FZ_KV_TEXT("topic", stream->topic),
           FZ_KV_TEXT("table", stream->full_name), FZ_KV_TEXT("reason", why->text));
    return fz_stream_commit_edit(stream, "generation", edit_generation, fz_str_from(why->text),
                                 state, err);
}

/** The source of the state that is this stream's; a table of ours that does not know the topic yet
 * takes it up. */
static fz_code adopt_source(fz_stream *stream, fz_commit_state **state, fz_err *err) {
    fz_arena arena = {0};
    fz_commit_source fresh;
    fz_code code = fz_open_resolve_start(stream, &arena, &fresh, err);
    if (code == FZ_OK) {
        fz_free(stream->parts);
        stream->part_count = fresh.known;
        stream->parts = (fz_stream_part *)fz_calloc((size_t)fresh.known, sizeof *stream->parts);
        for (int32_t p = 0; p < fresh.known; p++) {
            stream->parts[p].committed = fresh.parts[p].next;
        }
        code = fz_stream_commit_edit(stream, "adopt", edit_positions, FZ_STR("new source"), state,
                                     err);
    }
    fz_arena_deinit(&arena);
    return code;
}

static fz_code check_route(fz_stream *stream, const fz_commit_source *source, fz_err *err) {
    if (source->route.size == 0 || fz_str_equal(source->route, fz_str_from(stream->route))) {
        return FZ_OK;
    }
    return fz_err_set_kind(
        err, FZ_INVALID, "route_conflict",
        "table \"%s\" is written from topic \"%s\" by another route (key, message or "
        "write mode differ): use another table, or put the configuration back",
        stream->full_name, stream->topic);
}

/** Position and log; positions that the log or new partitions change are committed first. */
static fz_code open_position(fz_stream *stream, fz_err *err) {
    fz_commit_state *state = NULL;
    fz_code code =
        fz_commit_position(&stream->table, stream->metadata, stream->commit_options.content,
                           stream->commit_options.content_context, &state, NULL, err);
    if (code != FZ_OK && code != FZ_NOT_FOUND) {
        return code;
    }
    if (state && state->rolled_back && stream->commit_options.suspend_on_rollback) {
        fz_commit_state_free(state);
        return fz_err_set_kind(
            err, FZ_INVALID, "rolled_back",
            "table \"%s\" was rolled back and on_rollback is suspend; use frazil repair "
            "with --reread or --keep-position",
            stream->full_name);
    }
    fz_commit_source *source =
        state ? fz_commit_state_find(state, fz_str_from(stream->topic)) : NULL;
    if (!source) {
        code = adopt_source(stream, &state, err);
        source = state ? fz_commit_state_find(state, fz_str_from(stream->topic)) : NULL;
        if (code == FZ_OK && !source) {
            code = fz_err_set(err, FZ_INTERNAL, "table \"%s\" did not take up topic \"%s\"",
                              stream->full_name, stream->topic);
        }
    } else {
        code = check_route(stream, source, err);
    }
    bool edits = false;
    if (code == FZ_OK) {
        code = fz_open_check_log(stream, state, source, &edits, err);
        if (code == FZ_INVALID && err && err->kind && strcmp(err->kind, "log_changed") == 0 &&
            stream->entry->on_log_change == FZ_ON_LOG_CHANGE_RESTART_FROM_EARLIEST) {
            fz_err why = *err;
            code = restart_from_earliest(stream, &state, &why, err);
            source = code == FZ_OK ? fz_commit_state_find(state, fz_str_from(stream->topic)) : NULL;
            if (source) {
                code = fz_open_check_log(stream, state, source, &edits, err);
            }
        }
    }
    if (code == FZ_OK && edits) {
        code = fz_stream_commit_edit(stream, "offsets", edit_positions,
                                     FZ_STR("new or lost offsets"), &state, err);
    }
    if (code == FZ_OK && source && source->paused) {
        code = fz_err_set_kind(err, FZ_INVALID, "paused", "paused by an operator");
    }
    fz_outbox_owe(stream, state);
    fz_commit_state_free(state);
    return code;
}

/** A home must take letters, whatever else it has. */
static fz_code check_home(const fz_stream *stream, const fz_layout *layout, fz_err *err) {
    fz_layout *wanted = fz_letters_layout(NULL);
    json_object_clear(wanted->link); // a table of letters that was made as a sink has none
    bool fits = fz_layout_covers(layout, wanted);
    fz_layout_unref(wanted);
    return fits ? FZ_OK
                : fz_err_set_kind(
                      err, FZ_INVALID, "table_incompatible",
                      "table \"%s\" does not have the columns of a dead-letter table; name "
                      "another one in dead_letter.table",
                      stream->full_name);
}

static fz_code open_layout(fz_stream *stream, const fz_open_shapes *shapes, fz_err *err) {
    fz_layout *committed = NULL;
    FZ_TRY(fz_layout_load(stream->entry, stream->metadata, &committed, err));
    committed->number = stream->layout ? stream->layout->number + 1 : 1;
    fz_layout *layout = fz_layout_ref(committed);
    FZ_CLEANUP(fz_buf_deinit) fz_buf changes = {0};
    fz_code code = stream->by_record ? check_home(stream, layout, err)
                                     : fz_open_bind_all(stream, shapes, &layout, &changes, err);
    if (code != FZ_OK) {
        fz_layout_unref(committed);
        fz_layout_unref(layout);
        return code;
    }
    if (changes.size > 0) {
        FZ_LOG(stream->host->log, FZ_LOG_INFO, "schema_update", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("table", stream->full_name),
               FZ_KV_STR("changes", fz_stream_lines(&changes)));
    }
    fz_mutex_lock(&stream->mutex);
    fz_layout_unref(stream->layout);
    fz_layout_unref(stream->committed);
    stream->layout = layout;
    stream->committed = committed;
    fz_mutex_unlock(&stream->mutex);
    return FZ_OK;
}

static fz_code apply_settings(fz_stream *stream, fz_err *err) {
    fz_settings_table of = {.entry = stream->entry,
                            .table = &stream->table,
                            .metadata = stream->metadata,
                            .source = fz_str_from(stream->topic),
                            .route = fz_str_from(stream->route),
                            .options = &stream->commit_options,
                            .log = stream->host->log};
    fz_iceberg_metadata *newer = NULL;
    FZ_TRY(fz_settings_apply(&of, &newer, err));
    if (newer) {
        fz_mutex_lock(&stream->mutex);
        fz_iceberg_metadata_unref(stream->metadata);
        stream->metadata = newer;
        fz_mutex_unlock(&stream->mutex);
    }
    return FZ_OK;
}

static fz_code open_all(fz_stream *stream, const fz_open_shapes *shapes, fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    fz_code code = fz_open_load(stream, &metadata, err);
    if (code == FZ_NOT_FOUND) {
        if (stream->uuid) {
            return fz_err_set_kind(err, FZ_INVALID, "replaced",
                                   "table \"%s\" is gone from the catalog while it was written",
                                   stream->full_name);
        }
        code = create_table(stream, shapes, &metadata, err);
    } else if (code == FZ_OK) {
        code = open_store(stream, fz_iceberg_metadata_base(metadata), err);
    }
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(metadata);
        return code;
    }
    fz_iceberg_metadata_unref(stream->metadata);
    stream->metadata = metadata;
    FZ_TRY(fz_iceberg_file_options_places(json_object_get(metadata->root, "properties"),
                                          fz_iceberg_metadata_base(metadata), err));
    FZ_TRY(open_position(stream, err));
    if (!stream->by_record) { // what the entry says of columns is for tables of records
        FZ_TRY(apply_settings(stream, err));
    }
    FZ_TRY(open_layout(stream, shapes, err));
    if (stream->by_record) { // what was decided comes first (R21); a table that refuses is no
                             // reason not to start
        fz_record_tables_forget_layouts(stream);
        fz_err refused = {0};
        fz_code delivered = fz_outbox_deliver(stream, &refused);
        (void)delivered;
    }
    fz_free(stream->uuid);
    stream->uuid = fz_str_dup(fz_iceberg_metadata_uuid(stream->metadata));
    return FZ_OK;
}

fz_code fz_stream_open(fz_stream *stream, fz_err *err) {
    int32_t partitions = 0;
    FZ_TRY(fz_open_supported(stream->entry, err));
    FZ_TRY(
        fz_source_partitions(stream->host->source, fz_str_from(stream->topic), &partitions, err));
    fz_open_shapes shapes;
    FZ_TRY(fz_open_shapes_find(stream, &shapes, err));
    if (shapes.warnings.size > 0) {
        FZ_LOG(stream->host->log, FZ_LOG_WARN, "schema_warning", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_STR("text", fz_stream_lines(&shapes.warnings)));
    }
    fz_code code = open_all(stream, &shapes, err);
    fz_open_shapes_deinit(&shapes);
    if (code == FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        stream->opened = true;
        stream->halt = false;
        stream->epoch++;
        fz_stream_cut_reset(&stream->cut);
        stream->cut_failed = false;
        stream->open_bytes = stream->open_rows = 0;
        fz_mutex_unlock(&stream->mutex);
    }
    return code;
}
