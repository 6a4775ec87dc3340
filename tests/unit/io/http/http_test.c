// SPDX-License-Identifier: Apache-2.0
// Client and server against each other: what arrives, what each failure is called, what is sent
// twice.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/http/server.h"

#include "base/memory.h"
#include "base/thread.h"

// The server under test and what it was asked last.
typedef struct fixture {
    fz_http_server *server;
    fz_http_client *client;
    fz_mutex mutex;
    _Atomic int calls;
    char seen[4096];
} fixture;

static fz_str path_last(const fz_http_call *call) {
    fz_str last = call->path;
    for (size_t at = 0; at != SIZE_MAX; at = fz_str_find(call->path, '/', at)) {
        at++;
        last = fz_str_slice(call->path, at, call->path.size);
    }
    return last;
}

static void handle(void *context, const fz_http_call *call, fz_http_reply *reply) {
    fixture *f = context;
    f->calls++;
    fz_mutex_lock(&f->mutex);
    snprintf(f->seen, sizeof f->seen,
             "%.*s %.*s ?%.*s auth=%.*s type=%.*s x=%.*s from=%.*s body=%.*s",
             FZ_STR_ARGS(call->method), FZ_STR_ARGS(call->path), FZ_STR_ARGS(call->query),
             FZ_STR_ARGS(fz_http_call_header(call, "authorization")),
             FZ_STR_ARGS(fz_http_call_header(call, "Content-Type")),
             FZ_STR_ARGS(fz_http_call_header(call, "X-A")), FZ_STR_ARGS(call->peer),
             FZ_STR_ARGS(call->body));
    fz_mutex_unlock(&f->mutex);
    if (fz_str_starts_with(call->path, FZ_STR("/drop"))) {
        reply->status = 0;
    } else if (fz_str_starts_with(call->path, FZ_STR("/slow"))) {
        fz_clock_sleep_ms(fz_clock_real(), 600);
    } else if (fz_str_starts_with(call->path, FZ_STR("/big"))) {
        for (int i = 0; i < 1000; i++) {
            fz_buf_append_str(&reply->body, FZ_STR("0123456789"));
        }
    } else if (fz_str_starts_with(call->path, FZ_STR("/busy/"))) {
        char *value = fz_str_dup(path_last(call));
        for (char *p = value; *p; p++) {
            *p = *p == '_' ? ' ' : *p;
        }
        reply->status = 503;
        fz_http_header h = {FZ_STR("Retry-After"), fz_arena_str(&reply->arena, fz_str_from(value))};
        fz_vec_push(&reply->headers, h);
        fz_buf_append_str(&reply->body, FZ_STR("too busy"));
        fz_free(value);
    } else if (fz_str_starts_with(call->path, FZ_STR("/status/"))) {
        fz_str number = path_last(call);
        reply->status =
            (number.data[0] - '0') * 100 + (number.data[1] - '0') * 10 + number.data[2] - '0';
    } else if (fz_str_starts_with(call->path, FZ_STR("/moved"))) {
        reply->status = 302;
        fz_http_header h = {FZ_STR("Location"), FZ_STR("/target")};
        fz_vec_push(&reply->headers, h);
    } else {
        fz_buf_append_str(&reply->body, call->body);
        fz_http_header h = {FZ_STR("X-Reply"), FZ_STR("yes")};
        fz_vec_push(&reply->headers, h);
        reply->content_type = FZ_STR("text/plain");
    }
}

static int setup(void **state) {
    fixture *f = fz_calloc(1, sizeof *f);
    fz_mutex_init(&f->mutex);
    f->client = fz_http_client_new(
        &(fz_http_client_options){.timeout_ms = 5000, .connect_timeout_ms = 300});
    fz_http_server_options options = {.handler = handle, .context = f, .body_ceiling = 1 << 20};
    fz_err err;
    if (fz_http_server_start(&options, &f->server, &err) != FZ_OK) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    fz_http_client_free(f->client);
    fz_http_server_stop(f->server);
    fz_mutex_deinit(&f->mutex);
    fz_free(f);
    return 0;
}

static char *url_of(const fixture *f, const char *path) {
    return fz_str_printf("%s%s", fz_http_server_url(f->server), path);
}

