// SPDX-License-Identifier: Apache-2.0
// Sets of offsets as sorted runs.
#include "table/commit/runs.h"

#include <stdlib.h>

typedef fz_commit_one_run one_run;

void fz_commit_runs_deinit(fz_commit_runs *runs) {
    fz_vec_deinit(&runs->all);
}

static bool same_part(const one_run *a, const one_run *b) {
    return a->partition == b->partition && fz_str_equal(a->source, b->source);
}

void fz_commit_runs_add(fz_commit_runs *runs, fz_str source, int32_t partition, int64_t offset) {
    const one_run fresh = {source, partition, offset, offset + 1};
    one_run *last = runs->all.count > 0 ? &runs->all.data[runs->all.count - 1] : NULL;
    if (last && last->end == offset && same_part(last, &fresh)) {
        last->end++;
        return;
    }
    fz_vec_push(&runs->all, fresh);
}

void fz_commit_runs_add_all(fz_commit_runs *runs, const fz_commit_runs *more) {
    for (size_t i = 0; i < more->all.count; i++) {
        fz_vec_push(&runs->all, more->all.data[i]);
    }
}

static int part_order(const one_run *a, fz_str source, int32_t partition) {
    int order = fz_str_compare(a->source, source);
    return order != 0 ? order : (a->partition > partition) - (a->partition < partition);
}

static int run_order(const void *left, const void *right) {
    const one_run *a = (const one_run *)left;
    const one_run *b = (const one_run *)right;
    int order = part_order(a, b->source, b->partition);
    return order != 0 ? order : (a->start > b->start) - (a->start < b->start);
}

void fz_commit_runs_settle(fz_commit_runs *runs) {
    if (runs->all.count == 0) {
        return;
    }
    one_run *all = runs->all.data;
    qsort(all, runs->all.count, sizeof *all, run_order);
    size_t kept = 0;
    for (size_t i = 1; i < runs->all.count; i++) {
        if (same_part(&all[kept], &all[i]) && all[i].start <= all[kept].end) {
            all[kept].end = all[i].end > all[kept].end ? all[i].end : all[kept].end;
        } else {
            all[++kept] = all[i];
        }
    }
    runs->all.count = kept + 1;
}

/** Index of the first run that ends behind the offset. */
static size_t first_behind(const fz_commit_runs *runs, fz_str source, int32_t partition,
                           int64_t offset) {
    size_t low = 0, high = runs->all.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const one_run *run = &runs->all.data[middle];
        int order = part_order(run, source, partition);
        if (order < 0 || (order == 0 && run->end <= offset)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool fz_commit_runs_find(const fz_commit_runs *runs, fz_str source, int32_t partition,
                         int64_t offset) {
    size_t i = first_behind(runs, source, partition, offset);
    return i < runs->all.count && part_order(&runs->all.data[i], source, partition) == 0 &&
           runs->all.data[i].start <= offset;
}

bool fz_commit_runs_touch(const fz_commit_runs *a, const fz_commit_runs *b) {
    for (size_t i = 0; i < a->all.count; i++) {
        const one_run *run = &a->all.data[i];
        size_t at = first_behind(b, run->source, run->partition, run->start);
        if (at < b->all.count && same_part(&b->all.data[at], run) &&
            b->all.data[at].start < run->end) {
            return true;
        }
    }
    return false;
}

void fz_commit_runs_subtract(const fz_commit_runs *from, const fz_commit_runs *what,
                             fz_commit_runs *out) {
    for (size_t i = 0; i < from->all.count; i++) {
        one_run run = from->all.data[i];
        size_t at = first_behind(what, run.source, run.partition, run.start);
        for (; at < what->all.count && run.start < run.end; at++) {
            const one_run *cut = &what->all.data[at];
            if (!same_part(cut, &run) || cut->start >= run.end) {
                break;
            }
            if (cut->start > run.start) {
                one_run left = run;
                left.end = cut->start;
                fz_vec_push(&out->all, left);
            }
            run.start = cut->end;
        }
        if (run.start < run.end) {
            fz_vec_push(&out->all, run);
        }
    }
}

int64_t fz_commit_runs_count(const fz_commit_runs *runs) {
    int64_t count = 0;
    for (size_t i = 0; i < runs->all.count; i++) {
        count += runs->all.data[i].end - runs->all.data[i].start;
    }
    return count;
}

fz_code fz_commit_runs_read(const json_t *array, fz_commit_runs *out, fz_err *err) {
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item) {
        const json_t *partition = json_array_get(item, 1);
        const json_t *start = json_array_get(item, 2);
        const json_t *end = json_array_get(item, 3);
        one_run run = {fz_json_view(json_array_get(item, 0)),
                       (int32_t)json_integer_value(partition), json_integer_value(start),
                       json_integer_value(end)};
        if (run.source.size == 0 || !json_is_integer(partition) || !json_is_integer(start) ||
            json_integer_value(partition) < 0 || json_integer_value(partition) > INT32_MAX ||
            run.start < 0 || run.end <= run.start) {
            fz_commit_runs_deinit(out);
            return fz_err_set(err, FZ_CORRUPT,
                              "item %zu of the replayed dead letters is not [source, partition, "
                              "start, end]",
                              index);
        }
        fz_vec_push(&out->all, run);
    }
    fz_commit_runs_settle(out);
    return FZ_OK;
}

json_t *fz_commit_runs_json(const fz_commit_runs *runs) {
    json_t *array = json_array();
    for (size_t i = 0; i < runs->all.count; i++) {
        const one_run *run = &runs->all.data[i];
        json_t *item = json_array();
        json_array_append_new(item, fz_json_string(run->source));
        json_array_append_new(item, json_integer(run->partition));
        json_array_append_new(item, json_integer(run->start));
        json_array_append_new(item, json_integer(run->end));
        json_array_append_new(array, item);
    }
    return array;
}
