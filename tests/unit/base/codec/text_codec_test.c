// SPDX-License-Identifier: Apache-2.0
// Base64, hex, UTF-8, percent encoding and UUIDs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/codec/text_codec.h"
#include "base/rand.h"

static void base64(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < FZ_COUNT(pairs); i++) {
        fz_buf buf = {0};
        fz_base64_encode(&buf, fz_str_from(pairs[i][0]));
        assert_string_equal(fz_buf_cstr(&buf), pairs[i][1]);
        fz_buf back = {0};
        assert_int_equal(fz_base64_decode(&back, fz_buf_view(&buf), NULL), FZ_OK);
        assert_string_equal(fz_buf_cstr(&back), pairs[i][0]);
        while (buf.size && buf.data[buf.size - 1] == '=') {
            buf.size--; // padding may be missing
        }
        fz_buf_reset(&back);
        assert_int_equal(fz_base64_decode(&back, fz_buf_view(&buf), NULL), FZ_OK);
        assert_string_equal(fz_buf_cstr(&back), pairs[i][0]);
        fz_buf_deinit(&buf);
        fz_buf_deinit(&back);
    }
    static const char *const bad[] = {"A",    "Zg=",      "Zm9v=", "====", "Z===",  "Zm 9",
                                      "Zm9-", "Zg==Zg==", "Zm9vA", "=",    "Zm9v\n"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        fz_buf buf = {0};
        fz_buf_append_byte(&buf, 'x');
        assert_int_equal(fz_base64_decode(&buf, fz_str_from(bad[i]), NULL), FZ_INVALID);
        assert_int_equal(buf.size, 1);
        fz_buf_deinit(&buf);
    }
}

static void hex(void **state) {
    (void)state;
    fz_buf buf = {0};
    fz_hex_encode(&buf, FZ_STR("\x00\xff\x1a"));
    assert_string_equal(fz_buf_cstr(&buf), "00ff1a");
    fz_buf_reset(&buf);
    assert_int_equal(fz_hex_decode(&buf, FZ_STR("00fF1A"), NULL), FZ_OK);
    assert_memory_equal(buf.data, "\x00\xff\x1a", 3);
    fz_err err;
    assert_int_equal(fz_hex_decode(&buf, FZ_STR("0g"), &err), FZ_INVALID);
    assert_int_equal(err.offset, 1);
    assert_int_equal(fz_hex_decode(&buf, FZ_STR("abc"), &err), FZ_INVALID);
    assert_int_equal(buf.size, 3);
    fz_buf_deinit(&buf);
}

static void utf8(void **state) {
    (void)state;
    static const char *const good[] = {
        "",
        "a",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "\xe2\x82\xac",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2g",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xe1\x80",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xe2\x28\xa1",
        "\xf8\x88\x80\x80\x80",
    };
    char text[64];
    for (size_t before = 0; before < 20; before++) { // around each edge of eight bytes
        memset(text, 'x', sizeof(text));
        for (size_t i = 0; i < FZ_COUNT(good); i++) {
            size_t size = strlen(good[i]);
            memcpy(text + before, good[i], size);
            assert_true(fz_utf8_valid(text, before + size));
            text[before + size] = 'y';
            assert_true(fz_utf8_valid(text, before + size + 1));
        }
        for (size_t i = 0; i < FZ_COUNT(bad); i++) {
            size_t size = strlen(bad[i]);
            memcpy(text + before, bad[i], size);
            assert_false(fz_utf8_valid(text, before + size));
            memset(text + before + size, 'y', 9);
            assert_false(fz_utf8_valid(text, before + size + 9));
        }
    }
    assert_true(fz_utf8_valid(NULL, 0));
    assert_true(fz_utf8_valid("a\0b", 3));
    fz_str s = FZ_STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    assert_int_equal(fz_utf8_prefix(s, 0), 0);
    assert_int_equal(fz_utf8_prefix(s, 1), 1);
    assert_int_equal(fz_utf8_prefix(s, 2), 3);
    assert_int_equal(fz_utf8_prefix(s, 3), 6);
    assert_int_equal(fz_utf8_prefix(s, 4), 10);
    assert_int_equal(fz_utf8_prefix(s, 99), 11);
}

