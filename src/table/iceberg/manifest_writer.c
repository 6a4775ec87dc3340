// SPDX-License-Identifier: Apache-2.0
// Writes manifests: entries as Avro, counts and partition summaries on the way.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "table/iceberg/manifest.h"
#include "table/iceberg/manifest_schema.h"
#include "table/iceberg/metadata_rules.h"

/** Least and greatest value of a partition field so far. */
typedef struct summary_state {
    bool contains_null;
    bool contains_nan;
    bool has_bounds;
    fz_value lower;
    fz_value upper;
    fz_buf lower_bytes; // what the bounds borrow
    fz_buf upper_bytes;
} summary_state;

struct fz_iceberg_manifest_writer {
    fz_arena arena;
    int version;
    int content;
    fz_partition_spec spec;
    fz_avro_writer *avro;
    fz_buf *out;
    size_t start; // of the manifest in `out`
    summary_state *summaries;
    fz_iceberg_manifest counts;
};

static fz_code put_text(json_t *metadata, const char *key, const json_t *value, fz_err *err) {
    fz_buf text = {0};
    fz_code code = fz_json_format(value, &text, err);
    if (code == FZ_OK) {
        fz_json_set_str(metadata, key, fz_buf_view(&text));
    }
    fz_buf_deinit(&text);
    return code;
}

static void put_number(json_t *metadata, const char *key, int64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    json_object_set_new(metadata, key, json_string(text));
}

static fz_code header(const fz_iceberg_manifest_writer *w, const json_t *schema, json_t *metadata,
                      fz_err *err) {
    json_t *fields = json_array();
    for (size_t i = 0; i < w->spec.field_count; i++) {
        json_array_append_new(fields, fz_iceberg_rules_partition_field(&w->spec.fields[i],
                                                                       w->spec.fields[i].field_id));
    }
    fz_code code = put_text(metadata, "schema", schema, err);
    if (code == FZ_OK) {
        code = put_text(metadata, "partition-spec", fields, err);
    }
    json_decref(fields);
    put_number(metadata, "schema-id", fz_json_int_or(schema, "schema-id", 0));
    put_number(metadata, "partition-spec-id", w->spec.spec_id);
    put_number(metadata, "format-version", w->version);
    fz_json_set_str(metadata, "content", w->content == 0 ? FZ_STR("data") : FZ_STR("deletes"));
    return code;
}

static fz_partition_spec copy_spec(fz_arena *arena, const fz_partition_spec *spec) {
    fz_partition_spec copy = *spec;
    copy.fields = FZ_ARENA_ARRAY(arena, fz_partition_field, spec->field_count);
    for (size_t i = 0; i < spec->field_count; i++) {
        copy.fields[i] = spec->fields[i];
        copy.fields[i].name = fz_arena_str(arena, spec->fields[i].name);
        copy.fields[i].transform_text = fz_arena_str(arena, spec->fields[i].transform_text);
        copy.fields[i].source_type = fz_type_copy(arena, &spec->fields[i].source_type);
        copy.fields[i].result_type = fz_type_copy(arena, &spec->fields[i].result_type);
    }
    return copy;
}

fz_code fz_iceberg_manifest_writer_new(int version, const json_t *schema,
                                       const fz_partition_spec *spec, int content, fz_buf *out,
                                       fz_iceberg_manifest_writer **writer, fz_err *err) {
    FZ_ASSERT(version == 2 || version == 3);
    fz_iceberg_manifest_writer *w = fz_calloc(1, sizeof(*w));
    w->version = version;
    w->content = content;
    w->out = out;
    w->start = out->size;
    w->spec = copy_spec(&w->arena, spec);
    w->summaries = FZ_ARENA_ARRAY(&w->arena, summary_state, spec->field_count);
    w->counts.sequence_number = FZ_ICEBERG_NONE;
    w->counts.min_sequence_number = FZ_ICEBERG_NONE;
    json_t *avro_schema = NULL;
    json_t *metadata = json_object();
    fz_code code = header(w, schema, metadata, err);
    if (code == FZ_OK) {
        code = fz_iceberg_manifest_schema(version, spec, &avro_schema, err);
    }
    if (code == FZ_OK) {
        code = fz_avro_writer_new(avro_schema, metadata, FZ_CODEC_DEFLATE, out, &w->avro, err);
    }
    json_decref(avro_schema);
    json_decref(metadata);
    if (code != FZ_OK) {
        fz_iceberg_manifest_writer_free(w);
        return code;
    }
    *writer = w;
    return FZ_OK;
}

