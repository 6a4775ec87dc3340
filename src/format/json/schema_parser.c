// SPDX-License-Identifier: Apache-2.0
// JSON Schema validation vocabularies, as far as they decide types; Connect's annotations win.
#include "format/json/schema_parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format/json/annotation.h"
#include "format/json/merge.h"
#include "format/json/resolve.h"

typedef struct parser {
    fz_json_schema *schema;
    fz_arena *arena;
    fz_json_resolver resolver;
    FZ_VEC(const json_t *) above; // schemas that are being read, to find recursion
    fz_buf path;                  // for messages
    size_t visits;
    fz_err *err;
} parser;

static fz_code parse_schema(parser *p, const fz_json_place *place, fz_json_type **out);

// --- small things ---

static FZ_PRINTF(2, 3) fz_code bad(parser *p, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return fz_err_set_kind(p->err, FZ_CORRUPT, "schema_parse", "schema at \"%.200s\": %s",
                           p->path.size ? fz_buf_cstr(&p->path) : "#", text);
}

static fz_code parse_child(parser *p, const fz_json_place *place, const json_t *node, fz_str step,
                           fz_json_type **out) {
    size_t size = p->path.size;
    if (size) {
        fz_buf_append_byte(&p->path, '.');
    }
    fz_buf_append_str(&p->path, step);
    fz_json_place child = fz_json_place_child(&p->resolver, place, node);
    fz_code code = parse_schema(p, &child, out);
    p->path.size = code == FZ_OK ? size : p->path.size;
    return code;
}

static fz_json_type *make(parser *p, fz_json_kind kind) {
    return fz_json_type_new(p->arena, kind);
}

static fz_json_type *any_type(parser *p) {
    fz_json_type *type = make(p, FZ_JSON_ANY);
    type->nullable = true;
    return type;
}

static bool is_listed(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *item = json_string_value(json_array_get(list, i));
        if (item && strcmp(item, name) == 0) {
            return true;
        }
    }
    return false;
}

// --- objects ---

static int by_order(const void *a, const void *b) {
    const fz_json_field *x = (const fz_json_field *)a;
    const fz_json_field *y = (const fz_json_field *)b;
    return (x->order > y->order) - (x->order < y->order);
}

// Stable, and in order mostly.
static void sort_fields(fz_json_field *fields, size_t count) {
    for (size_t i = 1; i < count; i++) {
        fz_json_field moved = fields[i];
        size_t to = i;
        while (to > 0 && by_order(&fields[to - 1], &moved) > 0) {
            fields[to] = fields[to - 1];
            to--;
        }
        fields[to] = moved;
    }
}

static fz_code parse_properties(parser *p, const fz_json_place *place, const json_t *properties,
                                fz_json_type *type) {
    size_t count = json_object_size(properties);
    type->kind = FZ_JSON_OBJECT;
    type->fields = FZ_ARENA_ARRAY(p->arena, fz_json_field, count);
    const json_t *required = json_object_get(place->node, "required");
    const char *key = NULL;
    json_t *value = NULL;
    bool ordered = count <= 1000; // insertion sort
    json_object_foreach((json_t *)(uintptr_t)properties, key, value) {
        fz_json_field *field = &type->fields[type->field_count++];
        field->name = fz_arena_str(p->arena, fz_str_from(key));
        FZ_TRY(parse_child(p, place, value, field->name, &field->type));
        field->required =
            is_listed(required, key) || json_is_true(json_object_get(value, "required"));
        field->doc = fz_arena_str(p->arena, fz_json_str_or(value, "description"));
        field->order = fz_json_int_or(value, "connect.index", INT64_MAX);
        ordered = ordered && field->order != INT64_MAX;
    }
    if (ordered) {
        sort_fields(type->fields, type->field_count);
    }
    return FZ_OK;
}

