// SPDX-License-Identifier: Apache-2.0
// Replay: letters take the way of records once more, through the same rows and files, into one
// commit.
#include "flow/audit/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "flow/audit/letter_table.h"
#include "flow/ingest/open.h"
#include "flow/ingest/outbox.h"
#include "flow/ingest/record_tables.h"
#include "flow/ingest/rows.h"
#include "flow/ingest/service.h"
#include "table/commit/runs.h"
#include "table/commit/summary.h"

/** Plans that were overtaken by other writers, before it is given up. */
#define TRIES_MAX 50
/** Waits for a registry that is away. */
#define AWAY_TRIES 20
#define AWAY_MS 500
/** Largest property frazil.replayed, bytes: it is part of every metadata file. */
#define REPLAYED_MAX (1 << 20)

/** Letters of one topic on their way into the table. */
typedef struct work {
    fz_ingest_host *host; // of the streams; its source is changed while letters are decoded
    fz_source *log;
    fz_stream *stream;
    fz_config_entry entry; // bad records are told, not collected
    char *letters_name;
    fz_open_shapes shapes;
    fz_audit_replay_report *report;
    FZ_VEC(fz_audit_failing) late; // rows that no file could take; kept over passes
    fz_commit_runs late_runs;
    // of one try
    fz_commit_state *state;
    const fz_commit_source *source;
    int64_t base_snapshot; // of main, when it was planned
    fz_audit_letter_table letters;
    fz_commit_runs replayed;   // before; views into state
    fz_commit_runs candidates; // letters to be tried
    int64_t candidate_count;   // with those that are there twice
    int64_t log_begun;         // sequence number of the commit that began the present log
    fz_commit_runs present;    // of those: rows that the table has
    // of one pass
    fz_rows *rows;
    fz_stream_part *parts;
    fz_commit_runs mine; // are rows of this pass
    fz_map taken;        // only when letters are there twice
    bool overtaken;      // by the base of an attempt
} work;

void fz_audit_replay_report_deinit(fz_audit_replay_report *report) {
    fz_vec_deinit(&report->kinds);
}

static fz_str source_name(const work *w) {
    return fz_str_from(w->stream->topic);
}

// --- opening

static fz_code open_layout(work *w, fz_err *err) {
    fz_stream *stream = w->stream;
    fz_layout *committed = NULL;
    FZ_TRY(fz_layout_load(stream->entry, stream->metadata, &committed, err));
    committed->number = stream->layout ? stream->layout->number + 1 : 1;
    fz_layout *layout = fz_layout_ref(committed);
    fz_code code = stream->by_record ? FZ_OK // a home has the columns of letters
                                     : fz_open_bind_all(stream, &w->shapes, &layout, NULL, err);
    fz_layout_unref(stream->layout);
    fz_layout_unref(stream->committed);
    stream->layout = layout;
    stream->committed = committed;
    return code;
}

/** Tables of record types that are made now begin at the home's position. */
static void take_parts(work *w) {
    fz_stream *stream = w->stream;
    fz_free(stream->parts);
    stream->part_count = w->source->known;
    stream->parts =
        (fz_stream_part *)fz_calloc((size_t)w->source->known + 1, sizeof *stream->parts);
    for (int32_t p = 0; p < w->source->known; p++) {
        stream->parts[p] = (fz_stream_part){.partition = p,
                                            .generation = w->source->parts[p].generation,
                                            .target = -1,
                                            .lane = -1,
                                            .committed = w->source->parts[p].next,
                                            .last_row = -1};
    }
}

/** A home of record types: what it owes comes first (R21), and what it will owe is planned on it.
 */
static void open_home(work *w) {
    take_parts(w);
    fz_record_tables_forget_layouts(w->stream);
    fz_outbox_owe(w->stream, w->state);
    fz_code delivered = fz_outbox_deliver(w->stream, NULL);
    (void)delivered; // a table that refuses does not hold up the others
}

