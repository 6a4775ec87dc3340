// SPDX-License-Identifier: Apache-2.0
// The state as table properties, and its digest.
#include "table/commit/state.h"

#include <stdlib.h>

#include "base/codec/hash.h"
#include "base/memory.h"

#define STATE_PROPERTY "frazil.state"
#define SOURCE_PREFIX "frazil.source."
#define OUTBOX_PROPERTY "frazil.outbox"
#define REPLAYED_PROPERTY "frazil.replayed"
/** Own commits beyond this are not counted but made up. */
#define NUMBER_MAX (1LL << 53)

void fz_commit_state_free(fz_commit_state *state) {
    if (state) {
        json_decref(state->outbox);
        json_decref(state->replayed);
        fz_arena_deinit(&state->arena);
        fz_free(state);
    }
}

fz_commit_source *fz_commit_state_find(const fz_commit_state *state, fz_str name) {
    for (size_t i = 0; i < state->source_count; i++) {
        if (fz_str_equal(state->sources[i].name, name)) {
            return &state->sources[i];
        }
    }
    return NULL;
}

static void *copy_array(fz_arena *arena, const void *from, size_t count, size_t size) {
    void *to = fz_arena_alloc(arena, count + 1, size);
    if (count > 0) {
        memcpy(to, from, count * size);
    }
    return to;
}

static void source_copy(fz_arena *arena, const fz_commit_source *from, fz_commit_source *to) {
    *to = *from;
    fz_str *const texts[] = {&to->name, &to->cluster, &to->topic, &to->topic_id, &to->route};
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        *texts[i] = fz_arena_str(arena, *texts[i]);
    }
    to->parts =
        (fz_commit_part *)copy_array(arena, from->parts, (size_t)from->known, sizeof *from->parts);
    to->fingerprints = (fz_commit_fingerprint *)copy_array(
        arena, from->fingerprints, from->fingerprint_count, sizeof *from->fingerprints);
    to->ranges =
        (fz_commit_range *)copy_array(arena, from->ranges, from->range_count, sizeof *from->ranges);
    for (size_t i = 0; i < to->range_count; i++) {
        to->ranges[i].reason = fz_arena_str(arena, from->ranges[i].reason);
    }
}

fz_commit_state *fz_commit_state_copy(const fz_commit_state *state) {
    fz_commit_state *copy = (fz_commit_state *)fz_calloc(1, sizeof *copy);
    fz_arena *arena = &copy->arena;
    copy->nonce = fz_arena_str(arena, state->nonce);
    copy->number = state->number;
    copy->commit = fz_arena_str(arena, state->commit);
    copy->snapshot_id = state->snapshot_id;
    copy->digest = fz_arena_str(arena, state->digest);
    copy->instance = fz_arena_str(arena, state->instance);
    copy->source_count = state->source_count;
    // one more place: an edit may add a source
    copy->sources = FZ_ARENA_ARRAY(arena, fz_commit_source, state->source_count + 1);
    for (size_t i = 0; i < state->source_count; i++) {
        source_copy(arena, &state->sources[i], &copy->sources[i]);
    }
    copy->outbox = state->outbox ? json_deep_copy(state->outbox) : NULL;
    copy->replayed = state->replayed ? json_deep_copy(state->replayed) : NULL;
    copy->rolled_back = state->rolled_back;
    copy->abandoned = state->abandoned;
    return copy;
}

static bool source_reached(const fz_commit_source *source, const json_t *moves) {
    size_t index;
    json_t *move;
    json_array_foreach(moves, index, move) {
        int64_t p = json_integer_value(json_array_get(move, 0));
        int64_t generation = json_integer_value(json_array_get(move, 1));
        int64_t end = json_integer_value(json_array_get(move, 3));
        if (p < 0 || p >= source->known || generation > source->parts[p].generation ||
            (generation == source->parts[p].generation && end > source->parts[p].next)) {
            return false;
        }
    }
    return json_array_size(moves) > 0;
}

bool fz_commit_state_reached(const fz_commit_state *state, const json_t *entry) {
    fz_str name = fz_json_str_or(entry, "source");
    for (size_t i = 0; i < state->source_count; i++) {
        const fz_commit_source *source = &state->sources[i];
        if ((name.size == 0 || fz_str_equal(name, source->name)) &&
            source_reached(source, json_object_get(entry, "moves"))) {
            return true;
        }
    }
    return false;
}

