// SPDX-License-Identifier: Apache-2.0
// Object stores behind one interface: whole objects by key, conditional puts, listing, a streaming
// writer.
#ifndef FZ_IO_STORE_STORE_H
#define FZ_IO_STORE_STORE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sink.h"
#include "base/vec.h"

/** Read to the end of the object. */
#define FZ_STORE_REST SIZE_MAX
/** Longest key in bytes (S3's limit). */
#define FZ_STORE_KEY_MAX 1024
/** Longest etag, with its zero byte. */
#define FZ_STORE_ETAG_SIZE 128

typedef struct fz_store fz_store;
typedef struct fz_store_writer fz_store_writer;

/** One object. The key is relative to the store's root: "data/a=1/0001.parquet". */
typedef struct fz_object {
    fz_str
        key; // of a page: lives as long as the page; of stat and commit: borrowed from the caller
    int64_t size_bytes;
    int64_t modified_ms;
    char etag[FZ_STORE_ETAG_SIZE]; // opaque, changes with the content; for put_if
} fz_object;

/** One page of a listing. Zeroed is empty and valid; the wrapper empties it first. */
typedef struct fz_page {
    fz_arena arena;
    FZ_VEC(fz_object) objects; // by key, bytewise ascending
    bool more;                 // ask again with after = the last key
} fz_page;
void fz_page_deinit(fz_page *page);

/** Kinds of calls, for counts and for the fault store. */
typedef enum fz_store_call {
    FZ_STORE_CALL_STAT,
    FZ_STORE_CALL_READ,
    FZ_STORE_CALL_PUT,
    FZ_STORE_CALL_PUT_NEW,
    FZ_STORE_CALL_PUT_IF,
    FZ_STORE_CALL_LIST,
    FZ_STORE_CALL_REMOVE,
    FZ_STORE_CALL_OPEN,   // of a writer
    FZ_STORE_CALL_WRITE,  // of a writer
    FZ_STORE_CALL_COMMIT, // of a writer
    FZ_STORE_CALL_SWEEP,
    FZ_STORE_CALLS, // how many kinds
} fz_store_call;

/** Object store. A NULL member is answered UNSUPPORTED by its wrapper. Calls may run on any thread,
 * also at once. */
typedef struct fz_store_ops {
    const char *name; // "local"
    fz_code (*stat)(fz_store *store, fz_str key, fz_object *out, fz_err *err);
    fz_code (*read)(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out, fz_err *err);
    fz_code (*put)(fz_store *store, fz_str key, fz_str body, fz_err *err);
    fz_code (*put_new)(fz_store *store, fz_str key, fz_str body, fz_err *err);
    fz_code (*put_if)(fz_store *store, fz_str key, fz_str etag, fz_str body, fz_err *err);
    fz_code (*list)(fz_store *store, fz_str prefix, fz_str after, fz_page *out, fz_err *err);
    fz_code (*remove)(fz_store *store, fz_str key, fz_err *err);
    fz_code (*open)(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err);
    fz_code (*sweep)(fz_store *store, fz_str prefix, int64_t before_ms, size_t *count, fz_err *err);
    void (*free)(fz_store *store);
} fz_store_ops;

/** First member of every implementation. */
struct fz_store {
    const fz_store_ops *ops;
    char *root_uri; // "file:///data/warehouse", without a slash at its end; owned, freed by the
                    // wrapper
    _Atomic uint64_t calls[FZ_STORE_CALLS];
    _Atomic uint64_t failures[FZ_STORE_CALLS];
    _Atomic int64_t read_bytes;
    _Atomic int64_t written_bytes;
};

typedef struct fz_store_writer_ops {
    fz_code (*write)(fz_store_writer *writer, fz_str bytes, fz_err *err);
    fz_code (*commit)(fz_store_writer *writer, fz_object *out, fz_err *err);
    void (*free)(fz_store_writer *writer); // drops what is not committed
} fz_store_writer_ops;

/** A new object, being written. First member of every implementation. One thread. */
struct fz_store_writer {
    fz_sink sink; // so that encoders can write here
    const fz_store_writer_ops *ops;
    fz_store *store;
    char *key;          // owned, freed by the wrapper
    int64_t size_bytes; // written so far
    fz_code failed;     // first failure; sticks
    bool committed;
};

