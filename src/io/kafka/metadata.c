// SPDX-License-Identifier: Apache-2.0
// Questions to a cluster through a client: topics, bounds, single records.
#include "io/kafka/metadata.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"

#define QUESTION_MS 10000

fz_code fz_kafka_cluster_id(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_buf *out, fz_err *err) {
    char *id = rd_kafka_clusterid(rk, QUESTION_MS);
    if (id) {
        fz_buf_append_str(out, fz_str_from(id));
        rd_kafka_mem_free(rk, id);
        return FZ_OK;
    }
    // no id is not an error if the brokers answer otherwise
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t error = rd_kafka_metadata(rk, 0, NULL, &metadata, QUESTION_MS);
    if (error) {
        return fz_kafka_error(trouble, error, "connect", err);
    }
    rd_kafka_metadata_destroy(metadata);
    return FZ_OK;
}

fz_code fz_kafka_topics(rd_kafka_t *rk, fz_kafka_trouble *trouble,
                        void (*each)(void *opaque, fz_str topic), void *opaque, fz_err *err) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t error = rd_kafka_metadata(rk, 1, NULL, &metadata, QUESTION_MS);
    if (error) {
        return fz_kafka_error(trouble, error, "list the topics", err);
    }
    for (int i = 0; i < metadata->topic_cnt; i++) {
        each(opaque, fz_str_from(metadata->topics[i].topic));
    }
    rd_kafka_metadata_destroy(metadata);
    return FZ_OK;
}

fz_code fz_kafka_partitions(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic, int32_t *count,
                            fz_err *err) {
    char *name = fz_str_dup(topic);
    char what[300];
    snprintf(what, sizeof what, "find topic \"%s\"", name);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, name, NULL);
    fz_free(name);
    if (!rkt) {
        return fz_kafka_error(trouble, rd_kafka_last_error(), what, err);
    }
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t error = rd_kafka_metadata(rk, 0, rkt, &metadata, QUESTION_MS);
    if (!error && metadata->topic_cnt == 1) {
        error = metadata->topics[0].err;
        *count = metadata->topics[0].partition_cnt;
    }
    bool none = !error && (metadata->topic_cnt != 1 || *count == 0);
    if (metadata) {
        rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(rkt);
    if (error || none) {
        return fz_kafka_error(trouble, none ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : error, what,
                              err);
    }
    return FZ_OK;
}

fz_code fz_kafka_bounds(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic, int32_t partition,
                        int64_t *low, int64_t *end, fz_err *err) {
    char *name = fz_str_dup(topic);
    rd_kafka_resp_err_t error =
        rd_kafka_query_watermark_offsets(rk, name, partition, low, end, QUESTION_MS);
    char what[300];
    snprintf(what, sizeof what, "ask for the offsets of topic \"%s\" partition %d", name,
             partition);
    fz_free(name);
    return error ? fz_kafka_error(trouble, error, what, err) : FZ_OK;
}

fz_code fz_kafka_offset_at(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_str topic,
                           int32_t partition, int64_t timestamp_ms, int64_t *offset, fz_err *err) {
    char *name = fz_str_dup(topic);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *part = rd_kafka_topic_partition_list_add(list, name, partition);
    part->offset = timestamp_ms;
    rd_kafka_resp_err_t error = rd_kafka_offsets_for_times(rk, list, QUESTION_MS);
    if (!error) {
        error = part->err;
    }
    *offset = part->offset;
    rd_kafka_topic_partition_list_destroy(list);
    char what[300];
    snprintf(what, sizeof what, "find the offset of a time in topic \"%s\" partition %d", name,
             partition);
    fz_free(name);
    if (error) {
        return fz_kafka_error(trouble, error, what, err);
    }
    int64_t low;
    return *offset >= 0 ? FZ_OK : fz_kafka_bounds(rk, trouble, topic, partition, &low, offset, err);
}

/** Note what a message tells about the probe of its partition; true if that answers it. */
static bool answer(fz_probe *probe, const rd_kafka_message_t *message) {
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        return true;
    }
    if (message->err) {
        probe->out_of_range = message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
                              message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
        return true;
    }
    if (message->offset < probe->at) {
        return false;
    }
    fz_record record = {.offset = message->offset,
                        .timestamp_ms = rd_kafka_message_timestamp(message, NULL),
                        .key = (const uint8_t *)message->key,
                        .key_size = message->key_len,
                        .value = (const uint8_t *)message->payload,
                        .value_size = message->len};
    probe->found = true;
    probe->offset = record.offset;
    probe->timestamp_ms = record.timestamp_ms;
    probe->hash = fz_record_hash(&record);
    return true;
}

static fz_probe *probe_of(fz_probe *probes, size_t count, const rd_kafka_message_t *message) {
    if (!message->rkt) {
        return NULL;
    }
    fz_str topic = fz_str_from(rd_kafka_topic_name(message->rkt));
    for (size_t i = 0; i < count; i++) {
        if (probes[i].partition == message->partition && fz_str_equal(probes[i].topic, topic)) {
            return &probes[i];
        }
    }
    return NULL;
}

/** Make the topics known to the client at once: else it learns of them by its timer, a second
 * later. */
static void learn_topics(rd_kafka_t *rk, const fz_probe *probes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && fz_str_equal(probes[i].topic, probes[i - 1].topic)) {
            continue;
        }
        char *name = fz_str_dup(probes[i].topic);
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, name, NULL);
        const struct rd_kafka_metadata *metadata;
        if (rkt && !rd_kafka_metadata(rk, 0, rkt, &metadata, QUESTION_MS)) {
            rd_kafka_metadata_destroy(metadata);
        }
        if (rkt) {
            rd_kafka_topic_destroy(rkt);
        }
        fz_free(name);
    }
}

fz_code fz_kafka_probe(rd_kafka_t *rk, fz_kafka_trouble *trouble, fz_probe *probes, size_t count,
                       int64_t timeout_ms, fz_err *err) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) {
        char *name = fz_str_dup(probes[i].topic);
        rd_kafka_topic_partition_list_add(list, name, probes[i].partition)->offset = probes[i].at;
        fz_free(name);
        probes[i].found = probes[i].out_of_range = false;
    }
    learn_topics(rk, probes, count);
    rd_kafka_resp_err_t error = rd_kafka_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (error) {
        return fz_kafka_error(trouble, error, "look at single records", err);
    }
    bool *done = (bool *)fz_calloc(count, sizeof *done);
    size_t left = count;
    int64_t until = fz_clock_mono_ms(fz_clock_real()) + timeout_ms;
    while (left > 0 && fz_clock_mono_ms(fz_clock_real()) < until) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 100);
        if (!message) {
            continue;
        }
        fz_probe *probe = probe_of(probes, count, message);
        if (probe && !done[probe - probes] && answer(probe, message)) {
            done[probe - probes] = true;
            left--;
        }
        rd_kafka_message_destroy(message);
    }
    fz_free(done);
    rd_kafka_assign(rk, NULL);
    return left == 0 ? FZ_OK
                     : fz_kafka_error(trouble, RD_KAFKA_RESP_ERR__TIMED_OUT,
                                      "look at single records", err);
}
