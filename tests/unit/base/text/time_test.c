// SPDX-License-Identifier: Apache-2.0
// Dates and instants, before 1970 and at the ends of their range.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/time.h"

static void civil_round_trip(void **state) {
    (void)state;
    assert_int_equal(fz_days_from_civil(1970, 1, 1), 0);
    assert_int_equal(fz_days_from_civil(1969, 12, 31), -1);
    assert_int_equal(fz_days_from_civil(2017, 11, 16), 17486);
    assert_int_equal(fz_days_from_civil(2000, 2, 29), 11016);
    assert_int_equal(fz_days_from_civil(0, 3, 1), -719468);
    assert_int_equal(fz_days_from_civil(1, 1, 1), -719162);
    int64_t previous_year = 0;
    unsigned previous_month = 0;
    unsigned previous_day = 0;
    for (int64_t days = -800000; days < 800000; days++) {
        int64_t year;
        unsigned month;
        unsigned day;
        fz_civil_from_days(days, &year, &month, &day);
        assert_true(fz_days_from_civil(year, month, day) == days);
        if (previous_day) {
            bool next_day =
                year == previous_year && month == previous_month && day == previous_day + 1;
            bool next_month =
                day == 1 && (month == previous_month + 1 ||
                             (month == 1 && previous_month == 12 && year == previous_year + 1));
            assert_true(next_day || next_month);
        }
        previous_year = year;
        previous_month = month;
        previous_day = day;
    }
    int64_t year;
    unsigned month;
    unsigned day;
    fz_civil_from_days(INT64_MAX, &year, &month, &day); // no overflow
    fz_civil_from_days(INT64_MIN, &year, &month, &day);
    assert_true(fz_floor_div(-1, 10) == -1 && fz_floor_mod(-1, 10) == 9);
    assert_true(fz_floor_div(-10, 10) == -1 && fz_floor_mod(-10, 10) == 0);
    assert_true(fz_floor_div(19, 10) == 1);
}

static void formats(void **state) {
    (void)state;
    fz_buf buf = {0};
#define EXPECT(call, want)                                                                         \
    do {                                                                                           \
        fz_buf_reset(&buf);                                                                        \
        call;                                                                                      \
        assert_string_equal(fz_buf_cstr(&buf), want);                                              \
    } while (0)
    EXPECT(fz_date_format(&buf, 17486), "2017-11-16");
    EXPECT(fz_date_format(&buf, -1), "1969-12-31");
    EXPECT(fz_date_format(&buf, fz_days_from_civil(10000, 1, 1)), "+10000-01-01");
    EXPECT(fz_date_format(&buf, fz_days_from_civil(9999, 12, 31)), "9999-12-31");
    EXPECT(fz_date_format(&buf, fz_days_from_civil(-1, 12, 31)), "-0001-12-31");
    EXPECT(fz_date_format(&buf, fz_days_from_civil(0, 1, 1)), "0000-01-01");
    EXPECT(fz_time_format(&buf, 0), "00:00:00.000000");
    EXPECT(fz_time_format(&buf, FZ_US_PER_DAY - 1), "23:59:59.999999");
    EXPECT(fz_timestamp_format(&buf, -1, false), "1969-12-31T23:59:59.999999");
    EXPECT(fz_timestamp_format(&buf, 0, true), "1970-01-01T00:00:00.000000+00:00");
    EXPECT(fz_timestamp_format(&buf, INT64_MAX, false), "+294247-01-10T04:00:54.775807");
    EXPECT(fz_timestamp_format(&buf, INT64_MIN, false), "-290308-12-21T19:59:05.224192");
    EXPECT(fz_timestamp_ns_format(&buf, -1, true), "1969-12-31T23:59:59.999999999+00:00");
    EXPECT(fz_timestamp_ns_format(&buf, INT64_C(1510871468000001001), false),
           "2017-11-16T22:31:08.000001001");
    fz_buf_deinit(&buf);
}

