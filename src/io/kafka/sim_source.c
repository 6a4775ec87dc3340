// SPDX-License-Identifier: Apache-2.0
// A source in memory.
#include "io/kafka/sim_source.h"

#include "base/memory.h"
#include "base/thread.h"
#include "base/vec.h"

typedef struct sim_entry {
    fz_record record;
    fz_kafka_sim_header *headers;
    size_t header_count;
} sim_entry;

typedef struct sim_part {
    FZ_VEC(sim_entry *) entries; // offsets rise
    int64_t low;
    int64_t end;
    int64_t stable; // -1: end
    int64_t group_offset;
    bool assigned; // the group's listener knows it
} sim_part;

typedef struct sim_topic {
    char *name;
    FZ_VEC(sim_part) parts;
} sim_topic;

typedef struct sim_reader {
    fz_reader reader;
    char *topic;
    int64_t told_end; // end that was told last, -1: none
} sim_reader;

typedef struct sim_fault {
    int64_t calls;
    int skip, count;
    fz_code code;
} sim_fault;

typedef struct sim_source {
    fz_source source;
    fz_mutex mutex; // guards all below
    fz_cond cond;   // something for serve
    char *cluster_id;
    FZ_VEC(sim_topic *) topics;
    FZ_VEC(sim_reader *) readers;
    FZ_VEC(sim_entry *) all; // what was ever appended; borrowed by fetches
    sim_fault faults[FZ_KAFKA_SIM_FETCH + 1];
    int64_t next_assignment;
    FZ_VEC(char *) subscribed;
    const fz_source_listener *listener;
} sim_source;

static sim_source *of(fz_source *source) {
    return (sim_source *)source;
}

// --- finding; all under the mutex

static sim_topic *topic_find(sim_source *source, fz_str name) {
    for (size_t i = 0; i < source->topics.count; i++) {
        if (fz_str_equal(fz_str_from(source->topics.data[i]->name), name)) {
            return source->topics.data[i];
        }
    }
    return NULL;
}

static sim_part *part_find(sim_source *source, fz_str name, int32_t partition) {
    sim_topic *topic = topic_find(source, name);
    return topic && (size_t)partition < topic->parts.count ? &topic->parts.data[partition] : NULL;
}

static fz_code no_topic(fz_str topic, int32_t partition, fz_err *err) {
    return partition < 0 ? fz_err_set_kind(err, FZ_NOT_FOUND, "no_topic",
                                           "no such topic \"%.*s\" at \"sim\"", FZ_STR_ARGS(topic))
                         : fz_err_set_kind(err, FZ_NOT_FOUND, "no_topic",
                                           "no partition %d of topic \"%.*s\" at \"sim\"",
                                           partition, FZ_STR_ARGS(topic));
}

static int64_t visible_end(const sim_part *part) {
    return part->stable >= 0 && part->stable < part->end ? part->stable : part->end;
}

/** Index of the first entry at or above. */
static size_t entry_at(const sim_part *part, int64_t offset) {
    size_t from = 0, to = part->entries.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (part->entries.data[middle]->record.offset < offset) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/** Count a call; the error that is due. */
static fz_code due(sim_source *source, fz_kafka_sim_call call, const char *what, fz_err *err) {
    const fz_kafka_sim_call both[] = {FZ_KAFKA_SIM_ANY, call};
    fz_code code = FZ_OK;
    for (size_t i = 0; i < FZ_COUNT(both); i++) {
        sim_fault *fault = &source->faults[both[i]];
        fault->calls++;
        if (fault->skip > 0) {
            fault->skip--;
        } else if (fault->count > 0) {
            fault->count--;
            code = fault->code;
        }
    }
    return code == FZ_OK
               ? FZ_OK
               : fz_err_set(err, code, "cannot %s: no answer from the Kafka brokers at \"sim\"",
                            what);
}

// --- questions

static fz_code sim_cluster_id(fz_source *base, fz_buf *out, fz_err *err) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_CLUSTER_ID, "connect", err);
    if (code == FZ_OK) {
        fz_buf_append_str(out, fz_str_from(source->cluster_id));
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static fz_code sim_topics(fz_source *base, void (*each)(void *opaque, fz_str topic), void *opaque,
                          fz_err *err) {
    sim_source *source = of(base);
    FZ_VEC(char *) names = {0};
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_TOPICS, "list the topics", err);
    for (size_t i = 0; code == FZ_OK && i < source->topics.count; i++) {
        fz_vec_push(&names, fz_str_dup(fz_str_from(source->topics.data[i]->name)));
    }
    fz_mutex_unlock(&source->mutex);
    for (size_t i = 0; i < names.count; i++) {
        each(opaque, fz_str_from(names.data[i]));
        fz_free(names.data[i]);
    }
    fz_vec_deinit(&names);
    return code;
}

