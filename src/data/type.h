// SPDX-License-Identifier: Apache-2.0
// Column types, fields and schemas with field ids: Iceberg's, used for every table format.
#ifndef FZ_DATA_TYPE_H
#define FZ_DATA_TYPE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text/json.h"

/** Iceberg spec, "Schemas and Data Types". */
typedef enum fz_type_kind {
    FZ_TYPE_BOOLEAN,
    FZ_TYPE_INT,
    FZ_TYPE_LONG,
    FZ_TYPE_FLOAT,
    FZ_TYPE_DOUBLE,
    FZ_TYPE_DECIMAL, // precision, scale
    FZ_TYPE_DATE,
    FZ_TYPE_TIME, // micros
    FZ_TYPE_TIMESTAMP,
    FZ_TYPE_TIMESTAMPTZ,
    FZ_TYPE_TIMESTAMP_NS,
    FZ_TYPE_TIMESTAMPTZ_NS,
    FZ_TYPE_STRING,
    FZ_TYPE_UUID,
    FZ_TYPE_FIXED, // length
    FZ_TYPE_BINARY,
    FZ_TYPE_STRUCT, // fields
    FZ_TYPE_LIST,   // fields[0]: "element"
    FZ_TYPE_MAP,    // fields[0]: "key" (required), fields[1]: "value"
} fz_type_kind;

typedef struct fz_field fz_field;

typedef struct fz_type {
    fz_type_kind kind;
    int32_t precision; // DECIMAL 1..38
    int32_t scale;     // DECIMAL 0..precision
    int32_t length;    // FIXED, bytes
    fz_field *fields;  // children of STRUCT, LIST, MAP
    size_t field_count;
} fz_type;

/**
 * A column, a struct's field, a list's element, a map's key or value.
 *
 * In a table's schema `id` is the field id. In a *shape* (the columns that a writer's schema asks
 * for, made by a decoder) `id` is 0 until evolution has bound it to a column, and identity, aliases
 * and origin are set.
 */
struct fz_field {
    int32_t id;
    bool required;
    fz_str name;
    fz_str doc;             // empty: none
    fz_str initial_default; // JSON single value (spec Appendix D), empty: none
    fz_str write_default;
    fz_type type;
    // shapes only
    fz_str identity; // what makes it the same source field in another version: Avro full path of
                     // names, Protobuf path of field numbers, JSON path; unique in the shape
    const fz_str *aliases; // older identities (Avro aliases)
    size_t alias_count;
    int32_t origin;   // the decoder's own: index of the source field or union branch
    bool has_default; // the writer's schema gives the field a default (initial_default holds it if
                      // it fits)
};

/** A table's schema or a shape. Immutable once built; owns everything below it. */
typedef struct fz_schema {
    fz_arena arena;
    int32_t schema_id;
    fz_type root; // STRUCT
    int32_t *identifier_ids;
    size_t identifier_count;
    int32_t highest_id; // greatest field id in it
    _Atomic int32_t references;
} fz_schema;

/** Empty schema with one reference; build root in its arena. */
fz_schema *fz_schema_new(void);
fz_schema *fz_schema_ref(fz_schema *schema);
/** NULL allowed; the last one frees. Any thread. */
void fz_schema_unref(fz_schema *schema);
/** Deep copy of a type, names and docs included, into `arena`. */
fz_type fz_type_copy(fz_arena *arena, const fz_type *type);
void fz_field_copy(fz_arena *arena, const fz_field *from, fz_field *to);
/** Give ids to fields whose id is 0: all of a level, then their children, as Iceberg's fresh ids;
 * *last is the last id used. */
void fz_type_assign_ids(fz_type *type, int32_t *last);
/** Recompute highest_id. */
void fz_schema_finish(fz_schema *schema);

static inline bool fz_type_is_nested(const fz_type *type) {
    return type->kind >= FZ_TYPE_STRUCT;
}
/** Same kind and parameters and, for nested types, the same children by id, name, requiredness and
 * type. */
bool fz_type_equal(const fz_type *a, const fz_type *b);
/** Word of a kind, "timestamptz_ns"; static. */
const char *fz_type_kind_name(fz_type_kind kind);
/** A primitive type by its Iceberg spelling ("decimal(9,2)", "fixed[16]", "fixed(16)"); false if it
 * is none. */
bool fz_type_parse(fz_str text, fz_type *out);
/** `decimal(9, 2)`, `list<int>`, `struct<a: int not null>`: for messages and DDL. */
void fz_type_format(const fz_type *type, fz_buf *out);
/** Child of a STRUCT by name, NULL if absent. */
const fz_field *fz_type_find(const fz_type *type, fz_str name);
/** Any field of the schema by id, NULL if absent. */
const fz_field *fz_schema_find_id(const fz_schema *schema, int32_t id);
/** Dotted path of a field by id ("items.element.sku"), in `out`; empty if absent. */
void fz_schema_path(const fz_schema *schema, int32_t id, fz_buf *out);
/** Field by dotted path; a name that itself has dots matches whole first. NULL if absent. */
const fz_field *fz_schema_find_path(const fz_schema *schema, fz_str path);

/** Schema as Iceberg JSON (Appendix C), a new reference. */
json_t *fz_schema_to_json(const fz_schema *schema);
/** From Iceberg JSON; CORRUPT naming the path, UNSUPPORTED for unknown types, LIMIT over 10,000
 * fields or depth 100. */
FZ_CHECKED fz_code fz_schema_from_json(const json_t *json, fz_schema **out, fz_err *err);
/** A type's JSON: a string for primitives, an object else. */
json_t *fz_type_to_json(const fz_type *type);

#endif