void fz_commit_state_stale(const fz_commit_state *state, const fz_iceberg_metadata *metadata,
                           json_t *out) {
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(metadata->root, "properties"), key, value) {
        fz_str name = fz_str_from(key);
        if (fz_str_starts_with(name, FZ_STR(SOURCE_PREFIX)) &&
            !fz_commit_state_find(state, fz_str_slice(name, sizeof SOURCE_PREFIX - 1, name.size))) {
            json_array_append_new(out, json_string(key));
        }
    }
}

// --- reading

static int64_t int_at(const json_t *array, size_t index, int64_t fallback) {
    const json_t *item = json_array_get(array, index);
    return json_is_integer(item) ? json_integer_value(item) : fallback;
}

static fz_code read_parts(fz_arena *arena, const json_t *json, fz_commit_source *out, fz_err *err) {
    const json_t *parts = json_object_get(json, "parts");
    int64_t known = fz_json_int_or(json, "known", (int64_t)json_array_size(parts));
    if (!json_is_array(parts) || known != (int64_t)json_array_size(parts) || known > 1000000) {
        return fz_err_set(err, FZ_CORRUPT,
                          "property \"" SOURCE_PREFIX "%.*s\": %zu parts, known is %lld",
                          FZ_STR_ARGS(out->name), json_array_size(parts), (long long)known);
    }
    out->known = (int32_t)known;
    out->parts = FZ_ARENA_ARRAY(arena, fz_commit_part, (size_t)known + 1);
    for (size_t i = 0; i < (size_t)known; i++) {
        const json_t *part = json_array_get(parts, i);
        out->parts[i] = (fz_commit_part){int_at(part, 0, -1), int_at(part, 1, -1),
                                         int_at(part, 2, -1), int_at(part, 3, -1)};
        if (out->parts[i].generation < 0 || out->parts[i].next < 0) {
            return fz_err_set(err, FZ_CORRUPT,
                              "property \"" SOURCE_PREFIX
                              "%.*s\": part %zu is not [generation, next, ...]",
                              FZ_STR_ARGS(out->name), i);
        }
    }
    return FZ_OK;
}

static void read_fingerprints(fz_arena *arena, const json_t *json, fz_commit_source *out) {
    const json_t *prints = json_object_get(json, "fingerprints");
    size_t count = json_array_size(prints);
    out->fingerprints = FZ_ARENA_ARRAY(arena, fz_commit_fingerprint, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(prints, i);
        const char *hash = json_string_value(json_array_get(item, 3));
        out->fingerprints[out->fingerprint_count++] =
            (fz_commit_fingerprint){(int32_t)int_at(item, 0, -1), int_at(item, 1, -1),
                                    int_at(item, 2, -1), hash ? strtoull(hash, NULL, 16) : 0};
    }
    const json_t *ranges = json_object_get(json, "ranges");
    count = json_array_size(ranges);
    out->ranges = FZ_ARENA_ARRAY(arena, fz_commit_range, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(ranges, i);
        out->ranges[out->range_count++] = (fz_commit_range){
            (int32_t)int_at(item, 0, -1), int_at(item, 1, 0), int_at(item, 2, 0),
            int_at(item, 3, 0), fz_arena_str(arena, fz_json_view(json_array_get(item, 4)))};
    }
}

static fz_code read_source(fz_arena *arena, fz_str name, fz_str text, fz_commit_source *out,
                           fz_err *err) {
    json_t *json = NULL;
    if (fz_json_parse(text, &json, err) != FZ_OK) {
        return fz_err_prepend(err, "property \"" SOURCE_PREFIX "%.*s\"", FZ_STR_ARGS(name));
    }
    memset(out, 0, sizeof *out);
    out->name = fz_arena_str(arena, name);
    out->cluster = fz_arena_str(arena, fz_json_str_or(json, "cluster"));
    out->topic = fz_arena_str(arena, fz_json_str_or(json, "topic"));
    out->topic_id = fz_arena_str(arena, fz_json_str_or(json, "topic-id"));
    out->route = fz_arena_str(arena, fz_json_str_or(json, "route"));
    out->rows = fz_json_int_or(json, "rows", 0);
    out->dead_letters = fz_json_int_or(json, "dead-letters", 0);
    out->skipped = fz_json_int_or(json, "skipped", 0);
    out->tombstones = fz_json_int_or(json, "tombstones", 0);
    out->paused = json_is_true(json_object_get(json, "paused"));
    fz_code code = read_parts(arena, json, out, err);
    if (code == FZ_OK) {
        read_fingerprints(arena, json, out);
    }
    json_decref(json);
    return code;
}

