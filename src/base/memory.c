// SPDX-License-Identifier: Apache-2.0
// Allocation of small things over malloc.
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

FZ_NORETURN static void out_of_memory(size_t count, size_t size) {
    fprintf(stderr, "frazil: out of memory (%zu x %zu bytes wanted)\n", count, size);
    abort();
}

void fz_memory_tune(void) {
#ifdef __GLIBC__
    // Pages and tables of a lane come and go. Left alone, the library learns to keep them in the
    // heaps of the threads, where what one frees does not serve another: 10 to 20 MiB more in all.
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

void *fz_alloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (FZ_UNLIKELY(!memory)) {
        out_of_memory(1, size);
    }
    return memory;
}

void *fz_calloc(size_t count, size_t size) {
    void *memory = count && size ? calloc(count, size) : calloc(1, 1);
    if (FZ_UNLIKELY(!memory)) {
        out_of_memory(count, size);
    }
    return memory;
}

void *fz_try_realloc(void *old, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return NULL;
    }
    return realloc(old, total ? total : 1);
}

void *fz_realloc(void *old, size_t count, size_t size) {
    void *memory = fz_try_realloc(old, count, size);
    if (FZ_UNLIKELY(!memory)) {
        out_of_memory(count, size);
    }
    return memory;
}

void fz_free(void *memory) {
    free(memory);
}

char *fz_memdup0(const void *data, size_t size) {
    FZ_ASSERT(size < SIZE_MAX);
    char *copy = fz_alloc(size + 1);
    if (size) {
        memcpy(copy, data, size);
    }
    copy[size] = 0;
    return copy;
}
