// SPDX-License-Identifier: Apache-2.0
// Schemas and types as Iceberg JSON (spec, Appendix C).
#include "data/type.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_FIELDS 10000
#define MAX_DEPTH 100
#define MAX_FIELD_ID INT32_C(2147483447) // above: reserved (spec, "Reserved Field IDs")

// --- writing ---

static json_t *primitive_to_json(const fz_type *type) {
    char text[48];
    switch (type->kind) {
    case FZ_TYPE_DECIMAL:
        (void)snprintf(text, sizeof(text), "decimal(%d, %d)", type->precision, type->scale);
        return json_string(text);
    case FZ_TYPE_FIXED:
        (void)snprintf(text, sizeof(text), "fixed[%d]", type->length);
        return json_string(text);
    default:
        return json_string(fz_type_kind_name(type->kind));
    }
}

static void set_default(json_t *object, const char *key, fz_str text) {
    json_t *value = NULL;
    if (text.size && fz_json_parse(text, &value, NULL) == FZ_OK) {
        json_object_set_new(object, key, value);
    }
}

static json_t *fields_to_json(const fz_type *type) {
    json_t *fields = json_array();
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        json_t *object = json_object();
        fz_json_set_int(object, "id", field->id);
        fz_json_set_str(object, "name", field->name);
        json_object_set_new(object, "required", json_boolean(field->required));
        json_object_set_new(object, "type", fz_type_to_json(&field->type));
        if (field->doc.size) {
            fz_json_set_str(object, "doc", field->doc);
        }
        set_default(object, "initial-default", field->initial_default);
        set_default(object, "write-default", field->write_default);
        json_array_append_new(fields, object);
    }
    return fields;
}

json_t *fz_type_to_json(const fz_type *type) {
    if (!fz_type_is_nested(type)) {
        return primitive_to_json(type);
    }
    json_t *object = json_object();
    json_object_set_new(object, "type", json_string(fz_type_kind_name(type->kind)));
    if (type->kind == FZ_TYPE_STRUCT) {
        json_object_set_new(object, "fields", fields_to_json(type));
    } else if (type->kind == FZ_TYPE_LIST) {
        const fz_field *element = &type->fields[0];
        fz_json_set_int(object, "element-id", element->id);
        json_object_set_new(object, "element", fz_type_to_json(&element->type));
        json_object_set_new(object, "element-required", json_boolean(element->required));
    } else {
        const fz_field *key = &type->fields[0];
        const fz_field *value = &type->fields[1];
        fz_json_set_int(object, "key-id", key->id);
        json_object_set_new(object, "key", fz_type_to_json(&key->type));
        fz_json_set_int(object, "value-id", value->id);
        json_object_set_new(object, "value", fz_type_to_json(&value->type));
        json_object_set_new(object, "value-required", json_boolean(value->required));
    }
    return object;
}

json_t *fz_schema_to_json(const fz_schema *schema) {
    json_t *object = json_object();
    json_object_set_new(object, "type", json_string("struct"));
    fz_json_set_int(object, "schema-id", schema->schema_id);
    if (schema->identifier_count) {
        json_t *ids = json_array();
        for (size_t i = 0; i < schema->identifier_count; i++) {
            json_array_append_new(ids, json_integer(schema->identifier_ids[i]));
        }
        json_object_set_new(object, "identifier-field-ids", ids);
    }
    json_object_set_new(object, "fields", fields_to_json(&schema->root));
    return object;
}

// --- reading ---

typedef struct reader {
    fz_arena *arena;
    size_t fields;
    size_t depth;
    fz_str names[MAX_DEPTH + 1]; // path to where we are
    fz_err *err;
} reader;

static fz_code type_from_json(reader *r, const json_t *json, fz_type *out);

// Put the path in front of what is wrong there.
static fz_code fail(reader *r, fz_code code, const char *what, fz_str found) {
    fz_buf path = {0};
    for (size_t i = 0; i < r->depth; i++) {
        fz_buf_append_str(&path, i ? FZ_STR(".") : FZ_STR(""));
        fz_buf_append_str(&path, fz_str_slice(r->names[i], 0, 64));
    }
    fz_str place = fz_str_slice(fz_buf_view(&path), 0, 400);
    if (place.size) {
        code = fz_err_set(r->err, code, "schema field \"%.*s\": %s%s%.*s%s", FZ_STR_ARGS(place),
                          what, found.size ? " \"" : "", FZ_STR_ARGS(fz_str_slice(found, 0, 100)),
                          found.size ? "\"" : "");
    } else {
        code = fz_err_set(r->err, code, "schema: %s", what);
    }
    fz_buf_deinit(&path);
    return code;
}

static bool take_number(fz_str *text, int32_t *out) {
    *text = fz_str_trim(*text);
    int64_t value = 0;
    size_t i = 0;
    while (i < text->size && text->data[i] >= '0' && text->data[i] <= '9') {
        value = value * 10 + (text->data[i++] - '0');
        if (value > INT32_MAX) {
            return false;
        }
    }
    *text = fz_str_trim(fz_str_slice(*text, i, text->size));
    *out = (int32_t)value;
    return i > 0;
}

