// SPDX-License-Identifier: Apache-2.0
// Arena over a list of cleared blocks.
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 2048, LARGEST_BLOCK = 256 * 1024 };

struct fz_arena_block {
    fz_arena_block *next;
    size_t size; // of data
    size_t used;
    _Alignas(ALIGNMENT) uint8_t data[];
};

void fz_arena_deinit(fz_arena *arena) {
    if (!arena) {
        return;
    }
    while (arena->blocks) {
        fz_arena_block *next = arena->blocks->next;
        fz_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}

static fz_arena_block *block_new(size_t size) {
    FZ_ASSERT(size <= SIZE_MAX - sizeof(fz_arena_block));
    fz_arena_block *block = fz_calloc(1, sizeof(*block) + size);
    block->size = size;
    return block;
}

void *fz_arena_alloc(fz_arena *arena, size_t count, size_t size) {
    size_t total;
    bool fits = !__builtin_mul_overflow(count, size, &total) && total <= PTRDIFF_MAX - ALIGNMENT;
    FZ_ASSERT(fits);
    total = total ? (total + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
    fz_arena_block *block = arena->blocks;
    if (!block || total > block->size - block->used) {
        size_t next = block && block->size < LARGEST_BLOCK ? block->size * 2 : FIRST_BLOCK;
        next = block && block->size >= LARGEST_BLOCK ? LARGEST_BLOCK : next;
        if (total > next / 2 && block) {
            // a block of its own behind the current one, whose room stays in use
            fz_arena_block *own = block_new(total);
            own->next = block->next;
            block->next = own;
            block = own;
        } else {
            block = block_new(total > next ? total : next);
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    void *memory = block->data + block->used;
    block->used += total;
    arena->used += total;
    return memory;
}

fz_str fz_arena_str(fz_arena *arena, fz_str s) {
    FZ_ASSERT(s.size < SIZE_MAX);
    char *copy = fz_arena_alloc(arena, s.size + 1, 1);
    if (s.size) {
        memcpy(copy, s.data, s.size);
    }
    return fz_str_make(copy, s.size);
}

fz_str fz_arena_printf(fz_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    FZ_ASSERT(size >= 0);
    char *text = fz_arena_alloc(arena, (size_t)size + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return fz_str_make(text, (size_t)size);
}
