// SPDX-License-Identifier: Apache-2.0
// Rows as JSON lines, CSV and text, from rows given as JSON single values.
#include "table/scan/print.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "data/json_value.h"

static fz_schema *schema_of(const char *fields) {
    fz_buf text = {0};
    json_t *json = NULL;
    fz_schema *schema = NULL;
    fz_err err;
    fz_buf_printf(&text, "{\"type\":\"struct\",\"fields\":[%s]}", fields);
    assert_int_equal(fz_json_parse(fz_buf_view(&text), &json, &err), FZ_OK);
    fz_code code = fz_schema_from_json(json, &schema, &err);
    if (code != FZ_OK) {
        fail_msg("%s", err.text);
    }
    json_decref(json);
    fz_buf_deinit(&text);
    return schema;
}

// A row is an array of single values, one a column.
static void add(fz_batch *batch, const char *row) {
    json_t *json = NULL;
    fz_err err;
    assert_int_equal(fz_json_parse(fz_str_from(row), &json, &err), FZ_OK);
    for (size_t i = 0; i < batch->column_count; i++) {
        if (fz_column_append_json(&batch->columns[i], json_array_get(json, i), &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
    }
    batch->rows++;
    json_decref(json);
}

static void check(fz_scan_format format, fz_batch *batch, const char *want) {
    fz_buf out = {0};
    fz_scan_printer *printer = fz_scan_printer_new(format, batch->schema);
    int64_t half = batch->rows / 2;
    fz_scan_printer_rows(printer, batch, 0, half, &out);
    fz_scan_printer_rows(printer, batch, half, batch->rows - half, &out);
    fz_scan_printer_finish(printer, &out);
    assert_string_equal(fz_buf_cstr(&out), want);
    fz_scan_printer_free(printer);
    fz_buf_deinit(&out);
}

#define F(id, name, type)                                                                          \
    "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"

static void json_has_canonical_values(void **state) {
    (void)state;
    const struct {
        const char *type;
        const char *value;
        const char *want; // NULL: as value
    } cases[] = {
        {"\"boolean\"", "true", NULL},
        {"\"int\"", "-5", NULL},
        {"\"long\"", "9007199254740991", NULL},
        {"\"long\"", "9007199254740992", "\"9007199254740992\""},
        {"\"long\"", "-9007199254740992", "\"-9007199254740992\""},
        {"\"long\"", "-9223372036854775808", "\"-9223372036854775808\""},
        {"\"float\"", "0.1", "0.10000000149011612"},
        {"\"double\"", "0.1", NULL},
        {"\"double\"", "-0.0", NULL},
        {"\"double\"", "\"NaN\"", NULL},
        {"\"double\"", "\"-Infinity\"", NULL},
        {"\"decimal(9, 2)\"", "\"-0.01\"", NULL},
        {"\"decimal(9, 2)\"", "\"0.00\"", NULL},
        {"\"date\"", "\"1969-12-31\"", NULL},
        {"\"time\"", "\"22:31:08.000000\"", NULL},
        {"\"timestamp\"", "\"1969-12-31T23:59:59.999999\"", NULL},
        {"\"timestamptz\"", "\"2017-11-16T22:31:08.000001+00:00\"", NULL},
        {"\"timestamp_ns\"", "\"1969-12-31T23:59:59.999999999\"", NULL},
        {"\"timestamptz_ns\"", "\"2017-11-16T22:31:08.000000001+00:00\"", NULL},
        {"\"string\"", "\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\"", NULL},
        {"\"string\"", "\"\"", NULL},
        {"\"string\"", "\"a\\u0000b\"", NULL},
        {"\"uuid\"", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", NULL},
        {"\"binary\"", "\"00ff\"", NULL},
        {"\"fixed[2]\"", "\"00ff\"", NULL},
        {"{\"type\":\"list\",\"element-id\":2,\"element-required\":false,\"element\":\"int\"}",
         "[1,null,3]", NULL},
        {"{\"type\":\"struct\",\"fields\":[" F(2, "x", "\"int\"") "," F(3, "y", "\"long\"") "]}",
         "{\"2\":1}", "{\"x\":1,\"y\":null}"},
        {"{\"type\":\"map\",\"key-id\":2,\"key\":\"string\",\"value-id\":3,\"value-required\":"
         "false,"
         "\"value\":\"int\"}",
         "{\"keys\":[\"b\",\"\xc3\xa9\",\"a\"],\"values\":[1,2,null]}",
         "[[\"a\",null],[\"b\",1],[\"\xc3\xa9\",2]]"},
        {"{\"type\":\"map\",\"key-id\":2,\"key\":\"int\",\"value-id\":3,\"value-required\":false,"
         "\"value\":\"int\"}",
         "{\"keys\":[10,-1,9],\"values\":[1,2,3]}", "[[-1,2],[9,3],[10,1]]"},
        {"{\"type\":\"map\",\"key-id\":2,\"key\":{\"type\":\"struct\",\"fields\":[" F(
             4, "x", "\"int\"") "]},\"value-id\":3,\"value-required\":false,\"value\":\"int\"}",
         "{\"keys\":[{\"4\":2},{\"4\":1}],\"values\":[1,2]}", "[[{\"x\":1},2],[{\"x\":2},1]]"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf text = {0};
        fz_buf_printf(&text, "{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":%s}",
                      cases[i].type);
        fz_schema *schema = schema_of(fz_buf_cstr(&text));
        fz_batch *batch = fz_batch_new(schema, NULL);
        fz_buf_reset(&text);
        fz_buf_printf(&text, "[%s]", cases[i].value);
        add(batch, fz_buf_cstr(&text));
        add(batch, "[null]");
        fz_buf_reset(&text);
        fz_buf_printf(&text, "{\"c\":%s}\n{\"c\":null}\n",
                      cases[i].want ? cases[i].want : cases[i].value);
        check(FZ_SCAN_JSON, batch, fz_buf_cstr(&text));
        fz_buf_deinit(&text);
        fz_batch_free(batch);
        fz_schema_unref(schema);
    }
}

static fz_batch *sample(void) {
    fz_schema *schema = schema_of(F(1, "id", "\"long\"") "," F(2, "na,me", "\"string\"") "," F(
        3, "tags",
        "{\"type\":\"list\",\"element-id\":4,\"element-required\":false,\"element\":\"string\"}"));
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_schema_unref(schema);
    add(batch, "[1,\"plain\",[\"a\",\"b\"]]");
    add(batch, "[9223372036854775807,\"quo\\\"te\",[]]");
    add(batch, "[null,\"\",null]");
    add(batch, "[-3,null,[null]]");
    add(batch, "[4,\"two\\nlines\\u001b[31m\",[\"x,y\"]]");
    add(batch, "[5,\"\xc3\xa9\xc2\x9b \\\\\",null]");
    return batch;
}

static void csv_quotes(void **state) {
    (void)state;
    fz_batch *batch = sample();
    check(FZ_SCAN_CSV, batch,
          "id,\"na,me\",tags\r\n"
          "1,plain,\"[\"\"a\"\",\"\"b\"\"]\"\r\n"
          "9223372036854775807,\"quo\"\"te\",[]\r\n"
          ",\"\",\r\n"
          "-3,,[null]\r\n"
          "4,\"two\nlines\x1b[31m\",\"[\"\"x,y\"\"]\"\r\n"
          "5,\xc3\xa9\xc2\x9b \\,\r\n");
    fz_batch_reset(batch);
    check(FZ_SCAN_CSV, batch, "id,\"na,me\",tags\r\n");
    check(FZ_SCAN_JSON, batch, "");
    check(FZ_SCAN_TEXT, batch, "id  na,me  tags\n--  -----  ----\n");
    fz_batch_free(batch);
}

static void text_is_aligned_and_harmless(void **state) {
    (void)state;
    fz_batch *batch = sample();
    fz_buf out = {0};
    fz_scan_printer *printer = fz_scan_printer_new(FZ_SCAN_TEXT, batch->schema);
    fz_scan_printer_rows(printer, batch, 0, batch->rows, &out);
    fz_scan_printer_finish(printer, &out);
    assert_string_equal(fz_buf_cstr(&out),
                        "                 id  na,me               tags\n"
                        "-------------------  ------------------  ---------\n"
                        "                  1  plain               [\"a\",\"b\"]\n"
                        "9223372036854775807  quo\"te              []\n"
                        "               null                      null\n"
                        "                 -3  null                [null]\n"
                        "                  4  two\\nlines\\x1b[31m  [\"x,y\"]\n"
                        "                  5  \xc3\xa9\\x9b \\\\            null\n");
    fz_scan_printer_free(printer);
    fz_buf_deinit(&out);
    fz_batch_free(batch);
}

static void bad_text_is_replaced(void **state) {
    (void)state;
    fz_schema *schema = schema_of(F(1, "s", "\"string\""));
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_err err;
    fz_str bad = FZ_STR("a\xff"
                        "b\xc3"
                        "\xe2\x82\xac\xf0\x9f\xed\xa0\x80");
    assert_int_equal(fz_column_append_bytes(&batch->columns[0], bad.data, bad.size, &err), FZ_OK);
    batch->rows = 1;
#define BAD "\xef\xbf\xbd"
    check(FZ_SCAN_JSON, batch, "{\"s\":\"a" BAD "b" BAD "\xe2\x82\xac" BAD BAD BAD BAD BAD "\"}\n");
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_canonical_values),
        cmocka_unit_test(csv_quotes),
        cmocka_unit_test(text_is_aligned_and_harmless),
        cmocka_unit_test(bad_text_is_replaced),
    };
    return cmocka_run_group_tests_name("print", tests, NULL, NULL);
}
