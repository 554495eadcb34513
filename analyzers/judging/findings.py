"""The rules of kreplica/health/rules.py over the partitions of a fleet: what is broken first, in words last.

A record says that a rule is broken, kept or not known for one thing from one observation to another. Rows are folded
before: what breaks nothing is counted by topic, and only what breaks a rule keeps its partition and its facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Formatter
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from analyzers.columns import Compiler
from analyzers.judging.flags import FLAGS, Flags, with_shared_parts
from analyzers.reading.frames import CLUSTER, FIRST, LAST
from analyzers.rules.custom_rules import with_view
from kreplica.health.rules import (
    GROUP_RULES,
    PARTITION_RULES,
    GroupRule,
    Largest,
    PartitionRule,
    Rows,
    RowsWhere,
    Severity,
    Smallest,
)
from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.expressions import Expression
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.schema import PARTITIONS, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

THING = ("rule", "topic", "partition", "broker")
"""Columns that tell what a record is about, besides the cluster."""
STATE, FACTS, TOPIC_ID, NUMBER = "state", "facts", "topic_id", "n"
"""Rank of the severity, 0 where the rule is kept, null where that is not known; what the message tells; number of
partitions that a row stands for."""
KEPT = 0
EPOCHS = "leader_epochs"

Gather = Callable[["DataFrame", Sequence[str], Mapping[str, "Column"], Mapping[str, "Column"]], "DataFrame"]
"""Gathers rows by some keys: names of sums with what each row adds, names of values whose extremes are asked for."""


def severity_of(rank: int) -> Severity:
    """The severity of a rank."""
    return tuple(Severity)[rank - 1]


@dataclass(frozen=True)
class Judged:
    """The rules that an audit judges by, and what has to be known of each row for them.

    Args:
        rules: Names of the rules.
        custom: Rules of the user.
        told: Whether findings are going to be told in words; otherwise no record has facts.
    """

    rules: frozenset[str]
    custom: tuple[PartitionRule, ...] = ()
    told: bool = True

    @cached_property
    def by_partition(self) -> Sequence[PartitionRule]:
        """Rules that judge single partitions."""
        return [rule for rule in (*PARTITION_RULES, *self.custom) if rule.name in self.rules]

    @cached_property
    def by_topic(self) -> Sequence[GroupRule]:
        """Rules that judge topics."""
        return [rule for rule in GROUP_RULES if rule.key is None and rule.name in self.rules]

    @cached_property
    def by_broker(self) -> Mapping[str, Sequence[GroupRule]]:
        """Rules that judge brokers, by the column of their key."""
        keys = [rule.key for rule in GROUP_RULES if rule.key is not None and rule.name in self.rules]
        found = {}
        for at, key in enumerate(dict.fromkeys(keys)):
            found[f"key{at}"] = [rule for rule in GROUP_RULES if rule.key == key and rule.name in self.rules]
        return found

    @cached_property
    def flags(self) -> Flags:
        """All conditions: the predicates, which are counted always, and those of the rules."""
        found = [predicate.expression for predicate in PREDICATES]
        for rule in self.by_partition:
            found += [rule.when] if rule.escalates is None else [rule.when, rule.escalates]
        for group_rule in (*self.by_topic, *(rule for some in self.by_broker.values() for rule in some)):
            found += conditions_of(group_rule)
        return Flags(found)

    @cached_property
    def values(self) -> Mapping[Expression, str]:
        """Columns of the values of which rules want the smallest or the largest."""
        rules = (*self.by_topic, *(rule for some in self.by_broker.values() for rule in some))
        found = [fact.value for rule in rules for _, fact in rule.facts if isinstance(fact, Smallest | Largest)]
        return {value: f"value{at}" for at, value in enumerate(dict.fromkeys(found))}

    @cached_property
    def facts(self) -> Mapping[str, bool]:
        """Names of all facts of a record, and whether each is a list."""
        found = {
            name: False for some in (self.by_topic, *self.by_broker.values()) for rule in some for name, _ in rule.facts
        }
        for rule in self.by_partition:
            found |= {name: _is_list(expression) for name, expression in rule.facts}
        return dict(sorted(found.items()))

    def facts_of(self, known: Mapping[str, Column]) -> Column:
        """The facts of a record; those that are not of its rule are null. True where nobody asks for them."""
        if not self.told:
            return F.lit(True)
        kinds = {name: "array<int>" if is_list else "bigint" for name, is_list in self.facts.items()}
        return F.struct(*(known.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items()))


def judges_extremes(rule: GroupRule) -> bool:
    """True if the rule compares smallest or largest values, which are not known where none is."""
    names = {name for name, fact in rule.facts if isinstance(fact, Smallest | Largest)}
    return bool(names & _names(rule.when))


def _names(expression: Expression) -> set[str]:
    own = {expression.name} if isinstance(expression, ex.Column) else set()
    return own.union(*map(_names, expression.operands()))


def conditions_of(rule: GroupRule) -> list[Expression]:
    """The conditions whose rows a rule counts."""
    return [fact.condition for _, fact in rule.facts if isinstance(fact, RowsWhere)]


def classified(rows: DataFrame, judged: Judged, *, keep: bool) -> DataFrame:
    """Each row with its flags, and with what rules gather of it.

    Args:
        rows: Of a fleet.
        judged: The rules.
        keep: Keep partition and leader epoch of rows that break no rule, too.

    Returns:
        CLUSTER, FIRST, LAST, ``topic``, TOPIC_ID, ``partition``, FLAGS, FACTS, the values and the keys of brokers.
    """
    parted, compiler = with_shared_parts(with_view(rows, judged.custom), judged.flags.conditions)
    flagged = parted.withColumn(FLAGS, judged.flags.column(compiler))
    broken = judged.flags.is_true(*(rule.when for rule in judged.by_partition)) if judged.by_partition else F.lit(False)
    facts = {name: compiler.column(fact) for rule in judged.by_partition for name, fact in rule.facts}
    keys = {name: compiler.column(_key(some)) for name, some in judged.by_broker.items()}
    values = {name: compiler.column(value) for value, name in judged.values.items()}
    return flagged.select(
        *(CLUSTER, FIRST, LAST, "topic", TOPIC_ID),
        (F.col("partition") if keep else F.when(broken, F.col("partition"))).alias("partition"),
        *(FLAGS, F.col("leader_epoch").cast("bigint").alias(EPOCHS)),
        F.when(broken, judged.facts_of(facts)).alias(FACTS),
        *(column.alias(name) for name, column in {**keys, **values}.items()),
    )


def _key(rules: Sequence[GroupRule]) -> Expression:
    key = rules[0].key
    assert key is not None
    return key


def folded(rows: DataFrame, judged: Judged) -> DataFrame:
    """Rows of single observations, counted in one pass: by topic, and by each key of brokers where rules have one.

    Returns:
        As ``classified`` gives them, with NUMBER; of rows that were counted by a broker ``topic`` is null.
    """
    of_topic = [CLUSTER, FIRST, "topic", TOPIC_ID, "partition", FLAGS, FACTS, *judged.values.values()]
    extra = {f"{FLAGS}_{key}": judged.flags.only(_conditions(some)) for key, some in judged.by_broker.items()}
    flagged = rows.withColumns(extra) if extra else rows
    sums = (F.count(F.lit(1)).alias(NUMBER), F.sum(EPOCHS).alias(EPOCHS))
    if not judged.by_broker:
        return flagged.groupBy(*of_topic).agg(*sums).withColumn(LAST, F.col(FIRST))
    sets = [of_topic, *([CLUSTER, FIRST, key, f"{FLAGS}_{key}", *judged.values.values()] for key in judged.by_broker)]
    names = list(dict.fromkeys(name for some in sets for name in some))
    grouped = flagged.groupingSets([[F.col(name) for name in some] for some in sets], *map(F.col, names)).agg(*sums)
    flags = F.coalesce(FLAGS, *(f"{FLAGS}_{key}" for key in judged.by_broker))
    return grouped.withColumns({FLAGS: flags, LAST: F.col(FIRST)}).drop(*(f"{FLAGS}_{key}" for key in judged.by_broker))


def _conditions(rules: Sequence[GroupRule]) -> list[Expression]:
    return [condition for rule in rules for condition in conditions_of(rule)]


def partition_records(rows: DataFrame, judged: Judged, *, broken: bool = True) -> DataFrame:
    """Records of the rules that judge single partitions.

    Args:
        rows: Classified rows that have their partition.
        judged: The rules.
        broken: The records of broken rules, or all others.
    """
    flags = judged.flags
    found = []
    for rule in judged.by_partition:
        rank = F.lit(rule.severity.rank)
        if rule.escalates is not None:
            rank = F.when(flags.is_true(rule.escalates), F.lit(rule.escalated.rank)).otherwise(rank)
        state = rank if broken else F.when(~flags.is_unknown(rule.when), F.lit(KEPT))
        record = F.struct(F.lit(rule.name).alias("rule"), state.cast("int").alias(STATE))
        found.append(F.when(flags.is_true(rule.when) if broken else ~flags.is_true(rule.when), record))
    several = F.explode(F.array_compact(F.array(*found))).alias("found")
    return rows.select(CLUSTER, FIRST, LAST, "topic", TOPIC_ID, "partition", FACTS, several).select(
        *(CLUSTER, FIRST, LAST, "found.rule", f"found.{STATE}", "topic", TOPIC_ID, "partition"),
        *(F.lit(None).cast("int").alias("broker"), FACTS),
    )


def group_records(groups: DataFrame, rules: Sequence[GroupRule], judged: Judged, key: str | None = None) -> DataFrame:
    """Records of rules that judge topics, or brokers that ``key`` names: the broken, the kept and the unknown.

    Args:
        groups: As ``group_sums`` has them gathered.
        rules: Rules of that key.
        judged: All rules.
        key: Column of the broker.
    """
    found = []
    for rule in rules:
        facts = {name: F.col(_fact(rule, name)) for name, _ in rule.facts}
        when = Compiler(facts).column(rule.when)
        kept = ~when & (F.col(_unknown(rule)) == 0)
        state = F.when(when, F.lit(rule.severity.rank)).when(kept, F.lit(KEPT)).cast("int")
        names = (F.lit(rule.name).alias("rule"), state.alias(STATE), judged.facts_of(facts).alias(FACTS))
        found.append(F.struct(*names))
    no_topic, no_number = F.lit(None).cast("string"), F.lit(None).cast("int")
    places = (F.col("topic"), F.col(TOPIC_ID)) if key is None else (no_topic.alias("topic"), no_topic.alias(TOPIC_ID))
    broker = no_number if key is None else F.col(key)
    return groups.select(
        *(CLUSTER, FIRST, LAST, *places, broker.alias("broker"), F.explode(F.array(*found)).alias("found"))
    ).select(
        *(CLUSTER, FIRST, LAST, "found.rule", f"found.{STATE}", "topic", TOPIC_ID),
        *(no_number.alias("partition"), "broker", f"found.{FACTS}"),
    )


def gathered(
    rows: DataFrame, rules: Sequence[GroupRule], judged: Judged, keys: Sequence[str], gather: Gather
) -> DataFrame:
    """The facts of rules over the rows of each topic or broker.

    Args:
        rows: Classified rows with NUMBER.
        rules: Rules of these keys.
        judged: All rules.
        keys: Columns of the topic or of the broker.
        gather: How rows are gathered over time.
    """
    sums: dict[str, Column] = {}
    values: dict[str, Column] = {}
    renamed: dict[str, str] = {}
    for rule in rules:
        sums[_unknown(rule)] = _some(
            judged.flags.is_unknown(*conditions_of(rule)) if conditions_of(rule) else F.lit(False)
        )
        for name, fact in rule.facts:
            if isinstance(fact, RowsWhere):
                sums[_fact(rule, name)] = _some(judged.flags.is_true(fact.condition))
            elif isinstance(fact, Rows):
                sums[_fact(rule, name)] = F.col(NUMBER)
            else:
                assert isinstance(fact, Smallest | Largest), f"no way to gather {fact}"
                column = judged.values[fact.value]
                values[column] = F.col(column)
                renamed[_fact(rule, name)] = f"{'least' if isinstance(fact, Smallest) else 'most'}_{column}"
    groups = gather(rows, keys, sums, values)
    return groups.withColumns({name: F.col(column) for name, column in renamed.items()}) if renamed else groups


def _some(condition: Column) -> Column:
    """Number of partitions that a row adds where a condition holds."""
    return F.when(condition, F.col(NUMBER)).otherwise(F.lit(0).cast("bigint"))


def _fact(rule: GroupRule, name: str) -> str:
    return f"{rule.name} {name}"


def _unknown(rule: GroupRule) -> str:
    return f"{rule.name} is not known"


UNKNOWN = "unknown_"
"""Prefix of the columns that count the partitions for which a predicate cannot be known."""

_SUMS = ("partitions", *(name for one in PREDICATES for name in (one.name, UNKNOWN + one.name)))
COUNT_COLUMNS = ("topics", "brokers", *_SUMS)


def epoch_sums(rows: DataFrame, gather: Gather) -> DataFrame:
    """The sum of the leader epochs of each topic whose id is known; as long as it lives, it only grows."""
    known = rows.where(F.col(TOPIC_ID).isNotNull() & F.col(EPOCHS).isNotNull())
    return gather(known, ["topic", TOPIC_ID], {"partitions": F.col(NUMBER), EPOCHS: F.col(EPOCHS)}, {})


def message(judged: Judged) -> Column:
    """The message of a finding: that of its rule, with the facts as health.findings.spell writes them."""
    return _by_rule(judged, lambda rule: _message(rule.message, judged))


def evidence(judged: Judged) -> Column:
    """The evidence of a finding, an object as JSON text."""
    return _by_rule(judged, _evidence)


def _by_rule(judged: Judged, make: Callable[[PartitionRule | GroupRule], Column]) -> Column:
    rules: list[PartitionRule | GroupRule] = [*judged.by_partition, *judged.by_topic]
    rules += [rule for some in judged.by_broker.values() for rule in some]
    texts = [F.when(F.col("rule") == rule.name, make(rule)) for rule in rules]
    return F.coalesce(*texts)


def _message(template: str, judged: Judged) -> Column:
    parts: list[Column] = []
    for text, field, noun, _ in Formatter().parse(template):
        if text:
            parts.append(F.lit(text))
        if field is not None:
            fact = F.col(f"{FACTS}.{field}")
            parts.append(_spelled(fact, judged.facts[field]))
            if noun:
                parts.append(F.when(fact == 1, F.lit(f" {noun}")).otherwise(F.lit(f" {noun}s")))
    return F.concat(*parts)


def _spelled(value: Column, is_list: bool) -> Column:
    text = value.cast("string")
    if is_list:
        joined = F.array_join(value.cast("array<string>"), ",")
        text = F.when(F.array_size(value) > 0, joined).when(value.isNotNull(), F.lit("none"))
    return F.coalesce(text, F.lit("unknown"))


def _evidence(rule: PartitionRule | GroupRule) -> Column:
    fields = [F.col(f"{FACTS}.{name}").alias(name) for name, _ in rule.facts]
    return F.to_json(F.struct(*fields), {"ignoreNullFields": "false"})


def _is_list(expression: Expression) -> bool:
    if isinstance(expression, ex.Column):
        return PARTITIONS.field(expression.name).kind is Kind.INT_LIST
    return isinstance(expression, ex.Difference | ex.OrEmpty)
