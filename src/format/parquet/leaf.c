// SPDX-License-Identifier: Apache-2.0
// Collects a leaf's values into pages, decides about its dictionary, keeps its statistics.
#include "format/parquet/leaf.h"

#include <math.h>

#include "base/codec/hash.h"
#include "base/memory.h"
#include "data/decimal.h"
#include "format/parquet/page.h"

enum {
    FIRST_CHECK = 1024, // values after which a dictionary must promise to pay
    SKIP_GROUPS = 7,    // row groups without a try after two that did not pay
};

fz_parquet_physical fz_parquet_leaf_physical(const fz_type *type, int32_t *type_length) {
    *type_length = 0;
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        return FZ_PARQUET_BOOLEAN;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        return FZ_PARQUET_INT32;
    case FZ_TYPE_FLOAT:
        return FZ_PARQUET_FLOAT;
    case FZ_TYPE_DOUBLE:
        return FZ_PARQUET_DOUBLE;
    case FZ_TYPE_DECIMAL:
        if (type->precision <= 18) {
            return type->precision <= 9 ? FZ_PARQUET_INT32 : FZ_PARQUET_INT64;
        }
        *type_length = fz_decimal_fixed_size(type->precision);
        return FZ_PARQUET_FIXED;
    case FZ_TYPE_UUID:
        *type_length = 16;
        return FZ_PARQUET_FIXED;
    case FZ_TYPE_FIXED:
        *type_length = type->length;
        return FZ_PARQUET_FIXED;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        return FZ_PARQUET_BYTE_ARRAY;
    default: // LONG, TIME and the timestamps
        return FZ_PARQUET_INT64;
    }
}

static fz_parquet_dictionary_kind dictionary_kind(fz_parquet_physical physical) {
    switch (physical) {
    case FZ_PARQUET_INT32:
    case FZ_PARQUET_FLOAT:
        return FZ_PARQUET_DICTIONARY_32;
    case FZ_PARQUET_BYTE_ARRAY:
        return FZ_PARQUET_DICTIONARY_BYTES;
    case FZ_PARQUET_FIXED:
        return FZ_PARQUET_DICTIONARY_FIXED;
    default:
        return FZ_PARQUET_DICTIONARY_64;
    }
}

static void begin_group(fz_parquet_leaf *leaf) {
    leaf->dictionary_on = leaf->can_dictionary && leaf->skip_groups == 0;
    leaf->next_check = FIRST_CHECK;
    leaf->checked_values = leaf->checked_distinct = leaf->checked_total = 0;
}

void fz_parquet_leaf_init(fz_parquet_leaf *leaf, const fz_parquet_node *node, fz_str *path,
                          size_t path_count, const fz_parquet_options *options,
                          fz_parquet_workspace *work) {
    *leaf = (fz_parquet_leaf){
        .field = node->field,
        .options = options,
        .work = work,
        .path = path,
        .path_count = path_count,
        .max_def = node->def,
        .max_rep = node->rep,
    };
    const fz_type *type = &node->field->type;
    leaf->physical = fz_parquet_leaf_physical(type, &leaf->type_length);
    fz_parquet_bounds_type *bounds = &leaf->bounds_type;
    bounds->utf8 = type->kind == FZ_TYPE_STRING;
    bounds->fixed = leaf->physical == FZ_PARQUET_FIXED;
    switch (leaf->physical) {
    case FZ_PARQUET_FLOAT:
    case FZ_PARQUET_DOUBLE:
        bounds->order = FZ_PARQUET_ORDER_FLOAT;
        bounds->width = leaf->physical == FZ_PARQUET_FLOAT ? 4 : 8;
        break;
    case FZ_PARQUET_BYTE_ARRAY:
    case FZ_PARQUET_FIXED:
        bounds->order =
            type->kind == FZ_TYPE_DECIMAL ? FZ_PARQUET_ORDER_SIGNED : FZ_PARQUET_ORDER_BYTES;
        break;
    default:
        bounds->order = FZ_PARQUET_ORDER_INT;
        bounds->width = leaf->physical == FZ_PARQUET_BOOLEAN ? 1
                        : leaf->physical == FZ_PARQUET_INT32 ? 4
                                                             : 8;
    }
    leaf->can_dictionary = options->dictionary_size > 0 && leaf->physical != FZ_PARQUET_BOOLEAN;
    for (size_t i = 0; i < options->bloom_count; i++) {
        leaf->bloom |=
            options->bloom_ids[i] == node->field->id && leaf->physical != FZ_PARQUET_BOOLEAN;
    }
    // A number's entry takes as much again in the table, and indices of 18 bits save little.
    bool number = bounds->order <= FZ_PARQUET_ORDER_FLOAT;
    leaf->dictionary_limit = (size_t)options->dictionary_size / (number ? 2 : 1);
    fz_parquet_dictionary_init(&leaf->dictionary, dictionary_kind(leaf->physical),
                               (size_t)leaf->type_length, leaf->dictionary_limit);
    begin_group(leaf);
}

