// SPDX-License-Identifier: Apache-2.0
// Bytes, text and JSON text as one column.
#include "format/raw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

typedef struct fixture {
    fz_writer_schema *schema;
    fz_schema *shape;
    fz_decoder *decoder;
    fz_batch *batch;
    fz_err err;
} fixture;

static void start(fixture *f, fz_raw_kind kind) {
    *f = (fixture){0};
    f->schema = fz_raw_schema_new(kind, FZ_STR("value"), false);
    fz_mapping_options options = {.format_version = 2};
    assert_int_equal(fz_writer_schema_shape(f->schema, &options, NULL, &f->shape, &f->err), FZ_OK);
    assert_int_equal(f->shape->root.field_count, 1);
    f->shape->root.fields[0].id = 1; // the table is the shape
    bool owned[] = {true};
    assert_int_equal(fz_decoder_open(f->schema, f->shape, f->shape, owned, &f->decoder, &f->err),
                     FZ_OK);
    f->batch = fz_batch_new(f->shape, NULL);
}

static void stop(fixture *f) {
    fz_batch_free(f->batch);
    fz_decoder_free(f->decoder);
    fz_schema_unref(f->shape);
    fz_writer_schema_free(f->schema);
}

static const char *decode(fixture *f, fz_str text) {
    // an exact block, so that reading past its end is seen
    uint8_t *block = (uint8_t *)fz_alloc(text.size);
    if (text.size) {
        memcpy(block, text.data, text.size);
    }
    int64_t rows = f->batch->rows;
    f->err = (fz_err){0};
    fz_code code = fz_decoder_decode(f->decoder, block, text.size, f->batch, &f->err);
    fz_free(block);
    if (code != FZ_OK) {
        assert_int_equal(code, FZ_CORRUPT);
        fz_batch_truncate(f->batch, rows);
        return f->err.kind;
    }
    f->batch->rows++;
    const fz_column *column = &f->batch->columns[0];
    int32_t from = column->offsets[rows];
    assert_int_equal(column->offsets[rows + 1] - from, text.size);
    if (text.size) {
        assert_memory_equal(column->data + from, text.data, text.size);
    }
    return "ok";
}

static void bytes_and_text(void **state) {
    (void)state;
    fixture f;
    start(&f, FZ_RAW_BYTES);
    assert_int_equal(f.shape->root.fields[0].type.kind, FZ_TYPE_BINARY);
    assert_true(f.shape->root.fields[0].required);
    assert_string_equal(decode(&f, FZ_STR("")), "ok");
    assert_string_equal(decode(&f, FZ_STR("\xff\xfe\x00")), "ok");
    stop(&f);
    start(&f, FZ_RAW_STRING);
    assert_string_equal(decode(&f, FZ_STR("")), "ok");
    assert_string_equal(decode(&f, FZ_STR("\xc3\xa9\x00 ")), "ok");
    assert_string_equal(decode(&f, FZ_STR("\xff")), "invalid_utf8");
    assert_string_equal(decode(&f, FZ_STR("\xed\xa0\x80")), "invalid_utf8");
    stop(&f);
}

static void json_is_checked(void **state) {
    (void)state;
    fixture f;
    start(&f, FZ_RAW_JSON);
    static const char *const good[] = {
        "{\"a\":1,\"b\":[1,2,{\"c\":null}]}",
        "[1,\"x\"]",
        "\"s\"",
        "12345678901234567890.123456789",
        " null ",
        "{}",
        "[]",
        "[[],{}]",
        " { \"a\" : [ true , false ] , \"b\" : -0.5e+10 } \r\n\t",
        "\"\\ud83d\\ude00 \\u0000 \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"",
        "0",
        "-0",
        "1E400",
        "{\"a\":1,\"a\":2}",
    };
    for (size_t i = 0; i < FZ_COUNT(good); i++) {
        assert_string_equal(decode(&f, fz_str_from(good[i])), "ok");
    }
    static const char *const bad[] = {
        "",
        "nope",
        "{",
        "}",
        "[1",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "1e",
        "-",
        "+1",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "1 2",
        "[1}",
        "{\"a\":1]",
        "{,}",
        "tru",
        "nulls",
        "\"\t\"",
        "[1 2]",
        "{\"a\" 1}",
        "NaN",
        "\xef\xbb\xbf{}",
        "\"\\",
        "{\"a\":1,}",
        "\"\\ud83d\\u12\"",
    };
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_string_equal(decode(&f, fz_str_from(bad[i])), "malformed");
    }
    assert_string_equal(decode(&f, FZ_STR("\"\xff\"")), "invalid_utf8");
    assert_string_equal(decode(&f, FZ_STR("\"\\ud800\"")), "invalid_utf8");
    assert_string_equal(decode(&f, FZ_STR("\"\\udc00\\ud800\"")), "invalid_utf8");
    assert_string_equal(decode(&f, FZ_STR("\"\\ud800\\u0041\"")), "invalid_utf8");
    assert_string_equal(decode(&f, FZ_STR("\"\0\"")), "malformed");
    stop(&f);
}

static void json_depth_is_limited(void **state) {
    (void)state;
    fixture f;
    start(&f, FZ_RAW_JSON);
    static char text[20001];
    for (size_t depth = 500; depth <= 10000; depth += 9500) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_string_equal(decode(&f, fz_str_make(text, 2 * depth)),
                            depth == 500 ? "ok" : "depth_limit");
    }
    stop(&f);
}

static void columns_without_a_value(void **state) {
    (void)state;
    fixture f;
    start(&f, FZ_RAW_STRING);
    fz_schema *table = fz_schema_new();
    table->root.fields = FZ_ARENA_ARRAY(&table->arena, fz_field, 3);
    table->root.field_count = 3;
    static const fz_type_kind kinds[] = {FZ_TYPE_INT, FZ_TYPE_STRING, FZ_TYPE_LONG};
    for (int32_t i = 0; i < 3; i++) {
        table->root.fields[i] = (fz_field){
            .id = i + 1, .name = FZ_STR("c"), .type = {.kind = kinds[i]}, .required = i == 2};
    }
    fz_schema_finish(table);
    f.shape->root.fields[0].id = 2;
    const bool owned[] = {true, true, false};
    fz_decoder *decoder = NULL;
    assert_int_equal(fz_decoder_open(f.schema, f.shape, table, owned, &decoder, &f.err), FZ_OK);
    fz_batch *batch = fz_batch_new(table, NULL);
    assert_int_equal(fz_decoder_decode(decoder, (const uint8_t *)"ab", 2, batch, &f.err), FZ_OK);
    assert_int_equal(batch->columns[0].length, 1);
    assert_true(fz_column_is_null(&batch->columns[0], 0));
    assert_int_equal(batch->columns[1].data_size, 2);
    assert_int_equal(batch->columns[2].length, 0);
    fz_batch_free(batch);
    fz_decoder_free(decoder);
    const bool all[] = {true, true, true};
    assert_int_equal(fz_decoder_open(f.schema, f.shape, table, all, &decoder, &f.err),
                     FZ_UNSUPPORTED);
    assert_string_equal(f.err.kind, "schema_incompatible");
    f.shape->root.fields[0].id = 1;
    assert_int_equal(fz_decoder_open(f.schema, f.shape, table, owned, &decoder, &f.err),
                     FZ_UNSUPPORTED);
    fz_schema_unref(table);
    stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_text),
        cmocka_unit_test(json_is_checked),
        cmocka_unit_test(json_depth_is_limited),
        cmocka_unit_test(columns_without_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
