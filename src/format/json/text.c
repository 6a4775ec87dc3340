// SPDX-License-Identifier: Apache-2.0
// RFC 8259, strictly; escapes of surrogates in pairs only.
#include "format/json/text.h"

#include <stdio.h>

#include "base/codec/text_codec.h"

// --- failures ---

const uint8_t *fz_json_bad(fz_json_reader *reader, const uint8_t *at, const char *kind,
                           const char *what) {
    reader->code = fz_err_set_kind(reader->err, FZ_CORRUPT, kind, "json: %s at byte %lld", what,
                                   (long long)(at - reader->begin));
    reader->soft = false;
    if (reader->err) {
        reader->err->offset = at - reader->begin;
    }
    return NULL;
}

const uint8_t *fz_json_unexpected(fz_json_reader *reader, const uint8_t *at, const char *wanted) {
    char what[80];
    bool cut = at >= reader->end;
    snprintf(what, sizeof(what), cut ? "the end, wanted %s" : "no %s where one is wanted", wanted);
    return fz_json_bad(reader, at, cut ? "truncated" : "malformed", what);
}

// --- texts ---

// Four hex digits, -1 if they are none.
static int32_t hex4(const uint8_t *p, const uint8_t *end) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int byte = p + i < end ? p[i] : 0;
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

