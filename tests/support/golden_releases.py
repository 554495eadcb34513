"""The table of docs/conformance.md that says which release's own classes hold which rule: ``make golden`` writes it.

Releases whose answers are the same stand together. Fields are those of ``kreplica.engine.versions.version.Version``.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from kafka_classes import ANSWERS, ROOT

from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- table: make golden -->\n", "\n<!-- end of the table of classes -->"
HELD = {
    "followers.txt": ("when a follower begins to follow anew", ("epochs_followed_on",)),
    "leader-epochs.txt": ("a log's leader epochs, and where each ends", ("epoch_noted_at_election",)),
    "truncations.txt": ("where a follower truncates", ("epoch_noted_at_election",)),
    "out-of-range.txt": ("a follower whose leader has less", ("truncation_needs_unclean",)),
    "follower-positions.txt": ("when a follower had everything last", ()),
    "fetch-states.txt": ("whether a diverging follower's position is noted", ("diverging_position_noted",)),
    "in-sync.txt": ("when a follower joins the ISR, and when it lags", ("join_at_epoch_start", "end_suffices")),
    "high-watermarks.txt": (
        "the maximal ISR, and the high watermark of a leader",
        ("alter_partition", "waits_only_for_eligible", "freeze_below_min_isr"),
    ),
    "recovery-points.txt": ("up to where a recovered log counts as flushed", ("recovered_point",)),
    "producer-states.txt": ("batches of an idempotent producer", ("cached_batches", "unknown_producer")),
    "zookeeper-elections.txt": ("elections in ZooKeeper mode", ("shutdown_by_isr_order",)),
    "moves-in-flight.txt": ("KRaft moves, their end and cancellation", ("moves_wait_for",)),
}
"""By file: what it holds, and the fields of a version whose values it tells apart."""
NAMES = ("name", "number", "controller", "defaults")
"""Fields of a version that are no rules."""


def groups(file: str) -> list[list[str]]:
    """Releases of a file, oldest first; those that print the same stand together."""
    told: dict[str, list[str]] = {}
    for line in (ANSWERS / file).read_text().splitlines():
        releases, bar, answer = line.partition(" | ")
        if not bar:
            releases, _, answer = line.partition(" ")
        for release in releases.split():
            told.setdefault(release, []).append(answer)
    found: dict[tuple[str, ...], list[str]] = {}
    for release in sorted(told, key=lambda one: tuple(map(int, one.split(".")))):
        found.setdefault(tuple(told[release]), []).append(release)
    return list(found.values())


def version_of(file: str, release: str) -> Version:
    """The engine's version for a release of a file: in ZooKeeper mode where there is one, but for moves in KRaft."""
    kraft = file == "moves-in-flight.txt" and release < "4"
    return version_named(f"{release}-kraft" if kraft else release)


def unheld() -> list[str]:
    """Rules of a version that no file tells apart."""
    held = {field for _, named in HELD.values() for field in named}
    return [one.name for one in fields(Version) if one.name not in held and one.name not in NAMES]


def table() -> str:
    """What stands in the page."""
    lines = [
        "| what | fields of `Version` that it tells apart | releases that were asked | file |",
        "| --- | --- | --- | --- |",
    ]
    for file, (what, named) in HELD.items():
        releases = "; ".join(", ".join(group) for group in groups(file))
        told = ", ".join(f"`{one}`" for one in named) or "none"
        lines.append(f"| {what} | {told} | {releases} | `{file}` |")
    rest = ", ".join(f"`{one}`" for one in unheld())
    return "\n".join(lines) + f"\n\nNo classes on both sides were asked for {rest}.\n"


def write(page: Path = PAGE) -> None:
    """Puts the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    write()
