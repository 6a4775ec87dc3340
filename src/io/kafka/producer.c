// SPDX-License-Identifier: Apache-2.0
// The producer over librdkafka.
#include "io/kafka/producer.h"

#include <stddef.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/kafka/client.h"

/** Largest share of a wait that callbacks are served in. */
#define SLICE_MS 100
/** What a record has beside key and value: headers, framing. */
#define RECORD_MORE (1 << 20)
#define MESSAGE_MOST 1000000000 // librdkafka's own limit

struct fz_kafka_producer {
    fz_kafka_trouble trouble;
    fz_kafka_options options; // texts are copies
    char *servers;
    fz_str (*pairs)[2];
    rd_kafka_t *rk;
    rd_kafka_resp_err_t failed; // of the first record since the last flush that was not taken
    char failed_topic[250];
};

static fz_kafka_producer *of_opaque(void *opaque) {
    return (fz_kafka_producer *)(void *)((char *)opaque - offsetof(fz_kafka_producer, trouble));
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    fz_kafka_producer *producer = of_opaque(opaque);
    if (message->err && !producer->failed) {
        producer->failed = message->err;
        snprintf(producer->failed_topic, sizeof producer->failed_topic, "%s",
                 rd_kafka_topic_name(message->rkt));
    }
}

static fz_code set_number(rd_kafka_conf_t *conf, const char *name, int64_t value, fz_err *err) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return fz_kafka_client_set(conf, name, text, err);
}

static fz_code set_all(rd_kafka_conf_t *conf, const fz_kafka_options *options, fz_err *err) {
    int64_t largest = options->max_record_size + RECORD_MORE;
    largest = largest > MESSAGE_MOST ? MESSAGE_MOST : largest;
    int64_t queue = options->queue_memory > 2 * largest ? options->queue_memory : 2 * largest;
    FZ_TRY(fz_kafka_client_set(conf, "client.id", "frazil", err));
    FZ_TRY(set_number(conf, "message.max.bytes", largest, err));
    FZ_TRY(set_number(conf, "queue.buffering.max.kbytes", queue / 1024, err));
    char *servers = fz_str_dup(options->bootstrap_servers);
    fz_code code = fz_kafka_client_set(conf, "bootstrap.servers", servers, err);
    fz_free(servers);
    FZ_TRY(code);
    FZ_TRY(fz_kafka_client_set_properties(conf, options, err));
    FZ_TRY(fz_kafka_client_set(conf, "acks", "all", err));
    return fz_kafka_client_set(conf, "enable.idempotence", "true", err);
}

static fz_code open_client(fz_kafka_producer *producer, fz_err *err) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    fz_code code = set_all(conf, &producer->options, err);
    if (code != FZ_OK) {
        rd_kafka_conf_destroy(conf);
        return code;
    }
    fz_kafka_client_watch(conf, &producer->trouble);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    char text[400];
    producer->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!producer->rk) {
        rd_kafka_conf_destroy(conf);
        return fz_err_set(err, FZ_INVALID, "cannot make a Kafka producer: %s", text);
    }
    return FZ_OK;
}

/** Own copy of the options: a producer that failed for good is made again. */
static void keep_options(fz_kafka_producer *producer, const fz_kafka_options *options) {
    producer->options = *options;
    producer->servers = fz_str_dup(options->bootstrap_servers);
    producer->options.bootstrap_servers.data = producer->servers;
    producer->pairs = (fz_str(*)[2])fz_calloc(options->property_count + 1, sizeof *producer->pairs);
    for (size_t i = 0; i < options->property_count; i++) {
        for (size_t j = 0; j < 2; j++) {
            producer->pairs[i][j] =
                (fz_str){fz_str_dup(options->properties[i][j]), options->properties[i][j].size};
        }
    }
    producer->options.properties = (const fz_str(*)[2])producer->pairs;
}

fz_code fz_kafka_producer_new(const fz_kafka_options *options, fz_kafka_producer **out,
                              fz_err *err) {
    fz_kafka_producer *producer = (fz_kafka_producer *)fz_calloc(1, sizeof *producer);
    fz_kafka_trouble_init(&producer->trouble, options->log, options->bootstrap_servers);
    keep_options(producer, options);
    fz_code code = open_client(producer, err);
    if (code != FZ_OK) {
        fz_kafka_producer_free(producer);
        return code;
    }
    *out = producer;
    return FZ_OK;
}

