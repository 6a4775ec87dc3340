// SPDX-License-Identifier: Apache-2.0
// Reading what snapshots reach.
#include "flow/maintain/reach.h"

#include <stdio.h>

#include "base/memory.h"

fz_code fz_reach_read(const fz_maintain_options *options, fz_str uri, fz_buf *out, fz_err *err) {
    fz_str key;
    FZ_TRY(fz_store_key(options->table.store, uri, &key, err));
    return fz_store_read_all(options->table.store, key, out, err);
}

fz_code fz_reach_list(const fz_maintain_options *options, const fz_iceberg_snapshot *snapshot,
                      fz_arena *arena, fz_iceberg_list *out, fz_err *err) {
    if (snapshot->manifest_list.size == 0) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "snapshot %lld lists its manifests in the metadata file (version 1)",
                          (long long)snapshot->snapshot_id);
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, FZ_REACH_FILE_MAX, options->budget);
    fz_code code = fz_reach_read(options, snapshot->manifest_list, &bytes, err);
    if (code == FZ_OK) {
        code = fz_iceberg_list_read(fz_buf_view(&bytes), arena, out, err);
    }
    return code == FZ_OK
               ? FZ_OK
               : fz_err_prepend(err, "manifest list \"%.*s\"",
                                FZ_STR_ARGS(fz_str_slice(snapshot->manifest_list, 0, 400)));
}

static fz_code each_entry(fz_iceberg_manifest_reader *reader, fz_reach_entry_fn each, void *context,
                          fz_err *err) {
    fz_code code;
    bool found = true;
    do {
        fz_arena arena = {0};
        fz_iceberg_entry entry;
        code = fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, err);
        if (code == FZ_OK && found) {
            code = each(context, &entry, err);
        }
        fz_arena_deinit(&arena);
    } while (code == FZ_OK && found);
    return code;
}

fz_code fz_reach_entries(const fz_maintain_options *options, const fz_iceberg_metadata *metadata,
                         const fz_iceberg_manifest *manifest, fz_reach_entry_fn each, void *context,
                         fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, FZ_REACH_FILE_MAX, options->budget);
    fz_arena arena = {0};
    fz_partition_spec spec;
    fz_iceberg_manifest_reader *reader = NULL;
    fz_code code = fz_reach_read(options, manifest->path, &bytes, err);
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_spec(metadata, manifest->spec_id, NULL, &arena, &spec, err);
    }
    if (code == FZ_OK) {
        code = fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), manifest, &spec, &reader, err);
    }
    if (code == FZ_OK) {
        code = each_entry(reader, each, context, err);
    }
    fz_iceberg_manifest_reader_free(reader);
    fz_arena_deinit(&arena);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "manifest \"%.*s\"",
                                          FZ_STR_ARGS(fz_str_slice(manifest->path, 0, 400)));
}

void fz_reach_remove(const fz_maintain_options *options, const char *what, fz_str uri,
                     int64_t *count, fz_maintain_report *report) {
    fz_str key;
    if (fz_store_key(options->table.store, uri, &key, NULL) != FZ_OK) {
        return; // in another store: not ours to delete
    }
    if (options->each) {
        options->each(options->each_context, what, uri);
    }
    if (!options->dry_run && fz_store_remove(options->table.store, key, NULL) != FZ_OK) {
        report->not_deleted++;
    } else {
        ++*count;
    }
}

// --- everything that a metadata file reaches

typedef struct walk {
    const fz_maintain_options *options;
    fz_hash_set *keys;
    fz_hash_set manifests; // read already
    bool lenient;
} walk;

static void add_uri(walk *w, fz_str uri) {
    fz_str key;
    if (uri.size > 0 && fz_store_key(w->options->table.store, uri, &key, NULL) == FZ_OK) {
        (void)fz_hash_set_add(w->keys, key);
    }
}

static fz_code add_entry(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    walk *w = (walk *)context;
    // A file that this manifest deletes is reached by an older snapshot, if at all; its name may be
    // in an own commit under way, so it is kept as long as anything tells of it.
    add_uri(w, entry->file.path);
    add_uri(w, entry->file.referenced_data_file);
    return FZ_OK;
}

