// SPDX-License-Identifier: Apache-2.0
// Values without a schema: the bytes, or the text, in one column.
#ifndef FZ_FORMAT_RAW_H
#define FZ_FORMAT_RAW_H

#include "format/decoder.h"

/** What the one column holds. */
typedef enum fz_raw_kind {
    FZ_RAW_BYTES,
    FZ_RAW_STRING, // UTF-8, else invalid_utf8
    FZ_RAW_JSON,   // one JSON text, checked for syntax and UTF-8, kept as it is
} fz_raw_kind;

/** A schema of one column `column` ("value", "key"), required unless `optional`. */
fz_writer_schema *fz_raw_schema_new(fz_raw_kind kind, fz_str column, bool optional);

#endif
