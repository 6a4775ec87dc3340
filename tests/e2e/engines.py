#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of every type, transform, and of schemas and specs that changed, read by every engine: whole, and by conditions on every column.

usage: engines.py [TABLE...]

The whole table goes to tests/judge (rows of each engine, each number in the metadata); conditions (`=`, `<`, `>=`, null, not null) to
hfind.py, whose ids are compared with what was produced. E2E_LONG=1 adds chdb and Daft and asks more of each column; E2E_JVM=DIR, as made by
tests/judge/jvm.sh, adds Spark, Trino and Flink.
"""
import os, random, struct, sys

import extremes, harness, havro, hconditions, hengines, hproofs, htables
from harness import DIR, Frazil, Tally
from htables import LONG, decimal, decimal_bytes, field, optional, record

RNG = random.Random(20)
KINDS = {c: k for c, k in extremes.COLUMNS.items() if c != "tm"}  # Spark reads no table with a time
NANOS = {"ns": ({"type": "long", "logicalType": "local-timestamp-nanos"}, "timestamp_ns", [0, -1, 1, 1767225600123456789, -(1 << 62)]),
         "nz": ({"type": "long", "logicalType": "timestamp-nanos"}, "timestamptz_ns", [0, -1, 1, 1767225600123456789, -(1 << 62)])}
CLOCK = {"tm": extremes.COLUMNS["tm"]}


def raw(kind, value):
    """a value of hfind.py's as it stands in the record"""
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", float(value))
    if kind.startswith("decimal"):
        return decimal_bytes(int(value.replace(".", "")))
    return bytes.fromhex(value.replace("-", "")) if kind in ("uuid", "binary", "fixed[4]") else value


def pick(columns, nulls=0.25):
    """a row of question values: each column null or one of its values"""
    return {c: None if RNG.random() < nulls else RNG.choice(k[2]) for c, k in columns.items()}


def raw_row(columns, number, row, more=None):
    out = {c: None if row[c] is None else (1, raw(columns[c][1], row[c])) for c in columns}
    return {"id": number, **out, **(more or {})}


def schema(columns, *more, label="Row"):
    return record(field("id", "long"), *[optional(c, k[0]) for c, k in columns.items()], *more, label=label)


# ------------------------------------------------------------------------------------------------------------- nested columns

ITEM = record(optional("x", "long"), field("y", {"type": "array", "items": ["null", "string"]}), label="Item")
SUB = record(optional("s", "string"), optional("l", "long"), optional("inner", record(optional("d", "double"), label="Inner")), label="Sub")
NESTED = [optional("sub", SUB), optional("list", {"type": "array", "items": ["null", "int"]}),
          optional("map", {"type": "map", "values": ["null", decimal(9, 2)]}),
          optional("deep", {"type": "array", "items": ["null", record(field("m", {"type": "map", "values": {"type": "array", "items": ITEM}}), label="Deep")]})]


def nested(n):
    """-> (raw members, question values of the leaves of sub)"""
    s, l, d = RNG.choice([None, "", "a/b", "\U0010ffff", "x" * 300]), RNG.choice([None, 0, -1, 1 << 62]), RNG.choice([None, "nan", "-0.0", "1.5"])
    some = lambda v: None if v is None else (1, v)
    sub = None if n % 5 == 0 else {"s": some(s), "l": some(l), "inner": None if n % 3 == 0 else (1, {"d": some(None if d is None else raw("double", d))})}
    item = lambda i: {"x": some(None if i % 2 else i), "y": [None if j % 2 else (1, "y%d" % j) for j in range(i % 4)]}
    deep = [None if i % 4 == 3 else (1, {"m": {"k%d" % j: [item(i + k) for k in range(j)] for j in range((n + i) % 3)}}) for i in range(n % 4)]
    members = {"sub": some(sub), "list": None if n % 7 == 0 else (1, [None if i % 3 == 2 else (1, i - 1) for i in range(n % 4)]),
               "map": None if n % 6 == 0 else (1, {"key%d" % i: None if i % 3 == 2 else (1, decimal_bytes(i * 100 - 1)) for i in range(n % 5)}),
               "deep": (1, deep)}
    leaves = {"sub.s": s if sub else None, "sub.l": l if sub else None, "sub.inner.d": d if sub and sub["inner"] else None,
              **{c: None if members[c] is None else "there" for c in ("sub", "list", "map", "deep")}}
    return members, leaves


LEAVES = {"sub.s": "string", "sub.l": "long", "sub.inner.d": "double", "sub": "struct", "list": "list", "map": "map", "deep": "list"}


# ------------------------------------------------------------------------------------------------------------- tables

class Pass:
    """what is produced before one pass of the program, with the lines of its entry"""

    def __init__(self, schema, rows, entry):
        self.schema, self.rows, self.entry = schema, rows, entry


