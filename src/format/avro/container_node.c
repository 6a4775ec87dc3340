// SPDX-License-Identifier: Apache-2.0
// Parses the Avro schema of an object container into nodes.
#include "format/avro/container_node.h"

#include "base/map.h"

typedef struct node_parser {
    fz_arena *arena;
    fz_map names; // full name -> fz_avro_node
    size_t nodes;
    size_t max_nodes;
    unsigned max_depth;
} node_parser;

static const struct {
    const char *name;
    fz_avro_datum_kind kind;
} primitives[] = {
    {"null", FZ_AVRO_DATUM_NULL},   {"boolean", FZ_AVRO_DATUM_BOOLEAN},
    {"int", FZ_AVRO_DATUM_INT},     {"long", FZ_AVRO_DATUM_LONG},
    {"float", FZ_AVRO_DATUM_FLOAT}, {"double", FZ_AVRO_DATUM_DOUBLE},
    {"bytes", FZ_AVRO_DATUM_BYTES}, {"string", FZ_AVRO_DATUM_STRING},
};

static fz_code parse_node(node_parser *p, const json_t *json, fz_str space, unsigned depth,
                          const fz_avro_node **out, fz_err *err);

static fz_code node_new(node_parser *p, fz_avro_datum_kind kind, fz_avro_node **out, fz_err *err) {
    if (p->nodes >= p->max_nodes) {
        return fz_err_set(err, FZ_LIMIT, "avro schema has more than %zu types", p->max_nodes);
    }
    p->nodes++;
    fz_avro_node *node = FZ_ARENA_NEW(p->arena, fz_avro_node);
    node->kind = kind;
    *out = node;
    return FZ_OK;
}

static bool primitive_find(fz_str name, fz_avro_datum_kind *kind) {
    for (size_t i = 0; i < FZ_COUNT(primitives); i++) {
        if (fz_str_equal(name, fz_str_from(primitives[i].name))) {
            *kind = primitives[i].kind;
            return true;
        }
    }
    return false;
}

static fz_code parse_name(node_parser *p, fz_str name, fz_str space, const fz_avro_node **out,
                          fz_err *err) {
    fz_avro_datum_kind kind;
    if (primitive_find(name, &kind)) {
        fz_avro_node *node;
        FZ_TRY(node_new(p, kind, &node, err));
        *out = node;
        return FZ_OK;
    }
    fz_avro_node *found = NULL;
    if (space.size > 0 && fz_str_find(name, '.', 0) == SIZE_MAX) {
        fz_str full = fz_arena_printf(p->arena, "%.*s.%.*s", FZ_STR_ARGS(space), FZ_STR_ARGS(name));
        found = fz_map_find(&p->names, full);
    }
    if (!found) {
        found = fz_map_find(&p->names, name);
    }
    if (!found) {
        return fz_err_set(err, FZ_CORRUPT, "avro schema names an unknown type \"%.*s\"",
                          FZ_STR_ARGS(name));
    }
    *out = found;
    return FZ_OK;
}

/** Full name of a named type; *space becomes its namespace. */
static fz_code full_name(node_parser *p, const json_t *json, fz_str *space, fz_str *out,
                         fz_err *err) {
    fz_str name;
    FZ_TRY(fz_json_get_str(json, "name", "avro schema", &name, err));
    const json_t *given = json_object_get(json, "namespace");
    size_t dot = SIZE_MAX;
    for (size_t i = 0; i < name.size; i++) {
        dot = name.data[i] == '.' ? i : dot;
    }
    if (dot != SIZE_MAX) {
        *space = fz_arena_str(p->arena, fz_str_slice(name, 0, dot));
        *out = fz_arena_str(p->arena, name);
        return FZ_OK;
    }
    if (json_is_string(given)) {
        *space = fz_arena_str(p->arena, fz_json_view(given));
    }
    *out = space->size > 0
               ? fz_arena_printf(p->arena, "%.*s.%.*s", FZ_STR_ARGS(*space), FZ_STR_ARGS(name))
               : fz_arena_str(p->arena, name);
    return FZ_OK;
}

