// SPDX-License-Identifier: Apache-2.0
// Nanoseconds a row that the Parquet writer takes for W1 rows (8 columns and _kafka) or W3 rows (a
// struct, a list of three structs, a map), and the reader to read them back, as JSON.
//
// Links: fz_parquet
//
// usage: parquet_write_bench [ROWS=2000000] [ROUNDS=3] [CODEC=zstd] [FILE] [w1|w3]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/parquet/reader.h"
#include "format/parquet/writer.h"

enum { BATCH_ROWS = 8192 };

typedef struct count_sink {
    fz_sink sink;
    FILE *file;
    int64_t size;
    fz_buf *kept; // NULL: not
} count_sink;

static fz_code count_write(fz_sink *sink, const void *data, size_t size, fz_err *err) {
    count_sink *self = (count_sink *)sink;
    self->size += (int64_t)size;
    if (self->kept) {
        fz_buf_append(self->kept, data, size);
    }
    if (self->file && fwrite(data, 1, size, self->file) != size) {
        return fz_err_set(err, FZ_IO, "cannot write");
    }
    return FZ_OK;
}

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static fz_schema *w1_schema(void) {
    static const struct {
        const char *name;
        fz_type_kind kind;
    } columns[] = {
        {"order_id", FZ_TYPE_LONG},  {"customer_id", FZ_TYPE_STRING},
        {"product", FZ_TYPE_STRING}, {"quantity", FZ_TYPE_INT},
        {"amount", FZ_TYPE_DECIMAL}, {"currency", FZ_TYPE_STRING},
        {"status", FZ_TYPE_STRING},  {"created_at", FZ_TYPE_TIMESTAMPTZ},
        {"_kafka", FZ_TYPE_STRUCT},
    };
    static const struct {
        const char *name;
        fz_type_kind kind;
    } kafka[] = {
        {"partition", FZ_TYPE_INT}, {"offset", FZ_TYPE_LONG}, {"timestamp", FZ_TYPE_TIMESTAMPTZ}};
    fz_schema *schema = fz_schema_new();
    schema->root = (fz_type){.kind = FZ_TYPE_STRUCT, .field_count = FZ_COUNT(columns)};
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, FZ_COUNT(columns));
    for (size_t i = 0; i < FZ_COUNT(columns); i++) {
        fz_field *field = &schema->root.fields[i];
        field->name = fz_str_from(columns[i].name);
        field->required = i < 8;
        field->type = (fz_type){.kind = columns[i].kind, .precision = 12, .scale = 2};
    }
    fz_type *last = &schema->root.fields[8].type;
    last->field_count = FZ_COUNT(kafka);
    last->fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, FZ_COUNT(kafka));
    for (size_t i = 0; i < FZ_COUNT(kafka); i++) {
        last->fields[i].name = fz_str_from(kafka[i].name);
        last->fields[i].type.kind = kafka[i].kind;
    }
    int32_t id = 0;
    fz_type_assign_ids(&schema->root, &id);
    fz_schema_finish(schema);
    return schema;
}

static void text(fz_column *column, const char *value) {
    FZ_ASSERT(fz_column_append_bytes(column, value, strlen(value), NULL) == FZ_OK);
}