class Table:
    """`truth`: {column: {id: question value or None}}, `kinds`: the column's type at the end"""

    def __init__(self, label, skips=None):
        self.label, self.passes, self.truth, self.kinds, self.count = label, [], {}, {}, 0
        self.skips = skips or {}  # {engine: why it cannot}
        self.between = {}         # {pass: what another writer does before it}

    def tell(self, number, row, kinds):
        for c, v in row.items():
            self.truth.setdefault(c, {})[number] = v
        self.kinds.update(kinds)

    def add(self, columns, count, entry, with_nested=False, make=None):
        rows = []
        for _ in range(count):
            row, number = pick(columns), self.count
            members, leaves = nested(number) if with_nested else ({}, {})
            rows.append(raw_row(columns, number, row, members))
            self.tell(number, row, {c: k[1] for c, k in columns.items()})
            self.tell(number, leaves, LEAVES if with_nested else {})
            self.count += 1
        self.passes.append(Pass(schema(columns, *(NESTED if with_nested else ())), rows, entry))
        return rows


def kinds():
    t = Table("kinds")
    for _ in range(2):
        t.add(dict(KINDS, long=("string", "string", ["x" * 100000, "y" * 16 + "\U0010ffff", "z"])), 60, "", with_nested=True)
    return t


def hollow():
    """null lists and maps of structs"""
    t = Table("hollow", skips={"pyiceberg": "it reads a null list of structs as an empty one", "daft": "PyIceberg reads for it"})
    columns = [optional("list", {"type": "array", "items": record(optional("x", "long"), label="InList")}),
               optional("map", {"type": "map", "values": record(optional("x", "long"), label="InMap")})]
    rows = []
    for n in range(12):
        x = lambda i: {"x": None if i % 2 else (1, i)}
        row = {"list": None if n % 3 == 0 else (1, [x(i) for i in range(n % 4)]), "map": None if n % 4 == 0 else (1, {"k%d" % i: x(i) for i in range(n % 3)})}
        rows.append({"id": n, **row})
        t.tell(n, {c: v and "there" for c, v in row.items()}, {"list": "list", "map": "map"})
    t.count = len(rows)
    t.passes.append(Pass(record(field("id", "long"), *columns), rows, ""))
    return t


def clocks():
    """time and nanoseconds, which need engines of their own"""
    t = Table("clocks", skips={"spark": "it has no time"})
    t.add(CLOCK, 12, "")
    return t


def nanos():
    t = Table("nanos", skips={"spark": "it has no time and no nanoseconds", "duckdb": "it has no nanoseconds"})
    t.add(dict(CLOCK, **NANOS), 20, "  format_version: 3\n  types: { timestamp_nanos: keep }\n  partitioning: ['day(ns)', 'hour(nz)']\n")
    return t


def partitioned(label, columns, transforms, version=2, skips=None):
    t = Table(label, skips)
    entry = "  format_version: %d\n  partitioning: [%s]\n" % (version, ", ".join("'%s'" % x for x in transforms))
    no_place = extremes.NO_PLACE["widths"] | {("i", -(1 << 31))} if label == "cut" else ()
    t.add({c: (*KINDS[c][:2], [v for v in KINDS[c][2] if (c, v) not in no_place]) for c in columns}, 40, entry)
    return t


def evolved():
    """columns come, widen, are renamed and go; the spec and the version change; each state has files"""
    t = Table("evolved")
    first = {"a": ("int", "int", [0, -1, 2147483647]), "b": ("float", "float", ["1.5", "-0.0", "nan"]), "c": (decimal(9, 2), "decimal(9,2)", ["-1.00", "0.25"]),
             "old": ("string", "string", ["a/b", "", "\U0001f600"]), "gone": ("int", "int", [7, 8])}
    rows = t.add(first, 15, "")
    assert len(rows) == 15
    second = {"a": ("long", "long", [1 << 40, -1]), "b": ("double", "double", ["1e300", "1.5"]), "c": (decimal(18, 2), "decimal(18,2)", ["9999999999999999.99", "0.25"]),
              "new": ("string", "string", ["later", ""]), "gone": ("int", "int", [7])}
    t.truth["new"] = t.truth.pop("old")
    t.kinds.pop("old")
    t.add(second, 15, "  partitioning: ['bucket(3, a)']\n")
    renamed(t.passes[-1].schema)
    third = dict(second, more=({"type": "long", "logicalType": "timestamp-micros"}, "timestamptz", [0, -1, 1767225600000000]))
    third.pop("gone")
    t.add(third, 15, "  partitioning: ['truncate(2, new)', 'day(more)']\n")
    renamed(t.passes[-1].schema)
    t.add(third, 15, "  format_version: 3\n  partitioning: [new, 'month(more)']\n")
    renamed(t.passes[-1].schema)
    for column in ("more", "gone"):  # null where a record had no such field
        t.truth[column] = {n: t.truth[column].get(n) for n in range(t.count)}
    return t


