// SPDX-License-Identifier: Apache-2.0
// Manifests for the same rows: merged ones, and ones without the files that others take the place
// of.
#include "table/iceberg/rewrite.h"

#include "base/map.h"
#include "base/vec.h"

/** A manifest is held in memory until it is uploaded. */
#define MANIFEST_SIZE_MAX ((size_t)512 << 20)
/** A manifest of what is left of others is not made larger on purpose. */
#define FILTERED_SIZE ((size_t)8 << 20)

/** A manifest made by this rewrite. */
typedef struct made {
    fz_iceberg_manifest manifest; // in its arena
    fz_arena arena;
    fz_buf bytes;
    FZ_VEC(fz_str) inputs; // paths of the manifests that it was merged from, in the arena
    bool used;             // by the attempt at hand
} made;

struct fz_iceberg_rewrite {
    fz_iceberg_rewrite_options options;
    fz_arena arena;
    fz_map removed; // path -> itself
    fz_map hints;   // manifests that removed files were found in
    FZ_VEC(made *) made;
    unsigned number; // of manifests named so far
};

/** A writer of a new manifest. */
typedef struct output {
    made *made;
    fz_partition_spec spec;
    fz_iceberg_manifest_writer *writer;
} output;

/** What one attempt gathers. */
typedef struct attempt {
    fz_iceberg_rewrite *rewrite;
    const fz_iceberg_metadata *base;
    int64_t snapshot_id;
    fz_arena arena;
    fz_iceberg_list old;
    bool *gone;      // [old.count]
    fz_map found;    // removed files seen live
    output filtered; // manifests without removed files, not full yet
    FZ_VEC(fz_iceberg_manifest) manifests;
    FZ_VEC(fz_iceberg_file) removed;
    FZ_VEC(fz_iceberg_upload) uploads;
} attempt;

fz_iceberg_rewrite *fz_iceberg_rewrite_new(const fz_iceberg_rewrite_options *options) {
    fz_iceberg_rewrite *rewrite = (fz_iceberg_rewrite *)fz_calloc(1, sizeof(*rewrite));
    rewrite->options = *options;
    rewrite->options.uuid = fz_arena_str(&rewrite->arena, options->uuid);
    return rewrite;
}

static void made_free(made *m) {
    fz_buf_deinit(&m->bytes);
    fz_vec_deinit(&m->inputs);
    fz_arena_deinit(&m->arena);
    fz_free(m);
}

void fz_iceberg_rewrite_free(fz_iceberg_rewrite *rewrite) {
    if (!rewrite) {
        return;
    }
    for (size_t i = 0; i < rewrite->made.count; i++) {
        made_free(rewrite->made.data[i]);
    }
    fz_vec_deinit(&rewrite->made);
    fz_map_deinit(&rewrite->removed);
    fz_map_deinit(&rewrite->hints);
    fz_arena_deinit(&rewrite->arena);
    fz_free(rewrite);
}

void fz_iceberg_rewrite_remove(fz_iceberg_rewrite *rewrite, fz_str path) {
    (void)fz_map_put(&rewrite->removed, path, rewrite);
}

// --- what is merged with what

static bool is_live(const fz_iceberg_manifest *m) {
    return m->added_files != 0 || m->existing_files != 0; // unknown (-1) counts
}

// Two of them always fit into one.
static bool is_small(const fz_iceberg_rewrite *rewrite, const fz_iceberg_manifest *m) {
    return m->size_bytes <= rewrite->options.target_size / 2 && !m->key_metadata.data;
}

static size_t count_small(const fz_iceberg_rewrite *rewrite, const fz_iceberg_list *list,
                          int32_t spec_id, int content) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const fz_iceberg_manifest *m = &list->manifests[i];
        count += m->spec_id == spec_id && m->content == content && is_small(rewrite, m);
    }
    return count;
}

