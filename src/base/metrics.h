// SPDX-License-Identifier: Apache-2.0
// A registry of counters, gauges and histograms, printed for Prometheus.
#ifndef FZ_BASE_METRICS_H
#define FZ_BASE_METRICS_H

#include <stdatomic.h>

#include "base/buf.h"

typedef enum fz_metric_type {
    FZ_METRIC_COUNTER,
    FZ_METRIC_GAUGE,
    FZ_METRIC_HISTOGRAM
} fz_metric_type;

enum { FZ_METRIC_LABELS = 4, FZ_METRIC_BOUNDS = 16 };

/** One row of the caller's static table. Values are whole numbers; `scale` turns them into the base
 * unit. */
typedef struct fz_metric_def {
    const char *name; // with unit and _total: "frazil_commit_duration_seconds"
    fz_metric_type type;
    const char *help;
    double scale; // printed = value * scale (1e-3: ms kept, seconds printed); 0 is 1
    const char *labels[FZ_METRIC_LABELS]; // names, ended by NULL
    int64_t bounds[FZ_METRIC_BOUNDS];     // histogram: rising upper bounds, unscaled, ended by 0
} fz_metric_def;

/** The values of one set of labels. Handles live as long as the registry. */
typedef struct fz_metric {
    _Atomic int64_t value; // histogram: sum
    _Atomic int64_t buckets[FZ_METRIC_BOUNDS + 1];
    const fz_metric_def *def;
    const char *label_values[FZ_METRIC_LABELS];
    _Atomic bool hidden;
} fz_metric;

typedef struct fz_metrics fz_metrics;

/** defs [count] is borrowed for the registry's life. */
fz_metrics *fz_metrics_new(const fz_metric_def *defs, size_t count);
/** NULL allowed. */
void fz_metrics_free(fz_metrics *metrics);
/**
 * The metric of row `index` with these label values, made when new (value 0). Keep the handle: this
 * call locks.
 *
 * values  as many as the row has labels (NULL reads as ""); copied
 * Threads: any. metrics NULL gives NULL, which the calls below take.
 */
fz_metric *fz_metrics_get(fz_metrics *metrics, size_t index, const char *const *values);
/** No longer printed until fz_metrics_get asks for it again (a table or partition that went away).
 * NULL allowed. */
void fz_metric_hide(fz_metric *metric);
/** Counter or gauge; one atomic addition. Any thread. NULL allowed. */
void fz_metric_add(fz_metric *metric, int64_t by);
/** Gauge. */
void fz_metric_set(fz_metric *metric, int64_t value);
/** Histogram. */
void fz_metric_observe(fz_metric *metric, int64_t value);
/** Counter's or gauge's value, histogram's sum; unscaled. NULL: 0. */
int64_t fz_metric_value(const fz_metric *metric);
/** Prometheus text format 0.0.4, rows in table order; a row without labels is printed even if never
 * asked for. */
void fz_metrics_format(fz_metrics *metrics, fz_buf *out);

#endif
