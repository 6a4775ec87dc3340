// SPDX-License-Identifier: Apache-2.0
// A table in a memory store for tests of scans: rows as JSON single values, one file a call.
#ifndef TESTS_UNIT_TABLE_SCAN_SCAN_TABLE_H
#define TESTS_UNIT_TABLE_SCAN_SCAN_TABLE_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rand.h"
#include "data/json_value.h"
#include "format/parquet/writer.h"
#include "io/store/memory_store.h"
#include "table/iceberg/append.h"
#include "table/iceberg/update.h"

#define OK(call) assert_int_equal((call), FZ_OK)

typedef struct scan_table {
    fz_store *store;
    fz_iceberg_metadata *metadata;
    int files;
    int64_t now_ms;
} scan_table;

static fz_schema *scan_table_schema(const char *fields) {
    json_t *json = NULL;
    fz_schema *schema = NULL;
    fz_err err = {0};
    fz_buf text = {0};
    fz_buf_printf(&text, "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[%s]}", fields);
    OK(fz_json_parse(fz_buf_view(&text), &json, &err));
    if (fz_schema_from_json(json, &schema, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    json_decref(json);
    fz_buf_deinit(&text);
    return schema;
}

// transform NULL: unpartitioned
static void scan_table_init(scan_table *t, int version, const char *fields, int32_t source_id,
                            const char *transform) {
    fz_err err = {0};
    fz_schema *schema = scan_table_schema(fields);
    fz_partition_field field = {.source_id = source_id, .name = FZ_STR("part")};
    fz_partition_spec spec = {.fields = &field, .field_count = 1};
    *t = (scan_table){.store = fz_store_memory_new("lake", 0), .now_ms = 1000};
    if (transform) {
        field.transform = fz_transform_parse(fz_str_from(transform));
        field.transform_text = fz_str_from(transform);
        field.source_type = fz_schema_find_id(schema, source_id)->type;
        OK(fz_transform_result(field.transform, &field.source_type, &field.result_type, &err));
    }
    const fz_iceberg_new_options options = {.schema = schema,
                                            .spec = transform ? &spec : NULL,
                                            .location = FZ_STR("memory://lake/t"),
                                            .format_version = version,
                                            .now_ms = t->now_ms};
    if (fz_iceberg_metadata_new(&options, &t->metadata, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_schema_unref(schema);
}

static void scan_table_deinit(scan_table *t) {
    fz_iceberg_metadata_unref(t->metadata);
    fz_store_free(t->store);
}

static void scan_table_put(scan_table *t, fz_str uri, fz_str body) {
    fz_err err = {0};
    fz_str key;
    OK(fz_store_key(t->store, uri, &key, &err));
    OK(fz_store_put(t->store, key, body, &err));
}

// Commit one file, or a new schema (of `fields`), or both.
static void scan_table_commit(scan_table *t, const fz_iceberg_file *file, const char *fields) {
    fz_err err = {0};
    fz_buf list = {0};
    fz_iceberg_snapshot parent;
    json_t *schema_json = NULL;
    if (fz_iceberg_metadata_main(t->metadata, &parent)) {
        fz_str key;
        OK(fz_store_key(t->store, parent.manifest_list, &key, &err));
        OK(fz_store_read_all(t->store, key, &list, &err));
    }
    if (fields) {
        fz_schema *schema = scan_table_schema(fields);
        schema_json = fz_schema_to_json(schema);
        fz_schema_unref(schema);
    }
    char uuid[37];
    fz_rand_uuid(uuid);
    t->now_ms += 1000;
    fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(uuid));
    if (file) {
        fz_iceberg_append_add(append, file);
    }
    const fz_iceberg_append_options options = {
        .now_ms = t->now_ms, .parent_list = fz_buf_view(&list), .schema = schema_json};
    fz_iceberg_change change = {0};
    if (fz_iceberg_append_build(append, t->metadata, &options, &change, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < change.upload_count; i++) {
        scan_table_put(t, change.uploads[i].path, change.uploads[i].bytes);
    }
    fz_iceberg_metadata *next = NULL;
    if (fz_iceberg_update_apply(t->metadata, change.updates, t->now_ms, &next, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_iceberg_metadata_unref(t->metadata);
    t->metadata = next;
    fz_iceberg_change_deinit(&change);
    fz_iceberg_append_free(append);
    json_decref(schema_json);
    fz_buf_deinit(&list);
}

// Rows (an array of arrays, one value a column) as a Parquet file; metrics may be NULL.
static void scan_table_parquet(fz_schema *schema, const char *rows, fz_buf *bytes,
                               fz_file_metrics *metrics) {
    fz_err err = {0};
    json_t *json = NULL;
    fz_batch *batch = fz_batch_new(schema, NULL);
    OK(fz_json_parse(fz_str_from(rows), &json, &err));
    for (size_t row = 0; row < json_array_size(json); row++) {
        for (size_t i = 0; i < batch->column_count; i++) {
            const json_t *cell = json_array_get(json_array_get(json, row), i);
            if (fz_column_append_json(&batch->columns[i], cell, &err) != FZ_OK) {
                fail_msg("%s", err.text);
            }
        }
        batch->rows++;
    }
    json_decref(json);
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, bytes);
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    options.version = FZ_STR("test");
    fz_parquet_writer *writer = NULL;
    OK(fz_parquet_writer_new(schema, &options, &sink.sink, NULL, &writer, &err));
    OK(fz_parquet_writer_append(writer, batch, 0, batch->rows, &err));
    OK(fz_parquet_writer_close(writer, metrics, &err));
    fz_parquet_writer_free(writer);
    fz_batch_free(batch);
}

// Write rows with the schema given and commit them; part is the partition value, NULL if there is
// none.
static void scan_table_add(scan_table *t, const char *fields, const char *rows,
                           const fz_value *part) {
    fz_schema *schema = scan_table_schema(fields);
    fz_buf bytes = {0};
    fz_file_metrics metrics = {0};
    scan_table_parquet(schema, rows, &bytes, &metrics);
    fz_arena arena = {0};
    fz_value value = part ? *part : (fz_value){0};
    fz_iceberg_file file = {.content = FZ_ICEBERG_DATA,
                            .format = FZ_STR("PARQUET"),
                            .spec_id = fz_iceberg_metadata_spec_id(t->metadata),
                            .partition = part ? &value : NULL,
                            .partition_count = part ? 1 : 0,
                            .sort_order_id = FZ_ICEBERG_NONE,
                            .first_row_id = FZ_ICEBERG_NONE,
                            .content_offset = FZ_ICEBERG_NONE,
                            .content_size_bytes = FZ_ICEBERG_NONE};
    file.path = fz_arena_printf(&arena, "memory://lake/t/data/%d.parquet", t->files++);
    fz_iceberg_file_set_metrics(&file, &metrics, schema, t->metadata, &arena);
    scan_table_put(t, file.path, fz_buf_view(&bytes));
    scan_table_commit(t, &file, NULL);
    fz_arena_deinit(&arena);
    fz_file_metrics_deinit(&metrics);
    fz_buf_deinit(&bytes);
    fz_schema_unref(schema);
}

#endif
