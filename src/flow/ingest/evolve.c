// SPDX-License-Identifier: Apache-2.0
// A writer's schema against the table's: what is bound, what is added, widened, relaxed, renamed.
#include "flow/ingest/evolve.h"

#include "flow/ingest/evolve_work.h"

#define MAX_COLUMN_ID 2000000000 // Iceberg's reserved ids are not far above
#define ADVICE "register a compatible schema, or set evolution.incompatible: record_error"

static fz_code bind_struct(fz_evolve_work *work, fz_type *columns, fz_type *shape,
                           fz_evolve_place place);
static fz_code bind_field(fz_evolve_work *work, fz_field *column, fz_field *field,
                          fz_evolve_place place, bool *skip);

// --- messages ---

size_t fz_evolve_path_push(fz_evolve_work *work, fz_str step) {
    size_t size = work->path.size;
    if (size) {
        fz_buf_append_byte(&work->path, '.');
    }
    fz_buf_append_str(&work->path, step);
    return size;
}

static const char *path_text(fz_evolve_work *work) {
    const size_t most = 250; // an end says more than a start
    const char *text = fz_buf_cstr(&work->path);
    return work->path.size > most ? text + (work->path.size - most) : text;
}

static FZ_PRINTF(2, 3) fz_code refuse(fz_evolve_work *work, const char *format, ...) {
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return fz_err_set_kind(work->err, FZ_UNSUPPORTED, "schema_incompatible", "column \"%s\" %s",
                           path_text(work), text);
}

static FZ_PRINTF(2, 3) void change(fz_evolve_work *work, const char *format, ...) {
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fz_buf_append_str(&work->changes, fz_str_from(text));
    fz_buf_append_byte(&work->changes, '\n');
    work->change_count++;
}

static fz_code refuse_types(fz_evolve_work *work, const fz_type *from, const fz_type *to,
                            const char *why) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf old = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf new = {0};
    fz_type_format(from, &old);
    fz_type_format(to, &new);
    return refuse(work, "is %.120s and the schema has %.120s: %s", fz_buf_cstr(&old),
                  fz_buf_cstr(&new), why);
}

static const char not_ours[] =
    "the schema is not registered under the subject of the topic, so the table is not changed for "
    "it";

// --- links ---

// Remember what a field of the source is to a column from now on.
static void link_field(fz_evolve_work *work, const fz_field *column, const fz_field *field) {
    if (!work->input->may_change) {
        return;
    }
    bool fresh = fz_evolve_link_find(&work->link, field->identity) != column->id;
    fz_evolve_link_set(&work->link, field->identity, column->id);
    fz_evolve_link_add_name(&work->link, field->identity, column->id, field->name);
    if (fresh && field->doc.size && fz_str_equal(field->doc, column->doc)) {
        fz_evolve_link_set_doc(&work->link, column->id, field->doc);
    }
}

static void clear_ids(fz_field *field) {
    field->id = 0;
    for (size_t i = 0; i < field->type.field_count; i++) {
        clear_ids(&field->type.fields[i]);
    }
}

// Bind a field to the column that was just made from it.
static void bind_new(fz_evolve_work *work, const fz_field *column, fz_field *field) {
    field->id = column->id;
    link_field(work, column, field);
    for (size_t i = 0; i < field->type.field_count; i++) {
        bind_new(work, &column->type.fields[i], &field->type.fields[i]);
    }
}

// --- requiredness ---

static bool has_id(const fz_field *field, int32_t id) {
    if (field->id == id) {
        return true;
    }
    for (size_t i = 0; i < field->type.field_count; i++) {
        if (has_id(&field->type.fields[i], id)) {
            return true;
        }
    }
    return false;
}

static fz_code relax(fz_evolve_work *work, fz_field *column, fz_evolve_place place) {
    if (place.in_key) {
        return refuse(work, "is in a map's key and cannot become optional: " ADVICE);
    }
    for (size_t i = 0; i < work->table->identifier_count; i++) {
        if (has_id(column, work->table->identifier_ids[i])) {
            return refuse(work, "is an identifier of the table and cannot become optional: "
                                "make the field required, or drop the identifier");
        }
    }
    column->required = false;
    change(work, "make column \"%s\" optional", path_text(work));
    return FZ_OK;
}

