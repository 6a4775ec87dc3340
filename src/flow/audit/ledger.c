// SPDX-License-Identifier: Apache-2.0
// The log against the table: a bit for each record, a bit for each row or letter, in rounds of
// bounded size.
#include <stdio.h>

#include "base/memory.h"
#include "base/text/number.h"
#include "flow/audit/letter_table.h"
#include "flow/audit/verify.h"
#include "format/parquet/reader.h"
#include "table/commit/runs.h"
#include "table/commit/summary.h"

/** Records taken from a reader at a time. */
#define FETCH_RECORDS 4096
/** Without anything new from the log for so long it is given up. */
#define PATIENCE_MS 60000
/** Offsets of a round: at least so many. */
#define ROUND_LEAST (1 << 20)
/** Largest staged file of letters, bytes. */
#define STAGED_MAX ((size_t)1 << 30)

/** Offsets [low, high) of a partition in a round. */
typedef struct segment {
    int32_t partition;
    int64_t low;
    int64_t high;
    uint8_t *logged;
    uint8_t *seen;
    fz_reader *reader;
    fz_fetch fetch;
    bool read;
} segment;

typedef struct ledger {
    fz_stream *stream;
    const fz_commit_source *source;
    fz_audit_report *report;
    fz_audit_topic *topic;
    fz_audit_letter_table letters;
    fz_audit_columns columns;
    fz_commit_runs replayed;
    int64_t *next; // [known] where the next round begins
    bool *started; // [known] rows are expected: the start is known, or one was seen
    FZ_VEC(segment) segments;
    int32_t *of; // [known] index of the partition's segment, -1
    int64_t charged;
    bool first_round;
    bool letters_now; // what is given are letters, not rows
    bool quiet;       // seen already is no difference: a staged letter may have been delivered
    int64_t missing;  // in all, and the first of them
    FZ_VEC(fz_commit_one_run) missing_first;
} ledger;

static bool bit(const uint8_t *bits, int64_t i) {
    return bits[i >> 3] >> (i & 7) & 1;
}

static void set_bit(uint8_t *bits, int64_t i) {
    bits[i >> 3] |= (uint8_t)(1u << (i & 7));
}

static segment *segment_of(ledger *l, int64_t partition, int64_t offset) {
    if (partition < 0 || partition >= l->source->known || l->of[partition] < 0) {
        return NULL;
    }
    segment *s = &l->segments.data[l->of[partition]];
    return offset >= s->low && offset < s->high ? s : NULL;
}

// --- where a partition begins

/** A move that made the partition of this generation known: [source, p, gen, start, end, new gen].
 */
static bool is_birth(const json_t *move, const fz_commit_source *source, int32_t p,
                     int64_t *start) {
    if (json_array_size(move) != 6 ||
        !fz_str_equal(fz_json_view(json_array_get(move, 0)), source->name) ||
        json_integer_value(json_array_get(move, 1)) != p ||
        json_integer_value(json_array_get(move, 5)) != source->parts[p].generation) {
        return false;
    }
    *start = json_integer_value(json_array_get(move, 4));
    return true;
}

static bool birth_in(const fz_iceberg_snapshot *snapshot, const fz_commit_source *source, int32_t p,
                     int64_t *start) {
    FZ_CLEANUP(fz_json_release) json_t *moved = NULL;
    FZ_CLEANUP(fz_json_release) json_t *full = NULL;
    size_t index;
    json_t *move;
    if (fz_json_parse(fz_iceberg_snapshot_summary(snapshot, "frazil.moved"), &moved, NULL) ==
        FZ_OK) {
        json_array_foreach(moved, index, move) {
            if (is_birth(move, source, p, start)) {
                return true;
            }
        }
    }
    if (!fz_str_equal(fz_iceberg_snapshot_summary(snapshot, "frazil.op"), FZ_STR("create")) ||
        fz_json_parse(fz_iceberg_snapshot_summary(snapshot, "frazil.full"), &full, NULL) != FZ_OK) {
        return false;
    }
    const json_t *part =
        json_array_get(json_object_getn(full, source->name.data, source->name.size), (size_t)p);
    if (!part || json_integer_value(json_array_get(part, 0)) != source->parts[p].generation) {
        return false;
    }
    *start = json_integer_value(json_array_get(part, 1));
    return true;
}

