// SPDX-License-Identifier: Apache-2.0
// The summary of own snapshots: written by commits, read by the search for the position
// (protocol.md 5.1).
#ifndef FZ_TABLE_COMMIT_SUMMARY_H
#define FZ_TABLE_COMMIT_SUMMARY_H

#include "table/commit/commit.h"

/** Largest full vector, and largest list of moves, in a summary, bytes (R28). */
#define FZ_COMMIT_FULL_MAX 4096

/**
 * Summary pairs of an own snapshot with state `after`, made on a table with state `before`. New
 * object.
 *
 * frazil.moved is [[source, partition, generation, start, end], ...]; where the generation changes
 * too, a sixth item is the new one and `generation`, `start` are -1 for a partition that was not
 * known. Left out when it is too long.
 */
json_t *fz_commit_summary_new(const fz_commit_state *before, const fz_commit_state *after,
                              const char *op, fz_str reason);
/** Is it an own snapshot of the table with this nonce? (R5; nonce empty: of any table) */
bool fz_commit_summary_own(const fz_iceberg_snapshot *snapshot, fz_str nonce);
/**
 * Set the vector of `state` to the full one in the summary; false if there is none, it does not fit
 * the digest, or (with known_sources) it has a source that `state` knows nothing of.
 */
bool fz_commit_summary_full(const fz_iceberg_snapshot *snapshot, fz_commit_state *state,
                            bool known_sources);
/** Take the moves of the snapshot back out of `state`; false if it tells none or they do not fit.
 */
bool fz_commit_summary_undo(const fz_iceberg_snapshot *snapshot, fz_commit_state *state);

#endif
