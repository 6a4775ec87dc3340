// SPDX-License-Identifier: Apache-2.0
// Random schedules: two workers, a catalog that lies, and foreign commands at any moment; every
// offset is in the table once after every step. FZ_SEED=n plays one schedule again, FZ_SCHEDULES=n
// sets how many there are.
#define _GNU_SOURCE
#include "unit/table/commit/foreign.h"

typedef struct schedule {
    world w;
    uint64_t seed, random;
    int64_t at[2][PARTITIONS];           // where each worker believes to be
    FZ_VEC(fz_iceberg_metadata *) saved; // older metadata whose files are all there
    bool picked, replaced, forgot_history, inside;
    bool commands; // foreign ones
    int commits, forgotten;
} schedule;

static schedule *now_playing;

static uint64_t draw(schedule *s, uint64_t below) {
    s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
    return (s->random >> 33) % below;
}

static int64_t draw_snapshot(schedule *s) {
    fz_iceberg_snapshot snapshot;
    const fz_iceberg_metadata *now = s->w.pointer->now;
    fz_iceberg_metadata_snapshot_at(now, draw(s, fz_iceberg_metadata_snapshot_count(now)),
                                    &snapshot);
    return snapshot.snapshot_id;
}

static bool is_ancestor(const world *w, int64_t id) {
    fz_iceberg_snapshot at;
    bool found = fz_iceberg_metadata_main(w->pointer->now, &at);
    while (found && at.snapshot_id != id) {
        found = fz_iceberg_metadata_snapshot(w->pointer->now, at.parent_id, &at);
    }
    return found;
}

/** No engine picks anything else. */
static bool is_append(const world *w, int64_t id) {
    fz_iceberg_snapshot snapshot;
    return fz_iceberg_metadata_snapshot(w->pointer->now, id, &snapshot) &&
           fz_str_equal(fz_iceberg_snapshot_summary(&snapshot, "operation"), FZ_STR("append"));
}

static void forget_saved(schedule *s) {
    for (size_t i = 0; i < s->saved.count; i++) {
        fz_iceberg_metadata_unref(s->saved.data[i]);
    }
    fz_vec_reset(&s->saved);
}

static void put_property_back(schedule *s) {
    if (s->saved.count > 0) {
        fz_iceberg_metadata *then = s->saved.data[draw(s, s->saved.count)];
        set_property(&s->w, "frazil.state", fz_iceberg_metadata_property(then, "frazil.state"));
        set_property(&s->w, "frazil.source.orders",
                     fz_iceberg_metadata_property(then, "frazil.source.orders"));
    }
}

static void play_command(schedule *s) {
    world *w = &s->w;
    int64_t id = draw_snapshot(s);
    if (main_id(w) == FZ_ICEBERG_NONE) {
        return;
    }
    switch (draw(s, 24)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        rollback_to(w, id);
        break;
    case 5:
    case 6:
    case 7:
        compact(w);
        break;
    case 8:
    case 9:
        foreign_append(w, 0);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
        expire_all(w);
        forget_saved(s);
        break;
    case 14:
    case 15:
        if (id != main_id(w)) {
            expire_one(w, id);
        }
        break;
    case 16:
        if (!is_ancestor(w, id) && is_append(w, id) && draw(s, 2)) {
            cherry_pick(w, id);
            s->picked = true;
        }
        break;
    case 17:
        if (draw(s, 3) == 0) {
            replace_table(w);
            s->replaced = true;
        }
        break;
    case 18:
        remove_property(w, draw(s, 2) ? "frazil.state" : "frazil.source.orders");
        break;
    case 19:
    case 20:
        put_property_back(s);
        break;
    case 21:
    case 22:
        if (s->saved.count > 0) {
            put_pointer_back(w, fz_iceberg_metadata_ref(s->saved.data[draw(s, s->saved.count)]));
        }
        break;
    default:
        if (draw(s, 2)) {
            remove_older_metadata(w);
            forget_saved(s);
            s->forgot_history = true;
        }
    }
}

static bool explained(const schedule *s, const char *kind) {
    // what a pick was of may be known from history only: without it any pick is one of ours
    // refused: a planned 400, and the pointer was put back where it was
    return kind &&
           (strcmp(kind, "refused") == 0 || (strcmp(kind, "cherry_pick") == 0 && s->picked) ||
            (strcmp(kind, "replaced") == 0 && s->replaced) ||
            (strcmp(kind, "watermark_missing") == 0 && (s->forgot_history || s->replaced)));
}

static void believe(schedule *s, int worker, const fz_commit_state *state) {
    for (int32_t p = 0; p < PARTITIONS; p++) {
        s->at[worker][p] = state->sources[0].parts[p].next;
    }
}

/** One batch of a worker; false: suspended, and the schedule explains it. */
static bool play_batch(schedule *s, int worker) {
    range ranges[PARTITIONS];
    size_t count = 0;
    uint64_t which = 1 + draw(s, (1u << PARTITIONS) - 1);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        if (which >> p & 1) {
            int64_t start = s->at[worker][p];
            ranges[count++] = (range){p, 0, start, start + 1 + (int64_t)draw(s, 20)};
        }
    }
    work k;
    fz_commit_outcome out;
    work_init(&k, &s->w, ranges, count);
    work_run(&k, &s->w, &out);
    bool go_on = true;
    if (out.result == FZ_COMMIT_SUSPENDED) {
        if (!explained(s, out.err.kind)) {
            fail_msg("seed %llu: suspended: %s", (unsigned long long)s->seed, out.err.text);
        }
        go_on = false;
    } else if (out.state) {
        believe(s, worker, out.state);
    } else if (out.result == FZ_COMMIT_FORGOTTEN) {
        fail_msg("seed %llu: forgotten without a position", (unsigned long long)s->seed);
    }
    s->commits += out.result == FZ_COMMIT_DONE;
    s->forgotten += out.result == FZ_COMMIT_FORGOTTEN;
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    return go_on;
}

