// SPDX-License-Identifier: Apache-2.0
// What a command that works on topics and tables needs.
#include "app/host.h"

#include <unistd.h>

#include "base/memory.h"
#include "base/rand.h"

fz_code fz_host_init(fz_host *host, const fz_config *config, fz_err *err) {
    memset(host, 0, sizeof *host);
    host->ready = true;
    fz_memory_tune();
    fz_clock *clock = fz_clock_real();
    fz_wiring_init(&host->wiring, clock);
    host->log = fz_log_new(STDERR_FILENO, config->log.format, config->log.level);
    // the Kafka client's queues have a quarter (wiring.c); an eighth is what the allocator loses
    fz_budget_init(&host->budget, config->memory_limit / 8 * 5);
    char uuid[37];
    fz_rand_uuid(uuid);
    for (size_t from = 0, to = 0; from < 36; from++) {
        if (uuid[from] != '-') {
            host->instance[to++] = uuid[from];
        }
    }
    host->instance[16] = 0;
    host->ingest = (fz_ingest_host){
        .config = config,
        .clock = clock,
        .log = host->log,
        .budget = &host->budget,
        .instance = fz_str_from(host->instance),
        .until_ms = -1,
        .context = &host->wiring,
        .catalog = fz_wiring_catalog,
        .store = fz_wiring_store,
        .registry = fz_wiring_registry,
        .producer = fz_wiring_producer,
    };
    int32_t partitions = (int32_t)(config->entry_count > 0 ? config->entry_count * 4 : 4);
    return fz_wiring_source(config, host->log, partitions, &host->ingest.source, err);
}

void fz_host_deinit(fz_host *host) {
    if (!host->ready) {
        return;
    }
    fz_source_free(host->ingest.source);
    fz_wiring_deinit(&host->wiring);
    fz_log_free(host->log);
    host->ready = false;
}
