// SPDX-License-Identifier: Apache-2.0
// What the Kafka client tells when something is wrong, and how it goes on afterwards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/kafka/consumer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/kafka/mock_broker.h"

#define PATIENCE_MS 30000
#define NOBODY "127.0.0.1:1" // a port that nothing listens on

static fz_kafka_mock_broker *broker;
static fz_source *source;

static fz_source *connect_to(const char *servers) {
    fz_kafka_options options = {.bootstrap_servers = fz_str_from(servers),
                                .group_id = FZ_STR("test"),
                                .queue_memory = 16 << 20,
                                .partitions = 2,
                                .max_record_size = 1 << 20};
    fz_err err = {0};
    fz_source *made = NULL;
    if (fz_kafka_consumer_new(&options, &made, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return made;
}

static int setup(void **state) {
    (void)state;
    fz_err err = {0};
    if (fz_kafka_mock_broker_new(1, &broker, &err) != FZ_OK ||
        fz_kafka_mock_broker_create(broker, "orders", 2, &err) != FZ_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    source = connect_to(fz_kafka_mock_broker_servers(broker));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fz_source_free(source);
    fz_kafka_mock_broker_free(broker);
    return 0;
}

static void produce(int32_t partition, int count, size_t size) {
    char *value = (char *)fz_calloc(1, size);
    fz_err err = {0};
    fz_code code = FZ_OK;
    for (int i = 0; i < count && code == FZ_OK; i++) {
        fz_kafka_mock_record record = {
            .topic = "orders", .partition = partition, .value = value, .value_size = size};
        code = fz_kafka_mock_broker_produce(broker, &record, &err);
    }
    fz_free(value);
    if (code != FZ_OK || fz_kafka_mock_broker_flush(broker, PATIENCE_MS, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

static void assert_tells(const fz_err *err, const char *what) {
    if (!strstr(err->text, what)) {
        fail_msg("\"%s\" does not tell \"%s\"", err->text, what);
    }
}

// --- nobody there

typedef struct question {
    fz_source *source;
    int which;
    fz_code code;
    fz_err err;
    fz_thread thread;
} question;

static void ask(void *arg) {
    question *q = (question *)arg;
    fz_buf id = {0};
    int32_t count;
    int64_t low, end;
    switch (q->which) {
    case 0:
        q->code = fz_source_cluster_id(q->source, &id, &q->err);
        break;
    case 1:
        q->code = fz_source_partitions(q->source, FZ_STR("orders"), &count, &q->err);
        break;
    default:
        q->code = fz_source_bounds(q->source, FZ_STR("orders"), 7, &low, &end, &q->err);
    }
    fz_buf_deinit(&id);
}

static void test_unreachable(void **state) {
    (void)state;
    fz_source *lost = connect_to(NOBODY);
    question questions[3] = {0};
    for (int i = 0; i < 3; i++) {
        questions[i].source = lost;
        questions[i].which = i;
        fz_thread_start(&questions[i].thread, "ask", ask, &questions[i]);
    }
    for (int i = 0; i < 3; i++) {
        fz_thread_join(&questions[i].thread);
        assert_int_equal(questions[i].code, FZ_UNAVAILABLE);
        assert_tells(&questions[i].err, "\"" NOBODY "\"");
        assert_tells(&questions[i].err, "refused");
    }
    assert_tells(&questions[1].err, "\"orders\"");
    assert_tells(&questions[2].err, "\"orders\" partition 7");
    fz_source_free(lost);
}

// --- not there, not allowed

static void test_unknown_topic(void **state) {
    (void)state;
    fz_kafka_mock_broker_fail_topic(broker, "orders", 3); // UNKNOWN_TOPIC_OR_PARTITION
    int32_t count = -1;
    fz_err err = {0};
    assert_int_equal(fz_source_partitions(source, FZ_STR("orders"), &count, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "no_topic");
    assert_tells(&err, "\"orders\"");
    assert_tells(&err, fz_kafka_mock_broker_servers(broker));
}

static void test_unknown_partition(void **state) {
    (void)state;
    int64_t low, end;
    fz_err err = {0};
    assert_int_equal(fz_source_bounds(source, FZ_STR("orders"), 9, &low, &end, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "no_topic");
    assert_tells(&err, "\"orders\" partition 9");
    assert_tells(&err, fz_kafka_mock_broker_servers(broker));
}

static void test_denied(void **state) {
    (void)state;
    fz_kafka_mock_broker_fail_topic(broker, "orders", 29); // TOPIC_AUTHORIZATION_FAILED
    int32_t count = -1;
    fz_err err = {0};
    assert_int_equal(fz_source_partitions(source, FZ_STR("orders"), &count, &err), FZ_DENIED);
    assert_string_equal(err.kind, "denied");
    assert_tells(&err, "\"orders\"");
    assert_tells(&err, fz_kafka_mock_broker_servers(broker));
}

static void test_bad_property(void **state) {
    (void)state;
    static const fz_str properties[][2] = {{{"no.such.property", 16}, {"1", 1}}};
    fz_kafka_options options = {.bootstrap_servers = FZ_STR(NOBODY),
                                .group_id = FZ_STR("test"),
                                .properties = properties,
                                .property_count = 1};
    fz_source *made = NULL;
    fz_err err = {0};
    assert_int_equal(fz_kafka_consumer_new(&options, &made, &err), FZ_INVALID);
    assert_tells(&err, "\"no.such.property\"");
    assert_null(made);
}

// --- a log that moves, a broker that goes

static fz_code next(fz_reader *reader, fz_fetch *fetch, fz_err *err) {
    fz_clock *clock = fz_clock_real();
    for (int64_t until = fz_clock_mono_ms(clock) + PATIENCE_MS; fz_clock_mono_ms(clock) < until;) {
        fz_fetch_release(fetch);
        fz_code code = fz_reader_fetch(reader, 100, fetch, err);
        if (code != FZ_OK || fetch->count > 0) {
            return code;
        }
        fz_source_serve(source, 2);
    }
    return FZ_INTERNAL;
}

/** The mock drops what a partition has above its limit. */
static void test_retention(void **state) {
    (void)state;
    produce(0, 7000, 1024);
    int64_t low = -1, end = -1;
    fz_err err = {0};
    assert_int_equal(fz_source_bounds(source, FZ_STR("orders"), 0, &low, &end, &err), FZ_OK);
    assert_int_equal(end, 7000);
    assert_true(low > 0);
    fz_reader *reader = NULL;
    fz_fetch fetch = {0};
    assert_int_equal(fz_source_open(source, FZ_STR("orders"), 0, 0, &reader, &err), FZ_OK);
    assert_int_equal(next(reader, &fetch, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "log_changed");
    assert_tells(&err, "\"orders\" partition 0 offset 0");
    fz_source_close(source, reader);
    assert_int_equal(fz_source_open(source, FZ_STR("orders"), 0, low, &reader, &err), FZ_OK);
    assert_int_equal(next(reader, &fetch, &err), FZ_OK);
    assert_int_equal(fetch.records[0].offset, low);
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

static void test_broker_goes_and_comes(void **state) {
    (void)state;
    produce(1, 10, 8);
    fz_reader *reader = NULL;
    fz_fetch fetch = {0};
    fz_err err = {0};
    assert_int_equal(fz_source_open(source, FZ_STR("orders"), 1, 0, &reader, &err), FZ_OK);
    int64_t wanted = 0;
    while (wanted < 10) {
        assert_int_equal(next(reader, &fetch, &err), FZ_OK);
        wanted += (int64_t)fetch.count;
    }
    fz_kafka_mock_broker_set_down(broker, true);
    for (int i = 0; i < 50; i++) { // nothing, or a complaint; never a record
        fz_fetch_release(&fetch);
        fz_code code = fz_reader_fetch(reader, 100, &fetch, &err);
        assert_true(code == FZ_OK || code == FZ_UNAVAILABLE);
        assert_int_equal(fetch.count, 0);
        fz_source_serve(source, 10);
    }
    fz_kafka_mock_broker_set_down(broker, false);
    produce(1, 5, 8);
    while (wanted < 15) {
        fz_code code = next(reader, &fetch, &err);
        assert_true(code == FZ_OK || code == FZ_UNAVAILABLE);
        for (size_t i = 0; i < fetch.count; i++) {
            assert_int_equal(fetch.records[i].offset, wanted);
            wanted++;
        }
    }
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

/** A fetch that fails before others that do not: the queue holds the error in front of the records.
 */
static void test_records_behind_an_error(void **state) {
    (void)state;
    produce(0, 10, 8);
    fz_kafka_mock_broker_fail(broker, 1, 87, 1); // Fetch, INVALID_RECORD
    fz_reader *reader = NULL;
    fz_fetch fetch = {0};
    fz_err err = {0};
    assert_int_equal(fz_source_open(source, FZ_STR("orders"), 0, 0, &reader, &err), FZ_OK);
    for (int i = 0; i < 100; i++) { // the client goes on by itself meanwhile
        fz_source_serve(source, 20);
    }
    int64_t wanted = 0;
    int errors = 0;
    fz_clock *clock = fz_clock_real();
    int64_t until = fz_clock_mono_ms(clock) + PATIENCE_MS;
    while (wanted < 10 && fz_clock_mono_ms(clock) < until) {
        fz_fetch_release(&fetch);
        fz_code code = fz_reader_fetch(reader, 100, &fetch, &err);
        errors += code != FZ_OK;
        for (size_t i = 0; i < fetch.count; i++) {
            assert_int_equal(fetch.records[i].offset, wanted);
            wanted++;
        }
        fz_source_serve(source, 2);
    }
    assert_int_equal(wanted, 10);
    assert_int_equal(errors, 1);
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_bad_property),
        CASE(test_unknown_topic),
        CASE(test_unknown_partition),
        CASE(test_denied),
        CASE(test_retention),
        CASE(test_broker_goes_and_comes),
        CASE(test_records_behind_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
