// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the RLE / bit-packing hybrid, eight values at a time.
#include "format/parquet/rle.h"

enum {
    GROUP = 8,
    RUN_MIN = 16, // shorter runs of one value stay in the bit-packed run around them
    SLACK = 32,   // bytes that packing may write past what counts
};

/** Values at i: 32-bit integers, or bytes. Inlined with a constant `bytes`. */
__attribute__((always_inline)) static inline uint32_t load(const void *values, size_t i,
                                                           bool bytes) {
    return bytes ? ((const uint8_t *)values)[i] : ((const uint32_t *)values)[i];
}

/** Write 8 values as `width` bytes; up to SLACK bytes at `at` are touched. */
static inline void pack8(uint8_t *at, const uint32_t v[GROUP], unsigned width) {
    if (width <= 8) {
        uint64_t bits = 0;
        for (unsigned j = 0; j < GROUP; j++) {
            bits |= (uint64_t)v[j] << (j * width);
        }
        memcpy(at, &bits, 8);
    } else if (width <= 16) {
        uint64_t low = 0;
        uint64_t high = 0;
        for (unsigned j = 0; j < 4; j++) {
            low |= (uint64_t)v[j] << (j * width);
            high |= (uint64_t)v[j + 4] << (j * width);
        }
        unsigned shift = 4 * width; // 36..64 bits
        uint64_t first = shift < 64 ? low | high << shift : low;
        uint64_t second = shift < 64 ? high >> (64 - shift) : high;
        memcpy(at, &first, 8);
        memcpy(at + 8, &second, 8);
    } else {
        uint64_t bits = 0;
        unsigned used = 0;
        for (unsigned j = 0; j < GROUP; j++) {
            bits |= (uint64_t)v[j] << used;
            used += width;
            if (used >= 32) {
                uint32_t word = (uint32_t)bits;
                memcpy(at, &word, 4);
                at += 4;
                bits >>= 32;
                used -= 32;
            }
        }
        memcpy(at, &bits, 8);
    }
}

