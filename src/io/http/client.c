// SPDX-License-Identifier: Apache-2.0
// Requests over libcurl; handles are kept with their connections and reused.
#include "io/http/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text/number.h"
#include "base/thread.h"

enum {
    DEFAULT_CEILING = 16 << 20,
    MAX_IDLE = 64,            // handles kept
    MAX_HEADERS = 256,        // of a reply
    MAX_HEADER_BYTES = 65536, // of a reply, all together
    MAX_RETRY_AFTER_MS = 3600 * 1000,
};

struct fz_http_client {
    fz_http_client_options options; // texts owned
    fz_mutex mutex;                 // guards idle
    FZ_VEC(CURL *) idle;
};

// One request under way.
typedef struct transfer {
    const fz_http_request *request;
    fz_http_response *response;
    size_t header_bytes;
    bool too_large;
} transfer;

static void start_curl(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static char *copy(const char *text) {
    return text ? fz_str_dup(fz_str_from(text)) : NULL;
}

fz_http_client *fz_http_client_new(const fz_http_client_options *options) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    fz_http_client *client = fz_calloc(1, sizeof *client);
    fz_http_client_options o = options ? *options : (fz_http_client_options){0};
    client->options = (fz_http_client_options){
        .user_agent = copy(o.user_agent ? o.user_agent : "frazil"),
        .tls_ca_file = copy(o.tls_ca_file),
        .tls_cert_file = copy(o.tls_cert_file),
        .tls_key_file = copy(o.tls_key_file),
        .connect_timeout_ms = o.connect_timeout_ms > 0 ? o.connect_timeout_ms : 5000,
        .timeout_ms = o.timeout_ms > 0 ? o.timeout_ms : 30000,
        .stall_timeout_ms = o.stall_timeout_ms > 0 ? o.stall_timeout_ms : 30000,
        .clock = o.clock ? o.clock : fz_clock_real(),
    };
    fz_mutex_init(&client->mutex);
    return client;
}

static void free_text(const char *text) {
    fz_free((char *)(uintptr_t)text);
}

void fz_http_client_free(fz_http_client *client) {
    if (!client) {
        return;
    }
    for (size_t i = 0; i < client->idle.count; i++) {
        curl_easy_cleanup(client->idle.data[i]);
    }
    fz_vec_deinit(&client->idle);
    free_text(client->options.user_agent);
    free_text(client->options.tls_ca_file);
    free_text(client->options.tls_cert_file);
    free_text(client->options.tls_key_file);
    fz_mutex_deinit(&client->mutex);
    fz_free(client);
}

static CURL *take_handle(fz_http_client *client) {
    CURL *curl = NULL;
    fz_mutex_lock(&client->mutex);
    if (client->idle.count > 0) {
        curl = client->idle.data[--client->idle.count];
    }
    fz_mutex_unlock(&client->mutex);
    return curl ? curl : curl_easy_init();
}

static void give_handle(fz_http_client *client, CURL *curl) {
    curl_easy_reset(curl); // forgets options and secrets, keeps connections and sessions
    fz_mutex_lock(&client->mutex);
    bool keep = client->idle.count < MAX_IDLE;
    if (keep) {
        fz_vec_push(&client->idle, curl);
    }
    fz_mutex_unlock(&client->mutex);
    if (!keep) {
        curl_easy_cleanup(curl);
    }
}

void fz_http_response_deinit(fz_http_response *response) {
    if (response) {
        fz_buf_deinit(&response->body);
        fz_vec_deinit(&response->headers);
        fz_arena_deinit(&response->arena);
        *response = (fz_http_response){0};
    }
}

fz_str fz_http_response_header(const fz_http_response *response, const char *name) {
    for (size_t i = response->headers.count; i > 0; i--) {
        if (fz_str_equal_nocase(response->headers.data[i - 1].name, fz_str_from(name))) {
            return response->headers.data[i - 1].value;
        }
    }
    return FZ_STR("");
}

