// SPDX-License-Identifier: Apache-2.0
// Open addressing over pairs of 64-bit hashes.
#include "flow/maintain/hash_set.h"

#include "base/codec/hash.h"
#include "base/memory.h"

void fz_hash_set_deinit(fz_hash_set *set) {
    fz_free(set->slots);
    *set = (fz_hash_set){0};
}

static void hash_of(fz_str path, uint64_t out[2]) {
    out[0] = fz_xxh3_64(path.data, path.size);
    out[1] = fz_xxh64(path.data, path.size) | 1; // never free
}

/** Index of the slot of a hash: its own or the free one where it would be. */
static size_t slot_of(const fz_hash_set *set, const uint64_t hash[2]) {
    size_t at = (size_t)hash[0] & (set->slot_count - 1);
    while (set->slots[2 * at + 1] != 0 &&
           (set->slots[2 * at] != hash[0] || set->slots[2 * at + 1] != hash[1])) {
        at = (at + 1) & (set->slot_count - 1);
    }
    return at;
}

static void grow(fz_hash_set *set) {
    fz_hash_set bigger = {.slot_count = set->slot_count ? 2 * set->slot_count : 1024,
                          .count = set->count};
    bigger.slots = (uint64_t *)fz_calloc(2 * bigger.slot_count, sizeof(*bigger.slots));
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[2 * i + 1] != 0) {
            size_t at = slot_of(&bigger, &set->slots[2 * i]);
            memcpy(&bigger.slots[2 * at], &set->slots[2 * i], 2 * sizeof(uint64_t));
        }
    }
    fz_free(set->slots);
    *set = bigger;
}

bool fz_hash_set_add(fz_hash_set *set, fz_str path) {
    if (2 * (set->count + 1) > set->slot_count) {
        grow(set);
    }
    uint64_t hash[2];
    hash_of(path, hash);
    size_t at = slot_of(set, hash);
    if (set->slots[2 * at + 1] != 0) {
        return false;
    }
    memcpy(&set->slots[2 * at], hash, sizeof(hash));
    set->count++;
    return true;
}

bool fz_hash_set_has(const fz_hash_set *set, fz_str path) {
    if (set->count == 0) {
        return false;
    }
    uint64_t hash[2];
    hash_of(path, hash);
    return set->slots[2 * slot_of(set, hash) + 1] != 0;
}