static fz_code ask(fixture *f, fz_http_request request, const char *path, fz_http_response *out,
                   fz_err *err) {
    char *url = url_of(f, path);
    request.url = fz_str_from(url);
    fz_code code = fz_http_client_send(f->client, &request, out, err);
    fz_free(url);
    return code;
}

static void test_echo(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_err err = {0};
    fz_http_header headers[] = {{FZ_STR("X-A"), FZ_STR("1 2")},
                                {FZ_STR("Content-Type"), FZ_STR("a/b")}};
    fz_http_request request = {
        .method = "PUT", .headers = headers, .header_count = 2, .body = FZ_STR("hello")};
    assert_int_equal(ask(f, request, "/a%2Fb/%20+/../x?q=%26&r", &r, &err), FZ_OK);
    assert_string_equal(
        f->seen, "PUT /a%2Fb/%20+/../x ?q=%26&r auth= type=a/b x=1 2 from=127.0.0.1 body=hello");
    assert_int_equal(r.status, 200);
    assert_int_equal(r.retry_after_ms, -1);
    assert_string_equal(fz_buf_cstr(&r.body), "hello");
    assert_true(fz_str_equal(fz_http_response_header(&r, "x-reply"), FZ_STR("yes")));
    assert_true(fz_str_equal(fz_http_response_header(&r, "content-type"), FZ_STR("text/plain")));
    assert_int_equal(fz_http_response_header(&r, "absent").size, 0);
    assert_int_equal(ask(f, (fz_http_request){0}, "/", &r, &err), FZ_OK);
    assert_string_equal(f->seen, "GET / ? auth= type= x= from=127.0.0.1 body=");
    assert_int_equal(r.body.size, 0);
    assert_int_equal(ask(f, (fz_http_request){.method = "POST"}, "/p", &r, &err), FZ_OK);
    assert_string_equal(f->seen, "POST /p ? auth= type= x= from=127.0.0.1 body=");
    assert_int_equal(ask(f, (fz_http_request){.method = "DELETE"}, "/d", &r, &err), FZ_OK);
    assert_string_equal(f->seen, "DELETE /d ? auth= type= x= from=127.0.0.1 body=");
    assert_int_equal(ask(f, (fz_http_request){.method = "HEAD"}, "/big", &r, &err), FZ_OK);
    assert_string_equal(f->seen, "HEAD /big ? auth= type= x= from=127.0.0.1 body=");
    assert_int_equal(r.body.size, 0);
    assert_true(fz_str_equal(fz_http_response_header(&r, "content-length"), FZ_STR("10000")));
    fz_http_response_deinit(&r);
}

static void test_credentials(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    assert_int_equal(ask(f, (fz_http_request){.user = "me", .password = "s3cret"}, "/", &r, NULL),
                     FZ_OK);
    assert_non_null(strstr(f->seen, "auth=Basic bWU6czNjcmV0 "));
    assert_int_equal(ask(f, (fz_http_request){.bearer = "tok"}, "/", &r, NULL), FZ_OK);
    assert_non_null(strstr(f->seen, "auth=Bearer tok "));
    assert_int_equal(ask(f, (fz_http_request){0}, "/", &r, NULL), FZ_OK); // the handle forgot them
    assert_non_null(strstr(f->seen, "auth= "));
    fz_http_response_deinit(&r);
}

static void test_secrets_stay_out_of_texts(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_err err;
    fz_http_request request = {.url = FZ_STR("http://me:s3cret@127.0.0.1:1/path?token=hush")};
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "GET http://127.0.0.1:1/path: "));
    assert_null(strstr(err.text, "s3cret"));
    assert_null(strstr(err.text, "hush"));
    fz_buf out = {0};
    fz_http_url_redact(&out, FZ_STR("https://u:p@ss@h.example:8/a@b?c@d#e"));
    assert_string_equal(fz_buf_cstr(&out), "https://h.example:8/a@b");
    fz_buf_deinit(&out);
    fz_http_response_deinit(&r);
}

