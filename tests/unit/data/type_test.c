// SPDX-License-Identifier: Apache-2.0
// Types and schemas: JSON both ways, paths, ids, what is refused.
#include "data/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static fz_code parse(const char *text, fz_schema **out, fz_err *err) {
    json_t *json = NULL;
    assert_int_equal(fz_json_parse(fz_str_from(text), &json, err), FZ_OK);
    fz_code code = fz_schema_from_json(json, out, err);
    json_decref(json);
    return code;
}

static const char nested[] =
    "{\"type\":\"struct\",\"schema-id\":3,\"identifier-field-ids\":[1],\"fields\":["
    "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\",\"doc\":\"the \\\"a\\\"\"},"
    "{\"id\":2,\"name\":\"items\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":5,"
    "\"element\":{\"type\":\"struct\",\"fields\":["
    "{\"id\":6,\"name\":\"sku\",\"required\":true,\"type\":\"string\"},"
    "{\"id\":7,\"name\":\"price\",\"required\":false,\"type\":\"decimal(9, 2)\","
    "\"initial-default\":\"14.20\",\"write-default\":\"15.00\"}]},\"element-required\":true}},"
    "{\"id\":3,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":8,"
    "\"key\":\"string\",\"value-id\":9,\"value\":\"fixed[16]\",\"value-required\":false}},"
    "{\"id\":4,\"name\":\"a.b\",\"required\":false,\"type\":\"timestamptz_ns\"}]}";

static void json_goes_round(void **state) {
    (void)state;
    fz_schema *schema = NULL;
    fz_err err;
    assert_int_equal(parse(nested, &schema, &err), FZ_OK);
    assert_int_equal(schema->schema_id, 3);
    assert_int_equal(schema->highest_id, 9);
    assert_int_equal(schema->identifier_count, 1);
    json_t *json = fz_schema_to_json(schema);
    json_t *wanted = json_loads(nested, 0, NULL);
    assert_true(json_equal(json, wanted));
    json_decref(json);
    json_decref(wanted);
    const fz_field *price = fz_schema_find_id(schema, 7);
    assert_true(fz_str_equal(price->initial_default, FZ_STR("\"14.20\"")));
    assert_int_equal(price->type.precision, 9);
    assert_int_equal(fz_schema_find_id(schema, 9)->type.length, 16);
    assert_true(fz_schema_find_id(schema, 8)->required);
    assert_null(fz_schema_find_id(schema, 10));

    fz_schema *copy = fz_schema_new();
    copy->root = fz_type_copy(&copy->arena, &schema->root);
    assert_true(fz_type_equal(&copy->root, &schema->root));
    fz_buf text = {0};
    fz_type_format(&copy->root, &text);
    assert_string_equal(fz_buf_cstr(&text),
                        "struct<a: long not null, items: list<struct<sku: string not null, "
                        "price: decimal(9, 2)> not null>, m: map<string, fixed[16]>, "
                        "a.b: timestamptz_ns>");
    fz_buf_deinit(&text);
    copy->root.fields[1].type.fields[0].type.fields[0].required = false;
    assert_false(fz_type_equal(&copy->root, &schema->root));
    fz_schema_unref(copy);
    fz_schema_unref(schema);
}

static void paths(void **state) {
    (void)state;
    fz_schema *schema = NULL;
    fz_err err;
    assert_int_equal(parse(nested, &schema, &err), FZ_OK);
    const struct {
        int32_t id;
        const char *path;
    } cases[] = {{1, "a"},     {5, "items.element"}, {6, "items.element.sku"},
                 {8, "m.key"}, {9, "m.value"},       {4, "a.b"}};
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf text = {0};
        fz_schema_path(schema, cases[i].id, &text);
        assert_string_equal(fz_buf_cstr(&text), cases[i].path);
        fz_buf_deinit(&text);
        const fz_field *field = fz_schema_find_path(schema, fz_str_from(cases[i].path));
        assert_non_null(field);
        assert_int_equal(field->id, cases[i].id);
    }
    fz_buf text = {0};
    fz_schema_path(schema, 77, &text);
    assert_int_equal(text.size, 0);
    fz_buf_deinit(&text);
    assert_null(fz_schema_find_path(schema, FZ_STR("items.sku")));
    assert_null(fz_schema_find_path(schema, FZ_STR("")));
    assert_null(fz_schema_find_path(schema, FZ_STR("items.")));
    fz_schema_unref(schema);
}

static void fresh_ids_go_level_by_level(void **state) {
    (void)state;
    fz_schema *schema = NULL;
    fz_err err;
    assert_int_equal(parse(nested, &schema, &err), FZ_OK);
    for (int32_t id = 1; id <= 9; id++) {
        ((fz_field *)fz_schema_find_id(schema, id))->id = 0;
    }
    int32_t last = 0;
    fz_type_assign_ids(&schema->root, &last);
    assert_int_equal(last, 9);
    assert_int_equal(fz_schema_find_path(schema, FZ_STR("a.b"))->id, 4);
    assert_int_equal(fz_schema_find_path(schema, FZ_STR("items.element"))->id, 5);
    assert_int_equal(fz_schema_find_path(schema, FZ_STR("items.element.price"))->id, 7);
    assert_int_equal(fz_schema_find_path(schema, FZ_STR("m.value"))->id, 9);
    fz_type_assign_ids(&schema->root, &last); // none left
    assert_int_equal(last, 9);
    fz_schema_unref(schema);
}

