#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Orders through a real broker, the service killed five times at random, then one pass to the end: every record once.

Afterwards the ledger (each partition and offset once), every value of every row, three independent engines, file pruning, a second
pass that finds nothing to do, and a service that is stopped politely.
"""
import os, random, signal, sys, time

import harness
from harness import DIR, ROWS, SEED, Frazil, Kafka, Tally, coordinates, generate, judge, kill, order, order_rows, produce, prune

PARTITIONS, KILLS = 4, 5
CONFIG = """
kafka:
  bootstrap_servers: %s
schema_registry:
  url: %s
server:
  listen: off
tableflow:
  topic: orders
  partitioning: [ "day(event_time)" ]
  commit_interval: 500ms
"""


def read(frazil):
    return frazil.table("default.orders").scan().to_arrow()


def killed(tally, kafka, frazil, schema_id, slices):
    """the service is killed at random while rows arrive; -> next row"""
    rng, start = random.Random(SEED), 0
    for _ in range(KILLS):
        load = generate(kafka, "orders", slices, start, schema_id)
        service = frazil.start("run", "-c", "frazil.yaml")
        time.sleep(rng.uniform(0.3, 4.0))
        tally.check("the service is up when it is killed", service.poll() is None, "exit code %s" % service.returncode)
        kill(service)
        assert load.wait(600) == 0, "the load generator failed"
        start += slices
    return start


def whole(tally, kafka, frazil, rows):
    """the table holds rows 0 to rows - 1, each once, with the coordinates that the log has"""
    table = read(frazil)
    ends = kafka.ends("orders", PARTITIONS)
    tally.equal("rows in the table", table.num_rows, rows)
    found = coordinates(table)
    tally.equal("ledger: no (partition, offset) twice", len(found) - len(set(found)), 0)
    tally.equal("ledger: no (partition, offset) missing", len({(p, o) for p, end in ends.items() for o in range(end)} - set(found)), 0)
    wrong = [(a, b) for a, b in zip(sorted(order_rows(table)), map(order, range(rows))) if a != b]
    tally.equal("values that differ from what was produced", wrong[:3], [])
    return ends


def polite(tally, kafka, frazil, schema_id, start, rows):
    """SIGTERM: what was fetched is committed, exit code 0"""
    service = frazil.start("run", "-c", "frazil.yaml")
    began = time.monotonic()
    produce(kafka, "orders", rows, start, schema_id)
    while time.monotonic() - began < 90 and service.poll() is None and read(frazil).num_rows < start + rows:
        time.sleep(0.5)
    tally.equal("the running service shows new rows", read(frazil).num_rows, start + rows)
    service.send_signal(signal.SIGTERM)
    try:
        code = service.wait(60)
    except Exception:
        kill(service)
        code = "none within 60 s"
    tally.equal("exit code after SIGTERM", code, 0)
    return start + rows


def main():
    print("rows %d, seed %d, %s" % (ROWS, SEED, harness.FRAZIL), flush=True)
    tally = Tally()
    with Kafka() as kafka, harness.schema_registry() as registry:
        kafka.create("orders", PARTITIONS)
        schema_id = registry.register("orders-value", harness.ORDERS)
        frazil = Frazil(os.path.join(DIR, "exactly_once"), CONFIG % (kafka.bootstrap, registry.url))
        start = killed(tally, kafka, frazil, schema_id, ROWS // (KILLS + 2))
        produce(kafka, "orders", ROWS - start, start, schema_id)

        code, topics, errors = frazil.once()
        report = topics.get("orders", {})
        if not tally.equal("exit code of run --once", code, 0) or not tally.check("a report", report):
            print(errors[-2000:])
            return tally.close()
        tally.equal("state", report["state"], "done")
        tally.check("kills left work undone or done in part", 0 < report["rows"] <= ROWS, report["rows"])
        print("    the last pass committed %d of %d rows" % (report["rows"], ROWS), flush=True)
        ends = whole(tally, kafka, frazil, ROWS)
        tally.equal("watermark", report["watermark"], {str(p): end for p, end in ends.items()})
        metadata = report["metadata_location"].removeprefix("file://")
        judge(tally, metadata, ROWS)
        prune(tally, metadata, "event_time >= '%s+00:00'" % time.strftime(
            "%Y-%m-%dT%H:%M:%S", time.gmtime(1767225600 + ROWS * 3 // 1000 - 5)))

        code, topics, _ = frazil.once()
        again = topics.get("orders", {})
        tally.equal("a second pass: exit code, rows, watermark", (code, again.get("rows"), again.get("watermark")), (0, 0, report["watermark"]))
        total = polite(tally, kafka, frazil, schema_id, ROWS, 2000)
        whole(tally, kafka, frazil, total)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
