"""Situations of a cluster and the exit code of each gate in them: the table of docs/gates.md, and what tests try.

Situations on dumps are tried in tests/cli/every_command/test_gate_situations.py, those on real clusters in
tests/kafka/see/test_gate_situations.py; tests/docs compares the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GATES: Mapping[str, tuple[str, ...]] = {
    "describe --offline": ("describe", "--offline"),
    "check": ("check", "--rule", "offline", "--rule", "under-min-isr"),
    "wait, all": ("wait", "--for", "no-under-replicated"),
    "wait, broker 1": ("wait", "--for", "in-sync", "--broker", "1"),
    "safe-to-stop 1": ("safe-to-stop", "1"),
    "roll next": ("roll", "next"),
}
"""The gates by the heading of their column; ``check`` by two of its rules."""


@dataclass(frozen=True)
class Situation:
    """One row.

    Args:
        name: What it is, in the words of the page.
        codes: Exit code by gate, in the order of GATES; None where the gate takes no such thing.
    """

    name: str
    codes: tuple[int | None, ...]

    def by_gate(self) -> dict[str, int]:
        """Exit code of each gate that is asked."""
        return {gate: code for gate, code in zip(GATES, self.codes, strict=True) if code is not None}


ON_DUMPS = {
    "healthy": Situation("Every partition led and in sync, dump of a minute ago", (0, 0, 0, 0, 0, 2)),
    "old": Situation("The same, a day old", (0, 0, 5, 5, 5, 2)),
    "old-limit": Situation("The same, a day old, `--max-age 1h`", (5, 5, 5, 5, 5, None)),
    "old-taken": Situation("The same, a day old, `--max-age 2d`", (0, 0, 0, 0, 0, None)),
    "future": Situation("The same, of tomorrow", (0, 0, 5, 5, 5, 2)),
    "empty": Situation("No topic at all", (5, 5, 5, 5, 5, 2)),
    "no-such-topic": Situation("`--topic` names none that there is", (2, 2, 2, 2, None, None)),
    "only-internal": Situation("`--exclude-internal`, and there is no other topic", (5, 5, 5, 5, None, None)),
    "hidden": Situation("Topics hidden from whoever made the dump", (5, 5, 5, 5, 5, 2)),
    "silent": Situation("A broker did not answer whoever made the dump", (5, 5, 5, 5, 5, 2)),
    "no-min-isr": Situation("min.insync.replicas not known", (0, 5, 0, 0, 5, 2)),
    "no-brokers": Situation("Who is alive not known (text of kafka-topics)", (0, 0, 5, 5, 5, 2)),
    "kcat": Situation("JSON of kcat, healthy", (0, 5, 0, 0, 5, 2)),
    "leaderless": Situation("A partition without a leader, in sync as far as it goes, on broker 1", (1, 1, 1, 1, 1, 2)),
    "under-replicated": Situation("A replica out of sync on broker 3, min ISR kept", (0, 0, 1, 0, 1, 2)),
    "under-min-isr": Situation("Replicas of brokers 2 and 3 out of sync, under min ISR", (0, 1, 1, 0, 1, 2)),
    "leaderless-hidden": Situation("A partition without a leader, and topics hidden", (1, 1, 1, 1, 1, 2)),
    "quorum-lost": Situation("Every partition fine, two of three voters down", (0, 0, 0, 0, 1, 2)),
    "quorum-not-known": Situation("Every partition fine, the quorum not known (KRaft)", (0, 0, 0, 0, 5, 2)),
    "damaged": Situation("A dump that cannot be read", (2, 2, 2, 2, 2, 2)),
    "refused": Situation("Nobody listens at the bootstrap server", (3, 3, 3, 3, 3, 3)),
    "hangs": Situation("What listens there never answers", (3, 3, 3, 3, 3, 3)),
    "zookeeper-refused": Situation("Nobody listens at `--zookeeper`", (3, 3, 3, 3, 3, 3)),
    "interrupted": Situation("Ctrl-C while a gate waits for an answer", (130, 130, 130, 130, 130, 130)),
}

ON_KRAFT = {
    "healthy": Situation("Every partition led and in sync", (0, 0, 0, 0, 0, 0)),
    "dead-bootstrap": Situation("The first of two bootstrap servers is dead", (0, 0, 0, 0, 0, 0)),
    "wrong-password": Situation("Wrong password", (3, 3, 3, 3, 3, 3)),
    "no-credentials": Situation("No credentials on a listener with SASL", (3, 3, 3, 3, 3, 3)),
    "hidden": Situation("A topic hidden by access control lists", (5, 5, 5, 5, 5, 5)),
    "no-cluster-permission": Situation("Log directories and the quorum may not be read", (5, 5, 5, 5, 5, 5)),
    "paused": Situation("A broker stopped by SIGSTOP, its session lasts", (5, 5, 5, 5, 5, 5)),
    "paused-hidden": Situation("The same, with credentials that see one topic of two", (5, 5, 5, 5, 5, 5)),
    "controller-paused": Situation("The only controller stopped by SIGSTOP", (5, 5, 5, 5, 5, 5)),
    "down": Situation("Broker 3 down, it held the only replica of a topic", (1, 1, 1, 0, 1, 1)),
    "down-other-topic": Situation("The same, `--topic` of one that kept min ISR", (0, 0, 1, 0, None, None)),
    "down-hidden": Situation("The same, that topic is hidden and nobody shows it any more", (5, 5, 1, 5, 1, 1)),
}

ON_ZOOKEEPER = {
    "healthy": Situation("Every partition led and in sync, by `--zookeeper`", (0, 0, 0, 0, 0, None)),
    "paused": Situation("A broker stopped by SIGSTOP, listed by ZooKeeper, by `--zookeeper`", (5, 5, 5, 5, 5, None)),
    "paused-brokers": Situation("The same, by `--bootstrap-server`", (5, 5, 5, 5, 5, None)),
    "killed": Situation("A broker killed, its session lasts, by `--zookeeper`", (5, 5, 5, 5, 5, None)),
}

PLACES = {
    "On dumps, and where nobody answers": ON_DUMPS,
    "On a cluster in KRaft mode": ON_KRAFT,
    "On a cluster in ZooKeeper mode": ON_ZOOKEEPER,
}


def as_markdown() -> str:
    """The tables of docs/gates.md."""
    parts = []
    for title, situations in PLACES.items():
        head = f"| {title} | {' | '.join(GATES)} |\n|{' --- |' * (len(GATES) + 1)}"
        rows = [f"| {one.name} | {' | '.join(map(_cell, one.codes))} |" for one in situations.values()]
        parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"


def _cell(code: int | None) -> str:
    return "" if code is None else str(code)