bool fz_iceberg_rewrite_wanted(const fz_iceberg_rewrite *rewrite, const fz_iceberg_list *list,
                               size_t *count) {
    size_t most = 0;
    for (size_t i = 0; i < list->count; i++) {
        const fz_iceberg_manifest *m = &list->manifests[i];
        bool first = true; // of its spec and content
        for (size_t k = 0; k < i && first; k++) {
            first = list->manifests[k].spec_id != m->spec_id ||
                    list->manifests[k].content != m->content;
        }
        size_t small = first ? count_small(rewrite, list, m->spec_id, m->content) : 0;
        most = small > most ? small : most;
    }
    if (count) {
        *count = most;
    }
    return most >= 2 && (int64_t)most >= rewrite->options.min_count;
}

// --- writing

static fz_code read_manifest(const attempt *a, const fz_iceberg_manifest *m, fz_buf *bytes,
                             fz_err *err) {
    const fz_iceberg_rewrite_options *options = &a->rewrite->options;
    fz_code code = options->read(options->context, m->path, bytes, err);
    return code == FZ_OK ? FZ_OK : fz_err_prepend(err, "manifest \"%.*s\"", FZ_STR_ARGS(m->path));
}

static fz_code output_open(const attempt *a, int32_t spec_id, int content, output *out,
                           fz_err *err) {
    const fz_iceberg_metadata *base = a->base;
    made *m = (made *)fz_calloc(1, sizeof(*m));
    fz_buf_init(&m->bytes, MANIFEST_SIZE_MAX, NULL);
    *out = (output){.made = m};
    fz_code code = fz_iceberg_metadata_spec(base, spec_id, NULL, &m->arena, &out->spec, err);
    if (code == FZ_OK) {
        const json_t *schema =
            fz_iceberg_metadata_schema_json(base, fz_iceberg_metadata_schema_id(base));
        code = fz_iceberg_manifest_writer_new(fz_iceberg_metadata_version(base), schema, &out->spec,
                                              content, &m->bytes, &out->writer, err);
    }
    if (code != FZ_OK) {
        made_free(m);
        out->made = NULL;
    }
    return code;
}

/** Finish, or drop the manifest when nothing was written or `code` is not OK. */
static fz_code output_close(attempt *a, output *out, bool keep, fz_code code, fz_err *err) {
    made *m = out->made;
    if (!m) {
        return code;
    }
    if (code == FZ_OK && keep) {
        code = fz_iceberg_manifest_writer_finish(out->writer, &m->arena, &m->manifest, err);
    }
    fz_iceberg_manifest_writer_free(out->writer);
    if (code != FZ_OK || !keep) {
        made_free(m);
        return code;
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
    fz_iceberg_metadata_folder(a->base, &path);
    fz_buf_printf(&path, "/%.*s-r%u.avro", FZ_STR_ARGS(a->rewrite->options.uuid),
                  a->rewrite->number++);
    m->manifest.path = fz_arena_str(&m->arena, fz_buf_view(&path));
    m->used = true;
    fz_vec_push(&a->rewrite->made, m);
    return FZ_OK;
}

/** What the summary counts of a removed file, in the attempt's arena. */
static void keep_removed(attempt *a, const fz_iceberg_file *file) {
    fz_iceberg_file kept = {.content = file->content,
                            .path = fz_arena_str(&a->arena, file->path),
                            .format = FZ_STR("PARQUET"),
                            .spec_id = file->spec_id,
                            .record_count = file->record_count,
                            .file_size_bytes = file->file_size_bytes,
                            .partition_count = file->partition_count};
    kept.partition = FZ_ARENA_ARRAY(&a->arena, fz_value, file->partition_count);
    for (size_t i = 0; i < file->partition_count; i++) {
        fz_value *value = &kept.partition[i];
        *value = file->partition[i];
        if (!value->is_null && (value->kind == FZ_TYPE_STRING || value->kind == FZ_TYPE_BINARY ||
                                value->kind == FZ_TYPE_FIXED || value->kind == FZ_TYPE_UUID)) {
            value->as.bytes = fz_arena_str(&a->arena, value->as.bytes);
        }
    }
    fz_vec_push(&a->removed, kept);
}

/** Copy the live entries of a manifest, removed ones as DELETED by this snapshot; *written counts.
 */
static fz_code copy_entries(attempt *a, const fz_iceberg_manifest *from, output *to,
                            size_t *written, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, MANIFEST_SIZE_MAX, NULL);
    FZ_TRY(read_manifest(a, from, &bytes, err));
    fz_iceberg_manifest_reader *reader = NULL;
    FZ_TRY(fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), from, &to->spec, &reader, err));
    fz_code code;
    bool found = true;
    do {
        fz_arena scratch = {0};
        fz_iceberg_entry entry;
        code = fz_iceberg_manifest_reader_next(reader, &scratch, &entry, &found, err);
        if (code == FZ_OK && found && entry.status != FZ_ICEBERG_DELETED) {
            entry.status = FZ_ICEBERG_EXISTING;
            if (fz_map_find(&a->rewrite->removed, entry.file.path)) {
                entry.status = FZ_ICEBERG_DELETED;
                entry.snapshot_id = a->snapshot_id;
                keep_removed(a, &entry.file);
            }
            code = fz_iceberg_manifest_writer_append(to->writer, &entry, err);
            ++*written;
        }
        fz_arena_deinit(&scratch);
    } while (code == FZ_OK && found);
    fz_iceberg_manifest_reader_free(reader);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "manifest \"%.*s\"", FZ_STR_ARGS(from->path));
}

