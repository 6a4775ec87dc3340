// SPDX-License-Identifier: Apache-2.0
// The commit loop (protocol.md 5.4).
#include "table/commit/commit.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/rand.h"
#include "table/commit/summary.h"

/** Largest manifest list that is read, bytes. */
#define LIST_MAX (256u << 20)
/** Fingerprints kept a partition; 2 where there are many partitions. */
#define RING 8

void fz_commit_options_init(fz_commit_options *options) {
    *options = (fz_commit_options){.max_file_age_ms = 12 * 3600000LL,
                                   .check_file_age_ms = 3600000,
                                   .backoff_first_ms = 100,
                                   .backoff_most_ms = 30000};
}

void fz_commit_outcome_deinit(fz_commit_outcome *outcome) {
    fz_iceberg_metadata_unref(outcome->metadata);
    fz_commit_state_free(outcome->state);
    outcome->metadata = NULL;
    outcome->state = NULL;
}

/** What the attempts of one batch share. */
typedef struct run {
    const fz_commit_table *table;
    const fz_commit_batch *batch;
    const fz_commit_options *options;
    fz_commit_outcome *out;
    int64_t backoff_ms;
} run;

// --- waiting

static bool stopped(const run *r) {
    return r->options->stop && r->options->stop(r->options->stop_context);
}

/** Wait with jitter, in slices so that a stop is seen; false when told to stop. */
static bool wait_more(run *r, const fz_err *err) {
    if (r->options->waiting) {
        r->options->waiting(r->options->waiting_context, err);
    }
    FZ_LOG(r->options->log, FZ_LOG_WARN, "commit_waits", FZ_KV_STR("table", r->table->name.table),
           FZ_KV_TEXT("error", fz_err_text(err)), FZ_KV_INT("backoff_ms", r->backoff_ms));
    int64_t base = err->retry_after_ms > 0 ? err->retry_after_ms : r->backoff_ms;
    int64_t left = base / 2 + (int64_t)fz_rand_below((uint64_t)(base / 2 + 1));
    r->backoff_ms = r->backoff_ms * 2 > r->options->backoff_most_ms ? r->options->backoff_most_ms
                                                                    : r->backoff_ms * 2;
    while (left > 0) {
        if (stopped(r)) {
            return false;
        }
        int64_t slice = left < 100 ? left : 100;
        fz_clock_sleep_ms(r->table->clock, slice);
        left -= slice;
    }
    return !stopped(r);
}

static bool may_retry(fz_code code) {
    return code == FZ_UNAVAILABLE || code == FZ_UNKNOWN_OUTCOME || code == FZ_IO || code == FZ_LIMIT ||
           code == FZ_DENIED || code == FZ_CONFLICT;
}

static void finish(run *r, fz_commit_result result, const fz_err *err) {
    r->out->result = result;
    if (err) {
        r->out->err = *err;
    }
}

/** Load until answered; false when the run ended meanwhile. */
static bool load(run *r, fz_iceberg_metadata **out) {
    while (true) {
        fz_err err = {0};
        fz_code code = fz_catalog_load(r->table->catalog, r->table->name, out, &err);
        if (code == FZ_OK) {
            fz_iceberg_metadata_unref(r->out->metadata);
            r->out->metadata = fz_iceberg_metadata_ref(*out);
            return true;
        }
        if (code == FZ_NOT_FOUND) {
            fz_err_set_kind(&err, FZ_INVALID, "replaced", "the table is gone from the catalog");
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!may_retry(code)) {
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!wait_more(r, &err)) {
            finish(r, FZ_COMMIT_STOPPED, &err);
            return false;
        }
    }
}

// --- looking

static bool in_chain(const fz_iceberg_metadata *metadata, int64_t id) {
    fz_iceberg_snapshot at;
    bool found = fz_iceberg_metadata_main(metadata, &at);
    while (found && at.snapshot_id != id) {
        found = fz_iceberg_metadata_snapshot(metadata, at.parent_id, &at);
    }
    return found;
}

