// SPDX-License-Identifier: Apache-2.0
// Scans: rows of several files in one schema, evolution, defaults, columns, snapshots, what is
// refused.
#include "table/scan/scan.h"

#include "base/codec/hash.h"
#include "base/codec/text_codec.h"
#include "io/store/fault_store.h"
#include "table/scan/greatest.h"
#include "table/scan/print.h"
#include "unit/table/scan/scan_table.h"

// All rows as JSON lines, or the error's text, sorted by file name as the plan gives them.
static fz_code scan_text(scan_table *t, const fz_scan_options *options, fz_buf *out, fz_err *err) {
    fz_scan *scan = NULL;
    FZ_TRY(fz_scan_open(fz_scan_files_in(t->store), t->metadata, options, &scan, err));
    fz_scan_printer *printer = fz_scan_printer_new(FZ_SCAN_JSON, fz_scan_schema(scan));
    fz_code code;
    fz_batch *batch = NULL;
    while ((code = fz_scan_next(scan, &batch, err)) == FZ_OK && batch) {
        int64_t first = -1;
        assert_non_null(fz_scan_file(scan, &first));
        assert_true(first >= 0);
        fz_scan_printer_rows(printer, batch, 0, batch->rows, out);
    }
    fz_scan_printer_free(printer);
    fz_scan_free(scan);
    return code;
}

static int compare_lines(const void *a, const void *b) {
    return fz_str_compare(*(const fz_str *)a, *(const fz_str *)b);
}

// Lines in order, since files come in any.
static void sort_lines(fz_buf *text) {
    fz_str lines[256];
    size_t count = 0;
    fz_buf sorted = {0};
    for (size_t at = 0; at < text->size; count++) {
        size_t end = fz_str_find(fz_buf_view(text), '\n', at);
        lines[count] = fz_str_slice(fz_buf_view(text), at, end + 1);
        at = end + 1;
    }
    qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++) {
        fz_buf_append_str(&sorted, lines[i]);
    }
    fz_buf_deinit(text);
    *text = sorted;
}

