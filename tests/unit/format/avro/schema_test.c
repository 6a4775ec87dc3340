// SPDX-License-Identifier: Apache-2.0
// Avro schemas: the language, its names, what is refused, and the shapes that come of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "format/avro/schema.h"

#define RECORD(fields)                                                                             \
    "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static fz_writer_schema *parse(const char *text) {
    fz_writer_schema *schema = NULL;
    fz_err err = {0};
    if (fz_avro_schema_new(fz_str_from(text), NULL, 0, NULL, &schema, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return schema;
}

static void refuse_limited(const char *text, const fz_avro_limits *limits, const char *in_text) {
    fz_writer_schema *schema = NULL;
    fz_err err = {0};
    fz_code code = fz_avro_schema_new(fz_str_from(text), NULL, 0, limits, &schema, &err);
    assert_true(code == FZ_CORRUPT || code == FZ_LIMIT);
    assert_null(schema);
    assert_string_equal(err.kind, "schema_parse");
    assert_non_null(strstr(err.text, in_text));
}

static void refuse(const char *text, const char *in_text) {
    refuse_limited(text, NULL, in_text);
}

// The type of a shape as text; `options` NULL: format version 3. Frees the schema.
static char *shape_text(fz_writer_schema *schema, const fz_mapping_options *options,
                        fz_buf *warnings) {
    fz_mapping_options defaults = {.format_version = 3};
    fz_schema *shape = NULL;
    fz_err err = {0};
    if (fz_writer_schema_shape(schema, options ? options : &defaults, warnings, &shape, &err) !=
        FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_buf text = {0};
    fz_type_format(&shape->root, &text);
    char *out = fz_str_dup(fz_buf_view(&text));
    fz_buf_deinit(&text);
    fz_schema_unref(shape);
    fz_writer_schema_free(schema);
    return out;
}

static void expect_shape(const char *schema, const fz_mapping_options *options, const char *want) {
    char *text = shape_text(parse(schema), options, NULL);
    assert_string_equal(text, want);
    fz_free(text);
}

static void refuse_shape(const char *text, const fz_mapping_options *options, const char *kind,
                         const char *in_text) {
    fz_mapping_options defaults = {.format_version = 3};
    fz_writer_schema *schema = parse(text);
    fz_schema *shape = NULL;
    fz_err err = {0};
    assert_int_equal(
        fz_writer_schema_shape(schema, options ? options : &defaults, NULL, &shape, &err),
        FZ_UNSUPPORTED);
    assert_null(shape);
    assert_string_equal(err.kind, kind);
    assert_non_null(strstr(err.text, in_text));
    fz_writer_schema_free(schema);
}

static fz_schema *shape_of(fz_writer_schema *schema) {
    fz_mapping_options options = {.format_version = 3};
    fz_schema *shape = NULL;
    assert_int_equal(fz_writer_schema_shape(schema, &options, NULL, &shape, NULL), FZ_OK);
    return shape;
}

static void assert_str(fz_str have, const char *want) {
    if (!fz_str_equal(have, fz_str_from(want))) {
        fail_msg("\"%.*s\" instead of \"%s\"", FZ_STR_ARGS(have), want);
    }
}

// --- the language ---

static void names_are_resolved(void **state) {
    (void)state;
    fz_writer_schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"a.b.R\",\"aliases\":[\"Old\",\"x.Older\"],\"fields\":["
        "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}},"
        "{\"name\":\"g\",\"type\":\"F\"},{\"name\":\"h\",\"type\":\"a.b.F\"},"
        "{\"name\":\"i\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"\","
        "\"symbols\":[\"A\"]}},{\"name\":\"j\",\"type\":\"E\"}]}");
    const fz_avro_type *root = fz_avro_schema_root(schema);
    assert_str(fz_avro_schema_name(schema), "a.b.R");
    assert_str(root->name, "R");
    assert_str(root->aliases[0], "a.b.Old");
    assert_str(root->aliases[1], "x.Older");
    assert_str(root->fields[0].type->full_name, "a.b.F");
    assert_ptr_equal(root->fields[0].type, root->fields[1].type);
    assert_ptr_equal(root->fields[0].type, root->fields[2].type);
    assert_str(root->fields[3].type->full_name, "E");
    assert_ptr_equal(root->fields[3].type, root->fields[4].type);
    fz_writer_schema_free(schema);
}

static void references_come_first(void **state) {
    (void)state;
    fz_avro_reference references[] = {
        {FZ_STR("n.Inner"), FZ_STR("{\"type\":\"enum\",\"name\":\"n.Inner\",\"symbols\":[\"A\"]}")},
        {FZ_STR("n.Mid"),
         FZ_STR("{\"type\":\"record\",\"name\":\"n.Mid\",\"fields\":[{\"name\":\"e\","
                "\"type\":\"Inner\"}]}")},
        {FZ_STR("n.Inner"), FZ_STR("{\"type\":\"enum\",\"name\":\"n.Inner\",\"symbols\":[\"A\"]}")},
        {FZ_STR("other"), FZ_STR("\"long\"")},
    };
    fz_writer_schema *schema = NULL;
    assert_int_equal(fz_avro_schema_new(FZ_STR(RECORD(FIELD("m", "\"n.Mid\"") "," FIELD(
                                            "e", "\"n.Inner\"") "," FIELD("o", "\"other\""))),
                                        references, 4, NULL, &schema, NULL),
                     FZ_OK);
    char *text = shape_text(schema, NULL, NULL);
    assert_non_null(strstr(text, "e: string not null"));
    assert_non_null(strstr(text, "o: long not null"));
    fz_free(text);
    fz_err err = {0};
    references[1].text = FZ_STR("{\"type\":\"record\"}");
    assert_int_equal(fz_avro_schema_new(FZ_STR("\"n.Mid\""), references, 2, NULL, &schema, &err),
                     FZ_CORRUPT);
    assert_string_equal(err.kind, "schema_parse");
    assert_non_null(strstr(err.text, "n.Mid"));
}

static void bad_schemas_are_refused(void **state) {
    (void)state;
    refuse("", "");
    refuse("{\"type\":\"record\",", "while reading an avro schema");
    refuse("5", "neither a name");
    refuse("{}", "no \"type\"");
    refuse("\"Gone\"", "no type named \"Gone\"");
    refuse("{\"type\":\"record\",\"fields\":[]}", "without a name");
    refuse("{\"type\":\"record\",\"name\":\"R\"}", "list of fields");
    refuse(RECORD("{\"name\":\"a\"}"), "at \"a\": field without a type");
    refuse(RECORD(FIELD("a", RECORD("{\"type\":\"int\"}"))), "defined twice");
    refuse(RECORD(FIELD("a", "{\"type\":\"array\",\"items\":\"Gone\"}")), "at \"a.element\"");
    refuse(RECORD(FIELD("a", "\"int\"") "," FIELD("a", "\"int\"")), "two fields \"a\"");
    refuse("{\"type\":\"record\",\"name\":\"int\",\"fields\":[]}", "primitive");
    refuse("{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}", "size");
    refuse("{\"type\":\"enum\",\"name\":\"E\"}", "symbols");
    refuse("{\"type\":\"array\"}", "items");
    refuse("[]", "without branches");
    refuse("[\"int\",[\"long\"]]", "inside a union");
    refuse("[\"int\",\"int\"]", "twice");
}

static void limits_hold(void **state) {
    (void)state;
    fz_avro_limits few = {.field_count = 1};
    refuse_limited(RECORD(FIELD("a", "\"int\"") "," FIELD("b", "\"int\"")), &few, "at most 1");
    fz_avro_limits small = {.text_size = 10};
    refuse_limited("{\"type\":\"string\"}", &small, "over 10 bytes");
    fz_buf text = {0};
    for (int i = 0; i < 10000; i++) {
        fz_buf_append_str(&text, FZ_STR("{\"type\":\"array\",\"items\":"));
    }
    fz_buf_append_str(&text, FZ_STR("\"int\""));
    for (int i = 0; i < 10000; i++) {
        fz_buf_append_byte(&text, '}');
    }
    refuse(fz_buf_cstr(&text), "");
    fz_buf_deinit(&text);
}

// --- shapes ---

static void types_become_columns(void **state) {
    (void)state;
    expect_shape("\"long\"", NULL, "struct<value: long not null>");
    expect_shape("long", NULL, "struct<value: long not null>");
    expect_shape("[\"null\",\"int\"]", NULL, "struct<value: int>");
    expect_shape("[" RECORD(FIELD("a", "\"int\"")) "]", NULL, "struct<a: int not null>");
    expect_shape(RECORD(FIELD("a", "{\"type\":{\"type\":\"string\"}}")), NULL,
                 "struct<a: string not null>");
    expect_shape(
        RECORD(FIELD("a", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"connect.name\":"
                          "\"org.apache.kafka.connect.data.Decimal\",\"connect.parameters\":"
                          "{\"scale\":\"2\"}}")),
        NULL, "struct<a: decimal(38, 2) not null>");
    fz_mapping_options unions = {.format_version = 2, .unions_struct = true};
    expect_shape(RECORD(FIELD("a", "[\"null\",\"int\"]")), &unions, "struct<a: struct<int: int>>");
    fz_mapping_options truncate = {.format_version = 2, .nanos_truncate = true};
    expect_shape(RECORD(FIELD("a", "{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}")),
                 &truncate, "struct<a: timestamptz not null>");
    fz_mapping_options any_case = {.format_version = 2, .names_any_case = true};
    expect_shape(RECORD(FIELD("a", "\"int\"") "," FIELD("A", "\"int\"")), &any_case,
                 "struct<a: int not null, A: int not null>");
}

static void what_has_no_column_is_left_out(void **state) {
    (void)state;
    fz_buf warnings = {0};
    char *text = shape_text(
        parse(RECORD(FIELD("a", "\"int\"") "," FIELD("n", "\"null\"") "," FIELD(
            "e",
            "{\"type\":"
            "\"record\","
            "\"name\":"
            "\"E\","
            "\"fields\":[]"
            "}") "," FIELD("o", "[\"null\",\"E\"]") "," FIELD("l",
                                                              "{\"type\":\"array\",\"items\":"
                                                              "\"E\"}") "," FIELD("d",
                                                                                  "{\"type\":"
                                                                                  "\"bytes\","
                                                                                  "\"logicalType"
                                                                                  "\":"
                                                                                  "\"decimal\","
                                                                                  "\"precision\":"
                                                                                  "2,\"scale\":"
                                                                                  "5}"))),
        NULL, &warnings);
    assert_string_equal(text, "struct<a: int not null, d: binary not null>");
    const char *said = fz_buf_cstr(&warnings);
    assert_non_null(strstr(said, "field \"n\": left out"));
    assert_non_null(strstr(said, "field \"e\": left out"));
    assert_non_null(strstr(said, "field \"o\": left out"));
    assert_non_null(strstr(said, "field \"l.element\": left out"));
    assert_non_null(strstr(said, "field \"d\": logical type \"decimal\""));
    fz_free(text);
    fz_buf_deinit(&warnings);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    refuse_shape("\"null\"", NULL, "unsupported_type", "null");
    refuse_shape(RECORD(""), NULL, "unsupported_type", "no fields");
    refuse_shape(RECORD(FIELD("id", "\"int\"") "," FIELD("ID", "\"int\"")), NULL,
                 "unsupported_type", "\"id\" and \"ID\"");
    refuse_shape(
        RECORD(FIELD("x", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":64}")),
        NULL, "unsupported_type", "\"x\": decimal(64, 0)");
    refuse_shape(RECORD(FIELD("v", "\"int\"") "," FIELD("next", "[\"null\",\"R\"]")), NULL,
                 "recursive_type", "\"next\"");
    fz_mapping_options v2 = {.format_version = 2};
    refuse_shape(RECORD(FIELD("t", "{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}")), &v2,
                 "unsupported_type", "format_version: 3 or types.timestamp_nanos: truncate");
}

// Reuse doubles at each level: 2^40 columns if nobody counted.
static void reuse_does_not_explode(void **state) {
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        fz_buf text = {0};
        for (int i = 0; i < 40; i++) {
            fz_buf_printf(
                &text,
                "{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":", i);
        }
        fz_buf_printf(&text, "{\"type\":\"record\",\"name\":\"L\",\"fields\":[%s]}",
                      empty ? "" : "{\"name\":\"x\",\"type\":\"int\"}");
        for (int i = 39; i >= 0; i--) {
            if (i == 39) {
                fz_buf_append_str(&text, FZ_STR("},{\"name\":\"b\",\"type\":\"L\"}]}"));
            } else {
                fz_buf_printf(&text, "},{\"name\":\"b\",\"type\":\"R%d\"}]}", i + 1);
            }
        }
        refuse_shape(fz_buf_cstr(&text), NULL, "unsupported_type", "more than");
        fz_buf_deinit(&text);
    }
}

static void identities_and_aliases(void **state) {
    (void)state;
    fz_writer_schema *schema = parse(RECORD(
        "{\"name\":\"a.b\",\"aliases\":[\"old\"],\"type\":{\"type\":\"record\",\"name\":\"S\","
        "\"fields\":[{\"name\":\"x\",\"aliases\":[\"y\"],\"type\":\"int\"}]}}," FIELD(
            "u", "[\"string\",\"S\",{\"type\":\"map\",\"values\":\"S\"}]")));
    fz_schema *shape = shape_of(schema);
    const fz_field *first = &shape->root.fields[0];
    assert_str(first->identity, "a\\.b");
    assert_int_equal(first->alias_count, 1);
    assert_str(first->aliases[0], "old");
    const fz_field *x = &first->type.fields[0];
    assert_str(x->identity, "a\\.b.x");
    assert_int_equal(x->alias_count, 3);
    assert_str(x->aliases[0], "a\\.b.y");
    assert_str(x->aliases[1], "old.x");
    assert_str(x->aliases[2], "old.y");
    const fz_field *branches = shape->root.fields[1].type.fields;
    assert_str(branches[0].identity, "u.string");
    assert_str(branches[1].name, "S");
    assert_str(branches[1].identity, "u.n\\.S");
    assert_str(branches[2].type.fields[1].type.fields[0].identity, "u.map.value.x");
    fz_schema_unref(shape);
    fz_writer_schema_free(schema);
}

static void defaults_become_iceberg_json(void **state) {
    (void)state;
    static const struct {
        const char *type;
        const char *value;
        const char *want;
    } cases[] = {
        {"\"int\"", "7", "7"},
        {"\"int\"", "\"x\"", ""},
        {"\"int\"", "2147483648", ""},
        {"\"boolean\"", "true", "true"},
        {"\"string\"", "\"d\\u00e9\"", "\"d\xc3\xa9\""},
        {"\"bytes\"", "\"\\u0000\\u00ff\"", "\"00ff\""},
        {"[\"null\",\"int\"]", "null", ""},
        {"[\"null\",\"int\"]", "5", "5"},
        {"{\"type\":\"int\",\"logicalType\":\"date\"}", "1", "\"1970-01-02\""},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "-1",
         "\"1969-12-31T23:59:59.999000+00:00\""},
        {"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2}",
         "\"\\u00ff\"", "\"-0.01\""},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "\"A\"", "\"A\""},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "\"B\"", ""},
        {"{\"type\":\"array\",\"items\":\"int\"}", "[]", ""},
        {"{\"type\":\"string\",\"logicalType\":\"uuid\"}",
         "\"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\"", "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        char *text = fz_str_printf(RECORD("{\"name\":\"f\",\"type\":%s,\"default\":%s}"),
                                   cases[i].type, cases[i].value);
        fz_writer_schema *schema = parse(text);
        fz_schema *shape = shape_of(schema);
        assert_true(shape->root.fields[0].has_default);
        assert_str(shape->root.fields[0].initial_default, cases[i].want);
        fz_schema_unref(shape);
        fz_writer_schema_free(schema);
        fz_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_resolved),
        cmocka_unit_test(references_come_first),
        cmocka_unit_test(bad_schemas_are_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(types_become_columns),
        cmocka_unit_test(what_has_no_column_is_left_out),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(reuse_does_not_explode),
        cmocka_unit_test(identities_and_aliases),
        cmocka_unit_test(defaults_become_iceberg_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
