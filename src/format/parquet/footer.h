// SPDX-License-Identifier: Apache-2.0
// The structures at the end of a file: schema, row groups, statistics, page index.
#ifndef FZ_FORMAT_PARQUET_FOOTER_H
#define FZ_FORMAT_PARQUET_FOOTER_H

#include "format/parquet/leaf.h"

/** A column chunk that has been written; the texts are offsets into the row group's `bytes`. */
typedef struct fz_parquet_chunk {
    size_t meta; // ColumnMetaData
    size_t meta_size;
    size_t column_index;
    size_t column_index_size; // 0: none
    size_t offset_index;
    size_t offset_index_size;
    int64_t column_index_at; // in the file, once written
    int64_t offset_index_at;
} fz_parquet_chunk;

typedef struct fz_parquet_group {
    int64_t rows;
    int64_t offset; // in the file
    int64_t raw;    // bytes before compression
    int64_t size;
    fz_buf bytes;
    fz_parquet_chunk *chunks;
} fz_parquet_group;

/** Where a leaf's parts of a row group are in the file. */
typedef struct fz_parquet_place {
    int64_t dictionary; // -1: none
    int64_t data;
    int64_t bloom; // -1: none
    int64_t bloom_size;
    int64_t raw;
    int64_t size;
} fz_parquet_place;

/** Append ColumnMetaData and page index of a leaf's finished row group. */
void fz_parquet_footer_chunk(const fz_parquet_leaf *leaf, const fz_parquet_place *place,
                             fz_parquet_group *group, fz_parquet_chunk *chunk);
/** Append FileMetaData. */
void fz_parquet_footer_encode(const fz_schema *schema, const fz_parquet_options *options,
                              const fz_parquet_group *groups, size_t group_count, size_t leaf_count,
                              int64_t rows, fz_buf *out);
int fz_parquet_footer_codec(fz_codec codec);

#endif
