// SPDX-License-Identifier: Apache-2.0
// Bounded reads of untrusted bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"

static void reads_and_sticks(void **state) {
    (void)state;
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    fz_cur cur = fz_cur_make(bytes, sizeof(bytes));
    assert_int_equal(fz_cur_u8(&cur), 1);
    assert_int_equal(fz_cur_be32(&cur), 0x02030405);
    assert_int_equal(fz_cur_left(&cur), 4);
    assert_int_equal(fz_cur_le64(&cur), 0);
    assert_int_equal(fz_cur_left(&cur), 0);
    assert_int_equal(fz_cur_u8(&cur), 0);
    assert_null(fz_cur_bytes(&cur, 0));
    fz_cur_fail(&cur, FZ_CUR_MALFORMED); // the first one stays
    fz_err err;
    assert_int_equal(fz_cur_check(&cur, "header", &err), FZ_CORRUPT);
    assert_string_equal(err.kind, "truncated");
    assert_int_equal(err.offset, 5);
    assert_non_null(strstr(err.text, "header"));
    cur = fz_cur_make(NULL, 0);
    assert_non_null(fz_cur_bytes(&cur, 0));
    assert_null(fz_cur_bytes(&cur, SIZE_MAX));
}

static uint64_t varint(const char *bytes, size_t size, fz_cur_fault *fault, size_t *used) {
    fz_cur cur = fz_cur_make(bytes, size);
    uint64_t value = fz_cur_varint(&cur);
    *fault = cur.fault;
    *used = cur.pos;
    return value;
}

static void varints(void **state) {
    (void)state;
    fz_cur_fault fault;
    size_t used;
    assert_int_equal(varint("\x7f", 1, &fault, &used), 127);
    assert_int_equal(varint("\xac\x02", 2, &fault, &used), 300);
    assert_int_equal(fault, FZ_CUR_OK);
    assert_int_equal(used, 2);
    assert_true(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &fault, &used) ==
                UINT64_MAX);
    assert_int_equal(fault, FZ_CUR_OK);
    varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &fault, &used);
    assert_int_equal(fault, FZ_CUR_MALFORMED);
    varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, &fault, &used);
    assert_int_equal(fault, FZ_CUR_MALFORMED);
    varint("\x80\x80", 2, &fault, &used);
    assert_int_equal(fault, FZ_CUR_TRUNCATED);
    varint("", 0, &fault, &used);
    assert_int_equal(fault, FZ_CUR_TRUNCATED);
    fz_cur cur = fz_cur_make("\0\1\2\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
    assert_int_equal(fz_cur_zigzag(&cur), 0);
    assert_int_equal(fz_cur_zigzag(&cur), -1);
    assert_int_equal(fz_cur_zigzag(&cur), 1);
    assert_int_equal(fz_cur_zigzag(&cur), -2);
    assert_true(fz_cur_zigzag(&cur) == INT64_MIN);
    fz_err err;
    assert_int_equal(fz_cur_check(&cur, "x", &err), FZ_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_sticks),
        cmocka_unit_test(varints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
