// SPDX-License-Identifier: Apache-2.0
// Counting the calls of another store and failing those of the plan.
#include "io/store/fault_store.h"

#include "base/memory.h"
#include "base/thread.h"

typedef struct fault_store {
    fz_store store;
    fz_store *inner;
    fz_mutex mutex; // guards all below
    fz_store_call call;
    uint64_t first; // 1: the next call, 0: no plan
    uint64_t times;
    fz_store_fault_when when;
    fz_code code;
    uint64_t seen[FZ_STORE_CALLS + 1]; // since the plan; the last one of all kinds
    bool struck;
} fault_store;

typedef struct fault_writer {
    fz_store_writer writer;
    fz_store_writer *inner;
} fault_writer;

// What is to happen to one call.
typedef struct strike {
    fz_store_call call;
    fz_code code; // FZ_OK: nothing
} strike;

static fz_code answer(fz_code code, fz_store_call call, const char *when, fz_err *err) {
    return fz_err_set(err, code, "planned fault %s %s", when, fz_store_call_name(call));
}

// Count the call and fail it here if the plan says so; what is to happen after the effect goes to
// `out`.
static fz_code strike_before(fault_store *f, fz_store_call call, strike *out, fz_err *err) {
    fz_mutex_lock(&f->mutex);
    f->seen[call]++;
    f->seen[FZ_STORE_CALLS]++;
    fz_code code = FZ_OK;
    fz_store_fault_when when = f->when;
    if (f->first && (f->call == call || f->call == FZ_STORE_FAULT_ANY)) {
        uint64_t n = f->seen[f->call];
        if (n >= f->first && n - f->first < f->times) {
            f->struck = true;
            code = f->code;
        }
    }
    fz_mutex_unlock(&f->mutex);
    *out = (strike){call, when == FZ_STORE_FAULT_AFTER ? code : FZ_OK};
    if (code != FZ_OK && when == FZ_STORE_FAULT_BEFORE) {
        return answer(code, call, "before", err);
    }
    return FZ_OK;
}

// A call that failed by itself keeps its own code.
static fz_code strike_after(strike s, fz_code code, fz_err *err) {
    return code == FZ_OK && s.code != FZ_OK ? answer(s.code, s.call, "after", err) : code;
}

static fz_code fault_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_STAT, &s, err));
    return strike_after(s, fz_store_stat(f->inner, key, out, err), err);
}

static fz_code fault_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                          fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_READ, &s, err));
    return strike_after(s, fz_store_read(f->inner, key, at, size, out, err), err);
}

static fz_code fault_put(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_PUT, &s, err));
    return strike_after(s, fz_store_put(f->inner, key, body, err), err);
}

static fz_code fault_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_PUT_NEW, &s, err));
    return strike_after(s, fz_store_put_new(f->inner, key, body, err), err);
}

static fz_code fault_put_if(fz_store *store, fz_str key, fz_str etag, fz_str body, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_PUT_IF, &s, err));
    return strike_after(s, fz_store_put_if(f->inner, key, etag, body, err), err);
}

static fz_code fault_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_LIST, &s, err));
    return strike_after(s, fz_store_list(f->inner, prefix, after, out, err), err);
}

static fz_code fault_remove(fz_store *store, fz_str key, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_REMOVE, &s, err));
    return strike_after(s, fz_store_remove(f->inner, key, err), err);
}

static fz_code fault_sweep(fz_store *store, fz_str prefix, int64_t before_ms, size_t *count,
                           fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_SWEEP, &s, err));
    return strike_after(s, fz_store_sweep(f->inner, prefix, before_ms, count, err), err);
}

static fz_code writer_write(fz_store_writer *writer, fz_str bytes, fz_err *err) {
    fault_writer *w = (fault_writer *)writer;
    fault_store *f = (fault_store *)writer->store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_WRITE, &s, err));
    return strike_after(s, fz_store_writer_write(w->inner, bytes.data, bytes.size, err), err);
}

static fz_code writer_commit(fz_store_writer *writer, fz_object *out, fz_err *err) {
    fault_writer *w = (fault_writer *)writer;
    fault_store *f = (fault_store *)writer->store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_COMMIT, &s, err));
    return strike_after(s, fz_store_writer_commit(w->inner, out, err), err);
}

static void writer_free(fz_store_writer *writer) {
    fz_store_writer_free(((fault_writer *)writer)->inner);
    fz_free(writer);
}

static fz_code open_both(fault_store *f, fz_str key, fz_store_writer **out, fz_err *err) {
    static const fz_store_writer_ops ops = {writer_write, writer_commit, writer_free};
    fz_store_writer *inner;
    FZ_TRY(fz_store_open(f->inner, key, &inner, err));
    fault_writer *w = fz_calloc(1, sizeof *w);
    fz_store_writer_init(&w->writer, &ops, &f->store, key);
    w->inner = inner;
    *out = &w->writer;
    return FZ_OK;
}

static fz_code fault_open(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err) {
    fault_store *f = (fault_store *)store;
    strike s;
    FZ_TRY(strike_before(f, FZ_STORE_CALL_OPEN, &s, err));
    fz_store_writer *made;
    FZ_TRY(open_both(f, key, &made, err));
    fz_code code = strike_after(s, FZ_OK, err);
    if (code != FZ_OK) {
        fz_store_writer_free(made); // nobody else would
        return code;
    }
    *out = made;
    return FZ_OK;
}

static void fault_free(fz_store *store) {
    fault_store *f = (fault_store *)store;
    fz_store_free(f->inner);
    fz_mutex_deinit(&f->mutex);
    fz_free(f);
}

fz_store *fz_store_fault_new(fz_store *inner) {
    static const fz_store_ops ops = {
        .name = "fault",
        .stat = fault_stat,
        .read = fault_read,
        .put = fault_put,
        .put_new = fault_put_new,
        .put_if = fault_put_if,
        .list = fault_list,
        .remove = fault_remove,
        .open = fault_open,
        .sweep = fault_sweep,
        .free = fault_free,
    };
    FZ_ASSERT(inner);
    fault_store *f = fz_calloc(1, sizeof *f);
    fz_store_init(&f->store, &ops, fz_str_dup(fz_str_from(inner->root_uri)));
    fz_mutex_init(&f->mutex);
    f->inner = inner;
    return &f->store;
}

void fz_store_fault_plan(fz_store *store, fz_store_call call, uint64_t n, uint64_t times,
                         fz_store_fault_when when, fz_code code) {
    fault_store *f = (fault_store *)store;
    FZ_ASSERT(n == 0 || code != FZ_OK);
    fz_mutex_lock(&f->mutex);
    f->call = call;
    f->first = n;
    f->times = times;
    f->when = when;
    f->code = code;
    f->struck = false;
    memset(f->seen, 0, sizeof f->seen);
    fz_mutex_unlock(&f->mutex);
}

uint64_t fz_store_fault_count(const fz_store *store, fz_store_call call) {
    fault_store *f = (fault_store *)(uintptr_t)store;
    fz_mutex_lock(&f->mutex);
    uint64_t n = f->seen[call];
    fz_mutex_unlock(&f->mutex);
    return n;
}

bool fz_store_fault_struck(const fz_store *store) {
    fault_store *f = (fault_store *)(uintptr_t)store;
    fz_mutex_lock(&f->mutex);
    bool struck = f->struck;
    fz_mutex_unlock(&f->mutex);
    return struck;
}
