// SPDX-License-Identifier: Apache-2.0
// Types to columns: unions, maps, names and what is left out.
#include <stdarg.h>
#include <stdio.h>

#include "base/map.h"
#include "format/json/writer.h"
#include "format/shape_names.h"

#define MAX_COLUMNS 10000
#define MAX_SHAPE_BYTES ((size_t)64 << 20)

typedef struct shaper {
    fz_arena *arena; // of the shape
    const fz_mapping_options *options;
    fz_buf *warnings;
    fz_buf path; // for messages
    size_t column_count;
    unsigned depth;
    fz_err *err;
} shaper;

static fz_code shape_field(shaper *s, fz_json_type *type, fz_str parent, fz_str name, size_t origin,
                           bool required, fz_field *out, bool *present);

// --- messages ---

static const char *path_text(shaper *s) {
    return s->path.size ? fz_buf_cstr(&s->path) : "value";
}

static FZ_PRINTF(3, 4) fz_code refuse(shaper *s, const char *kind, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return fz_err_set_kind(s->err, FZ_UNSUPPORTED, kind, "field \"%.300s\": %s", path_text(s),
                           text);
}

static void warn(shaper *s, const char *text) {
    if (s->warnings) {
        fz_buf_printf(s->warnings, "field \"%.300s\": %s\n", path_text(s), text);
    }
}

static fz_code check_names(shaper *s, const fz_field *fields, size_t count) {
    const fz_field *twin = NULL;
    const fz_field *first = fz_shape_find_twins(fields, count, s->options->names_any_case, &twin);
    return first ? refuse(s, "unsupported_type", "names \"%.*s\" and \"%.*s\" differ only in case",
                          FZ_STR_ARGS(first->name), FZ_STR_ARGS(twin->name))
                 : FZ_OK;
}

// --- nested types ---

// Fields of an object, or branches of a union; *present: at least one has a column.
static fz_code shape_struct(shaper *s, const fz_json_type *type, fz_str identity, fz_type *out,
                            bool *present) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, type->field_count);
    size_t count = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_json_field *from = &type->fields[i];
        bool made = false;
        bool required = from->required && type->kind == FZ_JSON_OBJECT;
        FZ_TRY(shape_field(s, from->type, identity, fz_arena_str(s->arena, from->name), i, required,
                           &fields[count], &made));
        fields[count].doc = made ? fz_arena_str(s->arena, from->doc) : (fz_str){0};
        count += made;
    }
    *out = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = count};
    *present = count > 0;
    if (!*present) {
        warn(s, "left out, none of its members has a column");
    }
    return check_names(s, fields, count);
}

static fz_code shape_list(shaper *s, const fz_json_type *type, fz_str identity, fz_type *out,
                          bool *present) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 1);
    *out = (fz_type){.kind = FZ_TYPE_LIST, .fields = fields, .field_count = 1};
    return shape_field(s, type->item, identity, FZ_STR("element"), 0, true, fields, present);
}

static fz_code shape_map(shaper *s, const fz_json_type *type, fz_str identity, fz_type *out,
                         bool *present) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 2);
    fz_json_type text = {.kind = FZ_JSON_STRING};
    bool key = false;
    *out = (fz_type){.kind = FZ_TYPE_MAP, .fields = fields, .field_count = 2};
    FZ_TRY(shape_field(s, type->kind == FZ_JSON_ENTRIES ? type->key : &text, identity,
                       FZ_STR("key"), 0, true, &fields[0], &key));
    FZ_TRY(shape_field(s, type->item, identity, FZ_STR("value"), 1, true, &fields[1], present));
    fields[0].required = true;
    *present = *present && key;
    return FZ_OK;
}

// --- any type ---

