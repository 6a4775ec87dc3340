// SPDX-License-Identifier: Apache-2.0
// Compiles types, their bound shape and a table's schema to nodes.
#include "format/json/plan.h"

#include "base/memory.h"
#include "format/fill.h"
#include "format/shape_names.h"

typedef struct compiler {
    fz_json_plan *plan;
    fz_buf path;
    fz_err *err;
} compiler;

// A value to compile, and what of the shape and the table is its.
typedef struct value {
    const fz_json_type *type;
    const fz_field *shape;
    const fz_field *target;
    uint32_t column;
} value;

static fz_code compile_value(compiler *c, const value *v, uint32_t *out);

void fz_json_plan_deinit(fz_json_plan *plan) {
    for (size_t i = 0; i < plan->maps.count; i++) {
        fz_map_deinit(plan->maps.data[i]);
    }
    fz_vec_deinit(&plan->maps);
    fz_vec_deinit(&plan->nodes);
    fz_vec_deinit(&plan->members);
    fz_vec_deinit(&plan->fills);
    fz_arena_deinit(&plan->arena);
}

static fz_code incompatible(compiler *c, const value *v) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf wanted = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf found = {0};
    fz_type_format(&v->target->type, &wanted);
    fz_type_format(&v->shape->type, &found);
    return fz_err_set_kind(c->err, FZ_UNSUPPORTED, "schema_incompatible",
                           "field \"%.300s\": %.150s cannot be written into column "
                           "\"%.*s\" of type %.150s",
                           c->path.size ? fz_buf_cstr(&c->path) : "value", fz_buf_cstr(&found),
                           FZ_STR_ARGS(v->target->name), fz_buf_cstr(&wanted));
}

static size_t path_push(compiler *c, fz_str step) {
    size_t size = c->path.size;
    if (size) {
        fz_buf_append_byte(&c->path, '.');
    }
    fz_buf_append_str(&c->path, step);
    return size;
}

static uint32_t emit(compiler *c, const value *v) {
    fz_str path = fz_buf_view(&c->path);
    path = path.size > 200 ? fz_str_slice(path, path.size - 200, path.size) : path;
    fz_json_node node = {.kind = (uint8_t)v->type->kind,
                         .nullable = v->type->nullable,
                         .bits = (uint8_t)v->type->bits,
                         .digits_text = v->type->digits_text,
                         .column = v->column,
                         .type = v->type,
                         .path = fz_arena_str(&c->plan->arena, path)};
    if (v->target) {
        node.to = (uint8_t)v->target->type.kind;
        node.null_ok = !v->target->required;
        node.precision = (uint8_t)v->target->type.precision;
        node.scale = (uint8_t)v->target->type.scale;
    }
    fz_vec_push(&c->plan->nodes, node);
    return (uint32_t)c->plan->nodes.count - 1;
}

static fz_json_node *node_at(compiler *c, uint32_t index) {
    return &c->plan->nodes.data[index];
}

// --- the shape's and the table's side ---

static fz_code add_fill(compiler *c, const fz_field *target, size_t column) {
    size_t path = path_push(c, target->name);
    fz_value *fill_value = FZ_ARENA_NEW(&c->plan->arena, fz_value);
    FZ_TRY(fz_fill_value(target, fz_buf_view(&c->path), &c->plan->arena, fill_value, c->err));
    fz_json_fill fill = {(uint32_t)column, fill_value};
    fz_vec_push(&c->plan->fills, fill);
    c->path.size = path;
    return FZ_OK;
}

// --- members ---

// The name in quotes, unless JSON has to escape it.
static fz_str quote(fz_arena *arena, fz_str name) {
    for (size_t i = 0; i < name.size; i++) {
        if ((uint8_t)name.data[i] < 0x20 || name.data[i] == '"' || name.data[i] == '\\') {
            return (fz_str){0};
        }
    }
    return fz_arena_printf(arena, "\"%.*s\"", FZ_STR_ARGS(name));
}

static fz_map *name_map(compiler *c, const fz_json_type *type) {
    fz_map *map = FZ_ARENA_NEW(&c->plan->arena, fz_map);
    fz_vec_push(&c->plan->maps, map);
    for (size_t i = 0; i < type->field_count; i++) {
        fz_map_put(map, type->fields[i].name, (void *)(uintptr_t)(i + 1));
    }
    return map;
}

// Members of an object or branches of a union, then the columns that none of them fills.
static fz_code compile_members(compiler *c, const fz_json_type *type, const fz_type *shape,
                               const fz_type *target, const bool *owned, uint32_t at) {
    uint32_t first = (uint32_t)c->plan->members.count;
    bool *filled = (bool *)fz_calloc(target->field_count + 1, sizeof(bool));
    size_t next = 0;
    uint32_t wanted = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        fz_json_member member = {.name = fz_arena_str(&c->plan->arena, type->fields[i].name),
                                 .node = FZ_JSON_NONE,
                                 .kind = type->fields[i].type->kind};
        member.quoted = quote(&c->plan->arena, member.name);
        fz_vec_push(&c->plan->members, member);
    }
    fz_code code = FZ_OK;
    for (size_t i = 0; i < type->field_count && code == FZ_OK; i++) {
        value v = {.type = type->fields[i].type};
        v.shape = fz_shape_find_origin(shape, i, &next);
        v.target = fz_shape_find_target(target, v.shape, &v.column);
        if (!v.target || (owned && !owned[v.column])) {
            continue;
        }
        if (filled[v.column]) {
            code = fz_err_set(c->err, FZ_INTERNAL, "two fields are bound to column \"%.*s\"",
                              FZ_STR_ARGS(v.target->name));
            break;
        }
        filled[v.column] = true;
        wanted++;
        size_t path = path_push(c, type->fields[i].name);
        uint32_t node = 0;
        code = compile_value(c, &v, &node);
        c->path.size = code == FZ_OK ? path : c->path.size;
        c->plan->members.data[first + i].node = node;
        c->plan->members.data[first + i].column = v.column;
    }
    fz_json_node *n = node_at(c, at);
    n->first = first;
    n->count = (uint32_t)type->field_count;
    n->wanted = wanted;
    n->hint = (uint32_t)c->plan->hint_count;
    n->names = type->field_count > FZ_JSON_FEW ? name_map(c, type) : NULL;
    n->fill = (uint32_t)c->plan->fills.count;
    c->plan->hint_count += type->field_count + 1;
    for (size_t i = 0; i < target->field_count && code == FZ_OK; i++) {
        if (!filled[i] && (!owned || owned[i])) {
            code = add_fill(c, &target->fields[i], i);
        }
    }
    node_at(c, at)->fill_count = (uint32_t)c->plan->fills.count - node_at(c, at)->fill;
    fz_free(filled);
    return code;
}

