// SPDX-License-Identifier: Apache-2.0
// Partition transforms of single values, and their names and texts.
#include "data/transform.h"

#include "base/codec/hash.h"
#include "base/codec/text_codec.h"
#include "base/text/number.h"
#include "base/text/time.h"
#include "data/transform_steps.h"

static const char *const names[] = {
    [FZ_TRANSFORM_IDENTITY] = "identity", [FZ_TRANSFORM_BUCKET] = "bucket",
    [FZ_TRANSFORM_TRUNCATE] = "truncate", [FZ_TRANSFORM_YEAR] = "year",
    [FZ_TRANSFORM_MONTH] = "month",       [FZ_TRANSFORM_DAY] = "day",
    [FZ_TRANSFORM_HOUR] = "hour",         [FZ_TRANSFORM_VOID] = "void",
    [FZ_TRANSFORM_UNKNOWN] = "unknown",
};

static bool has_parameter(fz_transform_kind kind) {
    return kind == FZ_TRANSFORM_BUCKET || kind == FZ_TRANSFORM_TRUNCATE;
}

fz_transform fz_transform_parse(fz_str text) {
    const fz_transform unknown = {.kind = FZ_TRANSFORM_UNKNOWN};
    size_t open = fz_str_find(text, '[', 0);
    fz_str word = open == SIZE_MAX ? text : fz_str_slice(text, 0, open);
    for (int kind = 0; kind < (int)FZ_TRANSFORM_UNKNOWN; kind++) {
        if (!fz_str_equal_nocase(word, fz_str_from(names[kind]))) {
            continue;
        }
        fz_transform found = {.kind = (fz_transform_kind)kind};
        if (has_parameter(found.kind) != (open != SIZE_MAX)) {
            return unknown;
        }
        if (open != SIZE_MAX) {
            int64_t parameter = 0;
            if (text.data[text.size - 1] != ']' ||
                fz_int_parse(fz_str_slice(text, open + 1, text.size - 1), &parameter, NULL) !=
                    FZ_OK ||
                parameter < 1 || parameter > INT32_MAX) {
                return unknown;
            }
            found.parameter = (int32_t)parameter;
        }
        return found;
    }
    return unknown;
}

void fz_transform_format(fz_transform transform, fz_buf *out) {
    fz_buf_append_str(out, fz_str_from(names[transform.kind]));
    if (has_parameter(transform.kind)) {
        fz_buf_printf(out, "[%d]", transform.parameter);
    }
}

static bool is_timestamp(fz_type_kind kind) {
    return kind >= FZ_TYPE_TIMESTAMP && kind <= FZ_TYPE_TIMESTAMPTZ_NS;
}

static bool takes(fz_transform_kind transform, fz_type_kind source) {
    switch (transform) {
    case FZ_TRANSFORM_IDENTITY:
    case FZ_TRANSFORM_VOID:
        return source < FZ_TYPE_STRUCT;
    case FZ_TRANSFORM_BUCKET:
        return source < FZ_TYPE_STRUCT && source != FZ_TYPE_BOOLEAN && source != FZ_TYPE_FLOAT &&
               source != FZ_TYPE_DOUBLE;
    case FZ_TRANSFORM_TRUNCATE:
        return source == FZ_TYPE_INT || source == FZ_TYPE_LONG || source == FZ_TYPE_DECIMAL ||
               source == FZ_TYPE_STRING || source == FZ_TYPE_BINARY;
    case FZ_TRANSFORM_YEAR:
    case FZ_TRANSFORM_MONTH:
    case FZ_TRANSFORM_DAY:
        return source == FZ_TYPE_DATE || is_timestamp(source);
    case FZ_TRANSFORM_HOUR:
        return is_timestamp(source);
    case FZ_TRANSFORM_UNKNOWN:
        break;
    }
    return false;
}

fz_code fz_transform_result(fz_transform transform, const fz_type *source, fz_type *out,
                            fz_err *err) {
    if (!takes(transform.kind, source->kind)) {
        return fz_err_set(err, FZ_UNSUPPORTED, "transform \"%s\" does not take a column of type %s",
                          names[transform.kind], fz_type_kind_name(source->kind));
    }
    switch (transform.kind) {
    case FZ_TRANSFORM_BUCKET:
    case FZ_TRANSFORM_YEAR:
    case FZ_TRANSFORM_MONTH:
    case FZ_TRANSFORM_HOUR:
        *out = (fz_type){.kind = FZ_TYPE_INT};
        break;
    case FZ_TRANSFORM_DAY:
        *out = (fz_type){.kind = FZ_TYPE_DATE};
        break;
    default:
        *out = *source;
        break;
    }
    return FZ_OK;
}

// --- the steps, shared with the router ---

