// SPDX-License-Identifier: Apache-2.0
// Requirements of the REST catalog specification, and helpers that make requirements and updates.
#include "table/iceberg/update.h"

static fz_code failed(const char *what, int64_t found, int64_t wanted, fz_err *err) {
    return fz_err_set(err, FZ_CONFLICT, "requirement failed: %s is %lld, wanted %lld", what,
                      (long long)found, (long long)wanted);
}

static fz_code check_uuid(const fz_iceberg_metadata *metadata, const json_t *requirement,
                          fz_err *err) {
    fz_str wanted;
    FZ_TRY(fz_json_get_str(requirement, "uuid", "requirement", &wanted, err));
    fz_str found = fz_iceberg_metadata_uuid(metadata);
    if (!fz_str_equal_nocase(found, wanted)) {
        return fz_err_set(err, FZ_CONFLICT, "requirement failed: table uuid is %.*s, wanted %.*s",
                          FZ_STR_ARGS(fz_str_slice(found, 0, 64)),
                          FZ_STR_ARGS(fz_str_slice(wanted, 0, 64)));
    }
    return FZ_OK;
}

static fz_code check_ref(const fz_iceberg_metadata *metadata, const json_t *requirement,
                         fz_err *err) {
    fz_str ref;
    FZ_TRY(fz_json_get_str(requirement, "ref", "requirement", &ref, err));
    const json_t *id = json_object_get(requirement, "snapshot-id");
    if (!id || (!json_is_null(id) && !json_is_integer(id))) {
        // Absent is not null: a server that let it pass would check nothing (T175).
        return fz_err_set(err, FZ_INVALID,
                          "requirement \"assert-ref-snapshot-id\" has no \"snapshot-id\"");
    }
    int64_t wanted = json_is_integer(id) ? json_integer_value(id) : FZ_ICEBERG_NONE;
    int64_t found = fz_iceberg_metadata_ref_id(metadata, ref.data);
    if (found != wanted) {
        return fz_err_set(
            err, FZ_CONFLICT, "requirement failed: ref \"%.*s\" is snapshot %lld, wanted %lld",
            FZ_STR_ARGS(fz_str_slice(ref, 0, 100)), (long long)found, (long long)wanted);
    }
    return FZ_OK;
}

static const struct {
    const char *type;
    const char *key;    // in the requirement
    const char *member; // in the metadata
    int64_t absent;
} integers[] = {
    {"assert-last-assigned-field-id", "last-assigned-field-id", "last-column-id", 0},
    {"assert-current-schema-id", "current-schema-id", "current-schema-id", 0},
    {"assert-last-assigned-partition-id", "last-assigned-partition-id", "last-partition-id", 999},
    {"assert-default-spec-id", "default-spec-id", "default-spec-id", 0},
    {"assert-default-sort-order-id", "default-sort-order-id", "default-sort-order-id", 0},
};

static fz_code check_one(const fz_iceberg_metadata *metadata, const json_t *requirement,
                         fz_err *err) {
    fz_str type;
    FZ_TRY(fz_json_get_str(requirement, "type", "requirement", &type, err));
    if (fz_str_equal(type, FZ_STR("assert-create"))) {
        return metadata
                   ? fz_err_set(err, FZ_CONFLICT, "requirement failed: the table exists already")
                   : FZ_OK;
    }
    bool known = fz_str_equal(type, FZ_STR("assert-table-uuid")) ||
                 fz_str_equal(type, FZ_STR("assert-ref-snapshot-id"));
    size_t index = 0;
    while (!known && index < FZ_COUNT(integers) &&
           !fz_str_equal(type, fz_str_from(integers[index].type))) {
        index++;
    }
    if (!known && index == FZ_COUNT(integers)) {
        return fz_err_set(err, FZ_INVALID, "requirement \"%.*s\" is not known",
                          FZ_STR_ARGS(fz_str_slice(type, 0, 100)));
    }
    if (!metadata) {
        return fz_err_set(err, FZ_CONFLICT, "requirement failed: the table does not exist");
    }
    if (fz_str_equal(type, FZ_STR("assert-table-uuid"))) {
        return check_uuid(metadata, requirement, err);
    }
    if (known) {
        return check_ref(metadata, requirement, err);
    }
    int64_t wanted;
    FZ_TRY(fz_json_get_int(requirement, integers[index].key, "requirement", &wanted, err));
    int64_t found = fz_json_int_or(metadata->root, integers[index].member, integers[index].absent);
    return found == wanted ? FZ_OK : failed(integers[index].member, found, wanted, err);
}

