#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One table a record type (`catalog.table: "{record}"`): three types and bad records on two partitions, each record once in one table.

The service is killed at random while records arrive and while the registry learns a schema that it denied before; then a table
is dropped, one refuses for a while, and the home is rolled back. The broker is the client library's mock.
"""
import collections, os, random, subprocess, sys, time

import harness
from harness import BUILD, DIR, SEED, Frazil, Tally, avro_bytes, avro_long, kill, send
from registry import Registry

PARTITIONS, KILLS, SLICE = 2, 7, 400
TYPES = ("Created", "Paid", "Shipped")
CONFIG = """
kafka:
  bootstrap_servers: %s
schema_registry:
  url: %s
server:
  listen: off
tableflow:
  topic: events
  catalog: { table: "{record}" }
  on_error: dead_letter
  commit_interval: 250ms
"""
HOME = "events__dead_letters"


class MockBroker:
    """the mock cluster of librdkafka, with one topic"""

    def __enter__(self):
        self.process = subprocess.Popen([os.path.join(BUILD, "bench_broker"), "events:%d" % PARTITIONS], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.bootstrap = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        kill(self.process)


WIDE = 12  # columns more of one type: what an outbox holds of it stands in an object of its own


def schema(kind, more=()):
    if kind == "Shipped":
        more = [{"name": "wide_%d" % i, "type": "string"} for i in range(WIDE)]
    return {"type": "record", "name": kind, "namespace": "shop.v1", "fields": [
        {"name": "id", "type": "long"}, {"name": "of_" + kind.lower(), "type": "string"}, *more]}


class Producer:
    """records in turn; remembers which table each coordinate must be in"""

    def __init__(self, broker, ids):
        self.broker, self.ids, self.number, self.ends, self.wanted = broker, ids, 0, [0] * PARTITIONS, {}

    def record(self, kind, late=None):
        text = "%s %d" % (kind, self.number)
        if kind == "bad":
            return b"\7no frame"
        value = b"\0" + (late or self.ids[kind]).to_bytes(4, "big") + avro_long(self.number) + avro_bytes(text)
        if kind == "Shipped":
            value += b"".join(avro_bytes("%d of %d" % (i, self.number)) for i in range(WIDE))
        return value + b"\2" + avro_bytes("note") if kind == "Paid" and self.ids.get("notes") else value

    def slice(self, count, late=None):
        values = []
        for n in range(count):
            kind = "bad" if n % 97 == 5 else TYPES[n % 3]
            unknown = late and n % 50 == 7
            partition = n % PARTITIONS
            values.append(self.record(kind, late if unknown else None))
            self.wanted[partition, self.ends[partition]] = None if unknown else HOME if kind == "bad" else "shop_v1_" + kind
            self.ends[partition] += 1
            self.number += 1
        send(self.broker, "events", values, PARTITIONS)


def found(frazil):
    """{(partition, offset): [table, ...]} over all tables"""
    out = collections.defaultdict(list)
    for kind in TYPES + ("Late",):
        try:
            rows = frazil.table("default.shop_v1_" + kind).scan().to_arrow()
        except Exception as error:
            if "NoSuchTable" not in type(error).__name__:
                raise
            continue
        for key in harness.coordinates(rows):
            out[key].append("shop_v1_" + kind)
    rows = frazil.table("default." + HOME).scan().to_arrow()
    for key in zip(rows["partition"].to_pylist(), rows["offset"].to_pylist()):
        out[key].append(HOME)
    return out


def whole(tally, what, frazil, producer, lost=()):
    """every record in one table, the right one where it is known beforehand"""
    have = found(frazil)
    wanted = {k: t for k, t in producer.wanted.items() if k not in lost}
    tally.equal(what + ": records in no table", sorted(set(wanted) - set(have))[:5], [])
    tally.equal(what + ": records more than once", [(k, t) for k, t in have.items() if len(t) > 1][:5], [])
    tally.equal(what + ": rows that no record made", sorted(set(have) - set(producer.wanted))[:5], [])
    tally.equal(what + ": rows in the wrong table", [(k, have[k], t) for k, t in wanted.items() if t and have[k] and have[k] != [t]][:5], [])
    return have


def once(tally, what, frazil, wanted=0):
    code, report, errors = frazil.run("run", "--once", "-c", "frazil.yaml", "-o", "json", timeout=120)
    if not tally.equal(what + ": exit code", code, wanted):
        print(errors[-3000:])
    return {t["table"]: t for t in (report or {}).get("topics", [])}


def killed(tally, registry, frazil, producer):
    """killed at random; the registry learns the schema id of some records on the way"""
    rng, late = random.Random(SEED), 50
    for turn in range(KILLS):
        service = frazil.start("run", "-c", "frazil.yaml")
        time.sleep(rng.uniform(0.1, 0.6))
        producer.slice(SLICE, late if turn in (2, 3, 4) else None)
        if turn == 3:
            registry.next_id = late
            registry.register("events-value", schema("Late"))
        time.sleep(rng.uniform(0.1, 2.5))
        tally.check("the service is up when it is killed", service.poll() is None, "exit code %s" % service.returncode)
        kill(service)


def evolved(tally, registry, frazil, producer):
    """a new column of one type comes with its rows, through the outbox"""
    more = [{"name": "note", "type": ["null", "string"], "default": None}]
    producer.ids["Paid"] = registry.register("events-value", schema("Paid", more))
    producer.ids["notes"] = True
    producer.slice(SLICE)
    reports = once(tally, "new column", frazil)
    tally.equal("new column: tables of the report", {t for t, r in reports.items() if r["rows"]},
                {"default.shop_v1_" + kind for kind in TYPES})
    tally.check("new column: letters of the report", reports.get("default." + HOME, {}).get("dead_letters", 0) > 0)
    whole(tally, "new column", frazil, producer)
    notes = frazil.table("default.shop_v1_Paid").scan().to_arrow()["note"].to_pylist()
    tally.equal("new column: values", sum(n == "note" for n in notes), reports["default.shop_v1_Paid"]["rows"])


def refused(tally, frazil, producer):
    """the store refuses one table: others go on, later it has everything"""
    metadata = os.path.join(frazil.directory, "warehouse", "default", "shop_v1_Created", "metadata")
    os.rename(metadata, metadata + "-away")
    with open(metadata, "w", encoding="utf-8"):
        pass
    before = len([k for k, t in producer.wanted.items() if t == "shop_v1_Created"])
    producer.slice(SLICE)
    reports = once(tally, "refused", frazil, 1)
    tally.check("refused: its own error", (reports.get("default.shop_v1_Created", {}).get("error") or {}).get("message"))
    tally.equal("refused: others have none", [t for t, r in reports.items() if r["error"] and t not in ("default.shop_v1_Created", "default." + HOME)], [])
    for kind in ("Paid", "Shipped"):
        rows = frazil.table("default.shop_v1_" + kind).scan().to_arrow().num_rows
        tally.equal("refused: rows of %s" % kind, rows, len([k for k, t in producer.wanted.items() if t == "shop_v1_" + kind]))
    os.remove(metadata)
    os.rename(metadata + "-away", metadata)
    tally.equal("refused: rows meanwhile", frazil.table("default.shop_v1_Created").scan().to_arrow().num_rows, before)
    once(tally, "refused, then not", frazil)
    whole(tally, "refused, then not", frazil, producer)


def rolled_back(tally, frazil, producer):
    """the home goes back: its records are decided again, what was delivered stays single"""
    home = frazil.table("default." + HOME)
    snapshots = home.history()
    with home.manage_snapshots() as manage:
        manage.set_current_snapshot(snapshot_id=snapshots[-min(4, len(snapshots))].snapshot_id)
    producer.slice(SLICE)
    once(tally, "rolled back", frazil)
    whole(tally, "rolled back", frazil, producer)


def settings(tally, frazil, producer):
    """what the entry says of tables reaches those that are there, with the first records of their type"""
    path = os.path.join(frazil.directory, "frazil.yaml")
    with open(path, encoding="utf-8") as f:
        before = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + "  format_version: 3\n  partitioning: ['bucket(4, id)']\n  properties: { owner: shop }\n")
    producer.slice(SLICE)
    once(tally, "settings", frazil)
    whole(tally, "settings", frazil, producer)
    for kind in TYPES:
        table = frazil.table("default.shop_v1_" + kind)
        tally.equal("settings of %s: version, partitioning, property" % kind,
                    (table.metadata.format_version, [str(f.transform) for f in table.spec().fields], table.properties.get("owner")),
                    (3, ["bucket[4]"], "shop"))
    snapshots = {kind: len(frazil.table("default.shop_v1_" + kind).snapshots()) for kind in TYPES}
    once(tally, "settings again", frazil)
    tally.equal("settings again: no more snapshots", {k: len(frazil.table("default.shop_v1_" + k).snapshots()) for k in TYPES}, snapshots)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before)


def dropped(tally, frazil, producer):
    """a table is dropped: its rows of before are gone, new ones are in a new table, others as they were"""
    from pyiceberg.catalog.sql import SqlCatalog
    catalog = SqlCatalog("frazil", uri="sqlite:///%s/warehouse/catalog.db" % frazil.directory)
    lost = {k for k, t in found(frazil).items() if t == ["shop_v1_Shipped"]}
    catalog.drop_table("default.shop_v1_Shipped")
    producer.slice(SLICE)
    once(tally, "dropped", frazil)
    whole(tally, "dropped", frazil, producer, lost)


def suspended(tally, broker, registry):
    """without dead letters the home holds the position alone"""
    config = (CONFIG % (broker.bootstrap, registry.url)).replace("on_error: dead_letter", "on_error: suspend")
    frazil = Frazil(os.path.join(DIR, "record_tables_suspend"), config)
    code, report, _ = frazil.run("check", "-c", "frazil.yaml", "-o", "json", timeout=60)
    topic = (report or {}).get("topics", [{}])[0]
    tally.equal("check before the first run: exit code, exists, tables", (code, topic.get("exists"), (topic.get("ddl") or "").count("CREATE TABLE")),
                (0, False, 2))
    home = once(tally, "on_error: suspend", frazil, 3).get("default." + HOME, {})
    tally.equal("on_error: suspend: state, kind", (home.get("state"), (home.get("error") or {}).get("kind")), ("suspended", "bad_magic"))
    rows = {frozenset(t) for t in found(frazil).values()}
    tally.check("on_error: suspend: rows before the bad one", rows and HOME not in {n for t in rows for n in t}, rows)


def replay(frazil):
    code, report, errors = frazil.run("replay", "default." + HOME, "-c", "frazil.yaml", "-o", "json", timeout=120)
    topic = ((report or {}).get("topics") or [report or {}])[0]
    return code, topic, errors


def replayed(tally, registry, frazil, producer):
    """letters of unknown schemas, of a type with a table and of one without, become rows of their tables once, also when replay is killed"""
    rng, known, fresh = random.Random(SEED + 1), 70, 71
    values, places = [], []
    for n in range(400):
        kind, number = (("Created", known), ("Fresh", fresh))[n % 2]
        text = avro_bytes("%s %d" % (kind, producer.number))
        values.append(b"\0" + number.to_bytes(4, "big") + avro_long(producer.number) + text)
        partition = n % PARTITIONS
        places.append(((partition, producer.ends[partition]), "shop_v1_" + kind))
        producer.ends[partition] += 1
        producer.number += 1
    send(producer.broker, "events", values, PARTITIONS)
    producer.slice(SLICE)  # the tables' vectors are beyond the letters when these come back
    once(tally, "before replay", frazil)
    for number, kind in ((known, "Created"), (fresh, "Fresh")):
        registry.next_id = number
        registry.register("events-value", dict(schema(kind), doc="known at last"))
    for _ in range(5):
        process = frazil.start("replay", "default." + HOME, "-c", "frazil.yaml")
        time.sleep(rng.uniform(0.01, 0.25))
        kill(process)
    code, report, errors = replay(frazil)
    if not tally.equal("replay: exit code", code, 0):
        print(errors[-1500:], report)
    once(tally, "after replay", frazil)
    for turn in range(2):
        tables = {}
        for kind in TYPES + ("Late", "Fresh"):
            for key in harness.coordinates(frazil.table("default.shop_v1_" + kind).scan().to_arrow()):
                tables.setdefault(key, []).append("shop_v1_" + kind)
        tally.equal("replay %d: each letter is one row of its table" % turn, [(k, tables.get(k), t) for k, t in places if tables.get(k) != [t]][:5], [])
        tally.equal("replay %d: no row twice" % turn, [k for k, t in tables.items() if len(t) > 1][:5], [])
        code, report, errors = replay(frazil)
        tally.equal("replay again %d: exit code, replayed" % turn, (code, report.get("replayed")), (0, 0))


def kept_small(tally, frazil, producer):
    """a service compacts tables of record types and expires their snapshots"""
    path = os.path.join(frazil.directory, "frazil.yaml")
    with open(path, encoding="utf-8") as f:
        before = f.read()
    with open(path, "w", encoding="utf-8") as f:
        # a group of its own: the killed services' members stay in the other one for their session's time
        f.write(before.replace("kafka:\n", "kafka:\n  group_id: kept_small\n") + "  maintenance:\n    compaction: { interval: 1s, min_files: 2 }\n    expire_snapshots: { interval: 1s, max_age: 1s }\n"
                "    remove_orphans: { interval: 1s }\n")
    name = lambda kind: "default.shop_v1_" + kind
    snapshots = {kind: {s.snapshot_id for s in frazil.table(name(kind)).snapshots()} for kind in TYPES}
    service = frazil.start("run", "-c", "frazil.yaml")
    until, done = time.monotonic() + 30, set()
    while len(done) < len(TYPES) and time.monotonic() < until:
        producer.slice(60)
        time.sleep(0.5)
        for kind in TYPES:
            table = frazil.table(name(kind))
            replaced = any(s.summary.operation.value == "replace" for s in table.snapshots())
            if replaced and not snapshots[kind] & {s.snapshot_id for s in table.snapshots()}:
                done.add(kind)
    service.terminate()
    tally.equal("kept small: the service's exit code", service.wait(60), 0)
    tally.equal("kept small: tables that were compacted and forgot old snapshots", done, set(TYPES))
    once(tally, "kept small", frazil)
    whole(tally, "kept small", frazil, producer)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before)


def checked(tally, frazil):
    code, report, _ = frazil.run("check", "-c", "frazil.yaml", "-o", "json", timeout=60)
    topic = (report or {}).get("topics", [{}])[0]
    tally.equal("check: exit code, table", (code, topic.get("table"), topic.get("error")), (0, "default." + HOME, None))
    ddl = topic.get("ddl") or ""
    tally.check("check: the newest record's table", "CREATE TABLE default.shop_v1_Paid (" in ddl and '"note" string' in ddl, ddl)


def main():
    print("seed %d, %s" % (SEED, harness.FRAZIL), flush=True)
    tally = Tally()
    with MockBroker() as broker, Registry() as registry:
        ids = {kind: registry.register("events-value", schema(kind)) for kind in TYPES}
        frazil = Frazil(os.path.join(DIR, "record_tables"), CONFIG % (broker.bootstrap, registry.url))
        producer = Producer(broker, ids)
        killed(tally, registry, frazil, producer)
        once(tally, "after kills", frazil)
        have = whole(tally, "after kills", frazil, producer)
        late = collections.Counter(t[0] for k, t in have.items() if producer.wanted[k] is None)
        print("    records of an unknown schema that was learnt: %s" % dict(late), flush=True)
        tally.check("after kills: learnt schema has a table", late["shop_v1_Late"] > 0, late)
        once(tally, "nothing new", frazil)
        evolved(tally, registry, frazil, producer)
        refused(tally, frazil, producer)
        rolled_back(tally, frazil, producer)
        settings(tally, frazil, producer)
        kept_small(tally, frazil, producer)
        dropped(tally, frazil, producer)
        beside = os.path.join(frazil.directory, "warehouse", "default", HOME, "metadata")
        tally.check("long entries stand beside the home", any(n.startswith("frazil-outbox-") for n in os.listdir(beside)))
        checked(tally, frazil)
        replayed(tally, registry, frazil, producer)
        suspended(tally, broker, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
