// SPDX-License-Identifier: Apache-2.0
// The flat op array that turns one writer schema's bytes into one table schema's columns.
#ifndef FZ_FORMAT_AVRO_PLAN_H
#define FZ_FORMAT_AVRO_PLAN_H

#include "base/vec.h"
#include "data/value.h"
#include "format/avro/schema.h"

/** What an op reads and where it puts it. Those from SKIP_BOOLEAN to SKIP_TYPE have no column. */
typedef enum fz_avro_opcode {
    FZ_AVRO_OP_END, // of the record
    // scalars, appended to a column
    FZ_AVRO_OP_BOOLEAN,
    FZ_AVRO_OP_INT, // INT, DATE
    FZ_AVRO_OP_INT_AS_LONG,
    FZ_AVRO_OP_LONG, // LONG and whatever is an int64 already
    FZ_AVRO_OP_FLOAT,
    FZ_AVRO_OP_FLOAT_AS_DOUBLE,
    FZ_AVRO_OP_DOUBLE,
    FZ_AVRO_OP_BYTES,
    FZ_AVRO_OP_STRING,
    FZ_AVRO_OP_ENUM,
    FZ_AVRO_OP_FIXED,
    FZ_AVRO_OP_FIXED_AS_BYTES,
    FZ_AVRO_OP_DECIMAL_BYTES,
    FZ_AVRO_OP_DECIMAL_FIXED,
    FZ_AVRO_OP_UUID_TEXT,          // text to UUID
    FZ_AVRO_OP_UUID_TEXT_AS_TEXT,  // text to STRING in the usual spelling
    FZ_AVRO_OP_UUID_FIXED_AS_TEXT, // 16 bytes to STRING
    FZ_AVRO_OP_TIME_MILLIS,
    FZ_AVRO_OP_TIME_MICROS,
    FZ_AVRO_OP_MILLIS,         // instants: millis to micros
    FZ_AVRO_OP_NANOS,          // nanos floored to micros
    FZ_AVRO_OP_DATE_AS_MICROS, // days to TIMESTAMP
    FZ_AVRO_OP_JSON,           // a whole subtree as JSON text
    // values that no column wants
    FZ_AVRO_OP_SKIP_BOOLEAN,
    FZ_AVRO_OP_SKIP_INT,
    FZ_AVRO_OP_SKIP_LONG,
    FZ_AVRO_OP_SKIP_SIZE, // `size` bytes
    FZ_AVRO_OP_SKIP_BYTES,
    FZ_AVRO_OP_SKIP_ENUM,
    FZ_AVRO_OP_SKIP_TYPE, // by its schema: what is recursive
    // structure
    FZ_AVRO_OP_GROUP, // body follows in the same columns: a skipped or wrapped record
    FZ_AVRO_OP_STRUCT,
    FZ_AVRO_OP_STRUCT_END,
    FZ_AVRO_OP_ARRAY, // body is an item; column FZ_AVRO_NO_COLUMN: skipped
    FZ_AVRO_OP_MAP,   // body is a key and a value, or an entry
    FZ_AVRO_OP_ITEM_END,
    FZ_AVRO_OP_UNION, // branches[index] is where a branch begins
    FZ_AVRO_OP_BRANCH_END,
    FZ_AVRO_OP_FILL, // no source: null or `fill`
} fz_avro_opcode;

#define FZ_AVRO_NO_COLUMN UINT32_MAX
#define FZ_AVRO_NULL_BRANCH UINT32_MAX

/** How the value is wrapped in a union: 0 or 1 is the index of null, then the other one is the
 * value. */
enum { FZ_AVRO_FORM_PLAIN = 2, FZ_AVRO_FORM_SINGLE = 3 /* union of one: index 0 */ };

typedef struct fz_avro_op {
    uint8_t code; // fz_avro_opcode
    uint8_t form;
    bool null_ok;    // the column takes null
    uint8_t digits;  // DECIMAL: precision of the writer
    uint32_t column; // index among the columns in force
    uint32_t end;    // op behind the value: where null goes on
    uint32_t size;   // FIXED bytes; ENUM symbols; UNION branches; ARRAY, MAP least bytes of an item
    union {
        int64_t bound; // DECIMAL: 10^digits, or INT64_MAX
        const fz_str *symbols;
        const uint32_t *branches; // op, or FZ_AVRO_NULL_BRANCH
        const fz_avro_type *type; // JSON, SKIP_TYPE
        const fz_value *fill;     // NULL: null
    } as;
} fz_avro_op;

/** In its own arena; immutable once compiled. */
typedef struct fz_avro_plan {
    fz_arena arena;
    FZ_VEC(fz_avro_op) ops;
    FZ_VEC(fz_str) paths; // of each op, for messages
    size_t column_count;  // of the target
    unsigned frames;      // nested STRUCT, ARRAY, MAP and UNION at most
} fz_avro_plan;

/** Arguments as fz_writer_schema_ops.open. The plan is zeroed before and half built on errors. */
FZ_CHECKED fz_code fz_avro_plan_compile(fz_avro_plan *plan, const fz_avro_type *root,
                                        const fz_schema *shape, const fz_schema *target,
                                        const bool *owned, fz_err *err);
void fz_avro_plan_deinit(fz_avro_plan *plan);
/** The op that brings a scalar of `type` into a column of `to`, by way of the shape's type; END if
 * there is none. */
fz_avro_opcode fz_avro_plan_scalar(const fz_avro_type *type, const fz_type *shape,
                                   const fz_type *to);

#endif
