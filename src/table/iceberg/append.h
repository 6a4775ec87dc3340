// SPDX-License-Identifier: Apache-2.0
// A new snapshot that adds data files, as requirements, updates and files to upload: pure, the
// catalog commits it.
#ifndef FZ_TABLE_ICEBERG_APPEND_H
#define FZ_TABLE_ICEBERG_APPEND_H

#include "data/file_metrics.h"
#include "table/iceberg/manifest.h"

/** A file that must be in the store before the commit is sent. */
typedef struct fz_iceberg_upload {
    fz_str path; // full URI
    fz_str bytes;
} fz_iceberg_upload;

/** What to commit. Zeroed is empty. */
typedef struct fz_iceberg_change {
    json_t *requirements;
    json_t *updates;
    fz_iceberg_upload *uploads; // views into the append and into `list`; the manifest list is last
    size_t upload_count;
    int64_t snapshot_id;
    int64_t sequence_number;
    int64_t timestamp_ms;
    fz_buf list;
    fz_arena arena;
} fz_iceberg_change;

void fz_iceberg_change_deinit(fz_iceberg_change *change);

/**
 * Files to be added (delete files too: the operation is then overwrite or delete), over all
 * attempts to commit them. One thread. Outlives the changes built from it.
 */
typedef struct fz_iceberg_append fz_iceberg_append;

/** uuid of the commit: names its manifests; 36 characters, copied. */
fz_iceberg_append *fz_iceberg_append_new(fz_str uuid);
void fz_iceberg_append_free(fz_iceberg_append *append);
/** Deep copy. Only before the first build. */
void fz_iceberg_append_add(fz_iceberg_append *append, const fz_iceberg_file *file);
size_t fz_iceberg_append_count(const fz_iceberg_append *append);
/** The files, in the order added. */
const fz_iceberg_file *fz_iceberg_append_at(const fz_iceberg_append *append, size_t index);

/** All uploads of the last build are in the store: later builds give out only what is new. */
void fz_iceberg_append_uploaded(fz_iceberg_append *append);

/** What a replace makes of the parent's manifests (rewrite.h builds it). Borrowed. */
typedef struct fz_iceberg_replaced {
    const fz_iceberg_manifest *manifests; // in the parent's stead: rewritten ones, then kept ones
    size_t count;
    size_t created;
    size_t gone;                    // manifests of the parent that are not kept
    const fz_iceberg_file *removed; // files that are no longer live
    size_t removed_count;
    const fz_iceberg_upload *uploads; // the created ones that are not in the store yet
    size_t upload_count;
} fz_iceberg_replaced;

/** Of one attempt. Zeroed but for now_ms is an empty or plain append. */
typedef struct fz_iceberg_append_options {
    int64_t now_ms;
    int64_t snapshot_id;   // 0: a new random one
    fz_str parent_list;    // bytes of the manifest list of base's main; empty when there is no main
                           // snapshot
    const json_t *summary; // object of texts added to the summary, may be NULL
    const json_t *schema;  // new current schema (Iceberg JSON, ids given), NULL: unchanged
    const json_t *properties; // object of texts to set, may be NULL
    const json_t *removals;   // array of property names to remove, may be NULL
    const json_t *updates;    // further updates put before the snapshot (add-spec...), may be NULL
    const fz_iceberg_replaced *replaced; // operation replace; NULL: the parent's manifests stay
} fz_iceberg_append_options;

/**
 * Build one attempt on `base`: manifests (once; one per spec id and
 * content, reused by later attempts),
 * manifest list with the parent's manifests carried over unread, snapshot, requirements.
 *
 * Errors: INVALID a spec id that base does not have, CORRUPT parent list, LIMIT.
 */
FZ_CHECKED fz_code fz_iceberg_append_build(fz_iceberg_append *append,
                                           const fz_iceberg_metadata *base,
                                           const fz_iceberg_append_options *options,
                                           fz_iceberg_change *out, fz_err *err);

/**
 * Fill the metrics of `out` (in `arena`) from what a writer counted, by the table's metrics modes
 * (write.metadata.metrics.*; formats.md 1.17): record_count, size, split offsets, counts and
 * bounds.
 */
void fz_iceberg_file_set_metrics(fz_iceberg_file *out, const fz_file_metrics *metrics,
                                 const fz_schema *schema, const fz_iceberg_metadata *metadata,
                                 fz_arena *arena);

#endif
