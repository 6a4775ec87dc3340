// SPDX-License-Identifier: Apache-2.0
// Requirements and updates: each kind, the rules that they obey, the logs that they leave.
#include "unit/table/iceberg/sample.h"

#define SNAPSHOT(id, parent, sequence, time)                                                       \
    "{\"action\":\"add-snapshot\",\"snapshot\":{\"snapshot-id\":" #id parent                       \
    ",\"sequence-number\":" #sequence ",\"timestamp-ms\":" #time                                   \
    ",\"manifest-list\":\"s3://l\",\"summary\":{\"operation\":\"append\"},"                        \
    "\"schema-id\":0}}"
#define MAIN(id)                                                                                   \
    "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"type\":\"branch\",\"snapshot-"       \
    "id\":" #id "}"

static fz_code check(const fz_iceberg_metadata *m, const char *requirement, fz_err *err) {
    json_t *json = sample_json(requirement);
    fz_code code = fz_iceberg_update_check(m, json, err);
    json_decref(json);
    return code;
}

static void requirements(void **state) {
    (void)state;
    fz_iceberg_metadata *m = sample_table(2, true);
    fz_err err;
    static const struct {
        const char *requirement;
        fz_code code;
    } cases[] = {
        {"[]", FZ_OK},
        {"[{\"type\":\"assert-create\"}]", FZ_CONFLICT},
        {"[{\"type\":\"assert-table-uuid\",\"uuid\":\"x\"}]", FZ_CONFLICT},
        {"[{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":null}]", FZ_OK},
        {"[{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":5}]", FZ_CONFLICT},
        {"[{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\"}]", FZ_INVALID},
        {"[{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":4}]", FZ_OK},
        {"[{\"type\":\"assert-last-assigned-field-id\",\"last-assigned-field-id\":3}]",
         FZ_CONFLICT},
        {"[{\"type\":\"assert-current-schema-id\",\"current-schema-id\":0}]", FZ_OK},
        {"[{\"type\":\"assert-current-schema-id\",\"current-schema-id\":1}]", FZ_CONFLICT},
        {"[{\"type\":\"assert-last-assigned-partition-id\",\"last-assigned-partition-id\":1001}]",
         FZ_OK},
        {"[{\"type\":\"assert-default-spec-id\",\"default-spec-id\":0}]", FZ_OK},
        {"[{\"type\":\"assert-default-spec-id\"}]", FZ_INVALID},
        {"[{\"type\":\"assert-default-sort-order-id\",\"default-sort-order-id\":0}]", FZ_OK},
        {"[{\"type\":\"assert-moon-phase\"}]", FZ_INVALID},
        {"[7]", FZ_INVALID},
        {"{}", FZ_INVALID},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_code code = check(m, cases[i].requirement, &err);
        if (code != cases[i].code) {
            fail_msg("%s: %s %s", cases[i].requirement, fz_code_name(code), err.text);
        }
    }
    assert_int_equal(check(NULL, "[{\"type\":\"assert-create\"}]", &err), FZ_OK);
    assert_int_equal(check(NULL, "[{\"type\":\"assert-table-uuid\",\"uuid\":\"x\"}]", &err),
                     FZ_CONFLICT);
    json_t *mine = json_pack("[o, o]", fz_iceberg_require_uuid(fz_iceberg_metadata_uuid(m)),
                             fz_iceberg_require_ref("main", FZ_ICEBERG_NONE));
    assert_int_equal(fz_iceberg_update_check(m, mine, &err), FZ_OK);
    json_decref(mine);
    fz_iceberg_metadata_unref(m);
}

