// SPDX-License-Identifier: Apache-2.0
// What the producer writes comes back as it was; what was not taken is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/kafka/producer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/kafka/mock_broker.h"

#define PATIENCE_MS 30000

static fz_kafka_mock_broker *broker;

static int setup(void **state) {
    (void)state;
    fz_err err = {0};
    if (fz_kafka_mock_broker_new(1, &broker, &err) != FZ_OK ||
        fz_kafka_mock_broker_create(broker, "letters", 1, &err) != FZ_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fz_kafka_mock_broker_free(broker);
    return 0;
}

static fz_kafka_options options_with(const fz_str (*properties)[2], size_t count) {
    return (fz_kafka_options){.bootstrap_servers =
                                  fz_str_from(fz_kafka_mock_broker_servers(broker)),
                              .group_id = FZ_STR("test"),
                              .properties = properties,
                              .property_count = count,
                              .queue_memory = 16 << 20,
                              .partitions = 1,
                              .max_record_size = 1 << 20};
}

static fz_kafka_producer *producer_with(const fz_str (*properties)[2], size_t count) {
    fz_kafka_options options = options_with(properties, count);
    fz_err err = {0};
    fz_kafka_producer *made = NULL;
    if (fz_kafka_producer_new(&options, &made, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return made;
}

/** Take records until there are `count`, from offset `from`. */
static fz_source *read_back(int64_t from, size_t count, fz_fetch *fetch) {
    fz_kafka_options options = options_with(NULL, 0);
    fz_err err = {0};
    fz_source *source = NULL;
    fz_reader *reader = NULL;
    assert_int_equal(fz_kafka_consumer_new(&options, &source, &err), FZ_OK);
    assert_int_equal(fz_source_open(source, FZ_STR("letters"), 0, from, &reader, &err), FZ_OK);
    int64_t until = fz_clock_mono_ms(fz_clock_real()) + PATIENCE_MS;
    while (fetch->count < count && fz_clock_mono_ms(fz_clock_real()) < until) {
        fz_fetch_release(fetch);
        fz_clock_sleep_ms(fz_clock_real(), 300); // all of them in one fetch
        assert_int_equal(fz_reader_fetch(reader, 100, fetch, &err), FZ_OK);
    }
    assert_int_equal(fetch->count, count);
    fz_source_close(source, reader);
    return source;
}

static void send(fz_kafka_producer *producer, const fz_kafka_message *message) {
    fz_err err = {0};
    if (fz_kafka_producer_send(producer, message, PATIENCE_MS, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    fz_kafka_producer *producer = producer_with(NULL, 0);
    const fz_kafka_header headers[] = {{FZ_STR("frazil.topic"), FZ_STR("orders")},
                                       {FZ_STR("empty"), fz_str_make("", 0)},
                                       {FZ_STR("null"), {0}}};
    send(producer, &(fz_kafka_message){.topic = FZ_STR("letters"),
                                       .key = FZ_STR("key"),
                                       .value = fz_str_make("\0\1\2", 3),
                                       .headers = headers,
                                       .header_count = 3,
                                       .timestamp_ms = 1767225600123});
    send(producer, &(fz_kafka_message){.topic = FZ_STR("letters")});
    send(producer, &(fz_kafka_message){.topic = FZ_STR("letters"),
                                       .key = fz_str_make("", 0),
                                       .value = fz_str_make("", 0)});
    fz_err err = {0};
    assert_int_equal(fz_kafka_producer_flush(producer, PATIENCE_MS, &err), FZ_OK);
    fz_kafka_producer_free(producer);

    fz_fetch fetch = {0};
    fz_source *source = read_back(0, 3, &fetch);
    const fz_record *first = &fetch.records[0];
    assert_int_equal(first->timestamp_ms, 1767225600123);
    assert_int_equal(first->key_size, 3);
    assert_memory_equal(first->value, "\0\1\2", 3);
    fz_str name, value;
    bool is_null;
    assert_true(fz_record_header(source, first, 0, &name, &value, &is_null));
    assert_true(fz_str_equal(name, FZ_STR("frazil.topic")));
    assert_true(fz_str_equal(value, FZ_STR("orders")) && !is_null);
    assert_true(fz_record_header(source, first, 1, &name, &value, &is_null));
    assert_true(value.size == 0 && !is_null);
    assert_true(fz_record_header(source, first, 2, &name, &value, &is_null));
    assert_true(is_null);
    assert_false(fz_record_header(source, first, 3, &name, &value, &is_null));
    assert_null(fetch.records[1].key);
    assert_null(fetch.records[1].value);
    assert_non_null(fetch.records[2].key);
    assert_non_null(fetch.records[2].value);
    assert_int_equal(fetch.records[2].value_size, 0);
    fz_fetch_deinit(&fetch);
    fz_source_free(source);
}

static void test_broker_away(void **state) {
    (void)state;
    const fz_str properties[][2] = {{FZ_STR("message.timeout.ms"), FZ_STR("3000")}};
    fz_kafka_producer *producer = producer_with(properties, 1);
    const fz_kafka_message message = {.topic = FZ_STR("letters"), .value = FZ_STR("x")};
    fz_err err = {0};
    send(producer, &message);
    assert_int_equal(fz_kafka_producer_flush(producer, PATIENCE_MS, &err), FZ_OK);
    fz_kafka_mock_broker_set_down(broker, true);
    send(producer, &message);
    assert_int_equal(fz_kafka_producer_flush(producer, PATIENCE_MS, &err), FZ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "letters"));
    fz_kafka_mock_broker_set_down(broker, false);
    // it goes on afterwards
    fz_code code = FZ_UNAVAILABLE;
    for (int i = 0; i < 10 && code != FZ_OK; i++) {
        send(producer, &message);
        code = fz_kafka_producer_flush(producer, PATIENCE_MS, &err);
    }
    assert_int_equal(code, FZ_OK);
    fz_kafka_producer_free(producer);
    fz_fetch fetch = {0};
    fz_source *source = read_back(0, 2, &fetch);
    fz_fetch_deinit(&fetch);
    fz_source_free(source);
}

static void test_refused(void **state) {
    (void)state;
    const fz_str properties[][2] = {{FZ_STR("no.such.property"), FZ_STR("1")}};
    fz_kafka_options options = options_with(properties, 1);
    fz_kafka_producer *producer = NULL;
    fz_err err = {0};
    assert_int_equal(fz_kafka_producer_new(&options, &producer, &err), FZ_INVALID);
    assert_non_null(strstr(err.text, "no.such.property"));
    assert_null(producer);
    // the user's acks do not count
    const fz_str acks[][2] = {{FZ_STR("acks"), FZ_STR("0")},
                              {FZ_STR("fetch.min.bytes"), FZ_STR("1")}};
    producer = producer_with(acks, 2);
    const fz_kafka_message message = {.topic = FZ_STR("letters"), .value = FZ_STR("x")};
    char *large = (char *)fz_calloc(1, 4 << 20);
    fz_kafka_message too_large = message;
    too_large.value = fz_str_make(large, 4 << 20);
    assert_int_equal(fz_kafka_producer_send(producer, &too_large, 100, &err), FZ_LIMIT);
    send(producer, &message);
    assert_int_equal(fz_kafka_producer_flush(producer, PATIENCE_MS, &err), FZ_OK);
    fz_free(large);
    fz_kafka_producer_free(producer);
    fz_kafka_producer_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broker_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
