// SPDX-License-Identifier: Apache-2.0
// Open data files of a lane, by partition value.
#include "flow/ingest/files.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/rand.h"
#include "base/vec.h"
#include "base/version.h"
#include "format/parquet/sorter.h"
#include "table/iceberg/file_options.h"

/** A finished file waits for the cut. */
typedef struct done_file {
    fz_iceberg_file file;
    fz_file_metrics metrics;
    char *path;
    uint32_t group;
    bool sorted;
} done_file;

typedef struct open_file {
    fz_store_writer *store_writer; // NULL: no file open for this partition value
    fz_parquet_writer *writer;
    fz_parquet_sorter *sorter; // NULL: rows go straight to the writer
    uint32_t *rows;            // of the batch being appended
    size_t row_count;
    size_t row_capacity;
} open_file;

struct fz_files {
    fz_files_options options;
    fz_iceberg_file_options how; // what entry and table want
    char *instance;
    char *schema_text;
    fz_batch *batch;
    fz_partition_router *router; // NULL: unpartitioned
    fz_parquet_workspace *workspace;
    FZ_VEC(open_file) open; // by group
    FZ_VEC(done_file) done;
    uint32_t *groups; // of the batch's rows
    size_t group_capacity;
    int64_t done_size;
    int64_t oldest_ms;
    uint64_t sequence;
    bool sorted; // there is an order that rows can be put in
    bool claims; // it is the table's own, so that files may carry its id
};

fz_code fz_files_new(const fz_files_options *options, fz_batch *batch, fz_files **out,
                     fz_err *err) {
    const fz_layout *layout = options->layout;
    fz_iceberg_file_options how;
    fz_partition_router *router = NULL;
    FZ_TRY(fz_iceberg_file_options_read(options->config, layout->metadata, options->location,
                                        layout->schema, &how, err));
    fz_code code = FZ_OK;
    if (layout->spec.field_count > 0) {
        code = fz_partition_router_new(&layout->spec, batch, &router, err);
    }
    if (code != FZ_OK) {
        fz_iceberg_file_options_deinit(&how);
        return code;
    }
    fz_files *files = (fz_files *)fz_calloc(1, sizeof *files);
    files->options = *options;
    files->options.layout = fz_layout_ref(options->layout);
    files->how = how;
    files->instance = fz_str_dup(options->instance);
    files->batch = batch;
    files->router = router;
    files->sorted = fz_row_sort_can(&layout->order, layout->schema);
    // a table that is still to be made may get other orders than ours
    files->claims = layout->metadata &&
                    fz_str_equal(options->location, fz_iceberg_metadata_base(layout->metadata));
    files->workspace = fz_parquet_workspace_new();
    json_t *schema = fz_schema_to_json(options->layout->schema);
    files->schema_text = json_dumps(schema, JSON_COMPACT);
    json_decref(schema);
    *out = files;
    return FZ_OK;
}

/**
 * `<location>/data/<partition>/<instance>-<sequence>-<random>.parquet`, or as the table's
 * properties want it; the random part makes it unique (R12).
 */
static char *new_path(fz_files *files, uint32_t group) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf partition = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf name = {0};
    if (files->router) {
        fz_partition_path(&files->options.layout->spec,
                          fz_partition_router_tuple(files->router, group), &partition);
    }
    fz_buf_printf(&name, "%s-%06llu-%016llx.parquet", files->instance,
                  (unsigned long long)files->sequence++, (unsigned long long)fz_rand_u64());
    fz_iceberg_file_options_path(&files->how, fz_buf_view(&partition), fz_buf_view(&name), &path);
    return fz_str_dup(fz_buf_view(&path));
}

static fz_code open_writer(fz_files *files, uint32_t group, fz_err *err) {
    open_file *file = &files->open.data[group];
    char *path = new_path(files, group);
    fz_str key;
    fz_code code = fz_store_key(files->options.store, fz_str_from(path), &key, err);
    if (code == FZ_OK) {
        code = fz_store_open(files->options.store, key, &file->store_writer, err);
    }
    fz_free(path);
    FZ_TRY(code);
    fz_parquet_pair pair = {FZ_STR("iceberg.schema"), fz_str_from(files->schema_text)};
    fz_parquet_options options = files->how.parquet;
    options.pairs = &pair;
    options.pair_count = 1;
    options.version = FZ_STR(FZ_VERSION);
    options.workspace = files->workspace;
    if (files->oldest_ms == 0) {
        files->oldest_ms = fz_clock_wall_ms(files->options.clock);
    }
    const fz_layout *layout = files->options.layout;
    if (files->sorted) {
        file->sorter = fz_parquet_sorter_new(&layout->order, layout->schema, files->options.budget);
    }
    return fz_parquet_writer_new(layout->schema, &options, &file->store_writer->sink,
                                 files->options.budget, &file->writer, err);
}

