// SPDX-License-Identifier: Apache-2.0
// Nanoseconds per record of the Avro decoder: the orders of bench/gen.c (w1, w3), from memory.
//
// Links: fz_avro
//
// usage: avro_decode_bench [ROUNDS=200]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "format/avro/schema.h"

#define ROWS 20000
#define ROUNDS 200

static const char flat_schema[] =
    "{\"type\":\"record\",\"name\":\"Order\",\"fields\":["
    "{\"name\":\"order_id\",\"type\":\"long\"},{\"name\":\"customer_id\",\"type\":\"string\"},"
    "{\"name\":\"product\",\"type\":\"string\"},{\"name\":\"quantity\",\"type\":\"int\"},"
    "{\"name\":\"price\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,"
    "\"scale\":2}},{\"name\":\"currency\",\"type\":\"string\"},{\"name\":\"status\",\"type\":"
    "\"string\"},{\"name\":\"event_time\",\"type\":{\"type\":\"long\",\"logicalType\":"
    "\"timestamp-millis\"}}]}";
static const char nested_schema[] =
    "{\"type\":\"record\",\"name\":\"Order\",\"fields\":["
    "{\"name\":\"order_id\",\"type\":\"long\"},{\"name\":\"customer_id\",\"type\":\"string\"},"
    "{\"name\":\"address\",\"type\":{\"type\":\"record\",\"name\":\"Address\",\"fields\":["
    "{\"name\":\"street\",\"type\":\"string\"},{\"name\":\"city\",\"type\":\"string\"},"
    "{\"name\":\"zip\",\"type\":\"string\"},{\"name\":\"lat\",\"type\":\"double\"},"
    "{\"name\":\"lon\",\"type\":\"double\"}]}},{\"name\":\"items\",\"type\":{\"type\":\"array\","
    "\"items\":{\"type\":\"record\",\"name\":\"Item\",\"fields\":[{\"name\":\"sku\",\"type\":"
    "\"string\"},{\"name\":\"qty\",\"type\":\"int\"},{\"name\":\"price\",\"type\":\"double\"}]}}},"
    "{\"name\":\"attributes\",\"type\":{\"type\":\"map\",\"values\":\"string\"}},"
    "{\"name\":\"event_time\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}]}";

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static void put_long(fz_buf *out, int64_t value) {
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    for (; bits > 127; bits >>= 7) {
        fz_buf_append_byte(out, (uint8_t)(bits | 128));
    }
    fz_buf_append_byte(out, (uint8_t)bits);
}

static void put_text(fz_buf *out, const char *text) {
    put_long(out, (int64_t)strlen(text));
    fz_buf_append(out, text, strlen(text));
}

static void put_double(fz_buf *out, double value) {
    fz_buf_append(out, &value, sizeof(value));
}

// Fewest bytes of a positive number.
static void put_decimal(fz_buf *out, int64_t value) {
    int size = 1;
    while (value >> (8 * size - 1)) {
        size++;
    }
    put_long(out, size);
    for (int i = size - 1; i >= 0; i--) {
        fz_buf_append_byte(out, (uint8_t)(value >> (8 * i)));
    }
}

static const char *const currencies[] = {"USD", "EUR", "GBP", "JPY", "CHF"};
static const char *const states[] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};

static void put_flat(fz_buf *out, uint64_t i, uint64_t h) {
    static const char *const adjectives[] = {"Compact",  "Wireless", "Ergonomic", "Stainless",
                                             "Portable", "Premium",  "Organic",   "Heavy-Duty",
                                             "Classic",  "Smart"};
    static const char *const nouns[] = {"Keyboard",    "Headphones", "Backpack", "Water Bottle",
                                        "Desk Lamp",   "Notebook",   "Charger",  "Coffee Mug",
                                        "Monitor Arm", "Speaker"};
    char text[48];
    uint64_t product = (h >> 20) % 100;
    uint64_t g = mix(h);
    snprintf(text, sizeof(text), "%s %s", adjectives[product / 10], nouns[product % 10]);
    put_text(out, text);
    put_long(out, 1 + (int64_t)((h >> 32) % 20));
    put_decimal(out, 99 + (int64_t)(g % 999900));
    put_text(out, currencies[(h >> 40) % 5]);
    put_text(out, states[(h >> 48) % 5]);
    put_long(out, INT64_C(1767225600000) + (int64_t)(i * 3 + (g >> 40) % 1000));
}

