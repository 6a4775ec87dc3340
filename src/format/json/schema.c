// SPDX-License-Identifier: Apache-2.0
// A JSON writer's schema: construction, looks, release.
#include "format/json/schema.h"

#include "base/memory.h"
#include "format/json/schema_parser.h"
#include "format/json/writer.h"

static void json_schema_free(fz_writer_schema *base) {
    fz_json_schema *schema = (fz_json_schema *)base;
    for (size_t i = 0; i < schema->documents.count; i++) {
        json_decref(schema->documents.data[i]);
    }
    fz_vec_deinit(&schema->documents);
    fz_arena_deinit(&schema->arena);
    fz_free(schema);
}

static const fz_writer_schema_ops json_schema_ops = {
    .name = "json",
    .shape = fz_json_shape,
    .open = fz_json_decoder_open,
    .free = json_schema_free,
};

fz_json_schema *fz_json_schema_make(void) {
    fz_json_schema *schema = (fz_json_schema *)fz_calloc(1, sizeof(*schema));
    schema->base.ops = &json_schema_ops;
    return schema;
}

fz_json_type *fz_json_type_new(fz_arena *arena, fz_json_kind kind) {
    fz_json_type *type = FZ_ARENA_NEW(arena, fz_json_type);
    type->kind = kind;
    type->bits = 64;
    return type;
}

fz_code fz_json_schema_new(fz_str text, const fz_json_reference *references, size_t count,
                           fz_writer_schema **out, fz_err *err) {
    fz_json_schema *schema = fz_json_schema_make();
    fz_code code = fz_json_schema_parse(schema, text, references, count, err);
    if (code != FZ_OK) {
        json_schema_free(&schema->base);
        return code;
    }
    *out = &schema->base;
    return FZ_OK;
}

fz_str fz_json_schema_name(const fz_writer_schema *schema) {
    FZ_ASSERT(schema->ops == &json_schema_ops);
    return ((const fz_json_schema *)schema)->root->name;
}

const char *fz_json_kind_name(fz_json_kind kind) {
    static const char *const names[] = {
        [FZ_JSON_NULL] = "null",
        [FZ_JSON_ANY] = "any value",
        [FZ_JSON_RECURSIVE] = "any value",
        [FZ_JSON_BOOLEAN] = "boolean",
        [FZ_JSON_INTEGER] = "integer",
        [FZ_JSON_NUMBER] = "number",
        [FZ_JSON_FLOAT] = "number",
        [FZ_JSON_STRING] = "string",
        [FZ_JSON_SCALAR_TEXT] = "any value",
        [FZ_JSON_BYTES] = "base64 text",
        [FZ_JSON_FIXED] = "base64 text",
        [FZ_JSON_DECIMAL] = "decimal",
        [FZ_JSON_DATE] = "date",
        [FZ_JSON_TIME] = "time",
        [FZ_JSON_TIMESTAMP] = "date-time without an offset",
        [FZ_JSON_TIMESTAMPTZ] = "date-time",
        [FZ_JSON_UUID] = "uuid",
        [FZ_JSON_DATE_DAYS] = "integer of days",
        [FZ_JSON_TIME_MILLIS] = "integer of milliseconds",
        [FZ_JSON_TIMESTAMP_MILLIS] = "integer of milliseconds",
        [FZ_JSON_ARRAY] = "array",
        [FZ_JSON_MAP] = "object",
        [FZ_JSON_ENTRIES] = "array of entries",
        [FZ_JSON_OBJECT] = "object",
        [FZ_JSON_UNION] = "one of several types",
    };
    return names[kind];
}
