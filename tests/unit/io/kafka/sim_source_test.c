// SPDX-License-Identifier: Apache-2.0
// What only the source in memory can be made to do: gaps, truncation, re-creation, failures on
// demand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/kafka/sim_source.h"

#include "base/memory.h"

#define T FZ_STR("orders")

static fz_source *source;

static int setup(void **state) {
    (void)state;
    source = fz_kafka_sim_source_new(FZ_STR("one"));
    fz_kafka_sim_source_create(source, T, 2);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fz_source_free(source);
    return 0;
}

static int64_t append(char letter) {
    return fz_kafka_sim_source_append(
        source, T, 0, &(fz_kafka_sim_record){.timestamp_ms = 7, .value = &letter, .value_size = 1});
}

static fz_reader *open_at(int64_t offset) {
    fz_reader *reader = NULL;
    assert_int_equal(fz_source_open(source, T, 0, offset, &reader, NULL), FZ_OK);
    return reader;
}

/** Values of one fetch as text, '$' and the end offset behind them if it was told. */
static void assert_reads(fz_reader *reader, const char *wanted) {
    fz_fetch fetch = {0};
    fz_err err = {0};
    char text[64];
    size_t size = 0;
    assert_int_equal(fz_reader_fetch(reader, 20, &fetch, &err), FZ_OK);
    for (size_t i = 0; i < fetch.count; i++) {
        text[size++] = (char)fetch.records[i].value[0];
    }
    text[size] = 0;
    if (fetch.end) {
        snprintf(text + size, sizeof text - size, "$%d", (int)fetch.end_offset);
    }
    fz_fetch_deinit(&fetch);
    assert_string_equal(text, wanted);
}

static void assert_fails(fz_reader *reader, fz_code code, const char *kind) {
    fz_fetch fetch = {0};
    fz_err err = {0};
    assert_int_equal(fz_reader_fetch(reader, 20, &fetch, &err), code);
    assert_int_equal(fetch.count, 0);
    if (kind) {
        assert_string_equal(err.kind, kind);
    }
    fz_fetch_deinit(&fetch);
}

static void test_gaps(void **state) {
    (void)state;
    append('a');
    fz_kafka_sim_source_gap(source, T, 0, 5);
    assert_int_equal(append('b'), 6);
    append('c');
    fz_kafka_sim_source_gap(source, T, 0, 2);
    fz_kafka_sim_source_remove(source, T, 0, 7);
    fz_reader *reader = open_at(0);
    assert_reads(reader, "ab$10"); // the end is above the control records
    assert_int_equal(reader->position, 10);
    assert_reads(reader, ""); // told once
    fz_kafka_sim_source_gap(source, T, 0, 1);
    assert_reads(reader, "$11");
    fz_source_close(source, reader);
    reader = open_at(3); // inside a gap
    assert_reads(reader, "b$11");
    fz_source_close(source, reader);
}

static void test_stable_end(void **state) {
    (void)state;
    append('a');
    append('b');
    append('c');
    fz_kafka_sim_source_set_stable(source, T, 0, 1);
    int64_t low, end;
    assert_int_equal(fz_source_bounds(source, T, 0, &low, &end, NULL), FZ_OK);
    assert_int_equal(end, 1);
    fz_reader *reader = open_at(0);
    assert_reads(reader, "a$1");
    fz_kafka_sim_source_set_stable(source, T, 0, -1);
    assert_reads(reader, "bc$3");
    fz_source_close(source, reader);
}

static void test_truncation(void **state) {
    (void)state;
    for (char c = 'a'; c < 'k'; c++) {
        append(c);
    }
    fz_reader *reader = open_at(2);
    fz_kafka_sim_source_truncate_head(source, T, 0, 4);
    assert_fails(reader, FZ_NOT_FOUND, "log_changed");
    fz_source_close(source, reader);
    reader = open_at(4);
    assert_reads(reader, "efghij$10");
    fz_kafka_sim_source_truncate_tail(source, T, 0, 6);
    assert_fails(reader, FZ_NOT_FOUND, "log_changed"); // 10 is above the end
    fz_source_close(source, reader);
    assert_int_equal(append('X'), 6);
    fz_probe probe = {.topic = T, .at = 0};
    assert_int_equal(fz_source_probe(source, &probe, 1, 100, NULL), FZ_OK);
    assert_true(probe.out_of_range);
    int64_t low, end;
    assert_int_equal(fz_source_bounds(source, T, 0, &low, &end, NULL), FZ_OK);
    assert_int_equal(low, 4);
    assert_int_equal(end, 7);
    reader = open_at(5);
    assert_reads(reader, "fX$7");
    fz_source_close(source, reader);
}

