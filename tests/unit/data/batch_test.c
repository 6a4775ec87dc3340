// SPDX-License-Identifier: Apache-2.0
// Column batches: appends, nulls, cutting back, gathering, the budget.
#include "data/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static fz_schema *schema_of(const char *text) {
    json_t *json = NULL;
    fz_schema *schema = NULL;
    fz_err err;
    assert_int_equal(fz_json_parse(fz_str_from(text), &json, &err), FZ_OK);
    fz_code code = fz_schema_from_json(json, &schema, &err);
    json_decref(json);
    if (code != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return schema;
}

// A row of each shape; numbers name the row.
static const char everything[] =
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":1,\"name\":\"i\",\"required\":true,\"type\":\"int\"},"
    "{\"id\":2,\"name\":\"l\",\"required\":false,\"type\":\"long\"},"
    "{\"id\":3,\"name\":\"b\",\"required\":false,\"type\":\"boolean\"},"
    "{\"id\":4,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":5,\"name\":\"f\",\"required\":false,\"type\":\"fixed[3]\"},"
    "{\"id\":6,\"name\":\"d\",\"required\":false,\"type\":\"decimal(20, 2)\"},"
    "{\"id\":7,\"name\":\"t\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
    "{\"id\":8,\"name\":\"x\",\"required\":true,\"type\":\"string\"},"
    "{\"id\":9,\"name\":\"y\",\"required\":false,\"type\":\"double\"}]}},"
    "{\"id\":10,\"name\":\"a\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":11,"
    "\"element-required\":false,\"element\":\"string\"}},"
    "{\"id\":12,\"name\":\"m\",\"required\":true,\"type\":{\"type\":\"map\",\"key-id\":13,"
    "\"key\":\"string\",\"value-id\":14,\"value-required\":true,\"value\":\"int\"}},"
    "{\"id\":15,\"name\":\"rb\",\"required\":true,\"type\":\"boolean\"}]}";

#define OK(call) assert_int_equal((call), FZ_OK)

// Null in the optional columns whose number divides the row.
static bool null_at(int row, int column) {
    return row % (column + 1) == column;
}

static fz_code add_row(fz_batch *batch, int n, fz_err *err) {
    fz_column *c = batch->columns;
    char text[32];
    size_t size = (size_t)snprintf(text, sizeof(text), "row %d", n);
    uint8_t fixed[16] = {(uint8_t)n, 1, 2};
    FZ_TRY(fz_column_append_i32(&c[0], n, err));
    FZ_TRY(null_at(n, 1) ? fz_column_append_null(&c[1], err)
                         : fz_column_append_i64(&c[1], n * INT64_C(10000000000), err));
    FZ_TRY(null_at(n, 2) ? fz_column_append_null(&c[2], err)
                         : fz_column_append_bool(&c[2], n % 2, err));
    FZ_TRY(null_at(n, 3) ? fz_column_append_null(&c[3], err)
                         : fz_column_append_bytes(&c[3], text, size, err));
    FZ_TRY(null_at(n, 4) ? fz_column_append_null(&c[4], err)
                         : fz_column_append_fixed(&c[4], fixed, err));
    FZ_TRY(null_at(n, 5) ? fz_column_append_null(&c[5], err)
                         : fz_column_append_fixed(&c[5], fixed, err));
    if (null_at(n, 6)) {
        FZ_TRY(fz_column_append_null(&c[6], err));
    } else {
        FZ_TRY(fz_column_append_bytes(&c[6].children[0], text, size, err));
        FZ_TRY(fz_column_append_double(&c[6].children[1], n / 2.0, err));
        FZ_TRY(fz_column_append_struct(&c[6], err));
    }
    if (null_at(n, 7)) {
        FZ_TRY(fz_column_append_null(&c[7], err));
    } else {
        for (int i = 0; i < n % 4; i++) {
            FZ_TRY(i == 2 ? fz_column_append_null(&c[7].children[0], err)
                          : fz_column_append_bytes(&c[7].children[0], text, size, err));
        }
        FZ_TRY(fz_column_append_list(&c[7], err));
    }
    for (int i = 0; i < n % 3; i++) {
        FZ_TRY(fz_column_append_bytes(&c[8].children[0], text, size, err));
        FZ_TRY(fz_column_append_i32(&c[8].children[1], n + i, err));
    }
    FZ_TRY(fz_column_append_list(&c[8], err));
    FZ_TRY(fz_column_append_bool(&c[9], n % 5 == 0, err));
    batch->rows++;
    return FZ_OK;
}

