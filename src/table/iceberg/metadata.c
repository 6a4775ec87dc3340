// SPDX-License-Identifier: Apache-2.0
// What is asked of Iceberg table metadata: numbers, schemas, specs, snapshots, logs.
#include "table/iceberg/metadata.h"

#include "base/memory.h"
#include "base/rand.h"
#include "table/iceberg/metadata_rules.h"

fz_iceberg_metadata *fz_iceberg_metadata_ref(fz_iceberg_metadata *metadata) {
    metadata->references++;
    return metadata;
}

void fz_iceberg_metadata_unref(fz_iceberg_metadata *metadata) {
    if (metadata && --metadata->references == 0) {
        json_decref(metadata->root);
        fz_free((void *)metadata->location.data);
        fz_free(metadata);
    }
}

static const json_t *member(const fz_iceberg_metadata *metadata, const char *key) {
    return json_object_get(metadata->root, key);
}

static int64_t integer(const fz_iceberg_metadata *metadata, const char *key, int64_t fallback) {
    return fz_json_int_or(metadata->root, key, fallback);
}

int fz_iceberg_metadata_version(const fz_iceberg_metadata *metadata) {
    return (int)integer(metadata, "format-version", 0);
}

fz_str fz_iceberg_metadata_uuid(const fz_iceberg_metadata *metadata) {
    return fz_json_str_or(metadata->root, "table-uuid");
}

fz_str fz_iceberg_metadata_base(const fz_iceberg_metadata *metadata) {
    fz_str base = fz_json_str_or(metadata->root, "location");
    while (base.size > 1 && base.data[base.size - 1] == '/') {
        base.size--;
    }
    return base;
}

int64_t fz_iceberg_metadata_last_sequence(const fz_iceberg_metadata *metadata) {
    return integer(metadata, "last-sequence-number", 0);
}

int64_t fz_iceberg_metadata_last_updated_ms(const fz_iceberg_metadata *metadata) {
    return integer(metadata, "last-updated-ms", 0);
}

int32_t fz_iceberg_metadata_last_column_id(const fz_iceberg_metadata *metadata) {
    return (int32_t)integer(metadata, "last-column-id", 0);
}

int32_t fz_iceberg_metadata_last_partition_id(const fz_iceberg_metadata *metadata) {
    return (int32_t)integer(metadata, "last-partition-id", FZ_ICEBERG_FIRST_PARTITION_ID - 1);
}

int64_t fz_iceberg_metadata_next_row_id(const fz_iceberg_metadata *metadata) {
    return integer(metadata, "next-row-id", 0);
}

int32_t fz_iceberg_metadata_schema_id(const fz_iceberg_metadata *metadata) {
    return (int32_t)integer(metadata, "current-schema-id", 0);
}

int32_t fz_iceberg_metadata_spec_id(const fz_iceberg_metadata *metadata) {
    return (int32_t)integer(metadata, "default-spec-id", 0);
}

int32_t fz_iceberg_metadata_order_id(const fz_iceberg_metadata *metadata) {
    return (int32_t)integer(metadata, "default-sort-order-id", 0);
}

const json_t *fz_iceberg_metadata_schema_json(const fz_iceberg_metadata *metadata,
                                              int32_t schema_id) {
    return fz_iceberg_rules_find(member(metadata, "schemas"), "schema-id", schema_id);
}

fz_code fz_iceberg_metadata_schema(const fz_iceberg_metadata *metadata, int32_t schema_id,
                                   fz_schema **out, fz_err *err) {
    const json_t *json = fz_iceberg_metadata_schema_json(metadata, schema_id);
    if (!json) {
        return fz_err_set(err, FZ_NOT_FOUND, "table metadata has no schema %d", schema_id);
    }
    return fz_schema_from_json(json, out, err);
}

const json_t *fz_iceberg_metadata_spec_json(const fz_iceberg_metadata *metadata, int32_t spec_id) {
    return json_object_get(
        fz_iceberg_rules_find(member(metadata, "partition-specs"), "spec-id", spec_id), "fields");
}

/** Type of a column in any schema, newest first, copied into `arena`. */
static bool find_source(const fz_iceberg_metadata *metadata, const fz_schema *schema, int32_t id,
                        fz_arena *arena, fz_type *out) {
    const fz_field *field = fz_schema_find_id(schema, id);
    if (field) {
        *out = fz_type_copy(arena, &field->type);
        return true;
    }
    const json_t *schemas = member(metadata, "schemas");
    for (size_t i = json_array_size(schemas); i-- > 0;) {
        fz_schema *older;
        if (fz_schema_from_json(json_array_get(schemas, i), &older, NULL) != FZ_OK) {
            continue;
        }
        field = fz_schema_find_id(older, id);
        if (field) {
            *out = fz_type_copy(arena, &field->type);
        }
        fz_schema_unref(older);
        if (field) {
            return true;
        }
    }
    return false;
}

