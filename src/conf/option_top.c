// SPDX-License-Identifier: Apache-2.0
// The option table: everything outside `tableflow` entries.
#include "conf/option.h"

#include "conf/custom.h"

#define O FZ_CONF_OPTION

static const fz_conf_word isolation_words[] = {
    {"read_committed", FZ_ISOLATION_READ_COMMITTED},
    {"read_uncommitted", FZ_ISOLATION_READ_UNCOMMITTED},
    {NULL, 0},
};

static const fz_conf_option kafka_options[] = {
    O(fz_config_kafka, "bootstrap_servers", bootstrap_servers, fz_str, FZ_CONF_TEXT,
      "localhost:9092", "brokers to ask first, host:port with commas between",
      .flags = FZ_CONF_JOINED),
    O(fz_config_kafka, "group_id", group_id, fz_str, FZ_CONF_TEXT, "frazil",
      "consumer group; spreads partitions over processes and decides nothing else"),
    O(fz_config_kafka, "instance_id", instance_id, fz_str, FZ_CONF_TEXT, NULL,
      "static membership, so that a restart does not wait for the session time-out; a second "
      "process with the same id gets an error",
      .shown = "from host name and configuration path"),
    O(fz_config_kafka, "isolation_level", isolation_level, unsigned, FZ_CONF_ENUM, "read_committed",
      "whether records of open and aborted transactions are seen", .words = isolation_words),
    O(fz_config_kafka, "properties", properties, fz_config_pairs, FZ_CONF_PAIRS, NULL,
      "any other librdkafka property; those that frazil owns are refused with the reason",
      .shown = "{}", .check_pair = fz_conf_kafka_property_check),
};

static const fz_conf_table kafka_table =
    FZ_CONF_TABLE(fz_config_kafka, "kafka", kafka_options, "The Kafka cluster.");

static const fz_conf_option tls_options[] = {
    O(fz_config_tls, "ca", ca, fz_str, FZ_CONF_PATH, NULL, "file of trusted certificates (PEM)",
      .shown = "the system's"),
    O(fz_config_tls, "cert", cert, fz_str, FZ_CONF_PATH, NULL,
      "file of the client's certificate (PEM)"),
    O(fz_config_tls, "key", key, fz_str, FZ_CONF_PATH, NULL,
      "file of the client's private key (PEM)"),
};

const fz_conf_table fz_conf_tls_table = FZ_CONF_TABLE(
    fz_config_tls, "tls", tls_options, "Certificates; paths count from the configuration file.");

static const fz_conf_option oauth_options[] = {
    O(fz_config_oauth, "token_url", token_url, fz_str, FZ_CONF_TEXT, NULL,
      "where tokens are given out (client credentials)", .check = fz_conf_http_check),
    O(fz_config_oauth, "client_id", client_id, fz_str, FZ_CONF_TEXT, NULL, "client id"),
    O(fz_config_oauth, "client_secret", client_secret, fz_str, FZ_CONF_SECRET, NULL,
      "client secret"),
    O(fz_config_oauth, "scope", scope, fz_str, FZ_CONF_TEXT, NULL, "scope to ask for"),
    O(fz_config_oauth, "logical_cluster", logical_cluster, fz_str, FZ_CONF_TEXT, NULL,
      "Confluent Cloud: id of the registry's cluster"),
    O(fz_config_oauth, "identity_pool_id", identity_pool_id, fz_str, FZ_CONF_TEXT, NULL,
      "Confluent Cloud: id of the identity pool"),
};

static const fz_conf_table oauth_table =
    FZ_CONF_TABLE(fz_config_oauth, "oauth", oauth_options, "OAuth 2.0 by client credentials.");

static const fz_conf_option registry_options[] = {
    O(fz_config_registry, "url", url, fz_config_texts, FZ_CONF_TEXTS, NULL,
      "schema registry; a list is tried in turn", .flags = FZ_CONF_COMMAS,
      .check = fz_conf_http_check),
    O(fz_config_registry, "username", username, fz_str, FZ_CONF_TEXT, NULL,
      "basic authentication: user"),
    O(fz_config_registry, "password", password, fz_str, FZ_CONF_SECRET, NULL,
      "basic authentication: password"),
    O(fz_config_registry, "bearer_token", bearer_token, fz_str, FZ_CONF_SECRET, NULL,
      "a fixed token, in place of a user"),
    O(fz_config_registry, "oauth", oauth, fz_config_oauth, FZ_CONF_BLOCK, NULL,
      "tokens by OAuth 2.0", .table = &oauth_table),
    O(fz_config_registry, "tls", tls, fz_config_tls, FZ_CONF_BLOCK, NULL, "certificates",
      .table = &fz_conf_tls_table),
    O(fz_config_registry, "context", context, fz_str, FZ_CONF_TEXT, NULL,
      "schema context that subjects are looked up in"),
};

