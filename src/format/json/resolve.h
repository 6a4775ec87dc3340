// SPDX-License-Identifier: Apache-2.0
// `$ref`: documents by name and identifier, JSON pointers, anchors.
#ifndef FZ_FORMAT_JSON_RESOLVE_H
#define FZ_FORMAT_JSON_RESOLVE_H

#include "base/map.h"
#include "format/json/writer.h"

/** A schema in a document: the node, the identifier that its references count from, and the schema
 * that a bare `#` means. */
typedef struct fz_json_place {
    const json_t *node;
    const json_t *resource;
    fz_str base;
    bool siblings; // keywords beside a `$ref` count: 2019-09 and later
} fz_json_place;

/** Zeroed is empty and valid. */
typedef struct fz_json_resolver {
    fz_json_schema *schema; // owns documents and texts
    fz_map places;          // identifiers, with #anchor, to fz_json_place
    size_t visits;
} fz_json_resolver;

void fz_json_resolver_deinit(fz_json_resolver *resolver);
/** Parse a document and index what it names. Errors: CORRUPT, LIMIT with kind schema_parse. */
FZ_CHECKED fz_code fz_json_resolver_add(fz_json_resolver *resolver, fz_str name, fz_str text,
                                        fz_json_place *root, fz_err *err);
/** The place of a sub-schema: a new base where it has an identifier. */
fz_json_place fz_json_place_child(fz_json_resolver *resolver, const fz_json_place *parent,
                                  const json_t *node);
/** Where a reference leads; false: nowhere. */
bool fz_json_resolver_find(fz_json_resolver *resolver, const fz_json_place *from, fz_str reference,
                           fz_json_place *out);

#endif
