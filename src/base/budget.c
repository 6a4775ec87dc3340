// SPDX-License-Identifier: Apache-2.0
// The memory budget.
#include "base/budget.h"

#include <inttypes.h>

void fz_budget_init(fz_budget *budget, int64_t limit) {
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
    budget->limit = limit;
}

static void raise_peak(fz_budget *budget, int64_t sum) {
    int64_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (sum > peak &&
           !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, sum, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

fz_code fz_budget_charge(fz_budget *budget, int64_t size, const char *what, fz_err *err) {
    FZ_ASSERT(size >= 0);
    if (!budget) {
        return FZ_OK;
    }
    int64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    int64_t sum;
    do {
        if (__builtin_add_overflow(used, size, &sum) ||
            (budget->limit > 0 && sum > budget->limit)) {
            return fz_err_set(err, FZ_LIMIT,
                              "%s needs %" PRId64 " bytes, but %" PRId64
                              " of the memory limit of %" PRId64 " bytes are in use",
                              what, size, used, budget->limit);
        }
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, sum, memory_order_relaxed,
                                                    memory_order_relaxed));
    raise_peak(budget, sum);
    return FZ_OK;
}

void fz_budget_overdraw(fz_budget *budget, int64_t size) {
    FZ_ASSERT(size >= 0);
    if (budget) {
        raise_peak(budget,
                   atomic_fetch_add_explicit(&budget->used, size, memory_order_relaxed) + size);
    }
}

void fz_budget_release(fz_budget *budget, int64_t size) {
    FZ_ASSERT(size >= 0);
    if (budget) {
        int64_t before = atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
        FZ_ASSERT(before >= size);
    }
}

int64_t fz_budget_used(const fz_budget *budget) {
    return budget ? atomic_load_explicit(&budget->used, memory_order_relaxed) : 0;
}
