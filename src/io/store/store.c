// SPDX-License-Identifier: Apache-2.0
// The wrappers of the store interface: they check keys, count calls and answer for what is missing.
#include "io/store/store.h"

#include "base/memory.h"
#include "base/text/uri.h"

const char *fz_store_call_name(fz_store_call call) {
    static const char *const names[FZ_STORE_CALLS] = {
        "stat",   "read", "put",   "put_new", "put_if", "list",
        "remove", "open", "write", "commit",  "sweep",
    };
    return (unsigned)call < FZ_STORE_CALLS ? names[call] : "any";
}

void fz_page_deinit(fz_page *page) {
    if (page) {
        fz_vec_deinit(&page->objects);
        fz_arena_deinit(&page->arena);
        page->more = false;
    }
}

void fz_store_init(fz_store *store, const fz_store_ops *ops, char *root_uri) {
    FZ_ASSERT(ops && ops->name && root_uri);
    memset(store, 0, sizeof *store);
    store->ops = ops;
    store->root_uri = root_uri;
}

void fz_store_free(fz_store *store) {
    if (!store) {
        return;
    }
    char *root_uri = store->root_uri;
    store->ops->free(store);
    fz_free(root_uri);
}

static fz_code count(fz_store *store, fz_store_call call, fz_code code) {
    atomic_fetch_add_explicit(&store->calls[call], 1, memory_order_relaxed);
    if (code != FZ_OK) {
        atomic_fetch_add_explicit(&store->failures[call], 1, memory_order_relaxed);
    }
    return code;
}

static fz_code missing(fz_store *store, fz_store_call call, fz_err *err) {
    return fz_err_set(err, FZ_UNSUPPORTED, "the %s store has no %s", store->ops->name,
                      fz_store_call_name(call));
}

static fz_code check_key(fz_str key, fz_err *err) {
    if (key.size == 0) {
        return fz_err_set(err, FZ_INVALID, "an object needs a key");
    }
    if (key.size > FZ_STORE_KEY_MAX) {
        return fz_err_set(err, FZ_INVALID, "key of %zu bytes, at most %d: \"%.*s...\"", key.size,
                          FZ_STORE_KEY_MAX, 64, key.data);
    }
    if (memchr(key.data, 0, key.size)) {
        return fz_err_set(err, FZ_INVALID, "key with a zero byte: \"%.*s\"", FZ_STR_ARGS(key));
    }
    return FZ_OK;
}

fz_code fz_store_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err) {
    FZ_ASSERT(store && out);
    FZ_TRY(check_key(key, err));
    if (!store->ops->stat) {
        return missing(store, FZ_STORE_CALL_STAT, err);
    }
    fz_object found = {0};
    fz_code code = store->ops->stat(store, key, &found, err);
    if (code == FZ_OK) {
        *out = found;
        out->key = key;
    }
    return count(store, FZ_STORE_CALL_STAT, code);
}

fz_code fz_store_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                      fz_err *err) {
    FZ_ASSERT(store && out);
    FZ_TRY(check_key(key, err));
    if (at < 0) {
        return fz_err_set(err, FZ_INVALID, "read of \"%.*s\" from %lld", FZ_STR_ARGS(key),
                          (long long)at);
    }
    if (!store->ops->read) {
        return missing(store, FZ_STORE_CALL_READ, err);
    }
    size_t before = out->size;
    fz_code code = store->ops->read(store, key, at, size, out, err);
    if (code == FZ_OK) {
        atomic_fetch_add_explicit(&store->read_bytes, (int64_t)(out->size - before),
                                  memory_order_relaxed);
    } else {
        out->size = before;
    }
    return count(store, FZ_STORE_CALL_READ, code);
}

fz_code fz_store_read_exact(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                            fz_err *err) {
    size_t before = out->size;
    FZ_TRY(fz_store_read(store, key, at, size, out, err));
    size_t found = out->size - before;
    if (found < size) {
        out->size = before;
        return fz_err_set_kind(
            err, FZ_CORRUPT, "truncated", "\"%.*s\" ends after %lld bytes, wanted %zu from %lld",
            FZ_STR_ARGS(key), (long long)at + (long long)found, size, (long long)at);
    }
    return FZ_OK;
}

