// SPDX-License-Identifier: Apache-2.0
// The summary of a snapshot that adds files, or replaces some.
#ifndef FZ_TABLE_ICEBERG_SNAPSHOT_SUMMARY_H
#define FZ_TABLE_ICEBERG_SNAPSHOT_SUMMARY_H

#include "table/iceberg/manifest.h"

typedef struct fz_iceberg_added {
    const fz_iceberg_file *files;
    size_t count;
    size_t manifests_created;
    size_t manifests_kept;
    bool is_replace; // operation replace: the rows are the same before and after
    size_t manifests_replaced;
    const fz_iceberg_file *removed; // no longer live
    size_t removed_count;
} fz_iceberg_added;

/** "append", "overwrite" or "delete" by what is added. */
const char *fz_iceberg_snapshot_operation(const fz_iceberg_file *files, size_t count);
/**
 * Summary with added-* where something was, and total-* where the parent's are known
 * (formats.md 1.11).
 *
 * parent  NULL: there is none, totals start at 0
 * custom  object of texts that are put in too, may be NULL
 */
json_t *fz_iceberg_snapshot_summary_new(const fz_iceberg_added *added,
                                        const fz_iceberg_snapshot *parent, const json_t *custom);

#endif
