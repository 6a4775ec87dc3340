// SPDX-License-Identifier: Apache-2.0
// What the decoder carries, and the values that stand alone. Only decode.c and run_scalar.c include
// it.
#ifndef FZ_FORMAT_JSON_RUN_H
#define FZ_FORMAT_JSON_RUN_H

#include "data/batch.h"
#include "format/json/plan.h"
#include "format/json/text.h"

typedef struct fz_json_decoder {
    fz_decoder base;
    fz_json_plan plan;
    uint32_t *hints; // of objects: the member that came behind one the last time
    fz_buf text;     // a text with escapes
    fz_buf bytes;    // decoded base64
} fz_json_decoder;

typedef struct fz_json_run {
    fz_json_reader reader;
    fz_json_decoder *decoder;
    const fz_json_node *nodes;
    unsigned strict; // within a union: the schema's own words count
    unsigned tries;  // branches that did not validate
    unsigned looks;  // ahead for another member of the same name
} fz_json_run;

/** The value is not what is wanted of it: NULL. */
FZ_PRINTF(5, 6)
const uint8_t *fz_json_refuse(fz_json_run *run, const fz_json_node *node, const uint8_t *at,
                              const char *kind, const char *format, ...);
/** `next`, or NULL when an append failed. */
static inline const uint8_t *fz_json_appended(fz_json_run *run, fz_code code, const uint8_t *next) {
    if (FZ_LIKELY(code == FZ_OK)) {
        return next;
    }
    run->reader.code = code;
    run->reader.soft = false;
    return NULL;
}
/** A value that is no array and no object, `p` at its first byte; not null. */
const uint8_t *fz_json_run_scalar(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p);
/** Is the scalar at `p` one of the values of enum or const? */
bool fz_json_run_listed(fz_json_run *run, const fz_json_node *node, const uint8_t *p);

#endif
