// SPDX-License-Identifier: Apache-2.0
// The catalog suite over the catalogs of this machine: SQL, folders, and SQL behind the fault
// catalog.
#define _GNU_SOURCE
#include "conformance/catalog_suite.c"

#include "table/catalog/directory.h"
#include "table/catalog/fault.h"
#include "unit/table/catalog/open_local.h"

static fz_catalog *first_sql(void) {
    scratch_make();
    return open_sql();
}

static fz_catalog *open_directory(void) {
    fz_store *store;
    fz_err err;
    if (fz_store_local_open(scratch_path, 3, &store, &err) != FZ_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return NULL;
    }
    return fz_catalog_directory_new(store, fz_clock_real());
}

static fz_catalog *first_directory(void) {
    scratch_make();
    return open_directory();
}

static fz_catalog *first_fault(void) {
    return fz_catalog_fault_new(first_sql());
}

int main(void) {
    static const catalog_suite suites[] = {
        {.name = "sql", .open = first_sql, .reopen = open_sql, .clean = scratch_remove},
        {.name = "directory",
         .open = first_directory,
         .reopen = open_directory,
         .clean = scratch_remove,
         .no_rename = true,
         .no_register = true,
         .no_namespaces = true},
        {.name = "fault", .open = first_fault, .reopen = open_sql, .clean = scratch_remove},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += catalog_suite_run(&suites[i]);
    }
    return failed;
}
