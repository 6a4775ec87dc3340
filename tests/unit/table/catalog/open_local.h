// SPDX-License-Identifier: Apache-2.0
// Catalogs in a scratch folder.
#ifndef FZ_TESTS_UNIT_TABLE_CATALOG_OPEN_LOCAL_H
#define FZ_TESTS_UNIT_TABLE_CATALOG_OPEN_LOCAL_H

#include "base/memory.h"
#include "io/store/local_store.h"
#include "table/catalog/sql.h"
#include "unit/io/store/scratch.h"

static inline fz_code open_local_store(void *context, fz_str location, fz_store **out,
                                       fz_err *err) {
    (void)context;
    fz_str prefix = FZ_STR("file://");
    if (!fz_str_starts_with(location, prefix)) {
        return fz_err_set(err, FZ_INVALID, "not a local place: \"%.*s\"", FZ_STR_ARGS(location));
    }
    char *path = fz_str_dup(fz_str_slice(location, prefix.size, location.size));
    fz_code code = fz_store_local_open(path, 0, out, err);
    fz_free(path);
    return code;
}

/** The SQL catalog of the scratch folder; NULL with a message on stderr. */
static inline fz_catalog *open_sql(void) {
    char *path = fz_str_printf("%s/catalog.db", scratch_path);
    char *warehouse = fz_str_printf("file://%s/warehouse", scratch_path);
    const fz_catalog_sql_options options = {.path = path,
                                            .name = FZ_STR("frazil"),
                                            .warehouse = fz_str_from(warehouse),
                                            .open_store = open_local_store,
                                            .clock = fz_clock_real()};
    fz_catalog *catalog = NULL;
    fz_err err;
    if (fz_catalog_sql_open(&options, &catalog, &err) != FZ_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    fz_free(path);
    fz_free(warehouse);
    return catalog;
}

#endif
