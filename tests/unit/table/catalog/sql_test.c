// SPDX-License-Identifier: Apache-2.0
// What only the SQL catalog does: tables of other programs, locks, lost answers, stores that fail,
// files around the swap.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "io/store/fault_store.h"
#include "table/catalog/fault.h"
#include "table/catalog/sqlite.h"
#include "unit/table/catalog/open_local.h"

static const fz_catalog_name name = {{"db", 2}, {"t", 1}};

static char *path_of(const char *file) {
    return fz_str_printf("%s/%s", scratch_path, file);
}

static int setup(void **state) {
    (void)state;
    scratch_make();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scratch_remove();
    return 0;
}

/** Run SQL on the catalog's database as another program would. */
static void other_program(const char *sql) {
    char *path = path_of("catalog.db");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    sqlite3_close(db);
    fz_free(path);
}

static fz_str first_text(const char *sql, fz_buf *out) {
    char *path = path_of("catalog.db");
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    fz_buf_reset(out);
    fz_buf_append_str(out, fz_sqlite_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    fz_free(path);
    return fz_buf_view(out);
}

static fz_iceberg_metadata *new_metadata(fz_catalog *catalog, const char *properties) {
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\","
                              "\"required\":true,\"type\":\"long\"}]}",
                              0, NULL);
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    fz_buf location = {0};
    assert_int_equal(fz_catalog_locate(catalog, name, &location, NULL), FZ_OK);
    json_t *texts = json_loads(properties, 0, NULL);
    const fz_iceberg_new_options options = {.schema = schema,
                                            .location = fz_buf_view(&location),
                                            .format_version = 2,
                                            .properties = texts,
                                            .now_ms = 1000};
    fz_iceberg_metadata *metadata;
    assert_int_equal(fz_iceberg_metadata_new(&options, &metadata, NULL), FZ_OK);
    fz_schema_unref(schema);
    fz_buf_deinit(&location);
    json_decref(json);
    json_decref(texts);
    return metadata;
}

static fz_code create(fz_catalog *catalog, const char *properties, fz_iceberg_metadata **out,
                      fz_err *err) {
    fz_iceberg_metadata *metadata = new_metadata(catalog, properties);
    fz_code code = fz_catalog_create(catalog, name, metadata, out, err);
    fz_iceberg_metadata_unref(metadata);
    return code;
}

