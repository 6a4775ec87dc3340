// SPDX-License-Identifier: Apache-2.0
// Serving over libmicrohttpd, a thread a connection.
#include "io/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/number.h"

enum { DEFAULT_CEILING = 16 << 20, CONNECTION_MEMORY = 64 << 10 };

struct fz_http_server {
    struct MHD_Daemon *daemon;
    fz_http_handler handler;
    void *context;
    size_t body_ceiling;
    uint16_t port;
    char *url;
};

// One request, from its first line to its end.
typedef struct pending {
    char *uri; // as it came
    fz_buf body;
    bool started;
} pending;

// The library calls this before it parses or decodes anything.
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection) {
    (void)context;
    (void)connection;
    pending *p = fz_calloc(1, sizeof *p);
    p->uri = fz_str_dup(fz_str_from(uri));
    return p;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code) {
    (void)context;
    (void)connection;
    (void)code;
    pending *p = *state;
    if (p) {
        fz_free(p->uri);
        fz_buf_deinit(&p->body);
        fz_free(p);
        *state = NULL;
    }
}

static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

typedef struct header_list {
    FZ_VEC(fz_http_header) items;
} header_list;

static enum MHD_Result on_header(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
    (void)kind;
    header_list *list = context;
    fz_http_header header = {fz_str_from(name), fz_str_from(value)};
    fz_vec_push(&list->items, header);
    return MHD_YES;
}

static void peer_of(struct MHD_Connection *connection, char *out, size_t size) {
    out[0] = 0;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    if (address && address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, out,
                  (socklen_t)size);
    } else if (address && address->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, out,
                  (socklen_t)size);
    }
}

static bool add_header(struct MHD_Response *response, fz_str name, fz_str value) {
    char *n = fz_str_dup(name);
    char *v = fz_str_dup(value);
    bool good = MHD_add_response_header(response, n, v) == MHD_YES;
    fz_free(n);
    fz_free(v);
    return good;
}

static void free_body(void *body) {
    fz_buf_deinit(body);
    fz_free(body);
}

// Hands the body over to the library, which frees it after the last byte went out.
static enum MHD_Result queue(struct MHD_Connection *connection, fz_http_reply *reply) {
    fz_buf *body = fz_alloc(sizeof *body);
    *body = reply->body;
    reply->body = (fz_buf){0};
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->data ? (void *)body->data : (void *)(uintptr_t) "", free_body, body);
    if (!response) {
        free_body(body);
        return MHD_NO;
    }
    fz_str type = reply->content_type.size ? reply->content_type : FZ_STR("application/json");
    if (reply->status != 204 && reply->status != 304) {
        add_header(response, FZ_STR(MHD_HTTP_HEADER_CONTENT_TYPE), type);
    }
    for (size_t i = 0; i < reply->headers.count; i++) {
        add_header(response, reply->headers.data[i].name, reply->headers.data[i].value);
    }
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return result;
}

static void reply_deinit(fz_http_reply *reply) {
    fz_buf_deinit(&reply->body);
    fz_vec_deinit(&reply->headers);
    fz_arena_deinit(&reply->arena);
}

static enum MHD_Result answer(fz_http_server *server, struct MHD_Connection *connection,
                              const char *method, const pending *p) {
    header_list headers = {0};
    char peer[INET6_ADDRSTRLEN];
    fz_http_reply reply = {.status = 200};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &headers);
    peer_of(connection, peer, sizeof peer);
    fz_str uri = fz_str_from(p->uri);
    size_t mark = fz_str_find(uri, '?', 0);
    fz_http_call call = {
        .method = fz_str_from(method),
        .path = fz_str_slice(uri, 0, mark),
        .query = mark == SIZE_MAX ? FZ_STR("") : fz_str_slice(uri, mark + 1, uri.size),
        .headers = headers.items.data,
        .header_count = headers.items.count,
        .body = fz_buf_view(&p->body),
        .peer = fz_str_from(peer),
    };
    if (p->body.failed) {
        reply.status = 413;
        fz_buf_append_str(&reply.body,
                          FZ_STR("{\"error_code\":413,\"message\":\"request body too large\"}"));
    } else {
        server->handler(server->context, &call, &reply);
    }
    // without an answer the library closes the connection
    enum MHD_Result result = reply.status == 0 ? MHD_NO : queue(connection, &reply);
    reply_deinit(&reply);
    fz_vec_deinit(&headers.items);
    return result;
}

static bool announces_more(struct MHD_Connection *connection, size_t ceiling) {
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t size;
    return length && fz_int_parse(fz_str_from(length), &size, NULL) == FZ_OK &&
           (size < 0 || (uint64_t)size > ceiling);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state) {
    (void)url;
    (void)version;
    fz_http_server *server = context;
    pending *p = *state;
    if (!p) {
        return MHD_NO;
    }
    if (!p->started) {
        p->started = true;
        fz_buf_init(&p->body, server->body_ceiling, NULL);
        p->body.failed = announces_more(connection, server->body_ceiling);
        return p->body.failed ? answer(server, connection, method, p) : MHD_YES;
    }
    if (*size > 0) {
        fz_buf_append(&p->body, data, *size);
        *size = 0;
        return p->body.failed ? MHD_NO : MHD_YES; // more than a chunked body may have: hang up
    }
    return answer(server, connection, method, p);
}

