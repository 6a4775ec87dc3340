// SPDX-License-Identifier: Apache-2.0
// The SQL catalog: a row a table, whose metadata_location is swapped by an UPDATE that names the
// old one.
#include "table/catalog/sql.h"

#include "base/memory.h"
#include "table/catalog/files.h"
#include "table/catalog/sqlite.h"

#define BUSY_TIMEOUT_MS 10000

typedef struct sql_catalog {
    fz_catalog catalog;
    fz_catalog_files files;
    fz_clock *clock;
    fz_mutex mutex; // of the connection
    sqlite3 *db;
    char *name;
    char *warehouse;
    bool typed; // the table has iceberg_type
} sql_catalog;

static fz_str name_of(const sql_catalog *c) {
    return fz_str_from(c->name);
}

static fz_code not_found(fz_catalog_name name, fz_err *err) {
    return fz_err_set(err, FZ_NOT_FOUND, "table \"%.*s.%.*s\" does not exist",
                      FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table));
}

static fz_code exists(fz_catalog_name name, fz_err *err) {
    return fz_err_set(err, FZ_EXISTS, "table \"%.*s.%.*s\" exists already", FZ_STR_ARGS(name.space),
                      FZ_STR_ARGS(name.table));
}

/** The statement for databases with iceberg_type, or the one without. */
#define TYPED(c, text, condition) ((c)->typed ? text condition : text)
#define IS_TABLE " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"

static fz_code take_text(void *context, sqlite3_stmt *row, fz_err *err) {
    (void)err;
    fz_buf *out = context;
    fz_buf_reset(out);
    fz_buf_append_str(out, fz_sqlite_text(row, 0));
    fz_buf_append_byte(out, 0); // an empty text is found too
    return FZ_OK;
}

/** Pointer of a table into `out`, terminated. Under the mutex. */
static fz_code read_pointer(sql_catalog *c, fz_catalog_name name, fz_buf *out, fz_err *err) {
    const fz_str texts[] = {name_of(c), name.space, name.table};
    fz_buf_reset(out);
    FZ_TRY(
        fz_sqlite_run(c->db,
                      TYPED(c,
                            "SELECT metadata_location FROM iceberg_tables"
                            " WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3",
                            IS_TABLE),
                      texts, FZ_COUNT(texts), take_text, out, err));
    if (out->size == 0) {
        return not_found(name, err);
    }
    out->size--;
    return FZ_OK;
}

static fz_code pointer(sql_catalog *c, fz_catalog_name name, fz_buf *out, fz_err *err) {
    fz_mutex_lock(&c->mutex);
    fz_code code = read_pointer(c, name, out, err);
    fz_mutex_unlock(&c->mutex);
    return code;
}

static fz_code count_row(void *context, sqlite3_stmt *row, fz_err *err) {
    (void)row;
    (void)err;
    ++*(size_t *)context;
    return FZ_OK;
}

/** Text with LIKE's wild cards escaped by '!', then ".%". */
static void child_pattern(fz_str space, fz_buf *out) {
    for (size_t i = 0; i < space.size; i++) {
        if (space.data[i] == '!' || space.data[i] == '_' || space.data[i] == '%') {
            fz_buf_append_byte(out, '!');
        }
        fz_buf_append_byte(out, (uint8_t)space.data[i]);
    }
    fz_buf_append_str(out, FZ_STR(".%"));
}

static fz_code namespace_exists(sql_catalog *c, fz_str space, bool *out, fz_err *err) {
    fz_buf pattern = {0};
    child_pattern(space, &pattern);
    const fz_str texts[] = {name_of(c), space, fz_buf_view(&pattern)};
    size_t rows = 0;
    fz_code code = fz_sqlite_run(
        c->db,
        "SELECT 1 FROM iceberg_tables WHERE catalog_name = ?1 AND"
        " (table_namespace = ?2 OR table_namespace LIKE ?3 ESCAPE '!')"
        " UNION SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND"
        " (namespace = ?2 OR namespace LIKE ?3 ESCAPE '!') LIMIT 1",
        texts, FZ_COUNT(texts), count_row, &rows, err);
    fz_buf_deinit(&pattern);
    *out = rows > 0;
    return code;
}