static bool pass_over(const walk *w, fz_code code) {
    return w->lenient && (code == FZ_NOT_FOUND || code == FZ_INVALID);
}

static fz_code add_snapshot(walk *w, const fz_iceberg_metadata *metadata,
                            const fz_iceberg_snapshot *snapshot, fz_err *err) {
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    add_uri(w, snapshot->manifest_list);
    fz_code code = fz_reach_list(w->options, snapshot, &arena, &list, err);
    for (size_t i = 0; i < list.count && code == FZ_OK; i++) {
        const fz_iceberg_manifest *m = &list.manifests[i];
        add_uri(w, m->path);
        if (fz_hash_set_add(&w->manifests, m->path)) {
            code = fz_reach_entries(w->options, metadata, m, add_entry, w, err);
            code = pass_over(w, code) ? FZ_OK : code;
        }
        if (code == FZ_OK && fz_reach_stopped(w->options)) {
            code = fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    }
    fz_arena_deinit(&arena);
    return pass_over(w, code) ? FZ_OK : code;
}

/** Every text in a document that names an object of the store: statistics, outbox entries. */
static void add_texts(walk *w, const json_t *json) {
    const char *key;
    json_t *value;
    size_t index;
    if (json_is_string(json)) {
        add_uri(w, fz_json_view(json));
    } else if (json_is_array(json)) {
        json_array_foreach(json, index, value) {
            add_texts(w, value);
        }
    } else if (json_is_object(json)) {
        json_object_foreach((json_t *)json, key, value) {
            add_texts(w, value);
        }
    }
}

fz_code fz_reach_all(const fz_maintain_options *options, const fz_iceberg_metadata *metadata,
                     bool lenient, fz_hash_set *keys, fz_err *err) {
    walk w = {.options = options, .keys = keys, .lenient = lenient};
    add_uri(&w, metadata->location);
    for (size_t i = 0; i < fz_iceberg_metadata_log_count(metadata); i++) {
        add_uri(&w, fz_iceberg_metadata_log_at(metadata, i, NULL));
    }
    add_texts(&w, json_object_get(metadata->root, "statistics"));
    add_texts(&w, json_object_get(metadata->root, "partition-statistics"));
    fz_str outbox = fz_iceberg_metadata_property(metadata, "frazil.outbox");
    FZ_CLEANUP(fz_json_release) json_t *entries = NULL;
    if (outbox.size > 0 && fz_json_parse(outbox, &entries, NULL) == FZ_OK) {
        add_texts(&w, entries);
    }
    fz_code code = FZ_OK;
    for (size_t i = fz_iceberg_metadata_snapshot_count(metadata); i-- > 0 && code == FZ_OK;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        code = add_snapshot(&w, metadata, &snapshot, err);
    }
    fz_hash_set_deinit(&w.manifests);
    return code;
}

// --- the table

fz_code fz_reach_load(const fz_maintain_options *options, fz_iceberg_metadata **out,
                      fz_commit_state **position, fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    FZ_TRY(fz_catalog_load(options->table.catalog, options->table.name, &metadata, err));
    fz_code code = fz_commit_position(&options->table, metadata, NULL, NULL, position, NULL, err);
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(metadata);
        return code == FZ_NOT_FOUND
                   ? fz_err_set(err, FZ_NOT_FOUND, "the table has no state of Frazil")
                   : code;
    }
    *out = metadata;
    return FZ_OK;
}

bool fz_reach_gc_disabled(const fz_iceberg_metadata *metadata, fz_maintain_report *report) {
    bool disabled =
        fz_str_equal_nocase(fz_iceberg_metadata_property(metadata, "gc.enabled"), FZ_STR("false"));
    if (disabled) {
        (void)snprintf(report->skipped, sizeof report->skipped,
                       "the table has gc.enabled=false: its files may belong to others too");
    }
    return disabled;
}
