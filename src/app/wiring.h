// SPDX-License-Identifier: Apache-2.0
// The lists of implementations: which catalog, store and registry a configuration means.
#ifndef FZ_APP_WIRING_H
#define FZ_APP_WIRING_H

#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "conf/config.h"
#include "flow/ingest/stream.h"

/** What was opened, shared by all who ask for the same. Any thread. */
typedef struct fz_wiring {
    fz_mutex mutex;
    fz_map catalogs;
    fz_map stores;
    fz_map registries;
    fz_clock *clock;
} fz_wiring;

void fz_wiring_init(fz_wiring *wiring, fz_clock *clock);
/** Frees all that was opened; nothing may use it any more. */
void fz_wiring_deinit(fz_wiring *wiring);

/** Borrowed. UNSUPPORTED kind "unsupported": this build has no such catalog. context is the wiring.
 */
FZ_CHECKED fz_code fz_wiring_catalog(void *context, const fz_config_catalog *config,
                                     fz_catalog **out, fz_err *err);
/** The store that holds a location, rooted at its file system or bucket. */
FZ_CHECKED fz_code fz_wiring_store(void *context, const fz_config_storage *config, fz_str location,
                                   fz_store **out, fz_err *err);
FZ_CHECKED fz_code fz_wiring_registry(void *context, const fz_config_registry *config,
                                      fz_registry **out, fz_err *err);

/** The Kafka consumer of a configuration; fz_source_free it. */
FZ_CHECKED fz_code fz_wiring_source(const fz_config *config, fz_log *log, int32_t partitions,
                                    fz_source **out, fz_err *err);

/** A producer to the same brokers; fz_kafka_producer_free it. */
FZ_CHECKED fz_code fz_wiring_producer(void *context, const fz_config *config, fz_log *log,
                                      fz_kafka_producer **out, fz_err *err);

#endif
