// SPDX-License-Identifier: Apache-2.0
// The source over librdkafka: group, assignments, readers.
#include "io/kafka/consumer.h"

#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"
#include "io/kafka/client.h"
#include "io/kafka/metadata.h"

typedef struct kafka_reader {
    fz_reader reader;
    rd_kafka_queue_t *queue;
    char *topic;
    _Atomic int64_t fetched_us; // when records were last taken, for the waker
} kafka_reader;

typedef struct kafka_source {
    fz_source source;
    fz_kafka_trouble trouble;
    fz_kafka_options options; // texts below
    char *texts[3];
    rd_kafka_t *rk;
    rd_kafka_t *asker;  // for questions: a broker answers a client in turn, behind a fetch that
                        // waits for records
    rd_kafka_t *prober; // for single records; made when first needed
    fz_mutex prober_mutex;
    fz_map known; // topics that `rk` has been told of; under prober_mutex
    const fz_source_listener *listener;
    bool subscribed;
    fz_mutex mutex; // readers, next_assignment
    FZ_VEC(kafka_reader *) readers;
    int64_t next_assignment;
    fz_thread waker;
    _Atomic bool stop;
} kafka_source;

static kafka_source *of(fz_source *source) {
    return (kafka_source *)source;
}

static kafka_source *of_opaque(void *opaque) {
    return (kafka_source *)(void *)((char *)opaque - offsetof(kafka_source, trouble));
}

// --- readers

static void on_queue(rd_kafka_t *rk, void *opaque) {
    (void)rk;
    kafka_reader *reader = (kafka_reader *)opaque;
    void (*wake)(void *) = reader->reader.wake;
    if (wake) {
        wake(reader->reader.wake_opaque);
    }
}

/** Assign or unassign one partition; positions of the others are not touched. */
static fz_code change_assignment(kafka_source *source, fz_str topic, int32_t partition,
                                 int64_t offset, fz_err *err) {
    char *name = fz_str_dup(topic);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, partition)->offset = offset;
    rd_kafka_error_t *error = offset >= 0 ? rd_kafka_incremental_assign(source->rk, list)
                                          : rd_kafka_incremental_unassign(source->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    fz_code code = FZ_OK;
    if (error) {
        code = fz_err_set(err, FZ_UNAVAILABLE, "cannot %s partition %d of topic \"%s\": %s",
                          offset >= 0 ? "assign" : "unassign", partition, name,
                          rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
    }
    fz_free(name);
    return code;
}

static void learnt(void *opaque, fz_str topic) {
    fz_map_put((fz_map *)opaque, topic, opaque);
}

/**
 * The fetching client must know a topic's leaders before it is assigned: else it learns of them by
 * its timer, a second later. All topics at first, with one request; later ones by themselves.
 */
static void learn_topic(kafka_source *source, fz_str topic) {
    fz_err ignored;
    if (source->known.count == 0) {
        fz_code code =
            fz_kafka_topics(source->rk, &source->trouble, learnt, &source->known, &ignored);
        (void)code;
    }
    if (!fz_map_find(&source->known, topic)) {
        int32_t count;
        if (fz_kafka_partitions(source->rk, &source->trouble, topic, &count, &ignored) == FZ_OK) {
            learnt(&source->known, topic);
        }
    }
}

static fz_code source_open(fz_source *base, fz_str topic, int32_t partition, int64_t offset,
                           fz_reader **out, fz_err *err) {
    kafka_source *source = of(base);
    kafka_reader *reader = (kafka_reader *)fz_calloc(1, sizeof *reader);
    reader->topic = fz_str_dup(topic);
    fz_mutex_lock(&source->prober_mutex);
    learn_topic(source, topic);
    fz_mutex_unlock(&source->prober_mutex);
    // the queue is taken out of the common one before the first fetch can answer into it
    reader->queue = rd_kafka_queue_get_partition(source->rk, reader->topic, partition);
    if (!reader->queue) {
        fz_free(reader->topic);
        fz_free(reader);
        return fz_err_set(err, FZ_INTERNAL, "no queue for partition %d of topic \"%.*s\"",
                          partition, FZ_STR_ARGS(topic));
    }
    rd_kafka_queue_forward(reader->queue, NULL);
    reader->reader.source = base;
    reader->reader.topic = fz_str_from(reader->topic);
    reader->reader.partition = partition;
    reader->reader.position = offset;
    fz_mutex_lock(&source->mutex);
    reader->reader.assignment = ++source->next_assignment;
    fz_vec_push(&source->readers, reader);
    fz_mutex_unlock(&source->mutex);
    rd_kafka_queue_cb_event_enable(reader->queue, on_queue, reader);
    fz_code code = change_assignment(source, topic, partition, offset, err);
    if (code != FZ_OK) {
        fz_source_close(base, &reader->reader);
        return code;
    }
    *out = &reader->reader;
    return FZ_OK;
}

/** Of a partition that is no longer in the assignment. */
static void reader_free(kafka_source *source, kafka_reader *reader) {
    rd_kafka_queue_cb_event_enable(reader->queue, NULL, NULL);
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->readers.count; i++) {
        if (source->readers.data[i] == reader) {
            source->readers.data[i] = source->readers.data[--source->readers.count];
            break;
        }
    }
    fz_mutex_unlock(&source->mutex);
    rd_kafka_queue_destroy(reader->queue);
    fz_free(reader->topic);
    fz_free(reader);
}

