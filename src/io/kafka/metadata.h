// SPDX-License-Identifier: Apache-2.0
// Questions to a cluster through a client: topics, bounds, single records.
#ifndef FZ_IO_KAFKA_METADATA_H
#define FZ_IO_KAFKA_METADATA_H

#include "io/kafka/client.h"

FZ_CHECKED fz_code fz_kafka_cluster_id(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_buf *out,
                                       fz_err *err);
FZ_CHECKED fz_code fz_kafka_topics(rd_kafka_t *rk, fz_kafka_trouble *trouble,
                                   void (*each)(void *opaque, fz_str topic), void *opaque,
                                   fz_err *err);
FZ_CHECKED fz_code fz_kafka_partitions(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic,
                                       int32_t *count, fz_err *err);
FZ_CHECKED fz_code fz_kafka_bounds(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic,
                                   int32_t partition, int64_t *low, int64_t *end, fz_err *err);
FZ_CHECKED fz_code fz_kafka_offset_at(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic,
                                      int32_t partition, int64_t timestamp_ms, int64_t *offset,
                                      fz_err *err);
/** `rk` must be a client that reads nothing else. */
FZ_CHECKED fz_code fz_kafka_probe(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_probe *probes,
                                  size_t count, int64_t timeout_ms, fz_err *err);

#endif
