// SPDX-License-Identifier: Apache-2.0
// What only the local store does: names of files, escapes, leftovers, URIs, two stores on one
// folder.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/store/local_store.h"

#include "base/file.h"
#include "base/memory.h"
#include "unit/io/store/scratch.h"

static int setup(void **state) {
    fz_store *store;
    if (fz_store_local_open(scratch_make(), 0, &store, NULL) != FZ_OK) {
        return -1;
    }
    *state = store;
    return 0;
}

static int teardown(void **state) {
    fz_store_free(*state);
    scratch_remove();
    return 0;
}

static char *path_of(const char *name) {
    return fz_str_printf("%s/%s", scratch_path, name);
}

static bool on_disk(const char *name) {
    char *path = path_of(name);
    bool there = fz_file_exists(path);
    fz_free(path);
    return there;
}

static void test_names_are_kept(void **state) {
    assert_int_equal(
        fz_store_put(*state, FZ_STR("dt=2026-01-01 x/a%2Fb+c.parquet"), FZ_STR("1"), NULL), FZ_OK);
    assert_true(on_disk("dt=2026-01-01 x/a%2Fb+c.parquet"));
}

static void test_keys_do_not_escape(void **state) {
    const char *keys[] = {"..", "../x", "a/../b", "/etc/passwd", "a//b", "a/",
                          ".",  "./a",  "a/.",    "a/..",        "//"};
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        fz_str key = fz_str_from(keys[i]);
        fz_object o;
        fz_buf body = {0};
        fz_store_writer *writer;
        assert_int_equal(fz_store_put(*state, key, FZ_STR("x"), NULL), FZ_INVALID);
        assert_int_equal(fz_store_put_new(*state, key, FZ_STR("x"), NULL), FZ_INVALID);
        assert_int_equal(fz_store_stat(*state, key, &o, NULL), FZ_INVALID);
        assert_int_equal(fz_store_read_all(*state, key, &body, NULL), FZ_INVALID);
        assert_int_equal(fz_store_remove(*state, key, NULL), FZ_INVALID);
        assert_int_equal(fz_store_open(*state, key, &writer, NULL), FZ_INVALID);
    }
    fz_page page = {0};
    assert_int_equal(fz_store_list(*state, FZ_STR("../"), FZ_STR(""), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 0);
    fz_page_deinit(&page);
}

