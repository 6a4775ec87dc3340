// SPDX-License-Identifier: Apache-2.0
// Text views and error objects.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"

static void str_compares(void **state) {
    (void)state;
    assert_true(fz_str_compare(FZ_STR("a"), FZ_STR("b")) < 0);
    assert_true(fz_str_compare(FZ_STR("ab"), FZ_STR("a")) > 0);
    assert_true(fz_str_compare(FZ_STR("\xff"), FZ_STR("a")) > 0);
    assert_int_equal(fz_str_compare((fz_str){0}, FZ_STR("")), 0);
    assert_true(fz_str_equal_nocase(FZ_STR("AbZ["), FZ_STR("aBz[")));
    assert_false(fz_str_equal_nocase(FZ_STR("@"), FZ_STR("`")));
    assert_true(fz_str_starts_with(FZ_STR("abc"), FZ_STR("ab")));
    assert_false(fz_str_starts_with(FZ_STR("a"), FZ_STR("ab")));
    assert_true(fz_str_ends_with(FZ_STR("abc"), FZ_STR("bc")));
    assert_true(fz_str_ends_with((fz_str){0}, (fz_str){0}));
}

static void str_finds_and_cuts(void **state) {
    (void)state;
    fz_str s = FZ_STR("aabaabc");
    assert_int_equal(fz_str_find(s, 'b', 3), 5);
    assert_true(fz_str_find(s, 'z', 0) == SIZE_MAX);
    assert_true(fz_str_find(s, 'a', 99) == SIZE_MAX);
    assert_int_equal(fz_str_find_str(s, FZ_STR("aabc")), 3);
    assert_int_equal(fz_str_find_str(s, FZ_STR("")), 0);
    assert_true(fz_str_find_str(s, FZ_STR("abcd")) == SIZE_MAX);
    assert_true(fz_str_find_str((fz_str){0}, FZ_STR("a")) == SIZE_MAX);
    assert_true(fz_str_equal(fz_str_slice(s, 5, 100), FZ_STR("bc")));
    assert_int_equal(fz_str_slice(s, 6, 2).size, 0);
    assert_int_equal(fz_str_slice((fz_str){0}, 3, 9).size, 0);
    assert_true(fz_str_equal(fz_str_trim(FZ_STR(" \t\r\na b\v\f ")), FZ_STR("a b")));
    assert_int_equal(fz_str_trim(FZ_STR("  ")).size, 0);
    char *text = fz_str_printf("%s-%d", "x", 5);
    assert_string_equal(text, "x-5");
    fz_free(text);
    text = fz_str_dup((fz_str){0});
    assert_string_equal(text, "");
    fz_free(text);
}

static void str_distances(void **state) {
    (void)state;
    assert_int_equal(fz_str_distance(FZ_STR("kitten"), FZ_STR("sitting")), 3);
    assert_int_equal(fz_str_distance(FZ_STR(""), FZ_STR("abc")), 3);
    assert_int_equal(fz_str_distance(FZ_STR("abc"), FZ_STR("")), 3);
    assert_int_equal(fz_str_distance(FZ_STR("commit_interval"), FZ_STR("comit_intervall")), 2);
    char a[200];
    char b[200];
    memset(a, 'a', sizeof(a));
    memset(b, 'b', sizeof(b));
    assert_int_equal(fz_str_distance(fz_str_make(a, 200), fz_str_make(b, 200)), 64);
}

static void err_fills(void **state) {
    (void)state;
    fz_err err;
    memset(&err, 0x55, sizeof(err));
    assert_int_equal(fz_err_set(&err, FZ_CORRUPT, "bad \"%s\"", "a\nb"), FZ_CORRUPT);
    assert_string_equal(err.text, "bad \"a b\"");
    assert_int_equal(err.offset, -1);
    assert_int_equal(err.retry_after_ms, -1);
    assert_null(err.kind);
    assert_int_equal(fz_err_set(NULL, FZ_LIMIT, "x"), FZ_LIMIT);
    fz_err_set_kind(&err, FZ_INVALID, "no_schema", "no schema");
    err.offset = 7;
    assert_int_equal(fz_err_prepend(&err, "while reading %d", 5), FZ_INVALID);
    assert_string_equal(err.text, "while reading 5: no schema");
    assert_string_equal(err.kind, "no_schema");
    assert_int_equal(err.offset, 7);
    fz_err_set(&err, FZ_INVALID, "again: %s", err.text); // its own text as argument
    assert_string_equal(err.text, "again: while reading 5: no schema");
    char huge[2000];
    memset(huge, 'x', sizeof(huge));
    huge[766] = '\xc3'; // a character that the cut goes through
    huge[767] = '\xa9';
    huge[1999] = 0;
    fz_err_set(&err, FZ_INVALID, "%s", huge);
    assert_int_equal(strlen(err.text), 766);
    fz_err_set(&err, FZ_INVALID, "%.*s", 766, huge);
    fz_err_prepend(&err, "while x");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    fz_err empty = {.code = FZ_DENIED};
    assert_string_equal(fz_err_text(&empty), "denied");
    assert_string_equal(fz_err_text(NULL), "unknown");
    assert_string_equal(fz_code_name((fz_code)99), "unknown");
    assert_string_equal(fz_code_name(FZ_UNKNOWN_OUTCOME), "unknown_outcome");
}

static void err_from_errno(void **state) {
    (void)state;
    fz_err err;
    assert_int_equal(fz_err_set_errno(&err, ENOENT, "open \"%s\"", "f"), FZ_NOT_FOUND);
    assert_string_equal(err.text, "open \"f\": No such file or directory");
    assert_int_equal(fz_err_set_errno(&err, EEXIST, "x"), FZ_EXISTS);
    assert_int_equal(fz_err_set_errno(&err, EACCES, "x"), FZ_DENIED);
    assert_int_equal(fz_err_set_errno(&err, EMFILE, "x"), FZ_UNAVAILABLE);
    assert_int_equal(fz_err_set_errno(&err, ENOSPC, "x"), FZ_IO);
    assert_int_equal(fz_err_set_errno(&err, 12345, "x"), FZ_IO);
    assert_string_equal(err.text, "x: error 12345");
}

static void memory_of_nothing(void **state) {
    (void)state;
    void *p = fz_alloc(0);
    assert_non_null(p);
    p = fz_realloc(p, 0, 8);
    assert_non_null(p);
    assert_null(fz_try_realloc(p, SIZE_MAX / 2, 4));
    fz_free(p);
    p = fz_calloc(0, 5);
    assert_non_null(p);
    fz_free(p);
    fz_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_compares),   cmocka_unit_test(str_finds_and_cuts),
        cmocka_unit_test(str_distances),  cmocka_unit_test(err_fills),
        cmocka_unit_test(err_from_errno), cmocka_unit_test(memory_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
