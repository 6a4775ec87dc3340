// SPDX-License-Identifier: Apache-2.0
// Two and more writers on one table, each in its thread with its own catalog: every batch is there
// once.
#define _GNU_SOURCE
#include "unit/table/commit/foreign.h"

#include <unistd.h>

#include "table/catalog/sql.h"

#define WRITERS 3
#define END 240

typedef struct race {
    world w; // lake and, without SQL, the one catalog
    bool sql;
    char database[64];
    _Atomic int done, forgotten;
    char uuid[64];
} race;

static fz_code open_shared(void *context, fz_str location, fz_store **out, fz_err *err) {
    (void)location;
    (void)err;
    *out = shared_store_new(((race *)context)->w.lake);
    return FZ_OK;
}

static fz_catalog *open_catalog(race *r) {
    if (!r->sql) {
        return r->w.catalog;
    }
    const fz_catalog_sql_options options = {.path = r->database,
                                            .name = FZ_STR("frazil"),
                                            .warehouse = FZ_STR("memory://lake"),
                                            .open_store = open_shared,
                                            .store_context = r,
                                            .clock = fz_clock_real()};
    fz_catalog *catalog = NULL;
    fz_err err;
    if (fz_catalog_sql_open(&options, &catalog, &err) != FZ_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return catalog;
}

static bool must(bool holds, const char *what) {
    if (!holds) { // cmocka's failures jump, and belong to the main thread
        (void)fprintf(stderr, "%s\n", what);
        abort();
    }
    return holds;
}

/** A batch with files that are named but not there: nobody looks at young ones. */
static void write_batch(race *r, const fz_commit_table *table, const fz_commit_options *options,
                        int64_t *at) {
    char commit[37];
    fz_rand_uuid(commit);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(commit));
    char *path = fz_str_printf(TABLE_LOCATION "/data/%s~0.0.%lld.%lld_1.0.%lld.%lld.parquet",
                               commit, (long long)at[0], (long long)at[0] + 3, (long long)at[1],
                               (long long)at[1] + 5);
    fz_iceberg_file file = fz_iceberg_file_make(fz_str_from(path), 0);
    file.record_count = 8;
    file.file_size_bytes = DATA_SIZE;
    file.sort_order_id = FZ_ICEBERG_NONE;
    fz_iceberg_append_add(files, &file);
    fz_str key;
    must(fz_store_key(table->store, file.path, &key, NULL) == FZ_OK &&
             fz_store_put_new(table->store, key, FZ_STR("0123456789"), NULL) == FZ_OK,
         "put");
    const fz_commit_move moves[] = {{.partition = 0,
                                     .start = at[0],
                                     .end = at[0] + 3,
                                     .last_row = at[0] + 2,
                                     .fingerprint = {.offset = -1}},
                                    {.partition = 1,
                                     .start = at[1],
                                     .end = at[1] + 5,
                                     .last_row = at[1] + 4,
                                     .fingerprint = {.offset = -1}}};
    const fz_commit_batch batch = {.op = "append",
                                   .uuid = fz_str_from(r->uuid),
                                   .source = FZ_STR("orders"),
                                   .route = FZ_STR("route"),
                                   .moves = moves,
                                   .move_count = 2,
                                   .files = files,
                                   .commit = fz_str_from(commit),
                                   .oldest_file_ms = fz_clock_wall_ms(table->clock)};
    fz_commit_outcome out;
    fz_commit_run(table, &batch, options, &out);
    must(out.result == FZ_COMMIT_DONE || out.result == FZ_COMMIT_FORGOTTEN, out.err.text);
    must(out.state, "no position");
    r->done += out.result == FZ_COMMIT_DONE;
    r->forgotten += out.result == FZ_COMMIT_FORGOTTEN;
    for (int p = 0; p < PARTITIONS; p++) {
        at[p] = out.state->sources[0].parts[p].next;
    }
    fz_commit_outcome_deinit(&out);
    fz_iceberg_append_free(files);
    fz_free(path);
}

static void write_all(void *context) {
    race *r = (race *)context;
    fz_store *store = shared_store_new(r->w.lake);
    fz_catalog *catalog = open_catalog(r);
    const fz_commit_table table = {.catalog = catalog,
                                   .name = r->w.table.name,
                                   .store = store,
                                   .clock = fz_clock_real(),
                                   .instance = FZ_STR("racer")};
    fz_commit_options options;
    fz_commit_options_init(&options);
    options.backoff_first_ms = 1;
    options.backoff_most_ms = 4;
    int64_t at[PARTITIONS] = {0};
    while (at[0] < END) {
        write_batch(r, &table, &options, at);
    }
    must(((shared_store *)store)->removed == 0, "a file was removed");
    if (r->sql) {
        fz_catalog_free(catalog);
    }
    fz_store_free(store);
}

static void run_race(bool sql) {
    race r = {.sql = sql};
    world_init(&r.w);
    snprintf(r.database, sizeof r.database, "%s/frazil-race-%d.db",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    r.w.pointer->copies = true;
    fz_catalog *memory = r.w.catalog;
    r.w.catalog = r.w.table.catalog = open_catalog(&r);
    world_create(&r.w);
    fz_iceberg_metadata *now;
    assert_int_equal(fz_catalog_load(r.w.catalog, r.w.table.name, &now, NULL), FZ_OK);
    snprintf(r.uuid, sizeof r.uuid, "%.*s", FZ_STR_ARGS(fz_iceberg_metadata_uuid(now)));
    fz_iceberg_metadata_unref(now);
    fz_thread threads[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++) {
        fz_thread_start(&threads[i], "writer", write_all, &r);
    }
    for (int i = 0; i < WRITERS; i++) {
        fz_thread_join(&threads[i]);
    }
    assert_int_equal(fz_catalog_load(r.w.catalog, r.w.table.name, &now, NULL), FZ_OK);
    if (sql) {
        r.w.pointer->now = now;
    } else {
        fz_iceberg_metadata_unref(now);
    }
    check_position(&r.w, END);
    assert_int_equal(r.done, END / 3);
    print_message("%d commits, %d forgotten\n", r.done, r.forgotten);
    if (sql) {
        fz_catalog_free(r.w.catalog);
        r.w.catalog = memory;
        static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
        for (size_t i = 0; i < FZ_COUNT(ends); i++) {
            char *path = fz_str_printf("%s%s", r.database, ends[i]);
            (void)unlink(path);
            fz_free(path);
        }
    }
    world_deinit(&r.w);
}

static void test_race_memory(void **unused) {
    (void)unused;
    run_race(false);
}

static void test_race_sql(void **unused) {
    (void)unused;
    run_race(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_race_memory),
                                       cmocka_unit_test(test_race_sql)};
    return cmocka_run_group_tests_name("table/commit race", tests, NULL, NULL);
}
