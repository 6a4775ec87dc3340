// SPDX-License-Identifier: Apache-2.0
// Finding the table that a command line names.
#include "app/table_arg.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"

/** Largest metadata file, bytes. */
#define METADATA_MAX (256u << 20)

void fz_table_arg_deinit(fz_table_arg *table) {
    fz_iceberg_metadata_unref(table->metadata);
    fz_free(table->space);
    fz_free(table->name);
    memset(table, 0, sizeof *table);
}

static fz_code read_metadata(fz_store *store, fz_str uri, fz_iceberg_metadata **out, fz_err *err) {
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, METADATA_MAX, NULL);
    FZ_TRY(fz_store_key(store, uri, &key, err));
    FZ_TRY(fz_store_read_all(store, key, &bytes, err));
    return fz_iceberg_metadata_parse(fz_buf_view(&bytes), uri, out, err);
}

/** Number at the start of a metadata file's name: 00012-..., v12...; -1 if none. */
static long version_of(fz_str name) {
    if (name.size > 0 && name.data[0] == 'v') {
        name = fz_str_slice(name, 1, name.size);
    }
    long version = -1;
    for (size_t i = 0; i < name.size && name.data[i] >= '0' && name.data[i] <= '9' && i < 12; i++) {
        version = (version < 0 ? 0 : version) * 10 + (name.data[i] - '0');
    }
    return version;
}

/** The newest metadata file below a table's folder. */
static fz_code newest_metadata(fz_store *store, fz_str location, char **out, fz_err *err) {
    char *folder = fz_str_printf("%.*s/metadata/", FZ_STR_ARGS(location));
    fz_str prefix;
    fz_page page = {0};
    char *after = fz_str_dup(FZ_STR(""));
    long best = -1;
    fz_code code = fz_store_key(store, fz_str_from(folder), &prefix, err);
    do {
        if (code == FZ_OK) {
            code = fz_store_list(store, prefix, fz_str_from(after), &page, err);
        }
        for (size_t i = 0; code == FZ_OK && i < page.objects.count; i++) {
            fz_str key = page.objects.data[i].key;
            long version = version_of(fz_str_slice(key, prefix.size, key.size));
            if (fz_str_find_str(key, FZ_STR(".metadata.json")) != SIZE_MAX && version > best) {
                best = version;
                fz_free(*out);
                *out = fz_store_uri(store, key);
            }
        }
        if (code == FZ_OK && page.objects.count > 0) {
            fz_free(after);
            after = fz_str_dup(page.objects.data[page.objects.count - 1].key);
        }
    } while (code == FZ_OK && page.more);
    fz_page_deinit(&page);
    fz_free(after);
    fz_free(folder);
    if (code == FZ_OK && !*out) {
        code = fz_err_set(err, FZ_NOT_FOUND, "no metadata file below \"%.*s/metadata\"",
                          FZ_STR_ARGS(location));
    }
    return code;
}

static fz_code open_place(fz_wiring *wiring, const char *text, fz_table_arg *out, fz_err *err) {
    char *uri = strstr(text, "://") ? fz_str_dup(fz_str_from(text)) : NULL;
    if (!uri) {
        char *path = fz_file_absolute(NULL, text);
        uri = fz_str_printf("file://%s", path);
        fz_free(path);
    }
    fz_config_storage storage = {0};
    char *metadata = NULL;
    fz_code code = fz_wiring_store(wiring, &storage, fz_str_from(uri), &out->store, err);
    if (code == FZ_OK && !fz_str_ends_with(fz_str_from(uri), FZ_STR(".json"))) {
        code = newest_metadata(out->store, fz_str_from(uri), &metadata, err);
    }
    if (code == FZ_OK) {
        code =
            read_metadata(out->store, fz_str_from(metadata ? metadata : uri), &out->metadata, err);
    }
    fz_free(metadata);
    fz_free(uri);
    return code;
}

static fz_code open_named(fz_wiring *wiring, const fz_config_catalog *catalog,
                          const fz_config_storage *storage, fz_str space, fz_str name,
                          fz_table_arg *out, fz_err *err) {
    FZ_TRY(fz_wiring_catalog(wiring, catalog, &out->catalog, err));
    FZ_TRY(fz_catalog_load(out->catalog, (fz_catalog_name){space, name}, &out->metadata, err));
    out->space = fz_str_dup(space);
    out->name = fz_str_dup(name);
    return fz_wiring_store(wiring, storage, fz_iceberg_metadata_base(out->metadata), &out->store,
                           err);
}

static bool is_place(const char *text) {
    return strchr(text, '/') != NULL || fz_file_exists(text);
}

fz_code fz_table_arg_open(fz_wiring *wiring, const fz_config *config, const char *text,
                          fz_table_arg *out, fz_err *err) {
    memset(out, 0, sizeof *out);
    if (is_place(text)) {
        return open_place(wiring, text, out, err);
    }
    fz_str whole = fz_str_from(text);
    size_t dot = SIZE_MAX;
    for (size_t at = 0; (at = fz_str_find(whole, '.', at)) != SIZE_MAX; at++) {
        dot = at;
    }
    fz_str given_space = dot == SIZE_MAX ? (fz_str){0} : fz_str_slice(whole, 0, dot);
    fz_str name = dot == SIZE_MAX ? whole : fz_str_slice(whole, dot + 1, whole.size);
    fz_code code =
        fz_err_set(err, FZ_NOT_FOUND,
                   "no table \"%s\": the configuration has no tableflow entry, so give one with "
                   "-c FILE, or name a metadata.json or a table's folder",
                   text);
    for (size_t i = 0; i < config->entry_count; i++) {
        const fz_config_entry *entry = &config->entries[i];
        const fz_config_catalog *catalog = &entry->catalog.items[0];
        fz_str space = given_space.size > 0 ? given_space : catalog->database;
        fz_table_arg_deinit(out);
        code = open_named(wiring, catalog, &entry->storage, space, name, out, err);
        if (code != FZ_NOT_FOUND) {
            out->entry = entry;
            return code;
        }
    }
    return code;
}
