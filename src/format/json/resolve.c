// SPDX-License-Identifier: Apache-2.0
// JSON Schema core, "Base URI, Anchors, and Dereferencing"; RFC 3986 section 5.2; RFC 6901.
#include "format/json/resolve.h"

#include "base/codec/text_codec.h"
#include "base/memory.h"

#define MAX_NODES 1000000
#define MAX_DEPTH 512

void fz_json_resolver_deinit(fz_json_resolver *resolver) {
    fz_map_deinit(&resolver->places);
}

// --- URIs ---

static size_t scheme_size(fz_str uri) {
    for (size_t i = 0; i < uri.size; i++) {
        char c = uri.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (c == ':') {
            return i;
        }
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'))) {
            return 0;
        }
    }
    return 0;
}

// Index of the path behind scheme and authority.
static size_t path_at(fz_str uri) {
    size_t at = scheme_size(uri);
    at += at > 0;
    if (uri.size - at >= 2 && uri.data[at] == '/' && uri.data[at + 1] == '/') {
        size_t slash = fz_str_find(uri, '/', at + 2);
        return slash == SIZE_MAX ? uri.size : slash;
    }
    return at;
}

// "." and ".." steps of the path are taken out.
static fz_str without_dots(fz_arena *arena, fz_str uri) {
    size_t start = path_at(uri);
    char *out = (char *)fz_arena_alloc(arena, uri.size + 1, 1);
    memcpy(out, uri.data, start);
    size_t size = start;
    size_t at = start;
    while (at < uri.size) {
        size_t slash = fz_str_find(uri, '/', at);
        size_t end = slash == SIZE_MAX ? uri.size : slash + 1;
        fz_str step = fz_str_slice(uri, at, slash == SIZE_MAX ? uri.size : slash);
        if (fz_str_equal(step, FZ_STR(".."))) {
            size -= size > start && out[size - 1] == '/';
            while (size > start && out[size - 1] != '/') {
                size--;
            }
            if (size == start && start < uri.size && uri.data[start] == '/') {
                out[size++] = '/';
            }
        } else if (!fz_str_equal(step, FZ_STR("."))) {
            memcpy(out + size, uri.data + at, end - at);
            size += end - at;
        }
        at = end;
    }
    return fz_str_make(out, size);
}

// `reference`, which has no fragment, seen from `base`.
static fz_str join(fz_arena *arena, fz_str base, fz_str reference) {
    if (reference.size == 0) {
        return base;
    }
    if (scheme_size(reference) || base.size == 0) {
        return fz_arena_str(arena, reference);
    }
    size_t keep = path_at(base);
    if (fz_str_starts_with(reference, FZ_STR("//"))) {
        keep = scheme_size(base) + 1;
    } else if (reference.data[0] != '/') {
        for (size_t i = base.size; i > keep; i--) {
            if (base.data[i - 1] == '/') {
                keep = i;
                break;
            }
        }
    }
    if (scheme_size(base) && keep == path_at(base) && base.size == scheme_size(base) + 1) {
        keep = 0;
    }
    bool slash = keep > 0 && base.data[keep - 1] != '/' && reference.data[0] != '/' &&
                 keep == path_at(base) && fz_str_find_str(base, FZ_STR("//")) != SIZE_MAX;
    fz_str joined = fz_arena_printf(arena, "%.*s%s%.*s", FZ_STR_ARGS(fz_str_slice(base, 0, keep)),
                                    slash ? "/" : "", FZ_STR_ARGS(reference));
    return without_dots(arena, joined);
}

// --- indexing ---

static fz_code bad_schema(fz_err *err, fz_str name, const char *what) {
    return fz_err_set_kind(err, FZ_CORRUPT, "schema_parse", "%s%.*s%s%s",
                           name.size ? "reference \"" : "", FZ_STR_ARGS(fz_str_slice(name, 0, 200)),
                           name.size ? "\": " : "", what);
}

static void remember(fz_json_resolver *resolver, fz_str uri, const fz_json_place *place) {
    if (fz_map_find(&resolver->places, uri)) {
        return; // the first one counts
    }
    fz_json_place *copy = FZ_ARENA_NEW(&resolver->schema->arena, fz_json_place);
    *copy = *place;
    fz_map_put(&resolver->places, uri, copy);
}

