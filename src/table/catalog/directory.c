// SPDX-License-Identifier: Apache-2.0
// The directory catalog: version N + 1 is a new object that only one writer can make.
#include "table/catalog/directory.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"

#define METADATA_FILE_MAX ((size_t)256 << 20)
#define VERSION_MAX 1000000000

typedef struct directory_catalog {
    fz_catalog catalog;
    fz_store *store;
    fz_clock *clock;
} directory_catalog;

static fz_code not_found(fz_catalog_name name, fz_err *err) {
    return fz_err_set(err, FZ_NOT_FOUND, "table \"%.*s.%.*s\" does not exist",
                      FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table));
}

/** Key of a table's folder, "shop/orders"; levels of the namespace are folders. */
static fz_code table_key(fz_catalog_name name, fz_buf *out, fz_err *err) {
    if (fz_str_find(name.space, '/', 0) != SIZE_MAX ||
        fz_str_find(name.table, '/', 0) != SIZE_MAX) {
        return fz_err_set(err, FZ_INVALID,
                          "names in a directory catalog cannot hold '/': \"%.*s.%.*s\"",
                          FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table));
    }
    for (size_t i = 0; i < name.space.size; i++) {
        fz_buf_append_byte(out, name.space.data[i] == '.' ? '/' : (uint8_t)name.space.data[i]);
    }
    fz_buf_append_byte(out, '/');
    fz_buf_append_str(out, name.table);
    return FZ_OK;
}

static void version_key(fz_str table, int64_t version, fz_buf *out) {
    fz_buf_reset(out);
    fz_buf_printf(out, "%.*s/metadata/v%lld.metadata.json", FZ_STR_ARGS(table), (long long)version);
}

/** N of "v<N>.metadata.json", also compressed by another writer; -1 if it is not one. */
static int64_t version_of_file(fz_str file) {
    if (file.size < 2 || file.data[0] != 'v') {
        return -1;
    }
    int64_t version = 0;
    size_t i = 1;
    for (; i < file.size && file.data[i] >= '0' && file.data[i] <= '9' && version < VERSION_MAX;
         i++) {
        version = version * 10 + (file.data[i] - '0');
    }
    fz_str tail = fz_str_slice(file, i, file.size);
    bool known = fz_str_equal(tail, FZ_STR(".metadata.json")) ||
                 fz_str_equal(tail, FZ_STR(".gz.metadata.json")) ||
                 fz_str_equal(tail, FZ_STR(".metadata.json.gz"));
    return i > 1 && known ? version : -1;
}

static fz_str file_of(fz_str key) {
    size_t start = 0;
    for (size_t i = 0; i < key.size; i++) {
        start = key.data[i] == '/' ? i + 1 : start;
    }
    return fz_str_slice(key, start, key.size);
}

typedef fz_code (*key_fn)(void *context, fz_str key, fz_err *err);

static fz_code each_key(directory_catalog *c, fz_str prefix, key_fn each, void *context,
                        fz_err *err) {
    fz_page page = {0};
    fz_buf after = {0};
    fz_code code;
    do {
        code = fz_store_list(c->store, prefix, fz_buf_view(&after), &page, err);
        for (size_t i = 0; i < page.objects.count && code == FZ_OK; i++) {
            code = each(context, page.objects.data[i].key, err);
        }
        if (page.objects.count > 0) {
            fz_buf_reset(&after);
            fz_buf_append_str(&after, page.objects.data[page.objects.count - 1].key);
        }
    } while (code == FZ_OK && page.more && page.objects.count > 0);
    fz_page_deinit(&page);
    fz_buf_deinit(&after);
    return code;
}

typedef struct head {
    int64_t version; // -1: none
    fz_buf key;
} head;

static fz_code greatest(void *context, fz_str key, fz_err *err) {
    (void)err;
    head *h = context;
    int64_t version = version_of_file(file_of(key));
    if (version > h->version) {
        h->version = version;
        fz_buf_reset(&h->key);
        fz_buf_append_str(&h->key, key);
    }
    return FZ_OK;
}

/** What the hint says, -1 when it says nothing of use. It decides nothing. */
static int64_t read_hint(directory_catalog *c, fz_str table) {
    fz_buf key = {0};
    fz_buf text;
    fz_buf_init(&text, 64, NULL);
    fz_buf_printf(&key, "%.*s/metadata/version-hint.text", FZ_STR_ARGS(table));
    int64_t version = -1;
    if (fz_store_read_all(c->store, fz_buf_view(&key), &text, NULL) == FZ_OK) {
        fz_str digits = fz_str_trim(fz_buf_view(&text));
        version = digits.size > 0 && digits.size <= 9 ? 0 : -1;
        for (size_t i = 0; i < digits.size && version >= 0; i++) {
            int digit = digits.data[i] - '0';
            version = digit >= 0 && digit <= 9 ? version * 10 + digit : -1;
        }
    }
    fz_buf_deinit(&key);
    fz_buf_deinit(&text);
    return version;
}

