// SPDX-License-Identifier: Apache-2.0
// A folder's entries are sorted with a slash behind folders: then a depth-first walk meets keys in
// bytewise order.
#include "io/store/local_walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/vec.h"
#include "io/store/store.h"

typedef FZ_VEC(char *) text_list;

typedef struct walk {
    const char *root;
    fz_str prefix;
    fz_str after;
    fz_store_local_visit visit;
    void *context;
    bool stop;
} walk;

static void text_list_release(text_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        fz_free(list->data[i]);
    }
    fz_vec_deinit(list);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b); // strcmp compares as unsigned bytes
}

// May a key that starts with this folder's ("a/b/") be wanted?
static bool folder_wanted(const walk *w, fz_str key) {
    bool matches = fz_str_starts_with(key, w->prefix) || fz_str_starts_with(w->prefix, key);
    return matches && (fz_str_compare(key, w->after) > 0 || fz_str_starts_with(w->after, key));
}

static bool file_wanted(const walk *w, fz_str key) {
    return fz_str_starts_with(key, w->prefix) && fz_str_compare(key, w->after) > 0;
}

static bool is_folder(const char *path, const struct dirent *entry) {
    struct stat st;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// Append the wanted entries of a folder to `out` as keys, folders with a slash behind.
static fz_code read_folder(const walk *w, const char *folder_key, text_list *out, fz_err *err) {
    char *folder = fz_str_printf("%s/%s", w->root, folder_key);
    DIR *dir = opendir(folder);
    if (!dir) {
        int number = errno;
        fz_code code = number == ENOENT || number == ENOTDIR
                           ? FZ_OK
                           : fz_err_set_errno(err, number, "cannot list \"%s\"", folder);
        fz_free(folder);
        return code;
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char *path = fz_str_printf("%s%s", folder, entry->d_name);
        bool inner = is_folder(path, entry);
        fz_free(path);
        char *key = fz_str_printf("%s%s%s", folder_key, entry->d_name, inner ? "/" : "");
        fz_str view = fz_str_from(key);
        if (view.size <= FZ_STORE_KEY_MAX &&
            (inner ? folder_wanted(w, view) : file_wanted(w, view))) {
            fz_vec_push(out, key);
        } else {
            fz_free(key);
        }
    }
    fz_code code = errno ? fz_err_set_errno(err, errno, "cannot list \"%s\"", folder) : FZ_OK;
    closedir(dir);
    fz_free(folder);
    return code;
}

static void visit_file(walk *w, const char *key) {
    char *path = fz_str_printf("%s/%s", w->root, key);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        w->stop = !w->visit(w->context, fz_str_from(key), path, &st);
    }
    fz_free(path);
}

// Depth is bounded by the length of a key.
static fz_code walk_folder(walk *w, const char *folder_key, fz_err *err) {
    FZ_CLEANUP(text_list_release) text_list list = {0};
    FZ_TRY(read_folder(w, folder_key, &list, err));
    if (list.count > 1) {
        qsort(list.data, list.count, sizeof *list.data, compare_texts);
    }
    for (size_t i = 0; i < list.count && !w->stop; i++) {
        const char *key = list.data[i];
        if (key[strlen(key) - 1] == '/') {
            FZ_TRY(walk_folder(w, key, err));
        } else {
            visit_file(w, key);
        }
    }
    return FZ_OK;
}

// A part that path_of would refuse has no keys below it.
static bool can_be_folder(fz_str folder) {
    for (size_t at = 0; at < folder.size;) {
        size_t slash = fz_str_find(folder, '/', at);
        fz_str part = fz_str_slice(folder, at, slash);
        if (part.size == 0 || fz_str_equal(part, FZ_STR(".")) || fz_str_equal(part, FZ_STR("..")) ||
            memchr(part.data, 0, part.size)) {
            return false;
        }
        at = slash + 1;
    }
    return true;
}

fz_code fz_store_local_walk(const char *root, fz_str prefix, fz_str after,
                            fz_store_local_visit visit, void *context, fz_err *err) {
    walk w = {root, prefix, after, visit, context, false};
    size_t size = prefix.size;
    while (size > 0 && prefix.data[size - 1] != '/') {
        size--;
    }
    fz_str folder = fz_str_slice(prefix, 0, size);
    if (!can_be_folder(folder)) {
        return FZ_OK;
    }
    char *start = fz_str_dup(folder);
    fz_code code = walk_folder(&w, start, err);
    fz_free(start);
    return code;
}
