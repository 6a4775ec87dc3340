// SPDX-License-Identifier: Apache-2.0
// Dead letters to a Kafka topic (dead_letter.topic): at least once, with coordinates to
// de-duplicate by.
#ifndef FZ_FLOW_INGEST_LETTERS_TOPIC_H
#define FZ_FLOW_INGEST_LETTERS_TOPIC_H

#include "flow/ingest/stream.h"

/** A lane's producer for one stream. */
typedef struct fz_letters_topic fz_letters_topic;

/** Errors: INVALID of the client's configuration. */
FZ_CHECKED fz_code fz_letters_topic_new(fz_stream *stream, fz_letters_topic **out, fz_err *err);
/** NULL allowed. */
void fz_letters_topic_free(fz_letters_topic *topic);
/**
 * Queue a bad record as it is: key, value, timestamp, its headers and frazil.topic,
 * frazil.partition, frazil.offset, frazil.generation, frazil.error, frazil.message.
 */
FZ_CHECKED fz_code fz_letters_topic_send(fz_letters_topic *topic, const fz_stream_part *part,
                                         const fz_record *record, const fz_err *why, fz_err *err);
/** Wait until all are in the topic; before the commit that moves past their records. */
FZ_CHECKED fz_code fz_letters_topic_flush(fz_letters_topic *topic, fz_err *err);

#endif
