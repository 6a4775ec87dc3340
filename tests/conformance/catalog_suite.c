// SPDX-License-Identifier: Apache-2.0
// The catalog suite; a test program includes this file and runs it over its catalogs.
#include "conformance/catalog_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/thread.h"

static const catalog_suite *suite;

static const fz_catalog_name orders = {{"shop", 4}, {"orders", 6}};

static int setup(void **state) {
    *state = suite->open();
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    fz_catalog_free(*state);
    if (suite->clean) {
        suite->clean();
    }
    return 0;
}

#define CHECK(code, err)                                                                           \
    do {                                                                                           \
        fz_code got_ = (code);                                                                     \
        if (got_ != FZ_OK) {                                                                       \
            fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, fz_code_name(got_), (err).text);         \
        }                                                                                          \
    } while (0)

static fz_iceberg_metadata *initial(fz_catalog *catalog, fz_catalog_name name) {
    json_error_t error;
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\","
                              "\"required\":true,\"type\":\"long\"}]}",
                              0, &error);
    fz_schema *schema;
    fz_err err;
    fz_buf location = {0};
    CHECK(fz_schema_from_json(json, &schema, &err), err);
    CHECK(fz_catalog_locate(catalog, name, &location, &err), err);
    const fz_iceberg_new_options options = {
        .schema = schema, .location = fz_buf_view(&location), .format_version = 2, .now_ms = 1000};
    fz_iceberg_metadata *metadata;
    CHECK(fz_iceberg_metadata_new(&options, &metadata, &err), err);
    fz_schema_unref(schema);
    fz_buf_deinit(&location);
    json_decref(json);
    return metadata;
}

static fz_code create(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                      fz_err *err) {
    fz_iceberg_metadata *metadata = initial(catalog, name);
    fz_code code = fz_catalog_create(catalog, name, metadata, out, err);
    fz_iceberg_metadata_unref(metadata);
    return code;
}

static fz_iceberg_metadata *must_create(fz_catalog *catalog, fz_catalog_name name) {
    fz_iceberg_metadata *metadata = NULL;
    fz_err err;
    CHECK(create(catalog, name, &metadata, &err), err);
    return metadata;
}

static fz_iceberg_metadata *must_load(fz_catalog *catalog, fz_catalog_name name) {
    fz_iceberg_metadata *metadata = NULL;
    fz_err err;
    CHECK(fz_catalog_load(catalog, name, &metadata, &err), err);
    return metadata;
}

/** Set a property on `base`. */
static fz_code set_property(fz_catalog *catalog, fz_catalog_name name,
                            const fz_iceberg_metadata *base, const char *key, const char *value,
                            fz_iceberg_metadata **out, fz_err *err) {
    json_t *requirements =
        json_pack("[o]", fz_iceberg_require_uuid(fz_iceberg_metadata_uuid(base)));
    json_t *updates =
        json_pack("[{s:s, s:{s:s}}]", "action", "set-properties", "updates", key, value);
    fz_code code = fz_catalog_commit(catalog, name, base, requirements, updates, out, err);
    json_decref(requirements);
    json_decref(updates);
    return code;
}

/** Add an empty snapshot on `base`, asserting its main. */
static fz_code add_snapshot(fz_catalog *catalog, fz_catalog_name name,
                            const fz_iceberg_metadata *base, fz_iceberg_metadata **out,
                            fz_err *err) {
    int64_t id = fz_iceberg_snapshot_id_new(base);
    int64_t parent = fz_iceberg_metadata_ref_id(base, FZ_ICEBERG_MAIN);
    json_t *requirements =
        json_pack("[o, o]", fz_iceberg_require_uuid(fz_iceberg_metadata_uuid(base)),
                  fz_iceberg_require_ref(FZ_ICEBERG_MAIN, parent));
    json_t *snapshot =
        json_pack("{s:I, s:I, s:I, s:s, s:{s:s}, s:i}", "snapshot-id", (json_int_t)id,
                  "sequence-number", (json_int_t)(fz_iceberg_metadata_last_sequence(base) + 1),
                  "timestamp-ms", (json_int_t)fz_iceberg_metadata_time_ms(base, 1), "manifest-list",
                  "file:///none", "summary", "operation", "append", "schema-id", 0);
    if (parent != FZ_ICEBERG_NONE) {
        fz_json_set_int(snapshot, "parent-snapshot-id", parent);
    }
    json_t *updates = json_pack("[{s:s, s:o}, o]", "action", "add-snapshot", "snapshot", snapshot,
                                fz_iceberg_update_set_ref("main", id));
    fz_code code = fz_catalog_commit(catalog, name, base, requirements, updates, out, err);
    json_decref(requirements);
    json_decref(updates);
    return code;
}

