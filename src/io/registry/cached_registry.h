// SPDX-License-Identifier: Apache-2.0
// A cache around a registry: schemas are kept for ever, one request however many wait for it.
#ifndef FZ_IO_REGISTRY_CACHED_REGISTRY_H
#define FZ_IO_REGISTRY_CACHED_REGISTRY_H

#include "base/clock.h"
#include "io/registry/registry.h"

/** Zeroed is the default. */
typedef struct fz_registry_cache_options {
    int64_t unknown_retry_ms; // an unknown id is asked for once more after this, 0: 1000, -1: not
    int64_t unknown_keep_ms;  // then "unknown" is remembered for this, 0: 10000
    int64_t failure_keep_ms;  // any other failure is remembered for this, 0: 500
    fz_clock *clock;          // NULL: real
} fz_registry_cache_options;

/**
 * Wraps `inner`, which is taken (freed with it). by_id and by_guid are cached: a schema for ever,
 * also while the registry is down; a failure for a short time. Threads that want the same schema
 * wait for one request. Others pass through. options NULL: defaults.
 */
fz_registry *fz_registry_cached_new(fz_registry *inner, const fz_registry_cache_options *options);

#endif
