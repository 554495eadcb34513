"""Error codes are Kafka's: against the table of kafka-python, which names three otherwise."""

from __future__ import annotations

import pytest

from kreplica.engine.rules.replication.error_codes import INVALID_METADATA, RETRIABLE, ErrorCode

OTHER_NAMES = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NO_ERROR": "NONE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
}


@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")  # kafka-python reads its schemas so
@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_code_is_kafkas(code: ErrorCode) -> None:
    from kafka.errors import for_code

    known = for_code(int(code))
    name = str(known.message)
    assert OTHER_NAMES.get(name, name) == code.name
    assert (code in RETRIABLE) is bool(getattr(known, "retriable", False))
    assert (code in INVALID_METADATA) is bool(getattr(known, "invalid_metadata", False))
