// SPDX-License-Identifier: Apache-2.0
// Scalars of JSON text to values of columns.
#include "format/json/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/codec/text_codec.h"
#include "base/text/time.h"
#include "data/decimal.h"

#define MILLIS_PER_DAY 86400000
#define FAST_DIGITS 18

const uint8_t *fz_json_refuse(fz_json_run *run, const fz_json_node *node, const uint8_t *at,
                              const char *kind, const char *format, ...) {
    fz_json_reader *reader = &run->reader;
    reader->soft = true;
    reader->code = FZ_CORRUPT;
    if (reader->quiet) {
        return NULL;
    }
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fz_err_set_kind(reader->err, FZ_CORRUPT, kind, "field \"%.*s\": %s", FZ_STR_ARGS(node->path),
                    text);
    if (reader->err) {
        reader->err->offset = at - reader->begin;
    }
    return NULL;
}

// Another kind of value than the one that is wanted; the grammar has the first word.
static const uint8_t *wrong_kind(fz_json_run *run, const fz_json_node *node, const uint8_t *p) {
    const char *found = *p == '"'                ? "text"
                        : *p == '{'              ? "an object"
                        : *p == '['              ? "an array"
                        : *p == 't' || *p == 'f' ? "true or false"
                        : fz_json_is_number(*p)  ? "a number"
                        : *p == 'n'              ? "null"
                                                 : NULL;
    if (!found || !fz_json_skip(&run->reader, p)) {
        return found ? NULL : fz_json_unexpected(&run->reader, p, "value");
    }
    return fz_json_refuse(run, node, p, "invalid_value", "%s, wanted %s", found,
                          fz_json_kind_name((fz_json_kind)node->kind));
}

// --- integers ---

// Up to 18 digits and nothing behind them that belongs to a number; NULL: not that.
static inline const uint8_t *fast_integer(const uint8_t *p, const uint8_t *end, int64_t *out) {
    bool minus = *p == '-';
    p += minus;
    const uint8_t *first = p;
    int64_t value = 0;
    while (p < end && (uint8_t)(*p - '0') < 10) {
        if (FZ_UNLIKELY(p - first >= FAST_DIGITS)) {
            return NULL;
        }
        value = value * 10 + (*p++ - '0');
    }
    bool other = p == first || (*first == '0' && p > first + 1) ||
                 (p < end && (*p == '.' || *p == 'e' || *p == 'E'));
    if (FZ_UNLIKELY(other)) {
        return NULL;
    }
    *out = minus ? -value : value;
    return p;
}

