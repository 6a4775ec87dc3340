// SPDX-License-Identifier: Apache-2.0
// Small files of main by partition, made into tasks.
#include "flow/maintain/candidates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "flow/maintain/reach.h"
#include "table/iceberg/file_options.h"

/** Files that one round looks at; the others wait for the next. */
#define FILES_MAX 200000

typedef struct find {
    const fz_maintain_options *options;
    fz_candidates *out;
    int64_t target_size;
    int64_t small_size; // below it a file is small
} find;

void fz_candidates_deinit(fz_candidates *candidates) {
    for (size_t i = 0; i < candidates->groups.count; i++) {
        fz_candidate_files *files = (fz_candidate_files *)candidates->groups.entries[i].value;
        fz_vec_deinit(files);
        fz_free(files);
    }
    fz_map_deinit(&candidates->groups);
    fz_vec_deinit(&candidates->tasks);
    fz_arena_deinit(&candidates->arena);
    memset(candidates, 0, sizeof *candidates);
}

static bool has_bytes(const fz_value *value) {
    return !value->is_null && (value->kind == FZ_TYPE_STRING || value->kind == FZ_TYPE_BINARY ||
                               value->kind == FZ_TYPE_FIXED || value->kind == FZ_TYPE_UUID);
}

/** What reading and naming need of a file. */
static fz_iceberg_file copy_file(fz_arena *arena, const fz_iceberg_file *from) {
    fz_iceberg_file file = fz_iceberg_file_make(fz_arena_str(arena, from->path), from->spec_id);
    file.record_count = from->record_count;
    file.file_size_bytes = from->file_size_bytes;
    file.sort_order_id = from->sort_order_id;
    file.first_row_id = from->first_row_id;
    file.partition_count = from->partition_count;
    file.partition = FZ_ARENA_ARRAY(arena, fz_value, from->partition_count);
    for (size_t i = 0; i < from->partition_count; i++) {
        file.partition[i] = from->partition[i];
        if (has_bytes(&file.partition[i])) {
            file.partition[i].as.bytes = fz_arena_str(arena, from->partition[i].as.bytes);
        }
    }
    return file;
}

static void group_key(const fz_iceberg_file *file, fz_buf *key) {
    fz_buf_append_le32(key, (uint32_t)file->spec_id);
    for (size_t i = 0; i < file->partition_count; i++) {
        const fz_value *value = &file->partition[i];
        fz_buf_append_byte(key, value->is_null ? 0 : 1);
        if (!value->is_null) {
            FZ_CLEANUP(fz_buf_deinit) fz_buf bytes = {0};
            fz_value_encode(value, &bytes);
            fz_buf_append_le32(key, (uint32_t)bytes.size);
            fz_buf_append_str(key, fz_buf_view(&bytes));
        }
    }
}

static fz_code add_entry(void *context, const fz_iceberg_entry *entry, fz_err *err) {
    (void)err;
    find *f = (find *)context;
    const fz_iceberg_file *file = &entry->file;
    if (entry->status == FZ_ICEBERG_DELETED || file->file_size_bytes >= f->small_size ||
        file->record_count <= 0 || file->key_metadata.data ||
        !fz_str_equal_nocase(file->format, FZ_STR("PARQUET")) || f->out->count >= FILES_MAX) {
        return FZ_OK;
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf key = {0};
    group_key(file, &key);
    fz_candidate_files *files =
        (fz_candidate_files *)fz_map_find(&f->out->groups, fz_buf_view(&key));
    if (!files) {
        files = (fz_candidate_files *)fz_calloc(1, sizeof *files);
        (void)fz_map_put(&f->out->groups, fz_buf_view(&key), files);
    }
    const fz_candidate candidate = {copy_file(&f->out->arena, file), entry->sequence_number};
    fz_vec_push(files, candidate);
    f->out->count++;
    return FZ_OK;
}

static int by_size(const void *left, const void *right) {
    const fz_candidate *a = (const fz_candidate *)left;
    const fz_candidate *b = (const fz_candidate *)right;
    return (a->file.file_size_bytes > b->file.file_size_bytes) -
           (a->file.file_size_bytes < b->file.file_size_bytes);
}

static int by_time(const void *left, const void *right) {
    const fz_candidate *a = (const fz_candidate *)left;
    const fz_candidate *b = (const fz_candidate *)right;
    if (a->sequence_number != b->sequence_number) {
        return a->sequence_number < b->sequence_number ? -1 : 1;
    }
    return fz_str_compare(a->file.path, b->file.path);
}

/** How many of the smallest files are worth it; they are sorted by size. */
static size_t choose(const find *f, const fz_candidate_files *files) {
    if (f->options->thorough) {
        return files->count >= 2 ? files->count : 0;
    }
    size_t least = (size_t)f->options->config.compaction.min_files;
    int64_t sum = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < files->count; i++) {
        int64_t size = files->data[i].file.file_size_bytes;
        if (i + 1 >= least && size <= sum) {
            chosen = i + 1;
        }
        sum += size;
    }
    return chosen;
}