static void source_close(fz_source *base, fz_reader *closing) {
    // after the answer everything still queued is of an older version and is dropped by the client
    fz_code ignored = change_assignment(of(base), closing->topic, closing->partition, -1, NULL);
    (void)ignored;
    reader_free(of(base), (kafka_reader *)closing);
}

static void source_close_all(fz_source *base, fz_reader *const *readers, size_t count) {
    kafka_source *source = of(base);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        rd_kafka_topic_partition_list_add(list, ((kafka_reader *)readers[i])->topic,
                                          readers[i]->partition);
    }
    rd_kafka_error_t *error = rd_kafka_incremental_unassign(source->rk, list);
    if (error) {
        rd_kafka_error_destroy(error);
    }
    rd_kafka_topic_partition_list_destroy(list);
    for (size_t i = 0; i < count; i++) {
        reader_free(source, (kafka_reader *)readers[i]);
    }
}

/** One message of the queue: a record, the end, or an error; CORRUPT-free. */
static fz_code take_message(kafka_reader *reader, rd_kafka_message_t *message, fz_fetch *out,
                            fz_err *err) {
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        out->end = true;
        out->end_offset = message->offset;
        if (message->offset > reader->reader.position) {
            reader->reader.position = message->offset;
        }
        return FZ_OK;
    }
    if (message->err) {
        kafka_source *source = of(reader->reader.source);
        char what[300];
        snprintf(what, sizeof what, "read topic \"%s\" partition %d offset %lld", reader->topic,
                 reader->reader.partition, (long long)reader->reader.position);
        return fz_kafka_error(&source->trouble, message->err, what, err);
    }
    if (message->offset < reader->reader.position) {
        return FZ_OK; // of an older position (formats.md 9.2); never delivered twice
    }
    fz_record *record = &out->records[out->count++];
    record->offset = message->offset;
    rd_kafka_timestamp_type_t type;
    record->timestamp_ms = rd_kafka_message_timestamp(message, &type);
    record->timestamp_type = type == RD_KAFKA_TIMESTAMP_CREATE_TIME       ? 1
                             : type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? 2
                                                                          : 0;
    record->key = (const uint8_t *)message->key;
    record->key_size = message->key_len;
    record->value = (const uint8_t *)message->payload;
    record->value_size = message->len;
    record->leader_epoch = -1;
    record->native = message;
    out->bytes += (int64_t)(message->key_len + message->len);
    out->end = false;
    reader->reader.position = message->offset + 1;
    return FZ_OK;
}

