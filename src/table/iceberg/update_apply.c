// SPDX-License-Identifier: Apache-2.0
// Applies a list of updates to table metadata.
#include "table/iceberg/metadata_rules.h"
#include "table/iceberg/update_state.h"

#define PREVIOUS_VERSIONS_DEFAULT 100

int fz_iceberg_update_version(const fz_iceberg_update_state *state) {
    return (int)fz_json_int_or(state->root, "format-version", 0);
}

json_t *fz_iceberg_update_array(fz_iceberg_update_state *state, const char *key) {
    json_t *array = json_object_get(state->root, key);
    if (!json_is_array(array)) {
        array = json_array();
        json_object_set_new(state->root, key, array);
    }
    return array;
}

json_t *fz_iceberg_update_object(fz_iceberg_update_state *state, const char *key) {
    json_t *object = json_object_get(state->root, key);
    if (!json_is_object(object)) {
        object = json_object();
        json_object_set_new(state->root, key, object);
    }
    return object;
}

size_t fz_iceberg_update_remove(json_t *array, const char *id_key, int64_t id) {
    size_t removed = 0;
    for (size_t i = json_array_size(array); i-- > 0;) {
        const json_t *found = json_object_get(json_array_get(array, i), id_key);
        if (json_is_integer(found) && json_integer_value(found) == id) {
            json_array_remove(array, i);
            removed++;
        }
    }
    return removed;
}

bool fz_iceberg_update_has(const json_t *array, int64_t id) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_integer(item) && json_integer_value(item) == id) {
            return true;
        }
    }
    return false;
}

static fz_code assign_uuid(fz_iceberg_update_state *state, const json_t *update, fz_err *err) {
    fz_str uuid;
    FZ_TRY(fz_json_get_str(update, "uuid", "update", &uuid, err));
    fz_json_set_str(state->root, "table-uuid", uuid);
    return FZ_OK;
}

static fz_code upgrade_format_version(fz_iceberg_update_state *state, const json_t *update,
                                      fz_err *err) {
    int64_t version;
    FZ_TRY(fz_json_get_int(update, "format-version", "update", &version, err));
    int64_t now = fz_iceberg_update_version(state);
    if (version < 1 || version > 3 || (!state->fresh && version < now)) {
        return fz_err_set(
            err, FZ_INVALID,
            "format version cannot become %lld, it is %lld and 3 is the highest known",
            (long long)version, (long long)now);
    }
    fz_json_set_int(state->root, "format-version", version);
    if (version >= 2 && !json_object_get(state->root, "last-sequence-number")) {
        fz_json_set_int(state->root, "last-sequence-number", 0);
    }
    if (version >= 3 && !json_object_get(state->root, "next-row-id")) {
        fz_json_set_int(state->root, "next-row-id", 0);
    }
    return FZ_OK;
}

static fz_code set_location(fz_iceberg_update_state *state, const json_t *update, fz_err *err) {
    fz_str location;
    FZ_TRY(fz_json_get_str(update, "location", "update", &location, err));
    if (location.size == 0) {
        return fz_err_set(err, FZ_INVALID, "table location is empty");
    }
    fz_json_set_str(state->root, "location", location);
    return FZ_OK;
}

static fz_code set_properties(fz_iceberg_update_state *state, const json_t *update, fz_err *err) {
    const json_t *updates = json_object_get(update, "updates");
    if (!json_is_object(updates)) {
        return fz_err_set(err, FZ_INVALID, "update has no object \"updates\"");
    }
    FZ_TRY(fz_iceberg_rules_properties(updates, err));
    json_object_update(fz_iceberg_update_object(state, "properties"), (json_t *)updates);
    return FZ_OK;
}

static fz_code remove_properties(fz_iceberg_update_state *state, const json_t *update,
                                 fz_err *err) {
    const json_t *removals = json_object_get(update, "removals");
    if (!json_is_array(removals)) {
        return fz_err_set(err, FZ_INVALID, "update has no array \"removals\"");
    }
    json_t *properties = fz_iceberg_update_object(state, "properties");
    for (size_t i = 0; i < json_array_size(removals); i++) {
        const char *key = json_string_value(json_array_get(removals, i));
        if (!key) {
            return fz_err_set(err, FZ_INVALID, "\"removals\" holds something that is no text");
        }
        (void)json_object_del(properties, key);
    }
    return FZ_OK;
}

static fz_code set_by_snapshot(fz_iceberg_update_state *state, const json_t *update,
                               const char *key, const char *array, fz_err *err) {
    json_t *value = json_object_get(update, key);
    int64_t id;
    FZ_TRY(fz_json_get_int(value, "snapshot-id", key, &id, err));
    json_t *items = fz_iceberg_update_array(state, array);
    (void)fz_iceberg_update_remove(items, "snapshot-id", id);
    json_array_append(items, value);
    return FZ_OK;
}

