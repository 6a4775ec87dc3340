// SPDX-License-Identifier: Apache-2.0
// A schedule for each table, told of the metadata after commits.
#include "flow/ingest/keeper.h"

#include "base/memory.h"
#include "flow/ingest/record_tables.h"
#include "flow/maintain/maintain.h"

typedef struct kept {
    fz_record_table *table;    // NULL: the stream's own
    fz_iceberg_metadata *seen; // that maintenance was told of last
    fz_maintain *maintain;
    fz_maintain_job job; // that runs on the pool
} kept;

struct fz_keeper {
    fz_stream *stream;
    fz_pool *pool;
    FZ_VEC(kept *) tables; // the stream's own first
};

static kept *kept_new(fz_keeper *keeper, fz_record_table *table) {
    kept *k = (kept *)fz_calloc(1, sizeof *k);
    k->table = table;
    fz_vec_push(&keeper->tables, k);
    return k;
}

fz_keeper *fz_keeper_new(fz_stream *stream, fz_pool *pool) {
    fz_keeper *keeper = (fz_keeper *)fz_calloc(1, sizeof *keeper);
    keeper->stream = stream;
    keeper->pool = pool;
    kept_new(keeper, NULL);
    return keeper;
}

void fz_keeper_free(fz_keeper *keeper) {
    if (!keeper) {
        return;
    }
    for (size_t i = 0; i < keeper->tables.count; i++) {
        kept *k = keeper->tables.data[i];
        fz_maintain_free(k->maintain);
        fz_iceberg_metadata_unref(k->seen);
        fz_free(k);
    }
    fz_vec_deinit(&keeper->tables);
    fz_free(keeper);
}

static bool stream_stops(void *context) {
    return ((const fz_stream *)context)->stop;
}

/** Tables of record types that came since; they stay as long as the stream. */
static void find_tables(fz_keeper *keeper) {
    fz_stream *stream = keeper->stream;
    fz_mutex_lock(&stream->mutex);
    while (keeper->tables.count < stream->tables.count + 1) {
        kept_new(keeper, stream->tables.data[keeper->tables.count - 1]);
    }
    fz_mutex_unlock(&stream->mutex);
}

/** A reference, NULL: as before. */
static fz_iceberg_metadata *newer(const fz_keeper *keeper, const kept *k) {
    fz_mutex_lock(&keeper->stream->mutex);
    fz_iceberg_metadata *metadata = k->table ? k->table->metadata : keeper->stream->metadata;
    metadata = metadata && metadata != k->seen ? fz_iceberg_metadata_ref(metadata) : NULL;
    fz_mutex_unlock(&keeper->stream->mutex);
    return metadata;
}

/** false: its store cannot be had now. */
static bool start(const fz_keeper *keeper, kept *k, int64_t now) {
    fz_stream *stream = keeper->stream;
    const fz_ingest_host *host = stream->host;
    fz_maintain_options options = {.table = stream->table,
                                   .config = stream->entry->maintenance,
                                   .files = stream->entry->files,
                                   .budget = host->budget,
                                   .log = host->log,
                                   .stop = stream_stops,
                                   .stop_context = stream};
    if (k->table) {
        options.table.name = (fz_catalog_name){stream->entry->catalog.items[0].database,
                                               fz_str_from(k->table->name)};
        options.config.remove_orphans.enabled = false;
        if (host->store(host->context, &stream->entry->storage, fz_iceberg_metadata_base(k->seen),
                        &options.table.store, NULL) != FZ_OK) {
            return false;
        }
    }
    k->maintain = fz_maintain_new(&options, now);
    return true;
}

static void run_job(void *arg) {
    kept *k = (kept *)arg;
    fz_maintain_run(k->maintain, k->job);
}

static void tick(fz_keeper *keeper, kept *k, int64_t now) {
    fz_iceberg_metadata *metadata = newer(keeper, k);
    if (metadata) {
        fz_iceberg_metadata_unref(k->seen);
        k->seen = metadata;
    }
    if (!k->seen || (!k->maintain && !start(keeper, k, now))) {
        return;
    }
    if (metadata) {
        fz_maintain_saw(k->maintain, metadata);
    }
    fz_maintain_job job = fz_maintain_tick(k->maintain, now);
    if (job != FZ_MAINTAIN_NONE) {
        k->job = job;
        fz_pool_submit(keeper->pool, run_job, k);
    }
}

void fz_keeper_tick(fz_keeper *keeper) {
    int64_t now = fz_clock_mono_ms(keeper->stream->host->clock);
    find_tables(keeper);
    for (size_t i = 0; i < keeper->tables.count; i++) {
        tick(keeper, keeper->tables.data[i], now);
    }
}
