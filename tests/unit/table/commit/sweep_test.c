// SPDX-License-Identifier: Apache-2.0
// Creation and three commits, with call n of catalog and store failing before or after its effect,
// for every n: in a process that goes on, and in one that ends there and is started again. On the
// catalog of memory and on SQLite.
#define _GNU_SOURCE
#include "unit/table/commit/foreign.h"

#include "io/store/fault_store.h"
#include "table/catalog/sql.h"

#define END 30

typedef struct sweep {
    world w;
    bool sql;
    fz_store *faults; // around the lake
} sweep;

static fz_code open_shared(void *context, fz_str location, fz_store **out, fz_err *err) {
    (void)location;
    (void)err;
    *out = shared_store_new(((sweep *)context)->faults);
    return FZ_OK;
}

static void sweep_init(sweep *s, bool sql) {
    memset(s, 0, sizeof *s);
    world_init(&s->w);
    s->sql = sql;
    s->faults = fz_store_fault_new(shared_store_new(s->w.lake));
    s->w.table.store = s->faults;
    if (sql) {
        const fz_catalog_sql_options options = {.path = ":memory:",
                                                .name = FZ_STR("frazil"),
                                                .warehouse = FZ_STR("memory://lake"),
                                                .open_store = open_shared,
                                                .store_context = s,
                                                .clock = &s->w.clock.clock};
        fz_catalog *inner = NULL;
        fz_err err;
        if (fz_catalog_sql_open(&options, &inner, &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
        fz_catalog_free(s->w.catalog);                                       // with the pointer
        s->w.pointer = (memory_catalog *)fz_calloc(1, sizeof *s->w.pointer); // what is looked at
        fz_mutex_init(&s->w.pointer->mutex);
        s->w.catalog = s->w.table.catalog = fz_catalog_fault_new(inner);
    }
}

static void sweep_deinit(sweep *s) {
    fz_store *faults = s->faults;
    world *w = &s->w;
    forget_manifests(w);
    if (s->sql) {
        memory_free(&w->pointer->catalog);
    }
    assert_int_equal(((shared_store *)w->store)->removed, 0);
    fz_catalog_free(w->catalog);
    fz_store_free(faults);
    fz_store_free(w->store);
    fz_store_free(w->lake);
}

/** Let w.pointer be at what the SQL catalog has; false: not told. */
static bool look(sweep *s) {
    if (s->sql) {
        fz_iceberg_metadata *now = NULL;
        if (fz_catalog_load(s->w.catalog, s->w.table.name, &now, NULL) != FZ_OK) {
            return false;
        }
        fz_iceberg_metadata_unref(s->w.pointer->now);
        s->w.pointer->now = now;
    }
    return s->w.pointer->now;
}

/** One life of a process: until all is written (true), or the first thing that it would have to
 * wait for. */
static bool live(sweep *s) {
    world *w = &s->w;
    fz_commit_part parts[PARTITIONS];
    fz_commit_source source = world_source(parts, PARTITIONS);
    fz_iceberg_metadata *now = NULL;
    fz_code code = fz_catalog_load(w->catalog, w->table.name, &now, NULL);
    fz_iceberg_metadata_unref(now);
    if (code == FZ_NOT_FOUND) {
        code = world_try_create(w, NULL, &source, NULL);
    }
    if (code != FZ_OK || !look(s)) {
        return false;
    }
    fz_commit_state *state = NULL;
    if (world_position(w, &state, NULL, NULL) != FZ_OK) {
        return false;
    }
    int64_t at = state->sources[0].parts[0].next;
    fz_commit_state_free(state);
    while (at < END) {
        work k;
        fz_commit_outcome out;
        work_init(&k, w, (range[]){{0, 0, at, at + 10}, {1, 0, at, at + 10}}, 2);
        work_run(&k, w, &out);
        bool told = out.result == FZ_COMMIT_DONE || out.result == FZ_COMMIT_FORGOTTEN;
        if (out.result == FZ_COMMIT_SUSPENDED) {
            fail_msg("suspended: %s", out.err.text);
        }
        if (told && !out.state) {
            assert_int_equal(out.result, FZ_COMMIT_DONE);
            told = false; // done, and the position could not be asked: as at a new start
        }
        at = told ? out.state->sources[0].parts[0].next : at;
        fz_commit_outcome_deinit(&out);
        work_deinit(&k);
        if (!told) {
            return false;
        }
    }
    return true;
}

/** Lives until all is written; then every row is there once. */
static void run_through(sweep *s, bool ends) {
    bool all = false;
    for (int life = 0; life < 20 && !all; life++) {
        s->w.waits = ends ? 1 : -1; // told to stop with the first wait
        all = live(s);
    }
    assert_true(all);
    fz_catalog_fault_plan(s->w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
    fz_store_fault_plan(s->faults, FZ_STORE_FAULT_ANY, 0, 0, FZ_STORE_FAULT_BEFORE, FZ_OK);
    assert_true(look(s));
    check_position(&s->w, END);
}

static void sweep_catalog(bool sql, bool after, bool ends, fz_code code, fz_catalog_call call) {
    for (uint64_t n = 1;; n++) {
        sweep s;
        sweep_init(&s, sql);
        fz_catalog_fault_plan(s.w.catalog, call, n, 1, after, code);
        bool all = false;
        for (int life = 0; life < 20 && !all; life++) {
            s.w.waits = ends ? 1 : -1;
            all = live(&s);
        }
        bool struck = fz_catalog_fault_count(s.w.catalog) >= n;
        assert_true(all);
        run_through(&s, ends);
        sweep_deinit(&s);
        if (!struck) {
            assert_true(n > 3);
            return;
        }
    }
}

static void sweep_store(bool sql, fz_store_fault_when when, bool ends, fz_code code) {
    for (uint64_t n = 1;; n++) {
        sweep s;
        sweep_init(&s, sql);
        fz_store_fault_plan(s.faults, FZ_STORE_FAULT_ANY, n, 1, when, code);
        bool all = false;
        for (int life = 0; life < 20 && !all; life++) {
            s.w.waits = ends ? 1 : -1;
            all = live(&s);
        }
        bool struck = fz_store_fault_struck(s.faults);
        assert_true(all);
        run_through(&s, ends);
        sweep_deinit(&s);
        if (!struck) {
            assert_true(n > 10);
            return;
        }
    }
}

static void test_catalog(void **state) {
    bool sql = *(const bool *)*state;
    for (int mode = 0; mode < 2; mode++) {
        sweep_catalog(sql, false, mode, FZ_UNAVAILABLE, FZ_CATALOG_CALL_ANY);
        sweep_catalog(sql, false, mode, FZ_UNKNOWN_OUTCOME, FZ_CATALOG_CALL_ANY);
        sweep_catalog(sql, true, mode, FZ_UNKNOWN_OUTCOME, FZ_CATALOG_CALL_ANY);
        sweep_catalog(sql, false, mode, FZ_CONFLICT, FZ_CATALOG_CALL_COMMIT);
        sweep_catalog(sql, true, mode, FZ_CONFLICT, FZ_CATALOG_CALL_COMMIT);
        sweep_catalog(sql, true, mode, FZ_INVALID, FZ_CATALOG_CALL_COMMIT);
        sweep_catalog(sql, false, mode, FZ_DENIED, FZ_CATALOG_CALL_COMMIT);
    }
}

static void test_store(void **state) {
    bool sql = *(const bool *)*state;
    for (int mode = 0; mode < 2; mode++) {
        sweep_store(sql, FZ_STORE_FAULT_BEFORE, mode, FZ_UNAVAILABLE);
        sweep_store(sql, FZ_STORE_FAULT_BEFORE, mode, FZ_UNKNOWN_OUTCOME);
        sweep_store(sql, FZ_STORE_FAULT_AFTER, mode, FZ_UNKNOWN_OUTCOME);
        sweep_store(sql, FZ_STORE_FAULT_AFTER, mode, FZ_IO);
    }
}

int main(void) {
    static bool memory = false, sql = true;
    const struct CMUnitTest tests[] = {
        {"test_catalog_memory", test_catalog, NULL, NULL, &memory},
        {"test_store_memory", test_store, NULL, NULL, &memory},
        {"test_catalog_sql", test_catalog, NULL, NULL, &sql},
        {"test_store_sql", test_store, NULL, NULL, &sql},
    };
    return cmocka_run_group_tests_name("table/commit sweep", tests, NULL, NULL);
}
