# SPDX-License-Identifier: Apache-2.0
"""The engines at hand: those of the judge's venv, and Spark, Trino and Flink where E2E_JVM names a folder that tests/judge/jvm.sh filled."""
import json, os, subprocess, time

import htables
from harness import DIR, ROOT

JUDGE = os.path.join(ROOT, "tests", "judge")


def available():
    names = list(htables.ENGINES)
    if "E2E_JVM" in os.environ:
        wanted = os.environ.get("E2E_JVM_ENGINES", "spark,trino,flink").split(",")
        names += wanted
    return names


class running:
    """with running(names) as r: r.find(engine, metadata, questions), r.judge(tally, table, metadata)"""

    def __init__(self, names):
        self.names, self.trino, self.log = names, None, None
        self.jvm = os.environ.get("E2E_JVM", "")
        self.port = int(os.environ.get("E2E_PORT_BASE", "27000")) + 60

    def __enter__(self):
        if "trino" in self.names:
            os.makedirs(DIR, exist_ok=True)
            self.log = open(os.path.join(DIR, "trino.log"), "w+b")
            self.trino = subprocess.Popen([os.path.join(JUDGE, "jvm.sh"), "trino", self.jvm, str(self.port)], stdin=subprocess.DEVNULL, stdout=self.log,
                                          stderr=subprocess.STDOUT)
            self.wait_for_trino()
        return self

    def __exit__(self, *_):
        if self.trino:
            self.trino.terminate()
            try:
                self.trino.wait(30)
            except subprocess.TimeoutExpired:
                self.trino.kill()
                self.trino.wait()
            self.log.close()

    @property
    def trino_url(self):
        return "http://127.0.0.1:%d" % self.port

    def wait_for_trino(self):
        for _ in range(180):
            if self.trino.poll() is not None:
                raise RuntimeError("Trino ended, see %s" % self.log.name)
            with open(self.log.name, "rb") as f:
                if b"TRINO READY" in f.read():
                    return
            time.sleep(1)
        raise RuntimeError("Trino is not ready, see %s" % self.log.name)

    def find(self, engine, metadata, questions):
        env = dict(os.environ, E2E_JVM=self.jvm, TRINO=self.trino_url, FLINK_PORT=str(self.port + 1))
        python = os.path.join(self.jvm, "spark", "bin", "python") if engine == "spark" else htables.python()
        script = "hjvm.py" if engine in ("spark", "trino", "flink") else "hfind.py"
        p = subprocess.run([python, os.path.join(ROOT, "tests", "e2e", script), engine, metadata.removeprefix("file://")], text=True, env=env,
                           input=json.dumps(questions), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1800)
        try:
            return json.loads(p.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            return [{"error": "%s ended with %d: %s" % (engine, p.returncode, p.stderr[-300:])}] * len(questions)

    def judge(self, tally, t, metadata):
        """all engines that the judge knows; it skips by itself what an engine of the pins cannot do"""
        names = [n for n in self.names if n != "flink" and n not in t.skips]
        more = ["--trino", self.trino_url] if "trino" in names else []
        if "spark" in names:
            more += ["--spark", "--spark-python", os.path.join(self.jvm, "spark", "bin", "python"), "--spark-jars", os.path.join(self.jvm, "spark-jars")]
        python = [n for n in names if n in htables.ENGINES]
        htables.judge(tally, t.label, metadata, t.count, "--strict", engines=python)
        if more:
            htables.judge(tally, t.label, metadata, t.count, *more, engines=[n for n in names if n in ("spark", "trino")])
        if "flink" in self.names and "flink" not in t.skips:
            answer = self.find("flink", metadata, [{"column": "id", "type": "long", "op": "all"}])[0]
            tally.check("%s: flink finds each row once" % t.label, sorted(answer.get("ids", [])) == list(range(t.count)), answer)
