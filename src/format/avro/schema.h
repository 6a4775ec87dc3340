// SPDX-License-Identifier: Apache-2.0
// Avro schemas from their JSON text: the writer's schema of records, with named references.
#ifndef FZ_FORMAT_AVRO_SCHEMA_H
#define FZ_FORMAT_AVRO_SCHEMA_H

#include "format/decoder.h"

typedef enum fz_avro_kind {
    FZ_AVRO_NULL,
    FZ_AVRO_BOOLEAN,
    FZ_AVRO_INT,
    FZ_AVRO_LONG,
    FZ_AVRO_FLOAT,
    FZ_AVRO_DOUBLE,
    FZ_AVRO_BYTES,
    FZ_AVRO_STRING,
    FZ_AVRO_FIXED, // size
    FZ_AVRO_ENUM,  // symbols
    FZ_AVRO_ARRAY, // item
    FZ_AVRO_MAP,   // item is the value
    FZ_AVRO_RECORD,
    FZ_AVRO_UNION,
} fz_avro_kind;

/** Logical types that are valid on their base; all others are FZ_AVRO_LOGICAL_NONE. */
typedef enum fz_avro_logical {
    FZ_AVRO_LOGICAL_NONE,
    FZ_AVRO_LOGICAL_DECIMAL, // precision (may be over 38), scale
    FZ_AVRO_LOGICAL_UUID,    // on string or fixed(16)
    FZ_AVRO_LOGICAL_DATE,
    FZ_AVRO_LOGICAL_TIME_MILLIS,
    FZ_AVRO_LOGICAL_TIME_MICROS,
    FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS,
    FZ_AVRO_LOGICAL_TIMESTAMP_MICROS,
    FZ_AVRO_LOGICAL_TIMESTAMP_NANOS,
    FZ_AVRO_LOGICAL_LOCAL_MILLIS,
    FZ_AVRO_LOGICAL_LOCAL_MICROS,
    FZ_AVRO_LOGICAL_LOCAL_NANOS,
    FZ_AVRO_LOGICAL_DURATION,
    FZ_AVRO_LOGICAL_MAP, // array of records with two fields, key and value
} fz_avro_logical;

typedef struct fz_avro_type fz_avro_type;

typedef struct fz_avro_field {
    fz_str name; // as spelt, also where Avro forbids it
    fz_str doc;
    const fz_str *aliases;
    size_t alias_count;
    const fz_avro_type *type;
    const json_t *default_value; // NULL: none; not checked against the type
} fz_avro_field;

/** A type of a schema, in its arena; a named type that is used again is the same object, also
 * within itself. */
struct fz_avro_type {
    fz_avro_kind kind;
    fz_avro_logical logical;
    int64_t precision; // DECIMAL
    int64_t scale;
    int64_t size;          // FIXED, bytes
    fz_str name;           // RECORD, ENUM, FIXED: the last part of the full name
    fz_str full_name;      // with namespace; empty for unnamed types
    fz_str doc;            // RECORD, ENUM, FIXED
    const fz_str *aliases; // full names
    size_t alias_count;
    const fz_avro_field *fields; // RECORD
    size_t field_count;
    const fz_str *symbols; // ENUM
    size_t symbol_count;
    const fz_avro_type **branches; // UNION
    size_t branch_count;
    const fz_avro_type *item; // ARRAY, MAP
    fz_str ignored_logical;   // a logical type that does not fit its base, for a warning
};

/** Zeroed: the defaults. */
typedef struct fz_avro_limits {
    size_t text_size;   // bytes of schema and references together, default 4 MiB
    size_t field_count; // record fields and union branches, default 10,000
    unsigned depth;     // nesting of types, default 256; 1,000 at most
} fz_avro_limits;

/** A schema that another one names. */
typedef struct fz_avro_reference {
    fz_str name; // as the registry lists it, normally the full name of the type
    fz_str text;
} fz_avro_reference;

/**
 * A writer's schema from its text.
 *
 * references  [count] depth first: each may use the names of those before it; the same text twice
 * is one limits      NULL: the defaults out         one owner; fz_writer_schema_free
 *
 * Errors: CORRUPT with kind schema_parse, naming the path in the schema; LIMIT with kind
 * schema_parse. Threads: the result is immutable, any thread may open decoders. Source: Avro
 * specification 1.12, "Schema Declaration", "Names", "Logical Types".
 */
FZ_CHECKED fz_code fz_avro_schema_new(fz_str text, const fz_avro_reference *references,
                                      size_t count, const fz_avro_limits *limits,
                                      fz_writer_schema **out, fz_err *err);
/** The type at the root of a schema made by fz_avro_schema_new; a union of one type is that type.
 */
const fz_avro_type *fz_avro_schema_root(const fz_writer_schema *schema);
/** Full name of the root record, enum or fixed; empty when it has none (subject strategies,
 * `{record}`). */
fz_str fz_avro_schema_name(const fz_writer_schema *schema);
/** The branch that is not null of a union of null and one other type; NULL for all other types. */
const fz_avro_type *fz_avro_type_nullable(const fz_avro_type *type);
/** Name of a kind as in schemas: "int", "record". */
const char *fz_avro_kind_name(fz_avro_kind kind);

#endif
