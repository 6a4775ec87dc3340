// SPDX-License-Identifier: Apache-2.0
// Transforms against the Iceberg specification's values (Appendix B, TestTruncate, TestDates),
// texts and paths.
#include "data/transform.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/codec/hash.h"
#include "data/transform_steps.h"

static fz_value apply(const char *transform, const fz_type *type, fz_value value) {
    fz_value out;
    fz_err err;
    value.kind = type->kind;
    if (fz_transform_apply(fz_transform_parse(fz_str_from(transform)), type, &value, &out, &err) !=
        FZ_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

static int64_t apply_integer(const char *transform, fz_type_kind kind, int64_t value) {
    return apply(transform, &(fz_type){.kind = kind}, (fz_value){.as.integer = value}).as.integer;
}

static void bucket_vectors(void **state) {
    (void)state;
    const struct {
        fz_type_kind kind;
        int64_t value;
        int32_t hash;
        int bucket;
    } integers[] = {
        {FZ_TYPE_INT, 34, 2017239379, 3},
        {FZ_TYPE_LONG, 34, 2017239379, 3},
        {FZ_TYPE_DATE, 17486, -653330422, 10},
        {FZ_TYPE_TIME, INT64_C(81068000000), -662762989, 3},
        {FZ_TYPE_TIMESTAMP, INT64_C(1510871468000000), -2047944441, 7},
        {FZ_TYPE_TIMESTAMP, INT64_C(1510871468000001), -1207196810, 6},
        {FZ_TYPE_TIMESTAMPTZ_NS, INT64_C(1510871468000001001), -1207196810, 6},
        {FZ_TYPE_INT, 0, 1669671676, 12},
        {FZ_TYPE_INT, 1, 1392991556, 4},
        {FZ_TYPE_INT, -1, 1651860712, 8},
        {FZ_TYPE_INT, INT32_MAX, 1819228606, 14},
        {FZ_TYPE_INT, INT32_MIN, -2073034792, 8},
        {FZ_TYPE_LONG, INT64_MAX, -2106506049, 15},
        {FZ_TYPE_LONG, INT64_MIN, 1366273829, 5},
        {FZ_TYPE_DATE, -1, 1651860712, 8},
    };
    for (size_t i = 0; i < FZ_COUNT(integers); i++) {
        assert_int_equal(apply_integer("bucket[16]", integers[i].kind, integers[i].value),
                         integers[i].bucket);
        // the whole hash, through as many buckets as there can be
        assert_int_equal(
            fz_transform_bucket_integer(INT32_MAX, integers[i].kind, integers[i].value),
            (integers[i].hash & 0x7fffffff) % INT32_MAX);
    }
    const struct {
        int64_t value;
        int32_t hash;
        int bucket;
    } decimals[] = {
        {1420, -500754589, 3}, {-1420, 667775751, 7}, {128, 1544076949, 5}, {-128, 267099677, 13}};
    fz_type decimal = {.kind = FZ_TYPE_DECIMAL, .precision = 9, .scale = 2};
    for (size_t i = 0; i < FZ_COUNT(decimals); i++) {
        fz_value v = {.as.decimal = decimals[i].value};
        assert_int_equal(apply("bucket[16]", &decimal, v).as.integer, decimals[i].bucket);
        assert_int_equal(fz_transform_bucket_decimal(INT32_MAX, decimals[i].value),
                         (decimals[i].hash & 0x7fffffff) % INT32_MAX);
    }
    const struct {
        fz_type_kind kind;
        fz_str value;
        int32_t hash;
        int buckets;
        int bucket;
    } texts[] = {
        {FZ_TYPE_STRING, FZ_STR("iceberg"), 1210000089, 16, 9},
        {FZ_TYPE_UUID, FZ_STR("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7"),
         1488055340, 16, 12},
        {FZ_TYPE_FIXED, FZ_STR("\x00\x01\x02\x03"), -188683207, 16, 9},
        {FZ_TYPE_BINARY, FZ_STR("\x00\x01\x02\x03"), -188683207, 16, 9},
        {FZ_TYPE_STRING, FZ_STR(""), 0, 16, 0},
        {FZ_TYPE_STRING, FZ_STR("a"), 1009084850, 16, 2},
        {FZ_TYPE_STRING, FZ_STR("ab"), -1681926305, 16, 15},
        {FZ_TYPE_STRING, FZ_STR("abc"), -1277324294, 16, 10},
        {FZ_TYPE_STRING, FZ_STR("abcd"), 1139631978, 16, 10},
        {FZ_TYPE_STRING, FZ_STR("\xc3\xa9"), 269551495, 16, 7},
        {FZ_TYPE_STRING, FZ_STR("\xf0\x9f\x98\x80"), -1095487750, 16, 10},
        {FZ_TYPE_STRING, FZ_STR("\xf0\x9f\x92\xb0"), -1486360756, 32, 12},
    };
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        fz_type type = {.kind = texts[i].kind, .length = 4};
        fz_value v = {.as.bytes = texts[i].value};
        assert_int_equal(
            apply(texts[i].buckets == 16 ? "bucket[16]" : "bucket[32]", &type, v).as.integer,
            texts[i].bucket);
        assert_int_equal((int32_t)fz_murmur3_32(texts[i].value.data, texts[i].value.size),
                         texts[i].hash);
    }
}

static void truncate_vectors(void **state) {
    (void)state;
    const int64_t ints[][2] = {{0, 0},   {1, 0},    {5, 0},    {9, 0},     {10, 10},
                               {11, 10}, {-1, -10}, {-5, -10}, {-10, -10}, {-11, -20}};
    for (size_t i = 0; i < FZ_COUNT(ints); i++) {
        assert_int_equal(apply_integer("truncate[10]", FZ_TYPE_INT, ints[i][0]), ints[i][1]);
        assert_int_equal(apply_integer("truncate[10]", FZ_TYPE_LONG, ints[i][0]), ints[i][1]);
    }
    const int64_t decimals[][3] = {{10, 1234, 1230}, {10, 1230, 1230}, {10, 1229, 1220},
                                   {10, 5, 0},       {10, -5, -10},    {50, 1065, 1050}};
    fz_type decimal = {.kind = FZ_TYPE_DECIMAL, .precision = 9, .scale = 2};
    for (size_t i = 0; i < FZ_COUNT(decimals); i++) {
        fz_value v = {.as.decimal = decimals[i][1]};
        const char *transform = decimals[i][0] == 10 ? "truncate[10]" : "truncate[50]";
        assert_true(apply(transform, &decimal, v).as.decimal == decimals[i][2]);
    }
    fz_type text = {.kind = FZ_TYPE_STRING};
    fz_value v = {.as.bytes = FZ_STR("\xc3\xa9\xf0\x9f\x98\x80xyz")};
    assert_true(
        fz_str_equal(apply("truncate[3]", &text, v).as.bytes, FZ_STR("\xc3\xa9\xf0\x9f\x98\x80x")));
    v.as.bytes = FZ_STR("ab");
    assert_true(fz_str_equal(apply("truncate[3]", &text, v).as.bytes, FZ_STR("ab")));
    text.kind = FZ_TYPE_BINARY;
    v.as.bytes = FZ_STR("\x01\x02\x03\x04");
    assert_true(fz_str_equal(apply("truncate[3]", &text, v).as.bytes, FZ_STR("\x01\x02\x03")));
}

static void time_vectors(void **state) {
    (void)state;
    const int64_t second = 1000000;
    const struct {
        const char *transform;
        fz_type_kind kind;
        int64_t value;
        int64_t want;
    } cases[] = {
        {"year", FZ_TYPE_DATE, 17501, 47},
        {"month", FZ_TYPE_DATE, 17501, 575},
        {"day", FZ_TYPE_DATE, 17501, 17501},
        {"hour", FZ_TYPE_TIMESTAMP, 1512123175 * second, 420034},
        {"hour", FZ_TYPE_TIMESTAMPTZ_NS, 1512123175 * second * 1000, 420034},
        {"year", FZ_TYPE_DATE, -1, -1},
        {"month", FZ_TYPE_DATE, -1, -1},
        {"day", FZ_TYPE_DATE, -1, -1},
        {"year", FZ_TYPE_TIMESTAMP, -1, -1},
        {"month", FZ_TYPE_TIMESTAMPTZ, -1, -1},
        {"day", FZ_TYPE_TIMESTAMP_NS, -1, -1},
        {"hour", FZ_TYPE_TIMESTAMP, -1, -1},
        {"day", FZ_TYPE_TIMESTAMP, -86400 * second - 1, -2},
        {"day", FZ_TYPE_DATE, -2, -2},
        {"year", FZ_TYPE_DATE, -365, -1},
        {"month", FZ_TYPE_DATE, -365, -12},
        {"day", FZ_TYPE_TIMESTAMP, INT64_MIN, -106751992},
        {"day", FZ_TYPE_TIMESTAMP, INT64_MAX, 106751991},
        {"hour", FZ_TYPE_TIMESTAMP_NS, INT64_MIN, -2562048},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        int64_t got = apply_integer(cases[i].transform, cases[i].kind, cases[i].value);
        if (got != cases[i].want) {
            fail_msg("case %zu: %lld", i, (long long)got);
        }
    }
    fz_type day;
    fz_type source = {.kind = FZ_TYPE_TIMESTAMP};
    assert_int_equal(fz_transform_result(fz_transform_parse(FZ_STR("day")), &source, &day, NULL),
                     FZ_OK);
    assert_int_equal(day.kind, FZ_TYPE_DATE);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    const struct {
        const char *transform;
        fz_type_kind kind;
        int64_t value;
    } cases[] = {
        {"hour", FZ_TYPE_TIMESTAMP, INT64_MIN},
        {"hour", FZ_TYPE_TIMESTAMPTZ, INT64_MAX},
        {"truncate[10]", FZ_TYPE_INT, INT32_MIN},
        {"truncate[10]", FZ_TYPE_LONG, INT64_MIN},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_type type = {.kind = cases[i].kind};
        fz_value value = {.kind = type.kind, .as.integer = cases[i].value};
        fz_value out;
        fz_err err;
        assert_int_equal(fz_transform_apply(fz_transform_parse(fz_str_from(cases[i].transform)),
                                            &type, &value, &out, &err),
                         FZ_LIMIT);
    }
    fz_type decimal = {.kind = FZ_TYPE_DECIMAL, .precision = 2, .scale = 0};
    fz_value value = {.kind = FZ_TYPE_DECIMAL, .as.decimal = -99};
    assert_int_equal(fz_transform_apply(fz_transform_parse(FZ_STR("truncate[10]")), &decimal,
                                        &value, &value, NULL),
                     FZ_LIMIT);
    const struct {
        const char *transform;
        fz_type_kind kind;
    } unsupported[] = {
        {"bucket[4]", FZ_TYPE_DOUBLE}, {"bucket[4]", FZ_TYPE_BOOLEAN},
        {"hour", FZ_TYPE_DATE},        {"day", FZ_TYPE_TIME},
        {"truncate[4]", FZ_TYPE_DATE}, {"truncate[4]", FZ_TYPE_FIXED},
        {"identity", FZ_TYPE_LIST},    {"zorder", FZ_TYPE_INT},
        {"day", FZ_TYPE_LONG},
    };
    for (size_t i = 0; i < FZ_COUNT(unsupported); i++) {
        fz_type type = {.kind = unsupported[i].kind};
        fz_type out;
        fz_err err;
        assert_int_equal(
            fz_transform_result(fz_transform_parse(fz_str_from(unsupported[i].transform)), &type,
                                &out, &err),
            FZ_UNSUPPORTED);
    }
}

static void names(void **state) {
    (void)state;
    const char *const good[] = {
        "identity", "bucket[16]", "truncate[2147483647]", "year", "month", "day", "hour", "void"};
    for (size_t i = 0; i < FZ_COUNT(good); i++) {
        fz_buf text = {0};
        fz_transform_format(fz_transform_parse(fz_str_from(good[i])), &text);
        assert_string_equal(fz_buf_cstr(&text), good[i]);
        fz_buf_deinit(&text);
    }
    const char *const bad[] = {
        "",          "bucket",       "bucket[0]", "bucket[-1]", "bucket[]",
        "bucket[16", "bucket[x]",    "day[1]",    "days",       "bucket[2147483648]",
        "[",         "truncate[1]x", "identity[", "unknown"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_transform_parse(fz_str_from(bad[i])).kind, FZ_TRANSFORM_UNKNOWN);
    }
}

