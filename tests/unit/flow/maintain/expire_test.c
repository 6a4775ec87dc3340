// SPDX-License-Identifier: Apache-2.0
// Expiry: what goes, what stays, and that nothing that stays loses a file.
#include "unit/flow/maintain/keep.h"

static void commits(world *w, int64_t from, int64_t count) {
    for (int64_t i = from; i < from + count; i++) {
        must_commit(w, 0, i, i + 1);
    }
}

static void young_and_few_stay(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 20);
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.snapshots, 0);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 21);
    world_deinit(&w);
}

static void old_ones_go_with_their_lists(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 20);
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    fz_maintain_options options = keep_options(&w);
    options.dry_run = true;
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.snapshots, 20);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 21);
    options.dry_run = false;
    r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.snapshots, 20);
    assert_int_equal(r.lists_deleted, 20);
    assert_int_equal(r.data_files_deleted, 0); // main has them all
    assert_int_equal(r.manifests_deleted, 0);
    assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 1);
    assert_int_equal(count_objects(&w, "t/metadata/snap-"), 1);
    check_all_snapshots(&w);
    check_position(&w, 20);
    commits(&w, 20, 3);
    check_position(&w, 23);
    world_deinit(&w);
}

static json_t *tag(const char *name, int64_t id, const char *type) {
    json_t *update = fz_iceberg_update_set_ref(name, id);
    json_object_set_new(update, "type", json_string(type));
    return update;
}

/** T163, T211: tags, branches with their own retention, a rollback; in the end every ref is whole.
 */
static void refs_are_kept(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 5);
    foreign(&w, tag("v1", main_id(&w), "tag"));
    int64_t tagged = main_id(&w);
    commits(&w, 5, 5);
    json_t *branch = tag("audit", main_id(&w), "branch");
    json_object_set_new(branch, "min-snapshots-to-keep", json_integer(3));
    foreign(&w, branch);
    commits(&w, 10, 5);
    json_t *old = tag("old", main_id(&w), "tag");
    json_object_set_new(old, "max-ref-age-ms", json_integer(86400000));
    foreign(&w, old);
    commits(&w, 15, 5);
    rollback_to(&w, tagged); // 5..20 are read again
    commits(&w, 5, 2);
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    // main, the tag, three of the branch
    assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 5);
    assert_int_equal(r.refs, 1);
    assert_int_equal(fz_iceberg_metadata_ref_id(w.pointer->now, "v1"), tagged);
    assert_int_not_equal(fz_iceberg_metadata_ref_id(w.pointer->now, "audit"), FZ_ICEBERG_NONE);
    assert_int_equal(fz_iceberg_metadata_ref_id(w.pointer->now, "old"), FZ_ICEBERG_NONE);
    assert_int_equal(r.data_files_deleted, 10); // 10..20 of the rolled back line
    check_all_snapshots(&w);
    check_position(&w, 7);
    world_deinit(&w);
}

/** What the position is found through stays, however old (R6). */
static void the_newest_own_stays(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 10);
    int64_t own = main_id(&w);
    for (int i = 0; i < 6; i++) { // foreign snapshots on top
        fz_iceberg_snapshot main;
        assert_true(fz_iceberg_metadata_main(w.pointer->now, &main));
        json_t *snapshot = json_deep_copy(main.json);
        int64_t id = fz_iceberg_snapshot_id_new(w.pointer->now);
        fz_json_set_int(snapshot, "snapshot-id", id);
        fz_json_set_int(snapshot, "parent-snapshot-id", main.snapshot_id);
        fz_json_set_int(snapshot, "sequence-number", main.sequence_number + 1);
        json_object_set_new(snapshot, "summary", json_pack("{s:s}", "operation", "replace"));
        json_t *add = fz_iceberg_update_new("add-snapshot");
        json_object_set_new(add, "snapshot", snapshot);
        json_t *both = json_array();
        json_array_append_new(both, add);
        json_array_append_new(both, fz_iceberg_update_set_ref(FZ_ICEBERG_MAIN, id));
        foreign(&w, both);
    }
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    fz_maintain_options options = keep_options(&w);
    options.config.expire_snapshots.max_count = 1;
    (void)must_do(&options, FZ_MAINTAIN_EXPIRE);
    fz_iceberg_snapshot kept;
    assert_true(fz_iceberg_metadata_snapshot(w.pointer->now, own, &kept));
    assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 7);
    fz_commit_proof proof;
    fz_commit_state *position = NULL;
    OK(world_position(&w, &position, &proof, NULL));
    assert_int_equal(proof, FZ_COMMIT_ANCESTOR);
    fz_commit_state_free(position);
    world_deinit(&w);
}