/** Footer, publication; the file waits in `done`. */
static fz_code close_writer(fz_files *files, uint32_t group, fz_err *err) {
    open_file *file = &files->open.data[group];
    done_file done = {.group = group};
    if (file->sorter) {
        FZ_TRY(fz_parquet_sorter_end(file->sorter, file->writer, err));
        done.sorted = fz_parquet_sorter_is_sorted(file->sorter);
    }
    FZ_TRY(fz_parquet_writer_close(file->writer, &done.metrics, err));
    fz_object object;
    fz_code code = fz_store_writer_commit(file->store_writer, &object, err);
    if (code != FZ_OK) {
        fz_file_metrics_deinit(&done.metrics);
        return code;
    }
    done.path = fz_store_uri(files->options.store, fz_str_from(file->store_writer->key));
    files->done_size += done.metrics.file_size;
    fz_vec_push(&files->done, done);
    fz_parquet_sorter_free(file->sorter);
    file->sorter = NULL;
    fz_parquet_writer_free(file->writer);
    file->writer = NULL;
    fz_store_writer_free(file->store_writer);
    file->store_writer = NULL;
    return FZ_OK;
}

/** What a flush of the file gives back. */
static int64_t buffered(const open_file *file) {
    if (!file->writer) {
        return 0;
    }
    return fz_parquet_writer_buffered(file->writer) +
           (file->sorter ? fz_parquet_sorter_held(file->sorter) : 0);
}

/** The fullest file's row group leaves; false if none holds anything. */
static bool flush_fullest(fz_files *files, fz_code *code, fz_err *err) {
    open_file *fullest = NULL;
    for (size_t i = 0; i < files->open.count; i++) {
        open_file *file = &files->open.data[i];
        if (buffered(file) > 0 && (!fullest || buffered(file) > buffered(fullest))) {
            fullest = file;
        }
    }
    *code = FZ_OK;
    if (fullest && fullest->sorter) {
        *code = fz_parquet_sorter_end(fullest->sorter, fullest->writer, err);
    }
    if (fullest && *code == FZ_OK) {
        *code = fz_parquet_writer_flush(fullest->writer, err);
    }
    return fullest != NULL;
}

static fz_code give_rows(fz_files *files, open_file *file, const uint32_t *rows, int64_t count,
                         fz_err *err) {
    if (file->sorter) {
        return fz_parquet_sorter_append(file->sorter, file->writer, files->batch, rows, count, err);
    }
    return rows ? fz_parquet_writer_append_rows(file->writer, files->batch, rows, count, err)
                : fz_parquet_writer_append(file->writer, files->batch, 0, count, err);
}

/** Estimate of the file's bytes; held rows shrink to about a quarter. */
static int64_t file_size(const open_file *file) {
    return fz_parquet_writer_written(file->writer) +
           (file->sorter ? fz_parquet_sorter_held(file->sorter) / 4 : 0);
}

static fz_code append_group(fz_files *files, uint32_t group, const uint32_t *rows, int64_t count,
                            fz_err *err) {
    open_file *file = &files->open.data[group];
    if (!file->writer) {
        FZ_TRY(open_writer(files, group, err));
    }
    fz_code code;
    do {
        code = give_rows(files, file, rows, count, err);
        if (code != FZ_LIMIT || fz_parquet_writer_failed(file->writer)) {
            break;
        }
        fz_code flushed;
        if (flush_fullest(files, &flushed, err)) {
            FZ_TRY(flushed);
        } else if (file->sorter) {
            fz_parquet_sorter_overdraw(file->sorter);
        } else {
            fz_parquet_writer_overdraw(file->writer);
        }
    } while (true);
    FZ_TRY(code);
    if (file_size(file) >= files->how.target_file_size) {
        return close_writer(files, group, err);
    }
    return FZ_OK;
}

static void reserve_groups(fz_files *files, size_t count) {
    while (files->open.count < count) {
        fz_vec_push(&files->open, ((open_file){0}));
    }
}

/** All rows of one partition value, the usual case. */
static bool same_group(const uint32_t *groups, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        if (groups[i] != groups[0]) {
            return false;
        }
    }
    return true;
}

static void scatter(fz_files *files, int64_t rows) {
    for (int64_t row = 0; row < rows; row++) {
        open_file *file = &files->open.data[files->groups[row]];
        if (file->row_count == file->row_capacity) {
            file->row_capacity = file->row_capacity ? 2 * file->row_capacity : 64;
            file->rows = (uint32_t *)fz_realloc(file->rows, file->row_capacity, sizeof *file->rows);
        }
        file->rows[file->row_count++] = (uint32_t)row;
    }
}

fz_code fz_files_check(const fz_files *files, int64_t row, fz_err *err) {
    if (FZ_LIKELY(!files->router) ||
        FZ_LIKELY(fz_partition_router_check(files->router, row, err) == FZ_OK)) {
        return FZ_OK;
    }
    if (err) {
        err->code = FZ_CORRUPT;
        err->kind = "out_of_range";
    }
    return FZ_CORRUPT;
}

