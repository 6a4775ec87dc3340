#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dead letters come back once: after the schema is known, twice, beside the service, killed at any point; verify says so.

E2E_KILLS (12) is how often a replay is killed.
"""
import json, os, random, sys, time

import harness
from harness import DIR, FRAZIL, ORDERS, SEED, Frazil, Kafka, Tally, avro_order, coordinates, kill, order, order_rows, send
from registry import Registry

KILLS = int(os.environ.get("E2E_KILLS", "12"))
CONFIG = """
kafka:
  bootstrap_servers: %s
  group_id: %s
schema_registry:
  url: %s
server:
  listen: off
log:
  level: warn
tableflow:
- topic: %s
  on_error: dead_letter
  commit_interval: 250ms
  metadata: [partition, offset, timestamp, topic, key, headers, schema_id]
%s"""


def make(kafka, registry, topic, partitions=2, more=""):
    kafka.create(topic, partitions)
    return Frazil(os.path.join(DIR, topic), CONFIG % (kafka.bootstrap, topic, registry.url, topic, more))


def later(n):
    """a schema that is registered later; it reads as ORDERS"""
    return dict(ORDERS, doc="number %d" % n)


def replay(frazil, topic, timeout=120):
    code, report, errors = frazil.run("replay", "default." + topic, "-c", "frazil.yaml", "-o", "json", timeout=timeout)
    return code, (report or {}).get("topics", [{}])[0], errors


def verify(frazil, topic):
    code, report, errors = frazil.run("verify", "default." + topic, "-c", "frazil.yaml", "-o", "json", timeout=120)
    return code, report or {}, errors


def numbers(frazil, topic):
    """-> order ids as row numbers, sorted; coordinates"""
    table = frazil.table("default." + topic).scan().to_arrow()
    return sorted(r[0] - 100000000 for r in order_rows(table)), coordinates(table)


def once(tally, what, frazil, topic, wanted):
    found, places = numbers(frazil, topic)
    tally.equal("%s: rows" % what, (len(found), found == sorted(wanted)), (len(wanted), True))
    tally.equal("%s: places once" % what, len(places) - len(set(places)), 0)


def clean(tally, what, frazil, topic):
    code, report, errors = verify(frazil, topic)
    if not tally.equal("%s: verify" % what, (code, report.get("differences")), (0, 0)):
        print("    %s\n    %s" % (json.dumps(report), errors[-600:]), flush=True)


def registered_later(tally, kafka, registry):
    topic = "replay_later"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    missing = registry.next_id
    values = []
    for i in range(400):
        bad = {3: missing, 5: missing + 1}.get(i % 10)
        values.append(b"\x07junk" if i % 10 == 7 else avro_order(i, bad or one))
    produced = time.time()
    send(kafka, topic, values, 2)
    code, reports, errors = frazil.once()
    tally.equal("before: exit code, rows, letters", (code, reports[topic]["rows"], reports[topic]["dead_letters"]), (0, 280, 120))
    code, report, errors = replay(frazil, topic)
    tally.equal("nothing known: exit code, replayed, failing", (code, report.get("replayed"), report.get("failing_by_kind")),
                (0, 0, {"unknown_schema_id": 80, "bad_magic": 40}))
    tally.equal("nothing known: no snapshot", report.get("snapshot_id"), None)
    assert registry.register(topic + "-value", later(1)) == missing
    time.sleep(0.1)
    code, report, errors = replay(frazil, topic)
    print("    %s" % json.dumps(report), flush=True)
    tally.equal("one is known: exit code, counts", (code, report.get("letters"), report.get("replayed"), report.get("failing_by_kind")),
                (0, 120, 40, {"unknown_schema_id": 40, "bad_magic": 40}))
    good = [i for i in range(400) if i % 10 not in (3, 5, 7)]
    first = good + [i for i in range(400) if i % 10 == 3]
    once(tally, "one is known", frazil, topic, first)
    clean(tally, "one is known", frazil, topic)
    code, report, errors = replay(frazil, topic)
    tally.equal("again: exit code, counts", (code, report.get("replayed"), report.get("already_replayed"), report.get("failing")),
                (0, 0, 40, 80))
    once(tally, "again", frazil, topic, first)
    # with a field that the table gets by the replay's own commit
    more = dict(later(2), fields=ORDERS["fields"] + [{"name": "note", "type": ["null", "string"], "default": None}])
    assert registry.register(topic + "-value", more) == missing + 1
    send(kafka, topic, [avro_order(i, missing + 1, b"\x02\x08late") for i in range(400, 404)], 2)
    code, report, errors = replay(frazil, topic)
    tally.equal("letters of a schema that does not decode", (code, report.get("replayed"), report.get("failing_by_kind")),
                (0, 0, {"truncated": 40, "bad_magic": 40}))
    code, reports, errors = frazil.once()
    tally.equal("a pass behind it: exit code, rows", (code, reports[topic]["rows"]), (0, 4))
    once(tally, "a pass behind it", frazil, topic, first + list(range(400, 404)))
    clean(tally, "a pass behind it", frazil, topic)
    rows = [r for r in frazil.table("default." + topic).scan().to_arrow().to_pylist() if (r["order_id"] - 100000000) % 10 == 3]
    kinds = {(r["_kafka"]["topic"], r["_kafka"]["key"], r["_kafka"]["schema_id"]) for r in rows if r["order_id"] < 100000400}
    tally.equal("replayed rows: topic, key, schema id", kinds, {(topic, b"k", missing)})
    tally.check("replayed rows: the record's time", all(abs(r["_kafka"]["timestamp"].timestamp() - produced) < 60 for r in rows))
    table = frazil.table("default." + topic)
    summaries = [s.summary.additional_properties for s in table.metadata.snapshots if s.summary]
    runs = [json.loads(s["frazil.replay"]) for s in summaries if s.get("frazil.op") == "replay"]
    offsets = sorted((p, o) for run in runs for _, p, a, b in run for o in range(a, b))
    tally.equal("the replay's snapshot names its letters", offsets, sorted((i % 2, i // 2) for i in range(400) if i % 10 == 3))
    tally.equal("so does the table's property", json.loads(table.properties["frazil.replayed"]), runs[0])


def evolves(tally, kafka, registry):
    """the schema that becomes known has a column more: it comes with the replay's commit"""
    topic = "replay_evolves"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    missing = registry.next_id
    send(kafka, topic, [avro_order(i, missing if i % 4 == 0 else one, b"\x02\x08late" if i % 4 == 0 else b"") for i in range(100)], 2)
    code, reports, _ = frazil.once()
    tally.equal("evolves, before: letters", reports[topic]["dead_letters"], 25)
    more = dict(ORDERS, fields=ORDERS["fields"] + [{"name": "note", "type": ["null", "string"], "default": None}])
    assert registry.register(topic + "-value", more) == missing
    code, report, errors = replay(frazil, topic)
    if not tally.equal("evolves: exit code, replayed", (code, report.get("replayed")), (0, 25)):
        print(errors[-800:], flush=True)
    once(tally, "evolves", frazil, topic, range(100))
    rows = frazil.table("default." + topic).scan().to_arrow().to_pylist()
    tally.equal("evolves: the new column", {(r["note"]) for r in rows if (r["order_id"] - 100000000) % 4 == 0}, {"late"})
    clean(tally, "evolves", frazil, topic)
    send(kafka, topic, [avro_order(i, one) for i in range(100, 110)], 2)
    code, reports, _ = frazil.once()
    tally.equal("evolves: the service goes on", (code, reports[topic]["rows"]), (0, 10))
    clean(tally, "evolves, at the end", frazil, topic)


