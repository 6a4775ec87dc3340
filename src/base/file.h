// SPDX-License-Identifier: Apache-2.0
// Local files: whole reads, durable atomic publication, folders.
#ifndef FZ_BASE_FILE_H
#define FZ_BASE_FILE_H

#include "base/buf.h"

/** Append the whole file to `out` (its ceiling holds: LIMIT). */
FZ_CHECKED fz_code fz_file_read(const char *path, fz_buf *out, fz_err *err);
/** Append `size` bytes from `at`; CORRUPT-free: a shorter file is IO. */
FZ_CHECKED fz_code fz_file_read_at(const char *path, int64_t at, size_t size, fz_buf *out,
                                   fz_err *err);
/** Create `path` and its missing parents. Existing is success. */
FZ_CHECKED fz_code fz_file_make_folders(const char *path, fz_err *err);
/** Durable and atomic: temporary file beside it, fsync, rename over it, fsync of the folder.
 * Parents are made. */
FZ_CHECKED fz_code fz_file_replace(const char *path, fz_str body, fz_err *err);
/** As fz_file_replace, but EXISTS if the name is taken (link(2)); never overwrites. */
FZ_CHECKED fz_code fz_file_create(const char *path, fz_str body, fz_err *err);
/** NOT_FOUND if absent. */
FZ_CHECKED fz_code fz_file_remove(const char *path, fz_err *err);
bool fz_file_exists(const char *path);
/** Absolute, `.` and `..` resolved by text, symbolic links kept; relative to `base` (NULL: working
 * directory). fz_free it. */
char *fz_file_absolute(const char *base, const char *path);

#endif
