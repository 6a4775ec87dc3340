// SPDX-License-Identifier: Apache-2.0
// Schemas and subjects in memory, under one lock.
#include "io/registry/memory_registry.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/codec/hash.h"
#include "base/codec/text_codec.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/vec.h"
#include "io/registry/memory_answer.h"

typedef struct version {
    int32_t number;
    fz_registry_raw *schema;
    bool removed;
} version;

typedef struct subject {
    fz_str name;
    FZ_VEC(version) versions; // by number
} subject;

typedef struct memory_registry {
    fz_registry registry;
    fz_mutex mutex;                 // guards all below
    FZ_VEC(fz_registry_raw *) raws; // every id once
    fz_map subjects;                // name -> subject
    int32_t next_id;
} memory_registry;

static fz_registry_raw *by_id(const memory_registry *m, int32_t id) {
    for (size_t i = 0; i < m->raws.count; i++) {
        if (m->raws.data[i]->id == id) {
            return m->raws.data[i];
        }
    }
    return NULL;
}

static bool same_schema(const fz_registry_raw *raw, fz_registry_type type, fz_str text,
                        const fz_registry_reference *references, size_t count) {
    if (raw->type != type || raw->reference_count != count || !fz_str_equal(raw->text, text)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const fz_registry_reference *r = &raw->references[i];
        if (!fz_str_equal(r->name, references[i].name) ||
            !fz_str_equal(r->subject, references[i].subject) ||
            r->version != references[i].version) {
            return false;
        }
    }
    return true;
}

static fz_registry_raw *make_raw(memory_registry *m, int32_t id, const uint8_t guid[16],
                                 fz_registry_type type, fz_str text,
                                 const fz_registry_reference *references, size_t count) {
    fz_registry_raw *raw = fz_calloc(1, sizeof *raw);
    raw->id = id;
    raw->version = -1;
    raw->type = type;
    raw->text = fz_arena_str(&raw->arena, text);
    raw->references = FZ_ARENA_ARRAY(&raw->arena, fz_registry_reference, count);
    raw->reference_count = count;
    for (size_t i = 0; i < count; i++) {
        raw->references[i].name = fz_arena_str(&raw->arena, references[i].name);
        raw->references[i].subject = fz_arena_str(&raw->arena, references[i].subject);
        raw->references[i].version = references[i].version;
    }
    raw->has_guid = true;
    if (guid) {
        memcpy(raw->guid, guid, sizeof raw->guid);
    } else {
        uint8_t digest[32];
        fz_sha256(text.data, text.size, digest);
        memcpy(raw->guid, digest, sizeof raw->guid);
        raw->guid[0] =
            (uint8_t)(raw->guid[0] ^ (unsigned)type ^ (unsigned)id << 2); // references may differ
    }
    fz_vec_push(&m->raws, raw);
    return raw;
}

static subject *find_or_make_subject(memory_registry *m, fz_str name) {
    subject *s = fz_map_find(&m->subjects, name);
    if (!s) {
        s = fz_calloc(1, sizeof *s);
        s->name = fz_str_make(fz_str_dup(name), name.size);
        fz_map_put(&m->subjects, name, s);
    }
    return s;
}

// The version of a schema in a subject; a removed one comes back under a new number, as registries
// do.
static int32_t add_version(subject *s, int32_t number, fz_registry_raw *raw) {
    int32_t last = 0;
    for (size_t i = 0; i < s->versions.count; i++) {
        version *v = &s->versions.data[i];
        last = v->number > last ? v->number : last;
        if (v->schema == raw && !v->removed && (number == 0 || number == v->number)) {
            return v->number;
        }
    }
    version made = {number ? number : last + 1, raw, false};
    fz_vec_push(&s->versions, made);
    for (size_t i = s->versions.count - 1; i > 0 && s->versions.data[i - 1].number > made.number;
         i--) {
        s->versions.data[i] = s->versions.data[i - 1];
        s->versions.data[i - 1] = made;
    }
    return made.number;
}