static fz_code reader_fetch(fz_reader *base, size_t limit, fz_fetch *out, fz_err *err) {
    kafka_reader *reader = (kafka_reader *)base;
    if (out->capacity < limit) {
        out->records = (fz_record *)fz_realloc(out->records, limit, sizeof *out->records);
        out->natives = (void **)fz_realloc(out->natives, limit, sizeof *out->natives);
        out->capacity = limit;
    }
    ssize_t got =
        rd_kafka_consume_batch_queue(reader->queue, 0, (rd_kafka_message_t **)out->natives, limit);
    out->native_count = got > 0 ? (size_t)got : 0;
    if (out->native_count > 0) {
        reader->fetched_us = fz_clock_mono_us(fz_clock_real());
    }
    // records behind an error are taken too: the queue does not give them again
    fz_code code = FZ_OK;
    for (size_t i = 0; i < out->native_count; i++) {
        fz_err why;
        fz_code one = take_message(reader, (rd_kafka_message_t *)out->natives[i], out, &why);
        if (one != FZ_OK && code == FZ_OK) {
            code = one;
            if (err) {
                *err = why;
            }
        }
    }
    return code;
}

static void source_release(fz_source *base, fz_fetch *fetch) {
    (void)base;
    for (size_t i = 0; i < fetch->native_count; i++) {
        rd_kafka_message_destroy((rd_kafka_message_t *)fetch->natives[i]);
    }
}

static bool record_header(const fz_record *record, size_t index, fz_str *name, fz_str *value,
                          bool *is_null) {
    rd_kafka_headers_t *headers = NULL;
    const char *text;
    const void *data;
    size_t size;
    if (rd_kafka_message_headers((rd_kafka_message_t *)record->native, &headers) ||
        rd_kafka_header_get_all(headers, index, &text, &data, &size)) {
        return false;
    }
    *name = fz_str_from(text);
    *value = fz_str_make(data, data ? size : 0);
    *is_null = data == NULL;
    return true;
}

// --- the group

static fz_assignment *assignments_of(const rd_kafka_topic_partition_list_t *list) {
    fz_assignment *items = (fz_assignment *)fz_calloc((size_t)list->cnt + 1, sizeof(fz_assignment));
    for (int i = 0; i < list->cnt; i++) {
        items[i] =
            (fz_assignment){fz_str_from(list->elems[i].topic), list->elems[i].partition, -1, NULL};
    }
    return items;
}

/** The group waits for an answer to each of its calls, an empty one too; positions are given later,
 * by open. */
static void on_assigned(kafka_source *source, const rd_kafka_topic_partition_list_t *list) {
    rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);
    rd_kafka_error_t *error = rd_kafka_incremental_assign(source->rk, none);
    if (error) {
        rd_kafka_error_destroy(error);
    }
    rd_kafka_topic_partition_list_destroy(none);
    fz_assignment *items = assignments_of(list);
    source->listener->assigned(source->listener->opaque, items, (size_t)list->cnt);
    fz_free(items);
}

static kafka_reader *reader_find(kafka_source *source, fz_str topic, int32_t partition) {
    kafka_reader *found = NULL;
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->readers.count && !found; i++) {
        kafka_reader *reader = source->readers.data[i];
        if (reader->reader.partition == partition && fz_str_equal(reader->reader.topic, topic)) {
            found = reader;
        }
    }
    fz_mutex_unlock(&source->mutex);
    return found;
}

/** Unassign what is both in `list` and in the client's assignment; an empty answer counts too. */
static void unassign(kafka_source *source, const rd_kafka_topic_partition_list_t *list) {
    rd_kafka_topic_partition_list_t *left = NULL;
    if (rd_kafka_assignment(source->rk, &left) || !left) {
        return;
    }
    for (int i = left->cnt - 1; i >= 0; i--) {
        if (!rd_kafka_topic_partition_list_find(list, left->elems[i].topic,
                                                left->elems[i].partition)) {
            rd_kafka_topic_partition_list_del_by_idx(left, i);
        }
    }
    rd_kafka_error_t *error = rd_kafka_incremental_unassign(source->rk, left);
    if (error) {
        rd_kafka_error_destroy(error);
    }
    rd_kafka_topic_partition_list_destroy(left);
}

