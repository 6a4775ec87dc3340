// SPDX-License-Identifier: Apache-2.0
// Computes levels one schema node at a time: nulls, then lists, then what is below.
#include "format/parquet/shred.h"

#include "base/memory.h"

enum { LEVEL_MAX = 255 };

fz_code fz_parquet_node_init(fz_parquet_node *node, const fz_field *field, int def, int rep,
                             int *leaf, fz_err *err) {
    const fz_type *type = &field->type;
    bool repeated = type->kind == FZ_TYPE_LIST || type->kind == FZ_TYPE_MAP;
    def += field->required ? 0 : 1;
    *node = (fz_parquet_node){.field = field, .leaf = -1};
    if (def + repeated > LEVEL_MAX) {
        return fz_err_set(err, FZ_INVALID, "column \"%.*s\" is nested too deeply",
                          FZ_STR_ARGS(field->name));
    }
    node->def = (uint8_t)def;
    if (!fz_type_is_nested(type)) {
        node->rep = (uint8_t)rep;
        node->leaf = (*leaf)++;
        return FZ_OK;
    }
    if (type->field_count == 0) {
        return fz_err_set(err, FZ_INVALID,
                          "struct \"%.*s\" has no fields, which parquet cannot hold",
                          FZ_STR_ARGS(field->name));
    }
    rep += repeated;
    node->rep = (uint8_t)rep;
    node->children = fz_calloc(type->field_count, sizeof *node->children);
    node->child_count = type->field_count;
    if (repeated) {
        node->items = fz_calloc(1, sizeof *node->items);
        node->items->field = field;
    }
    for (size_t i = 0; i < type->field_count; i++) {
        FZ_TRY(fz_parquet_node_init(&node->children[i], &type->fields[i], def + repeated, rep, leaf,
                                    err));
    }
    return FZ_OK;
}

void fz_parquet_node_deinit(fz_parquet_node *node) {
    for (size_t i = 0; i < node->child_count; i++) {
        fz_parquet_node_deinit(&node->children[i]);
    }
    if (node->items) {
        fz_parquet_node_deinit(node->items);
        fz_free(node->items);
    }
    fz_free(node->children);
    fz_free(node->rep_scratch);
    fz_free(node->def_scratch);
    fz_free(node->pos_scratch);
    *node = (fz_parquet_node){0};
}

size_t fz_parquet_node_memory(const fz_parquet_node *node) {
    size_t size = node->capacity * 6 + (node->items ? node->items->capacity * 6 : 0);
    for (size_t i = 0; i < node->child_count; i++) {
        size += fz_parquet_node_memory(&node->children[i]);
    }
    return size;
}

static fz_code room(fz_parquet_node *node, size_t count, fz_err *err) {
    if (count <= node->capacity) {
        return FZ_OK;
    }
    size_t capacity = count + count / 4 + 64;
    uint8_t *rep = fz_try_realloc(node->rep_scratch, capacity, 1);
    node->rep_scratch = rep ? rep : node->rep_scratch;
    uint8_t *def = fz_try_realloc(node->def_scratch, capacity, 1);
    node->def_scratch = def ? def : node->def_scratch;
    int32_t *pos = fz_try_realloc(node->pos_scratch, capacity, sizeof *pos);
    node->pos_scratch = pos ? pos : node->pos_scratch;
    if (!rep || !def || !pos) {
        return fz_err_set(err, FZ_LIMIT, "no memory for %zu levels of column \"%.*s\"", count,
                          FZ_STR_ARGS(node->field->name));
    }
    node->capacity = capacity;
    return FZ_OK;
}

static inline int32_t slot_row(const fz_parquet_slots *slots, size_t i) {
    return slots->pos ? slots->pos[i] : (int32_t)(slots->first + (int64_t)i);
}

static inline uint8_t slot_def(const fz_parquet_slots *slots, size_t i) {
    return slots->def ? slots->def[i] : slots->def_value;
}

