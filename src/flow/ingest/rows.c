// SPDX-License-Identifier: Apache-2.0
// Records to rows, rows to files, files to a cut.
#include "flow/ingest/rows.h"

#include <stdio.h>

#include "base/memory.h"
#include "flow/ingest/files.h"
#include "flow/ingest/letters.h"
#include "flow/ingest/letters_topic.h"
#include "flow/ingest/meta_columns.h"
#include "flow/ingest/record_tables.h"
#include "io/registry/frame.h"

/** Rows, and bytes of records, that are collected before they are encoded. */
#define BATCH_ROWS 8192
#define BATCH_BYTES (4 << 20)

typedef struct table table;

/** How records of one writer schema become rows of the present layout of a table. */
typedef struct plan {
    int32_t id;
    bool has_guid;
    uint8_t guid[16];
    fz_writer_schema_entry *schema;
    table *table;
    fz_decoder *decoder; // NULL: not opened for this layout yet
    fz_code refused;     // the schema cannot be brought into the table
    fz_err why;
} plan;

/** Plans of one side of the record. */
typedef struct plans {
    fz_evolve_side side;
    fz_writer_schemas *schemas;
    const fz_config_side *config;
    const char *header;
    FZ_VEC(plan *) all;
    plan *last;
} plans;

/** What is collected for one table: the stream's own, or one of a record type. */
struct table {
    fz_rows *rows;
    fz_record_table *sink; // NULL: the stream's own
    fz_layout *layout;
    fz_batch *batch;
    fz_files *files;
    fz_meta_columns *meta;
    plans key; // schemas NULL: no key columns
    int64_t batch_bytes;
    fz_iceberg_append *early; // files since the last cut that are finished
    int64_t early_bytes;
    int64_t early_oldest_ms;
    int64_t row_count; // since the last cut
    int64_t
        *last_rows; // of a sink, [partition]: offset of the last row since the last cut, -1: none
    int32_t last_count;
};

struct fz_rows {
    fz_stream *stream;
    const fz_ingest_host *host;
    int lane;
    table *own; // NULL: tables come with their records
    FZ_VEC(table *) tables;
    plans value;
    fz_stream_counts counts;         // since the last cut; rows are counted by table
    fz_letters *letters;             // NULL: none since the last cut
    fz_letters_topic *letters_topic; // NULL: none sent yet
    int32_t record_schema_id;        // of the record being taken, -1: not read yet
};

static fz_iceberg_append *no_files(void) {
    return fz_iceberg_append_new(FZ_STR("00000000-0000-0000-0000-000000000000"));
}

static table *table_new(fz_rows *rows, fz_record_table *sink) {
    table *t = (table *)fz_calloc(1, sizeof *t);
    t->rows = rows;
    t->sink = sink;
    t->key = (plans){.side = FZ_EVOLVE_KEY,
                     .schemas = rows->stream->key_schemas,
                     .config = &rows->stream->entry->key,
                     .header = FZ_REGISTRY_KEY_HEADER};
    t->early = no_files();
    if (sink) {
        t->last_count = rows->stream->part_count;
        t->last_rows = (int64_t *)fz_calloc((size_t)t->last_count + 1, sizeof *t->last_rows);
        memset(t->last_rows, 0xff, ((size_t)t->last_count + 1) * sizeof *t->last_rows);
    }
    fz_vec_push(&rows->tables, t);
    return t;
}

fz_rows *fz_rows_new(fz_stream *stream, int lane) {
    fz_rows *rows = (fz_rows *)fz_calloc(1, sizeof *rows);
    rows->stream = stream;
    rows->host = stream->host;
    rows->lane = lane;
    rows->value = (plans){.side = FZ_EVOLVE_VALUE,
                          .schemas = stream->schemas,
                          .config = &stream->entry->value,
                          .header = FZ_REGISTRY_VALUE_HEADER};
    rows->own = stream->by_record ? NULL : table_new(rows, NULL);
    return rows;
}

/** Decoders of a table's layout are of no use with another one. */
static void close_plans(plans *of, const table *t) {
    for (size_t i = 0; i < of->all.count; i++) {
        plan *p = of->all.data[i];
        if (p->table == t) {
            fz_decoder_free(p->decoder);
            p->decoder = NULL;
            p->refused = FZ_OK;
        }
    }
}