static void on_revoked(kafka_source *source, const rd_kafka_topic_partition_list_t *list,
                       bool lost) {
    fz_assignment *items = assignments_of(list);
    for (int i = 0; i < list->cnt; i++) {
        kafka_reader *reader = reader_find(source, items[i].topic, items[i].partition);
        items[i].reader = reader ? &reader->reader : NULL;
    }
    source->listener->revoked(source->listener->opaque, items, (size_t)list->cnt, lost);
    unassign(source, list);
    for (int i = 0; i < list->cnt; i++) {
        kafka_reader *reader = reader_find(source, items[i].topic, items[i].partition);
        if (reader) {
            reader_free(source, reader);
        }
    }
    fz_free(items);
}

/** Called inside serve. Incremental calls only: the strategy is cooperative-sticky (trap T025). */
static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
                         rd_kafka_topic_partition_list_t *list, void *opaque) {
    kafka_source *source = of_opaque(opaque);
    if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        on_assigned(source, list);
        return;
    }
    on_revoked(source, list, rd_kafka_assignment_lost(rk) != 0);
    if (error != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        fz_err err;
        fz_err_set(&err, FZ_UNAVAILABLE, "group rebalance failed: %s", rd_kafka_err2str(error));
        source->listener->trouble(source->listener->opaque, &err, false);
    }
}

static fz_code source_subscribe(fz_source *base, const fz_str *topics, size_t count,
                                const fz_source_listener *listener, fz_err *err) {
    kafka_source *source = of(base);
    source->listener = listener;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        char *name = fz_str_dup(topics[i]);
        rd_kafka_topic_partition_list_add(list, name, RD_KAFKA_PARTITION_UA);
        fz_free(name);
    }
    rd_kafka_resp_err_t error = rd_kafka_subscribe(source->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (error) {
        return fz_kafka_error(&source->trouble, error, "subscribe", err);
    }
    source->subscribed = true;
    return FZ_OK;
}

static void source_serve(fz_source *base, int64_t timeout_ms) {
    kafka_source *source = of(base);
    rd_kafka_message_t *message = rd_kafka_consumer_poll(source->rk, (int)timeout_ms);
    if (!message) {
        return;
    }
    if (message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF && source->listener) {
        char fatal_text[300];
        fz_err err;
        bool fatal = message->err == RD_KAFKA_RESP_ERR__FATAL;
        rd_kafka_resp_err_t cause =
            fatal ? rd_kafka_fatal_error(source->rk, fatal_text, sizeof fatal_text) : message->err;
        if (cause == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
            fz_err_set(
                &err, FZ_DENIED,
                "another process uses the same kafka.instance_id \"%.*s\": give each process "
                "its own",
                FZ_STR_ARGS(source->options.instance_id));
        } else {
            fz_kafka_error(&source->trouble, cause, "consume", &err);
        }
        source->listener->trouble(source->listener->opaque, &err, fatal);
    }
    rd_kafka_message_destroy(message);
}

static void source_commit(fz_source *base, const fz_assignment *items, size_t count,
                          fz_str metadata) {
    kafka_source *source = of(base);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        char *name = fz_str_dup(items[i].topic);
        rd_kafka_topic_partition_t *part =
            rd_kafka_topic_partition_list_add(list, name, items[i].partition);
        part->offset = items[i].offset;
        part->metadata = metadata.size ? fz_str_dup(metadata) : NULL;
        part->metadata_size = metadata.size;
        fz_free(name);
    }
    rd_kafka_commit(source->rk, list, 1);
    rd_kafka_topic_partition_list_destroy(list);
}

