// SPDX-License-Identifier: Apache-2.0
// Metadata files in object stores.
#include "table/catalog/files.h"

#define METADATA_FILE_MAX ((size_t)256 << 20)

static fz_code find_store(fz_catalog_files *files, fz_str uri, fz_str root, fz_store **store,
                          fz_str *key, fz_err *err) {
    fz_str below = files->warehouse;
    bool inside = below.size > 0 && fz_str_starts_with(uri, below) && uri.size > below.size &&
                  uri.data[below.size] == '/';
    return fz_catalog_stores_find(&files->stores, uri, inside ? below : root, store, key, err);
}

fz_code fz_catalog_files_read(fz_catalog_files *files, fz_str location, fz_iceberg_metadata **out,
                              fz_err *err) {
    fz_store *store;
    fz_str key;
    FZ_TRY(find_store(files, location, fz_catalog_stores_table_root(location), &store, &key, err));
    fz_buf bytes;
    fz_buf_init(&bytes, METADATA_FILE_MAX, NULL);
    fz_code code = fz_store_read_all(store, key, &bytes, err);
    if (code == FZ_NOT_FOUND) {
        code = fz_err_set(err, FZ_CORRUPT,
                          "the catalog names metadata file \"%.*s\", which is not there",
                          FZ_STR_ARGS(fz_str_slice(location, 0, 500)));
    }
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_parse(fz_buf_view(&bytes), location, out, err);
    }
    fz_buf_deinit(&bytes);
    return code;
}

fz_code fz_catalog_files_write(fz_catalog_files *files, const fz_iceberg_metadata *metadata,
                               fz_str previous, fz_iceberg_metadata **out, fz_err *err) {
    fz_buf location = {0};
    fz_buf bytes;
    fz_buf_init(&bytes, METADATA_FILE_MAX, NULL);
    fz_iceberg_metadata_next_location(metadata, previous, &location);
    fz_store *store;
    fz_str key;
    fz_code code = fz_iceberg_metadata_format(metadata, &bytes, err);
    if (code == FZ_OK) {
        code = find_store(files, fz_buf_view(&location),
                          fz_catalog_stores_table_root(fz_buf_view(&location)), &store, &key, err);
    }
    if (code == FZ_OK) {
        code = fz_store_put_new(store, key, fz_buf_view(&bytes), err);
    }
    if (code == FZ_UNKNOWN_OUTCOME || code == FZ_EXISTS) {
        // Whether the file is there or not: no table points at it, so nothing was committed.
        code = FZ_UNAVAILABLE;
        if (err) {
            err->code = code;
        }
    }
    if (code == FZ_OK) {
        *out = fz_iceberg_metadata_moved(metadata, fz_buf_view(&location));
    }
    fz_buf_deinit(&location);
    fz_buf_deinit(&bytes);
    return code;
}

/** Is it a metadata file of a table that was committed to? `00000-...` alone is left by a creation
 * that died. */
static bool is_later_version(fz_str key) {
    if (!fz_str_ends_with(key, FZ_STR(".metadata.json")) &&
        !fz_str_ends_with(key, FZ_STR(".metadata.json.gz"))) {
        return false;
    }
    size_t start = 0;
    for (size_t i = 0; i < key.size; i++) {
        start = key.data[i] == '/' ? i + 1 : start;
    }
    return !fz_str_starts_with(fz_str_slice(key, start, key.size), FZ_STR("00000-"));
}

fz_code fz_catalog_files_check_empty(fz_catalog_files *files, const fz_iceberg_metadata *metadata,
                                     fz_err *err) {
    fz_str base = fz_iceberg_metadata_base(metadata);
    fz_buf folder = {0};
    fz_iceberg_metadata_folder(metadata, &folder);
    fz_buf_append_byte(&folder, '/');
    fz_store *store;
    fz_str prefix;
    fz_page page = {0};
    fz_buf after = {0};
    fz_code code =
        find_store(files, fz_buf_view(&folder), fz_catalog_stores_table_root(fz_buf_view(&folder)),
                   &store, &prefix, err);
    do {
        if (code == FZ_OK) {
            code = fz_store_list(store, prefix, fz_buf_view(&after), &page, err);
        }
        for (size_t i = 0; i < page.objects.count && code == FZ_OK; i++) {
            fz_str key = page.objects.data[i].key;
            if (is_later_version(key)) {
                code = fz_err_set(err, FZ_INVALID,
                                  "location \"%.*s\" holds another table's metadata: \"%.*s\"",
                                  FZ_STR_ARGS(fz_str_slice(base, 0, 300)),
                                  FZ_STR_ARGS(fz_str_slice(key, 0, 300)));
            }
        }
        if (page.objects.count > 0) {
            fz_buf_reset(&after);
            fz_buf_append_str(&after, page.objects.data[page.objects.count - 1].key);
        }
    } while (code == FZ_OK && page.more && page.objects.count > 0);
    fz_page_deinit(&page);
    fz_buf_deinit(&after);
    fz_buf_deinit(&folder);
    return code;
}

void fz_catalog_files_expire(fz_catalog_files *files, const fz_iceberg_metadata *base,
                             const fz_iceberg_metadata *next) {
    if (!fz_str_equal_nocase(
            fz_iceberg_metadata_property(next, "write.metadata.delete-after-commit.enabled"),
            FZ_STR("true"))) {
        return;
    }
    json_t *expired = fz_iceberg_update_expired_files(base, next);
    for (size_t i = 0; i < json_array_size(expired); i++) {
        fz_str uri = fz_json_view(json_array_get(expired, i));
        fz_store *store;
        fz_str key;
        if (find_store(files, uri, fz_catalog_stores_table_root(uri), &store, &key, NULL) ==
            FZ_OK) {
            (void)!fz_store_remove(store, key, NULL);
        }
    }
    json_decref(expired);
}

void fz_catalog_files_hint(fz_catalog_files *files, fz_str location) {
    if (!fz_str_starts_with(location, FZ_STR("file:")) ||
        !fz_str_ends_with(location, FZ_STR(".metadata.json"))) {
        return;
    }
    size_t start = 0;
    for (size_t i = 0; i < location.size; i++) {
        start = location.data[i] == '/' ? i + 1 : start;
    }
    fz_buf uri = {0};
    fz_buf_append_str(&uri, fz_str_slice(location, 0, start));
    fz_buf_append_str(&uri, FZ_STR("version-hint.text"));
    fz_str version = fz_str_slice(location, start, location.size - strlen(".metadata.json"));
    if (fz_str_ends_with(version, FZ_STR(".gz"))) {
        version.size -= 3; // readers are told of compression by other means
    }
    fz_store *store;
    fz_str key;
    if (find_store(files, fz_buf_view(&uri), fz_catalog_stores_table_root(fz_buf_view(&uri)),
                   &store, &key, NULL) == FZ_OK) {
        (void)!fz_store_put(store, key, version, NULL);
    }
    fz_buf_deinit(&uri);
}
