// SPDX-License-Identifier: Apache-2.0
// The effective configuration as typed structs, and how it is loaded, printed and documented.
#ifndef FZ_CONF_CONFIG_H
#define FZ_CONF_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/codec/compression.h"
#include "base/log.h"
#include "data/transform.h"
#include "data/type.h"

// Texts are never NULL-unsafe: an unset fz_str has size 0. Everything lives in the configuration's
// arena; texts are followed by a zero byte. Durations are milliseconds, sizes bytes.

typedef struct fz_config_texts {
    fz_str *items;
    size_t count;
} fz_config_texts;

typedef struct fz_config_pair {
    fz_str key;
    fz_str value;
} fz_config_pair;

/** In the order written; keys are unique. */
typedef struct fz_config_pairs {
    fz_config_pair *items;
    size_t count;
} fz_config_pairs;

/** on, off, or left to the program. */
typedef enum fz_config_switch { FZ_SWITCH_AUTO, FZ_SWITCH_OFF, FZ_SWITCH_ON } fz_config_switch;

typedef struct fz_config_tls {
    fz_str ca;   // file of trusted certificates (PEM); absolute
    fz_str cert; // file; absolute
    fz_str key;  // file; absolute
} fz_config_tls;

typedef enum fz_config_isolation {
    FZ_ISOLATION_READ_COMMITTED,
    FZ_ISOLATION_READ_UNCOMMITTED,
} fz_config_isolation;

typedef struct fz_config_kafka {
    fz_str bootstrap_servers;
    fz_str group_id;
    fz_str instance_id; // empty: made from host name and configuration path
    fz_config_isolation isolation_level;
    fz_config_pairs properties; // librdkafka's; none of those that Frazil owns
} fz_config_kafka;

typedef struct fz_config_oauth {
    fz_str token_url;
    fz_str client_id;
    fz_str client_secret;
    fz_str scope;
    fz_str logical_cluster;
    fz_str identity_pool_id;
} fz_config_oauth;

typedef struct fz_config_registry {
    fz_config_texts url; // none: no registry
    fz_str username;
    fz_str password;
    fz_str bearer_token;
    fz_config_oauth oauth; // in use when token_url is set
    fz_config_tls tls;
    fz_str context;
} fz_config_registry;

typedef struct fz_config_auth {
    fz_str token; // empty: no authentication
} fz_config_auth;

typedef struct fz_config_server {
    bool enabled;  // listen is not `off`
    fz_str listen; // host:port; "[::1]:8090" for IPv6; "off"
    fz_str host;   // of listen, without brackets
    int port;      // of listen; 0: any
    fz_config_auth auth;
} fz_config_server;

typedef struct fz_config_log {
    fz_log_format format;
    fz_log_level level;
} fz_config_log;

/** Bits of fz_config_entry.table_format. */
enum { FZ_TABLE_ICEBERG = 1, FZ_TABLE_DELTA = 2 };

typedef enum fz_config_provider {
    FZ_PROVIDER_AUTO, // by the scheme of the location
    FZ_PROVIDER_S3,
    FZ_PROVIDER_GCS,
    FZ_PROVIDER_AZURE,
    FZ_PROVIDER_LOCAL,
} fz_config_provider;

typedef enum fz_config_sse { FZ_SSE_NONE, FZ_SSE_AES256, FZ_SSE_KMS } fz_config_sse;

typedef struct fz_config_storage {
    fz_str bucket; // absolute with a scheme (s3, gs, abfss, file, memory), no '/' at the end;
                   // empty: the warehouse
    bool bucket_in_entry; // named in the entry itself, so the exact table location if it makes one
                          // table; else a root
    fz_config_provider provider;
    fz_str region;
    fz_str endpoint;
    fz_config_switch path_style;
    fz_str credential; // role ARN to assume
    fz_str access_key_id;
    fz_str secret_access_key;
    fz_str session_token;
    fz_str external_id;
    fz_str session_name;
    fz_str profile;
    bool anonymous;
    fz_config_sse sse;
    fz_str kms_key;
    fz_str ca;               // file; absolute
    fz_str credentials_file; // file; absolute (GCS service account)
    fz_str account_name;     // Azure from here
    fz_str account_key;
    fz_str sas_token;
    fz_str tenant_id;
    fz_str client_id;
    fz_str client_secret;
} fz_config_storage;

