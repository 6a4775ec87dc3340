// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and sizes as people write them.
#define _GNU_SOURCE
#include "base/text/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    FZ_ASSERT(c_locale != (locale_t)0);
}

static locale_t get_c_locale(void) {
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static fz_code not_a(fz_str text, const char *what, fz_err *err) {
    fz_str shown = fz_str_slice(text, 0, 64);
    return fz_err_set(err, FZ_INVALID, "\"%.*s\" is not %s", FZ_STR_ARGS(shown), what);
}

static fz_code too_large(fz_str text, fz_err *err) {
    fz_str shown = fz_str_slice(text, 0, 64);
    return fz_err_set(err, FZ_LIMIT, "\"%.*s\" is out of range", FZ_STR_ARGS(shown));
}

fz_code fz_int_parse(fz_str text, int64_t *out, fz_err *err) {
    size_t at = 0;
    bool minus = false;
    if (text.size && (text.data[0] == '-' || text.data[0] == '+')) {
        minus = text.data[0] == '-';
        at = 1;
    }
    if (at == text.size) {
        return not_a(text, "a whole number", err);
    }
    int64_t value = 0;
    bool over = false;
    for (; at < text.size; at++) {
        if (!is_digit(text.data[at])) {
            return not_a(text, "a whole number", err);
        }
        int64_t digit = text.data[at] - '0';
        over = over || __builtin_mul_overflow(value, 10, &value) ||
               __builtin_add_overflow(value, minus ? -digit : digit, &value);
    }
    if (over) {
        return too_large(text, err);
    }
    *out = value;
    return FZ_OK;
}

static bool parse_special(fz_str text, double *out) {
    bool minus = fz_str_starts_with(text, FZ_STR("-"));
    bool sign = minus || fz_str_starts_with(text, FZ_STR("+"));
    fz_str word = fz_str_slice(text, sign ? 1 : 0, text.size);
    if (fz_str_equal(word, FZ_STR("NaN"))) {
        *out = (double)NAN;
        return true;
    }
    if (fz_str_equal(word, FZ_STR("Infinity"))) {
        *out = minus ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    return false;
}

// A terminated copy of `text` in `small` or on the heap; NULL when it cannot be a number.
static char *number_copy(fz_str text, char *small, size_t size) {
    size_t at = text.size && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    bool starts_well = at < text.size && (is_digit(text.data[at]) || text.data[at] == '.');
    // strtod would stop at a zero byte and call that the end
    if (!starts_well || fz_str_find(text, 0, 0) != SIZE_MAX) {
        return NULL;
    }
    char *copy = text.size < size ? small : fz_alloc(text.size + 1);
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return copy;
}

// The nearest float, or the nearest double when `single` is NULL: the digits are rounded once.
static fz_code real_parse(fz_str text, float *single, double *out, fz_err *err) {
    char small[64];
    char *copy = number_copy(text, small, sizeof(small));
    if (!copy) {
        return not_a(text, "a number", err);
    }
    char *end;
    double value = single ? (double)strtof_l(copy, &end, get_c_locale())
                          : strtod_l(copy, &end, get_c_locale());
    bool whole = end == copy + text.size;
    if (copy != small) {
        fz_free(copy);
    }
    if (!whole) {
        return not_a(text, "a number", err);
    }
    if (isinf(value)) {
        return too_large(text, err);
    }
    *out = value;
    return FZ_OK;
}

fz_code fz_real_parse(fz_str text, double *out, fz_err *err) {
    return parse_special(text, out) ? FZ_OK : real_parse(text, NULL, out, err);
}

fz_code fz_float_parse(fz_str text, float *out, fz_err *err) {
    double value;
    if (!parse_special(text, &value)) {
        FZ_TRY(real_parse(text, out, &value, err));
    }
    *out = (float)value;
    return FZ_OK;
}

static size_t format_special(double value, char out[32]) {
    const char *word = isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    return (size_t)snprintf(out, 32, "%s", word);
}

size_t fz_real_format(double value, char out[32]) {
    if (!isfinite(value)) {
        return format_special(value, out);
    }
    // of normal numbers 15 digits always come back, so fewer are shorter only below them
    int digits = isnormal(value) || value == 0 ? 15 : 1;
    locale_t before = uselocale(get_c_locale());
    int size;
    for (;; digits++) {
        size = snprintf(out, 32, "%.*g", digits, value);
        if (digits >= 17 || strtod(out, NULL) == value) {
            break;
        }
    }
    uselocale(before);
    return (size_t)size;
}

size_t fz_float_format(float value, char out[32]) {
    if (!isfinite(value)) {
        return format_special((double)value, out);
    }
    int digits = isnormal(value) || value == 0 ? 6 : 1;
    locale_t before = uselocale(get_c_locale());
    int size;
    for (;; digits++) {
        size = snprintf(out, 32, "%.*g", digits, (double)value);
        if (digits >= 9 || strtof(out, NULL) == value) {
            break;
        }
    }
    uselocale(before);
    return (size_t)size;
}

typedef struct fz_unit {
    const char *name;
    int64_t factor;
} fz_unit;

// Digits, then one of the units; `exact` units are case-sensitive.
static fz_code parse_with_unit(fz_str text, const fz_unit *units, size_t count, bool exact,
                               const char *what, int64_t *out, fz_err *err) {
    size_t digits = 0;
    while (digits < text.size && is_digit(text.data[digits])) {
        digits++;
    }
    if (digits == 0) {
        return not_a(text, what, err);
    }
    fz_str unit = fz_str_slice(text, digits, text.size);
    for (size_t i = 0; i < count; i++) {
        fz_str name = fz_str_from(units[i].name);
        if (exact ? !fz_str_equal(unit, name) : !fz_str_equal_nocase(unit, name)) {
            continue;
        }
        int64_t value;
        if (fz_int_parse(fz_str_slice(text, 0, digits), &value, NULL) != FZ_OK ||
            __builtin_mul_overflow(value, units[i].factor, &value)) {
            return too_large(text, err);
        }
        *out = value;
        return FZ_OK;
    }
    return not_a(text, what, err);
}

fz_code fz_duration_parse(fz_str text, int64_t *ms, fz_err *err) {
    static const fz_unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
    };
    if (fz_str_equal(text, FZ_STR("0"))) {
        *ms = 0;
        return FZ_OK;
    }
    return parse_with_unit(text, units, FZ_COUNT(units), true,
                           "a duration such as 500ms, 30s, 5m, 2h or 7d", ms, err);
}

fz_code fz_size_parse(fz_str text, int64_t *bytes, fz_err *err) {
    static const fz_unit units[] = {
        {"", 1},
        {"B", 1},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", INT64_C(1000000000000)},
        {"KiB", 1 << 10},
        {"MiB", 1 << 20},
        {"GiB", 1 << 30},
        {"TiB", INT64_C(1) << 40},
    };
    return parse_with_unit(text, units, FZ_COUNT(units), false,
                           "a size such as 65536, 64KiB, 512MB or 1GiB", bytes, err);
}
