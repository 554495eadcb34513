"""Error codes are Kafka's: against the table of kafka-python, which names 6 and 0 otherwise."""

from __future__ import annotations

import pytest
from kafka.errors import for_code

from kreplica.engine.rules.error_codes import ErrorCode

OTHER_NAMES = {"NO_ERROR": "NONE", "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER"}


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_code_is_kafkas(code: ErrorCode) -> None:
    name = str(for_code(int(code)).message)
    assert OTHER_NAMES.get(name, name) == code.name
