// SPDX-License-Identifier: Apache-2.0
// Types that hold together: `allOf`, and branches beside a schema's own keywords.
#ifndef FZ_FORMAT_JSON_MERGE_H
#define FZ_FORMAT_JSON_MERGE_H

#include "format/json/type.h"

/**
 * One type of several branches: null apart, a single one is itself, several are a UNION with a
 * field a branch. New types are in `arena`; the branches may be changed.
 */
fz_json_type *fz_json_union(fz_arena *arena, fz_json_type **branches, size_t count);
/** What is both, `a` where they do not agree. */
fz_json_type *fz_json_merge(fz_arena *arena, fz_json_type *a, fz_json_type *b);

#endif
