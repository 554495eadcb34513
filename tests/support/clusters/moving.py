"""A cluster on paper that moves replicas as Kafka's controllers do; its state is a JSON file that outlives a kill.

A move in flight adds its replicas; each look at the cluster brings them nearer, and after so many looks it is over. A
cancelled move leaves the replicas before in the order of the merged assignment (KRaft), as real brokers do. Throttles
are a broker's own rates, the cluster's default and the lists of topics. Each broker has the log directories ``/d``,
where replicas are, and ``/e``; a replica asked for in the other one has a future copy there, which takes its place
after so many looks, and which is gone when the replica is asked for where it is. Real brokers are in tests/kafka.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusters.generated import snapshot_of
from kreplica.control.log_directories import DirectoryResult
from kreplica.control.reassign import CHANGED, ReassignmentResult
from kreplica.control.settings import EntityType, Operation, SettingChange, SettingResult
from kreplica.control.throttle import ListResult
from kreplica.engine.rules.controller.reassignment import kraft_merged
from kreplica.errors import UnreachableError
from kreplica.execution.elections import Outcome
from kreplica.execution.moves.clock import MACHINE_CLOCK, Clock
from kreplica.execution.plan import LeaderChange
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.throttles import DIRECTORY_RATE, parse_throttle_list
from kreplica.sources.kafka.configs import Setting
from kreplica.sources.kafka.log_dirs import BrokerLogs, LogDir, Replica
from kreplica.sources.kafka.reassignments import Move
from kreplica.sources.kafka.throttles import Throttles

SIZE, ROOM, LOOKS = 1000, 1_000_000, 3
PATHS = ("/d", "/e")

Key = tuple[str, int]


class MovingCluster:
    """Topic ``orders`` on brokers 1 to 5."""

    def __init__(self, path: Path, point: Callable[[str], None] = lambda _: None) -> None:
        self.path, self.point = path, point
        self.clock: Clock = MACHINE_CLOCK

    def start(self, *replicas: tuple[int, ...], **more: Any) -> None:
        """Partitions with these replicas, all in sync."""
        rows = {
            str(number): {"replicas": [*some], "isr": [*some], "leader": some[0]}
            for number, some in enumerate(replicas)
        }
        self.write({"rows": rows, "dead": [], "own": {}, "default": {}, "lists": {}, "asked": [], "worst": 0, **more})

    def write(self, state: Mapping[str, Any]) -> None:
        self.path.write_text(json.dumps(state))

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    def change(self, number: int, **fields: Any) -> None:
        state = self.read()
        state["rows"][str(number)] |= fields
        self.write(state)

    def set(self, **fields: Any) -> None:
        self.write({**self.read(), **fields})

    @property
    def replicas(self) -> list[tuple[int, ...]]:
        return [tuple(row["replicas"]) for row in self.read()["rows"].values()]

    @property
    def throttles_now(self) -> Any:
        state = self.read()
        return state["own"], state["default"], state["lists"]

    def snapshot(self) -> ClusterSnapshot:
        state = self.read()
        if state.get("silent"):
            raise UnreachableError("cannot reach the cluster")
        for number, row in state["rows"].items():
            self._go_on(state, int(number), row)
        for replica in list(state.get("future", {})):
            self._copy_on(state, replica)
        self.write(state)
        rows = [
            {
                "topic": "orders", "partition": int(number), "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "leader_epoch": 5,
                "min_isr": 1, "adding": row.get("adding", []), "removing": row.get("removing", []),
                **{name: row[name] for name in ("replicas", "isr", "leader")}, **row.get("more", {}),
            }
            for number, row in state["rows"].items()
        ]  # fmt: skip
        brokers = [{"broker": broker, "alive": broker not in state["dead"]} for broker in range(1, 6)]
        facts = {"source": "kafka"} if state.get("zookeeper") else {"features": {"metadata.version": 29}}
        return snapshot_of(rows, brokers, **facts)

    def ongoing(self, partitions: Collection[Key]) -> dict[Key, Move]:
        rows = self.read()["rows"]
        lists = ("replicas", "adding", "removing")
        found = {key: Move(*([*rows[str(key[1])].get(name, [])] for name in lists)) for key in partitions}
        return {key: move for key, move in found.items() if move.adding or move.removing}

    def _go_on(self, state: dict[str, Any], number: int, row: dict[str, Any]) -> None:
        if not row.get("adding") and not row.get("removing"):
            return
        if state["default"].get("check") and row["adding"]:
            self._require_throttled(state, number, row)
        if set(row["adding"]) & {*state["dead"]} or row.get("hangs"):
            return
        row["looks"] = row.get("looks", 0) + 1
        if row["looks"] < LOOKS:
            return
        row["replicas"] = [one for one in row["replicas"] if one not in row["removing"]]
        row["isr"] = [one for one in (*row["isr"], *row["adding"]) if one in row["replicas"]]
        if row["leader"] not in row["replicas"]:
            row["leader"] = row["replicas"][0]
        row |= {"adding": [], "removing": [], "looks": 0}

    @staticmethod
    def _copy_on(state: dict[str, Any], replica: str) -> None:
        """A future copy comes nearer, and takes the place of the other at last."""
        number, broker = replica.split("/")
        if broker in map(str, state["dead"]) or state["rows"][number].get("hangs"):
            return
        if state["default"].get("check"):
            assert state["own"].get(f"{broker}/{DIRECTORY_RATE}"), f"{replica} changes its directory without a rate"
        future = state["future"][replica]
        future["looks"] += 1
        if future["looks"] >= LOOKS:
            del state["future"][replica]
            state.setdefault("where", {})[replica] = future["path"]

    @property
    def where(self) -> dict[str, str]:
        """Log directory of each replica that is not in the first one, by partition and broker."""
        return {replica: path for replica, path in self.read().get("where", {}).items() if path != "/d"}

    @staticmethod
    def _require_throttled(state: dict[str, Any], number: int, row: dict[str, Any]) -> None:
        name = "follower.replication.throttled"
        listed = parse_throttle_list(state["lists"].get(f"{name}.replicas"))
        for broker in row["adding"]:
            assert (number, broker) in listed, f"partition {number} moves and is not listed"
            assert state["own"].get(f"{broker}/{name}.rate"), (
                f"partition {number} moves and broker {broker} has no rate"
            )

    def reassign(
        self, targets: Mapping[Key, tuple[int, ...] | None], expected: Mapping[Key, Move], *, other_factor: bool
    ) -> tuple[ReassignmentResult, ...]:
        self.point("before the reassignment")
        state = self.read()
        results = tuple(self._reassign(state, key, target, expected[key]) for key, target in targets.items())
        state["asked"] += [[key[1], target] for key, target in targets.items()]
        in_flight = sum(bool(row.get("adding") or row.get("removing")) for row in state["rows"].values())
        state["worst"] = max(state["worst"], in_flight)
        self.write(state)
        self.point("after the reassignment")
        assert other_factor == any(len(one) != len(expected[key].replicas) for key, one in targets.items() if one)
        return results

    def _reassign(
        self, state: dict[str, Any], key: Key, target: tuple[int, ...] | None, expected: Move
    ) -> ReassignmentResult:
        row = state["rows"][str(key[1])]
        if Move(row["replicas"], row.get("adding", []), row.get("removing", [])) != Move(*map(list, expected)):
            return ReassignmentResult(*key, CHANGED, "it is not as expected")
        if target is None:
            row["replicas"] = [one for one in row["replicas"] if one not in row["adding"]]
            row["isr"] = [one for one in row["isr"] if one in row["replicas"]]
            row |= {"adding": [], "removing": [], "looks": 0}
            return ReassignmentResult(*key)
        moving = row.get("adding") or row.get("removing")
        assert not moving, "never a second move while one is in flight"
        merged, adding, removing = kraft_merged(tuple(row["replicas"]), target)[:3]
        row |= {"replicas": [*merged], "adding": [*adding], "removing": [*removing], "looks": 0}
        return ReassignmentResult(*key)

    def elect(self, changes: Sequence[LeaderChange]) -> tuple[Outcome, ...]:
        """The first replica leads afterwards, unless the controller refuses it."""
        self.point("before the elections")
        state = self.read()
        outcomes = []
        for change in changes:
            row = state["rows"][str(change.partition)]
            assert change.to_leader == row["replicas"][0] in row["isr"], "a preferred leader that is in sync"
            refused = change.partition in state.get("refused", ())
            if not refused:
                row["leader"] = change.to_leader
            outcomes.append(Outcome(change, row["leader"], "REFUSED: why" if refused else ""))
        state["elected"] = [*state.get("elected", []), [change.partition for change in changes]]
        self.write(state)
        self.point("after the elections")
        return tuple(outcomes)

    def cordons(self, brokers: Iterable[int]) -> dict[int, str | None]:
        state = self.read()
        if state.get("old"):
            return {}
        return {one: state.get("cordons", {}).get(str(one)) for one in brokers if one not in state["dead"]}

    def set_cordons(self, values: Mapping[int, str | None]) -> dict[int, SettingResult]:
        self.point("before the cordons")
        state, results = self.read(), {}
        found = state.setdefault("cordons", {})
        for broker, value in values.items():
            operation = Operation.DELETE if value is None else Operation.SET
            asked = SettingChange(EntityType.BROKER, str(broker), "cordoned.log.dirs", operation, value)
            found.pop(str(broker), None)
            if value is not None:
                found[str(broker)] = value
            results[broker] = SettingResult(asked)
        self.write(state)
        self.point("after the cordons")
        return results

    def logs(self, brokers: Iterable[int], partitions: Collection[Key] | None = None) -> dict[int, BrokerLogs | str]:
        state = self.read()
        found: dict[int, BrokerLogs | str] = {}
        for broker in brokers:
            if broker in state["dead"]:
                found[broker] = "is down"
                continue
            told = [number for _, number in partitions or () if broker in state["rows"][str(number)]["replicas"]]
            copies = [
                Replica("orders", number, broker, path, self._size(state, number, broker), None, False)
                for number in told
                if f"{broker}{(path := self._path(state, number, broker))}" not in state.get("offline", ())
            ]
            copies += [
                Replica("orders", number, broker, one["path"], max(0, one["looks"]) * 100, 1000 - one["looks"], True)
                for number in told
                if (one := state.get("future", {}).get(f"{number}/{broker}")) is not None
            ]
            coming = [row for row in state["rows"].values() if broker in row.get("adding", [])]
            free = state.get("room", {}).get(str(broker), ROOM) - sum(SIZE * row["looks"] // LOOKS for row in coming)
            closed = {path: "KAFKA_STORAGE_ERROR" for path in PATHS if f"{broker}{path}" in state.get("offline", ())}
            second = state.get("room", {}).get(f"{broker}/e", ROOM)
            left = dict(zip(PATHS, (free, second), strict=True))
            room = [LogDir(broker, path, closed.get(path), ROOM, left[path]) for path in PATHS]
            found[broker] = BrokerLogs(room, copies)
        return found

    @staticmethod
    def _path(state: Mapping[str, Any], number: int, broker: int) -> str:
        return str(state.get("where", {}).get(f"{number}/{broker}", "/d"))

    def _size(self, state: Mapping[str, Any], number: int, broker: int) -> int:
        """Bytes of a copy; ``written`` and ``copied`` say how many come each second, by partition."""
        row = state["rows"][str(number)]
        coming = broker in row.get("adding", [])
        rate = state.get("copied" if coming else "written", {}).get(str(number))
        if rate is not None:
            return int(rate * self.clock.now()) + (0 if coming else SIZE)
        looked: int = SIZE * row.get("looks", 0) // LOOKS
        return looked

    def place(self, directories: Mapping[tuple[str, int, int], str]) -> dict[tuple[str, int, int], DirectoryResult]:
        self.point("before the directories")
        state = self.read()
        results = {key: self._place(state, *key, path) for key, path in directories.items()}
        state["placed"] = [*state.get("placed", []), *([*key[1:], path] for key, path in directories.items())]
        self.write(state)
        self.point("after the directories")
        return results

    def _place(self, state: dict[str, Any], _: str, number: int, broker: int, path: str) -> DirectoryResult:
        if broker in state["dead"]:
            return DirectoryResult(error="unanswered")
        if state.get("denied"):
            return DirectoryResult(error="CLUSTER_AUTHORIZATION_FAILED", message="why")
        if path not in PATHS or f"{broker}{path}" in state.get("offline", ()):
            return DirectoryResult(error="LOG_DIR_NOT_FOUND")
        row = state["rows"][str(number)]
        if broker not in row["replicas"] or broker in row.get("adding", []):
            state.setdefault("where", {})[f"{number}/{broker}"] = path
            return DirectoryResult(remembered=True)
        replica, futures = f"{number}/{broker}", state.setdefault("future", {})
        if self._path(state, number, broker) == path:
            futures.pop(replica, None)
        elif futures.get(replica, {}).get("path") != path:
            futures[replica] = {"path": path, "looks": 0}
            worst = state.setdefault("worst_within", {})
            there = sum(one.endswith(f"/{broker}") for one in futures)
            worst[str(broker)] = max(worst.get(str(broker), 0), there)
        return DirectoryResult()

    def throttles(self, brokers: Iterable[int], topics: Collection[str]) -> Throttles:
        state = self.read()
        rates, unread = {}, {}
        for broker in brokers:
            if broker in state["dead"]:
                unread[broker] = "is not alive"
                continue
            own = {key.split("/")[1]: value for key, value in state["own"].items() if key.startswith(f"{broker}/")}
            held = {name: (value, "cluster-dynamic") for name, value in state["default"].items() if name != "check"}
            held |= {name: (value, "broker-dynamic") for name, value in own.items()}
            rates |= {(broker, name): Setting("broker", str(broker), name, *one) for name, one in held.items()}
        lists = {(topic, name): value for topic in topics for name, value in state["lists"].items()}
        return Throttles(rates, state["default"], lists, unread)

    def set_rates(self, rates: Mapping[tuple[int, str], int | None]) -> dict[tuple[int, str], SettingResult]:
        if rates:
            self.point("before the rates")
        state, results = self.read(), {}
        for (broker, name), value in rates.items():
            operation = Operation.DELETE if value is None else Operation.SET
            asked = SettingChange(
                EntityType.BROKER, str(broker), name, operation, None if value is None else str(value)
            )
            if broker in state["dead"] and not state.get("controllers"):
                results[broker, name] = SettingResult(asked, "unanswered")
                continue
            state["own"].pop(f"{broker}/{name}", None)
            if value is not None:
                state["own"][f"{broker}/{name}"] = str(value)
            results[broker, name] = SettingResult(asked)
        self.write(state)
        if rates:
            self.point("after the rates")
        return results

    def extend_lists(self, entries: Mapping[tuple[str, str], Collection[tuple[int, int]]]) -> dict[Any, ListResult]:
        return self._lists(entries, lambda found, some: [*found, *(one for one in some if one not in found)])

    def shrink_lists(self, entries: Mapping[tuple[str, str], Collection[tuple[int, int]]]) -> dict[Any, ListResult]:
        return self._lists(entries, lambda found, some: [one for one in found if one not in {*some}])

    def _lists(
        self, entries: Mapping[tuple[str, str], Collection[tuple[int, int]]], change: Any
    ) -> dict[Any, ListResult]:
        if entries:
            self.point("before the lists")
        state = self.read()
        for (_, name), some in entries.items():
            text = state["lists"].get(name, "")
            if text == "*":
                continue
            found = [tuple(map(int, one.split(":"))) for one in text.split(",") if one]
            left = change(found, sorted(some))
            state["lists"].pop(name, None)
            if left:
                state["lists"][name] = ",".join(f"{a}:{b}" for a, b in left)
        self.write(state)
        if entries:
            self.point("after the lists")
        return {key: ListResult(frozenset(some)) for key, some in entries.items()}
