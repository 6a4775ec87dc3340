// SPDX-License-Identifier: Apache-2.0
// The tests of every object store; each gets an empty store.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/store_suite.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum { PAGE_SIZE = 3, RACERS = 8, ROUNDS = 20 };

static const store_suite *suite;

static int open_store(void **state) {
    *state = suite->open(PAGE_SIZE);
    return *state ? 0 : -1;
}

static int close_store(void **state) {
    fz_store_free(*state);
    if (suite->clean) {
        suite->clean();
    }
    return 0;
}

static void put(fz_store *store, const char *key, const char *body) {
    fz_err err;
    fz_code code = fz_store_put(store, fz_str_from(key), fz_str_from(body), &err);
    if (code != FZ_OK) {
        fail_msg("put \"%s\": %s", key, err.text);
    }
}

static void assert_body(fz_store *store, fz_str key, fz_str wanted) {
    fz_buf body = {0};
    assert_int_equal(fz_store_read_all(store, key, &body, NULL), FZ_OK);
    assert_int_equal(body.size, wanted.size);
    assert_memory_equal(fz_buf_view(&body).data ? fz_buf_view(&body).data : "", wanted.data,
                        wanted.size);
    fz_buf_deinit(&body);
}

static void assert_absent(fz_store *store, const char *key) {
    fz_object o;
    fz_buf body = {0};
    assert_int_equal(fz_store_stat(store, fz_str_from(key), &o, NULL), FZ_NOT_FOUND);
    assert_int_equal(fz_store_read_all(store, fz_str_from(key), &body, NULL), FZ_NOT_FOUND);
    assert_int_equal(body.size, 0);
    fz_buf_deinit(&body);
}

// All keys below a prefix, over all pages, one a line.
static char *listing(fz_store *store, const char *prefix) {
    fz_buf text = {0};
    fz_page page = {0};
    fz_str after = FZ_STR("");
    do {
        assert_int_equal(fz_store_list(store, fz_str_from(prefix), after, &page, NULL), FZ_OK);
        for (size_t i = 0; i < page.objects.count; i++) {
            fz_buf_append_str(&text, page.objects.data[i].key);
            fz_buf_append_byte(&text, '\n');
            after = page.objects.data[i].key;
        }
        assert_true(page.objects.count > 0 || !page.more);
    } while (page.more);
    fz_page_deinit(&page);
    char *out = fz_str_dup(fz_buf_view(&text));
    fz_buf_deinit(&text);
    return out;
}

static void assert_listing(fz_store *store, const char *prefix, const char *wanted) {
    char *found = listing(store, prefix);
    assert_string_equal(found, wanted);
    fz_free(found);
}

static void test_put_and_read(void **state) {
    fz_store *store = *state;
    fz_object o;
    put(store, "a/b.txt", "one");
    assert_body(store, FZ_STR("a/b.txt"), FZ_STR("one"));
    put(store, "a/b.txt", "three");
    assert_body(store, FZ_STR("a/b.txt"), FZ_STR("three"));
    int64_t now = fz_clock_wall_ms(fz_clock_real());
    assert_int_equal(fz_store_stat(store, FZ_STR("a/b.txt"), &o, NULL), FZ_OK);
    assert_int_equal(o.size_bytes, 5);
    assert_true(fz_str_equal(o.key, FZ_STR("a/b.txt")));
    assert_true(o.modified_ms <= now + 60000 && o.modified_ms >= now - 60000);
    assert_true(o.etag[0] != 0);
    put(store, "empty", "");
    assert_body(store, FZ_STR("empty"), FZ_STR(""));
    assert_int_equal(fz_store_stat(store, FZ_STR("empty"), &o, NULL), FZ_OK);
    assert_int_equal(o.size_bytes, 0);
}

