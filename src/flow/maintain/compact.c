// SPDX-License-Identifier: Apache-2.0
// Small files of one partition become large ones: read by field id, written anew, replaced in one
// commit.
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/rand.h"
#include "base/version.h"
#include "flow/maintain/candidates.h"
#include "flow/maintain/reach.h"
#include "flow/maintain/replace.h"
#include "format/parquet/sorter.h"
#include "table/iceberg/file_options.h"
#include "table/scan/fill.h"
#include "table/scan/source.h"

/** Plans that were overtaken by other writers, at most. */
#define ROUNDS_MAX 3
/** Files that one commit replaces, and outputs in target sizes after which it is made. */
#define COMMIT_FILES 5000
#define COMMIT_TARGETS 4
/** Rows that are read at once. */
#define BATCH_ROWS 8192

// Columns that keep a row's lineage when it moves (spec, "Row Lineage" and "Reserved Field IDs").
#define ROW_ID 2147483540
#define ROW_SEQUENCE 2147483539

/** What the files of one commit share. */
typedef struct work {
    const fz_maintain_options *options;
    fz_iceberg_metadata *metadata;
    fz_schema *schema; // of the table, and the columns of lineage in version 3
    bool lineage;
    fz_iceberg_file_options how;
    fz_arena arena;
    fz_sort_order order;
    bool sorted; // rows can be put in the order
    char *schema_text;
    fz_batch *batch;
    fz_maintain_report *report;
    // the commit at hand
    char commit[37];
    fz_iceberg_rewrite *rewrite;
    fz_iceberg_append *added;
    int64_t oldest_ms;
    int64_t files_in;
    int64_t bytes_in;
    int64_t rows;
    int64_t bytes_out;
    // the file at hand
    fz_store_writer *store_writer;
    fz_parquet_writer *writer;
    fz_parquet_sorter *sorter; // NULL: rows stay as they come
} work;

static fz_code read_uri(void *context, fz_str uri, fz_buf *out, fz_err *err) {
    return fz_reach_read((const fz_maintain_options *)context, uri, out, err);
}

// --- the commit at hand

static void begin_commit(work *w) {
    fz_rand_uuid(w->commit);
    const fz_iceberg_rewrite_options how = {
        .uuid = fz_str_from(w->commit), .read = read_uri, .context = (void *)w->options};
    w->rewrite = fz_iceberg_rewrite_new(&how);
    w->added = fz_iceberg_append_new(fz_str_from(w->commit));
    w->oldest_ms = w->files_in = w->bytes_in = w->rows = w->bytes_out = 0;
}

static void end_commit(work *w) {
    fz_iceberg_rewrite_free(w->rewrite);
    fz_iceberg_append_free(w->added);
    w->rewrite = NULL;
    w->added = NULL;
}

/** No request named them: they may go at once (R8). */
static void drop_outputs(const work *w) {
    for (size_t i = 0; i < fz_iceberg_append_count(w->added); i++) {
        fz_str key;
        if (fz_store_key(w->options->table.store, fz_iceberg_append_at(w->added, i)->path, &key,
                         NULL) == FZ_OK) {
            (void)!fz_store_remove(w->options->table.store, key, NULL);
        }
    }
}

static fz_code commit(work *w, fz_err *err) {
    if (w->files_in == 0) {
        return FZ_OK;
    }
    const fz_replace replace = {.rewrite = w->rewrite,
                                .added = w->added,
                                .uuid = fz_iceberg_metadata_uuid(w->metadata),
                                .commit = fz_str_from(w->commit),
                                .oldest_file_ms = w->oldest_ms,
                                .reason = FZ_STR("compaction")};
    bool sent;
    fz_code code = fz_replace_commit(w->options, &replace, w->report, &sent, err);
    if (code != FZ_OK) {
        if (!sent) {
            drop_outputs(w);
        }
        return code;
    }
    w->report->files_in += w->files_in;
    w->report->bytes_in += w->bytes_in;
    w->report->rows += w->rows;
    w->report->files_out += (int64_t)fz_iceberg_append_count(w->added);
    w->report->bytes_out += w->bytes_out;
    return FZ_OK;
}

// --- the file at hand

