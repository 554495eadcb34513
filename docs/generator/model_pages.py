"""Pages about things that commands share: predicates, rules, the dump layout, answers and exit codes."""

from __future__ import annotations

import re

from markdown import code, page, table

from commands.shared.printing.output import OutputFormat
from kreplica.advice.advise import OWN_RULES
from kreplica.advice.model import ClientRule, Rule, TopicRule
from kreplica.errors import ExitCode
from kreplica.fleet.judging import FLEET_RULES
from kreplica.fleet.rule import FleetRule
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.schema import SCHEMA_VERSION, TABLES, TableSchema

EXIT_CODES = {
    ExitCode.OK: "Fine.",
    ExitCode.FINDINGS: "Findings: a health filter of describe matched, a rule was broken, the sandbox lost records.",
    ExitCode.USAGE: "An option, a setting or an input cannot be used, or the sandbox cannot do what was asked.",
    ExitCode.UNREACHABLE: "The cluster could not be reached, or refused the credentials.",
    ExitCode.CHANGE_REFUSED: "A change was refused, or only partly made.",
    ExitCode.INCOMPLETE: "Nothing worse was found, but something could not be read: hidden topics, brokers that did not"
    " answer, facts the source cannot know. A gate never gets 0 on incomplete data.",
    ExitCode.INTERNAL: "A defect of kreplica; the message says what to report.",
    ExitCode.INTERRUPTED: "Interrupted by Ctrl-C.",
}

FORMS = {
    OutputFormat.table: "For people; the default. Nothing is cut off when piped.",
    OutputFormat.json: "One object: `schema`, `clusters`, the rows under their name, `summary`, `warnings`.",
    OutputFormat.jsonl: "One row a line.",
    OutputFormat.csv: "A header and one line a row; null is empty, lists are joined by commas. Cells are the data as"
    " it is: one that begins with = or @ is a formula to a spreadsheet, so import such a file as text.",
    OutputFormat.markdown: "A table for an issue or a chat.",
    OutputFormat.parquet: "For other programs; redirect it to a file.",
}


def pages() -> dict[str, str]:
    """File name and text of each page."""
    return {
        "predicates.md": _predicates(),
        "rules.md": _rules(),
        "recommendations.md": _recommendations(),
        "dump-layout.md": _dump_layout(),
        "answers.md": _answers(),
    }


def _predicates() -> str:
    rows = [[code(known.name), known.meaning, known.source] for known in PREDICATES]
    return page(
        "Predicates",
        "Conditions on a partition, each declared once: describe evaluates it over arrays, audit over Spark columns."
        " Where Kafka has two definitions of one word, both stand here. A predicate is null, neither true nor false,"
        " where the source does not know a fact it needs; such partitions are counted as unknown.",
        table(["predicate", "true when", "as in"], rows),
    )


def _recommendations() -> str:
    rows = [
        [code(rule.name), _scope(rule), code(rule.setting), rule.severity.word, rule.why, rule.price, rule.source]
        for rule in OWN_RULES
    ]
    return page(
        "Recommendations",
        "The rules of [recommend](recommend.md). The severity is the usual one: where the facts make it worse or better"
        " a row has its own. A rule with the name of one of [check's](rules.md) has the same condition.",
        table(["rule", "judges", "setting", "severity", "why", "price", "source"], rows),
    )


def _scope(rule: Rule) -> str:
    if isinstance(rule, ClientRule):
        return rule.scope.value
    return "topic" if isinstance(rule, TopicRule) else "brokers"


def _template(message: str) -> str:
    """A rule's message as it reads of several things: ``{partitions:partition}`` is ``{partitions} partitions``."""
    return re.sub(r"\{(\w+):([^}]+)\}", r"{\1} \2s", message)


def _rules() -> str:
    rules = [(rule.name, rule.severity, _template(rule.message), rule.why) for rule in PARTITION_RULES]
    groups = [(rule.name, rule.severity, _template(rule.message), rule.why) for rule in GROUP_RULES]
    header = ["rule", "severity", "message", "why it matters"]
    raised = [[code(rule.name), rule.escalated.word] for rule in PARTITION_RULES if rule.escalates is not None]
    return page(
        "Rules",
        "What `kreplica check` and `kreplica audit` judge by. Their names are fixed: scripts filter by them with"
        " `--rule`.",
        "## Broken by a partition",
        table(header, [[code(name), severity.word, message, why] for name, severity, message, why in rules]),
        "In the worse case that its reason names, a rule is more severe:",
        table(["rule", "then"], raised),
        "## Broken by a topic or a broker",
        table(header, [[code(name), severity.word, message, why] for name, severity, message, why in groups]),
        "## Broken over time",
        "`kreplica audit` of a [history](../fleet.md#history) judges by these as well.",
        table(["rule", "severity", "what it means", "what to do"], [_over_time(rule) for rule in FLEET_RULES]),
    )


def _over_time(rule: FleetRule) -> list[str]:
    severity = rule.severity.word if rule.worst is None else f"{rule.severity.word} to {rule.worst.word}"
    return [code(rule.name), severity, rule.means, rule.do]


def _dump_layout() -> str:
    return page(
        "Dump layout",
        "`kreplica snapshot --out DIR` writes Parquet, one file for each snapshot and table:",
        "```\nDIR/TABLE/date=YYYY-MM-DD/cluster=ID/TAKEN_AT-RANDOM.parquet\nDIR/manifests/TAKEN_AT-ID-RANDOM.json\n```",
        "A snapshot exists when its manifest has been renamed into place; readers go by manifests only. A manifest"
        " names its files with their sizes and SHA-256 checksums, the tables that were empty, the cluster, and what"
        f" could not be read. Schema version {SCHEMA_VERSION}: readers ignore fields they do not know and take absent"
        " ones as null, so fields may be added; a changed meaning needs a new version.",
        *(block for schema in TABLES for block in _table(schema)),
    )


def _table(schema: TableSchema) -> list[str]:
    rows = [
        [code(field.name), field.kind.value, "yes" if field.nullable else "no", field.doc] for field in schema.fields
    ]
    head = f"Sorted by {', '.join(map(code, schema.sort))}."
    return [f"## {schema.name}", head, table(["field", "type", "may be null", "meaning"], rows)]


def _answers() -> str:
    assert set(EXIT_CODES) == set(ExitCode)
    assert set(FORMS) == set(OutputFormat)
    return page(
        "Answers and exit codes",
        "stdout carries the answer, stderr everything else: progress, warnings, errors as"
        " `error: what; why; what to do`. Progress is shown on a terminal only, and NO_COLOR is honoured.",
        "## Exit codes",
        table(["code", "meaning"], [[str(int(value)), meaning] for value, meaning in EXIT_CODES.items()]),
        "`--exit-zero` turns 1 into 0, for reports.",
        "## Forms",
        table(["`-o`", "form"], [[code(form.value), meaning] for form, meaning in FORMS.items()]),
        "Within `v1` of a schema fields are only added. Rows carry `cluster` when several clusters were read. With"
        " `-o json` an error is an object on stdout, too:"
        ' `{"schema": "kreplica/error/v1", "error": {"kind", "what", "why", "fix", "exit_code"}}`.',
    )
