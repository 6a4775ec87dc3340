// SPDX-License-Identifier: Apache-2.0
// Sizes and fills split-block bloom filters.
#include "format/parquet/bloom.h"

#include <math.h>
#include <stdlib.h>

#include "format/parquet/thrift.h"

enum { BLOCK_SIZE = 32, BLOCKS_MAX = 4 << 20 }; // 128 MiB

static const uint32_t SALTS[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                  0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

static int compare_hashes(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t distinct(uint64_t *hashes, size_t count) {
    if (count == 0) {
        return 0;
    }
    qsort(hashes, count, sizeof *hashes, compare_hashes);
    size_t n = 1;
    for (size_t i = 1; i < count; i++) {
        if (hashes[i] != hashes[n - 1]) {
            hashes[n++] = hashes[i];
        }
    }
    return n;
}

static uint32_t block_count(size_t values, double fpp, int64_t size_max) {
    double bits = -8.0 * (double)values / log(1 - pow(fpp, 1.0 / 8));
    uint32_t most = BLOCKS_MAX;
    if (size_max > 0 && size_max / BLOCK_SIZE < BLOCKS_MAX) {
        most = (uint32_t)(size_max / BLOCK_SIZE);
    }
    uint32_t blocks = 1;
    while (blocks <= most / 2 && (double)blocks * BLOCK_SIZE * 8 < bits) {
        blocks *= 2; // several readers want a power of two
    }
    return blocks;
}

static uint32_t block_of(uint64_t hash, uint32_t blocks) {
    return (uint32_t)((hash >> 32) * blocks >> 32);
}

void fz_parquet_bloom_encode(fz_buf *out, uint64_t *hashes, size_t count, double fpp,
                             int64_t size_max) {
    size_t n = distinct(hashes, count);
    uint32_t blocks = block_count(n, fpp, size_max);
    fz_parquet_thrift_writer thrift;
    fz_parquet_thrift_init(&thrift, out);
    fz_parquet_thrift_i32(&thrift, 1, (int32_t)(blocks * BLOCK_SIZE));
    for (int16_t id = 2; id <= 4;
         id++) { // split block, xxhash, uncompressed: each the first of its union
        fz_parquet_thrift_struct(&thrift, id);
        fz_parquet_thrift_struct(&thrift, 1);
        fz_parquet_thrift_end(&thrift);
        fz_parquet_thrift_end(&thrift);
    }
    fz_parquet_thrift_end(&thrift);
    size_t size = (size_t)blocks * BLOCK_SIZE;
    if (!fz_buf_reserve(out, size)) {
        return;
    }
    uint8_t *bits = out->data + out->size;
    memset(bits, 0, size);
    for (size_t i = 0; i < n; i++) {
        uint8_t *block = bits + (size_t)block_of(hashes[i], blocks) * BLOCK_SIZE;
        for (unsigned j = 0; j < 8; j++) {
            uint32_t word;
            memcpy(&word, block + 4 * j, 4);
            word |= 1u << ((uint32_t)hashes[i] * SALTS[j] >> 27);
            memcpy(block + 4 * j, &word, 4);
        }
    }
    out->size += size;
}

bool fz_parquet_bloom_find(fz_str bits, uint64_t hash) {
    uint32_t blocks = (uint32_t)(bits.size / BLOCK_SIZE);
    if (blocks == 0) {
        return true;
    }
    const char *block = bits.data + (size_t)block_of(hash, blocks) * BLOCK_SIZE;
    for (unsigned j = 0; j < 8; j++) {
        uint32_t word;
        memcpy(&word, block + 4 * j, 4);
        if (!(word >> ((uint32_t)hash * SALTS[j] >> 27) & 1)) {
            return false;
        }
    }
    return true;
}
