// SPDX-License-Identifier: Apache-2.0
// The delta encodings of integers.
#include "format/parquet/delta.h"

#include "base/memory.h"
#include "format/parquet/rle.h"

enum {
    BLOCK_VALUES = 128,
    MINIBLOCKS = 4,
    MINI_VALUES = BLOCK_VALUES / MINIBLOCKS,
    BLOCK_VALUES_MAX = 1 << 20, // what a reader believes
};

static void append_varint(fz_buf *out, uint64_t value) {
    while (value > 0x7f) {
        fz_buf_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    fz_buf_append_byte(out, (uint8_t)value);
}

static void append_zigzag(fz_buf *out, int64_t value) {
    append_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static inline uint64_t load(const void *values, size_t i, int width) {
    return width == 4 ? (uint64_t)(int64_t)((const int32_t *)values)[i]
                      : ((const uint64_t *)values)[i];
}

static unsigned width_of(uint64_t max) {
    return max ? 64 - (unsigned)__builtin_clzll(max) : 0;
}

/** Append MINI_VALUES values of `width` bits (0..64). */
static void append_bits(fz_buf *out, const uint64_t *values, unsigned width) {
    __extension__ unsigned __int128 bits = 0;
    unsigned used = 0;
    for (size_t i = 0; i < MINI_VALUES; i++) {
        bits |= (__extension__(unsigned __int128) values[i]) << used;
        used += width;
        if (used >= 64) {
            fz_buf_append_le64(out, (uint64_t)bits);
            bits >>= 64;
            used -= 64;
        }
    }
    uint64_t rest = (uint64_t)bits;
    fz_buf_append(out, &rest, (used + 7) / 8);
}

void fz_parquet_delta_encode(fz_buf *out, const void *values, size_t count, int width) {
    append_varint(out, BLOCK_VALUES);
    append_varint(out, MINIBLOCKS);
    append_varint(out, count);
    append_zigzag(out, count ? (int64_t)load(values, 0, width) : 0);
    uint64_t last = count ? load(values, 0, width) : 0;
    for (size_t from = 1; from < count; from += BLOCK_VALUES) {
        uint64_t deltas[BLOCK_VALUES] = {0};
        size_t n = count - from < BLOCK_VALUES ? count - from : BLOCK_VALUES;
        int64_t min = INT64_MAX;
        for (size_t i = 0; i < n; i++) {
            uint64_t value = load(values, from + i, width);
            uint64_t delta = value - last; // wraps, as the format wants
            if (width == 4) {
                delta = (uint64_t)(int64_t)(int32_t)(uint32_t)delta;
            }
            deltas[i] = delta;
            min = (int64_t)delta < min ? (int64_t)delta : min;
            last = value;
        }
        append_zigzag(out, min);
        uint8_t widths[MINIBLOCKS] = {0};
        for (size_t i = 0; i < n; i++) {
            deltas[i] -= (uint64_t)min;
            if (width == 4) {
                deltas[i] &= UINT32_MAX;
            }
            unsigned bits = width_of(deltas[i]);
            uint8_t *mini = &widths[i / MINI_VALUES];
            *mini = bits > *mini ? (uint8_t)bits : *mini;
        }
        fz_buf_append(out, widths, sizeof widths);
        for (size_t m = 0; m < MINIBLOCKS && m * MINI_VALUES < n; m++) {
            append_bits(out, deltas + m * MINI_VALUES, widths[m]);
        }
    }
}

/** `count` values of `width` bits from `bytes` of `size`. */
static void unpack(const uint8_t *bytes, size_t size, unsigned width, uint64_t *out, size_t count) {
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    size_t bit = 0;
    for (size_t i = 0; i < count; i++, bit += width) {
        size_t at = bit >> 3;
        uint8_t window[16] = {0};
        size_t left = size - at;
        memcpy(window, bytes + at, left < 9 ? left : 9);
        uint64_t low;
        memcpy(&low, window, 8);
        unsigned shift = bit & 7;
        uint64_t value = low >> shift;
        if (shift) {
            value |= (uint64_t)window[8] << (64 - shift);
        }
        out[i] = value & mask;
    }
}

static bool decode_block(fz_cur *cur, int width, size_t miniblocks, size_t mini_values,
                         uint64_t *last, int64_t *out, size_t wanted) {
    int64_t min = fz_cur_zigzag(cur);
    const uint8_t *widths = fz_cur_bytes(cur, miniblocks);
    if (!widths) {
        return false;
    }
    size_t done = 0;
    for (size_t m = 0; m < miniblocks && done < wanted; m++) {
        unsigned bits = widths[m];
        if (bits > 64) {
            return false;
        }
        size_t n = wanted - done < mini_values ? wanted - done : mini_values;
        size_t size = mini_values / 8 * bits; // mini_values is a multiple of 8
        // The padding of the last miniblock is missing in files of some writers.
        size_t needed = (n * bits + 7) / 8;
        if (size > fz_cur_left(cur) && needed <= fz_cur_left(cur) && done + n == wanted) {
            size = fz_cur_left(cur);
        }
        const uint8_t *bytes = fz_cur_bytes(cur, size);
        if (!bytes) {
            return false;
        }
        if (bits == 0) {
            memset(out + done, 0, n * sizeof *out);
        } else {
            unpack(bytes, size, bits, (uint64_t *)(void *)(out + done), n);
        }
        for (size_t i = 0; i < n; i++) {
            *last += (uint64_t)out[done + i] + (uint64_t)min;
            out[done + i] = width == 4 ? (int32_t)(uint32_t)*last : (int64_t)*last;
        }
        done += n;
    }
    return true;
}

bool fz_parquet_delta_decode(fz_cur *cur, int width, int64_t *out, size_t count, size_t *found) {
    uint64_t block = fz_cur_varint(cur);
    uint64_t miniblocks = fz_cur_varint(cur);
    uint64_t total = fz_cur_varint(cur);
    uint64_t last = (uint64_t)fz_cur_zigzag(cur);
    if (cur->fault != FZ_CUR_OK || block == 0 || block > BLOCK_VALUES_MAX || miniblocks == 0 ||
        miniblocks > block || block % miniblocks != 0 || block / miniblocks % 8 != 0 ||
        total > count) {
        return false;
    }
    *found = total;
    if (total == 0) {
        return true;
    }
    out[0] = width == 4 ? (int32_t)(uint32_t)last : (int64_t)last;
    for (size_t done = 1; done < total;) {
        size_t n = total - done < block ? total - done : block;
        if (!decode_block(cur, width, miniblocks, block / miniblocks, &last, out + done, n)) {
            return false;
        }
        done += n;
    }
    return cur->fault == FZ_CUR_OK;
}
