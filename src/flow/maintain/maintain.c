// SPDX-License-Identifier: Apache-2.0
// When which job is due, and running it.
#include "flow/maintain/maintain.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "base/rand.h"

/** After the start, so that a short run does no maintenance. */
#define FIRST_MS 60000
/** A job that failed is tried again after this, doubled each time up to its interval. */
#define AGAIN_MS 30000
/** Between two jobs of one table that were due for their number. */
#define PRESSED_MS 5000

typedef struct schedule {
    bool enabled;
    int64_t interval_ms;
    int64_t due_ms;   // monotonic
    int64_t failures; // in a row
    int64_t last_ended_ms;
} schedule;

struct fz_maintain {
    fz_maintain_options options;
    schedule jobs[FZ_MAINTAIN_JOBS];
    _Atomic bool running;
    _Atomic bool failed; // the job that ended last
    fz_maintain_job current;
    _Atomic int64_t snapshots; // of the table, as seen last
    _Atomic int64_t manifests; // of main
    _Atomic int64_t merged;    // manifests after the last merge
};

const char *fz_maintain_job_name(fz_maintain_job job) {
    static const char *const names[] = {"none", "expire", "manifests", "compact", "orphans"};
    return (size_t)job < FZ_COUNT(names) ? names[job] : "?";
}

fz_code fz_maintain_do(fz_maintain_job job, const fz_maintain_options *options,
                       fz_maintain_report *report, fz_err *err) {
    switch (job) {
    case FZ_MAINTAIN_EXPIRE:
        return fz_maintain_expire(options, report, err);
    case FZ_MAINTAIN_MANIFESTS:
        return fz_maintain_manifests(options, report, err);
    case FZ_MAINTAIN_COMPACT:
        return fz_maintain_compact(options, report, err);
    case FZ_MAINTAIN_ORPHANS:
        return fz_maintain_orphans(options, report, err);
    case FZ_MAINTAIN_NONE:
    case FZ_MAINTAIN_JOBS:
        break;
    }
    return FZ_OK;
}

static void plan_job(fz_maintain *maintain, fz_maintain_job job, bool enabled, int64_t interval_ms,
                     int64_t now_ms) {
    schedule *s = &maintain->jobs[job];
    s->enabled = enabled && maintain->options.config.enabled;
    s->interval_ms = interval_ms;
    int64_t first = interval_ms < FIRST_MS ? interval_ms : FIRST_MS;
    // spread over tables and processes
    s->due_ms = now_ms + first + (int64_t)fz_rand_below((uint64_t)(first / 2 + 1));
    s->last_ended_ms = now_ms;
}

fz_maintain *fz_maintain_new(const fz_maintain_options *options, int64_t now_ms) {
    fz_maintain *maintain = (fz_maintain *)fz_calloc(1, sizeof *maintain);
    maintain->options = *options;
    const fz_config_maintenance *config = &options->config;
    plan_job(maintain, FZ_MAINTAIN_EXPIRE, config->expire_snapshots.enabled,
             config->expire_snapshots.interval_ms, now_ms);
    plan_job(maintain, FZ_MAINTAIN_MANIFESTS, config->rewrite_manifests.enabled,
             config->rewrite_manifests.interval_ms, now_ms);
    plan_job(maintain, FZ_MAINTAIN_COMPACT, config->compaction.enabled,
             config->compaction.interval_ms, now_ms);
    plan_job(maintain, FZ_MAINTAIN_ORPHANS, config->remove_orphans.enabled,
             config->remove_orphans.interval_ms, now_ms);
    return maintain;
}

void fz_maintain_free(fz_maintain *maintain) {
    if (maintain) {
        FZ_ASSERT(!maintain->running);
        fz_free(maintain);
    }
}

/** A count in a summary, 0 if it tells none. */
static int64_t count_of(const fz_iceberg_snapshot *snapshot, const char *key) {
    fz_str text = fz_iceberg_snapshot_summary(snapshot, key);
    int64_t count = 0;
    for (size_t i = 0; i < text.size && i < 15 && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        count = count * 10 + (text.data[i] - '0');
    }
    return count;
}

void fz_maintain_saw(fz_maintain *maintain, const fz_iceberg_metadata *metadata) {
    fz_iceberg_snapshot main;
    maintain->snapshots = (int64_t)fz_iceberg_metadata_snapshot_count(metadata);
    if (fz_iceberg_metadata_main(metadata, &main)) {
        int64_t count = count_of(&main, "manifests-created") + count_of(&main, "manifests-kept");
        maintain->manifests = count;
        if (count < maintain->merged) {
            maintain->merged = count;
        }
    }
}

bool fz_maintain_is_running(const fz_maintain *maintain) {
    return maintain->running;
}

/** Due by number before its time: metadata and manifest lists are read and written at each commit
 * (R28). */
