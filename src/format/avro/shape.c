// SPDX-License-Identifier: Apache-2.0
// Avro types to columns: unions, maps, logical types, names and what is left out.
#include "format/avro/shape.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"
#include "format/avro/default.h"
#include "format/avro/logical.h"
#include "format/avro/schema_parser.h"

#define MAX_COLUMN_DEPTH 100
#define MAX_COLUMNS 10000
#define MAX_VISITS 200000 // types looked at; reused records multiply
#define MAX_ALIASES 16    // of one field, those of its parents included
#define MAX_SHAPE_BYTES ((size_t)64 << 20)

typedef struct shaper {
    fz_arena *arena; // of the shape
    const fz_mapping_options *options;
    fz_buf *warnings;
    fz_buf path;                        // for messages
    FZ_VEC(const fz_avro_type *) above; // records that are being walked
    size_t column_count;
    size_t visits;
    unsigned depth;
    fz_err *err;
} shaper;

// Where a type stands: its identity and those it had before.
typedef struct place {
    fz_str identity;
    const fz_str *aliases;
    size_t alias_count;
} place;

// What a type became.
typedef struct column {
    fz_type type;
    bool present;  // else it is left out
    bool optional; // null is a value of it
    int32_t flags; // FZ_AVRO_ORIGIN_*
} column;

static fz_code shape_type(shaper *s, const fz_avro_type *type, const place *at, column *out);

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

static FZ_PRINTF(2, 3) void warn(shaper *s, const char *format, ...) {
    if (!s->warnings) {
        return;
    }
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fz_buf_printf(s->warnings, "field \"%.300s\": %s\n", path_text(s), text);
}

static size_t path_push(shaper *s, fz_str step) {
    size_t size = s->path.size;
    if (size) {
        fz_buf_append_byte(&s->path, '.');
    }
    fz_buf_append_str(&s->path, step);
    return size;
}

// --- identities ---

// The place of a child: every older name of the parent with every name of the child is an alias.
static place child_place(shaper *s, const place *parent, fz_str step, const fz_str *aliases,
                         size_t alias_count) {
    place out = {.identity = fz_shape_identity(s->arena, parent->identity, step)};
    size_t count = (parent->alias_count + 1) * (alias_count + 1) - 1;
    if (count == 0) {
        return out;
    }
    fz_str *older = FZ_ARENA_ARRAY(s->arena, fz_str, count < MAX_ALIASES ? count : MAX_ALIASES);
    for (size_t p = 0; p <= parent->alias_count; p++) {
        fz_str base = p == 0 ? parent->identity : parent->aliases[p - 1];
        for (size_t a = 0; a <= alias_count; a++) {
            if ((p || a) && out.alias_count < MAX_ALIASES) {
                older[out.alias_count++] =
                    fz_shape_identity(s->arena, base, a == 0 ? step : aliases[a - 1]);
            }
        }
    }
    out.aliases = older;
    return out;
}

// --- fields of structs ---

static fz_code refuse_case_twins(shaper *s, const fz_field *fields, size_t count) {
    const fz_field *twin = NULL;
    const fz_field *first = fz_shape_find_twins(fields, count, s->options->names_any_case, &twin);
    return first ? refuse(s, "unsupported_type", "names \"%.*s\" and \"%.*s\" differ only in case",
                          FZ_STR_ARGS(first->name), FZ_STR_ARGS(twin->name))
                 : FZ_OK;
}

static void fill_field(fz_field *field, const place *at, fz_str name, const column *made,
                       size_t origin) {
    field->name = name;
    field->identity = at->identity;
    field->aliases = at->aliases;
    field->alias_count = at->alias_count;
    field->type = made->type;
    field->required = !made->optional;
    field->origin = (int32_t)origin | made->flags;
}

static void fill_default(shaper *s, fz_field *field, const fz_avro_field *source) {
    if (!source->default_value) {
        return;
    }
    field->has_default = true;
    if (!fz_avro_default_format(s->arena, source->type, &field->type, source->default_value,
                                &field->initial_default)) {
        field->initial_default = FZ_STR("");
    }
}

static fz_code shape_record_fields(shaper *s, const fz_avro_type *record, const place *at,
                                   fz_type *out) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, record->field_count);
    size_t count = 0;
    for (size_t i = 0; i < record->field_count; i++) {
        const fz_avro_field *source = &record->fields[i];
        size_t path = path_push(s, source->name);
        place child = child_place(s, at, source->name, source->aliases, source->alias_count);
        column made = {0};
        FZ_TRY(shape_type(s, source->type, &child, &made));
        if (made.present) {
            fz_field *field = &fields[count++];
            fill_field(field, &child, fz_arena_str(s->arena, source->name), &made, i);
            field->doc = fz_arena_str(s->arena, source->doc);
            fill_default(s, field, source);
        }
        s->path.size = path;
    }
    *out = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = count};
    return refuse_case_twins(s, fields, count);
}

