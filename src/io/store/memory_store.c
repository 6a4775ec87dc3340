// SPDX-License-Identifier: Apache-2.0
// Objects in a sorted array under one lock.
#include "io/store/memory_store.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

typedef struct entry {
    fz_str key; // owned
    fz_buf body;
    uint64_t version;
    int64_t modified_ms;
} entry;

typedef struct memory_store {
    fz_store store;
    fz_mutex mutex;
    FZ_VEC(entry) entries; // by key
    uint64_t version;      // of the last put
    size_t page_size;
} memory_store;

typedef struct memory_writer {
    fz_store_writer writer;
    fz_buf body;
} memory_writer;

// Index of the first entry whose key is not below `key`.
static size_t lower_bound(const memory_store *m, fz_str key) {
    size_t from = 0;
    size_t to = m->entries.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (fz_str_compare(m->entries.data[middle].key, key) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static entry *find(memory_store *m, fz_str key) {
    size_t at = lower_bound(m, key);
    return at < m->entries.count && fz_str_equal(m->entries.data[at].key, key)
               ? &m->entries.data[at]
               : NULL;
}

static fz_code absent(fz_str key, fz_err *err) {
    return fz_err_set(err, FZ_NOT_FOUND, "no object \"%.*s\"", FZ_STR_ARGS(key));
}

static void describe(const entry *e, fz_object *out) {
    out->size_bytes = (int64_t)e->body.size;
    out->modified_ms = e->modified_ms;
    snprintf(out->etag, sizeof out->etag, "%llu", (unsigned long long)e->version);
}

static fz_code memory_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err) {
    memory_store *m = (memory_store *)store;
    fz_mutex_lock(&m->mutex);
    const entry *e = find(m, key);
    if (e) {
        describe(e, out);
    }
    fz_mutex_unlock(&m->mutex);
    return e ? FZ_OK : absent(key, err);
}

static fz_code memory_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                           fz_err *err) {
    memory_store *m = (memory_store *)store;
    fz_code code = FZ_OK;
    fz_mutex_lock(&m->mutex);
    const entry *e = find(m, key);
    if (!e) {
        code = absent(key, err);
    } else if (at > (int64_t)e->body.size) {
        code = fz_err_set(err, FZ_INVALID, "read of \"%.*s\" from %lld, it has %zu bytes",
                          FZ_STR_ARGS(key), (long long)at, e->body.size);
    } else {
        size_t left = e->body.size - (size_t)at;
        fz_buf_append(out, e->body.data ? e->body.data + at : NULL, size < left ? size : left);
    }
    fz_mutex_unlock(&m->mutex);
    FZ_TRY(code);
    return fz_buf_check(out, "object", err);
}

// Takes `body` over; the lock is held.
static entry *set_body(memory_store *m, fz_str key, fz_buf *body) {
    entry *e = find(m, key);
    if (!e) {
        size_t at = lower_bound(m, key);
        entry made = {.key = fz_str_make(fz_str_dup(key), key.size)};
        fz_vec_push(&m->entries, made);
        memmove(&m->entries.data[at + 1], &m->entries.data[at],
                (m->entries.count - 1 - at) * sizeof(entry));
        m->entries.data[at] = made;
        e = &m->entries.data[at];
    }
    fz_buf_deinit(&e->body);
    e->body = *body;
    *body = (fz_buf){0};
    e->version = ++m->version;
    e->modified_ms = fz_clock_wall_ms(fz_clock_real());
    return e;
}

typedef enum condition { ALWAYS, IF_ABSENT, IF_ETAG } condition;

static fz_code publish(memory_store *m, fz_str key, condition when, fz_str etag, fz_buf *body,
                       fz_object *out, fz_err *err) {
    fz_code code = FZ_OK;
    fz_object found = {0};
    fz_mutex_lock(&m->mutex);
    const entry *e = find(m, key);
    if (e) {
        describe(e, &found);
    }
    if (when == IF_ABSENT && e) {
        code = fz_err_set(err, FZ_EXISTS, "object \"%.*s\" is there already", FZ_STR_ARGS(key));
    } else if (when == IF_ETAG && !e) {
        code = absent(key, err);
    } else if (when == IF_ETAG && !fz_str_equal(etag, fz_str_from(found.etag))) {
        code = fz_err_set(err, FZ_CONFLICT, "object \"%.*s\" has etag \"%s\", wanted \"%.*s\"",
                          FZ_STR_ARGS(key), found.etag, FZ_STR_ARGS(etag));
    } else {
        e = set_body(m, key, body);
        if (out) {
            describe(e, out);
        }
    }
    fz_mutex_unlock(&m->mutex);
    return code;
}

