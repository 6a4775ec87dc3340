// SPDX-License-Identifier: Apache-2.0
// Deletion vectors: the golden blobs of Iceberg, every kind of container, damage.
#include "table/scan/positions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/codec/hash.h"
#include "base/codec/text_codec.h"

static fz_code read_hex(const char *hex, int64_t rows, int64_t cardinality, fz_scan_positions *out,
                        fz_err *err) {
    fz_buf blob = {0};
    assert_int_equal(fz_hex_decode(&blob, fz_str_from(hex), err), FZ_OK);
    assert_int_equal(fz_scan_positions_init(out, rows, NULL, err), FZ_OK);
    fz_code code = fz_scan_positions_add_vector(out, fz_buf_view(&blob), cardinality, err);
    fz_buf_deinit(&blob);
    return code;
}

static const char five[] = "0000002ad1d33964010000000000000000000000"
                           "3a30000001000000000004001000000001000300050007000900b3fb20be";

static void golden_blobs(void **state) {
    (void)state;
    fz_scan_positions p = {0};
    fz_err err = {0};
    assert_int_equal(read_hex("0000000cd1d339640000000000000000bf18480c", 10, 0, &p, &err), FZ_OK);
    assert_int_equal(p.count, 0);
    fz_scan_positions_deinit(&p);
    assert_int_equal(read_hex(five, 10, 5, &p, &err), FZ_OK);
    for (int64_t row = 0; row < 10; row++) {
        assert_int_equal(fz_scan_positions_has(&p, row), row % 2 == 1);
    }
    fz_scan_positions_deinit(&p);
    assert_int_equal(read_hex(five, 9, 5, &p, &err), FZ_CORRUPT); // row 9 of 9
    fz_scan_positions_deinit(&p);
    assert_int_equal(read_hex(five, 10, 4, &p, &err), FZ_CORRUPT);
    fz_scan_positions_deinit(&p);
}

static void put16(fz_buf *out, unsigned value) {
    fz_buf_append_byte(out, (uint8_t)value);
    fz_buf_append_byte(out, (uint8_t)(value >> 8));
}

// Around a body of 64-bit Roaring: length, magic, crc.
static fz_code read_body(const fz_buf *body, int64_t rows, fz_scan_positions *out, fz_err *err) {
    fz_buf blob = {0};
    uint32_t length = (uint32_t)body->size + 4;
    fz_buf_append_le32(&blob, __builtin_bswap32(length));
    fz_buf_append(&blob, "\xd1\xd3\x39\x64", 4);
    fz_buf_append_str(&blob, fz_buf_view(body));
    fz_buf_append_le32(&blob, __builtin_bswap32(fz_crc32(0, blob.data + 4, length)));
    assert_int_equal(fz_scan_positions_init(out, rows, NULL, err), FZ_OK);
    fz_code code = fz_scan_positions_add_vector(out, fz_buf_view(&blob), -1, err);
    fz_buf_deinit(&blob);
    return code;
}

// Five containers with runs flagged in the second and fifth, of which the third is a bitmap.
static void mixed_body(fz_buf *body) {
    fz_buf_append_le64(body, 1);
    fz_buf_append_le32(body, 0);
    fz_buf_append_le32(body, 12347u | 4u << 16);
    fz_buf_append_byte(body, 0x12);
    const unsigned counts[] = {2, 300, 5000, 1, 1};
    for (unsigned i = 0; i < 5; i++) {
        put16(body, i);
        put16(body, counts[i] - 1);
    }
    for (unsigned i = 0; i < 5; i++) {
        fz_buf_append_le32(body, 0); // offsets, not needed
    }
    put16(body, 0);
    put16(body, 65535);
    put16(body, 2); // runs
    put16(body, 10);
    put16(body, 99);
    put16(body, 1000);
    put16(body, 199);
    for (unsigned i = 0; i < 8192; i++) {
        fz_buf_append_byte(body, i < 625 ? 0xff : 0);
    }
    put16(body, 7);
    put16(body, 1);
    put16(body, 65535);
    put16(body, 0);
}

