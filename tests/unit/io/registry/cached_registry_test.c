// SPDX-License-Identifier: Apache-2.0
// One request a schema however many wait, what is remembered and for how long.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "io/registry/cached_registry.h"

#include "base/memory.h"
#include "base/thread.h"

enum { THREADS = 16 };

// A registry that knows the ids below `known`, slowly.
typedef struct slow_registry {
    fz_registry registry;
    _Atomic int asked;
    _Atomic int known;
    _Atomic bool down;
    int64_t slow_ms;
} slow_registry;

static fz_code make(slow_registry *s, int32_t id, fz_registry_schema **out, fz_err *err) {
    s->asked++;
    if (s->slow_ms) {
        fz_clock_sleep_ms(fz_clock_real(), s->slow_ms);
    }
    if (s->down) {
        return fz_err_set(err, FZ_UNAVAILABLE, "down");
    }
    if (id >= s->known) {
        return fz_err_set_kind(err, FZ_NOT_FOUND, "unknown_schema_id", "no schema id %d", id);
    }
    fz_registry_schema *schema = fz_calloc(1, sizeof *schema);
    schema->refs = 1;
    schema->id = id;
    *out = schema;
    return FZ_OK;
}

static fz_code slow_by_id(fz_registry *registry, int32_t id, fz_str subject,
                          fz_registry_schema **out, fz_err *err) {
    (void)subject;
    return make((slow_registry *)registry, id, out, err);
}

static fz_code slow_by_guid(fz_registry *registry, const uint8_t guid[16], fz_registry_schema **out,
                            fz_err *err) {
    return make((slow_registry *)registry, guid[15], out, err);
}

static void slow_free(fz_registry *registry) {
    fz_free(registry);
}

static slow_registry *inner;
static fz_clock_sim sim;

static fz_registry *open_cached(int64_t unknown_retry_ms) {
    static const fz_registry_ops ops = {.name = "slow",
                                        .schema_by_id = slow_by_id,
                                        .schema_by_guid = slow_by_guid,
                                        .free = slow_free};
    inner = fz_calloc(1, sizeof *inner);
    inner->registry.ops = &ops;
    inner->known = 100;
    fz_clock_sim_init(&sim, 0);
    fz_registry_cache_options options = {.unknown_retry_ms = unknown_retry_ms, .clock = &sim.clock};
    return fz_registry_cached_new(&inner->registry, &options);
}

static fz_code ask(fz_registry *r, int32_t id, const char *subject, fz_err *err) {
    fz_registry_schema *s = NULL;
    fz_code code = fz_registry_schema_by_id(r, id, fz_str_from(subject), &s, err);
    if (code == FZ_OK && s->id != id) {
        code = FZ_INTERNAL;
    }
    fz_registry_schema_unref(s);
    return code;
}

static void test_known_for_ever(void **state) {
    (void)state;
    fz_registry *r = open_cached(-1);
    assert_int_equal(ask(r, 5, "", NULL), FZ_OK);
    inner->down = true;
    fz_clock_sim_advance(&sim, INT64_C(1000000) * 86400 * 365);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ask(r, 5, "any-subject", NULL), FZ_OK);
    }
    assert_int_equal(inner->asked, 1);
    assert_int_equal(ask(r, 5, ":.ctx:a", NULL), FZ_UNAVAILABLE); // another context, another id
    inner->down = false;
    fz_clock_sim_advance(&sim, 1000000);
    assert_int_equal(ask(r, 5, ":.ctx:b", NULL), FZ_OK);
    assert_int_equal(inner->asked, 3);
    fz_registry_schema *s = NULL;
    uint8_t guid[16] = {0};
    guid[15] = 7;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fz_registry_schema_by_guid(r, guid, &s, NULL), FZ_OK);
        fz_registry_schema_release(&s);
    }
    assert_int_equal(inner->asked, 4);
    fz_registry_free(r);
}

