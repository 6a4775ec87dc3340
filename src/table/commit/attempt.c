// SPDX-License-Identifier: Apache-2.0
// Checks and builds one attempt; nothing here talks to the catalog.
#include "table/commit/attempt.h"

#include "base/memory.h"
#include "table/commit/summary.h"

/** Largest manifest list that is read, bytes. */
#define LIST_MAX (256u << 20)
/** Fingerprints kept a partition; fewer where there are many partitions. */
#define RING 8
#define RING_OF_MANY 2
#define MANY 200

// --- checks

/** An edit is a compare-and-swap too (R26). */
static fz_code check_expected(const fz_commit_batch *batch, const fz_commit_state *position,
                              fz_err *err) {
    if (!batch->expected) {
        return FZ_OK;
    }
    char expected[33], found[33];
    fz_commit_state_digest(batch->expected, expected);
    fz_commit_state_digest(position, found);
    if (batch->expected->number != position->number || strcmp(expected, found) != 0) {
        return fz_err_set(err, FZ_CONFLICT,
                          "the table moved from own commit %lld to %lld since this was decided",
                          (long long)batch->expected->number, (long long)position->number);
    }
    return FZ_OK;
}

static fz_code check_move(const fz_commit_source *source, const fz_commit_move *move, fz_err *err) {
    static const fz_commit_part unknown = {.generation = -1, .next = -1};
    bool known = move->partition >= 0 && move->partition < source->known;
    const fz_commit_part *part = known ? &source->parts[move->partition] : &unknown;
    if (part->generation != move->generation || part->next != move->start) {
        return fz_err_set(
            err, FZ_CONFLICT,
            "partition %d was read from generation %lld offset %lld, the table stands at %lld, "
            "%lld: another writer was first, or the table was rolled back",
            move->partition, (long long)move->generation, (long long)move->start,
            (long long)part->generation, (long long)part->next);
    }
    return FZ_OK;
}

static fz_code check_position(const fz_commit_batch *batch, const fz_commit_state *position,
                              fz_err *err) {
    FZ_TRY(check_expected(batch, position, err));
    const fz_commit_source *source = fz_commit_state_find(position, batch->source);
    if (!source) {
        // without moves: an edit takes the source up
        return batch->move_count == 0
                   ? FZ_OK
                   : fz_err_set(err, FZ_CONFLICT, "the table's state does not know source \"%.*s\"",
                                FZ_STR_ARGS(batch->source));
    }
    if (batch->route.size > 0 && source->route.size > 0 &&
        !fz_str_equal(source->route, batch->route)) {
        return fz_err_set_kind(err, FZ_INVALID, "route_conflict",
                               "source \"%.*s\" is written to this table by another route",
                               FZ_STR_ARGS(batch->source));
    }
    for (size_t i = 0; i < batch->move_count; i++) {
        FZ_TRY(check_move(source, &batch->moves[i], err));
    }
    return FZ_OK;
}

/** Ids of new columns must never have been used, by a column that was added and dropped meanwhile
 * either (B11). */
static fz_code check_new_ids(const fz_type *type, const fz_schema *current, int32_t last,
                             fz_err *err) {
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        if (field->id <= last && !fz_schema_find_id(current, field->id)) {
            return fz_err_set(err, FZ_CONFLICT,
                              "column id %d of \"%.*s\" was given to another column meanwhile",
                              field->id, FZ_STR_ARGS(field->name));
        }
        FZ_TRY(check_new_ids(&field->type, current, last, err));
    }
    return FZ_OK;
}

static fz_code check_schema(const fz_commit_batch *batch, const fz_iceberg_metadata *base,
                            fz_err *err) {
    int32_t id = fz_iceberg_metadata_schema_id(base);
    if (batch->schema_id != FZ_ICEBERG_NONE && id != batch->schema_id) {
        return fz_err_set(err, FZ_CONFLICT,
                          "the table's schema was changed to %d, files were written for %d", id,
                          batch->schema_id);
    }
    for (size_t i = 0; i < fz_iceberg_append_count(batch->files); i++) {
        int32_t spec = fz_iceberg_append_at(batch->files, i)->spec_id;
        if (!fz_iceberg_metadata_spec_json(base, spec)) {
            return fz_err_set(err, FZ_CONFLICT, "the table has no partition spec %d any more",
                              spec);
        }
    }
    if (!batch->schema) {
        return FZ_OK;
    }
    fz_schema *current = NULL;
    FZ_TRY(fz_iceberg_metadata_schema(base, id, &current, err));
    fz_code code =
        check_new_ids(&batch->schema->root, current, fz_iceberg_metadata_last_column_id(base), err);
    fz_schema_unref(current);
    return code;
}

