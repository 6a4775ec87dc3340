// SPDX-License-Identifier: Apache-2.0
// The columns that tell where a record came from.
#ifndef FZ_FLOW_INGEST_META_COLUMNS_H
#define FZ_FLOW_INGEST_META_COLUMNS_H

#include "flow/ingest/layout.h"
#include "io/kafka/source.h"

typedef struct fz_meta_columns fz_meta_columns;

/** For one batch of the layout's schema; everything is borrowed. */
fz_meta_columns *fz_meta_columns_new(const fz_layout *layout, fz_batch *batch, fz_source *source,
                                     fz_str topic);
/** NULL allowed. */
void fz_meta_columns_free(fz_meta_columns *meta);
/** Partition whose records come next. */
void fz_meta_columns_set_partition(fz_meta_columns *meta, int32_t partition);
/** Append one record's values; LIMIT: memory, the caller truncates. schema_id -1: null. */
FZ_CHECKED fz_code fz_meta_columns_append(fz_meta_columns *meta, const fz_record *record,
                                          int32_t schema_id, fz_err *err);

#endif