static fz_code sim_partitions(fz_source *base, fz_str topic, int32_t *count, fz_err *err) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_PARTITIONS, "find a topic", err);
    if (code == FZ_OK) {
        const sim_topic *found = topic_find(source, topic);
        if (found) {
            *count = (int32_t)found->parts.count;
        } else {
            code = no_topic(topic, -1, err);
        }
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static fz_code sim_bounds(fz_source *base, fz_str topic, int32_t partition, int64_t *low,
                          int64_t *end, fz_err *err) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_BOUNDS, "ask for the offsets of a partition", err);
    if (code == FZ_OK) {
        const sim_part *part = part_find(source, topic, partition);
        if (part) {
            *low = part->low;
            *end = visible_end(part);
        } else {
            code = no_topic(topic, partition, err);
        }
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static fz_code sim_offset_at(fz_source *base, fz_str topic, int32_t partition, int64_t timestamp_ms,
                             int64_t *offset, fz_err *err) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_OFFSET_AT, "find the offset of a time", err);
    const sim_part *part = part_find(source, topic, partition);
    if (code == FZ_OK && !part) {
        code = no_topic(topic, partition, err);
    }
    if (code == FZ_OK) {
        *offset = visible_end(part);
        for (size_t i = 0; i < part->entries.count; i++) {
            const fz_record *record = &part->entries.data[i]->record;
            if (record->timestamp_ms >= timestamp_ms && record->offset < *offset) {
                *offset = record->offset;
                break;
            }
        }
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static void probe_one(sim_source *source, fz_probe *probe) {
    const sim_part *part = part_find(source, probe->topic, probe->partition);
    probe->found = probe->out_of_range = false;
    if (!part) {
        return;
    }
    if (probe->at < part->low || probe->at > part->end) {
        probe->out_of_range = true;
        return;
    }
    size_t at = entry_at(part, probe->at);
    if (at < part->entries.count && part->entries.data[at]->record.offset < visible_end(part)) {
        const fz_record *record = &part->entries.data[at]->record;
        probe->found = true;
        probe->offset = record->offset;
        probe->timestamp_ms = record->timestamp_ms;
        probe->hash = fz_record_hash(record);
    }
}

static fz_code sim_probe(fz_source *base, fz_probe *probes, size_t count, int64_t timeout_ms,
                         fz_err *err) {
    (void)timeout_ms;
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_PROBE, "look at single records", err);
    for (size_t i = 0; code == FZ_OK && i < count; i++) {
        probe_one(source, &probes[i]);
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

// --- readers

static fz_code sim_open(fz_source *base, fz_str topic, int32_t partition, int64_t offset,
                        fz_reader **out, fz_err *err) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_OPEN, "assign a partition", err);
    if (code == FZ_OK) {
        for (size_t i = 0; i < source->readers.count; i++) {
            const fz_reader *open = &source->readers.data[i]->reader;
            FZ_ASSERT(open->partition != partition || !fz_str_equal(open->topic, topic));
        }
        sim_reader *reader = (sim_reader *)fz_calloc(1, sizeof *reader);
        reader->topic = fz_str_dup(topic);
        reader->told_end = -1;
        reader->reader = (fz_reader){.source = base,
                                     .topic = fz_str_from(reader->topic),
                                     .partition = partition,
                                     .assignment = ++source->next_assignment,
                                     .position = offset};
        fz_vec_push(&source->readers, reader);
        *out = &reader->reader;
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static void sim_close(fz_source *base, fz_reader *closing) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->readers.count; i++) {
        if (&source->readers.data[i]->reader == closing) {
            source->readers.data[i] = source->readers.data[--source->readers.count];
            break;
        }
    }
    fz_mutex_unlock(&source->mutex);
    fz_free(((sim_reader *)closing)->topic);
    fz_free(closing);
}