static bool take_char(fz_str *text, char c) {
    if (text->size == 0 || text->data[0] != c) {
        return false;
    }
    *text = fz_str_slice(*text, 1, text->size);
    return true;
}

bool fz_type_parse(fz_str text, fz_type *out) {
    static const fz_type_kind last = FZ_TYPE_BINARY;
    fz_type type = {0};
    if (fz_str_starts_with(text, FZ_STR("decimal"))) {
        text = fz_str_trim(fz_str_slice(text, 7, text.size));
        type.kind = FZ_TYPE_DECIMAL;
        if (!take_char(&text, '(') || !take_number(&text, &type.precision) ||
            !take_char(&text, ',') || !take_number(&text, &type.scale) || !take_char(&text, ')') ||
            text.size || type.precision < 1 || type.precision > 38 || type.scale > type.precision) {
            return false;
        }
        *out = type;
        return true;
    }
    if (fz_str_starts_with(text, FZ_STR("fixed"))) {
        text = fz_str_trim(fz_str_slice(text, 5, text.size));
        type.kind = FZ_TYPE_FIXED;
        char close = text.size && text.data[0] == '(' ? ')' : ']';
        if ((!take_char(&text, '[') && !take_char(&text, '(')) ||
            !take_number(&text, &type.length) || !take_char(&text, close) || text.size) {
            return false;
        }
        *out = type;
        return true;
    }
    for (int kind = 0; kind <= (int)last; kind++) {
        if (fz_str_equal(text, fz_str_from(fz_type_kind_name((fz_type_kind)kind)))) {
            type.kind = (fz_type_kind)kind;
            *out = type;
            return true;
        }
    }
    return false;
}

static fz_code id_from_json(reader *r, const json_t *object, const char *key, int32_t *out) {
    const json_t *value = json_object_get(object, key);
    json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    if (id < 0 || id > MAX_FIELD_ID) {
        return fail(r, FZ_CORRUPT, "want an integer from 0 to 2147483447 in", fz_str_from(key));
    }
    *out = (int32_t)id;
    return FZ_OK;
}

static fz_code bool_from_json(reader *r, const json_t *object, const char *key, bool *out) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value)) {
        return fail(r, FZ_CORRUPT, "want true or false in", fz_str_from(key));
    }
    *out = json_is_true(value);
    return FZ_OK;
}

static fz_code default_from_json(reader *r, const json_t *object, const char *key, fz_str *out) {
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) {
        return FZ_OK;
    }
    fz_buf text = {0};
    fz_code code = fz_json_format(value, &text, r->err);
    if (code == FZ_OK) {
        *out = fz_arena_str(r->arena, fz_buf_view(&text));
    }
    fz_buf_deinit(&text);
    return code;
}

// Enter a field: counts it, names it for messages, reads its type.
static fz_code child_from_json(reader *r, fz_field *field, fz_str name, const json_t *type) {
    if (++r->fields > MAX_FIELDS) {
        return fail(r, FZ_LIMIT, "over 10000 fields", (fz_str){0});
    }
    if (r->depth == MAX_DEPTH) {
        return fail(r, FZ_LIMIT, "nested deeper than 100", (fz_str){0});
    }
    field->name = fz_arena_str(r->arena, name);
    r->names[r->depth++] = field->name;
    FZ_TRY(type_from_json(r, type, &field->type));
    r->depth--;
    return FZ_OK;
}

static fz_code fields_from_json(reader *r, const json_t *object, fz_type *out) {
    const json_t *fields = json_object_get(object, "fields");
    if (!json_is_array(fields)) {
        return fail(r, FZ_CORRUPT, "struct without its list of fields", (fz_str){0});
    }
    size_t count = json_array_size(fields);
    if (count > MAX_FIELDS) {
        return fail(r, FZ_LIMIT, "over 10000 fields", (fz_str){0});
    }
    out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, count);
    out->field_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(fields, i);
        fz_field *field = &out->fields[i];
        const json_t *name = json_object_get(json, "name");
        if (!json_is_string(name)) {
            return fail(r, FZ_CORRUPT, "struct field without a name", (fz_str){0});
        }
        FZ_TRY(child_from_json(r, field, fz_json_view(name), json_object_get(json, "type")));
        r->names[r->depth++] = field->name;
        FZ_TRY(id_from_json(r, json, "id", &field->id));
        FZ_TRY(bool_from_json(r, json, "required", &field->required));
        field->doc = fz_arena_str(r->arena, fz_json_str_or(json, "doc"));
        FZ_TRY(default_from_json(r, json, "initial-default", &field->initial_default));
        FZ_TRY(default_from_json(r, json, "write-default", &field->write_default));
        r->depth--;
    }
    return FZ_OK;
}

