// SPDX-License-Identifier: Apache-2.0
// Properties of data files: codecs, sizes, filters, places; what the configuration says comes
// first.
#include "table/iceberg/file_options.h"

#include "unit/table/iceberg/sample.h"

static const fz_config_files nothing = {.compression = {true, FZ_CODEC_ZSTD, 1}};

static fz_iceberg_metadata *table_with(const char *properties) {
    fz_iceberg_metadata *base = sample_table(2, true);
    fz_buf updates = {0};
    fz_buf_printf(&updates, "[{\"action\":\"set-properties\",\"updates\":{%s}}]", properties);
    fz_iceberg_metadata *table = sample_apply_text(base, fz_buf_cstr(&updates), 2000000);
    fz_buf_deinit(&updates);
    fz_iceberg_metadata_unref(base);
    return table;
}

static fz_code read_options(const fz_config_files *config, const fz_iceberg_metadata *table,
                            fz_iceberg_file_options *out, fz_err *err) {
    fz_schema *schema;
    assert_int_equal(
        fz_iceberg_metadata_schema(table, fz_iceberg_metadata_schema_id(table), &schema, err),
        FZ_OK);
    fz_code code = fz_iceberg_file_options_read(config, table, fz_iceberg_metadata_base(table),
                                                schema, out, err);
    fz_schema_unref(schema);
    return code;
}

