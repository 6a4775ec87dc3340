// SPDX-License-Identifier: Apache-2.0
// A store that fails when told, before or after the effect, around another one.
#ifndef FZ_IO_STORE_FAULT_STORE_H
#define FZ_IO_STORE_FAULT_STORE_H

#include "io/store/store.h"

typedef enum fz_store_fault_when {
    FZ_STORE_FAULT_BEFORE, // the call does nothing
    FZ_STORE_FAULT_AFTER,  // the call does its work, then answers the failure
} fz_store_fault_when;

/** Any kind of call. */
#define FZ_STORE_FAULT_ANY FZ_STORE_CALLS

/** Wraps `inner`, which is taken (freed with it). */
fz_store *fz_store_fault_new(fz_store *inner);
/**
 * Let call number `n` from now (1: the next) of this kind fail once with `code`. One plan at a
 * time; n 0: none. times: how many calls in a row fail, from number n.
 */
void fz_store_fault_plan(fz_store *store, fz_store_call call, uint64_t n, uint64_t times,
                         fz_store_fault_when when, fz_code code);
/** Calls of a kind (or FZ_STORE_FAULT_ANY) since the last plan: a sweep ends when a run stays below
 * n. */
uint64_t fz_store_fault_count(const fz_store *store, fz_store_call call);
/** Has the plan struck? */
bool fz_store_fault_struck(const fz_store *store);

#endif
