// SPDX-License-Identifier: Apache-2.0
// The commit loop (protocol.md 5.4).
#include "table/commit/commit.h"

#include "base/memory.h"
#include "base/rand.h"
#include "table/commit/attempt.h"
#include "table/commit/summary.h"

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
    // base of the first attempt that may have been applied, or may yet be: a reference, NULL if
    // none
    fz_iceberg_metadata *sent_base;
    char nonce[37]; // of a table that is taken up
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
    int64_t most = r->options->backoff_most_ms;
    int64_t asked = err->retry_after_ms < 10 * most ? err->retry_after_ms : 10 * most;
    int64_t base = asked > 0 ? asked : r->backoff_ms;
    int64_t left = base / 2 + (int64_t)fz_rand_below((uint64_t)(base / 2 + 1));
    r->backoff_ms = r->backoff_ms > most / 2 ? most : r->backoff_ms * 2;
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
    return code == FZ_UNAVAILABLE || code == FZ_UNKNOWN_OUTCOME || code == FZ_IO ||
           code == FZ_LIMIT || code == FZ_DENIED || code == FZ_CONFLICT;
}

static void finish(run *r, fz_commit_result result, const fz_err *err) {
    r->out->result = result;
    r->out->err = err ? *err : (fz_err){0};
}

/** Something is away: wait, or end as stopped. True: try again. */
static bool again_after(run *r, const fz_err *err) {
    if (wait_more(r, err)) {
        return true;
    }
    finish(r, FZ_COMMIT_STOPPED, err);
    return false;
}

/** What a failed check or build leads to (R29). True: try again, after a wait. */
static bool settle_failure(run *r, const fz_err *err) {
    if (err->code == FZ_CONFLICT) {
        finish(r, FZ_COMMIT_FORGOTTEN, err);
        return false;
    }
    if (err->kind || !may_retry(err->code)) {
        finish(r, FZ_COMMIT_SUSPENDED, err);
        return false;
    }
    return again_after(r, err);
}

// --- looking

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
        }
        if (!may_retry(code)) {
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!again_after(r, &err)) {
            return false;
        }
    }
}

static bool in_chain(const fz_iceberg_metadata *metadata, int64_t id) {
    fz_iceberg_snapshot at;
    size_t left = fz_iceberg_metadata_snapshot_count(metadata);
    bool found = fz_iceberg_metadata_main(metadata, &at);
    while (found && at.snapshot_id != id && left-- > 0) {
        found = fz_iceberg_metadata_snapshot(metadata, at.parent_id, &at);
    }
    return found && at.snapshot_id == id;
}

/** The snapshot that carries the batch's commit id, wherever it is; FZ_ICEBERG_NONE if none. */
static int64_t find_commit(const run *r, const fz_iceberg_metadata *metadata) {
    for (size_t i = fz_iceberg_metadata_snapshot_count(metadata); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (fz_commit_summary_own(&snapshot, (fz_str){0}) &&
            fz_str_equal(fz_iceberg_snapshot_summary(&snapshot, "frazil.commit"),
                         r->batch->commit)) {
            return snapshot.snapshot_id;
        }
    }
    return FZ_ICEBERG_NONE;
}

static bool same_version(const fz_iceberg_metadata *a, const fz_iceberg_metadata *b) {
    return a->location.size > 0 ? fz_str_equal(a->location, b->location)
                                : b->location.size == 0 && json_equal(a->root, b->root);
}

static bool has_sequence(const fz_iceberg_metadata *metadata, int64_t number) {
    for (size_t i = fz_iceberg_metadata_snapshot_count(metadata); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (snapshot.sequence_number == number) {
            return true;
        }
    }
    return false;
}

/** Every sequence number given out since the base belongs to a snapshot that is listed (R9). */
static bool accounted(const fz_iceberg_metadata *base, const fz_iceberg_metadata *now) {
    if (same_version(base, now)) {
        return true;
    }
    int64_t from = fz_iceberg_metadata_last_sequence(base);
    int64_t to = fz_iceberg_metadata_last_sequence(now);
    // a number that went down tells nothing (B15)
    if (to < from || to - from > (int64_t)fz_iceberg_metadata_snapshot_count(now)) {
        return false;
    }
    for (int64_t number = from + 1; number <= to; number++) {
        if (!has_sequence(now, number)) {
            return false;
        }
    }
    return true;
}

