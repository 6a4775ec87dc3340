#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten schema versions, up to four writers at a time on eight partitions, and somebody who alters the table between and during runs.

The first five versions meet passes of `run --once`, the others a running service. At the end each row is right by its own writer's
schema, the schema changed as often as there was something to change, and filters find what was written before a column was widened.
PyIceberg is the other hand; with E2E_SPARK=1 (the long tier) Spark is, and PyIceberg a third one.
"""
import contextlib, os, random, signal, struct, sys, time

import havro
import hproofs
from harness import FRAZIL, SEED, Kafka, Tally, judge, kill
from hspark import Spark
from registry import Registry

SPARK = os.environ.get("E2E_SPARK") == "1"
TOPIC, PARTITIONS, RECORDS, WRITERS = "churn", 8, 400, 4


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def decimal(precision):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}


def sub(*more):
    return {"type": "record", "name": "Sub", "fields": [field("x", "int"), *more]}


def versions():
    """[(what is new, fields, whether the table changes)]"""
    optional = lambda name, kind: field(name, ["null", kind], default=None)
    y = optional("y", "long")
    title = field("title", "string", aliases=["s"])
    start = [field("id", "long"), field("a", "int"), field("s", "string"), field("f", "float"), field("p", decimal(9)), field("sub", sub())]
    out = [("the start", start, False)]
    add = lambda what, fields, changes=True: out.append((what, fields, changes))
    add("a new optional field", start + [optional("b", "string")])
    wide = [start[0], field("a", "long"), *start[2:]]
    add("int to long", wide + [optional("b", "string")])
    named = [wide[0], wide[1], title, *wide[3:]]
    add("renamed by an alias", named + [optional("b", "string")])
    add("an optional field dropped", named, False)
    turned = named[::-1]
    add("another order", turned, False)
    loose = [f if f["name"] != "f" else field("f", ["float", "null"]) for f in turned]
    add("required to optional", loose)
    nested = [f if f["name"] != "sub" else field("sub", sub(y)) for f in loose]
    add("a new nested field", nested)
    wider = [field("p", decimal(18)) if f["name"] == "p" else field("f", ["double", "null"]) if f["name"] == "f" else f for f in nested]
    add("a wider decimal, float to double", wider)
    tags = {"type": "array", "items": "string"}
    add("a list and a map", wider + [field("tags", tags, default=[]), field("attrs", {"type": "map", "values": "long"}, default={})])
    return [(what, {"type": "record", "name": "Churn", "fields": fields}, changes) for what, fields, changes in out]


def value(schema, i, rng):
    """a raw value for row i; what a version may hold only it does hold"""
    t = havro.Names(schema).root
    out = {}
    for f in t["fields"]:
        name, kind = f["name"], f["type"]
        if name == "id":
            out[name] = i
        elif name == "a":
            out[name] = rng.choice((i, -i, 2147483647, -2147483648)) if kind["type"] == "int" else rng.choice((i, -i, 1 << 40, -(1 << 62)))
        elif name in ("s", "title"):
            out[name] = "text %d" % i
        elif name == "f":
            v = i / 8 if i % 3 else -i * 1024.0
            v = v + 1e-9 if "double" in str(kind) else v
            out[name] = (0, v) if isinstance(kind, list) and i % 7 else None if isinstance(kind, list) else v
        elif name == "p":
            n = rng.randint(-999999999, 999999999) if kind["precision"] == 9 else rng.randint(-10 ** 18 + 1, 10 ** 18 - 1)
            out[name] = n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)
        elif name == "b":
            out[name] = (1, "b%d" % i) if i % 4 else None
        elif name == "sub":
            out[name] = {"x": i, "y": (1, i << 33) if i % 2 else None} if len(kind["fields"]) > 1 else {"x": i}
        elif name == "tags":
            out[name] = ["t%d" % j for j in range(i % 3)]
        else:
            out[name] = {"k%d" % j: i for j in range(i % 3)}
    return t, out


def wanted_row(t, raw):
    """as the table shows it at the end"""
    row = havro.row(t, raw)
    for old in ("s", "title"):
        if old in row:
            row["headline"] = row.pop(old)
    row["sub"].setdefault("y", None)
    for name in ("b", "tags", "attrs"):
        row.setdefault(name, None)
    if row["f"] is not None and not row["f"].wide:
        row["f"] = havro.Real(struct.unpack("<f", row["f"].bits)[0], True)
    return row


class Churn:
    def __init__(self, tally, kafka, registry):
        self.tally, self.kafka, self.registry, self.rng = tally, kafka, registry, random.Random(SEED)
        self.frazil = hproofs.make(kafka, registry, TOPIC, "", PARTITIONS)
        self.ids, self.wanted, self.count, self.by_hand, self.due = [], {}, 0, 0, 1

    def schemas(self):
        return len(self.frazil.table("default." + TOPIC).metadata.schemas)

    def send(self, k):
        """records of the last few writers, the newest among them"""
        self.ids.append(self.registry.register(TOPIC + "-value", versions()[k][1]))
        self.due += versions()[k][2]
        records, expected = [], []
        for n in range(RECORDS):
            w = k if n == 0 else self.rng.randint(max(0, k - WRITERS + 1), k)
            t, raw = value(versions()[w][1], self.count, self.rng)
            self.count += 1
            records.append((self.rng.randrange(PARTITIONS), hproofs.framed(self.ids[w], havro.write(t, raw, self.rng))))
            expected.append(wanted_row(t, raw))
        self.wanted.update(zip(hproofs.produce(self.kafka, TOPIC, records), expected))

    def alter(self, what, change, statements):
        """somebody else's ALTER TABLE, by PyIceberg or, one schema a statement, by Spark"""
        if not self.spark:
            self.attempt(what, lambda: self.by_pyiceberg(change))
        for statement in statements if self.spark else ():
            self.attempt(what, lambda: self.spark.sql("alter table frazil.default.%s %s" % (TOPIC, statement)))

    def alter_too(self, what, change):
        """PyIceberg's, while Spark is there"""
        if self.spark:
            self.attempt(what, lambda: self.by_pyiceberg(change))

    def by_pyiceberg(self, change):
        with self.frazil.table("default." + TOPIC).update_schema() as update:
            change(update)

    def attempt(self, what, act):
        """a lost race is tried again"""
        from pyiceberg.exceptions import CommitFailedException
        for _ in range(50):
            try:
                act()
                self.by_hand += 1
                return
            except (CommitFailedException, RuntimeError) as e:
                why = str(e)
                if not isinstance(e, CommitFailedException) and "CommitFailedException" not in why and "SQLITE_BUSY" not in why:
                    break
                time.sleep(0.1)
        self.tally.check("%s by hand gets through" % what, False, why)

    def passes(self, k):
        code, reports, errors = self.frazil.once()
        report = reports.get(TOPIC, {})
        if not self.tally.equal("version %d, %s: exit code, rows" % (k + 1, versions()[k][0]), (code, report.get("rows")), (0, RECORDS)):
            print(errors[-1500:], flush=True)
        self.tally.equal("version %d, %s: schemas" % (k + 1, versions()[k][0]), self.schemas(), self.due + self.by_hand)

    def waits(self, k, service):
        until, found = time.monotonic() + 60, 0
        while found < len(self.wanted) and time.monotonic() < until and service.poll() is None:
            found = self.frazil.table("default." + TOPIC).scan(selected_fields=("id",)).to_arrow().num_rows
            time.sleep(0.3)
        self.tally.equal("version %d, %s: rows by the service" % (k + 1, versions()[k][0]), (found, service.poll()), (len(self.wanted), None))
        self.tally.equal("version %d, %s: schemas" % (k + 1, versions()[k][0]), self.schemas(), self.due + self.by_hand)