/** Is the object there with this size? CONFLICT if not. */
static fz_code check_object(const fz_commit_table *table, fz_str path, int64_t size_bytes,
                            fz_err *err) {
    fz_str key;
    fz_object object;
    FZ_TRY(fz_store_key(table->store, path, &key, err));
    fz_code code = fz_store_stat(table->store, key, &object, err);
    if (code == FZ_NOT_FOUND) {
        return fz_err_set(err, FZ_CONFLICT, "file \"%.*s\" is gone", FZ_STR_ARGS(path));
    }
    FZ_TRY(code);
    if (object.size_bytes != size_bytes) {
        return fz_err_set(err, FZ_CONFLICT, "file \"%.*s\" has %lld bytes, wanted %lld",
                          FZ_STR_ARGS(path), (long long)object.size_bytes, (long long)size_bytes);
    }
    return FZ_OK;
}

/** Files are young enough, and there if they are not so young (R11). */
static fz_code check_files(const fz_commit_table *table, const fz_commit_batch *batch,
                           const fz_commit_options *options, fz_err *err) {
    if (batch->oldest_file_ms == 0) {
        return FZ_OK;
    }
    int64_t age = fz_clock_wall_ms(table->clock) - batch->oldest_file_ms;
    if (age > options->max_file_age_ms) {
        return fz_err_set(err, FZ_CONFLICT,
                          "its files are %lld minutes old: orphan removal may have them",
                          (long long)(age / 60000));
    }
    if (age < options->check_file_age_ms) {
        return FZ_OK;
    }
    for (size_t i = 0; i < fz_iceberg_append_count(batch->files); i++) {
        const fz_iceberg_file *file = fz_iceberg_append_at(batch->files, i);
        FZ_TRY(check_object(table, file->path, file->file_size_bytes, err));
    }
    return FZ_OK;
}

fz_code fz_commit_attempt_check(const fz_commit_table *table, const fz_commit_batch *batch,
                                const fz_commit_options *options, const fz_iceberg_metadata *base,
                                const fz_commit_state *position, fz_err *err) {
    if (options->suspend_on_rollback && position->rolled_back) {
        return fz_err_set_kind(
            err, FZ_INVALID, "rolled_back",
            "the table was rolled back from own commit %lld to %lld, and on_rollback is "
            "suspend; use frazil repair with --reread or --keep-position",
            (long long)position->abandoned, (long long)position->number);
    }
    FZ_TRY(check_position(batch, position, err));
    FZ_TRY(check_schema(batch, base, err));
    return check_files(table, batch, options, err);
}

// --- the state after it

/** Rings of the partitions that moved take the new fingerprints and lose their oldest (R16). */
static void keep_fingerprints(const fz_commit_batch *batch, fz_commit_state *state,
                              fz_commit_source *source) {
    size_t most = source->known > MANY ? RING_OF_MANY : RING;
    size_t *counts = (size_t *)fz_calloc((size_t)source->known + 1, sizeof *counts);
    fz_commit_fingerprint *kept = FZ_ARENA_ARRAY(&state->arena, fz_commit_fingerprint,
                                                 source->fingerprint_count + batch->move_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < source->fingerprint_count; i++) {
        int32_t p = source->fingerprints[i].partition;
        counts[p >= 0 && p < source->known ? p : source->known]++;
    }
    for (size_t i = 0; i < batch->move_count; i++) {
        counts[batch->moves[i].partition] += batch->moves[i].fingerprint.offset >= 0;
    }
    for (size_t i = 0; i < source->fingerprint_count; i++) {
        int32_t p = source->fingerprints[i].partition;
        if (p < 0 || p >= source->known) {
            continue;
        }
        if (counts[p] > most) {
            counts[p]--;
            continue;
        }
        kept[count++] = source->fingerprints[i];
    }
    for (size_t i = 0; i < batch->move_count; i++) {
        if (batch->moves[i].fingerprint.offset >= 0) {
            kept[count++] = batch->moves[i].fingerprint;
        }
    }
    fz_free(counts);
    source->fingerprints = kept;
    source->fingerprint_count = count;
}

static void apply_moves(const fz_commit_batch *batch, fz_commit_state *state,
                        fz_commit_source *source) {
    for (size_t i = 0; i < batch->move_count; i++) {
        const fz_commit_move *move = &batch->moves[i];
        fz_commit_part *part = &source->parts[move->partition];
        part->next = move->end;
        part->last_row = move->last_row >= 0 ? move->last_row : part->last_row;
    }
    keep_fingerprints(batch, state, source);
    source->rows += batch->rows;
    source->dead_letters += batch->dead_letters;
    source->skipped += batch->skipped;
    source->tombstones += batch->tombstones;
}

