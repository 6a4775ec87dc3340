// SPDX-License-Identifier: Apache-2.0
// What needs more than one option to be known: derived values and contradictions.
#include "conf/settle.h"

#include <stdio.h>

#include "base/map.h"
#include "conf/custom.h"
#include "conf/lexer.h"
#include "conf/limits.h"

/** Where an option was written: its node, or the nearest one above it. */
static const fz_conf_node *place_find(const fz_conf_node *node, const char *const *names,
                                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        const fz_conf_node *below = fz_conf_node_find(node, fz_str_from(names[i]));
        if (!below) {
            break;
        }
        node = below;
    }
    return node;
}

/** A fault at `first.second` below `node` (second may be NULL). */
static void fault(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                  const char *first, const char *second, const char *text) {
    const char *names[] = {first, second};
    static const fz_conf_node nowhere = {0};
    const fz_conf_node *at = place_find(node, names, second ? 2 : 1);
    fz_conf_path one = {.up = path, .name = fz_str_from(first)};
    fz_conf_path two = {.up = &one, .name = fz_str_from(second)};
    fz_conf_reader_fault(reader, at ? at : &nowhere, second ? &two : &one, "%s", text);
}

static void registry_check(fz_conf_reader *reader, const fz_conf_path *path,
                           const fz_conf_node *node, const fz_config_registry *registry) {
    int ways = (registry->username.size > 0) + (registry->bearer_token.size > 0) +
               (registry->oauth.token_url.size > 0);
    if (ways > 1) {
        fault(reader, path, node, "schema_registry", NULL,
              "wanted at most one of username, bearer_token and oauth");
    }
    if (registry->password.size && !registry->username.size) {
        fault(reader, path, node, "schema_registry", "password", "\"username\" is missing");
    }
    if (registry->oauth.client_id.size && !registry->oauth.token_url.size) {
        fault(reader, path, node, "schema_registry", "oauth", "\"token_url\" is missing");
    }
    if (registry->oauth.token_url.size && !registry->oauth.client_id.size) {
        fault(reader, path, node, "schema_registry", "oauth", "\"client_id\" is missing");
    }
    if ((registry->tls.cert.size > 0) != (registry->tls.key.size > 0)) {
        fault(reader, path, node, "schema_registry", "tls", "\"cert\" and \"key\" belong together");
    }
}

static bool is_loopback(fz_str host) {
    return fz_str_starts_with(host, FZ_STR("127.")) || fz_str_equal(host, FZ_STR("::1")) ||
           fz_str_equal_nocase(host, FZ_STR("localhost"));
}

void fz_conf_top_settle(fz_conf_reader *reader, const fz_conf_node *node, fz_config *config) {
    fz_config_server *server = &config->server;
    registry_check(reader, NULL, node, &config->schema_registry);
    server->enabled = server->listen.size && !fz_str_equal_nocase(server->listen, FZ_STR("off"));
    if (!server->enabled) {
        server->listen = FZ_STR("off");
        return;
    }
    fz_str host = {0};
    if (!fz_conf_listen_split(server->listen, &host, &server->port)) {
        return; // found by its check
    }
    server->host = fz_arena_str(reader->arena, host);
    if (fz_str_equal_nocase(server->auth.token, FZ_STR("none")) ||
        fz_str_equal_nocase(server->auth.token, FZ_STR("off"))) {
        server->auth.token = (fz_str){0}; // written `auth: none`
    }
    if (!is_loopback(host) && server->auth.token.size == 0) {
        fault(reader, NULL, node, "server", "auth",
              "a token is required unless \"listen\" is a loopback address");
    }
}

