// SPDX-License-Identifier: Apache-2.0
// Schema registries behind one interface: writer schemas by id or guid, the newest of a subject.
#ifndef FZ_IO_REGISTRY_REGISTRY_H
#define FZ_IO_REGISTRY_REGISTRY_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"

/** Limits of what a registry may tell us. */
#define FZ_REGISTRY_TEXT_MAX (8u << 20)   // bytes of one schema's text
#define FZ_REGISTRY_TOTAL_MAX (32u << 20) // bytes of a schema with all its references
#define FZ_REGISTRY_REFERENCES_MAX 1000   // schemas that one schema refers to, directly or not
#define FZ_REGISTRY_DEPTH_MAX 64          // of references
#define FZ_REGISTRY_REPLY_MAX (64u << 20) // bytes of one reply
#define FZ_REGISTRY_SUBJECTS_MAX 1000000  // subjects that one registry may list

typedef struct fz_registry fz_registry;

typedef enum fz_registry_type {
    FZ_REGISTRY_AVRO,
    FZ_REGISTRY_PROTOBUF,
    FZ_REGISTRY_JSON
} fz_registry_type;

/** A schema that another one names. */
typedef struct fz_registry_reference {
    fz_str name; // Avro: full type name; Protobuf: import path; JSON: $ref URI
    fz_str subject;
    int32_t version;
    fz_registry_type type;
    fz_str text;
} fz_registry_reference;

/** A writer's schema with all that it refers to. Immutable, counted; any thread. */
typedef struct fz_registry_schema {
    _Atomic int refs;
    fz_arena arena;
    int32_t id; // -1: asked for by guid and not told
    bool has_guid;
    uint8_t guid[16];
    fz_registry_type type;
    fz_str text;
    fz_str subject;  // of latest(); else empty, an id has no single subject
    int32_t version; // of latest(); else -1
    /** Direct and indirect, depth first: each after those that it names itself; each (name,
     * subject, version) once. */
    fz_registry_reference *references;
    size_t reference_count;
} fz_registry_schema;

fz_registry_schema *fz_registry_schema_ref(fz_registry_schema *schema);
/** NULL allowed. */
void fz_registry_schema_unref(fz_registry_schema *schema);
/** For FZ_CLEANUP. */
void fz_registry_schema_release(fz_registry_schema **schema);

/** A list of names; zeroed is empty and valid. */
typedef struct fz_registry_names {
    fz_arena arena;
    fz_str *items;
    size_t count;
} fz_registry_names;
void fz_registry_names_deinit(fz_registry_names *names);

typedef struct fz_registry_version {
    fz_str subject;
    int32_t version;
} fz_registry_version;
/** Where a schema is registered; zeroed is empty and valid. */
typedef struct fz_registry_versions {
    fz_arena arena;
    fz_registry_version *items;
    size_t count;
} fz_registry_versions;
void fz_registry_versions_deinit(fz_registry_versions *versions);

/** A NULL member is answered UNSUPPORTED by its wrapper. Any thread, also at once. */
typedef struct fz_registry_ops {
    const char *name; // "http"
    fz_code (*schema_by_id)(fz_registry *registry, int32_t id, fz_str subject,
                            fz_registry_schema **out, fz_err *err);
    fz_code (*schema_by_guid)(fz_registry *registry, const uint8_t guid[16],
                              fz_registry_schema **out, fz_err *err);
    fz_code (*latest)(fz_registry *registry, fz_str subject, fz_registry_schema **out, fz_err *err);
    fz_code (*subjects)(fz_registry *registry, fz_registry_names *out, fz_err *err);
    fz_code (*versions_of_id)(fz_registry *registry, int32_t id, fz_str subject,
                              fz_registry_versions *out, fz_err *err);
    fz_code (*add)(fz_registry *registry, fz_str subject, fz_registry_type type, fz_str text,
                   const fz_registry_reference *references, size_t reference_count, int32_t *id,
                   fz_err *err);
    void (*free)(fz_registry *registry);
} fz_registry_ops;

/** First member of every implementation. */
struct fz_registry {
    const fz_registry_ops *ops;
    _Atomic uint64_t calls;
    _Atomic uint64_t failures;
};

/** NULL allowed. */
void fz_registry_free(fz_registry *registry);

/**
 * The schema of an id, with its references. Unref it.
 *
 * subject  only its context counts (`:.ctx:name`): ids are per context; may be empty
 *
 * Errors: NOT_FOUND kind "unknown_schema_id" the registry answered, and does not know it; NOT_FOUND
 *         kind "schema_parse" it does not have what the schema refers to; DENIED
 * naming user and URL; UNAVAILABLE; CORRUPT not a registry's answer; LIMIT text, references or
 * depth.
 */
FZ_CHECKED fz_code fz_registry_schema_by_id(fz_registry *registry, int32_t id, fz_str subject,
                                            fz_registry_schema **out, fz_err *err);
/** The schema of a guid (frames of version 1). Errors as by id. */
FZ_CHECKED fz_code fz_registry_schema_by_guid(fz_registry *registry, const uint8_t guid[16],
                                              fz_registry_schema **out, fz_err *err);
/** The newest version of a subject, asked for each time. Errors: NOT_FOUND kind "no_schema"; else
 * as by id. */
FZ_CHECKED fz_code fz_registry_latest(fz_registry *registry, fz_str subject,
                                      fz_registry_schema **out, fz_err *err);
/** All subjects of the registry's context. Deinit `out`. */
FZ_CHECKED fz_code fz_registry_subjects(fz_registry *registry, fz_registry_names *out, fz_err *err);
/** Subjects and versions under which an id is registered. Deinit `out`. Errors: NOT_FOUND kind
 * "unknown_schema_id". */
FZ_CHECKED fz_code fz_registry_versions_of_id(fz_registry *registry, int32_t id, fz_str subject,
                                              fz_registry_versions *out, fz_err *err);
/** Register a schema (name, subject and version of references count); its id, the old one if it is
 * there already. */
FZ_CHECKED fz_code fz_registry_add(fz_registry *registry, fz_str subject, fz_registry_type type,
                                   fz_str text, const fz_registry_reference *references,
                                   size_t reference_count, int32_t *id, fz_err *err);

/**
 * The existing subjects nearest to `subject`, at most `count` (up to 10), nearest first; only
 * plausible ones: for a no_schema message. A failure of the registry gives none.
 */
void fz_registry_hint_subjects(fz_registry *registry, fz_str subject, size_t count,
                               fz_registry_names *out);

/** "AVRO"; static. */
const char *fz_registry_type_name(fz_registry_type type);
/** AVRO, PROTOBUF, JSON in any case; empty is AVRO. Errors: UNSUPPORTED. */
FZ_CHECKED fz_code fz_registry_type_parse(fz_str text, fz_registry_type *out, fz_err *err);

#endif
