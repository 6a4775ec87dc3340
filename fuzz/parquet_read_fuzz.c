// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Parquet file: within the limits, and what can be read is written and read back the
// same.
//
// Links: fz_parquet
// Seeds: parquet/good parquet/bad
#include "base/sink.h"
#include "format/parquet/reader.h"
#include "format/parquet/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEP = 100, STEPS = 20, MEMORY = 64 << 20 };

/** Read some rows of the file's own columns; NULL if it cannot be read. */
static fz_batch *read_some(fz_str bytes, fz_schema *as, fz_budget *budget) {
    fz_parquet_memory_source source;
    fz_parquet_memory_source_init(&source, bytes);
    fz_parquet_limits limits;
    fz_parquet_limits_init(&limits);
    limits.page_size = 4 << 20;
    limits.elements = 500;
    limits.ignore_crc = true;
    fz_parquet_reader *reader = NULL;
    fz_err err = {0};
    if (fz_parquet_reader_open(&source.source, &limits, budget, &reader, &err) != FZ_OK) {
        FZ_ASSERT(err.text[0]);
        return NULL;
    }
    fz_schema *schema = as ? as : fz_parquet_reader_schema(reader);
    fz_batch *batch = fz_batch_new(schema, budget);
    fz_code code = fz_parquet_reader_project(reader, schema, &err);
    int64_t rows = 1;
    for (int i = 0; i < STEPS && code == FZ_OK && rows > 0; i++) {
        int64_t before = batch->rows;
        code = fz_parquet_reader_next(reader, batch, STEP, &rows, &err);
        FZ_ASSERT(batch->rows == before + (code == FZ_OK ? rows : 0));
        for (size_t c = 0; c < batch->column_count; c++) {
            FZ_ASSERT(batch->columns[c].length == batch->rows);
        }
    }
    fz_parquet_reader_free(reader);
    if (code != FZ_OK && batch->rows == 0) {
        fz_batch_free(batch);
        return NULL;
    }
    return batch;
}

static void check_same(const fz_column *a, const fz_column *b, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        FZ_ASSERT(fz_column_is_null(a, i) == fz_column_is_null(b, i));
        if (fz_column_is_null(a, i)) {
            continue;
        }
        fz_type_kind kind = a->field->type.kind;
        if (kind == FZ_TYPE_STRING || kind == FZ_TYPE_BINARY) {
            FZ_ASSERT(fz_str_equal(fz_column_bytes(a, i), fz_column_bytes(b, i)));
        } else if (kind == FZ_TYPE_LIST || kind == FZ_TYPE_MAP) {
            FZ_ASSERT(a->offsets[i + 1] - a->offsets[i] == b->offsets[i + 1] - b->offsets[i]);
            for (size_t c = 0; c < a->child_count; c++) {
                FZ_ASSERT(a->offsets[i] == b->offsets[i]);
                check_same(&a->children[c], &b->children[c], a->offsets[i], a->offsets[i + 1]);
            }
        } else if (kind == FZ_TYPE_STRUCT) {
            for (size_t c = 0; c < a->child_count; c++) {
                check_same(&a->children[c], &b->children[c], i, i + 1);
            }
        } else if (a->width) {
            size_t width = (size_t)a->width;
            FZ_ASSERT(memcmp((const uint8_t *)a->values + (size_t)i * width,
                             (const uint8_t *)b->values + (size_t)i * width, width) == 0);
        }
    }
}

static void renumber(fz_type *type, int32_t *last) {
    for (size_t i = 0; i < type->field_count; i++) {
        type->fields[i].id = ++*last;
        renumber(&type->fields[i].type, last);
    }
}

static void round_trip(const fz_batch *batch, fz_budget *budget) {
    fz_buf bytes = {0};
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, &bytes);
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    options.codec = FZ_CODEC_SNAPPY;
    options.page_rows = 30;
    fz_parquet_writer *writer = NULL;
    if (fz_parquet_writer_new(batch->schema, &options, &sink.sink, NULL, &writer, NULL) != FZ_OK) {
        return; // a column name of no fields, or nothing to write
    }
    FZ_ASSERT(fz_parquet_writer_append(writer, batch, 0, batch->rows, NULL) == FZ_OK);
    FZ_ASSERT(fz_parquet_writer_close(writer, NULL, NULL) == FZ_OK);
    fz_parquet_writer_free(writer);
    fz_batch *back = read_some(fz_buf_view(&bytes), batch->schema, budget);
    if (back && fz_budget_used(budget) < MEMORY / 2) {
        FZ_ASSERT(back->rows == batch->rows);
        for (size_t c = 0; c < batch->column_count; c++) {
            check_same(&batch->columns[c], &back->columns[c], 0, batch->rows);
        }
    }
    fz_batch_free(back);
    fz_buf_deinit(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_budget budget;
    fz_budget_init(&budget, MEMORY);
    fz_batch *batch = read_some(fz_str_make(data, size), NULL, &budget);
    // Ids that a hostile file repeats make its columns ambiguous when read back; files of ours
    // never do.
    if (batch && batch->rows > 0 && fz_batch_size(batch) < 1 << 20) {
        int32_t last = 0;
        renumber(&batch->schema->root, &last);
        round_trip(batch, &budget);
    }
    fz_batch_free(batch);
    FZ_ASSERT(fz_budget_used(&budget) == 0);
    return 0;
}
