// SPDX-License-Identifier: Apache-2.0
// Where a table's current metadata is known: list, load, create, commit, drop.
#ifndef FZ_TABLE_CATALOG_CATALOG_H
#define FZ_TABLE_CATALOG_CATALOG_H

#include "table/iceberg/update.h"

/** A table's name. Levels of the namespace are joined with '.'. */
typedef struct fz_catalog_name {
    fz_str space;
    fz_str table;
} fz_catalog_name;

typedef struct fz_catalog fz_catalog;

/** Called for each name; names are valid during the call. Not OK ends the listing with that code.
 */
typedef fz_code (*fz_catalog_name_fn)(void *context, fz_catalog_name name, fz_err *err);

/**
 * Catalog. A NULL member is answered UNSUPPORTED by its wrapper. Calls may run on any thread.
 *
 * Every call is one attempt: no implementation retries what changes the table.
 */
typedef struct fz_catalog_ops {
    const char *name; // "sql", "rest"
    fz_code (*list_namespaces)(fz_catalog *catalog, fz_catalog_name_fn each, void *context,
                               fz_err *err);
    fz_code (*create_namespace)(fz_catalog *catalog, fz_str space, fz_err *err);
    fz_code (*list)(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each, void *context,
                    fz_err *err);
    fz_code (*load)(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                    fz_err *err);
    fz_code (*locate)(fz_catalog *catalog, fz_catalog_name name, fz_buf *out, fz_err *err);
    fz_code (*create)(fz_catalog *catalog, fz_catalog_name name, const fz_iceberg_metadata *initial,
                      fz_iceberg_metadata **out, fz_err *err);
    fz_code (*commit)(fz_catalog *catalog, fz_catalog_name name, const fz_iceberg_metadata *base,
                      const json_t *requirements, const json_t *updates, fz_iceberg_metadata **out,
                      fz_err *err);
    fz_code (*drop)(fz_catalog *catalog, fz_catalog_name name, fz_err *err);
    fz_code (*register_table)(fz_catalog *catalog, fz_catalog_name name, fz_str metadata_location,
                              fz_err *err);
    fz_code (*rename)(fz_catalog *catalog, fz_catalog_name from, fz_catalog_name to, fz_err *err);
    void (*free)(fz_catalog *catalog);
} fz_catalog_ops;

/** First member of every implementation. */
struct fz_catalog {
    const fz_catalog_ops *ops;
};

/** Each namespace once, `table` empty. */
FZ_CHECKED fz_code fz_catalog_list_namespaces(fz_catalog *catalog, fz_catalog_name_fn each,
                                              void *context, fz_err *err);
/** EXISTS if it is there. */
FZ_CHECKED fz_code fz_catalog_create_namespace(fz_catalog *catalog, fz_str space, fz_err *err);
/** Tables of a namespace; an empty one lists nothing; NOT_FOUND if the namespace is absent. */
FZ_CHECKED fz_code fz_catalog_list(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each,
                                   void *context, fz_err *err);
/** The table now, a new reference; NOT_FOUND, UNAVAILABLE, CORRUPT. */
FZ_CHECKED fz_code fz_catalog_load(fz_catalog *catalog, fz_catalog_name name,
                                   fz_iceberg_metadata **out, fz_err *err);
/** Append the location that a new table of this name would have by default. UNSUPPORTED: the server
 * gives one. */
FZ_CHECKED fz_code fz_catalog_locate(fz_catalog *catalog, fz_catalog_name name, fz_buf *out,
                                     fz_err *err);
/**
 * Create a table, its namespace too if need be.
 *
 * initial  its whole metadata (fz_iceberg_metadata_new; snapshots allowed when their files are
 * uploaded) out      metadata as the catalog has it: field ids and uuid may be others Errors:
 * EXISTS; INVALID a location with another table's metadata; UNKNOWN_OUTCOME.
 */
FZ_CHECKED fz_code fz_catalog_create(fz_catalog *catalog, fz_catalog_name name,
                                     const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                                     fz_err *err);
/**
 * Publish `updates` if `requirements` hold and the table is still at `base` (catalogs of servers
 * may apply them on a newer one that meets the requirements).
 *
 * out  metadata after it; the caller looks for its own commit there
 * Errors: CONFLICT load and decide; UNKNOWN_OUTCOME keep files, load and decide; NOT_FOUND;
 * INVALID.
 */
FZ_CHECKED fz_code fz_catalog_commit(fz_catalog *catalog, fz_catalog_name name,
                                     const fz_iceberg_metadata *base, const json_t *requirements,
                                     const json_t *updates, fz_iceberg_metadata **out, fz_err *err);
/** Forget the table; files stay. NOT_FOUND. */
FZ_CHECKED fz_code fz_catalog_drop(fz_catalog *catalog, fz_catalog_name name, fz_err *err);
/** Take in a table that exists as files. EXISTS. */
FZ_CHECKED fz_code fz_catalog_register(fz_catalog *catalog, fz_catalog_name name,
                                       fz_str metadata_location, fz_err *err);
/** NOT_FOUND, EXISTS. */
FZ_CHECKED fz_code fz_catalog_rename(fz_catalog *catalog, fz_catalog_name from, fz_catalog_name to,
                                     fz_err *err);
/** NULL allowed. */
void fz_catalog_free(fz_catalog *catalog);

#endif
