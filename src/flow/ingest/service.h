// SPDX-License-Identifier: Apache-2.0
// All streams of a process: opened, read by lanes, committed, until done or told to stop.
#ifndef FZ_FLOW_INGEST_SERVICE_H
#define FZ_FLOW_INGEST_SERVICE_H

#include "flow/ingest/stream.h"

typedef struct fz_service fz_service;

typedef enum fz_service_stop {
    FZ_SERVICE_GO,
    FZ_SERVICE_FINISH, // commit what is buffered, then end
    FZ_SERVICE_ABORT,  // end at once
} fz_service_stop;

/** Make the streams of all enabled entries. Everything borrowed outlives it. INVALID: two tables of
 * one name. */
FZ_CHECKED fz_code fz_service_new(const fz_ingest_host *host, fz_service **out, fz_err *err);
/** NULL allowed. */
void fz_service_free(fz_service *service);

/**
 * Run to the end: of the pass (`--once`), or until `stop` says so (asked every few milliseconds).
 *
 * Returns the exit code of interface.md section 2: 0, 1 a topic failed or not all was committed, 3
 * one is suspended.
 */
int fz_service_run(fz_service *service, fz_service_stop (*stop)(void *context), void *context);

/** Append the report of `run --once -o json`, one line. After run. */
void fz_service_report(const fz_service *service, fz_buf *out);
/** Append the report as text, a line a topic. After run. */
void fz_service_report_text(const fz_service *service, fz_buf *out);

size_t fz_service_stream_count(const fz_service *service);
fz_stream *fz_service_stream_at(const fz_service *service, size_t index);

#endif
