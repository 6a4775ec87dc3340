// SPDX-License-Identifier: Apache-2.0
// The effective configuration as YAML, the documented default file, and docs/configuration.md.
#include "conf/config.h"

#include "conf/writer.h"

/** The entry's root from `defaults`, which all entries without a bucket of their own share. */
static fz_str shared_bucket(const fz_config *config) {
    for (size_t i = 0; i < config->entry_count; i++) {
        const fz_config_storage *storage = &config->entries[i].storage;
        if (!storage->bucket_in_entry && storage->bucket.size) {
            return storage->bucket;
        }
    }
    return (fz_str){0};
}

void fz_config_print(const fz_config *config, fz_buf *out) {
    fz_conf_writer writer = {out, 0};
    fz_conf_block_write(&writer, &fz_conf_top_table, config);
    fz_str bucket = shared_bucket(config);
    if (bucket.size) {
        fz_buf_printf(out, "defaults:\n  storage:\n    bucket: ");
        fz_conf_scalar_write(out, bucket);
        fz_buf_append_byte(out, '\n');
    }
    fz_buf_printf(out, "tableflow:%s\n", config->entry_count ? "" : " []");
    for (size_t i = 0; i < config->entry_count; i++) {
        fz_config_entry entry = config->entries[i];
        if (!entry.storage.bucket_in_entry) {
            entry.storage.bucket = (fz_str){0};
        }
        if (entry.value.schema_file.size) {
            entry.value.schema = (fz_str){0};
        }
        if (entry.key.schema_file.size) {
            entry.key.schema = (fz_str){0};
        }
        size_t start = out->size;
        fz_conf_writer below = {out, 4};
        fz_conf_block_write(&below, &fz_conf_entry_table, &entry);
        if (!out->failed && out->size > start) {
            out->data[start + 2] = '-';
        }
    }
}

/** A comment, wrapped at about 100 columns. */
static void comment_write(fz_buf *out, int indent, const char *text) {
    size_t column = 0;
    for (const char *word = text; *word;) {
        size_t size = strcspn(word, " ");
        if (column == 0 || column + size + 1 > 100) {
            fz_buf_printf(out, "%s%*s#", column ? "\n" : "", indent, "");
            column = (size_t)indent + 1;
        }
        fz_buf_printf(out, " %.*s", (int)size, word);
        column += size + 1;
        word += size;
        word += strspn(word, " ");
    }
    fz_buf_append_byte(out, '\n');
}

static void fallback_write(fz_buf *out, const fz_conf_option *option) {
    fz_str text = fz_str_from(option->fallback);
    if (option->kind == FZ_CONF_TEXT || option->kind == FZ_CONF_CUSTOM) {
        bool list = text.size && text.data[0] == '[';
        if (!list) {
            fz_conf_scalar_write(out, text);
            return;
        }
    }
    fz_buf_append_str(out, text);
}

static void options_write(fz_buf *out, const fz_conf_table *table, int indent) {
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        bool list = option->kind == FZ_CONF_BLOCKS;
        bool block = option->kind == FZ_CONF_BLOCK ||
                     (list && option->fallback && !strcmp(option->fallback, "{}"));
        bool apart = option->flags & FZ_CONF_APART;
        bool own_registry = option->shown && option->table == &fz_conf_registry_table;
        if (apart && list) {
            continue; // at the end
        }
        if (indent == 0) {
            fz_buf_append_byte(out, '\n');
        }
        comment_write(out, indent, option->doc);
        if (own_registry) {
            fz_buf_printf(out, "%*s# %s: (%s)\n", indent, "", option->name, option->shown);
        } else if (block) {
            fz_buf_printf(out, "%*s%s:\n", indent, "", option->name);
            options_write(out, option->table, indent + 2);
        } else if (!option->fallback) {
            const char *shown = option->shown ? option->shown : "none";
            fz_buf_printf(out, "%*s# %s: (%s)\n", indent, "", option->name, shown);
        } else {
            fz_buf_printf(out, "%*s%s: ", indent, "", option->name);
            fallback_write(out, option);
            fz_buf_append_byte(out, '\n');
        }
    }
}

void fz_config_document_default(fz_buf *out) {
    comment_write(out, 0,
                  "Frazil's configuration: every key with its default. Keys in comments have no "
                  "fixed default.");
    comment_write(out, 0,
                  "${NAME} and ${NAME:-default} come from the environment ($${ for a plain ${); "
                  "{ file: PATH } stands for any secret; relative paths count from this file's "
                  "folder; sizes 64KiB 512MB 1GiB, durations 500ms 30s 5m 7d.");
    options_write(out, &fz_conf_top_table, 0);
    fz_buf_append_byte(out, '\n');
    comment_write(out, 0, "an entry or a list of entries, with any key of `defaults`");
    fz_buf_printf(out, "# tableflow:\n#   topic: orders\n#   catalog:\n#     database: analytics\n"
                       "#   partitioning: [ \"day(event_time)\" ]\ntableflow: []\n");
}

