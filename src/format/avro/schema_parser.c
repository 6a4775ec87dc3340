// SPDX-License-Identifier: Apache-2.0
// Avro's schema language: JSON to types, names resolved as they are met.
#include "format/avro/schema_parser.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/map.h"
#include "format/avro/logical.h"

#define DEFAULT_TEXT_SIZE ((size_t)4 << 20)
#define DEFAULT_FIELD_COUNT 10000
#define DEFAULT_DEPTH 256
#define MAX_DEPTH 1000
#define MAX_FIXED_SIZE (INT64_C(1) << 30)

typedef struct parser {
    fz_avro_schema *schema;
    fz_arena *arena;
    fz_map names; // full name -> fz_avro_type
    fz_avro_limits limits;
    size_t field_count;
    unsigned depth;
    fz_buf path; // dotted names of the fields above
    fz_err *err;
} parser;

static fz_code parse_type(parser *p, const json_t *json, fz_str space, const fz_avro_type **out);

// --- errors and paths ---

static FZ_PRINTF(3, 4) fz_code refuse(parser *p, fz_code code, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (p->path.size == 0) {
        return fz_err_set_kind(p->err, code, "schema_parse", "avro schema: %s", text);
    }
    return fz_err_set_kind(p->err, code, "schema_parse", "avro schema at \"%.300s\": %s",
                           fz_buf_cstr(&p->path), text);
}

// Adds a step to the path; the result is what path_pop takes.
static size_t path_push(parser *p, fz_str step) {
    size_t size = p->path.size;
    if (size) {
        fz_buf_append_byte(&p->path, '.');
    }
    fz_buf_append_str(&p->path, step);
    return size;
}

static void path_pop(parser *p, size_t size) {
    p->path.size = size;
}

static fz_code count_field(parser *p) {
    if (++p->field_count > p->limits.field_count) {
        return refuse(p, FZ_LIMIT, "more than %zu fields and union branches",
                      p->limits.field_count);
    }
    return FZ_OK;
}

// --- names ---

static fz_str join_name(parser *p, fz_str space, fz_str name) {
    if (space.size == 0) {
        return fz_arena_str(p->arena, name);
    }
    char *text = (char *)fz_arena_alloc(p->arena, space.size + name.size + 2, 1);
    memcpy(text, space.data, space.size);
    text[space.size] = '.';
    if (name.size) {
        memcpy(text + space.size + 1, name.data, name.size);
    }
    return fz_str_make(text, space.size + 1 + name.size);
}

