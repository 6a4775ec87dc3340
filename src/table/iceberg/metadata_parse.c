// SPDX-License-Identifier: Apache-2.0
// Table metadata from bytes: checked, and version 1 brought into the form of version 2.
#include "base/codec/compression.h"
#include "base/memory.h"
#include "table/iceberg/metadata.h"
#include "table/iceberg/metadata_rules.h"

/** Text of a metadata file; thousands of snapshots make some megabytes. */
#define METADATA_SIZE_MAX ((size_t)256 << 20)

static fz_code corrupt(const char *what, fz_err *err) {
    return fz_err_set(err, FZ_CORRUPT, "table metadata: %s", what);
}

static int64_t greatest(const json_t *objects, const char *key) {
    int64_t most = 0;
    for (size_t i = 0; i < json_array_size(objects); i++) {
        int64_t each = fz_json_int_or(json_array_get(objects, i), key, 0);
        most = each > most ? each : most;
    }
    return most;
}

/** The members that version 1 may leave out (spec, "Table Metadata"), made from those it has. */
static fz_code complete_v1(json_t *root, fz_err *err) {
    if (!json_object_get(root, "schemas")) {
        const json_t *schema = json_object_get(root, "schema");
        if (!json_is_object(schema)) {
            return corrupt("version 1 without \"schema\"", err);
        }
        json_t *copy = json_copy((json_t *)schema);
        int64_t id = fz_json_int_or(schema, "schema-id", 0);
        fz_json_set_int(copy, "schema-id", id);
        json_object_set_new(root, "schemas", json_pack("[o]", copy));
        fz_json_set_int(root, "current-schema-id", id);
    }
    if (!json_object_get(root, "partition-specs")) {
        const json_t *fields = json_object_get(root, "partition-spec");
        if (!json_is_array(fields)) {
            return corrupt("version 1 without \"partition-spec\"", err);
        }
        json_t *copies = json_array();
        for (size_t i = 0; i < json_array_size(fields); i++) {
            json_t *field = json_copy(json_array_get(fields, i));
            if (!json_object_get(field, "field-id")) {
                fz_json_set_int(field, "field-id", FZ_ICEBERG_FIRST_PARTITION_ID + (int64_t)i);
            }
            json_array_append_new(copies, field);
        }
        json_object_set_new(root, "partition-specs",
                            json_pack("[{s:i, s:o}]", "spec-id", 0, "fields", copies));
        fz_json_set_int(root, "default-spec-id", 0);
    }
    const json_t *schema = json_object_get(root, "schema");
    if (!json_object_get(root, "current-schema-id") && json_is_object(schema)) {
        // early writers of "schemas" left it out
        fz_json_set_int(root, "current-schema-id", fz_json_int_or(schema, "schema-id", 0));
    }
    if (!json_object_get(root, "default-spec-id")) {
        fz_json_set_int(root, "default-spec-id",
                        greatest(json_object_get(root, "partition-specs"), "spec-id"));
    }
    if (!json_object_get(root, "last-partition-id")) {
        int64_t last = FZ_ICEBERG_FIRST_PARTITION_ID - 1;
        const json_t *specs = json_object_get(root, "partition-specs");
        for (size_t i = 0; i < json_array_size(specs); i++) {
            const json_t *fields = json_object_get(json_array_get(specs, i), "fields");
            for (size_t k = 0; k < json_array_size(fields); k++) {
                int64_t id = fz_json_int_or(json_array_get(fields, k), "field-id", 0);
                last = id > last ? id : last;
            }
        }
        fz_json_set_int(root, "last-partition-id", last);
    }
    if (!json_object_get(root, "sort-orders")) {
        json_object_set_new(root, "sort-orders",
                            json_pack("[{s:i, s:[]}]", "order-id", 0, "fields"));
        fz_json_set_int(root, "default-sort-order-id", 0);
    }
    return FZ_OK;
}