static void source_leave(fz_source *base) {
    kafka_source *source = of(base);
    if (source->subscribed) {
        source->subscribed = false;
        rd_kafka_consumer_close(source->rk);
    }
}

// --- waking the fetcher

/** The partition that was busy most recently, or NULL; its topic is copied into `topic`. */
static bool busiest(kafka_source *source, int64_t since_us, char *topic, size_t size,
                    int32_t *partition) {
    int64_t newest = since_us;
    bool found = false;
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->readers.count; i++) {
        kafka_reader *reader = source->readers.data[i];
        if (reader->fetched_us > newest) {
            newest = reader->fetched_us;
            snprintf(topic, size, "%s", reader->topic);
            *partition = reader->reader.partition;
            found = true;
        }
    }
    fz_mutex_unlock(&source->mutex);
    return found;
}

/**
 * Before 2.2 a fetcher sleeps up to a second once a queue was over its threshold; any request to
 * the broker wakes it (formats.md 9.4). One small request every 20 ms while records flow.
 */
static void waker_run(void *arg) {
    kafka_source *source = (kafka_source *)arg;
    fz_clock *clock = fz_clock_real();
    while (!source->stop) {
        char topic[256];
        int32_t partition;
        if (busiest(source, fz_clock_mono_us(clock) - 200000, topic, sizeof topic, &partition)) {
            int64_t low, high;
            rd_kafka_query_watermark_offsets(source->rk, topic, partition, &low, &high, 1000);
        }
        fz_clock_sleep_ms(clock, 20);
    }
}

// --- questions, in metadata.c

static fz_code source_cluster_id(fz_source *base, fz_buf *out, fz_err *err) {
    return fz_kafka_cluster_id(of(base)->asker, &of(base)->trouble, out, err);
}
static fz_code source_topics(fz_source *base, void (*each)(void *opaque, fz_str topic),
                             void *opaque, fz_err *err) {
    return fz_kafka_topics(of(base)->asker, &of(base)->trouble, each, opaque, err);
}
static fz_code source_partitions(fz_source *base, fz_str topic, int32_t *count, fz_err *err) {
    return fz_kafka_partitions(of(base)->asker, &of(base)->trouble, topic, count, err);
}
static fz_code source_bounds(fz_source *base, fz_str topic, int32_t partition, int64_t *low,
                             int64_t *end, fz_err *err) {
    return fz_kafka_bounds(of(base)->asker, &of(base)->trouble, topic, partition, low, end, err);
}
static fz_code source_offset_at(fz_source *base, fz_str topic, int32_t partition,
                                int64_t timestamp_ms, int64_t *offset, fz_err *err) {
    return fz_kafka_offset_at(of(base)->asker, &of(base)->trouble, topic, partition, timestamp_ms,
                              offset, err);
}
static fz_code source_probe(fz_source *base, fz_probe *probes, size_t count, int64_t timeout_ms,
                            fz_err *err) {
    kafka_source *source = of(base);
    fz_mutex_lock(&source->prober_mutex);
    fz_code code = FZ_OK;
    if (!source->prober) {
        code = fz_kafka_client_new(&source->options, &source->trouble, false, NULL, &source->prober,
                                   err);
    }
    if (code == FZ_OK) {
        code = fz_kafka_probe(source->prober, &source->trouble, probes, count, timeout_ms, err);
    }
    fz_mutex_unlock(&source->prober_mutex);
    return code;
}