// A socket that listens and never answers.
static int silent_socket(uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void test_never_sent(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_err err;
    uint16_t port;
    int fd = silent_socket(&port);
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u/x", port);
    // the handshake does not end: nothing of the request went out
    fz_http_request request = {.method = "POST", .url = fz_str_from(url), .body = FZ_STR("b")};
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_UNAVAILABLE);
    close(fd);
    // now nobody listens there
    snprintf(url, sizeof url, "http://127.0.0.1:%u/x", port);
    request.url = fz_str_from(url);
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_UNAVAILABLE);
    request.url = FZ_STR("ftp://127.0.0.1/x");
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_INVALID);
    request.url = FZ_STR("file:///etc/passwd");
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_INVALID);
    request.url = FZ_STR("http://127.0.0.1:1/a\r\nX: y");
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_INVALID);
    request.url = FZ_STR("");
    assert_int_equal(fz_http_client_send(f->client, &request, &r, &err), FZ_INVALID);
    _Atomic bool cancel = true;
    assert_int_equal(ask(f, (fz_http_request){.cancel = &cancel}, "/", &r, &err), FZ_CANCELLED);
    fz_http_header bad[] = {{FZ_STR("X-A"), FZ_STR("1\r\nX-B: 2")}};
    assert_int_equal(ask(f, (fz_http_request){.headers = bad, .header_count = 1}, "/", &r, &err),
                     FZ_INVALID);
    assert_int_equal(f->calls, 0);
    assert_int_equal(r.status, 0);
    fz_http_response_deinit(&r);
}

static void test_unknown_outcome(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_err err;
    assert_int_equal(ask(f, (fz_http_request){.method = "POST"}, "/drop", &r, &err),
                     FZ_UNKNOWN_OUTCOME);
    assert_non_null(strstr(err.text, "may have been applied"));
    assert_int_equal(ask(f, (fz_http_request){.method = "DELETE"}, "/drop", &r, &err),
                     FZ_UNKNOWN_OUTCOME);
    assert_int_equal(ask(f, (fz_http_request){0}, "/drop", &r, &err), FZ_UNAVAILABLE);
    assert_int_equal(
        ask(f, (fz_http_request){.method = "POST", .timeout_ms = 100}, "/slow", &r, &err),
        FZ_UNKNOWN_OUTCOME);
    assert_int_equal(ask(f, (fz_http_request){.timeout_ms = 100}, "/slow", &r, &err),
                     FZ_UNAVAILABLE);
    assert_int_equal(
        ask(f, (fz_http_request){.method = "POST", .response_ceiling = 9999}, "/big", &r, &err),
        FZ_UNKNOWN_OUTCOME);
    fz_http_response_deinit(&r);
}

// A server that closes a kept connection without a byte: the library would send a second time.
static void test_one_transmission(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    const char *alone[] = {"POST", "PATCH", "PUT"};
    for (size_t i = 0; i < FZ_COUNT(alone); i++) {
        assert_int_equal(ask(f, (fz_http_request){0}, "/", &r, NULL), FZ_OK); // leaves a connection
        f->calls = 0;
        fz_http_request request = {
            .method = alone[i], .body = FZ_STR("x"), .fresh_connection = i == 2};
        assert_int_equal(ask(f, request, "/drop", &r, NULL), FZ_UNKNOWN_OUTCOME);
        assert_int_equal(f->calls, 1);
    }
    fz_http_response_deinit(&r);
}

static void test_limits(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_err err;
    fz_budget budget;
    assert_int_equal(ask(f, (fz_http_request){.response_ceiling = 9999}, "/big", &r, &err),
                     FZ_LIMIT);
    assert_int_equal(ask(f, (fz_http_request){.response_ceiling = 10000}, "/big", &r, &err), FZ_OK);
    assert_int_equal(r.body.size, 10000);
    fz_budget_init(&budget, 5000);
    assert_int_equal(ask(f, (fz_http_request){.budget = &budget}, "/big", &r, &err), FZ_LIMIT);
    assert_int_equal(fz_budget_used(&budget), 0);
    char *large = fz_calloc(1, (1 << 20) + 1);
    memset(large, 'l', (1 << 20) + 1);
    f->calls = 0;
    fz_http_request request = {.method = "PUT", .body = fz_str_make(large, 1 << 20)};
    assert_int_equal(ask(f, request, "/echo", &r, &err), FZ_OK);
    assert_int_equal(r.body.size, 1 << 20);
    assert_int_equal(f->calls, 1);
    request.body.size++;
    fz_code code = ask(f, request, "/echo", &r, &err);
    assert_true(code == FZ_UNKNOWN_OUTCOME || (code == FZ_OK && r.status == 413));
    assert_int_equal(f->calls, 1);
    fz_free(large);
    fz_http_response_deinit(&r);
}