/** The row that Java and PyIceberg write for a namespace without properties. */
static fz_code insert_namespace(sql_catalog *c, fz_str space, fz_err *err) {
    const fz_str texts[] = {name_of(c), space};
    return fz_sqlite_run(c->db,
                         "INSERT OR IGNORE INTO iceberg_namespace_properties"
                         " (catalog_name, namespace, property_key, property_value) VALUES (?1, ?2, "
                         "'exists', 'true')",
                         texts, FZ_COUNT(texts), NULL, NULL, err);
}

static fz_code insert_table(sql_catalog *c, fz_catalog_name name, fz_str location, fz_err *err) {
    const fz_str texts[] = {name_of(c), name.space, name.table, location};
    const char *sql =
        c->typed ? "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                   " metadata_location, previous_metadata_location, iceberg_type)"
                   " VALUES (?1, ?2, ?3, ?4, NULL, 'TABLE')"
                 : "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                   " metadata_location, previous_metadata_location) VALUES (?1, ?2, ?3, ?4, NULL)";
    fz_code code = fz_sqlite_run(c->db, sql, texts, FZ_COUNT(texts), NULL, NULL, err);
    return code == FZ_EXISTS ? exists(name, err) : code;
}

/** End a transaction: commit when all went well, else roll back. */
static fz_code end(sql_catalog *c, fz_code code, fz_err *err) {
    if (code == FZ_OK) {
        return fz_sqlite_commit(c->db, err);
    }
    fz_sqlite_rollback(c->db);
    return code;
}

typedef struct name_sink {
    fz_catalog_name_fn each;
    void *context;
    fz_str space; // of a list of tables
    bool tables;
} name_sink;

typedef struct collected {
    fz_arena arena;
    FZ_VEC(fz_str) names;
} collected;

static fz_code collect_name(void *context, sqlite3_stmt *row, fz_err *err) {
    (void)err;
    collected *all = context;
    fz_vec_push(&all->names, fz_arena_str(&all->arena, fz_sqlite_text(row, 0)));
    return FZ_OK;
}

/** Names are gathered first, so that the callback may call the catalog. */
static fz_code give_names(sql_catalog *c, const char *sql, const fz_str *texts, size_t count,
                          const name_sink *sink, fz_err *err) {
    collected all = {0};
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_run(c->db, sql, texts, count, collect_name, &all, err);
    fz_mutex_unlock(&c->mutex);
    for (size_t i = 0; i < all.names.count && code == FZ_OK; i++) {
        fz_catalog_name name = {.space = sink->tables ? sink->space : all.names.data[i]};
        name.table = sink->tables ? all.names.data[i] : (fz_str){0};
        code = sink->each(sink->context, name, err);
    }
    fz_vec_deinit(&all.names);
    fz_arena_deinit(&all.arena);
    return code;
}

static fz_code sql_list_namespaces(fz_catalog *catalog, fz_catalog_name_fn each, void *context,
                                   fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    const fz_str texts[] = {name_of(c)};
    const name_sink sink = {.each = each, .context = context};
    return give_names(c,
                      "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1"
                      " UNION SELECT namespace FROM iceberg_namespace_properties WHERE "
                      "catalog_name = ?1 ORDER BY 1",
                      texts, FZ_COUNT(texts), &sink, err);
}