static const char *kind_name(const fz_conf_option *option) {
    switch (option->kind) {
    case FZ_CONF_TEXT:
        return "text";
    case FZ_CONF_SECRET:
        return "secret";
    case FZ_CONF_PATH:
        return "path";
    case FZ_CONF_BOOL:
        return "true or false";
    case FZ_CONF_INT:
        return "number";
    case FZ_CONF_DURATION:
        return "duration";
    case FZ_CONF_SIZE:
        return "size";
    case FZ_CONF_ENUM:
        return "word";
    case FZ_CONF_ENUM_SET:
        return "words";
    case FZ_CONF_TEXTS:
        return "list of texts";
    case FZ_CONF_PAIRS:
        return "mapping of texts";
    case FZ_CONF_BLOCK:
        return "block";
    case FZ_CONF_BLOCKS:
        return "list of blocks";
    case FZ_CONF_CUSTOM:
        return option->custom->name;
    }
    return "?";
}

/** Text inside a table's cell. */
static void cell_write(fz_buf *out, const char *text) {
    for (const char *c = text; *c; c++) {
        if (*c == '|' || *c == '<') {
            fz_buf_append_byte(out, '\\');
        }
        fz_buf_append_byte(out, (uint8_t)*c);
    }
}

static void section_write(fz_buf *out, const fz_conf_table *table, fz_str prefix) {
    fz_buf_printf(out, "\n## %s\n\n%s\n\n| key | type | default | meaning |\n|---|---|---|---|\n",
                  table->title, table->doc);
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        fz_buf_printf(out, "| `%.*s%s` | %s | ", FZ_STR_ARGS(prefix), option->name,
                      kind_name(option));
        if (option->shown) {
            cell_write(out, option->shown);
        } else if (option->fallback) {
            fz_buf_printf(out, "`%s`", option->fallback);
        } else {
            fz_buf_printf(out, option->table ? "see below" : "none");
        }
        fz_buf_printf(out, " | ");
        cell_write(out, option->doc);
        fz_buf_printf(out, " |\n");
    }
    for (size_t i = 0; i < table->count; i++) {
        const fz_conf_option *option = &table->options[i];
        bool again = option->kind == FZ_CONF_BLOCK && (option->flags & FZ_CONF_APART);
        bool other = option->shown && option->table == &fz_conf_registry_table;
        bool tls = option->table == &fz_conf_tls_table && prefix.size &&
                   !fz_str_equal(prefix, FZ_STR("schema_registry."));
        if (!option->table || again || other || tls) {
            continue;
        }
        bool entry = option->flags & FZ_CONF_APART;
        fz_buf below = {0};
        if (!entry) {
            fz_buf_printf(&below, "%.*s%s.", FZ_STR_ARGS(prefix), option->name);
        }
        section_write(out, option->table, fz_buf_view(&below));
        fz_buf_deinit(&below);
    }
}

void fz_config_document_markdown(fz_buf *out) {
    fz_buf_printf(
        out,
        "# Configuration\n\n"
        "<!-- Made from the option table in src/conf; do not edit. -->\n\n"
        "YAML 1.1, one or several documents, also several files; later ones win key by key, "
        "`tableflow` entries add up. No file at all is fine when flags say enough.\n\n"
        "* `${NAME}` and `${NAME:-default}` inside values come from the environment; `$${` is a "
        "plain `${`. A variable that is not set and has no default is an error.\n"
        "* Wherever a secret is wanted, `{ file: PATH }` reads it from a file.\n"
        "* Durations: `500ms` `30s` `5m` `7d`. Sizes: `64KiB` `512MB` `1GiB`, or bytes.\n"
        "* Words of a choice are case-blind, and `-` and `_` are alike.\n"
        "* Relative paths count from the folder of the file that they stand in (flags: the working "
        "directory).\n"
        "* An unknown key, a wrong type or a bad value is an error with file, line, column, key "
        "and "
        "the nearest known name; all errors are listed.\n"
        "* Order, the later wins: default, `defaults`, entry, environment, flag. Blocks and "
        "mappings are merged key by key, lists are replaced.\n\n"
        "| flag | key | meaning |\n|---|---|---|\n");
    size_t count;
    const fz_config_flag *flags = fz_config_flags(&count);
    for (size_t i = 0; i < count; i++) {
        fz_buf_printf(out, "| `%s` | `%s` | %s |\n", flags[i].flag, flags[i].key, flags[i].doc);
    }
    fz_buf_printf(out, "\nEnvironment: `FRAZIL_BOOTSTRAP_SERVERS` is `kafka.bootstrap_servers`, "
                       "`FRAZIL_SCHEMA_REGISTRY_URL` is `schema_registry.url`.\n");
    section_write(out, &fz_conf_top_table, (fz_str){0});
}
