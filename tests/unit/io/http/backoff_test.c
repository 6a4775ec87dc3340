// SPDX-License-Identifier: Apache-2.0
// Bounds of the waits, and the clock they pass on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/http/backoff.h"

static void test_bounds(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        fz_http_backoff b = {.first_ms = 100, .max_ms = 1000};
        int64_t full = 100;
        for (int i = 0; i < 10; i++) {
            int64_t wait = fz_http_backoff_next_ms(&b, -1);
            assert_in_range(wait, full / 2, full);
            full = full * 2 > 1000 ? 1000 : full * 2;
        }
        fz_http_backoff_reset(&b);
        assert_in_range(fz_http_backoff_next_ms(&b, -1), 50, 100);
    }
}

static void test_other_side_asks(void **state) {
    (void)state;
    fz_http_backoff b = {0};
    assert_int_equal(fz_http_backoff_next_ms(&b, 60000), 60000);
    assert_in_range(fz_http_backoff_next_ms(&b, 0), 100, 200);
}

static void test_many_attempts(void **state) {
    (void)state;
    fz_http_backoff b = {.first_ms = INT64_MAX / 4, .max_ms = INT64_MAX / 2};
    for (int i = 0; i < 5000; i++) {
        assert_true(fz_http_backoff_next_ms(&b, -1) > 0);
    }
}

static void test_clock(void **state) {
    (void)state;
    fz_clock_sim sim;
    fz_clock_sim_init(&sim, 0);
    fz_http_backoff b = {.clock = &sim.clock};
    int64_t slept = fz_http_backoff_wait(&b, 5000);
    assert_int_equal(slept, 5000);
    assert_int_equal(fz_clock_mono_ms(&sim.clock), 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_other_side_asks),
        cmocka_unit_test(test_many_attempts),
        cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
