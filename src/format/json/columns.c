// SPDX-License-Identifier: Apache-2.0
// Given columns as types: what JSON text has to hold for each of them.
#include "base/memory.h"
#include "format/json/writer.h"

static fz_code type_of(fz_arena *arena, const fz_field *field, fz_json_type **out, fz_err *err);

static fz_code unsupported(const fz_field *field, const char *what, fz_err *err) {
    return fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported_type",
                           "column \"%.*s\": %s in JSON values",
                           FZ_STR_ARGS(fz_str_slice(field->name, 0, 200)), what);
}

static fz_code fields_of(fz_arena *arena, const fz_field *columns, size_t count, fz_json_type *type,
                         fz_err *err) {
    type->fields = FZ_ARENA_ARRAY(arena, fz_json_field, count);
    for (size_t i = 0; i < count; i++) {
        fz_json_field *field = &type->fields[type->field_count++];
        field->name = fz_arena_str(arena, columns[i].name);
        field->doc = fz_arena_str(arena, columns[i].doc);
        field->required = columns[i].required;
        field->order = INT64_MAX;
        FZ_TRY(type_of(arena, &columns[i], &field->type, err));
    }
    return FZ_OK;
}

static fz_code nested_of(fz_arena *arena, const fz_field *field, fz_json_type *type, fz_err *err) {
    const fz_type *from = &field->type;
    if (from->kind == FZ_TYPE_STRUCT) {
        type->kind = FZ_JSON_OBJECT;
        return fields_of(arena, from->fields, from->field_count, type, err);
    }
    if (from->kind == FZ_TYPE_MAP && from->fields[0].type.kind != FZ_TYPE_STRING) {
        return unsupported(field, "a map has text as its keys", err);
    }
    type->kind = from->kind == FZ_TYPE_MAP ? FZ_JSON_MAP : FZ_JSON_ARRAY;
    return type_of(arena, &from->fields[from->field_count - 1], &type->item, err);
}

static fz_code type_of(fz_arena *arena, const fz_field *field, fz_json_type **out, fz_err *err) {
    static const fz_json_kind kinds[] = {
        [FZ_TYPE_BOOLEAN] = FZ_JSON_BOOLEAN,     [FZ_TYPE_INT] = FZ_JSON_INTEGER,
        [FZ_TYPE_LONG] = FZ_JSON_INTEGER,        [FZ_TYPE_FLOAT] = FZ_JSON_FLOAT,
        [FZ_TYPE_DOUBLE] = FZ_JSON_NUMBER,       [FZ_TYPE_DECIMAL] = FZ_JSON_DECIMAL,
        [FZ_TYPE_DATE] = FZ_JSON_DATE,           [FZ_TYPE_TIME] = FZ_JSON_TIME,
        [FZ_TYPE_TIMESTAMP] = FZ_JSON_TIMESTAMP, [FZ_TYPE_TIMESTAMPTZ] = FZ_JSON_TIMESTAMPTZ,
        [FZ_TYPE_STRING] = FZ_JSON_STRING,       [FZ_TYPE_UUID] = FZ_JSON_UUID,
        [FZ_TYPE_FIXED] = FZ_JSON_FIXED,         [FZ_TYPE_BINARY] = FZ_JSON_BYTES,
    };
    const fz_type *from = &field->type;
    fz_json_type *type = *out = fz_json_type_new(arena, FZ_JSON_ANY);
    type->nullable = !field->required;
    if (fz_type_is_nested(from)) {
        return nested_of(arena, field, type, err);
    }
    if (from->kind == FZ_TYPE_TIMESTAMP_NS || from->kind == FZ_TYPE_TIMESTAMPTZ_NS) {
        return unsupported(field, "timestamps have no nanoseconds", err);
    }
    type->kind = kinds[from->kind];
    type->bits = from->kind == FZ_TYPE_INT ? 32 : 64;
    type->precision = from->precision;
    type->scale = from->scale;
    type->length = from->length;
    type->digits_text = from->kind == FZ_TYPE_DECIMAL;
    return FZ_OK;
}

fz_code fz_json_columns_new(const fz_field *columns, size_t count, fz_writer_schema **out,
                            fz_err *err) {
    fz_json_schema *schema = fz_json_schema_make();
    schema->root = fz_json_type_new(&schema->arena, FZ_JSON_OBJECT);
    fz_code code = fields_of(&schema->arena, columns, count, schema->root, err);
    if (code != FZ_OK) {
        fz_writer_schema_free(&schema->base);
        return code;
    }
    *out = &schema->base;
    return FZ_OK;
}
