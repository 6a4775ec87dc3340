// SPDX-License-Identifier: Apache-2.0
// Grouping rows by partition tuple: columns are transformed whole, equal neighbours skip the hash
// table.
#include "data/transform.h"

#include <math.h>

#include "base/codec/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "data/transform_steps.h"

#define CHUNK 4096 // rows whose keys are in memory at once

// A partition field bound to its column.
typedef struct source {
    fz_transform transform;
    fz_str name;
    const fz_column *column; // NULL: always null (void)
    bool partial;            // some values have no result
    const fz_column **parents;
    size_t parent_count;
    fz_type_kind result_kind;
    fz_map interned;       // distinct byte values; a key holds the index + 1
    FZ_VEC(fz_str) values; // by that index; bytes are the map's
    size_t last;           // index of the last one met
} source;

/*
 * The key of a row is `words` integers: one a field (the value itself, or the index of interned
 * bytes), then the fields' null bits. Equal keys are equal tuples, so the table never compares
 * values.
 */
struct fz_partition_router {
    source *sources;
    size_t source_count;
    size_t words;
    int64_t *keys;              // [CHUNK * words] of the rows at work
    int64_t *loaded;            // [CHUNK] values of one column
    FZ_VEC(int64_t) group_keys; // words a group
    FZ_VEC(const fz_value *) tuples;
    uint32_t *slots; // group + 1, 0 empty
    size_t slot_count;
    fz_arena arena;
};

// --- making ---

static bool bind(fz_arena *arena, const fz_column *columns, size_t count, int32_t id, size_t depth,
                 source *out) {
    for (size_t i = 0; i < count; i++) {
        const fz_column *column = &columns[i];
        bool here = column->field->id == id;
        if (here) {
            out->column = column;
            out->parents = FZ_ARENA_ARRAY(arena, const fz_column *, depth + 1);
            out->parent_count = depth;
            return true;
        }
        if (column->field->type.kind == FZ_TYPE_STRUCT &&
            bind(arena, column->children, column->child_count, id, depth + 1, out)) {
            out->parents[depth] = column;
            return true;
        }
    }
    return false;
}

/** Whether some values of a type have no result under the transform. */
static bool is_partial(fz_transform_kind transform, fz_type_kind type) {
    if (transform == FZ_TRANSFORM_TRUNCATE) {
        return type == FZ_TYPE_INT || type == FZ_TYPE_LONG || type == FZ_TYPE_DECIMAL;
    }
    return transform == FZ_TRANSFORM_HOUR &&
           (type == FZ_TYPE_TIMESTAMP || type == FZ_TYPE_TIMESTAMPTZ);
}

static fz_code source_init(fz_partition_router *router, const fz_partition_field *field,
                           fz_batch *batch, source *out, fz_err *err) {
    out->transform = field->transform;
    if (field->transform.kind == FZ_TRANSFORM_VOID) {
        out->result_kind = field->result_type.kind; // its source column may be gone
        return FZ_OK;
    }
    if (!bind(&router->arena, batch->columns, batch->column_count, field->source_id, 0, out)) {
        return fz_err_set(err, FZ_INVALID,
                          "partition field \"%.*s\" has no source column with id %d",
                          FZ_STR_ARGS(field->name), field->source_id);
    }
    fz_type result;
    fz_code code = fz_transform_result(field->transform, &out->column->field->type, &result, err);
    if (code != FZ_OK) {
        return fz_err_prepend(err, "partition field \"%.*s\"", FZ_STR_ARGS(field->name));
    }
    out->result_kind = result.kind;
    out->name = fz_arena_str(&router->arena, field->name);
    out->partial = is_partial(field->transform.kind, out->column->field->type.kind);
    return FZ_OK;
}

fz_code fz_partition_router_new(const fz_partition_spec *spec, fz_batch *batch,
                                fz_partition_router **out, fz_err *err) {
    fz_partition_router *router = (fz_partition_router *)fz_calloc(1, sizeof(*router));
    router->source_count = spec->field_count;
    router->sources = (source *)fz_calloc(spec->field_count + 1, sizeof(source));
    router->words = spec->field_count + (spec->field_count + 63) / 64;
    for (size_t i = 0; i < spec->field_count; i++) {
        fz_code code = source_init(router, &spec->fields[i], batch, &router->sources[i], err);
        if (code != FZ_OK) {
            fz_partition_router_free(router);
            return code;
        }
    }
    router->keys = (int64_t *)fz_calloc(CHUNK * (router->words + 1), sizeof(int64_t));
    router->loaded = (int64_t *)fz_calloc(CHUNK, sizeof(int64_t));
    *out = router;
    return FZ_OK;
}

