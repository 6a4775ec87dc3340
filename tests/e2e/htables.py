# SPDX-License-Identifier: Apache-2.0
"""What the proofs of tables share: a broker, records of Avro, questions to engines.

E2E_BOOTSTRAP names a broker that is there already; E2E_LONG=1 adds chdb and Daft.
"""
import json, os, subprocess

import harness, havro, hproofs
from harness import BUILD, ROOT, Kafka

LONG = os.environ.get("E2E_LONG") == "1"
ENGINES = ("pyiceberg", "duckdb", "polars") + (("chdb", "daft") if LONG else ())


class Broker(Kafka):
    """The broker of E2E_BOOTSTRAP; topics get a name of their own for each run."""

    def __enter__(self):
        self.address = os.environ["E2E_BOOTSTRAP"]
        return self

    def __exit__(self, *_):
        pass


def broker():
    return Broker() if "E2E_BOOTSTRAP" in os.environ else Kafka()


def name(stem):
    """a name for a topic, of its own for each run where the broker is not our own"""
    return "%s_%d" % (stem, harness.SEED % 1000000) if "E2E_BOOTSTRAP" in os.environ else stem


def field(label, kind, **more):
    return {"name": label, "type": kind, **more}


def optional(label, kind):
    return field(label, ["null", kind], default=None)


def record(*fields, label="Row"):
    return {"type": "record", "name": label, "fields": list(fields)}


def decimal(p, s):
    return {"type": "bytes", "logicalType": "decimal", "precision": p, "scale": s}


def decimal_bytes(n):
    return n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True)


def produce(kafka, registry, topic, schema, rows, partitions=1):
    """register and send; rows are raw values; absent optional fields are null"""
    number = registry.register(topic + "-value", schema)
    t = havro.Names(schema).root
    full = [{f["name"]: r.get(f["name"]) for f in t["fields"]} for r in rows]
    return hproofs.produce(kafka, topic, [(n % partitions, hproofs.framed(number, havro.write(t, r))) for n, r in enumerate(full)])


def python():
    return os.path.join(os.environ.get("VENVS", os.path.join(BUILD, "venv")), "judge", "bin", "python")


def find(engine, metadata, questions):
    """-> one {"ids"} or {"error"} a question"""
    p = subprocess.run([python(), os.path.join(ROOT, "tests", "e2e", "hfind.py"), engine, metadata.removeprefix("file://")], text=True,
                       input=json.dumps(questions), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
    try:
        return json.loads(p.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return [{"error": "%s ended with %d: %s" % (engine, p.returncode, p.stderr[-300:])}] * len(questions)


def judge(tally, what, metadata, rows, *more, engines=None):
    """judge.py with further options"""
    script = os.path.join(ROOT, "tests", "judge", "judge.py")
    p = subprocess.run([python(), script, metadata.removeprefix("file://"), "--engines", ",".join(engines or ENGINES), "--expect-rows", str(rows),
                        "--quiet", *more], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = p.stdout.strip().splitlines()
    if p.returncode != 0 or os.environ.get("E2E_VERBOSE"):
        print("\n".join("    " + x for x in lines), flush=True)
    return tally.check("%s: judge%s: %s" % (what, "".join(" " + m for m in more), lines[-1] if lines else "nothing"), p.returncode == 0)


def once(tally, what, frazil, topic, rows):
    """one pass that must be good -> report"""
    code, reports, errors = frazil.once()
    report = reports.get(topic, {})
    if not tally.equal("%s: exit code, rows" % what, (code, report.get("rows")), (0, rows)):
        print(report, errors[-2500:])
    return report
