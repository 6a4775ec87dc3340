// SPDX-License-Identifier: Apache-2.0
// The demo's folder: ours or empty, a table for each run, the configuration, how to query.
#ifndef FZ_APP_DEMO_PLACE_H
#define FZ_APP_DEMO_PLACE_H

#include "base/buf.h"

/** A run's place. Zeroed is empty. */
typedef struct fz_demo_place {
    char *folder;        // absolute
    char *topic;         // "orders", "orders_2" ...; also the table's name
    char *configuration; // path of the file that holds it
    int run;             // from 1
} fz_demo_place;

/**
 * Take the folder and the next free run in it. Nothing that is there is changed: the in-process
 * broker starts empty each time, so each run has a topic and table of its own.
 *
 * Errors: INVALID the folder holds something that no demo made; DENIED, IO.
 */
FZ_CHECKED fz_code fz_demo_place_open(const char *folder, fz_demo_place *out, fz_err *err);
void fz_demo_place_deinit(fz_demo_place *place);
/** Append the configuration of the run, as YAML; paths in it are relative to the folder. */
void fz_demo_place_configure(const fz_demo_place *place, const char *brokers, const char *registry,
                             fz_buf *out);
/** Keep the configuration in the folder, for other commands. */
FZ_CHECKED fz_code fz_demo_place_keep(const fz_demo_place *place, fz_str configuration,
                                      fz_err *err);
/** Append lines that query the table, for DuckDB, PyIceberg and frazil. */
void fz_demo_place_explain(const fz_demo_place *place, const char *program, fz_buf *out);

#endif
