#!/usr/bin/env python3
"""Drive Frazil itself over the cases beside this script, and judge the tables it makes.

usage: python3 run_cases.py [--frazil PATH] [--cases DIR] [--only PREFIX] [--format avro,protobuf,json,raw] [--batch N] [-v] ...
       python3 run_cases.py --self-test

A mock Kafka cluster (librdkafka's, in this process) gets every record of every case, each case on its own topic; a Schema
Registry double serves the case's schemas under its own path, /<topic>/. Then, batch by batch, one frazil.yaml with one
tableflow entry per case is written, `frazil run --once -o json` runs, and PyIceberg reads what it left: the table, the
dead-letter table and the report. A case passes if columns, rows, dead letters and report are what the case says.

Nothing is taken from the program under test: it sees a broker, a registry, a directory and a configuration file.
README.md beside this script describes the cases; "Running them through Frazil" there describes what this script adds.
"""
import argparse, collections, contextlib, json, os, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg import types as ice
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow

import compare
from run_cases_registry import Registry

sys.setrecursionlimit(20000)          # cases nest 64 deep
HERE = os.path.dirname(os.path.abspath(__file__))
DATABASE = "cases"
SAFE = 2**53 - 1

# Choices that docs/types.md ("Choices settled") takes otherwise than the cases: the first `alt` holds, if the case has one. O-defaults is
# here because these tables are v2. Tables with *_ns columns are v3, so O-nanos is as in the cases.
OTHERWISE = {"O-empty-record", "O-null-type", "O-json-tuple", "O-proto-rename", "O-defaults", "O-editions"}
# `evolution.incompatible`: the value that keeps the topic running, so that the records of that writer schema are dead letters.
INCOMPATIBLE = "record_error"
# `write_mode` of cdc cases (--cdc)
CHANGELOG = "debezium"
KAFKA = {("partition",): "int", ("offset",): "long", ("timestamp",): "timestamptz"}
DEAD_LETTERS = {
    ("topic",): "string", ("partition",): "int", ("offset",): "long", ("timestamp",): "timestamptz", ("key",): "binary",
    ("value",): "binary", ("headers",): "list", ("headers", "element"): "struct", ("headers", "element", "key"): "string",
    ("headers", "element", "value"): "binary", ("error",): "string", ("message",): "string", ("schema_id",): "int",
    ("failed_at",): "timestamptz"}
SANITIZER = re.compile(rb".*(?:ERROR: \w+Sanitizer|:\d+:\d+: runtime error: |SUMMARY: \w+Sanitizer).*")
ABSENT = {"$absent": "no row and no dead letter"}


# ------------------------------------------------------------------------------------------------------------- cases

class Case:
    """A case, its topic and table, and the answer that Frazil must give: `want` is the case itself or its first `alt`."""

    def __init__(self, raw, prefix=""):
        self.raw, self.id, self.family, self.records = raw, raw["id"], raw["family"], raw["records"]
        self.topic = prefix + re.sub(r"[^A-Za-z0-9._-]", ".", self.id)[:200]
        self.table = re.sub(r"[^a-z0-9]+", "_", self.id.lower())
        self.want = raw["alt"][0] if raw.get("alt") and OTHERWISE & set(raw.get("open", [])) else raw
        self.columns = self.want.get("columns") or raw["reader"]["columns"]
        self.version = 3 if any("_ns" in c["type"] for c in self.columns or []) else 2
        self.options, self.skip = raw.get("options", {}), None
        self.cdc = self.options.get("cdc") == "debezium"
        # is the whole topic refused, because of its schema? (an alternative that is an error always means that)
        self.refused = "error" in self.want and self.want.get("error_scope", "schema") == "schema"

    def subject(self, schema):
        """the schema's subject, with the case's topic replaced by the real one"""
        name, start = schema["subject"], self.raw["topic"] + "-"
        return self.topic + name[len(start) - 1:] if schema["role"] != "reference" and name.startswith(start) else name


