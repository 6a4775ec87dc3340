// SPDX-License-Identifier: Apache-2.0
// What the configuration says of a table that exists: format version, partitioning, properties.
#ifndef FZ_FLOW_INGEST_SETTINGS_H
#define FZ_FLOW_INGEST_SETTINGS_H

#include "flow/ingest/stream.h"

/**
 * Bring the stream's table to its entry's settings, as an own commit, when they differ: a higher
 * format version, another partitioning (old files stay as they are; none given: the table's is
 * kept), properties set (never removed).
 *
 * Errors: UNSUPPORTED a transform that does not take its column; of the commit.
 */
FZ_CHECKED fz_code fz_settings_apply(fz_stream *stream, fz_err *err);

#endif
