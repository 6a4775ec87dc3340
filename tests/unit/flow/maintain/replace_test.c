// SPDX-License-Identifier: Apache-2.0
// Manifests are merged and files put together: the rows, the numbers and the position stay.
#include "format/parquet/writer.h"
#include "table/scan/scan.h"
#include "unit/flow/maintain/keep.h"

static void commits(world *w, int64_t from, int64_t count) {
    for (int64_t i = from; i < from + count; i++) {
        must_commit(w, 0, i, i + 1);
    }
}

static fz_str summary_of(world *w, const char *key) {
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(w->pointer->now, &main));
    return fz_iceberg_snapshot_summary(&main, key);
}

static void assert_summary(world *w, const char *key, const char *value) {
    fz_str found = summary_of(w, key);
    char text[64];
    snprintf(text, sizeof text, "%.*s", FZ_STR_ARGS(found));
    assert_string_equal(text, value);
}

/** Entries as the numbers that a file had when it was added. */
static fz_code note_numbers(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    int64_t *numbers = (int64_t *)fz_calloc(3, sizeof *numbers);
    numbers[0] = entry->snapshot_id;
    numbers[1] = entry->sequence_number;
    numbers[2] = entry->file_sequence_number;
    assert_int_not_equal(entry->status, FZ_ICEBERG_DELETED);
    assert_null(fz_map_put((fz_map *)context, entry->file.path, numbers));
    return FZ_OK;
}

static void numbers_of_main(world *w, fz_map *out) {
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(w->pointer->now, &main));
    each_kept(w, &main, note_numbers, out);
}

static void free_numbers(fz_map *map) {
    for (size_t i = 0; i < map->count; i++) {
        fz_free(map->entries[i].value);
    }
    fz_map_deinit(map);
}

/** T155, T161: explicit numbers, totals carried on, the state of the base. */
static void manifests_are_merged(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 30);
    fz_map before = {0}, after = {0};
    numbers_of_main(&w, &before);
    assert_int_equal(main_manifests(&w), 30);
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_MANIFESTS);
    assert_true(strlen(r.skipped) > 0); // 30 of 100
    options.config.rewrite_manifests.min_count = 10;
    r = must_do(&options, FZ_MAINTAIN_MANIFESTS);
    assert_int_equal(r.manifests_before, 30);
    assert_int_equal(r.manifests_after, 1);
    assert_int_equal(main_manifests(&w), 1);
    numbers_of_main(&w, &after);
    assert_int_equal(after.count, 30);
    for (size_t i = 0; i < before.count; i++) {
        const void *now = fz_map_find(&after, before.entries[i].key);
        assert_non_null(now);
        assert_memory_equal(now, before.entries[i].value, 3 * sizeof(int64_t));
    }
    assert_summary(&w, "operation", "replace");
    assert_summary(&w, "frazil.op", "replace");
    assert_summary(&w, "total-data-files", "30");
    assert_summary(&w, "total-records", "30");
    assert_summary(&w, "manifests-replaced", "30");
    check_position(&w, 30);
    commits(&w, 30, 2);
    check_position(&w, 32);
    check_all_snapshots(&w);
    free_numbers(&before);
    free_numbers(&after);
    world_deinit(&w);
}

typedef struct rival {
    world *w;
    int times;
    int64_t next;
} rival;

/** Appends, each time that somebody wants to commit. */
static void append_first(void *context) {
    rival *r = (rival *)context;
    if (r->times-- <= 0) {
        fz_catalog_fault_hook(r->w->catalog, NULL, NULL);
        return;
    }
    fz_catalog_fault_hook(r->w->catalog, NULL, NULL);
    must_commit(r->w, 1, r->next, r->next + 3);
    r->next += 3;
    fz_catalog_fault_hook(r->w->catalog, append_first, r);
}

/** H10: the state is that of the base of each attempt. */
static void appends_are_first(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 12);
    fz_maintain_options options = keep_options(&w);
    options.config.rewrite_manifests.min_count = 10;
    rival r = {&w, 3, 0};
    fz_catalog_fault_hook(w.catalog, append_first, &r);
    fz_maintain_report report = must_do(&options, FZ_MAINTAIN_MANIFESTS);
    assert_int_equal(report.conflicts, 3);
    assert_int_equal(main_manifests(&w), 4); // the merged one and those of the appends
    fz_commit_state *position = NULL;
    OK(world_position(&w, &position, NULL, NULL));
    assert_int_equal(position->sources[0].parts[1].next, 9);
    check_rows(&w, position);
    fz_commit_state_free(position);
    world_deinit(&w);
}

/** Every catalog call fails once, before and after its effect: the rows stay, a second round
 * succeeds. */
