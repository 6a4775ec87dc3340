// SPDX-License-Identifier: Apache-2.0
// Civil dates and instants as text; proleptic Gregorian, floor division everywhere.
#ifndef FZ_BASE_TEXT_TIME_H
#define FZ_BASE_TEXT_TIME_H

#include "base/buf.h"

#define FZ_US_PER_SECOND INT64_C(1000000)
#define FZ_US_PER_DAY (86400 * FZ_US_PER_SECOND)

/** Quotient towards minus infinity; b > 0. */
static inline int64_t fz_floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b < 0);
}
/** Remainder in [0, b); b > 0. */
static inline int64_t fz_floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

/** Days since 1970-01-01 of a civil date (month 1..12, day 1..31). */
int64_t fz_days_from_civil(int64_t year, unsigned month, unsigned day);
/** The civil date of a day number. */
void fz_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);

/** `YYYY-MM-DD`; years outside 0..9999 as `+10000-01-01`, `-0001-12-31`. */
void fz_date_format(fz_buf *out, int64_t days);
/** `HH:MM:SS.ffffff`; micros 0..86399999999. */
void fz_time_format(fz_buf *out, int64_t micros);
/** `<date>THH:MM:SS.ffffff`, and `+00:00` if `utc`. */
void fz_timestamp_format(fz_buf *out, int64_t micros, bool utc);
/** Nine digits. */
void fz_timestamp_ns_format(fz_buf *out, int64_t nanos, bool utc);
/** `YYYY-MM-DD` only; INVALID otherwise. */
FZ_CHECKED fz_code fz_date_parse(fz_str text, int64_t *days, fz_err *err);
/** `HH:MM:SS[.f+]`, digits beyond micros cut; an offset `Z` or `+HH:MM` is brought to UTC modulo 24
 * h. */
FZ_CHECKED fz_code fz_time_parse(fz_str text, int64_t *micros, fz_err *err);
/**
 * RFC 3339 date-time to micros, digits beyond micros cut towards minus infinity.
 *
 * zone  must have an offset (RFC 3339); if false must have none
 * Errors: INVALID not that form, second 60, year 0000, 24:00; LIMIT does not fit int64 micros.
 */
FZ_CHECKED fz_code fz_timestamp_parse(fz_str text, bool zone, int64_t *micros, fz_err *err);

#endif
