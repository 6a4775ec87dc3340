// SPDX-License-Identifier: Apache-2.0
// Column batches in Arrow's layout: what decoders fill and encoders read.
#ifndef FZ_DATA_BATCH_H
#define FZ_DATA_BATCH_H

#include "base/budget.h"
#include "data/type.h"

typedef struct fz_column fz_column;

/**
 * One column. `length` counts values, nulls included.
 *
 * validity  bitmap, least significant bit first, 1 = a value is there; NULL for required fields
 * values    BOOLEAN a bitmap; INT, DATE int32; LONG, TIME, TIMESTAMP* int64; FLOAT float; DOUBLE
 * double; DECIMAL 16-byte little-endian unscaled; UUID, FIXED inline bytes of `width` offsets
 * [length + 1] STRING, BINARY into data; LIST, MAP into the children children  STRUCT one a field,
 * each of the same length as this one (placeholders under a null); LIST element; MAP key, value
 */
struct fz_column {
    const fz_field *field; // of the batch's schema
    int64_t length;
    int64_t null_count;
    int64_t capacity; // values
    uint8_t *validity;
    void *values;
    int32_t *offsets;
    uint8_t *data;
    int64_t data_size;
    int64_t data_capacity;
    int32_t width; // bytes of a fixed value, 0 BOOLEAN and nested
    fz_column *children;
    size_t child_count;
    fz_budget *budget;
    int64_t charged; // bytes taken from the budget
};

/** Rows of one schema. One thread at a time. */
typedef struct fz_batch {
    fz_schema *schema; // a reference
    fz_column *columns;
    size_t column_count;
    int64_t rows;
    fz_budget *budget;
} fz_batch;

/** Empty batch; budget NULL or outliving it. */
fz_batch *fz_batch_new(fz_schema *schema, fz_budget *budget);
void fz_batch_free(fz_batch *batch);
/** No rows, capacity kept. */
void fz_batch_reset(fz_batch *batch);
/** No rows, and no memory held. */
void fz_batch_release(fz_batch *batch);
/** Bytes that its columns hold of the budget, empty room included. */
int64_t fz_batch_charged(const fz_batch *batch);
/** Cut every column back to `rows` (a record failed half-way, or the tail is not wanted). */
void fz_batch_truncate(fz_batch *batch, int64_t rows);
/** One column of it, with all that is below (to fill it anew). */
void fz_column_truncate(fz_column *column, int64_t rows);
/** Append the rows `index[0..count)` of `from`, a batch of the same schema. LIMIT: `batch` is as
 * before. */
FZ_CHECKED fz_code fz_batch_take(fz_batch *batch, const fz_batch *from, const uint32_t *index,
                                 size_t count, fz_err *err);
/** Bytes that all columns hold in use (not capacity). */
int64_t fz_batch_size(const fz_batch *batch);
/** Column by field id at any depth, NULL if absent. */
fz_column *fz_batch_find(fz_batch *batch, int32_t field_id);

// Appending; a decoder calls these per value. FZ_LIMIT when the budget or 2^31 bytes of one column
// are used up.

/** Room for `more` values; the slow half of the calls below. Children of a struct are grown too. */
FZ_CHECKED fz_code fz_column_grow(fz_column *column, int64_t more, fz_err *err);
/** Room for `more` bytes in data. */
FZ_CHECKED fz_code fz_column_grow_data(fz_column *column, int64_t more, fz_err *err);

static inline fz_code fz_column_room(fz_column *column, fz_err *err) {
    return FZ_LIKELY(column->length < column->capacity) ? FZ_OK : fz_column_grow(column, 1, err);
}
/** The next value is there: set its bit and count it. Values, offsets or children must have been
 * written. */
static inline void fz_column_push_valid(fz_column *column) {
    if (column->validity) {
        column->validity[column->length >> 3] |= (uint8_t)(1u << (column->length & 7));
    }
    column->length++;
}
/** Append null (a zero placeholder for a required field): STRUCT children too, LIST and MAP empty.
 */
FZ_CHECKED fz_code fz_column_append_null(fz_column *column, fz_err *err);
/** Append `count` nulls. */
FZ_CHECKED fz_code fz_column_append_nulls(fz_column *column, int64_t count, fz_err *err);

static inline fz_code fz_column_append_i32(fz_column *column, int32_t value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    ((int32_t *)column->values)[column->length] = value;
    fz_column_push_valid(column);
    return FZ_OK;
}
static inline fz_code fz_column_append_i64(fz_column *column, int64_t value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    ((int64_t *)column->values)[column->length] = value;
    fz_column_push_valid(column);
    return FZ_OK;
}
static inline fz_code fz_column_append_float(fz_column *column, float value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    ((float *)column->values)[column->length] = value;
    fz_column_push_valid(column);
    return FZ_OK;
}
static inline fz_code fz_column_append_double(fz_column *column, double value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    ((double *)column->values)[column->length] = value;
    fz_column_push_valid(column);
    return FZ_OK;
}
static inline fz_code fz_column_append_bool(fz_column *column, bool value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    uint8_t *bits = (uint8_t *)column->values;
    uint8_t bit = (uint8_t)(1u << (column->length & 7));
    bits[column->length >> 3] =
        (uint8_t)(value ? bits[column->length >> 3] | bit : bits[column->length >> 3] & ~bit);
    fz_column_push_valid(column);
    return FZ_OK;
}
/** Fixed-width bytes: DECIMAL (16, little-endian), UUID, FIXED. */
static inline fz_code fz_column_append_fixed(fz_column *column, const void *value, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    memcpy((uint8_t *)column->values + column->length * column->width, value,
           (size_t)column->width);
    fz_column_push_valid(column);
    return FZ_OK;
}
/** STRING or BINARY. */
static inline fz_code fz_column_append_bytes(fz_column *column, const void *data, size_t size,
                                             fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    if (FZ_UNLIKELY((int64_t)size > column->data_capacity - column->data_size)) {
        FZ_TRY(fz_column_grow_data(column, (int64_t)size, err));
    }
    if (size) {
        memcpy(column->data + column->data_size, data, size);
    }
    column->data_size += (int64_t)size;
    column->offsets[column->length + 1] = (int32_t)column->data_size;
    fz_column_push_valid(column);
    return FZ_OK;
}
/** LIST or MAP whose items were appended to the children since the last call. */
static inline fz_code fz_column_append_list(fz_column *column, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    column->offsets[column->length + 1] = (int32_t)column->children[0].length;
    fz_column_push_valid(column);
    return FZ_OK;
}
/** STRUCT whose fields each got their value. */
static inline fz_code fz_column_append_struct(fz_column *column, fz_err *err) {
    FZ_TRY(fz_column_room(column, err));
    fz_column_push_valid(column);
    return FZ_OK;
}

static inline bool fz_column_is_null(const fz_column *column, int64_t row) {
    return column->validity && !(column->validity[row >> 3] >> (row & 7) & 1);
}
/** Bytes of a STRING or BINARY value. */
static inline fz_str fz_column_bytes(const fz_column *column, int64_t row) {
    size_t size = (size_t)(column->offsets[row + 1] - column->offsets[row]);
    // A column of empty values has no data at all.
    return fz_str_make(size > 0 ? column->data + column->offsets[row] : NULL, size);
}

#endif