/** Table, position and layout as they are now. Nothing is asked of the log. */
static fz_code open_table(work *w, fz_err *err) {
    fz_stream *stream = w->stream;
    fz_iceberg_metadata *metadata = NULL;
    FZ_TRY(fz_open_load(stream, &metadata, err));
    fz_iceberg_metadata_unref(stream->metadata);
    stream->metadata = metadata;
    fz_free(stream->uuid);
    stream->uuid = fz_str_dup(fz_iceberg_metadata_uuid(metadata));
    w->base_snapshot = fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN);
    FZ_TRY(w->host->store(w->host->context, &stream->entry->storage,
                          fz_iceberg_metadata_base(metadata), &stream->table.store, err));
    FZ_TRY(fz_commit_position(&stream->table, metadata, stream->commit_options.content,
                              stream->commit_options.content_context, &w->state, NULL, err));
    w->source = fz_commit_state_find(w->state, source_name(w));
    if (!w->source) {
        return fz_err_set(err, FZ_NOT_FOUND, "table \"%s\" was never written from topic \"%s\"",
                          stream->full_name, stream->topic);
    }
    FZ_TRY(fz_commit_runs_read(w->state->replayed, &w->replayed, err));
    if (!w->shapes.value) {
        FZ_TRY(fz_open_shapes_find(stream, &w->shapes, err));
    }
    FZ_TRY(open_layout(w, err));
    if (stream->by_record) {
        open_home(w);
    }
    return FZ_OK;
}

static void end_pass(work *w) {
    fz_rows_free(w->rows);
    w->rows = NULL;
    fz_free(w->parts);
    w->parts = NULL;
    fz_commit_runs_deinit(&w->mine);
    fz_map_deinit(&w->taken);
    memset(&w->taken, 0, sizeof w->taken);
    w->host->source = w->log;
}

static void end_try(work *w) {
    end_pass(w);
    fz_commit_runs_deinit(&w->replayed);
    fz_commit_runs_deinit(&w->candidates);
    fz_commit_runs_deinit(&w->present);
    fz_audit_letter_table_deinit(&w->letters);
    fz_commit_state_free(w->state);
    w->state = NULL;
    w->source = NULL;
}

// --- which letters

static bool note_letter(void *context, int64_t partition, int64_t offset) {
    work *w = (work *)context;
    w->report->letters++;
    int32_t p = partition >= 0 && partition < w->source->known ? (int32_t)partition : -1;
    if (p >= 0 && fz_commit_runs_find(&w->replayed, source_name(w), p, offset)) {
        w->report->already++;
    } else if (p < 0 || offset < 0 || offset >= w->source->parts[p].next ||
               (w->stream->by_record && w->source->parts[p].generation > 0)) {
        // a log that was made anew repeats coordinates, and delivery goes by these
        w->report->beyond++;
    } else {
        fz_commit_runs_add(&w->candidates, source_name(w), p, offset);
        w->candidate_count++;
    }
    return true;
}

static bool note_row(void *context, int64_t partition, int64_t offset) {
    work *w = (work *)context;
    if (partition >= 0 && partition <= INT32_MAX &&
        fz_commit_runs_find(&w->candidates, source_name(w), (int32_t)partition, offset)) {
        fz_commit_runs_add(&w->present, source_name(w), (int32_t)partition, offset);
    }
    return true;
}

/** Sequence number of the commit that began the present log, 0: the first log, or it is not listed
 * any more. */
static int64_t log_begun(const work *w) {
    int64_t newest = 0;
    const fz_iceberg_metadata *metadata = w->stream->metadata;
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(metadata); i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (fz_commit_summary_own(&snapshot, w->state->nonce) &&
            fz_str_equal(fz_iceberg_snapshot_summary(&snapshot, "frazil.op"),
                         FZ_STR("generation")) &&
            snapshot.sequence_number > newest) {
            newest = snapshot.sequence_number;
        }
    }
    return newest;
}

/** Rows of an older log have the coordinates of other records. */
static bool is_of_older_log(void *context, const fz_iceberg_entry *entry) {
    const work *w = (const work *)context;
    return entry->sequence_number >= 0 && entry->sequence_number <= w->log_begun;
}

