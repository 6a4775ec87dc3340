#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schemas that change at random at every depth, with old and new writers mixed: each row as its own writer meant it.

A column is followed by an identity of its own through adding, dropping, renaming by alias, widening, making optional and reordering,
in structs, elements of lists and values of maps, several changes at once. What the rows must be is worked out from these identities
alone. E2E_SEED, E2E_TOPICS (4), E2E_VERSIONS (6).
"""
import copy, os, random, subprocess, sys

import havro
import hproofs
from harness import BUILD, FRAZIL, SEED, Kafka, Tally, judge
from registry import Registry

TOPICS, VERSIONS, RECORDS, WRITERS = int(os.environ.get("E2E_TOPICS", "4")), int(os.environ.get("E2E_VERSIONS", "6")), 40, 3
WIDER = {"int": "long", "float": "double", "decimal9": "decimal18", "decimal18": "decimal38", "millis": "micros", "micros": "millis"}
LEAVES = ("int", "int", "long", "float", "double", "decimal9", "millis", "string", "boolean", "enum", "bytes", "fixed", "uuid")


class Model:
    """The table's columns as a tree; a node is {id, kind, optional, ...}, a struct's fields are nodes with names."""

    def __init__(self, rng):
        self.rng, self.count = rng, 0
        self.root = {"id": 0, "kind": "struct", "optional": False, "fields": [self.field(1) for _ in range(4)]}

    def field(self, depth, optional=None):
        node = self.node(depth)
        node.update(name="f%d" % node["id"], aliases=[])
        node["optional"] = self.rng.random() < 0.4 if optional is None else optional
        return node

    def node(self, depth):
        self.count += 1
        kinds = ["leaf"] * 4 + (["struct"] * 3 + ["list", "map"] * 2 if depth < 4 else [])
        kind, out = self.rng.choice(kinds), {"id": self.count, "optional": self.rng.random() < 0.3, "null_last": self.rng.random() < 0.3}
        if kind == "leaf":
            out["kind"] = self.rng.choice(LEAVES)
            out["symbols"] = ["A", "B"]
        else:
            out["kind"] = kind
            if kind == "struct":
                out["fields"] = [self.field(depth + 1) for _ in range(self.rng.randint(1, 3))]
            else:
                out["inner"] = self.node(depth + 1)
        return out

    def all(self, node=None, depth=0):
        """(node, depth) of everything below"""
        node = node or self.root
        yield node, depth
        for child in node.get("fields", [node["inner"]] if "inner" in node else []):
            yield from self.all(child, depth + 1)

    def change(self):
        r = self.rng
        nodes = list(self.all())
        for node, depth in r.sample(nodes, min(len(nodes), r.randint(2, 6))):
            if "name" in node and r.random() < 0.4:
                node["aliases"], node["name"] = [node["name"], *node["aliases"]], node["name"].split("_")[0] + "_%d" % r.randint(0, 1 << 30)
            if node["kind"] in WIDER and r.random() < 0.7:
                node["kind"] = WIDER[node["kind"]]
            elif node["kind"] == "enum":
                node["symbols"].insert(r.randint(0, 1), "S%d" % r.randint(0, 1 << 30))
            elif node["kind"] == "struct":
                fields = node["fields"]
                what = r.random()
                if what < 0.5:
                    fields.insert(r.randint(0, len(fields)), self.field(depth + 1, True))
                elif what < 0.7 and len(fields) > 1:
                    fields.pop(r.randrange(len(fields)))
                else:
                    r.shuffle(fields)
            if node is not self.root and r.random() < 0.3:
                node["optional"] = not node["optional"]


def avro(node):
    kind = node["kind"]
    if kind == "struct":
        fields = []
        for f in node["fields"]:
            one = {"name": f["name"], "type": avro(f)}
            if f["aliases"]:
                one["aliases"] = f["aliases"]
            if f["optional"] and not f["null_last"]:
                one["default"] = None
            fields.append(one)
        out = {"type": "record", "name": "R%d" % node["id"], "fields": fields}
    elif kind == "list":
        out = {"type": "array", "items": avro(node["inner"])}
    elif kind == "map":
        out = {"type": "map", "values": avro(node["inner"])}
    elif kind.startswith("decimal"):
        out = {"type": "bytes", "logicalType": "decimal", "precision": int(kind[7:]), "scale": 2}
    elif kind in ("millis", "micros"):
        out = {"type": "long", "logicalType": "timestamp-" + kind}
    elif kind == "enum":
        out = {"type": "enum", "name": "E%d" % node["id"], "symbols": list(node["symbols"])}
    elif kind == "fixed":
        out = {"type": "fixed", "name": "F%d" % node["id"], "size": 3}
    elif kind == "uuid":
        out = {"type": "string", "logicalType": "uuid"}
    else:
        out = kind
    return ([out, "null"] if node["null_last"] else ["null", out]) if node["optional"] else out


def value(node, r):
    """a raw value for havro.write"""
    if node["optional"]:
        if r.random() < 0.3:
            return None
        return (0 if node["null_last"] else 1, bare(node, r))
    return bare(node, r)


def bare(node, r):
    kind = node["kind"]
    if kind == "struct":
        return {f["name"]: value(f, r) for f in node["fields"]}
    if kind == "list":
        return [value(node["inner"], r) for _ in range(r.randint(0, 3))]
    if kind == "map":
        return {"k%d" % i: value(node["inner"], r) for i in range(r.randint(0, 3))}
    if kind == "int":
        return r.choice((r.randint(-(1 << 31), (1 << 31) - 1), (1 << 31) - 1, -(1 << 31), 0))
    if kind == "long":
        return r.choice((r.randint(-(1 << 63), (1 << 63) - 1), 1 << 40))
    if kind in ("float", "double"):
        return r.choice((0.1, -2.5, 1e30, r.random()))
    if kind.startswith("decimal"):
        n = r.randint(-10 ** int(kind[7:]) + 1, 10 ** int(kind[7:]) - 1)
        return n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)
    if kind == "millis":
        return r.randint(-(1 << 40), 1 << 42)
    if kind == "micros":
        return r.randint(-(1 << 50), 1 << 52)
    if kind == "enum":
        return r.choice(node["symbols"])
    if kind == "uuid":
        return "00000000-0000-4000-8000-%012x" % r.getrandbits(48)
    return {"string": "text %d" % r.getrandbits(20), "boolean": r.random() < 0.5, "bytes": r.randbytes(r.randint(0, 3)), "fixed": b"abc"}[kind]


class Table:
    """What the table must be: each identity ever seen, under its newest name"""

    def __init__(self):
        self.root = None

    def merge(self, node):
        self.root = self.merged(self.root, copy.deepcopy(node))

    def merged(self, old, new):
        if old is None:
            return new
        if new["kind"] == "struct":
            ids = [f["id"] for f in new["fields"]]
            for f in old["fields"]:
                if f["id"] in ids:
                    at = ids.index(f["id"])
                    new["fields"][at] = self.merged(f, new["fields"][at])
                else:
                    new["fields"].append(f)
        elif "inner" in new:
            new["inner"] = self.merged(old["inner"], new["inner"])
        elif old["kind"] != new["kind"] and WIDER.get(new["kind"]) == old["kind"] and new["kind"] not in ("millis", "micros"):
            new["kind"] = old["kind"]
        return new

    def cell(self, mine, writer, found):
        """the writer's cell in the table's shape"""
        kind = mine["kind"]
        if found is None or writer is None:
            return None
        if kind == "struct":
            by_id = {f["id"]: f for f in writer["fields"]}
            return {f["name"]: self.cell(f, by_id.get(f["id"]), found[by_id[f["id"]]["name"]] if f["id"] in by_id else None) for f in mine["fields"]}
        if kind == "list":
            return [self.cell(mine["inner"], writer["inner"], x) for x in found]
        if kind == "map":
            return [[k, self.cell(mine["inner"], writer["inner"], x)] for k, x in found]
        if isinstance(found, havro.Real) and kind == "double" and not found.wide:
            import struct
            return havro.Real(struct.unpack("<f", found.bits)[0], True)
        return found


# PyIceberg 0.12 is not asked for these rows: it takes null lists and maps of structs for empty ones, and loses fields that were renamed
# in structs below two collections.
DUCKDB = """
import duckdb, glob, importlib.util, os, pyarrow, sys
c = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for e in ("avro", "iceberg"):
    folder = os.path.dirname(importlib.util.find_spec("duckdb_extension_" + e).origin)
    for f in glob.glob(folder + "/extensions/*/%s.duckdb_extension" % e):
        c.execute("LOAD '%s'" % f)