// A column for which the schema has no field.
static fz_code bind_absent(fz_evolve_work *work, fz_field *column, fz_evolve_place place) {
    const fz_evolve_input *input = work->input;
    unsigned sides = fz_evolve_link_sides(&work->link, column->id);
    unsigned own = 1u << input->side;
    bool owned = !place.top || (sides & own) || (input->side == FZ_EVOLVE_VALUE && sides == 0);
    if (!owned) {
        return FZ_OK;
    }
    bool filled = column->write_default.size > 0 && !fz_type_is_nested(&column->type);
    bool linked = (sides & own) != 0;
    size_t size = fz_evolve_path_push(work, column->name);
    fz_code code = FZ_OK;
    if (!input->may_change) {
        if (column->required && !filled) {
            code = refuse(work, "is required and the schema has no field for it: %s", not_ours);
        }
    } else if (linked && input->policy.drop == FZ_POLICY_SUSPEND && !input->older) {
        code = refuse(work, "has no field in the schema any more and evolution.drop is suspend: "
                            "bring the field back or set evolution.drop: keep");
    } else if (column->required && !filled) {
        code = relax(work, column, place);
    }
    work->path.size = size;
    return code;
}

// --- types ---

static fz_code widen(fz_evolve_work *work, fz_field *column, const fz_field *field) {
    fz_arena *arena = &work->table->arena;
    FZ_CLEANUP(fz_buf_deinit) fz_buf old = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf new = {0};
    fz_type_format(&column->type, &old);
    fz_type_format(&field->type, &new);
    change(work, "widen column \"%s\" %s to %s", path_text(work), fz_buf_cstr(&old),
           fz_buf_cstr(&new));
    fz_str *defaults[] = {&column->initial_default, &column->write_default};
    for (size_t i = 0; i < FZ_COUNT(defaults) && column->type.kind == FZ_TYPE_DATE; i++) {
        fz_str text = *defaults[i];
        if (text.size >= 2 && text.data[text.size - 1] == '"') {
            text.size--;
            *defaults[i] = fz_arena_printf(arena, "%.*sT00:00:00\"", FZ_STR_ARGS(text));
        }
    }
    column->type.kind = field->type.kind;
    column->type.precision = field->type.precision;
    column->type.scale = field->type.scale;
    return FZ_OK;
}

static fz_code bind_scalar(fz_evolve_work *work, fz_field *column, const fz_field *field,
                           fz_evolve_place place, bool *skip) {
    const fz_evolve_input *input = work->input;
    if (fz_evolve_fits(&field->type, &column->type)) {
        return FZ_OK;
    }
    if (place.in_key || !fz_evolve_fits(&column->type, &field->type)) {
        return refuse_types(work, &column->type, &field->type, ADVICE);
    }
    if (!input->may_change) {
        return refuse_types(work, &column->type, &field->type, not_ours);
    }
    if (column->type.kind == FZ_TYPE_DATE && input->format_version < 3) {
        return refuse_types(work, &column->type, &field->type,
                            "this widening needs format_version: 3");
    }
    if (input->policy.widen == FZ_POLICY_SUSPEND) {
        return refuse_types(work, &column->type, &field->type,
                            "evolution.widen is suspend: widen the column or set "
                            "evolution.widen: apply");
    }
    if (input->policy.widen == FZ_POLICY_IGNORE) {
        *skip = true;
        return FZ_OK;
    }
    return widen(work, column, field);
}

static fz_code bind_item(fz_evolve_work *work, fz_field *column, fz_field *field,
                         fz_evolve_place place, bool *skip) {
    size_t size = fz_evolve_path_push(work, column->name);
    int32_t before = fz_evolve_link_find(&work->link, field->identity);
    place.top = false;
    place.relinked = place.relinked || (before > 0 && before != column->id);
    link_field(work, column, field);
    fz_code code = bind_field(work, column, field, place, skip);
    work->path.size = size;
    return code;
}

