// SPDX-License-Identifier: Apache-2.0
// Decimals: bytes, text, limits of 38 digits.
#include "data/decimal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check_text(fz_i128 value, int scale, const char *want) {
    fz_buf text = {0};
    fz_decimal_format(&text, value, scale);
    assert_string_equal(fz_buf_cstr(&text), want);
    fz_i128 back = 1;
    assert_int_equal(fz_decimal_parse(fz_buf_view(&text), 38, scale, &back, NULL), FZ_OK);
    assert_true(back == value);
    fz_buf_deinit(&text);
}

static void text_goes_round(void **state) {
    (void)state;
    fz_i128 nines = fz_decimal_power(38) - 1;
    check_text(0, 0, "0");
    check_text(0, 2, "0.00");
    check_text(-1, 2, "-0.01");
    check_text(42, 0, "42");
    check_text(-1420, 2, "-14.20");
    check_text(100, 2, "1.00");
    check_text(nines, 0, "99999999999999999999999999999999999999");
    check_text(-nines, 38, "-0.99999999999999999999999999999999999999");
    check_text(nines, 1, "9999999999999999999999999999999999999.9");
}

static void parse_is_exact(void **state) {
    (void)state;
    const struct {
        const char *text;
        int precision;
        int scale;
        fz_code code;
        int64_t value;
    } cases[] = {
        {"1.50", 9, 2, FZ_OK, 150},
        {"1.5", 9, 2, FZ_OK, 150},
        {"+1.5e1", 9, 2, FZ_OK, 1500},
        {"-15E-1", 9, 2, FZ_OK, -150},
        {".5", 9, 2, FZ_OK, 50},
        {"5.", 9, 2, FZ_OK, 500},
        {"0001.5000", 9, 2, FZ_OK, 150},
        {"100e-2", 9, 0, FZ_OK, 1},
        {"0.000e999999999999999999999", 9, 2, FZ_OK, 0},
        {"-0", 9, 2, FZ_OK, 0},
        {"1e3", 4, 0, FZ_OK, 1000},
        {"1e4", 4, 0, FZ_LIMIT, 0},
        {"1e999999999999999999999", 38, 0, FZ_LIMIT, 0},
        {"1e-999999999999999999999", 38, 38, FZ_LIMIT, 0},
        {"1.501", 9, 2, FZ_LIMIT, 0},
        {"12345678.90", 9, 2, FZ_LIMIT, 0},
        {"1234567.89", 9, 2, FZ_OK, 123456789},
        {"", 9, 2, FZ_INVALID, 0},
        {"-", 9, 2, FZ_INVALID, 0},
        {".", 9, 2, FZ_INVALID, 0},
        {"1e", 9, 2, FZ_INVALID, 0},
        {"1e+", 9, 2, FZ_INVALID, 0},
        {"1.5x", 9, 2, FZ_INVALID, 0},
        {" 1", 9, 2, FZ_INVALID, 0},
        {"1 ", 9, 2, FZ_INVALID, 0},
        {"NaN", 9, 2, FZ_INVALID, 0},
        {"0x10", 9, 2, FZ_INVALID, 0},
        {"123456789012345678901234567890123456789", 38, 0, FZ_LIMIT, 0},
        {"1000000000000000000000000000000000000000000e-40", 38, 0, FZ_OK, 100},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_i128 value = 0;
        fz_err err;
        fz_code code = fz_decimal_parse(fz_str_from(cases[i].text), cases[i].precision,
                                        cases[i].scale, &value, &err);
        if (code != cases[i].code || (int64_t)value != cases[i].value) {
            fail_msg("\"%s\": code %d", cases[i].text, (int)code);
        }
    }
}

static void bytes_are_minimal(void **state) {
    (void)state;
    const struct {
        int64_t value;
        size_t size;
        uint8_t bytes[3];
    } cases[] = {{0, 1, {0}},
                 {127, 1, {0x7f}},
                 {128, 2, {0, 0x80}},
                 {-128, 1, {0x80}},
                 {-129, 2, {0xff, 0x7f}},
                 {-1, 1, {0xff}},
                 {1420, 2, {0x05, 0x8c}},
                 {65535, 3, {0, 0xff, 0xff}}};
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        uint8_t out[16];
        assert_int_equal(fz_decimal_to_be_min(cases[i].value, out), cases[i].size);
        assert_memory_equal(out, cases[i].bytes, cases[i].size);
    }
    for (int power = 0; power <= 38; power++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            fz_i128 value = sign * (fz_decimal_power(power) - (power % 2));
            uint8_t out[20];
            fz_i128 back = 0;
            size_t size = fz_decimal_to_be_min(value, out);
            assert_true(fz_decimal_from_be(out, size, &back) && back == value);
            fz_decimal_to_be(value, out, 16);
            assert_true(fz_decimal_from_be(out, 16, &back) && back == value);
            memmove(out + 4, out, 16);
            memset(out, value < 0 ? 0xff : 0, 4); // sign-extended beyond 128 bits
            assert_true(fz_decimal_from_be(out, 20, &back) && back == value);
            out[0] = 1;
            assert_false(fz_decimal_from_be(out, 20, &back));
        }
    }
    fz_i128 none;
    assert_false(fz_decimal_from_be((const uint8_t *)"", 0, &none));
    // 2^127 needs a seventeenth byte's sign
    const uint8_t wide[17] = {0, 0x80};
    assert_false(fz_decimal_from_be(wide, 17, &none));
}

static void sizes_and_limits(void **state) {
    (void)state;
    const int sizes[39] = {0,  1,  1,  2,  2,  3,  3,  4,  4,  4,  5,  5,  6,
                           6,  6,  7,  7,  8,  8,  9,  9,  9,  10, 10, 11, 11,
                           11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
    for (int precision = 1; precision <= 38; precision++) {
        assert_int_equal(fz_decimal_fixed_size(precision), sizes[precision]);
        fz_i128 limit = fz_decimal_power(precision);
        assert_true(fz_decimal_fits(limit - 1, precision));
        assert_true(fz_decimal_fits(1 - limit, precision));
        assert_false(fz_decimal_fits(limit, precision));
        assert_false(fz_decimal_fits(-limit, precision));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_goes_round),
        cmocka_unit_test(parse_is_exact),
        cmocka_unit_test(bytes_are_minimal),
        cmocka_unit_test(sizes_and_limits),
    };
    return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
