// SPDX-License-Identifier: Apache-2.0
// Files below a folder in the order of their keys.
#ifndef FZ_IO_STORE_LOCAL_WALK_H
#define FZ_IO_STORE_LOCAL_WALK_H

#include <sys/stat.h>

#include "base/error.h"
#include "base/str.h"

/** One file; false ends the walk. key and path live until it returns. */
typedef bool (*fz_store_local_visit)(void *context, fz_str key, const char *path,
                                     const struct stat *st);

/**
 * Visit regular files whose key starts with `prefix` and is above `after`, bytewise ascending.
 * Folders are not entered through symbolic links, so that a walk ends; what vanishes meanwhile is
 * left out.
 *
 * Errors: DENIED, IO a folder cannot be read.
 */
FZ_CHECKED fz_code fz_store_local_walk(const char *root, fz_str prefix, fz_str after,
                                       fz_store_local_visit visit, void *context, fz_err *err);

#endif
