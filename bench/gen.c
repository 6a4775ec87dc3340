// SPDX-License-Identifier: Apache-2.0
// Deterministic load generator: row i is a pure function of i, goes to partition i % PARTS, and its
// key is the customer.
//
// usage: bench_gen BROKERS TOPIC w1|w2|w3 COUNT [PARTS=4] [SCHEMA_ID=1] [START=0]
//
// w1  "orders", 8 columns as Avro in Confluent framing (0, schema id as 4 bytes big-endian, body)
// w2  the same rows as JSON text
// w3  nested Avro (a struct, an array of three structs, a map) in the same framing
//
// Rows START to START + COUNT - 1 are sent. Batches are lz4 unless COMP names another codec. RATE
// in the environment holds back to so many rows a second.
#include <librdkafka/rdkafka.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CUSTOMER_SIZE = 12, MAX_VALUE_SIZE = 1024 };

typedef struct row {
    uint64_t hash;
    int64_t order_id;
    char customer[CUSTOMER_SIZE + 1];
    char product[40];
    int quantity;
    int64_t cents;
    const char *currency;
    const char *status;
    int64_t event_time_ms;
} row;

static const char *const CURRENCIES[5] = {"USD", "EUR", "GBP", "JPY", "CHF"};
static const char *const STATUSES[5] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};
static const char *const ADJECTIVES[10] = {"Compact",  "Wireless", "Ergonomic", "Stainless",
                                           "Portable", "Premium",  "Organic",   "Heavy-Duty",
                                           "Classic",  "Smart"};
static const char *const NOUNS[10] = {"Keyboard",    "Headphones", "Backpack", "Water Bottle",
                                      "Desk Lamp",   "Notebook",   "Charger",  "Coffee Mug",
                                      "Monitor Arm", "Speaker"};

static uint64_t failures; // written by the delivery callback, which runs in this thread's poll

// splitmix64
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static void row_make(row *r, uint64_t i) {
    uint64_t h = mix(i);
    uint64_t g = mix(h);
    r->hash = h;
    r->order_id = 100000000 + (int64_t)i;
    snprintf(r->customer, sizeof r->customer, "CUST-%07u", (unsigned)(h % 50000));
    unsigned product = (unsigned)((h >> 20) % 100);
    snprintf(r->product, sizeof r->product, "%s %s", ADJECTIVES[product / 10], NOUNS[product % 10]);
    r->quantity = 1 + (int)((h >> 32) % 20);
    r->cents = 99 + (int64_t)(g % 999900);
    r->currency = CURRENCIES[(h >> 40) % 5];
    r->status = STATUSES[(h >> 48) % 5];
    r->event_time_ms = 1767225600000 + (int64_t)i * 3 + (int64_t)((g >> 40) % 1000);
}

static uint8_t *put_long(uint8_t *p, int64_t value) {
    uint64_t u = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (u > 127) {
        *p++ = (uint8_t)(u | 128);
        u >>= 7;
    }
    *p++ = (uint8_t)u;
    return p;
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t size) {
    p = put_long(p, (int64_t)size);
    memcpy(p, bytes, size);
    return p + size;
}

static uint8_t *put_text(uint8_t *p, const char *text) {
    return put_bytes(p, text, strlen(text));
}

static uint8_t *put_double(uint8_t *p, double value) {
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

// Avro decimal: the shortest big-endian two's complement.
static uint8_t *put_decimal(uint8_t *p, int64_t unscaled) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)unscaled >> (56 - 8 * i));
    }
    size_t skip = 0;
    while (skip < 7 && bytes[skip] == 0 && (bytes[skip + 1] & 0x80) == 0) {
        skip++;
    }
    return put_bytes(p, bytes + skip, sizeof bytes - skip);
}

static uint8_t *put_order(uint8_t *p, const row *r) {
    p = put_text(p, r->product);
    p = put_long(p, r->quantity);
    p = put_decimal(p, r->cents);
    p = put_text(p, r->currency);
    p = put_text(p, r->status);
    return put_long(p, r->event_time_ms);
}

static uint8_t *put_nested(uint8_t *p, const row *r) {
    char text[32];
    snprintf(text, sizeof text, "%u Main Street", (unsigned)(r->hash % 9999));
    p = put_text(p, text);
    p = put_text(p, "Springfield");
    snprintf(text, sizeof text, "%05u", (unsigned)((r->hash >> 8) % 100000));
    p = put_text(p, text);
    p = put_double(p, 40 + (double)(r->hash % 1000000) / 1e5);
    p = put_double(p, -70 - (double)(r->hash % 999983) / 1e5);
    p = put_long(p, 3); // items, one block of three
    for (uint64_t j = 0; j < 3; j++) {
        uint64_t g = mix(r->hash + j + 1);
        snprintf(text, sizeof text, "SKU-%06u", (unsigned)(g % 100000));
        p = put_text(p, text);
        p = put_long(p, 1 + (int64_t)((g >> 20) % 9));
        p = put_double(p, (double)((g >> 30) % 100000) / 100.0);
    }
    *p++ = 0;
    p = put_long(p, 3); // attributes, one block of three
    p = put_text(p, "channel");
    p = put_text(p, (r->hash & 1) != 0 ? "web" : "app");
    p = put_text(p, "currency");
    p = put_text(p, r->currency);
    p = put_text(p, "status");
    p = put_text(p, r->status);
    *p++ = 0;
    return put_long(p, r->event_time_ms);
}