static void free_pages(fz_parquet_leaf *leaf) {
    for (size_t i = 0; i < leaf->pages.count; i++) {
        fz_parquet_page *page = &leaf->pages.data[i];
        fz_free(page->data);
        fz_free((void *)page->min.data);
        fz_free((void *)page->max.data);
    }
    fz_vec_reset(&leaf->pages);
}

void fz_parquet_leaf_deinit(fz_parquet_leaf *leaf) {
    free_pages(leaf);
    fz_vec_deinit(&leaf->pages);
    fz_vec_deinit(&leaf->hashes);
    fz_parquet_dictionary_deinit(&leaf->dictionary);
    fz_free(leaf->seen);
    fz_free(leaf->path);
    fz_buf_deinit(&leaf->rep);
    fz_buf_deinit(&leaf->def);
    fz_buf_deinit(&leaf->plain);
    fz_buf_deinit(&leaf->indices);
    fz_parquet_bounds_deinit(&leaf->group_bounds);
    fz_parquet_bounds_deinit(&leaf->file_bounds);
    *leaf = (fz_parquet_leaf){0};
}

int64_t fz_parquet_leaf_memory(const fz_parquet_leaf *leaf) {
    size_t size = leaf->rep.capacity + leaf->def.capacity + leaf->plain.capacity +
                  leaf->indices.capacity + fz_parquet_dictionary_memory(&leaf->dictionary) +
                  leaf->seen_capacity * sizeof *leaf->seen +
                  leaf->pages.capacity * sizeof *leaf->pages.data +
                  leaf->hashes.capacity * sizeof *leaf->hashes.data;
    return (int64_t)size + leaf->group_size + leaf->index_memory;
}

int64_t fz_parquet_leaf_size(const fz_parquet_leaf *leaf) {
    return leaf->group_size +
           (int64_t)(leaf->plain.size + leaf->dictionary.plain.size + leaf->indices.size / 2 +
                     leaf->rep.size / 4 + leaf->def.size / 4);
}

/** Copy of a bound for the page index; NULL data if there is none. */
static fz_str page_bound(const fz_parquet_leaf *leaf, const fz_parquet_range *range, bool upper) {
    fz_buf FZ_CLEANUP(fz_buf_deinit) buf = {0};
    bool exact;
    if (!fz_parquet_range_encode(range, &leaf->bounds_type, upper, &buf, &exact)) {
        return fz_str_make(NULL, 0);
    }
    return fz_str_make(fz_memdup0(buf.data, buf.size), buf.size);
}