static fz_code sql_create_namespace(fz_catalog *catalog, fz_str space, fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_begin(c->db, err);
    if (code == FZ_OK) {
        bool there = false;
        code = namespace_exists(c, space, &there, err);
        if (code == FZ_OK && there) {
            code =
                fz_err_set(err, FZ_EXISTS, "namespace \"%.*s\" exists already", FZ_STR_ARGS(space));
        }
        if (code == FZ_OK) {
            code = insert_namespace(c, space, err);
        }
        code = end(c, code, err);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

static fz_code sql_list(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each, void *context,
                        fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    bool there = false;
    fz_mutex_lock(&c->mutex);
    fz_code code = namespace_exists(c, space, &there, err);
    fz_mutex_unlock(&c->mutex);
    FZ_TRY(code);
    if (!there) {
        return fz_err_set(err, FZ_NOT_FOUND, "namespace \"%.*s\" does not exist",
                          FZ_STR_ARGS(space));
    }
    const fz_str texts[] = {name_of(c), space};
    const name_sink sink = {.each = each, .context = context, .space = space, .tables = true};
    return give_names(c,
                      c->typed ? "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND"
                                 " table_namespace = ?2" IS_TABLE " ORDER BY 1"
                               : "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND"
                                 " table_namespace = ?2 ORDER BY 1",
                      texts, FZ_COUNT(texts), &sink, err);
}

static fz_code sql_load(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                        fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    fz_buf location = {0};
    fz_code code = pointer(c, name, &location, err);
    if (code == FZ_OK) {
        code = fz_catalog_files_read(&c->files, fz_buf_view(&location), out, err);
    }
    fz_buf_deinit(&location);
    return code;
}

static fz_code sql_locate(fz_catalog *catalog, fz_catalog_name name, fz_buf *out, fz_err *err) {
    const sql_catalog *c = (const sql_catalog *)catalog;
    if (c->files.warehouse.size == 0) {
        return fz_err_set(err, FZ_INVALID, "the catalog has no warehouse to put tables in");
    }
    fz_buf_append_str(out, c->files.warehouse);
    fz_buf_append_byte(out, '/');
    for (size_t i = 0; i < name.space.size; i++) {
        fz_buf_append_byte(out, name.space.data[i] == '.' ? '/' : (uint8_t)name.space.data[i]);
    }
    fz_buf_append_byte(out, '/');
    fz_buf_append_str(out, name.table);
    return fz_buf_check(out, "table location", err);
}

/** Within the transaction, so that of several creators at once one looks at an empty location and
 * the others see its row. */
static fz_code create_in_transaction(sql_catalog *c, fz_catalog_name name,
                                     const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                                     fz_err *err) {
    fz_buf location = {0};
    fz_code code = read_pointer(c, name, &location, NULL);
    fz_buf_deinit(&location);
    if (code == FZ_OK) {
        return exists(name, err);
    }
    FZ_TRY(fz_catalog_files_check_empty(&c->files, initial, err));
    FZ_TRY(fz_catalog_files_write(&c->files, initial, FZ_STR(""), out, err));
    code = insert_namespace(c, name.space, err);
    if (code == FZ_OK) {
        code = insert_table(c, name, (*out)->location, err);
    }
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(*out);
        *out = NULL;
    }
    return code;
}

/** Name the newest file for readers of folders. Of two writers the slower may have written an older
 * hint: look again. */
static void put_hint(sql_catalog *c, fz_catalog_name name, fz_str location) {
    fz_buf now = {0};
    fz_buf_append_str(&now, location);
    for (int tries = 0; tries < 3; tries++) {
        fz_buf before = now;
        now = (fz_buf){0};
        fz_catalog_files_hint(&c->files, fz_buf_view(&before));
        bool same = pointer(c, name, &now, NULL) != FZ_OK ||
                    fz_str_equal(fz_buf_view(&now), fz_buf_view(&before));
        fz_buf_deinit(&before);
        if (same) {
            break;
        }
    }
    fz_buf_deinit(&now);
}

static fz_code sql_create(fz_catalog *catalog, fz_catalog_name name,
                          const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                          fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    fz_iceberg_metadata *made = NULL;
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_begin(c->db, err);
    if (code == FZ_OK) {
        code = create_in_transaction(c, name, initial, &made, err);
        code = end(c, code, err);
    }
    fz_mutex_unlock(&c->mutex);
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(made);
        return code;
    }
    put_hint(c, name, made->location);
    *out = made;
    return FZ_OK;
}