void fz_http_url_redact(fz_buf *out, fz_str url) {
    size_t end = url.size;
    for (size_t i = 0; i < end; i++) {
        if (url.data[i] == '?' || url.data[i] == '#') {
            end = i;
        }
    }
    url.size = end;
    size_t scheme = fz_str_find_str(url, FZ_STR("://"));
    size_t start = scheme == SIZE_MAX ? 0 : scheme + 3;
    size_t slash = fz_str_find(url, '/', start);
    fz_str authority = fz_str_slice(url, start, slash);
    size_t at = 0;
    for (size_t i = 0; i < authority.size; i++) {
        if (authority.data[i] == '@') {
            at = i + 1; // the last one
        }
    }
    fz_buf_append_str(out, fz_str_slice(url, 0, start));
    fz_buf_append_str(out, fz_str_slice(url, start + at, url.size));
}

static size_t on_body(char *data, size_t size, size_t count, void *context) {
    transfer *t = context;
    fz_buf_append(&t->response->body, data, size * count);
    t->too_large |= t->response->body.failed;
    return t->too_large ? 0 : size * count;
}

// Lines of each reply of a redirected or authenticated request pass: the last status line starts
// afresh.
static size_t on_header(char *data, size_t size, size_t count, void *context) {
    transfer *t = context;
    fz_http_response *r = t->response;
    fz_str line = fz_str_trim(fz_str_make(data, size * count));
    if (fz_str_starts_with(line, FZ_STR("HTTP/"))) {
        fz_vec_reset(&r->headers);
        return size * count;
    }
    size_t colon = fz_str_find(line, ':', 0);
    t->header_bytes += line.size;
    if (t->header_bytes > MAX_HEADER_BYTES || r->headers.count == MAX_HEADERS) {
        t->too_large = true;
        return 0;
    }
    if (colon != SIZE_MAX && colon > 0) {
        fz_str name = fz_arena_str(&r->arena, fz_str_slice(line, 0, colon));
        char *letters = (char *)(uintptr_t)name.data;
        for (size_t i = 0; i < name.size; i++) {
            letters[i] =
                (char)(letters[i] >= 'A' && letters[i] <= 'Z' ? letters[i] + 32 : letters[i]);
        }
        fz_str value =
            fz_arena_str(&r->arena, fz_str_trim(fz_str_slice(line, colon + 1, line.size)));
        fz_http_header header = {name, value};
        fz_vec_push(&r->headers, header);
    }
    return size * count;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    const transfer *t = context;
    return t->request->cancel && atomic_load(t->request->cancel);
}

static bool is_plain(fz_str s) {
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == '\r' || s.data[i] == '\n' || s.data[i] == 0) {
            return false;
        }
    }
    return true;
}

// The request's headers for curl; NULL in *out for none.
static fz_code make_headers(const fz_http_request *request, struct curl_slist **out, fz_err *err) {
    struct curl_slist *list = NULL;
    bool typed = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const fz_http_header *h = &request->headers[i];
        if (h->name.size == 0 || !is_plain(h->name) || !is_plain(h->value) ||
            fz_str_find(h->name, ':', 0) != SIZE_MAX) {
            curl_slist_free_all(list);
            return fz_err_set(err, FZ_INVALID, "header \"%.*s\" cannot be sent",
                              FZ_STR_ARGS(h->name));
        }
        typed |= fz_str_equal_nocase(h->name, FZ_STR("content-type"));
        // "name;" is curl's spelling of a header with an empty value
        char *line = fz_str_printf(h->value.size ? "%.*s: %.*s" : "%.*s;%.*s", FZ_STR_ARGS(h->name),
                                   FZ_STR_ARGS(h->value));
        list = curl_slist_append(list, line);
        fz_free(line);
    }
    list = curl_slist_append(list, "Expect:"); // no round trip before the body
    if (!typed) {
        list = curl_slist_append(list, "Content-Type:"); // curl would say it is a form
    }
    *out = list;
    return FZ_OK;
}

