// SPDX-License-Identifier: Apache-2.0
// Compiles a writer's schema, its bound shape and a table's schema to ops.
#include "format/avro/plan.h"

#include "base/memory.h"
#include "format/avro/shape.h"
#include "format/fill.h"
#include "format/shape_names.h"

#define MAX_OPS 100000
#define MAX_VISITS 1000000

typedef struct compiler {
    fz_avro_plan *plan;
    fz_buf path;
    FZ_VEC(const fz_avro_type *) above; // records that are being skipped, to find recursion
    size_t visits;
    unsigned frames;
    fz_err *err;
} compiler;

// A value to compile: its type, its form in a union, and what of it is wanted.
typedef struct value {
    const fz_avro_type *type;
    const fz_field *shape;  // NULL: skipped
    const fz_field *target; // NULL: skipped
    uint32_t column;
    uint8_t form;
} value;

static fz_code compile_value(compiler *c, value v, uint32_t *least);
static fz_code compile_struct_fields(compiler *c, const fz_avro_type *record, const fz_type *shape,
                                     const fz_type *target, const bool *owned, uint32_t *least);

void fz_avro_plan_deinit(fz_avro_plan *plan) {
    fz_vec_deinit(&plan->ops);
    fz_vec_deinit(&plan->paths);
    fz_arena_deinit(&plan->arena);
}

// --- small things ---

static fz_code incompatible(compiler *c, const value *v) {
    fz_buf wanted = {0};
    fz_buf found = {0};
    fz_type_format(&v->target->type, &wanted);
    fz_type_format(&v->shape->type, &found);
    fz_code code =
        fz_err_set_kind(c->err, FZ_UNSUPPORTED, "schema_incompatible",
                        "field \"%.300s\": %.150s cannot be written into column "
                        "\"%.*s\" of type %.150s",
                        c->path.size ? fz_buf_cstr(&c->path) : "value", fz_buf_cstr(&found),
                        FZ_STR_ARGS(v->target->name), fz_buf_cstr(&wanted));
    fz_buf_deinit(&wanted);
    fz_buf_deinit(&found);
    return code;
}

static size_t path_push(compiler *c, fz_str step) {
    size_t size = c->path.size;
    if (size) {
        fz_buf_append_byte(&c->path, '.');
    }
    fz_buf_append_str(&c->path, step);
    return size;
}

static uint32_t emit(compiler *c, fz_avro_opcode code, const value *v) {
    fz_avro_op op = {.code = (uint8_t)code,
                     .form = v ? v->form : FZ_AVRO_FORM_PLAIN,
                     .null_ok = !v || !v->target || !v->target->required,
                     .column = v && v->target ? v->column : FZ_AVRO_NO_COLUMN};
    uint32_t index = (uint32_t)c->plan->ops.count;
    op.end = index + 1;
    fz_vec_push(&c->plan->ops, op);
    // Only what may fail on data needs a path; the last 200 bytes of a long one say enough.
    fz_str path = fz_buf_view(&c->path);
    path = path.size > 200 ? fz_str_slice(path, path.size - 200, path.size) : path;
    fz_vec_push(&c->plan->paths, fz_arena_str(&c->plan->arena, path));
    return index;
}

static fz_avro_op *op_at(compiler *c, uint32_t index) {
    return &c->plan->ops.data[index];
}

static void close_op(compiler *c, uint32_t index) {
    op_at(c, index)->end = (uint32_t)c->plan->ops.count;
}

static void enter(compiler *c) {
    c->frames++;
    c->plan->frames = c->plan->frames > c->frames ? c->plan->frames : c->frames;
}