static fz_code parse_object(parser *p, const fz_json_place *place, fz_json_type **out) {
    const json_t *properties = json_object_get(place->node, "properties");
    const json_t *more = json_object_get(place->node, "additionalProperties");
    fz_json_type *type = make(p, FZ_JSON_ANY);
    type->closed = json_is_false(more);
    *out = type;
    if (properties && !json_is_object(properties)) {
        return bad(p, "\"properties\" is not an object");
    }
    if (json_object_size(properties) > 0) {
        return parse_properties(p, place, properties, type);
    }
    if (json_object_size(more) > 0 && !json_object_get(place->node, "patternProperties")) {
        type->kind = FZ_JSON_MAP;
        return parse_child(p, place, more, FZ_STR("value"), &type->item);
    }
    return FZ_OK;
}

// --- arrays ---

static fz_code parse_array(parser *p, const fz_json_place *place, fz_json_type **out) {
    const json_t *items = json_object_get(place->node, "items");
    fz_json_type *type = make(p, FZ_JSON_ANY);
    *out = type;
    if (!json_is_object(items) || json_object_get(place->node, "prefixItems")) {
        return FZ_OK;
    }
    type->kind = FZ_JSON_ARRAY;
    FZ_TRY(parse_child(p, place, items, FZ_STR("element"), &type->item));
    if (fz_str_equal(fz_json_str_or(place->node, "connect.type"), FZ_STR("map"))) {
        fz_json_annotation_entries(type);
    }
    return FZ_OK;
}

// --- one type ---

static fz_code parse_named(parser *p, const fz_json_place *place, fz_str name, fz_json_type **out) {
    static const struct {
        const char *name;
        fz_json_kind kind;
    } scalars[] = {{"null", FZ_JSON_NULL},
                   {"boolean", FZ_JSON_BOOLEAN},
                   {"integer", FZ_JSON_INTEGER},
                   {"number", FZ_JSON_NUMBER},
                   {"string", FZ_JSON_STRING}};
    if (fz_str_equal(name, FZ_STR("object"))) {
        return parse_object(p, place, out);
    }
    if (fz_str_equal(name, FZ_STR("array"))) {
        return parse_array(p, place, out);
    }
    for (size_t i = 0; i < FZ_COUNT(scalars); i++) {
        if (fz_str_equal(name, fz_str_from(scalars[i].name))) {
            *out = make(p, scalars[i].kind);
            (*out)->nullable = scalars[i].kind == FZ_JSON_NULL;
            fz_json_annotation_scalar(place->node, *out);
            return FZ_OK;
        }
    }
    return bad(p, "\"%.*s\" is not a type", FZ_STR_ARGS(fz_str_slice(name, 0, 100)));
}

static fz_code parse_types(parser *p, const fz_json_place *place, const json_t *names,
                           fz_json_type **out) {
    size_t count = json_array_size(names);
    if (count == 0) {
        return bad(p, "\"type\" is neither a name nor a list of names");
    }
    fz_json_type **branches = FZ_ARENA_ARRAY(p->arena, fz_json_type *, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(names, i);
        if (!json_is_string(name)) {
            return bad(p, "\"type\" is neither a name nor a list of names");
        }
        FZ_TRY(parse_named(p, place, fz_json_view(name), &branches[i]));
    }
    *out = fz_json_union(p->arena, branches, count);
    return FZ_OK;
}

// --- enum and const ---

static fz_json_kind kind_of_value(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_NULL:
        return FZ_JSON_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return FZ_JSON_BOOLEAN;
    case JSON_INTEGER:
        return FZ_JSON_INTEGER;
    case JSON_REAL:
        return FZ_JSON_NUMBER;
    case JSON_STRING:
        return FZ_JSON_STRING;
    default:
        return FZ_JSON_SCALAR_TEXT;
    }
}

