// SPDX-License-Identifier: Apache-2.0
// Manifests and manifest lists: those of PyIceberg read, ours read back, summaries, inheritance,
// row ids.
#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "unit/table/iceberg/sample.h"

static fz_buf read_golden(const char *name) {
    char *path = fz_str_printf("%s/golden/iceberg/%s", FZ_TEST_DATA, name);
    fz_buf bytes = {0};
    fz_err err;
    if (fz_file_read(path, &bytes, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_free(path);
    return bytes;
}

static const fz_partition_field golden_fields[] = {
    {.source_id = 2,
     .field_id = 1000,
     .name = {"name", 4},
     .result_type = {.kind = FZ_TYPE_STRING}},
    {.source_id = 3,
     .field_id = 1001,
     .name = {"at_day", 6},
     .transform = {FZ_TRANSFORM_DAY, 0},
     .result_type = {.kind = FZ_TYPE_DATE}},
    {.source_id = 4,
     .field_id = 1002,
     .name = {"price", 5},
     .result_type = {.kind = FZ_TYPE_DECIMAL, .precision = 9, .scale = 2}},
    {.source_id = 1,
     .field_id = 1003,
     .name = {"id_bucket", 9},
     .transform = {FZ_TRANSFORM_BUCKET, 8},
     .result_type = {.kind = FZ_TYPE_INT}},
};
static const fz_partition_spec golden_spec = {3, (fz_partition_field *)golden_fields, 4};

static void check_golden_entry(const fz_iceberg_entry *e, int64_t i) {
    fz_buf path = {0};
    fz_buf_printf(&path, "s3://b/data/%d.parquet", (int)i);
    assert_true(fz_str_equal(e->file.path, fz_buf_view(&path)));
    fz_buf_deinit(&path);
    assert_int_equal(e->file.record_count, 10 * i);
    assert_int_equal(e->file.file_size_bytes, 1000 + i);
    assert_int_equal(e->file.spec_id, 3);
    assert_int_equal(e->file.partition[0].is_null, i == 2);
    assert_int_equal(e->file.partition[1].as.integer, 17486 + i);
    assert_true(e->file.partition[2].as.decimal == -1420 * i);
    assert_int_equal(e->file.partition[3].as.integer, i);
    assert_int_equal(e->file.column_sizes.count, 2);
    assert_int_equal(e->file.column_sizes.values[0], 11 * i);
    assert_true(e->file.nan_counts.present && e->file.nan_counts.count == 0);
    assert_int_equal(e->file.upper_bounds.count, 2);
    assert_int_equal(e->file.upper_bounds.values[0].size, 8);
    assert_true(e->file.upper_bounds.values[1].data && e->file.upper_bounds.values[1].size == 0);
    assert_int_equal(e->file.split_count, 2);
    assert_int_equal(e->file.split_offsets[1], 400 * i);
    assert_int_equal(e->file.equality_count, 0);
    assert_int_equal(e->file.sort_order_id, 0);
    assert_int_equal(e->file.first_row_id, FZ_ICEBERG_NONE);
    assert_null(e->file.key_metadata.data);
}

static void manifests_of_another_writer(void **state) {
    (void)state;
    for (int version = 1; version <= 2; version++) {
        fz_buf list_bytes = read_golden(version == 1 ? "list_v1.avro" : "list_v2.avro");
        fz_buf bytes = read_golden(version == 1 ? "manifest_v1.avro" : "manifest_v2.avro");
        fz_arena arena = {0};
        fz_iceberg_list list;
        fz_err err;
        assert_int_equal(fz_iceberg_list_read(fz_buf_view(&list_bytes), &arena, &list, &err),
                         FZ_OK);
        assert_int_equal(list.count, 1);
        const fz_iceberg_manifest *m = &list.manifests[0];
        assert_int_equal(m->size_bytes, bytes.size);
        assert_int_equal(m->spec_id, 3);
        assert_int_equal(m->sequence_number, version == 1 ? 0 : 9);
        assert_int_equal(m->min_sequence_number, version == 1 ? 0 : 4);
        assert_int_equal(m->added_rows, 10);
        assert_int_equal(m->deleted_files, 1);
        assert_int_equal(m->partition_count, 4);
        assert_true(m->partitions[0].contains_null && m->partitions[0].contains_nan == 0);
        assert_true(fz_str_equal(m->partitions[0].lower, FZ_STR("n1")));
        fz_iceberg_manifest_reader *reader;
        assert_int_equal(
            fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), m, &golden_spec, &reader, &err),
            FZ_OK);
        static const fz_iceberg_status status[] = {FZ_ICEBERG_ADDED, FZ_ICEBERG_EXISTING,
                                                   FZ_ICEBERG_DELETED};
        static const int64_t sequence[] = {9, 4, 5};
        for (int64_t i = 1; i <= 4; i++) {
            fz_iceberg_entry entry;
            bool found;
            if (fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, &err) != FZ_OK) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(found, i <= 3);
            if (found) {
                check_golden_entry(&entry, i);
                assert_int_equal(entry.status, status[i - 1]);
                assert_int_equal(entry.snapshot_id, i == 2 ? 55 : 77);
                assert_int_equal(entry.sequence_number, version == 1 ? 0 : sequence[i - 1]);
                assert_int_equal(entry.file_sequence_number, version == 1 ? 0 : sequence[i - 1]);
            }
        }
        fz_iceberg_manifest_reader_free(reader);
        fz_arena_deinit(&arena);
        fz_buf_deinit(&bytes);
        fz_buf_deinit(&list_bytes);
    }
}