def beside_the_service(tally, kafka, registry):
    """replays and the service take turns on one table"""
    topic = "replay_beside"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    missing = registry.next_id
    service = frazil.start("run", "-c", "frazil.yaml")
    total, added = 0, 0
    for turn in range(6):
        if turn == 3:
            for n in range(3):
                assert registry.register(topic + "-value", later(100 + n)) == missing + n
        values = [avro_order(i, missing + i % 3 if i % 5 == 0 else one) for i in range(total, total + 500)]
        total += 500
        send(kafka, topic, values, 2)
        if turn >= 2:
            code, report, errors = replay(frazil, topic)
            if not tally.equal("beside the service, replay %d: exit code" % turn, code, 0):
                print(errors[-800:], flush=True)
            added += report.get("replayed") or 0
    time.sleep(3)
    service.terminate()
    tally.equal("beside the service: its exit code", service.wait(60), 0)
    code, report, errors = replay(frazil, topic)
    added += report.get("replayed") or 0
    tally.check("beside the service: some letters came back", added > 0, added)
    once(tally, "beside the service", frazil, topic, range(total))
    clean(tally, "beside the service", frazil, topic)


def killed(tally, kafka, registry):
    topic = "replay_killed"
    chance = random.Random(SEED)
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    missing = registry.next_id
    send(kafka, topic, [avro_order(i, missing if i % 2 else one) for i in range(6000)], 2)
    code, reports, _ = frazil.once()
    tally.equal("killed, before: letters", reports[topic]["dead_letters"], 3000)
    assert registry.register(topic + "-value", later(200)) == missing
    begun = time.time()
    code, report, errors = replay(frazil, topic)
    took = time.time() - begun
    tally.equal("killed, a whole one: replayed", (code, report.get("replayed")), (0, 3000))
    total = 6000
    for n in range(KILLS):
        # letters of an id that becomes known when they are there
        unknown = registry.next_id
        send(kafka, topic, [avro_order(i, unknown) for i in range(total, total + 200)], 2)
        total += 200
        code, reports, _ = frazil.once()
        assert registry.register(topic + "-value", later(300 + n)) == unknown
        process = frazil.start("replay", "default." + topic, "-c", "frazil.yaml")
        other = frazil.start("replay", "default." + topic, "-c", "frazil.yaml") if n % 3 == 2 else None
        time.sleep(chance.random() * took)
        kill(process)
        if other:
            other.wait(120)
    code, report, errors = replay(frazil, topic)
    tally.equal("killed, at the end: exit code, failing", (code, report.get("failing")), (0, 0))
    tally.equal("killed, at the end: all are replayed", (report.get("replayed") or 0) + (report.get("already_replayed") or 0), report.get("letters"))
    once(tally, "killed", frazil, topic, range(total))
    clean(tally, "killed", frazil, topic)