static void every_container(void **state) {
    (void)state;
    fz_buf body = {0};
    fz_scan_positions p = {0};
    fz_err err = {0};
    mixed_body(&body);
    if (read_body(&body, 5 * 65536, &p, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(p.count, 2 + 300 + 5000 + 1 + 1);
    const int64_t in[] = {0,     65535,  65546,  65645,         66536,
                          66735, 131072, 136071, 3 * 65536 + 7, 5 * 65536 - 1};
    const int64_t out[] = {1,     65534,  65545,         65646,        66535,
                           66736, 136072, 3 * 65536 + 8, 5 * 65536 - 2};
    for (size_t i = 0; i < FZ_COUNT(in); i++) {
        assert_true(fz_scan_positions_has(&p, in[i]));
    }
    for (size_t i = 0; i < FZ_COUNT(out); i++) {
        assert_false(fz_scan_positions_has(&p, out[i]));
    }
    fz_scan_positions_deinit(&p);
    fz_buf_deinit(&body);
}

static void damage(void **state) {
    (void)state;
    fz_buf body = {0};
    fz_err err = {0};
    mixed_body(&body);
    for (size_t size = 0; size < body.size; size += size < 60 ? 1 : 97) {
        fz_scan_positions p = {0};
        fz_buf cut = {0};
        fz_buf_append(&cut, body.data, size);
        assert_int_equal(read_body(&cut, 5 * 65536, &p, &err), FZ_CORRUPT);
        fz_buf_deinit(&cut);
        fz_scan_positions_deinit(&p);
    }
    srand(1);
    for (int round = 0; round < 3000; round++) {
        fz_scan_positions p = {0};
        fz_buf bad = {0};
        fz_buf_append(&bad, body.data, body.size);
        bad.data[rand() % 60] = (uint8_t)rand();
        bad.data[(size_t)rand() % bad.size] = (uint8_t)rand();
        fz_code code = read_body(&bad, 5 * 65536, &p, &err);
        assert_true(code == FZ_OK || code == FZ_CORRUPT);
        fz_buf_deinit(&bad);
        fz_scan_positions_deinit(&p);
    }
    char hex[sizeof(five)];
    for (size_t i = 0; i + 1 < sizeof(five); i++) {
        fz_scan_positions p = {0};
        memcpy(hex, five, sizeof(five));
        hex[i] = hex[i] == '0' ? '1' : '0';
        assert_int_equal(read_hex(hex, 10, 5, &p, &err), FZ_CORRUPT); // the crc covers all
        fz_scan_positions_deinit(&p);
    }
    fz_buf_deinit(&body);
}

static void memory_is_charged(void **state) {
    (void)state;
    fz_budget budget;
    fz_budget_init(&budget, 1000);
    fz_scan_positions p = {0};
    fz_err err = {0};
    assert_int_equal(fz_scan_positions_init(&p, 8000, &budget, &err), FZ_LIMIT);
    assert_int_equal(fz_scan_positions_init(&p, INT64_MAX, NULL, &err), FZ_LIMIT);
    assert_int_equal(fz_scan_positions_init(&p, 800, &budget, &err), FZ_OK);
    assert_int_equal(fz_budget_used(&budget), 101);
    assert_int_equal(fz_scan_positions_add(&p, 800, &err), FZ_CORRUPT);
    assert_int_equal(fz_scan_positions_add(&p, -1, &err), FZ_CORRUPT);
    assert_int_equal(fz_scan_positions_add(&p, 799, &err), FZ_OK);
    assert_int_equal(fz_scan_positions_add(&p, 799, &err), FZ_OK);
    assert_int_equal(p.count, 1);
    fz_scan_positions_deinit(&p);
    assert_int_equal(fz_budget_used(&budget), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_blobs),
        cmocka_unit_test(every_container),
        cmocka_unit_test(damage),
        cmocka_unit_test(memory_is_charged),
    };
    return cmocka_run_group_tests_name("positions", tests, NULL, NULL);
}
