// SPDX-License-Identifier: Apache-2.0
// Single values: order, binary form, JSON form, cut bounds.
#include "data/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static fz_value integer(fz_type_kind kind, int64_t v) {
    return (fz_value){.kind = kind, .as.integer = v};
}
static fz_value text(const char *s) {
    return (fz_value){.kind = FZ_TYPE_STRING, .as.bytes = fz_str_from(s)};
}
static fz_value real(double v) {
    return (fz_value){.kind = FZ_TYPE_DOUBLE, .as.real64 = v};
}
static fz_value real32(float v) {
    return (fz_value){.kind = FZ_TYPE_FLOAT, .as.real32 = v};
}

static void order(void **state) {
    (void)state;
    const double sorted[] = {-INFINITY, -1.5, -0.0, 0.0, 1e-300, 2, INFINITY, (double)NAN};
    for (size_t i = 0; i < FZ_COUNT(sorted); i++) {
        for (size_t k = 0; k < FZ_COUNT(sorted); k++) {
            int want = (i > k) - (i < k);
            fz_value a = real(sorted[i]);
            fz_value b = real(sorted[k]);
            assert_int_equal(fz_value_compare(&a, &b), want);
            a = real32((float)sorted[i]);
            b = real32((float)sorted[k]);
            if (sorted[i] != 1e-300 && sorted[k] != 1e-300) {
                assert_int_equal(fz_value_compare(&a, &b), want);
            }
        }
    }
    fz_value a = text("a\xc3\xa9");
    fz_value b = text("az");
    assert_true(fz_value_compare(&a, &b) > 0); // bytes unsigned
    a = integer(FZ_TYPE_LONG, INT64_MIN);
    b = integer(FZ_TYPE_LONG, INT64_MAX);
    assert_true(fz_value_compare(&a, &b) < 0);
}

static void check_round(const fz_value *value, const fz_type *type, const char *hex, size_t size) {
    fz_buf bytes = {0};
    fz_err err;
    fz_value_encode(value, &bytes);
    assert_int_equal(bytes.size, size);
    assert_memory_equal(bytes.data, hex, size);
    fz_value back;
    assert_int_equal(fz_value_decode(type, fz_buf_view(&bytes), &back, &err), FZ_OK);
    assert_int_equal(fz_value_compare(value, &back), 0);
    fz_buf_deinit(&bytes);
}

static void binary_form(void **state) {
    (void)state;
    fz_value v = integer(FZ_TYPE_BOOLEAN, 1);
    check_round(&v, &(fz_type){.kind = FZ_TYPE_BOOLEAN}, "\x01", 1);
    v = integer(FZ_TYPE_INT, -2);
    check_round(&v, &(fz_type){.kind = FZ_TYPE_INT}, "\xfe\xff\xff\xff", 4);
    v = integer(FZ_TYPE_TIMESTAMPTZ, 1);
    check_round(&v, &(fz_type){.kind = FZ_TYPE_TIMESTAMPTZ}, "\x01\0\0\0\0\0\0\0", 8);
    v = real(1);
    check_round(&v, &(fz_type){.kind = FZ_TYPE_DOUBLE}, "\0\0\0\0\0\0\xf0\x3f", 8);
    v = real32(-0.0f);
    check_round(&v, &(fz_type){.kind = FZ_TYPE_FLOAT}, "\0\0\0\x80", 4);
    v = text("a");
    check_round(&v, &(fz_type){.kind = FZ_TYPE_STRING}, "a", 1);
    v = (fz_value){.kind = FZ_TYPE_DECIMAL, .as.decimal = 128};
    check_round(&v, &(fz_type){.kind = FZ_TYPE_DECIMAL, .precision = 9, .scale = 2}, "\0\x80", 2);
}

