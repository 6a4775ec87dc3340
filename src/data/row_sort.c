// SPDX-License-Identifier: Apache-2.0
// Each row gets a key whose bytes compare as the row does; then keys are merge-sorted.
#include "data/row_sort.h"

#include "base/memory.h"

#define DEPTH_MAX 100
#define KEYS_MAX ((size_t)1 << 31)

/** A sort field's column with the structs above it, whose nulls are its own. */
typedef struct place {
    const fz_column *column;
    const fz_column *parents[DEPTH_MAX];
    size_t depth;
} place;

typedef struct item {
    uint64_t prefix; // first bytes of the key, big-endian
    uint32_t row;
} item;

typedef struct keys {
    fz_buf bytes;
    size_t *ends; // [rows] of each row's key
} keys;

static const fz_field *find_field(const fz_type *type, int32_t id, size_t depth) {
    for (size_t i = 0; i < type->field_count && depth < DEPTH_MAX; i++) {
        const fz_field *field = &type->fields[i];
        if (field->id == id) {
            return field;
        }
        const fz_field *below =
            field->type.kind == FZ_TYPE_STRUCT ? find_field(&field->type, id, depth + 1) : NULL;
        if (below) {
            return below;
        }
    }
    return NULL;
}

bool fz_row_sort_can(const fz_sort_order *order, const fz_schema *schema) {
    for (size_t i = 0; i < order->field_count; i++) {
        const fz_sort_field *by = &order->fields[i];
        const fz_field *field = find_field(&schema->root, by->source_id, 0);
        fz_type result;
        if (!field || fz_type_is_nested(&field->type) ||
            by->transform.kind == FZ_TRANSFORM_UNKNOWN ||
            (by->transform.kind != FZ_TRANSFORM_VOID &&
             fz_transform_result(by->transform, &field->type, &result, NULL) != FZ_OK)) {
            return false;
        }
    }
    return order->field_count > 0;
}

static bool find_place(const fz_column *columns, size_t count, int32_t id, place *out) {
    for (size_t i = 0; i < count; i++) {
        const fz_column *column = &columns[i];
        if (column->field->id == id) {
            out->column = column;
            return true;
        }
        if (column->field->type.kind == FZ_TYPE_STRUCT && out->depth < DEPTH_MAX) {
            out->parents[out->depth++] = column;
            if (find_place(column->children, column->child_count, id, out)) {
                return true;
            }
            out->depth--;
        }
    }
    return false;
}

static void put_bits(fz_buf *out, uint64_t bits, size_t size) {
    for (size_t i = size; i-- > 0;) {
        fz_buf_append_byte(out, (uint8_t)(bits >> (8 * i)));
    }
}

/** IEEE total order: negative ones backwards, all of them before positive ones. */
static uint64_t float_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/** Text that ends before any other that it begins: 0 is escaped, 0 0 ends it. */
static void put_bytes(fz_buf *out, fz_str bytes) {
    for (size_t i = 0; i < bytes.size; i++) {
        fz_buf_append_byte(out, (uint8_t)bytes.data[i]);
        if (bytes.data[i] == 0) {
            fz_buf_append_byte(out, 0xff);
        }
    }
    put_bits(out, 0, 2);
}