static void create_and_load(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    fz_iceberg_metadata *none;
    assert_int_equal(fz_catalog_load(catalog, orders, &none, &err), FZ_NOT_FOUND);
    fz_iceberg_metadata *made = must_create(catalog, orders);
    fz_iceberg_metadata *loaded = must_load(catalog, orders);
    assert_true(loaded->location.size > 0);
    assert_true(fz_str_equal(made->location, loaded->location));
    assert_true(json_equal(made->root, loaded->root));
    assert_int_equal(create(catalog, orders, &none, &err), FZ_EXISTS);
    fz_catalog *other = suite->reopen();
    fz_iceberg_metadata *seen = must_load(other, orders);
    assert_true(fz_str_equal(fz_iceberg_metadata_uuid(seen), fz_iceberg_metadata_uuid(made)));
    fz_iceberg_metadata_unref(seen);
    fz_catalog_free(other);
    fz_iceberg_metadata_unref(loaded);
    fz_iceberg_metadata_unref(made);
}

static void odd_names(void **state) {
    fz_catalog *catalog = *state;
    static const fz_catalog_name names[] = {{{"a.b", 3}, {"t", 1}},
                                            {{"a_b", 3}, {"100%", 4}},
                                            {{"axb", 3}, {"it's", 4}},
                                            {{"\xc3\xa9t\xc3\xa9", 5}, {"T t", 3}}};
    for (size_t i = 0; i < FZ_COUNT(names); i++) {
        fz_iceberg_metadata_unref(must_create(catalog, names[i]));
        fz_iceberg_metadata_unref(must_load(catalog, names[i]));
    }
    fz_err err;
    fz_iceberg_metadata *none;
    const fz_catalog_name bad[] = {
        {{"", 0}, {"t", 1}}, {{"a", 1}, {"", 0}}, {{"a\0b", 3}, {"t", 1}}};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(fz_catalog_load(catalog, bad[i], &none, &err), FZ_INVALID);
    }
}

typedef struct seen_names {
    int count;
    char text[512];
} seen_names;

static fz_code see(void *context, fz_catalog_name name, fz_err *err) {
    (void)err;
    seen_names *seen = context;
    seen->count++;
    size_t used = strlen(seen->text);
    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%.*s/%.*s ",
                   FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table));
    return FZ_OK;
}

static fz_code refuse(void *context, fz_catalog_name name, fz_err *err) {
    (void)context;
    (void)name;
    return fz_err_set(err, FZ_CANCELLED, "enough");
}

static void lists(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    seen_names seen = {0};
    assert_int_equal(fz_catalog_list(catalog, FZ_STR("shop"), see, &seen, &err), FZ_NOT_FOUND);
    CHECK(fz_catalog_list_namespaces(catalog, see, &seen, &err), err);
    assert_int_equal(seen.count, 0);
    if (suite->no_namespaces) {
        assert_int_equal(fz_catalog_create_namespace(catalog, FZ_STR("empty"), &err),
                         FZ_UNSUPPORTED);
        fz_iceberg_metadata_unref(must_create(catalog, (fz_catalog_name){{"empty", 5}, {"t", 1}}));
    } else {
        CHECK(fz_catalog_create_namespace(catalog, FZ_STR("empty"), &err), err);
        assert_int_equal(fz_catalog_create_namespace(catalog, FZ_STR("empty"), &err), FZ_EXISTS);
        CHECK(fz_catalog_list(catalog, FZ_STR("empty"), see, &seen, &err), err);
        assert_int_equal(seen.count, 0);
    }
    fz_iceberg_metadata_unref(must_create(catalog, orders));
    fz_iceberg_metadata_unref(must_create(catalog, (fz_catalog_name){{"shop", 4}, {"clicks", 6}}));
    fz_iceberg_metadata_unref(must_create(catalog, (fz_catalog_name){{"other", 5}, {"x", 1}}));
    CHECK(fz_catalog_list(catalog, FZ_STR("shop"), see, &seen, &err), err);
    assert_string_equal(seen.text, "shop/clicks shop/orders ");
    seen = (seen_names){0};
    CHECK(fz_catalog_list_namespaces(catalog, see, &seen, &err), err);
    assert_string_equal(seen.text, "empty/ other/ shop/ ");
    assert_int_equal(fz_catalog_list(catalog, FZ_STR("shop"), refuse, NULL, &err), FZ_CANCELLED);
}

