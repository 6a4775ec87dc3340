// SPDX-License-Identifier: Apache-2.0
// The source suite over the source in memory, and over the client against a broker in this process.
#include "conformance/source_suite.c"

#include "io/kafka/consumer.h"
#include "io/kafka/mock_broker.h"

static fz_source *sim;
static fz_kafka_mock_broker *broker;

static fz_source *sim_open(void) {
    sim = fz_kafka_sim_source_new(FZ_STR("sim-1"));
    return sim;
}

static void sim_close(fz_source *open) {
    fz_source_free(open);
}

static void sim_create(const char *topic, int32_t partitions) {
    fz_kafka_sim_source_create(sim, fz_str_from(topic), partitions);
}

static void sim_append(const char *topic, int32_t partition, const fz_kafka_sim_record *record) {
    fz_kafka_sim_source_append(sim, fz_str_from(topic), partition, record);
}

static void sim_flush(void) {
}

static void sim_missing(const char *topic) {
    (void)topic;
}

static fz_source *kafka_open(void) {
    fz_err err = {0};
    must(fz_kafka_mock_broker_new(1, &broker, &err), &err);
    // a rewind waits for the fetch that is under way
    static const fz_str properties[][2] = {{{"fetch.wait.max.ms", 17}, {"20", 2}},
                                           {{"fetch.error.backoff.ms", 22}, {"20", 2}}};
    fz_kafka_options options = {.bootstrap_servers =
                                    fz_str_from(fz_kafka_mock_broker_servers(broker)),
                                .group_id = FZ_STR("suite"),
                                .read_committed = true,
                                .properties = properties,
                                .property_count = 2,
                                .queue_memory = 16 << 20,
                                .partitions = 4,
                                .max_record_size = 1 << 20};
    fz_source *made = NULL;
    must(fz_kafka_consumer_new(&options, &made, &err), &err);
    return made;
}

static void kafka_close(fz_source *open) {
    fz_source_free(open);
    fz_kafka_mock_broker_free(broker);
    broker = NULL;
}

static void kafka_create(const char *topic, int32_t partitions) {
    fz_err err = {0};
    must(fz_kafka_mock_broker_create(broker, topic, partitions, &err), &err);
}

static void kafka_append(const char *topic, int32_t partition, const fz_kafka_sim_record *record) {
    fz_kafka_mock_header headers[8];
    char *names[8];
    assert_true(record->header_count <= FZ_COUNT(headers));
    for (size_t i = 0; i < record->header_count; i++) {
        names[i] = fz_str_dup(record->headers[i].name);
        headers[i] =
            (fz_kafka_mock_header){names[i], record->headers[i].value, record->headers[i].is_null};
    }
    fz_kafka_mock_record produced = {.topic = topic,
                                     .partition = partition,
                                     .timestamp_ms = record->timestamp_ms,
                                     .key = record->key,
                                     .key_size = record->key_size,
                                     .value = record->value,
                                     .value_size = record->value_size,
                                     .headers = headers,
                                     .header_count = record->header_count};
    fz_err err = {0};
    must(fz_kafka_mock_broker_produce(broker, &produced, &err), &err);
    for (size_t i = 0; i < record->header_count; i++) {
        fz_free(names[i]);
    }
}

static void kafka_flush(void) {
    fz_err err = {0};
    must(fz_kafka_mock_broker_flush(broker, PATIENCE_MS, &err), &err);
}

/** The mock makes what it is asked for; told to fail it answers as a broker does that has no such
 * topic. */
static void kafka_missing(const char *topic) {
    kafka_create(topic, 1);
    fz_kafka_mock_broker_fail_topic(broker, topic, 3); // UNKNOWN_TOPIC_OR_PARTITION
}

int main(void) {
    static const source_suite suites[] = {
        {"sim", true, sim_open, sim_close, sim_create, sim_append, sim_flush, sim_missing},
        {"kafka", false, kafka_open, kafka_close, kafka_create, kafka_append, kafka_flush,
         kafka_missing},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += source_suite_run(&suites[i]);
    }
    return failed;
}
