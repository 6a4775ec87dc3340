// SPDX-License-Identifier: Apache-2.0
// Names of org.apache.kafka.connect.data and of Confluent's converter for JSON Schema.
#include "format/json/annotation.h"

#include "base/text/number.h"

#define MAX_DIGITS 38

// A parameter is text, now and then a number.
static int32_t parameter(const json_t *parameters, const char *key, int32_t fallback) {
    const json_t *value = json_object_get(parameters, key);
    int64_t number = fallback;
    if (json_is_integer(value)) {
        number = json_integer_value(value);
    } else if (json_is_string(value) && fz_int_parse(fz_json_view(value), &number, NULL) != FZ_OK) {
        number = fallback;
    }
    return number < INT16_MIN || number > INT16_MAX ? INT16_MAX : (int32_t)number;
}

bool fz_json_annotation_logical(fz_str name, const json_t *parameters, fz_json_type *type) {
    static const struct {
        const char *name;
        fz_json_kind kind;
    } names[] = {{"org.apache.kafka.connect.data.Decimal", FZ_JSON_DECIMAL},
                 {"org.apache.kafka.connect.data.Date", FZ_JSON_DATE_DAYS},
                 {"org.apache.kafka.connect.data.Time", FZ_JSON_TIME_MILLIS},
                 {"org.apache.kafka.connect.data.Timestamp", FZ_JSON_TIMESTAMP_MILLIS}};
    for (size_t i = 0; i < FZ_COUNT(names); i++) {
        if (!fz_str_equal(name, fz_str_from(names[i].name))) {
            continue;
        }
        bool integer = names[i].kind != FZ_JSON_DECIMAL;
        if (integer != (type->kind == FZ_JSON_INTEGER) || type->kind == FZ_JSON_BOOLEAN) {
            return false; // a title that only looks like one
        }
        type->kind = names[i].kind;
        if (!integer) {
            type->scale = parameter(parameters, "scale", 0);
            type->precision = parameter(parameters, "connect.decimal.precision", MAX_DIGITS);
        }
        return true;
    }
    return false;
}

static void apply_format(fz_str format, fz_json_type *type) {
    static const struct {
        const char *name;
        fz_json_kind kind;
    } formats[] = {{"date", FZ_JSON_DATE},
                   {"time", FZ_JSON_TIME},
                   {"date-time", FZ_JSON_TIMESTAMPTZ},
                   {"uuid", FZ_JSON_UUID}};
    for (size_t i = 0; i < FZ_COUNT(formats); i++) {
        if (fz_str_equal(format, fz_str_from(formats[i].name))) {
            type->kind = formats[i].kind;
        }
    }
}

void fz_json_annotation_scalar(const json_t *node, fz_json_type *type) {
    static const struct {
        const char *name;
        fz_json_kind base;
        fz_json_kind kind;
        int bits;
    } types[] = {{"int8", FZ_JSON_INTEGER, FZ_JSON_INTEGER, 8},
                 {"int16", FZ_JSON_INTEGER, FZ_JSON_INTEGER, 16},
                 {"int32", FZ_JSON_INTEGER, FZ_JSON_INTEGER, 32},
                 {"int64", FZ_JSON_INTEGER, FZ_JSON_INTEGER, 64},
                 {"float32", FZ_JSON_NUMBER, FZ_JSON_FLOAT, 32},
                 {"float64", FZ_JSON_NUMBER, FZ_JSON_NUMBER, 64},
                 {"bytes", FZ_JSON_STRING, FZ_JSON_BYTES, 0}};
    if (type->kind == FZ_JSON_NULL || type->kind == FZ_JSON_BOOLEAN ||
        fz_json_annotation_logical(fz_json_str_or(node, "title"),
                                   json_object_get(node, "connect.parameters"), type)) {
        return;
    }
    fz_str name = fz_json_str_or(node, "connect.type");
    for (size_t i = 0; i < FZ_COUNT(types); i++) {
        if (types[i].base == type->kind && fz_str_equal(name, fz_str_from(types[i].name))) {
            type->kind = types[i].kind;
            type->bits = types[i].bits;
            return;
        }
    }
    if (type->kind == FZ_JSON_STRING) {
        apply_format(fz_json_str_or(node, "format"), type);
    }
}

void fz_json_annotation_entries(fz_json_type *type) {
    fz_json_type *entry = type->item;
    if (entry->kind != FZ_JSON_OBJECT || entry->field_count != 2) {
        return;
    }
    size_t key = fz_str_equal(entry->fields[0].name, FZ_STR("key")) ? 0 : 1;
    if (!fz_str_equal(entry->fields[key].name, FZ_STR("key")) ||
        !fz_str_equal(entry->fields[1 - key].name, FZ_STR("value"))) {
        return;
    }
    type->kind = FZ_JSON_ENTRIES;
    type->key = entry->fields[key].type;
    type->item = entry->fields[1 - key].type;
}