static void offsets_of(const fz_commit_runs *runs, int64_t *first, int64_t *last) {
    *first = INT64_MAX;
    *last = -1;
    for (size_t i = 0; i < runs->all.count; i++) {
        *first = runs->all.data[i].start < *first ? runs->all.data[i].start : *first;
        *last = runs->all.data[i].end - 1 > *last ? runs->all.data[i].end - 1 : *last;
    }
}

/**
 * A letter whose record was read again after a rollback is a row though nobody replayed it (E7):
 * rows are looked up by their coordinates, where the table has them.
 */
static fz_code find_present(work *w, fz_err *err) {
    fz_audit_columns columns;
    fz_code code = fz_audit_columns_find(w->stream->metadata, &columns, err);
    if (code == FZ_NOT_FOUND) {
        return FZ_OK;
    }
    FZ_TRY(code);
    fz_audit_places_options options = {.columns = &columns,
                                       .topic = source_name(w),
                                       .each = note_row,
                                       .skip = is_of_older_log,
                                       .context = w,
                                       .budget = w->host->budget};
    w->log_begun = w->state->source_count == 1 ? log_begun(w) : 0;
    offsets_of(&w->candidates, &options.first, &options.last);
    code = fz_audit_places_scan(w->stream->table.store, w->stream->metadata, &options, err);
    fz_commit_runs_settle(&w->present);
    fz_audit_columns_deinit(&columns);
    return code;
}

static fz_code choose_letters(work *w, fz_err *err) {
    fz_audit_replay_report *report = w->report;
    report->letters = report->already = report->beyond = report->in_table = 0;
    w->candidate_count = 0;
    FZ_TRY(fz_audit_letter_table_open(w->stream, w->letters_name, &w->letters, err));
    FZ_TRY(fz_audit_letter_table_places(&w->letters, 0, INT64_MAX, note_letter, w, err));
    fz_commit_runs_settle(&w->candidates);
    if (w->candidates.all.count == 0) {
        return FZ_OK;
    }
    if (w->stream->by_record) {
        return FZ_OK; // delivery tells which rows a table has (R20)
    }
    FZ_TRY(find_present(w, err));
    report->in_table = fz_commit_runs_count(&w->present);
    return FZ_OK;
}

// --- letters to rows

static fz_audit_failing *find_kind(fz_audit_replay_report *report, const char *kind) {
    for (size_t i = 0; i < report->kinds.count; i++) {
        if (strcmp(report->kinds.data[i].kind, kind) == 0) {
            return &report->kinds.data[i];
        }
    }
    fz_audit_failing fresh = {0};
    snprintf(fresh.kind, sizeof fresh.kind, "%s", kind);
    fz_vec_push(&report->kinds, fresh);
    return &report->kinds.data[report->kinds.count - 1];
}

static fz_audit_failing failure(const fz_err *why, int32_t partition, int64_t offset) {
    fz_audit_failing one = {.count = 1, .partition = partition, .offset = offset};
    snprintf(one.kind, sizeof one.kind, "%s", why->kind ? why->kind : fz_code_name(why->code));
    snprintf(one.text, sizeof one.text, "%s", fz_err_text(why));
    return one;
}

static void note_failure(work *w, const fz_audit_failing *one) {
    fz_audit_failing *kind = find_kind(w->report, one->kind);
    if (kind->count == 0) {
        *kind = *one;
    } else {
        kind->count++;
    }
    w->report->failing++;
}

/**
 * The stream was suspended at a record: at this one, which goes on being a letter; or at an earlier
 * one, whose row no file can take. Then *again: the pass is made anew without it.
 */
static void take_suspension(work *w, int32_t partition, int64_t offset, bool *again) {
    fz_stream *stream = w->stream;
    fz_mutex_lock(&stream->mutex);
    fz_err why = stream->err;
    int32_t at_partition = stream->err_partition;
    int64_t at_offset = stream->err_offset;
    stream->halt = false;
    fz_mutex_unlock(&stream->mutex);
    if (at_partition < 0 || (at_partition == partition && at_offset == offset)) {
        fz_audit_failing one = failure(&why, partition, offset);
        note_failure(w, &one);
        return;
    }
    fz_audit_failing one = failure(&why, at_partition, at_offset);
    fz_vec_push(&w->late, one);
    fz_commit_runs_add(&w->late_runs, source_name(w), at_partition, at_offset);
    fz_commit_runs_settle(&w->late_runs);
    *again = true;
}

