// SPDX-License-Identifier: Apache-2.0
// The decoder: runs a plan's ops over a record's bytes. Nothing is allocated but columns, and no
// call is made per value that the compiler could not put in line.
#include <stdarg.h>
#include <stdio.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/time.h"
#include "data/batch.h"
#include "format/avro/json_text.h"
#include "format/avro/map_settle.h"
#include "format/avro/plan.h"
#include "format/avro/reader.h"
#include "format/avro/schema_parser.h"
#include "format/avro/shape.h"

#define JSON_TEXT_SIZE ((size_t)64 << 20) // of one recursive value
#define SHORT_TEXT 64
#define MILLIS_PER_DAY 86400000

// A nested value that is being read.
typedef struct frame {
    fz_column *columns; // those in force outside of it
    fz_column *column;  // what its value goes to, NULL: skipped
    const fz_avro_op *op;
    int64_t start; // MAP: length of its children before
    int64_t left;  // ARRAY, MAP: items of the block
} frame;

typedef struct avro_decoder {
    fz_decoder base;
    fz_avro_plan plan;
    frame *frames;
    fz_buf text; // JSON
} avro_decoder;

typedef struct state {
    avro_decoder *decoder;
    const uint8_t *begin;
    const uint8_t *end;
    fz_column *columns; // those in force
    frame *top;         // one behind the innermost
    fz_err *err;
    fz_code code; // of the failure
} state;

// Below, an op takes the position of its value and answers that behind it, or NULL once `code` is
// set.

// --- failures ---

__attribute__((cold, noinline)) static FZ_PRINTF(5, 6) const uint8_t *fail(
    state *s, const fz_avro_op *op, const uint8_t *at, const char *kind, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const fz_avro_plan *plan = &s->decoder->plan;
    fz_str path = plan->paths.data[op - plan->ops.data];
    s->code =
        fz_err_set_kind(s->err, FZ_CORRUPT, kind, "field \"%.*s\": %s", FZ_STR_ARGS(path), text);
    if (s->err) {
        s->err->offset = at - s->begin;
    }
    return NULL;
}

__attribute__((cold, noinline)) static const uint8_t *fail_varint(state *s, const fz_avro_op *op,
                                                                  const uint8_t *at) {
    bool cut = s->end - at < 10;
    for (const uint8_t *p = at; p < s->end && cut; p++) {
        cut = (*p & 0x80) != 0;
    }
    if (cut) {
        return fail(s, op, at, "truncated", "the record ends inside a number");
    }
    return fail(s, op, at, "malformed", "a number of more than 64 bits");
}

__attribute__((cold, noinline)) static const uint8_t *fail_size(state *s, const fz_avro_op *op,
                                                                const uint8_t *at, int64_t size) {
    if (size < 0) {
        return fail(s, op, at, "malformed", "a length of %lld bytes", (long long)size);
    }
    return fail(s, op, at, "truncated", "%lld bytes wanted, %lld are left", (long long)size,
                (long long)(s->end - at));
}

const uint8_t *fz_avro_read_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) {
            return NULL;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return p;
        }
    }
    return NULL;
}

// --- parts of values ---

static inline const uint8_t *read_long(state *s, const fz_avro_op *op, const uint8_t *p,
                                       int64_t *out) {
    const uint8_t *next = fz_avro_read_long(p, s->end, out);
    return FZ_LIKELY(next != NULL) ? next : fail_varint(s, op, p);
}

static inline const uint8_t *read_int(state *s, const fz_avro_op *op, const uint8_t *p,
                                      int32_t *out) {
    int64_t value = 0;
    const uint8_t *next = read_long(s, op, p, &value);
    *out = (int32_t)value;
    if (FZ_UNLIKELY(value != (int32_t)value)) {
        return next ? fail(s, op, p, "malformed", "%lld is an int of more than 32 bits",
                           (long long)value)
                    : NULL;
    }
    return next;
}