static fz_code remove_by_snapshot(fz_iceberg_update_state *state, const json_t *update,
                                  const char *array, fz_err *err) {
    int64_t id;
    FZ_TRY(fz_json_get_int(update, "snapshot-id", "update", &id, err));
    (void)fz_iceberg_update_remove(fz_iceberg_update_array(state, array), "snapshot-id", id);
    return FZ_OK;
}

static fz_code set_statistics(fz_iceberg_update_state *state, const json_t *update, fz_err *err) {
    return set_by_snapshot(state, update, "statistics", "statistics", err);
}

static fz_code remove_statistics(fz_iceberg_update_state *state, const json_t *update,
                                 fz_err *err) {
    return remove_by_snapshot(state, update, "statistics", err);
}

static fz_code set_partition_statistics(fz_iceberg_update_state *state, const json_t *update,
                                        fz_err *err) {
    return set_by_snapshot(state, update, "partition-statistics", "partition-statistics", err);
}

static fz_code remove_partition_statistics(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err) {
    return remove_by_snapshot(state, update, "partition-statistics", err);
}

static void remove_key(json_t *keys, fz_str id) {
    for (size_t i = json_array_size(keys); i-- > 0;) {
        if (fz_str_equal(fz_json_str_or(json_array_get(keys, i), "key-id"), id)) {
            json_array_remove(keys, i);
        }
    }
}

static fz_code add_encryption_key(fz_iceberg_update_state *state, const json_t *update,
                                  fz_err *err) {
    json_t *key = json_object_get(update, "encryption-key");
    fz_str id;
    FZ_TRY(fz_json_get_str(key, "key-id", "encryption-key", &id, err));
    json_t *keys = fz_iceberg_update_array(state, "encryption-keys");
    remove_key(keys, id);
    json_array_append(keys, key);
    return FZ_OK;
}

static fz_code remove_encryption_key(fz_iceberg_update_state *state, const json_t *update,
                                     fz_err *err) {
    fz_str id;
    FZ_TRY(fz_json_get_str(update, "key-id", "update", &id, err));
    remove_key(fz_iceberg_update_array(state, "encryption-keys"), id);
    return FZ_OK;
}

static const struct {
    const char *action;
    fz_iceberg_update_fn apply;
} handlers[] = {
    {"assign-uuid", assign_uuid},
    {"upgrade-format-version", upgrade_format_version},
    {"add-schema", fz_iceberg_update_add_schema},
    {"set-current-schema", fz_iceberg_update_set_current_schema},
    {"remove-schemas", fz_iceberg_update_remove_schemas},
    {"add-spec", fz_iceberg_update_add_spec},
    {"set-default-spec", fz_iceberg_update_set_default_spec},
    {"remove-partition-specs", fz_iceberg_update_remove_specs},
    {"add-sort-order", fz_iceberg_update_add_sort_order},
    {"set-default-sort-order", fz_iceberg_update_set_default_sort_order},
    {"add-snapshot", fz_iceberg_update_add_snapshot},
    {"set-snapshot-ref", fz_iceberg_update_set_snapshot_ref},
    {"remove-snapshots", fz_iceberg_update_remove_snapshots},
    {"remove-snapshot-ref", fz_iceberg_update_remove_snapshot_ref},
    {"set-location", set_location},
    {"set-properties", set_properties},
    {"remove-properties", remove_properties},
    {"set-statistics", set_statistics},
    {"remove-statistics", remove_statistics},
    {"set-partition-statistics", set_partition_statistics},
    {"remove-partition-statistics", remove_partition_statistics},
    {"add-encryption-key", add_encryption_key},
    {"remove-encryption-key", remove_encryption_key},
};

static fz_code apply_one(fz_iceberg_update_state *state, const json_t *update, fz_err *err) {
    fz_str action;
    FZ_TRY(fz_json_get_str(update, "action", "update", &action, err));
    for (size_t i = 0; i < FZ_COUNT(handlers); i++) {
        if (fz_str_equal(action, fz_str_from(handlers[i].action))) {
            fz_code code = handlers[i].apply(state, update, err);
            return code == FZ_OK ? FZ_OK : fz_err_prepend(err, "update \"%s\"", handlers[i].action);
        }
    }
    return fz_err_set(err, FZ_INVALID, "update \"%.*s\" is not known",
                      FZ_STR_ARGS(fz_str_slice(action, 0, 100)));
}

