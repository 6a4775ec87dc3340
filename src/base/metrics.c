// SPDX-License-Identifier: Apache-2.0
// The registry of metrics: series in a map under one lock, values atomic.
#include "base/metrics.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text/number.h"
#include "base/thread.h"

struct fz_metrics {
    const fz_metric_def *defs;
    size_t count;
    fz_mutex mutex; // guards series and arena
    fz_map *series; // [count] label values, joined -> fz_metric
    fz_arena arena;
};

fz_metrics *fz_metrics_new(const fz_metric_def *defs, size_t count) {
    fz_metrics *metrics = fz_calloc(1, sizeof(*metrics));
    metrics->defs = defs;
    metrics->count = count;
    metrics->series = fz_calloc(count, sizeof(*metrics->series));
    fz_mutex_init(&metrics->mutex);
    for (size_t i = 0; i < count; i++) {
        if (!defs[i].labels[0]) {
            (void)fz_metrics_get(metrics, i, NULL);
        }
    }
    return metrics;
}

void fz_metrics_free(fz_metrics *metrics) {
    if (!metrics) {
        return;
    }
    for (size_t i = 0; i < metrics->count; i++) {
        fz_map_deinit(&metrics->series[i]);
    }
    fz_free(metrics->series);
    fz_arena_deinit(&metrics->arena);
    fz_mutex_deinit(&metrics->mutex);
    fz_free(metrics);
}

static size_t label_count(const fz_metric_def *def) {
    size_t count = 0;
    while (count < FZ_METRIC_LABELS && def->labels[count]) {
        count++;
    }
    return count;
}

fz_metric *fz_metrics_get(fz_metrics *metrics, size_t index, const char *const *values) {
    if (!metrics) {
        return NULL;
    }
    FZ_ASSERT(index < metrics->count);
    const fz_metric_def *def = &metrics->defs[index];
    size_t labels = label_count(def);
    fz_buf key = {0};
    for (size_t i = 0; i < labels; i++) {
        // the zero byte between them cannot be part of a value
        fz_buf_append_str(&key, fz_str_from(values[i]));
        fz_buf_append_byte(&key, 0);
    }
    fz_mutex_lock(&metrics->mutex);
    fz_metric *metric = fz_map_find(&metrics->series[index], fz_buf_view(&key));
    if (!metric) {
        metric = FZ_ARENA_NEW(&metrics->arena, fz_metric);
        metric->def = def;
        for (size_t i = 0; i < labels; i++) {
            metric->label_values[i] = fz_arena_str(&metrics->arena, fz_str_from(values[i])).data;
        }
        fz_map_put(&metrics->series[index], fz_buf_view(&key), metric);
    }
    atomic_store(&metric->hidden, false);
    fz_mutex_unlock(&metrics->mutex);
    fz_buf_deinit(&key);
    return metric;
}

void fz_metric_hide(fz_metric *metric) {
    if (metric) {
        atomic_store(&metric->hidden, true);
    }
}

void fz_metric_add(fz_metric *metric, int64_t by) {
    if (metric) {
        atomic_fetch_add_explicit(&metric->value, by, memory_order_relaxed);
    }
}

void fz_metric_set(fz_metric *metric, int64_t value) {
    if (metric) {
        atomic_store_explicit(&metric->value, value, memory_order_relaxed);
    }
}

void fz_metric_observe(fz_metric *metric, int64_t value) {
    if (!metric) {
        return;
    }
    const int64_t *bounds = metric->def->bounds;
    size_t i = 0;
    while (i < FZ_METRIC_BOUNDS && bounds[i] && value > bounds[i]) {
        i++;
    }
    atomic_fetch_add_explicit(&metric->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&metric->value, value, memory_order_relaxed);
}

int64_t fz_metric_value(const fz_metric *metric) {
    return metric ? atomic_load_explicit(&metric->value, memory_order_relaxed) : 0;
}