static void free_plans(plans *of) {
    for (size_t i = 0; i < of->all.count; i++) {
        fz_free(of->all.data[i]);
    }
    fz_vec_deinit(&of->all);
}

static void drop_layout(table *t) {
    close_plans(&t->rows->value, t);
    close_plans(&t->key, t);
    fz_files_free(t->files);
    t->files = NULL;
    fz_meta_columns_free(t->meta);
    t->meta = NULL;
    fz_batch_free(t->batch);
    t->batch = NULL;
    fz_layout_unref(t->layout);
    t->layout = NULL;
}

static void table_free(table *t) {
    drop_layout(t);
    free_plans(&t->key);
    fz_iceberg_append_free(t->early);
    fz_free(t->last_rows);
    fz_free(t);
}

void fz_rows_free(fz_rows *rows) {
    if (!rows) {
        return;
    }
    for (size_t i = 0; i < rows->tables.count; i++) {
        table_free(rows->tables.data[i]);
    }
    fz_vec_deinit(&rows->tables);
    fz_letters_free(rows->letters);
    fz_letters_topic_free(rows->letters_topic);
    free_plans(&rows->value);
    fz_free(rows);
}

// --- files

/** Encode what the batch holds. */
static fz_code spill(table *t, fz_err *err);

/** Encode what all batches hold, to have memory. */
static fz_code spill_all(fz_rows *rows, fz_err *err) {
    for (size_t i = 0; i < rows->tables.count; i++) {
        FZ_TRY(spill(rows->tables.data[i], err));
    }
    return FZ_OK;
}

static void earlier(int64_t *oldest, int64_t ms) {
    if (ms > 0 && (*oldest == 0 || ms < *oldest)) {
        *oldest = ms;
    }
}

/** Files of the layout so far are finished; they go with the next cut. */
static fz_code finish_files(table *t, fz_err *err) {
    if (!t->files) {
        return FZ_OK;
    }
    FZ_TRY(spill(t, err));
    int64_t bytes = 0;
    earlier(&t->early_oldest_ms, fz_files_oldest_ms(t->files));
    FZ_TRY(fz_files_finish(t->files, t->early, &bytes, err));
    t->early_bytes += bytes;
    return FZ_OK;
}

/** Change over to a newer layout. */
static fz_code use_layout(table *t, fz_layout *layout, fz_err *err) {
    if (t->layout == layout) {
        return FZ_OK;
    }
    FZ_TRY(finish_files(t, err));
    drop_layout(t);
    fz_stream *stream = t->rows->stream;
    t->layout = fz_layout_ref(layout);
    t->batch = fz_batch_new(layout->schema, stream->host->budget);
    t->meta =
        fz_meta_columns_new(layout, t->batch, stream->host->source, fz_str_from(stream->topic));
    const fz_config_entry *entry = stream->entry;
    fz_files_options options = {
        .layout = layout,
        .store = t->sink ? t->sink->store : stream->table.store,
        .location =
            t->sink ? fz_str_from(t->sink->location) : fz_iceberg_metadata_base(layout->metadata),
        .instance = stream->host->instance,
        .config = &entry->files,
        .clock = stream->host->clock,
        .budget = stream->host->budget,
    };
    return fz_files_new(&options, t->batch, &t->files, err);
}

// --- bad records

/** Into the lane's letters; they are made with the first one. */
static fz_code dead_letter(fz_rows *rows, fz_stream_part *part, const fz_record *record,
                           const fz_err *why, fz_err *err) {
    if (rows->stream->entry->dead_letter.topic.size > 0) {
        if (!rows->letters_topic) {
            FZ_TRY(fz_letters_topic_new(rows->stream, &rows->letters_topic, err));
        }
        FZ_TRY(fz_letters_topic_send(rows->letters_topic, part, record, why, err));
    }
    if (rows->stream->entry->dead_letter.to_table) {
        if (!rows->letters) {
            rows->letters = fz_letters_new(rows->stream);
        }
        FZ_TRY(fz_letters_append(rows->letters, part->partition, record, why->kind, why->text,
                                 rows->record_schema_id, err));
    }
    rows->counts.dead_letters++;
    if (rows->stream->by_record) {
        part->last_row = record->offset; // it is a row of the home
    }
    return FZ_OK;
}

