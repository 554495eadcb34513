"""The scenario that whatif run plays: one of the library, or the cluster of a dump."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode, UsageError
from kreplica.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Row
    from kreplica.engine.checkers.partition_outcomes import PartitionOutcome
    from kreplica.scenarios.own_cluster import OwnCluster
    from kreplica.scenarios.playing import Run


@dataclass(frozen=True, slots=True)
class Story:
    """A scenario to play, and where it is from.

    Args:
        scenario: From the library, or made from a dump.
        version: Version to play, if no other is asked for.
        words: Arguments that name it on the command line.
        own: Facts about the dump's cluster; None for a scenario of the library.
    """

    scenario: Scenario
    version: str
    words: str
    own: OwnCluster | None = None

    def exit_code(self, found: bool) -> ExitCode:
        """Findings if there are any, otherwise incomplete if a dump lacks facts that decide the outcome."""
        if found:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.own is not None and self.own.unknown else ExitCode.OK

    def partitions(self, run: Run) -> tuple[PartitionOutcome, ...]:
        """Outcome by partition."""
        from kreplica.engine.checkers.partition_outcomes import partition_outcomes

        return partition_outcomes(run.scenario.setup, run.outcome)

    def by_partition(self, run: Run) -> Row:
        """``partitions`` of an outcome, of a dump's cluster alone."""
        return {} if self.own is None else {"partitions": [_row(one) for one in self.partitions(run)]}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Facts about a dump's cluster that are not known, and remarks on what is not played."""
        return () if self.own is None else (*self.own.unknown, *self.own.remarks)


def story_of(
    scenario: str | None, from_dump: str | None, topics: str | None, kafka_version: str | None, plans: str = ""
) -> Story:
    """The scenario of that name, or of a dump.

    Args:
        scenario: Its name.
        from_dump: The dump, instead.
        topics: Which of the dump's topics.
        kafka_version: As given.
        plans: The version that a plan was played under, empty if there is none.

    Raises:
        UsageError: Neither or both are given, or one that goes with the other.
        KreplicaError: The dump cannot be read.
    """
    if from_dump is None:
        if scenario is None:
            raise UsageError("nothing to play is named", "", "name a SCENARIO (kreplica whatif list), or --from DUMP")
        if topics is not None:
            raise UsageError("--topic goes with --from", "a scenario has its own topics", "leave it out")
        from kreplica.scenarios import scenario_named

        chosen = scenario_named(scenario)
        return Story(chosen, chosen.default_version, scenario)
    if scenario is not None:
        raise UsageError("a scenario and --from are given", "one cluster is played", "leave one of them out")
    return _of_dump(from_dump, topics, kafka_version, plans)


def _of_dump(path: str, topics: str | None, kafka_version: str | None, plans: str) -> Story:
    from kreplica.scenarios.own_cluster import known_version, own_cluster
    from kreplica.sources.dumps.dump import read_dump

    snapshot = read_dump(path)
    another = plans if plans != known_version(snapshot) else ""
    own = own_cluster(snapshot, topics, (another or None) if kafka_version is None else kafka_version)
    words = f"--from {shlex.quote(path)}" + ("" if topics is None else f" --topic {shlex.quote(topics)}")
    words += "" if kafka_version is None else f" --kafka-version {kafka_version}"
    return Story(own.scenario, own.version, words, own)


def _row(one: PartitionOutcome) -> Row:
    return {
        "partition": one.partition,
        "sent": one.sent,
        "lost": list(one.lost),
        "unseen": list(one.unseen),
        "without_leader_ms": one.without_leader_ms,
        "read_only_ms": one.read_only_ms,
    }


def show_partitions(story: Story, outcomes: Sequence[PartitionOutcome], console: Console) -> None:
    """Prints the partitions to which anything happened, and how many others there are."""
    from commands.shared.printing.screen import TableColumn, print_columns, print_lines
    from commands.whatif.records import some
    from kreplica.model.wording.words import counted

    harmed = [one for one in outcomes if one.is_harmed]
    print_lines(console, "cluster", [f"{story.scenario.title}; {counted(len(outcomes), 'partition')} played"])
    if harmed:
        console.print()
        columns = [
            TableColumn("PARTITION"),
            TableColumn("LOST", fold=True),
            TableColumn("UNREADABLE", drop=2),
            TableColumn("MS WITHOUT LEADER"),
            TableColumn("MS UNDER MIN ISR", drop=1),
        ]
        cells: list[list[object]] = [
            [one.partition, some(one.lost), some(one.unseen), f"{one.without_leader_ms:g}", f"{one.read_only_ms:g}"]
            for one in harmed
        ]
        print_columns(console, columns, cells)
    rest = len(outcomes) - len(harmed)
    if rest:
        told = f"{counted(rest, 'partition')} always had a leader, took writes and lost nothing"
        print_lines(console, "unharmed", [told])
