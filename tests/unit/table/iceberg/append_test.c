// SPDX-License-Identifier: Apache-2.0
// Appends: attempts, requirements, summaries, carried manifests; metrics modes.
#include "base/memory.h"
#include "unit/table/iceberg/sample.h"

static const char uuid[] = "11111111-2222-4333-8444-555555555555";

static void add_file(fz_iceberg_append *append, const char *path, int64_t rows, int32_t spec_id,
                     const char *name) {
    fz_value tuple[2] = {{.kind = FZ_TYPE_DATE, .as.integer = 5}, {.kind = FZ_TYPE_STRING}};
    tuple[1].is_null = !name;
    tuple[1].as.bytes = fz_str_from(name);
    fz_iceberg_file file = fz_iceberg_file_make(fz_str_from(path), spec_id);
    file.partition = tuple;
    file.partition_count = spec_id == 0 ? 2 : 0;
    file.record_count = rows;
    file.file_size_bytes = 100 * rows;
    fz_iceberg_append_add(append, &file);
}

/** Build on `base`; must work. */
static fz_iceberg_change build(fz_iceberg_append *append, const fz_iceberg_metadata *base,
                               fz_str parent_list, const json_t *summary) {
    const fz_iceberg_append_options options = {
        .now_ms = 1, .parent_list = parent_list, .summary = summary};
    fz_iceberg_change change;
    fz_err err;
    if (fz_iceberg_append_build(append, base, &options, &change, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(fz_iceberg_update_check(base, change.requirements, &err), FZ_OK);
    return change;
}

static const fz_iceberg_upload *list_of(const fz_iceberg_change *change) {
    return &change->uploads[change->upload_count - 1];
}

static void assert_summary(const fz_iceberg_metadata *m, const char *key, const char *wanted) {
    fz_iceberg_snapshot s;
    assert_true(fz_iceberg_metadata_main(m, &s));
    fz_str found = fz_iceberg_snapshot_summary(&s, key);
    if (!fz_str_equal(found, fz_str_from(wanted))) {
        fail_msg("%s is %.*s, wanted %s", key, FZ_STR_ARGS(found), wanted ? wanted : "absent");
    }
}

static void attempts_reuse_manifests(void **state) {
    (void)state;
    for (int version = 2; version <= 3; version++) {
        fz_iceberg_metadata *m0 = sample_table(version, true);
        fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(uuid));
        add_file(append, "s3://b/1.parquet", 3, 0, "a");
        add_file(append, "s3://b/2.parquet", 4, 0, NULL);
        fz_iceberg_change first = build(append, m0, FZ_STR(""), NULL);
        assert_int_equal(first.upload_count, 2);
        assert_true(fz_str_equal(
            first.uploads[0].path,
            FZ_STR(
                "file:///warehouse/db/t/metadata/11111111-2222-4333-8444-555555555555-m0.avro")));
        const json_t *ref = json_array_get(first.requirements, 1);
        assert_true(json_is_null(json_object_get(ref, "snapshot-id"))); // T175
        // somebody else was first
        fz_iceberg_append *other =
            fz_iceberg_append_new(FZ_STR("99999999-2222-4333-8444-555555555555"));
        add_file(other, "s3://b/x.parquet", 10, 0, "x");
        fz_iceberg_change theirs = build(other, m0, FZ_STR(""), NULL);
        fz_iceberg_metadata *m1 = sample_apply(m0, theirs.updates, 1);
        fz_err err;
        assert_int_equal(fz_iceberg_update_check(m1, first.requirements, &err), FZ_CONFLICT);
        fz_iceberg_append_uploaded(append);
        json_t *custom = json_pack("{s:s}", "frazil.commit", "c1");
        fz_iceberg_change second = build(append, m1, list_of(&theirs)->bytes, custom);
        assert_int_equal(second.upload_count, 1); // the list only
        assert_int_not_equal(second.snapshot_id, first.snapshot_id);
        assert_int_equal(second.sequence_number, 2);
        assert_false(fz_str_equal(list_of(&second)->path, list_of(&first)->path));
        fz_iceberg_metadata *m2 = sample_apply(m1, second.updates, 1);
        assert_summary(m2, "operation", "append");
        assert_summary(m2, "frazil.commit", "c1");
        assert_summary(m2, "added-data-files", "2");
        assert_summary(m2, "added-records", "7");
        assert_summary(m2, "added-files-size", "700");
        assert_summary(m2, "changed-partition-count", "2");
        assert_summary(m2, "total-records", "17");
        assert_summary(m2, "total-data-files", "3");
        assert_summary(m2, "total-files-size", "1700");
        assert_summary(m2, "total-delete-files", "0");
        fz_arena arena = {0};
        fz_iceberg_list list;
        assert_int_equal(fz_iceberg_list_read(list_of(&second)->bytes, &arena, &list, &err), FZ_OK);
        assert_int_equal(list.count, 2);
        assert_int_equal(list.manifests[0].sequence_number, 2);
        assert_int_equal(list.manifests[0].added_snapshot_id, second.snapshot_id);
        assert_int_equal(list.manifests[0].added_files, 2);
        assert_int_equal(list.manifests[1].sequence_number, 1);
        assert_int_equal(list.manifests[1].added_snapshot_id, theirs.snapshot_id);
        if (version == 3) {
            assert_int_equal(list.manifests[1].first_row_id, 0);
            assert_int_equal(list.manifests[0].first_row_id, 10);
            assert_int_equal(fz_iceberg_metadata_next_row_id(m2), 17);
        }
        fz_arena_deinit(&arena);
        json_decref(custom);
        fz_iceberg_change_deinit(&first);
        fz_iceberg_change_deinit(&second);
        fz_iceberg_change_deinit(&theirs);
        fz_iceberg_append_free(append);
        fz_iceberg_append_free(other);
        fz_iceberg_metadata_unref(m0);
        fz_iceberg_metadata_unref(m1);
        fz_iceberg_metadata_unref(m2);
    }
}

static void empty_append(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, false);
    fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(uuid));
    fz_iceberg_change change = build(append, m0, FZ_STR(""), NULL);
    assert_int_equal(change.upload_count, 1);
    assert_int_equal(change.timestamp_ms, 1000001); // R27: the clock says 1
    fz_iceberg_metadata *m1 = sample_apply(m0, change.updates, 1);
    assert_summary(m1, "operation", "append");
    assert_summary(m1, "total-records", "0");
    assert_summary(m1, "added-records", NULL);
    fz_iceberg_change_deinit(&change);
    fz_iceberg_append_free(append);
    // a parent without its list, or with one that is torn
    append = fz_iceberg_append_new(fz_str_from(uuid));
    fz_iceberg_append_options options = {.now_ms = 1};
    fz_err err;
    assert_int_equal(fz_iceberg_append_build(append, m1, &options, &change, &err), FZ_INVALID);
    options.parent_list = FZ_STR("Obj\1");
    assert_int_equal(fz_iceberg_append_build(append, m1, &options, &change, &err), FZ_CORRUPT);
    fz_iceberg_append_free(append);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
}