def load_cases(directory, only, formats, cdc, prefix=""):
    cases = []
    for family in sorted(os.listdir(directory)):
        path = os.path.join(directory, family, "cases.jsonl")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                cases += [Case(json.loads(line), prefix) for line in f if line.strip()]
    cases = [c for c in cases if c.id.startswith(only) and (not formats or c.raw["format"] in formats)]
    for c in cases:
        if c.cdc and not cdc:
            c.skip = "cdc (see --cdc)"
    for key in ("topic", "table"):
        twice = [k for k, n in collections.Counter(getattr(c, key) for c in cases).items() if n > 1]
        assert not twice, "two cases share the %s %s" % (key, twice)
    return cases


def tree(columns):
    """column list -> nested {"type", "required", "kids": {}}"""
    root = {"type": "struct", "required": True, "kids": {}}
    for c in columns or []:
        node = root
        for p in c["path"][:-1]:
            node = node["kids"][p]
        node["kids"][c["path"][-1]] = {"type": c["type"], "required": c["required"], "kids": {}}
    return root


def changes(expect):
    """cdc: the rows that the changes leave, as {offset of the last change: row}"""
    rows = {}
    for offset, e in enumerate(expect):
        op = e.get("$op") if e else None
        key = json.dumps(e.get("key"), sort_keys=True) if op else None
        if op == "truncate":
            rows = {}
        elif op == "delete":
            rows.pop(key, None)
        elif op == "upsert":
            old = rows.get(key, (0, {}))[1]
            rows[key] = (offset, {**{k: old.get(k) for k in e.get("$unchanged", [])}, **e["row"]})
    return dict(rows.values())


# ------------------------------------------------------------------------------------------------------------ broker

class Broker:
    """librdkafka's mock cluster in this process, or a real broker. Everything goes to partition 0."""

    def __init__(self, bootstrap=None):
        conf = {"message.max.bytes": 8 << 20, "linger.ms": 2, "log_level": 3, "enable.idempotence": bool(bootstrap)}
        conf.update({"bootstrap.servers": bootstrap} if bootstrap else {"test.mock.num.brokers": 1, "bootstrap.servers": "mock"})
        self.producer, self.topics, self.failures = Producer(conf), [], []
        brokers = self.producer.list_topics(timeout=20).brokers.values()
        self.bootstrap = bootstrap or ",".join("%s:%d" % (b.host, b.port) for b in brokers)
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3}) if bootstrap else None

    def produce(self, cases):
        if self.admin is not None:              # a client without messages is false
            self.topics = [c.topic for c in cases]
            config = {"max.message.bytes": str(8 << 20), "retention.ms": "-1"}           # the timestamps are old
            new = [NewTopic(t, 1, replication_factor=1, config=config) for t in self.topics]
            for future in self.admin.create_topics(new).values():
                future.result(60)
            for _ in range(100):                # until every broker's metadata has them
                known = self.admin.list_topics(timeout=20).topics
                if all(t in known and known[t].partitions and known[t].partitions[0].leader >= 0 for t in self.topics):
                    break
                time.sleep(0.2)
        for c in cases:
            for r in c.records:
                headers = [(n, v if v is None else bytes.fromhex(v)) for n, v in r["headers"]]
                self.producer.produce(c.topic, *(r[k] if r[k] is None else bytes.fromhex(r[k]) for k in ("value", "key")), partition=0,
                                      headers=headers, timestamp=r["timestamp"], on_delivery=lambda e, m: e and self.failures.append((m.topic(), e)))
            self.producer.poll(0)
        left = self.producer.flush(120)
        assert not left and not self.failures, "not produced: %d, %s" % (left, self.failures[:3])

    def close(self):
        if self.topics:
            for future in self.admin.delete_topics(self.topics).values():
                future.result(60)


# ----------------------------------------------------------------------------------------------------- configuration

def type_text(node):
    """a declared column's type as the configuration spells it"""
    def child(n):
        return type_text(n) + (" not null" if n["required"] else "")

    kids = node["kids"]
    if node["type"] == "list":
        return "list<%s>" % child(kids["element"])
    if node["type"] == "map":
        return "map<%s, %s>" % (type_text(kids["key"]), child(kids["value"]))
    if node["type"] == "struct":
        return "struct<%s>" % ", ".join("%s: %s" % (k if re.fullmatch(r"[A-Za-z_]\w*", k) else json.dumps(k, ensure_ascii=False), child(n))
                                        for k, n in kids.items())
    return node["type"]


