// SPDX-License-Identifier: Apache-2.0
// Reads manifests of versions 1 to 3 by field id; numbers are inherited from the manifest list.
#include "base/memory.h"
#include "table/iceberg/manifest.h"
#include "table/iceberg/manifest_schema.h"

struct fz_iceberg_manifest_reader {
    fz_arena arena;
    fz_avro_container *container;
    fz_partition_spec spec; // types and ids only
    int64_t version;
    int64_t sequence_number;
    int64_t snapshot_id;
    int64_t next_row_id; // FZ_ICEBERG_NONE: none are given
};

static int64_t header_number(const fz_avro_container *container, fz_str key, int64_t fallback) {
    fz_str text;
    if (!fz_avro_container_find(container, key, &text) || text.size == 0 || text.size > 9) {
        return fallback;
    }
    int64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return fallback;
        }
        value = value * 10 + (text.data[i] - '0');
    }
    return value;
}

fz_code fz_iceberg_manifest_reader_open(fz_str bytes, const fz_iceberg_manifest *manifest,
                                        const fz_partition_spec *spec,
                                        fz_iceberg_manifest_reader **out, fz_err *err) {
    fz_avro_container *container;
    FZ_TRY(fz_avro_container_open(bytes, NULL, &container, err));
    fz_iceberg_manifest_reader *r = fz_calloc(1, sizeof(*r));
    r->container = container;
    r->spec = *spec;
    r->spec.fields = FZ_ARENA_ARRAY(&r->arena, fz_partition_field, spec->field_count);
    for (size_t i = 0; i < spec->field_count; i++) {
        r->spec.fields[i].field_id = spec->fields[i].field_id;
        r->spec.fields[i].name = fz_arena_str(&r->arena, spec->fields[i].name);
        r->spec.fields[i].result_type = fz_type_copy(&r->arena, &spec->fields[i].result_type);
    }
    r->version = header_number(container, FZ_STR("format-version"), 1);
    r->sequence_number = manifest->sequence_number;
    r->snapshot_id = manifest->added_snapshot_id;
    r->next_row_id = manifest->content == 0 ? manifest->first_row_id : FZ_ICEBERG_NONE;
    *out = r;
    return FZ_OK;
}

void fz_iceberg_manifest_reader_free(fz_iceberg_manifest_reader *reader) {
    if (reader) {
        fz_avro_container_free(reader->container);
        fz_arena_deinit(&reader->arena);
        fz_free(reader);
    }
}

static bool is_integer(const fz_avro_datum *datum) {
    return datum && (datum->kind == FZ_AVRO_DATUM_INT || datum->kind == FZ_AVRO_DATUM_LONG);
}

static int64_t long_or(const fz_avro_datum *record, int32_t id, const char *name,
                       int64_t fallback) {
    const fz_avro_datum *datum = fz_avro_datum_find(record, id, name);
    return is_integer(datum) ? datum->as.integer : fallback;
}

static fz_str bytes_or_none(const fz_avro_datum *record, int32_t id, const char *name,
                            fz_arena *arena) {
    const fz_avro_datum *datum = fz_avro_datum_find(record, id, name);
    if (datum && (datum->kind == FZ_AVRO_DATUM_STRING || datum->kind == FZ_AVRO_DATUM_BYTES)) {
        return fz_arena_str(arena, datum->as.bytes);
    }
    return (fz_str){0};
}

static const fz_avro_datum *list_or_none(const fz_avro_datum *record, int32_t id,
                                         const char *name) {
    const fz_avro_datum *datum = fz_avro_datum_find(record, id, name);
    return datum && datum->kind == FZ_AVRO_DATUM_ARRAY ? datum : NULL;
}

/** Key and value of a pair in a map with int keys; false if it is none. */
static bool pair_of(const fz_avro_datum *item, int32_t *key, const fz_avro_datum **value) {
    if (item->kind != FZ_AVRO_DATUM_RECORD || item->as.list.count != 2 ||
        !is_integer(&item->as.list.items[0])) {
        return false;
    }
    *key = (int32_t)item->as.list.items[0].as.integer;
    *value = &item->as.list.items[1];
    return true;
}

static void read_counts(const fz_avro_datum *file, int32_t id, const char *name, fz_arena *arena,
                        fz_iceberg_counts *out) {
    const fz_avro_datum *list = list_or_none(file, id, name);
    if (!list) {
        return;
    }
    out->present = true;
    out->ids = FZ_ARENA_ARRAY(arena, int32_t, list->as.list.count);
    out->values = FZ_ARENA_ARRAY(arena, int64_t, list->as.list.count);
    for (size_t i = 0; i < list->as.list.count; i++) {
        const fz_avro_datum *value;
        if (pair_of(&list->as.list.items[i], &out->ids[out->count], &value) && is_integer(value)) {
            out->values[out->count++] = value->as.integer;
        }
    }
}

