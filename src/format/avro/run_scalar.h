// SPDX-License-Identifier: Apache-2.0
// The ops of scalar values and of skipped ones, in line for the decoder's loop. Only decode.c
// includes it.
#ifndef FZ_FORMAT_AVRO_RUN_SCALAR_H
#define FZ_FORMAT_AVRO_RUN_SCALAR_H

#include "base/codec/text_codec.h"
#include "base/text/time.h"
#include "data/json_value.h"
#include "format/avro/json_text.h"
#include "format/avro/run_state.h"

#define SHORT_TEXT 64
#define MILLIS_PER_DAY 86400000

// --- scalars ---

static inline const uint8_t *run_boolean(state *s, const fz_avro_op *op, fz_column *column,
                                         const uint8_t *p) {
    if (!has_bytes(s, op, p, 1)) {
        return NULL;
    }
    if (FZ_UNLIKELY(*p > 1)) {
        return fail(s, op, p, "malformed", "a boolean of value %u", *p);
    }
    return column ? appended(s, fz_column_append_bool(column, *p != 0, s->err), p + 1) : p + 1;
}

static inline const uint8_t *run_int(state *s, const fz_avro_op *op, fz_column *column,
                                     const uint8_t *p) {
    int32_t value = 0;
    const uint8_t *next = read_int(s, op, p, &value);
    return next ? appended(s, fz_column_append_i32(column, value, s->err), next) : NULL;
}

static inline const uint8_t *run_int_as_long(state *s, const fz_avro_op *op, fz_column *column,
                                             const uint8_t *p) {
    int32_t value = 0;
    const uint8_t *next = read_int(s, op, p, &value);
    return next ? appended(s, fz_column_append_i64(column, value, s->err), next) : NULL;
}

static inline const uint8_t *run_long(state *s, const fz_avro_op *op, fz_column *column,
                                      const uint8_t *p) {
    int64_t value = 0;
    const uint8_t *next = read_long(s, op, p, &value);
    return next ? appended(s, fz_column_append_i64(column, value, s->err), next) : NULL;
}

static inline const uint8_t *run_millis(state *s, const fz_avro_op *op, fz_column *column,
                                        const uint8_t *p) {
    int64_t value = 0;
    const uint8_t *next = read_long(s, op, p, &value);
    if (!next) {
        return NULL;
    }
    int64_t micros;
    if (FZ_UNLIKELY(__builtin_mul_overflow(value, 1000, &micros))) {
        return fail(s, op, p, "out_of_range", "instant of %lld ms is beyond 64 bits of micros",
                    (long long)value);
    }
    return appended(s, fz_column_append_i64(column, micros, s->err), next);
}

static const uint8_t *run_nanos(state *s, const fz_avro_op *op, fz_column *column,
                                const uint8_t *p) {
    int64_t value = 0;
    const uint8_t *next = read_long(s, op, p, &value);
    return next ? appended(s, fz_column_append_i64(column, fz_floor_div(value, 1000), s->err), next)
                : NULL;
}

static const uint8_t *run_date_as_micros(state *s, const fz_avro_op *op, fz_column *column,
                                         const uint8_t *p) {
    int32_t value = 0;
    const uint8_t *next = read_int(s, op, p, &value);
    if (!next) {
        return NULL;
    }
    int64_t micros;
    if (__builtin_mul_overflow((int64_t)value, FZ_US_PER_DAY, &micros)) {
        return fail(s, op, p, "out_of_range", "day %d is beyond 64 bits of micros", value);
    }
    return appended(s, fz_column_append_i64(column, micros, s->err), next);
}

