// SPDX-License-Identifier: Apache-2.0
// Where records come from: partitions with bounds, readers with an assignment number, a group.
#ifndef FZ_IO_KAFKA_SOURCE_H
#define FZ_IO_KAFKA_SOURCE_H

#include "base/error.h"
#include "base/buf.h"

typedef struct fz_source fz_source;
typedef struct fz_reader fz_reader;

/** One record, borrowed from its fetch. */
typedef struct fz_record {
    int64_t offset;
    int64_t timestamp_ms; // -1: none
    const uint8_t *key;   // NULL: null key
    size_t key_size;
    const uint8_t *value; // NULL: tombstone
    size_t value_size;
    int32_t leader_epoch;  // -1: not told by this client
    int8_t timestamp_type; // 0 none, 1 CreateTime, 2 LogAppendTime
    void *native;          // the implementation's
} fz_record;

/** What one call of fz_reader_fetch gave; released by fz_fetch_release. */
typedef struct fz_fetch {
    fz_record *records;
    size_t count;
    int64_t bytes;      // keys and values
    bool end;           // the end of the partition was reached behind these records
    int64_t end_offset; // with `end`: the position there, above any control records
    void **natives;     // the implementation's
    size_t native_count;
    size_t capacity;
    fz_source *source;
} fz_fetch;

/** A partition that the group gave or takes, or that a caller opens. */
typedef struct fz_assignment {
    fz_str topic; // borrowed during the call
    int32_t partition;
    int64_t offset;    // commit: the position
    fz_reader *reader; // revoked: the open reader, NULL if there is none
} fz_assignment;

/** Called from the thread that runs fz_source_serve. */
typedef struct fz_source_listener {
    void *opaque;
    /** Partitions that the group gave; read them with fz_source_open when their position is known.
     */
    void (*assigned)(void *opaque, const fz_assignment *items, size_t count);
    /** Must be off the readers when it returns (10 s at most to commit what is held); the source
     * closes them. lost: others may have them already. */
    void (*revoked)(void *opaque, const fz_assignment *items, size_t count, bool lost);
    /** Something about the connection or group: code, err->kind and text. */
    void (*trouble)(void *opaque, const fz_err *err, bool fatal);
} fz_source_listener;

/** One question of fz_source_probe and its answer. */
typedef struct fz_probe {
    fz_str topic;
    int32_t partition;
    int64_t at;        // first record at or above this offset
    bool found;        // false: nothing there before the end, or not answered in time
    bool out_of_range; // the log does not reach there
    int64_t offset;
    int64_t timestamp_ms;
    uint64_t hash; // fz_record_hash
} fz_probe;

typedef struct fz_source_ops {
    const char *name;
    fz_code (*cluster_id)(fz_source *source, fz_buf *out, fz_err *err);
    fz_code (*topics)(fz_source *source, void (*each)(void *opaque, fz_str topic), void *opaque,
                      fz_err *err);
    fz_code (*partitions)(fz_source *source, fz_str topic, int32_t *count, fz_err *err);
    fz_code (*bounds)(fz_source *source, fz_str topic, int32_t partition, int64_t *low,
                      int64_t *end, fz_err *err);
    fz_code (*offset_at)(fz_source *source, fz_str topic, int32_t partition, int64_t timestamp_ms,
                         int64_t *offset, fz_err *err);
    fz_code (*probe)(fz_source *source, fz_probe *probes, size_t count, int64_t timeout_ms,
                     fz_err *err);
    fz_code (*subscribe)(fz_source *source, const fz_str *topics, size_t count,
                         const fz_source_listener *listener, fz_err *err);
    void (*serve)(fz_source *source, int64_t timeout_ms);
    fz_code (*open)(fz_source *source, fz_str topic, int32_t partition, int64_t offset,
                    fz_reader **out, fz_err *err);
    void (*close)(fz_source *source, fz_reader *reader);
    void (*close_all)(fz_source *source, fz_reader *const *readers,
                      size_t count); // NULL: one by one
    fz_code (*fetch)(fz_reader *reader, size_t limit, fz_fetch *out, fz_err *err);
    void (*release)(fz_source *source, fz_fetch *fetch);
    bool (*header)(const fz_record *record, size_t index, fz_str *name, fz_str *value,
                   bool *is_null);
    void (*commit)(fz_source *source, const fz_assignment *items, size_t count, fz_str metadata);
    void (*leave)(fz_source *source);
    void (*free)(fz_source *source);
} fz_source_ops;

