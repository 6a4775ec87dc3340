// SPDX-License-Identifier: Apache-2.0
// Rules on table metadata: reserved names, ids, what a format version allows.
#include "table/iceberg/metadata_rules.h"

#include "base/cursor.h"

const json_t *fz_iceberg_rules_find(const json_t *array, const char *id_key, int64_t id) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const json_t *found = json_object_get(item, id_key);
        if (json_is_integer(found) && json_integer_value(found) == id) {
            return item;
        }
    }
    return NULL;
}

static int32_t id_of(const json_t *object, const char *key, int32_t highest) {
    int64_t id = fz_json_int_or(object, key, 0);
    return id > highest && id <= INT32_MAX ? (int32_t)id : highest;
}

static int32_t highest_id(const json_t *type, int32_t highest, unsigned depth) {
    if (!json_is_object(type) || depth > 200) {
        return highest;
    }
    const json_t *fields = json_object_get(type, "fields");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        highest =
            highest_id(json_object_get(field, "type"), id_of(field, "id", highest), depth + 1);
    }
    highest = id_of(type, "element-id", highest);
    highest = highest_id(json_object_get(type, "element"), highest, depth + 1);
    highest = id_of(type, "value-id", id_of(type, "key-id", highest));
    highest = highest_id(json_object_get(type, "key"), highest, depth + 1);
    return highest_id(json_object_get(type, "value"), highest, depth + 1);
}

int32_t fz_iceberg_rules_highest_id(const json_t *schema) {
    return highest_id(schema, 0, 0);
}

fz_code fz_iceberg_rules_properties(const json_t *properties, fz_err *err) {
    // Java's TableProperties.RESERVED_PROPERTIES: metadata holds them elsewhere.
    static const char *const reserved[] = {
        "format-version",           "uuid",
        "snapshot-count",           "current-snapshot-id",
        "current-snapshot-summary", "current-snapshot-timestamp-ms",
        "current-schema",           "default-partition-spec",
        "default-sort-order",
    };
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)properties, key, value) {
        for (size_t i = 0; i < FZ_COUNT(reserved); i++) {
            if (strcmp(key, reserved[i]) == 0) {
                return fz_err_set(err, FZ_INVALID, "table property \"%s\" is reserved", key);
            }
        }
        if (!json_is_string(value)) {
            return fz_err_set(err, FZ_INVALID, "table property \"%.200s\" is not text", key);
        }
    }
    return FZ_OK;
}

static fz_code check_type(const json_t *type, int version, fz_str name, unsigned depth,
                          fz_err *err);

static fz_code check_fields(const json_t *type, int version, unsigned depth, fz_err *err) {
    const json_t *fields = json_object_get(type, "fields");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        fz_str name = fz_json_str_or(field, "name");
        bool defaults =
            json_object_get(field, "initial-default") || json_object_get(field, "write-default");
        if (defaults && version < 3) {
            return fz_err_set(
                err, FZ_INVALID,
                "column \"%.*s\" has a default, which needs format version 3, found %d",
                FZ_STR_ARGS(fz_str_slice(name, 0, 200)), version);
        }
        FZ_TRY(check_type(json_object_get(field, "type"), version, name, depth + 1, err));
    }
    return FZ_OK;
}

static fz_code check_type(const json_t *type, int version, fz_str name, unsigned depth,
                          fz_err *err) {
    static const char *const newer[] = {"timestamp_ns", "timestamptz_ns", "variant",
                                        "geometry",     "geography",      "unknown"};
    if (depth > 200) {
        return fz_err_set(err, FZ_LIMIT, "schema is nested deeper than 200");
    }
    fz_str text = fz_json_view(type);
    for (size_t i = 0; i < FZ_COUNT(newer) && version < 3; i++) {
        if (fz_str_starts_with(text, fz_str_from(newer[i]))) {
            return fz_err_set(err, FZ_INVALID,
                              "column \"%.*s\" has type %s, which needs format version 3, found %d",
                              FZ_STR_ARGS(fz_str_slice(name, 0, 200)), newer[i], version);
        }
    }
    if (json_is_object(type)) {
        FZ_TRY(check_fields(type, version, depth, err));
        FZ_TRY(check_type(json_object_get(type, "element"), version, name, depth + 1, err));
        FZ_TRY(check_type(json_object_get(type, "key"), version, name, depth + 1, err));
        FZ_TRY(check_type(json_object_get(type, "value"), version, name, depth + 1, err));
    }
    return FZ_OK;
}