static const uint8_t *run_time(state *s, const fz_avro_op *op, fz_column *column,
                               const uint8_t *p) {
    bool millis = op->code == FZ_AVRO_OP_TIME_MILLIS;
    int64_t value = 0;
    int32_t narrow = 0;
    const uint8_t *next = millis ? read_int(s, op, p, &narrow) : read_long(s, op, p, &value);
    if (!next) {
        return NULL;
    }
    value = millis ? narrow : value;
    if (value < 0 || value >= (millis ? MILLIS_PER_DAY : FZ_US_PER_DAY)) {
        return fail(s, op, p, "out_of_range", "time of %lld %s is not within a day",
                    (long long)value, millis ? "ms" : "us");
    }
    return appended(s, fz_column_append_i64(column, millis ? value * 1000 : value, s->err), next);
}

static inline const uint8_t *run_float(state *s, const fz_avro_op *op, fz_column *column,
                                       const uint8_t *p) {
    if (!has_bytes(s, op, p, 4)) {
        return NULL;
    }
    float value;
    memcpy(&value, p, 4);
    fz_code code = op->code == FZ_AVRO_OP_FLOAT
                       ? fz_column_append_float(column, value, s->err)
                       : fz_column_append_double(column, (double)value, s->err);
    return appended(s, code, p + 4);
}

static inline const uint8_t *run_double(state *s, const fz_avro_op *op, fz_column *column,
                                        const uint8_t *p) {
    if (!has_bytes(s, op, p, 8)) {
        return NULL;
    }
    double value;
    memcpy(&value, p, 8);
    return appended(s, fz_column_append_double(column, value, s->err), p + 8);
}

static inline const uint8_t *run_bytes(state *s, const fz_avro_op *op, fz_column *column,
                                       const uint8_t *p) {
    size_t size = 0;
    const uint8_t *data = read_size(s, op, p, &size);
    return data ? appended(s, fz_column_append_bytes(column, data, size, s->err), data + size)
                : NULL;
}

static inline const uint8_t *run_string(state *s, const fz_avro_op *op, fz_column *column,
                                        const uint8_t *p) {
    size_t size = 0;
    const uint8_t *data = read_size(s, op, p, &size);
    if (FZ_UNLIKELY(!data)) {
        return NULL;
    }
    if (FZ_LIKELY(size <= SHORT_TEXT)) {
        fz_code code = fz_column_room(column, s->err);
        if (FZ_UNLIKELY((int64_t)size > column->data_capacity - column->data_size) &&
            code == FZ_OK) {
            code = fz_column_grow_data(column, (int64_t)size, s->err);
        }
        if (FZ_UNLIKELY(code != FZ_OK)) {
            s->code = code;
            return NULL;
        }
        // Not counted as part of the column before it is known to be UTF-8.
        if (FZ_LIKELY(size == 0 ||
                      fz_avro_copy_short(column->data + column->data_size, data, size)) ||
            fz_utf8_valid(data, size)) {
            column->data_size += (int64_t)size;
            column->offsets[column->length + 1] = (int32_t)column->data_size;
            fz_column_push_valid(column);
            return data + size;
        }
    } else if (fz_utf8_valid(data, size)) {
        return appended(s, fz_column_append_bytes(column, data, size, s->err), data + size);
    }
    return fail(s, op, data, "invalid_utf8", "text of %zu bytes is not UTF-8", size);
}

static inline const uint8_t *run_enum(state *s, const fz_avro_op *op, fz_column *column,
                                      const uint8_t *p) {
    int32_t index = 0;
    const uint8_t *next = read_int(s, op, p, &index);
    if (FZ_UNLIKELY(!next)) {
        return NULL;
    }
    if (FZ_UNLIKELY(index < 0 || (uint32_t)index >= op->size)) {
        return fail(s, op, p, "malformed", "enum index %d, there are %u symbols", index, op->size);
    }
    if (!column) {
        return next;
    }
    fz_str symbol = op->as.symbols[index];
    return appended(s, fz_column_append_bytes(column, symbol.data, symbol.size, s->err), next);
}

static inline const uint8_t *run_fixed(state *s, const fz_avro_op *op, fz_column *column,
                                       const uint8_t *p) {
    if (!has_bytes(s, op, p, op->size)) {
        return NULL;
    }
    fz_code code = op->code == FZ_AVRO_OP_FIXED
                       ? fz_column_append_fixed(column, p, s->err)
                       : fz_column_append_bytes(column, p, op->size, s->err);
    return appended(s, code, p + op->size);
}

