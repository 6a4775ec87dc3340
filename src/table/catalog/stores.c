// SPDX-License-Identifier: Apache-2.0
// Keeps the stores of a catalog's metadata files open.
#include "table/catalog/stores.h"

void fz_catalog_stores_init(fz_catalog_stores *stores, fz_catalog_store_fn open, void *context) {
    *stores = (fz_catalog_stores){.open = open, .context = context};
    fz_mutex_init(&stores->mutex);
}

void fz_catalog_stores_deinit(fz_catalog_stores *stores) {
    for (size_t i = 0; i < stores->stores.count; i++) {
        fz_store_free(stores->stores.data[i]);
    }
    fz_vec_deinit(&stores->stores);
    fz_mutex_deinit(&stores->mutex);
}

static fz_code find_locked(fz_catalog_stores *stores, fz_str uri, fz_str root, fz_store **out,
                           fz_str *key, fz_err *err) {
    for (size_t i = 0; i < stores->stores.count; i++) {
        if (fz_store_key(stores->stores.data[i], uri, key, NULL) == FZ_OK) {
            *out = stores->stores.data[i];
            return FZ_OK;
        }
    }
    fz_store *store;
    FZ_TRY(stores->open(stores->context, root, &store, err));
    fz_code code = fz_store_key(store, uri, key, err);
    if (code != FZ_OK) {
        fz_store_free(store);
        return code;
    }
    fz_vec_push(&stores->stores, store);
    *out = store;
    return FZ_OK;
}

fz_code fz_catalog_stores_find(fz_catalog_stores *stores, fz_str uri, fz_str root, fz_store **out,
                               fz_str *key, fz_err *err) {
    fz_mutex_lock(&stores->mutex);
    fz_code code = find_locked(stores, uri, root, out, key, err);
    fz_mutex_unlock(&stores->mutex);
    return code;
}

fz_str fz_catalog_stores_table_root(fz_str metadata_location) {
    size_t end = metadata_location.size;
    for (int level = 0; level < 2 && end > 0; level++) {
        size_t slash = end;
        while (slash > 0 && metadata_location.data[slash - 1] != '/') {
            slash--;
        }
        end = slash > 0 ? slash - 1 : 0;
    }
    return fz_str_slice(metadata_location, 0, end);
}
