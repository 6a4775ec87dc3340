// SPDX-License-Identifier: Apache-2.0
// Nodes to typed structs, as the option tables say.
#include "conf/reader.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/file.h"
#include "base/map.h"
#include "base/text/number.h"
#include "base/vec.h"
#include "conf/limits.h"
#include "conf/yaml.h"

/** The common start of all lists of blocks. */
typedef struct block_list {
    char *items;
    size_t count;
} block_list;

static void option_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_option *option, const fz_conf_node *node, void *block);

void fz_conf_reader_fault(fz_conf_reader *reader, const fz_conf_node *node,
                          const fz_conf_path *path, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fz_conf_fault_at(reader->faults, node->place, node->line, node->column, path, "%s", text);
}

static void wrong_kind(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       const char *wanted) {
    fz_conf_reader_fault(reader, node, path, "wanted %s, found %s", wanted,
                         fz_conf_node_kind_name(node->kind));
}

bool fz_conf_text_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       fz_str *out) {
    if (node->kind != FZ_CONF_SCALAR) {
        wrong_kind(reader, path, node, "a single value");
        return false;
    }
    *out = node->text;
    return !node->broken;
}

/** Append the texts between commas. */
static void commas_split(fz_arena *arena, fz_str text, fz_config_texts *out) {
    size_t commas = 0;
    for (size_t i = 0; i < text.size; i++) {
        commas += text.data[i] == ',';
    }
    out->items = FZ_ARENA_ARRAY(arena, fz_str, commas + 1);
    for (size_t from = 0; from <= text.size;) {
        size_t to = fz_str_find(text, ',', from);
        to = to == SIZE_MAX ? text.size : to;
        fz_str part = fz_str_trim(fz_str_slice(text, from, to));
        if (part.size) {
            out->items[out->count++] = fz_arena_str(arena, part);
        }
        from = to + 1;
    }
}

bool fz_conf_texts_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        bool commas, fz_config_texts *out) {
    if (node->kind == FZ_CONF_SCALAR && node->broken) {
        return false;
    }
    if (node->kind == FZ_CONF_SCALAR && commas) {
        commas_split(reader->arena, node->text, out);
        return true;
    }
    if (node->kind == FZ_CONF_SCALAR) {
        out->items = FZ_ARENA_NEW(reader->arena, fz_str);
        out->items[out->count++] = node->text;
        return true;
    }
    if (node->kind != FZ_CONF_LIST) {
        wrong_kind(reader, path, node, "a list of texts");
        return false;
    }
    out->items = FZ_ARENA_ARRAY(reader->arena, fz_str, node->count);
    bool good = true;
    for (size_t i = 0; i < node->count; i++) {
        fz_conf_path item = {.up = path, .index = i};
        fz_str text;
        if (!fz_conf_text_read(reader, &item, node->members[i].value, &text)) {
            good = false;
        } else {
            out->items[out->count++] = text;
        }
    }
    return good;
}

fz_str fz_conf_path_absolute(fz_arena *arena, const fz_conf_place *place, fz_str text) {
    char *name = fz_str_dup(text);
    char *absolute = fz_file_absolute(place ? place->folder : NULL, name);
    fz_str out = fz_arena_str(arena, fz_str_from(absolute));
    fz_free(absolute);
    fz_free(name);
    return out;
}

fz_str fz_conf_file_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                         fz_str file, size_t limit) {
    fz_str out = {0};
    if (reader->no_files) {
        return out;
    }
    fz_buf body;
    fz_buf_init(&body, limit, NULL);
    fz_err err = {0};
    if (fz_file_read(file.data, &body, &err) != FZ_OK) {
        fz_conf_reader_fault(reader, node, path, "%s", fz_err_text(&err));
    } else if (body.size && memchr(body.data, 0, body.size)) {
        fz_conf_reader_fault(reader, node, path, "the file \"%s\" is not text", file.data);
    } else {
        out = fz_arena_str(reader->arena, fz_buf_view(&body));
    }
    fz_buf_deinit(&body);
    return out;
}