static const json_t *schema_json(void) {
    static json_t *json;
    if (!json) {
        json = sample_json("{\"type\":\"struct\",\"schema-id\":4,\"fields\":[]}");
    }
    return json;
}

/** One field of `type`, written as the tuple of each value; what the list would say of it. */
static fz_iceberg_field_summary summary_of(fz_type type, const fz_value *values, size_t count,
                                           fz_arena *arena, fz_buf *bytes) {
    fz_partition_field field = {
        .source_id = 1, .field_id = 1000, .name = FZ_STR("1 odd-n\xc3\xa4me"), .result_type = type};
    const fz_partition_spec spec = {.fields = &field, .field_count = 1};
    fz_iceberg_manifest_writer *writer;
    fz_iceberg_manifest manifest;
    fz_err err;
    assert_int_equal(
        fz_iceberg_manifest_writer_new(2, schema_json(), &spec, 0, bytes, &writer, &err), FZ_OK);
    for (size_t i = 0; i < count; i++) {
        fz_iceberg_entry entry = {.status = FZ_ICEBERG_ADDED,
                                  .snapshot_id = FZ_ICEBERG_NONE,
                                  .sequence_number = FZ_ICEBERG_NONE,
                                  .file_sequence_number = FZ_ICEBERG_NONE,
                                  .file = fz_iceberg_file_make(FZ_STR("s3://b/f.parquet"), 0)};
        fz_value value = values[i];
        entry.file.partition = &value;
        entry.file.partition_count = 1;
        if (fz_iceberg_manifest_writer_append(writer, &entry, &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
    }
    assert_int_equal(fz_iceberg_manifest_writer_finish(writer, arena, &manifest, &err), FZ_OK);
    fz_iceberg_manifest_writer_free(writer);
    assert_int_equal(manifest.size_bytes, bytes->size);
    assert_int_equal(manifest.added_files, count);
    // read back, each value is what it was
    manifest.sequence_number = 7;
    manifest.added_snapshot_id = 8;
    fz_iceberg_manifest_reader *reader;
    assert_int_equal(
        fz_iceberg_manifest_reader_open(fz_buf_view(bytes), &manifest, &spec, &reader, &err),
        FZ_OK);
    for (size_t i = 0; i < count; i++) {
        fz_iceberg_entry entry;
        bool found;
        assert_int_equal(fz_iceberg_manifest_reader_next(reader, arena, &entry, &found, &err),
                         FZ_OK);
        assert_true(found);
        assert_int_equal(entry.sequence_number, 7);
        assert_int_equal(entry.snapshot_id, 8);
        assert_int_equal(entry.file.partition[0].is_null, values[i].is_null);
        if (!values[i].is_null) {
            fz_buf a = {0};
            fz_buf b = {0};
            fz_value_encode(&values[i], &a);
            fz_value_encode(&entry.file.partition[0], &b);
            assert_true(fz_str_equal(fz_buf_view(&a), fz_buf_view(&b)));
            fz_buf_deinit(&a);
            fz_buf_deinit(&b);
        }
    }
    fz_iceberg_manifest_reader_free(reader);
    return manifest.partitions[0];
}

static void partition_summaries(void **state) {
    (void)state;
    fz_arena arena = {0};
    fz_buf bytes = {0};
    const fz_type text = {.kind = FZ_TYPE_STRING};
    const fz_type real = {.kind = FZ_TYPE_DOUBLE};
    const fz_value none = {.is_null = true, .kind = FZ_TYPE_STRING};
    fz_value five = {.kind = FZ_TYPE_STRING, .as.bytes = FZ_STR("5")};
    fz_value empty = {.kind = FZ_TYPE_STRING, .as.bytes = FZ_STR("")};
    fz_value longer = {.kind = FZ_TYPE_STRING,
                       .as.bytes = FZ_STR("a text of more than forty characters, not to be cut")};
    // T151: only values
    fz_iceberg_field_summary s =
        summary_of(text, (const fz_value[]){five, longer, five}, 3, &arena, &bytes);
    assert_false(s.contains_null);
    assert_true(fz_str_equal(s.lower, FZ_STR("5")));
    assert_true(fz_str_equal(s.upper, longer.as.bytes));
    fz_buf_reset(&bytes);
    // only null: no bounds
    s = summary_of(text, &none, 1, &arena, &bytes);
    assert_true(s.contains_null && !s.lower.data && !s.upper.data);
    fz_buf_reset(&bytes);
    // an empty text is a bound
    s = summary_of(text, &empty, 1, &arena, &bytes);
    assert_true(s.lower.data && s.lower.size == 0 && s.upper.data && s.upper.size == 0);
    fz_buf_reset(&bytes);
    // only NaN; NaN and 1; both zeros (T153)
    const fz_value nan_value = {.kind = FZ_TYPE_DOUBLE, .as.real64 = NAN};
    const fz_value one = {.kind = FZ_TYPE_DOUBLE, .as.real64 = 1};
    const fz_value plus = {.kind = FZ_TYPE_DOUBLE, .as.real64 = 0.0};
    const fz_value minus = {.kind = FZ_TYPE_DOUBLE, .as.real64 = -0.0};
    s = summary_of(real, &nan_value, 1, &arena, &bytes);
    assert_true(s.contains_nan == 1 && !s.lower.data);
    fz_buf_reset(&bytes);
    s = summary_of(real, (const fz_value[]){nan_value, one}, 2, &arena, &bytes);
    assert_true(s.contains_nan == 1 && fz_str_equal(s.lower, s.upper));
    fz_buf_reset(&bytes);
    s = summary_of(real, (const fz_value[]){plus, minus}, 2, &arena, &bytes);
    assert_int_equal((uint8_t)s.lower.data[7], 0x80);
    assert_int_equal((uint8_t)s.upper.data[7], 0);
    fz_buf_deinit(&bytes);
    fz_arena_deinit(&arena);
}

static void every_partition_type(void **state) {
    (void)state;
    static const struct {
        fz_type type;
        fz_value value;
    } cases[] = {
        {{.kind = FZ_TYPE_BOOLEAN}, {.kind = FZ_TYPE_BOOLEAN, .as.integer = 1}},
        {{.kind = FZ_TYPE_INT}, {.kind = FZ_TYPE_INT, .as.integer = INT32_MIN}},
        {{.kind = FZ_TYPE_LONG}, {.kind = FZ_TYPE_LONG, .as.integer = INT64_MAX}},
        {{.kind = FZ_TYPE_FLOAT}, {.kind = FZ_TYPE_FLOAT, .as.real32 = -1.5f}},
        {{.kind = FZ_TYPE_DECIMAL, .precision = 38, .scale = 3},
         {.kind = FZ_TYPE_DECIMAL, .as.decimal = -123456789}},
        {{.kind = FZ_TYPE_DATE}, {.kind = FZ_TYPE_DATE, .as.integer = -1}},
        {{.kind = FZ_TYPE_TIME}, {.kind = FZ_TYPE_TIME, .as.integer = 86399999999}},
        {{.kind = FZ_TYPE_TIMESTAMP}, {.kind = FZ_TYPE_TIMESTAMP, .as.integer = -5}},
        {{.kind = FZ_TYPE_TIMESTAMPTZ}, {.kind = FZ_TYPE_TIMESTAMPTZ, .as.integer = 5}},
        {{.kind = FZ_TYPE_TIMESTAMP_NS}, {.kind = FZ_TYPE_TIMESTAMP_NS, .as.integer = 5}},
        {{.kind = FZ_TYPE_UUID}, {.kind = FZ_TYPE_UUID, .as.bytes = {"0123456789abcdef", 16}}},
        {{.kind = FZ_TYPE_FIXED, .length = 3}, {.kind = FZ_TYPE_FIXED, .as.bytes = {"a\0b", 3}}},
        {{.kind = FZ_TYPE_BINARY}, {.kind = FZ_TYPE_BINARY, .as.bytes = {"\xff\0", 2}}},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_arena arena = {0};
        fz_buf bytes = {0};
        fz_iceberg_field_summary s = summary_of(cases[i].type, &cases[i].value, 1, &arena, &bytes);
        assert_true(fz_str_equal(s.lower, s.upper) && s.lower.size > 0);
        fz_buf_deinit(&bytes);
        fz_arena_deinit(&arena);
    }
}

static void refused_entries(void **state) {
    (void)state;
    const fz_partition_spec spec = {.spec_id = 1};
    fz_buf bytes = {0};
    fz_iceberg_manifest_writer *writer;
    fz_err err;
    assert_int_equal(
        fz_iceberg_manifest_writer_new(3, schema_json(), &spec, 0, &bytes, &writer, &err), FZ_OK);
    fz_iceberg_entry entry = {.status = FZ_ICEBERG_EXISTING,
                              .snapshot_id = 1,
                              .sequence_number = FZ_ICEBERG_NONE,
                              .file_sequence_number = 1,
                              .file = fz_iceberg_file_make(FZ_STR("s3://b/f"), 1)};
    assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, &err), FZ_INVALID); // T155
    entry.sequence_number = 1;
    entry.file.spec_id = 2;
    assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, &err), FZ_INVALID);
    entry.file.spec_id = 1;
    entry.file.content = FZ_ICEBERG_EQUALITY_DELETES;
    assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, &err), FZ_INVALID);
    entry.file.content = FZ_ICEBERG_DATA;
    assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, &err), FZ_OK);
    fz_arena arena = {0};
    fz_iceberg_manifest manifest;
    assert_int_equal(fz_iceberg_manifest_writer_finish(writer, &arena, &manifest, &err), FZ_OK);
    assert_int_equal(manifest.existing_files, 1);
    assert_int_equal(manifest.min_sequence_number, 1);
    fz_iceberg_manifest_writer_free(writer);
    fz_arena_deinit(&arena);
    fz_buf_deinit(&bytes);
}

