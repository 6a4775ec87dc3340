// SPDX-License-Identifier: Apache-2.0
// Checks of single texts: topics, patterns, table names, addresses, names that are not the user's
// to set.
#include "conf/custom.h"

#include <regex.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/number.h"
#include "base/text/uri.h"
#include "conf/limits.h"

/** Source: Kafka's Topic.java: at most 249 of [a-zA-Z0-9._-], not "." or "..". */
const char *fz_conf_topic_check(fz_str text) {
    if (text.size == 0 || text.size > 249) {
        return "is not a topic name, wanted 1 to 249 characters";
    }
    if (fz_str_equal(text, FZ_STR(".")) || fz_str_equal(text, FZ_STR(".."))) {
        return "is not a topic name";
    }
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '.' || c == '_' || c == '-';
        if (!good) {
            return "is not a topic name, wanted only letters, digits, \".\", \"_\" and \"-\" (a "
                   "regular expression belongs in \"topic_pattern\")";
        }
    }
    return NULL;
}

/** Index behind the bracket expression that starts at `at`. */
static size_t bracket_skip(fz_str text, size_t at) {
    size_t i = at + 1;
    i += i < text.size && text.data[i] == '^';
    i += i < text.size && text.data[i] == ']'; // the first one is itself
    while (i < text.size && text.data[i] != ']') {
        i++;
    }
    return i + 1;
}

/** The largest number between the braces that start at `*at`, at least 1; `*at` goes behind them.
 */
static int64_t braces_read(fz_str text, size_t *at) {
    int64_t largest = 1;
    int64_t number = 0;
    size_t i = *at + 1;
    for (; i < text.size && text.data[i] != '}'; i++) {
        char c = text.data[i];
        number = c >= '0' && c <= '9' ? number * 10 + (c - '0') : 0;
        number = number > FZ_CONFIG_MAX_PATTERN_COST ? FZ_CONFIG_MAX_PATTERN_COST : number;
        largest = number > largest ? number : largest;
    }
    *at = i + 1;
    return largest + 1;
}

/**
 * Whether the automaton of the pattern stays small. The C library copies what a `+` or a {n}
 * repeats, so "a+++++" and
 * "((a{99}){99}){99}" want all memory.
 */
static bool repeats_bounded(fz_str text) {
    int64_t sums[FZ_CONFIG_MAX_PATTERN_DEPTH] = {0}; // of the open groups
    size_t depth = 0;
    int64_t atom = 0; // size of what a repeat would repeat; in sums[depth] already
    for (size_t i = 0; i < text.size;) {
        char c = text.data[i];
        int64_t times = 1;
        if (c == '(') {
            if (++depth == FZ_CONFIG_MAX_PATTERN_DEPTH) {
                return false;
            }
            sums[depth] = 0;
            atom = 0;
            i++;
            continue;
        }
        if (c == ')' && depth > 0) {
            atom = sums[depth--] + 1;
            sums[depth] += atom;
            i++;
        } else if (c == '+' || c == '*' || c == '?') {
            times = 2;
            i++;
        } else if (c == '{') {
            times = braces_read(text, &i);
        } else {
            i = c == '[' ? bracket_skip(text, i) : i + (c == '\\' ? 2 : 1);
            atom = 1;
            sums[depth] += 1;
        }
        sums[depth] += atom * (times - 1);
        atom *= times;
        if (sums[depth] > FZ_CONFIG_MAX_PATTERN_COST) {
            return false;
        }
    }
    return true;
}

const char *fz_conf_pattern_check(fz_str text) {
    if (text.size == 0 || text.size > FZ_CONFIG_MAX_PATTERN) {
        return "is not a topic pattern, wanted 1 to 1024 bytes";
    }
    if (!repeats_bounded(text)) {
        return "repeats too much, its \"+\", \"*\", \"?\" and {n} together";
    }
    char *pattern = fz_str_dup(text);
    regex_t regex;
    int failed = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (!failed) {
        regfree(&regex);
    }
    fz_free(pattern);
    return failed ? "is not a POSIX extended regular expression" : NULL;
}

/** Placeholders must be among `known` (NULL ends it). */
static const char *placeholders_check(fz_str text, const char *const *known, const char *why) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '}') {
            return why;
        }
        if (text.data[i] != '{') {
            continue;
        }
        size_t end = fz_str_find(text, '}', i);
        fz_str name = end == SIZE_MAX ? (fz_str){0} : fz_str_slice(text, i + 1, end);
        bool found = false;
        for (const char *const *k = known; *k; k++) {
            found |= fz_str_equal(name, fz_str_from(*k));
        }
        if (!found) {
            return why;
        }
        i = end;
    }
    return NULL;
}

static const char *name_check(fz_str text) {
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == 0x7f || c == '/') {
            return "holds a \"/\" or a control character";
        }
    }
    return text.size > 255 ? "is longer than 255 bytes" : NULL;
}

const char *fz_conf_table_check(fz_str text) {
    static const char *const known[] = {"topic", "record", NULL};
    const char *why = name_check(text);
    return why ? why
               : placeholders_check(text, known,
                                    "holds an unknown placeholder, known are {topic} and {record}");
}

const char *fz_conf_dead_letter_table_check(fz_str text) {
    static const char *const known[] = {"table", "topic", NULL};
    const char *why = name_check(text);
    return why ? why
               : placeholders_check(text, known,
                                    "holds an unknown placeholder, known are {table} and {topic}");
}

