// SPDX-License-Identifier: Apache-2.0
// Bytes as text: base64, hex, UTF-8, percent encoding, UUID.
#ifndef FZ_BASE_CODEC_TEXT_CODEC_H
#define FZ_BASE_CODEC_TEXT_CODEC_H

#include "base/buf.h"

/** Append standard base64 with padding. */
void fz_base64_encode(fz_buf *out, fz_str bytes);
/** Append the bytes; INVALID for a character outside the alphabet or bad padding (padding may be
 * missing). */
FZ_CHECKED fz_code fz_base64_decode(fz_buf *out, fz_str text, fz_err *err);
/** Append lower-case hex. */
void fz_hex_encode(fz_buf *out, fz_str bytes);
FZ_CHECKED fz_code fz_hex_decode(fz_buf *out, fz_str text, fz_err *err);
/** Well-formed UTF-8: no surrogates, no overlong form, at most U+10FFFF. Fast on ASCII. */
bool fz_utf8_valid(const void *data, size_t size);
/** Append text; each byte that is no part of well-formed UTF-8 as U+FFFD. */
void fz_utf8_append_lossy(fz_buf *out, fz_str text);
/** Bytes of the first `count` code points of valid UTF-8. */
size_t fz_utf8_prefix(fz_str text, size_t count);
/** Append a code point. */
void fz_utf8_append(fz_buf *out, uint32_t code_point);
/** Append with %XX for all but unreserved characters (RFC 3986) and those in `keep`. */
void fz_percent_encode(fz_buf *out, fz_str text, const char *keep);
/** Append decoded; a '%' without two digits stays. */
void fz_percent_decode(fz_buf *out, fz_str text);
/** 8-4-4-4-12 hex of any case to 16 bytes; false if it is not that. */
bool fz_uuid_parse(fz_str text, uint8_t out[16]);
/** 36 characters in lower case and a zero byte. */
void fz_uuid_format(const uint8_t bytes[16], char out[37]);

#endif
