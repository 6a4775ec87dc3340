// SPDX-License-Identifier: Apache-2.0
// A depth-first walk over references that visits each (name, subject, version) once.
#include "io/registry/resolve.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"

typedef struct walk {
    fz_registry_schema *schema;
    const char *what;
    fz_registry_fetch fetch;
    void *context;
    fz_map seen;
    FZ_VEC(fz_registry_reference) found;
    size_t total; // bytes of text
} walk;

void fz_registry_raw_deinit(fz_registry_raw *raw) {
    if (raw) {
        fz_arena_deinit(&raw->arena);
        *raw = (fz_registry_raw){0};
    }
}

static fz_code check_sizes(walk *w, fz_str text, fz_err *err) {
    if (text.size > FZ_REGISTRY_TEXT_MAX) {
        return fz_err_set(err, FZ_LIMIT, "%s: a text of %zu bytes, at most %u", w->what, text.size,
                          FZ_REGISTRY_TEXT_MAX);
    }
    w->total += text.size;
    if (w->total > FZ_REGISTRY_TOTAL_MAX) {
        return fz_err_set(err, FZ_LIMIT, "%s: more than %u bytes with its references", w->what,
                          FZ_REGISTRY_TOTAL_MAX);
    }
    return FZ_OK;
}

// True the first time.
static bool see(walk *w, const fz_registry_reference *r) {
    fz_buf key = {0};
    fz_buf_append_str(&key, r->name);
    fz_buf_append_byte(&key, 0);
    fz_buf_append_str(&key, r->subject);
    fz_buf_printf(&key, "/%d", r->version);
    bool first = fz_map_put(&w->seen, fz_buf_view(&key), w) == NULL;
    fz_buf_deinit(&key);
    return first;
}

static fz_code visit_all(walk *w, const fz_registry_raw *raw, unsigned depth, fz_err *err);

static fz_code visit(walk *w, const fz_registry_reference *r, unsigned depth, fz_err *err) {
    if (!see(w, r)) {
        return FZ_OK;
    }
    if (w->seen.count > FZ_REGISTRY_REFERENCES_MAX || depth > FZ_REGISTRY_DEPTH_MAX) {
        return fz_err_set(err, FZ_LIMIT, "%s: more than %d references, or deeper than %d", w->what,
                          FZ_REGISTRY_REFERENCES_MAX, FZ_REGISTRY_DEPTH_MAX);
    }
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    fz_code code = w->fetch(w->context, r->subject, r->version, &raw, err);
    if (code != FZ_OK) {
        fz_err_prepend(err, "%s refers to version %d of \"%.*s\"", w->what, r->version,
                       FZ_STR_ARGS(r->subject));
        if (code == FZ_NOT_FOUND && err) {
            err->kind = "schema_parse"; // the id is known, its schema is not whole
        }
        return code;
    }
    FZ_TRY(check_sizes(w, raw.text, err));
    FZ_TRY(visit_all(w, &raw, depth, err));
    if (raw.type == w->schema->type && fz_str_equal(raw.text, w->schema->text)) {
        return FZ_OK; // a cycle back to the schema itself
    }
    fz_arena *arena = &w->schema->arena;
    fz_registry_reference kept = {
        .name = fz_arena_str(arena, r->name),
        .subject = fz_arena_str(arena, r->subject),
        .version = r->version,
        .type = raw.type,
        .text = fz_arena_str(arena, raw.text),
    };
    fz_vec_push(&w->found, kept);
    return FZ_OK;
}

static fz_code visit_all(walk *w, const fz_registry_raw *raw, unsigned depth, fz_err *err) {
    for (size_t i = 0; i < raw->reference_count; i++) {
        FZ_TRY(visit(w, &raw->references[i], depth + 1, err));
    }
    return FZ_OK;
}

fz_code fz_registry_resolve(const fz_registry_raw *root, const char *what, fz_registry_fetch fetch,
                            void *context, fz_registry_schema **out, fz_err *err) {
    fz_registry_schema *schema = fz_calloc(1, sizeof *schema);
    schema->refs = 1;
    schema->id = root->id;
    schema->has_guid = root->has_guid;
    memcpy(schema->guid, root->guid, sizeof schema->guid);
    schema->type = root->type;
    schema->text = fz_arena_str(&schema->arena, root->text);
    schema->subject = fz_arena_str(&schema->arena, root->subject);
    schema->version = root->version;
    walk w = {.schema = schema, .what = what, .fetch = fetch, .context = context};
    fz_code code = check_sizes(&w, root->text, err);
    if (code == FZ_OK) {
        code = visit_all(&w, root, 0, err);
    }
    if (code == FZ_OK) {
        schema->references = FZ_ARENA_ARRAY(&schema->arena, fz_registry_reference, w.found.count);
        schema->reference_count = w.found.count;
        if (w.found.count > 0) {
            memcpy(schema->references, w.found.data, w.found.count * sizeof *w.found.data);
        }
        *out = schema;
    } else {
        fz_registry_schema_unref(schema);
    }
    fz_map_deinit(&w.seen);
    fz_vec_deinit(&w.found);
    return code;
}
