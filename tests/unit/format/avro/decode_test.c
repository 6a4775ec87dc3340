// SPDX-License-Identifier: Apache-2.0
// The Avro decoder onto a table's columns: binding, promotion, blocks, maps, recursion, errors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "format/avro/schema.h"
#include "unit/format/row_compare.h"

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

typedef struct fixture {
    fz_writer_schema *schema;
    fz_schema *shape;
    fz_schema *target;
    fz_decoder *decoder;
    fz_batch *batch;
    bool owned[16];
} fixture;

// Parses and shapes; the target is that of another schema, or of the same when `table` is NULL.
static fixture fixture_shape(const char *writer, const char *table) {
    fz_mapping_options options = {.format_version = 3, .recursive_json = true};
    fixture f = {0};
    fz_err err = {0};
    int32_t last_id = 0;
    if (fz_avro_schema_new(fz_str_from(writer), NULL, 0, NULL, &f.schema, &err) != FZ_OK ||
        fz_writer_schema_shape(f.schema, &options, NULL, &f.shape, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_writer_schema *other = NULL;
    assert_int_equal(
        fz_avro_schema_new(fz_str_from(table ? table : writer), NULL, 0, NULL, &other, NULL),
        FZ_OK);
    assert_int_equal(fz_writer_schema_shape(other, &options, NULL, &f.target, NULL), FZ_OK);
    fz_writer_schema_free(other);
    fz_type_assign_ids(&f.target->root, &last_id);
    fz_schema_finish(f.target);
    memset(f.owned, true, sizeof(f.owned));
    return f;
}

static void bind(fz_type *shape, const fz_type *target) {
    for (size_t i = 0; i < shape->field_count; i++) {
        const fz_field *column = fz_type_find(target, shape->fields[i].name);
        shape->fields[i].id = column ? column->id : 0;
        if (column) {
            bind(&shape->fields[i].type, &column->type);
        }
    }
}

static void fixture_open(fixture *f) {
    fz_err err = {0};
    bind(&f->shape->root, &f->target->root);
    if (fz_decoder_open(f->schema, f->shape, f->target, f->owned, &f->decoder, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    f->batch = fz_batch_new(f->target, NULL);
}

static fixture fixture_new(const char *writer, const char *table) {
    fixture f = fixture_shape(writer, table);
    fixture_open(&f);
    return f;
}

static void fixture_free(fixture *f) {
    fz_batch_free(f->batch);
    fz_decoder_free(f->decoder);
    fz_schema_unref(f->shape);
    fz_schema_unref(f->target);
    fz_writer_schema_free(f->schema);
}

static fz_code decode(fixture *f, const void *data, size_t size, fz_err *err) {
    uint8_t *copy = malloc(size ? size : 1); // exactly as large, for sanitizers
    memcpy(copy, data, size);
    fz_code code = fz_decoder_decode(f->decoder, copy, size, f->batch, err);
    free(copy);
    if (code == FZ_OK) {
        f->batch->rows++;
    } else {
        fz_batch_truncate(f->batch, f->batch->rows);
    }
    return code;
}

static void expect_row(fixture *f, const void *data, size_t size, const char *want) {
    fz_err err = {0};
    fz_buf why = {0};
    json_t *row = json_loads(want, 0, NULL);
    assert_non_null(row);
    if (decode(f, data, size, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    if (!row_equal(f->batch, f->batch->rows - 1, row, &why)) {
        fail_msg("%s", fz_buf_cstr(&why));
    }
    fz_buf_deinit(&why);
    json_decref(row);
}
#define EXPECT_ROW(f, bytes, want) expect_row((f), (bytes), sizeof(bytes) - 1, (want))

static void refuse(fixture *f, const void *data, size_t size, const char *kind, int64_t offset) {
    fz_err err = {0};
    int64_t rows = f->batch->rows;
    assert_int_equal(decode(f, data, size, &err), FZ_CORRUPT);
    assert_string_equal(err.kind, kind);
    assert_int_equal(err.offset, offset);
    assert_int_equal(f->batch->rows, rows);
    for (size_t i = 0; i < f->batch->column_count; i++) {
        assert_int_equal(f->batch->columns[i].length, rows);
    }
}
#define REFUSE(f, bytes, kind, offset) refuse((f), (bytes), sizeof(bytes) - 1, (kind), (offset))

static void incompatible(const char *writer, const char *table, const char *in_text) {
    fixture f = fixture_shape(writer, table);
    fz_err err = {0};
    bind(&f.shape->root, &f.target->root);
    assert_int_equal(fz_decoder_open(f.schema, f.shape, f.target, f.owned, &f.decoder, &err),
                     FZ_UNSUPPORTED);
    assert_string_equal(err.kind, "schema_incompatible");
    assert_non_null(strstr(err.text, in_text));
    fixture_free(&f);
}

static void writers_of_other_schemas(void **state) {
    (void)state;
    // Fields in another order, one too many (with structure), one missing, narrower types.
    fixture f = fixture_new(
        RECORD(FIELD(
            "x",
            "{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":[\"null\","
            "\"int\",{\"type\":\"record\",\"name\":\"S\",\"fields\":[" FIELD(
                "q", "\"string\"") "]}]}}") "," FIELD("b", "\"float\"") "," FIELD("a", "\"int\"")),
        RECORD(FIELD("a", "\"long\"") "," FIELD("b", "[\"null\",\"double\"]") "," FIELD(
            "c", "[\"null\",\"string\"]")));
    EXPECT_ROW(&f,
               "\x02\x04\x02k\x00\x02l\x04\x04hi\x00\x00"
               "\x00\x00\xc0\x3f\x03",
               "{\"a\":-2,\"b\":1.5,\"c\":null}");
    // The skipped array as a sized block.
    EXPECT_ROW(&f, "\x01\x06\xff\xff\xff\x00\x00\x00\x00\x00\x02",
               "{\"a\":1,\"b\":0.0,\"c\":null}");
    REFUSE(&f, "\x01\x7f\xff\xff", "malformed", 2);
    REFUSE(&f, "\x01\x7e\xff\xff", "truncated", 2);
    fixture_free(&f);
}

static void missing_fields_take_the_default(void **state) {
    (void)state;
    fixture f = fixture_shape(
        RECORD(FIELD("l", "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"I\","
                          "\"fields\":[" FIELD("a", "\"int\"") "]}}")),
        RECORD(FIELD(
            "l",
            "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"I\",\"fields\":"
            "[" FIELD("a", "\"int\"") "," FIELD(
                "n", "\"int\"") "]}}") "," FIELD("d", "{\"type\":\"bytes\",\"logicalType\":"
                                                      "\"decimal\",\"precision\":4,\"scale\":2}")));
    f.target->root.fields[1].write_default = FZ_STR("\"-0.50\"");
    f.target->root.fields[0].type.fields[0].type.fields[1].write_default = FZ_STR("7");
    fixture_open(&f);
    EXPECT_ROW(&f, "\x04\x02\x04\x00",
               "{\"l\":[{\"a\":1,\"n\":7},{\"a\":2,\"n\":7}],\"d\":\"-0.50\"}");
    fixture_free(&f);
    incompatible(RECORD(FIELD("a", "\"int\"")),
                 RECORD(FIELD("a", "\"int\"") "," FIELD("b", "\"int\"")), "\"b\" is required");
}

static void other_columns_are_left_alone(void **state) {
    (void)state;
    const char *schema = RECORD(FIELD("a", "\"int\"") "," FIELD("b", "\"string\""));
    fixture f = fixture_shape(schema, NULL);
    f.owned[0] = false;
    fixture_open(&f);
    fz_err err = {0};
    assert_int_equal(decode(&f, "\x02\x02z", 3, &err), FZ_OK);
    assert_int_equal(f.batch->columns[0].length, 0);
    assert_int_equal(f.batch->columns[1].length, 1);
    fixture_free(&f);
}

// key.mode: struct puts the columns of a shape below one that no source field stands for.
static void columns_below_a_struct(void **state) {
    (void)state;
    fixture f = fixture_shape(RECORD(FIELD("a", "\"int\"") "," FIELD("b", "\"string\"")), NULL);
    fz_schema *schemas[] = {f.shape, f.target};
    for (int i = 0; i < 2; i++) {
        fz_field *fields = FZ_ARENA_ARRAY(&schemas[i]->arena, fz_field, 2);
        fields[0] = (fz_field){.id = 20, .name = FZ_STR("key"), .origin = -1};
        fields[0].type = schemas[i]->root;
        fields[1] = (fz_field){.id = 21, .name = FZ_STR("x"), .type = {.kind = FZ_TYPE_LONG}};
        schemas[i]->root =
            (fz_type){.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = i == 0 ? 1 : 2};
    }
    fixture_open(&f);
    EXPECT_ROW(&f, "\x02\x02z", "{\"key\":{\"a\":1,\"b\":\"z\"},\"x\":null}");
    REFUSE(&f, "\x02\x04z", "truncated", 2);
    fixture_free(&f);
}

static void incompatible_types_are_named(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"\"string\"", "\"bytes\""},
        {"\"bytes\"", "\"string\""},
        {"\"long\"", "\"int\""},
        {"\"int\"", "\"double\""},
        {"\"double\"", "\"float\""},
        {"{\"type\":\"array\",\"items\":\"int\"}", "{\"type\":\"map\",\"values\":\"int\"}"},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}",
         "{\"type\":\"fixed\",\"name\":\"F\",\"size\":4}"},
        {"[\"int\",\"string\"]", "\"int\""},
        {"\"int\"", "[\"int\",\"string\"]"},
        {"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}",
         "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":8,\"scale\":2}"},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}",
         "{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"}"},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}",
         "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}"},
        {"{\"type\":\"string\",\"logicalType\":\"uuid\"}", "\"string\""},
    };
    for (size_t i = 0; i < FZ_COUNT(pairs); i++) {
        char *writer = fz_str_printf(RECORD(FIELD("f", "%s")), pairs[i][0]);
        char *table = fz_str_printf(RECORD(FIELD("f", "%s")), pairs[i][1]);
        incompatible(writer, table, "field \"f\"");
        fz_free(writer);
        fz_free(table);
    }
}

