// SPDX-License-Identifier: Apache-2.0
// The rare paths of the cursor.
#include "base/cursor.h"

void fz_cur_fail(fz_cur *cur, fz_cur_fault fault) {
    if (cur->fault == FZ_CUR_OK) {
        cur->fault = fault;
        cur->fault_pos = cur->pos;
        cur->pos = cur->end;
    }
}

fz_code fz_cur_check(const fz_cur *cur, const char *what, fz_err *err) {
    if (cur->fault == FZ_CUR_OK) {
        return FZ_OK;
    }
    if (cur->fault == FZ_CUR_TRUNCATED) {
        fz_err_set_kind(err, FZ_CORRUPT, "truncated", "%s ends early: at byte %zu of %zu", what,
                        cur->fault_pos, cur->end);
    } else {
        fz_err_set_kind(err, FZ_CORRUPT, "malformed", "%s is malformed at byte %zu of %zu", what,
                        cur->fault_pos, cur->end);
    }
    if (err) {
        err->offset = (int64_t)cur->fault_pos;
    }
    return FZ_CORRUPT;
}

uint64_t fz_cur_varint_slow(fz_cur *cur) {
    if (cur->fault != FZ_CUR_OK) {
        return 0;
    }
    uint64_t value = 0;
    size_t pos = cur->pos;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (pos == cur->end) {
            fz_cur_fail(cur, FZ_CUR_TRUNCATED);
            return 0;
        }
        uint8_t byte = cur->data[pos++];
        if (shift == 63 && byte > 1) {
            break; // beyond 64 bits, or an eleventh byte
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            cur->pos = pos;
            return value;
        }
    }
    fz_cur_fail(cur, FZ_CUR_MALFORMED);
    return 0;
}
