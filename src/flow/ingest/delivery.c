// SPDX-License-Identifier: Apache-2.0
// The table that is owed rows: opened or made, looked through when rows may be there already,
// committed to.
#include "flow/ingest/delivery.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/rand.h"
#include "flow/ingest/file_json.h"
#include "flow/ingest/letters.h"
#include "flow/ingest/outbox.h"
#include "flow/ingest/record_tables.h"
#include "format/parquet/reader.h"
#include "table/scan/scan.h"

/** Longest wait for one sink. */
#define PATIENCE_MS 10000
/** Tries when other writers are first, or files are not there. */
#define TRIES 10
/** Rows read at a time. */
#define READ_ROWS 4096

// --- patience

static bool gives_up(void *context) {
    const fz_delivery_patience *patience = (const fz_delivery_patience *)context;
    return patience->stream->stop || patience->denied ||
           fz_clock_mono_ms(patience->stream->host->clock) > patience->until_ms;
}

static void waits(void *context, const fz_err *err) {
    fz_delivery_patience *patience = (fz_delivery_patience *)context;
    patience->denied = patience->denied || err->code == FZ_DENIED;
}

fz_commit_options fz_delivery_options(fz_stream *stream, fz_delivery_patience *patience) {
    *patience = (fz_delivery_patience){
        .stream = stream, .until_ms = fz_clock_mono_ms(stream->host->clock) + PATIENCE_MS};
    fz_commit_options options = stream->commit_options;
    options.stop = gives_up;
    options.stop_context = patience;
    options.waiting = waits;
    options.waiting_context = patience;
    options.suspend_on_rollback = false;
    options.max_file_age_ms =
        INT64_MAX / 2; // there are no others: an old file is looked for, and taken
    return options;
}

// --- the sink

/** A table while one entry is delivered. */
typedef struct sink {
    fz_stream *stream;
    const json_t *entry;
    json_t *content;         // of a record type; NULL: letters
    fz_record_table *record; // NULL: letters, or a type not met since the start
    char route[33];
    fz_commit_table table;
    fz_content_proof_context proof;
    char *space;
    char *name;
    char commit[37];
    fz_iceberg_metadata *metadata;
    fz_commit_state *state;
    const fz_commit_source *source; // in state, NULL: not known there
    fz_layout *committed;           // of the table
    fz_layout *layout;              // of the rows
    bool schema_changes;
    int32_t ids[3];  // columns of topic, partition, offset; 0: none
    fz_map there;    // "partition offset" of rows that it has, among those below its vector
    fz_batch *batch; // rows that must be written anew
    fz_files *files; // that they go into; NULL: none yet
    fz_iceberg_append *append; // files that are taken as they are, and those of `batch`
    int64_t rows;
    int64_t oldest_ms;
} sink;

enum { TOPIC, PARTITION, OFFSET };

