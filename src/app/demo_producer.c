// SPDX-License-Identifier: Apache-2.0
// The demo's producer.
#include "app/demo_producer.h"

#include "app/demo_orders.h"

/** The mock forgets what a partition has above 5 MB: what is not in the table yet stays within 2
 * MiB. */
#define AHEAD_MAX ((2 << 20) / FZ_DEMO_ORDERS_RECORD_MAX)
#define DAY_MS (24 * 3600 * 1000LL)
#define DAYS 3
#define FLUSH_MS 20000

_Static_assert((2 << 20) < FZ_KAFKA_MOCK_BROKER_PARTITION_BYTES / 2, "room for what is under way");

typedef struct demo_pace {
    int64_t began_us;
    int64_t began_row;
} demo_pace;

/** Wait until row `number` is due. */
static void wait_due(fz_demo_producer *producer, demo_pace *pace, int64_t number) {
    if (number < producer->rows && !producer->paced) {
        return;
    }
    if (pace->began_us < 0) {
        *pace = (demo_pace){fz_clock_mono_us(producer->clock), number};
    }
    double due = (double)pace->began_us +
                 (double)(number - pace->began_row) * 3.6e9 / (double)producer->per_hour;
    while (!producer->stop && (double)fz_clock_mono_us(producer->clock) < due) {
        double left_ms = (due - (double)fz_clock_mono_us(producer->clock)) / 1000;
        fz_clock_sleep_ms(producer->clock, left_ms > 20 ? 20 : left_ms > 1 ? (int64_t)left_ms : 1);
    }
}

/** Wait until the partition has room for the record at `offset`. */
static void wait_room(fz_demo_producer *producer, int32_t partition, int64_t offset) {
    while (!producer->stop && offset - producer->committed[partition] >= AHEAD_MAX) {
        fz_clock_sleep_ms(producer->clock, 5);
    }
}

/** The first rows happened over the last days, evenly; later ones happen now. */
static int64_t event_time(const fz_demo_producer *producer, int64_t start_ms, int64_t number) {
    if (number >= producer->rows) {
        return fz_clock_wall_ms(producer->clock);
    }
    double part = (double)(producer->rows - number) / (double)producer->rows;
    return start_ms - (int64_t)(part * (double)(DAYS * DAY_MS));
}

static fz_code produce(fz_demo_producer *producer) {
    int64_t next[FZ_DEMO_PRODUCER_PARTITIONS] = {0};
    int64_t start_ms = fz_clock_wall_ms(producer->clock);
    demo_pace pace = {.began_us = -1};
    for (int64_t i = 0; !producer->stop && (producer->endless || i < producer->rows); i++) {
        fz_demo_order order;
        wait_due(producer, &pace, i);
        fz_demo_orders_make(i, event_time(producer, start_ms, i), producer->schema_id, &order);
        int32_t partition = (int32_t)(order.customer % FZ_DEMO_PRODUCER_PARTITIONS);
        wait_room(producer, partition, next[partition]);
        if (producer->stop) {
            break;
        }
        fz_kafka_mock_record record = {.topic = producer->topic,
                                       .partition = partition,
                                       .key = order.key,
                                       .key_size = FZ_DEMO_ORDERS_KEY_SIZE,
                                       .value = order.value,
                                       .value_size = order.value_size};
        FZ_TRY(fz_kafka_mock_broker_produce(producer->broker, &record, &producer->err));
        next[partition]++;
        producer->produced++;
    }
    return fz_kafka_mock_broker_flush(producer->broker, FLUSH_MS, &producer->err);
}

static void run(void *arg) {
    fz_demo_producer *producer = (fz_demo_producer *)arg;
    producer->err.code = produce(producer);
    producer->done = true;
}

void fz_demo_producer_start(fz_demo_producer *producer) {
    fz_thread_start(&producer->thread, "fz-demo", run, producer);
}

void fz_demo_producer_join(fz_demo_producer *producer) {
    producer->stop = true;
    fz_thread_join(&producer->thread);
}