/** The greatest version: forward from the hint, or by listing when the hint leads nowhere.
 * NOT_FOUND: no table. */
static fz_code find_head(directory_catalog *c, fz_catalog_name name, fz_str table, head *out,
                         fz_err *err) {
    fz_buf key = {0};
    fz_object object;
    out->version = -1;
    fz_code code = FZ_OK;
    for (int64_t version = read_hint(c, table); version >= 0 && code == FZ_OK; version++) {
        version_key(table, version, &key);
        code = fz_store_stat(c->store, fz_buf_view(&key), &object, err);
        if (code == FZ_OK) {
            (void)greatest(out, fz_buf_view(&key), err);
        }
    }
    if (code == FZ_NOT_FOUND) {
        code = FZ_OK;
    }
    if (code == FZ_OK && out->version < 0) {
        fz_buf_reset(&key);
        fz_buf_printf(&key, "%.*s/metadata/v", FZ_STR_ARGS(table));
        code = each_key(c, fz_buf_view(&key), greatest, out, err);
    }
    fz_buf_deinit(&key);
    return code == FZ_OK && out->version < 0 ? not_found(name, err) : code;
}

static fz_code read_version(directory_catalog *c, fz_str key, fz_iceberg_metadata **out,
                            fz_err *err) {
    fz_buf bytes;
    fz_buf_init(&bytes, METADATA_FILE_MAX, NULL);
    char *uri = fz_store_uri(c->store, key);
    fz_code code = fz_store_read_all(c->store, key, &bytes, err);
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_parse(fz_buf_view(&bytes), fz_str_from(uri), out, err);
    }
    fz_free(uri);
    fz_buf_deinit(&bytes);
    return code;
}

static fz_code directory_load(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                              fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    fz_buf table = {0};
    head h = {0};
    fz_code code = table_key(name, &table, err);
    if (code == FZ_OK) {
        code = find_head(c, name, fz_buf_view(&table), &h, err);
    }
    if (code == FZ_OK) {
        code = read_version(c, fz_buf_view(&h.key), out, err);
    }
    fz_buf_deinit(&h.key);
    fz_buf_deinit(&table);
    return code;
}

static fz_code directory_locate(fz_catalog *catalog, fz_catalog_name name, fz_buf *out,
                                fz_err *err) {
    const directory_catalog *c = (const directory_catalog *)catalog;
    fz_buf table = {0};
    fz_code code = table_key(name, &table, err);
    if (code == FZ_OK) {
        char *uri = fz_store_uri(c->store, fz_buf_view(&table));
        fz_buf_append_str(out, fz_str_from(uri));
        fz_free(uri);
        code = fz_buf_check(out, "table location", err);
    }
    fz_buf_deinit(&table);
    return code;
}

/** Write a version; EXISTS when another was first. */
static fz_code put_version(directory_catalog *c, fz_str key, const fz_iceberg_metadata *metadata,
                           fz_iceberg_metadata **out, fz_err *err) {
    if (fz_iceberg_metadata_property(metadata, "write.metadata.compression-codec").size > 0 &&
        !fz_str_equal_nocase(
            fz_iceberg_metadata_property(metadata, "write.metadata.compression-codec"),
            FZ_STR("none"))) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "a directory catalog does not write compressed metadata");
    }
    fz_buf bytes;
    fz_buf_init(&bytes, METADATA_FILE_MAX, NULL);
    fz_code code = fz_json_format(metadata->root, &bytes, err);
    if (code == FZ_OK) {
        code = fz_store_put_new(c->store, key, fz_buf_view(&bytes), err);
    }
    if (code == FZ_OK) {
        char *uri = fz_store_uri(c->store, key);
        *out = fz_iceberg_metadata_moved(metadata, fz_str_from(uri));
        fz_free(uri);
    }
    fz_buf_deinit(&bytes);
    return code;
}

