#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Foreign serializers, a real registry, a real broker: the rows of the table are what was sent.

confluent-kafka's AvroSerializer for Python (also with the record name as subject), Java's Avro with its logical types and blocking
encoder, Confluent's AvroSerializer for JavaScript. What they need is installed below build/ once: npm/, java-lib/ and svc/apicurio/;
JavaScript is left out without npm.
E2E_REGISTRY=double takes the registry double instead of Apicurio.
"""
import datetime, decimal, filecmp, json, os, random, shutil, struct, subprocess, sys, uuid

import havro
import hproofs
import registry as double
from harness import BUILD, DIR, FRAZIL, ROOT, SEED, Apicurio, Kafka, Tally

ROWS = 200
SUB = {"type": "record", "name": "Sub", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}]}
SCHEMA = {"type": "record", "name": "Everything", "namespace": "shop.v1", "fields": [
    {"name": "id", "type": "long"}, {"name": "b", "type": "boolean"}, {"name": "i", "type": "int"}, {"name": "f", "type": "float"},
    {"name": "d", "type": "double"}, {"name": "s", "type": "string"}, {"name": "y", "type": "bytes"},
    {"name": "fx", "type": {"type": "fixed", "name": "Four", "size": 4}},
    {"name": "en", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}},
    {"name": "dec", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}},
    {"name": "decf", "type": {"type": "fixed", "name": "Five", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "tmillis", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "tmicros", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "tsmillis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "tsmicros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "opt", "type": ["null", "string"]}, {"name": "tpo", "type": ["long", "null"]},
    {"name": "optday", "type": ["null", {"type": "int", "logicalType": "date"}]},
    {"name": "sub", "type": ["null", SUB]},
    {"name": "un", "type": ["null", "string", "long", "Sub", "Colour"]},
    {"name": "arr", "type": {"type": "array", "items": ["null", "int"]}},
    {"name": "mp", "type": {"type": "map", "values": "Sub"}},
    {"name": "deep", "type": {"type": "array", "items": {"type": "map", "values": {"type": "array", "items": "double"}}}}]}
TYPE = havro.Names(SCHEMA).root


def raws(rng):
    """raw values that all three can hold: integers within 2^53, map keys once"""
    text = lambda: "".join(rng.choice("aZ \n\"\u00e9\u20ac\U0001f600") for _ in range(rng.choice((0, 1, 5, 30))))
    sub = lambda: {"x": rng.randint(-2147483648, 2147483647), "y": (1, text()) if rng.random() < 0.6 else None}
    big = lambda n: n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)
    out = []
    for i in range(ROWS):
        un = rng.choice((None, (1, text()), (2, rng.randint(-(1 << 50), 1 << 50)), (3, sub()), (4, rng.choice(("RED", "BLUE")))))
        out.append({
            "id": i, "b": rng.random() < 0.5, "i": rng.choice((0, -1, 2147483647, -2147483648, rng.randint(-999, 999))),
            "f": struct.unpack("<f", struct.pack("<f", rng.uniform(-1e6, 1e6)))[0] if i % 10 else rng.choice((0.0, -0.0)),
            "d": rng.uniform(-1e300, 1e300) if i % 10 else rng.choice((float("inf"), -float("inf"), float("nan"), 5e-324)),
            "s": text(), "y": rng.randbytes(rng.choice((0, 1, 20))), "fx": rng.randbytes(4), "en": rng.choice(("RED", "GREEN", "BLUE")),
            "dec": big(rng.choice((0, -1, 10 ** 20 - 1, 1 - 10 ** 20, rng.randint(-10 ** 12, 10 ** 12)))),
            "decf": rng.choice((10 ** 10 - 1, 1 - 10 ** 10, 0, rng.randint(-10 ** 9, 10 ** 9))).to_bytes(5, "big", signed=True),
            "day": rng.choice((0, -1, 20000, -100000, rng.randint(-700000, 2900000))), "tmillis": rng.choice((0, 86399999, rng.randrange(86400000))),
            "tmicros": rng.choice((0, 86399999999, rng.randrange(86400000000))),
            "tsmillis": rng.choice((0, -1, 1700000000123, -62135596800000, rng.randint(-10 ** 12, 10 ** 13))),
            "tsmicros": rng.choice((0, -1, -871000, 1700000000123456, rng.randint(-10 ** 15, 10 ** 15))),
            "local": rng.choice((0, -1, -1000001, rng.randint(-10 ** 15, 10 ** 15))), "uid": str(uuid.UUID(bytes=rng.randbytes(16))),
            "opt": (1, text()) if rng.random() < 0.5 else None, "tpo": (0, rng.randint(-(1 << 52), 1 << 52)) if rng.random() < 0.5 else None,
            "optday": (1, rng.randint(-1000, 40000)) if rng.random() < 0.5 else None, "sub": (1, sub()) if rng.random() < 0.7 else None,
            "un": un, "arr": [(1, rng.randint(-9, 9)) if rng.random() < 0.7 else None for _ in range(rng.randrange(6))],
            "mp": {k: sub() for k in rng.sample(("", "a", "key \u20ac", "z", "Z"), rng.randrange(4))},
            "deep": [{"k%d" % j: [rng.random() for _ in range(rng.randrange(3))] for j in range(rng.randrange(3))} for _ in range(rng.randrange(3))]})
    return out


def plain(v):
    """the raw value as the other languages read it"""
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return v
    if isinstance(v, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(v), repr(v))
    if isinstance(v, int):
        return str(v)
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, tuple):
        return [v[0], plain(v[1])]
    return [plain(x) for x in v] if isinstance(v, list) else {k: plain(x) for k, x in v.items()}


def native(t, v):
    """the raw value as Python's own types, which fastavro turns back"""
    if isinstance(t, list):
        if v is None:
            return None
        inner, b = native(t[v[0]], v[1]), t[v[0]]
        some = havro.branches(t)
        return inner if len(some) == 1 else (b.get("full", b["type"]), inner)
    log, kind = havro.logical(t), t["type"]
    if log == "decimal":
        digits = havro.decimal_text(int.from_bytes(v, "big", signed=True), t["scale"])
        return decimal.Context(prec=60).create_decimal(digits)
    if log == "date":
        return v if not -719162 <= v <= 2932896 else datetime.date.fromordinal(v + 719163)
    if log == "time-millis" or log == "time-micros":
        return (datetime.datetime.min + datetime.timedelta(microseconds=v * (1000 if log == "time-millis" else 1))).time()
    if log and "timestamp" in log:
        zone = None if log.startswith("local") else datetime.timezone.utc
        return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(microseconds=v * (1000 if log.endswith("millis") else 1))
    if log == "uuid":
        return uuid.UUID(v)
    if kind == "array":
        return [native(t["items"], x) for x in v]
    if kind == "map":
        return {k: native(t["values"], x) for k, x in v.items()}
    if kind == "record":
        return {f["name"]: native(f["type"], v[f["name"]]) for f in t["fields"]}
    return v


