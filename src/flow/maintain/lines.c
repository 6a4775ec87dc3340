// SPDX-License-Identifier: Apache-2.0
// Lines of metadata files: each file's log names the one before it.
#include "flow/maintain/lines.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/vec.h"
#include "table/commit/summary.h"

/** Metadata files outside the log that are read, at most. */
#define STRAYS_MAX 20000

/** A metadata file that no log of ours names. */
typedef struct stray {
    char *key;
    fz_iceberg_metadata *metadata;
} stray;

typedef struct lines {
    const fz_maintain_options *options;
    const fz_iceberg_metadata *head;
    fz_str nonce;      // of our table
    fz_hash_set own;   // keys that our line names or named
    int64_t oldest_ms; // time of the oldest of them
    FZ_VEC(stray) strays;
} lines;

bool fz_lines_is_metadata(fz_str key) {
    return fz_str_ends_with(key, FZ_STR(".metadata.json")) ||
           fz_str_ends_with(key, FZ_STR(".metadata.json.gz"));
}

static fz_code read_metadata(const lines *l, fz_str key, fz_iceberg_metadata **out, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf bytes;
    fz_buf_init(&bytes, FZ_REACH_FILE_MAX, l->options->budget);
    FZ_TRY(fz_store_read_all(l->options->table.store, key, &bytes, err));
    char *uri = fz_store_uri(l->options->table.store, key);
    fz_code code = fz_iceberg_metadata_parse(fz_buf_view(&bytes), fz_str_from(uri), out, err);
    fz_free(uri);
    return code;
}

static fz_str key_of(const lines *l, fz_str uri) {
    fz_str key = {0};
    return fz_store_key(l->options->table.store, uri, &key, NULL) == FZ_OK ? key : (fz_str){0};
}

/** Our line, through the logs of its oldest files as far as they are there. */
static fz_code trace_own(lines *l, fz_err *err) {
    fz_iceberg_metadata *at = fz_iceberg_metadata_ref((fz_iceberg_metadata *)l->head);
    (void)fz_hash_set_add(&l->own, key_of(l, at->location));
    fz_code code = FZ_OK;
    bool more = true;
    while (more) {
        more = false;
        char *oldest = NULL;
        for (size_t i = fz_iceberg_metadata_log_count(at); i-- > 0;) {
            int64_t time_ms = 0;
            fz_str key = key_of(l, fz_iceberg_metadata_log_at(at, i, &time_ms));
            if (key.size > 0 && fz_hash_set_add(&l->own, key)) {
                fz_free(oldest);
                oldest = fz_str_dup(key);
                l->oldest_ms = time_ms < l->oldest_ms ? time_ms : l->oldest_ms;
            }
        }
        fz_iceberg_metadata_unref(at);
        at = NULL;
        if (oldest) {
            code = read_metadata(l, fz_str_from(oldest), &at, err);
            more = code == FZ_OK;
        }
        fz_free(oldest);
    }
    fz_iceberg_metadata_unref(at);
    bool lost = code == FZ_NOT_FOUND || code == FZ_CORRUPT; // cleaned up: the line ends here
    return lost ? FZ_OK : code;
}

static fz_code note_stray(lines *l, fz_str key, fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    fz_code code = read_metadata(l, key, &metadata, err);
    if (code == FZ_NOT_FOUND || code == FZ_CORRUPT) {
        return FZ_OK; // gone meanwhile, or half written by somebody
    }
    FZ_TRY(code);
    if (!fz_str_equal(fz_iceberg_metadata_uuid(metadata), fz_iceberg_metadata_uuid(l->head))) {
        fz_iceberg_metadata_unref(metadata);
        return fz_err_set(err, FZ_CONFLICT,
                          "another table has metadata in the folder: \"%.*s\"; nothing is removed",
                          FZ_STR_ARGS(fz_str_slice(key, 0, 500)));
    }
    const stray s = {fz_str_dup(key), metadata};
    fz_vec_push(&l->strays, s);
    return FZ_OK;
}