static fz_code bind_type(fz_evolve_work *work, fz_field *column, fz_field *field,
                         fz_evolve_place place, bool *skip) {
    fz_type *to = &column->type;
    fz_type *from = &field->type;
    if (!fz_type_is_nested(to) && !fz_type_is_nested(from)) {
        return bind_scalar(work, column, field, place, skip);
    }
    if (to->kind != from->kind) {
        return refuse_types(work, to, from, ADVICE);
    }
    place.top = false;
    if (to->kind == FZ_TYPE_STRUCT) {
        return bind_struct(work, to, from, place);
    }
    FZ_ASSERT(to->field_count == from->field_count);
    for (size_t i = 0; i < to->field_count; i++) {
        fz_evolve_place below = place;
        below.in_key = place.in_key || (to->kind == FZ_TYPE_MAP && i == 0);
        FZ_TRY(bind_item(work, &to->fields[i], &from->fields[i], below, skip));
    }
    return FZ_OK;
}

/** *skip is set, and nothing bound, where a policy leaves the column as it is. */
static fz_code bind_field(fz_evolve_work *work, fz_field *column, fz_field *field,
                          fz_evolve_place place, bool *skip) {
    FZ_TRY(bind_type(work, column, field, place, skip));
    if (*skip) {
        return FZ_OK;
    }
    field->id = column->id;
    bool required = field->required && !(place.top && work->input->side == FZ_EVOLVE_KEY);
    if (column->required && !required && !place.in_key && work->input->may_change) {
        FZ_TRY(relax(work, column, place));
    }
    if (field->doc.size && !fz_str_equal(field->doc, column->doc) && work->input->may_change &&
        fz_evolve_link_owns_doc(&work->link, column)) {
        fz_evolve_doc doc = {column, field->doc};
        fz_vec_push(&work->docs, doc);
    }
    return FZ_OK;
}

// --- structs ---

static fz_code rename_column(fz_evolve_work *work, fz_evolve_level *level, size_t i) {
    const fz_field *field = &level->shape->fields[i];
    int32_t index = level->column[i];
    fz_field *column = &level->columns->fields[index];
    if (fz_str_equal(field->name, column->name) || level->place.in_key ||
        !work->input->may_change) {
        return FZ_OK;
    }
    if (!level->renamed[i] &&
        fz_evolve_link_knows_name(&work->link, field->identity, column->id, field->name)) {
        return FZ_OK; // an older writer, or somebody renamed the column in the table
    }
    if (!fz_evolve_link_was_named(&work->link, column->id, column->name)) {
        return FZ_OK; // a name that somebody else gave stays
    }
    size_t size = fz_evolve_path_push(work, column->name);
    fz_code code = FZ_OK;
    if (work->input->policy.rename == FZ_POLICY_SUSPEND) {
        code = refuse(work,
                      "is renamed to \"%.*s\" and evolution.rename is suspend: set "
                      "evolution.rename: apply or keep_name",
                      FZ_STR_ARGS(fz_str_slice(field->name, 0, 200)));
    } else if (work->input->policy.rename == FZ_POLICY_APPLY) {
        change(work, "rename column \"%s\" to \"%.*s\"", path_text(work),
               FZ_STR_ARGS(fz_str_slice(field->name, 0, 200)));
        work->path.size = size;
        code = fz_evolve_level_check_name(work, level, field->name, index);
        if (code == FZ_OK) {
            fz_evolve_level_drop_name(level, (size_t)index);
            column->name = fz_arena_str(&work->table->arena, field->name);
            fz_evolve_level_put_name(level, (size_t)index);
        }
    }
    work->path.size = size;
    return code;
}

static void grow(fz_evolve_work *work, fz_evolve_level *level) {
    if (level->grown) {
        return;
    }
    fz_type *columns = level->columns;
    fz_field *fields = FZ_ARENA_ARRAY(&work->table->arena, fz_field,
                                      columns->field_count + level->shape->field_count);
    if (columns->field_count) {
        memcpy(fields, columns->fields, columns->field_count * sizeof(*fields));
    }
    columns->fields = fields;
    level->grown = true;
}

