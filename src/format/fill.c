// SPDX-License-Identifier: Apache-2.0
// Write defaults as values; which columns are wide enough.
#include "format/fill.h"

bool fz_fill_widens(const fz_type *shape, const fz_type *to) {
    if (shape->kind == to->kind) {
        switch (to->kind) {
        case FZ_TYPE_DECIMAL:
            return shape->scale == to->scale && shape->precision <= to->precision;
        case FZ_TYPE_FIXED:
            return shape->length == to->length;
        default:
            return true;
        }
    }
    return (shape->kind == FZ_TYPE_INT && to->kind == FZ_TYPE_LONG) ||
           (shape->kind == FZ_TYPE_FLOAT && to->kind == FZ_TYPE_DOUBLE) ||
           (shape->kind == FZ_TYPE_DATE && to->kind == FZ_TYPE_TIMESTAMP);
}

fz_code fz_fill_value(const fz_field *column, fz_str path, fz_arena *arena, fz_value *out,
                      fz_err *err) {
    *out = (fz_value){.is_null = true};
    if (column->write_default.size && !fz_type_is_nested(&column->type)) {
        json_t *json = NULL;
        FZ_TRY(fz_json_parse(column->write_default, &json, err));
        fz_code code = fz_value_from_json(&column->type, json, arena, out, err);
        json_decref(json);
        FZ_TRY(code);
    }
    return out->is_null && column->required
               ? fz_err_set_kind(err, FZ_UNSUPPORTED, "schema_incompatible",
                                 "column \"%.*s\" is required, and the writer's schema has no "
                                 "field for it",
                                 FZ_STR_ARGS(fz_str_slice(path, 0, 300)))
               : FZ_OK;
}
