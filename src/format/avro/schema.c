// SPDX-License-Identifier: Apache-2.0
// A parsed Avro schema as a writer's schema: construction, looks, release.
#include "format/avro/schema.h"

#include "base/memory.h"
#include "format/avro/schema_parser.h"
#include "format/avro/shape.h"

static void avro_schema_free(fz_writer_schema *base) {
    fz_avro_schema *schema = (fz_avro_schema *)base;
    for (size_t i = 0; i < schema->defaults.count; i++) {
        json_decref(schema->defaults.data[i]);
    }
    fz_vec_deinit(&schema->defaults);
    fz_arena_deinit(&schema->arena);
    fz_free(schema);
}

static const fz_writer_schema_ops avro_schema_ops = {
    .name = "avro",
    .shape = fz_avro_shape,
    .open = fz_avro_decoder_open,
    .free = avro_schema_free,
};

fz_code fz_avro_schema_new(fz_str text, const fz_avro_reference *references, size_t count,
                           const fz_avro_limits *limits, fz_writer_schema **out, fz_err *err) {
    fz_avro_schema *schema = (fz_avro_schema *)fz_calloc(1, sizeof(*schema));
    schema->base.ops = &avro_schema_ops;
    fz_code code = fz_avro_schema_parse(schema, text, references, count, limits, err);
    if (code != FZ_OK) {
        avro_schema_free(&schema->base);
        return code;
    }
    *out = &schema->base;
    return FZ_OK;
}

const fz_avro_type *fz_avro_schema_root(const fz_writer_schema *schema) {
    FZ_ASSERT(schema->ops == &avro_schema_ops);
    return ((const fz_avro_schema *)schema)->root;
}

fz_str fz_avro_schema_name(const fz_writer_schema *schema) {
    return fz_avro_schema_root(schema)->full_name;
}

const fz_avro_type *fz_avro_type_nullable(const fz_avro_type *type) {
    if (type->kind != FZ_AVRO_UNION || type->branch_count != 2) {
        return NULL;
    }
    if (type->branches[0]->kind == FZ_AVRO_NULL) {
        return type->branches[1];
    }
    return type->branches[1]->kind == FZ_AVRO_NULL ? type->branches[0] : NULL;
}

const char *fz_avro_kind_name(fz_avro_kind kind) {
    static const char *const names[] = {
        [FZ_AVRO_NULL] = "null",     [FZ_AVRO_BOOLEAN] = "boolean", [FZ_AVRO_INT] = "int",
        [FZ_AVRO_LONG] = "long",     [FZ_AVRO_FLOAT] = "float",     [FZ_AVRO_DOUBLE] = "double",
        [FZ_AVRO_BYTES] = "bytes",   [FZ_AVRO_STRING] = "string",   [FZ_AVRO_FIXED] = "fixed",
        [FZ_AVRO_ENUM] = "enum",     [FZ_AVRO_ARRAY] = "array",     [FZ_AVRO_MAP] = "map",
        [FZ_AVRO_RECORD] = "record", [FZ_AVRO_UNION] = "union",
    };
    return names[kind];
}
