// SPDX-License-Identifier: Apache-2.0
// Loading a configuration: files, documents, defaults, entries, overrides.
#include "conf/config.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/vec.h"
#include "conf/limits.h"
#include "conf/override.h"
#include "conf/settle.h"
#include "conf/yaml.h"

typedef struct loading {
    const fz_config_source *source;
    fz_config *config;
    fz_config_faults *faults;
    fz_arena *arena;
    fz_conf_tree tree;
    FZ_VEC(const fz_conf_node *) entries;
    fz_conf_place *text_place; // also of overrides and defaults
} loading;

static const char *env_find(const char *name, void *context) {
    (void)context;
    return getenv(name);
}

static fz_conf_place *place_make(fz_arena *arena, fz_str name, const char *folder) {
    fz_conf_place *place = FZ_ARENA_NEW(arena, fz_conf_place);
    place->name = fz_arena_str(arena, name);
    char *absolute = fz_file_absolute(folder, ".");
    place->folder = fz_arena_str(arena, fz_str_from(absolute)).data;
    fz_free(absolute);
    return place;
}

static void entries_take(loading *l, const fz_conf_node *node) {
    if (node->kind == FZ_CONF_LIST) {
        for (size_t i = 0; i < node->count; i++) {
            fz_vec_push(&l->entries, node->members[i].value);
        }
    } else if (node->kind == FZ_CONF_MAP) {
        fz_vec_push(&l->entries, node);
    } else {
        fz_conf_path path = {.name = FZ_STR("tableflow")};
        fz_conf_fault_at(l->faults, node->place, node->line, node->column, &path,
                         "wanted an entry (a mapping) or a list of entries, found %s",
                         fz_conf_node_kind_name(node->kind));
    }
}

/** One document on top of those before it. */
static void document_take(loading *l, const fz_conf_node *node) {
    if (node->kind == FZ_CONF_NULL) {
        return;
    }
    if (node->kind != FZ_CONF_MAP) {
        fz_conf_fault_at(l->faults, node->place, node->line, node->column, NULL,
                         "wanted a mapping at the top, found %s",
                         fz_conf_node_kind_name(node->kind));
        return;
    }
    const fz_conf_node *entries = fz_conf_node_find(node, FZ_STR("tableflow"));
    if (entries) {
        entries_take(l, entries);
    }
    l->tree.defaults = fz_conf_block_merge(l->arena, &fz_conf_entry_table, l->tree.defaults,
                                           fz_conf_node_find(node, FZ_STR("defaults")));
    node = fz_conf_node_with(l->arena, node, FZ_STR("tableflow"), NULL);
    node = fz_conf_node_with(l->arena, node, FZ_STR("defaults"), NULL);
    l->tree.top = fz_conf_block_merge(l->arena, &fz_conf_top_table, l->tree.top, node);
}

static void text_take(loading *l, const fz_conf_place *place, fz_str text) {
    fz_conf_yaml yaml = {.arena = l->arena,
                         .faults = l->faults,
                         .find = l->source->find_env ? l->source->find_env : env_find,
                         .context = l->source->context};
    fz_conf_documents documents = {0};
    fz_conf_yaml_parse(&yaml, place, text, &documents);
    for (size_t i = 0; i < documents.count; i++) {
        document_take(l, documents.data[i]);
    }
    fz_vec_deinit(&documents);
}

static void file_take(loading *l, const char *name) {
    char *absolute = fz_file_absolute(NULL, name);
    fz_str folder = fz_str_from(absolute);
    while (folder.size > 1 && folder.data[folder.size - 1] != '/') {
        folder.size--;
    }
    fz_str folder_text = fz_arena_str(l->arena, folder);
    fz_conf_place *place = place_make(l->arena, fz_str_from(name), folder_text.data);
    if (l->config->path.size == 0) {
        l->config->path = fz_arena_str(l->arena, fz_str_from(absolute));
        l->text_place->folder = place->folder; // defaults count from the first file
    }
    fz_free(absolute);
    fz_buf body;
    fz_buf_init(&body, FZ_CONFIG_MAX_FILE, NULL);
    fz_err err = {0};
    if (fz_file_read(name, &body, &err) != FZ_OK) {
        fz_conf_fault_at(l->faults, place, 0, 0, NULL, "%s", fz_err_text(&err));
    } else {
        text_take(l, place, fz_buf_view(&body));
    }
    fz_buf_deinit(&body);
}

