// SPDX-License-Identifier: Apache-2.0
// Data files to JSON and back.
#include "flow/ingest/file_json.h"

#include "base/codec/text_codec.h"

static json_t *hex(fz_str bytes) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_hex_encode(&text, bytes);
    return fz_json_string(fz_buf_view(&text));
}

static json_t *value_json(const fz_value *value) {
    if (value->is_null) {
        return json_null();
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes = {0};
    fz_value_encode(value, &bytes);
    return hex(fz_buf_view(&bytes));
}

/** [[id, value], ...]: ids as keys would be texts. */
static void put_counts(json_t *json, const char *key, const fz_iceberg_counts *counts) {
    if (!counts->present) {
        return;
    }
    json_t *array = json_array();
    for (size_t i = 0; i < counts->count; i++) {
        json_array_append_new(
            array, json_pack("[i,I]", (int)counts->ids[i], (json_int_t)counts->values[i]));
    }
    json_object_set_new(json, key, array);
}

static void put_bounds(json_t *json, const char *key, const fz_iceberg_bounds *bounds) {
    if (!bounds->present) {
        return;
    }
    json_t *array = json_array();
    for (size_t i = 0; i < bounds->count; i++) {
        json_t *item = json_pack("[i]", (int)bounds->ids[i]);
        json_array_append_new(item, hex(bounds->values[i]));
        json_array_append_new(array, item);
    }
    json_object_set_new(json, key, array);
}

json_t *fz_file_json_encode(const fz_iceberg_file *file) {
    json_t *json = json_object();
    fz_json_set_str(json, "path", file->path);
    fz_json_set_str(json, "format", file->format);
    fz_json_set_int(json, "spec", file->spec_id);
    if (file->sort_order_id != FZ_ICEBERG_NONE) {
        fz_json_set_int(json, "order", file->sort_order_id);
    }
    fz_json_set_int(json, "rows", file->record_count);
    fz_json_set_int(json, "size", file->file_size_bytes);
    json_t *partition = json_array();
    for (size_t i = 0; i < file->partition_count; i++) {
        json_array_append_new(partition, value_json(&file->partition[i]));
    }
    json_object_set_new(json, "partition", partition);
    json_t *splits = json_array();
    for (size_t i = 0; i < file->split_count; i++) {
        json_array_append_new(splits, json_integer(file->split_offsets[i]));
    }
    json_object_set_new(json, "splits", splits);
    put_counts(json, "sizes", &file->column_sizes);
    put_counts(json, "values", &file->value_counts);
    put_counts(json, "nulls", &file->null_counts);
    put_counts(json, "nans", &file->nan_counts);
    put_bounds(json, "lower", &file->lower_bounds);
    put_bounds(json, "upper", &file->upper_bounds);
    return json;
}

// --- reading

static fz_code bad(const char *key, fz_err *err) {
    return fz_err_set(err, FZ_CORRUPT, "\"%s\" of a file in an outbox is not as it was written",
                      key);
}

static fz_code take_hex(const json_t *json, const char *key, fz_arena *arena, fz_str *out,
                        fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes = {0};
    if (!json_is_string(json) || fz_hex_decode(&bytes, fz_json_view(json), NULL) != FZ_OK) {
        return bad(key, err);
    }
    *out = fz_arena_str(arena, fz_buf_view(&bytes));
    return FZ_OK;
}

static fz_code take_id(const json_t *item, const char *key, int32_t *out, fz_err *err) {
    const json_t *id = json_array_get(item, 0);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX) {
        return bad(key, err);
    }
    *out = (int32_t)json_integer_value(id);
    return FZ_OK;
}