def rolled_back(tally, kafka, registry):
    """a letter whose record was read again is a row already"""
    topic = "replay_rollback"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    send(kafka, topic, [avro_order(i, one) for i in range(10)], 2)
    frazil.once()
    before = frazil.table("default." + topic).metadata.current_snapshot_id
    missing = registry.next_id
    send(kafka, topic, [avro_order(i, missing) for i in range(10, 20)], 2)
    frazil.once()
    assert registry.register(topic + "-value", later(400)) == missing
    table = frazil.table("default." + topic)
    table.manage_snapshots().set_current_snapshot(before).commit() if hasattr(table.manage_snapshots(), "set_current_snapshot") else rollback(table, before)
    code, report, _ = replay(frazil, topic)
    tally.equal("rolled back: letters wait for the service", (code, report.get("replayed"), report.get("beyond")), (0, 0, 10))
    code, reports, _ = frazil.once()
    tally.equal("rolled back: read again", (code, reports[topic]["rows"]), (0, 10))
    code, report, _ = replay(frazil, topic)
    tally.equal("rolled back: nothing twice", (code, report.get("replayed"), report.get("in_table")), (0, 0, 10))
    once(tally, "rolled back", frazil, topic, range(20))


def rollback(table, snapshot_id):
    from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate
    update = SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot_id)
    table.catalog.commit_table(table, (AssertRefSnapshotId(ref="main", snapshot_id=table.metadata.current_snapshot_id),), (update,))


