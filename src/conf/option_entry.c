// SPDX-License-Identifier: Apache-2.0
// The option table: `tableflow` entries, without maintenance and record formats.
#include "conf/option_entry.h"

#include "conf/custom.h"

#define O FZ_CONF_OPTION

static const fz_conf_word format_words[] = {
    {"ICEBERG", FZ_TABLE_ICEBERG},
    {"DELTA", FZ_TABLE_DELTA},
    {NULL, 0},
};

static const fz_conf_word provider_words[] = {
    {"AUTO", FZ_PROVIDER_AUTO},
    {"AWS_S3", FZ_PROVIDER_S3},
    {"S3", FZ_PROVIDER_S3},
    {"AWS", FZ_PROVIDER_S3},
    {"S3_COMPATIBLE", FZ_PROVIDER_S3},
    {"MINIO", FZ_PROVIDER_S3},
    {"GCS", FZ_PROVIDER_GCS},
    {"GCP_GCS", FZ_PROVIDER_GCS},
    {"GOOGLE_CLOUD_STORAGE", FZ_PROVIDER_GCS},
    {"AZURE", FZ_PROVIDER_AZURE},
    {"AZURE_ADLS", FZ_PROVIDER_AZURE},
    {"AZURE_DATA_LAKE_STORAGE_GEN_2", FZ_PROVIDER_AZURE},
    {"LOCAL", FZ_PROVIDER_LOCAL},
    {NULL, 0},
};

static const fz_conf_word switch_words[] = {
    {"auto", FZ_SWITCH_AUTO},
    {"on", FZ_SWITCH_ON},
    {"off", FZ_SWITCH_OFF},
    {NULL, 0},
};

static const fz_conf_word sse_words[] = {
    {"none", FZ_SSE_NONE},     {"off", FZ_SSE_NONE},    {"AES256", FZ_SSE_AES256},
    {"SSE_S3", FZ_SSE_AES256}, {"S3", FZ_SSE_AES256},   {"aws:kms", FZ_SSE_KMS},
    {"KMS", FZ_SSE_KMS},       {"SSE_KMS", FZ_SSE_KMS}, {NULL, 0},
};

static const fz_conf_option storage_options[] = {
    O(fz_config_storage, "provider", provider, unsigned, FZ_CONF_ENUM, "auto",
      "AWS_S3, GCS, AZURE or LOCAL; auto goes by the scheme", .words = provider_words),
    O(fz_config_storage, "bucket", bucket, fz_str, FZ_CONF_CUSTOM, NULL,
      "location: s3://, gs://, abfss://, file://. Named in an entry that makes one table: exactly "
      "that table's. Otherwise, and in `defaults`: a root, under which <database>/<table> is made",
      .shown = "<catalog.warehouse>/<database>/<table>", .custom = &fz_conf_bucket),
    O(fz_config_storage, "region", region, fz_str, FZ_CONF_TEXT, NULL, "region",
      .shown = "from the environment"),
    O(fz_config_storage, "endpoint", endpoint, fz_str, FZ_CONF_TEXT, NULL,
      "address of an S3-compatible store", .shown = "the provider's", .check = fz_conf_http_check),
    O(fz_config_storage, "path_style", path_style, unsigned, FZ_CONF_ENUM, "auto",
      "bucket in the path, not in the host name; auto: on with an endpoint of one's own",
      .words = switch_words),
    O(fz_config_storage, "credential", credential, fz_str, FZ_CONF_TEXT, NULL,
      "ARN of a role to assume"),
    O(fz_config_storage, "access_key_id", access_key_id, fz_str, FZ_CONF_TEXT, NULL, "access key",
      .shown = "from the environment"),
    O(fz_config_storage, "secret_access_key", secret_access_key, fz_str, FZ_CONF_SECRET, NULL,
      "its secret", .shown = "from the environment"),
    O(fz_config_storage, "session_token", session_token, fz_str, FZ_CONF_SECRET, NULL,
      "token of temporary credentials", .shown = "from the environment"),
    O(fz_config_storage, "external_id", external_id, fz_str, FZ_CONF_TEXT, NULL,
      "external id for the role"),
    O(fz_config_storage, "session_name", session_name, fz_str, FZ_CONF_TEXT, "frazil",
      "session name for the role"),
    O(fz_config_storage, "profile", profile, fz_str, FZ_CONF_TEXT, NULL,
      "profile of the shared AWS files", .shown = "from the environment"),
    O(fz_config_storage, "anonymous", anonymous, bool, FZ_CONF_BOOL, "false",
      "requests are not signed"),
    O(fz_config_storage, "sse", sse, unsigned, FZ_CONF_ENUM, "none",
      "server-side encryption: none, AES256 or aws:kms", .words = sse_words),
    O(fz_config_storage, "kms_key", kms_key, fz_str, FZ_CONF_TEXT, NULL, "key for aws:kms"),
    O(fz_config_storage, "ca", ca, fz_str, FZ_CONF_PATH, NULL, "file of trusted certificates (PEM)",
      .shown = "the system's"),
    O(fz_config_storage, "credentials_file", credentials_file, fz_str, FZ_CONF_PATH, NULL,
      "Google Cloud: service account file", .shown = "from the environment"),
    O(fz_config_storage, "account_name", account_name, fz_str, FZ_CONF_TEXT, NULL,
      "Azure: storage account", .shown = "from the location"),
    O(fz_config_storage, "account_key", account_key, fz_str, FZ_CONF_SECRET, NULL,
      "Azure: account key"),
    O(fz_config_storage, "sas_token", sas_token, fz_str, FZ_CONF_SECRET, NULL,
      "Azure: shared access signature"),
    O(fz_config_storage, "tenant_id", tenant_id, fz_str, FZ_CONF_TEXT, NULL, "Azure: tenant"),
    O(fz_config_storage, "client_id", client_id, fz_str, FZ_CONF_TEXT, NULL, "Azure: client id"),
    O(fz_config_storage, "client_secret", client_secret, fz_str, FZ_CONF_SECRET, NULL,
      "Azure: client secret"),
};