static void put_nested(fz_buf *out, uint64_t i, uint64_t h) {
    char text[48];
    snprintf(text, sizeof(text), "%d Main Street", (int)(h % 9999));
    put_text(out, text);
    put_text(out, "Springfield");
    snprintf(text, sizeof(text), "%05d", (int)((h >> 8) % 100000));
    put_text(out, text);
    put_double(out, 40 + (double)(h % 1000000) / 1e5);
    put_double(out, -70 - (double)(h % 999983) / 1e5);
    put_long(out, 3);
    for (uint64_t j = 0; j < 3; j++) {
        uint64_t g = mix(h + j + 1);
        snprintf(text, sizeof(text), "SKU-%06d", (int)(g % 100000));
        put_text(out, text);
        put_long(out, 1 + (int64_t)((g >> 20) % 9));
        put_double(out, (double)((g >> 30) % 100000) / 100.0);
    }
    put_long(out, 0);
    put_long(out, 3);
    put_text(out, "channel");
    put_text(out, h & 1 ? "web" : "app");
    put_text(out, "currency");
    put_text(out, currencies[(h >> 40) % 5]);
    put_text(out, "status");
    put_text(out, states[(h >> 48) % 5]);
    put_long(out, 0);
    put_long(out, INT64_C(1767225600000) + (int64_t)(i * 3));
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void die(const char *what, const fz_err *err) {
    fprintf(stderr, "%s: %s\n", what, fz_err_text(err));
    exit(1);
}

static size_t count_fields(const fz_type *type) {
    size_t count = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        count += fz_type_is_nested(&type->fields[i].type) ? count_fields(&type->fields[i].type) : 1;
    }
    return count;
}

static double round_ns(fz_decoder *decoder, const fz_buf *all, const size_t *at, fz_batch *batch) {
    fz_err err = {0};
    fz_batch_reset(batch);
    double start = now_ns();
    for (size_t i = 0; i < ROWS; i++) {
        if (fz_decoder_decode(decoder, all->data + at[i], at[i + 1] - at[i], batch, &err) !=
            FZ_OK) {
            die("decode", &err);
        }
        batch->rows++;
    }
    return (now_ns() - start) / ROWS;
}

static void bench(const char *name, const char *text, bool nested, int rounds) {
    fz_err err = {0};
    fz_writer_schema *schema = NULL;
    fz_schema *shape = NULL;
    fz_decoder *decoder = NULL;
    fz_mapping_options options = {.format_version = 2};
    if (fz_avro_schema_new(fz_str_from(text), NULL, 0, NULL, &schema, &err) != FZ_OK ||
        fz_writer_schema_shape(schema, &options, NULL, &shape, &err) != FZ_OK) {
        die("schema", &err);
    }
    int32_t last_id = 0;
    fz_type_assign_ids(&shape->root, &last_id);
    bool owned[16];
    memset(owned, true, sizeof(owned));
    if (fz_decoder_open(schema, shape, shape, owned, &decoder, &err) != FZ_OK) {
        die("open", &err);
    }
    fz_buf all = {0};
    size_t *at = (size_t *)fz_calloc(ROWS + 1, sizeof(size_t));
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t h = mix(i);
        char customer[16];
        put_long(&all, 100000000 + (int64_t)i);
        snprintf(customer, sizeof(customer), "CUST-%07d", (int)(h % 50000));
        put_text(&all, customer);
        (nested ? put_nested : put_flat)(&all, i, h);
        at[i + 1] = all.size;
    }
    fz_batch *batch = fz_batch_new(shape, NULL);
    double best = round_ns(decoder, &all, at, batch);
    for (int i = 1; i < rounds; i++) {
        double ns = round_ns(decoder, &all, at, batch);
        best = ns < best ? ns : best;
    }
    printf("{\"bench\": \"avro_decode\", \"record\": \"%s\", \"columns\": %zu, \"bytes\": %.1f, "
           "\"ns_per_record\": %.1f, \"mib_per_s\": %.0f}\n",
           name, count_fields(&shape->root), (double)all.size / ROWS, best,
           (double)all.size / ROWS / best * 1e9 / 1048576);
    fz_batch_free(batch);
    fz_free(at);
    fz_buf_deinit(&all);
    fz_decoder_free(decoder);
    fz_schema_unref(shape);
    fz_writer_schema_free(schema);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
    bench("w1", flat_schema, false, rounds);
    bench("w3", nested_schema, true, rounds);
    return 0;
}