static void check_path(const char *transform, fz_type_kind kind, fz_value value, const char *want) {
    fz_partition_field field = {.name = FZ_STR("p"), .source_type = {.kind = kind}};
    field.transform = fz_transform_parse(fz_str_from(transform));
    assert_int_equal(
        fz_transform_result(field.transform, &field.source_type, &field.result_type, NULL), FZ_OK);
    fz_partition_spec spec = {.fields = &field, .field_count = 1};
    value.kind = field.result_type.kind;
    fz_buf path = {0};
    fz_partition_path(&spec, &value, &path);
    assert_string_equal(fz_buf_cstr(&path), want);
    fz_buf_deinit(&path);
}

static void paths(void **state) {
    (void)state;
    check_path("year", FZ_TYPE_DATE, (fz_value){.as.integer = 47}, "p=2017");
    check_path("month", FZ_TYPE_DATE, (fz_value){.as.integer = 575}, "p=2017-12");
    check_path("day", FZ_TYPE_DATE, (fz_value){.as.integer = 17501}, "p=2017-12-01");
    check_path("hour", FZ_TYPE_TIMESTAMP, (fz_value){.as.integer = 420034}, "p=2017-12-01-10");
    check_path("hour", FZ_TYPE_TIMESTAMP, (fz_value){.as.integer = -1}, "p=1969-12-31-23");
    check_path("month", FZ_TYPE_TIMESTAMP, (fz_value){.as.integer = -1}, "p=1969-12");
    check_path("day", FZ_TYPE_DATE, (fz_value){.is_null = true}, "p=null");
    check_path("bucket[4]", FZ_TYPE_INT, (fz_value){.as.integer = 3}, "p=3");
    check_path("identity", FZ_TYPE_TIMESTAMPTZ, (fz_value){.as.integer = -1},
               "p=1969-12-31T23%3A59%3A59.999999%2B00%3A00");
    const struct {
        const char *value;
        const char *want;
    } texts[] = {
        {"a/b", "p=a%2Fb"},  {"a b", "p=a%20b"},
        {"a+b", "p=a%2Bb"},  {"a%2Fb", "p=a%252Fb"},
        {"a#b", "p=a%23b"},  {"a?b", "p=a%3Fb"},
        {"a=b", "p=a%3Db"},  {"..", "p=.."},
        {"", "p="},          {"\xf0\x9f\x98\x80", "p=%F0%9F%98%80"},
        {"a\nb", "p=a%0Ab"},
    };
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        fz_value value = {.as.bytes = fz_str_from(texts[i].value)};
        check_path("identity", FZ_TYPE_STRING, value, texts[i].want);
    }
    char text[2048];
    char hash[40] = "p=";
    memset(text, 'x', sizeof(text));
    fz_xxh3_128_hex(text, sizeof(text), hash + 2);
    check_path("identity", FZ_TYPE_STRING, (fz_value){.as.bytes = fz_str_make(text, sizeof(text))},
               hash);
    fz_partition_spec none = {0};
    fz_buf path = {0};
    fz_partition_path(&none, NULL, &path);
    assert_int_equal(path.size, 0);
    fz_buf_deinit(&path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_vectors), cmocka_unit_test(truncate_vectors),
        cmocka_unit_test(time_vectors),   cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(names),          cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests_name("transform", tests, NULL, NULL);
}
