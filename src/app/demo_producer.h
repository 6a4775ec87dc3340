// SPDX-License-Identifier: Apache-2.0
// The demo's producer: a thread that stays close ahead of what the table holds.
#ifndef FZ_APP_DEMO_PRODUCER_H
#define FZ_APP_DEMO_PRODUCER_H

#include "base/clock.h"
#include "base/thread.h"
#include "io/kafka/mock_broker.h"

#define FZ_DEMO_PRODUCER_PARTITIONS 4

/** Set before start; `committed` afterwards by whoever knows, the rest by the thread. */
typedef struct fz_demo_producer {
    fz_kafka_mock_broker *broker;
    const char *topic;
    fz_clock *clock;
    int32_t schema_id;
    int64_t rows;     // the first so many at full speed, their event times over the days before
    int64_t per_hour; // rows an hour: of those behind them, and of all if paced
    bool paced;
    bool endless; // goes on behind `rows` until stopped
    _Atomic bool stop;
    _Atomic int64_t committed[FZ_DEMO_PRODUCER_PARTITIONS]; // the table's watermark
    _Atomic int64_t produced;                               // rows
    _Atomic bool done;                                      // all is in the log, or it failed
    fz_err err;                                             // after done
    fz_thread thread;
} fz_demo_producer;

void fz_demo_producer_start(fz_demo_producer *producer);
/** Stop it and wait for its end. */
void fz_demo_producer_join(fz_demo_producer *producer);

#endif
