// SPDX-License-Identifier: Apache-2.0
// Civil dates and instants as text.
#include "base/text/time.h"

#include <inttypes.h>

// Howard Hinnant's algorithms ("chrono-compatible low-level date algorithms"): eras of 400 years
// that begin on the first of March, so that the leap day is the last of its year.
int64_t fz_days_from_civil(int64_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    int64_t era = fz_floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t month_from_march = (int64_t)(month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + (int64_t)day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void fz_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day) {
    // the era comes from the unshifted count: days + 719468 could overflow
    int64_t era = fz_floor_div(days, 146097);
    int64_t day_of_era = fz_floor_mod(days, 146097) + 719468 % 146097;
    era += 719468 / 146097 + day_of_era / 146097;
    day_of_era %= 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

void fz_date_format(fz_buf *out, int64_t days) {
    int64_t year;
    unsigned month;
    unsigned day;
    fz_civil_from_days(days, &year, &month, &day);
    const char *sign = year < 0 ? "-" : year > 9999 ? "+" : "";
    fz_buf_printf(out, "%s%04" PRId64 "-%02u-%02u", sign, year < 0 ? -year : year, month, day);
}

static void format_clock(fz_buf *out, int64_t seconds, int64_t fraction, int digits) {
    fz_buf_printf(out, "%02d:%02d:%02d.%0*" PRId64, (int)(seconds / 3600), (int)(seconds / 60 % 60),
                  (int)(seconds % 60), digits, fraction);
}

void fz_time_format(fz_buf *out, int64_t micros) {
    format_clock(out, micros / FZ_US_PER_SECOND, micros % FZ_US_PER_SECOND, 6);
}

static void format_instant(fz_buf *out, int64_t value, int64_t per_second, int digits, bool utc) {
    int64_t per_day = 86400 * per_second;
    int64_t in_day = fz_floor_mod(value, per_day);
    fz_date_format(out, fz_floor_div(value, per_day));
    fz_buf_append_byte(out, 'T');
    format_clock(out, in_day / per_second, in_day % per_second, digits);
    if (utc) {
        fz_buf_append_str(out, FZ_STR("+00:00"));
    }
}

void fz_timestamp_format(fz_buf *out, int64_t micros, bool utc) {
    format_instant(out, micros, FZ_US_PER_SECOND, 6, utc);
}

void fz_timestamp_ns_format(fz_buf *out, int64_t nanos, bool utc) {
    format_instant(out, nanos, INT64_C(1000000000), 9, utc);
}

// A reader of fixed forms; the first mismatch sticks.
typedef struct fz_scan {
    fz_str text;
    size_t at;
    bool bad;
} fz_scan;

static bool is_digit_at(const fz_scan *scan) {
    return scan->at < scan->text.size && scan->text.data[scan->at] >= '0' &&
           scan->text.data[scan->at] <= '9';
}

static int scan_digits(fz_scan *scan, int count) {
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (!is_digit_at(scan)) {
            scan->bad = true;
            return 0;
        }
        value = value * 10 + (scan->text.data[scan->at++] - '0');
    }
    return value;
}

static bool scan_if(fz_scan *scan, char c) {
    if (scan->at < scan->text.size && scan->text.data[scan->at] == c) {
        scan->at++;
        return true;
    }
    return false;
}

static void scan_char(fz_scan *scan, char c) {
    if (!scan_if(scan, c)) {
        scan->bad = true;
    }
}

static int64_t scan_date(fz_scan *scan) {
    static const unsigned char month_days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = scan_digits(scan, 4);
    scan_char(scan, '-');
    int month = scan_digits(scan, 2);
    scan_char(scan, '-');
    int day = scan_digits(scan, 2);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (scan->bad || month < 1 || month > 12 || day < 1 || day > month_days[month - 1] ||
        (month == 2 && day == 29 && !leap)) {
        scan->bad = true;
        return 0;
    }
    return fz_days_from_civil(year, (unsigned)month, (unsigned)day);
}

// HH:MM:SS with an optional fraction, in micros.
static int64_t scan_clock(fz_scan *scan) {
    int hour = scan_digits(scan, 2);
    scan_char(scan, ':');
    int minute = scan_digits(scan, 2);
    scan_char(scan, ':');
    int second = scan_digits(scan, 2);
    if (hour > 23 || minute > 59 || second > 59) {
        scan->bad = true;
    }
    int64_t micros = 0;
    if (scan_if(scan, '.')) {
        if (!is_digit_at(scan)) {
            scan->bad = true;
        }
        for (int64_t unit = FZ_US_PER_SECOND / 10; is_digit_at(scan); unit /= 10) {
            micros += unit * (scan->text.data[scan->at++] - '0');
        }
    }
    return ((hour * 60 + minute) * INT64_C(60) + second) * FZ_US_PER_SECOND + micros;
}

// Z or +HH:MM in micros to take off; *found tells whether there was one.
static int64_t scan_offset(fz_scan *scan, bool *found) {
    *found = true;
    if (scan_if(scan, 'Z') || scan_if(scan, 'z')) {
        return 0;
    }
    bool minus = scan_if(scan, '-');
    if (!minus && !scan_if(scan, '+')) {
        *found = false;
        return 0;
    }
    int hour = scan_digits(scan, 2);
    scan_char(scan, ':');
    int minute = scan_digits(scan, 2);
    if (hour > 23 || minute > 59) {
        scan->bad = true;
    }
    int64_t offset = (hour * 60 + minute) * 60 * FZ_US_PER_SECOND;
    return minus ? -offset : offset;
}

static fz_code scan_end(const fz_scan *scan, const char *what, fz_err *err) {
    if (scan->bad || scan->at != scan->text.size) {
        fz_str shown = fz_str_slice(scan->text, 0, 64);
        return fz_err_set(err, FZ_INVALID, "\"%.*s\" is not %s", FZ_STR_ARGS(shown), what);
    }
    return FZ_OK;
}

fz_code fz_date_parse(fz_str text, int64_t *days, fz_err *err) {
    fz_scan scan = {text, 0, false};
    int64_t value = scan_date(&scan);
    FZ_TRY(scan_end(&scan, "a date YYYY-MM-DD", err));
    *days = value;
    return FZ_OK;
}

fz_code fz_time_parse(fz_str text, int64_t *micros, fz_err *err) {
    fz_scan scan = {text, 0, false};
    int64_t value = scan_clock(&scan);
    bool found;
    value -= scan_offset(&scan, &found);
    FZ_TRY(scan_end(&scan, "a time HH:MM:SS[.ffffff]", err));
    *micros = fz_floor_mod(value, FZ_US_PER_DAY);
    return FZ_OK;
}

fz_code fz_timestamp_parse(fz_str text, bool zone, int64_t *micros, fz_err *err) {
    fz_scan scan = {text, 0, false};
    int64_t days = scan_date(&scan);
    if (fz_str_starts_with(text, FZ_STR("0000"))) {
        scan.bad = true;
    }
    if (!scan_if(&scan, 't')) {
        scan_char(&scan, 'T');
    }
    int64_t in_day = scan_clock(&scan);
    bool found;
    in_day -= scan_offset(&scan, &found);
    if (found != zone) {
        scan.bad = true;
    }
    FZ_TRY(scan_end(&scan, zone ? "a date-time with an offset" : "a date-time without an offset",
                    err));
    int64_t value;
    if (__builtin_mul_overflow(days, FZ_US_PER_DAY, &value) ||
        __builtin_add_overflow(value, in_day, &value)) {
        return fz_err_set(err, FZ_LIMIT, "\"%.*s\" does not fit 64 bits of microseconds",
                          FZ_STR_ARGS(text));
    }
    *micros = value;
    return FZ_OK;
}