typedef enum fz_config_catalog_type {
    FZ_CATALOG_SQL,
    FZ_CATALOG_REST,
    FZ_CATALOG_GLUE,
    FZ_CATALOG_POLARIS, // SNOWFLAKE_OPEN_CATALOG, SNOWFLAKE, POLARIS
    FZ_CATALOG_UNITY,
    FZ_CATALOG_DIRECTORY,
} fz_config_catalog_type;

typedef enum fz_config_delegation {
    FZ_DELEGATION_NONE,
    FZ_DELEGATION_VENDED_CREDENTIALS,
    FZ_DELEGATION_REMOTE_SIGNING,
} fz_config_delegation;

typedef struct fz_config_catalog {
    fz_config_catalog_type type;
    fz_str uri; // SQL: sqlite:////absolute.db or postgresql://...; filled in for SQL when not given
    fz_str name;
    fz_str warehouse; // absolute with a scheme, no '/' at the end; REST, POLARIS, UNITY: as
                      // written, may be empty
    fz_str database;  // may be dotted
    fz_str table;     // may hold {topic} and {record}
    bool create_database;
    fz_str credential;
    fz_str token;
    fz_str oauth2_uri;
    fz_str scope;
    fz_config_delegation access_delegation;
    fz_str region;
    fz_str endpoint;
    fz_config_tls tls;
    fz_config_pairs headers;
    fz_config_pairs properties;
} fz_config_catalog;

/** A transform of a column, as in `bucket(16, a."odd.name")`. */
typedef struct fz_config_term {
    fz_transform transform;
    fz_config_texts path; // names from the top, unquoted
} fz_config_term;

typedef struct fz_config_terms {
    fz_config_term *items;
    size_t count;
} fz_config_terms;

typedef struct fz_config_sort {
    bool zorder;           // terms hold all of its columns; otherwise one
    fz_config_terms terms; // identity when zorder
    bool descending;
    bool nulls_last; // default: ascending first, descending last
} fz_config_sort;

typedef struct fz_config_sorts {
    fz_config_sort *items;
    size_t count;
} fz_config_sorts;

typedef enum fz_config_format {
    FZ_CONFIG_FORMAT_NONE, // key only
    FZ_CONFIG_FORMAT_AUTO,
    FZ_CONFIG_FORMAT_AVRO,
    FZ_CONFIG_FORMAT_PROTOBUF,
    FZ_CONFIG_FORMAT_JSON_SCHEMA,
    FZ_CONFIG_FORMAT_JSON,
    FZ_CONFIG_FORMAT_CONNECT_JSON,
    FZ_CONFIG_FORMAT_STRING,
    FZ_CONFIG_FORMAT_BYTES,
} fz_config_format;

typedef enum fz_config_framing {
    FZ_FRAMING_CONFLUENT,
    FZ_FRAMING_NONE,
    FZ_FRAMING_GLUE,
} fz_config_framing;

typedef enum fz_config_strategy {
    FZ_STRATEGY_TOPIC_NAME,
    FZ_STRATEGY_RECORD_NAME,
    FZ_STRATEGY_TOPIC_RECORD_NAME,
} fz_config_strategy;

typedef struct fz_config_column {
    fz_str name;
    fz_str type_text; // as written
    fz_type type;     // ids 0
    bool required;
} fz_config_column;

typedef struct fz_config_columns {
    fz_config_column *items;
    size_t count;
} fz_config_columns;

typedef enum fz_config_key_mode {
    FZ_KEY_MODE_NONE,
    FZ_KEY_MODE_COLUMNS,
    FZ_KEY_MODE_STRUCT,
    FZ_KEY_MODE_BYTES,
} fz_config_key_mode;

/** How the value or the key of a record is read. */
typedef struct fz_config_side {
    fz_config_format format;
    fz_config_framing framing;
    fz_str subject; // empty: by the strategy
    fz_config_strategy subject_name_strategy;
    fz_str schema;      // text; a schema_file is read into it
    fz_str schema_file; // absolute; empty if none
    fz_str message;     // full name of the Protobuf row message
    fz_config_columns columns;
    int64_t infer;           // records to infer from; 0: off
    fz_config_key_mode mode; // key only; settled: never "once format is set"
    fz_str prefix;           // key only
} fz_config_side;