static fz_str identifier(const json_t *node) {
    fz_str id = fz_json_str_or(node, "$id");
    return id.size ? id : fz_json_str_or(node, "id"); // draft-04
}

fz_json_place fz_json_place_child(fz_json_resolver *resolver, const fz_json_place *parent,
                                  const json_t *node) {
    fz_json_place place = *parent;
    place.node = node;
    if (!json_is_object(node)) {
        return place;
    }
    fz_str draft = fz_json_str_or(node, "$schema");
    if (draft.size) {
        place.siblings = fz_str_find_str(draft, FZ_STR("/draft/20")) != SIZE_MAX;
    }
    fz_str id = identifier(node);
    bool beside_reference = !place.siblings && json_is_string(json_object_get(node, "$ref"));
    if (id.size == 0 || id.data[0] == '#' || beside_reference) {
        return place;
    }
    size_t hash = fz_str_find(id, '#', 0);
    fz_str plain = fz_str_slice(id, 0, hash == SIZE_MAX ? id.size : hash);
    place.base = join(&resolver->schema->arena, parent->base, plain);
    place.resource = node;
    return place;
}

static void index_names(fz_json_resolver *resolver, const fz_json_place *place) {
    static const char *const anchors[] = {"$anchor", "$dynamicAnchor"};
    fz_arena *arena = &resolver->schema->arena;
    fz_str id = identifier(place->node);
    if (place->resource == place->node && id.size) {
        remember(resolver, place->base, place);
    }
    size_t hash = fz_str_find(id, '#', 0);
    if (hash != SIZE_MAX && hash + 1 < id.size) { // draft-04 to 07: an anchor
        fz_str anchor = fz_str_slice(id, hash, id.size);
        remember(resolver,
                 fz_arena_printf(arena, "%.*s%.*s", FZ_STR_ARGS(place->base), FZ_STR_ARGS(anchor)),
                 place);
    }
    for (size_t i = 0; i < FZ_COUNT(anchors); i++) {
        fz_str anchor = fz_json_str_or(place->node, anchors[i]);
        if (anchor.size) {
            fz_str uri =
                fz_arena_printf(arena, "%.*s#%.*s", FZ_STR_ARGS(place->base), FZ_STR_ARGS(anchor));
            remember(resolver, uri, place);
        }
    }
}

static bool index_node(fz_json_resolver *resolver, const fz_json_place *parent, const json_t *node,
                       unsigned depth) {
    if (++resolver->visits > MAX_NODES || depth > MAX_DEPTH) {
        return false;
    }
    fz_json_place place = fz_json_place_child(resolver, parent, node);
    if (json_is_object(node)) {
        index_names(resolver, &place);
        const char *key = NULL;
        json_t *value = NULL;
        json_object_foreach((json_t *)(uintptr_t)node, key, value) {
            bool data = strcmp(key, "enum") == 0 || strcmp(key, "const") == 0 ||
                        strcmp(key, "default") == 0 || strcmp(key, "examples") == 0;
            if (!data && !index_node(resolver, &place, value, depth + 1)) {
                return false;
            }
        }
    }
    for (size_t i = 0; json_is_array(node) && i < json_array_size(node); i++) {
        if (!index_node(resolver, &place, json_array_get(node, i), depth + 1)) {
            return false;
        }
    }
    return true;
}

// Integers beyond 64 bits, as in limits of uint64, are no reason to refuse a schema.
static json_t *load(fz_str text, json_error_t *error) {
    const char *data = text.data ? text.data : "";
    json_t *json = json_loadb(data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, error);
    if (!json && json_error_code(error) == json_error_numeric_overflow) {
        json = json_loadb(data, text.size,
                          JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, error);
    }
    return json;
}