static void test_created_again(void **state) {
    (void)state;
    append('a');
    append('b');
    fz_reader *reader = open_at(2);
    fz_kafka_sim_source_drop(source, T);
    assert_fails(reader, FZ_NOT_FOUND, "no_topic");
    int32_t count;
    assert_int_equal(fz_source_partitions(source, T, &count, NULL), FZ_NOT_FOUND);
    fz_kafka_sim_source_create(source, T, 1);
    assert_fails(reader, FZ_NOT_FOUND, "log_changed");
    fz_source_close(source, reader);
    assert_int_equal(append('x'), 0);
    reader = open_at(0);
    assert_reads(reader, "x$1");
    fz_source_close(source, reader);
}

static void test_failures(void **state) {
    (void)state;
    int32_t count = 0;
    fz_err err = {0};
    append('a');
    fz_kafka_sim_source_fail(source, FZ_KAFKA_SIM_PARTITIONS, 1, 2, FZ_UNAVAILABLE);
    assert_int_equal(fz_source_partitions(source, T, &count, &err), FZ_OK);
    assert_int_equal(fz_source_partitions(source, T, &count, &err), FZ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "\"sim\""));
    assert_int_equal(fz_source_partitions(source, T, &count, &err), FZ_UNAVAILABLE);
    assert_int_equal(fz_source_partitions(source, T, &count, &err), FZ_OK);
    assert_int_equal(fz_kafka_sim_source_calls(source, FZ_KAFKA_SIM_PARTITIONS), 4);
    fz_reader *reader = open_at(0);
    fz_kafka_sim_source_fail(source, FZ_KAFKA_SIM_ANY, 0, 1, FZ_DENIED);
    assert_fails(reader, FZ_DENIED, NULL);
    assert_reads(reader, "a$1"); // nothing was lost
    fz_kafka_sim_source_fail(source, FZ_KAFKA_SIM_OPEN, 0, 1, FZ_UNAVAILABLE);
    fz_reader *none = NULL;
    assert_int_equal(fz_source_open(source, T, 1, 0, &none, &err), FZ_UNAVAILABLE);
    assert_null(none);
    assert_int_equal(fz_kafka_sim_source_readers(source), 1);
    fz_source_close(source, reader);
}

/** Fetched records outlive everything but the source. */
static void test_records_stay(void **state) {
    (void)state;
    append('a');
    fz_reader *reader = open_at(0);
    fz_fetch fetch = {0};
    assert_int_equal(fz_reader_fetch(reader, 5, &fetch, NULL), FZ_OK);
    fz_source_close(source, reader);
    fz_kafka_sim_source_drop(source, T);
    assert_int_equal(fetch.count, 1);
    assert_int_equal(fetch.records[0].value[0], 'a');
    fz_fetch_deinit(&fetch);
}

typedef struct group {
    int assigned, revoked;
} group;

static void on_assigned(void *opaque, const fz_assignment *items, size_t count) {
    (void)items;
    ((group *)opaque)->assigned += (int)count;
}

/** Closes what it is told to leave, which is allowed. */
static void on_revoked(void *opaque, const fz_assignment *items, size_t count, bool lost) {
    (void)lost;
    ((group *)opaque)->revoked += (int)count;
    for (size_t i = 0; i < count; i++) {
        fz_source_close(source, items[i].reader);
    }
}

static void test_group(void **state) {
    (void)state;
    group seen = {0};
    fz_source_listener listener = {.opaque = &seen, .assigned = on_assigned, .revoked = on_revoked};
    fz_str topics[] = {T, FZ_STR("bills")};
    assert_int_equal(fz_source_subscribe(source, topics, 2, &listener, NULL), FZ_OK);
    fz_source_serve(source, 0);
    assert_int_equal(seen.assigned, 2);
    fz_kafka_sim_source_grow(source, T, 3);
    fz_kafka_sim_source_create(source, FZ_STR("bills"), 1);
    fz_source_serve(source, 0);
    assert_int_equal(seen.assigned, 4);
    assert_int_equal(fz_source_subscribe(source, topics, 1, &listener, NULL), FZ_OK);
    fz_source_serve(source, 0);
    assert_int_equal(seen.revoked, 1);
    open_at(0);
    fz_assignment position = {T, 0, 42, NULL};
    fz_source_commit(source, &position, 1, FZ_STR(""));
    assert_int_equal(fz_kafka_sim_source_group_offset(source, T, 0), 42);
    assert_int_equal(fz_kafka_sim_source_group_offset(source, T, 1), -1);
    fz_source_leave(source);
    assert_int_equal(seen.revoked, 4);
    assert_int_equal(fz_kafka_sim_source_readers(source), 0);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_gaps),          CASE(test_stable_end), CASE(test_truncation),
        CASE(test_created_again), CASE(test_failures),   CASE(test_records_stay),
        CASE(test_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
