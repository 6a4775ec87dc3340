// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and sizes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/text/number.h"

static void ints(void **state) {
    (void)state;
    static const struct {
        const char *text;
        fz_code code;
        int64_t value;
    } cases[] = {
        {"0", FZ_OK, 0},
        {"-12", FZ_OK, -12},
        {"+7", FZ_OK, 7},
        {"9223372036854775807", FZ_OK, INT64_MAX},
        {"-9223372036854775808", FZ_OK, INT64_MIN},
        {"9223372036854775808", FZ_LIMIT, 0},
        {"-9223372036854775809", FZ_LIMIT, 0},
        {"99999999999999999999999999", FZ_LIMIT, 0},
        {"99999999999999999999999999x", FZ_INVALID, 0},
        {"000000000000000000000000000001", FZ_OK, 1},
        {"", FZ_INVALID, 0},
        {"-", FZ_INVALID, 0},
        {" 1", FZ_INVALID, 0},
        {"1.0", FZ_INVALID, 0},
        {"--1", FZ_INVALID, 0},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        int64_t value = 77;
        assert_int_equal(fz_int_parse(fz_str_from(cases[i].text), &value, NULL), cases[i].code);
        assert_true(value == (cases[i].code == FZ_OK ? cases[i].value : 77));
    }
}

static void reals_round_trip(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {1e22, "1e+22"},
        {5e-324, "5e-324"},
        {1.5, "1.5"},
        {0.1 + 0.2, "0.30000000000000004"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
    };
    char text[32];
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        size_t size = fz_real_format(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(size, strlen(text));
        double back;
        assert_int_equal(fz_real_parse(fz_str_make(text, size), &back, NULL), FZ_OK);
        assert_memory_equal(&back, &cases[i].value, sizeof(back));
    }
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value)) {
            continue;
        }
        double back;
        size_t size = fz_real_format(value, text);
        assert_int_equal(fz_real_parse(fz_str_make(text, size), &back, NULL), FZ_OK);
        assert_memory_equal(&back, &value, sizeof(back));
        float narrow;
        memcpy(&narrow, &bits, sizeof(narrow));
        if (isfinite(narrow)) {
            size = fz_float_format(narrow, text);
            assert_true(size < sizeof(text));
            assert_int_equal(fz_real_parse(fz_str_make(text, size), &back, NULL), FZ_OK);
            float narrow_back = strtof(text, NULL);
            assert_memory_equal(&narrow_back, &narrow, sizeof(narrow));
        }
    }
    fz_float_format(0.1F, text);
    assert_string_equal(text, "0.1");
    fz_float_format(16777216.0F, text);
    assert_string_equal(text, "16777216");
    fz_float_format(1e-45F, text);
    assert_string_equal(text, "1e-45");
}

static void special_reals(void **state) {
    (void)state;
    char text[32];
    double value;
    fz_real_format((double)NAN, text);
    assert_string_equal(text, "NaN");
    fz_float_format(-INFINITY, text);
    assert_string_equal(text, "-Infinity");
    assert_int_equal(fz_real_parse(FZ_STR("NaN"), &value, NULL), FZ_OK);
    assert_true(isnan(value));
    assert_int_equal(fz_real_parse(FZ_STR("-Infinity"), &value, NULL), FZ_OK);
    assert_true(isinf(value) && value < 0);
    assert_int_equal(fz_real_parse(FZ_STR("1e999"), &value, NULL), FZ_LIMIT);
    assert_int_equal(fz_real_parse(FZ_STR("1e-999"), &value, NULL), FZ_OK);
    static const char *const bad[] = {"",   "-",   "nan", "inf", "1e", " 1",
                                      "1 ", "1,5", "e5",  ".",   "0x", "1.5.2"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_real_parse(fz_str_from(bad[i]), &value, NULL), FZ_INVALID);
    }
    assert_int_equal(fz_real_parse(FZ_STR("1\0"
                                          "2"),
                                   &value, NULL),
                     FZ_INVALID);
    char longer[300];
    memset(longer, '1', sizeof(longer));
    assert_int_equal(fz_real_parse(fz_str_make(longer, sizeof(longer)), &value, NULL), FZ_OK);
}

static void durations_and_sizes(void **state) {
    (void)state;
    int64_t v = 0;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0},        {"500ms", 500},    {"30s", 30000}, {"5m", 300000},
                {"2h", 7200000}, {"7d", 604800000}, {"0s", 0}};
    for (size_t i = 0; i < FZ_COUNT(good); i++) {
        assert_int_equal(fz_duration_parse(fz_str_from(good[i].text), &v, NULL), FZ_OK);
        assert_true(v == good[i].ms);
    }
    static const char *const bad[] = {"", "5", "s", "-5s", "5 s", "5S", "1.5s", "5w", "5mss", "00"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_duration_parse(fz_str_from(bad[i]), &v, NULL), FZ_INVALID);
    }
    assert_int_equal(fz_duration_parse(FZ_STR("9223372036854775807d"), &v, NULL), FZ_LIMIT);
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {
        {"0", 0},          {"65536", 65536},           {"64KiB", 65536}, {"512MB", 512000000},
        {"1GiB", 1 << 30}, {"1tib", INT64_C(1) << 40}, {"3B", 3},        {"2kb", 2000}};
    for (size_t i = 0; i < FZ_COUNT(sizes); i++) {
        assert_int_equal(fz_size_parse(fz_str_from(sizes[i].text), &v, NULL), FZ_OK);
        assert_true(v == sizes[i].bytes);
    }
    static const char *const bad_sizes[] = {"", "KiB", "-1", "1 KiB", "1K", "1.5GiB", "1XB"};
    for (size_t i = 0; i < FZ_COUNT(bad_sizes); i++) {
        assert_int_equal(fz_size_parse(fz_str_from(bad_sizes[i]), &v, NULL), FZ_INVALID);
    }
    assert_int_equal(fz_size_parse(FZ_STR("99999999TiB"), &v, NULL), FZ_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ints),
        cmocka_unit_test(reals_round_trip),
        cmocka_unit_test(special_reals),
        cmocka_unit_test(durations_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
