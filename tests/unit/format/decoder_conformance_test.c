// SPDX-License-Identifier: Apache-2.0
// The decoder suite over Avro (records, unions, single values) and over values without a schema.
#include "conformance/decoder_suite.c"

#include "format/avro/schema.h"
#include "format/json/schema.h"
#include "format/raw.h"

#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static fz_writer_schema *avro(const char *text) {
    fz_writer_schema *schema = NULL;
    fz_err err = {0};
    if (fz_avro_schema_new(fz_str_from(text), NULL, 0, NULL, &schema, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return schema;
}

static fz_writer_schema *open_record(void) {
    return avro(
        "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" FIELD("a", "\"long\"") "," FIELD("s", "\"string\"") "," FIELD("o", "[\"null\",\"double\"]") "," FIELD("l", "{\"type\":\"array\",\"items\":\"string\"}") "," FIELD("m", "{\"type\":\"map\",\"values\":\"int\"}") "," FIELD(
            "r",
            "{\"type\":\"record\",\"name\":\"N\",\"fields\":[" FIELD("x", "\"boolean\"") "," FIELD(
                "y",
                "[\"null\",\"string\"]") "]}") "," FIELD("e",
                                                         "{\"type\":\"enum\",\"name\":"
                                                         "\"E\",\"symbols\":[\"A\",\"B\"]"
                                                         "}") "," FIELD("d",
                                                                        "{\"type\":"
                                                                        "\"bytes\","
                                                                        "\"logicalTy"
                                                                        "pe\":"
                                                                        "\"decimal\""
                                                                        ",\"precisio"
                                                                        "n\":9,"
                                                                        "\"scale\":"
                                                                        "2}") "," FIELD("f",
                                                                                        "{\"type\":"
                                                                                        "\"fixed\","
                                                                                        "\"name\":"
                                                                                        "\"F\","
                                                                                        "\"size\":"
                                                                                        "3}") "," FIELD("t",
                                                                                                        "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") "]}");
}

static fz_writer_schema *open_union(void) {
    return avro("{\"type\":\"record\",\"name\":\"R\",\"fields\":[" FIELD(
        "u", "[\"int\",\"string\","
             "{\"type\":\"array\","
             "\"items\":\"float\"}"
             "]") "," FIELD("v", "[\"null\",\"boolean\",{\"type\":\"record\",\"name\":\"N\","
                                 "\"fields\":[" FIELD("x", "\"bytes\"") "]}]") "]}");
}

static fz_writer_schema *open_tree(void) {
    return avro("{\"type\":\"record\",\"name\":\"T\",\"fields\":[" FIELD(
        "name", "\"string\"") "," FIELD("left", "[\"null\",\"T\"]") "]}");
}

static fz_writer_schema *open_text(void) {
    return avro("\"string\"");
}

static fz_writer_schema *open_json(void) {
    static const char text[] =
        "{\"type\":\"object\",\"required\":[\"a\",\"s\"],\"properties\":{\"a\":{\"type\":"
        "\"integer\"},\"s\":{\"type\":\"string\"},\"o\":{\"type\":[\"number\",\"null\"]},\"l\":{"
        "\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"m\":{\"type\":\"object\","
        "\"additionalProperties\":{\"type\":\"integer\"}},\"r\":{\"type\":\"object\","
        "\"properties\":{"
        "\"x\":{\"type\":\"boolean\"}}},\"u\":{\"type\":[\"string\",\"integer\"]}}}";
    fz_writer_schema *schema = NULL;
    fz_err err = {0};
    if (fz_json_schema_new(fz_str_from(text), NULL, 0, &schema, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return schema;
}

static fz_writer_schema *open_raw_bytes(void) {
    return fz_raw_schema_new(FZ_RAW_BYTES, FZ_STR("value"), false);
}

static fz_writer_schema *open_raw_string(void) {
    return fz_raw_schema_new(FZ_RAW_STRING, FZ_STR("value"), false);
}

static fz_writer_schema *open_raw_json(void) {
    return fz_raw_schema_new(FZ_RAW_JSON, FZ_STR("key"), true);
}

int main(void) {
    static const decoder_suite suites[] = {
        {.name = "json",
         .open = open_json,
         .good = {DECODER_GOOD("{\"a\":1,\"s\":\"x\",\"o\":1.5,\"l\":[\"p\",\"q\"],\"m\":{\"k\":7},"
                               "\"r\":{\"x\":true},\"u\":3}"),
                  DECODER_GOOD("{\"s\":\"\\u00e9\",\"a\":-2,\"o\":null,\"u\":\"t\"}")},
         .bad = {DECODER_BAD("{\"a\":1,\"s\":\"\xff\"}", "invalid_utf8"),
                 DECODER_BAD("{\"a\":1,\"s\":\"x\",\"m\":{\"k\":\"7\"}}", "invalid_value"),
                 DECODER_BAD("{\"s\":\"x\"}", "null_in_required"),
                 DECODER_BAD("{\"a\":1,\"s\":\"x\",\"l\":[\"p\"", "truncated")}},
        {.name = "avro record",
         .open = open_record,
         .good = {DECODER_GOOD("\x02"
                               "\x06h\xc3\xa9"
                               "\x02\0\0\0\0\0\0\xf8\x3f"
                               "\x04\x02x\0\0"
                               "\x02\x02k\x0e\0"
                               "\x01\x02\x02y"
                               "\x02"
                               "\x04\x01\x2c"
                               "abc"
                               "\0"),
                  DECODER_GOOD("\x01"
                               "\0"
                               "\0"
                               "\0"
                               "\0"
                               "\0\0"
                               "\0"
                               "\x02\xff"
                               "\0\0\0"
                               "\x80\x01")},
         .bad = {DECODER_BAD("\x02"
                             "\x02\xff"
                             "\0"
                             "\0"
                             "\0"
                             "\0\0"
                             "\0"
                             "\x02\xff"
                             "abc"
                             "\0",
                             "invalid_utf8"),
                 DECODER_BAD("\x02"
                             "\0"
                             "\x04"
                             "\0"
                             "\0"
                             "\0\0"
                             "\0"
                             "\x02\xff"
                             "abc"
                             "\0",
                             "malformed"),
                 DECODER_BAD("\x02"
                             "\0"
                             "\0"
                             "\0"
                             "\0"
                             "\0\0"
                             "\x04"
                             "\x02\xff"
                             "abc"
                             "\0",
                             "malformed"),
                 DECODER_BAD("\x02"
                             "\0"
                             "\0"
                             "\0"
                             "\0"
                             "\0\0"
                             "\0"
                             "\x02\xff"
                             "abc"
                             "\0"
                             "x",
                             "trailing_bytes")}},
        {.name = "avro unions",
         .open = open_union,
         .good = {DECODER_GOOD("\x04\x02\0\0\x80\x3f\0"
                               "\x04\x04hi"),
                  DECODER_GOOD("\0\x0e"
                               "\x02\x01"),
                  DECODER_GOOD("\x02\x02s"
                               "\0")},
         .bad = {DECODER_BAD("\x06\0\0", "malformed"), DECODER_BAD("\0\x02\x02\x07", "malformed")}},
        {.name = "avro recursion",
         .open = open_tree,
         .good = {DECODER_GOOD("\x02"
                               "a"
                               "\x02\x02"
                               "b"
                               "\0"),
                  DECODER_GOOD("\0\0")},
         .bad = {DECODER_BAD("\x02"
                             "a"
                             "\x02\x02"
                             "\xff"
                             "\0",
                             NULL)}},
        {.name = "avro value",
         .open = open_text,
         .good = {DECODER_GOOD("\x0ah\xc3\xa9ho"), DECODER_GOOD("\0")},
         .bad = {DECODER_BAD("\x02\xff", "invalid_utf8")}},
        {.name = "bytes",
         .open = open_raw_bytes,
         .good = {DECODER_GOOD("\xff\xfe\0\x01z"), DECODER_GOOD("")},
         .empty = true,
         .open_ended = true},
        {.name = "string",
         .open = open_raw_string,
         .good = {DECODER_GOOD("h\xc3\xa9ho"), DECODER_GOOD("")},
         .bad = {DECODER_BAD("\xff", "invalid_utf8"), DECODER_BAD("\xc3", "invalid_utf8")},
         .empty = true,
         .open_ended = true},
        {.name = "json text",
         .open = open_raw_json,
         .good = {DECODER_GOOD("{\"a\":[1,\"h\xc3\xa9\",null]}"), DECODER_GOOD("[]"),
                  DECODER_GOOD("\"s\"")},
         .bad = {DECODER_BAD("{\"a\":}", "malformed"), DECODER_BAD("\"\xff\"", "invalid_utf8"),
                 DECODER_BAD("[1] 2", "malformed")}},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += decoder_suite_run(&suites[i]);
    }
    return failed;
}
