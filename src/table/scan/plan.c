// SPDX-License-Identifier: Apache-2.0
// Planning: manifest list to manifests to live files, leaving out what bounds rule out.
#include "table/scan/plan.h"

#include "base/memory.h"
#include "table/scan/prune.h"

#define METADATA_FILE_MAX ((size_t)1 << 30) // bytes of a manifest or a manifest list

struct fz_scan_plan {
    fz_scan_files files;
    fz_iceberg_metadata *metadata;
    fz_scan_plan_options options;
    fz_schema *schema; // current: types of ranges
    fz_arena arena;    // of the list
    fz_iceberg_list list;
    int content; // 1 delete manifests, then 0 data manifests
    size_t next;
    int64_t skipped;
    // the manifest at work
    fz_iceberg_manifest_reader *reader;
    const fz_iceberg_manifest *manifest;
    fz_buf bytes;
    fz_arena spec_arena;
    fz_partition_spec spec;
    fz_arena entry_arena;
    fz_iceberg_entry entry;
};

static fz_code find_in_one(void *context, fz_str uri, fz_store **store, fz_str *key, fz_err *err) {
    FZ_TRY(fz_store_key((fz_store *)context, uri, key, err));
    *store = (fz_store *)context;
    return FZ_OK;
}

fz_scan_files fz_scan_files_in(fz_store *store) {
    return (fz_scan_files){.find = find_in_one, .context = store};
}

static fz_code read_file(const fz_scan_plan *plan, fz_str uri, fz_buf *out, fz_err *err) {
    fz_store *store = NULL;
    fz_str key;
    FZ_TRY(plan->files.find(plan->files.context, uri, &store, &key, err));
    return fz_store_read_all(store, key, out, err);
}

// The list of the snapshot that is wanted; none is an empty one.
static fz_code read_list(fz_scan_plan *plan, fz_err *err) {
    fz_iceberg_snapshot snapshot;
    int64_t id = plan->options.snapshot_id;
    if (id == 0) {
        if (!fz_iceberg_metadata_main(plan->metadata, &snapshot)) {
            return FZ_OK;
        }
    } else if (!fz_iceberg_metadata_snapshot(plan->metadata, id, &snapshot)) {
        return fz_err_set(err, FZ_NOT_FOUND, "the table has no snapshot %lld", (long long)id);
    }
    if (snapshot.manifest_list.size == 0) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "snapshot %lld lists its manifests in the metadata file (version 1)",
                          (long long)snapshot.snapshot_id);
    }
    fz_buf bytes;
    fz_buf_init(&bytes, METADATA_FILE_MAX, plan->options.budget);
    fz_code code = read_file(plan, snapshot.manifest_list, &bytes, err);
    if (code == FZ_OK) {
        code = fz_iceberg_list_read(fz_buf_view(&bytes), &plan->arena, &plan->list, err);
    }
    fz_buf_deinit(&bytes);
    return code == FZ_OK
               ? FZ_OK
               : fz_err_prepend(err, "manifest list \"%.*s\"", FZ_STR_ARGS(snapshot.manifest_list));
}

fz_code fz_scan_plan_open(fz_scan_files files, fz_iceberg_metadata *metadata,
                          const fz_scan_plan_options *options, fz_scan_plan **out, fz_err *err) {
    fz_scan_plan *plan = (fz_scan_plan *)fz_calloc(1, sizeof(*plan));
    plan->files = files;
    plan->metadata = fz_iceberg_metadata_ref(metadata);
    plan->options = *options;
    plan->content = 1;
    fz_buf_init(&plan->bytes, METADATA_FILE_MAX, options->budget);
    fz_code code = fz_iceberg_metadata_schema(metadata, fz_iceberg_metadata_schema_id(metadata),
                                              &plan->schema, err);
    if (code == FZ_OK) {
        code = read_list(plan, err);
    }
    if (code != FZ_OK) {
        fz_scan_plan_free(plan);
        return code;
    }
    *out = plan;
    return FZ_OK;
}