static size_t last_dot(fz_str name) {
    for (size_t i = name.size; i > 0; i--) {
        if (name.data[i - 1] == '.') {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

// A name with dots is a full one, and its namespace is what stands before the last dot.
static fz_str full_name(parser *p, fz_str name, fz_str space) {
    size_t dot = last_dot(name);
    if (dot == SIZE_MAX) {
        return join_name(p, space, name);
    }
    return fz_arena_str(p->arena, dot == 0 ? fz_str_slice(name, 1, name.size) : name);
}

static fz_str space_of(fz_str full) {
    size_t dot = last_dot(full);
    return dot == SIZE_MAX ? FZ_STR("") : fz_str_slice(full, 0, dot);
}

static bool find_primitive(fz_str name, fz_avro_kind *out) {
    for (int kind = FZ_AVRO_NULL; kind <= FZ_AVRO_STRING; kind++) {
        if (fz_str_equal(name, fz_str_from(fz_avro_kind_name((fz_avro_kind)kind)))) {
            *out = (fz_avro_kind)kind;
            return true;
        }
    }
    return false;
}

static fz_avro_type *new_type(parser *p, fz_avro_kind kind) {
    fz_avro_type *type = FZ_ARENA_NEW(p->arena, fz_avro_type);
    type->kind = kind;
    return type;
}

static fz_code parse_name(parser *p, fz_str name, fz_str space, const fz_avro_type **out) {
    fz_avro_kind kind;
    if (find_primitive(name, &kind)) {
        *out = new_type(p, kind);
        return FZ_OK;
    }
    const fz_avro_type *found =
        (const fz_avro_type *)fz_map_find(&p->names, full_name(p, name, space));
    if (!found) {
        // As Java does: a name that the enclosing namespace does not have may be one without
        // namespace.
        found = (const fz_avro_type *)fz_map_find(&p->names, name);
    }
    if (!found) {
        return refuse(p, FZ_CORRUPT, "no type named \"%.*s\"", FZ_STR_ARGS(name));
    }
    *out = found;
    return FZ_OK;
}

static fz_code parse_texts(parser *p, const json_t *json, const char *what, fz_str **out,
                           size_t *count) {
    size_t size = json_array_size(json);
    fz_str *texts = FZ_ARENA_ARRAY(p->arena, fz_str, size);
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(json, i);
        if (!json_is_string(item)) {
            return refuse(p, FZ_CORRUPT, "%s %zu is not a string", what, i);
        }
        texts[i] = fz_arena_str(p->arena, fz_json_view(item));
    }
    *out = texts;
    *count = size;
    return FZ_OK;
}

// Name, namespace, doc and aliases of a named type; enters it among the names, so that it may refer
// to itself.
static fz_code begin_named(parser *p, const json_t *json, fz_str space, fz_avro_type *type) {
    const json_t *name = json_object_get(json, "name");
    if (!json_is_string(name) || json_string_length(name) == 0) {
        return refuse(p, FZ_CORRUPT, "%s without a name", fz_avro_kind_name(type->kind));
    }
    const json_t *own_space = json_object_get(json, "namespace");
    if (json_is_string(own_space)) {
        space = fz_json_view(own_space);
    }
    type->full_name = full_name(p, fz_json_view(name), space);
    size_t dot = last_dot(type->full_name);
    type->name = dot == SIZE_MAX ? type->full_name
                                 : fz_str_slice(type->full_name, dot + 1, type->full_name.size);
    type->doc = fz_arena_str(p->arena, fz_json_str_or(json, "doc"));
    fz_str *aliases = NULL;
    FZ_TRY(parse_texts(p, json_object_get(json, "aliases"), "alias", &aliases, &type->alias_count));
    for (size_t i = 0; i < type->alias_count; i++) {
        aliases[i] = full_name(p, aliases[i], space_of(type->full_name));
    }
    type->aliases = aliases;
    fz_avro_kind primitive;
    if (find_primitive(type->full_name, &primitive)) {
        return refuse(p, FZ_CORRUPT, "type name \"%.*s\" is that of a primitive type",
                      FZ_STR_ARGS(type->full_name));
    }
    if (fz_map_find(&p->names, type->full_name)) {
        return refuse(p, FZ_CORRUPT, "type \"%.*s\" is defined twice",
                      FZ_STR_ARGS(type->full_name));
    }
    fz_map_put(&p->names, type->full_name, type);
    return FZ_OK;
}

// --- types ---

static fz_code parse_field(parser *p, const json_t *json, fz_str space, fz_avro_field *field) {
    FZ_TRY(count_field(p));
    const json_t *name = json_object_get(json, "name");
    if (!json_is_string(name)) {
        return refuse(p, FZ_CORRUPT, "a field is not an object with a name");
    }
    field->name = fz_arena_str(p->arena, fz_json_view(name));
    field->doc = fz_arena_str(p->arena, fz_json_str_or(json, "doc"));
    size_t path = path_push(p, field->name);
    fz_str *aliases = NULL;
    FZ_TRY(
        parse_texts(p, json_object_get(json, "aliases"), "alias", &aliases, &field->alias_count));
    field->aliases = aliases;
    json_t *value = json_object_get(json, "default");
    if (value) {
        field->default_value = value;
        fz_vec_push(&p->schema->defaults, json_incref(value));
    }
    const json_t *type = json_object_get(json, "type");
    if (!type) {
        return refuse(p, FZ_CORRUPT, "field without a type");
    }
    FZ_TRY(parse_type(p, type, space, &field->type));
    path_pop(p, path);
    return FZ_OK;
}

static fz_code parse_record(parser *p, const json_t *json, fz_str space, fz_avro_type *type) {
    FZ_TRY(begin_named(p, json, space, type));
    const json_t *list = json_object_get(json, "fields");
    if (!json_is_array(list)) {
        return refuse(p, FZ_CORRUPT, "record \"%.*s\" without a list of fields",
                      FZ_STR_ARGS(type->full_name));
    }
    size_t count = json_array_size(list);
    if (count > p->limits.field_count) {
        return refuse(p, FZ_LIMIT, "record \"%.*s\" has %zu fields, at most %zu are read",
                      FZ_STR_ARGS(type->full_name), count, p->limits.field_count);
    }
    fz_avro_field *fields = FZ_ARENA_ARRAY(p->arena, fz_avro_field, count);
    fz_map seen = {0};
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        code = parse_field(p, json_array_get(list, i), space_of(type->full_name), &fields[i]);
        if (code == FZ_OK && fz_map_put(&seen, fields[i].name, &fields[i])) {
            code = refuse(p, FZ_CORRUPT, "record \"%.*s\" has two fields \"%.*s\"",
                          FZ_STR_ARGS(type->full_name), FZ_STR_ARGS(fields[i].name));
        }
    }
    fz_map_deinit(&seen);
    type->fields = fields;
    type->field_count = count;
    fz_avro_logical_of_record(json, type);
    return code;
}

static fz_code parse_enum(parser *p, const json_t *json, fz_str space, fz_avro_type *type) {
    FZ_TRY(begin_named(p, json, space, type));
    const json_t *list = json_object_get(json, "symbols");
    if (!json_is_array(list)) {
        return refuse(p, FZ_CORRUPT, "enum \"%.*s\" without a list of symbols",
                      FZ_STR_ARGS(type->full_name));
    }
    fz_str *symbols = NULL;
    FZ_TRY(parse_texts(p, list, "symbol", &symbols, &type->symbol_count));
    type->symbols = symbols;
    return FZ_OK;
}

static fz_code parse_fixed(parser *p, const json_t *json, fz_str space, fz_avro_type *type) {
    FZ_TRY(begin_named(p, json, space, type));
    const json_t *size = json_object_get(json, "size");
    if (!json_is_integer(size) || json_integer_value(size) < 0 ||
        json_integer_value(size) > MAX_FIXED_SIZE) {
        return refuse(p, FZ_CORRUPT, "fixed \"%.*s\" without a size of 0 to 2^30 bytes",
                      FZ_STR_ARGS(type->full_name));
    }
    type->size = json_integer_value(size);
    return FZ_OK;
}

static fz_code parse_collection(parser *p, const json_t *json, fz_str space, fz_avro_type *type) {
    bool array = type->kind == FZ_AVRO_ARRAY;
    const json_t *item = json_object_get(json, array ? "items" : "values");
    if (!item) {
        return refuse(p, FZ_CORRUPT, array ? "array without \"items\"" : "map without \"values\"");
    }
    size_t path = path_push(p, array ? FZ_STR("element") : FZ_STR("value"));
    FZ_TRY(parse_type(p, item, space, &type->item));
    path_pop(p, path);
    return FZ_OK;
}

static fz_code parse_union(parser *p, const json_t *json, fz_str space, const fz_avro_type **out) {
    size_t count = json_array_size(json);
    if (count == 0) {
        return refuse(p, FZ_CORRUPT, "union without branches");
    }
    if (count > p->limits.field_count) {
        return refuse(p, FZ_LIMIT, "union of %zu branches, at most %zu are read", count,
                      p->limits.field_count);
    }
    fz_avro_type *type = new_type(p, FZ_AVRO_UNION);
    type->branches = FZ_ARENA_ARRAY(p->arena, const fz_avro_type *, count);
    type->branch_count = count;
    fz_map seen = {0};
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        code = count_field(p);
        if (code == FZ_OK) {
            code = parse_type(p, json_array_get(json, i), space, &type->branches[i]);
        }
        if (code != FZ_OK) {
            break;
        }
        const fz_avro_type *branch = type->branches[i];
        fz_str name = branch->full_name.size ? branch->full_name
                                             : fz_str_from(fz_avro_kind_name(branch->kind));
        if (branch->kind == FZ_AVRO_UNION) {
            code = refuse(p, FZ_CORRUPT, "union directly inside a union");
        } else if (fz_map_put(&seen, name, type)) {
            code = refuse(p, FZ_CORRUPT, "union has the branch \"%.*s\" twice", FZ_STR_ARGS(name));
        }
    }
    fz_map_deinit(&seen);
    *out = type;
    return code;
}

