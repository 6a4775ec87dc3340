// SPDX-License-Identifier: Apache-2.0
// Runs against a plain set of offsets, and what a replay's summary takes back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table/commit/runs.h"

#include "base/rand.h"

#define MOST 200

static fz_commit_runs of_bits(const uint8_t *bits, fz_str source) {
    fz_commit_runs runs = {0};
    for (int i = 0; i < MOST; i++) { // in no order
        int at = (i * 77) % MOST;
        if (bits[at]) {
            fz_commit_runs_add(&runs, source, at % 2, at / 2);
        }
    }
    fz_commit_runs_settle(&runs);
    return runs;
}

static void test_against_bits(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        uint8_t a[MOST], b[MOST];
        int64_t count = 0;
        bool touch = false;
        for (int i = 0; i < MOST; i++) {
            a[i] = fz_rand_below(3) > 0;
            b[i] = fz_rand_below(10) < (uint64_t)(round % 7);
            count += a[i];
            touch = touch || (a[i] && b[i]);
        }
        fz_commit_runs first = of_bits(a, FZ_STR("t")), second = of_bits(b, FZ_STR("t"));
        fz_commit_runs other = of_bits(b, FZ_STR("other")), left = {0}, sum = {0};
        assert_int_equal(fz_commit_runs_count(&first), count);
        assert_int_equal(fz_commit_runs_touch(&first, &second), touch);
        assert_false(fz_commit_runs_touch(&first, &other));
        fz_commit_runs_subtract(&first, &second, &left);
        fz_commit_runs_add_all(&sum, &first);
        fz_commit_runs_add_all(&sum, &second);
        fz_commit_runs_settle(&sum);
        json_t *json = fz_commit_runs_json(&sum);
        fz_commit_runs again = {0};
        assert_int_equal(fz_commit_runs_read(json, &again, NULL), FZ_OK);
        for (int i = 0; i < MOST; i++) {
            assert_int_equal(fz_commit_runs_find(&first, FZ_STR("t"), i % 2, i / 2), a[i]);
            assert_int_equal(fz_commit_runs_find(&left, FZ_STR("t"), i % 2, i / 2), a[i] && !b[i]);
            assert_int_equal(fz_commit_runs_find(&again, FZ_STR("t"), i % 2, i / 2), a[i] || b[i]);
            assert_false(fz_commit_runs_find(&first, FZ_STR("u"), i % 2, i / 2));
        }
        fz_commit_runs_deinit(&again);
        json_decref(json);
        fz_commit_runs_deinit(&first);
        fz_commit_runs_deinit(&second);
        fz_commit_runs_deinit(&other);
        fz_commit_runs_deinit(&left);
        fz_commit_runs_deinit(&sum);
    }
}

static void test_bad(void **state) {
    (void)state;
    static const char *const bad[] = {"[[\"t\", 0, 5, 5]]",
                                      "[[\"t\", -1, 5, 6]]",
                                      "[[\"\", 0, 5, 6]]",
                                      "[[0, 0, 5, 6]]",
                                      "[7]",
                                      "[[\"t\", 0, -5, 6]]",
                                      "[[\"t\", 0, 5]]",
                                      "[[\"t\", 4294967296, 5, 6]]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *json = NULL;
        fz_commit_runs runs = {0};
        assert_int_equal(fz_json_parse(fz_str_from(bad[i]), &json, NULL), FZ_OK);
        assert_int_equal(fz_commit_runs_read(json, &runs, NULL), FZ_CORRUPT);
        assert_int_equal(runs.all.count, 0);
        json_decref(json);
    }
    fz_commit_runs none = {0};
    assert_int_equal(fz_commit_runs_read(NULL, &none, NULL), FZ_OK);
    assert_int_equal(none.all.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_bits),
                                       cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