static void sink_reset(sink *s) {
    fz_iceberg_append_free(s->append);
    fz_files_free(s->files);
    s->files = NULL;
    fz_batch_free(s->batch);
    fz_layout_unref(s->layout);
    fz_layout_unref(s->committed);
    fz_commit_state_free(s->state);
    fz_iceberg_metadata_unref(s->metadata);
    fz_map_deinit(&s->there);
    s->append = NULL;
    s->batch = NULL;
    s->layout = s->committed = NULL;
    s->state = NULL;
    s->metadata = NULL;
    s->source = NULL;
    s->rows = s->oldest_ms = 0;
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

/** A move of the entry. */
typedef struct owed_move {
    int64_t partition, generation, start, end, last_row;
} owed_move;

static size_t move_count(const sink *s) {
    return json_array_size(json_object_get(s->entry, "moves"));
}

static owed_move move_at(const sink *s, size_t index) {
    const json_t *move = json_array_get(json_object_get(s->entry, "moves"), index);
    int64_t numbers[5];
    for (size_t i = 0; i < FZ_COUNT(numbers); i++) {
        const json_t *number = json_array_get(move, i);
        numbers[i] = json_is_integer(number) ? json_integer_value(number) : -1;
    }
    return (owed_move){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

/** Its vector is born at the entry's start (protocol.md 5.5). */
static void birth_source(const sink *s, fz_arena *arena, fz_commit_source *out) {
    const fz_stream *stream = s->stream;
    memset(out, 0, sizeof *out);
    out->name = out->topic = fz_str_from(stream->topic);
    out->route = fz_str_from(s->route);
    out->known = stream->part_count;
    out->parts = FZ_ARENA_ARRAY(arena, fz_commit_part, (size_t)stream->part_count + 1);
    for (int32_t p = 0; p < stream->part_count; p++) {
        out->parts[p] = (fz_commit_part){.last_row = -1, .epoch = -1};
    }
    for (size_t i = 0; i < move_count(s); i++) {
        owed_move move = move_at(s, i);
        if (move.partition >= 0 && move.partition < out->known) {
            out->parts[move.partition].generation = move.generation;
            out->parts[move.partition].next = move.start;
        }
    }
}

/** Where a table that is made now goes. */
static char *new_location(const sink *s) {
    fz_str home = fz_iceberg_metadata_base(s->stream->metadata);
    if (!s->content) {
        return fz_str_printf("%.*s__dead_letters", FZ_STR_ARGS(home));
    }
    return fz_record_table_location(s->stream, s->name);
}

static fz_code create_table(sink *s, const fz_layout *layout, json_t *properties, fz_err *err) {
    fz_arena arena = {0};
    fz_commit_source source;
    birth_source(s, &arena, &source);
    char *location = new_location(s);
    fz_delivery_patience patience;
    fz_commit_options commit = fz_delivery_options(s->stream, &patience);
    fz_commit_create_options options = {.schema = layout->schema,
                                        .spec = &layout->spec,
                                        .order = &layout->order,
                                        .location = fz_str_from(location),
                                        .properties = properties,
                                        .format_version = layout->format_version,
                                        .source = &source,
                                        .commit = &commit};
    fz_code code = fz_commit_create(&s->table, &options, &s->metadata, err);
    fz_free(location);
    fz_arena_deinit(&arena);
    return code;
}

static fz_code create_sink(sink *s, fz_err *err) {
    fz_layout *layout = NULL;
    FZ_CLEANUP(fz_json_release) json_t *properties = NULL;
    if (s->content) {
        FZ_TRY(fz_layout_restore(s->stream->entry, json_object_get(s->content, "schema"),
                                 json_object_get(s->content, "columns"), NULL, &layout, err));
        properties = fz_record_table_properties(s->stream->entry, layout->link);
    } else {
        layout = fz_letters_layout(NULL);
        properties = json_object();
        fz_json_set_str(properties, "write.metadata.delete-after-commit.enabled", FZ_STR("true"));
        fz_json_set_str(properties, "comment", FZ_STR("dead letters of Frazil"));
    }
    fz_code code = create_table(s, layout, properties, err);
    fz_layout_unref(layout);
    return code;
}

/** The entry's commit among the table's snapshots: in the chain of main, or elsewhere (rolled
 * back). */
static void find_commit(const sink *s, bool *in_main, bool *known) {
    *in_main = *known = false;
    fz_str id = fz_json_str_or(s->entry, "id");
    for (size_t i = fz_iceberg_metadata_snapshot_count(s->metadata); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(s->metadata, i, &snapshot);
        *known =
            *known || fz_str_equal(fz_iceberg_snapshot_summary(&snapshot, "frazil.commit"), id);
    }
    fz_iceberg_snapshot at;
    size_t left = fz_iceberg_metadata_snapshot_count(s->metadata);
    bool found = *known && fz_iceberg_metadata_main(s->metadata, &at);
    while (found && !*in_main) {
        *in_main = fz_str_equal(fz_iceberg_snapshot_summary(&at, "frazil.commit"), id);
        found = left-- > 0 && fz_iceberg_metadata_snapshot(s->metadata, at.parent_id, &at);
    }
}

/** Rows of the entry as the table can take them. */
static fz_code fit_layout(sink *s, fz_err *err) {
    FZ_TRY(fz_layout_restore(s->stream->entry, json_object_get(s->content, "schema"),
                             json_object_get(s->content, "columns"), s->metadata, &s->layout, err));
    if (fz_layout_covers(s->committed, s->layout)) {
        return FZ_OK;
    }
    s->schema_changes = true;
    if (fz_layout_covers(s->layout, s->committed)) {
        return FZ_OK;
    }
    return fz_err_set_kind(
        err, FZ_INVALID, "table_incompatible",
        "table \"%s.%s\" was changed by others in a way that rows which it is owed "
        "do not fit: undo the change, or move the table away and it is made anew",
        s->space, s->name);
}

static int32_t column_of(const sink *s, const char *identity) {
    int64_t id = fz_json_int_or(s->layout->link, identity, 0);
    return id > 0 && id <= INT32_MAX ? (int32_t)id : 0;
}

static fz_code fit(sink *s, fz_err *err) {
    FZ_TRY(fz_layout_load(s->stream->entry, s->metadata, &s->committed, err));
    s->schema_changes = false;
    if (s->content) {
        FZ_TRY(fit_layout(s, err));
        s->ids[TOPIC] = column_of(s, "m:topic");
        s->ids[PARTITION] = column_of(s, "m:partition");
        s->ids[OFFSET] = column_of(s, "m:offset");
        return FZ_OK;
    }
    s->layout = fz_layout_ref(s->committed);
    s->ids[TOPIC] = FZ_LETTERS_TOPIC + 1;
    s->ids[PARTITION] = FZ_LETTERS_PARTITION + 1;
    s->ids[OFFSET] = FZ_LETTERS_OFFSET + 1;
    fz_schema *wanted = fz_letters_schema();
    bool fits = fz_type_equal(&s->layout->schema->root, &wanted->root);
    fz_schema_unref(wanted);
    return fits ? FZ_OK
                : fz_err_set_kind(
                      err, FZ_INVALID, "table_incompatible",
                      "table \"%s.%s\" does not have the columns of a dead-letter table; "
                      "name another one in dead_letter.table",
                      s->space, s->name);
}

static fz_code open_sink(sink *s, bool *done, fz_err *err) {
    const fz_ingest_host *host = s->stream->host;
    s->table.store = s->stream->table.store;
    fz_code code = fz_catalog_load(s->table.catalog, s->table.name, &s->metadata, err);
    if (code == FZ_NOT_FOUND) {
        code = create_sink(s, err);
    }
    FZ_TRY(code);
    FZ_TRY(host->store(host->context, &s->stream->entry->storage,
                       fz_iceberg_metadata_base(s->metadata), &s->table.store, err));
    bool known;
    find_commit(s, done, &known);
    fz_str id = fz_json_str_or(s->entry, "id");
    fz_rand_uuid(s->commit);
    if (!known && id.size == 36) { // so that it is known again after a crash
        memcpy(s->commit, id.data, 36);
    }
    s->proof = (fz_content_proof_context){&s->table.store, host->budget};
    code = fz_commit_position(&s->table, s->metadata, fz_content_proof, &s->proof, &s->state, NULL,
                              err);
    if (code == FZ_NOT_FOUND) { // made by hand and empty: it is taken up
        s->state = NULL;
        code = FZ_OK;
    }
    FZ_TRY(code);
    s->source = s->state ? fz_commit_state_find(s->state, fz_str_from(s->stream->topic)) : NULL;
    FZ_TRY(fit(s, err));
    s->batch = fz_batch_new(s->layout->schema, host->budget);
    s->append = fz_iceberg_append_new(fz_str_from(s->commit));
    return FZ_OK;
}

// --- what it has already

/** Place of a column in batches of a schema. */
typedef struct place {
    int32_t top; // -1: not there
    int32_t child;
} place;

static place place_of(const fz_schema *schema, int32_t id) {
    for (size_t i = 0; i < schema->root.field_count && id > 0; i++) {
        const fz_field *field = &schema->root.fields[i];
        if (field->id == id) {
            return (place){(int32_t)i, -1};
        }
        for (size_t j = 0; field->type.kind == FZ_TYPE_STRUCT && j < field->type.field_count; j++) {
            if (field->type.fields[j].id == id) {
                return (place){(int32_t)i, (int32_t)j};
            }
        }
    }
    return (place){-1, -1};
}

static const fz_column *column_at(const fz_batch *batch, place at) {
    const fz_column *column = &batch->columns[at.top];
    return at.child >= 0 ? &column->children[at.child] : column;
}

static int64_t partition_at(const fz_batch *batch, place at, int64_t row) {
    return ((const int32_t *)column_at(batch, at)->values)[row];
}

static int64_t offset_at(const fz_batch *batch, place at, int64_t row) {
    return ((const int64_t *)column_at(batch, at)->values)[row];
}

static void coordinate(char out[48], int64_t partition, int64_t offset) {
    snprintf(out, 48, "%lld %lld", (long long)partition, (long long)offset);
}

/** The sink's position in a move's generation; what it has no position for it lacks. */
static int64_t sink_next(const sink *s, int64_t partition, int64_t generation) {
    if (!s->source || partition < 0 || partition >= s->source->known) {
        return -1;
    }
    const fz_commit_part *part = &s->source->parts[partition];
    return generation < part->generation   ? INT64_MAX
           : generation > part->generation ? -1
                                           : part->next;
}

/** Some move of the entry starts below the sink's vector: rows there may have been delivered
 * before. */
static bool in_doubt(const sink *s) {
    for (size_t i = 0; i < move_count(s); i++) {
        owed_move move = move_at(s, i);
        if (move.start < sink_next(s, move.partition, move.generation)) {
            return true;
        }
    }
    return false;
}

static void keep_coordinates(sink *s, const fz_schema *schema, const fz_batch *batch) {
    place topic = place_of(schema, s->ids[TOPIC]);
    place partition = place_of(schema, s->ids[PARTITION]);
    place offset = place_of(schema, s->ids[OFFSET]);
    for (int64_t row = 0; row < batch->rows; row++) {
        if (topic.top >= 0 && !fz_str_equal(fz_column_bytes(column_at(batch, topic), row),
                                            fz_str_from(s->stream->topic))) {
            continue;
        }
        char key[48];
        coordinate(key, partition_at(batch, partition, row), offset_at(batch, offset, row));
        fz_map_put(&s->there, fz_str_from(key), s);
    }
}

/** Rows of this topic in the sink from the entry's least start on: kept by coordinate. */
static fz_code look_up(sink *s, fz_err *err) {
    if (s->ids[PARTITION] == 0 || s->ids[OFFSET] == 0) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "table \"%s.%s\" may have rows that it is owed, and has no columns with "
            "the partition and the offset to tell (metadata)",
            s->space, s->name);
    }
    fz_buf paths[3] = {{0}};
    fz_str columns[3];
    size_t count = 0;
    for (size_t i = 0; i < FZ_COUNT(paths); i++) {
        if (s->ids[i] > 0 && fz_schema_find_id(s->committed->schema, s->ids[i])) {
            fz_schema_path(s->committed->schema, s->ids[i], &paths[count]);
            columns[count] = fz_buf_view(&paths[count]);
            count++;
        }
    }
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < move_count(s); i++) {
        owed_move move = move_at(s, i);
        least = move.start < least ? move.start : least;
    }
    fz_scan_range range = {.field_id = s->ids[OFFSET],
                           .has_lower = true,
                           .lower = {.kind = FZ_TYPE_LONG, .as.integer = least}};
    fz_scan_options options = {.columns = columns,
                               .column_count = count,
                               .ranges = &range,
                               .range_count = 1,
                               .budget = s->stream->host->budget};
    fz_scan *scan = NULL;
    fz_batch *batch = NULL;
    fz_code code =
        fz_scan_open(fz_scan_files_in(s->table.store), s->metadata, &options, &scan, err);
    while (code == FZ_OK && (code = fz_scan_next(scan, &batch, err)) == FZ_OK && batch) {
        keep_coordinates(s, fz_scan_schema(scan), batch);
    }
    fz_scan_free(scan);
    for (size_t i = 0; i < FZ_COUNT(paths); i++) {
        fz_buf_deinit(&paths[i]);
    }
    return code;
}

