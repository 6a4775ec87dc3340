// SPDX-License-Identifier: Apache-2.0
// The option table: record formats (value, key) and maintenance of an entry.
#include "conf/option_entry.h"

#include "conf/custom.h"

#define O FZ_CONF_OPTION

static const fz_conf_option column_options[] = {
    O(fz_config_column, "name", name, fz_str, FZ_CONF_TEXT, NULL, "column name",
      .flags = FZ_CONF_REQUIRED | FZ_CONF_PLACE),
    O(fz_config_column, "type", type_text, fz_str, FZ_CONF_CUSTOM, NULL,
      "Iceberg type, nested as list<string>, map<string, long>, "
      "struct<a: int not null, \"odd name\": list<double not null>>",
      .flags = FZ_CONF_REQUIRED, .custom = &fz_conf_column_type),
    O(fz_config_column, "required", required, bool, FZ_CONF_BOOL, "false",
      "null or absent is a record error"),
};

static const fz_conf_table column_table =
    FZ_CONF_TABLE(fz_config_column, "columns", column_options, "One item a column.");

#define FORMATS                                                                                    \
    {"auto", FZ_CONFIG_FORMAT_AUTO}, {"avro", FZ_CONFIG_FORMAT_AVRO},                              \
        {"protobuf", FZ_CONFIG_FORMAT_PROTOBUF}, {"json_schema", FZ_CONFIG_FORMAT_JSON_SCHEMA},    \
        {"json", FZ_CONFIG_FORMAT_JSON}, {"connect_json", FZ_CONFIG_FORMAT_CONNECT_JSON},          \
        {"string", FZ_CONFIG_FORMAT_STRING}, {"bytes", FZ_CONFIG_FORMAT_BYTES}, {                  \
        NULL, 0                                                                                    \
    }

static const fz_conf_word value_format_words[] = {FORMATS};
static const fz_conf_word key_format_words[] = {
    {"none", FZ_CONFIG_FORMAT_NONE}, {"off", FZ_CONFIG_FORMAT_NONE}, FORMATS};
static const fz_conf_word framing_words[] = {
    {"confluent", FZ_FRAMING_CONFLUENT},
    {"none", FZ_FRAMING_NONE},
    {"off", FZ_FRAMING_NONE},
    {"glue", FZ_FRAMING_GLUE},
    {NULL, 0},
};
static const fz_conf_word strategy_words[] = {
    {"topic_name", FZ_STRATEGY_TOPIC_NAME},
    {"TopicName", FZ_STRATEGY_TOPIC_NAME},
    {"TopicNameStrategy", FZ_STRATEGY_TOPIC_NAME},
    {"record_name", FZ_STRATEGY_RECORD_NAME},
    {"RecordName", FZ_STRATEGY_RECORD_NAME},
    {"RecordNameStrategy", FZ_STRATEGY_RECORD_NAME},
    {"topic_record_name", FZ_STRATEGY_TOPIC_RECORD_NAME},
    {"TopicRecordName", FZ_STRATEGY_TOPIC_RECORD_NAME},
    {"TopicRecordNameStrategy", FZ_STRATEGY_TOPIC_RECORD_NAME},
    {NULL, 0},
};
static const fz_conf_word key_mode_words[] = {
    {"auto", FZ_CONF_KEY_MODE_AUTO},
    {"none", FZ_KEY_MODE_NONE},
    {"off", FZ_KEY_MODE_NONE},
    {"columns", FZ_KEY_MODE_COLUMNS},
    {"struct", FZ_KEY_MODE_STRUCT},
    {"bytes", FZ_KEY_MODE_BYTES},
    {NULL, 0},
};

/** What value and key have in common, behind `format`. */
#define SIDE_OPTIONS                                                                               \
    O(fz_config_side, "framing", framing, unsigned, FZ_CONF_ENUM, "confluent",                     \
      "what stands before the payload: confluent (id in a prefix or a header), none or glue",      \
      .words = framing_words),                                                                     \
        O(fz_config_side, "subject_name_strategy", subject_name_strategy, unsigned, FZ_CONF_ENUM,  \
          "topic_name",                                                                            \
          "topic_name, record_name or topic_record_name; the latter two without `subject`: the "   \
          "first record names the schema",                                                         \
          .words = strategy_words),                                                                \
        O(fz_config_side, "schema", schema, fz_str, FZ_CONF_TEXT, NULL,                            \
          "a schema without a registry, as text", .flags = FZ_CONF_PLACE),                         \
        O(fz_config_side, "schema_file", schema_file, fz_str, FZ_CONF_PATH, NULL,                  \
          "a schema without a registry, in a file"),                                               \
        O(fz_config_side, "message", message, fz_str, FZ_CONF_TEXT, NULL,                          \
          "full name of the Protobuf message that is a row", .shown = "the subject's first"),      \
        O(fz_config_side, "columns", columns, fz_config_columns, FZ_CONF_BLOCKS, "[]",             \
          "for json: list of {name, type, required}; without columns and without infer, one "      \
          "column with the JSON text",                                                             \
          .table = &column_table),                                                                 \
        O(fz_config_side, "infer", infer, int64_t, FZ_CONF_INT, "off",                             \
          "for json: number of records to infer the columns from", .min = 1, .max = 10000000,      \
          .zero_word = "off")