static version *find_version(const memory_registry *m, fz_str name, int32_t number,
                             bool removed_too) {
    const subject *s = fz_map_find(&m->subjects, name);
    version *newest = NULL;
    for (size_t i = 0; s && i < s->versions.count; i++) {
        version *v = &s->versions.data[i];
        if ((removed_too || !v->removed) &&
            (number == FZ_REGISTRY_MEMORY_NEWEST || v->number == number)) {
            newest = v;
        }
    }
    return newest;
}

// The lock is held.
static fz_code check_references(const memory_registry *m, const fz_registry_reference *references,
                                size_t count, fz_err *err) {
    for (size_t i = 0; i < count; i++) {
        const fz_registry_reference *r = &references[i];
        if (!find_version(m, r->subject, r->version, false)) {
            return fz_err_set(err, FZ_INVALID,
                              "no version %d of \"%.*s\" that the schema refers to", r->version,
                              FZ_STR_ARGS(r->subject));
        }
    }
    return FZ_OK;
}

static fz_code memory_add(fz_registry *registry, fz_str name, fz_registry_type type, fz_str text,
                          const fz_registry_reference *references, size_t count, int32_t *id,
                          fz_err *err) {
    memory_registry *m = (memory_registry *)registry;
    fz_registry_raw *raw = NULL;
    fz_mutex_lock(&m->mutex);
    fz_code code = check_references(m, references, count, err);
    if (code == FZ_OK) {
        for (size_t i = 0; i < m->raws.count && !raw; i++) {
            raw = same_schema(m->raws.data[i], type, text, references, count) ? m->raws.data[i]
                                                                              : NULL;
        }
        if (!raw) {
            while (by_id(m, m->next_id)) {
                m->next_id++;
            }
            raw = make_raw(m, m->next_id++, NULL, type, text, references, count);
        }
        add_version(find_or_make_subject(m, name), 0, raw);
        *id = raw->id;
    }
    fz_mutex_unlock(&m->mutex);
    return code;
}

fz_code fz_registry_memory_add(fz_registry *registry, fz_str name, int32_t id, int32_t number,
                               const uint8_t guid[16], fz_registry_type type, fz_str text,
                               const fz_registry_reference *references, size_t count, fz_err *err) {
    memory_registry *m = (memory_registry *)registry;
    fz_code code = FZ_OK;
    fz_mutex_lock(&m->mutex);
    fz_registry_raw *raw = by_id(m, id);
    if (raw && !same_schema(raw, type, text, references, count)) {
        code = fz_err_set(err, FZ_EXISTS, "schema id %d is another schema already", id);
    } else {
        raw = raw ? raw : make_raw(m, id, guid, type, text, references, count);
        add_version(find_or_make_subject(m, name), number, raw);
    }
    fz_mutex_unlock(&m->mutex);
    return code;
}

fz_code fz_registry_memory_remove(fz_registry *registry, fz_str name, int32_t number, fz_err *err) {
    memory_registry *m = (memory_registry *)registry;
    fz_mutex_lock(&m->mutex);
    version *v = find_version(m, name, number, false);
    if (v) {
        v->removed = true;
    }
    fz_mutex_unlock(&m->mutex);
    return v ? FZ_OK
             : fz_err_set(err, FZ_NOT_FOUND, "no version %d of \"%.*s\"", number,
                          FZ_STR_ARGS(name));
}

static void copy_raw(const fz_registry_raw *from, fz_registry_raw *to) {
    to->id = from->id;
    to->has_guid = from->has_guid;
    memcpy(to->guid, from->guid, sizeof to->guid);
    to->type = from->type;
    to->text = fz_arena_str(&to->arena, from->text);
    to->references = FZ_ARENA_ARRAY(&to->arena, fz_registry_reference, from->reference_count);
    to->reference_count = from->reference_count;
    for (size_t i = 0; i < from->reference_count; i++) {
        to->references[i].name = fz_arena_str(&to->arena, from->references[i].name);
        to->references[i].subject = fz_arena_str(&to->arena, from->references[i].subject);
        to->references[i].version = from->references[i].version;
    }
}

