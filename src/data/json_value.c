// SPDX-License-Identifier: Apache-2.0
// Reading single-value JSON, strictly: a default that is not of its type's form is corrupt.
#include "data/json_value.h"

#include <math.h>
#include <stdio.h>

#include "base/codec/text_codec.h"
#include "base/text/number.h"
#include "base/text/time.h"

static fz_code wrong(const fz_type *type, const json_t *json, fz_err *err) {
    fz_buf text = {0};
    const char *shown = "?";
    if (fz_json_format(json, &text, NULL) == FZ_OK) {
        shown = fz_buf_cstr(&text);
    }
    fz_code code = fz_err_set(err, FZ_CORRUPT, "%.80s is no JSON value of type %s", shown,
                              fz_type_kind_name(type->kind));
    fz_buf_deinit(&text);
    return code;
}

static fz_code integer_from_json(const fz_type *type, const json_t *json, int64_t *out,
                                 fz_err *err) {
    if (!json_is_integer(json)) {
        return wrong(type, json, err);
    }
    int64_t value = json_integer_value(json);
    if (type->kind == FZ_TYPE_INT && (value < INT32_MIN || value > INT32_MAX)) {
        return fz_err_set(err, FZ_LIMIT, "%lld does not fit int", (long long)value);
    }
    *out = value;
    return FZ_OK;
}

static fz_code real_from_json(const fz_type *type, const json_t *json, double *out, fz_err *err) {
    if (json_is_number(json)) {
        *out = json_number_value(json);
        return FZ_OK;
    }
    fz_str text = fz_json_view(json);
    if (fz_str_equal(text, FZ_STR("NaN"))) {
        *out = (double)NAN;
    } else if (fz_str_equal(text, FZ_STR("Infinity"))) {
        *out = INFINITY;
    } else if (fz_str_equal(text, FZ_STR("-Infinity"))) {
        *out = -INFINITY;
    } else {
        return wrong(type, json, err);
    }
    return FZ_OK;
}

// Nine digits behind the point: the parser knows six, so the last three are read here.
static fz_code nanos_from_text(fz_str text, bool zone, int64_t *out, fz_err *err) {
    int64_t micros = 0;
    FZ_TRY(fz_timestamp_parse(text, zone, &micros, err));
    size_t point = fz_str_find(text, '.', 0);
    int64_t rest = 0;
    int64_t unit = 100;
    for (size_t i = point == SIZE_MAX ? text.size : point + 7; i < text.size && unit; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            break;
        }
        rest += (text.data[i] - '0') * unit;
        unit /= 10;
    }
    int64_t nanos = 0;
    if (__builtin_mul_overflow(micros, 1000, &nanos) ||
        __builtin_add_overflow(nanos, rest, &nanos)) {
        return fz_err_set(err, FZ_LIMIT, "\"%.*s\" does not fit nanoseconds", FZ_STR_ARGS(text));
    }
    *out = nanos;
    return FZ_OK;
}

static fz_code text_to_value(const fz_type *type, fz_str text, fz_arena *arena, fz_value *value,
                             fz_err *err) {
    uint8_t uuid[16];
    switch (type->kind) {
    case FZ_TYPE_DECIMAL:
        return fz_decimal_parse(text, type->precision, type->scale, &value->as.decimal, err);
    case FZ_TYPE_DATE:
        return fz_date_parse(text, &value->as.integer, err);
    case FZ_TYPE_TIME:
        return fz_time_parse(text, &value->as.integer, err);
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        return fz_timestamp_parse(text, type->kind == FZ_TYPE_TIMESTAMPTZ, &value->as.integer, err);
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return nanos_from_text(text, type->kind == FZ_TYPE_TIMESTAMPTZ_NS, &value->as.integer, err);
    case FZ_TYPE_STRING:
        value->as.bytes = fz_arena_str(arena, text);
        return FZ_OK;
    case FZ_TYPE_UUID:
        if (!fz_uuid_parse(text, uuid)) {
            return fz_err_set(err, FZ_INVALID, "\"%.*s\" is no uuid",
                              FZ_STR_ARGS(fz_str_slice(text, 0, 80)));
        }
        value->as.bytes = fz_arena_str(arena, fz_str_make(uuid, sizeof(uuid)));
        return FZ_OK;
    default: {
        fz_buf bytes = {0};
        fz_code code = fz_hex_decode(&bytes, text, err);
        if (code == FZ_OK && type->kind == FZ_TYPE_FIXED && bytes.size != (size_t)type->length) {
            code = fz_err_set(err, FZ_INVALID, "%zu bytes for fixed[%d]", bytes.size, type->length);
        }
        if (code == FZ_OK) {
            value->as.bytes = fz_arena_str(arena, fz_buf_view(&bytes));
        }
        fz_buf_deinit(&bytes);
        return code;
    }
    }
}

