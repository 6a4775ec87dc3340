// SPDX-License-Identifier: Apache-2.0
// A store in memory, for tests and for the demo.
#ifndef FZ_IO_STORE_MEMORY_STORE_H
#define FZ_IO_STORE_MEMORY_STORE_H

#include "io/store/store.h"

/** name: of the URI "memory://name". page_size: objects a page of a listing, 0 for 1000.
 * fz_store_free it. */
fz_store *fz_store_memory_new(const char *name, size_t page_size);

#endif
