// SPDX-License-Identifier: Apache-2.0
// The registry suite over the memory registry, and over HTTP against its own server, with and
// without cache.
#define _GNU_SOURCE
#include <stdlib.h>

#include "conformance/registry_suite.c"

#include "io/registry/cached_registry.h"
#include "io/registry/http_registry.h"

static fz_registry *memory;
static fz_registry *front;
static fz_http_server *server;

static void open_memory(fz_registry **out, fz_registry **behind) {
    memory = fz_registry_memory_new();
    *out = *behind = memory;
}

static void open_http(fz_registry **out, fz_registry **behind) {
    memory = fz_registry_memory_new();
    fz_http_server_options options = {.handler = fz_registry_memory_handle, .context = memory};
    assert_int_equal(fz_http_server_start(&options, &server, NULL), FZ_OK);
    char *url = fz_str_printf("%s/", fz_http_server_url(server));
    const char *urls[] = {url};
    assert_int_equal(fz_registry_http_open(
                         &(fz_registry_http_options){.urls = urls, .url_count = 1}, &front, NULL),
                     FZ_OK);
    fz_free(url);
    *out = front;
    *behind = memory;
}

static void open_cached(fz_registry **out, fz_registry **behind) {
    open_http(out, behind);
    front = fz_registry_cached_new(front, &(fz_registry_cache_options){.unknown_retry_ms = -1});
    *out = front;
}

static void close_all(void) {
    fz_registry_free(front);
    fz_http_server_stop(server);
    fz_registry_free(memory);
    front = memory = NULL;
    server = NULL;
}

int main(void) {
    setenv("no_proxy", "*", 1); // whoever runs the tests may be behind a proxy
    static const registry_suite suites[] = {
        {"memory", open_memory, close_all},
        {"http", open_http, close_all},
        {"cached", open_cached, close_all},
    };
    int failed = 0;
    for (size_t i = 0; i < FZ_COUNT(suites); i++) {
        failed += registry_suite_run(&suites[i]);
    }
    return failed;
}