def move(update):
    update.move_first("sub")
    update.move_after("id", "a")


def once_part(churn):
    for k in range(5):
        churn.send(k)
        churn.passes(k)
        if k == 1:
            from pyiceberg.types import StringType
            churn.alter("a new column", lambda u: u.add_column("by_hand", StringType(), doc="not of the topic"),
                        ["add column by_hand string comment 'not of the topic'"])
            churn.alter("a comment", lambda u: u.update_column("a", doc="commented by hand"),
                        ["alter column a comment 'commented by hand'"])
            churn.alter_too("a third hand's column", lambda u: u.add_column("third_hand", StringType()))
        if k == 3:
            churn.alter("a rename", lambda u: u.rename_column("title", "headline"), ["rename column title to headline"])


def service_part(churn):
    service = churn.frazil.start("run", "-c", "frazil.yaml")
    try:
        for k in range(5, 10):
            churn.send(k)
            if k == 6:
                churn.alter("another order", move, ["alter column sub first", "alter column id after a"])
            churn.waits(k, service)
            if k == 7:
                churn.alter("a drop", lambda u: u.delete_column("by_hand"), ["drop column by_hand"])
                churn.alter_too("a third hand's drop", lambda u: u.delete_column("third_hand"))
        service.send_signal(signal.SIGTERM)
        churn.tally.equal("the service ends", service.wait(60), 0)
    finally:
        if service.poll() is None:
            kill(service)


