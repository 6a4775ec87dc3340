// SPDX-License-Identifier: Apache-2.0
// Containers: growth, ceilings, sticky failures, order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sink.h"
#include "base/vec.h"

static void buf_grows_and_keeps(void **state) {
    (void)state;
    fz_buf buf = {0};
    for (int i = 0; i < 1000; i++) {
        fz_buf_printf(&buf, "%d,", i);
    }
    assert_int_equal(fz_buf_check(&buf, "x", NULL), FZ_OK);
    assert_int_equal(buf.size, 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(buf.data, "0,1,2,", 6);
    assert_int_equal(strlen(fz_buf_cstr(&buf)), buf.size);
    fz_buf_reset(&buf);
    fz_buf_append_le32(&buf, 0x01020304);
    fz_buf_append_le64(&buf, 5);
    assert_int_equal(buf.size, 12);
    assert_memory_equal(buf.data, "\4\3\2\1\5\0\0\0\0\0\0\0", 12);
    fz_buf_deinit(&buf);
    assert_null(buf.data);
    assert_string_equal(fz_buf_cstr(&buf), "");
    fz_buf_printf(&buf, "%s", "");
    assert_int_equal(buf.size, 0);
    fz_buf_deinit(&buf);
    fz_buf_deinit(NULL);
}

static void buf_ceiling_sticks(void **state) {
    (void)state;
    fz_buf buf;
    fz_err err;
    fz_buf_init(&buf, 10, NULL);
    fz_buf_append(&buf, "0123456789", 10); // exactly the ceiling
    assert_int_equal(fz_buf_check(&buf, "thing", &err), FZ_OK);
    assert_string_equal(fz_buf_cstr(&buf), "0123456789");
    fz_buf_append_byte(&buf, 'x');
    assert_true(buf.failed);
    assert_int_equal(buf.size, 10);
    assert_false(fz_buf_reserve(&buf, 0));
    assert_int_equal(fz_buf_check(&buf, "thing", &err), FZ_LIMIT);
    assert_non_null(strstr(err.text, "thing"));
    assert_non_null(strstr(err.text, "10"));
    assert_string_equal(fz_buf_cstr(&buf), "");
    fz_buf_reset(&buf);
    fz_buf_printf(&buf, "%s", "0123456789");
    assert_int_equal(fz_buf_check(&buf, "thing", &err), FZ_OK);
    fz_buf_printf(&buf, "%d", 1);
    assert_int_equal(fz_buf_check(&buf, "thing", &err), FZ_LIMIT);
    fz_buf_reset(&buf);
    assert_false(fz_buf_reserve(&buf, SIZE_MAX));
    fz_buf_deinit(&buf);
}

static void buf_charges_its_budget(void **state) {
    (void)state;
    fz_budget budget;
    fz_budget_init(&budget, 100);
    fz_buf buf;
    fz_buf_init(&buf, 0, &budget);
    fz_buf_append(&buf, "x", 1);
    assert_int_equal(fz_budget_used(&budget), 64);
    assert_true(fz_buf_reserve(&buf, 98)); // twice as much would not fit, this does
    assert_int_equal(fz_budget_used(&budget), 99);
    assert_false(fz_buf_reserve(&buf, 100));
    assert_int_equal(fz_budget_used(&budget), 99);
    fz_err err;
    assert_int_equal(fz_buf_check(&buf, "thing", &err), FZ_LIMIT);
    fz_buf_deinit(&buf);
    assert_int_equal(fz_budget_used(&budget), 0);
    assert_int_equal(atomic_load(&budget.peak), 99);
    assert_int_equal(fz_budget_charge(&budget, 101, "batch", &err), FZ_LIMIT);
    assert_non_null(strstr(err.text, "batch"));
    assert_int_equal(fz_budget_charge(&budget, INT64_MAX, "batch", &err), FZ_LIMIT);
    assert_int_equal(fz_budget_charge(&budget, 100, "batch", &err), FZ_OK);
    fz_budget_release(&budget, 100);
    assert_int_equal(fz_budget_charge(NULL, 100, "batch", &err), FZ_OK);
    fz_budget_release(NULL, 100);
}

static void vec_pushes(void **state) {
    (void)state;
    FZ_VEC(int) v = {0};
    for (int i = 0; i < 100; i++) {
        fz_vec_push(&v, i);
    }
    assert_int_equal(v.count, 100);
    assert_int_equal(v.data[99], 99);
    fz_vec_reset(&v);
    assert_int_equal(v.count, 0);
    fz_vec_reserve(&v, 1000);
    assert_true(v.capacity >= 1000);
    fz_vec_deinit(&v);
    assert_null(v.data);
}

static void map_against_a_list(void **state) {
    (void)state;
    enum { KEYS = 500 };
    static int values[KEYS];
    fz_map map = {0};
    bool present[KEYS] = {0};
    size_t count = 0;
    assert_null(fz_map_find(&map, FZ_STR("x")));
    assert_null(fz_map_remove(&map, FZ_STR("x")));
    unsigned seed = 1;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1103515245 + 12345;
        unsigned k = (seed >> 16) % KEYS;
        char key[16];
        snprintf(key, sizeof(key), "key%u", k);
        fz_str name = fz_str_from(key);
        void *want = present[k] ? &values[k] : NULL;
        assert_ptr_equal(fz_map_find(&map, name), want);
        if (seed & 0x8000) {
            assert_ptr_equal(fz_map_put(&map, name, &values[k]), want);
            count += !present[k];
            present[k] = true;
        } else {
            assert_ptr_equal(fz_map_remove(&map, name), want);
            count -= present[k];
            present[k] = false;
        }
        assert_int_equal(map.count, count);
    }
    fz_map_deinit(&map);
    fz_map_put(&map, FZ_STR("b"), &values[0]);
    fz_map_put(&map, FZ_STR("a"), &values[1]);
    fz_map_put(&map, FZ_STR(""), &values[2]);
    assert_string_equal(map.entries[0].key.data, "b");
    assert_string_equal(map.entries[1].key.data, "a");
    assert_ptr_equal(fz_map_find(&map, FZ_STR("")), &values[2]);
    assert_ptr_equal(fz_map_remove(&map, FZ_STR("b")), &values[0]);
    assert_string_equal(map.entries[0].key.data, "");
    fz_map_deinit(&map);
    fz_map_deinit(NULL);
}

