// SPDX-License-Identifier: Apache-2.0
// A SQLite connection with our error codes: statements with text parameters, transactions whose end
// is known or not.
#ifndef FZ_TABLE_CATALOG_SQLITE_H
#define FZ_TABLE_CATALOG_SQLITE_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/** Called for each row. Not OK ends the statement with that code. */
typedef fz_code (*fz_sqlite_row_fn)(void *context, sqlite3_stmt *row, fz_err *err);

FZ_CHECKED fz_code fz_sqlite_open(const char *path, int busy_timeout_ms, sqlite3 **out,
                                  fz_err *err);
/**
 * Run one statement.
 *
 * texts  [count] bound to ?1..., data NULL is bound as NULL
 * each   may be NULL
 * Errors: EXISTS unique violation; UNAVAILABLE busy; CORRUPT; DENIED; IO; what `each` answers.
 */
FZ_CHECKED fz_code fz_sqlite_run(sqlite3 *db, const char *sql, const fz_str *texts, size_t count,
                                 fz_sqlite_row_fn each, void *context, fz_err *err);
/** BEGIN IMMEDIATE: no other writer until the end. */
FZ_CHECKED fz_code fz_sqlite_begin(sqlite3 *db, fz_err *err);
/** COMMIT. UNAVAILABLE: rolled back for certain; UNKNOWN_OUTCOME: may or may not hold. */
FZ_CHECKED fz_code fz_sqlite_commit(sqlite3 *db, fz_err *err);
void fz_sqlite_rollback(sqlite3 *db);
/** Column as text, a view until the next step. */
fz_str fz_sqlite_text(sqlite3_stmt *row, int column);

#endif