static fz_code shape_record(shaper *s, const fz_avro_type *record, const place *at, column *out) {
    for (size_t i = 0; i < s->above.count; i++) {
        if (s->above.data[i] != record) {
            continue;
        }
        if (!s->options->recursive_json) {
            return refuse(s, "recursive_type",
                          "record \"%.*s\" contains itself; types.recursive: json keeps it as text",
                          FZ_STR_ARGS(record->full_name));
        }
        *out = (column){
            .type = {.kind = FZ_TYPE_STRING}, .present = true, .flags = FZ_AVRO_ORIGIN_JSON};
        return FZ_OK;
    }
    fz_vec_push(&s->above, record);
    FZ_TRY(shape_record_fields(s, record, at, &out->type));
    s->above.count--;
    out->present = out->type.field_count > 0;
    if (!out->present) {
        warn(s, "left out, record \"%.*s\" has no fields with columns",
             FZ_STR_ARGS(record->full_name));
    }
    return FZ_OK;
}

// --- unions ---

static fz_str short_name(const fz_avro_type *branch) {
    return branch->full_name.size ? branch->name : fz_str_from(fz_avro_kind_name(branch->kind));
}

static fz_str branch_name(shaper *s, const fz_avro_type *type, size_t index) {
    const fz_avro_type *branch = type->branches[index];
    fz_str name = short_name(branch);
    for (size_t i = 0; i < type->branch_count && branch->full_name.size; i++) {
        if (i != index && fz_str_equal(short_name(type->branches[i]), name)) {
            return fz_arena_str(s->arena, branch->full_name);
        }
    }
    return fz_arena_str(s->arena, name);
}

static fz_code shape_union_struct(shaper *s, const fz_avro_type *type, const place *at,
                                  column *out) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, type->branch_count);
    size_t count = 0;
    bool optional = false;
    for (size_t i = 0; i < type->branch_count; i++) {
        const fz_avro_type *branch = type->branches[i];
        if (branch->kind == FZ_AVRO_NULL) {
            optional = true;
            continue;
        }
        fz_str name = branch_name(s, type, i);
        size_t path = path_push(s, name);
        // The full name is the identity: a later clash of short names renames the column, no more.
        fz_str step = branch->full_name.size ? branch->full_name : name;
        place child = child_place(s, at, step, branch->aliases, branch->alias_count);
        column made = {0};
        FZ_TRY(shape_type(s, branch, &child, &made));
        if (made.present) {
            made.optional = true;
            fill_field(&fields[count++], &child, name, &made, i);
        }
        s->path.size = path;
    }
    *out = (column){
        .type = {.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = count},
        .present = count > 0,
        .optional = optional,
        .flags = FZ_AVRO_ORIGIN_UNION,
    };
    if (!out->present) {
        warn(s, "left out, no branch of its union has a column");
    }
    return refuse_case_twins(s, fields, count);
}

static fz_code shape_union(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    const fz_avro_type *single = fz_avro_type_nullable(type);
    bool nullable = single != NULL;
    if (!single && type->branch_count == 1) {
        single = type->branches[0];
    }
    if (!single || (s->options->unions_struct && single->kind != FZ_AVRO_NULL)) {
        return shape_union_struct(s, type, at, out);
    }
    FZ_TRY(shape_type(s, single, at, out));
    out->optional = nullable;
    return FZ_OK;
}

// --- collections ---

static fz_code shape_item(shaper *s, const fz_avro_type *type, const place *at, fz_str name,
                          size_t origin, fz_field *out, bool *present) {
    size_t path = path_push(s, name);
    place child = child_place(s, at, name, NULL, 0);
    column made = {0};
    FZ_TRY(shape_type(s, type, &child, &made));
    fill_field(out, &child, name, &made, origin);
    *present = made.present;
    s->path.size = path;
    return FZ_OK;
}

static fz_code shape_list(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 1);
    FZ_TRY(shape_item(s, type->item, at, FZ_STR("element"), 0, &fields[0], &out->present));
    out->type = (fz_type){.kind = FZ_TYPE_LIST, .fields = fields, .field_count = 1};
    return FZ_OK;
}

static fz_code shape_map(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 2);
    place key = child_place(s, at, FZ_STR("key"), NULL, 0);
    column text = {.type = {.kind = FZ_TYPE_STRING}, .present = true};
    fill_field(&fields[0], &key, FZ_STR("key"), &text, 0);
    FZ_TRY(shape_item(s, type->item, at, FZ_STR("value"), 1, &fields[1], &out->present));
    out->type = (fz_type){.kind = FZ_TYPE_MAP, .fields = fields, .field_count = 2};
    return FZ_OK;
}