static void snapshots_and_their_log(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, false);
    fz_iceberg_metadata *m1 = sample_apply_text(
        m0, "[" SNAPSHOT(11, ",\"parent-snapshot-id\":-1", 1, 1000001) "," MAIN(11) "]", 1);
    fz_iceberg_snapshot s;
    assert_true(fz_iceberg_metadata_main(m1, &s));
    assert_int_equal(s.snapshot_id, 11);
    assert_int_equal(s.parent_id, FZ_ICEBERG_NONE);
    assert_null(json_object_get(s.json, "parent-snapshot-id")); // -1 is not written on
    assert_int_equal(fz_iceberg_metadata_last_updated_ms(m1), 1000001);
    assert_int_equal(fz_iceberg_metadata_last_sequence(m1), 1);
    assert_int_equal(json_integer_value(json_object_get(m1->root, "current-snapshot-id")), 11);
    // R27: the clock is behind the table
    assert_int_equal(fz_iceberg_metadata_time_ms(m1, 5), 1000002);
    assert_int_equal(fz_iceberg_metadata_time_ms(m1, 2000000), 2000000);
    fz_iceberg_metadata *m2 =
        sample_apply_text(m1,
                          "[" SNAPSHOT(12, ",\"parent-snapshot-id\":11", 2, 1000002) "," MAIN(
                              12) ","
                                  "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"v1\",\"type\":"
                                  "\"tag\",\"snapshot-id\":11}]",
                          1);
    assert_int_equal(json_array_size(json_object_get(m2->root, "snapshot-log")), 2);
    assert_int_equal(fz_iceberg_metadata_ref_id(m2, "v1"), 11);
    assert_int_equal(fz_iceberg_metadata_log_count(m2), 1); // m0 had no file
    assert_true(fz_str_equal(fz_iceberg_metadata_log_at(m2, 0, NULL), m1->location));
    // a rollback is one more entry; the base is not changed by what is built on it
    fz_iceberg_metadata *m3 = sample_apply_text(m2, "[" MAIN(11) "]", 3000000);
    assert_int_equal(json_array_size(json_object_get(m3->root, "snapshot-log")), 3);
    assert_int_equal(json_array_size(json_object_get(m2->root, "snapshot-log")), 2);
    assert_int_equal(fz_iceberg_metadata_last_updated_ms(m3), 3000000);
    // expired: its entries and those before it go, and refs on it
    fz_iceberg_metadata *m4 =
        sample_apply_text(m3, "[{\"action\":\"remove-snapshots\",\"snapshot-ids\":[12]}]", 4000000);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(m4), 1);
    assert_int_equal(json_array_size(json_object_get(m4->root, "snapshot-log")), 1);
    assert_int_equal(fz_iceberg_metadata_ref_id(m4, "v1"), 11);
    fz_iceberg_metadata *m5 = sample_apply_text(
        m4, "[{\"action\":\"remove-snapshot-ref\",\"ref-name\":\"main\"}]", 4000001);
    assert_false(fz_iceberg_metadata_main(m5, &s));
    fz_err err;
    static const char *const refused[] = {
        "[" SNAPSHOT(11, "", 3, 2000000) "]",                           // id is taken
        "[" SNAPSHOT(13, ",\"parent-snapshot-id\":12", 2, 2000000) "]", // sequence number
        "[" SNAPSHOT(13, ",\"parent-snapshot-id\":12", 3, 900000) "]",  // more than a minute back
        "[" MAIN(99) "]",                                               // not listed
        "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"type\":\"tag\",\"snapshot-id\":"
        "11}]",
        "[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"v1\",\"type\":\"branch\",\"snapshot-id\":"
        "11}]",
        "[{\"action\":\"add-snapshot\",\"snapshot\":{\"snapshot-id\":13,\"timestamp-ms\":2000000}}"
        "]",
        "[{\"action\":\"add-snapshot\"}]",
    };
    for (size_t i = 0; i < FZ_COUNT(refused); i++) {
        if (sample_refused(m2, refused[i], &err) != FZ_INVALID) {
            fail_msg("%s", refused[i]);
        }
    }
    fz_iceberg_metadata *all[] = {m0, m1, m2, m3, m4, m5};
    for (size_t i = 0; i < FZ_COUNT(all); i++) {
        fz_iceberg_metadata_unref(all[i]);
    }
}

static void intermediate_snapshots_are_not_logged(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, false);
    fz_iceberg_metadata *m1 =
        sample_apply_text(m0,
                          "[" SNAPSHOT(11, "", 1, 1000001) "," MAIN(11) "," SNAPSHOT(
                              12, ",\"parent-snapshot-id\":11", 2, 1000002) "," MAIN(12) "]",
                          1);
    const json_t *log = json_object_get(m1->root, "snapshot-log");
    assert_int_equal(json_array_size(log), 1);
    assert_int_equal(fz_json_int_or(json_array_get(log, 0), "snapshot-id", 0), 12);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
}

