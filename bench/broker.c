// SPDX-License-Identifier: Apache-2.0
// librdkafka's mock cluster as a process of its own: a broker for the demo and quick trials,
// without Java.
//
// usage: bench_broker TOPIC[:PARTITIONS] ...
//
// Prints the bootstrap address and serves until standard input ends. A partition keeps about 5 MB;
// there are no transactions.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int topic_create(rd_kafka_mock_cluster_t *cluster, const char *argument) {
    char name[256];
    const char *colon = strrchr(argument, ':');
    size_t size = colon != NULL ? (size_t)(colon - argument) : strlen(argument);
    if (size == 0 || size >= sizeof name) {
        fprintf(stderr, "not a topic: \"%s\"\n", argument);
        return 1;
    }
    memcpy(name, argument, size);
    name[size] = '\0';
    int partitions = colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 4;
    rd_kafka_resp_err_t code = rd_kafka_mock_topic_create(cluster, name, partitions, 1);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "topic \"%s\": %s\n", name, rd_kafka_err2str(code));
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    char error[512];
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), error, sizeof error);
    if (rk == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, 1);
    int failed = cluster == NULL;
    for (int i = 1; i < argc && failed == 0; i++) {
        failed = topic_create(cluster, argv[i]);
    }
    if (failed == 0) {
        printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
        fflush(stdout);
        while (getchar() != EOF) {
        }
    }
    if (cluster != NULL) {
        rd_kafka_mock_cluster_destroy(cluster);
    }
    rd_kafka_destroy(rk);
    return failed;
}
