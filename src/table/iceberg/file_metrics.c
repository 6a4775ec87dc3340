// SPDX-License-Identifier: Apache-2.0
// Turns what a writer counted into a data file's metrics, by the table's metrics modes.
#include "table/iceberg/append.h"

/** Java's METRICS_MAX_INFERRED_COLUMN_DEFAULTS and DEFAULT_WRITE_METRICS_MODE. */
enum { MAX_INFERRED_DEFAULT = 100, TRUNCATE_DEFAULT = 16 };

typedef enum mode_kind { MODE_NONE, MODE_COUNTS, MODE_TRUNCATE, MODE_FULL } mode_kind;

typedef struct metrics_mode {
    mode_kind kind;
    size_t width; // TRUNCATE
} metrics_mode;

static bool parse_mode(fz_str text, metrics_mode *out) {
    text = fz_str_trim(text);
    if (fz_str_equal_nocase(text, FZ_STR("none"))) {
        *out = (metrics_mode){MODE_NONE, 0};
    } else if (fz_str_equal_nocase(text, FZ_STR("counts"))) {
        *out = (metrics_mode){MODE_COUNTS, 0};
    } else if (fz_str_equal_nocase(text, FZ_STR("full"))) {
        *out = (metrics_mode){MODE_FULL, 0};
    } else {
        fz_str head = FZ_STR("truncate(");
        if (text.size < head.size + 2 ||
            !fz_str_equal_nocase(fz_str_slice(text, 0, head.size), head) ||
            text.data[text.size - 1] != ')') {
            return false;
        }
        size_t width = 0;
        for (size_t i = head.size; i < text.size - 1; i++) {
            if (text.data[i] < '0' || text.data[i] > '9' || width > 1000000) {
                return false;
            }
            width = width * 10 + (size_t)(text.data[i] - '0');
        }
        *out = (metrics_mode){MODE_TRUNCATE, width};
        return width > 0;
    }
    return true;
}

typedef struct mode_source {
    const fz_iceberg_metadata *metadata;
    const fz_schema *schema;
    metrics_mode fallback;
    bool explicit_fallback; // then the limit of columns does not count
    int64_t max_inferred;
    bool has_columns; // some write.metadata.metrics.column.* is set
    fz_arena arena;
    fz_sort_order order;
} mode_source;

static bool is_sorted_by(const mode_source *source, int32_t field_id) {
    for (size_t i = 0; i < source->order.field_count; i++) {
        if (source->order.fields[i].source_id == field_id) {
            return true;
        }
    }
    return false;
}

static metrics_mode mode_of(const mode_source *source, int32_t field_id, size_t index) {
    metrics_mode mode = source->fallback;
    if (!source->explicit_fallback && (int64_t)index >= source->max_inferred) {
        mode.kind = MODE_NONE;
    }
    if (mode.kind < MODE_TRUNCATE && is_sorted_by(source, field_id)) {
        mode = (metrics_mode){MODE_TRUNCATE, TRUNCATE_DEFAULT};
    }
    if (source->has_columns) {
        fz_buf key = {0};
        fz_buf_append_str(&key, FZ_STR("write.metadata.metrics.column."));
        fz_schema_path(source->schema, field_id, &key);
        metrics_mode own;
        if (parse_mode(fz_iceberg_metadata_property(source->metadata, fz_buf_cstr(&key)), &own)) {
            mode = own;
        }
        fz_buf_deinit(&key);
    }
    return mode;
}

static mode_source source_of(const fz_schema *schema, const fz_iceberg_metadata *metadata) {
    mode_source source = {.metadata = metadata, .schema = schema};
    fz_str text = fz_iceberg_metadata_property(metadata, "write.metadata.metrics.default");
    source.fallback = (metrics_mode){MODE_TRUNCATE, TRUNCATE_DEFAULT};
    source.explicit_fallback = text.size > 0 && parse_mode(text, &source.fallback);
    source.max_inferred = fz_iceberg_metadata_property_int(
        metadata, "write.metadata.metrics.max-inferred-column-defaults", MAX_INFERRED_DEFAULT);
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(metadata->root, "properties"), key, value) {
        source.has_columns =
            source.has_columns ||
            fz_str_starts_with(fz_str_from(key), FZ_STR("write.metadata.metrics.column."));
    }
    if (fz_iceberg_metadata_order(metadata, &source.arena, &source.order, NULL) != FZ_OK) {
        source.order = (fz_sort_order){0};
    }
    return source;
}