/** By the entry's rule: OK, the record is settled; CANCELLED, the stream is suspended at it. */
static fz_code bad_record(fz_rows *rows, fz_stream_part *part, const fz_record *record,
                          fz_err *err) {
    fz_stream *stream = rows->stream;
    fz_err why = *err;
    why.kind = why.kind ? why.kind : fz_code_name(why.code);
    FZ_LOG(rows->host->log, FZ_LOG_WARN, "bad_record", FZ_KV_TEXT("topic", stream->topic),
           FZ_KV_INT("partition", part->partition), FZ_KV_INT("offset", record->offset),
           FZ_KV_TEXT("kind", why.kind), FZ_KV_TEXT("error", why.text));
    if (stream->entry->on_error == FZ_ON_ERROR_SKIP) {
        rows->counts.skipped++;
        return FZ_OK;
    }
    if (fz_stream_keeps_letters(stream)) {
        return dead_letter(rows, part, record, &why, err);
    }
    fz_err_set_kind(err, why.code, why.kind, "topic \"%s\" partition %d offset %lld: %s",
                    stream->topic, part->partition, (long long)record->offset, why.text);
    fz_stream_suspend(stream, err, part->partition, record->offset);
    err->code = FZ_CANCELLED;
    return FZ_CANCELLED;
}

static fz_code spill(table *t, fz_err *err) {
    if (t->batch && t->batch->rows > 0) {
        FZ_TRY(fz_files_append(t->files, err));
        fz_batch_reset(t->batch);
    }
    t->batch_bytes = 0;
    return FZ_OK;
}

// --- records

static plan *plan_find(plans *of, const fz_registry_frame *frame) {
    plan *last = of->last;
    if (FZ_LIKELY(last && !frame->has_guid && !last->has_guid && last->id == frame->id)) {
        return last;
    }
    for (size_t i = 0; i < of->all.count; i++) {
        plan *p = of->all.data[i];
        if (p->has_guid == frame->has_guid &&
            (frame->has_guid ? memcmp(p->guid, frame->guid, 16) == 0 : p->id == frame->id)) {
            return of->last = p;
        }
    }
    return NULL;
}

/** The table that rows of a schema go to. */
static fz_code table_of(fz_rows *rows, fz_writer_schema_entry *schema, table **out, fz_err *err) {
    *out = rows->own;
    if (rows->own) {
        return FZ_OK;
    }
    fz_record_table *sink = NULL;
    FZ_TRY(fz_record_table_open(rows->stream, schema, &sink, err));
    for (size_t i = 0; i < rows->tables.count && !*out; i++) {
        *out = rows->tables.data[i]->sink == sink ? rows->tables.data[i] : NULL;
    }
    if (!*out) {
        *out = table_new(rows, sink);
    }
    return FZ_OK;
}

/** Bind the schema and open its decoder on the layout that comes out, which may be a newer one. */
static fz_code bind_plan(fz_rows *rows, plans *of, plan *p, fz_err *err) {
    fz_layout *layout = NULL;
    fz_schema *bound = NULL;
    FZ_TRY(fz_stream_bind(rows->stream, p->table->sink, p->schema, of->side, &layout, &bound, err));
    fz_code code = use_layout(p->table, layout, err);
    if (code == FZ_OK) {
        code = fz_decoder_open(p->schema->schema, bound, layout->schema, layout->owned[of->side],
                               &p->decoder, err);
        if (code != FZ_OK) {
            p->refused = code;
            p->why = *err;
        }
    }
    fz_schema_unref(bound);
    fz_layout_unref(layout);
    return code;
}

/** Open a plan for a table; `t` NULL: the one that its schema says. */
static fz_code plan_open(fz_rows *rows, plans *of, table *t, plan *p, fz_err *err) {
    fz_code code = FZ_OK;
    if (!p->table) {
        p->table = t;
        code = t ? FZ_OK : table_of(rows, p->schema, &p->table, err);
    }
    bool bound = code == FZ_OK;
    if (bound) {
        code = bind_plan(rows, of, p, err);
    }
    // what is about the schema stays so; what is about the catalog passes
    if (code == FZ_UNSUPPORTED || code == FZ_CORRUPT || (bound && code == FZ_INVALID)) {
        p->refused = code;
        p->why = *err;
    }
    return code;
}

