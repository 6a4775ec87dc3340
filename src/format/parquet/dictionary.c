// SPDX-License-Identifier: Apache-2.0
// Open-addressing hash tables from values to dictionary indices.
#include "format/parquet/dictionary.h"

#include "base/codec/hash.h"
#include "base/memory.h"

enum {
    FIRST_SLOTS = 64,   // small: thousands of files may be open with few rows each
    QUICK_SLOTS = 1024, // up to here tables grow four times, then twice
    KEPT_SLOTS = 16384, // a reset gives greater tables back
    BLOCK = 64,         // values hashed ahead of looking them up, so that cache misses overlap
};

static const uint64_t MIX = 0x9e3779b97f4a7c15u;

typedef struct int_slot {
    uint64_t key;
    uint32_t index; // + 1, 0 empty
} int_slot;

typedef struct bytes_slot {
    uint32_t hash;
    uint32_t index; // + 1, 0 empty
} bytes_slot;

static bool is_int(const fz_parquet_dictionary *d) {
    return d->kind <= FZ_PARQUET_DICTIONARY_64;
}

static size_t slot_size(const fz_parquet_dictionary *d) {
    return is_int(d) ? sizeof(int_slot) : sizeof(bytes_slot);
}

void fz_parquet_dictionary_init(fz_parquet_dictionary *d, fz_parquet_dictionary_kind kind,
                                size_t width, size_t limit) {
    *d = (fz_parquet_dictionary){.kind = kind, .width = width, .limit = limit};
    fz_buf_init(&d->plain, 0, NULL);
}

void fz_parquet_dictionary_deinit(fz_parquet_dictionary *d) {
    fz_buf_deinit(&d->plain);
    fz_free(d->starts);
    fz_free(d->keys);
    fz_free(d->slots);
    *d = (fz_parquet_dictionary){0};
}

static void set_slots(fz_parquet_dictionary *d, void *slots, uint32_t count) {
    d->slots = slots;
    d->slot_count = count;
    d->shift = 64 - (unsigned)__builtin_ctz(count);
}

void fz_parquet_dictionary_reset(fz_parquet_dictionary *d) {
    if (d->slot_count > KEPT_SLOTS) {
        fz_free(d->slots);
        d->slots = NULL;
        d->slot_count = 0;
        fz_buf_deinit(&d->plain);
        fz_free(d->starts);
        fz_free(d->keys);
        d->starts = NULL;
        d->keys = NULL;
        d->start_capacity = 0;
    } else if (d->count > 0) {
        memset(d->slots, 0, d->slot_count * slot_size(d));
    }
    fz_buf_reset(&d->plain);
    d->count = 0;
    d->last_key = 0;
    d->last_index = 0;
}

size_t fz_parquet_dictionary_memory(const fz_parquet_dictionary *d) {
    return d->plain.capacity + d->start_capacity * (sizeof(uint32_t) + sizeof *d->keys) +
           (size_t)d->slot_count * slot_size(d);
}

static inline uint32_t int_home(const fz_parquet_dictionary *d, uint64_t key) {
    // Two rounds: timestamps and counters times an odd constant alone leave patterns in the high
    // bits.
    uint64_t h = (key ^ key >> 32) * MIX;
    return (uint32_t)(h >> d->shift);
}

/** Double the table, or make the first one; false when there is no memory. */
static bool grow(fz_parquet_dictionary *d) {
    uint32_t count =
        d->slot_count ? d->slot_count * (d->slot_count < QUICK_SLOTS ? 4 : 2) : FIRST_SLOTS;
    void *slots = fz_try_realloc(NULL, count, slot_size(d));
    if (!slots) {
        return false;
    }
    memset(slots, 0, count * slot_size(d));
    void *old = d->slots;
    uint32_t old_count = d->slot_count;
    set_slots(d, slots, count);
    uint32_t mask = count - 1;
    for (uint32_t i = 0; i < old_count; i++) {
        if (is_int(d)) {
            int_slot from = ((int_slot *)old)[i];
            uint32_t at = int_home(d, from.key);
            while (from.index && ((int_slot *)slots)[at].index) {
                at = (at + 1) & mask;
            }
            if (from.index) {
                ((int_slot *)slots)[at] = from;
            }
        } else {
            bytes_slot from = ((bytes_slot *)old)[i];
            uint32_t at = from.hash & mask;
            while (from.index && ((bytes_slot *)slots)[at].index) {
                at = (at + 1) & mask;
            }
            if (from.index) {
                ((bytes_slot *)slots)[at] = from;
            }
        }
    }
    fz_free(old);
    return true;
}

/** Room for `more` new values. */
static bool room(fz_parquet_dictionary *d, size_t more) {
    while ((d->count + more) * 10 > (size_t)d->slot_count * 7) {
        if (!grow(d)) {
            return false;
        }
    }
    return true;
}

