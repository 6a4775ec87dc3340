// SPDX-License-Identifier: Apache-2.0
// The stores that a catalog's metadata files lie in, opened when first needed.
#ifndef FZ_TABLE_CATALOG_STORES_H
#define FZ_TABLE_CATALOG_STORES_H

#include "base/thread.h"
#include "base/vec.h"
#include "io/store/store.h"

/** Open the store of a location ("s3://bucket/path"), rooted there; the caller owns it. Any thread.
 */
typedef fz_code (*fz_catalog_store_fn)(void *context, fz_str location, fz_store **out, fz_err *err);

/** Any thread. */
typedef struct fz_catalog_stores {
    fz_catalog_store_fn open;
    void *context;
    fz_mutex mutex;
    FZ_VEC(fz_store *) stores;
} fz_catalog_stores;

void fz_catalog_stores_init(fz_catalog_stores *stores, fz_catalog_store_fn open, void *context);
void fz_catalog_stores_deinit(fz_catalog_stores *stores);
/**
 * The store that holds `uri`, and the key there (a view into uri).
 *
 * root  where to open one if none holds it: a warehouse or a table's location above uri
 * out   borrowed, lives as long as `stores`
 * Errors: INVALID uri is not below root; what the opener answers.
 */
FZ_CHECKED fz_code fz_catalog_stores_find(fz_catalog_stores *stores, fz_str uri, fz_str root,
                                          fz_store **out, fz_str *key, fz_err *err);
/** The folder two levels above a metadata file, its table's location in the usual layout; a view.
 */
fz_str fz_catalog_stores_table_root(fz_str metadata_location);

#endif
