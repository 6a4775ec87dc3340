// SPDX-License-Identifier: Apache-2.0
// Attacks on the commit protocol, scripted: what happened, step by step, and what must be true
// after it.
#define _GNU_SOURCE
#include "unit/table/commit/foreign.h"

// --- requests and replies

static void lost(world *w, uint64_t n, bool after, fz_code code) {
    fz_catalog_fault_plan(w->catalog, FZ_CATALOG_CALL_COMMIT, n, 1, after, code);
}

static void test_a1_conflict_for_an_applied_commit(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    lost(&w, 1, true, FZ_CONFLICT); // the HTTP library sent it twice
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    assert_int_equal(out.attempts, 1);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    check_position(&w, 5);
    world_deinit(&w);
}

static void others_go_on_and_expire(world *w) {
    commit_range(w, 0, 5, 9, NULL);
    compact(w);
    expire_all(w);
}

static void test_a2_reply_lost_history_gone(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    lost(&w, 1, true, FZ_UNKNOWN_OUTCOME);
    act_before_load(&w, 2, others_go_on_and_expire);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.state->sources[0].parts[0].next, 9);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    check_position(&w, 9);
    must_commit(&w, 0, 9, 12);
    check_position(&w, 12);
    world_deinit(&w);
}

static int64_t back_to;

static void roll_back_and_expire(world *w) {
    rollback_to(w, back_to);
    expire_all(w);
}

static void test_a3_unknown_rolled_back_expired(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    back_to = main_id(&w);
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    lost(&w, 1, true, FZ_UNKNOWN_OUTCOME);
    act_before_load(&w, 2, roll_back_and_expire);
    assert_int_equal(work_run(&k, &w, &out),
                     FZ_COMMIT_FORGOTTEN); // its files are gone: not sent again
    assert_int_equal(out.state->sources[0].parts[0].next, 0);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    check_position(&w, 0);
    must_commit(&w, 0, 0, 5);
    check_position(&w, 5); // looks whether every listed file is there
    world_deinit(&w);
}

static void roll_back(world *w) {
    rollback_to(w, back_to);
}

static void test_a4_applied_and_rolled_back(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    back_to = main_id(&w);
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    lost(&w, 1, true, FZ_UNKNOWN_OUTCOME);
    act_before_load(&w, 2, roll_back);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.state->sources[0].parts[0].next, 0);
    assert_true(out.state->rolled_back);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    must_commit(&w, 0, 0, 5);
    expire_all(&w);
    check_position(&w, 5);
    world_deinit(&w);
}

static void test_a5_late_request(void **unused) {
    (void)unused;
    for (int loose = 0; loose < 2; loose++) {
        world w;
        world_init(&w);
        world_create(&w);
        w.pointer->loose = loose;
        int64_t s0 = main_id(&w);
        w.pointer->lie = LIE_HOLD;
        must_commit(&w, 0, 0, 5); // sent again after the time-out
        rollback_to(&w, s0);
        expire_all(&w);
        assert_int_not_equal(memory_deliver(w.pointer), FZ_OK); // P8
        check_position(&w, 0);
        must_commit(&w, 0, 0, 5);
        check_position(&w, 5);
        world_deinit(&w);
    }
}

static void deliver_roll_back_expire(world *w) {
    assert_int_equal(memory_deliver(w->pointer), FZ_OK);
    rollback_to(w, back_to);
    expire_all(w);
}

static void deliver(world *w) {
    assert_int_equal(memory_deliver(w->pointer), FZ_OK);
}

static void test_a5_late_request_between_two_looks(void **unused) {
    (void)unused;
    for (int all = 0; all < 2; all++) {
        world w;
        world_init(&w);
        world_create(&w);
        back_to = main_id(&w);
        w.pointer->lie = LIE_HOLD;
        // loads: the attempt, the look after it, and then the next attempt's, before which it
        // arrives
        act_before_load(&w, 3, all ? deliver_roll_back_expire : deliver);
        work k;
        fz_commit_outcome out;
        work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
        assert_int_equal(work_run(&k, &w, &out), all ? FZ_COMMIT_FORGOTTEN : FZ_COMMIT_DONE);
        assert_int_equal(out.attempts, 1);
        assert_int_equal(out.state->sources[0].parts[0].next, all ? 0 : 5);
        fz_commit_outcome_deinit(&out);
        work_deinit(&k);
        check_position(&w, all ? 0 : 5);
        world_deinit(&w);
    }
}