fz_code fz_files_append(fz_files *files, fz_err *err) {
    int64_t rows = files->batch->rows;
    if (rows == 0) {
        return FZ_OK;
    }
    if (!files->router) {
        reserve_groups(files, 1);
        return append_group(files, 0, NULL, rows, err);
    }
    if (files->group_capacity < (size_t)rows) {
        files->group_capacity = (size_t)rows;
        files->groups = (uint32_t *)fz_realloc(files->groups, (size_t)rows, sizeof *files->groups);
    }
    fz_code code = fz_partition_router_route(files->router, 0, rows, files->groups, err);
    if (code == FZ_LIMIT && err) {
        err->code = FZ_INTERNAL; // fz_files_check was not asked; more memory would not help
    }
    FZ_TRY(code == FZ_LIMIT ? FZ_INTERNAL : code);
    reserve_groups(files, fz_partition_router_count(files->router));
    if (same_group(files->groups, rows)) {
        return append_group(files, files->groups[0], NULL, rows, err);
    }
    scatter(files, rows);
    for (size_t i = 0; i < files->open.count; i++) {
        open_file *file = &files->open.data[i];
        size_t count = file->row_count;
        file->row_count = 0;
        if (count > 0 && code == FZ_OK) {
            code = append_group(files, (uint32_t)i, file->rows, (int64_t)count, err);
        }
    }
    return code;
}

int64_t fz_files_size(const fz_files *files) {
    int64_t size = files->done_size;
    for (size_t i = 0; i < files->open.count; i++) {
        if (files->open.data[i].writer) {
            size += file_size(&files->open.data[i]);
        }
    }
    return size;
}

size_t fz_files_open_count(const fz_files *files) {
    size_t count = 0;
    for (size_t i = 0; i < files->open.count; i++) {
        count += files->open.data[i].writer != NULL;
    }
    return count;
}

int64_t fz_files_oldest_ms(const fz_files *files) {
    return files->oldest_ms;
}

static void done_clear(fz_files *files) {
    for (size_t i = 0; i < files->done.count; i++) {
        fz_file_metrics_deinit(&files->done.data[i].metrics);
        fz_free(files->done.data[i].path);
    }
    fz_vec_reset(&files->done);
    files->done_size = 0;
}

/** Describe a finished file for the manifest. */
static void add_file(fz_files *files, const done_file *done, fz_iceberg_append *append) {
    fz_arena arena = {0};
    const fz_layout *layout = files->options.layout;
    fz_iceberg_file file = {.content = FZ_ICEBERG_DATA,
                            .path = fz_str_from(done->path),
                            .format = FZ_STR("PARQUET"),
                            .spec_id = layout->spec.spec_id,
                            .partition_count = layout->spec.field_count,
                            .sort_order_id =
                                done->sorted && files->claims ? layout->order.order_id : 0,
                            .first_row_id = FZ_ICEBERG_NONE,
                            .content_offset = FZ_ICEBERG_NONE,
                            .content_size_bytes = FZ_ICEBERG_NONE};
    if (files->router) {
        file.partition = (fz_value *)fz_partition_router_tuple(files->router, done->group);
    }
    fz_iceberg_file_set_metrics(&file, &done->metrics, layout->schema, layout->metadata, &arena);
    fz_iceberg_append_add(append, &file);
    fz_arena_deinit(&arena);
}

fz_code fz_files_finish(fz_files *files, fz_iceberg_append *append, int64_t *bytes, fz_err *err) {
    for (size_t i = 0; i < files->open.count; i++) {
        if (files->open.data[i].writer) {
            FZ_TRY(close_writer(files, (uint32_t)i, err));
        }
    }
    *bytes = files->done_size;
    for (size_t i = 0; i < files->done.count; i++) {
        add_file(files, &files->done.data[i], append);
    }
    done_clear(files);
    files->oldest_ms = 0;
    return FZ_OK;
}

void fz_files_free(fz_files *files) {
    if (!files) {
        return;
    }
    for (size_t i = 0; i < files->open.count; i++) {
        fz_parquet_sorter_free(files->open.data[i].sorter);
        fz_parquet_writer_free(files->open.data[i].writer);
        fz_store_writer_free(files->open.data[i].store_writer);
        fz_free(files->open.data[i].rows);
    }
    done_clear(files);
    fz_vec_deinit(&files->done);
    fz_vec_deinit(&files->open);
    fz_parquet_workspace_free(files->workspace);
    fz_partition_router_free(files->router);
    fz_free(files->groups);
    free(files->schema_text);
    fz_iceberg_file_options_deinit(&files->how);
    fz_free(files->instance);
    fz_layout_unref(files->options.layout);
    fz_free(files);
}