static void lists(void **state) {
    (void)state;
    fz_iceberg_field_summary summary = {.contains_nan = -1, .lower = FZ_STR("")};
    fz_iceberg_manifest manifests[] = {
        {.path = FZ_STR("a"),
         .size_bytes = 1,
         .sequence_number = FZ_ICEBERG_NONE,
         .min_sequence_number = FZ_ICEBERG_NONE,
         .added_snapshot_id = FZ_ICEBERG_NONE,
         .added_files = 1,
         .added_rows = 100,
         .existing_rows = 5,
         .partitions = &summary,
         .partition_count = 1,
         .first_row_id = FZ_ICEBERG_NONE},
        {.path = FZ_STR("b"),
         .size_bytes = 2,
         .content = 1,
         .sequence_number = 3,
         .min_sequence_number = 2,
         .added_snapshot_id = 4,
         .added_files = 1,
         .added_rows = 7,
         .first_row_id = FZ_ICEBERG_NONE},
        {.path = FZ_STR("c"),
         .size_bytes = 3,
         .sequence_number = 3,
         .min_sequence_number = 2,
         .added_snapshot_id = 4,
         .existing_files = 1,
         .existing_rows = 20,
         .first_row_id = 40},
        {.path = FZ_STR("d"),
         .size_bytes = 3,
         .sequence_number = 3,
         .min_sequence_number = 2,
         .added_snapshot_id = 4,
         .existing_files = 1,
         .existing_rows = 20,
         .first_row_id = FZ_ICEBERG_NONE},
    };
    const fz_iceberg_list list = {manifests, FZ_COUNT(manifests)};
    for (int version = 2; version <= 3; version++) {
        const fz_iceberg_list_options options = {.version = version,
                                                 .snapshot_id = 9,
                                                 .parent_id = 4,
                                                 .sequence_number = 5,
                                                 .first_row_id = 1000};
        fz_buf bytes = {0};
        fz_arena arena = {0};
        fz_err err;
        int64_t added_rows;
        fz_iceberg_list read;
        assert_int_equal(fz_iceberg_list_write(&list, &options, &bytes, &added_rows, &err), FZ_OK);
        assert_int_equal(fz_iceberg_list_read(fz_buf_view(&bytes), &arena, &read, &err), FZ_OK);
        assert_int_equal(read.count, 4);
        assert_int_equal(read.manifests[0].sequence_number, 5);
        assert_int_equal(read.manifests[0].min_sequence_number, 5);
        assert_int_equal(read.manifests[0].added_snapshot_id, 9);
        assert_int_equal(read.manifests[0].partitions[0].contains_nan, -1);
        assert_true(read.manifests[0].partitions[0].lower.data &&
                    !read.manifests[0].partitions[0].upper.data);
        assert_int_equal(read.manifests[1].sequence_number, 3);
        assert_null(read.manifests[1].partitions);
        // formats.md 1.13: data manifests without an id, in order; others as they were
        assert_int_equal(read.manifests[0].first_row_id, version == 3 ? 1000 : -1);
        assert_int_equal(read.manifests[1].first_row_id, -1);
        assert_int_equal(read.manifests[2].first_row_id, version == 3 ? 40 : -1);
        assert_int_equal(read.manifests[3].first_row_id, version == 3 ? 1105 : -1);
        assert_int_equal(added_rows, version == 3 ? 125 : 0);
        fz_arena_deinit(&arena);
        fz_buf_deinit(&bytes);
    }
    manifests[2].added_files = FZ_ICEBERG_NONE; // version 1 without counts
    fz_buf bytes = {0};
    fz_err err;
    const fz_iceberg_list_options options = {.version = 2, .parent_id = FZ_ICEBERG_NONE};
    assert_int_equal(fz_iceberg_list_write(&list, &options, &bytes, NULL, &err), FZ_UNSUPPORTED);
    fz_buf_deinit(&bytes);
}

