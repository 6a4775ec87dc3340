// SPDX-License-Identifier: Apache-2.0
// Memory for a parsed tree with one owner, freed at once.
#ifndef FZ_BASE_ARENA_H
#define FZ_BASE_ARENA_H

#include "base/str.h"

typedef struct fz_arena_block fz_arena_block;

/** Zeroed is empty and valid. Parsers compare `used` with their limit. */
typedef struct fz_arena {
    fz_arena_block *blocks;
    size_t used; // bytes handed out
} fz_arena;

void fz_arena_deinit(fz_arena *arena);
/** Cleared, aligned to 16; never NULL; the product count * size is checked. */
void *fz_arena_alloc(fz_arena *arena, size_t count, size_t size);
/** Copy with a zero byte behind it. */
fz_str fz_arena_str(fz_arena *arena, fz_str s);
/** By printf; terminated. */
fz_str fz_arena_printf(fz_arena *arena, const char *format, ...) FZ_PRINTF(2, 3);

/** Room for one `type`. */
#define FZ_ARENA_NEW(arena, type) ((type *)fz_arena_alloc((arena), 1, sizeof(type)))
/** Room for `count` of `type`. */
#define FZ_ARENA_ARRAY(arena, type, count) ((type *)fz_arena_alloc((arena), (count), sizeof(type)))

#endif