/** First offset that the table wanted, by its own snapshots, else by `start`; false: not known. */
static bool find_start(const ledger *l, const fz_commit_state *state, int32_t p, int64_t *start) {
    const fz_iceberg_metadata *metadata = l->stream->metadata;
    for (size_t i = fz_iceberg_metadata_snapshot_count(metadata); i-- > 0;) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(metadata, i, &snapshot);
        if (fz_commit_summary_own(&snapshot, state->nonce) &&
            birth_in(&snapshot, l->source, p, start)) {
            return true;
        }
    }
    *start = 0;
    return l->stream->entry->start.kind == FZ_START_EARLIEST;
}

static fz_code add_part(ledger *l, const fz_commit_state *state, int32_t p, fz_err *err) {
    const fz_commit_part *part = &l->source->parts[p];
    int64_t low, end, start;
    FZ_TRY(fz_source_bounds(l->stream->host->source, fz_str_from(l->stream->topic), p, &low, &end,
                            err));
    l->started[p] = find_start(l, state, p, &start);
    fz_audit_part one = {.partition = p,
                         .generation = part->generation,
                         .log_start = low,
                         .checked_from = start > low ? start : low,
                         .checked_to = part->next < end ? part->next : end};
    if (part->next > end) {
        fz_audit_report_add(l->report, "log_ends", l->topic->topic, p, end,
                            "topic \"%s\" partition %d ends at %lld, the table's position is %lld",
                            l->stream->topic, p, (long long)end, (long long)part->next);
    }
    if (one.checked_from > one.checked_to) {
        one.checked_from = one.checked_to;
    }
    l->next[p] = one.checked_from;
    fz_vec_push(&l->topic->parts, one);
    return FZ_OK;
}

// --- rounds

static void end_round(ledger *l) {
    for (size_t i = 0; i < l->segments.count; i++) {
        segment *s = &l->segments.data[i];
        fz_fetch_deinit(&s->fetch);
        fz_source_close(l->stream->host->source, s->reader);
        fz_free(s->logged);
        fz_free(s->seen);
        l->of[s->partition] = -1;
    }
    fz_vec_reset(&l->segments);
    fz_budget_release(l->stream->host->budget, l->charged);
    l->charged = 0;
}

/** Segments for the next round; none: all is done. */
static fz_code begin_round(ledger *l, fz_err *err) {
    fz_budget *budget = l->stream->host->budget;
    int64_t room = budget && budget->limit > 0 ? budget->limit / 16 * 4 : 1 << 28;
    room = room < ROUND_LEAST ? ROUND_LEAST : room;
    for (int32_t p = 0; p < l->source->known && room > 0; p++) {
        int64_t left = l->topic->parts.data[p].checked_to - l->next[p];
        int64_t count = left < room ? left : room;
        if (count <= 0) {
            continue;
        }
        int64_t bytes = count / 8 + 1;
        FZ_TRY(fz_budget_charge(budget, 2 * bytes, "the ledger", err));
        l->charged += 2 * bytes;
        segment s = {.partition = p,
                     .low = l->next[p],
                     .high = l->next[p] + count,
                     .logged = (uint8_t *)fz_calloc((size_t)bytes, 1),
                     .seen = (uint8_t *)fz_calloc((size_t)bytes, 1)};
        l->of[p] = (int32_t)l->segments.count;
        fz_vec_push(&l->segments, s);
        l->next[p] += count;
        room -= count;
    }
    return FZ_OK;
}

// --- the log

static void take_record(ledger *l, segment *s, const fz_record *record) {
    fz_audit_part *part = &l->topic->parts.data[s->partition];
    if (record->offset < s->low || record->offset >= s->high) {
        return;
    }
    if (!record->value && l->stream->entry->tombstones == FZ_TOMBSTONES_SKIP) {
        part->tombstones++;
        return;
    }
    part->records++;
    set_bit(s->logged, record->offset - s->low);
}