static void test_a6_success_that_is_not_true(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    w.pointer->lie = LIE_SWALLOW;
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    assert_int_equal(out.attempts, 2);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    check_position(&w, 5);
    // and a pointer that is put back later: the next batch is fenced and goes back
    fz_iceberg_metadata *older = world_load(&w);
    must_commit(&w, 0, 5, 9);
    put_pointer_back(&w, older);
    assert_int_equal(commit_range(&w, 0, 9, 12, NULL), FZ_COMMIT_FORGOTTEN);
    must_commit(&w, 0, 5, 12);
    check_position(&w, 12);
    world_deinit(&w);
}

static world *hooked;

static void move_another_branch(void *unused) {
    (void)unused;
    world *w = hooked;
    if (w) {
        hooked = NULL;
        set_property(w, "somebody", FZ_STR("was here"));
    }
}

static void test_a7_400_where_409_was_meant(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    hooked = &w;
    fz_catalog_fault_hook(w.catalog, move_another_branch, NULL);
    lost(&w, 1, false, FZ_INVALID);
    must_commit(&w, 0, 0, 5);
    check_position(&w, 5);
    // nothing has changed: it is meant
    const char *kind;
    lost(&w, 1, false, FZ_INVALID);
    assert_int_equal(commit_range(&w, 0, 5, 9, &kind), FZ_COMMIT_SUSPENDED);
    assert_string_equal(kind, "refused");
    check_position(&w, 5);
    world_deinit(&w);
}

static void test_a13_error_at_commit(void **unused) {
    (void)unused;
    static const fz_code codes[] = {FZ_IO,      FZ_UNAVAILABLE, FZ_UNKNOWN_OUTCOME, FZ_CONFLICT,
                                    FZ_CORRUPT, FZ_INTERNAL,    FZ_NOT_FOUND,       FZ_INVALID};
    for (size_t i = 0; i < 2 * FZ_COUNT(codes); i++) {
        fz_code code = codes[i / 2];
        if (code == FZ_INVALID && i % 2 == 0) {
            continue; // refused
        }
        world w;
        world_init(&w);
        world_create(&w);
        lost(&w, 1, i % 2, code);
        must_commit(&w, 0, 0, 5);
        check_position(&w, 5);
        world_deinit(&w);
    }
}

static fz_iceberg_metadata *lowered;

static void lower_sequence(world *w) {
    put_pointer_back(w, lowered);
}

static void test_b15_lowered_after_the_attempt(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    lowered = world_load(&w);
    compact(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 5, 9}, 1);
    lost(&w, 1, false, FZ_UNKNOWN_OUTCOME);
    act_before_load(&w, 2, lower_sequence);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.state->sources[0].parts[0].next, 5);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    must_commit(&w, 0, 5, 9);
    check_position(&w, 9);
    world_deinit(&w);
}

// --- foreign commands

static void cut_chain(world *w) {
    compact(w);
    expire_all(w);
}

static void test_b1_rollback_foreign_commit_expire(void **unused) {
    (void)unused;
    for (int mode = 0; mode < 3; mode++) {
        world w;
        world_init(&w);
        world_create(&w);
        must_commit(&w, 0, 0, 100);
        int64_t s1 = main_id(&w);
        must_commit(&w, 0, 100, 200);
        rollback_to(&w, s1);
        cut_chain(&w);
        if (mode == 0) { // older metadata tells
            fz_commit_proof proof;
            fz_commit_state *state;
            assert_int_equal(world_position(&w, &state, &proof, NULL), FZ_OK);
            assert_int_equal(proof, FZ_COMMIT_OLDER);
            assert_true(state->rolled_back);
            fz_commit_state_free(state);
            check_position(&w, 100);
            must_commit(&w, 0, 100, 200);
            check_position(&w, 200);
        } else { // gone: the content contradicts the property; without content nothing is known
            remove_older_metadata(&w);
            w.options.content = mode == 1 ? content_of_names : NULL;
            w.options.content_context = &w;
            check_suspended(&w, "watermark_missing");
            const char *kind;
            assert_int_equal(commit_range(&w, 0, 200, 300, &kind), FZ_COMMIT_SUSPENDED);
            assert_string_equal(kind, "watermark_missing");
        }
        world_deinit(&w);
    }
}

