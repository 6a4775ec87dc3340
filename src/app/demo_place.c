// SPDX-License-Identifier: Apache-2.0
// The demo's folder.
#include "app/demo_place.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"

/** First line of the file that says that a folder is a demo's. */
#define MARK "# written by frazil demo"
#define MARK_FILE "frazil-demo.yaml"
#define RUNS_MAX 100000

static fz_code is_empty(const char *folder, bool *empty, fz_err *err) {
    *empty = true;
    DIR *dir = opendir(folder);
    if (!dir) {
        return errno == ENOENT ? FZ_OK
                               : fz_err_set_errno(err, errno, "cannot look into \"%s\"", folder);
    }
    for (struct dirent *entry; *empty && (entry = readdir(dir)) != NULL;) {
        *empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(dir);
    return FZ_OK;
}

static bool is_marked(const char *path) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text;
    fz_buf_init(&text, 1 << 20, NULL);
    return fz_file_read(path, &text, NULL) == FZ_OK &&
           fz_str_starts_with(fz_buf_view(&text), FZ_STR(MARK));
}

/** The lowest number that no run has taken; the claim is a file, so that two at once get two. */
static fz_code claim_run(fz_demo_place *place, fz_err *err) {
    for (int run = 1; run < RUNS_MAX; run++) {
        char *path = fz_str_printf("%s/runs/%d", place->folder, run);
        fz_code code = fz_file_create(path, FZ_STR(""), err);
        fz_free(path);
        if (code != FZ_EXISTS) {
            place->run = run;
            return code;
        }
    }
    return fz_err_set(err, FZ_LIMIT, "\"%s\" holds %d runs: remove it or give another --dir",
                      place->folder, RUNS_MAX);
}

fz_code fz_demo_place_open(const char *folder, fz_demo_place *out, fz_err *err) {
    memset(out, 0, sizeof *out);
    out->folder = fz_file_absolute(NULL, folder);
    out->configuration = fz_str_printf("%s/" MARK_FILE, out->folder);
    bool empty = false;
    FZ_TRY(is_empty(out->folder, &empty, err));
    if (!empty && !is_marked(out->configuration)) {
        return fz_err_set(err, FZ_INVALID,
                          "\"%s\" is not empty and no demo has made it: give --dir a new folder",
                          out->folder);
    }
    FZ_TRY(fz_file_make_folders(out->folder, err));
    if (empty) {
        FZ_TRY(fz_file_replace(out->configuration, FZ_STR(MARK "\n"), err));
    }
    FZ_TRY(claim_run(out, err));
    out->topic =
        out->run == 1 ? fz_str_dup(FZ_STR("orders")) : fz_str_printf("orders_%d", out->run);
    return FZ_OK;
}

void fz_demo_place_deinit(fz_demo_place *place) {
    fz_free(place->folder);
    fz_free(place->topic);
    fz_free(place->configuration);
    memset(place, 0, sizeof *place);
}

void fz_demo_place_configure(const fz_demo_place *place, const char *brokers, const char *registry,
                             fz_buf *out) {
    fz_buf_printf(out,
                  MARK ", run %d; broker and registry end with it\n"
                       "kafka:\n"
                       "  bootstrap_servers: \"%s\"\n"
                       "  group_id: frazil-demo\n"
                       "schema_registry:\n"
                       "  url: \"%s\"\n"
                       "server:\n"
                       "  listen: off\n"
                       "log:\n"
                       "  level: error\n"
                       "tableflow:\n"
                       "  topic: %s\n"
                       "  catalog:\n"
                       "    type: SQL\n"
                       "    warehouse: ./warehouse\n"
                       "    database: demo\n"
                       "  partitioning: [ \"day(event_time)\" ]\n"
                       "  commit_interval: 2s\n",
                  place->run, brokers, registry, place->topic);
}

fz_code fz_demo_place_keep(const fz_demo_place *place, fz_str configuration, fz_err *err) {
    return fz_file_replace(place->configuration, configuration, err);
}

/** Text between quotes of SQL, Python or the shell. */
static void put_quoted(fz_buf *out, const char *before, const char *text, const char *quote_as,
                       const char *after) {
    fz_buf_append_str(out, fz_str_from(before));
    for (; *text; text++) {
        if (*text == '\'') {
            fz_buf_append_str(out, fz_str_from(quote_as));
        } else {
            fz_buf_append_byte(out, (uint8_t)*text);
        }
    }
    fz_buf_append_str(out, fz_str_from(after));
}

void fz_demo_place_explain(const fz_demo_place *place, const char *program, fz_buf *out) {
    char *table = fz_str_printf("%s/warehouse/demo/%s", place->folder, place->topic);
    char *warehouse = fz_str_printf("%s/warehouse", place->folder);
    fz_buf_append_str(out, FZ_STR("DuckDB (its shell, or duckdb.sql() in Python):\n\n"
                                  "INSTALL iceberg; LOAD iceberg;\n"));
    put_quoted(out,
               "SELECT event_time::DATE AS day, count(*) AS orders, sum(price) AS amount\n"
               "  FROM iceberg_scan('",
               table, "''", "')\n  GROUP BY day ORDER BY day;\n\n");
    fz_buf_append_str(out, FZ_STR("PyIceberg (pip install 'pyiceberg[pyarrow,sql-sqlite]'):\n\n"
                                  "from pyiceberg.catalog.sql import SqlCatalog\n"));
    put_quoted(out, "catalog = SqlCatalog('frazil', uri='sqlite:///", warehouse, "\\'",
               "/catalog.db',\n");
    put_quoted(out, "                     warehouse='file://", warehouse, "\\'", "')\n");
    fz_buf_printf(out,
                  "print(catalog.load_table('demo.%s').scan(row_filter=\"status == 'PAID'\", "
                  "limit=10).to_arrow())\n\n",
                  place->topic);
    fz_buf_append_str(out, FZ_STR("Shell:\n\n"));
    put_quoted(out, "'", program, "'\\''", "' cat --limit 5 ");
    put_quoted(out, "'", table, "'\\''", "'\n");
    fz_free(warehouse);
    fz_free(table);
}
