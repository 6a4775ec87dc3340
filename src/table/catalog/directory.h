// SPDX-License-Identifier: Apache-2.0
// A catalog that is only folders: <warehouse>/<namespace>/<table>/metadata/v<N>.metadata.json, put
// if absent.
#ifndef FZ_TABLE_CATALOG_DIRECTORY_H
#define FZ_TABLE_CATALOG_DIRECTORY_H

#include "base/clock.h"
#include "io/store/store.h"
#include "table/catalog/catalog.h"

/**
 * Tables as Hadoop's catalog lays them out, on a store that can put if absent. A table is at the
 * greatest N; the hint in metadata/version-hint.text only says where to start looking.
 *
 * store  of the warehouse, rooted there; taken (freed with the catalog)
 * clock  outlives the catalog
 *
 * Namespaces are there as long as they hold a table; tables lie where their name says and cannot be
 * renamed or registered; metadata is not compressed, since two spellings of one version would both
 * win.
 */
fz_catalog *fz_catalog_directory_new(fz_store *store, fz_clock *clock);

#endif