static fz_code spec_field(const fz_iceberg_metadata *metadata, const fz_schema *schema,
                          const json_t *json, size_t index, fz_arena *arena,
                          fz_partition_field *out, fz_err *err) {
    const json_t *sources = json_object_get(json, "source-ids");
    int64_t source = json_is_array(sources) ? json_integer_value(json_array_get(sources, 0))
                                            : fz_json_int_or(json, "source-id", 0);
    // Version 1 may leave field ids out: they are sequential then.
    int64_t id = fz_json_int_or(json, "field-id", FZ_ICEBERG_FIRST_PARTITION_ID + (int64_t)index);
    if (source <= 0 || source > INT32_MAX || id <= 0 || id > INT32_MAX) {
        return fz_err_set(err, FZ_CORRUPT, "partition field %zu has source %lld and id %lld",
                          index + 1, (long long)source, (long long)id);
    }
    out->source_id = (int32_t)source;
    out->field_id = (int32_t)id;
    out->name = fz_arena_str(arena, fz_json_str_or(json, "name"));
    out->transform_text = fz_arena_str(arena, fz_json_str_or(json, "transform"));
    out->transform = fz_transform_parse(out->transform_text);
    if (json_array_size(sources) > 1) {
        out->transform.kind = FZ_TRANSFORM_UNKNOWN;
    }
    if (!find_source(metadata, schema, out->source_id, arena, &out->source_type)) {
        out->source_type = (fz_type){.kind = FZ_TYPE_STRING};
    }
    if (out->transform.kind == FZ_TRANSFORM_UNKNOWN) {
        out->result_type =
            (fz_type){.kind = FZ_TYPE_STRING}; // spec, "Partition Transforms": carried as text
        return FZ_OK;
    }
    if (out->transform.kind == FZ_TRANSFORM_VOID) {
        out->result_type = out->source_type;
        return FZ_OK;
    }
    return fz_transform_result(out->transform, &out->source_type, &out->result_type, err);
}

fz_code fz_iceberg_metadata_spec(const fz_iceberg_metadata *metadata, int32_t spec_id,
                                 const fz_schema *schema, fz_arena *arena, fz_partition_spec *out,
                                 fz_err *err) {
    const json_t *fields = fz_iceberg_metadata_spec_json(metadata, spec_id);
    if (!json_is_array(fields)) {
        return fz_err_set(err, FZ_NOT_FOUND, "table metadata has no partition spec %d", spec_id);
    }
    fz_partition_spec spec = {.spec_id = spec_id, .field_count = json_array_size(fields)};
    spec.fields = FZ_ARENA_ARRAY(arena, fz_partition_field, spec.field_count);
    fz_schema *current = NULL;
    if (!schema && spec.field_count > 0) {
        FZ_TRY(fz_iceberg_metadata_schema(metadata, fz_iceberg_metadata_schema_id(metadata),
                                          &current, err));
        schema = current;
    }
    fz_code code = FZ_OK;
    for (size_t i = 0; i < spec.field_count && code == FZ_OK; i++) {
        code =
            spec_field(metadata, schema, json_array_get(fields, i), i, arena, &spec.fields[i], err);
    }
    fz_schema_unref(current);
    if (code == FZ_OK) {
        *out = spec;
    }
    return code;
}

fz_code fz_iceberg_metadata_order(const fz_iceberg_metadata *metadata, fz_arena *arena,
                                  fz_sort_order *out, fz_err *err) {
    int32_t id = fz_iceberg_metadata_order_id(metadata);
    const json_t *order = fz_iceberg_rules_find(member(metadata, "sort-orders"), "order-id", id);
    if (!order && id != 0) {
        return fz_err_set(err, FZ_CORRUPT, "table metadata has no sort order %d", id);
    }
    const json_t *fields = json_object_get(order, "fields");
    out->order_id = id;
    out->field_count = json_array_size(fields);
    out->fields = FZ_ARENA_ARRAY(arena, fz_sort_field, out->field_count);
    for (size_t i = 0; i < out->field_count; i++) {
        const json_t *field = json_array_get(fields, i);
        out->fields[i].source_id = (int32_t)fz_json_int_or(field, "source-id", 0);
        out->fields[i].transform = fz_transform_parse(fz_json_str_or(field, "transform"));
        out->fields[i].descending =
            fz_str_equal_nocase(fz_json_str_or(field, "direction"), FZ_STR("desc"));
        out->fields[i].nulls_last =
            fz_str_equal_nocase(fz_json_str_or(field, "null-order"), FZ_STR("nulls-last"));
    }
    return FZ_OK;
}

fz_str fz_iceberg_metadata_property(const fz_iceberg_metadata *metadata, const char *key) {
    return fz_json_view(json_object_get(member(metadata, "properties"), key));
}

