// SPDX-License-Identifier: Apache-2.0
// Where a table stands: from main through parents to the first own snapshot (protocol.md 5.3).
#include "base/memory.h"
#include "base/vec.h"
#include "table/commit/summary.h"
#include "table/commit/table.h"

/** Largest metadata file that is read back, bytes. */
#define METADATA_MAX (256u << 20)
/** Older metadata files that a search reads at most. */
#define OLDER_MAX 2000

/** The search: metadata files known so far, and where it goes on. */
typedef struct search {
    const fz_commit_table *table;
    FZ_VEC(fz_iceberg_metadata *) known; // [0] is the one loaded now; references
    size_t log_of;                       // whose metadata-log is being read
    size_t log_left;                     // entries of it not read yet, from the end
    size_t read;
    fz_str nonce;
} search;

static void search_deinit(search *s) {
    for (size_t i = 0; i < s->known.count; i++) {
        fz_iceberg_metadata_unref(s->known.data[i]);
    }
    fz_vec_deinit(&s->known);
}

/**
 * Read one more metadata file, newest first: those in the log of the file loaded now, then in the log of the oldest read.
 * NOT_FOUND: none is left.
 */
static fz_code read_older(search *s, fz_err *err) {
    while (s->log_left == 0) {
        size_t last = s->known.count - 1;
        if (s->log_of == last && s->read > 0) {
            return fz_err_set(err, FZ_NOT_FOUND, "no older metadata file");
        }
        s->log_of = last;
        s->log_left = fz_iceberg_metadata_log_count(s->known.data[last]);
        if (s->log_left == 0) {
            return fz_err_set(err, FZ_NOT_FOUND, "no older metadata file");
        }
    }
    if (++s->read > OLDER_MAX) {
        return fz_err_set(err, FZ_NOT_FOUND, "no own snapshot in %d older metadata files", OLDER_MAX);
    }
    fz_str location =
        fz_iceberg_metadata_log_at(s->known.data[s->log_of], --s->log_left, NULL);
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, METADATA_MAX, NULL);
    fz_code code = fz_store_key(s->table->store, location, &key, err);
    if (code == FZ_OK) {
        code = fz_store_read_all(s->table->store, key, &bytes, err);
    }
    if (code == FZ_UNAVAILABLE || code == FZ_DENIED) {
        return code;
    }
    fz_iceberg_metadata *older = NULL;
    if (code != FZ_OK ||
        fz_iceberg_metadata_parse(fz_buf_view(&bytes), location, &older, err) != FZ_OK) {
        return FZ_OK; // cleaned up or unreadable: the next one may be there
    }
    fz_vec_push(&s->known, older);
    return FZ_OK;
}

static bool find_known(const search *s, int64_t id, fz_iceberg_snapshot *out) {
    for (size_t i = 0; i < s->known.count; i++) {
        if (fz_iceberg_metadata_snapshot(s->known.data[i], id, out)) {
            return true;
        }
    }
    return false;
}

/** A snapshot by id, in older metadata files if need be. NOT_FOUND: the chain is cut here. */
static fz_code find_snapshot(search *s, int64_t id, fz_iceberg_snapshot *out, fz_err *err) {
    while (!find_known(s, id, out)) {
        FZ_TRY(read_older(s, err));
    }
    return FZ_OK;
}

// --- the state at an own snapshot

/** Properties of an older metadata file that this snapshot wrote. */
static fz_commit_state *state_of_older(const search *s, int64_t id) {
    for (size_t i = 0; i < s->known.count; i++) {
        fz_commit_state *state = NULL;
        if (fz_commit_state_read(s->known.data[i], &state, NULL) == FZ_OK) {
            if (state->snapshot_id == id) {
                return state;
            }
            fz_commit_state_free(state);
        }
    }
    return NULL;
}

/** Take moves back, own snapshot by own snapshot, from the property's snapshot down to `id`. */
static bool undo_down_to(search *s, fz_commit_state *state, int64_t id) {
    int64_t at = state->snapshot_id;
    fz_iceberg_snapshot snapshot;
    while (at != id) {
        if (at == FZ_ICEBERG_NONE || !find_known(s, at, &snapshot)) {
            return false;
        }
        if (fz_commit_summary_own(&snapshot, s->nonce) && !fz_commit_summary_undo(&snapshot, state)) {
            return false;
        }
        at = snapshot.parent_id;
    }
    return true;
}

