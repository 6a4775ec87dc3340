// SPDX-License-Identifier: Apache-2.0
// What every decoder must do, as one group of tests.
#ifndef FZ_TESTS_CONFORMANCE_DECODER_SUITE_H
#define FZ_TESTS_CONFORMANCE_DECODER_SUITE_H

#include "format/decoder.h"

/** A record's bytes; `kind` of the error for one that is refused. */
typedef struct decoder_record {
    const char *bytes;
    size_t size;
    const char *kind;
} decoder_record;

#define DECODER_GOOD(text)                                                                         \
    { (text), sizeof(text) - 1, NULL }
#define DECODER_BAD(text, kind)                                                                    \
    { (text), sizeof(text) - 1, (kind) }

/** One writer's schema under test. */
typedef struct decoder_suite {
    const char *name;
    fz_writer_schema *(*open)(void);
    decoder_record good[4]; // two at least, not alike; the first of five bytes or more
    decoder_record bad[4];  // when all columns are bound; none for one that takes everything
    bool empty;             // no bytes are a value
    bool open_ended;        // a record's part, or one with a tail, may be a value too
} decoder_suite;

/** Runs the group; the number of failed tests. */
int decoder_suite_run(const decoder_suite *suite);

#endif
