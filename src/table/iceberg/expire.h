// SPDX-License-Identifier: Apache-2.0
// Which snapshots and refs are old enough to go: pure.
#ifndef FZ_TABLE_ICEBERG_EXPIRE_H
#define FZ_TABLE_ICEBERG_EXPIRE_H

#include "table/iceberg/update.h"

typedef struct fz_iceberg_expire_options {
    int64_t now_ms;
    int64_t max_age_ms; // older ones go
    int64_t
        max_count; // more are thinned: the newer half stays as it is, of the others one a time slot
    int64_t min_count; // so many of the newest stay, whatever their age
    /** Must this snapshot stay? NULL: no other than those that refs want. */
    bool (*keep)(void *context, int64_t snapshot_id);
    void *context;
} fz_iceberg_expire_options;

/** Zeroed is empty. */
typedef struct fz_iceberg_expire_plan {
    fz_arena arena;
    int64_t *snapshots; // oldest first
    size_t snapshot_count;
    fz_str *refs; // views into the metadata
    size_t ref_count;
    size_t kept;
} fz_iceberg_expire_plan;

void fz_iceberg_expire_plan_deinit(fz_iceberg_expire_plan *plan);

/**
 * Plan an expiry. What every branch and tag points at stays, and what a branch's own
 * min-snapshots-to-keep and max-snapshot-age-ms ask for; refs older than their max-ref-age-ms go
 * (never main). Slots are powers of two wide, so that thinning again keeps what was kept.
 *
 * Source: Iceberg specification, Snapshot Retention Policy.
 */
void fz_iceberg_expire_plan_make(const fz_iceberg_metadata *metadata,
                                 const fz_iceberg_expire_options *options,
                                 fz_iceberg_expire_plan *out);
/** Updates of the plan, new reference. */
json_t *fz_iceberg_expire_updates(const fz_iceberg_expire_plan *plan);
/** uuid and every ref as planned on, new reference. */
json_t *fz_iceberg_expire_requirements(const fz_iceberg_metadata *metadata);

#endif
