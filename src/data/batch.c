// SPDX-License-Identifier: Apache-2.0
// Column batches: growth against the budget, nulls, cutting back.
#include "data/batch.h"

#include "base/memory.h"

#define COLUMN_MAX_BYTES INT64_C(2147483647) // offsets are int32
#define COLUMN_ROUND 64                      // values; bitmaps stay whole words

static int32_t fixed_width(const fz_type *type) {
    switch (type->kind) {
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_FLOAT:
        return 4;
    case FZ_TYPE_LONG:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
    case FZ_TYPE_DOUBLE:
        return 8;
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_UUID:
        return 16;
    case FZ_TYPE_FIXED:
        return type->length;
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        break;
    }
    return 0;
}

static bool has_values(const fz_column *column) {
    fz_type_kind kind = column->field->type.kind;
    return kind < FZ_TYPE_STRUCT && kind != FZ_TYPE_STRING && kind != FZ_TYPE_BINARY;
}

static bool has_offsets(const fz_column *column) {
    switch (column->field->type.kind) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return true;
    default:
        return false;
    }
}

static void column_init(fz_column *column, const fz_field *field, fz_budget *budget) {
    *column = (fz_column){.field = field, .width = fixed_width(&field->type), .budget = budget};
    column->child_count = field->type.field_count;
    if (column->child_count) {
        column->children = (fz_column *)fz_calloc(column->child_count, sizeof(fz_column));
        for (size_t i = 0; i < column->child_count; i++) {
            column_init(&column->children[i], &field->type.fields[i], budget);
        }
    }
}

static void column_deinit(fz_column *column) {
    for (size_t i = 0; i < column->child_count; i++) {
        column_deinit(&column->children[i]);
    }
    fz_free(column->children);
    fz_free(column->validity);
    fz_free(column->values);
    fz_free(column->offsets);
    fz_free(column->data);
    fz_budget_release(column->budget, column->charged);
}

static int64_t column_charged(const fz_column *column) {
    int64_t charged = column->charged;
    for (size_t i = 0; i < column->child_count; i++) {
        charged += column_charged(&column->children[i]);
    }
    return charged;
}

int64_t fz_batch_charged(const fz_batch *batch) {
    int64_t charged = 0;
    for (size_t i = 0; i < batch->column_count; i++) {
        charged += column_charged(&batch->columns[i]);
    }
    return charged;
}

/** As column_init left it; the columns themselves stay where they are. */
static void column_release(fz_column *column) {
    for (size_t i = 0; i < column->child_count; i++) {
        column_release(&column->children[i]);
    }
    fz_free(column->validity);
    fz_free(column->values);
    fz_free(column->offsets);
    fz_free(column->data);
    fz_budget_release(column->budget, column->charged);
    column->validity = NULL;
    column->values = NULL;
    column->offsets = NULL;
    column->data = NULL;
    column->length = column->capacity = column->null_count = 0;
    column->data_size = column->data_capacity = column->charged = 0;
}

void fz_batch_release(fz_batch *batch) {
    for (size_t i = 0; i < batch->column_count; i++) {
        column_release(&batch->columns[i]);
    }
    batch->rows = 0;
}

fz_batch *fz_batch_new(fz_schema *schema, fz_budget *budget) {
    fz_batch *batch = (fz_batch *)fz_calloc(1, sizeof(*batch));
    batch->schema = fz_schema_ref(schema);
    batch->budget = budget;
    batch->column_count = schema->root.field_count;
    batch->columns = (fz_column *)fz_calloc(batch->column_count + 1, sizeof(fz_column));
    for (size_t i = 0; i < batch->column_count; i++) {
        column_init(&batch->columns[i], &schema->root.fields[i], budget);
    }
    return batch;
}

void fz_batch_free(fz_batch *batch) {
    if (!batch) {
        return;
    }
    for (size_t i = 0; i < batch->column_count; i++) {
        column_deinit(&batch->columns[i]);
    }
    fz_free(batch->columns);
    fz_schema_unref(batch->schema);
    fz_free(batch);
}

// --- growing ---

static int64_t values_bytes(const fz_column *column, int64_t capacity) {
    if (!has_values(column)) {
        return 0;
    }
    if (column->field->type.kind == FZ_TYPE_BOOLEAN) {
        return capacity / 8;
    }
    return capacity * (column->width ? column->width : 1); // fixed[0] still gets an address
}

// Greatest number of values that keeps every array of the column within int32 and COLUMN_MAX_BYTES.
static int64_t most_values(const fz_column *column) {
    int64_t most = COLUMN_MAX_BYTES / (column->width > 4 ? column->width : 4) - 1;
    return most / COLUMN_ROUND * COLUMN_ROUND;
}