// --- merging

static size_t find_old(const attempt *a, fz_str path) {
    for (size_t i = 0; i < a->old.count; i++) {
        if (!a->gone[i] && fz_str_equal(a->old.manifests[i].path, path)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/** Take up what an earlier attempt merged, if its inputs are all there still. */
static void reuse_merged(attempt *a, made *m) {
    m->used = false;
    for (size_t i = 0; i < m->inputs.count; i++) {
        if (find_old(a, m->inputs.data[i]) == SIZE_MAX) {
            return;
        }
    }
    m->used = m->inputs.count > 0;
    for (size_t i = 0; i < m->inputs.count; i++) {
        a->gone[find_old(a, m->inputs.data[i])] = true;
    }
}

/** One merged manifest of old[index[0..count)]. */
static fz_code merge_bin(attempt *a, const size_t *index, size_t count, fz_err *err) {
    const fz_iceberg_manifest *first = &a->old.manifests[index[0]];
    output out;
    size_t written = 0;
    FZ_TRY(output_open(a, first->spec_id, first->content, &out, err));
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        const fz_iceberg_manifest *m = &a->old.manifests[index[i]];
        if (is_live(m)) {
            code = copy_entries(a, m, &out, &written, err);
        }
        fz_vec_push(&out.made->inputs, fz_arena_str(&out.made->arena, m->path));
    }
    FZ_TRY(output_close(a, &out, written > 0, code, err));
    for (size_t i = 0; i < count; i++) {
        a->gone[index[i]] = true;
    }
    return FZ_OK;
}

/** Small manifests of one spec and content, in bins up to the target. */
static fz_code merge_kind(attempt *a, int32_t spec_id, int content, fz_err *err) {
    FZ_VEC(size_t) bin = {0};
    int64_t size = 0;
    fz_code code = FZ_OK;
    for (size_t i = 0; i < a->old.count && code == FZ_OK; i++) {
        const fz_iceberg_manifest *m = &a->old.manifests[i];
        if (a->gone[i] || m->spec_id != spec_id || m->content != content ||
            !is_small(a->rewrite, m)) {
            continue;
        }
        if (size + m->size_bytes > a->rewrite->options.target_size) {
            code = bin.count > 1 ? merge_bin(a, bin.data, bin.count, err) : FZ_OK;
            fz_vec_reset(&bin);
            size = 0;
        }
        fz_vec_push(&bin, i);
        size += m->size_bytes;
    }
    if (code == FZ_OK && bin.count > 1) {
        code = merge_bin(a, bin.data, bin.count, err);
    }
    fz_vec_deinit(&bin);
    return code;
}

static fz_code merge(attempt *a, fz_err *err) {
    fz_iceberg_rewrite *rewrite = a->rewrite;
    bool any = false;
    for (size_t i = 0; i < rewrite->made.count; i++) {
        reuse_merged(a, rewrite->made.data[i]);
        any = any || rewrite->made.data[i]->used;
    }
    if (any) {
        return FZ_OK; // what came since waits for the next round
    }
    if (!fz_iceberg_rewrite_wanted(rewrite, &a->old, NULL)) {
        return fz_err_set(err, FZ_CONFLICT, "there are no manifests to merge any more");
    }
    for (size_t i = 0; i < a->old.count; i++) {
        const fz_iceberg_manifest *m = &a->old.manifests[i];
        int64_t small = (int64_t)count_small(rewrite, &a->old, m->spec_id, m->content);
        if (!a->gone[i] && is_small(rewrite, m) && small >= rewrite->options.min_count) {
            FZ_TRY(merge_kind(a, m->spec_id, m->content, err));
        }
    }
    return FZ_OK;
}

// --- replacing files

/** Does the manifest list a removed file as live? They are noted in `found`. */
static fz_code look(attempt *a, const fz_iceberg_manifest *m, bool *any, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, MANIFEST_SIZE_MAX, NULL);
    fz_arena scratch = {0};
    fz_partition_spec spec;
    fz_iceberg_manifest_reader *reader = NULL;
    bool more = true;
    *any = false;
    fz_code code = read_manifest(a, m, &bytes, err);
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_spec(a->base, m->spec_id, NULL, &scratch, &spec, err);
    }
    if (code == FZ_OK) {
        code = fz_iceberg_manifest_reader_open(fz_buf_view(&bytes), m, &spec, &reader, err);
    }
    while (code == FZ_OK && more) {
        fz_arena arena = {0};
        fz_iceberg_entry entry;
        code = fz_iceberg_manifest_reader_next(reader, &arena, &entry, &more, err);
        if (code == FZ_OK && more && entry.status != FZ_ICEBERG_DELETED &&
            fz_map_find(&a->rewrite->removed, entry.file.path)) {
            *any = true;
            (void)fz_map_put(&a->found, entry.file.path, a);
        }
        fz_arena_deinit(&arena);
    }
    fz_iceberg_manifest_reader_free(reader);
    fz_arena_deinit(&scratch);
    return code;
}

