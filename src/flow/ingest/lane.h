// SPDX-License-Identifier: Apache-2.0
// A lane: a thread that owns partitions from fetch to encoded page.
#ifndef FZ_FLOW_INGEST_LANE_H
#define FZ_FLOW_INGEST_LANE_H

#include "flow/ingest/stream.h"

typedef struct fz_lane fz_lane;

/** Start lane number `index`. */
fz_lane *fz_lane_new(const fz_ingest_host *host, int index);
/** All partitions must have been detached. Ends the thread. NULL allowed. */
void fz_lane_free(fz_lane *lane);

/** Give a partition with its reader to the lane; waits until it has it. The caller's thread: one.
 */
void fz_lane_attach(fz_lane *lane, fz_stream *stream, fz_stream_part *part);
/** Read this partition no further, keep what it gave; waits until the lane does so. */
void fz_lane_stop(fz_lane *lane, fz_stream *stream, fz_stream_part *part);
/**
 * Take the stream's partitions away, with all that they gave and that is in no cut yet; waits.
 *
 * only  NULL: all of the stream; else this one alone, what it gave must be in a cut (its files are
 * shared with others)
 */
void fz_lane_detach(fz_lane *lane, fz_stream *stream, fz_stream_part *only);
/** Look for cuts and records now. Any thread. */
void fz_lane_wake(fz_lane *lane);
/** Does the lane hold partitions of the stream? Only the thread that attaches may ask. */
bool fz_lane_has(const fz_lane *lane, const fz_stream *stream);

#endif
