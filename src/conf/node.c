// SPDX-License-Identifier: Apache-2.0
// Nodes of a configuration tree, key paths and the list of faults.
#include "conf/node.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"
#include "conf/limits.h"

fz_conf_node *fz_conf_node_find(const fz_conf_node *node, fz_str key) {
    if (!node || node->kind != FZ_CONF_MAP) {
        return NULL;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (fz_str_equal(node->members[i].key, key)) {
            fz_conf_node *value = node->members[i].value;
            return value->kind == FZ_CONF_NULL ? NULL : value;
        }
    }
    return NULL;
}

fz_conf_node *fz_conf_node_new(fz_arena *arena, fz_conf_node_kind kind, const fz_conf_node *like) {
    fz_conf_node *node = FZ_ARENA_NEW(arena, fz_conf_node);
    node->kind = kind;
    node->weight = 1;
    if (like) {
        node->place = like->place;
        node->line = like->line;
        node->column = like->column;
    }
    return node;
}

fz_conf_node *fz_conf_node_with(fz_arena *arena, const fz_conf_node *map, fz_str key,
                                fz_conf_node *value) {
    fz_conf_node *copy = fz_conf_node_new(arena, FZ_CONF_MAP, map ? map : value);
    size_t count = map ? map->count : 0;
    copy->members = FZ_ARENA_ARRAY(arena, fz_conf_member, count + 1);
    bool placed = false;
    for (size_t i = 0; i < count; i++) {
        fz_conf_member member = map->members[i];
        if (fz_str_equal(member.key, key)) {
            if (!value) {
                continue;
            }
            member.value = value;
            member.line = value->line;
            member.column = value->column;
            placed = true;
        }
        copy->members[copy->count++] = member;
    }
    if (value && !placed) {
        copy->members[copy->count++] =
            (fz_conf_member){fz_arena_str(arena, key), value->line, value->column, value};
    }
    for (size_t i = 0; i < copy->count; i++) {
        copy->weight += copy->members[i].value->weight;
    }
    return copy;
}

fz_conf_node *fz_conf_node_scalar(fz_arena *arena, const fz_conf_place *place, fz_str text) {
    fz_conf_node *node = fz_conf_node_new(arena, FZ_CONF_SCALAR, NULL);
    node->place = place;
    node->text = fz_arena_str(arena, text);
    return node;
}

const char *fz_conf_node_kind_name(fz_conf_node_kind kind) {
    switch (kind) {
    case FZ_CONF_NULL:
        return "nothing";
    case FZ_CONF_SCALAR:
        return "a single value";
    case FZ_CONF_LIST:
        return "a list";
    case FZ_CONF_MAP:
        return "a mapping";
    }
    return "?";
}

void fz_conf_path_format(const fz_conf_path *path, fz_buf *out) {
    if (!path) {
        return;
    }
    fz_conf_path_format(path->up, out);
    if (path->name.size) {
        fz_buf_printf(out, "%s%.*s", path->up ? "." : "", FZ_STR_ARGS(path->name));
    } else {
        fz_buf_printf(out, "[%zu]", path->index);
    }
}

/** `file:12:3: key: text`, leaving out what is not known. */
static fz_str message_make(fz_arena *arena, const fz_config_fault *fault) {
    fz_buf text = {0};
    if (fault->file.size) {
        fz_buf_append_str(&text, fault->file);
        if (fault->line) {
            fz_buf_printf(&text, ":%d:%d", fault->line, fault->column);
        }
        fz_buf_printf(&text, ": ");
    }
    if (fault->key.size) {
        fz_buf_append_str(&text, fault->key);
        fz_buf_printf(&text, ": ");
    }
    fz_buf_append_str(&text, fault->text);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 0x20 || text.data[i] == 0x7f) {
            text.data[i] = '?'; // one line, whatever the file holds
        }
    }
    fz_str out = fz_arena_str(arena, fz_buf_view(&text));
    fz_buf_deinit(&text);
    return out;
}

void fz_conf_fault_at(fz_config_faults *faults, const fz_conf_place *place, int line, int column,
                      const fz_conf_path *path, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fz_str view = fz_str_from(text);
    fz_str file = place ? place->name : (fz_str){0};
    fz_buf key = {0};
    fz_conf_path_format(path, &key);
    for (size_t i = 0; i < faults->count; i++) {
        const fz_config_fault *old = &faults->items[i];
        bool same_key = line > 0 || fz_str_equal(old->key, fz_buf_view(&key));
        if (old->line == line && old->column == column && same_key &&
            fz_str_equal(old->file, file) && fz_str_equal(old->text, view)) {
            fz_buf_deinit(&key); // `defaults` are read once for every entry
            return;
        }
    }
    if (faults->count == FZ_CONFIG_MAX_FAULTS) {
        faults->cut = true;
        fz_buf_deinit(&key);
        return;
    }
    fz_config_fault fault = {
        .file = fz_arena_str(&faults->arena, file),
        .line = line,
        .column = column,
        .key = fz_arena_str(&faults->arena, fz_buf_view(&key)),
        .text = fz_arena_str(&faults->arena, view),
    };
    fz_buf_deinit(&key);
    fault.message = message_make(&faults->arena, &fault);
    if (faults->count == faults->capacity) {
        faults->items =
            fz_vec_grow(faults->items, &faults->capacity, faults->count + 1, sizeof(fault));
    }
    faults->items[faults->count++] = fault;
}

void fz_config_faults_deinit(fz_config_faults *faults) {
    if (faults) {
        fz_arena_deinit(&faults->arena);
        fz_free(faults->items);
        *faults = (fz_config_faults){0};
    }
}

void fz_config_faults_format(const fz_config_faults *faults, fz_buf *out) {
    for (size_t i = 0; i < faults->count; i++) {
        fz_buf_append_str(out, faults->items[i].message);
        fz_buf_append_byte(out, '\n');
    }
    if (faults->cut) {
        fz_buf_printf(out, "(more than %d faults)\n", FZ_CONFIG_MAX_FAULTS);
    }
}
