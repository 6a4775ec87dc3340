// SPDX-License-Identifier: Apache-2.0
// Unions and intersections of types.
#include "format/json/merge.h"

#include "format/json/writer.h"

#define MAX_MERGE_DEPTH 200

static fz_json_type *merge(fz_arena *arena, fz_json_type *a, fz_json_type *b, unsigned depth);

fz_json_type *fz_json_union(fz_arena *arena, fz_json_type **branches, size_t count) {
    fz_json_field *fields = FZ_ARENA_ARRAY(arena, fz_json_field, count);
    size_t used = 0;
    bool nullable = false;
    for (size_t i = 0; i < count; i++) {
        nullable = nullable || branches[i]->nullable;
        if (branches[i]->kind == FZ_JSON_NULL) {
            continue;
        }
        fields[used] = (fz_json_field){.type = branches[i], .order = INT64_MAX};
        fields[used].name = fz_arena_printf(arena, "connect_union_field_%zu", used);
        used++;
    }
    fz_json_type *type = used == 1 ? fields[0].type : fz_json_type_new(arena, FZ_JSON_UNION);
    if (used == 0) {
        type->kind = FZ_JSON_NULL;
    } else if (used > 1) {
        type->fields = fields;
        type->field_count = used;
    }
    type->nullable = nullable || used == 0;
    return type;
}

static fz_json_field *find_field(fz_json_type *type, fz_str name) {
    for (size_t i = 0; i < type->field_count; i++) {
        if (fz_str_equal(type->fields[i].name, name)) {
            return &type->fields[i];
        }
    }
    return NULL;
}

// The fields of `b` join those of `a`; `optional`: they need not be there.
static void join_fields(fz_arena *arena, fz_json_type *a, fz_json_type *b, bool optional,
                        unsigned depth) {
    fz_json_field *fields = FZ_ARENA_ARRAY(arena, fz_json_field, a->field_count + b->field_count);
    memcpy(fields, a->fields, a->field_count * sizeof(*fields));
    a->fields = fields;
    for (size_t i = 0; i < b->field_count; i++) {
        fz_json_field *same = find_field(a, b->fields[i].name);
        if (same) {
            same->type = merge(arena, same->type, b->fields[i].type, depth + 1);
            same->required = same->required || (b->fields[i].required && !optional);
            continue;
        }
        a->fields[a->field_count] = b->fields[i];
        a->fields[a->field_count].required = b->fields[i].required && !optional;
        a->field_count++;
    }
}

static bool is_text(fz_json_kind kind) {
    return (kind >= FZ_JSON_STRING && kind <= FZ_JSON_UUID) && kind != FZ_JSON_SCALAR_TEXT;
}

static fz_json_type *merge_kinds(fz_arena *arena, fz_json_type *a, fz_json_type *b,
                                 unsigned depth) {
    if (a->kind == FZ_JSON_ANY) {
        return b;
    }
    if (b->kind == FZ_JSON_ANY) {
        return a;
    }
    if (b->kind == FZ_JSON_OBJECT && (a->kind == FZ_JSON_MAP || a->kind == FZ_JSON_UNION)) {
        fz_json_type *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind == FZ_JSON_OBJECT && b->kind == FZ_JSON_OBJECT) {
        join_fields(arena, a, b, false, depth);
    } else if (a->kind == FZ_JSON_OBJECT && b->kind == FZ_JSON_UNION) {
        for (size_t i = 0; i < b->field_count; i++) {
            if (b->fields[i].type->kind == FZ_JSON_OBJECT) {
                join_fields(arena, a, b->fields[i].type, true, depth);
            }
        }
    } else if (a->kind == FZ_JSON_ARRAY && b->kind == FZ_JSON_ARRAY) {
        a->item = merge(arena, a->item, b->item, depth + 1);
    } else if ((a->kind == FZ_JSON_NUMBER && b->kind == FZ_JSON_INTEGER) ||
               (a->kind == FZ_JSON_STRING && is_text(b->kind))) {
        return b;
    }
    return a;
}

static fz_json_type *merge(fz_arena *arena, fz_json_type *a, fz_json_type *b, unsigned depth) {
    if (depth > MAX_MERGE_DEPTH) {
        return a;
    }
    bool nullable = a->nullable && b->nullable;
    fz_json_type *type = merge_kinds(arena, a, b, depth);
    type->nullable = nullable;
    if (!type->values && type->kind != FZ_JSON_UNION) {
        const fz_json_type *other = type == a ? b : a;
        type->values = other->values;
        type->value_count = other->value_count;
    }
    return type;
}

fz_json_type *fz_json_merge(fz_arena *arena, fz_json_type *a, fz_json_type *b) {
    return merge(arena, a, b, 0);
}