static void schema_and_spec_in_the_same_commit(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, true);
    json_t *schema = json_deep_copy(fz_iceberg_metadata_schema_json(m0, 0));
    json_array_append_new(
        json_object_get(schema, "fields"),
        json_pack("{s:i, s:s, s:b, s:s}", "id", 5, "name", "more", "required", 0, "type", "int"));
    json_t *updates = sample_json("[{\"action\":\"add-spec\",\"spec\":{\"fields\":[]}},{\"action\":"
                                  "\"set-default-spec\",\"spec-id\":-1}]");
    json_t *properties = json_pack("{s:s}", "frazil.state", "s");
    json_t *removals = json_pack("[s]", "never");
    fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(uuid));
    add_file(append, "s3://b/1.parquet", 3, 0, "a");
    add_file(append, "s3://b/2.parquet", 4, 1, NULL);
    const fz_iceberg_append_options options = {.now_ms = 1,
                                               .snapshot_id = 77,
                                               .schema = schema,
                                               .updates = updates,
                                               .properties = properties,
                                               .removals = removals};
    fz_iceberg_change change;
    fz_err err;
    assert_int_equal(fz_iceberg_append_build(append, m0, &options, &change, &err), FZ_OK);
    assert_int_equal(change.upload_count, 3); // a manifest a spec
    assert_int_equal(json_array_size(change.requirements), 6);
    assert_int_equal(fz_iceberg_update_check(m0, change.requirements, &err), FZ_OK);
    fz_iceberg_metadata *m1 = sample_apply(m0, change.updates, 1);
    fz_iceberg_snapshot s;
    assert_true(fz_iceberg_metadata_main(m1, &s));
    assert_int_equal(s.snapshot_id, 77);
    assert_int_equal(s.schema_id, 1);
    assert_int_equal(fz_iceberg_metadata_schema_id(m1), 1);
    assert_int_equal(fz_iceberg_metadata_spec_id(m1), 1);
    assert_int_equal(fz_iceberg_metadata_last_column_id(m1), 5);
    assert_true(fz_str_equal(fz_iceberg_metadata_property(m1, "frazil.state"), FZ_STR("s")));
    assert_int_equal(fz_iceberg_update_check(m1, change.requirements, &err), FZ_CONFLICT);
    fz_iceberg_change_deinit(&change);
    fz_iceberg_append_free(append);
    // a spec that is not there
    append = fz_iceberg_append_new(fz_str_from(uuid));
    add_file(append, "s3://b/1.parquet", 3, 9, NULL);
    const fz_iceberg_append_options plain = {.now_ms = 1};
    assert_int_equal(fz_iceberg_append_build(append, m0, &plain, &change, &err), FZ_INVALID);
    fz_iceberg_append_free(append);
    json_decref(schema);
    json_decref(updates);
    json_decref(properties);
    json_decref(removals);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
}