fz_code fz_iceberg_rules_schema(const json_t *schema, int version, fz_err *err) {
    if (!json_is_array(json_object_get(schema, "fields"))) {
        return fz_err_set(err, FZ_INVALID, "schema has no \"fields\"");
    }
    return check_type(schema, version, FZ_STR(""), 0, err);
}

json_t *fz_iceberg_rules_partition_field(const fz_partition_field *field, int32_t field_id) {
    json_t *json = json_object();
    fz_json_set_int(json, "source-id", field->source_id);
    fz_json_set_int(json, "field-id", field_id);
    fz_json_set_str(json, "name", field->name);
    fz_buf text = {0};
    if (field->transform_text.size == 0) {
        fz_transform_format(field->transform, &text);
    }
    fz_json_set_str(json, "transform",
                    field->transform_text.size ? field->transform_text : fz_buf_view(&text));
    fz_buf_deinit(&text);
    return json;
}

static fz_code check_partition_name(const json_t *fields, size_t index, fz_str name,
                                    const fz_field *source, fz_transform transform,
                                    const fz_schema *schema, fz_err *err) {
    if (name.size == 0) {
        return fz_err_set(err, FZ_INVALID, "partition field %zu has no name", index + 1);
    }
    for (size_t i = 0; i < index; i++) {
        if (fz_str_equal(fz_json_str_or(json_array_get(fields, i), "name"), name)) {
            return fz_err_set(err, FZ_INVALID, "partition name \"%.*s\" is used twice",
                              FZ_STR_ARGS(name));
        }
    }
    // A partition may be named like a column only when it is that column (Java's
    // PartitionSpec.Builder).
    const fz_field *column = fz_type_find(&schema->root, name);
    if (column && !(transform.kind == FZ_TRANSFORM_IDENTITY && column == source)) {
        return fz_err_set(err, FZ_INVALID, "partition name \"%.*s\" is the name of a column",
                          FZ_STR_ARGS(name));
    }
    return FZ_OK;
}

static fz_code check_spec(const json_t *fields, const fz_schema *schema, fz_err *err) {
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        fz_str name = fz_json_str_or(field, "name");
        fz_transform transform = fz_transform_parse(fz_json_str_or(field, "transform"));
        int64_t id = fz_json_int_or(field, "source-id", 0);
        const fz_field *source =
            id > 0 && id <= INT32_MAX ? fz_schema_find_id(schema, (int32_t)id) : NULL;
        if (transform.kind == FZ_TRANSFORM_VOID) {
            continue; // its source may be gone
        }
        if (transform.kind == FZ_TRANSFORM_UNKNOWN) {
            return fz_err_set(err, FZ_INVALID, "partition \"%.*s\" has an unknown transform",
                              FZ_STR_ARGS(name));
        }
        if (!source) {
            return fz_err_set(err, FZ_INVALID, "partition \"%.*s\" has no source column %lld",
                              FZ_STR_ARGS(name), (long long)id);
        }
        FZ_TRY(check_partition_name(fields, i, name, source, transform, schema, err));
        fz_type result;
        if (fz_transform_result(transform, &source->type, &result, err) != FZ_OK) {
            if (err) {
                err->code = FZ_INVALID;
            }
            (void)fz_err_prepend(err, "partition \"%.*s\"", FZ_STR_ARGS(name));
            return FZ_INVALID;
        }
    }
    return FZ_OK;
}

fz_code fz_iceberg_rules_spec(const json_t *fields, const json_t *schema, fz_err *err) {
    if (json_array_size(fields) == 0) {
        return FZ_OK;
    }
    fz_schema *parsed;
    fz_code code = fz_schema_from_json(schema, &parsed, NULL);
    if (code == FZ_UNSUPPORTED) {
        return FZ_OK; // a schema with types of others: its own writer checks it
    }
    if (code != FZ_OK) {
        return fz_err_set(err, FZ_INVALID, "the current schema cannot be read");
    }
    code = check_spec(fields, parsed, err);
    fz_schema_unref(parsed);
    return code;
}
