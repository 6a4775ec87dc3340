// SPDX-License-Identifier: Apache-2.0
// A store on a local or mounted file system: durable, atomic publication of files below one folder.
#ifndef FZ_IO_STORE_LOCAL_STORE_H
#define FZ_IO_STORE_LOCAL_STORE_H

#include "io/store/store.h"

/**
 * Files below `root`, kept exactly as their keys are spelt. A missing root is made, with its
 * parents, by the first object.
 *
 * root       absolute path, or relative to the working directory
 * page_size  objects a page of a listing, 0 for 1000
 *
 * A key that has an empty, "." or ".." part, or is named like an unfinished file, is INVALID.
 * Between processes put, put_if and remove of one folder exclude each other by flock(2) on the
 * folder. Errors: INVALID root is a file.
 */
FZ_CHECKED fz_code fz_store_local_open(const char *root, size_t page_size, fz_store **out,
                                       fz_err *err);

#endif
