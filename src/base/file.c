// SPDX-License-Identifier: Apache-2.0
// Local files over POSIX.
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rand.h"

static void close_fd(const int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
}

static void free_text(char **text) {
    fz_free(*text);
}

static ssize_t read_some(int fd, void *to, size_t size, int64_t at) {
    ssize_t got;
    size_t piece = size < (1U << 30) ? size : (1U << 30);
    do {
        got = at < 0 ? read(fd, to, piece) : pread(fd, to, piece, at);
    } while (got < 0 && errno == EINTR);
    return got;
}

static int open_for_reading(const char *path) {
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

fz_code fz_file_read(const char *path, fz_buf *out, fz_err *err) {
    FZ_CLEANUP(close_fd) int fd = open_for_reading(path);
    if (fd < 0) {
        return fz_err_set_errno(err, errno, "cannot open \"%s\"", path);
    }
    struct stat status;
    size_t start = out->size;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        fz_buf_reserve(out, (size_t)status.st_size);
    }
    for (;;) {
        // the end shows itself in a spare piece, so that a file of exactly the ceiling passes
        uint8_t spare[512];
        size_t room = out->data ? out->capacity - out->size : 0;
        ssize_t got =
            read_some(fd, room ? out->data + out->size : spare, room ? room : sizeof(spare), -1);
        if (got < 0) {
            out->size = start;
            return fz_err_set_errno(err, errno, "cannot read \"%s\"", path);
        }
        if (got == 0 || out->failed) {
            break;
        }
        if (room) {
            out->size += (size_t)got;
        } else {
            fz_buf_append(out, spare, (size_t)got);
        }
    }
    if (out->failed) {
        out->size = start;
        FZ_TRY(fz_buf_check(out, path, err));
    }
    return FZ_OK;
}

fz_code fz_file_read_at(const char *path, int64_t at, size_t size, fz_buf *out, fz_err *err) {
    FZ_ASSERT(at >= 0);
    FZ_CLEANUP(close_fd) int fd = open_for_reading(path);
    if (fd < 0) {
        return fz_err_set_errno(err, errno, "cannot open \"%s\"", path);
    }
    if (!fz_buf_reserve(out, size)) {
        return fz_buf_check(out, path, err);
    }
    size_t done = 0;
    while (done < size) {
        ssize_t got = read_some(fd, out->data + out->size + done, size - done, at + (int64_t)done);
        if (got < 0) {
            return fz_err_set_errno(err, errno, "cannot read \"%s\"", path);
        }
        if (got == 0) {
            return fz_err_set(err, FZ_IO, "\"%s\" ends early: %zu of %zu bytes at %lld", path, done,
                              size, (long long)at);
        }
        done += (size_t)got;
    }
    out->size += size;
    return FZ_OK;
}

// A name is durable only when its folder is. Some file systems cannot sync a folder and need not.
static fz_code sync_folder(const char *path, fz_err *err) {
    FZ_CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return fz_err_set_errno(err, errno, "cannot open the folder \"%s\"", path);
    }
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
        return fz_err_set_errno(err, errno, "cannot sync the folder \"%s\"", path);
    }
    return FZ_OK;
}

// Folder part of a path, "." if it has none. fz_free it.
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return fz_str_dup(FZ_STR("."));
    }
    while (slash > path && slash[-1] == '/') {
        slash--;
    }
    return slash == path ? fz_str_dup(FZ_STR("/")) : fz_memdup0(path, (size_t)(slash - path));
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

fz_code fz_file_make_folders(const char *path, fz_err *err) {
    if (is_folder(path)) {
        return FZ_OK;
    }
    FZ_CLEANUP(free_text) char *text = fz_str_dup(fz_str_from(path));
    size_t size = strlen(text);
    for (size_t i = 1; i <= size; i++) {
        if (text[i] != '/' && text[i] != 0) {
            continue;
        }
        char kept = text[i];
        text[i] = 0;
        if (mkdir(text, 0755) == 0) {
            FZ_CLEANUP(free_text) char *parent = folder_of(text);
            FZ_TRY(sync_folder(parent, err));
        } else {
            int error_number = errno;
            if (is_folder(text)) {
                text[i] = kept;
                continue;
            }
            if (error_number == EEXIST) {
                // not FZ_EXISTS: to fz_file_create that means that its own name is taken
                return fz_err_set(err, FZ_IO, "\"%s\" is in the way: it is not a folder", text);
            }
            return fz_err_set_errno(err, error_number, "cannot make the folder \"%s\"", text);
        }
        text[i] = kept;
    }
    return FZ_OK;
}

static fz_code write_all(int fd, fz_str body, const char *path, fz_err *err) {
    size_t done = 0;
    while (done < body.size) {
        ssize_t put = write(fd, body.data + done, body.size - done);
        if (put < 0 && errno != EINTR) {
            return fz_err_set_errno(err, errno, "cannot write \"%s\"", path);
        }
        done += put > 0 ? (size_t)put : 0;
    }
    if (fsync(fd) != 0) {
        return fz_err_set_errno(err, errno, "cannot sync \"%s\"", path);
    }
    return FZ_OK;
}