static void utf8_append_lossy(void **state) {
    (void)state;
    static const struct {
        const char *text, *valid;
    } cases[] = {{"", ""},
                 {"plain", "plain"},
                 {"h\xc3\xa9", "h\xc3\xa9"},
                 {"\xff", "\xef\xbf\xbd"},
                 {"a\xc3(", "a\xef\xbf\xbd("},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf buf = {0};
        fz_utf8_append_lossy(&buf, fz_str_from(cases[i].text));
        assert_int_equal(buf.size, strlen(cases[i].valid));
        assert_memory_equal(buf.data ? (const void *)buf.data : "", cases[i].valid, buf.size);
        fz_buf_deinit(&buf);
    }
}

static void utf8_append_round_trip(void **state) {
    (void)state;
    fz_buf buf = {0};
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        fz_buf_reset(&buf);
        fz_utf8_append(&buf, c);
        assert_true(fz_utf8_valid(buf.data, buf.size));
        assert_int_equal(buf.size, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
    }
    fz_buf_reset(&buf);
    fz_utf8_append(&buf, 0xd800);
    fz_utf8_append(&buf, 0x110000);
    assert_string_equal(fz_buf_cstr(&buf), "\xef\xbf\xbd\xef\xbf\xbd");
    fz_buf_deinit(&buf);
}

static void percent(void **state) {
    (void)state;
    fz_buf buf = {0};
    fz_percent_encode(&buf, FZ_STR("a b/c~\xc3\xa9%\0"), "/");
    assert_string_equal(fz_buf_cstr(&buf), "a%20b/c~%C3%A9%25%00");
    fz_buf back = {0};
    fz_percent_decode(&back, fz_buf_view(&buf));
    assert_int_equal(back.size, 10);
    assert_memory_equal(back.data, "a b/c~\xc3\xa9%\0", 10);
    fz_buf_reset(&back);
    fz_percent_decode(&back, FZ_STR("%zz%4%41%2"));
    assert_string_equal(fz_buf_cstr(&back), "%zz%4A%2");
    fz_buf_deinit(&buf);
    fz_buf_deinit(&back);
}

static void uuid(void **state) {
    (void)state;
    uint8_t bytes[16];
    char text[37];
    assert_true(fz_uuid_parse(FZ_STR("F79c3e09-677c-4bbd-a479-3f349cb785E7"), bytes));
    fz_uuid_format(bytes, text);
    assert_string_equal(text, "f79c3e09-677c-4bbd-a479-3f349cb785e7");
    assert_false(fz_uuid_parse(FZ_STR("f79c3e09677c4bbda4793f349cb785e7"), bytes));
    assert_false(fz_uuid_parse(FZ_STR("f79c3e09-677c-4bbd-a479-3f349cb785eg"), bytes));
    assert_false(fz_uuid_parse(FZ_STR("f79c3e0-9677c-4bbd-a479-3f349cb785e7"), bytes));
    assert_false(fz_uuid_parse(FZ_STR("{79c3e09-677c-4bbd-a479-3f349cb785e}"), bytes));
    char other[37];
    fz_rand_uuid(text);
    fz_rand_uuid(other);
    assert_true(fz_uuid_parse(fz_str_from(text), bytes));
    assert_int_equal(text[14], '4');
    assert_non_null(strchr("89ab", text[19]));
    assert_string_not_equal(text, other);
    for (int i = 0; i < 1000; i++) {
        assert_true(fz_rand_below(7) < 7);
    }
    assert_true(fz_rand_below(1) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64),
        cmocka_unit_test(hex),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_append_lossy),
        cmocka_unit_test(utf8_append_round_trip),
        cmocka_unit_test(percent),
        cmocka_unit_test(uuid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
