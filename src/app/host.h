// SPDX-License-Identifier: Apache-2.0
// What a command that works on topics and tables needs: log, memory budget, Kafka, catalogs,
// stores, registries.
#ifndef FZ_APP_HOST_H
#define FZ_APP_HOST_H

#include "app/wiring.h"

typedef struct fz_host {
    fz_ingest_host ingest;
    fz_wiring wiring;
    fz_budget budget;
    fz_log *log;
    char instance[33];
    bool ready;
} fz_host;

/** The configuration outlives it. deinit it also after a failure. */
FZ_CHECKED fz_code fz_host_init(fz_host *host, const fz_config *config, fz_err *err);
void fz_host_deinit(fz_host *host);

#endif
