"""Compiled expressions give in Spark what kreplica gives over arrays, and what the definitions say, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kreplica.health.rules import GROUP_RULES, PARTITION_RULES, Largest, RowsWhere, Smallest
from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Expression
from kreplica.model.snapshot import ClusterSnapshot

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("compiled")]

Row = Mapping[str, Any]


def declared_expressions() -> dict[str, Expression]:
    """Everything that predicates and rules declare over partitions."""
    found: dict[str, Expression] = {item.name: item.expression for item in known.PREDICATES}
    for rule in PARTITION_RULES:
        found[f"{rule.name} when"] = rule.when
        found.update({f"{rule.name} {name}": expression for name, expression in rule.facts})
        if rule.escalates is not None:
            found[f"{rule.name} escalates"] = rule.escalates
    for group_rule in GROUP_RULES:
        if group_rule.key is not None:
            found[f"{group_rule.name} key"] = group_rule.key
        for name, fact in group_rule.facts:
            if isinstance(fact, RowsWhere):
                found[f"{group_rule.name} {name}"] = fact.condition
            elif isinstance(fact, Smallest | Largest):
                found[f"{group_rule.name} {name}"] = fact.value
    return found


def comparisons() -> dict[str, Expression]:
    """Each comparison, of numbers that are often equal and sometimes null."""
    operators = ("==", "!=", "<", "<=", ">", ">=")
    return {f"in sync {word} min": ex.Compare(word, ex.Size(known.ISR), known.MIN_ISR) for word in operators}


class Trees:
    """Draws expressions of every node of the language, each of the wanted type."""

    LISTS = ("replicas", "isr", "adding", "removing", "offline_replicas")

    def __init__(self, random: Random) -> None:
        self.random = random

    def list(self, depth: int) -> Expression:
        if depth == 0:
            return ex.Column(self.random.choice(self.LISTS))
        if self.random.random() < 0.5:
            return ex.OrEmpty(self.list(depth - 1))
        return ex.Difference(self.list(depth - 1), self.list(depth - 1))

    def integer(self, depth: int) -> Expression:
        if depth == 0:
            return self.random.choice((ex.Column("leader"), ex.Column("min_isr"), ex.Constant(2), ex.RackCount()))
        below = depth - 1
        makers: tuple[Callable[[], Expression], ...] = (
            lambda: ex.Size(self.list(below)),
            lambda: ex.First(self.list(below)),
            lambda: ex.RacksOf(self.list(below)),
            lambda: ex.Minus(self.integer(below), self.integer(below)),
            lambda: ex.Times(self.integer(below), self.integer(below)),
            lambda: ex.Least(self.integer(below), self.integer(below)),
            lambda: ex.If(self.boolean(below), self.integer(below), self.integer(below)),
        )
        return self.random.choice(makers)()

    def boolean(self, depth: int) -> Expression:
        if depth == 0:
            return self.random.choice((ex.Column("unclean_leader_election"), ex.Alive(ex.Column("leader"))))
        below = depth - 1
        operator = self.random.choice(("==", "!=", "<", "<=", ">", ">="))
        makers: tuple[Callable[[], Expression], ...] = (
            lambda: ex.Alive(ex.First(self.list(below))),
            lambda: ex.Contains(self.list(below), ex.Column("leader")),
            lambda: ex.Overlaps(self.list(below), self.list(below)),
            lambda: ex.Compare(operator, self.integer(below), self.integer(below)),
            lambda: ex.And(self.boolean(below), self.boolean(below)),
            lambda: ex.Or(self.boolean(below), self.boolean(below)),
            lambda: ex.Not(self.boolean(below)),
            lambda: ex.OrFalse(self.boolean(below)),
        )
        return self.random.choice(makers)()

    def several(self, count: int) -> dict[str, Expression]:
        return {
            f"tree {number}": self.random.choice((self.list, self.integer, self.boolean))(self.random.randint(1, 3))
            for number in range(count)
        }


def over_arrays(
    snapshots: Sequence[ClusterSnapshot], expressions: Mapping[str, Expression]
) -> dict[tuple[Any, ...], Row]:
    rows: dict[tuple[Any, ...], Row] = {}
    for number, snapshot in enumerate(snapshots):
        evaluator = Evaluator(snapshot)
        if not evaluator.length:
            continue
        columns = [evaluator.column(expression).to_list() for expression in expressions.values()]
        for place, values in zip(snapshot.partitions.rows(), zip(*columns, strict=True), strict=True):
            rows[number, place["topic"], place["partition"]] = dict(zip(expressions, values, strict=True))
    return rows


def over_spark(fleet: Any, expressions: Mapping[str, Expression]) -> dict[tuple[Any, ...], Row]:
    from analyzers.columns import Compiler

    compiler = Compiler()
    columns = [compiler.column(expression).alias(name) for name, expression in expressions.items()]
    table = fleet.rows.select("first", "topic", "partition", *columns).toArrow()
    places = zip(*(table[name].to_pylist() for name in ("first", "topic", "partition")), strict=True)
    values = zip(*(table[name].to_pylist() for name in expressions), strict=True)
    return {place: dict(zip(expressions, row, strict=True)) for place, row in zip(places, values, strict=True)}


@settings(examples(0.12), phases=[Phase.generate])  # a smaller seed is no smaller case
@given(seed=st.integers(0, 2**32 - 1))
def test_every_expression_gives_in_spark_what_it_gives_over_arrays(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any], seed: int
) -> None:
    random = Random(seed)
    snapshots = generated(random, 30)
    expressions = {**declared_expressions(), **comparisons(), **Trees(random).several(20)}
    expected = over_arrays(snapshots, expressions)
    found = over_spark(in_spark(snapshots), expressions)
    assert found.keys() == expected.keys()
    for place, row in expected.items():
        wrong = {name: (found[place][name], value) for name, value in row.items() if found[place][name] != value}
        shown = {name: expressions[name] for name in wrong}
        assert not wrong, f"(Spark, arrays) in {snapshots[place[0]].partition(*place[1:])}: {wrong} of {shown}"


def plain_predicates(row: Row, live: set[int]) -> dict[str, bool]:
    """The definitions in plain Python, for a partition of which everything is known."""
    replicas, isr, adding, removing = row["replicas"], row["isr"], row["adding"], row["removing"]
    leader, min_isr = row["leader"], row["min_isr"]
    moving = any(broker in adding or broker in removing for broker in replicas)
    replication_factor = len(replicas) - len(adding) if moving else len(replicas)
    under_replicated = replication_factor - len(isr) > 0
    original = [broker for broker in replicas if broker not in adding]
    return {
        "under_replicated": under_replicated,
        "under_replicated_metric": leader != -1 and under_replicated,
        "under_replicated_before_2_5": len(isr) < len(replicas),
        "masked": moving
        and not under_replicated
        and any(broker in isr for broker in adding)
        and any(broker not in isr for broker in original),
        "under_min_isr": leader == -1 or len(isr) < min_isr,
        "under_min_isr_broker": leader != -1 and len(isr) < min(min_isr, len(replicas)),
        "at_min_isr": len(isr) == min_isr,
        "unavailable": leader == -1 or leader not in live,
        "offline": leader == -1,
        "non_preferred": leader != replicas[0],
        "reassigning": bool(adding or removing),
    }


@settings(examples(0.06), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_predicates_are_what_the_definitions_say_where_all_is_known(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any], seed: int
) -> None:
    snapshots = generated(Random(seed), 60)
    found = over_spark(in_spark(snapshots), {item.name: item.expression for item in known.PREDICATES})
    judged = 0
    for number, snapshot in enumerate(snapshots):
        brokers = {row["broker"]: row["alive"] for row in snapshot.brokers.rows()}
        if not brokers or None in brokers.values():
            continue
        live = {broker for broker, alive in brokers.items() if alive}
        for row in snapshot.partitions.rows():
            if None in (row["leader"], row["adding"], row["removing"], row["min_isr"]) or not row["replicas"]:
                continue
            assert found[number, row["topic"], row["partition"]] == plain_predicates(row, live), (row, live)
            judged += 1
    assert judged > 50