/** First member of every implementation. */
struct fz_source {
    const fz_source_ops *ops;
};

/** First member of every implementation. One lane at a time uses a reader. */
struct fz_reader {
    fz_source *source;
    fz_str topic;
    int32_t partition;
    int64_t assignment; // number of this assignment; records of others are never delivered
                        // (protocol.md R17)
    int64_t position;   // next offset to be delivered
    // called by any thread when records wait; set once, by fz_reader_on_wake, opaque before it
    void (*_Atomic wake)(void *opaque);
    void *wake_opaque;
};

/** Append the cluster's id, nothing if it has none. UNAVAILABLE: no broker answered, naming the
 * address. */
FZ_CHECKED fz_code fz_source_cluster_id(fz_source *source, fz_buf *out, fz_err *err);
/** Name every topic of the cluster. */
FZ_CHECKED fz_code fz_source_topics(fz_source *source, void (*each)(void *opaque, fz_str topic),
                                    void *opaque, fz_err *err);
/** Number of partitions. NOT_FOUND, kind no_topic. */
FZ_CHECKED fz_code fz_source_partitions(fz_source *source, fz_str topic, int32_t *count,
                                        fz_err *err);
/** First offset, and the stable end (read_committed) or high watermark. Asked of the leader. */
FZ_CHECKED fz_code fz_source_bounds(fz_source *source, fz_str topic, int32_t partition,
                                    int64_t *low, int64_t *end, fz_err *err);
/** First offset whose timestamp is at or above; the end if there is none. */
FZ_CHECKED fz_code fz_source_offset_at(fz_source *source, fz_str topic, int32_t partition,
                                       int64_t timestamp_ms, int64_t *offset, fz_err *err);
/** Look at single records, all in one go, without disturbing readers (protocol.md 5.6, identity).
 */
FZ_CHECKED fz_code fz_source_probe(fz_source *source, fz_probe *probes, size_t count,
                                   int64_t timeout_ms, fz_err *err);
/** Join the consumer group for these topics; `listener` must outlive the source. Calling it again
 * replaces the list. */
FZ_CHECKED fz_code fz_source_subscribe(fz_source *source, const fz_str *topics, size_t count,
                                       const fz_source_listener *listener, fz_err *err);
/** Run callbacks for up to timeout_ms. One thread, regularly, also without a group. */
void fz_source_serve(fz_source *source, int64_t timeout_ms);
/** Read a partition from `offset` under a new assignment number; an open reader of it must be
 * closed first. */
FZ_CHECKED fz_code fz_source_open(fz_source *source, fz_str topic, int32_t partition,
                                  int64_t offset, fz_reader **out, fz_err *err);
/** Forget the reader and what it has queued. NULL allowed. */
void fz_source_close(fz_source *source, fz_reader *reader);
/** As fz_source_close for each, in one go. */
void fz_source_close_all(fz_source *source, fz_reader *const *readers, size_t count);
/** Tell somebody when records wait in an empty reader; before the first fetch. */
void fz_reader_on_wake(fz_reader *reader, void (*wake)(void *opaque), void *opaque);
/**
 * Take up to `limit` waiting records, without waiting. Offsets rise strictly.
 *
 * out  zeroed or used before with this source
 * Errors: NOT_FOUND kind log_changed (position out of range); DENIED; UNAVAILABLE (goes on by
 * itself later). Records that came along with an error are in `out` all the same.
 */
FZ_CHECKED fz_code fz_reader_fetch(fz_reader *reader, size_t limit, fz_fetch *out, fz_err *err);
/** Give the records back; `fetch` keeps its arrays. */
void fz_fetch_release(fz_fetch *fetch);
/** Give the records back and free the arrays. */
void fz_fetch_deinit(fz_fetch *fetch);
/** Header by index; false beyond the last. */
bool fz_record_header(fz_source *source, const fz_record *record, size_t index, fz_str *name,
                      fz_str *value, bool *is_null);
/** What a fingerprint keeps of a record: key, value and timestamp, hashed. */
uint64_t fz_record_hash(const fz_record *record);
/** Tell the group's coordinator positions, for lag monitors only; answers are not waited for. */
void fz_source_commit(fz_source *source, const fz_assignment *items, size_t count, fz_str metadata);
/** Leave the group: revoked is called for what is held. */
void fz_source_leave(fz_source *source);
/** NULL allowed. All readers must be closed. */
void fz_source_free(fz_source *source);

#endif
