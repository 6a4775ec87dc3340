// SPDX-License-Identifier: Apache-2.0
// Bytes as text.
#include "base/codec/text_codec.h"

void fz_base64_encode(fz_buf *out, fz_str bytes) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!fz_buf_reserve(out, bytes.size / 3 * 4 + (bytes.size % 3 ? 4 : 0))) {
        return;
    }
    const uint8_t *p = (const uint8_t *)bytes.data;
    char *to = (char *)out->data + out->size;
    char *start = to;
    size_t left = bytes.size;
    for (; left >= 3; left -= 3, p += 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        *to++ = alphabet[v >> 18];
        *to++ = alphabet[v >> 12 & 63];
        *to++ = alphabet[v >> 6 & 63];
        *to++ = alphabet[v & 63];
    }
    if (left) {
        uint32_t v = (uint32_t)p[0] << 16 | (left == 2 ? (uint32_t)p[1] << 8 : 0);
        *to++ = alphabet[v >> 18];
        *to++ = alphabet[v >> 12 & 63];
        *to++ = left == 2 ? alphabet[v >> 6 & 63] : '=';
        *to++ = '=';
    }
    out->size += (size_t)(to - start);
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static fz_code invalid_at(size_t at, const char *what, fz_err *err) {
    fz_err_set(err, FZ_INVALID, "%s at byte %zu", what, at);
    if (err) {
        err->offset = (int64_t)at;
    }
    return FZ_INVALID;
}

fz_code fz_base64_decode(fz_buf *out, fz_str text, fz_err *err) {
    size_t size = text.size;
    size_t padding = 0;
    while (padding < 2 && size > 0 && text.data[size - 1] == '=') {
        size--;
        padding++;
    }
    if (size % 4 == 1 || (padding && text.size % 4 != 0)) {
        return invalid_at(size, "base64 text has a bad length or padding", err);
    }
    for (size_t i = 0; i < size; i++) {
        if (base64_digit(text.data[i]) < 0) {
            return invalid_at(i, "base64 text has a character outside its alphabet", err);
        }
    }
    if (fz_buf_reserve(out, size / 4 * 3 + 3)) {
        uint32_t bits = 0;
        unsigned held = 0;
        for (size_t i = 0; i < size; i++) {
            bits = bits << 6 | (uint32_t)base64_digit(text.data[i]);
            held += 6;
            if (held >= 8) {
                held -= 8;
                out->data[out->size++] = (uint8_t)(bits >> held);
            }
        }
    }
    return fz_buf_check(out, "decoded base64", err);
}

