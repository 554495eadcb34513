"""Answers of Kafka's classes tell where they are from."""

from __future__ import annotations

import pytest
from kafka_classes import ANSWERS, Program, answers, jar_sums, programs


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.file}-{program.source}")
def test_a_file_has_the_answers_of_the_releases_that_were_asked(program: Program) -> None:
    asked = {release for one in programs() if one.file == program.file for release in one.releases}
    assert {release for release, _ in answers(program.file)} == asked
    assert asked <= set(jar_sums())
    assert (ANSWERS / f"{program.source}.java").is_file()


def test_the_jars_of_every_release_are_known_by_their_sums() -> None:
    for release, jars in jar_sums().items():
        assert any(name.startswith("kafka_2.") and name.endswith(f"-{release}.jar") for name in jars), release
        assert f"kafka-clients-{release}.jar" in jars
        assert all(len(sha256) == 64 for sha256 in jars.values()), release
