// SPDX-License-Identifier: Apache-2.0
// Duplicate keys of one map: found by comparing a few, by sorting many; removed from the columns in
// one pass.
#define _GNU_SOURCE // qsort_r
#include "data/map_settle.h"

#include <stdlib.h>

#include "base/memory.h"

#define FEW 16 // entries that are compared with each other

// --- keys ---

static fz_str key_bytes(const fz_column *key, int64_t row) {
    if (key->field->type.kind == FZ_TYPE_STRING || key->field->type.kind == FZ_TYPE_BINARY) {
        return fz_column_bytes(key, row);
    }
    return fz_str_make((const uint8_t *)key->values + row * key->width, (size_t)key->width);
}

static bool bit(const void *bits, int64_t row) {
    return ((const uint8_t *)bits)[row >> 3] >> (row & 7) & 1;
}

static bool same_key(const fz_column *key, int64_t a, int64_t b) {
    if (key->field->type.kind == FZ_TYPE_BOOLEAN) {
        return bit(key->values, a) == bit(key->values, b);
    }
    return fz_str_equal(key_bytes(key, a), key_bytes(key, b));
}

static int compare_rows(const void *a, const void *b, void *context) {
    const fz_column *key = (const fz_column *)context;
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    int order = 0;
    if (key->field->type.kind == FZ_TYPE_BOOLEAN) {
        order = (int)bit(key->values, left) - (int)bit(key->values, right);
    } else {
        order = fz_str_compare(key_bytes(key, left), key_bytes(key, right));
    }
    return order ? order : (left > right) - (left < right);
}

// --- removal ---

// Keep of the rows [start, start + count) those with keep[i]; they move together, the column
// shrinks.
static fz_code keep_rows(fz_column *column, int64_t start, const uint8_t *keep, int64_t count,
                         fz_err *err);

static void keep_bits(uint8_t *bits, int64_t start, const uint8_t *keep, int64_t count) {
    int64_t to = start;
    for (int64_t i = 0; i < count; i++) {
        bool value = bit(bits, start + i);
        bits[(start + i) >> 3] =
            (uint8_t)(bits[(start + i) >> 3] & ~(1u << ((start + i) & 7))); // freed bits are 0
        if (keep[i]) {
            bits[to >> 3] = (uint8_t)(bits[to >> 3] | (unsigned)value << (to & 7));
            to++;
        }
    }
}

static void keep_bytes(fz_column *column, int64_t start, const uint8_t *keep, int64_t count) {
    int64_t to = start;
    int32_t end = column->offsets[start];
    for (int64_t i = 0; i < count; i++) {
        int32_t from = column->offsets[start + i];
        int32_t size = column->offsets[start + i + 1] - from;
        if (keep[i]) {
            if (size > 0) { // a column of empty values has no data at all
                memmove(column->data + end, column->data + from, (size_t)size);
            }
            end += size;
            column->offsets[++to] = end;
        }
    }
    column->data_size = end;
}

static fz_code keep_items(fz_column *column, int64_t start, const uint8_t *keep, int64_t count,
                          fz_err *err) {
    int32_t first = column->offsets[start];
    int64_t items = column->offsets[start + count] - first;
    uint8_t *marks = (uint8_t *)fz_try_realloc(NULL, (size_t)items + 1, 1);
    if (!marks) {
        return fz_err_set(err, FZ_LIMIT, "no memory for %lld items of a map", (long long)items);
    }
    int64_t to = start;
    int32_t end = first;
    for (int64_t i = 0; i < count; i++) {
        int32_t from = column->offsets[start + i];
        int32_t size = column->offsets[start + i + 1] - from;
        memset(marks + (from - first), keep[i], (size_t)size);
        if (keep[i]) {
            end += size;
            // Offsets behind `to` that were not read yet are at higher rows: to <= start + i.
            column->offsets[++to] = end;
        }
    }
    fz_code code = FZ_OK;
    for (size_t i = 0; i < column->child_count && code == FZ_OK; i++) {
        code = keep_rows(&column->children[i], first, marks, items, err);
    }
    fz_free(marks);
    return code;
}

