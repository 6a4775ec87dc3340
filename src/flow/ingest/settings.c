// SPDX-License-Identifier: Apache-2.0
// Differences between an entry and its table, committed before rows are written by them.
#include "flow/ingest/settings.h"

#include "base/memory.h"
#include "base/rand.h"
#include "table/iceberg/file_options.h"

static bool same_fields(const fz_partition_spec *wanted, const fz_partition_spec *table) {
    size_t at = 0;
    for (size_t i = 0; i < table->field_count; i++) {
        const fz_partition_field *field = &table->fields[i];
        if (field->transform.kind == FZ_TRANSFORM_VOID) {
            continue; // dropped in version 1 of the format
        }
        if (at >= wanted->field_count || wanted->fields[at].source_id != field->source_id ||
            wanted->fields[at].transform.kind != field->transform.kind ||
            wanted->fields[at].transform.parameter != field->transform.parameter) {
            return false;
        }
        at++;
    }
    return at == wanted->field_count;
}

static json_t *spec_json(const fz_partition_spec *spec) {
    json_t *fields = json_array();
    for (size_t i = 0; i < spec->field_count; i++) {
        json_t *field = json_object();
        fz_json_set_int(field, "source-id", spec->fields[i].source_id);
        fz_json_set_str(field, "transform", spec->fields[i].transform_text);
        fz_json_set_str(field, "name", spec->fields[i].name);
        json_array_append_new(fields, field);
    }
    json_t *json = json_object();
    json_object_set_new(json, "fields", fields);
    return json;
}

/** Another partitioning than the table's becomes its default spec. */
static fz_code add_spec(const fz_settings_table *of, json_t *updates, fz_err *err) {
    if (of->entry->partitioning.count == 0) {
        return FZ_OK;
    }
    fz_layout *layout = NULL;
    FZ_TRY(fz_layout_load(of->entry, of->metadata, &layout, err));
    fz_arena arena = {0};
    fz_partition_spec wanted;
    fz_code code = fz_layout_wanted_spec(layout, of->entry, &arena, &wanted, err);
    if (code == FZ_OK && !same_fields(&wanted, &layout->spec)) {
        json_t *add = fz_iceberg_update_new("add-spec");
        json_object_set_new(add, "spec", spec_json(&wanted));
        json_array_append_new(updates, add);
        json_t *set = fz_iceberg_update_new("set-default-spec");
        fz_json_set_int(set, "spec-id", -1);
        json_array_append_new(updates, set);
    }
    fz_arena_deinit(&arena);
    fz_layout_unref(layout);
    return code == FZ_NOT_FOUND ? FZ_OK
                                : code; // a column that is still to come: at the next opening
}

static bool same_order(const fz_sort_order *a, const fz_sort_order *b) {
    bool same = a->field_count == b->field_count;
    for (size_t i = 0; same && i < a->field_count; i++) {
        const fz_sort_field *x = &a->fields[i];
        const fz_sort_field *y = &b->fields[i];
        same = x->source_id == y->source_id && x->transform.kind == y->transform.kind &&
               x->transform.parameter == y->transform.parameter && x->descending == y->descending &&
               x->nulls_last == y->nulls_last;
    }
    return same;
}

/** Another sort order than the table's becomes its default; without one the table's stays. */
static fz_code add_order(const fz_settings_table *of, json_t *updates, fz_err *err) {
    if (of->entry->sort_order.count == 0) {
        return FZ_OK;
    }
    fz_layout *layout = NULL;
    FZ_TRY(fz_layout_load(of->entry, of->metadata, &layout, err));
    fz_arena arena = {0};
    fz_sort_order wanted;
    fz_code code = fz_layout_wanted_order(layout, of->entry, &arena, &wanted, err);
    if (code == FZ_OK && !same_order(&wanted, &layout->order)) {
        json_t *add = fz_iceberg_update_new("add-sort-order");
        json_object_set_new(add, "sort-order", fz_iceberg_metadata_order_json(&wanted));
        json_array_append_new(updates, add);
        json_t *set = fz_iceberg_update_new("set-default-sort-order");
        fz_json_set_int(set, "sort-order-id", -1);
        json_array_append_new(updates, set);
    }
    fz_arena_deinit(&arena);
    fz_layout_unref(layout);
    return code == FZ_NOT_FOUND ? FZ_OK // a column that is still to come: at the next opening
                                : code;
}

