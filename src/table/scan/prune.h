// SPDX-License-Identifier: Apache-2.0
// What bounds and summaries rule out. Unknown or unreadable ones rule out nothing.
#ifndef FZ_TABLE_SCAN_PRUNE_H
#define FZ_TABLE_SCAN_PRUNE_H

#include "table/scan/plan.h"

/** The count of a field, -1 unknown. */
int64_t fz_scan_count_of(const fz_iceberg_counts *counts, int32_t field_id);
/** The bound of a field as a value of `type`; false if unknown or not readable. Bytes are borrowed.
 */
bool fz_scan_bound_of(const fz_iceberg_bounds *bounds, int32_t field_id, const fz_type *type,
                      fz_value *out);
/** Some row of the file may have a value in each range. schema: types of the ranges' fields. */
bool fz_scan_file_may_match(const fz_iceberg_file *file, const fz_schema *schema,
                            const fz_scan_range *ranges, size_t count);
/** Some file of the manifest may. spec: its own. */
bool fz_scan_manifest_may_match(const fz_iceberg_manifest *manifest, const fz_partition_spec *spec,
                                const fz_scan_range *ranges, size_t count);

#endif
