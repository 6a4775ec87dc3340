// SPDX-License-Identifier: Apache-2.0
// The registry client against servers that misbehave: what is asked, and what each failure is
// called.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/registry/http_registry.h"

#include "base/memory.h"
#include "io/http/server.h"

// A server with one canned answer; remembers the last request.
typedef struct canned {
    fz_http_server *server;
    int status;
    const char *body;
    const char *retry_after;
    _Atomic int calls;
    char seen[1024];
} canned;

static canned one;
static canned two;

static void answer(void *context, const fz_http_call *call, fz_http_reply *reply) {
    canned *c = context;
    snprintf(c->seen, sizeof c->seen, "%.*s %.*s?%.*s auth=%.*s accept=%.*s type=%.*s",
             FZ_STR_ARGS(call->method), FZ_STR_ARGS(call->path), FZ_STR_ARGS(call->query),
             FZ_STR_ARGS(fz_http_call_header(call, "authorization")),
             FZ_STR_ARGS(fz_http_call_header(call, "accept")),
             FZ_STR_ARGS(fz_http_call_header(call, "content-type")));
    c->calls++;
    reply->status = c->status;
    fz_buf_append_str(&reply->body, fz_str_from(c->body));
    if (c->retry_after) {
        fz_http_header h = {FZ_STR("Retry-After"), fz_str_from(c->retry_after)};
        fz_vec_push(&reply->headers, h);
    }
}

static void start(canned *c) {
    *c = (canned){.status = 200, .body = "{\"schema\":\"\\\"long\\\"\"}"};
    fz_http_server_options options = {.handler = answer, .context = c};
    assert_int_equal(fz_http_server_start(&options, &c->server, NULL), FZ_OK);
}

static int setup(void **state) {
    (void)state;
    start(&one);
    start(&two);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fz_http_server_stop(one.server);
    fz_http_server_stop(two.server);
    return 0;
}

static fz_registry *open_with(fz_registry_http_options options) {
    const char *urls[] = {fz_http_server_url(one.server)};
    fz_registry *registry = NULL;
    if (!options.urls) {
        options.urls = urls;
        options.url_count = 1;
    }
    assert_int_equal(fz_registry_http_open(&options, &registry, NULL), FZ_OK);
    return registry;
}

static fz_code by_id(fz_registry *registry, int32_t id, const char *subject, fz_err *err) {
    fz_registry_schema *s = NULL;
    fz_code code = fz_registry_schema_by_id(registry, id, fz_str_from(subject), &s, err);
    fz_registry_schema_unref(s);
    return code;
}

static void test_what_is_asked(void **state) {
    (void)state;
    fz_registry *r = open_with((fz_registry_http_options){.user = "me", .password = "pw"});
    assert_int_equal(by_id(r, 7, "t-value", NULL), FZ_OK);
    assert_string_equal(
        one.seen,
        "GET /schemas/ids/7? auth=Basic bWU6cHc= accept=application/vnd.schemaregistry.v1+json, "
        "application/vnd.schemaregistry+json, application/json type=");
    assert_int_equal(by_id(r, 7, ":.other:t-value", NULL), FZ_OK);
    assert_non_null(strstr(one.seen, "GET /schemas/ids/7?subject=%3A.other%3A auth"));
    fz_registry_free(r);
    r = open_with((fz_registry_http_options){.bearer = "tok", .context = ".ctx"});
    assert_int_equal(by_id(r, 7, "t-value", NULL), FZ_OK);
    assert_non_null(
        strstr(one.seen, "GET /schemas/ids/7?subject=%3A.ctx%3A auth=Bearer tok accept"));
    assert_int_equal(by_id(r, 7, ":.other:t-value", NULL), FZ_OK);
    assert_non_null(strstr(one.seen, "?subject=%3A.other%3A auth"));
    fz_registry_schema *s = NULL;
    one.body = "{\"subject\":\":.ctx:a/"
               "b\",\"id\":1,\"version\":2,\"schema\":\"x\",\"schemaType\":\"json\"}";
    assert_int_equal(fz_registry_latest(r, FZ_STR("a/b %"), &s, NULL), FZ_OK);
    assert_non_null(strstr(one.seen, "GET /subjects/%3A.ctx%3Aa%2Fb%20%25/versions/latest? auth"));
    assert_int_equal(s->type, FZ_REGISTRY_JSON);
    fz_registry_schema_unref(s);
    one.body = "[\":.ctx:a/b\",\":.ctx:c\"]";
    fz_registry_names names = {0};
    assert_int_equal(fz_registry_subjects(r, &names, NULL), FZ_OK);
    assert_non_null(strstr(one.seen, "GET /subjects?subjectPrefix=%3A.ctx%3A auth"));
    assert_true(fz_str_equal(names.items[0], FZ_STR("a/b")));
    fz_registry_names_deinit(&names);
    one.body = "{\"id\":3}";
    int32_t id;
    assert_int_equal(
        fz_registry_add(r, FZ_STR("s"), FZ_REGISTRY_AVRO, FZ_STR("x"), NULL, 0, &id, NULL), FZ_OK);
    assert_non_null(strstr(one.seen, "POST /subjects/%3A.ctx%3As/versions? "));
    assert_non_null(strstr(one.seen, "type=application/vnd.schemaregistry.v1+json"));
    fz_registry_free(r);
}

