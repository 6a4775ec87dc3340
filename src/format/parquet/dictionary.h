// SPDX-License-Identifier: Apache-2.0
// Dictionaries of column chunks: values to indices by hash tables, a run of values at a time.
#ifndef FZ_FORMAT_PARQUET_DICTIONARY_H
#define FZ_FORMAT_PARQUET_DICTIONARY_H

#include "base/buf.h"

/** How values are keyed. */
typedef enum fz_parquet_dictionary_kind {
    FZ_PARQUET_DICTIONARY_32,    // four bytes
    FZ_PARQUET_DICTIONARY_64,    // eight bytes
    FZ_PARQUET_DICTIONARY_BYTES, // any length
    FZ_PARQUET_DICTIONARY_FIXED, // bytes of one length
} fz_parquet_dictionary_kind;

typedef struct fz_parquet_dictionary {
    fz_parquet_dictionary_kind kind;
    size_t width; // bytes of a FIXED value
    size_t limit; // bytes of `plain`
    fz_buf plain; // the values in order of index, PLAIN encoded
    uint32_t count;
    uint32_t *starts;      // BYTES, FIXED: where each value (BYTES: its length) stands in `plain`
    uint64_t (*keys)[2];   // BYTES, FIXED: what a value is compared by
    size_t start_capacity; // of starts and keys
    void *slots;
    uint32_t slot_count; // a power of two
    unsigned shift;      // of the hash, for 32 and 64
    uint64_t last_key;
    uint32_t last_index;
} fz_parquet_dictionary;

/** Byte strings of a column: data + offsets, chosen by index or from `first` on. */
typedef struct fz_parquet_bytes {
    const uint8_t *data;
    size_t readable;        // bytes behind data that may be looked at
    const int32_t *offsets; // NULL: FIXED, `width` apart
    size_t width;
    const int32_t *index; // NULL: contiguous
    int64_t first;
} fz_parquet_bytes;

static inline fz_str fz_parquet_bytes_at(const fz_parquet_bytes *bytes, size_t i) {
    int64_t row = bytes->index ? bytes->index[i] : bytes->first + (int64_t)i;
    if (!bytes->offsets) {
        return fz_str_make(bytes->data + (size_t)row * bytes->width, bytes->width);
    }
    int32_t from = bytes->offsets[row];
    return fz_str_make(bytes->data + from, (size_t)(bytes->offsets[row + 1] - from));
}

void fz_parquet_dictionary_init(fz_parquet_dictionary *dictionary, fz_parquet_dictionary_kind kind,
                                size_t width, size_t limit);
void fz_parquet_dictionary_deinit(fz_parquet_dictionary *dictionary);
/** No values; small tables are kept. */
void fz_parquet_dictionary_reset(fz_parquet_dictionary *dictionary);
size_t fz_parquet_dictionary_memory(const fz_parquet_dictionary *dictionary);

/** Indices of `count` values; false when the limit is reached: the last indices are not written
 * then. */
FZ_CHECKED bool fz_parquet_dictionary_encode_32(fz_parquet_dictionary *dictionary,
                                                const uint32_t *values, size_t count,
                                                uint32_t *indices);
FZ_CHECKED bool fz_parquet_dictionary_encode_64(fz_parquet_dictionary *dictionary,
                                                const uint64_t *values, size_t count,
                                                uint32_t *indices);
FZ_CHECKED bool fz_parquet_dictionary_encode_bytes(fz_parquet_dictionary *dictionary,
                                                   const fz_parquet_bytes *values, size_t count,
                                                   uint32_t *indices);
/** A key that is the value itself: its bytes, zeros, and its size in the last byte. */
static inline bool fz_parquet_dictionary_is_short(const uint64_t key[2]) {
    return key[1] >> 56 != 0xff;
}
/** Bytes of a value of a BYTES or FIXED dictionary. */
fz_str fz_parquet_dictionary_bytes(const fz_parquet_dictionary *dictionary, uint32_t index);
/** Bytes that fz_parquet_dictionary_expand would append. */
size_t fz_parquet_dictionary_expanded_size(const fz_parquet_dictionary *dictionary,
                                           const uint32_t *indices, size_t count);
/** Append the values of `indices` PLAIN encoded to `out`. */
void fz_parquet_dictionary_expand(const fz_parquet_dictionary *dictionary, const uint32_t *indices,
                                  size_t count, fz_buf *out);

#endif