static void delete_files(void **state) {
    (void)state;
    fz_iceberg_metadata *m0 = sample_table(2, false);
    fz_iceberg_append *append = fz_iceberg_append_new(fz_str_from(uuid));
    fz_iceberg_file file = fz_iceberg_file_make(FZ_STR("s3://b/d.parquet"), 0);
    file.content = FZ_ICEBERG_EQUALITY_DELETES;
    file.record_count = 2;
    int32_t ids[] = {1};
    file.equality_ids = ids;
    file.equality_count = 1;
    fz_iceberg_append_add(append, &file);
    file = fz_iceberg_file_make(FZ_STR("s3://b/1.parquet"), 0);
    file.record_count = 5;
    fz_iceberg_append_add(append, &file);
    fz_iceberg_change change = build(append, m0, FZ_STR(""), NULL);
    assert_int_equal(change.upload_count, 3); // deletes are in a manifest of their own
    fz_iceberg_metadata *m1 = sample_apply(m0, change.updates, 1);
    assert_summary(m1, "operation", "overwrite");
    assert_summary(m1, "added-equality-delete-files", "1");
    assert_summary(m1, "total-equality-deletes", "2");
    assert_summary(m1, "total-records", "5");
    fz_iceberg_change_deinit(&change);
    fz_iceberg_append_free(append);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
}