static fz_code keep_page(fz_parquet_leaf *leaf, const fz_parquet_range *range, size_t raw_size,
                         fz_err *err) {
    const fz_buf *header = &leaf->work->header;
    const fz_buf *packed = &leaf->work->packed;
    size_t size = header->size + packed->size;
    fz_parquet_page page = {
        .size = (uint32_t)size,
        .null_page = leaf->values == 0,
        .first_row = leaf->group_rows,
        .rows = leaf->rows,
        .null_count = leaf->slots - leaf->values,
        .data = fz_try_realloc(NULL, size, 1),
    };
    if (!page.data) {
        return fz_err_set(err, FZ_LIMIT, "no memory for a page of %zu bytes", size);
    }
    memcpy(page.data, header->data, header->size);
    memcpy(page.data + header->size, packed->data, packed->size);
    if (leaf->options->page_index) {
        page.min = page_bound(leaf, range, false);
        page.max = page_bound(leaf, range, true);
        page.has_bounds = page.min.data && page.max.data;
        leaf->index_memory += (int64_t)(page.min.size + page.max.size + 64);
    }
    fz_vec_push(&leaf->pages, page);
    leaf->group_size += (int64_t)size;
    leaf->group_raw += (int64_t)(header->size + raw_size);
    leaf->dictionary_pages += leaf->dictionary_on;
    leaf->plain_pages += !leaf->dictionary_on;
    return FZ_OK;
}

fz_code fz_parquet_leaf_finish_page(fz_parquet_leaf *leaf, fz_err *err) {
    if (leaf->rows == 0) {
        return FZ_OK;
    }
    fz_parquet_range range;
    size_t raw_size = 0;
    FZ_TRY(fz_parquet_page_range(leaf, &range, err));
    FZ_TRY(fz_parquet_page_encode(leaf, &raw_size, err));
    FZ_TRY(keep_page(leaf, &range, raw_size, err));
    fz_parquet_bounds_merge(&leaf->group_bounds, &leaf->bounds_type, &range);
    leaf->group_rows += leaf->rows;
    fz_buf_reset(&leaf->rep);
    fz_buf_reset(&leaf->def);
    fz_buf_reset(&leaf->plain);
    fz_buf_reset(&leaf->indices);
    leaf->slots = leaf->values = leaf->rows = 0;
    return FZ_OK;
}

/** No dictionary for the rest of the row group. The open page holds whole rows. */
static fz_code give_up(fz_parquet_leaf *leaf, fz_err *err) {
    const uint32_t *indices = (const uint32_t *)(const void *)leaf->indices.data;
    size_t count = (size_t)leaf->values;
    if (leaf->dictionary_pages > 0 ||
        fz_parquet_dictionary_expanded_size(&leaf->dictionary, indices, count) >
            (size_t)leaf->options->page_size) {
        FZ_TRY(fz_parquet_leaf_finish_page(leaf, err));
    } else {
        fz_parquet_dictionary_expand(&leaf->dictionary, indices, count, &leaf->plain);
        fz_buf_reset(&leaf->indices);
        fz_parquet_dictionary_reset(&leaf->dictionary);
        FZ_TRY(fz_buf_check(&leaf->plain, "parquet page", err));
    }
    leaf->dictionary_on = false;
    return FZ_OK;
}

/** Distinct values among `rows` of a set of `total`, drawn evenly. */
static double drawn(double total, double rows) {
    return total * (1 - exp(-rows / total));
}

/** Distinct values that the row group will have. */
static double expected_distinct(const fz_parquet_leaf *leaf, double total, double seen,
                                double rows) {
    double distinct = leaf->dictionary.count;
    double before = leaf->checked_values;
    if (before > 0) {
        // Clocks and counters repeat within a moment, but go on: then the rate of new values does
        // not fall.
        double fresh = distinct - leaf->checked_distinct;
        double predicted = drawn(leaf->checked_total, seen) - drawn(leaf->checked_total, before);
        if (fresh > 1.25 * predicted) {
            return distinct + fresh / (seen - before) * (rows - seen);
        }
    }
    return drawn(total, rows);
}

/** Would the values of the whole row group be smaller with the dictionary? */
static bool pays(fz_parquet_leaf *leaf, int64_t expected_rows) {
    double seen = (double)leaf->group_values;
    double distinct = leaf->dictionary.count;
    double rows = (double)expected_rows > seen ? (double)expected_rows : seen;
    double repeats = seen - distinct;
    if (repeats < 1 || distinct < 1) {
        return distinct < 1;
    }
    // Of D values drawn n times about n - n*n/2D are distinct, if few repeat; with many, all have
    // been seen.
    double total = distinct * 4 <= seen ? distinct : seen * seen / (2 * repeats);
    double used = expected_distinct(leaf, total, seen, rows);
    double width = (double)leaf->dictionary.plain.size / distinct;
    double size = used * width + rows * ceil(log2(used + 1)) / 8;
    leaf->checked_values = seen;
    leaf->checked_distinct = distinct;
    leaf->checked_total = total;
    return used * width < (double)leaf->dictionary_limit && size < 0.8 * rows * width;
}

