// SPDX-License-Identifier: Apache-2.0
// Single values: order, binary and JSON forms, cut bounds.
#include "data/value.h"

#include <math.h>

#include "base/codec/text_codec.h"
#include "base/text/number.h"
#include "base/text/time.h"

// --- order ---

static int compare_real(double a, double b) {
    bool a_nan = isnan(a);
    bool b_nan = isnan(b);
    if (a_nan || b_nan) {
        return a_nan - b_nan;
    }
    if (a != b) {
        return a < b ? -1 : 1;
    }
    return !!signbit(b) - !!signbit(a); // -0.0 before 0.0
}

int fz_value_compare(const fz_value *a, const fz_value *b) {
    FZ_ASSERT(a->kind == b->kind && !a->is_null && !b->is_null);
    switch (a->kind) {
    case FZ_TYPE_FLOAT:
        return compare_real((double)a->as.real32, (double)b->as.real32);
    case FZ_TYPE_DOUBLE:
        return compare_real(a->as.real64, b->as.real64);
    case FZ_TYPE_DECIMAL:
        return (a->as.decimal > b->as.decimal) - (a->as.decimal < b->as.decimal);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_UUID:
        return fz_str_compare(a->as.bytes, b->as.bytes);
    default:
        return (a->as.integer > b->as.integer) - (a->as.integer < b->as.integer);
    }
}

// --- binary form ---

void fz_value_encode(const fz_value *value, fz_buf *out) {
    uint8_t decimal[16];
    uint32_t bits32;
    uint64_t bits64;
    switch (value->kind) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_append_byte(out, value->as.integer != 0);
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        fz_buf_append_le32(out, (uint32_t)(int32_t)value->as.integer);
        break;
    case FZ_TYPE_FLOAT:
        memcpy(&bits32, &value->as.real32, 4);
        fz_buf_append_le32(out, bits32);
        break;
    case FZ_TYPE_DOUBLE:
        memcpy(&bits64, &value->as.real64, 8);
        fz_buf_append_le64(out, bits64);
        break;
    case FZ_TYPE_DECIMAL:
        fz_buf_append(out, decimal, fz_decimal_to_be_min(value->as.decimal, decimal));
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_UUID:
        fz_buf_append_str(out, value->as.bytes);
        break;
    default:
        fz_buf_append_le64(out, (uint64_t)value->as.integer);
        break;
    }
}

static fz_code wrong_size(const fz_type *type, size_t size, fz_err *err) {
    return fz_err_set(err, FZ_CORRUPT, "%zu bytes are no single value of type %s", size,
                      fz_type_kind_name(type->kind));
}

static int64_t load32(fz_str bytes) {
    int32_t value;
    memcpy(&value, bytes.data, 4);
    return value;
}

static int64_t load64(fz_str bytes) {
    int64_t value;
    memcpy(&value, bytes.data, 8);
    return value;
}

// Eight bytes, or four of a type that was promoted to this one (spec, "Schema Evolution").
static fz_code decode_long(const fz_type *type, fz_str bytes, int64_t *out, fz_err *err) {
    if (bytes.size == 8) {
        *out = load64(bytes);
        return FZ_OK;
    }
    int64_t unit = 0;
    if (type->kind == FZ_TYPE_LONG) {
        unit = 1;
    } else if (type->kind == FZ_TYPE_TIMESTAMP) {
        unit = FZ_US_PER_DAY;
    } else if (type->kind == FZ_TYPE_TIMESTAMP_NS) {
        unit = FZ_US_PER_DAY * 1000;
    }
    if (bytes.size != 4 || !unit) {
        return wrong_size(type, bytes.size, err);
    }
    if (__builtin_mul_overflow(load32(bytes), unit, out)) {
        return fz_err_set(err, FZ_CORRUPT, "day %lld does not fit %s", (long long)load32(bytes),
                          fz_type_kind_name(type->kind));
    }
    return FZ_OK;
}

