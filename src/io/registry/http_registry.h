// SPDX-License-Identifier: Apache-2.0
// Registry client for the Confluent REST API (Confluent, Karapace, Apicurio ccompat, Redpanda).
#ifndef FZ_IO_REGISTRY_HTTP_REGISTRY_H
#define FZ_IO_REGISTRY_HTTP_REGISTRY_H

#include "base/clock.h"
#include "io/registry/registry.h"

/** Texts are copied. */
typedef struct fz_registry_http_options {
    const char *const *urls; // tried in order, the last good one first
    size_t url_count;
    const char *user; // basic authentication, NULL: none (or user info of the URL)
    const char *password;
    const char *bearer;  // token, NULL: none
    const char *context; // "ctx" or ".ctx", NULL: the default one
    const char *tls_ca_file;
    const char *tls_cert_file;
    const char *tls_key_file;
    int64_t timeout_ms; // of one request, 0: 10000
    fz_clock *clock;    // NULL: real
} fz_registry_http_options;

/** A client without a cache. Errors: INVALID no URL, or a bad one. fz_registry_free it. */
FZ_CHECKED fz_code fz_registry_http_open(const fz_registry_http_options *options, fz_registry **out,
                                         fz_err *err);

#endif