static void gc_disabled(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 3);
    json_t *set = fz_iceberg_update_new("set-properties");
    json_object_set_new(set, "updates", json_pack("{s:s}", "gc.enabled", "false"));
    foreign(&w, set);
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    fz_maintain_options options = keep_options(&w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.snapshots, 0);
    assert_true(strlen(r.skipped) > 0);
    r = must_do(&options, FZ_MAINTAIN_ORPHANS);
    assert_int_equal(r.orphans, 0);
    world_deinit(&w);
}

/** Every catalog call fails once, before and after its effect; afterwards all is whole. */
static void every_call_fails(void **state) {
    (void)state;
    for (int after = 0; after < 2; after++) {
        for (uint64_t n = 1; n <= 4; n++) {
            world w;
            world_init(&w);
            world_create(&w);
            commits(&w, 0, 6);
            fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
            fz_maintain_options options = keep_options(&w);
            fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, n, 1, after,
                                  after ? FZ_UNKNOWN_OUTCOME : FZ_UNAVAILABLE);
            fz_maintain_report r = {0};
            fz_err err = {0};
            (void)!fz_maintain_expire(&options, &r, &err);
            fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
            check_all_snapshots(&w);
            check_position(&w, 6);
            r = must_do(&options, FZ_MAINTAIN_EXPIRE);
            assert_int_equal(fz_iceberg_metadata_snapshot_count(w.pointer->now), 1);
            check_all_snapshots(&w);
            world_deinit(&w);
        }
    }
}

/** Another writer commits between our load and our commit. */
static void interlope(void *context) {
    world *w = (world *)context;
    fz_catalog_fault_hook(w->catalog, NULL, NULL);
    must_commit(w, 1, 0, 5);
}

static void other_writers_are_first(void **state) {
    (void)state;
    world w;
    world_init(&w);
    world_create(&w);
    commits(&w, 0, 6);
    fz_clock_sim_advance(&w.clock, 8 * 86400 * 1000000LL);
    fz_maintain_options options = keep_options(&w);
    fz_catalog_fault_hook(w.catalog, interlope, &w);
    fz_maintain_report r = must_do(&options, FZ_MAINTAIN_EXPIRE);
    assert_int_equal(r.conflicts, 1);
    assert_int_equal(r.snapshots, 7);
    check_all_snapshots(&w);
    check_position(&w, 6);
    world_deinit(&w);
}

/** Metadata files that fell out of the log, as write.metadata.delete-after-commit.enabled has it.
 */
static void remove_old_metadata(world *w) {
    fz_map keep = {0};
    const fz_iceberg_metadata *now = w->pointer->now;
    (void)fz_map_put(&keep, now->location, w);
    for (size_t i = 0; i < fz_iceberg_metadata_log_count(now); i++) {
        (void)fz_map_put(&keep, fz_iceberg_metadata_log_at(now, i, NULL), w);
    }
    fz_page page = {0};
    OK(fz_store_list(w->lake, FZ_STR("t/metadata/0"), FZ_STR(""), &page, NULL));
    for (size_t i = 0; i < page.objects.count; i++) {
        char *uri = fz_store_uri(w->lake, page.objects.data[i].key);
        if (!fz_map_find(&keep, fz_str_from(uri)) && strstr(uri, ".metadata.json")) {
            OK(fz_store_remove(w->lake, page.objects.data[i].key, NULL));
        }
        fz_free(uri);
    }
    fz_page_deinit(&page);
    fz_map_deinit(&keep);
}

