// SPDX-License-Identifier: Apache-2.0
// The lane's thread: commands, cuts, records.
#include "flow/ingest/lane.h"

#include <stdio.h>

#include "base/memory.h"
#include "flow/ingest/rows.h"

/** Records taken from a reader at a time. */
#define FETCH_RECORDS 4096
/** Longest sleep when nothing waits. */
#define IDLE_MS 50

/** A stream of which the lane holds partitions. */
typedef struct lane_stream {
    fz_stream *stream;
    fz_rows *rows;
    FZ_VEC(fz_stream_part *) parts;
    int64_t cut_number; // last cut given
    bool broken;        // rows were lost: nothing more until detached
} lane_stream;

typedef enum lane_order { LANE_ATTACH, LANE_STOP, LANE_DETACH, LANE_END } lane_order;

typedef struct lane_command {
    lane_order order;
    fz_stream *stream;
    fz_stream_part *part; // DETACH: NULL for all
} lane_command;

struct fz_lane {
    const fz_ingest_host *host;
    int index;
    fz_thread thread;
    fz_mutex mutex; // command, pending, awake
    fz_cond cond;   // both ways
    lane_command command;
    bool pending;
    bool awake; // look again before sleeping
    FZ_VEC(lane_stream *) streams;
};

static lane_stream *stream_find(const fz_lane *lane, const fz_stream *stream) {
    for (size_t i = 0; i < lane->streams.count; i++) {
        if (lane->streams.data[i]->stream == stream) {
            return lane->streams.data[i];
        }
    }
    return NULL;
}

// --- cuts

/** Give what was collected to the stream's cut, if one is asked for. */
static void give_cut(lane_stream *ls) {
    fz_stream *stream = ls->stream;
    fz_mutex_lock(&stream->mutex);
    bool wanted = stream->stage == FZ_CUT_COLLECTING && stream->cut_number > ls->cut_number;
    int64_t number = stream->cut_number;
    fz_mutex_unlock(&stream->mutex);
    if (!wanted) {
        return;
    }
    fz_err err = {0};
    fz_code code =
        ls->broken ? FZ_CANCELLED : fz_rows_cut(ls->rows, ls->parts.data, ls->parts.count, &err);
    ls->cut_number = number;
    if (code != FZ_OK) {
        ls->broken = true;
        FZ_LOG(stream->host->log, FZ_LOG_WARN, "rows_dropped", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("error", fz_err_text(&err)));
    }
    fz_mutex_lock(&stream->mutex);
    stream->cut_failed = stream->cut_failed || code != FZ_OK;
    stream->cut_missing--;
    fz_cond_broadcast(&stream->cond);
    fz_mutex_unlock(&stream->mutex);
}

// --- commands

static void wake_lane(void *opaque) {
    fz_lane_wake((fz_lane *)opaque);
}

static void attach(fz_lane *lane, fz_stream *stream, fz_stream_part *part) {
    lane_stream *ls = stream_find(lane, stream);
    if (!ls) {
        ls = (lane_stream *)fz_calloc(1, sizeof *ls);
        ls->stream = stream;
        ls->rows = fz_rows_new(stream, lane->index);
        fz_mutex_lock(&stream->mutex);
        ls->cut_number =
            stream->cut_number; // a cut under way counts the lanes that it was asked of
        fz_mutex_unlock(&stream->mutex);
        fz_vec_push(&lane->streams, ls);
    }
    fz_vec_push(&ls->parts, part);
    part->lane = lane->index;
    fz_reader_on_wake(part->reader, wake_lane, lane);
}

static void part_release(fz_stream_part *part) {
    fz_fetch_deinit(&part->fetch);
    part->at = 0;
    part->lane = -1;
}

