// SPDX-License-Identifier: Apache-2.0
// Merging, cutting and encoding of bounds.
#include "format/parquet/bounds.h"

void fz_parquet_bounds_deinit(fz_parquet_bounds *bounds) {
    fz_buf_deinit(&bounds->min_buf);
    fz_buf_deinit(&bounds->max_buf);
    *bounds = (fz_parquet_bounds){0};
}

void fz_parquet_bounds_reset(fz_parquet_bounds *bounds) {
    bounds->range = (fz_parquet_range){0};
    fz_buf_reset(&bounds->min_buf);
    fz_buf_reset(&bounds->max_buf);
}

int fz_parquet_bounds_compare(const fz_parquet_bounds_type *type, fz_str a, fz_str b) {
    if (type->order == FZ_PARQUET_ORDER_SIGNED && a.size > 0 && b.size > 0) {
        int8_t x = (int8_t)a.data[0];
        int8_t y = (int8_t)b.data[0];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return fz_str_compare(a, b);
}

/** Size of the longest prefix of at most `limit` bytes that ends between code points. */
static size_t cut_size(fz_str bytes, size_t limit, bool utf8) {
    size_t size = bytes.size < limit ? bytes.size : limit;
    if (utf8 && size < bytes.size) {
        while (size > 0 && ((uint8_t)bytes.data[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    return size;
}

/** Increment the last code point of buf[from..) that can be, dropping what follows. */
static bool increment_text(fz_buf *buf, size_t from) {
    while (buf->size > from) {
        size_t start = buf->size - 1;
        while (start > from && (buf->data[start] & 0xc0) == 0x80) {
            start--;
        }
        size_t size = buf->size - start;
        uint8_t head = buf->data[start];
        uint32_t point = size == 1 ? head : head & (0x7fu >> size);
        for (size_t i = 1; i < size; i++) {
            point = point << 6 | (buf->data[start + i] & 0x3f);
        }
        buf->size = start;
        if (point < 0x10ffff && size <= 4) {
            point = point == 0xd7ff ? 0xe000 : point + 1;
            uint8_t out[4];
            size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
            for (size_t i = n - 1; i > 0; i--) {
                out[i] = (uint8_t)(0x80 | (point & 0x3f));
                point >>= 6;
            }
            out[0] = (uint8_t)(n == 1 ? point : (0xf00u >> n & 0xff) | point);
            fz_buf_append(buf, out, n);
            return true;
        }
    }
    return false;
}

static bool increment_bytes(fz_buf *buf, size_t from) {
    while (buf->size > from) {
        if (buf->data[buf->size - 1] < 0xff) {
            buf->data[buf->size - 1]++;
            return true;
        }
        buf->size--;
    }
    return false;
}

/** Append a bound of at most `limit` bytes; false when an upper one has none. */
static bool append_cut(const fz_parquet_bounds_type *type, fz_str bytes, size_t limit, bool upper,
                       fz_buf *out, bool *exact) {
    if (type->fixed || bytes.size <= limit) {
        fz_buf_append_str(out, bytes);
        return true;
    }
    size_t from = out->size;
    fz_buf_append(out, bytes.data, cut_size(bytes, limit, type->utf8));
    *exact = false;
    if (!upper) {
        return true;
    }
    if (type->utf8 ? increment_text(out, from) : increment_bytes(out, from)) {
        return true;
    }
    out->size = from;
    return false;
}

/** Take a bound over; false when it has to be cut and cannot. */
static bool keep(const fz_parquet_bounds_type *type, fz_str bytes, bool upper, fz_buf *buf,
                 fz_str *view, bool *exact) {
    fz_buf_reset(buf);
    if (!append_cut(type, bytes, FZ_PARQUET_BOUND_MAX, upper, buf, exact) || buf->failed) {
        return false;
    }
    *view = fz_buf_view(buf);
    return true;
}

static void merge_bytes(fz_parquet_bounds *bounds, const fz_parquet_bounds_type *type,
                        const fz_parquet_range *range) {
    fz_parquet_range *own = &bounds->range;
    if (!own->no_lower && !range->no_lower) {
        if (!own->has || fz_parquet_bounds_compare(type, range->min_bytes, own->min_bytes) < 0) {
            own->min_exact = range->min_exact;
            own->no_lower = !keep(type, range->min_bytes, false, &bounds->min_buf, &own->min_bytes,
                                  &own->min_exact);
        }
    }
    if (!own->no_upper && !range->no_upper) {
        if (!own->has || fz_parquet_bounds_compare(type, range->max_bytes, own->max_bytes) > 0) {
            own->max_exact = range->max_exact;
            own->no_upper = !keep(type, range->max_bytes, true, &bounds->max_buf, &own->max_bytes,
                                  &own->max_exact);
        }
    }
    own->no_lower |= range->no_lower;
    own->no_upper |= range->no_upper;
}

void fz_parquet_bounds_merge(fz_parquet_bounds *bounds, const fz_parquet_bounds_type *type,
                             const fz_parquet_range *range) {
    fz_parquet_range *own = &bounds->range;
    own->nans += range->nans;
    if (!range->has) {
        return;
    }
    if (type->order >= FZ_PARQUET_ORDER_BYTES) {
        merge_bytes(bounds, type, range);
        own->has = true;
        return;
    }
    if (!own->has) {
        int64_t nans = own->nans;
        *own = *range;
        own->nans = nans;
        return;
    }
    own->min_int = range->min_int < own->min_int ? range->min_int : own->min_int;
    own->max_int = range->max_int > own->max_int ? range->max_int : own->max_int;
    own->min_real = range->min_real < own->min_real ? range->min_real : own->min_real;
    own->max_real = range->max_real > own->max_real ? range->max_real : own->max_real;
}

bool fz_parquet_range_encode(const fz_parquet_range *range, const fz_parquet_bounds_type *type,
                             bool upper, fz_buf *out, bool *exact) {
    if (!range->has || (upper ? range->no_upper : range->no_lower)) {
        return false;
    }
    if (type->order == FZ_PARQUET_ORDER_INT) {
        int64_t value = upper ? range->max_int : range->min_int;
        fz_buf_append(out, &value, (size_t)type->width);
        *exact = true;
        return true;
    }
    if (type->order == FZ_PARQUET_ORDER_FLOAT) {
        double value = upper ? range->max_real : range->min_real;
        if (value == 0) {
            value = upper ? 0.0 : -0.0; // a reader must not conclude that the other zero is absent
        }
        float narrow = (float)value;
        fz_buf_append(out, type->width == 4 ? (const void *)&narrow : (const void *)&value,
                      (size_t)type->width);
        *exact = true;
        return true;
    }
    *exact = upper ? range->max_exact : range->min_exact;
    return append_cut(type, upper ? range->max_bytes : range->min_bytes, FZ_PARQUET_BOUND_STATS,
                      upper, out, exact);
}
