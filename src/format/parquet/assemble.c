// SPDX-License-Identifier: Apache-2.0
// Rebuilds columns: validity and offsets from levels, then the values.
#include "format/parquet/assemble.h"

#include "data/decimal.h"

static fz_code disagree(const fz_parquet_plan *plan, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                           "the levels of parquet column \"%.*s\" do not fit its neighbours'",
                           FZ_STR_ARGS(plan->view->name));
}

static fz_code null_in_required(const fz_parquet_plan *plan, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "null", "null in required parquet column \"%.*s\"",
                           FZ_STR_ARGS(plan->view->name));
}

static inline uint8_t level(const fz_buf *levels, size_t i) {
    return levels->size ? levels->data[i] : 0;
}

/** As find_valid below for a column outside of lists: every place is a slot. */
static fz_code find_valid_flat(const fz_parquet_plan *plan, int64_t slots, fz_buf *out,
                               size_t *valid, fz_err *err) {
    const fz_parquet_column_reader *r = plan->reader;
    const fz_parquet_view *view = plan->view;
    if (r->level_count != (size_t)slots) {
        return disagree(plan, err);
    }
    *valid = r->level_count;
    if (view->def == 0) {
        memset(out->data, 1, r->level_count);
        return FZ_OK;
    }
    size_t count = 0;
    size_t parents = 0;
    const uint8_t *def = r->def.data;
    for (size_t i = 0; i < r->level_count; i++) {
        uint8_t there = def[i] >= view->def;
        out->data[i] = there;
        count += there;
        parents += def[i] >= view->parent_def;
    }
    *valid = count;
    return count < parents && plan->field->required ? null_in_required(plan, err) : FZ_OK;
}

/**
 * A byte a slot in `out`: 1 where a value is there. The slots of a level are the places that begin
 * no deeper than it does and whose innermost list has an item.
 */
static fz_code find_valid(const fz_parquet_plan *plan, int64_t slots, fz_buf *out, size_t *valid,
                          fz_err *err) {
    const fz_parquet_column_reader *r = plan->reader;
    const fz_parquet_view *view = plan->view;
    fz_buf_reset(out);
    if (!fz_buf_reserve(out, (size_t)slots + 1)) {
        return fz_buf_check(out, "parquet levels", err);
    }
    if (r->leaf.max_rep == 0) {
        return find_valid_flat(plan, slots, out, valid, err);
    }
    size_t n = 0;
    *valid = 0;
    bool missing = false;
    for (size_t i = 0; i < r->level_count; i++) {
        uint8_t def = level(&r->def, i);
        if (level(&r->rep, i) > view->slot_rep || def < view->slot_def) {
            continue;
        }
        if (n == (size_t)slots) {
            return disagree(plan, err);
        }
        bool there = def >= view->def;
        out->data[n++] = there;
        *valid += there;
        missing |= !there && def >= view->parent_def;
    }
    if (n != (size_t)slots) {
        return disagree(plan, err);
    }
    if (missing && plan->field->required) {
        return null_in_required(plan, err);
    }
    return FZ_OK;
}

/** Set length, validity and null count for `slots` more places. */
static void set_validity(fz_column *column, const uint8_t *valid, size_t count, size_t slots) {
    if (column->validity) {
        int64_t at = column->length;
        if (count == slots) {
            int64_t end = at + (int64_t)slots;
            for (; at < end && (at & 7); at++) {
                column->validity[at >> 3] |= (uint8_t)(1u << (at & 7));
            }
            memset(column->validity + (at >> 3), 0xff, (size_t)((end - at) / 8));
            for (at += (end - at) / 8 * 8; at < end; at++) {
                column->validity[at >> 3] |= (uint8_t)(1u << (at & 7));
            }
        } else {
            for (size_t i = 0; i < slots; i++, at++) {
                column->validity[at >> 3] |= (uint8_t)(valid[i] << (at & 7));
            }
            column->null_count += (int64_t)(slots - count);
        }
    }
    column->length += (int64_t)slots;
}