/** The compare-and-swap. */
static fz_code swap(sql_catalog *c, fz_catalog_name name, fz_str from, fz_str to, fz_err *err) {
    const fz_str texts[] = {name_of(c), name.space, name.table, from, to};
    FZ_TRY(fz_sqlite_begin(c->db, err));
    fz_code code =
        fz_sqlite_run(c->db,
                      TYPED(c,
                            "UPDATE iceberg_tables SET metadata_location = ?5,"
                            " previous_metadata_location = ?4 WHERE catalog_name = ?1 AND"
                            " table_namespace = ?2 AND table_name = ?3 AND metadata_location = ?4",
                            IS_TABLE),
                      texts, FZ_COUNT(texts), NULL, NULL, err);
    if (code == FZ_OK && sqlite3_changes(c->db) != 1) {
        code = fz_err_set(err, FZ_CONFLICT, "table \"%.*s.%.*s\" is no longer at \"%.*s\"",
                          FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table),
                          FZ_STR_ARGS(fz_str_slice(from, 0, 400)));
    }
    return end(c, code, err);
}

/** Cheap look before a file is written for nothing; the swap decides. */
static fz_code check_base(sql_catalog *c, fz_catalog_name name, const fz_iceberg_metadata *base,
                          fz_err *err) {
    fz_buf location = {0};
    fz_code code = pointer(c, name, &location, err);
    if (code == FZ_OK && !fz_str_equal(fz_buf_view(&location), base->location)) {
        code = fz_err_set(err, FZ_CONFLICT, "table \"%.*s.%.*s\" is at \"%.*s\", wanted \"%.*s\"",
                          FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table),
                          FZ_STR_ARGS(fz_str_slice(fz_buf_view(&location), 0, 250)),
                          FZ_STR_ARGS(fz_str_slice(base->location, 0, 250)));
    }
    fz_buf_deinit(&location);
    return code;
}

static fz_code sql_commit(fz_catalog *catalog, fz_catalog_name name,
                          const fz_iceberg_metadata *base, const json_t *requirements,
                          const json_t *updates, fz_iceberg_metadata **out, fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    FZ_TRY(check_base(c, name, base, err));
    FZ_TRY(fz_iceberg_update_check(base, requirements, err));
    fz_iceberg_metadata *next = NULL;
    fz_iceberg_metadata *written = NULL;
    FZ_TRY(fz_iceberg_update_apply(base, updates, fz_clock_wall_ms(c->clock), &next, err));
    fz_code code = fz_catalog_files_write(&c->files, next, base->location, &written, err);
    fz_iceberg_metadata_unref(next);
    FZ_TRY(code);
    fz_mutex_lock(&c->mutex);
    code = swap(c, name, base->location, written->location, err);
    fz_mutex_unlock(&c->mutex);
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(written); // its file stays: it was named in a request (R8)
        return code;
    }
    put_hint(c, name, written->location);
    fz_catalog_files_expire(&c->files, base, written);
    *out = written;
    return FZ_OK;
}