/** Somebody acts while a request is under way. */
static void interlope(schedule *s) {
    if (s->inside) {
        return;
    }
    s->inside = true;
    switch (draw(s, 4)) {
    case 0:
        (void)play_batch(s, (int)draw(s, 2));
        break;
    case 1:
        (void)memory_deliver(s->w.pointer);
        break;
    default:
        if (s->commands) {
            play_command(s);
        }
    }
    s->inside = false;
}

static void hook(void *context) {
    schedule *s = (schedule *)context;
    if (draw(s, 4) == 0) {
        interlope(s);
    }
}

static void act(world *w) {
    (void)w;
    interlope(now_playing);
}

static void plan_faults(schedule *s) {
    static const fz_code before[] = {FZ_UNKNOWN_OUTCOME, FZ_CONFLICT, FZ_UNAVAILABLE, FZ_DENIED};
    static const fz_code after[] = {FZ_UNKNOWN_OUTCOME, FZ_CONFLICT, FZ_UNAVAILABLE, FZ_INVALID};
    uint64_t n = 1 + draw(s, 2), times = 1 + draw(s, 2);
    fz_catalog_fault_plan(s->w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
    switch (draw(s, 8)) {
    case 0:
        fz_catalog_fault_plan(s->w.catalog, FZ_CATALOG_CALL_COMMIT, n, times, false,
                              before[draw(s, FZ_COUNT(before))]);
        break;
    case 1:
    case 2:
        fz_catalog_fault_plan(s->w.catalog, FZ_CATALOG_CALL_COMMIT, n, times, true,
                              after[draw(s, FZ_COUNT(after))]);
        break;
    case 3:
        s->w.pointer->lie = LIE_SWALLOW;
        break;
    case 4:
        s->w.pointer->lie = LIE_HOLD;
        break;
    case 5:
        fz_catalog_fault_plan(s->w.catalog, FZ_CATALOG_CALL_LOAD, n, times, false, FZ_UNAVAILABLE);
        break;
    default:
        break;
    }
    acting = NULL;
    if (draw(s, 2)) {
        act_before_load(&s->w, 1 + (int)draw(s, 4), act);
    }
}

/** Rows and position agree; false: suspended, and the schedule explains it. */
static bool look_at(schedule *s) {
    fz_commit_state *state = NULL;
    fz_err err = {0};
    void (*later)(world *) = acting;
    acting = NULL;
    fz_code code = world_position(&s->w, &state, NULL, &err);
    acting = later;
    if (code != FZ_OK) {
        if (!explained(s, err.kind)) {
            fail_msg("seed %llu: no position: %s", (unsigned long long)s->seed, err.text);
        }
        return false;
    }
    world_seed = s->seed;
    check_rows(&s->w, state);
    fz_commit_state_free(state);
    return true;
}

static void play(uint64_t seed, int *commits, int *forgotten, int *suspended) {
    schedule s = {.seed = seed, .random = seed * 0x9e3779b97f4a7c15ull + 1};
    now_playing = &s;
    world_init(&s.w);
    world_create(&s.w);
    s.commands = draw(&s, 4) > 0;
    s.w.pointer->loose = draw(&s, 2);
    s.w.options.content = draw(&s, 2) ? content_of_names : NULL;
    s.w.options.content_context = &s.w;
    fz_catalog_fault_hook(s.w.catalog, hook, &s);
    bool go_on = true;
    for (int step = 0; step < 14 && go_on; step++) {
        plan_faults(&s);
        fz_vec_push(&s.saved, world_load(&s.w));
        if (s.commands && draw(&s, 3) == 0) {
            play_command(&s);
        } else {
            go_on = play_batch(&s, (int)draw(&s, 2));
        }
        go_on = go_on && look_at(&s);
    }
    *commits += s.commits;
    *forgotten += s.forgotten;
    *suspended += !go_on;
    acting = NULL;
    forget_saved(&s);
    fz_vec_deinit(&s.saved);
    world_deinit(&s.w);
}

static void test_schedules(void **unused) {
    (void)unused;
    const char *one = getenv("FZ_SEED");
    const char *many = getenv("FZ_SCHEDULES");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t count = one ? 1 : many ? strtoull(many, NULL, 10) : 1500;
    int commits = 0, forgotten = 0, suspended = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (one) {
            print_message("seed %llu\n", (unsigned long long)seed);
        }
        play(seed, &commits, &forgotten, &suspended);
    }
    print_message("%llu schedules: %d commits, %d forgotten, %d suspended at the end\n",
                  (unsigned long long)count, commits, forgotten, suspended);
    assert_true(one || (commits > 0 && forgotten > 0 && suspended > 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules)};
    return cmocka_run_group_tests_name("table/commit schedules", tests, NULL, NULL);
}
