// SPDX-License-Identifier: Apache-2.0
// PLAIN, dictionary, RLE, delta and byte-stream-split values.
#include "format/parquet/decode.h"

#include "format/parquet/delta.h"

enum {
    DELTA_VALUES_MAX = 1 << 26, // of a page: they are decoded at once
    SLICE = 1024,               // indices decoded at a time
};

void fz_parquet_values_init(fz_parquet_values *values, fz_budget *budget) {
    fz_buf_init(&values->fixed, 0, budget);
    fz_buf_init(&values->data, UINT32_MAX, budget);
    fz_buf_init(&values->ends, 0, budget);
}

void fz_parquet_values_deinit(fz_parquet_values *values) {
    fz_buf_deinit(&values->fixed);
    fz_buf_deinit(&values->data);
    fz_buf_deinit(&values->ends);
}

void fz_parquet_values_reset(fz_parquet_values *values) {
    fz_buf_reset(&values->fixed);
    fz_buf_reset(&values->data);
    fz_buf_reset(&values->ends);
}

static fz_code check_values(const fz_parquet_values *values, fz_err *err) {
    FZ_TRY(fz_buf_check(&values->fixed, "parquet values", err));
    FZ_TRY(fz_buf_check(&values->data, "parquet values", err));
    return fz_buf_check(&values->ends, "parquet values", err);
}

size_t fz_parquet_physical_width(int physical, int32_t type_length) {
    switch (physical) {
    case FZ_PARQUET_BOOLEAN:
        return 1;
    case FZ_PARQUET_INT32:
    case FZ_PARQUET_FLOAT:
        return 4;
    case FZ_PARQUET_INT64:
    case FZ_PARQUET_DOUBLE:
        return 8;
    case FZ_PARQUET_INT96:
        return 12;
    case FZ_PARQUET_FIXED:
        return (size_t)type_length;
    default:
        return 0;
    }
}

void fz_parquet_decoder_init(fz_parquet_decoder *d, int physical, int32_t type_length,
                             fz_budget *budget) {
    *d = (fz_parquet_decoder){.physical = physical,
                              .width = fz_parquet_physical_width(physical, type_length)};
    fz_buf_init(&d->numbers, 0, budget);
    fz_buf_init(&d->prefixes, 0, budget);
    fz_buf_init(&d->last, 0, budget);
}

void fz_parquet_decoder_deinit(fz_parquet_decoder *d) {
    fz_buf_deinit(&d->numbers);
    fz_buf_deinit(&d->prefixes);
    fz_buf_deinit(&d->last);
}

static fz_code corrupt(const fz_parquet_decoder *d, const char *what, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "parquet values in encoding %d: %s",
                           d->encoding, what);
}

/** Decode DELTA_BINARY_PACKED numbers from the cursor into `out`. */
static fz_code begin_delta(fz_parquet_decoder *d, int width, size_t count, fz_buf *out,
                           size_t *found, fz_err *err) {
    fz_buf_reset(out);
    if (count > DELTA_VALUES_MAX) {
        return fz_err_set(err, FZ_LIMIT, "a delta page of %zu values, at most %d are read", count,
                          DELTA_VALUES_MAX);
    }
    if (!fz_buf_reserve(out, (count + 1) * sizeof(int64_t))) {
        return fz_buf_check(out, "parquet numbers", err);
    }
    *found = 0;
    if (!fz_parquet_delta_decode(&d->cur, width, (int64_t *)(void *)out->data, count, found)) {
        return corrupt(d, "malformed delta block", err);
    }
    out->size = *found * sizeof(int64_t);
    return FZ_OK;
}

static fz_code begin_lengths(fz_parquet_decoder *d, size_t count, fz_err *err) {
    FZ_TRY(begin_delta(d, 4, count, &d->numbers, &d->count, err));
    const int64_t *lengths = (const int64_t *)(const void *)d->numbers.data;
    for (size_t i = 0; i < d->count; i++) {
        if (lengths[i] < 0) {
            return corrupt(d, "negative length", err);
        }
    }
    return FZ_OK;
}