static void source_free(fz_source *base) {
    kafka_source *source = of(base);
    source->stop = true;
    fz_thread_join(&source->waker);
    if (source->rk) {
        source_leave(base);
        rd_kafka_destroy(source->rk);
    }
    if (source->prober) {
        rd_kafka_destroy(source->prober);
    }
    if (source->asker) {
        rd_kafka_destroy(source->asker);
    }
    fz_map_deinit(&source->known);
    fz_vec_deinit(&source->readers);
    for (size_t i = 0; i < FZ_COUNT(source->texts); i++) {
        fz_free(source->texts[i]);
    }
    for (size_t i = 0; i < source->options.property_count; i++) {
        fz_free((void *)source->options.properties[i][0].data);
        fz_free((void *)source->options.properties[i][1].data);
    }
    fz_free((void *)source->options.properties);
    fz_kafka_trouble_deinit(&source->trouble);
    fz_mutex_deinit(&source->mutex);
    fz_mutex_deinit(&source->prober_mutex);
    fz_free(source);
}

static const fz_source_ops kafka_ops = {
    .name = "kafka",
    .cluster_id = source_cluster_id,
    .topics = source_topics,
    .partitions = source_partitions,
    .bounds = source_bounds,
    .offset_at = source_offset_at,
    .probe = source_probe,
    .subscribe = source_subscribe,
    .serve = source_serve,
    .open = source_open,
    .close = source_close,
    .close_all = source_close_all,
    .fetch = reader_fetch,
    .release = source_release,
    .header = record_header,
    .commit = source_commit,
    .leave = source_leave,
    .free = source_free,
};

/** Own copy of the options: the probing client is made from it later. */
static void keep_options(kafka_source *source, const fz_kafka_options *options) {
    source->options = *options;
    fz_str *const kept[] = {&source->options.bootstrap_servers, &source->options.group_id,
                            &source->options.instance_id};
    for (size_t i = 0; i < FZ_COUNT(kept); i++) {
        source->texts[i] = fz_str_dup(*kept[i]);
        kept[i]->data = source->texts[i];
    }
    fz_str(*pairs)[2] = (fz_str(*)[2])fz_calloc(options->property_count + 1, sizeof *pairs);
    for (size_t i = 0; i < options->property_count; i++) {
        for (size_t j = 0; j < 2; j++) {
            pairs[i][j] =
                (fz_str){fz_str_dup(options->properties[i][j]), options->properties[i][j].size};
        }
    }
    source->options.properties = (const fz_str(*)[2])pairs;
}

static void warn_scram(const fz_kafka_options *options) {
    for (size_t i = 0; i < options->property_count; i++) {
        fz_str name = options->properties[i][0];
        if ((fz_str_equal(name, FZ_STR("sasl.mechanism")) ||
             fz_str_equal(name, FZ_STR("sasl.mechanisms"))) &&
            fz_str_starts_with(options->properties[i][1], FZ_STR("SCRAM"))) {
            FZ_LOG(options->log, FZ_LOG_WARN, "kafka_scram",
                   FZ_KV_TEXT("librdkafka", rd_kafka_version_str()),
                   FZ_KV_TEXT("text",
                              "SCRAM of librdkafka before 2.6.1 is refused by Kafka 4 brokers"));
        }
    }
}

fz_code fz_kafka_consumer_new(const fz_kafka_options *options, fz_source **out, fz_err *err) {
    kafka_source *source = (kafka_source *)fz_calloc(1, sizeof *source);
    source->source.ops = &kafka_ops;
    fz_kafka_trouble_init(&source->trouble, options->log, options->bootstrap_servers);
    fz_mutex_init(&source->mutex);
    fz_mutex_init(&source->prober_mutex);
    keep_options(source, options);
    fz_code code = fz_kafka_client_new(&source->options, &source->trouble, true, on_rebalance,
                                       &source->rk, err);
    if (code == FZ_OK) {
        code = fz_kafka_client_new(&source->options, &source->trouble, false, NULL, &source->asker,
                                   err);
    }
    if (code != FZ_OK) {
        source_free(&source->source);
        return code;
    }
    if (rd_kafka_version() < 0x020601ff) {
        warn_scram(options);
    }
    if (rd_kafka_version() < 0x020200ff) {
        fz_thread_start(&source->waker, "fz-waker", waker_run, source);
    }
    *out = &source->source;
    return FZ_OK;
}
