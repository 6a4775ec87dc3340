// SPDX-License-Identifier: Apache-2.0
// The log at opening: where a new table starts, and whether a known one is still the same.
#include "base/memory.h"
#include "flow/ingest/open.h"

/** Fingerprints of one partition that are asked for: the newest that the log still reaches. */
#define PROBE_MS 20000
/** How long a partition's first records are waited for when one must name the schema. */
#define PEEK_MS 5000

static fz_code start_offset(fz_stream *stream, int32_t partition, int64_t *out, fz_err *err) {
    const fz_config_start *start = &stream->entry->start;
    fz_source *source = stream->host->source;
    fz_str topic = fz_str_from(stream->topic);
    int64_t low, end;
    FZ_TRY(fz_source_bounds(source, topic, partition, &low, &end, err));
    switch (start->kind) {
    case FZ_START_EARLIEST:
        *out = low;
        return FZ_OK;
    case FZ_START_LATEST:
        *out = end;
        return FZ_OK;
    case FZ_START_TIMESTAMP:
        return fz_source_offset_at(source, topic, partition, start->timestamp_ms, out, err);
    case FZ_START_OFFSETS:
        break;
    }
    *out = low; // a partition that the map does not name
    for (size_t i = 0; i < start->count; i++) {
        if (start->offsets[i].partition == partition) {
            *out = start->offsets[i].offset;
        }
    }
    return FZ_OK;
}

fz_code fz_open_resolve_start(fz_stream *stream, fz_arena *arena, fz_commit_source *out,
                              fz_err *err) {
    int32_t count = 0;
    fz_str topic = fz_str_from(stream->topic);
    FZ_TRY(fz_source_partitions(stream->host->source, topic, &count, err));
    FZ_CLEANUP(fz_buf_deinit) fz_buf cluster = {0};
    FZ_TRY(fz_source_cluster_id(stream->host->source, &cluster, err));
    memset(out, 0, sizeof *out);
    out->name = fz_arena_str(arena, topic);
    out->topic = out->name;
    out->cluster = fz_arena_str(arena, fz_buf_view(&cluster));
    out->route = fz_arena_str(arena, fz_str_from(stream->route));
    out->known = count;
    out->parts = FZ_ARENA_ARRAY(arena, fz_commit_part, (size_t)count);
    for (int32_t p = 0; p < count; p++) {
        out->parts[p] = (fz_commit_part){.generation = 0, .last_row = -1, .epoch = -1};
        FZ_TRY(start_offset(stream, p, &out->parts[p].next, err));
    }
    return FZ_OK;
}

/** The schema that a record names, made known to the stream's schemas; false if it names none. */
static bool learn_schema(fz_stream *stream, const fz_fetch *fetch) {
    for (size_t i = 0; i < fetch->count; i++) {
        const fz_record *record = &fetch->records[i];
        fz_registry_frame frame;
        fz_writer_schema_entry *entry;
        if (record->value &&
            fz_registry_frame_parse(record->value, record->value_size, &frame, NULL) == FZ_OK &&
            fz_writer_schemas_find(stream->schemas, &frame, &entry, NULL) == FZ_OK) {
            return true;
        }
    }
    return false;
}

/** Look at a partition's first records, for PEEK_MS at most. */
static fz_code peek_partition(fz_stream *stream, int32_t partition, bool *learnt, fz_err *err) {
    fz_source *source = stream->host->source;
    fz_str topic = fz_str_from(stream->topic);
    int64_t low, end;
    FZ_TRY(fz_source_bounds(source, topic, partition, &low, &end, err));
    if (low >= end) {
        return FZ_OK;
    }
    fz_reader *reader = NULL;
    FZ_TRY(fz_source_open(source, topic, partition, low, &reader, err));
    fz_fetch fetch = {0};
    int64_t until = fz_clock_mono_ms(stream->host->clock) + PEEK_MS;
    fz_code code = FZ_OK;
    while (code == FZ_OK && !*learnt && !fetch.end &&
           fz_clock_mono_ms(stream->host->clock) < until) {
        code = fz_reader_fetch(reader, 100, &fetch, err);
        *learnt = learn_schema(stream, &fetch);
        bool end_reached = fetch.end;
        fz_fetch_release(&fetch);
        fetch.end = end_reached;
        fz_clock_sleep_ms(stream->host->clock, 5);
    }
    fz_fetch_deinit(&fetch);
    fz_source_close(source, reader);
    return code;
}