static fz_code parse_fields(node_parser *p, const json_t *json, fz_avro_node *node, fz_str space,
                            unsigned depth, fz_err *err) {
    const json_t *fields = json_object_get(json, "fields");
    if (!json_is_array(fields)) {
        return fz_err_set(err, FZ_CORRUPT, "avro record \"%.*s\" has no fields",
                          FZ_STR_ARGS(node->name));
    }
    node->field_count = json_array_size(fields);
    node->fields = FZ_ARENA_ARRAY(p->arena, fz_avro_node_field, node->field_count);
    for (size_t i = 0; i < node->field_count; i++) {
        const json_t *field = json_array_get(fields, i);
        fz_str name;
        FZ_TRY(fz_json_get_str(field, "name", "avro field", &name, err));
        node->fields[i].name = fz_arena_str(p->arena, name);
        int64_t id = fz_json_int_or(field, "field-id", -1);
        node->fields[i].field_id = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
        FZ_TRY(parse_node(p, json_object_get(field, "type"), space, depth + 1,
                          &node->fields[i].node, err));
    }
    return FZ_OK;
}

static fz_code parse_symbols(node_parser *p, const json_t *json, fz_avro_node *node, fz_err *err) {
    const json_t *symbols = json_object_get(json, "symbols");
    if (!json_is_array(symbols)) {
        return fz_err_set(err, FZ_CORRUPT, "avro enum \"%.*s\" has no symbols",
                          FZ_STR_ARGS(node->name));
    }
    node->symbol_count = json_array_size(symbols);
    node->symbols = FZ_ARENA_ARRAY(p->arena, fz_str, node->symbol_count);
    for (size_t i = 0; i < node->symbol_count; i++) {
        node->symbols[i] = fz_arena_str(p->arena, fz_json_view(json_array_get(symbols, i)));
    }
    return FZ_OK;
}

static fz_code parse_named(node_parser *p, const json_t *json, fz_avro_datum_kind kind,
                           fz_str space, unsigned depth, const fz_avro_node **out, fz_err *err) {
    fz_avro_node *node;
    FZ_TRY(node_new(p, kind, &node, err));
    FZ_TRY(full_name(p, json, &space, &node->name, err));
    if (fz_map_put(&p->names, node->name, node)) {
        return fz_err_set(err, FZ_CORRUPT, "avro schema defines \"%.*s\" twice",
                          FZ_STR_ARGS(node->name));
    }
    if (kind == FZ_AVRO_DATUM_RECORD) {
        FZ_TRY(parse_fields(p, json, node, space, depth, err));
    } else if (kind == FZ_AVRO_DATUM_ENUM) {
        FZ_TRY(parse_symbols(p, json, node, err));
    } else {
        int64_t size;
        FZ_TRY(fz_json_get_int(json, "size", "avro fixed", &size, err));
        if (size < 0 || size > INT32_MAX) {
            return fz_err_set(err, FZ_CORRUPT, "avro fixed \"%.*s\" has size %lld",
                              FZ_STR_ARGS(node->name), (long long)size);
        }
        node->size = (size_t)size;
    }
    node->logical_type = fz_arena_str(p->arena, fz_json_str_or(json, "logicalType"));
    *out = node;
    return FZ_OK;
}

static fz_code parse_child(node_parser *p, const json_t *json, const char *key,
                           fz_avro_datum_kind kind, fz_str space, unsigned depth,
                           const fz_avro_node **out, fz_err *err) {
    fz_avro_node *node;
    FZ_TRY(node_new(p, kind, &node, err));
    node->children = FZ_ARENA_ARRAY(p->arena, const fz_avro_node *, 1);
    node->child_count = 1;
    node->logical_type = fz_arena_str(p->arena, fz_json_str_or(json, "logicalType"));
    FZ_TRY(parse_node(p, json_object_get(json, key), space, depth + 1, &node->children[0], err));
    *out = node;
    return FZ_OK;
}

