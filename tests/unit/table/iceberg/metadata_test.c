// SPDX-License-Identifier: Apache-2.0
// Table metadata: new tables, versions 1 to 3, what is refused, names of files.
#include "unit/table/iceberg/sample.h"

static const char v1[] =
    "{\"format-version\":1,\"location\":\"s3://b/t/\",\"last-updated-ms\":5,\"last-column-id\":2,"
    "\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,"
    "\"type\":\"int\"},"
    "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]},"
    "\"partition-spec\":[{\"source-id\":1,\"name\":\"a\",\"transform\":\"identity\"}],"
    "\"current-snapshot-id\":-1,\"x-unknown\":{\"kept\":[1]}}";

static fz_code parse(const char *text, fz_iceberg_metadata **out, fz_err *err) {
    return fz_iceberg_metadata_parse(fz_str_from(text),
                                     FZ_STR("s3://b/t/metadata/v7.metadata.json"), out, err);
}

static void version_1_reads_as_2(void **state) {
    (void)state;
    fz_iceberg_metadata *m;
    fz_err err;
    assert_int_equal(parse(v1, &m, &err), FZ_OK);
    assert_int_equal(fz_iceberg_metadata_version(m), 1);
    assert_true(fz_str_equal(fz_iceberg_metadata_base(m), FZ_STR("s3://b/t")));
    assert_int_equal(fz_iceberg_metadata_schema_id(m), 0);
    assert_int_equal(fz_iceberg_metadata_last_partition_id(m), 1000);
    fz_schema *schema;
    assert_int_equal(fz_iceberg_metadata_schema(m, 0, &schema, &err), FZ_OK);
    assert_int_equal(schema->root.field_count, 2);
    fz_schema_unref(schema);
    assert_int_equal(fz_iceberg_metadata_schema(m, 9, &schema, &err), FZ_NOT_FOUND);
    fz_arena arena = {0};
    fz_partition_spec spec;
    assert_int_equal(fz_iceberg_metadata_spec(m, 0, NULL, &arena, &spec, &err), FZ_OK);
    assert_int_equal(spec.fields[0].field_id, 1000);
    assert_int_equal(spec.fields[0].result_type.kind, FZ_TYPE_INT);
    fz_arena_deinit(&arena);
    fz_iceberg_snapshot snapshot;
    assert_false(fz_iceberg_metadata_main(m, &snapshot));
    // upgraded, the members of version 1 are gone, unknown ones stay
    fz_iceberg_metadata *v2 =
        sample_apply_text(m,
                          "[{\"action\":\"assign-uuid\",\"uuid\":\"u\"},"
                          "{\"action\":\"upgrade-format-version\",\"format-version\":2}]",
                          10);
    assert_null(json_object_get(v2->root, "schema"));
    assert_non_null(json_object_get(v2->root, "x-unknown"));
    assert_int_equal(fz_iceberg_metadata_log_count(v2), 1);
    assert_true(fz_str_starts_with(v2->location, FZ_STR("s3://b/t/metadata/00008-")));
    fz_iceberg_metadata_unref(v2);
    fz_iceberg_metadata_unref(m);
}

static void new_table(void **state) {
    (void)state;
    for (int version = 2; version <= 3; version++) {
        fz_iceberg_metadata *m = sample_table(version, true);
        fz_buf text = {0};
        fz_err err;
        assert_int_equal(fz_iceberg_metadata_format(m, &text, &err), FZ_OK);
        fz_iceberg_metadata *again;
        assert_int_equal(fz_iceberg_metadata_parse(fz_buf_view(&text), FZ_STR(""), &again, &err),
                         FZ_OK);
        assert_true(json_equal(m->root, again->root));
        assert_int_equal(fz_iceberg_metadata_uuid(m).size, 36);
        assert_int_equal(fz_iceberg_metadata_last_column_id(m), 4);
        assert_int_equal(fz_iceberg_metadata_last_partition_id(m), 1001);
        fz_iceberg_snapshot snapshot;
        assert_false(fz_iceberg_metadata_main(m, &snapshot));
        const json_t *current = json_object_get(m->root, "current-snapshot-id");
        assert_true(version == 2 ? json_integer_value(current) == -1 : json_is_null(current));
        assert_int_equal(json_object_get(m->root, "next-row-id") != NULL, version == 3);
        fz_iceberg_metadata_unref(again);
        fz_iceberg_metadata_unref(m);
        fz_buf_deinit(&text);
    }
}

