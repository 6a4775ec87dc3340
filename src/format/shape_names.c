// SPDX-License-Identifier: Apache-2.0
// Identities are paths of names; twins are found by their folded names.
#include "format/shape_names.h"

#include "base/map.h"

fz_str fz_shape_identity(fz_arena *arena, fz_str parent, fz_str step) {
    size_t room = parent.size + 1 + 2 * step.size + 2;
    char *text = (char *)fz_arena_alloc(arena, room, 1);
    size_t size = 0;
    if (parent.size) {
        memcpy(text, parent.data, parent.size);
        size = parent.size;
        text[size++] = '.';
    }
    for (size_t i = 0; i < step.size; i++) {
        if (step.data[i] == '.' || step.data[i] == '\\') {
            text[size++] = '\\';
        }
        text[size++] = step.data[i];
    }
    if (step.size == 0) {
        text[size++] = '\\';
        text[size++] = 'e';
    }
    return fz_str_make(text, size);
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const fz_field *fz_shape_find_twins(const fz_field *fields, size_t count, bool any_case,
                                    const fz_field **twin) {
    fz_map seen = {0};
    fz_buf key = {0};
    const fz_field *found = NULL;
    for (size_t i = 0; i < count && !found; i++) {
        fz_buf_reset(&key);
        for (size_t c = 0; c < fields[i].name.size; c++) {
            fz_buf_append_byte(&key, (uint8_t)lower(fields[i].name.data[c]));
        }
        const fz_field *other =
            (const fz_field *)fz_map_put(&seen, fz_buf_view(&key), (void *)(uintptr_t)&fields[i]);
        if (other && (!any_case || fz_str_equal(other->name, fields[i].name))) {
            *twin = &fields[i];
            found = other;
        }
    }
    fz_buf_deinit(&key);
    fz_map_deinit(&seen);
    return found;
}

const fz_field *fz_shape_find_origin(const fz_type *shape, size_t index, size_t *next) {
    for (size_t i = 0; i < shape->field_count; i++) {
        size_t at = (*next + i) % shape->field_count;
        if ((size_t)(shape->fields[at].origin & FZ_SHAPE_ORIGIN_INDEX) == index) {
            *next = at + 1;
            return &shape->fields[at];
        }
    }
    return NULL;
}

const fz_field *fz_shape_find_target(const fz_type *target, const fz_field *shape,
                                     uint32_t *column) {
    for (size_t i = 0; shape && shape->id != 0 && i < target->field_count; i++) {
        if (target->fields[i].id == shape->id) {
            *column = (uint32_t)i;
            return &target->fields[i];
        }
    }
    return NULL;
}
