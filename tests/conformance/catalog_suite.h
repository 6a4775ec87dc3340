// SPDX-License-Identifier: Apache-2.0
// What every catalog must do, as one group of tests.
#ifndef FZ_TESTS_CONFORMANCE_CATALOG_SUITE_H
#define FZ_TESTS_CONFORMANCE_CATALOG_SUITE_H

#include "table/catalog/catalog.h"

/** One implementation under test. */
typedef struct catalog_suite {
    const char *name;
    fz_catalog *(*open)(void);   // an empty catalog
    fz_catalog *(*reopen)(void); // another handle on the same one, as another process would have
    void (*clean)(void);         // after all handles were freed; may be NULL
    bool no_rename;              // rename is UNSUPPORTED
    bool no_register;            // register is UNSUPPORTED, drop leaves nothing to register
    bool no_namespaces;          // they are there only with a table
    bool server_side; // commits may be applied on a newer base that meets the requirements
} catalog_suite;

/** Runs the group; the number of failed tests. */
int catalog_suite_run(const catalog_suite *suite);

#endif
