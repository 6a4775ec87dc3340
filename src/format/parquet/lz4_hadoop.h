// SPDX-License-Identifier: Apache-2.0
// The old codec LZ4: blocks in Hadoop's framing, or a block alone.
#ifndef FZ_FORMAT_PARQUET_LZ4_HADOOP_H
#define FZ_FORMAT_PARQUET_LZ4_HADOOP_H

#include "base/codec/compression.h"

/**
 * Append exactly `size` decompressed bytes to `out`.
 *
 * Errors: CORRUPT neither framing gives so many bytes; LIMIT (out's ceiling or budget).
 */
FZ_CHECKED fz_code fz_parquet_lz4_hadoop_decode(fz_compressor *compressor, fz_str input,
                                                size_t size, fz_buf *out, fz_err *err);

#endif