static fz_code refuse(const fz_column *column, fz_err *err) {
    return fz_err_set(err, FZ_LIMIT, "column \"%.*s\" would pass 2^31 bytes in one batch",
                      FZ_STR_ARGS(column->field->name));
}

static fz_code charge(fz_column *column, int64_t size, fz_err *err) {
    FZ_TRY(fz_budget_charge(column->budget, size, "column of a batch", err));
    column->charged += size;
    return FZ_OK;
}

// The allocator said no: give the charge back. Blocks that did grow stay as they are, which harms
// nothing.
static fz_code no_memory(fz_column *column, int64_t size, fz_err *err) {
    fz_budget_release(column->budget, size);
    column->charged -= size;
    return fz_err_set(err, FZ_LIMIT, "no memory for %lld bytes of column \"%.*s\"", (long long)size,
                      FZ_STR_ARGS(column->field->name));
}

static fz_code grow_arrays(fz_column *column, int64_t capacity, fz_err *err) {
    int64_t old = column->capacity;
    int64_t value_size = values_bytes(column, capacity);
    bool validity = !column->field->required;
    bool offsets = has_offsets(column);
    int64_t size = value_size - values_bytes(column, old);
    size += validity ? (capacity - old) / 8 : 0;
    size += offsets ? (capacity - old + (old ? 0 : 1)) * 4 : 0;
    FZ_TRY(charge(column, size, err));
    if (validity) {
        void *block = fz_try_realloc(column->validity, (size_t)capacity / 8, 1);
        if (!block) {
            return no_memory(column, size, err);
        }
        column->validity = (uint8_t *)block;
        memset(column->validity + old / 8, 0, (size_t)(capacity - old) / 8);
    }
    if (offsets) {
        void *block = fz_try_realloc(column->offsets, (size_t)capacity + 1, sizeof(int32_t));
        if (!block) {
            return no_memory(column, size, err);
        }
        column->offsets = (int32_t *)block;
        if (!old) {
            column->offsets[0] = 0;
        }
    }
    if (value_size) {
        void *block = fz_try_realloc(column->values, (size_t)value_size, 1);
        if (!block) {
            return no_memory(column, size, err);
        }
        column->values = block;
        if (column->field->type.kind == FZ_TYPE_BOOLEAN) {
            memset((uint8_t *)block + old / 8, 0, (size_t)(capacity - old) / 8);
        }
    }
    column->capacity = capacity;
    return FZ_OK;
}

fz_code fz_column_grow(fz_column *column, int64_t more, fz_err *err) {
    int64_t most = most_values(column);
    if (more < 0 || more > most - column->length) {
        return refuse(column, err);
    }
    int64_t want = column->length + more;
    if (want > column->capacity) {
        int64_t capacity = column->capacity * 2 > want ? column->capacity * 2 : want;
        capacity = (capacity + COLUMN_ROUND - 1) / COLUMN_ROUND * COLUMN_ROUND;
        FZ_TRY(grow_arrays(column, capacity < most ? capacity : most, err));
    }
    if (column->field->type.kind == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->child_count; i++) {
            fz_column *child = &column->children[i];
            if (want > child->capacity) {
                FZ_TRY(fz_column_grow(child, want > child->length ? want - child->length : 0, err));
            }
        }
    }
    return FZ_OK;
}

fz_code fz_column_grow_data(fz_column *column, int64_t more, fz_err *err) {
    if (more < 0 || more > COLUMN_MAX_BYTES - column->data_size) {
        return refuse(column, err);
    }
    int64_t want = column->data_size + more;
    if (want <= column->data_capacity) {
        return FZ_OK;
    }
    int64_t capacity = column->data_capacity * 2 > want ? column->data_capacity * 2 : want;
    capacity = capacity < 256 ? 256 : capacity;
    capacity = capacity < COLUMN_MAX_BYTES ? capacity : COLUMN_MAX_BYTES;
    int64_t size = capacity - column->data_capacity;
    FZ_TRY(charge(column, size, err));
    void *block = fz_try_realloc(column->data, (size_t)capacity, 1);
    if (!block) {
        return no_memory(column, size, err);
    }
    column->data = (uint8_t *)block;
    column->data_capacity = capacity;
    return FZ_OK;
}

// --- nulls ---