/** Best effort: readers look forward from it, so an old one costs time only. */
static void put_hint(directory_catalog *c, fz_str table, int64_t version) {
    fz_buf key = {0};
    fz_buf text = {0};
    fz_buf_printf(&key, "%.*s/metadata/version-hint.text", FZ_STR_ARGS(table));
    fz_buf_printf(&text, "%lld", (long long)version);
    (void)!fz_store_put(c->store, fz_buf_view(&key), fz_buf_view(&text), NULL);
    fz_buf_deinit(&key);
    fz_buf_deinit(&text);
}

/** A table lies where its name says. */
static fz_code check_location(fz_catalog *catalog, fz_catalog_name name,
                              const fz_iceberg_metadata *metadata, fz_err *err) {
    fz_buf location = {0};
    fz_code code = directory_locate(catalog, name, &location, err);
    if (code == FZ_OK &&
        !fz_str_equal(fz_buf_view(&location), fz_iceberg_metadata_base(metadata))) {
        code = fz_err_set(err, FZ_INVALID,
                          "table location is \"%.*s\", in this catalog it must be \"%.*s\"",
                          FZ_STR_ARGS(fz_str_slice(fz_iceberg_metadata_base(metadata), 0, 250)),
                          FZ_STR_ARGS(fz_str_slice(fz_buf_view(&location), 0, 250)));
    }
    fz_buf_deinit(&location);
    return code;
}

static fz_code directory_create(fz_catalog *catalog, fz_catalog_name name,
                                const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                                fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    fz_buf table = {0};
    fz_buf key = {0};
    head h = {0};
    fz_code code = table_key(name, &table, err);
    if (code == FZ_OK) {
        code = check_location(catalog, name, initial, err);
    }
    if (code == FZ_OK) {
        // Version 1 may be gone from a table that is long past it.
        code = find_head(c, name, fz_buf_view(&table), &h, err);
        code = code == FZ_OK ? FZ_EXISTS : code == FZ_NOT_FOUND ? FZ_OK : code;
    }
    if (code == FZ_OK) {
        version_key(fz_buf_view(&table), 1, &key);
        code = put_version(c, fz_buf_view(&key), initial, out, err);
    }
    if (code == FZ_EXISTS) {
        code = fz_err_set(err, FZ_EXISTS, "table \"%.*s.%.*s\" exists already",
                          FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table));
    }
    if (code == FZ_OK) {
        put_hint(c, fz_buf_view(&table), 1);
    }
    fz_buf_deinit(&h.key);
    fz_buf_deinit(&key);
    fz_buf_deinit(&table);
    return code;
}

static fz_code moved_on(fz_catalog_name name, int64_t found, int64_t wanted, fz_err *err) {
    return fz_err_set(err, FZ_CONFLICT, "table \"%.*s.%.*s\" is at version %lld, wanted %lld",
                      FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table), (long long)found,
                      (long long)wanted);
}

static bool logs(const fz_iceberg_metadata *metadata, fz_str location) {
    for (size_t i = fz_iceberg_metadata_log_count(metadata); i-- > 0;) {
        if (fz_str_equal(fz_iceberg_metadata_log_at(metadata, i, NULL), location)) {
            return true;
        }
    }
    return false;
}

/**
 * Does the table go through the version that was just put? Where old versions are deleted, a writer
 * that slept for hundreds of commits finds its number free again; then the head's log does not name
 * it.
 */
static fz_code check_line(directory_catalog *c, fz_catalog_name name, fz_str table, int64_t version,
                          const fz_iceberg_metadata *written, fz_err *err) {
    head h = {0};
    fz_iceberg_metadata *newest = NULL;
    fz_code code = find_head(c, name, table, &h, err);
    bool holds = code == FZ_OK && h.version == version;
    if (code == FZ_OK && h.version > version) {
        code = read_version(c, fz_buf_view(&h.key), &newest, err);
        holds = code == FZ_OK && logs(newest, written->location);
    }
    int64_t found = h.version;
    fz_iceberg_metadata_unref(newest);
    fz_buf_deinit(&h.key);
    if (holds) {
        return FZ_OK;
    }
    return fz_err_set(err, FZ_UNKNOWN_OUTCOME,
                      "version %lld of table \"%.*s.%.*s\" was put, the table is at %lld",
                      (long long)version, FZ_STR_ARGS(name.space), FZ_STR_ARGS(name.table),
                      (long long)found);
}

