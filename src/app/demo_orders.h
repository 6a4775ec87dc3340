// SPDX-License-Identifier: Apache-2.0
// The demo's rows: orders as Avro in Confluent framing, each a pure function of its number.
#ifndef FZ_APP_DEMO_ORDERS_H
#define FZ_APP_DEMO_ORDERS_H

#include <stddef.h>
#include <stdint.h>

/** Avro schema of a row, as JSON. */
extern const char fz_demo_orders_schema[];

#define FZ_DEMO_ORDERS_KEY_SIZE 12
#define FZ_DEMO_ORDERS_VALUE_MAX 80 // bytes
/** Most that a record takes in the log, with its key and the log's own bytes. */
#define FZ_DEMO_ORDERS_RECORD_MAX 112

typedef struct fz_demo_order {
    char key[FZ_DEMO_ORDERS_KEY_SIZE + 1]; // the customer
    uint32_t customer;                     // its number: same customer, same partition
    uint8_t value[FZ_DEMO_ORDERS_VALUE_MAX];
    size_t value_size;
} fz_demo_order;

/** Row `number` (from 0) that happened at event_time_ms, written with the schema of this id. */
void fz_demo_orders_make(int64_t number, int64_t event_time_ms, int32_t schema_id,
                         fz_demo_order *out);

#endif