/** A text or { file: PATH }. */
static bool secret_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        fz_str *out) {
    if (node->kind == FZ_CONF_SCALAR) {
        *out = node->text;
        return true;
    }
    const fz_conf_node *file = fz_conf_node_find(node, FZ_STR("file"));
    if (!file || node->count != 1 || file->kind != FZ_CONF_SCALAR) {
        fz_conf_reader_fault(reader, node, path, "wanted a text or { file: PATH }, found %s",
                             fz_conf_node_kind_name(node->kind));
        return false;
    }
    fz_str name = fz_conf_path_absolute(reader->arena, file->place, file->text);
    if (reader->no_files) {
        *out = FZ_STR("unread");
        return true;
    }
    fz_str body = fz_conf_file_read(reader, path, file, name, FZ_CONFIG_MAX_SECRET);
    while (body.size && (body.data[body.size - 1] == '\n' || body.data[body.size - 1] == '\r')) {
        body.size--; // editors end files with one
    }
    *out = fz_arena_str(reader->arena, body);
    return true;
}

static void pairs_read(fz_conf_reader *reader, const fz_conf_path *path,
                       const fz_conf_option *option, const fz_conf_node *node,
                       fz_config_pairs *out) {
    if (node->kind != FZ_CONF_MAP) {
        wrong_kind(reader, path, node, "a mapping of names to texts");
        return;
    }
    out->items = FZ_ARENA_ARRAY(reader->arena, fz_config_pair, node->count);
    for (size_t i = 0; i < node->count; i++) {
        const fz_conf_member *member = &node->members[i];
        fz_conf_path below = {.up = path, .name = member->key};
        fz_config_pair pair = {.key = member->key, .value = FZ_STR("")};
        const char *why = option->check_pair ? option->check_pair(member->key) : NULL;
        if (member->key.size == 0) {
            why = "the name is empty";
        }
        if (why) {
            fz_conf_fault_at(reader->faults, node->place, member->line, member->column, &below,
                             "%s", why);
        } else if (member->value->kind == FZ_CONF_NULL ||
                   secret_read(reader, &below, member->value, &pair.value)) {
            out->items[out->count++] = pair;
        }
    }
}

static bool bool_parse(fz_str text, bool *out) {
    static const fz_conf_word words[] = {{"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0},
                                         {"on", 1},   {"off", 0},   {NULL, 0}};
    const fz_conf_word *word = fz_conf_words_find(words, text);
    *out = word && word->value;
    return word != NULL;
}

static void number_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_option *option, const fz_conf_node *node, int64_t *out) {
    fz_str text;
    if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    }
    bool truth;
    bool zero = option->zero_word && fz_str_equal_nocase(text, fz_str_from(option->zero_word));
    bool off = option->zero_word && strcmp(option->zero_word, "off") == 0;
    if (zero || (off && bool_parse(text, &truth) && !truth)) {
        *out = 0;
        return;
    }
    fz_err err = {0};
    int64_t value = 0;
    fz_code code = option->kind == FZ_CONF_DURATION ? fz_duration_parse(text, &value, &err)
                   : option->kind == FZ_CONF_SIZE   ? fz_size_parse(text, &value, &err)
                                                    : fz_int_parse(text, &value, &err);
    const char *what = option->kind == FZ_CONF_DURATION ? "a duration such as 500ms, 30s, 5m, 7d"
                       : option->kind == FZ_CONF_SIZE   ? "a size such as 64KiB, 512MB, 1GiB"
                                                        : "a whole number";
    if (code != FZ_OK) {
        fz_conf_reader_fault(reader, node, path, "\"%.*s\" is not %s", FZ_STR_ARGS(text), what);
        return;
    }
    bool above = option->max && value > option->max;
    if (value < option->min || above) {
        const char *unit = option->kind == FZ_CONF_DURATION ? "ms"
                           : option->kind == FZ_CONF_SIZE   ? " bytes"
                                                            : "";
        fz_conf_reader_fault(reader, node, path, "%.*s is too %s, wanted at %s %lld%s",
                             FZ_STR_ARGS(text), above ? "large" : "small", above ? "most" : "least",
                             (long long)(above ? option->max : option->min), unit);
        return;
    }
    *out = value;
}

/** A word's value, a fault that lists all words otherwise. */
static bool word_read(fz_conf_reader *reader, const fz_conf_path *path,
                      const fz_conf_option *option, const fz_conf_node *node, fz_str text,
                      unsigned *out) {
    const fz_conf_word *word = fz_conf_words_find(option->words, text);
    bool truth;
    if (!word && bool_parse(text, &truth)) {
        word = fz_conf_words_find(option->words, truth ? FZ_STR("on") : FZ_STR("off"));
    }
    if (word) {
        *out = word->value;
        return true;
    }
    char list[512] = "";
    size_t used = 0;
    for (const fz_conf_word *w = option->words; w->word && used < sizeof(list); w++) {
        int more = snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", w->word);
        used += more > 0 ? (size_t)more : 0;
    }
    const char *near = fz_conf_words_suggest(option->words, text);
    fz_conf_reader_fault(reader, node, path, "unknown value \"%.*s\", %s%s%swanted one of %s",
                         FZ_STR_ARGS(fz_str_slice(text, 0, 100)), near ? "did you mean \"" : "",
                         near ? near : "", near ? "\"? " : "", list);
    return false;
}

