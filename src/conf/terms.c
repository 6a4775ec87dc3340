// SPDX-License-Identifier: Apache-2.0
// Transforms of columns and sort orders as text.
#include "conf/lexer.h"

#include "base/vec.h"

typedef struct transform_name {
    const char *name;
    fz_transform_kind kind;
} transform_name;

/** The first name of a kind is how it is printed; the plural forms are Spark's. */
static const transform_name transform_names[] = {
    {"identity", FZ_TRANSFORM_IDENTITY}, {"bucket", FZ_TRANSFORM_BUCKET},
    {"truncate", FZ_TRANSFORM_TRUNCATE}, {"year", FZ_TRANSFORM_YEAR},
    {"years", FZ_TRANSFORM_YEAR},        {"month", FZ_TRANSFORM_MONTH},
    {"months", FZ_TRANSFORM_MONTH},      {"day", FZ_TRANSFORM_DAY},
    {"days", FZ_TRANSFORM_DAY},          {"date", FZ_TRANSFORM_DAY},
    {"hour", FZ_TRANSFORM_HOUR},         {"hours", FZ_TRANSFORM_HOUR},
    {"date_hour", FZ_TRANSFORM_HOUR},    {"void", FZ_TRANSFORM_VOID},
};

static fz_code path_read(fz_conf_lexer *lexer, fz_str first, fz_config_texts *out, fz_err *err) {
    FZ_VEC(fz_str) names = {0};
    fz_code code = FZ_OK;
    fz_vec_push(&names, first);
    while (code == FZ_OK && fz_conf_lexer_take(lexer, '.')) {
        fz_str name = {0};
        code = fz_conf_lexer_name(lexer, &name, NULL, err);
        fz_vec_push(&names, name);
    }
    if (code == FZ_OK) {
        out->items = FZ_ARENA_ARRAY(lexer->arena, fz_str, names.count);
        memcpy(out->items, names.data, names.count * sizeof(fz_str));
        out->count = names.count;
    }
    fz_vec_deinit(&names);
    return code;
}

static fz_code column_read(fz_conf_lexer *lexer, fz_config_texts *out, fz_err *err) {
    fz_str first = {0};
    FZ_TRY(fz_conf_lexer_name(lexer, &first, NULL, err));
    return path_read(lexer, first, out, err);
}

static bool digit_next(fz_conf_lexer *lexer) {
    (void)fz_conf_lexer_done(lexer);
    return lexer->pos < lexer->text.size && lexer->text.data[lexer->pos] >= '0' &&
           lexer->text.data[lexer->pos] <= '9';
}

/** What is inside the brackets: `column`, `16, column` or Spark's `column, 16`. */
static fz_code arguments_read(fz_conf_lexer *lexer, fz_config_term *term, fz_err *err) {
    bool wants = term->transform.kind == FZ_TRANSFORM_BUCKET ||
                 term->transform.kind == FZ_TRANSFORM_TRUNCATE;
    if (!wants) {
        FZ_TRY(column_read(lexer, &term->path, err));
    } else if (digit_next(lexer)) {
        FZ_TRY(fz_conf_lexer_number(lexer, 1, INT32_MAX, &term->transform.parameter, err));
        if (!fz_conf_lexer_take(lexer, ',')) {
            return fz_conf_lexer_fail(lexer, "\",\" and a column", err);
        }
        FZ_TRY(column_read(lexer, &term->path, err));
    } else {
        FZ_TRY(column_read(lexer, &term->path, err));
        if (!fz_conf_lexer_take(lexer, ',')) {
            return fz_conf_lexer_fail(lexer, "\",\" and a number", err);
        }
        FZ_TRY(fz_conf_lexer_number(lexer, 1, INT32_MAX, &term->transform.parameter, err));
    }
    if (!fz_conf_lexer_take(lexer, ')')) {
        return fz_conf_lexer_fail(lexer, "\")\"", err);
    }
    return FZ_OK;
}

static fz_code transform_find(fz_str name, fz_transform_kind *out, fz_err *err) {
    for (size_t i = 0; i < FZ_COUNT(transform_names); i++) {
        if (fz_str_equal_nocase(name, fz_str_from(transform_names[i].name))) {
            *out = transform_names[i].kind;
            return FZ_OK;
        }
    }
    return fz_err_set(err, FZ_INVALID,
                      "unknown transform \"%.*s\", wanted identity, bucket, truncate, year, month, "
                      "day, hour or void",
                      FZ_STR_ARGS(fz_str_slice(name, 0, 100)));
}

static fz_code term_read(fz_conf_lexer *lexer, fz_config_term *out, fz_err *err) {
    fz_str first = {0};
    bool quoted = false;
    FZ_TRY(fz_conf_lexer_name(lexer, &first, &quoted, err));
    if (!quoted && fz_conf_lexer_take(lexer, '(')) {
        FZ_TRY(transform_find(first, &out->transform.kind, err));
        return arguments_read(lexer, out, err);
    }
    out->transform.kind = FZ_TRANSFORM_IDENTITY;
    return path_read(lexer, first, &out->path, err);
}