static void override_take(loading *l, const char *key, fz_str value, const char *origin) {
    const char *folder = l->source->folder;
    fz_conf_place *place = place_make(l->arena, fz_str_from(origin), folder);
    fz_conf_override_apply(l->arena, l->faults, &l->tree, place, fz_str_from(key), value);
}

static void overrides_take(loading *l) {
    static const char *const variables[][2] = {
        {"FRAZIL_BOOTSTRAP_SERVERS", "kafka.bootstrap_servers"},
        {"FRAZIL_SCHEMA_REGISTRY_URL", "schema_registry.url"},
    };
    const fz_config_source *source = l->source;
    for (size_t i = 0; i < FZ_COUNT(variables) && !source->no_env; i++) {
        const char *value = source->find_env ? source->find_env(variables[i][0], source->context)
                                             : env_find(variables[i][0], NULL);
        if (value && *value) {
            override_take(l, variables[i][1], fz_str_from(value), variables[i][0]);
        }
    }
    for (size_t i = 0; i < source->override_count; i++) {
        const fz_config_override *o = &source->overrides[i];
        override_take(l, o->key, o->value, o->origin ? o->origin : o->key);
    }
}

static bool names_topics(const fz_conf_node *entry) {
    return fz_conf_node_find(entry, FZ_STR("topic")) ||
           fz_conf_node_find(entry, FZ_STR("topics")) ||
           fz_conf_node_find(entry, FZ_STR("topic_pattern"));
}

/** An entry with `defaults` below it. */
static const fz_conf_node *entry_merge(loading *l, const fz_conf_node *entry) {
    const fz_conf_node *defaults = l->tree.defaults;
    if (names_topics(entry) && names_topics(defaults)) {
        defaults = fz_conf_node_with(l->arena, defaults, FZ_STR("topic"), NULL);
        defaults = fz_conf_node_with(l->arena, defaults, FZ_STR("topics"), NULL);
        defaults = fz_conf_node_with(l->arena, defaults, FZ_STR("topic_pattern"), NULL);
    }
    const fz_conf_node *registry = fz_conf_node_find(entry, FZ_STR("schema_registry"));
    if (registry && fz_conf_node_find(defaults, FZ_STR("schema_registry"))) {
        // Credentials of one registry must not go to another.
        defaults = fz_conf_node_with(l->arena, defaults, FZ_STR("schema_registry"), NULL);
    }
    return fz_conf_block_merge(l->arena, &fz_conf_entry_table, defaults, entry);
}

static bool names_bucket(loading *l, const fz_conf_node *entry) {
    const fz_conf_option *storage = fz_conf_table_find(&fz_conf_entry_table, FZ_STR("storage"));
    const fz_conf_node *node = fz_conf_node_find(entry, FZ_STR("storage"));
    node = fz_conf_block_widen(l->arena, storage->table, node);
    return fz_conf_node_find(node, FZ_STR("bucket")) != NULL;
}

static void entries_read(loading *l, fz_conf_reader *reader) {
    fz_config *config = l->config;
    fz_config_registry *shared = FZ_ARENA_NEW(l->arena, fz_config_registry);
    *shared = config->schema_registry;
    config->entries = FZ_ARENA_ARRAY(l->arena, fz_config_entry, l->tree.entry_count);
    for (size_t i = 0; i < l->tree.entry_count && !l->faults->cut; i++) {
        const fz_conf_node *own = l->tree.entries[i];
        fz_conf_path list = {.name = FZ_STR("tableflow")};
        fz_conf_path path = {.up = &list, .index = i};
        if (own->kind != FZ_CONF_MAP) {
            fz_conf_reader_fault(reader, own, &path, "wanted an entry (a mapping), found %s",
                                 fz_conf_node_kind_name(own->kind));
            continue;
        }
        fz_config_entry *entry = &config->entries[config->entry_count++];
        const fz_conf_node *node = entry_merge(l, own);
        if (node->weight > FZ_CONFIG_MAX_WORK - reader->work) {
            fz_conf_reader_fault(reader, own, &path, "more than %d values over all entries",
                                 FZ_CONFIG_MAX_WORK);
            return;
        }
        fz_conf_block_read(reader, &path, &fz_conf_entry_table, node, entry);
        entry->storage.bucket_in_entry = names_bucket(l, own);
        entry->where = own->line ? fz_arena_printf(l->arena, "%.*s:%d",
                                                   FZ_STR_ARGS(own->place->name), own->line)
                                 : own->place->name;
        fz_conf_entry_settle(reader, &path, node, shared, entry);
    }
}