typedef enum fz_config_metadata_field {
    FZ_METADATA_TOPIC,
    FZ_METADATA_PARTITION,
    FZ_METADATA_OFFSET,
    FZ_METADATA_TIMESTAMP,
    FZ_METADATA_TIMESTAMP_TYPE,
    FZ_METADATA_LEADER_EPOCH,
    FZ_METADATA_SCHEMA_ID,
    FZ_METADATA_KEY,
    FZ_METADATA_HEADERS,
    FZ_METADATA_COUNT
} fz_config_metadata_field;

typedef struct fz_config_metadata_item {
    fz_config_metadata_field field;
    fz_str column; // promoted: its top-level name; empty: inside `_kafka`
} fz_config_metadata_item;

/** Fields in the order of columns, each at most once; count 0: no metadata. */
typedef struct fz_config_metadata {
    fz_config_metadata_item items[FZ_METADATA_COUNT];
    size_t count;
} fz_config_metadata;

typedef enum fz_config_nanos {
    FZ_NANOS_AUTO, // refuse; Protobuf: truncate
    FZ_NANOS_REFUSE,
    FZ_NANOS_TRUNCATE,
    FZ_NANOS_KEEP,
} fz_config_nanos;
typedef enum fz_config_uint64 { FZ_UINT64_DECIMAL, FZ_UINT64_LONG } fz_config_uint64;
typedef enum fz_config_recursive { FZ_RECURSIVE_REFUSE, FZ_RECURSIVE_JSON } fz_config_recursive;
typedef enum fz_config_unions { FZ_UNIONS_AUTO, FZ_UNIONS_STRUCT } fz_config_unions;
typedef enum fz_config_names {
    FZ_NAMES_KEEP,
    FZ_NAMES_LOWER,
    FZ_NAMES_SNAKE,
    FZ_NAMES_LOWER_SUFFIX,
} fz_config_names;

typedef struct fz_config_types {
    fz_config_nanos timestamp_nanos;
    fz_config_uint64 uint64;
    fz_config_recursive recursive;
    fz_config_unions unions;
    fz_config_names names;
} fz_config_types;

typedef enum fz_config_tombstones { FZ_TOMBSTONES_SKIP, FZ_TOMBSTONES_ROW } fz_config_tombstones;

typedef enum fz_config_policy {
    FZ_POLICY_APPLY,
    FZ_POLICY_IGNORE,
    FZ_POLICY_KEEP,
    FZ_POLICY_KEEP_NAME,
    FZ_POLICY_SUSPEND,
    FZ_POLICY_RECORD_ERROR,
} fz_config_policy;

typedef struct fz_config_evolution {
    fz_config_policy add;          // apply, ignore, suspend
    fz_config_policy drop;         // keep, suspend
    fz_config_policy rename;       // apply, keep_name, suspend
    fz_config_policy widen;        // apply, ignore, suspend
    fz_config_policy incompatible; // suspend, record_error
} fz_config_evolution;

typedef enum fz_config_on_error {
    FZ_ON_ERROR_SUSPEND,
    FZ_ON_ERROR_SKIP,
    FZ_ON_ERROR_DEAD_LETTER,
} fz_config_on_error;

typedef struct fz_config_dead_letter {
    fz_str table;  // may hold {table}, {topic} and a dot (`db.table`); "off": none
    bool to_table; // table is not "off"
    fz_str topic;  // empty: none
} fz_config_dead_letter;

typedef enum fz_config_on_log_change {
    FZ_ON_LOG_CHANGE_SUSPEND,
    FZ_ON_LOG_CHANGE_RESTART_FROM_EARLIEST,
} fz_config_on_log_change;

typedef enum fz_config_on_rollback {
    FZ_ON_ROLLBACK_REREAD,
    FZ_ON_ROLLBACK_SUSPEND,
} fz_config_on_rollback;

