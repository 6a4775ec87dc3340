// SPDX-License-Identifier: Apache-2.0
// What is known of a data file's contents, as its writer counted it.
#ifndef FZ_DATA_FILE_METRICS_H
#define FZ_DATA_FILE_METRICS_H

#include "data/value.h"

typedef struct fz_column_metrics {
    int32_t field_id;
    fz_type type;        // primitive
    bool in_repeated;    // below a list or map: only column_size counts
    int64_t column_size; // bytes of the column chunks on disk
    int64_t value_count; // nulls and NaNs included
    int64_t null_count;
    int64_t nan_count; // -1: not a floating column
    bool has_bounds;   // at least one value that is neither null nor NaN in it
    fz_value lower;    // exact; bytes in the metrics' arena
    fz_value upper;
} fz_column_metrics;

/** Arrays and bytes lie in the arena. */
typedef struct fz_file_metrics {
    fz_arena arena;
    int64_t row_count;
    int64_t file_size;      // bytes
    int64_t *split_offsets; // start of each row group, ascending
    size_t split_count;
    fz_column_metrics *columns; // leaf columns in schema order
    size_t column_count;
} fz_file_metrics;

void fz_file_metrics_deinit(fz_file_metrics *metrics);

#endif
