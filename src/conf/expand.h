// SPDX-License-Identifier: Apache-2.0
// `${NAME}` and `${NAME:-default}` in texts.
#ifndef FZ_CONF_EXPAND_H
#define FZ_CONF_EXPAND_H

#include "base/buf.h"

/** Value of a variable, NULL if it is not set. */
typedef const char *(*fz_conf_find_env)(const char *name, void *context);

/**
 * Append `text` with its variables replaced; `$${` stands for `${`.
 *
 * A default is taken when the variable is not set or empty, and may hold variables itself. What
 * comes out of a variable is not looked at again. Errors: INVALID naming the variable that is not
 * set, or a `${` without its end; LIMIT out's ceiling or nested defaults.
 */
FZ_CHECKED fz_code fz_conf_expand(fz_str text, fz_conf_find_env find, void *context, fz_buf *out,
                                  fz_err *err);

#endif
