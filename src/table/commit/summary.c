// SPDX-License-Identifier: Apache-2.0
// The summary of own snapshots.
#include "table/commit/summary.h"

#include <stdio.h>
#include <stdlib.h>

#include "table/commit/runs.h"

static void set_dump(json_t *summary, const char *key, json_t *value, size_t most) {
    char *text = json_dumps(value, JSON_COMPACT);
    if (strlen(text) <= most) {
        fz_json_set_str(summary, key, fz_str_from(text));
    }
    free(text);
    json_decref(value);
}

static json_t *full_vector(const fz_commit_state *state) {
    json_t *full = json_object();
    for (size_t i = 0; i < state->source_count; i++) {
        const fz_commit_source *source = &state->sources[i];
        json_t *parts = json_array();
        for (int32_t p = 0; p < source->known; p++) {
            json_array_append_new(parts, json_pack("[I,I]", (json_int_t)source->parts[p].generation,
                                                   (json_int_t)source->parts[p].next));
        }
        json_object_setn_new(full, source->name.data, source->name.size, parts);
    }
    return full;
}

static void append_move(json_t *moved, fz_str source, int32_t p, const fz_commit_part *from,
                        const fz_commit_part *to) {
    json_t *item = json_array();
    json_array_append_new(item, fz_json_string(source));
    json_array_append_new(item, json_integer(p));
    json_array_append_new(item, json_integer(from->generation));
    json_array_append_new(item, json_integer(from->next));
    json_array_append_new(item, json_integer(to->next));
    if (to->generation != from->generation) {
        json_array_append_new(item, json_integer(to->generation));
    }
    json_array_append_new(moved, item);
}

/** What differs between two states, edits of operations too. */
static json_t *moved_between(const fz_commit_state *before, const fz_commit_state *after) {
    static const fz_commit_part unknown = {.generation = -1, .next = -1};
    json_t *moved = json_array();
    for (size_t i = 0; i < after->source_count; i++) {
        const fz_commit_source *to = &after->sources[i];
        const fz_commit_source *from = fz_commit_state_find(before, to->name);
        for (int32_t p = 0; p < to->known; p++) {
            const fz_commit_part *old = from && p < from->known ? &from->parts[p] : &unknown;
            if (old->generation != to->parts[p].generation || old->next != to->parts[p].next) {
                append_move(moved, to->name, p, old, &to->parts[p]);
            }
        }
    }
    return moved;
}

/** Coordinates that the commit adds to frazil.replayed, NULL: none. They can be taken back by it
 * (5.1). */
static json_t *replayed_between(const fz_commit_state *before, const fz_commit_state *after) {
    if (json_array_size(after->replayed) == 0) {
        return NULL;
    }
    fz_commit_runs old = {0}, now = {0}, more = {0};
    json_t *out = NULL;
    if (fz_commit_runs_read(before->replayed, &old, NULL) == FZ_OK &&
        fz_commit_runs_read(after->replayed, &now, NULL) == FZ_OK) {
        fz_commit_runs_subtract(&now, &old, &more);
        out = more.all.count > 0 ? fz_commit_runs_json(&more) : NULL;
    }
    fz_commit_runs_deinit(&old);
    fz_commit_runs_deinit(&now);
    fz_commit_runs_deinit(&more);
    return out;
}

json_t *fz_commit_summary_new(const fz_commit_state *before, const fz_commit_state *after,
                              const char *op, fz_str reason) {
    json_t *summary = json_object();
    char number[24];
    fz_json_set_str(summary, "frazil.table", after->nonce);
    snprintf(number, sizeof number, "%lld", (long long)after->snapshot_id);
    fz_json_set_str(summary, "frazil.snapshot", fz_str_from(number));
    fz_json_set_str(summary, "frazil.commit", after->commit);
    snprintf(number, sizeof number, "%lld", (long long)after->number);
    fz_json_set_str(summary, "frazil.k", fz_str_from(number));
    fz_json_set_str(summary, "frazil.op", fz_str_from(op));
    fz_json_set_str(summary, "frazil.digest", after->digest);
    if (reason.size > 0) {
        fz_json_set_str(summary, "frazil.reason", reason);
    }
    set_dump(summary, "frazil.moved", moved_between(before, after), FZ_COMMIT_FULL_MAX);
    set_dump(summary, "frazil.full", full_vector(after), FZ_COMMIT_FULL_MAX);
    json_t *replayed = replayed_between(before, after);
    if (replayed) {
        set_dump(summary, "frazil.replay", replayed, SIZE_MAX);
    }
    return summary;
}

bool fz_commit_summary_own(const fz_iceberg_snapshot *snapshot, fz_str nonce) {
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)snapshot->snapshot_id);
    fz_str table = fz_iceberg_snapshot_summary(snapshot, "frazil.table");
    return fz_str_equal(fz_iceberg_snapshot_summary(snapshot, "frazil.snapshot"),
                        fz_str_from(id)) &&
           table.size > 0 && (nonce.size == 0 || fz_str_equal(table, nonce));
}