// {"type": {"type": "string"}}: the inner type counts; a logical type on the outer object is taken
// for it.
static fz_code parse_wrapped(parser *p, const json_t *json, const json_t *inner, fz_str space,
                             const fz_avro_type **out) {
    FZ_TRY(parse_type(p, inner, space, out));
    const fz_avro_type *type = *out;
    if (type->full_name.size == 0 && type->kind != FZ_AVRO_UNION &&
        type->logical == FZ_AVRO_LOGICAL_NONE) {
        fz_avro_type *copy = FZ_ARENA_NEW(p->arena, fz_avro_type);
        *copy = *type;
        fz_avro_logical_of_type(p->arena, json, copy);
        *out = copy;
    }
    return FZ_OK;
}

static fz_code parse_object(parser *p, const json_t *json, fz_str space, const fz_avro_type **out) {
    static const struct {
        const char *name;
        fz_avro_kind kind;
        fz_code (*parse)(parser *p, const json_t *json, fz_str space, fz_avro_type *type);
    } complex[] = {
        {"record", FZ_AVRO_RECORD, parse_record},   {"error", FZ_AVRO_RECORD, parse_record},
        {"enum", FZ_AVRO_ENUM, parse_enum},         {"fixed", FZ_AVRO_FIXED, parse_fixed},
        {"array", FZ_AVRO_ARRAY, parse_collection}, {"map", FZ_AVRO_MAP, parse_collection},
    };
    const json_t *inner = json_object_get(json, "type");
    if (!inner) {
        return refuse(p, FZ_CORRUPT, "a type's object has no \"type\"");
    }
    if (!json_is_string(inner)) {
        return parse_wrapped(p, json, inner, space, out);
    }
    fz_str name = fz_json_view(inner);
    for (size_t i = 0; i < FZ_COUNT(complex); i++) {
        if (fz_str_equal(name, fz_str_from(complex[i].name))) {
            fz_avro_type *type = new_type(p, complex[i].kind);
            FZ_TRY(complex[i].parse(p, json, space, type));
            fz_avro_logical_of_type(p->arena, json, type);
            *out = type;
            return FZ_OK;
        }
    }
    return parse_wrapped(p, json, inner, space, out);
}

