// SPDX-License-Identifier: Apache-2.0
// Rows in sort orders: types, nulls, directions, transforms, ties, structs above.
#include "data/row_sort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static fz_schema *schema_of(const char *fields) {
    fz_buf text = {0};
    fz_buf_printf(&text, "{\"type\":\"struct\",\"fields\":[%s]}", fields);
    json_t *json = json_loads(fz_buf_cstr(&text), 0, NULL);
    fz_schema *schema;
    fz_err err = {0};
    if (fz_schema_from_json(json, &schema, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    json_decref(json);
    fz_buf_deinit(&text);
    return schema;
}

#define TWO                                                                                        \
    "{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"%s\"},"                                \
    "{\"id\":2,\"name\":\"n\",\"required\":true,\"type\":\"int\"}"

static fz_batch *batch_of(const char *type) {
    char fields[400];
    (void)snprintf(fields, sizeof fields, TWO, type);
    fz_schema *schema = schema_of(fields);
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_schema_unref(schema);
    return batch;
}

static void end_row(fz_batch *batch) {
    assert_int_equal(fz_column_append_i32(&batch->columns[1], (int32_t)batch->rows, NULL), FZ_OK);
    batch->rows++;
}

static void check_order(fz_batch *batch, const fz_sort_field *fields, size_t count,
                        const uint32_t *wanted) {
    const fz_sort_order order = {1, (fz_sort_field *)fields, count};
    assert_true(fz_row_sort_can(&order, batch->schema));
    uint32_t index[32];
    fz_err err = {0};
    if (fz_row_sort(&order, batch, index, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    for (int64_t i = 0; i < batch->rows; i++) {
        if (index[i] != wanted[i]) {
            fail_msg("place %d has row %u, wanted %u", (int)i, index[i], wanted[i]);
        }
    }
    fz_batch_free(batch);
}

static fz_batch *doubles(void) {
    static const double values[] = {NAN, -0.0, 1.5, 0.0, -INFINITY, INFINITY, -2};
    fz_batch *batch = batch_of("double");
    for (size_t i = 0; i < FZ_COUNT(values); i++) {
        assert_int_equal(fz_column_append_double(&batch->columns[0], values[i], NULL), FZ_OK);
        end_row(batch);
    }
    assert_int_equal(fz_column_append_null(&batch->columns[0], NULL), FZ_OK);
    end_row(batch);
    return batch;
}

static void floats_and_nulls(void **state) {
    (void)state;
    const fz_transform identity = {FZ_TRANSFORM_IDENTITY, 0};
    const fz_sort_field up = {1, identity, false, false};
    check_order(doubles(), &up, 1, (const uint32_t[]){7, 4, 6, 1, 3, 2, 5, 0});
    const fz_sort_field up_last = {1, identity, false, true};
    check_order(doubles(), &up_last, 1, (const uint32_t[]){4, 6, 1, 3, 2, 5, 0, 7});
    const fz_sort_field down = {1, identity, true, true};
    check_order(doubles(), &down, 1, (const uint32_t[]){0, 5, 2, 3, 1, 6, 4, 7});
    const fz_sort_field down_first = {1, identity, true, false};
    check_order(doubles(), &down_first, 1, (const uint32_t[]){7, 0, 5, 2, 3, 1, 6, 4});
}

static fz_batch *texts(void) {
    static const fz_str values[] = {{"b", 1},  {"", 0},     {"a\0", 2}, {"a", 1},
                                    {"ab", 2}, {"a\0b", 3}, {"a", 1},   {"\xef\xbf\xbf", 3}};
    fz_batch *batch = batch_of("string");
    for (size_t i = 0; i < FZ_COUNT(values); i++) {
        assert_int_equal(
            fz_column_append_bytes(&batch->columns[0], values[i].data, values[i].size, NULL),
            FZ_OK);
        end_row(batch);
    }
    return batch;
}

static void texts_and_ties(void **state) {
    (void)state;
    const fz_transform identity = {FZ_TRANSFORM_IDENTITY, 0};
    const fz_sort_field up[] = {{1, identity, false, false}, {2, identity, true, false}};
    check_order(texts(), up, 1, (const uint32_t[]){1, 3, 6, 2, 5, 4, 0, 7}); // stable
    check_order(texts(), up, 2, (const uint32_t[]){1, 6, 3, 2, 5, 4, 0, 7});
    const fz_sort_field down = {1, identity, true, true};
    check_order(texts(), &down, 1, (const uint32_t[]){7, 0, 4, 5, 2, 3, 6, 1});
    const fz_sort_field cut = {1, {FZ_TRANSFORM_TRUNCATE, 1}, false, false};
    check_order(texts(), &cut, 1, (const uint32_t[]){1, 2, 3, 4, 5, 6, 0, 7});
}

static void decimals_and_days(void **state) {
    (void)state;
    static const int64_t unscaled[] = {5, -1, 0, -700, 700};
    fz_batch *batch = batch_of("decimal(20,2)");
    for (size_t i = 0; i < FZ_COUNT(unscaled); i++) {
        fz_i128 value = unscaled[i];
        assert_int_equal(fz_column_append_fixed(&batch->columns[0], &value, NULL), FZ_OK);
        end_row(batch);
    }
    const fz_sort_field by = {1, {FZ_TRANSFORM_IDENTITY, 0}, false, false};
    check_order(batch, &by, 1, (const uint32_t[]){3, 1, 2, 0, 4});
    static const int64_t micros[] = {86400000000, 3, -1, 2, -86400000001};
    batch = batch_of("timestamptz");
    for (size_t i = 0; i < FZ_COUNT(micros); i++) {
        assert_int_equal(fz_column_append_i64(&batch->columns[0], micros[i], NULL), FZ_OK);
        end_row(batch);
    }
    const fz_sort_field day = {1, {FZ_TRANSFORM_DAY, 0}, false, false};
    check_order(batch, &day, 1, (const uint32_t[]){4, 2, 1, 3, 0});
}

static void below_a_null(void **state) {
    (void)state;
    fz_schema *schema = schema_of(
        "{\"id\":1,\"name\":\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
        "{\"id\":3,\"name\":\"x\",\"required\":true,\"type\":\"int\"}]}}");
    fz_batch *batch = fz_batch_new(schema, NULL);
    for (int32_t i = 0; i < 3; i++) {
        if (i == 1) {
            assert_int_equal(fz_column_append_null(&batch->columns[0], NULL), FZ_OK);
        } else {
            assert_int_equal(fz_column_append_i32(&batch->columns[0].children[0], -i, NULL), FZ_OK);
            assert_int_equal(fz_column_append_struct(&batch->columns[0], NULL), FZ_OK);
        }
        batch->rows++;
    }
    const fz_sort_field by = {3, {FZ_TRANSFORM_IDENTITY, 0}, false, true};
    fz_sort_field odd = {9, {FZ_TRANSFORM_IDENTITY, 0}, false, true};
    fz_sort_order order = {1, &odd, 1};
    assert_false(fz_row_sort_can(&order, schema));
    odd = (fz_sort_field){3, {FZ_TRANSFORM_HOUR, 0}, false, true};
    assert_false(fz_row_sort_can(&order, schema));
    fz_schema_unref(schema);
    check_order(batch, &by, 1, (const uint32_t[]){2, 0, 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_and_nulls),
        cmocka_unit_test(texts_and_ties),
        cmocka_unit_test(decimals_and_days),
        cmocka_unit_test(below_a_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
