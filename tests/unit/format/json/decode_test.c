// SPDX-License-Identifier: Apache-2.0
// JSON text into columns: numbers by their digits, the grammar, duplicates, unions, references.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/batch.h"
#include "format/json/schema.h"

typedef struct bench {
    fz_writer_schema *schema;
    fz_schema *shape;
    fz_decoder *decoder;
    fz_batch *batch;
    bool *owned;
    fz_err err;
} bench;

static void open_with(bench *b, const char *text, const fz_json_reference *references,
                      size_t count) {
    fz_mapping_options options = {.format_version = 2};
    *b = (bench){0};
    assert_int_equal(fz_json_schema_new(fz_str_from(text), references, count, &b->schema, &b->err),
                     FZ_OK);
    assert_int_equal(fz_writer_schema_shape(b->schema, &options, NULL, &b->shape, &b->err), FZ_OK);
    int32_t last = 0;
    fz_type_assign_ids(&b->shape->root, &last); // shape and table are one here
    fz_schema_finish(b->shape);
    b->owned = (bool *)fz_calloc(b->shape->root.field_count + 1, sizeof(bool));
    memset(b->owned, 1, b->shape->root.field_count);
    assert_int_equal(fz_decoder_open(b->schema, b->shape, b->shape, b->owned, &b->decoder, &b->err),
                     FZ_OK);
    b->batch = fz_batch_new(b->shape, NULL);
}

static void open_bench(bench *b, const char *text) {
    open_with(b, text, NULL, 0);
}

static void close_bench(bench *b) {
    fz_batch_free(b->batch);
    fz_decoder_free(b->decoder);
    fz_schema_unref(b->shape);
    fz_writer_schema_free(b->schema);
    fz_free(b->owned);
}

// The kind of the refusal, or "ok"; a refused record leaves nothing.
static const char *take_bytes(bench *b, const char *text, size_t size) {
    // Of its exact size on the heap: a read beyond it is seen.
    uint8_t *copy = (uint8_t *)fz_alloc(size + (size == 0));
    memcpy(copy, text, size);
    fz_code code = fz_decoder_decode(b->decoder, copy, size, b->batch, &b->err);
    fz_free(copy);
    if (code == FZ_OK) {
        b->batch->rows++;
        return "ok";
    }
    fz_batch_truncate(b->batch, b->batch->rows);
    return b->err.kind ? b->err.kind : "no kind";
}

static const char *take(bench *b, const char *text) {
    return take_bytes(b, text, strlen(text));
}

static int64_t last_long(const bench *b, size_t column) {
    return ((const int64_t *)b->batch->columns[column].values)[b->batch->rows - 1];
}

static void assert_text(const bench *b, size_t column, const char *text, size_t size) {
    fz_str found = fz_column_bytes(&b->batch->columns[column], b->batch->rows - 1);
    assert_int_equal(found.size, size);
    assert_memory_equal(found.data, text, size);
}

static void test_integers_by_their_digits(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *kind;
        int64_t value;
    } cases[] = {
        {"0", "ok", 0},
        {"-0", "ok", 0},
        {"1.0", "ok", 1},
        {"1.5", "invalid_value", 0},
        {"4.2e1", "ok", 42},
        {"420e-1", "ok", 42},
        {"1e18", "ok", INT64_C(1000000000000000000)},
        {"9007199254740993", "ok", INT64_C(9007199254740993)},
        {"9223372036854775807", "ok", INT64_MAX},
        {"9223372036854775807.000", "ok", INT64_MAX},
        {"-9223372036854775808", "ok", INT64_MIN},
        {"9223372036854775808", "out_of_range", 0},
        {"-9223372036854775809", "out_of_range", 0},
        {"327267367867168100000", "out_of_range", 0},
        {"1234567890123456789.5", "invalid_value", 0},
        {"1.00000000000000000000001", "invalid_value", 0},
        {"1e999999999999", "out_of_range", 0},
        {"1e-999999999999", "invalid_value", 0},
        {"0e999999999999", "ok", 0},
        {"01", "malformed", 0},
        {"-", "truncated", 0},
        {"1.", "truncated", 0},
        {"1e", "truncated", 0},
        {"1e+", "truncated", 0},
        {"+1", "malformed", 0},
        {".5", "malformed", 0},
        {"\"1\"", "invalid_value", 0},
        {"true", "invalid_value", 0},
        {"[1]", "invalid_value", 0},
        {"null", "null_in_required", 0},
        {"nul", "truncated", 0},
        {"NaN", "malformed", 0},
        {"1 2", "trailing_bytes", 0},
        {"", "truncated", 0},
    };
    bench b;
    open_bench(&b, "{\"type\":\"integer\"}");
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        assert_string_equal(take(&b, cases[i].text), cases[i].kind);
        if (strcmp(cases[i].kind, "ok") == 0) {
            assert_int_equal(last_long(&b, 0), cases[i].value);
        }
    }
    close_bench(&b);
}

