// SPDX-License-Identifier: Apache-2.0
// A stream's life outside opening and committing: making it, its states, binding writer schemas.
#include "flow/ingest/stream.h"

#include <stdio.h>

#include "base/codec/hash.h"
#include "base/memory.h"
#include "base/rand.h"
#include "flow/ingest/record_tables.h"

const char *fz_stream_state_name(fz_stream_state state) {
    static const char *const names[] = {
        [FZ_STREAM_PENDING] = "pending",   [FZ_STREAM_RUNNING] = "running",
        [FZ_STREAM_DEGRADED] = "degraded", [FZ_STREAM_SUSPENDED] = "suspended",
        [FZ_STREAM_PAUSED] = "paused",     [FZ_STREAM_DONE] = "done",
        [FZ_STREAM_FAILED] = "failed",
    };
    return names[state];
}

void fz_stream_counts_add(fz_stream_counts *to, const fz_stream_counts *from) {
    to->rows += from->rows;
    to->dead_letters += from->dead_letters;
    to->skipped += from->skipped;
    to->tombstones += from->tombstones;
}

void fz_stream_cut_reset(fz_stream_cut *cut) {
    fz_iceberg_append_free(cut->files);
    fz_vec_deinit(&cut->moves);
    json_decref(cut->letters);
    for (size_t i = 0; i < cut->shares.count; i++) {
        fz_stream_share_deinit(&cut->shares.data[i]);
    }
    fz_vec_deinit(&cut->shares);
    memset(cut, 0, sizeof *cut);
    fz_rand_uuid(cut->commit);
    cut->files = fz_iceberg_append_new(fz_str_from(cut->commit));
    cut->letters = json_array();
}

/** What catalogs cannot hold made `_`. */
static void append_clean(fz_buf *name, fz_str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || (c & 0x80);
        fz_buf_append_byte(name, (uint8_t)(kept ? c : '_'));
    }
}

/** Table name from the pattern: `{topic}` and `{record}` replaced. */
static char *table_name(fz_str pattern, fz_str topic, fz_str record) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf name = {0};
    size_t at = 0;
    while (at < pattern.size) {
        fz_str rest = fz_str_slice(pattern, at, pattern.size);
        if (fz_str_starts_with(rest, FZ_STR("{topic}"))) {
            append_clean(&name, topic);
            at += 7;
        } else if (fz_str_starts_with(rest, FZ_STR("{record}"))) {
            append_clean(&name, record);
            at += 8;
        } else {
            fz_buf_append_byte(&name, (uint8_t)pattern.data[at++]);
        }
    }
    return fz_str_dup(fz_buf_view(&name));
}

/** `db.table`, or a table beside the main one. */
static char *letters_name(const fz_stream *stream, fz_str pattern) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf name = {0};
    if (fz_str_find(pattern, '.', 0) == SIZE_MAX) {
        fz_buf_printf(&name, "%s.", stream->space);
    }
    size_t at = 0;
    while (at < pattern.size) {
        fz_str rest = fz_str_slice(pattern, at, pattern.size);
        if (fz_str_starts_with(rest, FZ_STR("{table}"))) {
            fz_buf_append_str(&name, fz_str_from(stream->table_name));
            at += 7;
        } else if (fz_str_starts_with(rest, FZ_STR("{topic}"))) {
            append_clean(&name, fz_str_from(stream->topic));
            at += 7;
        } else {
            fz_buf_append_byte(&name, (uint8_t)pattern.data[at++]);
        }
    }
    return fz_str_dup(fz_buf_view(&name));
}

char *fz_stream_record_table(const fz_stream *stream, fz_str record) {
    return table_name(stream->entry->catalog.items[0].table, fz_str_from(stream->topic), record);
}

bool fz_stream_keeps_letters(const fz_stream *stream) {
    const fz_config_dead_letter *letters = &stream->entry->dead_letter;
    return stream->entry->on_error == FZ_ON_ERROR_DEAD_LETTER &&
           (letters->to_table || letters->topic.size > 0);
}

/** A table a record type: the stream's own is that of dead letters, whose commits decide (R19). */
static void make_home(fz_stream *stream) {
    const fz_config_dead_letter *letters = &stream->entry->dead_letter;
    fz_str pattern = letters->to_table ? letters->table : FZ_STR("{table}__dead_letters");
    char *name = letters_name(stream, pattern);
    char *dot = strrchr(name, '.');
    fz_free(stream->space);
    fz_free(stream->table_name);
    stream->space = fz_str_dup(fz_str_make(name, (size_t)(dot - name)));
    stream->table_name = fz_str_dup(fz_str_from(dot + 1));
    fz_free(name);
}

