// SPDX-License-Identifier: Apache-2.0
// Writes batches as one Parquet file; row groups leave through the sink as they fill.
#ifndef FZ_FORMAT_PARQUET_WRITER_H
#define FZ_FORMAT_PARQUET_WRITER_H

#include "base/codec/compression.h"
#include "base/sink.h"
#include "data/batch.h"
#include "data/file_metrics.h"

/** A key and a value of the footer. */
typedef struct fz_parquet_pair {
    fz_str key;
    fz_str value;
} fz_parquet_pair;

/** Compression contexts and scratch buffers that the writers of one thread can share. */
typedef struct fz_parquet_workspace fz_parquet_workspace;
fz_parquet_workspace *fz_parquet_workspace_new(void);
/** NULL allowed; after the last writer that uses it. */
void fz_parquet_workspace_free(fz_parquet_workspace *workspace);

/** How a file is written. Texts and arrays are copied by fz_parquet_writer_new. */
typedef struct fz_parquet_options {
    fz_codec codec;          // NONE, SNAPPY, GZIP, ZSTD, LZ4_RAW, BROTLI; default ZSTD
    int level;               // default 1; 0: the codec's own
    int64_t row_group_size;  // bytes held in memory (encoded, mostly compressed); default 16 MiB
    int64_t page_size;       // bytes before compression; default 1 MiB
    int64_t page_rows;       // default 20,000
    int64_t dictionary_size; // bytes of a dictionary; default 2 MiB, 0: no dictionaries
    bool data_page_v2;       // default false: V1
    bool page_index;         // column and offset index; default true
    bool page_crc;           // default false
    bool delta;              // DELTA_BINARY_PACKED for integers without a dictionary; default false
    const int32_t *bloom_ids; // field ids of leaves that get a bloom filter
    size_t bloom_count;
    double bloom_fpp;             // false positives; default 0.01
    int64_t bloom_max;            // bytes of a filter, beyond which it answers worse; 0: 128 MiB
    const fz_parquet_pair *pairs; // key/value metadata of the footer
    size_t pair_count;
    fz_parquet_workspace *workspace; // borrowed; NULL: the writer has its own (about 3 MiB)
    fz_str version;                  // created_by is "frazil version <this>"
} fz_parquet_options;

void fz_parquet_options_init(fz_parquet_options *options);

/** One file being written. One thread at a time. */
typedef struct fz_parquet_writer fz_parquet_writer;

/**
 * Start a file; the first bytes go to the sink with the first row group.
 *
 * schema  a reference is kept; every field carries its id
 * sink    borrowed until close or free; never closed here
 * budget  NULL or outliving the writer; charged with what is buffered
 *
 * Errors: INVALID an option out of range, a struct without fields; UNSUPPORTED a codec Parquet does
 * not have.
 */
FZ_CHECKED fz_code fz_parquet_writer_new(fz_schema *schema, const fz_parquet_options *options,
                                         fz_sink *sink, fz_budget *budget, fz_parquet_writer **out,
                                         fz_err *err);
/**
 * Append the rows [from, from + count) of a batch of the writer's schema (the same or an equal
 * one).
 *
 * Errors: LIMIT when the budget refuses: nothing was appended and the writer is as before, so the
 * caller may flush (this one or another) and try again. Everything else (a failed sink, a page of 2
 * GiB, no memory) leaves the writer failed: later calls answer the same code, only free is left.
 * fz_parquet_writer_failed tells.
 */
FZ_CHECKED fz_code fz_parquet_writer_append(fz_parquet_writer *writer, const fz_batch *batch,
                                            int64_t from, int64_t count, fz_err *err);
/**
 * The next append is not refused by the budget: for the caller who has nothing left to flush, since
 * one large record may need more than there will ever be.
 */
void fz_parquet_writer_overdraw(fz_parquet_writer *writer);
/** As append for the rows index[0..count) of the batch, ascending. */
FZ_CHECKED fz_code fz_parquet_writer_append_rows(fz_parquet_writer *writer, const fz_batch *batch,
                                                 const uint32_t *index, int64_t count, fz_err *err);
/** End the row group now: its bytes go to the sink, its memory is given back. Nothing without rows.
 */
FZ_CHECKED fz_code fz_parquet_writer_flush(fz_parquet_writer *writer, fz_err *err);
/**
 * Flush and write the footer; afterwards only free is left. A file without rows is valid.
 *
 * metrics  NULL, or an empty struct filled on OK; free it with fz_file_metrics_deinit. Bounds of at
 * most 1,024 bytes are exact; longer ones are cut (lower: a prefix; upper: incremented, or
 * has_bounds is false).
 */
FZ_CHECKED fz_code fz_parquet_writer_close(fz_parquet_writer *writer, fz_file_metrics *metrics,
                                           fz_err *err);
/** NULL allowed. Before close this abandons the file: nothing more is written. */
void fz_parquet_writer_free(fz_parquet_writer *writer);

/** Bytes in memory that a flush would give back. */
int64_t fz_parquet_writer_buffered(const fz_parquet_writer *writer);
/** Estimate of the file's bytes so far, buffered rows included. */
int64_t fz_parquet_writer_written(const fz_parquet_writer *writer);
/** Rows appended so far. */
int64_t fz_parquet_writer_rows(const fz_parquet_writer *writer);
/** A call failed for good. */
bool fz_parquet_writer_failed(const fz_parquet_writer *writer);

#endif
