// SPDX-License-Identifier: Apache-2.0
// The lists of implementations.
#include "app/wiring.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/codec/hash.h"
#include "base/memory.h"
#include "base/text/uri.h"
#include "io/kafka/consumer.h"
#include "io/kafka/producer.h"
#include "io/registry/cached_registry.h"
#include "io/registry/http_registry.h"
#include "io/store/local_store.h"
#include "table/catalog/sql.h"

void fz_wiring_init(fz_wiring *wiring, fz_clock *clock) {
    memset(wiring, 0, sizeof *wiring);
    fz_mutex_init(&wiring->mutex);
    wiring->clock = clock;
}

void fz_wiring_deinit(fz_wiring *wiring) {
    for (size_t i = 0; i < wiring->catalogs.count; i++) {
        fz_catalog_free((fz_catalog *)wiring->catalogs.entries[i].value);
    }
    for (size_t i = 0; i < wiring->stores.count; i++) {
        fz_store_free((fz_store *)wiring->stores.entries[i].value);
    }
    for (size_t i = 0; i < wiring->registries.count; i++) {
        fz_registry_free((fz_registry *)wiring->registries.entries[i].value);
    }
    fz_map_deinit(&wiring->catalogs);
    fz_map_deinit(&wiring->stores);
    fz_map_deinit(&wiring->registries);
    fz_mutex_deinit(&wiring->mutex);
}

// --- stores

static fz_code unsupported(fz_err *err, const char *what, fz_str name, const char *have) {
    return fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported",
                           "this build has no %s \"%.*s\"; it has %s", what, FZ_STR_ARGS(name),
                           have);
}

/** A local store of the folder that a location names. */
static fz_code open_local(void *context, fz_str location, fz_store **out, fz_err *err) {
    (void)context;
    fz_uri uri;
    FZ_TRY(fz_uri_parse(location, &uri, err));
    if (uri.scheme.size > 0 && !fz_str_equal_nocase(uri.scheme, FZ_STR("file"))) {
        return unsupported(err, "store for", location, "local folders (file://)");
    }
    char *path = fz_str_dup(uri.path);
    fz_code code = fz_store_local_open(path, 0, out, err);
    fz_free(path);
    return code;
}

fz_code fz_wiring_store(void *context, const fz_config_storage *config, fz_str location,
                        fz_store **out, fz_err *err) {
    (void)config;
    fz_wiring *wiring = (fz_wiring *)context;
    fz_uri uri;
    FZ_TRY(fz_uri_parse(location, &uri, err));
    if (uri.scheme.size > 0 && !fz_str_equal_nocase(uri.scheme, FZ_STR("file"))) {
        return unsupported(err, "store for", location, "local folders (file://)");
    }
    fz_mutex_lock(&wiring->mutex);
    fz_code code = FZ_OK;
    *out = (fz_store *)fz_map_find(&wiring->stores, FZ_STR("file:///"));
    if (!*out) {
        code = fz_store_local_open("/", 0, out, err);
        if (code == FZ_OK) {
            fz_map_put(&wiring->stores, FZ_STR("file:///"), *out);
        }
    }
    fz_mutex_unlock(&wiring->mutex);
    return code;
}

// --- catalogs

static fz_code open_sql(fz_wiring *wiring, const fz_config_catalog *config, fz_catalog **out,
                        fz_err *err) {
    fz_str sqlite = FZ_STR("sqlite:///");
    if (!fz_str_starts_with(config->uri, sqlite)) {
        return unsupported(err, "SQL catalog for", config->uri, "SQLite (sqlite:///)");
    }
    char *path = fz_str_dup(fz_str_slice(config->uri, sqlite.size, config->uri.size));
    fz_catalog_sql_options options = {.path = path,
                                      .name = config->name,
                                      .warehouse = config->warehouse,
                                      .open_store = open_local,
                                      .clock = wiring->clock};
    fz_code code = fz_catalog_sql_open(&options, out, err);
    fz_free(path);
    return code;
}

static const struct {
    fz_config_catalog_type type;
    const char *name;
    fz_code (*open)(fz_wiring *wiring, const fz_config_catalog *config, fz_catalog **out,
                    fz_err *err);
} catalogs[] = {
    {FZ_CATALOG_SQL, "SQL", open_sql}, {FZ_CATALOG_REST, "REST", NULL},
    {FZ_CATALOG_GLUE, "GLUE", NULL},   {FZ_CATALOG_POLARIS, "SNOWFLAKE_OPEN_CATALOG", NULL},
    {FZ_CATALOG_UNITY, "UNITY", NULL}, {FZ_CATALOG_DIRECTORY, "DIRECTORY", NULL},
};

fz_code fz_wiring_catalog(void *context, const fz_config_catalog *config, fz_catalog **out,
                          fz_err *err) {
    fz_wiring *wiring = (fz_wiring *)context;
    FZ_CLEANUP(fz_buf_deinit) fz_buf key = {0};
    fz_buf_printf(&key, "%d|%.*s|%.*s|%.*s", (int)config->type, FZ_STR_ARGS(config->uri),
                  FZ_STR_ARGS(config->name), FZ_STR_ARGS(config->warehouse));
    fz_mutex_lock(&wiring->mutex);
    fz_code code = FZ_OK;
    *out = (fz_catalog *)fz_map_find(&wiring->catalogs, fz_buf_view(&key));
    for (size_t i = 0; i < FZ_COUNT(catalogs) && !*out && code == FZ_OK; i++) {
        if (catalogs[i].type != config->type) {
            continue;
        }
        code = catalogs[i].open ? catalogs[i].open(wiring, config, out, err)
                                : unsupported(err, "catalog of type", fz_str_from(catalogs[i].name),
                                              "SQL (SQLite)");
        if (code == FZ_OK) {
            fz_map_put(&wiring->catalogs, fz_buf_view(&key), *out);
        }
    }
    fz_mutex_unlock(&wiring->mutex);
    return code;
}

