// SPDX-License-Identifier: Apache-2.0
// Single values from JSON: the form of to_json comes back, other forms are refused.
#include "data/json_value.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static fz_code parse(const char *type_text, const char *text, fz_arena *arena, fz_type *type,
                     fz_value *out, fz_err *err) {
    json_t *json = NULL;
    assert_true(fz_type_parse(fz_str_from(type_text), type));
    assert_int_equal(fz_json_parse(fz_str_from(text), &json, err), FZ_OK);
    fz_code code = fz_value_from_json(type, json, arena, out, err);
    json_decref(json);
    return code;
}

static void forms_come_back(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"boolean", "false"},
        {"int", "-2147483648"},
        {"long", "9223372036854775807"},
        {"float", "1.5"},
        {"double", "0.1"},
        {"double", "\"NaN\""},
        {"double", "\"Infinity\""},
        {"decimal(9, 2)", "\"14.20\""},
        {"decimal(38, 0)", "\"-99999999999999999999999999999999999999\""},
        {"date", "\"2017-11-16\""},
        {"time", "\"22:31:08.123456\""},
        {"timestamp", "\"2017-11-16T22:31:08.123456\""},
        {"timestamptz", "\"1969-12-31T23:59:59.999999+00:00\""},
        {"timestamp_ns", "\"2017-11-16T22:31:08.123456789\""},
        {"timestamptz_ns", "\"1969-12-31T23:59:59.999999999+00:00\""},
        {"string", "\"a\xc3\xa9\""},
        {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""},
        {"fixed[2]", "\"00ff\""},
        {"binary", "\"\""},
        {"string", "null"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_arena arena = {0};
        fz_type type;
        fz_value value;
        fz_err err;
        if (parse(cases[i][0], cases[i][1], &arena, &type, &value, &err) != FZ_OK) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
        json_t *json = fz_value_to_json(&value, &type);
        char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(16));
        assert_string_equal(text, cases[i][1]);
        free(text);
        json_decref(json);
        fz_arena_deinit(&arena);
    }
}

static void other_forms_are_refused(void **state) {
    (void)state;
    const struct {
        const char *type;
        const char *text;
        fz_code code;
    } cases[] = {
        {"boolean", "1", FZ_CORRUPT},
        {"int", "2147483648", FZ_LIMIT},
        {"int", "1.0", FZ_CORRUPT},
        {"long", "\"1\"", FZ_CORRUPT},
        {"float", "1e300", FZ_LIMIT},
        {"double", "\"nan\"", FZ_CORRUPT},
        {"decimal(9, 2)", "14.2", FZ_CORRUPT},
        {"decimal(9, 2)", "\"14.201\"", FZ_LIMIT},
        {"date", "17486", FZ_CORRUPT},
        {"date", "\"2017-13-01\"", FZ_CORRUPT},
        {"timestamp", "\"2017-11-16T22:31:08+00:00\"", FZ_CORRUPT},
        {"timestamptz", "\"2017-11-16T22:31:08\"", FZ_CORRUPT},
        {"timestamp_ns", "\"2300-01-01T00:00:00\"", FZ_LIMIT},
        {"uuid", "\"f79c3e09\"", FZ_CORRUPT},
        {"fixed[2]", "\"00\"", FZ_CORRUPT},
        {"binary", "\"0g\"", FZ_CORRUPT},
        {"string", "{}", FZ_CORRUPT},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_arena arena = {0};
        fz_type type;
        fz_value value;
        fz_err err;
        fz_code code = parse(cases[i].type, cases[i].text, &arena, &type, &value, &err);
        if (code != cases[i].code) {
            fail_msg("%s of %s: %s", cases[i].text, cases[i].type, fz_code_name(code));
        }
        fz_arena_deinit(&arena);
    }
}

static void nested_values_fill_columns(void **state) {
    (void)state;
    json_t *json = NULL;
    fz_schema *schema = NULL;
    fz_err err;
    assert_int_equal(
        fz_json_parse(
            FZ_STR("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"s\","
                   "\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
                   "{\"id\":2,\"name\":\"a\",\"required\":true,\"type\":\"int\","
                   "\"initial-default\":7},"
                   "{\"id\":3,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\","
                   "\"element-id\":4,\"element-required\":true,\"element\":\"string\"}}]}}]}"),
            &json, &err),
        FZ_OK);
    assert_int_equal(fz_schema_from_json(json, &schema, &err), FZ_OK);
    json_decref(json);
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_column *s = batch->columns;
    const char *const rows[] = {"{}", "null", "{\"2\":1,\"3\":[\"x\",\"y\"]}"};
    for (size_t i = 0; i < FZ_COUNT(rows); i++) {
        assert_int_equal(fz_json_parse(fz_str_from(rows[i]), &json, &err), FZ_OK);
        assert_int_equal(fz_column_append_json(s, json, &err), FZ_OK);
        batch->rows++;
        json_decref(json);
    }
    assert_int_equal(s->null_count, 1);
    assert_int_equal(((int32_t *)s->children[0].values)[0], 7); // its own default
    assert_int_equal(((int32_t *)s->children[0].values)[2], 1);
    assert_true(fz_column_is_null(&s->children[1], 0));
    assert_int_equal(s->children[1].offsets[3], 2);
    // what fails half-way is cut off
    assert_int_equal(fz_json_parse(FZ_STR("{\"2\":1,\"3\":[\"x\",5]}"), &json, &err), FZ_OK);
    assert_int_equal(fz_column_append_json(s, json, &err), FZ_CORRUPT);
    json_decref(json);
    fz_column_truncate(s, 3);
    assert_int_equal(s->children[0].length, 3);
    assert_int_equal(s->children[1].children[0].length, 2);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_come_back),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(nested_values_fill_columns),
    };
    return cmocka_run_group_tests_name("json_value", tests, NULL, NULL);
}