static void check_row(fz_batch *batch, int64_t row, int n) {
    fz_column *c = batch->columns;
    char text[32];
    (void)snprintf(text, sizeof(text), "row %d", n);
    fz_str want = fz_str_from(text);
    assert_int_equal(((int32_t *)c[0].values)[row], n);
    for (int i = 1; i <= 7; i++) {
        assert_int_equal(fz_column_is_null(&c[i], row), null_at(n, i));
    }
    if (!null_at(n, 1)) {
        assert_int_equal(((int64_t *)c[1].values)[row], n * INT64_C(10000000000));
    }
    if (!null_at(n, 2)) {
        assert_int_equal(((uint8_t *)c[2].values)[row >> 3] >> (row & 7) & 1, n % 2);
    }
    assert_true(fz_str_equal(fz_column_bytes(&c[3], row), null_at(n, 3) ? FZ_STR("") : want));
    assert_int_equal(((uint8_t *)c[4].values)[row * 3], null_at(n, 4) ? 0 : (uint8_t)n);
    assert_int_equal(((uint8_t *)c[5].values)[row * 16], null_at(n, 5) ? 0 : (uint8_t)n);
    assert_true(
        fz_str_equal(fz_column_bytes(&c[6].children[0], row), null_at(n, 6) ? FZ_STR("") : want));
    assert_int_equal(fz_column_is_null(&c[6].children[1], row), null_at(n, 6));
    int64_t first = c[7].offsets[row];
    assert_int_equal(c[7].offsets[row + 1] - first, null_at(n, 7) ? 0 : n % 4);
    for (int64_t i = first; i < c[7].offsets[row + 1]; i++) {
        assert_int_equal(fz_column_is_null(&c[7].children[0], i), i - first == 2);
        if (i - first != 2) {
            assert_true(fz_str_equal(fz_column_bytes(&c[7].children[0], i), want));
        }
    }
    assert_int_equal(c[8].offsets[row + 1] - c[8].offsets[row], n % 3);
    for (int64_t i = c[8].offsets[row]; i < c[8].offsets[row + 1]; i++) {
        assert_true(fz_str_equal(fz_column_bytes(&c[8].children[0], i), want));
        assert_int_equal(((int32_t *)c[8].children[1].values)[i], n + i - c[8].offsets[row]);
    }
    assert_int_equal(((uint8_t *)c[9].values)[row >> 3] >> (row & 7) & 1, n % 5 == 0);
}

static int64_t nulls_of(const fz_column *column) {
    int64_t nulls = 0;
    for (int64_t i = 0; i < column->length; i++) {
        nulls += fz_column_is_null(column, i);
    }
    return nulls;
}

static void check_column(const fz_column *column) {
    assert_int_equal(column->null_count, nulls_of(column));
    for (int64_t i = column->length; column->validity && i < column->capacity; i++) {
        assert_true(fz_column_is_null(column, i)); // bits behind length are 0
    }
    if (column->offsets) {
        assert_int_equal(column->offsets[0], 0);
    }
    for (size_t i = 0; i < column->child_count; i++) {
        if (column->field->type.kind == FZ_TYPE_STRUCT) {
            assert_int_equal(column->children[i].length, column->length);
        } else if (column->offsets) {
            assert_int_equal(column->children[i].length, column->offsets[column->length]);
        }
        check_column(&column->children[i]);
    }
}