/** The snapshot that carries the batch's commit id, wherever it is; FZ_ICEBERG_NONE if none. */
static int64_t find_commit(const run *r, const fz_iceberg_metadata *metadata) {
    for (size_t i = fz_iceberg_metadata_snapshot_count(metadata); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (fz_commit_summary_own(&snapshot, (fz_str){0}) &&
            fz_str_equal(fz_iceberg_snapshot_summary(&snapshot, "frazil.commit"), r->batch->commit)) {
            return snapshot.snapshot_id;
        }
    }
    return FZ_ICEBERG_NONE;
}

/** Every sequence number given out since the base belongs to a snapshot that is listed (R9). */
static bool accounted(const fz_iceberg_metadata *base, const fz_iceberg_metadata *now) {
    if (fz_str_equal(base->location, now->location)) {
        return true;
    }
    int64_t from = fz_iceberg_metadata_last_sequence(base);
    int64_t to = fz_iceberg_metadata_last_sequence(now);
    if (to < from) {
        return false;
    }
    int64_t seen = 0;
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(now); i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(now, i, &snapshot);
        seen += snapshot.sequence_number > from && snapshot.sequence_number <= to;
    }
    return seen == to - from;
}

// --- checks before an attempt

/** The batch fits the table's position (R4). */
static bool fits_position(const run *r, const fz_commit_state *position, fz_err *err) {
    const fz_commit_batch *batch = r->batch;
    const fz_commit_source *source = fz_commit_state_find(position, batch->source);
    if (!source) {
        if (batch->move_count == 0) {
            return true; // an edit takes the source up
        }
        fz_err_set(err, FZ_CONFLICT, "the table's state does not know source \"%.*s\"",
                   FZ_STR_ARGS(batch->source));
        return false;
    }
    if (batch->route.size > 0 && source->route.size > 0 &&
        !fz_str_equal(source->route, batch->route)) {
        fz_err_set_kind(err, FZ_INVALID, "route_conflict",
                        "source \"%.*s\" is written to this table by another route",
                        FZ_STR_ARGS(batch->source));
        return false;
    }
    for (size_t i = 0; i < batch->move_count; i++) {
        const fz_commit_move *move = &batch->moves[i];
        if (move->partition >= source->known ||
            source->parts[move->partition].generation != move->generation ||
            source->parts[move->partition].next != move->start) {
            fz_err_set(err, FZ_CONFLICT,
                       "partition %d was read from generation %lld offset %lld, the table stands at %lld, "
                       "%lld: another writer was first, or the table was rolled back",
                       move->partition, (long long)move->generation, (long long)move->start,
                       move->partition < source->known
                           ? (long long)source->parts[move->partition].generation
                           : -1LL,
                       move->partition < source->known ? (long long)source->parts[move->partition].next
                                                       : -1LL);
            return false;
        }
    }
    return true;
}

/** Files are young enough, and there if they are not so young (R11). FZ_CONFLICT: forget. */
static fz_code check_files(const run *r, fz_err *err) {
    if (r->batch->oldest_file_ms == 0) {
        return FZ_OK;
    }
    int64_t age = fz_clock_wall_ms(r->table->clock) - r->batch->oldest_file_ms;
    if (age > r->options->max_file_age_ms) {
        return fz_err_set(err, FZ_CONFLICT, "its files are %lld minutes old: orphan removal may have them",
                          (long long)(age / 60000));
    }
    if (age < r->options->check_file_age_ms) {
        return FZ_OK;
    }
    for (size_t i = 0; i < fz_iceberg_append_count(r->batch->files); i++) {
        const fz_iceberg_file *file = fz_iceberg_append_at(r->batch->files, i);
        fz_str key;
        fz_object object;
        FZ_TRY(fz_store_key(r->table->store, file->path, &key, err));
        fz_code code = fz_store_stat(r->table->store, key, &object, err);
        if (code == FZ_NOT_FOUND || (code == FZ_OK && object.size_bytes != file->file_size_bytes)) {
            return fz_err_set(err, FZ_CONFLICT, "file \"%.*s\" is gone", FZ_STR_ARGS(file->path));
        }
        FZ_TRY(code);
    }
    return FZ_OK;
}