/** What decides which records become which rows (R22). */
static void make_route(fz_stream *stream) {
    const fz_config_entry *entry = stream->entry;
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_buf_printf(&text, "%s|%.*s|%d|%d|%d", stream->topic, FZ_STR_ARGS(entry->value.message),
                  (int)entry->key.format, (int)entry->key.mode, (int)entry->write_mode);
    if (stream->by_record) {
        fz_buf_printf(&text, "|%.*s", FZ_STR_ARGS(entry->catalog.items[0].table));
    }
    fz_xxh3_128_hex(text.data, text.size, stream->route);
}

static void resolve_location(fz_stream *stream) {
    const fz_config_entry *entry = stream->entry;
    const fz_config_catalog *catalog = &entry->catalog.items[0];
    fz_str bucket = entry->storage.bucket;
    bool one_table = !stream->by_record && (entry->topics.count == 1 || stream->several_topics);
    if (bucket.size > 0 && entry->storage.bucket_in_entry && one_table) {
        stream->location = fz_str_dup(bucket);
        stream->location_exact = true;
        return;
    }
    fz_str root = bucket.size > 0 ? bucket : catalog->warehouse;
    FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
    fz_buf_append_str(&path, root);
    fz_buf_append_byte(&path, '/');
    for (size_t i = 0; i < strlen(stream->space); i++) {
        char c = stream->space[i];
        fz_buf_append_byte(&path, (uint8_t)(c == '.' ? '/' : c));
    }
    fz_buf_printf(&path, "/%s", stream->table_name);
    stream->location = fz_str_dup(fz_buf_view(&path));
}

static fz_mapping_options mapping_of(const fz_config_entry *entry) {
    return (fz_mapping_options){
        .nanos_keep =
            entry->types.timestamp_nanos == FZ_NANOS_KEEP ||
            (entry->types.timestamp_nanos != FZ_NANOS_TRUNCATE && entry->format_version >= 3),
        .nanos_truncate = entry->types.timestamp_nanos == FZ_NANOS_TRUNCATE,
        .uint64_long = entry->types.uint64 == FZ_UINT64_LONG,
        .recursive_json = entry->types.recursive == FZ_RECURSIVE_JSON,
        .unions_struct = entry->types.unions == FZ_UNIONS_STRUCT,
        .format_version = (int)entry->format_version,
    };
}

static bool told_to_stop(void *context) {
    return ((fz_stream *)context)->stop;
}

static void commit_waits(void *context, const fz_err *err) {
    fz_stream *stream = (fz_stream *)context;
    if (err->code == FZ_CONFLICT) {
        return; // another writer was first, which is normal
    }
    fz_mutex_lock(&stream->mutex);
    bool running = stream->state == FZ_STREAM_RUNNING;
    fz_mutex_unlock(&stream->mutex);
    if (running) {
        fz_stream_set_state(stream, FZ_STREAM_DEGRADED, err);
    }
}

fz_stream *fz_stream_new(const fz_ingest_host *host, const fz_config_entry *entry, fz_str topic,
                         bool several_topics) {
    fz_stream *stream = (fz_stream *)fz_calloc(1, sizeof *stream);
    const fz_config_catalog *catalog = &entry->catalog.items[0];
    stream->host = host;
    stream->entry = entry;
    stream->topic = fz_str_dup(topic);
    stream->space = fz_str_dup(catalog->database);
    stream->by_record = fz_str_find_str(catalog->table, FZ_STR("{record}")) != SIZE_MAX;
    stream->table_name =
        table_name(stream->by_record ? FZ_STR("{topic}") : catalog->table, topic, (fz_str){0});
    if (stream->by_record) {
        make_home(stream);
    }
    stream->full_name = fz_str_printf("%s.%s", stream->space, stream->table_name);
    stream->several_topics = several_topics;
    fz_mutex_init(&stream->mutex);
    fz_mutex_init(&stream->tables_mutex);
    fz_cond_init(&stream->cond);
    stream->state = FZ_STREAM_PENDING;
    stream->err_partition = -1;
    stream->err_offset = -1;
    stream->retry_at_ms = 0;
    stream->snapshot_id = -1;
    if (!stream->by_record && fz_stream_keeps_letters(stream) && entry->dead_letter.to_table) {
        stream->letters_name = letters_name(stream, entry->dead_letter.table);
    }
    make_route(stream);
    resolve_location(stream);
    fz_stream_cut_reset(&stream->cut);
    fz_commit_options_init(&stream->commit_options);
    stream->commit_options.stop = told_to_stop;
    stream->commit_options.stop_context = stream;
    stream->commit_options.waiting = commit_waits;
    stream->commit_options.waiting_context = stream;
    stream->commit_options.log = host->log;
    stream->proof = (fz_content_proof_context){&stream->table.store, host->budget};
    stream->commit_options.content = fz_content_proof;
    stream->commit_options.content_context = &stream->proof;
    stream->commit_options.suspend_on_rollback = entry->on_rollback == FZ_ON_ROLLBACK_SUSPEND;
    return stream;
}

