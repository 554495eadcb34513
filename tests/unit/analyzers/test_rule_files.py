"""Rules in a user's file: what is taken, and what each that is not is told, before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.judging.findings import Judged
from analyzers.judging.flags import MOST
from analyzers.rules.rule_files import MOST_RULES, read_rules, view_fields, view_names
from kreplica.errors import InputError
from kreplica.health.rules import ALL_RULES, Severity

THIN = {"name": "thin", "severity": "critical", "where": "size(isr) < 2", "message": "in sync {isr} of {replicas}"}


def written(folder: Path, *tables: dict[str, object]) -> Path:
    lines = [
        f"[[rules]]\n{''.join(f'{key} = {_toml(value)}{chr(10)}' for key, value in one.items())}" for one in tables
    ]
    path = folder / "rules.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _toml(value: object) -> str:
    return f"'''{value}'''" if isinstance(value, str) else str(value).lower()


def test_a_rule_has_its_name_severity_condition_message_and_the_columns_that_the_message_names(tmp_path: Path) -> None:
    path = written(
        tmp_path, {**THIN, "why": "it must outlive a broker"}, {**THIN, "name": "second-1", "message": "{{}}"}
    )
    first, second = read_rules(path)
    assert (first.name, first.severity, first.where) == ("thin", Severity.CRITICAL, "size(isr) < 2")
    assert (first.facts, first.why, first.file) == (("isr", "replicas"), "it must outlive a broker", str(path))
    assert (second.facts, second.why) == ((), "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"severity": "warn"}, "rule thin; there is no severity warn; did you mean warning?"),
        ({"name": "under-min-isr"}, "kreplica has a rule of this name; choose another name"),
        ({"name": "Thin One"}, "'Thin One' is no name of a rule"),
        ({"message": "{lead}"}, "its message names lead in braces; did you mean leader"),
        ({"message": "{topic_id}"}, "its message names topic_id, and messages show numbers and lists"),
        ({"message": "{leader"}, "its message is wrong: expected '}' before end of string; write {{ for a brace"),
        ({"message": "{}"}, "its message names nothing in braces"),
        ({"message": "{isr[0]}"}, "its message names isr[0] in braces; did you mean isr"),
        ({"message": "{leader:>99999999}"}, "its message names leader with a format or a conversion"),
        ({"message": "{leader!r}"}, "its message names leader with a format or a conversion"),
        ({"where": " "}, "rule 1; its where is no text, or empty"),
        ({"where": True}, "rule 1; its where is no text, or empty"),
        ({"view": "topic"}, "rule thin; there is no view topic; did you mean topics?"),
        ({"view": "disks", "message": "{isr}"}, "its message names isr in braces"),
        ({"view": "disks", "message": "{usable}"}, "its message names usable in braces; did you mean usable_bytes"),
        ({"when": "true"}, "rule 1; unknown key when; did you mean where?"),
        ({"where": "exists (SELECT 1)"}, "select is not taken in where"),
        ({"where": "leader in (from parquet.`x`)"}, "from is not taken in where"),
        ({"where": "reflect('java.lang.System', 'exit', 1) = 'x'"}, "reflect is not taken in where"),
        ({"where": "rand() < 0.5"}, "rand is not taken in where"),
        ({"where": "true -- or not"}, "-- is not taken in where"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(change: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_rules(written(tmp_path, {**THIN, **change}))
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"cannot read {tmp_path / 'rules.toml'}, rule ")


def test_a_rule_over_another_view_shows_any_of_its_columns(tmp_path: Path) -> None:
    path = written(tmp_path, {**THIN, "view": "configs", "where": "true", "message": "{entity} {name} {value}"})
    (rule,) = read_rules(path)
    assert (rule.view, rule.facts) == ("configs", ("entity", "name", "value"))


def test_words_in_quotes_and_distinct_from_are_no_queries(tmp_path: Path) -> None:
    where = "topic = 'select -- from' AND leader IS DISTINCT FROM replicas[0] AND topic <> \"rand\""
    assert read_rules(written(tmp_path, {**THIN, "where": where}))[0].where == where


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no rule is in it; write [[rules]]"),
        ("rules = 1", "no rule is in it"),
        ("rules = [1]", "no rule is in it"),
        ("[[rule]]\nname = 'x'", "unknown key rule; did you mean rules?"),
        ("[[rules]]\nname = 'x'", "rule 1; it has no severity"),
        ("[[rules]", "it is no TOML"),
    ],
)
def test_a_file_without_rules_is_refused(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_rules(path)
    assert said in str(refused.value)


def test_two_rules_of_one_name_and_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two rules of the file have this name"):
        read_rules(written(tmp_path, THIN, THIN))
    many = [{**THIN, "name": f"thin-{number}"} for number in range(MOST_RULES + 1)]
    with pytest.raises(InputError, match=f"it has {MOST_RULES + 1} rules, and one audit takes {MOST_RULES}"):
        read_rules(written(tmp_path, *many))
    assert len(read_rules(written(tmp_path, *many[:-1]))) == MOST_RULES


def test_as_many_rules_as_a_file_may_have_fit_beside_all_others() -> None:
    own = Judged(frozenset(rule.name for rule in ALL_RULES)).flags.conditions
    assert len(list(own)) + MOST_RULES <= MOST


def test_every_column_of_the_view_is_documented(root: Path) -> None:
    text = (root / "docs/fleet.md").read_text(encoding="utf-8")
    section = text.partition("### Rules of your own")[2].partition("\n## ")[0]
    for view in view_names():
        part = section.partition(f"`{view}`")[2]
        assert [name for name in view_fields(view) if f"`{name}`" not in part] == []
    assert {"offset", "end_offset"}.isdisjoint(view_fields())
