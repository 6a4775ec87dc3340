// SPDX-License-Identifier: Apache-2.0
// Allocation of small things: never NULL, out of memory ends the process with a message.
#ifndef FZ_BASE_MEMORY_H
#define FZ_BASE_MEMORY_H

#include "base/attr.h"

/** Settings of the C library's allocator for a long-running process; call before threads start. */
void fz_memory_tune(void);
/** size bytes, not cleared. size 0 gives a valid pointer. */
void *fz_alloc(size_t size);
/** count * size bytes, cleared; the product is checked. */
void *fz_calloc(size_t count, size_t size);
/** Grow or shrink to count * size bytes; the product is checked. */
void *fz_realloc(void *old, size_t count, size_t size);
/** NULL allowed. */
void fz_free(void *memory);
/** Copy of `size` bytes with a zero byte behind them. */
char *fz_memdup0(const void *data, size_t size);
/** As fz_realloc, but NULL when the system has no memory: for what is sized by data. The old block
 * stays valid then. */
FZ_CHECKED void *fz_try_realloc(void *old, size_t count, size_t size);

#endif
