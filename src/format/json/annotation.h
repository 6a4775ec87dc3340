// SPDX-License-Identifier: Apache-2.0
// `format` and Kafka Connect's annotations: what a scalar of JSON Schema stands for.
#ifndef FZ_FORMAT_JSON_ANNOTATION_H
#define FZ_FORMAT_JSON_ANNOTATION_H

#include "format/json/type.h"

/** Settle kind, bits, precision and scale of a scalar from the other keywords of its schema. */
void fz_json_annotation_scalar(const json_t *node, fz_json_type *type);
/** An ARRAY of objects with the fields key and value becomes ENTRIES; others stay. */
void fz_json_annotation_entries(fz_json_type *type);
/** Logical types of Connect by name: `parameters` as in a schema. False: it is none. */
bool fz_json_annotation_logical(fz_str name, const json_t *parameters, fz_json_type *type);

#endif