static fz_json_type *type_of_values(parser *p, const json_t **values, size_t count) {
    fz_json_type *type = make(p, FZ_JSON_NULL);
    for (size_t i = 0; i < count; i++) {
        fz_json_kind kind = kind_of_value(values[i]);
        if (kind == FZ_JSON_NULL) {
            type->nullable = true;
        } else if (type->kind == FZ_JSON_NULL || type->kind == kind) {
            type->kind = kind;
        } else if ((type->kind == FZ_JSON_INTEGER && kind == FZ_JSON_NUMBER) ||
                   (type->kind == FZ_JSON_NUMBER && kind == FZ_JSON_INTEGER)) {
            type->kind = FZ_JSON_NUMBER;
        } else {
            type->kind = FZ_JSON_SCALAR_TEXT;
        }
    }
    return type;
}

// What enum or const allow; NULL: the schema has neither.
static const json_t **listed_values(parser *p, const json_t *node, size_t *count) {
    const json_t *list = json_object_get(node, "enum");
    const json_t *single = json_object_get(node, "const");
    *count = single ? 1 : json_array_size(list);
    if (*count == 0) {
        return NULL;
    }
    const json_t **values = FZ_ARENA_ARRAY(p->arena, const json_t *, *count);
    for (size_t i = 0; i < *count; i++) {
        values[i] = single ? single : json_array_get(list, i);
    }
    return values;
}

// --- a schema's own keywords ---

static bool has_any(const json_t *node, const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(node, keys[i])) {
            return true;
        }
    }
    return false;
}

static fz_code parse_own(parser *p, const fz_json_place *place, fz_json_type **out) {
    static const char *const of_object[] = {"properties"};
    static const char *const of_array[] = {"items", "prefixItems"};
    const json_t *node = place->node;
    const json_t *name = json_object_get(node, "type");
    size_t count = 0;
    const json_t **values = listed_values(p, node, &count);
    if (json_is_string(name)) {
        FZ_TRY(parse_named(p, place, fz_json_view(name), out));
    } else if (name) {
        FZ_TRY(parse_types(p, place, name, out));
    } else if (values) {
        *out = type_of_values(p, values, count);
    } else if (has_any(node, of_object, FZ_COUNT(of_object)) ||
               (json_object_size(json_object_get(node, "additionalProperties")) > 0)) {
        FZ_TRY(parse_object(p, place, out));
    } else if (has_any(node, of_array, FZ_COUNT(of_array))) {
        FZ_TRY(parse_array(p, place, out));
    } else {
        *out = any_type(p);
    }
    if ((*out)->kind != FZ_JSON_UNION) {
        (*out)->values = values;
        (*out)->value_count = count;
    }
    return FZ_OK;
}

// --- combinations ---

static fz_code parse_branches(parser *p, const fz_json_place *place, const char *key,
                              fz_json_type **type) {
    const json_t *list = json_object_get(place->node, key);
    size_t count = json_array_size(list);
    if (count == 0) {
        return FZ_OK;
    }
    fz_json_type **branches = FZ_ARENA_ARRAY(p->arena, fz_json_type *, count);
    bool all_any = true;
    for (size_t i = 0; i < count; i++) {
        FZ_TRY(parse_child(p, place, json_array_get(list, i), fz_str_from(key), &branches[i]));
        all_any = all_any && branches[i]->kind == FZ_JSON_ANY;
    }
    if (!all_any) {
        *type = fz_json_merge(p->arena, *type, fz_json_union(p->arena, branches, count));
    }
    return FZ_OK;
}

static void require(fz_json_type *type, const json_t *schema) {
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; type->kind == FZ_JSON_OBJECT && i < type->field_count; i++) {
        for (size_t k = 0; k < json_array_size(required) && !type->fields[i].required; k++) {
            type->fields[i].required =
                fz_str_equal(fz_json_view(json_array_get(required, k)), type->fields[i].name);
        }
    }
}