// Delta keeps uuids as text and times as micros: the shape is rewritten by the caller then.
static void types_of_the_other_format(void **state) {
    (void)state;
    fixture f = fixture_shape(
        RECORD(FIELD(
            "u",
            "{\"type\":\"fixed\",\"name\":\"U\",\"size\":16,\"logicalType\":"
            "\"uuid\"}") "," FIELD("v",
                                   "{\"type\":\"string\",\"logicalType\":"
                                   "\"uuid\"}") "," FIELD("t",
                                                          "{\"type\":\"int\",\"logicalType\":"
                                                          "\"time-millis\"}") "," FIELD("d",
                                                                                        "{\"type\":"
                                                                                        "\"int\","
                                                                                        "\"logicalT"
                                                                                        "ype\":"
                                                                                        "\"date\""
                                                                                        "}")),
        NULL);
    f.target->root.fields[0].type.kind = f.shape->root.fields[0].type.kind = FZ_TYPE_STRING;
    f.target->root.fields[1].type.kind = f.shape->root.fields[1].type.kind = FZ_TYPE_STRING;
    f.target->root.fields[2].type.kind = f.shape->root.fields[2].type.kind = FZ_TYPE_LONG;
    f.target->root.fields[3].type.kind = FZ_TYPE_TIMESTAMP;
    fixture_open(&f);
    EXPECT_ROW(&f,
               "0123456789abcdef"
               "\x48"
               "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"
               "\x02\x02",
               "{\"u\":\"30313233-3435-3637-3839-616263646566\","
               "\"v\":\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"t\":1000,"
               "\"d\":\"1970-01-02T00:00:00.000000\"}");
    fixture_free(&f);
}