const char *fz_conf_database_check(fz_str text) {
    const char *why = name_check(text);
    if (why) {
        return why;
    }
    for (size_t from = 0; from <= text.size;) {
        size_t to = fz_str_find(text, '.', from);
        to = to == SIZE_MAX ? text.size : to;
        if (to == from) {
            return "has an empty part between dots";
        }
        from = to + 1;
    }
    return NULL;
}

const char *fz_conf_http_check(fz_str text) {
    fz_uri uri;
    if (fz_uri_parse(text, &uri, NULL) != FZ_OK || uri.host.size == 0 ||
        (!fz_str_equal_nocase(uri.scheme, FZ_STR("http")) &&
         !fz_str_equal_nocase(uri.scheme, FZ_STR("https")))) {
        return "is not a URL, wanted http://host:port or https://host:port";
    }
    return NULL;
}

bool fz_conf_listen_split(fz_str text, fz_str *host, int *port) {
    size_t colon = SIZE_MAX;
    for (size_t i = 0; i < text.size; i++) {
        colon = text.data[i] == ':' ? i : colon;
    }
    int64_t number;
    if (colon == SIZE_MAX ||
        fz_int_parse(fz_str_slice(text, colon + 1, text.size), &number, NULL) != FZ_OK ||
        number < 0 || number > 65535) {
        return false;
    }
    fz_str name = fz_str_slice(text, 0, colon);
    if (name.size >= 2 && name.data[0] == '[' && name.data[name.size - 1] == ']') {
        name = fz_str_slice(name, 1, name.size - 1);
    } else if (fz_str_find(name, ':', 0) != SIZE_MAX) {
        return false;
    }
    *host = name;
    *port = (int)number;
    return true;
}

const char *fz_conf_listen_check(fz_str text) {
    fz_str host;
    int port;
    if (fz_str_equal_nocase(text, FZ_STR("off")) || fz_conf_listen_split(text, &host, &port)) {
        return NULL;
    }
    return "is not an address, wanted host:port, [::1]:port, :port or off";
}

typedef struct owned_property {
    const char *name;
    const char *why;
} owned_property;

#define BY_KEY(key) "is set by \"kafka." key "\", not as a property"
#define BY_LIMIT "is derived from \"memory_limit\" and \"max_record_size\""
#define BY_TABLE "belongs to frazil: the table alone holds the position"

/** Sorted by reason. Source: librdkafka's CONFIGURATION.md. */
static const owned_property owned_properties[] = {
    {"bootstrap.servers", BY_KEY("bootstrap_servers")},
    {"metadata.broker.list", BY_KEY("bootstrap_servers")},
    {"group.id", BY_KEY("group_id")},
    {"group.instance.id", BY_KEY("instance_id")},
    {"isolation.level", BY_KEY("isolation_level")},
    {"enable.auto.commit", BY_TABLE},
    {"auto.commit.enable", BY_TABLE},
    {"auto.commit.interval.ms", BY_TABLE},
    {"enable.auto.offset.store", BY_TABLE},
    {"offset.store.method", BY_TABLE},
    {"offset.store.path", BY_TABLE},
    {"offset.store.sync.interval.ms", BY_TABLE},
    {"auto.offset.reset", BY_TABLE " (\"start\" says where a new table begins)"},
    {"enable.partition.eof", "belongs to frazil: it must see the end of a partition"},
    {"receive.message.max.bytes", BY_LIMIT},
    {"fetch.message.max.bytes", BY_LIMIT},
    {"max.partition.fetch.bytes", BY_LIMIT},
    {"fetch.max.bytes", BY_LIMIT},
    {"message.max.bytes", BY_LIMIT},
    {"queued.min.messages", BY_LIMIT},
    {"queued.max.messages.kbytes", BY_LIMIT},
};

const char *fz_config_kafka_property_owned(fz_str name) {
    for (size_t i = 0; i < FZ_COUNT(owned_properties); i++) {
        if (fz_str_equal(name, fz_str_from(owned_properties[i].name))) {
            return owned_properties[i].why;
        }
    }
    return NULL;
}

const char *fz_conf_kafka_property_check(fz_str key) {
    return fz_config_kafka_property_owned(key);
}

/** Source: Iceberg's reserved properties (TableProperties.RESERVED_PROPERTIES). */
const char *fz_conf_table_property_check(fz_str key) {
    static const char *const reserved[] = {"uuid",
                                           "snapshot-count",
                                           "current-snapshot-id",
                                           "current-snapshot-summary",
                                           "current-snapshot-timestamp-ms",
                                           "current-schema",
                                           "default-partition-spec",
                                           "default-sort-order"};
    if (fz_str_starts_with(key, FZ_STR("frazil."))) {
        return "properties that start with \"frazil.\" hold the table's position";
    }
    if (fz_str_equal(key, FZ_STR("format-version"))) {
        return "is set by \"format_version\", not as a property";
    }
    for (size_t i = 0; i < FZ_COUNT(reserved); i++) {
        if (fz_str_equal(key, fz_str_from(reserved[i]))) {
            return "is reserved by Iceberg";
        }
    }
    return NULL;
}

fz_str fz_config_pairs_find(const fz_config_pairs *pairs, const char *key) {
    for (size_t i = 0; i < pairs->count; i++) {
        if (fz_str_equal(pairs->items[i].key, fz_str_from(key))) {
            return pairs->items[i].value;
        }
    }
    return (fz_str){0};
}