static void schemas(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, true);
    // the same columns in another spelling are the same schema
    fz_iceberg_metadata *m1 =
        sample_apply_text(m0,
                          "[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"schema-"
                          "id\":77,\"identifier-field-ids\":[],\"fields\":["
                          "{\"name\":\"id\",\"id\":1,\"required\":true,\"type\":\"long\"},"
                          "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"},"
                          "{\"id\":3,\"name\":\"at\",\"required\":false,\"type\":\"timestamptz\"},"
                          "{\"id\":4,\"name\":\"f\",\"required\":false,\"type\":\"double\"}]}},"
                          "{\"action\":\"set-current-schema\",\"schema-id\":-1}]",
                          1);
    assert_int_equal(json_array_size(json_object_get(m1->root, "schemas")), 1);
    fz_iceberg_metadata *m2 = sample_apply_text(
        m1,
        "[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":["
        "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"
        "{\"id\":5,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":9,"
        "\"element\":\"int\","
        "\"element-required\":false}}]}},{\"action\":\"set-current-schema\",\"schema-id\":-1}]",
        1);
    assert_int_equal(fz_iceberg_metadata_schema_id(m2), 1);
    assert_int_equal(fz_iceberg_metadata_last_column_id(m2), 9);
    // the partition source is gone from the current schema, but is known from the older one
    fz_arena arena = {0};
    fz_partition_spec spec;
    assert_int_equal(fz_iceberg_metadata_spec(m2, 0, NULL, &arena, &spec, NULL), FZ_OK);
    assert_int_equal(spec.fields[0].source_type.kind, FZ_TYPE_TIMESTAMPTZ);
    fz_arena_deinit(&arena);
    fz_err err;
    static const char *const refused[] = {
        "[{\"action\":\"set-current-schema\",\"schema-id\":-1}]",
        "[{\"action\":\"set-current-schema\",\"schema-id\":8}]",
        "[{\"action\":\"remove-schemas\",\"schema-ids\":[1]}]",
        ("[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,"
         "\"name\":\"v\",\"required\":"
         "false,\"type\":\"variant\"}]}}]"),
        ("[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,"
         "\"name\":\"v\",\"required\":"
         "false,\"type\":\"int\",\"initial-default\":1}]}}]"),
        ("[{\"action\":\"add-schema\",\"last-column-id\":3,\"schema\":{\"type\":\"struct\","
         "\"fields\":[]}}]"),
    };
    for (size_t i = 0; i < FZ_COUNT(refused); i++) {
        if (sample_refused(m2, refused[i], &err) != FZ_INVALID) {
            fail_msg("%s", refused[i]);
        }
    }
    fz_iceberg_metadata *m3 =
        sample_apply_text(m2, "[{\"action\":\"remove-schemas\",\"schema-ids\":[0]}]", 1);
    assert_int_equal(json_array_size(json_object_get(m3->root, "schemas")), 1);
    fz_iceberg_metadata *all[] = {m0, m1, m2, m3};
    for (size_t i = 0; i < FZ_COUNT(all); i++) {
        fz_iceberg_metadata_unref(all[i]);
    }
}

