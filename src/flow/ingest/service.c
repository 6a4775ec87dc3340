// SPDX-License-Identifier: Apache-2.0
// The main loop: opens streams, gives partitions to lanes, asks for cuts, runs commits, follows the
// group.
#include "flow/ingest/service.h"

#include <regex.h>
#include <stdio.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "flow/ingest/keeper.h"
#include "flow/ingest/lane.h"
#include "flow/ingest/outbox.h"

/** Threads for opening and committing. */
#define POOL_THREADS 4
/** Time that a revoked partition's rows get to be committed. */
#define REVOKE_MS 10000
/** A position without rows is committed after this (R18). */
#define IDLE_COMMIT_MS 3600000
/** How often a state is looked at. */
#define TICK_MS 10

/** A stream and what the service does with it now. */
typedef struct slot {
    fz_service *service;
    fz_stream *stream;
    _Atomic bool opening; // on the pool
    bool attached;        // lanes have partitions of it
    _Atomic bool known;   // was opened once: its topic is there
    fz_keeper *keeper;    // NULL: not opened yet, one pass, or switched off
} slot;

struct fz_service {
    const fz_ingest_host *host;
    FZ_VEC(slot *) slots;
    fz_lane **lanes;
    size_t lane_count;
    size_t next_lane;
    fz_pool *pool;
    fz_pool *maintenance; // one job at a time: it may take long
    fz_source_listener listener;
    FZ_VEC(fz_reader *)
    closing;        // off the lanes; closed together, since the client waits for a fetch under way
    size_t joined;  // topics subscribed to
    bool finishing; // SIGTERM: nothing new is read
    bool uncommitted;
};

size_t fz_service_stream_count(const fz_service *service) {
    return service->slots.count;
}

fz_stream *fz_service_stream_at(const fz_service *service, size_t index) {
    return service->slots.data[index]->stream;
}

// --- making streams

static fz_code add_stream(fz_service *service, fz_map *tables, const fz_config_entry *entry,
                          fz_str topic, fz_err *err) {
    bool fixed = fz_str_find_str(entry->catalog.items[0].table, FZ_STR("{topic}")) == SIZE_MAX;
    bool several = fixed && (entry->topics.count > 1 || entry->topic_pattern.size > 0);
    fz_stream *stream = fz_stream_new(service->host, entry, topic, several);
    FZ_CLEANUP(fz_buf_deinit) fz_buf key = {0};
    const fz_config_catalog *catalog = &entry->catalog.items[0];
    fz_buf_printf(&key, "%.*s|%.*s|%s", FZ_STR_ARGS(catalog->uri), FZ_STR_ARGS(catalog->name),
                  stream->full_name);
    fz_stream *other = (fz_stream *)fz_map_find(tables, fz_buf_view(&key));
    if (other && !(several && other->entry == entry)) {
        fz_err_set(err, FZ_INVALID,
                   "topics \"%s\" and \"%s\" both make table \"%s\" (%.*s): give one another "
                   "catalog.table, or list both topics in one entry with a fixed table",
                   other->topic, stream->topic, stream->full_name, FZ_STR_ARGS(entry->where));
        fz_stream_free(stream);
        return FZ_INVALID;
    }
    fz_map_put(tables, fz_buf_view(&key), stream);
    slot *s = (slot *)fz_calloc(1, sizeof *s);
    s->service = service;
    s->stream = stream;
    fz_vec_push(&service->slots, s);
    return FZ_OK;
}

typedef struct pattern_match {
    fz_service *service;
    fz_map *tables;
    const fz_config_entry *entry;
    regex_t regex;
    fz_code code;
    fz_err *err;
} pattern_match;

static void match_topic(void *opaque, fz_str topic) {
    pattern_match *match = (pattern_match *)opaque;
    char *name = fz_str_dup(topic);
    if (match->code == FZ_OK && !fz_str_starts_with(topic, FZ_STR("__")) &&
        regexec(&match->regex, name, 0, NULL, 0) == 0) {
        match->code = add_stream(match->service, match->tables, match->entry, topic, match->err);
    }
    fz_free(name);
}