static void w1_row(fz_batch *batch, uint64_t i) {
    static const char *const currencies[] = {"USD", "EUR", "GBP", "JPY", "CHF"};
    static const char *const states[] = {"NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED"};
    static const char *const adjectives[] = {"Compact",  "Wireless", "Ergonomic", "Stainless",
                                             "Portable", "Premium",  "Organic",   "Heavy-Duty",
                                             "Classic",  "Smart"};
    static const char *const nouns[] = {"Keyboard",    "Headphones", "Backpack", "Water Bottle",
                                        "Desk Lamp",   "Notebook",   "Charger",  "Coffee Mug",
                                        "Monitor Arm", "Speaker"};
    uint64_t h = mix(i);
    uint64_t g = mix(h);
    fz_column *c = batch->columns;
    char name[64];
    fz_code code = fz_column_append_i64(&c[0], (int64_t)(100000000 + i), NULL);
    snprintf(name, sizeof name, "CUST-%07d", (int)(h % 50000));
    text(&c[1], name);
    uint64_t product = (h >> 20) % 100;
    snprintf(name, sizeof name, "%s %s", adjectives[product / 10], nouns[product % 10]);
    text(&c[2], name);
    code |= fz_column_append_i32(&c[3], (int32_t)(1 + (h >> 32) % 20), NULL);
    int64_t amount[2] = {(int64_t)(99 + g % 999900), 0};
    code |= fz_column_append_fixed(&c[4], amount, NULL);
    text(&c[5], currencies[(h >> 40) % 5]);
    text(&c[6], states[(h >> 48) % 5]);
    int64_t created = 1767225600000 + (int64_t)i * 3 + (int64_t)((g >> 40) % 1000);
    code |= fz_column_append_i64(&c[7], created * 1000, NULL);
    fz_column *k = c[8].children;
    code |= fz_column_append_i32(&k[0], (int32_t)(i / 1000 % 4), NULL);
    code |= fz_column_append_i64(&k[1], (int64_t)(i / 4000 * 1000 + i % 1000), NULL);
    code |= fz_column_append_i64(&k[2], (1767225600000 + (int64_t)(i / 50)) * 1000, NULL);
    code |= fz_column_append_struct(&c[8], NULL);
    FZ_ASSERT(code == FZ_OK);
    batch->rows++;
}

static fz_field *w3_field(fz_schema *schema, fz_type *parent, const char *name, fz_type_kind kind) {
    fz_field *field = &parent->fields[parent->field_count++];
    *field = (fz_field){.name = fz_str_from(name), .type.kind = kind};
    if (fz_type_is_nested(&field->type)) {
        field->type.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 4);
    }
    return field;
}

static fz_schema *w3_schema(void) {
    fz_schema *schema = fz_schema_new();
    fz_type *root = &schema->root;
    root->kind = FZ_TYPE_STRUCT;
    root->fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 4);
    w3_field(schema, root, "order_id", FZ_TYPE_LONG)->required = true;
    fz_type *customer = &w3_field(schema, root, "customer", FZ_TYPE_STRUCT)->type;
    w3_field(schema, customer, "id", FZ_TYPE_STRING);
    w3_field(schema, customer, "tier", FZ_TYPE_STRING);
    fz_type *items = &w3_field(schema, root, "items", FZ_TYPE_LIST)->type;
    fz_type *item = &w3_field(schema, items, "element", FZ_TYPE_STRUCT)->type;
    w3_field(schema, item, "sku", FZ_TYPE_STRING);
    w3_field(schema, item, "quantity", FZ_TYPE_INT);
    w3_field(schema, item, "price", FZ_TYPE_DOUBLE);
    fz_type *tags = &w3_field(schema, root, "tags", FZ_TYPE_MAP)->type;
    w3_field(schema, tags, "key", FZ_TYPE_STRING)->required = true;
    w3_field(schema, tags, "value", FZ_TYPE_STRING);
    int32_t id = 0;
    fz_type_assign_ids(root, &id);
    fz_schema_finish(schema);
    return schema;
}

static void w3_row(fz_batch *batch, uint64_t i) {
    static const char *const tiers[] = {"gold", "silver", "bronze"};
    static const char *const keys[] = {"channel", "campaign"};
    uint64_t h = mix(i);
    fz_column *c = batch->columns;
    char name[64];
    fz_code code = fz_column_append_i64(&c[0], (int64_t)(100000000 + i), NULL);
    snprintf(name, sizeof name, "CUST-%07d", (int)(h % 50000));
    text(&c[1].children[0], name);
    text(&c[1].children[1], tiers[(h >> 20) % 3]);
    code |= fz_column_append_struct(&c[1], NULL);
    fz_column *item = &c[2].children[0];
    for (uint64_t k = 0; k < 3; k++) {
        uint64_t g = mix(h + k);
        snprintf(name, sizeof name, "SKU-%05d", (int)(g % 2000));
        text(&item->children[0], name);
        code |= fz_column_append_i32(&item->children[1], (int32_t)(1 + (g >> 32) % 9), NULL);
        code |= fz_column_append_double(&item->children[2], (double)(g % 99999) / 100, NULL);
        code |= fz_column_append_struct(item, NULL);
    }
    code |= fz_column_append_list(&c[2], NULL);
    for (int k = 0; k < 2; k++) {
        text(&c[3].children[0], keys[k]);
        snprintf(name, sizeof name, "v%d", (int)((h >> (8 * k)) % 50));
        text(&c[3].children[1], name);
    }
    code |= fz_column_append_list(&c[3], NULL);
    FZ_ASSERT(code == FZ_OK);
    batch->rows++;
}