static void check(scan_table *t, const fz_scan_options *options, const char *want) {
    fz_buf got = {0};
    fz_err err = {0};
    if (scan_text(t, options, &got, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    sort_lines(&got);
    assert_string_equal(fz_buf_cstr(&got), want);
    fz_buf_deinit(&got);
}

#define F(id, name, type)                                                                          \
    "{\"id\":" #id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define STRUCT(fields) "{\"type\":\"struct\",\"fields\":[" fields "]}"
#define LIST(id, type)                                                                             \
    "{\"type\":\"list\",\"element-id\":" #id ",\"element-required\":false,\"element\":" type "}"

#define OLD                                                                                        \
    F(1, "n", "\"int\"")                                                                           \
    "," F(2, "f", "\"float\"") "," F(3, "d", "\"decimal(9, 2)\"") "," F(                           \
        4, "s", STRUCT(F(6, "a", "\"string\""))) "," F(5, "l", LIST(7, "\"int\""))
#define NEW                                                                                        \
    F(1, "number", "\"long\"")                                                                     \
    "," F(2, "f", "\"double\"") "," F(3, "d", "\"decimal(20, 2)\"") "," F(                         \
        4, "s",                                                                                    \
        STRUCT(F(6, "a", "\"string\"") "," F(                                                      \
            8, "b", "\"date\""))) "," F(5, "l", LIST(7, "\"long\"")) "," F(9, "more",              \
                                                                           "\"string\"")

static void evolution(void **state) {
    (void)state;
    scan_table t;
    scan_table_init(&t, 2, OLD, 0, NULL);
    const fz_scan_options all = {.batch_rows = 2};
    check(&t, &all, "");
    scan_table_add(&t, OLD, "[[1,1.5,\"0.01\",{\"6\":\"x\"},[1,null]],[2,null,null,null,null]]",
                   NULL);
    fz_iceberg_snapshot first;
    assert_true(fz_iceberg_metadata_main(t.metadata, &first));
    scan_table_commit(&t, NULL, NEW);
    scan_table_add(
        &t, NEW, "[[3,0.1,\"-123456789012345678.90\",{\"6\":null,\"8\":\"2017-11-16\"},[],\"m\"]]",
        NULL);
    check(&t, &all,
          "{\"number\":1,\"f\":1.5,\"d\":\"0.01\",\"s\":{\"a\":\"x\",\"b\":null},\"l\":[1,null],"
          "\"more\":null}\n"
          "{\"number\":2,\"f\":null,\"d\":null,\"s\":null,\"l\":null,\"more\":null}\n"
          "{\"number\":3,\"f\":0.1,\"d\":\"-123456789012345678.90\",\"s\":{\"a\":null,\"b\":"
          "\"2017-11-16\"},\"l\":[],\"more\":\"m\"}\n");
    // the first snapshot as it was
    const fz_scan_options old = {.snapshot_id = first.snapshot_id};
    check(&t, &old,
          "{\"n\":1,\"f\":1.5,\"d\":\"0.01\",\"s\":{\"a\":\"x\"},\"l\":[1,null]}\n"
          "{\"n\":2,\"f\":null,\"d\":null,\"s\":null,\"l\":null}\n");
    const fz_str columns[] = {FZ_STR("more"), FZ_STR("s.b"), FZ_STR("number")};
    const fz_scan_options some = {.columns = columns, .column_count = 3};
    check(&t, &some,
          "{\"more\":\"m\",\"s\":{\"b\":\"2017-11-16\"},\"number\":3}\n"
          "{\"more\":null,\"s\":null,\"number\":2}\n"
          "{\"more\":null,\"s\":{\"b\":null},\"number\":1}\n");
    fz_scan_range range = {.field_id = 1, .has_lower = true};
    range.lower = (fz_value){.kind = FZ_TYPE_LONG, .as.integer = 3};
    const fz_str number[] = {FZ_STR("number")};
    const fz_scan_options ranged = {
        .ranges = &range, .range_count = 1, .columns = number, .column_count = 1};
    check(&t, &ranged, "{\"number\":3}\n");
    const fz_str unknown[] = {FZ_STR("numbers")};
    const fz_scan_options bad = {.columns = unknown, .column_count = 1};
    fz_buf text = {0};
    fz_err err = {0};
    assert_int_equal(scan_text(&t, &bad, &text, &err), FZ_NOT_FOUND);
    assert_non_null(strstr(err.text, "\"numbers\""));
    fz_buf_deinit(&text);
    scan_table_deinit(&t);
}

#define DEFAULTED                                                                                  \
    F(1, "n", "\"int\"")                                                                           \
    "," F(2, "s",                                                                                  \
          STRUCT(F(                                                                                \
              4, "a",                                                                              \
              "\"int\"") ",{\"id\":5,\"name\":\"b\",\"required\":true,"                            \
                         "\"type\":\"string\",\"initial-default\":\"dflt\","                       \
                         "\"write-default\":\"dflt\"}")) ",{\"id\":3,\"name\":\"x\",\"required\":" \
                                                         "true,\"type\":\"decimal(9, "             \
                                                         "2)\",\"initial-default\":"               \
                                                         "\"14.20\",\"write-default\":\"14.20\"}"

static void defaults_are_filled_in(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"") "," F(2, "s", STRUCT(F(4, "a", "\"int\"")));
    scan_table t;
    scan_table_init(&t, 3, fields, 0, NULL);
    scan_table_add(&t, fields, "[[1,{\"4\":7}],[2,null]]", NULL);
    scan_table_commit(&t, NULL, DEFAULTED);
    scan_table_add(&t, DEFAULTED, "[[3,{\"4\":8,\"5\":\"own\"},\"0.00\"]]", NULL);
    const fz_scan_options all = {0};
    check(&t, &all,
          "{\"n\":1,\"s\":{\"a\":7,\"b\":\"dflt\"},\"x\":\"14.20\"}\n"
          "{\"n\":2,\"s\":null,\"x\":\"14.20\"}\n"
          "{\"n\":3,\"s\":{\"a\":8,\"b\":\"own\"},\"x\":\"0.00\"}\n");
    scan_table_deinit(&t);
}

static void identity_partitions_are_filled_in(void **state) {
    (void)state;
    const char *both = F(1, "n", "\"int\"") "," F(2, "p", "\"string\"");
    scan_table t;
    scan_table_init(&t, 2, both, 2, "identity");
    fz_value part = {.kind = FZ_TYPE_STRING, .as.bytes = FZ_STR("east")};
    scan_table_add(&t, F(1, "n", "\"int\""), "[[1],[2]]", &part); // a migrated file
    part.is_null = true;
    scan_table_add(&t, F(1, "n", "\"int\""), "[[3]]", &part);
    const fz_scan_options all = {0};
    check(&t, &all, "{\"n\":1,\"p\":\"east\"}\n{\"n\":2,\"p\":\"east\"}\n{\"n\":3,\"p\":null}\n");
    scan_table_deinit(&t);
}

static void lies_are_found(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"");
    const char *required = "{\"id\":2,\"name\":\"r\",\"required\":true,\"type\":\"int\"}";
    const fz_scan_options all = {0};
    fz_buf text = {0};
    fz_err err = {0};
    scan_table t;
    scan_table_init(&t, 2, required, 0, NULL);
    scan_table_add(&t, fields, "[[1]]", NULL);
    assert_int_equal(scan_text(&t, &all, &text, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.text, "data file \"memory://lake/t/data/0.parquet\": it lacks"));
    scan_table_deinit(&t);

    scan_table_init(&t, 2, fields, 0, NULL);
    scan_table_add(&t, fields, "[[1]]", NULL);
    OK(fz_store_put(t.store, FZ_STR("t/data/0.parquet"), FZ_STR("PAR1"), &err));
    assert_int_equal(scan_text(&t, &all, &text, &err), FZ_CORRUPT);
    OK(fz_store_remove(t.store, FZ_STR("t/data/0.parquet"), &err));
    assert_int_equal(scan_text(&t, &all, &text, &err), FZ_NOT_FOUND);
    assert_non_null(strstr(err.text, "data/0.parquet"));
    fz_buf_deinit(&text);
    scan_table_deinit(&t);
}