/** For implementations: fill the common part. root_uri is taken (fz_free). */
void fz_store_init(fz_store *store, const fz_store_ops *ops, char *root_uri);
/** For implementations: fill the common part. */
void fz_store_writer_init(fz_store_writer *writer, const fz_store_writer_ops *ops, fz_store *store,
                          fz_str key);
/** NULL allowed. No writer may be open. */
void fz_store_free(fz_store *store);

/** Size, etag and time of an object. Errors: NOT_FOUND; INVALID key; DENIED; UNAVAILABLE; IO. */
FZ_CHECKED fz_code fz_store_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err);
/**
 * Append bytes [at, at + size) of an object to `out`, fewer only where the object ends;
 * FZ_STORE_REST for all from `at`.
 *
 * Errors: NOT_FOUND; INVALID `at` behind the end; LIMIT ceiling or budget of `out` (which then
 * holds what it held).
 */
FZ_CHECKED fz_code fz_store_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                                 fz_err *err);
/** Exactly `size` bytes from `at`: CORRUPT with kind "truncated" if the object is shorter. */
FZ_CHECKED fz_code fz_store_read_exact(fz_store *store, fz_str key, int64_t at, size_t size,
                                       fz_buf *out, fz_err *err);
/** The whole object. */
FZ_CHECKED fz_code fz_store_read_all(fz_store *store, fz_str key, fz_buf *out, fz_err *err);
/**
 * Create or replace; readers see the old or the new body, never a part. Durable when it returns.
 *
 * Errors: UNKNOWN_OUTCOME may or may not be there.
 */
FZ_CHECKED fz_code fz_store_put(fz_store *store, fz_str key, fz_str body, fz_err *err);
/** Create; EXISTS if the key is taken (one of several at once wins). Durable. UNKNOWN_OUTCOME as
 * put. */
FZ_CHECKED fz_code fz_store_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err);
/** Replace if the etag is still this one: CONFLICT if it is another, NOT_FOUND if the object is
 * gone. Durable. */
FZ_CHECKED fz_code fz_store_put_if(fz_store *store, fz_str key, fz_str etag, fz_str body,
                                   fz_err *err);
/**
 * Objects whose key starts with `prefix` (text, not a folder) and is greater than `after`, in
 * bytewise order of keys. Unfinished objects are never listed. A folder that is not there lists as
 * empty.
 */
FZ_CHECKED fz_code fz_store_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out,
                                 fz_err *err);
/** Remove. A key that is not there is FZ_OK (not every store can tell). */
FZ_CHECKED fz_code fz_store_remove(fz_store *store, fz_str key, fz_err *err);
/** Remove what crashed writers left below `prefix` before `before_ms` (wall clock); their number in
 * *count (may be NULL). */
FZ_CHECKED fz_code fz_store_sweep(fz_store *store, fz_str prefix, int64_t before_ms, size_t *count,
                                  fz_err *err);

/** Start a new object; nothing is visible under the key before commit. fz_store_writer_free it in
 * any case. */
FZ_CHECKED fz_code fz_store_open(fz_store *store, fz_str key, fz_store_writer **out, fz_err *err);
/** Append bytes. After a failure every call answers that failure's code. */
FZ_CHECKED fz_code fz_store_writer_write(fz_store_writer *writer, const void *data, size_t size,
                                         fz_err *err);
/**
 * Publish, once: durable, the size in the store compared with the bytes written. out may be NULL.
 *
 * Errors: EXISTS the key is taken (where the store can tell); UNKNOWN_OUTCOME may or may not be
 * there; IO size differs.
 */
FZ_CHECKED fz_code fz_store_writer_commit(fz_store_writer *writer, fz_object *out, fz_err *err);
/** Abort if not committed, leaving nothing; free. NULL allowed. */
void fz_store_writer_free(fz_store_writer *writer);
/** For FZ_CLEANUP. */
void fz_store_writer_release(fz_store_writer **writer);

/** Full URI of a key, "file:///root/key"; nothing is encoded. fz_free it. An empty key gives the
 * root. */
char *fz_store_uri(const fz_store *store, fz_str key);
/**
 * The key of a full URI, a view into it. `file:/x`, `file:///x` and `/x` are one place; so are s3,
 * s3a and s3n.
 *
 * Errors: INVALID elsewhere than below the root, or the root itself.
 */
FZ_CHECKED fz_code fz_store_key(const fz_store *store, fz_str uri, fz_str *key, fz_err *err);

/** "put_new" of FZ_STORE_CALL_PUT_NEW; static. */
const char *fz_store_call_name(fz_store_call call);

#endif
