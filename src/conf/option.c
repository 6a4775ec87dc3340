// SPDX-License-Identifier: Apache-2.0
// Looking into option tables, and guessing what was meant.
#include "conf/option.h"

#include "base/memory.h"

const fz_conf_option *fz_conf_table_find(const fz_conf_table *table, fz_str name) {
    for (size_t i = 0; i < table->count; i++) {
        if (fz_str_equal(fz_str_from(table->options[i].name), name)) {
            return &table->options[i];
        }
    }
    return NULL;
}

/** Edits between two words, case and '-' against '_' not counted; SIZE_MAX when too far to be
 * meant. */
static size_t distance_near(fz_str wanted, fz_str found) {
    char a[64];
    char b[64];
    if (wanted.size > sizeof(a) || found.size > sizeof(b)) {
        return SIZE_MAX;
    }
    const fz_str in[2] = {wanted, found};
    char *const out[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < in[k].size; i++) {
            char c = in[k].data[i];
            out[k][i] = c == '-' ? '_' : (c >= 'A' && c <= 'Z') ? (char)(c + 32) : c;
        }
    }
    size_t edits = fz_str_distance(fz_str_make(a, wanted.size), fz_str_make(b, found.size));
    return edits <= (wanted.size < 4 ? 1 : 1 + wanted.size / 4) ? edits : SIZE_MAX;
}

/** Append the path of the first option called exactly `name` below `table`. */
static bool below_find(const fz_conf_table *table, fz_str name, fz_buf *out) {
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        if (!option->table) {
            continue;
        }
        size_t size = out->size;
        fz_buf_printf(out, "%s.", option->name);
        if (fz_conf_table_find(option->table, name)) {
            fz_buf_append_str(out, name);
            return true;
        }
        if (below_find(option->table, name, out)) {
            return true;
        }
        out->size = size;
    }
    return false;
}

bool fz_conf_table_suggest(const fz_conf_table *table, fz_str name, fz_buf *out) {
    size_t best = SIZE_MAX;
    const char *found = NULL;
    for (size_t i = 0; i < table->count; i++) {
        size_t edits = distance_near(fz_str_from(table->options[i].name), name);
        if (edits < best) {
            best = edits;
            found = table->options[i].name;
        }
    }
    if (found) {
        fz_buf_printf(out, "%s", found);
        return true;
    }
    return below_find(table, name, out);
}

const fz_conf_word *fz_conf_words_find(const fz_conf_word *words, fz_str text) {
    for (; words->word; words++) {
        fz_str word = fz_str_from(words->word);
        bool equal = word.size == text.size;
        for (size_t i = 0; equal && i < word.size; i++) {
            fz_str a = text.data[i] == '-' ? FZ_STR("_") : fz_str_slice(text, i, i + 1);
            fz_str b = word.data[i] == '-' ? FZ_STR("_") : fz_str_slice(word, i, i + 1);
            equal = fz_str_equal_nocase(a, b);
        }
        if (equal) {
            return words;
        }
    }
    return NULL;
}

const char *fz_conf_words_suggest(const fz_conf_word *words, fz_str text) {
    size_t best = SIZE_MAX;
    const char *found = NULL;
    for (; words->word; words++) {
        size_t edits = distance_near(fz_str_from(words->word), text);
        if (edits < best) {
            best = edits;
            found = words->word;
        }
    }
    return found;
}

const char *fz_conf_words_name(const fz_conf_word *words, unsigned value) {
    for (; words->word; words++) {
        if (words->value == value) {
            return words->word;
        }
    }
    return "?";
}