void fz_stream_free(fz_stream *stream) {
    if (!stream) {
        return;
    }
    fz_writer_schemas_free(stream->schemas);
    fz_writer_schemas_free(stream->key_schemas);
    fz_layout_unref(stream->layout);
    fz_layout_unref(stream->committed);
    fz_iceberg_metadata_unref(stream->metadata);
    fz_stream_cut_reset(&stream->cut);
    fz_iceberg_append_free(stream->cut.files);
    json_decref(stream->cut.letters);
    fz_record_tables_free(stream);
    json_decref(stream->owed);
    json_decref(stream->delivered);
    fz_free(stream->parts);
    fz_free(stream->targets);
    fz_free(stream->held);
    fz_free(stream->uuid);
    fz_free(stream->topic);
    fz_free(stream->space);
    fz_free(stream->table_name);
    fz_free(stream->full_name);
    fz_free(stream->letters_name);
    fz_free(stream->location);
    fz_cond_deinit(&stream->cond);
    fz_mutex_deinit(&stream->mutex);
    fz_mutex_deinit(&stream->tables_mutex);
    fz_free(stream);
}

fz_code fz_stream_make_schemas(fz_stream *stream, fz_err *err) {
    if (stream->schemas) {
        return FZ_OK;
    }
    const fz_config_entry *entry = stream->entry;
    if (entry->schema_registry && entry->schema_registry->url.count > 0) {
        FZ_TRY(stream->host->registry(stream->host->context, entry->schema_registry,
                                      &stream->registry, err));
    }
    fz_writer_schemas_options options = {.registry = stream->registry,
                                         .side = &entry->value,
                                         .topic = fz_str_from(stream->topic),
                                         .mapping = mapping_of(entry),
                                         .clock = stream->host->clock,
                                         .side_name = "value",
                                         .by_record = stream->by_record};
    stream->schemas = fz_writer_schemas_new(&options);
    if (entry->key.format != FZ_CONFIG_FORMAT_NONE && entry->key.mode != FZ_KEY_MODE_NONE) {
        options.side = &entry->key;
        options.is_key = true;
        options.side_name = "key";
        options.by_record = false;
        stream->key_schemas = fz_writer_schemas_new(&options);
    }
    return FZ_OK;
}

fz_str fz_stream_lines(fz_buf *text) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf one = {0};
    fz_str lines = fz_str_trim(fz_buf_view(text));
    for (size_t i = 0; i < lines.size; i++) {
        fz_buf_append_str(&one,
                          lines.data[i] == '\n' ? FZ_STR("; ") : fz_str_slice(lines, i, i + 1));
    }
    fz_buf_reset(text);
    fz_buf_append_str(text, fz_buf_view(&one));
    return fz_buf_view(text);
}

void fz_stream_set_state(fz_stream *stream, fz_stream_state state, const fz_err *err) {
    fz_mutex_lock(&stream->mutex);
    bool changed = stream->state != state || (err && strcmp(err->text, stream->err.text) != 0);
    stream->state = state;
    if (err) {
        stream->err = *err;
    } else {
        memset(&stream->err, 0, sizeof stream->err);
    }
    stream->err_partition = -1;
    stream->err_offset = -1;
    fz_cond_broadcast(&stream->cond);
    fz_mutex_unlock(&stream->mutex);
    if (!changed) {
        return;
    }
    fz_log_level level = state == FZ_STREAM_FAILED || state == FZ_STREAM_SUSPENDED ? FZ_LOG_ERROR
                         : state == FZ_STREAM_DEGRADED                             ? FZ_LOG_WARN
                                                                                   : FZ_LOG_INFO;
    if (err) {
        FZ_LOG(stream->host->log, level, "topic_state", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("table", stream->full_name),
               FZ_KV_TEXT("state", fz_stream_state_name(state)),
               FZ_KV_TEXT("kind", err->kind ? err->kind : fz_code_name(err->code)),
               FZ_KV_TEXT("error", fz_err_text(err)));
    } else {
        FZ_LOG(stream->host->log, level, "topic_state", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("table", stream->full_name),
               FZ_KV_TEXT("state", fz_stream_state_name(state)));
    }
}

