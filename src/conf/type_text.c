// SPDX-License-Identifier: Apache-2.0
// Column types as text, by Iceberg's names.
#include "conf/lexer.h"

#include "base/map.h"
#include "base/vec.h"
#include "conf/limits.h"

typedef struct type_name {
    const char *name;
    fz_type_kind kind;
} type_name;

static const type_name type_names[] = {
    {"boolean", FZ_TYPE_BOOLEAN},
    {"int", FZ_TYPE_INT},
    {"long", FZ_TYPE_LONG},
    {"float", FZ_TYPE_FLOAT},
    {"double", FZ_TYPE_DOUBLE},
    {"decimal", FZ_TYPE_DECIMAL},
    {"date", FZ_TYPE_DATE},
    {"time", FZ_TYPE_TIME},
    {"timestamp", FZ_TYPE_TIMESTAMP},
    {"timestamptz", FZ_TYPE_TIMESTAMPTZ},
    {"timestamp_ns", FZ_TYPE_TIMESTAMP_NS},
    {"timestamptz_ns", FZ_TYPE_TIMESTAMPTZ_NS},
    {"string", FZ_TYPE_STRING},
    {"uuid", FZ_TYPE_UUID},
    {"fixed", FZ_TYPE_FIXED},
    {"binary", FZ_TYPE_BINARY},
    {"struct", FZ_TYPE_STRUCT},
    {"list", FZ_TYPE_LIST},
    {"map", FZ_TYPE_MAP},
};

static fz_code type_read(fz_conf_lexer *lexer, int depth, fz_type *out, fz_err *err);

static fz_code wanted(fz_conf_lexer *lexer, char c, fz_err *err) {
    if (fz_conf_lexer_take(lexer, c)) {
        return FZ_OK;
    }
    char what[4] = {'"', c, '"', '\0'};
    return fz_conf_lexer_fail(lexer, what, err);
}

/** A child's type and its `not null`. */
static fz_code child_read(fz_conf_lexer *lexer, int depth, fz_field *field, fz_err *err) {
    if (++lexer->fields > FZ_CONFIG_MAX_TYPE_FIELDS) {
        return fz_err_set(err, FZ_LIMIT, "more than %d fields in a type",
                          FZ_CONFIG_MAX_TYPE_FIELDS);
    }
    FZ_TRY(type_read(lexer, depth + 1, &field->type, err));
    if (fz_conf_lexer_word(lexer, "not")) {
        if (!fz_conf_lexer_word(lexer, "null")) {
            return fz_conf_lexer_fail(lexer, "\"null\"", err);
        }
        field->required = true;
    }
    return FZ_OK;
}

static fz_code struct_read(fz_conf_lexer *lexer, int depth, fz_type *out, fz_err *err) {
    FZ_VEC(fz_field) fields = {0};
    fz_map seen = {0};
    fz_code code = FZ_OK;
    do {
        fz_field field = {0};
        code = fz_conf_lexer_name(lexer, &field.name, NULL, err);
        if (code == FZ_OK && fz_map_put(&seen, field.name, &seen)) {
            code = fz_err_set(err, FZ_INVALID, "the field \"%.*s\" is there twice",
                              FZ_STR_ARGS(fz_str_slice(field.name, 0, 100)));
        }
        if (code == FZ_OK) {
            code = wanted(lexer, ':', err);
        }
        if (code == FZ_OK) {
            code = child_read(lexer, depth, &field, err);
        }
        fz_vec_push(&fields, field);
    } while (code == FZ_OK && fz_conf_lexer_take(lexer, ','));
    if (code == FZ_OK) {
        out->fields = FZ_ARENA_ARRAY(lexer->arena, fz_field, fields.count);
        memcpy(out->fields, fields.data, fields.count * sizeof(fz_field));
        out->field_count = fields.count;
    }
    fz_vec_deinit(&fields);
    fz_map_deinit(&seen);
    return code;
}

