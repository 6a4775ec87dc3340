// SPDX-License-Identifier: Apache-2.0
// Files below a folder: written under another name, synced, then linked or renamed into place.
#define _GNU_SOURCE
#include "io/store/local_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/rand.h"
#include "io/store/local_walk.h"

// An unfinished file is ".<uuid>.frazil-tmp", beside the name it will have.
#define TEMP_SUFFIX ".frazil-tmp"

typedef struct local_store {
    fz_store store;
    char *root; // absolute, without a slash at its end ("" for "/")
    size_t page_size;
} local_store;

typedef struct local_writer {
    fz_store_writer writer;
    char *path; // final
    char *temp; // NULL: nothing to remove
    int fd;     // -1: closed
} local_writer;

static bool is_temp(const char *name) {
    fz_str s = fz_str_from(name);
    return s.size > 0 && s.data[0] == '.' && fz_str_ends_with(s, FZ_STR(TEMP_SUFFIX));
}

static int64_t modified_ms(const struct stat *st) {
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

// Two files of one size, written in one tick of the file system's clock, still differ in their
// inode.
static void describe(const struct stat *st, fz_object *out) {
    out->size_bytes = st->st_size;
    out->modified_ms = modified_ms(st);
    snprintf(out->etag, sizeof out->etag, "%llx-%llx.%09lx-%llx", (unsigned long long)st->st_size,
             (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec,
             (unsigned long long)st->st_ino);
}

// The path of a key that stays below the root and comes back from a listing as it is.
static fz_code path_of(const local_store *l, fz_str key, char **out, fz_err *err) {
    for (size_t at = 0;;) {
        size_t slash = fz_str_find(key, '/', at);
        fz_str part = fz_str_slice(key, at, slash);
        if (part.size == 0 || fz_str_equal(part, FZ_STR(".")) || fz_str_equal(part, FZ_STR(".."))) {
            return fz_err_set(err, FZ_INVALID,
                              "key \"%.*s\" cannot be a file below \"%s\": part \"%.*s\"",
                              FZ_STR_ARGS(key), l->root, FZ_STR_ARGS(part));
        }
        if (part.data[0] == '.' && fz_str_ends_with(part, FZ_STR(TEMP_SUFFIX))) {
            return fz_err_set(err, FZ_INVALID, "key \"%.*s\" is named like an unfinished file",
                              FZ_STR_ARGS(key));
        }
        if (slash == SIZE_MAX) {
            break;
        }
        at = slash + 1;
    }
    *out = fz_str_printf("%s/%.*s", l->root, FZ_STR_ARGS(key));
    return FZ_OK;
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == path ? fz_str_dup(FZ_STR("/"))
                         : fz_str_dup(fz_str_make(path, (size_t)(slash - path)));
}

static void release_text(char **text) {
    fz_free(*text);
    *text = NULL;
}

// A key below a file ("a/b" where "a" is one) is as absent as any other.
static fz_code fail_errno(int number, const char *what, const char *path, fz_err *err) {
    if (number == ENOTDIR) {
        return fz_err_set(err, FZ_NOT_FOUND, "%s \"%s\": %s", what, path, strerror(number));
    }
    return fz_err_set_errno(err, number, "%s \"%s\"", what, path);
}

static fz_code open_file(const char *path, int *fd, struct stat *st, fz_err *err) {
    int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f < 0) {
        return fail_errno(errno, "cannot open", path, err);
    }
    if (fstat(f, st) != 0) {
        int number = errno;
        close(f);
        return fz_err_set_errno(err, number, "cannot look at \"%s\"", path);
    }
    if (!S_ISREG(st->st_mode)) {
        close(f);
        return fz_err_set(err, FZ_NOT_FOUND, "\"%s\" is not a file", path);
    }
    *fd = f;
    return FZ_OK;
}

static fz_code local_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err) {
    FZ_CLEANUP(release_text) char *path = NULL;
    struct stat st;
    FZ_TRY(path_of((local_store *)store, key, &path, err));
    if (stat(path, &st) != 0) {
        return fail_errno(errno, "cannot look at", path, err);
    }
    if (!S_ISREG(st.st_mode)) {
        return fz_err_set(err, FZ_NOT_FOUND, "\"%s\" is not a file", path);
    }
    describe(&st, out);
    return FZ_OK;
}

