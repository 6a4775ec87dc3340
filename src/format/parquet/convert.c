// SPDX-License-Identifier: Apache-2.0
// Which conversion a file's column needs to become the wanted type.
#include "format/parquet/assemble.h"

static bool is_timestamp(fz_type_kind kind) {
    return kind >= FZ_TYPE_TIMESTAMP && kind <= FZ_TYPE_TIMESTAMPTZ_NS;
}

static bool is_nanos(fz_type_kind kind) {
    return kind == FZ_TYPE_TIMESTAMP_NS || kind == FZ_TYPE_TIMESTAMPTZ_NS;
}

static bool is_utc(fz_type_kind kind) {
    return kind == FZ_TYPE_TIMESTAMPTZ || kind == FZ_TYPE_TIMESTAMPTZ_NS;
}

/** Nanoseconds of the unit that a time or timestamp of the file counts. */
static int64_t file_unit(const fz_parquet_element *e) {
    if (e->logical == FZ_PARQUET_LOGICAL_TIME || e->logical == FZ_PARQUET_LOGICAL_TIMESTAMP) {
        return e->unit == FZ_PARQUET_UNIT_MILLIS   ? 1000000
               : e->unit == FZ_PARQUET_UNIT_MICROS ? 1000
                                                   : 1;
    }
    return e->converted == FZ_PARQUET_CONVERTED_TIME_MILLIS ||
                   e->converted == FZ_PARQUET_CONVERTED_TIMESTAMP_MILLIS
               ? 1000000
               : 1000;
}

static fz_parquet_conversion convert_time(fz_parquet_plan *plan, fz_type_kind want) {
    const fz_parquet_element *e = plan->view->element;
    fz_type_kind have = plan->view->type.kind;
    int64_t unit = is_nanos(want) ? 1 : 1000;
    if (e->physical == FZ_PARQUET_INT96) {
        plan->divide = unit;
        return is_timestamp(want) ? FZ_PARQUET_CONVERT_INT96 : FZ_PARQUET_CONVERT_NONE;
    }
    if (have == FZ_TYPE_DATE) { // v3 promotion
        plan->multiply = INT64_C(86400000000000) / unit;
        return is_utc(want) ? FZ_PARQUET_CONVERT_NONE : FZ_PARQUET_CONVERT_INT32;
    }
    if (want == FZ_TYPE_TIME ? have != FZ_TYPE_TIME
                             : !is_timestamp(have) || is_utc(have) != is_utc(want)) {
        return FZ_PARQUET_CONVERT_NONE;
    }
    int64_t from = file_unit(e);
    if (from == unit && e->physical == FZ_PARQUET_INT64) {
        return FZ_PARQUET_CONVERT_COPY;
    }
    plan->multiply = from > unit ? from / unit : 1;
    plan->divide = from < unit ? unit / from : 1;
    return e->physical == FZ_PARQUET_INT64 ? FZ_PARQUET_CONVERT_INT64 : FZ_PARQUET_CONVERT_INT32;
}

static fz_parquet_conversion convert_decimal(const fz_parquet_view *view, const fz_type *want) {
    const fz_type *have = &view->type;
    const fz_parquet_element *e = view->element;
    if (have->kind != FZ_TYPE_DECIMAL || have->scale != want->scale ||
        have->precision > want->precision) {
        return FZ_PARQUET_CONVERT_NONE;
    }
    switch (e->physical) {
    case FZ_PARQUET_INT32:
        return FZ_PARQUET_CONVERT_DECIMAL32;
    case FZ_PARQUET_INT64:
        return e->logical == FZ_PARQUET_LOGICAL_INTEGER ||
                       e->converted == FZ_PARQUET_CONVERTED_UINT_64
                   ? FZ_PARQUET_CONVERT_UNSIGNED64
                   : FZ_PARQUET_CONVERT_DECIMAL64;
    case FZ_PARQUET_FIXED:
        return FZ_PARQUET_CONVERT_DECIMAL_FIXED;
    default:
        return FZ_PARQUET_CONVERT_DECIMAL_BYTES;
    }
}

