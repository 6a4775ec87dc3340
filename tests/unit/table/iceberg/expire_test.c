// SPDX-License-Identifier: Apache-2.0
// Expiry: ages, counts, branches, tags, what is kept on demand.
#include "table/iceberg/expire.h"

#include <stdio.h>

#include "unit/table/iceberg/sample.h"

enum { DAY_MS = 86400000 };

/** Snapshots 1..count on main, a day apart; refs and properties are the caller's further updates.
 */
static fz_iceberg_metadata *daily(int count, const char *more) {
    fz_iceberg_metadata *m = sample_table(2, false);
    json_t *updates = json_array();
    for (int i = 1; i <= count; i++) {
        json_t *snapshot =
            json_pack("{s:i, s:i, s:I, s:s, s:{s:s}, s:i}", "snapshot-id", i, "sequence-number", i,
                      "timestamp-ms", (json_int_t)(1000000 + (int64_t)i * DAY_MS), "manifest-list",
                      "l", "summary", "operation", "append", "schema-id", 0);
        if (i > 1) {
            fz_json_set_int(snapshot, "parent-snapshot-id", i - 1);
        }
        json_array_append_new(
            updates, json_pack("{s:s, s:o}", "action", "add-snapshot", "snapshot", snapshot));
    }
    json_array_append_new(updates, fz_iceberg_update_set_ref("main", count));
    json_t *further = sample_json(more);
    json_array_extend(updates, further);
    fz_iceberg_metadata *next = sample_apply(m, updates, 1);
    json_decref(further);
    json_decref(updates);
    fz_iceberg_metadata_unref(m);
    return next;
}

static bool keep_two(void *context, int64_t snapshot_id) {
    (void)context;
    return snapshot_id == 2;
}

/** Plan, apply, and compare the ids that are left with `wanted` ("7 8 9 "); the metadata's
 * reference is given up. */
static void check(fz_iceberg_metadata *m, fz_iceberg_expire_options options, const char *wanted) {
    if (options.now_ms == 0) {
        options.now_ms = 1000000 + (int64_t)10 * DAY_MS;
    }
    options.max_count = options.max_count ? options.max_count : 100;
    fz_iceberg_expire_plan plan;
    fz_iceberg_expire_plan_make(m, &options, &plan);
    json_t *updates = fz_iceberg_expire_updates(&plan);
    json_t *requirements = fz_iceberg_expire_requirements(m);
    fz_err err;
    assert_int_equal(fz_iceberg_update_check(m, requirements, &err), FZ_OK);
    fz_iceberg_metadata *next = sample_apply(m, updates, options.now_ms);
    char text[128] = "";
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(next); i++) {
        fz_iceberg_snapshot s;
        fz_iceberg_metadata_snapshot_at(next, i, &s);
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%d ", (int)s.snapshot_id);
    }
    assert_string_equal(text, wanted);
    assert_int_equal(plan.kept, fz_iceberg_metadata_snapshot_count(next));
    assert_int_equal(plan.snapshot_count + plan.kept, fz_iceberg_metadata_snapshot_count(m));
    json_decref(updates);
    json_decref(requirements);
    fz_iceberg_expire_plan_deinit(&plan);
    fz_iceberg_metadata_unref(next);
    fz_iceberg_metadata_unref(m);
}

static void ages_and_counts(void **state) {
    (void)state;
    check(daily(10, "[]"), (fz_iceberg_expire_options){.max_age_ms = 5 * (int64_t)DAY_MS},
          "5 6 7 8 9 10 ");
    check(daily(10, "[]"), (fz_iceberg_expire_options){.max_age_ms = DAY_MS}, "9 10 ");
    check(daily(10, "[]"), (fz_iceberg_expire_options){.max_age_ms = 1, .min_count = 3}, "8 9 10 ");
    // main always stays
    check(daily(10, "[]"),
          (fz_iceberg_expire_options){.now_ms = INT64_C(1000000000000), .max_age_ms = 1}, "10 ");
    // the clock is behind
    check(daily(3, "[]"), (fz_iceberg_expire_options){.now_ms = 1000000, .max_age_ms = 1},
          "1 2 3 ");
    check(daily(10, "[]"), (fz_iceberg_expire_options){.max_age_ms = 1, .keep = keep_two}, "2 10 ");
    // too many: main, the newer half of what is left, and one of the others
    check(daily(10, "[]"),
          (fz_iceberg_expire_options){.max_age_ms = INT64_C(1000) * DAY_MS, .max_count = 4},
          "1 8 9 10 ");
    check(daily(10, "[]"),
          (fz_iceberg_expire_options){.max_age_ms = INT64_C(1000) * DAY_MS, .max_count = 1}, "10 ");
}

static void branches_and_tags(void **state) {
    (void)state;
    // T163
    check(daily(10, "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"v1\",\"type\":\"tag\","
                    "\"snapshot-id\":2},"
                    "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"audit\",\"type\":\"branch\","
                    "\"snapshot-id\":4,"
                    "\"min-snapshots-to-keep\":2}]"),
          (fz_iceberg_expire_options){.max_age_ms = DAY_MS, .max_count = 1}, "2 3 4 10 ");
    // a tag that has had its time goes with its snapshot
    check(daily(10, "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"v1\",\"type\":\"tag\","
                    "\"snapshot-id\":2,"
                    "\"max-ref-age-ms\":1}]"),
          (fz_iceberg_expire_options){.max_age_ms = DAY_MS}, "9 10 ");
    // rolled back: what no branch holds goes by its age alone
    check(daily(10, "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"type\":\"branch\","
                    "\"snapshot-id\":3}]"),
          (fz_iceberg_expire_options){.max_age_ms = 5 * (int64_t)DAY_MS}, "3 5 6 7 8 9 10 ");
}

static void nothing_to_do(void **state) {
    (void)state;
    fz_iceberg_metadata *m = sample_table(3, false);
    const fz_iceberg_expire_options options = {.now_ms = INT64_MAX};
    fz_iceberg_expire_plan plan;
    fz_iceberg_expire_plan_make(m, &options, &plan);
    json_t *updates = fz_iceberg_expire_updates(&plan);
    assert_int_equal(json_array_size(updates), 0);
    assert_int_equal(plan.snapshot_count, 0);
    json_decref(updates);
    fz_iceberg_expire_plan_deinit(&plan);
    fz_iceberg_metadata_unref(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_and_counts),
        cmocka_unit_test(branches_and_tags),
        cmocka_unit_test(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
