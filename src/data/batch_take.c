// SPDX-License-Identifier: Apache-2.0
// Gathering rows of one batch into another, in runs where the index allows.
#include "data/batch.h"

static void set_bit(uint8_t *bits, int64_t at) {
    bits[at >> 3] |= (uint8_t)(1u << (at & 7));
}

static unsigned get_bit(const uint8_t *bits, int64_t at) {
    return bits[at >> 3] >> (at & 7) & 1u;
}

static void set_bits(uint8_t *bits, int64_t at, int64_t count) {
    for (; count && (at & 7); at++, count--) {
        set_bit(bits, at);
    }
    memset(bits + (at >> 3), 0xff, (size_t)(count >> 3));
    at += count & ~INT64_C(7);
    for (count &= 7; count; at++, count--) {
        set_bit(bits, at);
    }
}

// Copy `count` bits over whatever stands at the destination; answers how many of them are 1.
static int64_t copy_bits(uint8_t *to, int64_t to_at, const uint8_t *from, int64_t from_at,
                         int64_t count) {
    int64_t ones = 0;
    int64_t i = 0;
    if (((to_at | from_at) & 7) == 0) {
        for (; i + 8 <= count; i += 8) {
            uint8_t byte = from[(from_at + i) >> 3];
            to[(to_at + i) >> 3] = byte;
            ones += __builtin_popcount(byte);
        }
    }
    for (; i < count; i++) {
        int64_t at = to_at + i;
        unsigned bit = get_bit(from, from_at + i);
        to[at >> 3] = (uint8_t)((to[at >> 3] & ~(1u << (at & 7))) | (bit << (at & 7)));
        ones += bit;
    }
    return ones;
}

// Validity of rows [start, start + count) behind the end of `to`.
static void take_validity_range(fz_column *to, const fz_column *from, int64_t start,
                                int64_t count) {
    if (!to->validity) {
        return;
    }
    if (!from->validity || from->null_count == 0) {
        set_bits(to->validity, to->length, count);
    } else {
        to->null_count += count - copy_bits(to->validity, to->length, from->validity, start, count);
    }
}

static fz_code take_range(fz_column *to, const fz_column *from, int64_t start, int64_t count,
                          fz_err *err);

static fz_code take_offsets_range(fz_column *to, const fz_column *from, int64_t start,
                                  int64_t count, fz_err *err) {
    int32_t first = from->offsets[start];
    int32_t size = from->offsets[start + count] - first;
    int32_t base;
    fz_type_kind kind = from->field->type.kind;
    if (kind == FZ_TYPE_STRING || kind == FZ_TYPE_BINARY) {
        if (size > to->data_capacity - to->data_size) {
            FZ_TRY(fz_column_grow_data(to, size, err));
        }
        if (size) {
            memcpy(to->data + to->data_size, from->data + first, (size_t)size);
        }
        base = (int32_t)to->data_size;
        to->data_size += size;
    } else {
        base = (int32_t)to->children[0].length;
        for (size_t i = 0; i < from->child_count; i++) {
            FZ_TRY(take_range(&to->children[i], &from->children[i], first, size, err));
        }
    }
    for (int64_t i = 1; i <= count; i++) {
        to->offsets[to->length + i] = from->offsets[start + i] - first + base;
    }
    return FZ_OK;
}

static fz_code take_range(fz_column *to, const fz_column *from, int64_t start, int64_t count,
                          fz_err *err) {
    if (count == 0) {
        return FZ_OK;
    }
    if (count > to->capacity - to->length) {
        FZ_TRY(fz_column_grow(to, count, err));
    }
    switch (from->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        copy_bits((uint8_t *)to->values, to->length, (const uint8_t *)from->values, start, count);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        FZ_TRY(take_offsets_range(to, from, start, count, err));
        break;
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < from->child_count; i++) {
            FZ_TRY(take_range(&to->children[i], &from->children[i], start, count, err));
        }
        break;
    default:
        memcpy((uint8_t *)to->values + to->length * to->width,
               (const uint8_t *)from->values + start * from->width, (size_t)(count * from->width));
        break;
    }
    take_validity_range(to, from, start, count);
    to->length += count;
    return FZ_OK;
}

