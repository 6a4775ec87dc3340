// SPDX-License-Identifier: Apache-2.0
// What the decoder's loop carries, its failures and its reads. Only decode.c includes it.
#ifndef FZ_FORMAT_AVRO_RUN_STATE_H
#define FZ_FORMAT_AVRO_RUN_STATE_H

#include <stdarg.h>
#include <stdio.h>

#include "data/batch.h"
#include "format/avro/plan.h"
#include "format/avro/reader.h"

// A nested value that is being read.
typedef struct frame {
    fz_column *columns; // those in force outside of it
    fz_column *column;  // what its value goes to, NULL: skipped
    const fz_avro_op *op;
    int64_t start; // MAP: length of its children before
    int64_t left;  // ARRAY, MAP: items of the block
} frame;

typedef struct avro_decoder {
    fz_decoder base;
    fz_avro_plan plan;
    frame *frames;
    fz_buf text; // JSON
} avro_decoder;

typedef struct state {
    avro_decoder *decoder;
    const uint8_t *begin;
    const uint8_t *end;
    fz_column *columns; // those in force
    frame *top;         // one behind the innermost
    fz_err *err;
    fz_code code; // of the failure
} state;

// Below, an op takes the position of its value and answers that behind it, or NULL once `code` is
// set.

// --- failures ---

__attribute__((cold, noinline)) static FZ_PRINTF(5, 6) const uint8_t *fail(
    state *s, const fz_avro_op *op, const uint8_t *at, const char *kind, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const fz_avro_plan *plan = &s->decoder->plan;
    fz_str path = plan->paths.data[op - plan->ops.data];
    s->code =
        fz_err_set_kind(s->err, FZ_CORRUPT, kind, "field \"%.*s\": %s", FZ_STR_ARGS(path), text);
    if (s->err) {
        s->err->offset = at - s->begin;
    }
    return NULL;
}

__attribute__((cold, noinline)) static const uint8_t *fail_varint(state *s, const fz_avro_op *op,
                                                                  const uint8_t *at) {
    bool cut = s->end - at < 10;
    for (const uint8_t *p = at; p < s->end && cut; p++) {
        cut = (*p & 0x80) != 0;
    }
    if (cut) {
        return fail(s, op, at, "truncated", "the record ends inside a number");
    }
    return fail(s, op, at, "malformed", "a number of more than 64 bits");
}

__attribute__((cold, noinline)) static const uint8_t *fail_size(state *s, const fz_avro_op *op,
                                                                const uint8_t *at, int64_t size) {
    if (size < 0) {
        return fail(s, op, at, "malformed", "a length of %lld bytes", (long long)size);
    }
    return fail(s, op, at, "truncated", "%lld bytes wanted, %lld are left", (long long)size,
                (long long)(s->end - at));
}

// --- parts of values ---

static inline const uint8_t *read_long(state *s, const fz_avro_op *op, const uint8_t *p,
                                       int64_t *out) {
    const uint8_t *next = fz_avro_read_long(p, s->end, out);
    return FZ_LIKELY(next != NULL) ? next : fail_varint(s, op, p);
}

static inline const uint8_t *read_int(state *s, const fz_avro_op *op, const uint8_t *p,
                                      int32_t *out) {
    int64_t value = 0;
    const uint8_t *next = read_long(s, op, p, &value);
    *out = (int32_t)value;
    if (FZ_UNLIKELY(value != (int32_t)value)) {
        return next ? fail(s, op, p, "malformed", "%lld is an int of more than 32 bits",
                           (long long)value)
                    : NULL;
    }
    return next;
}

// Length of bytes or text, tested against what is left.
static inline const uint8_t *read_size(state *s, const fz_avro_op *op, const uint8_t *p,
                                       size_t *out) {
    int64_t size = 0;
    const uint8_t *next = read_long(s, op, p, &size);
    *out = (size_t)size;
    if (FZ_UNLIKELY(!next || size < 0 || size > s->end - next)) {
        return next ? fail_size(s, op, next, size) : NULL;
    }
    return next;
}

static inline bool has_bytes(state *s, const fz_avro_op *op, const uint8_t *p, size_t size) {
    if (FZ_LIKELY(size <= (size_t)(s->end - p))) {
        return true;
    }
    fail_size(s, op, p, (int64_t)size);
    return false;
}

// The end of an append: the position behind the value, or NULL.
static inline const uint8_t *appended(state *s, fz_code code, const uint8_t *next) {
    if (FZ_LIKELY(code == FZ_OK)) {
        return next;
    }
    s->code = code;
    return NULL;
}

#endif
