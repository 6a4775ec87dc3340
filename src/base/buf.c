// SPDX-License-Identifier: Apache-2.0
// Growing of owned bytes under a ceiling and a budget.
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

enum { SMALLEST = 64 };

void fz_buf_init(fz_buf *buf, size_t ceiling, fz_budget *budget) {
    *buf = (fz_buf){.ceiling = ceiling, .budget = budget};
}

void fz_buf_deinit(fz_buf *buf) {
    if (!buf) {
        return;
    }
    fz_free(buf->data);
    fz_budget_release(buf->budget, (int64_t)buf->capacity);
    *buf = (fz_buf){0};
}

void fz_buf_reset(fz_buf *buf) {
    buf->size = 0;
    buf->failed = false;
}

// One byte more than the capacity is allocated, so that fz_buf_cstr never has to grow.
static bool grow_to(fz_buf *buf, size_t capacity) {
    if (capacity >= PTRDIFF_MAX) {
        return false;
    }
    int64_t more = (int64_t)(capacity - buf->capacity);
    if (fz_budget_charge(buf->budget, more, "buffer", NULL) != FZ_OK) {
        return false;
    }
    uint8_t *data = fz_try_realloc(buf->data, capacity + 1, 1);
    if (!data) {
        fz_budget_release(buf->budget, more);
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

bool fz_buf_reserve(fz_buf *buf, size_t more) {
    if (FZ_UNLIKELY(buf->failed)) {
        return false;
    }
    if (FZ_LIKELY(buf->data && more <= buf->capacity - buf->size)) {
        return true;
    }
    size_t highest = buf->ceiling ? buf->ceiling : PTRDIFF_MAX - 1;
    if (buf->size > highest || more > highest - buf->size) {
        buf->failed = true;
        return false;
    }
    size_t want = buf->size + more;
    size_t roomy = buf->capacity < highest / 2 ? buf->capacity * 2 : highest;
    roomy = roomy < SMALLEST ? SMALLEST : roomy;
    roomy = roomy > highest ? highest : roomy;
    // what is wanted may still fit where twice as much does not
    bool fits = (roomy > want && grow_to(buf, roomy)) || grow_to(buf, want);
    buf->failed = !fits;
    return fits;
}

void fz_buf_append(fz_buf *buf, const void *data, size_t size) {
    if (size && fz_buf_reserve(buf, size)) {
        memcpy(buf->data + buf->size, data, size);
        buf->size += size;
    }
}

void fz_buf_append_str(fz_buf *buf, fz_str s) {
    fz_buf_append(buf, s.data, s.size);
}

void fz_buf_append_byte(fz_buf *buf, uint8_t byte) {
    if (fz_buf_reserve(buf, 1)) {
        buf->data[buf->size++] = byte;
    }
}

void fz_buf_append_le32(fz_buf *buf, uint32_t value) {
    fz_buf_append(buf, &value, sizeof(value));
}

void fz_buf_append_le64(fz_buf *buf, uint64_t value) {
    fz_buf_append(buf, &value, sizeof(value));
}

void fz_buf_printf(fz_buf *buf, const char *format, ...) {
    if (buf->failed) {
        return;
    }
    size_t room = buf->data ? buf->capacity - buf->size : 0;
    va_list args;
    va_start(args, format);
    // the byte behind the capacity takes the zero
    int size =
        vsnprintf(room ? (char *)buf->data + buf->size : NULL, room ? room + 1 : 0, format, args);
    va_end(args);
    if (size < 0) {
        buf->failed = true;
        return;
    }
    if ((size_t)size > room || !room) {
        if (!fz_buf_reserve(buf, (size_t)size)) {
            return;
        }
        va_start(args, format);
        vsnprintf((char *)buf->data + buf->size, (size_t)size + 1, format, args);
        va_end(args);
    }
    buf->size += (size_t)size;
}

fz_code fz_buf_check(const fz_buf *buf, const char *what, fz_err *err) {
    if (!buf->failed) {
        return FZ_OK;
    }
    if (buf->budget && buf->budget->limit > 0) {
        return fz_err_set(err, FZ_LIMIT,
                          "%s outgrew %zu bytes: its limit is %zu, and %lld of the memory limit of "
                          "%lld bytes are in use",
                          what, buf->size, buf->ceiling, (long long)fz_budget_used(buf->budget),
                          (long long)buf->budget->limit);
    }
    if (buf->ceiling) {
        return fz_err_set(err, FZ_LIMIT, "%s is larger than its limit of %zu bytes", what,
                          buf->ceiling);
    }
    return fz_err_set(err, FZ_LIMIT, "%s outgrew the memory of the system at %zu bytes", what,
                      buf->size);
}

const char *fz_buf_cstr(fz_buf *buf) {
    if (buf->failed || !buf->data) {
        return "";
    }
    buf->data[buf->size] = 0;
    return (const char *)buf->data;
}