void fz_iceberg_manifest_writer_free(fz_iceberg_manifest_writer *writer) {
    if (writer) {
        for (size_t i = 0; i < writer->spec.field_count; i++) {
            fz_buf_deinit(&writer->summaries[i].lower_bytes);
            fz_buf_deinit(&writer->summaries[i].upper_bytes);
        }
        fz_avro_writer_free(writer->avro);
        fz_arena_deinit(&writer->arena);
        fz_free(writer);
    }
}

static fz_avro_datum optional_long(int64_t value) {
    return value == FZ_ICEBERG_NONE ? fz_avro_datum_null() : fz_avro_datum_long(value);
}

static fz_avro_datum optional_bytes(fz_str bytes) {
    return bytes.data ? fz_avro_datum_bytes(bytes) : fz_avro_datum_null();
}

static fz_avro_datum pair(fz_arena *arena, int32_t id, fz_avro_datum value) {
    fz_avro_datum datum = fz_avro_datum_list(arena, FZ_AVRO_DATUM_RECORD, 2);
    datum.as.list.items[0] = fz_avro_datum_int(id);
    datum.as.list.items[1] = value;
    return datum;
}

static fz_avro_datum counts_datum(fz_arena *arena, const fz_iceberg_counts *counts) {
    if (!counts->present) {
        return fz_avro_datum_null();
    }
    fz_avro_datum datum = fz_avro_datum_list(arena, FZ_AVRO_DATUM_ARRAY, counts->count);
    for (size_t i = 0; i < counts->count; i++) {
        datum.as.list.items[i] = pair(arena, counts->ids[i], fz_avro_datum_long(counts->values[i]));
    }
    return datum;
}

static fz_avro_datum bounds_datum(fz_arena *arena, const fz_iceberg_bounds *bounds) {
    if (!bounds->present) {
        return fz_avro_datum_null();
    }
    fz_avro_datum datum = fz_avro_datum_list(arena, FZ_AVRO_DATUM_ARRAY, bounds->count);
    for (size_t i = 0; i < bounds->count; i++) {
        datum.as.list.items[i] =
            pair(arena, bounds->ids[i], fz_avro_datum_bytes(bounds->values[i]));
    }
    return datum;
}

static fz_avro_datum splits_datum(fz_arena *arena, const fz_iceberg_file *file) {
    if (file->split_count == 0) {
        return fz_avro_datum_null();
    }
    fz_avro_datum datum = fz_avro_datum_list(arena, FZ_AVRO_DATUM_ARRAY, file->split_count);
    for (size_t i = 0; i < file->split_count; i++) {
        datum.as.list.items[i] = fz_avro_datum_long(file->split_offsets[i]);
    }
    return datum;
}

static fz_avro_datum equality_datum(fz_arena *arena, const fz_iceberg_file *file) {
    if (file->equality_count == 0) {
        return fz_avro_datum_null();
    }
    fz_avro_datum datum = fz_avro_datum_list(arena, FZ_AVRO_DATUM_ARRAY, file->equality_count);
    for (size_t i = 0; i < file->equality_count; i++) {
        datum.as.list.items[i] = fz_avro_datum_int(file->equality_ids[i]);
    }
    return datum;
}