static fz_code take(sim_reader *reader, const sim_part *part, size_t limit, fz_fetch *out,
                    fz_err *err) {
    int64_t end = visible_end(part);
    fz_reader *base = &reader->reader;
    if (base->position < part->low || base->position > part->end) {
        return fz_err_set_kind(
            err, FZ_NOT_FOUND, "log_changed",
            "cannot read topic \"%s\" partition %d offset %lld: offset out of range, "
            "the log holds %lld to %lld",
            reader->topic, base->partition, (long long)base->position, (long long)part->low,
            (long long)part->end);
    }
    for (size_t i = entry_at(part, base->position); i < part->entries.count && out->count < limit;
         i++) {
        const fz_record *record = &part->entries.data[i]->record;
        if (record->offset >= end) {
            break;
        }
        out->records[out->count++] = *record;
        out->bytes += (int64_t)(record->key_size + record->value_size);
        base->position = record->offset + 1;
        reader->told_end = -1;
    }
    size_t next = entry_at(part, base->position);
    bool at_end = next == part->entries.count || part->entries.data[next]->record.offset >= end;
    if (at_end && base->position <= end && out->count < limit && reader->told_end != end) {
        out->end = true;
        out->end_offset = end;
        reader->told_end = end;
        base->position = end;
    }
    return FZ_OK;
}

static fz_code sim_fetch(fz_reader *base, size_t limit, fz_fetch *out, fz_err *err) {
    sim_source *source = of(base->source);
    if (out->capacity < limit) {
        out->records = (fz_record *)fz_realloc(out->records, limit, sizeof *out->records);
        out->capacity = limit;
    }
    fz_mutex_lock(&source->mutex);
    fz_code code = due(source, FZ_KAFKA_SIM_FETCH, "read a partition", err);
    if (code == FZ_OK) {
        const sim_part *part = part_find(source, base->topic, base->partition);
        code = part ? take((sim_reader *)base, part, limit, out, err)
                    : no_topic(base->topic, base->partition, err);
    }
    fz_mutex_unlock(&source->mutex);
    return code;
}

static void sim_release(fz_source *base, fz_fetch *fetch) {
    (void)base; // records stay until the source is freed
    (void)fetch;
}

static bool sim_header(const fz_record *record, size_t index, fz_str *name, fz_str *value,
                       bool *is_null) {
    const sim_entry *entry = (const sim_entry *)record->native;
    if (index >= entry->header_count) {
        return false;
    }
    *name = entry->headers[index].name;
    *value = entry->headers[index].value;
    *is_null = entry->headers[index].is_null;
    return true;
}

// --- the group

static fz_code sim_subscribe(fz_source *base, const fz_str *topics, size_t count,
                             const fz_source_listener *listener, fz_err *err) {
    (void)err;
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->subscribed.count; i++) {
        fz_free(source->subscribed.data[i]);
    }
    fz_vec_reset(&source->subscribed);
    for (size_t i = 0; i < count; i++) {
        fz_vec_push(&source->subscribed, fz_str_dup(topics[i]));
    }
    source->listener = listener;
    fz_mutex_unlock(&source->mutex);
    return FZ_OK;
}

typedef FZ_VEC(fz_assignment) sim_assignments;

static bool is_subscribed(const sim_source *source, const char *topic) {
    for (size_t i = 0; i < source->subscribed.count; i++) {
        if (strcmp(source->subscribed.data[i], topic) == 0) {
            return true;
        }
    }
    return false;
}

static fz_reader *reader_find(const sim_source *source, const char *topic, int32_t partition) {
    for (size_t i = 0; i < source->readers.count; i++) {
        sim_reader *reader = source->readers.data[i];
        if (reader->reader.partition == partition && strcmp(reader->topic, topic) == 0) {
            return &reader->reader;
        }
    }
    return NULL;
}

/** Partitions that change hands: given if subscribed and not assigned, taken if assigned and not
 * subscribed (or all). */