static void test_absent(void **state) {
    fz_store *store = *state;
    fz_err err;
    assert_absent(store, "no");
    assert_absent(store, "no/such/key");
    put(store, "file", "x");
    assert_absent(store, "file/below");
    put(store, "dir/file", "x");
    assert_absent(store, "dir");
    fz_object o;
    assert_int_equal(fz_store_stat(store, FZ_STR("no"), &o, &err), FZ_NOT_FOUND);
    assert_true(fz_str_find_str(fz_str_from(err.text), FZ_STR("no")) != SIZE_MAX);
    assert_int_equal(fz_store_remove(store, FZ_STR("no"), NULL), FZ_OK);
    assert_int_equal(fz_store_remove(store, FZ_STR("no/such/key"), NULL), FZ_OK);
    assert_int_equal(fz_store_remove(store, FZ_STR("dir"), NULL), FZ_OK);
    assert_body(store, FZ_STR("dir/file"), FZ_STR("x"));
}

static void test_remove(void **state) {
    fz_store *store = *state;
    put(store, "d/a", "1");
    put(store, "d/b", "2");
    assert_int_equal(fz_store_remove(store, FZ_STR("d/a"), NULL), FZ_OK);
    assert_absent(store, "d/a");
    assert_body(store, FZ_STR("d/b"), FZ_STR("2"));
    assert_int_equal(fz_store_put_new(store, FZ_STR("d/a"), FZ_STR("3"), NULL), FZ_OK);
    assert_body(store, FZ_STR("d/a"), FZ_STR("3"));
}

static void test_bad_keys(void **state) {
    fz_store *store = *state;
    char lengthy[FZ_STORE_KEY_MAX + 2];
    memset(lengthy, 'k', sizeof lengthy);
    fz_store_writer *writer = NULL;
    fz_object o;
    assert_int_equal(fz_store_put(store, FZ_STR(""), FZ_STR("x"), NULL), FZ_INVALID);
    assert_int_equal(fz_store_put(store, FZ_STR("a\0b"), FZ_STR("x"), NULL), FZ_INVALID);
    assert_int_equal(
        fz_store_put(store, fz_str_make(lengthy, FZ_STORE_KEY_MAX + 1), FZ_STR("x"), NULL),
        FZ_INVALID);
    assert_int_equal(fz_store_stat(store, FZ_STR(""), &o, NULL), FZ_INVALID);
    assert_int_equal(fz_store_open(store, FZ_STR(""), &writer, NULL), FZ_INVALID);
    assert_null(writer);
    assert_int_equal(fz_store_put_if(store, FZ_STR("a"), FZ_STR(""), FZ_STR("x"), NULL),
                     FZ_INVALID);
    assert_listing(store, "", "");
}

static void test_ranges(void **state) {
    fz_store *store = *state;
    fz_buf out = {0};
    fz_str key = FZ_STR("range");
    put(store, "range", "0123456789");
    fz_buf_append_str(&out, FZ_STR("keep"));
    assert_int_equal(fz_store_read(store, key, 2, 3, &out, NULL), FZ_OK);
    assert_string_equal(fz_buf_cstr(&out), "keep234");
    fz_buf_reset(&out);
    assert_int_equal(fz_store_read(store, key, 8, 5, &out, NULL), FZ_OK);
    assert_string_equal(fz_buf_cstr(&out), "89");
    fz_buf_reset(&out);
    assert_int_equal(fz_store_read(store, key, 10, 5, &out, NULL), FZ_OK);
    assert_int_equal(fz_store_read(store, key, 10, FZ_STORE_REST, &out, NULL), FZ_OK);
    assert_int_equal(fz_store_read(store, key, 3, 0, &out, NULL), FZ_OK);
    assert_int_equal(out.size, 0);
    assert_int_equal(fz_store_read(store, key, 7, FZ_STORE_REST, &out, NULL), FZ_OK);
    assert_string_equal(fz_buf_cstr(&out), "789");
    assert_int_equal(fz_store_read(store, key, 11, 1, &out, NULL), FZ_INVALID);
    assert_int_equal(fz_store_read(store, key, -1, 1, &out, NULL), FZ_INVALID);
    assert_int_equal(fz_store_read_exact(store, key, 8, 3, &out, NULL), FZ_CORRUPT);
    assert_string_equal(fz_buf_cstr(&out), "789");
    assert_int_equal(fz_store_read_exact(store, key, 8, 2, &out, NULL), FZ_OK);
    assert_string_equal(fz_buf_cstr(&out), "78989");
    fz_buf_deinit(&out);
    fz_buf_init(&out, 4, NULL);
    assert_int_equal(fz_store_read_all(store, key, &out, NULL), FZ_LIMIT);
    assert_int_equal(out.size, 0);
    fz_buf_deinit(&out);
}