void fz_hex_encode(fz_buf *out, fz_str bytes) {
    static const char digits[] = "0123456789abcdef";
    if (bytes.size > SIZE_MAX / 2) {
        out->failed = true;
        return;
    }
    if (!fz_buf_reserve(out, bytes.size * 2)) {
        return;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t byte = (uint8_t)bytes.data[i];
        out->data[out->size++] = (uint8_t)digits[byte >> 4];
        out->data[out->size++] = (uint8_t)digits[byte & 15];
    }
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

fz_code fz_hex_decode(fz_buf *out, fz_str text, fz_err *err) {
    if (text.size % 2) {
        return invalid_at(text.size, "hex text has an odd number of digits", err);
    }
    for (size_t i = 0; i < text.size; i++) {
        if (hex_digit(text.data[i]) < 0) {
            return invalid_at(i, "hex text has a character that is no digit", err);
        }
    }
    if (fz_buf_reserve(out, text.size / 2)) {
        for (size_t i = 0; i < text.size; i += 2) {
            out->data[out->size++] =
                (uint8_t)(hex_digit(text.data[i]) << 4 | hex_digit(text.data[i + 1]));
        }
    }
    return fz_buf_check(out, "decoded hex", err);
}

static bool is_tail(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

// Bytes of the well-formed character at p, 0 if there is none. Unicode 15, table 3-7.
static size_t character_size(const uint8_t *p, size_t left) {
    uint8_t lead = p[0];
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2) {
        return 0;
    }
    if (lead < 0xe0) {
        return left >= 2 && is_tail(p[1]) ? 2 : 0;
    }
    if (lead < 0xf0) {
        bool well = left >= 3 && is_tail(p[1]) && is_tail(p[2]) && (lead != 0xe0 || p[1] >= 0xa0) &&
                    (lead != 0xed || p[1] < 0xa0);
        return well ? 3 : 0;
    }
    bool well = lead < 0xf5 && left >= 4 && is_tail(p[1]) && is_tail(p[2]) && is_tail(p[3]) &&
                (lead != 0xf0 || p[1] >= 0x90) && (lead != 0xf4 || p[1] < 0x90);
    return well ? 4 : 0;
}

bool fz_utf8_valid(const void *data, size_t size) {
    const uint8_t *p = data;
    size_t at = 0;
    while (at < size) {
        while (size - at >= 8) {
            uint64_t word;
            memcpy(&word, p + at, 8);
            if (word & UINT64_C(0x8080808080808080)) {
                break;
            }
            at += 8;
        }
        // a run of eight bytes that holds more than ASCII, or the last few
        size_t stop = size - at >= 8 ? at + 8 : size;
        while (at < stop) {
            size_t step = character_size(p + at, size - at);
            if (step == 0) {
                return false;
            }
            at += step;
        }
    }
    return true;
}

void fz_utf8_append_lossy(fz_buf *out, fz_str text) {
    const uint8_t *p = (const uint8_t *)text.data;
    for (size_t at = 0; at < text.size;) {
        size_t step = character_size(p + at, text.size - at);
        if (step == 0) {
            fz_buf_append_str(out, FZ_STR("\xef\xbf\xbd"));
            at++;
        } else {
            fz_buf_append_str(out, fz_str_slice(text, at, at + step));
            at += step;
        }
    }
}

size_t fz_utf8_prefix(fz_str text, size_t count) {
    size_t at = 0;
    while (at < text.size) {
        if (!is_tail((uint8_t)text.data[at])) {
            if (count == 0) {
                break;
            }
            count--;
        }
        at++;
    }
    return at;
}

void fz_utf8_append(fz_buf *out, uint32_t code_point) {
    uint32_t c = code_point;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        c = 0xfffd;
    }
    uint8_t bytes[4];
    size_t size;
    if (c < 0x80) {
        bytes[0] = (uint8_t)c;
        size = 1;
    } else if (c < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | c >> 6);
        bytes[1] = (uint8_t)(0x80 | (c & 63));
        size = 2;
    } else if (c < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | c >> 12);
        bytes[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        bytes[2] = (uint8_t)(0x80 | (c & 63));
        size = 3;
    } else {
        bytes[0] = (uint8_t)(0xf0 | c >> 18);
        bytes[1] = (uint8_t)(0x80 | (c >> 12 & 63));
        bytes[2] = (uint8_t)(0x80 | (c >> 6 & 63));
        bytes[3] = (uint8_t)(0x80 | (c & 63));
        size = 4;
    }
    fz_buf_append(out, bytes, size);
}

static bool is_unreserved(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void fz_percent_encode(fz_buf *out, fz_str text, const char *keep) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (is_unreserved(c) || (c && keep && strchr(keep, c))) {
            fz_buf_append_byte(out, (uint8_t)c);
        } else {
            uint8_t byte = (uint8_t)c;
            char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
            fz_buf_append(out, escape, sizeof(escape));
        }
    }
}

void fz_percent_decode(fz_buf *out, fz_str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%' && text.size - i > 2) {
            int high = hex_digit(text.data[i + 1]);
            int low = hex_digit(text.data[i + 2]);
            if (high >= 0 && low >= 0) {
                fz_buf_append_byte(out, (uint8_t)(high << 4 | low));
                i += 2;
                continue;
            }
        }
        fz_buf_append_byte(out, (uint8_t)c);
    }
}

static bool is_uuid_dash(size_t at) {
    return at == 8 || at == 13 || at == 18 || at == 23;
}

bool fz_uuid_parse(fz_str text, uint8_t out[16]) {
    if (text.size != 36) {
        return false;
    }
    uint8_t bytes[16];
    size_t count = 0;
    for (size_t i = 0; i < 36; i++) {
        if (is_uuid_dash(i)) {
            if (text.data[i] != '-') {
                return false;
            }
            continue;
        }
        int high = hex_digit(text.data[i]);
        int low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[count++] = (uint8_t)(high << 4 | low);
        i++;
    }
    memcpy(out, bytes, 16);
    return true;
}

void fz_uuid_format(const uint8_t bytes[16], char out[37]) {
    static const char digits[] = "0123456789abcdef";
    char *to = out;
    for (size_t i = 0; i < 16; i++) {
        if (is_uuid_dash((size_t)(to - out))) {
            *to++ = '-';
        }
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = 0;
}
