// SPDX-License-Identifier: Apache-2.0
// Updates of snapshots, branches, tags and the snapshot log.
#include "table/iceberg/metadata_rules.h"
#include "table/iceberg/update_state.h"

/** Clocks of writers may differ by so much (Java's TableMetadata). */
#define CLOCK_TOLERANCE_MS 60000

static fz_code check_row_ids(fz_iceberg_update_state *state, const json_t *snapshot, fz_err *err) {
    int64_t first;
    int64_t added;
    int64_t next = fz_json_int_or(state->root, "next-row-id", 0);
    FZ_TRY(fz_json_get_int(snapshot, "first-row-id", "snapshot", &first, err));
    FZ_TRY(fz_json_get_int(snapshot, "added-rows", "snapshot", &added, err));
    int64_t end;
    if (first < next || added < 0 || __builtin_add_overflow(first, added, &end)) {
        return fz_err_set(
            err, FZ_INVALID,
            "snapshot has first-row-id %lld and added-rows %lld, the table's next-row-id is %lld",
            (long long)first, (long long)added, (long long)next);
    }
    fz_json_set_int(state->root, "next-row-id", end);
    return FZ_OK;
}

static fz_code check_snapshot(const fz_iceberg_update_state *state, const json_t *snapshot,
                              int64_t id, int64_t timestamp_ms, fz_err *err) {
    if (json_array_size(json_object_get(state->root, "schemas")) == 0 ||
        json_array_size(json_object_get(state->root, "partition-specs")) == 0 ||
        json_array_size(json_object_get(state->root, "sort-orders")) == 0) {
        return fz_err_set(err, FZ_INVALID,
                          "a snapshot needs a schema, a partition spec and a sort order first");
    }
    if (id < 0 ||
        fz_iceberg_rules_find(json_object_get(state->root, "snapshots"), "snapshot-id", id)) {
        return fz_err_set(err, FZ_INVALID, "snapshot id %lld is negative or taken", (long long)id);
    }
    int64_t updated = fz_json_int_or(state->root, "last-updated-ms", 0);
    if (!state->fresh && timestamp_ms < updated - CLOCK_TOLERANCE_MS) {
        return fz_err_set(err, FZ_INVALID,
                          "snapshot time %lld is before the table's last update %lld",
                          (long long)timestamp_ms, (long long)updated);
    }
    if (fz_iceberg_update_version(state) < 2) {
        return FZ_OK;
    }
    int64_t sequence;
    fz_str text;
    int64_t last = fz_json_int_or(state->root, "last-sequence-number", 0);
    FZ_TRY(fz_json_get_int(snapshot, "sequence-number", "snapshot", &sequence, err));
    FZ_TRY(fz_json_get_str(snapshot, "manifest-list", "snapshot", &text, err));
    FZ_TRY(fz_json_get_str(json_object_get(snapshot, "summary"), "operation", "snapshot summary",
                           &text, err));
    // Java lets a snapshot without parent through with any number.
    bool root = fz_json_int_or(snapshot, "parent-snapshot-id", FZ_ICEBERG_NONE) == FZ_ICEBERG_NONE;
    if (sequence <= last && !root) {
        return fz_err_set(err, FZ_INVALID,
                          "snapshot has sequence number %lld, the table is at %lld",
                          (long long)sequence, (long long)last);
    }
    return FZ_OK;
}