// --- building an attempt

static void keep_fingerprint(fz_commit_state *state, fz_commit_source *source,
                             const fz_commit_fingerprint *print) {
    size_t most = source->known > 200 ? 2 : RING;
    fz_commit_fingerprint *kept =
        FZ_ARENA_ARRAY(&state->arena, fz_commit_fingerprint, source->fingerprint_count + 1);
    size_t of_part = 0, count = 0;
    for (size_t i = 0; i < source->fingerprint_count; i++) {
        of_part += source->fingerprints[i].partition == print->partition;
    }
    size_t drop = of_part >= most ? of_part - most + 1 : 0;
    for (size_t i = 0; i < source->fingerprint_count; i++) {
        if (source->fingerprints[i].partition == print->partition && drop > 0) {
            drop--;
            continue;
        }
        kept[count++] = source->fingerprints[i];
    }
    kept[count++] = *print;
    source->fingerprints = kept;
    source->fingerprint_count = count;
}

static void apply_moves(const run *r, fz_commit_state *state, fz_commit_source *source) {
    const fz_commit_batch *batch = r->batch;
    for (size_t i = 0; i < batch->move_count; i++) {
        const fz_commit_move *move = &batch->moves[i];
        fz_commit_part *part = &source->parts[move->partition];
        part->next = move->end;
        part->last_row = move->last_row >= 0 ? move->last_row : part->last_row;
        if (move->fingerprint.offset >= 0) {
            keep_fingerprint(state, source, &move->fingerprint);
        }
    }
    source->rows += batch->rows;
    source->dead_letters += batch->dead_letters;
    source->skipped += batch->skipped;
    source->tombstones += batch->tombstones;
}

/** State of this attempt's base with the own moves (R3). */
static fz_commit_state *next_state(const run *r, const fz_commit_state *position, int64_t snapshot_id) {
    fz_commit_state *state = fz_commit_state_copy(position);
    state->number++;
    state->snapshot_id = snapshot_id;
    state->commit = fz_arena_str(&state->arena, r->batch->commit);
    state->instance = fz_arena_str(&state->arena, r->table->instance);
    fz_commit_source *source = fz_commit_state_find(state, r->batch->source);
    if (!source) {
        source = &state->sources[state->source_count++]; // the copy has room for one
        memset(source, 0, sizeof *source);
        source->name = source->topic = fz_arena_str(&state->arena, r->batch->source);
        source->route = fz_arena_str(&state->arena, r->batch->route);
    }
    apply_moves(r, state, source);
    if (r->batch->outbox) {
        if (!state->outbox) {
            state->outbox = json_array();
        }
        json_array_extend(state->outbox, (json_t *)r->batch->outbox);
    }
    if (r->batch->edit) {
        r->batch->edit(r->batch->edit_context, state, source);
    }
    return state;
}

static fz_code read_parent_list(const run *r, const fz_iceberg_metadata *base, fz_buf *out,
                                fz_err *err) {
    fz_iceberg_snapshot main;
    if (!fz_iceberg_metadata_main(base, &main)) {
        return FZ_OK;
    }
    fz_str key;
    FZ_TRY(fz_store_key(r->table->store, main.manifest_list, &key, err));
    return fz_store_read_all(r->table->store, key, out, err);
}

