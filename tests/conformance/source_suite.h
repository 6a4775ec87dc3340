// SPDX-License-Identifier: Apache-2.0
// What every source of records must do, as one group of tests.
#ifndef FZ_TESTS_CONFORMANCE_SOURCE_SUITE_H
#define FZ_TESTS_CONFORMANCE_SOURCE_SUITE_H

#include "io/kafka/sim_source.h"

/** One implementation under test; each test gets an empty cluster of its own. */
typedef struct source_suite {
    const char *name;
    bool times; // offset_at looks at timestamps
    fz_source *(*open)(void);
    void (*close)(fz_source *source); // cluster too
    void (*create)(const char *topic, int32_t partitions);
    void (*append)(const char *topic, int32_t partition, const fz_kafka_sim_record *record);
    void (*flush)(void);                // what was appended can be read
    void (*missing)(const char *topic); // see to it that it is not there
} source_suite;

/** Runs the group; the number of failed tests. */
int source_suite_run(const source_suite *suite);

#endif
