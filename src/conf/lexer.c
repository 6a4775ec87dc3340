// SPDX-License-Identifier: Apache-2.0
// Words, names and numbers of the small languages inside texts.
#include "conf/lexer.h"

#include <stdio.h>

#include "base/text/number.h"

static void space_skip(fz_conf_lexer *lexer) {
    while (lexer->pos < lexer->text.size && strchr(" \t\r\n", lexer->text.data[lexer->pos]) &&
           lexer->text.data[lexer->pos]) {
        lexer->pos++;
    }
}

/** Letters, digits, '_', '-', '$' and everything beyond ASCII. */
static bool is_word_byte(char c) {
    unsigned char b = (unsigned char)c;
    return b >= 0x80 || b == '_' || b == '-' || b == '$' || (b >= '0' && b <= '9') ||
           (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
}

static fz_str word_peek(fz_conf_lexer *lexer) {
    space_skip(lexer);
    size_t end = lexer->pos;
    while (end < lexer->text.size && is_word_byte(lexer->text.data[end])) {
        end++;
    }
    return fz_str_slice(lexer->text, lexer->pos, end);
}

bool fz_conf_lexer_done(fz_conf_lexer *lexer) {
    space_skip(lexer);
    return lexer->pos == lexer->text.size;
}

bool fz_conf_lexer_take(fz_conf_lexer *lexer, char c) {
    space_skip(lexer);
    if (lexer->pos < lexer->text.size && lexer->text.data[lexer->pos] == c) {
        lexer->pos++;
        return true;
    }
    return false;
}

bool fz_conf_lexer_word(fz_conf_lexer *lexer, const char *word) {
    fz_str next = word_peek(lexer);
    if (!fz_str_equal_nocase(next, fz_str_from(word))) {
        return false;
    }
    lexer->pos += next.size;
    return true;
}

fz_code fz_conf_lexer_fail(const fz_conf_lexer *lexer, const char *what, fz_err *err) {
    fz_str rest = fz_str_slice(lexer->text, lexer->pos, lexer->pos + 20);
    if (rest.size == 0) {
        return fz_err_set(err, FZ_INVALID, "wanted %s, found the end", what);
    }
    return fz_err_set(err, FZ_INVALID, "wanted %s at character %zu, found \"%.*s\"", what,
                      lexer->pos + 1, FZ_STR_ARGS(rest));
}

/** A name in quotes; the quote itself is written twice. */
static fz_code quoted_read(fz_conf_lexer *lexer, char quote, fz_str *out, fz_err *err) {
    fz_buf name = {0};
    size_t i = lexer->pos + 1;
    for (;; i++) {
        if (i >= lexer->text.size) {
            fz_buf_deinit(&name);
            return fz_err_set(err, FZ_INVALID, "the quote at character %zu has no end",
                              lexer->pos + 1);
        }
        if (lexer->text.data[i] == quote) {
            if (i + 1 < lexer->text.size && lexer->text.data[i + 1] == quote) {
                i++;
            } else {
                break;
            }
        }
        fz_buf_append_byte(&name, (uint8_t)lexer->text.data[i]);
    }
    lexer->pos = i + 1;
    *out = fz_arena_str(lexer->arena, fz_buf_view(&name));
    fz_buf_deinit(&name);
    return FZ_OK;
}

fz_code fz_conf_lexer_name(fz_conf_lexer *lexer, fz_str *out, bool *quoted, fz_err *err) {
    fz_str word = word_peek(lexer);
    char next = lexer->pos < lexer->text.size ? lexer->text.data[lexer->pos] : '\0';
    if (quoted) {
        *quoted = next == '"' || next == '`';
    }
    if (next == '"' || next == '`') {
        return quoted_read(lexer, next, out, err);
    }
    if (word.size == 0) {
        return fz_conf_lexer_fail(lexer, "a name", err);
    }
    lexer->pos += word.size;
    *out = fz_arena_str(lexer->arena, word);
    return FZ_OK;
}

fz_code fz_conf_lexer_number(fz_conf_lexer *lexer, int64_t min, int64_t max, int32_t *out,
                             fz_err *err) {
    fz_str word = word_peek(lexer);
    int64_t value = 0;
    if (fz_int_parse(word, &value, NULL) != FZ_OK || value < min || value > max) {
        char what[80];
        snprintf(what, sizeof(what), "a number from %lld to %lld", (long long)min, (long long)max);
        return fz_conf_lexer_fail(lexer, what, err);
    }
    lexer->pos += word.size;
    *out = (int32_t)value;
    return FZ_OK;
}