static uint32_t add_least(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

// --- skipping ---

static fz_code skip_record(compiler *c, const value *v, uint32_t *least) {
    for (size_t i = 0; i < c->above.count; i++) {
        if (c->above.data[i] == v->type) {
            uint32_t at = emit(c, FZ_AVRO_OP_SKIP_TYPE, v);
            op_at(c, at)->as.type = v->type;
            *least = 0;
            return FZ_OK;
        }
    }
    fz_vec_push(&c->above, v->type);
    uint32_t at = v->form == FZ_AVRO_FORM_PLAIN ? UINT32_MAX : emit(c, FZ_AVRO_OP_GROUP, v);
    FZ_TRY(compile_struct_fields(c, v->type, NULL, NULL, NULL, least));
    if (at != UINT32_MAX) {
        close_op(c, at);
    }
    c->above.count--;
    return FZ_OK;
}

static fz_code skip_scalar(compiler *c, const value *v, uint32_t *least) {
    static const uint8_t codes[] = {
        [FZ_AVRO_BOOLEAN] = FZ_AVRO_OP_SKIP_BOOLEAN, [FZ_AVRO_INT] = FZ_AVRO_OP_SKIP_INT,
        [FZ_AVRO_LONG] = FZ_AVRO_OP_SKIP_LONG,       [FZ_AVRO_FLOAT] = FZ_AVRO_OP_SKIP_SIZE,
        [FZ_AVRO_DOUBLE] = FZ_AVRO_OP_SKIP_SIZE,     [FZ_AVRO_BYTES] = FZ_AVRO_OP_SKIP_BYTES,
        [FZ_AVRO_STRING] = FZ_AVRO_OP_SKIP_BYTES,    [FZ_AVRO_FIXED] = FZ_AVRO_OP_SKIP_SIZE,
        [FZ_AVRO_ENUM] = FZ_AVRO_OP_SKIP_ENUM,       [FZ_AVRO_NULL] = FZ_AVRO_OP_GROUP,
    };
    fz_avro_kind kind = v->type->kind;
    uint32_t size = 0;
    if (kind == FZ_AVRO_ENUM) {
        size = (uint32_t)v->type->symbol_count;
    } else if (codes[kind] == FZ_AVRO_OP_SKIP_SIZE) {
        size = kind == FZ_AVRO_FLOAT ? 4 : kind == FZ_AVRO_DOUBLE ? 8 : (uint32_t)v->type->size;
    }
    bool nothing = kind == FZ_AVRO_NULL || (kind == FZ_AVRO_FIXED && size == 0);
    *least = nothing ? 0 : codes[kind] == FZ_AVRO_OP_SKIP_SIZE ? size : 1;
    if (nothing && v->form == FZ_AVRO_FORM_PLAIN) {
        return FZ_OK; // takes no bytes
    }
    uint32_t at = emit(c, (fz_avro_opcode)codes[kind], v);
    op_at(c, at)->size = size;
    return FZ_OK;
}

// --- scalars ---

static fz_code compile_json(compiler *c, const value *v, uint32_t *least) {
    if (v->target->type.kind != FZ_TYPE_STRING) {
        return incompatible(c, v);
    }
    uint32_t at = emit(c, FZ_AVRO_OP_JSON, v);
    op_at(c, at)->as.type = v->type;
    *least = 0;
    return FZ_OK;
}

static fz_code compile_scalar(compiler *c, const value *v, uint32_t *least) {
    if (!v->target) {
        return skip_scalar(c, v, least);
    }
    const fz_avro_type *type = v->type;
    fz_avro_opcode code = fz_avro_plan_scalar(type, &v->shape->type, &v->target->type);
    if (code == FZ_AVRO_OP_END) {
        return incompatible(c, v);
    }
    fz_avro_op *op = op_at(c, emit(c, code, v));
    *least = 1;
    if (type->kind == FZ_AVRO_FIXED) {
        op->size = (uint32_t)type->size;
        *least = op->size;
    } else if (type->kind == FZ_AVRO_FLOAT || type->kind == FZ_AVRO_DOUBLE) {
        *least = type->kind == FZ_AVRO_FLOAT ? 4 : 8;
    } else if (type->kind == FZ_AVRO_ENUM) {
        op->size = (uint32_t)type->symbol_count;
        op->as.symbols = type->symbols;
    }
    if (type->logical == FZ_AVRO_LOGICAL_DECIMAL) {
        op->digits = (uint8_t)type->precision;
        op->as.bound =
            type->precision > 18 ? INT64_MAX : (int64_t)fz_decimal_power((int)type->precision);
    }
    return FZ_OK;
}

// --- collections ---

static fz_code compile_item(compiler *c, const fz_avro_type *type, const value *parent,
                            size_t index, fz_str step, uint32_t *least) {
    size_t path = path_push(c, step);
    value v = {.type = type, .form = FZ_AVRO_FORM_PLAIN, .column = (uint32_t)index};
    if (parent->target) {
        v.shape = &parent->shape->type.fields[index];
        v.target = &parent->target->type.fields[index];
    }
    fz_code code = compile_value(c, v, least);
    c->path.size = path;
    return code;
}

// An array of key-value records as a map: the entry's fields in the order in which they are
// written.
static fz_code compile_entry(compiler *c, const value *v, uint32_t *least) {
    const fz_avro_type *entry = v->type->item;
    *least = 0;
    for (size_t i = 0; i < entry->field_count; i++) {
        uint32_t part = 0;
        size_t index = fz_str_equal(entry->fields[i].name, FZ_STR("key")) ? 0 : 1;
        FZ_TRY(compile_item(c, entry->fields[i].type, v, index, entry->fields[i].name, &part));
        *least = add_least(*least, part);
    }
    return FZ_OK;
}

static fz_code compile_map_entry(compiler *c, const value *v, uint32_t *least) {
    static const fz_avro_type key = {.kind = FZ_AVRO_STRING};
    uint32_t part = 0;
    FZ_TRY(compile_item(c, &key, v, 0, FZ_STR("key"), least));
    FZ_TRY(compile_item(c, v->type->item, v, 1, FZ_STR("value"), &part));
    *least = add_least(*least, part);
    return FZ_OK;
}

static fz_code compile_collection(compiler *c, const value *v, uint32_t *least) {
    bool entries = false;
    if (v->target) {
        fz_type_kind kind = v->shape->type.kind;
        if (kind != v->target->type.kind || (kind != FZ_TYPE_LIST && kind != FZ_TYPE_MAP)) {
            return incompatible(c, v);
        }
        entries = v->type->kind == FZ_AVRO_ARRAY && kind == FZ_TYPE_MAP;
    }
    bool map = v->target && v->target->type.kind == FZ_TYPE_MAP;
    uint32_t at = emit(c, map ? FZ_AVRO_OP_MAP : FZ_AVRO_OP_ARRAY, v);
    enter(c);
    uint32_t size = 0;
    size_t body = c->plan->ops.count;
    if (entries) {
        FZ_TRY(compile_entry(c, v, &size));
    } else if (v->type->kind == FZ_AVRO_MAP) {
        FZ_TRY(compile_map_entry(c, v, &size));
    } else {
        FZ_TRY(compile_item(c, v->type->item, v, 0, FZ_STR("element"), &size));
    }
    // 0 bytes and no ops: items of nothing, counted but not visited.
    op_at(c, at)->size = size == 0 && c->plan->ops.count > body ? 1 : size;
    emit(c, FZ_AVRO_OP_ITEM_END, v);
    c->plan->ops.data[c->plan->ops.count - 1].form = FZ_AVRO_FORM_PLAIN;
    c->frames--;
    close_op(c, at);
    *least = 1;
    return FZ_OK;
}

// --- unions ---

static fz_code compile_branches(compiler *c, const value *v, uint32_t at) {
    const fz_avro_type *type = v->type;
    uint32_t *branches = FZ_ARENA_ARRAY(&c->plan->arena, uint32_t, type->branch_count);
    uint32_t *ends = FZ_ARENA_ARRAY(&c->plan->arena, uint32_t, type->branch_count);
    size_t next = 0;
    for (size_t i = 0; i < type->branch_count; i++) {
        if (type->branches[i]->kind == FZ_AVRO_NULL) {
            branches[i] = FZ_AVRO_NULL_BRANCH;
            continue;
        }
        branches[i] = (uint32_t)c->plan->ops.count;
        value branch = {.type = type->branches[i], .form = FZ_AVRO_FORM_PLAIN};
        if (v->target) {
            branch.shape = fz_shape_find_origin(&v->shape->type, i, &next);
            branch.target = fz_shape_find_target(&v->target->type, branch.shape, &branch.column);
        }
        fz_str step = branch.shape ? branch.shape->name
                                   : fz_str_from(fz_avro_kind_name(type->branches[i]->kind));
        size_t path = path_push(c, step);
        uint32_t least = 0;
        FZ_TRY(compile_value(c, branch, &least));
        c->path.size = path;
        ends[i] = emit(c, FZ_AVRO_OP_BRANCH_END, NULL);
        op_at(c, ends[i])->column = v->target ? v->column : FZ_AVRO_NO_COLUMN;
    }
    close_op(c, at);
    for (size_t i = 0; i < type->branch_count; i++) {
        if (branches[i] != FZ_AVRO_NULL_BRANCH) {
            close_op(c, ends[i]);
        }
    }
    op_at(c, at)->as.branches = branches;
    op_at(c, at)->size = (uint32_t)type->branch_count;
    return FZ_OK;
}

static fz_code compile_union(compiler *c, value v, uint32_t *least) {
    const fz_avro_type *type = v.type;
    const fz_avro_type *single = fz_avro_type_nullable(type);
    bool as_struct = v.shape && (v.shape->origin & FZ_AVRO_ORIGIN_UNION) != 0;
    if (!as_struct && (single || type->branch_count == 1)) {
        v.form = !single ? FZ_AVRO_FORM_SINGLE : type->branches[0]->kind == FZ_AVRO_NULL ? 0 : 1;
        v.type = single ? single : type->branches[0];
        uint32_t inner = 0;
        FZ_TRY(compile_value(c, v, &inner));
        *least = single ? 1 : add_least(inner, 1);
        return FZ_OK;
    }
    if (v.target && (v.target->type.kind != FZ_TYPE_STRUCT || !as_struct)) {
        return incompatible(c, &v);
    }
    uint32_t at = emit(c, FZ_AVRO_OP_UNION, &v);
    enter(c);
    FZ_TRY(compile_branches(c, &v, at));
    c->frames--;
    *least = 1;
    return FZ_OK;
}

// --- records ---

static fz_code compile_record(compiler *c, const value *v, uint32_t *least) {
    if (!v->target) {
        return skip_record(c, v, least);
    }
    if (v->target->type.kind != FZ_TYPE_STRUCT || v->shape->type.kind != FZ_TYPE_STRUCT) {
        return incompatible(c, v);
    }
    uint32_t at = emit(c, FZ_AVRO_OP_STRUCT, v);
    enter(c);
    FZ_TRY(compile_struct_fields(c, v->type, &v->shape->type, &v->target->type, NULL, least));
    uint32_t last = emit(c, FZ_AVRO_OP_STRUCT_END, v);
    op_at(c, last)->form = FZ_AVRO_FORM_PLAIN;
    c->frames--;
    close_op(c, at);
    return FZ_OK;
}

static fz_code compile_fill(compiler *c, const fz_field *target, size_t column) {
    value v = {.target = target, .column = (uint32_t)column, .form = FZ_AVRO_FORM_PLAIN};
    size_t path = path_push(c, target->name);
    fz_value *fill = FZ_ARENA_NEW(&c->plan->arena, fz_value);
    FZ_TRY(fz_fill_value(target, fz_buf_view(&c->path), &c->plan->arena, fill, c->err));
    fill = fill->is_null ? NULL : fill;
    op_at(c, emit(c, FZ_AVRO_OP_FILL, &v))->as.fill = fill;
    c->path.size = path;
    return FZ_OK;
}

// Ops of a record's fields in the order in which they are written, then of columns without a
// source.
static fz_code compile_struct_fields(compiler *c, const fz_avro_type *record, const fz_type *shape,
                                     const fz_type *target, const bool *owned, uint32_t *least) {
    size_t columns = target ? target->field_count : 0;
    bool *filled = (bool *)fz_calloc(columns + 1, sizeof(bool));
    fz_code code = FZ_OK;
    size_t next = 0; // the shape's fields are mostly in the record's order
    *least = 0;
    for (size_t i = 0; i < record->field_count && code == FZ_OK; i++) {
        value v = {.type = record->fields[i].type, .form = FZ_AVRO_FORM_PLAIN};
        v.shape = shape ? fz_shape_find_origin(shape, i, &next) : NULL;
        if (v.shape) {
            v.target = fz_shape_find_target(target, v.shape, &v.column);
            if (v.target && owned && !owned[v.column]) {
                v.target = NULL;
            }
        }
        if (v.target && filled[v.column]) {
            code = fz_err_set(c->err, FZ_INTERNAL, "two fields are bound to column \"%.*s\"",
                              FZ_STR_ARGS(v.target->name));
            break;
        }
        if (v.target) {
            filled[v.column] = true;
        }
        size_t path = path_push(c, record->fields[i].name);
        uint32_t part = 0;
        code = compile_value(c, v, &part);
        *least = add_least(*least, part);
        c->path.size = code == FZ_OK ? path : c->path.size;
    }
    for (size_t i = 0; i < columns && code == FZ_OK; i++) {
        if (!filled[i] && (!owned || owned[i])) {
            code = compile_fill(c, &target->fields[i], i);
        }
    }
    fz_free(filled);
    return code;
}

static fz_code compile_value(compiler *c, value v, uint32_t *least) {
    if (++c->visits > MAX_VISITS || c->plan->ops.count > MAX_OPS) {
        return fz_err_set_kind(c->err, FZ_UNSUPPORTED, "unsupported_type",
                               "the schema spells out to more than %d steps", MAX_OPS);
    }
    if (!v.target) {
        v.shape = NULL;
    }
    if (v.shape && (v.shape->origin & FZ_AVRO_ORIGIN_JSON) && v.type->kind == FZ_AVRO_RECORD) {
        return compile_json(c, &v, least);
    }
    switch (v.type->kind) {
    case FZ_AVRO_RECORD:
        return compile_record(c, &v, least);
    case FZ_AVRO_ARRAY:
    case FZ_AVRO_MAP:
        return compile_collection(c, &v, least);
    case FZ_AVRO_UNION:
        return compile_union(c, v, least);
    default:
        return compile_scalar(c, &v, least);
    }
}

// Columns of the root: those of a record, or one that holds the whole value.
static fz_code compile_columns(compiler *c, const fz_avro_type *root, const fz_type *shape,
                               const fz_type *target, const bool *owned) {
    const fz_avro_type *record = root;
    bool whole = shape->field_count == 1 && (shape->fields[0].origin & FZ_SHAPE_ORIGIN_ROOT) != 0;
    uint32_t least = 0;
    if (root->kind == FZ_AVRO_UNION && root->branch_count == 1 && !whole &&
        root->branches[0]->kind == FZ_AVRO_RECORD) {
        value v = {.form = FZ_AVRO_FORM_SINGLE};
        emit(c, FZ_AVRO_OP_GROUP, &v);
        record = root->branches[0];
    }
    if (record->kind == FZ_AVRO_RECORD) {
        return compile_struct_fields(c, record, shape, target, owned, &least);
    }
    // One column `value`: as a record of one field would be.
    fz_avro_field field = {.name = FZ_STR("value"), .type = root};
    fz_avro_type wrapper = {.kind = FZ_AVRO_RECORD, .fields = &field, .field_count = 1};
    return compile_struct_fields(c, &wrapper, shape, target, owned, &least);
}

// All columns below one struct of the table that no source field stands for: key.mode: struct.
static fz_code compile_wrapped(compiler *c, const fz_avro_type *root, const fz_field *shape,
                               const fz_type *target, const bool *owned) {
    value v = {.form = FZ_AVRO_FORM_PLAIN, .shape = shape};
    v.target = fz_shape_find_target(target, shape, &v.column);
    if (!v.target || !owned[v.column]) {
        return fz_err_set(c->err, FZ_INVALID, "no column of the decoder for the struct \"%.*s\"",
                          FZ_STR_ARGS(shape->name));
    }
    if (v.target->type.kind != FZ_TYPE_STRUCT) {
        return incompatible(c, &v);
    }
    emit(c, FZ_AVRO_OP_STRUCT, &v);
    enter(c);
    FZ_TRY(compile_columns(c, root, &shape->type, &v.target->type, NULL));
    emit(c, FZ_AVRO_OP_STRUCT_END, &v);
    c->frames--;
    for (size_t i = 0; i < target->field_count; i++) {
        if (i != v.column && owned[i]) {
            FZ_TRY(compile_fill(c, &target->fields[i], i));
        }
    }
    return FZ_OK;
}

fz_code fz_avro_plan_compile(fz_avro_plan *plan, const fz_avro_type *root, const fz_schema *shape,
                             const fz_schema *target, const bool *owned, fz_err *err) {
    compiler c = {.plan = plan, .err = err};
    plan->column_count = target->root.field_count;
    const fz_field *first = shape->root.field_count == 1 ? &shape->root.fields[0] : NULL;
    fz_code code = first && first->origin == FZ_SHAPE_ORIGIN_NONE
                       ? compile_wrapped(&c, root, first, &target->root, owned)
                       : compile_columns(&c, root, &shape->root, &target->root, owned);
    emit(&c, FZ_AVRO_OP_END, NULL);
    fz_vec_deinit(&c.above);
    fz_buf_deinit(&c.path);
    return code;
}