fz_code fz_open_peek_schema(fz_stream *stream, fz_err *err) {
    int32_t count = 0;
    FZ_TRY(fz_source_partitions(stream->host->source, fz_str_from(stream->topic), &count, err));
    bool learnt = false;
    for (int32_t p = 0; p < count && !learnt; p++) {
        FZ_TRY(peek_partition(stream, p, &learnt, err));
    }
    return FZ_OK;
}

/** Newest fingerprint of a partition at or above the log's start, NULL if none. */
static const fz_commit_fingerprint *newest_fingerprint(const fz_commit_source *source,
                                                       int32_t partition, int64_t low) {
    for (size_t i = source->fingerprint_count; i-- > 0;) {
        const fz_commit_fingerprint *print = &source->fingerprints[i];
        if (print->partition == partition && print->offset >= low) {
            return print;
        }
    }
    return NULL;
}

static fz_code changed(fz_stream *stream, fz_err *err, int32_t partition, const char *found,
                       int64_t found_offset, const char *wanted, int64_t wanted_offset) {
    return fz_err_set_kind(err, FZ_INVALID, "log_changed",
                           "topic \"%s\" partition %d is not the log that table \"%s\" was written "
                           "from: %s %lld, %s %lld; "
                           "was the topic deleted and made again? set on_log_change: "
                           "restart_from_earliest, or use frazil "
                           "repair",
                           stream->topic, partition, stream->full_name, found,
                           (long long)found_offset, wanted, (long long)wanted_offset);
}

/** Compare records that were delivered once with what the log has there now (R16). */
static fz_code check_fingerprints(fz_stream *stream, const fz_commit_source *source,
                                  const int64_t *lows, fz_err *err) {
    fz_probe *probes = (fz_probe *)fz_calloc((size_t)source->known + 1, sizeof *probes);
    const fz_commit_fingerprint **prints = (const fz_commit_fingerprint **)fz_calloc(
        (size_t)source->known + 1, sizeof(const fz_commit_fingerprint *));
    size_t count = 0;
    for (int32_t p = 0; p < source->known; p++) {
        const fz_commit_fingerprint *print = newest_fingerprint(source, p, lows[p]);
        if (print) {
            prints[count] = print;
            probes[count++] = (fz_probe){
                .topic = fz_str_from(stream->topic), .partition = p, .at = print->offset};
        }
    }
    fz_code code = fz_source_probe(stream->host->source, probes, count, PROBE_MS, err);
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        // another offset proves nothing: compaction, retention (G4)
        if (probes[i].found && probes[i].offset == prints[i]->offset &&
            (probes[i].hash != prints[i]->hash ||
             probes[i].timestamp_ms != prints[i]->timestamp_ms)) {
            code = changed(stream, err, prints[i]->partition, "another record is at offset",
                           probes[i].offset, "the one committed was there at time",
                           prints[i]->timestamp_ms);
        }
    }
    fz_free(probes);
    fz_free(prints);
    return code;
}

/** End of the log, looked at three times when the position is beyond it (G5). */
static fz_code bounds_beyond(fz_stream *stream, int32_t partition, int64_t next, int64_t *low,
                             int64_t *end, fz_err *err) {
    for (int look = 0;; look++) {
        FZ_TRY(fz_source_bounds(stream->host->source, fz_str_from(stream->topic), partition, low,
                                end, err));
        if (next <= *end) {
            return FZ_OK;
        }
        if (look == 2) {
            return changed(stream, err, partition, "the log ends at", *end,
                           "the table's position is", next);
        }
        fz_clock_sleep_ms(stream->host->clock, stream->host->once ? 1000 : 15000);
    }
}

