// SPDX-License-Identifier: Apache-2.0
// Metrics of one data file: everything lies in their arena.
#include "data/file_metrics.h"

void fz_file_metrics_deinit(fz_file_metrics *metrics) {
    if (metrics) {
        fz_arena_deinit(&metrics->arena);
        *metrics = (fz_file_metrics){0};
    }
}
