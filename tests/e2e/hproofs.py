# SPDX-License-Identifier: Apache-2.0
"""What the proofs of Avro share: records with keys and headers, the rows of a table by coordinates, dead letters."""
import os

import havro
from harness import DIR, Frazil

CONFIG = """
kafka:
  bootstrap_servers: %s
  group_id: %s
schema_registry:
  url: %s
server:
  listen: off
%stableflow:
- topic: %s
  commit_interval: 500ms
"""


def make(kafka, registry, topic, more="", partitions=1, top="", directory=None):
    """a topic and the program for it; `more` are lines of the entry, indented by two"""
    kafka.create(topic, partitions)
    config = CONFIG % (kafka.bootstrap, topic, registry.url, top, topic) + more
    return Frazil(directory or os.path.join(DIR, topic), config)


def framed(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def produce(kafka, topic, records):
    """records: (partition, value) or (partition, value, key, headers, timestamp) -> [(partition, offset)] in their order"""
    from confluent_kafka import Producer
    p = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "log_level": 3, "linger.ms": 5,
                  "queue.buffering.max.messages": 1000000})
    places, failures = [None] * len(records), []

    def done(number):
        def report(error, message):
            if error:
                failures.append(error)
            else:
                places[number] = (message.partition(), message.offset())
        return report

    for n, r in enumerate(records):
        partition, value, key, headers, timestamp = (tuple(r) + (None, None, 0))[:5] if len(r) < 5 else r
        p.produce(topic, value, key=key, partition=partition, headers=headers, timestamp=timestamp or 0, on_delivery=done(n))
        p.poll(0)
    assert p.flush(60) == 0 and not failures, "not produced: %s" % failures[:3]
    return places


def produce_with_headers(kafka, topic, value, headers):
    """one record to partition 0 with headers of any bytes: the Python client takes only text for their names, so its C library is asked"""
    import ctypes
    lib, text = ctypes.CDLL("librdkafka.so.1"), ctypes.create_string_buffer(512)
    lib.rd_kafka_conf_new.restype = lib.rd_kafka_new.restype = ctypes.c_void_p
    conf = ctypes.c_void_p(lib.rd_kafka_conf_new())
    assert lib.rd_kafka_conf_set(conf, b"bootstrap.servers", kafka.bootstrap.encode(), text, 512) == 0, text.value
    rk = ctypes.c_void_p(lib.rd_kafka_new(0, conf, text, 512))
    topic_tag, partition_tag, value_tag, flags_tag, header_tag, end = 1, 3, 4, 7, 9, 0
    args = [topic_tag, topic.encode(), partition_tag, 0, flags_tag, 2, value_tag, value, ctypes.c_size_t(len(value))]
    for name, data in headers:
        args += [header_tag, name, data, ctypes.c_ssize_t(len(data) if data is not None else 0)]
    assert lib.rd_kafka_producev(rk, *args, end) == 0 and lib.rd_kafka_flush(rk, 20000) == 0
    lib.rd_kafka_destroy(rk)


def rows(frazil, name, row_filter=None):
    """{(partition, offset): canonical row}"""
    scan = frazil.table(name).scan(row_filter=row_filter) if row_filter is not None else frazil.table(name).scan()
    return havro.table_rows(scan.to_arrow())


def differences(found, wanted, limit=3):
    """what is lost, invented or of another value, at most `limit` of each"""
    out = ["lost %d:%d" % p for p in sorted(wanted.keys() - found.keys())[:limit]]
    out += ["invented %d:%d" % p for p in sorted(found.keys() - wanted.keys())[:limit]]
    other = [p for p in sorted(wanted.keys() & found.keys()) if not havro.same(wanted[p], found[p])]
    out += ["%d:%d is %r, wanted %r" % (*p, found[p], wanted[p]) for p in other[:limit]]
    return out


def letters(frazil, name):
    """{(partition, offset): the dead letter as a dict}"""
    out = {}
    for letter in frazil.table(name).scan().to_arrow().to_pylist():
        place = (letter["partition"], letter["offset"])
        if place in out:
            raise ValueError("two letters of partition %d offset %d" % place)
        out[place] = letter
    return out


def part(tally, function, *args):
    """a part that breaks is one failed check"""
    try:
        function(tally, *args)
    except Exception as e:
        import traceback
        traceback.print_exc()
        tally.check("%s ran to its end" % function.__name__, False, "%s: %s" % (type(e).__name__, str(e)[:400]))