static fz_code read_sources(const fz_iceberg_metadata *metadata, fz_commit_state *state,
                            fz_err *err) {
    json_t *properties = json_object_get(metadata->root, "properties");
    const char *key;
    json_t *value;
    state->sources =
        FZ_ARENA_ARRAY(&state->arena, fz_commit_source, json_object_size(properties) + 1);
    json_object_foreach(properties, key, value) {
        fz_str name = fz_str_from(key);
        if (fz_str_starts_with(name, FZ_STR(SOURCE_PREFIX))) {
            name = fz_str_slice(name, sizeof SOURCE_PREFIX - 1, name.size);
            FZ_TRY(read_source(&state->arena, name, fz_json_view(value),
                               &state->sources[state->source_count], err));
            state->source_count++;
        }
    }
    return FZ_OK;
}

static fz_code read_array(const fz_iceberg_metadata *metadata, const char *key, json_t **out,
                          fz_err *err) {
    fz_str text = fz_iceberg_metadata_property(metadata, key);
    if (text.size == 0) {
        return FZ_OK;
    }
    if (fz_json_parse(text, out, err) != FZ_OK || !json_is_array(*out)) {
        return fz_err_set(err, FZ_CORRUPT, "property \"%s\" is no array", key);
    }
    return FZ_OK;
}

static fz_code read_all(const fz_iceberg_metadata *metadata, fz_str text, fz_commit_state *state,
                        fz_err *err) {
    json_t *json = NULL;
    if (fz_json_parse(text, &json, err) != FZ_OK) {
        return fz_err_prepend(err, "property \"" STATE_PROPERTY "\"");
    }
    fz_arena *arena = &state->arena;
    state->nonce = fz_arena_str(arena, fz_json_str_or(json, "table"));
    state->number = fz_json_int_or(json, "k", 0);
    state->commit = fz_arena_str(arena, fz_json_str_or(json, "commit"));
    state->snapshot_id = fz_json_int_or(json, "snapshot", FZ_ICEBERG_NONE);
    state->digest = fz_arena_str(arena, fz_json_str_or(json, "digest"));
    state->instance = fz_arena_str(arena, fz_json_str_or(json, "instance"));
    json_decref(json);
    if (state->number < 0 || state->number > NUMBER_MAX) {
        return fz_err_set(err, FZ_CORRUPT, "property \"" STATE_PROPERTY "\": k is %lld",
                          (long long)state->number);
    }
    FZ_TRY(read_sources(metadata, state, err));
    FZ_TRY(read_array(metadata, OUTBOX_PROPERTY, &state->outbox, err));
    return read_array(metadata, REPLAYED_PROPERTY, &state->replayed, err);
}

fz_code fz_commit_state_read(const fz_iceberg_metadata *metadata, fz_commit_state **out,
                             fz_err *err) {
    fz_str text = fz_iceberg_metadata_property(metadata, STATE_PROPERTY);
    if (text.size == 0) {
        return fz_err_set(err, FZ_NOT_FOUND, "the table has no property \"" STATE_PROPERTY "\"");
    }
    fz_commit_state *state = (fz_commit_state *)fz_calloc(1, sizeof *state);
    fz_code code = read_all(metadata, text, state, err);
    if (code != FZ_OK) {
        fz_commit_state_free(state);
        return code;
    }
    *out = state;
    return FZ_OK;
}

// --- writing

