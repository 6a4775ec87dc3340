// SPDX-License-Identifier: Apache-2.0
// Compares batches and schemas with the canonical rows and columns of tests/cases (README.md,
// sections 1 and 2).
#ifndef FZ_TESTS_ROW_COMPARE_H
#define FZ_TESTS_ROW_COMPARE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/codec/text_codec.h"
#include "base/text/json.h"
#include "base/text/time.h"
#include "data/batch.h"
#include "data/decimal.h"

static bool row_value_equal(const fz_column *column, int64_t row, const json_t *want, fz_buf *why);

static void row_value_format(const fz_column *column, int64_t row, fz_buf *out) {
    switch (column->field->type.kind) {
    case FZ_TYPE_DECIMAL: {
        fz_i128 value;
        memcpy(&value, (const uint8_t *)column->values + row * 16, 16);
        fz_decimal_format(out, value, column->field->type.scale);
        break;
    }
    case FZ_TYPE_DATE:
        fz_date_format(out, ((const int32_t *)column->values)[row]);
        break;
    case FZ_TYPE_TIME:
        fz_time_format(out, ((const int64_t *)column->values)[row]);
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        fz_timestamp_format(out, ((const int64_t *)column->values)[row],
                            column->field->type.kind == FZ_TYPE_TIMESTAMPTZ);
        break;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_timestamp_ns_format(out, ((const int64_t *)column->values)[row],
                               column->field->type.kind == FZ_TYPE_TIMESTAMPTZ_NS);
        break;
    case FZ_TYPE_UUID: {
        char text[37];
        fz_uuid_format((const uint8_t *)column->values + row * 16, text);
        fz_buf_append_str(out, fz_str_from(text));
        break;
    }
    case FZ_TYPE_FIXED:
        fz_hex_encode(out, fz_str_make((const uint8_t *)column->values + row * column->width,
                                       (size_t)column->width));
        break;
    case FZ_TYPE_BINARY:
        fz_hex_encode(out, fz_column_bytes(column, row));
        break;
    default:
        fz_buf_append_str(out, fz_column_bytes(column, row));
        break;
    }
}

static double row_real(const json_t *want) {
    fz_str text = fz_json_view(want);
    if (!json_is_string(want)) {
        return json_number_value(want);
    }
    return fz_str_equal(text, FZ_STR("NaN")) ? (double)NAN
           : text.data[0] == '-'             ? -HUGE_VAL
                                             : HUGE_VAL;
}

static bool row_number_equal(const fz_column *column, int64_t row, const json_t *want) {
    switch (column->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        return json_is_boolean(want) &&
               json_is_true(want) == (((const uint8_t *)column->values)[row >> 3] >> (row & 7) & 1);
    case FZ_TYPE_INT:
        return json_is_integer(want) &&
               ((const int32_t *)column->values)[row] == json_integer_value(want);
    case FZ_TYPE_LONG: {
        int64_t number = json_is_string(want) ? strtoll(json_string_value(want), NULL, 10)
                                              : json_integer_value(want);
        return ((const int64_t *)column->values)[row] == number;
    }
    case FZ_TYPE_FLOAT: {
        float have = ((const float *)column->values)[row];
        float wanted = (float)row_real(want);
        return (isnan(have) && isnan(wanted)) || memcmp(&have, &wanted, sizeof(have)) == 0;
    }
    default: {
        double have = ((const double *)column->values)[row];
        double wanted = row_real(want);
        return (isnan(have) && isnan(wanted)) || memcmp(&have, &wanted, sizeof(have)) == 0;
    }
    }
}

static bool row_list_equal(const fz_column *column, int64_t row, const json_t *want, fz_buf *why) {
    int32_t from = column->offsets[row];
    size_t count = (size_t)(column->offsets[row + 1] - from);
    if (!json_is_array(want) || json_array_size(want) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!row_value_equal(&column->children[0], from + (int64_t)i, json_array_get(want, i),
                             why)) {
            return false;
        }
    }
    return true;
}

