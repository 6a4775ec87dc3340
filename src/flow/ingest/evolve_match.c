// SPDX-License-Identifier: Apache-2.0
// Finding the column of each field at one level of a schema.
#include "flow/ingest/evolve_work.h"

bool fz_evolve_related(const fz_type *a, const fz_type *b) {
    if (fz_type_is_nested(a) || fz_type_is_nested(b)) {
        return a->kind == b->kind;
    }
    return fz_evolve_fits(a, b) || fz_evolve_fits(b, a);
}

// --- the level ---

static void *from_index(size_t index) {
    return (void *)(uintptr_t)(index + 1);
}

static int32_t to_index(const void *value) {
    return (int32_t)(uintptr_t)value - 1;
}

static fz_str id_key(const int32_t *id) {
    return fz_str_make(id, sizeof(*id));
}

static void lower(fz_str name, fz_buf *out) {
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        fz_buf_append_byte(out, (uint8_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
    }
}

void fz_evolve_level_put_name(fz_evolve_level *level, size_t index) {
    fz_str name = level->columns->fields[index].name;
    FZ_CLEANUP(fz_buf_deinit) fz_buf folded = {0};
    lower(name, &folded);
    fz_map_put(&level->by_name, name, from_index(index));
    fz_map_put(&level->by_lower, fz_buf_view(&folded), from_index(index));
}

void fz_evolve_level_drop_name(fz_evolve_level *level, size_t index) {
    fz_str name = level->columns->fields[index].name;
    FZ_CLEANUP(fz_buf_deinit) fz_buf folded = {0};
    lower(name, &folded);
    fz_map_remove(&level->by_name, name);
    fz_map_remove(&level->by_lower, fz_buf_view(&folded));
}

void fz_evolve_level_init(fz_evolve_level *level, fz_type *columns, fz_type *shape,
                          fz_evolve_place place) {
    *level = (fz_evolve_level){
        .columns = columns, .shape = shape, .place = place, .old_count = columns->field_count};
    level->column = (int32_t *)fz_calloc(shape->field_count + 1, sizeof(*level->column));
    level->renamed = (bool *)fz_calloc(shape->field_count + 1, sizeof(bool));
    level->relinked = (bool *)fz_calloc(shape->field_count + 1, sizeof(bool));
    level->taken = (bool *)fz_calloc(columns->field_count + 1, sizeof(bool));
    for (size_t i = 0; i < shape->field_count; i++) {
        level->column[i] = FZ_EVOLVE_NEW;
    }
    for (size_t i = 0; i < columns->field_count; i++) {
        fz_map_put(&level->by_id, id_key(&columns->fields[i].id), from_index(i));
        fz_evolve_level_put_name(level, i);
    }
}

void fz_evolve_level_deinit(fz_evolve_level *level) {
    fz_map_deinit(&level->by_id);
    fz_map_deinit(&level->by_name);
    fz_map_deinit(&level->by_lower);
    fz_free(level->column);
    fz_free(level->renamed);
    fz_free(level->relinked);
    fz_free(level->taken);
}

int32_t fz_evolve_level_find_id(const fz_evolve_level *level, int32_t id) {
    return to_index(fz_map_find(&level->by_id, id_key(&id)));
}

fz_code fz_evolve_level_check_name(fz_evolve_work *work, const fz_evolve_level *level, fz_str name,
                                   int32_t self) {
    const char *path = work->path.size ? fz_buf_cstr(&work->path) : "";
    const char *dot = work->path.size ? "." : "";
    int32_t twin = to_index(fz_map_find(&level->by_name, name));
    if (twin >= 0 && twin != self) {
        return fz_err_set_kind(work->err, FZ_UNSUPPORTED, "unsupported_type",
                               "column \"%.300s%s%.*s\" is there already and belongs to another "
                               "field: rename one of them",
                               path, dot, FZ_STR_ARGS(fz_str_slice(name, 0, 200)));
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf folded = {0};
    lower(name, &folded);
    twin = to_index(fz_map_find(&level->by_lower, fz_buf_view(&folded)));
    if (twin >= 0 && twin != self) {
        fz_str other = level->columns->fields[twin].name;
        return fz_err_set_kind(work->err, FZ_UNSUPPORTED, "unsupported_type",
                               "columns \"%.250s%s%.*s\" and \"%.*s\" differ only in case: rename "
                               "one of them or set types.names: lower_suffix",
                               path, dot, FZ_STR_ARGS(fz_str_slice(name, 0, 120)),
                               FZ_STR_ARGS(fz_str_slice(other, 0, 120)));
    }
    return FZ_OK;
}

// --- by link ---

static void take(fz_evolve_level *level, size_t field, int32_t column) {
    level->column[field] = column;
    level->taken[column] = true;
}

// Is an alias of the field linked to the same column? Then it is the one that was renamed, and
// another field that has the old name again is new.
static bool alias_shares(fz_evolve_work *work, const fz_field *field, int32_t id) {
    for (size_t i = 0; i < field->alias_count; i++) {
        if (fz_evolve_link_find(&work->link, field->aliases[i]) == id) {
            return true;
        }
    }
    return false;
}

// Two fields may be linked to one column after a rename; the better claim goes first.
static int claim(fz_evolve_work *work, const fz_evolve_level *level, const fz_field *field,
                 int32_t column) {
    const fz_field *at = &level->columns->fields[column];
    if (alias_shares(work, field, at->id)) {
        return 0;
    }
    return fz_str_equal(field->name, at->name) ? 1 : 2;
}

static void match_links(fz_evolve_work *work, fz_evolve_level *level, int32_t *linked) {
    for (size_t i = 0; i < level->shape->field_count; i++) {
        linked[i] = fz_evolve_link_find(&work->link, level->shape->fields[i].identity);
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < level->shape->field_count; i++) {
            int32_t column =
                linked[i] > 0 ? fz_evolve_level_find_id(level, linked[i]) : FZ_EVOLVE_NEW;
            if (column < 0 || level->column[i] >= 0 || level->taken[column]) {
                continue;
            }
            if (claim(work, level, &level->shape->fields[i], column) == round) {
                take(level, i, column);
            }
        }
    }
}

// A field whose alias is linked: the column was renamed at the source. A column that somebody
// dropped from the table is not made again under a new name.
static void match_aliases(fz_evolve_work *work, fz_evolve_level *level, int32_t *linked) {
    for (size_t i = 0; i < level->shape->field_count; i++) {
        const fz_field *field = &level->shape->fields[i];
        if (level->column[i] >= 0 || linked[i] > 0) {
            continue;
        }
        for (size_t a = 0; a < field->alias_count && level->column[i] < 0; a++) {
            int32_t id = fz_evolve_link_find(&work->link, field->aliases[a]);
            int32_t column = id > 0 ? fz_evolve_level_find_id(level, id) : FZ_EVOLVE_NEW;
            if (column >= 0 && !level->taken[column]) {
                take(level, i, column);
                level->renamed[i] = true;
            } else if (id > 0 && column < 0) {
                linked[i] = id;
            }
        }
    }
}

// --- by name ---

// What a column that is linked already means for a field of the same name.
static fz_code match_foreign(fz_evolve_work *work, fz_evolve_level *level, size_t i, int32_t column,
                             unsigned sides) {
    const unsigned value = 1u << FZ_EVOLVE_VALUE;
    const unsigned key = 1u << FZ_EVOLVE_KEY;
    fz_field *at = &level->columns->fields[column];
    fz_field *field = &level->shape->fields[i];
    if (level->place.top && work->input->side == FZ_EVOLVE_KEY && sides == value) {
        level->column[i] = FZ_EVOLVE_SKIP; // the value's column wins
        return FZ_OK;
    }
    if (!work->input->may_change) {
        level->column[i] = FZ_EVOLVE_SKIP;
        return FZ_OK;
    }
    if (level->place.top && work->input->side == FZ_EVOLVE_VALUE && sides == key &&
        fz_evolve_related(&at->type, &field->type)) {
        fz_evolve_link_forget(&work->link, FZ_EVOLVE_KEY, at);
        take(level, i, column);
        level->relinked[i] = true;
    }
    return FZ_OK; // else it is new, and the name is refused
}

static fz_code match_name(fz_evolve_work *work, fz_evolve_level *level, size_t i, bool dead) {
    const fz_field *field = &level->shape->fields[i];
    int32_t column = to_index(fz_map_find(&level->by_name, field->name));
    if (dead) {
        level->column[i] = FZ_EVOLVE_SKIP;
    }
    if (column < 0 || level->taken[column]) {
        return FZ_OK;
    }
    const fz_field *at = &level->columns->fields[column];
    unsigned sides = fz_evolve_link_sides(&work->link, at->id);
    if (sides != 0) {
        return dead ? FZ_OK : match_foreign(work, level, i, column, sides);
    }
    if (!dead || fz_evolve_related(&at->type, &field->type)) {
        take(level, i, column);
        level->relinked[i] = true;
    }
    return FZ_OK;
}

fz_code fz_evolve_match(fz_evolve_work *work, fz_evolve_level *level) {
    size_t count = level->shape->field_count;
    int32_t *linked = (int32_t *)fz_calloc(count + 1, sizeof(*linked));
    match_links(work, level, linked);
    match_aliases(work, level, linked);
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        if (level->column[i] >= 0) {
            continue;
        }
        // linked to a column that is no longer in the table; one that another field has taken
        // leaves this one free
        bool dead = linked[i] > 0 && fz_evolve_level_find_id(level, linked[i]) < 0 &&
                    !level->place.relinked;
        code = match_name(work, level, i, dead);
        if (dead && level->column[i] == FZ_EVOLVE_SKIP && work->input->may_change) {
            fz_evolve_link_set(&work->link, level->shape->fields[i].identity, linked[i]);
        }
    }
    fz_free(linked);
    return code;
}