static fz_code begin_delta_bytes(fz_parquet_decoder *d, size_t count, fz_err *err) {
    size_t prefixes = 0;
    FZ_TRY(begin_delta(d, 4, count, &d->prefixes, &prefixes, err));
    FZ_TRY(begin_lengths(d, count, err));
    if (prefixes != d->count) {
        return corrupt(d, "prefixes and suffixes differ in number", err);
    }
    fz_buf_reset(&d->last);
    return FZ_OK;
}

fz_code fz_parquet_decoder_begin(fz_parquet_decoder *d, int encoding, fz_str bytes, size_t count,
                                 const fz_parquet_values *dictionary, size_t dictionary_count,
                                 fz_err *err) {
    d->encoding = encoding;
    d->cur = fz_cur_make(bytes.data, bytes.size);
    d->bit = 0;
    d->next = d->count = 0;
    bool integer = d->physical == FZ_PARQUET_INT32 || d->physical == FZ_PARQUET_INT64;
    bool array = d->physical == FZ_PARQUET_BYTE_ARRAY;
    bool fixed = d->physical == FZ_PARQUET_FIXED;
    switch (encoding) {
    case FZ_PARQUET_ENCODING_PLAIN:
        return FZ_OK;
    case FZ_PARQUET_ENCODING_PLAIN_DICTIONARY:
    case FZ_PARQUET_ENCODING_RLE_DICTIONARY: {
        d->dictionary = dictionary;
        d->dictionary_count = dictionary_count;
        uint8_t width = bytes.size ? fz_cur_u8(&d->cur) : 0; // a page of nulls may have no bytes
        if (!dictionary || width > 32) {
            return corrupt(d, dictionary ? "bit width above 32" : "no dictionary page", err);
        }
        fz_parquet_rle_init(&d->rle, fz_str_slice(bytes, 1, bytes.size), width);
        return FZ_OK;
    }
    case FZ_PARQUET_ENCODING_RLE:
        if (d->physical == FZ_PARQUET_BOOLEAN) {
            uint32_t size = bytes.size ? fz_cur_le32(&d->cur) : 0;
            const uint8_t *runs = fz_cur_bytes(&d->cur, size);
            FZ_TRY(fz_cur_check(&d->cur, "parquet booleans", err));
            fz_parquet_rle_init(&d->rle, fz_str_make(runs, size), 1);
            return FZ_OK;
        }
        break;
    case FZ_PARQUET_ENCODING_DELTA_BINARY_PACKED:
        if (integer) {
            return bytes.size ? begin_delta(d, (int)d->width, count, &d->numbers, &d->count, err)
                              : FZ_OK;
        }
        break;
    case FZ_PARQUET_ENCODING_DELTA_LENGTH_BYTE_ARRAY:
        if (array) {
            return bytes.size ? begin_lengths(d, count, err) : FZ_OK;
        }
        break;
    case FZ_PARQUET_ENCODING_DELTA_BYTE_ARRAY:
        if (array || fixed) {
            return bytes.size ? begin_delta_bytes(d, count, err) : FZ_OK;
        }
        break;
    case FZ_PARQUET_ENCODING_BYTE_STREAM_SPLIT:
        if (integer || fixed || d->physical == FZ_PARQUET_FLOAT ||
            d->physical == FZ_PARQUET_DOUBLE) {
            d->count = d->width ? bytes.size / d->width : 0;
            return d->width && bytes.size % d->width == 0
                       ? FZ_OK
                       : corrupt(d, "size is no multiple of the value's", err);
        }
        break;
    default:
        break;
    }
    return fz_err_set(err, FZ_UNSUPPORTED, "parquet encoding %d for physical type %d", encoding,
                      d->physical);
}

static void end_value(fz_parquet_values *out) {
    fz_buf_append_le32(&out->ends, (uint32_t)out->data.size);
}

