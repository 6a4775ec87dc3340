// SPDX-License-Identifier: Apache-2.0
// The schema of a file as types go: lists and maps of all the shapes that writers gave them, leaves
// and their levels.
#include "format/parquet/metadata.h"

#include "base/text/json.h"

enum { LEVEL_MAX = 255 };

/** Where the walk over the elements is. */
typedef struct walk {
    fz_parquet_metadata *m;
    const fz_parquet_limits *limits;
    size_t next; // element
    fz_err *err;
} walk;

/** Levels around a value. */
typedef struct levels {
    int def;      // the parent is there
    int slot_def; // the innermost list has an item
    int rep;
} levels;

static fz_code malformed(walk *w, const fz_parquet_element *e) {
    return fz_err_set_kind(w->err, FZ_CORRUPT, "malformed", "parquet column \"%.*s\" is malformed",
                           FZ_STR_ARGS(e->name));
}

static bool is_list(const fz_parquet_element *e) {
    return e->logical == FZ_PARQUET_LOGICAL_LIST ||
           (!e->logical && e->converted == FZ_PARQUET_CONVERTED_LIST);
}

static bool is_map(const fz_parquet_element *e) {
    return e->logical == FZ_PARQUET_LOGICAL_MAP ||
           (!e->logical && (e->converted == FZ_PARQUET_CONVERTED_MAP ||
                            e->converted == FZ_PARQUET_CONVERTED_MAP_KEY_VALUE));
}

static bool set_time_type(const fz_parquet_element *e, fz_type *type) {
    bool utc = e->logical ? e->utc : true; // a converted type alone means UTC
    bool nanos = e->logical && e->unit == FZ_PARQUET_UNIT_NANOS;
    if (e->logical == FZ_PARQUET_LOGICAL_TIME || e->converted == FZ_PARQUET_CONVERTED_TIME_MICROS ||
        e->converted == FZ_PARQUET_CONVERTED_TIME_MILLIS) {
        type->kind = FZ_TYPE_TIME;
    } else if (e->logical == FZ_PARQUET_LOGICAL_TIMESTAMP ||
               e->converted == FZ_PARQUET_CONVERTED_TIMESTAMP_MICROS ||
               e->converted == FZ_PARQUET_CONVERTED_TIMESTAMP_MILLIS) {
        type->kind = nanos ? (utc ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS)
                           : (utc ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP);
    } else {
        return false;
    }
    return !e->logical || (e->unit >= FZ_PARQUET_UNIT_MILLIS && e->unit <= FZ_PARQUET_UNIT_NANOS);
}

static bool set_decimal_type(const fz_parquet_element *e, fz_type *type) {
    *type = (fz_type){.kind = FZ_TYPE_DECIMAL, .precision = e->precision, .scale = e->scale};
    return e->precision >= 1 && e->precision <= 38 && e->scale >= 0 && e->scale <= e->precision;
}

