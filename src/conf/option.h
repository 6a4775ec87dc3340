// SPDX-License-Identifier: Apache-2.0
// The option table: one entry a key, which drives reading, checking, printing and the
// documentation.
#ifndef FZ_CONF_OPTION_H
#define FZ_CONF_OPTION_H

#include "conf/node.h"

typedef enum fz_conf_kind {
    FZ_CONF_TEXT,     // fz_str
    FZ_CONF_SECRET,   // fz_str; a text or { file: PATH }
    FZ_CONF_PATH,     // fz_str; made absolute
    FZ_CONF_BOOL,     // bool
    FZ_CONF_INT,      // int64_t
    FZ_CONF_DURATION, // int64_t, milliseconds
    FZ_CONF_SIZE,     // int64_t, bytes
    FZ_CONF_ENUM,     // an enum or unsigned
    FZ_CONF_ENUM_SET, // unsigned, bits
    FZ_CONF_TEXTS,    // fz_config_texts
    FZ_CONF_PAIRS,    // fz_config_pairs
    FZ_CONF_BLOCK,    // a struct with a table of its own
    FZ_CONF_BLOCKS,   // one such block or a list of them: {items, count}
    FZ_CONF_CUSTOM,   // its own reader and printer
} fz_conf_kind;

/** A word of an enumeration; the first with a value is how it is printed. NULL ends the table. */
typedef struct fz_conf_word {
    const char *word;
    unsigned value;
} fz_conf_word;

typedef struct fz_conf_reader fz_conf_reader;
typedef struct fz_conf_writer fz_conf_writer;
typedef struct fz_conf_option fz_conf_option;
typedef struct fz_conf_table fz_conf_table;

/** Reading and printing of a kind of its own. */
typedef struct fz_conf_custom {
    const char *name; // for the documentation: "list of transforms"
    /** Fill the field from a node (never null); faults are reported. `block` is the struct that the
     * field is in. */
    void (*read)(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                 void *field, void *block);
    /** Print the value behind "name:", false if there is nothing to print. */
    bool (*print)(const void *field, fz_conf_writer *writer);
} fz_conf_custom;

enum {
    FZ_CONF_COMMAS = 1,    // TEXTS: one text may hold several with commas between
    FZ_CONF_JOINED = 2,    // TEXT: a list is joined with commas
    FZ_CONF_REQUIRED = 4,  // must be there
    FZ_CONF_UNPRINTED = 8, // another key prints it
    FZ_CONF_HEADERS = 16,  // PAIRS: all values are secrets
    FZ_CONF_PLACE = 32,    // TEXT: '@' is not that of a URL, nothing is masked
    FZ_CONF_APART = 64,    // read and printed by the loader itself
};

struct fz_conf_option {
    const char *name;
    fz_conf_kind kind;
    unsigned flags;
    size_t offset;
    const char *fallback; // default as written; NULL: none
    const char *shown;    // default in the documentation, when it is not `fallback`
    const char *doc;      // one line
    int64_t min;          // INT, DURATION, SIZE; both 0: not negative
    int64_t max;
    const char *zero_word; // INT, DURATION: "auto" or "off" for 0
    const fz_conf_word *words;
    const fz_conf_table *table; // BLOCK, BLOCKS
    const fz_conf_custom *custom;
    const char *(*check)(fz_str text);     // TEXT, TEXTS items: what is wrong, NULL if nothing
    const char *(*check_pair)(fz_str key); // PAIRS
};

struct fz_conf_table {
    const char *title; // of the documentation's section
    const char *doc;
    const fz_conf_option *options;
    size_t count;
    size_t size;             // of the struct
    const char *shorthand;   // option that a single value stands for; NULL: none
    const char *switch_name; // option that a single on or off stands for; NULL: none
};

/** Tables of the whole configuration (option_top.c, option_entry.c). */
extern const fz_conf_table fz_conf_top_table;
extern const fz_conf_table fz_conf_registry_table;
extern const fz_conf_table fz_conf_tls_table;
extern const fz_conf_table fz_conf_entry_table;

/** Internal word of key.mode: columns once key.format is set. */
enum { FZ_CONF_KEY_MODE_AUTO = 4 };

const fz_conf_option *fz_conf_table_find(const fz_conf_table *table, fz_str name);
/** The nearest name of the table, or a path below or above it that is meant; false if none is near.
 */
bool fz_conf_table_suggest(const fz_conf_table *table, fz_str name, fz_buf *out);
/** The word that is near, NULL if none. */
const char *fz_conf_words_suggest(const fz_conf_word *words, fz_str text);
/** Case-blind, '-' and '_' alike; NULL if absent. */
const fz_conf_word *fz_conf_words_find(const fz_conf_word *words, fz_str text);
/** How a value is written; "?" if it has no word. */
const char *fz_conf_words_name(const fz_conf_word *words, unsigned value);

/** An option whose field must have the given type; more members may follow. */
#define FZ_CONF_FIELD(block, field, type)                                                          \
    (offsetof(block, field) + 0 * sizeof(&((block *)0)->field == (type *)0))
#define FZ_CONF_OPTION(block, key, field, type, what, otherwise, ...)                              \
    {                                                                                              \
        .name = (key), .kind = (what), .offset = FZ_CONF_FIELD(block, field, type),                \
        .fallback = (otherwise), .doc = __VA_ARGS__                                                \
    }
#define FZ_CONF_TABLE(block, heading, array, ...)                                                  \
    {                                                                                              \
        .title = (heading), .options = (array), .count = FZ_COUNT(array), .size = sizeof(block),   \
        .doc = __VA_ARGS__                                                                         \
    }

#endif