static void specs_and_orders(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, true);
    fz_iceberg_metadata *m1 =
        sample_apply_text(m0,
                          "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":2,"
                          "\"name\":\"name\",\"transform\":\"identity\"},"
                          "{\"source-id\":1,\"name\":\"id_bucket\",\"transform\":\"bucket[8]\"}]}},"
                          "{\"action\":\"set-default-spec\",\"spec-id\":-1},"
                          "{\"action\":\"add-sort-order\",\"sort-order\":{\"order-id\":9,"
                          "\"fields\":[{\"transform\":\"identity\",\"source-id\":1,"
                          "\"direction\":\"desc\",\"null-order\":\"nulls-last\"}]}},{\"action\":"
                          "\"set-default-sort-order\",\"sort-order-id\":-1}]",
                          1);
    assert_int_equal(fz_iceberg_metadata_spec_id(m1), 1);
    fz_arena arena = {0};
    fz_partition_spec spec;
    assert_int_equal(fz_iceberg_metadata_spec(m1, 1, NULL, &arena, &spec, NULL), FZ_OK);
    assert_int_equal(spec.fields[0].field_id, 1001); // as in the older spec
    assert_int_equal(spec.fields[1].field_id, 1002);
    assert_int_equal(fz_iceberg_metadata_last_partition_id(m1), 1002);
    fz_sort_order order;
    assert_int_equal(fz_iceberg_metadata_order(m1, &arena, &order, NULL), FZ_OK);
    assert_int_equal(order.order_id, 1);
    assert_true(order.fields[0].descending && order.fields[0].nulls_last);
    fz_arena_deinit(&arena);
    fz_err err;
    static const char *const refused[] = {
        "[{\"action\":\"remove-partition-specs\",\"spec-ids\":[1]}]",
        "[{\"action\":\"set-default-spec\",\"spec-id\":7}]",
        "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":99,\"name\":\"p\","
        "\"transform\":\"identity\"}]}}]",
        "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":1,\"name\":\"p\","
        "\"transform\":\"day\"}]}}]",
        "[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{\"source-id\":1,\"name\":\"p\","
        "\"transform\":\"zorder\"}]}}]",
        "[{\"action\":\"add-spec\",\"spec\":{}}]",
    };
    for (size_t i = 0; i < FZ_COUNT(refused); i++) {
        if (sample_refused(m1, refused[i], &err) != FZ_INVALID) {
            fail_msg("%s", refused[i]);
        }
    }
    fz_iceberg_metadata *m2 =
        sample_apply_text(m1, "[{\"action\":\"remove-partition-specs\",\"spec-ids\":[0]}]", 1);
    assert_null(fz_iceberg_metadata_spec_json(m2, 0));
    fz_iceberg_metadata_unref(m2);
    fz_iceberg_metadata_unref(m1);
    fz_iceberg_metadata_unref(m0);
}

static void small_updates(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(3, false);
    fz_iceberg_metadata *m1 = sample_apply_text(
        m0,
        "[{\"action\":\"set-properties\",\"updates\":{\"a\":\"1\",\"b\":\"2\"}},"
        "{\"action\":\"remove-properties\",\"removals\":[\"a\",\"never\"]},"
        "{\"action\":\"set-location\",\"location\":\"s3://moved\"},"
        "{\"action\":\"set-statistics\",\"statistics\":{\"snapshot-id\":5,\"statistics-path\":"
        "\"p\"}},"
        "{\"action\":\"set-statistics\",\"statistics\":{\"snapshot-id\":5,\"statistics-path\":"
        "\"q\"}},"
        "{\"action\":\"set-partition-statistics\",\"partition-statistics\":{\"snapshot-id\":5}},"
        "{\"action\":\"remove-partition-statistics\",\"snapshot-id\":5},"
        "{\"action\":\"add-encryption-key\",\"encryption-key\":{\"key-id\":\"k\"}},"
        "{\"action\":\"add-encryption-key\",\"encryption-key\":{\"key-id\":\"l\"}},"
        "{\"action\":\"remove-encryption-key\",\"key-id\":\"k\"}]",
        1);
    assert_int_equal(fz_iceberg_metadata_property(m1, "a").size, 0);
    assert_true(fz_str_equal(fz_iceberg_metadata_property(m1, "b"), FZ_STR("2")));
    assert_true(fz_str_equal(fz_iceberg_metadata_base(m1), FZ_STR("s3://moved")));
    assert_int_equal(json_array_size(json_object_get(m1->root, "statistics")), 1);
    assert_int_equal(json_array_size(json_object_get(m1->root, "partition-statistics")), 0);
    assert_int_equal(json_array_size(json_object_get(m1->root, "encryption-keys")), 1);
    fz_err err;
    static const char *const refused[] = {
        "[{\"action\":\"upgrade-format-version\",\"format-version\":2}]",
        "[{\"action\":\"upgrade-format-version\",\"format-version\":4}]",
        "[{\"action\":\"set-properties\",\"updates\":{\"uuid\":\"x\"}}]",
        "[{\"action\":\"set-properties\",\"updates\":{\"a\":1}}]",
        "[{\"action\":\"set-properties\"}]",
        "[{\"action\":\"set-location\",\"location\":\"\"}]",
        "[{\"action\":\"dance\"}]",
        "[{}]",
        "[1]",
        "{}",
    };
    for (size_t i = 0; i < FZ_COUNT(refused); i++) {
        if (sample_refused(m1, refused[i], &err) != FZ_INVALID) {
            fail_msg("%s", refused[i]);
        }
    }
    fz_iceberg_metadata_unref(m1);
    fz_iceberg_metadata_unref(m0);
}