static void append_varint(fz_buf *out, uint64_t value) {
    while (value > 0x7f) {
        fz_buf_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    fz_buf_append_byte(out, (uint8_t)value);
}

void fz_parquet_rle_encode_run(fz_buf *out, uint32_t value, size_t count, unsigned bit_width) {
    if (count == 0) {
        return;
    }
    append_varint(out, (uint64_t)count << 1);
    fz_buf_append(out, &value, (bit_width + 7) / 8);
}

/** Append `count` values as one bit-packed run; only the last of a page may have a count that is no
 * multiple of 8. */
__attribute__((always_inline)) static inline void
append_packed(fz_buf *out, const void *values, size_t count, unsigned width, bool bytes) {
    if (count == 0) {
        return;
    }
    size_t groups = (count + GROUP - 1) / GROUP;
    append_varint(out, (uint64_t)groups << 1 | 1);
    if (!fz_buf_reserve(out, groups * width + SLACK)) {
        return;
    }
    uint8_t *at = out->data + out->size;
    for (size_t g = 0; g < groups; g++, at += width) {
        uint32_t v[GROUP] = {0};
        size_t n = count - g * GROUP < GROUP ? count - g * GROUP : GROUP;
        if (FZ_LIKELY(n == GROUP)) {
            for (unsigned j = 0; j < GROUP; j++) {
                v[j] = load(values, g * GROUP + j, bytes);
            }
        } else {
            for (unsigned j = 0; j < n; j++) {
                v[j] = load(values, g * GROUP + j, bytes);
            }
        }
        pack8(at, v, width);
    }
    out->size += groups * width;
}

__attribute__((always_inline)) static inline void encode(fz_buf *out, const void *values,
                                                         size_t count, unsigned width, bool bytes) {
    size_t stride = bytes ? 1 : 4;
    const uint8_t *base = (const uint8_t *)values;
    size_t packed = 0; // first value not yet written; groups of eight count from here
    size_t i = 0;
    while (count - i >= GROUP) {
        uint32_t value = load(values, i, bytes);
        uint32_t differs = 0;
        for (unsigned j = 1; j < GROUP; j++) {
            differs |= load(values, i + j, bytes) ^ value;
        }
        if (FZ_LIKELY(differs != 0)) {
            i += GROUP;
            continue;
        }
        size_t run = i + GROUP;
        while (run < count && load(values, run, bytes) == value) {
            run++;
        }
        if (run - i < RUN_MIN) {
            i += GROUP;
            continue;
        }
        append_packed(out, base + packed * stride, i - packed, width, bytes);
        fz_parquet_rle_encode_run(out, value, run - i, width);
        packed = i = run;
    }
    append_packed(out, base + packed * stride, count - packed, width, bytes);
}

void fz_parquet_rle_encode(fz_buf *out, const uint32_t *values, size_t count, unsigned bit_width) {
    if (bit_width == 0) {
        fz_parquet_rle_encode_run(out, 0, count, 0);
        return;
    }
    encode(out, values, count, bit_width, false);
}

void fz_parquet_rle_encode_levels(fz_buf *out, const uint8_t *levels, size_t count,
                                  unsigned bit_width) {
    if (bit_width == 0) {
        fz_parquet_rle_encode_run(out, 0, count, 0);
        return;
    }
    encode(out, levels, count, bit_width, true);
}

void fz_parquet_bits_pack(fz_buf *out, const uint32_t *values, size_t count, unsigned bit_width) {
    if (bit_width == 0 || !fz_buf_reserve(out, count / GROUP * bit_width + SLACK)) {
        return;
    }
    uint8_t *at = out->data + out->size;
    for (size_t i = 0; i + GROUP <= count; i += GROUP, at += bit_width) {
        pack8(at, values + i, bit_width);
    }
    out->size += count / GROUP * bit_width;
}

void fz_parquet_rle_init(fz_parquet_rle *rle, fz_str bytes, unsigned bit_width) {
    static const uint8_t nothing[1];
    const uint8_t *at = bytes.size ? (const uint8_t *)bytes.data : nothing;
    *rle = (fz_parquet_rle){
        .at = at,
        .end = at + bytes.size,
        .bit_width = bit_width,
    };
}

/** Read the head of the next run; false at the end or when it is malformed. */
static bool next_run(fz_parquet_rle *rle) {
    fz_cur cur = fz_cur_make(rle->at, (size_t)(rle->end - rle->at));
    uint64_t head = fz_cur_varint(&cur);
    if (cur.fault != FZ_CUR_OK || head >> 1 == 0) {
        return false;
    }
    if (head & 1) {
        uint64_t groups = head >> 1;
        size_t left = fz_cur_left(&cur);
        // Some writers cut the padding of the last group.
        uint64_t most = rle->bit_width ? (uint64_t)left * 8 / rle->bit_width : UINT32_MAX;
        rle->packed = groups > most / GROUP ? most : groups * GROUP;
        rle->packed_at = rle->at + cur.pos;
        rle->packed_bit = 0;
        uint64_t bytes = groups > left ? left : groups * rle->bit_width;
        cur.pos += bytes > left ? left : (size_t)bytes;
        rle->at += cur.pos;
        return rle->packed > 0;
    }
    size_t size = (rle->bit_width + 7) / 8;
    const uint8_t *value = fz_cur_bytes(&cur, size);
    rle->value = 0;
    if (value) {
        memcpy(&rle->value, value, size);
    }
    if (rle->bit_width < 32 && rle->value >> rle->bit_width) {
        return false;
    }
    rle->repeated = head >> 1;
    rle->at += cur.pos;
    return cur.fault == FZ_CUR_OK;
}

static inline uint32_t unpack_one(const fz_parquet_rle *rle, uint64_t bit, uint32_t mask) {
    const uint8_t *at = rle->packed_at + (bit >> 3);
    uint64_t word = 0;
    size_t left = (size_t)(rle->end - at);
    memcpy(&word, at, left < 8 ? left : 8);
    return (uint32_t)(word >> (bit & 7)) & mask;
}

__attribute__((always_inline)) static inline void unpack(fz_parquet_rle *rle, void *out,
                                                         size_t from, size_t count, bool bytes) {
    unsigned width = rle->bit_width;
    uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
    uint64_t bit = rle->packed_bit;
    size_t i = 0;
    // Whole words while eight bytes can be read.
    size_t safe = 0;
    int64_t readable = (rle->end - rle->packed_at) - 8;
    if (width > 0 && readable >= 0) {
        uint64_t last = (uint64_t)readable * 8;
        safe = bit <= last ? (size_t)((last - bit) / width) : 0;
        safe = safe < count ? safe : count;
    }
    for (; i < safe; i++, bit += width) {
        uint64_t word;
        memcpy(&word, rle->packed_at + (bit >> 3), 8);
        uint32_t value = (uint32_t)(word >> (bit & 7)) & mask;
        if (bytes) {
            ((uint8_t *)out)[from + i] = (uint8_t)value;
        } else {
            ((uint32_t *)out)[from + i] = value;
        }
    }
    for (; i < count; i++, bit += width) {
        uint32_t value = width ? unpack_one(rle, bit, mask) : 0;
        if (bytes) {
            ((uint8_t *)out)[from + i] = (uint8_t)value;
        } else {
            ((uint32_t *)out)[from + i] = value;
        }
    }
    rle->packed_bit = bit;
    rle->packed -= count;
}

__attribute__((always_inline)) static inline bool decode(fz_parquet_rle *rle, void *out,
                                                         size_t count, bool bytes) {
    size_t done = 0;
    while (done < count) {
        size_t left = count - done;
        if (rle->repeated > 0) {
            size_t n = rle->repeated < left ? (size_t)rle->repeated : left;
            if (bytes) {
                memset((uint8_t *)out + done, (uint8_t)rle->value, n);
            } else {
                for (size_t i = 0; i < n; i++) {
                    ((uint32_t *)out)[done + i] = rle->value;
                }
            }
            rle->repeated -= n;
            done += n;
        } else if (rle->packed > 0) {
            size_t n = rle->packed < left ? (size_t)rle->packed : left;
            unpack(rle, out, done, n, bytes);
            done += n;
        } else if (!next_run(rle)) {
            return false;
        }
    }
    return true;
}

bool fz_parquet_rle_decode(fz_parquet_rle *rle, uint32_t *out, size_t count) {
    return decode(rle, out, count, false);
}

bool fz_parquet_rle_decode_levels(fz_parquet_rle *rle, uint8_t *out, size_t count) {
    return decode(rle, out, count, true);
}