// `p` behind \u.
static const uint8_t *read_unicode(fz_json_reader *reader, const uint8_t *p) {
    const uint8_t *end = reader->end;
    int32_t unit = hex4(p, end);
    if (unit < 0) {
        return fz_json_bad(reader, p, end - p < 4 ? "truncated" : "malformed",
                           "\\u without four hex digits");
    }
    if (unit < 0xD800 || unit > 0xDFFF) {
        fz_utf8_append(reader->text, (uint32_t)unit);
        return p + 4;
    }
    int32_t low = -1;
    if (unit < 0xDC00 && end - p >= 6 && p[4] == '\\' && p[5] == 'u') {
        low = hex4(p + 6, end);
    }
    if (low < 0xDC00 || low > 0xDFFF) {
        return fz_json_bad(reader, p, "invalid_utf8", "an escape of half a surrogate pair");
    }
    fz_utf8_append(reader->text,
                   0x10000 + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
    return p + 10;
}

static const uint8_t *read_escape(fz_json_reader *reader, const uint8_t *p) {
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (p >= reader->end) {
        return fz_json_unexpected(reader, p, "escape");
    }
    if (*p == 'u') {
        return read_unicode(reader, p + 1);
    }
    const char *found = *p ? strchr(from, *p) : NULL;
    if (!found) {
        return fz_json_bad(reader, p, "malformed", "an unknown escape");
    }
    fz_buf_append_byte(reader->text, (uint8_t)to[found - from]);
    return p + 1;
}

const uint8_t *fz_json_read_text_slow(fz_json_reader *reader, const uint8_t *p, fz_str *out) {
    const uint8_t *start = p;
    bool escaped = false;
    for (;;) {
        unsigned high = 0;
        const uint8_t *stop = fz_json_plain(p, reader->end, &high);
        if (high && !fz_utf8_valid(p, (size_t)(stop - p))) {
            return fz_json_bad(reader, p, "invalid_utf8", "a text that is not UTF-8");
        }
        if (stop >= reader->end) {
            return fz_json_bad(reader, stop, "truncated", "the end inside a text");
        }
        if (*stop < 0x20) {
            return fz_json_bad(reader, stop, "malformed", "a control character in a text");
        }
        if (*stop == '"' && !escaped) {
            *out = fz_str_make(start, (size_t)(stop - start));
            return stop + 1;
        }
        if (!escaped) {
            fz_buf_reset(reader->text);
            escaped = true;
        }
        fz_buf_append(reader->text, p, (size_t)(stop - p));
        if (*stop == '"') {
            reader->code = fz_buf_check(reader->text, "a text with escapes", reader->err);
            *out = fz_buf_view(reader->text);
            return reader->code == FZ_OK ? stop + 1 : NULL;
        }
        p = read_escape(reader, stop + 1);
        if (!p) {
            return NULL;
        }
    }
}

// --- numbers and words ---

const uint8_t *fz_json_read_number(fz_json_reader *reader, const uint8_t *p, fz_json_number *out) {
    const uint8_t *fault = NULL;
    const uint8_t *next = fz_json_number_scan(p, reader->end, out, &fault);
    if (FZ_UNLIKELY(!next)) {
        return fz_json_bad(reader, fault, fault >= reader->end ? "truncated" : "malformed",
                           "not a number");
    }
    return next;
}

const uint8_t *fz_json_read_word(fz_json_reader *reader, const uint8_t *p, const char *word,
                                 size_t size) {
    size_t left = (size_t)(reader->end - p);
    if (FZ_LIKELY(left >= size && memcmp(p, word, size) == 0)) {
        return p + size;
    }
    bool cut = left < size && memcmp(p, word, left) == 0;
    return fz_json_bad(reader, p, cut ? "truncated" : "malformed", "no value");
}

// --- values that nobody wants ---

static const uint8_t *skip_name(fz_json_reader *reader, const uint8_t *p) {
    fz_str name;
    p = fz_json_space(p, reader->end);
    if (p >= reader->end || *p != '"') {
        return fz_json_unexpected(reader, p, "name");
    }
    p = fz_json_read_text(reader, p, &name);
    if (!p) {
        return NULL;
    }
    p = fz_json_space(p, reader->end);
    return p < reader->end && *p == ':' ? p + 1 : fz_json_unexpected(reader, p, "colon");
}

static const uint8_t *skip_scalar(fz_json_reader *reader, const uint8_t *p) {
    fz_str text;
    fz_json_number number;
    switch (*p) {
    case '"':
        return fz_json_read_text(reader, p, &text);
    case 't':
        return fz_json_read_word(reader, p, "true", 4);
    case 'f':
        return fz_json_read_word(reader, p, "false", 5);
    case 'n':
        return fz_json_read_word(reader, p, "null", 4);
    default:
        return fz_json_is_number(*p) ? fz_json_read_number(reader, p, &number)
                                     : fz_json_unexpected(reader, p, "value");
    }
}

// The brackets that are open, a bit a level.
typedef struct brackets {
    size_t depth;
    uint8_t objects[FZ_JSON_DEPTH / 8];
} brackets;

static bool in_object(const brackets *b) {
    return b->objects[(b->depth - 1) >> 3] >> ((b->depth - 1) & 7) & 1;
}

// `p` at a bracket; *first: a value or name comes next.
static const uint8_t *open_bracket(fz_json_reader *reader, brackets *b, const uint8_t *p,
                                   bool *first) {
    if (b->depth == FZ_JSON_DEPTH) {
        return fz_json_bad(reader, p, "depth_limit", "nested deeper than 512 levels");
    }
    bool object = *p == '{';
    uint8_t bit = (uint8_t)(1u << (b->depth & 7));
    uint8_t *bits = &b->objects[b->depth >> 3];
    *bits = (uint8_t)(object ? *bits | bit : *bits & ~bit);
    b->depth++;
    p = fz_json_space(p + 1, reader->end);
    *first = !(p < reader->end && *p == (object ? '}' : ']'));
    return *first && object ? skip_name(reader, p) : p;
}

// Behind a value: over what closes, to the next value. *done: there is none.
static const uint8_t *next_item(fz_json_reader *reader, brackets *b, const uint8_t *p, bool *done) {
    while (b->depth > 0) {
        p = fz_json_space(p, reader->end);
        bool object = in_object(b);
        if (p < reader->end && *p == ',') {
            return object ? skip_name(reader, p + 1) : p + 1;
        }
        if (p >= reader->end || *p != (object ? '}' : ']')) {
            return fz_json_unexpected(reader, p, object ? "comma or }" : "comma or ]");
        }
        p++;
        b->depth--;
    }
    *done = true;
    return p;
}

const uint8_t *fz_json_skip(fz_json_reader *reader, const uint8_t *p) {
    brackets b;
    b.depth = 0;
    for (;;) {
        p = fz_json_space(p, reader->end);
        if (p >= reader->end) {
            return fz_json_unexpected(reader, p, "value");
        }
        if (*p == '{' || *p == '[') {
            bool first = false;
            p = open_bracket(reader, &b, p, &first);
            if (!p) {
                return NULL;
            }
            if (first) {
                continue;
            }
        } else {
            p = skip_scalar(reader, p);
        }
        bool done = false;
        p = p ? next_item(reader, &b, p, &done) : NULL;
        if (!p || done) {
            return p;
        }
    }
}