static const fz_conf_table storage_table =
    FZ_CONF_TABLE(fz_config_storage, "storage", storage_options,
                  "Where files go. A single text stands for its `bucket`.", .shorthand = "bucket");

static const fz_conf_word catalog_words[] = {
    {"SQL", FZ_CATALOG_SQL},
    {"JDBC", FZ_CATALOG_SQL},
    {"REST", FZ_CATALOG_REST},
    {"GLUE", FZ_CATALOG_GLUE},
    {"SNOWFLAKE_OPEN_CATALOG", FZ_CATALOG_POLARIS},
    {"SNOWFLAKE", FZ_CATALOG_POLARIS},
    {"POLARIS", FZ_CATALOG_POLARIS},
    {"UNITY", FZ_CATALOG_UNITY},
    {"DIRECTORY", FZ_CATALOG_DIRECTORY},
    {"HADOOP", FZ_CATALOG_DIRECTORY},
    {NULL, 0},
};

static const fz_conf_word delegation_words[] = {
    {"none", FZ_DELEGATION_NONE},
    {"off", FZ_DELEGATION_NONE},
    {"vended-credentials", FZ_DELEGATION_VENDED_CREDENTIALS},
    {"remote-signing", FZ_DELEGATION_REMOTE_SIGNING},
    {NULL, 0},
};

