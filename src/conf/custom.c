// SPDX-License-Identifier: Apache-2.0
// Options with a form of their own: partitioning, sort order, metadata fields, start, compression,
// column types.
#include "conf/custom.h"

#include <stdlib.h>

#include "base/text/number.h"
#include "base/text/time.h"
#include "conf/lexer.h"
#include "conf/limits.h"

static void terms_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       void *field, void *block) {
    (void)block;
    fz_config_terms *terms = field;
    fz_config_texts texts = {0};
    if (!fz_conf_texts_read(reader, path, node, false, &texts)) {
        return;
    }
    terms->items = FZ_ARENA_ARRAY(reader->arena, fz_config_term, texts.count);
    for (size_t i = 0; i < texts.count; i++) {
        fz_conf_path item = {.up = path, .index = i};
        const fz_conf_node *at = node->kind == FZ_CONF_LIST ? node->members[i].value : node;
        fz_err err = {0};
        if (fz_conf_term_parse(reader->arena, texts.items[i], &terms->items[terms->count], &err) !=
            FZ_OK) {
            fz_conf_reader_fault(reader, at, &item, "\"%.*s\": %s",
                                 FZ_STR_ARGS(fz_str_slice(texts.items[i], 0, 200)),
                                 fz_err_text(&err));
        } else {
            terms->count++;
        }
    }
}

static bool terms_print(const void *field, fz_conf_writer *writer) {
    const fz_config_terms *terms = field;
    fz_buf_printf(writer->out, "%s\n", terms->count ? "" : " []");
    for (size_t i = 0; i < terms->count; i++) {
        fz_buf text = {0};
        fz_conf_term_format(&terms->items[i], &text);
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  - ");
        fz_conf_scalar_write(writer->out, fz_buf_view(&text));
        fz_buf_append_byte(writer->out, '\n');
        fz_buf_deinit(&text);
    }
    return true;
}

static void sorts_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       void *field, void *block) {
    (void)block;
    fz_config_sorts *sorts = field;
    fz_config_texts texts = {0};
    if (!fz_conf_texts_read(reader, path, node, false, &texts)) {
        return;
    }
    sorts->items = FZ_ARENA_ARRAY(reader->arena, fz_config_sort, texts.count);
    for (size_t i = 0; i < texts.count; i++) {
        fz_conf_path item = {.up = path, .index = i};
        const fz_conf_node *at = node->kind == FZ_CONF_LIST ? node->members[i].value : node;
        fz_err err = {0};
        if (fz_conf_sort_parse(reader->arena, texts.items[i], &sorts->items[sorts->count], &err) !=
            FZ_OK) {
            fz_conf_reader_fault(reader, at, &item, "\"%.*s\": %s",
                                 FZ_STR_ARGS(fz_str_slice(texts.items[i], 0, 200)),
                                 fz_err_text(&err));
        } else {
            sorts->count++;
        }
    }
}

static bool sorts_print(const void *field, fz_conf_writer *writer) {
    const fz_config_sorts *sorts = field;
    fz_buf_printf(writer->out, "%s\n", sorts->count ? "" : " []");
    for (size_t i = 0; i < sorts->count; i++) {
        fz_buf text = {0};
        fz_conf_sort_format(&sorts->items[i], &text);
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  - ");
        fz_conf_scalar_write(writer->out, fz_buf_view(&text));
        fz_buf_append_byte(writer->out, '\n');
        fz_buf_deinit(&text);
    }
    return true;
}

static void column_type_read(fz_conf_reader *reader, const fz_conf_path *path,
                             const fz_conf_node *node, void *field, void *block) {
    fz_config_column *column = block;
    fz_str *text = field;
    fz_err err = {0};
    if (fz_conf_text_read(reader, path, node, text) &&
        fz_conf_type_parse(reader->arena, *text, &column->type, &err) != FZ_OK) {
        fz_conf_reader_fault(reader, node, path, "%s", fz_err_text(&err));
    }
}

static bool column_type_print(const void *field, fz_conf_writer *writer) {
    const fz_str *text = field;
    fz_buf_append_byte(writer->out, ' ');
    fz_conf_scalar_write(writer->out, *text);
    fz_buf_append_byte(writer->out, '\n');
    return true;
}

static const fz_conf_word metadata_words[] = {
    {"topic", FZ_METADATA_TOPIC},
    {"partition", FZ_METADATA_PARTITION},
    {"offset", FZ_METADATA_OFFSET},
    {"timestamp", FZ_METADATA_TIMESTAMP},
    {"timestamp_type", FZ_METADATA_TIMESTAMP_TYPE},
    {"leader_epoch", FZ_METADATA_LEADER_EPOCH},
    {"schema_id", FZ_METADATA_SCHEMA_ID},
    {"key", FZ_METADATA_KEY},
    {"headers", FZ_METADATA_HEADERS},
    {NULL, 0},
};

