// SPDX-License-Identifier: Apache-2.0
// Files below the table that nothing reaches and that are old go; never what a pending commit may
// name.
#include <stdio.h>

#include "base/memory.h"
#include "base/vec.h"
#include "flow/maintain/lines.h"
#include "table/iceberg/file_options.h"

/** What a removal works with. */
typedef struct sweep {
    const fz_maintain_options *options;
    fz_maintain_report *report;
    fz_hash_set keys;      // what stays
    int64_t before_ms;     // younger ones stay
    FZ_VEC(char *) nested; // prefixes of other tables below this one
} sweep;

/** Hidden and helper files are somebody's (T215). */
static bool is_special(fz_str key) {
    size_t start = 0;
    for (size_t i = 0; i < key.size; i++) {
        start = key.data[i] == '/' ? i + 1 : start;
    }
    fz_str name = fz_str_slice(key, start, key.size);
    return name.size == 0 || name.data[0] == '_' || name.data[0] == '.' ||
           fz_str_starts_with(name, FZ_STR("version-hint"));
}

static bool is_nested(const sweep *s, fz_str key) {
    for (size_t i = 0; i < s->nested.count; i++) {
        if (fz_str_starts_with(key, fz_str_from(s->nested.data[i]))) {
            return true;
        }
    }
    return false;
}

typedef fz_code (*object_fn)(sweep *s, const fz_object *object, fz_err *err);