/** The type of a leaf; false if it cannot be read. */
static bool set_type(const fz_parquet_element *e, fz_type *type) {
    *type = (fz_type){0};
    bool decimal = e->logical == FZ_PARQUET_LOGICAL_DECIMAL ||
                   (!e->logical && e->converted == FZ_PARQUET_CONVERTED_DECIMAL);
    switch (e->physical) {
    case FZ_PARQUET_BOOLEAN:
        type->kind = FZ_TYPE_BOOLEAN;
        return true;
    case FZ_PARQUET_INT32:
        if (decimal) {
            return set_decimal_type(e, type);
        }
        if (set_time_type(e, type)) {
            return type->kind == FZ_TYPE_TIME;
        }
        type->kind =
            e->logical == FZ_PARQUET_LOGICAL_DATE || e->converted == FZ_PARQUET_CONVERTED_DATE
                ? FZ_TYPE_DATE
            : (e->logical == FZ_PARQUET_LOGICAL_INTEGER && !e->is_signed && e->bits == 32) ||
                    e->converted == FZ_PARQUET_CONVERTED_UINT_32
                ? FZ_TYPE_LONG
                : FZ_TYPE_INT;
        return true;
    case FZ_PARQUET_INT64:
        if (decimal) {
            return set_decimal_type(e, type);
        }
        if (set_time_type(e, type)) {
            return true;
        }
        type->kind = FZ_TYPE_LONG;
        if ((e->logical == FZ_PARQUET_LOGICAL_INTEGER && !e->is_signed) ||
            e->converted == FZ_PARQUET_CONVERTED_UINT_64) {
            *type = (fz_type){.kind = FZ_TYPE_DECIMAL, .precision = 20};
        }
        return true;
    case FZ_PARQUET_INT96:
        type->kind = FZ_TYPE_TIMESTAMPTZ;
        return true;
    case FZ_PARQUET_FLOAT:
        type->kind = FZ_TYPE_FLOAT;
        return true;
    case FZ_PARQUET_DOUBLE:
        type->kind = FZ_TYPE_DOUBLE;
        return true;
    case FZ_PARQUET_BYTE_ARRAY:
        if (decimal) {
            return set_decimal_type(e, type);
        }
        type->kind = e->logical == FZ_PARQUET_LOGICAL_STRING ||
                             e->logical == FZ_PARQUET_LOGICAL_ENUM ||
                             e->logical == FZ_PARQUET_LOGICAL_JSON ||
                             e->converted == FZ_PARQUET_CONVERTED_UTF8 ||
                             e->converted == FZ_PARQUET_CONVERTED_ENUM ||
                             e->converted == FZ_PARQUET_CONVERTED_JSON
                         ? FZ_TYPE_STRING
                         : FZ_TYPE_BINARY;
        return true;
    default:
        if (decimal) {
            return e->type_length > 0 && set_decimal_type(e, type);
        }
        if (e->logical == FZ_PARQUET_LOGICAL_UUID && e->type_length == 16) {
            type->kind = FZ_TYPE_UUID;
            return true;
        }
        if (e->logical == FZ_PARQUET_LOGICAL_FLOAT16 && e->type_length == 2) {
            type->kind = FZ_TYPE_FLOAT;
            return true;
        }
        *type = (fz_type){.kind = FZ_TYPE_FIXED, .length = e->type_length};
        return e->type_length > 0 && e->converted != FZ_PARQUET_CONVERTED_INTERVAL;
    }
}

static fz_code add_leaf(walk *w, const fz_parquet_element *e, int def, int rep,
                        fz_parquet_view *view) {
    view->readable = set_type(e, &view->type);
    view->kind = view->type.kind;
    view->element = e;
    view->leaf = (int)w->m->leaf_count;
    w->m->leaves[w->m->leaf_count++] = (fz_parquet_leaf_meta){e, (uint8_t)def, (uint8_t)rep};
    return FZ_OK;
}

static fz_code build(walk *w, levels around, int depth, bool as_item, fz_parquet_view *view);

static fz_code build_children(walk *w, const fz_parquet_element *e, levels inside, int depth,
                              fz_parquet_view *view) {
    if ((size_t)e->child_count > w->m->element_count - w->next) {
        return malformed(w, e);
    }
    view->kind = FZ_TYPE_STRUCT;
    view->leaf = (int)w->m->leaf_count;
    view->child_count = (size_t)e->child_count;
    view->children = FZ_ARENA_ARRAY(&w->m->arena, fz_parquet_view, view->child_count);
    for (size_t i = 0; i < view->child_count; i++) {
        FZ_TRY(build(w, inside, depth + 1, false, &view->children[i]));
    }
    // A group without leaves below has nothing that could tell whether it is there.
    view->readable = false;
    for (size_t i = 0; i < view->child_count; i++) {
        view->readable |= view->children[i].readable;
    }
    return FZ_OK;
}

/** LogicalTypes.md, "Backward-compatibility rules": is the repeated group itself the list's
 * element? */
static bool is_element(const fz_parquet_element *list, const fz_parquet_element *repeated,
                       const fz_parquet_element *child) {
    if (repeated->physical >= 0 || repeated->child_count != 1 ||
        child->repetition == FZ_PARQUET_REPEATED) {
        return true;
    }
    fz_str name = repeated->name;
    if (fz_str_equal(name, FZ_STR("array"))) {
        return true;
    }
    return name.size == list->name.size + 6 && fz_str_starts_with(name, list->name) &&
           fz_str_ends_with(name, FZ_STR("_tuple"));
}