static fz_code parse_type(parser *p, const json_t *json, fz_str space, const fz_avro_type **out) {
    if (p->depth >= p->limits.depth) {
        return refuse(p, FZ_LIMIT, "types nested deeper than %u", p->limits.depth);
    }
    p->depth++;
    fz_code code;
    if (json_is_string(json)) {
        code = parse_name(p, fz_json_view(json), space, out);
    } else if (json_is_array(json)) {
        code = parse_union(p, json, space, out);
    } else if (json_is_object(json)) {
        code = parse_object(p, json, space, out);
    } else {
        code = refuse(p, FZ_CORRUPT, "a type is neither a name, nor a list, nor an object");
    }
    p->depth--;
    return code;
}

// --- documents ---

// Registries return a bare name such as long as `"long"`; some clients hand it over without the
// quotes.
static fz_code parse_document(parser *p, fz_str text, const fz_avro_type **out) {
    fz_avro_kind kind;
    if (find_primitive(fz_str_trim(text), &kind)) {
        *out = new_type(p, kind);
        return FZ_OK;
    }
    json_t *json = NULL;
    fz_code code = fz_json_parse(text, &json, p->err);
    if (code != FZ_OK) {
        fz_err_prepend(p->err, "while reading an avro schema");
        if (p->err) {
            p->err->kind = "schema_parse";
        }
        return code;
    }
    code = parse_type(p, json, FZ_STR(""), out);
    json_decref(json);
    return code;
}

static fz_code parse_reference(parser *p, const fz_avro_reference *references, size_t index) {
    const fz_avro_reference *reference = &references[index];
    for (size_t i = 0; i < index; i++) {
        if (fz_str_equal(references[i].text, reference->text)) {
            return FZ_OK; // two ways to the same schema
        }
    }
    const fz_avro_type *root = NULL;
    fz_code code = parse_document(p, reference->text, &root);
    if (code != FZ_OK) {
        return fz_err_prepend(p->err, "in the reference \"%.*s\"", FZ_STR_ARGS(reference->name));
    }
    if (reference->name.size && !fz_map_find(&p->names, reference->name)) {
        fz_map_put(&p->names, reference->name, (void *)(uintptr_t)root);
    }
    return FZ_OK;
}

static fz_code parse_all(parser *p, fz_str text, const fz_avro_reference *references,
                         size_t count) {
    size_t size = text.size;
    for (size_t i = 0; i < count && size <= p->limits.text_size; i++) {
        size = references[i].text.size > p->limits.text_size ? SIZE_MAX
                                                             : size + references[i].text.size;
    }
    if (size > p->limits.text_size || count > p->limits.field_count) {
        return refuse(p, FZ_LIMIT, "schema and references are over %zu bytes or %zu references",
                      p->limits.text_size, p->limits.field_count);
    }
    for (size_t i = 0; i < count; i++) {
        FZ_TRY(parse_reference(p, references, i));
    }
    return parse_document(p, text, &p->schema->root);
}

fz_code fz_avro_schema_parse(fz_avro_schema *schema, fz_str text,
                             const fz_avro_reference *references, size_t count,
                             const fz_avro_limits *limits, fz_err *err) {
    parser p = {.schema = schema, .arena = &schema->arena, .err = err};
    if (limits) {
        p.limits = *limits;
    }
    p.limits.text_size = p.limits.text_size ? p.limits.text_size : DEFAULT_TEXT_SIZE;
    p.limits.field_count = p.limits.field_count ? p.limits.field_count : DEFAULT_FIELD_COUNT;
    p.limits.depth = p.limits.depth ? p.limits.depth : DEFAULT_DEPTH;
    p.limits.depth = p.limits.depth < MAX_DEPTH ? p.limits.depth : MAX_DEPTH;
    fz_code code = parse_all(&p, text, references, count);
    fz_map_deinit(&p.names);
    fz_buf_deinit(&p.path);
    return code;
}
