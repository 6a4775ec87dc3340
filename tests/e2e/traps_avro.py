#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What has broken other programs when they read Avro, tried on this one: one topic a trap, all in one configuration, two passes, and a service.

usage: traps_avro.py [TRAP...]

What a trap needs beyond its topic here is tested closer to the code:

    T053 leaks and undefined behaviour     every test of unit/format/avro under ASan and UBSan (make test-asan), avro_diff.py with such a build
    T051 T061 each malformed block, cut    unit/format/avro/cases (families avro-frame, poison-avro), decode: bad_records_name_their_fault
    T055 T057 T059 each logical type       unit/format/avro/cases (avro-logical, avro-nested), schema: what_has_no_column_is_left_out
    T087 a registry that is down, negative answers that expire, one request for many threads
                                           unit/io/registry/cached_registry: test_down, test_unknown, test_single_flight
    T091 subjects by strategy              unit/flow/ingest/writer_schemas: subjects_by_strategy; serializers.py: python_record_name
    T093 T095 T099 no flapping, map keys   unit/flow/ingest/evolve: any_two_schemas_come_to_rest, map_keys_never_change, relaxes_what_is_missing_or_optional
    T101 ids of a catalog that renumbers   the SQL catalog keeps ours; unit/flow/ingest/evolve: adopts_columns_that_others_added
    T105 floor division, odd years         unit/base/text/time: civil_round_trip, formats
    T111 fixed sizes of decimals           unit/data/decimal: sizes_and_limits; unit/table/iceberg/manifest: every_partition_type
"""
import glob, json, os, signal, subprocess, sys, time

import havro
import hproofs
from harness import DIR, FRAZIL, Frazil, Kafka, Tally, judge, kill
from hproofs import framed
from registry import Registry

TRAPS = []
HEAD = """
kafka:
  bootstrap_servers: %s
  group_id: traps_avro
schema_registry:
  url: %s
server:
  listen: off
defaults:
  on_error: dead_letter