/** `<base>/data/<partition>/<instance>-c-<random>.parquet` (R12), or as the table wants it. */
static fz_code new_path(const work *w, const fz_iceberg_file *like, fz_buf *path, fz_err *err) {
    FZ_CLEANUP(fz_arena_deinit) fz_arena arena = {0};
    fz_partition_spec spec;
    FZ_TRY(fz_iceberg_metadata_spec(w->metadata, like->spec_id, NULL, &arena, &spec, err));
    FZ_CLEANUP(fz_buf_deinit) fz_buf partition = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf name = {0};
    if (spec.field_count > 0 && spec.field_count == like->partition_count) {
        fz_partition_path(&spec, like->partition, &partition);
    }
    fz_buf_printf(&name, "%.*s-c-%016llx.parquet", FZ_STR_ARGS(w->options->table.instance),
                  (unsigned long long)fz_rand_u64());
    fz_iceberg_file_options_path(&w->how, fz_buf_view(&partition), fz_buf_view(&name), path);
    return FZ_OK;
}

static fz_code open_output(work *w, const fz_iceberg_file *like, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
    fz_str key;
    FZ_TRY(new_path(w, like, &path, err));
    FZ_TRY(fz_store_key(w->options->table.store, fz_buf_view(&path), &key, err));
    FZ_TRY(fz_store_open(w->options->table.store, key, &w->store_writer, err));
    const fz_parquet_pair pair = {FZ_STR("iceberg.schema"), fz_str_from(w->schema_text)};
    fz_parquet_options how = w->how.parquet;
    how.pairs = &pair;
    how.pair_count = 1;
    how.version = FZ_STR(FZ_VERSION);
    if (w->oldest_ms == 0) {
        w->oldest_ms = fz_clock_wall_ms(w->options->table.clock);
    }
    if (w->sorted) {
        w->sorter = fz_parquet_sorter_new(&w->order, w->schema, w->options->budget);
    }
    return fz_parquet_writer_new(w->schema, &how, &w->store_writer->sink, w->options->budget,
                                 &w->writer, err);
}

static void abandon_output(work *w) {
    fz_parquet_sorter_free(w->sorter);
    w->sorter = NULL;
    fz_parquet_writer_free(w->writer);
    fz_store_writer_free(w->store_writer);
    w->writer = NULL;
    w->store_writer = NULL;
}

static fz_code close_output(work *w, const fz_iceberg_file *like, fz_err *err) {
    fz_file_metrics metrics = {0};
    fz_object object;
    bool sorted = w->sorter && fz_parquet_sorter_is_sorted(w->sorter);
    FZ_TRY(fz_parquet_writer_close(w->writer, &metrics, err));
    fz_code code = fz_store_writer_commit(w->store_writer, &object, err);
    if (code == FZ_OK) {
        fz_arena arena = {0};
        char *path = fz_store_uri(w->options->table.store, fz_str_from(w->store_writer->key));
        fz_iceberg_file file = fz_iceberg_file_make(fz_str_from(path), like->spec_id);
        file.partition = like->partition;
        file.partition_count = like->partition_count;
        file.sort_order_id = sorted ? w->order.order_id : 0;
        metrics.column_count -= w->lineage ? 2 : 0; // they are last, and no columns of the table
        fz_iceberg_file_set_metrics(&file, &metrics, w->schema, w->metadata, &arena);
        fz_iceberg_append_add(w->added, &file);
        w->bytes_out += file.file_size_bytes;
        fz_free(path);
        fz_arena_deinit(&arena);
    }
    fz_file_metrics_deinit(&metrics);
    abandon_output(w);
    return code;
}

static fz_code write_rows(work *w, fz_err *err) {
    if (w->sorter) {
        fz_code taken =
            fz_parquet_sorter_append(w->sorter, w->writer, w->batch, NULL, w->batch->rows, err);
        if (taken == FZ_LIMIT && !fz_parquet_writer_failed(w->writer)) {
            FZ_TRY(fz_parquet_sorter_end(w->sorter, w->writer, err));
            FZ_TRY(fz_parquet_writer_flush(w->writer, err));
            taken =
                fz_parquet_sorter_append(w->sorter, w->writer, w->batch, NULL, w->batch->rows, err);
        }
        return taken;
    }
    fz_code code = fz_parquet_writer_append(w->writer, w->batch, 0, w->batch->rows, err);
    if (code == FZ_LIMIT && !fz_parquet_writer_failed(w->writer)) {
        FZ_TRY(fz_parquet_writer_flush(w->writer, err));
        code = fz_parquet_writer_append(w->writer, w->batch, 0, w->batch->rows, err);
    }
    return code;
}