/** In the order of the schema (manifest_schema.c). */
static fz_avro_datum file_datum(const fz_iceberg_manifest_writer *w, fz_arena *arena,
                                const fz_iceberg_file *file) {
    fz_avro_datum datum =
        fz_avro_datum_list(arena, FZ_AVRO_DATUM_RECORD, w->version >= 3 ? 20 : 17);
    fz_avro_datum *at = datum.as.list.items;
    *at++ = fz_avro_datum_int((int32_t)file->content);
    *at++ = fz_avro_datum_string(file->path);
    *at++ = fz_avro_datum_string(file->format);
    fz_avro_datum tuple = fz_avro_datum_list(arena, FZ_AVRO_DATUM_RECORD, file->partition_count);
    for (size_t i = 0; i < file->partition_count; i++) {
        tuple.as.list.items[i] =
            fz_iceberg_partition_datum(&file->partition[i], &w->spec.fields[i].result_type, arena);
    }
    *at++ = tuple;
    *at++ = fz_avro_datum_long(file->record_count);
    *at++ = fz_avro_datum_long(file->file_size_bytes);
    *at++ = counts_datum(arena, &file->column_sizes);
    *at++ = counts_datum(arena, &file->value_counts);
    *at++ = counts_datum(arena, &file->null_counts);
    *at++ = counts_datum(arena, &file->nan_counts);
    *at++ = bounds_datum(arena, &file->lower_bounds);
    *at++ = bounds_datum(arena, &file->upper_bounds);
    *at++ = optional_bytes(file->key_metadata);
    *at++ = splits_datum(arena, file);
    *at++ = equality_datum(arena, file);
    *at++ = file->sort_order_id == FZ_ICEBERG_NONE ? fz_avro_datum_null()
                                                   : fz_avro_datum_int(file->sort_order_id);
    if (w->version >= 3) {
        *at++ = optional_long(file->first_row_id);
    }
    *at++ = file->referenced_data_file.data ? fz_avro_datum_string(file->referenced_data_file)
                                            : fz_avro_datum_null();
    if (w->version >= 3) {
        *at++ = optional_long(file->content_offset);
        *at++ = optional_long(file->content_size_bytes);
    }
    FZ_ASSERT(at == datum.as.list.items + datum.as.list.count);
    return datum;
}

static bool is_nan(const fz_value *value) {
    return (value->kind == FZ_TYPE_FLOAT && isnan(value->as.real32)) ||
           (value->kind == FZ_TYPE_DOUBLE && isnan(value->as.real64));
}

static bool has_bytes(const fz_value *value) {
    return value->kind == FZ_TYPE_STRING || value->kind == FZ_TYPE_BINARY ||
           value->kind == FZ_TYPE_FIXED || value->kind == FZ_TYPE_UUID;
}

static void keep_bound(fz_value *bound, fz_buf *bytes, const fz_value *value) {
    *bound = *value;
    if (has_bytes(value)) {
        fz_buf_reset(bytes);
        fz_buf_append_str(bytes, value->as.bytes);
        bound->as.bytes = fz_buf_view(bytes);
    }
}

static void summarize(summary_state *state, const fz_value *value) {
    if (value->is_null) {
        state->contains_null = true;
    } else if (is_nan(value)) {
        state->contains_nan = true;
    } else {
        // The order puts -0.0 before 0.0, so that neither can hide the other (spec, "Manifest
        // Lists", note 2).
        if (!state->has_bounds || fz_value_compare(value, &state->lower) < 0) {
            keep_bound(&state->lower, &state->lower_bytes, value);
        }
        if (!state->has_bounds || fz_value_compare(value, &state->upper) > 0) {
            keep_bound(&state->upper, &state->upper_bytes, value);
        }
        state->has_bounds = true;
    }
}

static fz_code check_entry(const fz_iceberg_manifest_writer *w, const fz_iceberg_entry *entry,
                           fz_err *err) {
    const fz_iceberg_file *file = &entry->file;
    if (file->spec_id != w->spec.spec_id || file->partition_count != w->spec.field_count) {
        return fz_err_set(
            err, FZ_INVALID,
            "file \"%.*s\" is of partition spec %d with %zu values, the manifest of %d with %zu",
            FZ_STR_ARGS(fz_str_slice(file->path, 0, 300)), file->spec_id, file->partition_count,
            w->spec.spec_id, w->spec.field_count);
    }
    if ((file->content == FZ_ICEBERG_DATA) != (w->content == 0)) {
        return fz_err_set(err, FZ_INVALID, "data and delete files cannot be in one manifest");
    }
    for (size_t i = 0; i < file->partition_count; i++) {
        if (!file->partition[i].is_null &&
            file->partition[i].kind != w->spec.fields[i].result_type.kind) {
            return fz_err_set(
                err, FZ_INVALID, "file \"%.*s\" has a value of another type for partition \"%.*s\"",
                FZ_STR_ARGS(fz_str_slice(file->path, 0, 300)), FZ_STR_ARGS(w->spec.fields[i].name));
        }
    }
    // Only what was added inherits its numbers (T155).
    if (entry->status != FZ_ICEBERG_ADDED &&
        (entry->sequence_number == FZ_ICEBERG_NONE ||
         entry->file_sequence_number == FZ_ICEBERG_NONE || entry->snapshot_id == FZ_ICEBERG_NONE)) {
        return fz_err_set(
            err, FZ_INVALID,
            "file \"%.*s\" was not added here and lacks its sequence numbers or snapshot",
            FZ_STR_ARGS(fz_str_slice(file->path, 0, 300)));
    }
    return FZ_OK;
}

