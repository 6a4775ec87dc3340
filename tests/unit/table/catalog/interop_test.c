// SPDX-License-Identifier: Apache-2.0
// Whole tables: Parquet files, manifests, commits through the SQL catalog; read back by our own
// manifests reader. With FZ_INTEROP_DIR set the tables stay there (catalog.db, warehouse/db/*), for
// other engines to judge:
//   tests/judge/judge.py --strict $FZ_INTEROP_DIR/warehouse/db/NAME/metadata/00006-*.metadata.json
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rand.h"
#include "format/parquet/writer.h"
#include "table/iceberg/append.h"
#include "unit/table/catalog/open_local.h"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        fz_err err = {0};                                                                          \
        fz_err *e = &err;                                                                          \
        if ((call) != FZ_OK) {                                                                     \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err.text);                                   \
        }                                                                                          \
        (void)e;                                                                                   \
    } while (0)

/** id, name, at, price, f, d, day, u, flag, tags, n {a, b}; later columns are ints. */
static const char columns[] =
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"
    "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":3,\"name\":\"at\",\"required\":false,\"type\":\"timestamptz\"},"
    "{\"id\":4,\"name\":\"price\",\"required\":false,\"type\":\"decimal(9, 2)\"},"
    "{\"id\":5,\"name\":\"f\",\"required\":false,\"type\":\"float\"},"
    "{\"id\":6,\"name\":\"d\",\"required\":false,\"type\":\"double\"},"
    "{\"id\":7,\"name\":\"day\",\"required\":false,\"type\":\"date\"},"
    "{\"id\":8,\"name\":\"u\",\"required\":false,\"type\":\"uuid\"},"
    "{\"id\":9,\"name\":\"flag\",\"required\":false,\"type\":\"boolean\"},"
    "{\"id\":10,\"name\":\"tags\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":12,"
    "\"element\":\"string\","
    "\"element-required\":false}},"
    "{\"id\":11,\"name\":\"n\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
    "{\"id\":13,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":14,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]}}]}";

typedef struct partition {
    int32_t source_id;
    const char *transform;
    const char *name;
} partition;

typedef struct table {
    const char *name;
    int version;
    partition partitions[3];
} table;

static const table tables[] = {
    {"plain2", 2, {{0}}},
    {"plain3", 3, {{0}}},
    {"name_day", 2, {{2, "identity", "name"}, {3, "day", "at_day"}}},
    {"float_truncate", 2, {{5, "identity", "f"}, {4, "truncate[50]", "price.t"}}},
    {"bucket_month",
     3,
     {{8, "bucket[4]", "u_bucket"}, {7, "month", "day_month"}, {9, "identity", "flag"}}},
    {"uuid_decimal",
     2,
     {{8, "identity", "u"}, {4, "identity", "price"}, {2, "truncate[3]", "1 n$"}}},
};

static void append_text(fz_column *column, int64_t i) {
    char text[64];
    if (i % 7 == 3) {
        CHECK(fz_column_append_null(column, e));
        return;
    }
    int size = i % 5 == 0 ? snprintf(text, sizeof(text),
                                     "\xf0\x9f\x98\x80 a rather long name number %d", (int)(i % 11))
                          : snprintf(text, sizeof(text), "n%d", (int)(i % 3));
    CHECK(fz_column_append_bytes(column, text, (size_t)size, e));
}

static void append_row(fz_batch *batch, int64_t i) {
    fz_column *c = batch->columns;
    static const float floats[] = {1.5f, NAN, -0.0f, 0.0f, INFINITY, -2.25f};
    CHECK(fz_column_append_i64(&c[0], i, e));
    append_text(&c[1], i);
    if (i % 11 == 4) {
        CHECK(fz_column_append_null(&c[2], e));
    } else {
        CHECK(fz_column_append_i64(&c[2], (i % 3 - 1) * INT64_C(86400000000) + i * 1000001, e));
    }
    fz_i128 unscaled = (i % 13 - 6) * 101;
    CHECK(fz_column_append_fixed(&c[3], &unscaled, e));
    if (i % 9 == 8) {
        CHECK(fz_column_append_null(&c[4], e));
    } else {
        CHECK(fz_column_append_float(&c[4], floats[i % 6], e));
    }
    CHECK(fz_column_append_double(&c[5], i % 4 ? (double)i / 3 : NAN, e));
    CHECK(fz_column_append_i32(&c[6], (int32_t)(i % 3) - 1, e));
    uint8_t uuid[16] = {(uint8_t)i, [15] = 0xff};
    CHECK(fz_column_append_fixed(&c[7], uuid, e));
    CHECK(fz_column_append_bool(&c[8], i % 2 != 0, e));
    for (int64_t k = 0; k < i % 3; k++) {
        CHECK(fz_column_append_bytes(&c[9].children[0], "tag", 3, e));
    }
    CHECK(fz_column_append_list(&c[9], e));
    CHECK(fz_column_append_i32(&c[10].children[0], (int32_t)i, e));
    CHECK(fz_column_append_bytes(&c[10].children[1], "", 0, e));
    CHECK(fz_column_append_struct(&c[10], e));
    for (size_t k = 11; k < batch->column_count; k++) {
        CHECK(fz_column_append_i32(&c[k], (int32_t)i, e));
    }
    batch->rows++;
}

