// SPDX-License-Identifier: Apache-2.0
// Local files: whole reads, atomic publication, folders.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static char root[] = "/tmp/fz-file-test-XXXXXX";

static int make_root(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char *command = fz_str_printf("rm -rf %s", root);
    int result = system(command);
    fz_free(command);
    return result;
}

static char *at(const char *name) {
    static char path[4][256];
    static size_t turn;
    char *to = path[turn++ % 4];
    snprintf(to, 256, "%s/%s", root, name);
    return to;
}

static size_t files_in(const char *folder) {
    char *command = fz_str_printf("ls -A %s | wc -l", folder);
    FILE *pipe = popen(command, "r");
    unsigned long count = 0;
    assert_int_equal(fscanf(pipe, "%lu", &count), 1);
    pclose(pipe);
    fz_free(command);
    return count;
}

static void replaces(void **state) {
    (void)state;
    fz_err err;
    fz_buf buf = {0};
    assert_int_equal(fz_file_replace(at("r/a/b"), FZ_STR("one"), &err), FZ_OK);
    assert_int_equal(fz_file_replace(at("r/a/b"), FZ_STR("second"), &err), FZ_OK);
    assert_int_equal(fz_file_read(at("r/a/b"), &buf, &err), FZ_OK);
    assert_string_equal(fz_buf_cstr(&buf), "second");
    assert_int_equal(files_in(at("r/a")), 1);
    assert_int_equal(fz_file_read_at(at("r/a/b"), 2, 3, &buf, &err), FZ_OK);
    assert_string_equal(fz_buf_cstr(&buf), "secondcon");
    assert_int_equal(fz_file_read_at(at("r/a/b"), 2, 5, &buf, &err), FZ_IO);
    assert_int_equal(buf.size, 9);
    assert_int_equal(fz_file_replace(at("r/a"), FZ_STR("x"), &err), FZ_IO); // a folder
    assert_int_equal(files_in(at("r")), 1);
    fz_buf_deinit(&buf);
}

static void creates_once(void **state) {
    (void)state;
    fz_err err;
    fz_buf buf = {0};
    assert_int_equal(fz_file_create(at("c/x"), FZ_STR("first"), &err), FZ_OK);
    assert_int_equal(fz_file_create(at("c/x"), FZ_STR("second"), &err), FZ_EXISTS);
    assert_non_null(strstr(err.text, "c/x"));
    assert_int_equal(fz_file_read(at("c/x"), &buf, &err), FZ_OK);
    assert_string_equal(fz_buf_cstr(&buf), "first");
    assert_int_equal(files_in(at("c")), 1);
    struct stat status;
    assert_int_equal(stat(at("c/x"), &status), 0);
    assert_int_equal(status.st_nlink, 1);
    assert_int_equal(fz_file_create(at("c/empty"), FZ_STR(""), &err), FZ_OK);
    assert_true(fz_file_exists(at("c/empty")));
    fz_buf_reset(&buf);
    assert_int_equal(fz_file_read(at("c/empty"), &buf, &err), FZ_OK);
    assert_int_equal(buf.size, 0);
    assert_int_equal(fz_file_remove(at("c/x"), &err), FZ_OK);
    assert_int_equal(fz_file_remove(at("c/x"), &err), FZ_NOT_FOUND);
    assert_int_equal(fz_file_create(at("c/x"), FZ_STR("third"), &err), FZ_OK);
    assert_int_equal(fz_file_create(at("c/x/below"), FZ_STR("y"), &err), FZ_IO);
    fz_buf_deinit(&buf);
}

static void reads_within_the_ceiling(void **state) {
    (void)state;
    fz_err err;
    fz_buf buf;
    assert_int_equal(fz_file_replace(at("ten"), FZ_STR("0123456789"), &err), FZ_OK);
    fz_buf_init(&buf, 10, NULL);
    assert_int_equal(fz_file_read(at("ten"), &buf, &err), FZ_OK);
    assert_int_equal(buf.size, 10);
    fz_buf_deinit(&buf);
    fz_buf_init(&buf, 9, NULL);
    assert_int_equal(fz_file_read(at("ten"), &buf, &err), FZ_LIMIT);
    assert_int_equal(buf.size, 0);
    assert_non_null(strstr(err.text, "ten"));
    fz_buf_deinit(&buf);
    fz_buf_init(&buf, 0, NULL);
    assert_int_equal(fz_file_read(at("none"), &buf, &err), FZ_NOT_FOUND);
    assert_int_equal(fz_file_read(root, &buf, &err), FZ_IO);
    assert_int_equal(fz_file_read("/proc/self/status", &buf, &err), FZ_OK); // says size 0
    assert_true(buf.size > 100);
    fz_buf_deinit(&buf);
    fz_buf_init(&buf, 50, NULL);
    assert_int_equal(fz_file_read("/proc/self/status", &buf, &err), FZ_LIMIT);
    fz_buf_deinit(&buf);
}

static void folders_and_paths(void **state) {
    (void)state;
    fz_err err;
    assert_int_equal(fz_file_make_folders(at("f/g//h/"), &err), FZ_OK);
    assert_int_equal(fz_file_make_folders(at("f/g/h"), &err), FZ_OK);
    assert_true(fz_file_exists(at("f/g/h")));
    assert_int_equal(fz_file_replace(at("f/plain"), FZ_STR(""), &err), FZ_OK);
    assert_int_not_equal(fz_file_make_folders(at("f/plain/x"), &err), FZ_OK);
    static const char *const cases[][3] = {
        {"/b", "/x/../y/./z//w", "/y/z/w"},
        {"/b/c", "../d", "/b/d"},
        {"/b", "../../..", "/"},
        {"/b/", "", "/b"},
        {"/", ".", "/"},
        {"/b", "..c/...", "/b/..c/..."},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        char *path = fz_file_absolute(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        fz_free(path);
    }
    assert_int_equal(chdir(root), 0);
    char *path = fz_file_absolute(NULL, "a");
    assert_int_equal(path[0], '/');
    assert_true(fz_str_ends_with(fz_str_from(path), FZ_STR("/a")));
    fz_free(path);
    assert_int_equal(fz_file_replace("bare-name", FZ_STR("x"), &err), FZ_OK);
    assert_true(fz_file_exists(at("bare-name")));
    assert_int_equal(chdir("/"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces),
        cmocka_unit_test(creates_once),
        cmocka_unit_test(reads_within_the_ceiling),
        cmocka_unit_test(folders_and_paths),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