static void set_items(fz_parquet_view *view, fz_type_kind kind, int def, int rep, levels *inside) {
    view->kind = kind;
    view->readable = true;
    view->item_def = (uint8_t)(def + 1);
    *inside = (levels){def + 1, def + 1, rep + 1};
}

static fz_code build_list(walk *w, const fz_parquet_element *e, int def, int rep, int depth,
                          fz_parquet_view *view) {
    const fz_parquet_element *elements = w->m->elements;
    const fz_parquet_element *repeated = &elements[w->next];
    bool more = w->next + 1 < w->m->element_count;
    levels inside;
    set_items(view, FZ_TYPE_LIST, def, rep, &inside);
    view->leaf = (int)w->m->leaf_count;
    view->child_count = 1;
    view->children = FZ_ARENA_ARRAY(&w->m->arena, fz_parquet_view, 1);
    if (repeated->physical < 0 && repeated->child_count == 1 && !more) {
        return malformed(w, e);
    }
    if (is_element(e, repeated, repeated + 1)) {
        FZ_TRY(build(w, inside, depth + 1, true, &view->children[0]));
    } else {
        w->next++;
        FZ_TRY(build(w, inside, depth + 2, false, &view->children[0]));
    }
    view->readable = view->children[0].readable;
    return FZ_OK;
}

static fz_code build_map(walk *w, const fz_parquet_element *e, int def, int rep, int depth,
                         fz_parquet_view *view) {
    const fz_parquet_element *pair = &w->m->elements[w->next++];
    levels inside;
    set_items(view, FZ_TYPE_MAP, def, rep, &inside);
    if ((size_t)pair->child_count > w->m->element_count - w->next) {
        return malformed(w, e);
    }
    view->leaf = (int)w->m->leaf_count;
    view->child_count = 2;
    view->children = FZ_ARENA_ARRAY(&w->m->arena, fz_parquet_view, 2);
    FZ_TRY(build(w, inside, depth + 2, false, &view->children[0]));
    FZ_TRY(build(w, inside, depth + 2, false, &view->children[1]));
    view->readable = view->children[0].readable && view->children[1].readable;
    return FZ_OK;
}

/** Build the next element; as_item: it is a repeated one that a list is made of, so its repetition
 * is spoken for. */
static fz_code build(walk *w, levels around, int depth, bool as_item, fz_parquet_view *view) {
    if (w->next >= w->m->element_count || depth > w->limits->depth || around.def + 2 > LEVEL_MAX) {
        return fz_err_set_kind(w->err, depth > w->limits->depth ? FZ_LIMIT : FZ_CORRUPT,
                               "malformed", "the parquet schema is cut or nested too deeply");
    }
    const fz_parquet_element *e = &w->m->elements[w->next];
    bool repeated = e->repetition == FZ_PARQUET_REPEATED && !as_item;
    view->name = e->name;
    view->id = e->field_id;
    view->parent_def = (uint8_t)around.def;
    view->slot_def = (uint8_t)around.slot_def;
    view->slot_rep = (uint8_t)around.rep;
    w->m->has_ids |= e->field_id >= 0 && w->next > 0;
    if (repeated) { // a list that nobody calls one: always there, perhaps empty
        levels inside;
        set_items(view, FZ_TYPE_LIST, around.def, around.rep, &inside);
        view->def = (uint8_t)around.def;
        view->leaf = (int)w->m->leaf_count;
        view->child_count = 1;
        view->children = FZ_ARENA_ARRAY(&w->m->arena, fz_parquet_view, 1);
        FZ_TRY(build(w, inside, depth + 1, true, &view->children[0]));
        view->children[0].id = -1;
        view->readable = view->children[0].readable;
        return FZ_OK;
    }
    w->next++;
    view->optional = e->repetition == FZ_PARQUET_OPTIONAL;
    int def = around.def + view->optional;
    view->def = (uint8_t)def;
    if (e->physical >= 0) {
        return add_leaf(w, e, def, around.rep, view);
    }
    const fz_parquet_element *child =
        w->next < w->m->element_count ? &w->m->elements[w->next] : NULL;
    bool one = e->child_count == 1 && child && child->repetition == FZ_PARQUET_REPEATED;
    if (one && is_map(e) && child->physical < 0 && child->child_count == 2) {
        return build_map(w, e, def, around.rep, depth, view);
    }
    if (one && (is_list(e) || is_map(e))) {
        return build_list(w, e, def, around.rep, depth, view);
    }
    levels inside = {def, around.slot_def, around.rep};
    return build_children(w, e, inside, depth, view);
}

