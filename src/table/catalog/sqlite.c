// SPDX-License-Identifier: Apache-2.0
// SQLite behind our error codes.
#include "table/catalog/sqlite.h"

#include "base/file.h"
#include "base/memory.h"

static fz_code code_of(int rc) {
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return FZ_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return FZ_UNAVAILABLE;
    case SQLITE_CONSTRAINT:
        return FZ_EXISTS;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return FZ_CORRUPT;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
        return FZ_DENIED;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return FZ_IO;
    default:
        return FZ_INTERNAL;
    }
}

static fz_code fail(sqlite3 *db, int rc, const char *what, fz_err *err) {
    return fz_err_set(err, code_of(rc), "catalog database: %s: %s", what,
                      db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

fz_code fz_sqlite_open(const char *path, int busy_timeout_ms, sqlite3 **out, fz_err *err) {
    fz_str text = fz_str_from(path);
    size_t slash = 0;
    for (size_t i = 0; i < text.size; i++) {
        slash = text.data[i] == '/' ? i : slash;
    }
    if (slash > 0) {
        char *folder = fz_str_dup(fz_str_slice(text, 0, slash));
        fz_code made = fz_file_make_folders(folder, err);
        fz_free(folder);
        FZ_TRY(made);
    }
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    if (rc != SQLITE_OK) {
        fz_code code = fail(db, rc, path, err);
        sqlite3_close(db);
        return code;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, busy_timeout_ms);
    *out = db;
    return FZ_OK;
}

fz_code fz_sqlite_run(sqlite3 *db, const char *sql, const fz_str *texts, size_t count,
                      fz_sqlite_row_fn each, void *context, fz_err *err) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK) {
        return fail(db, rc, "prepare", err);
    }
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = texts[i].data ? sqlite3_bind_text(statement, (int)i + 1, texts[i].data,
                                               (int)texts[i].size, SQLITE_TRANSIENT)
                           : sqlite3_bind_null(statement, (int)i + 1);
    }
    fz_code code = rc == SQLITE_OK ? FZ_OK : fail(db, rc, "bind", err);
    while (code == FZ_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        code = each ? each(context, statement, err) : FZ_OK;
    }
    if (code == FZ_OK && rc != SQLITE_DONE) {
        code = fail(db, rc, "step", err);
    }
    sqlite3_finalize(statement);
    return code;
}

fz_code fz_sqlite_begin(sqlite3 *db, fz_err *err) {
    return fz_sqlite_run(db, "BEGIN IMMEDIATE", NULL, 0, NULL, NULL, err);
}

fz_code fz_sqlite_commit(sqlite3 *db, fz_err *err) {
    int rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        return FZ_OK;
    }
    fz_code code = fail(db, rc, "commit", err);
    if (sqlite3_get_autocommit(db) == 0) {
        fz_sqlite_rollback(db);
    }
    if (code == FZ_UNAVAILABLE) {
        return code; // busy: the transaction was still open, now it is rolled back
    }
    // A failed write or sync at this place leaves it to the next opener's journal which way it
    // went.
    if (err) {
        err->code = FZ_UNKNOWN_OUTCOME;
    }
    return FZ_UNKNOWN_OUTCOME;
}

void fz_sqlite_rollback(sqlite3 *db) {
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

fz_str fz_sqlite_text(sqlite3_stmt *row, int column) {
    const unsigned char *text = sqlite3_column_text(row, column);
    return text ? fz_str_make(text, (size_t)sqlite3_column_bytes(row, column)) : (fz_str){0};
}