static fz_code close_filtered(attempt *a, fz_code code, fz_err *err) {
    code = output_close(a, &a->filtered, true, code, err);
    a->filtered = (output){0};
    return code;
}

/** Write the manifest anew if it lists a removed file; several go into one. */
static fz_code filter(attempt *a, size_t index, fz_err *err) {
    const fz_iceberg_manifest *m = &a->old.manifests[index];
    bool any;
    FZ_TRY(look(a, m, &any, err));
    if (!any) {
        return FZ_OK;
    }
    (void)fz_map_put(&a->rewrite->hints, m->path, a->rewrite);
    made *open = a->filtered.made;
    if (open && (a->filtered.spec.spec_id != m->spec_id || open->bytes.size >= FILTERED_SIZE)) {
        FZ_TRY(close_filtered(a, FZ_OK, err));
    }
    if (!a->filtered.made) {
        FZ_TRY(output_open(a, m->spec_id, m->content, &a->filtered, err));
    }
    size_t written = 0;
    FZ_TRY(copy_entries(a, m, &a->filtered, &written, err));
    a->gone[index] = true;
    return FZ_OK;
}

static fz_code check_all_found(const attempt *a, fz_err *err) {
    const fz_map *removed = &a->rewrite->removed;
    for (size_t i = 0; i < removed->count; i++) {
        if (!fz_map_find(&a->found, removed->entries[i].key)) {
            return fz_err_set(err, FZ_CONFLICT, "file \"%.*s\" is no longer in the table",
                              FZ_STR_ARGS(fz_str_slice(removed->entries[i].key, 0, 500)));
        }
    }
    return FZ_OK;
}