static void topics_settle(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, fz_config_entry *entry) {
    int ways = (fz_conf_node_find(node, FZ_STR("topic")) != NULL) +
               (fz_conf_node_find(node, FZ_STR("topics")) != NULL) +
               (fz_conf_node_find(node, FZ_STR("topic_pattern")) != NULL);
    if (ways != 1) {
        fz_conf_reader_fault(reader, node, path,
                             ways ? "wanted one of \"topic\", \"topics\" and \"topic_pattern\", "
                                    "found several"
                                  : "\"topic\" is missing (or \"topics\", or \"topic_pattern\")");
        return;
    }
    if (entry->topic.size) {
        entry->topics.items = FZ_ARENA_NEW(reader->arena, fz_str);
        entry->topics.items[0] = entry->topic;
        entry->topics.count = 1;
    }
    const fz_conf_node *list = fz_conf_node_find(node, FZ_STR("topics"));
    if (entry->topics.count == 0 && list && list->kind == FZ_CONF_LIST && list->count == 0) {
        fault(reader, path, node, "topics", NULL, "the list is empty");
    }
    fz_map seen = {0};
    for (size_t i = 0; i < entry->topics.count; i++) {
        if (fz_map_put(&seen, entry->topics.items[i], &seen)) {
            fault(reader, path, node, "topics", NULL, "a topic is there twice");
        }
    }
    fz_map_deinit(&seen);
}

/** The address that an SQL catalog has when none is given. */
static void catalog_settle(fz_conf_reader *reader, const fz_conf_path *path,
                           const fz_conf_node *node, fz_config_catalog *catalog) {
    bool rest = catalog->type == FZ_CATALOG_REST || catalog->type == FZ_CATALOG_POLARIS ||
                catalog->type == FZ_CATALOG_UNITY;
    if ((catalog->tls.cert.size > 0) != (catalog->tls.key.size > 0)) {
        fault(reader, path, node, "catalog", "tls", "\"cert\" and \"key\" belong together");
    }
    if (catalog->uri.size || (catalog->type != FZ_CATALOG_SQL && !rest)) {
        return;
    }
    static const char *const names[] = {"catalog", "uri"};
    if (place_find(node, names, 2) != place_find(node, names, 1)) {
        return; // there is one, and what is wrong with it was said
    }
    if (rest) {
        fault(reader, path, node, "catalog", "uri", "is missing, this catalog is on a server");
    } else if (fz_str_starts_with(catalog->warehouse, FZ_STR("file://"))) {
        fz_str folder = fz_str_slice(catalog->warehouse, 7, catalog->warehouse.size);
        bool slash = fz_str_ends_with(folder, FZ_STR("/"));
        catalog->uri = fz_arena_printf(reader->arena, "sqlite:///%.*s%scatalog.db",
                                       FZ_STR_ARGS(folder), slash ? "" : "/");
    } else if (catalog->warehouse.size) {
        fault(reader, path, node, "catalog", "uri",
              "is missing: the warehouse is not a local folder that could hold an SQLite file");
    }
}

static void columns_check(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, const fz_config_side *side, const char *name) {
    fz_map seen = {0};
    for (size_t i = 0; i < side->columns.count; i++) {
        const fz_config_column *column = &side->columns.items[i];
        if (column->name.size && fz_map_put(&seen, column->name, &seen)) {
            char text[400];
            snprintf(text, sizeof(text), "the column \"%.*s\" is there twice",
                     FZ_STR_ARGS(fz_str_slice(column->name, 0, 200)));
            fault(reader, path, node, name, "columns", text);
        }
    }
    fz_map_deinit(&seen);
}

static void side_settle(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        fz_config_side *side, const char *name) {
    columns_check(reader, path, node, side, name);
    if (side->columns.count && side->infer) {
        fault(reader, path, node, name, "infer", "columns are either given or inferred");
    }
    bool from_file = side->schema_file.size > 0;
    const fz_conf_node *own = fz_conf_node_find(node, fz_str_from(name));
    const fz_conf_node *file = fz_conf_node_find(own, FZ_STR("schema_file"));
    if (from_file && fz_conf_node_find(own, FZ_STR("schema"))) {
        fault(reader, path, node, name, "schema_file",
              "wanted one of \"schema\" and \"schema_file\"");
    } else if (from_file && file) {
        fz_conf_path one = {.up = path, .name = fz_str_from(name)};
        fz_conf_path two = {.up = &one, .name = FZ_STR("schema_file")};
        side->schema =
            fz_conf_file_read(reader, &two, file, side->schema_file, FZ_CONFIG_MAX_SCHEMA);
    }
}