static void test_leftovers(void **state) {
    fz_store *store = *state;
    fz_store_writer *writer;
    fz_page page = {0};
    assert_int_equal(fz_store_open(store, FZ_STR("a/object"), &writer, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_write(writer, "x", 1, NULL), FZ_OK);
    // another process looks at the folder while this one writes, or after it has died
    assert_int_equal(fz_store_list(store, FZ_STR(""), FZ_STR(""), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 0);
    size_t swept;
    assert_int_equal(fz_store_sweep(store, FZ_STR(""), 1000, &swept, NULL), FZ_OK);
    assert_int_equal(swept, 0); // not that old
    assert_int_equal(fz_store_sweep(store, FZ_STR("b/"), INT64_MAX, &swept, NULL), FZ_OK);
    assert_int_equal(swept, 0);
    assert_int_equal(fz_store_sweep(store, FZ_STR("a/"), INT64_MAX, &swept, NULL), FZ_OK);
    assert_int_equal(swept, 1);
    // a writer whose file was swept away fails, and leaves nothing
    assert_int_not_equal(fz_store_writer_commit(writer, NULL, NULL), FZ_OK);
    fz_store_writer_free(writer);
    assert_int_equal(fz_store_list(store, FZ_STR(""), FZ_STR(""), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 0);
    assert_int_equal(fz_store_put(store, FZ_STR("a/.x.frazil-tmp"), FZ_STR("1"), NULL), FZ_INVALID);
}

static void test_uris(void **state) {
    fz_store *store = *state;
    fz_str key;
    const char *forms[] = {"file://%s/a/b c", "file:%s/a/b c", "%s/a/b c",
                           "file://localhost%s/a/b c", "FILE://%s/a/b c"};
    char uri[512];
    char *full = fz_store_uri(store, FZ_STR("a/b c"));
    snprintf(uri, sizeof uri, "file://%s/a/b c", scratch_path);
    assert_string_equal(full, uri);
    fz_free(full);
    for (size_t i = 0; i < FZ_COUNT(forms); i++) {
        fz_str form = fz_str_from(forms[i]);
        size_t at = fz_str_find(form, '%', 0);
        snprintf(uri, sizeof uri, "%.*s%s%s", (int)at, forms[i], scratch_path, forms[i] + at + 2);
        assert_int_equal(fz_store_key(store, fz_str_from(uri), &key, NULL), FZ_OK);
        assert_true(fz_str_equal(key, FZ_STR("a/b c")));
    }
    snprintf(uri, sizeof uri, "file://elsewhere%s/a", scratch_path);
    assert_int_equal(fz_store_key(store, fz_str_from(uri), &key, NULL), FZ_INVALID);
    snprintf(uri, sizeof uri, "s3://bucket%s/a", scratch_path);
    assert_int_equal(fz_store_key(store, fz_str_from(uri), &key, NULL), FZ_INVALID);
    assert_int_equal(fz_store_key(store, FZ_STR("a/b"), &key, NULL), FZ_INVALID);
}

static void test_root_is_made_late(void **state) {
    (void)state;
    fz_store *store;
    fz_object o;
    fz_page page = {0};
    char *root = path_of("new/root/");
    assert_int_equal(fz_store_local_open(root, 0, &store, NULL), FZ_OK);
    assert_int_equal(fz_store_stat(store, FZ_STR("k"), &o, NULL), FZ_NOT_FOUND);
    assert_int_equal(fz_store_list(store, FZ_STR(""), FZ_STR(""), &page, NULL), FZ_OK);
    assert_int_equal(fz_store_remove(store, FZ_STR("k"), NULL), FZ_OK);
    assert_false(on_disk("new"));
    assert_int_equal(fz_store_put_new(store, FZ_STR("k"), FZ_STR("1"), NULL), FZ_OK);
    assert_true(on_disk("new/root/k"));
    fz_store_free(store);
    fz_page_deinit(&page);
    fz_free(root);
    char *file = path_of("new/root/k");
    assert_int_equal(fz_store_local_open(file, 0, &store, NULL), FZ_INVALID);
    fz_free(file);
}

static void test_two_stores(void **state) {
    fz_store *other;
    fz_object o;
    assert_int_equal(fz_store_local_open(scratch_path, 0, &other, NULL), FZ_OK);
    assert_int_equal(fz_store_put_new(*state, FZ_STR("k"), FZ_STR("1"), NULL), FZ_OK);
    assert_int_equal(fz_store_put_new(other, FZ_STR("k"), FZ_STR("2"), NULL), FZ_EXISTS);
    assert_int_equal(fz_store_stat(other, FZ_STR("k"), &o, NULL), FZ_OK);
    assert_int_equal(fz_store_put(*state, FZ_STR("k"), FZ_STR("3"), NULL), FZ_OK);
    assert_int_equal(fz_store_put_if(other, FZ_STR("k"), fz_str_from(o.etag), FZ_STR("4"), NULL),
                     FZ_CONFLICT);
    fz_store_free(other);
}

static void test_links_and_odd_files(void **state) {
    fz_page page = {0};
    fz_buf body = {0};
    assert_int_equal(fz_store_put(*state, FZ_STR("d/real"), FZ_STR("1"), NULL), FZ_OK);
    char *loop = path_of("d/loop");
    char *link = path_of("d/link");
    char *broken = path_of("d/broken");
    char *fifo = path_of("d/fifo");
    assert_int_equal(symlink(".", loop), 0);
    assert_int_equal(symlink("real", link), 0);
    assert_int_equal(symlink("nowhere", broken), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(fz_store_list(*state, FZ_STR("d"), FZ_STR(""), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 2);
    assert_true(fz_str_equal(page.objects.data[0].key, FZ_STR("d/link")));
    assert_true(fz_str_equal(page.objects.data[1].key, FZ_STR("d/real")));
    assert_int_equal(fz_store_read_all(*state, FZ_STR("d/fifo"), &body, NULL), FZ_NOT_FOUND);
    fz_page_deinit(&page);
    fz_buf_deinit(&body);
    fz_free(loop);
    fz_free(link);
    fz_free(broken);
    fz_free(fifo);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys_do_not_escape, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_uris, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root_is_made_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_stores, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_and_odd_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
