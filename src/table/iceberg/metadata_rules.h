// SPDX-License-Identifier: Apache-2.0
// Rules on table metadata that creating, parsing and updating share.
#ifndef FZ_TABLE_ICEBERG_METADATA_RULES_H
#define FZ_TABLE_ICEBERG_METADATA_RULES_H

#include "data/transform.h"
#include "table/iceberg/metadata.h"

/** Partition field ids of a table without any end here (Java's last-partition-id). */
#define FZ_ICEBERG_FIRST_PARTITION_ID 1000

/** Member `id_key` of the objects in `array` that equals `id`; NULL if none. */
const json_t *fz_iceberg_rules_find(const json_t *array, const char *id_key, int64_t id);
/** Greatest field id in a schema's JSON, unknown types included; 0 if it has none. */
int32_t fz_iceberg_rules_highest_id(const json_t *schema);
/** INVALID when a property's key is reserved or its value no text. */
FZ_CHECKED fz_code fz_iceberg_rules_properties(const json_t *properties, fz_err *err);
/** INVALID when the schema needs a newer format version (defaults, nanoseconds, variant, geometry,
 * unknown). */
FZ_CHECKED fz_code fz_iceberg_rules_schema(const json_t *schema, int version, fz_err *err);
/** A spec's JSON field; `field_id` as given. New reference. */
json_t *fz_iceberg_rules_partition_field(const fz_partition_field *field, int32_t field_id);
/** INVALID when a partition field's name is taken, its source absent or its transform not
 * applicable. */
FZ_CHECKED fz_code fz_iceberg_rules_spec(const json_t *fields, const json_t *schema, fz_err *err);

#endif