static void set_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_option *option,
                     const fz_conf_node *node, unsigned *out) {
    fz_config_texts texts = {0};
    if (!fz_conf_texts_read(reader, path, node, true, &texts)) {
        return;
    }
    for (size_t i = 0; i < texts.count; i++) {
        unsigned bit = 0;
        if (word_read(reader, path, option, node, texts.items[i], &bit)) {
            *out |= bit;
        }
    }
    if (texts.count == 0) {
        fz_conf_reader_fault(reader, node, path, "the list is empty");
    }
}

static void text_option_read(fz_conf_reader *reader, const fz_conf_path *path,
                             const fz_conf_option *option, const fz_conf_node *node, fz_str *out) {
    fz_str text;
    if ((option->flags & FZ_CONF_JOINED) && node->kind == FZ_CONF_LIST) {
        fz_config_texts texts = {0};
        if (!fz_conf_texts_read(reader, path, node, false, &texts)) {
            return;
        }
        fz_buf joined = {0};
        for (size_t i = 0; i < texts.count; i++) {
            fz_buf_printf(&joined, "%s", i ? "," : "");
            fz_buf_append_str(&joined, texts.items[i]);
        }
        text = fz_arena_str(reader->arena, fz_buf_view(&joined));
        fz_buf_deinit(&joined);
    } else if (!fz_conf_text_read(reader, path, node, &text)) {
        return;
    }
    const char *why = text.size == 0 && option->fallback ? "is empty" : NULL;
    if (!why && option->check) {
        why = option->check(text);
    }
    if (why) {
        fz_conf_reader_fault(reader, node, path, "\"%.*s\" %s",
                             FZ_STR_ARGS(fz_str_slice(text, 0, 200)), why);
    } else if (option->kind == FZ_CONF_PATH && text.size) {
        *out = fz_conf_path_absolute(reader->arena, node->place, text);
    } else {
        *out = text;
    }
}

static void texts_option_read(fz_conf_reader *reader, const fz_conf_path *path,
                              const fz_conf_option *option, const fz_conf_node *node,
                              fz_config_texts *out) {
    fz_config_texts texts = {0};
    if (!fz_conf_texts_read(reader, path, node, option->flags & FZ_CONF_COMMAS, &texts)) {
        return;
    }
    for (size_t i = 0; i < texts.count; i++) {
        const char *why = option->check ? option->check(texts.items[i]) : NULL;
        if (why) {
            fz_conf_path item = {.up = path, .index = i};
            bool list = node->kind == FZ_CONF_LIST;
            fz_conf_reader_fault(reader, list ? node->members[i].value : node, list ? &item : path,
                                 "\"%.*s\" %s", FZ_STR_ARGS(fz_str_slice(texts.items[i], 0, 200)),
                                 why);
        }
    }
    *out = texts;
}

static void blocks_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_option *option, const fz_conf_node *node, block_list *out) {
    const fz_conf_table *table = option->table;
    if (node->kind != FZ_CONF_LIST) {
        out->items = fz_arena_alloc(reader->arena, 1, table->size);
        out->count = 1;
        fz_conf_block_read(reader, path, table, node, out->items);
        return;
    }
    if (node->count > FZ_CONFIG_MAX_COLUMNS) {
        fz_conf_reader_fault(reader, node, path, "more than %d items", FZ_CONFIG_MAX_COLUMNS);
        return;
    }
    out->items = fz_arena_alloc(reader->arena, node->count ? node->count : 1, table->size);
    for (size_t i = 0; i < node->count; i++) {
        fz_conf_path item = {.up = path, .index = i};
        fz_conf_block_read(reader, &item, table, node->members[i].value,
                           out->items + i * table->size);
    }
    out->count = node->count;
}

