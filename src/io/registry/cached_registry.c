// SPDX-License-Identifier: Apache-2.0
// One entry a schema: the first thread that wants it asks, the others wait for the outcome.
#include "io/registry/cached_registry.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/thread.h"

// Failures kept at once; above it those that nobody waits for are forgotten.
enum { MAX_FAILURES = 10000 };

typedef enum state { LOADING, READY, FAILED } state;

typedef struct entry {
    state state;
    fz_registry_schema *schema; // READY
    fz_err *error;              // FAILED
    int64_t until_ms;           // FAILED: good until then, monotonic
    unsigned waiting;           // threads that hold the entry
} entry;

typedef struct cached_registry {
    fz_registry registry;
    fz_registry *inner;
    fz_registry_cache_options options;
    fz_mutex mutex; // guards all below
    fz_cond cond;   // an entry left LOADING
    fz_map entries;
    size_t failures;
} cached_registry;

// What to load; one of both.
typedef struct wanted {
    const uint8_t *guid; // NULL: by id
    int32_t id;
    fz_str subject;
} wanted;

static fz_code load_once(cached_registry *c, const wanted *w, fz_registry_schema **out,
                         fz_err *err) {
    return w->guid ? fz_registry_schema_by_guid(c->inner, w->guid, out, err)
                   : fz_registry_schema_by_id(c->inner, w->id, w->subject, out, err);
}

// A producer registers just before it sends: an id that is unknown now may be known in a moment.
static fz_code load(cached_registry *c, const wanted *w, fz_registry_schema **out, fz_err *err) {
    fz_code code = load_once(c, w, out, err);
    if (code == FZ_NOT_FOUND && c->options.unknown_retry_ms > 0) {
        fz_clock_sleep_ms(c->options.clock, c->options.unknown_retry_ms);
        code = load_once(c, w, out, err);
    }
    return code;
}

static void forget_error(cached_registry *c, entry *e) {
    if (e->error) {
        fz_free(e->error);
        e->error = NULL;
        c->failures--;
    }
}

// Poison may name any number of ids that do not exist. The lock is held.
static void forget_failures(cached_registry *c) {
    for (size_t i = c->entries.count; i > 0; i--) {
        entry *e = c->entries.entries[i - 1].value;
        if (e->state == FAILED && e->waiting == 0) {
            forget_error(c, e);
            fz_str name = c->entries.entries[i - 1].key; // the map frees it
            char *key = fz_str_dup(name);
            fz_map_remove(&c->entries, fz_str_make(key, name.size));
            fz_free(key);
            fz_free(e);
        }
    }
}

static entry *find_or_make(cached_registry *c, fz_str key) {
    entry *e = fz_map_find(&c->entries, key);
    if (!e) {
        if (c->failures >= MAX_FAILURES) {
            forget_failures(c);
        }
        e = fz_calloc(1, sizeof *e);
        e->state = FAILED; // of nothing, until long ago
        e->until_ms = INT64_MIN;
        fz_map_put(&c->entries, key, e);
    }
    return e;
}

static fz_code answer(const entry *e, fz_registry_schema **out, fz_err *err) {
    if (e->state == READY) {
        *out = fz_registry_schema_ref(e->schema);
        return FZ_OK;
    }
    if (err) {
        *err = *e->error;
    }
    return e->error->code;
}

// The entry is ours to fill; called and left with the lock held.
static void fill(cached_registry *c, entry *e, const wanted *w) {
    fz_registry_schema *schema = NULL;
    fz_err *error = fz_calloc(1, sizeof *error);
    e->state = LOADING;
    forget_error(c, e);
    fz_mutex_unlock(&c->mutex);
    fz_code code = load(c, w, &schema, error);
    fz_mutex_lock(&c->mutex);
    if (code == FZ_OK) {
        fz_free(error);
        e->schema = schema;
        e->state = READY;
    } else {
        error->code = code;
        e->error = error;
        c->failures++;
        e->until_ms =
            fz_clock_mono_ms(c->options.clock) +
            (code == FZ_NOT_FOUND ? c->options.unknown_keep_ms : c->options.failure_keep_ms);
        e->state = FAILED;
    }
    fz_cond_broadcast(&c->cond);
}