static void test_put_new(void **state) {
    fz_store *store = *state;
    fz_err err;
    assert_int_equal(fz_store_put_new(store, FZ_STR("n"), FZ_STR("1"), NULL), FZ_OK);
    assert_int_equal(fz_store_put_new(store, FZ_STR("n"), FZ_STR("2"), &err), FZ_EXISTS);
    assert_true(fz_str_find_str(fz_str_from(err.text), FZ_STR("n")) != SIZE_MAX);
    assert_body(store, FZ_STR("n"), FZ_STR("1"));
}

static void test_put_if(void **state) {
    fz_store *store = *state;
    fz_object a;
    fz_object b;
    if (suite->no_put_if) {
        assert_int_equal(fz_store_put_if(store, FZ_STR("c"), FZ_STR("x"), FZ_STR("1"), NULL),
                         FZ_UNSUPPORTED);
        return;
    }
    assert_int_equal(fz_store_put_if(store, FZ_STR("c"), FZ_STR("x"), FZ_STR("1"), NULL),
                     FZ_NOT_FOUND);
    assert_int_equal(fz_store_put_if(store, FZ_STR("c/d/e"), FZ_STR("x"), FZ_STR("1"), NULL),
                     FZ_NOT_FOUND);
    assert_absent(store, "c");
    put(store, "c", "1");
    assert_int_equal(fz_store_stat(store, FZ_STR("c"), &a, NULL), FZ_OK);
    assert_int_equal(fz_store_put_if(store, FZ_STR("c"), fz_str_from(a.etag), FZ_STR("2"), NULL),
                     FZ_OK);
    assert_int_equal(fz_store_stat(store, FZ_STR("c"), &b, NULL), FZ_OK);
    assert_string_not_equal(a.etag, b.etag);
    assert_int_equal(fz_store_put_if(store, FZ_STR("c"), fz_str_from(a.etag), FZ_STR("3"), NULL),
                     FZ_CONFLICT);
    assert_body(store, FZ_STR("c"), FZ_STR("2"));
    assert_int_equal(fz_store_remove(store, FZ_STR("c"), NULL), FZ_OK);
    assert_int_equal(fz_store_put_if(store, FZ_STR("c"), fz_str_from(b.etag), FZ_STR("3"), NULL),
                     FZ_NOT_FOUND);
    assert_absent(store, "c");
}

typedef struct racer {
    fz_thread thread;
    fz_store *store;
    int number;
    int round;
    const char *etag;
    fz_code code;
    int wins;
} racer;

static void race_put_new(void *arg) {
    racer *r = arg;
    char body[32];
    snprintf(body, sizeof body, "racer %d", r->number);
    for (int round = 0; round < ROUNDS; round++) {
        char key[32];
        snprintf(key, sizeof key, "race/%d", round);
        fz_code code = fz_store_put_new(r->store, fz_str_from(key), fz_str_from(body), NULL);
        r->wins += code == FZ_OK;
        if (code != FZ_OK && code != FZ_EXISTS) {
            r->code = code;
        }
    }
}

