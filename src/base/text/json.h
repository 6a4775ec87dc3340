// SPDX-License-Identifier: Apache-2.0
// Documents in JSON through jansson, with errors that name the place.
#ifndef FZ_BASE_TEXT_JSON_H
#define FZ_BASE_TEXT_JSON_H

#include <jansson.h>

#include "base/buf.h"

/** A new reference; CORRUPT with line and column, DECODE_ANY, NUL allowed in strings, duplicate
 * keys: last wins. */
FZ_CHECKED fz_code fz_json_parse(fz_str text, json_t **out, fz_err *err);
/** Append compact text; member order kept. */
FZ_CHECKED fz_code fz_json_format(const json_t *json, fz_buf *out, fz_err *err);
/** A new string value; text must be UTF-8. */
json_t *fz_json_string(fz_str text);
/** Set a string member. */
void fz_json_set_str(json_t *object, const char *key, fz_str text);
void fz_json_set_int(json_t *object, const char *key, int64_t value);
/** View of a string, empty when it is not one. */
fz_str fz_json_view(const json_t *json);
/** Member as text: CORRUPT naming `key` and `where` when absent or not a string. The view lives as
 * long as the object. */
FZ_CHECKED fz_code fz_json_get_str(const json_t *object, const char *key, const char *where,
                                   fz_str *out, fz_err *err);
/** Member as integer; a string of digits is not one. */
FZ_CHECKED fz_code fz_json_get_int(const json_t *object, const char *key, const char *where,
                                   int64_t *out, fz_err *err);
/** Member as integer, or `fallback` when absent or null. */
int64_t fz_json_int_or(const json_t *object, const char *key, int64_t fallback);
/** Member as text, or empty. */
fz_str fz_json_str_or(const json_t *object, const char *key);

/** For FZ_CLEANUP: json_decref and NULL. */
void fz_json_release(json_t **json);

#endif
