// SPDX-License-Identifier: Apache-2.0
// Which small files are worth being put together.
#ifndef FZ_FLOW_MAINTAIN_CANDIDATES_H
#define FZ_FLOW_MAINTAIN_CANDIDATES_H

#include "base/map.h"
#include "base/vec.h"
#include "flow/maintain/maintain.h"

/** A small data file; what it points to is in the arena of the candidates. */
typedef struct fz_candidate {
    fz_iceberg_file file; // without metrics
    int64_t sequence_number;
} fz_candidate;

/** Files of one partition that become one file or few. */
typedef struct fz_candidate_task {
    fz_candidate *files; // in the order in which they were written
    size_t count;
    int64_t bytes;
    int64_t rows;
} fz_candidate_task;

typedef FZ_VEC(fz_candidate) fz_candidate_files;

/** Zeroed is empty. */
typedef struct fz_candidates {
    fz_arena arena;
    fz_map groups; // spec and partition -> fz_candidate_files
    FZ_VEC(fz_candidate_task) tasks;
    size_t count; // small files seen
} fz_candidates;

void fz_candidates_deinit(fz_candidates *candidates);

/**
 * Look through main's files.
 *
 * Without `thorough` a partition needs min_files small ones, and a file is taken only if those
 * smaller than it weigh as much: so each row is rewritten a few times only until its file is large.
 * Errors: what the store and the manifests answer. report->skipped tells why there are none.
 */
FZ_CHECKED fz_code fz_candidates_find(const fz_maintain_options *options,
                                      const fz_iceberg_metadata *metadata, fz_candidates *out,
                                      fz_maintain_report *report, fz_err *err);

#endif