static const fz_conf_option catalog_options[] = {
    O(fz_config_catalog, "type", type, unsigned, FZ_CONF_ENUM, "SQL",
      "SQL, REST, GLUE, SNOWFLAKE_OPEN_CATALOG (SNOWFLAKE, POLARIS), UNITY or DIRECTORY",
      .words = catalog_words),
    O(fz_config_catalog, "name", name, fz_str, FZ_CONF_TEXT, "frazil",
      "catalog_name in an SQL catalog's tables"),
    O(fz_config_catalog, "warehouse", warehouse, fz_str, FZ_CONF_CUSTOM, "./warehouse",
      "folder or location; for REST, SNOWFLAKE_OPEN_CATALOG and UNITY the server's warehouse name "
      "(no default)",
      .custom = &fz_conf_warehouse),
    O(fz_config_catalog, "uri", uri, fz_str, FZ_CONF_CUSTOM, NULL,
      "sqlite:///relative.db, sqlite:////absolute.db, postgresql://..., https://... for REST",
      .shown = "sqlite:///<warehouse>/catalog.db", .custom = &fz_conf_catalog_uri),
    O(fz_config_catalog, "database", database, fz_str, FZ_CONF_TEXT, "default",
      "namespace; dots nest", .check = fz_conf_database_check),
    O(fz_config_catalog, "table", table, fz_str, FZ_CONF_TEXT, "{topic}",
      "table; may hold {topic} and {record}. A fixed name with several topics puts all into it",
      .check = fz_conf_table_check),
    O(fz_config_catalog, "create_database", create_database, bool, FZ_CONF_BOOL, "true",
      "make the database if it is not there"),
    O(fz_config_catalog, "credential", credential, fz_str, FZ_CONF_SECRET, NULL,
      "REST: client id:secret for OAuth 2.0"),
    O(fz_config_catalog, "token", token, fz_str, FZ_CONF_SECRET, NULL, "REST: bearer token"),
    O(fz_config_catalog, "oauth2_uri", oauth2_uri, fz_str, FZ_CONF_TEXT, NULL,
      "REST: where tokens are given out", .check = fz_conf_http_check),
    O(fz_config_catalog, "scope", scope, fz_str, FZ_CONF_TEXT, NULL, "REST: scope to ask for"),
    O(fz_config_catalog, "access_delegation", access_delegation, unsigned, FZ_CONF_ENUM, "none",
      "REST: none, vended-credentials or remote-signing", .words = delegation_words),
    O(fz_config_catalog, "region", region, fz_str, FZ_CONF_TEXT, NULL, "GLUE: region",
      .shown = "storage.region, or from the environment"),
    O(fz_config_catalog, "endpoint", endpoint, fz_str, FZ_CONF_TEXT, NULL, "GLUE: address",
      .shown = "the provider's", .check = fz_conf_http_check),
    O(fz_config_catalog, "tls", tls, fz_config_tls, FZ_CONF_BLOCK, NULL, "certificates",
      .table = &fz_conf_tls_table),
    O(fz_config_catalog, "headers", headers, fz_config_pairs, FZ_CONF_PAIRS, NULL,
      "REST: headers of every request", .shown = "{}", .flags = FZ_CONF_HEADERS),
    O(fz_config_catalog, "properties", properties, fz_config_pairs, FZ_CONF_PAIRS, NULL,
      "further settings of the catalog by Iceberg's names", .shown = "{}"),
};

static const fz_conf_table catalog_table =
    FZ_CONF_TABLE(fz_config_catalog, "catalog", catalog_options,
                  "A mapping, or a list of mappings: the table is published to each, the first "
                  "decides. A single word stands for its `type`.",
                  .shorthand = "type");

static const fz_conf_word nanos_words[] = {
    {"auto", FZ_NANOS_AUTO},
    {"refuse", FZ_NANOS_REFUSE},
    {"truncate", FZ_NANOS_TRUNCATE},
    {"keep", FZ_NANOS_KEEP},
    {NULL, 0},
};
static const fz_conf_word uint64_words[] = {
    {"decimal", FZ_UINT64_DECIMAL}, {"long", FZ_UINT64_LONG}, {NULL, 0}};
static const fz_conf_word recursive_words[] = {
    {"refuse", FZ_RECURSIVE_REFUSE}, {"json", FZ_RECURSIVE_JSON}, {NULL, 0}};
static const fz_conf_word unions_words[] = {
    {"auto", FZ_UNIONS_AUTO}, {"struct", FZ_UNIONS_STRUCT}, {NULL, 0}};
static const fz_conf_word names_words[] = {
    {"keep", FZ_NAMES_KEEP},
    {"lower", FZ_NAMES_LOWER},
    {"snake", FZ_NAMES_SNAKE},
    {"lower_suffix", FZ_NAMES_LOWER_SUFFIX},
    {NULL, 0},
};