static fz_code replace(attempt *a, fz_err *err) {
    fz_iceberg_rewrite *rewrite = a->rewrite;
    for (size_t i = 0; i < rewrite->made.count; i++) {
        made_free(rewrite->made.data[i]); // they name the snapshot of the attempt before
    }
    fz_vec_reset(&rewrite->made);
    for (size_t i = 0; i < a->old.count; i++) {
        const fz_iceberg_manifest *m = &a->old.manifests[i];
        if (m->content != 0 && is_live(m)) {
            return fz_err_set(err, FZ_CONFLICT, "rows of the table are deleted by delete files");
        }
    }
    fz_code code = FZ_OK;
    for (int pass = 0; pass < 2 && a->found.count < rewrite->removed.count; pass++) {
        for (size_t i = 0; i < a->old.count && a->found.count < rewrite->removed.count; i++) {
            const fz_iceberg_manifest *m = &a->old.manifests[i];
            bool hinted = fz_map_find(&rewrite->hints, m->path) != NULL;
            if (m->content == 0 && is_live(m) && !a->gone[i] && hinted == (pass == 0) &&
                code == FZ_OK) {
                code = filter(a, i, err);
            }
        }
    }
    code = code == FZ_OK ? check_all_found(a, err) : code;
    return close_filtered(a, code, err);
}

// --- the attempt

static fz_code build(attempt *a, fz_iceberg_append *added, const fz_iceberg_append_options *options,
                     fz_iceberg_change *out, fz_err *err) {
    fz_iceberg_rewrite *rewrite = a->rewrite;
    FZ_TRY(fz_iceberg_list_read(options->parent_list, &a->arena, &a->old, err));
    a->gone = FZ_ARENA_ARRAY(&a->arena, bool, a->old.count);
    FZ_TRY(rewrite->options.merge ? merge(a, err) : replace(a, err));
    size_t created = 0, gone = 0;
    for (size_t i = 0; i < rewrite->made.count; i++) {
        made *m = rewrite->made.data[i];
        if (m->used) {
            created++;
            fz_vec_push(&a->manifests, m->manifest);
            fz_vec_push(&a->uploads,
                        ((fz_iceberg_upload){m->manifest.path, fz_buf_view(&m->bytes)}));
        }
    }
    for (size_t i = 0; i < a->old.count; i++) {
        if (a->gone[i] || !is_live(&a->old.manifests[i])) {
            gone++; // one without live files tells only of earlier deletes
        } else {
            fz_vec_push(&a->manifests, a->old.manifests[i]);
        }
    }
    const fz_iceberg_replaced replaced = {.manifests = a->manifests.data,
                                          .count = a->manifests.count,
                                          .created = created,
                                          .gone = gone,
                                          .removed = a->removed.data,
                                          .removed_count = a->removed.count,
                                          .uploads = a->uploads.data,
                                          .upload_count = a->uploads.count};
    fz_iceberg_append_options with = *options;
    with.snapshot_id = a->snapshot_id;
    with.replaced = &replaced;
    return fz_iceberg_append_build(added, a->base, &with, out, err);
}

fz_code fz_iceberg_rewrite_build(fz_iceberg_rewrite *rewrite, fz_iceberg_append *added,
                                 const fz_iceberg_metadata *base,
                                 const fz_iceberg_append_options *options, fz_iceberg_change *out,
                                 fz_err *err) {
    if (options->parent_list.size == 0) {
        return fz_err_set(err, FZ_CONFLICT, "the table has no snapshot any more");
    }
    attempt a = {.rewrite = rewrite,
                 .base = base,
                 .snapshot_id = options->snapshot_id ? options->snapshot_id
                                                     : fz_iceberg_snapshot_id_new(base)};
    fz_code code = build(&a, added, options, out, err);
    fz_vec_deinit(&a.manifests);
    fz_vec_deinit(&a.removed);
    fz_vec_deinit(&a.uploads);
    fz_map_deinit(&a.found);
    fz_arena_deinit(&a.arena);
    return code;
}
