// SPDX-License-Identifier: Apache-2.0
// Many small manifests become few: planning and scans read them all.
#include <stdio.h>

#include "base/rand.h"
#include "flow/maintain/reach.h"
#include "flow/maintain/replace.h"

/** Rounds against foreign changes to what was planned. */
#define ROUNDS_MAX 5

static fz_code read_uri(void *context, fz_str uri, fz_buf *out, fz_err *err) {
    return fz_reach_read((const fz_maintain_options *)context, uri, out, err);
}

/** The manifests of main. */
typedef struct census {
    int64_t count;
    int64_t estimate; // after merging
    bool wanted;
} census;

static void take_census(const fz_maintain_options *options, const fz_iceberg_rewrite *rewrite,
                        const fz_iceberg_list *list, census *out) {
    int64_t target = options->config.rewrite_manifests.target_size;
    int64_t small = 0, bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->manifests[i].size_bytes <= target / 2) {
            small++;
            bytes += list->manifests[i].size_bytes;
        }
    }
    out->count = (int64_t)list->count;
    out->estimate = out->count - small + (bytes + target - 1) / target;
    out->wanted = fz_iceberg_rewrite_wanted(rewrite, list, NULL);
}

static fz_code count_manifests(const fz_maintain_options *options,
                               const fz_iceberg_metadata *metadata,
                               const fz_iceberg_rewrite *rewrite, census *out, fz_err *err) {
    fz_iceberg_snapshot main;
    *out = (census){0};
    if (!fz_iceberg_metadata_main(metadata, &main)) {
        return FZ_OK;
    }
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_code code = fz_reach_list(options, &main, &arena, &list, err);
    if (code == FZ_OK) {
        take_census(options, rewrite, &list, out);
    }
    fz_arena_deinit(&arena);
    return code;
}

static fz_code merge_once(const fz_maintain_options *options, const fz_iceberg_metadata *base,
                          fz_iceberg_rewrite *rewrite, fz_str commit, fz_maintain_report *report,
                          fz_err *err) {
    census before, after;
    FZ_TRY(count_manifests(options, base, rewrite, &before, err));
    if (!before.wanted) {
        (void)snprintf(report->skipped, sizeof report->skipped, "%lld manifests: nothing to merge",
                       (long long)before.count);
        return FZ_OK;
    }
    if (options->dry_run) {
        report->manifests_before += before.count;
        report->manifests_after += before.estimate;
        return FZ_OK;
    }
    fz_iceberg_append *none = fz_iceberg_append_new(commit);
    const fz_replace replace = {.rewrite = rewrite,
                                .added = none,
                                .uuid = fz_iceberg_metadata_uuid(base),
                                .commit = commit,
                                .reason = FZ_STR("rewrite manifests")};
    bool sent;
    fz_code code = fz_replace_commit(options, &replace, report, &sent, err);
    fz_iceberg_append_free(none);
    FZ_TRY(code);
    fz_iceberg_metadata *now = NULL;
    FZ_TRY(fz_catalog_load(options->table.catalog, options->table.name, &now, err));
    code = count_manifests(options, now, rewrite, &after, err);
    fz_iceberg_metadata_unref(now);
    report->manifests_before += before.count;
    report->manifests_after += after.count;
    return code;
}

fz_code fz_maintain_manifests(const fz_maintain_options *options, fz_maintain_report *report,
                              fz_err *err) {
    fz_code code = FZ_CONFLICT;
    for (int i = 0; i < ROUNDS_MAX && code == FZ_CONFLICT; i++) {
        char commit[37];
        fz_rand_uuid(commit);
        const fz_iceberg_rewrite_options how = {
            .uuid = fz_str_from(commit),
            .read = read_uri,
            .context = (void *)options,
            .merge = true,
            .target_size = options->config.rewrite_manifests.target_size,
            .min_count = options->thorough ? 2 : options->config.rewrite_manifests.min_count};
        fz_iceberg_metadata *base = NULL;
        fz_commit_state *position = NULL;
        FZ_TRY(fz_reach_load(options, &base, &position, err));
        fz_commit_state_free(position);
        fz_iceberg_rewrite *rewrite = fz_iceberg_rewrite_new(&how);
        code = merge_once(options, base, rewrite, fz_str_from(commit), report, err);
        fz_iceberg_rewrite_free(rewrite);
        fz_iceberg_metadata_unref(base);
    }
    return code;
}
