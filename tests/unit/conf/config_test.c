// SPDX-License-Identifier: Apache-2.0
// Configurations: golden good and bad files, typed values, overrides, secrets, the generated
// documents.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "conf/config.h"
#include "conf/option.h"

#define FOLDER FZ_TEST_DATA "/unit/conf/"

static const char *find_env(const char *name, void *context) {
    const char *const *pairs = context;
    for (; pairs && *pairs; pairs += 2) {
        if (strcmp(*pairs, name) == 0) {
            return pairs[1];
        }
    }
    return NULL;
}

static const char *const variables[] = {"SET", "value", "EMPTY", "", NULL};

static fz_config_source source_of(fz_str text) {
    return (fz_config_source){.text = text,
                              .name = "frazil.yaml",
                              .folder = "/conf",
                              .find_env = find_env,
                              .context = (void *)variables};
}

/** Load, and print what came of it: the configuration or the faults. */
static fz_code load_print(fz_str text, fz_buf *out) {
    fz_config_source source = source_of(text);
    fz_config config;
    fz_config_faults faults = {0};
    fz_err err = {0};
    fz_code code = fz_config_load(&source, &config, &faults, &err);
    if (code == FZ_OK) {
        assert_int_equal(faults.count, 0);
        fz_config_print(&config, out);
        fz_config_deinit(&config);
    } else {
        assert_int_equal(err.code, FZ_INVALID);
        assert_true(faults.count > 0);
        fz_config_faults_format(&faults, out);
    }
    fz_config_faults_deinit(&faults);
    return code;
}