def renamed(schema_json):
    for f in schema_json["fields"]:
        if f["name"] == "new":
            f["aliases"] = ["old"]


def void():
    """a spec with a void field, which another writer gave the table"""
    t = Table("void")
    columns = {c: KINDS[c] for c in ("s", "l", "dt")}
    t.add(columns, 10, "")
    t.add(columns, 10, "")

    def respec(table):
        from pyiceberg.transforms import BucketTransform, VoidTransform
        with table.update_spec() as update:
            update.add_field("s", VoidTransform(), "s_void")
            update.add_field("l", BucketTransform(3), "l_bucket")
    t.between[1] = respec
    return t


NO_SUCH_PARTITION = "it cannot read such partition values"  # nor PyIceberg's: Iceberg Java takes a fixed in a manifest for bytes
TABLES = {
    "kinds": kinds, "hollow": hollow, "clocks": clocks, "nanos": nanos, "evolved": evolved, "void": void,
    "identity": lambda: partitioned("identity", ("i", "l", "s", "d9", "d38", "dt", "ts", "o"), ("i", "d38", "dt", "s", "o")),
    "odd": lambda: partitioned("odd", ("u", "b", "i"), ("u", "b"), skips=dict.fromkeys(("chdb", "daft"), NO_SUCH_PARTITION)),
    "fixed": lambda: partitioned("fixed", ("x", "i"), ("x",), skips=dict.fromkeys(("chdb", "daft", "spark", "trino", "flink"), NO_SUCH_PARTITION)),
    "floats": lambda: partitioned("floats", ("f", "d", "i"), ("f", "d"), skips={"flink": "it cannot hold a NaN of a partition"}),
    "buckets": lambda: partitioned("buckets", ("s", "l", "i", "d19", "u", "b", "dt", "tz"),
                                   ("bucket(3, s)", "bucket(4, l)", "bucket(2, d19)", "bucket(2, u)", "bucket(2, b)", "bucket(2, dt)", "bucket(2, tz)"), 3),
    "cut": lambda: partitioned("cut", ("s", "l", "i", "d9", "b"), ("truncate(3, s)", "truncate(10, l)", "truncate(7, i)", "truncate(50, d9)", "truncate(2, b)")),
    "times": lambda: partitioned("times", ("tz", "ts", "dt", "i"), ("year(tz)", "month(dt)", "day(ts)")),
    "hours": lambda: partitioned("hours", ("tz", "ts", "dt", "i"), ("hour(tz)", "hour(ts)", "year(dt)"), 3),
}


def make_tables(tally, kafka, registry, tables):
    """produce and run, pass by pass -> {label: metadata location}"""
    head = hproofs.CONFIG.rpartition("- topic")[0] % (kafka.bootstrap, htables.name("engines"), registry.url, "")
    frazil = Frazil(os.path.join(DIR, "engines"), "")
    topics = {t.label: htables.name("engines_" + t.label) for t in tables}
    for topic in topics.values():
        kafka.create(topic, 2)
    found, rows = {}, dict.fromkeys(topics, 0)
    for turn in range(max(len(t.passes) for t in tables)):
        config = head
        for t in tables:
            now = t.passes[min(turn, len(t.passes) - 1)]
            config += "- topic: %s\n  commit_interval: 500ms\n%s" % (topics[t.label], now.entry)
            if turn in t.between:
                t.between[turn](frazil.table("default." + topics[t.label]))
            if turn < len(t.passes):
                htables.produce(kafka, registry, topics[t.label], now.schema, now.rows, partitions=2)
                rows[t.label] += len(now.rows)
        with open(os.path.join(frazil.directory, "frazil.yaml"), "w", encoding="utf-8") as f:
            f.write(config)
        code, reports, errors = frazil.once()
        if not tally.equal("pass %d: exit code" % turn, code, 0):
            print(errors[-3000:], flush=True)
        for t in tables:
            report = reports.get(topics[t.label], {})
            if turn < len(t.passes):
                tally.equal("%s: pass %d: state, rows" % (t.label, turn), (report.get("state"), report.get("rows")), ("done", len(t.passes[turn].rows)))
            found[t.label] = report.get("metadata_location") or found.get(t.label)
    return {label: location for label, location in found.items() if location}


def main():
    tally, only = Tally(), sys.argv[1:] or list(TABLES)
    tables = [TABLES[label]() for label in only]
    with htables.broker() as kafka, harness.schema_registry() as registry:
        located = make_tables(tally, kafka, registry, tables)
    engines = hengines.available()
    print("engines: %s" % ", ".join(sorted(engines)), flush=True)
    with hengines.running(engines) as running:
        for t in tables:
            if t.label in located:
                running.judge(tally, t, located[t.label])
                for engine in running.names:
                    if engine in t.skips:
                        print("     not asked of %s, %s: %s" % (engine, t.label, t.skips[engine]), flush=True)
                    else:
                        hconditions.check(tally, running, t, engine, located[t.label], LONG)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