static void close_manifest(fz_scan_plan *plan) {
    fz_iceberg_manifest_reader_free(plan->reader);
    plan->reader = NULL;
    fz_arena_deinit(&plan->spec_arena);
    fz_buf_reset(&plan->bytes);
}

void fz_scan_plan_free(fz_scan_plan *plan) {
    if (!plan) {
        return;
    }
    close_manifest(plan);
    fz_arena_deinit(&plan->entry_arena);
    fz_buf_deinit(&plan->bytes);
    fz_schema_unref(plan->schema);
    fz_iceberg_metadata_unref(plan->metadata);
    fz_arena_deinit(&plan->arena);
    fz_free(plan);
}

static fz_code open_manifest(fz_scan_plan *plan, fz_err *err) {
    const fz_iceberg_manifest *manifest = plan->manifest;
    FZ_TRY(fz_iceberg_metadata_spec(plan->metadata, manifest->spec_id, NULL, &plan->spec_arena,
                                    &plan->spec, err));
    if (!fz_scan_manifest_may_match(manifest, &plan->spec, plan->options.ranges,
                                    plan->options.range_count)) {
        plan->skipped++;
        return FZ_OK;
    }
    FZ_TRY(read_file(plan, manifest->path, &plan->bytes, err));
    return fz_iceberg_manifest_reader_open(fz_buf_view(&plan->bytes), manifest, &plan->spec,
                                           &plan->reader, err);
}

// Open the next manifest that may have live files; *found false at the end.
static fz_code next_manifest(fz_scan_plan *plan, bool *found, fz_err *err) {
    *found = false;
    while (!plan->reader) {
        if (plan->next == plan->list.count) {
            if (plan->content == 0) {
                return FZ_OK;
            }
            plan->content = 0;
            plan->next = 0;
            continue;
        }
        plan->manifest = &plan->list.manifests[plan->next++];
        if (plan->manifest->content != plan->content ||
            (plan->manifest->added_files == 0 && plan->manifest->existing_files == 0)) {
            continue;
        }
        close_manifest(plan);
        fz_code code = open_manifest(plan, err);
        if (code != FZ_OK) {
            close_manifest(plan);
            return fz_err_prepend(err, "manifest \"%.*s\"", FZ_STR_ARGS(plan->manifest->path));
        }
    }
    *found = true;
    return FZ_OK;
}

fz_code fz_scan_plan_next(fz_scan_plan *plan, const fz_iceberg_entry **out, fz_err *err) {
    for (;;) {
        bool found = false;
        FZ_TRY(next_manifest(plan, &found, err));
        if (!found) {
            *out = NULL;
            return FZ_OK;
        }
        fz_arena_deinit(&plan->entry_arena);
        fz_code code = fz_iceberg_manifest_reader_next(plan->reader, &plan->entry_arena,
                                                       &plan->entry, &found, err);
        if (code != FZ_OK) {
            return fz_err_prepend(err, "manifest \"%.*s\"", FZ_STR_ARGS(plan->manifest->path));
        }
        if (!found) {
            close_manifest(plan);
            continue;
        }
        const fz_iceberg_file *file = &plan->entry.file;
        if (plan->entry.status == FZ_ICEBERG_DELETED) {
            continue;
        }
        if (file->content != FZ_ICEBERG_DATA && !plan->options.deletes) {
            return fz_err_set(err, FZ_UNSUPPORTED,
                              "the table has deleted rows, which are not read yet: delete file "
                              "\"%.*s\"",
                              FZ_STR_ARGS(file->path));
        }
        if (file->content == FZ_ICEBERG_DATA &&
            !fz_scan_file_may_match(file, plan->schema, plan->options.ranges,
                                    plan->options.range_count)) {
            plan->skipped++;
            continue;
        }
        *out = &plan->entry;
        return FZ_OK;
    }
}

const fz_iceberg_list *fz_scan_plan_list(const fz_scan_plan *plan) {
    return &plan->list;
}

int64_t fz_scan_plan_skipped(const fz_scan_plan *plan) {
    return plan->skipped;
}