// --- registries

static const char *text_or_null(fz_str text) {
    return text.size > 0 ? text.data : NULL; // the configuration's texts are terminated
}

static fz_code open_registry(fz_wiring *wiring, const fz_config_registry *config, fz_registry **out,
                             fz_err *err) {
    if (config->oauth.token_url.size > 0) {
        return unsupported(err, "registry authentication", FZ_STR("oauth"),
                           "username/password, bearer_token and tls");
    }
    const char **urls = (const char **)fz_calloc(config->url.count, sizeof(const char *));
    for (size_t i = 0; i < config->url.count; i++) {
        urls[i] = config->url.items[i].data;
    }
    fz_registry_http_options options = {.urls = urls,
                                        .url_count = config->url.count,
                                        .user = text_or_null(config->username),
                                        .password = text_or_null(config->password),
                                        .bearer = text_or_null(config->bearer_token),
                                        .context = text_or_null(config->context),
                                        .tls_ca_file = text_or_null(config->tls.ca),
                                        .tls_cert_file = text_or_null(config->tls.cert),
                                        .tls_key_file = text_or_null(config->tls.key),
                                        .clock = wiring->clock};
    fz_registry *inner = NULL;
    fz_code code = fz_registry_http_open(&options, &inner, err);
    fz_free(urls);
    if (code == FZ_OK) {
        *out = fz_registry_cached_new(
            inner, &(fz_registry_cache_options){.unknown_retry_ms = -1, .clock = wiring->clock});
    }
    return code;
}

fz_code fz_wiring_registry(void *context, const fz_config_registry *config, fz_registry **out,
                           fz_err *err) {
    fz_wiring *wiring = (fz_wiring *)context;
    FZ_CLEANUP(fz_buf_deinit) fz_buf key = {0};
    for (size_t i = 0; i < config->url.count; i++) {
        fz_buf_printf(&key, "%.*s,", FZ_STR_ARGS(config->url.items[i]));
    }
    fz_buf_printf(&key, "|%.*s|%.*s|%.*s|%.*s", FZ_STR_ARGS(config->username),
                  FZ_STR_ARGS(config->password), FZ_STR_ARGS(config->bearer_token),
                  FZ_STR_ARGS(config->context));
    fz_mutex_lock(&wiring->mutex);
    fz_code code = FZ_OK;
    *out = (fz_registry *)fz_map_find(&wiring->registries, fz_buf_view(&key));
    if (!*out) {
        code = open_registry(wiring, config, out, err);
        if (code == FZ_OK) {
            fz_map_put(&wiring->registries, fz_buf_view(&key), *out);
        }
    }
    fz_mutex_unlock(&wiring->mutex);
    return code;
}

// --- source

/** A member id that stays over restarts: host name and configuration path. */
static void make_instance_id(const fz_config *config, fz_buf *out) {
    char host[128] = "host";
    gethostname(host, sizeof host - 1);
    fz_buf_printf(out, "frazil-%s", host);
    if (config->path.size > 0) {
        fz_buf_printf(out, "-%016llx",
                      (unsigned long long)fz_xxh3_64(config->path.data, config->path.size));
    }
    for (size_t i = 0; i < out->size; i++) {
        char c = (char)out->data[i];
        bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == '.';
        out->data[i] = (uint8_t)(kept ? c : '_');
    }
}

/** What all Kafka clients of a process are made with; `properties` is the caller's to free. */
static fz_kafka_options kafka_options(const fz_config *config, fz_log *log,
                                      fz_str (**properties)[2]) {
    size_t count = config->kafka.properties.count;
    fz_str(*pairs)[2] = (fz_str(*)[2])fz_calloc(count + 1, sizeof *pairs);
    for (size_t i = 0; i < count; i++) {
        pairs[i][0] = config->kafka.properties.items[i].key;
        pairs[i][1] = config->kafka.properties.items[i].value;
    }
    *properties = pairs;
    return (fz_kafka_options){
        .bootstrap_servers = config->kafka.bootstrap_servers,
        .group_id = config->kafka.group_id,
        .read_committed = config->kafka.isolation_level == FZ_ISOLATION_READ_COMMITTED,
        .properties = (const fz_str(*)[2])pairs,
        .property_count = count,
        .queue_memory = config->memory_limit / 4,
        .max_record_size = config->max_record_size,
        .log = log,
    };
}

fz_code fz_wiring_source(const fz_config *config, fz_log *log, int32_t partitions, fz_source **out,
                         fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf instance = {0};
    if (config->kafka.instance_id.size == 0) {
        make_instance_id(config, &instance);
    }
    fz_str(*properties)[2];
    fz_kafka_options options = kafka_options(config, log, &properties);
    options.instance_id = instance.size > 0 ? fz_buf_view(&instance) : config->kafka.instance_id;
    options.partitions = partitions;
    fz_code code = fz_kafka_consumer_new(&options, out, err);
    fz_free(properties);
    return code;
}

fz_code fz_wiring_producer(void *context, const fz_config *config, fz_log *log,
                           fz_kafka_producer **out, fz_err *err) {
    (void)context;
    fz_str(*properties)[2];
    fz_kafka_options options = kafka_options(config, log, &properties);
    options.queue_memory /= 4; // beside the consumer's queues
    fz_code code = fz_kafka_producer_new(&options, out, err);
    fz_free(properties);
    return code;
}
