// SPDX-License-Identifier: Apache-2.0
// Avro's logical types: which are valid on their base.
#ifndef FZ_FORMAT_AVRO_LOGICAL_H
#define FZ_FORMAT_AVRO_LOGICAL_H

#include "format/avro/schema.h"

/** Set logical, precision and scale from the type's object, or ignored_logical where it does not
 * fit. */
void fz_avro_logical_of_type(fz_arena *arena, const json_t *json, fz_avro_type *type);
/** Mark a record that Kafka Connect uses for a map's entries. */
void fz_avro_logical_of_record(const json_t *json, fz_avro_type *type);
/** `timestamp-millis`; NULL for NONE. */
const char *fz_avro_logical_name(fz_avro_logical logical);

#endif