static void test_numbers_round_once(void **state) {
    (void)state;
    static const char *const texts[] = {"0.1",
                                        "-0.0",
                                        "1e23",
                                        "9007199254740993",
                                        "4.9e-324",
                                        "1.7976931348623157e308",
                                        "123456789012345678901234567890",
                                        "0.30000000000000004",
                                        "1e-400"};
    bench b;
    open_bench(&b, "{\"type\":\"number\"}");
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        double wanted = strtod(texts[i], NULL);
        assert_string_equal(take(&b, texts[i]), "ok");
        assert_memory_equal((double *)b.batch->columns[0].values + b.batch->rows - 1, &wanted, 8);
    }
    assert_string_equal(take(&b, "1e400"), "out_of_range");
    assert_string_equal(take(&b, "-1e309"), "out_of_range");
    close_bench(&b);
}

static void test_texts(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "{\"type\":\"string\"}");
    assert_string_equal(take(&b, "\"0123456789abcdef0123456789\""), "ok");
    assert_text(&b, 0, "0123456789abcdef0123456789", 26);
    assert_string_equal(take(&b, " \"\\u0041\\ud83d\\ude00\\u0000\\/\\n\" "), "ok");
    assert_text(&b, 0, "A\xf0\x9f\x98\x80\0/\n", 8);
    assert_string_equal(take(&b, "\"\xc3\xa9\\t\xc3\xa9\""), "ok");
    assert_text(&b, 0, "\xc3\xa9\t\xc3\xa9", 5);
    assert_string_equal(take(&b, "\"\\ud800\""), "invalid_utf8");
    assert_string_equal(take(&b, "\"\\udc00\\ud800\""), "invalid_utf8");
    assert_string_equal(take(&b, "\"\\ud800\\u0041\""), "invalid_utf8");
    assert_string_equal(take(&b, "\"\xff\""), "invalid_utf8");
    assert_string_equal(take(&b, "\"\xed\xa0\x80\""), "invalid_utf8");
    assert_string_equal(take(&b, "\"\\x\""), "malformed");
    assert_string_equal(take(&b, "\"\\u12\""), "truncated");
    assert_string_equal(take(&b, "\"a\nb\""), "malformed");
    assert_string_equal(take(&b, "\"abc"), "truncated");
    assert_string_equal(take(&b, "'a'"), "malformed");
    assert_string_equal(take(&b, "\xef\xbb\xbf\"a\""), "malformed");
    close_bench(&b);
}

static void test_members(void **state) {
    (void)state;
    bench b;
    open_bench(&b,
               "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
               "\"string\"},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}},"
               "\"required\":[\"a\"]}");
    assert_string_equal(take(&b, "{\"b\":\"x\",\"a\":1,\"zz\":{\"a\":[1,{}]}}"), "ok");
    assert_int_equal(last_long(&b, 0), 1);
    assert_string_equal(take(&b, "{\"\\u0061\":5}"), "ok");
    assert_int_equal(last_long(&b, 0), 5);
    // The last one counts, whatever the others are.
    assert_string_equal(take(&b, "{\"a\":1,\"l\":[1,2],\"a\":2,\"l\":[3]}"), "ok");
    assert_int_equal(last_long(&b, 0), 2);
    assert_string_equal(take(&b, "{\"a\":\"x\",\"b\":\"y\",\"a\":7}"), "ok");
    assert_int_equal(last_long(&b, 0), 7);
    assert_string_equal(take(&b, "{\"a\":null,\"a\":8}"), "ok");
    assert_int_equal(last_long(&b, 0), 8);
    assert_string_equal(take(&b, "{\"a\":9,\"a\":null}"), "null_in_required");
    assert_string_equal(take(&b, "{\"a\":\"x\",\"a\":1"), "truncated");
    assert_string_equal(take(&b, "{\"b\":\"x\"}"), "null_in_required");
    assert_string_equal(take(&b, "{}"), "null_in_required");
    assert_string_equal(take(&b, "{\"a\":1,}"), "malformed");
    assert_string_equal(take(&b, "{\"a\" 1}"), "malformed");
    assert_string_equal(take(&b, "{\"a\":1,\"l\":[1,]}"), "malformed");
    assert_string_equal(take(&b, "{\"a\":1,\"l\":[1,\"2\"]}"), "invalid_value");
    assert_string_equal(take(&b, "[1]"), "invalid_value");
    assert_string_equal(take(&b, "null"), "null_in_required");
    assert_int_equal(b.batch->columns[2].children[0].length, 1); // [3], nothing of what was refused
    close_bench(&b);
}