void fz_partition_router_free(fz_partition_router *router) {
    if (!router) {
        return;
    }
    for (size_t i = 0; i < router->source_count; i++) {
        fz_map_deinit(&router->sources[i].interned);
        fz_vec_deinit(&router->sources[i].values);
    }
    fz_free(router->sources);
    fz_free(router->keys);
    fz_free(router->loaded);
    fz_free(router->slots);
    fz_vec_deinit(&router->group_keys);
    fz_vec_deinit(&router->tuples);
    fz_arena_deinit(&router->arena);
    fz_free(router);
}

// --- keys ---

static fz_code at_row(fz_err *err, int64_t row, fz_code code) {
    if (err && code == FZ_LIMIT) {
        err->offset = row;
    }
    return code;
}

static int64_t intern(source *s, fz_str bytes) {
    uintptr_t found = (uintptr_t)fz_map_find(&s->interned, bytes);
    if (!found) {
        found = s->values.count + 1;
        (void)fz_map_put(&s->interned, bytes, (void *)found);
        // The map owns the copy and does not move it.
        fz_vec_push(&s->values, s->interned.entries[s->interned.count - 1].key);
    }
    return (int64_t)found - 1;
}

static bool row_is_null(const source *s, int64_t row) {
    if (!s->column) {
        return true;
    }
    for (size_t i = 0; i < s->parent_count; i++) {
        if (fz_column_is_null(s->parents[i], row)) {
            return true;
        }
    }
    return fz_column_is_null(s->column, row);
}