fz_code fz_parquet_view_build(fz_parquet_metadata *m, const fz_parquet_limits *limits,
                              fz_err *err) {
    walk w = {m, limits, 1, err};
    m->leaves = FZ_ARENA_ARRAY(&m->arena, fz_parquet_leaf_meta, m->element_count);
    if (m->element_count == 0) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "the parquet schema is empty");
    }
    m->root.id = -1;
    FZ_TRY(build_children(&w, &m->elements[0], (levels){0}, 0, &m->root));
    if (w.next != m->element_count) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "the parquet schema has %zu elements, %zu belong to the tree",
                               m->element_count, w.next);
    }
    return FZ_OK;
}

static void set_field(fz_arena *arena, const fz_parquet_view *view, bool ids, fz_field *field);

static void set_children(fz_arena *arena, const fz_parquet_view *view, bool ids, fz_type *type) {
    type->fields = FZ_ARENA_ARRAY(arena, fz_field, view->child_count);
    for (size_t i = 0; i < view->child_count; i++) {
        if (view->children[i].readable) {
            set_field(arena, &view->children[i], ids, &type->fields[type->field_count++]);
        }
    }
}

static void set_field(fz_arena *arena, const fz_parquet_view *view, bool ids, fz_field *field) {
    field->id = ids && view->id >= 0 ? view->id : 0;
    field->required = !view->optional;
    field->name = fz_arena_str(arena, view->name);
    field->type = view->type;
    field->type.kind = view->kind;
    set_children(arena, view, ids, &field->type);
    if (view->kind == FZ_TYPE_LIST) {
        field->type.fields[0].name = FZ_STR("element");
    } else if (view->kind == FZ_TYPE_MAP) {
        field->type.fields[0].name = FZ_STR("key");
        field->type.fields[1].name = FZ_STR("value");
        field->type.fields[0].required = true;
    }
}

static int32_t greatest_id(const fz_type *type) {
    int32_t most = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        int32_t below = greatest_id(&type->fields[i].type);
        most = type->fields[i].id > most ? type->fields[i].id : most;
        most = below > most ? below : most;
    }
    return most;
}

fz_schema *fz_parquet_view_schema(const fz_parquet_metadata *m) {
    fz_schema *schema = fz_schema_new();
    schema->root.kind = FZ_TYPE_STRUCT;
    set_children(&schema->arena, &m->root, m->has_ids, &schema->root);
    int32_t last = greatest_id(&schema->root);
    if (last <
        INT32_MAX -
            (1 << 20)) { // fields without an id beside others that have one get one behind them
        fz_type_assign_ids(&schema->root, &last);
    }
    fz_schema_finish(schema);
    return schema;
}

// --- name mapping

static bool has_name(const json_t *entry, fz_str name) {
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(entry, "names"), i, one) {
        if (json_is_string(one) && fz_str_equal(fz_json_view(one), name)) {
            return true;
        }
    }
    return false;
}

static const json_t *entry_named(const json_t *mapping, fz_str name) {
    size_t i;
    const json_t *entry;
    json_array_foreach(mapping, i, entry) {
        if (has_name(entry, name)) {
            return entry;
        }
    }
    return NULL;
}

void fz_parquet_view_map(fz_parquet_view *parent, const json_t *mapping) {
    static const char *const of_map[] = {"key", "value"};
    for (size_t i = 0; i < parent->child_count; i++) {
        fz_parquet_view *view = &parent->children[i];
        fz_str name = parent->kind == FZ_TYPE_LIST  ? FZ_STR("element")
                      : parent->kind == FZ_TYPE_MAP ? fz_str_from(of_map[i > 0])
                                                    : view->name;
        const json_t *entry = entry_named(mapping, name);
        int64_t id = fz_json_int_or(entry, "field-id", -1);
        view->id = id > 0 && id <= INT32_MAX ? (int32_t)id : -1;
        fz_parquet_view_map(view, json_object_get(entry, "fields"));
    }
}