static fz_code parse_object(node_parser *p, const json_t *json, fz_str space, unsigned depth,
                            const fz_avro_node **out, fz_err *err) {
    const json_t *type = json_object_get(json, "type");
    if (!json_is_string(type)) {
        return parse_node(p, type, space, depth + 1, out, err);
    }
    fz_str name = fz_json_view(type);
    if (fz_str_equal(name, FZ_STR("record")) || fz_str_equal(name, FZ_STR("error"))) {
        return parse_named(p, json, FZ_AVRO_DATUM_RECORD, space, depth, out, err);
    }
    if (fz_str_equal(name, FZ_STR("enum"))) {
        return parse_named(p, json, FZ_AVRO_DATUM_ENUM, space, depth, out, err);
    }
    if (fz_str_equal(name, FZ_STR("fixed"))) {
        return parse_named(p, json, FZ_AVRO_DATUM_FIXED, space, depth, out, err);
    }
    if (fz_str_equal(name, FZ_STR("array"))) {
        return parse_child(p, json, "items", FZ_AVRO_DATUM_ARRAY, space, depth, out, err);
    }
    if (fz_str_equal(name, FZ_STR("map"))) {
        return parse_child(p, json, "values", FZ_AVRO_DATUM_MAP, space, depth, out, err);
    }
    fz_avro_datum_kind kind;
    if (!primitive_find(name, &kind)) {
        return parse_name(p, name, space, out, err);
    }
    fz_avro_node *node;
    FZ_TRY(node_new(p, kind, &node, err));
    node->logical_type = fz_arena_str(p->arena, fz_json_str_or(json, "logicalType"));
    *out = node;
    return FZ_OK;
}

static fz_code parse_union(node_parser *p, const json_t *json, fz_str space, unsigned depth,
                           const fz_avro_node **out, fz_err *err) {
    fz_avro_node *node;
    FZ_TRY(node_new(p, FZ_AVRO_DATUM_UNION, &node, err));
    node->child_count = json_array_size(json);
    node->children = FZ_ARENA_ARRAY(p->arena, const fz_avro_node *, node->child_count);
    for (size_t i = 0; i < node->child_count; i++) {
        FZ_TRY(parse_node(p, json_array_get(json, i), space, depth + 1, &node->children[i], err));
        if (node->children[i]->kind == FZ_AVRO_DATUM_UNION) {
            return fz_err_set(err, FZ_CORRUPT, "avro union holds a union");
        }
    }
    *out = node;
    return FZ_OK;
}

static fz_code parse_node(node_parser *p, const json_t *json, fz_str space, unsigned depth,
                          const fz_avro_node **out, fz_err *err) {
    if (depth > p->max_depth) {
        return fz_err_set(err, FZ_LIMIT, "avro schema is nested deeper than %u", p->max_depth);
    }
    if (json_is_string(json)) {
        return parse_name(p, fz_json_view(json), space, out, err);
    }
    if (json_is_array(json)) {
        return parse_union(p, json, space, depth, out, err);
    }
    if (json_is_object(json)) {
        return parse_object(p, json, space, depth, out, err);
    }
    return fz_err_set(err, FZ_CORRUPT,
                      "avro schema has a type that is neither text, object nor array");
}

fz_code fz_avro_container_node_parse(const json_t *schema, size_t max_nodes, unsigned max_depth,
                                     fz_arena *arena, const fz_avro_node **out, fz_err *err) {
    node_parser p = {.arena = arena, .max_nodes = max_nodes, .max_depth = max_depth};
    fz_code code = parse_node(&p, schema, FZ_STR(""), 0, out, err);
    fz_map_deinit(&p.names);
    return code;
}
