// SPDX-License-Identifier: Apache-2.0
// An Avro value as JSON text, or passed over: for recursive types.
#ifndef FZ_FORMAT_AVRO_JSON_TEXT_H
#define FZ_FORMAT_AVRO_JSON_TEXT_H

#include "base/cursor.h"
#include "format/avro/schema.h"

/**
 * Read one value of `type` and append it as JSON: records and maps as objects, bytes as base64,
 * decimals as text, dates and instants as ISO text, a union of several types as an object with the
 * branch's name.
 *
 * out  NULL: the value is only passed over
 * Errors: CORRUPT with the kinds of record errors (depth_limit beyond 100 levels), the offset is
 * the cursor's.
 */
FZ_CHECKED fz_code fz_avro_json_append(const fz_avro_type *type, fz_cur *cur, fz_buf *out,
                                       fz_err *err);

#endif