/** All values of the contiguous slots are there. */
static bool all_valid(const fz_column *column, const fz_parquet_slots *slots) {
    if (column->null_count == 0 || !column->validity) {
        return true;
    }
    if (slots->pos) {
        return false;
    }
    int64_t i = slots->first;
    int64_t end = slots->first + (int64_t)slots->count;
    for (; i < end && (i & 7); i++) {
        if (fz_column_is_null(column, i)) {
            return false;
        }
    }
    for (; i + 8 <= end; i += 8) {
        if (column->validity[i >> 3] != 0xff) {
            return false;
        }
    }
    for (; i < end; i++) {
        if (fz_column_is_null(column, i)) {
            return false;
        }
    }
    return true;
}

/** Slots of an optional field: one definition level more where a value is there, ended where not.
 */
static fz_code apply_nulls(fz_parquet_node *node, const fz_column *column,
                           const fz_parquet_slots *slots, fz_parquet_slots *out, fz_err *err) {
    *out = *slots;
    bool valid = all_valid(column, slots);
    if (valid && !slots->def && !slots->pos) {
        out->def_value++;
        return FZ_OK;
    }
    FZ_TRY(room(node, slots->count, err));
    uint8_t *def = node->def_scratch;
    int32_t *pos = node->pos_scratch;
    for (size_t i = 0; i < slots->count; i++) {
        int32_t row = slot_row(slots, i);
        bool there = row >= 0 && (valid || !fz_column_is_null(column, row));
        def[i] = (uint8_t)(slot_def(slots, i) + there);
        pos[i] = there ? row : -1;
    }
    out->def = def;
    out->pos = valid && !slots->pos ? NULL : pos;
    return FZ_OK;
}

/** Slots of a list's items: one level more, the first item of each list continues the row's
 * repetition. */
static fz_code expand(fz_parquet_node *node, fz_parquet_node *scratch, const fz_column *column,
                      const fz_parquet_slots *slots, fz_parquet_slots *out, fz_err *err) {
    const int32_t *offsets = column->offsets;
    size_t total = 0;
    for (size_t i = 0; i < slots->count; i++) {
        int32_t row = slot_row(slots, i);
        int32_t items = row < 0 ? 0 : offsets[row + 1] - offsets[row];
        total += items > 0 ? (size_t)items : 1;
    }
    FZ_TRY(room(scratch, total, err));
    uint8_t *rep = scratch->rep_scratch;
    uint8_t *def = scratch->def_scratch;
    int32_t *pos = scratch->pos_scratch;
    size_t n = 0;
    for (size_t i = 0; i < slots->count; i++) {
        int32_t row = slot_row(slots, i);
        uint8_t first = slots->rep ? slots->rep[i] : 0;
        uint8_t level = slot_def(slots, i);
        int32_t from = row < 0 ? 0 : offsets[row];
        int32_t to = row < 0 ? 0 : offsets[row + 1];
        if (from >= to) {
            rep[n] = first;
            def[n] = level;
            pos[n++] = -1;
            continue;
        }
        for (int32_t item = from; item < to; item++, n++) {
            rep[n] = item == from ? first : node->rep;
            def[n] = (uint8_t)(level + 1);
            pos[n] = item;
        }
    }
    *out = (fz_parquet_slots){.count = n, .rep = rep, .def = def, .pos = pos};
    return FZ_OK;
}

fz_code fz_parquet_node_shred(fz_parquet_node *node, const fz_column *column,
                              const fz_parquet_slots *slots, fz_parquet_shred_fn fn, void *context,
                              fz_err *err) {
    fz_parquet_slots own = *slots;
    if (!node->field->required) {
        FZ_TRY(apply_nulls(node, column, slots, &own, err));
    }
    if (node->leaf >= 0) {
        return fn(context, node->leaf, column, &own, err);
    }
    if (node->field->type.kind != FZ_TYPE_STRUCT) {
        // own may live in this node's scratch, so the items take a second set.
        fz_parquet_slots items;
        FZ_TRY(expand(node, node->items, column, &own, &items, err));
        own = items;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        FZ_TRY(fz_parquet_node_shred(&node->children[i], &column->children[i], &own, fn, context,
                                     err));
    }
    return FZ_OK;
}