/** A handle on all that one commit needs. */
typedef struct commit_work {
    fz_store *store;
    fz_iceberg_metadata *base;
    fz_schema *schema;
    fz_partition_spec spec;
    fz_arena arena;
    fz_iceberg_append *append;
    char uuid[37];
} commit_work;

static void put(const commit_work *w, fz_str uri, fz_str bytes) {
    fz_str key;
    CHECK(fz_store_key(w->store, uri, &key, e));
    CHECK(fz_store_put_new(w->store, key, bytes, e));
}

static void write_file(commit_work *w, fz_batch *batch, const fz_partition_router *router,
                       const uint32_t *groups, uint32_t group) {
    uint32_t *rows = fz_calloc((size_t)batch->rows, sizeof(*rows));
    int64_t count = 0;
    for (int64_t i = 0; i < batch->rows; i++) {
        if (groups[i] == group) {
            rows[count++] = (uint32_t)i;
        }
    }
    fz_buf bytes = {0};
    fz_buf_sink sink;
    fz_buf_sink_init(&sink, &bytes);
    fz_parquet_options options;
    fz_parquet_options_init(&options);
    fz_parquet_writer *writer;
    fz_file_metrics metrics = {0};
    CHECK(fz_parquet_writer_new(w->schema, &options, &sink.sink, NULL, &writer, e));
    CHECK(fz_parquet_writer_append_rows(writer, batch, rows, count, e));
    CHECK(fz_parquet_writer_close(writer, &metrics, e));
    fz_parquet_writer_free(writer);
    fz_str path = fz_arena_printf(&w->arena, "%.*s/data/%s-%u.parquet",
                                  FZ_STR_ARGS(fz_iceberg_metadata_base(w->base)), w->uuid, group);
    put(w, path, fz_buf_view(&bytes));
    fz_iceberg_file file = fz_iceberg_file_make(path, w->spec.spec_id);
    file.partition = (fz_value *)fz_partition_router_tuple(router, group);
    file.partition_count = w->spec.field_count;
    fz_iceberg_file_set_metrics(&file, &metrics, w->schema, w->base, &w->arena);
    fz_iceberg_append_add(w->append, &file);
    fz_file_metrics_deinit(&metrics);
    fz_buf_deinit(&bytes);
    fz_free(rows);
}

static void write_files(commit_work *w, int64_t from, int64_t count) {
    fz_batch *batch = fz_batch_new(w->schema, NULL);
    for (int64_t i = from; i < from + count; i++) {
        append_row(batch, i);
    }
    fz_partition_router *router;
    uint32_t *groups = fz_calloc((size_t)count, sizeof(*groups));
    CHECK(fz_partition_router_new(&w->spec, batch, &router, e));
    CHECK(fz_partition_router_route(router, 0, count, groups, e));
    for (uint32_t g = 0; g < fz_partition_router_count(router); g++) {
        write_file(w, batch, router, groups, g);
    }
    fz_partition_router_free(router);
    fz_free(groups);
    fz_batch_free(batch);
}

/** The current schema and one column more. */
static json_t *wider_schema(commit_work *w) {
    json_t *json = fz_schema_to_json(w->schema);
    json_array_append_new(json_object_get(json, "fields"),
                          json_pack("{s:i, s:s, s:b, s:s}", "id",
                                    fz_iceberg_metadata_last_column_id(w->base) + 1, "name",
                                    "extra", "required", 0, "type", "int"));
    fz_schema_unref(w->schema);
    CHECK(fz_schema_from_json(json, &w->schema, e));
    return json;
}