fz_code fz_json_resolver_add(fz_json_resolver *resolver, fz_str name, fz_str text,
                             fz_json_place *root, fz_err *err) {
    json_error_t error;
    if (text.size > FZ_JSON_SCHEMA_TEXT) {
        return fz_err_set_kind(err, FZ_LIMIT, "schema_parse", "the schema has %zu bytes, limit %zu",
                               text.size, FZ_JSON_SCHEMA_TEXT);
    }
    json_t *json = load(text, &error);
    if (!json) {
        return bad_schema(err, name, error.text);
    }
    fz_vec_push(&resolver->schema->documents, json);
    if (!json_is_object(json) && !json_is_boolean(json)) {
        return bad_schema(err, name, "the schema is neither an object nor true or false");
    }
    fz_json_place top = {.node = json, .resource = json};
    top.base = fz_arena_str(&resolver->schema->arena, name);
    *root = fz_json_place_child(resolver, &top, json);
    if (name.size) {
        remember(resolver, top.base, root);
    }
    return index_node(resolver, &top, json, 0)
               ? FZ_OK
               : bad_schema(err, name, "the schema is too large or nested too deep");
}

// --- references ---

static const json_t *step_into(const json_t *node, fz_str step) {
    if (json_is_array(node)) {
        size_t index = 0;
        for (size_t i = 0; i < step.size; i++) {
            if (step.data[i] < '0' || step.data[i] > '9' || index > 100000) {
                return NULL;
            }
            index = index * 10 + (size_t)(step.data[i] - '0');
        }
        return step.size ? json_array_get(node, index) : NULL;
    }
    return json_is_object(node) ? json_object_getn(node, step.data, step.size) : NULL;
}

// A JSON pointer, percent-encoded as in a URI's fragment.
static bool follow(fz_json_resolver *resolver, fz_str pointer, fz_json_place *place) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf plain = {0};
    fz_percent_decode(&plain, pointer);
    fz_str text = fz_buf_view(&plain);
    FZ_CLEANUP(fz_buf_deinit) fz_buf step = {0};
    for (size_t at = 0; at < text.size;) {
        size_t slash = fz_str_find(text, '/', at + 1);
        size_t end = slash == SIZE_MAX ? text.size : slash;
        fz_buf_reset(&step);
        for (size_t i = at + 1; i < end; i++) {
            bool escape = text.data[i] == '~' && i + 1 < end &&
                          (text.data[i + 1] == '0' || text.data[i + 1] == '1');
            fz_buf_append_byte(&step, (uint8_t)(!escape                   ? text.data[i]
                                                : text.data[i + 1] == '0' ? '~'
                                                                          : '/'));
            i += escape;
        }
        const json_t *next = step_into(place->node, fz_str_from(fz_buf_cstr(&step)));
        if (!next) {
            return false;
        }
        *place = fz_json_place_child(resolver, place, next);
        at = end;
    }
    return true;
}

bool fz_json_resolver_find(fz_json_resolver *resolver, const fz_json_place *from, fz_str reference,
                           fz_json_place *out) {
    size_t hash = fz_str_find(reference, '#', 0);
    fz_str uri = fz_str_slice(reference, 0, hash == SIZE_MAX ? reference.size : hash);
    fz_str fragment =
        hash == SIZE_MAX ? (fz_str){0} : fz_str_slice(reference, hash + 1, reference.size);
    fz_arena *arena = &resolver->schema->arena;
    fz_str base = join(arena, from->base, uri);
    fz_json_place place = *from;
    place.node = from->resource;
    if (uri.size) {
        // A registry's reference is named as it is written; else as it is seen from here.
        const fz_json_place *found = (const fz_json_place *)fz_map_find(&resolver->places, uri);
        found = found ? found : (const fz_json_place *)fz_map_find(&resolver->places, base);
        if (!found) {
            return false;
        }
        place = *found;
    }
    if (fragment.size && fragment.data[0] != '/') {
        fz_str anchor =
            fz_arena_printf(arena, "%.*s#%.*s", FZ_STR_ARGS(place.base), FZ_STR_ARGS(fragment));
        const fz_json_place *found = (const fz_json_place *)fz_map_find(&resolver->places, anchor);
        if (!found) {
            return false;
        }
        *out = *found;
        return true;
    }
    *out = place;
    return follow(resolver, fragment, out);
}