static fz_iceberg_metadata *must_create(fz_catalog *catalog, const char *properties) {
    fz_iceberg_metadata *made;
    fz_err err;
    if (create(catalog, properties, &made, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    return made;
}

static fz_code set_property(fz_catalog *catalog, const fz_iceberg_metadata *base, const char *value,
                            fz_iceberg_metadata **out, fz_err *err) {
    json_t *updates =
        json_pack("[{s:s, s:{s:s}}]", "action", "set-properties", "updates", "k", value);
    fz_code code = fz_catalog_commit(catalog, name, base, NULL, updates, out, err);
    json_decref(updates);
    return code;
}

/** Value of the property that set_property sets; the metadata's reference is given up. */
static bool has_property(fz_catalog *catalog, const char *value) {
    fz_iceberg_metadata *m;
    assert_int_equal(fz_catalog_load(catalog, name, &m, NULL), FZ_OK);
    bool same = fz_str_equal(fz_iceberg_metadata_property(m, "k"), fz_str_from(value));
    fz_iceberg_metadata_unref(m);
    return same;
}

static void rows_as_others_write_them(void **state) {
    (void)state;
    fz_catalog *catalog = open_sql();
    fz_iceberg_metadata *m0 = must_create(catalog, "{}");
    fz_iceberg_metadata *m1;
    assert_int_equal(set_property(catalog, m0, "1", &m1, NULL), FZ_OK);
    fz_buf text = {0};
    assert_true(fz_str_equal(
        first_text("SELECT iceberg_type FROM iceberg_tables WHERE catalog_name = 'frazil'", &text),
        FZ_STR("TABLE")));
    assert_true(fz_str_equal(first_text("SELECT metadata_location FROM iceberg_tables", &text),
                             m1->location));
    assert_true(fz_str_equal(
        first_text("SELECT previous_metadata_location FROM iceberg_tables", &text), m0->location));
    assert_true(fz_str_equal(first_text("SELECT namespace || property_key || property_value FROM"
                                        " iceberg_namespace_properties",
                                        &text),
                             FZ_STR("dbexiststrue")));
    // another catalog's table and a view are not ours
    other_program("INSERT INTO iceberg_tables VALUES ('other', 'db', 'u', 'x', NULL, 'TABLE');"
                  "INSERT INTO iceberg_tables VALUES ('frazil', 'db', 'v', 'x', NULL, 'VIEW');"
                  "UPDATE iceberg_tables SET iceberg_type = NULL WHERE table_name = 't'");
    fz_iceberg_metadata *none;
    assert_int_equal(fz_catalog_load(catalog, (fz_catalog_name){{"db", 2}, {"u", 1}}, &none, NULL),
                     FZ_NOT_FOUND);
    assert_int_equal(fz_catalog_load(catalog, (fz_catalog_name){{"db", 2}, {"v", 1}}, &none, NULL),
                     FZ_NOT_FOUND);
    assert_true(has_property(catalog, "1")); // no type counts as a table
    fz_buf_deinit(&text);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
    fz_catalog_free(catalog);
}

static void old_database_stays_old(void **state) {
    (void)state;
    other_program("CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, "
                  "table_namespace VARCHAR(255) NOT NULL,"
                  " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
                  "previous_metadata_location VARCHAR(1000),"
                  " PRIMARY KEY (catalog_name, table_namespace, table_name))");
    fz_catalog *catalog = open_sql();
    fz_iceberg_metadata *m0 = must_create(catalog, "{}");
    fz_iceberg_metadata *m1;
    assert_int_equal(set_property(catalog, m0, "1", &m1, NULL), FZ_OK);
    assert_true(has_property(catalog, "1"));
    fz_buf text = {0};
    assert_true(
        fz_str_equal(first_text("SELECT count(*) FROM pragma_table_info('iceberg_tables')", &text),
                     FZ_STR("5")));
    assert_int_equal(fz_catalog_drop(catalog, name, NULL), FZ_OK);
    fz_buf_deinit(&text);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
    fz_catalog_free(catalog);
}

static fz_code open_quick(const char *file, fz_catalog **out, fz_err *err) {
    char *path = path_of(file);
    char *warehouse = fz_str_printf("file://%s/warehouse", scratch_path);
    const fz_catalog_sql_options options = {.path = path,
                                            .name = FZ_STR("frazil"),
                                            .warehouse = fz_str_from(warehouse),
                                            .open_store = open_local_store,
                                            .clock = fz_clock_real(),
                                            .busy_timeout_ms = 20};
    fz_code code = fz_catalog_sql_open(&options, out, err);
    fz_free(path);
    fz_free(warehouse);
    return code;
}

static void locks(void **state) {
    (void)state;
    fz_catalog *catalog;
    fz_err err;
    assert_int_equal(open_quick("catalog.db", &catalog, &err), FZ_OK);
    fz_iceberg_metadata *m0 = must_create(catalog, "{}");
    fz_iceberg_metadata *none;
    char *path = path_of("catalog.db");
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    // another writer
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(set_property(catalog, m0, "1", &none, &err), FZ_UNAVAILABLE);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    // a reader in the middle of its statement: COMMIT itself is refused, and nothing is left half
    // done
    sqlite3_stmt *reading;
    assert_int_equal(sqlite3_prepare_v2(other, "SELECT * FROM iceberg_tables", -1, &reading, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW);
    assert_int_equal(set_property(catalog, m0, "1", &none, &err), FZ_UNAVAILABLE);
    sqlite3_finalize(reading);
    assert_true(has_property(catalog, NULL));
    fz_iceberg_metadata *m1;
    assert_int_equal(set_property(catalog, m0, "1", &m1, &err), FZ_OK);
    sqlite3_close(other);
    fz_free(path);
    fz_iceberg_metadata_unref(m0);
    fz_iceberg_metadata_unref(m1);
    fz_catalog_free(catalog);
}

static int refuse_commit(void *context) {
    (void)context;
    return 1;
}

static void unknown_outcome_at_commit(void **state) {
    (void)state;
    sqlite3 *db;
    fz_err err;
    char *path = path_of("x.db");
    assert_int_equal(fz_sqlite_open(path, 20, &db, &err), FZ_OK);
    assert_int_equal(fz_sqlite_run(db, "CREATE TABLE a (b)", NULL, 0, NULL, NULL, &err), FZ_OK);
    assert_int_equal(fz_sqlite_begin(db, &err), FZ_OK);
    assert_int_equal(fz_sqlite_run(db, "INSERT INTO a VALUES (1)", NULL, 0, NULL, NULL, &err),
                     FZ_OK);
    sqlite3_commit_hook(db, refuse_commit, NULL);
    assert_int_equal(fz_sqlite_commit(db, &err), FZ_UNKNOWN_OUTCOME);
    assert_int_equal(err.code, FZ_UNKNOWN_OUTCOME);
    assert_int_not_equal(sqlite3_get_autocommit(db), 0); // no transaction is left open
    sqlite3_close(db);
    fz_free(path);
}

static void bad_databases(void **state) {
    (void)state;
    fz_catalog *catalog;
    fz_err err;
    char *path = path_of("text.db");
    assert_int_equal(
        fz_file_replace(path, FZ_STR("this is a text of some length, and surely not a database"),
                        &err),
        FZ_OK);
    assert_int_equal(open_quick("text.db", &catalog, &err), FZ_CORRUPT);
    fz_free(path);
    path = path_of("folder.db/x");
    assert_int_equal(fz_file_make_folders(path, &err), FZ_OK);
    assert_int_equal(open_quick("folder.db", &catalog, &err), FZ_IO);
    fz_free(path);
}

static void lost_answers(void **state) {
    (void)state;
    fz_catalog *catalog = fz_catalog_fault_new(open_sql());
    fz_iceberg_metadata *m0;
    fz_iceberg_metadata *none;
    fz_err err;
    fz_catalog_fault_plan(catalog, FZ_CATALOG_CALL_CREATE, 1, 1, true, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(create(catalog, "{}", &none, &err), FZ_UNKNOWN_OUTCOME);
    assert_int_equal(fz_catalog_load(catalog, name, &m0, &err), FZ_OK); // it is there
    fz_catalog_fault_plan(catalog, FZ_CATALOG_CALL_COMMIT, 1, 1, true, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(set_property(catalog, m0, "1", &none, &err), FZ_UNKNOWN_OUTCOME);
    assert_true(has_property(catalog, "1"));
    fz_catalog_fault_plan(catalog, FZ_CATALOG_CALL_COMMIT, 1, 1, false, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(set_property(catalog, m0, "2", &none, &err), FZ_UNKNOWN_OUTCOME);
    assert_true(has_property(catalog, "1"));
    assert_int_equal(fz_catalog_fault_count(catalog), 1);
    fz_iceberg_metadata_unref(m0);
    fz_catalog_free(catalog);
}

static fz_store *faulty; // borrowed from the catalog

static fz_code open_faulty(void *context, fz_str location, fz_store **out, fz_err *err) {
    fz_store *inner;
    FZ_TRY(open_local_store(context, location, &inner, err));
    faulty = fz_store_fault_new(inner);
    *out = faulty;
    return FZ_OK;
}

static void stores_that_fail(void **state) {
    (void)state;
    char *path = path_of("catalog.db");
    char *warehouse = fz_str_printf("file://%s/warehouse", scratch_path);
    const fz_catalog_sql_options options = {.path = path,
                                            .name = FZ_STR("frazil"),
                                            .warehouse = fz_str_from(warehouse),
                                            .open_store = open_faulty,
                                            .clock = fz_clock_real()};
    fz_catalog *catalog;
    fz_err err;
    assert_int_equal(fz_catalog_sql_open(&options, &catalog, &err), FZ_OK);
    fz_iceberg_metadata *m0 = must_create(catalog, "{}");
    // every call of a commit fails once, before and after: the table is as it was, or has the
    // change whole
    for (int after = 0; after <= 1; after++) {
        bool struck = true;
        for (uint64_t n = 1; struck; n++) {
            fz_iceberg_metadata *base;
            fz_iceberg_metadata *next;
            assert_int_equal(fz_catalog_load(catalog, name, &base, &err), FZ_OK);
            char value[32];
            (void)snprintf(value, sizeof(value), "%d-%d", after, (int)n);
            fz_store_fault_plan(faulty, FZ_STORE_FAULT_ANY, n, 1,
                                after ? FZ_STORE_FAULT_AFTER : FZ_STORE_FAULT_BEFORE,
                                FZ_UNKNOWN_OUTCOME);
            fz_code code = set_property(catalog, base, value, &next, &err);
            struck = fz_store_fault_struck(faulty);
            fz_store_fault_plan(faulty, FZ_STORE_FAULT_ANY, 0, 0, FZ_STORE_FAULT_BEFORE, FZ_IO);
            assert_true(code == FZ_OK || code == FZ_UNAVAILABLE);
            assert_int_equal(has_property(catalog, value), code == FZ_OK);
            if (code == FZ_OK) {
                fz_iceberg_metadata_unref(next);
            }
            fz_iceberg_metadata_unref(base);
            assert_true(n < 20);
        }
    }
    fz_iceberg_metadata_unref(m0);
    fz_catalog_free(catalog);
    fz_free(path);
    fz_free(warehouse);
}

static void files_around_the_swap(void **state) {
    (void)state;
    fz_catalog *catalog = open_sql();
    fz_iceberg_metadata *m =
        must_create(catalog, "{\"write.metadata.previous-versions-max\":\"2\","
                             "\"write.metadata.delete-after-commit.enabled\":\"true\"}");
    char *first = fz_str_dup(fz_str_slice(m->location, 7, m->location.size));
    fz_err err;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fz_file_exists(first), i < 3);
        fz_iceberg_metadata *next;
        assert_int_equal(set_property(catalog, m, "x", &next, &err), FZ_OK);
        fz_iceberg_metadata_unref(m);
        m = next;
    }
    assert_int_equal(fz_iceberg_metadata_log_count(m), 2);
    char *newest = fz_str_dup(fz_str_slice(m->location, 7, m->location.size));
    // the hint names the newest, for readers of folders
    char *hint = path_of("warehouse/db/t/metadata/version-hint.text");
    fz_buf text = {0};
    assert_int_equal(fz_file_read(hint, &text, &err), FZ_OK);
    assert_int_not_equal(fz_str_find_str(m->location, fz_buf_view(&text)), SIZE_MAX);
    // a pointer to a file that is gone
    assert_int_equal(fz_file_remove(newest, &err), FZ_OK);
    fz_iceberg_metadata *none;
    assert_int_equal(fz_catalog_load(catalog, name, &none, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.text, "not there"));
    fz_buf_deinit(&text);
    fz_free(first);
    fz_free(newest);
    fz_free(hint);
    fz_iceberg_metadata_unref(m);
    fz_catalog_free(catalog);
}

static void creation_that_died_can_be_repeated(void **state) {
    (void)state;
    fz_catalog *catalog = open_sql();
    fz_iceberg_metadata *m = must_create(catalog, "{}");
    fz_iceberg_metadata_unref(m);
    // the row was never written, its first metadata file was
    other_program("DELETE FROM iceberg_tables");
    m = must_create(catalog, "{}");
    fz_iceberg_metadata_unref(m);
    fz_catalog_free(catalog);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_as_others_write_them, setup, teardown),
        cmocka_unit_test_setup_teardown(old_database_stays_old, setup, teardown),
        cmocka_unit_test_setup_teardown(locks, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_outcome_at_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_databases, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(stores_that_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(files_around_the_swap, setup, teardown),
        cmocka_unit_test_setup_teardown(creation_that_died_can_be_repeated, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