static fz_code decode_bytes(const fz_type *type, fz_str bytes, fz_value *value, fz_err *err) {
    // Other writers cut bounds of FIXED, so a shorter one is taken.
    bool bad = (type->kind == FZ_TYPE_UUID && bytes.size != 16) ||
               (type->kind == FZ_TYPE_FIXED && bytes.size > (size_t)type->length);
    if (bad) {
        return wrong_size(type, bytes.size, err);
    }
    value->as.bytes = bytes;
    return FZ_OK;
}

fz_code fz_value_decode(const fz_type *type, fz_str bytes, fz_value *out, fz_err *err) {
    fz_value value = {.kind = type->kind};
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        if (bytes.size != 1) {
            return wrong_size(type, bytes.size, err);
        }
        value.as.integer = bytes.data[0] != 0;
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        if (bytes.size != 4) {
            return wrong_size(type, bytes.size, err);
        }
        value.as.integer = load32(bytes);
        break;
    case FZ_TYPE_FLOAT:
        if (bytes.size != 4) {
            return wrong_size(type, bytes.size, err);
        }
        memcpy(&value.as.real32, bytes.data, 4);
        break;
    case FZ_TYPE_DOUBLE:
        if (bytes.size == 4) {
            float narrow;
            memcpy(&narrow, bytes.data, 4);
            value.as.real64 = (double)narrow;
        } else if (bytes.size == 8) {
            memcpy(&value.as.real64, bytes.data, 8);
        } else {
            return wrong_size(type, bytes.size, err);
        }
        break;
    case FZ_TYPE_DECIMAL:
        if (!fz_decimal_from_be((const uint8_t *)bytes.data, bytes.size, &value.as.decimal)) {
            return wrong_size(type, bytes.size, err);
        }
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_UUID:
        FZ_TRY(decode_bytes(type, bytes, &value, err));
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return fz_err_set(err, FZ_UNSUPPORTED, "a %s has no single-value form",
                          fz_type_kind_name(type->kind));
    default:
        FZ_TRY(decode_long(type, bytes, &value.as.integer, err));
        break;
    }
    *out = value;
    return FZ_OK;
}

// --- text forms ---

void fz_value_format(const fz_value *value, const fz_type *type, fz_buf *out) {
    char text[40];
    if (value->is_null) {
        fz_buf_append_str(out, FZ_STR("null"));
        return;
    }
    int64_t integer = value->as.integer;
    switch (value->kind) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_append_str(out, integer ? FZ_STR("true") : FZ_STR("false"));
        break;
    case FZ_TYPE_FLOAT:
        fz_buf_append(out, text, fz_float_format(value->as.real32, text));
        break;
    case FZ_TYPE_DOUBLE:
        fz_buf_append(out, text, fz_real_format(value->as.real64, text));
        break;
    case FZ_TYPE_DECIMAL:
        fz_decimal_format(out, value->as.decimal, type->scale);
        break;
    case FZ_TYPE_DATE:
        fz_date_format(out, integer);
        break;
    case FZ_TYPE_TIME:
        fz_time_format(out, integer);
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        fz_timestamp_format(out, integer, value->kind == FZ_TYPE_TIMESTAMPTZ);
        break;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_timestamp_ns_format(out, integer, value->kind == FZ_TYPE_TIMESTAMPTZ_NS);
        break;
    case FZ_TYPE_STRING:
        fz_buf_append_str(out, value->as.bytes);
        break;
    case FZ_TYPE_UUID:
        if (value->as.bytes.size == 16) {
            fz_uuid_format((const uint8_t *)value->as.bytes.data, text);
            fz_buf_append(out, text, 36);
        }
        break;
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        fz_hex_encode(out, value->as.bytes);
        break;
    default:
        fz_buf_printf(out, "%lld", (long long)integer);
        break;
    }
}

static json_t *real_to_json(double value) {
    // JSON has no NaN and no infinity; the words are what readers of defaults know.
    if (isnan(value)) {
        return json_string("NaN");
    }
    if (isinf(value)) {
        return json_string(value < 0 ? "-Infinity" : "Infinity");
    }
    return json_real(value);
}