/** The table's position now into the outcome; false when the run ended meanwhile. */
static bool position_at(run *r, const fz_iceberg_metadata *metadata) {
    while (true) {
        fz_err err = {0};
        fz_commit_state_free(r->out->state);
        r->out->state = NULL;
        if (fz_commit_position(r->table, metadata, r->options->content, r->options->content_context,
                               &r->out->state, NULL, &err) == FZ_OK) {
            return true;
        }
        r->out->state = NULL;
        if (err.code == FZ_CONFLICT || err.kind || !may_retry(err.code)) {
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!again_after(r, &err)) {
            return false;
        }
    }
}

// --- outcome

/** Seen in the chain of main (R10). The position is a courtesy: done is done without it. */
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

/** Forget the batch; the caller goes on from the table's position as it is now. */
static void forget(run *r, const fz_iceberg_metadata *now, const char *why) {
    fz_err err;
    fz_err_set(&err, FZ_CONFLICT, "%s", why);
    if (position_at(r, now)) {
        finish(r, FZ_COMMIT_FORGOTTEN, &err);
    }
}

/** Something was sent: what does the table say of it (R9)? True: it was not applied, and can be
 * sent again. */
static bool look(run *r, fz_iceberg_metadata *now) {
    int64_t found = find_commit(r, now);
    if (found != FZ_ICEBERG_NONE) {
        if (in_chain(now, found)) {
            done(r, now, found);
        } else {
            forget(r, now, "the commit was applied and rolled back meanwhile");
        }
        return false;
    }
    if (!accounted(r->sent_base, now)) {
        forget(r, now,
               "snapshots since the attempt are no longer listed: whether it was applied cannot be "
               "told");
        return false;
    }
    return true;
}

/** CONFLICT, UNKNOWN and the like: load, look, decide (R9). True: try again. */
static bool resolve(run *r, const fz_iceberg_metadata *base, fz_err *why) {
    fz_iceberg_metadata *now = NULL;
    if (!load(r, &now)) {
        return false;
    }
    bool again = look(r, now);
    bool refused = why->code == FZ_INVALID || why->code == FZ_UNSUPPORTED;
    if (again && refused && same_version(base, now)) {
        why->kind = "refused";
        finish(r, FZ_COMMIT_SUSPENDED, why);
        again = false;
    }
    fz_iceberg_metadata_unref(now);
    return again && again_after(r, why);
}

/** Send one attempt and look at the answer. True: try again. */
static bool send(run *r, fz_iceberg_metadata *base, const fz_iceberg_change *change) {
    fz_iceberg_metadata *after = NULL;
    fz_err err = {0};
    r->out->attempts++;
    fz_code code = fz_catalog_commit(r->table->catalog, r->table->name, base, change->requirements,
                                     change->updates, &after, &err);
    if (code == FZ_DENIED) { // for certain: nothing was applied (protocol.md 5.4)
        fz_err_prepend(&err, "commit (data and table properties may need grants of their own)");
        return again_after(r, &err);
    }
    if (!r->sent_base) {
        r->sent_base = fz_iceberg_metadata_ref(base);
    }
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
    }
    if (code == FZ_OK) { // A6
        fz_err_set(&err, FZ_UNKNOWN_OUTCOME, "the catalog said yes but shows no such commit");
    }
    err.code = err.code == FZ_OK ? code : err.code;
    r->out->conflicts += code == FZ_CONFLICT;
    return resolve(r, base, &err);
}

// --- one attempt

/** Uploads until they are there; false when the run ended meanwhile. */
static bool upload_all(run *r, const fz_iceberg_change *change) {
    fz_err err = {0};
    while (fz_commit_attempt_upload(r->table, change, &err) != FZ_OK) {
        if (!may_retry(err.code)) {
            finish(r, FZ_COMMIT_SUSPENDED, &err);
            return false;
        }
        if (!again_after(r, &err)) {
            return false;
        }
    }
    return true;
}

