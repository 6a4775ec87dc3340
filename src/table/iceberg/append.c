// SPDX-License-Identifier: Apache-2.0
// Builds the snapshot of an append: new manifests, the parent's manifests as they are, requirements
// and updates.
#include "table/iceberg/append.h"

#include "base/vec.h"
#include "table/iceberg/metadata_rules.h"
#include "table/iceberg/snapshot_summary.h"
#include "table/iceberg/update.h"

/** A manifest is held in memory until it is uploaded. */
#define MANIFEST_SIZE_MAX ((size_t)512 << 20)

/** A manifest that was written for the files of one spec and content. */
typedef struct built_manifest {
    fz_iceberg_manifest manifest; // in the append's arena
    fz_buf bytes;                 // empty once uploaded
    bool uploaded;
} built_manifest;

struct fz_iceberg_append {
    fz_arena arena;
    fz_str uuid;
    FZ_VEC(fz_iceberg_file) files;
    FZ_VEC(built_manifest) built;
    bool is_built;
    unsigned attempts;
};

void fz_iceberg_change_deinit(fz_iceberg_change *change) {
    json_decref(change->requirements);
    json_decref(change->updates);
    fz_buf_deinit(&change->list);
    fz_arena_deinit(&change->arena);
    *change = (fz_iceberg_change){0};
}

fz_iceberg_append *fz_iceberg_append_new(fz_str uuid) {
    fz_iceberg_append *append = fz_calloc(1, sizeof(*append));
    append->uuid = fz_arena_str(&append->arena, uuid);
    return append;
}

static void drop_built(fz_iceberg_append *append) {
    for (size_t i = 0; i < append->built.count; i++) {
        fz_buf_deinit(&append->built.data[i].bytes);
    }
    fz_vec_reset(&append->built);
}

void fz_iceberg_append_free(fz_iceberg_append *append) {
    if (append) {
        drop_built(append);
        fz_vec_deinit(&append->built);
        fz_vec_deinit(&append->files);
        fz_arena_deinit(&append->arena);
        fz_free(append);
    }
}

static void *copy_array(fz_arena *arena, const void *data, size_t count, size_t size) {
    void *copy = fz_arena_alloc(arena, count, size);
    if (count) {
        memcpy(copy, data, count * size);
    }
    return copy;
}

static void copy_counts(fz_arena *arena, fz_iceberg_counts *counts) {
    counts->ids = copy_array(arena, counts->ids, counts->count, sizeof(*counts->ids));
    counts->values = copy_array(arena, counts->values, counts->count, sizeof(*counts->values));
}

static void copy_bounds(fz_arena *arena, fz_iceberg_bounds *bounds) {
    bounds->ids = copy_array(arena, bounds->ids, bounds->count, sizeof(*bounds->ids));
    bounds->values = copy_array(arena, bounds->values, bounds->count, sizeof(*bounds->values));
    for (size_t i = 0; i < bounds->count; i++) {
        bounds->values[i] = fz_arena_str(arena, bounds->values[i]);
    }
}

static fz_str copy_optional(fz_arena *arena, fz_str bytes) {
    return bytes.data ? fz_arena_str(arena, bytes) : bytes;
}

static bool has_bytes(const fz_value *value) {
    return !value->is_null && (value->kind == FZ_TYPE_STRING || value->kind == FZ_TYPE_BINARY ||
                               value->kind == FZ_TYPE_FIXED || value->kind == FZ_TYPE_UUID);
}