static fz_code add_pattern(fz_service *service, fz_map *tables, const fz_config_entry *entry,
                           fz_err *err) {
    pattern_match match = {.service = service, .tables = tables, .entry = entry, .err = err};
    char *whole = fz_str_printf("^(%.*s)$", FZ_STR_ARGS(entry->topic_pattern));
    int failed = regcomp(&match.regex, whole, REG_EXTENDED | REG_NOSUB);
    fz_free(whole);
    if (failed) {
        return fz_err_set(err, FZ_INVALID,
                          "%.*s: topic_pattern \"%.*s\" is not a regular expression",
                          FZ_STR_ARGS(entry->where), FZ_STR_ARGS(entry->topic_pattern));
    }
    fz_code code = fz_source_topics(service->host->source, match_topic, &match, err);
    regfree(&match.regex);
    return code == FZ_OK ? match.code : code;
}

static fz_code add_streams(fz_service *service, fz_err *err) {
    fz_map tables = {0};
    const fz_config *config = service->host->config;
    fz_code code = FZ_OK;
    for (size_t i = 0; i < config->entry_count && code == FZ_OK; i++) {
        const fz_config_entry *entry = &config->entries[i];
        if (!entry->enabled) {
            continue;
        }
        for (size_t t = 0; t < entry->topics.count && code == FZ_OK; t++) {
            code = add_stream(service, &tables, entry, entry->topics.items[t], err);
        }
        if (code == FZ_OK && entry->topic_pattern.size > 0) {
            code = add_pattern(service, &tables, entry, err);
        }
    }
    fz_map_deinit(&tables);
    return code;
}

fz_code fz_service_new(const fz_ingest_host *host, fz_service **out, fz_err *err) {
    fz_service *service = (fz_service *)fz_calloc(1, sizeof *service);
    service->host = host;
    fz_code code = add_streams(service, err);
    if (code != FZ_OK) {
        fz_service_free(service);
        return code;
    }
    *out = service;
    return FZ_OK;
}

void fz_service_free(fz_service *service) {
    if (!service) {
        return;
    }
    for (size_t i = 0; i < service->slots.count; i++) {
        fz_keeper_free(service->slots.data[i]->keeper);
        fz_stream_free(service->slots.data[i]->stream);
        fz_free(service->slots.data[i]);
    }
    fz_vec_deinit(&service->slots);
    fz_vec_deinit(&service->closing);
    fz_free(service->lanes);
    fz_free(service);
}

// --- partitions and lanes

static void leave_lanes(fz_service *service, slot *s) {
    for (size_t l = 0; l < service->lane_count; l++) {
        if (fz_lane_has(service->lanes[l], s->stream)) {
            fz_lane_detach(service->lanes[l], s->stream, NULL);
        }
    }
}

static void detach_all(fz_service *service, slot *s) {
    leave_lanes(service, s);
    for (int32_t p = 0; p < s->stream->part_count; p++) {
        if (s->stream->parts[p].reader) {
            fz_vec_push(&service->closing, s->stream->parts[p].reader);
        }
        s->stream->parts[p].reader = NULL;
    }
    s->attached = false;
}

static void close_readers(fz_service *service) {
    fz_source_close_all(service->host->source, service->closing.data, service->closing.count);
    fz_vec_reset(&service->closing);
}

static bool is_held(const slot *s, int32_t partition) {
    return s->service->host->once ||
           (partition < s->stream->held_count && s->stream->held[partition]);
}

/** Open readers of what is held and not read yet, and give them to lanes in turn. */
static void attach_held(fz_service *service, slot *s) {
    fz_stream *stream = s->stream;
    for (int32_t p = 0; p < stream->part_count; p++) {
        fz_stream_part *part = &stream->parts[p];
        if (part->reader || part->done || part->stopped || !is_held(s, p)) {
            continue;
        }
        fz_err err;
        if (fz_source_open(service->host->source, fz_str_from(stream->topic), p, part->next,
                           &part->reader, &err) != FZ_OK) {
            FZ_LOG(service->host->log, FZ_LOG_WARN, "partition_not_opened",
                   FZ_KV_TEXT("topic", stream->topic), FZ_KV_INT("partition", p),
                   FZ_KV_TEXT("error", err.text));
            continue;
        }
        fz_lane_attach(service->lanes[service->next_lane++ % service->lane_count], stream, part);
        s->attached = true;
    }
}

// --- opening

