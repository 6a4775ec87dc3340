// SPDX-License-Identifier: Apache-2.0
// Metadata of a new table, and where and how metadata is written.
#include "base/codec/compression.h"
#include "base/rand.h"
#include "table/iceberg/metadata.h"
#include "table/iceberg/metadata_rules.h"

/** A copy with ids for all fields, as JSON; *last is the last id given. */
static json_t *fresh_schema(const fz_schema *schema, int32_t *last) {
    fz_schema *copy = fz_schema_new();
    copy->root = fz_type_copy(&copy->arena, &schema->root);
    copy->identifier_count = schema->identifier_count;
    copy->identifier_ids = schema->identifier_ids;
    fz_schema_finish(copy);
    *last = copy->highest_id;
    fz_type_assign_ids(&copy->root, last);
    fz_schema_finish(copy);
    *last = copy->highest_id;
    json_t *json = fz_schema_to_json(copy);
    fz_json_set_int(json, "schema-id", 0);
    fz_schema_unref(copy);
    return json;
}

static json_t *fresh_spec(const fz_partition_spec *spec, int32_t *last) {
    json_t *fields = json_array();
    *last = FZ_ICEBERG_FIRST_PARTITION_ID - 1;
    for (size_t i = 0; spec && i < spec->field_count; i++) {
        int32_t id = spec->fields[i].field_id > 0 ? spec->fields[i].field_id : *last + 1;
        *last = id > *last ? id : *last;
        json_array_append_new(fields, fz_iceberg_rules_partition_field(&spec->fields[i], id));
    }
    return fields;
}

json_t *fz_iceberg_metadata_order_json(const fz_sort_order *order) {
    json_t *fields = json_array();
    for (size_t i = 0; order && i < order->field_count; i++) {
        const fz_sort_field *field = &order->fields[i];
        fz_buf transform = {0};
        fz_transform_format(field->transform, &transform);
        json_t *json = json_object();
        fz_json_set_str(json, "transform", fz_buf_view(&transform));
        fz_json_set_int(json, "source-id", field->source_id);
        fz_json_set_str(json, "direction", field->descending ? FZ_STR("desc") : FZ_STR("asc"));
        fz_json_set_str(json, "null-order",
                        field->nulls_last ? FZ_STR("nulls-last") : FZ_STR("nulls-first"));
        json_array_append_new(fields, json);
        fz_buf_deinit(&transform);
    }
    int64_t id = json_array_size(fields) > 0 ? 1 : 0;
    return json_pack("{s:I, s:o}", "order-id", (json_int_t)id, "fields", fields);
}

static fz_code check_options(const fz_iceberg_new_options *options, fz_err *err) {
    if (options->format_version != 2 && options->format_version != 3) {
        return fz_err_set(err, FZ_INVALID, "format version of a new table must be 2 or 3, found %d",
                          options->format_version);
    }
    if (options->location.size == 0 ||
        fz_str_find_str(options->location, FZ_STR(":/")) == SIZE_MAX) {
        return fz_err_set(err, FZ_INVALID, "table location \"%.*s\" has no scheme",
                          FZ_STR_ARGS(options->location));
    }
    if (options->schema->root.field_count == 0) {
        return fz_err_set(err, FZ_INVALID, "a new table needs at least one column");
    }
    return fz_iceberg_rules_properties(options->properties, err);
}