static void append_escaped(fz_buf *out, const char *text, bool quotes) {
    for (; *text; text++) {
        if (*text == '\\' || (quotes && *text == '"')) {
            fz_buf_append_byte(out, '\\');
            fz_buf_append_byte(out, (uint8_t)*text);
        } else if (*text == '\n') {
            fz_buf_append_str(out, FZ_STR("\\n"));
        } else {
            fz_buf_append_byte(out, (uint8_t)*text);
        }
    }
}

static void append_scaled(fz_buf *out, const fz_metric_def *def, int64_t value) {
    if (def->scale == 0 || def->scale == 1) {
        fz_buf_printf(out, "%" PRId64, value);
        return;
    }
    // dividing by a whole number keeps 2500 ms 2.5 s where times 0.001 would not
    double inverse = 1 / def->scale;
    double whole = (double)(int64_t)(inverse + 0.5);
    bool divides =
        inverse < 1e15 && inverse > 1 && inverse - whole < 1e-6 && whole - inverse < 1e-6;
    char text[32];
    size_t size =
        fz_real_format(divides ? (double)value / whole : (double)value * def->scale, text);
    fz_buf_append(out, text, size);
}

// name{labels,le="..."}; le NULL is none.
static void append_name(fz_buf *out, const fz_metric *metric, const char *suffix, const char *le) {
    const fz_metric_def *def = metric->def;
    size_t labels = label_count(def);
    fz_buf_printf(out, "%s%s", def->name, suffix);
    if (labels || le) {
        fz_buf_append_byte(out, '{');
        for (size_t i = 0; i < labels; i++) {
            fz_buf_printf(out, "%s%s=\"", i ? "," : "", def->labels[i]);
            append_escaped(out, metric->label_values[i], true);
            fz_buf_append_byte(out, '"');
        }
        if (le) {
            fz_buf_printf(out, "%sle=\"%s\"", labels ? "," : "", le);
        }
        fz_buf_append_byte(out, '}');
    }
    fz_buf_append_byte(out, ' ');
}

static void append_histogram(fz_buf *out, const fz_metric *metric) {
    const fz_metric_def *def = metric->def;
    int64_t count = 0;
    for (size_t i = 0; i <= FZ_METRIC_BOUNDS; i++) {
        bool last = i == FZ_METRIC_BOUNDS || def->bounds[i] == 0;
        fz_buf le = {0};
        if (last) {
            fz_buf_append_str(&le, FZ_STR("+Inf"));
        } else {
            append_scaled(&le, def, def->bounds[i]);
        }
        count += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        append_name(out, metric, "_bucket", fz_buf_cstr(&le));
        fz_buf_printf(out, "%" PRId64 "\n", count);
        fz_buf_deinit(&le);
        if (last) {
            break;
        }
    }
    append_name(out, metric, "_sum", NULL);
    append_scaled(out, def, fz_metric_value(metric));
    fz_buf_append_byte(out, '\n');
    append_name(out, metric, "_count", NULL);
    fz_buf_printf(out, "%" PRId64 "\n", count);
}

void fz_metrics_format(fz_metrics *metrics, fz_buf *out) {
    static const char *const types[] = {"counter", "gauge", "histogram"};
    fz_mutex_lock(&metrics->mutex);
    for (size_t i = 0; i < metrics->count; i++) {
        const fz_metric_def *def = &metrics->defs[i];
        const fz_map *series = &metrics->series[i];
        bool headed = false;
        for (size_t j = 0; j < series->count; j++) {
            const fz_metric *metric = series->entries[j].value;
            if (atomic_load(&metric->hidden)) {
                continue;
            }
            if (!headed) {
                fz_buf_printf(out, "# HELP %s ", def->name);
                append_escaped(out, def->help, false);
                fz_buf_printf(out, "\n# TYPE %s %s\n", def->name, types[def->type]);
                headed = true;
            }
            if (def->type == FZ_METRIC_HISTOGRAM) {
                append_histogram(out, metric);
                continue;
            }
            append_name(out, metric, "", NULL);
            append_scaled(out, def, fz_metric_value(metric));
            fz_buf_append_byte(out, '\n');
        }
    }
    fz_mutex_unlock(&metrics->mutex);
}