static void test_b1_benign_expire(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    for (int i = 0; i < 5; i++) {
        foreign_replace(&w);
    }
    expire_all(&w);
    check_position(&w, 100); // by older metadata
    remove_older_metadata(&w);
    check_suspended(&w, "watermark_missing"); // metadata: false
    w.options.content = content_of_names;
    w.options.content_context = &w;
    fz_commit_proof proof;
    fz_commit_state *state;
    assert_int_equal(world_position(&w, &state, &proof, NULL), FZ_OK);
    assert_int_equal(proof, FZ_COMMIT_CONTENT);
    fz_commit_state_free(state);
    must_commit(&w, 0, 100, 120);
    check_position(&w, 120);
    world_deinit(&w);
}

static void test_r6_an_unreadable_older_file_is_passed_over(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    fz_iceberg_metadata *second = world_load(&w);
    set_property(&w, "a", FZ_STR("1"));
    compact(&w);
    expire_all(&w);
    put_uri(w.lake, second->location, FZ_STR("{")); // the file before it lists the snapshot too
    fz_str key;
    fz_iceberg_metadata *now = world_load(&w);
    assert_true(fz_iceberg_metadata_log_count(now) >= 4);
    fz_str third = fz_iceberg_metadata_log_at(now, fz_iceberg_metadata_log_count(now) - 1, NULL);
    assert_int_equal(fz_store_key(w.lake, third, &key, NULL), FZ_OK);
    assert_int_equal(fz_store_remove(w.lake, key, NULL), FZ_OK);
    check_position(&w, 100);
    fz_iceberg_metadata_unref(now);
    fz_iceberg_metadata_unref(second);
    world_deinit(&w);
}

static void test_b2_rollback_to_a_foreign_snapshot(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w);
    int64_t s2 = compact(&w);
    must_commit(&w, 0, 100, 200);
    expire_one(&w, s1);
    rollback_to(&w, s2);
    check_position(&w, 100);
    must_commit(&w, 0, 100, 150);
    check_position(&w, 150);
    world_deinit(&w);
}

static void test_b3_create_or_replace(void **unused) {
    (void)unused;
    for (int expired = 0; expired < 3; expired++) {
        world w;
        world_init(&w);
        world_create(&w);
        must_commit(&w, 0, 0, 100);
        replace_table(&w);
        if (expired > 0) {
            foreign_append(&w, 0);
            expire_all(&w);
        }
        if (expired > 1) {
            remove_older_metadata(&w);
            w.options.content = content_of_names;
            w.options.content_context = &w;
        }
        check_suspended(&w, expired > 1 ? "watermark_missing" : "replaced");
        const char *kind;
        assert_int_equal(commit_range(&w, 0, 100, 200, &kind), FZ_COMMIT_SUSPENDED);
        world_deinit(&w);
    }
}

static void test_b3_no_main_at_all(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    json_t *update = fz_iceberg_update_new("remove-snapshot-ref");
    fz_json_set_str(update, "ref-name", FZ_STR(FZ_ICEBERG_MAIN));
    foreign(&w, update);
    check_suspended(&w, "replaced");
    world_deinit(&w);
}

static void test_b4_cherry_pick(void **unused) {
    (void)unused;
    for (int cut = 0; cut < 2; cut++) {
        world w;
        world_init(&w);
        world_create(&w);
        int64_t s0 = main_id(&w);
        must_commit(&w, 0, 0, 100);
        must_commit(&w, 0, 100, 200);
        int64_t s2 = main_id(&w);
        rollback_to(&w, s0);
        cherry_pick(&w, s2);
        if (cut) {
            cut_chain(&w); // the pick itself is known from older metadata only
        }
        check_suspended(&w, "cherry_pick");
        assert_int_equal(commit_range(&w, 0, 0, 100, NULL), FZ_COMMIT_SUSPENDED);
        world_deinit(&w);
    }
}

static void test_b4_a_foreign_pick_is_nobodys_business(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w);
    int64_t staged = foreign_append(&w, 0);
    rollback_to(&w, s1);
    cherry_pick(&w, staged);
    check_position(&w, 100);
    expire_one(&w, staged); // older metadata still knows it; not asked for a chain that is whole
    check_suspended(&w, "cherry_pick");
    world_deinit(&w);
}