static fz_code take_letter(work *w, int32_t partition, fz_record *record, bool *again,
                           fz_err *err) {
    fz_stream_part *part = &w->parts[partition];
    int64_t before = fz_rows_count(w->rows);
    fz_code code = FZ_UNAVAILABLE;
    for (int i = 0; i < AWAY_TRIES && code == FZ_UNAVAILABLE; i++) {
        if (i > 0) {
            fz_clock_sleep_ms(w->host->clock, AWAY_MS);
        }
        *part = (fz_stream_part){.partition = partition,
                                 .generation = w->source->parts[partition].generation,
                                 .target = -1,
                                 .lane = -1,
                                 .start = record->offset,
                                 .next = record->offset,
                                 .last_row = -1,
                                 .fetch = {.records = record, .count = 1},
                                 .fingerprint = {.offset = -1}};
        code = fz_rows_take(w->rows, part, err);
    }
    memset(&part->fetch, 0, sizeof part->fetch);
    if (code == FZ_CANCELLED) {
        take_suspension(w, partition, record->offset, again);
        return FZ_OK;
    }
    FZ_TRY(code);
    if (fz_rows_count(w->rows) > before) {
        fz_commit_runs_add(&w->mine, source_name(w), partition, record->offset);
    } else {
        fz_err why;
        fz_err_set_kind(&why, FZ_CORRUPT, "tombstone", "the record makes no row");
        fz_audit_failing one = failure(&why, partition, record->offset);
        note_failure(w, &one);
    }
    return FZ_OK;
}

/** Is the letter one to be tried in this pass? */
static bool is_wanted(work *w, int64_t partition, int64_t offset) {
    fz_str source = source_name(w);
    if (partition < 0 || partition >= w->source->known) {
        return false;
    }
    int32_t p = (int32_t)partition;
    if (!fz_commit_runs_find(&w->candidates, source, p, offset) ||
        fz_commit_runs_find(&w->present, source, p, offset) ||
        fz_commit_runs_find(&w->late_runs, source, p, offset)) {
        return false;
    }
    if (w->candidate_count == fz_commit_runs_count(&w->candidates)) {
        return true;
    }
    char key[48]; // some letters are there twice: a log that was made anew; the first one counts
    snprintf(key, sizeof key, "%d %lld", p, (long long)offset);
    return fz_map_put(&w->taken, fz_str_from(key), w) == NULL;
}

static fz_code take_all(work *w, bool *again, fz_err *err) {
    fz_audit_letter_scan *scan = NULL;
    int64_t first, last;
    offsets_of(&w->candidates, &first, &last);
    FZ_TRY(fz_audit_letter_scan_open(&w->letters, first, last, &scan, err));
    fz_code code = FZ_OK;
    bool found = true;
    while (code == FZ_OK && !*again) {
        int64_t partition;
        fz_record record;
        code = fz_audit_letter_scan_next(scan, &partition, &record, &found, err);
        if (code != FZ_OK || !found) {
            break;
        }
        if (is_wanted(w, partition, record.offset)) {
            code = take_letter(w, (int32_t)partition, &record, again, err);
        }
    }
    if (code == FZ_OK && !*again) {
        code = fz_rows_cut(w->rows, NULL, 0, err);
        if (code == FZ_CANCELLED) {
            take_suspension(w, -1, -1, again);
            code = FZ_OK;
        }
    }
    fz_audit_letter_scan_free(scan);
    return code;
}

