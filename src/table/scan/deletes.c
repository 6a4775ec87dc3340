// SPDX-License-Identifier: Apache-2.0
// Applying position delete files and deletion vectors.
#include "table/scan/deletes.h"

#include "base/vec.h"
#include "table/scan/prune.h"
#include "table/scan/source.h"

#define ID_FILE_PATH 2147483546 // spec, Reserved Field IDs
#define ID_POS 2147483545
#define BATCH_ROWS 8192
#define VECTOR_MAX (INT64_C(1) << 31) // bytes of one deletion vector

// What matters of a delete file.
typedef struct delete_file {
    fz_iceberg_file file;
    int64_t sequence_number;
    bool vector;
    bool has_range; // of the paths in it
    fz_str first_path;
    fz_str last_path;
} delete_file;

struct fz_scan_deletes {
    fz_scan_files files;
    fz_budget *budget;
    fz_arena arena;
    fz_schema *schema; // of position delete files
    FZ_VEC(delete_file) list;
};

static fz_schema *make_schema(void) {
    fz_schema *schema = fz_schema_new();
    fz_field *fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 2);
    fields[0] = (fz_field){.id = ID_FILE_PATH,
                           .required = true,
                           .name = FZ_STR("file_path"),
                           .type = {.kind = FZ_TYPE_STRING}};
    fields[1] = (fz_field){
        .id = ID_POS, .required = true, .name = FZ_STR("pos"), .type = {.kind = FZ_TYPE_LONG}};
    schema->root.fields = fields;
    schema->root.field_count = 2;
    fz_schema_finish(schema);
    return schema;
}

fz_scan_deletes *fz_scan_deletes_new(fz_scan_files files, fz_budget *budget) {
    fz_scan_deletes *deletes = (fz_scan_deletes *)fz_calloc(1, sizeof(*deletes));
    deletes->files = files;
    deletes->budget = budget;
    deletes->schema = make_schema();
    return deletes;
}

void fz_scan_deletes_free(fz_scan_deletes *deletes) {
    if (deletes) {
        fz_schema_unref(deletes->schema);
        fz_vec_deinit(&deletes->list);
        fz_arena_deinit(&deletes->arena);
        fz_free(deletes);
    }
}

static fz_str copy(fz_arena *arena, fz_str text) {
    return text.data ? fz_arena_str(arena, text) : text;
}

static fz_value *copy_tuple(fz_arena *arena, const fz_value *values, size_t count) {
    fz_value *copied = FZ_ARENA_ARRAY(arena, fz_value, count);
    for (size_t i = 0; i < count; i++) {
        copied[i] = values[i];
        switch (values[i].kind) {
        case FZ_TYPE_STRING:
        case FZ_TYPE_BINARY:
        case FZ_TYPE_FIXED:
        case FZ_TYPE_UUID:
            if (!values[i].is_null) {
                copied[i].as.bytes = fz_arena_str(arena, values[i].as.bytes);
            }
            break;
        default:
            break;
        }
    }
    return copied;
}

fz_code fz_scan_deletes_add(fz_scan_deletes *deletes, const fz_iceberg_entry *entry, fz_err *err) {
    const fz_iceberg_file *from = &entry->file;
    fz_arena *arena = &deletes->arena;
    if (from->content != FZ_ICEBERG_POSITION_DELETES) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "rows deleted by equality are not read: delete file \"%.*s\"",
                          FZ_STR_ARGS(from->path));
    }
    delete_file found = {.sequence_number = entry->sequence_number};
    found.file.path = copy(arena, from->path);
    found.file.format = copy(arena, from->format);
    found.file.spec_id = from->spec_id;
    found.file.partition = copy_tuple(arena, from->partition, from->partition_count);
    found.file.partition_count = from->partition_count;
    found.file.record_count = from->record_count;
    found.file.file_size_bytes = from->file_size_bytes;
    found.file.key_metadata = copy(arena, from->key_metadata);
    found.file.referenced_data_file = copy(arena, from->referenced_data_file);
    found.file.content_offset = from->content_offset;
    found.file.content_size_bytes = from->content_size_bytes;
    found.vector = fz_str_equal_nocase(from->format, FZ_STR("PUFFIN"));
    const fz_type text = {.kind = FZ_TYPE_STRING};
    fz_value first;
    fz_value last;
    if (fz_scan_bound_of(&from->lower_bounds, ID_FILE_PATH, &text, &first) &&
        fz_scan_bound_of(&from->upper_bounds, ID_FILE_PATH, &text, &last)) {
        found.has_range = true;
        found.first_path = fz_arena_str(arena, first.as.bytes);
        found.last_path = fz_arena_str(arena, last.as.bytes);
    }
    fz_vec_push(&deletes->list, found);
    return FZ_OK;
}