/** Values for rows that have none: `first` and up by `step`. */
static void fill_nulls(fz_column *column, int64_t first, int64_t step) {
    for (int64_t i = 0; i < column->length; i++) {
        if (fz_column_is_null(column, i)) {
            ((int64_t *)column->values)[i] = first + i * step;
            column->validity[i >> 3] |= (uint8_t)(1u << (i & 7));
            column->null_count--;
        }
    }
}

/** What a row that was never moved inherits from its file. */
static void fill_lineage(work *w, const fz_candidate *from, int64_t row) {
    if (!w->lineage || from->file.first_row_id == FZ_ICEBERG_NONE) {
        return; // written before the table had row ids
    }
    fz_column *columns = w->batch->columns + w->batch->column_count - 2;
    fill_nulls(&columns[0], from->file.first_row_id + row, 1);
    fill_nulls(&columns[1], from->sequence_number, 0);
}

static fz_code copy_rows(work *w, fz_parquet_reader *reader, fz_scan_fill *fill,
                         const fz_candidate *from, fz_err *err) {
    int64_t rows, row = 0;
    do {
        fz_batch_reset(w->batch);
        FZ_TRY(fz_parquet_reader_next(reader, w->batch, BATCH_ROWS, &rows, err));
        if (rows > 0) {
            FZ_TRY(fz_scan_fill_rows(fill, w->batch, err));
            fill_lineage(w, from, row);
            row += rows;
            FZ_TRY(write_rows(w, err));
        }
        if (fz_reach_stopped(w->options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    } while (rows > 0);
    return FZ_OK;
}

static fz_code copy_file(work *w, const fz_candidate *from, fz_err *err) {
    const fz_iceberg_file *file = &from->file;
    fz_scan_source source;
    fz_parquet_reader *reader = NULL;
    fz_scan_fill *fill = NULL;
    fz_code code = fz_scan_source_open(&source, fz_scan_files_in(w->options->table.store),
                                       w->metadata, file, w->options->budget, &reader, err);
    if (code == FZ_OK) {
        code = fz_parquet_reader_project(reader, w->schema, err);
    }
    if (code == FZ_OK) {
        code = fz_scan_fill_new(w->metadata, file, reader, w->batch, &fill, err);
    }
    if (code == FZ_OK) {
        code = copy_rows(w, reader, fill, from, err);
    }
    fz_scan_fill_free(fill);
    fz_parquet_reader_free(reader);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "data file \"%.*s\"", FZ_STR_ARGS(file->path));
}

static fz_code run_task(work *w, const fz_candidate_task *task, fz_err *err) {
    const fz_iceberg_file *like = &task->files[0].file;
    FZ_TRY(open_output(w, like, err));
    for (size_t i = 0; i < task->count; i++) {
        FZ_TRY(copy_file(w, &task->files[i], err));
    }
    if (w->sorter) {
        FZ_TRY(fz_parquet_sorter_end(w->sorter, w->writer, err));
    }
    int64_t rows = fz_parquet_writer_rows(w->writer);
    if (rows != task->rows) {
        return fz_err_set(err, FZ_CORRUPT, "%lld rows were read of files that have %lld",
                          (long long)rows, (long long)task->rows);
    }
    FZ_TRY(close_output(w, like, err));
    for (size_t i = 0; i < task->count; i++) {
        fz_iceberg_rewrite_remove(w->rewrite, task->files[i].file.path);
    }
    w->files_in += (int64_t)task->count;
    w->bytes_in += task->bytes;
    w->rows += task->rows;
    return FZ_OK;
}

static bool commit_is_due(const work *w, bool last) {
    return last || w->files_in >= COMMIT_FILES ||
           w->bytes_in >= COMMIT_TARGETS * w->how.target_file_size;
}

static fz_code run_tasks(work *w, const fz_candidates *candidates, fz_err *err) {
    fz_code code = FZ_OK;
    for (size_t i = 0; i < candidates->tasks.count && code == FZ_OK; i++) {
        if (!w->rewrite) {
            begin_commit(w);
        }
        code = run_task(w, &candidates->tasks.data[i], err);
        abandon_output(w);
        if (code != FZ_OK) {
            drop_outputs(w); // of this commit; none was sent
        } else if (commit_is_due(w, i + 1 == candidates->tasks.count)) {
            code = commit(w, err);
        } else {
            continue;
        }
        end_commit(w);
    }
    return code;
}

static void report_plan(const fz_candidates *candidates, fz_maintain_report *report) {
    for (size_t i = 0; i < candidates->tasks.count; i++) {
        report->files_in += (int64_t)candidates->tasks.data[i].count;
        report->bytes_in += candidates->tasks.data[i].bytes;
        report->rows += candidates->tasks.data[i].rows;
        report->files_out++;
    }
}

static fz_field lineage_field(int32_t id, fz_str name) {
    return (fz_field){.id = id, .name = name, .type = {.kind = FZ_TYPE_LONG}};
}

/** The schema with the columns of lineage behind its own. */
static void add_lineage(work *w) {
    const fz_type *root = &w->schema->root;
    fz_schema *schema = fz_schema_new();
    size_t count = root->field_count;
    fz_field *fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, count + 2);
    for (size_t i = 0; i < count; i++) {
        fz_field_copy(&schema->arena, &root->fields[i], &fields[i]);
    }
    fields[count] = lineage_field(ROW_ID, FZ_STR("_row_id"));
    fields[count + 1] = lineage_field(ROW_SEQUENCE, FZ_STR("_last_updated_sequence_number"));
    schema->schema_id = w->schema->schema_id;
    schema->root = (fz_type){.kind = FZ_TYPE_STRUCT, .fields = fields, .field_count = count + 2};
    fz_schema_finish(schema);
    fz_schema_unref(w->schema);
    w->schema = schema;
    w->lineage = true;
}

