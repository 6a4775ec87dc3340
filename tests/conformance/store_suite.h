// SPDX-License-Identifier: Apache-2.0
// What every object store must do, as one group of tests.
#ifndef FZ_TESTS_CONFORMANCE_STORE_SUITE_H
#define FZ_TESTS_CONFORMANCE_STORE_SUITE_H

#include "io/store/store.h"

/** One implementation under test. */
typedef struct store_suite {
    const char *name;
    fz_store *(*open)(size_t page_size); // an empty store, objects a page of a listing
    void (*clean)(void);                 // after the store was freed; may be NULL
    bool no_put_if;                      // put_if is UNSUPPORTED
    bool late_exists;                    // a writer may replace a key that is taken
} store_suite;

/** Runs the group; the number of failed tests. */
int store_suite_run(const store_suite *suite);

#endif