static void test_b5_set_current_snapshot(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w);
    must_commit(&w, 0, 100, 200);
    int64_t s2 = main_id(&w);
    rollback_to(&w, s1);
    check_position(&w, 100);
    must_commit(&w, 0, 100, 130);
    check_position(&w, 130);
    rollback_to(&w, s2); // forward again, to the branch that was left
    check_position(&w, 200);
    must_commit(&w, 0, 200, 230);
    check_position(&w, 230);
    world_deinit(&w);
}

static void test_b6_b7_only_parents_count(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w); // as if tagged: kept
    must_commit(&w, 0, 100, 200);
    compact(&w);
    expire_all_but(&w, s1);
    check_position(&w, 200);
    remove_older_metadata(&w);
    check_suspended(&w, "watermark_missing");
    w.options.content = content_of_names;
    w.options.content_context = &w;
    check_position(&w, 200);
    world_deinit(&w);
}

static void test_b8_restored_from_backup(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    fz_iceberg_metadata *backup = world_load(&w);
    must_commit(&w, 0, 100, 200);
    put_pointer_back(&w, backup);
    check_position(&w, 100);
    assert_int_equal(commit_range(&w, 0, 200, 300, NULL), FZ_COMMIT_FORGOTTEN);
    must_commit(&w, 0, 100, 300);
    check_position(&w, 300);
    world_deinit(&w);
}

static void test_b9_properties_removed(void **unused) {
    (void)unused;
    for (int mode = 0; mode < 4; mode++) {
        world w;
        world_init(&w);
        world_create(&w);
        must_commit(&w, 0, 0, 100);
        remove_property(&w, mode & 1 ? "frazil.source.orders" : "frazil.state");
        if (mode & 2) {
            remove_older_metadata(&w); // the summary's full vector is left
        }
        check_position(&w, 100);
        must_commit(&w, 0, 100, 200);
        check_position(&w, 200);
        fz_commit_state *state;
        assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
        assert_true(fz_str_equal(state->sources[0].route, FZ_STR("route")));
        assert_int_equal(state->source_count, 1);
        fz_commit_state_free(state);
        world_deinit(&w);
    }
}

static void test_b9_properties_put_back(void **unused) {
    (void)unused;
    for (int expired = 0; expired < 3; expired++) {
        world w;
        world_init(&w);
        world_create(&w);
        must_commit(&w, 0, 0, 100);
        fz_iceberg_metadata *then = world_load(&w);
        must_commit(&w, 0, 100, 200);
        set_property(&w, "frazil.state", fz_iceberg_metadata_property(then, "frazil.state"));
        set_property(&w, "frazil.source.orders",
                     fz_iceberg_metadata_property(then, "frazil.source.orders"));
        fz_iceberg_metadata_unref(then);
        if (expired > 0) {
            cut_chain(&w);
        }
        if (expired > 1) {
            remove_older_metadata(&w);
            w.options.content = content_of_names;
            w.options.content_context = &w;
            check_suspended(&w, "watermark_missing");
        } else {
            fz_commit_state *state;
            assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
            assert_false(state->rolled_back); // an older property is no rollback
            fz_commit_state_free(state);
            check_position(&w, 200);
            must_commit(&w, 0, 200, 250);
            check_position(&w, 250);
        }
        world_deinit(&w);
    }
}

static void test_b9_a_last_row_that_is_not_known_proves_nothing(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w);
    fz_iceberg_metadata *then = world_load(&w);
    must_commit(&w, 0, 100, 200);
    set_property(&w, "frazil.state", fz_iceberg_metadata_property(then, "frazil.state"));
    set_property(&w, "frazil.source.orders",
                 fz_iceberg_metadata_property(then, "frazil.source.orders"));
    fz_iceberg_metadata_unref(then);
    // position 200 from a summary, while the old property said: last row 99; a commit without rows
    // makes it the property
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, NULL, 0);
    k.moves[0] =
        (fz_commit_move){.partition = 1, .end = 5, .last_row = -1, .fingerprint = {.offset = -1}};
    k.batch.move_count = 1;
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    rollback_to(&w, s1); // greatest offset 99
    cut_chain(&w);
    remove_older_metadata(&w);
    w.options.content = content_of_names;
    w.options.content_context = &w;
    check_suspended(&w, "watermark_missing");
    world_deinit(&w);
}

