// SPDX-License-Identifier: Apache-2.0
// Where a table stands: from main through parents to the first own snapshot (protocol.md 5.3).
#include "base/memory.h"
#include "base/text/number.h"
#include "table/commit/search.h"
#include "table/commit/summary.h"

/** What the walk has and looks for. */
typedef struct walk {
    fz_commit_search search;
    const fz_iceberg_metadata *metadata;
    fz_commit_state *property; // as the properties say, NULL: none or unreadable
    fz_str nonce;              // empty: of any table, the property is gone (B9)
    fz_commit_content_fn content;
    void *context;
    fz_commit_proof proof;
} walk;

static int64_t number_of(const fz_iceberg_snapshot *snapshot, const char *key, int64_t fallback) {
    int64_t number;
    return fz_int_parse(fz_iceberg_snapshot_summary(snapshot, key), &number, NULL) == FZ_OK
               ? number
               : fallback;
}

static bool fits(const fz_iceberg_snapshot *snapshot, const fz_commit_state *state) {
    char digest[33];
    fz_commit_state_digest(state, digest);
    return fz_str_equal(fz_iceberg_snapshot_summary(snapshot, "frazil.digest"),
                        fz_str_from(digest));
}

// --- the state at an own snapshot

/** The property's state with the vector of the summary; NULL if there is none. */
static fz_commit_state *from_full(const walk *w, const fz_iceberg_snapshot *snapshot,
                                  bool known_sources) {
    fz_commit_state *state = w->property ? fz_commit_state_copy(w->property)
                                         : (fz_commit_state *)fz_calloc(1, sizeof *state);
    if (!fz_commit_summary_full(snapshot, state, known_sources)) {
        fz_commit_state_free(state);
        return NULL;
    }
    return state;
}

static fz_code from_older(walk *w, const fz_iceberg_snapshot *snapshot, fz_commit_state **out,
                          fz_err *err) {
    fz_commit_state *state = NULL;
    fz_code code = fz_commit_search_state(&w->search, snapshot->snapshot_id, &state, err);
    if (code == FZ_OK && fits(snapshot, state)) {
        *out = state;
        return FZ_OK;
    }
    if (code == FZ_OK) {
        fz_commit_state_free(state);
    }
    return code == FZ_NOT_FOUND ? FZ_OK : code;
}

/** Moves taken back, own snapshot by own snapshot, from the property's snapshot down; NULL: not
 * possible. */
static fz_commit_state *from_undo(const walk *w, const fz_iceberg_snapshot *snapshot) {
    fz_commit_state *state = fz_commit_state_copy(w->property);
    fz_iceberg_snapshot at;
    int64_t id = state->snapshot_id;
    size_t left = w->search.snapshots.count;
    bool ok = true;
    while (ok && id != snapshot->snapshot_id) {
        ok = left-- > 0 && fz_commit_search_known(&w->search, id, &at);
        if (ok && fz_commit_summary_own(&at, w->nonce)) {
            ok = fz_commit_summary_undo(&at, state);
        }
        id = ok ? at.parent_id : id;
    }
    if (!ok || !fits(snapshot, state)) {
        fz_commit_state_free(state);
        return NULL;
    }
    return state;
}

/** What was owed for records beyond the vector is decided again (protocol.md 5.3). */
static void drop_outbox_beyond(fz_commit_state *state) {
    json_t *kept = json_array();
    size_t index;
    json_t *entry;
    json_array_foreach(state->outbox, index, entry) {
        if (fz_commit_state_reached(state, entry)) {
            json_array_append(kept, entry);
        }
    }
    json_decref(state->outbox);
    state->outbox = kept;
}

/** A state that was put together from a later or an earlier one is that of the snapshot. */
static void become(fz_commit_state *state, const fz_iceberg_snapshot *snapshot) {
    state->snapshot_id = snapshot->snapshot_id;
    state->number = number_of(snapshot, "frazil.k", state->number);
    state->nonce =
        fz_arena_str(&state->arena, fz_iceberg_snapshot_summary(snapshot, "frazil.table"));
    state->commit =
        fz_arena_str(&state->arena, fz_iceberg_snapshot_summary(snapshot, "frazil.commit"));
    if (state->outbox) {
        drop_outbox_beyond(state);
    }
}