static fz_code read_plain(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                          fz_err *err) {
    if (d->physical == FZ_PARQUET_BOOLEAN) {
        if (count > (uint64_t)d->cur.end * 8 - d->bit) {
            return corrupt(d, "too few values", err);
        }
        if (fz_buf_reserve(&out->fixed, count)) {
            uint8_t *at = out->fixed.data + out->fixed.size;
            for (size_t i = 0; i < count; i++, d->bit++) {
                at[i] = d->cur.data[d->bit >> 3] >> (d->bit & 7) & 1;
            }
            out->fixed.size += count;
        }
        return check_values(out, err);
    }
    if (d->width) {
        if (count > fz_cur_left(&d->cur) / d->width) {
            return corrupt(d, "too few values", err);
        }
        fz_buf_append(&out->fixed, fz_cur_bytes(&d->cur, count * d->width), count * d->width);
        return check_values(out, err);
    }
    if (d->physical == FZ_PARQUET_FIXED) {
        return corrupt(d, "fixed values without a length", err);
    }
    if (count > fz_cur_left(&d->cur) / 4) {
        return corrupt(d, "too few values", err);
    }
    if (!fz_buf_reserve(&out->ends, count * 4)) {
        return check_values(out, err);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t size = fz_cur_le32(&d->cur);
        const uint8_t *bytes = fz_cur_bytes(&d->cur, size);
        if (!bytes) {
            return corrupt(d, "too few bytes", err);
        }
        fz_buf_append(&out->data, bytes, size);
        end_value(out);
    }
    return check_values(out, err);
}

enum { WIDE = 16 }; // bytes that are copied at once where there is room

/** Strings of the dictionary: sizes first, so that there is one look at the room for all. */
static void append_entries(const fz_parquet_values *dictionary, const uint32_t *indices,
                           size_t count, fz_parquet_values *out) {
    const uint32_t *ends = (const uint32_t *)(const void *)dictionary->ends.data;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = indices[i];
        total += ends[at] - (at ? ends[at - 1] : 0);
    }
    if (!fz_buf_reserve(&out->ends, count * 4) || !fz_buf_reserve(&out->data, total + WIDE)) {
        return;
    }
    const uint8_t *table = dictionary->data.data;
    size_t readable = dictionary->data.capacity;
    uint8_t *to = out->data.data + out->data.size;
    uint32_t *end = (uint32_t *)(void *)(out->ends.data + out->ends.size);
    uint32_t size = (uint32_t)out->data.size;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = indices[i];
        uint32_t from = at ? ends[at - 1] : 0;
        uint32_t n = ends[at] - from;
        if (FZ_LIKELY(n <= WIDE && from + (size_t)WIDE <= readable)) {
            memcpy(to, table + from, WIDE);
        } else if (n) {
            memcpy(to, table + from, n);
        }
        to += n;
        size += n;
        end[i] = size;
    }
    out->data.size = size;
    out->ends.size += count * 4;
}

static void append_fixed(const fz_parquet_decoder *d, const uint32_t *indices, size_t count,
                         fz_parquet_values *out) {
    if (!fz_buf_reserve(&out->fixed, count * d->width)) {
        return;
    }
    uint8_t *at = out->fixed.data + out->fixed.size;
    const uint8_t *table = d->dictionary->fixed.data;
    if (d->width == 8) {
        for (size_t i = 0; i < count; i++) {
            memcpy(at + i * 8, table + (size_t)indices[i] * 8, 8);
        }
    } else if (d->width == 4) {
        for (size_t i = 0; i < count; i++) {
            memcpy(at + i * 4, table + (size_t)indices[i] * 4, 4);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            memcpy(at + i * d->width, table + indices[i] * d->width, d->width);
        }
    }
    out->fixed.size += count * d->width;
}

static fz_code read_dictionary(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                               fz_err *err) {
    uint32_t indices[SLICE];
    while (count > 0) {
        size_t n = count < SLICE ? count : SLICE;
        if (!fz_parquet_rle_decode(&d->rle, indices, n)) {
            return corrupt(d, "too few indices", err);
        }
        uint32_t most = 0;
        for (size_t i = 0; i < n; i++) {
            most = indices[i] > most ? indices[i] : most;
        }
        if (most >= d->dictionary_count) {
            return corrupt(d, "an index outside the dictionary", err);
        }
        if (d->width) {
            append_fixed(d, indices, n, out);
        } else {
            append_entries(d->dictionary, indices, n, out);
        }
        FZ_TRY(check_values(out, err)); // before decoding on: a few bytes can stand for many values
        count -= n;
    }
    return FZ_OK;
}