tableflow:
"""


def trap(name, more="", later=None, partitions=1):
    """registers a generator: it prepares, yields for a pass, checks, perhaps prepares and yields again; `later`: the entry for pass two"""
    def take(function):
        TRAPS.append((name, more, more if later is None else later, partitions, function))
        return function
    return take


def record(*fields, name="R", **more):
    return {"type": "record", "name": name, "fields": [f if isinstance(f, dict) else {"name": f[0], "type": f[1]} for f in fields], **more}


class Case:
    """one trap under way"""

    def __init__(self, tally, kafka, registry, name):
        self.tally, self.kafka, self.registry, self.name = tally, kafka, registry, name
        self.topic = name.lower().replace(" ", "_")
        self.wanted, self.types, self.frazil, self.report = {}, {}, None, {}

    def register(self, schema, subject=None, references=()):
        number = self.registry.register(subject or self.topic + "-value", schema, references=references)
        if not references:
            self.types[number] = havro.Names(schema).root
        return number

    def send(self, *values, **more):
        """raw bytes, or (schema id, raw value) whose row is wanted -> places"""
        rows = [v[1] if isinstance(v, tuple) else None for v in values]
        data = [framed(v[0], havro.write(self.types[v[0]], v[1])) if isinstance(v, tuple) else v for v in values]
        places = hproofs.produce(self.kafka, self.topic, [(n % more.get("partitions", 1), d) for n, d in enumerate(data)])
        for place, v, row in zip(places, values, rows):
            if row is not None:
                self.wanted[place] = havro.row(self.types[v[0]], row)
        return places

    def equal(self, what, found, wanted):
        return self.tally.equal("%s %s" % (self.name, what), found, wanted)

    def table(self):
        return self.frazil.table("default." + self.topic)

    def rows(self):
        return hproofs.rows(self.frazil, "default." + self.topic)

    def done(self, rows, letters=0):
        return self.equal("state, rows, letters", (self.report.get("state"), self.report.get("rows"), self.report.get("dead_letters")),
                          ("done", rows, letters))

    def rows_right(self, what="rows"):
        names = [f.name for f in self.table().schema().fields if f.name != "_kafka"]
        wanted = {p: {**dict.fromkeys(names), **r} for p, r in self.wanted.items()}
        self.equal(what, hproofs.differences(self.rows(), wanted), [])

    def schemas(self):
        return len(self.table().metadata.schemas)

    def types_of(self):
        return {f.name: str(f.field_type) for f in self.table().schema().fields if f.name != "_kafka"}

    def kinds(self):
        found = hproofs.letters(self.frazil, "default.%s__dead_letters" % self.topic)
        return {p: letter["error"] for p, letter in found.items()}

    def judged(self):
        judge(self.tally, self.table().metadata_location.removeprefix("file://"), len(self.wanted))

    def suspended(self, kind, *words):
        error = self.report.get("error") or {}
        self.equal("state, kind", (self.report.get("state"), error.get("kind")), ("suspended", kind))
        self.equal("message names %s" % (words,), [w for w in words if w not in error.get("message", "")], [])


# ------------------------------------------------------------------------------------------------------------- section 5

@trap("T045")
def same_short_names(c):
    item = lambda space, what: dict(record((what, "int"), name="Item"), namespace=space)
    one = c.register(record(("u", [item("a", "p"), item("b", "p"), {"type": "enum", "name": "Item", "namespace": "c", "symbols": ["X", "Y"]}])))
    c.send((one, {"u": (0, {"p": 1})}), (one, {"u": (1, {"p": 2})}), (one, {"u": (2, "Y")}))
    yield
    c.done(3)
    c.rows_right("three branches")
    c.equal("names", sorted(c.rows()[(0, 0)]["u"]), ["a.Item", "b.Item", "c.Item"])


@trap("T047")
def enum_symbols(c):
    kind = lambda *symbols: {"type": "enum", "name": "E", "symbols": list(symbols), "default": symbols[-1]}
    one = c.register(record(("e", kind("A", "B", "C"))))
    two = c.register(record(("e", kind("C", "A"))))
    c.send((one, {"e": "B"}), (one, {"e": "C"}), (two, {"e": "C"}), (two, {"e": "A"}))
    yield
    c.done(4)
    c.rows_right("the writer's symbol")
    c.equal("schemas", c.schemas(), 1)


@trap("T049")
def empty_record_within(c):
    one = c.register(record(("id", "int"), ("e", record(name="E")), ("end", "string")))
    c.send((one, {"id": 1, "e": {}, "end": "x"}), (one, {"id": 2, "e": {}, "end": "y"}))
    yield
    c.done(2)
    c.rows_right("rows without the empty record")


@trap("T049 root")
def empty_record_at_root(c):
    one = c.register(record())
    c.send(framed(one, b""))
    yield
    c.suspended("unsupported_type")


@trap("T051")
def negative_counts(c):
    one = c.register(record(("m", {"type": "map", "values": "int"}), ("a", {"type": "array", "items": "int"})))
    n = havro.varint
    pair = b"\x02x\x02" + b"\x02y\x04"
    head = framed(one, b"")
    places = c.send(head + n(-2) + n(len(pair)) + pair + n(0) + n(2) + n(7) + n(8) + n(-1) + n(1) + n(9) + n(0),
                    head + n(2) + pair + n(0) + n(3) + n(7) + n(8) + n(9) + n(0),
                    head + n(2) + pair + n(0) + n(-(1 << 63)) + n(1) + n(9) + n(0))
    yield
    c.done(2, 1)
    c.wanted = {p: {"m": [["x", 1], ["y", 2]], "a": [7, 8, 9]} for p in places[:2]}
    c.rows_right("either form is the same")
    c.equal("the least count", c.kinds(), {places[2]: "malformed"})


@trap("T055")
def logical_types_that_do_not_fit(c):
    one = c.register(record(
        ("scale", {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 5}), ("foo", {"type": "string", "logicalType": "foo"}),
        {"name": "onfield", "type": "long", "logicalType": "timestamp-millis"},
        ("millis", {"type": "int", "logicalType": "timestamp-millis"}),
        ("uid", {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}),
        ("short", {"type": "fixed", "name": "V", "size": 15, "logicalType": "uuid"})))
    c.send((one, {"scale": b"\1\2", "foo": "f", "onfield": 5, "millis": 6, "uid": bytes(range(16)), "short": bytes(15)}))
    yield
    c.done(1)
    c.equal("columns", c.types_of(), {"scale": "binary", "foo": "string", "onfield": "long", "millis": "int", "uid": "uuid", "short": "fixed[15]"})
    c.rows_right()


@trap("T057")
def units(c):
    names = {"day": ("int", "date", 19000), "tms": ("int", "time-millis", 86399123), "tus": ("long", "time-micros", 86399123456),
             "ms": ("long", "timestamp-millis", 1700000000123), "us": ("long", "timestamp-micros", 1700000000123456),
             "lms": ("long", "local-timestamp-millis", 1700000000123), "lus": ("long", "local-timestamp-micros", 1700000000123456)}
    one = c.register(record(*((n, {"type": t, "logicalType": log}) for n, (t, log, _) in names.items())))
    time_of_day = lambda n: n.startswith("t")
    c.send(*((one, {n: v[2] if x is None else max(x, 0) if time_of_day(n) else x for n, v in names.items()}) for x in (0, 1, -1, None)))
    yield
    c.done(4)
    c.rows_right("exact instants")


@trap("T057 nanos")
def nanos_in_version_2(c):
    c.send(framed(c.register(record(("ns", {"type": "long", "logicalType": "timestamp-nanos"}))), b"\0"))
    yield
    c.suspended("unsupported_type", "ns", "timestamp_nanos", "format_version")


@trap("T057 truncate", "  types: { timestamp_nanos: truncate }\n")
def nanos_cut(c):
    one = c.register(record(("ns", {"type": "long", "logicalType": "timestamp-nanos"})))
    places = c.send(*(framed(one, havro.varint(v)) for v in (0, 1, -1, 1700000000123456789)))
    yield
    c.done(4)
    texts = ("1970-01-01T00:00:00.000000", "1970-01-01T00:00:00.000000", "1969-12-31T23:59:59.999999", "2023-11-14T22:13:20.123456")
    c.wanted = {p: {"ns": t + "+00:00"} for p, t in zip(places, texts)}
    c.rows_right("cut towards minus infinity")


@trap("T057 version 3", "  format_version: 3\n")
def nanos_kept(c):
    one = c.register(record(("ns", {"type": "long", "logicalType": "timestamp-nanos"})))
    c.send(*((one, {"ns": v}) for v in (0, 1, -1, 1700000000123456789)))
    yield
    c.done(4)
    c.equal("columns", c.types_of(), {"ns": "timestamptz_ns"})


@trap("T059")
def odd_contents(c):
    of = lambda kind, what: {"type": kind, "values" if kind == "map" else "items": what}
    one = c.register(record(("dur", {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}), ("y", "bytes"),
                            ("m", of("map", ["null", "string"])), ("deep", of("map", of("array", of("map", "int"))))))
    c.send((one, {"dur": bytes(range(12)), "y": b"\0a\0", "m": [("", (1, "e")), ("k", (1, "old")), ("n", None), ("k", (1, "new"))],
                  "deep": [("a", [[("x", 1)], []]), ("b", [])]}))
    yield
    c.done(1)
    c.rows_right("rows, the last of a doubled key")
    c.judged()


@trap("T061")
def left_over_or_cut(c):
    one = c.register(record(("a", "int"), ("b", "string")))
    good = framed(one, b"\2\4hi")
    places = c.send(good, good + b"abc", good[:-1], b"\0\0\0\0" + bytes([one]), (one, {"a": 2, "b": "y"}))
    c.wanted[places[0]] = {"a": 1, "b": "hi"}
    yield
    c.done(2, 3)
    c.rows_right("no shifted row")
    c.equal("kinds", c.kinds(), {places[1]: "trailing_bytes", places[2]: "truncated", places[3]: "truncated"})
    found = hproofs.letters(c.frazil, "default.%s__dead_letters" % c.topic)
    c.equal("schema ids", {letter["schema_id"] for letter in found.values()}, {one})


# ------------------------------------------------------------------------------------------------------------- section 8

@trap("T087", partitions=2)
def unknown_id(c):
    one = c.register(record(("a", "int")))
    unknown = 987654
    places = c.send(*([(one, {"a": 0})] + [framed(unknown, b"\2")] * 2000 + [(one, {"a": 1})]), partitions=2)
    yield
    c.done(2, 2000)
    c.equal("kinds", set(c.kinds().values()), {"unknown_schema_id"})
    asked = [r for r in c.registry.requests if "/%d" % unknown in r]
    c.tally.check("T087 the registry is not hammered", 1 <= len(asked) <= 12, "%d requests" % len(asked))
    c.equal("letters", len(c.kinds()), len(places) - 2)


@trap("T089")
def deleted_reference(c):
    point = record(("x", "int"), name="Point", namespace="geo")
    c.register(point, "t089-point")
    ref = {"name": "geo.Point", "subject": "t089-point", "version": 1}
    one = c.register(record(("p", "geo.Point")), references=[ref])
    c.types[one] = havro.Names(record(("p", point))).root
    c.registry.delete("t089-point", "1", False)
    c.send((one, {"p": {"x": 5}}))
    yield
    c.done(1)
    c.rows_right("a reference that is deleted softly")


@trap("T089 twins")
def same_schema_again(c):
    schema = record(("a", "int"), ("b", "string"))
    one, two = c.register(schema), c.register(dict(schema, doc=""))
    c.send((one, {"a": 1, "b": "x"}), (two, {"a": 2, "b": "y"}))
    yield
    c.done(2)
    c.rows_right()
    c.equal("one table schema", c.schemas(), 1)


@trap("T091", "  value: { subject: \"odd/sub ject%41:x\" }\n")
def odd_subject(c):
    one = c.register(record(("id", "long"), ("a", "string"), name="A"), "odd/sub ject%41:x")
    two = c.register(record(("id", "long"), name="B"), "elsewhere")
    three = c.register(record(("id", "long"), ("a", ["null", "string"]), name="C"), "elsewhere2")
    c.send((one, {"id": 1, "a": "x"}), (three, {"id": 3, "a": (1, "z")}), (one, {"id": 4, "a": "y"}))
    yield
    c.done(3)
    c.rows_right("decoded by id")
    c.equal("ids of other subjects change nothing", (two in c.types, c.types_of()), (True, {"id": "long", "a": "string"}))


# ------------------------------------------------------------------------------------------------------------- section 9

@trap("T093", partitions=2)
def alternating_writers(c):
    one = c.register(record(("a", "int")))
    c.send(*((one, {"a": i}) for i in range(10)), partitions=2)
    yield
    c.done(10)
    two = c.register(record(("a", "long"), {"name": "b", "type": ["null", "string"], "default": None}))
    c.send(*((two, {"a": i << 32, "b": (1, "b%d" % i)}) if (i // 2) % 2 else (one, {"a": -i}) for i in range(10000)), partitions=2)
    yield
    c.done(10000)
    c.rows_right("no row lost, each by its writer")
    c.equal("exactly one change of schema", c.schemas(), 2)


@trap("T095")
def new_collections(c):
    one = c.register(record(("id", "int")))
    c.send((one, {"id": 1}))
    yield
    c.done(1)
    new = lambda name, kind: {"name": name, "type": ["null", kind], "default": None}
    two = c.register(record(("id", "int"), new("m", {"type": "map", "values": "long"}), new("l", {"type": "array", "items": "string"}),
                            new("s", record(("x", "int"), name="S"))))
    c.send((two, {"id": 2, "m": (1, {"k": 1}), "l": (1, ["a"]), "s": (1, {"x": 1})}), (two, {"id": 3, "m": None, "l": None, "s": None}))
    yield
    c.done(2)
    c.rows_right("rows")
    schema = c.table().schema()
    m = schema.find_field("m").field_type
    c.equal("a map's key and value have ids of their own", len({m.key_id, m.value_id, schema.find_field("m").field_id}), 3)
    c.tally.check("T101 last-column-id is no less than any id", c.table().metadata.last_column_id >= schema.highest_field_id)
    c.judged()


@trap("T097")
def names_by_case(c):
    c.send(framed(c.register(record(("ID", "int"), ("Id", "int"), ("id", "int"))), b"\0\0\0"))
    yield
    c.suspended("unsupported_type", "ID", "Id")


@trap("T097 nested")
def nested_names_by_case(c):
    c.send(framed(c.register(record(("r", record(("X", "int"), ("x", "int"), name="N")))), b"\0\0"))
    yield
    c.suspended("unsupported_type", "X", "x")


@trap("T099")
def required_then_optional(c):
    one = c.register(record(("id", "int"), ("a", "string"), ("b", "string")))
    c.send((one, {"id": 1, "a": "x", "b": "y"}))
    yield
    c.done(1)
    two = c.register(record(("id", "int"), ("b", ["null", "string"])))
    c.send((two, {"id": 2, "b": None}), (one, {"id": 3, "a": "z", "b": "w"}))
    yield
    c.done(2)
    c.rows_right("rows")
    c.equal("relaxed at once", (c.schemas(), {f.name: f.required for f in c.table().schema().fields if f.name in "idab"}),
            (2, {"id": True, "a": False, "b": False}))


@trap("T103", "  partitioning: [ \"bucket(4, id)\" ]\n", "  partitioning: [ \"truncate(10, id)\" ]\n")
def schema_and_spec_change(c):
    one = c.register(record(("id", "int")))
    c.send(*((one, {"id": i}) for i in range(40)))
    yield
    c.done(40)
    two = c.register(record(("id", "long"), {"name": "n", "type": ["null", "string"], "default": None}))
    c.send(*((two, {"id": i << 33, "n": (1, "n")}) if i % 2 else (one, {"id": i}) for i in range(40)))
    yield
    c.done(40)
    c.rows_right("files of both")
    table = c.table()
    manifests = table.current_snapshot().manifests(table.io)
    c.equal("a manifest per spec", sorted({m.partition_spec_id for m in manifests}), [0, 1])
    c.judged()


# ------------------------------------------------------------------------------------------------------------ section 10

@trap("T105")
def before_1970(c):
    one = c.register(record(("us", {"type": "long", "logicalType": "timestamp-micros"}), ("ms", {"type": "long", "logicalType": "timestamp-millis"}),
                            ("lo", {"type": "long", "logicalType": "local-timestamp-micros"})))
    c.send(*((one, {"us": v, "ms": -1, "lo": v}) for v in (-1, -871000, -1000001)))
    yield
    c.done(3)
    c.rows_right("floor division")
    c.equal("text of -1", c.rows()[(0, 0)]["us"], "1969-12-31T23:59:59.999999+00:00")
    p = subprocess.run([FRAZIL, "cat", "default." + c.topic, "-c", "frazil.yaml", "-o", "json"], cwd=c.frazil.directory, text=True,
                       stdout=subprocess.PIPE, timeout=60)
    lines = [json.loads(line) for line in p.stdout.splitlines()]
    c.equal("cat shows the same", sorted(line["us"] for line in lines), sorted(r["us"] for r in c.wanted.values()))


@trap("T107")
def zoned_and_zone_less(c):
    one = c.register(record(("z", {"type": "long", "logicalType": "timestamp-micros"}), ("l", {"type": "long", "logicalType": "local-timestamp-micros"})))
    c.send((one, {"z": 1700000000123456, "l": 1700000000123456}))
    yield
    import pyarrow.parquet as pq
    c.done(1)
    c.equal("columns", c.types_of(), {"z": "timestamptz", "l": "timestamp"})
    files = glob.glob(os.path.join(c.frazil.directory, "warehouse", "default", c.topic, "**", "*.parquet"), recursive=True)
    found = {s.name: json.loads(s.logical_type.to_json())["isAdjustedToUTC"] for f in files for s in pq.ParquetFile(f).schema if s.name in ("z", "l")}
    c.equal("isAdjustedToUTC", found, {"z": True, "l": False})
    c.judged()


@trap("T109")
def millis_then_micros(c):
    at = lambda unit: record(("t", {"type": "long", "logicalType": "timestamp-" + unit}))
    one, two = c.register(at("millis")), c.register(at("micros"))
    c.send(*((one, {"t": 1700000000123}) if i % 2 else (two, {"t": 1700000000123000}) for i in range(20)))
    yield
    c.done(20)
    c.rows_right("one instant")
    c.equal("one value, one schema", (len({r["t"] for r in c.rows().values()}), c.schemas()), (1, 1))


@trap("T111", "  partitioning: [ big, small ]\n")
def decimals(c):
    dec = lambda p, s=0: {"type": "bytes", "logicalType": "decimal", "precision": p, "scale": s}
    one = c.register(record(("big", dec(38)), ("small", dec(11, 2)), ("s10", dec(20, 10))))
    number = lambda n: n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)
    nines = 10 ** 38 - 1
    c.send(*((one, {"big": number(b), "small": number(s), "s10": number(b % 10 ** 19)}) for b, s in
             ((nines, 10 ** 11 - 1), (-nines, 1 - 10 ** 11), (0, 0), (-1, -1))))
    yield
    c.done(4)
    c.rows_right("38 digits")
    c.judged()
    c.register(record(("big", dec(38)), ("small", dec(11, 2)), ("s10", dec(22, 12))))
    yield
    c.suspended("schema_incompatible", "s10")


@trap("T111 39 digits")
def too_many_digits(c):
    c.send(framed(c.register(record(("d", {"type": "bytes", "logicalType": "decimal", "precision": 39}))), b"\2\0"))
    yield
    c.suspended("unsupported_type", "d")


def keys(c, good):
    """values are alike, keys are null, empty, odd -> places"""
    one = c.register(record(("v", "int")))
    data = [(0, framed(one, havro.varint(i)), key, None, 0) for i, key in enumerate([None, b"", b"\xff\xfe\x00", good])]
    return hproofs.produce(c.kafka, c.topic, data)


@trap("T113 bytes", "  key: { format: bytes }\n")
def keys_as_bytes(c):
    places = keys(c, b"key")
    yield
    c.done(4)
    c.equal("rows", {p: (r["key"], r["v"]) for p, r in c.rows().items()}, dict(zip(places, ((None, 0), ("", 1), ("fffe00", 2), ("6b6579", 3)))))


@trap("T113 string", "  key: { format: string }\n")
def keys_as_text(c):
    places = keys(c, b"key")
    yield
    c.done(3, 1)
    c.equal("rows", {p: (r["key"], r["v"]) for p, r in c.rows().items()},
            {places[0]: (None, 0), places[1]: ("", 1), places[3]: ("key", 3)})
    c.equal("a key that is no text", c.kinds(), {places[2]: "invalid_utf8"})


@trap("T113 avro", "  key: { format: avro }\n")
def keys_as_records(c):
    number = c.register(record(("k", "string"), name="K"), c.topic + "-key")
    places = keys(c, framed(number, b"\4hi"))
    yield
    c.done(2, 2)
    c.equal("rows", {p: (r["k"], r["v"]) for p, r in c.rows().items()}, {places[0]: (None, 0), places[3]: ("hi", 3)})
    c.equal("keys that cannot be read", c.kinds(), {places[1]: "bad_frame", places[2]: "bad_magic"})


@trap("T113 none")
def keys_not_looked_at(c):
    places = keys(c, b"key")
    yield
    c.done(4)
    c.equal("rows", {p: r for p, r in c.rows().items()}, {p: {"v": i} for i, p in enumerate(places)})


# -------------------------------------------------------------------------------------------------------------- a service

def missing_schema_arrives(tally, kafka, registry):
    """T087: a running service, suspended at an unknown id, goes on by itself once the schema is there; a registry that is down afterwards
    does not keep it from what it knows"""
    topic = "t087_service"
    frazil = hproofs.make(kafka, registry, topic)
    schema = record(("a", "int"))
    one, t = registry.register(topic + "-value", schema), havro.Names(schema).root
    late = registry.next_id
    hproofs.produce(kafka, topic, [(0, framed(i, havro.varint(n))) for n, i in enumerate((one, late, one))])
    service = frazil.start("run", "-c", "frazil.yaml")
    try:
        time.sleep(3)
        tally.equal("T087 the schema comes late", registry.register(topic + "-value", dict(schema, doc="late")), late)
        tally.equal("T087 it goes on without a restart", wait_for_rows(frazil, topic, 3, 40), 3)
        asked = [r for r in registry.requests if "/schemas/ids/%d" % late in r]
        tally.check("T087 it asks with patience", len(asked) <= 12, "%d requests" % len(asked))
        registry.fail("/", status=503, times=1000000)
        hproofs.produce(kafka, topic, [(0, framed(i, havro.varint(n))) for n, i in ((3, one), (4, late))])
        tally.equal("T087 known ids while the registry is down", wait_for_rows(frazil, topic, 5, 30), 5)
        registry.faults.clear()
        found = {p: r["a"] for p, r in hproofs.rows(frazil, "default." + topic).items()}
        tally.equal("T087 rows", found, {(0, n): havro.row(t, {"a": n})["a"] for n in range(5)})
        service.send_signal(signal.SIGTERM)
        tally.equal("T087 the service ends", service.wait(60), 0)
    finally:
        registry.faults.clear()
        if service.poll() is None:
            kill(service)


def wait_for_rows(frazil, topic, wanted, limit):
    until, found = time.monotonic() + limit, 0
    while found < wanted and time.monotonic() < until:
        try:
            found = frazil.table("default." + topic).scan().to_arrow().num_rows
        except Exception:   # not made yet
            pass
        time.sleep(0.5)
    return found


# ------------------------------------------------------------------------------------------------------------------- runs

def configuration(kafka, registry, topics, second):
    text = HEAD % (kafka.bootstrap, registry.url)
    for topic, first, later in topics:
        text += "- topic: %s\n%s" % (topic, later if second else first)
    return text


def advance(tally, c, running):
    """on to the next yield; False at the end"""
    try:
        next(running)
        return True
    except StopIteration:
        return False
    except Exception as e:
        tally.check("%s ran to its end" % c.name, False, "%s: %s" % (type(e).__name__, str(e)[:300]))
        return False


def main():
    print(FRAZIL, flush=True)
    tally, only = Tally(), sys.argv[1:]
    with Kafka() as kafka, Registry() as registry:
        running, topics = [], []
        for name, more, later, partitions, function in TRAPS:
            if only and not any(name.startswith(o) for o in only):
                continue
            c = Case(tally, kafka, registry, name)
            kafka.create(c.topic, partitions)
            topics.append((c.topic, more, later))
            generator = function(c)
            if advance(tally, c, generator):
                running.append((c, generator))
        frazil = Frazil(os.path.join(DIR, "traps_avro"), "")
        for turn in range(2):
            with open(os.path.join(frazil.directory, "frazil.yaml"), "w", encoding="utf-8") as f:
                f.write(configuration(kafka, registry, topics, turn > 0))
            code, reports, errors = frazil.once(timeout=180)
            if not tally.check("pass %d ends by itself" % (turn + 1), code in (0, 3) and reports, code):
                print(errors[-2000:], flush=True)
            still = []
            for c, generator in running:
                c.frazil, c.report = frazil, reports.get(c.topic, {})
                if advance(tally, c, generator):
                    still.append((c, generator))
            running = still
        if not only or "T087" in only:
            hproofs.part(tally, missing_schema_arrives, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
