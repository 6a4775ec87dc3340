// SPDX-License-Identifier: Apache-2.0
// The log: a record is an event name and typed pairs, one line on standard error.
#ifndef FZ_BASE_LOG_H
#define FZ_BASE_LOG_H

#include "base/str.h"

typedef enum fz_log_level { FZ_LOG_DEBUG, FZ_LOG_INFO, FZ_LOG_WARN, FZ_LOG_ERROR } fz_log_level;
typedef enum fz_log_format { FZ_LOG_TEXT, FZ_LOG_JSON } fz_log_format;

typedef enum fz_kv_kind {
    FZ_KV_KIND_TEXT,
    FZ_KV_KIND_INT,
    FZ_KV_KIND_REAL,
    FZ_KV_KIND_BOOL
} fz_kv_kind;
/** One pair; the unit is the last part of the key (lag_ms, size_bytes). */
typedef struct fz_kv {
    const char *key;
    fz_kv_kind kind;
    fz_str text;
    int64_t integer;
    double real;
} fz_kv;

#define FZ_KV_STR(k, s) ((fz_kv){.key = (k), .kind = FZ_KV_KIND_TEXT, .text = (s)})
#define FZ_KV_TEXT(k, c) ((fz_kv){.key = (k), .kind = FZ_KV_KIND_TEXT, .text = fz_str_from(c)})
#define FZ_KV_INT(k, i) ((fz_kv){.key = (k), .kind = FZ_KV_KIND_INT, .integer = (int64_t)(i)})
#define FZ_KV_REAL(k, r) ((fz_kv){.key = (k), .kind = FZ_KV_KIND_REAL, .real = (r)})
#define FZ_KV_BOOL(k, b) ((fz_kv){.key = (k), .kind = FZ_KV_KIND_BOOL, .integer = (b)})

typedef struct fz_log fz_log;

/** Writes to descriptor `fd` (not closed). */
fz_log *fz_log_new(int fd, fz_log_format format, fz_log_level level);
/** NULL allowed. */
void fz_log_free(fz_log *log);
void fz_log_set(fz_log *log, fz_log_format format, fz_log_level level);
bool fz_log_enabled(const fz_log *log, fz_log_level level);

/**
 * One line: `2026-11-30T20:50:46.123Z info event key=value ...` or the same as a JSON object.
 * Values with spaces, quotes or control characters are quoted. The same event with the same first
 * pair is written at most 5 times a second; what was held back is counted in the next line as
 * suppressed=N. log NULL: nothing. Any thread; one write(2) a line.
 */
void fz_log_write(fz_log *log, fz_log_level level, const char *event, const fz_kv *pairs,
                  size_t count);

#define FZ_LOG(log, level, event, ...)                                                             \
    fz_log_write((log), (level), (event), (const fz_kv[]){__VA_ARGS__},                            \
                 sizeof((const fz_kv[]){__VA_ARGS__}) / sizeof(fz_kv))

#endif
