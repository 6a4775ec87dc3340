// SPDX-License-Identifier: Apache-2.0
// Every limit of the configuration in one place.
#ifndef FZ_CONF_LIMITS_H
#define FZ_CONF_LIMITS_H

enum {
    FZ_CONFIG_MAX_FILE = 8 << 20,      // bytes of one file or text
    FZ_CONFIG_MAX_DOCUMENTS = 1000,    // YAML documents of one file
    FZ_CONFIG_MAX_DEPTH = 32,          // nesting of lists and mappings
    FZ_CONFIG_MAX_NODES = 500000,      // of one file, aliases counted as what they stand for
    FZ_CONFIG_MAX_KEY = 400,           // bytes; libyaml wants a key within 1024 characters, escaped
    FZ_CONFIG_MAX_ANCHORS = 1000,      // of one document
    FZ_CONFIG_MAX_WORK = 4000000,      // nodes read over all entries, defaults counted each time
    FZ_CONFIG_MAX_ENTRIES = 10000,     // tableflow entries
    FZ_CONFIG_MAX_EXPANDED = 16 << 20, // bytes of all texts with variables put in
    FZ_CONFIG_MAX_EXPAND_DEPTH = 8,    // `${A:-${B:-...}}`
    FZ_CONFIG_MAX_FAULTS = 100,        // listed
    FZ_CONFIG_MAX_SECRET = 64 << 10,   // bytes of a secret's file
    FZ_CONFIG_MAX_SCHEMA = 1 << 20,    // bytes of a schema file
    FZ_CONFIG_MAX_TYPE_DEPTH = 32,     // nesting of a column's type
    FZ_CONFIG_MAX_TYPE_FIELDS = 10000, // fields in one type
    FZ_CONFIG_MAX_COLUMNS = 10000,     // value.columns, partitioning, sort_order
    FZ_CONFIG_MAX_PATTERN = 1024,      // bytes of topic_pattern
    FZ_CONFIG_MAX_PATTERN_DEPTH = 32,  // nested groups of topic_pattern
    FZ_CONFIG_MAX_PATTERN_COST = 10000, // atoms of it once repeats are written out
};

#endif
