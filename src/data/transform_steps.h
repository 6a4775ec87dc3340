// SPDX-License-Identifier: Apache-2.0
// Transforms of bare values, without type dispatch: for single values and for whole columns.
#ifndef FZ_DATA_TRANSFORM_STEPS_H
#define FZ_DATA_TRANSFORM_STEPS_H

#include "data/transform.h"

int32_t fz_transform_bucket_bytes(int32_t buckets, const void *data, size_t size);
int32_t fz_transform_bucket_integer(int32_t buckets, fz_type_kind source, int64_t value);
int32_t fz_transform_bucket_decimal(int32_t buckets, fz_i128 value);
/** LIMIT when the result falls below the type's least value. */
FZ_CHECKED fz_code fz_transform_truncate_integer(int32_t width, fz_type_kind source, int64_t value,
                                                 int64_t *out, fz_err *err);
FZ_CHECKED fz_code fz_transform_truncate_decimal(int32_t width, const fz_type *source,
                                                 fz_i128 value, fz_i128 *out, fz_err *err);
fz_str fz_transform_truncate_bytes(int32_t width, fz_type_kind source, fz_str bytes);
/** YEAR, MONTH, DAY, HOUR of a DATE or TIMESTAMP*; LIMIT beyond 32 bits. */
FZ_CHECKED fz_code fz_transform_time(fz_transform_kind kind, fz_type_kind source, int64_t value,
                                     int64_t *out, fz_err *err);

#endif