static void commit_rows(fz_catalog *catalog, fz_store *store, fz_catalog_name name, int64_t from,
                        int64_t count, bool widen, bool respec) {
    commit_work w = {.store = store};
    CHECK(fz_catalog_load(catalog, name, &w.base, e));
    CHECK(fz_iceberg_metadata_schema(w.base, fz_iceberg_metadata_schema_id(w.base), &w.schema, e));
    json_t *schema = widen ? wider_schema(&w) : NULL;
    json_t *updates = respec ? json_loads("[{\"action\":\"add-spec\",\"spec\":{\"fields\":[{"
                                          "\"source-id\":1,\"name\":\"id_bucket\","
                                          "\"transform\":\"bucket[4]\"}]}},{\"action\":\"set-"
                                          "default-spec\",\"spec-id\":-1}]",
                                          0, NULL)
                             : NULL;
    CHECK(fz_iceberg_metadata_spec(w.base, fz_iceberg_metadata_spec_id(w.base), w.schema, &w.arena,
                                   &w.spec, e));
    fz_rand_uuid(w.uuid);
    w.append = fz_iceberg_append_new(fz_str_from(w.uuid));
    if (count > 0) {
        write_files(&w, from, count);
    }
    fz_buf parent_list = {0};
    fz_iceberg_snapshot parent;
    if (fz_iceberg_metadata_main(w.base, &parent)) {
        fz_str key;
        CHECK(fz_store_key(store, parent.manifest_list, &key, e));
        CHECK(fz_store_read_all(store, key, &parent_list, e));
    }
    const fz_iceberg_append_options options = {.now_ms = fz_clock_wall_ms(fz_clock_real()),
                                               .parent_list = fz_buf_view(&parent_list),
                                               .schema = schema,
                                               .updates = updates};
    fz_iceberg_change change;
    CHECK(fz_iceberg_append_build(w.append, w.base, &options, &change, e));
    for (size_t i = 0; i < change.upload_count; i++) {
        put(&w, change.uploads[i].path, change.uploads[i].bytes);
    }
    fz_iceberg_metadata *next;
    CHECK(fz_catalog_commit(catalog, name, w.base, change.requirements, change.updates, &next, e));
    fz_iceberg_metadata_unref(next);
    fz_iceberg_change_deinit(&change);
    fz_buf_deinit(&parent_list);
    json_decref(schema);
    json_decref(updates);
    fz_iceberg_append_free(w.append);
    fz_arena_deinit(&w.arena);
    fz_schema_unref(w.schema);
    fz_iceberg_metadata_unref(w.base);
}

static void create_table(fz_catalog *catalog, fz_catalog_name name, const table *wanted) {
    json_t *json = json_loads(columns, 0, NULL);
    fz_schema *schema;
    fz_buf location = {0};
    CHECK(fz_schema_from_json(json, &schema, e));
    CHECK(fz_catalog_locate(catalog, name, &location, e));
    fz_partition_field fields[3] = {{0}};
    fz_partition_spec spec = {.fields = fields};
    for (; spec.field_count < 3 && wanted->partitions[spec.field_count].source_id;
         spec.field_count++) {
        const partition *p = &wanted->partitions[spec.field_count];
        fields[spec.field_count].source_id = p->source_id;
        fields[spec.field_count].name = fz_str_from(p->name);
        fields[spec.field_count].transform = fz_transform_parse(fz_str_from(p->transform));
    }
    const fz_iceberg_new_options options = {.schema = schema,
                                            .spec = &spec,
                                            .location = fz_buf_view(&location),
                                            .format_version = wanted->version,
                                            .now_ms = fz_clock_wall_ms(fz_clock_real())};
    fz_iceberg_metadata *initial;
    fz_iceberg_metadata *made;
    CHECK(fz_iceberg_metadata_new(&options, &initial, e));
    CHECK(fz_catalog_create(catalog, name, initial, &made, e));
    fz_iceberg_metadata_unref(initial);
    fz_iceberg_metadata_unref(made);
    fz_schema_unref(schema);
    fz_buf_deinit(&location);
    json_decref(json);
}