static void collect(sim_source *source, bool give, bool all, sim_assignments *out) {
    for (size_t t = 0; t < source->topics.count; t++) {
        sim_topic *topic = source->topics.data[t];
        bool wanted = !all && is_subscribed(source, topic->name);
        for (size_t p = 0; p < topic->parts.count; p++) {
            sim_part *part = &topic->parts.data[p];
            if (wanted != give || part->assigned == give) {
                continue;
            }
            part->assigned = give;
            fz_assignment item = {fz_str_from(fz_str_dup(fz_str_from(topic->name))), (int32_t)p, -1,
                                  give ? NULL : reader_find(source, topic->name, (int32_t)p)};
            fz_vec_push(out, item);
        }
    }
}

static void assignments_deinit(sim_assignments *items) {
    for (size_t i = 0; i < items->count; i++) {
        fz_free((void *)(uintptr_t)items->data[i].topic.data);
    }
    fz_vec_deinit(items);
}

static bool hand_over(sim_source *source, bool give, bool all) {
    sim_assignments items = {0};
    fz_mutex_lock(&source->mutex);
    const fz_source_listener *listener = source->listener;
    if (listener) {
        collect(source, give, all, &items);
    }
    fz_mutex_unlock(&source->mutex);
    bool any = items.count > 0;
    if (any && give) {
        listener->assigned(listener->opaque, items.data, items.count);
    } else if (any) {
        listener->revoked(listener->opaque, items.data, items.count, false);
        for (size_t i = 0; i < items.count; i++) {
            fz_mutex_lock(&source->mutex); // the listener may have closed it
            fz_reader *left =
                reader_find(source, items.data[i].topic.data, items.data[i].partition);
            fz_mutex_unlock(&source->mutex);
            fz_source_close(&source->source, left);
        }
    }
    assignments_deinit(&items);
    return any;
}

static void sim_serve(fz_source *base, int64_t timeout_ms) {
    sim_source *source = of(base);
    bool taken = hand_over(source, false, false);
    bool given = hand_over(source, true, false);
    if (!taken && !given && timeout_ms > 0) {
        fz_mutex_lock(&source->mutex);
        fz_cond_wait_ms(&source->cond, &source->mutex, timeout_ms);
        fz_mutex_unlock(&source->mutex);
    }
}

static void sim_commit(fz_source *base, const fz_assignment *items, size_t count, fz_str metadata) {
    (void)metadata;
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < count; i++) {
        sim_part *part = part_find(source, items[i].topic, items[i].partition);
        if (part) {
            part->group_offset = items[i].offset;
        }
    }
    fz_mutex_unlock(&source->mutex);
}

static void sim_leave(fz_source *base) {
    sim_source *source = of(base);
    hand_over(source, false, true);
    fz_mutex_lock(&source->mutex);
    source->listener = NULL;
    fz_mutex_unlock(&source->mutex);
}

// --- life

static void topic_free(sim_topic *topic) {
    for (size_t p = 0; p < topic->parts.count; p++) {
        fz_vec_deinit(&topic->parts.data[p].entries);
    }
    fz_vec_deinit(&topic->parts);
    fz_free(topic->name);
    fz_free(topic);
}

static void entry_free(sim_entry *entry) {
    for (size_t i = 0; i < entry->header_count; i++) {
        fz_free((void *)(uintptr_t)entry->headers[i].name.data);
        fz_free((void *)(uintptr_t)entry->headers[i].value.data);
    }
    fz_free(entry->headers);
    fz_free((void *)(uintptr_t)entry->record.key);
    fz_free((void *)(uintptr_t)entry->record.value);
    fz_free(entry);
}

static void sim_free(fz_source *base) {
    sim_source *source = of(base);
    FZ_ASSERT(source->readers.count == 0);
    for (size_t i = 0; i < source->topics.count; i++) {
        topic_free(source->topics.data[i]);
    }
    for (size_t i = 0; i < source->all.count; i++) {
        entry_free(source->all.data[i]);
    }
    for (size_t i = 0; i < source->subscribed.count; i++) {
        fz_free(source->subscribed.data[i]);
    }
    fz_vec_deinit(&source->topics);
    fz_vec_deinit(&source->readers);
    fz_vec_deinit(&source->all);
    fz_vec_deinit(&source->subscribed);
    fz_free(source->cluster_id);
    fz_cond_deinit(&source->cond);
    fz_mutex_deinit(&source->mutex);
    fz_free(source);
}