const fz_conf_table fz_conf_registry_table = FZ_CONF_TABLE(
    fz_config_registry, "schema_registry", registry_options,
    "The schema registry. A single address stands for its `url`.", .shorthand = "url");

static const fz_conf_option auth_options[] = {
    O(fz_config_auth, "token", token, fz_str, FZ_CONF_SECRET, NULL,
      "bearer token that page, API and catalog ask for; must be there when `listen` is not a "
      "loopback address"),
};

static const fz_conf_table auth_table = FZ_CONF_TABLE(
    fz_config_auth, "server.auth", auth_options,
    "Who may use the server. A single text stands for its `token`.", .shorthand = "token");

static const fz_conf_option server_options[] = {
    O(fz_config_server, "listen", listen, fz_str, FZ_CONF_TEXT, "127.0.0.1:8090",
      "address of page, admin API, /metrics, /healthz, /readyz and the Iceberg REST catalog under "
      "/iceberg; or off",
      .check = fz_conf_listen_check),
    O(fz_config_server, "auth", auth, fz_config_auth, FZ_CONF_BLOCK, NULL,
      "who may use it; nothing is asked on loopback", .table = &auth_table),
};

static const fz_conf_table server_table =
    FZ_CONF_TABLE(fz_config_server, "server", server_options,
                  "The HTTP server. A single text stands for its `listen`.", .shorthand = "listen");

static const fz_conf_word log_format_words[] = {
    {"text", FZ_LOG_TEXT},
    {"json", FZ_LOG_JSON},
    {NULL, 0},
};

static const fz_conf_word log_level_words[] = {
    {"debug", FZ_LOG_DEBUG},  {"info", FZ_LOG_INFO},   {"warn", FZ_LOG_WARN},
    {"warning", FZ_LOG_WARN}, {"error", FZ_LOG_ERROR}, {NULL, 0},
};

static const fz_conf_option log_options[] = {
    O(fz_config_log, "format", format, unsigned, FZ_CONF_ENUM, "text", "lines as text or as JSON",
      .words = log_format_words),
    O(fz_config_log, "level", level, unsigned, FZ_CONF_ENUM, "info", "least level that is written",
      .words = log_level_words),
};

static const fz_conf_table log_table = FZ_CONF_TABLE(
    fz_config_log, "log", log_options,
    "The log, on standard error. A single word stands for its `format`.", .shorthand = "format");

static const fz_conf_option top_options[] = {
    O(fz_config, "kafka", kafka, fz_config_kafka, FZ_CONF_BLOCK, NULL, "the Kafka cluster",
      .table = &kafka_table),
    O(fz_config, "schema_registry", schema_registry, fz_config_registry, FZ_CONF_BLOCK, NULL,
      "the schema registry, unless an entry names its own", .table = &fz_conf_registry_table),
    O(fz_config, "tableflow", entries, fz_config_entry *, FZ_CONF_BLOCKS, NULL,
      "an entry, or a list of entries; none: catalog and page only", .table = &fz_conf_entry_table,
      .flags = FZ_CONF_APART),
    O(fz_config, "defaults", entries, fz_config_entry *, FZ_CONF_BLOCK, NULL,
      "any key of an entry, for all entries", .table = &fz_conf_entry_table,
      .flags = FZ_CONF_APART),
    O(fz_config, "server", server, fz_config_server, FZ_CONF_BLOCK, NULL, "the HTTP server",
      .table = &server_table),
    O(fz_config, "memory_limit", memory_limit, int64_t, FZ_CONF_SIZE, "256MiB",
      "budget for batches, writers, files under way and the Kafka client's queues", .min = 16 << 20,
      .max = INT64_C(1) << 46),
    O(fz_config, "max_record_size", max_record_size, int64_t, FZ_CONF_SIZE, "16MiB",
      "a larger record is too_large; a fetched batch that cannot fit suspends its topic",
      .min = 1024, .max = 1 << 30),
    O(fz_config, "threads", threads, int64_t, FZ_CONF_INT, "auto",
      "lanes that read and encode; auto is the number of cores", .min = 1, .max = 1024,
      .zero_word = "auto"),
    O(fz_config, "log", log, fz_config_log, FZ_CONF_BLOCK, NULL, "the log", .table = &log_table),
    O(fz_config, "shutdown_timeout", shutdown_timeout_ms, int64_t, FZ_CONF_DURATION, "30s",
      "time to commit what is buffered when told to stop", .max = INT64_C(86400000)),
};

const fz_conf_table fz_conf_top_table =
    FZ_CONF_TABLE(fz_config, "Top level", top_options, "One or several YAML documents.");