/** The swap, and a look at what came of it. */
static fz_code put_next(directory_catalog *c, fz_catalog_name name, fz_str table, int64_t version,
                        const fz_iceberg_metadata *next, fz_iceberg_metadata **out, fz_err *err) {
    fz_buf key = {0};
    fz_iceberg_metadata *written = NULL;
    version_key(table, version, &key);
    fz_code code = put_version(c, fz_buf_view(&key), next, &written, err);
    if (code == FZ_EXISTS) {
        code = moved_on(name, version, version - 1, err);
    } else if (code == FZ_OK) {
        code = check_line(c, name, table, version, written, err);
    }
    fz_buf_deinit(&key);
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(written);
        return code;
    }
    put_hint(c, table, version);
    *out = written;
    return FZ_OK;
}

static void expire_files(directory_catalog *c, const fz_iceberg_metadata *base,
                         const fz_iceberg_metadata *next) {
    if (!fz_str_equal_nocase(
            fz_iceberg_metadata_property(next, "write.metadata.delete-after-commit.enabled"),
            FZ_STR("true"))) {
        return;
    }
    json_t *expired = fz_iceberg_update_expired_files(base, next);
    for (size_t i = 0; i < json_array_size(expired); i++) {
        fz_str key;
        if (fz_store_key(c->store, fz_json_view(json_array_get(expired, i)), &key, NULL) == FZ_OK) {
            (void)!fz_store_remove(c->store, key, NULL);
        }
    }
    json_decref(expired);
}

/** Base must be the head; then the updates on it. */
static fz_code plan_commit(directory_catalog *c, fz_catalog_name name, fz_str table,
                           const fz_iceberg_metadata *base, const json_t *requirements,
                           const json_t *updates, int64_t *version, fz_iceberg_metadata **next,
                           fz_err *err) {
    head h = {0};
    *version = version_of_file(file_of(base->location));
    fz_code code = find_head(c, name, table, &h, err);
    fz_buf_deinit(&h.key);
    FZ_TRY(code);
    if (h.version != *version) {
        return moved_on(name, h.version, *version, err);
    }
    FZ_TRY(fz_iceberg_update_check(base, requirements, err));
    FZ_TRY(fz_iceberg_update_apply(base, updates, fz_clock_wall_ms(c->clock), next, err));
    code = check_location(&c->catalog, name, *next, err);
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(*next);
        *next = NULL;
    }
    return code;
}

static fz_code directory_commit(fz_catalog *catalog, fz_catalog_name name,
                                const fz_iceberg_metadata *base, const json_t *requirements,
                                const json_t *updates, fz_iceberg_metadata **out, fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    fz_buf table = {0};
    fz_iceberg_metadata *next = NULL;
    int64_t version = -1;
    fz_code code = table_key(name, &table, err);
    if (code == FZ_OK) {
        code = plan_commit(c, name, fz_buf_view(&table), base, requirements, updates, &version,
                           &next, err);
    }
    if (code == FZ_OK) {
        code = put_next(c, name, fz_buf_view(&table), version + 1, next, out, err);
    }
    if (code == FZ_OK) {
        expire_files(c, base, *out);
    }
    fz_iceberg_metadata_unref(next);
    fz_buf_deinit(&table);
    return code;
}

typedef struct key_list {
    fz_arena arena;
    FZ_VEC(fz_str) keys;
} key_list;

static fz_code collect_versions(void *context, fz_str key, fz_err *err) {
    (void)err;
    key_list *list = context;
    if (version_of_file(file_of(key)) >= 0) {
        fz_vec_push(&list->keys, fz_arena_str(&list->arena, key));
    }
    return FZ_OK;
}

static void key_list_deinit(key_list *list) {
    fz_vec_deinit(&list->keys);
    fz_arena_deinit(&list->arena);
}

/** The versions are the table: they go, the newest last, so that until then it can be read.
 * Manifests and data stay. */
static fz_code remove_versions(directory_catalog *c, fz_str table, fz_str newest, fz_err *err) {
    key_list list = {0};
    fz_buf key = {0};
    fz_buf_printf(&key, "%.*s/metadata/v", FZ_STR_ARGS(table));
    fz_code code = each_key(c, fz_buf_view(&key), collect_versions, &list, err);
    for (size_t i = 0; i < list.keys.count && code == FZ_OK; i++) {
        if (!fz_str_equal(list.keys.data[i], newest)) {
            code = fz_store_remove(c->store, list.keys.data[i], err);
        }
    }
    if (code == FZ_OK) {
        code = fz_store_remove(c->store, newest, err);
    }
    if (code == FZ_OK) {
        fz_buf_reset(&key);
        fz_buf_printf(&key, "%.*s/metadata/version-hint.text", FZ_STR_ARGS(table));
        code = fz_store_remove(c->store, fz_buf_view(&key), err);
    }
    fz_buf_deinit(&key);
    key_list_deinit(&list);
    return code;
}

