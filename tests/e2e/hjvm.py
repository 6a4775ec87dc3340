#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As hfind.py, for Spark, Trino and Flink: `hjvm.py ENGINE METADATA < questions`.

E2E_JVM names the folder of tests/judge/jvm.sh, TRINO the address of a running server, FLINK_PORT a free port for a catalog to read through.
Spark runs in the venv of pyspark, the others in that of the judge.
"""
import glob, json, os, subprocess, sys, time, uuid

from hfind import bare, bare_sql, instant, nan, op, path, python_value

JVM = os.environ["E2E_JVM"]
HERE = os.path.dirname(os.path.abspath(__file__))


def civil(q):
    """YYYY-MM-DD HH:MM:SS.ffffff of a date or an instant"""
    at = instant(q["value"] * (86400000000 if q["type"] == "date" else 1))
    return "%04d-%02d-%02d %02d:%02d:%02d.%06d" % (at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)


def quoted(text):
    return "'%s'" % text.replace("'", "''")


class Spark:
    def __init__(self, metadata):
        from pyspark.sql import SparkSession
        jars = ",".join(sorted(glob.glob(os.path.join(JVM, "spark-jars", "*.jar"))))
        b = SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
        b = b.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "1").config("spark.driver.bindAddress", "127.0.0.1")
        self.session = b.config("spark.driver.host", "127.0.0.1").getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.frame = self.session.read.format("iceberg").load(metadata)

    def literal(self, q):
        kind, v = q["type"], q["value"]
        if kind == "string":
            return "decode(X'%s', 'UTF-8')" % v.encode().hex()
        if kind in ("binary", "fixed[4]"):
            return "X'%s'" % v
        if kind == "uuid":
            return quoted(v)
        if kind in ("float", "double"):
            return "cast(%s as %s)" % (quoted({"inf": "Infinity", "-inf": "-Infinity"}.get(v, v)), kind)
        if kind.startswith("decimal"):
            return "cast('%s' as %s)" % (v, kind)
        if kind == "date":
            return "date_from_unix_date(%d)" % v
        if kind in ("timestamp", "timestamptz"):
            return "timestamp_micros(%d)" % v if kind == "timestamptz" else "cast(timestamp_micros(%d) as timestamp_ntz)" % v
        return "cast('%s' as %s)" % (v, "bigint" if kind == "long" else kind) if not isinstance(v, bool) else str(v)

    def ask(self, q):
        if op(q) == "all":
            where = "true"
        elif bare(q):
            where = bare_sql(q, "`")
        else:
            where = "isnan(%s)" % path(q, "`") if nan(q) else "%s %s %s" % (path(q, "`"), op(q), self.literal(q))
        return [r.id for r in self.frame.where(where).select("id").collect()]


class Trino:
    def __init__(self, metadata):
        import trino, urllib.parse
        u = urllib.parse.urlparse(os.environ["TRINO"])
        self.cursor = trino.dbapi.connect(host=u.hostname, port=u.port, user="judge", catalog="ice", schema="s", timezone="UTC").cursor()
        self.name = "t" + uuid.uuid4().hex
        with open(metadata, encoding="utf-8") as f:
            location = json.load(f)["location"]
        self.run("call ice.system.register_table('s', '%s', '%s', '%s')" % (self.name, location, os.path.basename(metadata)))

    def run(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchall()

    def literal(self, q):
        kind, v = q["type"], q["value"]
        if kind == "string":
            return "from_utf8(X'%s')" % v.encode().hex()
        if kind in ("binary", "fixed[4]"):
            return "X'%s'" % v
        if kind in ("float", "double"):
            return "cast('%s' as %s)" % ({"inf": "Infinity", "-inf": "-Infinity"}.get(v, v), "real" if kind == "float" else kind)
        if kind.startswith("decimal") or kind == "uuid":
            return "cast('%s' as %s)" % (v, kind)
        if kind == "date":
            return "date '%s'" % civil(q)[:10]
        if kind in ("timestamp", "timestamptz"):
            return "timestamp '%s%s'" % (civil(q), " UTC" if kind == "timestamptz" else "")
        if kind in ("timestamp_ns", "timestamptz_ns"):
            micros = civil(dict(q, type="timestamp", value=q["value"] // 1000))
            return "timestamp '%s%03d%s'" % (micros, q["value"] % 1000, " UTC" if kind == "timestamptz_ns" else "")
        if kind == "time":
            return "time '%s'" % python_value(q).isoformat(timespec="microseconds")
        return "cast('%s' as %s)" % (v, "bigint" if kind == "long" else kind) if not isinstance(v, bool) else str(v)

    def ask(self, q):
        if op(q) == "all":
            where = "true"
        elif bare(q):
            where = bare_sql(q)
        else:
            where = "is_nan(%s)" % path(q, '"') if nan(q) else "%s %s %s" % (path(q, '"'), op(q), self.literal(q))
        return [r[0] for r in self.run('select id from "%s" where %s' % (self.name, where))]

    def close(self):
        self.run("call ice.system.unregister_table('s', '%s')" % self.name)


class Flink:
    """one JVM answers all; the table is read through a REST catalog of one table"""

    def __init__(self, metadata):
        self.port = os.environ["FLINK_PORT"]
        rest = os.path.join(HERE, "..", "judge", "mini_rest.py")
        self.rest = subprocess.Popen([sys.executable, rest, self.port, "s.t=" + metadata], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
        time.sleep(1)

    def literal(self, q):
        kind, v = q["type"], q["value"]
        if kind == "string":
            return "decode(x'%s', 'UTF-8')" % v.encode().hex() if v else "''"
        if kind in ("binary", "fixed[4]", "uuid"):
            return "cast(x'%s' as %s)" % (v.replace("-", ""), "varbinary" if kind == "binary" else "binary(4)" if kind == "fixed[4]" else "binary(16)")
        if kind in ("float", "double"):
            return "cast('%s' as %s)" % ({"inf": "Infinity", "-inf": "-Infinity"}.get(v, v), kind)
        if kind.startswith("decimal"):
            return "cast('%s' as %s)" % (v, kind)
        if kind == "date":
            return "date '%s'" % civil(q)[:10]
        if kind in ("timestamp", "timestamptz"):
            return "cast('%s' as %s)" % (civil(q), "timestamp(6)" if kind == "timestamp" else "timestamp_ltz(6)")
        if kind == "time":
            return "time '%s'" % python_value(q).isoformat()
        return "cast('%s' as %s)" % (v, "bigint" if kind == "long" else kind) if not isinstance(v, bool) else str(v)

    def condition(self, q):
        if op(q) == "all":
            return "true"
        return bare_sql(q, "`") if bare(q) else "%s %s %s" % (path(q, "`"), op(q), self.literal(q))

    def ask_all(self, questions):
        opens = ["--add-opens=java.base/%s=ALL-UNNAMED" % p for p in ("java.lang", "java.util", "java.nio", "java.time", "java.util.concurrent")]
        p = subprocess.run(["java", "-Xmx1g", *opens, "-Duser.timezone=UTC", "-cp", os.path.join(JVM, "flink", "jars", "*"),
                            os.path.join(HERE, "..", "judge", "FlinkRead.java"), "http://127.0.0.1:%s" % self.port], text=True, timeout=1500,
                           input="".join(self.condition(q).replace("\n", " ") + "\n" for q in questions), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [x for x in p.stdout.splitlines() if x.startswith(("ids", "error "))]
        if len(lines) != len(questions):
            raise RuntimeError("Flink ended with %d: %s" % (p.returncode, (p.stdout + p.stderr)[-500:]))
        return [{"ids": [int(i) for i in x.split()[1:]]} if x.startswith("ids") else {"error": x[6:300]} for x in lines]

    def close(self):
        self.rest.terminate()
        self.rest.wait()


def ask(engine, q):
    try:
        return {"ids": engine.ask(q)}
    except Exception as e:
        return {"error": "%s: %s" % (type(e).__name__, " ".join(str(e).split())[:300])}


def main():
    questions = json.load(sys.stdin)
    engine = {"spark": Spark, "trino": Trino, "flink": Flink}[sys.argv[1]](sys.argv[2])
    try:
        answers = engine.ask_all(questions) if hasattr(engine, "ask_all") else [ask(engine, q) for q in questions]
    finally:
        if hasattr(engine, "close"):
            engine.close()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