/** Does the sink lack a row? At or above its vector: always. */
static bool lacks(const sink *s, int64_t partition, int64_t offset) {
    for (size_t i = 0; i < move_count(s); i++) {
        owed_move move = move_at(s, i);
        if (move.partition == partition && offset >= sink_next(s, partition, move.generation)) {
            return true;
        }
    }
    char key[48];
    coordinate(key, partition, offset);
    return !fz_map_find(&s->there, fz_str_from(key));
}

/** Encode the rows that are written anew: there may be more of them than fit in memory. */
static fz_code spill(sink *s, fz_err *err) {
    if (s->batch->rows == 0) {
        return FZ_OK;
    }
    const fz_stream *stream = s->stream;
    if (!s->files) {
        fz_files_options options = {
            .layout = s->layout,
            .store = s->table.store,
            .location = fz_iceberg_metadata_base(s->metadata),
            .instance = stream->host->instance,
            .config = &stream->entry->files,
            .clock = stream->host->clock,
            .budget = stream->host->budget,
        };
        FZ_TRY(fz_files_new(&options, s->batch, &s->files, err));
    }
    s->rows += s->batch->rows;
    FZ_TRY(fz_files_append(s->files, err));
    fz_batch_reset(s->batch);
    return FZ_OK;
}

/** Count the rows of a file that the sink lacks and those that it has; take the former into `batch`
 * if `take`. */