static fz_code put_copy(fz_store *store, fz_str key, condition when, fz_str etag, fz_str bytes,
                        fz_err *err) {
    fz_buf body = {0};
    fz_buf_append_str(&body, bytes);
    fz_code code = fz_buf_check(&body, "object", err);
    if (code == FZ_OK) {
        code = publish((memory_store *)store, key, when, etag, &body, NULL, err);
    }
    fz_buf_deinit(&body);
    return code;
}

static fz_code memory_put(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return put_copy(store, key, ALWAYS, FZ_STR(""), body, err);
}

static fz_code memory_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return put_copy(store, key, IF_ABSENT, FZ_STR(""), body, err);
}

static fz_code memory_put_if(fz_store *store, fz_str key, fz_str etag, fz_str body, fz_err *err) {
    return put_copy(store, key, IF_ETAG, etag, body, err);
}

static fz_code memory_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out,
                           fz_err *err) {
    (void)err;
    memory_store *m = (memory_store *)store;
    fz_mutex_lock(&m->mutex);
    size_t at = lower_bound(m, fz_str_compare(after, prefix) > 0 ? after : prefix);
    for (; at < m->entries.count; at++) {
        const entry *e = &m->entries.data[at];
        if (!fz_str_starts_with(e->key, prefix)) {
            break;
        }
        if (after.size && fz_str_equal(e->key, after)) {
            continue;
        }
        if (out->objects.count == m->page_size) {
            out->more = true;
            break;
        }
        fz_object o = {.key = fz_arena_str(&out->arena, e->key)};
        describe(e, &o);
        fz_vec_push(&out->objects, o);
    }
    fz_mutex_unlock(&m->mutex);
    return FZ_OK;
}

static void drop(entry *e) {
    fz_free((char *)(uintptr_t)e->key.data);
    fz_buf_deinit(&e->body);
}

static fz_code memory_remove(fz_store *store, fz_str key, fz_err *err) {
    (void)err;
    memory_store *m = (memory_store *)store;
    fz_mutex_lock(&m->mutex);
    entry *e = find(m, key);
    if (e) {
        drop(e);
        m->entries.count--;
        size_t behind = m->entries.count - (size_t)(e - m->entries.data);
        memmove(e, e + 1, behind * sizeof(entry));
    }
    fz_mutex_unlock(&m->mutex);
    return FZ_OK;
}

static fz_code writer_write(fz_store_writer *writer, fz_str bytes, fz_err *err) {
    memory_writer *w = (memory_writer *)writer;
    fz_buf_append_str(&w->body, bytes);
    return fz_buf_check(&w->body, "object", err);
}

static fz_code writer_commit(fz_store_writer *writer, fz_object *out, fz_err *err) {
    memory_writer *w = (memory_writer *)writer;
    return publish((memory_store *)writer->store, fz_str_from(writer->key), IF_ABSENT, FZ_STR(""),
                   &w->body, out, err);
}

static void writer_free(fz_store_writer *writer) {
    fz_buf_deinit(&((memory_writer *)writer)->body);
    fz_free(writer);
}

static fz_code memory_open(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err) {
    static const fz_store_writer_ops ops = {writer_write, writer_commit, writer_free};
    (void)err;
    memory_writer *w = fz_calloc(1, sizeof *w);
    fz_store_writer_init(&w->writer, &ops, store, key);
    *out = &w->writer;
    return FZ_OK;
}

// Writers keep their bytes to themselves: there is never anything left over.
static fz_code memory_sweep(fz_store *store, fz_str prefix, int64_t before_ms, size_t *count,
                            fz_err *err) {
    (void)store;
    (void)prefix;
    (void)before_ms;
    (void)err;
    *count = 0;
    return FZ_OK;
}

static void memory_free(fz_store *store) {
    memory_store *m = (memory_store *)store;
    for (size_t i = 0; i < m->entries.count; i++) {
        drop(&m->entries.data[i]);
    }
    fz_vec_deinit(&m->entries);
    fz_mutex_deinit(&m->mutex);
    fz_free(m);
}

fz_store *fz_store_memory_new(const char *name, size_t page_size) {
    static const fz_store_ops ops = {
        .name = "memory",
        .stat = memory_stat,
        .read = memory_read,
        .put = memory_put,
        .put_new = memory_put_new,
        .put_if = memory_put_if,
        .list = memory_list,
        .remove = memory_remove,
        .open = memory_open,
        .sweep = memory_sweep,
        .free = memory_free,
    };
    memory_store *m = fz_calloc(1, sizeof *m);
    fz_store_init(&m->store, &ops, fz_str_printf("memory://%s", name));
    fz_mutex_init(&m->mutex);
    m->page_size = page_size ? page_size : 1000;
    return &m->store;
}
