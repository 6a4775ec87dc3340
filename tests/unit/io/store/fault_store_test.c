// SPDX-License-Identifier: Apache-2.0
// Planned faults strike the right call, before or after its effect.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/store/fault_store.h"
#include "io/store/memory_store.h"

static int setup(void **state) {
    *state = fz_store_fault_new(fz_store_memory_new("f", 0));
    return 0;
}

static int teardown(void **state) {
    fz_store_free(*state);
    return 0;
}

static bool there(fz_store *store, fz_str key) {
    fz_object o;
    return fz_store_stat(store, key, &o, NULL) == FZ_OK;
}

static void test_before_and_after(void **state) {
    fz_store *s = *state;
    fz_err err;
    fz_store_fault_plan(s, FZ_STORE_CALL_PUT, 2, 1, FZ_STORE_FAULT_BEFORE, FZ_UNAVAILABLE);
    assert_int_equal(fz_store_put(s, FZ_STR("a"), FZ_STR("1"), NULL), FZ_OK);
    assert_false(fz_store_fault_struck(s));
    assert_int_equal(fz_store_put(s, FZ_STR("b"), FZ_STR("1"), &err), FZ_UNAVAILABLE);
    assert_string_equal(err.text, "planned fault before put");
    assert_true(fz_store_fault_struck(s));
    assert_int_equal(fz_store_put(s, FZ_STR("c"), FZ_STR("1"), NULL), FZ_OK);
    assert_true(there(s, FZ_STR("a")) && !there(s, FZ_STR("b")) && there(s, FZ_STR("c")));
    assert_int_equal(fz_store_fault_count(s, FZ_STORE_CALL_PUT), 3);
    assert_int_equal(fz_store_fault_count(s, FZ_STORE_FAULT_ANY), 6);
    fz_store_fault_plan(s, FZ_STORE_CALL_PUT_NEW, 1, 1, FZ_STORE_FAULT_AFTER, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(fz_store_put_new(s, FZ_STR("d"), FZ_STR("1"), NULL), FZ_UNKNOWN_OUTCOME);
    assert_true(there(s, FZ_STR("d")));
    fz_store_fault_plan(s, FZ_STORE_CALL_PUT_NEW, 1, 1, FZ_STORE_FAULT_AFTER, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(fz_store_put_new(s, FZ_STR("d"), FZ_STR("1"), NULL),
                     FZ_EXISTS); // its own failure
    fz_store_fault_plan(s, FZ_STORE_FAULT_ANY, 0, 0, FZ_STORE_FAULT_BEFORE, FZ_OK);
    assert_int_equal(fz_store_put(s, FZ_STR("e"), FZ_STR("1"), NULL), FZ_OK);
}

static void test_several_in_a_row(void **state) {
    fz_store *s = *state;
    fz_store_fault_plan(s, FZ_STORE_FAULT_ANY, 2, 2, FZ_STORE_FAULT_BEFORE, FZ_IO);
    assert_int_equal(fz_store_put(s, FZ_STR("a"), FZ_STR("1"), NULL), FZ_OK);
    assert_false(there(s, FZ_STR("a")));
    assert_int_equal(fz_store_remove(s, FZ_STR("a"), NULL), FZ_IO);
    assert_true(there(s, FZ_STR("a")));
}

static void test_writer(void **state) {
    fz_store *s = *state;
    const fz_store_call calls[] = {FZ_STORE_CALL_OPEN, FZ_STORE_CALL_WRITE, FZ_STORE_CALL_COMMIT};
    for (size_t i = 0; i < FZ_COUNT(calls); i++) {
        for (int when = FZ_STORE_FAULT_BEFORE; when <= FZ_STORE_FAULT_AFTER; when++) {
            fz_store_writer *w = NULL;
            fz_store_fault_plan(s, calls[i], 1, 1, (fz_store_fault_when)when, FZ_UNKNOWN_OUTCOME);
            fz_code code = fz_store_open(s, FZ_STR("w"), &w, NULL);
            code = code == FZ_OK ? fz_store_writer_write(w, "x", 1, NULL) : code;
            code = code == FZ_OK ? fz_store_writer_commit(w, NULL, NULL) : code;
            assert_int_equal(code, FZ_UNKNOWN_OUTCOME);
            fz_store_writer_free(w);
            bool applied = calls[i] == FZ_STORE_CALL_COMMIT && when == FZ_STORE_FAULT_AFTER;
            assert_int_equal(there(s, FZ_STR("w")), applied);
            assert_int_equal(fz_store_remove(s, FZ_STR("w"), NULL), FZ_OK);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_before_and_after, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_in_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