void fz_stream_suspend(fz_stream *stream, const fz_err *err, int32_t partition, int64_t offset) {
    stream->halt = true;
    fz_stream_set_state(stream, FZ_STREAM_SUSPENDED, err);
    fz_mutex_lock(&stream->mutex);
    stream->err_partition = partition;
    stream->err_offset = offset;
    // an unknown id may be registered meanwhile (interface.md); other bad records wait for a person
    bool again = err->kind && strcmp(err->kind, "unknown_schema_id") == 0;
    stream->retry_at_ms = again ? fz_clock_mono_ms(stream->host->clock) + 10000 : -1;
    fz_mutex_unlock(&stream->mutex);
}

void fz_stream_fail(fz_stream *stream, const fz_err *err) {
    static const char *const looked_at_again[] = {"no_topic", "no_schema", "denied"};
    int64_t now = fz_clock_mono_ms(stream->host->clock);
    int64_t again = -1;
    fz_stream_state state = FZ_STREAM_SUSPENDED;
    if (err->code == FZ_UNAVAILABLE || err->code == FZ_UNKNOWN_OUTCOME ||
        err->code == FZ_CONFLICT || err->code == FZ_IO) {
        state = stream->host->once ? FZ_STREAM_FAILED : FZ_STREAM_DEGRADED;
        again = now + 2000;
    } else if (err->code == FZ_DENIED) {
        state = stream->host->once ? FZ_STREAM_FAILED : FZ_STREAM_SUSPENDED;
        again = now + 30000;
    } else if (err->kind && strcmp(err->kind, "unsupported") == 0) {
        state = FZ_STREAM_FAILED;
    } else if (!err->kind) {
        state = FZ_STREAM_FAILED;
    }
    for (size_t i = 0; err->kind && i < FZ_COUNT(looked_at_again); i++) {
        if (strcmp(err->kind, looked_at_again[i]) == 0) {
            again = now + 30000;
        }
    }
    fz_stream_set_state(stream, state, err);
    fz_mutex_lock(&stream->mutex);
    stream->retry_at_ms = again;
    fz_mutex_unlock(&stream->mutex);
}

fz_code fz_stream_bind(fz_stream *stream, fz_record_table *table, fz_writer_schema_entry *schema,
                       fz_evolve_side side, fz_layout **layout, fz_schema **bound, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf changes = {0};
    fz_mutex_lock(&stream->mutex);
    fz_layout **current = table ? &table->layout : &stream->layout;
    fz_code code = FZ_OK;
    if (!schema->bound || schema->bound_number != (*current)->number) {
        fz_schema *fresh = NULL;
        bool is_key = side == FZ_EVOLVE_KEY;
        bool older =
            fz_writer_schemas_is_older(is_key ? stream->key_schemas : stream->schemas, schema);
        fz_schema *shape = is_key ? fz_layout_key_shape(stream->entry, schema->shape)
                                  : fz_schema_ref(schema->shape);
        code = fz_layout_bind(current, stream->entry, shape, side, schema->may_change, older,
                              &fresh, &changes, err);
        fz_schema_unref(shape);
        if (code == FZ_OK) {
            fz_schema_unref(schema->bound);
            schema->bound = fresh;
            schema->bound_number = (*current)->number;
        }
    }
    if (code == FZ_OK) {
        *layout = fz_layout_ref(*current);
        *bound = fz_schema_ref(schema->bound);
    }
    fz_mutex_unlock(&stream->mutex);
    if (code != FZ_OK) {
        return fz_err_prepend(err, "writer schema %d of subject \"%.*s\" version %d",
                              schema->frame.id, FZ_STR_ARGS(schema->subject), schema->version);
    }
    if (changes.size > 0) {
        FZ_LOG(stream->host->log, FZ_LOG_INFO, "schema_update", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("table", table ? table->full_name : stream->full_name),
               FZ_KV_INT("schema_id", schema->frame.id),
               FZ_KV_STR("changes", fz_stream_lines(&changes)));
    }
    return FZ_OK;
}
