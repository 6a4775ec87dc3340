// SPDX-License-Identifier: Apache-2.0
// Filling of error objects, and the end of the process on a broken assertion.
#define _GNU_SOURCE
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fz_assert_failed(const char *what, const char *file, int line) {
    fprintf(stderr, "frazil: %s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

const char *fz_code_name(fz_code code) {
    static const char *const names[] = {
        [FZ_OK] = "ok",
        [FZ_INVALID] = "invalid",
        [FZ_CORRUPT] = "corrupt",
        [FZ_LIMIT] = "limit",
        [FZ_UNSUPPORTED] = "unsupported",
        [FZ_NOT_FOUND] = "not_found",
        [FZ_EXISTS] = "exists",
        [FZ_CONFLICT] = "conflict",
        [FZ_UNKNOWN_OUTCOME] = "unknown_outcome",
        [FZ_DENIED] = "denied",
        [FZ_UNAVAILABLE] = "unavailable",
        [FZ_CANCELLED] = "cancelled",
        [FZ_IO] = "io",
        [FZ_INTERNAL] = "internal",
    };
    return (size_t)code < FZ_COUNT(names) ? names[code] : "unknown";
}

// Texts hold names from outside: control characters would break the one line, and a cut must not
// leave half a character.
static void tidy(char *text, bool cut) {
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            text[i] = ' ';
        }
    }
    if (!cut) {
        return;
    }
    size_t start = size;
    while (start > 0 && size - start < 4 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) {
        start--;
    }
    if (start > 0 && (unsigned char)text[start - 1] >= 0xc0) {
        unsigned char lead = (unsigned char)text[start - 1];
        size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (size - start < want) {
            text[start - 1] = 0;
        }
    }
}

// Formats beside the object first: an argument may be the old text itself.
static void put_text(fz_err *err, const char *format, va_list args, const char *tail) {
    char text[sizeof(err->text)];
    int size = vsnprintf(text, sizeof(text), format, args);
    if (size < 0) {
        size = 0;
        text[0] = 0;
    }
    bool cut = (size_t)size >= sizeof(text);
    if (tail && !cut) {
        int more = snprintf(text + size, sizeof(text) - (size_t)size, "%s", tail);
        cut = (size_t)size + (size_t)more >= sizeof(text);
    }
    tidy(text, cut);
    memcpy(err->text, text, strlen(text) + 1);
}

static void put(fz_err *err, fz_code code, const char *kind, const char *format, va_list args,
                const char *tail) {
    put_text(err, format, args, tail);
    err->code = code;
    err->offset = -1;
    err->retry_after_ms = -1;
    err->kind = kind;
}

fz_code fz_err_set(fz_err *err, fz_code code, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        put(err, code, NULL, format, args, NULL);
        va_end(args);
    }
    return code;
}

fz_code fz_err_set_kind(fz_err *err, fz_code code, const char *kind, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        put(err, code, kind, format, args, NULL);
        va_end(args);
    }
    return code;
}

fz_code fz_err_prepend(fz_err *err, const char *format, ...) {
    if (!err) {
        return FZ_INTERNAL;
    }
    char tail[sizeof(err->text) + 2];
    snprintf(tail, sizeof(tail), ": %s", fz_err_text(err));
    va_list args;
    va_start(args, format);
    put_text(err, format, args, tail);
    va_end(args);
    return err->code;
}

static fz_code code_of_errno(int error_number) {
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
        return FZ_NOT_FOUND;
    case EEXIST:
        return FZ_EXISTS;
    case EACCES:
    case EPERM:
        return FZ_DENIED;
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPIPE:
        return FZ_UNAVAILABLE;
    default:
        return FZ_IO;
    }
}

fz_code fz_err_set_errno(fz_err *err, int error_number, const char *format, ...) {
    fz_code code = code_of_errno(error_number);
    if (err) {
        const char *words = strerrordesc_np(error_number);
        char tail[128];
        if (words) {
            snprintf(tail, sizeof(tail), ": %s", words);
        } else {
            snprintf(tail, sizeof(tail), ": error %d", error_number);
        }
        va_list args;
        va_start(args, format);
        put(err, code, NULL, format, args, tail);
        va_end(args);
    }
    return code;
}

const char *fz_err_text(const fz_err *err) {
    if (!err) {
        return "unknown";
    }
    return err->text[0] ? err->text : fz_code_name(err->code);
}
