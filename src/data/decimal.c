// SPDX-License-Identifier: Apache-2.0
// Unscaled decimals: bytes and text.
#include "data/decimal.h"

static const int64_t powers[19] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

fz_i128 fz_decimal_power(int n) {
    FZ_ASSERT(n >= 0 && n <= 38);
    if (n <= 18) {
        return powers[n];
    }
    if (n <= 36) {
        return (fz_i128)powers[18] * powers[n - 18];
    }
    return (fz_i128)powers[18] * powers[18] * powers[n - 36];
}

bool fz_decimal_fits(fz_i128 value, int precision) {
    fz_i128 limit = fz_decimal_power(precision);
    return value < limit && value > -limit;
}

bool fz_decimal_from_be(const uint8_t *data, size_t size, fz_i128 *out) {
    if (size == 0) {
        return false;
    }
    uint8_t sign = data[0] & 0x80 ? 0xff : 0;
    while (size > 16 && data[0] == sign) {
        data++;
        size--;
    }
    if (size > 16 || (size == 16 && (data[0] & 0x80) != (sign & 0x80))) {
        return false;
    }
    fz_u128 value = sign ? ~(fz_u128)0 : 0;
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | data[i];
    }
    *out = (fz_i128)value;
    return true;
}

void fz_decimal_to_be(fz_i128 value, uint8_t *out, size_t size) {
    fz_u128 bits = (fz_u128)value;
    for (size_t i = size; i-- > 0;) {
        out[i] = (uint8_t)bits;
        bits >>= 8;
    }
}

size_t fz_decimal_to_be_min(fz_i128 value, uint8_t out[16]) {
    uint8_t full[16];
    fz_decimal_to_be(value, full, 16);
    uint8_t sign = value < 0 ? 0xff : 0;
    size_t skip = 0;
    while (skip < 15 && full[skip] == sign && ((full[skip + 1] ^ sign) & 0x80) == 0) {
        skip++;
    }
    memcpy(out, full + skip, 16 - skip);
    return 16 - skip;
}

int fz_decimal_fixed_size(int precision) {
    fz_u128 limit = (fz_u128)fz_decimal_power(precision);
    int size = 1;
    while (size < 16 && ((fz_u128)1 << (8 * size - 1)) < limit) {
        size++;
    }
    return size;
}

void fz_decimal_format(fz_buf *out, fz_i128 value, int scale) {
    FZ_ASSERT(scale >= 0 && scale <= 38);
    fz_u128 rest = value < 0 ? -(fz_u128)value : (fz_u128)value;
    char text[48]; // 39 digits, point, sign
    size_t at = sizeof(text);
    for (int digits = 0; rest || digits <= scale; digits++) {
        if (digits == scale && scale) {
            text[--at] = '.';
        }
        text[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    if (value < 0) {
        text[--at] = '-';
    }
    fz_buf_append(out, text + at, sizeof(text) - at);
}

// A number taken apart: `digits` significant ones (no zeros at either end) times 10^exponent.
typedef struct parts {
    bool negative;
    fz_u128 digits; // of the first 38
    int64_t digit_count;
    int64_t exponent;
} parts;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void add_digit(parts *p, char c, int64_t *zeros) {
    if (c == '0') {
        // Counts only if a digit other than 0 follows.
        *zeros += p->digit_count > 0;
        return;
    }
    int64_t more = *zeros + 1;
    if (p->digit_count + more <= 38) {
        for (int64_t i = 0; i < more; i++) {
            p->digits *= 10;
        }
        p->digits += (unsigned)(c - '0');
    }
    p->digit_count += more;
    *zeros = 0;
}

static bool split(fz_str text, parts *p) {
    size_t i = 0;
    int64_t zeros = 0;
    int64_t fraction = 0;
    size_t digits = 0;
    if (i < text.size && (text.data[i] == '-' || text.data[i] == '+')) {
        p->negative = text.data[i++] == '-';
    }
    for (; i < text.size && is_digit(text.data[i]); i++, digits++) {
        add_digit(p, text.data[i], &zeros);
    }
    if (i < text.size && text.data[i] == '.') {
        for (i++; i < text.size && is_digit(text.data[i]); i++, digits++, fraction++) {
            add_digit(p, text.data[i], &zeros);
        }
    }
    if (digits == 0) {
        return false;
    }
    int64_t exponent = 0;
    if (i < text.size && (text.data[i] == 'e' || text.data[i] == 'E')) {
        bool negative = false;
        i++;
        if (i < text.size && (text.data[i] == '-' || text.data[i] == '+')) {
            negative = text.data[i++] == '-';
        }
        if (i == text.size) {
            return false;
        }
        for (; i < text.size && is_digit(text.data[i]); i++) {
            // Held at a value that no number of digits in memory can make up for.
            exponent = exponent < INT64_C(1000000000000000) ? exponent * 10 + (text.data[i] - '0')
                                                            : exponent;
        }
        exponent = negative ? -exponent : exponent;
    }
    p->exponent = exponent - fraction + zeros;
    return i == text.size;
}

fz_code fz_decimal_parse(fz_str text, int precision, int scale, fz_i128 *out, fz_err *err) {
    parts p = {0};
    fz_str shown = fz_str_slice(text, 0, 80);
    if (!split(text, &p)) {
        return fz_err_set(err, FZ_INVALID, "\"%.*s\" is not a number", FZ_STR_ARGS(shown));
    }
    if (p.digit_count == 0) {
        *out = 0;
        return FZ_OK;
    }
    int64_t shift = p.exponent + scale;
    if (shift < 0) {
        return fz_err_set(err, FZ_LIMIT, "%.*s has more than %d digits behind the point",
                          FZ_STR_ARGS(shown), scale);
    }
    if (p.digit_count > precision || shift > precision - p.digit_count) {
        return fz_err_set(err, FZ_LIMIT, "%.*s does not fit decimal(%d, %d)", FZ_STR_ARGS(shown),
                          precision, scale);
    }
    fz_i128 value = (fz_i128)p.digits * fz_decimal_power((int)shift);
    *out = p.negative ? -value : value;
    return FZ_OK;
}
