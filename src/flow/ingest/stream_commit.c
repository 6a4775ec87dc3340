// SPDX-License-Identifier: Apache-2.0
// The commit of what the lanes of a stream gave for a cut.
#include <stdlib.h>

#include "base/memory.h"
#include "flow/ingest/outbox.h"
#include "flow/ingest/record_tables.h"

/** Table properties that go with the commit: the link, when it changed. New reference or NULL. */
static json_t *changed_properties(const fz_layout *committed, const fz_layout *layout) {
    if (json_equal(committed->link, layout->link)) {
        return NULL;
    }
    char *link = json_dumps(layout->link, JSON_COMPACT);
    json_t *properties = json_object();
    fz_json_set_str(properties, FZ_EVOLVE_LINK_PROPERTY, fz_str_from(link));
    free(link);
    return properties;
}

static void edit_outbox(void *context, fz_commit_state *state, fz_commit_source *source) {
    (void)source;
    fz_outbox_drop_delivered((fz_stream *)context, state);
}

/** A cut on its way. */
typedef struct sending {
    fz_stream *stream;
    const json_t *owed; // what it adds to the outbox
    bool overtaken;
} sending;

static bool has_entry(const json_t *entries, const json_t *entry) {
    size_t index;
    json_t *one;
    json_array_foreach(entries, index, one) {
        if (json_equal(json_object_get(one, "id"), json_object_get(entry, "id"))) {
            return true;
        }
    }
    return false;
}

/** Do rows of a share bring columns that their table did not have when it was seen last? */
static bool adds_columns(const fz_stream *stream, const fz_record_table *table) {
    fz_layout *committed = NULL;
    if (!table->metadata || !table->layout ||
        fz_layout_load(stream->entry, table->metadata, &committed, NULL) != FZ_OK) {
        return true;
    }
    bool adds = !fz_layout_covers(committed, table->layout);
    fz_layout_unref(committed);
    return adds;
}

/** Under the stream's mutex. */
static bool clashes(const sending *s, const json_t *entry) {
    const fz_stream *stream = s->stream;
    if (has_entry(stream->owed, entry) || has_entry(s->owed, entry)) {
        return false;
    }
    for (size_t i = 0; i < stream->cut.shares.count; i++) {
        const fz_stream_share *share = &stream->cut.shares.data[i];
        if (share->rows > 0 && adds_columns(stream, share->table) &&
            fz_str_equal(fz_json_str_or(entry, "sink"), fz_str_from(share->table->full_name))) {
            return true;
        }
    }
    return false;
}

/**
 * What another process owes to a table of a record type may give the field ids of our new columns
 * to others: the cut is forgotten then, and its records are read again on top of that.
 */
static void edit_append(void *context, fz_commit_state *state, fz_commit_source *source) {
    sending *s = (sending *)context;
    (void)source;
    size_t index;
    json_t *entry;
    fz_mutex_lock(&s->stream->mutex);
    s->overtaken = false;
    json_array_foreach(state->outbox, index, entry) {
        s->overtaken = s->overtaken || clashes(s, entry);
    }
    fz_mutex_unlock(&s->stream->mutex);
    fz_outbox_drop_delivered(s->stream, state);
}

static fz_code build_append(void *context, const fz_iceberg_metadata *base,
                            const fz_iceberg_append_options *options, fz_iceberg_change *change,
                            fz_err *err) {
    const sending *s = (const sending *)context;
    if (s->overtaken) {
        return fz_err_set(err, FZ_CONFLICT,
                          "another process has rows for a table that gets new columns");
    }
    return fz_iceberg_append_build(s->stream->cut.files, base, options, change, err);
}

/** Nothing is owed any more but what the sinks have: a commit of its own says so, at the end. */
void fz_stream_settle_outbox(fz_stream *stream) {
    fz_err err = {0};
    fz_code code = fz_outbox_deliver(stream, &err);
    if (code == FZ_OK && json_array_size(stream->owed) > 0) {
        code = fz_stream_commit_edit(stream, "offsets", edit_outbox, FZ_STR("outbox delivered"),
                                     NULL, &err);
    }
    if (code != FZ_OK && stream->host->once) {
        fz_stream_fail(stream, &err);
    }
    fz_mutex_lock(&stream->mutex);
    stream->stage = FZ_CUT_NONE;
    fz_cond_broadcast(&stream->cond);
    fz_mutex_unlock(&stream->mutex);
}

