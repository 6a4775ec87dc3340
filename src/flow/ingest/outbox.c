// SPDX-License-Identifier: Apache-2.0
// Entries of the outbox: made, kept, taken out.
#include "flow/ingest/outbox.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/rand.h"
#include "flow/ingest/delivery.h"
#include "flow/ingest/file_json.h"
#include "flow/ingest/record_tables.h"

/** How long after a failure delivery is tried again. */
#define AGAIN_MS 5000
/** Content up to this size, bytes, stands in the entry itself. */
#define INLINE_MAX 2048
/** Largest content that is read back. */
#define CONTENT_MAX (64u << 20)

// --- making

static json_t *move_json(const fz_commit_move *move, int64_t last_row) {
    return json_pack("[i,I,I,I,I]", (int)move->partition, (json_int_t)move->generation,
                     (json_int_t)move->start, (json_int_t)move->end, (json_int_t)last_row);
}

static json_t *entry_new(const fz_stream *stream, const fz_str sink) {
    char id[37];
    fz_rand_uuid(id);
    json_t *entry = json_object();
    fz_json_set_str(entry, "id", fz_str_from(id));
    fz_json_set_str(entry, "source", fz_str_from(stream->topic));
    fz_json_set_str(entry, "sink", sink);
    return entry;
}

static json_t *letters_entry(const fz_stream *stream, const fz_stream_cut *cut) {
    json_t *entry = entry_new(stream, fz_str_from(stream->letters_name));
    json_t *moves = json_array();
    for (size_t i = 0; i < cut->moves.count; i++) {
        json_array_append_new(moves, move_json(&cut->moves.data[i], FZ_COMMIT_ROW_UNKNOWN));
    }
    json_object_set(entry, "files", cut->letters);
    json_object_set_new(entry, "moves", moves);
    return entry;
}

static char *content_uri(const fz_stream *stream, const json_t *entry) {
    fz_str id = fz_json_str_or(entry, "id");
    return fz_str_printf("%.*s/metadata/frazil-outbox-%.*s.json",
                         FZ_STR_ARGS(fz_iceberg_metadata_base(stream->metadata)), FZ_STR_ARGS(id));
}

/** Into the entry, or beside the home's metadata when it is long. Takes `content`. */
static fz_code put_content(const fz_stream *stream, json_t *entry, json_t *content, fz_err *err) {
    char *text = json_dumps(content, JSON_COMPACT);
    if (strlen(text) <= INLINE_MAX) {
        free(text);
        json_object_set_new(entry, "content", content);
        return FZ_OK;
    }
    json_decref(content);
    char *uri = content_uri(stream, entry);
    fz_str key;
    fz_code code = fz_store_key(stream->table.store, fz_str_from(uri), &key, err);
    if (code == FZ_OK) {
        code = fz_store_put(stream->table.store, key, fz_str_from(text), err);
    }
    if (code == FZ_OK) {
        fz_json_set_str(entry, "at", fz_str_from(uri));
    }
    fz_free(uri);
    free(text);
    return code;
}

static fz_code record_entry(const fz_stream *stream, const fz_stream_cut *cut,
                            const fz_stream_share *share, json_t **out, fz_err *err) {
    fz_record_table *table = share->table;
    json_t *entry = entry_new(stream, fz_str_from(table->full_name));
    fz_json_set_str(entry, "record", fz_str_from(table->record));
    fz_json_set_int(entry, "rows", share->rows);
    fz_json_set_int(entry, "made_ms", share->oldest_file_ms);
    json_t *moves = json_array();
    for (size_t i = 0; i < cut->moves.count; i++) {
        const fz_commit_move *move = &cut->moves.data[i];
        int64_t last = move->partition < share->last_count ? share->last_rows[move->partition] : -1;
        if (last >= 0) { // others have no rows here, so their vector may stay
            json_array_append_new(moves, move_json(move, last));
        }
    }
    json_object_set_new(entry, "moves", moves);
    json_t *content = json_object();
    json_t *files = json_array();
    for (size_t i = 0; i < fz_iceberg_append_count(share->files); i++) {
        json_array_append_new(files, fz_file_json_encode(fz_iceberg_append_at(share->files, i)));
    }
    json_object_set_new(content, "files", files);
    fz_mutex_lock(&table->stream->mutex);
    fz_layout *layout = fz_layout_ref(table->layout);
    fz_mutex_unlock(&table->stream->mutex);
    json_object_set_new(content, "schema", fz_schema_to_json(layout->schema));
    json_object_set_new(content, "columns", json_deep_copy(layout->link));
    fz_layout_unref(layout);
    fz_code code = put_content(stream, entry, content, err);
    if (code != FZ_OK) {
        json_decref(entry);
        return code;
    }
    *out = entry;
    return FZ_OK;
}

