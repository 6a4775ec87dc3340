// SPDX-License-Identifier: Apache-2.0
// The tests of every source of records; each gets an empty cluster.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/source_suite.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rand.h"

#define PATIENCE_MS 20000
#define T FZ_STR("orders")

static const source_suite *suite;
static fz_source *source;

static int setup(void **state) {
    (void)state;
    source = suite->open();
    return source ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    suite->close(source);
    source = NULL;
    return 0;
}

static void must(fz_code code, const fz_err *err) {
    if (code != FZ_OK) {
        fail_msg("%s: %s", fz_code_name(code), fz_err_text(err));
    }
}

static int64_t now_ms(void) {
    return fz_clock_mono_ms(fz_clock_real());
}

static void nap(void) {
    fz_clock_sleep_ms(fz_clock_real(), 2);
}

static bool holds(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

/** `count` records "v0", "v1" ... with key "k", a second apart. */
static void fill(const char *topic, int32_t partition, int count) {
    for (int i = 0; i < count; i++) {
        char value[24];
        int size = snprintf(value, sizeof value, "v%d", i);
        suite->append(topic, partition,
                      &(fz_kafka_sim_record){.timestamp_ms = 1000000 + i * 1000,
                                             .timestamp_type = 1,
                                             .leader_epoch = -1,
                                             .key = "k",
                                             .key_size = 1,
                                             .value = value,
                                             .value_size = (size_t)size});
    }
    suite->flush();
}

static fz_reader *open_at(fz_str topic, int32_t partition, int64_t offset) {
    fz_reader *reader = NULL;
    fz_err err = {0};
    must(fz_source_open(source, topic, partition, offset, &reader, &err), &err);
    assert_int_equal(reader->position, offset);
    assert_int_equal(reader->partition, partition);
    assert_true(fz_str_equal(reader->topic, topic));
    return reader;
}

/** Fetch until something comes: records, the end, or an error. */
static fz_code next(fz_reader *reader, size_t limit, fz_fetch *fetch, fz_err *err) {
    int64_t until = now_ms() + PATIENCE_MS;
    while (now_ms() < until) {
        fz_fetch_release(fetch);
        fz_code code = fz_reader_fetch(reader, limit, fetch, err);
        if (code != FZ_OK || fetch->count > 0 || fetch->end) {
            return code;
        }
        fz_source_serve(source, 0);
        nap();
    }
    fail_msg("nothing came from partition %d", reader->partition);
    return FZ_INTERNAL;
}

/** Read to the end; the number of records, whose offsets must be `from`, from + 1 ... */
static int64_t drain(fz_reader *reader, int64_t from, int64_t *end) {
    fz_fetch fetch = {0};
    fz_err err = {0};
    int64_t count = 0;
    do {
        must(next(reader, 64, &fetch, &err), &err);
        assert_true(fetch.count <= 64);
        for (size_t i = 0; i < fetch.count; i++) {
            assert_int_equal(fetch.records[i].offset, from + count);
            count++;
        }
    } while (!fetch.end);
    *end = fetch.end_offset;
    fz_fetch_deinit(&fetch);
    return count;
}

static void test_cluster_id(void **state) {
    (void)state;
    fz_buf one = {0}, two = {0};
    fz_err err = {0};
    must(fz_source_cluster_id(source, &one, &err), &err);
    must(fz_source_cluster_id(source, &two, &err), &err);
    assert_true(one.size > 0);
    assert_true(fz_str_equal(fz_buf_view(&one), fz_buf_view(&two)));
    fz_buf_deinit(&one);
    fz_buf_deinit(&two);
}

static void note_topic(void *opaque, fz_str topic) {
    int *seen = (int *)opaque;
    *seen |= fz_str_equal(topic, FZ_STR("orders"))  ? 1
             : fz_str_equal(topic, FZ_STR("bills")) ? 2
                                                    : 4;
}

static void test_topics(void **state) {
    (void)state;
    suite->create("orders", 2);
    suite->create("bills", 1);
    int seen = 0;
    fz_err err = {0};
    must(fz_source_topics(source, note_topic, &seen, &err), &err);
    assert_int_equal(seen, 3);
}

static void test_partitions(void **state) {
    (void)state;
    suite->create("orders", 5);
    suite->missing("nowhere");
    int32_t count = -7;
    fz_err err = {0};
    must(fz_source_partitions(source, T, &count, &err), &err);
    assert_int_equal(count, 5);
    assert_int_equal(fz_source_partitions(source, FZ_STR("nowhere"), &count, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "no_topic");
    assert_true(holds(err.text, "\"nowhere\""));
}

static void test_bounds(void **state) {
    (void)state;
    suite->create("orders", 2);
    fill("orders", 1, 3);
    int64_t low = -1, end = -1;
    fz_err err = {0};
    must(fz_source_bounds(source, T, 0, &low, &end, &err), &err);
    assert_int_equal(low, 0);
    assert_int_equal(end, 0);
    must(fz_source_bounds(source, T, 1, &low, &end, &err), &err);
    assert_int_equal(low, 0);
    assert_int_equal(end, 3);
}

static void test_read_to_end(void **state) {
    (void)state;
    suite->create("orders", 3);
    fill("orders", 0, 1000);
    fill("orders", 2, 10);
    fz_reader *readers[3] = {open_at(T, 0, 0), open_at(T, 1, 0), open_at(T, 2, 4)};
    int64_t end = -1;
    assert_int_equal(drain(readers[0], 0, &end), 1000);
    assert_int_equal(end, 1000);
    assert_int_equal(readers[0]->position, 1000);
    assert_int_equal(drain(readers[1], 0, &end), 0);
    assert_int_equal(end, 0);
    assert_int_equal(drain(readers[2], 4, &end), 6);
    assert_int_equal(end, 10);
    fill("orders", 1, 2); // a reader at the end goes on, and tells the new end
    assert_int_equal(drain(readers[1], 0, &end), 2);
    assert_int_equal(end, 2);
    for (int i = 0; i < 3; i++) {
        fz_source_close(source, readers[i]);
    }
}

static void test_limit(void **state) {
    (void)state;
    suite->create("orders", 1);
    fill("orders", 0, 50);
    fz_reader *reader = open_at(T, 0, 0);
    fz_fetch fetch = {0};
    fz_err err = {0};
    int64_t at = 0;
    while (at < 50) {
        must(next(reader, 7, &fetch, &err), &err);
        assert_true(fetch.count <= 7);
        int64_t bytes = 0;
        for (size_t i = 0; i < fetch.count; i++) {
            char value[24];
            int size = snprintf(value, sizeof value, "v%d", (int)at);
            assert_int_equal(fetch.records[i].offset, at++);
            assert_int_equal(fetch.records[i].value_size, size);
            assert_memory_equal(fetch.records[i].value, value, (size_t)size);
            bytes += size + 1;
        }
        assert_int_equal(fetch.bytes, bytes);
        assert_int_equal(reader->position, at);
    }
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

/** Closed with records queued and taken, opened elsewhere: the first record is the one at the
 * position. */
static void test_rewind(void **state) {
    (void)state;
    suite->create("orders", 2);
    fill("orders", 0, 3000);
    fill("orders", 1, 300);
    fz_reader *other = open_at(T, 1, 0);
    fz_err err = {0};
    int64_t last = 0;
    for (int round = 0; round < 40; round++) {
        int64_t at = (int64_t)fz_rand_below(3000);
        fz_reader *reader = open_at(T, 0, at);
        assert_true(reader->assignment > last);
        last = reader->assignment;
        fz_fetch fetch = {0};
        must(next(reader, 1 + (size_t)(round % 20), &fetch, &err), &err);
        assert_true(fetch.count > 0);
        assert_int_equal(fetch.records[0].offset, at);
        fz_fetch_deinit(&fetch);
        fz_source_close(source, reader);
    }
    int64_t end;
    assert_int_equal(drain(other, 0, &end), 300); // was not disturbed
    fz_source_close(source, other);
}

static void test_out_of_range(void **state) {
    (void)state;
    suite->create("orders", 1);
    fill("orders", 0, 10);
    fz_reader *reader = open_at(T, 0, 500);
    fz_fetch fetch = {0};
    fz_err err = {0};
    assert_int_equal(next(reader, 10, &fetch, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "log_changed");
    assert_true(holds(err.text, "\"orders\""));
    assert_true(holds(err.text, "500"));
    assert_int_equal(fetch.count, 0);
    assert_int_equal(reader->position, 500);
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
    reader = open_at(T, 0, 10); // at the end is in range
    int64_t end = -1;
    assert_int_equal(drain(reader, 10, &end), 0);
    assert_int_equal(end, 10);
    fz_source_close(source, reader);
}

static void test_probe(void **state) {
    (void)state;
    suite->create("orders", 3);
    fill("orders", 0, 100);
    fill("orders", 1, 10);
    fz_reader *reader = open_at(T, 0, 40);
    fz_fetch fetch = {0};
    fz_err err = {0};
    must(next(reader, 1, &fetch, &err), &err);
    uint64_t hash = fz_record_hash(&fetch.records[0]);
    int64_t timestamp = fetch.records[0].timestamp_ms;
    fz_fetch_deinit(&fetch);
    fz_probe probes[] = {{.topic = T, .partition = 0, .at = 40},
                         {.topic = T, .partition = 1, .at = 10},
                         {.topic = T, .partition = 2, .at = 77}};
    for (int round = 0; round < 2; round++) {
        must(fz_source_probe(source, probes, 3, PATIENCE_MS, &err), &err);
        assert_true(probes[0].found);
        assert_int_equal(probes[0].offset, 40);
        assert_int_equal(probes[0].timestamp_ms, timestamp);
        assert_true(probes[0].hash == hash);
        assert_false(probes[1].found);
        assert_false(probes[1].out_of_range);
        assert_false(probes[2].found);
        assert_true(probes[2].out_of_range);
    }
    int64_t end;
    assert_int_equal(drain(reader, 41, &end), 59); // was not disturbed
    fz_source_close(source, reader);
}

static void test_headers(void **state) {
    (void)state;
    suite->create("orders", 1);
    const fz_kafka_sim_header headers[] = {{FZ_STR("a"), FZ_STR("one"), false},
                                           {FZ_STR("b"), {NULL, 0}, true},
                                           {FZ_STR("c"), FZ_STR(""), false},
                                           {FZ_STR("a"), FZ_STR("t\0o"), false}};
    suite->append("orders", 0,
                  &(fz_kafka_sim_record){.timestamp_ms = 5,
                                         .timestamp_type = 1,
                                         .leader_epoch = -1,
                                         .value = "x",
                                         .value_size = 1,
                                         .headers = headers,
                                         .header_count = FZ_COUNT(headers)});
    fill("orders", 0, 1);
    fz_reader *reader = open_at(T, 0, 0);
    fz_fetch fetch = {0};
    fz_err err = {0};
    must(next(reader, 1, &fetch, &err), &err);
    fz_str name, value;
    bool is_null;
    for (size_t i = 0; i < FZ_COUNT(headers); i++) {
        assert_true(fz_record_header(source, &fetch.records[0], i, &name, &value, &is_null));
        assert_true(fz_str_equal(name, headers[i].name));
        assert_int_equal(is_null, headers[i].is_null);
        assert_true(fz_str_equal(value, headers[i].value));
    }
    assert_false(
        fz_record_header(source, &fetch.records[0], FZ_COUNT(headers), &name, &value, &is_null));
    must(next(reader, 1, &fetch, &err), &err);
    assert_false(fz_record_header(source, &fetch.records[0], 0, &name, &value, &is_null));
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

static void test_nulls_and_timestamps(void **state) {
    (void)state;
    suite->create("orders", 1);
    const fz_kafka_sim_record records[] = {
        {.timestamp_ms = 1, .timestamp_type = 1, .leader_epoch = -1, .value = "v", .value_size = 1},
        {.timestamp_ms = 1600000000123,
         .timestamp_type = 1,
         .leader_epoch = -1,
         .key = "k",
         .key_size = 1},
        {.timestamp_ms = 3, .timestamp_type = 1, .leader_epoch = -1, .key = "", .value = ""},
        {.timestamp_ms = 4, .timestamp_type = 1, .leader_epoch = -1},
    };
    for (size_t i = 0; i < FZ_COUNT(records); i++) {
        suite->append("orders", 0, &records[i]);
    }
    suite->flush();
    fz_reader *reader = open_at(T, 0, 0);
    fz_fetch fetch = {0};
    fz_err err = {0};
    for (size_t i = 0; i < FZ_COUNT(records); i++) {
        must(next(reader, 1, &fetch, &err), &err);
        const fz_record *found = &fetch.records[0];
        assert_int_equal(found->offset, i);
        assert_int_equal(found->timestamp_ms, records[i].timestamp_ms);
        assert_int_equal(found->timestamp_type, 1);
        assert_int_equal(found->key == NULL, records[i].key == NULL);
        assert_int_equal(found->key_size, records[i].key_size);
        assert_int_equal(found->value == NULL, records[i].value == NULL);
        assert_int_equal(found->value_size, records[i].value_size);
    }
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

static _Atomic int wakes;

static void on_wake(void *opaque) {
    (void)opaque;
    wakes++;
}

static void test_wake(void **state) {
    (void)state;
    suite->create("orders", 1);
    fz_reader *reader = open_at(T, 0, 0);
    fz_reader_on_wake(reader, on_wake, NULL);
    int64_t end;
    assert_int_equal(drain(reader, 0, &end), 0);
    wakes = 0;
    fill("orders", 0, 1);
    for (int64_t until = now_ms() + PATIENCE_MS; wakes == 0 && now_ms() < until;) {
        nap();
    }
    assert_true(wakes > 0);
    assert_int_equal(drain(reader, 0, &end), 1);
    fz_source_close(source, reader);
}

typedef struct group {
    int assigned, revoked, with_reader;
    fz_reader *reader;
} group;

static void on_assigned(void *opaque, const fz_assignment *items, size_t count) {
    group *seen = (group *)opaque;
    seen->assigned += (int)count;
    for (size_t i = 0; i < count; i++) {
        assert_true(fz_str_equal(items[i].topic, T));
    }
}

static void on_revoked(void *opaque, const fz_assignment *items, size_t count, bool lost) {
    group *seen = (group *)opaque;
    assert_false(lost);
    seen->revoked += (int)count;
    for (size_t i = 0; i < count; i++) {
        seen->with_reader += items[i].reader != NULL && items[i].reader == seen->reader;
    }
}

static void on_trouble(void *opaque, const fz_err *err, bool fatal) {
    (void)opaque;
    (void)fatal;
    print_message("trouble: %s\n", err->text);
}

static void test_group(void **state) {
    (void)state;
    static group seen; // the listener outlives the source
    static fz_source_listener listener;
    seen = (group){0};
    listener = (fz_source_listener){&seen, on_assigned, on_revoked, on_trouble};
    suite->create("orders", 3);
    suite->create("bills", 1);
    fill("orders", 1, 5);
    fz_err err = {0};
    fz_str topics[] = {T};
    must(fz_source_subscribe(source, topics, 1, &listener, &err), &err);
    for (int64_t until = now_ms() + PATIENCE_MS; seen.assigned < 3 && now_ms() < until;) {
        fz_source_serve(source, 20);
    }
    assert_int_equal(seen.assigned, 3);
    seen.reader = open_at(T, 1, 2);
    int64_t end;
    assert_int_equal(drain(seen.reader, 2, &end), 3);
    fz_assignment position = {T, 1, 5, NULL};
    fz_source_commit(source, &position, 1, FZ_STR("here"));
    fz_source_leave(source);
    assert_int_equal(seen.revoked, 3);
    assert_int_equal(seen.with_reader, 1); // closed by the source
}

static void test_offset_at(void **state) {
    (void)state;
    if (!suite->times) {
        skip();
    }
    suite->create("orders", 1);
    fill("orders", 0, 10);
    const struct {
        int64_t at_ms, offset;
    } cases[] = {{0, 0}, {1000000, 0}, {1000001, 1}, {1009000, 9}, {1009001, 10}};
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        int64_t offset = -1;
        fz_err err = {0};
        must(fz_source_offset_at(source, T, 0, cases[i].at_ms, &offset, &err), &err);
        assert_int_equal(offset, cases[i].offset);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int source_suite_run(const source_suite *which) {
    const struct CMUnitTest tests[] = {
        CASE(test_cluster_id),
        CASE(test_topics),
        CASE(test_partitions),
        CASE(test_bounds),
        CASE(test_read_to_end),
        CASE(test_limit),
        CASE(test_rewind),
        CASE(test_out_of_range),
        CASE(test_probe),
        CASE(test_headers),
        CASE(test_nulls_and_timestamps),
        CASE(test_wake),
        CASE(test_group),
        CASE(test_offset_at),
    };
    suite = which;
    return cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
}
