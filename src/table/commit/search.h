// SPDX-License-Identifier: Apache-2.0
// Snapshots of a table, those that only older metadata files still list too (protocol.md 5.3).
#ifndef FZ_TABLE_COMMIT_SEARCH_H
#define FZ_TABLE_COMMIT_SEARCH_H

#include "base/map.h"
#include "base/vec.h"
#include "table/commit/table.h"

/** An older metadata file, and the own snapshot whose state its properties are. */
typedef struct fz_commit_older {
    int64_t snapshot_id;
    fz_str location;
} fz_commit_older;

/** Grows back in time as far as it is asked. One thread. */
typedef struct fz_commit_search {
    const fz_commit_table *table;
    fz_arena arena;
    fz_map snapshots;            // by the bytes of the id: fz_iceberg_snapshot *
    fz_iceberg_metadata *now;    // the one loaded; a reference
    FZ_VEC(json_t *) references; // to snapshots of files that are gone from memory
    FZ_VEC(fz_commit_older) states;
    fz_iceberg_metadata *log_of; // whose metadata-log is being read
    fz_iceberg_metadata *oldest; // the last file that could be read
    size_t log_left;             // entries of the log not read yet, from the end
    size_t read;
} fz_commit_search;

void fz_commit_search_init(fz_commit_search *search, const fz_commit_table *table,
                           const fz_iceberg_metadata *metadata);
void fz_commit_search_deinit(fz_commit_search *search);
/** A snapshot among those known so far. */
bool fz_commit_search_known(const fz_commit_search *search, int64_t id, fz_iceberg_snapshot *out);
/**
 * A snapshot, in older metadata files if need be. Files that are gone or no metadata are passed
 * over.
 *
 * Errors: NOT_FOUND in none; UNAVAILABLE, DENIED, IO the store.
 */
FZ_CHECKED fz_code fz_commit_search_find(fz_commit_search *search, int64_t id,
                                         fz_iceberg_snapshot *out, fz_err *err);
/** The state that own snapshot `id` wrote, from an older metadata file. Errors: as above. */
FZ_CHECKED fz_code fz_commit_search_state(fz_commit_search *search, int64_t id,
                                          fz_commit_state **out, fz_err *err);

#endif
