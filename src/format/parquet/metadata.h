// SPDX-License-Identifier: Apache-2.0
// A file's footer as read: schema, row groups, key/value pairs.
#ifndef FZ_FORMAT_PARQUET_METADATA_H
#define FZ_FORMAT_PARQUET_METADATA_H

#include "format/parquet/format.h"
#include "format/parquet/reader.h"

/** A SchemaElement. */
typedef struct fz_parquet_element {
    fz_str name;
    int physical; // -1: a group
    int32_t type_length;
    int repetition;
    int32_t child_count;
    int converted; // FZ_PARQUET_CONVERTED_*
    int32_t scale;
    int32_t precision;
    int32_t field_id; // -1: none
    int logical;      // FZ_PARQUET_LOGICAL_*
    bool utc;         // TIME, TIMESTAMP
    int unit;         // FZ_PARQUET_UNIT_*
    int bits;         // INTEGER
    bool is_signed;
} fz_parquet_element;

/** Where a leaf's values of a row group are. */
typedef struct fz_parquet_chunk_meta {
    int physical;
    int codec;
    int64_t values; // levels, nulls included
    int64_t size;   // bytes, the dictionary included
    int64_t start;  // first byte: of the dictionary or the first data page
} fz_parquet_chunk_meta;

typedef struct fz_parquet_group_meta {
    int64_t rows;
    fz_parquet_chunk_meta *chunks; // by leaf
} fz_parquet_group_meta;

typedef struct fz_parquet_pair_meta {
    fz_str key;
    fz_str value;
} fz_parquet_pair_meta;

/** A column of the file as types go: lists and maps without their middle group. */
typedef struct fz_parquet_view {
    fz_str name;
    int32_t id;    // field id of the file, -1: none
    bool readable; // false: of a type that cannot be read
    bool optional; // the value may be null where its parent is there
    fz_type_kind kind;
    fz_type type;                      // of a leaf as the file has it
    uint8_t def;                       // definition level from which on the value is there
    uint8_t parent_def;                // ... its parent is
    uint8_t slot_def;                  // ... the innermost list around has an item
    uint8_t slot_rep;                  // lists around
    uint8_t item_def;                  // LIST, MAP: from which on there is an item
    int leaf;                          // the first leaf below, or the leaf itself
    const fz_parquet_element *element; // of a leaf
    struct fz_parquet_view *children;
    size_t child_count;
} fz_parquet_view;

typedef struct fz_parquet_leaf_meta {
    const fz_parquet_element *element;
    uint8_t max_def;
    uint8_t max_rep;
} fz_parquet_leaf_meta;

typedef struct fz_parquet_metadata {
    fz_arena arena;
    fz_buf footer; // texts point into it
    fz_parquet_element *elements;
    size_t element_count;
    fz_parquet_leaf_meta *leaves;
    size_t leaf_count;
    fz_parquet_view root;
    bool has_ids;
    int64_t rows;
    fz_parquet_group_meta *groups;
    size_t group_count;
    fz_parquet_pair_meta *pairs;
    size_t pair_count;
    fz_str created_by;
} fz_parquet_metadata;

/** Parse metadata->footer (FileMetaData); file_size bounds the places of column chunks. */
FZ_CHECKED fz_code fz_parquet_metadata_parse(fz_parquet_metadata *metadata, int64_t file_size,
                                             const fz_parquet_limits *limits, fz_err *err);
void fz_parquet_metadata_deinit(fz_parquet_metadata *metadata);
/** Build leaves and views from the elements. */
FZ_CHECKED fz_code fz_parquet_view_build(fz_parquet_metadata *metadata,
                                         const fz_parquet_limits *limits, fz_err *err);
/** Ids of a name mapping for columns that have none. */
void fz_parquet_view_map(fz_parquet_view *parent, const json_t *mapping);
/** The file's schema; ids of the file, or fresh ones. */
fz_schema *fz_parquet_view_schema(const fz_parquet_metadata *metadata);

#endif
