// SPDX-License-Identifier: Apache-2.0
// Rows as aligned text, JSON lines or CSV.
#ifndef FZ_TABLE_SCAN_PRINT_H
#define FZ_TABLE_SCAN_PRINT_H

#include "data/batch.h"

typedef enum fz_scan_format {
    FZ_SCAN_TEXT, // aligned by the first rows (held back till then); control characters escaped;
                  // null as "null"
    FZ_SCAN_JSON, // an object a line
    FZ_SCAN_CSV,  // RFC 4180 with a line of names; null is nothing, an empty text is ""
} fz_scan_format;

/** One thread. */
typedef struct fz_scan_printer fz_scan_printer;

/** schema: a reference is kept. */
fz_scan_printer *fz_scan_printer_new(fz_scan_format format, fz_schema *schema);
/** NULL allowed. */
void fz_scan_printer_free(fz_scan_printer *printer);
/** Append rows [from, from + count) to `out`, names first (check `out`, empty it as it suits). */
void fz_scan_printer_rows(fz_scan_printer *printer, const fz_batch *batch, int64_t from,
                          int64_t count, fz_buf *out);
/** Append what is still missing: rows held back, names when there were no rows. */
void fz_scan_printer_finish(fz_scan_printer *printer, fz_buf *out);

/**
 * One value as JSON: long beyond 2^53 and decimal as text, NaN and Infinity as text, dates and
 * times as in Iceberg, bytes as hex, struct as object, map as array of [key, value] sorted by key.
 */
void fz_scan_print_json(const fz_column *column, int64_t row, fz_buf *out);

#endif
