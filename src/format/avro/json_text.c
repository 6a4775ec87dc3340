// SPDX-License-Identifier: Apache-2.0
// Avro binary to JSON text by the schema, with a limit of depth.
#include "format/avro/json_text.h"

#include <math.h>

#include "base/codec/text_codec.h"
#include "base/text/number.h"
#include "base/text/time.h"
#include "data/decimal.h"

#define MAX_DEPTH 100
#define MAX_EMPTY_ITEMS 100000 // items of arrays beyond one a byte: those that take none

// Where a value stands in the record.
typedef struct walk {
    unsigned depth;
    int64_t *items_left; // of all arrays and maps together
} walk;

static fz_code append_value(const fz_avro_type *type, fz_cur *cur, fz_buf *out, walk at,
                            fz_err *err);

static walk deeper(walk at) {
    return (walk){at.depth + 1, at.items_left};
}

static fz_code corrupt(const fz_cur *cur, const char *kind, const char *what, fz_err *err) {
    fz_code code = fz_err_set_kind(err, FZ_CORRUPT, kind, "%s", what);
    if (err) {
        err->offset = (int64_t)cur->pos;
    }
    return code;
}

static void append_text(fz_buf *out, const char *text) {
    if (out) {
        fz_buf_append_str(out, fz_str_from(text));
    }
}

static void append_quoted(fz_buf *out, fz_str text) {
    if (!out) {
        return;
    }
    fz_buf_append_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = (uint8_t)text.data[i];
        if (c < 0x20) {
            fz_buf_printf(out, "\\u%04x", c);
            continue;
        }
        if (c == '"' || c == '\\') {
            fz_buf_append_byte(out, '\\');
        }
        fz_buf_append_byte(out, c);
    }
    fz_buf_append_byte(out, '"');
}

static void append_real(fz_buf *out, double value, bool single) {
    if (!out) {
        return;
    }
    char text[32];
    size_t size = single ? fz_float_format((float)value, text) : fz_real_format(value, text);
    if (isfinite(value)) {
        fz_buf_append(out, text, size);
    } else {
        append_quoted(out, fz_str_make(text, size)); // JSON has no NaN
    }
}

static void append_integer(fz_buf *out, const fz_avro_type *type, int64_t value) {
    if (!out) {
        return;
    }
    int64_t micros = value;
    bool utc = false;
    switch (type->logical) {
    case FZ_AVRO_LOGICAL_DATE:
        fz_buf_append_byte(out, '"');
        fz_date_format(out, value);
        fz_buf_append_byte(out, '"');
        return;
    case FZ_AVRO_LOGICAL_TIMESTAMP_MICROS:
    case FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS:
        utc = true;
        break;
    case FZ_AVRO_LOGICAL_LOCAL_MICROS:
    case FZ_AVRO_LOGICAL_LOCAL_MILLIS:
        break;
    default:
        fz_buf_printf(out, "%lld", (long long)value);
        return;
    }
    bool millis = type->logical == FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS ||
                  type->logical == FZ_AVRO_LOGICAL_LOCAL_MILLIS;
    if (millis && __builtin_mul_overflow(value, 1000, &micros)) {
        fz_buf_printf(out, "%lld", (long long)value);
        return;
    }
    fz_buf_append_byte(out, '"');
    fz_timestamp_format(out, micros, utc);
    fz_buf_append_byte(out, '"');
}

static void append_bytes(fz_buf *out, const fz_avro_type *type, const uint8_t *data, size_t size) {
    if (!out) {
        return;
    }
    fz_i128 unscaled;
    fz_buf_append_byte(out, '"');
    if (type->logical == FZ_AVRO_LOGICAL_DECIMAL && type->scale <= 38 &&
        fz_decimal_from_be(data, size, &unscaled)) {
        fz_decimal_format(out, unscaled, (int)type->scale);
    } else if (type->logical == FZ_AVRO_LOGICAL_UUID && size == 16) {
        char text[37];
        fz_uuid_format(data, text);
        fz_buf_append_str(out, fz_str_from(text));
    } else {
        fz_base64_encode(out, fz_str_make(data, size));
    }
    fz_buf_append_byte(out, '"');
}