/** Metrics of the sample's columns as a writer counts them. */
static fz_file_metrics metrics_of(fz_column_metrics columns[4]) {
    static int64_t splits[] = {4};
    columns[0] = (fz_column_metrics){.field_id = 1,
                                     .type = {.kind = FZ_TYPE_LONG},
                                     .column_size = 10,
                                     .value_count = 3,
                                     .nan_count = -1,
                                     .has_bounds = true,
                                     .lower = {.kind = FZ_TYPE_LONG, .as.integer = 1},
                                     .upper = {.kind = FZ_TYPE_LONG, .as.integer = 3}};
    columns[1] = (fz_column_metrics){
        .field_id = 2,
        .type = {.kind = FZ_TYPE_STRING},
        .column_size = 20,
        .value_count = 3,
        .null_count = 1,
        .nan_count = -1,
        .has_bounds = true,
        .lower = {.kind = FZ_TYPE_STRING, .as.bytes = FZ_STR("abcdefghijklmnopqrstuvwxyz")},
        .upper = {.kind = FZ_TYPE_STRING, .as.bytes = FZ_STR("zbcdefghijklmnopqrstuvwxyz")}};
    columns[2] = (fz_column_metrics){.field_id = 3,
                                     .type = {.kind = FZ_TYPE_TIMESTAMPTZ},
                                     .in_repeated = true,
                                     .column_size = 30,
                                     .value_count = 9,
                                     .nan_count = -1};
    columns[3] = (fz_column_metrics){.field_id = 4,
                                     .type = {.kind = FZ_TYPE_DOUBLE},
                                     .column_size = 40,
                                     .value_count = 3,
                                     .nan_count = 3};
    return (fz_file_metrics){.row_count = 3,
                             .file_size = 999,
                             .split_offsets = splits,
                             .split_count = 1,
                             .columns = columns,
                             .column_count = 4};
}

static void check_modes(const char *properties, size_t sizes, size_t counts, size_t bounds,
                        const char *upper) {
    fz_iceberg_metadata *m0 = sample_table(2, false);
    json_t *updates =
        json_pack("[{s:s, s:o}]", "action", "set-properties", "updates", sample_json(properties));
    fz_iceberg_metadata *m = sample_apply(m0, updates, 1);
    fz_schema *schema;
    assert_int_equal(fz_iceberg_metadata_schema(m, 0, &schema, NULL), FZ_OK);
    fz_column_metrics columns[4];
    const fz_file_metrics metrics = metrics_of(columns);
    fz_arena arena = {0};
    fz_iceberg_file file = fz_iceberg_file_make(FZ_STR("f"), 0);
    fz_iceberg_file_set_metrics(&file, &metrics, schema, m, &arena);
    assert_int_equal(file.record_count, 3);
    assert_int_equal(file.file_size_bytes, 999);
    assert_int_equal(file.split_offsets[0], 4);
    assert_int_equal(file.column_sizes.count, sizes);
    assert_int_equal(file.value_counts.count, counts);
    assert_int_equal(file.null_counts.count, counts);
    assert_int_equal(file.lower_bounds.count, bounds);
    if (upper) {
        assert_true(fz_str_equal(file.upper_bounds.values[file.upper_bounds.count - 1],
                                 fz_str_from(upper)));
    }
    fz_arena_deinit(&arena);
    fz_schema_unref(schema);
    json_decref(updates);
    fz_iceberg_metadata_unref(m);
    fz_iceberg_metadata_unref(m0);
}

static void metrics_modes(void **state) {
    (void)state;
    check_modes("{}", 4, 3, 2, "zbcdefghijklmnoq"); // truncate(16), the last character raised
    check_modes("{\"write.metadata.metrics.default\":\"none\"}", 0, 0, 0, NULL);
    check_modes("{\"write.metadata.metrics.default\":\"counts\"}", 4, 3, 0, NULL);
    check_modes("{\"write.metadata.metrics.default\":\"full\"}", 4, 3, 2,
                "zbcdefghijklmnopqrstuvwxyz");
    check_modes("{\"write.metadata.metrics.default\":\"Truncate(2)\"}", 4, 3, 2, "zc");
    check_modes("{\"write.metadata.metrics.default\":\"nonsense(\"}", 4, 3, 2, "zbcdefghijklmnoq");
    check_modes("{\"write.metadata.metrics.default\":\"none\",\"write.metadata.metrics.column."
                "name\":\"full\"}",
                1, 1, 1, "zbcdefghijklmnopqrstuvwxyz");
    check_modes("{\"write.metadata.metrics.max-inferred-column-defaults\":\"1\"}", 1, 1, 1, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_reuse_manifests),
        cmocka_unit_test(empty_append),
        cmocka_unit_test(schema_and_spec_in_the_same_commit),
        cmocka_unit_test(delete_files),
        cmocka_unit_test(metrics_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