bool fz_registry_memory_find_id(fz_registry *registry, int32_t id, fz_registry_raw *out) {
    memory_registry *m = (memory_registry *)registry;
    fz_mutex_lock(&m->mutex);
    const fz_registry_raw *raw = by_id(m, id);
    if (raw) {
        copy_raw(raw, out);
    }
    fz_mutex_unlock(&m->mutex);
    return raw != NULL;
}

bool fz_registry_memory_find_guid(fz_registry *registry, const uint8_t guid[16],
                                  fz_registry_raw *out) {
    memory_registry *m = (memory_registry *)registry;
    const fz_registry_raw *raw = NULL;
    fz_mutex_lock(&m->mutex);
    for (size_t i = 0; i < m->raws.count && !raw; i++) {
        raw = memcmp(m->raws.data[i]->guid, guid, 16) == 0 ? m->raws.data[i] : NULL;
    }
    if (raw) {
        copy_raw(raw, out);
    }
    fz_mutex_unlock(&m->mutex);
    return raw != NULL;
}

bool fz_registry_memory_find_version(fz_registry *registry, fz_str name, int32_t number,
                                     bool removed_too, fz_registry_raw *out) {
    memory_registry *m = (memory_registry *)registry;
    fz_mutex_lock(&m->mutex);
    const version *v = find_version(m, name, number, removed_too);
    if (v) {
        copy_raw(v->schema, out);
        out->subject = fz_arena_str(&out->arena, name);
        out->version = v->number;
    }
    fz_mutex_unlock(&m->mutex);
    return v != NULL;
}

static fz_code fetch_version(void *context, fz_str name, int32_t number, fz_registry_raw *out,
                             fz_err *err) {
    if (!fz_registry_memory_find_version(context, name, number, true, out)) {
        return fz_err_set(err, FZ_NOT_FOUND, "no version %d of \"%.*s\"", number,
                          FZ_STR_ARGS(name));
    }
    return FZ_OK;
}

static fz_code memory_schema_by_id(fz_registry *registry, int32_t id, fz_str name,
                                   fz_registry_schema **out, fz_err *err) {
    (void)name;
    char what[32];
    snprintf(what, sizeof what, "schema id %d", id);
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    if (!fz_registry_memory_find_id(registry, id, &raw)) {
        return fz_err_set_kind(err, FZ_NOT_FOUND, "unknown_schema_id",
                               "the schema registry has no %s", what);
    }
    return fz_registry_resolve(&raw, what, fetch_version, registry, out, err);
}

static fz_code memory_schema_by_guid(fz_registry *registry, const uint8_t guid[16],
                                     fz_registry_schema **out, fz_err *err) {
    char text[37];
    char what[64];
    fz_uuid_format(guid, text);
    snprintf(what, sizeof what, "schema guid %s", text);
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    if (!fz_registry_memory_find_guid(registry, guid, &raw)) {
        return fz_err_set_kind(err, FZ_NOT_FOUND, "unknown_schema_id",
                               "the schema registry has no %s", what);
    }
    return fz_registry_resolve(&raw, what, fetch_version, registry, out, err);
}

static fz_code memory_latest(fz_registry *registry, fz_str name, fz_registry_schema **out,
                             fz_err *err) {
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    if (!fz_registry_memory_find_version(registry, name, FZ_REGISTRY_MEMORY_NEWEST, false, &raw)) {
        return fz_err_set_kind(err, FZ_NOT_FOUND, "no_schema",
                               "the schema registry has no subject \"%.*s\"", FZ_STR_ARGS(name));
    }
    char *what = fz_str_printf("subject \"%.*s\"", FZ_STR_ARGS(name));
    fz_code code = fz_registry_resolve(&raw, what, fetch_version, registry, out, err);
    fz_free(what);
    return code;
}