static void open_job(void *arg) {
    slot *s = (slot *)arg;
    fz_err err = {0};
    fz_code code = fz_stream_open(s->stream, &err);
    if (code == FZ_OK) {
        s->known = true;
        fz_stream_set_state(s->stream, FZ_STREAM_RUNNING, NULL);
    } else if (err.kind && strcmp(err.kind, "paused") == 0) {
        fz_stream_set_state(s->stream, FZ_STREAM_PAUSED, &err);
    } else {
        s->stream->opened = false;
        fz_stream_fail(s->stream, &err);
    }
    s->opening = false;
}

static void start_opening(slot *s) {
    fz_mutex_lock(&s->stream->mutex);
    s->stream->needs_rewind = false;
    s->stream->retry_at_ms = -1;
    fz_mutex_unlock(&s->stream->mutex);
    s->opening = true;
    fz_pool_submit(s->service->pool, open_job, s);
}

// --- maintenance

/** Beside ingestion, on a thread of its own pool, so that no append waits for it. */
static void tick_maintenance(fz_service *service, slot *s) {
    if (service->host->once || service->finishing || !s->known ||
        !s->stream->entry->maintenance.enabled || s->opening) {
        return;
    }
    if (!s->keeper) {
        s->keeper = fz_keeper_new(s->stream, service->maintenance);
    }
    fz_keeper_tick(s->keeper);
}

// --- cuts and commits

static void commit_job(void *arg) {
    fz_stream_commit(((slot *)arg)->stream);
}

/** Ask all lanes that hold partitions of the stream for what they have. */
static void request_cut(fz_service *service, slot *s) {
    fz_stream *stream = s->stream;
    int lanes = 0;
    for (size_t l = 0; l < service->lane_count; l++) {
        lanes += fz_lane_has(service->lanes[l], stream);
    }
    fz_mutex_lock(&stream->mutex);
    stream->stage = FZ_CUT_COLLECTING;
    stream->cut_number++;
    stream->cut_missing = lanes;
    stream->moved = false;
    stream->open_bytes = stream->open_rows = 0;
    stream->last_cut_ms = fz_clock_mono_ms(service->host->clock);
    fz_mutex_unlock(&stream->mutex);
    for (size_t l = 0; l < service->lane_count; l++) {
        fz_lane_wake(service->lanes[l]);
    }
}

/** All lanes have given: commit, or drop it all when one of them lost rows. */
static void collected(slot *s) {
    fz_stream *stream = s->stream;
    fz_mutex_lock(&stream->mutex);
    bool failed = stream->cut_failed;
    bool empty = stream->cut.moves.count == 0;
    stream->cut_failed = false;
    if (failed || empty) {
        stream->stage = FZ_CUT_NONE;
        stream->needs_rewind = stream->needs_rewind || failed;
        fz_stream_cut_reset(&stream->cut);
    } else {
        stream->stage = FZ_CUT_COMMITTING;
    }
    fz_mutex_unlock(&stream->mutex);
    if (!failed && !empty) {
        fz_pool_submit(s->service->pool, commit_job, s);
    }
}

static bool all_done(const fz_stream *stream) {
    for (int32_t p = 0; p < stream->part_count; p++) {
        if (!stream->parts[p].done) {
            return false;
        }
    }
    return true;
}

static bool cut_is_due(const fz_service *service, const fz_stream *stream) {
    if (!stream->moved) {
        return false;
    }
    int64_t since = fz_clock_mono_ms(service->host->clock) - stream->last_cut_ms;
    if (service->finishing || stream->halt || (service->host->once && all_done(stream))) {
        return true;
    }
    if (stream->open_rows > 0) {
        return since >= stream->entry->commit_interval_ms ||
               stream->open_bytes >= stream->entry->commit_size;
    }
    return since >= IDLE_COMMIT_MS;
}

static void outbox_job(void *arg) {
    fz_stream_settle_outbox(((slot *)arg)->stream);
}

/** Something is owed to other tables, and it is time to see to it: in a pass and at the end until
 * nothing is. */
static bool outbox_is_due(const fz_service *service, slot *s) {
    if (json_array_size(s->stream->owed) == 0 ||
        fz_clock_mono_ms(service->host->clock) < s->stream->deliver_at_ms) {
        return false;
    }
    bool ends =
        service->finishing || (service->host->once && all_done(s->stream)) || s->stream->halt;
    return ends || fz_outbox_waits(s->stream);
}

static void settle_outbox(slot *s) {
    fz_mutex_lock(&s->stream->mutex);
    s->stream->stage = FZ_CUT_COMMITTING;
    fz_mutex_unlock(&s->stream->mutex);
    fz_pool_submit(s->service->pool, outbox_job, s);
}