static const fz_config_metadata_field metadata_default[] = {
    FZ_METADATA_PARTITION, FZ_METADATA_OFFSET, FZ_METADATA_TIMESTAMP};

static bool is_word(fz_str text, const char *yes1, const char *yes2, const char *yes3) {
    return fz_str_equal_nocase(text, fz_str_from(yes1)) ||
           fz_str_equal_nocase(text, fz_str_from(yes2)) ||
           fz_str_equal_nocase(text, fz_str_from(yes3));
}

static bool metadata_has(const fz_config_metadata *metadata, fz_config_metadata_field field) {
    for (size_t i = 0; i < metadata->count; i++) {
        if (metadata->items[i].field == field) {
            return true;
        }
    }
    return false;
}

/** A field by its name; a fault if there is none or it was there before. */
static bool metadata_add(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                         fz_str name, fz_str column, fz_config_metadata *out) {
    const fz_conf_word *word = fz_conf_words_find(metadata_words, name);
    if (!word) {
        const char *near = fz_conf_words_suggest(metadata_words, name);
        fz_conf_reader_fault(reader, node, path, "unknown metadata field \"%.*s\"%s%s%s",
                             FZ_STR_ARGS(fz_str_slice(name, 0, 100)),
                             near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        return false;
    }
    fz_config_metadata_field field = (fz_config_metadata_field)word->value;
    if (metadata_has(out, field)) {
        fz_conf_reader_fault(reader, node, path, "the field \"%s\" is there twice", word->word);
        return false;
    }
    for (size_t i = 0; column.size && i < out->count; i++) {
        if (fz_str_equal_nocase(out->items[i].column, column)) {
            fz_conf_reader_fault(reader, node, path, "two fields are promoted to \"%.*s\"",
                                 FZ_STR_ARGS(fz_str_slice(column, 0, 100)));
            return false;
        }
    }
    out->items[out->count++] = (fz_config_metadata_item){field, column};
    return true;
}

/** `{offset: kafka_offset, key: true, timestamp: false}` changes the default selection. */
static void metadata_map_read(fz_conf_reader *reader, const fz_conf_path *path,
                              const fz_conf_node *node, fz_config_metadata *out) {
    unsigned left_out = 0;
    for (size_t i = 0; i < node->count; i++) {
        const fz_conf_member *member = &node->members[i];
        fz_conf_path below = {.up = path, .name = member->key};
        fz_str text = {0};
        if (member->value->kind != FZ_CONF_NULL &&
            !fz_conf_text_read(reader, &below, member->value, &text)) {
            continue;
        }
        if (is_word(text, "true", "yes", "on")) {
            text = (fz_str){0};
        }
        const fz_conf_word *word = fz_conf_words_find(metadata_words, member->key);
        if (word && is_word(text, "false", "no", "off")) {
            left_out |= 1u << word->value;
        } else {
            (void)metadata_add(reader, &below, member->value, member->key, text, out);
        }
    }
    for (size_t i = 0; i < FZ_COUNT(metadata_default); i++) {
        fz_config_metadata_field field = metadata_default[i];
        if (!(left_out & 1u << field) && !metadata_has(out, field)) {
            out->items[out->count++] = (fz_config_metadata_item){field, {0}};
        }
    }
}

static void metadata_read(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, void *field, void *block) {
    (void)block;
    fz_config_metadata *out = field;
    if (node->kind == FZ_CONF_MAP) {
        metadata_map_read(reader, path, node, out);
        return;
    }
    if (node->kind == FZ_CONF_SCALAR && is_word(node->text, "false", "no", "off")) {
        return;
    }
    if (node->kind == FZ_CONF_SCALAR && is_word(node->text, "true", "yes", "on")) {
        for (size_t i = 0; i < FZ_COUNT(metadata_default); i++) {
            out->items[out->count++] = (fz_config_metadata_item){metadata_default[i], {0}};
        }
        return;
    }
    fz_config_texts texts = {0};
    (void)fz_conf_texts_read(reader, path, node, false, &texts);
    for (size_t i = 0; i < texts.count; i++) {
        fz_conf_path item = {.up = path, .index = i};
        const fz_conf_node *at = node->kind == FZ_CONF_LIST ? node->members[i].value : node;
        (void)metadata_add(reader, &item, at, texts.items[i], (fz_str){0}, out);
    }
}

static bool metadata_print(const void *field, fz_conf_writer *writer) {
    const fz_config_metadata *metadata = field;
    bool promoted = false;
    for (size_t i = 0; i < metadata->count; i++) {
        promoted |= metadata->items[i].column.size > 0;
    }
    if (metadata->count == 0) {
        fz_buf_printf(writer->out, " false\n");
        return true;
    }
    fz_buf_printf(writer->out, promoted ? "\n" : " [");
    for (size_t i = 0; i < metadata->count; i++) {
        const fz_config_metadata_item *item = &metadata->items[i];
        const char *name = fz_conf_words_name(metadata_words, item->field);
        if (!promoted) {
            fz_buf_printf(writer->out, "%s%s", i ? ", " : "", name);
            continue;
        }
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  %s: ", name);
        if (item->column.size) {
            fz_conf_scalar_write(writer->out, item->column);
        } else {
            fz_buf_printf(writer->out, "true");
        }
        fz_buf_append_byte(writer->out, '\n');
    }
    for (size_t i = 0; promoted && i < FZ_COUNT(metadata_default); i++) {
        if (!metadata_has(metadata, metadata_default[i])) {
            fz_conf_indent_write(writer);
            fz_buf_printf(writer->out, "  %s: false\n",
                          fz_conf_words_name(metadata_words, metadata_default[i]));
        }
    }
    if (!promoted) {
        fz_buf_printf(writer->out, "]\n");
    }
    return true;
}

static int offset_compare(const void *a, const void *b) {
    const fz_config_start_offset *x = a;
    const fz_config_start_offset *y = b;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

static void start_map_read(fz_conf_reader *reader, const fz_conf_path *path,
                           const fz_conf_node *node, fz_config_start *out) {
    out->kind = FZ_START_OFFSETS;
    out->offsets = FZ_ARENA_ARRAY(reader->arena, fz_config_start_offset, node->count);
    for (size_t i = 0; i < node->count; i++) {
        const fz_conf_member *member = &node->members[i];
        fz_conf_path below = {.up = path, .name = member->key};
        int64_t partition = 0;
        int64_t offset = 0;
        fz_str text;
        if (!fz_conf_text_read(reader, &below, member->value, &text)) {
            continue;
        }
        if (fz_int_parse(member->key, &partition, NULL) != FZ_OK || partition < 0 ||
            partition > INT32_MAX) {
            fz_conf_fault_at(reader->faults, node->place, member->line, member->column, &below,
                             "\"%.*s\" is not a partition number",
                             FZ_STR_ARGS(fz_str_slice(member->key, 0, 100)));
        } else if (fz_int_parse(text, &offset, NULL) != FZ_OK || offset < 0) {
            fz_conf_reader_fault(reader, member->value, &below, "\"%.*s\" is not an offset",
                                 FZ_STR_ARGS(fz_str_slice(text, 0, 100)));
        } else {
            out->offsets[out->count++] = (fz_config_start_offset){(int32_t)partition, offset};
        }
    }
    if (out->count > 1) {
        qsort(out->offsets, out->count, sizeof(*out->offsets), offset_compare);
    }
    for (size_t i = 1; i < out->count; i++) {
        if (out->offsets[i].partition == out->offsets[i - 1].partition) {
            fz_conf_reader_fault(reader, node, path, "the partition %d is there twice",
                                 out->offsets[i].partition);
        }
    }
}

/** A day, an instant with an offset, or one without (UTC). */
static bool instant_parse(fz_str text, int64_t *ms) {
    int64_t micros = 0;
    int64_t days = 0;
    if (fz_date_parse(text, &days, NULL) == FZ_OK) {
        if (days < 0 || days > 100000000) {
            return false;
        }
        micros = days * FZ_US_PER_DAY;
    } else if (fz_timestamp_parse(text, true, &micros, NULL) != FZ_OK &&
               fz_timestamp_parse(text, false, &micros, NULL) != FZ_OK) {
        return false;
    }
    *ms = fz_floor_div(micros, 1000);
    return *ms >= 0;
}

static void start_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       void *field, void *block) {
    (void)block;
    fz_config_start *out = field;
    fz_str text;
    if (node->kind == FZ_CONF_MAP) {
        start_map_read(reader, path, node, out);
    } else if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    } else if (fz_str_equal_nocase(text, FZ_STR("earliest"))) {
        out->kind = FZ_START_EARLIEST;
    } else if (fz_str_equal_nocase(text, FZ_STR("latest"))) {
        out->kind = FZ_START_LATEST;
    } else if (instant_parse(text, &out->timestamp_ms)) {
        out->kind = FZ_START_TIMESTAMP;
    } else {
        fz_conf_reader_fault(
            reader, node, path,
            "\"%.*s\" is not a start, wanted earliest, latest, a timestamp such as "
            "2026-01-31T00:00:00Z from 1970 on, or a mapping of partitions to offsets",
            FZ_STR_ARGS(fz_str_slice(text, 0, 100)));
    }
}

