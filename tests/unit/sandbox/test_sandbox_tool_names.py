"""Names under which Kafka's tools are known."""

from __future__ import annotations

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox.tools import main_class


@pytest.mark.parametrize("name", ["topics", "kafka-topics", "kafka-topics.sh", "topics.sh"])
def test_a_tool_is_named_with_or_without_what_its_script_has_around_it(name: str) -> None:
    assert main_class(name, "4.3.1") == "org.apache.kafka.tools.TopicCommand"


def test_a_class_is_run_as_it_is_named() -> None:
    assert main_class("org.apache.kafka.tools.TopicCommand", "4.3.1") == "org.apache.kafka.tools.TopicCommand"


def test_no_such_tool() -> None:
    with pytest.raises(SandboxError, match="Kafka has no tool 'no-such'"):
        main_class("kafka-no-such", "4.3.1")