static inline const uint8_t *run_decimal(state *s, const fz_avro_op *op, fz_column *column,
                                         const uint8_t *p) {
    size_t size = op->size;
    const uint8_t *data = p;
    if (op->code == FZ_AVRO_OP_DECIMAL_BYTES) {
        data = read_size(s, op, p, &size);
    } else if (!has_bytes(s, op, p, size)) {
        data = NULL;
    }
    if (FZ_UNLIKELY(!data)) {
        return NULL;
    }
    fz_i128 value = 0;
    bool fits;
    if (FZ_LIKELY(size - 1 < 8)) {
        uint64_t bits = 0;
        for (size_t i = 0; i < size; i++) {
            bits = bits << 8 | data[i];
        }
        unsigned unused = 64 - 8 * (unsigned)size;
        int64_t narrow = (int64_t)(bits << unused) >> unused; // sign
        fits = narrow < op->as.bound && narrow > -op->as.bound;
        fits = fits || op->digits > 18;
        value = narrow;
    } else if (size == 0) {
        return fail(s, op, data, "invalid_value", "decimal of 0 bytes");
    } else {
        fits = fz_decimal_from_be(data, size, &value) && fz_decimal_fits(value, op->digits);
    }
    if (FZ_UNLIKELY(!fits)) {
        return fail(s, op, data, "out_of_range", "decimal of more than %u digits", op->digits);
    }
    return appended(s, fz_column_append_fixed(column, &value, s->err), data + size);
}

static const uint8_t *run_uuid_text(state *s, const fz_avro_op *op, fz_column *column,
                                    const uint8_t *p) {
    size_t size = 0;
    const uint8_t *data = read_size(s, op, p, &size);
    if (!data) {
        return NULL;
    }
    uint8_t uuid[16];
    if (!fz_uuid_parse(fz_str_make(data, size), uuid)) {
        return fail(s, op, data, "invalid_value", "text of %zu bytes is no uuid", size);
    }
    if (op->code == FZ_AVRO_OP_UUID_TEXT) {
        return appended(s, fz_column_append_fixed(column, uuid, s->err), data + size);
    }
    char text[37];
    fz_uuid_format(uuid, text);
    return appended(s, fz_column_append_bytes(column, text, 36, s->err), data + size);
}

static const uint8_t *run_uuid_fixed(state *s, const fz_avro_op *op, fz_column *column,
                                     const uint8_t *p) {
    if (!has_bytes(s, op, p, 16)) {
        return NULL;
    }
    char text[37];
    fz_uuid_format(p, text);
    return appended(s, fz_column_append_bytes(column, text, 36, s->err), p + 16);
}

// A recursive value: as JSON text into `column`, or passed over when that is NULL.
static const uint8_t *run_json(state *s, const fz_avro_op *op, fz_column *column,
                               const uint8_t *p) {
    fz_cur cur = fz_cur_make(s->begin, (size_t)(s->end - s->begin));
    cur.pos = (size_t)(p - s->begin);
    fz_buf *text = column ? &s->decoder->text : NULL;
    if (text) {
        fz_buf_reset(text);
    }
    s->code = fz_avro_json_append(op->as.type, &cur, text, s->err);
    if (s->code == FZ_OK && text) {
        s->code = fz_buf_check(text, "JSON text of a recursive value", s->err);
    }
    if (s->code == FZ_OK && text) {
        s->code = fz_column_append_bytes(column, text->data, text->size, s->err);
    }
    return s->code == FZ_OK ? s->begin + cur.pos : NULL;
}

// A column that the writer knows nothing of: null or its default.
static const uint8_t *run_fill(state *s, const fz_avro_op *op, fz_column *column,
                               const uint8_t *p) {
    fz_code code = op->as.fill ? fz_column_append_value(column, op->as.fill, s->err)
                               : fz_column_append_null(column, s->err);
    return appended(s, code, p);
}