fz_code fz_conf_term_parse(fz_arena *arena, fz_str text, fz_config_term *out, fz_err *err) {
    fz_conf_lexer lexer = {.text = text, .arena = arena};
    fz_config_term term = {0};
    FZ_TRY(term_read(&lexer, &term, err));
    if (!fz_conf_lexer_done(&lexer)) {
        return fz_conf_lexer_fail(&lexer, "the end", err);
    }
    *out = term;
    return FZ_OK;
}

static fz_code zorder_read(fz_conf_lexer *lexer, fz_config_sort *out, fz_err *err) {
    FZ_VEC(fz_config_term) terms = {0};
    fz_code code = FZ_OK;
    do {
        fz_config_term term = {0};
        code = column_read(lexer, &term.path, err);
        fz_vec_push(&terms, term);
    } while (code == FZ_OK && fz_conf_lexer_take(lexer, ','));
    if (code == FZ_OK && !fz_conf_lexer_take(lexer, ')')) {
        code = fz_conf_lexer_fail(lexer, "\",\" or \")\"", err);
    }
    if (code == FZ_OK) {
        out->terms.items = FZ_ARENA_ARRAY(lexer->arena, fz_config_term, terms.count);
        memcpy(out->terms.items, terms.data, terms.count * sizeof(fz_config_term));
        out->terms.count = terms.count;
    }
    fz_vec_deinit(&terms);
    return code;
}

fz_code fz_conf_sort_parse(fz_arena *arena, fz_str text, fz_config_sort *out, fz_err *err) {
    fz_conf_lexer lexer = {.text = text, .arena = arena};
    fz_config_sort sort = {0};
    if (fz_conf_lexer_word(&lexer, "zorder") && fz_conf_lexer_take(&lexer, '(')) {
        sort.zorder = true;
        FZ_TRY(zorder_read(&lexer, &sort, err));
    } else {
        lexer.pos = 0;
        sort.terms.items = FZ_ARENA_NEW(arena, fz_config_term);
        sort.terms.count = 1;
        FZ_TRY(term_read(&lexer, sort.terms.items, err));
        sort.descending = fz_conf_lexer_word(&lexer, "desc");
        if (!sort.descending) {
            (void)fz_conf_lexer_word(&lexer, "asc");
        }
        sort.nulls_last = sort.descending; // Spark's and Iceberg's default
        if (fz_conf_lexer_word(&lexer, "nulls")) {
            sort.nulls_last = fz_conf_lexer_word(&lexer, "last");
            if (!sort.nulls_last && !fz_conf_lexer_word(&lexer, "first")) {
                return fz_conf_lexer_fail(&lexer, "\"first\" or \"last\"", err);
            }
        }
    }
    if (!fz_conf_lexer_done(&lexer)) {
        return fz_conf_lexer_fail(&lexer, "\"asc\", \"desc\", \"nulls first\", \"nulls last\"",
                                  err);
    }
    *out = sort;
    return FZ_OK;
}

/** Bare where it reads back so, else in quotes. */
static void name_format(fz_str name, fz_buf *out) {
    bool bare = name.size > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.data[i];
        bare &= c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                (c >= 'A' && c <= 'Z');
    }
    if (bare) {
        fz_buf_append_str(out, name);
        return;
    }
    fz_buf_append_byte(out, '"');
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '"') {
            fz_buf_append_byte(out, '"');
        }
        fz_buf_append_byte(out, (uint8_t)name.data[i]);
    }
    fz_buf_append_byte(out, '"');
}

static void path_format(const fz_config_texts *path, fz_buf *out) {
    for (size_t i = 0; i < path->count; i++) {
        fz_buf_printf(out, "%s", i ? "." : "");
        name_format(path->items[i], out);
    }
}

void fz_conf_term_format(const fz_config_term *term, fz_buf *out) {
    const char *name = "";
    for (size_t i = FZ_COUNT(transform_names); i-- > 0;) {
        if (transform_names[i].kind == term->transform.kind) {
            name = transform_names[i].name;
        }
    }
    if (term->transform.kind == FZ_TRANSFORM_IDENTITY) {
        path_format(&term->path, out);
        return;
    }
    fz_buf_printf(out, "%s(", name);
    if (term->transform.parameter) {
        fz_buf_printf(out, "%d, ", term->transform.parameter);
    }
    path_format(&term->path, out);
    fz_buf_append_byte(out, ')');
}

void fz_conf_sort_format(const fz_config_sort *sort, fz_buf *out) {
    if (sort->zorder) {
        fz_buf_printf(out, "zorder(");
        for (size_t i = 0; i < sort->terms.count; i++) {
            fz_buf_printf(out, "%s", i ? ", " : "");
            path_format(&sort->terms.items[i].path, out);
        }
        fz_buf_append_byte(out, ')');
        return;
    }
    fz_conf_term_format(&sort->terms.items[0], out);
    fz_buf_printf(out, " %s nulls %s", sort->descending ? "desc" : "asc",
                  sort->nulls_last ? "last" : "first");
}