static fz_code list_from_json(reader *r, const json_t *object, fz_type *out) {
    out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, 1);
    out->field_count = 1;
    FZ_TRY(id_from_json(r, object, "element-id", &out->fields[0].id));
    FZ_TRY(bool_from_json(r, object, "element-required", &out->fields[0].required));
    return child_from_json(r, &out->fields[0], FZ_STR("element"),
                           json_object_get(object, "element"));
}

static fz_code map_from_json(reader *r, const json_t *object, fz_type *out) {
    out->fields = FZ_ARENA_ARRAY(r->arena, fz_field, 2);
    out->field_count = 2;
    out->fields[0].required = true;
    FZ_TRY(id_from_json(r, object, "key-id", &out->fields[0].id));
    FZ_TRY(id_from_json(r, object, "value-id", &out->fields[1].id));
    FZ_TRY(bool_from_json(r, object, "value-required", &out->fields[1].required));
    FZ_TRY(child_from_json(r, &out->fields[0], FZ_STR("key"), json_object_get(object, "key")));
    return child_from_json(r, &out->fields[1], FZ_STR("value"), json_object_get(object, "value"));
}

static fz_code type_from_json(reader *r, const json_t *json, fz_type *out) {
    if (json_is_string(json)) {
        fz_str text = fz_json_view(json);
        if (!fz_type_parse(text, out)) {
            return fail(r, FZ_UNSUPPORTED, "unknown type", text);
        }
        return FZ_OK;
    }
    fz_str kind = fz_json_str_or(json, "type");
    if (fz_str_equal(kind, FZ_STR("struct"))) {
        out->kind = FZ_TYPE_STRUCT;
        return fields_from_json(r, json, out);
    }
    if (fz_str_equal(kind, FZ_STR("list"))) {
        out->kind = FZ_TYPE_LIST;
        return list_from_json(r, json, out);
    }
    if (fz_str_equal(kind, FZ_STR("map"))) {
        out->kind = FZ_TYPE_MAP;
        return map_from_json(r, json, out);
    }
    return kind.size ? fail(r, FZ_UNSUPPORTED, "unknown type", kind)
                     : fail(r, FZ_CORRUPT, "no type", (fz_str){0});
}

static fz_code identifiers_from_json(reader *r, const json_t *json, fz_schema *schema) {
    const json_t *ids = json_object_get(json, "identifier-field-ids");
    size_t count = json_array_size(ids);
    if (count > MAX_FIELDS) {
        return fail(r, FZ_LIMIT, "over 10000 identifier fields", (fz_str){0});
    }
    schema->identifier_ids = FZ_ARENA_ARRAY(r->arena, int32_t, count);
    schema->identifier_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_array_get(ids, i);
        json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value > MAX_FIELD_ID) {
            return fail(r, FZ_CORRUPT, "identifier field id is not a field id", (fz_str){0});
        }
        schema->identifier_ids[i] = (int32_t)value;
    }
    return FZ_OK;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void collect_ids(const fz_type *type, int32_t *ids, size_t *count) {
    for (size_t i = 0; i < type->field_count; i++) {
        ids[(*count)++] = type->fields[i].id;
        collect_ids(&type->fields[i].type, ids, count);
    }
}

// Ids are the identity of columns: two fields must not share one.
static fz_code check_ids(reader *r, const fz_schema *schema) {
    int32_t *ids = FZ_ARENA_ARRAY(r->arena, int32_t, r->fields);
    size_t count = 0;
    collect_ids(&schema->root, ids, &count);
    if (count) {
        qsort(ids, count, sizeof(*ids), compare_ids);
    }
    for (size_t i = 1; i < count; i++) {
        if (ids[i] == ids[i - 1]) {
            return fz_err_set(r->err, FZ_CORRUPT, "schema: field id %d is used twice", ids[i]);
        }
    }
    return FZ_OK;
}

fz_code fz_schema_from_json(const json_t *json, fz_schema **out, fz_err *err) {
    fz_schema *schema = fz_schema_new();
    reader r = {.arena = &schema->arena, .err = err};
    int64_t id = fz_json_int_or(json, "schema-id", 0); // optional in version 1
    fz_code code = FZ_OK;
    if (!fz_str_equal(fz_json_str_or(json, "type"), FZ_STR("struct"))) {
        code = fail(&r, FZ_CORRUPT, "the schema's type is not \"struct\"", (fz_str){0});
    } else if (id < 0 || id > INT32_MAX) {
        code = fail(&r, FZ_CORRUPT, "schema-id is out of range", (fz_str){0});
    } else {
        code = fields_from_json(&r, json, &schema->root);
    }
    if (code == FZ_OK) {
        code = identifiers_from_json(&r, json, schema);
    }
    if (code == FZ_OK) {
        code = check_ids(&r, schema);
    }
    if (code != FZ_OK) {
        fz_schema_unref(schema);
        return code;
    }
    schema->schema_id = (int32_t)id;
    fz_schema_finish(schema);
    *out = schema;
    return FZ_OK;
}
