#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random Avro schemas, values and damage, through the decoder and through fastavro: the same verdict, the same row.

fastavro reads the bytes without logical types and with each union branch wrapped in a record of its own (which takes no byte), so that
every raw value and branch is seen; havro.py makes the row of it by the type map. A strict reader by the specification gives the kind
of each rejection, and names what fastavro is known to let pass:

    a number of more than 64 bits; an int of more than 32; a negative length (it reads to the end), index (it counts from the end) or
    size of a block; a size of a block that points past the end; a boolean that is neither 0 nor 1; a fixed or a text that is cut short;
    a decimal of no bytes (0 there, rejected here: O-empty-decimal); a value outside its logical type whose map key comes again (the dict
    that fastavro gives holds the last one only)

From the environment: E2E_SEED, E2E_SECONDS (60), AVRO_ROWS (build/tests/tools/avro_rows). Finds are written to E2E_DIR/avro_diff; those worth
keeping live in fuzz/corpus/avro_diff, which is replayed first.
"""
import glob, io, json, os, random, struct, subprocess, sys, time

import fastavro

import havro
from harness import BUILD, DIR, ROOT, SEED, Tally
from havro import Bad

TOOL = os.environ.get("AVRO_ROWS", os.path.join(BUILD, "tests", "tools", "avro_rows"))
SECONDS = float(os.environ.get("E2E_SECONDS", "60"))
CORPUS = os.path.join(ROOT, "fuzz", "corpus", "avro_diff")
LOGICAL = {"int": ("date", "time-millis", "timestamp-millis", "foo"),
           "long": ("time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis",
                    "local-timestamp-micros", "local-timestamp-nanos", "date", "decimal"),
           "string": ("uuid", "date", "bar"), "bytes": ("decimal", "uuid", "big-decimal"), "fixed": ("decimal", "uuid", "duration")}


# ----------------------------------------------------------------------------------------------------- random schemas

class Maker:
    def __init__(self, rng):
        self.rng, self.named, self.used, self.count, self.left = rng, [], set(), 0, rng.randint(1, 30)

    def fresh(self, prefix):
        self.count += 1
        return "%s%d" % (prefix, self.count)

    def schema(self):
        if self.rng.random() < 0.06:
            return self.type(2, "top")
        return self.record(0)

    def record(self, depth):
        r = self.rng
        out = {"type": "record", "name": self.fresh("R")}
        if r.random() < 0.3:
            out["namespace"] = r.choice(("a", "b.c", "d"))
        names = self.twins(out)
        fields = [{"name": self.fresh("f"), "type": self.type(depth + 1, "field")} for _ in range(r.randint(0, 6))]
        fields.insert(r.randint(0, len(fields)), {"name": self.fresh("k"), "type": r.choice(("int", "string", ["null", "long"]))})
        out["fields"] = fields
        self.named.append(names)
        return out

    def twins(self, out):
        """the full name; the short one may be in use in another namespace"""
        space = out.get("namespace")
        if space and self.rng.random() < 0.3:
            for n in self.named:
                short = n.rpartition(".")[2]
                if space + "." + short not in self.used and n.rpartition(".")[0] != space:
                    out["name"] = short
                    break
        if not space:
            out["namespace"] = ""
        full = ".".join(filter(None, (space, out["name"])))
        self.used.add(full)
        return full

    def type(self, depth, where):
        r = self.rng
        self.left -= 1
        kinds = ["primitive"] * 5 + ["logical"] * 5 + ["enum", "fixed"]
        if depth < 6 and self.left > 0:
            kinds += ["array", "map", "record", "record", "entries"]
            if where != "branch":
                kinds += ["optional"] * 4 + ["union"] * 2
        if where != "branch" and r.random() < 0.1 and any("." in n for n in self.named):
            kinds = ["again"]   # a name without a namespace cannot be told from one of the enclosing namespace
        if where == "field":
            kinds += ["nothing"] if r.random() < 0.2 else []
        return getattr(self, r.choice(kinds))(depth)

    def primitive(self, _):
        return self.rng.choice(("boolean", "int", "long", "float", "double", "bytes", "string"))

    def nothing(self, _):
        name = self.fresh("E")
        return self.rng.choice(("null", {"type": "record", "name": name, "namespace": "", "fields": []}))

    def again(self, _):
        return self.rng.choice([n for n in self.named if "." in n])

    def logical(self, _):
        r = self.rng
        base = r.choice(tuple(LOGICAL))
        out = {"type": base, "logicalType": r.choice(LOGICAL[base])}
        if base == "fixed":
            out.update(name=self.fresh("F"), namespace="", size=r.choice((1, 2, 3, 5, 8, 12, 16, 17)))
        if out["logicalType"] == "decimal":
            out["precision"] = r.choice((1, 2, 5, 9, 10, 18, 19, 28, 38))
            out["scale"] = r.choice((0, 1, 2, out["precision"], out["precision"] + 1))
            if r.random() < 0.2:
                del out["scale"]
        return out

    def enum(self, _):
        out = {"type": "enum", "name": self.fresh("N"), "symbols": ["S%d" % i for i in range(self.rng.randint(1, 5))]}
        if self.rng.random() < 0.3:
            out["namespace"] = self.rng.choice(("a", "b.c", "d"))
        self.named.append(self.twins(out))
        return out

    def fixed(self, _):
        out = {"type": "fixed", "name": self.fresh("F"), "size": self.rng.choice((1, 4, 16, 40))}
        self.named.append(self.twins(out))
        return out

    def array(self, depth):
        return {"type": "array", "items": self.type(depth + 1, "item")}

    def map(self, depth):
        return {"type": "map", "values": self.type(depth + 1, "item")}

    def entries(self, depth):
        name = self.fresh("P")
        return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": name, "namespace": "", "fields": [
            {"name": "key", "type": self.rng.choice(("string", "int", "long"))}, {"name": "value", "type": self.type(depth + 1, "item")}]}}

    def optional(self, depth):
        other = self.type(depth + 1, "branch")
        return ["null", other] if self.rng.random() < 0.7 else [other, "null"]

    def union(self, depth):
        wanted, out, seen = self.rng.randint(1, 5), [], set()
        for _ in range(wanted):
            before = list(self.named)
            t = "null" if self.rng.random() < 0.15 else self.type(depth + 1, "branch")
            base = t if isinstance(t, str) else t["type"]
            key = (base, t["name"] + t.get("namespace", "")) if isinstance(t, dict) and "name" in t else base
            if key not in seen:
                seen.add(key)
                out.append(t)
            else:
                self.named = before
        return out if any(b != "null" for b in out) else ["null", "int"]


def wrap(schema, counter):
    """the same bytes for fastavro: no logical types, a record around each branch"""
    if isinstance(schema, list):
        out = []
        for i, b in enumerate(schema):
            if b == "null" or isinstance(b, dict) and b.get("type") == "null":
                out.append("null")
            else:
                counter[0] += 1
                out.append({"type": "record", "name": "W%d" % counter[0], "namespace": "wrapped",
                            "fields": [{"name": "b%d" % i, "type": wrap(b, counter)}]})
        return out
    if isinstance(schema, str):
        return schema
    out = {k: v for k, v in schema.items() if k not in ("logicalType", "precision", "scale", "full")}
    if isinstance(out.get("type"), list):
        out["type"] = wrap(out["type"], counter)
    for key in ("items", "values"):
        if key in out:
            out[key] = wrap(out[key], counter)
    if "fields" in out:
        out["fields"] = [dict(f, type=wrap(f["type"], counter)) for f in out["fields"]]
    return out


def unwrap(t, v):
    """what fastavro read -> raw value as havro.py has it"""
    if isinstance(t, list):
        if v is None:
            return None
        (name, inner), = v.items()
        i = int(name[1:])
        return (i, unwrap(t[i], inner))
    kind = t["type"]
    if kind == "array":
        return [unwrap(t["items"], x) for x in v]
    if kind == "map":
        return {k: unwrap(t["values"], x) for k, x in v.items()}
    if kind == "record":
        return {f["name"]: unwrap(f["type"], v[f["name"]]) for f in t["fields"]}
    return v


# ------------------------------------------------------------------------------------------------------ random values

INTS = (0, 1, -1, 63, 64, -64, -65, 127, 128, 86399999, 86400000, (1 << 31) - 1, -(1 << 31))
LONGS = INTS + (1 << 31, (1 << 53) - 1, 1 << 53, -(1 << 53), (1 << 63) - 1, -(1 << 63), 86399999999, 86400000000, 9223372036854775,
                9223372036854776, -9223372036854775, -9223372036854776, 1700000000123, -62135596800000, 253402300800000000)


def value(t, r, depth=0):
    if isinstance(t, list):
        i = r.randrange(len(t))
        return None if t[i]["type"] == "null" else (i, value(t[i], r, depth))
    kind, log = t["type"], havro.logical(t)
    if kind == "null":
        return None
    if kind == "boolean":
        return r.random() < 0.5
    if log in ("time-millis", "time-micros") and r.random() < 0.9:
        return r.randrange(86400000 if kind == "int" else 86400000000)
    if log and log.endswith("timestamp-millis") and r.random() < 0.9:
        return r.randint(-9223372036854775, 9223372036854775) >> r.choice((0, 8, 12))
    if kind in ("int", "long"):
        bits = 31 if kind == "int" else 63
        return r.choice(INTS if kind == "int" else LONGS) if r.random() < 0.5 else r.randint(-(1 << bits), (1 << bits) - 1) >> r.randrange(bits)
    if kind in ("float", "double"):
        size = 4 if kind == "float" else 8
        special = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 0.1, 1e-40)
        return struct.pack("<f" if size == 4 else "<d", r.choice(special)) if r.random() < 0.4 else r.randbytes(size)
    if log == "decimal":
        top = 10 ** t["precision"] if r.random() < 0.9 else 10 ** t["precision"] * 3
        n = r.choice((0, top - 1, 1 - top, -1, r.randint(-top, top)))
        size = t["size"] if kind == "fixed" else (n.bit_length() // 8 + 1 + (r.randint(0, 3) if r.random() < 0.3 else 0))
        limit = 1 << (8 * size - 1)
        return max(-limit, min(limit - 1, n)).to_bytes(size, "big", signed=True) if r.random() < 0.98 or kind == "fixed" else b""
    if log == "uuid" and kind == "string":
        h = r.randbytes(16).hex()
        text = "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))
        return r.choice((text, text, text, text, text.upper(), h if r.random() < 0.3 else text, text[:-1] if r.random() < 0.2 else text))
    if kind == "bytes":
        return r.randbytes(r.choice((0, 1, 3, 70)))
    if kind == "string":
        return "".join(r.choice("aZ09 \0\n\"\\\u00e9\u20ac\U0001f600\uffff\u2028") for _ in range(r.choice((0, 1, 2, 9, 40))))
    if kind == "fixed":
        return r.randbytes(t["size"])
    if kind == "enum":
        return r.choice(t["symbols"])
    some = range(r.choice((0, 1, 2, 3, 20)) if depth < 2 else r.randint(0, 2))
    if kind == "array":
        return [value(t["items"], r, depth + 1) for _ in some]
    if kind == "map":
        return [("k%d" % r.randrange(12) if r.random() < 0.9 else "", value(t["values"], r, depth + 1)) for _ in some]
    return {f["name"]: value(f["type"], r, depth) for f in t["fields"]}


def damage(data, other, r):
    data = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(9)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data += r.randbytes(r.randint(1, 4))
        elif kind in (2, 3) and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif kind == 4 and at < len(data):
            data[at] = r.choice((0, 1, 2, 3, 0x7f, 0x80, 0xff, r.randrange(256)))
        elif kind == 5:
            data[at:at] = r.choice((b"\0", b"\1", b"\xff" * 9 + b"\1", b"\xff" * 10, b"\x80" * 9 + b"\2", havro.varint(r.choice(LONGS))))
        elif kind == 6:
            del data[at:at + r.randint(1, 3)]
        elif kind == 7:
            data[at:] = other[r.randrange(len(other) + 1):]
        else:
            data[at:at + 1] = havro.varint(r.choice((1 << 31, -(1 << 31) - 1, 1 << 40, -(1 << 40), -(1 << 63), -1, -2)))
    return bytes(data)


# ----------------------------------------------------------------------------------------------------- the comparison

class Decoder:
    """the program under test"""

    def __init__(self):
        self.process = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise EOFError("the decoder ended with code %s" % self.process.wait())
        return answer.rstrip("\n")

    def close(self):
        self.process.stdin.close()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def by_fastavro(parsed, t, data):
    """-> raw value, or None and the reason"""
    source = io.BytesIO(data)
    try:
        found = fastavro.schemaless_reader(source, parsed)
    except Exception as e:
        return None, "%s: %s" % (type(e).__name__, e)
    if source.tell() != len(data):
        return None, "bytes are left"
    return (unwrap(t, found),), None


def judge(parsed, t, data, answer, counts):
    """None, or what is wrong"""
    try:
        havro.read(t, data)
        strict = None
    except Bad as e:
        strict = e
    fast, reason = by_fastavro(parsed, t, data)
    if fast is None and strict is None:
        return "fastavro refuses what the strict reader takes (%s), the decoder says %s" % (reason, answer[:200])
    wanted = None
    if fast is not None:
        try:
            wanted = havro.row(t, fast[0])
        except Bad as e:
            if strict is None:
                return "the row of what fastavro read is refused (%s), the strict reader takes it" % e.kind
            wanted = None
    if strict is None:
        counts["rows"] += 1
        if not answer.startswith("ok "):
            return "wanted a row, found %s" % answer
        found = json.loads(answer[3:])
        return None if havro.same(wanted, found) else "wanted %r, found %s" % (wanted, answer[3:])
    if wanted is not None:
        if not strict.lax and strict.kind in ("out_of_range", "invalid_value"):
            strict.lax = "a bad value of a map key that comes again"
        if not strict.lax:
            return "fastavro takes what the strict reader refuses (%s), the decoder says %s" % (strict.kind, answer[:200])
        counts[strict.lax] = counts.get(strict.lax, 0) + 1
    counts["refused"] += 1
    if not answer.startswith("error "):
        return "wanted %s, found %s" % (strict.kind, answer[:300])
    kind = answer.split(" ", 2)[1]
    return None if kind == strict.kind or strict.kind.startswith("too few") else "wanted kind %s, found %s" % (strict.kind, answer[:300])


class Run:
    def __init__(self):
        self.decoder, self.counts, self.finds = Decoder(), {"schemas": 0, "rows": 0, "refused": 0}, []

    def find(self, seed, schema, data, what):
        self.finds.append(what)
        if len(self.finds) > 20:
            return
        print("FIND seed %s: %s\n  schema %s\n  payload %s" % (seed, what, havro.text(schema), data.hex()), flush=True)
        os.makedirs(os.path.join(DIR, "avro_diff"), exist_ok=True)
        with open(os.path.join(DIR, "avro_diff", "find-%s-%d.json" % (seed, len(self.finds))), "w", encoding="utf-8") as f:
            json.dump({"what": what, "schema": schema, "payload": data.hex()}, f)

    def open(self, seed, schema):
        """-> (schema for fastavro, resolved) or None when the decoder refuses it"""
        t = havro.Names(schema).root
        parsed = fastavro.parse_schema(wrap(schema, [0]))
        answer = self.decoder.ask("S " + havro.text(schema))
        self.counts["schemas"] += 1
        if answer != "ok":
            self.find(seed, schema, b"", "schema refused: " + answer)
            return None
        return parsed, t

    def record(self, seed, schema, opened, data):
        parsed, t = opened
        try:
            answer = self.decoder.ask("R " + data.hex())
        except EOFError as e:
            self.find(seed, schema, data, str(e))
            self.decoder = Decoder()
            self.decoder.ask("S " + havro.text(schema))
            return
        what = judge(parsed, t, data, answer, self.counts)
        if what:
            self.find(seed, schema, data, what)

    def seed(self, seed):
        r = random.Random(seed)
        schema = Maker(r).schema()
        opened = self.open(seed, schema)
        if not opened:
            return
        previous = b""
        for _ in range(30):
            data = havro.write(opened[1], value(opened[1], r), r)
            self.record(seed, schema, opened, data)
            for _ in range(3):
                self.record(seed, schema, opened, damage(data, previous, r))
            previous = data

    def corpus(self):
        for path in sorted(glob.glob(os.path.join(CORPUS, "*.json"))):
            with open(path, encoding="utf-8") as f:
                kept = json.load(f)
            opened = self.open(os.path.basename(path), kept["schema"])
            for payload in kept["payloads"] if opened else ():
                self.record(os.path.basename(path), kept["schema"], opened, bytes.fromhex(payload))


def main():
    print("seed %d, %.0f s, %s, fastavro %s" % (SEED, SECONDS, TOOL, fastavro.__version__), flush=True)
    tally, run, until, seed = Tally(), Run(), time.monotonic() + SECONDS, SEED
    run.corpus()
    tally.equal("kept finds", run.finds, [])
    while time.monotonic() < until:
        run.seed(seed)
        seed += 1
    print("    %s" % json.dumps(run.counts), flush=True)
    tally.check("rows and rejections were compared", run.counts["rows"] > 100 and run.counts["refused"] > 100, run.counts)
    tally.equal("differences in %d schemas, seeds %d to %d" % (run.counts["schemas"], SEED, seed - 1), len(run.finds), 0)
    tally.equal("exit code of the decoder", run.decoder.close(), 0)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