/** A slot near the middle where a row begins; 0 if there is only one row. */
static size_t middle(const fz_parquet_slots *slots) {
    size_t half = slots->count / 2;
    if (!slots->rep) {
        return half;
    }
    for (size_t i = half; i > 0; i--) {
        if (slots->rep[i] == 0) {
            return i;
        }
    }
    for (size_t i = half + 1; i < slots->count; i++) {
        if (slots->rep[i] == 0) {
            return i;
        }
    }
    return 0;
}

static fz_parquet_slots part(const fz_parquet_slots *slots, size_t from, size_t to) {
    fz_parquet_slots out = *slots;
    out.count = to - from;
    out.rep = slots->rep ? slots->rep + from : NULL;
    out.def = slots->def ? slots->def + from : NULL;
    out.pos = slots->pos ? slots->pos + from : NULL;
    out.first = slots->first + (int64_t)from;
    return out;
}

static int64_t count_rows(const fz_parquet_slots *slots) {
    if (!slots->rep) {
        return (int64_t)slots->count;
    }
    int64_t rows = 0;
    for (size_t i = 0; i < slots->count; i++) {
        rows += slots->rep[i] == 0;
    }
    return rows;
}

/** PLAIN bytes of the slots, an upper estimate. */
static int64_t slots_size(const fz_parquet_leaf *leaf, const fz_column *column,
                          const fz_parquet_slots *slots) {
    int64_t count = (int64_t)slots->count;
    if (leaf->physical != FZ_PARQUET_BYTE_ARRAY) {
        int64_t width = leaf->physical == FZ_PARQUET_FIXED ? leaf->type_length : 8;
        return count * width;
    }
    int64_t size = count * 4;
    if (!slots->pos) {
        return size + column->offsets[slots->first + count] - column->offsets[slots->first];
    }
    for (size_t i = 0; i < slots->count; i++) {
        int32_t row = slots->pos[i];
        if (row >= 0) {
            size += column->offsets[row + 1] - column->offsets[row];
        }
    }
    return size;
}

/** Rows of the values that are there, in order: NULL when they are contiguous from slots->first. */
static fz_code live_rows(fz_parquet_leaf *leaf, const fz_parquet_slots *slots,
                         const int32_t **index, size_t *count, fz_err *err) {
    *index = NULL;
    *count = slots->count;
    if (!slots->pos) {
        return FZ_OK;
    }
    fz_buf *buf = &leaf->work->index;
    fz_buf_reset(buf);
    if (!fz_buf_reserve(buf, (slots->count + 1) * sizeof(int32_t))) {
        return fz_buf_check(buf, "parquet rows", err);
    }
    int32_t *out = (int32_t *)(void *)buf->data;
    size_t n = 0;
    for (size_t i = 0; i < slots->count; i++) {
        out[n] = slots->pos[i];
        n += slots->pos[i] >= 0;
    }
    *index = out;
    *count = n;
    return FZ_OK;
}

/** Values of one append as the page wants them: numbers or inline bytes one after the other, or
 * strings where they stand. */
typedef struct leaf_values {
    const void *numbers;
    fz_parquet_bytes bytes;
    size_t width; // of a number, 0: bytes
    size_t count;
} leaf_values;

#define GATHER(T, out, column, index, count)                                                       \
    do {                                                                                           \
        const T *from_ = (const T *)(column)->values;                                              \
        for (size_t i_ = 0; i_ < (count); i_++) {                                                  \
            ((T *)(void *)(out))[i_] = from_[(index)[i_]];                                         \
        }                                                                                          \
    } while (0)

