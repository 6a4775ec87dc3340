// SPDX-License-Identifier: Apache-2.0
// A source in memory, for tests of what reads one: logs with gaps, truncation, re-creation,
// failures.
#ifndef FZ_IO_KAFKA_SIM_SOURCE_H
#define FZ_IO_KAFKA_SIM_SOURCE_H

#include "io/kafka/source.h"

typedef struct fz_kafka_sim_header {
    fz_str name;
    fz_str value;
    bool is_null;
} fz_kafka_sim_header;

/** A record to append; copied. */
typedef struct fz_kafka_sim_record {
    int64_t timestamp_ms;  // -1: none
    int8_t timestamp_type; // as fz_record
    int32_t leader_epoch;
    const void *key; // NULL: null key
    size_t key_size;
    const void *value; // NULL: tombstone
    size_t value_size;
    const fz_kafka_sim_header *headers;
    size_t header_count;
} fz_kafka_sim_record;

/** What a failure is injected into; FZ_KAFKA_SIM_ANY: whatever comes first. */
typedef enum fz_kafka_sim_call {
    FZ_KAFKA_SIM_ANY,
    FZ_KAFKA_SIM_CLUSTER_ID,
    FZ_KAFKA_SIM_TOPICS,
    FZ_KAFKA_SIM_PARTITIONS,
    FZ_KAFKA_SIM_BOUNDS,
    FZ_KAFKA_SIM_OFFSET_AT,
    FZ_KAFKA_SIM_PROBE,
    FZ_KAFKA_SIM_OPEN,
    FZ_KAFKA_SIM_FETCH,
} fz_kafka_sim_call;

/**
 * Empty cluster of this id (empty: it has none). Functions below may be called on any thread, also
 * while it is read. A record appended to an open reader's partition wakes it. Records live until
 * the source is freed.
 *
 * fz_source_subscribe gives all partitions of the topics to this one member, from fz_source_serve;
 * fz_source_leave takes them back.
 */
fz_source *fz_kafka_sim_source_new(fz_str cluster_id);
/** A topic; one of that name must not be there. */
void fz_kafka_sim_source_create(fz_source *source, fz_str topic, int32_t partitions);
/** Forget a topic and its records; readers of it answer NOT_FOUND kind no_topic. */
void fz_kafka_sim_source_drop(fz_source *source, fz_str topic);
/** More partitions of a topic. */
void fz_kafka_sim_source_grow(fz_source *source, fz_str topic, int32_t partitions);
/** Append a record; its offset. */
int64_t fz_kafka_sim_source_append(fz_source *source, fz_str topic, int32_t partition,
                                   const fz_kafka_sim_record *record);
/** Leave out `count` offsets, as control records and aborted data do: they count towards the end.
 */
void fz_kafka_sim_source_gap(fz_source *source, fz_str topic, int32_t partition, int64_t count);
/** Compact one record away: its offset becomes a gap. */
void fz_kafka_sim_source_remove(fz_source *source, fz_str topic, int32_t partition, int64_t offset);
/** Retention: the log begins at `low` now. */
void fz_kafka_sim_source_truncate_head(fz_source *source, fz_str topic, int32_t partition,
                                       int64_t low);
/** Unclean election: the log ends at `end` now; later records take those offsets again. */
void fz_kafka_sim_source_truncate_tail(fz_source *source, fz_str topic, int32_t partition,
                                       int64_t end);
/** Last stable offset: readers see nothing from here on; -1: all. */
void fz_kafka_sim_source_set_stable(fz_source *source, fz_str topic, int32_t partition,
                                    int64_t end);
/** The next `count` calls of this kind, after `skip` ones, answer `code` without effect. Replaces
 * what was set. */
void fz_kafka_sim_source_fail(fz_source *source, fz_kafka_sim_call call, int skip, int count,
                              fz_code code);
/** Calls so far that fz_kafka_sim_source_fail can count. */
int64_t fz_kafka_sim_source_calls(fz_source *source, fz_kafka_sim_call call);
/** Position that the group was told for a partition, -1: none. */
int64_t fz_kafka_sim_source_group_offset(fz_source *source, fz_str topic, int32_t partition);
/** Readers that are open now. */
size_t fz_kafka_sim_source_readers(fz_source *source);

#endif