// Bit patterns, so that equal keys mean one partition: all NaN are one, -0.0 is not 0.0.
static int64_t float_key(float value) {
    int32_t bits;
    value = isnan(value) ? NAN : value;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static int64_t double_key(double value) {
    int64_t bits;
    value = isnan(value) ? (double)NAN : value;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Values of a column whose values fit an integer, placeholders of nulls included.
static void load(const fz_column *column, int64_t from, size_t count, int64_t *out) {
    size_t start = (size_t)from;
    switch (column->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        for (size_t i = 0; i < count; i++) {
            out[i] = ((const uint8_t *)column->values)[(start + i) >> 3] >> ((start + i) & 7) & 1;
        }
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        for (size_t i = 0; i < count; i++) {
            out[i] = ((const int32_t *)column->values)[start + i];
        }
        break;
    case FZ_TYPE_FLOAT:
        for (size_t i = 0; i < count; i++) {
            out[i] = float_key(((const float *)column->values)[start + i]);
        }
        break;
    case FZ_TYPE_DOUBLE:
        for (size_t i = 0; i < count; i++) {
            out[i] = double_key(((const double *)column->values)[start + i]);
        }
        break;
    default:
        memcpy(out, (const int64_t *)column->values + start, count * sizeof(int64_t));
        break;
    }
}

static fz_code transform_integers(const source *s, int64_t *values, const int64_t *nulls,
                                  size_t stride, int64_t null_bit, int64_t from, size_t count,
                                  fz_err *err) {
    fz_transform_kind kind = s->transform.kind;
    fz_type_kind type = s->column->field->type.kind;
    if (kind == FZ_TRANSFORM_IDENTITY) {
        return FZ_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (nulls[i * stride] & null_bit) {
            continue;
        }
        fz_code code = FZ_OK;
        if (kind == FZ_TRANSFORM_BUCKET) {
            values[i] = fz_transform_bucket_integer(s->transform.parameter, type, values[i]);
        } else if (kind == FZ_TRANSFORM_TRUNCATE) {
            code = fz_transform_truncate_integer(s->transform.parameter, type, values[i],
                                                 &values[i], err);
        } else {
            code = fz_transform_time(kind, type, values[i], &values[i], err);
        }
        if (FZ_UNLIKELY(code != FZ_OK)) {
            return at_row(err, from + (int64_t)i, code);
        }
    }
    return FZ_OK;
}

static fz_code decimal_key(source *s, int64_t row, int64_t *out, fz_err *err) {
    fz_i128 value;
    memcpy(&value, (const uint8_t *)s->column->values + row * 16, 16);
    if (s->transform.kind == FZ_TRANSFORM_BUCKET) {
        *out = fz_transform_bucket_decimal(s->transform.parameter, value);
        return FZ_OK;
    }
    if (s->transform.kind == FZ_TRANSFORM_TRUNCATE) {
        fz_code code = fz_transform_truncate_decimal(s->transform.parameter,
                                                     &s->column->field->type, value, &value, err);
        if (code != FZ_OK) {
            return at_row(err, row, code);
        }
    }
    *out = intern(s, fz_str_make(&value, sizeof(value)));
    return FZ_OK;
}

static int64_t bytes_key(source *s, int64_t row) {
    fz_value value;
    fz_column_value(s->column, row, &value);
    fz_str bytes = value.as.bytes;
    if (s->transform.kind == FZ_TRANSFORM_BUCKET) {
        return fz_transform_bucket_bytes(s->transform.parameter, bytes.data, bytes.size);
    }
    if (s->transform.kind == FZ_TRANSFORM_TRUNCATE) {
        bytes = fz_transform_truncate_bytes(s->transform.parameter, value.kind, bytes);
    }
    // Neighbours are often equal.
    if (s->last >= s->values.count || !fz_str_equal(s->values.data[s->last], bytes)) {
        s->last = (size_t)intern(s, bytes);
    }
    return (int64_t)s->last;
}

static bool is_bytes(fz_type_kind kind) {
    return kind == FZ_TYPE_STRING || kind == FZ_TYPE_BINARY || kind == FZ_TYPE_FIXED ||
           kind == FZ_TYPE_UUID;
}

// Fill word `field` and its null bit of the keys of `count` rows.
static fz_code make_keys(fz_partition_router *router, size_t field, int64_t from, size_t count,
                         fz_err *err) {
    source *s = &router->sources[field];
    size_t stride = router->words;
    int64_t *out = router->keys + field;
    int64_t *nulls = router->keys + router->source_count + field / 64;
    int64_t bit = (int64_t)(UINT64_C(1) << (field % 64));
    bool nullable = !s->column || s->parent_count || s->column->null_count;
    if (nullable) {
        for (size_t i = 0; i < count; i++) {
            if (row_is_null(s, from + (int64_t)i)) {
                nulls[i * stride] |= bit;
            }
        }
    }
    if (!s->column) {
        return FZ_OK;
    }
    fz_type_kind kind = s->column->field->type.kind;
    bool bytes = is_bytes(kind);
    if (!bytes && kind != FZ_TYPE_DECIMAL) {
        load(s->column, from, count, router->loaded);
        FZ_TRY(transform_integers(s, router->loaded, nulls, stride, bit, from, count, err));
    }
    for (size_t i = 0; i < count; i++) {
        if (nulls[i * stride] & bit) {
            continue; // the word stays 0
        }
        if (bytes) {
            out[i * stride] = bytes_key(s, from + (int64_t)i);
        } else if (kind == FZ_TYPE_DECIMAL) {
            FZ_TRY(decimal_key(s, from + (int64_t)i, &out[i * stride], err));
        } else {
            out[i * stride] = router->loaded[i];
        }
    }
    return FZ_OK;
}

// --- groups ---

static fz_value word_value(const source *s, int64_t word, bool is_null) {
    fz_value value = {.kind = s->result_kind, .is_null = is_null};
    if (is_null) {
        return value;
    }
    switch (s->result_kind) {
    case FZ_TYPE_FLOAT: {
        int32_t bits = (int32_t)word;
        memcpy(&value.as.real32, &bits, sizeof(bits));
        break;
    }
    case FZ_TYPE_DOUBLE:
        memcpy(&value.as.real64, &word, sizeof(word));
        break;
    case FZ_TYPE_DECIMAL:
        memcpy(&value.as.decimal, s->values.data[word].data, 16);
        break;
    default:
        if (is_bytes(s->result_kind)) {
            value.as.bytes = s->values.data[word];
        } else {
            value.as.integer = word;
        }
        break;
    }
    return value;
}

static uint32_t add_group(fz_partition_router *router, const int64_t *key) {
    uint32_t group = (uint32_t)router->tuples.count;
    fz_value *tuple = FZ_ARENA_ARRAY(&router->arena, fz_value, router->source_count + 1);
    const int64_t *nulls = key + router->source_count;
    for (size_t i = 0; i < router->source_count; i++) {
        bool is_null = (uint64_t)nulls[i / 64] >> (i % 64) & 1;
        tuple[i] = word_value(&router->sources[i], key[i], is_null);
    }
    fz_vec_push(&router->tuples, tuple);
    for (size_t i = 0; i < router->words; i++) {
        fz_vec_push(&router->group_keys, key[i]);
    }
    return group;
}

static size_t slot_of(const fz_partition_router *router, const int64_t *key) {
    size_t size = router->words * sizeof(int64_t);
    size_t at = (size_t)fz_xxh3_64(key, size) & (router->slot_count - 1);
    while (router->slots[at]) {
        const int64_t *there =
            router->group_keys.data + (size_t)(router->slots[at] - 1) * router->words;
        if (memcmp(there, key, size) == 0) {
            break;
        }
        at = (at + 1) & (router->slot_count - 1);
    }
    return at;
}

static void grow_slots(fz_partition_router *router) {
    router->slot_count = router->slot_count ? router->slot_count * 2 : 64;
    fz_free(router->slots);
    router->slots = (uint32_t *)fz_calloc(router->slot_count, sizeof(uint32_t));
    for (size_t group = 0; group < router->tuples.count; group++) {
        const int64_t *key = router->group_keys.data + group * router->words;
        router->slots[slot_of(router, key)] = (uint32_t)group + 1;
    }
}

static uint32_t find_group(fz_partition_router *router, const int64_t *key) {
    if (router->tuples.count * 2 >= router->slot_count) {
        grow_slots(router);
    }
    size_t slot = slot_of(router, key);
    if (!router->slots[slot]) {
        router->slots[slot] = add_group(router, key) + 1;
    }
    return router->slots[slot] - 1;
}

fz_code fz_partition_router_route(fz_partition_router *router, int64_t from, int64_t count,
                                  uint32_t *groups, fz_err *err) {
    size_t words = router->words;
    if (router->source_count == 0) {
        if (count > 0 && router->tuples.count == 0) {
            (void)add_group(router, router->keys);
        }
        for (int64_t i = 0; i < count; i++) {
            groups[i] = 0;
        }
        return FZ_OK;
    }
    for (int64_t done = 0; done < count;) {
        size_t rows = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        memset(router->keys, 0, rows * words * sizeof(int64_t));
        for (size_t field = 0; field < router->source_count; field++) {
            FZ_TRY(make_keys(router, field, from + done, rows, err));
        }
        const int64_t *key = router->keys;
        uint32_t *out = groups + done;
        out[0] = find_group(router, key);
        for (size_t i = 1; i < rows; i++) {
            key += words;
            bool same = words == 2 ? key[0] == key[-2] && key[1] == key[-1]
                                   : memcmp(key, key - words, words * sizeof(*key)) == 0;
            out[i] = same ? out[i - 1] : find_group(router, key);
        }
        done += (int64_t)rows;
    }
    return FZ_OK;
}

fz_code fz_partition_router_check(const fz_partition_router *router, int64_t row, fz_err *err) {
    for (size_t i = 0; i < router->source_count; i++) {
        const source *s = &router->sources[i];
        if (FZ_LIKELY(!s->partial) || row_is_null(s, row)) {
            continue;
        }
        fz_value value, result;
        fz_column_value(s->column, row, &value);
        fz_code code =
            fz_transform_apply(s->transform, &s->column->field->type, &value, &result, err);
        if (FZ_UNLIKELY(code != FZ_OK)) {
            return fz_err_prepend(err, "partition field \"%.*s\"", FZ_STR_ARGS(s->name));
        }
    }
    return FZ_OK;
}

const fz_value *fz_partition_router_tuple(const fz_partition_router *router, uint32_t group) {
    FZ_ASSERT(group < router->tuples.count);
    return router->tuples.data[group];
}

size_t fz_partition_router_count(const fz_partition_router *router) {
    return router->tuples.count;
}