int32_t fz_transform_bucket_bytes(int32_t buckets, const void *data, size_t size) {
    return (int32_t)((fz_murmur3_32(data, size) & 0x7fffffffu) % (uint32_t)buckets);
}

// The specification's text hashes dates as int, but its own test value needs eight bytes, as for
// all integers.
int32_t fz_transform_bucket_integer(int32_t buckets, fz_type_kind source, int64_t value) {
    if (source == FZ_TYPE_TIMESTAMP_NS || source == FZ_TYPE_TIMESTAMPTZ_NS) {
        value = fz_floor_div(value, 1000);
    }
    return fz_transform_bucket_bytes(buckets, &value, sizeof(value));
}

int32_t fz_transform_bucket_decimal(int32_t buckets, fz_i128 value) {
    uint8_t bytes[16];
    return fz_transform_bucket_bytes(buckets, bytes, fz_decimal_to_be_min(value, bytes));
}

fz_code fz_transform_truncate_integer(int32_t width, fz_type_kind source, int64_t value,
                                      int64_t *out, fz_err *err) {
    int64_t result;
    if (__builtin_sub_overflow(value, fz_floor_mod(value, width), &result) ||
        (source == FZ_TYPE_INT && result < INT32_MIN)) {
        return fz_err_set(err, FZ_LIMIT, "truncate[%d] of %lld does not fit %s", width,
                          (long long)value, fz_type_kind_name(source));
    }
    *out = result;
    return FZ_OK;
}

fz_code fz_transform_truncate_decimal(int32_t width, const fz_type *source, fz_i128 value,
                                      fz_i128 *out, fz_err *err) {
    fz_i128 rest = value % width;
    fz_i128 result = value - (rest < 0 ? rest + width : rest);
    if (!fz_decimal_fits(result, source->precision)) {
        return fz_err_set(err, FZ_LIMIT, "truncate[%d] of a decimal does not fit decimal(%d, %d)",
                          width, source->precision, source->scale);
    }
    *out = result;
    return FZ_OK;
}

fz_str fz_transform_truncate_bytes(int32_t width, fz_type_kind source, fz_str bytes) {
    size_t size = (size_t)width;
    if (bytes.size <= size) {
        return bytes; // no more bytes than code points are wanted
    }
    return fz_str_slice(bytes, 0, source == FZ_TYPE_STRING ? fz_utf8_prefix(bytes, size) : size);
}

static int64_t units_per_day(fz_type_kind source) {
    if (source == FZ_TYPE_DATE) {
        return 1;
    }
    bool nanos = source == FZ_TYPE_TIMESTAMP_NS || source == FZ_TYPE_TIMESTAMPTZ_NS;
    return nanos ? FZ_US_PER_DAY * 1000 : FZ_US_PER_DAY;
}

fz_code fz_transform_time(fz_transform_kind kind, fz_type_kind source, int64_t value, int64_t *out,
                          fz_err *err) {
    int64_t day_units = units_per_day(source);
    int64_t result;
    if (kind == FZ_TRANSFORM_HOUR) {
        result = fz_floor_div(value, day_units / 24);
    } else {
        result = fz_floor_div(value, day_units);
    }
    if (kind == FZ_TRANSFORM_YEAR || kind == FZ_TRANSFORM_MONTH) {
        int64_t year;
        unsigned month;
        unsigned day;
        fz_civil_from_days(result, &year, &month, &day);
        result = kind == FZ_TRANSFORM_YEAR ? year - 1970 : (year - 1970) * 12 + (int64_t)month - 1;
    }
    if (result < INT32_MIN || result > INT32_MAX) {
        return fz_err_set(err, FZ_LIMIT, "transform \"%s\" of %s %lld does not fit 32 bits",
                          names[kind], fz_type_kind_name(source), (long long)value);
    }
    *out = result;
    return FZ_OK;
}

static fz_code apply_truncate(int32_t width, const fz_type *source, const fz_value *value,
                              fz_value *out, fz_err *err) {
    switch (source->kind) {
    case FZ_TYPE_DECIMAL:
        return fz_transform_truncate_decimal(width, source, value->as.decimal, &out->as.decimal,
                                             err);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        out->as.bytes = fz_transform_truncate_bytes(width, source->kind, value->as.bytes);
        return FZ_OK;
    default:
        return fz_transform_truncate_integer(width, source->kind, value->as.integer,
                                             &out->as.integer, err);
    }
}

static int32_t apply_bucket(int32_t buckets, const fz_type *source, const fz_value *value) {
    switch (source->kind) {
    case FZ_TYPE_DECIMAL:
        return fz_transform_bucket_decimal(buckets, value->as.decimal);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_UUID:
        return fz_transform_bucket_bytes(buckets, value->as.bytes.data, value->as.bytes.size);
    default:
        return fz_transform_bucket_integer(buckets, source->kind, value->as.integer);
    }
}

