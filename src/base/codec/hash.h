// SPDX-License-Identifier: Apache-2.0
// Hashes and checksums by name.
#ifndef FZ_BASE_CODEC_HASH_H
#define FZ_BASE_CODEC_HASH_H

#include "base/str.h"

/** CRC-32C (Castagnoli), by hardware where there is some; start with 0. */
uint32_t fz_crc32c(uint32_t crc, const void *data, size_t size);
/** CRC-32 of zlib, start with 0. */
uint32_t fz_crc32(uint32_t crc, const void *data, size_t size);
/** murmur3_x86_32 with seed 0, Iceberg's bucket hash (spec Appendix B). */
uint32_t fz_murmur3_32(const void *data, size_t size);
/** XXH3, 64 bits: tables in memory, fingerprints of records. */
uint64_t fz_xxh3_64(const void *data, size_t size);
/** XXH64 with seed 0: Parquet bloom filters. */
uint64_t fz_xxh64(const void *data, size_t size);
/** XXH3-128 as 32 lower-case hex digits and a zero byte (high half first). */
void fz_xxh3_128_hex(const void *data, size_t size, char out[33]);
/** SHA-256 as 32 bytes. */
void fz_sha256(const void *data, size_t size, uint8_t out[32]);

#endif
