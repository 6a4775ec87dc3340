// SPDX-License-Identifier: Apache-2.0
// Deleting what only expired snapshots reach: candidates from them, less all that is kept.
#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"
#include "flow/maintain/reach.h"

/** A manifest that a snapshot lists, and what is needed to read it. */
typedef struct clean {
    const fz_maintain_options *options;
    const fz_iceberg_metadata *before;
    const fz_iceberg_metadata *after;
    fz_maintain_report *report;
    fz_arena arena;
    fz_map lists;     // paths that only expired snapshots have
    fz_map manifests; // candidates: path -> fz_iceberg_manifest
    fz_map kept;      // path -> fz_iceberg_manifest
    fz_map files;     // candidates: path -> anything
    int64_t newest;   // greatest data sequence number of a candidate file
} clean;

static fz_iceberg_manifest *copy_manifest(clean *c, const fz_iceberg_manifest *from) {
    fz_iceberg_manifest *copy = FZ_ARENA_NEW(&c->arena, fz_iceberg_manifest);
    *copy = *from;
    copy->path = fz_arena_str(&c->arena, from->path);
    copy->partitions = NULL;
    copy->partition_count = 0;
    copy->key_metadata = (fz_str){0};
    return copy;
}

/** Manifests of expired snapshots that main does not list. */
static fz_code gather_candidates(clean *c, fz_err *err) {
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(c->before); i++) {
        fz_iceberg_snapshot snapshot, still;
        fz_iceberg_metadata_snapshot_at(c->before, i, &snapshot);
        if (fz_iceberg_metadata_snapshot(c->after, snapshot.snapshot_id, &still)) {
            continue;
        }
        fz_arena arena = {0};
        fz_iceberg_list list = {0};
        fz_code code = fz_reach_list(c->options, &snapshot, &arena, &list, err);
        for (size_t k = 0; k < list.count; k++) {
            const fz_iceberg_manifest *m = &list.manifests[k];
            if (!fz_map_find(&c->kept, m->path) && !fz_map_find(&c->manifests, m->path)) {
                (void)fz_map_put(&c->manifests, m->path, copy_manifest(c, m));
            }
        }
        fz_arena_deinit(&arena);
        if (code != FZ_OK && code != FZ_NOT_FOUND) {
            return code;
        }
        if (snapshot.manifest_list.size > 0) {
            (void)fz_map_put(&c->lists, snapshot.manifest_list, c);
        }
    }
    return FZ_OK;
}

static fz_code keep_snapshot(clean *c, const fz_iceberg_snapshot *snapshot, fz_err *err) {
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_code code = fz_reach_list(c->options, snapshot, &arena, &list, err);
    for (size_t i = 0; i < list.count && code == FZ_OK; i++) {
        const fz_iceberg_manifest *m = &list.manifests[i];
        if (!fz_map_find(&c->kept, m->path)) {
            fz_iceberg_manifest *copy = copy_manifest(c, m);
            (void)fz_map_put(&c->kept, m->path, copy);
            (void)fz_map_remove(&c->manifests, m->path);
        }
    }
    (void)fz_map_remove(&c->lists, snapshot->manifest_list);
    fz_arena_deinit(&arena);
    return code;
}

/** Take what kept snapshots list off the candidates, newest first; all of them only while some are
 * left. */
static fz_code subtract_manifests(clean *c, fz_err *err) {
    for (size_t i = fz_iceberg_metadata_snapshot_count(c->after); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(c->after, i, &snapshot);
        if (c->manifests.count == 0) {
            (void)fz_map_remove(&c->lists, snapshot.manifest_list);
            continue;
        }
        FZ_TRY(keep_snapshot(c, &snapshot, err));
        if (fz_reach_stopped(c->options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    }
    return FZ_OK;
}

static fz_code add_candidate(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    clean *c = (clean *)context;
    (void)fz_map_put(&c->files, entry->file.path, c);
    if (entry->sequence_number > c->newest) {
        c->newest = entry->sequence_number;
    }
    return FZ_OK;
}

static fz_code subtract_entry(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    if (entry->status != FZ_ICEBERG_DELETED) {
        (void)fz_map_remove(&((clean *)context)->files, entry->file.path);
    }
    return FZ_OK;
}

static fz_code subtract_files(clean *c, fz_err *err) {
    for (size_t i = 0; i < c->kept.count && c->files.count > 0; i++) {
        const fz_iceberg_manifest *m = (const fz_iceberg_manifest *)c->kept.entries[i].value;
        if (m->min_sequence_number > c->newest || (m->added_files == 0 && m->existing_files == 0)) {
            continue; // all it has came later, or it has none
        }
        FZ_TRY(fz_reach_entries(c->options, c->after, m, subtract_entry, c, err));
        if (fz_reach_stopped(c->options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    }
    return FZ_OK;
}

static fz_code gather_files(clean *c, fz_err *err) {
    for (size_t i = 0; i < c->manifests.count; i++) {
        const fz_iceberg_manifest *m = (const fz_iceberg_manifest *)c->manifests.entries[i].value;
        fz_code code = fz_reach_entries(c->options, c->before, m, add_candidate, c, err);
        if (code != FZ_OK && code != FZ_NOT_FOUND) {
            return code;
        }
    }
    return FZ_OK;
}

static bool names(const json_t *array, fz_str path) {
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item) {
        if (fz_str_equal(fz_json_str_or(item, "statistics-path"), path)) {
            return true;
        }
    }
    return false;
}

static void remove_statistics(clean *c, const char *member) {
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(c->before->root, member), index, item) {
        fz_str path = fz_json_str_or(item, "statistics-path");
        if (path.size > 0 && !names(json_object_get(c->after->root, member), path)) {
            fz_reach_remove(c->options, "statistics", path, &c->report->statistics_deleted,
                            c->report);
        }
    }
}

static void remove_all(clean *c) {
    for (size_t i = 0; i < c->files.count; i++) {
        fz_reach_remove(c->options, "data file", c->files.entries[i].key,
                        &c->report->data_files_deleted, c->report);
    }
    for (size_t i = 0; i < c->manifests.count; i++) {
        fz_reach_remove(c->options, "manifest", c->manifests.entries[i].key,
                        &c->report->manifests_deleted, c->report);
    }
    for (size_t i = 0; i < c->lists.count; i++) {
        fz_reach_remove(c->options, "manifest list", c->lists.entries[i].key,
                        &c->report->lists_deleted, c->report);
    }
    remove_statistics(c, "statistics");
    remove_statistics(c, "partition-statistics");
}

static fz_code find_all(clean *c, fz_err *err) {
    fz_iceberg_snapshot main;
    if (fz_iceberg_metadata_main(c->after, &main)) {
        FZ_TRY(keep_snapshot(c, &main, err)); // nearly everything is there
    }
    FZ_TRY(gather_candidates(c, err));
    FZ_TRY(subtract_manifests(c, err));
    FZ_TRY(gather_files(c, err));
    return subtract_files(c, err);
}

fz_code fz_reach_clean(const fz_maintain_options *options, const fz_iceberg_metadata *before,
                       const fz_iceberg_metadata *after, fz_maintain_report *report, fz_err *err) {
    clean c = {.options = options, .before = before, .after = after, .report = report};
    fz_code code = find_all(&c, err);
    if (code == FZ_OK) {
        remove_all(&c);
    }
    fz_map_deinit(&c.lists);
    fz_map_deinit(&c.manifests);
    fz_map_deinit(&c.kept);
    fz_map_deinit(&c.files);
    fz_arena_deinit(&c.arena);
    return code;
}