static fz_code read_file(sink *s, fz_str uri, bool take, int64_t *lacking, int64_t *present,
                         fz_err *err) {
    fz_store *store = s->content ? s->table.store : s->stream->table.store;
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, (size_t)1 << 30, s->stream->host->budget);
    FZ_TRY(fz_store_key(store, uri, &key, err));
    FZ_TRY(fz_store_read_all(store, key, &bytes, err));
    fz_parquet_memory_source memory;
    fz_parquet_memory_source_init(&memory, fz_buf_view(&bytes));
    fz_parquet_reader *reader = NULL;
    FZ_TRY(fz_parquet_reader_open(&memory.source, NULL, s->stream->host->budget, &reader, err));
    fz_batch *all = fz_batch_new(s->layout->schema, s->stream->host->budget);
    place partition_place = place_of(s->layout->schema, s->ids[PARTITION]);
    place offset_place = place_of(s->layout->schema, s->ids[OFFSET]);
    fz_code code = fz_parquet_reader_project(reader, s->layout->schema, err);
    int64_t got = 1;
    while (code == FZ_OK && got > 0) {
        fz_batch_reset(all);
        code = fz_parquet_reader_next(reader, all, READ_ROWS, &got, err);
        for (int64_t row = 0; code == FZ_OK && row < got; row++) {
            bool wanted = lacks(s, partition_at(all, partition_place, row),
                                offset_at(all, offset_place, row));
            *lacking += wanted;
            *present += !wanted;
            if (wanted && take) {
                uint32_t index = (uint32_t)row;
                code = fz_batch_take(s->batch, all, &index, 1, err);
            }
        }
        if (code == FZ_OK && take) {
            code = spill(s, err);
        }
    }
    fz_batch_free(all);
    fz_parquet_reader_free(reader);
    return code;
}