fz_commit_state *fz_commit_attempt_state(const fz_commit_table *table, const fz_commit_batch *batch,
                                         const fz_commit_state *position, int64_t snapshot_id) {
    fz_commit_state *state = fz_commit_state_copy(position);
    state->number++;
    state->snapshot_id = snapshot_id;
    state->commit = fz_arena_str(&state->arena, batch->commit);
    state->instance = fz_arena_str(&state->arena, table->instance);
    if (batch->source.size == 0) { // maintenance: the base's state as it is (H10)
        return state;
    }
    fz_commit_source *source = fz_commit_state_find(state, batch->source);
    if (!source) {
        source = &state->sources[state->source_count++]; // the copy has room for one
        memset(source, 0, sizeof *source);
        source->name = source->topic = fz_arena_str(&state->arena, batch->source);
    }
    if (source->route.size == 0) { // new, or rebuilt from a summary
        source->route = fz_arena_str(&state->arena, batch->route);
    }
    apply_moves(batch, state, source);
    if (batch->outbox) {
        if (!state->outbox) {
            state->outbox = json_array();
        }
        json_array_extend(state->outbox, (json_t *)batch->outbox);
    }
    if (batch->edit) {
        batch->edit(batch->edit_context, state, source);
    }
    return state;
}

// --- what is sent

/** A list that is not there is of a snapshot that somebody removed since the load: load again. */
static fz_code read_parent_list(const fz_commit_table *table, const fz_iceberg_metadata *base,
                                fz_buf *out, fz_err *err) {
    fz_iceberg_snapshot main;
    if (!fz_iceberg_metadata_main(base, &main)) {
        return FZ_OK;
    }
    fz_str key;
    FZ_TRY(fz_store_key(table->store, main.manifest_list, &key, err));
    fz_code code = fz_store_read_all(table->store, key, out, err);
    if (code == FZ_NOT_FOUND) {
        code = fz_err_set(err, FZ_UNAVAILABLE, "manifest list \"%.*s\" of main is not there",
                          FZ_STR_ARGS(fz_str_slice(main.manifest_list, 0, 500)));
    }
    return code;
}

fz_code fz_commit_attempt_build(const fz_commit_table *table, const fz_commit_batch *batch,
                                const fz_iceberg_metadata *base, const fz_commit_state *position,
                                fz_commit_state *state, fz_iceberg_change *change, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf list;
    fz_buf_init(&list, LIST_MAX, NULL);
    FZ_TRY(read_parent_list(table, base, &list, err));
    json_t *properties = batch->properties ? json_deep_copy(batch->properties) : json_object();
    json_t *removals = json_array();
    fz_commit_state_write(state, properties);
    fz_commit_state_stale(state, base, removals);
    json_t *summary = fz_commit_summary_new(position, state, batch->op, batch->reason);
    json_t *schema = batch->schema ? fz_schema_to_json(batch->schema) : NULL;
    fz_iceberg_append_options options = {.now_ms = fz_clock_wall_ms(table->clock),
                                         .snapshot_id = state->snapshot_id,
                                         .parent_list = fz_buf_view(&list),
                                         .summary = summary,
                                         .schema = schema,
                                         .properties = properties,
                                         .removals = removals};
    fz_code code = batch->build
                       ? batch->build(batch->build_context, base, &options, change, err)
                       : fz_iceberg_append_build(batch->files, base, &options, change, err);
    json_decref(properties);
    json_decref(removals);
    json_decref(summary);
    json_decref(schema);
    return code;
}

static fz_code upload_one(const fz_commit_table *table, const fz_iceberg_upload *file,
                          fz_err *err) {
    fz_str key;
    FZ_TRY(fz_store_key(table->store, file->path, &key, err));
    fz_code code = fz_store_put_new(table->store, key, file->bytes, err);
    if (code == FZ_UNSUPPORTED) {
        return fz_store_put(table->store, key, file->bytes, err);
    }
    if (code == FZ_EXISTS) {
        // an own earlier try: names are random (R12), but an answer that was lost may hide half an
        // object
        code = check_object(table, file->path, (int64_t)file->bytes.size, err);
        return code == FZ_CONFLICT ? fz_store_put(table->store, key, file->bytes, err) : code;
    }
    return code;
}

fz_code fz_commit_attempt_upload(const fz_commit_table *table, const fz_iceberg_change *change,
                                 fz_err *err) {
    for (size_t i = 0; i < change->upload_count; i++) {
        FZ_TRY(upload_one(table, &change->uploads[i], err));
    }
    return FZ_OK;
}