static fz_code parse_combined(parser *p, const fz_json_place *place, fz_json_type **out) {
    const json_t *all = json_object_get(place->node, "allOf");
    for (size_t i = 0; i < json_array_size(all); i++) {
        fz_json_type *part = NULL;
        FZ_TRY(parse_child(p, place, json_array_get(all, i), FZ_STR("allOf"), &part));
        *out = fz_json_merge(p->arena, *out, part);
    }
    FZ_TRY(parse_branches(p, place, "oneOf", out));
    FZ_TRY(parse_branches(p, place, "anyOf", out));
    require(*out, place->node);
    for (size_t i = 0; i < json_array_size(all); i++) {
        require(*out, json_array_get(all, i));
    }
    return FZ_OK;
}

static fz_code parse_reference(parser *p, const fz_json_place *place, fz_str reference,
                               fz_json_type **out) {
    fz_json_place target;
    if (!fz_json_resolver_find(&p->resolver, place, reference, &target)) {
        return bad(p, "nothing is found at the reference \"%.*s\"",
                   FZ_STR_ARGS(fz_str_slice(reference, 0, 200)));
    }
    for (size_t i = 0; i < p->above.count; i++) {
        if (p->above.data[i] == target.node) {
            *out = make(p, FZ_JSON_RECURSIVE);
            (*out)->name = fz_arena_str(p->arena, reference);
            return FZ_OK;
        }
    }
    return parse_schema(p, &target, out);
}

static fz_str reference_of(const json_t *node) {
    static const char *const keys[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        const json_t *value = json_object_get(node, keys[i]);
        if (json_is_string(value)) {
            return fz_json_view(value);
        }
    }
    return (fz_str){0};
}

static fz_code parse_node(parser *p, const fz_json_place *place, fz_json_type **out) {
    const json_t *node = place->node;
    if (json_is_boolean(node)) {
        *out = any_type(p);
        return FZ_OK;
    }
    if (!json_is_object(node)) {
        return bad(p, "a schema is neither an object nor true or false");
    }
    fz_str reference = reference_of(node);
    if (reference.size && !place->siblings) {
        return parse_reference(p, place, reference, out);
    }
    FZ_TRY(parse_own(p, place, out));
    if (reference.size) {
        fz_json_type *target = NULL;
        FZ_TRY(parse_reference(p, place, reference, &target));
        *out = fz_json_merge(p->arena, *out, target);
    }
    FZ_TRY(parse_combined(p, place, out));
    fz_str title = fz_json_str_or(node, "title");
    if (title.size && (*out)->kind != FZ_JSON_RECURSIVE) {
        (*out)->name = fz_arena_str(p->arena, title);
    }
    return FZ_OK;
}

static fz_code parse_schema(parser *p, const fz_json_place *place, fz_json_type **out) {
    if (p->above.count >= 2 * FZ_JSON_SCHEMA_DEPTH) {
        return fz_err_set_kind(p->err, FZ_UNSUPPORTED, "depth_limit",
                               "the schema is nested deeper than %d", 2 * FZ_JSON_SCHEMA_DEPTH);
    }
    if (++p->visits > FZ_JSON_SCHEMA_TYPES) {
        return fz_err_set_kind(p->err, FZ_UNSUPPORTED, "unsupported_type",
                               "the schema spells out to more than %d types", FZ_JSON_SCHEMA_TYPES);
    }
    fz_vec_push(&p->above, place->node);
    FZ_TRY(parse_node(p, place, out));
    p->above.count--;
    return FZ_OK;
}

fz_code fz_json_schema_parse(fz_json_schema *schema, fz_str text,
                             const fz_json_reference *references, size_t count, fz_err *err) {
    parser p = {.schema = schema, .arena = &schema->arena, .err = err};
    p.resolver.schema = schema;
    fz_json_place place;
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        code =
            fz_json_resolver_add(&p.resolver, references[i].name, references[i].text, &place, err);
    }
    if (code == FZ_OK) {
        code = fz_json_resolver_add(&p.resolver, (fz_str){0}, text, &place, err);
    }
    if (code == FZ_OK) {
        code = parse_schema(&p, &place, &schema->root);
    }
    fz_json_resolver_deinit(&p.resolver);
    fz_vec_deinit(&p.above);
    fz_buf_deinit(&p.path);
    return code;
}
