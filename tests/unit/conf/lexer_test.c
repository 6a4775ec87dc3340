// SPDX-License-Identifier: Apache-2.0
// The small languages inside texts: transforms, sort orders, column types, variables.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conf/expand.h"
#include "conf/lexer.h"
#include "conf/writer.h"

static void terms_read_and_print(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"x", "x"},
        {"identity(x)", "x"},
        {" day ( event_time ) ", "day(event_time)"},
        {"DAYS(a.b)", "day(a.b)"},
        {"date(a)", "day(a)"},
        {"date_hour(a)", "hour(a)"},
        {"bucket(16,id)", "bucket(16, id)"},
        {"bucket(id, 16)", "bucket(16, id)"},
        {"truncate(x,8)", "truncate(8, x)"},
        {"\"day\"", "day"},
        {"day", "day"},
        {"`odd \"name`.b", "\"odd \"\"name\".b"},
        {"\"a\"\"b\"", "\"a\"\"b\""},
        {"\"\"", "\"\""},
        {"a-b", "\"a-b\""},
        {"\"16\"", "\"16\""},
        {"bucket(4, \"16\")", "bucket(4, \"16\")"},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "gr\xc3\xb6\xc3\x9f"
         "e"},
        {"void(x)", "void(x)"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_arena arena = {0};
        fz_config_term term = {0};
        fz_err err = {0};
        if (fz_conf_term_parse(&arena, fz_str_from(cases[i][0]), &term, &err) != FZ_OK) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
        fz_buf out = {0};
        fz_conf_term_format(&term, &out);
        assert_string_equal(fz_buf_cstr(&out), cases[i][1]);
        fz_config_term again = {0}; // what is printed reads back
        assert_int_equal(fz_conf_term_parse(&arena, fz_buf_view(&out), &again, NULL), FZ_OK);
        assert_int_equal(again.transform.kind, term.transform.kind);
        assert_int_equal(again.transform.parameter, term.transform.parameter);
        assert_int_equal(again.path.count, term.path.count);
        fz_buf_deinit(&out);
        fz_arena_deinit(&arena);
    }
}

static void sorts_read_and_print(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"x", "x asc nulls first"},
        {"x desc", "x desc nulls last"},
        {"x DESC NULLS FIRST", "x desc nulls first"},
        {"x nulls last", "x asc nulls last"},
        {"days(t) asc", "day(t) asc nulls first"},
        {"zorder(a,b.c)", "zorder(a, b.c)"},
        {"zorder desc", "zorder desc nulls last"}, // a column of that name
        {"desc desc", "desc desc nulls last"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_arena arena = {0};
        fz_config_sort sort = {0};
        fz_err err = {0};
        if (fz_conf_sort_parse(&arena, fz_str_from(cases[i][0]), &sort, &err) != FZ_OK) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
        fz_buf out = {0};
        fz_conf_sort_format(&sort, &out);
        assert_string_equal(fz_buf_cstr(&out), cases[i][1]);
        fz_buf_deinit(&out);
        fz_arena_deinit(&arena);
    }
}

static void types_read(void **state) {
    (void)state;
    static const char *const good[] = {
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "timestamptz_ns",
        "string",
        "uuid",
        "binary",
        "decimal(38, 38)",
        "decimal(9)",
        "fixed(16)",
        "fixed[16]",
        "LIST<String>",
        "list<string not null>",
        "map<string not null, list<map<int, long>>>",
        "struct<a:int>",
        "struct<a: int not null, \"odd name\": list<double not null>, `b`: struct<c: date>>",
    };
    for (size_t i = 0; i < FZ_COUNT(good); i++) {
        fz_arena arena = {0};
        fz_type type;
        fz_err err = {0};
        if (fz_conf_type_parse(&arena, fz_str_from(good[i]), &type, &err) != FZ_OK) {
            fail_msg("%s: %s", good[i], err.text);
        }
        fz_arena_deinit(&arena);
    }
    static const char *const bad[] = {
        "",
        "integer_",
        "list",
        "list<>",
        "list<int",
        "list<int>>",
        "map<int>",
        "struct<>",
        "struct<int>",
        "struct<a int>",
        "struct<a: int, a: int>",
        "decimal",
        "decimal()",
        "decimal(0)",
        "decimal(39)",
        "decimal(5,6)",
        "decimal(-1)",
        "fixed",
        "fixed(0)",
        "fixed(4]",
        "fixed(99999999999)",
        "int not null",
        "list<int not>",
        "list<int null>",
        "\"",
        "variant",
    };
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        fz_arena arena = {0};
        fz_type type;
        if (fz_conf_type_parse(&arena, fz_str_from(bad[i]), &type, NULL) == FZ_OK) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
        fz_arena_deinit(&arena);
    }
}