static void test_depth(void **state) {
    (void)state;
    enum { LEVELS = 10000 };
    char *text = (char *)fz_alloc(2 * LEVELS + 16);
    bench b;
    open_bench(&b, "{\"properties\":{\"any\":{}}}");
    int size = snprintf(text, 16, "{\"any\":");
    memset(text + size, '[', LEVELS);
    memset(text + size + LEVELS, ']', LEVELS);
    text[size + 2 * LEVELS] = '}';
    assert_string_equal(take_bytes(&b, text, (size_t)size + 2 * LEVELS + 1), "depth_limit");
    memset(text + size, '[', 100);
    memset(text + size + 100, ']', 100);
    text[size + 200] = '}';
    assert_string_equal(take_bytes(&b, text, (size_t)size + 201), "ok");
    close_bench(&b);
    fz_free(text);
}

static void test_union_takes_the_first_that_validates(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "{\"properties\":{\"u\":{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{"
                   "\"const\":\"a\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"k\",\"v\"]},"
                   "{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"b\"},\"v\":{\"type\":"
                   "\"integer\"}},\"required\":[\"k\",\"v\"]},{\"type\":\"integer\"}]}}}");
    const fz_column *u = &b.batch->columns[0];
    assert_string_equal(take(&b, "{\"u\":{\"v\":1,\"k\":\"b\"}}"), "ok");
    assert_true(fz_column_is_null(&u->children[0], 0));
    assert_false(fz_column_is_null(&u->children[1], 0));
    assert_string_equal(take(&b, "{\"u\":{\"v\":1,\"k\":\"a\"}}"), "ok");
    assert_false(fz_column_is_null(&u->children[0], 1));
    assert_string_equal(take(&b, "{\"u\":3}"), "ok");
    assert_false(fz_column_is_null(&u->children[2], 2));
    assert_string_equal(take(&b, "{\"u\":{\"v\":1,\"k\":\"c\"}}"), "invalid_value");
    assert_string_equal(take(&b, "{\"u\":{\"v\":1,\"k\":\"c\""), "truncated");
    assert_string_equal(take(&b, "{\"u\":null}"), "ok");
    close_bench(&b);
}

static void test_references(void **state) {
    (void)state;
    fz_json_reference other = {
        FZ_STR("other.json"),
        FZ_STR("{\"$id\":\"http://x/y/other.json\",\"$defs\":{\"k\":{\"$anchor\":\"kay\","
               "\"type\":\"integer\"}}}")};
    bench b;
    open_with(
        &b,
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"http://x/y/"
        "root.json\",\"properties\":{\"a\":{\"$ref\":\"other.json#/$defs/k\"},\"b\":{\"$ref\":"
        "\"other.json#kay\"},\"c\":{\"$ref\":\"http://x/y/other.json#/$defs/k\"},\"d\":{"
        "\"$ref\":\"#/$defs/a~1b%25\"}},\"$defs\":{\"a/b%\":{\"type\":\"integer\"}}}",
        &other, 1);
    assert_int_equal(b.batch->column_count, 4);
    assert_string_equal(take(&b, "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}"), "ok");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(last_long(&b, i), (int64_t)i + 1);
    }
    close_bench(&b);
}

static void test_schemas_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *kind;
    } cases[] = {
        {"{", "schema_parse"},
        {"[]", "schema_parse"},
        {"{\"type\":\"integr\"}", "schema_parse"},
        {"{\"properties\":{\"a\":{\"$ref\":\"#/nowhere\"}}}", "schema_parse"},
        {"{\"properties\":{\"a\":{\"$ref\":\"other.json\"}}}", "schema_parse"},
        {"{\"properties\":{\"a\":{\"$ref\":\"#\"}}}", "recursive_type"},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"},\"A\":{}}}", "unsupported_type"},
        {"{\"type\":\"null\"}", "unsupported_type"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_mapping_options options = {.format_version = 2};
        fz_writer_schema *schema = NULL;
        fz_schema *shape = NULL;
        fz_err err = {0};
        fz_code code = fz_json_schema_new(fz_str_from(cases[i].text), NULL, 0, &schema, &err);
        if (code == FZ_OK) {
            code = fz_writer_schema_shape(schema, &options, NULL, &shape, &err);
        }
        assert_int_not_equal(code, FZ_OK);
        assert_string_equal(err.kind, cases[i].kind);
        fz_writer_schema_free(schema);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_by_their_digits),
        cmocka_unit_test(test_numbers_round_once),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_union_takes_the_first_that_validates),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_schemas_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
