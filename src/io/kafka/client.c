// SPDX-License-Identifier: Apache-2.0
// Client configuration, its log, error codes.
#define _GNU_SOURCE
#include "io/kafka/client.h"

#include <stdio.h>
#include <strings.h>

#include "base/memory.h"

void fz_kafka_trouble_init(fz_kafka_trouble *trouble, fz_log *log, fz_str servers) {
    memset(trouble, 0, sizeof *trouble);
    fz_mutex_init(&trouble->mutex);
    trouble->log = log;
    trouble->servers = fz_str_dup(servers);
}

void fz_kafka_trouble_deinit(fz_kafka_trouble *trouble) {
    fz_free(trouble->servers);
    fz_mutex_deinit(&trouble->mutex);
}

/** The client's own lines go through the log; a failed connection is remembered. Any thread of the
 * client. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    fz_kafka_trouble *trouble = (fz_kafka_trouble *)rd_kafka_opaque(rk);
    if (strcmp(facility, "FAIL") == 0) {
        fz_mutex_lock(&trouble->mutex);
        const char *from = strstr(text, "]: ");
        snprintf(trouble->text, sizeof trouble->text, "%s", from ? from + 3 : text);
        trouble->denied =
            strcasestr(text, "authenti") != NULL || strcasestr(text, "credential") != NULL;
        fz_mutex_unlock(&trouble->mutex);
    }
    fz_log_level to = level <= 4 ? FZ_LOG_WARN : level <= 6 ? FZ_LOG_INFO : FZ_LOG_DEBUG;
    FZ_LOG(trouble->log, to, "kafka_client", FZ_KV_TEXT("facility", facility),
           FZ_KV_TEXT("text", text));
}

static void on_error(rd_kafka_t *rk, int error, const char *reason, void *opaque) {
    (void)rk;
    fz_kafka_trouble *trouble = (fz_kafka_trouble *)opaque;
    fz_mutex_lock(&trouble->mutex);
    trouble->denied = trouble->denied || error == RD_KAFKA_RESP_ERR__AUTHENTICATION;
    fz_mutex_unlock(&trouble->mutex);
    FZ_LOG(trouble->log, FZ_LOG_WARN, "kafka_client",
           FZ_KV_TEXT("facility", rd_kafka_err2name((rd_kafka_resp_err_t)error)),
           FZ_KV_TEXT("text", reason));
}

fz_code fz_kafka_error(fz_kafka_trouble *trouble, rd_kafka_resp_err_t error, const char *what,
                       fz_err *err) {
    char last[sizeof trouble->text];
    fz_mutex_lock(&trouble->mutex);
    memcpy(last, trouble->text, sizeof last);
    bool denied = trouble->denied;
    fz_mutex_unlock(&trouble->mutex);
    switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        return fz_err_set_kind(err, FZ_NOT_FOUND, "no_topic",
                               "cannot %s: no such topic or partition at \"%s\"", what,
                               trouble->servers);
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        return fz_err_set_kind(err, FZ_NOT_FOUND, "log_changed", "cannot %s: offset out of range",
                               what);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
        return fz_err_set_kind(err, FZ_DENIED, "denied", "cannot %s: %s at \"%s\"", what,
                               last[0] && denied ? last : rd_kafka_err2str(error),
                               trouble->servers);
    default:
        if (denied) {
            return fz_err_set_kind(err, FZ_DENIED, "denied", "cannot %s: %s at \"%s\"", what, last,
                                   trouble->servers);
        }
        return fz_err_set(err, FZ_UNAVAILABLE,
                          "cannot %s: no answer from the Kafka brokers at \"%s\" "
                          "(kafka.bootstrap_servers): %s",
                          what, trouble->servers, last[0] ? last : rd_kafka_err2str(error));
    }
}

fz_code fz_kafka_client_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                            fz_err *err) {
    char text[400];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof text) == RD_KAFKA_CONF_OK) {
        return FZ_OK;
    }
    if (strcmp(name, "sasl.oauthbearer.method") == 0 && strcasecmp(value, "oidc") == 0) {
        return fz_err_set(err, FZ_INVALID,
                          "kafka.properties \"sasl.oauthbearer.method\": \"oidc\" needs librdkafka "
                          "built with OIDC (1.9 or newer with libcurl); this one is %s without it",
                          rd_kafka_version_str());
    }
    return fz_err_set(err, FZ_INVALID, "kafka.properties \"%s\": %s", name, text);
}

static fz_code set_number(rd_kafka_conf_t *conf, const char *name, int64_t value, fz_err *err) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return fz_kafka_client_set(conf, name, text, err);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/** Fetch, receive and queue limits that keep all partitions' queues within the share of the budget.
 */
