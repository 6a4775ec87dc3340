// SPDX-License-Identifier: Apache-2.0
// Frames of Confluent's SchemaId, good and bad, in front of the value and in headers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/registry/frame.h"

static const uint8_t guid[17] = {1,    0x89, 0x79, 0x17, 0x62, 0x23, 0x36, 0x41, 0x86,
                                 0x96, 0x74, 0x29, 0x9b, 0x90, 0xa8, 0x02, 0xe2};

static void test_id(void **state) {
    (void)state;
    fz_registry_frame f;
    assert_int_equal(fz_registry_frame_parse((const uint8_t *)"\0\0\0\1\2x", 6, &f, NULL), FZ_OK);
    assert_false(f.has_guid);
    assert_int_equal(f.id, 258);
    assert_int_equal(f.payload_at, 5);
    assert_int_equal(fz_registry_frame_parse((const uint8_t *)"\0\0\0\0\5", 5, &f, NULL), FZ_OK);
    assert_int_equal(f.id, 5);
    assert_int_equal(fz_registry_frame_parse((const uint8_t *)"\0\xff\xff\xff\xff", 5, &f, NULL),
                     FZ_OK);
    assert_int_equal(f.id, -1); // no registry knows it
}

static void test_guid(void **state) {
    (void)state;
    fz_registry_frame f;
    assert_int_equal(fz_registry_frame_parse(guid, sizeof guid, &f, NULL), FZ_OK);
    assert_true(f.has_guid);
    assert_memory_equal(f.guid, guid + 1, 16);
    assert_int_equal(f.payload_at, 17);
}

static void test_bad(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *kind;
    } cases[] = {
        {"", 0, "bad_frame"},          {"\0", 1, "bad_frame"},
        {"\0\0", 2, "bad_frame"},      {"\0\0\0\0", 4, "bad_frame"},
        {"\1", 1, "bad_frame"},        {"\1aaaaaaaaaaaaaaa", 16, "bad_frame"},
        {"\2", 1, "bad_magic"},        {"\3\0\0\0\1x", 6, "bad_magic"},
        {"{\"a\":1}", 7, "bad_magic"}, {"\xff\0\0\0\1", 5, "bad_magic"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_registry_frame f = {.payload_at = 77};
        fz_err err;
        assert_int_equal(
            fz_registry_frame_parse((const uint8_t *)cases[i].data, cases[i].size, &f, &err),
            FZ_CORRUPT);
        assert_string_equal(err.kind, cases[i].kind);
        assert_int_equal(f.payload_at, 77);
        assert_int_equal(
            fz_registry_frame_parse_header(fz_str_make(cases[i].data, cases[i].size), &f, &err),
            FZ_CORRUPT);
        assert_string_equal(err.kind, cases[i].kind);
        assert_int_equal(f.payload_at, 77);
    }
}

static void test_header(void **state) {
    (void)state;
    fz_registry_frame f;
    fz_err err;
    assert_int_equal(fz_registry_frame_parse_header(fz_str_make("\0\0\0\0\5", 5), &f, NULL), FZ_OK);
    assert_int_equal(f.id, 5);
    assert_int_equal(f.payload_at, 0);
    assert_int_equal(fz_registry_frame_parse_header(fz_str_make(guid, 17), &f, NULL), FZ_OK);
    assert_true(f.has_guid);
    assert_int_equal(f.payload_at, 0);
    assert_int_equal(fz_registry_frame_parse_header(fz_str_make("\0\0\0\0\5\0", 6), &f, &err),
                     FZ_CORRUPT);
    assert_string_equal(err.kind, "bad_frame");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id),
        cmocka_unit_test(test_guid),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
