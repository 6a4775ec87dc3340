// SPDX-License-Identifier: Apache-2.0
// A snapshot with the same rows in other files or manifests: pure but for reading manifests.
#ifndef FZ_TABLE_ICEBERG_REWRITE_H
#define FZ_TABLE_ICEBERG_REWRITE_H

#include "table/iceberg/append.h"

/** Append a whole object to `out`. */
typedef fz_code (*fz_iceberg_read_fn)(void *context, fz_str uri, fz_buf *out, fz_err *err);

typedef struct fz_iceberg_rewrite_options {
    fz_str uuid;             // of the commit: names its manifests; 36 characters, copied
    fz_iceberg_read_fn read; // of manifests
    void *context;
    // merging of manifests
    bool merge;
    int64_t target_size; // bytes of a merged manifest
    int64_t min_count;   // small manifests of one spec and content that make it worthwhile
} fz_iceberg_rewrite_options;

/** Over all attempts to commit it. One thread. Outlives the changes built from it. */
typedef struct fz_iceberg_rewrite fz_iceberg_rewrite;

fz_iceberg_rewrite *fz_iceberg_rewrite_new(const fz_iceberg_rewrite_options *options);
/** NULL allowed. */
void fz_iceberg_rewrite_free(fz_iceberg_rewrite *rewrite);
/** A data file that the added ones take the place of; the path is copied. */
void fz_iceberg_rewrite_remove(fz_iceberg_rewrite *rewrite, fz_str path);
/** Would the manifests of a list be merged? `count` becomes how many (may be NULL). */
bool fz_iceberg_rewrite_wanted(const fz_iceberg_rewrite *rewrite, const fz_iceberg_list *list,
                               size_t *count);

/**
 * Build one attempt on `base`: every removed file must be live in it, and no rows be deleted by
 * delete files. Entries that are carried over are EXISTING with explicit numbers (T155), entries
 * deleted earlier are dropped, there is one manifest for each spec id and content at least. Merged
 * manifests are reused by later attempts as long as what they were made of is listed.
 *
 * added    files in the stead of the removed ones, may be empty
 * options  as for fz_iceberg_append_build; `replaced` is set here
 *
 * Errors: CONFLICT a removed file is no longer live, rows are deleted by delete files, or nothing
 * is left to merge: plan again; what `read` answers; CORRUPT; LIMIT.
 */
FZ_CHECKED fz_code fz_iceberg_rewrite_build(fz_iceberg_rewrite *rewrite, fz_iceberg_append *added,
                                            const fz_iceberg_metadata *base,
                                            const fz_iceberg_append_options *options,
                                            fz_iceberg_change *out, fz_err *err);

#endif
