// SPDX-License-Identifier: Apache-2.0
// Tests of the Parquet reader against the writer.
#include "format/parquet/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "sample.h"

static void write_file(fz_schema *schema, const fz_batch *batch, const fz_parquet_options *options,
                       fz_buf *out) {
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, out);
    fz_parquet_writer *writer;
    fz_err err = {0};
    FZ_ASSERT(fz_parquet_writer_new(schema, options, &sink.sink, NULL, &writer, &err) == FZ_OK);
    FZ_ASSERT(fz_parquet_writer_append(writer, batch, 0, batch->rows, &err) == FZ_OK);
    FZ_ASSERT(fz_parquet_writer_close(writer, NULL, &err) == FZ_OK);
    fz_parquet_writer_free(writer);
}

/** Read all rows of the wanted columns in batches of `step`. */
static fz_code read_file(fz_str bytes, fz_schema *schema, int64_t step, fz_batch **out,
                         fz_err *err) {
    fz_parquet_memory_source source;
    fz_parquet_memory_source_init(&source, bytes);
    fz_budget budget;
    fz_budget_init(&budget, 0);
    fz_parquet_reader *reader = NULL;
    fz_code code = fz_parquet_reader_open(&source.source, NULL, &budget, &reader, err);
    if (code != FZ_OK) {
        FZ_ASSERT(fz_budget_used(&budget) == 0);
        return code;
    }
    fz_schema *wanted = schema ? schema : fz_parquet_reader_schema(reader);
    fz_batch *batch = fz_batch_new(wanted, NULL);
    code = fz_parquet_reader_project(reader, wanted, err);
    int64_t rows = 1;
    while (code == FZ_OK && rows > 0) {
        code = fz_parquet_reader_next(reader, batch, step, &rows, err);
    }
    if (code == FZ_OK) {
        FZ_ASSERT(batch->rows == fz_parquet_reader_rows(reader));
        *out = batch;
    } else {
        fz_batch_free(batch);
    }
    fz_parquet_reader_free(reader);
    FZ_ASSERT(fz_budget_used(&budget) == 0);
    return code;
}

static char *dump(const fz_batch *batch) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    sample_dump_rows(out, batch);
    fclose(out);
    return text;
}

static void round_trips(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        uint64_t random = seed * 31 + 7;
        fz_schema *schema = sample_schema(&random);
        fz_parquet_options options;
        sample_options(&options, &random);
        fz_batch *batch = sample_batch(schema, &random, (int64_t)sample_below(&random, 1500));
        fz_buf bytes = {0};
        write_file(schema, batch, &options, &bytes);
        char *want = dump(batch);
        for (int mode = 0; mode < 2; mode++) { // by the table's schema; by the file's own
            fz_batch *back = NULL;
            fz_err err = {0};
            fz_code code = read_file(fz_buf_view(&bytes), mode ? NULL : schema,
                                     1 + (int64_t)sample_below(&random, 700), &back, &err);
            if (code != FZ_OK) {
                fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
            }
            char *have = dump(back);
            assert_string_equal(have, want);
            assert_true(fz_type_equal(&back->schema->root, &schema->root));
            for (size_t i = 0; i < batch->column_count; i++) {
                assert_int_equal(back->columns[i].null_count, batch->columns[i].null_count);
            }
            free(have);
            fz_batch_free(back);
        }
        free(want);
        fz_buf_deinit(&bytes);
        fz_batch_free(batch);
        fz_schema_unref(schema);
    }
}

static fz_field *add(fz_schema *schema, fz_type *parent, int32_t id, const char *name,
                     fz_type_kind kind) {
    (void)schema;
    fz_field *field = &parent->fields[parent->field_count++];
    *field = (fz_field){.id = id, .name = fz_str_from(name), .type = {.kind = kind}};
    return field;
}

static fz_schema *empty_schema(void) {
    fz_schema *schema = fz_schema_new();
    schema->root.kind = FZ_TYPE_STRUCT;
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 10);
    return schema;
}

static fz_field *add_struct(fz_schema *schema, fz_type *parent, int32_t id, const char *name) {
    fz_field *field = add(schema, parent, id, name, FZ_TYPE_STRUCT);
    field->type.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 10);
    return field;
}

