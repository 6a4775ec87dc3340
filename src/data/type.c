// SPDX-License-Identifier: Apache-2.0
// Types, fields and schemas: making, copying, comparing, finding.
#include "data/type.h"

#include <stdatomic.h>

#include "base/memory.h"

fz_schema *fz_schema_new(void) {
    fz_schema *schema = (fz_schema *)fz_calloc(1, sizeof(*schema));
    schema->root.kind = FZ_TYPE_STRUCT;
    atomic_init(&schema->references, 1);
    return schema;
}

fz_schema *fz_schema_ref(fz_schema *schema) {
    atomic_fetch_add(&schema->references, 1);
    return schema;
}

void fz_schema_unref(fz_schema *schema) {
    if (schema && atomic_fetch_sub(&schema->references, 1) == 1) {
        fz_arena_deinit(&schema->arena);
        fz_free(schema);
    }
}

static fz_str copy_str(fz_arena *arena, fz_str s) {
    return s.size ? fz_arena_str(arena, s) : (fz_str){0};
}

fz_type fz_type_copy(fz_arena *arena, const fz_type *type) {
    fz_type copy = *type;
    copy.fields = NULL;
    if (type->field_count) {
        copy.fields = FZ_ARENA_ARRAY(arena, fz_field, type->field_count);
        for (size_t i = 0; i < type->field_count; i++) {
            fz_field_copy(arena, &type->fields[i], &copy.fields[i]);
        }
    }
    return copy;
}

void fz_field_copy(fz_arena *arena, const fz_field *from, fz_field *to) {
    fz_field copy = *from;
    copy.name = copy_str(arena, from->name);
    copy.doc = copy_str(arena, from->doc);
    copy.initial_default = copy_str(arena, from->initial_default);
    copy.write_default = copy_str(arena, from->write_default);
    copy.identity = copy_str(arena, from->identity);
    copy.aliases = NULL;
    if (from->alias_count) {
        fz_str *aliases = FZ_ARENA_ARRAY(arena, fz_str, from->alias_count);
        for (size_t i = 0; i < from->alias_count; i++) {
            aliases[i] = copy_str(arena, from->aliases[i]);
        }
        copy.aliases = aliases;
    }
    copy.type = fz_type_copy(arena, &from->type);
    *to = copy;
}

void fz_type_assign_ids(fz_type *type, int32_t *last) {
    for (size_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].id == 0) {
            type->fields[i].id = ++*last;
        }
    }
    for (size_t i = 0; i < type->field_count; i++) {
        fz_type_assign_ids(&type->fields[i].type, last);
    }
}

static int32_t highest_id(const fz_type *type) {
    int32_t highest = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        int32_t below = highest_id(&field->type);
        highest = field->id > highest ? field->id : highest;
        highest = below > highest ? below : highest;
    }
    return highest;
}

void fz_schema_finish(fz_schema *schema) {
    schema->highest_id = highest_id(&schema->root);
}

bool fz_type_equal(const fz_type *a, const fz_type *b) {
    if (a->kind != b->kind || a->field_count != b->field_count) {
        return false;
    }
    if (a->kind == FZ_TYPE_DECIMAL && (a->precision != b->precision || a->scale != b->scale)) {
        return false;
    }
    if (a->kind == FZ_TYPE_FIXED && a->length != b->length) {
        return false;
    }
    for (size_t i = 0; i < a->field_count; i++) {
        const fz_field *x = &a->fields[i];
        const fz_field *y = &b->fields[i];
        if (x->id != y->id || x->required != y->required || !fz_str_equal(x->name, y->name) ||
            !fz_type_equal(&x->type, &y->type)) {
            return false;
        }
    }
    return true;
}