/** Decode what was chosen; passes are repeated until no row is in the way. */
static fz_code decode_letters(work *w, fz_err *err) {
    bool again = w->candidates.all.count > 0;
    fz_code code = FZ_OK;
    while (again && code == FZ_OK) {
        again = false;
        end_pass(w);
        w->report->failing = 0;
        fz_vec_reset(&w->report->kinds);
        for (size_t i = 0; i < w->late.count; i++) {
            note_failure(w, &w->late.data[i]);
        }
        fz_stream_cut_reset(&w->stream->cut);
        w->host->source = fz_audit_letter_source();
        w->parts = (fz_stream_part *)fz_calloc((size_t)w->source->known + 1, sizeof *w->parts);
        w->rows = fz_rows_new(w->stream, 0);
        code = take_all(w, &again, err);
        w->host->source = w->log;
    }
    fz_commit_runs_settle(&w->mine);
    return code;
}

// --- the commit

/** R25: the coordinates go with the rows; and a row may be the last one of its partition now
 * (content proof). */
static void edit_replayed(void *context, fz_commit_state *state, fz_commit_source *source) {
    work *w = (work *)context;
    fz_commit_runs base = {0}, sum = {0};
    w->overtaken = fz_commit_runs_read(state->replayed, &base, NULL) != FZ_OK ||
                   fz_commit_runs_touch(&base, &w->mine);
    if (!w->overtaken) {
        fz_commit_runs_add_all(&sum, &base);
        fz_commit_runs_add_all(&sum, &w->mine);
        fz_commit_runs_settle(&sum);
        json_t *replayed = fz_commit_runs_json(&sum);
        json_decref(state->replayed);
        state->replayed = replayed;
        for (size_t i = 0; i < w->mine.all.count; i++) {
            const fz_commit_one_run *run = &w->mine.all.data[i];
            if (run->partition < source->known && !w->stream->by_record) {
                fz_commit_part *part = &source->parts[run->partition];
                bool known = part->last_row != FZ_COMMIT_ROW_UNKNOWN;
                part->last_row =
                    known && run->end - 1 > part->last_row ? run->end - 1 : part->last_row;
            }
        }
    }
    fz_commit_runs_deinit(&base);
    fz_commit_runs_deinit(&sum);
}

static bool in_chain(const fz_iceberg_metadata *metadata, int64_t id) {
    fz_iceberg_snapshot at;
    size_t left = fz_iceberg_metadata_snapshot_count(metadata);
    bool found = fz_iceberg_metadata_main(metadata, &at);
    while (found && at.snapshot_id != id && left-- > 0) {
        found = fz_iceberg_metadata_snapshot(metadata, at.parent_id, &at);
    }
    return found && at.snapshot_id == id;
}

/**
 * Only on top of what it was planned on: what comes after in the chain adds records that are no
 * letters of the plan. A rollback in between would have them read again.
 */
static fz_code build(void *context, const fz_iceberg_metadata *base,
                     const fz_iceberg_append_options *options, fz_iceberg_change *change,
                     fz_err *err) {
    work *w = (work *)context;
    if (w->overtaken) {
        return fz_err_set(err, FZ_CONFLICT, "another replay was first");
    }
    if (!in_chain(base, w->base_snapshot)) {
        return fz_err_set(err, FZ_CONFLICT, "snapshot %lld is not in the table's history any more",
                          (long long)w->base_snapshot);
    }
    return fz_iceberg_append_build(w->stream->cut.files, base, options, change, err);
}

/** The link goes with the commit when it changed. New reference or NULL. */
static json_t *changed_properties(const fz_stream *stream) {
    if (json_equal(stream->committed->link, stream->layout->link)) {
        return NULL;
    }
    char *link = json_dumps(stream->layout->link, JSON_COMPACT);
    json_t *properties = json_object();
    fz_json_set_str(properties, FZ_EVOLVE_LINK_PROPERTY, fz_str_from(link));
    free(link);
    return properties;
}

