// SPDX-License-Identifier: Apache-2.0
// Values from flags and the environment, put into the tree before it is read.
#include "conf/override.h"

#include "base/codec/text_codec.h"
#include "conf/reader.h"

/** Everything that one override needs on its way down. */
typedef struct setter {
    fz_arena *arena;
    fz_config_faults *faults;
    const fz_conf_place *place;
    fz_str key; // whole, for messages
    fz_conf_node *value;
} setter;

static void unknown(const setter *s, const fz_conf_table *table, fz_str name) {
    fz_conf_path path = {.name = s->key};
    fz_buf near = {0};
    bool found = fz_conf_table_suggest(table, name, &near);
    fz_conf_fault_at(s->faults, s->place, 0, 0, &path, "unknown key \"%.*s\"%s%s%s",
                     FZ_STR_ARGS(fz_str_slice(name, 0, 100)), found ? ", did you mean \"" : "",
                     found ? fz_buf_cstr(&near) : "", found ? "\"?" : "");
    fz_buf_deinit(&near);
}

/** `node` with the value at `rest`; NULL after a fault. */
static const fz_conf_node *value_set(const setter *s, const fz_conf_table *table,
                                     const fz_conf_node *node, fz_str rest) {
    size_t dot = fz_str_find(rest, '.', 0);
    fz_str name = dot == SIZE_MAX ? rest : fz_str_slice(rest, 0, dot);
    fz_str after = dot == SIZE_MAX ? (fz_str){0} : fz_str_slice(rest, dot + 1, rest.size);
    const fz_conf_option *option = fz_conf_table_find(table, name);
    if (!option || (after.size && !option->table && option->kind != FZ_CONF_PAIRS)) {
        unknown(s, table, option ? after : name);
        return NULL;
    }
    node = fz_conf_block_widen(s->arena, table, node);
    if (node && node->kind == FZ_CONF_NULL) {
        node = NULL;
    }
    if (node && node->kind != FZ_CONF_MAP) {
        return node; // wrong already; reading it says so
    }
    if (after.size == 0) {
        return fz_conf_node_with(s->arena, node, name, s->value);
    }
    const fz_conf_node *old = fz_conf_node_find(node, name);
    const fz_conf_node *below;
    if (option->kind == FZ_CONF_PAIRS) {
        old = old && old->kind == FZ_CONF_MAP ? old : NULL;
        below = fz_conf_node_with(s->arena, old, after, s->value);
    } else if (old && old->kind == FZ_CONF_LIST && old->count) {
        below = value_set(s, option->table, old->members[0].value, after); // the first decides
        if (below) {
            fz_conf_node *list = fz_conf_node_new(s->arena, FZ_CONF_LIST, old);
            *list = *old;
            list->members = FZ_ARENA_ARRAY(s->arena, fz_conf_member, old->count);
            memcpy(list->members, old->members, old->count * sizeof(fz_conf_member));
            list->members[0].value = (fz_conf_node *)below;
            list->weight += below->weight;
            below = list;
        }
    } else {
        below = value_set(s, option->table, old, after);
    }
    return below ? fz_conf_node_with(s->arena, node, name, (fz_conf_node *)below) : NULL;
}

static bool is_topic_key(fz_str key) {
    return fz_str_equal(key, FZ_STR("topic")) || fz_str_equal(key, FZ_STR("topics")) ||
           fz_str_equal(key, FZ_STR("topic_pattern"));
}

static void entries_set(const setter *s, fz_conf_tree *tree, fz_str rest) {
    if (tree->entry_count == 0) {
        fz_conf_node *entry = fz_conf_node_new(s->arena, FZ_CONF_MAP, s->value);
        tree->entries[tree->entry_count++] = entry;
    }
    if (is_topic_key(rest) && tree->entry_count > 1) {
        fz_conf_path path = {.name = s->key};
        fz_conf_fault_at(s->faults, s->place, 0, 0, &path,
                         "cannot be given from outside when there are several entries");
        return;
    }
    for (size_t i = 0; i < tree->entry_count; i++) {
        const fz_conf_node *entry = tree->entries[i];
        if (is_topic_key(rest) && entry->kind == FZ_CONF_MAP) {
            entry = fz_conf_node_with(s->arena, entry, FZ_STR("topic"), NULL);
            entry = fz_conf_node_with(s->arena, entry, FZ_STR("topics"), NULL);
            entry = fz_conf_node_with(s->arena, entry, FZ_STR("topic_pattern"), NULL);
        }
        entry = value_set(s, &fz_conf_entry_table, entry, rest);
        if (!entry) {
            return; // an unknown key is unknown in all
        }
        tree->entries[i] = entry;
    }
}

void fz_conf_override_apply(fz_arena *arena, fz_config_faults *faults, fz_conf_tree *tree,
                            const fz_conf_place *place, fz_str key, fz_str value) {
    setter s = {arena, faults, place, key, NULL};
    fz_conf_path path = {.name = key};
    if (!fz_utf8_valid(value.data, value.size) ||
        (value.size && memchr(value.data, 0, value.size))) {
        fz_conf_fault_at(faults, place, 0, 0, &path, "the text is not UTF-8");
        return;
    }
    s.value = fz_conf_node_scalar(arena, place, value);
    const fz_str entry_prefix = FZ_STR("tableflow.");
    const fz_str defaults_prefix = FZ_STR("defaults.");
    if (fz_str_starts_with(key, entry_prefix)) {
        entries_set(&s, tree, fz_str_slice(key, entry_prefix.size, key.size));
        return;
    }
    if (fz_str_starts_with(key, defaults_prefix)) {
        const fz_conf_node *node = value_set(&s, &fz_conf_entry_table, tree->defaults,
                                             fz_str_slice(key, defaults_prefix.size, key.size));
        tree->defaults = node ? node : tree->defaults;
        return;
    }
    const fz_conf_node *node = value_set(&s, &fz_conf_top_table, tree->top, key);
    tree->top = node ? node : tree->top;
}

static const fz_config_flag flags[] = {
    {"--bootstrap-servers", "kafka.bootstrap_servers", "brokers to ask first"},
    {"--group-id", "kafka.group_id", "consumer group"},
    {"--schema-registry", "schema_registry.url", "schema registry"},
    {"--topic", "tableflow.topics", "topics, with commas between"},
    {"--value-format", "tableflow.value.format", "how values are read"},
    {"--table-format", "tableflow.table_format", "ICEBERG, DELTA or both with a comma between"},
    {"--warehouse", "tableflow.catalog.warehouse", "folder or location of tables"},
    {"--start", "tableflow.start", "where a new table begins"},
    {"--commit-interval", "tableflow.commit_interval", "time between commits"},
    {"--listen", "server.listen", "address of the HTTP server, or off"},
    {"--memory-limit", "memory_limit", "memory budget"},
    {"--threads", "threads", "lanes"},
    {"--log-format", "log.format", "text or json"},
    {"--log-level", "log.level", "debug, info, warn or error"},
};

const fz_config_flag *fz_config_flags(size_t *count) {
    *count = FZ_COUNT(flags);
    return flags;
}
