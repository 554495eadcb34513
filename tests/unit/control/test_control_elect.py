"""Elections that are refused before anything is sent."""

from __future__ import annotations

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.control.elect import elect_preferred
from kreplica.errors import ChangeRefusedError, ConfigurationError, ExitCode

NOWHERE = "127.0.0.1:1"


def test_a_read_only_context_is_not_changed() -> None:
    with pytest.raises(ChangeRefusedError, match="prod is not changed; its context says read_only") as caught:
        elect_preferred(ClusterHandle("prod", NOWHERE, read_only=True), [("t", 0)])
    assert caught.value.exit_code is ExitCode.CHANGE_REFUSED


def test_a_dump_is_not_changed() -> None:
    with pytest.raises(ChangeRefusedError, match="it is a dump"):
        elect_preferred(ClusterHandle("sample", dump="sample"), [("t", 0)])


def test_no_partitions_means_none_and_asks_nobody() -> None:
    assert elect_preferred(ClusterHandle("x", NOWHERE, timeout=0.1), []) == ()


def test_a_mechanism_that_librdkafka_lacks_is_told() -> None:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    with pytest.raises(ConfigurationError, match="GSSAPI"):
        elect_preferred(ClusterHandle("x", NOWHERE, properties=properties), [("t", 0)])