static fz_code each_object(sweep *s, fz_str prefix, object_fn each, fz_err *err) {
    fz_page page = {0};
    char *after = fz_str_dup(FZ_STR(""));
    fz_code code;
    do {
        code = fz_store_list(s->options->table.store, prefix, fz_str_from(after), &page, err);
        for (size_t i = 0; code == FZ_OK && i < page.objects.count; i++) {
            code = each(s, &page.objects.data[i], err);
        }
        if (code == FZ_OK && page.objects.count > 0) {
            fz_free(after);
            after = fz_str_dup(page.objects.data[page.objects.count - 1].key);
        }
        if (code == FZ_OK && fz_reach_stopped(s->options)) {
            code = fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
    } while (code == FZ_OK && page.more);
    fz_page_deinit(&page);
    fz_free(after);
    return code;
}

/** A metadata file among data: the folder above its own is another table's. */
static fz_code note_nested(sweep *s, const fz_object *object, fz_err *err) {
    (void)err;
    if (!fz_lines_is_metadata(object->key)) {
        return FZ_OK;
    }
    size_t slashes[2] = {0, 0};
    for (size_t i = 0; i < object->key.size; i++) {
        if (object->key.data[i] == '/') {
            slashes[0] = slashes[1];
            slashes[1] = i;
        }
    }
    fz_str folder = fz_str_slice(object->key, 0, slashes[0] + 1);
    if (!is_nested(s, folder)) {
        fz_vec_push(&s->nested, fz_str_dup(folder));
    }
    return FZ_OK;
}

static fz_code remove_orphan(sweep *s, const fz_object *object, fz_err *err) {
    (void)err;
    if (object->modified_ms >= s->before_ms || is_special(object->key) ||
        fz_hash_set_has(&s->keys, object->key) || is_nested(s, object->key)) {
        return FZ_OK;
    }
    if (s->options->each) {
        s->options->each(s->options->each_context, "orphan", object->key);
    }
    if (!s->options->dry_run &&
        fz_store_remove(s->options->table.store, object->key, NULL) != FZ_OK) {
        s->report->not_deleted++;
        return FZ_OK;
    }
    s->report->orphans++;
    s->report->orphan_bytes += object->size_bytes;
    return FZ_OK;
}

/** Folders of a table, as keys with '/' at the end; none is inside another. */
typedef struct folders {
    FZ_VEC(char *) keys;
} folders;

static void folders_deinit(folders *f) {
    for (size_t i = 0; i < f->keys.count; i++) {
        fz_free(f->keys.data[i]);
    }
    fz_vec_deinit(&f->keys);
}

static fz_code add_folder(const sweep *s, fz_str uri, folders *out, fz_err *err) {
    fz_str key;
    FZ_TRY(fz_store_key(s->options->table.store, uri, &key, err));
    char *folder = fz_str_printf("%.*s/", FZ_STR_ARGS(key));
    for (size_t i = 0; i < out->keys.count; i++) {
        fz_str other = fz_str_from(out->keys.data[i]);
        if (fz_str_starts_with(fz_str_from(folder), other)) {
            fz_free(folder);
            return FZ_OK;
        }
        if (fz_str_starts_with(other, fz_str_from(folder))) {
            fz_free(out->keys.data[i]);
            out->keys.data[i] = folder;
            return FZ_OK;
        }
    }
    fz_vec_push(&out->keys, folder);
    return FZ_OK;
}

/** Where data may lie: the usual folder, also when a property names another by now. */
static fz_code data_folders(const sweep *s, const fz_iceberg_metadata *metadata, folders *out,
                            fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf usual = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf wanted = {0};
    fz_buf_printf(&usual, "%.*s/data", FZ_STR_ARGS(fz_iceberg_metadata_base(metadata)));
    FZ_TRY(fz_iceberg_file_options_root(metadata, &wanted, err));
    FZ_TRY(add_folder(s, fz_buf_view(&usual), out, err));
    return add_folder(s, fz_buf_view(&wanted), out, err);
}

static fz_code metadata_folder(const sweep *s, const fz_iceberg_metadata *metadata, folders *out,
                               fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf folder = {0};
    fz_iceberg_metadata_folder(metadata, &folder);
    return add_folder(s, fz_buf_view(&folder), out, err);
}

/** `each` for every object of the folders. */
static fz_code each_of(sweep *s, const folders *f, object_fn each, fz_err *err) {
    fz_code code = FZ_OK;
    for (size_t i = 0; i < f->keys.count && code == FZ_OK; i++) {
        code = each_object(s, fz_str_from(f->keys.data[i]), each, err);
    }
    return code;
}

/** Parts of writes that never ended. */
static void sweep_unfinished(sweep *s, const folders *data) {
    for (size_t i = 0; i < data->keys.count && !s->options->dry_run; i++) {
        size_t unfinished = 0;
        (void)!fz_store_sweep(s->options->table.store, fz_str_from(data->keys.data[i]),
                              s->before_ms, &unfinished, NULL);
        s->report->orphans += (int64_t)unfinished;
    }
}

static fz_code sweep_table(sweep *s, const fz_iceberg_metadata *metadata, fz_str nonce,
                           fz_err *err) {
    folders data = {0};
    folders meta = {0};
    fz_code code = fz_iceberg_file_options_places(json_object_get(metadata->root, "properties"),
                                                  fz_iceberg_metadata_base(metadata), err);
    if (code == FZ_OK) {
        code = data_folders(s, metadata, &data, err);
    }
    if (code == FZ_OK) {
        code = metadata_folder(s, metadata, &meta, err);
    }
    if (code == FZ_OK) {
        code = fz_reach_all(s->options, metadata, false, &s->keys, err);
    }
    if (code == FZ_OK) {
        code = fz_lines_check(s->options, metadata, fz_str_from(meta.keys.data[0]), nonce, &s->keys,
                              err);
    }
    if (code == FZ_OK) {
        code = each_of(s, &data, note_nested, err);
    }
    if (code == FZ_OK) {
        code = each_of(s, &data, remove_orphan, err);
    }
    if (code == FZ_OK) {
        code = each_of(s, &meta, remove_orphan, err);
    }
    if (code == FZ_OK) {
        sweep_unfinished(s, &data);
    }
    folders_deinit(&data);
    folders_deinit(&meta);
    return code;
}

fz_code fz_maintain_orphans(const fz_maintain_options *options, fz_maintain_report *report,
                            fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    fz_commit_state *position = NULL;
    // before the load: what is written while we look is younger
    int64_t now_ms = fz_clock_wall_ms(options->table.clock);
    FZ_TRY(fz_reach_load(options, &metadata, &position, err));
    fz_code code = FZ_OK;
    if (!fz_reach_gc_disabled(metadata, report)) {
        sweep s = {.options = options,
                   .report = report,
                   .before_ms = now_ms - options->config.remove_orphans.older_than_ms};
        code = sweep_table(&s, metadata, position->nonce, err);
        fz_hash_set_deinit(&s.keys);
        for (size_t i = 0; i < s.nested.count; i++) {
            fz_free(s.nested.data[i]);
        }
        fz_vec_deinit(&s.nested);
    }
    fz_commit_state_free(position);
    fz_iceberg_metadata_unref(metadata);
    return code;
}
