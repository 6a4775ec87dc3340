// SPDX-License-Identifier: Apache-2.0
// A page's bytes: levels, values, header, compression; and what its statistics are.
#ifndef FZ_FORMAT_PARQUET_PAGE_H
#define FZ_FORMAT_PARQUET_PAGE_H

#include "format/parquet/leaf.h"

/** Bounds of the open page's values; bytes point into its buffers or the dictionary. */
FZ_CHECKED fz_code fz_parquet_page_range(fz_parquet_leaf *leaf, fz_parquet_range *range,
                                         fz_err *err);
/** Header and body of the open page into work->header and work->packed; *raw_size the body's size
 * before compression. */
FZ_CHECKED fz_code fz_parquet_page_encode(fz_parquet_leaf *leaf, size_t *raw_size, fz_err *err);
/** As above for the dictionary. */
FZ_CHECKED fz_code fz_parquet_page_encode_dictionary(fz_parquet_leaf *leaf, size_t *raw_size,
                                                     fz_err *err);

#endif