/** The plan of a frame, ready to decode. */
static fz_code plan_of(fz_rows *rows, plans *of, table *t, const fz_registry_frame *frame,
                       plan **out, fz_err *err) {
    plan *p = plan_find(of, frame);
    if (!p) {
        fz_writer_schema_entry *schema = NULL;
        FZ_TRY(fz_writer_schemas_find(of->schemas, frame, &schema, err));
        p = (plan *)fz_calloc(1, sizeof *p);
        p->id = frame->id;
        p->has_guid = frame->has_guid;
        memcpy(p->guid, frame->guid, 16);
        p->schema = schema;
        fz_vec_push(&of->all, p);
        of->last = p;
    }
    if (p->refused != FZ_OK) {
        *err = p->why;
        return p->refused;
    }
    if (!p->decoder) {
        FZ_TRY(plan_open(rows, of, t, p, err));
    }
    *out = p;
    return FZ_OK;
}

/** The frame of a value or key: of the last header of that name, else in front of it. */
static fz_code frame_of(fz_rows *rows, const plans *of, const fz_record *record, fz_str bytes,
                        fz_registry_frame *frame, fz_err *err) {
    fz_str name, value, found = {0};
    bool is_null;
    for (size_t i = 0; fz_record_header(rows->host->source, record, i, &name, &value, &is_null);
         i++) {
        if (fz_str_equal(name, fz_str_from(of->header))) {
            found = is_null ? (fz_str){0} : fz_str_make(value.data ? value.data : "", value.size);
        }
    }
    if (found.data) {
        return fz_registry_frame_parse_header(found, frame, err);
    }
    return fz_registry_frame_parse((const uint8_t *)bytes.data, bytes.size, frame, err);
}

/** Framed bytes name their schema; others have the one that the entry gives. */
static fz_code find_plan(fz_rows *rows, plans *of, table *t, const fz_record *record, fz_str bytes,
                         plan **out, size_t *payload_at, fz_err *err) {
    fz_registry_frame frame = {.id = -1};
    fz_config_format format = of->config->format;
    bool framed = of->config->framing == FZ_FRAMING_CONFLUENT &&
                  format != FZ_CONFIG_FORMAT_STRING && format != FZ_CONFIG_FORMAT_BYTES &&
                  of->config->mode != FZ_KEY_MODE_BYTES;
    if (framed) {
        FZ_TRY(frame_of(rows, of, record, bytes, &frame, err));
    }
    if (of->side == FZ_EVOLVE_VALUE) {
        rows->record_schema_id = frame.has_guid ? -1 : frame.id;
    }
    *payload_at = frame.payload_at;
    return plan_of(rows, of, t, &frame, out, err);
}

/** Null in every column of a side. */
static fz_code take_nulls(table *t, fz_evolve_side side, fz_err *err) {
    for (size_t i = 0; i < t->batch->column_count; i++) {
        if (t->layout->owned[side][i]) {
            FZ_TRY(fz_column_append_null(&t->batch->columns[i], err));
        }
    }
    return FZ_OK;
}

static fz_code find_key(fz_rows *rows, table *t, const fz_record *record, plan **key,
                        size_t *key_at, fz_err *err) {
    if (!t->key.schemas || !record->key) {
        return FZ_OK;
    }
    fz_str bytes = fz_str_make(record->key, record->key_size);
    return find_plan(rows, &t->key, t, record, bytes, key, key_at, err);
}

/**
 * Both plans on one layout: opening one may bring a newer layout, on which the other must be opened
 * again. Where the value says which table it is, it comes first.
 */
static fz_code find_plans(fz_rows *rows, const fz_record *record, plan **value, size_t *value_at,
                          plan **key, size_t *key_at, fz_err *err) {
    *key = NULL;
    do {
        if (rows->own) {
            FZ_TRY(find_key(rows, rows->own, record, key, key_at, err));
        }
        fz_str bytes = fz_str_make(record->value, record->value_size);
        FZ_TRY(find_plan(rows, &rows->value, rows->own, record, bytes, value, value_at, err));
        if (!rows->own) {
            FZ_TRY(find_key(rows, (*value)->table, record, key, key_at, err));
        }
    } while (FZ_UNLIKELY(!(*value)->decoder || (*key && !(*key)->decoder)));
    return FZ_OK;
}

