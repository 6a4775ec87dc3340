// SPDX-License-Identifier: Apache-2.0
// Tests of the building blocks: hybrid runs, deltas, thrift, bloom filters, dictionaries, cut
// bounds.
#include "format/parquet/rle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/codec/hash.h"
#include "base/memory.h"
#include "format/parquet/bloom.h"
#include "format/parquet/bounds.h"
#include "format/parquet/delta.h"
#include "format/parquet/dictionary.h"
#include "format/parquet/thrift.h"

static uint64_t next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void hybrid(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned width = 0; width <= 32; width++) {
        for (int round = 0; round < 40; round++) {
            size_t count = (size_t)(next(&random) % 500);
            uint32_t *values = fz_calloc(count + 1, sizeof *values);
            uint32_t *back = fz_calloc(count + 1, sizeof *back);
            uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
            for (size_t i = 0; i < count;) {
                size_t run = round % 3 == 0 ? 1 : 1 + (size_t)(next(&random) % 60);
                uint32_t value = (uint32_t)next(&random) & mask;
                for (; run > 0 && i < count; run--) {
                    values[i++] = value;
                }
            }
            fz_buf bytes = {0};
            fz_parquet_rle_encode(&bytes, values, count, width);
            fz_parquet_rle rle;
            fz_parquet_rle_init(&rle, fz_buf_view(&bytes), width);
            for (size_t done = 0; done < count;) { // in pieces
                size_t n = 1 + (size_t)(next(&random) % 50);
                n = n < count - done ? n : count - done;
                assert_true(fz_parquet_rle_decode(&rle, back + done, n));
                done += n;
            }
            assert_memory_equal(back, values, count * sizeof *values);
            fz_parquet_rle_init(&rle, fz_str_make(bytes.data, bytes.size / 2), width);
            if (width > 2 && count > 16 && round % 3 == 0) {
                assert_false(fz_parquet_rle_decode(&rle, back, count));
            }
            if (width <= 8) {
                uint8_t *levels = fz_calloc(count + 1, 1);
                for (size_t i = 0; i < count; i++) {
                    levels[i] = (uint8_t)values[i];
                }
                fz_buf same = {0};
                fz_parquet_rle_encode_levels(&same, levels, count, width);
                assert_int_equal(same.size, bytes.size);
                assert_memory_equal(same.data, bytes.data, bytes.size);
                fz_buf_deinit(&same);
                fz_free(levels);
            }
            fz_buf_deinit(&bytes);
            fz_free(values);
            fz_free(back);
        }
    }
    // parquet-format Encodings.md: the numbers 0 to 7 in 3 bits
    static const uint32_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    fz_buf bytes = {0};
    fz_parquet_rle_encode(&bytes, numbers, 8, 3);
    assert_int_equal(bytes.size, 4);
    assert_memory_equal(bytes.data, "\x03\x88\xc6\xfa", 4);
    fz_buf_deinit(&bytes);
}

static void deltas(void **state) {
    (void)state;
    uint64_t random = 2;
    for (int round = 0; round < 300; round++) {
        int width = round % 2 ? 4 : 8;
        size_t count = (size_t)(next(&random) % 700);
        int64_t *wide = fz_calloc(count + 1, sizeof *wide);
        int32_t *narrow = fz_calloc(count + 1, sizeof *narrow);
        int64_t *back = fz_calloc(count + 1, sizeof *back);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = next(&random);
            wide[i] = round % 3 == 0 ? (int64_t)value : (int64_t)(value % 1000 + i * 17);
            wide[i] = round % 7 == 0 ? (value & 1 ? INT64_MIN : INT64_MAX) : wide[i];
            narrow[i] = (int32_t)wide[i];
        }
        fz_buf bytes = {0};
        fz_parquet_delta_encode(&bytes, width == 4 ? (const void *)narrow : wide, count, width);
        fz_cur cur = fz_cur_make(bytes.data, bytes.size);
        size_t found = 0;
        assert_true(fz_parquet_delta_decode(&cur, width, back, count, &found));
        assert_int_equal(found, count);
        assert_int_equal(fz_cur_left(&cur), 0);
        for (size_t i = 0; i < count; i++) {
            assert_true(back[i] == (width == 4 ? narrow[i] : wide[i]));
        }
        if (count > 0) {
            cur = fz_cur_make(bytes.data, bytes.size);
            assert_false(fz_parquet_delta_decode(&cur, width, back, count - 1, &found));
        }
        fz_buf_deinit(&bytes);
        fz_free(wide);
        fz_free(narrow);
        fz_free(back);
    }
}

