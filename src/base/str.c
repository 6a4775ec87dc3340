// SPDX-License-Identifier: Apache-2.0
// Comparison, search and copies of text views.
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

static unsigned char fold(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

int fz_str_compare(fz_str a, fz_str b) {
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool fz_str_equal_nocase(fz_str a, fz_str b) {
    if (a.size != b.size) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if (fold(a.data[i]) != fold(b.data[i])) {
            return false;
        }
    }
    return true;
}

bool fz_str_starts_with(fz_str s, fz_str prefix) {
    return s.size >= prefix.size &&
           (prefix.size == 0 || memcmp(s.data, prefix.data, prefix.size) == 0);
}

bool fz_str_ends_with(fz_str s, fz_str suffix) {
    return s.size >= suffix.size && (suffix.size == 0 || memcmp(s.data + (s.size - suffix.size),
                                                                suffix.data, suffix.size) == 0);
}

size_t fz_str_find(fz_str s, char c, size_t from) {
    if (from >= s.size) {
        return SIZE_MAX;
    }
    const char *at = memchr(s.data + from, c, s.size - from);
    return at ? (size_t)(at - s.data) : SIZE_MAX;
}

size_t fz_str_find_str(fz_str s, fz_str needle) {
    if (needle.size == 0) {
        return 0;
    }
    size_t at = 0;
    while ((at = fz_str_find(s, needle.data[0], at)) != SIZE_MAX && s.size - at >= needle.size) {
        if (memcmp(s.data + at, needle.data, needle.size) == 0) {
            return at;
        }
        at++;
    }
    return SIZE_MAX;
}

fz_str fz_str_slice(fz_str s, size_t from, size_t to) {
    to = to < s.size ? to : s.size;
    from = from < to ? from : to;
    return fz_str_make(from ? s.data + from : s.data, to - from);
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

fz_str fz_str_trim(fz_str s) {
    size_t from = 0;
    size_t to = s.size;
    while (from < to && is_space(s.data[from])) {
        from++;
    }
    while (to > from && is_space(s.data[to - 1])) {
        to--;
    }
    return fz_str_slice(s, from, to);
}

char *fz_str_dup(fz_str s) {
    return fz_memdup0(s.data, s.size);
}

char *fz_str_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    FZ_ASSERT(size >= 0);
    char *text = fz_alloc((size_t)size + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

size_t fz_str_distance(fz_str a, fz_str b) {
    enum { WIDEST = 64 };
    a = fz_str_slice(a, 0, WIDEST);
    b = fz_str_slice(b, 0, WIDEST);
    size_t row[WIDEST + 1];
    for (size_t j = 0; j <= b.size; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size; j++) {
            size_t change = diagonal + (a.data[i] != b.data[j]);
            size_t shift = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < shift ? change : shift;
        }
    }
    return row[b.size];
}