static inline int64_t load_i64(const uint8_t *at) {
    int64_t value;
    memcpy(&value, at, 8);
    return value;
}

static inline int32_t load_i32(const uint8_t *at) {
    int32_t value;
    memcpy(&value, at, 4);
    return value;
}

/** Half-precision bits as a float. */
static float half(const uint8_t *at) {
    uint32_t bits = at[0] | (uint32_t)at[1] << 8;
    uint32_t sign = (bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31;
    uint32_t fraction = bits & 1023;
    uint32_t out = sign | (exponent + 112) << 23 | fraction << 13;
    if (exponent == 31) {
        out = sign | 0x7f800000 | fraction << 13;
    }
    float value;
    memcpy(&value, &out, 4);
    if (exponent == 0) { // zero or subnormal
        value = (float)fraction / 16777216.0f;
        return sign ? -value : value;
    }
    return value;
}

/** Julian day and nanoseconds of the day as units of `unit` nanoseconds; false when out of range.
 * Microseconds go round at 2^64, as they do in Spark, which writes its late years that way. */
static bool int96(const uint8_t *at, int64_t unit, int64_t *out) {
    int64_t nanos = load_i64(at);
    int64_t day = (int64_t)load_i32(at + 8) - 2440588;
    int64_t rest = nanos / unit - (nanos % unit < 0);
    if (unit == 1000) {
        *out = (int64_t)((uint64_t)day * UINT64_C(86400000000) + (uint64_t)rest);
        return true;
    }
    return !__builtin_mul_overflow(day, INT64_C(86400000000000) / unit, &day) &&
           !__builtin_add_overflow(day, rest, out);
}

static bool convert_i64(const fz_parquet_plan *plan, const uint8_t *at, int64_t *out) {
    switch (plan->conversion) {
    case FZ_PARQUET_CONVERT_INT32:
        return !__builtin_mul_overflow((int64_t)load_i32(at), plan->multiply, out);
    case FZ_PARQUET_CONVERT_UINT32:
        *out = (int64_t)(uint32_t)load_i32(at);
        return true;
    case FZ_PARQUET_CONVERT_INT64: {
        int64_t value = load_i64(at);
        if (plan->divide > 1) {
            *out = value / plan->divide - (value % plan->divide < 0);
            return true;
        }
        return !__builtin_mul_overflow(value, plan->multiply, out);
    }
    default:
        return int96(at, plan->divide, out);
    }
}

/** One value of another width than the file's, at `to`; false when it does not fit. */
static bool convert_one(const fz_parquet_plan *plan, const uint8_t *at, size_t width, uint8_t *to) {
    int64_t number = 0;
    fz_i128 decimal = 0;
    float narrow;
    double wide;
    switch (plan->conversion) {
    case FZ_PARQUET_CONVERT_FLOAT:
        memcpy(&narrow, at, 4);
        wide = (double)narrow;
        memcpy(to, &wide, 8);
        return true;
    case FZ_PARQUET_CONVERT_HALF:
        narrow = half(at);
        memcpy(to, &narrow, 4);
        return true;
    case FZ_PARQUET_CONVERT_HALF_DOUBLE:
        wide = (double)half(at);
        memcpy(to, &wide, 8);
        return true;
    case FZ_PARQUET_CONVERT_DECIMAL32:
        decimal = load_i32(at);
        break;
    case FZ_PARQUET_CONVERT_DECIMAL64:
        decimal = load_i64(at);
        break;
    case FZ_PARQUET_CONVERT_UNSIGNED64:
        decimal = (fz_i128)(uint64_t)load_i64(at);
        break;
    case FZ_PARQUET_CONVERT_DECIMAL_FIXED:
    case FZ_PARQUET_CONVERT_DECIMAL_BYTES:
        if (!fz_decimal_from_be(at, width, &decimal)) {
            return false;
        }
        break;
    default:
        if (!convert_i64(plan, at, &number)) {
            return false;
        }
        memcpy(to, &number, 8);
        return true;
    }
    memcpy(to, &decimal, 16);
    return fz_decimal_fits(decimal, plan->field->type.precision);
}

static fz_code does_not_fit(const fz_parquet_plan *plan, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "range",
                           "a value of parquet column \"%.*s\" does not fit its type",
                           FZ_STR_ARGS(plan->view->name));
}