/** Take what waits; *some tells whether there was anything. */
static fz_code read_segment(ledger *l, segment *s, bool *some, fz_err *err) {
    fz_fetch_release(&s->fetch);
    s->fetch.end = false;
    FZ_TRY(fz_reader_fetch(s->reader, FETCH_RECORDS, &s->fetch, err));
    for (size_t i = 0; i < s->fetch.count; i++) {
        take_record(l, s, &s->fetch.records[i]);
    }
    *some = *some || s->fetch.count > 0;
    bool end = s->fetch.end && s->fetch.end_offset >= s->high;
    if (end || s->reader->position >= s->high) {
        fz_fetch_release(&s->fetch);
        s->read = true;
    }
    return FZ_OK;
}

static fz_code read_log(ledger *l, fz_err *err) {
    fz_source *source = l->stream->host->source;
    fz_clock *clock = l->stream->host->clock;
    for (size_t i = 0; i < l->segments.count; i++) {
        segment *s = &l->segments.data[i];
        FZ_TRY(fz_source_open(source, fz_str_from(l->stream->topic), s->partition, s->low,
                              &s->reader, err));
    }
    int64_t until = fz_clock_mono_ms(clock) + PATIENCE_MS;
    size_t left = l->segments.count;
    while (left > 0) {
        bool some = false;
        left = 0;
        for (size_t i = 0; i < l->segments.count; i++) {
            segment *s = &l->segments.data[i];
            if (!s->read) {
                FZ_TRY(read_segment(l, s, &some, err));
                left += !s->read;
            }
        }
        if (some) {
            until = fz_clock_mono_ms(clock) + PATIENCE_MS;
        } else if (fz_clock_mono_ms(clock) > until) {
            return fz_err_set(err, FZ_UNAVAILABLE, "topic \"%s\": nothing was read for %d s",
                              l->stream->topic, PATIENCE_MS / 1000);
        }
        fz_source_serve(source, some ? 0 : 2);
    }
    return FZ_OK;
}

// --- the table

static bool is_past(const ledger *l, int64_t partition, int64_t offset) {
    return partition < 0 || partition >= l->source->known ||
           (l->source->parts[partition].generation == 0 &&
            offset >= l->source->parts[partition].next);
}

/** A row or a letter. Of older logs there may be others with the same coordinates. */
static bool note_place(void *context, int64_t partition, int64_t offset) {
    ledger *l = (ledger *)context;
    if (!l->letters_now && l->first_round && is_past(l, partition, offset)) {
        fz_audit_report_add(l->report, "beyond", l->topic->topic, (int32_t)partition, offset,
                            "a row of partition %lld offset %lld is not below the table's position",
                            (long long)partition, (long long)offset);
    }
    segment *s = segment_of(l, partition, offset);
    if (!s || (l->letters_now &&
               fz_commit_runs_find(&l->replayed, l->source->name, (int32_t)partition, offset))) {
        return true;
    }
    fz_audit_part *part = &l->topic->parts.data[s->partition];
    bool again = bit(s->seen, offset - s->low);
    if (!again || !l->quiet) {
        part->rows += !l->letters_now;
        part->letters += l->letters_now;
    }
    if (again && !l->quiet && part->generation == 0) {
        part->twice++;
        fz_audit_report_add(l->report, "twice", l->topic->topic, s->partition, offset,
                            "partition %d offset %lld is there more than once%s", s->partition,
                            (long long)offset, l->letters_now ? " as a dead letter" : "");
    }
    set_bit(s->seen, offset - s->low);
    return true;
}

static bool skip_bad(void *context, const fz_iceberg_entry *entry) {
    ledger *l = (ledger *)context;
    return fz_map_find(&l->report->bad_files, entry->file.path) != NULL;
}

/** A file of letters that its table is still owed. One that is gone was delivered and cleaned up.
 */
