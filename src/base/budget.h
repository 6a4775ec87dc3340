// SPDX-License-Identifier: Apache-2.0
// The memory budget: everything sized by data is charged to one.
#ifndef FZ_BASE_BUDGET_H
#define FZ_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/error.h"

/** Bytes in use against a limit. Any thread. */
typedef struct fz_budget {
    _Atomic int64_t used;
    _Atomic int64_t peak;
    int64_t limit; // bytes; 0: no limit
} fz_budget;

/** limit in bytes, 0 for none. */
void fz_budget_init(fz_budget *budget, int64_t limit);
/** Take `size` bytes or answer LIMIT, naming `what`, size, used and limit. budget NULL: always OK.
 */
FZ_CHECKED fz_code fz_budget_charge(fz_budget *budget, int64_t size, const char *what, fz_err *err);
/** Take `size` bytes whatever the limit says: for the one thing without which nothing would go on.
 */
void fz_budget_overdraw(fz_budget *budget, int64_t size);
/** Give back what was charged. budget NULL: nothing. */
void fz_budget_release(fz_budget *budget, int64_t size);
int64_t fz_budget_used(const fz_budget *budget);

#endif