static bool is_pressed(const fz_maintain *maintain, fz_maintain_job job) {
    const fz_config_maintenance *config = &maintain->options.config;
    if (job == FZ_MAINTAIN_EXPIRE) {
        int64_t most = config->expire_snapshots.max_count;
        return maintain->snapshots > most + (most / 4 > 10 ? most / 4 : 10);
    }
    if (job == FZ_MAINTAIN_MANIFESTS) {
        return maintain->manifests - maintain->merged >= 2 * config->rewrite_manifests.min_count;
    }
    return false;
}

/** What the job that ended says about its next time. */
static void settle(fz_maintain *maintain, int64_t now_ms) {
    schedule *s = &maintain->jobs[maintain->current];
    maintain->current = FZ_MAINTAIN_NONE;
    s->last_ended_ms = now_ms;
    s->failures = maintain->failed ? s->failures + 1 : 0;
    int64_t wait = s->interval_ms;
    if (s->failures > 0) {
        int64_t again = AGAIN_MS << (s->failures < 12 ? s->failures - 1 : 11);
        wait = again < wait ? again : wait;
    }
    s->due_ms = now_ms + wait;
}

fz_maintain_job fz_maintain_tick(fz_maintain *maintain, int64_t now_ms) {
    if (maintain->running) {
        return FZ_MAINTAIN_NONE;
    }
    if (maintain->current != FZ_MAINTAIN_NONE) {
        settle(maintain, now_ms);
    }
    for (int job = FZ_MAINTAIN_EXPIRE; job < FZ_MAINTAIN_JOBS; job++) {
        const schedule *s = &maintain->jobs[job];
        int64_t since = now_ms - s->last_ended_ms;
        bool pressed =
            s->failures == 0 && since >= PRESSED_MS && is_pressed(maintain, (fz_maintain_job)job);
        if (s->enabled && (now_ms >= s->due_ms || pressed)) {
            maintain->current = (fz_maintain_job)job;
            maintain->running = true;
            return maintain->current;
        }
    }
    return FZ_MAINTAIN_NONE;
}

static void log_end(const fz_maintain *maintain, fz_maintain_job job, const fz_maintain_report *r,
                    fz_code code, const fz_err *err, int64_t took_ms) {
    fz_log *log = maintain->options.log;
    fz_str table = maintain->options.table.name.table;
    const char *name = fz_maintain_job_name(job);
    if (code != FZ_OK) {
        FZ_LOG(log, code == FZ_CANCELLED || code == FZ_CONFLICT ? FZ_LOG_INFO : FZ_LOG_WARN,
               "maintenance_failed", FZ_KV_STR("table", table), FZ_KV_TEXT("job", name),
               FZ_KV_TEXT("error", fz_err_text(err)), FZ_KV_INT("took_ms", took_ms));
        return;
    }
    int64_t work = r->snapshots + r->refs + r->manifests_before + r->files_in + r->orphans;
    if (work == 0) {
        FZ_LOG(log, FZ_LOG_DEBUG, "maintenance_idle", FZ_KV_STR("table", table),
               FZ_KV_TEXT("job", name), FZ_KV_TEXT("reason", r->skipped),
               FZ_KV_INT("took_ms", took_ms));
        return;
    }
    FZ_LOG(log, FZ_LOG_INFO, "maintenance", FZ_KV_STR("table", table), FZ_KV_TEXT("job", name),
           FZ_KV_INT("snapshots", r->snapshots),
           FZ_KV_INT("data_files_deleted", r->data_files_deleted),
           FZ_KV_INT("metadata_files_deleted", r->manifests_deleted + r->lists_deleted),
           FZ_KV_INT("manifests_before", r->manifests_before),
           FZ_KV_INT("manifests_after", r->manifests_after), FZ_KV_INT("files_in", r->files_in),
           FZ_KV_INT("files_out", r->files_out), FZ_KV_INT("bytes_in", r->bytes_in),
           FZ_KV_INT("bytes_out", r->bytes_out), FZ_KV_INT("orphans", r->orphans),
           FZ_KV_INT("conflicts", r->conflicts), FZ_KV_INT("took_ms", took_ms));
}

void fz_maintain_run(fz_maintain *maintain, fz_maintain_job job) {
    fz_clock *clock = maintain->options.table.clock;
    int64_t started_ms = fz_clock_mono_ms(clock);
    fz_maintain_report report = {0};
    fz_err err = {0};
    fz_code code = fz_maintain_do(job, &maintain->options, &report, &err);
    log_end(maintain, job, &report, code, &err, fz_clock_mono_ms(clock) - started_ms);
    if (job == FZ_MAINTAIN_MANIFESTS && code == FZ_OK && report.manifests_before > 0) {
        maintain->manifests = maintain->merged = report.manifests_after;
    } else if (job == FZ_MAINTAIN_MANIFESTS && code == FZ_OK) {
        maintain->merged = maintain->manifests; // nothing to merge: not pressed by these
    }
    if (job == FZ_MAINTAIN_EXPIRE && code == FZ_OK) {
        maintain->snapshots = 0; // until it is seen again
    }
    maintain->failed = code != FZ_OK && code != FZ_CANCELLED;
    maintain->running = false;
}
