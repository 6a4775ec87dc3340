// SPDX-License-Identifier: Apache-2.0
// One pass over the digits; powers of ten that a double holds exactly, else the C library.
#include "format/json/number.h"

#include "base/text/number.h"

#define EXACT_DIGITS 19         // fit 64 bits
#define MAX_EXPONENT 1000000000 // no text has as many digits to make up for it

static bool is_digit(const uint8_t *p, const uint8_t *end) {
    return p < end && *p >= '0' && *p <= '9';
}

// Digits into the mantissa; those that do not fit make it inexact, unless they are zeros.
static const uint8_t *scan_digits(const uint8_t *p, const uint8_t *end, fz_json_number *out,
                                  unsigned *used, bool fraction) {
    for (; is_digit(p, end); p++) {
        if (*used < EXACT_DIGITS) {
            out->mantissa = out->mantissa * 10 + (uint64_t)(*p - '0');
            *used += out->mantissa != 0;
            out->exponent -= fraction;
        } else {
            out->exact = out->exact && *p == '0';
            out->exponent += !fraction;
        }
    }
    return p;
}

static const uint8_t *scan_exponent(const uint8_t *p, const uint8_t *end, fz_json_number *out) {
    bool minus = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    int64_t value = 0;
    for (; is_digit(p, end); p++) {
        value = value < MAX_EXPONENT ? value * 10 + (*p - '0') : value;
    }
    out->exponent += minus ? -value : value;
    return p;
}

const uint8_t *fz_json_number_scan(const uint8_t *p, const uint8_t *end, fz_json_number *out,
                                   const uint8_t **fault) {
    const uint8_t *start = p;
    unsigned used = 0;
    *out = (fz_json_number){.exact = true, .minus = *p == '-'};
    p += *p == '-';
    const uint8_t *first = p;
    p = scan_digits(p, end, out, &used, false);
    if (p == first || (*first == '0' && p > first + 1)) {
        *fault = p == first ? p : first + 1;
        return NULL;
    }
    if (p < end && *p == '.') {
        first = ++p;
        p = scan_digits(p, end, out, &used, true);
        if (p == first) {
            *fault = p;
            return NULL;
        }
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p = scan_exponent(p + 1, end, out);
        if (!is_digit(p - 1, p)) {
            *fault = p;
            return NULL;
        }
    }
    out->text = fz_str_make(start, (size_t)(p - start));
    return p;
}

// --- integers ---

fz_code fz_json_number_integer(const fz_json_number *number, int64_t *out) {
    uint64_t value = number->mantissa;
    int64_t exponent = number->exponent;
    if (value == 0) {
        *out = 0;
        return FZ_OK;
    }
    if (!number->exact) {
        // More than 19 digits that count: too large, or digits behind the point that are not zero.
        return exponent <= 0 ? FZ_INVALID : FZ_LIMIT;
    }
    for (; exponent < 0; exponent++) {
        if (value % 10 != 0) {
            return FZ_INVALID;
        }
        value /= 10;
    }
    for (; exponent > 0; exponent--) {
        if (__builtin_mul_overflow(value, 10u, &value)) {
            return FZ_LIMIT;
        }
    }
    if (value > (uint64_t)INT64_MAX + number->minus) {
        return FZ_LIMIT;
    }
    *out = number->minus ? (int64_t)(0 - value) : (int64_t)value;
    return FZ_OK;
}

// --- floating point ---

// Clinger's fast path: both are exact as doubles, so that one operation rounds once.
fz_code fz_json_number_double(const fz_json_number *number, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (FZ_LIKELY(number->exact && number->mantissa <= UINT64_C(1) << 53 &&
                  number->exponent >= -22 && number->exponent <= 22)) {
        double value = (double)number->mantissa;
        value = number->exponent < 0 ? value / powers[-number->exponent]
                                     : value * powers[number->exponent];
        *out = number->minus ? -value : value;
        return FZ_OK;
    }
    return fz_real_parse(number->text, out, NULL);
}

fz_code fz_json_number_float(const fz_json_number *number, float *out) {
    static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                   1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    if (FZ_LIKELY(number->exact && number->mantissa <= UINT64_C(1) << 24 &&
                  number->exponent >= -10 && number->exponent <= 10)) {
        float value = (float)number->mantissa;
        value = number->exponent < 0 ? value / powers[-number->exponent]
                                     : value * powers[number->exponent];
        *out = number->minus ? -value : value;
        return FZ_OK;
    }
    return fz_float_parse(number->text, out, NULL);
}