static void file_get(const char *path, fz_buf *out) {
    fz_err err = {0};
    if (fz_file_read(path, out, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

/** Compare with the golden file, or rewrite it with FZ_UPDATE=1. */
static void golden_check(const char *path, fz_str found) {
    if (getenv("FZ_UPDATE")) {
        assert_int_equal(fz_file_replace(path, found, NULL), FZ_OK);
        return;
    }
    fz_buf wanted = {0};
    file_get(path, &wanted);
    if (!fz_str_equal(fz_buf_view(&wanted), found)) {
        fail_msg("%s\n--- wanted\n%s--- found\n%.*s", path, fz_buf_cstr(&wanted),
                 FZ_STR_ARGS(found));
    }
    fz_buf_deinit(&wanted);
}

static void golden_run(const char *kind, const char *name, fz_code wanted) {
    char *path = fz_str_printf(FOLDER "%s/%s.yaml", kind, name);
    char *golden = fz_str_printf(FOLDER "%s/%s.out", kind, name);
    fz_buf text = {0};
    fz_buf out = {0};
    file_get(path, &text);
    fz_code code = load_print(fz_buf_view(&text), &out);
    if (code != wanted) {
        fail_msg("%s: %s\n%s", name, fz_code_name(code), fz_buf_cstr(&out));
    }
    golden_check(golden, fz_buf_view(&out));
    if (code == FZ_OK) { // what is printed loads again and prints the same
        fz_buf again = {0};
        assert_int_equal(load_print(fz_buf_view(&out), &again), FZ_OK);
        assert_string_equal(fz_buf_cstr(&again), fz_buf_cstr(&out));
        assert_null(strstr(fz_buf_cstr(&out), "hunter2"));
        fz_buf_deinit(&again);
    }
    fz_buf_deinit(&text);
    fz_buf_deinit(&out);
    fz_free(path);
    fz_free(golden);
}

static void good_files(void **state) {
    (void)state;
    static const char *const names[] = {"design",    "empty",     "every_key",
                                        "shorthand", "documents", "variables"};
    for (size_t i = 0; i < FZ_COUNT(names); i++) {
        golden_run("good", names[i], FZ_OK);
    }
}

static void bad_files(void **state) {
    (void)state;
    static const char *const names[] = {
        "anchor_inside_itself",
        "anchors",
        "bad_value",
        "columns",
        "contradictions",
        "defaults",
        "duplicate_key",
        "missing_secret_file",
        "nested_too_deep",
        "not_a_mapping",
        "odd_keys",
        "owned_property",
        "partitioning",
        "start",
        "syntax",
        "too_many_aliases",
        "topics",
        "unknown_key",
        "unknown_tag",
        "variables",
        "wrong_type",
    };
    for (size_t i = 0; i < FZ_COUNT(names); i++) {
        golden_run("bad", names[i], FZ_INVALID);
    }
}

static void load_ok(fz_config_source source, fz_config *config) {
    fz_err err = {0};
    if (fz_config_load(&source, config, NULL, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

#define ASSERT_STR(found, wanted)                                                                  \
    do {                                                                                           \
        assert_int_equal((found).size, strlen(wanted));                                            \
        assert_memory_equal((found).data, wanted, strlen(wanted));                                 \
    } while (0)

/** The example of the README: what people write is what they get. */
static void typed_values(void **state) {
    (void)state;
    fz_buf text = {0};
    file_get(FOLDER "good/design.yaml", &text);
    fz_config config;
    load_ok(source_of(fz_buf_view(&text)), &config);
    assert_int_equal(config.entry_count, 1);
    const fz_config_entry *entry = &config.entries[0];
    assert_int_equal(entry->topics.count, 1);
    ASSERT_STR(entry->topics.items[0], "orders");
    assert_int_equal(entry->table_format, FZ_TABLE_ICEBERG);
    ASSERT_STR(entry->storage.bucket, "s3://lake/orders");
    assert_true(entry->storage.bucket_in_entry);
    assert_int_equal(entry->storage.provider, FZ_PROVIDER_S3);
    assert_int_equal(entry->catalog.count, 1);
    assert_int_equal(entry->catalog.items[0].type, FZ_CATALOG_GLUE);
    assert_int_equal(entry->partitioning.count, 1);
    assert_int_equal(entry->partitioning.items[0].transform.kind, FZ_TRANSFORM_DAY);
    ASSERT_STR(entry->partitioning.items[0].path.items[0], "event_time");
    assert_int_equal(entry->commit_interval_ms, 60000);
    assert_int_equal(entry->commit_size, INT64_C(512) << 20);
    assert_int_equal(entry->files.compression.codec, FZ_CODEC_ZSTD);
    assert_int_equal(entry->files.compression.level, 1);
    assert_int_equal(entry->metadata.count, 3);
    assert_int_equal(entry->metadata.items[1].field, FZ_METADATA_OFFSET);
    assert_int_equal(entry->value.format, FZ_CONFIG_FORMAT_AUTO);
    assert_int_equal(entry->key.mode, FZ_KEY_MODE_NONE);
    assert_int_equal(entry->evolution.drop, FZ_POLICY_KEEP);
    assert_true(entry->dead_letter.to_table);
    assert_true(entry->maintenance.expire_snapshots.enabled);
    assert_int_equal(entry->maintenance.expire_snapshots.max_age_ms, INT64_C(7) * 86400000);
    assert_false(entry->maintenance.row_ttl.enabled);
    ASSERT_STR(entry->where, "frazil.yaml:2");
    assert_int_equal(config.memory_limit, 256 << 20);
    assert_int_equal(config.threads, 0);
    assert_int_equal(config.shutdown_timeout_ms, 30000);
    assert_int_equal(config.server.port, 8090);
    ASSERT_STR(config.server.host, "127.0.0.1");
    fz_config_deinit(&config);
    fz_buf_deinit(&text);
}

static void typed_values_of_every_key(void **state) {
    (void)state;
    fz_buf text = {0};
    file_get(FOLDER "good/every_key.yaml", &text);
    fz_config config;
    load_ok(source_of(fz_buf_view(&text)), &config);
    const fz_config_entry *entry = &config.entries[0];
    ASSERT_STR(config.kafka.bootstrap_servers, "b1:9092,b2:9092");
    ASSERT_STR(fz_config_pairs_find(&config.kafka.properties, "sasl.password"), "hunter2");
    ASSERT_STR(fz_config_pairs_find(&config.kafka.properties, "client.id"), "a value ${SET}");
    ASSERT_STR(config.schema_registry.tls.cert, "/conf/tls/cert.pem");
    ASSERT_STR(config.schema_registry.tls.key, "/key.pem");
    ASSERT_STR(config.server.host, "::");
    assert_int_equal(config.memory_limit, 512000000);
    assert_int_equal(entry->table_format, FZ_TABLE_ICEBERG | FZ_TABLE_DELTA);
    ASSERT_STR(entry->storage.bucket, "s3://my-bucket/root");
    ASSERT_STR(entry->catalog.items[0].uri, "postgresql://u:hunter2@db/ice?sslpassword=hunter2");
    ASSERT_STR(entry->catalog.items[0].warehouse, "s3://wh/x");
    assert_int_equal(entry->catalog.items[1].type, FZ_CATALOG_POLARIS);
    ASSERT_STR(entry->catalog.items[1].warehouse, "prod");
    ASSERT_STR(entry->schema_registry->url.items[0], "http://own:8081");
    assert_int_equal(entry->schema_registry->username.size, 0);
    const fz_config_term *term = &entry->partitioning.items[5];
    assert_int_equal(term->transform.kind, FZ_TRANSFORM_TRUNCATE);
    assert_int_equal(term->transform.parameter, 4);
    assert_int_equal(term->path.count, 2);
    ASSERT_STR(term->path.items[1], "odd name");
    assert_true(entry->sort_order.items[0].descending && entry->sort_order.items[0].nulls_last);
    assert_false(entry->sort_order.items[1].descending || entry->sort_order.items[1].nulls_last);
    assert_true(entry->sort_order.items[2].zorder);
    assert_int_equal(entry->sort_order.items[2].terms.count, 2);
    const fz_type *odd = &entry->value.columns.items[2].type;
    assert_int_equal(odd->kind, FZ_TYPE_STRUCT);
    assert_int_equal(odd->field_count, 2);
    assert_true(odd->fields[0].required);
    ASSERT_STR(odd->fields[1].name, "odd name");
    assert_int_equal(odd->fields[1].type.kind, FZ_TYPE_LIST);
    assert_true(odd->fields[1].type.fields[0].required);
    const fz_type *map = &entry->value.columns.items[3].type;
    assert_true(map->fields[0].required);
    assert_int_equal(map->fields[1].type.fields[1].type.length, 4);
    assert_int_equal(entry->metadata.count, 4);
    assert_int_equal(entry->metadata.items[0].field, FZ_METADATA_OFFSET);
    ASSERT_STR(entry->metadata.items[0].column, "kafka_offset");
    assert_int_equal(entry->metadata.items[3].field, FZ_METADATA_PARTITION);
    assert_int_equal(entry->start.kind, FZ_START_OFFSETS);
    assert_int_equal(entry->start.offsets[0].partition, 0);
    assert_int_equal(entry->start.offsets[0].offset, 10);
    assert_int_equal(entry->commit_interval_ms, 250);
    ASSERT_STR(fz_config_pairs_find(&entry->properties, "a"), "1");
    ASSERT_STR(fz_config_pairs_find(&entry->properties, "b"), "3");
    assert_true(entry->maintenance.row_ttl.enabled);
    fz_config_deinit(&config);
    fz_buf_deinit(&text);
}

/** Every option's name is in every_key.yaml, the default file and the documentation. */
static void names_check(const fz_conf_table *table, const char *const texts[3], int depth) {
    assert_true(depth < 8);
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        char name[80];
        snprintf(name, sizeof(name), "%s:", option->name);
        bool alternative =
            !strcmp(option->name, "topic") || !strcmp(option->name, "topic_pattern") ||
            !strcmp(option->name, "bearer_token") || !strcmp(option->name, "token_url") ||
            !strcmp(option->name, "schema_file");
        if (!alternative && !strstr(texts[0], name)) {
            fail_msg("%s is not in every_key.yaml", option->name);
        }
        bool item = !strcmp(table->title, "columns");
        if (!item && !strstr(texts[1], name)) {
            fail_msg("%s is not in the default file", option->name);
        }
        snprintf(name, sizeof(name), "%s` |", option->name);
        if (!strstr(texts[2], name)) {
            fail_msg("%s is not in the documentation", option->name);
        }
        assert_true(option->doc && option->doc[0]);
        if (option->table) {
            names_check(option->table, texts, depth + 1);
        }
    }
}

static void every_key_is_documented(void **state) {
    (void)state;
    fz_buf keys = {0};
    fz_buf file = {0};
    fz_buf page = {0};
    file_get(FOLDER "good/every_key.yaml", &keys);
    fz_config_document_default(&file);
    fz_config_document_markdown(&page);
    const char *const texts[3] = {fz_buf_cstr(&keys), fz_buf_cstr(&file), fz_buf_cstr(&page)};
    names_check(&fz_conf_top_table, texts, 0);
    golden_check(FZ_TEST_DATA "/../docs/configuration.md", fz_buf_view(&page));
    fz_buf_deinit(&keys);
    fz_buf_deinit(&file);
    fz_buf_deinit(&page);
}

/** The documented default file means the same as no file. */
static void default_file_loads(void **state) {
    (void)state;
    fz_buf file = {0};
    fz_config_document_default(&file);
    const fz_config_override topic = {"tableflow.topics", FZ_STR("a"), "--topic"};
    fz_buf printed[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        fz_config_source source = source_of(i ? fz_buf_view(&file) : FZ_STR(""));
        source.overrides = &topic;
        source.override_count = 1;
        fz_config config;
        load_ok(source, &config);
        fz_config_print(&config, &printed[i]);
        fz_config_deinit(&config);
    }
    assert_string_equal(fz_buf_cstr(&printed[0]), fz_buf_cstr(&printed[1]));
    fz_buf_deinit(&file);
    fz_buf_deinit(&printed[0]);
    fz_buf_deinit(&printed[1]);
}

/** File, then environment, then flag. */
static void overrides_win(void **state) {
    (void)state;
    static const char *const env[] = {"FRAZIL_BOOTSTRAP_SERVERS", "env:1",
                                      "FRAZIL_SCHEMA_REGISTRY_URL", "http://env", NULL};
    const fz_config_override overrides[] = {
        {"schema_registry.url", FZ_STR("http://x,http://y"), "--schema-registry"},
        {"tableflow.topic", FZ_STR("flag"), "--topic"},
        {"tableflow.catalog.warehouse", FZ_STR("wh"), "--warehouse"},
        {"tableflow.catalog.database", FZ_STR("db"), "--set"},
        {"kafka.properties.client.id", FZ_STR("me"), "--set"},
        {"log", FZ_STR("json"), "--set"},
        {"defaults.commit_interval", FZ_STR("2s"), "--set"},
    };
    fz_config_source source = source_of(FZ_STR(
        "kafka: { bootstrap_servers: file }\nschema_registry: { url: 'http://file', context: c }\n"
        "tableflow: { topics: [ a, b ], catalog: [ { type: SQL }, { type: DIRECTORY } ] }\n"));
    source.context = (void *)env;
    source.overrides = overrides;
    source.override_count = FZ_COUNT(overrides);
    fz_config config;
    load_ok(source, &config);
    ASSERT_STR(config.kafka.bootstrap_servers, "env:1");
    assert_int_equal(config.schema_registry.url.count, 2);
    ASSERT_STR(config.schema_registry.url.items[1], "http://y");
    ASSERT_STR(config.schema_registry.context, "c");
    assert_int_equal(config.entries[0].topics.count, 1);
    ASSERT_STR(config.entries[0].topics.items[0], "flag");
    ASSERT_STR(config.entries[0].catalog.items[0].warehouse, "file:///conf/wh");
    ASSERT_STR(config.entries[0].catalog.items[0].uri, "sqlite:////conf/wh/catalog.db");
    ASSERT_STR(config.entries[0].catalog.items[0].database, "db");
    ASSERT_STR(config.entries[0].catalog.items[1].database, "default");
    assert_int_equal(config.entries[0].commit_interval_ms, 2000);
    assert_int_equal(config.log.format, FZ_LOG_JSON);
    fz_config_deinit(&config);
    source.no_env = true;
    source.overrides = NULL;
    source.override_count = 0;
    load_ok(source, &config);
    ASSERT_STR(config.kafka.bootstrap_servers, "file");
    fz_config_deinit(&config);
}

static void override_faults(void **state) {
    (void)state;
    const fz_config_override overrides[] = {
        {"kafka.group", FZ_STR("x"), "--set"},
        {"tableflow.topic", FZ_STR("x"), "--topic"},
        {"threads", FZ_STR("many"), "--threads"},
    };
    fz_config_source source = source_of(FZ_STR("tableflow: [ { topic: a }, { topic: b } ]"));
    source.overrides = overrides;
    source.override_count = FZ_COUNT(overrides);
    fz_config config = {0};
    fz_config_faults faults = {0};
    assert_int_equal(fz_config_load(&source, &config, &faults, NULL), FZ_INVALID);
    assert_int_equal(faults.count, 3);
    ASSERT_STR(faults.items[0].message,
               "--set: kafka.group: unknown key \"group\", did you mean \"group_id\"?");
    ASSERT_STR(faults.items[1].message, "--topic: tableflow.topic: cannot be given from outside "
                                        "when there are several entries");
    ASSERT_STR(faults.items[2].message, "--threads: threads: \"many\" is not a whole number");
    assert_int_equal(config.entry_count, 0);
    fz_config_faults_deinit(&faults);
}

/** Flags name keys that exist. */
static void flags_name_keys(void **state) {
    (void)state;
    size_t count;
    const fz_config_flag *flags = fz_config_flags(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = strstr(flags[i].key, "level")      ? "info"
                            : strstr(flags[i].key, "format")   ? "json"
                            : strstr(flags[i].key, "threads")  ? "2"
                            : strstr(flags[i].key, "limit")    ? "1GiB"
                            : strstr(flags[i].key, "url")      ? "http://x"
                            : strstr(flags[i].key, "interval") ? "1s"
                            : strstr(flags[i].key, "start")    ? "latest"
                            : strstr(flags[i].key, "listen")   ? "off"
                                                               : "x";
        value = strstr(flags[i].key, "table_format") ? "DELTA" : value;
        const fz_config_override overrides[] = {
            {"tableflow.topic", FZ_STR("t"), "--topic"},
            {flags[i].key, fz_str_from(value), flags[i].flag},
        };
        fz_config_source source = source_of(FZ_STR(""));
        source.overrides = overrides;
        source.override_count = 2;
        fz_config config;
        load_ok(source, &config);
        fz_config_deinit(&config);
    }
}

/** Files: relative paths count from each file's own folder, secrets are read, later files win. */
static void files_and_secrets(void **state) {
    (void)state;
    char folder[] = "/tmp/fz_conf_XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *main_path = fz_str_printf("%s/frazil.yaml", folder);
    char *more_path = fz_str_printf("%s/conf.d/more.yaml", folder);
    char *secret_path = fz_str_printf("%s/secret.txt", folder);
    char *schema_path = fz_str_printf("%s/conf.d/a.avsc", folder);
    assert_int_equal(fz_file_replace(secret_path, FZ_STR("hunter2\n"), NULL), FZ_OK);
    assert_int_equal(fz_file_replace(schema_path, FZ_STR("\"string\"\n"), NULL), FZ_OK);
    assert_int_equal(
        fz_file_replace(main_path,
                        FZ_STR("schema_registry: { url: 'http://a', username: u, password: { file: "
                               "secret.txt } }\nserver: { auth: { file: ./secret.txt } }\n"),
                        NULL),
        FZ_OK);
    assert_int_equal(
        fz_file_replace(more_path,
                        FZ_STR("tableflow: { topic: a, storage: data, value: { format: avro, "
                               "schema_file: a.avsc } }\n"),
                        NULL),
        FZ_OK);
    const char *const paths[] = {main_path, more_path};
    fz_config_source source = source_of(FZ_STR(""));
    source.paths = paths;
    source.path_count = 2;
    fz_config config;
    load_ok(source, &config);
    ASSERT_STR(config.schema_registry.password, "hunter2");
    ASSERT_STR(config.server.auth.token, "hunter2");
    ASSERT_STR(config.entries[0].value.schema, "\"string\"\n");
    ASSERT_STR(config.path, main_path);
    char *wanted = fz_str_printf("file://%s/conf.d/data", folder);
    ASSERT_STR(config.entries[0].storage.bucket, wanted);
    fz_free(wanted);
    wanted = fz_str_printf("file://%s/warehouse", folder);
    ASSERT_STR(config.entries[0].catalog.items[0].warehouse, wanted);
    fz_free(wanted);
    fz_buf out = {0};
    fz_config_print(&config, &out);
    assert_null(strstr(fz_buf_cstr(&out), "hunter2"));
    fz_buf_deinit(&out);
    fz_config_deinit(&config);
    const char *const absent[] = {"/nowhere/frazil.yaml"};
    source.paths = absent;
    source.path_count = 1;
    fz_config_faults faults = {0};
    assert_int_equal(fz_config_load(&source, &config, &faults, NULL), FZ_INVALID);
    assert_int_equal(faults.count, 1);
    fz_config_faults_deinit(&faults);
    const char *const all[] = {main_path, more_path, secret_path, schema_path};
    for (size_t i = 0; i < FZ_COUNT(all); i++) {
        (void)remove(all[i]);
    }
    char *below = fz_str_printf("%s/conf.d", folder);
    (void)remove(below);
    (void)remove(folder);
    fz_free(below);
    fz_free(main_path);
    fz_free(more_path);
    fz_free(secret_path);
    fz_free(schema_path);
}

/** Many faults are cut, and the list says so. */
static void faults_are_bounded(void **state) {
    (void)state;
    fz_buf text = {0};
    for (int i = 0; i < 500; i++) {
        fz_buf_printf(&text, "x%d: 1\n", i);
    }
    fz_config_source source = source_of(fz_buf_view(&text));
    fz_config config;
    fz_config_faults faults = {0};
    assert_int_equal(fz_config_load(&source, &config, &faults, NULL), FZ_INVALID);
    assert_int_equal(faults.count, 100);
    assert_true(faults.cut);
    fz_config_faults_deinit(&faults);
    fz_buf_deinit(&text);
}

/** `defaults` below thousands of entries stay within the work limit, and time. */
static void work_is_bounded(void **state) {
    (void)state;
    fz_buf text = {0};
    fz_buf_printf(&text, "defaults: { properties: {");
    for (int i = 0; i < 5000; i++) {
        fz_buf_printf(&text, "p%d: x, ", i);
    }
    fz_buf_printf(&text, "} }\ntableflow:\n");
    for (int i = 0; i < 5000; i++) {
        fz_buf_printf(&text, "- { topic: t%d }\n", i);
    }
    fz_config_source source = source_of(fz_buf_view(&text));
    fz_config config;
    fz_err err = {0};
    assert_int_equal(fz_config_load(&source, &config, NULL, &err), FZ_INVALID);
    assert_non_null(strstr(err.text, "values over all entries"));
    fz_buf_deinit(&text);
}

static void owned_properties(void **state) {
    (void)state;
    assert_non_null(fz_config_kafka_property_owned(FZ_STR("group.id")));
    assert_non_null(fz_config_kafka_property_owned(FZ_STR("queued.max.messages.kbytes")));
    assert_null(fz_config_kafka_property_owned(FZ_STR("sasl.mechanism")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(typed_values),
        cmocka_unit_test(typed_values_of_every_key),
        cmocka_unit_test(every_key_is_documented),
        cmocka_unit_test(default_file_loads),
        cmocka_unit_test(overrides_win),
        cmocka_unit_test(override_faults),
        cmocka_unit_test(flags_name_keys),
        cmocka_unit_test(files_and_secrets),
        cmocka_unit_test(faults_are_bounded),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(owned_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