static bool is_over(fz_stream_state state) {
    return state == FZ_STREAM_SUSPENDED || state == FZ_STREAM_FAILED || state == FZ_STREAM_DONE ||
           state == FZ_STREAM_PAUSED;
}

/** No cut under way: what next? */
static void tick_idle(fz_service *service, slot *s, fz_stream_state state, bool rewind,
                      int64_t retry_at) {
    fz_stream *stream = s->stream;
    bool due =
        !service->finishing && retry_at >= 0 && fz_clock_mono_ms(service->host->clock) >= retry_at;
    if (!s->attached) {
        bool again = due && !(service->host->once && is_over(state));
        if (rewind && is_over(state) && !again) {
            // what was read since the last commit is dropped; it is read again when the topic goes
            // on
            fz_mutex_lock(&stream->mutex);
            stream->needs_rewind = false;
            fz_mutex_unlock(&stream->mutex);
            return;
        }
        if (rewind || again || (state == FZ_STREAM_PENDING && !stream->opened && due)) {
            if (!service->finishing) {
                start_opening(s);
            }
        } else if (stream->opened && !is_over(state) && outbox_is_due(service, s)) {
            settle_outbox(s);
        } else if (stream->opened && !is_over(state) && !service->finishing) {
            attach_held(service, s);
            if (service->host->once && !s->attached && all_done(stream) &&
                !fz_outbox_waits(stream)) {
                fz_stream_set_state(stream, FZ_STREAM_DONE, NULL);
            }
        }
        return;
    }
    if (rewind) {
        detach_all(service, s);
        return;
    }
    if (cut_is_due(service, stream)) {
        request_cut(service, s);
        return;
    }
    if (state != FZ_STREAM_FAILED && outbox_is_due(service, s)) {
        settle_outbox(s);
        return;
    }
    if (is_over(state)) {
        detach_all(service, s);
        return;
    }
    if (service->host->once && all_done(stream) && !fz_outbox_waits(stream)) {
        detach_all(service, s);
        fz_stream_set_state(stream, FZ_STREAM_DONE, NULL);
        return;
    }
    if (!service->finishing) {
        attach_held(service, s);
    }
}

static void tick(fz_service *service, slot *s) {
    if (s->opening) {
        return;
    }
    fz_stream *stream = s->stream;
    fz_mutex_lock(&stream->mutex);
    fz_cut_stage stage = stream->stage;
    bool complete = stage == FZ_CUT_COLLECTING && stream->cut_missing == 0;
    bool rewind = stream->needs_rewind;
    fz_stream_state state = stream->state;
    int64_t retry_at = stream->retry_at_ms;
    fz_mutex_unlock(&stream->mutex);
    if (complete) {
        collected(s);
    } else if (stage == FZ_CUT_NONE) {
        tick_idle(service, s, state, rewind, retry_at);
    }
}

// --- the group

static slot *slot_of_topic(fz_service *service, fz_str topic, size_t *from) {
    for (size_t i = *from; i < service->slots.count; i++) {
        if (fz_str_equal(fz_str_from(service->slots.data[i]->stream->topic), topic)) {
            *from = i + 1;
            return service->slots.data[i];
        }
    }
    return NULL;
}

static void on_assigned(void *opaque, const fz_assignment *items, size_t count) {
    fz_service *service = (fz_service *)opaque;
    for (size_t i = 0; i < count; i++) {
        size_t from = 0;
        slot *s = slot_of_topic(service, items[i].topic, &from);
        if (!s) {
            continue;
        }
        fz_stream *stream = s->stream;
        if (items[i].partition >= stream->held_count) {
            int32_t want = items[i].partition + 1;
            stream->held = (bool *)fz_realloc(stream->held, (size_t)want, sizeof *stream->held);
            memset(stream->held + stream->held_count, 0, (size_t)(want - stream->held_count));
            stream->held_count = want;
        }
        stream->held[items[i].partition] = true;
        // another process may have moved the position since, and partitions may be new: everything
        // from the table again
        fz_mutex_lock(&stream->mutex);
        stream->needs_rewind = true;
        fz_mutex_unlock(&stream->mutex);
    }
    FZ_LOG(service->host->log, FZ_LOG_INFO, "partitions_assigned", FZ_KV_INT("count", count));
}