static fz_code read_at(int fd, const char *path, int64_t at, size_t size, fz_buf *out,
                       fz_err *err) {
    if (!fz_buf_reserve(out, size)) {
        return fz_buf_check(out, path, err);
    }
    while (size > 0) {
        ssize_t n = pread(fd, out->data + out->size, size, at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fz_err_set_errno(err, errno, "cannot read \"%s\"", path);
        }
        if (n == 0) {
            break; // cut meanwhile: the caller sees what there was
        }
        out->size += (size_t)n;
        at += n;
        size -= (size_t)n;
    }
    return FZ_OK;
}

static fz_code local_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                          fz_err *err) {
    FZ_CLEANUP(release_text) char *path = NULL;
    struct stat st;
    int fd;
    FZ_TRY(path_of((local_store *)store, key, &path, err));
    FZ_TRY(open_file(path, &fd, &st, err));
    fz_code code;
    if (at > st.st_size) {
        code = fz_err_set(err, FZ_INVALID, "read of \"%s\" from %lld, it has %lld bytes", path,
                          (long long)at, (long long)st.st_size);
    } else {
        uint64_t left = (uint64_t)(st.st_size - at);
        code = read_at(fd, path, at, size < left ? size : (size_t)left, out, err);
    }
    close(fd);
    return code;
}

static fz_code sync_folder(const char *folder, fz_err *err) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    // some file systems cannot sync a folder and say so
    if (failed && failed != EINVAL && failed != ENOTSUP) {
        return fz_err_set(err, FZ_UNKNOWN_OUTCOME, "cannot sync folder \"%s\": %s", folder,
                          strerror(failed));
    }
    return FZ_OK;
}

// Make `folder` and its parents down from the root, and the root with the first object; each new
// name is made durable in its parent.
static fz_code make_folders(const local_store *l, const char *folder, fz_err *err) {
    struct stat st;
    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) {
        return FZ_OK;
    }
    size_t root = strlen(l->root);
    if (root > 0) {
        FZ_TRY(fz_file_make_folders(l->root, err));
    }
    if (folder[root] == 0) {
        return FZ_OK;
    }
    FZ_CLEANUP(release_text) char *path = fz_str_dup(fz_str_from(folder));
    for (size_t at = root + 1;; at++) {
        bool last = path[at] == 0;
        if (!last && path[at] != '/') {
            continue;
        }
        path[at] = 0;
        if (mkdir(path, 0777) == 0) {
            FZ_CLEANUP(release_text) char *parent = folder_of(path);
            FZ_TRY(sync_folder(parent, err));
        } else if (errno != EEXIST) {
            return fail_errno(errno, "cannot make folder", path, err);
        }
        if (last) {
            return FZ_OK;
        }
        path[at] = '/';
    }
}

static fz_code open_temp(const local_store *l, const char *path, char **temp, int *fd,
                         fz_err *err) {
    FZ_CLEANUP(release_text) char *folder = folder_of(path);
    char uuid[37];
    fz_rand_uuid(uuid);
    char *name = fz_str_printf("%s/.%s%s", folder, uuid, TEMP_SUFFIX);
    int f = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f < 0 && errno == ENOENT) {
        fz_code code = make_folders(l, folder, err);
        if (code != FZ_OK) {
            fz_free(name);
            // nothing of the object itself can be there
            return code == FZ_UNKNOWN_OUTCOME
                       ? fz_err_set(err, FZ_IO, "cannot make folder \"%s\"", folder)
                       : code;
        }
        f = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (f < 0) {
        fz_code code = fail_errno(errno, "cannot make a file in", folder, err);
        fz_free(name);
        return code;
    }
    *temp = name;
    *fd = f;
    return FZ_OK;
}

static fz_code write_all(int fd, const char *path, fz_str bytes, fz_err *err) {
    while (bytes.size > 0) {
        ssize_t n = write(fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fz_err_set_errno(err, errno, "cannot write \"%s\"", path);
        }
        bytes = fz_str_slice(bytes, (size_t)n, bytes.size);
    }
    return FZ_OK;
}

typedef enum condition { ALWAYS, IF_ABSENT, IF_ETAG } condition;

// The name must be free. A link fails where a rename would overwrite; where links are not to be
// had, ask for such a rename.
static fz_code link_new(const char *temp, const char *path, bool *temp_left, fz_err *err) {
    *temp_left = true;
    if (link(temp, path) == 0) {
        return FZ_OK;
    }
    if (errno == EPERM || errno == ENOTSUP || errno == ENOSYS) {
        if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
            *temp_left = false;
            return FZ_OK;
        }
    }
    return fail_errno(errno, "cannot make", path, err);
}