int64_t fz_iceberg_metadata_property_int(const fz_iceberg_metadata *metadata, const char *key,
                                         int64_t fallback) {
    fz_str text = fz_str_trim(fz_iceberg_metadata_property(metadata, key));
    int64_t value = 0;
    size_t i = text.size > 0 && text.data[0] == '-' ? 1 : 0;
    bool negative = i == 1;
    if (i == text.size) {
        return fallback;
    }
    for (; i < text.size; i++) {
        int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return fallback;
        }
    }
    return negative ? -value : value;
}

int64_t fz_iceberg_metadata_ref_id(const fz_iceberg_metadata *metadata, const char *ref) {
    const json_t *found = json_object_get(member(metadata, "refs"), ref);
    if (found) {
        return fz_json_int_or(found, "snapshot-id", FZ_ICEBERG_NONE);
    }
    if (strcmp(ref, FZ_ICEBERG_MAIN) == 0) {
        return integer(metadata, "current-snapshot-id", FZ_ICEBERG_NONE);
    }
    return FZ_ICEBERG_NONE;
}

static void view_snapshot(const json_t *json, fz_iceberg_snapshot *out) {
    out->snapshot_id = fz_json_int_or(json, "snapshot-id", FZ_ICEBERG_NONE);
    out->parent_id = fz_json_int_or(json, "parent-snapshot-id", FZ_ICEBERG_NONE);
    out->sequence_number = fz_json_int_or(json, "sequence-number", 0);
    out->timestamp_ms = fz_json_int_or(json, "timestamp-ms", 0);
    out->manifest_list = fz_json_str_or(json, "manifest-list");
    out->schema_id = (int32_t)fz_json_int_or(json, "schema-id", FZ_ICEBERG_NONE);
    out->first_row_id = fz_json_int_or(json, "first-row-id", FZ_ICEBERG_NONE);
    out->json = json;
}

bool fz_iceberg_metadata_snapshot(const fz_iceberg_metadata *metadata, int64_t snapshot_id,
                                  fz_iceberg_snapshot *out) {
    const json_t *snapshots = member(metadata, "snapshots");
    // Newest last: what is asked for is nearly always there.
    for (size_t i = json_array_size(snapshots); i-- > 0;) {
        const json_t *json = json_array_get(snapshots, i);
        if (json_integer_value(json_object_get(json, "snapshot-id")) == snapshot_id) {
            view_snapshot(json, out);
            return true;
        }
    }
    return false;
}

bool fz_iceberg_metadata_main(const fz_iceberg_metadata *metadata, fz_iceberg_snapshot *out) {
    int64_t id = fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN);
    return id != FZ_ICEBERG_NONE && fz_iceberg_metadata_snapshot(metadata, id, out);
}

size_t fz_iceberg_metadata_snapshot_count(const fz_iceberg_metadata *metadata) {
    return json_array_size(member(metadata, "snapshots"));
}

void fz_iceberg_metadata_snapshot_at(const fz_iceberg_metadata *metadata, size_t index,
                                     fz_iceberg_snapshot *out) {
    view_snapshot(json_array_get(member(metadata, "snapshots"), index), out);
}

fz_str fz_iceberg_snapshot_summary(const fz_iceberg_snapshot *snapshot, const char *key) {
    return fz_json_view(json_object_get(json_object_get(snapshot->json, "summary"), key));
}

size_t fz_iceberg_metadata_log_count(const fz_iceberg_metadata *metadata) {
    return json_array_size(member(metadata, "metadata-log"));
}

fz_str fz_iceberg_metadata_log_at(const fz_iceberg_metadata *metadata, size_t index,
                                  int64_t *timestamp_ms) {
    const json_t *entry = json_array_get(member(metadata, "metadata-log"), index);
    if (timestamp_ms) {
        *timestamp_ms = fz_json_int_or(entry, "timestamp-ms", 0);
    }
    return fz_json_str_or(entry, "metadata-file");
}

int64_t fz_iceberg_metadata_time_ms(const fz_iceberg_metadata *metadata, int64_t now_ms) {
    const json_t *log = member(metadata, "snapshot-log");
    size_t count = json_array_size(log);
    int64_t last = fz_iceberg_metadata_last_updated_ms(metadata);
    if (count > 0) {
        int64_t logged = fz_json_int_or(json_array_get(log, count - 1), "timestamp-ms", 0);
        last = logged > last ? logged : last;
    }
    if (now_ms > last || last == INT64_MAX) {
        return now_ms > last ? now_ms : last;
    }
    return last + 1;
}

int64_t fz_iceberg_snapshot_id_new(const fz_iceberg_metadata *metadata) {
    fz_iceberg_snapshot found;
    int64_t id;
    do {
        id = (int64_t)(fz_rand_u64() & INT64_MAX);
    } while (id == 0 || (metadata && fz_iceberg_metadata_snapshot(metadata, id, &found)));
    return id;
}
