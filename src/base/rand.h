// SPDX-License-Identifier: Apache-2.0
// Random bytes of the system, and UUIDs.
#ifndef FZ_BASE_RAND_H
#define FZ_BASE_RAND_H

#include "base/attr.h"

/** From getrandom(2); never fails. Any thread. */
void fz_rand_bytes(void *out, size_t size);
uint64_t fz_rand_u64(void);
/** Uniform in [0, below); below > 0. */
uint64_t fz_rand_below(uint64_t below);
/** 36 characters and a zero byte: a random version 4 UUID in lower case. */
void fz_rand_uuid(char out[37]);

#endif
