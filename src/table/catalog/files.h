// SPDX-License-Identifier: Apache-2.0
// Metadata files of tables whose catalog keeps only a pointer: read, written before the swap,
// tidied after it.
#ifndef FZ_TABLE_CATALOG_FILES_H
#define FZ_TABLE_CATALOG_FILES_H

#include "table/catalog/catalog.h"
#include "table/catalog/stores.h"

typedef struct fz_catalog_files {
    fz_catalog_stores stores;
    fz_str warehouse; // URI without '/' at the end, may be empty; owned by the catalog
} fz_catalog_files;

/** Read and parse. NOT_FOUND is CORRUPT: the pointer names a file that is not there. */
FZ_CHECKED fz_code fz_catalog_files_read(fz_catalog_files *files, fz_str location,
                                         fz_iceberg_metadata **out, fz_err *err);
/**
 * Write `metadata` under a new name behind that of `previous` (empty: none).
 *
 * out  the same metadata with its location
 * Errors: UNAVAILABLE and others of the store; never UNKNOWN_OUTCOME, since nothing points at the
 * file yet.
 */
FZ_CHECKED fz_code fz_catalog_files_write(fz_catalog_files *files,
                                          const fz_iceberg_metadata *metadata, fz_str previous,
                                          fz_iceberg_metadata **out, fz_err *err);
/** INVALID when the location of `metadata` holds metadata of another table that was written to. */
FZ_CHECKED fz_code fz_catalog_files_check_empty(fz_catalog_files *files,
                                                const fz_iceberg_metadata *metadata, fz_err *err);
/** After the swap: delete files that fell out of the log, if
 * write.metadata.delete-after-commit.enabled. Best effort. */
void fz_catalog_files_expire(fz_catalog_files *files, const fz_iceberg_metadata *base,
                             const fz_iceberg_metadata *next);
/** Local tables: metadata/version-hint.text names the newest file, so that a folder is enough for
 * DuckDB. Best effort. */
void fz_catalog_files_hint(fz_catalog_files *files, fz_str location);

#endif