def differences(tally, kafka, registry):
    topic = "verify_differs"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    for start in (0, 500):
        send(kafka, topic, [b"\x07" if i % 50 == 9 else None if i % 50 == 19 else avro_order(i, one) for i in range(start, start + 500)], 2)
        frazil.once()
    clean(tally, "before", frazil, topic)
    table = frazil.table("default." + topic)
    files = table.inspect.files().to_pylist()
    path = files[0]["file_path"].removeprefix("file://")
    os.rename(path, path + ".away")
    code, report, errors = verify(frazil, topic)
    text = json.dumps(report)
    tally.equal("a file is gone: exit code", code, 4)
    tally.check("a file is gone: named", os.path.basename(path) in text, text[:600])
    tally.check("a file is gone: its rows are missing", report.get("differences", 0) >= 1 + files[0]["record_count"], report.get("differences"))
    tally.check("a file is gone: twenty are named", len(report.get("first", [])) == 20, len(report.get("first", [])))
    with open(path + ".away", "rb") as f, open(path, "wb") as to:
        to.write(f.read()[:-1])
    code, report, errors = verify(frazil, topic)
    tally.equal("a file is short: exit code", code, 4)
    tally.check("a file is short: named", os.path.basename(path) in json.dumps(report), json.dumps(report)[:400])
    os.rename(path + ".away", path)
    clean(tally, "the file is back", frazil, topic)
    table.delete("order_id >= 100000300 and order_id < 100000320")
    code, report, errors = verify(frazil, topic)
    missing = 20 - sum(1 for i in range(300, 320) if i % 50 in (9, 19))
    tally.equal("rows are gone: exit code, differences", (code, report.get("differences")), (4, missing))
    offsets = {(d.get("partition"), d.get("offset")) for d in report.get("first", [])}
    tally.equal("rows are gone: named", offsets, {(i % 2, i // 2) for i in range(300, 320) if i % 50 not in (9, 19)})
    kept = frazil.table("default." + topic).scan(row_filter="order_id < 100000003").to_arrow()
    frazil.table("default." + topic).append(kept)
    code, report, errors = verify(frazil, topic)
    tally.equal("rows are there twice: exit code, differences", (code, report.get("differences")), (4, missing + 3))


def no_partition(tally, kafka, registry):
    """a letter that decodes, but whose row no partition can hold, stays one; the others come"""
    topic = "replay_partition"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic, more="  partitioning: ['truncate(10, order_id)']\n")
    missing = registry.next_id

    def value(i, schema_id):
        plain = avro_order(i, schema_id)
        start = 5 + len(harness.avro_long(order(i)[0]))
        return plain if i not in (33, 77) else plain[:5] + harness.avro_long(-(1 << 63)) + plain[start:]

    send(kafka, topic, [value(i, one if i % 2 == 0 else missing) for i in range(100)], 2)
    code, reports, _ = frazil.once()
    tally.equal("no partition, before: rows, letters", (code, reports[topic]["rows"], reports[topic]["dead_letters"]), (0, 50, 50))
    assert registry.register(topic + "-value", later(500)) == missing
    for turn in ("first", "second"):
        code, report, errors = replay(frazil, topic)
        tally.equal("no partition, %s run: failing" % turn, (code, report.get("failing_by_kind"), report.get("replayed")),
                    (0, {"out_of_range": 2}, 48 if turn == "first" else 0))
        once(tally, "no partition, %s run" % turn, frazil, topic, [i for i in range(100) if i not in (33, 77)])
    clean(tally, "no partition", frazil, topic)


def odd_tables(tally, kafka, registry):
    """verify of tables that do not begin at 0, skip bad records, say nothing of their rows' origin"""
    topic = "verify_latest"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic, more="  start: latest\n")
    send(kafka, topic, [avro_order(i, one) for i in range(50)], 2)
    frazil.once()
    send(kafka, topic, [avro_order(i, one) for i in range(50, 100)], 2)
    code, reports, _ = frazil.once()
    tally.equal("start: latest: rows", (code, reports[topic]["rows"]), (0, 50))
    code, report, _ = verify(frazil, topic)
    parts = [p for t in report.get("topics", []) for p in t["partitions"]]
    tally.equal("start: latest: differences, checked from", (code, report.get("differences"), [p["checked_from"] for p in parts]), (0, 0, [25, 25]))

    topic = "verify_skip"
    one = registry.register(topic + "-value", ORDERS)
    kafka.create(topic, 2)
    config = CONFIG.replace("on_error: dead_letter", "on_error: skip") % (kafka.bootstrap, topic, registry.url, topic, "")
    frazil = Frazil(os.path.join(DIR, topic), config)
    send(kafka, topic, [b"\7" if i % 10 == 3 else avro_order(i, one) for i in range(50)], 2)
    frazil.once()
    code, report, _ = verify(frazil, topic)
    tally.equal("on_error: skip: differences, skipped", (code, report.get("differences"), report.get("topics", [{}])[0].get("skipped_records")), (0, 0, 5))
    code, report, errors = replay(frazil, topic)
    tally.check("on_error: skip: no letters to replay", code == 1 and "no dead-letter table" in errors, (code, errors[-300:]))

    topic = "verify_plain"
    one = registry.register(topic + "-value", ORDERS)
    kafka.create(topic, 2)
    config = CONFIG.replace("metadata: [partition, offset, timestamp, topic, key, headers, schema_id]", "metadata: false")
    frazil = Frazil(os.path.join(DIR, topic), config % (kafka.bootstrap, topic, registry.url, topic, ""))
    missing = registry.next_id
    send(kafka, topic, [avro_order(i, missing if i % 5 == 0 else one) for i in range(50)], 2)
    frazil.once()
    code, report, _ = verify(frazil, topic)
    tally.check("metadata: false: files only, and it says so", code == 0 and report.get("files") and report["topics"][0]["not_checked"], report)
    assert registry.register(topic + "-value", later(600)) == missing
    for wanted in (10, 0):
        code, report, _ = replay(frazil, topic)
        tally.equal("metadata: false: replayed", (code, report.get("replayed")), (0, wanted))
    found = sorted(r[0] - 100000000 for r in order_rows(frazil.table("default." + topic).scan().to_arrow()))
    tally.equal("metadata: false: rows once", found, list(range(50)))
    code, report, errors = frazil.run("verify", "default.nothing", "-c", "frazil.yaml", "-o", "json")
    tally.check("no such table", code == 1 and "nothing" in errors, (code, errors[-200:]))
    code, report, errors = frazil.run("replay", "default.nothing", "-c", "frazil.yaml", "-o", "json")
    tally.check("no such table to replay into", code == 1 and "nothing" in errors, (code, errors[-200:]))


def made_again(tally, kafka, registry):
    """letters of a topic that was deleted and made again: their coordinates are those of rows of the older log"""
    from confluent_kafka.admin import AdminClient
    topic = "replay_made_again"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic, more="  on_log_change: restart_from_earliest\n")
    send(kafka, topic, [avro_order(i, one) for i in range(100)], 2)
    frazil.once()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.delete_topics([topic]).values():
        future.result(30)
    while topic in admin.list_topics(timeout=20).topics:
        time.sleep(0.1)
    time.sleep(1)
    kafka.create(topic, 2)
    missing = registry.next_id
    send(kafka, topic, [avro_order(i, missing if i % 5 == 0 else one) for i in range(100, 160)], 2)
    code, reports, _ = frazil.once()
    tally.equal("made again: rows, letters", (code, reports[topic]["rows"], reports[topic]["dead_letters"]), (0, 48, 12))
    clean(tally, "made again", frazil, topic)
    assert registry.register(topic + "-value", later(700)) == missing
    for wanted in (12, 0):
        code, report, _ = replay(frazil, topic)
        tally.equal("made again: replayed", (code, report.get("replayed"), report.get("in_table")), (0, wanted, 0))
    found, _ = numbers(frazil, topic)
    tally.equal("made again: rows", found, list(range(160)))
    clean(tally, "made again, replayed", frazil, topic)