fz_code fz_value_from_json(const fz_type *type, const json_t *json, fz_arena *arena, fz_value *out,
                           fz_err *err) {
    fz_value value = {.kind = type->kind};
    double real = 0;
    if (!json || json_is_null(json)) {
        value.is_null = true;
        *out = value;
        return FZ_OK;
    }
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        if (!json_is_boolean(json)) {
            return wrong(type, json, err);
        }
        value.as.integer = json_is_true(json);
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        FZ_TRY(integer_from_json(type, json, &value.as.integer, err));
        break;
    case FZ_TYPE_FLOAT:
        FZ_TRY(real_from_json(type, json, &real, err));
        if (isfinite(real) && fabs(real) > (double)__FLT_MAX__) {
            return fz_err_set(err, FZ_LIMIT, "%g does not fit float", real);
        }
        value.as.real32 = (float)real;
        break;
    case FZ_TYPE_DOUBLE:
        FZ_TRY(real_from_json(type, json, &value.as.real64, err));
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return wrong(type, json, err);
    default: {
        if (!json_is_string(json)) {
            return wrong(type, json, err);
        }
        fz_code code = text_to_value(type, fz_json_view(json), arena, &value, err);
        if (code == FZ_INVALID) {
            return wrong(type, json, err); // the form is the document's fault
        }
        FZ_TRY(code);
        break;
    }
    }
    *out = value;
    return FZ_OK;
}

fz_code fz_column_append_value(fz_column *column, const fz_value *value, fz_err *err) {
    if (value->is_null) {
        return fz_column_append_null(column, err);
    }
    FZ_ASSERT(value->kind == column->field->type.kind);
    switch (value->kind) {
    case FZ_TYPE_BOOLEAN:
        return fz_column_append_bool(column, value->as.integer != 0, err);
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        return fz_column_append_i32(column, (int32_t)value->as.integer, err);
    case FZ_TYPE_FLOAT:
        return fz_column_append_float(column, value->as.real32, err);
    case FZ_TYPE_DOUBLE:
        return fz_column_append_double(column, value->as.real64, err);
    case FZ_TYPE_DECIMAL:
        return fz_column_append_fixed(column, &value->as.decimal, err);
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        FZ_ASSERT(value->as.bytes.size == (size_t)column->width);
        return fz_column_append_fixed(column, value->as.bytes.data, err);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        return fz_column_append_bytes(column, value->as.bytes.data, value->as.bytes.size, err);
    default:
        return fz_column_append_i64(column, value->as.integer, err);
    }
}

static fz_code append_primitive(fz_column *column, const json_t *json, fz_err *err) {
    fz_arena arena = {0};
    fz_value value;
    fz_code code = fz_value_from_json(&column->field->type, json, &arena, &value, err);
    if (code == FZ_OK) {
        code = fz_column_append_value(column, &value, err);
    }
    fz_arena_deinit(&arena);
    return code;
}

// A member that a struct's default does not name takes its own one.
static fz_code append_own_default(fz_column *column, fz_err *err) {
    json_t *json = NULL;
    if (!column->field->initial_default.size) {
        return fz_column_append_null(column, err);
    }
    FZ_TRY(fz_json_parse(column->field->initial_default, &json, err));
    fz_code code = fz_column_append_json(column, json, err);
    json_decref(json);
    return code;
}

static fz_code append_struct(fz_column *column, const json_t *json, fz_err *err) {
    if (!json_is_object(json)) {
        return wrong(&column->field->type, json, err);
    }
    for (size_t i = 0; i < column->child_count; i++) {
        fz_column *child = &column->children[i];
        char id[16];
        (void)snprintf(id, sizeof(id), "%d", child->field->id);
        const json_t *member = json_object_get(json, id);
        FZ_TRY(member ? fz_column_append_json(child, member, err) : append_own_default(child, err));
    }
    return fz_column_append_struct(column, err);
}

static fz_code append_items(fz_column *column, const json_t *items, fz_err *err) {
    for (size_t i = 0; i < json_array_size(items); i++) {
        FZ_TRY(fz_column_append_json(column, json_array_get(items, i), err));
    }
    return FZ_OK;
}

fz_code fz_column_append_json(fz_column *column, const json_t *json, fz_err *err) {
    if (!json || json_is_null(json)) {
        return fz_column_append_null(column, err);
    }
    const json_t *keys = json_object_get(json, "keys");
    const json_t *values = json_object_get(json, "values");
    switch (column->field->type.kind) {
    case FZ_TYPE_STRUCT:
        return append_struct(column, json, err);
    case FZ_TYPE_LIST:
        if (!json_is_array(json)) {
            return wrong(&column->field->type, json, err);
        }
        FZ_TRY(append_items(&column->children[0], json, err));
        return fz_column_append_list(column, err);
    case FZ_TYPE_MAP:
        if (!json_is_array(keys) || !json_is_array(values) ||
            json_array_size(keys) != json_array_size(values)) {
            return wrong(&column->field->type, json, err);
        }
        FZ_TRY(append_items(&column->children[0], keys, err));
        FZ_TRY(append_items(&column->children[1], values, err));
        return fz_column_append_list(column, err);
    default:
        return append_primitive(column, json, err);
    }
}
