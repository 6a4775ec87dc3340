// SPDX-License-Identifier: Apache-2.0
// Old snapshots go from the table, then the files that only they had.
#include "table/iceberg/expire.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/rand.h"
#include "flow/maintain/reach.h"
#include "table/commit/summary.h"

/** Tries against other writers; each loads and plans anew. */
#define ATTEMPTS_MAX 20

/** Snapshots from main down to the first own one: the position is found through them (R6). */
typedef struct chain {
    int64_t *ids;
    size_t count;
} chain;

static chain chain_make(const fz_iceberg_metadata *metadata, fz_str nonce, fz_arena *arena) {
    chain c = {
        .ids = FZ_ARENA_ARRAY(arena, int64_t, fz_iceberg_metadata_snapshot_count(metadata) + 1)};
    fz_iceberg_snapshot at;
    bool found = fz_iceberg_metadata_main(metadata, &at);
    while (found && c.count < fz_iceberg_metadata_snapshot_count(metadata)) {
        c.ids[c.count++] = at.snapshot_id;
        found = !fz_commit_summary_own(&at, nonce) &&
                fz_iceberg_metadata_snapshot(metadata, at.parent_id, &at);
    }
    return c;
}

static bool in_chain(void *context, int64_t snapshot_id) {
    const chain *c = (const chain *)context;
    for (size_t i = 0; i < c->count; i++) {
        if (c->ids[i] == snapshot_id) {
            return true;
        }
    }
    return false;
}

static void plan(const fz_maintain_options *options, const fz_iceberg_metadata *metadata,
                 fz_str nonce, fz_iceberg_expire_plan *out) {
    fz_arena arena = {0};
    chain protected = chain_make(metadata, nonce, &arena);
    const fz_iceberg_expire_options how = {.now_ms = fz_clock_wall_ms(options->table.clock),
                                           .max_age_ms =
                                               options->config.expire_snapshots.max_age_ms,
                                           .max_count = options->config.expire_snapshots.max_count,
                                           .min_count = options->config.expire_snapshots.min_count,
                                           .keep = in_chain,
                                           .context = &protected};
    fz_iceberg_expire_plan_make(metadata, &how, out);
    fz_arena_deinit(&arena);
}

static void tell(const fz_maintain_options *options, const fz_iceberg_expire_plan *p,
                 fz_maintain_report *report) {
    report->snapshots += (int64_t)p->snapshot_count;
    report->refs += (int64_t)p->ref_count;
    for (size_t i = 0; i < p->snapshot_count && options->each; i++) {
        char id[24];
        (void)snprintf(id, sizeof id, "%lld", (long long)p->snapshots[i]);
        options->each(options->each_context, "snapshot", fz_str_from(id));
    }
    for (size_t i = 0; i < p->ref_count && options->each; i++) {
        options->each(options->each_context, "ref", p->refs[i]);
    }
}

/** Is none of the planned snapshots listed any more? */
static bool all_gone(const fz_iceberg_expire_plan *p, const fz_iceberg_metadata *metadata) {
    fz_iceberg_snapshot ignored;
    for (size_t i = 0; i < p->snapshot_count; i++) {
        if (fz_iceberg_metadata_snapshot(metadata, p->snapshots[i], &ignored)) {
            return false;
        }
    }
    for (size_t i = 0; i < p->ref_count; i++) {
        if (json_object_get(json_object_get(metadata->root, "refs"), p->refs[i].data)) {
            return false;
        }
    }
    return true;
}

/**
 * Send the plan once. *after is the table after it when it was applied, else NULL: whatever the
 * answer, a load tells (R9, R10; an expiry adds nothing, so that applying it twice is the same).
 */
static fz_code send(const fz_maintain_options *options, const fz_iceberg_metadata *base,
                    const fz_iceberg_expire_plan *p, fz_iceberg_metadata **after,
                    fz_maintain_report *report, fz_err *err) {
    json_t *updates = fz_iceberg_expire_updates(p);
    json_t *requirements = fz_iceberg_expire_requirements(base);
    fz_iceberg_metadata *now = NULL;
    fz_code code = fz_catalog_commit(options->table.catalog, options->table.name, base,
                                     requirements, updates, &now, err);
    json_decref(updates);
    json_decref(requirements);
    report->conflicts += code == FZ_CONFLICT;
    if (code == FZ_OK && now && all_gone(p, now)) {
        *after = now;
        return FZ_OK;
    }
    fz_iceberg_metadata_unref(now);
    now = NULL;
    if (code == FZ_DENIED) {
        return code;
    }
    FZ_TRY(fz_catalog_load(options->table.catalog, options->table.name, &now, err));
    if (all_gone(p, now)) {
        *after = now;
        return FZ_OK;
    }
    bool unchanged = fz_str_equal(now->location, base->location);
    fz_iceberg_metadata_unref(now);
    return (code == FZ_INVALID || code == FZ_UNSUPPORTED) && unchanged ? code : FZ_OK;
}

/** What would be: the plan applied to a copy. */
static fz_code rehearse(const fz_maintain_options *options, const fz_iceberg_metadata *base,
                        const fz_iceberg_expire_plan *p, fz_iceberg_metadata **after, fz_err *err) {
    json_t *updates = fz_iceberg_expire_updates(p);
    fz_code code =
        fz_iceberg_update_apply(base, updates, fz_clock_wall_ms(options->table.clock), after, err);
    json_decref(updates);
    return code;
}

static fz_code clean_after(const fz_maintain_options *options, const fz_iceberg_metadata *base,
                           const fz_iceberg_metadata *after, fz_maintain_report *report,
                           fz_err *err) {
    fz_code code = fz_reach_clean(options, base, after, report, err);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "snapshots are expired, their files stay for orphan "
                                               "removal");
}

/** One look at the table; *done false: another writer was first, look again. */
static fz_code attempt(const fz_maintain_options *options, fz_maintain_report *report, bool *done,
                       fz_err *err) {
    fz_iceberg_metadata *base = NULL;
    fz_iceberg_metadata *after = NULL;
    fz_commit_state *position = NULL;
    fz_iceberg_expire_plan p = {0};
    FZ_TRY(fz_reach_load(options, &base, &position, err));
    *done = true;
    fz_code code = FZ_OK;
    if (!fz_reach_gc_disabled(base, report)) {
        plan(options, base, position->nonce, &p);
        if (p.snapshot_count > 0 || p.ref_count > 0) {
            code = options->dry_run ? rehearse(options, base, &p, &after, err)
                                    : send(options, base, &p, &after, report, err);
            *done = code != FZ_OK || after;
        }
        if (after) {
            tell(options, &p, report);
            code = clean_after(options, base, after, report, err);
        }
    }
    fz_iceberg_expire_plan_deinit(&p);
    fz_commit_state_free(position);
    fz_iceberg_metadata_unref(after);
    fz_iceberg_metadata_unref(base);
    return code;
}

fz_code fz_maintain_expire(const fz_maintain_options *options, fz_maintain_report *report,
                           fz_err *err) {
    bool done = false;
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        if (fz_reach_stopped(options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
        FZ_TRY(attempt(options, report, &done, err));
        if (done) {
            return FZ_OK;
        }
        fz_clock_sleep_ms(options->table.clock,
                          10 + (int64_t)fz_rand_below(40u << (i < 5 ? i : 5)));
    }
    return fz_err_set(err, FZ_CONFLICT, "other writers were faster %d times", ATTEMPTS_MAX);
}