static fz_code nested_read(fz_conf_lexer *lexer, int depth, fz_type *out, fz_err *err) {
    if (depth >= FZ_CONFIG_MAX_TYPE_DEPTH) {
        return fz_err_set(err, FZ_LIMIT, "the type is nested deeper than %d",
                          FZ_CONFIG_MAX_TYPE_DEPTH);
    }
    FZ_TRY(wanted(lexer, '<', err));
    if (out->kind == FZ_TYPE_STRUCT) {
        FZ_TRY(struct_read(lexer, depth, out, err));
        return wanted(lexer, '>', err);
    }
    out->field_count = out->kind == FZ_TYPE_MAP ? 2 : 1;
    out->fields = FZ_ARENA_ARRAY(lexer->arena, fz_field, out->field_count);
    out->fields[0].name = out->kind == FZ_TYPE_MAP ? FZ_STR("key") : FZ_STR("element");
    FZ_TRY(child_read(lexer, depth, &out->fields[0], err));
    if (out->kind == FZ_TYPE_MAP) {
        out->fields[0].required = true; // a map's key always is
        FZ_TRY(wanted(lexer, ',', err));
        out->fields[1].name = FZ_STR("value");
        FZ_TRY(child_read(lexer, depth, &out->fields[1], err));
    }
    return wanted(lexer, '>', err);
}

static fz_code parameters_read(fz_conf_lexer *lexer, fz_type *out, fz_err *err) {
    if (out->kind == FZ_TYPE_FIXED) {
        bool square = fz_conf_lexer_take(lexer, '['); // as in Iceberg's metadata
        if (!square) {
            FZ_TRY(wanted(lexer, '(', err));
        }
        FZ_TRY(fz_conf_lexer_number(lexer, 1, INT32_MAX, &out->length, err));
        return wanted(lexer, square ? ']' : ')', err);
    }
    FZ_TRY(wanted(lexer, '(', err));
    FZ_TRY(fz_conf_lexer_number(lexer, 1, 38, &out->precision, err));
    if (fz_conf_lexer_take(lexer, ',')) {
        FZ_TRY(fz_conf_lexer_number(lexer, 0, out->precision, &out->scale, err));
    }
    return wanted(lexer, ')', err);
}

static fz_code type_read(fz_conf_lexer *lexer, int depth, fz_type *out, fz_err *err) {
    fz_str name = {0};
    FZ_TRY(fz_conf_lexer_name(lexer, &name, NULL, err));
    const type_name *found = NULL;
    const char *near = NULL;
    size_t best = 3;
    for (size_t i = 0; i < FZ_COUNT(type_names); i++) {
        fz_str known = fz_str_from(type_names[i].name);
        if (fz_str_equal_nocase(name, known)) {
            found = &type_names[i];
            break;
        }
        size_t edits = fz_str_distance(name, known);
        if (edits < best) {
            best = edits;
            near = type_names[i].name;
        }
    }
    if (!found) {
        return fz_err_set(err, FZ_INVALID, "unknown type \"%.*s\"%s%s%s",
                          FZ_STR_ARGS(fz_str_slice(name, 0, 100)), near ? ", did you mean \"" : "",
                          near ? near : "", near ? "\"?" : "");
    }
    *out = (fz_type){.kind = found->kind};
    if (fz_type_is_nested(out)) {
        return nested_read(lexer, depth, out, err);
    }
    if (out->kind == FZ_TYPE_DECIMAL || out->kind == FZ_TYPE_FIXED) {
        return parameters_read(lexer, out, err);
    }
    return FZ_OK;
}

fz_code fz_conf_type_parse(fz_arena *arena, fz_str text, fz_type *out, fz_err *err) {
    fz_conf_lexer lexer = {.text = text, .arena = arena};
    fz_type type = {0};
    FZ_TRY(type_read(&lexer, 0, &type, err));
    if (!fz_conf_lexer_done(&lexer)) {
        return fz_conf_lexer_fail(&lexer, "the end of the type", err);
    }
    *out = type;
    return FZ_OK;
}