static bool fits(const fz_iceberg_snapshot *snapshot, const fz_commit_state *state) {
    char digest[33];
    fz_commit_state_digest(state, digest);
    return fz_str_equal(fz_iceberg_snapshot_summary(snapshot, "frazil.digest"), fz_str_from(digest));
}

static void rolled_back(fz_commit_state *state, const fz_iceberg_snapshot *snapshot) {
    state->snapshot_id = snapshot->snapshot_id;
    fz_err ignored;
    int64_t number = 0;
    fz_str text = fz_iceberg_snapshot_summary(snapshot, "frazil.k");
    (void)ignored;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        number = number * 10 + (text.data[i] - '0');
    }
    state->number = number;
    state->nonce = fz_arena_str(&state->arena, fz_iceberg_snapshot_summary(snapshot, "frazil.table"));
    // what was owed beyond the ancestor is decided again (protocol.md 5.3)
    json_decref(state->outbox);
    state->outbox = NULL;
}

/** state_at(x) of protocol.md 5.3. */
static fz_code state_at(search *s, const fz_iceberg_snapshot *snapshot, fz_commit_state **out,
                        fz_err *err) {
    fz_commit_state *state = NULL;
    fz_code code = fz_commit_state_read(s->known.data[0], &state, err);
    if (code == FZ_OK && fits(snapshot, state)) {
        *out = state;
        return FZ_OK;
    }
    if (code == FZ_OK) {
        fz_commit_state *full = fz_commit_state_copy(state);
        if (fz_commit_summary_full(snapshot, full)) {
            rolled_back(full, snapshot);
            fz_commit_state_free(state);
            *out = full;
            return FZ_OK;
        }
        fz_commit_state_free(full);
    }
    fz_commit_state *older = NULL;
    fz_code more = FZ_OK;
    while (!(older = state_of_older(s, snapshot->snapshot_id)) && more == FZ_OK) {
        more = read_older(s, NULL);
    }
    if (older && fits(snapshot, older)) {
        fz_commit_state_free(code == FZ_OK ? state : NULL);
        *out = older;
        return FZ_OK;
    }
    fz_commit_state_free(older);
    if (code == FZ_OK && undo_down_to(s, state, snapshot->snapshot_id) && fits(snapshot, state)) {
        rolled_back(state, snapshot);
        *out = state;
        return FZ_OK;
    }
    fz_commit_state_free(code == FZ_OK ? state : NULL);
    return fz_err_set_kind(err, FZ_INVALID, "watermark_missing",
                           "the state of own snapshot %lld is neither in the table's properties nor in "
                           "older metadata files; use frazil repair",
                           (long long)snapshot->snapshot_id);
}

// --- proof by content

static fz_code prove_source(fz_commit_content_fn content, void *context,
                            const fz_iceberg_metadata *metadata, const fz_commit_source *source,
                            fz_err *err) {
    int64_t *greatest = (int64_t *)fz_calloc((size_t)source->known + 1, sizeof *greatest);
    fz_code code = content(context, metadata, source, greatest, err);
    for (int32_t p = 0; p < source->known && code == FZ_OK; p++) {
        if (greatest[p] != source->parts[p].last_row) {
            code = fz_err_set_kind(
                err, FZ_INVALID, "watermark_missing",
                "partition %d of topic \"%.*s\": the greatest offset in the table is %lld, the last row "
                "written is %lld, and no own snapshot is left to tell; use frazil repair",
                p, FZ_STR_ARGS(source->topic), (long long)greatest[p],
                (long long)source->parts[p].last_row);
        }
    }
    fz_free(greatest);
    return code;
}

static fz_code content_proof(search *s, fz_commit_content_fn content, void *context,
                             fz_commit_state **out, fz_err *err) {
    fz_commit_state *state = NULL;
    fz_code code = fz_commit_state_read(s->known.data[0], &state, err);
    if (code == FZ_NOT_FOUND || (code == FZ_OK && !content)) {
        fz_commit_state_free(code == FZ_OK ? state : NULL);
        return fz_err_set_kind(err, FZ_INVALID, "watermark_missing",
                               "the chain of snapshots is cut before an own one, older metadata files are "
                               "gone, and nothing proves the position; use frazil repair");
    }
    FZ_TRY(code);
    for (size_t i = 0; i < state->source_count && code == FZ_OK; i++) {
        code = prove_source(content, context, s->known.data[0], &state->sources[i], err);
    }
    if (code != FZ_OK) {
        fz_commit_state_free(state);
        return code;
    }
    *out = state;
    return FZ_OK;
}