void fz_iceberg_append_add(fz_iceberg_append *append, const fz_iceberg_file *file) {
    FZ_ASSERT(!append->is_built);
    fz_arena *arena = &append->arena;
    fz_iceberg_file copy = *file;
    copy.path = fz_arena_str(arena, file->path);
    copy.format = fz_arena_str(arena, file->format);
    copy.partition =
        copy_array(arena, file->partition, file->partition_count, sizeof(*file->partition));
    for (size_t i = 0; i < copy.partition_count; i++) {
        if (has_bytes(&copy.partition[i])) {
            copy.partition[i].as.bytes = fz_arena_str(arena, copy.partition[i].as.bytes);
        }
    }
    copy_counts(arena, &copy.column_sizes);
    copy_counts(arena, &copy.value_counts);
    copy_counts(arena, &copy.null_counts);
    copy_counts(arena, &copy.nan_counts);
    copy_bounds(arena, &copy.lower_bounds);
    copy_bounds(arena, &copy.upper_bounds);
    copy.key_metadata = copy_optional(arena, file->key_metadata);
    copy.referenced_data_file = copy_optional(arena, file->referenced_data_file);
    copy.split_offsets =
        copy_array(arena, file->split_offsets, file->split_count, sizeof(*file->split_offsets));
    copy.equality_ids =
        copy_array(arena, file->equality_ids, file->equality_count, sizeof(*file->equality_ids));
    fz_vec_push(&append->files, copy);
}

size_t fz_iceberg_append_count(const fz_iceberg_append *append) {
    return append->files.count;
}

const fz_iceberg_file *fz_iceberg_append_at(const fz_iceberg_append *append, size_t index) {
    return &append->files.data[index];
}

void fz_iceberg_append_uploaded(fz_iceberg_append *append) {
    for (size_t i = 0; i < append->built.count; i++) {
        append->built.data[i].uploaded = true;
        fz_buf_deinit(&append->built.data[i].bytes);
    }
}

/** Folder of metadata files, in `arena`. */
static fz_str metadata_folder(const fz_iceberg_metadata *metadata, fz_arena *arena) {
    fz_buf folder = {0};
    fz_iceberg_metadata_folder(metadata, &folder);
    fz_str copy = fz_arena_str(arena, fz_buf_view(&folder));
    fz_buf_deinit(&folder);
    return copy;
}

static fz_code write_entries(fz_iceberg_append *append, fz_iceberg_manifest_writer *writer,
                             int32_t spec_id, int content, built_manifest *built, fz_err *err) {
    for (size_t i = 0; i < append->files.count; i++) {
        const fz_iceberg_file *file = &append->files.data[i];
        if (file->spec_id != spec_id || (file->content != FZ_ICEBERG_DATA) != (content != 0)) {
            continue;
        }
        // Numbers and snapshot are inherited, so that the manifest serves every attempt.
        fz_iceberg_entry entry = {.status = FZ_ICEBERG_ADDED,
                                  .snapshot_id = FZ_ICEBERG_NONE,
                                  .sequence_number = FZ_ICEBERG_NONE,
                                  .file_sequence_number = FZ_ICEBERG_NONE,
                                  .file = *file};
        entry.file.first_row_id = FZ_ICEBERG_NONE; // given by the list (spec, "Row Lineage")
        if (content == 0) {
            entry.file.content_offset = FZ_ICEBERG_NONE;
            entry.file.content_size_bytes = FZ_ICEBERG_NONE;
        }
        FZ_TRY(fz_iceberg_manifest_writer_append(writer, &entry, err));
    }
    return fz_iceberg_manifest_writer_finish(writer, &append->arena, &built->manifest, err);
}

static fz_code build_manifest(fz_iceberg_append *append, const fz_iceberg_metadata *table,
                              int32_t spec_id, int content, fz_err *err) {
    fz_arena scratch = {0};
    fz_partition_spec spec;
    int version = fz_iceberg_metadata_version(table);
    const json_t *schema =
        fz_iceberg_metadata_schema_json(table, fz_iceberg_metadata_schema_id(table));
    built_manifest built = {0};
    fz_buf_init(&built.bytes, MANIFEST_SIZE_MAX, NULL);
    fz_iceberg_manifest_writer *writer = NULL;
    fz_code code = fz_iceberg_metadata_spec(table, spec_id, NULL, &scratch, &spec, err);
    if (code == FZ_NOT_FOUND) {
        code = fz_err_set(err, FZ_INVALID,
                          "a file is of partition spec %d, which the table does not have", spec_id);
    }
    if (code == FZ_OK) {
        code = fz_iceberg_manifest_writer_new(version, schema, &spec, content, &built.bytes,
                                              &writer, err);
    }
    if (code == FZ_OK) {
        code = write_entries(append, writer, spec_id, content, &built, err);
    }
    fz_iceberg_manifest_writer_free(writer);
    if (code == FZ_OK) {
        built.manifest.path = fz_arena_printf(&append->arena, "%.*s/%.*s-m%zu.avro",
                                              FZ_STR_ARGS(metadata_folder(table, &scratch)),
                                              FZ_STR_ARGS(append->uuid), append->built.count);
        fz_vec_push(&append->built, built);
    } else {
        fz_buf_deinit(&built.bytes);
    }
    fz_arena_deinit(&scratch);
    return code;
}

