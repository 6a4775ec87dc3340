// SPDX-License-Identifier: Apache-2.0
// Avro specification, "Logical Types": an invalid or unknown one is ignored; Connect's notes on
// decimals and maps.
#include "format/avro/logical.h"

#include <math.h>

#include "base/text/number.h"

static const struct {
    const char *name;
    fz_avro_logical logical;
    fz_avro_kind base;
    int64_t size; // of a FIXED base
} logicals[] = {
    {"decimal", FZ_AVRO_LOGICAL_DECIMAL, FZ_AVRO_BYTES, 0},
    {"decimal", FZ_AVRO_LOGICAL_DECIMAL, FZ_AVRO_FIXED, -1},
    {"uuid", FZ_AVRO_LOGICAL_UUID, FZ_AVRO_STRING, 0},
    {"uuid", FZ_AVRO_LOGICAL_UUID, FZ_AVRO_FIXED, 16},
    {"date", FZ_AVRO_LOGICAL_DATE, FZ_AVRO_INT, 0},
    {"time-millis", FZ_AVRO_LOGICAL_TIME_MILLIS, FZ_AVRO_INT, 0},
    {"time-micros", FZ_AVRO_LOGICAL_TIME_MICROS, FZ_AVRO_LONG, 0},
    {"timestamp-millis", FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS, FZ_AVRO_LONG, 0},
    {"timestamp-micros", FZ_AVRO_LOGICAL_TIMESTAMP_MICROS, FZ_AVRO_LONG, 0},
    {"timestamp-nanos", FZ_AVRO_LOGICAL_TIMESTAMP_NANOS, FZ_AVRO_LONG, 0},
    {"local-timestamp-millis", FZ_AVRO_LOGICAL_LOCAL_MILLIS, FZ_AVRO_LONG, 0},
    {"local-timestamp-micros", FZ_AVRO_LOGICAL_LOCAL_MICROS, FZ_AVRO_LONG, 0},
    {"local-timestamp-nanos", FZ_AVRO_LOGICAL_LOCAL_NANOS, FZ_AVRO_LONG, 0},
    {"duration", FZ_AVRO_LOGICAL_DURATION, FZ_AVRO_FIXED, 12},
    {"map", FZ_AVRO_LOGICAL_MAP, FZ_AVRO_ARRAY, 0},
};

const char *fz_avro_logical_name(fz_avro_logical logical) {
    for (size_t i = 0; i < FZ_COUNT(logicals); i++) {
        if (logicals[i].logical == logical) {
            return logicals[i].name;
        }
    }
    return NULL;
}

static bool is_connect_decimal(const json_t *json) {
    return fz_str_equal(fz_json_str_or(json, "connect.name"),
                        FZ_STR("org.apache.kafka.connect.data.Decimal"));
}

// Connect keeps the scale as a text among its parameters; the precision is not part of its type.
static int64_t connect_scale(const json_t *json) {
    int64_t scale = 0;
    fz_str text = fz_json_str_or(json_object_get(json, "connect.parameters"), "scale");
    return text.size && fz_int_parse(text, &scale, NULL) == FZ_OK ? scale : 0;
}

// Digits that two's complement of `size` bytes holds: floor(log10(2^(8 size - 1) - 1)).
static int64_t fixed_digits(int64_t size) {
    return size == 0 ? 0 : (int64_t)floor((double)(8 * size - 1) * log10(2.0));
}

static bool decimal_parameters(const json_t *json, fz_avro_type *type) {
    const json_t *precision = json_object_get(json, "precision");
    const json_t *scale = json_object_get(json, "scale");
    if ((precision && !json_is_integer(precision)) || (scale && !json_is_integer(scale))) {
        return false;
    }
    if (!precision && !is_connect_decimal(json)) {
        return false;
    }
    type->precision = precision ? json_integer_value(precision) : 38;
    type->scale = scale ? json_integer_value(scale) : connect_scale(json);
    if (type->precision < 1 || type->scale < 0 || type->scale > type->precision) {
        return false;
    }
    return type->kind != FZ_AVRO_FIXED || type->precision <= fixed_digits(type->size);
}

// Array of records {key, value} that is tagged as a map, or whose record Connect marked.
static bool has_entries(const fz_avro_type *type) {
    const fz_avro_type *item = type->kind == FZ_AVRO_ARRAY ? type->item : NULL;
    if (!item || item->kind != FZ_AVRO_RECORD || item->field_count != 2) {
        return false;
    }
    fz_str first = item->fields[0].name;
    fz_str second = item->fields[1].name;
    return (fz_str_equal(first, FZ_STR("key")) && fz_str_equal(second, FZ_STR("value"))) ||
           (fz_str_equal(first, FZ_STR("value")) && fz_str_equal(second, FZ_STR("key")));
}

void fz_avro_logical_of_record(const json_t *json, fz_avro_type *type) {
    bool marked = fz_str_equal(fz_json_str_or(json, "connect.internal.type"), FZ_STR("MapEntry")) ||
                  fz_str_equal(type->full_name, FZ_STR("io.confluent.connect.avro.MapEntry"));
    type->logical = marked ? FZ_AVRO_LOGICAL_MAP : FZ_AVRO_LOGICAL_NONE;
}

void fz_avro_logical_of_type(fz_arena *arena, const json_t *json, fz_avro_type *type) {
    if (has_entries(type) && type->item->logical == FZ_AVRO_LOGICAL_MAP) {
        type->logical = FZ_AVRO_LOGICAL_MAP;
    }
    fz_str name = fz_json_str_or(json, "logicalType");
    if (name.size == 0) {
        return;
    }
    for (size_t i = 0; i < FZ_COUNT(logicals); i++) {
        bool fits =
            fz_str_equal(name, fz_str_from(logicals[i].name)) && logicals[i].base == type->kind &&
            (type->kind != FZ_AVRO_FIXED || logicals[i].size < 0 || logicals[i].size == type->size);
        if (!fits) {
            continue;
        }
        if (logicals[i].logical == FZ_AVRO_LOGICAL_DECIMAL && !decimal_parameters(json, type)) {
            continue;
        }
        if (logicals[i].logical == FZ_AVRO_LOGICAL_MAP && !has_entries(type)) {
            continue;
        }
        type->logical = logicals[i].logical;
        return;
    }
    type->ignored_logical = fz_arena_str(arena, name);
}