// An array of key-value records that stands for a map; a key that may be null stays a list.
static fz_code shape_entries(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    const fz_avro_type *entry = type->item;
    size_t key_index = fz_str_equal(entry->fields[0].name, FZ_STR("key")) ? 0 : 1;
    for (size_t i = 0; i < s->above.count; i++) {
        if (s->above.data[i] == entry) {
            return shape_list(s, type, at, out); // recursion is settled there
        }
    }
    if (entry->fields[key_index].type->kind == FZ_AVRO_UNION ||
        entry->fields[key_index].type->kind == FZ_AVRO_NULL) {
        warn(s, "stays a list, the keys of its entries may be null");
        return shape_list(s, type, at, out);
    }
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 2);
    bool key_present = false;
    bool value_present = false;
    fz_vec_push(&s->above, entry);
    FZ_TRY(shape_item(s, entry->fields[key_index].type, at, FZ_STR("key"), key_index, &fields[0],
                      &key_present));
    FZ_TRY(shape_item(s, entry->fields[1 - key_index].type, at, FZ_STR("value"), 1 - key_index,
                      &fields[1], &value_present));
    s->above.count--;
    out->type = (fz_type){.kind = FZ_TYPE_MAP, .fields = fields, .field_count = 2};
    out->present = key_present && value_present;
    if (!out->present) {
        warn(s, "left out, the keys or values of its map have no column");
    }
    return FZ_OK;
}

// --- scalars ---

static fz_code nanos_kind(shaper *s, bool zone, fz_type_kind *out) {
    if (s->options->nanos_truncate) {
        *out = zone ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP;
        return FZ_OK;
    }
    if (s->options->format_version >= 3) {
        *out = zone ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS;
        return FZ_OK;
    }
    return refuse(s, "unsupported_type",
                  "timestamps of nanoseconds need format_version: 3 or types.timestamp_nanos: "
                  "truncate");
}

static fz_code shape_logical(shaper *s, const fz_avro_type *type, fz_type *out) {
    switch (type->logical) {
    case FZ_AVRO_LOGICAL_DECIMAL:
        if (type->precision > 38) {
            return refuse(s, "unsupported_type", "decimal(%lld, %lld) has more than 38 digits",
                          (long long)type->precision, (long long)type->scale);
        }
        out->kind = FZ_TYPE_DECIMAL;
        out->precision = (int32_t)type->precision;
        out->scale = (int32_t)type->scale;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_UUID:
        out->kind = FZ_TYPE_UUID;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_DATE:
        out->kind = FZ_TYPE_DATE;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_TIME_MILLIS:
    case FZ_AVRO_LOGICAL_TIME_MICROS:
        out->kind = FZ_TYPE_TIME;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS:
    case FZ_AVRO_LOGICAL_TIMESTAMP_MICROS:
        out->kind = FZ_TYPE_TIMESTAMPTZ;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_LOCAL_MILLIS:
    case FZ_AVRO_LOGICAL_LOCAL_MICROS:
        out->kind = FZ_TYPE_TIMESTAMP;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_TIMESTAMP_NANOS:
        return nanos_kind(s, true, &out->kind);
    case FZ_AVRO_LOGICAL_LOCAL_NANOS:
        return nanos_kind(s, false, &out->kind);
    case FZ_AVRO_LOGICAL_DURATION:
        out->kind = FZ_TYPE_FIXED;
        out->length = 12;
        return FZ_OK;
    case FZ_AVRO_LOGICAL_NONE:
    case FZ_AVRO_LOGICAL_MAP:
        break;
    }
    return fz_err_set(s->err, FZ_INTERNAL, "logical type %d is not one of a scalar", type->logical);
}

static fz_code shape_scalar(shaper *s, const fz_avro_type *type, column *out) {
    static const fz_type_kind kinds[] = {
        [FZ_AVRO_BOOLEAN] = FZ_TYPE_BOOLEAN, [FZ_AVRO_INT] = FZ_TYPE_INT,
        [FZ_AVRO_LONG] = FZ_TYPE_LONG,       [FZ_AVRO_FLOAT] = FZ_TYPE_FLOAT,
        [FZ_AVRO_DOUBLE] = FZ_TYPE_DOUBLE,   [FZ_AVRO_BYTES] = FZ_TYPE_BINARY,
        [FZ_AVRO_STRING] = FZ_TYPE_STRING,   [FZ_AVRO_FIXED] = FZ_TYPE_FIXED,
        [FZ_AVRO_ENUM] = FZ_TYPE_STRING,
    };
    out->present = true;
    if (type->logical != FZ_AVRO_LOGICAL_NONE) {
        return shape_logical(s, type, &out->type);
    }
    out->type.kind = kinds[type->kind];
    if (type->kind == FZ_AVRO_FIXED) {
        if (type->size == 0) {
            return refuse(s, "unsupported_type", "fixed \"%.*s\" of 0 bytes has no column type",
                          FZ_STR_ARGS(type->full_name));
        }
        out->type.length = (int32_t)type->size;
    }
    return FZ_OK;
}

