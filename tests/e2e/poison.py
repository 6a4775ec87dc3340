#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One bad record in a thousand, of every kind: all others arrive, the bad ones are dead letters, replay brings back what can be read.

The dead letters carry the bytes, coordinates, key, headers and time of their records, and the kind. After the missing schema is
registered, `frazil replay` puts those records into the table once, however often it is run.
"""
import json, sys

import havro
import hproofs
from harness import FRAZIL, Kafka, Tally
from hproofs import framed
from registry import Registry

PARTITIONS, EVERY = 4, 1000
TOPIC = "poison"
SCHEMA = {"type": "record", "name": "Reading", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": "string"}, {"name": "flag", "type": "boolean"},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"]}},
    {"name": "maybe", "type": ["null", "int"], "default": None},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
    {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "list", "type": {"type": "array", "items": "int"}}]}
FOREIGN = {"type": "record", "name": "Reading", "fields": [{"name": "id", "type": "long"}, {"name": "list", "type": "int"}]}
TYPE = havro.Names(SCHEMA).root
MORE = "  on_error: dead_letter\n  evolution: { incompatible: record_error }\n"


def reading(i):
    return {"id": i, "name": "reading %d" % i, "flag": i % 2 == 0, "kind": "ABC"[i % 3], "maybe": (1, i) if i % 5 else None,
            "price": (i % 199998 - 99999).to_bytes(3, "big", signed=True), "time": i % 86400000,
            "uid": "00000000-0000-4000-8000-%012x" % i, "at": 1767225600000 + i, "list": list(range(i % 4))}


def parts(i):
    """the bytes of each field"""
    v = reading(i)
    return {f["name"]: havro.write(f["type"], v[f["name"]]) for f in TYPE["fields"]}


def changed(i, **fields):
    return b"".join({**parts(i), **fields}.values())


def payload(i):
    return b"".join(parts(i).values())


def poisons(one, missing, foreign):
    """(name, kind of the dead letter, function of the row's number)"""
    text = lambda t: havro.varint(len(t)) + t
    return [
        ("an unknown magic byte", "bad_magic", lambda i: b"\x07" + framed(one, payload(i))[1:]),
        ("plain JSON", "bad_magic", lambda i: b'{"id": %d}' % i),
        ("a frame of three bytes", "bad_frame", lambda i: b"\0\0\0"),
        ("no bytes at all", "bad_frame", lambda i: b""),
        ("nothing behind the frame", "truncated", lambda i: framed(one, b"")),
        ("cut by one byte", "truncated", lambda i: framed(one, payload(i)[:-1])),
        ("a length past the end", "truncated", lambda i: framed(one, changed(i, name=havro.varint(1 << 40) + b"x"))),
        ("a count past the end", "truncated", lambda i: framed(one, changed(i, list=havro.varint(1 << 50)))),
        ("three bytes more", "trailing_bytes", lambda i: framed(one, payload(i) + b"\0\0\0")),
        ("an unknown schema id", "unknown_schema_id", lambda i: framed(missing, payload(i))),
        ("text that is not UTF-8", "invalid_utf8", lambda i: framed(one, changed(i, name=text(b"\xc3(\xff")))),
        ("a surrogate in UTF-8", "invalid_utf8", lambda i: framed(one, changed(i, name=text(b"\xed\xa0\x80")))),
        ("a decimal over its precision", "out_of_range", lambda i: framed(one, changed(i, price=text(b"\x01\x86\xa0")))),
        ("24 hours", "out_of_range", lambda i: framed(one, changed(i, time=havro.varint(86400000)))),
        ("an instant beyond 64 bits of micros", "out_of_range", lambda i: framed(one, changed(i, at=havro.varint(1 << 62)))),
        ("text that is no uuid", "invalid_value", lambda i: framed(one, changed(i, uid=text(b"not-a-uuid")))),
        ("a union index too high", "malformed", lambda i: framed(one, changed(i, maybe=havro.varint(2)))),
        ("a negative union index", "malformed", lambda i: framed(one, changed(i, maybe=havro.varint(-1)))),
        ("an enum index too high", "malformed", lambda i: framed(one, changed(i, kind=havro.varint(3)))),
        ("a boolean of seven", "malformed", lambda i: framed(one, changed(i, flag=b"\7"))),
        ("a number of more than 64 bits", "malformed", lambda i: framed(one, changed(i, id=b"\xff" * 10 + b"\1"))),
        ("a negative length", "malformed", lambda i: framed(one, changed(i, name=havro.varint(-5)))),
        ("a count of the least number", "malformed", lambda i: framed(one, changed(i, list=havro.varint(-(1 << 63))))),
        ("a schema that does not fit", "schema_incompatible", lambda i: framed(foreign, havro.varint(i) + havro.varint(7))),
        ("too large", "too_large", lambda i: framed(one, changed(i, name=text(b"n" * 300000)))),
    ]


def log(kinds, one):
    """records as produce() wants them; {number: (name, kind)} of the bad ones; numbers of the tombstones"""
    records, bad, tombstones = [], {}, set()
    for i in range(EVERY * len(kinds)):
        value = framed(one, payload(i))
        if i % EVERY == EVERY // 2:
            name, kind, make = kinds[i // EVERY]
            bad[i], value = (name, kind), make(i)
        elif i % 7777 == 7:
            tombstones.add(i)
            value = None
        headers = [("trace", b"\x00\xff%d" % i), ("empty", None)] if i % 4 else None
        records.append((i % PARTITIONS, value, b"key-%d" % i, headers, 1767225600000 + i))
    return records, bad, tombstones


def check_letters(tally, frazil, records, places, bad):
    found = hproofs.letters(frazil, "default.%s__dead_letters" % TOPIC)
    wanted = {places[i]: i for i in bad}
    tally.equal("dead letters: places", sorted(found.keys() ^ wanted.keys())[:5], [])
    for place, i in sorted(wanted.items(), key=lambda x: x[1]):
        name, kind = bad[i]
        letter, record = found.get(place), records[i]
        if letter is None:
            tally.check("a letter of %s" % name, False)
            continue
        tally.equal("%s: kind" % name, letter["error"], kind)
        headers = [{"key": k, "value": v} for k, v in record[3] or []]
        tally.equal("%s: topic, key, value, headers, time" % name,
                    (letter["topic"], letter["key"], letter["value"] == record[1], letter["headers"] or [],
                     int(letter["timestamp"].timestamp() * 1000 + 0.5)),
                    (TOPIC, record[2], True, headers, record[4]))
        tally.check("%s: a message, and when" % name, letter["message"] and letter["failed_at"] is not None, letter["message"])
    return found


def replay(tally, frazil, registry, wanted, late, missing):
    tally.equal("the missing schema gets the id that the records have", registry.register(TOPIC + "-value", dict(SCHEMA, doc="late")), missing)
    for turn in ("first", "second", "third"):
        code, report, errors = frazil.run("replay", "default." + TOPIC, "-c", "frazil.yaml", "-o", "json", timeout=120)
        if not tally.equal("replay, %s run: exit code" % turn, code, 0):
            print("    " + errors.strip()[-600:].replace("\n", "\n    "), flush=True)
            return
        print("    %s" % json.dumps(report), flush=True)
        tally.equal("replay, %s run: rows" % turn, hproofs.differences(hproofs.rows(frazil, "default." + TOPIC), {**wanted, **late}), [])
    code, reports, errors = frazil.once()
    report = reports.get(TOPIC, {})
    tally.equal("a pass behind replay: exit code, rows, letters", (code, report.get("rows"), report.get("dead_letters")), (0, 0, 0))
    tally.equal("a pass behind replay: rows", hproofs.differences(hproofs.rows(frazil, "default." + TOPIC), {**wanted, **late}), [])


def proof(tally, kafka, registry):
    frazil = hproofs.make(kafka, registry, TOPIC, MORE, PARTITIONS, "max_record_size: 256KiB\n")
    one = registry.register(TOPIC + "-value", SCHEMA)
    foreign = registry.register("elsewhere-value", FOREIGN)
    missing = registry.next_id
    kinds = poisons(one, missing, foreign)
    records, bad, tombstones = log(kinds, one)
    places = hproofs.produce(kafka, TOPIC, records)
    wanted = {places[i]: havro.row(TYPE, reading(i)) for i in range(len(records)) if i not in bad and i not in tombstones}
    code, reports, errors = frazil.once(timeout=240)
    report = reports.get(TOPIC, {})
    if not tally.equal("exit code, state", (code, report.get("state")), (0, "done")):
        print("    %s\n%s" % (json.dumps(report), errors[-1500:]), flush=True)
    tally.equal("rows, dead letters, tombstones", (report.get("rows"), report.get("dead_letters"), report.get("tombstones")),
                (len(wanted), len(bad), len(tombstones)))
    tally.equal("watermark", report.get("watermark"), {str(p): len(records) // PARTITIONS for p in range(PARTITIONS)})
    tally.equal("all others arrived, with their values", hproofs.differences(hproofs.rows(frazil, "default." + TOPIC), wanted), [])
    check_letters(tally, frazil, records, places, bad)
    code, reports, errors = frazil.once()
    report = reports.get(TOPIC, {})
    tally.equal("a second pass: exit code, rows, letters", (code, report.get("rows"), report.get("dead_letters")), (0, 0, 0))
    late = {places[i]: havro.row(TYPE, reading(i)) for i, (name, kind) in bad.items() if kind == "unknown_schema_id"}
    replay(tally, frazil, registry, wanted, late, missing)


def newest_does_not_fit(tally, kafka, registry):
    """the subject's newest version cannot come into the table: its records are letters, the others go on"""
    topic = "poison_newest"
    frazil = hproofs.make(kafka, registry, topic, MORE)
    one = registry.register(topic + "-value", SCHEMA)
    hproofs.produce(kafka, topic, [(0, framed(one, payload(i))) for i in range(10)])
    code, reports, _ = frazil.once()
    tally.equal("before the newest version: exit code, rows", (code, reports.get(topic, {}).get("rows")), (0, 10))
    foreign = registry.register(topic + "-value", FOREIGN)
    values = [framed(one, payload(i)) if i % 2 else framed(foreign, havro.varint(i) + havro.varint(7)) for i in range(10, 20)]
    hproofs.produce(kafka, topic, [(0, v) for v in values])
    code, reports, _ = frazil.once()
    report = reports.get(topic, {})
    tally.equal("newest version does not fit: exit code, rows, letters", (code, report.get("rows"), report.get("dead_letters")), (0, 5, 5))
    kinds = {letter["error"] for letter in hproofs.letters(frazil, "default.%s__dead_letters" % topic).values()}
    tally.equal("newest version does not fit: kind", kinds, {"schema_incompatible"})


PLACED = {"type": "record", "name": "Placed", "fields": [
    {"name": "id", "type": "long"}, {"name": "small", "type": "int"}, {"name": "n", "type": ["null", "long"]},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
NO_PLACE = {"an int below the least multiple": {"small": -(1 << 31)}, "a long below the least multiple": {"n": (1, -(1 << 63))},
            "a decimal below the least multiple": {"price": (-99999).to_bytes(3, "big", signed=True)},
            "an hour of more than 32 bits": {"at": 9000000000000000}}


def no_partition(tally, kafka, registry):
    """a value that decodes and that no partition can hold: a bad record like others, under each policy"""
    t, rows = havro.Names(PLACED).root, 40
    good = lambda i: {"id": i, "small": i, "n": (1, -i) if i % 3 else None, "price": i.to_bytes(2, "big"), "at": 1767225600000 + i * 1800000}
    bad = {7 + 9 * k: change for k, change in enumerate(NO_PLACE.values())}
    for policy in ("dead_letter", "skip", "suspend"):
        topic, what = "poison_place_" + policy, "no partition, " + policy
        frazil = hproofs.make(kafka, registry, topic, "  on_error: %s\n  partitioning: ['truncate(10, small)', 'truncate(10, n)', 'truncate(100, price)', "
                              "hour(at)]\n" % policy)
        one = registry.register(topic + "-value", PLACED)
        records = [(0, framed(one, havro.write(t, {**good(i), **bad.get(i, {})})), b"k%d" % i, [("h", b"%d" % i)], 1767225600000 + i)
                   for i in range(rows)]
        places = hproofs.produce(kafka, topic, records)
        code, reports, errors = frazil.once()
        report, first = reports.get(topic, {}), min(bad)
        held = [i for i in range(rows) if i not in bad] if policy != "suspend" else list(range(first))
        if not tally.equal(what + ": exit code, state, rows", (code, report.get("state"), report.get("rows")),
                           (3, "suspended", first) if policy == "suspend" else (0, "done", len(held))):
            print(errors[-1500:], flush=True)
        wanted = {places[i]: havro.row(t, good(i)) for i in held}
        tally.equal(what + ": all others arrived", hproofs.differences(hproofs.rows(frazil, "default." + topic), wanted), [])
        if policy == "suspend":
            error = report.get("error") or {}
            tally.equal(what + ": kind, place", (error.get("kind"), error.get("partition"), error.get("offset")), ("out_of_range", 0, first))
        elif policy == "skip":
            tally.equal(what + ": skipped", (report.get("skipped"), report.get("dead_letters")), (len(bad), 0))
        else:
            letters = hproofs.letters(frazil, "default.%s__dead_letters" % topic)
            tally.equal(what + ": letters, their bytes and kind", {p: (x["error"], x["value"], x["key"], x["schema_id"]) for p, x in letters.items()},
                        {places[i]: ("out_of_range", records[i][1], records[i][2], one) for i in bad})
            for i, name in zip(bad, NO_PLACE):
                message = letters.get(places[i], {}).get("message") or ""
                tally.check("%s: %s: the message names the field" % (what, name), "partition field" in message, message)


def header_names(tally, kafka, registry):
    """a header's name that is no text: a bad record where headers are a column; its letter can be read"""
    topic = "poison_headers"
    frazil = hproofs.make(kafka, registry, topic, MORE + "  metadata: [partition, offset, headers]\n")
    one = registry.register(topic + "-value", SCHEMA)
    names = lambda i: [b"odd \xff name" if i == 3 else b"even", b"none", b"even"]
    for i in range(8):
        hproofs.produce_with_headers(kafka, topic, framed(one, payload(i)), list(zip(names(i), (b"1", None, b"2"))))
    code, reports, _ = frazil.once()
    report = reports.get(topic, {})
    tally.equal("header names: exit code, rows, letters", (code, report.get("rows"), report.get("dead_letters")), (0, 7, 1))
    letter = hproofs.letters(frazil, "default.%s__dead_letters" % topic).get((0, 3), {})
    tally.equal("header names: kind, headers", (letter.get("error"), [(h["key"], h["value"]) for h in letter.get("headers") or []]),
                ("invalid_utf8", [("odd \ufffd name", b"1"), ("none", None), ("even", b"2")]))
    found = frazil.table("default." + topic).scan().to_arrow()["_kafka"].to_pylist()
    tally.equal("header names: headers of the rows", {str([(h["key"], h["value"]) for h in k["headers"]]) for k in found},
                {str([("even", b"1"), ("none", None), ("even", b"2")])})


def more_than_memory(tally, kafka, registry):
    """a record whose few bytes ask for more columns than there is memory: a letter, and those beside it are rows"""
    topic = "poison_memory"
    branches = ["null"] + [{"type": "fixed", "name": "F%d" % i, "size": 16} for i in range(20)]
    schema = {"type": "record", "name": "Wide", "fields": [{"name": "id", "type": "long"}, {"name": "xs", "type": {"type": "array", "items": branches}}]}
    frazil = hproofs.make(kafka, registry, topic, MORE, 1, "memory_limit: 64MiB\n")
    one, t = registry.register(topic + "-value", schema), havro.Names(schema).root
    small = lambda i: {"id": i, "xs": [None, (1 + i % 20, b"%016d" % i)]}
    values = [framed(one, havro.write(t, small(i))) for i in range(20)]
    values[7] = framed(one, havro.varint(7) + havro.varint(900000) + b"\0" * 900000 + havro.varint(0))
    places = hproofs.produce(kafka, topic, [(0, v) for v in values])
    code, reports, errors = frazil.once(timeout=60)
    report = reports.get(topic, {})
    if not tally.equal("more than memory: exit code, rows, letters", (code, report.get("rows"), report.get("dead_letters")), (0, 19, 1)):
        print(errors[-1500:], flush=True)
        return
    wanted = {places[i]: havro.row(t, small(i)) for i in range(20) if i != 7}
    tally.equal("more than memory: all others arrived", hproofs.differences(hproofs.rows(frazil, "default." + topic), wanted), [])
    letter = hproofs.letters(frazil, "default.%s__dead_letters" % topic).get(places[7], {})
    tally.equal("more than memory: kind, value", (letter.get("error"), letter.get("value") == values[7]), ("too_large", True))
    tally.check("more than memory: the message names the setting", "memory_limit" in (letter.get("message") or ""), letter.get("message"))


def main():
    print(FRAZIL, flush=True)
    tally = Tally()
    with Kafka() as kafka, Registry() as registry:
        for function in (more_than_memory, no_partition, header_names, proof, newest_does_not_fit):
            hproofs.part(tally, function, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