static const fz_conf_option types_options[] = {
    O(fz_config_types, "timestamp_nanos", timestamp_nanos, unsigned, FZ_CONF_ENUM, "auto",
      "refuse, truncate or keep (Iceberg v3) instants of nanoseconds; auto: truncate for Protobuf, "
      "else refuse",
      .words = nanos_words),
    O(fz_config_types, "uint64", uint64, unsigned, FZ_CONF_ENUM, "decimal",
      "decimal(20, 0), or long with values out of range as record errors", .words = uint64_words),
    O(fz_config_types, "recursive", recursive, unsigned, FZ_CONF_ENUM, "refuse",
      "refuse a type that contains itself, or keep the part as JSON text",
      .words = recursive_words),
    O(fz_config_types, "unions", unions, unsigned, FZ_CONF_ENUM, "auto",
      "struct: a union of one type is a struct too, so that it can grow", .words = unions_words),
    O(fz_config_types, "names", names, unsigned, FZ_CONF_ENUM, "keep",
      "column names: keep, lower, snake, or lower_suffix for names that differ only in case",
      .words = names_words),
};

static const fz_conf_table types_table =
    FZ_CONF_TABLE(fz_config_types, "types", types_options, "Choices of the type map.");

static const fz_conf_word apply_words[] = {
    {"apply", FZ_POLICY_APPLY},
    {"ignore", FZ_POLICY_IGNORE},
    {"suspend", FZ_POLICY_SUSPEND},
    {NULL, 0},
};
static const fz_conf_word drop_words[] = {
    {"keep", FZ_POLICY_KEEP}, {"suspend", FZ_POLICY_SUSPEND}, {NULL, 0}};
static const fz_conf_word rename_words[] = {
    {"apply", FZ_POLICY_APPLY},
    {"keep_name", FZ_POLICY_KEEP_NAME},
    {"suspend", FZ_POLICY_SUSPEND},
    {NULL, 0},
};
static const fz_conf_word incompatible_words[] = {
    {"suspend", FZ_POLICY_SUSPEND}, {"record_error", FZ_POLICY_RECORD_ERROR}, {NULL, 0}};

static const fz_conf_option evolution_options[] = {
    O(fz_config_evolution, "add", add, unsigned, FZ_CONF_ENUM, "apply",
      "new field: apply, ignore or suspend", .words = apply_words),
    O(fz_config_evolution, "drop", drop, unsigned, FZ_CONF_ENUM, "keep",
      "removed field: keep the column or suspend", .words = drop_words),
    O(fz_config_evolution, "rename", rename, unsigned, FZ_CONF_ENUM, "apply",
      "renamed field: apply, keep_name or suspend", .words = rename_words),
    O(fz_config_evolution, "widen", widen, unsigned, FZ_CONF_ENUM, "apply",
      "wider type: apply, ignore or suspend", .words = apply_words),
    O(fz_config_evolution, "incompatible", incompatible, unsigned, FZ_CONF_ENUM, "suspend",
      "suspend, or record_error: each record of that writer schema goes by `on_error`",
      .words = incompatible_words),
};

static const fz_conf_table evolution_table =
    FZ_CONF_TABLE(fz_config_evolution, "evolution", evolution_options,
                  "What happens when the subject gets a new schema.");

static const fz_conf_option dead_letter_options[] = {
    O(fz_config_dead_letter, "table", table, fz_str, FZ_CONF_TEXT, "{table}__dead_letters",
      "table for records that cannot become rows, in the same catalog and database unless written "
      "db.table; off for none",
      .check = fz_conf_dead_letter_table_check),
    O(fz_config_dead_letter, "topic", topic, fz_str, FZ_CONF_TEXT, NULL,
      "Kafka topic for them; both may be set", .check = fz_conf_topic_check),
};

static const fz_conf_table dead_letter_table =
    FZ_CONF_TABLE(fz_config_dead_letter, "dead_letter", dead_letter_options,
                  "Where records go under `on_error: dead_letter`. A single text stands for its "
                  "`table`.",
                  .shorthand = "table");

static const fz_conf_word tombstones_words[] = {
    {"skip", FZ_TOMBSTONES_SKIP}, {"row", FZ_TOMBSTONES_ROW}, {NULL, 0}};
