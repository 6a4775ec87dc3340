// SPDX-License-Identifier: Apache-2.0
// URIs of places: s3://bucket/key, file:///path, https://host:port/path.
#ifndef FZ_BASE_TEXT_URI_H
#define FZ_BASE_TEXT_URI_H

#include "base/error.h"
#include "base/str.h"

/** Views into the text. `file:/x`, `file:///x` both have an empty authority and path `/x`. Nothing
 * is decoded. */
typedef struct fz_uri {
    fz_str scheme;    // empty: a bare path
    fz_str user_info; // before '@'
    fz_str host;      // with brackets for IPv6
    int port;         // -1 none
    fz_str path;      // with its leading '/'
    fz_str query;     // behind '?'
} fz_uri;

/** INVALID for a bad port or scheme. In s3, gs, abfss, file URIs '?' and '#' are part of the path.
 */
FZ_CHECKED fz_code fz_uri_parse(fz_str text, fz_uri *out, fz_err *err);

#endif
