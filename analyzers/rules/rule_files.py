"""Files of rules that a user writes: what stands in them, checked as far as it can be without Spark.

[[rules]]
name = "thin-orders"
severity = "critical"                              # info, warning or critical
where = "topic LIKE 'orders%' AND size(isr) < 2"   # Spark SQL over the columns of the view
message = "in sync {isr} of {replicas}"            # columns in braces; of partitions, numbers and lists of them
view = "partitions"                                # may be left out; the others are those of kreplica/fleet/views
why = "an order must outlive a broker"             # may be left out
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING

from kreplica.errors import InputError, as_clause, os_reason
from kreplica.fleet.judging import FLEET_RULES
from kreplica.fleet.views.catalogue import BY_NAME
from kreplica.health.rules import ALL_RULES, Severity
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.schema import PARTITIONS, Field, Kind
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.system.untrusted_files import MalformedError, decode_toml, read_whole

if TYPE_CHECKING:
    from kreplica.history.tables import HistoryTable

MOST_RULES = 12
"""Rules that a file may have: so many conditions fit beside those of all other rules (analyzers/judging/flags.py)."""

LIVE = "live_brokers"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_KEYS = ("name", "severity", "where", "message", "why", "view")
_NEEDED = _KEYS[:4]
_REFUSED = re.compile(
    r"--|/\*|\b(?:select|using|(?:try_)?reflect|java_method|rand|randn|random|randstr|uniform|uuid|shuffle|sleep"
    r"|monotonically_increasing_id|spark_partition_id|input_file_\w+|raise_error|assert_true)\b"
    r"|(?<=\()\s*(?:from|table|values|with)\b",
    re.IGNORECASE,
)
"""Words of SQL that read other tables, call Java, raise errors or tell something else each time that they are asked."""


PARTITIONS_VIEW = PARTITIONS.name
"""The view of rules that name none: dumps have it, too."""


def view_names() -> list[str]:
    """Names of all views."""
    return [PARTITIONS_VIEW, *BY_NAME]


def view_fields(view: str = PARTITIONS_VIEW) -> Mapping[str, Field]:
    """The columns over which a rule is written.

    Of partitions: what dumps and histories both tell, and what follows. These are the columns of the partition but for
    its offsets, the ids of the brokers that are alive, each predicate by name.

    Args:
        view: Name of the view.
    """
    if view != PARTITIONS_VIEW:
        return BY_NAME[view].columns
    table = _history_table()
    fields = {field.name: field for field in PARTITIONS.fields if field.name not in table.measured}
    doc = "ids of the brokers that are alive"
    fields[LIVE] = Field(LIVE, Kind.INT_LIST, nullable=True, doc=doc)
    for predicate in PREDICATES:
        fields[predicate.name] = Field(predicate.name, Kind.BOOL, nullable=True, doc=predicate.meaning)
    return MappingProxyType(fields)


def _history_table() -> HistoryTable:
    from kreplica.history.tables import TABLES

    return next(table for table in TABLES if table.of is PARTITIONS)


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A rule of a user on partitions, or on another view.

    Args:
        name: Its name; no other rule has it.
        severity: Of its findings.
        where: Condition in Spark SQL over ``view_fields``; a finding where it is true.
        message: Text of a finding, with ``{column}`` in place of values.
        why: Reason for the rule; may be empty.
        file: The file that has it.
        view: Name of the view.
    """

    name: str
    severity: Severity
    where: str
    message: str
    why: str
    file: str
    view: str = PARTITIONS_VIEW

    @property
    def facts(self) -> tuple[str, ...]:
        """Columns that the message names, each once."""
        names = (field for _, field, _, _ in Formatter().parse(self.message) if field is not None)
        return tuple(dict.fromkeys(names))

    def refused(self, reason: str, fix: str = "") -> InputError:
        """The error that says why the rule cannot be used."""
        return InputError(self.file, f"rule {self.name}", reason, fix)


