// SPDX-License-Identifier: Apache-2.0
// Entries of the outbox, and their delivery to the dead-letter table.
#include "flow/ingest/outbox.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/rand.h"
#include "flow/ingest/letters.h"
#include "format/parquet/reader.h"
#include "table/scan/scan.h"

/** How long after a failure delivery is tried again. */
#define AGAIN_MS 5000

json_t *fz_outbox_entry(const fz_stream *stream, const fz_stream_cut *cut) {
    if (json_array_size(cut->letters) == 0) {
        return NULL;
    }
    char id[37];
    fz_rand_uuid(id);
    json_t *moves = json_array();
    for (size_t i = 0; i < cut->moves.count; i++) {
        const fz_commit_move *move = &cut->moves.data[i];
        json_array_append_new(moves, json_pack("[i,I,I,I]", (int)move->partition,
                                               (json_int_t)move->generation,
                                               (json_int_t)move->start, (json_int_t)move->end));
    }
    json_t *entry = json_object();
    fz_json_set_str(entry, "id", fz_str_from(id));
    fz_json_set_str(entry, "sink", fz_str_from(stream->letters_name));
    json_object_set(entry, "files", cut->letters);
    json_object_set_new(entry, "moves", moves);
    json_t *entries = json_array();
    json_array_append_new(entries, entry);
    return entries;
}

void fz_outbox_owe(fz_stream *stream, const fz_commit_state *state) {
    fz_mutex_lock(&stream->mutex);
    json_decref(stream->owed);
    stream->owed = state && state->outbox ? json_deep_copy(state->outbox) : NULL;
    fz_mutex_unlock(&stream->mutex);
}

static bool is_delivered(const fz_stream *stream, const json_t *entry) {
    size_t index;
    json_t *id;
    json_array_foreach(stream->delivered, index, id) {
        if (json_equal(id, json_object_get(entry, "id"))) {
            return true;
        }
    }
    return false;
}

void fz_outbox_drop_delivered(fz_stream *stream, fz_commit_state *state) {
    fz_mutex_lock(&stream->mutex);
    for (size_t i = json_array_size(state->outbox); i-- > 0;) {
        if (is_delivered(stream, json_array_get(state->outbox, i))) {
            json_array_remove(state->outbox, i);
        }
    }
    fz_mutex_unlock(&stream->mutex);
}

bool fz_outbox_waits(fz_stream *stream) {
    bool waits = false;
    size_t index;
    json_t *entry;
    fz_mutex_lock(&stream->mutex);
    json_array_foreach(stream->owed, index, entry) {
        waits = waits || !is_delivered(stream, entry);
    }
    fz_mutex_unlock(&stream->mutex);
    return waits;
}

// --- the sink

/** A dead-letter table while one entry is delivered. */
typedef struct sink {
    fz_stream *stream;
    const json_t *entry;
    fz_commit_table table;
    char *space;
    char *name;
    fz_iceberg_metadata *metadata;
    fz_commit_state *state;
    const fz_commit_source *source; // in state, NULL: not known there
    fz_layout *layout;
    fz_batch *batch; // rows that the sink lacks
    fz_map there;    // "partition offset" of rows that it has, among those below its vector
} sink;

static void sink_reset(sink *s) {
    fz_batch_free(s->batch);
    fz_layout_unref(s->layout);
    fz_commit_state_free(s->state);
    fz_iceberg_metadata_unref(s->metadata);
    fz_map_deinit(&s->there);
    s->batch = NULL;
    s->layout = NULL;
    s->state = NULL;
    s->metadata = NULL;
    s->source = NULL;
    memset(&s->there, 0, sizeof s->there);
}

static void sink_name(sink *s) {
    fz_str whole = fz_json_str_or(s->entry, "sink");
    size_t dot = SIZE_MAX;
    for (size_t at = 0; (at = fz_str_find(whole, '.', at)) != SIZE_MAX; at++) {
        dot = at;
    }
    s->space = fz_str_dup(fz_str_slice(whole, 0, dot == SIZE_MAX ? 0 : dot));
    s->name = fz_str_dup(fz_str_slice(whole, dot == SIZE_MAX ? 0 : dot + 1, whole.size));
    s->table = s->stream->table;
    s->table.name = (fz_catalog_name){fz_str_from(s->space), fz_str_from(s->name)};
}

