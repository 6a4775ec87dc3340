// SPDX-License-Identifier: Apache-2.0
// Commits of maintenance that add a snapshot: the same rows, the base's state (R3, H10).
#ifndef FZ_FLOW_MAINTAIN_REPLACE_H
#define FZ_FLOW_MAINTAIN_REPLACE_H

#include "flow/maintain/maintain.h"
#include "table/iceberg/rewrite.h"

/** A replace to be committed. Borrowed. */
typedef struct fz_replace {
    fz_iceberg_rewrite *rewrite;
    fz_iceberg_append *added; // may be empty, not NULL
    fz_str uuid;              // of the table
    fz_str commit;            // 36 characters, as rewrite and append were made with
    int64_t oldest_file_ms;   // 0: no files
    fz_str reason;            // for the summary
} fz_replace;

/**
 * Run it through the commit loop, for a bounded time.
 *
 * sent  some request named the files: they may be in the table whatever is answered (R8)
 * Errors: CONFLICT plan again; CANCELLED; as fz_commit_run tells why it is suspended.
 */
FZ_CHECKED fz_code fz_replace_commit(const fz_maintain_options *options, const fz_replace *replace,
                                     fz_maintain_report *report, bool *sent, fz_err *err);

#endif