static void test_b10_copied_summaries(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    int64_t s1 = main_id(&w);
    must_commit(&w, 0, 100, 200);
    fz_iceberg_snapshot s2;
    assert_true(fz_iceberg_metadata_main(w.pointer->now, &s2));
    json_t *copied = json_deep_copy(json_object_get(s2.json, "summary"));
    rollback_to(&w, s1);
    fz_arena arena = {0};
    fz_iceberg_list list;
    read_list(&w, s1, &arena, &list);
    add_snapshot(&w, s1, &list, copied, 0); // says that it is own commit s2, and has no row of it
    fz_arena_deinit(&arena);
    check_position(&w, 100);
    world_deinit(&w);
}

static void test_b10_copied_properties(void **unused) {
    (void)unused;
    world w, other;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 100);
    world_init(&other); // CREATE TABLE LIKE: the properties, no rows
    fz_schema *schema = world_schema();
    const fz_iceberg_new_options options = {.schema = schema,
                                            .location = FZ_STR(TABLE_LOCATION),
                                            .format_version = 2,
                                            .properties =
                                                json_object_get(w.pointer->now->root, "properties"),
                                            .now_ms = 1};
    fz_iceberg_metadata *initial;
    assert_int_equal(fz_iceberg_metadata_new(&options, &initial, NULL), FZ_OK);
    other.pointer->now = write_metadata(other.lake, initial, FZ_STR(""));
    fz_iceberg_metadata_unref(initial);
    fz_schema_unref(schema);
    check_suspended(&other, "watermark_missing");
    world_deinit(&other);
    world_deinit(&w);
}

static void change_schema(world *w) {
    json_t *updates =
        json_loads("[{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\",\"fields\":["
                   "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"
                   "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"int\"}]}},"
                   "{\"action\":\"set-current-schema\",\"schema-id\":-1}]",
                   0, NULL);
    foreign(w, updates);
}

static void test_b11_schema_changed_meanwhile(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    change_schema(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    assert_int_equal(out.state->sources[0].parts[0].next, 0);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    // the column was dropped again: its id is used up
    json_t *back = fz_iceberg_update_new("set-current-schema");
    fz_json_set_int(back, "schema-id", 0);
    foreign(&w, back);
    json_t *json = json_loads("{\"type\":\"struct\",\"fields\":["
                              "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"
                              "{\"id\":2,\"name\":\"c\",\"required\":false,\"type\":\"string\"}]}",
                              0, NULL);
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    json_decref(json);
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    k.batch.schema = schema;
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_FORGOTTEN);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    fz_schema_unref(schema);
    must_commit(&w, 0, 0, 5);
    check_position(&w, 5);
    world_deinit(&w);
}

static void test_c7_table_gone(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, &(range){0, 0, 0, 5}, 1);
    fz_iceberg_metadata *kept = w.pointer->now;
    w.pointer->now = NULL;
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_SUSPENDED);
    assert_string_equal(out.err.kind, "replaced");
    fz_commit_outcome_deinit(&out);
    w.pointer->now = kept;
    // made again under the same name
    k.batch.uuid = FZ_STR("00000000-0000-0000-0000-000000000000");
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_SUSPENDED);
    assert_string_equal(out.err.kind, "replaced");
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    world_deinit(&w);
}

// --- creation

static void test_c1_two_processes_create(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    fz_iceberg_metadata *first = world_load(&w);
    world_create(&w); // loads
    fz_iceberg_metadata *second = world_load(&w);
    assert_true(fz_str_equal(first->location, second->location));
    fz_iceberg_metadata_unref(first);
    fz_iceberg_metadata_unref(second);
    check_position(&w, 0);
    world_deinit(&w);
}

static void test_c1_create_with_unknown_outcome(void **unused) {
    (void)unused;
    for (int after = 0; after < 2; after++) {
        world w;
        world_init(&w);
        fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_CREATE, 1, 1, after, FZ_UNKNOWN_OUTCOME);
        int64_t before_ms = fz_clock_mono_ms(&w.clock.clock);
        world_create(&w);
        assert_true(fz_clock_mono_ms(&w.clock.clock) - before_ms <
                    10000); // nobody else is waited for
        assert_int_not_equal(main_id(&w), FZ_ICEBERG_NONE);
        check_position(&w, 0);
        must_commit(&w, 0, 0, 5);
        check_position(&w, 5);
        world_deinit(&w);
    }
}