/** Its vector is born at the entry's start (protocol.md 5.5). */
static void birth_source(const sink *s, fz_arena *arena, fz_commit_source *out) {
    const fz_stream *stream = s->stream;
    memset(out, 0, sizeof *out);
    out->name = out->topic = fz_str_from(stream->topic);
    out->known = stream->part_count;
    out->parts = FZ_ARENA_ARRAY(arena, fz_commit_part, (size_t)stream->part_count + 1);
    for (int32_t p = 0; p < stream->part_count; p++) {
        out->parts[p] = (fz_commit_part){.last_row = -1, .epoch = -1};
    }
    size_t index;
    json_t *move;
    json_array_foreach(json_object_get(s->entry, "moves"), index, move) {
        int64_t p = json_integer_value(json_array_get(move, 0));
        if (p >= 0 && p < out->known) {
            out->parts[p].generation = json_integer_value(json_array_get(move, 1));
            out->parts[p].next = json_integer_value(json_array_get(move, 2));
        }
    }
}

static fz_code create_sink(sink *s, fz_err *err) {
    fz_arena arena = {0};
    fz_commit_source source;
    birth_source(s, &arena, &source);
    fz_schema *schema = fz_letters_schema();
    char *location = fz_str_printf("%.*s__dead_letters",
                                   FZ_STR_ARGS(fz_iceberg_metadata_base(s->stream->metadata)));
    json_t *properties = json_object();
    fz_json_set_str(properties, "write.metadata.delete-after-commit.enabled", FZ_STR("true"));
    fz_json_set_str(properties, "comment", FZ_STR("dead letters of Frazil"));
    fz_commit_create_options options = {.schema = schema,
                                        .location = fz_str_from(location),
                                        .properties = properties,
                                        .format_version = 2,
                                        .source = &source};
    fz_code code = fz_commit_create(&s->table, &options, &s->metadata, err);
    json_decref(properties);
    fz_free(location);
    fz_schema_unref(schema);
    fz_arena_deinit(&arena);
    return code;
}

static fz_code open_sink(sink *s, fz_err *err) {
    fz_code code = fz_catalog_load(s->table.catalog, s->table.name, &s->metadata, err);
    if (code == FZ_NOT_FOUND) {
        code = create_sink(s, err);
    }
    FZ_TRY(code);
    FZ_TRY(fz_commit_position(&s->table, s->metadata, s->stream->commit_options.content,
                              s->stream->commit_options.content_context, &s->state, NULL, err));
    s->source = fz_commit_state_find(s->state, fz_str_from(s->stream->topic));
    FZ_TRY(fz_layout_load(s->stream->entry, s->metadata, &s->layout, err));
    fz_schema *wanted = fz_letters_schema();
    bool fits = fz_type_equal(&s->layout->schema->root, &wanted->root);
    fz_schema_unref(wanted);
    if (!fits) {
        return fz_err_set_kind(err, FZ_INVALID, "table_incompatible",
                               "table \"%s.%s\" does not have the columns of a dead-letter table; name "
                               "another one in dead_letter.table",
                               s->space, s->name);
    }
    s->batch = fz_batch_new(s->layout->schema, s->stream->host->budget);
    return FZ_OK;
}

/** The sink's position of a partition; behind `known` it has none, so it lacks everything. */
static int64_t sink_next(const sink *s, int64_t partition) {
    return s->source && partition < s->source->known ? s->source->parts[partition].next : -1;
}

static int64_t int_of(const fz_batch *batch, fz_letters_column column, int64_t row) {
    const fz_column *at = &batch->columns[column];
    return column == FZ_LETTERS_PARTITION ? ((const int32_t *)at->values)[row]
                                          : ((const int64_t *)at->values)[row];
}

static void coordinate(char out[48], int64_t partition, int64_t offset) {
    snprintf(out, 48, "%lld %lld", (long long)partition, (long long)offset);
}

/** Rows of this topic in the sink between the entry's start and end: kept by coordinate. */
static fz_code look_up(sink *s, fz_err *err) {
    fz_scan *scan = NULL;
    fz_scan_options options = {0};
    FZ_TRY(fz_scan_open(fz_scan_files_in(s->table.store), s->metadata, &options, &scan, err));
    fz_batch *batch = NULL;
    fz_code code;
    fz_str topic = fz_str_from(s->stream->topic);
    while ((code = fz_scan_next(scan, &batch, err)) == FZ_OK && batch) {
        for (int64_t row = 0; row < batch->rows; row++) {
            if (fz_str_equal(fz_column_bytes(&batch->columns[FZ_LETTERS_TOPIC], row), topic)) {
                char key[48];
                coordinate(key, int_of(batch, FZ_LETTERS_PARTITION, row),
                           int_of(batch, FZ_LETTERS_OFFSET, row));
                fz_map_put(&s->there, fz_str_from(key), s);
            }
        }
    }
    fz_scan_free(scan);
    return code;
}

