// SPDX-License-Identifier: Apache-2.0
// Encodes pages and finds the least and greatest value of each.
#include "format/parquet/page.h"

#include "base/codec/hash.h"
#include "base/memory.h"
#include "format/parquet/delta.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"

static bool in_dictionary(const fz_parquet_leaf *leaf) {
    return leaf->dictionary_on;
}

/** Visit the numbers of the open page: T value = ..., in a loop that each case specializes. */
#define FOR_NUMBERS(T, leaf, value, body)                                                          \
    do {                                                                                           \
        size_t n_ = (size_t)(leaf)->values;                                                        \
        if (in_dictionary(leaf)) {                                                                 \
            const uint32_t *index_ = (const uint32_t *)(const void *)(leaf)->indices.data;         \
            const T *table_ = (const T *)(const void *)(leaf)->dictionary.plain.data;              \
            for (size_t i_ = 0; i_ < n_; i_++) {                                                   \
                T value = table_[index_[i_]];                                                      \
                body                                                                               \
            }                                                                                      \
        } else {                                                                                   \
            const T *table_ = (const T *)(const void *)(leaf)->plain.data;                         \
            for (size_t i_ = 0; i_ < n_; i_++) {                                                   \
                T value = table_[i_];                                                              \
                body                                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define INT_RANGE(T, leaf, range, least, most)                                                     \
    do {                                                                                           \
        T min_ = most;                                                                             \
        T max_ = least;                                                                            \
        FOR_NUMBERS(T, leaf, v_, {                                                                 \
            min_ = v_ < min_ ? v_ : min_;                                                          \
            max_ = v_ > max_ ? v_ : max_;                                                          \
        });                                                                                        \
        (range)->has = true;                                                                       \
        (range)->min_int = min_;                                                                   \
        (range)->max_int = max_;                                                                   \
    } while (0)

#define REAL_RANGE(T, leaf, range)                                                                 \
    do {                                                                                           \
        T min_ = (T)INFINITY_OF_RANGE;                                                             \
        T max_ = (T)-INFINITY_OF_RANGE;                                                            \
        int64_t nans_ = 0;                                                                         \
        FOR_NUMBERS(T, leaf, v_, {                                                                 \
            nans_ += v_ != v_;                                                                     \
            min_ = v_ < min_ ? v_ : min_;                                                          \
            max_ = v_ > max_ ? v_ : max_;                                                          \
        });                                                                                        \
        (range)->nans = nans_;                                                                     \
        (range)->has = nans_ < (leaf)->values;                                                     \
        (range)->min_real = (double)min_;                                                          \
        (range)->max_real = (double)max_;                                                          \
    } while (0)

#define INFINITY_OF_RANGE __builtin_inf()

/** The least and the greatest string so far, with their first bytes as numbers. */
typedef struct bytes_range {
    fz_str min;
    fz_str max;
    uint64_t min_prefix;
    uint64_t max_prefix;
    uint64_t flip; // turns signed order into unsigned
    bool has;
} bytes_range;

/** First eight bytes as a number that orders as they do. Eight bytes at `data` must be readable. */
static inline uint64_t prefix_of(const char *data, size_t size, uint64_t flip) {
    uint64_t word;
    memcpy(&word, data, 8);
    word = __builtin_bswap64(word);
    if (size < 8) {
        word = size ? word & (~(uint64_t)0 << (64 - 8 * size)) : 0;
    }
    return word ^ flip;
}

static inline void widen(bytes_range *range, fz_str value) {
    uint64_t prefix = prefix_of(value.data, value.size, range->flip);
    if (FZ_UNLIKELY(!range->has)) {
        *range = (bytes_range){value, value, prefix, prefix, range->flip, true};
        return;
    }
    // With equal prefixes the sign is equal too, so that the bytes compare unsigned.
    if (prefix < range->min_prefix ||
        (prefix == range->min_prefix && fz_str_compare(value, range->min) < 0)) {
        range->min = value;
        range->min_prefix = prefix;
    }
    if (prefix > range->max_prefix ||
        (prefix == range->max_prefix && fz_str_compare(value, range->max) > 0)) {
        range->max = value;
        range->max_prefix = prefix;
    }
}

/** Room to remember which dictionary entries this page has looked at. */
static bool seen_room(fz_parquet_leaf *leaf) {
    size_t want = leaf->dictionary.count;
    if (want <= leaf->seen_capacity) {
        return true;
    }
    size_t capacity = want + want / 2;
    uint32_t *seen = fz_try_realloc(leaf->seen, capacity, sizeof *seen);
    if (!seen) {
        return false;
    }
    memset(seen + leaf->seen_capacity, 0, (capacity - leaf->seen_capacity) * sizeof *seen);
    leaf->seen = seen;
    leaf->seen_capacity = capacity;
    return true;
}

/**
 * Short values order as their keys' bytes do, then by size; so most are compared without being
 * looked at. The others and the two that remain are compared as bytes.
 */
static void dictionary_range(fz_parquet_leaf *leaf, bytes_range *range) {
    const fz_parquet_dictionary *dictionary = &leaf->dictionary;
    const uint32_t *index = (const uint32_t *)(const void *)leaf->indices.data;
    uint32_t page = ++leaf->page_number;
    __extension__ unsigned __int128 least = ~(unsigned __int128)0;
    __extension__ unsigned __int128 most = 0;
    uint32_t least_at = UINT32_MAX;
    uint32_t most_at = UINT32_MAX;
    for (int64_t i = 0; i < leaf->values; i++) {
        uint32_t at = index[i];
        if (leaf->seen[at] == page) {
            continue;
        }
        leaf->seen[at] = page;
        const uint64_t *key = dictionary->keys[at];
        if (range->flip || !fz_parquet_dictionary_is_short(key)) {
            widen(range, fz_parquet_dictionary_bytes(dictionary, at));
            continue;
        }
        // Size in the lowest byte: among values that are equal but for zeros at the end the shorter
        // is less.
        __extension__ unsigned __int128 order =
            (unsigned __int128)__builtin_bswap64(key[0]) << 64 | __builtin_bswap64(key[1]);
        if (least_at == UINT32_MAX || order < least) {
            least = order;
            least_at = at;
        }
        if (most_at == UINT32_MAX || order > most) {
            most = order;
            most_at = at;
        }
    }
    if (least_at != UINT32_MAX) {
        widen(range, fz_parquet_dictionary_bytes(dictionary, least_at));
        widen(range, fz_parquet_dictionary_bytes(dictionary, most_at));
    }
}

static void plain_range(const fz_parquet_leaf *leaf, bytes_range *range) {
    const uint8_t *at = leaf->plain.data;
    if (leaf->physical == FZ_PARQUET_FIXED) {
        size_t width = (size_t)leaf->type_length;
        for (int64_t i = 0; i < leaf->values; i++, at += width) {
            widen(range, fz_str_make(at, width));
        }
        return;
    }
    for (int64_t i = 0; i < leaf->values; i++) {
        uint32_t size;
        memcpy(&size, at, 4);
        widen(range, fz_str_make(at + 4, size));
        at += 4 + size;
    }
}

static fz_code find_bytes_range(fz_parquet_leaf *leaf, fz_parquet_range *range, fz_err *err) {
    enum { SLACK = 8 }; // prefix_of reads that far
    bytes_range found = {
        .flip = leaf->bounds_type.order == FZ_PARQUET_ORDER_SIGNED ? (uint64_t)1 << 63 : 0};
    if (in_dictionary(leaf)) {
        if (!seen_room(leaf) || !fz_buf_reserve(&leaf->dictionary.plain, SLACK)) {
            return fz_err_set(err, FZ_LIMIT, "no memory for statistics of column \"%.*s\"",
                              FZ_STR_ARGS(leaf->field->name));
        }
        dictionary_range(leaf, &found);
    } else {
        if (!fz_buf_reserve(&leaf->plain, SLACK)) {
            return fz_buf_check(&leaf->plain, "parquet page", err);
        }
        plain_range(leaf, &found);
    }
    range->has = true;
    range->min_bytes = found.min;
    range->max_bytes = found.max;
    range->min_exact = range->max_exact = true;
    if (leaf->bounds_type.fixed && leaf->type_length > FZ_PARQUET_BOUND_MAX) {
        range->no_lower = range->no_upper = true; // cannot be cut, too long to keep
    }
    return FZ_OK;
}

fz_code fz_parquet_page_range(fz_parquet_leaf *leaf, fz_parquet_range *range, fz_err *err) {
    *range = (fz_parquet_range){0};
    if (leaf->values == 0) {
        return FZ_OK;
    }
    switch (leaf->physical) {
    case FZ_PARQUET_BOOLEAN:
        INT_RANGE(uint8_t, leaf, range, 0, 1);
        return FZ_OK;
    case FZ_PARQUET_INT32:
        INT_RANGE(int32_t, leaf, range, INT32_MIN, INT32_MAX);
        return FZ_OK;
    case FZ_PARQUET_INT64:
        INT_RANGE(int64_t, leaf, range, INT64_MIN, INT64_MAX);
        return FZ_OK;
    case FZ_PARQUET_FLOAT:
        REAL_RANGE(float, leaf, range);
        return FZ_OK;
    case FZ_PARQUET_DOUBLE:
        REAL_RANGE(double, leaf, range);
        return FZ_OK;
    default:
        return find_bytes_range(leaf, range, err);
    }
}

/** Append run-length encoded levels, behind their length if `sized`. */
static void append_levels(fz_buf *out, const fz_buf *levels, uint8_t flat, size_t count,
                          uint8_t max, bool sized) {
    size_t at = out->size;
    if (sized) {
        fz_buf_append_le32(out, 0);
    }
    unsigned width = fz_parquet_bit_width(max);
    if (levels->size) {
        fz_parquet_rle_encode_levels(out, levels->data, count, width);
    } else {
        fz_parquet_rle_encode_run(out, flat, count, width);
    }
    if (sized && !out->failed) {
        uint32_t size = (uint32_t)(out->size - at - 4);
        memcpy(out->data + at, &size, 4);
    }
}

/** Booleans a byte each to bits. */
static void append_bits(fz_buf *out, const uint8_t *values, size_t count) {
    if (!fz_buf_reserve(out, count / 8 + 1)) {
        return;
    }
    uint8_t *at = out->data + out->size;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, values + i, 8);
        *at++ = (uint8_t)((word * 0x0102040810204080u) >> 56);
    }
    if (i < count) {
        uint8_t bits = 0;
        for (unsigned j = 0; i + j < count; j++) {
            bits = (uint8_t)(bits | values[i + j] << j);
        }
        *at++ = bits;
    }
    out->size = (size_t)(at - out->data);
}

static bool is_delta(const fz_parquet_leaf *leaf) {
    return leaf->options->delta && !leaf->dictionary_on &&
           (leaf->physical == FZ_PARQUET_INT32 || leaf->physical == FZ_PARQUET_INT64);
}

static void append_values(fz_parquet_leaf *leaf, fz_buf *body) {
    if (in_dictionary(leaf)) {
        uint32_t count = leaf->dictionary.count;
        unsigned width = fz_parquet_bit_width(count ? count - 1 : 0);
        width = width ? width : 1; // some readers refuse 0 bits
        fz_buf_append_byte(body, (uint8_t)width);
        if (leaf->values) {
            fz_parquet_rle_encode(body, (const uint32_t *)(const void *)leaf->indices.data,
                                  (size_t)leaf->values, width);
        }
    } else if (leaf->physical == FZ_PARQUET_BOOLEAN) {
        append_bits(body, leaf->plain.data, (size_t)leaf->values);
    } else if (is_delta(leaf)) {
        fz_parquet_delta_encode(body, leaf->plain.data, (size_t)leaf->values,
                                leaf->physical == FZ_PARQUET_INT32 ? 4 : 8);
    } else {
        fz_buf_append_str(body, fz_buf_view(&leaf->plain));
    }
}

static int data_encoding(const fz_parquet_leaf *leaf) {
    return leaf->dictionary_on ? FZ_PARQUET_ENCODING_RLE_DICTIONARY
           : is_delta(leaf)    ? FZ_PARQUET_ENCODING_DELTA_BINARY_PACKED
                               : FZ_PARQUET_ENCODING_PLAIN;
}

static fz_code compress(const fz_parquet_leaf *leaf, fz_str bytes, fz_err *err) {
    return fz_compress(&leaf->work->compressor, leaf->options->codec, leaf->options->level, bytes,
                       &leaf->work->packed, err);
}

static void begin_header(const fz_parquet_leaf *leaf, fz_parquet_thrift_writer *thrift, int type,
                         size_t raw_size) {
    fz_parquet_workspace *work = leaf->work;
    fz_buf_reset(&work->header);
    fz_parquet_thrift_init(thrift, &work->header);
    fz_parquet_thrift_i32(thrift, 1, type);
    fz_parquet_thrift_i32(thrift, 2, (int32_t)raw_size);
    fz_parquet_thrift_i32(thrift, 3, (int32_t)work->packed.size);
    if (leaf->options->page_crc) {
        uint32_t crc = fz_crc32(0, work->packed.data, work->packed.size);
        fz_parquet_thrift_i32(thrift, 4, (int32_t)crc);
    }
}

static fz_code check_size(const fz_parquet_leaf *leaf, size_t raw_size, fz_err *err) {
    if (raw_size > INT32_MAX || leaf->work->packed.size > INT32_MAX) {
        return fz_err_set(err, FZ_LIMIT, "a page of column \"%.*s\" has %zu bytes, at most %d fit",
                          FZ_STR_ARGS(leaf->field->name), raw_size, INT32_MAX);
    }
    return FZ_OK;
}

static fz_code encode_v1(fz_parquet_leaf *leaf, size_t *raw_size, fz_err *err) {
    fz_parquet_workspace *work = leaf->work;
    size_t slots = (size_t)leaf->slots;
    fz_str bytes = fz_buf_view(&leaf->plain);
    if (leaf->max_def || leaf->max_rep || leaf->dictionary_on || is_delta(leaf) ||
        leaf->physical == FZ_PARQUET_BOOLEAN) {
        if (leaf->max_rep) {
            append_levels(&work->body, &leaf->rep, 0, slots, leaf->max_rep, true);
        }
        if (leaf->max_def) {
            append_levels(&work->body, &leaf->def, leaf->def_flat, slots, leaf->max_def, true);
        }
        append_values(leaf, &work->body);
        FZ_TRY(fz_buf_check(&work->body, "parquet page", err));
        bytes = fz_buf_view(&work->body);
    }
    *raw_size = bytes.size;
    FZ_TRY(check_size(leaf, bytes.size, err));
    FZ_TRY(compress(leaf, bytes, err));
    FZ_TRY(check_size(leaf, bytes.size, err));
    fz_parquet_thrift_writer thrift;
    begin_header(leaf, &thrift, FZ_PARQUET_PAGE_DATA, bytes.size);
    fz_parquet_thrift_struct(&thrift, 5);
    fz_parquet_thrift_i32(&thrift, 1, (int32_t)leaf->slots);
    fz_parquet_thrift_i32(&thrift, 2, data_encoding(leaf));
    fz_parquet_thrift_i32(&thrift, 3, FZ_PARQUET_ENCODING_RLE);
    fz_parquet_thrift_i32(&thrift, 4, FZ_PARQUET_ENCODING_RLE);
    fz_parquet_thrift_end(&thrift);
    fz_parquet_thrift_end(&thrift);
    return fz_buf_check(&work->header, "parquet page header", err);
}

static fz_code encode_v2(fz_parquet_leaf *leaf, size_t *raw_size, fz_err *err) {
    fz_parquet_workspace *work = leaf->work;
    size_t slots = (size_t)leaf->slots;
    if (leaf->max_rep) {
        append_levels(&work->packed, &leaf->rep, 0, slots, leaf->max_rep, false);
    }
    size_t rep_size = work->packed.size;
    if (leaf->max_def) {
        append_levels(&work->packed, &leaf->def, leaf->def_flat, slots, leaf->max_def, false);
    }
    size_t levels_size = work->packed.size;
    append_values(leaf, &work->body);
    FZ_TRY(fz_buf_check(&work->body, "parquet page", err));
    FZ_TRY(fz_buf_check(&work->packed, "parquet page", err));
    *raw_size = levels_size + work->body.size;
    FZ_TRY(check_size(leaf, *raw_size, err));
    // Several readers fail to decompress nothing, so a page of nulls is left as it is.
    bool compressed = leaf->values > 0 && leaf->options->codec != FZ_CODEC_NONE;
    if (compressed) {
        FZ_TRY(compress(leaf, fz_buf_view(&work->body), err));
    } else {
        fz_buf_append_str(&work->packed, fz_buf_view(&work->body));
        FZ_TRY(fz_buf_check(&work->packed, "parquet page", err));
    }
    FZ_TRY(check_size(leaf, *raw_size, err));
    fz_parquet_thrift_writer thrift;
    begin_header(leaf, &thrift, FZ_PARQUET_PAGE_DATA_V2, *raw_size);
    fz_parquet_thrift_struct(&thrift, 8);
    fz_parquet_thrift_i32(&thrift, 1, (int32_t)leaf->slots);
    fz_parquet_thrift_i32(&thrift, 2, (int32_t)(leaf->slots - leaf->values));
    fz_parquet_thrift_i32(&thrift, 3, (int32_t)leaf->rows);
    fz_parquet_thrift_i32(&thrift, 4, data_encoding(leaf));
    fz_parquet_thrift_i32(&thrift, 5, (int32_t)(levels_size - rep_size));
    fz_parquet_thrift_i32(&thrift, 6, (int32_t)rep_size);
    fz_parquet_thrift_bool(&thrift, 7, compressed);
    fz_parquet_thrift_end(&thrift);
    fz_parquet_thrift_end(&thrift);
    return fz_buf_check(&work->header, "parquet page header", err);
}

fz_code fz_parquet_page_encode(fz_parquet_leaf *leaf, size_t *raw_size, fz_err *err) {
    fz_buf_reset(&leaf->work->body);
    fz_buf_reset(&leaf->work->packed);
    return leaf->options->data_page_v2 ? encode_v2(leaf, raw_size, err)
                                       : encode_v1(leaf, raw_size, err);
}

fz_code fz_parquet_page_encode_dictionary(fz_parquet_leaf *leaf, size_t *raw_size, fz_err *err) {
    fz_parquet_workspace *work = leaf->work;
    fz_buf_reset(&work->packed);
    fz_str bytes = fz_buf_view(&leaf->dictionary.plain);
    *raw_size = bytes.size;
    FZ_TRY(check_size(leaf, bytes.size, err));
    FZ_TRY(compress(leaf, bytes, err));
    FZ_TRY(check_size(leaf, bytes.size, err));
    fz_parquet_thrift_writer thrift;
    begin_header(leaf, &thrift, FZ_PARQUET_PAGE_DICTIONARY, bytes.size);
    fz_parquet_thrift_struct(&thrift, 7);
    fz_parquet_thrift_i32(&thrift, 1, (int32_t)leaf->dictionary.count);
    fz_parquet_thrift_i32(&thrift, 2, FZ_PARQUET_ENCODING_PLAIN);
    fz_parquet_thrift_end(&thrift);
    fz_parquet_thrift_end(&thrift);
    return fz_buf_check(&work->header, "parquet page header", err);
}