static void test_status(void **state) {
    fixture *f = *state;
    static const struct {
        const char *path;
        fz_code code;
    } cases[] = {
        {"/status/200", FZ_OK},          {"/status/204", FZ_OK},
        {"/status/301", FZ_INVALID},     {"/status/400", FZ_INVALID},
        {"/status/401", FZ_DENIED},      {"/status/403", FZ_DENIED},
        {"/status/404", FZ_NOT_FOUND},   {"/status/409", FZ_CONFLICT},
        {"/status/412", FZ_CONFLICT},    {"/status/422", FZ_INVALID},
        {"/status/429", FZ_UNAVAILABLE}, {"/status/500", FZ_UNAVAILABLE},
        {"/status/501", FZ_UNSUPPORTED}, {"/status/503", FZ_UNAVAILABLE},
    };
    fz_http_response r = {0};
    fz_err err;
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        fz_http_request request = {.url = FZ_STR("http://u:p@h/x?y")};
        assert_int_equal(ask(f, (fz_http_request){0}, cases[i].path, &r, NULL), FZ_OK);
        assert_int_equal(fz_http_response_check(&request, &r, &err), cases[i].code);
    }
    fz_http_request request = {.url = FZ_STR("http://u:p@h/x?y")};
    assert_int_equal(ask(f, (fz_http_request){0}, "/busy/7", &r, NULL), FZ_OK);
    assert_int_equal(r.retry_after_ms, 7000);
    assert_int_equal(fz_http_response_check(&request, &r, &err), FZ_UNAVAILABLE);
    assert_int_equal(err.retry_after_ms, 7000);
    assert_string_equal(err.text, "GET http://h/x: status 503: too busy");
    assert_int_equal(ask(f, (fz_http_request){0}, "/busy/99999999999", &r, NULL), FZ_OK);
    assert_int_equal(r.retry_after_ms, 3600 * 1000);
    assert_int_equal(ask(f, (fz_http_request){0}, "/busy/soon", &r, NULL), FZ_OK);
    assert_int_equal(r.retry_after_ms, -1);
    assert_int_equal(ask(f, (fz_http_request){0}, "/busy/-5", &r, NULL), FZ_OK);
    assert_int_equal(r.retry_after_ms, -1);
    assert_int_equal(ask(f, (fz_http_request){0}, "/busy/Fri,_01_Jan_2021_00:00:00_GMT", &r, NULL),
                     FZ_OK);
    assert_int_equal(r.retry_after_ms, 0);
    fz_http_response_deinit(&r);
}

static void test_retry_after_date(void **state) {
    fixture *f = *state;
    fz_clock_sim sim;
    fz_clock_sim_init(&sim, INT64_C(1609459190000000)); // ten seconds before that date
    fz_http_client *client = fz_http_client_new(&(fz_http_client_options){.clock = &sim.clock});
    fz_http_response r = {0};
    char *url = url_of(f, "/busy/Fri,_01_Jan_2021_00:00:00_GMT");
    fz_http_request request = {.url = fz_str_from(url)};
    assert_int_equal(fz_http_client_send(client, &request, &r, NULL), FZ_OK);
    assert_int_equal(r.retry_after_ms, 10000);
    fz_free(url);
    fz_http_response_deinit(&r);
    fz_http_client_free(client);
}

static void test_redirects(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    assert_int_equal(ask(f, (fz_http_request){0}, "/moved", &r, NULL), FZ_OK);
    assert_int_equal(r.status, 302);
    assert_true(fz_str_ends_with(fz_http_response_header(&r, "location"), FZ_STR("/target")));
    assert_int_equal(ask(f, (fz_http_request){.follow_redirects = true}, "/moved", &r, NULL),
                     FZ_OK);
    assert_int_equal(r.status, 200);
    assert_int_equal(fz_http_response_header(&r, "location").size, 0);
    fz_http_response_deinit(&r);
}

typedef struct worker {
    fz_thread thread;
    fixture *fixture;
    int number;
    bool good;
} worker;

