#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A data set of extremes, in tables partitioned in several ways: each value is found by its own predicate in every engine.

Each row holds one extreme value in one column and null in all others. A question `column = value` must find its row, and no row but
those whose value is equal (the two zeros are, to most engines).
"""
import os, struct, sys

import harness, havro, hproofs, htables
from harness import DIR, Frazil, Tally
from htables import decimal, decimal_bytes, field, optional, record

DAY = 86400000000
YEAR_1, YEAR_9999 = -62135596800000000, 253402300799999999
TEXTS = ["", " ", "a/b", "a b", "a+b", "a%2Fb", "a%b", "a#b", "a?b", "a=b", "a&b", "..", ".", "/", "#", "%", "+", "~", "null", "NaN", "'", '"', "\\", "a\nb",
         "\t", "\x01", "a,b", "{x}", "*", "é", "e\u0301", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\U0001f600" * 17,
         "\U0010ffff" * 17, "\ud7ff" * 17, "a" * 15 + "\ud7ff" + "b", "a" * 16 + "\U0010ffff", "z" * 16, "z" * 17, "x" * 2048, "\U0001f4b0", "iceberg"]
COLUMNS = {
    "s": ("string", "string", TEXTS),
    "i": ("int", "int", [0, 1, -1, 2147483647, -2147483648, 34]),
    "l": ("long", "long", [0, 1, -1, (1 << 63) - 1, -(1 << 63), 1 << 53, (1 << 53) + 1]),
    "f": ("float", "float", ["nan", "inf", "-inf", "0.0", "-0.0", "1.401298464324817e-45", "3.4028234663852886e+38", "-3.4028234663852886e+38"]),
    "d": ("double", "double", ["nan", "inf", "-inf", "0.0", "-0.0", "5e-324", "1.7976931348623157e+308", "-1.7976931348623157e+308"]),
    "dt": ({"type": "int", "logicalType": "date"}, "date", [0, -1, YEAR_1 // DAY, YEAR_9999 // DAY, 18262]),
    "tm": ({"type": "long", "logicalType": "time-micros"}, "time", [0, 1, DAY - 1]),
    "tz": ({"type": "long", "logicalType": "timestamp-micros"}, "timestamptz", [0, -1, 1, YEAR_1, YEAR_9999, -DAY, -DAY - 1]),
    "ts": ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp", [0, -1, 1, YEAR_1, YEAR_9999, -DAY, -DAY - 1]),
    "u": ({"type": "fixed", "name": "Uuid", "size": 16, "logicalType": "uuid"}, "uuid",
          ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "f79c3e09-677c-4bbd-a479-3f349cb785e7",
           "80000000-0000-0000-0000-000000000000"]),
    "x": ({"type": "fixed", "name": "Four", "size": 4}, "fixed[4]", ["00000000", "ffffffff", "7fffffff", "80000000", "00010203"]),
    "b": ("bytes", "binary", ["", "00", "ff", "ff" * 16, "ff" * 17, "fe" + "ff" * 16, "00010203", "80"]),
    "o": ("boolean", "boolean", [True, False]),
}
for P, S in ((9, 2), (10, 0), (18, 18), (19, 5), (38, 10)):
    texts = [havro.decimal_text(n, S) for n in (0, 1, -1, 10 ** P - 1, 1 - 10 ** P, 128, -128)]
    COLUMNS["d%d" % P] = (decimal(P, S), "decimal(%d,%d)" % (P, S), texts)
SUB = record(optional("s", "string"), optional("l", "long"), label="Sub")
SCHEMA = record(field("id", "long"), *[optional(c, k[0]) for c, k in COLUMNS.items()], optional("sub", SUB))
PARTITIONINGS = {
    "plain": "[]",
    "text": "[s]",
    "buckets": "['bucket(3, s)', 'bucket(3, l)', 'bucket(2, d38)', 'bucket(2, u)', 'bucket(2, b)', 'bucket(2, dt)', 'bucket(2, tz)']",
    "widths": "['truncate(3, s)', 'truncate(10, l)', 'truncate(50, d9)', 'truncate(7, d38)', 'truncate(2, b)']",
    "times": "['day(tz)', 'hour(ts)', 'month(dt)']",
    "years": "['year(tz)', 'year(ts)', dt]",
    "values": "[i, l, d9, d19, d38, dt, tm, tz, ts, o]",
    "odd": "[u, x, b, f, d]",
    "nested": "[sub.s, 'bucket(4, sub.l)']",
}
CHDB_RANGE = (-2208988800 * 1000000, 10413792000 * 1000000)  # ClickHouse's DateTime64 ends at the years 1900 and 2300


def raw(column, value):
    """as it stands in the record"""
    kind = COLUMNS[column][1]
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", float(value))
    if kind.startswith("decimal"):
        return decimal_bytes(int(value.replace(".", "")))
    if kind in ("uuid", "binary", "fixed[4]"):
        return bytes.fromhex(value.replace("-", ""))
    return value


def rows_and_questions():
    rows, questions = [{"id": 0}], []
    for c, (_, kind, values) in COLUMNS.items():
        for v in values:
            questions.append({"id": len(rows), "column": c, "type": kind, "value": v})
            rows.append({"id": len(rows), c: (1, raw(c, v))})
    for c, kind, values in (("s", "string", ["a/b", "\U0010ffff", ""]), ("l", "long", [-1, (1 << 63) - 1])):
        for v in values:
            questions.append({"id": len(rows), "column": "sub." + c, "type": kind, "value": v})
            rows.append({"id": len(rows), "sub": (1, {"s": None, "l": None, c: (1, v)})})
    return rows, questions


def equal(a, b):
    if a["column"] != b["column"]:
        return False
    return a["value"] == b["value"] or {a["value"], b["value"]} == {"0.0", "-0.0"} and a["type"] in ("float", "double")


def beyond(engine, label, q):
    """what the engine itself cannot say, hold or plan: the reason"""
    if engine == "duckdb" and label == "buckets" and q["type"] == "uuid":
        return "DuckDB looks in another bucket than the specification's"
    if engine == "duckdb" and label == "widths" and (q["column"] == "d9" and q["value"].startswith("-") or q["column"] == "d38"):
        return "DuckDB truncates negative decimals with an error, and wide ones wrongly"
    if engine == "duckdb" and label == "times" and q["type"] == "timestamptz" and q["value"] < 0 and q["value"] % DAY:
        return "DuckDB's days before 1970 are rounded up"
    if engine in ("pyiceberg", "polars") and label == "odd" and q["type"] == "double":
        return "PyIceberg reads a double of a partition as a float"
    if engine == "pyiceberg" and label == "odd" and q["type"] == "uuid":
        return "PyIceberg compares bytes with the uuid of a partition"
    if engine == "chdb":
        if q["type"] in ("timestamp", "timestamptz") and not CHDB_RANGE[0] <= q["value"] < CHDB_RANGE[1]:
            return "years of ClickHouse"
        if q["type"] == "date" and not CHDB_RANGE[0] <= q["value"] * DAY < CHDB_RANGE[1]:
            return "years of ClickHouse"
        if q["type"] == "time":
            return "ClickHouse cuts a time to seconds"
    return None


def check(tally, what, engine, metadata, questions):
    asked = [q for q in questions if not beyond(engine, what, q)]
    wrong = []
    for q, answer in zip(asked, htables.find(engine, metadata, asked)):
        ids = answer.get("ids")
        allowed = {o["id"] for o in questions if equal(q, o)}
        if ids is None or q["id"] not in ids or not set(ids) <= allowed or len(ids) != len(set(ids)):
            wrong.append("%s = %r (row %d): %s" % (q["column"], q["value"] if len(str(q["value"])) < 40 else str(q["value"])[:40], q["id"], answer))
    tally.check("%s: %s finds each of %d values" % (what, engine, len(asked)), not wrong,
                "%d wrong\n      %s" % (len(wrong), "\n      ".join(wrong[:int(os.environ.get("E2E_SHOW", "8"))])))


# Least values that have no place below them in their type: no partition of truncate(10, l), truncate(50, d9), truncate(7, d38) holds them.
NO_PLACE = {"widths": {("l", -(1 << 63)), ("d9", havro.decimal_text(1 - 10 ** 9, 2)), ("d38", havro.decimal_text(1 - 10 ** 38, 10))}}
ENTRY = """
- topic: %s
  commit_interval: 500ms
  on_error: skip
  format_version: %d
  partitioning: %s
