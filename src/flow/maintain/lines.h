// SPDX-License-Identifier: Apache-2.0
// Metadata files in the table's folder that its log does not name: whose are they?
#ifndef FZ_FLOW_MAINTAIN_LINES_H
#define FZ_FLOW_MAINTAIN_LINES_H

#include "flow/maintain/reach.h"

/**
 * Look at the metadata files below the table's metadata folder that are not in its log.
 *
 * Those that its log once named, and attempts of ours that lost a race, are nobody's: they may go.
 * An attempt of another writer is kept with all it reaches, since it may be the head of another
 * catalog.
 *
 * prefix  key of the folder, with '/' at its end
 * nonce   of the table's state
 * keys    in: what the table reaches; what must stay as well is added
 * Errors: CONFLICT another catalog writes to the table, or another table lies in the folder (C5);
 * what the store answers.
 */
FZ_CHECKED fz_code fz_lines_check(const fz_maintain_options *options,
                                  const fz_iceberg_metadata *metadata, fz_str prefix, fz_str nonce,
                                  fz_hash_set *keys, fz_err *err);

/** "....metadata.json", compressed or not. */
bool fz_lines_is_metadata(fz_str key);

#endif