static void promoted_bounds_are_read(void **state) {
    (void)state;
    fz_value out;
    fz_err err;
    fz_str four = FZ_STR("\xff\xff\xff\xff");
    const struct {
        fz_type_kind kind;
        int64_t want;
    } good[] = {{FZ_TYPE_LONG, -1},
                {FZ_TYPE_TIMESTAMP, INT64_C(-86400000000)},
                {FZ_TYPE_TIMESTAMP_NS, INT64_C(-86400000000000)}};
    for (size_t i = 0; i < FZ_COUNT(good); i++) {
        fz_type type = {.kind = good[i].kind};
        assert_int_equal(fz_value_decode(&type, four, &out, &err), FZ_OK);
        assert_int_equal(out.kind, good[i].kind);
        assert_int_equal(out.as.integer, good[i].want);
    }
    fz_type type = {.kind = FZ_TYPE_DOUBLE};
    assert_int_equal(fz_value_decode(&type, FZ_STR("\0\0\x80\x3f"), &out, &err), FZ_OK);
    assert_true(out.as.real64 == 1.0);
    type.kind = FZ_TYPE_TIMESTAMPTZ; // never from a date
    assert_int_equal(fz_value_decode(&type, four, &out, &err), FZ_CORRUPT);
    type.kind = FZ_TYPE_TIMESTAMP;
    assert_int_equal(fz_value_decode(&type, FZ_STR("\xff\xff\xff\x7f"), &out, &err), FZ_CORRUPT);
}

static void wrong_sizes_are_refused(void **state) {
    (void)state;
    static const char zeros[20] = {0};
    for (int kind = 0; kind < (int)FZ_TYPE_STRUCT; kind++) {
        for (size_t size = 0; size < 20; size++) {
            fz_type type = {.kind = (fz_type_kind)kind, .precision = 38, .length = 6};
            fz_value out;
            fz_err err;
            (void)!fz_value_decode(&type, fz_str_make(zeros, size), &out, &err);
        }
    }
    fz_type type = {.kind = FZ_TYPE_UUID};
    fz_value out;
    fz_err err;
    assert_int_equal(fz_value_decode(&type, fz_str_make(zeros, 15), &out, &err), FZ_CORRUPT);
    type.kind = FZ_TYPE_INT;
    assert_int_equal(fz_value_decode(&type, fz_str_make(zeros, 8), &out, &err), FZ_CORRUPT);
    type = (fz_type){.kind = FZ_TYPE_FIXED, .length = 3};
    assert_int_equal(fz_value_decode(&type, fz_str_make(zeros, 4), &out, &err), FZ_CORRUPT);
    type.kind = FZ_TYPE_DECIMAL;
    assert_int_equal(fz_value_decode(&type, fz_str_make(zeros, 0), &out, &err), FZ_CORRUPT);
    type.kind = FZ_TYPE_LIST;
    assert_int_equal(fz_value_decode(&type, fz_str_make(zeros, 4), &out, &err), FZ_UNSUPPORTED);
}

static void check_json(const fz_value *value, const fz_type *type, const char *want) {
    json_t *json = fz_value_to_json(value, type);
    char *got = json_dumps(json, JSON_ENCODE_ANY);
    assert_string_equal(got, want);
    free(got);
    json_decref(json);
}