static fz_code read_rle_booleans(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                                 fz_err *err) {
    if (!fz_buf_reserve(&out->fixed, count)) {
        return check_values(out, err);
    }
    if (!fz_parquet_rle_decode_levels(&d->rle, out->fixed.data + out->fixed.size, count)) {
        return corrupt(d, "too few values", err);
    }
    out->fixed.size += count;
    return FZ_OK;
}

static fz_code read_delta(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                          fz_err *err) {
    const int64_t *numbers = (const int64_t *)(const void *)d->numbers.data + d->next;
    d->next += count;
    if (d->width == 8) {
        fz_buf_append(&out->fixed, numbers, count * 8);
    } else if (fz_buf_reserve(&out->fixed, count * 4)) {
        int32_t *at = (int32_t *)(void *)(out->fixed.data + out->fixed.size);
        for (size_t i = 0; i < count; i++) {
            at[i] = (int32_t)numbers[i];
        }
        out->fixed.size += count * 4;
    }
    return check_values(out, err);
}

static fz_code read_delta_bytes(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                                fz_err *err) {
    const int64_t *lengths = (const int64_t *)(const void *)d->numbers.data;
    const int64_t *prefixes = (const int64_t *)(const void *)d->prefixes.data;
    bool front = d->encoding == FZ_PARQUET_ENCODING_DELTA_BYTE_ARRAY;
    for (size_t i = 0; i < count; i++, d->next++) {
        const uint8_t *bytes = fz_cur_bytes(&d->cur, (size_t)lengths[d->next]);
        if (!bytes) {
            return corrupt(d, "too few bytes", err);
        }
        if (!front) {
            fz_buf_append(&out->data, bytes, (size_t)lengths[d->next]);
            end_value(out);
            continue;
        }
        int64_t prefix = prefixes[d->next];
        if (prefix < 0 || (uint64_t)prefix > d->last.size) {
            return corrupt(d, "a prefix longer than the value before", err);
        }
        d->last.size = (size_t)prefix;
        fz_buf_append(&d->last, bytes, (size_t)lengths[d->next]);
        FZ_TRY(fz_buf_check(&d->last, "parquet value", err));
        if (!d->width) {
            fz_buf_append(&out->data, d->last.data, d->last.size);
            end_value(out);
        } else if (d->last.size == d->width) {
            fz_buf_append(&out->fixed, d->last.data, d->width);
        } else {
            return corrupt(d, "a fixed value of another length", err);
        }
        // A prefix of each value costs no bytes, so the output must be looked at as it grows.
        FZ_TRY(check_values(out, err));
    }
    return check_values(out, err);
}

static fz_code read_split(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                          fz_err *err) {
    if (fz_buf_reserve(&out->fixed, count * d->width)) {
        uint8_t *at = out->fixed.data + out->fixed.size;
        for (size_t j = 0; j < d->width; j++) {
            const uint8_t *stream = d->cur.data + j * d->count + d->next;
            for (size_t i = 0; i < count; i++) {
                at[i * d->width + j] = stream[i];
            }
        }
        out->fixed.size += count * d->width;
        d->next += count;
    }
    return check_values(out, err);
}

fz_code fz_parquet_decoder_read(fz_parquet_decoder *d, size_t count, fz_parquet_values *out,
                                fz_err *err) {
    if (count == 0) {
        return FZ_OK;
    }
    switch (d->encoding) {
    case FZ_PARQUET_ENCODING_PLAIN:
        return read_plain(d, count, out, err);
    case FZ_PARQUET_ENCODING_PLAIN_DICTIONARY:
    case FZ_PARQUET_ENCODING_RLE_DICTIONARY:
        return read_dictionary(d, count, out, err);
    case FZ_PARQUET_ENCODING_RLE:
        return read_rle_booleans(d, count, out, err);
    default:
        break;
    }
    if (count > d->count - d->next) {
        return corrupt(d, "too few values", err);
    }
    switch (d->encoding) {
    case FZ_PARQUET_ENCODING_DELTA_BINARY_PACKED:
        return read_delta(d, count, out, err);
    case FZ_PARQUET_ENCODING_BYTE_STREAM_SPLIT:
        return read_split(d, count, out, err);
    default:
        return read_delta_bytes(d, count, out, err);
    }
}
