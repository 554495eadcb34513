"""Makes the packaged dumps from the recorded states: `python tests/golden/make_sample.py` in the project's folder.

kreplica/data/sample          one snapshot: kafka-4.3.1, state 2-broker-killed
kreplica/data/sample-healthy  one of the same cluster before: state 1-healthy
kreplica/data/fleet           twelve: six states of kafka-4.3.1 and six of kafka-3.9.2, for an audit over time

A snapshot joins what Kafka's tools printed (topics-describe.txt, configs-*.txt) with what the brokers answered an admin
client in the same state (api-responses.json). Nothing is invented; only the racks of the samples have shorter names, r1
for rack-a and so on. The two were asked a few seconds apart; where they do not tell the same replicas, leaders and
ISRs, this script stops.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kreplica.model.snapshot import ClusterSnapshot, controller_of
from kreplica.model.tables.schema import BROKERS, CONFIGS, LOG_DIRS, PARTITIONS, QUORUM, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.text import DumpText
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parent
DATA = GOLDEN.parent.parent / "kreplica" / "data"
SAMPLES = {"sample": "2-broker-killed", "sample-healthy": "1-healthy"}
SAMPLE_RACKS = {"rack-a": "r1", "rack-b": "r2", "rack-c": "r3"}
STATES = ("1-healthy", "2-broker-killed", "3-broker-back", "4-reassigning", "5-elected", "6-before-kill")

# ZooKeeper mode has no quorum whose answer carries a time: the newest change of a znode in that state (kafka-3.9.2's
# znodes.json, of which only 2-broker-killed is kept here).
ZOOKEEPER_TIMES = {
    "1-healthy": "2026-11-21T07:02:32.116Z",
    "2-broker-killed": "2026-11-21T07:04:00.340Z",
    "3-broker-back": "2026-11-21T07:04:53.907Z",
    "4-reassigning": "2026-11-21T07:05:29.716Z",
    "5-elected": "2026-11-21T07:06:01.270Z",
    "6-before-kill": "2026-11-21T07:06:55.873Z",
}
# Not every state has its own listing of settings; none changed in between, but for throttles.
TOPIC_SETTINGS_OF = {"3-broker-back": "2-broker-killed", "6-before-kill": "5-elected"}
# Both clusters' README: static settings of the brokers. 4.3.1 with ELR turns min.insync.replicas into a dynamic default
# (configs-brokers.txt).
BROKER_SETTINGS = {"file.delete.delay.ms": "broker-static", "segment.index.bytes": "broker-static"}
MIN_ISR_ORIGIN = {"kafka-4.3.1": "cluster-dynamic", "kafka-3.9.2": "broker-static"}


def tool_output(path: Path) -> str:
    """What a tool wrote to standard output; the recordings carry standard error behind a line `[stderr]`."""
    return path.read_text(encoding="utf-8").partition("\n[stderr]\n")[0]


def recorded_snapshot(cluster: str, state: str, name: str = "") -> ClusterSnapshot:
    """One recorded state as the snapshot that a live source could have read."""
    folder = GOLDEN / cluster / state
    answers = json.loads((folder / "api-responses.json").read_text(encoding="utf-8"))
    text = read_describe_text(DumpText(cluster, tool_output(folder / "topics-describe.txt"), _taken_at(state, answers)))
    features = {feature: levels["finalized"][1] for feature, levels in answers["describe_features"].items()}
    quorum = _quorum(answers)
    return replace(
        text,
        cluster_id=answers["describe_cluster"]["cluster_id"],
        name=name or cluster,
        source="kafka",
        controller=controller_of(answers["describe_cluster"]["controller_id"], features, quorum),
        features=features,
        partitions=_partitions(text, answers),
        brokers=_brokers(answers, folder),
        log_dirs=_log_dirs(answers),
        replicas=_replicas(answers),
        configs=_configs(text, cluster, state),
        quorum=quorum,
    )


def _taken_at(state: str, answers: dict[str, Any]) -> datetime:
    quorum = _quorum_partition(answers)
    if quorum is None:
        return datetime.fromisoformat(ZOOKEEPER_TIMES[state])
    leader = next(voter for voter in quorum["current_voters"] if voter["replica_id"] == quorum["leader_id"])
    seconds, milliseconds = divmod(leader["last_fetch_timestamp"], 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)


def _quorum_partition(answers: dict[str, Any]) -> dict[str, Any] | None:
    topics = answers["describe_metadata_quorum"].get("topics")
    return topics[0]["partitions"][0] if topics else None


def _partitions(text: ClusterSnapshot, answers: dict[str, Any]) -> Table:
    answered = {
        (topic["name"], row["partition_index"]): row
        for topic in answers["describe_topics"]
        for row in topic["partitions"]
    }
    rows = list(text.partitions.rows())
    if len(rows) != len(answered):
        raise SystemExit(f"the tool printed {len(rows)} partitions, the brokers answered {len(answered)}")
    for row in rows:
        other = answered[row["topic"], row["partition"]]
        printed = (row["leader"], row["replicas"], set(row["isr"]))
        if printed != (other["leader_id"], other["replica_nodes"], set(other["isr_nodes"])):
            raise SystemExit(f"tool and brokers differ on {row['topic']}-{row['partition']}: {printed}, {other}")
        row["leader_epoch"] = other["leader_epoch"]
        row["offline_replicas"] = other["offline_replicas"]
    return Table.from_rows(PARTITIONS, rows)


def _brokers(answers: dict[str, Any], folder: Path) -> Table:
    listed = answers["describe_cluster"]["brokers"]
    rows = [
        {
            "broker": broker["broker_id"],
            "host": broker["host"],
            "port": broker["port"],
            "rack": broker["rack"],
            "fenced": broker.get("is_fenced"),
            "alive": not broker.get("is_fenced"),
        }
        for broker in listed
    ]
    # ZooKeeper mode lists live brokers only; the dead one's rack is that of the first state.
    known = {broker["broker_id"] for broker in listed}
    first = json.loads((folder.parent / STATES[0] / "api-responses.json").read_text(encoding="utf-8"))
    for broker in first["describe_cluster"]["brokers"]:
        if broker["broker_id"] not in known:
            rows.append({"broker": broker["broker_id"], "rack": broker["rack"], "alive": False})
    return Table.from_rows(BROKERS, rows)


def _log_dirs(answers: dict[str, Any]) -> Table:
    rows = [
        {
            "broker": broker["broker"],
            "path": folder["log_dir"],
            "total_bytes": folder["total_bytes"],
            "usable_bytes": folder["usable_bytes"],
        }
        for broker in answers["describe_log_dirs"]
        for folder in broker["log_dirs"]
    ]
    return Table.from_rows(LOG_DIRS, rows)


def _replicas(answers: dict[str, Any]) -> Table:
    rows = [
        {
            "topic": topic["name"],
            "partition": copy["partition_index"],
            "broker": broker["broker"],
            "log_dir": folder["log_dir"],
            "size": copy["partition_size"],
            "offset_lag": copy["offset_lag"],
            "future": copy["is_future_key"],
        }
        for broker in answers["describe_log_dirs"]
        for folder in broker["log_dirs"]
        for topic in folder["topics"]
        for copy in topic["partitions"]
    ]
    return Table.from_rows(REPLICAS, rows)


def _configs(text: ClusterSnapshot, cluster: str, state: str) -> Table:
    own = _own_settings(GOLDEN / cluster / TOPIC_SETTINGS_OF.get(state, state))
    broker_settings = {**BROKER_SETTINGS, "min.insync.replicas": MIN_ISR_ORIGIN[cluster]}
    rows = list(text.configs.rows())
    for row in rows:
        key = (row["entity"], row["name"])
        row["origin"] = "topic" if key in own else broker_settings[str(row["name"])]
    return Table.from_rows(CONFIGS, rows)


def _own_settings(folder: Path) -> set[tuple[object, object]]:
    """Topic and name of each setting that `kafka-configs --describe --entity-type topics` lists."""
    listing = folder / "configs-topics.txt"
    if not listing.exists():
        listing = folder / "configs-topics-throttled.txt"
    found: set[tuple[object, object]] = set()
    topic = ""
    for line in tool_output(listing).splitlines():
        if heading := re.match(r"Dynamic configs for topic (\S+) are:", line):
            topic = heading[1]
        elif setting := re.match(r"  ([a-z.]+)=", line):
            found.add((topic, setting[1]))
    return found


def _quorum(answers: dict[str, Any]) -> Table:
    quorum = _quorum_partition(answers)
    if quorum is None:
        return Table.empty(QUORUM)
    nodes = [(True, node) for node in quorum["current_voters"]] + [(False, node) for node in quorum["observers"]]
    rows = [
        {
            "node": node["replica_id"],
            "voter": voter,
            "leader": node["replica_id"] == quorum["leader_id"],
            "log_end_offset": node["log_end_offset"],
            "last_fetch_ms": node["last_fetch_timestamp"],
            "last_caught_up_ms": node["last_caught_up_timestamp"],
        }
        for voter, node in nodes
    ]
    return Table.from_rows(QUORUM, rows)


def with_short_racks(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same cluster, its racks named as SAMPLE_RACKS has them."""
    rows = [{**row, "rack": SAMPLE_RACKS[str(row["rack"])]} for row in snapshot.brokers.rows()]
    return replace(snapshot, brokers=Table.from_rows(BROKERS, rows))


def main() -> None:
    """Writes the packaged dumps anew, or those named on the command line."""
    wanted = sys.argv[1:] or [*SAMPLES, "fleet"]
    for folder in wanted:
        shutil.rmtree(DATA / folder, ignore_errors=True)
    for name, state in SAMPLES.items():
        if name in wanted:
            write_snapshot(with_short_racks(recorded_snapshot("kafka-4.3.1", state, name)), DATA / name)
    if "fleet" not in wanted:
        return
    for cluster in ("kafka-4.3.1", "kafka-3.9.2"):
        for state in STATES:
            write_snapshot(recorded_snapshot(cluster, state), DATA / "fleet")


if __name__ == "__main__":
    main()