static void check_batch(fz_batch *batch) {
    for (size_t i = 0; i < batch->column_count; i++) {
        assert_int_equal(batch->columns[i].length, batch->rows);
        check_column(&batch->columns[i]);
    }
}

static void rows_come_back(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_budget budget;
    fz_budget_init(&budget, 0);
    fz_batch *batch = fz_batch_new(schema, &budget);
    fz_err err;
    for (int round = 0; round < 3; round++) {
        for (int n = 0; n < 1000; n++) {
            OK(add_row(batch, n + round, &err));
        }
        check_batch(batch);
        for (int n = 0; n < 1000; n++) {
            check_row(batch, n, n + round);
        }
        assert_true(fz_budget_used(&budget) >= fz_batch_size(batch));
        fz_batch_reset(batch);
        assert_int_equal(batch->rows, 0);
        check_batch(batch);
    }
    assert_ptr_equal(fz_batch_find(batch, 9), &batch->columns[6].children[1]);
    assert_ptr_equal(fz_batch_find(batch, 11), &batch->columns[7].children[0]);
    assert_null(fz_batch_find(batch, 99));
    fz_batch_free(batch);
    assert_int_equal(fz_budget_used(&budget), 0);
    fz_schema_unref(schema);
}

static void truncate_forgets_the_tail(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_err err;
    for (int cut = 0; cut < 70; cut++) {
        fz_batch_reset(batch);
        for (int n = 0; n < 70; n++) {
            OK(add_row(batch, n, &err));
        }
        fz_batch_truncate(batch, cut);
        assert_int_equal(batch->rows, cut);
        check_batch(batch);
        for (int n = cut; n < 100; n++) {
            OK(add_row(batch, n + 7, &err));
        }
        check_batch(batch);
        for (int n = 0; n < 100; n++) {
            check_row(batch, n, n < cut ? n : n + 7);
        }
    }
    // A record that fails half-way: some columns have it, some do not, items hang over.
    fz_batch_truncate(batch, 50);
    OK(fz_column_append_i32(&batch->columns[0], 1, &err));
    OK(fz_column_append_bytes(&batch->columns[6].children[0], "x", 1, &err));
    OK(fz_column_append_bytes(&batch->columns[7].children[0], "x", 1, &err));
    OK(fz_column_append_null(&batch->columns[7].children[0], &err));
    fz_batch_truncate(batch, 50);
    check_batch(batch);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void nulls_in_bulk(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_err err;
    OK(add_row(batch, 11, &err));
    for (size_t i = 0; i < batch->column_count; i++) {
        OK(fz_column_append_nulls(&batch->columns[i], 300, &err));
        OK(fz_column_append_nulls(&batch->columns[i], 0, &err));
    }
    batch->rows += 300;
    OK(add_row(batch, 13, &err));
    check_batch(batch);
    check_row(batch, 0, 11);
    check_row(batch, 301, 13);
    assert_int_equal(batch->columns[0].null_count, 0); // required: a placeholder
    assert_int_equal(((int32_t *)batch->columns[0].values)[150], 0);
    assert_int_equal(batch->columns[6].children[0].null_count, 0);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void take_gathers(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_batch *from = fz_batch_new(schema, NULL);
    fz_batch *to = fz_batch_new(schema, NULL);
    fz_err err;
    for (int n = 0; n < 500; n++) {
        OK(add_row(from, n, &err));
    }
    uint32_t index[1000];
    srand(7);
    for (int round = 0; round < 200; round++) {
        size_t count = (size_t)(rand() % 300);
        uint32_t start = (uint32_t)(rand() % 200);
        for (size_t i = 0; i < count; i++) {
            // runs, scattered rows, and rows more than once
            index[i] = round % 3 == 0                 ? start + (uint32_t)i
                       : round % 3 == 1 && rand() % 4 ? (i ? (index[i - 1] + 1) % 500 : start)
                                                      : (uint32_t)(rand() % 500);
        }
        fz_batch_truncate(to, rand() % 40);
        int64_t before = to->rows;
        OK(fz_batch_take(to, from, index, count, &err));
        assert_int_equal(to->rows, before + (int64_t)count);
        check_batch(to);
        for (size_t i = 0; i < count; i++) {
            check_row(to, before + (int64_t)i, (int)index[i]);
        }
    }
    fz_batch_free(from);
    fz_batch_free(to);
    fz_schema_unref(schema);
}

static void the_budget_is_kept(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_batch *from = fz_batch_new(schema, NULL);
    fz_err err;
    for (int n = 0; n < 500; n++) {
        OK(add_row(from, n, &err));
    }
    uint32_t index[400];
    for (size_t i = 0; i < FZ_COUNT(index); i++) {
        index[i] = (uint32_t)(i * 7 % 500);
    }
    int limited = 0;
    for (int64_t limit = 1; limit < 100000; limit += 997) {
        fz_budget budget;
        fz_budget_init(&budget, limit);
        fz_batch *batch = fz_batch_new(schema, &budget);
        int n = 0;
        fz_code code = FZ_OK;
        while (n < 500 && (code = add_row(batch, n, &err)) == FZ_OK) {
            n++;
        }
        assert_true(fz_budget_used(&budget) <= limit);
        if (code != FZ_OK) {
            assert_int_equal(code, FZ_LIMIT);
            fz_batch_truncate(batch, n); // the failed record
            limited++;
        }
        check_batch(batch);
        int64_t rows = batch->rows;
        code = fz_batch_take(batch, from, index, FZ_COUNT(index), &err);
        assert_int_equal(batch->rows, code == FZ_OK ? rows + 400 : rows);
        check_batch(batch);
        for (int i = 0; i < n; i++) {
            check_row(batch, i, i);
        }
        fz_batch_free(batch);
        assert_int_equal(fz_budget_used(&budget), 0);
    }
    assert_true(limited > 20);
    fz_batch_free(from);
    fz_schema_unref(schema);
}

static void release_gives_everything_back(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_budget budget;
    fz_budget_init(&budget, 0);
    fz_batch *batch = fz_batch_new(schema, &budget);
    fz_err err;
    for (int turn = 0; turn < 3; turn++) {
        for (int n = 0; n < 300; n++) {
            assert_int_equal(add_row(batch, n, &err), FZ_OK);
        }
        assert_int_equal(fz_batch_charged(batch), fz_budget_used(&budget));
        assert_true(fz_batch_charged(batch) >= fz_batch_size(batch));
        check_batch(batch);
        check_row(batch, 299, 299);
        fz_batch_release(batch);
        assert_int_equal(batch->rows, 0);
        assert_int_equal(fz_budget_used(&budget), 0);
        check_batch(batch);
    }
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void a_column_stays_below_2_31_bytes(void **state) {
    (void)state;
    fz_schema *schema = schema_of(everything);
    fz_budget budget;
    fz_budget_init(&budget, 1 << 20);
    fz_batch *batch = fz_batch_new(schema, &budget);
    fz_err err;
    assert_int_equal(fz_column_grow(&batch->columns[5], INT64_C(1) << 27, &err), FZ_LIMIT);
    assert_int_equal(fz_column_grow(&batch->columns[5], INT64_MAX, &err), FZ_LIMIT);
    assert_int_equal(fz_column_grow_data(&batch->columns[3], INT64_C(1) << 31, &err), FZ_LIMIT);
    assert_int_equal(fz_column_grow_data(&batch->columns[3], INT64_MAX, &err), FZ_LIMIT);
    assert_int_equal(fz_column_grow_data(&batch->columns[3], INT32_MAX, &err), FZ_LIMIT);
    assert_int_equal(fz_budget_used(&budget), 0);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(truncate_forgets_the_tail),
        cmocka_unit_test(nulls_in_bulk),
        cmocka_unit_test(take_gathers),
        cmocka_unit_test(release_gives_everything_back),
        cmocka_unit_test(the_budget_is_kept),
        cmocka_unit_test(a_column_stays_below_2_31_bytes),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
