// SPDX-License-Identifier: Apache-2.0
// Commits of maintenance through the same loop as appends.
#include "flow/maintain/replace.h"

#include "flow/maintain/reach.h"

/** A replace that finds no answer is given up; the next round plans anew. */
#define DEADLINE_MS (10 * 60000)

typedef struct limit {
    const fz_maintain_options *options;
    int64_t until_ms; // monotonic
} limit;

static bool stop(void *context) {
    const limit *l = (const limit *)context;
    return fz_reach_stopped(l->options) || fz_clock_mono_ms(l->options->table.clock) > l->until_ms;
}

static fz_code build(void *context, const fz_iceberg_metadata *base,
                     const fz_iceberg_append_options *options, fz_iceberg_change *change,
                     fz_err *err) {
    const fz_replace *replace = (const fz_replace *)context;
    return fz_iceberg_rewrite_build(replace->rewrite, replace->added, base, options, change, err);
}

fz_code fz_replace_commit(const fz_maintain_options *options, const fz_replace *replace,
                          fz_maintain_report *report, bool *sent, fz_err *err) {
    const fz_commit_batch batch = {.op = "replace",
                                   .uuid = replace->uuid,
                                   .files = replace->added,
                                   .commit = replace->commit,
                                   .oldest_file_ms = replace->oldest_file_ms,
                                   .schema_id = FZ_ICEBERG_NONE,
                                   .build = build,
                                   .build_context = (void *)replace,
                                   .reason = replace->reason};
    limit l = {options, fz_clock_mono_ms(options->table.clock) + DEADLINE_MS};
    fz_commit_options how;
    fz_commit_options_init(&how);
    how.backoff_first_ms = 20; // appends are frequent: be back before the next
    how.stop = stop;
    how.stop_context = &l;
    how.log = NULL; // conflicts are normal here; the caller tells the end
    fz_commit_outcome outcome;
    fz_commit_run(&options->table, &batch, &how, &outcome);
    report->conflicts += outcome.conflicts;
    *sent = outcome.attempts > 0;
    fz_commit_result result = outcome.result;
    fz_err why = outcome.err;
    fz_commit_outcome_deinit(&outcome);
    switch (result) {
    case FZ_COMMIT_DONE:
        return FZ_OK;
    case FZ_COMMIT_FORGOTTEN:
        return fz_err_set(err, FZ_CONFLICT, "%s", fz_err_text(&why));
    case FZ_COMMIT_SUSPENDED:
        if (err) {
            *err = why;
        }
        return why.code == FZ_OK ? FZ_INTERNAL : why.code;
    case FZ_COMMIT_STOPPED:
        break;
    }
    return fz_err_set(err, FZ_CANCELLED, "told to stop, or no answer for %d minutes",
                      DEADLINE_MS / 60000);
}