/** Key and metadata columns of a row whose value columns are there; the row counts then, or is cut
 * off. */
static fz_code finish_row(fz_rows *rows, table *t, int32_t partition, const fz_record *record,
                          plan *key, size_t key_at, fz_code code, fz_err *err) {
    int64_t before = t->batch->rows;
    if (FZ_LIKELY(code == FZ_OK) && t->key.schemas) {
        code = key ? fz_decoder_decode(key->decoder, record->key + key_at,
                                       record->key_size - key_at, t->batch, err)
                   : take_nulls(t, FZ_EVOLVE_KEY, err);
    }
    if (FZ_LIKELY(code == FZ_OK)) {
        fz_meta_columns_set_partition(t->meta, partition);
        code = fz_meta_columns_append(t->meta, record, rows->record_schema_id, err);
    }
    if (FZ_LIKELY(code == FZ_OK)) {
        code = fz_files_check(t->files, before, err);
    }
    if (FZ_UNLIKELY(code != FZ_OK)) {
        fz_batch_truncate(t->batch, before);
        return code;
    }
    t->batch->rows = before + 1;
    return FZ_OK;
}

/** The first required column of the value, NULL if all are optional. */
static const fz_field *required_column(const table *t) {
    const fz_type *root = &t->layout->schema->root;
    for (size_t i = 0; i < root->field_count; i++) {
        if (t->layout->owned[FZ_EVOLVE_VALUE][i] && root->fields[i].required) {
            return &root->fields[i];
        }
    }
    return NULL;
}

/** `tombstones: row`: all value columns are null. */
static fz_code take_tombstone(fz_rows *rows, int32_t partition, const fz_record *record, table *t,
                              fz_err *err) {
    plan *key = NULL;
    size_t key_at = 0;
    do {
        fz_mutex_lock(&rows->stream->mutex);
        fz_layout *layout = fz_layout_ref(rows->stream->layout);
        fz_mutex_unlock(&rows->stream->mutex);
        fz_code code = use_layout(t, layout, err);
        fz_layout_unref(layout);
        FZ_TRY(code);
        FZ_TRY(find_key(rows, t, record, &key, &key_at, err));
    } while (key && !key->decoder);
    const fz_field *required = required_column(t);
    if (required) {
        return fz_err_set_kind(err, FZ_CORRUPT, "null_in_required",
                               "a tombstone, and column \"%.*s\" is required (tombstones: row)",
                               FZ_STR_ARGS(required->name));
    }
    fz_code code = take_nulls(t, FZ_EVOLVE_VALUE, err);
    return finish_row(rows, t, partition, record, key, key_at, code, err);
}

static fz_code take_value(fz_rows *rows, int32_t partition, const fz_record *record, table **into,
                          fz_err *err) {
    if (FZ_UNLIKELY(!record->value)) {
        *into = rows->own;
        return take_tombstone(rows, partition, record, rows->own, err);
    }
    plan *value = NULL, *key = NULL;
    size_t value_at = 0, key_at = 0;
    FZ_TRY(find_plans(rows, record, &value, &value_at, &key, &key_at, err));
    table *t = value->table;
    *into = t;
    fz_code code = fz_decoder_decode(value->decoder, record->value + value_at,
                                     record->value_size - value_at, t->batch, err);
    return finish_row(rows, t, partition, record, key, key_at, code, err);
}

/** Is the failure the record's own, not ours or the network's? */
static bool of_record(const fz_rows *rows, fz_code code, const fz_err *err) {
    bool of_schema = code == FZ_UNSUPPORTED ||
                     (code == FZ_CORRUPT && err->kind && strcmp(err->kind, "schema_parse") == 0);
    if (of_schema) {
        return rows->stream->entry->evolution.incompatible == FZ_POLICY_RECORD_ERROR;
    }
    if (code == FZ_CORRUPT || code == FZ_NOT_FOUND) {
        return true;
    }
    return code == FZ_LIMIT && err->kind != NULL;
}

/** Nothing is collected any more, and no batch holds memory for what comes. */
static fz_code empty_batches(fz_rows *rows, fz_err *err) {
    FZ_TRY(spill_all(rows, err));
    for (size_t i = 0; i < rows->tables.count; i++) {
        if (rows->tables.data[i]->batch) {
            fz_batch_release(rows->tables.data[i]->batch);
        }
    }
    return FZ_OK;
}

