// SPDX-License-Identifier: Apache-2.0
// Maintenance of a stream's tables beside ingestion: its own and those of record types.
#ifndef FZ_FLOW_INGEST_KEEPER_H
#define FZ_FLOW_INGEST_KEEPER_H

#include "base/thread.h"
#include "flow/ingest/stream.h"

/** Of one stream. */
typedef struct fz_keeper fz_keeper;

/** stream, pool  borrowed; jobs run on the pool, so that no append waits for them */
fz_keeper *fz_keeper_new(fz_stream *stream, fz_pool *pool);
/** NULL allowed. No job may be running: the pool is gone or drained. */
void fz_keeper_free(fz_keeper *keeper);
/**
 * Start what is due on tables that were seen. Orphans of record types' tables are left alone: files
 * that the home's outbox owes to a table are named by nothing else.
 *
 * Thread: the service's own. Cheap, no I/O.
 */
void fz_keeper_tick(fz_keeper *keeper);

#endif