fz_code fz_store_read_all(fz_store *store, fz_str key, fz_buf *out, fz_err *err) {
    return fz_store_read(store, key, 0, FZ_STORE_REST, out, err);
}

static fz_code wrote(fz_store *store, fz_store_call call, size_t size, fz_code code) {
    if (code == FZ_OK) {
        atomic_fetch_add_explicit(&store->written_bytes, (int64_t)size, memory_order_relaxed);
    }
    return count(store, call, code);
}

fz_code fz_store_put(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    FZ_ASSERT(store);
    FZ_TRY(check_key(key, err));
    if (!store->ops->put) {
        return missing(store, FZ_STORE_CALL_PUT, err);
    }
    return wrote(store, FZ_STORE_CALL_PUT, body.size, store->ops->put(store, key, body, err));
}

fz_code fz_store_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    FZ_ASSERT(store);
    FZ_TRY(check_key(key, err));
    if (!store->ops->put_new) {
        return missing(store, FZ_STORE_CALL_PUT_NEW, err);
    }
    return wrote(store, FZ_STORE_CALL_PUT_NEW, body.size,
                 store->ops->put_new(store, key, body, err));
}

fz_code fz_store_put_if(fz_store *store, fz_str key, fz_str etag, fz_str body, fz_err *err) {
    FZ_ASSERT(store);
    FZ_TRY(check_key(key, err));
    if (etag.size == 0) {
        return fz_err_set(err, FZ_INVALID, "a conditional put of \"%.*s\" needs an etag",
                          FZ_STR_ARGS(key));
    }
    if (!store->ops->put_if) {
        return missing(store, FZ_STORE_CALL_PUT_IF, err);
    }
    return wrote(store, FZ_STORE_CALL_PUT_IF, body.size,
                 store->ops->put_if(store, key, etag, body, err));
}

fz_code fz_store_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out, fz_err *err) {
    FZ_ASSERT(store && out);
    if (!store->ops->list) {
        return missing(store, FZ_STORE_CALL_LIST, err);
    }
    fz_page found = {0};
    fz_code code = store->ops->list(store, prefix, after, &found, err);
    if (code == FZ_OK) {
        fz_page_deinit(out); // `after` may live in it: not before the call
        *out = found;
    } else {
        fz_page_deinit(&found);
    }
    return count(store, FZ_STORE_CALL_LIST, code);
}

fz_code fz_store_remove(fz_store *store, fz_str key, fz_err *err) {
    FZ_ASSERT(store);
    FZ_TRY(check_key(key, err));
    if (!store->ops->remove) {
        return missing(store, FZ_STORE_CALL_REMOVE, err);
    }
    return count(store, FZ_STORE_CALL_REMOVE, store->ops->remove(store, key, err));
}

fz_code fz_store_sweep(fz_store *store, fz_str prefix, int64_t before_ms, size_t *removed,
                       fz_err *err) {
    FZ_ASSERT(store);
    if (!store->ops->sweep) {
        return missing(store, FZ_STORE_CALL_SWEEP, err);
    }
    size_t found = 0;
    fz_code code = store->ops->sweep(store, prefix, before_ms, &found, err);
    if (code == FZ_OK && removed) {
        *removed = found;
    }
    return count(store, FZ_STORE_CALL_SWEEP, code);
}

static fz_code sink_write(fz_sink *sink, const void *data, size_t size, fz_err *err) {
    return fz_store_writer_write((fz_store_writer *)sink, data, size, err);
}

void fz_store_writer_init(fz_store_writer *writer, const fz_store_writer_ops *ops, fz_store *store,
                          fz_str key) {
    *writer = (fz_store_writer){
        .sink = {.write = sink_write}, .ops = ops, .store = store, .key = fz_str_dup(key)};
}

fz_code fz_store_open(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err) {
    FZ_ASSERT(store && out);
    FZ_TRY(check_key(key, err));
    if (!store->ops->open) {
        return missing(store, FZ_STORE_CALL_OPEN, err);
    }
    return count(store, FZ_STORE_CALL_OPEN, store->ops->open(store, key, out, err));
}