static bool is_covered(const fz_iceberg_append *append, int32_t spec_id, int content) {
    for (size_t i = 0; i < append->built.count; i++) {
        const fz_iceberg_manifest *m = &append->built.data[i].manifest;
        if (m->spec_id == spec_id && m->content == content) {
            return true;
        }
    }
    return false;
}

static fz_code build_manifests(fz_iceberg_append *append, const fz_iceberg_metadata *table,
                               fz_err *err) {
    if (append->is_built) {
        for (size_t i = 0; i < append->built.count; i++) {
            int32_t spec_id = append->built.data[i].manifest.spec_id;
            if (!fz_iceberg_metadata_spec_json(table, spec_id)) {
                return fz_err_set(err, FZ_INVALID,
                                  "a file is of partition spec %d, which the table does not have",
                                  spec_id);
            }
        }
        return FZ_OK;
    }
    for (size_t i = 0; i < append->files.count; i++) {
        const fz_iceberg_file *file = &append->files.data[i];
        int content = file->content == FZ_ICEBERG_DATA ? 0 : 1;
        if (!is_covered(append, file->spec_id, content)) {
            fz_code code = build_manifest(append, table, file->spec_id, content, err);
            if (code != FZ_OK) {
                drop_built(append);
                return code;
            }
        }
    }
    append->is_built = true;
    return FZ_OK;
}

/** Updates that come before the snapshot. */
static json_t *leading_updates(const fz_iceberg_append_options *options) {
    json_t *updates = options->updates ? json_copy((json_t *)options->updates) : json_array();
    if (options->schema) {
        json_t *add = fz_iceberg_update_new("add-schema");
        json_object_set(add, "schema", (json_t *)options->schema);
        json_array_append_new(updates, add);
        json_t *set = fz_iceberg_update_new("set-current-schema");
        fz_json_set_int(set, "schema-id", -1);
        json_array_append_new(updates, set);
    }
    if (json_object_size(options->properties) > 0) {
        json_t *set = fz_iceberg_update_new("set-properties");
        json_object_set(set, "updates", (json_t *)options->properties);
        json_array_append_new(updates, set);
    }
    if (json_array_size(options->removals) > 0) {
        json_t *remove = fz_iceberg_update_new("remove-properties");
        json_object_set(remove, "removals", (json_t *)options->removals);
        json_array_append_new(updates, remove);
    }
    return updates;
}

/** What the updates rest on (Java's UpdateRequirements), and always uuid, main and current schema.
 */
static json_t *requirements_of(const fz_iceberg_metadata *base, const json_t *updates) {
    static const struct {
        const char *action;
        const char *type;
        const char *key;
        const char *member;
    } rules[] = {
        {"add-schema", "assert-last-assigned-field-id", "last-assigned-field-id", "last-column-id"},
        {"add-spec", "assert-last-assigned-partition-id", "last-assigned-partition-id",
         "last-partition-id"},
        {"set-default-spec", "assert-default-spec-id", "default-spec-id", "default-spec-id"},
        {"set-default-sort-order", "assert-default-sort-order-id", "default-sort-order-id",
         "default-sort-order-id"},
    };
    json_t *requirements = json_array();
    json_array_append_new(requirements, fz_iceberg_require_uuid(fz_iceberg_metadata_uuid(base)));
    json_array_append_new(
        requirements,
        fz_iceberg_require_ref(FZ_ICEBERG_MAIN, fz_iceberg_metadata_ref_id(base, FZ_ICEBERG_MAIN)));
    json_array_append_new(requirements,
                          fz_iceberg_require_int("assert-current-schema-id", "current-schema-id",
                                                 fz_iceberg_metadata_schema_id(base)));
    for (size_t r = 0; r < FZ_COUNT(rules); r++) {
        bool wanted = false;
        for (size_t i = 0; i < json_array_size(updates); i++) {
            fz_str action = fz_json_str_or(json_array_get(updates, i), "action");
            wanted = wanted || fz_str_equal(action, fz_str_from(rules[r].action));
        }
        if (wanted) {
            json_array_append_new(
                requirements,
                fz_iceberg_require_int(rules[r].type, rules[r].key,
                                       fz_json_int_or(base->root, rules[r].member, 0)));
        }
    }
    return requirements;
}

