// SPDX-License-Identifier: Apache-2.0
// Dead letters to a Kafka topic.
#include "flow/ingest/letters_topic.h"

#include <stdio.h>

#include "base/memory.h"

/** Longest wait for room in the queue, and for the brokers at a commit. */
#define SEND_MS 10000
#define FLUSH_MS 30000

struct fz_letters_topic {
    fz_stream *stream;
    fz_kafka_producer *producer;
};

fz_code fz_letters_topic_new(fz_stream *stream, fz_letters_topic **out, fz_err *err) {
    fz_kafka_producer *producer = NULL;
    const fz_ingest_host *host = stream->host;
    FZ_TRY(host->producer(host->context, host->config, host->log, &producer, err));
    fz_letters_topic *topic = (fz_letters_topic *)fz_calloc(1, sizeof *topic);
    topic->stream = stream;
    topic->producer = producer;
    *out = topic;
    return FZ_OK;
}

void fz_letters_topic_free(fz_letters_topic *topic) {
    if (topic) {
        fz_kafka_producer_free(topic->producer);
        fz_free(topic);
    }
}

typedef FZ_VEC(fz_kafka_header) header_list;

static void add_headers(const fz_letters_topic *topic, const fz_record *record,
                        header_list *headers) {
    fz_str name, value;
    bool is_null;
    for (size_t i = 0;
         fz_record_header(topic->stream->host->source, record, i, &name, &value, &is_null); i++) {
        fz_str bytes =
            is_null ? (fz_str){0} : fz_str_make(value.data ? value.data : "", value.size);
        fz_vec_push(headers, ((fz_kafka_header){name, bytes}));
    }
}

fz_code fz_letters_topic_send(fz_letters_topic *topic, const fz_stream_part *part,
                              const fz_record *record, const fz_err *why, fz_err *err) {
    char partition[16], offset[24], generation[24];
    snprintf(partition, sizeof partition, "%d", part->partition);
    snprintf(offset, sizeof offset, "%lld", (long long)record->offset);
    snprintf(generation, sizeof generation, "%lld", (long long)part->generation);
    const struct {
        const char *name;
        const char *value;
    } own[] = {
        {"frazil.topic", topic->stream->topic},
        {"frazil.partition", partition},
        {"frazil.offset", offset},
        {"frazil.generation", generation},
        {"frazil.error", why->kind},
        {"frazil.message", why->text},
    };
    header_list headers = {0};
    add_headers(topic, record, &headers);
    for (size_t i = 0; i < FZ_COUNT(own); i++) {
        fz_vec_push(&headers,
                    ((fz_kafka_header){fz_str_from(own[i].name), fz_str_from(own[i].value)}));
    }
    fz_kafka_message message = {
        .topic = topic->stream->entry->dead_letter.topic,
        .key = fz_str_make(record->key, record->key_size),
        .value = fz_str_make(record->value, record->value_size),
        .headers = headers.data,
        .header_count = headers.count,
        .timestamp_ms = record->timestamp_ms,
    };
    fz_code code = fz_kafka_producer_send(topic->producer, &message, SEND_MS, err);
    fz_vec_deinit(&headers);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "dead letter to topic \"%.*s\" (dead_letter.topic)",
                                          FZ_STR_ARGS(message.topic));
}

fz_code fz_letters_topic_flush(fz_letters_topic *topic, fz_err *err) {
    fz_code code = fz_kafka_producer_flush(topic->producer, FLUSH_MS, err);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "dead letters to topic \"%.*s\" (dead_letter.topic)",
                                          FZ_STR_ARGS(topic->stream->entry->dead_letter.topic));
}