static fz_code get(cached_registry *c, fz_str key, const wanted *w, fz_registry_schema **out,
                   fz_err *err) {
    fz_mutex_lock(&c->mutex);
    entry *e = find_or_make(c, key);
    e->waiting++; // keeps it
    bool waited = false;
    while (e->state == LOADING) {
        fz_cond_wait(&c->cond, &c->mutex);
        waited = true;
    }
    // an outcome that came while we waited is ours, however long we took to wake up
    bool stale = e->state == FAILED && !(waited && e->error) &&
                 e->until_ms <= fz_clock_mono_ms(c->options.clock);
    if (stale) {
        fill(c, e, w);
    }
    while (e->state == LOADING) { // somebody found it stale again before we came back
        fz_cond_wait(&c->cond, &c->mutex);
    }
    fz_code code = answer(e, out, err);
    e->waiting--;
    fz_mutex_unlock(&c->mutex);
    return code;
}

// Ids are per context: ":.ctx:" of ":.ctx:name".
static fz_str context_of(fz_str subject) {
    size_t end =
        fz_str_starts_with(subject, FZ_STR(":.")) ? fz_str_find(subject, ':', 2) : SIZE_MAX;
    return end == SIZE_MAX ? FZ_STR("") : fz_str_slice(subject, 0, end + 1);
}

static fz_code cached_schema_by_id(fz_registry *registry, int32_t id, fz_str subject,
                                   fz_registry_schema **out, fz_err *err) {
    fz_str context = context_of(subject);
    char key[320];
    if (context.size > 256) {
        return fz_err_set(err, FZ_INVALID, "a context of %zu bytes, at most 256", context.size);
    }
    int size = snprintf(key, sizeof key, "%d%.*s", id, FZ_STR_ARGS(context));
    wanted w = {.id = id, .subject = subject};
    return get((cached_registry *)registry, fz_str_make(key, (size_t)size), &w, out, err);
}

static fz_code cached_schema_by_guid(fz_registry *registry, const uint8_t guid[16],
                                     fz_registry_schema **out, fz_err *err) {
    char key[17] = "g"; // ids start with a digit
    memcpy(key + 1, guid, 16);
    wanted w = {.guid = guid};
    return get((cached_registry *)registry, fz_str_make(key, sizeof key), &w, out, err);
}

static fz_code cached_latest(fz_registry *registry, fz_str subject, fz_registry_schema **out,
                             fz_err *err) {
    return fz_registry_latest(((cached_registry *)registry)->inner, subject, out, err);
}

static fz_code cached_subjects(fz_registry *registry, fz_registry_names *out, fz_err *err) {
    return fz_registry_subjects(((cached_registry *)registry)->inner, out, err);
}

static fz_code cached_versions_of_id(fz_registry *registry, int32_t id, fz_str subject,
                                     fz_registry_versions *out, fz_err *err) {
    return fz_registry_versions_of_id(((cached_registry *)registry)->inner, id, subject, out, err);
}

static fz_code cached_add(fz_registry *registry, fz_str subject, fz_registry_type type, fz_str text,
                          const fz_registry_reference *references, size_t reference_count,
                          int32_t *id, fz_err *err) {
    return fz_registry_add(((cached_registry *)registry)->inner, subject, type, text, references,
                           reference_count, id, err);
}

static void cached_free(fz_registry *registry) {
    cached_registry *c = (cached_registry *)registry;
    for (size_t i = 0; i < c->entries.count; i++) {
        entry *e = c->entries.entries[i].value;
        fz_registry_schema_unref(e->schema);
        fz_free(e->error);
        fz_free(e);
    }
    fz_map_deinit(&c->entries);
    fz_mutex_deinit(&c->mutex);
    fz_cond_deinit(&c->cond);
    fz_registry_free(c->inner);
    fz_free(c);
}

static int64_t or_default(int64_t value, int64_t fallback) {
    return value == 0 ? fallback : value;
}

fz_registry *fz_registry_cached_new(fz_registry *inner, const fz_registry_cache_options *options) {
    static const fz_registry_ops ops = {
        .name = "cached",
        .schema_by_id = cached_schema_by_id,
        .schema_by_guid = cached_schema_by_guid,
        .latest = cached_latest,
        .subjects = cached_subjects,
        .versions_of_id = cached_versions_of_id,
        .add = cached_add,
        .free = cached_free,
    };
    fz_registry_cache_options o = options ? *options : (fz_registry_cache_options){0};
    FZ_ASSERT(inner);
    cached_registry *c = fz_calloc(1, sizeof *c);
    c->registry.ops = &ops;
    c->inner = inner;
    c->options.unknown_retry_ms = or_default(o.unknown_retry_ms, 1000);
    c->options.unknown_keep_ms = or_default(o.unknown_keep_ms, 10000);
    c->options.failure_keep_ms = or_default(o.failure_keep_ms, 500);
    c->options.clock = o.clock ? o.clock : fz_clock_real();
    fz_mutex_init(&c->mutex);
    fz_cond_init(&c->cond);
    return &c->registry;
}