static const fz_conf_option value_options[] = {
    O(fz_config_side, "format", format, unsigned, FZ_CONF_ENUM, "auto",
      "auto (by the registry's type), avro, protobuf, json_schema, json (no schema), connect_json "
      "(schema + payload), string, bytes",
      .words = value_format_words),
    O(fz_config_side, "subject", subject, fz_str, FZ_CONF_TEXT, NULL, "subject in the registry",
      .shown = "<topic>-value"),
    SIDE_OPTIONS,
};

const fz_conf_table fz_conf_value_table =
    FZ_CONF_TABLE(fz_config_side, "value", value_options,
                  "How the values of records are read. A single word stands for its `format`.",
                  .shorthand = "format");

static const fz_conf_option key_options[] = {
    O(fz_config_side, "format", format, unsigned, FZ_CONF_ENUM, "none", "none, or as value.format",
      .words = key_format_words),
    O(fz_config_side, "mode", mode, unsigned, FZ_CONF_ENUM, "auto",
      "none, columns (before the value's), struct, bytes (one column key); auto: columns once "
      "key.format is set, else none",
      .words = key_mode_words),
    O(fz_config_side, "prefix", prefix, fz_str, FZ_CONF_TEXT, NULL,
      "put before the names of key columns"),
    O(fz_config_side, "subject", subject, fz_str, FZ_CONF_TEXT, NULL, "subject in the registry",
      .shown = "<topic>-key"),
    SIDE_OPTIONS,
};

const fz_conf_table fz_conf_key_table =
    FZ_CONF_TABLE(fz_config_side, "key", key_options,
                  "How the keys of records are read. A single word stands for its `format`.",
                  .shorthand = "format");

static const fz_conf_option parquet_options[] = {
    O(fz_config_parquet, "delta_encodings", delta_encodings, bool, FZ_CONF_BOOL, "false",
      "DELTA_BINARY_PACKED for integers and times without a dictionary; not every engine reads it "
      "fast, or at all"),
    O(fz_config_parquet, "bloom_filters", bloom_filters, fz_config_texts, FZ_CONF_TEXTS, "[]",
      "columns that get a bloom filter, as well as those of the table's "
      "write.parquet.bloom-filter-enabled.column.*",
      .flags = FZ_CONF_COMMAS),
};

const fz_conf_table fz_conf_parquet_table =
    FZ_CONF_TABLE(fz_config_parquet, "parquet", parquet_options,
                  "Further choices in Parquet files. Sizes of pages and dictionaries and the page "
                  "version go by the table's write.parquet.* properties.");

#define DAY_MS INT64_C(86400000)

#define INTERVAL(block, otherwise)                                                                 \
    O(block, "interval", interval_ms, int64_t, FZ_CONF_DURATION, otherwise, "time between rounds", \
      .min = 100, .max = 365 * DAY_MS)
#define ENABLED(block, otherwise)                                                                  \
    O(block, "enabled", enabled, bool, FZ_CONF_BOOL, otherwise, "off: not done")

static const fz_conf_option compaction_options[] = {
    ENABLED(fz_config_compaction, "true"),
    INTERVAL(fz_config_compaction, "10m"),
    O(fz_config_compaction, "min_files", min_files, int64_t, FZ_CONF_INT, "8",
      "small files of one partition that make a round worthwhile", .min = 2, .max = 100000),
    O(fz_config_compaction, "small_file_percent", small_file_percent, int64_t, FZ_CONF_INT, "75",
      "a file below this share of target_file_size is small", .min = 1, .max = 100),
};
static const fz_conf_table compaction_table =
    FZ_CONF_TABLE(fz_config_compaction, "maintenance.compaction", compaction_options,
                  "Small files into large ones.", .switch_name = "enabled");