static bool row_map_equal(const fz_column *column, int64_t row, const json_t *want, fz_buf *why) {
    int32_t from = column->offsets[row];
    size_t count = (size_t)(column->offsets[row + 1] - from);
    if (!json_is_array(want) || json_array_size(want) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(want, i);
        bool found = false;
        for (size_t j = 0; j < count && !found; j++) {
            found = row_value_equal(&column->children[0], from + (int64_t)j,
                                    json_array_get(pair, 0), NULL) &&
                    row_value_equal(&column->children[1], from + (int64_t)j,
                                    json_array_get(pair, 1), why);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool row_struct_equal(const fz_column *columns, size_t count, int64_t row,
                             const json_t *want, fz_buf *why) {
    if (!json_is_object(want) || json_object_size(want) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *key = columns[i].field->name.data;
        const json_t *value = json_object_get(want, key);
        if (!value || !row_value_equal(&columns[i], row, value, why)) {
            return false;
        }
    }
    return true;
}

static bool row_value_matches(const fz_column *column, int64_t row, const json_t *want,
                              fz_buf *why) {
    if (json_is_null(want) || fz_column_is_null(column, row)) {
        return json_is_null(want) && fz_column_is_null(column, row);
    }
    switch (column->field->type.kind) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        return row_number_equal(column, row, want);
    case FZ_TYPE_STRUCT:
        return row_struct_equal(column->children, column->child_count, row, want, why);
    case FZ_TYPE_LIST:
        return row_list_equal(column, row, want, why);
    case FZ_TYPE_MAP:
        return row_map_equal(column, row, want, why);
    default: {
        fz_buf text = {0};
        row_value_format(column, row, &text);
        bool equal = json_is_string(want) && fz_str_equal(fz_buf_view(&text), fz_json_view(want));
        fz_buf_deinit(&text);
        return equal;
    }
    }
}

static bool row_value_equal(const fz_column *column, int64_t row, const json_t *want, fz_buf *why) {
    bool equal = row_value_matches(column, row, want, why);
    if (!equal && why) {
        char *text = json_dumps(want, JSON_ENCODE_ANY);
        fz_buf_printf(why, "\"%.*s\" wanted %.200s; ", FZ_STR_ARGS(column->field->name),
                      text ? text : "?");
        free(text);
    }
    return equal;
}

/** Whether row `row` is the object `want`; differences are appended to `why`. */
static FZ_UNUSED bool row_equal(const fz_batch *batch, int64_t row, const json_t *want,
                                fz_buf *why) {
    return row_struct_equal(batch->columns, batch->column_count, row, want, why);
}

/** Type as tests/cases names it: `decimal(9,2)`, `fixed(5)`, `struct`. */
static FZ_UNUSED void row_type_name(const fz_type *type, char out[32]) {
    static const char *const names[] = {
        "boolean", "int",  "long",      "float",       "double",       "decimal",
        "date",    "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns",
        "string",  "uuid", "fixed",     "binary",      "struct",       "list",
        "map",
    };
    if (type->kind == FZ_TYPE_DECIMAL) {
        snprintf(out, 32, "decimal(%d,%d)", type->precision, type->scale);
    } else if (type->kind == FZ_TYPE_FIXED) {
        snprintf(out, 32, "fixed(%d)", type->length);
    } else {
        snprintf(out, 32, "%s", names[type->kind]);
    }
}

/** A type from such a name; children are left to the caller. False for a name that is none. */
static FZ_UNUSED bool row_type_parse(const char *name, fz_type *out) {
    *out = (fz_type){0};
    if (sscanf(name, "decimal(%d,%d)", &out->precision, &out->scale) == 2) {
        out->kind = FZ_TYPE_DECIMAL;
        return true;
    }
    if (sscanf(name, "fixed(%d)", &out->length) == 1) {
        out->kind = FZ_TYPE_FIXED;
        return true;
    }
    for (int kind = FZ_TYPE_BOOLEAN; kind <= FZ_TYPE_MAP; kind++) {
        char text[32];
        out->kind = (fz_type_kind)kind;
        row_type_name(out, text);
        if (strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

#endif