static fz_code add_column(fz_evolve_work *work, fz_evolve_level *level, size_t i) {
    const fz_evolve_input *input = work->input;
    fz_field *field = &level->shape->fields[i];
    level->column[i] = FZ_EVOLVE_SKIP;
    if (!input->may_change || input->policy.add == FZ_POLICY_IGNORE) {
        return FZ_OK;
    }
    FZ_TRY(fz_evolve_level_check_name(work, level, field->name, -1));
    size_t size = fz_evolve_path_push(work, field->name);
    fz_code code = FZ_OK;
    if (level->place.in_key) {
        code = refuse(work, "would be new in a map's key, which cannot change: " ADVICE);
    } else if (input->policy.add == FZ_POLICY_SUSPEND) {
        code = refuse(work, "is not in the table and evolution.add is suspend: add the column or "
                            "set evolution.add: apply");
    } else if (work->last_id >= MAX_COLUMN_ID) {
        code = fz_err_set(work->err, FZ_LIMIT, "no field id is left for column \"%s\"",
                          path_text(work));
    }
    if (code == FZ_OK) {
        grow(work, level);
        fz_field *column = &level->columns->fields[level->columns->field_count++];
        fz_evolve_column(&work->table->arena, field, input->format_version, column);
        column->required = false;
        column->id = ++work->last_id;
        fz_type_assign_ids(&column->type, &work->last_id);
        fz_evolve_level_put_name(level, level->columns->field_count - 1);
        bind_new(work, column, field);
        FZ_CLEANUP(fz_buf_deinit) fz_buf type = {0};
        fz_type_format(&column->type, &type);
        change(work, "add column \"%s\" %.200s", path_text(work), fz_buf_cstr(&type));
    }
    work->path.size = size;
    return code;
}

// Fields that have a column from before.
static fz_code bind_known(fz_evolve_work *work, fz_evolve_level *level, size_t i) {
    fz_field *field = &level->shape->fields[i];
    fz_field *column = &level->columns->fields[level->column[i]];
    fz_evolve_place place = level->place;
    place.relinked = level->relinked[i];
    size_t size = fz_evolve_path_push(work, column->name);
    bool skip = false;
    fz_code code = bind_field(work, column, field, place, &skip);
    if (code == FZ_OK && skip) {
        clear_ids(field);
        if (column->required) {
            code = refuse(work, "is required and too narrow for the schema, and evolution.widen "
                                "is ignore: set evolution.widen: apply");
        }
    }
    work->path.size = size;
    return code;
}