static fz_code compact(const fz_maintain_options *options, fz_iceberg_metadata *base,
                       const fz_candidates *candidates, fz_maintain_report *report, fz_err *err) {
    work w = {.options = options, .metadata = base, .report = report};
    FZ_TRY(fz_iceberg_metadata_schema(base, fz_iceberg_metadata_schema_id(base), &w.schema, err));
    json_t *json = fz_schema_to_json(w.schema);
    w.schema_text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (fz_iceberg_metadata_version(base) >= 3) {
        add_lineage(&w);
    }
    fz_code code = fz_iceberg_file_options_read(
        &options->files, base, fz_iceberg_metadata_base(base), w.schema, &w.how, err);
    if (code == FZ_OK) {
        w.sorted = fz_iceberg_metadata_order(base, &w.arena, &w.order, NULL) == FZ_OK &&
                   fz_row_sort_can(&w.order, w.schema);
        w.batch = fz_batch_new(w.schema, options->budget);
        code = run_tasks(&w, candidates, err);
        fz_batch_free(w.batch);
        fz_iceberg_file_options_deinit(&w.how);
        fz_arena_deinit(&w.arena);
    }
    free(w.schema_text);
    fz_schema_unref(w.schema);
    return code;
}

static fz_code round_once(const fz_maintain_options *options, fz_maintain_report *report,
                          fz_err *err) {
    fz_iceberg_metadata *base = NULL;
    fz_commit_state *position = NULL;
    FZ_TRY(fz_reach_load(options, &base, &position, err));
    fz_commit_state_free(position);
    fz_candidates candidates = {0};
    fz_code code = fz_candidates_find(options, base, &candidates, report, err);
    if (code == FZ_OK && options->dry_run) {
        report_plan(&candidates, report);
    } else if (code == FZ_OK && candidates.tasks.count > 0) {
        code = compact(options, base, &candidates, report, err);
    }
    fz_candidates_deinit(&candidates);
    fz_iceberg_metadata_unref(base);
    return code;
}

fz_code fz_maintain_compact(const fz_maintain_options *options, fz_maintain_report *report,
                            fz_err *err) {
    fz_code code = FZ_CONFLICT;
    for (int i = 0; i < ROUNDS_MAX && code == FZ_CONFLICT; i++) {
        code = round_once(options, report, err);
    }
    return code;
}
