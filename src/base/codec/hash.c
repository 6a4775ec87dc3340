// SPDX-License-Identifier: Apache-2.0
// Hashes and checksums.
#include "base/codec/hash.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <xxhash.h>
#include <zlib.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

// Castagnoli polynomial, reflected 0x82f63b78, four bits at a time.
static uint32_t crc32c_table(uint32_t crc, const uint8_t *p, size_t size) {
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (; size; size--, p++) {
        crc ^= *p;
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(uint32_t crc, const uint8_t *p,
                                                             size_t size) {
    uint64_t wide = crc;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size; size--, p++) {
        crc = _mm_crc32_u8(crc, *p);
    }
    return crc;
}
#endif

uint32_t fz_crc32c(uint32_t crc, const void *data, size_t size) {
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        return ~crc32c_sse(crc, data, size);
    }
#elif defined(__ARM_FEATURE_CRC32)
    const uint8_t *p = data;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = __crc32cd(crc, word);
    }
    data = p;
#endif
    return ~crc32c_table(crc, data, size);
}

uint32_t fz_crc32(uint32_t crc, const void *data, size_t size) {
    if (size == 0) {
        return crc; // zlib answers its start value for a null pointer
    }
    return (uint32_t)crc32_z(crc, data, size);
}

static uint32_t rotate_left(uint32_t x, unsigned by) {
    return (x << by) | (x >> (32 - by));
}

// MurmurHash3_x86_32 by Austin Appleby (public domain algorithm).
uint32_t fz_murmur3_32(const void *data, size_t size) {
    const uint32_t c1 = 0xcc9e2d51;
    const uint32_t c2 = 0x1b873593;
    const uint8_t *p = data;
    uint32_t hash = 0;
    size_t left = size;
    for (; left >= 4; left -= 4, p += 4) {
        uint32_t k;
        memcpy(&k, p, 4);
        hash ^= rotate_left(k * c1, 15) * c2;
        hash = rotate_left(hash, 13) * 5 + 0xe6546b64;
    }
    uint32_t tail = 0;
    for (size_t i = left; i > 0; i--) {
        tail = (tail << 8) | p[i - 1];
    }
    hash ^= rotate_left(tail * c1, 15) * c2;
    hash ^= (uint32_t)size;
    hash ^= hash >> 16;
    hash *= 0x85ebca6b;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35;
    hash ^= hash >> 16;
    return hash;
}

uint64_t fz_xxh3_64(const void *data, size_t size) {
    return XXH3_64bits(data ? data : "", size);
}

uint64_t fz_xxh64(const void *data, size_t size) {
    return XXH64(data ? data : "", size, 0);
}

void fz_xxh3_128_hex(const void *data, size_t size, char out[33]) {
    XXH128_hash_t hash = XXH3_128bits(data ? data : "", size);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void fz_sha256(const void *data, size_t size, uint8_t out[32]) {
    int done = EVP_Digest(data ? data : "", size, out, NULL, EVP_sha256(), NULL);
    FZ_ASSERT(done == 1);
}
