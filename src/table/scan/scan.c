// SPDX-License-Identifier: Apache-2.0
// Scanning: each planned file is projected onto the wanted schema, what it lacks is filled in.
#include "table/scan/scan.h"

#include "base/memory.h"
#include "base/vec.h"
#include "table/scan/deletes.h"
#include "table/scan/fill.h"
#include "table/scan/projection.h"
#include "table/scan/source.h"

#define BATCH_ROWS 8192

struct fz_scan {
    fz_scan_files files;
    fz_iceberg_metadata *metadata;
    fz_scan_options options;
    fz_scan_plan *plan;
    fz_schema *schema;
    fz_batch *batch;
    fz_batch *kept; // rows that are not deleted; made when first wanted
    fz_scan_deletes *deletes;
    // the file at work
    const fz_iceberg_entry *entry;
    fz_scan_source source;
    fz_parquet_reader *reader;
    fz_scan_fill *fill;
    fz_scan_positions deleted;
    int64_t rows; // given out of it
    int64_t first_row;
};

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
                                       .deletes = true,
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
    scan->deletes = fz_scan_deletes_new(files, options->budget);
    *out = scan;
    return FZ_OK;
}

static void close_file(fz_scan *scan) {
    fz_scan_fill_free(scan->fill);
    fz_parquet_reader_free(scan->reader);
    fz_scan_positions_deinit(&scan->deleted);
    scan->fill = NULL;
    scan->reader = NULL;
}

void fz_scan_free(fz_scan *scan) {
    if (!scan) {
        return;
    }
    close_file(scan);
    fz_scan_deletes_free(scan->deletes);
    fz_batch_free(scan->batch);
    fz_batch_free(scan->kept);
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
    FZ_TRY(fz_scan_source_open(&scan->source, scan->files, scan->metadata, file,
                               scan->options.budget, &scan->reader, err));
    FZ_TRY(fz_parquet_reader_project(scan->reader, scan->schema, err));
    FZ_TRY(fz_scan_fill_new(scan->metadata, file, scan->reader, scan->batch, &scan->fill, err));
    return fz_scan_deletes_read(scan->deletes, scan->entry, &scan->deleted, err);
}

// The next file that is not left out, opened; *found false at the end.
static fz_code next_file(fz_scan *scan, bool *found, fz_err *err) {
    for (;;) {
        scan->entry = NULL; // what it points to goes away, also on failure
        FZ_TRY(fz_scan_plan_next(scan->plan, &scan->entry, err));
        *found = scan->entry != NULL;
        if (!*found) {
            return FZ_OK;
        }
        if (scan->entry->file.content != FZ_ICEBERG_DATA) {
            FZ_TRY(fz_scan_deletes_add(scan->deletes, scan->entry, err)); // they come first
            continue;
        }
        if (scan->options.skip && scan->options.skip(scan->options.context, scan->entry)) {
            continue;
        }
        return open_file(scan, err);
    }
}

// The next rows of the file with what it lacks; *rows 0 at its end.
static fz_code read_rows(fz_scan *scan, int64_t *rows, fz_err *err) {
    fz_batch_reset(scan->batch);
    FZ_TRY(fz_parquet_reader_next(scan->reader, scan->batch, scan->options.batch_rows, rows, err));
    scan->first_row = scan->rows;
    scan->rows += *rows;
    return *rows ? fz_scan_fill_rows(scan->fill, scan->batch, err) : FZ_OK;
}

// The batch without deleted rows: itself when there are none.
static fz_code keep_rows(fz_scan *scan, fz_batch **out, fz_err *err) {
    *out = scan->batch;
    if (scan->deleted.count == 0) {
        return FZ_OK;
    }
    FZ_VEC(uint32_t) index = {0};
    fz_vec_reserve(&index, (size_t)scan->batch->rows);
    for (int64_t row = 0; row < scan->batch->rows; row++) {
        if (!fz_scan_positions_has(&scan->deleted, scan->first_row + row)) {
            fz_vec_push(&index, (uint32_t)row);
        }
    }
    fz_code code = FZ_OK;
    if (index.count < (size_t)scan->batch->rows) {
        if (!scan->kept) {
            scan->kept = fz_batch_new(scan->schema, scan->options.budget);
        }
        fz_batch_reset(scan->kept);
        code = fz_batch_take(scan->kept, scan->batch, index.data, index.count, err);
        *out = scan->kept;
    }
    fz_vec_deinit(&index);
    return code;
}

static fz_code name_file(const fz_scan *scan, fz_code code, fz_err *err) {
    if (!scan->entry || scan->entry->file.content != FZ_ICEBERG_DATA) {
        return code; // named already
    }
    return fz_err_prepend(err, "data file \"%.*s\"", FZ_STR_ARGS(scan->entry->file.path));
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
        fz_batch *batch = NULL;
        if (code == FZ_OK) {
            code = read_rows(scan, &rows, err);
        }
        if (code == FZ_OK && rows) {
            code = keep_rows(scan, &batch, err);
        }
        if (code != FZ_OK) {
            close_file(scan);
            return name_file(scan, code, err);
        }
        if (rows == 0) {
            close_file(scan);
        } else if (batch->rows) {
            *out = batch;
            return FZ_OK;
        }
    }
}

const fz_iceberg_entry *fz_scan_file(const fz_scan *scan, int64_t *first_row) {
    if (first_row) {
        *first_row = scan->first_row;
    }
    return scan->entry;
}