fz_code fz_outbox_entries(const fz_stream *stream, const fz_stream_cut *cut, json_t **out,
                          fz_err *err) {
    json_t *entries = json_array();
    fz_code code = FZ_OK;
    if (json_array_size(cut->letters) > 0) {
        json_array_append_new(entries, letters_entry(stream, cut));
    }
    for (size_t i = 0; i < cut->shares.count && code == FZ_OK; i++) {
        json_t *entry = NULL;
        if (fz_iceberg_append_count(cut->shares.data[i].files) > 0) {
            code = record_entry(stream, cut, &cut->shares.data[i], &entry, err);
        }
        if (entry) {
            json_array_append_new(entries, entry);
        }
    }
    if (code != FZ_OK || json_array_size(entries) == 0) {
        json_decref(entries);
        entries = NULL;
    }
    *out = entries;
    return code;
}

fz_code fz_outbox_content(const fz_stream *stream, const json_t *entry, json_t **out, fz_err *err) {
    json_t *content = json_object_get(entry, "content");
    if (content) {
        *out = json_incref(content);
        return FZ_OK;
    }
    fz_str uri = fz_json_str_or(entry, "at"), key;
    FZ_CLEANUP(fz_buf_deinit) fz_buf text;
    fz_buf_init(&text, CONTENT_MAX, NULL);
    FZ_TRY(fz_store_key(stream->table.store, uri, &key, err));
    FZ_TRY(fz_store_read_all(stream->table.store, key, &text, err));
    if (fz_json_parse(fz_buf_view(&text), out, err) != FZ_OK) {
        return fz_err_prepend(err, "outbox entry \"%.*s\"", FZ_STR_ARGS(uri));
    }
    return FZ_OK;
}

// --- keeping

/** Entries of other topics in the same table are their streams' to deliver. */
static bool is_own(const fz_stream *stream, const json_t *entry) {
    return fz_str_equal(fz_json_str_or(entry, "source"), fz_str_from(stream->topic));
}

/** Entries that left the outbox need not be remembered; one that a rollback brings back is known by
 * its commit. */
static void forget_delivered(fz_stream *stream) {
    for (size_t i = json_array_size(stream->delivered); i-- > 0;) {
        bool owed = false;
        size_t index;
        json_t *entry;
        json_array_foreach(stream->owed, index, entry) {
            owed = owed ||
                   json_equal(json_object_get(entry, "id"), json_array_get(stream->delivered, i));
        }
        if (!owed) {
            json_array_remove(stream->delivered, i);
        }
    }
}

void fz_outbox_owe(fz_stream *stream, const fz_commit_state *state) {
    json_t *owed = json_array();
    size_t index;
    json_t *entry;
    json_array_foreach(state ? state->outbox : NULL, index, entry) {
        if (is_own(stream, entry)) {
            json_array_append_new(owed, json_deep_copy(entry));
        }
    }
    fz_mutex_lock(&stream->mutex);
    json_decref(stream->owed);
    stream->owed = owed;
    forget_delivered(stream);
    fz_mutex_unlock(&stream->mutex);
}

