"""The values of settings: refused is what Kafka refuses, and what would keep virtual time from going on."""

from __future__ import annotations

import pytest

from kreplica.engine.settings import MOST, SETTINGS, ValueType, parse
from kreplica.errors import UsageError

INTEGERS = sorted(name for name, setting in SETTINGS.items() if setting.type is ValueType.INTEGER)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_bounds(name: str) -> None:
    least = SETTINGS[name].least
    assert (parse(name, str(least)), parse(name, str(MOST))) == (least, MOST)
    for text in (str(least - 1), str(MOST + 1), "", "1.5", "one"):
        with pytest.raises(UsageError, match="cannot be set"):
            parse(name, text)


AT_EVERY_HEARTBEAT = "group.consumer.assignment.interval.ms"
"""May be 0, as in Kafka: nothing waits for it, heartbeats look whether it is over."""


@pytest.mark.parametrize("name", [name for name in INTEGERS if "interval" in name and name != AT_EVERY_HEARTBEAT])
def test_what_is_waited_for_again_and_again_takes_time(name: str) -> None:
    assert SETTINGS[name].least == 1


CHOICES = {
    "acks=5": "give 0 or 1 or all",
    "enable.idempotence=yes": "give true or false",
    "isolation.level=x": "give read_uncommitted or read_committed",
    "auto.offset.reset=by_duration:1h": "give earliest or latest or none or by_duration:PT1H",
    "min.insync.replicas=0": "give a whole number from 1 to 9223372036854775807",
}


@pytest.mark.parametrize("setting", CHOICES)
def test_what_else_can_be_given_is_said(setting: str) -> None:
    with pytest.raises(UsageError) as found:
        parse(*setting.split("="))
    assert str(found.value) == f"{setting} cannot be set; {CHOICES[setting]}"


def test_a_name_that_nothing_is_near_to_gives_a_few() -> None:
    with pytest.raises(UsageError) as found:
        parse("zzz", "1")
    told = str(found.value).replace(",", "").split()
    assert sum(name in told for name in SETTINGS) == 3