static fz_parquet_conversion convert_float(const fz_parquet_view *view, fz_type_kind want) {
    if (view->type.kind == FZ_TYPE_DOUBLE) {
        return want == FZ_TYPE_DOUBLE ? FZ_PARQUET_CONVERT_COPY : FZ_PARQUET_CONVERT_NONE;
    }
    if (view->type.kind != FZ_TYPE_FLOAT) {
        return FZ_PARQUET_CONVERT_NONE;
    }
    bool wide = want == FZ_TYPE_DOUBLE;
    if (view->element->physical == FZ_PARQUET_FIXED) {
        return wide ? FZ_PARQUET_CONVERT_HALF_DOUBLE : FZ_PARQUET_CONVERT_HALF;
    }
    return wide ? FZ_PARQUET_CONVERT_FLOAT : FZ_PARQUET_CONVERT_COPY;
}

static fz_parquet_conversion convert_bytes(const fz_parquet_view *view, const fz_type *want) {
    fz_type_kind have = view->type.kind;
    bool fixed = have == FZ_TYPE_UUID || have == FZ_TYPE_FIXED;
    int32_t length = want->kind == FZ_TYPE_UUID ? 16 : want->length;
    if (want->kind == FZ_TYPE_UUID || want->kind == FZ_TYPE_FIXED) {
        return fixed && view->element->type_length == length ? FZ_PARQUET_CONVERT_COPY
                                                             : FZ_PARQUET_CONVERT_NONE;
    }
    if (have == FZ_TYPE_STRING || have == FZ_TYPE_BINARY) {
        return FZ_PARQUET_CONVERT_BYTES;
    }
    return have == FZ_TYPE_FIXED && want->kind == FZ_TYPE_BINARY ? FZ_PARQUET_CONVERT_FIXED_BYTES
                                                                 : FZ_PARQUET_CONVERT_NONE;
}

static fz_parquet_conversion choose(fz_parquet_plan *plan) {
    const fz_parquet_view *view = plan->view;
    const fz_type *want = &plan->field->type;
    fz_type_kind have = view->type.kind;
    switch (want->kind) {
    case FZ_TYPE_BOOLEAN:
        return have == FZ_TYPE_BOOLEAN ? FZ_PARQUET_CONVERT_BOOLEAN : FZ_PARQUET_CONVERT_NONE;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        return have == want->kind ? FZ_PARQUET_CONVERT_COPY : FZ_PARQUET_CONVERT_NONE;
    case FZ_TYPE_LONG:
        if (have == FZ_TYPE_LONG) {
            return view->element->physical == FZ_PARQUET_INT32 ? FZ_PARQUET_CONVERT_UINT32
                                                               : FZ_PARQUET_CONVERT_COPY;
        }
        return have == FZ_TYPE_INT ? FZ_PARQUET_CONVERT_INT32 : FZ_PARQUET_CONVERT_NONE;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        return convert_float(view, want->kind);
    case FZ_TYPE_DECIMAL:
        return convert_decimal(view, want);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        return convert_bytes(view, want);
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return FZ_PARQUET_CONVERT_NONE;
    default:
        return convert_time(plan, want->kind);
    }
}

fz_code fz_parquet_plan_convert(fz_parquet_plan *plan, fz_err *err) {
    plan->multiply = plan->divide = 1;
    bool leaf = !plan->view->child_count && plan->view->element && plan->view->readable;
    plan->conversion = leaf ? choose(plan) : FZ_PARQUET_CONVERT_NONE;
    if (plan->conversion != FZ_PARQUET_CONVERT_NONE) {
        return FZ_OK;
    }
    fz_buf FZ_CLEANUP(fz_buf_deinit) have = {0};
    fz_buf FZ_CLEANUP(fz_buf_deinit) want = {0};
    if (leaf) {
        fz_type_format(&plan->view->type, &have);
    }
    fz_type_format(&plan->field->type, &want);
    return fz_err_set(err, FZ_UNSUPPORTED, "parquet column \"%.*s\" is %s and cannot be read as %s",
                      FZ_STR_ARGS(plan->view->name), leaf ? fz_buf_cstr(&have) : "of another shape",
                      fz_buf_cstr(&want));
}
