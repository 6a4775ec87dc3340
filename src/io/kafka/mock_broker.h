// SPDX-License-Identifier: Apache-2.0
// A Kafka cluster inside this process, for the demo and for tests: librdkafka's mock, with a
// producer.
#ifndef FZ_IO_KAFKA_MOCK_BROKER_H
#define FZ_IO_KAFKA_MOCK_BROKER_H

#include "base/error.h"
#include "base/log.h"

/** The mock drops a partition's oldest batches above this; stay well below what was not read yet.
 */
#define FZ_KAFKA_MOCK_BROKER_PARTITION_BYTES (5 << 20)

/** Brokers on loopback ports. One thread produces at a time; the rest may run on any. */
typedef struct fz_kafka_mock_broker fz_kafka_mock_broker;

typedef struct fz_kafka_mock_header {
    const char *name;
    fz_str value;
    bool is_null;
} fz_kafka_mock_header;

/** A record to produce; all of it is copied. */
typedef struct fz_kafka_mock_record {
    const char *topic;
    int32_t partition;
    int64_t timestamp_ms; // CreateTime; 0: now
    const void *key;      // NULL: null key
    size_t key_size;
    const void *value; // NULL: tombstone
    size_t value_size;
    const fz_kafka_mock_header *headers;
    size_t header_count;
} fz_kafka_mock_record;

/**
 * Listen on free ports of 127.0.0.1; empty, with a cluster id of its own.
 *
 * brokers  how many, at least 1
 * Errors: UNAVAILABLE the client library could not (ports, threads).
 */
FZ_CHECKED fz_code fz_kafka_mock_broker_new(int brokers, fz_kafka_mock_broker **out, fz_err *err);
/** NULL allowed. Clients are cut off. */
void fz_kafka_mock_broker_free(fz_kafka_mock_broker *broker);
/** "127.0.0.1:40001,..."; lives as long as the broker. */
const char *fz_kafka_mock_broker_servers(const fz_kafka_mock_broker *broker);
/** A topic is made before it is asked for: the mock makes what is asked for by itself. EXISTS. */
FZ_CHECKED fz_code fz_kafka_mock_broker_create(fz_kafka_mock_broker *broker, const char *topic,
                                               int32_t partitions, fz_err *err);
/** Queue a record; waits while the producer's queue is full. UNAVAILABLE: an earlier one was not
 * taken. */
FZ_CHECKED fz_code fz_kafka_mock_broker_produce(fz_kafka_mock_broker *broker,
                                                const fz_kafka_mock_record *record, fz_err *err);
/** Wait until all that was queued is in the log. UNAVAILABLE: something was not, or not in time. */
FZ_CHECKED fz_code fz_kafka_mock_broker_flush(fz_kafka_mock_broker *broker, int timeout_ms,
                                              fz_err *err);
/** All brokers stop (or start again) answering; the log is kept. */
void fz_kafka_mock_broker_set_down(fz_kafka_mock_broker *broker, bool down);
/** The next `count` requests of this API key fail with the protocol's error code. */
void fz_kafka_mock_broker_fail(fz_kafka_mock_broker *broker, int16_t api_key, int error,
                               size_t count);
/** Every request for this topic fails with the protocol's error code; 0: no more. */
void fz_kafka_mock_broker_fail_topic(fz_kafka_mock_broker *broker, const char *topic, int error);

#endif