static fz_code dead(const fz_store_writer *writer, fz_err *err) {
    return fz_err_set(err, writer->failed, "the writer of \"%s\" has failed before", writer->key);
}

fz_code fz_store_writer_write(fz_store_writer *writer, const void *data, size_t size, fz_err *err) {
    FZ_ASSERT(writer && !writer->committed);
    if (writer->failed != FZ_OK) {
        return dead(writer, err);
    }
    if (size == 0) {
        return FZ_OK;
    }
    fz_code code = writer->ops->write(writer, fz_str_make(data, size), err);
    if (code == FZ_OK) {
        writer->size_bytes += (int64_t)size;
    }
    writer->failed = code;
    return count(writer->store, FZ_STORE_CALL_WRITE, code);
}

fz_code fz_store_writer_commit(fz_store_writer *writer, fz_object *out, fz_err *err) {
    FZ_ASSERT(writer && !writer->committed);
    if (writer->failed != FZ_OK) {
        return dead(writer, err);
    }
    fz_object made = {0};
    fz_code code = writer->ops->commit(writer, &made, err);
    writer->failed = code;
    writer->committed = code == FZ_OK;
    if (code == FZ_OK && out) {
        *out = made;
        out->key = fz_str_from(writer->key);
    }
    return wrote(writer->store, FZ_STORE_CALL_COMMIT, (size_t)writer->size_bytes, code);
}

void fz_store_writer_free(fz_store_writer *writer) {
    if (writer) {
        char *key = writer->key;
        writer->ops->free(writer);
        fz_free(key);
    }
}

void fz_store_writer_release(fz_store_writer **writer) {
    fz_store_writer_free(*writer);
    *writer = NULL;
}

char *fz_store_uri(const fz_store *store, fz_str key) {
    if (key.size == 0) {
        return fz_str_dup(fz_str_from(store->root_uri));
    }
    return fz_str_printf("%s/%.*s", store->root_uri, FZ_STR_ARGS(key));
}

// Hadoop's names of one scheme, and a bare path for a file.
static fz_str plain_scheme(fz_str scheme) {
    if (scheme.size == 0) {
        return FZ_STR("file");
    }
    if (fz_str_equal_nocase(scheme, FZ_STR("s3a")) || fz_str_equal_nocase(scheme, FZ_STR("s3n"))) {
        return FZ_STR("s3");
    }
    return scheme;
}

static bool same_host(fz_str scheme, fz_str a, fz_str b) {
    if (fz_str_equal_nocase(scheme, FZ_STR("file"))) {
        a = fz_str_equal_nocase(a, FZ_STR("localhost")) ? FZ_STR("") : a;
    }
    return fz_str_equal(a, b);
}

fz_code fz_store_key(const fz_store *store, fz_str text, fz_str *key, fz_err *err) {
    fz_uri root;
    fz_uri uri;
    FZ_TRY(fz_uri_parse(fz_str_from(store->root_uri), &root, err));
    FZ_TRY(fz_uri_parse(text, &uri, err));
    fz_str scheme = plain_scheme(uri.scheme);
    if (uri.path.data) {
        // keys hold '?' and '#' as they are
        uri.path.size = (size_t)(text.data + text.size - uri.path.data);
    }
    fz_str base = root.path;
    while (fz_str_ends_with(base, FZ_STR("/"))) {
        base.size--;
    }
    bool inside = fz_str_equal_nocase(scheme, plain_scheme(root.scheme)) &&
                  same_host(scheme, uri.host, root.host) &&
                  fz_str_equal(uri.user_info, root.user_info) &&
                  fz_str_starts_with(uri.path, base) && uri.path.size > base.size + 1 &&
                  uri.path.data[base.size] == '/';
    if (!inside) {
        return fz_err_set(err, FZ_INVALID, "\"%.*s\" is not below \"%s\"", FZ_STR_ARGS(text),
                          store->root_uri);
    }
    *key = fz_str_slice(uri.path, base.size + 1, uri.path.size);
    return FZ_OK;
}
