// SPDX-License-Identifier: Apache-2.0
// Each rule of the commit protocol that concerns one table, as a test named after it.
#define _GNU_SOURCE
#include "unit/table/commit/foreign.h"

#include "table/commit/summary.h"

static void test_r1_r2_commits_add_up(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    check_position(&w, 0);
    must_commit(&w, 0, 0, 100);
    must_commit(&w, 1, 0, 7);
    must_commit(&w, 0, 100, 150);
    check_position(&w, 150);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(state->number, 4); // the empty snapshot counts
    assert_int_equal(state->sources[0].rows, 157);
    assert_int_equal(state->sources[0].fingerprint_count, 3);
    assert_int_equal(state->sources[0].parts[1].last_row, 6);
    assert_false(state->rolled_back);
    assert_int_equal(state->snapshot_id, main_id(&w));
    fz_commit_state_free(state);
    world_deinit(&w);
}

static void test_r4_whole_batch_is_fenced(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, (range[]){{0, 0, 0, 100}, {1, 0, 0, 50}}, 2);
    must_commit(&w, 1, 0, 10); // another worker moved one of both
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.attempts, 0);
    assert_int_equal(out.state->sources[0].parts[0].next, 0);
    assert_int_equal(out.state->sources[0].parts[1].next, 10);
    check_rows(&w, out.state);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    // behind and ahead of it are both wrong (H3)
    assert_int_equal(commit_range(&w, 1, 11, 20, NULL), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(commit_range(&w, 1, 9, 20, NULL), FZ_COMMIT_FORGOTTEN);
    world_deinit(&w);
}

static void bump(void *context, fz_commit_state *state, fz_commit_source *source) {
    (void)context;
    (void)state;
    for (int32_t p = 0; p < source->known; p++) {
        source->parts[p] = (fz_commit_part){source->parts[p].generation + 1, 0, -1, -1};
    }
}

static fz_commit_result run_edit(world *w, const char *op,
                                 void (*edit)(void *, fz_commit_state *, fz_commit_source *),
                                 const fz_commit_state *expected) {
    work k;
    fz_commit_outcome out;
    work_init(&k, w, NULL, 0);
    k.batch.op = op;
    k.batch.edit = edit;
    k.batch.expected = expected;
    k.batch.reason = FZ_STR("a test");
    fz_commit_result result = work_run(&k, w, &out);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    return result;
}

static void test_r4_r15_generation_is_compared(void **unused) { // G1
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    assert_int_equal(run_edit(&w, "generation", bump, NULL), FZ_COMMIT_DONE);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 1, 0, 100}, 1);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    // the sleeping worker's batch of the old log fits the offset, not the generation
    assert_int_equal(commit_range(&w, 0, 100, 150, NULL), FZ_COMMIT_FORGOTTEN);
    world_deinit(&w);
}

static void test_r26_edits_are_compare_and_swap(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    fz_commit_state *decided_on;
    assert_int_equal(world_position(&w, &decided_on, NULL, NULL), FZ_OK);
    assert_int_equal(run_edit(&w, "generation", bump, decided_on), FZ_COMMIT_DONE);
    assert_int_equal(run_edit(&w, "generation", bump, decided_on), FZ_COMMIT_FORGOTTEN);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(state->sources[0].parts[0].generation, 1);
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(w.pointer->now, &main));
    assert_true(
        fz_str_equal(fz_iceberg_snapshot_summary(&main, "frazil.op"), FZ_STR("generation")));
    assert_true(
        fz_str_equal(fz_iceberg_snapshot_summary(&main, "frazil.reason"), FZ_STR("a test")));
    // an edit's move tells the old generation and the new one
    assert_true(fz_str_equal(fz_iceberg_snapshot_summary(&main, "frazil.moved"),
                             FZ_STR("[[\"orders\",0,0,0,0,1],[\"orders\",1,0,0,0,1]]")));
    fz_commit_state_free(state);
    fz_commit_state_free(decided_on);
    world_deinit(&w);
}

static void test_r26_a_lost_reply_does_not_repeat_an_edit(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 1, true, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(run_edit(&w, "generation", bump, NULL), FZ_COMMIT_DONE);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(state->sources[0].parts[0].generation, 1);
    fz_commit_state_free(state);
    world_deinit(&w);
}

static void test_r22_route_conflict(void **unused) { // C8
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    k.batch.route = FZ_STR("other");
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_SUSPENDED);
    assert_string_equal(out.err.kind, "route_conflict");
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    world_deinit(&w);
}