// Put a manifest with this delete file into the list of main.
static void add_delete(scan_table *t, const fz_iceberg_file *file) {
    fz_err err = {0};
    fz_arena arena = {0};
    fz_partition_spec spec = {0};
    fz_buf bytes = {0};
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(t->metadata, &main));
    fz_iceberg_manifest_writer *writer = NULL;
    OK(fz_iceberg_manifest_writer_new(fz_iceberg_metadata_version(t->metadata),
                                      fz_iceberg_metadata_schema_json(t->metadata, 0), &spec, 1,
                                      &bytes, &writer, &err));
    fz_iceberg_entry entry = {.status = FZ_ICEBERG_ADDED,
                              .snapshot_id = main.snapshot_id,
                              .sequence_number = FZ_ICEBERG_NONE,
                              .file_sequence_number = FZ_ICEBERG_NONE,
                              .file = *file};
    entry.file.sort_order_id = FZ_ICEBERG_NONE;
    entry.file.first_row_id = FZ_ICEBERG_NONE;
    if (fz_iceberg_manifest_writer_append(writer, &entry, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_iceberg_manifest deletes = {0};
    OK(fz_iceberg_manifest_writer_finish(writer, &arena, &deletes, &err));
    fz_iceberg_manifest_writer_free(writer);
    deletes.path = fz_arena_printf(&arena, "memory://lake/t/metadata/del%d.avro", t->files++);
    deletes.added_snapshot_id = main.snapshot_id;
    scan_table_put(t, deletes.path, fz_buf_view(&bytes));
    fz_str key;
    fz_buf list_bytes = {0};
    fz_iceberg_list list = {0};
    OK(fz_store_key(t->store, main.manifest_list, &key, &err));
    OK(fz_store_read_all(t->store, key, &list_bytes, &err));
    OK(fz_iceberg_list_read(fz_buf_view(&list_bytes), &arena, &list, &err));
    fz_iceberg_manifest *all = FZ_ARENA_ARRAY(&arena, fz_iceberg_manifest, list.count + 1);
    memcpy(all, list.manifests, list.count * sizeof(*all));
    all[list.count] = deletes;
    list = (fz_iceberg_list){all, list.count + 1};
    fz_buf_reset(&list_bytes);
    const fz_iceberg_list_options options = {.version = fz_iceberg_metadata_version(t->metadata),
                                             .snapshot_id = main.snapshot_id,
                                             .parent_id = FZ_ICEBERG_NONE,
                                             .sequence_number = main.sequence_number};
    OK(fz_iceberg_list_write(&list, &options, &list_bytes, NULL, &err));
    scan_table_put(t, main.manifest_list, fz_buf_view(&list_bytes));
    fz_buf_deinit(&bytes);
    fz_buf_deinit(&list_bytes);
    fz_arena_deinit(&arena);
}

static void equality_deletes_are_refused(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"");
    fz_err err = {0};
    scan_table t;
    scan_table_init(&t, 2, fields, 0, NULL);
    scan_table_add(&t, fields, "[[1]]", NULL);
    int32_t ids[] = {1};
    const fz_iceberg_file file = {.content = FZ_ICEBERG_EQUALITY_DELETES,
                                  .path = FZ_STR("memory://lake/t/data/del.parquet"),
                                  .format = FZ_STR("PARQUET"),
                                  .record_count = 1,
                                  .file_size_bytes = 100,
                                  .equality_ids = ids,
                                  .equality_count = 1,
                                  .content_offset = FZ_ICEBERG_NONE,
                                  .content_size_bytes = FZ_ICEBERG_NONE};
    add_delete(&t, &file);
    const fz_scan_options all = {0};
    fz_buf text = {0};
    assert_int_equal(scan_text(&t, &all, &text, &err), FZ_UNSUPPORTED);
    assert_non_null(strstr(err.text, "del.parquet"));
    assert_int_equal(text.size, 0); // before any row
    fz_scan_plan *plan = NULL;
    const fz_scan_plan_options without = {0};
    const fz_scan_plan_options with = {.deletes = true};
    const fz_iceberg_entry *found = NULL;
    OK(fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &without, &plan, &err));
    assert_int_equal(fz_scan_plan_next(plan, &found, &err), FZ_UNSUPPORTED);
    fz_scan_plan_free(plan);
    OK(fz_scan_plan_open(fz_scan_files_in(t.store), t.metadata, &with, &plan, &err));
    OK(fz_scan_plan_next(plan, &found, &err));
    assert_int_equal(found->file.content, FZ_ICEBERG_EQUALITY_DELETES);
    OK(fz_scan_plan_next(plan, &found, &err));
    assert_int_equal(found->file.content, FZ_ICEBERG_DATA);
    OK(fz_scan_plan_next(plan, &found, &err));
    assert_null(found);
    fz_scan_plan_free(plan);
    fz_buf_deinit(&text);
    scan_table_deinit(&t);
}

