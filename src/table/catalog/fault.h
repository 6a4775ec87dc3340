// SPDX-License-Identifier: Apache-2.0
// A catalog that fails when told, before or after the effect, around another one.
#ifndef FZ_TABLE_CATALOG_FAULT_H
#define FZ_TABLE_CATALOG_FAULT_H

#include "table/catalog/catalog.h"

/** Kinds of calls that can fail. */
typedef enum fz_catalog_call {
    FZ_CATALOG_CALL_LOAD,
    FZ_CATALOG_CALL_CREATE,
    FZ_CATALOG_CALL_COMMIT,
    FZ_CATALOG_CALL_OTHER,
    FZ_CATALOG_CALL_ANY, // in a plan: any of them
} fz_catalog_call;

/** Wraps `inner`, which is taken (freed with it). */
fz_catalog *fz_catalog_fault_new(fz_catalog *inner);
/**
 * Let call number `n` from now (1: the next) of this kind, and the `times - 1` after it, fail with
 * `code`. One plan at a time; n 0: none.
 *
 * after  true: the call does its work, then answers the failure
 */
void fz_catalog_fault_plan(fz_catalog *catalog, fz_catalog_call call, uint64_t n, uint64_t times,
                           bool after, fz_code code);
/** Calls of the planned kind since the plan. */
uint64_t fz_catalog_fault_count(const fz_catalog *catalog);
/** Called before each commit or create is passed on (an interloper's chance); NULL: none. */
void fz_catalog_fault_hook(fz_catalog *catalog, void (*hook)(void *context), void *context);

#endif
