// SPDX-License-Identifier: Apache-2.0
// What the configuration says of a table that exists: format version, partitioning, properties.
#ifndef FZ_FLOW_INGEST_SETTINGS_H
#define FZ_FLOW_INGEST_SETTINGS_H

#include "flow/ingest/stream.h"

/** Borrowed: a table that holds a watermark of ours. */
typedef struct fz_settings_table {
    const fz_config_entry *entry;
    const fz_commit_table *table;
    fz_iceberg_metadata *metadata; // as loaded
    fz_str source;
    fz_str route;
    const fz_commit_options *options;
    fz_log *log;
} fz_settings_table;

/**
 * Bring a table to its entry's settings, as an own commit, when they differ: a higher
 * format version, another partitioning (old files stay as they are; none given: the table's is
 * kept), properties set (never removed).
 *
 * newer  the table after the commit, a reference; NULL when there was nothing to change
 * Errors: UNSUPPORTED a transform that does not take its column; of the commit.
 */
FZ_CHECKED fz_code fz_settings_apply(const fz_settings_table *of, fz_iceberg_metadata **newer,
                                     fz_err *err);

#endif
