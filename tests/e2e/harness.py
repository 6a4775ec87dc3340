# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end scripts share: a real broker, a registry double, the load generator, the program, a tally.

The scripts are plain Python without a test framework; each closes with `N passed, N failed`. They see the program from
outside only: a configuration file, exit codes, standard output, and the table through PyIceberg.

From the environment: E2E_ROWS (100000), E2E_SEED (the clock), E2E_PORT_BASE (27000), E2E_DIR (build/e2e), E2E_REGISTRY (double, or apicurio for
the real server), FRAZIL (build/frazil), SVC (build/svc).
"""
import json, os, shutil, signal, subprocess, sys, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "fake"))
BUILD = os.path.join(ROOT, "build")
FRAZIL = os.path.abspath(os.environ.get("FRAZIL", os.path.join(BUILD, "frazil")))
ROWS = int(os.environ.get("E2E_ROWS", "100000"))
SEED = int(os.environ.get("E2E_SEED", str(int(time.time()))))
DIR = os.path.abspath(os.environ.get("E2E_DIR", os.path.join(BUILD, "e2e")))

ORDERS = {"type": "record", "name": "Order", "namespace": "shop", "fields": [
    {"name": "order_id", "type": "long"}, {"name": "customer_id", "type": "string"},
    {"name": "product", "type": "string"}, {"name": "quantity", "type": "int"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "currency", "type": "string"}, {"name": "status", "type": "string"},
    {"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}


class Tally:
    """Counts checks; a failed one is printed and the script goes on."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        print("%s %s%s" % ("ok  " if good else "FAIL", what, ": %s" % (detail,) if detail != "" and not good else ""), flush=True)
        return good

    def equal(self, what, found, wanted):
        return self.check(what, found == wanted, "found %r, wanted %r" % (found, wanted))

    def close(self):
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0


class Service:
    """A service of tests/services; `with Service("kafka") as k`. `address` is what its clients are told."""

    def __init__(self, name):
        self.name, self.address = name, None
        self.script = os.path.join(ROOT, "tests", "services", "svc.sh")
        self.svc = os.path.abspath(os.environ.get("SVC", os.path.join(BUILD, "svc")))
        self.env = dict(os.environ, SVC=self.svc, PORT_BASE=os.environ.get("E2E_PORT_BASE", "27000"))

    def start(self):
        p = subprocess.run([self.script, self.name], env=self.env, check=True, text=True, stdout=subprocess.PIPE)
        self.address = p.stdout.split()[-1]

    def stop(self):
        if os.path.exists(os.path.join(self.svc, self.name + ".pid")):
            subprocess.run([self.script, "down", self.name], env=self.env, check=False)

    def __enter__(self):
        self.stop()
        shutil.rmtree(os.path.join(self.svc, self.name), ignore_errors=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class Kafka(Service):
    """A broker with an empty log."""

    def __init__(self):
        super().__init__("kafka")

    @property
    def bootstrap(self):
        return self.address

    def create(self, topic, partitions, **config):
        from confluent_kafka.admin import AdminClient, NewTopic
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_topics([NewTopic(topic, partitions, replication_factor=1, config=config)]).values():
            future.result(60)
        while topic not in admin.list_topics(timeout=20).topics:
            time.sleep(0.1)

    def ends(self, topic, partitions):
        """-> {partition: next offset}"""
        from confluent_kafka import Consumer, TopicPartition
        c = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "ends"})
        out = {p: c.get_watermark_offsets(TopicPartition(topic, p), timeout=20)[1] for p in range(partitions)}
        c.close()
        return out