/** The table is as `metadata` says and our rows are in it. */
static void take_done(fz_stream *stream, const fz_layout *sent, fz_commit_outcome *outcome) {
    fz_layout *committed = NULL;
    fz_err err;
    fz_code code = fz_layout_load(stream->entry, outcome->metadata, &committed, &err);
    fz_mutex_lock(&stream->mutex);
    if (code == FZ_OK) {
        committed->number = sent->number;
        fz_layout_unref(stream->committed);
        stream->committed = committed;
    }
    fz_iceberg_metadata_unref(stream->metadata);
    stream->metadata = fz_iceberg_metadata_ref(outcome->metadata);
    for (size_t i = 0; i < stream->cut.moves.count; i++) {
        const fz_commit_move *move = &stream->cut.moves.data[i];
        stream->parts[move->partition].committed = move->end;
    }
    fz_stream_counts_add(&stream->run, &stream->cut.counts);
    for (size_t i = 0; i < stream->cut.shares.count; i++) {
        stream->cut.shares.data[i].table->run.rows += stream->cut.shares.data[i].rows;
    }
    stream->snapshot_id = outcome->snapshot_id;
    stream->commits++;
    stream->conflicts += outcome->conflicts;
    stream->last_commit_ms = fz_clock_wall_ms(stream->host->clock);
    fz_mutex_unlock(&stream->mutex);
}

/** Tell the group's coordinator, for lag monitors only (R30); after the commit, never before. */
static void commit_group_offsets(fz_stream *stream) {
    if (stream->host->once || stream->cut.moves.count == 0) {
        return;
    }
    size_t count = stream->cut.moves.count;
    fz_assignment *items = (fz_assignment *)fz_calloc(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = (fz_assignment){fz_str_from(stream->topic), stream->cut.moves.data[i].partition,
                                   stream->cut.moves.data[i].end, NULL};
    }
    fz_source_commit(stream->host->source, items, count, fz_str_from(stream->uuid));
    fz_free(items);
}

static void log_done(const fz_stream *stream, const fz_commit_outcome *outcome,
                     int64_t started_us) {
    int64_t took_ms = (fz_clock_mono_us(stream->host->clock) - started_us) / 1000;
    FZ_LOG(stream->host->log, FZ_LOG_INFO, "commit", FZ_KV_TEXT("table", stream->full_name),
           FZ_KV_TEXT("topic", stream->topic), FZ_KV_INT("snapshot_id", outcome->snapshot_id),
           FZ_KV_INT("rows", stream->cut.counts.rows),
           FZ_KV_INT("files", fz_iceberg_append_count(stream->cut.files)),
           FZ_KV_INT("size_bytes", stream->cut.bytes), FZ_KV_INT("attempts", outcome->attempts),
           FZ_KV_INT("took_ms", took_ms));
}

static void done(fz_stream *stream, const fz_layout *sent, fz_commit_outcome *outcome,
                 int64_t started_us) {
    take_done(stream, sent, outcome);
    log_done(stream, outcome, started_us);
    commit_group_offsets(stream);
    fz_outbox_owe(stream, outcome->state);
    fz_mutex_lock(&stream->mutex);
    bool degraded = stream->state == FZ_STREAM_DEGRADED;
    fz_mutex_unlock(&stream->mutex);
    if (degraded) {
        fz_stream_set_state(stream, FZ_STREAM_RUNNING, NULL);
    }
}

static void finish(fz_stream *stream, bool rewind) {
    fz_mutex_lock(&stream->mutex);
    fz_stream_cut_reset(&stream->cut);
    stream->stage = FZ_CUT_NONE;
    stream->needs_rewind = stream->needs_rewind || rewind;
    fz_cond_broadcast(&stream->cond);
    fz_mutex_unlock(&stream->mutex);
}

