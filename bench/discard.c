// SPDX-License-Identifier: Apache-2.0
// The floor that speed is compared with: a librdkafka consumer that reads COUNT records of a topic
// and throws them away.
//
// usage: bench_discard BROKERS TOPIC COUNT [PARTS=4]
//
// QKB, QMIN and FMAX set queued.max.messages.kbytes, queued.min.messages and
// fetch.message.max.bytes.
#include <librdkafka/rdkafka.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { BATCH = 10000 };

static rd_kafka_message_t *messages[BATCH];

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL ? value : otherwise;
}

static rd_kafka_t *consumer_new(const char *brokers) {
    const char *const settings[][2] = {
        {"bootstrap.servers", brokers},
        {"group.id", "discard"},
        {"enable.auto.commit", "false"},
        {"auto.offset.reset", "earliest"},
        {"check.crcs", "false"},
        {"queued.max.messages.kbytes", setting("QKB", "65536")},
        {"queued.min.messages", setting("QMIN", "100000")},
        {"fetch.message.max.bytes", setting("FMAX", "1048576")},
    };
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error, sizeof error) !=
            RD_KAFKA_CONF_OK) {
            fprintf(stderr, "%s\n", error);
            rd_kafka_conf_destroy(conf);
            return NULL;
        }
    }
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    if (rk == NULL) {
        fprintf(stderr, "%s\n", error);
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_poll_set_consumer(rk);
    return rk;
}

static double seconds_of(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: bench_discard BROKERS TOPIC COUNT [PARTS=4]\n");
        return 2;
    }
    uint64_t wanted = strtoull(argv[3], NULL, 10);
    int parts = argc > 4 ? (int)strtoul(argv[4], NULL, 10) : 4;
    double began = seconds();
    rd_kafka_t *rk = consumer_new(argv[1]);
    if (rk == NULL) {
        return 1;
    }
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(parts);
    for (int p = 0; p < parts; p++) {
        rd_kafka_topic_partition_list_add(list, argv[2], p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    uint64_t rows = 0;
    uint64_t bytes = 0;
    while (rows < wanted) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
        for (ssize_t i = 0; i < count; i++) {
            if (messages[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                rows++;
                bytes += messages[i]->len;
            }
            rd_kafka_message_destroy(messages[i]);
        }
    }
    double took = seconds() - began;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    printf("{\"program\": \"discard\", \"rows\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"seconds\": %.3f, "
           "\"cpu_seconds\": %.3f, \"rows_per_cpu_second\": %.0f, \"peak_rss_mb\": %ld}\n",
           rows, bytes, took, cpu, (double)rows / cpu, usage.ru_maxrss / 1024);
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return 0;
}