static void test_paths_and_users_in_urls(void **state) {
    (void)state;
    char url[128];
    snprintf(url, sizeof url, "http://me:s3cret@127.0.0.1:%u/apis/ccompat/v7//",
             fz_http_server_port(one.server));
    const char *urls[] = {url};
    fz_err err;
    fz_registry *r = open_with((fz_registry_http_options){.urls = urls, .url_count = 1});
    assert_int_equal(by_id(r, 7, "", NULL), FZ_OK);
    assert_non_null(
        strstr(one.seen, "GET /apis/ccompat/v7/schemas/ids/7? auth=Basic bWU6czNjcmV0 "));
    one.status = 403;
    assert_int_equal(by_id(r, 7, "", &err), FZ_DENIED);
    assert_non_null(strstr(err.text, "answers 403 to user \"me\" for http://127.0.0.1:"));
    assert_null(strstr(err.text, "s3cret"));
    fz_registry_free(r);
    static const char *const bad[] = {"",        "localhost:8081", "ftp://h",
                                      "http://", "http://h:99999", "http://h?x=1"};
    for (size_t i = 0; i < FZ_COUNT(bad); i++) {
        assert_int_equal(
            fz_registry_http_open(&(fz_registry_http_options){.urls = &bad[i], .url_count = 1}, &r,
                                  &err),
            FZ_INVALID);
    }
    assert_int_equal(fz_registry_http_open(&(fz_registry_http_options){0}, &r, &err), FZ_INVALID);
}

static void test_status(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *body;
        fz_code code;
        const char *kind;
    } cases[] = {
        {404, "{\"error_code\":40403,\"message\":\"Schema 7 not found\"}", FZ_NOT_FOUND,
         "unknown_schema_id"},
        {404, "{\"error_code\":40401,\"message\":\"no\"}", FZ_NOT_FOUND, "unknown_schema_id"},
        {404, "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}", FZ_UNAVAILABLE, NULL},
        {404, "<html>nothing here</html>", FZ_UNAVAILABLE, NULL},
        {404, "", FZ_UNAVAILABLE, NULL},
        {401, "{\"error_code\":401,\"message\":\"no\"}", FZ_DENIED, "denied"},
        {403, "", FZ_DENIED, "denied"},
        {500, "{\"error_code\":50001,\"message\":\"store\"}", FZ_UNAVAILABLE, NULL},
        {429, "", FZ_UNAVAILABLE, NULL},
        {503, "", FZ_UNAVAILABLE, NULL},
        {422, "{\"error_code\":42202,\"message\":\"no\"}", FZ_INVALID, NULL},
        {301, "", FZ_INVALID, NULL},
    };
    fz_registry *r = open_with((fz_registry_http_options){0});
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_err err;
        one.status = cases[i].status;
        one.body = cases[i].body;
        assert_int_equal(by_id(r, 7, "", &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        if (cases[i].kind) {
            assert_string_equal(err.kind, cases[i].kind);
        } else {
            assert_null(err.kind);
        }
    }
    one.status = 503;
    one.retry_after = "4";
    fz_err err;
    assert_int_equal(by_id(r, 7, "", &err), FZ_UNAVAILABLE);
    assert_int_equal(err.retry_after_ms, 4000);
    fz_registry_free(r);
}