static void last_entry_of_a_key_wins(void **state) {
    (void)state;
    fixture f = fixture_new(
        RECORD(FIELD(
            "m", "{\"type\":\"map\",\"values\":{\"type\":\"map\",\"values\":{\"type\":\"array\","
                 "\"items\":[\"null\",\"string\"]}}}")),
        NULL);
    EXPECT_ROW(&f,
               "\x06"
               "\x02"
               "a\x02\x02x\x02\x02\x02q\x00\x00"
               "\x02"
               "b\x04\x02y\x02\x02\x02r\x00\x02y\x04\x00\x02\x02s\x00\x00"
               "\x02"
               "a\x00"
               "\x00",
               "{\"m\":[[\"a\",[]],[\"b\",[[\"y\",[null,\"s\"]]]]]}");
    fixture_free(&f);
    // Many keys: found by sorting.
    f = fixture_new(RECORD(FIELD("m", "{\"type\":\"map\",\"values\":\"boolean\"}")), NULL);
    uint8_t record[512];
    size_t size = 0;
    record[size++] = 200;
    record[size++] = 1; // 100 entries
    for (int i = 0; i < 100; i++) {
        record[size++] = 2;
        record[size++] = (uint8_t)('a' + i % 26);
        record[size++] = i >= 90;
    }
    record[size++] = 0;
    fz_err err = {0};
    assert_int_equal(decode(&f, record, size, &err), FZ_OK);
    assert_int_equal(f.batch->columns[0].offsets[1], 26);
    const fz_column *values = &f.batch->columns[0].children[1];
    assert_int_equal(values->length, 26);
    int set = 0;
    for (int i = 0; i < 26; i++) {
        set += ((const uint8_t *)values->values)[i >> 3] >> (i & 7) & 1;
    }
    assert_int_equal(set, 10);
    fixture_free(&f);
}