/** A copy whose members are copies, or an empty table of version 2. */
static json_t *start_root(const fz_iceberg_metadata *metadata, int64_t now_ms) {
    if (!metadata) {
        json_t *root = json_object();
        fz_json_set_int(root, "format-version", 2);
        fz_json_set_int(root, "last-sequence-number", 0);
        fz_json_set_int(root, "last-updated-ms", now_ms);
        fz_json_set_int(root, "last-column-id", 0);
        fz_json_set_int(root, "last-partition-id", FZ_ICEBERG_FIRST_PARTITION_ID - 1);
        fz_json_set_int(root, "current-snapshot-id", -1);
        json_object_set_new(root, "properties", json_object());
        json_object_set_new(root, "refs", json_object());
        json_object_set_new(root, "snapshots", json_array());
        json_object_set_new(root, "snapshot-log", json_array());
        json_object_set_new(root, "metadata-log", json_array());
        return root;
    }
    json_t *root = json_copy(metadata->root);
    static const char *const members[] = {
        "schemas",    "partition-specs",      "sort-orders",    "snapshots",
        "refs",       "properties",           "snapshot-log",   "metadata-log",
        "statistics", "partition-statistics", "encryption-keys"};
    for (size_t i = 0; i < FZ_COUNT(members); i++) {
        json_t *member = json_object_get(root, members[i]);
        if (member) {
            json_object_set_new(root, members[i], json_copy(member));
        }
    }
    // Version 1 may know its current snapshot without a ref.
    int64_t current = fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN);
    json_t *refs = json_object_get(root, "refs");
    if (current != FZ_ICEBERG_NONE && !json_object_get(refs, FZ_ICEBERG_MAIN)) {
        if (!json_is_object(refs)) {
            refs = json_object();
            json_object_set_new(root, "refs", refs);
        }
        json_object_set_new(
            refs, FZ_ICEBERG_MAIN,
            json_pack("{s:I, s:s}", "snapshot-id", (json_int_t)current, "type", "branch"));
    }
    return root;
}

/** The base's file joins the metadata log, which is cut to write.metadata.previous-versions-max. */
static void log_previous(fz_iceberg_update_state *state, const fz_iceberg_metadata *base) {
    json_t *log = fz_iceberg_update_array(state, "metadata-log");
    if (base && base->location.size > 0) {
        json_t *entry = json_object();
        fz_json_set_int(entry, "timestamp-ms", fz_iceberg_metadata_last_updated_ms(base));
        fz_json_set_str(entry, "metadata-file", base->location);
        json_array_append_new(log, entry);
    }
    const fz_iceberg_metadata view = {.root = state->root};
    int64_t max = fz_iceberg_metadata_property_int(&view, "write.metadata.previous-versions-max",
                                                   PREVIOUS_VERSIONS_DEFAULT);
    max = max < 1 ? 1 : max;
    while (json_array_size(log) > (size_t)max) {
        json_array_remove(log, 0);
    }
}

static void finish(fz_iceberg_update_state *state, const fz_iceberg_metadata *base) {
    fz_iceberg_update_finish_log(state);
    int64_t updated = state->updated_ms > 0 ? state->updated_ms : state->now_ms;
    int64_t before = fz_json_int_or(state->root, "last-updated-ms", 0);
    // A fresh table takes its snapshot's time; else time never goes back.
    fz_json_set_int(state->root, "last-updated-ms",
                    state->fresh && state->updated_ms > 0 ? updated
                                                          : (updated > before ? updated : before));
    log_previous(state, base);
    if (fz_iceberg_update_version(state) == 1) {
        int64_t schema = fz_json_int_or(state->root, "current-schema-id", 0);
        int64_t spec = fz_json_int_or(state->root, "default-spec-id", 0);
        const json_t *schemas = json_object_get(state->root, "schemas");
        const json_t *specs = json_object_get(state->root, "partition-specs");
        json_object_set(state->root, "schema",
                        (json_t *)fz_iceberg_rules_find(schemas, "schema-id", schema));
        json_object_set(state->root, "partition-spec",
                        json_object_get(fz_iceberg_rules_find(specs, "spec-id", spec), "fields"));
    } else {
        (void)json_object_del(state->root, "schema");
        (void)json_object_del(state->root, "partition-spec");
    }
}

fz_code fz_iceberg_update_apply(const fz_iceberg_metadata *metadata, const json_t *updates,
                                int64_t now_ms, fz_iceberg_metadata **out, fz_err *err) {
    if (updates && !json_is_array(updates)) {
        return fz_err_set(err, FZ_INVALID, "updates are no array");
    }
    int64_t before = metadata ? fz_iceberg_metadata_last_updated_ms(metadata) : 0;
    fz_iceberg_update_state state = {
        .root = start_root(metadata, now_ms),
        .fresh = !metadata,
        .now_ms = now_ms > before ? now_ms : before,
        .last_schema_id = FZ_ICEBERG_NONE,
        .last_spec_id = FZ_ICEBERG_NONE,
        .last_order_id = FZ_ICEBERG_NONE,
        .added_snapshots = json_array(),
    };
    fz_code code = FZ_OK;
    for (size_t i = 0; i < json_array_size(updates) && code == FZ_OK; i++) {
        code = apply_one(&state, json_array_get(updates, i), err);
    }
    if (code == FZ_OK) {
        finish(&state, metadata);
        code = fz_iceberg_metadata_from_json(state.root, FZ_STR(""), out, err);
    }
    if (code == FZ_CORRUPT) {
        // What does not hold together was asked for by the updates.
        code = FZ_INVALID;
        if (err) {
            err->code = code;
        }
    }
    json_decref(state.root);
    json_decref(state.added_snapshots);
    return code;
}