static void row_ids_are_shared_out(void **state) {
    (void)state;
    const fz_partition_spec spec = {0};
    fz_buf bytes = {0};
    fz_arena arena = {0};
    fz_iceberg_manifest_writer *writer;
    fz_iceberg_manifest manifest;
    fz_err err;
    assert_int_equal(
        fz_iceberg_manifest_writer_new(3, schema_json(), &spec, 0, &bytes, &writer, &err), FZ_OK);
    static const int64_t given[] = {FZ_ICEBERG_NONE, 7, FZ_ICEBERG_NONE, FZ_ICEBERG_NONE};
    static const fz_iceberg_status status[] = {FZ_ICEBERG_ADDED, FZ_ICEBERG_EXISTING,
                                               FZ_ICEBERG_DELETED, FZ_ICEBERG_EXISTING};
    for (int i = 0; i < 4; i++) {
        fz_iceberg_entry entry = {.status = status[i],
                                  .snapshot_id = 1,
                                  .sequence_number = 1,
                                  .file_sequence_number = 1,
                                  .file = fz_iceberg_file_make(FZ_STR("s3://b/f"), 0)};
        entry.file.record_count = 10;
        entry.file.first_row_id = given[i];
        assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, &err), FZ_OK);
    }
    assert_int_equal(fz_iceberg_manifest_writer_finish(writer, &arena, &manifest, &err), FZ_OK);
    fz_iceberg_manifest_writer_free(writer);
    manifest.first_row_id = 100;
    fz_iceberg_manifest_reader *reader;
    assert_int_equal(
        fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), &manifest, &spec, &reader, &err),
        FZ_OK);
    static const int64_t wanted[] = {100, 7, FZ_ICEBERG_NONE, 110};
    for (int i = 0; i < 4; i++) {
        fz_iceberg_entry entry;
        bool found;
        assert_int_equal(fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, &err),
                         FZ_OK);
        assert_int_equal(entry.file.first_row_id, wanted[i]);
    }
    fz_iceberg_manifest_reader_free(reader);
    fz_arena_deinit(&arena);
    fz_buf_deinit(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_of_another_writer),
        cmocka_unit_test(partition_summaries),
        cmocka_unit_test(every_partition_type),
        cmocka_unit_test(refused_entries),
        cmocka_unit_test(lists),
        cmocka_unit_test(row_ids_are_shared_out),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref((json_t *)schema_json());
    return failed;
}