// --- skipping ---

static inline const uint8_t *skip_number(state *s, const fz_avro_op *op, const uint8_t *p) {
    int64_t value = 0;
    int32_t narrow = 0;
    return op->code == FZ_AVRO_OP_SKIP_INT ? read_int(s, op, p, &narrow)
                                           : read_long(s, op, p, &value);
}

static inline const uint8_t *skip_bytes(state *s, const fz_avro_op *op, const uint8_t *p) {
    size_t size = op->size;
    if (op->code == FZ_AVRO_OP_SKIP_BYTES) {
        p = read_size(s, op, p, &size);
        return p ? p + size : NULL;
    }
    return has_bytes(s, op, p, size) ? p + size : NULL;
}

// --- scalars, all of them ---

static inline const uint8_t *run_scalar(state *s, const fz_avro_op *op, fz_column *column,
                                        const uint8_t *p) {
    switch ((fz_avro_opcode)op->code) {
    case FZ_AVRO_OP_INT:
        return run_int(s, op, column, p);
    case FZ_AVRO_OP_LONG:
        return run_long(s, op, column, p);
    case FZ_AVRO_OP_STRING:
        return run_string(s, op, column, p);
    case FZ_AVRO_OP_DOUBLE:
        return run_double(s, op, column, p);
    case FZ_AVRO_OP_DECIMAL_BYTES:
    case FZ_AVRO_OP_DECIMAL_FIXED:
        return run_decimal(s, op, column, p);
    case FZ_AVRO_OP_MILLIS:
        return run_millis(s, op, column, p);
    case FZ_AVRO_OP_BOOLEAN:
        return run_boolean(s, op, column, p);
    case FZ_AVRO_OP_INT_AS_LONG:
        return run_int_as_long(s, op, column, p);
    case FZ_AVRO_OP_FLOAT:
    case FZ_AVRO_OP_FLOAT_AS_DOUBLE:
        return run_float(s, op, column, p);
    case FZ_AVRO_OP_BYTES:
        return run_bytes(s, op, column, p);
    case FZ_AVRO_OP_ENUM:
        return run_enum(s, op, column, p);
    case FZ_AVRO_OP_FIXED:
    case FZ_AVRO_OP_FIXED_AS_BYTES:
        return run_fixed(s, op, column, p);
    case FZ_AVRO_OP_UUID_TEXT:
    case FZ_AVRO_OP_UUID_TEXT_AS_TEXT:
        return run_uuid_text(s, op, column, p);
    case FZ_AVRO_OP_UUID_FIXED_AS_TEXT:
        return run_uuid_fixed(s, op, column, p);
    case FZ_AVRO_OP_TIME_MILLIS:
    case FZ_AVRO_OP_TIME_MICROS:
        return run_time(s, op, column, p);
    case FZ_AVRO_OP_NANOS:
        return run_nanos(s, op, column, p);
    case FZ_AVRO_OP_DATE_AS_MICROS:
        return run_date_as_micros(s, op, column, p);
    case FZ_AVRO_OP_JSON:
        return run_json(s, op, column, p);
    case FZ_AVRO_OP_FILL:
        return run_fill(s, op, column, p);
    case FZ_AVRO_OP_SKIP_BOOLEAN:
        return run_boolean(s, op, NULL, p);
    case FZ_AVRO_OP_SKIP_INT:
    case FZ_AVRO_OP_SKIP_LONG:
        return skip_number(s, op, p);
    case FZ_AVRO_OP_SKIP_SIZE:
    case FZ_AVRO_OP_SKIP_BYTES:
        return skip_bytes(s, op, p);
    case FZ_AVRO_OP_SKIP_ENUM:
        return run_enum(s, op, NULL, p);
    case FZ_AVRO_OP_SKIP_TYPE:
        return run_json(s, op, NULL, p);
    default:
        return p; // GROUP
    }
}

#endif
