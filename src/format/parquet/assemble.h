// SPDX-License-Identifier: Apache-2.0
// Levels and values of leaves back to columns.
#ifndef FZ_FORMAT_PARQUET_ASSEMBLE_H
#define FZ_FORMAT_PARQUET_ASSEMBLE_H

#include "format/parquet/column_reader.h"

/** How a leaf's values become the wanted type's. */
typedef enum fz_parquet_conversion {
    FZ_PARQUET_CONVERT_NONE, // cannot
    FZ_PARQUET_CONVERT_COPY,
    FZ_PARQUET_CONVERT_BOOLEAN,
    FZ_PARQUET_CONVERT_INT32,  // sign-extended, times `multiply`
    FZ_PARQUET_CONVERT_UINT32, // zero-extended
    FZ_PARQUET_CONVERT_INT64,  // times `multiply`, or divided by `divide` and floored
    FZ_PARQUET_CONVERT_INT96,  // Julian day and nanoseconds, to units of `divide` nanoseconds
    FZ_PARQUET_CONVERT_FLOAT,  // to double
    FZ_PARQUET_CONVERT_HALF,   // to float
    FZ_PARQUET_CONVERT_HALF_DOUBLE,
    FZ_PARQUET_CONVERT_DECIMAL32,
    FZ_PARQUET_CONVERT_DECIMAL64,
    FZ_PARQUET_CONVERT_UNSIGNED64, // to decimal
    FZ_PARQUET_CONVERT_DECIMAL_FIXED,
    FZ_PARQUET_CONVERT_DECIMAL_BYTES,
    FZ_PARQUET_CONVERT_BYTES,
    FZ_PARQUET_CONVERT_FIXED_BYTES, // fixed to binary
} fz_parquet_conversion;

/** A wanted column and where it comes from. */
typedef struct fz_parquet_plan {
    const fz_field *field;
    const fz_parquet_view *view;      // NULL: not in the file
    fz_parquet_column_reader *reader; // of the leaf, or of a leaf below that tells a group's levels
    fz_parquet_conversion conversion; // of a leaf
    int64_t multiply;
    int64_t divide;
    struct fz_parquet_plan *children;
    size_t child_count;
} fz_parquet_plan;

/** How the file's leaf becomes `type`; UNSUPPORTED naming both. */
FZ_CHECKED fz_code fz_parquet_plan_convert(fz_parquet_plan *plan, fz_err *err);
/** Append `slots` values to the column from what the leaves' readers hold; scratch is any buffer.
 */
FZ_CHECKED fz_code fz_parquet_plan_assemble(const fz_parquet_plan *plan, fz_column *column,
                                            int64_t slots, fz_buf *scratch, fz_err *err);

#endif
