// SPDX-License-Identifier: Apache-2.0
// Nodes to typed structs, as the option tables say.
#ifndef FZ_CONF_READER_H
#define FZ_CONF_READER_H

#include "conf/option.h"

struct fz_conf_reader {
    fz_arena *arena;
    fz_config_faults *faults;
    const fz_conf_place *default_place; // where documented defaults count as written
    size_t work;                        // nodes read so far
    bool no_files;
};

/** Fill the struct at `block` from a mapping (NULL: all defaults); its memory is zeroed before. */
void fz_conf_block_read(fz_conf_reader *reader, const fz_conf_path *path,
                        const fz_conf_table *table, const fz_conf_node *node, void *block);
/** A single value where a block is wanted becomes `{shorthand: value}`; else the node itself. */
const fz_conf_node *fz_conf_block_widen(fz_arena *arena, const fz_conf_table *table,
                                        const fz_conf_node *node);
/** `over` on top of `base`, key by key where the table has blocks or pairs; either may be NULL. */
const fz_conf_node *fz_conf_block_merge(fz_arena *arena, const fz_conf_table *table,
                                        const fz_conf_node *base, const fz_conf_node *over);

/** Add a fault at a node. */
void fz_conf_reader_fault(fz_conf_reader *reader, const fz_conf_node *node,
                          const fz_conf_path *path, const char *format, ...) FZ_PRINTF(4, 5);
/** Text of a scalar; a fault and false otherwise. */
bool fz_conf_text_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                       fz_str *out);
/** A list's texts; a single one counts as a list of one. A fault and false for anything else. */
bool fz_conf_texts_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                        bool commas, fz_config_texts *out);
/** `text` absolute, counted from the folder of `place`. */
fz_str fz_conf_path_absolute(fz_arena *arena, const fz_conf_place *place, fz_str text);
/** The file's contents, a fault if it cannot be read; empty with no_files. */
fz_str fz_conf_file_read(fz_conf_reader *reader, const fz_conf_path *path, const fz_conf_node *node,
                         fz_str file, size_t limit);

#endif