/** state_at(x) of protocol.md 5.3. */
static fz_code state_at(walk *w, const fz_iceberg_snapshot *snapshot, fz_commit_state **out,
                        fz_err *err) {
    fz_commit_state *state = NULL;
    if (w->property && fits(snapshot, w->property)) {
        state = fz_commit_state_copy(w->property);
    }
    if (!state && w->property && (state = from_full(w, snapshot, true))) {
        become(state, snapshot);
    }
    if (!state) {
        FZ_TRY(from_older(w, snapshot, &state, err));
    }
    if (!state && ((state = from_full(w, snapshot, false)) ||
                   (w->property && (state = from_undo(w, snapshot))))) {
        become(state, snapshot);
    }
    if (!state) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "the state of own snapshot %lld is neither in the table's properties nor in "
            "older metadata files; use frazil repair",
            (long long)snapshot->snapshot_id);
    }
    int64_t number = number_of(snapshot, "frazil.k", state->number);
    state->abandoned = w->property ? w->property->number : number;
    state->rolled_back = number < state->abandoned;
    *out = state;
    return FZ_OK;
}

// --- proof by content

static fz_code prove_part(const fz_commit_source *source, int32_t p, int64_t greatest,
                          fz_err *err) {
    const fz_commit_part *part = &source->parts[p];
    if (part->generation > 0 || part->last_row == FZ_COMMIT_ROW_UNKNOWN) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "partition %d of topic \"%.*s\": the greatest offset in the table is %lld, "
            "and %s; no own snapshot is left to tell; use frazil repair",
            p, FZ_STR_ARGS(source->topic), (long long)greatest,
            part->generation > 0 ? "rows of older logs may be among them"
                                 : "the last row written is not known");
    }
    if (greatest != part->last_row) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "partition %d of topic \"%.*s\": the greatest offset in the table is %lld, the last "
            "row "
            "written is %lld, and no own snapshot is left to tell; use frazil repair",
            p, FZ_STR_ARGS(source->topic), (long long)greatest, (long long)part->last_row);
    }
    return FZ_OK;
}

static fz_code prove_source(const walk *w, const fz_commit_source *source, fz_err *err) {
    int64_t *greatest = (int64_t *)fz_calloc((size_t)source->known + 1, sizeof *greatest);
    fz_code code = w->content(w->context, w->metadata, source, greatest, err);
    if (code == FZ_NOT_FOUND || code == FZ_UNSUPPORTED || code == FZ_INVALID ||
        code == FZ_CORRUPT) {
        // no such columns, files that cannot be read: nothing is proven
        fz_err_prepend(err, "no own snapshot is left to tell the position, and the rows do not");
        if (err) {
            err->kind = "watermark_missing";
            err->code = FZ_INVALID;
        }
        code = FZ_INVALID;
    }
    for (int32_t p = 0; p < source->known && code == FZ_OK; p++) {
        code = prove_part(source, p, greatest[p], err);
    }
    fz_free(greatest);
    return code;
}

/** The properties count if they are whole and every partition's last row is the greatest in the
 * table. */
static fz_code content_proof(walk *w, fz_commit_state **out, fz_err *err) {
    char digest[33] = "";
    if (w->property) {
        fz_commit_state_digest(w->property, digest);
    }
    if (!w->property || !w->content || !fz_str_equal(w->property->digest, fz_str_from(digest))) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "the chain of snapshots is cut before an own one, older metadata files are "
            "gone, and nothing proves the position; use frazil repair");
    }
    for (size_t i = 0; i < w->property->source_count; i++) {
        FZ_TRY(prove_source(w, &w->property->sources[i], err));
    }
    w->proof = FZ_COMMIT_CONTENT;
    *out = fz_commit_state_copy(w->property);
    (*out)->abandoned = (*out)->number;
    return FZ_OK;
}

// --- the walk

/** Is the snapshot that this one was picked from ours, or unknown? (R7) */
static bool picks_own(const walk *w, const fz_iceberg_snapshot *snapshot) {
    if (fz_iceberg_snapshot_summary(snapshot, "source-snapshot-id").size == 0) {
        return false;
    }
    int64_t id = number_of(snapshot, "source-snapshot-id", FZ_ICEBERG_NONE);
    fz_iceberg_snapshot source;
    return !fz_commit_search_known(&w->search, id, &source) ||
           fz_commit_summary_own(&source, w->nonce);
}

static fz_code replaced(const walk *w, int64_t root, fz_err *err) {
    if (!w->property && fz_iceberg_metadata_property(w->metadata, "frazil.state").size == 0) {
        return fz_err_set_kind(
            err, FZ_EXISTS, "watermark_missing",
            "the table has snapshots and was never written by Frazil: use another "
            "table, or frazil repair with --adopt");
    }
    return fz_err_set_kind(
        err, FZ_INVALID, "replaced",
        "the table was replaced: the chain of main ends at snapshot %lld, which is not "
        "ours; use frazil repair with --reread or --keep-position",
        (long long)root);
}