static const char *method_of(const fz_http_request *request) {
    return request->method ? request->method : "GET";
}

static bool is_read(const fz_http_request *request) {
    return strcmp(method_of(request), "GET") == 0 || strcmp(method_of(request), "HEAD") == 0;
}

static bool is_alone(const fz_http_request *request) {
    const char *method = method_of(request);
    return request->fresh_connection || strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0;
}

static void set_request(CURL *curl, const fz_http_request *request) {
    const char *method = method_of(request);
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (request->has_body || request->body.size > 0 || strcmp(method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.data ? request->body.data : "");
    }
    if (strcmp(method, "GET") != 0 || request->has_body || request->body.size > 0) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    }
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, NULL);
    }
    // A library that finds a kept connection dead sends again by itself. Then one call could be
    // applied twice.
    if (is_alone(request)) {
        curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    }
    if (request->user) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, request->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, request->password ? request->password : "");
    } else if (request->bearer) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, request->bearer);
    }
    if (request->follow_redirects) {
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    }
}

static void set_options(CURL *curl, const fz_http_client *client, const char *url, transfer *t,
                        char *error_text) {
    const fz_http_client_options *o = &client->options;
    int64_t timeout_ms = t->request->timeout_ms > 0 ? t->request->timeout_ms : o->timeout_ms;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_text);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, o->user_agent);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)((o->stall_timeout_ms + 999) / 1000));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    if (o->tls_ca_file) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, o->tls_ca_file);
    }
    if (o->tls_cert_file) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, o->tls_cert_file);
    }
    if (o->tls_key_file) {
        curl_easy_setopt(curl, CURLOPT_SSLKEY, o->tls_key_file);
    }
}

// Surely no byte of the request was sent: by the error itself, or because the connection never got
// that far.
static bool surely_unsent(CURL *curl, CURLcode result) {
    switch (result) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_PROXY:
        return true;
    default:
        break;
    }
    curl_off_t ready_us = 0; // until just before the request
    long sent = 0;           // bytes of requests, also those to a proxy
    curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    return ready_us == 0 && sent == 0;
}

static fz_code code_of(CURLcode result, bool unsent, const transfer *t) {
    bool read = is_read(t->request);
    switch (result) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        return FZ_INVALID;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return FZ_DENIED;
    case CURLE_ABORTED_BY_CALLBACK:
        return unsent || read ? FZ_CANCELLED : FZ_UNKNOWN_OUTCOME;
    case CURLE_TOO_MANY_REDIRECTS:
        return read ? FZ_INVALID : FZ_UNKNOWN_OUTCOME;
    default:
        break;
    }
    if (t->too_large) {
        return read ? FZ_LIMIT : FZ_UNKNOWN_OUTCOME;
    }
    return unsent || read ? FZ_UNAVAILABLE : FZ_UNKNOWN_OUTCOME;
}

static fz_code fail(CURL *curl, CURLcode result, const transfer *t, const char *error_text,
                    fz_err *err) {
    bool unsent = surely_unsent(curl, result);
    fz_code code = code_of(result, unsent, t);
    fz_buf url = {0};
    fz_http_url_redact(&url, t->request->url);
    const char *why = error_text[0] ? error_text : curl_easy_strerror(result);
    if (result == CURLE_ABORTED_BY_CALLBACK) {
        why = "cancelled";
    } else if (t->too_large) {
        why = "reply above its limit";
    }
    fz_err_set(err, code, "%s %s: %s%s", method_of(t->request), fz_buf_cstr(&url), why,
               code == FZ_UNKNOWN_OUTCOME ? ", the request may have been applied" : "");
    fz_buf_deinit(&url);
    return code;
}

