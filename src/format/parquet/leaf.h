// SPDX-License-Identifier: Apache-2.0
// One leaf column being written: pages, dictionary, statistics, page index.
#ifndef FZ_FORMAT_PARQUET_LEAF_H
#define FZ_FORMAT_PARQUET_LEAF_H

#include "base/vec.h"
#include "format/parquet/bounds.h"
#include "format/parquet/dictionary.h"
#include "format/parquet/format.h"
#include "format/parquet/shred.h"
#include "format/parquet/writer.h"

/** Buffers that live from call to call, shared by the leaves (and writers) of a thread. */
struct fz_parquet_workspace {
    fz_compressor compressor;
    fz_buf body;   // a page before compression
    fz_buf packed; // and behind
    fz_buf header; // a page's
    fz_buf values; // values brought together from rows here and there
    fz_buf index;  // rows of values that are there
};

/** A finished page: header and compressed body. */
typedef struct fz_parquet_page {
    uint8_t *data;
    uint32_t size;
    bool null_page;
    bool has_bounds;
    int64_t first_row; // of the row group
    int64_t rows;
    int64_t null_count;
    fz_str min; // heap
    fz_str max;
} fz_parquet_page;

typedef struct fz_parquet_leaf {
    const fz_field *field;
    const fz_parquet_options *options;
    fz_parquet_workspace *work;
    fz_str *path; // names from the root, borrowed from the schema
    size_t path_count;
    uint8_t max_def;
    uint8_t max_rep;
    fz_parquet_physical physical;
    int32_t type_length; // of FIXED
    fz_parquet_bounds_type bounds_type;
    bool can_dictionary;
    size_t dictionary_limit; // bytes
    bool bloom;

    // the page being filled
    fz_buf rep;
    fz_buf def; // empty while all levels are `def_flat`
    uint8_t def_flat;
    fz_buf plain;   // PLAIN values; booleans a byte each
    fz_buf indices; // uint32_t
    int64_t slots;
    int64_t values;
    int64_t rows;

    // the row group
    bool dictionary_on;
    fz_parquet_dictionary dictionary;
    uint32_t *seen; // by dictionary index: page that looked at it last
    size_t seen_capacity;
    uint32_t page_number;
    FZ_VEC(fz_parquet_page) pages;
    int64_t dictionary_pages; // data pages of indices
    int64_t plain_pages;
    int64_t group_slots;
    int64_t group_values;
    int64_t group_rows; // of finished pages
    int64_t group_raw;  // bytes of finished pages, headers included, before compression
    int64_t group_size; // bytes of finished pages as written
    int64_t index_memory;
    int64_t next_check;      // group_values at which the dictionary is looked at again
    double checked_values;   // group_values at the last look
    double checked_distinct; // and the dictionary's entries
    double checked_total;    // and how many there seemed to be in all
    fz_parquet_bounds group_bounds;
    FZ_VEC(uint64_t) hashes; // for the bloom filter
    int skip_groups;         // row groups that do not try a dictionary
    int gave_up;             // row groups in a row whose dictionary did not pay

    // the file
    fz_parquet_bounds file_bounds;
    int64_t file_slots;
    int64_t file_values;
    int64_t file_size;
} fz_parquet_leaf;

/** Physical type of an Iceberg type; *type_length for FIXED. */
fz_parquet_physical fz_parquet_leaf_physical(const fz_type *type, int32_t *type_length);
/** Fill the parts that depend on the field; path is owned by the leaf. */
void fz_parquet_leaf_init(fz_parquet_leaf *leaf, const fz_parquet_node *node, fz_str *path,
                          size_t path_count, const fz_parquet_options *options,
                          fz_parquet_workspace *work);
void fz_parquet_leaf_deinit(fz_parquet_leaf *leaf);
/** Append slots (whole rows). expected_rows: of the row group, for the dictionary's decision. */
FZ_CHECKED fz_code fz_parquet_leaf_append(fz_parquet_leaf *leaf, const fz_column *column,
                                          const fz_parquet_slots *slots, int64_t expected_rows,
                                          fz_err *err);
/** End the page. Nothing without rows. */
FZ_CHECKED fz_code fz_parquet_leaf_finish_page(fz_parquet_leaf *leaf, fz_err *err);
/** Forget the row group (after it was written); the file's statistics take it over. */
void fz_parquet_leaf_end_group(fz_parquet_leaf *leaf, int64_t size);
/** Give the buffers back, between row groups. */
void fz_parquet_leaf_shrink(fz_parquet_leaf *leaf);
/** Bytes held, capacities counted. */
int64_t fz_parquet_leaf_memory(const fz_parquet_leaf *leaf);
/** Bytes that the row group has so far, the open page and the dictionary counted as they are. */
int64_t fz_parquet_leaf_size(const fz_parquet_leaf *leaf);

#endif
