// SPDX-License-Identifier: Apache-2.0
// A registry in this process, with a Confluent-compatible HTTP face, for the demo and for tests.
#ifndef FZ_IO_REGISTRY_MEMORY_REGISTRY_H
#define FZ_IO_REGISTRY_MEMORY_REGISTRY_H

#include "io/http/server.h"
#include "io/registry/registry.h"

/** Empty; ids count from 1. fz_registry_add fills it. */
fz_registry *fz_registry_memory_new(void);
/** Register under a given id, version (0: the next) and guid (NULL: derived). Errors: EXISTS id
 * with another text. */
FZ_CHECKED fz_code fz_registry_memory_add(fz_registry *registry, fz_str subject, int32_t id,
                                          int32_t version, const uint8_t guid[16],
                                          fz_registry_type type, fz_str text,
                                          const fz_registry_reference *references,
                                          size_t reference_count, fz_err *err);
/** Soft-delete a version: no longer listed, still found by id and as a reference. NOT_FOUND. */
FZ_CHECKED fz_code fz_registry_memory_remove(fz_registry *registry, fz_str subject, int32_t version,
                                             fz_err *err);

/**
 * An fz_http_handler; its context is the memory registry. Routes: GET /subjects,
 * /subjects/S/versions, /subjects/S/versions/N (or latest), /schemas/ids/N,
 * /schemas/ids/N/versions, /schemas/guids/G, /schemas/types; POST /subjects/S,
 * /subjects/S/versions.
 */
void fz_registry_memory_handle(void *registry, const fz_http_call *call, fz_http_reply *reply);

#endif