static void add_version(const fz_settings_table *of, json_t *updates) {
    if (of->entry->format_version > fz_iceberg_metadata_version(of->metadata)) {
        json_t *upgrade = fz_iceberg_update_new("upgrade-format-version");
        fz_json_set_int(upgrade, "format-version", of->entry->format_version);
        json_array_append_new(updates, upgrade);
    }
}

static json_t *changed_properties(const fz_settings_table *of) {
    json_t *properties = json_object();
    for (size_t i = 0; i < of->entry->properties.count; i++) {
        const fz_config_pair *pair = &of->entry->properties.items[i];
        if (!fz_str_equal(fz_iceberg_metadata_property(of->metadata, pair->key.data),
                          pair->value)) {
            json_object_setn_new(properties, pair->key.data, pair->key.size,
                                 fz_json_string(pair->value));
        }
    }
    return properties;
}

/** What one commit of settings builds with. */
typedef struct settings_build {
    fz_iceberg_append *files;
    const json_t *updates;
} settings_build;

static fz_code build(void *context, const fz_iceberg_metadata *base,
                     const fz_iceberg_append_options *options, fz_iceberg_change *change,
                     fz_err *err) {
    const settings_build *b = (const settings_build *)context;
    fz_iceberg_append_options with = *options;
    with.updates = json_array_size(b->updates) > 0 ? b->updates : NULL;
    return fz_iceberg_append_build(b->files, base, &with, change, err);
}

static fz_code commit(const fz_settings_table *of, const json_t *updates, const json_t *properties,
                      fz_iceberg_metadata **newer, fz_err *err) {
    char id[37];
    fz_rand_uuid(id);
    settings_build context = {fz_iceberg_append_new(fz_str_from(id)), updates};
    fz_commit_batch batch = {.op = "offsets",
                             .uuid = fz_iceberg_metadata_uuid(of->metadata),
                             .source = of->source,
                             .route = of->route,
                             .files = context.files,
                             .commit = fz_str_from(id),
                             .schema_id = fz_iceberg_metadata_schema_id(of->metadata),
                             .properties = properties,
                             .build = build,
                             .build_context = &context,
                             .reason = FZ_STR("settings of the configuration")};
    fz_commit_outcome outcome;
    fz_commit_run(of->table, &batch, of->options, &outcome);
    fz_code code = FZ_OK;
    if (outcome.result == FZ_COMMIT_DONE) {
        *newer = fz_iceberg_metadata_ref(outcome.metadata);
    } else if (outcome.result == FZ_COMMIT_FORGOTTEN) {
        code = fz_err_set(err, FZ_UNAVAILABLE, "another writer was first: %s", outcome.err.text);
    } else {
        *err = outcome.err;
        code = outcome.err.code == FZ_OK ? FZ_CANCELLED : outcome.err.code;
    }
    fz_commit_outcome_deinit(&outcome);
    fz_iceberg_append_free(context.files);
    return code;
}

/** The table's properties with the changed ones. */
static fz_code check_properties(const fz_settings_table *of, const json_t *changed, fz_err *err) {
    FZ_CLEANUP(fz_json_release)
    json_t *all = json_copy(json_object_get(of->metadata->root, "properties"));
    if (!all) {
        all = json_object();
    }
    json_object_update(all, (json_t *)changed);
    return fz_iceberg_file_options_places(all, fz_iceberg_metadata_base(of->metadata), err);
}

fz_code fz_settings_apply(const fz_settings_table *of, fz_iceberg_metadata **newer, fz_err *err) {
    *newer = NULL;
    json_t *updates = json_array();
    json_t *properties = changed_properties(of);
    add_version(of, updates);
    fz_code code = check_properties(of, properties, err);
    if (code == FZ_OK) {
        code = add_spec(of, updates, err);
    }
    if (code == FZ_OK) {
        code = add_order(of, updates, err);
    }
    if (code == FZ_OK && json_array_size(updates) + json_object_size(properties) > 0) {
        code = commit(of, updates, properties, newer, err);
        if (code == FZ_OK) {
            FZ_LOG(of->log, FZ_LOG_INFO, "table_settings",
                   FZ_KV_STR("table", of->table->name.table),
                   FZ_KV_INT("updates", json_array_size(updates)),
                   FZ_KV_INT("properties", json_object_size(properties)));
        }
    }
    json_decref(updates);
    json_decref(properties);
    return code;
}