/** Index of an integer of `size` bytes that is not there yet; false at the limit. */
static bool insert_int(fz_parquet_dictionary *d, int_slot *slot, uint64_t key, size_t size) {
    if (d->plain.size + size > d->limit) {
        return false;
    }
    fz_buf_append(&d->plain, &key, size);
    slot->key = key;
    slot->index = ++d->count;
    return !d->plain.failed;
}

__attribute__((always_inline)) static inline bool encode_ints(fz_parquet_dictionary *d,
                                                              const void *values, size_t count,
                                                              uint32_t *indices, size_t size) {
    uint64_t last_key = d->last_key;
    uint32_t last_index = d->last_index; // + 1, 0: no value yet
    for (size_t from = 0; from < count; from += BLOCK) {
        size_t n = count - from < BLOCK ? count - from : BLOCK;
        if (!room(d, n)) {
            return false;
        }
        int_slot *slots = (int_slot *)d->slots;
        uint32_t mask = d->slot_count - 1;
        for (size_t i = from; d->slot_count > KEPT_SLOTS && i < from + n; i++) {
            __builtin_prefetch(&slots[int_home(d, size == 4 ? ((const uint32_t *)values)[i]
                                                            : ((const uint64_t *)values)[i])]);
        }
        for (size_t i = from; i < from + n; i++) {
            uint64_t key =
                size == 4 ? ((const uint32_t *)values)[i] : ((const uint64_t *)values)[i];
            if (key != last_key || !last_index) {
                uint32_t at = int_home(d, key);
                while (slots[at].index && slots[at].key != key) {
                    at = (at + 1) & mask;
                }
                if (!slots[at].index && !insert_int(d, &slots[at], key, size)) {
                    return false;
                }
                last_key = key;
                last_index = slots[at].index;
            }
            indices[i] = last_index - 1;
        }
    }
    d->last_key = last_key;
    d->last_index = last_index;
    return true;
}

bool fz_parquet_dictionary_encode_32(fz_parquet_dictionary *d, const uint32_t *values, size_t count,
                                     uint32_t *indices) {
    return encode_ints(d, values, count, indices, 4);
}

bool fz_parquet_dictionary_encode_64(fz_parquet_dictionary *d, const uint64_t *values, size_t count,
                                     uint32_t *indices) {
    return encode_ints(d, values, count, indices, 8);
}

enum { SHORT_MAX = 15 }; // bytes of a value that is its own key

/** Masks that keep the first n bytes of two words. */
static const uint64_t KEEP[SHORT_MAX + 1][2] = {
    {0, 0},
    {0xff, 0},
    {0xffff, 0},
    {0xffffff, 0},
    {0xffffffff, 0},
    {0xffffffffff, 0},
    {0xffffffffffff, 0},
    {0xffffffffffffff, 0},
    {UINT64_MAX, 0},
    {UINT64_MAX, 0xff},
    {UINT64_MAX, 0xffff},
    {UINT64_MAX, 0xffffff},
    {UINT64_MAX, 0xffffffff},
    {UINT64_MAX, 0xffffffffff},
    {UINT64_MAX, 0xffffffffffff},
    {UINT64_MAX, 0xffffffffffffff},
};

/**
 * The key of a value: a short one's bytes and, in the top byte, its size; a long one's hash and
 * size, marked. Keys of different short values differ; of long ones they nearly always do.
 */
static inline void make_key(const uint8_t *p, size_t size, bool wide, uint64_t key[2]) {
    if (FZ_LIKELY(size <= SHORT_MAX)) {
        uint64_t words[2] = {0, 0};
        if (FZ_LIKELY(wide)) { // 16 bytes may be looked at: no branches on the size
            memcpy(words, p, 16);
        } else if (size) {
            memcpy(words, p, size);
        }
        key[0] = words[0] & KEEP[size][0];
        key[1] = (words[1] & KEEP[size][1]) | (uint64_t)size << 56;
        return;
    }
    key[0] = fz_xxh3_64(p, size);
    key[1] = (uint64_t)size | (uint64_t)0xff << 56;
}

static inline uint32_t hash_key(const uint64_t key[2]) {
    __extension__ unsigned __int128 product =
        (unsigned __int128)(key[0] ^ 0xa0761d6478bd642fu) * (key[1] ^ 0xe7037ed1a0b428dbu);
    uint64_t h = (uint64_t)product ^ (uint64_t)(product >> 64);
    return (uint32_t)(h ^ h >> 32);
}

fz_str fz_parquet_dictionary_bytes(const fz_parquet_dictionary *d, uint32_t index) {
    if (d->kind == FZ_PARQUET_DICTIONARY_FIXED) {
        return fz_str_make(d->plain.data + (size_t)index * d->width, d->width);
    }
    const uint8_t *at = d->plain.data + d->starts[index];
    uint32_t size;
    memcpy(&size, at, 4);
    return fz_str_make(at + 4, size);
}

