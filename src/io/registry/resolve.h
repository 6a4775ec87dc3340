// SPDX-License-Identifier: Apache-2.0
// From one registered schema to a schema with all its references; for implementations of the
// registry interface.
#ifndef FZ_IO_REGISTRY_RESOLVE_H
#define FZ_IO_REGISTRY_RESOLVE_H

#include "io/registry/registry.h"

/** A schema as a registry tells it: with the names of its direct references only. */
typedef struct fz_registry_raw {
    fz_arena arena;
    int32_t id; // -1: not told
    bool has_guid;
    uint8_t guid[16];
    fz_registry_type type;
    fz_str text;
    fz_str subject;                    // empty: not told
    int32_t version;                   // -1: not told
    fz_registry_reference *references; // type and text not set
    size_t reference_count;
} fz_registry_raw;
void fz_registry_raw_deinit(fz_registry_raw *raw);

/** Get one version of a subject, also a deleted one. */
typedef fz_code (*fz_registry_fetch)(void *context, fz_str subject, int32_t version,
                                     fz_registry_raw *out, fz_err *err);

/**
 * A schema with one reference, made of `root` (copied) and what `fetch` brings for its references.
 * Cycles are cut.
 *
 * what   names the root in messages: "schema id 5"
 * Errors: those of fetch, a NOT_FOUND gets kind "schema_parse"; LIMIT depth, number or size.
 */
FZ_CHECKED fz_code fz_registry_resolve(const fz_registry_raw *root, const char *what,
                                       fz_registry_fetch fetch, void *context,
                                       fz_registry_schema **out, fz_err *err);

#endif