static void convert_decimals(const fz_parquet_leaf *leaf, const fz_column *column,
                             const int32_t *index, int64_t first, size_t count, uint8_t *out) {
    const uint8_t *values = (const uint8_t *)column->values;
    size_t width = leaf->physical == FZ_PARQUET_INT32   ? 4
                   : leaf->physical == FZ_PARQUET_INT64 ? 8
                                                        : (size_t)leaf->type_length;
    for (size_t i = 0; i < count; i++, out += width) {
        const uint8_t *at = values + 16 * (index ? index[i] : first + (int64_t)i);
        if (leaf->physical != FZ_PARQUET_FIXED) {
            memcpy(out, at, width); // little-endian and in range: the low bytes are the value
            continue;
        }
        for (size_t j = 0; j < width; j++) {
            out[j] = at[width - 1 - j];
        }
    }
}

/** Booleans a byte each. */
static void convert_booleans(const fz_column *column, const int32_t *index, int64_t first,
                             size_t count, uint8_t *out) {
    const uint8_t *bits = (const uint8_t *)column->values;
    for (size_t i = 0; i < count; i++) {
        int64_t row = index ? index[i] : first + (int64_t)i;
        out[i] = bits[row >> 3] >> (row & 7) & 1;
    }
}

static const uint8_t NOTHING[1]; // data of a column of empty strings

static fz_code collect(fz_parquet_leaf *leaf, const fz_column *column, const int32_t *index,
                       int64_t first, size_t count, leaf_values *out, fz_err *err) {
    *out = (leaf_values){.count = count};
    bool decimal = leaf->field->type.kind == FZ_TYPE_DECIMAL;
    out->width = leaf->physical == FZ_PARQUET_BYTE_ARRAY || leaf->physical == FZ_PARQUET_FIXED
                     ? 0
                     : (size_t)leaf->bounds_type.width;
    if (out->width == 0 && !decimal) {
        bool fixed = leaf->physical == FZ_PARQUET_FIXED;
        out->bytes = (fz_parquet_bytes){
            .data = fixed ? (const uint8_t *)column->values : column->data,
            .readable =
                fixed ? (size_t)(column->length * column->width) : (size_t)column->data_capacity,
            .offsets = fixed ? NULL : column->offsets,
            .width = (size_t)leaf->type_length,
            .index = index,
            .first = first,
        };
        if (!out->bytes.data) {
            out->bytes.data = NOTHING;
            out->bytes.readable = 0;
        }
        return FZ_OK;
    }
    if (!decimal && !index && leaf->physical != FZ_PARQUET_BOOLEAN) {
        out->numbers = (const uint8_t *)column->values + (size_t)first * out->width;
        return FZ_OK;
    }
    fz_buf *buf = &leaf->work->values;
    fz_buf_reset(buf);
    if (!fz_buf_reserve(buf, (count + 1) * 16)) {
        return fz_buf_check(buf, "parquet values", err);
    }
    out->numbers = buf->data;
    if (decimal) {
        convert_decimals(leaf, column, index, first, count, buf->data);
        out->bytes = (fz_parquet_bytes){
            .data = buf->data, .readable = count * 16, .width = (size_t)leaf->type_length};
    } else if (leaf->physical == FZ_PARQUET_BOOLEAN) {
        convert_booleans(column, index, first, count, buf->data);
    } else if (out->width == 4) {
        GATHER(uint32_t, buf->data, column, index, count);
    } else {
        GATHER(uint64_t, buf->data, column, index, count);
    }
    return FZ_OK;
}

static void append_plain(fz_parquet_leaf *leaf, const leaf_values *values) {
    fz_buf *out = &leaf->plain;
    if (values->width) {
        fz_buf_append(out, values->numbers, values->count * values->width);
        return;
    }
    size_t lengths = leaf->physical == FZ_PARQUET_BYTE_ARRAY ? 4 : 0;
    size_t size = 0;
    for (size_t i = 0; i < values->count; i++) {
        size += fz_parquet_bytes_at(&values->bytes, i).size + lengths;
    }
    if (!fz_buf_reserve(out, size)) {
        return;
    }
    uint8_t *at = out->data + out->size;
    for (size_t i = 0; i < values->count; i++) {
        fz_str value = fz_parquet_bytes_at(&values->bytes, i);
        uint32_t length = (uint32_t)value.size;
        memcpy(at, &length, lengths);
        at += lengths;
        if (value.size) {
            memcpy(at, value.data, value.size);
        }
        at += value.size;
    }
    out->size += size;
}

