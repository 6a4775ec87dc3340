// SPDX-License-Identifier: Apache-2.0
// Reads one leaf's column chunk page by page: levels and values of so many rows.
#ifndef FZ_FORMAT_PARQUET_COLUMN_READER_H
#define FZ_FORMAT_PARQUET_COLUMN_READER_H

#include "base/codec/compression.h"
#include "format/parquet/decode.h"
#include "format/parquet/metadata.h"

enum { FZ_PARQUET_LEVEL_SLICE = 2048 };

typedef struct fz_parquet_column_reader {
    fz_parquet_source *source;
    const fz_parquet_limits *limits;
    fz_compressor *compressor; // borrowed
    fz_budget *budget;
    fz_parquet_leaf_meta leaf;
    // the chunk
    fz_parquet_chunk_meta chunk;
    int64_t at;          // next page, in the file
    int64_t end;         // of the chunk
    int64_t levels_left; // of the chunk, in pages not begun
    fz_buf window;       // file bytes from window_at on
    int64_t window_at;
    fz_parquet_values dictionary;
    size_t dictionary_count;
    bool has_dictionary;
    // the page
    fz_buf page;       // decompressed
    int64_t page_left; // levels not yet decoded
    fz_parquet_rle rep_rle;
    fz_parquet_rle def_rle;
    fz_parquet_decoder decoder;
    uint8_t slice_rep[FZ_PARQUET_LEVEL_SLICE]; // decoded, not yet taken
    uint8_t slice_def[FZ_PARQUET_LEVEL_SLICE];
    size_t slice_count;
    size_t slice_next;
    // what the last read gave
    fz_buf rep; // a byte a level; empty if max_rep is 0
    fz_buf def; // ... if max_def is 0
    size_t level_count;
    fz_parquet_values values; // of levels with def == max_def
    size_t value_count;
} fz_parquet_column_reader;

void fz_parquet_column_reader_init(fz_parquet_column_reader *reader, fz_parquet_source *source,
                                   const fz_parquet_limits *limits, fz_compressor *compressor,
                                   const fz_parquet_leaf_meta *leaf, fz_budget *budget);
void fz_parquet_column_reader_deinit(fz_parquet_column_reader *reader);
/** Begin a column chunk. CORRUPT when its type is not the schema's; UNSUPPORTED the codec. */
FZ_CHECKED fz_code fz_parquet_column_reader_begin(fz_parquet_column_reader *reader,
                                                  const fz_parquet_chunk_meta *chunk, fz_err *err);
/** Read exactly `rows` rows into rep, def and values. CORRUPT when the chunk has fewer. */
FZ_CHECKED fz_code fz_parquet_column_reader_read(fz_parquet_column_reader *reader, int64_t rows,
                                                 fz_err *err);

#endif