static void test_r11_old_files_are_forgotten(void **unused) { // A12
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    fz_clock_sim_advance(&w.clock, 2 * 3600LL * 1000000);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE); // two hours, looked at and there
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    work_init(&k, &w, &(range){0, 0, 5, 9}, 1);
    fz_clock_sim_advance(&w.clock, 2 * 3600LL * 1000000);
    fz_str key;
    assert_int_equal(fz_store_key(w.lake, fz_iceberg_append_at(k.batch.files, 0)->path, &key, NULL),
                     FZ_OK);
    assert_int_equal(fz_store_put(w.lake, key, FZ_STR("cut"), NULL), FZ_OK); // R12
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    fz_commit_outcome_deinit(&out);
    assert_int_equal(fz_store_remove(w.lake, key, NULL), FZ_OK);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    work_init(&k, &w, &(range){0, 0, 5, 9}, 1);
    fz_clock_sim_advance(&w.clock, 13 * 3600LL * 1000000);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.state->sources[0].parts[0].next, 5);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    world_deinit(&w);
}

static void test_r27_time_goes_on(void **unused) { // A8
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    int64_t ahead = fz_clock_wall_ms(&w.clock.clock) + 600000;
    foreign_append(&w, ahead);
    must_commit(&w, 0, 0, 5);
    fz_iceberg_snapshot main;
    assert_true(fz_iceberg_metadata_main(w.pointer->now, &main));
    assert_true(main.timestamp_ms > ahead && main.timestamp_ms < ahead + 1000);
    check_position(&w, 5);
    world_deinit(&w);
}

static void test_r28_state_grows_with_partitions_only(void **unused) {
    (void)unused;
    enum { MANY = 1000 };
    world w;
    world_init(&w);
    fz_commit_part *parts = (fz_commit_part *)fz_calloc(MANY, sizeof *parts);
    fz_commit_source source = world_source(parts, MANY);
    assert_int_equal(world_try_create(&w, NULL, &source, NULL), FZ_OK);
    fz_commit_move *moves = (fz_commit_move *)fz_calloc(MANY, sizeof *moves);
    for (int i = 0; i < 500; i++) {
        for (int32_t p = 0; p < MANY; p++) {
            moves[p] = (fz_commit_move){.partition = p,
                                        .start = 10000LL * i,
                                        .end = 10000LL * (i + 1),
                                        .last_row = 10000LL * (i + 1) - 1,
                                        .fingerprint = {p, 10000LL * (i + 1) - 1, i, 7}};
        }
        work k;
        fz_commit_outcome out;
        work_init(&k, &w, NULL, 0);
        k.batch.moves = moves;
        k.batch.move_count = i < 250 ? MANY : 80; // few moves are told whole, many are too much
        assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
        fz_commit_outcome_deinit(&out);
        work_deinit(&k);
    }
    fz_buf bytes = {0};
    assert_int_equal(fz_iceberg_metadata_format(w.pointer->now, &bytes, NULL), FZ_OK);
    assert_true(bytes.size < 5u << 20);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(state->sources[0].fingerprint_count, 2 * MANY);
    fz_commit_state_free(state);
    fz_buf_deinit(&bytes);
    fz_free(moves);
    fz_free(parts);
    world_deinit(&w);
}

static void test_r29_denied_waits_and_goes_on(void **unused) { // B14
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 3, false, FZ_DENIED);
    must_commit(&w, 0, 0, 5);
    assert_int_equal(fz_catalog_fault_count(w.catalog), 4);
    check_position(&w, 5);
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_LOAD, 1, 3, false, FZ_UNAVAILABLE);
    must_commit(&w, 0, 5, 6);
    // told to stop while it waits
    w.waits = 2;
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 100, false, FZ_DENIED);
    assert_int_equal(commit_range(&w, 0, 6, 7, NULL), FZ_COMMIT_STOPPED);
    w.waits = -1;
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
    must_commit(&w, 0, 6, 7);
    check_position(&w, 7);
    world_deinit(&w);
}

static void test_on_rollback_suspend(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    int64_t s1 = main_id(&w);
    must_commit(&w, 0, 5, 9);
    rollback_to(&w, s1);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_true(state->rolled_back);
    assert_int_equal(state->number, 2);
    assert_int_equal(state->abandoned, 3);
    assert_int_equal(state->sources[0].parts[0].next, 5);
    assert_int_equal(state->sources[0].parts[0].last_row, FZ_COMMIT_ROW_UNKNOWN);
    fz_commit_state_free(state);
    const char *kind;
    w.options.suspend_on_rollback = true;
    assert_int_equal(commit_range(&w, 1, 0, 5, &kind), FZ_COMMIT_SUSPENDED);
    assert_string_equal(kind, "rolled_back");
    w.options.suspend_on_rollback = false;
    assert_int_equal(commit_range(&w, 0, 9, 12, NULL), FZ_COMMIT_FORGOTTEN);
    must_commit(&w, 0, 5, 12);
    check_position(&w, 12);
    // the new state is whole again
    w.options.suspend_on_rollback = true;
    must_commit(&w, 1, 0, 5);
    world_deinit(&w);
}

