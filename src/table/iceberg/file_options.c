// SPDX-License-Identifier: Apache-2.0
// Table properties of data files, as Iceberg's Java library understands them.
#include "table/iceberg/file_options.h"

#include "base/codec/hash.h"
#include "base/memory.h"
#include "base/text/number.h"

/** Where neither the entry nor the table says anything. */
#define DEFAULT_TARGET_SIZE ((int64_t)512 << 20)
/** Sizes beyond these are cut: what the writer takes. */
#define PAGE_MAX ((int64_t)512 << 20)
#define ROW_GROUP_MAX ((int64_t)1 << 31)
/** A bloom filter of Java's default size, write.parquet.bloom-filter-max-bytes. */
#define BLOOM_MAX_DEFAULT ((int64_t)1 << 20)

static const char BLOOM_ENABLED[] = "write.parquet.bloom-filter-enabled.column.";
static const char BLOOM_FPP[] = "write.parquet.bloom-filter-fpp.column.";

void fz_iceberg_file_options_deinit(fz_iceberg_file_options *options) {
    fz_buf_deinit(&options->root);
    fz_vec_deinit(&options->bloom_ids);
}

static fz_str property(const fz_iceberg_metadata *metadata, const char *key) {
    return metadata ? fz_iceberg_metadata_property(metadata, key) : (fz_str){0};
}

static bool is_true(const fz_iceberg_metadata *metadata, const char *key, bool fallback) {
    fz_str text = property(metadata, key);
    return text.size == 0 ? fallback : fz_str_equal_nocase(text, FZ_STR("true"));
}

/** A positive number, at most `most`; else what is there. */
static void number(const fz_iceberg_metadata *metadata, const char *key, int64_t most,
                   int64_t *value) {
    int64_t given = metadata ? fz_iceberg_metadata_property_int(metadata, key, 0) : 0;
    if (given > 0) {
        *value = given < most ? given : most;
    }
}

static fz_code refuse(const char *key, fz_str value, const char *wanted, fz_err *err) {
    return fz_err_set_kind(err, FZ_INVALID, "table_incompatible",
                           "table property \"%s\" is \"%.*s\", wanted %s", key,
                           FZ_STR_ARGS(fz_str_slice(value, 0, 300)), wanted);
}

// --- how files are written

static const struct {
    const char *name;
    fz_codec codec;
    int most; // level
} codecs[] = {{"zstd", FZ_CODEC_ZSTD, 22},        {"snappy", FZ_CODEC_SNAPPY, 0},
              {"gzip", FZ_CODEC_GZIP, 9},         {"lz4", FZ_CODEC_LZ4_RAW, 0},
              {"lz4_raw", FZ_CODEC_LZ4_RAW, 0},   {"brotli", FZ_CODEC_BROTLI, 11},
              {"uncompressed", FZ_CODEC_NONE, 0}, {"none", FZ_CODEC_NONE, 0}};

static fz_code read_codec(fz_parquet_options *parquet, const fz_iceberg_metadata *metadata,
                          fz_err *err) {
    static const char key[] = "write.parquet.compression-codec";
    fz_str text = property(metadata, key);
    int64_t level = 0;
    int most = 22;
    if (text.size > 0) {
        size_t i = 0;
        while (i < FZ_COUNT(codecs) && !fz_str_equal_nocase(text, fz_str_from(codecs[i].name))) {
            i++;
        }
        if (i == FZ_COUNT(codecs)) {
            return refuse(key, text, "zstd, snappy, gzip, lz4, brotli or uncompressed", err);
        }
        most = codecs[i].most;
        parquet->level = parquet->codec == codecs[i].codec ? parquet->level : 0;
        parquet->codec = codecs[i].codec;
    }
    number(metadata, "write.parquet.compression-level", most, &level);
    parquet->level = level > 0 ? (int)level : parquet->level;
    return FZ_OK;
}

static void add_bloom(fz_iceberg_file_options *options, const fz_schema *schema, fz_str column) {
    const fz_field *field = fz_schema_find_path(schema, column);
    if (!field || fz_type_is_nested(&field->type) || field->type.kind == FZ_TYPE_BOOLEAN) {
        return;
    }
    for (size_t i = 0; i < options->bloom_ids.count; i++) {
        if (options->bloom_ids.data[i] == field->id) {
            return;
        }
    }
    fz_vec_push(&options->bloom_ids, field->id);
}