static void counts_init(fz_iceberg_counts *counts, size_t capacity, fz_arena *arena) {
    *counts = (fz_iceberg_counts){.present = true};
    counts->ids = FZ_ARENA_ARRAY(arena, int32_t, capacity);
    counts->values = FZ_ARENA_ARRAY(arena, int64_t, capacity);
}

static void counts_put(fz_iceberg_counts *counts, int32_t id, int64_t value) {
    counts->ids[counts->count] = id;
    counts->values[counts->count++] = value;
}

static void bounds_init(fz_iceberg_bounds *bounds, size_t capacity, fz_arena *arena) {
    *bounds = (fz_iceberg_bounds){.present = true};
    bounds->ids = FZ_ARENA_ARRAY(arena, int32_t, capacity);
    bounds->values = FZ_ARENA_ARRAY(arena, fz_str, capacity);
}

static void bounds_put(fz_iceberg_bounds *bounds, int32_t id, const fz_value *value,
                       fz_arena *arena) {
    fz_buf bytes = {0};
    fz_value_encode(value, &bytes);
    bounds->ids[bounds->count] = id;
    bounds->values[bounds->count++] = fz_arena_str(arena, fz_buf_view(&bytes));
    fz_buf_deinit(&bytes);
}

static void put_column(fz_iceberg_file *out, const fz_column_metrics *column, metrics_mode mode,
                       fz_arena *arena) {
    if (mode.kind == MODE_NONE) {
        return;
    }
    counts_put(&out->column_sizes, column->field_id, column->column_size);
    if (column->in_repeated) {
        return; // counts there are of elements, which no planner expects (formats.md 1.17)
    }
    counts_put(&out->value_counts, column->field_id, column->value_count);
    counts_put(&out->null_counts, column->field_id, column->null_count);
    if (column->nan_count >= 0) {
        counts_put(&out->nan_counts, column->field_id, column->nan_count);
    }
    if (mode.kind == MODE_COUNTS || !column->has_bounds) {
        return;
    }
    fz_value lower = column->lower;
    fz_value upper = column->upper;
    if (mode.kind == MODE_TRUNCATE) {
        fz_value_truncate_lower(&lower, mode.width);
        if (!fz_value_truncate_upper(&upper, mode.width, arena)) {
            upper = column->upper; // nothing to raise in the first characters: the whole value
                                   // bounds as well
        }
    }
    bounds_put(&out->lower_bounds, column->field_id, &lower, arena);
    bounds_put(&out->upper_bounds, column->field_id, &upper, arena);
}

void fz_iceberg_file_set_metrics(fz_iceberg_file *out, const fz_file_metrics *metrics,
                                 const fz_schema *schema, const fz_iceberg_metadata *metadata,
                                 fz_arena *arena) {
    out->record_count = metrics->row_count;
    out->file_size_bytes = metrics->file_size;
    out->split_count = metrics->split_count;
    out->split_offsets = FZ_ARENA_ARRAY(arena, int64_t, metrics->split_count);
    if (metrics->split_count) {
        memcpy(out->split_offsets, metrics->split_offsets,
               metrics->split_count * sizeof(*out->split_offsets));
    }
    size_t capacity = metrics->column_count;
    counts_init(&out->column_sizes, capacity, arena);
    counts_init(&out->value_counts, capacity, arena);
    counts_init(&out->null_counts, capacity, arena);
    counts_init(&out->nan_counts, capacity, arena);
    bounds_init(&out->lower_bounds, capacity, arena);
    bounds_init(&out->upper_bounds, capacity, arena);
    mode_source source = source_of(schema, metadata);
    for (size_t i = 0; i < metrics->column_count; i++) {
        const fz_column_metrics *column = &metrics->columns[i];
        put_column(out, column, mode_of(&source, column->field_id, i), arena);
    }
    fz_arena_deinit(&source.arena);
}