static void row_lineage(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(3, false);
    fz_err err;
    assert_int_equal(sample_refused(m0, "[" SNAPSHOT(11, "", 1, 1000001) "]", &err),
                     FZ_INVALID); // no first-row-id
    static const char text[] = "[{\"action\":\"add-snapshot\",\"snapshot\":{\"snapshot-id\":11,"
                               "\"sequence-number\":1,\"timestamp-ms\":1000001,"
                               "\"manifest-list\":\"l\",\"summary\":{\"operation\":\"append\"},"
                               "\"first-row-id\":0,\"added-rows\":25}}]";
    fz_iceberg_metadata *m1 = sample_apply_text(m0, text, 1);
    assert_int_equal(fz_iceberg_metadata_next_row_id(m1), 25);
    static const char stale[] = "[{\"action\":\"add-snapshot\",\"snapshot\":{\"snapshot-id\":12,"
                                "\"sequence-number\":2,\"timestamp-ms\":1000002,"
                                "\"manifest-list\":\"l\",\"summary\":{\"operation\":\"append\"},"
                                "\"first-row-id\":0,\"added-rows\":25}}]";
    assert_int_equal(sample_refused(m1, stale, &err), FZ_INVALID); // T165
    fz_iceberg_metadata_unref(m1);
    fz_iceberg_metadata_unref(m0);
}

static void metadata_log_is_capped(void **state) {
    (void)state;
    fz_iceberg_metadata *m = sample_table(2, false);
    fz_iceberg_metadata *next =
        sample_apply_text(m,
                          "[{\"action\":\"set-properties\",\"updates\":{\"write.metadata.previous-"
                          "versions-max\":\"3\"}}]",
                          1);
    fz_iceberg_metadata_unref(m);
    m = next;
    for (int i = 0; i < 10; i++) {
        next = sample_apply_text(m, "[]", 2000000 + i);
        assert_true(fz_str_equal(
            fz_iceberg_metadata_log_at(next, fz_iceberg_metadata_log_count(next) - 1, NULL),
            m->location));
        json_t *expired = fz_iceberg_update_expired_files(m, next);
        assert_int_equal(json_array_size(expired), i < 3 ? 0 : 1);
        json_decref(expired);
        fz_iceberg_metadata_unref(m);
        m = next;
    }
    assert_int_equal(fz_iceberg_metadata_log_count(m), 3);
    fz_iceberg_metadata_unref(m);
}

static void table_from_updates_alone(void **state) {
    (void)state;
    for (int version = 2; version <= 3; version++) {
        fz_iceberg_metadata *m = sample_table(version, true);
        json_t *updates = fz_iceberg_update_from_new(m);
        fz_iceberg_metadata *made = sample_apply(NULL, updates, 1000000);
        assert_true(fz_str_equal(fz_iceberg_metadata_uuid(made), fz_iceberg_metadata_uuid(m)));
        static const char *const same[] = {
            "schemas",         "partition-specs", "sort-orders",       "location",
            "last-column-id",  "properties",      "last-partition-id", "format-version",
            "last-updated-ms", "next-row-id"};
        for (size_t i = 0; i < FZ_COUNT(same); i++) {
            const json_t *a = json_object_get(m->root, same[i]);
            const json_t *b = json_object_get(made->root, same[i]);
            if (a != b && !json_equal(a, b)) {
                fail_msg("%s", same[i]);
            }
        }
        json_decref(updates);
        fz_iceberg_metadata_unref(made);
        fz_iceberg_metadata_unref(m);
    }
    fz_err err;
    assert_int_equal(sample_refused(NULL, "[]", &err), FZ_INVALID); // not a whole table
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requirements),
        cmocka_unit_test(snapshots_and_their_log),
        cmocka_unit_test(intermediate_snapshots_are_not_logged),
        cmocka_unit_test(schemas),
        cmocka_unit_test(specs_and_orders),
        cmocka_unit_test(small_updates),
        cmocka_unit_test(row_lineage),
        cmocka_unit_test(metadata_log_is_capped),
        cmocka_unit_test(table_from_updates_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