static const fz_source_ops sim_ops = {
    .name = "sim",
    .cluster_id = sim_cluster_id,
    .topics = sim_topics,
    .partitions = sim_partitions,
    .bounds = sim_bounds,
    .offset_at = sim_offset_at,
    .probe = sim_probe,
    .subscribe = sim_subscribe,
    .serve = sim_serve,
    .open = sim_open,
    .close = sim_close,
    .fetch = sim_fetch,
    .release = sim_release,
    .header = sim_header,
    .commit = sim_commit,
    .leave = sim_leave,
    .free = sim_free,
};

fz_source *fz_kafka_sim_source_new(fz_str cluster_id) {
    sim_source *source = (sim_source *)fz_calloc(1, sizeof *source);
    source->source.ops = &sim_ops;
    source->cluster_id = fz_str_dup(cluster_id);
    fz_mutex_init(&source->mutex);
    fz_cond_init(&source->cond);
    return &source->source;
}

// --- what tests do to it

/** Unlock, then tell the readers of a partition (all of the topic: -1) that something is there. */
static void unlock_and_wake(sim_source *source, fz_str topic, int32_t partition) {
    typedef struct wish {
        void (*wake)(void *opaque);
        void *opaque;
    } wish;
    FZ_VEC(wish) wishes = {0};
    for (size_t i = 0; i < source->readers.count; i++) {
        const fz_reader *reader = &source->readers.data[i]->reader;
        if (reader->wake && fz_str_equal(reader->topic, topic) &&
            (partition < 0 || reader->partition == partition)) {
            wish one = {reader->wake, reader->wake_opaque};
            fz_vec_push(&wishes, one);
        }
    }
    fz_cond_broadcast(&source->cond);
    fz_mutex_unlock(&source->mutex);
    for (size_t i = 0; i < wishes.count; i++) {
        wishes.data[i].wake(wishes.data[i].opaque); // may fetch
    }
    fz_vec_deinit(&wishes);
}

/** Lock and find a partition that is there. */
static sim_part *lock_part(fz_source *base, fz_str topic, int32_t partition) {
    fz_mutex_lock(&of(base)->mutex);
    sim_part *part = part_find(of(base), topic, partition);
    FZ_ASSERT(part);
    return part;
}

static void add_parts(sim_topic *topic, int32_t partitions) {
    while (topic->parts.count < (size_t)partitions) {
        sim_part part = {.stable = -1, .group_offset = -1};
        fz_vec_push(&topic->parts, part);
    }
}

void fz_kafka_sim_source_create(fz_source *base, fz_str topic, int32_t partitions) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    FZ_ASSERT(!topic_find(source, topic));
    sim_topic *made = (sim_topic *)fz_calloc(1, sizeof *made);
    made->name = fz_str_dup(topic);
    add_parts(made, partitions);
    fz_vec_push(&source->topics, made);
    unlock_and_wake(source, topic, -1);
}

void fz_kafka_sim_source_drop(fz_source *base, fz_str topic) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->topics.count; i++) {
        if (fz_str_equal(fz_str_from(source->topics.data[i]->name), topic)) {
            topic_free(source->topics.data[i]);
            source->topics.data[i] = source->topics.data[--source->topics.count];
            break;
        }
    }
    unlock_and_wake(source, topic, -1);
}

void fz_kafka_sim_source_grow(fz_source *base, fz_str topic, int32_t partitions) {
    sim_source *source = of(base);
    fz_mutex_lock(&source->mutex);
    sim_topic *found = topic_find(source, topic);
    FZ_ASSERT(found);
    add_parts(found, partitions);
    unlock_and_wake(source, topic, -1);
}

static fz_str keep(fz_str text) {
    return fz_str_make(fz_memdup0(text.data ? text.data : "", text.size), text.size);
}