static void items_without_bytes(void **state) {
    (void)state;
    fixture f = fixture_new(
        RECORD(FIELD("a", "\"int\"") "," FIELD("n", "{\"type\":\"array\",\"items\":\"null\"}")),
        NULL);
    EXPECT_ROW(&f, "\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "{\"a\":1}");
    REFUSE(&f, "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "malformed", 1);
    fixture_free(&f);
}

static void recursion_becomes_json(void **state) {
    (void)state;
    const char *tree = RECORD(FIELD("v", "\"string\"") "," FIELD(
        "d", "{\"type\":\"bytes\",\"logicalType\":\"decimal\","
             "\"precision\":4,\"scale\":2}") "," FIELD("next", "[\"null\",\"R\"]"));
    fixture f = fixture_new(tree, NULL);
    EXPECT_ROW(
        &f, "\x02\x61\x02\x05\x02\x04\"\n\x02\xff\x02\x00\x02\x07\x00",
        "{\"v\":\"a\",\"d\":\"0.05\",\"next\":\"{\\\"v\\\":\\\"\\\\\\\"\\\\u000a\\\",\\\"d\\\":"
        "\\\"-0.01\\\",\\\"next\\\":{\\\"v\\\":\\\"\\\",\\\"d\\\":\\\"0.07\\\",\\\"next\\\":null}}"
        "\"}");
    uint8_t deep[40001];
    for (int levels = 64; levels <= 10000; levels += 9936) {
        size_t size = 0;
        for (int i = 0; i < levels; i++) {
            memcpy(deep + size, "\x00\x02\x01\x02", 4);
            size += 4;
        }
        memcpy(deep + size - 1, "", 1); // the last one ends
        fz_err err = {0};
        fz_code code = decode(&f, deep, size, &err);
        assert_int_equal(code, levels == 64 ? FZ_OK : FZ_CORRUPT);
        if (code != FZ_OK) {
            assert_string_equal(err.kind, "depth_limit");
        }
    }
    fixture_free(&f);
    // The same, when no column wants it.
    f = fixture_new(
        RECORD(FIELD(
            "t", "{\"type\":\"record\",\"name\":\"T\",\"fields\":[" FIELD(
                     "kids", "{\"type\":\"array\",\"items\":\"T\"}") "]}") "," FIELD("a",
                                                                                     "\"int\"")),
        RECORD(FIELD("a", "\"int\"")));
    EXPECT_ROW(&f, "\x04\x00\x02\x00\x00\x00\x02", "{\"a\":1}");
    fixture_free(&f);
}

static void bad_records_name_their_fault(void **state) {
    (void)state;
    fixture f = fixture_new(
        RECORD(FIELD("b", "\"boolean\"") "," FIELD("i", "\"int\"") "," FIELD(
            "s", "\"string\"") "," FIELD("e",
                                         "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}")),
        NULL);
    EXPECT_ROW(&f, "\x01\x02\x02z\x00", "{\"b\":true,\"i\":1,\"s\":\"z\",\"e\":\"A\"}");
    REFUSE(&f, "", "truncated", 0);
    REFUSE(&f, "\x02", "malformed", 0);
    REFUSE(&f, "\x00", "truncated", 1);
    REFUSE(&f, "\x00\x80", "truncated", 1);
    REFUSE(&f, "\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", "malformed", 1);
    REFUSE(&f, "\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", "malformed", 1);
    REFUSE(&f, "\x00\x80\x80\x80\x80\x10", "malformed", 1);
    REFUSE(&f, "\x00\x02\x01z", "malformed", 3);
    REFUSE(&f, "\x00\x02\x08z", "truncated", 3);
    REFUSE(&f, "\x00\x02\x04\xc3(\x00", "invalid_utf8", 3);
    REFUSE(&f, "\x00\x02\x02z\x02", "malformed", 4);
    REFUSE(&f, "\x00\x02\x02z\x00\x00\x00", "trailing_bytes", 5);
    EXPECT_ROW(&f, "\x00\x01\x00\x00", "{\"b\":false,\"i\":-1,\"s\":\"\",\"e\":\"A\"}");
    fixture_free(&f);
    f = fixture_new(RECORD(FIELD("n", "[\"null\",\"int\"]")), RECORD(FIELD("n", "\"int\"")));
    EXPECT_ROW(&f, "\x02\x04", "{\"n\":2}");
    REFUSE(&f, "\x00", "null_in_required", 0);
    REFUSE(&f, "\x04", "malformed", 0);
    fixture_free(&f);
}

static void wide_varints(void **state) {
    (void)state;
    fixture f = fixture_new(RECORD(FIELD("l", "\"long\"")), NULL);
    for (unsigned bits = 0; bits < 64; bits++) {
        for (int sign = 0; sign < 2; sign++) {
            // 0, 1, 3 ... and -1, -2, -4 ...
            uint64_t ones = (UINT64_C(1) << bits) - 1;
            int64_t value = (int64_t)(sign ? ~ones : ones);
            uint64_t rest = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
            uint8_t record[10];
            size_t size = 0;
            for (; rest > 127; rest >>= 7) {
                record[size++] = (uint8_t)(rest | 128);
            }
            record[size++] = (uint8_t)rest;
            fz_err err = {0};
            assert_int_equal(decode(&f, record, size, &err), FZ_OK);
            const int64_t *values = f.batch->columns[0].values;
            assert_int_equal(values[f.batch->rows - 1], value);
        }
    }
    fixture_free(&f);
    // The same fast path, with bytes behind the number.
    f = fixture_new(RECORD(FIELD("l", "\"long\"") "," FIELD("s", "\"string\"")), NULL);
    EXPECT_ROW(&f,
               "\x80\x80\x80\x80\x80\x80\x80\x01\x0c"
               "abcdef",
               "{\"l\":281474976710656,\"s\":\"abcdef\"}");
    EXPECT_ROW(&f,
               "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0c"
               "abcdef",
               "{\"l\":\"-9223372036854775808\",\"s\":\"abcdef\"}");
    fixture_free(&f);
}

static void budget_ends_in_limit(void **state) {
    (void)state;
    fz_budget budget;
    fz_budget_init(&budget, 4096);
    fixture f = fixture_new(RECORD(FIELD("s", "\"string\"")), NULL);
    fz_batch_free(f.batch);
    f.batch = fz_batch_new(f.target, &budget);
    uint8_t record[42] = {80};
    memset(record + 1, 'x', 40);
    fz_err err = {0};
    fz_code code = FZ_OK;
    for (int i = 0; i < 1000 && code == FZ_OK; i++) {
        code = decode(&f, record, 41, &err);
    }
    assert_int_equal(code, FZ_LIMIT);
    assert_true(f.batch->rows > 0);
    assert_int_equal(f.batch->columns[0].length, f.batch->rows);
    fixture_free(&f);
    assert_int_equal(fz_budget_used(&budget), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_of_other_schemas),
        cmocka_unit_test(missing_fields_take_the_default),
        cmocka_unit_test(other_columns_are_left_alone),
        cmocka_unit_test(columns_below_a_struct),
        cmocka_unit_test(incompatible_types_are_named),
        cmocka_unit_test(types_of_the_other_format),
        cmocka_unit_test(last_entry_of_a_key_wins),
        cmocka_unit_test(items_without_bytes),
        cmocka_unit_test(recursion_becomes_json),
        cmocka_unit_test(bad_records_name_their_fault),
        cmocka_unit_test(wide_varints),
        cmocka_unit_test(budget_ends_in_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