// --- what it gets

/** Letters are staged with their main table, so they are written anew where they belong. */
static fz_code take_letters(sink *s, fz_err *err) {
    size_t index;
    json_t *uri;
    json_array_foreach(json_object_get(s->entry, "files"), index, uri) {
        int64_t lacking = 0, present = 0;
        FZ_TRY(read_file(s, fz_json_view(uri), true, &lacking, &present, err));
    }
    return FZ_OK;
}

/** Files as they are; in doubt those of which nothing is there, and the missing rows of others. */
static fz_code take_files(sink *s, bool doubt, fz_err *err) {
    size_t index;
    json_t *json;
    json_array_foreach(json_object_get(s->content, "files"), index, json) {
        fz_arena arena = {0};
        fz_partition_spec spec = {0};
        fz_iceberg_file file;
        int64_t lacking = 0, present = 0;
        int64_t id = fz_json_int_or(json, "spec", -1);
        fz_code code = fz_iceberg_metadata_spec(s->metadata, (int32_t)(id > INT32_MAX ? -1 : id),
                                                s->layout->schema, &arena, &spec, err);
        if (code == FZ_OK) {
            code = fz_file_json_decode(json, &spec, &arena, &file, err);
        }
        if (code == FZ_OK && doubt) {
            code = read_file(s, file.path, false, &lacking, &present, err);
        }
        if (code == FZ_OK && present == 0) {
            fz_iceberg_append_add(s->append, &file);
            s->rows += file.record_count;
            s->oldest_ms = fz_json_int_or(s->entry, "made_ms", 0);
        } else if (code == FZ_OK && lacking > 0) {
            code = read_file(s, file.path, true, &lacking, &present, err);
        }
        fz_arena_deinit(&arena);
        FZ_TRY(code);
    }
    return FZ_OK;
}

