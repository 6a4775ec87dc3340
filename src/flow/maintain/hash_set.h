// SPDX-License-Identifier: Apache-2.0
// Many paths in little memory: 128-bit hashes. A collision says "is in it", which keeps a file.
#ifndef FZ_FLOW_MAINTAIN_HASH_SET_H
#define FZ_FLOW_MAINTAIN_HASH_SET_H

#include "base/str.h"

/** Zeroed is empty and valid. */
typedef struct fz_hash_set {
    uint64_t *slots; // two a path, both 0: free
    size_t slot_count;
    size_t count;
} fz_hash_set;

void fz_hash_set_deinit(fz_hash_set *set);
/** False if it was in it. */
bool fz_hash_set_add(fz_hash_set *set, fz_str path);
bool fz_hash_set_has(const fz_hash_set *set, fz_str path);

#endif