static const uint8_t *read_integer(fz_json_run *run, const fz_json_node *node, const uint8_t *p,
                                   int64_t *out) {
    if (!fz_json_is_number(*p)) {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fast_integer(p, run->reader.end, out);
    if (FZ_LIKELY(next != NULL)) {
        return next;
    }
    fz_json_number number;
    next = fz_json_read_number(&run->reader, p, &number);
    if (!next) {
        return NULL;
    }
    fz_str shown = fz_str_slice(number.text, 0, 60);
    switch (fz_json_number_integer(&number, out)) {
    case FZ_OK:
        return next;
    case FZ_INVALID:
        return fz_json_refuse(run, node, p, "invalid_value", "%.*s is not a whole number",
                              FZ_STR_ARGS(shown));
    default:
        return fz_json_refuse(run, node, p, "out_of_range", "%.*s is beyond 64 bits",
                              FZ_STR_ARGS(shown));
    }
}

static const uint8_t *append_integer(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                     int64_t value, const uint8_t *next) {
    bool narrow = node->to == FZ_TYPE_INT || node->to == FZ_TYPE_DATE;
    return fz_json_appended(run,
                            narrow ? fz_column_append_i32(column, (int32_t)value, run->reader.err)
                                   : fz_column_append_i64(column, value, run->reader.err),
                            next);
}

static const uint8_t *run_integer(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    int64_t value = 0;
    const uint8_t *next = read_integer(run, node, p, &value);
    if (FZ_UNLIKELY(!next)) {
        return NULL;
    }
    if (node->bits < 64) {
        int64_t limit = INT64_C(1) << (node->bits - 1);
        if (value < -limit || value >= limit) {
            return fz_json_refuse(run, node, p, "out_of_range", "%lld is beyond %u bits",
                                  (long long)value, node->bits);
        }
    }
    return append_integer(run, node, column, value, next);
}

// Connect's Date, Time and Timestamp.
static const uint8_t *run_instant(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    int64_t value = 0;
    const uint8_t *next = read_integer(run, node, p, &value);
    if (!next) {
        return NULL;
    }
    bool over = false;
    if (node->kind == FZ_JSON_DATE_DAYS) {
        over = value != (int32_t)value;
        if (node->to == FZ_TYPE_TIMESTAMP) {
            over = over || __builtin_mul_overflow(value, FZ_US_PER_DAY, &value);
        }
    } else if (node->kind == FZ_JSON_TIME_MILLIS) {
        over = value < 0 || value >= MILLIS_PER_DAY;
        value = over ? 0 : value * 1000;
    } else {
        over = __builtin_mul_overflow(value, 1000, &value);
    }
    if (over) {
        return fz_json_refuse(run, node, p, "out_of_range", "a number beyond what %s can be",
                              fz_type_kind_name((fz_type_kind)node->to));
    }
    return append_integer(run, node, column, value, next);
}

// --- other numbers ---

static const uint8_t *run_real(fz_json_run *run, const fz_json_node *node, fz_column *column,
                               const uint8_t *p) {
    fz_json_number number;
    if (!fz_json_is_number(*p)) {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_number(&run->reader, p, &number);
    if (!next) {
        return NULL;
    }
    double real = 0;
    float single = 0;
    bool is_single = node->kind == FZ_JSON_FLOAT;
    fz_code code =
        is_single ? fz_json_number_float(&number, &single) : fz_json_number_double(&number, &real);
    if (code != FZ_OK) {
        return fz_json_refuse(run, node, p, "out_of_range", "%.*s is beyond %s",
                              FZ_STR_ARGS(fz_str_slice(number.text, 0, 60)),
                              is_single ? "a float" : "a double");
    }
    if (node->to == FZ_TYPE_FLOAT) {
        return fz_json_appended(run, fz_column_append_float(column, single, run->reader.err), next);
    }
    real = is_single ? (double)single : real;
    return fz_json_appended(run, fz_column_append_double(column, real, run->reader.err), next);
}

static const uint8_t *decode_base64(fz_json_run *run, const fz_json_node *node, const uint8_t *p,
                                    fz_str *out) {
    fz_str text;
    if (*p != '"') {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_text(&run->reader, p, &text);
    if (!next) {
        return NULL;
    }
    fz_buf *bytes = &run->decoder->bytes;
    fz_buf_reset(bytes);
    if (fz_base64_decode(bytes, text, NULL) != FZ_OK) {
        return fz_json_refuse(run, node, p, "invalid_value", "text that is not base64");
    }
    *out = fz_buf_view(bytes);
    return fz_json_appended(run, fz_buf_check(bytes, "base64 text", run->reader.err), next);
}

// Digits to an unscaled value of the column.
static bool decimal_of_digits(const fz_json_node *node, fz_str digits, fz_i128 *out,
                              const char **kind) {
    fz_code code = fz_decimal_parse(digits, node->precision, node->scale, out, NULL);
    *kind = code == FZ_INVALID ? "invalid_value" : "out_of_range";
    return code == FZ_OK;
}

static const uint8_t *run_decimal(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    fz_i128 value = 0;
    const char *kind = NULL;
    const uint8_t *next = NULL;
    bool good = false;
    if (fz_json_is_number(*p)) {
        fz_json_number number;
        next = fz_json_read_number(&run->reader, p, &number);
        good = next && decimal_of_digits(node, number.text, &value, &kind);
    } else if (*p == '"' && node->digits_text) {
        fz_str text;
        next = fz_json_read_text(&run->reader, p, &text);
        good = next && decimal_of_digits(node, text, &value, &kind);
    } else {
        fz_str bytes = {0};
        next = decode_base64(run, node, p, &bytes);
        good = next && fz_decimal_from_be((const uint8_t *)bytes.data, bytes.size, &value) &&
               fz_decimal_fits(value, node->type->precision);
        kind = bytes.size == 0 ? "invalid_value" : "out_of_range";
    }
    if (!next) {
        return NULL;
    }
    if (!good) {
        return fz_json_refuse(run, node, p, kind, "a value that decimal(%u, %u) cannot hold",
                              node->precision, node->scale);
    }
    return fz_json_appended(run, fz_column_append_fixed(column, &value, run->reader.err), next);
}

// --- texts ---

static const uint8_t *run_text(fz_json_run *run, const fz_json_node *node, fz_column *column,
                               const uint8_t *p) {
    fz_str text;
    if (FZ_UNLIKELY(*p != '"')) {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_text(&run->reader, p, &text);
    if (FZ_UNLIKELY(!next)) {
        return NULL;
    }
    return fz_json_appended(
        run, fz_column_append_bytes(column, text.data, text.size, run->reader.err), next);
}

static const uint8_t *run_bytes(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                const uint8_t *p) {
    fz_str bytes = {0};
    const uint8_t *next = decode_base64(run, node, p, &bytes);
    if (!next) {
        return NULL;
    }
    if (node->to == FZ_TYPE_BINARY) {
        fz_code code = fz_column_append_bytes(column, bytes.data, bytes.size, run->reader.err);
        return fz_json_appended(run, code, next);
    }
    if (bytes.size != (size_t)column->width) {
        return fz_json_refuse(run, node, p, "invalid_value", "%zu bytes, wanted %d", bytes.size,
                              column->width);
    }
    return fz_json_appended(run, fz_column_append_fixed(column, bytes.data, run->reader.err), next);
}

static const uint8_t *run_uuid(fz_json_run *run, const fz_json_node *node, fz_column *column,
                               const uint8_t *p) {
    fz_str text;
    uint8_t uuid[16];
    if (*p != '"') {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_text(&run->reader, p, &text);
    if (!next) {
        return NULL;
    }
    if (!fz_uuid_parse(text, uuid)) {
        return fz_json_refuse(run, node, p, "invalid_value", "text of %zu bytes is no uuid",
                              text.size);
    }
    return fz_json_appended(run, fz_column_append_fixed(column, uuid, run->reader.err), next);
}

// date, time, date-time.
static const uint8_t *run_time_text(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                    const uint8_t *p) {
    fz_str text;
    int64_t value = 0;
    if (*p != '"') {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_text(&run->reader, p, &text);
    if (!next) {
        return NULL;
    }
    fz_code code;
    if (node->kind == FZ_JSON_DATE) {
        code = fz_date_parse(text, &value, NULL);
        value *= node->to == FZ_TYPE_TIMESTAMP ? FZ_US_PER_DAY : 1;
    } else if (node->kind == FZ_JSON_TIME) {
        code = fz_time_parse(text, &value, NULL);
    } else {
        code = fz_timestamp_parse(text, node->kind == FZ_JSON_TIMESTAMPTZ, &value, NULL);
    }
    if (code != FZ_OK) {
        return fz_json_refuse(run, node, p, code == FZ_LIMIT ? "out_of_range" : "invalid_value",
                              "\"%.*s\" is no %s", FZ_STR_ARGS(fz_str_slice(text, 0, 60)),
                              fz_json_kind_name((fz_json_kind)node->kind));
    }
    return append_integer(run, node, column, value, next);
}

// A whole value as JSON text.
static const uint8_t *run_any(fz_json_run *run, const fz_json_node *node, fz_column *column,
                              const uint8_t *p) {
    if (*p == '"' && node->kind == FZ_JSON_SCALAR_TEXT) {
        return run_text(run, node, column, p);
    }
    const uint8_t *next = fz_json_skip(&run->reader, p);
    if (!next) {
        return NULL;
    }
    return fz_json_appended(
        run, fz_column_append_bytes(column, p, (size_t)(next - p), run->reader.err), next);
}

static const uint8_t *run_boolean(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    bool yes = *p == 't';
    if (!yes && *p != 'f') {
        return wrong_kind(run, node, p);
    }
    const uint8_t *next = fz_json_read_word(&run->reader, p, yes ? "true" : "false", yes ? 4 : 5);
    return next ? fz_json_appended(run, fz_column_append_bool(column, yes, run->reader.err), next)
                : NULL;
}

const uint8_t *fz_json_run_scalar(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    switch ((fz_json_kind)node->kind) {
    case FZ_JSON_STRING:
        return run_text(run, node, column, p);
    case FZ_JSON_INTEGER:
        return run_integer(run, node, column, p);
    case FZ_JSON_NUMBER:
    case FZ_JSON_FLOAT:
        return run_real(run, node, column, p);
    case FZ_JSON_BOOLEAN:
        return run_boolean(run, node, column, p);
    case FZ_JSON_DECIMAL:
        return run_decimal(run, node, column, p);
    case FZ_JSON_DATE:
    case FZ_JSON_TIME:
    case FZ_JSON_TIMESTAMP:
    case FZ_JSON_TIMESTAMPTZ:
        return run_time_text(run, node, column, p);
    case FZ_JSON_UUID:
        return run_uuid(run, node, column, p);
    case FZ_JSON_DATE_DAYS:
    case FZ_JSON_TIME_MILLIS:
    case FZ_JSON_TIMESTAMP_MILLIS:
        return run_instant(run, node, column, p);
    case FZ_JSON_BYTES:
    case FZ_JSON_FIXED:
        return run_bytes(run, node, column, p);
    case FZ_JSON_ANY:
    case FZ_JSON_RECURSIVE:
    case FZ_JSON_SCALAR_TEXT:
        return run_any(run, node, column, p);
    default: // ARRAY, MAP, ENTRIES, OBJECT, UNION where something else stands
        return wrong_kind(run, node, p);
    }
}

// --- enum and const ---

static bool equals(fz_json_reader *reader, const json_t *value, const uint8_t *p) {
    fz_str text;
    fz_json_number number;
    int64_t integer = 0;
    double real = 0;
    switch (*p) {
    case '"':
        return json_is_string(value) && fz_json_read_text(reader, p, &text) &&
               fz_str_equal(text, fz_json_view(value));
    case 't':
        return json_is_true(value);
    case 'f':
        return json_is_false(value);
    case 'n':
        return json_is_null(value);
    default:
        break;
    }
    if (!json_is_number(value) || !fz_json_is_number(*p) ||
        !fz_json_read_number(reader, p, &number)) {
        return false;
    }
    if (json_is_integer(value)) {
        return fz_json_number_integer(&number, &integer) == FZ_OK &&
               integer == json_integer_value(value);
    }
    return fz_json_number_double(&number, &real) == FZ_OK && real == json_real_value(value);
}

bool fz_json_run_listed(fz_json_run *run, const fz_json_node *node, const uint8_t *p) {
    if (*p == '{' || *p == '[') {
        return true;
    }
    for (size_t i = 0; i < node->type->value_count; i++) {
        if (equals(&run->reader, node->type->values[i], p)) {
            return true;
        }
    }
    return false;
}
