// SPDX-License-Identifier: Apache-2.0
// Avro specification, "Complex Types" (field defaults); Iceberg specification, Appendix D
// (single-value JSON).
#include "format/avro/default.h"

#include <float.h>
#include <math.h>

#include "base/codec/text_codec.h"
#include "base/text/json.h"
#include "base/text/time.h"

#define DEFAULT_BYTES ((size_t)1 << 20)

// Bytes as Avro writes them in JSON: a string whose code points 0 to 255 are the bytes.
static bool latin_bytes(fz_arena *arena, const json_t *json, fz_str *out) {
    fz_str text = fz_json_view(json);
    if (!json_is_string(json)) {
        return false;
    }
    uint8_t *bytes = (uint8_t *)fz_arena_alloc(arena, text.size + 1, 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = (uint8_t)text.data[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 >= text.size) {
                return false;
            }
            c = (uint8_t)((c & 3) << 6 | (text.data[++i] & 0x3f));
        }
        bytes[size++] = c;
    }
    *out = fz_str_make(bytes, size);
    return true;
}

static bool times(int64_t value, int64_t unit, int64_t *out) {
    return !__builtin_mul_overflow(value, unit, out);
}

static bool integer_value(const fz_avro_type *source, const fz_type *type, const json_t *json,
                          int64_t *out) {
    if (!json_is_integer(json)) {
        return false;
    }
    int64_t value = json_integer_value(json);
    *out = value;
    if (source->kind == FZ_AVRO_INT && value != (int32_t)value) {
        return false;
    }
    switch (source->logical) {
    case FZ_AVRO_LOGICAL_TIME_MILLIS:
    case FZ_AVRO_LOGICAL_TIME_MICROS:
        return times(value, source->logical == FZ_AVRO_LOGICAL_TIME_MILLIS ? 1000 : 1, out) &&
               *out >= 0 && *out < FZ_US_PER_DAY;
    case FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS:
    case FZ_AVRO_LOGICAL_LOCAL_MILLIS:
        return times(value, 1000, out);
    case FZ_AVRO_LOGICAL_TIMESTAMP_NANOS:
    case FZ_AVRO_LOGICAL_LOCAL_NANOS:
        if (type->kind == FZ_TYPE_TIMESTAMP || type->kind == FZ_TYPE_TIMESTAMPTZ) {
            *out = fz_floor_div(value, 1000);
        }
        return true;
    default:
        return true;
    }
}

static bool text_value(fz_arena *arena, const fz_avro_type *source, const json_t *json,
                       fz_value *out) {
    if (!json_is_string(json)) {
        return false;
    }
    out->as.bytes = fz_json_view(json);
    if (source->kind == FZ_AVRO_ENUM) {
        for (size_t i = 0; i < source->symbol_count; i++) {
            if (fz_str_equal(source->symbols[i], out->as.bytes)) {
                return true;
            }
        }
        return false;
    }
    if (source->logical == FZ_AVRO_LOGICAL_UUID) {
        uint8_t *uuid = (uint8_t *)fz_arena_alloc(arena, 16, 1);
        if (!fz_uuid_parse(out->as.bytes, uuid)) {
            return false;
        }
        out->as.bytes = fz_str_make(uuid, 16);
    }
    return true;
}

static bool bytes_value(fz_arena *arena, const fz_avro_type *source, const fz_type *type,
                        const json_t *json, fz_value *out) {
    fz_str bytes;
    if (!latin_bytes(arena, json, &bytes) ||
        (source->kind == FZ_AVRO_FIXED && bytes.size != (size_t)source->size)) {
        return false;
    }
    if (source->logical == FZ_AVRO_LOGICAL_DECIMAL) {
        return fz_decimal_from_be((const uint8_t *)bytes.data, bytes.size, &out->as.decimal) &&
               fz_decimal_fits(out->as.decimal, type->precision);
    }
    out->as.bytes = bytes;
    return true;
}

static bool default_value(fz_arena *arena, const fz_avro_type *source, const fz_type *type,
                          const json_t *json, fz_value *out) {
    *out = (fz_value){.kind = type->kind};
    switch (source->kind) {
    case FZ_AVRO_BOOLEAN:
        out->as.integer = json_is_true(json);
        return json_is_boolean(json);
    case FZ_AVRO_INT:
    case FZ_AVRO_LONG:
        return integer_value(source, type, json, &out->as.integer);
    case FZ_AVRO_FLOAT:
        if (!json_is_number(json) || fabs(json_number_value(json)) > (double)FLT_MAX) {
            return false;
        }
        out->as.real32 = (float)json_number_value(json);
        return true;
    case FZ_AVRO_DOUBLE:
        out->as.real64 = json_number_value(json);
        return json_is_number(json);
    case FZ_AVRO_STRING:
    case FZ_AVRO_ENUM:
        return text_value(arena, source, json, out);
    case FZ_AVRO_BYTES:
    case FZ_AVRO_FIXED:
        return bytes_value(arena, source, type, json, out);
    default:
        return false;
    }
}

bool fz_avro_default_format(fz_arena *arena, const fz_avro_type *source, const fz_type *type,
                            const json_t *value, fz_str *out) {
    if (source->kind == FZ_AVRO_UNION) {
        source = source->branch_count == 1 ? source->branches[0] : fz_avro_type_nullable(source);
    }
    fz_value made;
    // A recursive record kept as text has no default either.
    if (!source || json_is_null(value) || fz_type_is_nested(type) ||
        !default_value(arena, source, type, value, &made)) {
        return false;
    }
    json_t *json = fz_value_to_json(&made, type);
    fz_buf text;
    fz_buf_init(&text, DEFAULT_BYTES, NULL);
    bool ok = json && fz_json_format(json, &text, NULL) == FZ_OK && !text.failed;
    if (ok) {
        *out = fz_arena_str(arena, fz_buf_view(&text));
    }
    json_decref(json);
    fz_buf_deinit(&text);
    return ok;
}