static void read_bounds(const fz_avro_datum *file, int32_t id, const char *name, fz_arena *arena,
                        fz_iceberg_bounds *out) {
    const fz_avro_datum *list = list_or_none(file, id, name);
    if (!list) {
        return;
    }
    out->present = true;
    out->ids = FZ_ARENA_ARRAY(arena, int32_t, list->as.list.count);
    out->values = FZ_ARENA_ARRAY(arena, fz_str, list->as.list.count);
    for (size_t i = 0; i < list->as.list.count; i++) {
        const fz_avro_datum *value;
        if (pair_of(&list->as.list.items[i], &out->ids[out->count], &value) &&
            value->kind == FZ_AVRO_DATUM_BYTES) {
            out->values[out->count++] = fz_arena_str(arena, value->as.bytes);
        }
    }
}

static fz_code read_partition(const fz_iceberg_manifest_reader *r, const fz_avro_datum *file,
                              fz_arena *arena, fz_iceberg_file *out, fz_err *err) {
    const fz_avro_datum *tuple = fz_avro_datum_find(file, FZ_ICEBERG_ID_PARTITION, "partition");
    if (!tuple || tuple->kind != FZ_AVRO_DATUM_RECORD) {
        return fz_err_set(err, FZ_CORRUPT, "manifest entry has no partition tuple");
    }
    out->spec_id = r->spec.spec_id;
    out->partition_count = r->spec.field_count;
    out->partition = FZ_ARENA_ARRAY(arena, fz_value, out->partition_count);
    for (size_t i = 0; i < out->partition_count; i++) {
        const fz_partition_field *field = &r->spec.fields[i];
        const fz_avro_datum *datum = fz_avro_datum_find(tuple, field->field_id, NULL);
        if (!datum && tuple->as.list.count > i && tuple->node->fields[i].field_id < 0) {
            datum = &tuple->as.list.items[i]; // written without ids: by place
        }
        const fz_avro_datum none = fz_avro_datum_null();
        fz_code code = fz_iceberg_partition_value(datum ? datum : &none, &field->result_type,
                                                  &out->partition[i], err);
        if (code != FZ_OK) {
            return fz_err_prepend(err, "partition \"%.*s\"", FZ_STR_ARGS(field->name));
        }
        fz_type_kind kind = field->result_type.kind;
        if (!out->partition[i].is_null && (kind == FZ_TYPE_STRING || kind == FZ_TYPE_BINARY ||
                                           kind == FZ_TYPE_FIXED || kind == FZ_TYPE_UUID)) {
            out->partition[i].as.bytes = fz_arena_str(arena, out->partition[i].as.bytes);
        }
    }
    return FZ_OK;
}

static void read_lists(const fz_avro_datum *file, fz_arena *arena, fz_iceberg_file *out) {
    const fz_avro_datum *splits = list_or_none(file, FZ_ICEBERG_ID_SPLITS, "split_offsets");
    out->split_count = splits ? splits->as.list.count : 0;
    out->split_offsets = FZ_ARENA_ARRAY(arena, int64_t, out->split_count);
    for (size_t i = 0; i < out->split_count; i++) {
        out->split_offsets[i] =
            is_integer(&splits->as.list.items[i]) ? splits->as.list.items[i].as.integer : 0;
    }
    const fz_avro_datum *ids = list_or_none(file, FZ_ICEBERG_ID_EQUALITY, "equality_ids");
    out->equality_count = ids ? ids->as.list.count : 0;
    out->equality_ids = FZ_ARENA_ARRAY(arena, int32_t, out->equality_count);
    for (size_t i = 0; i < out->equality_count; i++) {
        out->equality_ids[i] =
            is_integer(&ids->as.list.items[i]) ? (int32_t)ids->as.list.items[i].as.integer : 0;
    }
}