static const fz_conf_word on_error_words[] = {
    {"suspend", FZ_ON_ERROR_SUSPEND},
    {"skip", FZ_ON_ERROR_SKIP},
    {"dead_letter", FZ_ON_ERROR_DEAD_LETTER},
    {NULL, 0},
};
static const fz_conf_word on_log_change_words[] = {
    {"suspend", FZ_ON_LOG_CHANGE_SUSPEND},
    {"restart_from_earliest", FZ_ON_LOG_CHANGE_RESTART_FROM_EARLIEST},
    {NULL, 0},
};
static const fz_conf_word on_rollback_words[] = {
    {"reread", FZ_ON_ROLLBACK_REREAD}, {"suspend", FZ_ON_ROLLBACK_SUSPEND}, {NULL, 0}};
static const fz_conf_word write_mode_words[] = {
    {"append", FZ_WRITE_MODE_APPEND},
    {"upsert", FZ_WRITE_MODE_UPSERT},
    {"debezium", FZ_WRITE_MODE_DEBEZIUM},
    {NULL, 0},
};

static const fz_conf_option entry_options[] = {
    O(fz_config_entry, "topic", topic, fz_str, FZ_CONF_TEXT, NULL, "one topic",
      .flags = FZ_CONF_UNPRINTED, .check = fz_conf_topic_check),
    O(fz_config_entry, "topics", topics, fz_config_texts, FZ_CONF_TEXTS, NULL, "a list of topics",
      .flags = FZ_CONF_COMMAS, .check = fz_conf_topic_check),
    O(fz_config_entry, "topic_pattern", topic_pattern, fz_str, FZ_CONF_TEXT, NULL,
      "a regular expression; new topics join by themselves", .flags = FZ_CONF_PLACE,
      .check = fz_conf_pattern_check),
    O(fz_config_entry, "enabled", enabled, bool, FZ_CONF_BOOL, "true", "false: left alone"),
    O(fz_config_entry, "table_format", table_format, unsigned, FZ_CONF_ENUM_SET, "ICEBERG",
      "ICEBERG, DELTA, or a list of both", .words = format_words),
    O(fz_config_entry, "format_version", format_version, int64_t, FZ_CONF_INT, "2",
      "Iceberg's, 2 or 3; raised on change, never lowered", .min = 2, .max = 3),
    O(fz_config_entry, "storage", storage, fz_config_storage, FZ_CONF_BLOCK, NULL, "where files go",
      .table = &storage_table),
    O(fz_config_entry, "catalog", catalog, fz_config_catalogs, FZ_CONF_BLOCKS, "{}",
      "where the table is known, a mapping or a list of them", .table = &catalog_table,
      .shown = "SQL"),
    O(fz_config_entry, "partitioning", partitioning, fz_config_terms, FZ_CONF_CUSTOM, "[]",
      "day(event_time), bucket(16, id), truncate(8, x), x; Spark's days() too; nested as "
      "_kafka.timestamp",
      .custom = &fz_conf_partitioning),
    O(fz_config_entry, "sort_order", sort_order, fz_config_sorts, FZ_CONF_CUSTOM, "[]",
      "event_time desc nulls last, zorder(a, b); applied in each file and by compaction",
      .custom = &fz_conf_sort_order),
    O(fz_config_entry, "schema_registry", own_registry, fz_config_registry, FZ_CONF_BLOCK, NULL,
      "a registry of the entry's own, in place of the top-level one",
      .table = &fz_conf_registry_table, .shown = "the top-level one"),
    O(fz_config_entry, "value", value, fz_config_side, FZ_CONF_BLOCK, NULL, "how values are read",
      .table = &fz_conf_value_table),
    O(fz_config_entry, "key", key, fz_config_side, FZ_CONF_BLOCK, NULL, "how keys are read",
      .table = &fz_conf_key_table),
    O(fz_config_entry, "metadata", metadata, fz_config_metadata, FZ_CONF_CUSTOM,
      "[partition, offset, timestamp]",
      "fields of the _kafka struct: topic, partition, offset, timestamp, timestamp_type, "
      "leader_epoch, schema_id, key, headers; false for none; a mapping changes the default "
      "selection and promotes: {offset: kafka_offset}",
      .custom = &fz_conf_metadata),
    O(fz_config_entry, "types", types, fz_config_types, FZ_CONF_BLOCK, NULL,
      "choices of the type map", .table = &types_table),
    O(fz_config_entry, "tombstones", tombstones, unsigned, FZ_CONF_ENUM, "skip",
      "records without a value: skip, or row (all value columns null; only if all are optional)",
      .words = tombstones_words),
    O(fz_config_entry, "evolution", evolution, fz_config_evolution, FZ_CONF_BLOCK, NULL,
      "what happens when the subject gets a new schema", .table = &evolution_table),
    O(fz_config_entry, "on_error", on_error, unsigned, FZ_CONF_ENUM, "suspend",
      "records that cannot become a row: suspend, skip or dead_letter", .words = on_error_words),
    O(fz_config_entry, "dead_letter", dead_letter, fz_config_dead_letter, FZ_CONF_BLOCK, NULL,
      "where they go under dead_letter", .table = &dead_letter_table),
    O(fz_config_entry, "on_log_change", on_log_change, unsigned, FZ_CONF_ENUM, "suspend",
      "the topic is not the one the table was made from: suspend or restart_from_earliest",
      .words = on_log_change_words),
    O(fz_config_entry, "on_rollback", on_rollback, unsigned, FZ_CONF_ENUM, "reread",
      "somebody rolled the table back: reread from there, or suspend", .words = on_rollback_words),
    O(fz_config_entry, "start", start, fz_config_start, FZ_CONF_CUSTOM, "earliest",
      "where a new table begins: earliest, latest, an ISO timestamp, or a mapping of partitions to "
      "offsets",
      .custom = &fz_conf_start),
    O(fz_config_entry, "write_mode", write_mode, unsigned, FZ_CONF_ENUM, "append",
      "append, upsert (key = row) or debezium (change events)", .words = write_mode_words),
    O(fz_config_entry, "commit_interval", commit_interval_ms, int64_t, FZ_CONF_DURATION, "60s",
      "time between commits, at least 250ms; commit_size may come first", .min = 250,
      .max = INT64_C(86400000)),
    O(fz_config_entry, "commit_size", commit_size, int64_t, FZ_CONF_SIZE, "512MiB",
      "bytes of files that make a commit", .min = 1, .max = INT64_C(1) << 46),
    O(fz_config_entry, "target_file_size", files.target_file_size, int64_t, FZ_CONF_SIZE, "auto",
      "writers roll here, compaction aims here; auto: the table's write.target-file-size-bytes, "
      "else 512MiB",
      .min = 1, .max = INT64_C(1) << 46, .zero_word = "auto"),
    O(fz_config_entry, "row_group_size", files.row_group_size, int64_t, FZ_CONF_SIZE, "auto",
      "size of a Parquet row group; auto: the table's write.parquet.row-group-size-bytes, else "
      "16MiB",
      .min = 1, .max = INT64_C(1) << 31, .zero_word = "auto"),
    O(fz_config_entry, "compression", files.compression, fz_config_compression, FZ_CONF_CUSTOM,
      "auto",
      "zstd(level), gzip(level), brotli(level), snappy, lz4 or none; auto: the table's "
      "write.parquet.compression-codec and -level, else zstd(1)",
      .custom = &fz_conf_compression),
    O(fz_config_entry, "parquet", files.parquet, fz_config_parquet, FZ_CONF_BLOCK, NULL,
      "further choices in Parquet files", .table = &fz_conf_parquet_table),
    O(fz_config_entry, "properties", properties, fz_config_pairs, FZ_CONF_PAIRS, NULL,
      "properties of the Iceberg or Delta table; set on change, never removed", .shown = "{}",
      .check_pair = fz_conf_table_property_check),
    O(fz_config_entry, "maintenance", maintenance, fz_config_maintenance, FZ_CONF_BLOCK, NULL,
      "compaction and clean-up", .table = &fz_conf_maintenance_table),
};

const fz_conf_table fz_conf_entry_table =
    FZ_CONF_TABLE(fz_config_entry, "tableflow", entry_options,
                  "One entry, or a list of entries: each makes a topic be a table. `topic`, "
                  "`topics` or `topic_pattern` must be there.");
