// SPDX-License-Identifier: Apache-2.0
// Reads metadata files back in time.
#include "table/commit/search.h"

#include "base/memory.h"

/** Largest metadata file that is read back, bytes. */
#define METADATA_MAX (256u << 20)
/** Older metadata files that a search reads at most. */
#define OLDER_MAX 2000

static fz_str key_of(const int64_t *id) {
    return (fz_str){(const char *)id, sizeof *id};
}

/**
 * Of older files only references to snapshots are kept, not the whole: a hundred of those may be
 * large. The file loaded now is kept whole, since other threads may have it: jansson looks at a
 * count before it changes it.
 */
static void take_snapshots(fz_commit_search *search, const fz_iceberg_metadata *metadata) {
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(metadata); i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (!fz_map_find(&search->snapshots, key_of(&snapshot.snapshot_id))) {
            fz_iceberg_snapshot *kept = FZ_ARENA_NEW(&search->arena, fz_iceberg_snapshot);
            *kept = snapshot;
            if (metadata != search->now) {
                fz_vec_push(&search->references, json_incref((json_t *)snapshot.json));
            }
            fz_map_put(&search->snapshots, key_of(&snapshot.snapshot_id), kept);
        }
    }
}

void fz_commit_search_init(fz_commit_search *search, const fz_commit_table *table,
                           const fz_iceberg_metadata *metadata) {
    *search = (fz_commit_search){.table = table};
    search->now = fz_iceberg_metadata_ref((fz_iceberg_metadata *)metadata);
    search->log_of = fz_iceberg_metadata_ref(search->now);
    search->oldest = fz_iceberg_metadata_ref(search->now);
    search->log_left = fz_iceberg_metadata_log_count(metadata);
    take_snapshots(search, metadata);
}

void fz_commit_search_deinit(fz_commit_search *search) {
    for (size_t i = 0; i < search->references.count; i++) {
        json_decref(search->references.data[i]);
    }
    fz_vec_deinit(&search->references);
    fz_map_deinit(&search->snapshots);
    fz_vec_deinit(&search->states);
    fz_iceberg_metadata_unref(search->log_of);
    fz_iceberg_metadata_unref(search->oldest);
    fz_iceberg_metadata_unref(search->now);
    fz_arena_deinit(&search->arena);
}

bool fz_commit_search_known(const fz_commit_search *search, int64_t id, fz_iceberg_snapshot *out) {
    const fz_iceberg_snapshot *kept =
        (const fz_iceberg_snapshot *)fz_map_find(&search->snapshots, key_of(&id));
    if (kept) {
        *out = *kept;
    }
    return kept;
}

/** Is what the store answered a fact about the file, not about the store? */
static bool is_lost(fz_code code) {
    return code == FZ_NOT_FOUND || code == FZ_CORRUPT || code == FZ_LIMIT || code == FZ_INVALID ||
           code == FZ_UNSUPPORTED;
}

/** NULL in *out: the file is gone or is no metadata. */
static fz_code read_file(const fz_commit_search *search, fz_str location, fz_iceberg_metadata **out,
                         fz_err *err) {
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, METADATA_MAX, NULL);
    *out = NULL;
    fz_code code = fz_store_key(search->table->store, location, &key, err);
    if (code == FZ_OK) {
        code = fz_store_read_all(search->table->store, key, &bytes, err);
    }
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_parse(fz_buf_view(&bytes), location, out, err);
    }
    if (code != FZ_OK) {
        *out = NULL;
    }
    return is_lost(code) ? FZ_OK : code;
}

/** Newest first: the log of the file loaded now, then the log of the oldest file read. */
static fz_code next_location(fz_commit_search *search, fz_str *out, fz_err *err) {
    if (search->log_left == 0 && search->log_of != search->oldest) {
        fz_iceberg_metadata_unref(search->log_of);
        search->log_of = fz_iceberg_metadata_ref(search->oldest);
        search->log_left = fz_iceberg_metadata_log_count(search->log_of);
    }
    if (search->log_left == 0 || search->read >= OLDER_MAX) {
        return fz_err_set(err, FZ_NOT_FOUND, "no older metadata file behind %zu", search->read);
    }
    *out = fz_iceberg_metadata_log_at(search->log_of, search->log_left - 1, NULL);
    return FZ_OK;
}

static fz_code read_older(fz_commit_search *search, fz_err *err) {
    fz_str location;
    fz_iceberg_metadata *older = NULL;
    FZ_TRY(next_location(search, &location, err));
    FZ_TRY(read_file(search, location, &older, err));
    search->log_left--; // only now: a store that is away is asked again
    search->read++;
    if (!older) {
        return FZ_OK;
    }
    take_snapshots(search, older);
    fz_commit_state *state = NULL;
    if (fz_commit_state_read(older, &state, NULL) == FZ_OK) {
        fz_commit_older item = {state->snapshot_id, fz_arena_str(&search->arena, location)};
        fz_vec_push(&search->states, item);
        fz_commit_state_free(state);
    }
    fz_iceberg_metadata_unref(search->oldest);
    search->oldest = older;
    return FZ_OK;
}

fz_code fz_commit_search_find(fz_commit_search *search, int64_t id, fz_iceberg_snapshot *out,
                              fz_err *err) {
    while (!fz_commit_search_known(search, id, out)) {
        FZ_TRY(read_older(search, err));
    }
    return FZ_OK;
}

fz_code fz_commit_search_state(fz_commit_search *search, int64_t id, fz_commit_state **out,
                               fz_err *err) {
    for (size_t i = 0;; i++) {
        while (i >= search->states.count) {
            FZ_TRY(read_older(search, err));
        }
        if (search->states.data[i].snapshot_id != id) {
            continue;
        }
        fz_iceberg_metadata *older = NULL;
        FZ_TRY(read_file(search, search->states.data[i].location, &older, err));
        fz_code code = older ? fz_commit_state_read(older, out, err) : FZ_NOT_FOUND;
        fz_iceberg_metadata_unref(older);
        if (code == FZ_OK) {
            return FZ_OK;
        }
    }
}