static fz_code shape_scalar(shaper *s, const fz_json_type *type, fz_type *out) {
    static const fz_type_kind kinds[] = {
        [FZ_JSON_ANY] = FZ_TYPE_STRING,
        [FZ_JSON_RECURSIVE] = FZ_TYPE_STRING,
        [FZ_JSON_BOOLEAN] = FZ_TYPE_BOOLEAN,
        [FZ_JSON_INTEGER] = FZ_TYPE_LONG,
        [FZ_JSON_NUMBER] = FZ_TYPE_DOUBLE,
        [FZ_JSON_FLOAT] = FZ_TYPE_FLOAT,
        [FZ_JSON_STRING] = FZ_TYPE_STRING,
        [FZ_JSON_SCALAR_TEXT] = FZ_TYPE_STRING,
        [FZ_JSON_BYTES] = FZ_TYPE_BINARY,
        [FZ_JSON_FIXED] = FZ_TYPE_FIXED,
        [FZ_JSON_DECIMAL] = FZ_TYPE_DECIMAL,
        [FZ_JSON_DATE] = FZ_TYPE_DATE,
        [FZ_JSON_TIME] = FZ_TYPE_TIME,
        [FZ_JSON_TIMESTAMP] = FZ_TYPE_TIMESTAMP,
        [FZ_JSON_TIMESTAMPTZ] = FZ_TYPE_TIMESTAMPTZ,
        [FZ_JSON_UUID] = FZ_TYPE_UUID,
        [FZ_JSON_DATE_DAYS] = FZ_TYPE_DATE,
        [FZ_JSON_TIME_MILLIS] = FZ_TYPE_TIME,
        [FZ_JSON_TIMESTAMP_MILLIS] = FZ_TYPE_TIMESTAMPTZ,
    };
    out->kind = kinds[type->kind];
    if (type->kind == FZ_JSON_INTEGER && type->bits <= 32) {
        out->kind = FZ_TYPE_INT;
    }
    if (type->kind == FZ_JSON_RECURSIVE && !s->options->recursive_json) {
        return refuse(s, "recursive_type",
                      "\"%.*s\" contains itself; types.recursive: json keeps it as text",
                      FZ_STR_ARGS(fz_str_slice(type->name, 0, 200)));
    }
    if (type->kind == FZ_JSON_DECIMAL) {
        if (type->precision < 1 || type->precision > 38 || type->scale < 0 ||
            type->scale > type->precision) {
            return refuse(s, "unsupported_type", "decimal(%d, %d) is not within 38 digits",
                          type->precision, type->scale);
        }
        out->precision = type->precision;
        out->scale = type->scale;
    }
    out->length = type->kind == FZ_JSON_FIXED ? type->length : 0;
    return FZ_OK;
}

static fz_code shape_type(shaper *s, const fz_json_type *type, fz_str identity, fz_type *out,
                          bool *present) {
    *present = true;
    switch (type->kind) {
    case FZ_JSON_NULL:
        *present = false;
        warn(s, "left out, null alone has no column type");
        return FZ_OK;
    case FZ_JSON_OBJECT:
    case FZ_JSON_UNION:
        return shape_struct(s, type, identity, out, present);
    case FZ_JSON_ARRAY:
        return shape_list(s, type, identity, out, present);
    case FZ_JSON_MAP:
    case FZ_JSON_ENTRIES:
        return shape_map(s, type, identity, out, present);
    default:
        return shape_scalar(s, type, out);
    }
}

// `required` as far as the place goes; null makes it optional.
static fz_code shape_field(shaper *s, fz_json_type *type, fz_str parent, fz_str name, size_t origin,
                           bool required, fz_field *out, bool *present) {
    size_t size = s->path.size;
    if (size) {
        fz_buf_append_byte(&s->path, '.');
    }
    fz_buf_append_str(&s->path, name);
    if (++s->depth > FZ_JSON_SCHEMA_DEPTH) {
        return refuse(s, "depth_limit", "columns nested deeper than %d", FZ_JSON_SCHEMA_DEPTH);
    }
    *out = (fz_field){.name = name, .required = required && !type->nullable};
    out->identity = fz_shape_identity(s->arena, parent, name);
    out->origin = (int32_t)origin;
    FZ_TRY(shape_type(s, type, out->identity, &out->type, present));
    if ((*present && ++s->column_count > MAX_COLUMNS) || s->arena->used > MAX_SHAPE_BYTES) {
        return refuse(s, "unsupported_type", "more than %d columns", MAX_COLUMNS);
    }
    s->depth--;
    s->path.size = size;
    return FZ_OK;
}

static fz_code shape_root(shaper *s, const fz_json_schema *schema, fz_type *out) {
    bool present = false;
    if (schema->root->kind == FZ_JSON_OBJECT && !schema->root->nullable) {
        FZ_TRY(shape_struct(s, schema->root, (fz_str){0}, out, &present));
        return present ? FZ_OK : refuse(s, "unsupported_type", "no member has a column type");
    }
    fz_field *field = FZ_ARENA_NEW(s->arena, fz_field);
    FZ_TRY(shape_field(s, schema->root, (fz_str){0}, FZ_STR("value"), 0, true, field, &present));
    if (!present) {
        return refuse(s, "unsupported_type", "%s has no column type",
                      fz_json_kind_name(schema->root->kind));
    }
    field->origin |= FZ_SHAPE_ORIGIN_ROOT;
    *out = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = field, .field_count = 1};
    return FZ_OK;
}

fz_code fz_json_shape(const fz_writer_schema *base, const fz_mapping_options *options,
                      fz_buf *warnings, fz_schema **out, fz_err *err) {
    fz_schema *made = fz_schema_new();
    shaper s = {.arena = &made->arena, .options = options, .warnings = warnings, .err = err};
    fz_code code = shape_root(&s, (const fz_json_schema *)base, &made->root);
    fz_buf_deinit(&s.path);
    if (code != FZ_OK) {
        fz_schema_unref(made);
        return code;
    }
    fz_schema_finish(made);
    *out = made;
    return FZ_OK;
}
