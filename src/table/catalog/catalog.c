// SPDX-License-Identifier: Apache-2.0
// The wrappers of the catalog interface: they check names and answer for what is missing.
#include "table/catalog/catalog.h"

#define NAME_SIZE_MAX 255

static fz_code missing(const fz_catalog *catalog, const char *call, fz_err *err) {
    return fz_err_set(err, FZ_UNSUPPORTED, "the %s catalog has no %s", catalog->ops->name, call);
}

static fz_code check_space(fz_str space, fz_err *err) {
    if (space.size == 0 || space.size > NAME_SIZE_MAX || memchr(space.data, 0, space.size)) {
        return fz_err_set(err, FZ_INVALID,
                          "namespace \"%.*s\" must have 1 to %d bytes and no zero byte",
                          FZ_STR_ARGS(fz_str_slice(space, 0, 100)), NAME_SIZE_MAX);
    }
    return FZ_OK;
}

static fz_code check_name(fz_catalog_name name, fz_err *err) {
    FZ_TRY(check_space(name.space, err));
    if (name.table.size == 0 || name.table.size > NAME_SIZE_MAX ||
        memchr(name.table.data, 0, name.table.size)) {
        return fz_err_set(err, FZ_INVALID,
                          "table name \"%.*s\" must have 1 to %d bytes and no zero byte",
                          FZ_STR_ARGS(fz_str_slice(name.table, 0, 100)), NAME_SIZE_MAX);
    }
    return FZ_OK;
}

fz_code fz_catalog_list_namespaces(fz_catalog *catalog, fz_catalog_name_fn each, void *context,
                                   fz_err *err) {
    return catalog->ops->list_namespaces
               ? catalog->ops->list_namespaces(catalog, each, context, err)
               : missing(catalog, "list of namespaces", err);
}

fz_code fz_catalog_create_namespace(fz_catalog *catalog, fz_str space, fz_err *err) {
    FZ_TRY(check_space(space, err));
    return catalog->ops->create_namespace ? catalog->ops->create_namespace(catalog, space, err)
                                          : missing(catalog, "creation of namespaces", err);
}

fz_code fz_catalog_list(fz_catalog *catalog, fz_str space, fz_catalog_name_fn each, void *context,
                        fz_err *err) {
    FZ_TRY(check_space(space, err));
    return catalog->ops->list ? catalog->ops->list(catalog, space, each, context, err)
                              : missing(catalog, "list of tables", err);
}

fz_code fz_catalog_load(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                        fz_err *err) {
    FZ_TRY(check_name(name, err));
    return catalog->ops->load ? catalog->ops->load(catalog, name, out, err)
                              : missing(catalog, "load", err);
}

fz_code fz_catalog_locate(fz_catalog *catalog, fz_catalog_name name, fz_buf *out, fz_err *err) {
    FZ_TRY(check_name(name, err));
    return catalog->ops->locate ? catalog->ops->locate(catalog, name, out, err)
                                : missing(catalog, "default location", err);
}

fz_code fz_catalog_create(fz_catalog *catalog, fz_catalog_name name,
                          const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                          fz_err *err) {
    FZ_TRY(check_name(name, err));
    FZ_ASSERT(initial && out);
    return catalog->ops->create ? catalog->ops->create(catalog, name, initial, out, err)
                                : missing(catalog, "create", err);
}

fz_code fz_catalog_commit(fz_catalog *catalog, fz_catalog_name name,
                          const fz_iceberg_metadata *base, const json_t *requirements,
                          const json_t *updates, fz_iceberg_metadata **out, fz_err *err) {
    FZ_TRY(check_name(name, err));
    FZ_ASSERT(base && out);
    return catalog->ops->commit
               ? catalog->ops->commit(catalog, name, base, requirements, updates, out, err)
               : missing(catalog, "commit", err);
}

fz_code fz_catalog_drop(fz_catalog *catalog, fz_catalog_name name, fz_err *err) {
    FZ_TRY(check_name(name, err));
    return catalog->ops->drop ? catalog->ops->drop(catalog, name, err)
                              : missing(catalog, "drop", err);
}

fz_code fz_catalog_register(fz_catalog *catalog, fz_catalog_name name, fz_str metadata_location,
                            fz_err *err) {
    FZ_TRY(check_name(name, err));
    return catalog->ops->register_table
               ? catalog->ops->register_table(catalog, name, metadata_location, err)
               : missing(catalog, "register", err);
}

fz_code fz_catalog_rename(fz_catalog *catalog, fz_catalog_name from, fz_catalog_name to,
                          fz_err *err) {
    FZ_TRY(check_name(from, err));
    FZ_TRY(check_name(to, err));
    return catalog->ops->rename ? catalog->ops->rename(catalog, from, to, err)
                                : missing(catalog, "rename", err);
}

void fz_catalog_free(fz_catalog *catalog) {
    if (catalog) {
        catalog->ops->free(catalog);
    }
}