def seen_by_spark(churn):
    """what was written before a column was widened is right in an engine on the JVM too"""
    number = lambda r: int(r["a"])
    rows = churn.wanted.values()
    found = churn.spark.sql("select count(*), count(distinct _kafka.partition, _kafka.offset), sum(cast(a as decimal(38))), count(b), "
                            "sum(cardinality(tags)) from frazil.default." + TOPIC)[0]
    wanted = [len(rows), len(rows), sum(map(number, rows)), sum(r["b"] is not None for r in rows), sum(len(r["tags"] or ()) for r in rows)]
    churn.tally.equal("Spark: rows, coordinates, a, b, tags", [int(v) for v in found], wanted)
    for filters in ("a = 2147483647", "a = -2147483648"):
        count = churn.spark.sql("select count(*) from frazil.default.%s where %s" % (TOPIC, filters))[0][0]
        churn.tally.equal("Spark: rows of " + filters, count, sum(number(r) == int(filters.split()[2]) for r in rows))


def filters(churn):
    """what was written as int, float and decimal(9,2) is found by filters of the wider types"""
    from decimal import Decimal
    from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan
    number = lambda r, n: r[n] if not isinstance(r[n], str) else Decimal(r[n])
    tests = [("a", "a = int32's greatest", EqualTo("a", 2147483647), lambda r: int(r["a"]) == 2147483647),
             ("a", "a = int32's least", EqualTo("a", -2147483648), lambda r: int(r["a"]) == -2147483648),
             ("a", "a over an int's range", GreaterThanOrEqual("a", 1 << 33), lambda r: int(r["a"]) >= 1 << 33),
             ("a", "a within 0 to 99", And(GreaterThanOrEqual("a", 0), LessThan("a", 100)), lambda r: 0 <= int(r["a"]) < 100),
             ("f", "f below -100000", LessThan("f", -100000.0), lambda r: r["f"] is not None and struct.unpack("<d", r["f"].bits)[0] < -100000.0),
             ("f", "f = 1.25", EqualTo("f", 1.25), lambda r: r["f"] is not None and struct.unpack("<d", r["f"].bits)[0] == 1.25),
             ("p", "p over 9 digits", GreaterThanOrEqual("p", Decimal("10000000.00")), lambda r: number(r, "p") >= 10000000),
             ("p", "p below -9000000", LessThan("p", Decimal("-9000000.00")), lambda r: number(r, "p") < -9000000),
             ("headline", "headline = 'text 17'", EqualTo("headline", "text 17"), lambda r: r["headline"] == "text 17")]
    for _, what, expression, holds in tests:
        wanted = {p for p, r in churn.wanted.items() if holds(r)}
        found = set(hproofs.rows(churn.frazil, "default." + TOPIC, expression))
        churn.tally.equal("filter %s: %d rows" % (what, len(wanted)), (len(found), found == wanted), (len(wanted), True))


def proof(tally, kafka, registry):
    churn = Churn(tally, kafka, registry)
    with Spark(churn.frazil.directory) if SPARK else contextlib.nullcontext() as churn.spark:
        once_part(churn)
        service_part(churn)
        if SPARK:
            seen_by_spark(churn)
    code, reports, errors = churn.frazil.once()
    tally.equal("a last pass: exit code, rows", (code, reports.get(TOPIC, {}).get("rows")), (0, 0))
    tally.equal("each row by its own writer's schema", hproofs.differences(hproofs.rows(churn.frazil, "default." + TOPIC), churn.wanted), [])
    table = churn.frazil.table("default." + TOPIC)
    tally.equal("columns", [f.name for f in table.schema().fields if f.name != "_kafka"],
                ["sub", "a", "id", "headline", "f", "p", "b", "tags", "attrs"])
    tally.equal("comment", table.schema().find_field("a").doc, "commented by hand")
    tally.equal("schema changes of the program", churn.schemas() - 1 - churn.by_hand, sum(v[2] for v in versions()))
    filters(churn)
    judge(tally, table.metadata_location.removeprefix("file://"), len(churn.wanted))


def main():
    print("seed %d, %s" % (SEED, FRAZIL), flush=True)
    tally = Tally()
    with Kafka() as kafka, Registry() as registry:
        hproofs.part(tally, proof, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
