// SPDX-License-Identifier: Apache-2.0
// The demo's rows.
#include "app/demo_orders.h"

#include <stdio.h>
#include <string.h>

const char fz_demo_orders_schema[] =
    "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":["
    "{\"name\":\"order_id\",\"type\":\"long\"},"
    "{\"name\":\"customer_id\",\"type\":\"string\"},"
    "{\"name\":\"product\",\"type\":\"string\"},"
    "{\"name\":\"quantity\",\"type\":\"int\"},"
    "{\"name\":\"price\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,"
    "\"scale\":2}},"
    "{\"name\":\"currency\",\"type\":\"string\"},"
    "{\"name\":\"status\",\"type\":\"string\"},"
    "{\"name\":\"event_time\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}]}";

static const char *const currencies[5] = {"USD", "EUR", "GBP", "JPY", "CHF"};
static const char *const statuses[5] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};
static const char *const adjectives[10] = {"Compact",  "Wireless", "Ergonomic", "Stainless",
                                           "Portable", "Premium",  "Organic",   "Heavy-Duty",
                                           "Classic",  "Smart"};
static const char *const nouns[10] = {"Keyboard",    "Headphones", "Backpack", "Water Bottle",
                                      "Desk Lamp",   "Notebook",   "Charger",  "Coffee Mug",
                                      "Monitor Arm", "Speaker"};

/** splitmix64 */
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static uint8_t *put_long(uint8_t *to, int64_t value) {
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (bits > 127) {
        *to++ = (uint8_t)(bits | 128);
        bits >>= 7;
    }
    *to++ = (uint8_t)bits;
    return to;
}

static uint8_t *put_text(uint8_t *to, const char *text) {
    size_t size = strlen(text);
    to = put_long(to, (int64_t)size);
    memcpy(to, text, size);
    return to + size;
}

/** Avro decimal below 2^31: big-endian two's complement, four bytes. */
static uint8_t *put_cents(uint8_t *to, uint32_t cents) {
    *to++ = 4 << 1;
    for (int shift = 24; shift >= 0; shift -= 8) {
        *to++ = (uint8_t)(cents >> shift);
    }
    return to;
}

void fz_demo_orders_make(int64_t number, int64_t event_time_ms, int32_t schema_id,
                         fz_demo_order *out) {
    uint64_t h = mix((uint64_t)number);
    uint64_t g = mix(h);
    out->customer = (uint32_t)(h % 50000);
    snprintf(out->key, sizeof out->key, "CUST-%07u", (unsigned)out->customer);
    unsigned product = (unsigned)((h >> 20) % 100);
    char name[32];
    snprintf(name, sizeof name, "%s %s", adjectives[product / 10], nouns[product % 10]);
    uint8_t *to = out->value;
    *to++ = 0; // Confluent framing: magic byte, schema id
    for (int shift = 24; shift >= 0; shift -= 8) {
        *to++ = (uint8_t)((uint32_t)schema_id >> shift);
    }
    to = put_long(to, 100000000 + number);
    to = put_text(to, out->key);
    to = put_text(to, name);
    to = put_long(to, 1 + (int64_t)((h >> 32) % 20));
    to = put_cents(to, 99 + (uint32_t)(g % 999900));
    to = put_text(to, currencies[(h >> 40) % 5]);
    to = put_text(to, statuses[(h >> 48) % 5]);
    to = put_long(to, event_time_ms);
    out->value_size = (size_t)(to - out->value);
}