// Length and bytes of a string or bytes; NULL with the error set.
static const uint8_t *read_sized(fz_cur *cur, size_t *size, fz_err *err, fz_code *code) {
    int64_t length = fz_cur_zigzag(cur);
    if (cur->fault == FZ_CUR_OK && length < 0) {
        *code = corrupt(cur, "malformed", "a length is negative", err);
        return NULL;
    }
    const uint8_t *data =
        fz_cur_bytes(cur, (uint64_t)length > SIZE_MAX ? SIZE_MAX : (size_t)length);
    *code = fz_cur_check(cur, "text or bytes", err);
    *size = (size_t)length;
    return *code == FZ_OK ? data : NULL;
}

static fz_code append_sized(const fz_avro_type *type, fz_cur *cur, fz_buf *out, fz_err *err) {
    size_t size = 0;
    fz_code code = FZ_OK;
    const uint8_t *data = read_sized(cur, &size, err, &code);
    if (code != FZ_OK) {
        return code;
    }
    if (type->kind == FZ_AVRO_BYTES) {
        append_bytes(out, type, data, size);
        return FZ_OK;
    }
    if (!fz_utf8_valid(data, size)) {
        return corrupt(cur, "invalid_utf8", "a text is not UTF-8", err);
    }
    append_quoted(out, fz_str_make(data, size));
    return FZ_OK;
}

static fz_code append_record(const fz_avro_type *type, fz_cur *cur, fz_buf *out, walk at,
                             fz_err *err) {
    append_text(out, "{");
    for (size_t i = 0; i < type->field_count; i++) {
        append_text(out, i ? "," : "");
        append_quoted(out, type->fields[i].name);
        append_text(out, ":");
        FZ_TRY(append_value(type->fields[i].type, cur, out, at, err));
    }
    append_text(out, "}");
    return FZ_OK;
}

// Count of the next block, 0 at the end.
static fz_code block_count(fz_cur *cur, walk at, int64_t *count, fz_err *err) {
    *count = fz_cur_zigzag(cur);
    if (*count < 0) {
        if (*count == INT64_MIN) {
            return corrupt(cur, "malformed", "a block's count is out of range", err);
        }
        *count = -*count;
        if (fz_cur_zigzag(cur) < 0) {
            return corrupt(cur, "malformed", "a block's size is negative", err);
        }
    }
    FZ_TRY(fz_cur_check(cur, "count of a block", err));
    // Where items take bytes there cannot be more of them than bytes.
    if (*count > *at.items_left) {
        return corrupt(cur, "truncated", "a block has more items than bytes are left", err);
    }
    *at.items_left -= *count;
    return FZ_OK;
}

static fz_code append_items(const fz_avro_type *type, fz_cur *cur, fz_buf *out, walk at,
                            fz_err *err) {
    bool map = type->kind == FZ_AVRO_MAP;
    static const fz_avro_type key = {.kind = FZ_AVRO_STRING};
    bool first = true;
    append_text(out, map ? "{" : "[");
    for (;;) {
        int64_t count = 0;
        FZ_TRY(block_count(cur, at, &count, err));
        if (count == 0) {
            break;
        }
        for (; count > 0; count--) {
            append_text(out, first ? "" : ",");
            first = false;
            if (map) {
                FZ_TRY(append_sized(&key, cur, out, err));
                append_text(out, ":");
            }
            FZ_TRY(append_value(type->item, cur, out, at, err));
            if (out) {
                FZ_TRY(fz_buf_check(out, "JSON text of a recursive value", err));
            }
        }
    }
    append_text(out, map ? "}" : "]");
    return FZ_OK;
}