/** Some move of the entry starts below the sink's vector: rows there may have been delivered before. */
static bool may_be_there(const sink *s) {
    size_t index;
    json_t *move;
    json_array_foreach(json_object_get(s->entry, "moves"), index, move) {
        if (json_integer_value(json_array_get(move, 2)) <
            sink_next(s, json_integer_value(json_array_get(move, 0)))) {
            return true;
        }
    }
    return false;
}

/** A staged file read whole. */
static fz_code read_letters(sink *s, fz_str uri, fz_err *err) {
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, (size_t)1 << 30, s->stream->host->budget);
    FZ_TRY(fz_store_key(s->table.store, uri, &key, err));
    FZ_TRY(fz_store_read_all(s->table.store, key, &bytes, err));
    fz_parquet_memory_source memory;
    fz_parquet_memory_source_init(&memory, fz_buf_view(&bytes));
    fz_parquet_reader *reader = NULL;
    FZ_TRY(fz_parquet_reader_open(&memory.source, NULL, s->stream->host->budget, &reader, err));
    fz_batch *all = fz_batch_new(s->layout->schema, s->stream->host->budget);
    fz_code code = fz_parquet_reader_project(reader, s->layout->schema, err);
    int64_t got = 1;
    while (code == FZ_OK && got > 0) {
        fz_batch_reset(all);
        code = fz_parquet_reader_next(reader, all, 4096, &got, err);
        for (int64_t row = 0; code == FZ_OK && row < got; row++) {
            int64_t partition = int_of(all, FZ_LETTERS_PARTITION, row);
            int64_t offset = int_of(all, FZ_LETTERS_OFFSET, row);
            char coordinates[48];
            coordinate(coordinates, partition, offset);
            if (offset >= sink_next(s, partition) ||
                !fz_map_find(&s->there, fz_str_from(coordinates))) {
                uint32_t index = (uint32_t)row;
                code = fz_batch_take(s->batch, all, &index, 1, err);
            }
        }
    }
    fz_batch_free(all);
    fz_parquet_reader_free(reader);
    return code;
}

/** sink.v = max(v, e.end) (R20). */
static void edit_vector(void *context, fz_commit_state *state, fz_commit_source *source) {
    const sink *s = (const sink *)context;
    if (source->known < s->stream->part_count) {
        fz_commit_part *parts =
            FZ_ARENA_ARRAY(&state->arena, fz_commit_part, (size_t)s->stream->part_count);
        if (source->known > 0) {
            memcpy(parts, source->parts, (size_t)source->known * sizeof *parts);
        }
        for (int32_t p = source->known; p < s->stream->part_count; p++) {
            parts[p] = (fz_commit_part){.last_row = -1, .epoch = -1};
        }
        source->parts = parts;
        source->known = s->stream->part_count;
    }
    size_t index;
    json_t *move;
    json_array_foreach(json_object_get(s->entry, "moves"), index, move) {
        int64_t p = json_integer_value(json_array_get(move, 0));
        int64_t generation = json_integer_value(json_array_get(move, 1));
        int64_t end = json_integer_value(json_array_get(move, 3));
        fz_commit_part *part = &source->parts[p];
        if (generation > part->generation || (generation == part->generation && end > part->next)) {
            part->generation = generation;
            part->next = end;
        }
    }
}

/** The vector must be as it was when rows were chosen: moves that stand still are compared like others (R4). */
static size_t still_moves(const sink *s, fz_commit_move *moves) {
    size_t count = 0, index;
    json_t *move;
    json_array_foreach(json_object_get(s->entry, "moves"), index, move) {
        int64_t p = json_integer_value(json_array_get(move, 0));
        if (s->source && p < s->source->known) {
            moves[count++] = (fz_commit_move){.partition = (int32_t)p,
                                              .generation = s->source->parts[p].generation,
                                              .start = s->source->parts[p].next,
                                              .end = s->source->parts[p].next,
                                              .last_row = -1,
                                              .fingerprint = {.offset = -1}};
        }
    }
    return count;
}