/** One rate serves all columns: the least that is asked for. */
static void read_bloom_rate(fz_iceberg_file_options *options, fz_str text) {
    double rate;
    if (fz_real_parse(text, &rate, NULL) == FZ_OK && rate > 0 && rate < 1 &&
        rate < options->parquet.bloom_fpp) {
        options->parquet.bloom_fpp = rate;
    }
}

static void read_blooms(fz_iceberg_file_options *options, const fz_config_parquet *config,
                        const fz_iceberg_metadata *metadata, const fz_schema *schema) {
    const char *key;
    json_t *value;
    for (size_t i = 0; i < config->bloom_filters.count; i++) {
        add_bloom(options, schema, config->bloom_filters.items[i]);
    }
    json_object_foreach(metadata ? json_object_get(metadata->root, "properties") : NULL, key,
                        value) {
        fz_str name = fz_str_from(key);
        if (fz_str_starts_with(name, fz_str_from(BLOOM_ENABLED)) && is_true(metadata, key, false)) {
            add_bloom(options, schema, fz_str_slice(name, sizeof BLOOM_ENABLED - 1, name.size));
        } else if (fz_str_starts_with(name, fz_str_from(BLOOM_FPP))) {
            read_bloom_rate(options, fz_json_view(value));
        }
    }
    options->parquet.bloom_max = BLOOM_MAX_DEFAULT;
    number(metadata, "write.parquet.bloom-filter-max-bytes", PAGE_MAX, &options->parquet.bloom_max);
    options->parquet.bloom_ids = options->bloom_ids.data;
    options->parquet.bloom_count = options->bloom_ids.count;
}

int64_t fz_iceberg_file_options_target(const fz_config_files *config,
                                       const fz_iceberg_metadata *metadata) {
    int64_t target = config->target_file_size;
    if (target == 0) {
        target = DEFAULT_TARGET_SIZE;
        number(metadata, "write.target-file-size-bytes", INT64_MAX, &target);
    }
    return target;
}

static fz_code read_parquet(fz_iceberg_file_options *options, const fz_config_files *config,
                            const fz_iceberg_metadata *metadata, const fz_schema *schema,
                            fz_err *err) {
    fz_parquet_options *parquet = &options->parquet;
    fz_parquet_options_init(parquet);
    if (!config->compression.by_table) {
        parquet->codec = config->compression.codec;
        parquet->level = config->compression.level;
    } else {
        FZ_TRY(read_codec(parquet, metadata, err));
    }
    if (config->row_group_size > 0) {
        parquet->row_group_size = config->row_group_size;
    } else {
        number(metadata, "write.parquet.row-group-size-bytes", ROW_GROUP_MAX,
               &parquet->row_group_size);
    }
    number(metadata, "write.parquet.page-size-bytes", PAGE_MAX, &parquet->page_size);
    number(metadata, "write.parquet.page-row-limit", PAGE_MAX, &parquet->page_rows);
    number(metadata, "write.parquet.dict-size-bytes", PAGE_MAX, &parquet->dictionary_size);
    parquet->data_page_v2 =
        fz_str_equal_nocase(property(metadata, "write.parquet.page-version"), FZ_STR("v2"));
    parquet->delta = config->parquet.delta_encodings;
    read_blooms(options, &config->parquet, metadata, schema);
    options->target_file_size = fz_iceberg_file_options_target(config, metadata);
    return FZ_OK;
}

// --- where they lie

static fz_str text_of(const json_t *properties, const char *key) {
    return fz_json_view(json_object_get(properties, key));
}

/** The first property that names a folder for data; NULL: none. */
static const char *root_key(const json_t *properties) {
    static const char *const keys[] = {"write.data.path", "write.object-storage.path",
                                       "write.folder-storage.path"};
    bool object_storage =
        fz_str_equal_nocase(text_of(properties, "write.object-storage.enabled"), FZ_STR("true"));
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        if (text_of(properties, keys[i]).size > 0 && (i != 1 || object_storage)) {
            return keys[i];
        }
    }
    return NULL;
}