static void take_validity(fz_column *to, const fz_column *from, const uint32_t *index,
                          size_t count) {
    if (!to->validity) {
        return;
    }
    if (!from->validity || from->null_count == 0) {
        set_bits(to->validity, to->length, (int64_t)count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t at = to->length + (int64_t)i;
        unsigned bit = get_bit(from->validity, index[i]);
        to->validity[at >> 3] |= (uint8_t)(bit << (at & 7)); // bits behind length are 0
        to->null_count += !bit;
    }
}

static void take_fixed(fz_column *to, const fz_column *from, const uint32_t *index, size_t count) {
    uint8_t *out = (uint8_t *)to->values + to->length * to->width;
    const uint8_t *in = (const uint8_t *)from->values;
    size_t width = (size_t)from->width;
    switch (width) {
    case 4:
        for (size_t i = 0; i < count; i++) {
            memcpy(out + i * 4, in + (size_t)index[i] * 4, 4);
        }
        break;
    case 8:
        for (size_t i = 0; i < count; i++) {
            memcpy(out + i * 8, in + (size_t)index[i] * 8, 8);
        }
        break;
    case 16:
        for (size_t i = 0; i < count; i++) {
            memcpy(out + i * 16, in + (size_t)index[i] * 16, 16);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            memcpy(out + i * width, in + (size_t)index[i] * width, width);
        }
        break;
    }
}

static fz_code take_bytes(fz_column *to, const fz_column *from, const uint32_t *index, size_t count,
                          fz_err *err) {
    int64_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += from->offsets[(size_t)index[i] + 1] - from->offsets[index[i]];
    }
    if (size > to->data_capacity - to->data_size) {
        FZ_TRY(fz_column_grow_data(to, size, err));
    }
    int64_t at = to->data_size;
    for (size_t i = 0; i < count; i++) {
        int32_t first = from->offsets[index[i]];
        int32_t length = from->offsets[(size_t)index[i] + 1] - first;
        if (length) {
            memcpy(to->data + at, from->data + first, (size_t)length);
        }
        at += length;
        to->offsets[to->length + (int64_t)i + 1] = (int32_t)at;
    }
    to->data_size = at;
    return FZ_OK;
}

// Lists and maps: one range of items for each run of neighbouring rows.
static fz_code take_lists(fz_column *to, const fz_column *from, const uint32_t *index, size_t count,
                          fz_err *err) {
    for (size_t i = 0; i < count;) {
        size_t run = 1;
        while (i + run < count && index[i + run] == index[i] + run) {
            run++;
        }
        FZ_TRY(take_range(to, from, index[i], (int64_t)run, err));
        i += run;
    }
    return FZ_OK;
}

static fz_code take(fz_column *to, const fz_column *from, const uint32_t *index, size_t count,
                    fz_err *err) {
    if ((int64_t)count > to->capacity - to->length) {
        FZ_TRY(fz_column_grow(to, (int64_t)count, err));
    }
    switch (from->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        for (size_t i = 0; i < count; i++) {
            copy_bits((uint8_t *)to->values, to->length + (int64_t)i, (const uint8_t *)from->values,
                      index[i], 1);
        }
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        FZ_TRY(take_bytes(to, from, index, count, err));
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return take_lists(to, from, index, count, err);
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < from->child_count; i++) {
            FZ_TRY(take(&to->children[i], &from->children[i], index, count, err));
        }
        break;
    default:
        take_fixed(to, from, index, count);
        break;
    }
    take_validity(to, from, index, count);
    to->length += (int64_t)count;
    return FZ_OK;
}

fz_code fz_batch_take(fz_batch *batch, const fz_batch *from, const uint32_t *index, size_t count,
                      fz_err *err) {
    FZ_ASSERT(batch->column_count == from->column_count);
    if (count == 0) {
        return FZ_OK;
    }
    bool run = true;
    uint32_t most = index[0];
    for (size_t i = 1; i < count; i++) {
        run &= index[i] == index[0] + i;
        most = index[i] > most ? index[i] : most;
    }
    FZ_ASSERT((int64_t)most < from->rows);
    int64_t before = batch->rows;
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_column *to = &batch->columns[i];
        fz_code code = run ? take_range(to, &from->columns[i], index[0], (int64_t)count, err)
                           : take(to, &from->columns[i], index, count, err);
        if (code != FZ_OK) {
            fz_batch_truncate(batch, before);
            return code;
        }
    }
    batch->rows += (int64_t)count;
    return FZ_OK;
}
