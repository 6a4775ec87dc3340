// SPDX-License-Identifier: Apache-2.0
// The parsed form of an Avro schema and its parser.
#ifndef FZ_FORMAT_AVRO_SCHEMA_PARSER_H
#define FZ_FORMAT_AVRO_SCHEMA_PARSER_H

#include "base/vec.h"
#include "format/avro/schema.h"

typedef struct fz_avro_schema {
    fz_writer_schema base;
    fz_arena arena;
    const fz_avro_type *root;
    FZ_VEC(json_t *) defaults; // references that keep the fields' default values alive
} fz_avro_schema;

/** Fill `schema` (zeroed but for base); on errors it is half built and may be freed. Arguments as
 * fz_avro_schema_new. */
FZ_CHECKED fz_code fz_avro_schema_parse(fz_avro_schema *schema, fz_str text,
                                        const fz_avro_reference *references, size_t count,
                                        const fz_avro_limits *limits, fz_err *err);

#endif