/** Close what `batch` went into. */
static fz_code write_rows(sink *s, fz_err *err) {
    FZ_TRY(spill(s, err));
    if (!s->files) {
        return FZ_OK;
    }
    int64_t begun_ms = fz_files_oldest_ms(s->files), bytes;
    s->oldest_ms = s->oldest_ms > 0 && s->oldest_ms < begun_ms ? s->oldest_ms : begun_ms;
    return fz_files_finish(s->files, s->append, &bytes, err);
}

// --- the commit

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
    for (size_t i = 0; i < move_count(s); i++) {
        owed_move move = move_at(s, i);
        if (move.partition < 0 || move.partition >= source->known) {
            continue;
        }
        fz_commit_part *part = &source->parts[move.partition];
        if (move.generation > part->generation ||
            (move.generation == part->generation && move.end > part->next)) {
            part->generation = move.generation;
            part->next = move.end;
            part->last_row = move.last_row;
        } else if (move.generation == part->generation && part->last_row >= 0 &&
                   move.last_row > part->last_row) {
            part->last_row = move.last_row; // a row below the vector, beyond those that were there
        }
    }
}

/** The vector must be as it was when rows were chosen: moves that stand still are compared like
 * others (R4). */
static size_t still_moves(const sink *s, fz_commit_move *moves) {
    size_t count = 0;
    for (size_t i = 0; i < move_count(s); i++) {
        int64_t p = move_at(s, i).partition;
        if (s->source && p >= 0 && p < s->source->known) {
            const fz_commit_part *part = &s->source->parts[p];
            moves[count++] = (fz_commit_move){.partition = (int32_t)p,
                                              .generation = part->generation,
                                              .start = part->next,
                                              .end = part->next,
                                              .last_row = -1,
                                              .fingerprint = {.offset = -1}};
        }
    }
    return count;
}

/**
 * Only on the snapshot that rows were chosen on: somebody else may deliver the same entry, and the
 * vector tells nothing of rows below it, nor of a partition that it does not have yet.
 */
static fz_code build(void *context, const fz_iceberg_metadata *base,
                     const fz_iceberg_append_options *options, fz_iceberg_change *change,
                     fz_err *err) {
    const sink *s = (const sink *)context;
    if (fz_iceberg_metadata_ref_id(base, FZ_ICEBERG_MAIN) !=
        fz_iceberg_metadata_ref_id(s->metadata, FZ_ICEBERG_MAIN)) {
        return fz_err_set(err, FZ_CONFLICT, "another commit was first");
    }
    return fz_iceberg_append_build(s->append, base, options, change, err);
}

/** Columns that the rows have beyond the table's come with them, and so does their link. */
static json_t *new_properties(const sink *s) {
    if (!s->schema_changes || json_equal(s->committed->link, s->layout->link)) {
        return NULL;
    }
    char *link = json_dumps(s->layout->link, JSON_COMPACT);
    json_t *properties = json_object();
    fz_json_set_str(properties, FZ_EVOLVE_LINK_PROPERTY, fz_str_from(link));
    free(link);
    return properties;
}