static fz_code cherry_picked(const fz_iceberg_snapshot *picked, int64_t onto, fz_err *err) {
    fz_str source = fz_iceberg_snapshot_summary(picked, "source-snapshot-id");
    return fz_err_set_kind(
        err, FZ_INVALID, "cherry_pick",
        "snapshot %lld was cherry-picked from %.*s, one of ours, onto %lld: its rows may "
        "be there twice or be read again; use frazil repair",
        (long long)picked->snapshot_id, FZ_STR_ARGS(fz_str_slice(source, 0, 24)), (long long)onto);
}

static fz_code walk_main(walk *w, fz_commit_state **out, fz_err *err) {
    int64_t id = fz_iceberg_metadata_ref_id(w->metadata, FZ_ICEBERG_MAIN);
    fz_iceberg_snapshot picked = {.snapshot_id = FZ_ICEBERG_NONE};
    for (size_t steps = 0;; steps++) {
        fz_iceberg_snapshot snapshot;
        fz_code code = fz_commit_search_find(&w->search, id, &snapshot, err);
        if (code == FZ_NOT_FOUND) {
            return picked.snapshot_id == FZ_ICEBERG_NONE ? content_proof(w, out, err)
                                                         : cherry_picked(&picked, id, err);
        }
        FZ_TRY(code);
        if (fz_commit_summary_own(&snapshot, w->nonce)) {
            if (picked.snapshot_id != FZ_ICEBERG_NONE) {
                return cherry_picked(&picked, snapshot.snapshot_id, err);
            }
            w->proof = w->search.read > 0 ? FZ_COMMIT_OLDER : FZ_COMMIT_ANCESTOR;
            w->nonce = fz_iceberg_snapshot_summary(&snapshot, "frazil.table");
            return state_at(w, &snapshot, out, err);
        }
        if (picks_own(w, &snapshot)) {
            picked = snapshot;
        }
        if (snapshot.parent_id == FZ_ICEBERG_NONE) {
            return replaced(w, snapshot.snapshot_id, err);
        }
        if (steps > w->search.snapshots.count) {
            return fz_err_set(err, FZ_CORRUPT, "snapshot %lld is its own ancestor", (long long)id);
        }
        id = snapshot.parent_id;
    }
}

/** A table without main: not written yet, or replaced. */
static fz_code without_main(const fz_iceberg_metadata *metadata, fz_commit_state **out,
                            fz_err *err) {
    bool written = fz_iceberg_metadata_last_sequence(metadata) > 0 ||
                   fz_iceberg_metadata_snapshot_count(metadata) > 0;
    fz_commit_state *state = NULL;
    fz_code code = fz_commit_state_read(metadata, &state, err);
    if (code == FZ_NOT_FOUND && written) {
        return fz_err_set_kind(
            err, FZ_EXISTS, "watermark_missing",
            "the table had snapshots, has no main branch now, and was never written by "
            "Frazil: use another table, or frazil repair with --adopt");
    }
    FZ_TRY(code);
    if (written) {
        fz_commit_state_free(state);
        return fz_err_set_kind(
            err, FZ_INVALID, "replaced",
            "the table had snapshots and has no main branch now; use frazil repair with "
            "--reread or --keep-position");
    }
    // properties copied from another table would be a position without rows (B10)
    if (state->number > 0 || state->snapshot_id != FZ_ICEBERG_NONE) {
        code = fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "the table has no snapshot, and its properties are those of commit %lld, "
            "copied from another table: remove the properties frazil.*",
            (long long)state->number);
        fz_commit_state_free(state);
        return code;
    }
    *out = state;
    return FZ_OK;
}

fz_code fz_commit_position(const fz_commit_table *table, const fz_iceberg_metadata *metadata,
                           fz_commit_content_fn content, void *context, fz_commit_state **out,
                           fz_commit_proof *proof, fz_err *err) {
    *out = NULL;
    walk w = {
        .metadata = metadata, .content = content, .context = context, .proof = FZ_COMMIT_ANCESTOR};
    fz_code code;
    if (fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE) {
        code = without_main(metadata, out, err);
    } else {
        if (fz_commit_state_read(metadata, &w.property, NULL) == FZ_OK) {
            w.nonce = w.property->nonce;
        }
        fz_commit_search_init(&w.search, table, metadata);
        code = walk_main(&w, out, err);
        fz_commit_search_deinit(&w.search);
        fz_commit_state_free(w.property);
    }
    if (proof) {
        *proof = w.proof;
    }
    return code;
}