static void commit_and_conflict(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    fz_iceberg_metadata *m0 = must_create(catalog, orders);
    fz_iceberg_metadata *m1;
    fz_iceberg_metadata *m2;
    fz_iceberg_metadata *none;
    CHECK(add_snapshot(catalog, orders, m0, &m1, &err), err);
    fz_iceberg_metadata *loaded = must_load(catalog, orders);
    assert_true(json_equal(loaded->root, m1->root));
    assert_true(fz_str_equal(loaded->location, m1->location));
    assert_false(fz_str_equal(m1->location, m0->location));
    assert_true(fz_str_equal(fz_iceberg_metadata_log_at(m1, 0, NULL), m0->location));
    // the base has gone by
    assert_int_equal(add_snapshot(catalog, orders, m0, &none, &err), FZ_CONFLICT);
    fz_code code = set_property(catalog, orders, m0, "k", "v", &m2, &err);
    assert_int_equal(code, suite->server_side ? FZ_OK : FZ_CONFLICT);
    if (code == FZ_OK) {
        fz_iceberg_metadata_unref(m2);
    }
    CHECK(add_snapshot(catalog, orders, loaded, &m2, &err), err);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(m2), 2);
    // what was not applied left nothing
    fz_iceberg_metadata_unref(loaded);
    loaded = must_load(catalog, orders);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(loaded), 2);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
    fz_iceberg_metadata_unref(m2);
    fz_iceberg_metadata_unref(loaded);
}

static void refused_commits(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    fz_iceberg_metadata *m0 = must_create(catalog, orders);
    fz_iceberg_metadata *none;
    json_t *wrong_uuid = json_pack("[o]", fz_iceberg_require_uuid(FZ_STR("no")));
    json_t *unknown = json_pack("[{s:s}]", "action", "dance");
    assert_int_equal(fz_catalog_commit(catalog, orders, m0, wrong_uuid, NULL, &none, &err),
                     FZ_CONFLICT);
    assert_int_equal(fz_catalog_commit(catalog, orders, m0, NULL, unknown, &none, &err),
                     FZ_INVALID);
    assert_int_equal(set_property(catalog, (fz_catalog_name){{"shop", 4}, {"none", 4}}, m0, "a",
                                  "b", &none, &err),
                     FZ_NOT_FOUND);
    fz_iceberg_metadata *loaded = must_load(catalog, orders);
    assert_true(fz_str_equal(loaded->location, m0->location));
    fz_iceberg_metadata_unref(loaded);
    fz_iceberg_metadata_unref(m0);
    json_decref(wrong_uuid);
    json_decref(unknown);
}

typedef struct racer {
    int commits;
    int conflicts;
    int created;
} racer;

enum { RACERS = 4, RACE_COMMITS = 8 };

/** Commit until so many got through; every conflict is answered by a load. */
static void race(void *arg) {
    racer *r = arg;
    fz_catalog *catalog = suite->reopen();
    fz_err err;
    fz_iceberg_metadata *made;
    fz_code code = create(catalog, orders, &made, &err);
    if (code == FZ_OK) {
        r->created = 1;
        fz_iceberg_metadata_unref(made);
    } else if (code != FZ_EXISTS) {
        (void)fprintf(stderr, "create: %s: %s\n", fz_code_name(code), err.text);
    }
    for (int tries = 0; r->commits < RACE_COMMITS && tries < 2000; tries++) {
        fz_iceberg_metadata *base;
        if (fz_catalog_load(catalog, orders, &base, &err) != FZ_OK) {
            continue;
        }
        fz_iceberg_metadata *next;
        code = add_snapshot(catalog, orders, base, &next, &err);
        if (code == FZ_OK) {
            r->commits++;
            fz_iceberg_metadata_unref(next);
        } else if (code == FZ_CONFLICT) {
            r->conflicts++;
        } else {
            (void)fprintf(stderr, "commit: %s: %s\n", fz_code_name(code), err.text);
        }
        fz_iceberg_metadata_unref(base);
    }
    fz_catalog_free(catalog);
}