/** Position of a table that is taken up: ours from now on, at nothing. */
static fz_commit_state *state_of_adopted(const run *r) {
    fz_commit_state *state = (fz_commit_state *)fz_calloc(1, sizeof *state);
    state->nonce = fz_arena_str(&state->arena, fz_str_from(r->nonce));
    state->snapshot_id = FZ_ICEBERG_NONE;
    state->sources = FZ_ARENA_ARRAY(&state->arena, fz_commit_source, 1);
    return state;
}

static bool take_position(run *r, const fz_iceberg_metadata *base) {
    bool adopts = strcmp(r->batch->op, "adopt") == 0 && r->batch->edit;
    if (adopts && fz_iceberg_metadata_snapshot_count(base) == 0 &&
        fz_iceberg_metadata_last_sequence(base) == 0 &&
        fz_iceberg_metadata_property(base, "frazil.state").size == 0) {
        fz_commit_state_free(r->out->state);
        r->out->state = state_of_adopted(r);
        return true;
    }
    return position_at(r, base);
}

/** The empty own snapshot that ends a creation, so that no data ever asserts a null ref (R13, C4).
 */
static bool finish_birth(run *r, const fz_iceberg_metadata *base) {
    char commit[37];
    fz_rand_uuid(commit);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(commit));
    fz_commit_batch batch = {.op = "create",
                             .uuid = fz_iceberg_metadata_uuid(base),
                             .source = r->batch->source,
                             .files = files,
                             .commit = fz_str_from(commit),
                             .schema_id = fz_iceberg_metadata_schema_id(base)};
    fz_commit_outcome outcome;
    fz_commit_run(r->table, &batch, r->options, &outcome);
    bool ok = outcome.result == FZ_COMMIT_DONE || outcome.result == FZ_COMMIT_FORGOTTEN;
    if (!ok) {
        finish(r, outcome.result, &outcome.err);
    }
    fz_commit_outcome_deinit(&outcome);
    fz_iceberg_append_free(files);
    return ok;
}

static bool is_unborn(const run *r, const fz_iceberg_metadata *base) {
    return fz_iceberg_metadata_ref_id(base, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE &&
           strcmp(r->batch->op, "create") != 0 && strcmp(r->batch->op, "adopt") != 0;
}

/** Build, upload, send on a base whose checks held. True: try again. */
static bool build_and_send(run *r, fz_iceberg_metadata *base) {
    fz_err err = {0};
    fz_commit_state *state = fz_commit_attempt_state(r->table, r->batch, r->out->state,
                                                     fz_iceberg_snapshot_id_new(base));
    fz_iceberg_change change = {0};
    bool again;
    if (fz_commit_attempt_build(r->table, r->batch, base, r->out->state, state, &change, &err) !=
        FZ_OK) {
        again = settle_failure(r, &err);
    } else {
        again = upload_all(r, &change) && send(r, base, &change);
    }
    fz_iceberg_change_deinit(&change);
    fz_commit_state_free(state);
    return again;
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
    // an earlier request may have arrived only now
    if (r->sent_base && !look(r, base)) {
        return false;
    }
    if (!take_position(r, base)) {
        return false;
    }
    if (fz_commit_attempt_check(r->table, r->batch, r->options, base, r->out->state, &err) !=
        FZ_OK) {
        return settle_failure(r, &err);
    }
    if (is_unborn(r, base)) {
        return finish_birth(r, base);
    }
    return build_and_send(r, base);
}

void fz_commit_run(const fz_commit_table *table, const fz_commit_batch *batch,
                   const fz_commit_options *options, fz_commit_outcome *out) {
    memset(out, 0, sizeof *out);
    out->result = FZ_COMMIT_STOPPED;
    out->snapshot_id = FZ_ICEBERG_NONE;
    run r = {.table = table,
             .batch = batch,
             .options = options,
             .out = out,
             .backoff_ms = options->backoff_first_ms};
    fz_rand_uuid(r.nonce);
    bool again = true;
    while (again) {
        fz_iceberg_metadata *base = NULL;
        again = load(&r, &base) && attempt(&r, base);
        fz_iceberg_metadata_unref(base);
    }
    fz_iceberg_metadata_unref(r.sent_base);
}
