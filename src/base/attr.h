// SPDX-License-Identifier: Apache-2.0
// Compiler attributes and the assertion that stays on in every build.
#ifndef FZ_BASE_ATTR_H
#define FZ_BASE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The result must be looked at. */
#define FZ_CHECKED __attribute__((warn_unused_result))
/** printf-like: index of the format, index of the first argument. */
#define FZ_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/** Run `fn(&variable)` when the variable leaves its scope. */
#define FZ_CLEANUP(fn) __attribute__((cleanup(fn)))
#define FZ_UNUSED __attribute__((unused))
#define FZ_NORETURN __attribute__((noreturn))
#define FZ_LIKELY(x) __builtin_expect(!!(x), 1)
#define FZ_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FZ_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** Print where and what, then abort. */
FZ_NORETURN void fz_assert_failed(const char *what, const char *file, int line);

/** Catches our own mistakes, never bad input; on in release builds too. */
#define FZ_ASSERT(x) (FZ_LIKELY(x) ? (void)0 : fz_assert_failed(#x, __FILE__, __LINE__))

#endif