static void key_settle(fz_config_side *key) {
    if ((unsigned)key->mode == FZ_CONF_KEY_MODE_AUTO) {
        key->mode = key->format == FZ_CONFIG_FORMAT_NONE ? FZ_KEY_MODE_NONE : FZ_KEY_MODE_COLUMNS;
    }
    bool decoded = key->mode == FZ_KEY_MODE_COLUMNS || key->mode == FZ_KEY_MODE_STRUCT;
    if (decoded && key->format == FZ_CONFIG_FORMAT_NONE) {
        key->format = FZ_CONFIG_FORMAT_AUTO; // asked for by its mode
    }
}

static void terms_check(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        const fz_config_terms *terms) {
    fz_map seen = {0};
    for (size_t i = 0; i < terms->count; i++) {
        fz_buf text = {0};
        fz_conf_term_format(&terms->items[i], &text);
        if (fz_map_put(&seen, fz_buf_view(&text), &seen)) {
            char why[400];
            snprintf(why, sizeof(why), "\"%.*s\" is there twice",
                     FZ_STR_ARGS(fz_str_slice(fz_buf_view(&text), 0, 200)));
            fault(reader, path, node, "partitioning", NULL, why);
        }
        fz_buf_deinit(&text);
    }
    fz_map_deinit(&seen);
}

static void dead_letter_settle(fz_conf_reader *reader, const fz_conf_path *path,
                               const fz_conf_node *node, fz_config_entry *entry) {
    fz_config_dead_letter *letters = &entry->dead_letter;
    letters->to_table = !fz_str_equal_nocase(letters->table, FZ_STR("off")) &&
                        !fz_str_equal_nocase(letters->table, FZ_STR("none")) &&
                        letters->table.size > 0;
    if (!letters->to_table) {
        letters->table = FZ_STR("off");
    }
    if (entry->on_error == FZ_ON_ERROR_DEAD_LETTER && !letters->to_table && !letters->topic.size) {
        fault(reader, path, node, "dead_letter", NULL,
              "\"on_error: dead_letter\" wants a table or a topic");
    }
    for (size_t i = 0; i < entry->topics.count; i++) {
        if (letters->topic.size && fz_str_equal(letters->topic, entry->topics.items[i])) {
            fault(reader, path, node, "dead_letter", "topic", "this is the topic that is read");
        }
    }
}

void fz_conf_entry_settle(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, const fz_config_registry *shared,
                          fz_config_entry *entry) {
    topics_settle(reader, path, node, entry);
    entry->schema_registry = shared;
    if (fz_conf_node_find(node, FZ_STR("schema_registry"))) {
        registry_check(reader, path, node, &entry->own_registry);
        entry->schema_registry = &entry->own_registry;
        if (entry->own_registry.url.count == 0) {
            fault(reader, path, node, "schema_registry", NULL,
                  "\"url\" is missing: an entry's registry takes nothing from the top-level one");
        }
    }
    const fz_conf_node *catalogs = fz_conf_node_find(node, FZ_STR("catalog"));
    bool list = catalogs && catalogs->kind == FZ_CONF_LIST;
    for (size_t i = 0; i < entry->catalog.count; i++) {
        fz_conf_node one = {0}; // an entry with this catalog only
        fz_conf_member member = {.key = FZ_STR("catalog"),
                                 .value = list ? catalogs->members[i].value : NULL};
        one = (fz_conf_node){.kind = FZ_CONF_MAP,
                             .place = node->place,
                             .line = node->line,
                             .column = node->column,
                             .members = &member,
                             .count = 1};
        catalog_settle(reader, path, list ? &one : node, &entry->catalog.items[i]);
    }
    if (entry->catalog.count == 0) {
        fault(reader, path, node, "catalog", NULL, "the list is empty");
    }
    side_settle(reader, path, node, &entry->value, "value");
    side_settle(reader, path, node, &entry->key, "key");
    key_settle(&entry->key);
    terms_check(reader, path, node, &entry->partitioning);
    dead_letter_settle(reader, path, node, entry);
    fz_config_maintenance *maintenance = &entry->maintenance;
    maintenance->row_ttl.enabled = maintenance->row_ttl.max_age_ms > 0;
    if (maintenance->expire_snapshots.min_count > maintenance->expire_snapshots.max_count) {
        fault(reader, path, node, "maintenance", "expire_snapshots",
              "\"min_count\" is larger than \"max_count\"");
    }
}
