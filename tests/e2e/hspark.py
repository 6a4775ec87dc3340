# SPDX-License-Identifier: Apache-2.0
"""Spark as somebody else at the table: a process of its own that takes SQL over a pipe and finds tables in the same SQLite catalog."""
import glob, json, os, subprocess, sys

BUILD = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build")
JARS = os.environ.get("SPARK_JARS", os.path.join(BUILD, "svc", "spark-lib"))
CATALOG = "spark.sql.catalog.frazil"


class Spark:
    """`with Spark(DIRECTORY) as s: s.sql("alter table frazil.default.t ...")`; DIRECTORY is where the program runs"""

    def __init__(self, directory):
        self.directory = directory

    def __enter__(self):
        python = os.path.join(os.environ.get("VENVS", os.path.join(BUILD, "venv")), "spark", "bin", "python")
        log = open(os.path.join(self.directory, "spark.log"), "wb")
        with log:
            self.process = subprocess.Popen([python, os.path.abspath(__file__), self.directory], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.answer() == "ready", "spark did not start, see %s" % log.name
        return self

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "spark has ended"}

    def sql(self, text):
        """-> rows as lists; RuntimeError with Spark's message"""
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["rows"]

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def session(directory):
    from pyspark.sql import SparkSession
    warehouse = os.path.join(directory, "warehouse")
    settings = {"spark.jars": ",".join(sorted(glob.glob(JARS + "/*.jar"))), "spark.ui.enabled": "false", "spark.driver.memory": "1g",
                "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2", "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1", "spark.local.dir": os.path.join(directory, "spark-local"),
                "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                CATALOG: "org.apache.iceberg.spark.SparkCatalog", CATALOG + ".type": "jdbc", CATALOG + ".cache-enabled": "false",
                CATALOG + ".uri": "jdbc:sqlite:%s/catalog.db?busy_timeout=10000" % warehouse, CATALOG + ".warehouse": warehouse}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def serve():
    """a line of JSON with a statement in, a line of JSON out"""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = session(sys.argv[1])

    def say(answer):
        out.write(json.dumps(answer, default=str) + "\n")
        out.flush()

    say("ready")
    for line in sys.stdin:
        try:
            say({"rows": [list(row) for row in spark.sql(json.loads(line)).collect()]})
        except Exception as e:
            say({"error": "%s: %s" % (type(e).__name__, str(e)[:2000])})
    spark.stop()


if __name__ == "__main__":
    serve()
