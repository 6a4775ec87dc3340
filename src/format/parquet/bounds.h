// SPDX-License-Identifier: Apache-2.0
// Least and greatest values of pages, column chunks and files.
#ifndef FZ_FORMAT_PARQUET_BOUNDS_H
#define FZ_FORMAT_PARQUET_BOUNDS_H

#include "base/buf.h"

/** How the values of a leaf compare. */
typedef enum fz_parquet_order {
    FZ_PARQUET_ORDER_INT,    // booleans and integers
    FZ_PARQUET_ORDER_FLOAT,  // NaN never counts
    FZ_PARQUET_ORDER_BYTES,  // unsigned
    FZ_PARQUET_ORDER_SIGNED, // big-endian two's complement of one length
} fz_parquet_order;

enum {
    FZ_PARQUET_BOUND_MAX = 1024, // bytes kept of a bound
    FZ_PARQUET_BOUND_STATS = 64, // bytes of a bound in the footer and the page index
};

/** Bounds by value; bytes are borrowed. */
typedef struct fz_parquet_range {
    bool has; // a value that counts was seen
    bool no_lower;
    bool no_upper; // of values that were seen none could be given
    bool min_exact;
    bool max_exact;
    int64_t nans;
    int64_t min_int;
    int64_t max_int;
    double min_real;
    double max_real;
    fz_str min_bytes;
    fz_str max_bytes;
} fz_parquet_range;

/** Bounds with bytes of their own. Zeroed is empty. */
typedef struct fz_parquet_bounds {
    fz_parquet_range range;
    fz_buf min_buf;
    fz_buf max_buf;
} fz_parquet_bounds;

/** What of a leaf its bounds depend on. */
typedef struct fz_parquet_bounds_type {
    fz_parquet_order order;
    bool utf8;  // a cut must fall between code points
    bool fixed; // bytes of one length are never cut
    int width;  // bytes of a number as encoded: 1 (boolean), 4, 8
} fz_parquet_bounds_type;

void fz_parquet_bounds_deinit(fz_parquet_bounds *bounds);
void fz_parquet_bounds_reset(fz_parquet_bounds *bounds);
/** Widen by a range; bytes are copied, at most FZ_PARQUET_BOUND_MAX of them. */
void fz_parquet_bounds_merge(fz_parquet_bounds *bounds, const fz_parquet_bounds_type *type,
                             const fz_parquet_range *range);

/** Unsigned or signed bytewise order. */
int fz_parquet_bounds_compare(const fz_parquet_bounds_type *type, fz_str a, fz_str b);
/** Widen a range by one value of bytes. */
static inline uint64_t fz_parquet_bounds_prefix(const uint8_t *data, size_t size) {
    uint64_t word = 0;
    memcpy(&word, data, size < 8 ? size : 8);
    return __builtin_bswap64(word);
}
/**
 * Append the lower or upper bound as statistics hold it, cut to FZ_PARQUET_BOUND_STATS bytes.
 *
 * exact  set to false when cut
 * Returns false when there is no such bound; out is as before then.
 */
bool fz_parquet_range_encode(const fz_parquet_range *range, const fz_parquet_bounds_type *type,
                             bool upper, fz_buf *out, bool *exact);

#endif