static bool start_print(const void *field, fz_conf_writer *writer) {
    const fz_config_start *start = field;
    if (start->kind == FZ_START_TIMESTAMP) {
        fz_buf_printf(writer->out, " \"");
        fz_timestamp_format(writer->out, start->timestamp_ms * 1000, true);
        fz_buf_printf(writer->out, "\"\n");
        return true;
    }
    if (start->kind != FZ_START_OFFSETS || start->count == 0) {
        fz_buf_printf(writer->out, " %s\n",
                      start->kind == FZ_START_EARLIEST ? "earliest"
                      : start->kind == FZ_START_LATEST ? "latest"
                                                       : "{}");
        return true;
    }
    fz_buf_append_byte(writer->out, '\n');
    for (size_t i = 0; i < start->count; i++) {
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  %d: %lld\n", start->offsets[i].partition,
                      (long long)start->offsets[i].offset);
    }
    return true;
}

typedef struct codec_name {
    const char *name;
    fz_codec codec;
    int least; // level; 0 and 0: takes none
    int most;
    int level; // default
} codec_name;

static const codec_name codec_names[] = {
    {"none", FZ_CODEC_NONE, 0, 0, 0},      {"uncompressed", FZ_CODEC_NONE, 0, 0, 0},
    {"off", FZ_CODEC_NONE, 0, 0, 0},       {"zstd", FZ_CODEC_ZSTD, 1, 22, 1},
    {"snappy", FZ_CODEC_SNAPPY, 0, 0, 0},  {"gzip", FZ_CODEC_GZIP, 1, 9, 6},
    {"lz4", FZ_CODEC_LZ4_RAW, 0, 0, 0},    {"lz4_raw", FZ_CODEC_LZ4_RAW, 0, 0, 0},
    {"brotli", FZ_CODEC_BROTLI, 1, 11, 4},
};