/** Rows of a manifest's live files. */
static int64_t count_manifest(fz_store *store, const fz_iceberg_metadata *m,
                              const fz_iceberg_manifest *line, size_t *files) {
    fz_arena arena = {0};
    fz_partition_spec spec;
    fz_buf bytes = {0};
    fz_str key;
    fz_iceberg_manifest_reader *reader;
    CHECK(fz_iceberg_metadata_spec(m, line->spec_id, NULL, &arena, &spec, e));
    CHECK(fz_store_key(store, line->path, &key, e));
    CHECK(fz_store_read_all(store, key, &bytes, e));
    assert_int_equal(bytes.size, line->size_bytes);
    CHECK(fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), line, &spec, &reader, e));
    int64_t rows = 0;
    bool found = true;
    while (found) {
        fz_iceberg_entry entry = {0};
        CHECK(fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, e));
        if (found) {
            assert_int_equal(entry.sequence_number, line->sequence_number);
            fz_object object;
            CHECK(fz_store_key(store, entry.file.path, &key, e));
            CHECK(fz_store_stat(store, key, &object, e));
            assert_int_equal(object.size_bytes, entry.file.file_size_bytes);
            rows += entry.file.record_count;
            ++*files;
        }
    }
    assert_int_equal(rows, line->added_rows + line->existing_rows);
    fz_iceberg_manifest_reader_free(reader);
    fz_buf_deinit(&bytes);
    fz_arena_deinit(&arena);
    return rows;
}

static void check_table(fz_catalog *catalog, fz_store *store, fz_catalog_name name,
                        int64_t wanted_rows) {
    fz_iceberg_metadata *m;
    fz_iceberg_snapshot main_snapshot;
    CHECK(fz_catalog_load(catalog, name, &m, e));
    assert_true(fz_iceberg_metadata_main(m, &main_snapshot));
    fz_buf bytes = {0};
    fz_arena arena = {0};
    fz_str key;
    fz_iceberg_list list;
    CHECK(fz_store_key(store, main_snapshot.manifest_list, &key, e));
    CHECK(fz_store_read_all(store, key, &bytes, e));
    CHECK(fz_iceberg_list_read(fz_buf_view(&bytes), &arena, &list, e));
    int64_t rows = 0;
    size_t files = 0;
    for (size_t i = 0; i < list.count; i++) {
        rows += count_manifest(store, m, &list.manifests[i], &files);
    }
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)rows);
    assert_true(fz_str_equal(fz_iceberg_snapshot_summary(&main_snapshot, "total-records"),
                             fz_str_from(text)));
    (void)snprintf(text, sizeof(text), "%zu", files);
    assert_true(fz_str_equal(fz_iceberg_snapshot_summary(&main_snapshot, "total-data-files"),
                             fz_str_from(text)));
    assert_int_equal(rows, wanted_rows);
    if (fz_iceberg_metadata_version(m) >= 3) {
        assert_int_equal(fz_iceberg_metadata_next_row_id(m), rows);
    }
    fz_arena_deinit(&arena);
    fz_buf_deinit(&bytes);
    fz_iceberg_metadata_unref(m);
}

static void whole_tables(void **state) {
    (void)state;
    const char *kept = getenv("FZ_INTEROP_DIR");
    if (kept) {
        (void)snprintf(scratch_path, sizeof(scratch_path), "%s", kept);
        CHECK(fz_file_make_folders(scratch_path, e));
    } else {
        scratch_make();
    }
    fz_catalog *catalog = open_sql();
    assert_non_null(catalog);
    char *folder = fz_str_printf("%s/warehouse", scratch_path);
    fz_store *store;
    CHECK(fz_store_local_open(folder, 0, &store, e));
    for (size_t i = 0; i < FZ_COUNT(tables); i++) {
        const fz_catalog_name name = {{"db", 2}, fz_str_from(tables[i].name)};
        create_table(catalog, name, &tables[i]);
        commit_rows(catalog, store, name, 0, 0, false, false);
        commit_rows(catalog, store, name, 0, 100, false, false);
        commit_rows(catalog, store, name, 100, 50, false, false);
        commit_rows(catalog, store, name, 150, 20, true, false);
        commit_rows(catalog, store, name, 170, 20, false, true);
        commit_rows(catalog, store, name, 190, 20, false, false);
        check_table(catalog, store, name, 210);
    }
    fz_store_free(store);
    fz_catalog_free(catalog);
    fz_free(folder);
    if (!kept) {
        scratch_remove();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
