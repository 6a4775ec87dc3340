// SPDX-License-Identifier: Apache-2.0
// The SQL catalog on SQLite, in the JDBC catalog's own tables, which Java and PyIceberg open too.
#ifndef FZ_TABLE_CATALOG_SQL_H
#define FZ_TABLE_CATALOG_SQL_H

#include "base/clock.h"
#include "table/catalog/catalog.h"
#include "table/catalog/stores.h"

typedef struct fz_catalog_sql_options {
    const char *path; // of the database file; made with its folders if missing
    fz_str name;      // catalog_name of its rows: others must open it under this name
    fz_str warehouse; // URI below which new tables lie by default; empty: none
    fz_catalog_store_fn open_store;
    void *store_context; // outlives the catalog
    fz_clock *clock;     // outlives the catalog
    int busy_timeout_ms; // wait for other writers of the database, 0: 10,000
} fz_catalog_sql_options;

/**
 * Open, making the tables if they are missing (iceberg_type too; a database without it stays as it
 * is).
 *
 * Errors: CORRUPT not a database; DENIED; IO; UNAVAILABLE locked for longer than the time-out.
 * Threads: calls may run on any thread; those on the database take turns.
 */
FZ_CHECKED fz_code fz_catalog_sql_open(const fz_catalog_sql_options *options, fz_catalog **out,
                                       fz_err *err);

#endif