def read_rules(path: Path) -> tuple[CustomRule, ...]:
    """The rules of a file.

    Args:
        path: The file, in TOML.

    Raises:
        InputError: It cannot be read, has no rule, or one that cannot be used.
    """
    try:
        document = decode_toml(read_whole(path).decode("utf-8").replace("\r\n", "\n"))
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start}", "it is no UTF-8") from None
    except MalformedError as error:
        raise InputError(str(path), "", f"it is no TOML: {as_clause(str(error))}") from None
    return _rules_of(document, str(path))


def _rules_of(document: Mapping[str, object], file: str) -> tuple[CustomRule, ...]:
    _refuse_unknown(document, ("rules",), file, "")
    tables = document.get("rules")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(file, "", "no rule is in it", "write [[rules]] with name, severity, where and message")
    if len(tables) > MOST_RULES:
        reason = f"it has {len(tables)} rules, and one audit takes {MOST_RULES}"
        raise InputError(file, "", reason, "audit once for each part of them")
    found: list[CustomRule] = []
    for number, table in enumerate(tables, start=1):
        found.append(_rule_of(table, file, f"rule {number}", [rule.name for rule in found]))
    return tuple(found)


def _rule_of(table: Mapping[str, object], file: str, place: str, before: Sequence[str]) -> CustomRule:
    _refuse_unknown(table, _KEYS, file, place)
    for key in _NEEDED:
        if key not in table:
            raise InputError(file, place, f"it has no {key}")
    texts = {key: value for key, value in table.items() if isinstance(value, str)}
    for key in table:
        if not texts.get(key, "").strip():
            raise InputError(file, place, f"its {key} is no text, or empty")
    if not _NAME.fullmatch(texts["name"]):
        reason = f"{texts['name']!r} is no name of a rule"
        raise InputError(file, place, reason, "use small letters, digits and hyphens")
    if texts.get("view", PARTITIONS_VIEW) not in view_names():
        reason = f"there is no view {texts['view']}"
        raise InputError(file, f"rule {texts['name']}", reason, nearest_or_known(texts["view"], view_names()))
    rule = CustomRule(file=file, **{**texts, "severity": _severity(texts, file), "why": texts.get("why", "")})  # type: ignore[arg-type]
    if rule.name in before:
        raise rule.refused("two rules of the file have this name")
    if rule.name in {one.name for one in (*ALL_RULES, *FLEET_RULES)}:
        raise rule.refused("kreplica has a rule of this name", "choose another name")
    _check_words(rule)
    return rule


def _severity(texts: Mapping[str, str], file: str) -> Severity:
    words = [severity.word for severity in Severity]
    if texts["severity"] not in words:
        reason = f"there is no severity {texts['severity']}"
        raise InputError(file, f"rule {texts['name']}", reason, nearest_or_known(texts["severity"], words))
    return Severity(texts["severity"])


def _check_words(rule: CustomRule) -> None:
    word = _REFUSED.search(_without_strings(rule.where))
    if word is not None:
        reason = f"{word[0].strip().lower()} is not taken in where: a rule judges one row by its columns"
        raise rule.refused(reason)
    try:
        names = rule.facts
    except ValueError as error:
        raise rule.refused(f"its message is wrong: {as_clause(str(error))}", "write {{ for a brace") from None
    odd = [field for _, field, form, conversion in Formatter().parse(rule.message) if form or conversion]
    if odd:
        raise rule.refused(f"its message names {odd[0]} with a format or a conversion", "write the name alone")
    fields = view_fields(rule.view)
    kinds = (Kind.INT32, Kind.INT_LIST) if rule.view == PARTITIONS_VIEW else tuple(Kind)
    shown = [name for name, field in fields.items() if field.kind in kinds]
    for name in names:
        if name not in fields:
            raise rule.refused(f"its message names {name or 'nothing'} in braces", nearest_or_known(name, shown))
        if name not in shown:
            raise rule.refused(
                f"its message names {name}, and messages show numbers and lists", nearest_or_known(name, shown)
            )


def _without_strings(text: str) -> str:
    """The condition without what stands in quotes, so that a topic may be called as it likes."""
    return re.sub(r"'(?:[^'\\]|\\.|'')*+'|\"(?:[^\"\\]|\\.)*+\"", "''", text)


def _refuse_unknown(table: Mapping[str, object], known: Collection[str], file: str, place: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(file, place, f"unknown key {key}", nearest_or_known(key, known))