/** From the first to the last of the replayed records, for what tables of record types are owed. */
static void take_moves(work *w) {
    fz_stream_cut *cut = &w->stream->cut;
    for (int32_t p = 0; p < w->source->known; p++) {
        fz_commit_move move = {.partition = p,
                               .generation = w->source->parts[p].generation,
                               .start = INT64_MAX,
                               .end = -1,
                               .last_row = -1,
                               .fingerprint = {.offset = -1}};
        for (size_t i = 0; i < w->mine.all.count; i++) {
            const fz_commit_one_run *run = &w->mine.all.data[i];
            if (run->partition == p) {
                move.start = run->start < move.start ? run->start : move.start;
                move.end = run->end > move.end ? run->end : move.end;
            }
        }
        if (move.end > 0) {
            fz_vec_push(&cut->moves, move);
        }
    }
}

/** They are decided; what cannot be delivered now stays owed, and the next run brings it. */
static fz_code deliver(work *w, const fz_commit_outcome *outcome, fz_err *err) {
    fz_stream *stream = w->stream;
    fz_iceberg_metadata_unref(stream->metadata);
    stream->metadata = fz_iceberg_metadata_ref(outcome->metadata);
    fz_outbox_owe(stream, outcome->state);
    fz_code code = fz_outbox_deliver(stream, err);
    return code == FZ_OK ? FZ_OK
                         : fz_err_prepend(err, "replayed rows stay owed until the next run");
}

static fz_code check_size(const work *w, fz_err *err) {
    // some forty bytes a run, a few more for a long topic
    size_t bytes = (w->mine.all.count + w->replayed.all.count) * (40 + strlen(w->stream->topic));
    return bytes <= REPLAYED_MAX
               ? FZ_OK
               : fz_err_set(
                     err, FZ_LIMIT,
                     "%zu runs of replayed dead letters are more than the table's properties take",
                     w->mine.all.count + w->replayed.all.count);
}

/** *again: other writers came first, plan anew. */
static fz_code commit(work *w, bool *again, fz_err *err) {
    fz_stream *stream = w->stream;
    FZ_TRY(check_size(w, err));
    FZ_CLEANUP(fz_json_release) json_t *owed = NULL;
    if (stream->by_record) {
        take_moves(w);
        FZ_TRY(fz_outbox_entries(stream, &stream->cut, &owed, err));
    }
    json_t *properties = changed_properties(stream);
    bool schema_changed =
        !fz_type_equal(&stream->layout->schema->root, &stream->committed->schema->root);
    fz_commit_batch batch = {.op = "replay",
                             .uuid = fz_str_from(stream->uuid),
                             .source = source_name(w),
                             .route = fz_str_from(stream->route),
                             .files = stream->cut.files,
                             .commit = fz_str_from(stream->cut.commit),
                             .oldest_file_ms = stream->cut.oldest_file_ms,
                             .rows = stream->cut.counts.rows,
                             .schema_id = fz_iceberg_metadata_schema_id(stream->metadata),
                             .schema = schema_changed ? stream->layout->schema : NULL,
                             .properties = properties,
                             .outbox = owed,
                             .edit = edit_replayed,
                             .edit_context = w,
                             .build = build,
                             .build_context = w};
    fz_commit_outcome outcome;
    fz_commit_run(&stream->table, &batch, &stream->commit_options, &outcome);
    fz_code code = FZ_OK;
    if (outcome.result == FZ_COMMIT_DONE) {
        w->report->replayed = fz_commit_runs_count(&w->mine);
        w->report->snapshot_id = outcome.snapshot_id;
        code = stream->by_record ? deliver(w, &outcome, err) : FZ_OK;
    } else if (outcome.result == FZ_COMMIT_FORGOTTEN) {
        *again = true;
        *err = outcome.err;
    } else {
        *err = outcome.err;
        code = outcome.err.code == FZ_OK ? FZ_CANCELLED : outcome.err.code;
    }
    fz_commit_outcome_deinit(&outcome);
    json_decref(properties);
    return code;
}

static fz_code try_once(work *w, bool *again, fz_err *err) {
    FZ_TRY(open_table(w, err));
    FZ_TRY(choose_letters(w, err));
    FZ_TRY(decode_letters(w, err));
    return w->mine.all.count > 0 ? commit(w, again, err) : FZ_OK;
}

