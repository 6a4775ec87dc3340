// SPDX-License-Identifier: Apache-2.0
// Plans: live files of a snapshot, what bounds and summaries leave out, delete files.
#include "table/scan/plan.h"

#include "unit/table/scan/scan_table.h"

#define TWO                                                                                        \
    "{\"id\":1,\"name\":\"n\",\"required\":true,\"type\":\"long\"},"                               \
    "{\"id\":2,\"name\":\"ts\",\"required\":false,\"type\":\"timestamptz\"}"

// Numbers of the files (their names) that a plan gives, as text.
static void check(scan_table *t, int64_t snapshot, const fz_scan_range *ranges, size_t count,
                  const char *want, int64_t skipped) {
    fz_scan_plan *plan = NULL;
    fz_err err = {0};
    fz_buf got = {0};
    const fz_scan_plan_options options = {
        .snapshot_id = snapshot, .ranges = ranges, .range_count = count};
    OK(fz_scan_plan_open(fz_scan_files_in(t->store), t->metadata, &options, &plan, &err));
    for (;;) {
        const fz_iceberg_entry *entry = NULL;
        if (fz_scan_plan_next(plan, &entry, &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
        if (!entry) {
            break;
        }
        fz_str name = entry->file.path;
        fz_str prefix = FZ_STR("memory://lake/t/data/");
        assert_true(fz_str_starts_with(name, prefix));
        fz_buf_append(&got, name.data + prefix.size, 1);
    }
    // files come newest or oldest first: what matters is which
    char sorted[16] = {0};
    for (char c = '0'; c <= '9'; c++) {
        for (size_t i = 0; i < got.size; i++) {
            if (got.data[i] == (uint8_t)c) {
                sorted[strlen(sorted)] = c;
            }
        }
    }
    assert_string_equal(sorted, want);
    assert_int_equal(fz_scan_plan_skipped(plan), skipped);
    fz_scan_plan_free(plan);
    fz_buf_deinit(&got);
}

static fz_scan_range range(int32_t id, fz_type_kind kind, int64_t lower, int64_t upper) {
    return (fz_scan_range){.field_id = id,
                           .has_lower = true,
                           .has_upper = true,
                           .lower = {.kind = kind, .as.integer = lower},
                           .upper = {.kind = kind, .as.integer = upper}};
}

static void snapshots_and_ranges(void **state) {
    (void)state;
    scan_table t;
    scan_table_init(&t, 2, TWO, 0, NULL);
    check(&t, 0, NULL, 0, "", 0); // no snapshot yet
    scan_table_add(&t, TWO, "[[1,null],[9,null]]", NULL);
    fz_iceberg_snapshot first;
    assert_true(fz_iceberg_metadata_main(t.metadata, &first));
    scan_table_add(&t, TWO, "[[10,\"1970-01-02T00:00:00+00:00\"],[19,null]]", NULL);
    scan_table_add(&t, TWO, "[[20,\"1970-01-03T00:00:00+00:00\"]]", NULL);
    check(&t, 0, NULL, 0, "012", 0);
    check(&t, first.snapshot_id, NULL, 0, "0", 0);
    fz_scan_range r = range(1, FZ_TYPE_LONG, 9, 10);
    check(&t, 0, &r, 1, "01", 1);
    r = range(1, FZ_TYPE_LONG, 21, 100);
    check(&t, 0, &r, 1, "", 3);
    r = range(1, FZ_TYPE_LONG, 15, 15); // between the bounds, though not there
    check(&t, 0, &r, 1, "1", 2);
    r.has_upper = false;
    check(&t, 0, &r, 1, "12", 1);
    r = range(2, FZ_TYPE_TIMESTAMPTZ, INT64_MIN, INT64_MAX); // all null
    check(&t, 0, &r, 1, "12", 1);
    r = range(2, FZ_TYPE_TIMESTAMP, 0, 1); // of another type: nothing is known
    check(&t, 0, &r, 1, "12", 1);
    r = range(77, FZ_TYPE_LONG, 0, 1);
    check(&t, 0, &r, 1, "012", 0);
    fz_scan_range both[] = {range(1, FZ_TYPE_LONG, 0, 15),
                            range(2, FZ_TYPE_TIMESTAMPTZ, 0, INT64_C(100000000000))};
    check(&t, 0, both, 2, "1", 2);

    fz_scan_plan *plan = NULL;
    fz_err err = {0};
    const fz_scan_plan_options options = {.snapshot_id = 12345};
    assert_int_equal(
        fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &options, &plan, &err),
        FZ_NOT_FOUND);
    assert_null(plan);
    scan_table_deinit(&t);
}

static void summaries_leave_manifests_out(void **state) {
    (void)state;
    const char *const transforms[] = {"identity", "truncate[10]", "bucket[8]"};
    for (size_t i = 0; i < FZ_COUNT(transforms); i++) {
        scan_table t;
        scan_table_init(&t, 2, TWO, 1, transforms[i]);
        for (int n = 0; n < 4; n++) {
            char rows[64];
            fz_value value = {.kind = FZ_TYPE_LONG, .as.integer = n * 100};
            fz_type source = {.kind = FZ_TYPE_LONG};
            fz_value part;
            OK(fz_transform_apply(fz_transform_parse(fz_str_from(transforms[i])), &source, &value,
                                  &part, NULL));
            (void)snprintf(rows, sizeof(rows), "[[%d,null]]", n * 100);
            scan_table_add(&t, TWO, rows, &part);
        }
        check(&t, 0, NULL, 0, "0123", 0);
        fz_scan_range r = range(1, FZ_TYPE_LONG, 200, 200);
        check(&t, 0, &r, 1, "2", 3);
        // that it was the summaries: the manifests of the others are gone
        fz_scan_plan *plan = NULL;
        fz_err err = {0};
        const fz_scan_plan_options options = {.ranges = &r, .range_count = 1};
        OK(fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &options, &plan, &err));
        const fz_iceberg_list *list = fz_scan_plan_list(plan);
        assert_int_equal(list->count, 4);
        size_t removed = 0;
        for (size_t m = 0; m < list->count; m++) {
            fz_type type = {.kind = i == 2 ? FZ_TYPE_INT : FZ_TYPE_LONG};
            fz_value lower;
            fz_str key;
            OK(fz_value_decode(&type, list->manifests[m].partitions[0].lower, &lower, &err));
            fz_value value = {.kind = FZ_TYPE_LONG, .as.integer = 200};
            fz_value part;
            fz_type source = {.kind = FZ_TYPE_LONG};
            OK(fz_transform_apply(fz_transform_parse(fz_str_from(transforms[i])), &source, &value,
                                  &part, NULL));
            if (lower.as.integer != part.as.integer) {
                OK(fz_store_key(t.store, list->manifests[m].path, &key, &err));
                OK(fz_store_remove(t.store, key, &err));
                removed++;
            }
        }
        assert_true(removed >= 2);
        fz_scan_plan_free(plan);
        check(&t, 0, &r, 1, "2", 3);
        scan_table_deinit(&t);
    }
}