static void projection(void **state) {
    (void)state;
    fz_schema *old = empty_schema();
    add(old, &old->root, 1, "i", FZ_TYPE_INT);
    add(old, &old->root, 2, "f", FZ_TYPE_FLOAT);
    fz_field *decimal = add(old, &old->root, 3, "d", FZ_TYPE_DECIMAL);
    decimal->type.precision = 9;
    decimal->type.scale = 2;
    fz_field *group = add_struct(old, &old->root, 4, "s");
    add(old, &group->type, 5, "a", FZ_TYPE_LONG);
    add(old, &old->root, 6, "day", FZ_TYPE_DATE);
    fz_schema_finish(old);
    fz_batch *batch = fz_batch_new(old, NULL);
    for (int r = 0; r < 3; r++) {
        fz_i128 unscaled = r * 100 - 1;
        fz_column *c = batch->columns;
        FZ_ASSERT(fz_column_append_i32(&c[0], -r, NULL) == FZ_OK);
        FZ_ASSERT(fz_column_append_float(&c[1], (float)r / 2, NULL) == FZ_OK);
        FZ_ASSERT(fz_column_append_fixed(&c[2], &unscaled, NULL) == FZ_OK);
        if (r == 1) {
            FZ_ASSERT(fz_column_append_null(&c[3], NULL) == FZ_OK);
        } else {
            FZ_ASSERT(fz_column_append_i64(&c[3].children[0], r, NULL) == FZ_OK);
            FZ_ASSERT(fz_column_append_struct(&c[3], NULL) == FZ_OK);
        }
        FZ_ASSERT(fz_column_append_i32(&c[4], r - 1, NULL) == FZ_OK);
        batch->rows++;
    }
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    fz_buf bytes = {0};
    write_file(old, batch, &options, &bytes);

    fz_schema *now = empty_schema(); // renamed, promoted, moved, a new leaf alone in the struct,
                                     // one that never was
    group = add_struct(now, &now->root, 4, "renamed");
    add(now, &group->type, 17, "fresh", FZ_TYPE_STRING);
    decimal = add(now, &now->root, 3, "dec", FZ_TYPE_DECIMAL);
    decimal->type.precision = 30;
    decimal->type.scale = 2;
    add(now, &now->root, 2, "f", FZ_TYPE_DOUBLE);
    add(now, &now->root, 1, "i", FZ_TYPE_LONG);
    add(now, &now->root, 99, "s", FZ_TYPE_BOOLEAN);
    add(now, &now->root, 6, "day", FZ_TYPE_TIMESTAMP);
    fz_schema_finish(now);
    fz_batch *back = NULL;
    fz_err err = {0};
    assert_int_equal(read_file(fz_buf_view(&bytes), now, 2, &back, &err), FZ_OK);
    char *have = dump(back);
    assert_string_equal(have, "[[null],-1,\"x0000000000000000\",0,null,-86400000000]\n"
                              "[null,99,\"x000000000000e03f\",-1,null,0]\n"
                              "[[null],199,\"x000000000000f03f\",-2,null,86400000000]\n");
    free(have);
    fz_batch_free(back);

    fz_schema *bad = empty_schema();
    add(bad, &bad->root, 1, "i", FZ_TYPE_STRING);
    fz_schema_finish(bad);
    assert_int_equal(read_file(fz_buf_view(&bytes), bad, 2, &back, &err), FZ_UNSUPPORTED);
    assert_string_equal(err.text, "parquet column \"i\" is int and cannot be read as string");
    fz_schema_unref(bad);
    bad = empty_schema();
    add_struct(bad, &bad->root, 1, "i");
    fz_schema_finish(bad);
    assert_int_equal(read_file(fz_buf_view(&bytes), bad, 2, &back, &err), FZ_UNSUPPORTED);
    fz_schema_unref(bad);
    fz_schema_unref(now);
    fz_schema_unref(old);
    fz_batch_free(batch);
    fz_buf_deinit(&bytes);
}

static void damaged(void **state) {
    (void)state;
    uint64_t random = 5;
    fz_schema *schema = sample_schema(&random);
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    options.page_rows = 100;
    fz_batch *batch = sample_batch(schema, &random, 500);
    fz_buf bytes = {0};
    write_file(schema, batch, &options, &bytes);
    fz_err err = {0};
    fz_batch *back = NULL;
    for (size_t size = 0; size < bytes.size; size += 1 + size / 50) {
        assert_int_equal(read_file(fz_str_make(bytes.data, size), schema, 100, &back, &err),
                         FZ_CORRUPT);
    }
    for (int i = 0; i < 3000; i++) { // no crash, no hang; what can still be read is read
        size_t at = (size_t)sample_below(&random, bytes.size);
        uint8_t old = bytes.data[at];
        bytes.data[at] ^= (uint8_t)(1u << sample_below(&random, 8));
        back = NULL;
        if (read_file(fz_buf_view(&bytes), schema, 100, &back, &err) == FZ_OK) {
            fz_batch_free(back);
        }
        bytes.data[at] = old;
    }
    fz_buf_deinit(&bytes);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void seeks(void **state) {
    (void)state;
    fz_schema *schema = empty_schema();
    add(schema, &schema->root, 1, "a", FZ_TYPE_LONG);
    fz_schema_finish(schema);
    fz_batch *batch = fz_batch_new(schema, NULL);
    for (int64_t i = 0; i < 10000; i++) {
        FZ_ASSERT(fz_column_append_i64(&batch->columns[0], i, NULL) == FZ_OK);
        batch->rows++;
    }
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    options.row_group_size = 5000;
    fz_buf bytes = {0};
    write_file(schema, batch, &options, &bytes);
    fz_parquet_memory_source source;
    fz_parquet_memory_source_init(&source, fz_buf_view(&bytes));
    fz_parquet_reader *reader;
    fz_err err = {0};
    assert_int_equal(fz_parquet_reader_open(&source.source, NULL, NULL, &reader, &err), FZ_OK);
    size_t groups = fz_parquet_reader_row_groups(reader);
    assert_true(groups > 2);
    assert_int_equal(fz_parquet_reader_project(reader, schema, &err), FZ_OK);
    assert_true(fz_parquet_reader_has(reader, 1));
    assert_false(fz_parquet_reader_has(reader, 2));
    int64_t first = 0;
    for (size_t g = 0; g < groups; g++) {
        int64_t rows = fz_parquet_reader_row_group_rows(reader, g);
        fz_batch *back = fz_batch_new(schema, NULL);
        int64_t got = 0;
        assert_int_equal(fz_parquet_reader_seek(reader, g, &err), FZ_OK);
        assert_int_equal(fz_parquet_reader_next(reader, back, 1 << 30, &got, &err), FZ_OK);
        assert_int_equal(got, rows);
        assert_int_equal(((int64_t *)back->columns[0].values)[0], first);
        first += rows;
        fz_batch_free(back);
    }
    assert_int_equal(first, 10000);
    assert_int_equal(fz_parquet_reader_seek(reader, groups, &err), FZ_INVALID);
    fz_parquet_reader_free(reader);
    fz_buf_deinit(&bytes);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(projection),
        cmocka_unit_test(damaged),
        cmocka_unit_test(seeks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
