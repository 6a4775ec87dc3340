// SPDX-License-Identifier: Apache-2.0
// HTTP client: one transmission a call, with an outcome that says whether the request may have been
// applied.
#ifndef FZ_IO_HTTP_CLIENT_H
#define FZ_IO_HTTP_CLIENT_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/vec.h"

typedef struct fz_http_client fz_http_client;

typedef struct fz_http_header {
    fz_str name;
    fz_str value;
} fz_http_header;

/** How a client connects. Texts are copied. Zeroed is a good default. */
typedef struct fz_http_client_options {
    const char *user_agent;     // NULL: "frazil"
    const char *tls_ca_file;    // PEM bundle, NULL: the system's
    const char *tls_cert_file;  // client certificate, PEM
    const char *tls_key_file;   // its key, PEM
    int64_t connect_timeout_ms; // 0: 5000
    int64_t timeout_ms;         // whole request, 0: 30000; a request may say otherwise
    int64_t stall_timeout_ms;   // no byte in either direction, 0: 30000
    fz_clock *clock;            // for dates in Retry-After, NULL: real
} fz_http_client_options;

/** One request. Everything is borrowed until the call returns. Zeroed: GET. */
typedef struct fz_http_request {
    const char *method; // NULL: GET
    fz_str url;         // http or https, percent-encoded as it goes out
    const fz_http_header *headers;
    size_t header_count;
    fz_str body;
    bool has_body;      // send a body, also of 0 bytes
    int64_t timeout_ms; // 0: the client's
    /**
     * A connection of its own, closed afterwards, so that the library never sends the request a
     * second time. POST and PATCH always have one; set it for a PUT or DELETE whose outcome
     * matters.
     */
    bool fresh_connection;
    bool follow_redirects; // at most 5, http and https; credentials stay with the first host
    const char *user;      // basic authentication, NULL: none
    const char *password;
    const char *bearer;         // token, NULL: none
    size_t response_ceiling;    // bytes of the reply's body, 0: 16 MiB
    fz_budget *budget;          // charged with the reply's body, may be NULL
    const _Atomic bool *cancel; // looked at about once a second, may be NULL
} fz_http_request;

/** A whole reply, any status. Zeroed is empty and valid. */
typedef struct fz_http_response {
    int status;
    fz_buf body;
    FZ_VEC(fz_http_header) headers; // names in lower case; in the arena
    fz_arena arena;
    int64_t retry_after_ms; // -1: none; at most an hour
} fz_http_response;

void fz_http_response_deinit(fz_http_response *response);
/** Value of the last header of that name, any case; empty if none. */
fz_str fz_http_response_header(const fz_http_response *response, const char *name);

/** options NULL: defaults. */
fz_http_client *fz_http_client_new(const fz_http_client_options *options);
/** No request may be under way. NULL allowed. */
void fz_http_client_free(fz_http_client *client);

/**
 * Send once and take the whole reply. FZ_OK for any status. Any thread, also at once. Proxies are
 * taken from the environment (http_proxy, https_proxy, no_proxy).
 *
 * Errors: UNAVAILABLE surely not applied (name, connection, TLS, time-out before sending), or GET
 * and HEAD without a whole reply; UNKNOWN_OUTCOME sent, but no whole reply; LIMIT reply of GET or
 * HEAD above its ceiling (of others: UNKNOWN_OUTCOME); INVALID url or header; DENIED certificate
 * refused; CANCELLED before sending. The text names method and URL without user, password and
 * query.
 */
FZ_CHECKED fz_code fz_http_client_send(fz_http_client *client, const fz_http_request *request,
                                       fz_http_response *out, fz_err *err);

/**
 * FZ_OK for status 2xx, else a code with the beginning of the body in the text: 401, 403 DENIED;
 * 404 NOT_FOUND; 409, 412 CONFLICT; 408, 425, 429, 500, 502, 503, 504 UNAVAILABLE with
 * retry_after_ms; 501 UNSUPPORTED; others INVALID. What 5xx means for a request with an effect is
 * the caller's to say.
 */
FZ_CHECKED fz_code fz_http_response_check(const fz_http_request *request,
                                          const fz_http_response *response, fz_err *err);

/** Append the URL without user, password and query. */
void fz_http_url_redact(fz_buf *out, fz_str url);

#endif