/** New manifests, then the parent's as they are. */
static fz_code gather(const fz_iceberg_append *append, const fz_iceberg_snapshot *parent,
                      fz_str parent_list, const fz_iceberg_replaced *replaced, fz_arena *arena,
                      fz_iceberg_list *out, fz_err *err) {
    fz_iceberg_list old = {0};
    if (parent) {
        if (parent->manifest_list.size == 0) {
            return fz_err_set(
                err, FZ_UNSUPPORTED,
                "snapshot %lld has no manifest list (version 1 with inline manifests)",
                (long long)parent->snapshot_id);
        }
        if (parent_list.size == 0) {
            return fz_err_set(err, FZ_INVALID, "the manifest list of snapshot %lld is not given",
                              (long long)parent->snapshot_id);
        }
        FZ_TRY(fz_iceberg_list_read(parent_list, arena, &old, err));
    }
    if (replaced) {
        old.count = replaced->count;
        old.manifests = copy_array(arena, replaced->manifests, old.count, sizeof(*old.manifests));
    }
    out->count = append->built.count + old.count;
    out->manifests = FZ_ARENA_ARRAY(arena, fz_iceberg_manifest, out->count);
    for (size_t i = 0; i < append->built.count; i++) {
        out->manifests[i] = append->built.data[i].manifest;
    }
    if (old.count) {
        memcpy(out->manifests + append->built.count, old.manifests,
               old.count * sizeof(*old.manifests));
    }
    return FZ_OK;
}

static json_t *snapshot_json(const fz_iceberg_metadata *table, const fz_iceberg_snapshot *parent,
                             const fz_iceberg_change *change, fz_str list_path, json_t *summary,
                             int64_t added_rows) {
    json_t *json = json_object();
    fz_json_set_int(json, "snapshot-id", change->snapshot_id);
    if (parent) {
        fz_json_set_int(json, "parent-snapshot-id", parent->snapshot_id);
    }
    fz_json_set_int(json, "sequence-number", change->sequence_number);
    fz_json_set_int(json, "timestamp-ms", change->timestamp_ms);
    json_object_set_new(json, "summary", summary);
    fz_json_set_str(json, "manifest-list", list_path);
    fz_json_set_int(json, "schema-id", fz_iceberg_metadata_schema_id(table));
    if (fz_iceberg_metadata_version(table) >= 3) {
        fz_json_set_int(json, "first-row-id", fz_iceberg_metadata_next_row_id(table));
        fz_json_set_int(json, "added-rows", added_rows);
    }
    return json;
}

static void list_uploads(const fz_iceberg_append *append, const fz_iceberg_replaced *replaced,
                         fz_str list_path, fz_iceberg_change *out) {
    size_t more = replaced ? replaced->upload_count : 0;
    out->uploads = FZ_ARENA_ARRAY(&out->arena, fz_iceberg_upload, append->built.count + more + 1);
    for (size_t i = 0; i < more; i++) {
        out->uploads[out->upload_count++] = replaced->uploads[i];
    }
    for (size_t i = 0; i < append->built.count; i++) {
        const built_manifest *built = &append->built.data[i];
        if (!built->uploaded) {
            out->uploads[out->upload_count].path = built->manifest.path;
            out->uploads[out->upload_count++].bytes = fz_buf_view(&built->bytes);
        }
    }
    out->uploads[out->upload_count].path = list_path;
    out->uploads[out->upload_count++].bytes = fz_buf_view(&out->list);
}

