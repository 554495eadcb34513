"""Answers of Kafka's classes tell where they are from."""

from __future__ import annotations

import pytest
from releases.boundaries import PLAYED, ROWS, SOURCE, Boundary, boundaries, cases_of, comes_out_otherwise
from releases.golden_tables import BEGIN, END, HELD, PAGE, WHOLE, classes_of, groups, table, version_of
from releases.kafka_classes import ANSWERS, Program, answers, jar_sums, programs


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.file}-{program.source}")
def test_a_file_has_the_answers_of_the_releases_that_were_asked(program: Program) -> None:
    asked = {release for one in programs() if one.file == program.file for release in one.releases}
    assert {release for release, _ in answers(program.file)} == asked
    assert asked <= set(jar_sums())
    assert (ANSWERS / f"{program.source}.java").is_file()


def test_the_jars_of_every_release_are_known_by_their_sums() -> None:
    for release, jars in jar_sums().items():
        assert any(name.startswith("kafka_2.") and name.endswith(f"-{release}.jar") for name in jars), release
        clients = "0.8.2.2" if release == "0.8.1.1" else release  # the first that has any
        assert f"kafka-clients-{clients}.jar" in jars
        assert all(len(sha256) == 64 for sha256 in jars.values()), release


def test_the_table_of_the_page_is_what_the_answers_say() -> None:
    """Or run ``make golden FILE=NAME.txt``, which writes it."""
    told = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert told == f"\n{table()}"
    assert {program.file for program in programs()} <= set(HELD)


@pytest.mark.parametrize(("file", "field"), [(file, field) for file in HELD for field in HELD[file][1]])
def test_releases_that_answer_alike_have_one_value_of_each_rule_that_they_tell_apart(file: str, field: str) -> None:
    """A rule of the engine that changed where Kafka's class did not would show here, or one that never changed."""
    if file not in WHOLE:
        values = [{getattr(version_of(file, release), field) for release in group} for group in groups(file)]
        assert [len(one) for one in values] == [1] * len(values)
    assert any(one.field == field and file in classes_of(one) for one in boundaries())


def test_every_rule_that_changed_with_a_release_is_held_by_something() -> None:
    keys = {one.key for one in boundaries()}
    held = {one.key for one in boundaries() if classes_of(one)} | set(ROWS) | set(PLAYED)
    assert keys - held == set(SOURCE), "what nothing else holds names Kafka's source, and only that"
    assert set(ROWS) | set(PLAYED) <= keys
    assert all(len(source) > 10 for source in SOURCE.values())


@pytest.mark.one_python
@pytest.mark.parametrize("boundary", [one for one in boundaries() if one.key in PLAYED], ids=lambda one: one.key)
def test_a_scenario_comes_out_otherwise_without_the_change(boundary: Boundary) -> None:
    assert any(comes_out_otherwise(boundary, *one) for one in cases_of(boundary, PLAYED[boundary.key]))