static fz_code check_etag(const char *path, fz_str etag, fz_err *err) {
    struct stat st;
    if (stat(path, &st) != 0) {
        return fail_errno(errno, "cannot look at", path, err);
    }
    fz_object now;
    describe(&st, &now);
    if (!fz_str_equal(etag, fz_str_from(now.etag))) {
        return fz_err_set(err, FZ_CONFLICT, "\"%s\" has etag \"%s\", wanted \"%.*s\"", path,
                          now.etag, FZ_STR_ARGS(etag));
    }
    return FZ_OK;
}

// Give the finished file its name; the folder is locked. *temp_left: the temporary name is still
// there.
static fz_code give_name(const char *temp, const char *path, condition when, fz_str etag,
                         bool *temp_left, fz_err *err) {
    *temp_left = true;
    if (when == IF_ABSENT) {
        return link_new(temp, path, temp_left, err);
    }
    if (when == IF_ETAG) {
        FZ_TRY(check_etag(path, etag, err));
    }
    if (rename(temp, path) != 0) {
        return fail_errno(errno, "cannot replace", path, err);
    }
    *temp_left = false;
    return FZ_OK;
}

// Publish under the folder's lock, then make the name durable.
static fz_code publish(char **temp, const char *path, condition when, fz_str etag, fz_err *err) {
    FZ_CLEANUP(release_text) char *folder = folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return fail_errno(errno, "cannot open folder", folder, err);
    }
    fz_code code = FZ_OK;
    bool temp_left = true;
    while (when != IF_ABSENT && flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            code = fz_err_set_errno(err, errno, "cannot lock folder \"%s\"", folder);
            break;
        }
    }
    if (code == FZ_OK) {
        code = give_name(*temp, path, when, etag, &temp_left, err);
    }
    if (code == FZ_OK) {
        if (temp_left) {
            unlink(*temp);
        }
        release_text(temp);
        if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
            code = fz_err_set(err, FZ_UNKNOWN_OUTCOME, "cannot sync folder \"%s\": %s", folder,
                              strerror(errno));
        }
    }
    close(fd); // drops the lock
    return code;
}

static fz_code finish_file(int *fd, const char *path, int64_t size, struct stat *st, fz_err *err) {
    fz_code code = FZ_OK;
    if (fsync(*fd) != 0 || fstat(*fd, st) != 0) {
        code = fz_err_set_errno(err, errno, "cannot sync \"%s\"", path);
    } else if (st->st_size != size) {
        code = fz_err_set(err, FZ_IO, "\"%s\" has %lld bytes, wrote %lld", path,
                          (long long)st->st_size, (long long)size);
    }
    if (close(*fd) != 0 && code == FZ_OK) {
        code = fz_err_set_errno(err, errno, "cannot close \"%s\"", path);
    }
    *fd = -1;
    return code;
}

static fz_code put_file(fz_store *store, fz_str key, condition when, fz_str etag, fz_str body,
                        fz_err *err) {
    local_store *l = (local_store *)store;
    FZ_CLEANUP(release_text) char *path = NULL;
    FZ_CLEANUP(release_text) char *temp = NULL;
    struct stat st;
    int fd;
    FZ_TRY(path_of(l, key, &path, err));
    if (when == IF_ETAG) {
        FZ_TRY(check_etag(path, etag, err)); // makes no folders for what is not there
    }
    FZ_TRY(open_temp(l, path, &temp, &fd, err));
    fz_code code = write_all(fd, temp, body, err);
    if (code == FZ_OK) {
        code = finish_file(&fd, temp, (int64_t)body.size, &st, err);
    } else {
        close(fd);
    }
    if (code == FZ_OK) {
        code = publish(&temp, path, when, etag, err);
    }
    if (temp) {
        unlink(temp);
    }
    return code;
}

static fz_code local_put(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return put_file(store, key, ALWAYS, FZ_STR(""), body, err);
}

static fz_code local_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return put_file(store, key, IF_ABSENT, FZ_STR(""), body, err);
}

static fz_code local_put_if(fz_store *store, fz_str key, fz_str etag, fz_str body, fz_err *err) {
    return put_file(store, key, IF_ETAG, etag, body, err);
}

static fz_code local_remove(fz_store *store, fz_str key, fz_err *err) {
    FZ_CLEANUP(release_text) char *path = NULL;
    FZ_TRY(path_of((local_store *)store, key, &path, err));
    FZ_CLEANUP(release_text) char *folder = folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        fz_code code = fail_errno(errno, "cannot open folder", folder, err);
        return code == FZ_NOT_FOUND ? FZ_OK : code;
    }
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    fz_code code = FZ_OK;
    if (unlink(path) != 0 && errno != ENOENT && errno != EISDIR) {
        code = fz_err_set_errno(err, errno, "cannot remove \"%s\"", path);
    }
    close(fd);
    return code;
}

