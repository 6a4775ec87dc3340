// SPDX-License-Identifier: Apache-2.0
// Options that name places: buckets, warehouses, catalogs' addresses; made absolute.
#include "conf/custom.h"

#include "base/memory.h"
#include "base/text/uri.h"

typedef struct scheme {
    const char *name;
    const char *canonical;
    fz_config_provider provider;
} scheme;

static const scheme schemes[] = {
    {"s3", "s3", FZ_PROVIDER_S3},          {"s3a", "s3", FZ_PROVIDER_S3},
    {"s3n", "s3", FZ_PROVIDER_S3},         {"gs", "gs", FZ_PROVIDER_GCS},
    {"abfss", "abfss", FZ_PROVIDER_AZURE}, {"abfs", "abfs", FZ_PROVIDER_AZURE},
    {"file", "file", FZ_PROVIDER_LOCAL},   {"memory", "memory", FZ_PROVIDER_AUTO},
};

/** Without '/' at the end, but not less than scheme:// and one byte. */
static fz_str slashes_cut(fz_str text, size_t least) {
    while (text.size > least && text.data[text.size - 1] == '/') {
        text.size--;
    }
    return text;
}

static fz_str file_location(fz_conf_reader *reader, const fz_conf_node *node, fz_str path) {
    fz_str absolute = fz_conf_path_absolute(reader->arena, node->place, path);
    return fz_arena_printf(reader->arena, "file://%.*s", FZ_STR_ARGS(absolute));
}

/** A place with a scheme, checked and in its one spelling. */
static bool uri_location(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                         fz_str text, size_t colon, fz_str *out) {
    fz_str name = fz_str_slice(text, 0, colon);
    const scheme *found = NULL;
    for (size_t i = 0; i < FZ_COUNT(schemes); i++) {
        if (fz_str_equal_nocase(name, fz_str_from(schemes[i].name))) {
            found = &schemes[i];
        }
    }
    if (!found) {
        fz_conf_reader_fault(reader, node, path,
                             "unknown scheme \"%.*s\", wanted s3://, gs://, abfss:// or file://",
                             FZ_STR_ARGS(fz_str_slice(name, 0, 40)));
        return false;
    }
    fz_uri uri;
    fz_err err = {0};
    if (fz_uri_parse(text, &uri, &err) != FZ_OK) {
        fz_conf_reader_fault(reader, node, path, "%s", fz_err_text(&err));
        return false;
    }
    if (found->provider == FZ_PROVIDER_LOCAL) {
        bool here = uri.host.size == 0 || fz_str_equal(uri.host, FZ_STR("localhost"));
        if (!here || uri.path.size == 0 || uri.path.data[0] != '/') {
            fz_conf_reader_fault(reader, node, path,
                                 "\"%.*s\" has no absolute path, wanted file:///path",
                                 FZ_STR_ARGS(fz_str_slice(text, 0, 200)));
            return false;
        }
        *out = file_location(reader, node, uri.path);
        return true;
    }
    if (uri.host.size == 0) {
        fz_conf_reader_fault(reader, node, path, "\"%.*s\" names no bucket",
                             FZ_STR_ARGS(fz_str_slice(text, 0, 200)));
        return false;
    }
    fz_str rest = fz_str_slice(text, colon + 3, text.size);
    *out = fz_arena_printf(reader->arena, "%s://%.*s", found->canonical,
                           FZ_STR_ARGS(slashes_cut(rest, 1)));
    return true;
}

static void location_read(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, fz_config_provider provider, fz_str *out) {
    fz_str text;
    if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    }
    size_t colon = fz_str_find_str(text, FZ_STR("://"));
    if (colon == SIZE_MAX && fz_str_starts_with(text, FZ_STR("file:/"))) {
        *out = file_location(reader, node, fz_str_slice(text, 5, text.size));
    } else if (colon != SIZE_MAX) {
        (void)uri_location(reader, path, node, text, colon, out);
    } else if (text.size == 0) {
        fz_conf_reader_fault(reader, node, path, "the text is empty");
    } else if (provider == FZ_PROVIDER_S3 || provider == FZ_PROVIDER_GCS) {
        const char *name = provider == FZ_PROVIDER_S3 ? "s3" : "gs";
        fz_str full = fz_arena_printf(reader->arena, "%s://%.*s", name, FZ_STR_ARGS(text));
        (void)uri_location(reader, path, node, full, strlen(name), out);
    } else if (provider == FZ_PROVIDER_AZURE) {
        fz_conf_reader_fault(reader, node, path,
                             "\"%.*s\" is not a location, wanted "
                             "abfss://container@account.dfs.core.windows.net/path",
                             FZ_STR_ARGS(fz_str_slice(text, 0, 200)));
    } else {
        *out = file_location(reader, node, text);
    }
}

