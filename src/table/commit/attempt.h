// SPDX-License-Identifier: Apache-2.0
// One attempt to commit a batch: what is checked on its base, and what is built for it.
#ifndef FZ_TABLE_COMMIT_ATTEMPT_H
#define FZ_TABLE_COMMIT_ATTEMPT_H

#include "table/commit/commit.h"

/**
 * Does the batch fit the table as it is now (R4, R11, R22)?
 *
 * Errors: CONFLICT forget it; INVALID with a kind: suspend; else the store's, try again.
 */
FZ_CHECKED fz_code fz_commit_attempt_check(const fz_commit_table *table,
                                           const fz_commit_batch *batch,
                                           const fz_commit_options *options,
                                           const fz_iceberg_metadata *base,
                                           const fz_commit_state *position, fz_err *err);
/** The state after it: that of this base with the own moves and edits (R3). */
fz_commit_state *fz_commit_attempt_state(const fz_commit_table *table, const fz_commit_batch *batch,
                                         const fz_commit_state *position, int64_t snapshot_id);
/** Requirements, updates and files. Errors: UNAVAILABLE the parent's manifest list; INVALID. */
FZ_CHECKED fz_code fz_commit_attempt_build(const fz_commit_table *table,
                                           const fz_commit_batch *batch,
                                           const fz_iceberg_metadata *base,
                                           const fz_commit_state *position, fz_commit_state *state,
                                           fz_iceberg_change *change, fz_err *err);
/** Put manifests and list into the store; those of an earlier try may be there. */
FZ_CHECKED fz_code fz_commit_attempt_upload(const fz_commit_table *table,
                                            const fz_iceberg_change *change, fz_err *err);

#endif