static void thrift(void **state) {
    (void)state;
    fz_buf bytes = {0};
    fz_parquet_thrift_writer writer;
    fz_parquet_thrift_init(&writer, &bytes);
    fz_parquet_thrift_i32(&writer, 1, -5);
    fz_parquet_thrift_struct(&writer, 2);
    fz_parquet_thrift_bool(&writer, 300, true);
    fz_parquet_thrift_end(&writer);
    fz_parquet_thrift_list(&writer, 3, FZ_PARQUET_THRIFT_I64, 20);
    for (int i = 0; i < 20; i++) {
        fz_parquet_thrift_item_int(&writer, INT64_MIN + i);
    }
    fz_parquet_thrift_binary(&writer, 4, FZ_STR("abc"));
    fz_parquet_thrift_end(&writer);

    fz_cur cur = fz_cur_make(bytes.data, bytes.size);
    fz_parquet_thrift_field field = {0};
    assert_true(fz_parquet_thrift_next(&cur, &field));
    assert_int_equal(fz_parquet_thrift_read_i32(&cur, &field), -5);
    assert_true(fz_parquet_thrift_next(&cur, &field));
    fz_parquet_thrift_skip(&cur, &field);
    assert_true(fz_parquet_thrift_next(&cur, &field));
    assert_int_equal(field.id, 3);
    assert_int_equal(fz_parquet_thrift_read_list(&cur, &field, FZ_PARQUET_THRIFT_I64), 20);
    for (int i = 0; i < 20; i++) {
        assert_true(fz_parquet_thrift_read_item_int(&cur) == INT64_MIN + i);
    }
    assert_true(fz_parquet_thrift_next(&cur, &field));
    assert_true(fz_str_equal(fz_parquet_thrift_read_binary(&cur, &field), FZ_STR("abc")));
    assert_false(fz_parquet_thrift_next(&cur, &field));
    assert_int_equal(cur.fault, FZ_CUR_OK);

    // structs nested deeper than anything in the format
    fz_buf deep = {0};
    for (int i = 0; i < 1000; i++) {
        fz_buf_append_byte(&deep, 0x1c);
    }
    cur = fz_cur_make(deep.data, deep.size);
    field = (fz_parquet_thrift_field){0};
    assert_true(fz_parquet_thrift_next(&cur, &field));
    fz_parquet_thrift_skip(&cur, &field);
    assert_int_equal(cur.fault, FZ_CUR_MALFORMED);
    fz_buf_deinit(&deep);
    // a list that says it has 2^60 items
    cur = fz_cur_make("\x19\xfc\x80\x80\x80\x80\x80\x80\x80\x80\x10\0\0", 13);
    field = (fz_parquet_thrift_field){0};
    assert_true(fz_parquet_thrift_next(&cur, &field));
    assert_int_equal(fz_parquet_thrift_read_list(&cur, &field, FZ_PARQUET_THRIFT_STRUCT), 0);
    assert_int_equal(cur.fault, FZ_CUR_MALFORMED);
    fz_buf_deinit(&bytes);
}

static void bloom(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    uint64_t *hashes = fz_calloc(COUNT, sizeof *hashes);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t value = i * 3;
        hashes[i] = fz_xxh64(&value, sizeof value);
    }
    fz_buf bytes = {0};
    fz_parquet_bloom_encode(&bytes, hashes, COUNT, 0.01, 0);
    fz_cur cur = fz_cur_make(bytes.data, bytes.size);
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(&cur, &field)) {
        fz_parquet_thrift_skip(&cur, &field);
    }
    fz_str bits = fz_str_make(bytes.data + cur.pos, bytes.size - cur.pos);
    assert_true(bits.size % 32 == 0);
    int wrong = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t value = i * 3;
        assert_true(fz_parquet_bloom_find(bits, fz_xxh64(&value, sizeof value)));
        value++;
        wrong += fz_parquet_bloom_find(bits, fz_xxh64(&value, sizeof value));
    }
    assert_true(wrong < COUNT / 50);
    fz_buf_deinit(&bytes);
    fz_free(hashes);
}

