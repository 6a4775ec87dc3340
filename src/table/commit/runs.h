// SPDX-License-Identifier: Apache-2.0
// Offsets of replayed dead letters as runs: the property frazil.replayed (protocol.md R25).
#ifndef FZ_TABLE_COMMIT_RUNS_H
#define FZ_TABLE_COMMIT_RUNS_H

#include "base/text/json.h"
#include "base/vec.h"

/** Offsets [start, end) of a source's partition. */
typedef struct fz_commit_one_run {
    fz_str source; // name in the state; borrowed
    int32_t partition;
    int64_t start;
    int64_t end;
} fz_commit_one_run;

/** Zeroed is empty. Sorted and disjoint after settle; find, touch, subtract and json want that. */
typedef struct fz_commit_runs {
    FZ_VEC(fz_commit_one_run) all;
} fz_commit_runs;

void fz_commit_runs_deinit(fz_commit_runs *runs);
/** One more offset; neighbours added in order make one run at once. */
void fz_commit_runs_add(fz_commit_runs *runs, fz_str source, int32_t partition, int64_t offset);
/** All runs of another set. */
void fz_commit_runs_add_all(fz_commit_runs *runs, const fz_commit_runs *more);
void fz_commit_runs_settle(fz_commit_runs *runs);
bool fz_commit_runs_find(const fz_commit_runs *runs, fz_str source, int32_t partition,
                         int64_t offset);
/** Have both sets an offset in common? */
bool fz_commit_runs_touch(const fz_commit_runs *a, const fz_commit_runs *b);
/** Offsets of `from` that `what` lacks, into `out` (empty). */
void fz_commit_runs_subtract(const fz_commit_runs *from, const fz_commit_runs *what,
                             fz_commit_runs *out);
/** Number of offsets. */
int64_t fz_commit_runs_count(const fz_commit_runs *runs);

/**
 * From [[source, partition, start, end], ...]; NULL is empty. Settled; views live as long as the
 * array. Errors: CORRUPT an item is not that.
 */
FZ_CHECKED fz_code fz_commit_runs_read(const json_t *array, fz_commit_runs *out, fz_err *err);
/** A new reference. */
json_t *fz_commit_runs_json(const fz_commit_runs *runs);

#endif