fz_code fz_iceberg_update_add_snapshot(fz_iceberg_update_state *state, const json_t *update,
                                       fz_err *err) {
    const json_t *snapshot = json_object_get(update, "snapshot");
    int64_t id;
    int64_t timestamp_ms;
    FZ_TRY(fz_json_get_int(snapshot, "snapshot-id", "snapshot", &id, err));
    FZ_TRY(fz_json_get_int(snapshot, "timestamp-ms", "snapshot", &timestamp_ms, err));
    FZ_TRY(check_snapshot(state, snapshot, id, timestamp_ms, err));
    if (fz_iceberg_update_version(state) >= 3) {
        FZ_TRY(check_row_ids(state, snapshot, err));
    }
    json_t *copy = json_copy((json_t *)snapshot);
    if (fz_json_int_or(copy, "parent-snapshot-id", FZ_ICEBERG_NONE) == FZ_ICEBERG_NONE) {
        (void)json_object_del(
            copy, "parent-snapshot-id"); // null or -1: old readers take -1 for an id (T157)
    }
    json_array_append_new(fz_iceberg_update_array(state, "snapshots"), copy);
    json_array_append_new(state->added_snapshots, json_integer(id));
    if (fz_iceberg_update_version(state) >= 2) {
        int64_t sequence = fz_json_int_or(snapshot, "sequence-number", 0);
        int64_t last = fz_json_int_or(state->root, "last-sequence-number", 0);
        fz_json_set_int(state->root, "last-sequence-number", sequence > last ? sequence : last);
    }
    state->updated_ms = timestamp_ms > state->updated_ms ? timestamp_ms : state->updated_ms;
    return FZ_OK;
}

static fz_code check_ref(const fz_iceberg_update_state *state, const json_t *old, fz_str name,
                         fz_str type, int64_t id, fz_err *err) {
    bool tag = fz_str_equal_nocase(type, FZ_STR("tag"));
    if (!tag && !fz_str_equal_nocase(type, FZ_STR("branch"))) {
        return fz_err_set(err, FZ_INVALID, "ref \"%.*s\" has type \"%.*s\", wanted branch or tag",
                          FZ_STR_ARGS(name), FZ_STR_ARGS(type));
    }
    if (tag && fz_str_equal(name, FZ_STR(FZ_ICEBERG_MAIN))) {
        return fz_err_set(err, FZ_INVALID, "\"main\" cannot be a tag");
    }
    if (old && !tag && !fz_str_equal_nocase(fz_json_str_or(old, "type"), FZ_STR("branch"))) {
        return fz_err_set(err, FZ_INVALID, "ref \"%.*s\" is a tag, not a branch",
                          FZ_STR_ARGS(name));
    }
    if (!fz_iceberg_rules_find(json_object_get(state->root, "snapshots"), "snapshot-id", id)) {
        return fz_err_set(err, FZ_INVALID, "ref \"%.*s\" names snapshot %lld, which is not listed",
                          FZ_STR_ARGS(name), (long long)id);
    }
    return FZ_OK;
}

static void log_main(fz_iceberg_update_state *state, int64_t id) {
    int64_t time = state->now_ms;
    if (state->updated_ms > 0 && fz_iceberg_update_has(state->added_snapshots, id)) {
        const json_t *snapshot =
            fz_iceberg_rules_find(json_object_get(state->root, "snapshots"), "snapshot-id", id);
        time = fz_json_int_or(snapshot, "timestamp-ms", time);
    }
    json_t *log = fz_iceberg_update_array(state, "snapshot-log");
    // A snapshot added and replaced in the same update was never to be seen.
    size_t count = json_array_size(log);
    if (count > 0) {
        int64_t last =
            fz_json_int_or(json_array_get(log, count - 1), "snapshot-id", FZ_ICEBERG_NONE);
        if (fz_iceberg_update_has(state->added_snapshots, last)) {
            json_array_remove(log, count - 1);
        }
    }
    json_array_append_new(log, json_pack("{s:I, s:I}", "timestamp-ms", (json_int_t)time,
                                         "snapshot-id", (json_int_t)id));
}

