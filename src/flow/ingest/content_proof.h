// SPDX-License-Identifier: Apache-2.0
// The position proven by what the table holds, where no own snapshot is left (protocol.md 5.3).
#ifndef FZ_FLOW_INGEST_CONTENT_PROOF_H
#define FZ_FLOW_INGEST_CONTENT_PROOF_H

#include "table/commit/table.h"
#include "table/scan/plan.h"

/** Context of fz_content_proof. Borrowed. */
typedef struct fz_content_proof_context {
    fz_store *const *store; // of the table's data files; may be set after the context is made
    fz_budget *budget;      // may be NULL
} fz_content_proof_context;

/**
 * A fz_commit_content_fn: greatest offsets by the columns that the table's link names m:partition
 * and m:offset, and m:topic where there is one.
 *
 * Errors: NOT_FOUND the table has no such columns (`metadata: false`, dropped); UNSUPPORTED several
 * topics and no topic column; as fz_scan_greatest.
 */
FZ_CHECKED fz_code fz_content_proof(void *context, const fz_iceberg_metadata *metadata,
                                    const fz_commit_source *source, int64_t *greatest, fz_err *err);

#endif
