// SPDX-License-Identifier: Apache-2.0
// Typed structs to YAML, as the option tables say.
#include "conf/writer.h"

#include "base/codec/text_codec.h"

/** Plain scalars that other readers of YAML would not take as a text, or as another one. */
static bool looks_special(fz_str text) {
    static const char *const words[] = {"true", "false", "yes", "no",  "on",
                                        "off",  "y",     "n",   "null"};
    for (size_t i = 0; i < FZ_COUNT(words); i++) {
        if (fz_str_equal_nocase(text, fz_str_from(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_plain(fz_str text) {
    if (text.size == 0 || looks_special(text)) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '_' || c == '/' || c == '.';
        bool inside = i > 0 && (c == '-' || c == '+' || c == '@' || c == '=' || c == '~' ||
                                c == '(' || c == ')');
        bool colon = c == ':' && i > 0 && i + 1 < text.size;
        if (!safe && !inside && !colon) {
            return false;
        }
    }
    return true;
}

/** Code point at `at` of valid UTF-8, and its size. */
static uint32_t code_point(fz_str text, size_t at, size_t *size) {
    unsigned char b = (unsigned char)text.data[at];
    *size = b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
    if (*size == 1) {
        return b;
    }
    uint32_t point = b & (0x7fu >> *size);
    for (size_t i = 1; i < *size && at + i < text.size; i++) {
        point = point << 6 | ((unsigned char)text.data[at + i] & 0x3f);
    }
    return point;
}

void fz_conf_scalar_write(fz_buf *out, fz_str text) {
    if (is_plain(text)) {
        fz_buf_append_str(out, text);
        return;
    }
    bool valid = fz_utf8_valid(text.data, text.size); // an environment variable may hold anything
    fz_buf_append_byte(out, '"');
    for (size_t i = 0; i < text.size;) {
        size_t size = 1;
        uint32_t c = valid ? code_point(text, i, &size) : (unsigned char)text.data[i];
        bool raw =
            (c >= 0x20 && c < 0x7f) ||
            (valid && c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c < 0xfffe) ||
            (valid && c >= 0x10000);
        if (c == '"' || c == '\\') {
            fz_buf_printf(out, "\\%c", (int)c);
        } else if (c == '\n') {
            fz_buf_printf(out, "\\n");
        } else if (c == '$' && i + 1 < text.size && text.data[i + 1] == '{') {
            fz_buf_printf(out, "$$");
        } else if (raw) {
            fz_buf_append(out, text.data + i, size);
        } else {
            fz_buf_printf(out, c > 0xff ? "\\u%04X" : "\\x%02X", c);
        }
        i += size;
    }
    fz_buf_append_byte(out, '"');
}

bool fz_conf_name_is_secret(fz_str name) {
    static const char *const parts[] = {
        "password",      "passwd", "secret", "token", "credential", "apikey",
        "authorization", "cookie", "jaas",   "sas",   "private",    "oauthbearer.config"};
    static const char *const ends[] = {"key.pem", "api-key", "api_key", "account-key",
                                       "key.password"};
    char lower[256];
    size_t size = name.size < sizeof(lower) ? name.size : sizeof(lower);
    for (size_t i = 0; i < size; i++) {
        char c = name.data[i];
        lower[i] = (c >= 'A' && c <= 'Z') ? (char)(c + 32) : c;
    }
    fz_str view = fz_str_make(lower, size);
    for (size_t i = 0; i < FZ_COUNT(parts); i++) {
        size_t at = fz_str_find_str(view, fz_str_from(parts[i]));
        bool sasl = at != SIZE_MAX && fz_str_equal(fz_str_from(parts[i]), FZ_STR("sas")) &&
                    at + 3 < view.size && view.data[at + 3] == 'l';
        if (at != SIZE_MAX && !sasl) {
            return true;
        }
    }
    for (size_t i = 0; i < FZ_COUNT(ends); i++) {
        if (fz_str_ends_with(view, fz_str_from(ends[i]))) {
            return true;
        }
    }
    return false;
}

/** Index behind the user info that starts at `from` (of its '@'), SIZE_MAX if there is none. */
static size_t user_info_end(fz_str text, size_t from) {
    size_t end = from;
    size_t colon = SIZE_MAX;
    while (end < text.size && !strchr("/?#, ", text.data[end])) {
        colon = text.data[end] == ':' && colon == SIZE_MAX ? end : colon;
        end++;
    }
    size_t at = SIZE_MAX;
    for (size_t i = from; i < end; i++) {
        at = text.data[i] == '@' ? i : at;
    }
    // A password with a '/' in it, not encoded: "user:pa/ss@host". A port is digits only.
    bool port = true;
    for (size_t i = colon == SIZE_MAX ? end : colon + 1; i < end; i++) {
        port &= text.data[i] >= '0' && text.data[i] <= '9';
    }
    if (at == SIZE_MAX && colon != SIZE_MAX && !port) {
        for (size_t i = end; i < text.size; i++) {
            at = text.data[i] == '@' ? i : at;
        }
    }
    return at;
}

/** Query parameters, with secret values masked. */
static void query_mask(fz_str query, fz_buf *out) {
    for (size_t from = 0; from <= query.size;) {
        size_t to = fz_str_find(query, '&', from);
        to = to == SIZE_MAX ? query.size : to;
        fz_str part = fz_str_slice(query, from, to);
        size_t equal = fz_str_find(part, '=', 0);
        if (equal != SIZE_MAX && fz_conf_name_is_secret(fz_str_slice(part, 0, equal))) {
            fz_buf_append_str(out, fz_str_slice(part, 0, equal + 1));
            fz_buf_append_str(out, FZ_STR("***"));
        } else {
            fz_buf_append_str(out, part);
        }
        if (to < query.size) {
            fz_buf_append_byte(out, '&');
        }
        from = to + 1;
    }
}

void fz_conf_text_mask(fz_str text, fz_buf *out) {
    size_t scheme = fz_str_find_str(text, FZ_STR("://"));
    if (scheme == SIZE_MAX) {
        fz_buf_append_str(out, text);
        return;
    }
    size_t from = scheme + 3;
    size_t at = user_info_end(text, from);
    fz_buf_append_str(out, fz_str_slice(text, 0, from));
    if (at != SIZE_MAX) {
        fz_buf_append_str(out, FZ_STR("***"));
        from = at;
    }
    size_t question = fz_str_find(text, '?', from);
    if (question == SIZE_MAX) {
        fz_buf_append_str(out, fz_str_slice(text, from, text.size));
        return;
    }
    fz_buf_append_str(out, fz_str_slice(text, from, question + 1));
    query_mask(fz_str_slice(text, question + 1, text.size), out);
}

void fz_conf_masked_write(fz_buf *out, fz_str text) {
    fz_buf masked = {0};
    fz_conf_text_mask(text, &masked);
    fz_conf_scalar_write(out, fz_buf_view(&masked));
    fz_buf_deinit(&masked);
}

void fz_conf_duration_write(fz_buf *out, int64_t ms) {
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    for (size_t i = 0; i < FZ_COUNT(units); i++) {
        if (ms != 0 && ms % units[i].ms == 0) {
            fz_buf_printf(out, "%lld%s", (long long)(ms / units[i].ms), units[i].unit);
            return;
        }
    }
    fz_buf_printf(out, "%lldms", (long long)ms);
}

void fz_conf_size_write(fz_buf *out, int64_t bytes) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (unit + 1 < FZ_COUNT(units) && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    fz_buf_printf(out, "%lld%s", (long long)bytes, units[unit]);
}

void fz_conf_indent_write(fz_conf_writer *writer) {
    fz_buf_printf(writer->out, "%*s", writer->indent, "");
}

static bool number_write(fz_conf_writer *writer, const fz_conf_option *option, int64_t value) {
    fz_buf_append_byte(writer->out, ' ');
    if (value == 0 && option->zero_word) {
        fz_buf_printf(writer->out, "%s", option->zero_word);
    } else if (option->kind == FZ_CONF_DURATION) {
        fz_conf_duration_write(writer->out, value);
    } else if (option->kind == FZ_CONF_SIZE) {
        fz_conf_size_write(writer->out, value);
    } else {
        fz_buf_printf(writer->out, "%lld", (long long)value);
    }
    fz_buf_append_byte(writer->out, '\n');
    return true;
}

static bool texts_write(fz_conf_writer *writer, const fz_config_texts *texts) {
    fz_buf_append_byte(writer->out, '\n');
    for (size_t i = 0; i < texts->count; i++) {
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  - ");
        fz_conf_masked_write(writer->out, texts->items[i]);
        fz_buf_append_byte(writer->out, '\n');
    }
    return texts->count > 0;
}

static bool set_write(fz_conf_writer *writer, const fz_conf_option *option, unsigned bits) {
    const char *before = " [";
    for (unsigned bit = 1; bit && bit <= bits; bit <<= 1) {
        if (bits & bit) {
            fz_buf_printf(writer->out, "%s%s", before, fz_conf_words_name(option->words, bit));
            before = ", ";
        }
    }
    fz_buf_printf(writer->out, "]\n");
    return bits != 0;
}

static bool pairs_write(fz_conf_writer *writer, const fz_conf_option *option,
                        const fz_config_pairs *pairs) {
    fz_buf_append_byte(writer->out, '\n');
    for (size_t i = 0; i < pairs->count; i++) {
        const fz_config_pair *pair = &pairs->items[i];
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "  ");
        // Keys are not expanded, so `${` in one stays as it is: quoting would double its '$'.
        fz_buf key = {0};
        fz_conf_scalar_write(&key, pair->key);
        for (size_t k = 0; k < key.size; k++) {
            bool doubled = key.data[k] == '$' && k + 2 < key.size && key.data[k + 1] == '$' &&
                           key.data[k + 2] == '{';
            k += doubled;
            fz_buf_append_byte(writer->out, key.data[k]);
        }
        fz_buf_deinit(&key);
        fz_buf_printf(writer->out, ": ");
        bool secret = (option->flags & FZ_CONF_HEADERS) || fz_conf_name_is_secret(pair->key);
        if (secret && pair->value.size) {
            fz_buf_printf(writer->out, "\"***\"");
        } else {
            fz_conf_masked_write(writer->out, pair->value);
        }
        fz_buf_append_byte(writer->out, '\n');
    }
    return pairs->count > 0;
}

static bool blocks_write(fz_conf_writer *writer, const fz_conf_table *table, const void *field) {
    struct {
        const char *items;
        size_t count;
    } list;
    memcpy(&list, field, sizeof(list));
    fz_buf_append_byte(writer->out, '\n');
    for (size_t i = 0; i < list.count; i++) {
        size_t start = writer->out->size;
        fz_conf_writer below = {writer->out, writer->indent + 4};
        fz_conf_block_write(&below, table, list.items + i * table->size);
        if (writer->out->size == start) {
            fz_buf_printf(writer->out, "%*s{}\n", writer->indent + 4, "");
        }
        if (writer->out->data && !writer->out->failed) {
            writer->out->data[start + (size_t)writer->indent + 2] = '-';
        }
    }
    return list.count > 0;
}

/** The value behind "name:", false if it is unset. */
static bool option_write(fz_conf_writer *writer, const fz_conf_option *option, const void *field) {
    fz_buf *out = writer->out;
    const fz_str *text = field;
    fz_conf_writer below = {out, writer->indent + 2};
    size_t start;
    switch (option->kind) {
    case FZ_CONF_TEXT:
    case FZ_CONF_PATH:
        fz_buf_append_byte(out, ' ');
        if (option->flags & FZ_CONF_PLACE) {
            fz_conf_scalar_write(out, *text);
        } else {
            fz_conf_masked_write(out, *text);
        }
        fz_buf_append_byte(out, '\n');
        return text->size > 0;
    case FZ_CONF_SECRET:
        fz_buf_printf(out, " \"***\"\n");
        return text->size > 0;
    case FZ_CONF_BOOL:
        fz_buf_printf(out, " %s\n", *(const bool *)field ? "true" : "false");
        return true;
    case FZ_CONF_INT:
    case FZ_CONF_DURATION:
    case FZ_CONF_SIZE:
        return number_write(writer, option, *(const int64_t *)field);
    case FZ_CONF_ENUM:
        fz_buf_printf(out, " %s\n", fz_conf_words_name(option->words, *(const unsigned *)field));
        return true;
    case FZ_CONF_ENUM_SET:
        return set_write(writer, option, *(const unsigned *)field);
    case FZ_CONF_TEXTS:
        return texts_write(writer, field);
    case FZ_CONF_PAIRS:
        return pairs_write(writer, option, field);
    case FZ_CONF_BLOCK:
        fz_buf_append_byte(out, '\n');
        start = out->size;
        fz_conf_block_write(&below, option->table, field);
        return out->size > start;
    case FZ_CONF_BLOCKS:
        return blocks_write(writer, option->table, field);
    case FZ_CONF_CUSTOM:
        return option->custom->print(field, writer);
    }
    return false;
}

void fz_conf_block_write(fz_conf_writer *writer, const fz_conf_table *table, const void *block) {
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        if (option->flags & (FZ_CONF_UNPRINTED | FZ_CONF_APART)) {
            continue;
        }
        size_t start = writer->out->size;
        fz_conf_indent_write(writer);
        fz_buf_printf(writer->out, "%s:", option->name);
        if (!option_write(writer, option, (const char *)block + option->offset)) {
            writer->out->size = start;
        }
    }
}