static void json_form(void **state) {
    (void)state;
    fz_value v = {.kind = FZ_TYPE_DECIMAL, .as.decimal = 1420};
    check_json(&v, &(fz_type){.kind = FZ_TYPE_DECIMAL, .precision = 9, .scale = 2}, "\"14.20\"");
    const struct {
        fz_type_kind kind;
        int64_t value;
        const char *want;
    } cases[] = {
        {FZ_TYPE_BOOLEAN, 1, "true"},
        {FZ_TYPE_LONG, INT64_MIN, "-9223372036854775808"},
        {FZ_TYPE_DATE, 17486, "\"2017-11-16\""},
        {FZ_TYPE_DATE, -1, "\"1969-12-31\""},
        {FZ_TYPE_TIME, INT64_C(81068123456), "\"22:31:08.123456\""},
        {FZ_TYPE_TIMESTAMP, INT64_C(1510871468000001), "\"2017-11-16T22:31:08.000001\""},
        {FZ_TYPE_TIMESTAMPTZ, -1, "\"1969-12-31T23:59:59.999999+00:00\""},
        {FZ_TYPE_TIMESTAMP_NS, -1, "\"1969-12-31T23:59:59.999999999\""},
        {FZ_TYPE_TIMESTAMPTZ_NS, 1, "\"1970-01-01T00:00:00.000000001+00:00\""},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_value value = integer(cases[i].kind, cases[i].value);
        check_json(&value, &(fz_type){.kind = cases[i].kind}, cases[i].want);
    }
    v = (fz_value){.kind = FZ_TYPE_UUID,
                   .as.bytes =
                       FZ_STR("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")};
    check_json(&v, &(fz_type){.kind = FZ_TYPE_UUID}, "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"");
    v = (fz_value){.kind = FZ_TYPE_BINARY, .as.bytes = FZ_STR("\x00\xff")};
    check_json(&v, &(fz_type){.kind = FZ_TYPE_BINARY}, "\"00ff\"");
    v.is_null = true;
    check_json(&v, &(fz_type){.kind = FZ_TYPE_BINARY}, "null");
    v = real((double)NAN);
    check_json(&v, &(fz_type){.kind = FZ_TYPE_DOUBLE}, "\"NaN\"");
}

static void check_cut(fz_type_kind kind, fz_str in, size_t width, fz_str lower, bool has_upper,
                      fz_str upper) {
    fz_arena arena = {0};
    fz_value v = {.kind = kind, .as.bytes = in};
    fz_value_truncate_lower(&v, width);
    assert_true(fz_str_equal(v.as.bytes, lower));
    v.as.bytes = in;
    assert_int_equal(fz_value_truncate_upper(&v, width, &arena), has_upper);
    if (has_upper) {
        assert_true(fz_str_equal(v.as.bytes, upper));
        fz_value whole = {.kind = kind, .as.bytes = in};
        assert_true(fz_value_compare(&v, &whole) >= 0);
    }
    fz_arena_deinit(&arena);
}

static void bounds_are_cut(void **state) {
    (void)state;
    const fz_str none = {0};
    check_cut(FZ_TYPE_STRING, FZ_STR("abc"), 3, FZ_STR("abc"), true, FZ_STR("abc"));
    check_cut(FZ_TYPE_STRING, FZ_STR("abcd"), 3, FZ_STR("abc"), true, FZ_STR("abd"));
    check_cut(FZ_TYPE_STRING, FZ_STR("\xc3\xa9\xc3\xa9x"), 2, FZ_STR("\xc3\xa9\xc3\xa9"), true,
              FZ_STR("\xc3\xa9\xc3\xaa"));
    // U+007F -> U+0080 grows a byte
    check_cut(FZ_TYPE_STRING, FZ_STR("a\x7fz"), 2, FZ_STR("a\x7f"), true, FZ_STR("a\xc2\x80"));
    // U+D7FF -> U+E000
    check_cut(FZ_TYPE_STRING, FZ_STR("\xed\x9f\xbfz"), 1, FZ_STR("\xed\x9f\xbf"), true,
              FZ_STR("\xee\x80\x80"));
    // U+10FFFF cannot be counted up
    check_cut(FZ_TYPE_STRING, FZ_STR("a\xf4\x8f\xbf\xbfz"), 2, FZ_STR("a\xf4\x8f\xbf\xbf"), true,
              FZ_STR("b"));
    check_cut(FZ_TYPE_STRING, FZ_STR("\xf4\x8f\xbf\xbfz"), 1, FZ_STR("\xf4\x8f\xbf\xbf"), false,
              none);
    check_cut(FZ_TYPE_BINARY, FZ_STR("\x01\xff\x05"), 2, FZ_STR("\x01\xff"), true, FZ_STR("\x02"));
    check_cut(FZ_TYPE_BINARY, FZ_STR("\xff\xff\x05"), 2, FZ_STR("\xff\xff"), false, none);
    check_cut(FZ_TYPE_FIXED, FZ_STR("\xff\xff\x05"), 2, FZ_STR("\xff\xff\x05"), true,
              FZ_STR("\xff\xff\x05"));
    check_cut(FZ_TYPE_STRING, FZ_STR(""), 16, FZ_STR(""), true, FZ_STR(""));
    // bytes that are no UTF-8 do not run away
    check_cut(FZ_TYPE_STRING, FZ_STR("\xf0"), 1, FZ_STR("\xf0"), true, FZ_STR("\xf0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(binary_form),
        cmocka_unit_test(promoted_bounds_are_read),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(json_form),
        cmocka_unit_test(bounds_are_cut),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
