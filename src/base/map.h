// SPDX-License-Identifier: Apache-2.0
// Hash map from text to pointer; keys are copied, insertion order is kept.
#ifndef FZ_BASE_MAP_H
#define FZ_BASE_MAP_H

#include "base/str.h"

typedef struct fz_map_entry {
    fz_str key; // owned by the map, terminated
    void *value;
    uint64_t hash;
} fz_map_entry;

/** Zeroed is empty and valid. entries[0..count) in insertion order; a removed entry's last
 * neighbour takes its place. */
typedef struct fz_map {
    fz_map_entry *entries;
    size_t count;
    size_t capacity;
    uint32_t *slots; // index + 1, 0 empty
    size_t slot_count;
} fz_map;

/** Frees keys and tables; values are the caller's. */
void fz_map_deinit(fz_map *map);
/** Value of `key` or NULL. */
void *fz_map_find(const fz_map *map, fz_str key);
/** Set `key`; the old value, or NULL. value must not be NULL. */
void *fz_map_put(fz_map *map, fz_str key, void *value);
/** Remove `key`; its value, or NULL. */
void *fz_map_remove(fz_map *map, fz_str key);

#endif