static bool same_partition(const fz_iceberg_file *a, const fz_iceberg_file *b) {
    if (a->spec_id != b->spec_id || a->partition_count != b->partition_count) {
        return false;
    }
    for (size_t i = 0; i < a->partition_count; i++) {
        const fz_value *x = &a->partition[i];
        const fz_value *y = &b->partition[i];
        if (x->is_null != y->is_null || x->kind != y->kind ||
            (!x->is_null && fz_value_compare(x, y) != 0)) {
            return false;
        }
    }
    return true;
}

static bool applies(const delete_file *file, const fz_iceberg_entry *data) {
    fz_str path = data->file.path;
    if (file->file.referenced_data_file.data) {
        if (!fz_str_equal(file->file.referenced_data_file, path)) {
            return false;
        }
    } else if (file->vector || !same_partition(&file->file, &data->file)) {
        return false;
    }
    if (file->has_range &&
        (fz_str_compare(path, file->first_path) < 0 || fz_str_compare(path, file->last_path) > 0)) {
        return false;
    }
    return file->sequence_number >= data->sequence_number; // those of the same commit too
}

static fz_code read_vector(const fz_scan_deletes *deletes, const delete_file *file,
                           fz_scan_positions *out, fz_err *err) {
    int64_t at = file->file.content_offset;
    int64_t size = file->file.content_size_bytes;
    if (at < 0 || size < 0 || size > VECTOR_MAX) {
        return fz_err_set(err, FZ_CORRUPT, "deletion vector of %lld bytes at %lld", (long long)size,
                          (long long)at);
    }
    fz_store *store = NULL;
    fz_str key;
    fz_buf blob;
    FZ_TRY(deletes->files.find(deletes->files.context, file->file.path, &store, &key, err));
    fz_buf_init(&blob, 0, deletes->budget);
    fz_code code = fz_store_read_exact(store, key, at, (size_t)size, &blob, err);
    if (code == FZ_OK) {
        code = fz_scan_positions_add_vector(out, fz_buf_view(&blob), file->file.record_count, err);
    }
    fz_buf_deinit(&blob);
    return code;
}

static fz_code add_rows(const fz_batch *batch, fz_str path, fz_scan_positions *out, fz_err *err) {
    const int64_t *positions = (const int64_t *)batch->columns[1].values;
    for (int64_t row = 0; row < batch->rows; row++) {
        if (fz_str_equal(fz_column_bytes(&batch->columns[0], row), path)) {
            FZ_TRY(fz_scan_positions_add(out, positions[row], err));
        }
    }
    return FZ_OK;
}

static fz_code read_rows(fz_parquet_reader *reader, fz_batch *batch, fz_str path,
                         fz_scan_positions *out, fz_err *err) {
    FZ_TRY(fz_parquet_reader_project(reader, batch->schema, err));
    if (!fz_parquet_reader_has(reader, ID_FILE_PATH) || !fz_parquet_reader_has(reader, ID_POS)) {
        return fz_err_set(err, FZ_CORRUPT, "no columns \"file_path\" and \"pos\"");
    }
    for (;;) {
        int64_t rows = 0;
        fz_batch_reset(batch);
        FZ_TRY(fz_parquet_reader_next(reader, batch, BATCH_ROWS, &rows, err));
        if (rows == 0) {
            return FZ_OK;
        }
        FZ_TRY(add_rows(batch, path, out, err));
    }
}

static fz_code read_positions(const fz_scan_deletes *deletes, const delete_file *file, fz_str path,
                              fz_scan_positions *out, fz_err *err) {
    fz_scan_source source = {0};
    fz_parquet_reader *reader = NULL;
    FZ_TRY(fz_scan_source_open(&source, deletes->files, NULL, &file->file, deletes->budget, &reader,
                               err));
    fz_batch *batch = fz_batch_new(deletes->schema, deletes->budget);
    fz_code code = read_rows(reader, batch, path, out, err);
    fz_batch_free(batch);
    fz_parquet_reader_free(reader);
    return code;
}

fz_code fz_scan_deletes_read(const fz_scan_deletes *deletes, const fz_iceberg_entry *data,
                             fz_scan_positions *out, fz_err *err) {
    bool vector = false; // holds all that older position deletes say
    for (size_t i = 0; i < deletes->list.count; i++) {
        vector |= deletes->list.data[i].vector && applies(&deletes->list.data[i], data);
    }
    for (size_t i = 0; i < deletes->list.count; i++) {
        const delete_file *file = &deletes->list.data[i];
        if (file->vector != vector || !applies(file, data)) {
            continue;
        }
        fz_code code = FZ_OK;
        if (!out->bits) {
            code = fz_scan_positions_init(out, data->file.record_count, deletes->budget, err);
        }
        if (code == FZ_OK) {
            code = vector ? read_vector(deletes, file, out, err)
                          : read_positions(deletes, file, data->file.path, out, err);
        }
        if (code != FZ_OK) {
            fz_scan_positions_deinit(out);
            return fz_err_prepend(err, "delete file \"%.*s\"", FZ_STR_ARGS(file->file.path));
        }
    }
    return FZ_OK;
}
