// SPDX-License-Identifier: Apache-2.0
// JSON Schema text to a tree of types.
#ifndef FZ_FORMAT_JSON_SCHEMA_PARSER_H
#define FZ_FORMAT_JSON_SCHEMA_PARSER_H

#include "format/json/writer.h"

/** Fill documents and root. Arguments and errors as fz_json_schema_new. */
FZ_CHECKED fz_code fz_json_schema_parse(fz_json_schema *schema, fz_str text,
                                        const fz_json_reference *references, size_t count,
                                        fz_err *err);

#endif