/** Room for one more start and key. */
static bool entry_room(fz_parquet_dictionary *d) {
    if (d->count < d->start_capacity) {
        return true;
    }
    size_t capacity = d->start_capacity ? d->start_capacity * 2 : FIRST_SLOTS / 2;
    uint32_t *starts = fz_try_realloc(d->starts, capacity, sizeof *starts);
    d->starts = starts ? starts : d->starts;
    void *keys = fz_try_realloc(d->keys, capacity, sizeof *d->keys);
    d->keys = keys ? keys : d->keys;
    if (!starts || !keys) {
        return false;
    }
    d->start_capacity = capacity;
    return true;
}

static bool insert_bytes(fz_parquet_dictionary *d, bytes_slot *slot, uint32_t hash,
                         const uint64_t key[2], fz_str value) {
    if (d->plain.size + value.size + 4 > d->limit || !entry_room(d)) {
        return false;
    }
    d->starts[d->count] = (uint32_t)d->plain.size;
    memcpy(d->keys[d->count], key, sizeof *d->keys);
    if (d->kind == FZ_PARQUET_DICTIONARY_BYTES) {
        fz_buf_append_le32(&d->plain, (uint32_t)value.size);
    }
    fz_buf_append_str(&d->plain, value);
    slot->hash = hash;
    slot->index = ++d->count;
    return !d->plain.failed;
}

/** Index + 1 of a value, 0 at the limit. */
static inline uint32_t find_or_insert(fz_parquet_dictionary *d, uint32_t hash,
                                      const uint64_t key[2], const fz_parquet_bytes *values,
                                      size_t i) {
    bytes_slot *slots = (bytes_slot *)d->slots;
    uint32_t mask = d->slot_count - 1;
    uint32_t at = hash & mask;
    while (slots[at].index) {
        uint32_t index = slots[at].index - 1;
        if (slots[at].hash == hash && d->keys[index][0] == key[0] && d->keys[index][1] == key[1]) {
            if (FZ_LIKELY(fz_parquet_dictionary_is_short(key)) ||
                fz_str_equal(fz_parquet_dictionary_bytes(d, index),
                             fz_parquet_bytes_at(values, i))) {
                return index + 1;
            }
        }
        at = (at + 1) & mask;
    }
    return insert_bytes(d, &slots[at], hash, key, fz_parquet_bytes_at(values, i)) ? slots[at].index
                                                                                  : 0;
}

bool fz_parquet_dictionary_encode_bytes(fz_parquet_dictionary *d, const fz_parquet_bytes *values,
                                        size_t count, uint32_t *indices) {
    uint32_t hashes[BLOCK];
    uint64_t keys[BLOCK][2];
    const uint8_t *last_wide = values->readable >= 16 ? values->data + values->readable - 16 : NULL;
    for (size_t from = 0; from < count; from += BLOCK) {
        size_t n = count - from < BLOCK ? count - from : BLOCK;
        if (!room(d, n)) {
            return false;
        }
        const bytes_slot *slots = (const bytes_slot *)d->slots;
        uint32_t mask = d->slot_count - 1;
        for (size_t i = 0; i < n; i++) {
            fz_str value = fz_parquet_bytes_at(values, from + i);
            const uint8_t *at = (const uint8_t *)value.data;
            make_key(at, value.size, last_wide && at <= last_wide, keys[i]);
            hashes[i] = hash_key(keys[i]);
            __builtin_prefetch(&slots[hashes[i] & mask]);
        }
        for (size_t i = 0; d->slot_count > KEPT_SLOTS && i < n; i++) {
            uint32_t index = slots[hashes[i] & mask].index;
            __builtin_prefetch(&d->keys[index ? index - 1 : 0]);
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t index = find_or_insert(d, hashes[i], keys[i], values, from + i);
            if (!index) {
                return false;
            }
            indices[from + i] = index - 1;
        }
    }
    return true;
}

static size_t value_width(const fz_parquet_dictionary *d) {
    return d->kind == FZ_PARQUET_DICTIONARY_32   ? 4
           : d->kind == FZ_PARQUET_DICTIONARY_64 ? 8
                                                 : d->width;
}

size_t fz_parquet_dictionary_expanded_size(const fz_parquet_dictionary *d, const uint32_t *indices,
                                           size_t count) {
    if (d->kind != FZ_PARQUET_DICTIONARY_BYTES) {
        return count * value_width(d);
    }
    size_t size = count * 4;
    for (size_t i = 0; i < count; i++) {
        size += fz_parquet_dictionary_bytes(d, indices[i]).size;
    }
    return size;
}

void fz_parquet_dictionary_expand(const fz_parquet_dictionary *d, const uint32_t *indices,
                                  size_t count, fz_buf *out) {
    if (d->kind == FZ_PARQUET_DICTIONARY_BYTES) {
        for (size_t i = 0; i < count; i++) {
            fz_str value = fz_parquet_dictionary_bytes(d, indices[i]);
            fz_buf_append(out, value.data - 4, value.size + 4);
        }
        return;
    }
    size_t width = value_width(d);
    if (!fz_buf_reserve(out, count * width)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(out->data + out->size, d->plain.data + (size_t)indices[i] * width, width);
        out->size += width;
    }
}
