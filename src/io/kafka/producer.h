// SPDX-License-Identifier: Apache-2.0
// A producer for what Frazil writes to topics itself: idempotent, every replica in sync, told when
// it failed.
#ifndef FZ_IO_KAFKA_PRODUCER_H
#define FZ_IO_KAFKA_PRODUCER_H

#include "io/kafka/consumer.h"

/** One thread at a time. */
typedef struct fz_kafka_producer fz_kafka_producer;

typedef struct fz_kafka_header {
    fz_str name;
    fz_str value; // data NULL: a null value
} fz_kafka_header;

/** A record to send; all of it is copied. */
typedef struct fz_kafka_message {
    fz_str topic; // the topic's partitioner chooses the partition, by the key
    fz_str key;   // data NULL: a null key
    fz_str value; // data NULL: a tombstone
    const fz_kafka_header *headers;
    size_t header_count;
    int64_t timestamp_ms; // CreateTime; below 1: now
} fz_kafka_message;

/**
 * Of `options` are used: bootstrap_servers, properties (the same that a consumer gets; acks and
 * enable.idempotence are ours), queue_memory (bytes of records that may wait), max_record_size,
 * log. All is copied but the log. Connecting happens in the background.
 *
 * Errors: INVALID naming the property.
 */
FZ_CHECKED fz_code fz_kafka_producer_new(const fz_kafka_options *options, fz_kafka_producer **out,
                                         fz_err *err);
/** What was not flushed may be lost. NULL allowed. */
void fz_kafka_producer_free(fz_kafka_producer *producer);

/**
 * Queue a record; waits up to timeout_ms while the queue is full.
 *
 * Errors: UNAVAILABLE the queue stays full, or an earlier record was not taken (flush tells);
 * NOT_FOUND kind no_topic; LIMIT larger than the brokers' message.max.bytes; DENIED.
 */
FZ_CHECKED fz_code fz_kafka_producer_send(fz_kafka_producer *producer,
                                          const fz_kafka_message *message, int64_t timeout_ms,
                                          fz_err *err);
/**
 * Wait until every record sent since the last flush is in the log of all replicas in sync.
 *
 * Errors: of the first record that was not taken, or UNAVAILABLE not in time: any of them may be
 * there or not, send them all again (at least once). The next flush starts anew.
 */
FZ_CHECKED fz_code fz_kafka_producer_flush(fz_kafka_producer *producer, int64_t timeout_ms,
                                           fz_err *err);

#endif