/** Indices of the values; false when the dictionary is full. */
static bool append_indices(fz_parquet_leaf *leaf, const leaf_values *values) {
    fz_buf *out = &leaf->indices;
    if (!fz_buf_reserve(out, (values->count + 1) * sizeof(uint32_t))) {
        return false;
    }
    uint32_t *indices = (uint32_t *)(void *)(out->data + out->size);
    bool fits =
        values->width == 4
            ? fz_parquet_dictionary_encode_32(&leaf->dictionary, (const uint32_t *)values->numbers,
                                              values->count, indices)
        : values->width == 8
            ? fz_parquet_dictionary_encode_64(&leaf->dictionary, (const uint64_t *)values->numbers,
                                              values->count, indices)
            : fz_parquet_dictionary_encode_bytes(&leaf->dictionary, &values->bytes, values->count,
                                                 indices);
    if (fits) {
        out->size += values->count * sizeof(uint32_t);
    }
    return fits;
}

/** Hashes for the bloom filter: of all values, since the dictionary may be given up later. */
static void append_hashes(fz_parquet_leaf *leaf, const leaf_values *values) {
    fz_vec_reserve(&leaf->hashes, leaf->hashes.count + values->count);
    for (size_t i = 0; i < values->count; i++) {
        uint64_t hash;
        if (values->width) {
            hash = fz_xxh64((const uint8_t *)values->numbers + i * values->width, values->width);
        } else {
            fz_str value = fz_parquet_bytes_at(&values->bytes, i);
            hash = fz_xxh64(value.data, value.size);
        }
        if (leaf->hashes.count == 0 || leaf->hashes.data[leaf->hashes.count - 1] != hash) {
            fz_vec_push(&leaf->hashes, hash);
        }
    }
}

static void append_levels(fz_parquet_leaf *leaf, const fz_parquet_slots *slots) {
    if (leaf->max_rep) {
        if (slots->rep) {
            fz_buf_append(&leaf->rep, slots->rep, slots->count);
        } else if (fz_buf_reserve(&leaf->rep, slots->count)) {
            memset(leaf->rep.data + leaf->rep.size, 0, slots->count);
            leaf->rep.size += slots->count;
        }
    }
    if (!leaf->max_def) {
        return;
    }
    if (!slots->def && leaf->def.size == 0 &&
        (leaf->slots == 0 || leaf->def_flat == slots->def_value)) {
        leaf->def_flat = slots->def_value;
        return;
    }
    if (!fz_buf_reserve(&leaf->def, (size_t)leaf->slots + slots->count)) {
        return;
    }
    if (leaf->def.size == 0) {
        memset(leaf->def.data, leaf->def_flat, (size_t)leaf->slots);
        leaf->def.size = (size_t)leaf->slots;
    }
    if (slots->def) {
        memcpy(leaf->def.data + leaf->def.size, slots->def, slots->count);
    } else {
        memset(leaf->def.data + leaf->def.size, slots->def_value, slots->count);
    }
    leaf->def.size += slots->count;
}

/** Append slots that fit the page. */
static fz_code append_part(fz_parquet_leaf *leaf, const fz_column *column,
                           const fz_parquet_slots *slots, int64_t rows, fz_err *err) {
    const int32_t *index;
    size_t count;
    leaf_values values;
    FZ_TRY(live_rows(leaf, slots, &index, &count, err));
    FZ_TRY(collect(leaf, column, index, slots->first, count, &values, err));
    if (leaf->dictionary_on && !append_indices(leaf, &values)) {
        FZ_TRY(give_up(leaf, err));
    }
    if (!leaf->dictionary_on) {
        append_plain(leaf, &values);
    }
    if (leaf->bloom) {
        append_hashes(leaf, &values);
    }
    append_levels(leaf, slots);
    FZ_TRY(fz_buf_check(&leaf->plain, "parquet page", err));
    FZ_TRY(fz_buf_check(&leaf->indices, "parquet page", err));
    FZ_TRY(fz_buf_check(&leaf->rep, "parquet page", err));
    FZ_TRY(fz_buf_check(&leaf->def, "parquet page", err));
    leaf->slots += (int64_t)slots->count;
    leaf->values += (int64_t)count;
    leaf->rows += rows;
    leaf->group_slots += (int64_t)slots->count;
    leaf->group_values += (int64_t)count;
    return FZ_OK;
}