static fz_code make_address(const char *text, uint16_t port, struct sockaddr_storage *out,
                            socklen_t *size, fz_err *err) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)out;
    memset(out, 0, sizeof *out);
    if (strcmp(text, "localhost") == 0) {
        text = "127.0.0.1";
    }
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *size = sizeof *v4;
        return FZ_OK;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *size = sizeof *v6;
        return FZ_OK;
    }
    return fz_err_set(err, FZ_INVALID, "\"%s\" is not an IP address to listen on", text);
}

// A socket of our own: the library does not say why it could not bind.
static fz_code listen_on(const char *address, uint16_t port, int *out, uint16_t *real_port,
                         fz_err *err) {
    struct sockaddr_storage at;
    socklen_t size;
    FZ_TRY(make_address(address, port, &at, &size, err));
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0) {
        return fz_err_set_errno(err, errno, "cannot make a socket");
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&at, size) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        int number = errno;
        close(fd);
        fz_code code = number == EACCES || number == EPERM ? FZ_DENIED : FZ_UNAVAILABLE;
        return fz_err_set(err, code, "cannot listen on %s port %u: %s", address, port,
                          strerror(number));
    }
    *real_port = ntohs(at.ss_family == AF_INET
                           ? ((const struct sockaddr_in *)(const void *)&at)->sin_port
                           : ((const struct sockaddr_in6 *)(const void *)&at)->sin6_port);
    *out = fd;
    return FZ_OK;
}

static struct MHD_Daemon *start_daemon(fz_http_server *server,
                                       const fz_http_server_options *options, int fd) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                     MHD_USE_POLL | MHD_USE_ITC;
    // signals are for the program's own threads
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT,
        options->connections ? options->connections : 128, MHD_OPTION_CONNECTION_TIMEOUT,
        options->idle_timeout_s ? options->idle_timeout_s : 60, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return daemon;
}

fz_code fz_http_server_start(const fz_http_server_options *options, fz_http_server **out,
                             fz_err *err) {
    FZ_ASSERT(options && options->handler && out);
    const char *address = options->address ? options->address : "127.0.0.1";
    int fd;
    uint16_t port;
    FZ_TRY(listen_on(address, options->port, &fd, &port, err));
    fz_http_server *server = fz_calloc(1, sizeof *server);
    server->handler = options->handler;
    server->context = options->context;
    server->body_ceiling = options->body_ceiling ? options->body_ceiling : DEFAULT_CEILING;
    server->port = port;
    server->url =
        fz_str_printf(strchr(address, ':') ? "http://[%s]:%u" : "http://%s:%u", address, port);
    server->daemon = start_daemon(server, options, fd);
    if (!server->daemon) {
        close(fd);
        fz_http_server_stop(server);
        return fz_err_set(err, FZ_UNAVAILABLE, "cannot serve on %s port %u", address, port);
    }
    *out = server;
    return FZ_OK;
}

void fz_http_server_stop(fz_http_server *server) {
    if (!server) {
        return;
    }
    if (server->daemon) {
        MHD_stop_daemon(server->daemon);
    }
    fz_free(server->url);
    fz_free(server);
}

uint16_t fz_http_server_port(const fz_http_server *server) {
    return server->port;
}

const char *fz_http_server_url(const fz_http_server *server) {
    return server->url;
}

fz_str fz_http_call_header(const fz_http_call *call, const char *name) {
    for (size_t i = 0; i < call->header_count; i++) {
        if (fz_str_equal_nocase(call->headers[i].name, fz_str_from(name))) {
            return call->headers[i].value;
        }
    }
    return FZ_STR("");
}

static fz_str decode(fz_arena *arena, fz_str text, bool plus) {
    fz_buf out = {0};
    if (plus && fz_str_find(text, '+', 0) != SIZE_MAX) {
        fz_str own = fz_arena_str(arena, text);
        char *p = (char *)(uintptr_t)own.data;
        for (size_t i = 0; i < own.size; i++) {
            p[i] = (char)(p[i] == '+' ? ' ' : p[i]);
        }
        text = own;
    }
    fz_percent_decode(&out, text);
    fz_str decoded = fz_arena_str(arena, fz_buf_view(&out));
    fz_buf_deinit(&out);
    return decoded;
}

bool fz_http_call_parameter(const fz_http_call *call, const char *name, fz_arena *arena,
                            fz_str *value) {
    for (size_t at = 0; at < call->query.size;) {
        size_t end = fz_str_find(call->query, '&', at);
        fz_str pair = fz_str_slice(call->query, at, end);
        size_t equal = fz_str_find(pair, '=', 0);
        if (fz_str_equal(decode(arena, fz_str_slice(pair, 0, equal), true), fz_str_from(name))) {
            *value = equal == SIZE_MAX
                         ? FZ_STR("")
                         : decode(arena, fz_str_slice(pair, equal + 1, pair.size), true);
            return true;
        }
        if (end == SIZE_MAX) {
            break;
        }
        at = end + 1;
    }
    return false;
}

size_t fz_http_call_parts(const fz_http_call *call, fz_arena *arena, fz_str *parts,
                          size_t capacity) {
    size_t count = 0;
    for (size_t at = 0; at < call->path.size;) {
        size_t end = fz_str_find(call->path, '/', at);
        fz_str part = fz_str_slice(call->path, at, end);
        if (part.size > 0) {
            if (count < capacity) {
                parts[count] = decode(arena, part, false);
            }
            count++;
        }
        if (end == SIZE_MAX) {
            break;
        }
        at = end + 1;
    }
    return count;
}