static void every_call_fails(void **state) {
    (void)state;
    for (int after = 0; after < 2; after++) {
        for (uint64_t n = 1; n <= 5; n++) {
            world w;
            world_init(&w);
            world_create(&w);
            commits(&w, 0, 12);
            fz_maintain_options options = keep_options(&w);
            options.config.rewrite_manifests.min_count = 2;
            fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, n, 1, after,
                                  after ? FZ_UNKNOWN_OUTCOME : FZ_UNAVAILABLE);
            fz_maintain_report r = {0};
            fz_err err = {0};
            (void)!fz_maintain_manifests(&options, &r, &err);
            fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
            (void)must_do(&options, FZ_MAINTAIN_MANIFESTS);
            assert_int_equal(main_manifests(&w), 1);
            check_position(&w, 12);
            check_all_snapshots(&w);
            world_deinit(&w);
        }
    }
}

// --- compaction: files with rows in them

/** A file of rows [start, end), in the store; its size. */
static int64_t write_parquet(world *w, fz_str uri, int64_t start, int64_t end) {
    fz_schema *schema = world_schema();
    fz_batch *batch = fz_batch_new(schema, NULL);
    for (int64_t i = start; i < end; i++) {
        OK(fz_column_append_i64(&batch->columns[0], i, NULL));
        batch->rows++;
    }
    fz_buf bytes = {0};
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, &bytes);
    fz_parquet_options how;
    fz_parquet_options_init(&how);
    how.version = FZ_STR("test");
    fz_parquet_writer *writer = NULL;
    OK(fz_parquet_writer_new(schema, &how, &sink.sink, NULL, &writer, NULL));
    OK(fz_parquet_writer_append(writer, batch, 0, batch->rows, NULL));
    OK(fz_parquet_writer_close(writer, NULL, NULL));
    put_uri(w->lake, uri, fz_buf_view(&bytes));
    int64_t size = (int64_t)bytes.size;
    fz_parquet_writer_free(writer);
    fz_batch_free(batch);
    fz_buf_deinit(&bytes);
    fz_schema_unref(schema);
    return size;
}

static void commit_rows(world *w, int64_t start, int64_t end) {
    work k;
    fz_commit_outcome out;
    work_init(&k, w, &(range){0, 0, start, end}, 1);
    fz_iceberg_file file = *fz_iceberg_append_at(k.batch.files, 0);
    int64_t size = write_parquet(w, file.path, start, end);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(k.commit));
    file.file_size_bytes = size;
    fz_iceberg_append_add(files, &file);
    fz_iceberg_append_free(k.batch.files);
    k.batch.files = files;
    assert_int_equal(work_run(&k, w, &out), FZ_COMMIT_DONE);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
}

/** Rows of main are 0, 1, 2... `count` of them, in this order a file. */
static void check_scan(world *w, int64_t count) {
    const fz_scan_options how = {0};
    fz_scan *scan = NULL;
    fz_batch *batch = NULL;
    bool *seen = (bool *)fz_calloc((size_t)count, sizeof *seen);
    int64_t rows = 0;
    OK(fz_scan_open(fz_scan_files_in(w->lake), w->pointer->now, &how, &scan, NULL));
    fz_err err = {0};
    fz_code code;
    while ((code = fz_scan_next(scan, &batch, &err)) == FZ_OK && batch) {
        for (int64_t i = 0; i < batch->rows; i++) {
            int64_t value = ((const int64_t *)batch->columns[0].values)[i];
            assert_true(value >= 0 && value < count && !seen[value]);
            seen[value] = true;
            rows++;
        }
    }
    if (code != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(rows, count);
    fz_scan_free(scan);
    fz_free(seen);
}

static int64_t next_of(world *w) {
    fz_commit_state *position = NULL;
    OK(world_position(w, &position, NULL, NULL));
    int64_t next = position->sources[0].parts[0].next;
    fz_commit_state_free(position);
    return next;
}

static void small_files_become_one(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    for (int64_t i = 0; i < 10; i++) {
        commit_rows(&w, i * 100, i * 100 + 100);
    }
    fz_maintain_options options = keep_options(&w);
    options.dry_run = true;
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 10);
    options.dry_run = false;
    r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 10);
    assert_int_equal(r.files_out, 1);
    assert_int_equal(r.rows, 1000);
    assert_summary(&w, "operation", "replace");
    assert_summary(&w, "added-data-files", "1");
    assert_summary(&w, "deleted-data-files", "10");
    assert_summary(&w, "added-records", "1000");
    assert_summary(&w, "deleted-records", "1000");
    assert_summary(&w, "total-records", "1000");
    assert_summary(&w, "total-data-files", "1");
    check_scan(&w, 1000);
    assert_int_equal(next_of(&w), 1000);
    check_all_snapshots(&w);
    r = must_do(&options, FZ_MAINTAIN_COMPACT); // one large, none small enough
    assert_int_equal(r.files_in, 0);
    commit_rows(&w, 1000, 1100);
    check_scan(&w, 1100);
    // the old files go with the snapshots that had them
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.data_files_deleted, 10);
    assert_int_equal(count_objects(&w, "t/data/"), 2);
    check_scan(&w, 1100);
    check_all_snapshots(&w);
    world_deinit(&w);
}

