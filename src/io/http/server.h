// SPDX-License-Identifier: Apache-2.0
// HTTP server: one handler for whole requests, raw paths, replies from memory.
#ifndef FZ_IO_HTTP_SERVER_H
#define FZ_IO_HTTP_SERVER_H

#include "io/http/client.h"

typedef struct fz_http_server fz_http_server;

/** A whole request; lives until the handler returns. */
typedef struct fz_http_call {
    fz_str method;
    fz_str path;  // as it came, not decoded: "/subjects/a%2Fb"
    fz_str query; // as it came, without '?'
    const fz_http_header *headers;
    size_t header_count;
    fz_str body;
    fz_str peer; // address of the client, "127.0.0.1"
} fz_http_call;

/** What the handler fills. Starts as 200 with an empty body. */
typedef struct fz_http_reply {
    int status;          // 0: close the connection without a reply
    fz_str content_type; // a literal or in the arena; empty: application/json
    fz_buf body;
    FZ_VEC(fz_http_header) headers; // in the arena or literals
    fz_arena arena;
} fz_http_reply;

/** Runs on a thread of the connection; several at once. */
typedef void (*fz_http_handler)(void *context, const fz_http_call *call, fz_http_reply *reply);

typedef struct fz_http_server_options {
    const char *address; // NULL: 127.0.0.1; IPv6 without brackets
    uint16_t port;       // 0: any free one
    fz_http_handler handler;
    void *context;
    size_t body_ceiling;  // bytes of a request's body, 0: 16 MiB; above it 413 without the handler
    unsigned connections; // at once, 0: 128
    unsigned idle_timeout_s; // 0: 60
} fz_http_server_options;

/** Listen and serve. Errors: INVALID address; UNAVAILABLE port taken; DENIED. */
FZ_CHECKED fz_code fz_http_server_start(const fz_http_server_options *options, fz_http_server **out,
                                        fz_err *err);
/** Close all connections, wait for handlers that run. NULL allowed. */
void fz_http_server_stop(fz_http_server *server);
uint16_t fz_http_server_port(const fz_http_server *server);
/** "http://127.0.0.1:8090"; lives as long as the server. */
const char *fz_http_server_url(const fz_http_server *server);

/** Value of the first header of that name, any case; empty if none. */
fz_str fz_http_call_header(const fz_http_call *call, const char *name);
/** Value of a query parameter, decoded into the reply's arena ('+' is a space); false if absent. */
bool fz_http_call_parameter(const fz_http_call *call, const char *name, fz_arena *arena,
                            fz_str *value);
/**
 * Parts of the raw path between slashes, each percent-decoded into the arena; empty parts are left
 * out. Returns how many there are (at most `capacity` are written).
 */
size_t fz_http_call_parts(const fz_http_call *call, fz_arena *arena, fz_str *parts,
                          size_t capacity);

#endif