/**
 * A few bytes can ask for many: a record that takes a good part of all memory with nothing beside
 * it is its own fault. Otherwise others hold the memory, and it comes again.
 */
static fz_code outgrown(fz_rows *rows, table *t, fz_err *err) {
    int64_t own = t && t->batch ? fz_batch_charged(t->batch) : 0;
    int64_t limit = rows->host->config->memory_limit;
    if (own < limit / 4) {
        return FZ_LIMIT;
    }
    fz_batch_release(t->batch);
    return fz_err_set_kind(err, FZ_CORRUPT, "too_large",
                           "its columns need more than %lld bytes of memory, memory_limit is %lld",
                           (long long)own, (long long)limit);
}

static fz_code take_record(fz_rows *rows, fz_stream_part *part, const fz_record *record,
                           fz_err *err) {
    rows->record_schema_id = -1;
    bool as_row = rows->own && rows->stream->entry->tombstones == FZ_TOMBSTONES_ROW;
    if (FZ_UNLIKELY(!record->value && !as_row)) {
        rows->counts.tombstones++;
        return FZ_OK;
    }
    if (FZ_UNLIKELY((int64_t)(record->value_size + record->key_size) >
                    rows->host->config->max_record_size)) {
        fz_err_set_kind(err, FZ_CORRUPT, "too_large", "%zu bytes, max_record_size is %lld",
                        record->value_size + record->key_size,
                        (long long)rows->host->config->max_record_size);
        return bad_record(rows, part, record, err);
    }
    table *t = NULL;
    fz_code code = take_value(rows, part->partition, record, &t, err);
    if (FZ_UNLIKELY(code == FZ_LIMIT && !err->kind)) {
        FZ_TRY(empty_batches(rows, err)); // memory: encode what is there and try once more
        code = take_value(rows, part->partition, record, &t, err);
        if (code == FZ_LIMIT && !err->kind) {
            code = outgrown(rows, t, err);
        }
    }
    if (FZ_UNLIKELY(code != FZ_OK)) {
        if (of_record(rows, code, err)) {
            return bad_record(rows, part, record, err);
        }
        if (code == FZ_UNSUPPORTED || code == FZ_CORRUPT) {
            fz_stream_suspend(rows->stream, err, -1, -1);
            return FZ_CANCELLED;
        }
        return code;
    }
    t->row_count++;
    t->batch_bytes += (int64_t)(record->value_size + record->key_size);
    if (t->sink) {
        int64_t *last = &t->last_rows[part->partition];
        *last = record->offset > *last ? record->offset : *last; // replayed ones come in any order
    } else {
        part->last_row = record->offset;
    }
    if (t->batch->rows >= BATCH_ROWS || t->batch_bytes >= BATCH_BYTES) {
        return spill(t, err);
    }
    return FZ_OK;
}

fz_code fz_rows_take(fz_rows *rows, fz_stream_part *part, fz_err *err) {
    fz_fetch *fetch = &part->fetch;
    size_t first = part->at;
    int64_t bytes = 0;
    fz_code code = FZ_OK;
    while (part->at < fetch->count && code == FZ_OK) {
        const fz_record *record = &fetch->records[part->at];
        if (part->target >= 0 && record->offset >= part->target) {
            part->next = part->target;
            part->done = true;
            break;
        }
        code = take_record(rows, part, record, err);
        if (code == FZ_OK) {
            part->next = record->offset + 1;
            part->at++;
            bytes += (int64_t)(record->value_size + record->key_size);
        }
    }
    if (part->at > first) {
        const fz_record *last = &fetch->records[part->at - 1];
        part->fingerprint = (fz_commit_fingerprint){part->partition, last->offset,
                                                    last->timestamp_ms, fz_record_hash(last)};
    }
    if (code == FZ_OK && part->at == fetch->count && fetch->end && fetch->end_offset > part->next) {
        part->next = fetch->end_offset;
    }
    part->done = part->done || (part->target >= 0 && part->next >= part->target);
    rows->stream->moved = rows->stream->moved || part->next > part->start;
    rows->stream->open_rows += (int64_t)(part->at - first);
    rows->stream->open_bytes += bytes;
    if (code == FZ_UNAVAILABLE) {
        part->retry_at_ms = fz_clock_mono_ms(rows->host->clock) + 500;
    }
    return code;
}