static fz_code build(const run *r, const fz_iceberg_metadata *base, fz_commit_state *state,
                     fz_iceberg_change *change, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf list;
    fz_buf_init(&list, LIST_MAX, NULL);
    FZ_TRY(read_parent_list(r, base, &list, err));
    json_t *properties = r->batch->properties ? json_deep_copy(r->batch->properties) : json_object();
    fz_commit_state_write(state, properties);
    json_t *summary = fz_commit_summary_new(state, r->batch->op, r->batch->source, r->batch->moves,
                                            r->batch->move_count, r->batch->reason);
    json_t *schema = r->batch->schema ? fz_schema_to_json(r->batch->schema) : NULL;
    fz_iceberg_append_options options = {.now_ms = fz_clock_wall_ms(r->table->clock),
                                         .snapshot_id = state->snapshot_id,
                                         .parent_list = fz_buf_view(&list),
                                         .summary = summary,
                                         .schema = schema,
                                         .properties = properties};
    fz_code code = fz_iceberg_append_build(r->batch->files, base, &options, change, err);
    json_decref(properties);
    json_decref(summary);
    json_decref(schema);
    return code;
}

/** Manifests and list; a name that is taken is an own earlier try (names are random, R12). */
static fz_code upload(const run *r, const fz_iceberg_change *change, fz_err *err) {
    for (size_t i = 0; i < change->upload_count; i++) {
        const fz_iceberg_upload *file = &change->uploads[i];
        fz_str key;
        FZ_TRY(fz_store_key(r->table->store, file->path, &key, err));
        fz_code code = fz_store_put_new(r->table->store, key, file->bytes, err);
        if (code != FZ_OK && code != FZ_EXISTS) {
            return code;
        }
    }
    return FZ_OK;
}

/** Uploads until they are there; false when the run ended meanwhile. */
static bool upload_all(run *r, const fz_iceberg_change *change) {
    fz_err err = {0};
    while (upload(r, change, &err) != FZ_OK) {
        if (!may_retry(err.code)) {
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!wait_more(r, &err)) {
            finish(r, FZ_COMMIT_STOPPED, &err);
            return false;
        }
    }
    return true;
}

// --- outcome

static void done(run *r, fz_iceberg_metadata *metadata, int64_t snapshot_id) {
    if (metadata != r->out->metadata) {
        fz_iceberg_metadata_unref(r->out->metadata);
        r->out->metadata = fz_iceberg_metadata_ref(metadata);
    }
    r->out->snapshot_id = snapshot_id;
    fz_commit_state_free(r->out->state);
    r->out->state = NULL;
    fz_err ignored;
    if (fz_commit_position(r->table, metadata, r->options->content, r->options->content_context,
                           &r->out->state, NULL, &ignored) != FZ_OK) {
        r->out->state = NULL;
    }
    finish(r, FZ_COMMIT_DONE, NULL);
}

static void forget(run *r, const fz_err *err) {
    finish(r, FZ_COMMIT_FORGOTTEN, err);
}

/** CONFLICT, UNKNOWN and the like: load, look, decide (R9). True: the same files may be sent again. */
static bool resolve(run *r, const fz_iceberg_metadata *base, fz_code code, const fz_err *why) {
    fz_iceberg_metadata *now = NULL;
    if (!load(r, &now)) {
        return false;
    }
    bool again = false;
    fz_err err = *why;
    int64_t found = find_commit(r, now);
    if (found != FZ_ICEBERG_NONE) {
        if (in_chain(now, found)) {
            done(r, now, found);
        } else {
            fz_err_set(&err, FZ_CONFLICT, "the commit was applied and rolled back meanwhile");
            forget(r, &err);
        }
    } else if ((code == FZ_INVALID || code == FZ_UNSUPPORTED) &&
               fz_str_equal(now->location, base->location)) {
        err.kind = "refused";
        finish(r, FZ_COMMIT_SUSPENDED, &err);
    } else if (!accounted(base, now)) {
        fz_err_set(&err, FZ_CONFLICT,
                   "snapshots since the attempt are no longer listed: whether it was applied cannot be told");
        forget(r, &err);
    } else {
        again = true;
    }
    fz_iceberg_metadata_unref(now);
    return again;
}

