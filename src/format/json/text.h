// SPDX-License-Identifier: Apache-2.0
// JSON's grammar over untrusted bytes (RFC 8259): texts, numbers, words, values that nobody wants.
#ifndef FZ_FORMAT_JSON_TEXT_H
#define FZ_FORMAT_JSON_TEXT_H

#include "base/buf.h"
#include "base/error.h"
#include "format/json/number.h"
#include "format/json/scan.h"

/** Levels of a value that is passed over or kept as text. */
#define FZ_JSON_DEPTH 512

/** A text that is being read. Its calls take the position of what they read and answer that behind
 * it, or NULL with `code` and `err` set. */
typedef struct fz_json_reader {
    const uint8_t *begin;
    const uint8_t *end;
    fz_buf *text; // holds a text with escapes until the next one is read
    fz_err *err;
    fz_code code;   // of the failure
    bool soft;      // the failure is one of the value: the grammar holds
    unsigned quiet; // failures of values are only tried: no message
} fz_json_reader;

/** The grammar does not hold, or the text is not UTF-8: NULL. */
const uint8_t *fz_json_bad(fz_json_reader *reader, const uint8_t *at, const char *kind,
                           const char *what);
/** Something else is wanted at `at`: truncated at the end, else malformed. */
const uint8_t *fz_json_unexpected(fz_json_reader *reader, const uint8_t *at, const char *wanted);

/** The rest of a text that has escapes or is not ASCII; `p` at its first byte. */
const uint8_t *fz_json_read_text_slow(fz_json_reader *reader, const uint8_t *p, fz_str *out);
/** A text, `p` at its quote; *out in place or in reader->text. */
static inline const uint8_t *fz_json_read_text(fz_json_reader *reader, const uint8_t *p,
                                               fz_str *out) {
    unsigned high = 0;
    const uint8_t *stop = fz_json_plain(p + 1, reader->end, &high);
    if (FZ_LIKELY(stop < reader->end && *stop == '"' && !high)) {
        *out = fz_str_make(p + 1, (size_t)(stop - p - 1));
        return stop + 1;
    }
    return fz_json_read_text_slow(reader, p + 1, out);
}
/** A number, `p` at its first byte. */
const uint8_t *fz_json_read_number(fz_json_reader *reader, const uint8_t *p, fz_json_number *out);
/** true, false or null. */
const uint8_t *fz_json_read_word(fz_json_reader *reader, const uint8_t *p, const char *word,
                                 size_t size);
/** Any value, checked. Errors: kind depth_limit beyond FZ_JSON_DEPTH. */
const uint8_t *fz_json_skip(fz_json_reader *reader, const uint8_t *p);

static inline bool fz_json_is_number(uint8_t c) {
    return c == '-' || (c >= '0' && c <= '9');
}

#endif