static void fill_copy(fz_column *column, const uint8_t *valid, size_t count, size_t slots,
                      const uint8_t *from) {
    size_t width = (size_t)column->width;
    uint8_t *to = (uint8_t *)column->values + (size_t)column->length * width;
    if (count == slots) {
        memcpy(to, from, slots * width);
        return;
    }
    for (size_t i = 0; i < slots; i++, to += width) {
        if (valid[i]) {
            memcpy(to, from, width);
            from += width;
        } else {
            memset(to, 0, width);
        }
    }
}

static void fill_booleans(fz_column *column, const uint8_t *valid, size_t slots,
                          const uint8_t *from) {
    uint8_t *bits = (uint8_t *)column->values;
    int64_t at = column->length;
    for (size_t i = 0; i < slots; i++, at++) {
        uint8_t value = valid[i] ? *from++ : 0;
        uint8_t mask = (uint8_t)(1u << (at & 7));
        bits[at >> 3] = (uint8_t)(value ? bits[at >> 3] | mask : bits[at >> 3] & ~mask);
    }
}

static fz_code fill_converted(const fz_parquet_plan *plan, fz_column *column, const uint8_t *valid,
                              size_t slots, fz_err *err) {
    const fz_parquet_column_reader *r = plan->reader;
    size_t from_width = r->decoder.width;
    const uint8_t *from = r->values.fixed.data;
    const uint8_t *data = r->values.data.data;
    const uint32_t *ends = (const uint32_t *)(const void *)r->values.ends.data;
    size_t width = (size_t)column->width;
    uint8_t *to = (uint8_t *)column->values + (size_t)column->length * width;
    size_t next = 0;
    for (size_t i = 0; i < slots; i++, to += width) {
        if (!valid[i]) {
            memset(to, 0, width);
            continue;
        }
        const uint8_t *at = from;
        size_t size = from_width;
        if (plan->conversion == FZ_PARQUET_CONVERT_DECIMAL_BYTES) {
            uint32_t start = next ? ends[next - 1] : 0;
            at = start ? data + start : data;
            size = ends[next++] - start;
        } else {
            from += from_width;
        }
        if (!convert_one(plan, at, size, to)) {
            return does_not_fit(plan, err);
        }
    }
    return FZ_OK;
}

static fz_code fill_bytes(const fz_parquet_plan *plan, fz_column *column, const uint8_t *valid,
                          size_t slots, fz_err *err) {
    const fz_parquet_column_reader *r = plan->reader;
    bool fixed = plan->conversion == FZ_PARQUET_CONVERT_FIXED_BYTES;
    const fz_buf *bytes = fixed ? &r->values.fixed : &r->values.data;
    if ((int64_t)bytes->size > column->data_capacity - column->data_size) {
        FZ_TRY(fz_column_grow_data(column, (int64_t)bytes->size, err));
    }
    if (bytes->size) {
        memcpy(column->data + column->data_size, bytes->data, bytes->size);
    }
    const uint32_t *ends = (const uint32_t *)(const void *)r->values.ends.data;
    int32_t base = (int32_t)column->data_size;
    int32_t *offsets = column->offsets + column->length + 1;
    int32_t end = base;
    size_t next = 0;
    for (size_t i = 0; i < slots; i++) {
        if (valid[i]) {
            end = base + (fixed ? (int32_t)((next + 1) * r->decoder.width) : (int32_t)ends[next]);
            next++;
        }
        offsets[i] = end;
    }
    column->data_size += (int64_t)bytes->size;
    return FZ_OK;
}

