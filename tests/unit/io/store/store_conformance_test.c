// SPDX-License-Identifier: Apache-2.0
// The store suite over the stores of this machine: memory, local, and each behind the fault store.
#define _GNU_SOURCE
#include "conformance/store_suite.c"

#include <unistd.h>

#include "io/store/fault_store.h"
#include "io/store/local_store.h"
#include "io/store/memory_store.h"
#include "unit/io/store/scratch.h"

static fz_store *open_memory(size_t page_size) {
    return fz_store_memory_new("test", page_size);
}

static fz_store *open_local(size_t page_size) {
    fz_store *store;
    fz_err err;
    if (fz_store_local_open(scratch_make(), page_size, &store, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return store;
}

static fz_store *open_fault(size_t page_size) {
    return fz_store_fault_new(open_local(page_size));
}

int main(void) {
    static const store_suite suites[] = {
        {.name = "memory", .open = open_memory},
        {.name = "local", .open = open_local, .clean = scratch_remove},
        {.name = "fault", .open = open_fault, .clean = scratch_remove},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += store_suite_run(&suites[i]);
    }
    return failed;
}
