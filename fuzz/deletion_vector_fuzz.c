// SPDX-License-Identifier: Apache-2.0
// Any bytes as the bitmap of a deletion vector: bounded work, no bit outside the file, the count is
// right.
//
// Links: fz_scan
#include <stdlib.h>

#include "base/buf.h"
#include "base/codec/hash.h"
#include "table/scan/positions.h"

#define ROWS 300000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // Length, magic and crc are put around the input, else the crc would let nothing through.
    fz_buf blob = {0};
    fz_scan_positions positions = {0};
    fz_err err = {0};
    uint32_t length = (uint32_t)size + 4;
    fz_buf_append_le32(&blob, __builtin_bswap32(length));
    fz_buf_append(&blob, "\xd1\xd3\x39\x64", 4);
    fz_buf_append(&blob, data, size);
    fz_buf_append_le32(&blob, __builtin_bswap32(fz_crc32(0, blob.data + 4, length)));
    require(fz_scan_positions_init(&positions, ROWS, NULL, &err) == FZ_OK);
    fz_code code = fz_scan_positions_add_vector(&positions, fz_buf_view(&blob), -1, &err);
    require(code == FZ_OK || code == FZ_CORRUPT);
    int64_t count = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        count += fz_scan_positions_has(&positions, row);
    }
    require(count == positions.count);
    if (code == FZ_OK) {
        // again: nothing new, and the cardinality is what was found
        require(fz_scan_positions_add_vector(&positions, fz_buf_view(&blob), count, &err) == FZ_OK);
        require(positions.count == count);
    }
    fz_scan_positions_deinit(&positions);
    // raw, with whatever stands for length and crc
    require(fz_scan_positions_init(&positions, ROWS, NULL, &err) == FZ_OK);
    code = fz_scan_positions_add_vector(&positions, fz_str_make(data, size), -1, &err);
    require(code == FZ_OK || code == FZ_CORRUPT);
    fz_scan_positions_deinit(&positions);
    fz_buf_deinit(&blob);
    return 0;
}