fz_code fz_transform_apply(fz_transform transform, const fz_type *source, const fz_value *value,
                           fz_value *out, fz_err *err) {
    fz_type type;
    FZ_TRY(fz_transform_result(transform, source, &type, err));
    fz_value result = {.kind = type.kind};
    if (value->is_null || transform.kind == FZ_TRANSFORM_VOID) {
        result.is_null = true;
        *out = result;
        return FZ_OK;
    }
    switch (transform.kind) {
    case FZ_TRANSFORM_IDENTITY:
        result = *value;
        break;
    case FZ_TRANSFORM_BUCKET:
        result.as.integer = apply_bucket(transform.parameter, source, value);
        break;
    case FZ_TRANSFORM_TRUNCATE:
        FZ_TRY(apply_truncate(transform.parameter, source, value, &result, err));
        break;
    default:
        FZ_TRY(fz_transform_time(transform.kind, source->kind, value->as.integer,
                                 &result.as.integer, err));
        break;
    }
    *out = result;
    return FZ_OK;
}

// --- texts ---

void fz_transform_human(const fz_partition_field *field, const fz_value *value, fz_buf *out) {
    if (value->is_null) {
        fz_buf_append_str(out, FZ_STR("null"));
        return;
    }
    int64_t integer = value->as.integer;
    int64_t year;
    unsigned month;
    unsigned day;
    switch (field->transform.kind) {
    case FZ_TRANSFORM_YEAR:
        fz_buf_printf(out, "%04lld", (long long)(1970 + integer));
        break;
    case FZ_TRANSFORM_MONTH:
        fz_buf_printf(out, "%04lld-%02lld", (long long)(1970 + fz_floor_div(integer, 12)),
                      (long long)(1 + fz_floor_mod(integer, 12)));
        break;
    case FZ_TRANSFORM_DAY:
        fz_civil_from_days(integer, &year, &month, &day);
        fz_buf_printf(out, "%04lld-%02u-%02u", (long long)year, month, day);
        break;
    case FZ_TRANSFORM_HOUR:
        fz_civil_from_days(fz_floor_div(integer, 24), &year, &month, &day);
        fz_buf_printf(out, "%04lld-%02u-%02u-%02lld", (long long)year, month, day,
                      (long long)fz_floor_mod(integer, 24));
        break;
    default:
        fz_value_format(value, &field->result_type, out);
        break;
    }
}

// A path component: escaped, or the hash of what would be too long for object keys and folders.
static void append_part(fz_buf *out, fz_str text) {
    size_t before = out->size;
    fz_percent_encode(out, text, "");
    if (!out->failed && out->size - before > 200) {
        char hex[33];
        fz_xxh3_128_hex(text.data, text.size, hex);
        out->size = before;
        fz_buf_append(out, hex, 32);
    }
}

void fz_partition_path(const fz_partition_spec *spec, const fz_value *tuple, fz_buf *out) {
    fz_buf text = {0};
    for (size_t i = 0; i < spec->field_count; i++) {
        if (i) {
            fz_buf_append_byte(out, '/');
        }
        append_part(out, spec->fields[i].name);
        fz_buf_append_byte(out, '=');
        fz_buf_reset(&text);
        fz_transform_human(&spec->fields[i], &tuple[i], &text);
        append_part(out, fz_buf_view(&text));
    }
    fz_buf_deinit(&text);
}

// --- values of columns ---

void fz_column_value(const fz_column *column, int64_t row, fz_value *out) {
    fz_type_kind kind = column->field->type.kind;
    fz_value value = {.kind = kind, .is_null = fz_column_is_null(column, row)};
    const uint8_t *at =
        column->values ? (const uint8_t *)column->values + row * column->width : NULL;
    if (value.is_null) {
        *out = value;
        return;
    }
    switch (kind) {
    case FZ_TYPE_BOOLEAN:
        value.as.integer = ((const uint8_t *)column->values)[row >> 3] >> (row & 7) & 1;
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        value.as.integer = ((const int32_t *)column->values)[row];
        break;
    case FZ_TYPE_FLOAT:
        value.as.real32 = ((const float *)column->values)[row];
        break;
    case FZ_TYPE_DOUBLE:
        value.as.real64 = ((const double *)column->values)[row];
        break;
    case FZ_TYPE_DECIMAL:
        memcpy(&value.as.decimal, at, 16);
        break;
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        value.as.bytes = fz_str_make(at, (size_t)column->width);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        value.as.bytes = fz_column_bytes(column, row);
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        FZ_ASSERT(!"fz_column_value wants a primitive column");
        break;
    default:
        value.as.integer = ((const int64_t *)column->values)[row];
        break;
    }
    *out = value;
}