/** Let cuts and commits of a stream end, but open nothing; false when time is up. */
static bool settle(fz_service *service, slot *s, int64_t until_ms) {
    while (true) {
        fz_mutex_lock(&s->stream->mutex);
        fz_cut_stage stage = s->stream->stage;
        bool complete = stage == FZ_CUT_COLLECTING && s->stream->cut_missing == 0;
        fz_mutex_unlock(&s->stream->mutex);
        if (stage == FZ_CUT_NONE) {
            return true;
        }
        if (complete) {
            collected(s);
        }
        if (fz_clock_mono_ms(service->host->clock) >= until_ms) {
            return false;
        }
        fz_clock_sleep_ms(service->host->clock, 2);
    }
}

/** Off the readers of a stream: stop, commit what they gave; what is kept is opened again by the
 * next tick. */
static void leave_stream(fz_service *service, slot *s, bool commit) {
    int64_t until = fz_clock_mono_ms(service->host->clock) + REVOKE_MS;
    while (s->opening) {
        fz_clock_sleep_ms(service->host->clock, 2);
    }
    bool settled = settle(service, s, until);
    fz_mutex_lock(&s->stream->mutex);
    bool clean = !s->stream->needs_rewind;
    fz_mutex_unlock(&s->stream->mutex);
    if (commit && settled && clean && s->attached && s->stream->moved) {
        s->stream->halt = true; // rows read from here on would be read again
        request_cut(service, s);
        settled = settle(service, s, until);
        s->stream->halt = false;
    }
    while (!settled && !settle(service, s, INT64_MAX)) {
    }
    leave_lanes(service, s);
    fz_mutex_lock(&s->stream->mutex);
    s->stream->needs_rewind = true;
    fz_mutex_unlock(&s->stream->mutex);
}

static void on_revoked(void *opaque, const fz_assignment *items, size_t count, bool lost) {
    fz_service *service = (fz_service *)opaque;
    for (size_t i = 0; i < count; i++) {
        size_t from = 0;
        slot *s = slot_of_topic(service, items[i].topic, &from);
        if (!s) {
            continue;
        }
        if (items[i].partition < s->stream->held_count) {
            s->stream->held[items[i].partition] = false;
        }
        if (s->attached) {
            leave_stream(service, s, !lost);
        }
        if (items[i].partition < s->stream->part_count) {
            s->stream->parts[items[i].partition].reader = NULL; // the source closes it
        }
    }
    FZ_LOG(service->host->log, FZ_LOG_INFO, "partitions_revoked", FZ_KV_INT("count", count),
           FZ_KV_BOOL("lost", lost));
}

static void on_trouble(void *opaque, const fz_err *err, bool fatal) {
    fz_service *service = (fz_service *)opaque;
    FZ_LOG(service->host->log, fatal ? FZ_LOG_ERROR : FZ_LOG_WARN, "kafka_trouble",
           FZ_KV_BOOL("fatal", fatal), FZ_KV_TEXT("error", fz_err_text(err)));
    if (fatal) {
        service->finishing = true;
        service->uncommitted = true;
    }
}

/**
 * Join the group for the topics that are open; again when there are more. Not before: a member that
 * joins while the client does not know a topic yet may be given nothing, and is not asked again.
 */
static void join_group(fz_service *service) {
    fz_map seen = {0};
    fz_str *topics = (fz_str *)fz_calloc(service->slots.count + 1, sizeof *topics);
    size_t count = 0;
    bool opening = false;
    for (size_t i = 0; i < service->slots.count; i++) {
        const slot *s = service->slots.data[i];
        fz_str topic = fz_str_from(s->stream->topic);
        opening = opening || (s->opening && !s->known);
        if (s->known && !fz_map_put(&seen, topic, service)) {
            topics[count++] = topic;
        }
    }
    if (count > service->joined && !opening) {
        fz_err err = {0};
        if (fz_source_subscribe(service->host->source, topics, count, &service->listener, &err) ==
            FZ_OK) {
            service->joined = count;
        } else {
            on_trouble(service, &err, false);
        }
    }
    fz_free(topics);
    fz_map_deinit(&seen);
}

// --- the loop

static bool once_is_over(const fz_service *service) {
    for (size_t i = 0; i < service->slots.count; i++) {
        const slot *s = service->slots.data[i];
        if (s->opening || s->attached || s->stream->stage != FZ_CUT_NONE ||
            s->stream->needs_rewind || !is_over(s->stream->state)) {
            return false;
        }
    }
    return true;
}