static int64_t metadata_bytes(world *w) {
    fz_str key;
    fz_object object;
    OK(fz_store_key(w->lake, w->pointer->now->location, &key, NULL));
    OK(fz_store_stat(w->lake, key, &object, NULL));
    return object.size_bytes;
}

/** R28, T217: a commit a second, for long. FZ_COMMITS=5000 FZ_MOST=1000 for the real thing. */
static void many_commits(void **state) {
    (void)state;
    int64_t wanted = getenv("FZ_COMMITS") ? atoll(getenv("FZ_COMMITS")) : 1000;
    int64_t most = getenv("FZ_MOST") ? atoll(getenv("FZ_MOST")) : 60;
    world w;
    world_init(&w);
    world_create(&w);
    fz_maintain_options options = keep_options(&w);
    options.config.expire_snapshots.max_count = most;
    options.config.rewrite_manifests.min_count = 20;
    fz_maintain *maintain = fz_maintain_new(&options, fz_clock_mono_ms(&w.clock.clock));
    int64_t largest = 0, jobs = 0, spent[2] = {0, 0};
    size_t snapshots = 0, manifests = 0;
    for (int64_t i = 0; i < wanted; i++) {
        int64_t started = fz_clock_mono_us(fz_clock_real());
        must_commit(&w, 0, i, i + 1);
        int64_t took = fz_clock_mono_us(fz_clock_real()) - started;
        spent[0] += i >= wanted / 4 && i < wanted / 2 ? took : 0;
        spent[1] += i >= 3 * wanted / 4 ? took : 0;
        fz_maintain_saw(maintain, w.pointer->now);
        fz_maintain_job job = fz_maintain_tick(maintain, fz_clock_mono_ms(&w.clock.clock));
        if (job != FZ_MAINTAIN_NONE && job != FZ_MAINTAIN_COMPACT) {
            assert_true(fz_maintain_is_running(maintain));
            assert_int_equal(fz_maintain_tick(maintain, 0), FZ_MAINTAIN_NONE);
        }
        if (job == FZ_MAINTAIN_COMPACT) { // the files of this world hold no rows
            fz_maintain_run(maintain, FZ_MAINTAIN_NONE);
        } else if (job != FZ_MAINTAIN_NONE) {
            fz_maintain_run(maintain, job);
            jobs++;
        }
        int64_t size = metadata_bytes(&w);
        largest = size > largest ? size : largest;
        size_t count = fz_iceberg_metadata_snapshot_count(w.pointer->now);
        snapshots = count > snapshots ? count : snapshots;
        if (i % 20 == 0) {
            count = main_manifests(&w);
            manifests = count > manifests ? count : manifests;
            remove_old_metadata(&w);
        }
    }
    print_message(
        "%lld commits, %lld jobs: metadata at most %lld bytes, %zu snapshots, %zu manifests;"
        " %lld us a commit in the second quarter, %lld in the last\n",
        (long long)wanted, (long long)jobs, (long long)largest, snapshots, manifests,
        (long long)(spent[0] * 4 / wanted), (long long)(spent[1] * 4 / wanted));
    assert_true(largest < 5 << 20);
    assert_true((int64_t)snapshots <= most + most / 4 + 16);
    assert_true(manifests <= 70);
    // old snapshots are there still, thinned
    fz_iceberg_snapshot first, last;
    fz_iceberg_metadata_snapshot_at(w.pointer->now, 0, &first);
    assert_true(fz_iceberg_metadata_main(w.pointer->now, &last));
    assert_true(last.timestamp_ms - first.timestamp_ms > wanted * 1000 / 2);
    check_all_snapshots(&w);
    check_position(&w, wanted);
    fz_maintain_free(maintain);
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(young_and_few_stay),
        cmocka_unit_test(old_ones_go_with_their_lists),
        cmocka_unit_test(refs_are_kept),
        cmocka_unit_test(the_newest_own_stays),
        cmocka_unit_test(gc_disabled),
        cmocka_unit_test(every_call_fails),
        cmocka_unit_test(other_writers_are_first),
        cmocka_unit_test(many_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
