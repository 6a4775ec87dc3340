// SPDX-License-Identifier: Apache-2.0
// Reading and extending the property that links source fields to field ids.
#include "flow/ingest/evolve_link.h"

#include <stdlib.h>

#include "base/codec/hash.h"

static const char side_letters[] = {
    [FZ_EVOLVE_KEY] = 'k', [FZ_EVOLVE_VALUE] = 'v', [FZ_EVOLVE_METADATA] = 'm'};

static bool is_side_key(const char *key, fz_evolve_side side) {
    return key[0] == side_letters[side] && key[1] == ':';
}

fz_code fz_evolve_link_parse(fz_str property, json_t **out, fz_err *err) {
    if (property.size == 0) {
        *out = NULL;
        return FZ_OK;
    }
    json_t *json = NULL;
    fz_code code = fz_json_parse(property, &json, err);
    if (code != FZ_OK) {
        return fz_err_prepend(err, "table property \"%s\"", FZ_EVOLVE_LINK_PROPERTY);
    }
    bool sound = json_is_object(json);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(json, key, value) {
        bool is_link = is_side_key(key, FZ_EVOLVE_KEY) || is_side_key(key, FZ_EVOLVE_VALUE) ||
                       is_side_key(key, FZ_EVOLVE_METADATA);
        json_int_t id = json_integer_value(value);
        sound = sound && json_is_integer(value) && (!is_link || (id > 0 && id <= INT32_MAX));
    }
    if (!sound) {
        json_decref(json);
        return fz_err_set(err, FZ_CORRUPT,
                          "table property \"%s\" is not an object of field ids: %.*s",
                          FZ_EVOLVE_LINK_PROPERTY, (int)(property.size < 100 ? property.size : 100),
                          property.data);
    }
    *out = json;
    return FZ_OK;
}

bool fz_evolve_link_has(const json_t *link, fz_evolve_side side, int32_t id) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)link, key, value) {
        if (is_side_key(key, side) && json_integer_value(value) == id) {
            return true;
        }
    }
    return false;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = ((const fz_evolve_linked *)a)->id;
    int32_t y = ((const fz_evolve_linked *)b)->id;
    return (x > y) - (x < y);
}

void fz_evolve_link_init(fz_evolve_link *link, const json_t *json, fz_evolve_side side) {
    *link = (fz_evolve_link){.side = side};
    link->json = json ? json_incref((json_t *)(uintptr_t)json) : json_object();
    link->owned = json == NULL;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(link->json, key, value) {
        for (int s = 0; s < 3; s++) {
            if (is_side_key(key, (fz_evolve_side)s)) {
                fz_evolve_linked linked = {(int32_t)json_integer_value(value), 1u << s};
                fz_vec_push(&link->linked, linked);
            }
        }
    }
    if (link->linked.count == 0) {
        return;
    }
    qsort(link->linked.data, link->linked.count, sizeof(*link->linked.data), compare_ids);
    size_t count = 1;
    for (size_t i = 1; i < link->linked.count; i++) {
        fz_evolve_linked *last = &link->linked.data[count - 1];
        if (last->id == link->linked.data[i].id) {
            last->sides |= link->linked.data[i].sides;
        } else {
            link->linked.data[count++] = link->linked.data[i];
        }
    }
    link->linked.count = count;
}

void fz_evolve_link_deinit(fz_evolve_link *link) {
    json_decref(link->json);
    fz_vec_deinit(&link->linked);
    fz_buf_deinit(&link->key);
    link->json = NULL;
}

// A member's name; bytes 0, which jansson's texts cannot hold, become \0: identities escape the
// backslash, and a name that meets another one by it is at worst not seen as new.
static const char *make_key(fz_evolve_link *link, const char *prefix, fz_str text) {
    fz_buf_reset(&link->key);
    fz_buf_append_str(&link->key, fz_str_from(prefix));
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\0') {
            fz_buf_append_str(&link->key, FZ_STR("\\0"));
        } else {
            fz_buf_append_byte(&link->key, (uint8_t)text.data[i]);
        }
    }
    return fz_buf_cstr(&link->key);
}

static const char *identity_key(fz_evolve_link *link, fz_str identity) {
    const char prefix[] = {side_letters[link->side], ':', '\0'};
    return make_key(link, prefix, identity);
}

