// SPDX-License-Identifier: Apache-2.0
// Split-block bloom filters (parquet-format BloomFilter.md).
#ifndef FZ_FORMAT_PARQUET_BLOOM_H
#define FZ_FORMAT_PARQUET_BLOOM_H

#include "base/buf.h"

/** Append header and bits of a filter over XXH64 hashes of PLAIN values; the hashes are sorted in
 * place. It has at most size_max bytes (0: no such limit) and answers worse then. */
void fz_parquet_bloom_encode(fz_buf *out, uint64_t *hashes, size_t count, double fpp,
                             int64_t size_max);
/** Is the hash in the bits (without header)? */
bool fz_parquet_bloom_find(fz_str bits, uint64_t hash);

#endif
