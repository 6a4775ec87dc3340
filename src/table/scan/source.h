// SPDX-License-Identifier: Apache-2.0
// An object of a store as the Parquet reader's source.
#ifndef FZ_TABLE_SCAN_SOURCE_H
#define FZ_TABLE_SCAN_SOURCE_H

#include "format/parquet/reader.h"
#include "table/scan/plan.h"

typedef struct fz_scan_source {
    fz_parquet_source source;
    fz_store *store;
    fz_str key; // a view into the file's path
} fz_scan_source;

/**
 * Open a Parquet file of a table and compare its rows with what its manifest says.
 *
 * source    outlives the reader
 * metadata  whose schema.name-mapping.default gives ids to files without; NULL: none
 * file      outlives it too
 * Errors: UNSUPPORTED another format, encryption; CORRUPT; what the store answers.
 */
FZ_CHECKED fz_code fz_scan_source_open(fz_scan_source *source, fz_scan_files files,
                                       const fz_iceberg_metadata *metadata,
                                       const fz_iceberg_file *file, fz_budget *budget,
                                       fz_parquet_reader **out, fz_err *err);

#endif