fz_code fz_iceberg_metadata_new(const fz_iceberg_new_options *options, fz_iceberg_metadata **out,
                                fz_err *err) {
    FZ_TRY(check_options(options, err));
    int32_t last_column;
    int32_t last_partition;
    json_t *schema = fresh_schema(options->schema, &last_column);
    json_t *fields = fresh_spec(options->spec, &last_partition);
    json_t *order = fz_iceberg_metadata_order_json(options->order);
    char uuid[37];
    fz_rand_uuid(uuid);
    json_t *root = json_object();
    fz_json_set_int(root, "format-version", options->format_version);
    fz_json_set_str(root, "table-uuid", fz_str_from(uuid));
    fz_json_set_str(root, "location", options->location);
    fz_json_set_int(root, "last-sequence-number", 0);
    fz_json_set_int(root, "last-updated-ms", options->now_ms);
    fz_json_set_int(root, "last-column-id", last_column);
    fz_json_set_int(root, "current-schema-id", 0);
    fz_code code = fz_iceberg_rules_schema(schema, options->format_version, err);
    if (code == FZ_OK) {
        code = fz_iceberg_rules_spec(fields, schema, err);
    }
    json_object_set_new(root, "schemas", json_pack("[o]", schema));
    fz_json_set_int(root, "default-spec-id", 0);
    json_object_set_new(root, "partition-specs",
                        json_pack("[{s:i, s:o}]", "spec-id", 0, "fields", fields));
    fz_json_set_int(root, "last-partition-id", last_partition);
    fz_json_set_int(root, "default-sort-order-id", fz_json_int_or(order, "order-id", 0));
    json_object_set_new(root, "sort-orders", json_pack("[o]", order));
    json_object_set_new(root, "properties",
                        options->properties ? json_copy((json_t *)options->properties)
                                            : json_object());
    // Older Java knows -1 only, version 3 wants null (formats.md 1.11).
    json_object_set_new(root, "current-snapshot-id",
                        options->format_version >= 3 ? json_null() : json_integer(-1));
    if (options->format_version >= 3) {
        fz_json_set_int(root, "next-row-id", 0);
    }
    json_object_set_new(root, "refs", json_object());
    static const char *const arrays[] = {"snapshots", "statistics", "partition-statistics",
                                         "snapshot-log", "metadata-log"};
    for (size_t i = 0; i < FZ_COUNT(arrays); i++) {
        json_object_set_new(root, arrays[i], json_array());
    }
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_from_json(root, FZ_STR(""), out, err);
    }
    json_decref(root);
    return code;
}

static bool gzipped(const fz_iceberg_metadata *metadata) {
    return fz_str_equal_nocase(
        fz_iceberg_metadata_property(metadata, "write.metadata.compression-codec"), FZ_STR("gzip"));
}

/** V of `.../00012-<uuid>.metadata.json` or `.../v12.metadata.json`; -1 if there is none. */
static int64_t version_of(fz_str location) {
    size_t start = 0;
    for (size_t i = 0; i < location.size; i++) {
        start = location.data[i] == '/' ? i + 1 : start;
    }
    if (start < location.size && location.data[start] == 'v') {
        start++;
    }
    int64_t version = 0;
    size_t i = start;
    for (;
         i < location.size && location.data[i] >= '0' && location.data[i] <= '9' && i < start + 12;
         i++) {
        version = version * 10 + (location.data[i] - '0');
    }
    bool ends = i < location.size && (location.data[i] == '-' || location.data[i] == '.');
    return i > start && ends ? version : -1;
}

void fz_iceberg_metadata_folder(const fz_iceberg_metadata *metadata, fz_buf *out) {
    fz_str folder = fz_iceberg_metadata_property(metadata, "write.metadata.path");
    while (folder.size > 1 && folder.data[folder.size - 1] == '/') {
        folder.size--;
    }
    if (folder.size > 0) {
        fz_buf_append_str(out, folder);
    } else {
        fz_buf_append_str(out, fz_iceberg_metadata_base(metadata));
        fz_buf_append_str(out, FZ_STR("/metadata"));
    }
}

void fz_iceberg_metadata_next_location(const fz_iceberg_metadata *metadata, fz_str previous,
                                       fz_buf *out) {
    char uuid[37];
    fz_rand_uuid(uuid);
    fz_iceberg_metadata_folder(metadata, out);
    fz_buf_printf(out, "/%05lld-%s%s.metadata.json", (long long)(version_of(previous) + 1), uuid,
                  gzipped(metadata) ? ".gz" : "");
}

fz_code fz_iceberg_metadata_format(const fz_iceberg_metadata *metadata, fz_buf *out, fz_err *err) {
    if (!gzipped(metadata)) {
        return fz_json_format(metadata->root, out, err);
    }
    fz_buf text = {0};
    fz_compressor compressor = {0};
    fz_code code = fz_json_format(metadata->root, &text, err);
    if (code == FZ_OK) {
        code = fz_compress(&compressor, FZ_CODEC_GZIP, 0, fz_buf_view(&text), out, err);
    }
    fz_compressor_deinit(&compressor);
    fz_buf_deinit(&text);
    return code;
}
