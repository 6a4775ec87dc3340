// SPDX-License-Identifier: Apache-2.0
// The two loops that see every byte: white space, and the plain part of a text. 16 bytes at a time
// where the machine has SSE2.
#ifndef FZ_FORMAT_JSON_SCAN_H
#define FZ_FORMAT_JSON_SCAN_H

#include "base/attr.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/** Behind white space. */
static inline const uint8_t *fz_json_space(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
    }
    return p;
}

/** The first byte at or after `p` that ends plain text (a quote, a backslash, a control character),
 * or `end`; *high collects a non-zero value when a byte before it is not ASCII. */
static inline const uint8_t *fz_json_plain(const uint8_t *p, const uint8_t *end, unsigned *high) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
        stop = _mm_or_si128(stop, _mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control));
        unsigned mask = (unsigned)_mm_movemask_epi8(stop);
        unsigned above = (unsigned)_mm_movemask_epi8(bytes);
        if (mask) {
            unsigned at = (unsigned)__builtin_ctz(mask);
            *high |= above & ((1u << at) - 1);
            return p + at;
        }
        *high |= above;
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) {
        *high |= *p & 0x80;
        p++;
    }
    return p;
}

#endif
