// SPDX-License-Identifier: Apache-2.0
// A table of the world of commits that is maintained.
#ifndef FZ_TESTS_UNIT_FLOW_MAINTAIN_KEEP_H
#define FZ_TESTS_UNIT_FLOW_MAINTAIN_KEEP_H

#include "flow/maintain/reach.h"
#include "unit/table/commit/foreign.h"

#define OK(call) assert_int_equal((call), FZ_OK)

static inline fz_maintain_options keep_options(world *w) {
    fz_maintain_options options = {.table = w->table, .files = {.compression = {.by_table = true}}};
    options.table.store = w->lake; // removals are what is tested here
    options.config =
        (fz_config_maintenance){.enabled = true,
                                .compaction = {true, 600000, 8, 75},
                                .expire_snapshots = {true, 3600000, 7 * 86400000LL, 1000, 1},
                                .remove_orphans = {true, 86400000, 3 * 86400000LL},
                                .rewrite_manifests = {true, 3600000, 100, 8 << 20}};
    return options;
}

static inline fz_maintain_report must_do(const fz_maintain_options *options, fz_maintain_job job) {
    fz_maintain_report report = {0};
    fz_err err = {0};
    if (fz_maintain_do(job, options, &report, &err) != FZ_OK) {
        fail_msg("%s: %s", fz_maintain_job_name(job), err.text);
    }
    return report;
}

/** Each entry of a snapshot that is not deleted. */
static inline void each_kept(world *w, const fz_iceberg_snapshot *snapshot, fz_reach_entry_fn each,
                             void *context) {
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_err err = {0};
    fz_maintain_options options = keep_options(w);
    if (fz_reach_list(&options, snapshot, &arena, &list, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (fz_reach_entries(&options, w->pointer->now, &list.manifests[i], each, context, &err) !=
            FZ_OK) {
            fail_msg("%s", err.text);
        }
    }
    fz_arena_deinit(&arena);
}

static fz_code see_file(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    world *w = (world *)context;
    fz_str key;
    fz_object object;
    OK(fz_store_key(w->lake, entry->file.path, &key, NULL));
    if (entry->status != FZ_ICEBERG_DELETED &&
        fz_store_stat(w->lake, key, &object, NULL) != FZ_OK) {
        fail_msg("listed file %.*s is gone", FZ_STR_ARGS(entry->file.path));
    }
    return FZ_OK;
}

/** Every snapshot that is listed can be read in full (T211). */
static inline void check_all_snapshots(world *w) {
    const fz_iceberg_metadata *now = w->pointer->now;
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(now); i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(now, i, &snapshot);
        each_kept(w, &snapshot, see_file, w);
    }
}

static inline size_t count_objects(world *w, const char *prefix) {
    size_t count = 0;
    fz_page page = {0};
    char *after = fz_str_dup(FZ_STR(""));
    do {
        OK(fz_store_list(w->lake, fz_str_from(prefix), fz_str_from(after), &page, NULL));
        count += page.objects.count;
        if (page.objects.count > 0) {
            fz_free(after);
            after = fz_str_dup(page.objects.data[page.objects.count - 1].key);
        }
    } while (page.more);
    fz_free(after);
    fz_page_deinit(&page);
    return count;
}

static inline size_t main_manifests(world *w) {
    fz_iceberg_snapshot main;
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_maintain_options options = keep_options(w);
    assert_true(fz_iceberg_metadata_main(w->pointer->now, &main));
    OK(fz_reach_list(&options, &main, &arena, &list, NULL));
    fz_arena_deinit(&arena);
    return list.count;
}

#endif