typedef enum fz_config_start_kind {
    FZ_START_EARLIEST,
    FZ_START_LATEST,
    FZ_START_TIMESTAMP,
    FZ_START_OFFSETS,
} fz_config_start_kind;

typedef struct fz_config_start_offset {
    int32_t partition;
    int64_t offset;
} fz_config_start_offset;

typedef struct fz_config_start {
    fz_config_start_kind kind;
    int64_t timestamp_ms;            // for TIMESTAMP, since 1970 UTC
    fz_config_start_offset *offsets; // for OFFSETS, by partition
    size_t count;
} fz_config_start;

typedef enum fz_config_write_mode {
    FZ_WRITE_MODE_APPEND,
    FZ_WRITE_MODE_UPSERT,
    FZ_WRITE_MODE_DEBEZIUM,
} fz_config_write_mode;

typedef struct fz_config_compression {
    bool by_table;  // auto: the table's properties say, else zstd(1)
    fz_codec codec; // LZ4_RAW for lz4
    int level;      // settled for zstd, gzip, brotli; 0 for the others
} fz_config_compression;

typedef struct fz_config_parquet {
    bool delta_encodings;
    fz_config_texts bloom_filters; // columns, dotted paths
} fz_config_parquet;

/** How data files are written; the keys stand in the entry itself. */
typedef struct fz_config_files {
    int64_t target_file_size; // 0: auto, by the table
    int64_t row_group_size;   // 0: auto, by the table
    fz_config_compression compression;
    fz_config_parquet parquet;
} fz_config_files;

typedef struct fz_config_compaction {
    bool enabled;
    int64_t interval_ms;
    int64_t min_files;          // small files of one partition that make a round worthwhile
    int64_t small_file_percent; // of target_file_size: smaller counts as small
} fz_config_compaction;

typedef struct fz_config_expire {
    bool enabled;
    int64_t interval_ms;
    int64_t max_age_ms;
    int64_t max_count;
    int64_t min_count;
} fz_config_expire;

typedef struct fz_config_orphans {
    bool enabled;
    int64_t interval_ms;
    int64_t older_than_ms;
} fz_config_orphans;

typedef struct fz_config_manifests {
    bool enabled;
    int64_t interval_ms;
    int64_t min_count;
    int64_t target_size;
} fz_config_manifests;

typedef struct fz_config_row_ttl {
    bool enabled;  // max_age is not off
    fz_str column; // dotted path
    int64_t max_age_ms;
} fz_config_row_ttl;

typedef struct fz_config_maintenance {
    bool enabled;
    fz_config_compaction compaction;
    fz_config_expire expire_snapshots;
    fz_config_orphans remove_orphans;
    fz_config_manifests rewrite_manifests;
    fz_config_row_ttl row_ttl;
} fz_config_maintenance;

typedef struct fz_config_catalogs {
    fz_config_catalog *items; // at least one; the first decides
    size_t count;
} fz_config_catalogs;

/** One `tableflow` entry, `defaults` merged in. */
typedef struct fz_config_entry {
    fz_config_texts topics; // `topic` or `topics`; count 0 when a pattern is given
    fz_str topic;           // `topic` as written; use topics
    fz_str topic_pattern;   // POSIX extended; empty: none
    bool enabled;
    unsigned table_format; // FZ_TABLE_* bits
    int64_t format_version;
    fz_config_storage storage;
    fz_config_catalogs catalog;
    fz_config_terms partitioning;
    fz_config_sorts sort_order;
    fz_config_registry own_registry; // as written in the entry
    const fz_config_registry
        *schema_registry; // the one to use: the entry's own, or the top-level one
    fz_config_side value;
    fz_config_side key;
    fz_config_metadata metadata;
    fz_config_types types;
    fz_config_tombstones tombstones;
    fz_config_evolution evolution;
    fz_config_on_error on_error;
    fz_config_dead_letter dead_letter;
    fz_config_on_log_change on_log_change;
    fz_config_on_rollback on_rollback;
    fz_config_start start;
    fz_config_write_mode write_mode;
    int64_t commit_interval_ms;
    int64_t commit_size;
    fz_config_files files;
    fz_config_pairs properties;
    fz_config_maintenance maintenance;
    fz_str where; // "frazil.yaml:12", for messages
} fz_config_entry;

