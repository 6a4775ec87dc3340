// SPDX-License-Identifier: Apache-2.0
// Deleted rows as a bitmap; reading Roaring bitmaps of untrusted bytes.
#include "table/scan/positions.h"

#include "base/codec/hash.h"
#include "base/cursor.h"
#include "base/memory.h"

#define MAX_ROWS (INT64_C(1) << 40)
#define VECTOR_MAGIC 0x6439d3d1u // bytes D1 D3 39 64
#define COOKIE_RUNS 12347u
#define COOKIE_PLAIN 12346u
#define OFFSETS_FROM 4u // containers, from which a bitmap with runs has offsets too
#define ARRAY_MOST 4096u

fz_code fz_scan_positions_init(fz_scan_positions *positions, int64_t rows, fz_budget *budget,
                               fz_err *err) {
    if (rows < 0 || rows > MAX_ROWS) {
        return fz_err_set(err, FZ_LIMIT, "%lld rows in a file with deleted rows", (long long)rows);
    }
    int64_t size = rows / 8 + 1;
    FZ_TRY(fz_budget_charge(budget, size, "deleted rows of a file", err));
    uint8_t *bits = (uint8_t *)fz_try_realloc(NULL, (size_t)size, 1);
    if (!bits) {
        fz_budget_release(budget, size);
        return fz_err_set(err, FZ_LIMIT, "no memory for the deleted rows of a file");
    }
    memset(bits, 0, (size_t)size);
    *positions = (fz_scan_positions){.bits = bits, .rows = rows, .budget = budget};
    return FZ_OK;
}

void fz_scan_positions_deinit(fz_scan_positions *positions) {
    if (positions->bits) {
        fz_free(positions->bits);
        fz_budget_release(positions->budget, positions->rows / 8 + 1);
    }
    *positions = (fz_scan_positions){0};
}

fz_code fz_scan_positions_add(fz_scan_positions *positions, int64_t row, fz_err *err) {
    if (row < 0 || row >= positions->rows) {
        return fz_err_set(err, FZ_CORRUPT, "row %lld is deleted in a file of %lld rows",
                          (long long)row, (long long)positions->rows);
    }
    uint8_t bit = (uint8_t)(1u << (row & 7));
    positions->count += !(positions->bits[row >> 3] & bit);
    positions->bits[row >> 3] |= bit;
    return FZ_OK;
}

// --- Roaring ---

typedef struct vector {
    fz_scan_positions *positions;
    fz_cur cur;
    int64_t found; // values read
    fz_err *err;
} vector;

static uint32_t le16(fz_cur *cur) {
    uint32_t low = fz_cur_u8(cur);
    return low | (uint32_t)fz_cur_u8(cur) << 8;
}

static fz_code out_of_order(vector *v) {
    return fz_err_set(v->err, FZ_CORRUPT, "deletion vector: values are not ascending");
}

// Ascending order is checked so that no few bytes can ask for much work.
static fz_code read_array(vector *v, int64_t base, uint32_t count) {
    int64_t last = -1;
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = le16(&v->cur);
        FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
        if (value <= last) {
            return out_of_order(v);
        }
        last = value;
        FZ_TRY(fz_scan_positions_add(v->positions, base + value, v->err));
    }
    v->found += count;
    return FZ_OK;
}

static fz_code read_bitmap(vector *v, int64_t base) {
    const uint8_t *bits = fz_cur_bytes(&v->cur, 8192);
    FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
    for (int64_t i = 0; i < 65536; i++) {
        if (bits[i >> 3] >> (i & 7) & 1) {
            v->found++;
            FZ_TRY(fz_scan_positions_add(v->positions, base + i, v->err));
        }
    }
    return FZ_OK;
}

static fz_code read_runs(vector *v, int64_t base) {
    uint32_t runs = le16(&v->cur);
    int64_t last = -1;
    for (uint32_t i = 0; i < runs; i++) {
        int64_t start = le16(&v->cur);
        int64_t end = start + le16(&v->cur); // inclusive
        FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
        if (start <= last || end > 65535) {
            return out_of_order(v);
        }
        for (int64_t value = start; value <= end; value++) {
            FZ_TRY(fz_scan_positions_add(v->positions, base + value, v->err));
        }
        v->found += end - start + 1;
        last = end;
    }
    return FZ_OK;
}