static fz_codec codec_of(const char *name) {
    for (int i = FZ_CODEC_NONE; i <= FZ_CODEC_BROTLI; i++) {
        if (strcmp(name, fz_codec_name((fz_codec)i)) == 0) {
            return (fz_codec)i;
        }
    }
    return FZ_CODEC_ZSTD;
}

/** Read all rows of a file in memory; CPU nanoseconds. */
static double read_back(fz_str bytes, fz_schema *schema) {
    double start = cpu_ns();
    fz_parquet_memory_source source;
    fz_parquet_memory_source_init(&source, bytes);
    fz_parquet_reader *reader = NULL;
    fz_batch *batch = fz_batch_new(schema, NULL);
    int64_t rows = 1;
    fz_code code = fz_parquet_reader_open(&source.source, NULL, NULL, &reader, NULL);
    code = code ? code : fz_parquet_reader_project(reader, schema, NULL);
    while (code == FZ_OK && rows > 0) {
        fz_batch_reset(batch);
        code = fz_parquet_reader_next(reader, batch, BATCH_ROWS, &rows, NULL);
    }
    FZ_ASSERT(code == FZ_OK);
    fz_parquet_reader_free(reader);
    fz_batch_free(batch);
    return cpu_ns() - start;
}

int main(int argc, char **argv) {
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 2000000;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    options.codec = codec_of(argc > 3 ? argv[3] : "zstd");
    options.delta = getenv("DELTA") != NULL; // what DELTA_BINARY_PACKED would save
    bool nested = argc > 5 && strcmp(argv[5], "w3") == 0;
    fz_schema *schema = nested ? w3_schema() : w1_schema();
    size_t batches = (size_t)(rows / BATCH_ROWS);
    fz_batch **all = calloc(batches + 1, sizeof *all);
    for (size_t b = 0; b < batches; b++) {
        all[b] = fz_batch_new(schema, NULL);
        for (uint64_t r = 0; r < BATCH_ROWS; r++) {
            (nested ? w3_row : w1_row)(all[b], b * BATCH_ROWS + r);
        }
    }
    double best = 0;
    fz_buf kept = {0};
    count_sink sink = {{count_write}, NULL, 0, NULL};
    fz_budget budget;
    for (int round = 0; round < rounds; round++) {
        sink.size = 0;
        sink.kept = round == rounds - 1 ? &kept : NULL;
        sink.file = argc > 4 && round == 0 ? fopen(argv[4], "wb") : NULL;
        fz_budget_init(&budget, 0);
        double start = cpu_ns();
        fz_parquet_writer *writer;
        fz_err err = {0};
        fz_code code = fz_parquet_writer_new(schema, &options, &sink.sink, &budget, &writer, &err);
        for (size_t b = 0; b < batches && code == FZ_OK; b++) {
            code = fz_parquet_writer_append(writer, all[b], 0, BATCH_ROWS, &err);
        }
        code = code ? code : fz_parquet_writer_close(writer, NULL, &err);
        if (code != FZ_OK) {
            fprintf(stderr, "%s\n", fz_err_text(&err));
            return 1;
        }
        fz_parquet_writer_free(writer);
        double took = (cpu_ns() - start) / (double)(batches * BATCH_ROWS);
        best = round == 0 || took < best ? took : best;
        if (sink.file) {
            fclose(sink.file);
        }
    }
    printf("{\"rows\": %zu, \"codec\": \"%s\", \"ns_per_row\": %.1f, \"bytes_per_row\": %.2f, "
           "\"read_ns_per_row\": %.1f, \"peak_bytes\": %lld}\n",
           batches * BATCH_ROWS, fz_codec_name(options.codec), best,
           (double)sink.size / (double)(batches * BATCH_ROWS),
           read_back(fz_buf_view(&kept), schema) / (double)(batches * BATCH_ROWS),
           (long long)budget.peak);
    fz_buf_deinit(&kept);
    for (size_t b = 0; b < batches; b++) {
        fz_batch_free(all[b]);
    }
    free(all);
    fz_schema_unref(schema);
    return 0;
}
