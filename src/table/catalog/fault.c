// SPDX-License-Identifier: Apache-2.0
// A catalog that fails when told.
#include "table/catalog/fault.h"

#include "base/memory.h"

typedef struct fault_catalog {
    fz_catalog catalog;
    fz_catalog *inner;
    fz_catalog_call call;
    uint64_t n;
    uint64_t times;
    bool after;
    fz_code code;
    _Atomic uint64_t seen;
    void (*hook)(void *context);
    void *hook_context;
} fault_catalog;

/** Does the plan strike this call? */
static bool strikes(fault_catalog *f, fz_catalog_call call) {
    if (f->n == 0 || (f->call != FZ_CATALOG_CALL_ANY && f->call != call)) {
        return false;
    }
    uint64_t number = ++f->seen;
    return number >= f->n && number < f->n + f->times;
}

static fz_code strike(const fault_catalog *f, fz_err *err) {
    return fz_err_set(err, f->code, "planned fault");
}

static void call_hook(fault_catalog *f) {
    if (f->hook) {
        f->hook(f->hook_context);
    }
}

/** Does the plan strike before the call? *struck: it strikes at all. */
static bool strikes_before(fault_catalog *f, fz_catalog_call call, bool *struck) {
    *struck = strikes(f, call);
    return *struck && !f->after;
}

/** The answer of a call that was passed on. */
static fz_code answer(const fault_catalog *f, bool struck, fz_code code, fz_err *err) {
    return struck && code == FZ_OK ? strike(f, err) : code;
}

static fz_code fault_list_namespaces(fz_catalog *catalog, fz_catalog_name_fn each, void *context,
                                     fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_list_namespaces(f->inner, each, context, err), err);
}

static fz_code fault_create_namespace(fz_catalog *catalog, fz_str space, fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_create_namespace(f->inner, space, err), err);
}

static fz_code fault_list(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each, void *context,
                          fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_list(f->inner, space, each, context, err), err);
}

static fz_code fault_locate(fz_catalog *catalog, fz_catalog_name name, fz_buf *out, fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    return fz_catalog_locate(f->inner, name, out, err);
}

/** Metadata of a call that did its work, or the failure that hides it. */
static fz_code hide(fault_catalog *f, bool struck, fz_code code, fz_iceberg_metadata *made,
                    fz_iceberg_metadata **out, fz_err *err) {
    if (code == FZ_OK && struck) {
        fz_iceberg_metadata_unref(made);
        return strike(f, err);
    }
    if (code == FZ_OK) {
        *out = made;
    }
    return code;
}

static fz_code fault_load(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                          fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_LOAD, &struck)) {
        return strike(f, err);
    }
    fz_iceberg_metadata *made = NULL;
    fz_code code = fz_catalog_load(f->inner, name, &made, err);
    return hide(f, struck, code, made, out, err);
}

static fz_code fault_create(fz_catalog *catalog, fz_catalog_name name,
                            const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                            fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    call_hook(f);
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_CREATE, &struck)) {
        return strike(f, err);
    }
    fz_iceberg_metadata *made = NULL;
    fz_code code = fz_catalog_create(f->inner, name, initial, &made, err);
    return hide(f, struck, code, made, out, err);
}

static fz_code fault_commit(fz_catalog *catalog, fz_catalog_name name,
                            const fz_iceberg_metadata *base, const json_t *requirements,
                            const json_t *updates, fz_iceberg_metadata **out, fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    call_hook(f);
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_COMMIT, &struck)) {
        return strike(f, err);
    }
    fz_iceberg_metadata *made = NULL;
    fz_code code = fz_catalog_commit(f->inner, name, base, requirements, updates, &made, err);
    return hide(f, struck, code, made, out, err);
}

static fz_code fault_drop(fz_catalog *catalog, fz_catalog_name name, fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_drop(f->inner, name, err), err);
}

static fz_code fault_register(fz_catalog *catalog, fz_catalog_name name, fz_str location,
                              fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_register(f->inner, name, location, err), err);
}

static fz_code fault_rename(fz_catalog *catalog, fz_catalog_name from, fz_catalog_name to,
                            fz_err *err) {
    fault_catalog *f = (fault_catalog *)catalog;
    bool struck;
    if (strikes_before(f, FZ_CATALOG_CALL_OTHER, &struck)) {
        return strike(f, err);
    }
    return answer(f, struck, fz_catalog_rename(f->inner, from, to, err), err);
}

static void fault_free(fz_catalog *catalog) {
    fault_catalog *f = (fault_catalog *)catalog;
    fz_catalog_free(f->inner);
    fz_free(f);
}

static const fz_catalog_ops fault_ops = {
    .name = "fault",
    .list_namespaces = fault_list_namespaces,
    .create_namespace = fault_create_namespace,
    .list = fault_list,
    .load = fault_load,
    .locate = fault_locate,
    .create = fault_create,
    .commit = fault_commit,
    .drop = fault_drop,
    .register_table = fault_register,
    .rename = fault_rename,
    .free = fault_free,
};

fz_catalog *fz_catalog_fault_new(fz_catalog *inner) {
    fault_catalog *f = fz_calloc(1, sizeof(*f));
    f->catalog.ops = &fault_ops;
    f->inner = inner;
    return &f->catalog;
}

void fz_catalog_fault_plan(fz_catalog *catalog, fz_catalog_call call, uint64_t n, uint64_t times,
                           bool after, fz_code code) {
    fault_catalog *f = (fault_catalog *)catalog;
    f->call = call;
    f->n = n;
    f->times = times;
    f->after = after;
    f->code = code;
    f->seen = 0;
}

uint64_t fz_catalog_fault_count(const fz_catalog *catalog) {
    return ((const fault_catalog *)catalog)->seen;
}

void fz_catalog_fault_hook(fz_catalog *catalog, void (*hook)(void *context), void *context) {
    fault_catalog *f = (fault_catalog *)catalog;
    f->hook = hook;
    f->hook_context = context;
}
