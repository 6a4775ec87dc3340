// SPDX-License-Identifier: Apache-2.0
// frazil cat: rows of a table as text, JSON lines or CSV.
#include <stdio.h>

#include "app/commands.h"
#include "app/table_arg.h"
#include "base/text/number.h"
#include "base/text/time.h"
#include "table/scan/print.h"
#include "table/scan/scan.h"

/** Snapshot that was main's at a time, by the snapshot-log; 0 if none. */
static int64_t snapshot_as_of(const fz_iceberg_metadata *metadata, int64_t time_ms) {
    int64_t found = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(metadata->root, "snapshot-log"), index, entry) {
        if (fz_json_int_or(entry, "timestamp-ms", INT64_MAX) <= time_ms) {
            found = fz_json_int_or(entry, "snapshot-id", 0);
        }
    }
    return found;
}

static fz_code snapshot_wanted(const fz_arguments *arguments, const fz_iceberg_metadata *metadata,
                               int64_t *out, fz_err *err) {
    const char *snapshot = fz_arguments_find(arguments, "--snapshot");
    const char *as_of = fz_arguments_find(arguments, "--as-of");
    *out = 0;
    if (snapshot) {
        return fz_int_parse(fz_str_from(snapshot), out, err);
    }
    if (as_of) {
        int64_t micros;
        FZ_TRY(fz_timestamp_parse(fz_str_from(as_of), true, &micros, err));
        *out = snapshot_as_of(metadata, fz_floor_div(micros, 1000));
        if (*out == 0) {
            return fz_err_set(err, FZ_NOT_FOUND, "the table had no snapshot at %s", as_of);
        }
    }
    return FZ_OK;
}

static fz_code print_rows(fz_scan *scan, fz_scan_format format, int64_t limit, fz_err *err) {
    fz_scan_printer *printer = fz_scan_printer_new(format, fz_scan_schema(scan));
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_batch *batch = NULL;
    fz_code code = FZ_OK;
    while (limit != 0 && (code = fz_scan_next(scan, &batch, err)) == FZ_OK && batch) {
        int64_t count = limit >= 0 && limit < batch->rows ? limit : batch->rows;
        fz_buf_reset(&text);
        fz_scan_printer_rows(printer, batch, 0, count, &text);
        if (fwrite(text.data, 1, text.size, stdout) != text.size) {
            break; // the reader of our output has enough
        }
        limit -= limit >= 0 ? count : 0;
    }
    fz_buf_reset(&text);
    fz_scan_printer_finish(printer, &text);
    fwrite(text.data ? text.data : (const uint8_t *)"", 1, text.size, stdout);
    fz_scan_printer_free(printer);
    return code;
}

static size_t split_columns(const char *text, FZ_UNUSED fz_arena *arena, fz_str **out) {
    if (!text) {
        return 0;
    }
    fz_str whole = fz_str_from(text);
    size_t count = 1, at = 0;
    for (size_t i = 0; i < whole.size; i++) {
        count += whole.data[i] == ',';
    }
    *out = FZ_ARENA_ARRAY(arena, fz_str, count);
    for (size_t i = 0; i < count; i++) {
        size_t comma = fz_str_find(whole, ',', at);
        (*out)[i] = fz_str_trim(fz_str_slice(whole, at, comma == SIZE_MAX ? whole.size : comma));
        at = comma + 1;
    }
    return count;
}

static fz_code cat(const fz_arguments *arguments, fz_wiring *wiring, const fz_config *config,
                   fz_err *err) {
    const char *format = fz_arguments_find(arguments, "--format");
    const char *limit_text = fz_arguments_find(arguments, "--limit");
    int64_t limit = -1;
    if (limit_text) {
        FZ_TRY(fz_int_parse(fz_str_from(limit_text), &limit, err));
    }
    fz_table_arg table;
    fz_arena arena = {0};
    fz_scan_options options = {0};
    fz_str *columns = NULL;
    fz_scan *scan = NULL;
    fz_code code = fz_table_arg_open(wiring, config, arguments->operands.data[0], &table, err);
    if (code == FZ_OK) {
        code = snapshot_wanted(arguments, table.metadata, &options.snapshot_id, err);
    }
    if (code == FZ_OK) {
        options.column_count =
            split_columns(fz_arguments_find(arguments, "--columns"), &arena, &columns);
        options.columns = columns;
        code = fz_scan_open(fz_scan_files_in(table.store), table.metadata, &options, &scan, err);
    }
    if (code == FZ_OK) {
        fz_scan_format as = arguments->json || (format && strcmp(format, "json") == 0)
                                ? FZ_SCAN_JSON
                            : format && strcmp(format, "csv") == 0 ? FZ_SCAN_CSV
                                                                   : FZ_SCAN_TEXT;
        code = print_rows(scan, as, limit, err);
    }
    fz_scan_free(scan);
    fz_arena_deinit(&arena);
    fz_table_arg_deinit(&table);
    return code;
}

static int cmd_cat(const fz_arguments *arguments) {
    fz_config config;
    if (!fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_wiring wiring;
    fz_wiring_init(&wiring, fz_clock_real());
    fz_err err = {0};
    fz_code code = cat(arguments, &wiring, &config, &err);
    if (code != FZ_OK) {
        fprintf(stderr, "frazil cat: %s\n", fz_err_text(&err));
    }
    fz_wiring_deinit(&wiring);
    fz_config_deinit(&config);
    return code == FZ_OK ? FZ_EXIT_OK : code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
}

static const fz_command_flag flags[] = {
    {"--snapshot", "ID", "rows of this snapshot"},
    {"--as-of", "TIME", "rows as they were at this time"},
    {"--limit", "N", "at most so many rows"},
    {"--columns", "a,b", "these columns only"},
    {"--format", "text|json|csv", "how rows are printed (-o json: JSON lines)"},
    {NULL, NULL, NULL},
};

const fz_command fz_command_cat = {
    .name = "cat",
    .operands = "TABLE",
    .doc = "print rows of a table",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = cmd_cat,
};