/** SIGTERM: everything that was read is committed, or time is up. */
static bool finish_is_over(fz_service *service) {
    for (size_t i = 0; i < service->slots.count; i++) {
        slot *s = service->slots.data[i];
        if (s->opening || s->stream->stage != FZ_CUT_NONE ||
            (s->attached && s->stream->moved && !s->stream->needs_rewind) ||
            (s->attached && fz_outbox_waits(s->stream))) {
            return false;
        }
    }
    return true;
}

static void stop_reading(fz_service *service) {
    service->finishing = true;
    for (size_t i = 0; i < service->slots.count; i++) {
        slot *s = service->slots.data[i];
        s->stream->halt = true;
    }
}

static void run_loop(fz_service *service, fz_service_stop (*stop)(void *context), void *context) {
    int64_t until = INT64_MAX;
    while (true) {
        fz_source_serve(service->host->source, TICK_MS);
        for (size_t i = 0; i < service->slots.count; i++) {
            tick(service, service->slots.data[i]);
            tick_maintenance(service, service->slots.data[i]);
        }
        close_readers(service);
        if (service->host->once && once_is_over(service)) {
            return;
        }
        if (!service->host->once && !service->finishing) {
            join_group(service);
        }
        fz_service_stop wish = stop ? stop(context) : FZ_SERVICE_GO;
        if (wish == FZ_SERVICE_ABORT) {
            service->uncommitted = true;
            return;
        }
        int64_t now = fz_clock_mono_ms(service->host->clock);
        if (wish == FZ_SERVICE_FINISH && until == INT64_MAX) {
            stop_reading(service);
            until = now + service->host->config->shutdown_timeout_ms;
            FZ_LOG(service->host->log, FZ_LOG_INFO, "stopping",
                   FZ_KV_INT("timeout_ms", service->host->config->shutdown_timeout_ms));
        }
        if (service->finishing && finish_is_over(service)) {
            return;
        }
        if (now >= until) {
            service->uncommitted = true;
            return;
        }
    }
}

/** After the loop: commits that wait are told to stop, lanes end. */
static void close_all(fz_service *service) {
    for (size_t i = 0; i < service->slots.count; i++) {
        service->slots.data[i]->stream->stop = true;
    }
    for (size_t i = 0; i < service->slots.count; i++) {
        slot *s = service->slots.data[i];
        while (s->opening) {
            fz_clock_sleep_ms(service->host->clock, 2);
        }
        while (!settle(service, s, INT64_MAX)) {
        }
        if (s->attached) {
            service->uncommitted = service->uncommitted || s->stream->moved;
            detach_all(service, s);
        }
    }
    close_readers(service);
    if (!service->host->once) {
        fz_source_leave(service->host->source);
    }
    for (size_t l = 0; l < service->lane_count; l++) {
        fz_lane_free(service->lanes[l]);
    }
    service->lane_count = 0;
    fz_pool_free(service->pool);
    fz_pool_free(service->maintenance);
    service->pool = service->maintenance = NULL;
}

static int exit_code(const fz_service *service) {
    bool failed = service->uncommitted, suspended = false;
    for (size_t i = 0; i < service->slots.count; i++) {
        fz_stream_state state = service->slots.data[i]->stream->state;
        failed = failed || state == FZ_STREAM_FAILED;
        suspended = suspended || state == FZ_STREAM_SUSPENDED || state == FZ_STREAM_PAUSED;
    }
    if (service->host->once) {
        return failed ? 1 : suspended ? 3 : 0;
    }
    return failed ? 1 : 0;
}

int fz_service_run(fz_service *service, fz_service_stop (*stop)(void *context), void *context) {
    const fz_config *config = service->host->config;
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t lanes = config->threads > 0 ? config->threads : cores > 0 ? cores : 1;
    service->lane_count = (size_t)lanes;
    service->lanes = (fz_lane **)fz_calloc((size_t)lanes, sizeof(fz_lane *));
    for (int64_t i = 0; i < lanes; i++) {
        service->lanes[i] = fz_lane_new(service->host, (int)i);
    }
    service->pool = fz_pool_new("fz-commit", POOL_THREADS);
    service->maintenance = fz_pool_new("fz-maintain", 1);
    service->listener = (fz_source_listener){service, on_assigned, on_revoked, on_trouble};
    run_loop(service, stop, context);
    close_all(service);
    return exit_code(service);
}
