// SPDX-License-Identifier: Apache-2.0
// A TABLE on the command line: `database.table` of the configuration, a metadata.json, or a table's
// folder.
#ifndef FZ_APP_TABLE_ARG_H
#define FZ_APP_TABLE_ARG_H

#include "app/wiring.h"

/** A table to look at; everything is borrowed from the wiring but the metadata. */
typedef struct fz_table_arg {
    fz_iceberg_metadata *metadata; // a reference
    fz_store *store;
    fz_catalog *catalog;          // NULL: named by path
    const fz_config_entry *entry; // whose catalog it was found in; NULL: named by path
    char *space;
    char *name;
} fz_table_arg;

void fz_table_arg_deinit(fz_table_arg *table);
/** Errors: NOT_FOUND naming what was looked for, and where. */
FZ_CHECKED fz_code fz_table_arg_open(fz_wiring *wiring, const fz_config *config, const char *text,
                                     fz_table_arg *out, fz_err *err);

#endif