def entry_config(case, registry, directory):
    """one tableflow entry"""
    plain = {"framing": "none"}
    value = {None: {}, "plain": {"format": "json", **plain}, "json-text": {"format": "json", **plain}, "string": {"format": "string", **plain},
             "connect-json": {"format": "connect_json", **plain}, "binary": {"format": "bytes", **plain}}[case.options.get("value")]
    if case.options.get("value") == "plain":
        value["columns"] = [{"name": k, "type": type_text(n), "required": n["required"]} for k, n in tree(case.columns)["kids"].items()]
    if "message" in case.options:
        value["message"] = case.options["message"]
    if case.raw["subject_strategy"] != "TopicName":
        value["subject_name_strategy"] = {"RecordName": "record_name", "TopicRecordName": "topic_record_name"}[case.raw["subject_strategy"]]
    key = {"ignore": {}, "schema": {"format": "auto", "mode": "columns"}, "binary": {"format": "bytes", **plain, "mode": "columns"},
           "string": {"format": "string", **plain, "mode": "columns"}, "connect-json": {"format": "connect_json", **plain, "mode": "columns"}}
    entry = {"topic": case.topic, "format_version": case.version, "start": "earliest", "on_error": "dead_letter",
             "storage": {"bucket": "file://%s/%s" % (directory, case.table)},
             "catalog": {"type": "SQL", "uri": "sqlite:///%s/catalog.db" % directory, "database": DATABASE, "table": case.table},
             "schema_registry": {"url": registry.url(case.topic)}, "value": value, "key": key[case.options.get("key", "ignore")],
             "dead_letter": {"table": case.table + "__dead_letters"}, "evolution": {"incompatible": INCOMPATIBLE}}
    if case.cdc:
        entry["write_mode"] = CHANGELOG
    return {k: v for k, v in entry.items() if v != {}}


def yaml(value, indent=""):
    """block YAML with JSON scalars"""
    out = []
    items = value.items() if isinstance(value, dict) else [(None, v) for v in value]
    for k, v in items:
        head = indent + ("- " if k is None else k + ":")
        if k is None:
            out.append(head + yaml(v, indent + "  ").lstrip())
        elif isinstance(v, (dict, list)):
            out.append(head + "\n" + yaml(v, indent + "  "))
        else:
            out.append(head + " " + json.dumps(v, ensure_ascii=False) + "\n")
    return "".join(out)


# ----------------------------------------------------------------------------------------------------------- running

Run = collections.namedtuple("Run", "directory bad report")       # bad: why nothing of the run can be used; report: {topic: object}


def last_object(text):
    """the JSON object that standard output ends with"""
    text = text.rstrip()
    for m in reversed(list(re.finditer(r"^\{", text, re.M))):
        with contextlib.suppress(ValueError):
            return json.loads(text[m.start():])
    return None


def execute(program, directory, limit):
    """frazil run --once in `directory` -> Run"""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FRAZIL_")}
    with open(directory + "/stdout", "wb") as out, open(directory + "/stderr", "wb") as err:
        p = subprocess.Popen([program, "run", "--once", "-c", "frazil.yaml", "-o", "json"], cwd=directory, stdin=subprocess.DEVNULL,
                             stdout=out, stderr=err, env=env, start_new_session=True)
        try:
            rc = p.wait(limit)
        except subprocess.TimeoutExpired:
            rc = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    with open(directory + "/stdout", "rb") as out, open(directory + "/stderr", "rb") as err:
        stdout, stderr = out.read().decode("utf-8", "replace"), err.read()
    last = (stderr.strip().splitlines() or [b"nothing on standard error"])[-1].decode("utf-8", "replace")
    report, found = last_object(stdout), SANITIZER.search(stderr)
    topics = report.get("topics") if isinstance(report, dict) else None
    bad = None
    if rc is None:
        bad = "timed out after %g s: %s" % (limit, last)
    elif found:
        bad = "sanitizer: " + found[0].decode("utf-8", "replace").strip()
    elif rc < 0:
        bad = "killed by %s: %s" % (signal.Signals(-rc).name, last)
    elif rc not in (0, 3):
        bad = "exit code %d: %s" % (rc, last)
    elif not isinstance(topics, list):
        bad = "exit code %d, but no report at the end of standard output: %s" % (rc, (stdout.strip()[-200:] or "(empty)"))
    return Run(directory, bad, {t.get("topic"): t for t in topics if isinstance(t, dict)} if not bad else {})