// One 32-bit bitmap; `high` are the upper bits of its values.
static fz_code read_bitmap32(vector *v, int64_t high) {
    uint32_t cookie = fz_cur_le32(&v->cur);
    bool has_runs = (cookie & 0xffff) == COOKIE_RUNS;
    uint32_t count = has_runs ? (cookie >> 16) + 1 : fz_cur_le32(&v->cur);
    if (!has_runs && cookie != COOKIE_PLAIN) {
        fz_cur_fail(&v->cur, FZ_CUR_MALFORMED);
    }
    FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
    if (count > 65536) {
        return fz_err_set(v->err, FZ_CORRUPT, "deletion vector: %u containers", count);
    }
    const uint8_t *run_bits = has_runs ? fz_cur_bytes(&v->cur, (count + 7) / 8) : NULL;
    fz_cur header = fz_cur_make(fz_cur_bytes(&v->cur, (size_t)count * 4), (size_t)count * 4);
    if (!has_runs || count >= OFFSETS_FROM) {
        (void)fz_cur_bytes(&v->cur, (size_t)count * 4); // containers follow one another anyway
    }
    FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
    int64_t last_key = -1;
    for (uint32_t i = 0; i < count; i++) {
        int64_t key = le16(&header);
        uint32_t values = le16(&header) + 1;
        int64_t base = high << 32 | key << 16;
        if (key <= last_key) {
            return out_of_order(v);
        }
        last_key = key;
        if (run_bits && run_bits[i >> 3] >> (i & 7) & 1) {
            FZ_TRY(read_runs(v, base));
        } else {
            FZ_TRY(values <= ARRAY_MOST ? read_array(v, base, values) : read_bitmap(v, base));
        }
    }
    return FZ_OK;
}

static fz_code read_roaring(vector *v) {
    uint64_t bitmaps = fz_cur_le64(&v->cur);
    int64_t last = -1;
    for (uint64_t i = 0; i < bitmaps; i++) {
        int64_t high = fz_cur_le32(&v->cur);
        FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
        if (high <= last || high > INT32_MAX) {
            return out_of_order(v);
        }
        last = high;
        FZ_TRY(read_bitmap32(v, high));
    }
    FZ_TRY(fz_cur_check(&v->cur, "deletion vector", v->err));
    if (fz_cur_left(&v->cur)) {
        return fz_err_set(v->err, FZ_CORRUPT, "deletion vector: %zu bytes behind its end",
                          fz_cur_left(&v->cur));
    }
    return FZ_OK;
}

fz_code fz_scan_positions_add_vector(fz_scan_positions *positions, fz_str blob, int64_t cardinality,
                                     fz_err *err) {
    fz_cur cur = fz_cur_make(blob.data, blob.size);
    uint32_t length = fz_cur_be32(&cur);
    const uint8_t *body = fz_cur_bytes(&cur, length);
    uint32_t crc = fz_cur_be32(&cur);
    FZ_TRY(fz_cur_check(&cur, "deletion vector", err));
    if (fz_cur_left(&cur) || length < 4) {
        return fz_err_set(err, FZ_CORRUPT, "deletion vector: length %u in %zu bytes", length,
                          blob.size);
    }
    uint32_t real = fz_crc32(0, body, length);
    if (crc != real) {
        return fz_err_set(err, FZ_CORRUPT, "deletion vector: crc %08x, want %08x", crc, real);
    }
    vector v = {.positions = positions, .cur = fz_cur_make(body, length), .err = err};
    if (fz_cur_le32(&v.cur) != VECTOR_MAGIC) {
        return fz_err_set(err, FZ_CORRUPT, "deletion vector: wrong magic");
    }
    FZ_TRY(read_roaring(&v));
    if (cardinality >= 0 && v.found != cardinality) {
        return fz_err_set(err, FZ_CORRUPT, "deletion vector: %lld rows, metadata says %lld",
                          (long long)v.found, (long long)cardinality);
    }
    return FZ_OK;
}
