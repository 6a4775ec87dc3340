// SPDX-License-Identifier: Apache-2.0
// Holds rows in a batch of its own, sorts them, and writes them in small pieces.
#include "format/parquet/sorter.h"

#include "base/memory.h"

/** Of a run without a budget, and at most. */
#define RUN_MAX ((int64_t)64 << 20)
/** Rows that the writer is given at once. */
#define PIECE_ROWS 4096

struct fz_parquet_sorter {
    const fz_sort_order *order;
    fz_schema *schema;
    fz_budget *budget;
    fz_batch *held; // NULL: nothing
    bool overdraw;  // the next rows are held at nobody's charge
    int64_t run_size;
    int64_t runs;
    bool unsorted; // memory for the keys was refused once
};

fz_parquet_sorter *fz_parquet_sorter_new(const fz_sort_order *order, fz_schema *schema,
                                         fz_budget *budget) {
    fz_parquet_sorter *sorter = (fz_parquet_sorter *)fz_calloc(1, sizeof *sorter);
    sorter->order = order;
    sorter->schema = fz_schema_ref(schema);
    sorter->budget = budget;
    sorter->run_size = RUN_MAX;
    if (budget && budget->limit > 0 && budget->limit / 8 < RUN_MAX) {
        sorter->run_size = budget->limit / 8;
    }
    return sorter;
}

void fz_parquet_sorter_free(fz_parquet_sorter *sorter) {
    if (sorter) {
        fz_batch_free(sorter->held);
        fz_schema_unref(sorter->schema);
        fz_free(sorter);
    }
}

int64_t fz_parquet_sorter_held(const fz_parquet_sorter *sorter) {
    return sorter->held ? fz_batch_size(sorter->held) : 0;
}

bool fz_parquet_sorter_is_sorted(const fz_parquet_sorter *sorter) {
    return sorter->runs <= 1 && !sorter->unsorted;
}

static fz_code write_piece(fz_parquet_sorter *sorter, fz_parquet_writer *writer,
                           const uint32_t *index, int64_t count, fz_err *err) {
    fz_code code = fz_parquet_writer_append_rows(writer, sorter->held, index, count, err);
    if (code == FZ_LIMIT && !fz_parquet_writer_failed(writer)) {
        FZ_TRY(fz_parquet_writer_flush(writer, err));
        code = fz_parquet_writer_append_rows(writer, sorter->held, index, count, err);
    }
    return code;
}

static fz_code write_run(fz_parquet_sorter *sorter, fz_parquet_writer *writer, uint32_t *index,
                         fz_err *err) {
    int64_t rows = sorter->held->rows;
    if (fz_row_sort(sorter->order, sorter->held, index, NULL) != FZ_OK) {
        sorter->unsorted = true;
        for (int64_t i = 0; i < rows; i++) {
            index[i] = (uint32_t)i;
        }
    }
    if (sorter->runs++ > 0) {
        FZ_TRY(fz_parquet_writer_flush(writer, err)); // no row group of two runs
    }
    for (int64_t done = 0; done < rows; done += PIECE_ROWS) {
        int64_t count = rows - done < PIECE_ROWS ? rows - done : PIECE_ROWS;
        FZ_TRY(write_piece(sorter, writer, index + done, count, err));
    }
    return FZ_OK;
}

fz_code fz_parquet_sorter_end(fz_parquet_sorter *sorter, fz_parquet_writer *writer, fz_err *err) {
    if (!sorter->held || sorter->held->rows == 0) {
        return FZ_OK;
    }
    uint32_t *index = (uint32_t *)fz_calloc((size_t)sorter->held->rows, sizeof *index);
    fz_code code = write_run(sorter, writer, index, err);
    fz_free(index);
    fz_batch_free(sorter->held);
    sorter->held = NULL;
    return code;
}

static fz_code take(fz_parquet_sorter *sorter, const fz_batch *batch, const uint32_t *index,
                    int64_t count, fz_err *err) {
    if (index) {
        return fz_batch_take(sorter->held, batch, index, (size_t)count, err);
    }
    uint32_t *all = (uint32_t *)fz_calloc((size_t)count + 1, sizeof *all);
    for (int64_t i = 0; i < count; i++) {
        all[i] = (uint32_t)i;
    }
    fz_code code = fz_batch_take(sorter->held, batch, all, (size_t)count, err);
    fz_free(all);
    return code;
}

void fz_parquet_sorter_overdraw(fz_parquet_sorter *sorter) {
    sorter->overdraw = true;
}

fz_code fz_parquet_sorter_append(fz_parquet_sorter *sorter, fz_parquet_writer *writer,
                                 const fz_batch *batch, const uint32_t *index, int64_t count,
                                 fz_err *err) {
    if (fz_parquet_sorter_held(sorter) >= sorter->run_size) {
        FZ_TRY(fz_parquet_sorter_end(sorter, writer, err));
    }
    if (!sorter->held) {
        sorter->held = fz_batch_new(sorter->schema, sorter->overdraw ? NULL : sorter->budget);
        sorter->overdraw = false;
    }
    return take(sorter, batch, index, count, err);
}
