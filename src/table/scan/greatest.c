// SPDX-License-Identifier: Apache-2.0
// Greatest offsets by partition: from bounds where they are exact, else from the rows.
#include "table/scan/greatest.h"

#include "table/scan/prune.h"

#define MAX_DEPTH 8 // structs around a column

typedef struct search {
    const fz_field *partition;
    const fz_field *offset;
    const fz_field *topic; // NULL: every topic
    fz_str topic_name;
    int64_t *greatest;
    size_t count;
} search;

static fz_code find_column(const fz_schema *schema, fz_str path, bool text, const fz_field **out,
                           fz_err *err) {
    const fz_field *field = fz_schema_find_path(schema, path);
    if (!field) {
        return fz_err_set(err, FZ_NOT_FOUND, "the table has no column \"%.*s\"", FZ_STR_ARGS(path));
    }
    fz_type_kind kind = field->type.kind;
    if (text ? kind != FZ_TYPE_STRING : kind != FZ_TYPE_INT && kind != FZ_TYPE_LONG) {
        return fz_err_set(err, FZ_INVALID, "column \"%.*s\" is of type %s, want %s",
                          FZ_STR_ARGS(path), fz_type_kind_name(kind),
                          text ? "string" : "int or long");
    }
    *out = field;
    return FZ_OK;
}

static void note(search *s, int64_t partition, int64_t offset) {
    if (partition >= 0 && (uint64_t)partition < s->count && offset > s->greatest[partition]) {
        s->greatest[partition] = offset;
    }
}

// The file has one value of the field in all its rows.
static bool only_value(const fz_iceberg_file *file, const fz_field *field, fz_value *out) {
    fz_value upper;
    return fz_scan_count_of(&file->null_counts, field->id) == 0 &&
           fz_scan_bound_of(&file->lower_bounds, field->id, &field->type, out) &&
           fz_scan_bound_of(&file->upper_bounds, field->id, &field->type, &upper) &&
           fz_value_compare(out, &upper) == 0;
}

// Nothing in these partitions can be beyond what is known already.
static bool known_already(const search *s, const fz_iceberg_file *file, int64_t offset) {
    fz_value lower;
    fz_value upper;
    if (!fz_scan_bound_of(&file->lower_bounds, s->partition->id, &s->partition->type, &lower) ||
        !fz_scan_bound_of(&file->upper_bounds, s->partition->id, &s->partition->type, &upper)) {
        return false;
    }
    int64_t first = lower.as.integer > 0 ? lower.as.integer : 0;
    for (int64_t p = first; p <= upper.as.integer && (uint64_t)p < s->count; p++) {
        if (s->greatest[p] < offset) {
            return false;
        }
    }
    return true;
}

// For fz_scan: true when bounds told everything. Bounds of numbers are exact, those of text too
// when they are equal.
static bool skip(void *context, const fz_iceberg_entry *entry) {
    search *s = (search *)context;
    const fz_iceberg_file *file = &entry->file;
    fz_value partition;
    fz_value offset;
    fz_value topic;
    if (!fz_scan_bound_of(&file->upper_bounds, s->offset->id, &s->offset->type, &offset)) {
        return false;
    }
    if (known_already(s, file, offset.as.integer)) {
        return true;
    }
    if (!only_value(file, s->partition, &partition)) {
        return false;
    }
    if (s->topic) {
        if (!only_value(file, s->topic, &topic)) {
            return false;
        }
        if (!fz_str_equal(topic.as.bytes, s->topic_name)) {
            return true;
        }
    }
    note(s, partition.as.integer, offset.as.integer);
    return true;
}

// A column and the structs around it: under a null struct a required child is but a placeholder.
typedef struct place {
    const fz_column *column;
    const fz_column *parents[MAX_DEPTH];
    size_t depth;
} place;

static bool find_place(const fz_column *columns, size_t count, int32_t id, size_t depth,
                       place *out) {
    for (size_t i = 0; i < count; i++) {
        const fz_column *column = &columns[i];
        if (column->field->id == id) {
            out->column = column;
            out->depth = depth;
            return true;
        }
        if (column->field->type.kind == FZ_TYPE_STRUCT && depth < MAX_DEPTH &&
            find_place(column->children, column->child_count, id, depth + 1, out)) {
            out->parents[depth] = column;
            return true;
        }
    }
    return false;
}

static bool value_at(const place *at, int64_t row, fz_value *out) {
    for (size_t i = 0; i < at->depth; i++) {
        if (fz_column_is_null(at->parents[i], row)) {
            return false;
        }
    }
    fz_column_value(at->column, row, out);
    return !out->is_null;
}

static fz_code note_rows(search *s, const fz_batch *batch, fz_err *err) {
    const fz_field *fields[] = {s->partition, s->offset, s->topic};
    place places[3];
    size_t count = s->topic ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        if (!find_place(batch->columns, batch->column_count, fields[i]->id, 0, &places[i])) {
            return fz_err_set(err, FZ_INVALID, "column \"%.*s\" is inside a list or too deep",
                              FZ_STR_ARGS(fields[i]->name));
        }
    }
    for (int64_t row = 0; row < batch->rows; row++) {
        fz_value partition;
        fz_value offset;
        fz_value topic;
        if (!value_at(&places[0], row, &partition) || !value_at(&places[1], row, &offset)) {
            continue;
        }
        if (count == 3 &&
            (!value_at(&places[2], row, &topic) || !fz_str_equal(topic.as.bytes, s->topic_name))) {
            continue;
        }
        note(s, partition.as.integer, offset.as.integer);
    }
    return FZ_OK;
}

static fz_code scan_rows(fz_scan *scan, search *s, fz_err *err) {
    for (;;) {
        fz_batch *batch = NULL;
        FZ_TRY(fz_scan_next(scan, &batch, err));
        if (!batch) {
            return FZ_OK;
        }
        FZ_TRY(note_rows(s, batch, err));
    }
}

fz_code fz_scan_greatest(fz_scan_files files, fz_iceberg_metadata *metadata,
                         const fz_scan_greatest_options *options, int64_t *greatest, size_t count,
                         fz_err *err) {
    const fz_str columns[] = {options->partition, options->offset, options->topic};
    search s = {.topic_name = options->topic_name, .greatest = greatest, .count = count};
    const fz_scan_options scan_options = {.snapshot_id = options->snapshot_id,
                                          .columns = columns,
                                          .column_count = options->topic.size ? 3 : 2,
                                          .skip = skip,
                                          .context = &s,
                                          .budget = options->budget};
    fz_scan *scan = NULL;
    FZ_TRY(fz_scan_open(files, metadata, &scan_options, &scan, err));
    const fz_schema *schema = fz_scan_schema(scan);
    fz_code code = find_column(schema, options->partition, false, &s.partition, err);
    if (code == FZ_OK) {
        code = find_column(schema, options->offset, false, &s.offset, err);
    }
    if (code == FZ_OK && options->topic.size) {
        code = find_column(schema, options->topic, true, &s.topic, err);
    }
    if (code == FZ_OK) {
        for (size_t i = 0; i < count; i++) {
            greatest[i] = -1;
        }
        code = scan_rows(scan, &s, err);
    }
    fz_scan_free(scan);
    return code;
}
