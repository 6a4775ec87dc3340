// SPDX-License-Identifier: Apache-2.0
// The table property that links source fields to field ids, as evolution reads and extends it.
#ifndef FZ_FLOW_INGEST_EVOLVE_LINK_H
#define FZ_FLOW_INGEST_EVOLVE_LINK_H

#include "base/vec.h"
#include "flow/ingest/evolve.h"

// Members of the property, all with integers:
//   v:<identity>    field id; k: and m: for key and metadata
//   n:<id>:<name>   a name that the source gave to the column, where it is not the identity's last
//                   step: a name never seen before is a rename by the source, not by a reader
//   d:<id>          hash of the doc that came from the source: other docs are somebody's own

/** Sides that link a field id. */
typedef struct fz_evolve_linked {
    int32_t id;
    unsigned sides; // 1u << fz_evolve_side
} fz_evolve_linked;

typedef struct fz_evolve_link {
    json_t *json; // ours
    bool owned;   // no longer the input's
    fz_evolve_side side;
    FZ_VEC(fz_evolve_linked) linked; // of the input, by id
    fz_buf key;
} fz_evolve_link;

/** `json` NULL: none yet. */
void fz_evolve_link_init(fz_evolve_link *link, const json_t *json, fz_evolve_side side);
void fz_evolve_link_deinit(fz_evolve_link *link);
/** Field id of an identity of this side, 0: none. */
int32_t fz_evolve_link_find(fz_evolve_link *link, fz_str identity);
void fz_evolve_link_set(fz_evolve_link *link, fz_str identity, int32_t id);
/** Sides that linked `id` when the comparison began. */
unsigned fz_evolve_link_sides(const fz_evolve_link *link, int32_t id);
/** Forget what a side linked to the columns of `field` and below it. */
void fz_evolve_link_forget(fz_evolve_link *link, fz_evolve_side side, const fz_field *field);
/** Has the source called the column so, under this identity or any other that is linked to it? */
bool fz_evolve_link_knows_name(fz_evolve_link *link, fz_str identity, int32_t id, fz_str name);
/** As before, under any identity. */
bool fz_evolve_link_was_named(fz_evolve_link *link, int32_t id, fz_str name);
void fz_evolve_link_add_name(fz_evolve_link *link, fz_str identity, int32_t id, fz_str name);
/** Is the column's doc the source's own, so that it may be replaced? */
bool fz_evolve_link_owns_doc(fz_evolve_link *link, const fz_field *column);
void fz_evolve_link_set_doc(fz_evolve_link *link, int32_t id, fz_str doc);

#endif
