// SPDX-License-Identifier: Apache-2.0
// Scanning: each planned file is projected onto the wanted schema, what it lacks is filled in.
#include "table/scan/scan.h"

#include "base/memory.h"
#include "base/vec.h"
#include "format/parquet/reader.h"
#include "table/scan/fill.h"
#include "table/scan/projection.h"

#define BATCH_ROWS 8192

// A data file in a store, as the Parquet reader sees it.
typedef struct store_source {
    fz_parquet_source source;
    fz_store *store;
    fz_str key;
} store_source;

struct fz_scan {
    fz_scan_files files;
    fz_iceberg_metadata *metadata;
    fz_scan_options options;
    fz_scan_plan *plan;
    fz_schema *schema;
    fz_batch *batch;
    // the file at work
    const fz_iceberg_entry *entry;
    store_source source;
    fz_parquet_reader *reader;
    fz_scan_fill *fill;
    int64_t rows; // given out of it
    int64_t first_row;
};

static fz_code source_read(fz_parquet_source *base, int64_t at, size_t size, fz_buf *out,
                           fz_err *err) {
    store_source *source = (store_source *)base;
    return fz_store_read_exact(source->store, source->key, at, size, out, err);
}

// A snapshot that is named is read with the schema it was written with.
static fz_code make_schema(fz_scan *scan, fz_err *err) {
    int32_t id = fz_iceberg_metadata_schema_id(scan->metadata);
    fz_iceberg_snapshot snapshot;
    if (scan->options.snapshot_id != 0 &&
        fz_iceberg_metadata_snapshot(scan->metadata, scan->options.snapshot_id, &snapshot) &&
        snapshot.schema_id != FZ_ICEBERG_NONE) {
        id = snapshot.schema_id;
    }
    fz_schema *table = NULL;
    FZ_TRY(fz_iceberg_metadata_schema(scan->metadata, id, &table, err));
    fz_code code = fz_scan_projection(table, scan->options.columns, scan->options.column_count,
                                      &scan->schema, err);
    fz_schema_unref(table);
    return code;
}

fz_code fz_scan_open(fz_scan_files files, fz_iceberg_metadata *metadata,
                     const fz_scan_options *options, fz_scan **out, fz_err *err) {
    fz_scan *scan = (fz_scan *)fz_calloc(1, sizeof(*scan));
    scan->files = files;
    scan->metadata = fz_iceberg_metadata_ref(metadata);
    scan->options = *options;
    if (scan->options.batch_rows <= 0) {
        scan->options.batch_rows = BATCH_ROWS;
    }
    const fz_scan_plan_options plan = {.snapshot_id = options->snapshot_id,
                                       .ranges = options->ranges,
                                       .range_count = options->range_count,
                                       .budget = options->budget};
    fz_code code = fz_scan_plan_open(files, metadata, &plan, &scan->plan, err);
    if (code == FZ_OK) {
        code = make_schema(scan, err);
    }
    if (code != FZ_OK) {
        fz_scan_free(scan);
        return code;
    }
    scan->options.columns = NULL; // the caller's; not needed any more
    scan->batch = fz_batch_new(scan->schema, options->budget);
    *out = scan;
    return FZ_OK;
}

static void close_file(fz_scan *scan) {
    fz_scan_fill_free(scan->fill);
    fz_parquet_reader_free(scan->reader);
    scan->fill = NULL;
    scan->reader = NULL;
}

void fz_scan_free(fz_scan *scan) {
    if (!scan) {
        return;
    }
    close_file(scan);
    fz_batch_free(scan->batch);
    fz_schema_unref(scan->schema);
    fz_scan_plan_free(scan->plan);
    fz_iceberg_metadata_unref(scan->metadata);
    fz_free(scan);
}

fz_schema *fz_scan_schema(const fz_scan *scan) {
    return scan->schema;
}

static fz_code open_file(fz_scan *scan, fz_err *err) {
    const fz_iceberg_file *file = &scan->entry->file;
    scan->rows = 0;
    if (!fz_str_equal_nocase(file->format, FZ_STR("PARQUET"))) {
        return fz_err_set(err, FZ_UNSUPPORTED, "files of format \"%.*s\" are not read",
                          FZ_STR_ARGS(file->format));
    }
    if (file->key_metadata.data) {
        return fz_err_set(err, FZ_UNSUPPORTED, "encrypted files are not read");
    }
    store_source *source = &scan->source;
    FZ_TRY(scan->files.find(scan->files.context, file->path, &source->store, &source->key, err));
    source->source.size = file->file_size_bytes;
    source->source.read = source_read;
    FZ_TRY(fz_parquet_reader_open(&source->source, NULL, scan->options.budget, &scan->reader, err));
    if (fz_parquet_reader_rows(scan->reader) != file->record_count) {
        return fz_err_set(err, FZ_CORRUPT, "it has %lld rows, its manifest says %lld",
                          (long long)fz_parquet_reader_rows(scan->reader),
                          (long long)file->record_count);
    }
    FZ_TRY(fz_parquet_reader_project(scan->reader, scan->schema, err));
    return fz_scan_fill_new(scan->metadata, file, scan->reader, scan->batch, &scan->fill, err);
}

// The next file that is not left out, opened; *found false at the end.
static fz_code next_file(fz_scan *scan, bool *found, fz_err *err) {
    for (;;) {
        FZ_TRY(fz_scan_plan_next(scan->plan, &scan->entry, err));
        *found = scan->entry != NULL;
        if (!*found) {
            return FZ_OK;
        }
        if (scan->options.skip && scan->options.skip(scan->options.context, scan->entry)) {
            continue;
        }
        return open_file(scan, err);
    }
}

static fz_code read_rows(fz_scan *scan, int64_t *rows, fz_err *err) {
    fz_batch_reset(scan->batch);
    FZ_TRY(fz_parquet_reader_next(scan->reader, scan->batch, scan->options.batch_rows, rows, err));
    return *rows ? fz_scan_fill_rows(scan->fill, scan->batch, err) : FZ_OK;
}

fz_code fz_scan_next(fz_scan *scan, fz_batch **out, fz_err *err) {
    for (;;) {
        bool found = true;
        int64_t rows = 0;
        fz_code code = scan->reader ? FZ_OK : next_file(scan, &found, err);
        if (code == FZ_OK && !found) {
            *out = NULL;
            return FZ_OK;
        }
        if (code == FZ_OK) {
            code = read_rows(scan, &rows, err);
        }
        if (code != FZ_OK) {
            close_file(scan);
            return scan->entry ? fz_err_prepend(err, "data file \"%.*s\"",
                                                FZ_STR_ARGS(scan->entry->file.path))
                               : code;
        }
        if (rows == 0) {
            close_file(scan);
            continue;
        }
        scan->first_row = scan->rows;
        scan->rows += rows;
        *out = scan->batch;
        return FZ_OK;
    }
}

const fz_iceberg_entry *fz_scan_file(const fz_scan *scan, int64_t *first_row) {
    if (first_row) {
        *first_row = scan->first_row;
    }
    return scan->entry;
}