// Seconds, or an HTTP date.
static int64_t retry_after(const fz_http_client *client, const fz_http_response *response) {
    fz_str text = fz_http_response_header(response, "retry-after");
    int64_t ms = -1;
    int64_t seconds;
    if (text.size == 0) {
        return -1;
    }
    if (fz_int_parse(text, &seconds, NULL) == FZ_OK) {
        ms = seconds < 0                           ? -1
             : seconds > MAX_RETRY_AFTER_MS / 1000 ? MAX_RETRY_AFTER_MS
                                                   : seconds * 1000;
    } else {
        time_t at = curl_getdate(text.data, NULL); // terminated, it is in the arena
        if (at >= 0) {
            ms = (int64_t)at * 1000 - fz_clock_wall_ms(client->options.clock);
            ms = ms < 0 ? 0 : ms;
        }
    }
    return ms > MAX_RETRY_AFTER_MS ? MAX_RETRY_AFTER_MS : ms;
}

static fz_code perform(fz_http_client *client, CURL *curl, const char *url, transfer *t,
                       fz_err *err) {
    struct curl_slist *headers = NULL;
    char error_text[CURL_ERROR_SIZE] = "";
    FZ_TRY(make_headers(t->request, &headers, err));
    set_options(curl, client, url, t, error_text);
    set_request(curl, t->request);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    CURLcode result = curl_easy_perform(curl);
    fz_code code = FZ_OK;
    if (result == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        t->response->status = (int)status;
        t->response->retry_after_ms = retry_after(client, t->response);
    } else {
        code = fail(curl, result, t, error_text, err);
    }
    curl_slist_free_all(headers);
    return code;
}

fz_code fz_http_client_send(fz_http_client *client, const fz_http_request *request,
                            fz_http_response *out, fz_err *err) {
    FZ_ASSERT(client && request && out);
    fz_str url = request->url;
    if (url.size == 0 || !is_plain(url)) {
        return fz_err_set(err, FZ_INVALID, "not a URL of %zu bytes", url.size);
    }
    if (request->cancel && atomic_load(request->cancel)) {
        return fz_err_set(err, FZ_CANCELLED, "cancelled before a request");
    }
    CURL *curl = take_handle(client);
    if (!curl) {
        return fz_err_set(err, FZ_UNAVAILABLE, "no memory for a request");
    }
    fz_http_response response = {.retry_after_ms = -1};
    fz_buf_init(&response.body,
                request->response_ceiling ? request->response_ceiling : DEFAULT_CEILING,
                request->budget);
    transfer t = {.request = request, .response = &response};
    char *text = fz_str_dup(url);
    fz_code code = perform(client, curl, text, &t, err);
    fz_free(text);
    give_handle(client, curl);
    if (code != FZ_OK) {
        fz_http_response_deinit(&response);
        return code;
    }
    fz_http_response_deinit(out);
    *out = response;
    return FZ_OK;
}

static fz_code code_of_status(int status) {
    switch (status) {
    case 401:
    case 403:
    case 407:
        return FZ_DENIED;
    case 404:
    case 410:
        return FZ_NOT_FOUND;
    case 409:
    case 412:
        return FZ_CONFLICT;
    case 408:
    case 425:
    case 429:
        return FZ_UNAVAILABLE;
    case 501:
        return FZ_UNSUPPORTED;
    default:
        return status >= 500 ? FZ_UNAVAILABLE : FZ_INVALID;
    }
}

fz_code fz_http_response_check(const fz_http_request *request, const fz_http_response *response,
                               fz_err *err) {
    if (response->status >= 200 && response->status < 300) {
        return FZ_OK;
    }
    fz_code code = code_of_status(response->status);
    fz_buf url = {0};
    fz_http_url_redact(&url, request->url);
    fz_str body = fz_str_trim(fz_str_slice(fz_buf_view(&response->body), 0, 200));
    fz_err_set(err, code, "%s %s: status %d%s%.*s", method_of(request), fz_buf_cstr(&url),
               response->status, body.size ? ": " : "", FZ_STR_ARGS(body));
    if (err) {
        err->retry_after_ms = response->retry_after_ms;
    }
    fz_buf_deinit(&url);
    return code;
}