/** What is owed already is as much as a home may hold: nothing more is decided until some of it is
 * delivered (E6). */
static void wait_for_room(fz_stream *stream) {
    while (fz_outbox_size(stream) > FZ_OUTBOX_MAX && !stream->stop) {
        fz_err err = {0};
        if (fz_outbox_deliver(stream, &err) == FZ_OK) {
            return;
        }
        fz_stream_set_state(stream, FZ_STREAM_DEGRADED, &err);
        for (int i = 0; i < 50 && !stream->stop; i++) {
            fz_clock_sleep_ms(stream->host->clock, 100);
        }
    }
}

void fz_stream_commit(fz_stream *stream) {
    wait_for_room(stream);
    json_t *owed = NULL;
    fz_err why = {0};
    if (fz_outbox_entries(stream, &stream->cut, &owed, &why) != FZ_OK) {
        FZ_LOG(stream->host->log, FZ_LOG_WARN, "rows_dropped", FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("error", fz_err_text(&why)));
        finish(stream, true);
        return;
    }
    fz_mutex_lock(&stream->mutex);
    fz_layout *layout = fz_layout_ref(stream->layout);
    fz_layout *committed = fz_layout_ref(stream->committed);
    int32_t schema_id = fz_iceberg_metadata_schema_id(stream->metadata);
    fz_mutex_unlock(&stream->mutex);
    json_t *properties = changed_properties(committed, layout);
    bool schema_changed = !fz_type_equal(&layout->schema->root, &committed->schema->root);
    sending context = {.stream = stream, .owed = owed};
    fz_commit_batch batch = {
        .op = fz_iceberg_append_count(stream->cut.files) > 0 ? "append" : "offsets",
        .uuid = fz_str_from(stream->uuid),
        .source = fz_str_from(stream->topic),
        .route = fz_str_from(stream->route),
        .moves = stream->cut.moves.data,
        .move_count = stream->cut.moves.count,
        .files = stream->cut.files,
        .commit = fz_str_from(stream->cut.commit),
        .oldest_file_ms = stream->cut.oldest_file_ms,
        .rows = stream->cut.counts.rows,
        .dead_letters = stream->cut.counts.dead_letters,
        .skipped = stream->cut.counts.skipped,
        .tombstones = stream->cut.counts.tombstones,
        .schema_id = schema_id,
        .schema = schema_changed ? layout->schema : NULL,
        .properties = properties,
        .outbox = owed,
        .edit = edit_append,
        .edit_context = &context,
        .build = build_append,
        .build_context = &context,
    };
    int64_t started_us = fz_clock_mono_us(stream->host->clock);
    fz_commit_outcome outcome;
    fz_commit_run(&stream->table, &batch, &stream->commit_options, &outcome);
    bool rewind = false;
    switch (outcome.result) {
    case FZ_COMMIT_DONE:
        done(stream, layout, &outcome, started_us);
        break;
    case FZ_COMMIT_FORGOTTEN:
        FZ_LOG(stream->host->log, FZ_LOG_WARN, "commit_forgotten",
               FZ_KV_TEXT("table", stream->full_name), FZ_KV_TEXT("topic", stream->topic),
               FZ_KV_TEXT("reason", fz_err_text(&outcome.err)));
        rewind = true;
        break;
    case FZ_COMMIT_SUSPENDED:
        fz_stream_fail(stream, &outcome.err);
        break;
    case FZ_COMMIT_STOPPED:
        break;
    }
    if (outcome.result == FZ_COMMIT_DONE && fz_outbox_waits(stream)) {
        fz_err err = {0};
        fz_code delivered = fz_outbox_deliver(stream, &err); // else it stays owed
        (void)delivered;
    }
    fz_commit_outcome_deinit(&outcome);
    json_decref(properties);
    json_decref(owed);
    fz_layout_unref(layout);
    fz_layout_unref(committed);
    finish(stream, rewind);
}
