// SPDX-License-Identifier: Apache-2.0
// The wrappers of the source interface.
#include "io/kafka/source.h"

#include "base/codec/hash.h"
#include "base/memory.h"

fz_code fz_source_cluster_id(fz_source *source, fz_buf *out, fz_err *err) {
    return source->ops->cluster_id(source, out, err);
}

fz_code fz_source_topics(fz_source *source, void (*each)(void *opaque, fz_str topic), void *opaque,
                         fz_err *err) {
    return source->ops->topics(source, each, opaque, err);
}

fz_code fz_source_partitions(fz_source *source, fz_str topic, int32_t *count, fz_err *err) {
    FZ_ASSERT(topic.size > 0 && count);
    return source->ops->partitions(source, topic, count, err);
}

fz_code fz_source_bounds(fz_source *source, fz_str topic, int32_t partition, int64_t *low,
                         int64_t *end, fz_err *err) {
    FZ_ASSERT(topic.size > 0 && partition >= 0 && low && end);
    return source->ops->bounds(source, topic, partition, low, end, err);
}

fz_code fz_source_offset_at(fz_source *source, fz_str topic, int32_t partition,
                            int64_t timestamp_ms, int64_t *offset, fz_err *err) {
    FZ_ASSERT(topic.size > 0 && partition >= 0 && offset);
    return source->ops->offset_at(source, topic, partition, timestamp_ms, offset, err);
}

fz_code fz_source_probe(fz_source *source, fz_probe *probes, size_t count, int64_t timeout_ms,
                        fz_err *err) {
    return count == 0 ? FZ_OK : source->ops->probe(source, probes, count, timeout_ms, err);
}

fz_code fz_source_subscribe(fz_source *source, const fz_str *topics, size_t count,
                            const fz_source_listener *listener, fz_err *err) {
    FZ_ASSERT(count > 0 && listener);
    return source->ops->subscribe(source, topics, count, listener, err);
}

void fz_source_serve(fz_source *source, int64_t timeout_ms) {
    source->ops->serve(source, timeout_ms);
}

fz_code fz_source_open(fz_source *source, fz_str topic, int32_t partition, int64_t offset,
                       fz_reader **out, fz_err *err) {
    FZ_ASSERT(topic.size > 0 && partition >= 0 && offset >= 0 && out);
    return source->ops->open(source, topic, partition, offset, out, err);
}

void fz_source_close(fz_source *source, fz_reader *reader) {
    if (reader) {
        source->ops->close(source, reader);
    }
}

void fz_source_close_all(fz_source *source, fz_reader *const *readers, size_t count) {
    if (source->ops->close_all && count > 0) {
        source->ops->close_all(source, readers, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fz_source_close(source, readers[i]);
    }
}

void fz_reader_on_wake(fz_reader *reader, void (*wake)(void *opaque), void *opaque) {
    reader->wake_opaque = opaque;
    reader->wake = wake;
}

fz_code fz_reader_fetch(fz_reader *reader, size_t limit, fz_fetch *out, fz_err *err) {
    FZ_ASSERT(limit > 0 && out->count == 0);
    out->source = reader->source;
    return reader->source->ops->fetch(reader, limit, out, err);
}

void fz_fetch_release(fz_fetch *fetch) {
    if (fetch->source) {
        fetch->source->ops->release(fetch->source, fetch);
    }
    fetch->count = fetch->native_count = 0;
    fetch->bytes = 0;
    fetch->end = false;
}

void fz_fetch_deinit(fz_fetch *fetch) {
    fz_fetch_release(fetch);
    fz_free(fetch->records);
    fz_free(fetch->natives);
    memset(fetch, 0, sizeof *fetch);
}

bool fz_record_header(fz_source *source, const fz_record *record, size_t index, fz_str *name,
                      fz_str *value, bool *is_null) {
    return source->ops->header(record, index, name, value, is_null);
}

uint64_t fz_record_hash(const fz_record *record) {
    uint64_t parts[3] = {fz_xxh3_64(record->key, record->key_size),
                         fz_xxh3_64(record->value, record->value_size),
                         (uint64_t)record->timestamp_ms};
    return fz_xxh3_64(parts, sizeof parts);
}

void fz_source_commit(fz_source *source, const fz_assignment *items, size_t count,
                      fz_str metadata) {
    source->ops->commit(source, items, count, metadata);
}

void fz_source_leave(fz_source *source) {
    source->ops->leave(source);
}

void fz_source_free(fz_source *source) {
    if (source) {
        source->ops->free(source);
    }
}