"""


def main():
    tally = Tally()
    only = sys.argv[1:] or list(PARTITIONINGS)
    rows, questions = rows_and_questions()
    with htables.broker() as kafka, harness.schema_registry() as registry:
        config = hproofs.CONFIG.rpartition("- topic")[0] % (kafka.bootstrap, htables.name("extremes"), registry.url, "")
        for label in only:
            topic = htables.name("extremes_" + label)
            kafka.create(topic, 1)
            htables.produce(kafka, registry, topic, SCHEMA, rows)
            config += ENTRY % (topic, 3 if label == "years" else 2, PARTITIONINGS[label])
        frazil = Frazil(os.path.join(DIR, "extremes"), config)
        code, reports, errors = frazil.once()
        tally.equal("exit code", code, 0)
        for label in only:
            report = reports.get(htables.name("extremes_" + label), {})
            skipped = NO_PLACE.get(label, set())
            held = len(rows) - len(skipped)
            found = (report.get("state"), report.get("rows"), report.get("skipped"))
            if not tally.equal("%s: state, rows, skipped" % label, found, ("done", held, len(skipped))):
                print(report, errors[-1500:])
                continue
            metadata = report["metadata_location"]
            htables.judge(tally, label, metadata, held)
            htables.judge(tally, label, metadata, held, "--strict")
            for engine in htables.ENGINES:
                check(tally, label, engine, metadata, [q for q in questions if (q["column"], q["value"]) not in skipped])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
