// SPDX-License-Identifier: Apache-2.0
// Requirements and updates of the REST catalog specification, applied to table metadata: pure, no
// I/O.
#ifndef FZ_TABLE_ICEBERG_UPDATE_H
#define FZ_TABLE_ICEBERG_UPDATE_H

#include "table/iceberg/metadata.h"

/**
 * Check requirements, an array as in updateTable.
 *
 * metadata  the table now, NULL: it does not exist
 * Errors: CONFLICT naming the first that fails, found against wanted; INVALID unknown or malformed.
 */
FZ_CHECKED fz_code fz_iceberg_update_check(const fz_iceberg_metadata *metadata,
                                           const json_t *requirements, fz_err *err);

/**
 * Apply updates, an array as in updateTable (formats.md 2.5), in order.
 *
 * metadata  the base, NULL: start from nothing (then the updates must make a whole table)
 * now_ms    becomes last-updated-ms unless a snapshot's time does; never goes back
 * out       new metadata without a location; the base's file is in its metadata-log
 * Errors: INVALID naming the update and the rule that it breaks.
 */
FZ_CHECKED fz_code fz_iceberg_update_apply(const fz_iceberg_metadata *metadata,
                                           const json_t *updates, int64_t now_ms,
                                           fz_iceberg_metadata **out, fz_err *err);

/** Updates that make `metadata` from nothing (assign-uuid, add-schema, ...): what REST's
 * stage-create commits. New reference. */
json_t *fz_iceberg_update_from_new(const fz_iceberg_metadata *metadata);

/** Metadata files that fell out of the metadata-log between `base` and `next`: an array of texts,
 * new reference. */
json_t *fz_iceberg_update_expired_files(const fz_iceberg_metadata *base,
                                        const fz_iceberg_metadata *next);

// Single requirements and updates, new references.

json_t *fz_iceberg_require_uuid(fz_str uuid);
/** snapshot_id FZ_ICEBERG_NONE is written as null: the ref must not exist. */
json_t *fz_iceberg_require_ref(const char *ref, int64_t snapshot_id);
/** {"type": type, key: value}, such as assert-current-schema-id. */
json_t *fz_iceberg_require_int(const char *type, const char *key, int64_t value);
/** {"action": action}; add members to it. */
json_t *fz_iceberg_update_new(const char *action);
json_t *fz_iceberg_update_set_ref(const char *ref, int64_t snapshot_id);

#endif