static void missing_files_are_named(void **state) {
    (void)state;
    scan_table t;
    scan_table_init(&t, 2, TWO, 0, NULL);
    scan_table_add(&t, TWO, "[[1,null]]", NULL);
    fz_scan_plan *plan = NULL;
    fz_err err = {0};
    const fz_scan_plan_options options = {0};
    OK(fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &options, &plan, &err));
    fz_str key;
    OK(fz_store_key(t.store, fz_scan_plan_list(plan)->manifests[0].path, &key, &err));
    OK(fz_store_put(t.store, key, FZ_STR("no manifest"), &err));
    const fz_iceberg_entry *entry = NULL;
    assert_int_equal(fz_scan_plan_next(plan, &entry, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.text, "manifest \"memory://lake/t/metadata/"));
    fz_scan_plan_free(plan);
    OK(fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &options, &plan, &err));
    OK(fz_store_key(t.store, fz_scan_plan_list(plan)->manifests[0].path, &key, &err));
    OK(fz_store_remove(t.store, key, &err));
    assert_int_equal(fz_scan_plan_next(plan, &entry, &err), FZ_NOT_FOUND);
    fz_scan_plan_free(plan);
    fz_iceberg_snapshot snapshot;
    assert_true(fz_iceberg_metadata_main(t.metadata, &snapshot));
    OK(fz_store_key(t.store, snapshot.manifest_list, &key, &err));
    OK(fz_store_remove(t.store, key, &err));
    plan = NULL;
    assert_int_equal(
        fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &options, &plan, &err),
        FZ_NOT_FOUND);
    assert_non_null(strstr(err.text, "manifest list \""));
    scan_table_deinit(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_and_ranges),
        cmocka_unit_test(summaries_leave_manifests_out),
        cmocka_unit_test(missing_files_are_named),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