int64_t fz_rows_count(const fz_rows *rows) {
    int64_t count = 0;
    for (size_t i = 0; i < rows->tables.count; i++) {
        count += rows->tables.data[i]->row_count;
    }
    return count;
}

// --- cuts

/** Into the stream's cut, under its mutex; then the table has nothing since the last cut. */
static void give_files(table *t, fz_stream_cut *cut) {
    fz_iceberg_append *to = cut->files;
    if (t->sink && t->row_count > 0) {
        fz_stream_share *share = fz_stream_cut_share(cut, t->sink);
        to = share->files;
        share->rows += t->row_count;
        earlier(&share->oldest_file_ms, t->early_oldest_ms);
        for (int32_t p = 0; p < t->last_count && p < share->last_count; p++) {
            share->last_rows[p] =
                t->last_rows[p] > share->last_rows[p] ? t->last_rows[p] : share->last_rows[p];
        }
    } else if (!t->sink) {
        cut->counts.rows += t->row_count;
        earlier(&cut->oldest_file_ms, t->early_oldest_ms);
    }
    for (size_t i = 0; i < fz_iceberg_append_count(t->early); i++) {
        fz_iceberg_append_add(to, fz_iceberg_append_at(t->early, i));
    }
    cut->bytes += t->early_bytes;
    fz_iceberg_append_free(t->early);
    t->early = no_files();
    t->early_bytes = t->early_oldest_ms = t->row_count = 0;
    for (int32_t p = 0; p < t->last_count; p++) {
        t->last_rows[p] = -1;
    }
}

static void give_moves(fz_stream_cut *cut, fz_stream_part *const *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fz_stream_part *part = parts[i];
        if (part->next > part->start) {
            fz_commit_move move = {.partition = part->partition,
                                   .generation = part->generation,
                                   .start = part->start,
                                   .end = part->next,
                                   .last_row = part->last_row,
                                   .fingerprint = part->fingerprint};
            fz_vec_push(&cut->moves, move);
            part->start = part->next;
            part->last_row = -1;
        }
    }
}

/** A home's letters are its own files, others are owed. */
static void give_letters(fz_rows *rows, const fz_iceberg_append *letters, int64_t oldest_ms) {
    fz_stream_cut *cut = &rows->stream->cut;
    for (size_t i = 0; i < fz_iceberg_append_count(letters); i++) {
        const fz_iceberg_file *file = fz_iceberg_append_at(letters, i);
        if (rows->stream->by_record) {
            fz_iceberg_append_add(cut->files, file);
            earlier(&cut->oldest_file_ms, oldest_ms);
        } else {
            json_array_append_new(cut->letters, fz_json_string(file->path));
        }
    }
}

fz_code fz_rows_cut(fz_rows *rows, fz_stream_part *const *parts, size_t count, fz_err *err) {
    for (size_t i = 0; i < rows->tables.count; i++) {
        FZ_TRY(finish_files(rows->tables.data[i], err));
    }
    if (rows->letters_topic) {
        FZ_TRY(
            fz_letters_topic_flush(rows->letters_topic, err)); // before the commit: at least once
    }
    fz_stream *stream = rows->stream;
    fz_iceberg_append *letters = no_files();
    int64_t letters_bytes = 0, letters_ms = 0;
    fz_code code = FZ_OK;
    if (rows->letters) {
        code = fz_letters_finish(rows->letters, letters, &letters_bytes, &letters_ms, err);
        fz_letters_free(rows->letters);
        rows->letters = NULL;
    }
    if (code == FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        give_letters(rows, letters, letters_ms);
        for (size_t i = 0; i < rows->tables.count; i++) {
            give_files(rows->tables.data[i], &stream->cut);
        }
        give_moves(&stream->cut, parts, count);
        fz_stream_counts_add(&stream->cut.counts, &rows->counts);
        stream->cut.bytes += stream->by_record ? letters_bytes : 0;
        fz_mutex_unlock(&stream->mutex);
        memset(&rows->counts, 0, sizeof rows->counts);
    }
    fz_iceberg_append_free(letters);
    return code;
}
