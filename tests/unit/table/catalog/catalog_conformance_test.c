// SPDX-License-Identifier: Apache-2.0
// The catalog suite over the catalogs of this machine: SQL, and SQL behind the fault catalog.
#define _GNU_SOURCE
#include "conformance/catalog_suite.c"

#include "table/catalog/fault.h"
#include "unit/table/catalog/open_local.h"

static fz_catalog *first_sql(void) {
    scratch_make();
    return open_sql();
}

static fz_catalog *first_fault(void) {
    return fz_catalog_fault_new(first_sql());
}

int main(void) {
    static const catalog_suite suites[] = {
        {.name = "sql", .open = first_sql, .reopen = open_sql, .clean = scratch_remove},
        {.name = "fault", .open = first_fault, .reopen = open_sql, .clean = scratch_remove},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += catalog_suite_run(&suites[i]);
    }
    return failed;
}