static fz_code check_integers(const json_t *root, int version, fz_err *err) {
    static const struct {
        const char *key;
        int since;
        int64_t max;
    } wanted[] = {
        {"last-updated-ms", 1, INT64_MAX},       {"last-column-id", 1, INT32_MAX},
        {"last-sequence-number", 2, INT64_MAX},  {"last-partition-id", 2, INT32_MAX},
        {"current-schema-id", 1, INT32_MAX},     {"default-spec-id", 1, INT32_MAX},
        {"default-sort-order-id", 2, INT32_MAX}, {"next-row-id", 3, INT64_MAX},
    };
    for (size_t i = 0; i < FZ_COUNT(wanted); i++) {
        int64_t value;
        if (wanted[i].since > version) {
            continue;
        }
        FZ_TRY(fz_json_get_int(root, wanted[i].key, "table metadata", &value, err));
        if (value < 0 || value > wanted[i].max) {
            return fz_err_set(err, FZ_CORRUPT, "table metadata: \"%s\" is %lld", wanted[i].key,
                              (long long)value);
        }
    }
    return FZ_OK;
}

static fz_code check_objects(const json_t *root, const char *key, const char *id_key, fz_err *err) {
    const json_t *array = json_object_get(root, key);
    if (array && !json_is_null(array) && !json_is_array(array)) {
        return fz_err_set(err, FZ_CORRUPT, "table metadata: \"%s\" is no array", key);
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        int64_t id;
        FZ_TRY(fz_json_get_int(json_array_get(array, i), id_key, key, &id, err));
    }
    return FZ_OK;
}

static fz_code check_current(const json_t *root, const char *array, const char *id_key,
                             const char *current, fz_err *err) {
    FZ_TRY(check_objects(root, array, id_key, err));
    const json_t *items = json_object_get(root, array);
    for (size_t i = 0; i < json_array_size(items); i++) {
        int64_t each = fz_json_int_or(json_array_get(items, i), id_key, -1);
        if (each < 0 || each >= INT32_MAX) {
            return fz_err_set(err, FZ_CORRUPT, "table metadata: \"%s\" has the %s %lld", array,
                              id_key, (long long)each);
        }
    }
    int64_t id = fz_json_int_or(root, current, 0);
    if (!fz_iceberg_rules_find(json_object_get(root, array), id_key, id)) {
        return fz_err_set(err, FZ_CORRUPT,
                          "table metadata: \"%s\" is %lld, which \"%s\" does not hold", current,
                          (long long)id, array);
    }
    return FZ_OK;
}

static fz_code check_map(const json_t *root, const char *key, bool texts, fz_err *err) {
    const json_t *map = json_object_get(root, key);
    if (map && !json_is_null(map) && !json_is_object(map)) {
        return fz_err_set(err, FZ_CORRUPT, "table metadata: \"%s\" is no object", key);
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value) {
        if (texts ? !json_is_string(value)
                  : !json_is_integer(json_object_get(value, "snapshot-id"))) {
            return fz_err_set(err, FZ_CORRUPT,
                              "table metadata: \"%s\" has a bad value for \"%.200s\"", key, name);
        }
    }
    return FZ_OK;
}

static fz_code check_snapshots(const json_t *root, fz_err *err) {
    FZ_TRY(check_objects(root, "snapshots", "snapshot-id", err));
    FZ_TRY(check_objects(root, "snapshot-log", "timestamp-ms", err));
    FZ_TRY(check_objects(root, "metadata-log", "timestamp-ms", err));
    FZ_TRY(check_map(root, "refs", false, err));
    int64_t current = fz_json_int_or(root, "current-snapshot-id", FZ_ICEBERG_NONE);
    const json_t *main_ref = json_object_get(json_object_get(root, "refs"), FZ_ICEBERG_MAIN);
    int64_t id = main_ref ? fz_json_int_or(main_ref, "snapshot-id", FZ_ICEBERG_NONE) : current;
    if (id != current) {
        return fz_err_set(err, FZ_CORRUPT,
                          "table metadata: \"main\" is snapshot %lld, \"current-snapshot-id\" %lld",
                          (long long)id, (long long)current);
    }
    if (id != FZ_ICEBERG_NONE &&
        !fz_iceberg_rules_find(json_object_get(root, "snapshots"), "snapshot-id", id)) {
        return fz_err_set(err, FZ_CORRUPT, "table metadata: current snapshot %lld is not listed",
                          (long long)id);
    }
    return FZ_OK;
}