static const char *const kind_names[] = {
    [FZ_TYPE_BOOLEAN] = "boolean",
    [FZ_TYPE_INT] = "int",
    [FZ_TYPE_LONG] = "long",
    [FZ_TYPE_FLOAT] = "float",
    [FZ_TYPE_DOUBLE] = "double",
    [FZ_TYPE_DECIMAL] = "decimal",
    [FZ_TYPE_DATE] = "date",
    [FZ_TYPE_TIME] = "time",
    [FZ_TYPE_TIMESTAMP] = "timestamp",
    [FZ_TYPE_TIMESTAMPTZ] = "timestamptz",
    [FZ_TYPE_TIMESTAMP_NS] = "timestamp_ns",
    [FZ_TYPE_TIMESTAMPTZ_NS] = "timestamptz_ns",
    [FZ_TYPE_STRING] = "string",
    [FZ_TYPE_UUID] = "uuid",
    [FZ_TYPE_FIXED] = "fixed",
    [FZ_TYPE_BINARY] = "binary",
    [FZ_TYPE_STRUCT] = "struct",
    [FZ_TYPE_LIST] = "list",
    [FZ_TYPE_MAP] = "map",
};

const char *fz_type_kind_name(fz_type_kind kind) {
    FZ_ASSERT((size_t)kind < FZ_COUNT(kind_names));
    return kind_names[kind];
}

void fz_type_format(const fz_type *type, fz_buf *out) {
    fz_buf_append_str(out, fz_str_from(fz_type_kind_name(type->kind)));
    if (type->kind == FZ_TYPE_DECIMAL) {
        fz_buf_printf(out, "(%d, %d)", type->precision, type->scale);
    } else if (type->kind == FZ_TYPE_FIXED) {
        fz_buf_printf(out, "[%d]", type->length);
    } else if (fz_type_is_nested(type)) {
        fz_buf_append_byte(out, '<');
        for (size_t i = 0; i < type->field_count; i++) {
            const fz_field *field = &type->fields[i];
            fz_buf_append_str(out, i ? FZ_STR(", ") : FZ_STR(""));
            if (type->kind == FZ_TYPE_STRUCT) {
                fz_buf_append_str(out, field->name);
                fz_buf_append_str(out, FZ_STR(": "));
            }
            fz_type_format(&field->type, out);
            bool key = type->kind == FZ_TYPE_MAP && i == 0; // a key is required anyway
            fz_buf_append_str(out, field->required && !key ? FZ_STR(" not null") : FZ_STR(""));
        }
        fz_buf_append_byte(out, '>');
    }
}

const fz_field *fz_type_find(const fz_type *type, fz_str name) {
    for (size_t i = 0; i < type->field_count; i++) {
        if (fz_str_equal(type->fields[i].name, name)) {
            return &type->fields[i];
        }
    }
    return NULL;
}

static const fz_field *find_id(const fz_type *type, int32_t id) {
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        const fz_field *found = field->id == id ? field : find_id(&field->type, id);
        if (found) {
            return found;
        }
    }
    return NULL;
}

const fz_field *fz_schema_find_id(const fz_schema *schema, int32_t id) {
    return find_id(&schema->root, id);
}

// Path of `id` below `type` appended to `out`; what was tried in vain is cut off again.
static bool append_path(const fz_type *type, int32_t id, fz_buf *out) {
    size_t before = out->size;
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        fz_buf_append_str(out, field->name);
        if (field->id == id) {
            return true;
        }
        if (field->type.field_count) {
            fz_buf_append_byte(out, '.');
            if (append_path(&field->type, id, out)) {
                return true;
            }
        }
        if (!out->failed) {
            out->size = before;
        }
    }
    return false;
}

void fz_schema_path(const fz_schema *schema, int32_t id, fz_buf *out) {
    append_path(&schema->root, id, out);
}

static const fz_field *find_path(const fz_type *type, fz_str path) {
    const fz_field *whole = fz_type_find(type, path);
    if (whole) {
        return whole;
    }
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        size_t size = field->name.size;
        if (field->type.field_count && size < path.size && path.data[size] == '.' &&
            fz_str_starts_with(path, field->name)) {
            const fz_field *found =
                find_path(&field->type, fz_str_slice(path, size + 1, path.size));
            if (found) {
                return found;
            }
        }
    }
    return NULL;
}

const fz_field *fz_schema_find_path(const fz_schema *schema, fz_str path) {
    return find_path(&schema->root, path);
}
