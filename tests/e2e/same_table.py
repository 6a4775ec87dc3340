#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same records give the same table, however they were batched, and whoever read them.

One topic goes into five tables: in one pass; by one lane and by four; with quarter-second commits and kills; by small row groups, little memory
and another time zone; by two workers of one group that come, go and are killed. All rows with all columns must be equal.
"""
import os, sys, time

import pyarrow as pa
import pyarrow.compute as pc

import harness
from harness import DIR, ROWS, Frazil, Kafka, Tally, kill, produce

PARTITIONS = 4
CONFIG = """
kafka:
  bootstrap_servers: %(kafka)s
  group_id: same_%(name)s
schema_registry:
  url: %(registry)s
server:
  listen: off
threads: %(threads)d
memory_limit: %(memory)s
tableflow:
  topic: same
  partitioning: [ "day(event_time)", "bucket(3, customer_id)" ]
  commit_interval: %(interval)s
  row_group_size: %(group)s
"""


def content(frazil):
    """all rows with all columns, in the order of the log"""
    table = frazil.table("default.same").scan().to_arrow()
    keys = pa.table({k: pc.struct_field(table["_kafka"].combine_chunks(), k) for k in ("partition", "offset")})
    return table.take(pc.sort_indices(keys, sort_keys=[("partition", "ascending"), ("offset", "ascending")])).combine_chunks()


def make(name, kafka, registry, **change):
    settings = {"threads": 2, "memory": "256MiB", "interval": "60s", "group": "16MiB", "name": name, **change}
    return Frazil(os.path.join(DIR, "same_table", name), CONFIG % {"kafka": kafka.bootstrap, "registry": registry.url, **settings})


def finish(tally, name, frazil):
    code, topics, errors = frazil.once()
    if not tally.equal("%s: exit code of the last pass" % name, code, 0):
        print(errors[-1500:])
        return None
    return content(frazil)


def restarted(frazil):
    """short commits, killed three times"""
    for _ in range(3):
        service = frazil.start("run", "-c", "frazil.yaml")
        time.sleep(1.5)
        kill(service)


def shared(frazil):
    """two members of one group; one is killed, another joins"""
    members = [frazil.start("run", "-c", "frazil.yaml", "--log-level", "info") for _ in range(1)]
    with open(os.path.join(frazil.directory, "frazil.yaml"), encoding="utf-8") as f:
        text = f.read()
    for i in (1, 2):
        with open(os.path.join(frazil.directory, "member%d.yaml" % i), "w", encoding="utf-8") as f:
            f.write(text.replace("  group_id:", "  instance_id: member%d\n  group_id:" % i))
    time.sleep(1.0)
    members.append(frazil.start("run", "-c", "member1.yaml"))
    time.sleep(3.0)
    kill(members[0])
    members.append(frazil.start("run", "-c", "member2.yaml"))
    time.sleep(3.0)
    for m in members[1:]:
        kill(m)


def main():
    rows = min(ROWS, 60000)
    tally = Tally()
    with Kafka() as kafka, harness.schema_registry() as registry:
        kafka.create("same", PARTITIONS)
        schema_id = registry.register("same-value", harness.ORDERS)
        produce(kafka, "same", rows, 0, schema_id)
        found = {"one pass": finish(tally, "one pass", make("pass", kafka, registry))}
        found["one lane"] = finish(tally, "one lane", make("lane1", kafka, registry, threads=1))
        found["four lanes"] = finish(tally, "four lanes", make("lane4", kafka, registry, threads=4))
        frazil = make("killed", kafka, registry, interval="250ms")
        restarted(frazil)
        found["short commits and kills"] = finish(tally, "short commits and kills", frazil)
        os.environ["TZ"] = "America/New_York"
        found["little memory, New York"] = finish(
            tally, "little memory, New York", make("small", kafka, registry, memory="64MiB", group="64KiB", interval="1s"))
        del os.environ["TZ"]
        frazil = make("group", kafka, registry, interval="500ms")
        shared(frazil)
        found["two workers of a group"] = finish(tally, "two workers of a group", frazil)
        first = found["one pass"]
        tally.equal("rows", first is not None and first.num_rows, rows)
        for name, table in found.items():
            tally.check("%s: the same content" % name, table is not None and first is not None and table.equals(first))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