static fz_code assemble_leaf(const fz_parquet_plan *plan, fz_column *column, int64_t slots,
                             fz_buf *scratch, fz_err *err) {
    size_t valid = 0;
    FZ_TRY(find_valid(plan, slots, scratch, &valid, err));
    if (valid != plan->reader->value_count) {
        return disagree(plan, err);
    }
    if (slots == 0) {
        return FZ_OK; // the column may have no arrays yet
    }
    FZ_TRY(fz_column_grow(column, slots, err));
    size_t count = (size_t)slots;
    const uint8_t *there = scratch->data;
    const uint8_t *from = plan->reader->values.fixed.data;
    switch (plan->conversion) {
    case FZ_PARQUET_CONVERT_BOOLEAN:
        fill_booleans(column, there, count, from);
        break;
    case FZ_PARQUET_CONVERT_COPY:
        fill_copy(column, there, valid, count, from);
        break;
    case FZ_PARQUET_CONVERT_BYTES:
    case FZ_PARQUET_CONVERT_FIXED_BYTES:
        FZ_TRY(fill_bytes(plan, column, there, count, err));
        break;
    default:
        FZ_TRY(fill_converted(plan, column, there, count, err));
    }
    set_validity(column, there, valid, count);
    return FZ_OK;
}

/** Offsets of a list or map: one slot each, its items counted. */
static fz_code assemble_list(const fz_parquet_plan *plan, fz_column *column, int64_t slots,
                             fz_buf *scratch, fz_err *err) {
    size_t valid = 0;
    FZ_TRY(find_valid(plan, slots, scratch, &valid, err));
    if (slots == 0) {
        return FZ_OK; // nor do the items
    }
    FZ_TRY(fz_column_grow(column, slots, err));
    const fz_parquet_column_reader *r = plan->reader;
    const fz_parquet_view *view = plan->view;
    int64_t base = column->children[0].length;
    int64_t items = 0;
    int64_t slot = -1;
    bool open = false;
    int32_t *offsets = column->offsets + column->length + 1;
    for (size_t i = 0; i < r->level_count; i++) {
        uint8_t rep = level(&r->rep, i);
        uint8_t def = level(&r->def, i);
        if (def < view->slot_def) {
            continue;
        }
        if (rep <= view->slot_rep) {
            if (slot >= 0) {
                offsets[slot] = (int32_t)(base + items);
            }
            slot++;
            open = def >= view->item_def;
        } else if (!open || def < view->item_def) {
            return disagree(plan, err); // goes on with a list that is null or empty
        }
        // Deeper repetitions belong to lists inside the item.
        items += def >= view->item_def && rep <= view->slot_rep + 1;
    }
    if (slot >= 0) {
        offsets[slot] = (int32_t)(base + items);
    }
    if (base + items > INT32_MAX) {
        return fz_err_set(err, FZ_LIMIT, "parquet column \"%.*s\" has 2^31 items in one batch",
                          FZ_STR_ARGS(view->name));
    }
    set_validity(column, scratch->data, valid, (size_t)slots);
    for (size_t i = 0; i < plan->child_count; i++) {
        FZ_TRY(fz_parquet_plan_assemble(&plan->children[i], &column->children[i], items, scratch,
                                        err));
    }
    return FZ_OK;
}

fz_code fz_parquet_plan_assemble(const fz_parquet_plan *plan, fz_column *column, int64_t slots,
                                 fz_buf *scratch, fz_err *err) {
    if (!plan->view) {
        return fz_column_append_nulls(column, slots, err);
    }
    switch (plan->field->type.kind) {
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return assemble_list(plan, column, slots, scratch, err);
    case FZ_TYPE_STRUCT: {
        size_t valid = 0;
        FZ_TRY(find_valid(plan, slots, scratch, &valid, err));
        FZ_TRY(fz_column_grow(column, slots, err));
        set_validity(column, scratch->data, valid, (size_t)slots);
        for (size_t i = 0; i < plan->child_count; i++) {
            FZ_TRY(fz_parquet_plan_assemble(&plan->children[i], &column->children[i], slots,
                                            scratch, err));
        }
        return FZ_OK;
    }
    default:
        return assemble_leaf(plan, column, slots, scratch, err);
    }
}
