// SPDX-License-Identifier: Apache-2.0
// A Kafka cluster inside this process: librdkafka's mock, with a producer.
#include "io/kafka/mock_broker.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdatomic.h>

#include "base/memory.h"

struct fz_kafka_mock_broker {
    rd_kafka_t *host; // the cluster's threads run in it
    rd_kafka_mock_cluster_t *cluster;
    rd_kafka_t *producer;
    int brokers;
    _Atomic int failed; // error of the first record that was not taken
};

/** The mock's own lines say nothing to users. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    (void)rk;
    (void)level;
    (void)facility;
    (void)text;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    fz_kafka_mock_broker *broker = (fz_kafka_mock_broker *)opaque;
    if (message->err && broker->failed == 0) {
        broker->failed = message->err;
    }
}

static rd_kafka_t *make_producer(fz_kafka_mock_broker *broker, const char *servers, fz_err *err) {
    static const char *const properties[][2] = {
        {"client.id", "frazil-producer"}, {"linger.ms", "20"},
        {"batch.size", "262144"}, // the mock drops whole batches
        {"enable.idempotence", "true"},   {"queue.buffering.max.kbytes", "16384"},
        {"message.timeout.ms", "60000"},
    };
    char text[400] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_opaque(conf, broker);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    bool good = true;
    for (size_t i = 0; servers && good && i < FZ_COUNT(properties); i++) {
        good = rd_kafka_conf_set(conf, properties[i][0], properties[i][1], text, sizeof text) ==
               RD_KAFKA_CONF_OK;
    }
    if (servers && good) {
        good = rd_kafka_conf_set(conf, "bootstrap.servers", servers, text, sizeof text) ==
               RD_KAFKA_CONF_OK;
    }
    rd_kafka_t *rk = good ? rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text) : NULL;
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        fz_err_set(err, FZ_UNAVAILABLE, "cannot make a Kafka producer: %s", text);
    }
    return rk;
}

fz_code fz_kafka_mock_broker_new(int brokers, fz_kafka_mock_broker **out, fz_err *err) {
    FZ_ASSERT(brokers > 0);
    fz_kafka_mock_broker *broker = (fz_kafka_mock_broker *)fz_calloc(1, sizeof *broker);
    broker->brokers = brokers;
    broker->host = make_producer(broker, NULL, err);
    if (broker->host) {
        broker->cluster = rd_kafka_mock_cluster_new(broker->host, brokers);
        if (!broker->cluster) {
            fz_err_set(err, FZ_UNAVAILABLE, "cannot start a Kafka broker in this process");
        }
    }
    if (broker->cluster) {
        broker->producer =
            make_producer(broker, rd_kafka_mock_cluster_bootstraps(broker->cluster), err);
    }
    if (!broker->producer) {
        fz_kafka_mock_broker_free(broker);
        return FZ_UNAVAILABLE;
    }
    *out = broker;
    return FZ_OK;
}

void fz_kafka_mock_broker_free(fz_kafka_mock_broker *broker) {
    if (!broker) {
        return;
    }
    if (broker->producer) {
        rd_kafka_purge(broker->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_destroy(broker->producer);
    }
    if (broker->cluster) {
        rd_kafka_mock_cluster_destroy(broker->cluster);
    }
    if (broker->host) {
        rd_kafka_destroy(broker->host);
    }
    fz_free(broker);
}

const char *fz_kafka_mock_broker_servers(const fz_kafka_mock_broker *broker) {
    return rd_kafka_mock_cluster_bootstraps(broker->cluster);
}

fz_code fz_kafka_mock_broker_create(fz_kafka_mock_broker *broker, const char *topic,
                                    int32_t partitions, fz_err *err) {
    rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(broker->cluster, topic, partitions, 1);
    if (error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
        return fz_err_set(err, FZ_EXISTS, "topic \"%s\" is there already", topic);
    }
    return error ? fz_err_set(err, FZ_INVALID, "cannot make topic \"%s\" of %d partitions: %s",
                              topic, partitions, rd_kafka_err2str(error))
                 : FZ_OK;
}

static fz_code delivery_failed(const fz_kafka_mock_broker *broker, fz_err *err) {
    return fz_err_set(err, FZ_UNAVAILABLE, "cannot produce to \"%s\": %s",
                      fz_kafka_mock_broker_servers(broker),
                      rd_kafka_err2str((rd_kafka_resp_err_t)broker->failed));
}

static rd_kafka_headers_t *make_headers(const fz_kafka_mock_record *record) {
    if (record->header_count == 0) {
        return NULL;
    }
    rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);
    for (size_t i = 0; i < record->header_count; i++) {
        const fz_kafka_mock_header *header = &record->headers[i];
        const char *value = header->is_null ? NULL : header->value.data ? header->value.data : "";
        rd_kafka_header_add(headers, header->name, -1, value,
                            header->is_null ? 0 : (ssize_t)header->value.size);
    }
    return headers;
}

/** Hand one record over; headers are taken on success. */
static rd_kafka_resp_err_t produce_one(fz_kafka_mock_broker *broker,
                                       const fz_kafka_mock_record *record,
                                       rd_kafka_headers_t *headers) {
    // the library does not write through key and value when it copies
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = record->topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = record->partition},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->timestamp_ms},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)(uintptr_t)record->key, record->key_size}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)(uintptr_t)record->value, record->value_size}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    rd_kafka_error_t *error =
        rd_kafka_produceva(broker->producer, parts, FZ_COUNT(parts) - (headers ? 0 : 1));
    rd_kafka_resp_err_t code = error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (error) {
        rd_kafka_error_destroy(error);
    }
    return code;
}