static fz_code take_outcome(sink *s, fz_commit_outcome *outcome,
                            const fz_delivery_patience *patience, bool *again, fz_err *err) {
    *again = outcome->result == FZ_COMMIT_FORGOTTEN;
    if (outcome->result == FZ_COMMIT_FORGOTTEN) {
        return fz_err_set(err, FZ_UNAVAILABLE, "%s", outcome->err.text);
    }
    if (outcome->result != FZ_COMMIT_DONE) {
        fz_code code = outcome->err.code;
        code = code == FZ_OK ? FZ_CANCELLED : patience->denied ? FZ_DENIED : code;
        return fz_err_set_kind(err, code, outcome->err.kind, "%s", outcome->err.text);
    }
    if (s->record) {
        fz_layout *committed = NULL;
        if (fz_layout_load(s->stream->entry, outcome->metadata, &committed, NULL) == FZ_OK) {
            fz_record_table_delivered(s->record, outcome->metadata, committed);
            fz_layout_unref(committed);
        }
    }
    return FZ_OK;
}

static fz_code commit_sink(sink *s, bool *again, fz_err *err) {
    FZ_TRY(write_rows(s, err));
    fz_commit_move *moves = (fz_commit_move *)fz_calloc(move_count(s) + 1, sizeof *moves);
    FZ_CLEANUP(fz_json_release) json_t *properties = new_properties(s);
    fz_commit_batch batch = {.op = !s->state     ? "adopt"
                                   : s->rows > 0 ? "append"
                                                 : "offsets",
                             .uuid = fz_iceberg_metadata_uuid(s->metadata),
                             .source = fz_str_from(s->stream->topic),
                             .route = fz_str_from(s->route),
                             .moves = moves,
                             .move_count = still_moves(s, moves),
                             .files = s->append,
                             .commit = fz_str_from(s->commit),
                             .oldest_file_ms = s->oldest_ms,
                             .rows = s->rows,
                             .schema_id = fz_iceberg_metadata_schema_id(s->metadata),
                             .schema = s->schema_changes ? s->layout->schema : NULL,
                             .properties = properties,
                             .edit = edit_vector,
                             .edit_context = s,
                             .build = build,
                             .build_context = s};
    fz_delivery_patience patience;
    fz_commit_options options = fz_delivery_options(s->stream, &patience);
    options.content_context = &s->proof;
    fz_commit_outcome outcome;
    fz_commit_run(&s->table, &batch, &options, &outcome);
    fz_code code = take_outcome(s, &outcome, &patience, again, err);
    if (code == FZ_OK) {
        FZ_LOG(s->stream->host->log, FZ_LOG_INFO, "delivered", FZ_KV_TEXT("table", s->name),
               FZ_KV_TEXT("topic", s->stream->topic), FZ_KV_INT("rows", s->rows),
               FZ_KV_INT("snapshot_id", outcome.snapshot_id));
    }
    fz_commit_outcome_deinit(&outcome);
    fz_free(moves);
    return code;
}

static fz_code deliver_once(sink *s, bool *again, fz_err *err) {
    bool done = false;
    FZ_TRY(open_sink(s, &done, err));
    if (done) {
        if (s->record) {
            fz_record_table_delivered(s->record, s->metadata, s->committed);
        }
        return FZ_OK;
    }
    bool doubt = in_doubt(s);
    if (doubt) {
        FZ_TRY(look_up(s, err));
    }
    FZ_TRY(s->content ? take_files(s, doubt, err) : take_letters(s, err));
    return commit_sink(s, again, err);
}

fz_code fz_delivery_run(fz_stream *stream, const json_t *entry, fz_err *err) {
    sink s = {.stream = stream, .entry = entry};
    sink_name(&s);
    fz_code code = FZ_OK;
    if (fz_json_str_or(entry, "record").size > 0) {
        code = fz_outbox_content(stream, entry, &s.content, err);
        s.record = fz_record_table_find(stream, fz_json_str_or(entry, "sink"));
        fz_record_table_route(stream, fz_json_str_or(entry, "record"), s.route);
    }
    bool again = true;
    for (int try = 0; again && try < TRIES && (code == FZ_OK || try > 0); try++) {
        again = false;
        code = deliver_once(&s, &again, err);
        sink_reset(&s);
    }
    if (code != FZ_OK) {
        fz_err_prepend(err, "rows for \"%s.%s\"", s.space, s.name);
    }
    json_decref(s.content);
    fz_free(s.space);
    fz_free(s.name);
    return code;
}