static fz_code set_limits(rd_kafka_conf_t *conf, const fz_kafka_options *options, fz_err *err) {
    int64_t parts = options->partitions > 0 ? options->partitions : 1;
    int64_t share = options->queue_memory / parts;
    // a queue takes one more fetch before it looks at its limit again; a short record takes the
    // client six times its bytes, so that queues are limited by count too, and a fetch is a small
    // part
    FZ_TRY(
        set_number(conf, "queued.max.messages.kbytes", clamp(share / 2 / 1024, 16, 16 << 10), err));
    FZ_TRY(set_number(conf, "queued.min.messages", clamp(share / 1024, 64, 100000), err));
    FZ_TRY(set_number(conf, "fetch.message.max.bytes", clamp(share / 32, 16 << 10, 1 << 20), err));
    // the client wants fetch.max.bytes >= message.max.bytes
    int64_t fetch = clamp(options->queue_memory / 4, 1 << 20, 50 << 20);
    int64_t largest = clamp(options->max_record_size, 1 << 20, 512 << 20);
    FZ_TRY(set_number(conf, "message.max.bytes", 1 << 20, err));
    FZ_TRY(set_number(conf, "fetch.max.bytes", fetch, err));
    FZ_TRY(set_number(conf, "receive.message.max.bytes", fetch + largest + (1 << 20), err));
    return FZ_OK;
}

fz_code fz_kafka_client_set_properties(rd_kafka_conf_t *conf, const fz_kafka_options *options,
                                       fz_err *err) {
    for (size_t i = 0; i < options->property_count; i++) {
        char *name = fz_str_dup(options->properties[i][0]);
        char *value = fz_str_dup(options->properties[i][1]);
        fz_code code = fz_kafka_client_set(conf, name, value, err);
        fz_free(name);
        fz_free(value);
        FZ_TRY(code);
    }
    return FZ_OK;
}

void fz_kafka_client_watch(rd_kafka_conf_t *conf, fz_kafka_trouble *trouble) {
    rd_kafka_conf_set_opaque(conf, trouble);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
}

static fz_code set_all(rd_kafka_conf_t *conf, const fz_kafka_options *options, bool member,
                       fz_err *err) {
    static const char *const fixed[][2] = {
        {"client.id", "frazil"},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"enable.partition.eof", "true"},
        {"partition.assignment.strategy", "cooperative-sticky"},
        {"allow.auto.create.topics", "false"},
        {"topic.metadata.refresh.interval.ms", "30000"},
        // positions are loaded from the catalog inside the rebalance callback, however long that
        // takes
        {"max.poll.interval.ms", "3600000"},
        {"log.connection.close", "false"},
        // closing a reader waits for the fetch under way
        {"fetch.wait.max.ms", "100"},
    };
    for (size_t i = 0; i < FZ_COUNT(fixed); i++) {
        FZ_TRY(fz_kafka_client_set(conf, fixed[i][0], fixed[i][1], err));
    }
    FZ_TRY(set_limits(conf, options, err));
    const struct {
        const char *name;
        fz_str value;
    } named[] = {
        {"bootstrap.servers", options->bootstrap_servers},
        {"group.id", options->group_id},
        {"group.instance.id", member ? options->instance_id : FZ_STR("")},
        {"isolation.level",
         options->read_committed ? FZ_STR("read_committed") : FZ_STR("read_uncommitted")},
    };
    for (size_t i = 0; i < FZ_COUNT(named); i++) {
        if (named[i].value.size > 0) {
            char *value = fz_str_dup(named[i].value);
            fz_code code = fz_kafka_client_set(conf, named[i].name, value, err);
            fz_free(value);
            FZ_TRY(code);
        }
    }
    return fz_kafka_client_set_properties(conf, options, err);
}

fz_code fz_kafka_client_new(const fz_kafka_options *options, fz_kafka_trouble *trouble, bool member,
                            void (*rebalance)(rd_kafka_t *, rd_kafka_resp_err_t,
                                              rd_kafka_topic_partition_list_t *, void *),
                            rd_kafka_t **out, fz_err *err) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    fz_code code = set_all(conf, options, member, err);
    if (code != FZ_OK) {
        rd_kafka_conf_destroy(conf);
        return code;
    }
    fz_kafka_client_watch(conf, trouble);
    if (rebalance) {
        rd_kafka_conf_set_rebalance_cb(conf, rebalance);
    }
    char text[400];
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        return fz_err_set(err, FZ_INVALID, "cannot make a Kafka client: %s", text);
    }
    rd_kafka_poll_set_consumer(rk);
    *out = rk;
    return FZ_OK;
}

const char *fz_kafka_version(void) {
    return rd_kafka_version_str();
}