static bool is_delivered(const fz_stream *stream, const json_t *entry) {
    size_t index;
    json_t *id;
    json_array_foreach(stream->delivered, index, id) {
        if (json_equal(id, json_object_get(entry, "id"))) {
            return true;
        }
    }
    return false;
}

json_t *fz_outbox_newest(fz_stream *stream, fz_str table) {
    json_t *newest = NULL;
    size_t index;
    json_t *entry;
    fz_mutex_lock(&stream->mutex);
    json_array_foreach(stream->owed, index, entry) {
        if (!is_delivered(stream, entry) && fz_str_equal(fz_json_str_or(entry, "sink"), table)) {
            newest = entry;
        }
    }
    newest = newest ? json_deep_copy(newest) : NULL;
    fz_mutex_unlock(&stream->mutex);
    return newest;
}

void fz_outbox_drop_delivered(fz_stream *stream, fz_commit_state *state) {
    fz_mutex_lock(&stream->mutex);
    for (size_t i = json_array_size(state->outbox); i-- > 0;) {
        if (is_delivered(stream, json_array_get(state->outbox, i))) {
            json_array_remove(state->outbox, i);
        }
    }
    fz_mutex_unlock(&stream->mutex);
}

bool fz_outbox_waits(fz_stream *stream) {
    return fz_outbox_size(stream) > 0;
}

size_t fz_outbox_size(fz_stream *stream) {
    size_t size = 0, index;
    json_t *entry;
    fz_mutex_lock(&stream->mutex);
    json_array_foreach(stream->owed, index, entry) {
        size += is_delivered(stream, entry) ? 0 : json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;
    }
    fz_mutex_unlock(&stream->mutex);
    return size;
}

// --- delivering

static void took(fz_stream *stream, const json_t *entry) {
    fz_mutex_lock(&stream->mutex);
    if (!stream->delivered) {
        stream->delivered = json_array();
    }
    json_array_append(stream->delivered, json_object_get(entry, "id"));
    fz_mutex_unlock(&stream->mutex);
}

static void refused(fz_stream *stream, const json_t *entry, const fz_err *err) {
    fz_str name = fz_json_str_or(entry, "sink");
    FZ_LOG(stream->host->log, FZ_LOG_WARN, "delivery_waits", FZ_KV_TEXT("topic", stream->topic),
           FZ_KV_STR("table", name), FZ_KV_TEXT("error", fz_err_text(err)));
    fz_record_table *table = fz_record_table_find(stream, name);
    if (table) {
        fz_mutex_lock(&stream->mutex);
        table->err = *err;
        fz_mutex_unlock(&stream->mutex);
    }
}

fz_code fz_outbox_deliver(fz_stream *stream, fz_err *err) {
    fz_mutex_lock(&stream->mutex);
    json_t *owed = stream->owed ? json_deep_copy(stream->owed) : NULL;
    fz_mutex_unlock(&stream->mutex);
    fz_map failed = {0}; // sinks: their later entries wait, in order
    fz_code first = FZ_OK;
    size_t index;
    json_t *entry;
    json_array_foreach(owed, index, entry) {
        fz_str sink = fz_json_str_or(entry, "sink");
        fz_mutex_lock(&stream->mutex);
        bool known = is_delivered(stream, entry);
        fz_mutex_unlock(&stream->mutex);
        if (known || fz_map_find(&failed, sink)) {
            continue;
        }
        fz_err why = {0};
        fz_code code = fz_delivery_run(stream, entry, &why);
        if (code == FZ_OK) {
            took(stream, entry);
            continue;
        }
        refused(stream, entry, &why);
        fz_map_put(&failed, sink, stream);
        if (first == FZ_OK) {
            first = code;
            if (err) {
                *err = why;
            }
        }
    }
    fz_map_deinit(&failed);
    json_decref(owed);
    if (first != FZ_OK) {
        fz_mutex_lock(&stream->mutex);
        stream->deliver_at_ms = fz_clock_mono_ms(stream->host->clock) + AGAIN_MS;
        fz_mutex_unlock(&stream->mutex);
    }
    return first;
}