static void test_put_new_race(void **state) {
    fz_store *store = *state;
    racer racers[RACERS] = {0};
    int wins = 0;
    for (int i = 0; i < RACERS; i++) {
        racers[i].store = store;
        racers[i].number = i;
        fz_thread_start(&racers[i].thread, "racer", race_put_new, &racers[i]);
    }
    for (int i = 0; i < RACERS; i++) {
        fz_thread_join(&racers[i].thread);
        assert_int_equal(racers[i].code, FZ_OK);
        wins += racers[i].wins;
    }
    assert_int_equal(wins, ROUNDS);
}

// Each racer adds one to a counter, as often as it gets through: none may be lost.
static void race_put_if(void *arg) {
    racer *r = arg;
    while (r->wins < ROUNDS) {
        fz_object o;
        fz_buf body = {0};
        r->code = fz_store_stat(r->store, FZ_STR("counter"), &o, NULL);
        if (r->code == FZ_OK) {
            r->code = fz_store_read_all(r->store, FZ_STR("counter"), &body, NULL);
        }
        if (r->code != FZ_OK) {
            fz_buf_deinit(&body);
            return;
        }
        char next[32];
        snprintf(next, sizeof next, "%ld", strtol(fz_buf_cstr(&body), NULL, 10) + 1);
        fz_buf_deinit(&body);
        fz_code code = fz_store_put_if(r->store, FZ_STR("counter"), fz_str_from(o.etag),
                                       fz_str_from(next), NULL);
        r->wins += code == FZ_OK;
        if (code != FZ_OK && code != FZ_CONFLICT) {
            r->code = code;
            return;
        }
    }
}

static void test_put_if_race(void **state) {
    fz_store *store = *state;
    if (suite->no_put_if) {
        skip();
    }
    put(store, "counter", "0");
    racer racers[RACERS / 2] = {0};
    for (size_t i = 0; i < FZ_COUNT(racers); i++) {
        racers[i].store = store;
        fz_thread_start(&racers[i].thread, "racer", race_put_if, &racers[i]);
    }
    for (size_t i = 0; i < FZ_COUNT(racers); i++) {
        fz_thread_join(&racers[i].thread);
        assert_int_equal(racers[i].code, FZ_OK);
    }
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d", (int)FZ_COUNT(racers) * ROUNDS);
    assert_body(store, FZ_STR("counter"), fz_str_from(wanted));
}

// A reader beside a replacing writer sees one whole body or the other.
static void race_put(void *arg) {
    racer *r = arg;
    char body[4096];
    for (int round = 0; round < ROUNDS && r->code == FZ_OK; round++) {
        memset(body, 'a' + round, sizeof body);
        r->code = fz_store_put(r->store, FZ_STR("whole"), fz_str_make(body, sizeof body), NULL);
    }
}

static void test_put_is_whole(void **state) {
    racer writer = {.store = *state};
    char body[4096];
    memset(body, 'a', sizeof body);
    assert_int_equal(fz_store_put(*state, FZ_STR("whole"), fz_str_make(body, sizeof body), NULL),
                     FZ_OK);
    fz_thread_start(&writer.thread, "writer", race_put, &writer);
    for (int i = 0; i < ROUNDS * 5; i++) {
        fz_buf out = {0};
        assert_int_equal(fz_store_read_all(*state, FZ_STR("whole"), &out, NULL), FZ_OK);
        assert_int_equal(out.size, sizeof body);
        for (size_t k = 1; k < out.size; k++) {
            assert_int_equal(out.data[k], out.data[0]);
        }
        fz_buf_deinit(&out);
    }
    fz_thread_join(&writer.thread);
    assert_int_equal(writer.code, FZ_OK);
}