static void send_many(void *arg) {
    worker *w = arg;
    fz_http_response r = {0};
    w->good = true;
    for (int i = 0; i < 30; i++) {
        char body[32];
        snprintf(body, sizeof body, "%d.%d", w->number, i);
        fz_http_request request = {.method = i % 2 ? "PUT" : "POST", .body = fz_str_from(body)};
        w->good &= ask(w->fixture, request, "/echo", &r, NULL) == FZ_OK &&
                   fz_str_equal(fz_buf_view(&r.body), fz_str_from(body));
    }
    fz_http_response_deinit(&r);
}

static void test_many_threads(void **state) {
    worker workers[8] = {0};
    for (size_t i = 0; i < FZ_COUNT(workers); i++) {
        workers[i].fixture = *state;
        workers[i].number = (int)i;
        fz_thread_start(&workers[i].thread, "sender", send_many, &workers[i]);
    }
    for (size_t i = 0; i < FZ_COUNT(workers); i++) {
        fz_thread_join(&workers[i].thread);
        assert_true(workers[i].good);
    }
}

static void test_server_addresses(void **state) {
    fixture *f = *state;
    fz_http_server *server = NULL;
    fz_err err;
    fz_http_server_options options = {.handler = handle, .port = fz_http_server_port(f->server)};
    assert_int_equal(fz_http_server_start(&options, &server, &err), FZ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "in use"));
    options.address = "not-an-address";
    assert_int_equal(fz_http_server_start(&options, &server, &err), FZ_INVALID);
    options = (fz_http_server_options){.handler = handle, .context = f, .address = "::1"};
    if (fz_http_server_start(&options, &server, &err) == FZ_OK) { // where there is IPv6
        fz_http_response r = {0};
        fz_http_request request = {.url = fz_str_from(fz_http_server_url(server))};
        assert_int_equal(fz_http_client_send(f->client, &request, &r, NULL), FZ_OK);
        assert_non_null(strstr(f->seen, "from=::1"));
        fz_http_response_deinit(&r);
        fz_http_server_stop(server);
    }
    fz_http_server_stop(NULL);
    fz_http_client_free(NULL);
}

static void test_proxy(void **state) {
    fixture *f = *state;
    fz_http_response r = {0};
    fz_http_request request = {.url = FZ_STR("http://elsewhere.invalid/a?b"), .method = "PUT"};
    setenv("http_proxy", fz_http_server_url(f->server), 1);
    setenv("no_proxy", "127.0.0.1", 1);
    assert_int_equal(fz_http_client_send(f->client, &request, &r, NULL), FZ_OK);
    assert_non_null(strstr(f->seen, "PUT http://elsewhere.invalid/a ?b "));
    assert_int_equal(ask(f, (fz_http_request){0}, "/direct", &r, NULL), FZ_OK);
    assert_non_null(strstr(f->seen, "GET /direct "));
    unsetenv("http_proxy");
    fz_http_response_deinit(&r);
}

static void test_call_helpers(void **state) {
    (void)state;
    fz_arena arena = {0};
    fz_str parts[2];
    fz_str value;
    fz_http_call call = {.path = FZ_STR("//subjects/a%2Fb+c/x"),
                         .query = FZ_STR("a=1&b%20c=x+y%2B&empty&d=")};
    assert_int_equal(fz_http_call_parts(&call, &arena, parts, 2), 3);
    assert_true(fz_str_equal(parts[0], FZ_STR("subjects")));
    assert_true(fz_str_equal(parts[1], FZ_STR("a/b+c")));
    assert_true(fz_http_call_parameter(&call, "b c", &arena, &value));
    assert_true(fz_str_equal(value, FZ_STR("x y+")));
    assert_true(fz_http_call_parameter(&call, "empty", &arena, &value));
    assert_int_equal(value.size, 0);
    assert_true(fz_http_call_parameter(&call, "d", &arena, &value));
    assert_false(fz_http_call_parameter(&call, "e", &arena, &value));
    fz_arena_deinit(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_echo, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials, setup, teardown),
        cmocka_unit_test_setup_teardown(test_secrets_stay_out_of_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_outcome, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_transmission, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_status, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retry_after_date, setup, teardown),
        cmocka_unit_test_setup_teardown(test_redirects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_server_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_proxy, setup, teardown),
        cmocka_unit_test(test_call_helpers),
    };
    setenv("no_proxy", "*", 1); // whoever runs the tests may be behind a proxy
    return cmocka_run_group_tests(tests, NULL, NULL);
}
