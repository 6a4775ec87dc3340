// SPDX-License-Identifier: Apache-2.0
// Data files to JSON and back: nothing is lost, and what is not as it was written is refused.
#include "flow/ingest/file_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static fz_partition_field fields[] = {
    {.source_id = 1, .field_id = 1000, .result_type = {.kind = FZ_TYPE_INT}},
    {.source_id = 2, .field_id = 1001, .result_type = {.kind = FZ_TYPE_STRING}},
    {.source_id = 3, .field_id = 1002, .result_type = {.kind = FZ_TYPE_LONG}},
};
static const fz_partition_spec spec = {.spec_id = 7, .fields = fields, .field_count = 3};

static fz_iceberg_file example(void) {
    static fz_value tuple[] = {
        {.kind = FZ_TYPE_INT, .as.integer = -5},
        {.kind = FZ_TYPE_STRING, .as.bytes = {"\xc3\xa9", 2}},
        {.kind = FZ_TYPE_LONG, .is_null = true},
    };
    static int64_t splits[] = {4, 1000};
    static int32_t ids[] = {1, 2};
    static int64_t counts[] = {INT64_MAX, 0};
    static fz_str bounds[] = {{"\0\xff", 2}, {"", 0}};
    fz_iceberg_file file = fz_iceberg_file_make(FZ_STR("file:///t/data/a.parquet"), 7);
    file.partition = tuple;
    file.partition_count = 3;
    file.record_count = 12;
    file.file_size_bytes = 3456;
    file.sort_order_id = 0;
    file.split_offsets = splits;
    file.split_count = 2;
    file.value_counts = (fz_iceberg_counts){ids, counts, 2, true};
    file.nan_counts = (fz_iceberg_counts){.present = true};
    file.lower_bounds = (fz_iceberg_bounds){ids, bounds, 2, true};
    return file;
}

static void test_round_trip(void **state) {
    (void)state;
    fz_iceberg_file from = example(), to;
    json_t *json = fz_file_json_encode(&from);
    fz_arena arena = {0};
    fz_err err = {0};
    assert_int_equal(fz_file_json_decode(json, &spec, &arena, &to, &err), FZ_OK);
    assert_true(fz_str_equal(to.path, from.path));
    assert_int_equal(to.spec_id, 7);
    assert_int_equal(to.record_count, 12);
    assert_int_equal(to.file_size_bytes, 3456);
    assert_int_equal(to.sort_order_id, 0);
    assert_int_equal(to.partition_count, 3);
    assert_int_equal(to.partition[0].as.integer, -5);
    assert_true(fz_str_equal(to.partition[1].as.bytes, FZ_STR("\xc3\xa9")));
    assert_true(to.partition[2].is_null);
    assert_int_equal(to.split_count, 2);
    assert_int_equal(to.split_offsets[1], 1000);
    assert_int_equal(to.value_counts.count, 2);
    assert_int_equal(to.value_counts.values[0], INT64_MAX);
    assert_true(to.nan_counts.present);
    assert_false(to.column_sizes.present);
    assert_int_equal(to.lower_bounds.count, 2);
    assert_true(fz_str_equal(to.lower_bounds.values[0], fz_str_make("\0\xff", 2)));
    assert_int_equal(to.lower_bounds.values[1].size, 0);
    // the same again: nothing was lost
    json_t *again = fz_file_json_encode(&to);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    fz_arena_deinit(&arena);
}

static void refused(const char *key, const char *text) {
    fz_iceberg_file from = example(), to;
    json_t *json = fz_file_json_encode(&from);
    json_object_set_new(json, key, json_loads(text, JSON_DECODE_ANY, NULL));
    fz_arena arena = {0};
    fz_err err = {0};
    assert_int_not_equal(fz_file_json_decode(json, &spec, &arena, &to, &err), FZ_OK);
    json_decref(json);
    fz_arena_deinit(&arena);
}

static void test_refused(void **state) {
    (void)state;
    refused("path", "3");
    refused("rows", "-1");
    refused("size", "\"1\"");
    refused("partition", "[]");
    refused("partition", "[\"0\", null, null]");
    refused("partition", "[\"0102\", null, null]");
    refused("values", "[[\"1\", 2]]");
    refused("values", "[[-1, 2]]");
    refused("lower", "[[1, \"xy\"]]");
    refused("lower", "[[1, 2]]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
