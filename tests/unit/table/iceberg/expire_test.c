// SPDX-License-Identifier: Apache-2.0
// Retention: age, number, refs; thinning is stable.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "table/iceberg/expire.h"

#define HOUR_MS INT64_C(3600000)
#define START_MS INT64_C(1700000000000)

/** A table with these snapshots, one every `step_ms`, main at the last; ids are 1, 2, 3... */
static fz_iceberg_metadata *table_of(const int64_t *ids, size_t count, int64_t step_ms) {
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\","
                              "\"required\":true,\"type\":\"long\"}]}",
                              0, NULL);
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    json_decref(json);
    const fz_iceberg_new_options how = {.schema = schema,
                                        .location = FZ_STR("memory://lake/t"),
                                        .format_version = 2,
                                        .now_ms = START_MS};
    fz_iceberg_metadata *empty, *table;
    assert_int_equal(fz_iceberg_metadata_new(&how, &empty, NULL), FZ_OK);
    json_t *root = json_deep_copy(empty->root);
    json_t *snapshots = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            snapshots,
            json_pack("{s:I,s:I,s:I,s:I,s:s,s:{s:s}}", "snapshot-id", (json_int_t)ids[i],
                      "parent-snapshot-id", (json_int_t)(ids[i] - 1), "sequence-number",
                      (json_int_t)ids[i], "timestamp-ms", (json_int_t)(START_MS + ids[i] * step_ms),
                      "manifest-list", "memory://lake/t/metadata/l.avro", "summary", "operation",
                      "append"));
    }
    int64_t last = ids[count - 1];
    json_object_set_new(root, "snapshots", snapshots);
    json_object_set_new(root, "current-snapshot-id", json_integer(last));
    json_object_set_new(root, "last-sequence-number", json_integer(last));
    json_object_set_new(
        root, "refs",
        json_pack("{s:{s:I,s:s}}", "main", "snapshot-id", (json_int_t)last, "type", "branch"));
    fz_err err = {0};
    if (fz_iceberg_metadata_from_json(root, FZ_STR("memory://lake/t/metadata/1.json"), &table,
                                      &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    json_decref(root);
    fz_iceberg_metadata_unref(empty);
    fz_schema_unref(schema);
    return table;
}

static int64_t *first_ids(size_t count) {
    int64_t *ids = (int64_t *)fz_calloc(count, sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (int64_t)i + 1;
    }
    return ids;
}

static bool goes(const fz_iceberg_expire_plan *plan, int64_t id) {
    for (size_t i = 0; i < plan->snapshot_count; i++) {
        if (plan->snapshots[i] == id) {
            return true;
        }
    }
    return false;
}

static void by_age(void **state) {
    (void)state;
    int64_t *ids = first_ids(100);
    fz_iceberg_metadata *table = table_of(ids, 100, HOUR_MS);
    fz_iceberg_expire_options how = {
        .now_ms = START_MS + 100 * HOUR_MS, .max_age_ms = 10 * HOUR_MS, .max_count = 1000};
    fz_iceberg_expire_plan plan;
    fz_iceberg_expire_plan_make(table, &how, &plan);
    assert_int_equal(plan.snapshot_count, 89);
    assert_true(goes(&plan, 89));
    assert_false(goes(&plan, 90)); // just ten hours old
    fz_iceberg_expire_plan_deinit(&plan);
    how.min_count = 40;
    fz_iceberg_expire_plan_make(table, &how, &plan);
    assert_int_equal(plan.kept, 40);
    fz_iceberg_expire_plan_deinit(&plan);
    how.now_ms += 1000 * HOUR_MS; // all are old: main stays
    how.min_count = 0;
    fz_iceberg_expire_plan_make(table, &how, &plan);
    assert_int_equal(plan.kept, 1);
    assert_false(goes(&plan, 100));
    fz_iceberg_expire_plan_deinit(&plan);
    fz_iceberg_metadata_unref(table);
    fz_free(ids);
}

/** Thinning again and again: never more than asked for, the newer half whole, history not lost. */
static void by_number(void **state) {
    (void)state;
    size_t count = 500;
    int64_t *ids = first_ids(count);
    for (int round = 0; round < 60; round++) {
        fz_iceberg_metadata *table = table_of(ids, count, 1000);
        int64_t last = ids[count - 1];
        const fz_iceberg_expire_options how = {.now_ms = START_MS + last * 1000,
                                               .max_age_ms = 1000 * HOUR_MS,
                                               .max_count = 100,
                                               .min_count = 1};
        fz_iceberg_expire_plan plan;
        fz_iceberg_expire_plan_make(table, &how, &plan);
        assert_true(plan.kept <= 100 && plan.kept >= 70);
        for (int64_t id = last - 45; id <= last; id++) {
            assert_false(goes(&plan, id));
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            if (!goes(&plan, ids[i])) {
                ids[kept++] = ids[i];
            }
        }
        assert_int_equal(kept, plan.kept);
        assert_true(ids[0] <= 2); // the oldest of its slot is kept, always
        fz_iceberg_expire_plan_deinit(&plan);
        fz_iceberg_metadata_unref(table);
        ids = (int64_t *)fz_realloc(ids, kept + 30, sizeof *ids);
        for (size_t i = 0; i < 30; i++) {
            ids[kept + i] = last + 1 + (int64_t)i;
        }
        count = kept + 30;
    }
    fz_free(ids);
}

static bool keep_seven(void *context, int64_t id) {
    (void)context;
    return id == 7;
}

static void what_the_caller_keeps(void **state) {
    (void)state;
    int64_t *ids = first_ids(20);
    fz_iceberg_metadata *table = table_of(ids, 20, 1000);
    const fz_iceberg_expire_options how = {.now_ms = START_MS + 1000 * HOUR_MS,
                                           .max_age_ms = HOUR_MS,
                                           .max_count = 1,
                                           .min_count = 1,
                                           .keep = keep_seven};
    fz_iceberg_expire_plan plan;
    fz_iceberg_expire_plan_make(table, &how, &plan);
    assert_int_equal(plan.kept, 2);
    assert_false(goes(&plan, 7));
    json_t *updates = fz_iceberg_expire_updates(&plan);
    json_t *requirements = fz_iceberg_expire_requirements(table);
    fz_iceberg_metadata *after = NULL;
    assert_int_equal(fz_iceberg_update_check(table, requirements, NULL), FZ_OK);
    assert_int_equal(fz_iceberg_update_apply(table, updates, how.now_ms, &after, NULL), FZ_OK);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(after), 2);
    json_decref(updates);
    json_decref(requirements);
    fz_iceberg_metadata_unref(after);
    fz_iceberg_expire_plan_deinit(&plan);
    fz_iceberg_metadata_unref(table);
    fz_free(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_age),
        cmocka_unit_test(by_number),
        cmocka_unit_test(what_the_caller_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