class Apicurio(Service):
    """The real registry, with the part of the double's interface that needs no faults."""

    def __init__(self):
        super().__init__("registry")

    @property
    def url(self):
        return self.address

    def register(self, subject, schema, schema_type="AVRO", references=()):
        body = json.dumps({"schema": json.dumps(schema), "schemaType": schema_type, "references": list(references)}).encode()
        request = urllib.request.Request("%s/subjects/%s/versions" % (self.url, subject), body,
                                         {"Content-Type": "application/vnd.schemaregistry.v1+json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["id"]


def schema_registry():
    """the registry double, or what E2E_REGISTRY says"""
    import registry
    return Apicurio() if os.environ.get("E2E_REGISTRY") == "apicurio" else registry.Registry()


def generate(kafka, topic, rows, start, schema_id, partitions=4, workload="w1"):
    """start the load generator -> process"""
    program = os.path.join(BUILD, "bench_gen")
    return subprocess.Popen([program, kafka.bootstrap, topic, workload, str(rows), str(partitions), str(schema_id), str(start)],
                            stdout=subprocess.DEVNULL)


def produce(*args, **more):
    assert generate(*args, **more).wait(600) == 0, "the load generator failed"


class Frazil:
    """The program in its own folder, with one configuration file."""

    def __init__(self, directory, config):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        self.directory, self.runs = directory, 0
        with open(os.path.join(directory, "frazil.yaml"), "w", encoding="utf-8") as f:
            f.write(config)

    def start(self, *args):
        """-> process; its output goes to files named by the number of the run"""
        self.runs += 1
        out = open(os.path.join(self.directory, "run-%02d.stdout" % self.runs), "wb")
        err = open(os.path.join(self.directory, "run-%02d.stderr" % self.runs), "wb")
        with out, err:
            return subprocess.Popen([FRAZIL, *args], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def run(self, *args, timeout=600):
        """-> (exit code, last line of standard output as JSON or None, standard error)"""
        p = self.start(*args)
        try:
            code = p.wait(timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            code = None
        stem = os.path.join(self.directory, "run-%02d." % self.runs)
        with open(stem + "stdout", encoding="utf-8") as out, open(stem + "stderr", encoding="utf-8", errors="replace") as err:
            lines, errors = out.read().strip().splitlines(), err.read()
        try:
            report = json.loads(lines[-1]) if lines else None
        except ValueError:
            report = None
        return code, report, errors

    def once(self, timeout=600):
        """one pass -> (exit code, {topic: report}, standard error)"""
        code, report, errors = self.run("run", "--once", "-c", "frazil.yaml", "-o", "json", timeout=timeout)
        return code, {t["topic"]: t for t in (report or {}).get("topics", [])}, errors

    def table(self, name):
        """the table as PyIceberg finds it in the SQL catalog"""
        from pyiceberg.catalog.sql import SqlCatalog
        catalog = SqlCatalog("frazil", uri="sqlite:///%s/warehouse/catalog.db" % self.directory)
        return catalog.load_table(name)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


# ------------------------------------------------------------------------------- the rows of bench/gen.c, once more

MASK = (1 << 64) - 1
CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CHF")
STATUSES = ("NEW", "PAID", "SHIPPED", "DELIVERED", "CANCELLED")
ADJECTIVES = ("Compact", "Wireless", "Ergonomic", "Stainless", "Portable", "Premium", "Organic", "Heavy-Duty", "Classic", "Smart")
NOUNS = ("Keyboard", "Headphones", "Backpack", "Water Bottle", "Desk Lamp", "Notebook", "Charger", "Coffee Mug", "Monitor Arm", "Speaker")


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def order(i):
    """row i as (order_id, customer_id, product, quantity, price in cents, currency, status, event time in ms)"""
    h = mix(i)
    g, product = mix(h), (h >> 20) % 100
    return (100000000 + i, "CUST-%07d" % (h % 50000), "%s %s" % (ADJECTIVES[product // 10], NOUNS[product % 10]), 1 + (h >> 32) % 20,
            99 + g % 999900, CURRENCIES[(h >> 40) % 5], STATUSES[(h >> 48) % 5], 1767225600000 + i * 3 + (g >> 40) % 1000)


def order_rows(table):
    """Arrow table of orders -> list of tuples as order() makes them"""
    import pyarrow as pa
    cents = [int(v.scaleb(2)) for v in table["price"].to_pylist()]
    micros = table["event_time"].cast(pa.int64()).to_pylist()
    columns = [table[n].to_pylist() for n in ("order_id", "customer_id", "product", "quantity", "currency", "status")]
    return [(a, b, c, d, p, e, f, t // 1000) for a, b, c, d, e, f, p, t in zip(*columns, cents, micros)]


def coordinates(table):
    """Arrow table with a _kafka column -> list of (partition, offset)"""
    k = table["_kafka"].combine_chunks()
    return list(zip(k.field("partition").to_pylist(), k.field("offset").to_pylist()))


def judge(tally, metadata, rows, engines="pyiceberg,duckdb,polars"):
    """independent engines and own checks of every file and number in the metadata"""
    python = os.path.join(os.environ.get("VENVS", os.path.join(BUILD, "venv")), "judge", "bin", "python")
    script = os.path.join(ROOT, "tests", "judge", "judge.py")
    p = subprocess.run([python, script, metadata, "--engines", engines, "--expect-rows", str(rows), "--quiet"], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(p.stdout.rstrip().replace("\n", "\n    ").join(["    ", ""]), flush=True)
    return tally.check("judge: %s read the same rows" % engines, p.returncode == 0, p.stdout.strip().splitlines()[-1:])


def prune(tally, metadata, where):
    """a filter reads fewer files"""
    python = os.path.join(os.environ.get("VENVS", os.path.join(BUILD, "venv")), "judge", "bin", "python")
    p = subprocess.run([python, os.path.join(ROOT, "tests", "judge", "prune.py"), metadata, where], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("    " + p.stdout.rstrip().replace("\n", "\n    "), flush=True)
    return tally.check("prune: %s reads fewer files" % where, p.returncode == 0)


# ------------------------------------------------------------------- records that the load generator does not make

def avro_long(v):
    u, out = (v << 1) ^ (v >> 63), bytearray()
    u &= MASK
    while u > 127:
        out.append(u & 127 | 128)
        u >>= 7
    return bytes([*out, u])


def avro_bytes(v):
    data = v.encode() if isinstance(v, str) else v
    return avro_long(len(data)) + data


def avro_order(i, schema_id, more=b""):
    """row i in Confluent framing; `more` are the encoded fields that a later schema has at its end"""
    a, b, c, d, cents, e, f, t = order(i)
    price = cents.to_bytes(cents.bit_length() // 8 + 1, "big")
    return (b"\0" + schema_id.to_bytes(4, "big") + avro_long(a) + avro_bytes(b) + avro_bytes(c) + avro_long(d) + avro_bytes(price) +
            avro_bytes(e) + avro_bytes(f) + avro_long(t) + more)


def send(kafka, topic, values, partitions=1):
    """value number n goes to partition n % partitions"""
    from confluent_kafka import Producer
    failures, p = [], Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "log_level": 3})
    for n, value in enumerate(values):
        p.produce(topic, value, key=b"k", partition=n % partitions, on_delivery=lambda e, m: e and failures.append(e))
        p.poll(0)
    assert p.flush(60) == 0 and not failures, "not produced: %s" % failures[:3]