static void racing_writers(void **state) {
    fz_catalog *catalog = *state;
    racer racers[RACERS] = {0};
    fz_thread threads[RACERS] = {0};
    for (int i = 0; i < RACERS; i++) {
        fz_thread_start(&threads[i], "racer", race, &racers[i]);
    }
    int created = 0;
    for (int i = 0; i < RACERS; i++) {
        fz_thread_join(&threads[i]);
        assert_int_equal(racers[i].commits, RACE_COMMITS);
        created += racers[i].created;
    }
    assert_int_equal(created, 1);
    fz_iceberg_metadata *m = must_load(catalog, orders);
    // each commit once, in one line of descent
    assert_int_equal(fz_iceberg_metadata_snapshot_count(m), RACERS * RACE_COMMITS);
    assert_int_equal(fz_iceberg_metadata_last_sequence(m), RACERS * RACE_COMMITS);
    assert_int_equal(fz_iceberg_metadata_log_count(m), RACERS * RACE_COMMITS);
    fz_iceberg_snapshot s;
    assert_true(fz_iceberg_metadata_main(m, &s));
    int depth = 1;
    while (s.parent_id != FZ_ICEBERG_NONE) {
        assert_true(fz_iceberg_metadata_snapshot(m, s.parent_id, &s));
        depth++;
    }
    assert_int_equal(depth, RACERS * RACE_COMMITS);
    fz_iceberg_metadata_unref(m);
}

static void drop_and_register(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    fz_iceberg_metadata *none;
    assert_int_equal(fz_catalog_drop(catalog, orders, &err), FZ_NOT_FOUND);
    fz_iceberg_metadata *m0 = must_create(catalog, orders);
    fz_iceberg_metadata *m1;
    CHECK(add_snapshot(catalog, orders, m0, &m1, &err), err);
    assert_int_equal(fz_catalog_register(catalog, orders, m1->location, &err),
                     suite->no_register ? FZ_UNSUPPORTED : FZ_EXISTS);
    CHECK(fz_catalog_drop(catalog, orders, &err), err);
    assert_int_equal(fz_catalog_load(catalog, orders, &none, &err), FZ_NOT_FOUND);
    assert_int_equal(add_snapshot(catalog, orders, m1, &none, &err), FZ_NOT_FOUND);
    if (suite->no_register) {
        fz_iceberg_metadata_unref(must_create(catalog, orders));
        fz_iceberg_metadata_unref(m0);
        fz_iceberg_metadata_unref(m1);
        return;
    }
    // its location holds a table's metadata still
    assert_int_equal(create(catalog, orders, &none, &err), FZ_INVALID);
    CHECK(fz_catalog_register(catalog, orders, m1->location, &err), err);
    fz_iceberg_metadata *again = must_load(catalog, orders);
    assert_true(json_equal(again->root, m1->root));
    assert_int_not_equal(fz_catalog_register(catalog, (fz_catalog_name){{"shop", 4}, {"x", 1}},
                                             FZ_STR("file:///no/such/metadata/x.json"), &err),
                         FZ_OK);
    fz_iceberg_metadata_unref(again);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
}

static void rename_table(void **state) {
    fz_catalog *catalog = *state;
    fz_err err;
    const fz_catalog_name to = {{"archive", 7}, {"old", 3}};
    fz_iceberg_metadata_unref(must_create(catalog, orders));
    if (suite->no_rename) {
        assert_int_equal(fz_catalog_rename(catalog, orders, to, &err), FZ_UNSUPPORTED);
        return;
    }
    fz_iceberg_metadata *none;
    CHECK(fz_catalog_rename(catalog, orders, to, &err), err);
    assert_int_equal(fz_catalog_load(catalog, orders, &none, &err), FZ_NOT_FOUND);
    fz_iceberg_metadata_unref(must_load(catalog, to));
    assert_int_equal(fz_catalog_rename(catalog, orders, to, &err), FZ_NOT_FOUND);
    fz_iceberg_metadata_unref(must_create(catalog, (fz_catalog_name){{"shop", 4}, {"new", 3}}));
    assert_int_equal(
        fz_catalog_rename(catalog, (fz_catalog_name){{"shop", 4}, {"new", 3}}, to, &err),
        FZ_EXISTS);
}

int catalog_suite_run(const catalog_suite *which) {
    suite = which;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(create_and_load, setup, teardown),
        cmocka_unit_test_setup_teardown(odd_names, setup, teardown),
        cmocka_unit_test_setup_teardown(lists, setup, teardown),
        cmocka_unit_test_setup_teardown(commit_and_conflict, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_commits, setup, teardown),
        cmocka_unit_test_setup_teardown(racing_writers, setup, teardown),
        cmocka_unit_test_setup_teardown(drop_and_register, setup, teardown),
        cmocka_unit_test_setup_teardown(rename_table, setup, teardown),
    };
    return cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
}
