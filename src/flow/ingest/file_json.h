// SPDX-License-Identifier: Apache-2.0
// A data file with its metrics as JSON: what an outbox holds of files that another table is owed.
#ifndef FZ_FLOW_INGEST_FILE_JSON_H
#define FZ_FLOW_INGEST_FILE_JSON_H

#include "table/iceberg/manifest.h"

/** A new object. Bounds and partition values are in single-value binary form, as hex. */
json_t *fz_file_json_encode(const fz_iceberg_file *file);

/**
 * A data file as fz_file_json_encode wrote it.
 *
 * spec   the partition spec of the file's spec id, with result types
 * arena  what `out` points to; texts stay in `json`
 * Errors: CORRUPT naming the member.
 */
FZ_CHECKED fz_code fz_file_json_decode(const json_t *json, const fz_partition_spec *spec,
                                       fz_arena *arena, fz_iceberg_file *out, fz_err *err);

#endif
