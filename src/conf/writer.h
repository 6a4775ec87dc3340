// SPDX-License-Identifier: Apache-2.0
// Typed structs to YAML, as the option tables say.
#ifndef FZ_CONF_WRITER_H
#define FZ_CONF_WRITER_H

#include "conf/option.h"

struct fz_conf_writer {
    fz_buf *out;
    int indent; // spaces before the keys of the present block
};

/** A text as a YAML scalar that reads back as the same text, quoted where needed; `${` becomes
 * `$${`. */
void fz_conf_scalar_write(fz_buf *out, fz_str text);
/** As above behind ": ", with user info of URLs and secret query parameters masked. */
void fz_conf_masked_write(fz_buf *out, fz_str text);
/** Append the text with `***` for user info and secret query parameters of a URL. */
void fz_conf_text_mask(fz_str text, fz_buf *out);
/** A name such as sasl.password, whose value nobody should see. */
bool fz_conf_name_is_secret(fz_str name);
/** 90s, 7d, 0s; milliseconds in their largest whole unit. */
void fz_conf_duration_write(fz_buf *out, int64_t ms);
/** 16MiB, 1000 */
void fz_conf_size_write(fz_buf *out, int64_t bytes);
/** Spaces of the present block. */
void fz_conf_indent_write(fz_conf_writer *writer);
/** All options of a block, one key a line; what is unset is left out. */
void fz_conf_block_write(fz_conf_writer *writer, const fz_conf_table *table, const void *block);

#endif