static fz_code append_union(const fz_avro_type *type, fz_cur *cur, fz_buf *out, walk at,
                            fz_err *err) {
    int64_t index = fz_cur_zigzag(cur);
    FZ_TRY(fz_cur_check(cur, "index of a union", err));
    if (index < 0 || (uint64_t)index >= type->branch_count) {
        return corrupt(cur, "malformed", "a union has no branch of that index", err);
    }
    const fz_avro_type *branch = type->branches[index];
    bool named =
        type->branch_count > 1 && !fz_avro_type_nullable(type) && branch->kind != FZ_AVRO_NULL;
    if (named) {
        append_text(out, "{");
        append_quoted(out, branch->full_name.size ? branch->full_name
                                                  : fz_str_from(fz_avro_kind_name(branch->kind)));
        append_text(out, ":");
    }
    FZ_TRY(append_value(branch, cur, out, at, err));
    append_text(out, named ? "}" : "");
    return FZ_OK;
}

static fz_code append_enum(const fz_avro_type *type, fz_cur *cur, fz_buf *out, fz_err *err) {
    int64_t index = fz_cur_zigzag(cur);
    FZ_TRY(fz_cur_check(cur, "index of an enum", err));
    if (index < 0 || (uint64_t)index >= type->symbol_count) {
        return corrupt(cur, "malformed", "an enum has no symbol of that index", err);
    }
    append_quoted(out, type->symbols[index]);
    return FZ_OK;
}

static fz_code append_number(const fz_avro_type *type, fz_cur *cur, fz_buf *out, fz_err *err) {
    if (type->kind == FZ_AVRO_FLOAT) {
        uint32_t bits = fz_cur_le32(cur);
        float value;
        memcpy(&value, &bits, sizeof(value));
        append_real(out, (double)value, true);
    } else if (type->kind == FZ_AVRO_DOUBLE) {
        uint64_t bits = fz_cur_le64(cur);
        double value;
        memcpy(&value, &bits, sizeof(value));
        append_real(out, value, false);
    } else {
        int64_t value = fz_cur_zigzag(cur);
        if (type->kind == FZ_AVRO_INT && value != (int32_t)value) {
            return corrupt(cur, "malformed", "an int of more than 32 bits", err);
        }
        append_integer(out, type, value);
    }
    return fz_cur_check(cur, "number", err);
}

static fz_code append_value(const fz_avro_type *type, fz_cur *cur, fz_buf *out, walk at,
                            fz_err *err) {
    if (at.depth >= MAX_DEPTH) {
        return corrupt(cur, "depth_limit", "a recursive value is nested deeper than 100 levels",
                       err);
    }
    switch (type->kind) {
    case FZ_AVRO_NULL:
        append_text(out, "null");
        return FZ_OK;
    case FZ_AVRO_BOOLEAN: {
        uint8_t value = fz_cur_u8(cur);
        append_text(out, value ? "true" : "false");
        return value > 1 ? corrupt(cur, "malformed", "a boolean is neither 0 nor 1", err)
                         : fz_cur_check(cur, "boolean", err);
    }
    case FZ_AVRO_BYTES:
    case FZ_AVRO_STRING:
        return append_sized(type, cur, out, err);
    case FZ_AVRO_FIXED: {
        const uint8_t *data = fz_cur_bytes(cur, (size_t)type->size);
        FZ_TRY(fz_cur_check(cur, "fixed", err));
        append_bytes(out, type, data, (size_t)type->size);
        return FZ_OK;
    }
    case FZ_AVRO_ENUM:
        return append_enum(type, cur, out, err);
    case FZ_AVRO_ARRAY:
    case FZ_AVRO_MAP:
        return append_items(type, cur, out, deeper(at), err);
    case FZ_AVRO_RECORD:
        return append_record(type, cur, out, deeper(at), err);
    case FZ_AVRO_UNION:
        return append_union(type, cur, out, at, err);
    default:
        return append_number(type, cur, out, err);
    }
}

fz_code fz_avro_json_append(const fz_avro_type *type, fz_cur *cur, fz_buf *out, fz_err *err) {
    int64_t items_left = (int64_t)fz_cur_left(cur) + MAX_EMPTY_ITEMS;
    return append_value(type, cur, out, (walk){0, &items_left}, err);
}