/** A property's folder without '/' at its end. It must lie below the table's location: store,
 * clean-up and verification end there, and what lies beyond may be other tables'. */
static fz_code folder_below(const json_t *properties, const char *key, fz_str location, fz_str *out,
                            fz_err *err) {
    fz_str path = text_of(properties, key);
    while (fz_str_ends_with(path, FZ_STR("/"))) {
        path.size--;
    }
    if (fz_str_starts_with(path, location) && path.size > location.size + 1 &&
        path.data[location.size] == '/') {
        *out = path;
        return FZ_OK;
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf wanted = {0};
    fz_buf_printf(&wanted, "a folder below the table's location \"%.*s\"",
                  FZ_STR_ARGS(fz_str_slice(location, 0, 300)));
    return refuse(key, text_of(properties, key), fz_buf_cstr(&wanted), err);
}

fz_code fz_iceberg_file_options_places(const json_t *properties, fz_str location, fz_err *err) {
    static const char metadata_key[] = "write.metadata.path";
    const char *key = root_key(properties);
    fz_str folder;
    if (key) {
        FZ_TRY(folder_below(properties, key, location, &folder, err));
    }
    if (text_of(properties, metadata_key).size > 0) {
        FZ_TRY(folder_below(properties, metadata_key, location, &folder, err));
    }
    return FZ_OK;
}

fz_code fz_iceberg_file_options_root(const fz_iceberg_metadata *metadata, fz_buf *out,
                                     fz_err *err) {
    const json_t *properties = json_object_get(metadata->root, "properties");
    fz_str location = fz_iceberg_metadata_base(metadata);
    const char *key = root_key(properties);
    fz_str folder;
    if (key) {
        FZ_TRY(folder_below(properties, key, location, &folder, err));
        fz_buf_append_str(out, folder);
    } else {
        fz_buf_printf(out, "%.*s/data", FZ_STR_ARGS(location));
    }
    return FZ_OK;
}

fz_code fz_iceberg_file_options_read(const fz_config_files *config,
                                     const fz_iceberg_metadata *metadata, fz_str location,
                                     const fz_schema *schema, fz_iceberg_file_options *out,
                                     fz_err *err) {
    fz_iceberg_file_options options = {0};
    fz_code code = FZ_OK;
    if (metadata && fz_str_equal(location, fz_iceberg_metadata_base(metadata))) {
        options.object_storage = is_true(metadata, "write.object-storage.enabled", false);
        options.partition_folders =
            is_true(metadata, "write.object-storage.partitioned-paths", true);
        code = fz_iceberg_file_options_root(metadata, &options.root, err);
    } else {
        fz_buf_printf(&options.root, "%.*s/data", FZ_STR_ARGS(location));
    }
    if (code == FZ_OK) {
        code = read_parquet(&options, config, metadata, schema, err);
    }
    if (code != FZ_OK) {
        fz_iceberg_file_options_deinit(&options);
        return code;
    }
    *out = options;
    return FZ_OK;
}

/** Three folders of four binary digits and the other eight, from the low 20 bits of the name's
 * hash (Iceberg's ObjectStoreLocationProvider). */
static void append_hash(fz_str name, fz_buf *out) {
    uint32_t hash = fz_murmur3_32(name.data, name.size);
    for (int bit = 19; bit >= 0; bit--) {
        fz_buf_append_byte(out, (uint8_t)('0' + ((hash >> bit) & 1)));
        if (bit == 16 || bit == 12 || bit == 8) {
            fz_buf_append_byte(out, '/');
        }
    }
}

void fz_iceberg_file_options_path(const fz_iceberg_file_options *options, fz_str partition,
                                  fz_str name, fz_buf *out) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf inner = {0};
    if (partition.size > 0 && (!options->object_storage || options->partition_folders)) {
        fz_buf_append_str(&inner, partition);
        fz_buf_append_byte(&inner, '/');
    }
    fz_buf_append_str(&inner, name);
    fz_buf_append_str(out, fz_buf_view(&options->root));
    fz_buf_append_byte(out, '/');
    if (options->object_storage) {
        append_hash(fz_buf_view(&inner), out);
        fz_buf_append_byte(out, options->partition_folders ? '/' : '-');
    }
    fz_buf_append_str(out, fz_buf_view(&inner));
}
