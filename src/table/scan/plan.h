// SPDX-License-Identifier: Apache-2.0
// The live files of a snapshot, one after the other, pruned by what is known of their values.
#ifndef FZ_TABLE_SCAN_PLAN_H
#define FZ_TABLE_SCAN_PLAN_H

#include "io/store/store.h"
#include "table/iceberg/manifest.h"

/** Where the files of a table are. */
typedef struct fz_scan_files {
    /**
     * The store of a full URI (not owned) and the key in it, a view into `uri`.
     * Errors: INVALID outside of every store that is known.
     */
    fz_code (*find)(void *context, fz_str uri, fz_store **store, fz_str *key, fz_err *err);
    void *context;
} fz_scan_files;

/** All files are in one store (borrowed). */
fz_scan_files fz_scan_files_in(fz_store *store);

/**
 * Only rows with a value from lower to upper are wanted: files that cannot have one are left out.
 * The rows of the other files are not looked at.
 */
typedef struct fz_scan_range {
    int32_t field_id; // primitive
    bool has_lower;
    bool has_upper;
    fz_value lower; // inclusive, of the field's type in the current schema
    fz_value upper;
} fz_scan_range;

typedef struct fz_scan_plan_options {
    int64_t snapshot_id;         // 0: of main; a table without one has no files
    const fz_scan_range *ranges; // all must hold; borrowed
    size_t range_count;
    bool deletes;      // give delete files too; false: UNSUPPORTED naming the first
    fz_budget *budget; // may be NULL
} fz_scan_plan_options;

/** One thread. */
typedef struct fz_scan_plan fz_scan_plan;

/**
 * Read the manifest list.
 *
 * files     copied; metadata a reference is kept
 * Errors: NOT_FOUND the snapshot or a file; UNSUPPORTED version 1 manifests inside metadata; what
 * the store and the manifests answer.
 */
FZ_CHECKED fz_code fz_scan_plan_open(fz_scan_files files, fz_iceberg_metadata *metadata,
                                     const fz_scan_plan_options *options, fz_scan_plan **out,
                                     fz_err *err);
/** NULL allowed. */
void fz_scan_plan_free(fz_scan_plan *plan);
/** The next live file (not of status DELETED), valid until the next call; NULL at the end. Delete
 * files come first. */
FZ_CHECKED fz_code fz_scan_plan_next(fz_scan_plan *plan, const fz_iceberg_entry **out, fz_err *err);
/** The snapshot's manifests, valid while the plan lives. */
const fz_iceberg_list *fz_scan_plan_list(const fz_scan_plan *plan);
/** Files left out so far for their bounds, and manifests for their summaries. */
int64_t fz_scan_plan_skipped(const fz_scan_plan *plan);

#endif