static int compare_names(const void *a, const void *b) {
    return fz_str_compare(*(const fz_str *)a, *(const fz_str *)b);
}

static fz_code memory_subjects(fz_registry *registry, fz_registry_names *out, fz_err *err) {
    (void)err;
    memory_registry *m = (memory_registry *)registry;
    fz_registry_names names = {0};
    fz_mutex_lock(&m->mutex);
    names.items = FZ_ARENA_ARRAY(&names.arena, fz_str, m->subjects.count);
    for (size_t i = 0; i < m->subjects.count; i++) {
        fz_str name = m->subjects.entries[i].key;
        if (find_version(m, name, FZ_REGISTRY_MEMORY_NEWEST, false)) {
            names.items[names.count++] = fz_arena_str(&names.arena, name);
        }
    }
    fz_mutex_unlock(&m->mutex);
    if (names.count > 1) {
        qsort(names.items, names.count, sizeof *names.items, compare_names);
    }
    *out = names;
    return FZ_OK;
}

static fz_code memory_versions_of_id(fz_registry *registry, int32_t id, fz_str name,
                                     fz_registry_versions *out, fz_err *err) {
    (void)name;
    memory_registry *m = (memory_registry *)registry;
    fz_registry_versions versions = {0};
    fz_mutex_lock(&m->mutex);
    bool known = by_id(m, id) != NULL;
    size_t total = 0;
    for (size_t i = 0; i < m->subjects.count; i++) {
        total += ((const subject *)m->subjects.entries[i].value)->versions.count;
    }
    versions.items = FZ_ARENA_ARRAY(&versions.arena, fz_registry_version, total);
    for (size_t i = 0; i < m->subjects.count; i++) {
        const subject *s = m->subjects.entries[i].value;
        for (size_t k = 0; k < s->versions.count; k++) {
            const version *v = &s->versions.data[k];
            if (v->schema->id == id && !v->removed) {
                versions.items[versions.count++] =
                    (fz_registry_version){fz_arena_str(&versions.arena, s->name), v->number};
            }
        }
    }
    fz_mutex_unlock(&m->mutex);
    if (!known) {
        fz_registry_versions_deinit(&versions);
        return fz_err_set_kind(err, FZ_NOT_FOUND, "unknown_schema_id",
                               "the schema registry has no schema id %d", id);
    }
    *out = versions;
    return FZ_OK;
}

static void memory_free(fz_registry *registry) {
    memory_registry *m = (memory_registry *)registry;
    for (size_t i = 0; i < m->raws.count; i++) {
        fz_registry_raw_deinit(m->raws.data[i]);
        fz_free(m->raws.data[i]);
    }
    fz_vec_deinit(&m->raws);
    for (size_t i = 0; i < m->subjects.count; i++) {
        subject *s = m->subjects.entries[i].value;
        fz_free((char *)(uintptr_t)s->name.data);
        fz_vec_deinit(&s->versions);
        fz_free(s);
    }
    fz_map_deinit(&m->subjects);
    fz_mutex_deinit(&m->mutex);
    fz_free(m);
}

fz_registry *fz_registry_memory_new(void) {
    static const fz_registry_ops ops = {
        .name = "memory",
        .schema_by_id = memory_schema_by_id,
        .schema_by_guid = memory_schema_by_guid,
        .latest = memory_latest,
        .subjects = memory_subjects,
        .versions_of_id = memory_versions_of_id,
        .add = memory_add,
        .free = memory_free,
    };
    memory_registry *m = fz_calloc(1, sizeof *m);
    m->registry.ops = &ops;
    m->next_id = 1;
    fz_mutex_init(&m->mutex);
    return &m->registry;
}
