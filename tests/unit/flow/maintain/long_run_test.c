// SPDX-License-Identifier: Apache-2.0
// A commit each second for days, with maintenance as the service runs it: metadata, manifest list
// and time of a commit stay bounded. FZ_COMMITS=864000 is ten days; each tenth is printed then.
#include <time.h>

#include "unit/flow/maintain/keep.h"

#define METADATA_KEPT 100 // as write.metadata.previous-versions-max keeps by default

typedef struct figures {
    int64_t snapshots;
    int64_t metadata_bytes;
    int64_t manifests;
    int64_t list_bytes;
    double commit_ms; // mean
} figures;

typedef struct old_files {
    char *uris[METADATA_KEPT];
    size_t next;
} old_files;

static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int64_t size_of(world *w, fz_str uri) {
    fz_str key;
    fz_object object;
    OK(fz_store_key(w->lake, uri, &key, NULL));
    OK(fz_store_stat(w->lake, key, &object, NULL));
    return object.size_bytes;
}

/** What catalogs do with write.metadata.delete-after-commit.enabled. */
static void drop_old_metadata(world *w, old_files *old) {
    fz_str now = w->pointer->now->location;
    size_t last = (old->next + METADATA_KEPT - 1) % METADATA_KEPT;
    if (old->uris[last] && fz_str_equal(now, fz_str_from(old->uris[last]))) {
        return;
    }
    char **slot = &old->uris[old->next];
    old->next = (old->next + 1) % METADATA_KEPT;
    if (*slot) {
        fz_str key;
        OK(fz_store_key(w->lake, fz_str_from(*slot), &key, NULL));
        (void)!fz_store_remove(w->lake, key, NULL);
        fz_free(*slot);
    }
    *slot = fz_str_dup(now);
}

static void look(world *w, figures *out) {
    const fz_iceberg_metadata *now = w->pointer->now;
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(now, &main));
    fz_arena arena = {0};
    fz_iceberg_list list = {0};
    fz_maintain_options options = keep_options(w);
    OK(fz_reach_list(&options, &main, &arena, &list, NULL));
    out->snapshots = (int64_t)fz_iceberg_metadata_snapshot_count(now);
    out->metadata_bytes = size_of(w, now->location);
    out->manifests = (int64_t)list.count;
    out->list_bytes = size_of(w, main.manifest_list);
    fz_arena_deinit(&arena);
}

static void maintain_as_due(world *w, fz_maintain *maintain) {
    fz_maintain_saw(maintain, w->pointer->now);
    fz_maintain_job job = fz_maintain_tick(maintain, fz_clock_mono_ms(&w->clock.clock));
    if (job != FZ_MAINTAIN_NONE) {
        fz_maintain_run(maintain, job);
    }
}

static void a_commit_each_second(void **state) {
    (void)state;
    const char *asked = getenv("FZ_COMMITS");
    int64_t commits = asked ? strtoll(asked, NULL, 10) : 1500;
    world w;
    world_init(&w);
    world_create(&w);
    fz_maintain_options options = keep_options(&w);
    options.config.compaction.enabled = false; // the world's files hold no rows; so none ever goes
    options.config.remove_orphans.enabled = false;
    fz_maintain *maintain = fz_maintain_new(&options, fz_clock_mono_ms(&w.clock.clock));
    old_files old = {0};
    figures f = {0};
    double spent = 0;
    for (int64_t i = 0; i < commits; i++) {
        fz_clock_sim_advance(&w.clock, 1000000);
        double start = now_ms();
        must_commit(&w, 0, i, i + 1);
        spent += now_ms() - start;
        maintain_as_due(&w, maintain);
        drop_old_metadata(&w, &old);
        if ((i + 1) % (commits / 10) == 0) {
            look(&w, &f);
            f.commit_ms = spent / (double)(commits / 10);
            spent = 0;
            if (asked) {
                printf("%lld commits: %lld snapshots, metadata %lld bytes, %lld manifests, list "
                       "%lld bytes, %.2f ms of CPU a commit\n",
                       (long long)(i + 1), (long long)f.snapshots, (long long)f.metadata_bytes,
                       (long long)f.manifests, (long long)f.list_bytes, f.commit_ms);
                (void)fflush(stdout);
            }
            assert_in_range(f.snapshots, 1, 1300); // max_count and a quarter
            assert_in_range(f.metadata_bytes, 1, 2 << 20);
            assert_in_range(f.manifests, 1, 250 + commits / 20000);
            assert_in_range(f.list_bytes, 1, 64 << 10);
        }
    }
    check_position(&w, commits);
    fz_maintain_free(maintain);
    for (size_t i = 0; i < METADATA_KEPT; i++) {
        fz_free(old.uris[i]);
    }
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_commit_each_second)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
