// SPDX-License-Identifier: Apache-2.0
// What every schema registry must do, as one group of tests.
#ifndef FZ_TESTS_CONFORMANCE_REGISTRY_SUITE_H
#define FZ_TESTS_CONFORMANCE_REGISTRY_SUITE_H

#include "io/registry/registry.h"

/** One implementation under test; `back` is the memory registry that holds what it shall find. */
typedef struct registry_suite {
    const char *name;
    void (*open)(fz_registry **registry, fz_registry **back); // empty
    void (*close)(void);
} registry_suite;

/** Runs the group; the number of failed tests. */
int registry_suite_run(const registry_suite *suite);

#endif