static fz_code write_rows(sink *s, fz_iceberg_append *append, int64_t *oldest_ms, fz_err *err) {
    if (s->batch->rows == 0) {
        return FZ_OK;
    }
    fz_files_options options = {
        .layout = s->layout,
        .store = s->table.store,
        .location = fz_iceberg_metadata_base(s->metadata),
        .instance = s->stream->host->instance,
        .target_file_size = s->stream->entry->target_file_size,
        .row_group_size = s->stream->entry->row_group_size,
        .compression = s->stream->entry->compression,
        .clock = s->stream->host->clock,
        .budget = s->stream->host->budget,
    };
    fz_files *files = NULL;
    int64_t bytes;
    FZ_TRY(fz_files_new(&options, s->batch, &files, err));
    fz_code code = fz_files_append(files, err);
    *oldest_ms = fz_files_oldest_ms(files);
    if (code == FZ_OK) {
        code = fz_files_finish(files, append, &bytes, err);
    }
    fz_files_free(files);
    return code;
}

static fz_code commit_sink(sink *s, bool *again, fz_err *err) {
    char commit[37];
    fz_rand_uuid(commit);
    fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(commit));
    size_t most = json_array_size(json_object_get(s->entry, "moves"));
    fz_commit_move *moves = (fz_commit_move *)fz_calloc(most + 1, sizeof *moves);
    int64_t oldest_ms = 0;
    fz_code code = write_rows(s, append, &oldest_ms, err);
    if (code == FZ_OK) {
        fz_commit_batch batch = {.op = s->batch->rows > 0 ? "append" : "offsets",
                                 .uuid = fz_iceberg_metadata_uuid(s->metadata),
                                 .source = fz_str_from(s->stream->topic),
                                 .moves = moves,
                                 .move_count = still_moves(s, moves),
                                 .files = append,
                                 .commit = fz_str_from(commit),
                                 .oldest_file_ms = oldest_ms,
                                 .rows = s->batch->rows,
                                 .schema_id = fz_iceberg_metadata_schema_id(s->metadata),
                                 .edit = edit_vector,
                                 .edit_context = s};
        fz_commit_outcome outcome;
        fz_commit_run(&s->table, &batch, &s->stream->commit_options, &outcome);
        *again = outcome.result == FZ_COMMIT_FORGOTTEN;
        if (outcome.result == FZ_COMMIT_SUSPENDED || outcome.result == FZ_COMMIT_STOPPED) {
            *err = outcome.err;
            code = outcome.err.code == FZ_OK ? FZ_CANCELLED : outcome.err.code;
        }
        fz_commit_outcome_deinit(&outcome);
    }
    fz_free(moves);
    fz_iceberg_append_free(append);
    return code;
}

static fz_code deliver_once(sink *s, bool *again, fz_err *err) {
    FZ_TRY(open_sink(s, err));
    if (may_be_there(s)) {
        FZ_TRY(look_up(s, err));
    }
    size_t index;
    json_t *uri;
    json_array_foreach(json_object_get(s->entry, "files"), index, uri) {
        FZ_TRY(read_letters(s, fz_json_view(uri), err));
    }
    return commit_sink(s, again, err);
}

static fz_code deliver(fz_stream *stream, const json_t *entry, fz_err *err) {
    sink s = {.stream = stream, .entry = entry};
    sink_name(&s);
    bool again = true;
    fz_code code = FZ_OK;
    while (again && code == FZ_OK) {
        again = false;
        code = deliver_once(&s, &again, err);
        sink_reset(&s);
    }
    if (code == FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        if (!stream->delivered) {
            stream->delivered = json_array();
        }
        json_array_append(stream->delivered, json_object_get(entry, "id"));
        fz_mutex_unlock(&stream->mutex);
    } else {
        fz_err_prepend(err, "dead letters to \"%s.%s\"", s.space, s.name);
    }
    fz_free(s.space);
    fz_free(s.name);
    return code;
}

fz_code fz_outbox_deliver(fz_stream *stream, fz_err *err) {
    fz_mutex_lock(&stream->mutex);
    json_t *owed = stream->owed ? json_deep_copy(stream->owed) : NULL;
    fz_mutex_unlock(&stream->mutex);
    fz_code code = FZ_OK;
    size_t index;
    json_t *entry;
    json_array_foreach(owed, index, entry) {
        fz_mutex_lock(&stream->mutex);
        bool known = is_delivered(stream, entry);
        fz_mutex_unlock(&stream->mutex);
        if (!known && code == FZ_OK) {
            code = deliver(stream, entry, err);
        }
    }
    json_decref(owed);
    if (code != FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        stream->deliver_at_ms = fz_clock_mono_ms(stream->host->clock) + AGAIN_MS;
        fz_mutex_unlock(&stream->mutex);
        FZ_LOG(stream->host->log, FZ_LOG_WARN, "dead_letters_wait", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("error", fz_err_text(err)));
    }
    return code;
}
