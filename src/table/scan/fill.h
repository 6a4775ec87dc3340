// SPDX-License-Identifier: Apache-2.0
// Values of columns that a file lacks: the partition's, the initial default, null.
#ifndef FZ_TABLE_SCAN_FILL_H
#define FZ_TABLE_SCAN_FILL_H

#include "format/parquet/reader.h"
#include "table/iceberg/manifest.h"

/** What one file lacks. */
typedef struct fz_scan_fill fz_scan_fill;

/**
 * reader  of the file, projected onto the batch's schema; batch of every later fz_scan_fill_rows;
 * file borrowed Errors: CORRUPT a required column is neither in the file nor has a default, or a
 * default is not of its type. Source: Iceberg specification, Column Projection.
 */
FZ_CHECKED fz_code fz_scan_fill_new(const fz_iceberg_metadata *metadata,
                                    const fz_iceberg_file *file, const fz_parquet_reader *reader,
                                    fz_batch *batch, fz_scan_fill **out, fz_err *err);
/** NULL allowed. */
void fz_scan_fill_free(fz_scan_fill *fill);
/** Fill the columns of all rows of the batch. */
FZ_CHECKED fz_code fz_scan_fill_rows(fz_scan_fill *fill, fz_batch *batch, fz_err *err);

#endif