static fz_code take_counts(const json_t *json, const char *key, fz_arena *arena,
                           fz_iceberg_counts *out, fz_err *err) {
    const json_t *array = json_object_get(json, key);
    size_t count = json_array_size(array);
    out->present = array != NULL;
    out->ids = FZ_ARENA_ARRAY(arena, int32_t, count + 1);
    out->values = FZ_ARENA_ARRAY(arena, int64_t, count + 1);
    for (; out->count < count; out->count++) {
        const json_t *item = json_array_get(array, out->count);
        FZ_TRY(take_id(item, key, &out->ids[out->count], err));
        out->values[out->count] = json_integer_value(json_array_get(item, 1));
    }
    return FZ_OK;
}

static fz_code take_bounds(const json_t *json, const char *key, fz_arena *arena,
                           fz_iceberg_bounds *out, fz_err *err) {
    const json_t *array = json_object_get(json, key);
    size_t count = json_array_size(array);
    out->present = array != NULL;
    out->ids = FZ_ARENA_ARRAY(arena, int32_t, count + 1);
    out->values = FZ_ARENA_ARRAY(arena, fz_str, count + 1);
    for (; out->count < count; out->count++) {
        const json_t *item = json_array_get(array, out->count);
        FZ_TRY(take_id(item, key, &out->ids[out->count], err));
        FZ_TRY(take_hex(json_array_get(item, 1), key, arena, &out->values[out->count], err));
    }
    return FZ_OK;
}

static fz_code take_partition(const json_t *json, const fz_partition_spec *spec, fz_arena *arena,
                              fz_iceberg_file *out, fz_err *err) {
    const json_t *tuple = json_object_get(json, "partition");
    if (json_array_size(tuple) != spec->field_count) {
        return bad("partition", err);
    }
    out->partition_count = spec->field_count;
    out->partition = FZ_ARENA_ARRAY(arena, fz_value, spec->field_count + 1);
    for (size_t i = 0; i < spec->field_count; i++) {
        const json_t *item = json_array_get(tuple, i);
        fz_value *value = &out->partition[i];
        if (json_is_null(item)) {
            *value = (fz_value){.kind = spec->fields[i].result_type.kind, .is_null = true};
            continue;
        }
        fz_str bytes;
        FZ_TRY(take_hex(item, "partition", arena, &bytes, err));
        FZ_TRY(fz_value_decode(&spec->fields[i].result_type, bytes, value, err));
    }
    return FZ_OK;
}

fz_code fz_file_json_decode(const json_t *json, const fz_partition_spec *spec, fz_arena *arena,
                            fz_iceberg_file *out, fz_err *err) {
    *out = fz_iceberg_file_make(fz_json_str_or(json, "path"), spec->spec_id);
    out->format = fz_json_str_or(json, "format");
    out->record_count = fz_json_int_or(json, "rows", -1);
    out->file_size_bytes = fz_json_int_or(json, "size", -1);
    int64_t order = fz_json_int_or(json, "order", FZ_ICEBERG_NONE);
    out->sort_order_id = order >= 0 && order <= INT32_MAX ? (int32_t)order : FZ_ICEBERG_NONE;
    if (out->path.size == 0 || out->record_count < 0 || out->file_size_bytes < 0) {
        return bad("path", err);
    }
    const json_t *splits = json_object_get(json, "splits");
    out->split_offsets = FZ_ARENA_ARRAY(arena, int64_t, json_array_size(splits) + 1);
    for (; out->split_count < json_array_size(splits); out->split_count++) {
        out->split_offsets[out->split_count] =
            json_integer_value(json_array_get(splits, out->split_count));
    }
    FZ_TRY(take_partition(json, spec, arena, out, err));
    FZ_TRY(take_counts(json, "sizes", arena, &out->column_sizes, err));
    FZ_TRY(take_counts(json, "values", arena, &out->value_counts, err));
    FZ_TRY(take_counts(json, "nulls", arena, &out->null_counts, err));
    FZ_TRY(take_counts(json, "nans", arena, &out->nan_counts, err));
    FZ_TRY(take_bounds(json, "lower", arena, &out->lower_bounds, err));
    return take_bounds(json, "upper", arena, &out->upper_bounds, err);
}