static fz_code read_staged(ledger *l, fz_str uri, fz_err *err) {
    fz_store *store = l->stream->table.store;
    fz_budget *budget = l->stream->host->budget;
    fz_str key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, STAGED_MAX, budget);
    FZ_TRY(fz_store_key(store, uri, &key, err));
    fz_code code = fz_store_read_all(store, key, &bytes, err);
    if (code == FZ_NOT_FOUND) {
        return FZ_OK;
    }
    FZ_TRY(code);
    fz_parquet_memory_source memory;
    fz_parquet_memory_source_init(&memory, fz_buf_view(&bytes));
    fz_parquet_reader *reader = NULL;
    FZ_TRY(fz_parquet_reader_open(&memory.source, NULL, budget, &reader, err));
    fz_schema *schema = fz_parquet_reader_schema(reader);
    fz_batch *batch = fz_batch_new(schema, budget);
    const fz_field *partition = fz_schema_find_path(schema, FZ_STR("partition"));
    const fz_field *offset = fz_schema_find_path(schema, FZ_STR("offset"));
    bool fits = partition && offset && partition->type.kind == FZ_TYPE_INT &&
                offset->type.kind == FZ_TYPE_LONG;
    code =
        fits ? fz_parquet_reader_project(reader, schema, err)
             : fz_err_set(err, FZ_CORRUPT, "file \"%.*s\" holds no dead letters", FZ_STR_ARGS(uri));
    int64_t got = 1;
    while (code == FZ_OK && got > 0) {
        fz_batch_reset(batch);
        code = fz_parquet_reader_next(reader, batch, 1024, &got, err);
        for (int64_t row = 0; code == FZ_OK && row < got; row++) {
            note_place(l, ((const int32_t *)fz_batch_find(batch, partition->id)->values)[row],
                       ((const int64_t *)fz_batch_find(batch, offset->id)->values)[row]);
        }
    }
    fz_batch_free(batch);
    fz_parquet_reader_free(reader);
    return code;
}

static fz_code note_outbox(ledger *l, const json_t *outbox, fz_err *err) {
    size_t index, file;
    json_t *entry, *uri;
    json_array_foreach(outbox, index, entry) {
        fz_str source = fz_json_str_or(entry, "source");
        if (source.size > 0 && !fz_str_equal(source, l->source->name)) {
            continue;
        }
        json_array_foreach(json_object_get(entry, "files"), file, uri) {
            if (json_is_string(uri)) {
                FZ_TRY(read_staged(l, fz_json_view(uri), err));
            }
        }
    }
    return FZ_OK;
}

static fz_code note_table(ledger *l, const fz_commit_state *state, fz_err *err) {
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < l->segments.count; i++) {
        first = l->segments.data[i].low < first ? l->segments.data[i].low : first;
    }
    l->letters_now = true;
    FZ_TRY(fz_audit_letter_table_places(&l->letters, first, INT64_MAX, note_place, l, err));
    l->quiet = true;
    fz_code code = note_outbox(l, state->outbox, err);
    l->quiet = l->letters_now = false;
    FZ_TRY(code);
    const fz_audit_places_options options = {.columns = &l->columns,
                                             .topic = fz_str_from(l->stream->topic),
                                             .first = first,
                                             .last = INT64_MAX,
                                             .each = note_place,
                                             .skip = skip_bad,
                                             .context = l,
                                             .budget = l->stream->host->budget};
    return fz_audit_places_scan(l->stream->table.store, l->stream->metadata, &options, err);
}

// --- comparing

static bool in_range(const fz_commit_source *source, int32_t p, int64_t offset) {
    for (size_t i = 0; i < source->range_count; i++) {
        const fz_commit_range *range = &source->ranges[i];
        if (range->partition == p && range->generation == source->parts[p].generation &&
            offset >= range->start && offset < range->end) {
            return true;
        }
    }
    return false;
}

static void compare_offset(ledger *l, segment *s, int64_t offset) {
    fz_audit_part *part = &l->topic->parts.data[s->partition];
    bool logged = bit(s->logged, offset - s->low), seen = bit(s->seen, offset - s->low);
    if (seen && !l->started[s->partition]) {
        l->started[s->partition] = true;
        part->checked_from = offset;
    }
    part->not_in_log += seen && !logged;
    if (!logged || seen || !l->started[s->partition]) {
        return;
    }
    if (in_range(l->source, s->partition, offset)) {
        part->skipped++;
        return;
    }
    part->missing++;
    l->missing++;
    if (l->missing_first.count < FZ_AUDIT_NAMED) {
        fz_commit_one_run one = {l->source->name, s->partition, offset, offset + 1};
        fz_vec_push(&l->missing_first, one);
    }
}

static void compare(ledger *l) {
    for (size_t i = 0; i < l->segments.count; i++) {
        segment *s = &l->segments.data[i];
        for (int64_t byte = 0; byte <= (s->high - s->low) / 8; byte++) {
            if (s->logged[byte] == s->seen[byte] && l->started[s->partition]) {
                continue;
            }
            for (int64_t at = s->low + 8 * byte; at < s->low + 8 * byte + 8 && at < s->high; at++) {
                compare_offset(l, s, at);
            }
        }
    }
}