static void test_c2_crash_between_create_and_first_snapshot(void **unused) {
    (void)unused;
    for (int again = 0; again < 2; again++) {
        world w;
        world_init(&w);
        w.waits = 1;
        fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 100, false, FZ_UNAVAILABLE);
        fz_commit_part parts[PARTITIONS];
        fz_commit_source source = world_source(parts, PARTITIONS);
        parts[0].next = 40; // start: latest, an hour ago
        assert_int_not_equal(world_try_create(&w, NULL, &source, NULL), FZ_OK);
        w.waits = -1;
        fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_ANY, 0, 0, false, FZ_OK);
        assert_int_equal(main_id(&w), FZ_ICEBERG_NONE);
        if (again) { // a creator that comes later waits, then makes the snapshot; the start is the
                     // pinned one
            parts[0].next = 90;
            assert_int_equal(world_try_create(&w, NULL, &source, NULL), FZ_OK);
        }
        fz_commit_state *state;
        assert_int_equal(world_position(&w, &state, NULL, NULL), FZ_OK);
        assert_int_equal(state->sources[0].parts[0].next, 40);
        fz_commit_state_free(state);
        // a commit on a table that was never finished finishes it: rows never assert a null ref
        // (C4)
        must_commit(&w, 0, 40, 50);
        fz_iceberg_snapshot main;
        assert_true(fz_iceberg_metadata_main(w.pointer->now, &main));
        assert_int_not_equal(main.parent_id, FZ_ICEBERG_NONE);
        world_deinit(&w);
    }
}

static void take_up(void *context, fz_commit_state *state, fz_commit_source *source) {
    (void)context;
    source->parts = FZ_ARENA_ARRAY(&state->arena, fz_commit_part, PARTITIONS);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        source->parts[p] = (fz_commit_part){.last_row = -1, .epoch = -1};
    }
    source->known = PARTITIONS;
}

static void test_create_adopts_an_empty_table(void **unused) { // 5.6
    (void)unused;
    world w;
    world_init(&w);
    fz_schema *schema = world_schema();
    const fz_iceberg_new_options options = {
        .schema = schema, .location = FZ_STR(TABLE_LOCATION), .format_version = 2, .now_ms = 1};
    fz_iceberg_metadata *initial;
    assert_int_equal(fz_iceberg_metadata_new(&options, &initial, NULL), FZ_OK);
    w.pointer->now = write_metadata(w.lake, initial, FZ_STR(""));
    fz_iceberg_metadata_unref(initial);
    fz_schema_unref(schema);
    assert_int_equal(world_position(&w, &(fz_commit_state *){NULL}, NULL, NULL), FZ_NOT_FOUND);
    world_create(&w); // somebody made it: nothing is done to it
    assert_int_equal(main_id(&w), FZ_ICEBERG_NONE);
    work k;
    fz_commit_outcome out;
    work_init(&k, &w, NULL, 0);
    k.batch.op = "adopt";
    k.batch.edit = take_up;
    fz_catalog_fault_plan(w.catalog, FZ_CATALOG_CALL_COMMIT, 1, 1, true, FZ_UNKNOWN_OUTCOME);
    assert_int_equal(work_run(&k, &w, &out), FZ_COMMIT_DONE);
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    check_position(&w, 0);
    must_commit(&w, 0, 0, 5);
    check_position(&w, 5);
    world_deinit(&w);
}

static void test_create_a_foreign_table_is_not_taken(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    remove_property(&w, "frazil.state");
    remove_property(&w, "frazil.source.orders");
    replace_table(&w);
    check_suspended(&w, "watermark_missing");
    assert_int_equal(world_position(&w, &(fz_commit_state *){NULL}, NULL, NULL), FZ_EXISTS);
    world_deinit(&w);
}

