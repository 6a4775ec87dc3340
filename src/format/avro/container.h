// SPDX-License-Identifier: Apache-2.0
// Avro object container files as trees of data: what Iceberg's manifests are written in.
#ifndef FZ_FORMAT_AVRO_CONTAINER_H
#define FZ_FORMAT_AVRO_CONTAINER_H

#include "base/arena.h"
#include "base/codec/compression.h"
#include "base/error.h"
#include "base/text/json.h"

typedef enum fz_avro_datum_kind {
    FZ_AVRO_DATUM_NULL,
    FZ_AVRO_DATUM_BOOLEAN,
    FZ_AVRO_DATUM_INT,
    FZ_AVRO_DATUM_LONG,
    FZ_AVRO_DATUM_FLOAT,
    FZ_AVRO_DATUM_DOUBLE,
    FZ_AVRO_DATUM_BYTES,
    FZ_AVRO_DATUM_STRING,
    FZ_AVRO_DATUM_FIXED,
    FZ_AVRO_DATUM_ENUM,   // as.bytes is the symbol
    FZ_AVRO_DATUM_RECORD, // one item a field of the schema
    FZ_AVRO_DATUM_ARRAY,
    FZ_AVRO_DATUM_MAP,   // items are pairs: key (STRING), value
    FZ_AVRO_DATUM_UNION, // a schema's kind only: a datum is that of its branch
} fz_avro_datum_kind;

typedef struct fz_avro_node fz_avro_node;

/** A value; what it points to lives in the arena it was read or made in. */
typedef struct fz_avro_datum fz_avro_datum;
struct fz_avro_datum {
    fz_avro_datum_kind kind;
    const fz_avro_node *node; // schema it was read with; NULL when made by hand
    union {
        bool boolean;
        int64_t integer; // INT, LONG
        float real32;
        double real64;
        fz_str bytes; // BYTES, STRING, FIXED, ENUM
        struct {
            fz_avro_datum *items;
            size_t count; // MAP: 2 a pair
        } list;           // RECORD, ARRAY, MAP
    } as;
};

typedef struct fz_avro_node_field {
    fz_str name;
    int32_t field_id; // Iceberg's `field-id`, -1 none
    const fz_avro_node *node;
} fz_avro_node_field;

/** A schema's node, in the arena of its container. Named types may be met again (recursion). */
struct fz_avro_node {
    fz_avro_datum_kind kind;
    fz_str name;                // RECORD, ENUM, FIXED: full name
    fz_str logical_type;        // empty: none
    fz_avro_node_field *fields; // RECORD
    size_t field_count;
    const fz_avro_node **children; // UNION branches; ARRAY item; MAP value
    size_t child_count;
    fz_str *symbols; // ENUM
    size_t symbol_count;
    size_t size; // FIXED, bytes
};

/** Zeroed: the defaults. */
typedef struct fz_avro_container_limits {
    size_t header_size;  // bytes of the metadata map, default 16 MiB
    size_t block_size;   // decompressed bytes of a block, default 256 MiB
    size_t record_size;  // arena bytes of one record, default 64 MiB
    size_t schema_nodes; // default 20,000
    unsigned depth;      // of the schema and of data, default 64
} fz_avro_container_limits;

typedef struct fz_avro_container fz_avro_container;

/**
 * Open a container; codecs null, deflate, snappy, zstandard.
 *
 * bytes  the whole file, borrowed until free
 * Errors: CORRUPT not a container or bad schema; UNSUPPORTED codec; LIMIT.
 */
FZ_CHECKED fz_code fz_avro_container_open(fz_str bytes, const fz_avro_container_limits *limits,
                                          fz_avro_container **out, fz_err *err);
void fz_avro_container_free(fz_avro_container *container);
/** The schema of its records. */
const fz_avro_node *fz_avro_container_schema(const fz_avro_container *container);
/** Metadata value of `key`; false if absent. */
bool fz_avro_container_find(const fz_avro_container *container, fz_str key, fz_str *out);
/** Records in the whole file, from the block headers; no decompression. */
FZ_CHECKED fz_code fz_avro_container_count(const fz_avro_container *container, int64_t *out,
                                           fz_err *err);
/**
 * The next record, in `arena` (text and bytes point into the block: valid until the next call or
 * free). *out is NULL at the end. Errors: CORRUPT, LIMIT.
 */
FZ_CHECKED fz_code fz_avro_container_next(fz_avro_container *container, fz_arena *arena,
                                          fz_avro_datum **out, fz_err *err);

/** Item of a RECORD by Iceberg field id; where the schema has no ids, by name. NULL if absent. */
const fz_avro_datum *fz_avro_datum_find(const fz_avro_datum *record, int32_t field_id,
                                        const char *name);

typedef struct fz_avro_writer fz_avro_writer;

/**
 * Start a container in `out` (borrowed, appended to; its ceiling holds).
 *
 * schema    Avro schema; written compactly as `avro.schema`, unknown attributes kept
 * metadata  object of texts: more key/value metadata, may be NULL
 * codec     FZ_CODEC_NONE or FZ_CODEC_DEFLATE
 * Errors: INVALID schema, UNSUPPORTED codec, LIMIT.
 */
FZ_CHECKED fz_code fz_avro_writer_new(const json_t *schema, const json_t *metadata, fz_codec codec,
                                      fz_buf *out, fz_avro_writer **writer, fz_err *err);
/** INVALID when the datum does not fit the schema, naming the field; nothing is written then. */
FZ_CHECKED fz_code fz_avro_writer_append(fz_avro_writer *writer, const fz_avro_datum *record,
                                         fz_err *err);
/** Write the last block. Nothing may be appended after it. */
FZ_CHECKED fz_code fz_avro_writer_finish(fz_avro_writer *writer, fz_err *err);
void fz_avro_writer_free(fz_avro_writer *writer);

static inline fz_avro_datum fz_avro_datum_null(void) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_NULL};
}
static inline fz_avro_datum fz_avro_datum_bool(bool value) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_BOOLEAN, .as.boolean = value};
}
static inline fz_avro_datum fz_avro_datum_int(int32_t value) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_INT, .as.integer = value};
}
static inline fz_avro_datum fz_avro_datum_long(int64_t value) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_LONG, .as.integer = value};
}
static inline fz_avro_datum fz_avro_datum_string(fz_str text) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_STRING, .as.bytes = text};
}
static inline fz_avro_datum fz_avro_datum_bytes(fz_str bytes) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_BYTES, .as.bytes = bytes};
}
static inline fz_avro_datum fz_avro_datum_fixed(fz_str bytes) {
    return (fz_avro_datum){.kind = FZ_AVRO_DATUM_FIXED, .as.bytes = bytes};
}
/** A RECORD or ARRAY of `count` null items in `arena`. */
static inline fz_avro_datum fz_avro_datum_list(fz_arena *arena, fz_avro_datum_kind kind,
                                               size_t count) {
    fz_avro_datum datum = {.kind = kind};
    datum.as.list.items = FZ_ARENA_ARRAY(arena, fz_avro_datum, count);
    datum.as.list.count = count;
    return datum;
}

#endif
