// SPDX-License-Identifier: Apache-2.0
// Splitting of URIs (RFC 3986 with the habits of object stores).
#include "base/text/uri.h"

#include "base/text/number.h"

static bool is_scheme(fz_str s) {
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other)) {
            return false;
        }
    }
    return s.size > 0;
}

// Object keys and file names may hold '?' and '#'.
static bool is_plain_path(fz_str scheme) {
    static const char *const schemes[] = {"",     "file",  "s3",   "s3a",   "s3n", "gs",
                                          "abfs", "abfss", "wasb", "wasbs", "hdfs"};
    for (size_t i = 0; i < FZ_COUNT(schemes); i++) {
        if (fz_str_equal_nocase(scheme, fz_str_from(schemes[i]))) {
            return true;
        }
    }
    return false;
}

static fz_code parse_authority(fz_str authority, fz_str text, fz_uri *uri, fz_err *err) {
    size_t at = authority.size;
    while (at > 0 && authority.data[at - 1] != '@') {
        at--;
    }
    if (at > 0) {
        uri->user_info = fz_str_slice(authority, 0, at - 1);
    }
    fz_str host = fz_str_slice(authority, at, authority.size);
    size_t colon = SIZE_MAX;
    if (host.size && host.data[0] == '[') {
        size_t bracket = fz_str_find(host, ']', 0);
        if (bracket == SIZE_MAX || (bracket + 1 < host.size && host.data[bracket + 1] != ':')) {
            return fz_err_set(err, FZ_INVALID, "\"%.*s\" has a bad host", FZ_STR_ARGS(text));
        }
        colon = bracket + 1 < host.size ? bracket + 1 : SIZE_MAX;
    } else {
        colon = fz_str_find(host, ':', 0);
    }
    uri->host = fz_str_slice(host, 0, colon);
    if (colon == SIZE_MAX || colon + 1 == host.size) {
        return FZ_OK;
    }
    fz_str digits = fz_str_slice(host, colon + 1, host.size);
    int64_t port;
    if (digits.data[0] < '0' || digits.data[0] > '9' ||
        fz_int_parse(digits, &port, NULL) != FZ_OK || port > 65535) {
        return fz_err_set(err, FZ_INVALID, "\"%.*s\" has a bad port \"%.*s\"", FZ_STR_ARGS(text),
                          FZ_STR_ARGS(digits));
    }
    uri->port = (int)port;
    return FZ_OK;
}

fz_code fz_uri_parse(fz_str text, fz_uri *out, fz_err *err) {
    fz_uri uri = {.port = -1};
    size_t colon = fz_str_find(text, ':', 0);
    size_t slash = fz_str_find(text, '/', 0);
    fz_str rest = text;
    if (colon < slash) { // SIZE_MAX is none
        uri.scheme = fz_str_slice(text, 0, colon);
        rest = fz_str_slice(text, colon + 1, text.size);
        if (!is_scheme(uri.scheme)) {
            return fz_err_set(err, FZ_INVALID, "\"%.*s\" has a bad scheme \"%.*s\"",
                              FZ_STR_ARGS(text), FZ_STR_ARGS(uri.scheme));
        }
    }
    if (!is_plain_path(uri.scheme)) {
        rest = fz_str_slice(rest, 0, fz_str_find(rest, '#', 0));
        size_t mark = fz_str_find(rest, '?', 0);
        if (mark != SIZE_MAX) {
            uri.query = fz_str_slice(rest, mark + 1, rest.size);
            rest = fz_str_slice(rest, 0, mark);
        }
    }
    if (uri.scheme.size && fz_str_starts_with(rest, FZ_STR("//"))) {
        rest = fz_str_slice(rest, 2, rest.size);
        size_t end = fz_str_find(rest, '/', 0);
        FZ_TRY(parse_authority(fz_str_slice(rest, 0, end), text, &uri, err));
        rest = fz_str_slice(rest, end, rest.size);
    }
    uri.path = rest;
    *out = uri;
    return FZ_OK;
}