// --- nested values ---

static fz_code compile_child(compiler *c, const value *parent, const fz_json_type *type,
                             size_t index, uint32_t *out) {
    value v = {.type = type,
               .shape = &parent->shape->type.fields[index],
               .target = &parent->target->type.fields[index],
               .column = (uint32_t)index};
    size_t path = path_push(c, v.target->name);
    FZ_TRY(compile_value(c, &v, out));
    c->path.size = path;
    return FZ_OK;
}

static fz_code compile_value(compiler *c, const value *v, uint32_t *out) {
    static const fz_json_type key = {.kind = FZ_JSON_STRING};
    if (!fz_fill_widens(&v->shape->type, &v->target->type)) {
        return incompatible(c, v);
    }
    uint32_t at = emit(c, v);
    uint32_t child = 0;
    *out = at;
    switch (v->type->kind) {
    case FZ_JSON_OBJECT:
    case FZ_JSON_UNION:
        return compile_members(c, v->type, &v->shape->type, &v->target->type, NULL, at);
    case FZ_JSON_ARRAY:
        FZ_TRY(compile_child(c, v, v->type->item, 0, &child));
        break;
    case FZ_JSON_MAP:
    case FZ_JSON_ENTRIES:
        FZ_TRY(compile_child(c, v, v->type->kind == FZ_JSON_MAP ? &key : v->type->key, 0, &child));
        node_at(c, at)->key = child;
        FZ_TRY(compile_child(c, v, v->type->item, 1, &child));
        break;
    default:
        break;
    }
    node_at(c, at)->first = child;
    return FZ_OK;
}

// --- the root ---

// Columns of an object, or one that holds the whole value.
static fz_code compile_columns(compiler *c, const fz_json_type *root, const fz_type *shape,
                               const fz_type *target, const bool *owned) {
    bool whole = shape->field_count == 1 && (shape->fields[0].origin & FZ_SHAPE_ORIGIN_ROOT) != 0;
    if (!whole) {
        value v = {.type = root};
        c->plan->root = emit(c, &v);
        c->plan->root_members = true;
        return compile_members(c, root, shape, target, owned, c->plan->root);
    }
    value v = {.type = root, .shape = &shape->fields[0]};
    v.target = fz_shape_find_target(target, v.shape, &v.column);
    bool bound = v.target && (!owned || owned[v.column]);
    c->plan->root = FZ_JSON_NONE;
    if (bound) {
        size_t path = path_push(c, v.target->name);
        FZ_TRY(compile_value(c, &v, &c->plan->root));
        c->path.size = path;
    }
    c->plan->outer_fill = (uint32_t)c->plan->fills.count;
    for (size_t i = 0; i < target->field_count; i++) {
        if ((!owned || owned[i]) && !(bound && i == v.column)) {
            FZ_TRY(add_fill(c, &target->fields[i], i));
        }
    }
    c->plan->outer_count = (uint32_t)c->plan->fills.count - c->plan->outer_fill;
    return FZ_OK;
}

// All columns below one struct of the table that no source field stands for: key.mode: struct.
static fz_code compile_wrapped(compiler *c, const fz_json_type *root, const fz_field *shape,
                               const fz_type *target, const bool *owned) {
    value v = {.type = root, .shape = shape};
    v.target = fz_shape_find_target(target, shape, &v.column);
    if (!v.target || !owned[v.column]) {
        return fz_err_set(c->err, FZ_INVALID, "no column of the decoder for the struct \"%.*s\"",
                          FZ_STR_ARGS(shape->name));
    }
    if (v.target->type.kind != FZ_TYPE_STRUCT) {
        return incompatible(c, &v);
    }
    c->plan->wrapper = v.column;
    return compile_columns(c, root, &shape->type, &v.target->type, NULL);
}

fz_code fz_json_plan_compile(fz_json_plan *plan, const fz_json_schema *schema,
                             const fz_schema *shape, const fz_schema *target, const bool *owned,
                             fz_err *err) {
    compiler c = {.plan = plan, .err = err};
    plan->column_count = target->root.field_count;
    plan->wrapper = FZ_JSON_NONE;
    const fz_field *first = shape->root.field_count == 1 ? &shape->root.fields[0] : NULL;
    fz_code code = first && first->origin == FZ_SHAPE_ORIGIN_NONE
                       ? compile_wrapped(&c, schema->root, first, &target->root, owned)
                       : compile_columns(&c, schema->root, &shape->root, &target->root, owned);
    fz_buf_deinit(&c.path);
    return code;
}