class Runner:
    """Runs cases in batches; a bad run (crash, time-out, sanitizer, exit code) is halved until the case to blame stands alone."""

    def __init__(self, broker, registry, root, launch):
        self.broker, self.registry, self.root, self.launch = broker, registry, root, launch
        self.runs = self.good = self.blamed = 0

    def attempt(self, cases):
        self.runs += 1
        directory = os.path.join(self.root, "run-%04d" % self.runs)
        os.makedirs(directory)
        head = {"kafka": {"bootstrap_servers": self.broker.bootstrap, "group_id": "cases-%d-%d" % (os.getpid(), self.runs)}}
        with open(directory + "/frazil.yaml", "w", encoding="utf-8") as f:
            f.write(yaml(head) + "server:\n  listen: off\n" + yaml({"tableflow": [entry_config(c, self.registry, directory) for c in cases]}))
        return self.launch(directory, cases)

    def batch(self, cases):
        """-> {case: [problem, ...]}"""
        run = self.attempt(cases)
        if not run.bad:
            self.good += 1
            return {c: check(c, run) for c in cases}
        if len(cases) == 1 or (self.runs > 8 and not self.good):        # nothing ever ran well: no use to search
            self.blamed += 1
            return {c: [run.bad + ("" if len(cases) == 1 else " (one run with %d other cases)" % (len(cases) - 1))] for c in cases}
        before, half = self.blamed, len(cases) // 2
        out = {**self.batch(cases[:half]), **self.batch(cases[half:])}
        if self.blamed == before:
            self.blamed += 1
            out = {c: ["%s (in a run of %d cases; both halves of it run well)" % (run.bad, len(cases))] for c in cases}
        return out


# ---------------------------------------------------------------------------------------------------- reading tables