static bool digest_fits(const fz_iceberg_snapshot *snapshot, const fz_commit_state *state) {
    char digest[33];
    fz_commit_state_digest(state, digest);
    return fz_str_equal(fz_iceberg_snapshot_summary(snapshot, "frazil.digest"),
                        fz_str_from(digest));
}

/** The last row of another position is not known. */
static void set_part(fz_commit_part *part, int64_t generation, int64_t next) {
    if (part->generation != generation || part->next != next) {
        part->last_row = FZ_COMMIT_ROW_UNKNOWN;
        part->epoch = -1;
    }
    part->generation = generation;
    part->next = next;
}

static void set_source(fz_commit_state *state, fz_commit_source *source, const json_t *parts) {
    int32_t count = (int32_t)json_array_size(parts);
    if (count > source->known) {
        fz_commit_part *grown = FZ_ARENA_ARRAY(&state->arena, fz_commit_part, (size_t)count);
        if (source->known > 0) {
            memcpy(grown, source->parts, (size_t)source->known * sizeof *grown);
        }
        for (int32_t p = source->known; p < count; p++) {
            grown[p] = (fz_commit_part){.generation = -1, .next = -1};
        }
        source->parts = grown;
    }
    source->known = count;
    for (int32_t p = 0; p < count; p++) {
        const json_t *part = json_array_get(parts, (size_t)p);
        set_part(&source->parts[p], json_integer_value(json_array_get(part, 0)),
                 json_integer_value(json_array_get(part, 1)));
    }
}

bool fz_commit_summary_full(const fz_iceberg_snapshot *snapshot, fz_commit_state *state,
                            bool known_sources) {
    fz_str text = fz_iceberg_snapshot_summary(snapshot, "frazil.full");
    FZ_CLEANUP(fz_json_release) json_t *full = NULL;
    if (text.size == 0 || fz_json_parse(text, &full, NULL) != FZ_OK || !json_is_object(full)) {
        return false;
    }
    fz_commit_source *sources =
        FZ_ARENA_ARRAY(&state->arena, fz_commit_source, json_object_size(full) + 1);
    size_t count = 0;
    const char *name;
    json_t *parts;
    json_object_foreach(full, name, parts) {
        const fz_commit_source *old = fz_commit_state_find(state, fz_str_from(name));
        if (!old && known_sources) {
            return false;
        }
        if (old) {
            sources[count] = *old;
        } else {
            sources[count].name = sources[count].topic =
                fz_arena_str(&state->arena, fz_str_from(name));
        }
        set_source(state, &sources[count++], parts);
    }
    state->sources = sources;
    state->source_count = count;
    return digest_fits(snapshot, state);
}

/** A replay's coordinates leave the state; last rows that came with them are not known any more. */
static bool undo_replay(const fz_iceberg_snapshot *snapshot, fz_commit_state *state) {
    fz_str text = fz_iceberg_snapshot_summary(snapshot, "frazil.replay");
    FZ_CLEANUP(fz_json_release) json_t *array = NULL;
    if (text.size == 0) {
        return true;
    }
    fz_commit_runs now = {0}, taken = {0}, left = {0};
    bool ok = fz_json_parse(text, &array, NULL) == FZ_OK &&
              fz_commit_runs_read(array, &taken, NULL) == FZ_OK &&
              fz_commit_runs_read(state->replayed, &now, NULL) == FZ_OK;
    if (ok) {
        fz_commit_runs_subtract(&now, &taken, &left);
        json_t *replayed = left.all.count > 0 ? fz_commit_runs_json(&left) : NULL;
        json_decref(state->replayed);
        state->replayed = replayed;
    }
    for (size_t i = 0; ok && i < taken.all.count; i++) {
        const fz_commit_one_run *run = &taken.all.data[i];
        fz_commit_source *source = fz_commit_state_find(state, run->source);
        if (source && run->partition < source->known &&
            run->end > source->parts[run->partition].last_row) {
            source->parts[run->partition].last_row = FZ_COMMIT_ROW_UNKNOWN;
        }
    }
    fz_commit_runs_deinit(&now);
    fz_commit_runs_deinit(&taken);
    fz_commit_runs_deinit(&left);
    return ok;
}

bool fz_commit_summary_undo(const fz_iceberg_snapshot *snapshot, fz_commit_state *state) {
    fz_str text = fz_iceberg_snapshot_summary(snapshot, "frazil.moved");
    FZ_CLEANUP(fz_json_release) json_t *moved = NULL;
    if (!digest_fits(snapshot, state) || text.size == 0 ||
        fz_json_parse(text, &moved, NULL) != FZ_OK || !undo_replay(snapshot, state)) {
        return false;
    }
    for (size_t i = json_array_size(moved); i-- > 0;) { // new partitions go away from the end
        const json_t *item = json_array_get(moved, i);
        fz_commit_source *source =
            fz_commit_state_find(state, fz_json_view(json_array_get(item, 0)));
        int64_t p = json_integer_value(json_array_get(item, 1));
        if (!source || p < 0 || p >= source->known) {
            return false;
        }
        int64_t generation = json_integer_value(json_array_get(item, 2));
        if (generation >= 0) {
            set_part(&source->parts[p], generation, json_integer_value(json_array_get(item, 3)));
        } else {
            source->known = (int32_t)p;
        }
    }
    return true;
}