static size_t put_json(uint8_t *out, const row *r) {
    int size = snprintf((char *)out, MAX_VALUE_SIZE,
                        "{\"order_id\":%" PRId64
                        ",\"customer_id\":\"%s\",\"product\":\"%s\",\"quantity\":%d,"
                        "\"price\":%" PRId64 ".%02" PRId64 ",\"currency\":\"%s\",\"status\":\"%s\","
                        "\"event_time\":%" PRId64 "}",
                        r->order_id, r->customer, r->product, r->quantity, r->cents / 100,
                        r->cents % 100, r->currency, r->status, r->event_time_ms);
    return (size_t)size;
}

static size_t put_value(uint8_t *out, const row *r, char workload, uint32_t schema_id) {
    if (workload == '2') {
        return put_json(out, r);
    }
    uint8_t *p = out;
    *p++ = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        *p++ = (uint8_t)(schema_id >> shift);
    }
    p = put_long(p, r->order_id);
    p = put_text(p, r->customer);
    p = workload == '1' ? put_order(p, r) : put_nested(p, r);
    return (size_t)(p - out);
}

static void delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        failures++;
    }
}

static rd_kafka_t *producer_new(const char *brokers) {
    const char *codec = getenv("COMP");
    const char *const settings[][2] = {
        {"bootstrap.servers", brokers},
        {"compression.codec", codec != NULL ? codec : "lz4"},
        {"linger.ms", "50"},
        {"batch.num.messages", "10000"},
        {"batch.size", "1000000"},
        {"queue.buffering.max.messages", "1000000"},
        {"queue.buffering.max.kbytes", "1000000"},
        {"enable.idempotence", "true"}, // a retry must not make a second record
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
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (rk == NULL) {
        fprintf(stderr, "%s\n", error);
        rd_kafka_conf_destroy(conf);
    }
    return rk;
}

static int send_row(rd_kafka_t *rk, rd_kafka_topic_t *topic, int32_t partition, uint8_t *value,
                    size_t size, const row *r) {
    while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, value, size, r->customer,
                            CUSTOMER_SIZE, NULL) != 0) {
        rd_kafka_resp_err_t code = rd_kafka_last_error();
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            fprintf(stderr, "%s\n", rd_kafka_err2str(code));
            return 1;
        }
        rd_kafka_poll(rk, 50);
    }
    return 0;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/** Sleeps until row number `done` is due at `rate` rows a second; returns at once without a rate.
 */
static void hold_back(double began, uint64_t done, double rate) {
    double early = rate > 0 ? (double)done / rate - (seconds() - began) : 0;
    if (early > 0.001) {
        struct timespec pause = {(time_t)early, (long)((early - (double)(time_t)early) * 1e9)};
        nanosleep(&pause, NULL);
    }
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise) {
    return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    if (argc < 5 || argv[3][0] != 'w' || strchr("123", argv[3][1]) == NULL) {
        fprintf(
            stderr,
            "usage: bench_gen BROKERS TOPIC w1|w2|w3 COUNT [PARTS=4] [SCHEMA_ID=1] [START=0]\n");
        return 2;
    }
    char workload = argv[3][1];
    uint64_t count = argument(argc, argv, 4, 0);
    uint64_t parts = argument(argc, argv, 5, 4);
    uint32_t schema_id = (uint32_t)argument(argc, argv, 6, 1);
    uint64_t start = argument(argc, argv, 7, 0);
    rd_kafka_t *rk = producer_new(argv[1]);
    if (rk == NULL) {
        return 1;
    }
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[2], NULL);
    const char *rate = getenv("RATE");
    uint64_t bytes = 0;
    int failed = parts == 0;
    double began = seconds();
    for (uint64_t i = start; i < start + count && failed == 0; i++) {
        row r;
        uint8_t value[MAX_VALUE_SIZE];
        row_make(&r, i);
        size_t size = put_value(value, &r, workload, schema_id);
        bytes += size;
        failed = send_row(rk, topic, (int32_t)(i % parts), value, size, &r);
        if (i % 100 == 0) {
            rd_kafka_poll(rk, 0);
            hold_back(began, i - start, rate != NULL ? strtod(rate, NULL) : 0);
        }
    }
    failed |= rd_kafka_flush(rk, 120000) != RD_KAFKA_RESP_ERR_NO_ERROR;
    double took = seconds() - began;
    printf("{\"topic\": \"%s\", \"workload\": \"w%c\", \"rows\": %" PRIu64
           ", \"value_bytes\": %" PRIu64 ", \"seconds\": %.3f, \"failures\": %" PRIu64 "}\n",
           argv[2], workload, count, bytes, took, failures);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return failed != 0 || failures != 0;
}