static fz_code directory_drop(fz_catalog *catalog, fz_catalog_name name, fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    fz_buf table = {0};
    head h = {0};
    fz_code code = table_key(name, &table, err);
    if (code == FZ_OK) {
        code = find_head(c, name, fz_buf_view(&table), &h, err);
    }
    if (code == FZ_OK) {
        code = remove_versions(c, fz_buf_view(&table), fz_buf_view(&h.key), err);
    }
    fz_buf_deinit(&h.key);
    fz_buf_deinit(&table);
    return code;
}

/** A table met in a listing of keys: equal ones follow each other. */
static fz_code meet_key(void *context, fz_str key, fz_err *err) {
    (void)err;
    key_list *tables = context;
    fz_str file = file_of(key);
    fz_str folder = FZ_STR("/metadata/");
    if (version_of_file(file) < 0 || key.size < file.size + folder.size) {
        return FZ_OK;
    }
    fz_str path = fz_str_slice(key, 0, key.size - file.size);
    if (!fz_str_ends_with(path, folder)) {
        return FZ_OK;
    }
    path.size -= folder.size;
    bool known =
        tables->keys.count > 0 && fz_str_equal(tables->keys.data[tables->keys.count - 1], path);
    if (!known && fz_str_find(path, '/', 0) != SIZE_MAX) {
        fz_vec_push(&tables->keys, fz_arena_str(&tables->arena, path));
    }
    return FZ_OK;
}

/** Namespace and table of a key, the namespace with dots, in `arena`. */
static fz_catalog_name name_of(fz_str path, fz_arena *arena) {
    fz_catalog_name name = {.table = file_of(path)};
    fz_str space = fz_arena_str(arena, fz_str_slice(path, 0, path.size - name.table.size - 1));
    for (size_t i = 0; i < space.size; i++) {
        if (space.data[i] == '/') {
            ((char *)space.data)[i] = '.';
        }
    }
    name.space = space;
    return name;
}

static fz_code directory_list(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each,
                              void *context, fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    key_list tables = {0};
    fz_buf prefix = {0};
    fz_code code = table_key((fz_catalog_name){space, {0}}, &prefix, err);
    if (code == FZ_OK) {
        code = each_key(c, fz_buf_view(&prefix), meet_key, &tables, err);
    }
    bool found = false;
    for (size_t i = 0; i < tables.keys.count && code == FZ_OK; i++) {
        fz_catalog_name name = name_of(tables.keys.data[i], &tables.arena);
        found = true; // a child's table is enough for the namespace to exist
        if (fz_str_equal(name.space, space)) {
            code = each(context, name, err);
        }
    }
    if (code == FZ_OK && !found) {
        code =
            fz_err_set(err, FZ_NOT_FOUND, "namespace \"%.*s\" does not exist", FZ_STR_ARGS(space));
    }
    fz_buf_deinit(&prefix);
    key_list_deinit(&tables);
    return code;
}

static fz_code directory_list_namespaces(fz_catalog *catalog, fz_catalog_name_fn each,
                                         void *context, fz_err *err) {
    directory_catalog *c = (directory_catalog *)catalog;
    key_list tables = {0};
    fz_map seen = {0}; // a child namespace may come between two tables of its parent
    fz_code code = each_key(c, FZ_STR(""), meet_key, &tables, err);
    for (size_t i = 0; i < tables.keys.count && code == FZ_OK; i++) {
        fz_catalog_name name = name_of(tables.keys.data[i], &tables.arena);
        if (!fz_map_put(&seen, name.space, c)) {
            code = each(context, (fz_catalog_name){name.space, {0}}, err);
        }
    }
    fz_map_deinit(&seen);
    key_list_deinit(&tables);
    return code;
}

static void directory_free(fz_catalog *catalog) {
    directory_catalog *c = (directory_catalog *)catalog;
    fz_store_free(c->store);
    fz_free(c);
}

static const fz_catalog_ops directory_ops = {
    .name = "directory",
    .list_namespaces = directory_list_namespaces,
    .list = directory_list,
    .load = directory_load,
    .locate = directory_locate,
    .create = directory_create,
    .commit = directory_commit,
    .drop = directory_drop,
    .free = directory_free,
};

fz_catalog *fz_catalog_directory_new(fz_store *store, fz_clock *clock) {
    directory_catalog *c = fz_calloc(1, sizeof(*c));
    c->catalog.ops = &directory_ops;
    c->store = store;
    c->clock = clock;
    return &c->catalog;
}