static fz_code shape_known(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    switch (type->kind) {
    case FZ_AVRO_NULL:
        warn(s, "left out, null alone has no column type");
        return FZ_OK;
    case FZ_AVRO_RECORD:
        return shape_record(s, type, at, out);
    case FZ_AVRO_UNION:
        return shape_union(s, type, at, out);
    case FZ_AVRO_ARRAY:
        return type->logical == FZ_AVRO_LOGICAL_MAP ? shape_entries(s, type, at, out)
                                                    : shape_list(s, type, at, out);
    case FZ_AVRO_MAP:
        return shape_map(s, type, at, out);
    default:
        return shape_scalar(s, type, out);
    }
}

static fz_code shape_type(shaper *s, const fz_avro_type *type, const place *at, column *out) {
    *out = (column){0};
    if (s->depth >= MAX_COLUMN_DEPTH) {
        return refuse(s, "depth_limit", "columns nested deeper than %d", MAX_COLUMN_DEPTH);
    }
    if (++s->visits > MAX_VISITS || s->arena->used > MAX_SHAPE_BYTES) {
        return refuse(s, "unsupported_type",
                      "the schema spells out to more than %d types or %zu bytes of names",
                      MAX_VISITS, MAX_SHAPE_BYTES);
    }
    // A union is no level of its own, but where it becomes a struct its branches are below it.
    s->depth += type->kind != FZ_AVRO_UNION || !fz_avro_type_nullable(type);
    fz_code code = shape_known(s, type, at, out);
    s->depth -= type->kind != FZ_AVRO_UNION || !fz_avro_type_nullable(type);
    if (code != FZ_OK) {
        return code;
    }
    if (type->ignored_logical.size) {
        warn(s, "logical type \"%.*s\" is unknown or not valid on %s and is ignored",
             FZ_STR_ARGS(type->ignored_logical), fz_avro_kind_name(type->kind));
    }
    if (out->present && ++s->column_count > MAX_COLUMNS) {
        return refuse(s, "unsupported_type", "more than %d columns", MAX_COLUMNS);
    }
    return FZ_OK;
}

// --- the root ---

// Columns of a record, or one column `value` of whatever else the schema is.
static fz_code shape_root(shaper *s, const fz_avro_type *root, fz_type *out) {
    const fz_avro_type *record = root;
    if (root->kind == FZ_AVRO_UNION && root->branch_count == 1 && !s->options->unions_struct) {
        record = root->branches[0];
    }
    place top = {0};
    if (record->kind == FZ_AVRO_RECORD) {
        fz_vec_push(&s->above, record);
        FZ_TRY(shape_record_fields(s, record, &top, out));
        if (out->field_count == 0) {
            return refuse(s, "unsupported_type", "record \"%.*s\" has no fields with columns",
                          FZ_STR_ARGS(record->full_name));
        }
        return FZ_OK;
    }
    fz_field *fields = FZ_ARENA_ARRAY(s->arena, fz_field, 1);
    place at = child_place(s, &top, FZ_STR("value"), NULL, 0);
    column made = {0};
    FZ_TRY(shape_type(s, root, &at, &made));
    if (!made.present) {
        return refuse(s, "unsupported_type", "%s has no column type",
                      fz_avro_kind_name(root->kind));
    }
    made.flags |= FZ_SHAPE_ORIGIN_ROOT;
    fill_field(&fields[0], &at, FZ_STR("value"), &made, 0);
    *out = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = 1};
    return FZ_OK;
}

fz_code fz_avro_shape(const fz_writer_schema *base, const fz_mapping_options *options,
                      fz_buf *warnings, fz_schema **out, fz_err *err) {
    const fz_avro_schema *schema = (const fz_avro_schema *)base;
    fz_schema *made = fz_schema_new();
    shaper s = {.arena = &made->arena, .options = options, .warnings = warnings, .err = err};
    fz_code code = shape_root(&s, schema->root, &made->root);
    fz_vec_deinit(&s.above);
    fz_buf_deinit(&s.path);
    if (code != FZ_OK) {
        fz_schema_unref(made);
        return code;
    }
    fz_schema_finish(made);
    *out = made;
    return FZ_OK;
}