static void append_rows_first(void *context) {
    rival *r = (rival *)context;
    fz_catalog_fault_hook(r->w->catalog, NULL, NULL);
    if (r->times-- > 0) {
        commit_rows(r->w, r->next, r->next + 10);
        r->next += 10;
        fz_catalog_fault_hook(r->w->catalog, append_rows_first, r);
    }
}

/** T209: appends are never stopped, the compaction goes onto each new base. */
static void compaction_beside_appends(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    for (int64_t i = 0; i < 8; i++) {
        commit_rows(&w, i * 10, i * 10 + 10);
    }
    fz_maintain_options options = keep_options(&w);
    rival r = {&w, 4, 80};
    fz_catalog_fault_hook(w.catalog, append_rows_first, &r);
    fz_maintain_report report = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(report.conflicts, 4);
    assert_int_equal(report.files_in, 8);
    assert_int_equal(report.files_out, 1);
    check_scan(&w, 120);
    assert_int_equal(next_of(&w), 120);
    check_all_snapshots(&w);
    world_deinit(&w);
}

/** Another compaction is first: our files are gone from the base, so all is planned anew. */
static void compact_first(void *context) {
    world *w = (world *)context;
    fz_catalog_fault_hook(w->catalog, NULL, NULL);
    fz_maintain_options options = keep_options(w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 8);
}

static void two_compactions(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    for (int64_t i = 0; i < 8; i++) {
        commit_rows(&w, i * 10, i * 10 + 10);
    }
    fz_maintain_options options = keep_options(&w);
    fz_catalog_fault_hook(w.catalog, compact_first, &w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 0); // the second plan finds nothing
    check_scan(&w, 80);
    // what was sent and lost stays for orphan removal (R8)
    assert_int_equal(count_objects(&w, "t/data/"), 10);
    world_deinit(&w);
}

/** A reply that is lost: applied once, whatever was said. */
static void compaction_replies_are_lost(void **state) {
    (void)state;
    for (int after = 0; after < 2; after++) {
        world w;
        world_init(&w);
        world_create(&w);
        for (int64_t i = 0; i < 8; i++) {
            commit_rows(&w, i * 10, i * 10 + 10);
        }
        fz_maintain_options options = keep_options(&w);
        fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 1, after, FZ_UNKNOWN_OUTCOME);
        fz_maintain_report r = must_do(&options, FZ_MAINTAIN_COMPACT);
        assert_int_equal(r.files_in, 8);
        check_scan(&w, 80);
        assert_int_equal(next_of(&w), 80);
        check_all_snapshots(&w);
        world_deinit(&w);
    }
}

/** Version 3: rows keep their ids, in the end with files that were put together before. */
static void lineage_is_kept(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commit_rows(&w, 0, 10); // has no row ids
    json_t *upgrade = fz_iceberg_update_new("upgrade-format-version");
    fz_json_set_int(upgrade, "format-version", 3);
    foreign(&w, upgrade);
    for (int64_t i = 1; i < 8; i++) {
        commit_rows(&w, i * 10, i * 10 + 10);
    }
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 8);
    check_scan(&w, 80);
    for (int64_t i = 8; i < 10; i++) {
        commit_rows(&w, i * 10, i * 10 + 10);
    }
    options.thorough = true;
    r = must_do(&options, FZ_MAINTAIN_COMPACT);
    assert_int_equal(r.files_in, 3);
    check_scan(&w, 100);
    r = must_do(&options, FZ_MAINTAIN_MANIFESTS);
    check_scan(&w, 100);
    assert_int_equal(next_of(&w), 100);
    check_all_snapshots(&w);
    world_deinit(&w);
}

/** A file that cannot be read stops the round, and nothing else. */
static void damaged_file(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 8); // files without rows
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = {0};
    fz_err err = {0};
    assert_int_not_equal(fz_maintain_compact(&options, &r, &err), FZ_OK);
    assert_int_equal(count_objects(&w, "t/data/"), 8);
    check_position(&w, 8);
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_are_merged),
        cmocka_unit_test(appends_are_first),
        cmocka_unit_test(every_call_fails),
        cmocka_unit_test(small_files_become_one),
        cmocka_unit_test(compaction_beside_appends),
        cmocka_unit_test(two_compactions),
        cmocka_unit_test(compaction_replies_are_lost),
        cmocka_unit_test(lineage_is_kept),
        cmocka_unit_test(damaged_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
