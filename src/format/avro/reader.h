// SPDX-License-Identifier: Apache-2.0
// Inline reads of Avro's binary form for the decoder's loop: a position goes in, the next one or
// NULL comes out.
#ifndef FZ_FORMAT_AVRO_READER_H
#define FZ_FORMAT_AVRO_READER_H

#include <string.h>

#include "base/attr.h"

/** The rare half of fz_avro_read_varint: near the end, or of more than 8 bytes. */
const uint8_t *fz_avro_read_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *out);

/**
 * Varint of at most 10 bytes that fits 64 bits; NULL when it is cut or too long.
 * Up to 8 bytes are taken at once, since a loop that ends at a different byte each time is
 * mispredicted.
 */
static inline const uint8_t *fz_avro_read_varint(const uint8_t *p, const uint8_t *end,
                                                 uint64_t *out) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (FZ_LIKELY(end - p >= 8)) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        if (!(word & 0x80)) {
            *out = word & 0x7f;
            return p + 1;
        }
        uint64_t stop = ~word & UINT64_C(0x8080808080808080);
        if (FZ_LIKELY(stop)) {
            unsigned bits = (unsigned)__builtin_ctzll(stop) + 1; // 16, 24 ... 64
            word &= UINT64_MAX >> (64 - bits);
            word = (word & UINT64_C(0x007f007f007f007f)) |
                   ((word & UINT64_C(0x7f007f007f007f00)) >> 1);
            word = (word & UINT64_C(0x00003fff00003fff)) |
                   ((word & UINT64_C(0x3fff00003fff0000)) >> 2);
            word = (word & UINT64_C(0x000000000fffffff)) |
                   ((word & UINT64_C(0x0fffffff00000000)) >> 4);
            *out = word;
            return p + bits / 8;
        }
    }
#endif
    return fz_avro_read_varint_slow(p, end, out);
}

static inline const uint8_t *fz_avro_read_long(const uint8_t *p, const uint8_t *end, int64_t *out) {
    uint64_t value = 0;
    p = fz_avro_read_varint(p, end, &value);
    *out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    return p;
}

/** Copies `size` bytes (up to 64) and tells whether all are ASCII. */
static inline bool fz_avro_copy_short(uint8_t *to, const uint8_t *from, size_t size) {
    if (size >= 8) {
        uint64_t seen = 0;
        uint64_t word;
        for (size_t i = 0; i + 8 < size; i += 8) {
            memcpy(&word, from + i, 8);
            memcpy(to + i, &word, 8);
            seen |= word;
        }
        memcpy(&word, from + size - 8, 8);
        memcpy(to + size - 8, &word, 8);
        return ((seen | word) & UINT64_C(0x8080808080808080)) == 0;
    }
    if (size >= 4) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, from, 4);
        memcpy(&last, from + size - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + size - 4, &last, 4);
        return ((first | last) & 0x80808080u) == 0;
    }
    unsigned seen = 0;
    for (size_t i = 0; i < size; i++) {
        to[i] = from[i];
        seen |= from[i];
    }
    return seen < 0x80;
}

#endif