c.execute("set timezone = 'UTC'")
t = c.execute("select * from iceberg_scan('%s')" % sys.argv[1]).to_arrow_table()
with pyarrow.OSFile(sys.argv[2], "wb") as f, pyarrow.ipc.new_file(f, t.schema) as w:
    w.write_table(t)
"""


def duckdb_rows(frazil, name):
    import pyarrow
    python, out = os.path.join(BUILD, "venv", "judge", "bin", "python"), os.path.join(frazil.directory, "rows.arrow")
    metadata = frazil.table(name).metadata_location.removeprefix("file://")
    subprocess.run([python, "-c", DUCKDB, metadata, out], check=True)
    return havro.table_rows(pyarrow.ipc.open_file(out).read_all())


def one_topic(tally, kafka, registry, number):
    rng, topic = random.Random("%d %d" % (SEED, number)), "deep_%d" % number
    frazil = hproofs.make(kafka, registry, topic, "  format_version: %d\n" % rng.choice((2, 3)), 2)
    model, table, writers, ids, sent = Model(rng), Table(), [], [], []
    for k in range(VERSIONS):
        if k:
            model.change()
        writers.append(copy.deepcopy(model.root))
        schema = avro(writers[-1])
        ids.append(registry.register(topic + "-value", schema))
        table.merge(writers[-1])
        records, raws = [], []
        for n in range(RECORDS):
            w = k if n == 0 else rng.randint(max(0, k - WRITERS + 1), k)
            t = havro.Names(avro(writers[w])).root
            raw = bare(writers[w], rng)
            records.append((rng.randrange(2), hproofs.framed(ids[w], havro.write(t, raw, rng))))
            raws.append((w, havro.row(t, raw)))
        sent += zip(hproofs.produce(kafka, topic, records), raws)
        code, reports, errors = frazil.once()
        report = reports.get(topic, {})
        if not tally.equal("%s, version %d: exit code, rows" % (topic, k + 1), (code, report.get("rows")), (0, RECORDS)):
            print("    %s\n%s" % (report.get("error"), havro.text(schema)), flush=True)
            return
        wanted = {place: table.cell(table.root, writers[w], row) for place, (w, row) in sent}
        found = duckdb_rows(frazil, "default." + topic)
        if not tally.equal("%s, version %d: rows" % (topic, k + 1), hproofs.differences(found, wanted, 1), []):
            print("    before: %s\n    now:    %s" % (havro.text(avro(writers[k - 1])), havro.text(schema)), flush=True)
            return
    judge(tally, frazil.table("default." + topic).metadata_location.removeprefix("file://"), len(sent), "duckdb,polars")


def main():
    print("seed %d, %s" % (SEED, FRAZIL), flush=True)
    tally = Tally()
    with Kafka() as kafka, Registry() as registry:
        for number in range(TOPICS):
            hproofs.part(tally, one_topic, kafka, registry, number)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
