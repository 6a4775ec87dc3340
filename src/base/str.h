// SPDX-License-Identifier: Apache-2.0
// A view of bytes or text, by value, not terminated.
#ifndef FZ_BASE_STR_H
#define FZ_BASE_STR_H

#include <string.h>

#include "base/attr.h"

typedef struct fz_str {
    const char *data;
    size_t size;
} fz_str;

/** A view of a literal. */
#define FZ_STR(literal) ((fz_str){"" literal, sizeof(literal) - 1})
/** For "%.*s". */
#define FZ_STR_ARGS(s) (int)(s).size, (s).data ? (s).data : ""

static inline fz_str fz_str_make(const void *data, size_t size) {
    return (fz_str){(const char *)data, size};
}
/** A view of a terminated text; NULL is empty. */
static inline fz_str fz_str_from(const char *text) {
    return (fz_str){text, text ? strlen(text) : 0};
}
static inline bool fz_str_equal(fz_str a, fz_str b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
/** Unsigned bytewise order; a shorter prefix is less. */
int fz_str_compare(fz_str a, fz_str b);
/** Equal when ASCII letters are folded. */
bool fz_str_equal_nocase(fz_str a, fz_str b);
bool fz_str_starts_with(fz_str s, fz_str prefix);
bool fz_str_ends_with(fz_str s, fz_str suffix);
/** Index of the first `c` at or after `from`, SIZE_MAX if none. */
size_t fz_str_find(fz_str s, char c, size_t from);
/** Index of the first `needle`, SIZE_MAX if none. */
size_t fz_str_find_str(fz_str s, fz_str needle);
/** [from, to) clipped to the text. */
fz_str fz_str_slice(fz_str s, size_t from, size_t to);
/** Without ASCII white space at both ends. */
fz_str fz_str_trim(fz_str s);
/** Terminated heap copy; fz_free it. */
char *fz_str_dup(fz_str s);
/** Terminated heap text by printf; fz_free it. */
char *fz_str_printf(const char *format, ...) FZ_PRINTF(1, 2);
/** Number of single-byte edits between two names, for "did you mean"; at most 64 bytes of each are
 * looked at. */
size_t fz_str_distance(fz_str a, fz_str b);

#endif