static void deleted_rows_are_left_out(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"") "," F(2, "l", LIST(3, "\"string\""));
    const char *deletes = "{\"id\":2147483447,\"name\":\"file_path\",\"required\":true,\"type\":"
                          "\"string\"},{\"id\":2147483446,\"name\":\"pos\",\"required\":true,"
                          "\"type\":\"long\"}";
    fz_err err = {0};
    scan_table t;
    scan_table_init(&t, 3, fields, 0, NULL);
    scan_table_add(&t, fields, "[[0,[\"a\"]],[1,[\"b\",\"c\"]],[2,null],[3,[\"d\"]],[4,[]]]", NULL);
    scan_table_add(&t, fields, "[[10,null],[11,[\"z\"]]]", NULL);
    fz_buf bytes = {0};
    // the ids that JSON schemas may not have
    fz_schema *schema = scan_table_schema(deletes);
    schema->root.fields[0].id = 2147483546;
    schema->root.fields[1].id = 2147483545;
    scan_table_parquet(schema,
                       "[[\"memory://lake/t/data/0.parquet\",1],"
                       "[\"memory://lake/t/data/0.parquet\",4],"
                       "[\"memory://lake/t/data/9.parquet\",77]]",
                       &bytes, NULL);
    fz_schema_unref(schema);
    fz_iceberg_file file = {.content = FZ_ICEBERG_POSITION_DELETES,
                            .path = FZ_STR("memory://lake/t/data/del.parquet"),
                            .format = FZ_STR("PARQUET"),
                            .record_count = 3,
                            .file_size_bytes = (int64_t)bytes.size,
                            .content_offset = FZ_ICEBERG_NONE,
                            .content_size_bytes = FZ_ICEBERG_NONE};
    scan_table_put(&t, file.path, fz_buf_view(&bytes));
    add_delete(&t, &file);
    const fz_scan_options all = {.batch_rows = 2};
    check(&t, &all,
          "{\"n\":0,\"l\":[\"a\"]}\n{\"n\":10,\"l\":null}\n{\"n\":11,\"l\":[\"z\"]}\n"
          "{\"n\":2,\"l\":null}\n{\"n\":3,\"l\":[\"d\"]}\n");
    // a deletion vector replaces what position deletes said: rows 1, 3
    fz_buf_reset(&bytes);
    OK(fz_hex_decode(&bytes,
                     FZ_STR("50464131"
                            "00000024d1d339640100000000000000000000003a30000001000000"
                            "00000100100000000100030000000000"),
                     &err));
    bytes.size -= 4;
    fz_buf_append_le32(&bytes, __builtin_bswap32(fz_crc32(0, bytes.data + 8, bytes.size - 8)));
    fz_iceberg_file vector = {.content = FZ_ICEBERG_POSITION_DELETES,
                              .path = FZ_STR("memory://lake/t/data/dv.puffin"),
                              .format = FZ_STR("PUFFIN"),
                              .record_count = 2,
                              .file_size_bytes = (int64_t)bytes.size,
                              .referenced_data_file = FZ_STR("memory://lake/t/data/0.parquet"),
                              .content_offset = 4,
                              .content_size_bytes = (int64_t)bytes.size - 4};
    scan_table_put(&t, vector.path, fz_buf_view(&bytes));
    add_delete(&t, &vector);
    check(&t, &all,
          "{\"n\":0,\"l\":[\"a\"]}\n{\"n\":10,\"l\":null}\n{\"n\":11,\"l\":[\"z\"]}\n"
          "{\"n\":2,\"l\":null}\n{\"n\":4,\"l\":[]}\n");
    bytes.data[20] ^= 1;
    fz_buf text = {0};
    scan_table_put(&t, vector.path, fz_buf_view(&bytes));
    assert_int_equal(scan_text(&t, &all, &text, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.text, "dv.puffin"));
    fz_buf_deinit(&text);
    fz_buf_deinit(&bytes);
    scan_table_deinit(&t);
}