static void test_bad_replies(void **state) {
    (void)state;
    static const struct {
        const char *body;
        fz_code code;
    } cases[] = {
        {"", FZ_CORRUPT},
        {"{", FZ_CORRUPT},
        {"[]", FZ_CORRUPT},
        {"5", FZ_CORRUPT},
        {"{}", FZ_CORRUPT},
        {"{\"schema\":5}", FZ_CORRUPT},
        {"{\"schema\":\"x\",\"references\":{}}", FZ_CORRUPT},
        {"{\"schema\":\"x\",\"references\":[5]}", FZ_CORRUPT},
        {"{\"schema\":\"x\",\"references\":[{\"name\":\"a\",\"subject\":\"b\"}]}", FZ_CORRUPT},
        {"{\"schema\":\"x\",\"references\":[{\"name\":\"a\",\"subject\":\"b\",\"version\":"
         "99999999999}]}",
         FZ_CORRUPT},
        {"{\"schema\":\"x\",\"schemaType\":\"THRIFT\"}", FZ_UNSUPPORTED},
        {"{\"schema\":\"x\",\"schemaType\":null,\"references\":null,\"guid\":\"no\"}", FZ_OK},
    };
    fz_registry *r = open_with((fz_registry_http_options){0});
    fz_registry_names names = {0};
    fz_registry_versions versions = {0};
    fz_registry_schema *s = NULL;
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        one.body = cases[i].body;
        assert_int_equal(by_id(r, 7, "", NULL), cases[i].code);
    }
    one.body = "{\"schema\":\"x\"}"; // neither id nor version
    assert_int_equal(fz_registry_latest(r, FZ_STR("s"), &s, NULL), FZ_CORRUPT);
    assert_int_equal(fz_registry_subjects(r, &names, NULL), FZ_CORRUPT);
    assert_int_equal(fz_registry_versions_of_id(r, 1, FZ_STR(""), &versions, NULL), FZ_CORRUPT);
    one.body = "[5,null,\"ok\",{}]";
    assert_int_equal(fz_registry_subjects(r, &names, NULL), FZ_OK);
    assert_int_equal(names.count, 1);
    fz_registry_names_deinit(&names);
    assert_int_equal(fz_registry_versions_of_id(r, 1, FZ_STR(""), &versions, NULL), FZ_OK);
    assert_int_equal(versions.count, 0);
    fz_registry_versions_deinit(&versions);
    fz_registry_free(r);
}

// A registry that makes up references without end is stopped by number and by depth.
static void test_endless_references(void **state) {
    (void)state;
    fz_err err;
    fz_registry *r = open_with((fz_registry_http_options){0});
    fz_buf body = {0};
    fz_buf_append_str(&body, FZ_STR("{\"schema\":\"x\",\"references\":["));
    for (int i = 0; i < FZ_REGISTRY_REFERENCES_MAX + 1; i++) {
        fz_buf_printf(&body, "%s{\"name\":\"n%d\",\"subject\":\"s\",\"version\":%d}", i ? "," : "",
                      i, i);
    }
    fz_buf_append_str(&body, FZ_STR("]}"));
    one.body = fz_buf_cstr(&body);
    assert_int_equal(by_id(r, 7, "", &err), FZ_LIMIT);
    assert_int_equal(one.calls, 1);
    fz_buf_deinit(&body);
    fz_registry_free(r);
}

static void test_failover(void **state) {
    (void)state;
    const char *urls[] = {"http://127.0.0.1:1", fz_http_server_url(one.server),
                          fz_http_server_url(two.server)};
    fz_err err;
    fz_registry *r = open_with((fz_registry_http_options){.urls = urls, .url_count = 3});
    assert_int_equal(by_id(r, 7, "", NULL), FZ_OK);
    assert_int_equal(one.calls, 1);
    one.status = 503;
    assert_int_equal(by_id(r, 7, "", NULL), FZ_OK);
    assert_int_equal(one.calls, 2);
    assert_int_equal(two.calls, 1);
    one.status = 200;
    assert_int_equal(by_id(r, 7, "", NULL), FZ_OK); // the last good one first
    assert_int_equal(one.calls, 2);
    assert_int_equal(two.calls, 2);
    two.status = 404;
    two.body = "{\"error_code\":40403,\"message\":\"no\"}";
    assert_int_equal(by_id(r, 7, "", NULL), FZ_NOT_FOUND); // an answer is an answer
    assert_int_equal(one.calls, 2);
    two.status = 401;
    assert_int_equal(by_id(r, 7, "", &err), FZ_DENIED);
    assert_non_null(strstr(err.text, "nobody (no credentials given)"));
    two.status = one.status = 500;
    assert_int_equal(by_id(r, 7, "", &err), FZ_UNAVAILABLE);
    fz_registry_free(r);
}

static void test_hint_without_registry(void **state) {
    (void)state;
    const char *urls[] = {"http://127.0.0.1:1"};
    fz_registry *r = open_with((fz_registry_http_options){.urls = urls, .url_count = 1});
    fz_registry_names hints;
    fz_registry_hint_subjects(r, FZ_STR("x"), 3, &hints);
    assert_int_equal(hints.count, 0);
    fz_registry_names_deinit(&hints);
    fz_registry_free(r);
}

int main(void) {
    setenv("no_proxy", "*", 1); // whoever runs the tests may be behind a proxy
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths_and_users_in_urls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_status, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_replies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_endless_references, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failover, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hint_without_registry, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
