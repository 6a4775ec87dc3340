// SPDX-License-Identifier: Apache-2.0
// What snapshots reach: manifest lists, manifests, data and delete files.
#ifndef FZ_FLOW_MAINTAIN_REACH_H
#define FZ_FLOW_MAINTAIN_REACH_H

#include "flow/maintain/hash_set.h"
#include "flow/maintain/maintain.h"

/** Largest manifest, list or metadata file that is read, bytes. */
#define FZ_REACH_FILE_MAX ((size_t)512 << 20)

/** Read an object named by its full URI. */
FZ_CHECKED fz_code fz_reach_read(const fz_maintain_options *options, fz_str uri, fz_buf *out,
                                 fz_err *err);
/** The manifests of a snapshot, in `arena`. NOT_FOUND: its list is gone. */
FZ_CHECKED fz_code fz_reach_list(const fz_maintain_options *options,
                                 const fz_iceberg_snapshot *snapshot, fz_arena *arena,
                                 fz_iceberg_list *out, fz_err *err);

typedef fz_code (*fz_reach_entry_fn)(void *context, const fz_iceberg_entry *entry, fz_err *err);
/** Call `each` for all entries of a manifest, deleted ones too; the entry is valid during the call.
 */
FZ_CHECKED fz_code fz_reach_entries(const fz_maintain_options *options,
                                    const fz_iceberg_metadata *metadata,
                                    const fz_iceberg_manifest *manifest, fz_reach_entry_fn each,
                                    void *context, fz_err *err);

/** Remove an object, told to options->each; failures are counted. Nothing is removed in a dry run.
 */
void fz_reach_remove(const fz_maintain_options *options, const char *what, fz_str uri,
                     int64_t *count, fz_maintain_report *report);

/**
 * Delete the files that `before` reaches and `after` does not: computed from all that is kept,
 * never from what an expired snapshot did (T211). Nothing is deleted when something that is kept
 * cannot be read.
 */
FZ_CHECKED fz_code fz_reach_clean(const fz_maintain_options *options,
                                  const fz_iceberg_metadata *before,
                                  const fz_iceberg_metadata *after, fz_maintain_report *report,
                                  fz_err *err);

/**
 * Add the keys of all that `metadata` reaches: itself, its log, statistics, lists, manifests,
 * files.
 *
 * lenient  what is not there is passed over (an abandoned line)
 */
FZ_CHECKED fz_code fz_reach_all(const fz_maintain_options *options,
                                const fz_iceberg_metadata *metadata, bool lenient,
                                fz_hash_set *keys, fz_err *err);

/** Load the table; its position must be found and nobody be needed (kind of the error). */
FZ_CHECKED fz_code fz_reach_load(const fz_maintain_options *options, fz_iceberg_metadata **out,
                                 fz_commit_state **position, fz_err *err);

/** gc.enabled=false: other tables or formats use the files. */
bool fz_reach_gc_disabled(const fz_iceberg_metadata *metadata, fz_maintain_report *report);

static inline bool fz_reach_stopped(const fz_maintain_options *options) {
    return options->stop && options->stop(options->stop_context);
}

#endif
