// SPDX-License-Identifier: Apache-2.0
// The flat node array that takes JSON text into one table schema's columns.
#ifndef FZ_FORMAT_JSON_PLAN_H
#define FZ_FORMAT_JSON_PLAN_H

#include "base/map.h"
#include "data/value.h"
#include "format/json/writer.h"

#define FZ_JSON_NONE UINT32_MAX
#define FZ_JSON_FEW 12 // members that are compared one by one

/** A value: what it has to be, and which column takes it. */
typedef struct fz_json_node {
    uint8_t kind;  // fz_json_kind
    uint8_t to;    // fz_type_kind of the column
    bool null_ok;  // the column takes null
    bool nullable; // the schema allows null
    uint8_t bits;  // INTEGER
    bool digits_text;
    uint8_t precision;
    uint8_t scale;
    uint32_t column; // index among those in force
    uint32_t first;  // OBJECT, UNION: first member; ARRAY, MAP, ENTRIES: node of the item
    uint32_t count;  // members
    uint32_t key;    // ENTRIES: node
    uint32_t wanted; // OBJECT: members with a column
    uint32_t hint;   // OBJECT: where its guesses start
    uint32_t fill;   // OBJECT: first of the columns that no member fills
    uint32_t fill_count;
    const fz_map *names; // OBJECT with many members: to their index + 1
    const fz_json_type *type;
    fz_str path; // for messages
} fz_json_node;

/** A member of an object or a branch of a union. */
typedef struct fz_json_member {
    fz_str name;
    fz_str quoted; // as it is mostly written; empty: it needs escapes
    uint32_t node; // FZ_JSON_NONE: passed over
    uint32_t column;
    fz_json_kind kind;
} fz_json_member;

typedef struct fz_json_fill {
    uint32_t column;
    const fz_value *value;
} fz_json_fill;

/** In its own arena; immutable once compiled. */
typedef struct fz_json_plan {
    fz_arena arena;
    FZ_VEC(fz_json_node) nodes;
    FZ_VEC(fz_json_member) members;
    FZ_VEC(fz_json_fill) fills;
    FZ_VEC(fz_map *) maps;
    size_t hint_count;
    size_t column_count; // of the target
    uint32_t wrapper;    // a struct around all columns; FZ_JSON_NONE: none
    uint32_t root;       // FZ_JSON_NONE: no column takes the value
    bool root_members;   // the root's members are columns, it has none itself
    uint32_t outer_fill; // columns beside a root that is no object, or beside the wrapper
    uint32_t outer_count;
} fz_json_plan;

/** Arguments as fz_writer_schema_ops.open. The plan is zeroed before and half built on errors. */
FZ_CHECKED fz_code fz_json_plan_compile(fz_json_plan *plan, const fz_json_schema *schema,
                                        const fz_schema *shape, const fz_schema *target,
                                        const bool *owned, fz_err *err);
void fz_json_plan_deinit(fz_json_plan *plan);

#endif
