// SPDX-License-Identifier: Apache-2.0
// Object containers: files of another writer, round trips, damaged files, limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "format/avro/container.h"

static fz_buf read_golden(const char *name) {
    char *path = fz_str_printf("%s/golden/avro/%s", FZ_TEST_DATA, name);
    fz_buf bytes = {0};
    fz_err err;
    if (fz_file_read(path, &bytes, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_free(path);
    return bytes;
}

static const fz_avro_datum *get(const fz_avro_datum *record, int32_t id) {
    const fz_avro_datum *found = fz_avro_datum_find(record, id, NULL);
    assert_non_null(found);
    return found;
}

/** What make.py writes in row i. */
static void check_row(const fz_avro_datum *row, int64_t i) {
    assert_int_equal(row->kind, FZ_AVRO_DATUM_RECORD);
    assert_int_equal(get(row, 1)->kind, FZ_AVRO_DATUM_NULL);
    assert_int_equal(get(row, 2)->as.boolean, i % 2 == 0);
    assert_int_equal(get(row, 3)->as.integer, -i);
    assert_int_equal(get(row, 4)->as.integer, i << 40);
    assert_true(get(row, 5)->as.real32 == (float)i / 2);
    assert_true(get(row, 6)->as.real64 == -(double)i / 4);
    assert_int_equal(get(row, 7)->as.bytes.size, 3);
    assert_int_equal((uint8_t)get(row, 7)->as.bytes.data[2], i);
    fz_buf text = {0};
    fz_buf_printf(&text, "row %d", (int)i);
    assert_true(fz_str_equal(get(row, 8)->as.bytes, fz_buf_view(&text)));
    fz_buf_deinit(&text);
    assert_true(fz_str_equal(get(row, 9)->as.bytes, FZ_STR("abcd")));
    assert_true(fz_str_equal(get(row, 10)->as.bytes, i % 3 ? FZ_STR("GREEN") : FZ_STR("RED")));
    assert_int_equal(get(row, 11)->as.list.count, i % 4);
    for (int64_t k = 0; k < i % 4; k++) {
        assert_int_equal(get(row, 11)->as.list.items[k].as.integer, k);
    }
    assert_int_equal(get(row, 12)->as.list.count, i % 2 ? 2 : 0);
    assert_int_equal(get(row, 13)->kind, i % 2 ? FZ_AVRO_DATUM_NULL : FZ_AVRO_DATUM_FIXED);
    assert_int_equal(get(get(row, 14), 15)->as.integer, i);
    assert_null(fz_avro_datum_find(row, 99, "s"));
}

static void files_of_another_writer(void **state) {
    (void)state;
    static const char *const names[] = {"all_null.avro", "all_deflate.avro", "all_snappy.avro",
                                        "all_zstandard.avro"};
    for (size_t n = 0; n < FZ_COUNT(names); n++) {
        fz_buf bytes = read_golden(names[n]);
        fz_avro_container *container;
        fz_err err;
        assert_int_equal(fz_avro_container_open(fz_buf_view(&bytes), NULL, &container, &err),
                         FZ_OK);
        int64_t count;
        assert_int_equal(fz_avro_container_count(container, &count, &err), FZ_OK);
        assert_int_equal(count, 50);
        for (int64_t i = 0; i <= 50; i++) {
            fz_arena arena = {0};
            fz_avro_datum *row;
            if (fz_avro_container_next(container, &arena, &row, &err) != FZ_OK) {
                fail_msg("%s row %d: %s", names[n], (int)i, err.text);
            }
            if (i == 50) {
                assert_null(row);
            } else {
                check_row(row, i);
            }
            fz_arena_deinit(&arena);
        }
        fz_avro_container_free(container);
        fz_buf_deinit(&bytes);
    }
}

/** All rows of `bytes` written again with `codec`. */
static fz_buf rewrite(fz_str bytes, fz_codec codec) {
    fz_avro_container *from;
    fz_avro_writer *to;
    fz_buf out = {0};
    fz_err err;
    assert_int_equal(fz_avro_container_open(bytes, NULL, &from, &err), FZ_OK);
    fz_str text;
    json_t *schema;
    assert_true(fz_avro_container_find(from, FZ_STR("avro.schema"), &text));
    assert_int_equal(fz_json_parse(text, &schema, &err), FZ_OK);
    json_t *metadata = json_pack("{s:s}", "note", "kept");
    assert_int_equal(fz_avro_writer_new(schema, metadata, codec, &out, &to, &err), FZ_OK);
    for (;;) {
        fz_arena arena = {0};
        fz_avro_datum *row;
        assert_int_equal(fz_avro_container_next(from, &arena, &row, &err), FZ_OK);
        if (row && fz_avro_writer_append(to, row, &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
        fz_arena_deinit(&arena);
        if (!row) {
            break;
        }
    }
    assert_int_equal(fz_avro_writer_finish(to, &err), FZ_OK);
    fz_avro_writer_free(to);
    fz_avro_container_free(from);
    json_decref(schema);
    json_decref(metadata);
    return out;
}

static void round_trip(void **state) {
    (void)state;
    fz_buf bytes = read_golden("all_deflate.avro");
    static const fz_codec codecs[] = {FZ_CODEC_NONE, FZ_CODEC_DEFLATE};
    for (size_t c = 0; c < FZ_COUNT(codecs); c++) {
        fz_buf again = rewrite(fz_buf_view(&bytes), codecs[c]);
        fz_avro_container *container;
        assert_int_equal(fz_avro_container_open(fz_buf_view(&again), NULL, &container, NULL),
                         FZ_OK);
        fz_str note;
        assert_true(fz_avro_container_find(container, FZ_STR("note"), &note));
        assert_true(fz_str_equal(note, FZ_STR("kept")));
        for (int64_t i = 0; i < 50; i++) {
            fz_arena arena = {0};
            fz_avro_datum *row;
            assert_int_equal(fz_avro_container_next(container, &arena, &row, NULL), FZ_OK);
            check_row(row, i);
            fz_arena_deinit(&arena);
        }
        fz_avro_container_free(container);
        fz_buf_deinit(&again);
    }
    fz_buf_deinit(&bytes);
}

/** Read everything; the first code that is not OK. */
static fz_code drain(fz_str bytes, fz_err *err) {
    fz_avro_container *container;
    FZ_TRY(fz_avro_container_open(bytes, NULL, &container, err));
    fz_code code;
    fz_avro_datum *row = NULL;
    do {
        fz_arena arena = {0};
        code = fz_avro_container_next(container, &arena, &row, err);
        fz_arena_deinit(&arena);
    } while (code == FZ_OK && row);
    fz_avro_container_free(container);
    return code;
}

static void damaged_files(void **state) {
    (void)state;
    fz_buf bytes = read_golden("all_null.avro");
    for (size_t size = 0; size < bytes.size; size++) {
        fz_err err;
        fz_code code = drain(fz_str_make(bytes.data, size), &err);
        // Between two blocks a file may end.
        bool between = size > 16 && memcmp(bytes.data + size - 16, "0123456789abcdef", 16) == 0;
        assert_int_equal(code, between ? FZ_OK : FZ_CORRUPT);
    }
    for (size_t at = 0; at < bytes.size; at++) {
        bytes.data[at] ^= 0x55;
        fz_err err;
        fz_code code = drain(fz_buf_view(&bytes), &err);
        assert_true(code == FZ_OK || code == FZ_CORRUPT || code == FZ_LIMIT ||
                    code == FZ_UNSUPPORTED);
        bytes.data[at] ^= 0x55;
    }
    fz_buf_deinit(&bytes);
}

static fz_buf container_of(const char *schema, const char *body, size_t size, uint8_t count) {
    fz_buf out = {0};
    fz_buf_append(&out, "Obj\1\2\26avro.schema", 17);
    size_t text = strlen(schema);
    fz_buf_append_byte(&out,
                       (uint8_t)((text * 2 & 0x7f) | 0x80)); // zigzag of the length in two bytes
    fz_buf_append_byte(&out, (uint8_t)(text * 2 >> 7));
    fz_buf_append(&out, schema, text);
    fz_buf_append_byte(&out, 0);
    fz_buf_append(&out, "0123456789abcdef", 16);
    fz_buf_append_byte(&out, count);
    fz_buf_append_byte(&out, (uint8_t)(size * 2));
    fz_buf_append(&out, body, size);
    fz_buf_append(&out, "0123456789abcdef", 16);
    return out;
}

static void hostile_schemas_and_data(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        const char *body;
        size_t size;
        uint8_t count;
        fz_code code;
    } cases[] = {
        {"\"long\"", "\2", 1, 2, FZ_OK},
        {"\"null\"", "", 0, 100, FZ_CORRUPT}, // records of no bytes
        {"{\"type\":\"array\",\"items\":\"null\"}", "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0", 10, 2,
         FZ_LIMIT},
        {"{\"type\":\"array\",\"items\":\"long\"}", "\1\2\2\0", 4, 2,
         FZ_OK},                                         // a count of -1, then its size
        {"[\"null\",\"long\"]", "\4", 1, 2, FZ_CORRUPT}, // a branch that is not there
        {"\"unknown\"", "\2", 1, 2, FZ_CORRUPT},
        {"[\"null\",[\"long\"]]", "\0", 1, 2, FZ_CORRUPT},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"r\",\"type\":\"r\"}]}", "\0",
         1, 2, FZ_CORRUPT},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}", "\0", 1, 2, FZ_CORRUPT},
        {"\"string\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", 10, 2, FZ_CORRUPT},
        {"\"int\"", "\xfe\xff\xff\xff\xff\1", 6, 2, FZ_CORRUPT}, // does not fit
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf bytes = container_of(cases[i].schema, cases[i].body, cases[i].size, cases[i].count);
        fz_err err = {0};
        fz_code code = drain(fz_buf_view(&bytes), &err);
        if (code != cases[i].code) {
            fail_msg("case %zu: %s: %s", i, fz_code_name(code), err.text);
        }
        fz_buf_deinit(&bytes);
    }
}

static void writer_refuses_what_does_not_fit(void **state) {
    (void)state;
    json_t *schema = json_loads(
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":["
        "{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":[\"null\",\"string\"]}]}",
        0, NULL);
    fz_buf out = {0};
    fz_avro_writer *writer;
    fz_err err;
    assert_int_equal(fz_avro_writer_new(schema, NULL, FZ_CODEC_ZSTD, &out, &writer, &err),
                     FZ_UNSUPPORTED);
    assert_int_equal(fz_avro_writer_new(schema, NULL, FZ_CODEC_NONE, &out, &writer, &err), FZ_OK);
    fz_arena arena = {0};
    fz_avro_datum row = fz_avro_datum_list(&arena, FZ_AVRO_DATUM_RECORD, 2);
    row.as.list.items[0] = fz_avro_datum_int(7);
    row.as.list.items[1] = fz_avro_datum_long(1);
    assert_int_equal(fz_avro_writer_append(writer, &row, &err), FZ_INVALID);
    assert_non_null(strstr(err.text, "\"b\""));
    row.as.list.items[1] = fz_avro_datum_string(FZ_STR("good"));
    assert_int_equal(fz_avro_writer_append(writer, &row, &err), FZ_OK);
    row.as.list.count = 1;
    assert_int_equal(fz_avro_writer_append(writer, &row, &err), FZ_INVALID);
    assert_int_equal(fz_avro_writer_finish(writer, &err), FZ_OK);
    fz_avro_writer_free(writer);
    fz_avro_container *container;
    assert_int_equal(fz_avro_container_open(fz_buf_view(&out), NULL, &container, &err), FZ_OK);
    int64_t count;
    assert_int_equal(fz_avro_container_count(container, &count, &err), FZ_OK);
    assert_int_equal(count, 1); // the refused ones left nothing
    fz_avro_datum *read;
    assert_int_equal(fz_avro_container_next(container, &arena, &read, &err), FZ_OK);
    assert_int_equal(fz_avro_datum_find(read, 1, "a")->as.integer, 7); // no ids: by name
    fz_avro_container_free(container);
    fz_arena_deinit(&arena);
    fz_buf_deinit(&out);
    json_decref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_another_writer),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(hostile_schemas_and_data),
        cmocka_unit_test(writer_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