static void test_unknown(void **state) {
    (void)state;
    fz_registry *r = open_cached(0);
    fz_err err;
    int64_t before = fz_clock_mono_ms(&sim.clock);
    assert_int_equal(ask(r, 999, "", &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "unknown_schema_id");
    assert_int_equal(inner->asked, 2); // once more after a second
    assert_int_equal(fz_clock_mono_ms(&sim.clock) - before, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ask(r, 999, "", &err), FZ_NOT_FOUND);
        assert_string_equal(err.kind, "unknown_schema_id");
    }
    assert_int_equal(inner->asked, 2);
    inner->known = 1000; // registered now
    fz_clock_sim_advance(&sim, 9999 * 1000);
    assert_int_equal(ask(r, 999, "", &err), FZ_NOT_FOUND);
    fz_clock_sim_advance(&sim, 1000);
    assert_int_equal(ask(r, 999, "", &err), FZ_OK);
    assert_int_equal(inner->asked, 3);
    fz_registry_free(r);
}

static void test_down(void **state) {
    (void)state;
    fz_registry *r = open_cached(0);
    fz_err err;
    inner->down = true;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ask(r, 5, "", &err), FZ_UNAVAILABLE);
        assert_string_equal(err.text, "down");
    }
    assert_int_equal(inner->asked, 1);
    inner->down = false;
    fz_clock_sim_advance(&sim, 500 * 1000);
    assert_int_equal(ask(r, 5, "", &err), FZ_OK);
    fz_registry_free(r);
}

static void test_any_number_of_unknown_ids(void **state) {
    (void)state;
    fz_registry *r = open_cached(-1);
    for (int32_t id = 1000; id < 31000; id++) {
        assert_int_equal(ask(r, id, "", NULL), FZ_NOT_FOUND);
    }
    assert_int_equal(ask(r, 30999, "", NULL), FZ_NOT_FOUND);
    assert_int_equal(inner->asked, 30000);
    assert_int_equal(ask(r, 50, "", NULL), FZ_OK);
    fz_registry_free(r);
}

typedef struct asker {
    fz_thread thread;
    fz_registry *registry;
    int32_t id;
    int rounds;
    fz_code code;
} asker;

static void run(void *arg) {
    asker *a = arg;
    for (int i = 0; i < a->rounds; i++) {
        fz_code code = ask(a->registry, a->id + i % 10, "", NULL);
        a->code = code != FZ_OK ? code : a->code;
    }
}

static void together(fz_registry *r, int32_t id, int rounds, fz_code wanted) {
    asker askers[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].registry = r;
        askers[i].id = id;
        askers[i].rounds = rounds;
        fz_thread_start(&askers[i].thread, "asker", run, &askers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        fz_thread_join(&askers[i].thread);
        assert_int_equal(askers[i].code, wanted);
    }
}

static void test_single_flight(void **state) {
    (void)state;
    fz_registry *r = open_cached(-1);
    inner->slow_ms = 50;
    together(r, 5, 1, FZ_OK);
    assert_int_equal(inner->asked, 1);
    together(r, 5000, 1, FZ_NOT_FOUND);
    assert_int_equal(inner->asked, 2);
    inner->slow_ms = 1;
    together(r, 20, 1000, FZ_OK);
    assert_int_equal(inner->asked, 12);
    fz_registry_free(r);
}

// The outcome may be stale by the time a waiter wakes up: it is its own all the same.
static void test_waiters_take_a_short_outcome(void **state) {
    (void)state;
    static const fz_registry_ops ops = {.name = "slow",
                                        .schema_by_id = slow_by_id,
                                        .schema_by_guid = slow_by_guid,
                                        .free = slow_free};
    inner = fz_calloc(1, sizeof *inner);
    inner->registry.ops = &ops;
    inner->down = true;
    inner->slow_ms = 100;
    fz_registry *r = fz_registry_cached_new(&inner->registry,
                                            &(fz_registry_cache_options){.failure_keep_ms = -1000});
    together(r, 5, 1, FZ_UNAVAILABLE);
    assert_in_range(inner->asked, 1, 3); // a thread that started late may ask for itself
    fz_registry_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_for_ever), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_down),           cmocka_unit_test(test_any_number_of_unknown_ids),
        cmocka_unit_test(test_single_flight),  cmocka_unit_test(test_waiters_take_a_short_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