static void test_c5_location_of_another_table(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    put_uri(w.lake, FZ_STR(TABLE_LOCATION "/metadata/00000-left.metadata.json"), FZ_STR("{}"));
    fz_commit_part parts[PARTITIONS];
    fz_commit_source source = world_source(parts, PARTITIONS);
    fz_commit_create_options exact = {.exact = true};
    fz_err err = {0};
    // what a creation left that died does not stop the next one
    assert_int_equal(world_try_create(&w, &exact, &source, &err), FZ_OK);
    world_deinit(&w);
    world_init(&w);
    put_uri(w.lake, FZ_STR(TABLE_LOCATION "/metadata/00001-live.metadata.json"), FZ_STR("{}"));
    assert_int_equal(world_try_create(&w, &exact, &source, &err), FZ_INVALID);
    assert_string_equal(err.kind, "table_incompatible");
    assert_int_equal(world_try_create(&w, NULL, &source, &err), FZ_OK);
    assert_false(fz_str_equal(fz_iceberg_metadata_base(w.pointer->now), FZ_STR(TABLE_LOCATION)));
    assert_true(
        fz_str_starts_with(fz_iceberg_metadata_base(w.pointer->now), FZ_STR(TABLE_LOCATION "-")));
    world_deinit(&w);
}

static void test_hostile_parents_end(void **unused) {
    (void)unused;
    world w;
    world_init(&w);
    world_create(&w);
    must_commit(&w, 0, 0, 5);
    int64_t id = foreign_replace(&w);
    json_t *root = json_deep_copy(w.pointer->now->root);
    json_t *snapshots = json_object_get(root, "snapshots");
    json_t *last = json_array_get(snapshots, json_array_size(snapshots) - 1);
    fz_json_set_int(last, "parent-snapshot-id", id); // its own parent
    fz_json_set_str(json_object_get(last, "summary"), "source-snapshot-id",
                    FZ_STR("99999999999999999999999999"));
    fz_iceberg_metadata *looped;
    assert_int_equal(fz_iceberg_metadata_from_json(root, w.pointer->now->location, &looped, NULL),
                     FZ_OK);
    json_decref(root);
    put_pointer_back(&w, looped);
    assert_int_equal(world_position(&w, &(fz_commit_state *){NULL}, NULL, NULL), FZ_CORRUPT);
    assert_int_equal(commit_range(&w, 0, 5, 9, NULL), FZ_COMMIT_SUSPENDED);
    world_deinit(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a1_conflict_for_an_applied_commit),
        cmocka_unit_test(test_a2_reply_lost_history_gone),
        cmocka_unit_test(test_a3_unknown_rolled_back_expired),
        cmocka_unit_test(test_a4_applied_and_rolled_back),
        cmocka_unit_test(test_a5_late_request),
        cmocka_unit_test(test_a5_late_request_between_two_looks),
        cmocka_unit_test(test_a6_success_that_is_not_true),
        cmocka_unit_test(test_a7_400_where_409_was_meant),
        cmocka_unit_test(test_a13_error_at_commit),
        cmocka_unit_test(test_b15_lowered_after_the_attempt),
        cmocka_unit_test(test_b1_rollback_foreign_commit_expire),
        cmocka_unit_test(test_b1_benign_expire),
        cmocka_unit_test(test_r6_an_unreadable_older_file_is_passed_over),
        cmocka_unit_test(test_b2_rollback_to_a_foreign_snapshot),
        cmocka_unit_test(test_b3_create_or_replace),
        cmocka_unit_test(test_b3_no_main_at_all),
        cmocka_unit_test(test_b4_cherry_pick),
        cmocka_unit_test(test_b4_a_foreign_pick_is_nobodys_business),
        cmocka_unit_test(test_b5_set_current_snapshot),
        cmocka_unit_test(test_b6_b7_only_parents_count),
        cmocka_unit_test(test_b8_restored_from_backup),
        cmocka_unit_test(test_b9_properties_removed),
        cmocka_unit_test(test_b9_properties_put_back),
        cmocka_unit_test(test_b9_a_last_row_that_is_not_known_proves_nothing),
        cmocka_unit_test(test_b10_copied_summaries),
        cmocka_unit_test(test_b10_copied_properties),
        cmocka_unit_test(test_b11_schema_changed_meanwhile),
        cmocka_unit_test(test_c7_table_gone),
        cmocka_unit_test(test_c1_two_processes_create),
        cmocka_unit_test(test_c1_create_with_unknown_outcome),
        cmocka_unit_test(test_c2_crash_between_create_and_first_snapshot),
        cmocka_unit_test(test_create_adopts_an_empty_table),
        cmocka_unit_test(test_create_a_foreign_table_is_not_taken),
        cmocka_unit_test(test_c5_location_of_another_table),
        cmocka_unit_test(test_hostile_parents_end),
    };
    return cmocka_run_group_tests_name("table/commit attacks", tests, NULL, NULL);
}