/** Records that `on_error: skip` left out are missing rightly; which ones they are is not recorded.
 */
static void report_missing(ledger *l) {
    l->topic->skipped_records = l->source->skipped;
    if (l->missing <= l->source->skipped) {
        return;
    }
    for (size_t i = 0; i < l->missing_first.count; i++) {
        const fz_commit_one_run *one = &l->missing_first.data[i];
        fz_audit_report_add(
            l->report, "missing", l->topic->topic, one->partition, one->start,
            "the record of partition %d offset %lld is neither a row nor a dead letter",
            one->partition, (long long)one->start);
    }
    l->report->differences += l->missing - l->source->skipped - (int64_t)l->missing_first.count;
}

static fz_code run_rounds(ledger *l, const fz_commit_state *state, fz_err *err) {
    fz_code code = begin_round(l, err);
    l->first_round = true;
    while (code == FZ_OK && l->segments.count > 0) {
        code = read_log(l, err);
        if (code == FZ_OK) {
            code = note_table(l, state, err);
        }
        if (code == FZ_OK) {
            compare(l);
            end_round(l);
            l->first_round = false;
            code = begin_round(l, err);
        }
    }
    end_round(l);
    return code;
}

/** Why the rows of the stream's table cannot be told by offset; empty: they can. */
static fz_code why_not(ledger *l, char *out, size_t size, fz_err *err) {
    const fz_stream *stream = l->stream;
    if (stream->by_record) {
        snprintf(out, size, "its rows are in a table a record type");
        return FZ_OK;
    }
    if (stream->entry->write_mode != FZ_WRITE_MODE_APPEND) {
        snprintf(out, size, "rows are replaced by key (write_mode)");
        return FZ_OK;
    }
    fz_code code = fz_audit_columns_find(stream->metadata, &l->columns, err);
    if (code == FZ_NOT_FOUND) {
        snprintf(out, size, "%s", err->text);
        return FZ_OK;
    }
    return code;
}

static fz_code check(ledger *l, const fz_commit_state *state, fz_err *err) {
    FZ_TRY(why_not(l, l->topic->not_checked, sizeof l->topic->not_checked, err));
    if (l->topic->not_checked[0]) {
        return FZ_OK;
    }
    FZ_TRY(fz_commit_runs_read(state->replayed, &l->replayed, err));
    if (l->stream->letters_name) {
        FZ_TRY(fz_audit_letter_table_open(l->stream, l->stream->letters_name, &l->letters, err));
    }
    for (int32_t p = 0; p < l->source->known; p++) {
        l->of[p] = -1;
        FZ_TRY(add_part(l, state, p, err));
    }
    FZ_TRY(run_rounds(l, state, err));
    report_missing(l);
    return FZ_OK;
}

fz_code fz_audit_check_log(fz_stream *stream, const fz_commit_state *state, fz_audit_report *report,
                           fz_err *err) {
    ledger l = {.stream = stream, .report = report};
    l.source = fz_commit_state_find(state, fz_str_from(stream->topic));
    l.topic = (fz_audit_topic *)fz_calloc(1, sizeof *l.topic);
    l.topic->topic = fz_str_dup(fz_str_from(stream->topic));
    fz_vec_push(&report->topics, l.topic);
    if (!l.source) {
        snprintf(l.topic->not_checked, sizeof l.topic->not_checked,
                 "the table was never written from it");
        return FZ_OK;
    }
    size_t known = (size_t)l.source->known + 1;
    l.next = (int64_t *)fz_calloc(known, sizeof *l.next);
    l.started = (bool *)fz_calloc(known, sizeof *l.started);
    l.of = (int32_t *)fz_calloc(known, sizeof *l.of);
    fz_code code = check(&l, state, err);
    fz_audit_letter_table_deinit(&l.letters);
    fz_audit_columns_deinit(&l.columns);
    fz_commit_runs_deinit(&l.replayed);
    fz_vec_deinit(&l.segments);
    fz_vec_deinit(&l.missing_first);
    fz_free(l.next);
    fz_free(l.started);
    fz_free(l.of);
    return code;
}