static void type_words(void **state) {
    (void)state;
    fz_type type;
    assert_true(fz_type_parse(FZ_STR("decimal(9,2)"), &type));
    assert_int_equal(type.scale, 2);
    assert_true(fz_type_parse(FZ_STR("decimal( 38 , 38 )"), &type));
    assert_int_equal(type.precision, 38);
    assert_true(fz_type_parse(FZ_STR("fixed[7]"), &type));
    assert_int_equal(type.length, 7);
    assert_true(fz_type_parse(FZ_STR("binary"), &type));
    const char *const bad[] = {"",
                               "decimal",
                               "decimal(39,0)",
                               "decimal(0,0)",
                               "decimal(2,3)",
                               "decimal(-1,0)",
                               "decimal(9,2",
                               "decimal(9,2)x",
                               "fixed",
                               "fixed[]",
                               "fixed[99999999999]",
                               "fixed[-1]",
                               "struct",
                               "list",
                               "variant",
                               "unknown",
                               "Long",
                               "decimal(9.2)",
                               "fixed(4]",
                               "geometry(srid:4326)"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_false(fz_type_parse(fz_str_from(bad[i]), &type));
    }
}

#define FIELD(type)                                                                                \
    "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"f\",\"required\":true,\"type\":" type   \
    "}]}"

static void bad_schemas_are_refused(void **state) {
    (void)state;
    const struct {
        const char *text;
        fz_code code;
        const char *says;
    } cases[] = {
        {"{}", FZ_CORRUPT, "struct"},
        {"[]", FZ_CORRUPT, "struct"},
        {"{\"type\":\"struct\"}", FZ_CORRUPT, "fields"},
        {"{\"type\":\"struct\",\"fields\":[1]}", FZ_CORRUPT, "name"},
        {FIELD("\"variant\""), FZ_UNSUPPORTED, "\"f\": unknown type \"variant\""},
        {FIELD("\"geometry\""), FZ_UNSUPPORTED, "geometry"},
        {FIELD("7"), FZ_CORRUPT, "no type"},
        {FIELD("{\"type\":\"tuple\"}"), FZ_UNSUPPORTED, "tuple"},
        {FIELD("{\"type\":\"list\"}"), FZ_CORRUPT, "element-id"},
        {FIELD(
             "{\"type\":\"list\",\"element-id\":1,\"element-required\":true,\"element\":\"int\"}"),
         FZ_CORRUPT, "twice"},
        {FIELD("{\"type\":\"map\",\"key-id\":2,\"value-id\":3,\"key\":\"int\",\"value\":\"int\"}"),
         FZ_CORRUPT, "value-required"},
        {FIELD("{\"type\":\"map\",\"key-id\":2,\"value-id\":3,\"value-required\":true,"
               "\"key\":\"int\",\"value\":\"x\"}"),
         FZ_UNSUPPORTED, "f.value"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":4294967296,\"name\":\"f\",\"required\":true,"
         "\"type\":\"int\"}]}",
         FZ_CORRUPT, "id"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"f\",\"type\":\"int\"}]}",
         FZ_CORRUPT, "required"},
        {"{\"type\":\"struct\",\"schema-id\":-1,\"fields\":[]}", FZ_CORRUPT, "schema-id"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_schema *schema = NULL;
        fz_err err;
        assert_int_equal(parse(cases[i].text, &schema, &err), cases[i].code);
        assert_null(schema);
        if (!strstr(err.text, cases[i].says)) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].says);
        }
    }
}

static void size_is_limited(void **state) {
    (void)state;
    fz_buf text = {0};
    fz_err err;
    fz_schema *schema = NULL;
    for (int levels = 99; levels <= 101; levels++) {
        fz_buf_reset(&text);
        fz_buf_printf(&text,
                      "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"f\",\"required\":true,"
                      "\"type\":");
        for (int i = 1; i < levels; i++) {
            fz_buf_printf(
                &text,
                "{\"type\":\"list\",\"element-id\":%d,\"element-required\":true,\"element\":",
                i + 1);
        }
        fz_buf_printf(&text, "\"int\"");
        for (int i = 1; i < levels; i++) {
            fz_buf_printf(&text, "}");
        }
        fz_buf_printf(&text, "}]}");
        fz_code code = parse(fz_buf_cstr(&text), &schema, &err);
        assert_int_equal(code, levels <= 100 ? FZ_OK : FZ_LIMIT);
        if (code == FZ_OK) {
            fz_schema_unref(schema);
        }
    }
    for (int count = 10000; count <= 10001; count++) {
        fz_buf_reset(&text);
        fz_buf_printf(&text, "{\"type\":\"struct\",\"fields\":[");
        for (int i = 0; i < count; i++) {
            fz_buf_printf(&text,
                          "%s{\"id\":%d,\"name\":\"f%d\",\"required\":true,\"type\":\"int\"}",
                          i ? "," : "", i + 1, i);
        }
        fz_buf_printf(&text, "]}");
        fz_code code = parse(fz_buf_cstr(&text), &schema, &err);
        assert_int_equal(code, count == 10000 ? FZ_OK : FZ_LIMIT);
        if (code == FZ_OK) {
            fz_schema_unref(schema);
        }
    }
    fz_buf_deinit(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_goes_round),
        cmocka_unit_test(paths),
        cmocka_unit_test(fresh_ids_go_level_by_level),
        cmocka_unit_test(type_words),
        cmocka_unit_test(bad_schemas_are_refused),
        cmocka_unit_test(size_is_limited),
    };
    return cmocka_run_group_tests_name("type", tests, NULL, NULL);
}