static void put_value(fz_buf *out, const fz_value *value) {
    switch (value->kind) {
    case FZ_TYPE_FLOAT: // widening keeps order and signs, NaNs included
        put_bits(out, float_bits((double)value->as.real32), 8);
        return;
    case FZ_TYPE_DOUBLE:
        put_bits(out, float_bits(value->as.real64), 8);
        return;
    case FZ_TYPE_DECIMAL: {
        uint8_t bytes[16];
        fz_decimal_to_be(value->as.decimal, bytes, sizeof bytes);
        bytes[0] ^= 0x80;
        fz_buf_append(out, bytes, sizeof bytes);
        return;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_UUID:
        put_bytes(out, value->as.bytes);
        return;
    default:
        put_bits(out, (uint64_t)value->as.integer ^ UINT64_C(1) << 63, 8);
    }
}

static fz_code put_field(const fz_sort_field *by, const place *at, int64_t row, fz_buf *out,
                         fz_err *err) {
    fz_value value = {.is_null = true};
    bool null = by->transform.kind == FZ_TRANSFORM_VOID || fz_column_is_null(at->column, row);
    for (size_t i = 0; i < at->depth; i++) {
        null = null || fz_column_is_null(at->parents[i], row);
    }
    if (!null) {
        fz_value source;
        fz_column_value(at->column, row, &source);
        FZ_TRY(fz_transform_apply(by->transform, &at->column->field->type, &source, &value, err));
    }
    fz_buf_append_byte(out, value.is_null == by->nulls_last ? 1 : 0);
    if (!value.is_null) {
        size_t start = out->size;
        put_value(out, &value);
        for (size_t i = start; by->descending && i < out->size; i++) {
            out->data[i] = (uint8_t)~out->data[i];
        }
    }
    return FZ_OK;
}

static fz_code make_keys(const fz_sort_order *order, const place *places, int64_t rows, keys *out,
                         fz_err *err) {
    for (int64_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < order->field_count; i++) {
            FZ_TRY(put_field(&order->fields[i], &places[i], row, &out->bytes, err));
        }
        FZ_TRY(fz_buf_check(&out->bytes, "sort keys", err));
        out->ends[row] = out->bytes.size;
    }
    return FZ_OK;
}

static fz_str key_of(const keys *k, uint32_t row) {
    size_t start = row > 0 ? k->ends[row - 1] : 0;
    return fz_str_make(k->bytes.data + start, k->ends[row] - start);
}

static bool is_after(const keys *k, const item *a, const item *b) {
    return a->prefix != b->prefix ? a->prefix > b->prefix
                                  : fz_str_compare(key_of(k, a->row), key_of(k, b->row)) > 0;
}

static void merge(const keys *k, const item *from, item *to, size_t start, size_t middle,
                  size_t end) {
    size_t left = start;
    size_t right = middle;
    for (size_t i = start; i < end; i++) {
        bool take_right = left == middle || (right < end && is_after(k, &from[left], &from[right]));
        to[i] = take_right ? from[right++] : from[left++];
    }
}

static void sort_items(const keys *k, item *items, item *other, size_t count, uint32_t *index) {
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = middle + width < count ? middle + width : count;
            merge(k, items, other, start, middle, end);
        }
        item *swap = items;
        items = other;
        other = swap;
    }
    for (size_t i = 0; i < count; i++) {
        index[i] = items[i].row;
    }
}

static fz_code sort_keys(const keys *k, size_t count, uint32_t *index, fz_budget *budget,
                         fz_err *err) {
    int64_t size = (int64_t)(2 * count * sizeof(item));
    FZ_TRY(fz_budget_charge(budget, size, "sort", err));
    item *items = (item *)fz_calloc(2 * count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        fz_str key = key_of(k, (uint32_t)i);
        for (size_t j = 0; j < 8; j++) {
            items[i].prefix = items[i].prefix << 8 | (j < key.size ? (uint8_t)key.data[j] : 0);
        }
        items[i].row = (uint32_t)i;
    }
    sort_items(k, items, items + count, count, index);
    fz_free(items);
    fz_budget_release(budget, size);
    return FZ_OK;
}

fz_code fz_row_sort(const fz_sort_order *order, fz_batch *batch, uint32_t *index, fz_err *err) {
    size_t rows = (size_t)batch->rows;
    place *places = (place *)fz_calloc(order->field_count + 1, sizeof *places);
    bool found = true;
    for (size_t i = 0; i < order->field_count && found; i++) {
        found =
            find_place(batch->columns, batch->column_count, order->fields[i].source_id, &places[i]);
    }
    keys k = {.ends = (size_t *)fz_calloc(rows + 1, sizeof(size_t))};
    fz_buf_init(&k.bytes, KEYS_MAX, batch->budget);
    fz_code code = found ? make_keys(order, places, batch->rows, &k, err)
                         : fz_err_set(err, FZ_INVALID, "a sort column is not in the batch");
    if (code == FZ_OK) {
        code = sort_keys(&k, rows, index, batch->budget, err);
    }
    fz_buf_deinit(&k.bytes);
    fz_free(k.ends);
    fz_free(places);
    return code;
}
