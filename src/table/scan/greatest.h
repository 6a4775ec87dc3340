// SPDX-License-Identifier: Apache-2.0
// Greatest offset of each source partition in a table: what proves a position by content.
#ifndef FZ_TABLE_SCAN_GREATEST_H
#define FZ_TABLE_SCAN_GREATEST_H

#include "table/scan/scan.h"

typedef struct fz_scan_greatest_options {
    int64_t snapshot_id; // 0: of main
    fz_str partition;    // path of the partition's column, int: "_kafka.partition"
    fz_str offset;       // long: "_kafka.offset"
    fz_str topic;        // string: "_kafka.topic"; empty: rows of every topic count
    fz_str topic_name;   // wanted
    fz_budget *budget;
} fz_scan_greatest_options;

/**
 * greatest  [count] by partition; -1 where there is no row. Partitions from `count` on are not
 * looked at
 *
 * A file whose bounds say it all (one partition, one topic) is not opened.
 * Errors: NOT_FOUND a column; as fz_scan_next.
 */
FZ_CHECKED fz_code fz_scan_greatest(fz_scan_files files, fz_iceberg_metadata *metadata,
                                    const fz_scan_greatest_options *options, int64_t *greatest,
                                    size_t count, fz_err *err);

#endif
