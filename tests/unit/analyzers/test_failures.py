"""Failures of Spark in the words of kreplica; the cause that is known wins over what the connection says."""

from __future__ import annotations

import pytest

from analyzers.failures import explained
from kreplica.errors import UnreachableError


@pytest.mark.parametrize(
    ("lost", "told"),
    [("its JVM was ended by SIGKILL", "its JVM was ended by SIGKILL"), ("", "[Errno 111] Connection refused")],
)
def test_why_the_jvm_is_gone_is_told_before_what_the_connection_says(lost: str, told: str) -> None:
    with pytest.raises(UnreachableError) as raised, explained(lost=lambda: lost):
        raise ConnectionRefusedError(111, "Connection refused")
    assert str(raised.value) == f"Spark went away before the work was done; {told}; try again"
