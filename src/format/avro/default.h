// SPDX-License-Identifier: Apache-2.0
// Default values: from Avro's JSON to Iceberg's single-value JSON.
#ifndef FZ_FORMAT_AVRO_DEFAULT_H
#define FZ_FORMAT_AVRO_DEFAULT_H

#include "data/value.h"
#include "format/avro/schema.h"

/**
 * A field's default as Iceberg JSON (`7`, `"dé"`, `"2017-11-16"`) in `arena`.
 * False when there is none for the column: null, a nested type, a value of the wrong kind.
 */
bool fz_avro_default_format(fz_arena *arena, const fz_avro_type *source, const fz_type *type,
                            const json_t *value, fz_str *out);

#endif