/** `table` is `base` after the leading updates. */
static fz_code build_snapshot(fz_iceberg_append *append, const fz_iceberg_metadata *base,
                              const fz_iceberg_metadata *table,
                              const fz_iceberg_append_options *options, fz_iceberg_change *out,
                              fz_err *err) {
    fz_iceberg_snapshot parent;
    bool has_parent = fz_iceberg_metadata_main(base, &parent);
    if (fz_iceberg_metadata_last_sequence(base) == INT64_MAX) {
        return fz_err_set(err, FZ_LIMIT, "the table's sequence numbers are used up");
    }
    FZ_TRY(build_manifests(append, table, err));
    out->snapshot_id =
        options->snapshot_id ? options->snapshot_id : fz_iceberg_snapshot_id_new(base);
    out->sequence_number = fz_iceberg_metadata_last_sequence(base) + 1;
    out->timestamp_ms = fz_iceberg_metadata_time_ms(base, options->now_ms);
    fz_iceberg_list list;
    FZ_TRY(gather(append, has_parent ? &parent : NULL, options->parent_list, options->replaced,
                  &out->arena, &list, err));
    const fz_iceberg_list_options list_options = {
        .version = fz_iceberg_metadata_version(table),
        .snapshot_id = out->snapshot_id,
        .parent_id = has_parent ? parent.snapshot_id : FZ_ICEBERG_NONE,
        .sequence_number = out->sequence_number,
        .first_row_id = fz_iceberg_metadata_next_row_id(table),
    };
    int64_t added_rows = 0;
    FZ_TRY(fz_iceberg_list_write(&list, &list_options, &out->list, &added_rows, err));
    fz_str list_path =
        fz_arena_printf(&out->arena, "%.*s/snap-%lld-%u-%.*s.avro",
                        FZ_STR_ARGS(metadata_folder(table, &out->arena)),
                        (long long)out->snapshot_id, ++append->attempts, FZ_STR_ARGS(append->uuid));
    const fz_iceberg_replaced *replaced = options->replaced;
    const fz_iceberg_added added = {
        .files = append->files.data,
        .count = append->files.count,
        .manifests_created = append->built.count + (replaced ? replaced->created : 0),
        .manifests_kept = list.count - append->built.count - (replaced ? replaced->created : 0),
        .is_replace = replaced != NULL,
        .manifests_replaced = replaced ? replaced->gone : 0,
        .removed = replaced ? replaced->removed : NULL,
        .removed_count = replaced ? replaced->removed_count : 0};
    json_t *summary =
        fz_iceberg_snapshot_summary_new(&added, has_parent ? &parent : NULL, options->summary);
    json_t *add = fz_iceberg_update_new("add-snapshot");
    json_object_set_new(
        add, "snapshot",
        snapshot_json(table, has_parent ? &parent : NULL, out, list_path, summary, added_rows));
    json_array_append_new(out->updates, add);
    json_array_append_new(out->updates,
                          fz_iceberg_update_set_ref(FZ_ICEBERG_MAIN, out->snapshot_id));
    list_uploads(append, options->replaced, list_path, out);
    return FZ_OK;
}

fz_code fz_iceberg_append_build(fz_iceberg_append *append, const fz_iceberg_metadata *base,
                                const fz_iceberg_append_options *options, fz_iceberg_change *out,
                                fz_err *err) {
    if (fz_iceberg_metadata_version(base) < 2) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "the table is of format version 1: upgrade it to 2 first");
    }
    fz_iceberg_change change = {0};
    fz_buf_init(&change.list, MANIFEST_SIZE_MAX, NULL);
    change.updates = leading_updates(options);
    change.requirements = requirements_of(base, change.updates);
    fz_iceberg_metadata *table = NULL;
    fz_code code = fz_iceberg_update_apply(base, change.updates, options->now_ms, &table, err);
    if (code == FZ_OK) {
        code = build_snapshot(append, base, table, options, &change, err);
    }
    fz_iceberg_metadata_unref(table);
    if (code != FZ_OK) {
        fz_iceberg_change_deinit(&change);
        return code;
    }
    *out = change;
    return FZ_OK;
}