static void test_list(void **state) {
    fz_store *store = *state;
    assert_listing(store, "", "");
    assert_listing(store, "no/", "");
    const char *keys[] = {"b/2", "a",  "b-x", "b/10",  "c/d/e/f",
                          "b/1", "b0", "B",   "c/d.x", "c/d/e-"};
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        put(store, keys[i], "12");
    }
    assert_listing(store, "", "B\na\nb-x\nb/1\nb/10\nb/2\nb0\nc/d.x\nc/d/e-\nc/d/e/f\n");
    assert_listing(store, "b", "b-x\nb/1\nb/10\nb/2\nb0\n");
    assert_listing(store, "b/", "b/1\nb/10\nb/2\n");
    assert_listing(store, "b/1", "b/1\nb/10\n");
    assert_listing(store, "c/d", "c/d.x\nc/d/e-\nc/d/e/f\n");
    assert_listing(store, "c/d/e/f", "c/d/e/f\n");
    assert_listing(store, "c/d/e/f/", "");
    fz_page page = {0};
    assert_int_equal(fz_store_list(store, FZ_STR(""), FZ_STR("b/1"), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, PAGE_SIZE);
    assert_true(page.more);
    assert_true(fz_str_equal(page.objects.data[0].key, FZ_STR("b/10")));
    assert_int_equal(page.objects.data[0].size_bytes, 2);
    fz_object o;
    assert_int_equal(fz_store_stat(store, FZ_STR("b/10"), &o, NULL), FZ_OK);
    assert_int_equal(page.objects.data[0].modified_ms / 1000, o.modified_ms / 1000);
    assert_int_equal(fz_store_list(store, FZ_STR("b/"), FZ_STR("b/2"), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 0);
    assert_false(page.more);
    assert_int_equal(fz_store_list(store, FZ_STR("b/"), FZ_STR("a"), &page, NULL), FZ_OK);
    assert_int_equal(page.objects.count, 3);
    assert_false(page.more);
    fz_page_deinit(&page);
}

static void test_odd_keys(void **state) {
    fz_store *store = *state;
    const char *keys[] = {
        "d/a b",
        "d/a+b",
        "d/a%20b",
        "d/a#b",
        "d/a?b=c&d",
        "d/x=1/y=%2F/é",
        "d/日本/\xf0\x9f\x98\x80",
        "d/a:b;c,d",
        "d/(x)~'y'!",
        "d/back\\slash",
        "d/\"q\"",
        "d/..x",
        "d/x..",
        "d/.hidden",
        "d/[x]{y}|^`",
        "d/@*$<>",
        "d/tab\there",
    };
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        put(store, keys[i], keys[i]);
    }
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        assert_body(store, fz_str_from(keys[i]), fz_str_from(keys[i]));
        char *found = listing(store, keys[i]);
        fz_str line = fz_str_from(found);
        assert_true(fz_str_ends_with(line, FZ_STR("\n")));
        assert_true(fz_str_equal(fz_str_slice(line, 0, line.size - 1), fz_str_from(keys[i])));
        fz_free(found);
        char *uri = fz_store_uri(store, fz_str_from(keys[i]));
        fz_str key;
        assert_int_equal(fz_store_key(store, fz_str_from(uri), &key, NULL), FZ_OK);
        assert_true(fz_str_equal(key, fz_str_from(keys[i])));
        fz_free(uri);
    }
    char *all = listing(store, "d/");
    size_t count = 0;
    for (const char *p = all; *p; p++) {
        count += *p == '\n';
    }
    assert_int_equal(count, FZ_COUNT(keys));
    fz_free(all);
    for (size_t i = 0; i < FZ_COUNT(keys); i++) {
        assert_int_equal(fz_store_remove(store, fz_str_from(keys[i]), NULL), FZ_OK);
    }
    assert_listing(store, "", "");
}