static void count_entry(fz_iceberg_manifest_writer *w, const fz_iceberg_entry *entry) {
    int64_t rows = entry->file.record_count;
    switch (entry->status) {
    case FZ_ICEBERG_ADDED:
        w->counts.added_files++;
        (void)__builtin_add_overflow(w->counts.added_rows, rows, &w->counts.added_rows);
        break;
    case FZ_ICEBERG_EXISTING:
        w->counts.existing_files++;
        (void)__builtin_add_overflow(w->counts.existing_rows, rows, &w->counts.existing_rows);
        break;
    case FZ_ICEBERG_DELETED:
        w->counts.deleted_files++;
        (void)__builtin_add_overflow(w->counts.deleted_rows, rows, &w->counts.deleted_rows);
        break;
    }
    int64_t sequence = entry->sequence_number;
    if (entry->status != FZ_ICEBERG_DELETED && sequence != FZ_ICEBERG_NONE &&
        (w->counts.min_sequence_number == FZ_ICEBERG_NONE ||
         sequence < w->counts.min_sequence_number)) {
        w->counts.min_sequence_number = sequence;
    }
    for (size_t i = 0; i < entry->file.partition_count; i++) {
        summarize(&w->summaries[i], &entry->file.partition[i]);
    }
}

fz_code fz_iceberg_manifest_writer_append(fz_iceberg_manifest_writer *writer,
                                          const fz_iceberg_entry *entry, fz_err *err) {
    FZ_TRY(check_entry(writer, entry, err));
    fz_arena arena = {0};
    fz_avro_datum datum = fz_avro_datum_list(&arena, FZ_AVRO_DATUM_RECORD, 5);
    datum.as.list.items[0] = fz_avro_datum_int((int32_t)entry->status);
    datum.as.list.items[1] = optional_long(entry->snapshot_id);
    datum.as.list.items[2] = optional_long(entry->sequence_number);
    datum.as.list.items[3] = optional_long(entry->file_sequence_number);
    datum.as.list.items[4] = file_datum(writer, &arena, &entry->file);
    fz_code code = fz_avro_writer_append(writer->avro, &datum, err);
    fz_arena_deinit(&arena);
    if (code == FZ_OK) {
        count_entry(writer, entry);
    }
    return code;
}

static fz_str encode_bound(const fz_value *value, fz_arena *arena) {
    fz_buf bytes = {0};
    fz_value_encode(value, &bytes);
    fz_str copy = fz_arena_str(arena, fz_buf_view(&bytes));
    fz_buf_deinit(&bytes);
    return copy;
}

fz_code fz_iceberg_manifest_writer_finish(fz_iceberg_manifest_writer *writer, fz_arena *arena,
                                          fz_iceberg_manifest *out, fz_err *err) {
    FZ_TRY(fz_avro_writer_finish(writer->avro, err));
    *out = writer->counts;
    out->size_bytes = (int64_t)(writer->out->size - writer->start);
    out->spec_id = writer->spec.spec_id;
    out->content = writer->content;
    out->added_snapshot_id = FZ_ICEBERG_NONE;
    out->first_row_id = FZ_ICEBERG_NONE;
    out->partition_count = writer->spec.field_count;
    out->partitions = FZ_ARENA_ARRAY(arena, fz_iceberg_field_summary, out->partition_count);
    for (size_t i = 0; i < out->partition_count; i++) {
        const summary_state *state = &writer->summaries[i];
        out->partitions[i].contains_null = state->contains_null;
        out->partitions[i].contains_nan = state->contains_nan;
        if (state->has_bounds) {
            out->partitions[i].lower = encode_bound(&state->lower, arena);
            out->partitions[i].upper = encode_bound(&state->upper, arena);
        }
    }
    return FZ_OK;
}
