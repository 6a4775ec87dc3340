// SPDX-License-Identifier: Apache-2.0
// Orphan removal: only what is old and nobody's.
#include "unit/flow/maintain/keep.h"

/** Everything is old: the store's clock is the real one. */
static fz_maintain_options old_options(world *w) {
    fz_maintain_options options = keep_options(w);
    options.table.clock = fz_clock_real();
    options.config.remove_orphans.older_than_ms = -1000;
    return options;
}

static void put(world *w, const char *key) {
    OK(fz_store_put(w->lake, fz_str_from(key), FZ_STR("x"), NULL));
}

static bool is_there(world *w, const char *key) {
    fz_object object;
    return fz_store_stat(w->lake, fz_str_from(key), &object, NULL) == FZ_OK;
}

static void strays_go(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    must_commit(&w, 0, 5, 9);
    put(&w, "t/data/stray.parquet");
    put(&w, "t/metadata/stray-m0.avro");
    put(&w, "t/data/_hidden");
    put(&w, "t/metadata/version-hint.text");
    put(&w, "t/other/file"); // not ours to look at
    put(&w, "t2/data/neighbour.parquet");
    put(&w, "t/data/inner/metadata/00001-x.metadata.json"); // a table below ours (T215)
    put(&w, "t/data/inner/data/1.parquet");
    fz_maintain_options options = keep_options(&w);
    options.table.clock = fz_clock_real();
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 0); // younger than three days
    options = old_options(&w);
    options.dry_run = true;
    r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 2);
    assert_true(is_there(&w, "t/data/stray.parquet"));
    options.dry_run = false;
    r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 2);
    assert_false(is_there(&w, "t/data/stray.parquet"));
    assert_false(is_there(&w, "t/metadata/stray-m0.avro"));
    assert_true(is_there(&w, "t/data/_hidden"));
    assert_true(is_there(&w, "t/metadata/version-hint.text"));
    assert_true(is_there(&w, "t/other/file"));
    assert_true(is_there(&w, "t2/data/neighbour.parquet"));
    assert_true(is_there(&w, "t/data/inner/data/1.parquet"));
    check_all_snapshots(&w);
    check_position(&w, 9);
    world_deinit(&w);
}

/** T215: statistics, and what an outbox names. */
static void named_elsewhere(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    put(&w, "t/metadata/s.puffin");
    put(&w, "t/data/owed.parquet");
    json_t *set = fz_iceberg_update_new("set-statistics");
    json_object_set_new(set, "statistics",
                        json_pack("{s:I,s:s,s:i,s:i,s:[]}", "snapshot-id", (json_int_t)main_id(&w),
                                  "statistics-path", "memory://lake/t/metadata/s.puffin",
                                  "file-size-in-bytes", 1, "file-footer-size-in-bytes", 1,
                                  "blob-metadata"));
    json_object_set_new(set, "snapshot-id", json_integer(main_id(&w)));
    foreign(&w, set);
    set = fz_iceberg_update_new("set-properties");
    json_object_set_new(
        set, "updates",
        json_pack("{s:s}", "frazil.outbox",
                  "[{\"files\":[{\"path\":\"memory://lake/t/data/owed.parquet\"}]}]"));
    foreign(&w, set);
    fz_maintain_options options = old_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 0);
    assert_true(is_there(&w, "t/metadata/s.puffin"));
    assert_true(is_there(&w, "t/data/owed.parquet"));
    world_deinit(&w);
}

/** Metadata made from `base` that the catalog does not know; a reference. */
static fz_iceberg_metadata *off_the_line(world *w, const fz_iceberg_metadata *base,
                                         const char *key) {
    json_t *updates = json_array();
    json_t *set = fz_iceberg_update_new("set-properties");
    json_object_set_new(set, "updates", json_pack("{s:s}", key, "1"));
    json_array_append_new(updates, set);
    fz_clock_sim_advance(&w->clock, 1000000);
    fz_iceberg_metadata *next = NULL;
    OK(fz_iceberg_update_apply(base, updates, fz_clock_wall_ms(&w->clock.clock), &next, NULL));
    json_decref(updates);
    fz_iceberg_metadata *written = write_metadata(w->lake, next, base->location);
    fz_iceberg_metadata_unref(next);
    return written;
}

static bool uri_is_there(world *w, fz_str uri) {
    fz_str key;
    fz_object object;
    OK(fz_store_key(w->lake, uri, &key, NULL));
    return fz_store_stat(w->lake, key, &object, NULL) == FZ_OK;
}

/** C5: one attempt of somebody stays with what it reaches; a line that goes on stops all. */
static void another_catalog(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    fz_iceberg_metadata *one = off_the_line(&w, w.pointer->now, "a");
    must_commit(&w, 0, 5, 9);
    put(&w, "t/data/stray.parquet");
    fz_maintain_options options = old_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 1);
    assert_true(uri_is_there(&w, one->location));
    put(&w, "t/data/stray.parquet");
    fz_iceberg_metadata *two = off_the_line(&w, one, "b");
    fz_err err = {0};
    assert_int_equal(fz_maintain_orphans(&options, &r, &err), FZ_CONFLICT);
    assert_true(is_there(&w, "t/data/stray.parquet"));
    fz_iceberg_metadata_unref(one);
    fz_iceberg_metadata_unref(two);
    world_deinit(&w);
}

/** Attempts of ours that lost a race, and files that fell out of the log, go. */
static void own_leftovers(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    fz_iceberg_metadata *base = world_load(&w);
    // an own commit that the catalog swallowed is written and never heard of
    w.pointer->lie = LIE_SWALLOW;
    must_commit(&w, 0, 5, 9);
    size_t before = count_objects(&w, "t/metadata/000");
    fz_maintain_options options = old_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(count_objects(&w, "t/metadata/000"), before - 1);
    assert_true(r.orphans >= 1);
    check_all_snapshots(&w);
    check_position(&w, 9);
    fz_iceberg_metadata_unref(base);
    json_t *set = fz_iceberg_update_new("set-properties");
    json_object_set_new(set, "updates",
                        json_pack("{s:s}", "write.metadata.previous-versions-max", "3"));
    foreign(&w, set);
    for (int64_t i = 9; i < 20; i++) {
        must_commit(&w, 0, i, i + 1);
    }
    r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(count_objects(&w, "t/metadata/000"),
                     1 + fz_iceberg_metadata_log_count(w.pointer->now));
    check_all_snapshots(&w);
    check_position(&w, 20);
    world_deinit(&w);
}

/** Another table's metadata in the folder stops all. */
static void another_table(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    fz_schema *schema = world_schema();
    const fz_iceberg_new_options how = {
        .schema = schema, .location = FZ_STR(TABLE_LOCATION), .format_version = 2, .now_ms = 1000};
    fz_iceberg_metadata *other = NULL;
    OK(fz_iceberg_metadata_new(&how, &other, NULL));
    fz_iceberg_metadata *written = write_metadata(w.lake, other, FZ_STR(""));
    fz_maintain_options options = old_options(&w);
    fz_maintain_report r = {0};
    fz_err err = {0};
    put(&w, "t/data/stray.parquet");
    assert_int_equal(fz_maintain_orphans(&options, &r, &err), FZ_CONFLICT);
    assert_true(is_there(&w, "t/data/stray.parquet"));
    fz_iceberg_metadata_unref(other);
    fz_iceberg_metadata_unref(written);
    fz_schema_unref(schema);
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strays_go),       cmocka_unit_test(named_elsewhere),
        cmocka_unit_test(another_catalog), cmocka_unit_test(own_leftovers),
        cmocka_unit_test(another_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