static void test_uris(void **state) {
    fz_store *store = *state;
    fz_str key;
    char *root = fz_store_uri(store, FZ_STR(""));
    assert_true(!fz_str_ends_with(fz_str_from(root), FZ_STR("/")));
    char *beside = fz_str_printf("%sx/key", root);
    char *folder = fz_str_printf("%s/", root);
    assert_int_equal(fz_store_key(store, fz_str_from(beside), &key, NULL), FZ_INVALID);
    assert_int_equal(fz_store_key(store, fz_str_from(root), &key, NULL), FZ_INVALID);
    assert_int_equal(fz_store_key(store, fz_str_from(folder), &key, NULL), FZ_INVALID);
    assert_int_equal(fz_store_key(store, FZ_STR("gopher://elsewhere/key"), &key, NULL), FZ_INVALID);
    fz_free(beside);
    fz_free(folder);
    fz_free(root);
}

static void test_writer(void **state) {
    fz_store *store = *state;
    fz_store_writer *writer;
    fz_object o;
    assert_int_equal(fz_store_open(store, FZ_STR("w/x/object"), &writer, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_write(writer, "hello ", 6, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_write(writer, "", 0, NULL), FZ_OK);
    assert_int_equal(fz_sink_write(&writer->sink, "world", 5, NULL), FZ_OK);
    assert_absent(store, "w/x/object");
    assert_listing(store, "", "");
    assert_int_equal(fz_store_writer_commit(writer, &o, NULL), FZ_OK);
    assert_int_equal(o.size_bytes, 11);
    assert_true(fz_str_equal(o.key, FZ_STR("w/x/object")));
    assert_int_equal(writer->size_bytes, 11);
    fz_store_writer_free(writer);
    assert_body(store, FZ_STR("w/x/object"), FZ_STR("hello world"));
    assert_listing(store, "", "w/x/object\n");
    fz_object again;
    assert_int_equal(fz_store_stat(store, FZ_STR("w/x/object"), &again, NULL), FZ_OK);
    assert_int_equal(fz_store_open(store, FZ_STR("w/nothing"), &writer, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_commit(writer, NULL, NULL), FZ_OK);
    fz_store_writer_free(writer);
    assert_body(store, FZ_STR("w/nothing"), FZ_STR(""));
}

static void test_writer_abort(void **state) {
    fz_store *store = *state;
    fz_store_writer *writer;
    assert_int_equal(fz_store_open(store, FZ_STR("gone"), &writer, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_write(writer, "part", 4, NULL), FZ_OK);
    fz_store_writer_free(writer);
    assert_absent(store, "gone");
    assert_listing(store, "", "");
    size_t swept = 99;
    assert_int_equal(fz_store_sweep(store, FZ_STR(""), INT64_MAX, &swept, NULL), FZ_OK);
    assert_int_equal(swept, 0);
    fz_store_writer_free(NULL);
}

static void test_writer_exists(void **state) {
    fz_store *store = *state;
    fz_store_writer *writer;
    if (suite->late_exists) {
        skip();
    }
    put(store, "taken", "old");
    assert_int_equal(fz_store_open(store, FZ_STR("taken"), &writer, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_write(writer, "new", 3, NULL), FZ_OK);
    assert_int_equal(fz_store_writer_commit(writer, NULL, NULL), FZ_EXISTS);
    assert_int_equal(fz_store_writer_write(writer, "new", 3, NULL), FZ_EXISTS);
    assert_int_equal(fz_store_writer_commit(writer, NULL, NULL), FZ_EXISTS);
    fz_store_writer_free(writer);
    assert_body(store, FZ_STR("taken"), FZ_STR("old"));
    assert_listing(store, "", "taken\n");
}

static void test_big_object(void **state) {
    fz_store *store = *state;
    enum { CHUNK = 100003, CHUNKS = 200 }; // 20 MB, no round size
    fz_store_writer *writer;
    uint8_t *chunk = fz_alloc(CHUNK);
    assert_int_equal(fz_store_open(store, FZ_STR("big"), &writer, NULL), FZ_OK);
    for (int i = 0; i < CHUNKS; i++) {
        memset(chunk, i, CHUNK);
        assert_int_equal(fz_store_writer_write(writer, chunk, CHUNK, NULL), FZ_OK);
    }
    fz_object o;
    assert_int_equal(fz_store_writer_commit(writer, &o, NULL), FZ_OK);
    fz_store_writer_free(writer);
    assert_int_equal(o.size_bytes, (int64_t)CHUNK * CHUNKS);
    fz_buf out = {0};
    for (int i = 1; i < CHUNKS; i += 17) {
        fz_buf_reset(&out);
        assert_int_equal(
            fz_store_read_exact(store, FZ_STR("big"), (int64_t)i * CHUNK - 1, 2, &out, NULL),
            FZ_OK);
        assert_int_equal(out.data[0], i - 1);
        assert_int_equal(out.data[1], i);
    }
    fz_buf_reset(&out);
    assert_int_equal(fz_store_read_all(store, FZ_STR("big"), &out, NULL), FZ_OK);
    assert_int_equal(out.size, (size_t)CHUNK * CHUNKS);
    fz_buf_deinit(&out);
    fz_free(chunk);
}

static void write_many(void *arg) {
    racer *r = arg;
    for (int i = 0; i < ROUNDS && r->code == FZ_OK; i++) {
        char key[64];
        snprintf(key, sizeof key, "many/%d/%d", r->number, i);
        fz_store_writer *writer = NULL;
        r->code = fz_store_open(r->store, fz_str_from(key), &writer, NULL);
        if (r->code == FZ_OK) {
            r->code = fz_store_writer_write(writer, key, strlen(key), NULL);
        }
        if (r->code == FZ_OK) {
            r->code = fz_store_writer_commit(writer, NULL, NULL);
        }
        fz_store_writer_free(writer);
    }
}

static void test_writers_at_once(void **state) {
    racer racers[RACERS] = {0};
    for (int i = 0; i < RACERS; i++) {
        racers[i].store = *state;
        racers[i].number = i;
        fz_thread_start(&racers[i].thread, "writer", write_many, &racers[i]);
    }
    for (int i = 0; i < RACERS; i++) {
        fz_thread_join(&racers[i].thread);
        assert_int_equal(racers[i].code, FZ_OK);
    }
    char *all = listing(*state, "many/");
    size_t count = 0;
    for (const char *p = all; *p; p++) {
        count += *p == '\n';
    }
    assert_int_equal(count, RACERS * ROUNDS);
    fz_free(all);
}

static void test_counts(void **state) {
    fz_store *store = *state;
    fz_object o;
    put(store, "k", "abc");
    assert_int_equal(fz_store_stat(store, FZ_STR("none"), &o, NULL), FZ_NOT_FOUND);
    assert_body(store, FZ_STR("k"), FZ_STR("abc"));
    assert_int_equal(store->calls[FZ_STORE_CALL_PUT], 1);
    assert_int_equal(store->failures[FZ_STORE_CALL_PUT], 0);
    assert_int_equal(store->calls[FZ_STORE_CALL_STAT], 1);
    assert_int_equal(store->failures[FZ_STORE_CALL_STAT], 1);
    assert_int_equal(store->written_bytes, 3);
    assert_int_equal(store->read_bytes, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)

int store_suite_run(const store_suite *which) {
    const struct CMUnitTest tests[] = {
        CASE(test_put_and_read),  CASE(test_absent),       CASE(test_remove),
        CASE(test_bad_keys),      CASE(test_ranges),       CASE(test_put_new),
        CASE(test_put_if),        CASE(test_put_new_race), CASE(test_put_if_race),
        CASE(test_put_is_whole),  CASE(test_list),         CASE(test_odd_keys),
        CASE(test_uris),          CASE(test_writer),       CASE(test_writer_abort),
        CASE(test_writer_exists), CASE(test_big_object),   CASE(test_writers_at_once),
        CASE(test_counts),
    };
    suite = which;
    return cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
}
