#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory within `memory_limit` and 64 MiB, whatever is sent, and nothing lost.

Many open partitions, many columns, a record of 15 MiB among small ones, batches of zstd that explode, many idle topics: each with the
default limit and with 64 MiB. The orders of the load generator stay within 128 MiB. E2E_LONG=1 takes 2,000 partitions and a million orders.
"""
import json, os, sys

import harness
import hpeak
import hproofs
from harness import DIR, FRAZIL, Frazil, Kafka, Tally
from registry import Registry

LONG = os.environ.get("E2E_LONG") == "1"
LIMITS = {"default": 256, "64MiB": 64}
SLACK = 64
ORDERS_PEAK = 128


def measured(frazil):
    """one pass -> (exit code, rows by topic, peak MiB)"""
    path = os.path.join(frazil.directory, "once")
    with open(path + ".stdout", "w+b") as out, open(path + ".stderr", "wb") as err:
        code, _, peak = hpeak.measured([FRAZIL, "run", "--once", "-c", "frazil.yaml", "-o", "json"], frazil.directory, out, err)
        out.seek(0)
        lines = out.read().splitlines()
    report = json.loads(lines[-1]) if lines else {"topics": []}
    return code, {t["topic"]: t.get("rows") for t in report["topics"]}, peak


def bounded(tally, kafka, registry, what, topic, rows, more="", partitions=1):
    """the topic is there; each limit gets an own table"""
    for name, limit in LIMITS.items():
        top = "" if name == "default" else "memory_limit: %s\n" % name
        config = hproofs.CONFIG % (kafka.bootstrap, "%s-%s" % (topic, name), registry.url, top, topic) + more
        frazil = Frazil(os.path.join(DIR, "memory"), config)
        code, found, peak = measured(frazil)
        tally.equal("%s, %s: exit code, rows" % (what, name), (code, found.get(topic)), (0, rows))
        tally.check("%s, %s: peak %d MiB within %d" % (what, name, peak, limit + SLACK), peak <= limit + SLACK)
        if code == 0:
            count = frazil.table("default." + topic).scan(selected_fields=("_kafka.offset",)).count()
            tally.equal("%s, %s: rows that PyIceberg counts" % (what, name), count, rows)


def orders(tally, kafka, registry):
    rows = 1000000 if LONG else 200000
    kafka.create("orders", 4)
    harness.produce(kafka, "orders", rows, 0, registry.register("orders-value", harness.ORDERS))
    frazil = Frazil(os.path.join(DIR, "memory"), hproofs.CONFIG % (kafka.bootstrap, "orders", registry.url, "", "orders"))
    code, found, peak = measured(frazil)
    tally.equal("orders: exit code, rows", (code, found.get("orders")), (0, rows))
    tally.check("orders: peak %d MiB within %d" % (peak, ORDERS_PEAK), peak <= ORDERS_PEAK)


def open_partitions(tally, kafka, registry):
    many, rows = 2000 if LONG else 200, 200000
    schema = {"type": "record", "name": "Spread", "fields": [
        {"name": "n", "type": "int"}, {"name": "id", "type": "long"}, {"name": "text", "type": "string"}]}
    schema_id = registry.register("spread-value", schema)
    kafka.create("spread", 4)
    values = [(i % 4, hproofs.framed(schema_id, harness.avro_long(i * 7919 % many) + harness.avro_long(i) + harness.avro_bytes("row %d " % i * 6)))
              for i in range(rows)]
    hproofs.produce(kafka, "spread", values)
    bounded(tally, kafka, registry, "%d open partitions" % many, "spread", rows, "  partitioning: [n]\n", 4)


def many_columns(tally, kafka, registry):
    columns, rows = 1000, 3000
    schema = {"type": "record", "name": "Wide", "fields": [
        {"name": "c%d" % i, "type": ("long", "string", "double", ["null", "string"])[i % 4]} for i in range(columns)]}
    schema_id = registry.register("wide-value", schema)
    kafka.create("wide", 2)
    parts = []
    for i in range(20): # a few bodies that differ
        body = b"".join((harness.avro_long(i * k), harness.avro_bytes("text %d" % (i * k)), bytes(7) + bytes([i]),
                         harness.avro_long(1) + harness.avro_bytes("v%d" % k))[k % 4] for k in range(columns))
        parts.append(hproofs.framed(schema_id, body))
    hproofs.produce(kafka, "wide", [(n % 2, parts[n % 20]) for n in range(rows)])
    bounded(tally, kafka, registry, "%d columns" % columns, "wide", rows)


def produced(kafka, topic, values, **settings):
    from confluent_kafka import Producer
    p = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 100000000, "log_level": 3, **settings})
    for n, v in enumerate(values):
        while True:
            try:
                p.produce(topic, v, partition=n % 2)
                break
            except BufferError:
                p.poll(0.2)
        p.poll(0)
    assert p.flush(120) == 0


def one_big_record(tally, kafka, registry):
    kafka.create("big", 2, **{"max.message.bytes": "20000000"})
    small = [b"small %d" % i for i in range(20000)]
    big = os.urandom(15 << 20)
    produced(kafka, "big", small[:10001] + [big] + small[10001:])
    bounded(tally, kafka, registry, "a record of 15 MiB", "big", len(small) + 1, "  value: bytes\n")


def exploding(tally, kafka, registry):
    """15 MiB a batch that are 150 KiB on the wire; what one fetch holds is decompressed by the client at once (docs/performance.md)"""
    kafka.create("zeros", 2, **{"max.message.bytes": "20000000"})
    values = [os.urandom(2048) * 128 for _ in range(720)]
    produced(kafka, "zeros", values, **{"compression.type": "zstd", "batch.size": 16000000, "linger.ms": 1000, "batch.num.messages": 60})
    bounded(tally, kafka, registry, "batches that explode", "zeros", len(values), "  value: bytes\n")


def idle_topics(tally, kafka, registry):
    count = 500 if LONG else 100
    from confluent_kafka.admin import AdminClient, NewTopic
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    names = ["idle-%03d" % i for i in range(count)]
    for future in admin.create_topics([NewTopic(n, 1, 1) for n in names]).values():
        future.result(120)
    harness.send(kafka, names[7], [b"one", b"two"])
    for name, limit in LIMITS.items():
        top = "" if name == "default" else "memory_limit: %s\n" % name
        entries = "".join("- topic: %s\n  value: bytes\n" % n for n in names)
        config = (hproofs.CONFIG % (kafka.bootstrap, "idle-" + name, registry.url, top, "TOPIC")).split("- topic")[0] + entries
        code, found, peak = measured(Frazil(os.path.join(DIR, "memory"), config))
        tally.equal("%d topics, %s: exit code, rows" % (count, name), (code, len(found), found.get(names[7])), (0, count, 2))
        tally.check("%d topics, %s: peak %d MiB within %d" % (count, name, peak, limit + SLACK), peak <= limit + SLACK)


def main():
    tally = Tally()
    with Kafka() as kafka, Registry() as registry:
        only = sys.argv[1:]
        for part in (orders, open_partitions, many_columns, one_big_record, exploding, idle_topics):
            if not only or part.__name__ in only:
                hproofs.part(tally, part, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
