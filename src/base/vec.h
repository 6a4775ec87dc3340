// SPDX-License-Identifier: Apache-2.0
// Typed vectors by macro over one checked grow; for small things (out of memory ends the process).
#ifndef FZ_BASE_VEC_H
#define FZ_BASE_VEC_H

#include "base/memory.h"

/** Zeroed is empty and valid. */
#define FZ_VEC(type)                                                                               \
    struct {                                                                                       \
        type *data;                                                                                \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

/** Grow an array of `size`-byte items to hold at least `want`; returns the new block. */
void *fz_vec_grow(void *data, size_t *capacity, size_t want, size_t size);

#define fz_vec_reserve(v, want)                                                                    \
    ((want) > (v)->capacity                                                                        \
         ? (void)((v)->data = fz_vec_grow((v)->data, &(v)->capacity, (want), sizeof(*(v)->data)))  \
         : (void)0)
/** Append one item. */
#define fz_vec_push(v, item)                                                                       \
    (fz_vec_reserve((v), (v)->count + 1), (v)->data[(v)->count++] = (item), (void)0)
/** Forget the items, keep the room. */
#define fz_vec_reset(v) ((v)->count = 0)
/** Free and zero; what the items own is the caller's. */
#define fz_vec_deinit(v) (fz_free((v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)

#endif