/** What waits is given up: its callbacks are served, so that nothing is left of it. */
static void close_client(fz_kafka_producer *producer) {
    if (producer->rk) {
        rd_kafka_purge(producer->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(producer->rk, SLICE_MS);
        rd_kafka_destroy(producer->rk);
        producer->rk = NULL;
    }
}

void fz_kafka_producer_free(fz_kafka_producer *producer) {
    if (!producer) {
        return;
    }
    close_client(producer);
    for (size_t i = 0; i < producer->options.property_count; i++) {
        fz_free((void *)producer->pairs[i][0].data);
        fz_free((void *)producer->pairs[i][1].data);
    }
    fz_free(producer->pairs);
    fz_free(producer->servers);
    fz_kafka_trouble_deinit(&producer->trouble);
    fz_free(producer);
}

static fz_code send_error(fz_kafka_producer *producer, rd_kafka_resp_err_t error, fz_str topic,
                          fz_err *err) {
    char what[300];
    snprintf(what, sizeof what, "write to topic \"%.*s\"", FZ_STR_ARGS(topic));
    if (error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
        return fz_err_set(err, FZ_LIMIT,
                          "cannot %s: the record is larger than the topic takes "
                          "(max.message.bytes)",
                          what);
    }
    if (error == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
        error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    }
    return fz_kafka_error(&producer->trouble, error, what, err);
}

static rd_kafka_headers_t *make_headers(const fz_kafka_message *message) {
    rd_kafka_headers_t *headers = rd_kafka_headers_new(message->header_count);
    for (size_t i = 0; i < message->header_count; i++) {
        const fz_kafka_header *header = &message->headers[i];
        rd_kafka_header_add(headers, header->name.data, (ssize_t)header->name.size,
                            header->value.data,
                            header->value.data ? (ssize_t)header->value.size : 0);
    }
    return headers;
}

/** The client takes the headers if it takes the record. */
static rd_kafka_resp_err_t produce(fz_kafka_producer *producer, const char *topic,
                                   const fz_kafka_message *message) {
    rd_kafka_headers_t *headers = make_headers(message);
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_KEY,
         .u.mem = {(void *)(uintptr_t)message->key.data, message->key.size}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)(uintptr_t)message->value.data, message->value.size}},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP,
         .u.i64 = message->timestamp_ms > 0 ? message->timestamp_ms : 0},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    rd_kafka_error_t *refused = rd_kafka_produceva(producer->rk, parts, FZ_COUNT(parts));
    if (!refused) {
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_resp_err_t error = rd_kafka_error_code(refused);
    rd_kafka_error_destroy(refused);
    rd_kafka_headers_destroy(headers);
    return error;
}

fz_code fz_kafka_producer_send(fz_kafka_producer *producer, const fz_kafka_message *message,
                               int64_t timeout_ms, fz_err *err) {
    if (producer->failed) {
        return send_error(producer, producer->failed, fz_str_from(producer->failed_topic), err);
    }
    char *topic = fz_str_dup(message->topic);
    rd_kafka_resp_err_t error;
    int64_t left = timeout_ms;
    while ((error = produce(producer, topic, message)) == RD_KAFKA_RESP_ERR__QUEUE_FULL &&
           left > 0) {
        int64_t slice = left < SLICE_MS ? left : SLICE_MS;
        rd_kafka_poll(producer->rk, (int)slice);
        left -= slice;
    }
    rd_kafka_poll(producer->rk, 0);
    fz_free(topic);
    return error ? send_error(producer, error, message->topic, err) : FZ_OK;
}

fz_code fz_kafka_producer_flush(fz_kafka_producer *producer, int64_t timeout_ms, fz_err *err) {
    if (!producer->rk) {
        FZ_TRY(open_client(producer, err));
        producer->failed = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_resp_err_t error =
        rd_kafka_flush(producer->rk, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
    fz_code code = FZ_OK;
    if (producer->failed) {
        code = send_error(producer, producer->failed, fz_str_from(producer->failed_topic), err);
    } else if (error) {
        code = fz_kafka_error(&producer->trouble, error, "write all records", err);
    }
    if (code != FZ_OK) {
        // an idempotent producer has a gap now, or failed for good: the next records go through a
        // new one
        close_client(producer);
        producer->failed = RD_KAFKA_RESP_ERR_NO_ERROR;
        fz_err why;
        if (open_client(producer, &why) != FZ_OK) {
            producer->failed = RD_KAFKA_RESP_ERR__FATAL;
        }
    }
    return code;
}