static void detach(fz_lane *lane, fz_stream *stream, fz_stream_part *only) {
    lane_stream *ls = stream_find(lane, stream);
    if (!ls) {
        return;
    }
    for (size_t i = ls->parts.count; i-- > 0;) {
        if (!only || ls->parts.data[i] == only) {
            part_release(ls->parts.data[i]);
            ls->parts.data[i] = ls->parts.data[--ls->parts.count];
        }
    }
    if (ls->parts.count > 0) {
        return;
    }
    for (size_t i = 0; i < lane->streams.count; i++) {
        if (lane->streams.data[i] == ls) {
            lane->streams.data[i] = lane->streams.data[--lane->streams.count];
            break;
        }
    }
    fz_rows_free(ls->rows);
    fz_vec_deinit(&ls->parts);
    fz_free(ls);
}

/** Run the waiting command, if any; true when the lane is to end. */
static bool run_command(fz_lane *lane) {
    fz_mutex_lock(&lane->mutex);
    bool pending = lane->pending;
    lane_command command = lane->command;
    fz_mutex_unlock(&lane->mutex);
    if (!pending) {
        return false;
    }
    switch (command.order) {
    case LANE_ATTACH:
        attach(lane, command.stream, command.part);
        break;
    case LANE_STOP:
        command.part->stopped = true;
        break;
    case LANE_DETACH:
        detach(lane, command.stream, command.part);
        break;
    case LANE_END:
        break;
    }
    fz_mutex_lock(&lane->mutex);
    lane->pending = false;
    fz_cond_broadcast(&lane->cond);
    fz_mutex_unlock(&lane->mutex);
    return command.order == LANE_END;
}

// --- records

/** What went wrong with a partition, beyond single records. */
static void part_failed(lane_stream *ls, fz_stream_part *part, fz_code code, const fz_err *err) {
    fz_stream *stream = ls->stream;
    if (code == FZ_CANCELLED) {
        return; // suspended, and said so
    }
    if (code == FZ_UNAVAILABLE) {
        if (part->retry_at_ms == 0) {
            part->retry_at_ms = fz_clock_mono_ms(stream->host->clock) + 500;
        }
        fz_mutex_lock(&stream->mutex);
        bool tell = stream->state == FZ_STREAM_RUNNING;
        fz_mutex_unlock(&stream->mutex);
        if (tell) {
            fz_stream_set_state(stream, FZ_STREAM_DEGRADED, err);
        }
        return;
    }
    ls->broken = true;
    FZ_LOG(stream->host->log, FZ_LOG_WARN, "rows_dropped", FZ_KV_TEXT("topic", stream->topic),
           FZ_KV_INT("partition", part->partition), FZ_KV_TEXT("error", fz_err_text(err)));
    fz_mutex_lock(&stream->mutex);
    stream->needs_rewind = true;
    fz_mutex_unlock(&stream->mutex);
}

/** The log is not where the table's position is: look at it again, as at opening (R16). */
static void log_moved(lane_stream *ls, const fz_err *err) {
    FZ_LOG(ls->stream->host->log, FZ_LOG_WARN, "log_out_of_range",
           FZ_KV_TEXT("topic", ls->stream->topic), FZ_KV_TEXT("error", fz_err_text(err)));
    fz_mutex_lock(&ls->stream->mutex);
    ls->stream->needs_rewind = true;
    fz_mutex_unlock(&ls->stream->mutex);
    ls->broken = true;
}

