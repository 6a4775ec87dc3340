// SPDX-License-Identifier: Apache-2.0
// URIs and JSON documents.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/json.h"
#include "base/text/uri.h"

static void uris(void **state) {
    (void)state;
    static const struct {
        const char *text, *scheme, *user, *host;
        int port;
        const char *path, *query;
    } cases[] = {
        {"s3://bucket/a/b?c#d", "s3", "", "bucket", -1, "/a/b?c#d", ""},
        {"s3://bucket", "s3", "", "bucket", -1, "", ""},
        {"file:/x/y", "file", "", "", -1, "/x/y", ""},
        {"file:///x/y?z", "file", "", "", -1, "/x/y?z", ""},
        {"https://u:p@h.example:8443/a/b?q=1&r#frag", "https", "u:p", "h.example", 8443, "/a/b",
         "q=1&r"},
        {"http://[::1]:80/x", "http", "", "[::1]", 80, "/x", ""},
        {"http://[::1]", "http", "", "[::1]", -1, "", ""},
        {"http://host?q", "http", "", "host", -1, "", "q"},
        {"http://host:/x", "http", "", "host", -1, "/x", ""},
        {"abfss://box@acc.dfs.core.windows.net/p", "abfss", "box", "acc.dfs.core.windows.net", -1,
         "/p", ""},
        {"sqlite:///rel.db", "sqlite", "", "", -1, "/rel.db", ""},
        {"sqlite:////abs.db", "sqlite", "", "", -1, "//abs.db", ""},
        {"/bare/path:with?odd#things", "", "", "", -1, "/bare/path:with?odd#things", ""},
        {"rel/path", "", "", "", -1, "rel/path", ""},
        {"", "", "", "", -1, "", ""},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_uri uri;
        assert_int_equal(fz_uri_parse(fz_str_from(cases[i].text), &uri, NULL), FZ_OK);
        assert_true(fz_str_equal(uri.scheme, fz_str_from(cases[i].scheme)));
        assert_true(fz_str_equal(uri.user_info, fz_str_from(cases[i].user)));
        assert_true(fz_str_equal(uri.host, fz_str_from(cases[i].host)));
        assert_int_equal(uri.port, cases[i].port);
        assert_true(fz_str_equal(uri.path, fz_str_from(cases[i].path)));
        assert_true(fz_str_equal(uri.query, fz_str_from(cases[i].query)));
    }
    static const char *const bad[] = {"http://h:99999/", "http://h:a/",    "http://h:-1/",
                                      "1x://h/",         "://h",           "ht tp://h",
                                      "http://[::1/",    "http://[::1]x/", "http://h:80:90/"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        fz_uri uri = {.port = 5};
        assert_int_equal(fz_uri_parse(fz_str_from(bad[i]), &uri, NULL), FZ_INVALID);
        assert_int_equal(uri.port, 5);
    }
}

static void json_round_trip(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"b\":1,\"a\":[true,null,\"x\\u0000y\"],\"c\":{}}",
        "5",
        "\"\xc3\xa9\"",
        "null",
        "-9223372036854775808",
    };
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        FZ_CLEANUP(fz_json_release) json_t *json = NULL;
        assert_int_equal(fz_json_parse(fz_str_from(texts[i]), &json, NULL), FZ_OK);
        fz_buf buf = {0};
        assert_int_equal(fz_json_format(json, &buf, NULL), FZ_OK);
        assert_string_equal(fz_buf_cstr(&buf), texts[i]);
        fz_buf small;
        fz_buf_init(&small, 0, NULL);
        small.ceiling = buf.size - 1 ? buf.size - 1 : 1;
        if (buf.size > 1) {
            assert_int_equal(fz_json_format(json, &small, NULL), FZ_LIMIT);
        }
        fz_buf_deinit(&small);
        fz_buf_deinit(&buf);
    }
}

static void json_refuses(void **state) {
    (void)state;
    static const char *const bad[] = {"",           "{",
                                      "{\"a\":1,}", "nul",
                                      "\"\xff\"",   "\"\xed\xa0\x80\"",
                                      "1 2",        "9223372036854775808",
                                      "1e999",      "[1,\n2,\n@]"};
    fz_err err;
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        json_t *json = NULL;
        assert_int_equal(fz_json_parse(fz_str_from(bad[i]), &json, &err), FZ_CORRUPT);
        assert_null(json);
    }
    assert_non_null(strstr(err.text, "line 3"));
    static char deep[200000];
    memset(deep, '[', sizeof(deep));
    json_t *json = NULL;
    assert_int_equal(fz_json_parse(fz_str_make(deep, sizeof(deep)), &json, &err), FZ_CORRUPT);
    assert_int_equal(fz_json_parse((fz_str){0}, &json, NULL), FZ_CORRUPT);
    assert_int_equal(fz_json_parse(FZ_STR("{\"a\":1,\"a\":2}"), &json, &err), FZ_OK);
    assert_int_equal(fz_json_int_or(json, "a", 0), 2);
    fz_json_release(&json);
    assert_null(json);
}

static void json_members(void **state) {
    (void)state;
    json_t *json = NULL;
    fz_err err;
    assert_int_equal(
        fz_json_parse(FZ_STR("{\"i\":5,\"s\":\"t\",\"n\":null,\"d\":\"7\"}"), &json, &err), FZ_OK);
    int64_t i = 0;
    fz_str s = {0};
    assert_int_equal(fz_json_get_int(json, "i", "x", &i, &err), FZ_OK);
    assert_int_equal(i, 5);
    assert_int_equal(fz_json_get_int(json, "d", "metadata", &i, &err), FZ_CORRUPT);
    assert_string_equal(err.text, "\"d\" of metadata is a string, wanted an integer");
    assert_int_equal(fz_json_get_str(json, "s", "x", &s, &err), FZ_OK);
    assert_true(fz_str_equal(s, FZ_STR("t")));
    assert_int_equal(fz_json_get_str(json, "zz", "metadata", &s, &err), FZ_CORRUPT);
    assert_string_equal(err.text, "\"zz\" of metadata is missing, wanted a string");
    assert_int_equal(fz_json_get_str(json_object_get(json, "n"), "s", "metadata", &s, &err),
                     FZ_CORRUPT);
    assert_int_equal(fz_json_get_str(NULL, "s", "metadata", &s, &err), FZ_CORRUPT);
    assert_int_equal(fz_json_int_or(json, "n", 9), 9);
    assert_int_equal(fz_json_int_or(json, "zz", 9), 9);
    assert_int_equal(fz_json_str_or(json, "zz").size, 0);
    fz_json_set_str(json, "s",
                    FZ_STR("a\xff"
                           "b"));
    fz_json_set_int(json, "i", INT64_MIN);
    assert_true(fz_str_equal(fz_json_str_or(json, "s"), FZ_STR("a\xef\xbf\xbd"
                                                               "b")));
    assert_true(fz_json_int_or(json, "i", 0) == INT64_MIN);
    fz_json_release(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uris),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(json_refuses),
        cmocka_unit_test(json_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