static void dictionary(void **state) {
    (void)state;
    // strings that differ in one byte, in trailing zeros, in length around the borders of a key
    enum { COUNT = 400 };
    char data[COUNT * 40];
    int32_t offsets[COUNT + 1] = {0};
    for (int i = 0; i < COUNT; i++) {
        int size = i % 20;
        memset(data + offsets[i], 0, 40);
        if (size > 0 && i % 3) {
            data[offsets[i] + i % size] = (char)(i % 5);
        }
        offsets[i + 1] = offsets[i] + size;
    }
    for (size_t readable = 0; readable <= sizeof data; readable += sizeof data) {
        fz_parquet_dictionary d;
        fz_parquet_dictionary_init(&d, FZ_PARQUET_DICTIONARY_BYTES, 0, 1 << 20);
        fz_parquet_bytes values = {(const uint8_t *)data, readable, offsets, 0, NULL, 0};
        uint32_t indices[COUNT];
        assert_true(fz_parquet_dictionary_encode_bytes(&d, &values, COUNT, indices));
        for (size_t i = 0; i < COUNT; i++) {
            fz_str value = fz_parquet_bytes_at(&values, i);
            assert_true(fz_str_equal(fz_parquet_dictionary_bytes(&d, indices[i]), value));
            for (size_t j = 0; j < i; j++) {
                bool same = fz_str_equal(fz_parquet_bytes_at(&values, j), value);
                assert_int_equal(same, indices[i] == indices[j]);
            }
        }
        fz_parquet_dictionary_deinit(&d);
    }
    fz_parquet_dictionary d;
    fz_parquet_dictionary_init(&d, FZ_PARQUET_DICTIONARY_64, 0, 800);
    uint64_t numbers[101];
    uint32_t indices[101];
    for (uint64_t i = 0; i < 101; i++) {
        numbers[i] = i << 57 | i;
    }
    assert_true(fz_parquet_dictionary_encode_64(&d, numbers, 100, indices));
    assert_false(fz_parquet_dictionary_encode_64(&d, numbers + 100, 1, indices));
    fz_parquet_dictionary_reset(&d);
    assert_true(fz_parquet_dictionary_encode_64(&d, numbers, 1, indices));
    assert_int_equal(d.count, 1);
    fz_parquet_dictionary_deinit(&d);
}

static void bounds(void **state) {
    (void)state;
    static const struct {
        const char *unit; // repeated to 66 bytes and more
        bool utf8;
        const char *upper_end; // last bytes of the upper bound, NULL: none
    } cases[] = {
        {"a", true, "b"},
        {"\xc3\xa9", true, "\xc3\xaa"},
        {"\xed\x9f\xbf", true, "\xee\x80\x80"}, // U+D7FF: over the surrogates
        {"\xf4\x8f\xbf\xbf", true, NULL},       // U+10FFFF
        {"\x7f", true, "\xc2\x80"},
        {"\xff", false, NULL},
        {"\x01\xff", false, "\x02"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        char text[100];
        size_t size = 0;
        while (size < 70) {
            memcpy(text + size, cases[i].unit, strlen(cases[i].unit));
            size += strlen(cases[i].unit);
        }
        fz_parquet_bounds_type type = {.order = FZ_PARQUET_ORDER_BYTES, .utf8 = cases[i].utf8};
        fz_parquet_range range = {.has = true, .min_exact = true, .max_exact = true};
        range.min_bytes = range.max_bytes = fz_str_make(text, size);
        fz_buf low = {0};
        fz_buf high = {0};
        bool exact = true;
        assert_true(fz_parquet_range_encode(&range, &type, false, &low, &exact));
        assert_false(exact);
        assert_true(fz_str_compare(fz_buf_view(&low), range.min_bytes) <= 0);
        assert_int_equal(fz_parquet_range_encode(&range, &type, true, &high, &exact),
                         cases[i].upper_end != NULL);
        if (cases[i].upper_end) {
            assert_true(fz_str_compare(fz_buf_view(&high), range.max_bytes) > 0);
            assert_true(fz_str_ends_with(fz_buf_view(&high), fz_str_from(cases[i].upper_end)));
        }
        fz_buf_deinit(&low);
        fz_buf_deinit(&high);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid), cmocka_unit_test(deltas),     cmocka_unit_test(thrift),
        cmocka_unit_test(bloom),  cmocka_unit_test(dictionary), cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
