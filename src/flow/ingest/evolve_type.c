// SPDX-License-Identifier: Apache-2.0
// Which types fit into which columns, and columns as they are made from fields of a shape.
#include "flow/ingest/evolve.h"

bool fz_evolve_fits(const fz_type *from, const fz_type *to) {
    if (from->kind == to->kind) {
        switch (to->kind) {
        case FZ_TYPE_DECIMAL:
            return from->scale == to->scale && from->precision <= to->precision;
        case FZ_TYPE_FIXED:
            return from->length == to->length;
        case FZ_TYPE_STRUCT:
            return true; // its fields are compared one by one
        case FZ_TYPE_LIST:
        case FZ_TYPE_MAP:
            for (size_t i = 0; i < to->field_count; i++) {
                if (!fz_evolve_fits(&from->fields[i].type, &to->fields[i].type)) {
                    return false;
                }
            }
            return true;
        default:
            return true;
        }
    }
    return (from->kind == FZ_TYPE_INT && to->kind == FZ_TYPE_LONG) ||
           (from->kind == FZ_TYPE_FLOAT && to->kind == FZ_TYPE_DOUBLE) ||
           (from->kind == FZ_TYPE_DATE && to->kind == FZ_TYPE_TIMESTAMP);
}

void fz_evolve_column(fz_arena *arena, const fz_field *shape, int format_version, fz_field *out) {
    *out = (fz_field){.required = shape->required, .type = shape->type};
    out->name = fz_arena_str(arena, shape->name);
    out->doc = shape->doc.size ? fz_arena_str(arena, shape->doc) : (fz_str){0};
    if (format_version >= 3 && shape->initial_default.size && !fz_type_is_nested(&shape->type)) {
        out->initial_default = fz_arena_str(arena, shape->initial_default);
        out->write_default = out->initial_default;
    }
    out->type.fields = NULL;
    if (shape->type.field_count) {
        out->type.fields = FZ_ARENA_ARRAY(arena, fz_field, shape->type.field_count);
        for (size_t i = 0; i < shape->type.field_count; i++) {
            fz_evolve_column(arena, &shape->type.fields[i], format_version, &out->type.fields[i]);
        }
    }
}
