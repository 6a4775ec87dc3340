// SPDX-License-Identifier: Apache-2.0
// One scratch folder at a time for tests that need the file system.
#ifndef FZ_TESTS_UNIT_IO_STORE_SCRATCH_H
#define FZ_TESTS_UNIT_IO_STORE_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_path[256];

/** Make it; its absolute path. */
static inline const char *scratch_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(scratch_path, sizeof scratch_path, "%s/frazil-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(scratch_path)) {
        abort();
    }
    return scratch_path;
}

static inline int scratch_drop(const char *path, const struct stat *st, int kind,
                               struct FTW *where) {
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

/** Remove it with all that is in it. */
static inline void scratch_remove(void) {
    nftw(scratch_path, scratch_drop, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