/** Read one value into its field. */
static void option_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_option *option, const fz_conf_node *node, void *block) {
    void *field = (char *)block + option->offset;
    fz_str text;
    switch (option->kind) {
    case FZ_CONF_TEXT:
    case FZ_CONF_PATH:
        text_option_read(reader, path, option, node, field);
        break;
    case FZ_CONF_SECRET:
        (void)secret_read(reader, path, node, field);
        break;
    case FZ_CONF_BOOL:
        if (fz_conf_text_read(reader, path, node, &text) && !bool_parse(text, field)) {
            fz_conf_reader_fault(reader, node, path, "\"%.*s\" is not true or false",
                                 FZ_STR_ARGS(fz_str_slice(text, 0, 100)));
        }
        break;
    case FZ_CONF_INT:
    case FZ_CONF_DURATION:
    case FZ_CONF_SIZE:
        number_read(reader, path, option, node, field);
        break;
    case FZ_CONF_ENUM:
        if (fz_conf_text_read(reader, path, node, &text)) {
            (void)word_read(reader, path, option, node, text, field);
        }
        break;
    case FZ_CONF_ENUM_SET:
        set_read(reader, path, option, node, field);
        break;
    case FZ_CONF_TEXTS:
        texts_option_read(reader, path, option, node, field);
        break;
    case FZ_CONF_PAIRS:
        pairs_read(reader, path, option, node, field);
        break;
    case FZ_CONF_BLOCK:
        fz_conf_block_read(reader, path, option->table, node, field);
        break;
    case FZ_CONF_BLOCKS:
        blocks_read(reader, path, option, node, field);
        break;
    case FZ_CONF_CUSTOM:
        option->custom->read(reader, path, node, field, block);
        break;
    }
}

/** A field's documented default. */
static void fallback_read(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_option *option, void *block) {
    fz_conf_path below = {.up = path, .name = fz_str_from(option->name)};
    if (option->kind == FZ_CONF_BLOCK) {
        fz_conf_block_read(reader, &below, option->table, NULL, (char *)block + option->offset);
        return;
    }
    if (!option->fallback) {
        return;
    }
    fz_str text = fz_str_from(option->fallback);
    if (fz_str_equal(text, FZ_STR("[]"))) {
        return; // zeroed already
    }
    if (text.size && text.data[0] != '[' && text.data[0] != '{') {
        fz_conf_node node = {.kind = FZ_CONF_SCALAR, .place = reader->default_place, .text = text};
        option_read(reader, &below, option, &node, block);
        return;
    }
    if (text.size && text.data[0] == '{' && text.data[1] != '}') {
        text = fz_arena_str(reader->arena, text); // `{topic}` is a text here
        fz_conf_node node = {.kind = FZ_CONF_SCALAR, .place = reader->default_place, .text = text};
        option_read(reader, &below, option, &node, block);
        return;
    }
    fz_conf_yaml yaml = {.arena = reader->arena, .faults = reader->faults};
    fz_conf_documents documents = {0};
    fz_conf_yaml_parse(&yaml, reader->default_place, text, &documents);
    FZ_ASSERT(documents.count == 1);
    documents.data[0]->line = 0;
    option_read(reader, &below, option, documents.data[0], block);
    fz_vec_deinit(&documents);
}

static void unknown_key(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_table *table, const fz_conf_node *node,
                        const fz_conf_member *member) {
    fz_conf_path below = {.up = path, .name = member->key};
    if (reader->faults->cut) {
        return; // guessing for every key of a wrong file costs more than it tells
    }
    fz_buf near = {0};
    bool found = fz_conf_table_suggest(table, member->key, &near);
    fz_conf_fault_at(reader->faults, node->place, member->line, member->column, &below,
                     "unknown key \"%.*s\"%s%s%s", FZ_STR_ARGS(fz_str_slice(member->key, 0, 100)),
                     found ? ", did you mean \"" : "", found ? fz_buf_cstr(&near) : "",
                     found ? "\"?" : "");
    fz_buf_deinit(&near);
}