static void fresh_ids(void **state) {
    (void)state;
    json_t *json = sample_json("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\","
                               "\"required\":true,\"type\":\"int\"}]}");
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    schema->root.fields[0].id = 0; // a shape: not given yet
    const fz_iceberg_new_options options = {
        .schema = schema, .location = FZ_STR("s3://b/t"), .format_version = 2, .now_ms = 1};
    fz_iceberg_metadata *m;
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, NULL), FZ_OK);
    assert_int_equal(fz_iceberg_metadata_last_column_id(m), 1);
    assert_int_equal(fz_iceberg_metadata_last_partition_id(m), 999);
    fz_iceberg_metadata_unref(m);
    fz_schema_unref(schema);
    json_decref(json);
}

static void refused_options(void **state) {
    (void)state;
    json_t *json =
        sample_json("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,"
                    "\"type\":\"timestamp_ns\"},"
                    "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"boolean\"}]}");
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    fz_partition_field field = {
        .source_id = 2, .name = FZ_STR("p"), .transform = {FZ_TRANSFORM_BUCKET, 4}};
    const fz_partition_spec spec = {.fields = &field, .field_count = 1};
    json_t *reserved = json_pack("{s:s}", "format-version", "2");
    fz_iceberg_metadata *m;
    fz_err err;
    fz_iceberg_new_options options = {
        .schema = schema, .location = FZ_STR("s3://b/t"), .format_version = 2, .now_ms = 1};
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID); // nanoseconds
    assert_non_null(strstr(err.text, "\"a\""));
    options.format_version = 1;
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID);
    options.format_version = 3;
    options.location = FZ_STR("/bare/path");
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID);
    options.location = FZ_STR("s3://b/t");
    options.spec = &spec; // bucket of a boolean
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID);
    field.transform = (fz_transform){FZ_TRANSFORM_VOID, 0};
    options.properties = reserved;
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID);
    options.properties = NULL;
    field.name = FZ_STR("a");
    field.transform = (fz_transform){FZ_TRANSFORM_DAY, 0};
    field.source_id = 1; // named like the column it is made from, but not the same values
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_INVALID);
    field.name = FZ_STR("a_day");
    assert_int_equal(fz_iceberg_metadata_new(&options, &m, &err), FZ_OK);
    fz_iceberg_metadata_unref(m);
    json_decref(reserved);
    fz_schema_unref(schema);
    json_decref(json);
}

/** Metadata of a sample table after one member was set to a value given as text. */
static fz_code parse_changed(const char *key, const char *value, fz_err *err) {
    fz_iceberg_metadata *m = sample_table(2, false);
    json_t *root = json_deep_copy(m->root);
    json_error_t error;
    if (value) {
        json_object_set_new(root, key, json_loads(value, JSON_DECODE_ANY, &error));
    } else {
        (void)json_object_del(root, key);
    }
    fz_iceberg_metadata *out;
    fz_code code = fz_iceberg_metadata_from_json(root, FZ_STR(""), &out, err);
    if (code == FZ_OK) {
        fz_iceberg_metadata_unref(out);
    }
    json_decref(root);
    fz_iceberg_metadata_unref(m);
    return code;
}

