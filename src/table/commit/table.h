// SPDX-License-Identifier: Apache-2.0
// An open table: its catalog, its store, how it is created and where it stands.
#ifndef FZ_TABLE_COMMIT_TABLE_H
#define FZ_TABLE_COMMIT_TABLE_H

#include "base/clock.h"
#include "base/log.h"
#include "io/store/store.h"
#include "table/catalog/catalog.h"
#include "table/commit/state.h"

/** Everything is borrowed and outlives it. */
typedef struct fz_commit_table {
    fz_catalog *catalog;
    fz_catalog_name name;
    fz_store *store; // data and metadata files of the table are below its root
    fz_clock *clock;
    fz_str instance; // of this process, random: goes into states and file names
} fz_commit_table;

/** How a position was found. */
typedef enum fz_commit_proof {
    FZ_COMMIT_ANCESTOR, // own snapshot in the chain of main
    FZ_COMMIT_OLDER,    // the same, through older metadata files
    FZ_COMMIT_CONTENT,  // greatest offsets in the table are the last rows of the state
} fz_commit_proof;

/**
 * Greatest _kafka.offset of each partition in the table, -1 where it has no row; asked for content
 * proof (R6). NOT_FOUND, UNSUPPORTED, INVALID, CORRUPT: nothing is proven (suspend); others: try
 * again.
 */
typedef fz_code (*fz_commit_content_fn)(void *context, const fz_iceberg_metadata *metadata,
                                        const fz_commit_source *source,
                                        int64_t *greatest /* [known] */, fz_err *err);

/**
 * The position of a table: protocol.md 5.3, R5-R7. Reads older metadata files from the store where
 * the chain is cut.
 *
 * content  NULL: a cut chain without older metadata is watermark_missing
 * out      free it; *proof may be NULL. out->rolled_back tells that own commits were taken out of
 * main, newest of them out->abandoned: `on_rollback: suspend` stops there
 *
 * Errors: INVALID with kind replaced, cherry_pick or watermark_missing (suspend), its text naming
 * both sides; NOT_FOUND a table without state and without snapshots (not ours yet); EXISTS kind
 * watermark_missing one with snapshots that was never ours; UNAVAILABLE, DENIED, IO: older metadata
 * could not be asked, try again.
 */
FZ_CHECKED fz_code fz_commit_position(const fz_commit_table *table,
                                      const fz_iceberg_metadata *metadata,
                                      fz_commit_content_fn content, void *context,
                                      fz_commit_state **out, fz_commit_proof *proof, fz_err *err);

/** How a new table is to be. */
typedef struct fz_commit_create_options {
    const fz_schema *schema;
    const fz_partition_spec *spec;
    const fz_sort_order *order;
    fz_str location; // wanted; exact: it must be empty of other metadata
    bool exact;      // false: `-<8 hex>` is added when something is there already
    const json_t *properties;
    int format_version;
    const fz_commit_source *source; // the resolved start of every partition (R13)
    const struct fz_commit_options
        *commit; // stop, log and waits of the first snapshot; NULL: defaults
} fz_commit_create_options;

/**
 * Create the table with its state from the first instant, then commit the empty own snapshot (R13,
 * protocol.md 5.6). Exists already: loaded, waited for (60 s) and then completed; the caller asks
 * for its position and compares the route.
 *
 * out  metadata after it; its uuid, field ids and location may be those of somebody else's creation
 * Errors: INVALID kind table_incompatible the exact location is taken; DENIED; UNAVAILABLE;
 * CANCELLED told to stop.
 */
FZ_CHECKED fz_code fz_commit_create(const fz_commit_table *table,
                                    const fz_commit_create_options *options,
                                    fz_iceberg_metadata **out, fz_err *err);

#endif