#define KAFKA                                                                                      \
    "{\"id\":1,\"name\":\"_kafka\",\"required\":false,\"type\":" STRUCT(                           \
        "{\"id\":2,\"name\":\"partition\",\"required\":true,\"type\":\"int\"},"                    \
        "{\"id\":3,\"name\":\"offset\",\"required\":true,\"type\":\"long\"}") "}"

static void greatest_offsets(void **state) {
    (void)state;
    scan_table t;
    fz_err err = {0};
    int64_t greatest[4];
    const fz_scan_greatest_options options = {.partition = FZ_STR("_kafka.partition"),
                                              .offset = FZ_STR("_kafka.offset")};
    scan_table_init(&t, 2, KAFKA, 0, NULL);
    OK(fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &options, greatest, 4, &err));
    assert_int_equal(greatest[0], -1);
    scan_table_add(&t, KAFKA, "[[{\"2\":1,\"3\":5}],[{\"2\":1,\"3\":9}],[{\"2\":1,\"3\":7}]]",
                   NULL);
    OK(fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &options, greatest, 4, &err));
    assert_int_equal(greatest[1], 9);
    assert_int_equal(greatest[0], -1);
    // one partition a file: the bounds are enough, the file itself need not be there
    OK(fz_store_remove(t.store, FZ_STR("t/data/0.parquet"), &err));
    OK(fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &options, greatest, 4, &err));
    assert_int_equal(greatest[1], 9);
    // several partitions, nulls and partitions that nobody asked for
    scan_table_add(&t, KAFKA,
                   "[[{\"2\":0,\"3\":50}],[null],[{\"2\":1,\"3\":11}],[{\"2\":3,\"3\":2}],"
                   "[{\"2\":9,\"3\":99}]]",
                   NULL);
    OK(fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &options, greatest, 4, &err));
    assert_int_equal(greatest[0], 50);
    assert_int_equal(greatest[1], 11);
    assert_int_equal(greatest[2], -1);
    assert_int_equal(greatest[3], 2);
    fz_scan_greatest_options bad = options;
    bad.offset = FZ_STR("_kafka.offsets");
    assert_int_equal(
        fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &bad, greatest, 4, &err),
        FZ_NOT_FOUND);
    bad.offset = FZ_STR("_kafka");
    assert_int_equal(
        fz_scan_greatest(fz_scan_files_in(t.store), t.metadata, &bad, greatest, 4, &err),
        FZ_INVALID);
    scan_table_deinit(&t);
}