fz_code fz_parquet_leaf_append(fz_parquet_leaf *leaf, const fz_column *column,
                               const fz_parquet_slots *slots, int64_t expected_rows, fz_err *err) {
    const fz_parquet_options *options = leaf->options;
    int64_t size = slots_size(leaf, column, slots);
    int64_t rows = count_rows(slots);
    if (rows > 1 && (size > options->page_size || rows > options->page_rows)) {
        size_t half = middle(slots);
        fz_parquet_slots head = part(slots, 0, half);
        fz_parquet_slots tail = part(slots, half, slots->count);
        FZ_TRY(fz_parquet_leaf_append(leaf, column, &head, expected_rows, err));
        return fz_parquet_leaf_append(leaf, column, &tail, expected_rows, err);
    }
    if (leaf->dictionary_on && leaf->group_values >= leaf->next_check) {
        leaf->next_check = leaf->group_values * 2;
        if (!pays(leaf, expected_rows)) {
            FZ_TRY(give_up(leaf, err));
        }
    }
    int64_t have = (int64_t)(leaf->dictionary_on ? leaf->indices.size : leaf->plain.size) +
                   (leaf->max_rep ? leaf->slots / 4 : 0);
    bool full = leaf->rows + rows > options->page_rows ||
                (leaf->dictionary_on ? have : have + size) > options->page_size;
    if (leaf->rows > 0 && full) {
        FZ_TRY(fz_parquet_leaf_finish_page(leaf, err));
    }
    return append_part(leaf, column, slots, rows, err);
}

void fz_parquet_leaf_shrink(fz_parquet_leaf *leaf) {
    fz_buf_deinit(&leaf->rep);
    fz_buf_deinit(&leaf->def);
    fz_buf_deinit(&leaf->plain);
    fz_buf_deinit(&leaf->indices);
    fz_vec_deinit(&leaf->pages);
    fz_vec_deinit(&leaf->hashes);
    fz_free(leaf->seen);
    leaf->seen = NULL;
    leaf->seen_capacity = 0;
    fz_parquet_dictionary dictionary = leaf->dictionary;
    fz_parquet_dictionary_deinit(&leaf->dictionary);
    fz_parquet_dictionary_init(&leaf->dictionary, dictionary.kind, dictionary.width,
                               dictionary.limit);
}

void fz_parquet_leaf_end_group(fz_parquet_leaf *leaf, int64_t size) {
    fz_parquet_bounds_merge(&leaf->file_bounds, &leaf->bounds_type, &leaf->group_bounds.range);
    fz_parquet_bounds_reset(&leaf->group_bounds);
    leaf->file_slots += leaf->group_slots;
    leaf->file_values += leaf->group_values;
    leaf->file_size += size;
    if (leaf->skip_groups > 0) {
        leaf->skip_groups--;
    } else if (leaf->can_dictionary) {
        leaf->gave_up = leaf->dictionary_on ? 0 : leaf->gave_up + 1;
        leaf->skip_groups = leaf->gave_up >= 2 ? SKIP_GROUPS : 0;
    }
    free_pages(leaf);
    fz_parquet_dictionary_reset(&leaf->dictionary);
    fz_vec_reset(&leaf->hashes);
    if (leaf->seen_capacity > 0) {
        memset(leaf->seen, 0, leaf->seen_capacity * sizeof *leaf->seen);
    }
    leaf->page_number = 0;
    leaf->dictionary_pages = leaf->plain_pages = 0;
    leaf->group_slots = leaf->group_values = leaf->group_rows = 0;
    leaf->group_raw = leaf->group_size = leaf->index_memory = 0;
    begin_group(leaf);
}