static fz_iceberg_file_options must_read(const fz_config_files *config, const char *properties) {
    fz_iceberg_metadata *table = table_with(properties);
    fz_iceberg_file_options options;
    fz_err err = {0};
    if (read_options(config, table, &options, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_iceberg_metadata_unref(table);
    return options;
}

static void check_refused(const char *properties, const char *text) {
    fz_iceberg_metadata *table = table_with(properties);
    fz_iceberg_file_options options;
    fz_err err = {0};
    assert_int_equal(read_options(&nothing, table, &options, &err), FZ_INVALID);
    assert_string_equal(err.kind, "table_incompatible");
    if (!strstr(err.text, text)) {
        fail_msg("%s", err.text);
    }
    fz_iceberg_metadata_unref(table);
}

static void defaults(void **state) {
    (void)state;
    fz_iceberg_file_options o = must_read(&nothing, "\"a\":\"b\"");
    assert_int_equal(o.parquet.codec, FZ_CODEC_ZSTD);
    assert_int_equal(o.parquet.level, 1);
    assert_int_equal(o.parquet.row_group_size, 16 << 20);
    assert_int_equal(o.target_file_size, 512 << 20);
    assert_int_equal(o.bloom_ids.count, 0);
    assert_false(o.parquet.data_page_v2 || o.parquet.delta || o.object_storage);
    assert_string_equal(fz_buf_cstr(&o.root), "file:///warehouse/db/t/data");
    fz_iceberg_file_options_deinit(&o);
}

static void the_table_says(void **state) {
    (void)state;
    fz_iceberg_file_options o =
        must_read(&nothing, "\"write.parquet.compression-codec\":\"GZIP\","
                            "\"write.parquet.compression-level\":\"77\","
                            "\"write.parquet.row-group-size-bytes\":\"1000000\","
                            "\"write.parquet.page-size-bytes\":\"4096\","
                            "\"write.parquet.page-row-limit\":\"100\","
                            "\"write.parquet.dict-size-bytes\":\"8192\","
                            "\"write.parquet.page-version\":\"v2\","
                            "\"write.target-file-size-bytes\":\"5000000\","
                            "\"write.parquet.bloom-filter-enabled.column.id\":\"true\","
                            "\"write.parquet.bloom-filter-enabled.column.name\":\"false\","
                            "\"write.parquet.bloom-filter-enabled.column.none\":\"true\","
                            "\"write.parquet.bloom-filter-fpp.column.id\":\"0.001\","
                            "\"write.parquet.bloom-filter-max-bytes\":\"65536\"");
    assert_int_equal(o.parquet.codec, FZ_CODEC_GZIP);
    assert_int_equal(o.parquet.level, 9);
    assert_int_equal(o.parquet.row_group_size, 1000000);
    assert_int_equal(o.parquet.page_size, 4096);
    assert_int_equal(o.parquet.page_rows, 100);
    assert_int_equal(o.parquet.dictionary_size, 8192);
    assert_true(o.parquet.data_page_v2);
    assert_int_equal(o.target_file_size, 5000000);
    assert_int_equal(o.parquet.bloom_count, 1);
    assert_int_equal(o.parquet.bloom_ids[0], 1);
    assert_true(o.parquet.bloom_fpp == 0.001);
    assert_int_equal(o.parquet.bloom_max, 65536);
    fz_iceberg_file_options_deinit(&o);
}

static void every_codec_of_the_table(void **state) {
    (void)state;
    static const struct {
        const char *name;
        fz_codec codec;
    } codecs[] = {{"zstd", FZ_CODEC_ZSTD},     {"snappy", FZ_CODEC_SNAPPY},
                  {"gzip", FZ_CODEC_GZIP},     {"lz4", FZ_CODEC_LZ4_RAW},
                  {"brotli", FZ_CODEC_BROTLI}, {"uncompressed", FZ_CODEC_NONE}};
    for (size_t i = 0; i < FZ_COUNT(codecs); i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "\"write.parquet.compression-codec\":\"%s\"",
                       codecs[i].name);
        fz_iceberg_file_options o = must_read(&nothing, text);
        assert_int_equal(o.parquet.codec, codecs[i].codec);
        assert_int_equal(o.parquet.level, codecs[i].codec == FZ_CODEC_ZSTD ? 1 : 0);
        fz_iceberg_file_options_deinit(&o);
    }
    check_refused("\"write.parquet.compression-codec\":\"lzo\"", "lzo");
}

static void the_configuration_comes_first(void **state) {
    (void)state;
    fz_str columns[] = {FZ_STR("name"), FZ_STR("gone")};
    const fz_config_files config = {
        .target_file_size = 512 << 20, // also where it is what would be anyway
        .row_group_size = 16 << 20,
        .compression = {false, FZ_CODEC_ZSTD, 1},
        .parquet = {.delta_encodings = true, .bloom_filters = {columns, 2}}};
    fz_iceberg_file_options o =
        must_read(&config, "\"write.parquet.compression-codec\":\"gzip\","
                           "\"write.parquet.row-group-size-bytes\":\"1000000\","
                           "\"write.target-file-size-bytes\":\"5000000\","
                           "\"write.parquet.bloom-filter-enabled.column.name\":\"true\"");
    assert_int_equal(o.parquet.codec, FZ_CODEC_ZSTD);
    assert_int_equal(o.parquet.row_group_size, 16 << 20);
    assert_int_equal(o.target_file_size, 512 << 20);
    assert_true(o.parquet.delta);
    assert_int_equal(o.parquet.bloom_count, 1);
    assert_int_equal(o.parquet.bloom_ids[0], 2);
    fz_iceberg_file_options_deinit(&o);
}

static void check_path(const char *properties, const char *partition, const char *name,
                       const char *path) {
    fz_iceberg_file_options o = must_read(&nothing, properties);
    fz_buf out = {0};
    fz_iceberg_file_options_path(&o, fz_str_from(partition), fz_str_from(name), &out);
    assert_string_equal(fz_buf_cstr(&out), path);
    fz_buf_deinit(&out);
    fz_iceberg_file_options_deinit(&o);
}

/** Vectors of PyIceberg 0.10's and Java's object-store layout. */
static void places(void **state) {
    (void)state;
#define ENABLED "\"write.object-storage.enabled\":\"true\""
#define FLAT ENABLED ",\"write.object-storage.partitioned-paths\":\"false\""
    check_path("\"x\":\"y\"", "p=1", "a", "file:///warehouse/db/t/data/p=1/a");
    check_path("\"write.data.path\":\"file:///warehouse/db/t/in/here/\"", "", "a",
               "file:///warehouse/db/t/in/here/a");
    check_path(ENABLED, "", "a", "file:///warehouse/db/t/data/0101/0110/1001/10110010/a");
    check_path(ENABLED, "", "b", "file:///warehouse/db/t/data/1110/0111/1110/00000011/b");
    check_path(FLAT, "p=1", "c", "file:///warehouse/db/t/data/0010/1101/0110/01011111-c");
    check_path(ENABLED, "", "d", "file:///warehouse/db/t/data/1001/0001/0100/01110011/d");
    check_path(ENABLED ",\"write.data.path\":\"file:///warehouse/db/t/o\"", "", "a",
               "file:///warehouse/db/t/o/0101/0110/1001/10110010/a");
    check_path(ENABLED ",\"write.object-storage.path\":\"file:///warehouse/db/t/o\"", "", "a",
               "file:///warehouse/db/t/o/0101/0110/1001/10110010/a");
    check_path("\"write.object-storage.path\":\"file:///warehouse/db/t/o\"", "", "a",
               "file:///warehouse/db/t/data/a"); // not enabled
    check_path("\"write.folder-storage.path\":\"file:///warehouse/db/t/f\"", "", "a",
               "file:///warehouse/db/t/f/a");
#undef ENABLED
#undef FLAT
}

static void outside_is_refused(void **state) {
    (void)state;
    check_refused("\"write.data.path\":\"file:///warehouse/db/other\"", "write.data.path");
    check_refused("\"write.data.path\":\"file:///warehouse/db/t2/x\"",
                  "below the table's location");
    check_refused("\"write.data.path\":\"file:///warehouse/db/t\"", "below the table's location");
    json_t *properties = sample_json("{\"write.metadata.path\":\"s3://elsewhere/x\"}");
    fz_err err = {0};
    assert_int_equal(
        fz_iceberg_file_options_places(properties, FZ_STR("file:///warehouse/db/t"), &err),
        FZ_INVALID);
    assert_non_null(strstr(err.text, "write.metadata.path"));
    json_decref(properties);
    assert_int_equal(fz_iceberg_file_options_places(NULL, FZ_STR("file:///w/t"), &err), FZ_OK);
}

/** Files that wait for another table lie where they were put, whatever this table's properties. */
static void staged_elsewhere(void **state) {
    (void)state;
    fz_iceberg_metadata *table = table_with("\"write.data.path\":\"file:///warehouse/db/other\","
                                            "\"write.parquet.compression-codec\":\"snappy\"");
    fz_schema *schema;
    fz_err err = {0};
    assert_int_equal(fz_iceberg_metadata_schema(table, 0, &schema, &err), FZ_OK);
    fz_iceberg_file_options o;
    assert_int_equal(fz_iceberg_file_options_read(&nothing, table,
                                                  FZ_STR("file:///warehouse/db/t/data/_staged"),
                                                  schema, &o, &err),
                     FZ_OK);
    assert_string_equal(fz_buf_cstr(&o.root), "file:///warehouse/db/t/data/_staged/data");
    assert_int_equal(o.parquet.codec, FZ_CODEC_SNAPPY);
    fz_iceberg_file_options_deinit(&o);
    fz_schema_unref(schema);
    fz_iceberg_metadata_unref(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_table_says),
        cmocka_unit_test(every_codec_of_the_table),
        cmocka_unit_test(the_configuration_comes_first),
        cmocka_unit_test(places),
        cmocka_unit_test(outside_is_refused),
        cmocka_unit_test(staged_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
