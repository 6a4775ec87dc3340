// SPDX-License-Identifier: Apache-2.0
// Sorted runs: one of them is a sorted file, several are sorted row groups; memory is given back.
#include "format/parquet/sorter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/reader.h"

static fz_schema *numbers(void) {
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":["
                              "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\"},"
                              "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]}",
                              0, NULL);
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    json_decref(json);
    return schema;
}

static void fill(fz_batch *batch, int64_t start, int64_t count) {
    fz_batch_reset(batch);
    for (int64_t i = start; i < start + count; i++) {
        int64_t value = i * 7919 % 100003;
        char text[32];
        int size = snprintf(text, sizeof text, "text %lld", (long long)value);
        assert_int_equal(fz_column_append_i64(&batch->columns[0], value, NULL), FZ_OK);
        assert_int_equal(fz_column_append_bytes(&batch->columns[1], text, (size_t)size, NULL),
                         FZ_OK);
        batch->rows++;
    }
}

/** Every row group's first column descends; all rows are there. */
static size_t check_groups(fz_schema *schema, fz_str bytes, int64_t rows) {
    fz_parquet_memory_source source;
    fz_parquet_memory_source_init(&source, bytes);
    fz_parquet_reader *reader;
    fz_err err = {0};
    assert_int_equal(fz_parquet_reader_open(&source.source, NULL, NULL, &reader, &err), FZ_OK);
    assert_int_equal(fz_parquet_reader_rows(reader), rows);
    assert_int_equal(fz_parquet_reader_project(reader, schema, &err), FZ_OK);
    fz_batch *batch = fz_batch_new(schema, NULL);
    size_t groups = fz_parquet_reader_row_groups(reader);
    int64_t sum = 0;
    for (size_t g = 0; g < groups; g++) {
        int64_t got = 1;
        fz_batch_reset(batch);
        assert_int_equal(fz_parquet_reader_seek(reader, g, &err), FZ_OK);
        while (batch->rows < fz_parquet_reader_row_group_rows(reader, g)) {
            assert_int_equal(fz_parquet_reader_next(reader, batch, 100000, &got, &err), FZ_OK);
            assert_true(got > 0);
        }
        const int64_t *values = (const int64_t *)batch->columns[0].values;
        for (int64_t i = 0; i < batch->rows; i++) {
            assert_true(i == 0 || values[i - 1] >= values[i]);
            sum += values[i];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        sum -= i * 7919 % 100003;
    }
    assert_int_equal(sum, 0);
    fz_batch_free(batch);
    fz_parquet_reader_free(reader);
    return groups;
}

static void write_and_check(int64_t limit, int64_t rows, bool sorted) {
    const fz_sort_field by = {1, {FZ_TRANSFORM_IDENTITY, 0}, true, false};
    const fz_sort_order order = {1, (fz_sort_field *)&by, 1};
    fz_schema *schema = numbers();
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_budget budget;
    fz_budget_init(&budget, limit);
    fz_buf bytes = {0};
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, &bytes);
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    fz_parquet_writer *writer;
    fz_err err = {0};
    assert_int_equal(fz_parquet_writer_new(schema, &options, &sink.sink, &budget, &writer, &err),
                     FZ_OK);
    fz_parquet_sorter *sorter = fz_parquet_sorter_new(&order, schema, &budget);
    for (int64_t done = 0; done < rows; done += 1000) {
        fill(batch, done, 1000);
        fz_code code = fz_parquet_sorter_append(sorter, writer, batch, NULL, 1000, &err);
        if (code == FZ_LIMIT && !fz_parquet_writer_failed(writer)) {
            assert_int_equal(fz_parquet_sorter_end(sorter, writer, &err), FZ_OK);
            code = fz_parquet_sorter_append(sorter, writer, batch, NULL, 1000, &err);
        }
        assert_int_equal(code, FZ_OK);
        assert_true(fz_budget_used(&budget) <= limit);
    }
    assert_int_equal(fz_parquet_sorter_end(sorter, writer, &err), FZ_OK);
    assert_int_equal(fz_parquet_sorter_held(sorter), 0);
    assert_true(fz_parquet_sorter_is_sorted(sorter) == sorted);
    assert_int_equal(fz_parquet_writer_close(writer, NULL, &err), FZ_OK);
    size_t groups = check_groups(schema, fz_buf_view(&bytes), rows);
    assert_true(sorted ? groups == 1 : groups > 1);
    fz_parquet_sorter_free(sorter);
    fz_parquet_writer_free(writer);
    assert_int_equal(fz_budget_used(&budget), 0);
    fz_buf_deinit(&bytes);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void one_run(void **state) {
    (void)state;
    write_and_check(256 << 20, 50000, true);
}

static void several_runs(void **state) {
    (void)state;
    write_and_check(8 << 20, 200000, false);
}

static void held_rows_are_given_back(void **state) {
    (void)state;
    const fz_sort_field by = {1, {FZ_TRANSFORM_IDENTITY, 0}, true, false};
    const fz_sort_order order = {1, (fz_sort_field *)&by, 1};
    fz_schema *schema = numbers();
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_budget budget;
    fz_budget_init(&budget, 64 << 20);
    fz_parquet_sorter *sorter = fz_parquet_sorter_new(&order, schema, &budget);
    fill(batch, 0, 1000);
    static const uint32_t some[] = {3, 5, 999};
    fz_err err = {0};
    assert_int_equal(fz_parquet_sorter_append(sorter, NULL, batch, some, 3, &err), FZ_OK);
    assert_true(fz_parquet_sorter_held(sorter) > 0);
    fz_parquet_sorter_free(sorter);
    assert_int_equal(fz_budget_used(&budget), 0);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run),
        cmocka_unit_test(several_runs),
        cmocka_unit_test(held_rows_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
