// SPDX-License-Identifier: Apache-2.0
// Hash map by linear probing over a dense table of entries.
#include "base/map.h"

#include "base/codec/hash.h"
#include "base/memory.h"
#include "base/vec.h"

void fz_map_deinit(fz_map *map) {
    if (!map) {
        return;
    }
    for (size_t i = 0; i < map->count; i++) {
        fz_free((char *)(uintptr_t)map->entries[i].key.data);
    }
    fz_free(map->entries);
    fz_free(map->slots);
    *map = (fz_map){0};
}

// The slot that holds `key`, or the empty one where it would go. There is always an empty one.
static size_t slot_of(const fz_map *map, fz_str key, uint64_t hash) {
    size_t mask = map->slot_count - 1;
    size_t slot = (size_t)hash & mask;
    while (map->slots[slot]) {
        const fz_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->hash == hash && fz_str_equal(entry->key, key)) {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

void *fz_map_find(const fz_map *map, fz_str key) {
    if (map->count == 0) {
        return NULL;
    }
    uint32_t index = map->slots[slot_of(map, key, fz_xxh3_64(key.data, key.size))];
    return index ? map->entries[index - 1].value : NULL;
}

static void grow_slots(fz_map *map) {
    size_t count = map->slot_count ? map->slot_count * 2 : 16;
    fz_free(map->slots);
    map->slots = fz_calloc(count, sizeof(*map->slots));
    map->slot_count = count;
    for (size_t i = 0; i < map->count; i++) {
        size_t slot = (size_t)map->entries[i].hash & (count - 1);
        while (map->slots[slot]) {
            slot = (slot + 1) & (count - 1);
        }
        map->slots[slot] = (uint32_t)(i + 1);
    }
}

void *fz_map_put(fz_map *map, fz_str key, void *value) {
    FZ_ASSERT(value != NULL);
    if ((map->count + 1) * 4 > map->slot_count * 3) {
        FZ_ASSERT(map->count < UINT32_MAX / 2);
        grow_slots(map);
    }
    uint64_t hash = fz_xxh3_64(key.data, key.size);
    size_t slot = slot_of(map, key, hash);
    if (map->slots[slot]) {
        fz_map_entry *entry = &map->entries[map->slots[slot] - 1];
        void *old = entry->value;
        entry->value = value;
        return old;
    }
    if (map->count == map->capacity) {
        map->entries =
            fz_vec_grow(map->entries, &map->capacity, map->count + 1, sizeof(*map->entries));
    }
    map->entries[map->count++] =
        (fz_map_entry){fz_str_make(fz_memdup0(key.data, key.size), key.size), value, hash};
    map->slots[slot] = (uint32_t)map->count;
    return NULL;
}

// Empties a slot and moves back those behind it that would no longer be found.
static void empty_slot(fz_map *map, size_t hole) {
    size_t mask = map->slot_count - 1;
    map->slots[hole] = 0;
    for (size_t slot = (hole + 1) & mask; map->slots[slot]; slot = (slot + 1) & mask) {
        size_t home = (size_t)map->entries[map->slots[slot] - 1].hash & mask;
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            map->slots[hole] = map->slots[slot];
            map->slots[slot] = 0;
            hole = slot;
        }
    }
}

void *fz_map_remove(fz_map *map, fz_str key) {
    if (map->count == 0) {
        return NULL;
    }
    size_t slot = slot_of(map, key, fz_xxh3_64(key.data, key.size));
    if (!map->slots[slot]) {
        return NULL;
    }
    size_t index = map->slots[slot] - 1;
    fz_map_entry removed = map->entries[index];
    empty_slot(map, slot);
    size_t last = map->count - 1;
    if (index != last) {
        const fz_map_entry *entry = &map->entries[last];
        map->slots[slot_of(map, entry->key, entry->hash)] = (uint32_t)(index + 1);
        map->entries[index] = *entry;
    }
    map->count = last;
    fz_free((char *)(uintptr_t)removed.key.data);
    return removed.value;
}