static const fz_conf_option expire_options[] = {
    ENABLED(fz_config_expire, "true"),
    INTERVAL(fz_config_expire, "1h"),
    O(fz_config_expire, "max_age", max_age_ms, int64_t, FZ_CONF_DURATION, "7d",
      "older snapshots go", .min = 1000, .max = 36500 * DAY_MS),
    O(fz_config_expire, "max_count", max_count, int64_t, FZ_CONF_INT, "1000",
      "more snapshots are thinned, the newest are kept", .min = 1, .max = 1000000),
    O(fz_config_expire, "min_count", min_count, int64_t, FZ_CONF_INT, "1",
      "so many stay, whatever their age", .min = 1, .max = 1000000),
};
static const fz_conf_table expire_table =
    FZ_CONF_TABLE(fz_config_expire, "maintenance.expire_snapshots", expire_options,
                  "Old snapshots go. A single duration stands for `max_age`.",
                  .shorthand = "max_age", .switch_name = "enabled");

static const fz_conf_option orphans_options[] = {
    ENABLED(fz_config_orphans, "true"),
    INTERVAL(fz_config_orphans, "1d"),
    O(fz_config_orphans, "older_than", older_than_ms, int64_t, FZ_CONF_DURATION, "3d",
      "age from which they go; with less than 1d a commit under way may lose its files",
      .min = 1000, .max = 36500 * DAY_MS),
};
static const fz_conf_table orphans_table =
    FZ_CONF_TABLE(fz_config_orphans, "maintenance.remove_orphans", orphans_options,
                  "Files that no snapshot names go. A single duration stands for `older_than`.",
                  .shorthand = "older_than", .switch_name = "enabled");

static const fz_conf_option manifests_options[] = {
    ENABLED(fz_config_manifests, "true"),
    INTERVAL(fz_config_manifests, "1h"),
    O(fz_config_manifests, "min_count", min_count, int64_t, FZ_CONF_INT, "100",
      "manifests that make a round worthwhile", .min = 2, .max = 1000000),
    O(fz_config_manifests, "target_size", target_size, int64_t, FZ_CONF_SIZE, "8MiB",
      "size of a manifest", .min = 1024, .max = 1 << 30),
};
static const fz_conf_table manifests_table =
    FZ_CONF_TABLE(fz_config_manifests, "maintenance.rewrite_manifests", manifests_options,
                  "Small manifests into large ones.", .switch_name = "enabled");

static const fz_conf_option row_ttl_options[] = {
    O(fz_config_row_ttl, "max_age", max_age_ms, int64_t, FZ_CONF_DURATION, "off",
      "older rows are deleted; or off", .min = 1000, .max = 36500 * DAY_MS, .zero_word = "off"),
    O(fz_config_row_ttl, "column", column, fz_str, FZ_CONF_TEXT, "_kafka.timestamp",
      "column that tells the age of a row", .flags = FZ_CONF_PLACE),
};
static const fz_conf_table row_ttl_table = FZ_CONF_TABLE(
    fz_config_row_ttl, "maintenance.row_ttl", row_ttl_options,
    "Old rows are deleted. A single duration stands for `max_age`.", .shorthand = "max_age");

static const fz_conf_option maintenance_options[] = {
    O(fz_config_maintenance, "enabled", enabled, bool, FZ_CONF_BOOL, "true",
      "off: none of the below"),
    O(fz_config_maintenance, "compaction", compaction, fz_config_compaction, FZ_CONF_BLOCK, NULL,
      "small files into large ones", .table = &compaction_table),
    O(fz_config_maintenance, "expire_snapshots", expire_snapshots, fz_config_expire, FZ_CONF_BLOCK,
      NULL, "old snapshots go", .table = &expire_table),
    O(fz_config_maintenance, "remove_orphans", remove_orphans, fz_config_orphans, FZ_CONF_BLOCK,
      NULL, "files that no snapshot names go", .table = &orphans_table),
    O(fz_config_maintenance, "rewrite_manifests", rewrite_manifests, fz_config_manifests,
      FZ_CONF_BLOCK, NULL, "small manifests into large ones", .table = &manifests_table),
    O(fz_config_maintenance, "row_ttl", row_ttl, fz_config_row_ttl, FZ_CONF_BLOCK, NULL,
      "old rows are deleted", .table = &row_ttl_table),
};

const fz_conf_table fz_conf_maintenance_table = FZ_CONF_TABLE(
    fz_config_maintenance, "maintenance", maintenance_options,
    "Upkeep on its own schedule. `maintenance: off` for none.", .switch_name = "enabled");
