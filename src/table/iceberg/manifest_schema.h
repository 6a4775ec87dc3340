// SPDX-License-Identifier: Apache-2.0
// Avro schemas of manifests and manifest lists, with field ids and names as Java writes them.
#ifndef FZ_TABLE_ICEBERG_MANIFEST_SCHEMA_H
#define FZ_TABLE_ICEBERG_MANIFEST_SCHEMA_H

#include "data/transform.h"
#include "format/avro/container.h"

// Field ids (spec, "Manifests" and "Manifest Lists").
enum {
    FZ_ICEBERG_ID_STATUS = 0,
    FZ_ICEBERG_ID_SNAPSHOT = 1,
    FZ_ICEBERG_ID_DATA_FILE = 2,
    FZ_ICEBERG_ID_SEQUENCE = 3,
    FZ_ICEBERG_ID_FILE_SEQUENCE = 4,
    FZ_ICEBERG_ID_PATH = 100,
    FZ_ICEBERG_ID_FORMAT = 101,
    FZ_ICEBERG_ID_PARTITION = 102,
    FZ_ICEBERG_ID_RECORD_COUNT = 103,
    FZ_ICEBERG_ID_SIZE = 104,
    FZ_ICEBERG_ID_COLUMN_SIZES = 108,
    FZ_ICEBERG_ID_VALUE_COUNTS = 109,
    FZ_ICEBERG_ID_NULL_COUNTS = 110,
    FZ_ICEBERG_ID_LOWER = 125,
    FZ_ICEBERG_ID_UPPER = 128,
    FZ_ICEBERG_ID_KEY_METADATA = 131,
    FZ_ICEBERG_ID_SPLITS = 132,
    FZ_ICEBERG_ID_CONTENT = 134,
    FZ_ICEBERG_ID_EQUALITY = 135,
    FZ_ICEBERG_ID_NAN_COUNTS = 137,
    FZ_ICEBERG_ID_SORT_ORDER = 140,
    FZ_ICEBERG_ID_FIRST_ROW = 142,
    FZ_ICEBERG_ID_REFERENCED = 143,
    FZ_ICEBERG_ID_CONTENT_OFFSET = 144,
    FZ_ICEBERG_ID_CONTENT_SIZE = 145,
    FZ_ICEBERG_ID_LIST_PATH = 500,
    FZ_ICEBERG_ID_LIST_LENGTH = 501,
    FZ_ICEBERG_ID_LIST_SPEC = 502,
    FZ_ICEBERG_ID_LIST_SNAPSHOT = 503,
    FZ_ICEBERG_ID_LIST_ADDED = 504,
    FZ_ICEBERG_ID_LIST_EXISTING = 505,
    FZ_ICEBERG_ID_LIST_DELETED = 506,
    FZ_ICEBERG_ID_LIST_PARTITIONS = 507,
    FZ_ICEBERG_ID_LIST_NULL = 509,
    FZ_ICEBERG_ID_LIST_LOWER = 510,
    FZ_ICEBERG_ID_LIST_UPPER = 511,
    FZ_ICEBERG_ID_LIST_ADDED_ROWS = 512,
    FZ_ICEBERG_ID_LIST_EXISTING_ROWS = 513,
    FZ_ICEBERG_ID_LIST_DELETED_ROWS = 514,
    FZ_ICEBERG_ID_LIST_SEQUENCE = 515,
    FZ_ICEBERG_ID_LIST_MIN_SEQUENCE = 516,
    FZ_ICEBERG_ID_LIST_CONTENT = 517,
    FZ_ICEBERG_ID_LIST_NAN = 518,
    FZ_ICEBERG_ID_LIST_KEY_METADATA = 519,
    FZ_ICEBERG_ID_LIST_FIRST_ROW = 520,
};

/** Schema of a manifest of version 2 or 3 for a spec, new reference. UNSUPPORTED for a result type
 * that is nested. */
FZ_CHECKED fz_code fz_iceberg_manifest_schema(int version, const fz_partition_spec *spec,
                                              json_t **out, fz_err *err);
/** Schema of a manifest list of version 2 or 3, new reference. */
json_t *fz_iceberg_list_schema(int version);
/** A partition value as datum; bytes in `arena`. */
fz_avro_datum fz_iceberg_partition_datum(const fz_value *value, const fz_type *type,
                                         fz_arena *arena);
/** A datum as partition value of `type`; bytes borrowed. CORRUPT when it is of another kind. */
FZ_CHECKED fz_code fz_iceberg_partition_value(const fz_avro_datum *datum, const fz_type *type,
                                              fz_value *out, fz_err *err);

#endif