static void type_limits_hold(void **state) {
    (void)state;
    fz_buf text = {0};
    for (int i = 0; i < 100000; i++) {
        fz_buf_printf(&text, "list<");
    }
    fz_arena arena = {0};
    fz_type type;
    assert_int_equal(fz_conf_type_parse(&arena, fz_buf_view(&text), &type, NULL), FZ_LIMIT);
    fz_buf_reset(&text);
    fz_buf_printf(&text, "struct<");
    for (int i = 0; i < 10001; i++) {
        fz_buf_printf(&text, "f%d: int, ", i);
    }
    fz_buf_printf(&text, "z: int>");
    assert_int_equal(fz_conf_type_parse(&arena, fz_buf_view(&text), &type, NULL), FZ_LIMIT);
    fz_arena_deinit(&arena);
    fz_buf_deinit(&text);
}

static const char *find_env(const char *name, void *context) {
    (void)context;
    return strcmp(name, "A") == 0 ? "va${A}ue" : strcmp(name, "E") == 0 ? "" : NULL;
}

static void variables_expand(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"plain $x $ {}", "plain $x $ {}"},
        {"-${A}-", "-va${A}ue-"}, // what comes out is not looked at again
        {"${E}", ""},
        {"${E:-d}", "d"},
        {"${N:-}", ""},
        {"${N:-${E:-{topic}}}x", "{topic}x"},
        {"$${A}", "${A}"},
        {"$$${A}", "$${A}"},
        {"$${", "${"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf out = {0};
        fz_err err = {0};
        if (fz_conf_expand(fz_str_from(cases[i][0]), find_env, NULL, &out, &err) != FZ_OK) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
        assert_string_equal(fz_buf_cstr(&out), cases[i][1]);
        fz_buf_deinit(&out);
    }
    static const char *const bad[] = {"${N}",   "${",      "${}",        "${A",  "${1A}",
                                      "${A-x}", "${A:+x}", "${N:-${M}}", "${A }"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        fz_buf out = {0};
        if (fz_conf_expand(fz_str_from(bad[i]), find_env, NULL, &out, NULL) != FZ_INVALID) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
        fz_buf_deinit(&out);
    }
}

static void secrets_are_masked(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"a@b", "a@b"},
        {"http://h:80/x@y", "http://h:80/x@y"},
        {"http://u:p@h:80/x", "http://***@h:80/x"},
        {"http://u@h", "http://***@h"},
        {"http://u:p@q@h", "http://***@h"},
        {"http://u:p/w@h", "http://***@h"},
        {"postgresql://h/db?user=u&password=p&x=y", "postgresql://h/db?user=u&password=***&x=y"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_buf out = {0};
        fz_conf_text_mask(fz_str_from(cases[i][0]), &out);
        assert_string_equal(fz_buf_cstr(&out), cases[i][1]);
        fz_buf_deinit(&out);
    }
    static const char *const secret[] = {"sasl.password",
                                         "ssl.key.password",
                                         "ssl.keystore.password",
                                         "ssl.key.pem",
                                         "sasl.oauthbearer.client.secret",
                                         "sasl.oauthbearer.config",
                                         "Authorization",
                                         "s3.secret-access-key",
                                         "X-API-Key",
                                         "adls.sas-token.x"};
    for (size_t i = 0; i < FZ_COUNT(secret); i++) {
        assert_true(fz_conf_name_is_secret(fz_str_from(secret[i])));
    }
    static const char *const open[] = {"sasl.username", "sasl.mechanism", "ssl.ca.location",
                                       "client.id", "security.protocol"};
    for (size_t i = 0; i < FZ_COUNT(open); i++) {
        assert_false(fz_conf_name_is_secret(fz_str_from(open[i])));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_read_and_print), cmocka_unit_test(sorts_read_and_print),
        cmocka_unit_test(types_read),           cmocka_unit_test(type_limits_hold),
        cmocka_unit_test(variables_expand),     cmocka_unit_test(secrets_are_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
