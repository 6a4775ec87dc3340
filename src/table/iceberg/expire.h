// SPDX-License-Identifier: Apache-2.0
// Which snapshots and refs have had their time: pure, the catalog commits it.
#ifndef FZ_TABLE_ICEBERG_EXPIRE_H
#define FZ_TABLE_ICEBERG_EXPIRE_H

#include "table/iceberg/update.h"

/** Zeroed but for now_ms: by the table's properties (history.expire.*) and its refs' own retention.
 */
typedef struct fz_iceberg_expire_options {
    int64_t now_ms;
    int64_t max_age_ms;  // instead of history.expire.max-snapshot-age-ms, 0: that, or 5 days
    int64_t min_count;   // instead of history.expire.min-snapshots-to-keep, 0: that, or 1
    int64_t max_count;   // at most so many on main, whatever their age; 0: no limit
    const int64_t *keep; // snapshot ids that stay in any case
    size_t keep_count;
} fz_iceberg_expire_options;

/**
 * Updates (remove-snapshot-ref, remove-snapshots) that forget what is too old, as Java's
 * RemoveSnapshots decides: a branch keeps its newest min_count snapshots and those younger than the
 * age, tags keep theirs, others go by age. main and its snapshot always stay.
 *
 * count  snapshots that go, may be NULL
 * Returns an array, empty when there is nothing to do; new reference.
 */
json_t *fz_iceberg_expire_plan(const fz_iceberg_metadata *metadata,
                               const fz_iceberg_expire_options *options, size_t *count);

#endif