typedef struct fz_config {
    fz_arena arena;
    fz_config_kafka kafka;
    fz_config_registry schema_registry;
    fz_config_server server;
    int64_t memory_limit;
    int64_t max_record_size;
    int64_t threads; // lanes; 0: as many as cores
    fz_config_log log;
    int64_t shutdown_timeout_ms;
    fz_config_entry *entries;
    size_t entry_count;
    fz_str path; // absolute path of the first file; empty if none
} fz_config;

/** A value given outside the files. Applied in order, the later wins. */
typedef struct fz_config_override {
    const char *key; // path as in the documentation, "kafka.bootstrap_servers"; "tableflow.X" is X
                     // of every entry
    fz_str value;    // a scalar; for a list of texts several may be given with commas
    const char *origin; // for messages: "--bootstrap-servers"
} fz_config_override;

/** A command-line flag that stands for a key. */
typedef struct fz_config_flag {
    const char *flag; // "--topic"
    const char *key;  // "tableflow.topics"
    const char *doc;
} fz_config_flag;

/** All flags that stand for keys; `*count` of them; static. */
const fz_config_flag *fz_config_flags(size_t *count);

/** Where the configuration comes from; zeroed is valid. */
typedef struct fz_config_source {
    const char *const *paths; // files, in order; later ones win
    size_t path_count;
    fz_str text;      // or text in memory, read after the files
    const char *name; // of the text, for messages; NULL "configuration"
    const char *
        folder; // relative paths of text and overrides count from here; NULL: the working directory
    const fz_config_override *overrides;
    size_t override_count;
    const char *(*find_env)(const char *name, void *context); // NULL: getenv
    void *context;
    bool no_env;   // FRAZIL_* variables do not override (a `${...}` is still looked up)
    bool no_files; // secrets and schemas are not read from files (fuzzing)
} fz_config_source;

/** One fault, as one line. */
typedef struct fz_config_fault {
    fz_str file;
    int line; // from 1; 0: not in a file
    int column;
    fz_str key;     // "tableflow[1].catalog.typ"
    fz_str text;    // what is wrong, with the nearest known name
    fz_str message; // `file:line:column: key: text`
} fz_config_fault;

/** All faults, by line within a file. Zeroed is empty and valid. */
typedef struct fz_config_faults {
    fz_arena arena;
    fz_config_fault *items;
    size_t count;
    size_t capacity;
    bool cut; // there were more than FZ_CONFIG_MAX_FAULTS
} fz_config_faults;

/** NULL allowed. */
void fz_config_faults_deinit(fz_config_faults *faults);
/** Append one message a line. */
void fz_config_faults_format(const fz_config_faults *faults, fz_buf *out);

/**
 * Read, merge and check.
 *
 * source  files, text, overrides
 * out     deinit it; written only on FZ_OK
 * faults  all that was wrong; may be NULL
 *
 * Order, the later wins: documented default, `defaults`, entry, environment
 * (FRAZIL_BOOTSTRAP_SERVERS, FRAZIL_SCHEMA_REGISTRY_URL), overrides. Several documents and files
 * are merged key by key; `tableflow` entries add up. Errors: INVALID with the first fault and their
 * number (all are in `faults`); LIMIT for a limit of conf/limits.h.
 */
FZ_CHECKED fz_code fz_config_load(const fz_config_source *source, fz_config *out,
                                  fz_config_faults *faults, fz_err *err);
/** Frees everything; zeroes. */
void fz_config_deinit(fz_config *config);

/** Append the effective configuration as YAML that loads again; secrets as `***`. */
void fz_config_print(const fz_config *config, fz_buf *out);
/** Append the documented default file: every key with its meaning; those without a default as
 * comments. It loads. */
void fz_config_document_default(fz_buf *out);
/** Append docs/configuration.md. */
void fz_config_document_markdown(fz_buf *out);

/** Value of `key`, or an empty text. */
fz_str fz_config_pairs_find(const fz_config_pairs *pairs, const char *key);
/** Why a librdkafka property cannot be set by users, NULL if it can; static. */
const char *fz_config_kafka_property_owned(fz_str name);

#endif
