#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What has broken other writers of partitions, Parquet files and Iceberg metadata, tried on this one: a check a trap, named after it.

usage: traps_tables.py [TABLE...]

What needs no run of the program is tested closer to the code:

    T117 hashes of each type               unit/data/transform
    T127 bounds over row groups            unit/format/parquet/writer: float_bounds; judge.py compares each file's bounds with its values
    T137 many columns and row groups       memory.py: 1,000 columns
    T141 pages of nulls in version 2       files/parquet, read as pyarrow does
    T165 row ids                           engines.py and foreign_tables.py on version 3: judge.py follows each row id
"""
import glob, json, os, re, struct, subprocess, sys

import fastavro
import pyarrow.parquet as pq

import hproofs
import htables
from harness import DIR, Tally
from htables import decimal, decimal_bytes, field, optional, record
from registry import Registry

TABLES = []
NAN = float("nan")


def table(function):
    TABLES.append(function)
    return function


class Case:
    """a topic and its table"""

    def __init__(self, tally, kafka, registry, topic, schema, more=""):
        self.tally, self.kafka, self.registry, self.topic, self.schema, self.rows = tally, kafka, registry, topic, schema, 0
        self.frazil = hproofs.make(kafka, registry, topic, more, directory=os.path.join(DIR, "traps_tables", topic))

    def append(self, rows, made=None):
        htables.produce(self.kafka, self.registry, self.topic, self.schema, rows)
        made = len(rows) if made is None else made
        self.rows += made
        return htables.once(self.tally, self.topic, self.frazil, self.topic, made)

    def maintain(self, *what):
        code, _, errors = self.frazil.run("maintain", "default." + self.topic, *what, "-c", "frazil.yaml")
        if not self.tally.equal("%s: maintain %s" % (self.topic, " ".join(what)), code, 0):
            print(errors[-1500:])

    def load(self):
        return self.frazil.table("default." + self.topic)

    def metadata(self):
        with open(self.load().metadata_location.removeprefix("file://"), encoding="utf-8") as f:
            return json.load(f)

    def files(self):
        return self.load().inspect.files().to_pylist()

    def data_files(self):
        """as the manifests have them, partition values as they are stored"""
        io = self.load().io
        return [e.data_file for m in self.load().current_snapshot().manifests(io) for e in m.fetch_manifest_entry(io)]

    def judged(self, engines=None):
        htables.judge(self.tally, self.topic, self.load().metadata_location, self.rows, engines=engines)

    def equal(self, what, found, wanted):
        return self.tally.equal(what, found, wanted)

    def check(self, what, good, detail=""):
        return self.tally.check(what, good, detail)


def local(uri):
    return uri.removeprefix("file://")


def avro_schema(path):
    with open(local(path), "rb") as f:
        reader = fastavro.reader(f)
        return json.loads(reader.metadata["avro.schema"]), list(reader)


# ------------------------------------------------------------------------------------------------------- partitions

@table
def extreme_times(tally, kafka, registry):
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    for transform, kept in (("hour", 4), ("day", 6)):
        case = Case(tally, kafka, registry, "extreme_" + transform, record(field("id", "long"), field("t", micros)),
                    "  partitioning: [%s(t)]\n  on_error: skip\n" % transform)
        hours = 3600 * 1000000
        values = [0, -1, (2 ** 31 - 1) * hours, -(2 ** 31) * hours, 2 ** 63 - 1, -(2 ** 63)]
        case.append([{"id": n, "t": v} for n, v in enumerate(values)], kept)
        unit = hours if transform == "hour" else 24 * hours
        found = sorted(f.partition[0] for f in case.data_files())
        case.equal("T115 %s of extreme micros is never wrapped" % transform, found, sorted(v // unit for v in values[:kept]))


@table
def buckets(tally, kafka, registry):
    case = Case(tally, kafka, registry, "buckets", record(field("id", "long"), field("s", "string")), "  partitioning: ['bucket(32, s)']\n")
    case.append([{"id": 1, "s": "\U0001F4B0"}, {"id": 2, "s": "iceberg"}])
    found = {f.partition[0] for f in case.data_files()}
    case.equal("T119 buckets of strings outside the basic plane", found, {12, (1210000089 & 0x7fffffff) % 32})


@table
def odd_values(tally, kafka, registry):
    case = Case(tally, kafka, registry, "odd_values", record(field("id", "long"), field("s", "string")), "  partitioning: [s]\n")
    values = ["a/b", "a b", "a+b", "a%2Fb", "a#b", "a?b", "a=b", "..", "", ".", "\U0001F600", "x" * 2048, "new\nline", "a&b;c", "C:\\x", "null"]
    case.append([{"id": n, "s": v} for n, v in enumerate(values)])
    entries = case.files()
    case.equal("T121 each value has its file", len(entries), len(values))
    case.check("T121 file_path is the exact key", all(os.path.isfile(local(e["file_path"])) for e in entries))
    root = local(case.load().location()) + "/data/"
    case.check("T121 no path leaves the table, no part is too long",
               all(os.path.realpath(local(e["file_path"])).startswith(root) and all(len(p) <= 255 for p in e["file_path"].split("/"))
                   for e in entries))
    case.judged()


@table
def nested_source(tally, kafka, registry):
    case = Case(tally, kafka, registry, "nested_source", record(field("id", "long")), "  partitioning: [day(_kafka.timestamp)]\n")
    case.append([{"id": n} for n in range(3)])
    case.equal("T125 a source inside a struct", len(case.load().inspect.partitions().to_pylist()), 1)
    case.judged()


@table
def odd_names(tally, kafka, registry):
    from pyiceberg.transforms import BucketTransform, IdentityTransform
    case = Case(tally, kafka, registry, "odd_names", record(field("id", "long"), field("a", "string"), field("b", "int")))
    case.append([{"id": 1, "a": "x", "b": 1}])
    names = ["1a", "a b", "a.b", "\U0001F600", "\u00e4-\u00f6"]
    with case.load().update_spec() as update:
        for n, name in enumerate(names):
            update.add_field(("a", "b", "id")[min(n, 2)], IdentityTransform() if n < 2 else BucketTransform(n + 2), name)
    case.append([{"id": 2, "a": "y", "b": 2}])
    snapshot = case.load().current_snapshot()
    manifests = snapshot.manifests(case.load().io)
    schema, _ = avro_schema(next(m for m in manifests if m.added_snapshot_id == snapshot.snapshot_id).manifest_path)
    data_file = next(f for f in schema["fields"] if f["name"] == "data_file")["type"]
    partition = next(f for f in data_file["fields"] if f["name"] == "partition")["type"]["fields"]
    case.check("T123 names of partition fields are Avro's", all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", f["name"]) for f in partition), partition)
    case.equal("T123 and ids tell which they are", [f["field-id"] for f in partition], [f.field_id for f in case.load().spec().fields])
    case.judged()


@table
def summaries(tally, kafka, registry):
    case = Case(tally, kafka, registry, "summaries", record(field("id", "long"), optional("x", "double"), optional("s", "string")),
                "  partitioning: [x, s]\n")
    long_text = "prefix that is long enough to be cut somewhere " + "z" * 20
    for rows in ([{"id": 1, "x": (1, 5.0), "s": (1, long_text)}], [{"id": 2}], [{"id": 3, "x": (1, NAN), "s": (1, "")}]):
        case.append(rows)
    found = {}
    for manifest in case.load().current_snapshot().manifests(case.load().io):
        entry = manifest.fetch_manifest_entry(case.load().io)[0]
        found[str(entry.data_file.partition[0])] = [(p.contains_null, p.contains_nan, p.lower_bound, p.upper_bound) for p in manifest.partitions]
    five = struct.pack("<d", 5.0)
    case.equal("T151 a value has bounds", found["5.0"][0], (False, False, five, five))
    upper = found["5.0"][1][3]
    case.check("T151 an upper bound is whole or rounded up", upper >= long_text.encode(), upper)
    case.equal("T151 only null", found["None"][0][:1] + found["None"][0][2:], (True, None, None))
    case.equal("T151 only NaN", found["nan"][0], (False, True, None, None))
    from pyiceberg.expressions import EqualTo, IsNaN, IsNull
    for what, expression, ids in (("x = 5", EqualTo("x", 5.0), [1]), ("x is null", IsNull("x"), [2]), ("x is NaN", IsNaN("x"), [3]),
                                  ("s = long", EqualTo("s", long_text), [1]), ("s = ''", EqualTo("s", ""), [3])):
        case.equal("T151 %s" % what, case.load().scan(row_filter=expression).to_arrow()["id"].to_pylist(), ids)
    case.judged()


# ----------------------------------------------------------------------------------------------------- Parquet files

@table
def numbers(tally, kafka, registry):
    sizes = {1: "INT32", 9: "INT32", 10: "INT64", 18: "INT64", 19: 9, 20: 9, 38: 16}
    schema = record(field("id", "long"), *[field("p%d" % p, decimal(p, 0)) for p in sizes], field("x", "double"), field("z", "double"),
                    field("only", "double"))
    case = Case(tally, kafka, registry, "numbers", schema)
    rows = []
    for n, sign in enumerate((-1, 0, 1)):
        rows.append({"id": n, "x": (NAN, 1.0, 2.0)[n], "z": (0.0, -0.0, 0.0)[n], "only": NAN,
                     **{"p%d" % p: decimal_bytes(sign * (10 ** p - 1)) for p in sizes}})
    case.append(rows)
    entry = case.files()[0]
    group = pq.ParquetFile(local(entry["file_path"])).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: (group.column(i), pq.ParquetFile(local(entry["file_path"])).schema.column(i))
               for i in range(group.num_columns)}
    for p, wanted in sizes.items():
        chunk, leaf = columns["p%d" % p]
        case.equal("T135 decimal(%d) is of its type" % p, chunk.physical_type if isinstance(wanted, str) else leaf.length, wanted)
        most = 10 ** p - 1
        case.equal("T129 decimal(%d) has signed bounds" % p, (int(chunk.statistics.min), int(chunk.statistics.max)), (-most, most))
    ids = {f.name: f.field_id for f in case.load().schema().fields}
    lower, upper, nans = (dict(entry[k] or []) for k in ("lower_bounds", "upper_bounds", "nan_value_counts"))
    number = lambda b: struct.unpack("<d", b)[0]
    case.equal("T131 T153 NaN is no bound", (number(lower[ids["x"]]), number(upper[ids["x"]]), nans[ids["x"]]), (1.0, 2.0, 1))
    case.equal("T131 only NaN", (ids["only"] in lower, ids["only"] in upper, nans[ids["only"]]), (False, False, 3))
    case.equal("T131 signed zeros", [struct.pack("<d", number(b[ids["z"]])) for b in (lower, upper)], [struct.pack("<d", -0.0), struct.pack("<d", 0.0)])
    statistics = columns["z"][0].statistics
    case.equal("T131 signed zeros in the file", [str(statistics.min), str(statistics.max)], ["-0.0", "0.0"])
    from pyiceberg.expressions import GreaterThan
    case.equal("T153 x > 0", sorted(case.load().scan(row_filter=GreaterThan("x", 0.0)).to_arrow()["id"].to_pylist()), [1, 2])
    case.judged()


@table
def nesting(tally, kafka, registry):
    inner = {"type": "record", "name": "Inner", "fields": [optional("deep", {"type": "array", "items": ["null", "int"]})]}
    schema = record(field("id", "long"), optional("l", {"type": "array", "items": ["null", inner]}),
                    field("m", {"type": "map", "values": {"type": "array", "items": "string"}}))
    case = Case(tally, kafka, registry, "nesting", schema)
    kinds = [None, (1, []), (1, [None]), (1, [(1, {"deep": None})]), (1, [(1, {"deep": (1, [])})]),
             (1, [(1, {"deep": (1, [None, (1, 7)])}), None, (1, {"deep": (1, [(1, 8)] * 3)})])]
    case.append([{"id": n, "l": kinds[n % len(kinds)], "m": {"k%d" % k: ["v"] * k for k in range(n % 3)}} for n in range(3000)])
    path = local(case.files()[0]["file_path"])
    leaves = {pq.ParquetFile(path).schema.column(i).path for i in range(len(pq.ParquetFile(path).schema))}
    wanted = {"l.list.element.deep.list.element", "m.key_value.key", "m.key_value.value.list.element"}
    case.check("T133 lists and maps have three levels", wanted <= leaves, sorted(leaves))
    found = {r["id"]: r["l"] for r in pq.read_table(path, columns=["id", "l"]).to_pylist()}
    simple = lambda v: None if v is None else [None if e is None else {"deep": None if e[1]["deep"] is None else
                                               [None if d is None else d[1] for d in e[1]["deep"][1]]} for e in v[1]]
    case.check("T139 each kind of null and empty comes back", all(found[n] == simple(kinds[n % len(kinds)]) for n in found))
    case.judged(("duckdb", "polars"))  # PyIceberg 0.12 reads a null list of structs as an empty one


@table
def large_texts(tally, kafka, registry):
    columns = 20
    case = Case(tally, kafka, registry, "large_texts", record(field("id", "long"), *[field("s%d" % i, "string") for i in range(columns)]),
                "  row_group_size: 1MiB\n")
    case.append([{"id": n, **{"s%d" % i: chr(97 + (n + i) % 26) * 40000 for i in range(columns)}} for n in range(60)])
    entry = case.files()[0]
    footer = pq.ParquetFile(local(entry["file_path"])).metadata
    case.check("T137 statistics of long texts are cut", footer.serialized_size < 4096 * columns * max(1, footer.num_row_groups),
               (footer.serialized_size, footer.num_row_groups))
    for step in ("written", "compacted"):
        for entry in case.files():
            footer = pq.ParquetFile(local(entry["file_path"])).metadata
            starts = []
            for i in range(footer.num_row_groups):
                chunk = footer.row_group(i).column(0)
                starts.append(chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset)
            offsets = entry["split_offsets"]
            case.check("T145 split offsets, %s" % step, offsets == starts and offsets[0] == 4 and offsets == sorted(offsets), (offsets, starts))
        if step == "written":
            case.append([{"id": 100, **{"s%d" % i: "x" for i in range(columns)}}])
            case.maintain("--compact")
    case.judged()


PROBE = """
import duckdb, json, sys
path, questions = json.load(sys.stdin)
ask = "select bool_and(bloom_filter_excludes) from parquet_bloom_probe('%s', '%s', %s)"
print(json.dumps([duckdb.execute(ask % (path, column, value)).fetchone()[0] for column, value in questions]))
"""


@table
def blooms(tally, kafka, registry):
    case = Case(tally, kafka, registry, "blooms", record(field("id", "long"), field("s", "string"), field("x", "double")),
                "  parquet:\n    bloom_filters: [id, s, x]\n")
    count = 20000
    case.append([{"id": n * 7919, "s": "value %d" % n, "x": n / 4} for n in range(count)])
    path = os.path.dirname(local(case.files()[0]["file_path"])) + "/*.parquet"

    def excluded(questions):
        done = subprocess.run([htables.python(), "-c", PROBE], input=json.dumps([path, questions]), text=True, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    picks = range(0, count, 97)
    there = [q for n in picks for q in (("id", n * 7919), ("s", "'value %d'" % n), ("x", "%s::double" % (n / 4)))]
    case.check("T143 no value is missed", not any(excluded(there)))
    out = sum(excluded([("s", "'absent %d'" % n) for n in picks]))
    case.check("T143 and absent ones are told", out > len(picks) * 0.9, (out, len(picks)))
    case.judged()


# ---------------------------------------------------------------------------------------------------------- metadata

# name: (field id, may be null), of the table specification, version 2
MANIFEST_FILE = {"manifest_path": (500, False), "manifest_length": (501, False), "partition_spec_id": (502, False), "content": (517, False),
                 "sequence_number": (515, False), "min_sequence_number": (516, False), "added_snapshot_id": (503, False),
                 "added_files_count": (504, False), "existing_files_count": (505, False), "deleted_files_count": (506, False),
                 "added_rows_count": (512, False), "existing_rows_count": (513, False), "deleted_rows_count": (514, False),
                 "partitions": (507, True), "key_metadata": (519, True)}
ENTRY = {"status": (0, False), "snapshot_id": (1, True), "sequence_number": (3, True), "file_sequence_number": (4, True), "data_file": (2, False)}
DATA_FILE = {"content": (134, False), "file_path": (100, False), "file_format": (101, False), "partition": (102, False),
             "record_count": (103, False), "file_size_in_bytes": (104, False), "column_sizes": (108, True), "value_counts": (109, True),
             "null_value_counts": (110, True), "nan_value_counts": (137, True), "lower_bounds": (125, True), "upper_bounds": (128, True),
             "key_metadata": (131, True), "split_offsets": (132, True), "equality_ids": (135, True), "sort_order_id": (140, True), "referenced_data_file": (143, True)}
MAPS = {"column_sizes": (117, 118), "value_counts": (119, 120), "null_value_counts": (121, 122), "nan_value_counts": (138, 139),
        "lower_bounds": (126, 127), "upper_bounds": (129, 130)}


def shape(fields):
    return {f["name"]: (f.get("field-id"), isinstance(f["type"], list)) for f in fields}


def inside(f):
    return next(t for t in f["type"] if t != "null") if isinstance(f["type"], list) else f["type"]


@table
def history(tally, kafka, registry):
    case = Case(tally, kafka, registry, "history", record(field("id", "long"), field("s", "string")))
    case.append([])
    empty = case.metadata()
    case.check("T157 a table without rows has at most an own first snapshot", len(empty.get("snapshots", [])) <= 1 and
               (empty.get("current-snapshot-id", -1) in (None, -1) or len(empty["snapshots"]) == 1), empty.get("current-snapshot-id"))
    for n in range(3):
        case.append([{"id": n * 3 + i, "s": "row"} for i in range(3 if n == 0 else 1)])
    snapshots = sorted(case.metadata()["snapshots"], key=lambda s: s["sequence-number"])
    case.check("T157 the first snapshot has no parent, later ones have", "parent-snapshot-id" not in snapshots[0] and
               all("parent-snapshot-id" in s for s in snapshots[1:]), snapshots[0])
    adds = [s for s in snapshots if int(s["summary"].get("added-records", "0")) > 0]
    case.equal("T161 totals grow with each append", [s["summary"]["total-records"] for s in adds], ["3", "4", "5"])
    case.check("T161 operations and values", all(s["summary"]["operation"] == "append" and
               all(isinstance(v, str) for v in s["summary"].values()) for s in adds))
    schemas(case)
    t = case.load()
    t.manage_snapshots().create_tag(adds[0]["snapshot-id"], "v1").create_branch(adds[1]["snapshot-id"], "audit").commit()
    case.maintain("--manifests")
    explicit(case, adds)
    case.maintain("--compact")
    last = case.metadata()["snapshots"][-1]["summary"]
    case.equal("T161 a compaction keeps the totals", (last["operation"], last["total-records"]), ("replace", "5"))
    case.maintain("--expire")
    case.append([{"id": 99, "s": "after"}])
    after = case.load()
    case.equal("T163 the tag's rows are there", after.scan(snapshot_id=after.metadata.refs["v1"].snapshot_id).to_arrow().num_rows, 3)
    case.equal("T163 the branch's rows are there", after.scan(snapshot_id=after.metadata.refs["audit"].snapshot_id).to_arrow().num_rows, 4)
    case.judged()


def schemas(case):
    """of a manifest list and a manifest, against the specification"""
    snapshot = case.load().current_snapshot()
    schema, rows = avro_schema(snapshot.manifest_list)
    case.equal("T147 the record of a manifest list", schema["name"], "manifest_file")
    case.equal("T147 T149 fields of a manifest list", shape(schema["fields"]), {k: v for k, v in MANIFEST_FILE.items() if k in shape(schema["fields"])})
    case.check("T149 none that is required lacks", all(k in shape(schema["fields"]) for k, v in MANIFEST_FILE.items() if not v[1]))
    partitions = inside(next(f for f in schema["fields"] if f["name"] == "partitions"))
    case.equal("T147 the list of summaries", (partitions["element-id"], partitions["items"]["name"], shape(partitions["items"]["fields"])),
               (508, "r508", {"contains_null": (509, False), "contains_nan": (518, True), "lower_bound": (510, True), "upper_bound": (511, True)}))
    schema, _ = avro_schema(rows[0]["manifest_path"])
    case.equal("T147 the record of a manifest", schema["name"], "manifest_entry")
    case.equal("T147 T149 fields of an entry", shape(schema["fields"]), ENTRY)
    data_file = inside(next(f for f in schema["fields"] if f["name"] == "data_file"))
    found = shape(data_file["fields"])
    case.equal("T147 T149 fields of a data file", (data_file["name"], found), ("r2", {k: v for k, v in DATA_FILE.items() if k in found}))
    for f in data_file["fields"]:
        if f["name"] in MAPS:
            kind = inside(f)
            ids = tuple(x["field-id"] for x in kind["items"]["fields"])
            case.equal("T147 %s is a map of numbers" % f["name"], (kind["type"], kind.get("logicalType"), ids), ("array", "map", MAPS[f["name"]]))


def explicit(case, adds):
    """after manifests were rewritten"""
    numbers = {s["snapshot-id"]: s["sequence-number"] for s in adds}
    existing = [e for m in case.load().current_snapshot().manifests(case.load().io)
                for e in avro_schema(m.manifest_path)[1] if e["status"] == 0]
    case.check("T155 entries were rewritten", len(existing) == 3, len(existing))
    case.check("T155 existing entries say their numbers", all(e["sequence_number"] == e["file_sequence_number"] == numbers.get(e["snapshot_id"])
               for e in existing), existing and existing[0]["sequence_number"])


@table
def short_log(tally, kafka, registry):
    case = Case(tally, kafka, registry, "short_log", record(field("id", "long")),
                "  properties:\n    write.metadata.previous-versions-max: '3'\n    write.metadata.compression-codec: gzip\n")
    for n in range(6):
        case.append([{"id": n}])
    t = case.load()
    log = [(e.timestamp_ms, e.metadata_file) for e in t.metadata.metadata_log]
    case.check("T159 the log is bounded, ascending and of older files", len(log) == 3 and log == sorted(log, key=lambda e: e[0]) and
               t.metadata_location not in [f for _, f in log], log)
    case.check("T159 what it names is there", all(os.path.isfile(local(f)) for _, f in log))
    kept = glob.glob(local(t.location()) + "/metadata/*.metadata.json")
    case.check("T159 older files are gone", len(kept) <= 5, len(kept))
    with open(local(t.metadata_location), "rb") as f:
        case.check("T167 compressed metadata has the standard name", t.metadata_location.endswith(".gz.metadata.json") and f.read(2) == b"\x1f\x8b",
                   t.metadata_location)
    case.judged()


def main():
    tally = Tally()
    with htables.broker() as kafka, Registry() as registry:
        only = sys.argv[1:]
        for part in TABLES:
            if not only or part.__name__ in only:
                hproofs.part(tally, part, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