static fz_code sql_drop(fz_catalog *catalog, fz_catalog_name name, fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    const fz_str texts[] = {name_of(c), name.space, name.table};
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_begin(c->db, err);
    if (code == FZ_OK) {
        code = fz_sqlite_run(c->db,
                             TYPED(c,
                                   "DELETE FROM iceberg_tables WHERE catalog_name = ?1 AND"
                                   " table_namespace = ?2 AND table_name = ?3",
                                   IS_TABLE),
                             texts, FZ_COUNT(texts), NULL, NULL, err);
        if (code == FZ_OK && sqlite3_changes(c->db) == 0) {
            code = not_found(name, err);
        }
        if (code == FZ_OK) {
            code = insert_namespace(c, name.space, err); // it does not end with its last table
        }
        code = end(c, code, err);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

static fz_code sql_register(fz_catalog *catalog, fz_catalog_name name, fz_str metadata_location,
                            fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    fz_iceberg_metadata *metadata;
    FZ_TRY(fz_catalog_files_read(&c->files, metadata_location, &metadata, err));
    fz_iceberg_metadata_unref(metadata);
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_begin(c->db, err);
    if (code == FZ_OK) {
        code = insert_namespace(c, name.space, err);
        if (code == FZ_OK) {
            code = insert_table(c, name, metadata_location, err);
        }
        code = end(c, code, err);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

static fz_code sql_rename(fz_catalog *catalog, fz_catalog_name from, fz_catalog_name to,
                          fz_err *err) {
    sql_catalog *c = (sql_catalog *)catalog;
    const fz_str texts[] = {name_of(c), from.space, from.table, to.space, to.table};
    fz_mutex_lock(&c->mutex);
    fz_code code = fz_sqlite_begin(c->db, err);
    if (code == FZ_OK) {
        code = insert_namespace(c, to.space, err);
        if (code == FZ_OK) {
            code = fz_sqlite_run(
                c->db,
                TYPED(c,
                      "UPDATE iceberg_tables SET table_namespace = ?4, table_name = ?5"
                      " WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3",
                      IS_TABLE),
                texts, FZ_COUNT(texts), NULL, NULL, err);
        }
        if (code == FZ_EXISTS) {
            code = exists(to, err);
        } else if (code == FZ_OK && sqlite3_changes(c->db) == 0) {
            code = not_found(from, err);
        }
        code = end(c, code, err);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

static void sql_free(fz_catalog *catalog) {
    sql_catalog *c = (sql_catalog *)catalog;
    sqlite3_close(c->db);
    fz_catalog_stores_deinit(&c->files.stores);
    fz_mutex_deinit(&c->mutex);
    fz_free(c->name);
    fz_free(c->warehouse);
    fz_free(c);
}

static const fz_catalog_ops sql_ops = {
    .name = "sql",
    .list_namespaces = sql_list_namespaces,
    .create_namespace = sql_create_namespace,
    .list = sql_list,
    .load = sql_load,
    .locate = sql_locate,
    .create = sql_create,
    .commit = sql_commit,
    .drop = sql_drop,
    .register_table = sql_register,
    .rename = sql_rename,
    .free = sql_free,
};

/** Tables of version 1 when the database is new; what is there already is not changed. */
static fz_code make_tables(sql_catalog *c, fz_err *err) {
    static const char *const statements[] = {
        "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL,"
        " table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,"
        " metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type "
        "VARCHAR(5),"
        " PRIMARY KEY (catalog_name, table_namespace, table_name))",
        "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT "
        "NULL,"
        " namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, property_value "
        "VARCHAR(1000),"
        " PRIMARY KEY (catalog_name, namespace, property_key))",
    };
    FZ_TRY(fz_sqlite_begin(c->db, err));
    fz_code code = FZ_OK;
    for (size_t i = 0; i < FZ_COUNT(statements) && code == FZ_OK; i++) {
        code = fz_sqlite_run(c->db, statements[i], NULL, 0, NULL, NULL, err);
    }
    FZ_TRY(end(c, code, err));
    size_t rows = 0;
    FZ_TRY(fz_sqlite_run(
        c->db, "SELECT 1 FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'",
        NULL, 0, count_row, &rows, err));
    c->typed = rows > 0;
    return FZ_OK;
}

fz_code fz_catalog_sql_open(const fz_catalog_sql_options *options, fz_catalog **out, fz_err *err) {
    FZ_ASSERT(options->path && options->name.size > 0 && options->open_store && options->clock);
    sqlite3 *db;
    int busy_timeout_ms = options->busy_timeout_ms > 0 ? options->busy_timeout_ms : BUSY_TIMEOUT_MS;
    FZ_TRY(fz_sqlite_open(options->path, busy_timeout_ms, &db, err));
    sql_catalog *c = fz_calloc(1, sizeof(*c));
    c->catalog.ops = &sql_ops;
    c->db = db;
    c->clock = options->clock;
    c->name = fz_str_dup(options->name);
    fz_str warehouse = options->warehouse;
    while (warehouse.size > 1 && warehouse.data[warehouse.size - 1] == '/') {
        warehouse.size--;
    }
    c->warehouse = fz_str_dup(warehouse);
    c->files.warehouse = fz_str_from(c->warehouse);
    fz_mutex_init(&c->mutex);
    fz_catalog_stores_init(&c->files.stores, options->open_store, options->store_context);
    fz_code code = make_tables(c, err);
    if (code != FZ_OK) {
        sql_free(&c->catalog);
        return code;
    }
    *out = &c->catalog;
    return FZ_OK;
}