static void tree_read(loading *l) {
    fz_conf_reader reader = {.arena = l->arena,
                             .faults = l->faults,
                             .default_place = l->text_place,
                             .no_files = l->source->no_files};
    fz_conf_block_read(&reader, NULL, &fz_conf_top_table, l->tree.top, l->config);
    fz_conf_top_settle(&reader, l->tree.top, l->config);
    if (l->tree.defaults) {
        fz_conf_path path = {.name = FZ_STR("defaults")};
        fz_config_entry *unused = FZ_ARENA_NEW(l->arena, fz_config_entry);
        fz_conf_block_read(&reader, &path, &fz_conf_entry_table, l->tree.defaults, unused);
    }
    if (l->tree.entry_count > FZ_CONFIG_MAX_ENTRIES) {
        fz_conf_fault_at(l->faults, l->tree.entries[0]->place, 0, 0, NULL,
                         "more than %d tableflow entries", FZ_CONFIG_MAX_ENTRIES);
        return;
    }
    entries_read(l, &reader);
}

/** Faults of one file by line; those of different files as they were found. */
static void faults_sort(fz_config_faults *faults) {
    for (size_t i = 1; i < faults->count; i++) {
        fz_config_fault moved = faults->items[i];
        size_t to = i;
        for (; to > 0; to--) {
            const fz_config_fault *before = &faults->items[to - 1];
            bool later = before->line > moved.line ||
                         (before->line == moved.line && before->column > moved.column);
            if (!later || !fz_str_equal(before->file, moved.file)) {
                break;
            }
            faults->items[to] = faults->items[to - 1];
        }
        faults->items[to] = moved;
    }
}

static fz_code faults_report(const fz_config_faults *faults, fz_err *err) {
    if (faults->count == 0) {
        return FZ_OK;
    }
    if (faults->count == 1) {
        return fz_err_set(err, FZ_INVALID, "%s", faults->items[0].message.data);
    }
    return fz_err_set(err, FZ_INVALID, "%zu%s faults in the configuration, the first: %s",
                      faults->count, faults->cut ? " or more" : "", faults->items[0].message.data);
}

fz_code fz_config_load(const fz_config_source *source, fz_config *out, fz_config_faults *faults,
                       fz_err *err) {
    fz_config config = {0};
    fz_config_faults own = {0};
    faults = faults ? faults : &own;
    loading l = {.source = source, .config = &config, .faults = faults, .arena = &config.arena};
    l.text_place = place_make(l.arena, fz_str_from(source->name ? source->name : "configuration"),
                              source->folder);
    for (size_t i = 0; i < source->path_count; i++) {
        file_take(&l, source->paths[i]);
    }
    if (source->text.size > FZ_CONFIG_MAX_FILE) {
        fz_conf_fault_at(faults, l.text_place, 0, 0, NULL, "larger than %d bytes",
                         FZ_CONFIG_MAX_FILE);
    } else if (source->text.size) {
        // A place of its own: documented defaults are told apart by theirs.
        text_take(&l, place_make(l.arena, l.text_place->name, l.text_place->folder), source->text);
    }
    l.tree.entries = FZ_ARENA_ARRAY(l.arena, const fz_conf_node *, l.entries.count + 1);
    for (size_t i = 0; i < l.entries.count; i++) {
        l.tree.entries[i] = l.entries.data[i];
    }
    l.tree.entry_count = l.entries.count;
    fz_vec_deinit(&l.entries);
    overrides_take(&l);
    tree_read(&l);
    faults_sort(faults);
    fz_code code = faults_report(faults, err);
    if (code == FZ_OK) {
        *out = config;
    } else {
        fz_config_deinit(&config);
    }
    fz_config_faults_deinit(&own);
    return code;
}

void fz_config_deinit(fz_config *config) {
    if (config) {
        fz_arena_deinit(&config->arena);
        *config = (fz_config){0};
    }
}
