// SPDX-License-Identifier: Apache-2.0
// Cutting a schema down to chosen columns.
#include "table/scan/projection.h"

#include "base/memory.h"

typedef struct chosen_ids {
    const int32_t *ids;
    size_t count;
} chosen_ids;

static bool chosen(const chosen_ids *choice, int32_t id) {
    for (size_t i = 0; i < choice->count; i++) {
        if (choice->ids[i] == id) {
            return true;
        }
    }
    return false;
}

// The field if it is chosen, what is chosen below it else; false if nothing is.
static bool cut_field(fz_arena *arena, const fz_field *field, const chosen_ids *choice,
                      fz_field *out) {
    if (chosen(choice, field->id)) {
        fz_field_copy(arena, field, out);
        return true;
    }
    const fz_type *type = &field->type;
    if (!type->field_count) {
        return false;
    }
    fz_field *kept = FZ_ARENA_ARRAY(arena, fz_field, type->field_count);
    size_t count = 0;
    if (type->kind == FZ_TYPE_MAP) {
        // A map's key is never left out, nor is its value: half a map is none.
        fz_field part;
        bool key = cut_field(arena, &type->fields[0], choice, &part);
        bool value = cut_field(arena, &type->fields[1], choice, &kept[1]);
        if (!key && !value) {
            return false;
        }
        fz_field_copy(arena, &type->fields[0], &kept[0]);
        if (!value) {
            fz_field_copy(arena, &type->fields[1], &kept[1]);
        }
        count = 2;
    } else {
        for (size_t i = 0; i < type->field_count; i++) {
            count += cut_field(arena, &type->fields[i], choice, &kept[count]);
        }
    }
    if (!count) {
        return false;
    }
    fz_field shell = *field;
    shell.type.fields = NULL;
    shell.type.field_count = 0;
    fz_field_copy(arena, &shell, out);
    out->type.fields = kept;
    out->type.field_count = count;
    return true;
}

// Index of the top-level column that holds the field.
static size_t top_of(const fz_schema *table, const fz_field *field) {
    for (size_t i = 0; i < table->root.field_count; i++) {
        const fz_field *top = &table->root.fields[i];
        fz_schema below = {.root = top->type};
        if (top->id == field->id || fz_schema_find_id(&below, field->id)) {
            return i;
        }
    }
    return table->root.field_count;
}

fz_code fz_scan_projection(fz_schema *table, const fz_str *columns, size_t count, fz_schema **out,
                           fz_err *err) {
    if (!columns) {
        *out = fz_schema_ref(table);
        return FZ_OK;
    }
    fz_schema *schema = fz_schema_new();
    int32_t *ids = FZ_ARENA_ARRAY(&schema->arena, int32_t, count);
    bool *taken = FZ_ARENA_ARRAY(&schema->arena, bool, table->root.field_count + 1);
    size_t *order = FZ_ARENA_ARRAY(&schema->arena, size_t, count);
    size_t tops = 0;
    for (size_t i = 0; i < count; i++) {
        const fz_field *field = fz_schema_find_path(table, columns[i]);
        if (!field) {
            fz_schema_unref(schema);
            return fz_err_set(err, FZ_NOT_FOUND, "the table has no column \"%.*s\"",
                              FZ_STR_ARGS(columns[i]));
        }
        ids[i] = field->id;
        size_t top = top_of(table, field);
        if (!taken[top]) {
            taken[top] = true;
            order[tops++] = top;
        }
    }
    const chosen_ids choice = {ids, count};
    schema->schema_id = table->schema_id;
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, tops);
    schema->root.field_count = tops;
    for (size_t i = 0; i < tops; i++) {
        (void)cut_field(&schema->arena, &table->root.fields[order[i]], &choice,
                        &schema->root.fields[i]);
    }
    fz_schema_finish(schema);
    *out = schema;
    return FZ_OK;
}