static fz_code bind_level(fz_evolve_work *work, fz_evolve_level *level) {
    FZ_TRY(fz_evolve_match(work, level));
    size_t count = level->shape->field_count;
    for (size_t i = 0; i < count; i++) {
        if (level->column[i] >= 0) {
            FZ_TRY(rename_column(work, level, i));
            link_field(work, &level->columns->fields[level->column[i]], &level->shape->fields[i]);
        }
    }
    // new columns before the walk below: afterwards columns do not move
    for (size_t i = 0; i < count; i++) {
        if (level->column[i] == FZ_EVOLVE_NEW) {
            FZ_TRY(add_column(work, level, i));
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (level->column[i] >= 0) {
            FZ_TRY(bind_known(work, level, i));
        }
    }
    for (size_t i = 0; i < level->old_count; i++) {
        if (!level->taken[i]) {
            FZ_TRY(bind_absent(work, &level->columns->fields[i], level->place));
        }
    }
    return FZ_OK;
}

static fz_code bind_struct(fz_evolve_work *work, fz_type *columns, fz_type *shape,
                           fz_evolve_place place) {
    fz_evolve_level level;
    fz_evolve_level_init(&level, columns, shape, place);
    fz_code code = bind_level(work, &level);
    fz_evolve_level_deinit(&level);
    return code;
}

// --- all of it ---

static fz_schema *copy_schema(const fz_schema *from) {
    fz_schema *copy = fz_schema_new();
    copy->schema_id = from->schema_id;
    copy->root = fz_type_copy(&copy->arena, &from->root);
    copy->identifier_count = from->identifier_count;
    if (from->identifier_count) {
        copy->identifier_ids = FZ_ARENA_ARRAY(&copy->arena, int32_t, from->identifier_count);
        memcpy(copy->identifier_ids, from->identifier_ids,
               from->identifier_count * sizeof(*copy->identifier_ids));
    }
    fz_schema_finish(copy);
    return copy;
}

// A doc alone is no reason for another schema: writers with two docs would never come to rest.
static void apply_docs(fz_evolve_work *work) {
    for (size_t i = 0; work->change_count > 0 && i < work->docs.count; i++) {
        fz_field *column = work->docs.data[i].column;
        column->doc = fz_arena_str(&work->table->arena, work->docs.data[i].doc);
        fz_evolve_link_set_doc(&work->link, column->id, column->doc);
    }
}

// --- aliases ---

static void collect_identities(const fz_type *shape, fz_map *out, bool *aliases) {
    for (size_t i = 0; i < shape->field_count; i++) {
        const fz_field *field = &shape->fields[i];
        if (field->identity.size) {
            fz_map_put(out, field->identity, (void *)(uintptr_t)field);
        }
        *aliases = *aliases || field->alias_count > 0;
        collect_identities(&field->type, out, aliases);
    }
}

static void link_older_names(fz_evolve_work *work, const fz_type *shape, const fz_map *present) {
    for (size_t i = 0; i < shape->field_count; i++) {
        const fz_field *field = &shape->fields[i];
        for (size_t a = 0; a < field->alias_count && field->id > 0; a++) {
            if (!fz_map_find(present, field->aliases[a]) &&
                fz_evolve_link_find(&work->link, field->aliases[a]) == 0) {
                fz_evolve_link_set(&work->link, field->aliases[a], field->id);
            }
        }
        link_older_names(work, &field->type, present);
    }
}

// A table may be made from the newest schema and meet the older ones only then: what they call by
// an alias of a column is that column.
static void link_aliases(fz_evolve_work *work, const fz_type *shape) {
    fz_map present = {0};
    bool aliases = false;
    collect_identities(shape, &present, &aliases);
    if (aliases && work->input->may_change) {
        link_older_names(work, shape, &present);
    }
    fz_map_deinit(&present);
}

static void finish(fz_evolve_work *work, fz_schema *shape, fz_evolve_result *out) {
    const fz_evolve_input *input = work->input;
    *out = (fz_evolve_result){.shape = shape,
                              .last_column_id = work->last_id,
                              .changes = work->changes,
                              .change_count = work->change_count,
                              .link = json_incref(work->link.json)};
    work->changes = (fz_buf){0};
    out->link_changed =
        input->link ? !json_equal(input->link, out->link) : json_object_size(out->link) > 0;
    fz_schema_finish(shape);
    if (work->change_count > 0) {
        fz_schema_finish(work->table);
        out->table = fz_schema_ref(work->table);
    }
}

fz_code fz_ingest_evolve(const fz_evolve_input *input, fz_evolve_result *out, fz_err *err) {
    fz_evolve_work work = {.input = input, .table = copy_schema(input->table), .err = err};
    fz_schema *shape = copy_schema(input->shape);
    for (size_t i = 0; i < shape->root.field_count; i++) {
        clear_ids(&shape->root.fields[i]);
    }
    work.last_id = input->last_column_id > work.table->highest_id ? input->last_column_id
                                                                  : work.table->highest_id;
    fz_evolve_link_init(&work.link, input->link, input->side);
    const fz_evolve_place top = {.top = true};
    fz_code code = bind_struct(&work, &work.table->root, &shape->root, top);
    if (code == FZ_OK) {
        apply_docs(&work);
        link_aliases(&work, &shape->root);
        finish(&work, shape, out);
    } else {
        fz_schema_unref(shape);
    }
    fz_schema_unref(work.table);
    fz_evolve_link_deinit(&work.link);
    fz_buf_deinit(&work.changes);
    fz_buf_deinit(&work.path);
    fz_vec_deinit(&work.docs);
    return code;
}

void fz_evolve_result_deinit(fz_evolve_result *result) {
    if (!result) {
        return;
    }
    fz_schema_unref(result->table);
    fz_schema_unref(result->shape);
    json_decref(result->link);
    fz_buf_deinit(&result->changes);
    *result = (fz_evolve_result){0};
}