/** Read and take what waits on a partition; true if there was something. */
static bool serve_part(lane_stream *ls, fz_stream_part *part) {
    fz_stream *stream = ls->stream;
    if (part->done || part->stopped || ls->broken || stream->halt) {
        return false;
    }
    if (stream->open_bytes > 2 * stream->entry->commit_size) {
        return false; // the commit before is still under way: no more is held than that
    }
    if (part->retry_at_ms > 0) {
        if (fz_clock_mono_ms(stream->host->clock) < part->retry_at_ms) {
            return false;
        }
        part->retry_at_ms = 0;
    }
    fz_err err = {0};
    if (part->at >= part->fetch.count) {
        fz_fetch_release(&part->fetch);
        part->at = 0;
        fz_code code = fz_reader_fetch(part->reader, FETCH_RECORDS, &part->fetch, &err);
        if (code == FZ_NOT_FOUND && err.kind && strcmp(err.kind, "log_changed") == 0) {
            log_moved(ls, &err);
            return false;
        }
        if (code != FZ_OK && part->fetch.count == 0) {
            part_failed(ls, part, FZ_UNAVAILABLE, &err); // the client goes on by itself
            return false;
        }
    }
    if (part->fetch.count == 0 && !part->fetch.end) {
        return false;
    }
    bool some = part->fetch.count > 0;
    fz_code code = fz_rows_take(ls->rows, part, &err);
    if (code != FZ_OK) {
        part_failed(ls, part, code, &err);
        return false;
    }
    part->fetch.end = false;
    fz_mutex_lock(&stream->mutex);
    bool recovered = some && stream->state == FZ_STREAM_DEGRADED && stream->stage == FZ_CUT_NONE;
    fz_mutex_unlock(&stream->mutex);
    if (recovered) {
        fz_stream_set_state(stream, FZ_STREAM_RUNNING, NULL);
    }
    return some;
}

static void lane_run(void *arg) {
    fz_lane *lane = (fz_lane *)arg;
    while (true) {
        bool busy = false;
        for (size_t i = 0; i < lane->streams.count; i++) {
            lane_stream *ls = lane->streams.data[i];
            give_cut(ls);
            for (size_t p = 0; p < ls->parts.count; p++) {
                busy = serve_part(ls, ls->parts.data[p]) || busy;
            }
        }
        if (run_command(lane)) {
            return;
        }
        fz_mutex_lock(&lane->mutex);
        if (!busy && !lane->pending && !lane->awake) {
            fz_cond_wait_ms(&lane->cond, &lane->mutex, IDLE_MS);
        }
        lane->awake = false;
        fz_mutex_unlock(&lane->mutex);
    }
}

// --- from outside

fz_lane *fz_lane_new(const fz_ingest_host *host, int index) {
    fz_lane *lane = (fz_lane *)fz_calloc(1, sizeof *lane);
    lane->host = host;
    lane->index = index;
    fz_mutex_init(&lane->mutex);
    fz_cond_init(&lane->cond);
    char name[16];
    snprintf(name, sizeof name, "fz-lane-%d", index % 1000);
    fz_thread_start(&lane->thread, name, lane_run, lane);
    return lane;
}

static void send(fz_lane *lane, lane_command command) {
    fz_mutex_lock(&lane->mutex);
    lane->command = command;
    lane->pending = true;
    fz_cond_broadcast(&lane->cond);
    while (lane->pending) {
        fz_cond_wait(&lane->cond, &lane->mutex);
    }
    fz_mutex_unlock(&lane->mutex);
}

void fz_lane_free(fz_lane *lane) {
    if (!lane) {
        return;
    }
    send(lane, (lane_command){.order = LANE_END});
    fz_thread_join(&lane->thread);
    FZ_ASSERT(lane->streams.count == 0);
    fz_vec_deinit(&lane->streams);
    fz_cond_deinit(&lane->cond);
    fz_mutex_deinit(&lane->mutex);
    fz_free(lane);
}

void fz_lane_attach(fz_lane *lane, fz_stream *stream, fz_stream_part *part) {
    send(lane, (lane_command){LANE_ATTACH, stream, part});
}

void fz_lane_stop(fz_lane *lane, fz_stream *stream, fz_stream_part *part) {
    send(lane, (lane_command){LANE_STOP, stream, part});
}

void fz_lane_detach(fz_lane *lane, fz_stream *stream, fz_stream_part *only) {
    send(lane, (lane_command){LANE_DETACH, stream, only});
}

void fz_lane_wake(fz_lane *lane) {
    fz_mutex_lock(&lane->mutex);
    lane->awake = true;
    fz_cond_broadcast(&lane->cond);
    fz_mutex_unlock(&lane->mutex);
}

bool fz_lane_has(const fz_lane *lane, const fz_stream *stream) {
    // the lane changes its list only while it runs a command of this thread
    return stream_find(lane, stream) != NULL;
}