static void every_read_can_fail(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"") "," F(2, "s", "\"string\"");
    scan_table t;
    scan_table_init(&t, 2, fields, 0, NULL);
    t.store = fz_store_fault_new(t.store);
    for (int i = 0; i < 3; i++) {
        scan_table_add(&t, fields, "[[1,\"a\"],[2,null]]", NULL);
    }
    const fz_scan_options all = {.batch_rows = 1};
    const char *want = "{\"n\":1,\"s\":\"a\"}\n{\"n\":2,\"s\":null}\n";
    for (int when = FZ_STORE_FAULT_BEFORE; when <= (int)FZ_STORE_FAULT_AFTER; when++) {
        for (uint64_t n = 1;; n++) {
            fz_buf text = {0};
            fz_err err = {0};
            fz_store_fault_plan(t.store, FZ_STORE_FAULT_ANY, n, 1, (fz_store_fault_when)when,
                                FZ_UNAVAILABLE);
            fz_code code = scan_text(&t, &all, &text, &err);
            bool struck = fz_store_fault_struck(t.store);
            // what came before the failure is whole rows
            for (size_t at = 0; at < text.size; at += strlen(want)) {
                size_t left = text.size - at < strlen(want) ? text.size - at : strlen(want);
                assert_memory_equal(text.data + at, want, left);
            }
            fz_buf_deinit(&text);
            if (!struck) {
                assert_int_equal(code, FZ_OK);
                assert_true(n > 8);
                break;
            }
            assert_int_equal(code, FZ_UNAVAILABLE);
            assert_non_null(strstr(err.text, "\"memory://lake/t/"));
        }
    }
    scan_table_deinit(&t);
}

static void the_budget_is_kept(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"") "," F(2, "s", "\"string\"");
    scan_table t;
    scan_table_init(&t, 2, fields, 0, NULL);
    scan_table_add(&t, fields, "[[1,\"a\"],[2,null],[3,\"a long text, and another one\"]]", NULL);
    int refused = 0;
    for (int64_t limit = 1; limit < 1 << 20; limit = limit * 5 / 4 + 1) {
        fz_budget budget;
        fz_buf text = {0};
        fz_err err = {0};
        fz_budget_init(&budget, limit);
        const fz_scan_options all = {.budget = &budget};
        fz_code code = scan_text(&t, &all, &text, &err);
        assert_true(code == FZ_OK || code == FZ_LIMIT);
        refused += code == FZ_LIMIT;
        assert_int_equal(fz_budget_used(&budget), 0);
        fz_buf_deinit(&text);
    }
    assert_true(refused > 3);
    scan_table_deinit(&t);
}

static void damaged_files_do_not_crash(void **state) {
    (void)state;
    const char *fields = F(1, "n", "\"int\"") "," F(2, "l", LIST(3, "\"string\""));
    const fz_scan_options all = {0};
    scan_table t;
    fz_err err = {0};
    fz_buf whole = {0};
    scan_table_init(&t, 2, fields, 0, NULL);
    scan_table_add(&t, fields, "[[1,[\"a\",null]],[2,null],[3,[]]]", NULL);
    OK(fz_store_read_all(t.store, FZ_STR("t/data/0.parquet"), &whole, &err));
    srand(5);
    int corrupt = 0;
    for (int round = 0; round < 1500; round++) {
        size_t at = (size_t)rand() % whole.size;
        uint8_t was = whole.data[at];
        fz_buf text = {0};
        whole.data[at] = (uint8_t)rand();
        OK(fz_store_put(t.store, FZ_STR("t/data/0.parquet"), fz_buf_view(&whole), &err));
        fz_code code = scan_text(&t, &all, &text, &err);
        assert_true(code == FZ_OK || code == FZ_CORRUPT || code == FZ_UNSUPPORTED ||
                    code == FZ_LIMIT);
        corrupt += code == FZ_CORRUPT;
        whole.data[at] = was;
        fz_buf_deinit(&text);
    }
    assert_true(corrupt > 100);
    fz_buf_deinit(&whole);
    scan_table_deinit(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evolution),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(identity_partitions_are_filled_in),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(equality_deletes_are_refused),
        cmocka_unit_test(deleted_rows_are_left_out),
        cmocka_unit_test(greatest_offsets),
        cmocka_unit_test(every_read_can_fail),
        cmocka_unit_test(the_budget_is_kept),
        cmocka_unit_test(damaged_files_do_not_crash),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
