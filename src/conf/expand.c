// SPDX-License-Identifier: Apache-2.0
// `${NAME}` and `${NAME:-default}` in texts.
#include "conf/expand.h"

#include "conf/limits.h"

typedef struct expander {
    fz_conf_find_env find;
    void *context;
    fz_buf *out;
} expander;

static fz_code expand(const expander *x, fz_str text, int depth, fz_err *err);

static bool is_name_byte(char c, bool first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/** Index of the `}` that ends what starts at `from`, counting braces between; SIZE_MAX if none. */
static size_t end_find(fz_str text, size_t from) {
    size_t open = 0;
    for (size_t i = from; i < text.size; i++) {
        if (text.data[i] == '{') {
            open++;
        } else if (text.data[i] == '}') {
            if (open == 0) {
                return i;
            }
            open--;
        }
    }
    return SIZE_MAX;
}

/** What stands between `${` and `}`. */
static fz_code variable_expand(const expander *x, fz_str inside, int depth, fz_err *err) {
    size_t size = 0;
    while (size < inside.size && is_name_byte(inside.data[size], size == 0)) {
        size++;
    }
    fz_str rest = fz_str_slice(inside, size, inside.size);
    bool has_default = fz_str_starts_with(rest, FZ_STR(":-"));
    char name[256];
    if (size == 0 || size >= sizeof(name) || (rest.size && !has_default)) {
        return fz_err_set(err, FZ_INVALID,
                          "\"${%.*s}\" is not a variable, wanted \"${NAME}\" or "
                          "\"${NAME:-default}\" (\"$${\" for a plain \"${\")",
                          FZ_STR_ARGS(fz_str_slice(inside, 0, 100)));
    }
    memcpy(name, inside.data, size);
    name[size] = '\0';
    const char *value = x->find(name, x->context);
    if (has_default && (!value || !*value)) {
        return expand(x, fz_str_slice(rest, 2, rest.size), depth + 1, err);
    }
    if (!value) {
        return fz_err_set(err, FZ_INVALID, "the environment variable \"%s\" is not set", name);
    }
    fz_buf_append_str(x->out, fz_str_from(value));
    return FZ_OK;
}

static fz_code expand(const expander *x, fz_str text, int depth, fz_err *err) {
    if (depth > FZ_CONFIG_MAX_EXPAND_DEPTH) {
        return fz_err_set(err, FZ_LIMIT, "defaults of variables are nested deeper than %d",
                          FZ_CONFIG_MAX_EXPAND_DEPTH);
    }
    for (size_t i = 0; i < text.size;) {
        fz_str left = fz_str_slice(text, i, text.size);
        if (fz_str_starts_with(left, FZ_STR("$${"))) {
            fz_buf_append_str(x->out, FZ_STR("${"));
            i += 3;
        } else if (fz_str_starts_with(left, FZ_STR("${"))) {
            size_t end = end_find(text, i + 2);
            if (end == SIZE_MAX) {
                return fz_err_set(err, FZ_INVALID, "\"${\" without its \"}\"");
            }
            FZ_TRY(variable_expand(x, fz_str_slice(text, i + 2, end), depth, err));
            i = end + 1;
        } else {
            fz_buf_append_byte(x->out, (uint8_t)text.data[i++]);
        }
    }
    return FZ_OK;
}

fz_code fz_conf_expand(fz_str text, fz_conf_find_env find, void *context, fz_buf *out,
                       fz_err *err) {
    expander x = {find, context, out};
    FZ_TRY(expand(&x, text, 0, err));
    return fz_buf_check(out, "text with its variables", err);
}