static void make_tasks(find *f, fz_candidate_files *files) {
    qsort(files->data, files->count, sizeof *files->data, by_size);
    size_t count = choose(f, files);
    if (count < 2) {
        return;
    }
    qsort(files->data, count, sizeof *files->data, by_time);
    fz_candidate_task task = {.files = files->data};
    for (size_t i = 0; i < count; i++) {
        task.count++;
        task.bytes += files->data[i].file.file_size_bytes;
        task.rows += files->data[i].file.record_count;
        bool last = i + 1 == count;
        if (task.bytes >= f->target_size || last) {
            if (task.count >= 2) {
                fz_vec_push(&f->out->tasks, task);
            }
            task = (fz_candidate_task){.files = files->data + i + 1};
        }
    }
}

static fz_code look(find *f, const fz_iceberg_metadata *metadata, const fz_iceberg_list *list,
                    fz_maintain_report *report, fz_err *err) {
    for (size_t i = 0; i < list->count; i++) {
        const fz_iceberg_manifest *m = &list->manifests[i];
        if (m->content != 0 && (m->added_files != 0 || m->existing_files != 0)) {
            (void)snprintf(report->skipped, sizeof report->skipped,
                           "rows of the table are deleted by delete files");
            return FZ_OK;
        }
    }
    for (size_t i = 0; i < list->count && f->out->count < FILES_MAX; i++) {
        const fz_iceberg_manifest *m = &list->manifests[i];
        if (m->content == 0 && (m->added_files != 0 || m->existing_files != 0)) {
            FZ_TRY(fz_reach_entries(f->options, metadata, m, add_entry, f, err));
        }
        if (fz_reach_stopped(f->options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    }
    for (size_t i = 0; i < f->out->groups.count; i++) {
        make_tasks(f, (fz_candidate_files *)f->out->groups.entries[i].value);
    }
    if (f->out->tasks.count == 0) {
        (void)snprintf(report->skipped, sizeof report->skipped,
                       "%zu small files in %zu partitions: nothing to put together", f->out->count,
                       f->out->groups.count);
    }
    return FZ_OK;
}

fz_code fz_candidates_find(const fz_maintain_options *options, const fz_iceberg_metadata *metadata,
                           fz_candidates *out, fz_maintain_report *report, fz_err *err) {
    fz_iceberg_snapshot main;
    if (!fz_iceberg_metadata_main(metadata, &main)) {
        return FZ_OK;
    }
    int64_t target = fz_iceberg_file_options_target(&options->files, metadata);
    find f = {options, out, target, target / 100 * options->config.compaction.small_file_percent};
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_code code = fz_reach_list(options, &main, &arena, &list, err);
    if (code == FZ_OK) {
        code = look(&f, metadata, &list, report, err);
    }
    fz_arena_deinit(&arena);
    return code;
}