static fz_code check_identity(fz_stream *stream, const fz_commit_source *source, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf cluster = {0};
    FZ_TRY(fz_source_cluster_id(stream->host->source, &cluster, err));
    if (cluster.size > 0 && source->cluster.size > 0 &&
        !fz_str_equal(fz_buf_view(&cluster), source->cluster)) {
        return fz_err_set_kind(
            err, FZ_INVALID, "log_changed",
            "topic \"%s\" is on cluster \"%s\", table \"%s\" was written from cluster "
            "\"%.*s\"; use frazil repair %s --accept-cluster or --relocate",
            stream->topic, fz_buf_cstr(&cluster), stream->full_name, FZ_STR_ARGS(source->cluster),
            stream->full_name);
    }
    return FZ_OK;
}

/** Where a pass ends: fixed when it is first asked for (interface.md, `run --once`). */
static fz_code once_target(fz_stream *stream, int32_t partition, int64_t end, int64_t *target,
                           fz_err *err) {
    while (stream->target_count <= partition) {
        stream->targets = (int64_t *)fz_realloc(stream->targets, (size_t)stream->target_count + 1,
                                                sizeof *stream->targets);
        stream->targets[stream->target_count++] = -1;
    }
    if (stream->targets[partition] < 0) {
        int64_t until = end;
        if (stream->host->until_ms >= 0) {
            FZ_TRY(fz_source_offset_at(stream->host->source, fz_str_from(stream->topic), partition,
                                       stream->host->until_ms, &until, err));
        }
        stream->targets[partition] = until < end ? until : end;
    }
    *target = stream->targets[partition];
    return FZ_OK;
}

fz_code fz_open_check_log(fz_stream *stream, const fz_commit_state *state,
                          const fz_commit_source *source, bool *edits, fz_err *err) {
    (void)state;
    int32_t count = 0;
    fz_str topic = fz_str_from(stream->topic);
    FZ_TRY(fz_source_partitions(stream->host->source, topic, &count, err));
    if (count < source->known) {
        return fz_err_set_kind(
            err, FZ_INVALID, "watermark_missing",
            "topic \"%s\" has %d partitions, table \"%s\" knows %d of them; use frazil "
            "repair",
            stream->topic, count, stream->full_name, source->known);
    }
    FZ_TRY(check_identity(stream, source, err));
    fz_stream_part *parts = (fz_stream_part *)fz_calloc((size_t)count, sizeof *parts);
    int64_t *lows = (int64_t *)fz_calloc((size_t)count, sizeof *lows);
    fz_code code = FZ_OK;
    *edits = count > source->known;
    for (int32_t p = 0; p < count && code == FZ_OK; p++) {
        int64_t low = 0, end = 0;
        bool known = p < source->known;
        int64_t next = known ? source->parts[p].next : 0;
        code = bounds_beyond(stream, p, next, &low, &end, err);
        if (code != FZ_OK) {
            break;
        }
        lows[p] = low;
        if (next < low) {
            // new partitions start at their first offset; of known ones the records between are
            // gone (R14, G6)
            *edits = true;
            next = low;
        }
        parts[p] = (fz_stream_part){.partition = p,
                                    .generation = known ? source->parts[p].generation : 0,
                                    .committed = next,
                                    .start = next,
                                    .next = next,
                                    .last_row = -1,
                                    .lane = -1,
                                    .target = -1,
                                    .fingerprint = {.offset = -1}};
        if (stream->host->once) {
            code = once_target(stream, p, end, &parts[p].target, err);
        }
        parts[p].done = parts[p].target >= 0 && parts[p].next >= parts[p].target;
    }
    if (code == FZ_OK) {
        code = check_fingerprints(stream, source, lows, err);
    }
    fz_free(lows);
    if (code != FZ_OK) {
        fz_free(parts);
        return code;
    }
    fz_free(stream->parts);
    stream->parts = parts;
    stream->part_count = count;
    return FZ_OK;
}