static fz_code writer_write(fz_store_writer *writer, fz_str bytes, fz_err *err) {
    local_writer *w = (local_writer *)writer;
    return write_all(w->fd, w->temp, bytes, err);
}

static fz_code writer_commit(fz_store_writer *writer, fz_object *out, fz_err *err) {
    local_writer *w = (local_writer *)writer;
    struct stat st;
    FZ_TRY(finish_file(&w->fd, w->temp, writer->size_bytes, &st, err));
    FZ_TRY(publish(&w->temp, w->path, IF_ABSENT, FZ_STR(""), err));
    describe(&st, out);
    return FZ_OK;
}

static void writer_free(fz_store_writer *writer) {
    local_writer *w = (local_writer *)writer;
    if (w->fd >= 0) {
        close(w->fd);
    }
    if (w->temp) {
        unlink(w->temp);
        fz_free(w->temp);
    }
    fz_free(w->path);
    fz_free(w);
}

static fz_code local_open(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err) {
    static const fz_store_writer_ops ops = {writer_write, writer_commit, writer_free};
    local_store *l = (local_store *)store;
    char *path = NULL;
    char *temp = NULL;
    int fd;
    FZ_TRY(path_of(l, key, &path, err));
    fz_code code = open_temp(l, path, &temp, &fd, err);
    if (code != FZ_OK) {
        fz_free(path);
        return code;
    }
    local_writer *w = fz_calloc(1, sizeof *w);
    fz_store_writer_init(&w->writer, &ops, store, key);
    w->path = path;
    w->temp = temp;
    w->fd = fd;
    *out = &w->writer;
    return FZ_OK;
}

typedef struct listing {
    fz_page *page;
    size_t page_size;
} listing;

static bool list_file(void *context, fz_str key, const char *path, const struct stat *st) {
    listing *l = context;
    const char *name = strrchr(path, '/') + 1;
    if (is_temp(name)) {
        return true;
    }
    if (l->page->objects.count == l->page_size) {
        l->page->more = true;
        return false;
    }
    fz_object o = {.key = fz_arena_str(&l->page->arena, key)};
    describe(st, &o);
    fz_vec_push(&l->page->objects, o);
    return true;
}

static fz_code local_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out, fz_err *err) {
    local_store *l = (local_store *)store;
    listing context = {out, l->page_size};
    return fz_store_local_walk(l->root, prefix, after, list_file, &context, err);
}

typedef struct sweeping {
    int64_t before_ms;
    size_t count;
} sweeping;

static bool sweep_file(void *context, fz_str key, const char *path, const struct stat *st) {
    (void)key;
    sweeping *s = context;
    if (is_temp(strrchr(path, '/') + 1) && modified_ms(st) < s->before_ms && unlink(path) == 0) {
        s->count++;
    }
    return true;
}

static fz_code local_sweep(fz_store *store, fz_str prefix, int64_t before_ms, size_t *count,
                           fz_err *err) {
    sweeping context = {.before_ms = before_ms};
    FZ_TRY(fz_store_local_walk(((local_store *)store)->root, prefix, FZ_STR(""), sweep_file,
                               &context, err));
    *count = context.count;
    return FZ_OK;
}

static void local_free(fz_store *store) {
    local_store *l = (local_store *)store;
    fz_free(l->root);
    fz_free(l);
}

fz_code fz_store_local_open(const char *root, size_t page_size, fz_store **out, fz_err *err) {
    static const fz_store_ops ops = {
        .name = "local",
        .stat = local_stat,
        .read = local_read,
        .put = local_put,
        .put_new = local_put_new,
        .put_if = local_put_if,
        .list = local_list,
        .remove = local_remove,
        .open = local_open,
        .sweep = local_sweep,
        .free = local_free,
    };
    char *path = fz_file_absolute(NULL, root);
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/') {
        path[--size] = 0;
    }
    struct stat st;
    if (size > 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        fz_code code = fz_err_set(err, FZ_INVALID, "\"%s\" is not a folder", path);
        fz_free(path);
        return code;
    }
    local_store *l = fz_calloc(1, sizeof *l);
    fz_store_init(&l->store, &ops, fz_str_printf("file://%s", path));
    l->root = path;
    l->page_size = page_size ? page_size : 1000;
    *out = &l->store;
    return FZ_OK;
}