/** Is the snapshot that this one was picked from ours, or unknown? (R7) */
static bool picks_own(const search *s, const fz_iceberg_snapshot *snapshot) {
    fz_str text = fz_iceberg_snapshot_summary(snapshot, "source-snapshot-id");
    if (text.size == 0) {
        return false;
    }
    int64_t id = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        id = id * 10 + (text.data[i] - '0');
    }
    fz_iceberg_snapshot source;
    return !find_known(s, id, &source) || fz_commit_summary_own(&source, s->nonce);
}

static fz_code replaced(int64_t root, fz_err *err) {
    return fz_err_set_kind(err, FZ_INVALID, "replaced",
                           "the table was replaced: the chain of main ends at snapshot %lld, which is not "
                           "ours; use frazil repair with --reread or --keep-position",
                           (long long)root);
}

static fz_code walk(search *s, fz_commit_content_fn content, void *context, fz_commit_state **out,
                    fz_commit_proof *proof, fz_err *err) {
    const fz_iceberg_metadata *metadata = s->known.data[0];
    int64_t id = fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN);
    int64_t picked = FZ_ICEBERG_NONE;
    while (true) {
        fz_iceberg_snapshot snapshot;
        fz_code code = find_snapshot(s, id, &snapshot, err);
        if (code == FZ_NOT_FOUND) {
            *proof = FZ_COMMIT_CONTENT;
            return content_proof(s, content, context, out, err);
        }
        FZ_TRY(code);
        if (fz_commit_summary_own(&snapshot, s->nonce)) {
            if (picked != FZ_ICEBERG_NONE) {
                return fz_err_set_kind(
                    err, FZ_INVALID, "cherry_pick",
                    "snapshot %lld was cherry-picked from one of ours onto %lld: its rows may be there "
                    "twice or be read again; use frazil repair",
                    (long long)picked, (long long)snapshot.snapshot_id);
            }
            *proof = s->read > 0 ? FZ_COMMIT_OLDER : FZ_COMMIT_ANCESTOR;
            return state_at(s, &snapshot, out, err);
        }
        if (picks_own(s, &snapshot)) {
            picked = snapshot.snapshot_id;
        }
        if (snapshot.parent_id == FZ_ICEBERG_NONE) {
            return replaced(snapshot.snapshot_id, err);
        }
        id = snapshot.parent_id;
    }
}

/** A table without main: not written yet, or replaced. */
static fz_code without_main(const fz_iceberg_metadata *metadata, fz_commit_state **out, fz_err *err) {
    fz_code code = fz_commit_state_read(metadata, out, err);
    if (code == FZ_OK && fz_iceberg_metadata_last_sequence(metadata) > 0) {
        fz_commit_state_free(*out);
        *out = NULL;
        return fz_err_set_kind(err, FZ_INVALID, "replaced",
                               "the table had snapshots and has no main branch now; use frazil repair with "
                               "--reread or --keep-position");
    }
    return code;
}

fz_code fz_commit_position(const fz_commit_table *table, const fz_iceberg_metadata *metadata,
                           fz_commit_content_fn content, void *context, fz_commit_state **out,
                           fz_commit_proof *proof, fz_err *err) {
    fz_commit_proof unused;
    proof = proof ? proof : &unused;
    *proof = FZ_COMMIT_ANCESTOR;
    *out = NULL;
    if (fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE) {
        return without_main(metadata, out, err);
    }
    search s = {.table = table};
    fz_vec_push(&s.known, fz_iceberg_metadata_ref((fz_iceberg_metadata *)metadata));
    fz_commit_state *state = NULL;
    if (fz_commit_state_read(metadata, &state, NULL) == FZ_OK) {
        s.nonce = state->nonce;
    } else if (fz_iceberg_metadata_property(metadata, "frazil.state").size == 0) {
        // never ours, unless an own snapshot is in the chain and only the property went (B9)
        s.nonce = (fz_str){0};
    }
    fz_code code = walk(&s, content, context, out, proof, err);
    if (code == FZ_INVALID && !state && err && err->kind && strcmp(err->kind, "replaced") == 0) {
        code = fz_err_set_kind(err, FZ_EXISTS, "watermark_missing",
                               "the table has snapshots and was never written by Frazil: use another "
                               "table, or frazil repair with --adopt");
    }
    fz_commit_state_free(state);
    search_deinit(&s);
    return code;
}
