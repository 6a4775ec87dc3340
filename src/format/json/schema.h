// SPDX-License-Identifier: Apache-2.0
// JSON as a writer's schema: from JSON Schema, from given columns, from Connect's envelope, or
// none.
#ifndef FZ_FORMAT_JSON_SCHEMA_H
#define FZ_FORMAT_JSON_SCHEMA_H

#include "format/decoder.h"

/** Limits of a schema. */
#define FZ_JSON_SCHEMA_TEXT ((size_t)32 << 20) // bytes of schema and references together
#define FZ_JSON_SCHEMA_DEPTH 100               // of types
#define FZ_JSON_SCHEMA_TYPES 200000            // types looked at; reused definitions multiply

/** A schema that another one names. */
typedef struct fz_json_reference {
    fz_str name; // as in `$ref`
    fz_str text;
} fz_json_reference;

/**
 * From JSON Schema, draft-04 to 2020-12.
 *
 * Errors: CORRUPT with kind schema_parse, naming the place; LIMIT with kind schema_parse;
 * UNSUPPORTED with kind depth_limit.
 * Source: JSON Schema draft-04, draft-06, draft-07, 2019-09, 2020-12; types.md, "JSON Schema".
 */
FZ_CHECKED fz_code fz_json_schema_new(fz_str text, const fz_json_reference *references,
                                      size_t count, fz_writer_schema **out, fz_err *err);
/** Title of the root; empty when it has none (subject strategies, `{record}`). */
fz_str fz_json_schema_name(const fz_writer_schema *schema);

/** A schema of given columns. Errors: UNSUPPORTED with kind unsupported_type, naming the column. */
FZ_CHECKED fz_code fz_json_columns_new(const fz_field *columns, size_t count,
                                       fz_writer_schema **out, fz_err *err);

#endif