json_t *fz_value_to_json(const fz_value *value, const fz_type *type) {
    if (value->is_null) {
        return json_null();
    }
    switch (value->kind) {
    case FZ_TYPE_BOOLEAN:
        return json_boolean(value->as.integer != 0);
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return json_integer(value->as.integer);
    case FZ_TYPE_FLOAT:
        return real_to_json((double)value->as.real32);
    case FZ_TYPE_DOUBLE:
        return real_to_json(value->as.real64);
    default: {
        fz_buf text = {0};
        fz_value_format(value, type, &text);
        json_t *json = fz_json_string(fz_buf_view(&text));
        fz_buf_deinit(&text);
        return json ? json : json_null();
    }
    }
}

// --- bounds ---

// Length of the code point at `at`, from its first byte, clipped to the text.
static size_t point_size(fz_str text, size_t at) {
    uint8_t lead = (uint8_t)text.data[at];
    size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return size < text.size - at ? size : text.size - at;
}

static size_t prefix_size(fz_str text, size_t points) {
    size_t at = 0;
    while (points-- && at < text.size) {
        at += point_size(text, at);
    }
    return at;
}

static uint32_t point_decode(fz_str text, size_t at, size_t size) {
    uint8_t lead = (uint8_t)text.data[at];
    uint32_t point = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        point = point << 6 | ((uint8_t)text.data[at + i] & 0x3fu);
    }
    return point;
}

// Count up the last code point of the prefix that can be; what follows it is dropped.
static bool increment_text(fz_str prefix, fz_arena *arena, fz_str *out) {
    size_t end = prefix.size;
    while (end > 0) {
        size_t at = end - 1;
        while (at > 0 && ((uint8_t)prefix.data[at] & 0xc0) == 0x80) {
            at--;
        }
        uint32_t next = point_decode(prefix, at, end - at > 4 ? 4 : end - at) + 1;
        if (next == 0xd800) {
            next = 0xe000;
        }
        if (next <= 0x10ffff) {
            fz_buf text = {0};
            fz_buf_append(&text, prefix.data, at);
            fz_utf8_append(&text, next);
            *out = fz_arena_str(arena, fz_buf_view(&text));
            fz_buf_deinit(&text);
            return true;
        }
        end = at;
    }
    return false;
}

static bool increment_bytes(fz_str prefix, fz_arena *arena, fz_str *out) {
    size_t end = prefix.size;
    while (end > 0 && (uint8_t)prefix.data[end - 1] == 0xff) {
        end--;
    }
    if (end == 0) {
        return false;
    }
    char *copy = (char *)fz_arena_alloc(arena, end, 1);
    memcpy(copy, prefix.data, end);
    copy[end - 1] = (char)((uint8_t)copy[end - 1] + 1);
    *out = fz_str_make(copy, end);
    return true;
}

bool fz_value_truncate_upper(fz_value *value, size_t width, fz_arena *arena) {
    fz_str bytes = value->as.bytes;
    if (value->is_null || (value->kind != FZ_TYPE_STRING && value->kind != FZ_TYPE_BINARY)) {
        return true;
    }
    bool text = value->kind == FZ_TYPE_STRING;
    size_t size = text ? prefix_size(bytes, width) : width;
    if (size >= bytes.size) {
        return true;
    }
    fz_str prefix = fz_str_slice(bytes, 0, size);
    return text ? increment_text(prefix, arena, &value->as.bytes)
                : increment_bytes(prefix, arena, &value->as.bytes);
}

void fz_value_truncate_lower(fz_value *value, size_t width) {
    if (value->is_null) {
        return;
    }
    if (value->kind == FZ_TYPE_STRING) {
        size_t size = prefix_size(value->as.bytes, width);
        value->as.bytes = fz_str_slice(value->as.bytes, 0, size);
    } else if (value->kind == FZ_TYPE_BINARY) {
        value->as.bytes = fz_str_slice(value->as.bytes, 0, width);
    }
}