static bool has_coordinates(const fz_config_entry *entry) {
    bool partition = false, offset = false;
    for (size_t i = 0; i < entry->metadata.count; i++) {
        partition = partition || entry->metadata.items[i].field == FZ_METADATA_PARTITION;
        offset = offset || entry->metadata.items[i].field == FZ_METADATA_OFFSET;
    }
    return partition && offset;
}

static fz_code check_stream(const fz_stream *stream, fz_err *err) {
    bool kept =
        stream->by_record ? stream->entry->dead_letter.to_table : stream->letters_name != NULL;
    if (!kept) {
        return fz_err_set(err, FZ_INVALID,
                          "topic \"%s\" has no dead-letter table (on_error, dead_letter.table)",
                          stream->topic);
    }
    if (stream->by_record && !has_coordinates(stream->entry)) {
        return fz_err_set_kind(err, FZ_INVALID, "refused",
                               "the tables of topic \"%s\" have no columns with partition and "
                               "offset (metadata), so nothing tells which rows they have",
                               stream->topic);
    }
    return stream->entry->write_mode == FZ_WRITE_MODE_APPEND
               ? FZ_OK
               : fz_err_set_kind(
                     err, FZ_INVALID, "refused",
                     "table \"%s\" keeps the newest row of a key, and an old event would "
                     "replace it",
                     stream->full_name);
}

static fz_code replay_stream(fz_ingest_host *host, fz_stream *stream,
                             fz_audit_replay_report *report, fz_err *err) {
    report->snapshot_id = -1;
    FZ_TRY(check_stream(stream, err));
    work w = {.host = host,
              .log = host->source,
              .stream = stream,
              .entry = *stream->entry,
              .letters_name = stream->by_record ? stream->full_name : stream->letters_name,
              .report = report};
    const fz_config_entry *entry = stream->entry;
    char *letters_name = stream->letters_name;
    stream->letters_name = NULL;
    w.entry.on_error = FZ_ON_ERROR_SUSPEND;
    stream->entry = &w.entry;
    fz_code code = FZ_OK;
    bool again = true;
    while (again && code == FZ_OK) {
        again = false;
        code = try_once(&w, &again, err);
        end_try(&w);
        if (again && ++report->tries >= TRIES_MAX) {
            again = false;
            code = fz_err_prepend(err, "overtaken %d times", TRIES_MAX);
        }
    }
    stream->entry = entry;
    stream->letters_name = letters_name;
    fz_open_shapes_deinit(&w.shapes);
    fz_commit_runs_deinit(&w.late_runs);
    fz_vec_deinit(&w.late);
    return code;
}

static bool is_named(const fz_stream *stream, fz_str table) {
    return fz_str_equal(table, fz_str_from(stream->full_name)) ||
           fz_str_equal(table, fz_str_from(stream->table_name));
}

fz_code fz_audit_replay(const fz_ingest_host *given, fz_str table,
                        void (*each)(void *context, const fz_stream *stream,
                                     const fz_audit_replay_report *report, const fz_err *err),
                        void *context, fz_err *err) {
    fz_ingest_host host = *given;
    host.log = NULL; // what is wrong with a letter is reported, not logged
    fz_service *service = NULL;
    FZ_TRY(fz_service_new(&host, &service, err));
    fz_code first = FZ_OK;
    bool found = false;
    for (size_t i = 0; i < fz_service_stream_count(service); i++) {
        fz_stream *stream = fz_service_stream_at(service, i);
        if (!is_named(stream, table)) {
            continue;
        }
        found = true;
        fz_audit_replay_report report = {0};
        fz_err why = {0};
        fz_code code = replay_stream(&host, stream, &report, &why);
        each(context, stream, code == FZ_OK ? &report : NULL, &why);
        if (code != FZ_OK && first == FZ_OK) {
            first = code;
            *err = why;
        }
        fz_audit_replay_report_deinit(&report);
    }
    fz_service_free(service);
    return found ? first
                 : fz_err_set(err, FZ_NOT_FOUND,
                              "no entry of the configuration writes table \"%.*s\"",
                              FZ_STR_ARGS(table));
}