static bool text_print(const void *field, fz_conf_writer *writer) {
    const fz_str *text = field;
    fz_buf_append_byte(writer->out, ' ');
    fz_conf_scalar_write(writer->out, *text);
    fz_buf_append_byte(writer->out, '\n');
    return text->size > 0;
}

static bool masked_print(const void *field, fz_conf_writer *writer) {
    const fz_str *text = field;
    fz_buf_append_byte(writer->out, ' ');
    fz_conf_masked_write(writer->out, *text);
    fz_buf_append_byte(writer->out, '\n');
    return text->size > 0;
}

static void bucket_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        void *field, void *block) {
    fz_config_storage *storage = block;
    fz_str *bucket = field;
    location_read(reader, path, node, storage->provider, bucket);
    size_t colon = fz_str_find_str(*bucket, FZ_STR("://"));
    for (size_t i = 0; colon != SIZE_MAX && i < FZ_COUNT(schemes); i++) {
        bool same = fz_str_equal(fz_str_slice(*bucket, 0, colon), fz_str_from(schemes[i].name));
        if (same && schemes[i].provider != FZ_PROVIDER_AUTO &&
            storage->provider != FZ_PROVIDER_AUTO && storage->provider != schemes[i].provider) {
            fz_conf_reader_fault(reader, node, path,
                                 "\"%s://\" does not belong to the provider that is named",
                                 schemes[i].name);
        }
    }
}

static bool is_rest(fz_config_catalog_type type) {
    return type == FZ_CATALOG_REST || type == FZ_CATALOG_POLARIS || type == FZ_CATALOG_UNITY;
}

static void warehouse_read(fz_conf_reader *reader, const fz_conf_path *path,
                           const fz_conf_node *node, void *field, void *block) {
    const fz_config_catalog *catalog = block;
    fz_str *warehouse = field;
    if (!is_rest(catalog->type)) {
        location_read(reader, path, node, FZ_PROVIDER_AUTO, warehouse);
    } else if (node->place != reader->default_place || node->line > 0) {
        (void)fz_conf_text_read(reader, path, node, warehouse); // a name that the server knows
    }
}

/** `sqlite:///relative.db` absolute, `postgresql+driver://` without its driver. */
static void sql_uri_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                         fz_str text, fz_str *out) {
    size_t colon = fz_str_find_str(text, FZ_STR("://"));
    fz_str name = colon == SIZE_MAX ? (fz_str){0} : fz_str_slice(text, 0, colon);
    fz_str rest = colon == SIZE_MAX ? (fz_str){0} : fz_str_slice(text, colon + 3, text.size);
    size_t plus = fz_str_find(name, '+', 0);
    name = plus == SIZE_MAX ? name : fz_str_slice(name, 0, plus); // SQLAlchemy's driver
    if (fz_str_equal(name, FZ_STR("sqlite")) && rest.size > 1 && rest.data[0] == '/') {
        fz_str file = fz_str_slice(rest, 1, rest.size);
        if (!fz_str_equal(file, FZ_STR(":memory:"))) {
            file = fz_conf_path_absolute(reader->arena, node->place, file);
        }
        *out = fz_arena_printf(reader->arena, "sqlite:///%.*s", FZ_STR_ARGS(file));
    } else if ((fz_str_equal(name, FZ_STR("postgresql")) ||
                fz_str_equal(name, FZ_STR("postgres"))) &&
               rest.size) {
        *out = fz_arena_printf(reader->arena, "postgresql://%.*s", FZ_STR_ARGS(rest));
    } else {
        fz_conf_reader_fault(reader, node, path,
                             "this is not the address of an SQL catalog, wanted sqlite:///file.db, "
                             "sqlite:////absolute/file.db or postgresql://user@host/database");
    }
}

static void catalog_uri_read(fz_conf_reader *reader, const fz_conf_path *path,
                             const fz_conf_node *node, void *field, void *block) {
    const fz_config_catalog *catalog = block;
    fz_str *uri = field;
    fz_str text;
    if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    }
    if (catalog->type == FZ_CATALOG_SQL) {
        sql_uri_read(reader, path, node, text, uri);
    } else if (catalog->type == FZ_CATALOG_DIRECTORY) {
        fz_conf_reader_fault(reader, node, path,
                             "a DIRECTORY catalog has no address, its place is \"warehouse\"");
    } else if (fz_conf_http_check(text)) {
        fz_conf_reader_fault(reader, node, path, "this %s", fz_conf_http_check(text));
    } else {
        *uri = text;
    }
}

const fz_conf_custom fz_conf_bucket = {"location", bucket_read, text_print};
const fz_conf_custom fz_conf_warehouse = {"location", warehouse_read, text_print};
const fz_conf_custom fz_conf_catalog_uri = {"address", catalog_uri_read, masked_print};