fz_code fz_iceberg_update_check(const fz_iceberg_metadata *metadata, const json_t *requirements,
                                fz_err *err) {
    if (requirements && !json_is_array(requirements)) {
        return fz_err_set(err, FZ_INVALID, "requirements are no array");
    }
    for (size_t i = 0; i < json_array_size(requirements); i++) {
        fz_code code = check_one(metadata, json_array_get(requirements, i), err);
        if (code == FZ_CORRUPT) { // a member missing: the request is wrong, not a file
            code = FZ_INVALID;
            if (err) {
                err->code = code;
            }
        }
        FZ_TRY(code);
    }
    return FZ_OK;
}

json_t *fz_iceberg_require_uuid(fz_str uuid) {
    json_t *json = json_pack("{s:s}", "type", "assert-table-uuid");
    fz_json_set_str(json, "uuid", uuid);
    return json;
}

json_t *fz_iceberg_require_ref(const char *ref, int64_t snapshot_id) {
    json_t *json = json_pack("{s:s, s:s}", "type", "assert-ref-snapshot-id", "ref", ref);
    json_object_set_new(json, "snapshot-id",
                        snapshot_id == FZ_ICEBERG_NONE ? json_null() : json_integer(snapshot_id));
    return json;
}

json_t *fz_iceberg_require_int(const char *type, const char *key, int64_t value) {
    return json_pack("{s:s, s:I}", "type", type, key, (json_int_t)value);
}

json_t *fz_iceberg_update_new(const char *action) {
    return json_pack("{s:s}", "action", action);
}

json_t *fz_iceberg_update_set_ref(const char *ref, int64_t snapshot_id) {
    return json_pack("{s:s, s:s, s:s, s:I}", "action", "set-snapshot-ref", "ref-name", ref, "type",
                     "branch", "snapshot-id", (json_int_t)snapshot_id);
}

static void add(json_t *updates, const char *action, const char *key, json_t *value) {
    json_t *update = fz_iceberg_update_new(action);
    if (value) {
        json_object_set_new(update, key, value);
    }
    json_array_append_new(updates, update);
}

json_t *fz_iceberg_update_from_new(const fz_iceberg_metadata *metadata) {
    json_t *root = metadata->root;
    json_t *updates = json_array();
    add(updates, "assign-uuid", "uuid", json_incref(json_object_get(root, "table-uuid")));
    add(updates, "upgrade-format-version", "format-version",
        json_incref(json_object_get(root, "format-version")));
    json_t *schema = (json_t *)fz_iceberg_metadata_schema_json(
        metadata, fz_iceberg_metadata_schema_id(metadata));
    add(updates, "add-schema", "schema", json_incref(schema));
    json_object_set(json_array_get(updates, 2), "last-column-id",
                    json_object_get(root, "last-column-id"));
    add(updates, "set-current-schema", "schema-id", json_integer(-1));
    json_t *spec = json_object();
    fz_json_set_int(spec, "spec-id", fz_iceberg_metadata_spec_id(metadata));
    json_object_set(
        spec, "fields",
        (json_t *)fz_iceberg_metadata_spec_json(metadata, fz_iceberg_metadata_spec_id(metadata)));
    add(updates, "add-spec", "spec", spec);
    add(updates, "set-default-spec", "spec-id", json_integer(-1));
    const json_t *orders = json_object_get(root, "sort-orders");
    add(updates, "add-sort-order", "sort-order",
        json_incref(json_array_get(orders, json_array_size(orders) - 1)));
    add(updates, "set-default-sort-order", "sort-order-id", json_integer(-1));
    add(updates, "set-location", "location", json_incref(json_object_get(root, "location")));
    if (json_object_size(json_object_get(root, "properties")) > 0) {
        add(updates, "set-properties", "updates", json_incref(json_object_get(root, "properties")));
    }
    const json_t *snapshots = json_object_get(root, "snapshots");
    for (size_t i = 0; i < json_array_size(snapshots); i++) {
        add(updates, "add-snapshot", "snapshot", json_incref(json_array_get(snapshots, i)));
    }
    int64_t main_id = fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN);
    if (main_id != FZ_ICEBERG_NONE) {
        json_array_append_new(updates, fz_iceberg_update_set_ref(FZ_ICEBERG_MAIN, main_id));
    }
    return updates;
}

static bool logs_file(const fz_iceberg_metadata *metadata, fz_str file) {
    for (size_t i = 0; i < fz_iceberg_metadata_log_count(metadata); i++) {
        if (fz_str_equal(fz_iceberg_metadata_log_at(metadata, i, NULL), file)) {
            return true;
        }
    }
    return fz_str_equal(metadata->location, file);
}

json_t *fz_iceberg_update_expired_files(const fz_iceberg_metadata *base,
                                        const fz_iceberg_metadata *next) {
    json_t *files = json_array();
    for (size_t i = 0; i < fz_iceberg_metadata_log_count(base); i++) {
        fz_str file = fz_iceberg_metadata_log_at(base, i, NULL);
        if (file.size > 0 && !logs_file(next, file)) {
            json_array_append_new(files, fz_json_string(file));
        }
    }
    return files;
}
