// SPDX-License-Identifier: Apache-2.0
// The small languages inside texts: transforms, sort orders, column types.
#ifndef FZ_CONF_LEXER_H
#define FZ_CONF_LEXER_H

#include "conf/config.h"

/**
 * Read `day(event_time)`, `days(a.b)`, `bucket(16, id)`, `truncate(x, 8)`, `a."odd.name"`.
 *
 * Errors: INVALID with what was found at which character.
 * Memory: names in `arena`.
 */
FZ_CHECKED fz_code fz_conf_term_parse(fz_arena *arena, fz_str text, fz_config_term *out,
                                      fz_err *err);
/** As it reads back: `bucket(16, a."odd.name")`. */
void fz_conf_term_format(const fz_config_term *term, fz_buf *out);
/** Read `TERM [asc|desc] [nulls first|last]` or `zorder(a, b)`. */
FZ_CHECKED fz_code fz_conf_sort_parse(fz_arena *arena, fz_str text, fz_config_sort *out,
                                      fz_err *err);
void fz_conf_sort_format(const fz_config_sort *sort, fz_buf *out);

/**
 * Read a column's type by Iceberg's names: `long`, `decimal(9, 2)`, `list<double not null>`,
 * `map<string, long>`, `struct<a: int not null, "odd name": fixed(4)>`.
 *
 * Ids are 0; children are optional unless `not null` follows; a map's key is always required.
 * Errors: INVALID; LIMIT for nesting and number of fields (conf/limits.h).
 */
FZ_CHECKED fz_code fz_conf_type_parse(fz_arena *arena, fz_str text, fz_type *out, fz_err *err);

/** Where reading is. */
typedef struct fz_conf_lexer {
    fz_str text;
    size_t pos;
    fz_arena *arena;
    size_t fields; // seen in a type
} fz_conf_lexer;

/** Skip white space; take `c` if it is next. */
bool fz_conf_lexer_take(fz_conf_lexer *lexer, char c);
/** A bare word or a quoted name; false if neither is next. `quoted` may be NULL. */
FZ_CHECKED fz_code fz_conf_lexer_name(fz_conf_lexer *lexer, fz_str *out, bool *quoted, fz_err *err);
/** Take `word`, case-blind, if it is the next bare word. */
bool fz_conf_lexer_word(fz_conf_lexer *lexer, const char *word);
/** INVALID: wanted `what`, found what is next. */
fz_code fz_conf_lexer_fail(const fz_conf_lexer *lexer, const char *what, fz_err *err);
/** Nothing but white space is left. */
bool fz_conf_lexer_done(fz_conf_lexer *lexer);
/** A number in [min, max] is next. */
FZ_CHECKED fz_code fz_conf_lexer_number(fz_conf_lexer *lexer, int64_t min, int64_t max,
                                        int32_t *out, fz_err *err);

#endif