static void arena_is_cleared_and_aligned(void **state) {
    (void)state;
    fz_arena arena = {0};
    for (size_t size = 0; size < 3000; size += 7) {
        uint8_t *p = fz_arena_alloc(&arena, size, 1);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xff, size);
    }
    size_t used = arena.used;
    uint8_t *large = fz_arena_alloc(&arena, 1000, 1000);
    large[999999] = 1;
    assert_true(arena.used >= used + 1000000);
    assert_string_equal(fz_arena_str(&arena, FZ_STR("abc")).data, "abc");
    fz_str text = fz_arena_printf(&arena, "%d-%s", 7, "x");
    assert_string_equal(text.data, "7-x");
    assert_int_equal(text.size, 3);
    fz_arena_deinit(&arena);
    assert_int_equal(arena.used, 0);
    fz_arena_deinit(NULL);
}

static void sink_fails_with_its_buffer(void **state) {
    (void)state;
    fz_buf buf;
    fz_buf_init(&buf, 4, NULL);
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, &buf);
    assert_int_equal(fz_sink_write(&sink.sink, "abcd", 4, NULL), FZ_OK);
    assert_int_equal(fz_sink_write(&sink.sink, NULL, 0, NULL), FZ_OK);
    assert_int_equal(fz_sink_write(&sink.sink, "e", 1, NULL), FZ_LIMIT);
    assert_int_equal(buf.size, 4);
    fz_buf_deinit(&buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_grows_and_keeps),
        cmocka_unit_test(buf_ceiling_sticks),
        cmocka_unit_test(buf_charges_its_budget),
        cmocka_unit_test(vec_pushes),
        cmocka_unit_test(map_against_a_list),
        cmocka_unit_test(arena_is_cleared_and_aligned),
        cmocka_unit_test(sink_fails_with_its_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