static void keep_values(fz_column *column, int64_t start, const uint8_t *keep, int64_t count) {
    uint8_t *values = (uint8_t *)column->values;
    int64_t to = start;
    for (int64_t i = 0; i < count; i++) {
        if (keep[i]) {
            memmove(values + to * column->width, values + (start + i) * column->width,
                    (size_t)column->width);
            to++;
        }
    }
}

static fz_code keep_rows(fz_column *column, int64_t start, const uint8_t *keep, int64_t count,
                         fz_err *err) {
    if (count == 0) {
        return FZ_OK;
    }
    int64_t kept = 0;
    int64_t lost_nulls = 0;
    for (int64_t i = 0; i < count; i++) {
        kept += keep[i];
        lost_nulls += !keep[i] && fz_column_is_null(column, start + i);
    }
    switch (column->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        keep_bits((uint8_t *)column->values, start, keep, count);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        keep_bytes(column, start, keep, count);
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        FZ_TRY(keep_items(column, start, keep, count, err));
        break;
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < column->child_count; i++) {
            FZ_TRY(keep_rows(&column->children[i], start, keep, count, err));
        }
        break;
    default:
        keep_values(column, start, keep, count);
        break;
    }
    if (column->validity) {
        keep_bits(column->validity, start, keep, count);
        column->null_count -= lost_nulls;
    }
    column->length = start + kept;
    return FZ_OK;
}

// --- finding ---

// Clears keep[] of entries whose key comes again; the number of those.
static int64_t mark_few(const fz_column *key, int64_t start, uint8_t *keep, int64_t count) {
    int64_t lost = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = i + 1; j < count && keep[i]; j++) {
            if (same_key(key, start + i, start + j)) {
                keep[i] = 0;
                lost++;
            }
        }
    }
    return lost;
}

static int64_t mark_many(const fz_column *key, int64_t start, uint8_t *keep, int64_t count,
                         int64_t *rows) {
    int64_t lost = 0;
    for (int64_t i = 0; i < count; i++) {
        rows[i] = start + i;
    }
    qsort_r(rows, (size_t)count, sizeof(*rows), compare_rows, (void *)(uintptr_t)key);
    for (int64_t i = 0; i + 1 < count; i++) {
        if (same_key(key, rows[i], rows[i + 1])) {
            keep[rows[i] - start] = 0;
            lost++;
        }
    }
    return lost;
}

static fz_code settle(fz_column *map, int64_t start, uint8_t *keep, int64_t count, int64_t *rows,
                      fz_err *err) {
    const fz_column *key = &map->children[0];
    memset(keep, 1, (size_t)count);
    int64_t lost =
        rows ? mark_many(key, start, keep, count, rows) : mark_few(key, start, keep, count);
    if (lost == 0) {
        return FZ_OK;
    }
    FZ_TRY(keep_rows(&map->children[0], start, keep, count, err));
    return keep_rows(&map->children[1], start, keep, count, err);
}

fz_code fz_map_column_settle(fz_column *map, int64_t start, fz_err *err) {
    const fz_column *key = &map->children[0];
    int64_t count = key->length - start;
    if (count < 2 || fz_type_is_nested(&key->field->type)) {
        return FZ_OK;
    }
    if (count <= FEW) {
        uint8_t keep[FEW];
        return settle(map, start, keep, count, NULL, err);
    }
    int64_t *rows = (int64_t *)fz_try_realloc(NULL, (size_t)count, sizeof(*rows) + 1);
    if (!rows) {
        return fz_err_set(err, FZ_LIMIT, "no memory for %lld keys of a map", (long long)count);
    }
    fz_code code = settle(map, start, (uint8_t *)(rows + count), count, rows, err);
    fz_free(rows);
    return code;
}