def by_python(kafka, registry, topic, rows, strategy=None):
    from confluent_kafka.schema_registry import SchemaRegistryClient, record_subject_name_strategy
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext
    conf = {"subject.name.strategy": record_subject_name_strategy} if strategy == "record_name" else {}
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), json.dumps(SCHEMA), conf=conf)
    context = SerializationContext(topic, MessageField.VALUE)
    return hproofs.produce(kafka, topic, [(0, serializer(native(TYPE, r), context)) for r in rows])


def files(topic, rows):
    os.makedirs(DIR, exist_ok=True)
    stem = os.path.join(DIR, topic)
    with open(stem + ".avsc", "w", encoding="utf-8") as f:
        json.dump(SCHEMA, f)
    with open(stem + ".rows", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(plain(r)) + "\n" for r in rows)
    return stem + ".avsc", stem + ".rows"


def installed(directory, pin, command):
    """runs `command` unless it was for this very pin"""
    stamp = os.path.join(directory, "stamp")
    if not os.path.exists(stamp) or not filecmp.cmp(stamp, pin, shallow=False):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        if pin.endswith(".json"):
            shutil.copy(pin, directory)
        subprocess.run(command, cwd=directory, check=True, timeout=300)
        shutil.copy(pin, stamp)


def fetch_registry(server):
    """Apicurio, once"""
    if isinstance(server, Apicurio) and not os.path.isdir(os.path.join(server.svc, "apicurio")):
        subprocess.run([server.script, "fetch-registry"], env=server.env, check=True, timeout=300)
    return server


def by_java(kafka, registry, topic, rows):
    here, libraries = os.path.join(ROOT, "tests", "e2e", "java"), os.path.join(BUILD, "java-lib")
    pom = os.path.join(here, "pom.xml")
    installed(libraries, pom, ["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime",
                               "-DoutputDirectory=" + libraries])
    subprocess.run(["java", "-cp", libraries + "/*", os.path.join(here, "AvroProducer.java"), kafka.bootstrap, registry.url, topic,
                    *files(topic, rows)], check=True, timeout=120)
    return [(0, i) for i in range(len(rows))]


def by_javascript(kafka, registry, topic, rows):
    here, modules = os.path.join(ROOT, "tests", "e2e", "js"), os.path.join(BUILD, "npm")
    installed(modules, os.path.join(here, "package.json"), ["npm", "install", "--no-audit", "--no-fund", "--silent"])
    registry.register(topic + "-value", SCHEMA)
    p = subprocess.run(["node", os.path.join(here, "serialize.js"), registry.url, topic, *files(topic, rows)], check=True, text=True,
                       stdout=subprocess.PIPE, timeout=120, env=dict(os.environ, NODE_PATH=os.path.join(modules, "node_modules")))
    return hproofs.produce(kafka, topic, [(0, bytes.fromhex(line)) for line in p.stdout.split()])


def proof(tally, kafka, registry, name, send, more=""):
    topic = "serialized_" + name
    rows = raws(random.Random(SEED))
    frazil = hproofs.make(kafka, registry, topic, more)
    places = send(kafka, registry, topic, rows)
    code, reports, errors = frazil.once(timeout=120)
    report = reports.get(topic, {})
    if not tally.equal("%s: exit code, rows" % name, (code, report.get("rows")), (0, len(rows))):
        return print("    %s\n%s" % (report, errors[-1500:]), flush=True)
    wanted = {p: havro.row(TYPE, r) for p, r in zip(places, rows)}
    return tally.equal("%s: rows are what was sent" % name, hproofs.differences(hproofs.rows(frazil, "default." + topic), wanted, 1), [])


def main():
    print("seed %d, %s" % (SEED, FRAZIL), flush=True)
    tally = Tally()
    record_name = lambda k, r, t, rows: by_python(k, r, t, rows, "record_name")
    server = double.Registry() if os.environ.get("E2E_REGISTRY") == "double" else fetch_registry(Apicurio())
    with Kafka() as kafka, server as registry:
        hproofs.part(tally, proof, kafka, registry, "python", by_python)
        hproofs.part(tally, proof, kafka, registry, "python_record_name", record_name, "  value: { subject_name_strategy: record_name }\n")
        hproofs.part(tally, proof, kafka, registry, "java", by_java)
        if shutil.which("npm"):
            hproofs.part(tally, proof, kafka, registry, "javascript", by_javascript)
        else:
            print("skip javascript: no npm", flush=True)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