// Writes `body` durably under a fresh name in `folder`; *temporary is the caller's to free.
static fz_code write_temporary(const char *folder, const char *path, fz_str body, char **temporary,
                               fz_err *err) {
    char *name = fz_str_printf("%s/.fz-%016llx.tmp", folder, (unsigned long long)fz_rand_u64());
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        fz_code code = fz_err_set_errno(err, errno, "cannot create a file beside \"%s\"", path);
        fz_free(name);
        return code;
    }
    fz_code code = write_all(fd, body, path, err);
    if (close(fd) != 0 && code == FZ_OK) {
        code = fz_err_set_errno(err, errno, "cannot close \"%s\"", path);
    }
    if (code != FZ_OK) {
        unlink(name);
        fz_free(name);
        return code;
    }
    *temporary = name;
    return FZ_OK;
}

// Gives the temporary file its name unless that is taken; 0 or errno.
static int link_new(const char *temporary, const char *path) {
    if (link(temporary, path) == 0) {
        return 0;
    }
    int error_number = errno;
    struct stat status;
    if (error_number == EEXIST) {
        // over NFS the answer to a link that was made may get lost, and the repeat finds it taken
        bool made = stat(temporary, &status) == 0 && status.st_nlink == 2;
        return made ? 0 : EEXIST;
    }
    if (error_number == EPERM || error_number == ENOTSUP || error_number == EMLINK ||
        error_number == ENOSYS) {
        // no hard links here
        return renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
    }
    return error_number;
}

static fz_code publish(const char *path, fz_str body, bool replace, fz_err *err) {
    FZ_CLEANUP(free_text) char *folder = folder_of(path);
    FZ_CLEANUP(free_text) char *temporary = NULL;
    FZ_TRY(fz_file_make_folders(folder, err));
    FZ_TRY(write_temporary(folder, path, body, &temporary, err));
    int error_number;
    if (replace) {
        error_number = rename(temporary, path) == 0 ? 0 : errno;
    } else {
        error_number = link_new(temporary, path);
    }
    if (!replace || error_number) {
        unlink(temporary);
    }
    if (error_number == EEXIST) {
        return fz_err_set(err, FZ_EXISTS, "\"%s\" exists already", path);
    }
    if (error_number) {
        return fz_err_set_errno(err, error_number, "cannot name \"%s\"", path);
    }
    if (sync_folder(folder, err) != FZ_OK) {
        // the file is there now, but may be gone after a crash
        fz_err_prepend(err, "while making \"%s\" durable", path);
        if (err) {
            err->code = FZ_UNKNOWN_OUTCOME;
        }
        return FZ_UNKNOWN_OUTCOME;
    }
    return FZ_OK;
}

fz_code fz_file_replace(const char *path, fz_str body, fz_err *err) {
    return publish(path, body, true, err);
}

fz_code fz_file_create(const char *path, fz_str body, fz_err *err) {
    return publish(path, body, false, err);
}

fz_code fz_file_remove(const char *path, fz_err *err) {
    if (unlink(path) != 0) {
        return fz_err_set_errno(err, errno, "cannot remove \"%s\"", path);
    }
    return FZ_OK;
}

bool fz_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

// Appends the parts of `path` to `out`, which holds "" for the root or "/a/b".
static void append_parts(fz_buf *out, fz_str path) {
    size_t at = 0;
    while (at < path.size) {
        size_t slash = fz_str_find(path, '/', at);
        size_t end = slash == SIZE_MAX ? path.size : slash;
        fz_str part = fz_str_slice(path, at, end);
        at = end + 1;
        if (fz_str_equal(part, FZ_STR(".."))) {
            while (out->size && out->data[--out->size] != '/') {
            }
        } else if (part.size && !fz_str_equal(part, FZ_STR("."))) {
            fz_buf_append_byte(out, '/');
            fz_buf_append_str(out, part);
        }
    }
}

char *fz_file_absolute(const char *base, const char *path) {
    fz_buf out = {0};
    if (path[0] != '/') {
        if (!base || base[0] != '/') {
            FZ_CLEANUP(free_text) char *here = NULL;
            for (size_t size = 256; !here; size *= 2) {
                here = fz_alloc(size);
                if (!getcwd(here, size)) {
                    fz_free(here);
                    here = NULL;
                    if (errno != ERANGE) {
                        break; // the working directory is gone: count from the root
                    }
                }
            }
            append_parts(&out, fz_str_from(here));
        }
        append_parts(&out, fz_str_from(base));
    }
    append_parts(&out, fz_str_from(path));
    FZ_ASSERT(!out.failed);
    char *text = out.size ? fz_str_dup(fz_buf_view(&out)) : fz_str_dup(FZ_STR("/"));
    fz_buf_deinit(&out);
    return text;
}
