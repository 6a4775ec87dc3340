// SPDX-License-Identifier: Apache-2.0
// Filling in columns that a file does not have.
#include "table/scan/fill.h"

#include "base/vec.h"
#include "data/json_value.h"

typedef struct gap_of_file {
    fz_column *column;
    const fz_column *parent; // struct whose nulls the column shares, NULL: none
    bool has_value;
    fz_value value; // bytes are the file's
    json_t *json;   // else
} gap_of_file;

struct fz_scan_fill {
    FZ_VEC(gap_of_file) gaps;
    fz_arena arena; // of the spec
    fz_partition_spec spec;
};

// The partition value of a column, brought to the column's type.
static bool partition_value(const fz_scan_fill *fill, const fz_iceberg_file *file,
                            const fz_field *field, fz_value *out) {
    for (size_t i = 0; i < fill->spec.field_count && i < file->partition_count; i++) {
        const fz_partition_field *part = &fill->spec.fields[i];
        if (part->source_id != field->id || part->transform.kind != FZ_TRANSFORM_IDENTITY) {
            continue;
        }
        fz_value value = file->partition[i];
        if (value.kind == FZ_TYPE_INT && field->type.kind == FZ_TYPE_LONG) {
            value.kind = FZ_TYPE_LONG;
        } else if (value.kind == FZ_TYPE_FLOAT && field->type.kind == FZ_TYPE_DOUBLE) {
            double wide = (double)value.as.real32;
            value.as.real64 = wide;
            value.kind = FZ_TYPE_DOUBLE;
        }
        bool fits = value.kind == field->type.kind;
        if (fits && !value.is_null && field->type.kind == FZ_TYPE_FIXED) {
            fits = value.as.bytes.size == (size_t)field->type.length;
        }
        if (fits) {
            *out = value;
        }
        return fits;
    }
    return false;
}

static fz_code add_gap(fz_scan_fill *fill, const fz_iceberg_file *file, fz_column *column,
                       const fz_column *parent, fz_err *err) {
    const fz_field *field = column->field;
    gap_of_file found = {.column = column, .parent = parent};
    found.has_value = partition_value(fill, file, field, &found.value);
    if (!found.has_value && field->initial_default.size) {
        fz_code code = fz_json_parse(field->initial_default, &found.json, err);
        if (code != FZ_OK) {
            return fz_err_prepend(err, "initial default of column \"%.*s\"",
                                  FZ_STR_ARGS(field->name));
        }
    }
    bool null = found.has_value ? found.value.is_null : !found.json;
    if (null) {
        json_decref(found.json);
        if (field->required) {
            return fz_err_set(err, FZ_CORRUPT,
                              "it lacks the required column \"%.*s\" (id %d), which has no default",
                              FZ_STR_ARGS(field->name), field->id);
        }
        return FZ_OK; // the reader has put nulls there
    }
    fz_vec_push(&fill->gaps, found);
    return FZ_OK;
}

static fz_code find_gaps(fz_scan_fill *fill, const fz_iceberg_file *file,
                         const fz_parquet_reader *reader, fz_column *columns, size_t count,
                         const fz_column *parent, fz_err *err) {
    for (size_t i = 0; i < count; i++) {
        fz_column *column = &columns[i];
        if (!fz_parquet_reader_has(reader, column->field->id)) {
            FZ_TRY(add_gap(fill, file, column, parent, err));
        } else {
            bool is_struct = column->field->type.kind == FZ_TYPE_STRUCT;
            FZ_TRY(find_gaps(fill, file, reader, column->children, column->child_count,
                             is_struct ? column : NULL, err));
        }
    }
    return FZ_OK;
}

fz_code fz_scan_fill_new(const fz_iceberg_metadata *metadata, const fz_iceberg_file *file,
                         const fz_parquet_reader *reader, fz_batch *batch, fz_scan_fill **out,
                         fz_err *err) {
    fz_scan_fill *fill = (fz_scan_fill *)fz_calloc(1, sizeof(*fill));
    fz_code code =
        fz_iceberg_metadata_spec(metadata, file->spec_id, NULL, &fill->arena, &fill->spec, err);
    if (code == FZ_OK) {
        code = find_gaps(fill, file, reader, batch->columns, batch->column_count, NULL, err);
    }
    if (code != FZ_OK) {
        fz_scan_fill_free(fill);
        return code;
    }
    *out = fill;
    return FZ_OK;
}

void fz_scan_fill_free(fz_scan_fill *fill) {
    if (!fill) {
        return;
    }
    for (size_t i = 0; i < fill->gaps.count; i++) {
        json_decref(fill->gaps.data[i].json);
    }
    fz_vec_deinit(&fill->gaps);
    fz_arena_deinit(&fill->arena);
    fz_free(fill);
}

static fz_code fill_gap(const gap_of_file *gap, fz_err *err) {
    fz_column *column = gap->column;
    int64_t count = column->length;
    fz_column_truncate(column, 0);
    for (int64_t i = 0; i < count; i++) {
        if (gap->parent && fz_column_is_null(gap->parent, i)) {
            FZ_TRY(fz_column_append_null(column, err));
        } else if (gap->has_value) {
            FZ_TRY(fz_column_append_value(column, &gap->value, err));
        } else {
            FZ_TRY(fz_column_append_json(column, gap->json, err));
        }
    }
    return FZ_OK;
}

fz_code fz_scan_fill_rows(fz_scan_fill *fill, fz_batch *batch, fz_err *err) {
    for (size_t i = 0; i < fill->gaps.count; i++) {
        const gap_of_file *gap = &fill->gaps.data[i];
        fz_code code = fill_gap(gap, err);
        if (code != FZ_OK) {
            fz_batch_reset(batch);
            return fz_err_prepend(err, "column \"%.*s\"", FZ_STR_ARGS(gap->column->field->name));
        }
    }
    return FZ_OK;
}
