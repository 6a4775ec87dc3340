// SPDX-License-Identifier: Apache-2.0
// Options with a form of their own, and checks of texts.
#ifndef FZ_CONF_CUSTOM_H
#define FZ_CONF_CUSTOM_H

#include "conf/reader.h"
#include "conf/writer.h"

extern const fz_conf_custom fz_conf_partitioning;
extern const fz_conf_custom fz_conf_sort_order;
extern const fz_conf_custom fz_conf_column_type;
extern const fz_conf_custom fz_conf_metadata;
extern const fz_conf_custom fz_conf_start;
extern const fz_conf_custom fz_conf_compression;
extern const fz_conf_custom fz_conf_bucket;
extern const fz_conf_custom fz_conf_warehouse;
extern const fz_conf_custom fz_conf_catalog_uri;

// What is wrong with a text, as the end of a sentence that starts with it; NULL if nothing is.
const char *fz_conf_topic_check(fz_str text);
const char *fz_conf_pattern_check(fz_str text);
const char *fz_conf_table_check(fz_str text);
const char *fz_conf_dead_letter_table_check(fz_str text);
const char *fz_conf_database_check(fz_str text);
const char *fz_conf_http_check(fz_str text);
const char *fz_conf_listen_check(fz_str text);
const char *fz_conf_kafka_property_check(fz_str key);
const char *fz_conf_table_property_check(fz_str key);

/** host and port of `host:port`, `:port`, `[::1]:port`; false if it is not that. */
bool fz_conf_listen_split(fz_str text, fz_str *host, int *port);

#endif