static fz_code check(const json_t *root, int version, fz_err *err) {
    fz_str text;
    FZ_TRY(fz_json_get_str(root, "location", "table metadata", &text, err));
    if (text.size == 0) {
        return corrupt("\"location\" is empty", err);
    }
    if (version >= 2) {
        FZ_TRY(fz_json_get_str(root, "table-uuid", "table metadata", &text, err));
    }
    FZ_TRY(check_integers(root, version, err));
    FZ_TRY(check_current(root, "schemas", "schema-id", "current-schema-id", err));
    FZ_TRY(check_current(root, "partition-specs", "spec-id", "default-spec-id", err));
    FZ_TRY(check_current(root, "sort-orders", "order-id", "default-sort-order-id", err));
    FZ_TRY(check_map(root, "properties", true, err));
    return check_snapshots(root, err);
}

fz_code fz_iceberg_metadata_from_json(json_t *root, fz_str location, fz_iceberg_metadata **out,
                                      fz_err *err) {
    int64_t version;
    if (!json_is_object(root)) {
        return corrupt("not an object", err);
    }
    FZ_TRY(fz_json_get_int(root, "format-version", "table metadata", &version, err));
    if (version < 1 || version > 3) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "table format version is %lld, this build knows 1 to 3",
                          (long long)version);
    }
    json_t *own = version == 1 ? json_copy(root) : json_incref(root);
    fz_code code = version == 1 ? complete_v1(own, err) : FZ_OK;
    if (code == FZ_OK) {
        code = check(own, (int)version, err);
    }
    if (code != FZ_OK) {
        json_decref(own);
        return code;
    }
    fz_iceberg_metadata *metadata = fz_calloc(1, sizeof(*metadata));
    metadata->root = own;
    metadata->references = 1;
    metadata->location = fz_str_make(fz_str_dup(location), location.size);
    *out = metadata;
    return FZ_OK;
}

fz_iceberg_metadata *fz_iceberg_metadata_moved(const fz_iceberg_metadata *metadata,
                                               fz_str location) {
    fz_iceberg_metadata *moved = fz_calloc(1, sizeof(*moved));
    moved->root = json_incref(metadata->root);
    moved->references = 1;
    moved->location = fz_str_make(fz_str_dup(location), location.size);
    return moved;
}

fz_code fz_iceberg_metadata_parse(fz_str bytes, fz_str location, fz_iceberg_metadata **out,
                                  fz_err *err) {
    fz_buf text = {0};
    fz_code code = FZ_OK;
    // The name ought to say it, but the bytes do (T167).
    if (bytes.size >= 2 && (uint8_t)bytes.data[0] == 0x1f && (uint8_t)bytes.data[1] == 0x8b) {
        fz_compressor compressor = {0};
        fz_buf_init(&text, METADATA_SIZE_MAX, NULL);
        code =
            fz_decompress_stream(&compressor, FZ_CODEC_GZIP, bytes, METADATA_SIZE_MAX, &text, err);
        fz_compressor_deinit(&compressor);
        bytes = fz_buf_view(&text);
    }
    if (code == FZ_OK && bytes.size > METADATA_SIZE_MAX) {
        code =
            fz_err_set(err, FZ_LIMIT, "table metadata is larger than %zu bytes", METADATA_SIZE_MAX);
    }
    json_t *root = NULL;
    if (code == FZ_OK) {
        code = fz_json_parse(bytes, &root, err);
    }
    fz_buf_deinit(&text);
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_from_json(root, location, out, err);
        json_decref(root);
    }
    if (code != FZ_OK && location.size > 0) {
        (void)fz_err_prepend(err, "\"%.*s\"", FZ_STR_ARGS(fz_str_slice(location, 0, 300)));
    }
    return code;
}