static sim_entry *entry_new(const fz_kafka_sim_record *record, int64_t offset) {
    sim_entry *entry = (sim_entry *)fz_calloc(1, sizeof *entry);
    fz_record *kept = &entry->record;
    kept->offset = offset;
    kept->timestamp_ms = record->timestamp_ms;
    kept->timestamp_type = record->timestamp_type;
    kept->leader_epoch = record->leader_epoch;
    kept->native = entry;
    if (record->key) {
        kept->key = (const uint8_t *)fz_memdup0(record->key, record->key_size);
        kept->key_size = record->key_size;
    }
    if (record->value) {
        kept->value = (const uint8_t *)fz_memdup0(record->value, record->value_size);
        kept->value_size = record->value_size;
    }
    entry->header_count = record->header_count;
    entry->headers =
        (fz_kafka_sim_header *)fz_calloc(record->header_count + 1, sizeof *entry->headers);
    for (size_t i = 0; i < record->header_count; i++) {
        const fz_kafka_sim_header *header = &record->headers[i];
        entry->headers[i] = (fz_kafka_sim_header){
            keep(header->name), header->is_null ? (fz_str){NULL, 0} : keep(header->value),
            header->is_null};
    }
    return entry;
}

int64_t fz_kafka_sim_source_append(fz_source *base, fz_str topic, int32_t partition,
                                   const fz_kafka_sim_record *record) {
    sim_part *part = lock_part(base, topic, partition);
    int64_t offset = part->end++;
    sim_entry *entry = entry_new(record, offset);
    fz_vec_push(&part->entries, entry);
    fz_vec_push(&of(base)->all, entry);
    unlock_and_wake(of(base), topic, partition);
    return offset;
}

void fz_kafka_sim_source_gap(fz_source *base, fz_str topic, int32_t partition, int64_t count) {
    sim_part *part = lock_part(base, topic, partition);
    part->end += count;
    unlock_and_wake(of(base), topic, partition);
}

/** Forget entries [from, to) of a partition. */
static void forget(sim_part *part, size_t from, size_t to) {
    size_t behind = part->entries.count - to;
    if (behind > 0) {
        memmove(part->entries.data + from, part->entries.data + to, behind * sizeof(sim_entry *));
    }
    part->entries.count = from + behind;
}

void fz_kafka_sim_source_remove(fz_source *base, fz_str topic, int32_t partition, int64_t offset) {
    sim_part *part = lock_part(base, topic, partition);
    size_t at = entry_at(part, offset);
    if (at < part->entries.count && part->entries.data[at]->record.offset == offset) {
        forget(part, at, at + 1);
    }
    unlock_and_wake(of(base), topic, partition);
}

void fz_kafka_sim_source_truncate_head(fz_source *base, fz_str topic, int32_t partition,
                                       int64_t low) {
    sim_part *part = lock_part(base, topic, partition);
    forget(part, 0, entry_at(part, low));
    part->low = low;
    part->end = part->end > low ? part->end : low;
    unlock_and_wake(of(base), topic, partition);
}

void fz_kafka_sim_source_truncate_tail(fz_source *base, fz_str topic, int32_t partition,
                                       int64_t end) {
    sim_part *part = lock_part(base, topic, partition);
    forget(part, entry_at(part, end), part->entries.count);
    part->end = end;
    part->low = part->low < end ? part->low : end;
    unlock_and_wake(of(base), topic, partition);
}

void fz_kafka_sim_source_set_stable(fz_source *base, fz_str topic, int32_t partition, int64_t end) {
    sim_part *part = lock_part(base, topic, partition);
    part->stable = end;
    unlock_and_wake(of(base), topic, partition);
}

void fz_kafka_sim_source_fail(fz_source *base, fz_kafka_sim_call call, int skip, int count,
                              fz_code code) {
    fz_mutex_lock(&of(base)->mutex);
    sim_fault *fault = &of(base)->faults[call];
    fault->skip = skip;
    fault->count = count;
    fault->code = code;
    fz_mutex_unlock(&of(base)->mutex);
}

int64_t fz_kafka_sim_source_calls(fz_source *base, fz_kafka_sim_call call) {
    fz_mutex_lock(&of(base)->mutex);
    int64_t calls = of(base)->faults[call].calls;
    fz_mutex_unlock(&of(base)->mutex);
    return calls;
}

int64_t fz_kafka_sim_source_group_offset(fz_source *base, fz_str topic, int32_t partition) {
    sim_part *part = lock_part(base, topic, partition);
    int64_t offset = part->group_offset;
    fz_mutex_unlock(&of(base)->mutex);
    return offset;
}

size_t fz_kafka_sim_source_readers(fz_source *base) {
    fz_mutex_lock(&of(base)->mutex);
    size_t count = of(base)->readers.count;
    fz_mutex_unlock(&of(base)->mutex);
    return count;
}