static void compression_read(fz_conf_reader *reader, const fz_conf_path *path,
                             const fz_conf_node *node, void *field, void *block) {
    (void)block;
    fz_config_compression *out = field;
    fz_str text;
    if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    }
    if (fz_str_equal_nocase(text, FZ_STR("auto"))) {
        *out = (fz_config_compression){true, FZ_CODEC_ZSTD, 1};
        return;
    }
    fz_conf_lexer lexer = {.text = text, .arena = reader->arena};
    fz_err err = {0};
    for (size_t i = 0; i < FZ_COUNT(codec_names); i++) {
        const codec_name *codec = &codec_names[i];
        if (!fz_conf_lexer_word(&lexer, codec->name)) {
            continue;
        }
        int32_t level = codec->level;
        bool bad = false;
        if (codec->most && fz_conf_lexer_take(&lexer, '(')) {
            bad = fz_conf_lexer_number(&lexer, codec->least, codec->most, &level, &err) != FZ_OK ||
                  !fz_conf_lexer_take(&lexer, ')');
        }
        if (bad || !fz_conf_lexer_done(&lexer)) {
            break;
        }
        *out = (fz_config_compression){false, codec->codec, level};
        return;
    }
    fz_conf_reader_fault(reader, node, path,
                         "\"%.*s\" is not a compression, wanted zstd(1) to zstd(22), gzip(1) to "
                         "gzip(9), brotli(1) to brotli(11), snappy, lz4, none or auto",
                         FZ_STR_ARGS(fz_str_slice(text, 0, 100)));
}

static bool compression_print(const void *field, fz_conf_writer *writer) {
    const fz_config_compression *compression = field;
    if (compression->by_table) {
        fz_buf_append_str(writer->out, FZ_STR(" auto\n"));
        return true;
    }
    for (size_t i = 0; i < FZ_COUNT(codec_names); i++) {
        if (codec_names[i].codec != compression->codec) {
            continue;
        }
        fz_buf_printf(writer->out, " %s", codec_names[i].name);
        if (codec_names[i].most) {
            fz_buf_printf(writer->out, "(%d)", compression->level);
        }
        fz_buf_append_byte(writer->out, '\n');
        return true;
    }
    return false;
}

const fz_conf_custom fz_conf_partitioning = {"list of transforms", terms_read, terms_print};
const fz_conf_custom fz_conf_sort_order = {"list of sort terms", sorts_read, sorts_print};
const fz_conf_custom fz_conf_column_type = {"type", column_type_read, column_type_print};
const fz_conf_custom fz_conf_metadata = {"list, mapping or false", metadata_read, metadata_print};
const fz_conf_custom fz_conf_start = {"start", start_read, start_print};
const fz_conf_custom fz_conf_compression = {"codec", compression_read, compression_print};