def retention(tally, kafka, registry):
    """the log starts above the table's first rows"""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient
    topic = "verify_retention"
    one = registry.register(topic + "-value", ORDERS)
    frazil = make(kafka, registry, topic)
    send(kafka, topic, [avro_order(i, one) for i in range(200)], 2)
    frazil.once()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, 40)]).values():
        future.result(30)
    code, report, errors = verify(frazil, topic)
    parts = {p["partition"]: p for t in report.get("topics", []) for p in t.get("partitions", [])}
    tally.equal("the log starts later: exit code, differences", (code, report.get("differences")), (0, 0))
    tally.equal("the log starts later: checked from", [parts.get(p, {}).get("checked_from") for p in (0, 1)], [40, 0])


def main():
    print(FRAZIL, flush=True)
    print("E2E_SEED=%d" % SEED, flush=True)
    tally = Tally()
    parts = [registered_later, evolves, no_partition, rolled_back, beside_the_service, killed, differences, odd_tables, made_again,
             retention]
    chosen = sys.argv[1:] or [f.__name__ for f in parts]
    with Kafka() as kafka, Registry() as registry:
        for function in parts:
            if function.__name__ not in chosen:
                continue
            print("-- %s" % function.__name__, flush=True)
            try:
                function(tally, kafka, registry)
            except Exception as e:
                import traceback
                traceback.print_exc()
                tally.check("%s ran to its end" % function.__name__, False, "%s: %s" % (type(e).__name__, str(e)[:400]))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
