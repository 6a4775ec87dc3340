// SPDX-License-Identifier: Apache-2.0
// What a JSON value is wanted to be: one tree for JSON Schema, given columns, Connect's envelope
// and inferred columns.
#ifndef FZ_FORMAT_JSON_TYPE_H
#define FZ_FORMAT_JSON_TYPE_H

#include "data/type.h"

typedef enum fz_json_kind {
    FZ_JSON_NULL,      // nothing else
    FZ_JSON_ANY,       // kept as JSON text
    FZ_JSON_RECURSIVE, // contains itself: refused, or kept as JSON text
    FZ_JSON_BOOLEAN,
    FZ_JSON_INTEGER, // of `bits`
    FZ_JSON_NUMBER,
    FZ_JSON_FLOAT, // number of 32 bits
    FZ_JSON_STRING,
    FZ_JSON_SCALAR_TEXT,      // text as it is, anything else by its digits
    FZ_JSON_BYTES,            // base64
    FZ_JSON_FIXED,            // base64 of `length` bytes
    FZ_JSON_DECIMAL,          // base64 of the unscaled value, or a number
    FZ_JSON_DATE,             // text
    FZ_JSON_TIME,             // text
    FZ_JSON_TIMESTAMP,        // text without an offset
    FZ_JSON_TIMESTAMPTZ,      // text with one
    FZ_JSON_UUID,             // text
    FZ_JSON_DATE_DAYS,        // integer
    FZ_JSON_TIME_MILLIS,      // integer
    FZ_JSON_TIMESTAMP_MILLIS, // integer
    FZ_JSON_ARRAY,            // item
    FZ_JSON_MAP,              // an object, item is the value
    FZ_JSON_ENTRIES,          // an array of {"key", "value"}; key, item
    FZ_JSON_OBJECT,           // fields
    FZ_JSON_UNION,            // branches: the first that validates
} fz_json_kind;

typedef struct fz_json_type fz_json_type;

typedef struct fz_json_field {
    fz_str name; // also of a union's branch
    fz_str doc;
    bool required;
    int64_t order; // connect.index; INT64_MAX: none
    fz_json_type *type;
} fz_json_field;

struct fz_json_type {
    fz_json_kind kind;
    bool nullable;
    bool digits_text;  // DECIMAL: text is digits, not base64
    int bits;          // INTEGER: 8, 16, 32, 64
    int32_t precision; // DECIMAL
    int32_t scale;
    int32_t length;        // FIXED
    fz_str name;           // RECURSIVE: the reference; else title
    fz_json_type *item;    // ARRAY, MAP, ENTRIES
    fz_json_type *key;     // ENTRIES
    fz_json_field *fields; // OBJECT, UNION
    size_t field_count;
    bool closed;           // OBJECT: no other members, when a union's branch is looked for
    const json_t **values; // enum and const, when a union's branch is looked for
    size_t value_count;
};

/** Word for messages, "integer"; static. */
const char *fz_json_kind_name(fz_json_kind kind);

#endif
