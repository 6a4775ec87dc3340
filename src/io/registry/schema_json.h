// SPDX-License-Identifier: Apache-2.0
// Schemas as the Confluent REST API writes them.
#ifndef FZ_IO_REGISTRY_SCHEMA_JSON_H
#define FZ_IO_REGISTRY_SCHEMA_JSON_H

#include "base/text/json.h"
#include "io/registry/resolve.h"

/** Media type of requests and replies. */
#define FZ_REGISTRY_MEDIA_TYPE "application/vnd.schemaregistry.v1+json"

/** Into raw's arena; members that are missing stay as they are. Errors: CORRUPT, LIMIT, UNSUPPORTED
 * type. */
FZ_CHECKED fz_code fz_registry_schema_json_read(const json_t *json, fz_registry_raw *raw,
                                                fz_err *err);
/** A new object: schema, references if any, schemaType unless Avro, guid, id, subject and version
 * where known. */
json_t *fz_registry_schema_json_make(const fz_registry_raw *raw);
/** An int32 that is not negative; -1 if absent or something else. */
int32_t fz_registry_json_int32(const json_t *object, const char *key);

#endif