// Placeholder bytes for `count` values behind length; room is there. Children are not touched.
static void write_placeholders(fz_column *column, int64_t count) {
    int64_t at = column->length;
    switch (column->field->type.kind) {
    case FZ_TYPE_BOOLEAN: {
        uint8_t *bits = (uint8_t *)column->values;
        for (int64_t i = at; i < at + count; i++) {
            bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
        }
        break;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        for (int64_t i = at; i < at + count; i++) {
            column->offsets[i + 1] = (int32_t)column->data_size;
        }
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        for (int64_t i = at; i < at + count; i++) {
            column->offsets[i + 1] = (int32_t)column->children[0].length;
        }
        break;
    case FZ_TYPE_STRUCT:
        break;
    default:
        memset((uint8_t *)column->values + at * column->width, 0, (size_t)(count * column->width));
        break;
    }
}

fz_code fz_column_append_nulls(fz_column *column, int64_t count, fz_err *err) {
    if (count <= 0) {
        return FZ_OK;
    }
    if (count > column->capacity - column->length) {
        FZ_TRY(fz_column_grow(column, count, err));
    }
    if (column->field->type.kind == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->child_count; i++) {
            FZ_TRY(fz_column_append_nulls(&column->children[i], count, err));
        }
    }
    write_placeholders(column, count);
    // Bits behind length are always 0, so the validity bitmap already says null.
    column->length += count;
    if (column->validity) {
        column->null_count += count;
    }
    return FZ_OK;
}

fz_code fz_column_append_null(fz_column *column, fz_err *err) {
    return fz_column_append_nulls(column, 1, err);
}

// --- cutting back ---

static void clear_bits(uint8_t *bits, int64_t from, int64_t to) {
    if (from & 7) {
        bits[from >> 3] = (uint8_t)(bits[from >> 3] & ((1u << (from & 7)) - 1));
        from = (from | 7) + 1;
    }
    if (from < to) {
        memset(bits + (from >> 3), 0, (size_t)((to + 7) / 8 - (from >> 3)));
    }
}

void fz_column_truncate(fz_column *column, int64_t rows) {
    fz_type_kind kind = column->field->type.kind;
    if (rows < column->length) {
        if (column->validity) {
            if (rows == 0) {
                column->null_count = 0;
            } else {
                for (int64_t i = rows; i < column->length && column->null_count; i++) {
                    column->null_count -= fz_column_is_null(column, i);
                }
            }
            clear_bits(column->validity, rows, column->length);
        }
        column->length = rows;
    }
    if (kind == FZ_TYPE_STRING || kind == FZ_TYPE_BINARY) {
        column->data_size = column->offsets ? column->offsets[column->length] : 0;
    } else if (kind == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->child_count; i++) {
            fz_column_truncate(&column->children[i], rows);
        }
    } else if (kind == FZ_TYPE_LIST || kind == FZ_TYPE_MAP) {
        // Items of a record that failed before its list was closed go too.
        int64_t items = column->offsets ? column->offsets[column->length] : 0;
        for (size_t i = 0; i < column->child_count; i++) {
            fz_column_truncate(&column->children[i], items);
        }
    }
}

void fz_batch_truncate(fz_batch *batch, int64_t rows) {
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_column_truncate(&batch->columns[i], rows);
    }
    batch->rows = rows < batch->rows ? rows : batch->rows;
}

void fz_batch_reset(fz_batch *batch) {
    fz_batch_truncate(batch, 0);
}

// --- looking ---

static int64_t column_size(const fz_column *column) {
    int64_t size = column->data_size;
    if (column->field->type.kind == FZ_TYPE_BOOLEAN) {
        size += (column->length + 7) / 8;
    } else {
        size += column->length * column->width;
    }
    size += column->validity ? (column->length + 7) / 8 : 0;
    size += column->offsets ? (column->length + 1) * 4 : 0;
    for (size_t i = 0; i < column->child_count; i++) {
        size += column_size(&column->children[i]);
    }
    return size;
}

int64_t fz_batch_size(const fz_batch *batch) {
    int64_t size = 0;
    for (size_t i = 0; i < batch->column_count; i++) {
        size += column_size(&batch->columns[i]);
    }
    return size;
}

static fz_column *find_column(fz_column *columns, size_t count, int32_t field_id) {
    for (size_t i = 0; i < count; i++) {
        if (columns[i].field->id == field_id) {
            return &columns[i];
        }
        fz_column *found = find_column(columns[i].children, columns[i].child_count, field_id);
        if (found) {
            return found;
        }
    }
    return NULL;
}

fz_column *fz_batch_find(fz_batch *batch, int32_t field_id) {
    return find_column(batch->columns, batch->column_count, field_id);
}
