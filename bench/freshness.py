# SPDX-License-Identifier: Apache-2.0
"""How soon a record is a row: from its Kafka timestamp to the moment when another process finds it through the catalog."""
import os, signal, sqlite3, threading, time

import harness


class Watch(threading.Thread):
    """Polls the catalog; `seen` is [(time, metadata file)] as they came in sight."""

    def __init__(self, catalog):
        super().__init__(daemon=True)
        self.catalog, self.seen, self.ended = catalog, [], False

    def run(self):
        while not self.ended:
            try:
                with sqlite3.connect("file:%s?mode=ro" % self.catalog, uri=True, timeout=5) as db:
                    found = db.execute("select metadata_location from iceberg_tables").fetchone()
            except sqlite3.OperationalError:
                found = None # not there yet
            if found and (not self.seen or self.seen[-1][1] != found[0]):
                self.seen.append((time.time(), found[0]))
            time.sleep(0.01)

    def end(self):
        self.ended = True
        self.join()


def commits(watch):
    """[(time in sight, path of a new data file)]"""
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable
    io, known, out = PyArrowFileIO(), set(), []
    for when, metadata in watch.seen:
        table = StaticTable.from_metadata(metadata)
        for snapshot in table.metadata.snapshots:
            if snapshot.snapshot_id in known:
                continue
            known.add(snapshot.snapshot_id)
            for manifest in snapshot.manifests(io):
                if manifest.added_snapshot_id == snapshot.snapshot_id:
                    out += [(when, e.data_file.file_path) for e in manifest.fetch_manifest_entry(io) if e.snapshot_id == snapshot.snapshot_id]
    return out


def delays(watch, after):
    """seconds from the timestamp of each record later than `after` to the commit with its row"""
    import pyarrow as pa
    import pyarrow.parquet as pq
    out = []
    for when, path in commits(watch):
        column = pq.read_table(path.removeprefix("file://"), columns=["_kafka"]).column("_kafka").combine_chunks()
        stamps = column.field("timestamp").cast(pa.int64()).to_pylist()
        out += [when - s / 1e6 for s in stamps if s / 1e6 >= after]
    return sorted(out)


def run(kafka, registry, config, rate, seconds):
    """a topic with some rows, the program started on it, then `rate` rows a second -> dict"""
    kafka.create("fresh", 4)
    schema_id = registry.register("fresh-value", harness.ORDERS)
    harness.produce(kafka, "fresh", 5000, 0, schema_id)
    frazil = harness.Frazil(os.path.join(harness.BUILD, "bench"), config % (kafka.bootstrap, registry.url, "fresh"))
    watch = Watch(os.path.join(frazil.directory, "warehouse", "catalog.db"))
    watch.start()
    began = time.time()
    service = frazil.start("run", "-c", "frazil.yaml", "--commit-interval", "1s")
    try:
        time.sleep(4)
        os.environ["RATE"] = str(rate)
        loaded = time.time()
        harness.produce(kafka, "fresh", rate * seconds, 5000, schema_id)
        sent = time.time() - loaded
        time.sleep(3)
        service.send_signal(signal.SIGTERM)
        service.wait(30)
    finally:
        os.environ.pop("RATE", None)
        if service.poll() is None:
            harness.kill(service)
        watch.end()
    all_delays = delays(watch, loaded)
    first = next(when for when, _ in commits(watch)) - began
    return {"first_row_visible_s": round(first, 2), "rows": len(all_delays), "rows_per_second": round(rate * seconds / sent),
            "freshness_p50_s": round(all_delays[len(all_delays) // 2], 2),
            "freshness_p99_s": round(all_delays[int(len(all_delays) * 0.99)], 2)}