static fz_code find_strays(lines *l, fz_str prefix, fz_err *err) {
    fz_page page = {0};
    char *after = fz_str_dup(FZ_STR(""));
    fz_code code;
    do {
        code = fz_store_list(l->options->table.store, prefix, fz_str_from(after), &page, err);
        for (size_t i = 0; code == FZ_OK && i < page.objects.count; i++) {
            fz_str key = page.objects.data[i].key;
            if (!fz_lines_is_metadata(key) || fz_hash_set_has(&l->own, key)) {
                continue;
            }
            code = l->strays.count < STRAYS_MAX
                       ? note_stray(l, key, err)
                       : fz_err_set(err, FZ_LIMIT, "more than %d metadata files that no log names",
                                    STRAYS_MAX);
        }
        if (code == FZ_OK && page.objects.count > 0) {
            fz_free(after);
            after = fz_str_dup(page.objects.data[page.objects.count - 1].key);
        }
        if (code == FZ_OK && fz_reach_stopped(l->options)) {
            code = fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    } while (code == FZ_OK && page.more);
    fz_page_deinit(&page);
    fz_free(after);
    return code;
}

/** The file that this one was made from; empty if its log tells none. */
static fz_str base_of(const lines *l, const fz_iceberg_metadata *metadata) {
    size_t count = fz_iceberg_metadata_log_count(metadata);
    return count > 0 ? key_of(l, fz_iceberg_metadata_log_at(metadata, count - 1, NULL))
                     : (fz_str){0};
}

/** Ours: its main is a snapshot that Frazil made for this table, and the table does not have it. */
static bool is_own_attempt(const lines *l, const fz_iceberg_metadata *metadata) {
    fz_iceberg_snapshot main, known;
    return fz_iceberg_metadata_main(metadata, &main) && l->nonce.size > 0 &&
           fz_commit_summary_own(&main, l->nonce) &&
           !fz_iceberg_metadata_snapshot(l->head, main.snapshot_id, &known);
}

static fz_code judge(lines *l, fz_hash_set *keys, fz_err *err) {
    fz_map bases = {0}; // files that a stray was made from
    for (size_t i = 0; i < l->strays.count; i++) {
        fz_str base = base_of(l, l->strays.data[i].metadata);
        if (base.size > 0) {
            (void)fz_map_put(&bases, base, l);
        }
    }
    fz_code code = FZ_OK;
    for (size_t i = 0; i < l->strays.count && code == FZ_OK; i++) {
        const stray *s = &l->strays.data[i];
        // beyond what our line can still be traced to, ends of it may be left
        bool traced = fz_iceberg_metadata_last_updated_ms(s->metadata) >= l->oldest_ms;
        if (traced && fz_map_find(&bases, fz_str_from(s->key))) {
            code = fz_err_set(
                err, FZ_CONFLICT,
                "another catalog goes on from \"%.500s\", which is not in the table's log; "
                "nothing is removed",
                s->key);
        } else if (!is_own_attempt(l, s->metadata)) {
            code = fz_reach_all(l->options, s->metadata, true, keys, err);
        }
    }
    fz_map_deinit(&bases);
    return code;
}

fz_code fz_lines_check(const fz_maintain_options *options, const fz_iceberg_metadata *metadata,
                       fz_str prefix, fz_str nonce, fz_hash_set *keys, fz_err *err) {
    lines l = {.options = options,
               .head = metadata,
               .nonce = nonce,
               .oldest_ms = fz_iceberg_metadata_last_updated_ms(metadata)};
    fz_code code = trace_own(&l, err);
    if (code == FZ_OK) {
        code = find_strays(&l, prefix, err);
    }
    if (code == FZ_OK) {
        code = judge(&l, keys, err);
    }
    for (size_t i = 0; i < l.strays.count; i++) {
        fz_free(l.strays.data[i].key);
        fz_iceberg_metadata_unref(l.strays.data[i].metadata);
    }
    fz_vec_deinit(&l.strays);
    fz_hash_set_deinit(&l.own);
    return code;
}
