// SPDX-License-Identifier: Apache-2.0
// Metadata files as other implementations write and refuse them: parsed or refused as their names
// say, and what is not known to us carried through. With folders as arguments, those instead of
// ours (the test resources of Apache Iceberg, of its Rust and Python implementations).
#include <dirent.h>
#include <stdio.h>

#include "base/file.h"
#include "unit/table/iceberg/sample.h"

static int seen;

/** By the words in its name. */
static bool is_refused(const char *name) {
    static const char *const words[] = {"Missing", "Unsupported", "NotFound", "NoValid",
                                        "refused_"};
    for (size_t i = 0; i < FZ_COUNT(words); i++) {
        if (strstr(name, words[i])) {
            return true;
        }
    }
    return false;
}

/** All that a table needs of its metadata: every schema and spec, the order. */
static fz_code look(const fz_iceberg_metadata *m, fz_err *err) {
    fz_arena FZ_CLEANUP(fz_arena_deinit) arena = {0};
    const json_t *schemas = json_object_get(m->root, "schemas");
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        fz_schema *schema = NULL;
        int64_t id = fz_json_int_or(json_array_get(schemas, i), "schema-id", -1);
        FZ_TRY(fz_iceberg_metadata_schema(m, (int32_t)id, &schema, err));
        fz_schema_unref(schema);
    }
    const json_t *specs = json_object_get(m->root, "partition-specs");
    for (size_t i = 0; i < json_array_size(specs); i++) {
        fz_partition_spec spec;
        int64_t id = fz_json_int_or(json_array_get(specs, i), "spec-id", -1);
        FZ_TRY(fz_iceberg_metadata_spec(m, (int32_t)id, NULL, &arena, &spec, err));
    }
    fz_sort_order order;
    return fz_iceberg_metadata_order(m, &arena, &order, err);
}

static void check_carried(const fz_iceberg_metadata *m, fz_str text, const char *name) {
    json_t *wanted = NULL;
    fz_buf out = {0};
    fz_err err = {0};
    assert_int_equal(fz_json_parse(text, &wanted, NULL), FZ_OK);
    assert_int_equal(fz_iceberg_metadata_format(m, &out, &err), FZ_OK);
    fz_iceberg_metadata *again = NULL;
    assert_int_equal(fz_iceberg_metadata_parse(fz_buf_view(&out), FZ_STR("x"), &again, &err),
                     FZ_OK);
    // Version 1 is completed with the members of version 2; all others stay as they are.
    const char *key;
    json_t *value;
    json_object_foreach(wanted, key, value) {
        if (!json_equal(value, json_object_get(again->root, key))) {
            fail_msg("%s: \"%s\" is not carried through", name, key);
        }
    }
    assert_true(fz_iceberg_metadata_version(m) == 1 ||
                json_object_size(wanted) == json_object_size(again->root));
    fz_iceberg_metadata_unref(again);
    fz_buf_deinit(&out);
    json_decref(wanted);
}

static void check_file(const char *folder, const char *name) {
    char path[4096];
    fz_buf text = {0};
    fz_err err = {0};
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    assert_int_equal(fz_file_read(path, &text, &err), FZ_OK);
    fz_iceberg_metadata *m = NULL;
    fz_code code = fz_iceberg_metadata_parse(
        fz_buf_view(&text), FZ_STR("s3://b/t/metadata/v1.metadata.json"), &m, &err);
    if (code == FZ_OK) {
        code = look(m, &err);
    }
    if (is_refused(name)) {
        if ((code != FZ_CORRUPT && code != FZ_UNSUPPORTED) || !err.text[0]) {
            fail_msg("%s: %s", name, code == FZ_OK ? "not refused" : fz_err_text(&err));
        }
    } else {
        if (code != FZ_OK) {
            fail_msg("%s: %s", name, fz_err_text(&err));
        }
        check_carried(m, fz_buf_view(&text), name);
    }
    seen++;
    fz_iceberg_metadata_unref(m);
    fz_buf_deinit(&text);
}

static void every_file(void **state) {
    const char *folder = *state;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (fz_str_ends_with(fz_str_from(entry->d_name), FZ_STR(".json"))) {
            check_file(folder, entry->d_name);
        }
    }
    closedir(dir);
    print_message("%d files of %s\n", seen, folder);
    assert_true(seen > 0);
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc || (argc == 1 && i == 1); i++) {
        const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(
            every_file, argc > 1 ? argv[i] : FZ_TEST_DATA "/golden/iceberg/metadata")};
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
