// SPDX-License-Identifier: Apache-2.0
// Parts of printing that the formats share.
#ifndef FZ_TABLE_SCAN_PRINT_CELL_H
#define FZ_TABLE_SCAN_PRINT_CELL_H

#include "base/buf.h"

/** A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void fz_scan_print_json_text(fz_str text, fz_buf *out);

#endif