static void what_is_corrupt(void **state) {
    (void)state;
    static const struct {
        const char *key;
        const char *value;
        fz_code code;
    } cases[] = {
        {"format-version", NULL, FZ_CORRUPT},
        {"format-version", "4", FZ_UNSUPPORTED},
        {"location", NULL, FZ_CORRUPT},
        {"location", "\"\"", FZ_CORRUPT},
        {"table-uuid", NULL, FZ_CORRUPT},
        {"last-sequence-number", NULL, FZ_CORRUPT},
        {"last-updated-ms", "\"5\"", FZ_CORRUPT},
        {"last-column-id", "-1", FZ_CORRUPT},
        {"schemas", "[]", FZ_CORRUPT},
        {"schemas", "{}", FZ_CORRUPT},
        {"current-schema-id", "5", FZ_CORRUPT},
        {"default-spec-id", "5", FZ_CORRUPT},
        {"default-sort-order-id", "5", FZ_CORRUPT},
        {"properties", "{\"a\":1}", FZ_CORRUPT},
        {"properties", "[]", FZ_CORRUPT},
        {"snapshots", "[{}]", FZ_CORRUPT},
        {"snapshots", "[7]", FZ_CORRUPT},
        {"refs", "{\"main\":{}}", FZ_CORRUPT},
        {"current-snapshot-id", "7", FZ_CORRUPT},
        {"refs", "{\"main\":{\"snapshot-id\":7}}", FZ_CORRUPT},
        {"current-snapshot-id", "null", FZ_OK},
        {"current-snapshot-id", NULL, FZ_OK},
        {"properties", "null", FZ_OK},
        {"refs", NULL, FZ_OK},
        {"snapshots", NULL, FZ_OK},
        {"snapshot-log", NULL, FZ_OK},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_err err = {0};
        fz_code code = parse_changed(cases[i].key, cases[i].value, &err);
        if (code != cases[i].code) {
            fail_msg("%s = %s: %s %s", cases[i].key, cases[i].value ? cases[i].value : "absent",
                     fz_code_name(code), err.text);
        }
    }
    fz_iceberg_metadata *m;
    assert_int_equal(parse("", &m, NULL), FZ_CORRUPT);
    assert_int_equal(parse("[]", &m, NULL), FZ_CORRUPT);
    assert_int_equal(parse("{\"format-version\":2,", &m, NULL), FZ_CORRUPT);
}

static void files(void **state) {
    (void)state;
    fz_iceberg_metadata *m = sample_table(2, false);
    fz_iceberg_metadata *gzip =
        sample_apply_text(m,
                          "[{\"action\":\"set-properties\",\"updates\":{\"write.metadata."
                          "compression-codec\":\"gzip\","
                          "\"write.metadata.path\":\"s3://other/place/\"}}]",
                          5);
    assert_true(fz_str_starts_with(gzip->location, FZ_STR("s3://other/place/00000-")));
    assert_true(fz_str_ends_with(gzip->location, FZ_STR(".gz.metadata.json")));
    fz_buf bytes = {0};
    assert_int_equal(fz_iceberg_metadata_format(gzip, &bytes, NULL), FZ_OK);
    assert_int_equal(bytes.data[0], 0x1f);
    fz_iceberg_metadata *again; // by its bytes, whatever the name says
    assert_int_equal(
        fz_iceberg_metadata_parse(fz_buf_view(&bytes), FZ_STR("x.metadata.json"), &again, NULL),
        FZ_OK);
    assert_true(json_equal(again->root, gzip->root));
    fz_buf_deinit(&bytes);
    static const struct {
        const char *previous;
        const char *start;
    } names[] = {
        {"", "file:///warehouse/db/t/metadata/00000-"},
        {"s3://b/metadata/00041-abc.metadata.json", "file:///warehouse/db/t/metadata/00042-"},
        {"s3://b/metadata/123456-abc.metadata.json", "file:///warehouse/db/t/metadata/123457-"},
        {"s3://b/metadata/v3.metadata.json", "file:///warehouse/db/t/metadata/00004-"},
        {"s3://b/metadata/odd.metadata.json", "file:///warehouse/db/t/metadata/00000-"},
    };
    for (size_t i = 0; i < FZ_COUNT(names); i++) {
        fz_buf location = {0};
        fz_iceberg_metadata_next_location(m, fz_str_from(names[i].previous), &location);
        assert_true(fz_str_starts_with(fz_buf_view(&location), fz_str_from(names[i].start)));
        fz_buf_deinit(&location);
    }
    assert_int_equal(fz_iceberg_metadata_property_int(gzip, "absent", 7), 7);
    assert_int_equal(fz_iceberg_metadata_property_int(gzip, "write.metadata.path", 7), 7);
    fz_iceberg_metadata_unref(again);
    fz_iceberg_metadata_unref(gzip);
    fz_iceberg_metadata_unref(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_reads_as_2),
        cmocka_unit_test(new_table),
        cmocka_unit_test(fresh_ids),
        cmocka_unit_test(refused_options),
        cmocka_unit_test(what_is_corrupt),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