fz_code fz_kafka_mock_broker_produce(fz_kafka_mock_broker *broker,
                                     const fz_kafka_mock_record *record, fz_err *err) {
    rd_kafka_headers_t *headers = make_headers(record);
    rd_kafka_resp_err_t error;
    do {
        error = produce_one(broker, record, headers);
        rd_kafka_poll(broker->producer, error == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 20 : 0);
    } while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && broker->failed == 0);
    if (error && headers) {
        rd_kafka_headers_destroy(headers);
    }
    if (broker->failed != 0) {
        return delivery_failed(broker, err);
    }
    return error
               ? fz_err_set(err, FZ_UNAVAILABLE, "cannot produce to topic \"%s\" partition %d: %s",
                            record->topic, record->partition, rd_kafka_err2str(error))
               : FZ_OK;
}

fz_code fz_kafka_mock_broker_flush(fz_kafka_mock_broker *broker, int timeout_ms, fz_err *err) {
    rd_kafka_resp_err_t error = rd_kafka_flush(broker->producer, timeout_ms);
    if (broker->failed == 0 && error) {
        return fz_err_set(err, FZ_UNAVAILABLE, "cannot produce to \"%s\": %s",
                          fz_kafka_mock_broker_servers(broker), rd_kafka_err2str(error));
    }
    return broker->failed ? delivery_failed(broker, err) : FZ_OK;
}

void fz_kafka_mock_broker_set_down(fz_kafka_mock_broker *broker, bool down) {
    for (int32_t id = 1; id <= broker->brokers; id++) {
        rd_kafka_resp_err_t error = down ? rd_kafka_mock_broker_set_down(broker->cluster, id)
                                         : rd_kafka_mock_broker_set_up(broker->cluster, id);
        (void)error; // there is such a broker
    }
}

void fz_kafka_mock_broker_fail(fz_kafka_mock_broker *broker, int16_t api_key, int error,
                               size_t count) {
    for (size_t i = 0; i < count; i++) {
        rd_kafka_mock_push_request_errors(broker->cluster, api_key, 1, (rd_kafka_resp_err_t)error);
    }
}

void fz_kafka_mock_broker_fail_topic(fz_kafka_mock_broker *broker, const char *topic, int error) {
    rd_kafka_mock_topic_set_error(broker->cluster, topic, (rd_kafka_resp_err_t)error);
}
