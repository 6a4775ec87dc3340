// SPDX-License-Identifier: Apache-2.0
// Reading untrusted bytes: every read is bounded, the first failure sticks with its offset.
#ifndef FZ_BASE_CURSOR_H
#define FZ_BASE_CURSOR_H

#include "base/error.h"
#include "base/str.h"

/** Why a cursor stopped. */
typedef enum fz_cur_fault {
    FZ_CUR_OK = 0,
    FZ_CUR_TRUNCATED, // wanted bytes past the end
    FZ_CUR_MALFORMED, // a varint too long, a length negative
} fz_cur_fault;

typedef struct fz_cur {
    const uint8_t *data;
    size_t pos;
    size_t end;
    fz_cur_fault fault; // sticky; reads answer 0 after it
    size_t fault_pos;
} fz_cur;

static inline fz_cur fz_cur_make(const void *data, size_t size) {
    return (fz_cur){(const uint8_t *)(data ? data : ""), 0, size, FZ_CUR_OK, 0};
}
static inline size_t fz_cur_left(const fz_cur *cur) {
    return cur->end - cur->pos;
}
/** Stick at the present position; pos becomes end, so that loops end. */
void fz_cur_fail(fz_cur *cur, fz_cur_fault fault);
/** CORRUPT with kind "truncated" or "malformed", what, and the offset, if the cursor failed. */
FZ_CHECKED fz_code fz_cur_check(const fz_cur *cur, const char *what, fz_err *err);

/** `size` bytes in place, NULL after a failure (also for size 0 then). */
static inline const uint8_t *fz_cur_bytes(fz_cur *cur, size_t size) {
    if (FZ_UNLIKELY(cur->fault != FZ_CUR_OK || size > cur->end - cur->pos)) {
        fz_cur_fail(cur, FZ_CUR_TRUNCATED);
        return NULL;
    }
    const uint8_t *at = cur->data + cur->pos;
    cur->pos += size;
    return at;
}
static inline uint8_t fz_cur_u8(fz_cur *cur) {
    const uint8_t *p = fz_cur_bytes(cur, 1);
    return p ? *p : 0;
}
static inline uint32_t fz_cur_le32(fz_cur *cur) {
    const uint8_t *p = fz_cur_bytes(cur, 4);
    uint32_t v = 0;
    if (p) {
        memcpy(&v, p, 4);
    }
    return v;
}
static inline uint64_t fz_cur_le64(fz_cur *cur) {
    const uint8_t *p = fz_cur_bytes(cur, 8);
    uint64_t v = 0;
    if (p) {
        memcpy(&v, p, 8);
    }
    return v;
}
static inline uint32_t fz_cur_be32(fz_cur *cur) {
    return __builtin_bswap32(fz_cur_le32(cur));
}
/** The rare part of fz_cur_varint: more than one byte, or an end. */
uint64_t fz_cur_varint_slow(fz_cur *cur);
/** Unsigned LEB128 of at most 10 bytes that fits 64 bits. */
static inline uint64_t fz_cur_varint(fz_cur *cur) {
    if (FZ_LIKELY(cur->pos < cur->end && cur->data[cur->pos] < 0x80)) {
        return cur->data[cur->pos++];
    }
    return fz_cur_varint_slow(cur);
}
/** Zigzag varint, as Avro's long. */
static inline int64_t fz_cur_zigzag(fz_cur *cur) {
    uint64_t v = fz_cur_varint(cur);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