static void dates_parse(void **state) {
    (void)state;
    int64_t days = 77;
    assert_int_equal(fz_date_parse(FZ_STR("2017-11-16"), &days, NULL), FZ_OK);
    assert_int_equal(days, 17486);
    assert_int_equal(fz_date_parse(FZ_STR("2000-02-29"), &days, NULL), FZ_OK);
    static const char *const bad[] = {
        "",           "2017-11-1",     "2017-13-01",  "2017-00-01",  "2017-02-29",
        "1900-02-29", "2017-04-31",    "2017-11-16 ", "+2017-11-16", "17-11-16",
        "2017/11/16", "2017-11-16T00", "20a7-11-16"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        days = 5;
        assert_int_equal(fz_date_parse(fz_str_from(bad[i]), &days, NULL), FZ_INVALID);
        assert_int_equal(days, 5);
    }
}

static void times_parse(void **state) {
    (void)state;
    int64_t us;
    assert_int_equal(fz_time_parse(FZ_STR("22:31:08"), &us, NULL), FZ_OK);
    assert_int_equal(us, INT64_C(81068000000));
    assert_int_equal(fz_time_parse(FZ_STR("00:00:00.1234567"), &us, NULL), FZ_OK);
    assert_int_equal(us, 123456);
    assert_int_equal(fz_time_parse(FZ_STR("00:00:00+01:00"), &us, NULL), FZ_OK);
    assert_int_equal(us, INT64_C(82800000000));
    assert_int_equal(fz_time_parse(FZ_STR("23:30:00.5-01:00"), &us, NULL), FZ_OK);
    assert_int_equal(us, INT64_C(1800500000));
    assert_int_equal(fz_time_parse(FZ_STR("01:02:03Z"), &us, NULL), FZ_OK);
    static const char *const bad[] = {"24:00:00",   "23:60:00",       "23:59:60",
                                      "1:00:00",    "10:00",          "10:00:00.",
                                      "10:00:00+1", "10:00:00+24:00", "10:00:00 Z"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_time_parse(fz_str_from(bad[i]), &us, NULL), FZ_INVALID);
    }
}

static void timestamps_parse(void **state) {
    (void)state;
    int64_t us;
    assert_int_equal(fz_timestamp_parse(FZ_STR("2017-11-16T22:31:08.000001"), false, &us, NULL),
                     FZ_OK);
    assert_true(us == INT64_C(1510871468000001));
    assert_int_equal(fz_timestamp_parse(FZ_STR("2017-11-16T14:31:08-08:00"), true, &us, NULL),
                     FZ_OK);
    assert_true(us == INT64_C(1510871468000000));
    assert_int_equal(fz_timestamp_parse(FZ_STR("1969-12-31t23:59:59.9999999z"), true, &us, NULL),
                     FZ_OK);
    assert_int_equal(us, -1);
    assert_int_equal(fz_timestamp_parse(FZ_STR("0001-01-01T00:00:00+23:59"), true, &us, NULL),
                     FZ_OK);
    assert_int_equal(fz_timestamp_parse(FZ_STR("9999-12-31T23:59:59-23:59"), true, &us, NULL),
                     FZ_OK);
    static const char *const bad[] = {
        "2017-11-16T22:31:08",
        "2017-11-16 22:31:08Z",
        "2017-11-16T22:31:60Z",
        "2017-11-16T24:00:00Z",
        "0000-11-16T22:31:08Z",
        "2017-11-16T22:31Z",
        "2017-11-16T22:31:08+0100",
        "2017-11-16T22:31:08.Z",
        "2017-02-30T22:31:08Z",
        "+12017-11-16T22:31:08Z",
        "2017-11-16T22:31:08+25:00",
        "2017-11-16T22:31:08ZZ",
        "",
    };
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_timestamp_parse(fz_str_from(bad[i]), true, &us, NULL), FZ_INVALID);
    }
    assert_int_equal(fz_timestamp_parse(FZ_STR("2017-11-16T22:31:08Z"), false, &us, NULL),
                     FZ_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(civil_round_trip), cmocka_unit_test(formats),
        cmocka_unit_test(dates_parse),      cmocka_unit_test(times_parse),
        cmocka_unit_test(timestamps_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