/** Send one attempt and look at the answer. True: try again. */
static bool send(run *r, const fz_iceberg_metadata *base, const fz_iceberg_change *change) {
    fz_iceberg_metadata *after = NULL;
    fz_err err = {0};
    r->out->attempts++;
    fz_code code = fz_catalog_commit(r->table->catalog, r->table->name, base, change->requirements,
                                     change->updates, &after, &err);
    if (code == FZ_OK && after) {
        int64_t found = find_commit(r, after);
        bool proven = found != FZ_ICEBERG_NONE && in_chain(after, found);
        if (proven) {
            done(r, after, found);
        }
        fz_iceberg_metadata_unref(after);
        if (proven) {
            return false;
        }
        fz_err_set(&err, FZ_UNKNOWN_OUTCOME, "the catalog said yes but shows no such commit");
    }
    r->out->conflicts += code == FZ_CONFLICT;
    if (code == FZ_DENIED) {
        if (wait_more(r, &err)) {
            return true;
        }
        finish(r, FZ_COMMIT_STOPPED, &err);
        return false;
    }
    if (!resolve(r, base, code, &err)) {
        return false;
    }
    if (!wait_more(r, &err)) {
        finish(r, FZ_COMMIT_STOPPED, &err);
        return false;
    }
    return true;
}

/** What a failed check or build leads to; true: try again after a wait. */
static bool settle_failure(run *r, fz_err *err) {
    if (err->code == FZ_CONFLICT) {
        forget(r, err);
        return false;
    }
    if (err->kind || !may_retry(err->code)) {
        finish(r, FZ_COMMIT_SUSPENDED, err);
        return false;
    }
    if (!wait_more(r, err)) {
        finish(r, FZ_COMMIT_STOPPED, err);
        return false;
    }
    return true;
}

/** Position, checks, building, uploading, sending, on one base. True: try again. */
static bool attempt(run *r, fz_iceberg_metadata *base) {
    fz_err err = {0};
    if (!fz_str_equal(fz_iceberg_metadata_uuid(base), r->batch->uuid)) {
        fz_err_set_kind(&err, FZ_INVALID, "replaced",
                        "the table has another uuid now (%.*s, was %.*s): dropped and made again?",
                        FZ_STR_ARGS(fz_iceberg_metadata_uuid(base)), FZ_STR_ARGS(r->batch->uuid));
        finish(r, FZ_COMMIT_SUSPENDED, &err);
        return false;
    }
    fz_commit_state_free(r->out->state);
    r->out->state = NULL;
    fz_code code = fz_commit_position(r->table, base, r->options->content, r->options->content_context,
                                      &r->out->state, NULL, &err);
    if (code != FZ_OK) {
        r->out->state = NULL;
        return settle_failure(r, &err);
    }
    if (!fits_position(r, r->out->state, &err)) {
        return settle_failure(r, &err);
    }
    if (fz_iceberg_metadata_schema_id(base) != r->batch->schema_id) {
        fz_err_set(&err, FZ_CONFLICT, "the table's schema was changed to %d, files were written for %d",
                   fz_iceberg_metadata_schema_id(base), r->batch->schema_id);
        return settle_failure(r, &err);
    }
    if (check_files(r, &err) != FZ_OK) {
        return settle_failure(r, &err);
    }
    fz_commit_state *state = next_state(r, r->out->state, fz_iceberg_snapshot_id_new(base));
    fz_iceberg_change change = {0};
    bool again;
    if (build(r, base, state, &change, &err) != FZ_OK) {
        again = settle_failure(r, &err);
    } else {
        again = upload_all(r, &change) && send(r, base, &change);
    }
    fz_iceberg_change_deinit(&change);
    fz_commit_state_free(state);
    return again;
}

void fz_commit_run(const fz_commit_table *table, const fz_commit_batch *batch,
                   const fz_commit_options *options, fz_commit_outcome *out) {
    memset(out, 0, sizeof *out);
    out->result = FZ_COMMIT_STOPPED;
    out->snapshot_id = FZ_ICEBERG_NONE;
    run r = {table, batch, options, out, options->backoff_first_ms};
    bool again = true;
    while (again) {
        fz_iceberg_metadata *base = NULL;
        if (!load(&r, &base)) {
            return;
        }
        again = attempt(&r, base);
        fz_iceberg_metadata_unref(base);
    }
}
