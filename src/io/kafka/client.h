// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share: client configuration, its log, error codes.
#ifndef FZ_IO_KAFKA_CLIENT_H
#define FZ_IO_KAFKA_CLIENT_H

#include <librdkafka/rdkafka.h>

#include "base/thread.h"
#include "io/kafka/consumer.h"

/** The client library's latest complaint, for messages of calls that only say "timed out". */
typedef struct fz_kafka_trouble {
    fz_mutex mutex;
    char text[400];
    bool denied; // authentication or authorization
    fz_log *log;
    char *servers;
} fz_kafka_trouble;

void fz_kafka_trouble_init(fz_kafka_trouble *trouble, fz_log *log, fz_str servers);
void fz_kafka_trouble_deinit(fz_kafka_trouble *trouble);

/**
 * A client of `options`. `opaque` is the trouble; `member` false: no static membership (the probing
 * client). rebalance NULL: none. Errors: INVALID naming the property.
 */
FZ_CHECKED fz_code fz_kafka_client_new(const fz_kafka_options *options, fz_kafka_trouble *trouble,
                                       bool member,
                                       void (*rebalance)(rd_kafka_t *, rd_kafka_resp_err_t,
                                                         rd_kafka_topic_partition_list_t *, void *),
                                       rd_kafka_t **out, fz_err *err);

/** Set one property. Errors: INVALID naming it and what the client library said. */
FZ_CHECKED fz_code fz_kafka_client_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                                       fz_err *err);
/** The user's properties of `options`. Errors: as above. */
FZ_CHECKED fz_code fz_kafka_client_set_properties(rd_kafka_conf_t *conf,
                                                  const fz_kafka_options *options, fz_err *err);
/** `opaque`, log and errors of a client to come go to `trouble`. */
void fz_kafka_client_watch(rd_kafka_conf_t *conf, fz_kafka_trouble *trouble);

/** Set err for a client error while doing `what` ("read the metadata of topic \"x\""). */
fz_code fz_kafka_error(fz_kafka_trouble *trouble, rd_kafka_resp_err_t error, const char *what,
                       fz_err *err);

#endif
