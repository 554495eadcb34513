"""recommend on the screen: verdict first, then each piece of advice once, with the subjects that share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.recommend.answer import RecommendAnswer
from commands.shared.printing.screen import print_lines, print_verdict
from commands.shared.printing.verdicts import severity_color
from kreplica.advice.model import Recommendation, Scope
from kreplica.health.rules import Severity
from kreplica.model.wording.words import counted
from kreplica.monitoring.recommendations import AdvisedCluster, not_judged

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 5
"""Subjects that a piece of advice names at most; the rest are counted."""
LONGEST_COMMAND = 400
"""Characters; longer ones are for -o json."""
_PLURAL = {
    Scope.BROKER: "brokers",
    Scope.TOPIC: "topics",
    Scope.PRODUCER: "producers",
    Scope.CONSUMER: "consumers",
}


def show(found: RecommendAnswer, console: Console) -> None:
    """Prints the advice for a person."""
    for number, view in enumerate(found.views):
        if number:
            console.print()
        _show_verdict(view, console)
        for group in groups(view):
            _show_group(group, console)


def _show_verdict(view: AdvisedCluster, console: Console) -> None:
    advice = view.advice.recommendations
    counts = Counter(one.severity for one in advice)
    gaps = [] if view.snapshot is None else [gap.message for gap in view.snapshot.gaps]
    if advice:
        said = ", ".join(f"{counts[severity]} {severity.word}" for severity in reversed(Severity) if counts[severity])
        worst = max(counts)
        sentence = f"{counted(len(advice), 'recommendation')} ({said}) for {_judged(view)}"
        print_verdict(console, worst.word.upper(), severity_color(worst), sentence)
    else:
        word, color = ("INCOMPLETE", "yellow") if gaps or view.advice.unjudged else ("GOOD", "green")
        print_verdict(console, word, color, f"nothing to recommend for {_judged(view)}")
    print_lines(console, "missing", [*gaps, *not_judged(view.advice.unjudged)])


def _judged(view: AdvisedCluster) -> str:
    snapshot = view.snapshot
    if snapshot is None:
        return "these clients, no cluster named"
    topics, brokers = counted(snapshot.topic_count, "topic"), counted(len(snapshot.brokers), "broker")
    return f"{topics} and {brokers} of {snapshot.name}"


def groups(view: AdvisedCluster) -> list[list[Recommendation]]:
    """Recommendations that say the same of different subjects, in the order of the first of each."""
    by_advice: dict[tuple[object, ...], list[Recommendation]] = {}
    for one in view.advice:
        key = (one.severity, one.scope, one.rule, one.setting, one.current, one.origin, one.recommended, one.why)
        by_advice.setdefault(key, []).append(one)
    return list(by_advice.values())


def _show_group(group: Sequence[Recommendation], console: Console) -> None:
    from rich.text import Text

    first = group[0]
    title = Text.assemble((f"{first.severity.word:<9}", f"bold {severity_color(first.severity)}"), _headline(first))
    console.print()
    console.print(title)
    print_lines(console, "  for", [_subjects(group)])
    print_lines(console, "  why", [first.why])
    print_lines(console, "  price", [first.price])
    print_lines(console, "  set", _commands(group), whole=True)


def _headline(one: Recommendation) -> str:
    origin = f" ({one.origin})" if one.origin and one.current is not None else ""
    now = "not set" if one.current is None else one.current
    return f"{one.setting} {now} -> {one.recommended}{origin}  [{one.rule}]"


def _subjects(group: Sequence[Recommendation]) -> str:
    scope = group[0].scope
    if scope is Scope.CLUSTER:
        return "all brokers"
    names = [str(one.name) for one in group]
    more = f", and {len(names) - MOST_SHOWN} more: all of them by -o json" if len(names) > MOST_SHOWN else ""
    lead = f"{len(names)} {_PLURAL[scope]}: " if len(names) > 1 else f"{scope.value} "
    return lead + ", ".join(names[:MOST_SHOWN]) + more


def _commands(group: Sequence[Recommendation]) -> Iterator[str]:
    """The command of the first; those of the others differ in the name."""
    command = group[0].command
    if command is None:
        return
    if len(command) > LONGEST_COMMAND:
        yield f"a command of {len(command)} characters: take it from -o json"
        return
    yield from command.splitlines()
    if len(group) > 1:
        yield f"# and the same for the other {len(group) - 1}: their commands by -o json"