static fz_code read_file(const fz_iceberg_manifest_reader *r, const fz_avro_datum *file,
                         fz_arena *arena, fz_iceberg_file *out, fz_err *err) {
    *out = (fz_iceberg_file){0};
    int64_t content = long_or(file, FZ_ICEBERG_ID_CONTENT, "content", 0);
    out->path = bytes_or_none(file, FZ_ICEBERG_ID_PATH, "file_path", arena);
    out->format = bytes_or_none(file, FZ_ICEBERG_ID_FORMAT, "file_format", arena);
    out->record_count = long_or(file, FZ_ICEBERG_ID_RECORD_COUNT, "record_count", -1);
    out->file_size_bytes = long_or(file, FZ_ICEBERG_ID_SIZE, "file_size_in_bytes", -1);
    if (content < 0 || content > 2 || out->path.size == 0 || out->record_count < 0 ||
        out->file_size_bytes < 0) {
        return fz_err_set(err, FZ_CORRUPT,
                          "manifest entry \"%.*s\" has content %lld, %lld rows, %lld bytes",
                          FZ_STR_ARGS(fz_str_slice(out->path, 0, 300)), (long long)content,
                          (long long)out->record_count, (long long)out->file_size_bytes);
    }
    out->content = (fz_iceberg_content)content;
    FZ_TRY(read_partition(r, file, arena, out, err));
    read_counts(file, FZ_ICEBERG_ID_COLUMN_SIZES, "column_sizes", arena, &out->column_sizes);
    read_counts(file, FZ_ICEBERG_ID_VALUE_COUNTS, "value_counts", arena, &out->value_counts);
    read_counts(file, FZ_ICEBERG_ID_NULL_COUNTS, "null_value_counts", arena, &out->null_counts);
    read_counts(file, FZ_ICEBERG_ID_NAN_COUNTS, "nan_value_counts", arena, &out->nan_counts);
    read_bounds(file, FZ_ICEBERG_ID_LOWER, "lower_bounds", arena, &out->lower_bounds);
    read_bounds(file, FZ_ICEBERG_ID_UPPER, "upper_bounds", arena, &out->upper_bounds);
    read_lists(file, arena, out);
    out->key_metadata = bytes_or_none(file, FZ_ICEBERG_ID_KEY_METADATA, "key_metadata", arena);
    out->sort_order_id =
        (int32_t)long_or(file, FZ_ICEBERG_ID_SORT_ORDER, "sort_order_id", FZ_ICEBERG_NONE);
    out->first_row_id = long_or(file, FZ_ICEBERG_ID_FIRST_ROW, "first_row_id", FZ_ICEBERG_NONE);
    out->referenced_data_file =
        bytes_or_none(file, FZ_ICEBERG_ID_REFERENCED, "referenced_data_file", arena);
    out->content_offset =
        long_or(file, FZ_ICEBERG_ID_CONTENT_OFFSET, "content_offset", FZ_ICEBERG_NONE);
    out->content_size_bytes =
        long_or(file, FZ_ICEBERG_ID_CONTENT_SIZE, "content_size_in_bytes", FZ_ICEBERG_NONE);
    return FZ_OK;
}

static void inherit(fz_iceberg_manifest_reader *r, fz_iceberg_entry *entry) {
    if (entry->snapshot_id == FZ_ICEBERG_NONE) {
        entry->snapshot_id = r->snapshot_id;
    }
    if (r->version < 2) {
        entry->sequence_number = 0;
        entry->file_sequence_number = 0;
    }
    bool inherits = entry->status == FZ_ICEBERG_ADDED || r->sequence_number == 0;
    if (entry->sequence_number == FZ_ICEBERG_NONE && inherits) {
        entry->sequence_number = r->sequence_number;
    }
    if (entry->file_sequence_number == FZ_ICEBERG_NONE && inherits) {
        entry->file_sequence_number = r->sequence_number;
    }
    // formats.md 1.13: files without an id share out the manifest's, in order.
    if (r->next_row_id != FZ_ICEBERG_NONE && entry->file.first_row_id == FZ_ICEBERG_NONE &&
        entry->status != FZ_ICEBERG_DELETED) {
        entry->file.first_row_id = r->next_row_id;
        if (__builtin_add_overflow(r->next_row_id, entry->file.record_count, &r->next_row_id)) {
            r->next_row_id = FZ_ICEBERG_NONE;
        }
    }
}

fz_code fz_iceberg_manifest_reader_next(fz_iceberg_manifest_reader *reader, fz_arena *arena,
                                        fz_iceberg_entry *out, bool *found, fz_err *err) {
    fz_arena scratch = {0};
    fz_avro_datum *record = NULL;
    fz_iceberg_entry entry = {0};
    fz_code code = fz_avro_container_next(reader->container, &scratch, &record, err);
    if (code == FZ_OK && record) {
        const fz_avro_datum *file =
            fz_avro_datum_find(record, FZ_ICEBERG_ID_DATA_FILE, "data_file");
        int64_t status = long_or(record, FZ_ICEBERG_ID_STATUS, "status", -1);
        if (!file || file->kind != FZ_AVRO_DATUM_RECORD || status < 0 || status > 2) {
            code = fz_err_set(err, FZ_CORRUPT, "manifest entry has no data file or status %lld",
                              (long long)status);
        } else {
            entry.status = (fz_iceberg_status)status;
            entry.snapshot_id =
                long_or(record, FZ_ICEBERG_ID_SNAPSHOT, "snapshot_id", FZ_ICEBERG_NONE);
            entry.sequence_number =
                long_or(record, FZ_ICEBERG_ID_SEQUENCE, "sequence_number", FZ_ICEBERG_NONE);
            entry.file_sequence_number = long_or(record, FZ_ICEBERG_ID_FILE_SEQUENCE,
                                                 "file_sequence_number", FZ_ICEBERG_NONE);
            code = read_file(reader, file, arena, &entry.file, err);
        }
    }
    fz_arena_deinit(&scratch);
    if (code != FZ_OK) {
        return code;
    }
    *found = record != NULL;
    if (record) {
        inherit(reader, &entry);
        *out = entry;
    }
    return FZ_OK;
}
