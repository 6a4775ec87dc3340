// SPDX-License-Identifier: Apache-2.0
// Deleted rows of one data file, and deletion vectors as Iceberg and Delta store them.
#ifndef FZ_TABLE_SCAN_POSITIONS_H
#define FZ_TABLE_SCAN_POSITIONS_H

#include "base/budget.h"
#include "base/str.h"

/** A bit for each row of a file. Zeroed is empty and valid. */
typedef struct fz_scan_positions {
    uint8_t *bits;
    int64_t rows;
    int64_t count; // bits that are set
    fz_budget *budget;
} fz_scan_positions;

/** All of `rows` rows are there. LIMIT. */
FZ_CHECKED fz_code fz_scan_positions_init(fz_scan_positions *positions, int64_t rows,
                                          fz_budget *budget, fz_err *err);
void fz_scan_positions_deinit(fz_scan_positions *positions);
/** Delete a row; CORRUPT when the file has none such. */
FZ_CHECKED fz_code fz_scan_positions_add(fz_scan_positions *positions, int64_t row, fz_err *err);
static inline bool fz_scan_positions_has(const fz_scan_positions *positions, int64_t row) {
    return positions->count && (positions->bits[row >> 3] >> (row & 7) & 1);
}
/**
 * Delete the rows of a deletion vector.
 *
 * blob         length, magic, 64-bit portable Roaring bitmap, CRC
 * cardinality  what the metadata says it holds, -1 unknown
 * Errors: CORRUPT.
 * Source: Iceberg Puffin specification, deletion-vector-v1; RoaringFormatSpec.
 */
FZ_CHECKED fz_code fz_scan_positions_add_vector(fz_scan_positions *positions, fz_str blob,
                                                int64_t cardinality, fz_err *err);

#endif