// Length of bytes or text, tested against what is left.
static inline const uint8_t *read_size(state *s, const fz_avro_op *op, const uint8_t *p,
                                       size_t *out) {
    int64_t size = 0;
    const uint8_t *next = read_long(s, op, p, &size);
    *out = (size_t)size;
    if (FZ_UNLIKELY(!next || size < 0 || size > s->end - next)) {
        return next ? fail_size(s, op, next, size) : NULL;
    }
    return next;
}

static inline bool has_bytes(state *s, const fz_avro_op *op, const uint8_t *p, size_t size) {
    if (FZ_LIKELY(size <= (size_t)(s->end - p))) {
        return true;
    }
    fail_size(s, op, p, (int64_t)size);
    return false;
}

// The end of an append: the position behind the value, or NULL.
static inline const uint8_t *appended(state *s, fz_code code, const uint8_t *next) {
    if (FZ_LIKELY(code == FZ_OK)) {
        return next;
    }
    s->code = code;
    return NULL;
}

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

static const uint8_t *run_fill(state *s, const fz_avro_op *op, fz_column *column,
                               const uint8_t *p) {
    const fz_value *fill = op->as.fill;
    if (!fill) {
        return appended(s, fz_column_append_null(column, s->err), p);
    }
    fz_code code;
    switch (fill->kind) {
    case FZ_TYPE_BOOLEAN:
        code = fz_column_append_bool(column, fill->as.integer != 0, s->err);
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        code = fz_column_append_i32(column, (int32_t)fill->as.integer, s->err);
        break;
    case FZ_TYPE_FLOAT:
        code = fz_column_append_float(column, fill->as.real32, s->err);
        break;
    case FZ_TYPE_DOUBLE:
        code = fz_column_append_double(column, fill->as.real64, s->err);
        break;
    case FZ_TYPE_DECIMAL:
        code = fz_column_append_fixed(column, &fill->as.decimal, s->err);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        code = fz_column_append_bytes(column, fill->as.bytes.data, fill->as.bytes.size, s->err);
        break;
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        code = fz_column_append_fixed(column, fill->as.bytes.data, s->err);
        break;
    default:
        code = fz_column_append_i64(column, fill->as.integer, s->err);
        break;
    }
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

// --- nested values ---

static inline fz_column *column_of(const state *s, const fz_avro_op *op) {
    return op->column == FZ_AVRO_NO_COLUMN ? NULL : &s->columns[op->column];
}

static inline frame *push_frame(state *s, const fz_avro_op *op) {
    fz_column *column = column_of(s, op);
    frame *f = s->top++;
    *f = (frame){.columns = s->columns, .column = column, .op = op};
    if (column) {
        s->columns = column->children;
    }
    return f;
}

static inline frame *pop_frame(state *s) {
    frame *f = --s->top;
    s->columns = f->columns;
    return f;
}

// Headers of blocks until one has items to visit (f->left), or the last one was read (f->left is
// 0).
static const uint8_t *read_block(state *s, frame *f, const uint8_t *p) {
    const fz_avro_op *op = f->op;
    for (;;) {
        int64_t count = 0;
        int64_t size = -1;
        const uint8_t *at = p;
        p = read_long(s, op, p, &count);
        if (!p) {
            return NULL;
        }
        if (count < 0) {
            if (count == INT64_MIN) {
                return fail(s, op, at, "malformed", "a block's count is out of range");
            }
            count = -count;
            p = read_long(s, op, p, &size);
            if (!p) {
                return NULL;
            }
            if (size < 0 || size > s->end - p) {
                return fail_size(s, op, p, size);
            }
        }
        f->left = count;
        if (count == 0) {
            return p;
        }
        if (op->size && (uint64_t)count > (uint64_t)(s->end - p) / op->size) {
            return fail(s, op, at, "truncated", "a block of %lld items, %lld bytes are left",
                        (long long)count, (long long)(s->end - p));
        }
        if (op->size == 0) {
            continue; // items without bytes, and no column wants them
        }
        if (size < 0 || f->column) {
            return p;
        }
        p += size;
    }
}

// The list or map is complete: append it.
static const uint8_t *close_items(state *s, const uint8_t *p) {
    frame *f = pop_frame(s);
    if (!f->column) {
        return p;
    }
    if (f->op->code == FZ_AVRO_OP_MAP) {
        fz_code code = fz_avro_map_settle(f->column, f->start, s->err);
        if (code != FZ_OK) {
            s->code = code;
            return NULL;
        }
    }
    return appended(s, fz_column_append_list(f->column, s->err), p);
}

// Begin of ARRAY or MAP (`f` just pushed) and end of an item: the next op is *next.
static inline const uint8_t *next_item(state *s, frame *f, const uint8_t *p,
                                       const fz_avro_op **next) {
    if (--f->left > 0) {
        *next = f->op + 1;
        return p;
    }
    p = read_block(s, f, p);
    if (!p) {
        return NULL;
    }
    if (f->left > 0) {
        *next = f->op + 1;
        return p;
    }
    *next = s->decoder->plan.ops.data + f->op->end;
    return close_items(s, p);
}

static const uint8_t *begin_items(state *s, const fz_avro_op *op, const uint8_t *p,
                                  const fz_avro_op **next) {
    frame *f = push_frame(s, op);
    f->start = f->column ? f->column->children[0].length : 0;
    return next_item(s, f, p, next);
}

static const uint8_t *append_absent(state *s, const fz_avro_op *op, const uint8_t *p,
                                    const uint8_t *next) {
    if (op->column == FZ_AVRO_NO_COLUMN) {
        return next;
    }
    if (FZ_UNLIKELY(!op->null_ok)) {
        return fail(s, op, p, "null_in_required", "null, and its column is required");
    }
    return appended(s, fz_column_append_null(column_of(s, op), s->err), next);
}

static const uint8_t *begin_union(state *s, const fz_avro_op *op, const uint8_t *p,
                                  const fz_avro_op **next) {
    int64_t index = 0;
    const uint8_t *after = read_long(s, op, p, &index);
    if (!after) {
        return NULL;
    }
    if (index < 0 || index >= op->size) {
        return fail(s, op, p, "malformed", "union index %lld, there are %u branches",
                    (long long)index, op->size);
    }
    const fz_avro_op *ops = s->decoder->plan.ops.data;
    uint32_t branch = op->as.branches[index];
    if (branch == FZ_AVRO_NULL_BRANCH) {
        *next = ops + op->end;
        return append_absent(s, op, p, after);
    }
    *next = ops + branch;
    if (op->column != FZ_AVRO_NO_COLUMN) {
        push_frame(s, op);
    }
    return after;
}

// One branch got its value: null for the others.
static const uint8_t *end_branch(state *s, const fz_avro_op *op, const uint8_t *p) {
    if (op->column == FZ_AVRO_NO_COLUMN) {
        return p;
    }
    fz_column *column = pop_frame(s)->column;
    for (size_t i = 0; i < column->child_count; i++) {
        if (column->children[i].length == column->length) {
            fz_code code = fz_column_append_null(&column->children[i], s->err);
            if (code != FZ_OK) {
                s->code = code;
                return NULL;
            }
        }
    }
    return appended(s, fz_column_append_struct(column, s->err), p);
}

// The index of a union of null and one type, or of one type; *absent: it was null.
static inline const uint8_t *read_form(state *s, const fz_avro_op *op, const uint8_t *p,
                                       bool *absent) {
    int64_t index = 0;
    const uint8_t *next = read_long(s, op, p, &index);
    if (FZ_UNLIKELY(!next)) {
        return NULL;
    }
    int64_t branches = op->form == FZ_AVRO_FORM_SINGLE ? 1 : 2;
    if (FZ_UNLIKELY(index < 0 || index >= branches)) {
        return fail(s, op, p, "malformed", "union index %lld, there are %lld branches",
                    (long long)index, (long long)branches);
    }
    *absent = index == op->form;
    return *absent ? append_absent(s, op, p, next) : next;
}

// --- the loop ---

static fz_code run(state *s, const uint8_t *p) {
    const fz_avro_op *ops = s->decoder->plan.ops.data;
    const fz_avro_op *op = ops;
    while (p) {
        if (op->form != FZ_AVRO_FORM_PLAIN) {
            bool absent = false;
            p = read_form(s, op, p, &absent);
            if (absent || !p) {
                op = ops + op->end;
                continue;
            }
        }
        const fz_avro_op *next = op + 1;
        switch ((fz_avro_opcode)op->code) {
        case FZ_AVRO_OP_END:
            if (FZ_UNLIKELY(p != s->end)) {
                s->code = fz_err_set_kind(s->err, FZ_CORRUPT, "trailing_bytes",
                                          "%lld bytes are left behind the record",
                                          (long long)(s->end - p));
                if (s->err) {
                    s->err->offset = p - s->begin;
                }
            }
            return s->code;
        case FZ_AVRO_OP_STRUCT:
            push_frame(s, op);
            break;
        case FZ_AVRO_OP_STRUCT_END:
            p = appended(s, fz_column_append_struct(pop_frame(s)->column, s->err), p);
            break;
        case FZ_AVRO_OP_ARRAY:
        case FZ_AVRO_OP_MAP:
            p = begin_items(s, op, p, &next);
            break;
        case FZ_AVRO_OP_ITEM_END:
            p = next_item(s, s->top - 1, p, &next);
            break;
        case FZ_AVRO_OP_UNION:
            p = begin_union(s, op, p, &next);
            break;
        case FZ_AVRO_OP_BRANCH_END:
            p = end_branch(s, op, p);
            next = ops + op->end;
            break;
        default:
            p = run_scalar(s, op, column_of(s, op), p);
            break;
        }
        op = next;
    }
    return s->code;
}

static fz_code avro_decode(fz_decoder *base, const uint8_t *data, size_t size, fz_batch *batch,
                           fz_err *err) {
    static const uint8_t none[1] = {0};
    avro_decoder *decoder = (avro_decoder *)base;
    FZ_ASSERT(batch->column_count == decoder->plan.column_count);
    data = size ? data : none;
    state s = {
        .decoder = decoder,
        .begin = data,
        .end = data + size,
        .columns = batch->columns,
        .top = decoder->frames,
        .err = err,
        .code = FZ_OK,
    };
    return run(&s, data);
}

static void avro_decoder_free(fz_decoder *base) {
    avro_decoder *decoder = (avro_decoder *)base;
    fz_avro_plan_deinit(&decoder->plan);
    fz_free(decoder->frames);
    fz_buf_deinit(&decoder->text);
    fz_free(decoder);
}

static const fz_decoder_ops avro_decoder_ops = {.decode = avro_decode, .free = avro_decoder_free};

fz_code fz_avro_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                             fz_schema *target, const bool *owned, fz_decoder **out, fz_err *err) {
    avro_decoder *decoder = (avro_decoder *)fz_calloc(1, sizeof(*decoder));
    decoder->base.ops = &avro_decoder_ops;
    fz_buf_init(&decoder->text, JSON_TEXT_SIZE, NULL);
    fz_code code = fz_avro_plan_compile(&decoder->plan, ((const fz_avro_schema *)schema)->root,
                                        shape, target, owned, err);
    if (code != FZ_OK) {
        avro_decoder_free(&decoder->base);
        return code;
    }
    decoder->frames = (frame *)fz_calloc(decoder->plan.frames + 1, sizeof(frame));
    *out = &decoder->base;
    return FZ_OK;
}