static void add_second_source(void *context, fz_commit_state *state, fz_commit_source *source) {
    (void)context;
    source->parts = FZ_ARENA_NEW(&state->arena, fz_commit_part);
    source->parts[0] = (fz_commit_part){0, 40, -1, -1};
    source->known = 1;
}

static void test_r3_a_source_that_is_rolled_back_leaves_no_property(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    int64_t s0 = main_id(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, NULL, 0);
    k.batch.op = "adopt";
    k.batch.source = FZ_STR("second");
    k.batch.edit = add_second_source;
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    assert_int_equal(out.state->source_count, 2);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    rollback_to(&w, s0);
    must_commit(&w, 0, 0, 5);
    check_position(&w, 5);
    assert_int_equal(fz_iceberg_metadata_property(w.pointer->now, "frazil.source.second").size, 0);
    world_deinit(&w);
}

static void test_r20_outbox_follows_a_rollback(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    int64_t s1 = 0;
    for (int i = 0; i < 2; i++) {
        work k;
        fz_commit_outcome out;
        work_init(&k, &w, &(range){0, 0, 5 * i, 5 * i + 5}, 1);
        json_t *outbox =
            json_pack("[{s:i, s:[[i,i,i,i]]}]", "id", i, "moves", 0, 0, 5 * i, 5 * i + 5);
        k.batch.outbox = outbox;
        assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
        assert_int_equal(json_array_size(out.state->outbox), i + 1);
        fz_commit_outcome_deinit(&out);
        work_deinit(&k);
        json_decref(outbox);
        s1 = i == 0 ? main_id(&w) : s1;
    }
    rollback_to(&w, s1);
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(json_array_size(state->outbox), 1);
    fz_commit_state_free(state);
    must_commit(&w, 0, 5, 8); // and what it held for the abandoned rows is gone from the property
    assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
    assert_int_equal(json_array_size(state->outbox), 1);
    fz_commit_state_free(state);
    world_deinit(&w);
}

static void test_summary_undo_takes_edits_back(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    int64_t s1 = main_id(&w);
    must_commit(&w, 0, 5, 9);
    assert_int_equal(run_edit(&w, "generation", bump, NULL), FZ_COMMIT_DONE);
    // as with a vector above 4 KiB: no full one in the summaries
    json_t *root = json_deep_copy(w.pointer->now->root);
    json_t *snapshots = json_object_get(root, "snapshots");
    for (size_t i = 0; i < json_array_size(snapshots); i++) {
        json_object_del(json_object_get(json_array_get(snapshots, i), "summary"), "frazil.full");
    }
    json_object_set_new(root, "metadata-log", json_array());
    fz_iceberg_metadata *bare;
    assert_int_equal(fz_iceberg_metadata_from_json(root, w.pointer->now->location, &bare, NULL),
                     FZ_OK);
    json_decref(root);
    put_pointer_back(&w, bare);
    rollback_to(&w, s1);
    json_t *rolled = json_deep_copy(w.pointer->now->root);
    json_object_set_new(rolled, "metadata-log", json_array());
    assert_int_equal(fz_iceberg_metadata_from_json(rolled, w.pointer->now->location, &bare, NULL),
                     FZ_OK);
    json_decref(rolled);
    put_pointer_back(&w, bare);
    fz_commit_state *state;
    fz_err err = {0};
    if (world_position(&w, &state, NULL, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(state->sources[0].parts[0].generation, 0);
    assert_int_equal(state->sources[0].parts[0].next, 5);
    assert_true(state->rolled_back);
    fz_commit_state_free(state);
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_r1_r2_commits_add_up),
        cmocka_unit_test(test_r4_whole_batch_is_fenced),
        cmocka_unit_test(test_r4_r15_generation_is_compared),
        cmocka_unit_test(test_r26_edits_are_compare_and_swap),
        cmocka_unit_test(test_r26_a_lost_reply_does_not_repeat_an_edit),
        cmocka_unit_test(test_r22_route_conflict),
        cmocka_unit_test(test_r11_old_files_are_forgotten),
        cmocka_unit_test(test_r27_time_goes_on),
        cmocka_unit_test(test_r28_state_grows_with_partitions_only),
        cmocka_unit_test(test_r29_denied_waits_and_goes_on),
        cmocka_unit_test(test_on_rollback_suspend),
        cmocka_unit_test(test_r3_a_source_that_is_rolled_back_leaves_no_property),
        cmocka_unit_test(test_r20_outbox_follows_a_rollback),
        cmocka_unit_test(test_summary_undo_takes_edits_back),
    };
    return cmocka_run_group_tests_name("table/commit rules", tests, NULL, NULL);
}