def civil(days):
    """days since 1970-01-01 -> date text, proleptic Gregorian, any year"""
    era, doe = divmod(days + 719468, 146097)
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (month <= 2)
    return "%s-%02d-%02d" % ("%04d" % year if 0 <= year <= 9999 else "%+05d" % year, month, doy - (153 * mp + 2) // 5 + 1)


def clock(v, digits):
    seconds, fraction = divmod(v, 10**digits)
    return "%02d:%02d:%02d.%0*d" % (seconds // 3600, seconds // 60 % 60, seconds % 60, digits, fraction)


def instant(v, digits, zone):
    day, rest = divmod(v, 86400 * 10**digits)
    return civil(day) + "T" + clock(rest, digits) + zone


def real(v):
    return "NaN" if v != v else "Infinity" if v == float("inf") else "-Infinity" if v == float("-inf") else v


def type_name(t):
    nested = {ice.StructType: "struct", ice.ListType: "list", ice.MapType: "map"}
    return nested.get(type(t)) or str(t).replace(", ", ",").replace("[", "(").replace("]", ")")


FORMS = {
    "long": lambda v: v if -SAFE <= v <= SAFE else str(v), "float": real, "double": real, "date": civil, "time": lambda v: clock(v, 6),
    "timestamp": lambda v: instant(v, 6, ""), "timestamptz": lambda v: instant(v, 6, "+00:00"),
    "timestamp_ns": lambda v: instant(v, 9, ""), "timestamptz_ns": lambda v: instant(v, 9, "+00:00"),
    "uuid": lambda v: re.sub(r"(.{8})(.{4})(.{4})(.{4})", r"\1-\2-\3-\4-", v.hex()), "binary": bytes.hex, "fixed": bytes.hex,
    "decimal": lambda v: format(v, "f")}


def plain(array, t):
    """an Arrow array of a primitive Iceberg type -> Python values without loss (times and dates as integers)"""
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    want = schema_to_pyarrow(t)
    want, old = getattr(want, "storage_type", want), array.type
    if str(old).replace("large_", "") != str(want).replace("large_", ""):          # written before the column was widened?
        wider = {("int32", "int64"), ("float", "double")}
        both = pa.types.is_decimal(old) and pa.types.is_decimal(want) and old.scale == want.scale and old.precision <= want.precision
        assert both or (str(old), str(want)) in wider, "a column of type %s is stored as %s" % (t, old)
        array = array.cast(want)
    if isinstance(t, ice.DateType):
        array = array.view(pa.int32())
    elif pa.types.is_temporal(array.type):
        array = array.view(pa.int64())
    return array.to_pylist()


def field_id(field):
    return int((field.metadata or {}).get(b"PARQUET:field_id", -1))


def columns_of(fields, get, count, t, ids):
    """the columns of an Iceberg struct in a file or Arrow struct -> [(name, canonical values)]"""
    at, out = {field_id(f) if ids else f.name: i for i, f in enumerate(fields)}, []
    for f in t.fields:
        i = at.get(f.field_id if ids else f.name)
        assert i is not None or not f.required and f.initial_default is None, "column %s (id %d) is not in the file" % (f.name, f.field_id)
        out.append((f.name, [None] * count if i is None else canonical(get(i), f.field_type, ids)))
    return out


def canonical(array, t, ids):
    """an Arrow array of Iceberg type t -> list of canonical values (README.md, section 2); ids: fields are found by Iceberg id"""
    if len(array) == 0:
        return []
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    valid, kind = array.is_valid().to_pylist(), array.type
    if isinstance(t, ice.StructType):
        kids = columns_of([kind.field(i) for i in range(kind.num_fields)], array.field, len(array), t, ids)
        return [{n: k[i] for n, k in kids} if ok else None for i, ok in enumerate(valid)]
    if isinstance(t, ice.ListType):
        assert not ids or field_id(kind.value_field) == t.element_id, "list element without the id %d" % t.element_id
        items, at = canonical(array.values, t.element_type, ids), array.offsets.to_pylist()
        return [items[at[i]:at[i + 1]] if ok else None for i, ok in enumerate(valid)]
    if isinstance(t, ice.MapType):
        assert not ids or field_id(kind.key_field) == t.key_id and field_id(kind.item_field) == t.value_id, \
            "map key and value without the ids %d, %d" % (t.key_id, t.value_id)
        keys, values = canonical(array.keys, t.key_type, ids), canonical(array.items, t.value_type, ids)
        order = plain(array.keys, t.key_type) if t.key_type.is_primitive else keys
        order, at = [k.encode() if isinstance(k, str) else k for k in order], array.offsets.to_pylist()
        return [[[keys[j], values[j]] for j in sorted(range(at[i], at[i + 1]), key=order.__getitem__)] if ok else None
                for i, ok in enumerate(valid)]
    form = FORMS.get(type_name(t).split("(")[0])
    values = plain(array, t)
    return [v if v is None else form(v) for v in values] if form else values


def column_list(t, path=()):
    """Iceberg struct -> {path: (type, required)}"""
    out = {}
    if isinstance(t, ice.StructType):
        kids = [(f.name, f.field_type, f.required) for f in t.fields]
    elif isinstance(t, ice.ListType):
        kids = [("element", t.element_type, t.element_required)]
    elif isinstance(t, ice.MapType):
        kids = [("key", t.key_type, True), ("value", t.value_type, t.value_required)]
    else:
        kids = []
    for name, kid, required in kids:
        out[path + (name,)] = (type_name(kid), required)
        out.update(column_list(kid, path + (name,)))
    return out


def read_file(uri):
    return pq.ParquetFile(re.sub("^file:/*", "/", uri), schema_depth_limit=1000).read()        # 64 nested lists need more than 100


def read_table(directory, name):
    """-> (columns, rows) of a table in the run's catalog, None if there is none

    PyIceberg reads catalog, metadata and manifests. The files it names are read by field id here, because its own scan turns null
    lists and maps of structs into empty ones (0.12.0); it is used only where there are delete files (cdc).
    """
    db = directory + "/catalog.db"
    if not os.path.exists(db):
        return None
    with contextlib.closing(sqlite3.connect(db)) as s:
        found = s.execute("SELECT catalog_name FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?", (DATABASE, name)).fetchall()
    if not found:
        return None
    catalog = SqlCatalog(found[0][0], uri="sqlite:///" + db, init_catalog_tables="false", **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    try:
        table = catalog.load_table((DATABASE, name))
        tasks = list(table.scan().plan_files())
        ids = not any(task.delete_files for task in tasks)
        parts = [read_file(task.file.file_path) for task in tasks] if ids else [table.scan().to_arrow()]
    finally:
        catalog.engine.dispose()
    t, rows = table.schema().as_struct(), []
    for i, part in enumerate(parts):
        assert not ids or part.num_rows == tasks[i].file.record_count, "the manifest does not say how many rows the file has"
        columns = columns_of(list(part.schema), part.column, part.num_rows, t, ids)
        rows += [{n: values[r] for n, values in columns} for r in range(part.num_rows)]
    return column_list(t), rows


# ----------------------------------------------------------------------------------------------------------- judging

def show(v):
    return v if isinstance(v, str) and v.startswith("$") else json.dumps(v, ensure_ascii=False, default=str)


def difference(node, want, got, path=""):
    """text for the first place where two canonical values differ"""
    t = node["type"]
    if isinstance(want, dict) and isinstance(got, dict) and not any(k.startswith("$") for d in (want, got) for k in d):
        for k in [*want, *(k for k in got if k not in want)]:
            kid = node["kids"].get(k, {"type": "any", "kids": {}})
            if k not in want or k not in got or not compare.same(kid, want[k], got[k]):
                return difference(kid, want.get(k, "$none"), got.get(k, "$none"), path + "." + k)
    if t in ("list", "map") and isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (a, b) in enumerate(zip(want, got)):
            pairs = [("element", a, b)] if t == "list" else [("key", a[0], b[0]), ("value", a[1], b[1])]
            for k, x, y in pairs:
                if not compare.same(node["kids"][k], x, y):
                    return difference(node["kids"][k], x, y, "%s[%d]%s" % (path, i, "" if t == "list" else "." + k))
    return "%s: expected %s, got %s" % (path.lstrip(".") or "row", show(want), show(got))


def check_columns(case, columns):
    """differences of the table's columns, metadata column included"""
    kafka = {p[1:]: t for p, (t, _) in columns.items() if p[0] == "_kafka" and len(p) > 1}
    got = {p: c for p, c in columns.items() if p[0] != "_kafka"}
    out = []
    if kafka != KAFKA or columns.get(("_kafka",), ("", True))[1]:
        out.append("_kafka: expected an optional struct %s, got %s %s" % (KAFKA, columns.get(("_kafka",)), kafka))
    want = {tuple(c["path"]): (c["type"], c["required"]) for c in case.columns}
    for p in sorted({*want, *got}):
        a, b = want.get(p), got.get(p)
        if a != b:
            text = ["no column" if c is None else c[0] + (" required" if c[1] else " optional") for c in (a, b)]
            out.append("column %s: expected %s, got %s" % (json.dumps(p, ensure_ascii=False), *text))
    return out


def check_dead_letters(case, table):
    """-> ({offset: (kind, message)}, problems)"""
    if table is None:
        return {}, []
    columns, rows = table
    out, problems = {}, []
    if {p: t for p, (t, _) in columns.items()} != DEAD_LETTERS:
        return {}, ["dead-letter table: expected %s, got %s" % (DEAD_LETTERS, columns)]
    for r in rows:
        o = r["offset"]
        if r["partition"] != 0 or not 0 <= o < len(case.records) or o in out:
            problems.append("dead letter for partition %s offset %s, twice or never produced" % (r["partition"], o))
            continue
        rec = case.records[o]
        want = {"topic": case.topic, "key": rec["key"], "value": rec["value"], "timestamp": instant(rec["timestamp"] * 1000, 6, "+00:00"),
                "headers": [{"key": k, "value": v} for k, v in rec["headers"]]}
        for k, v in want.items():
            if (r[k] or []) != v if k == "headers" else r[k] != v:
                problems.append("dead letter %d, %s: expected %s, got %s" % (o, k, show(v), show(r[k])))
        out[o] = (r["error"], r["message"])
    return out, problems


def results(case, rows, dead):
    """rows and dead letters -> (one entry per record in the form of `expect`, problems)"""
    found, problems = [ABSENT if r["value"] is not None else None for r in case.records], []
    for o, (kind, _) in dead.items():
        found[o] = {"$error": kind}
    taken = set(dead)
    for r in rows:
        meta = r.get("_kafka") if isinstance(r.get("_kafka"), dict) else {}
        o = meta.get("offset")
        if meta.get("partition") != 0 or not isinstance(o, int) or not 0 <= o < len(case.records):
            problems.append("row of a record that was never produced: _kafka %s" % show(meta))
        elif o in taken:
            problems.append("record %d is there twice%s" % (o, ", once as a dead letter" if o in dead else ""))
        else:
            taken.add(o)
            found[o] = {k: v for k, v in r.items() if k != "_kafka"}
            if meta.get("timestamp") != instant(case.records[o]["timestamp"] * 1000, 6, "+00:00"):
                problems.append("record %d: _kafka.timestamp is %s" % (o, meta.get("timestamp")))
    return found, problems


def check(case, run):
    """-> what is wrong, [] if the case passes"""
    topic = run.report.get(case.topic)
    if topic is None:
        return ["the report has no entry for the topic"]
    try:
        tables = [read_table(run.directory, case.table + suffix) for suffix in ("", "__dead_letters")]
        return (check_refusal if case.refused else check_rows)(case, topic, *tables)
    except Exception as e:                      # whatever PyIceberg or pyarrow find wrong with the files is a finding
        return ["cannot read the answer: %s: %s" % (type(e).__name__, " ".join(str(e).split()))]


def check_refusal(case, topic, table, letters):
    """the topic must be suspended, and nothing written"""
    error, rows, dead = topic.get("error") or {}, table[1] if table else [], letters[1] if letters else []
    kinds = [case.want["error"], *case.want.get("error_also", [])]
    if topic.get("state") != "suspended" or rows or dead:
        return ["expected the topic to be suspended with %s, got state %s, error %s, %d rows, dead letters %s" % (
            " or ".join(kinds), topic.get("state"), show(error), len(rows), [r.get("error") for r in dead[:3]])]
    if error.get("kind") not in kinds:
        return ["expected suspended with %s, got %s: %s" % (" or ".join(kinds), error.get("kind"), error.get("message"))]
    return []


def check_rows(case, topic, table, letters):
    """columns, rows, dead letters and report"""
    columns, rows = table or ({}, [])
    dead, problems = check_dead_letters(case, letters)
    suspended, error = topic.get("state") == "suspended", topic.get("error") or {}
    if suspended:
        problems.append("suspended with %s at offset %s: %s" % (error.get("kind"), error.get("offset"), error.get("message")))
    silent = case.options.get("value") == "connect-json" and not rows      # envelopes that fail need not say what the columns are
    if table and not silent:
        problems += check_columns(case, columns)
    elif not table and not silent and not suspended:
        problems.append("no table %s.%s in the catalog" % (DATABASE, case.table))
    found, more = results(case, rows, dead)
    problems += more + judge(case, found, dead)
    if not suspended:
        tombstones = sum(r["value"] is None and o not in dead for o, r in enumerate(case.records))
        counts = {"rows": len(rows), "dead_letters": len(dead), "tombstones": tombstones}
        problems += ["report: %s is %s, but it was %d" % (k, show(topic.get(k)), v) for k, v in counts.items() if topic.get(k) != v and not case.cdc]
        if (topic.get("watermark") or {}).get("0") != len(case.records):
            problems.append("report: watermark is %s, expected {\"0\": %d}" % (show(topic.get("watermark")), len(case.records)))
    return problems


def judge(case, found, dead):
    """compare.py decides; this adds where and what. Kinds in `expect` must match, for `error` those of `error_also` do too."""
    want, root = case.want, compare.load_columns(case.columns)
    kinds = {want.get("error"), *want.get("error_also", [])}
    entries = want["expect"] if "expect" in want else [{"$error": want["error"]}] * len(found)
    if case.cdc:
        final = changes(entries)
        entries = [final.get(o) for o in range(len(found))]
        want = {"expect": entries}
        found = [None if got is ABSENT and e is None else got for got, e in zip(found, entries)]
    if compare.judge(case.raw, want, {"results": found}, "expect" in want):
        return []
    out = []
    for o, (entry, got) in enumerate(zip(entries, found)):
        ok = isinstance(got, dict) and got.get("$error") in kinds if "error" in want else compare.entry(root, entry, got, None, True)
        if not ok:
            out.append("record %d, %s%s" % (o, difference(root, entry, got), " (%s)" % dead[o][1] if o in dead else ""))
    return out or ["compare.py rejects the answer"]


# -------------------------------------------------------------------------------------------------------------- main

def run_all(runner, cases, size, verbose):
    """runs and prints; -> number of failures"""
    tally = collections.defaultdict(collections.Counter)
    for c in cases:
        if c.skip:
            tally[c.family]["skipped"] += 1
            print("skipped %s: %s" % (c.id, c.skip))
    cases = [c for c in cases if not c.skip]
    width = 4000 if verbose else 240
    for i in range(0, len(cases), size):
        for c, problems in runner.batch(cases[i:i + size]).items():
            tally[c.family]["failed" if problems else "passed"] += 1
            shown = [p if len(p) <= width else p[:width - 60] + " ... " + p[-55:] for p in problems]
            if verbose and problems:
                print("FAILED  %s\n          %s" % (c.id, "\n          ".join(shown)))
            elif problems:
                print("FAILED  %s: %s%s" % (c.id, shown[0], " (and %d more)" % (len(problems) - 1) if len(problems) > 1 else ""))
        sys.stdout.flush()
    total = collections.Counter()
    for family in sorted(tally):
        total.update(tally[family])
        print("%-28s" % family + "".join("%6d %s" % (tally[family][k], k) for k in ("passed", "failed", "skipped")))
    print("%d passed, %d failed, %d skipped" % tuple(total[k] for k in ("passed", "failed", "skipped")))
    return total["failed"]


def main():
    ap = argparse.ArgumentParser(description="Drive Frazil over decode conformance cases and judge the tables it makes.")
    ap.add_argument("--frazil", help="the program (default: ./build/frazil, else frazil on PATH)")
    ap.add_argument("--cases", default=HERE, metavar="DIR", help="folder of cases (default: the one of this script)")
    ap.add_argument("--only", default="", metavar="PREFIX", help="cases whose id begins so")
    ap.add_argument("--format", default="", help="value formats, of avro,protobuf,json,raw")
    ap.add_argument("--batch", type=int, default=64, help="cases a run of Frazil (default 64; 1: each alone)")
    ap.add_argument("--timeout", type=float, default=60, help="seconds for a full batch (default 60); smaller ones get their share and 15 s")
    ap.add_argument("--bootstrap", metavar="HOST:PORT", help="use this broker instead of the mock cluster; topics are made and deleted again")
    ap.add_argument("--cdc", action="store_true", help="change data capture cases too")
    ap.add_argument("--keep", metavar="DIR", help="keep configurations, logs and tables in a new folder there")
    ap.add_argument("--list", action="store_true", help="list the cases with topic and table, and stop")
    ap.add_argument("--self-test", action="store_true", help="prove this script without Frazil")
    ap.add_argument("-v", "--verbose", action="store_true", help="every difference, at length")
    o = ap.parse_args()
    cases = load_cases(o.cases, o.only, [f for f in o.format.split(",") if f], o.cdc, "c%x." % int(time.time()) if o.bootstrap else "")
    if o.list:
        for c in cases:
            print("%s\ttopic %s\ttable %s.%s%s" % (c.id, c.topic, DATABASE, c.table, "\tskipped: " + c.skip if c.skip else ""))
        return 0
    if not cases:
        ap.error("no case matches")
    program = os.path.abspath(o.frazil) if o.frazil else os.path.abspath("build/frazil") if os.path.exists("build/frazil") else shutil.which("frazil")
    if not o.self_test and not (program and os.access(program, os.X_OK)):
        ap.error("cannot execute %s; name the program with --frazil" % (program or "frazil: it is neither ./build/frazil nor on PATH"))
    if o.keep:
        os.makedirs(o.keep, exist_ok=True)
    root = tempfile.mkdtemp(prefix="cases-", dir=o.keep and os.path.abspath(o.keep))
    broker = registry = None
    try:
        broker, registry = Broker(o.bootstrap), Registry(cases)
        broker.produce([c for c in cases if not c.skip or o.self_test])
        if o.self_test:
            import run_cases_selftest
            return run_cases_selftest.main(cases, broker, registry, root, o)

        def launch(directory, batch):
            return execute(program, directory, 15 + o.timeout * len(batch) / o.batch)
        return 1 if run_all(Runner(broker, registry, root, launch), cases, o.batch, o.verbose) else 0
    finally:
        if registry:
            registry.server.shutdown()
        if broker:
            broker.close()
        if o.keep:
            print("kept: " + root, file=sys.stderr)
        else:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
