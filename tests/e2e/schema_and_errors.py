#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong or changes around the program: new schemas, bad records, no schema, a registry that fails, two workers.

Each part has a topic and a table of its own; all are judged from outside.
"""
import os, signal, sys, time

import harness
from harness import DIR, Frazil, Kafka, Tally, avro_bytes, avro_order, coordinates, judge, kill, produce, send
from registry import Registry

CONFIG = """
kafka:
  bootstrap_servers: %s
  group_id: %s
schema_registry:
  url: %s
server:
  listen: off
tableflow:
  topic: %s
  commit_interval: 500ms
"""
NOTE = dict(harness.ORDERS, fields=harness.ORDERS["fields"] + [{"name": "note", "type": ["null", "string"], "default": None}])


def make(kafka, registry, topic, more="", partitions=1):
    kafka.create(topic, partitions)
    return Frazil(os.path.join(DIR, topic), CONFIG % (kafka.bootstrap, topic, registry.url, topic) + more)


def read(frazil, topic):
    return frazil.table("default." + topic).scan().to_arrow()


def evolution(tally, kafka, registry):
    """a new optional field: a new column, null in older rows; both writers interleave"""
    topic = "evolution"
    frazil = make(kafka, registry, topic)
    one = registry.register(topic + "-value", harness.ORDERS)
    send(kafka, topic, [avro_order(i, one) for i in range(100)])
    code, reports, errors = frazil.once()
    if not tally.equal("evolution: exit code, rows", (code, reports.get(topic, {}).get("rows")), (0, 100)):
        return print(errors[-1500:])
    two = registry.register(topic + "-value", NOTE)
    mixed = [avro_order(100 + i, two, b"\2" + avro_bytes("n%d" % i)) if i % 2 else avro_order(100 + i, one) for i in range(100)]
    send(kafka, topic, mixed)
    code, reports, errors = frazil.once()
    if not tally.equal("evolution: exit code, rows of the second pass", (code, reports.get(topic, {}).get("rows")), (0, 100)):
        return print(errors[-1500:])
    table = read(frazil, topic)
    notes = sorted((o, n) for (_, o), n in zip(coordinates(table), table["note"].to_pylist()))
    wanted = [(o, "n%d" % (o - 100) if o >= 100 and o % 2 else None) for o in range(200)]
    tally.equal("evolution: the new column", [x for x in zip(notes, wanted) if x[0] != x[1]][:3], [])
    tally.equal("evolution: one change of schema", len(frazil.table("default." + topic).metadata.schemas), 2)
    return judge(tally, reports[topic]["metadata_location"].removeprefix("file://"), 200)


def bad_record(tally, kafka, registry):
    """the default: the topic is suspended at the record, which is named; nothing before it is lost"""
    topic = "bad_record"
    frazil = make(kafka, registry, topic)
    one = registry.register(topic + "-value", harness.ORDERS)
    send(kafka, topic, [avro_order(i, one) for i in range(50)] + [avro_order(50, one)[:-3]] + [avro_order(51, one)])
    code, reports, _ = frazil.once()
    report = reports.get(topic, {})
    error = report.get("error") or {}
    tally.equal("bad record: exit code, state", (code, report.get("state")), (3, "suspended"))
    tally.equal("bad record: kind and place", (error.get("kind"), error.get("partition"), error.get("offset")), ("truncated", 0, 50))
    tally.equal("bad record: rows before it", (report.get("rows"), report.get("watermark")), (50, {"0": 50}))


def no_schema(tally, kafka, registry):
    """no subject: the topic is not started, and the near misses are named"""
    topic = "no_schema"
    frazil = make(kafka, registry, topic)
    registry.register("no_schema-values", harness.ORDERS)
    code, reports, _ = frazil.once(timeout=120)
    error = reports.get(topic, {}).get("error") or {}
    tally.check("no schema: not exit code 0", code in (1, 3), code)
    tally.equal("no schema: kind", error.get("kind"), "no_schema")
    tally.check("no schema: the message names the subject looked for", "no_schema-value" in error.get("message", ""), error)


def registry_outage(tally, kafka, registry):
    """503s, a dropped connection and a slow answer are waited for, not skipped over"""
    topic = "registry_outage"
    frazil = make(kafka, registry, topic)
    one = registry.register(topic + "-value", harness.ORDERS)
    send(kafka, topic, [avro_order(i, one) for i in range(100)])
    registry.fail("/schemas/ids/%d" % one, status=503, times=2)
    registry.fail("/subjects/%s-value" % topic, times=1, drop=True)
    service = frazil.start("run", "-c", "frazil.yaml")
    tally.equal("registry outage: rows", wait_rows(frazil, topic, 100), 100)
    service.send_signal(signal.SIGTERM)
    tally.equal("registry outage: exit code after SIGTERM", wait_exit(service), 0)
    registry.fail("/", status=503, times=10000)
    send(kafka, topic, [avro_order(i, one) for i in range(100, 110)])
    code, reports, _ = frazil.once(timeout=180)
    state = reports.get(topic, {}).get("state")
    tally.check("registry outage: one pass says so, or does without", (code, state) in ((1, "failed"), (0, "done")), (code, state))
    registry.faults.clear()
    code, reports, _ = frazil.once(timeout=180)
    tally.equal("registry outage: the pass after it", (code, read(frazil, topic).num_rows), (0, 110))


def broker_restart(tally, kafka, registry):
    """the broker goes and comes back under a running service"""
    topic = "broker_restart"
    frazil = make(kafka, registry, topic, partitions=2)
    one = registry.register(topic + "-value", harness.ORDERS)
    produce(kafka, topic, 1000, 0, one, partitions=2)
    service = frazil.start("run", "-c", "frazil.yaml")
    wait_rows(frazil, topic, 1000)
    kafka.stop()
    time.sleep(2)
    kafka.start()
    produce(kafka, topic, 1000, 1000, one, partitions=2)
    tally.equal("broker restart: rows", wait_rows(frazil, topic, 2000), 2000)
    tally.check("broker restart: the service is still up", service.poll() is None)
    service.send_signal(signal.SIGTERM)
    tally.equal("broker restart: exit code after SIGTERM", wait_exit(service), 0)


def two_workers(tally, kafka, registry):
    """one worker is stopped in mid-flight, another takes over, the first wakes up: each record once"""
    topic = "two_workers"
    frazil = make(kafka, registry, topic, partitions=4)
    one = registry.register(topic + "-value", harness.ORDERS)
    load = harness.generate(kafka, topic, 20000, 0, one)
    first = frazil.start("run", "-c", "frazil.yaml")
    time.sleep(1.5)
    first.send_signal(signal.SIGSTOP)
    assert load.wait(600) == 0, "the load generator failed"
    code, reports, errors = frazil.once()
    first.send_signal(signal.SIGCONT)
    if not tally.equal("two workers: exit code of the second", code, 0):
        print(errors[-1500:])
    produce(kafka, topic, 1000, 20000, one)
    wait_rows(frazil, topic, 21000)
    first.send_signal(signal.SIGTERM)
    tally.equal("two workers: exit code of the first", wait_exit(first), 0)
    found = coordinates(read(frazil, topic))
    wanted = {(p, o) for p, end in kafka.ends(topic, 4).items() for o in range(end)}
    tally.equal("two workers: rows, distinct rows, missing", (len(found), len(set(found)), len(wanted - set(found))), (21000, 21000, 0))


def wait_rows(frazil, topic, rows, limit=90):
    """-> rows in the table, once there are as many, or when the time is up"""
    from pyiceberg.exceptions import NoSuchTableError
    until, found = time.monotonic() + limit, 0
    while found < rows and time.monotonic() < until:
        try:
            found = read(frazil, topic).num_rows
        except (NoSuchTableError, OSError, KeyError, ValueError):
            pass                        # not made yet
        except Exception as e:          # SQLAlchemy: the catalog or its tables are not made yet
            if "no such table" not in str(e) and "unable to open database" not in str(e):
                raise
        time.sleep(0.5)
    return found


def wait_exit(service, limit=60):
    try:
        return service.wait(limit)
    except Exception:
        kill(service)
        return "none within %d s" % limit


def main():
    tally = Tally()
    with Kafka() as kafka, Registry() as registry:
        for part in (evolution, bad_record, no_schema, registry_outage, two_workers, broker_restart):
            try:
                part(tally, kafka, registry)
            except Exception as e:
                tally.check("%s ran to its end" % part.__name__, False, "%s: %s" % (type(e).__name__, e))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