fz_code fz_iceberg_update_set_snapshot_ref(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err) {
    fz_str name;
    fz_str type;
    int64_t id;
    FZ_TRY(fz_json_get_str(update, "ref-name", "update", &name, err));
    FZ_TRY(fz_json_get_str(update, "type", "update", &type, err));
    FZ_TRY(fz_json_get_int(update, "snapshot-id", "update", &id, err));
    json_t *refs = fz_iceberg_update_object(state, "refs");
    const json_t *old = json_object_get(refs, name.data);
    FZ_TRY(check_ref(state, old, name, type, id, err));
    bool moved = fz_json_int_or(old, "snapshot-id", FZ_ICEBERG_NONE) != id;
    json_t *ref = json_object();
    fz_json_set_int(ref, "snapshot-id", id);
    fz_json_set_str(ref, "type",
                    fz_str_equal_nocase(type, FZ_STR("tag")) ? FZ_STR("tag") : FZ_STR("branch"));
    static const char *const retention[] = {"min-snapshots-to-keep", "max-snapshot-age-ms",
                                            "max-ref-age-ms"};
    for (size_t i = 0; i < FZ_COUNT(retention); i++) {
        json_t *value = json_object_get(update, retention[i]);
        if (json_is_integer(value)) {
            json_object_set(ref, retention[i], value);
        }
    }
    json_object_set_new(refs, name.data, ref);
    if (fz_str_equal(name, FZ_STR(FZ_ICEBERG_MAIN)) && moved) {
        fz_json_set_int(state->root, "current-snapshot-id", id);
        log_main(state, id);
    }
    return FZ_OK;
}

static void forget_main(fz_iceberg_update_state *state) {
    json_object_set_new(state->root, "current-snapshot-id",
                        fz_iceberg_update_version(state) >= 3 ? json_null() : json_integer(-1));
    json_array_clear(fz_iceberg_update_array(state, "snapshot-log"));
}

fz_code fz_iceberg_update_remove_snapshot_ref(fz_iceberg_update_state *state, const json_t *update,
                                              fz_err *err) {
    fz_str name;
    FZ_TRY(fz_json_get_str(update, "ref-name", "update", &name, err));
    json_t *refs = fz_iceberg_update_object(state, "refs");
    if (json_object_del(refs, name.data) == 0 && fz_str_equal(name, FZ_STR(FZ_ICEBERG_MAIN))) {
        forget_main(state);
    }
    return FZ_OK;
}

fz_code fz_iceberg_update_remove_snapshots(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err) {
    const json_t *ids = json_object_get(update, "snapshot-ids");
    if (!json_is_array(ids)) {
        return fz_err_set(err, FZ_INVALID, "update has no array \"snapshot-ids\"");
    }
    json_t *snapshots = fz_iceberg_update_array(state, "snapshots");
    for (size_t i = json_array_size(snapshots); i-- > 0;) {
        int64_t id = fz_json_int_or(json_array_get(snapshots, i), "snapshot-id", FZ_ICEBERG_NONE);
        if (fz_iceberg_update_has(ids, id)) {
            json_array_remove(snapshots, i);
            state->removed_snapshots = true;
        }
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int64_t id = json_integer_value(json_array_get(ids, i));
        (void)fz_iceberg_update_remove(json_object_get(state->root, "statistics"), "snapshot-id",
                                       id);
        (void)fz_iceberg_update_remove(json_object_get(state->root, "partition-statistics"),
                                       "snapshot-id", id);
    }
    json_t *refs = fz_iceberg_update_object(state, "refs");
    const char *name;
    json_t *ref;
    void *next;
    json_object_foreach_safe(refs, next, name, ref) {
        if (fz_iceberg_update_has(ids, fz_json_int_or(ref, "snapshot-id", FZ_ICEBERG_NONE))) {
            if (strcmp(name, FZ_ICEBERG_MAIN) == 0) {
                forget_main(state);
            }
            (void)json_object_del(refs, name);
        }
    }
    return FZ_OK;
}

void fz_iceberg_update_finish_log(fz_iceberg_update_state *state) {
    if (!state->removed_snapshots) {
        return;
    }
    // Entries before an expired snapshot would tell a wrong history (spec, "snapshot-log").
    const json_t *snapshots = json_object_get(state->root, "snapshots");
    const json_t *log = json_object_get(state->root, "snapshot-log");
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(log); i++) {
        json_t *entry = json_array_get(log, i);
        int64_t id = fz_json_int_or(entry, "snapshot-id", FZ_ICEBERG_NONE);
        if (fz_iceberg_rules_find(snapshots, "snapshot-id", id)) {
            json_array_append(kept, entry);
        } else {
            json_array_clear(kept);
        }
    }
    json_object_set_new(state->root, "snapshot-log", kept);
}