static void set(fz_evolve_link *link, const char *key, int64_t value) {
    const json_t *old = json_object_get(link->json, key);
    if (old && json_integer_value(old) == value) {
        return;
    }
    if (!link->owned) {
        json_t *copy = json_copy(link->json);
        json_decref(link->json);
        link->json = copy;
        link->owned = true;
    }
    json_object_set_new(link->json, key, json_integer(value));
}

int32_t fz_evolve_link_find(fz_evolve_link *link, fz_str identity) {
    if (identity.size == 0) {
        return 0;
    }
    return (int32_t)json_integer_value(json_object_get(link->json, identity_key(link, identity)));
}

void fz_evolve_link_set(fz_evolve_link *link, fz_str identity, int32_t id) {
    if (identity.size > 0) {
        set(link, identity_key(link, identity), id);
    }
}

unsigned fz_evolve_link_sides(const fz_evolve_link *link, int32_t id) {
    const fz_evolve_linked wanted = {id, 0};
    const fz_evolve_linked *found =
        link->linked.count
            ? (const fz_evolve_linked *)bsearch(&wanted, link->linked.data, link->linked.count,
                                                sizeof(*link->linked.data), compare_ids)
            : NULL;
    return found ? found->sides : 0;
}

static bool field_has_id(const fz_field *field, json_int_t id) {
    if (field->id == id) {
        return true;
    }
    for (size_t i = 0; i < field->type.field_count; i++) {
        if (field_has_id(&field->type.fields[i], id)) {
            return true;
        }
    }
    return false;
}

void fz_evolve_link_forget(fz_evolve_link *link, fz_evolve_side side, const fz_field *field) {
    json_t *kept = json_object();
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(link->json, key, value) {
        if (!is_side_key(key, side) || !field_has_id(field, json_integer_value(value))) {
            json_object_set(kept, key, value);
        }
    }
    json_decref(link->json);
    link->json = kept;
    link->owned = true;
}

// --- names ---

// Is `name` the last step of a path of names, where '.' and '\' of a step are escaped?
static bool is_last_step(fz_str identity, fz_str name) {
    size_t at = identity.size;
    for (size_t i = name.size; i > 0; i--) {
        char c = name.data[i - 1];
        if (at == 0 || identity.data[at - 1] != c) {
            return false;
        }
        at--;
        if (c == '.' || c == '\\') {
            if (at == 0 || identity.data[at - 1] != '\\') {
                return false;
            }
            at--;
        }
    }
    if (at == 0) {
        return true;
    }
    if (identity.data[at - 1] != '.') {
        return false;
    }
    size_t escapes = 0;
    for (size_t i = at - 1; i > 0 && identity.data[i - 1] == '\\'; i--) {
        escapes++;
    }
    return escapes % 2 == 0;
}

static const char *name_key(fz_evolve_link *link, int32_t id, fz_str name) {
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "n:%d:", id);
    return make_key(link, prefix, name);
}

bool fz_evolve_link_knows_name(fz_evolve_link *link, fz_str identity, int32_t id, fz_str name) {
    return is_last_step(identity, name) ||
           json_object_get(link->json, name_key(link, id, name)) != NULL;
}

bool fz_evolve_link_was_named(fz_evolve_link *link, int32_t id, fz_str name) {
    if (json_object_get(link->json, name_key(link, id, name))) {
        return true;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(link->json, key, value) {
        if (is_side_key(key, link->side) && json_integer_value(value) == id &&
            is_last_step(fz_str_from(key + 2), name)) {
            return true;
        }
    }
    return false;
}

void fz_evolve_link_add_name(fz_evolve_link *link, fz_str identity, int32_t id, fz_str name) {
    if (!is_last_step(identity, name)) {
        set(link, name_key(link, id, name), id);
    }
}

// --- docs ---

static const char *doc_key(fz_evolve_link *link, int32_t id) {
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "d:%d", id);
    return make_key(link, prefix, FZ_STR(""));
}

static int64_t doc_hash(fz_str doc) {
    return (int64_t)fz_crc32(0, doc.data, doc.size);
}

bool fz_evolve_link_owns_doc(fz_evolve_link *link, const fz_field *column) {
    if (column->doc.size == 0) {
        return true;
    }
    const json_t *hash = json_object_get(link->json, doc_key(link, column->id));
    return hash && json_integer_value(hash) == doc_hash(column->doc);
}

void fz_evolve_link_set_doc(fz_evolve_link *link, int32_t id, fz_str doc) {
    set(link, doc_key(link, id), doc_hash(doc));
}
