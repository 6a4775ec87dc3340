// SPDX-License-Identifier: Apache-2.0
// A source over librdkafka: one client, a queue for each partition.
#ifndef FZ_IO_KAFKA_CONSUMER_H
#define FZ_IO_KAFKA_CONSUMER_H

#include "base/log.h"
#include "io/kafka/source.h"

/** All text is copied. */
typedef struct fz_kafka_options {
    fz_str bootstrap_servers;
    fz_str group_id;
    fz_str instance_id; // empty: dynamic member
    bool read_committed;
    const fz_str (*properties)[2]; // librdkafka properties of the user, name and value
    size_t property_count;
    int64_t queue_memory; // bytes that all partition queues together may hold
    int32_t partitions;   // expected number of partitions, for the share of each
    int64_t max_record_size;
    fz_log *log; // client's own lines, NULL: none
} fz_kafka_options;

/**
 * A consumer. Connecting happens in the background; the first question tells whether it works.
 *
 * Errors: INVALID naming the property and what the client library said of it.
 * Source: librdkafka 2.0.2 (formats.md facts: own positions, per-partition queues, waking the
 * fetcher).
 */
FZ_CHECKED fz_code fz_kafka_consumer_new(const fz_kafka_options *options, fz_source **out,
                                         fz_err *err);

/** "2.0.2" of the library linked. */
const char *fz_kafka_version(void);

#endif
