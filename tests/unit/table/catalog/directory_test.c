// SPDX-License-Identifier: Apache-2.0
// What only the directory catalog does: hints that lie, a writer that slept, stores that fail.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <cmocka.h>

#include "io/store/fault_store.h"
#include "io/store/memory_store.h"
#include "table/catalog/directory.h"

static const fz_catalog_name name = {{"a.b", 3}, {"t", 1}};
static const fz_str hint = {"a/b/t/metadata/version-hint.text", 32};

static fz_iceberg_metadata *must_create(fz_catalog *catalog, const char *properties) {
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\","
                              "\"required\":true,\"type\":\"long\"}]}",
                              0, NULL);
    json_t *texts = json_loads(properties, 0, NULL);
    fz_schema *schema;
    fz_buf location = {0};
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    assert_int_equal(fz_catalog_locate(catalog, name, &location, NULL), FZ_OK);
    const fz_iceberg_new_options options = {.schema = schema,
                                            .location = fz_buf_view(&location),
                                            .format_version = 2,
                                            .properties = texts,
                                            .now_ms = 1000};
    fz_iceberg_metadata *metadata;
    fz_iceberg_metadata *made;
    fz_err err;
    assert_int_equal(fz_iceberg_metadata_new(&options, &metadata, &err), FZ_OK);
    if (fz_catalog_create(catalog, name, metadata, &made, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_iceberg_metadata_unref(metadata);
    fz_schema_unref(schema);
    fz_buf_deinit(&location);
    json_decref(json);
    json_decref(texts);
    return made;
}

static fz_code set_property(fz_catalog *catalog, const fz_iceberg_metadata *base, const char *key,
                            const char *value, fz_iceberg_metadata **out, fz_err *err) {
    json_t *updates =
        json_pack("[{s:s, s:{s:s}}]", "action", "set-properties", "updates", key, value);
    fz_code code = fz_catalog_commit(catalog, name, base, NULL, updates, out, err);
    json_decref(updates);
    return code;
}

/** Commit `count` times. The last metadata; the base's reference is given up. */
static fz_iceberg_metadata *advance(fz_catalog *catalog, fz_iceberg_metadata *base, int count) {
    for (int i = 0; i < count; i++) {
        fz_iceberg_metadata *next;
        fz_err err;
        if (set_property(catalog, base, "k", "v", &next, &err) != FZ_OK) {
            fail_msg("%s", err.text);
        }
        fz_iceberg_metadata_unref(base);
        base = next;
    }
    return base;
}

static void assert_at(fz_catalog *catalog, const char *location) {
    fz_iceberg_metadata *m;
    assert_int_equal(fz_catalog_load(catalog, name, &m, NULL), FZ_OK);
    assert_true(fz_str_equal(m->location, fz_str_from(location)));
    fz_iceberg_metadata_unref(m);
}

static void hints_decide_nothing(void **state) {
    (void)state;
    fz_store *store = fz_store_memory_new("w", 2);
    fz_catalog *catalog = fz_catalog_directory_new(store, fz_clock_real());
    fz_iceberg_metadata *m = advance(catalog, must_create(catalog, "{}"), 11);
    static const char *const texts[] = {
        "12", " 12\n", "1", "7", "99", "", "twelve", "-1", "99999999999999999999"};
    for (size_t i = 0; i < FZ_COUNT(texts); i++) {
        assert_int_equal(fz_store_put(store, hint, fz_str_from(texts[i]), NULL), FZ_OK);
        assert_at(catalog, "memory://w/a/b/t/metadata/v12.metadata.json");
    }
    assert_int_equal(fz_store_remove(store, hint, NULL), FZ_OK);
    assert_at(catalog, "memory://w/a/b/t/metadata/v12.metadata.json");
    m = advance(catalog, m, 1); // and the next commit repairs it
    fz_buf text = {0};
    assert_int_equal(fz_store_read_all(store, hint, &text, NULL), FZ_OK);
    assert_true(fz_str_equal(fz_buf_view(&text), FZ_STR("13")));
    fz_buf_deinit(&text);
    fz_iceberg_metadata_unref(m);
    fz_catalog_free(catalog);
}

static void a_writer_that_slept(void **state) {
    (void)state;
    fz_store *inner = fz_store_memory_new("w", 0);
    fz_store *store = fz_store_fault_new(inner);
    fz_catalog *catalog = fz_catalog_directory_new(store, fz_clock_real());
    fz_iceberg_metadata *m =
        must_create(catalog, "{\"write.metadata.previous-versions-max\":\"2\","
                             "\"write.metadata.delete-after-commit.enabled\":\"true\"}");
    m = advance(catalog, m, 8);
    assert_at(catalog, "memory://w/a/b/t/metadata/v9.metadata.json");
    fz_object object;
    assert_int_equal(fz_store_stat(store, FZ_STR("a/b/t/metadata/v3.metadata.json"), &object, NULL),
                     FZ_NOT_FOUND);
    // a base that is long gone is refused before anything is put
    fz_buf bytes = {0};
    fz_iceberg_metadata *old =
        fz_iceberg_metadata_moved(m, FZ_STR("memory://w/a/b/t/metadata/v2.metadata.json"));
    fz_iceberg_metadata *none;
    fz_err err;
    assert_int_equal(set_property(catalog, old, "k", "late", &none, &err), FZ_CONFLICT);
    // put by a writer that looked before it slept, the number is free again, but the table does not
    // go through it
    assert_int_equal(
        fz_store_put_new(store, FZ_STR("a/b/t/metadata/v3.metadata.json"), FZ_STR("{}"), &err),
        FZ_OK);
    assert_at(catalog, "memory://w/a/b/t/metadata/v9.metadata.json");
    assert_int_equal(fz_store_remove(store, hint, NULL), FZ_OK);
    assert_at(catalog, "memory://w/a/b/t/metadata/v9.metadata.json");
    fz_buf_deinit(&bytes);
    fz_iceberg_metadata_unref(old);
    fz_iceberg_metadata_unref(m);
    fz_catalog_free(catalog);
}

static void refused(void **state) {
    (void)state;
    fz_catalog *catalog = fz_catalog_directory_new(fz_store_memory_new("w", 0), fz_clock_real());
    fz_iceberg_metadata *m = must_create(catalog, "{}");
    fz_iceberg_metadata *none;
    fz_err err;
    assert_int_equal(
        set_property(catalog, m, "write.metadata.compression-codec", "gzip", &none, &err),
        FZ_UNSUPPORTED);
    json_t *move =
        json_pack("[{s:s, s:s}]", "action", "set-location", "location", "memory://w/elsewhere");
    assert_int_equal(fz_catalog_commit(catalog, name, m, NULL, move, &none, &err), FZ_INVALID);
    json_decref(move);
    assert_int_equal(fz_catalog_load(catalog, (fz_catalog_name){{"a", 1}, {"b/t", 3}}, &none, &err),
                     FZ_INVALID);
    assert_at(catalog, "memory://w/a/b/t/metadata/v1.metadata.json");
    fz_iceberg_metadata_unref(m);
    fz_catalog_free(catalog);
}

static void stores_that_fail(void **state) {
    (void)state;
    fz_store *store = fz_store_fault_new(fz_store_memory_new("w", 0));
    fz_catalog *catalog = fz_catalog_directory_new(store, fz_clock_real());
    fz_iceberg_metadata_unref(must_create(catalog, "{}"));
    for (int after = 0; after <= 1; after++) {
        bool struck = true;
        for (uint64_t n = 1; struck; n++) {
            fz_iceberg_metadata *base;
            fz_iceberg_metadata *next;
            fz_err err;
            assert_int_equal(fz_catalog_load(catalog, name, &base, &err), FZ_OK);
            char value[32];
            (void)snprintf(value, sizeof(value), "%d-%d", after, (int)n);
            fz_store_fault_plan(store, FZ_STORE_FAULT_ANY, n, 1,
                                after ? FZ_STORE_FAULT_AFTER : FZ_STORE_FAULT_BEFORE,
                                FZ_UNKNOWN_OUTCOME);
            fz_code code = set_property(catalog, base, "k", value, &next, &err);
            struck = fz_store_fault_struck(store);
            fz_store_fault_plan(store, FZ_STORE_FAULT_ANY, 0, 0, FZ_STORE_FAULT_BEFORE, FZ_IO);
            fz_iceberg_metadata *now;
            assert_int_equal(fz_catalog_load(catalog, name, &now, &err), FZ_OK);
            bool there = fz_str_equal(fz_iceberg_metadata_property(now, "k"), fz_str_from(value));
            // done means there; everything but "unknown" for certain not
            assert_true(code == FZ_OK ? there : code == FZ_UNKNOWN_OUTCOME || !there);
            fz_iceberg_metadata_unref(advance(catalog, now, 1)); // brings the hint up to date again
            if (code == FZ_OK) {
                fz_iceberg_metadata_unref(next);
            }
            fz_iceberg_metadata_unref(base);
            assert_true(n < 30);
        }
    }
    fz_catalog_free(catalog);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_decide_nothing),
        cmocka_unit_test(a_writer_that_slept),
        cmocka_unit_test(refused),
        cmocka_unit_test(stores_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