void fz_conf_block_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_table *table, const fz_conf_node *node, void *block) {
    node = fz_conf_block_widen(reader->arena, table, node);
    if (node && node->kind != FZ_CONF_MAP && node->kind != FZ_CONF_NULL) {
        wrong_kind(reader, path, node, "a mapping");
        return;
    }
    size_t weight = node ? node->weight : 1;
    if (weight > FZ_CONFIG_MAX_WORK - reader->work) {
        fz_conf_fault_at(reader->faults, node ? node->place : NULL, 0, 0, NULL,
                         "more than %d values over all entries", FZ_CONFIG_MAX_WORK);
        return;
    }
    reader->work += weight;
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        fz_str name = fz_str_from(option->name);
        fz_conf_path below = {.up = path, .name = name};
        const fz_conf_node *value = fz_conf_node_find(node, name);
        if (option->flags & FZ_CONF_APART) {
            continue;
        }
        if (value) {
            option_read(reader, &below, option, value, block);
        } else if (option->flags & FZ_CONF_REQUIRED) {
            fz_conf_fault_at(reader->faults, node ? node->place : NULL, node ? node->line : 0,
                             node ? node->column : 0, path, "\"%s\" is missing", option->name);
        } else {
            fallback_read(reader, path, option, block);
        }
    }
    for (size_t i = 0; node && i < node->count; i++) {
        if (!fz_conf_table_find(table, node->members[i].key)) {
            unknown_key(reader, path, table, node, &node->members[i]);
        }
    }
}

const fz_conf_node *fz_conf_block_widen(fz_arena *arena, const fz_conf_table *table,
                                        const fz_conf_node *node) {
    if (!node || node->kind == FZ_CONF_NULL) {
        return node;
    }
    bool truth;
    const char *name = table->shorthand;
    const fz_conf_option *option = name ? fz_conf_table_find(table, fz_str_from(name)) : NULL;
    bool single = node->kind == FZ_CONF_SCALAR ||
                  (node->kind == FZ_CONF_LIST && option && option->kind == FZ_CONF_TEXTS);
    bool secret = node->kind == FZ_CONF_MAP && option && option->kind == FZ_CONF_SECRET &&
                  node->count == 1 && fz_conf_node_find(node, FZ_STR("file"));
    if (table->switch_name && node->kind == FZ_CONF_SCALAR && bool_parse(node->text, &truth)) {
        name = table->switch_name;
    }
    if (!name || (!single && !secret)) {
        return node;
    }
    fz_conf_node *value = fz_conf_node_new(arena, node->kind, node);
    *value = *node;
    return fz_conf_node_with(arena, NULL, fz_str_from(name), value);
}

/** One option's value on top of another. */
static const fz_conf_node *member_merge(fz_arena *arena, const fz_conf_option *option,
                                        const fz_conf_node *base, const fz_conf_node *over) {
    static const fz_conf_table any = {0};
    if (!option || base->kind == FZ_CONF_NULL) {
        return over;
    }
    bool lists = base->kind == FZ_CONF_LIST || over->kind == FZ_CONF_LIST;
    if (option->kind == FZ_CONF_BLOCK || (option->kind == FZ_CONF_BLOCKS && !lists)) {
        return fz_conf_block_merge(arena, option->table, base, over);
    }
    if (option->kind == FZ_CONF_PAIRS && base->kind == FZ_CONF_MAP && over->kind == FZ_CONF_MAP) {
        return fz_conf_block_merge(arena, &any, base, over);
    }
    return over;
}

const fz_conf_node *fz_conf_block_merge(fz_arena *arena, const fz_conf_table *table,
                                        const fz_conf_node *base, const fz_conf_node *over) {
    base = fz_conf_block_widen(arena, table, base);
    over = fz_conf_block_widen(arena, table, over);
    if (!base || base->kind != FZ_CONF_MAP || !over || over->kind != FZ_CONF_MAP) {
        return over && over->kind != FZ_CONF_NULL ? over : base;
    }
    fz_conf_node *out = fz_conf_node_new(arena, FZ_CONF_MAP, over);
    out->members = FZ_ARENA_ARRAY(arena, fz_conf_member, base->count + over->count);
    fz_map places = {0}; // key -> member of out
    for (size_t i = 0; i < base->count; i++) {
        out->members[out->count] = base->members[i];
        fz_map_put(&places, base->members[i].key, &out->members[out->count++]);
    }
    for (size_t i = 0; i < over->count; i++) {
        fz_conf_member member = over->members[i];
        fz_conf_member *old = fz_map_find(&places, member.key);
        if (!old) {
            out->members[out->count++] = member;
        } else if (member.value->kind != FZ_CONF_NULL) { // a key without a value says nothing
            const fz_conf_option *option = fz_conf_table_find(table, member.key);
            member.value = (fz_conf_node *)member_merge(arena, option, old->value, member.value);
            *old = member;
        }
    }
    fz_map_deinit(&places);
    for (size_t i = 0; i < out->count; i++) {
        out->weight += out->members[i].value->weight;
    }
    return out;
}
