// SPDX-License-Identifier: Apache-2.0
// Error codes and the error object that functions fill.
#ifndef FZ_BASE_ERROR_H
#define FZ_BASE_ERROR_H

#include "base/attr.h"

/** A code is a decision: what the caller can do about it. */
typedef enum fz_code {
    FZ_OK = 0,
    FZ_INVALID,         // the caller or the user asked for something that cannot be
    FZ_CORRUPT,         // bytes are not what their format says
    FZ_LIMIT,           // a named limit or the memory budget is used up
    FZ_UNSUPPORTED,     // well formed, but not something this build can do
    FZ_NOT_FOUND,       // the named thing is not there
    FZ_EXISTS,          // the named thing is there already
    FZ_CONFLICT,        // somebody else was first: refresh and retry
    FZ_UNKNOWN_OUTCOME, // may or may not have been applied: keep files, read again
    FZ_DENIED,          // credentials or grants are missing
    FZ_UNAVAILABLE,     // retry later
    FZ_CANCELLED,       // we were told to stop
    FZ_IO,              // the operating system refused
    FZ_INTERNAL,        // our own mistake
} fz_code;

/** What went wrong, in one line: lower case, no full stop, names in double quotes, found against
 * wanted. */
typedef struct fz_err {
    fz_code code;
    int64_t offset;         // byte offset in the input where it was seen, -1 if none
    int64_t retry_after_ms; // what the other side asked for, -1 if nothing
    const char *kind;       // static word of interface.md ("truncated", "no_schema"), NULL if none
    char text[768];
} fz_err;

/** Return the code on failure; the one macro that returns. */
#define FZ_TRY(call)                                                                               \
    do {                                                                                           \
        fz_code fz_try_code_ = (call);                                                             \
        if (FZ_UNLIKELY(fz_try_code_ != FZ_OK)) {                                                  \
            return fz_try_code_;                                                                   \
        }                                                                                          \
    } while (0)

/** Name of a code in lower case, "conflict"; static. */
const char *fz_code_name(fz_code code);

/** Fill `err` (NULL allowed) and return `code`; offset and retry_after_ms become -1, kind NULL. */
fz_code fz_err_set(fz_err *err, fz_code code, const char *format, ...) FZ_PRINTF(3, 4);

/** As fz_err_set, with a static `kind` word. */
fz_code fz_err_set_kind(fz_err *err, fz_code code, const char *kind, const char *format, ...)
    FZ_PRINTF(4, 5);

/** Put "while doing this: " before the text; keeps code, kind and offset; returns the code. */
fz_code fz_err_prepend(fz_err *err, const char *format, ...) FZ_PRINTF(2, 3);

/** Set from errno: NOT_FOUND, EXISTS, DENIED, UNAVAILABLE (EAGAIN, EMFILE...), else IO; text ends
 * in strerror. */
fz_code fz_err_set_errno(fz_err *err, int error_number, const char *format, ...) FZ_PRINTF(3, 4);

/** Text of err, or the code's name when it is empty; never NULL. */
const char *fz_err_text(const fz_err *err);

#endif