static json_t *source_json(const fz_commit_source *source) {
    json_t *json = json_object();
    fz_json_set_str(json, "cluster", source->cluster);
    fz_json_set_str(json, "topic", source->topic);
    if (source->topic_id.size > 0) {
        fz_json_set_str(json, "topic-id", source->topic_id);
    }
    fz_json_set_str(json, "route", source->route);
    fz_json_set_int(json, "known", source->known);
    json_t *parts = json_array();
    for (int32_t p = 0; p < source->known; p++) {
        const fz_commit_part *part = &source->parts[p];
        json_array_append_new(parts, json_pack("[I,I,I,I]", (json_int_t)part->generation,
                                               (json_int_t)part->next, (json_int_t)part->last_row,
                                               (json_int_t)part->epoch));
    }
    json_object_set_new(json, "parts", parts);
    json_t *prints = json_array();
    for (size_t i = 0; i < source->fingerprint_count; i++) {
        const fz_commit_fingerprint *print = &source->fingerprints[i];
        char *hash = fz_str_printf("%016llx", (unsigned long long)print->hash);
        json_array_append_new(prints, json_pack("[i,I,I,s]", (int)print->partition,
                                                (json_int_t)print->offset,
                                                (json_int_t)print->timestamp_ms, hash));
        fz_free(hash);
    }
    json_object_set_new(json, "fingerprints", prints);
    fz_json_set_int(json, "rows", source->rows);
    fz_json_set_int(json, "dead-letters", source->dead_letters);
    fz_json_set_int(json, "skipped", source->skipped);
    fz_json_set_int(json, "tombstones", source->tombstones);
    if (source->range_count > 0) {
        json_t *ranges = json_array();
        for (size_t i = 0; i < source->range_count; i++) {
            const fz_commit_range *range = &source->ranges[i];
            json_t *item =
                json_pack("[i,I,I,I]", (int)range->partition, (json_int_t)range->generation,
                          (json_int_t)range->start, (json_int_t)range->end);
            json_array_append_new(item, fz_json_string(range->reason));
            json_array_append_new(ranges, item);
        }
        json_object_set_new(json, "ranges", ranges);
    }
    if (source->paused) {
        json_object_set_new(json, "paused", json_true());
    }
    return json;
}

static int source_order(const void *a, const void *b) {
    return fz_str_compare((*(const fz_commit_source *const *)a)->name,
                          (*(const fz_commit_source *const *)b)->name);
}

void fz_commit_state_digest(const fz_commit_state *state, char out[33]) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    const fz_commit_source **sorted = (const fz_commit_source **)fz_calloc(
        state->source_count + 1, sizeof(const fz_commit_source *));
    for (size_t i = 0; i < state->source_count; i++) {
        sorted[i] = &state->sources[i];
    }
    qsort(sorted, state->source_count, sizeof *sorted, source_order);
    for (size_t i = 0; i < state->source_count; i++) {
        for (int32_t p = 0; p < sorted[i]->known; p++) {
            fz_buf_printf(&text, "%.*s %d %lld %lld\n", FZ_STR_ARGS(sorted[i]->name), p,
                          (long long)sorted[i]->parts[p].generation,
                          (long long)sorted[i]->parts[p].next);
        }
    }
    fz_free(sorted);
    if (state->replayed) {
        char *replayed = json_dumps(state->replayed, JSON_COMPACT);
        fz_buf_append_str(&text, fz_str_from(replayed));
        free(replayed);
    }
    fz_xxh3_128_hex(text.data, text.size, out);
}

static void set_text(json_t *properties, const char *key, const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT);
    fz_json_set_str(properties, key, fz_str_from(text));
    free(text);
}

void fz_commit_state_write(fz_commit_state *state, json_t *properties) {
    char digest[33];
    fz_commit_state_digest(state, digest);
    state->digest = fz_arena_str(&state->arena, fz_str_from(digest));
    json_t *json = json_object();
    fz_json_set_int(json, "v", 1);
    fz_json_set_str(json, "table", state->nonce);
    fz_json_set_int(json, "k", state->number);
    fz_json_set_str(json, "commit", state->commit);
    fz_json_set_int(json, "snapshot", state->snapshot_id);
    fz_json_set_str(json, "digest", state->digest);
    fz_json_set_str(json, "instance", state->instance);
    set_text(properties, STATE_PROPERTY, json);
    json_decref(json);
    for (size_t i = 0; i < state->source_count; i++) {
        json_t *source = source_json(&state->sources[i]);
        fz_str name = state->sources[i].name;
        char *key = fz_str_printf(SOURCE_PREFIX "%.*s", FZ_STR_ARGS(name));
        set_text(properties, key, source);
        fz_free(key);
        json_decref(source);
    }
    // an empty array rather than nothing: a removed property would need an update of its own
    if (state->outbox) {
        set_text(properties, OUTBOX_PROPERTY, state->outbox);
    }
    if (state->replayed) {
        set_text(properties, REPLAYED_PROPERTY, state->replayed);
    }
}
