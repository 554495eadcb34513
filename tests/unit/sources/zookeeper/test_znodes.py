"""Values of Kafka's znodes, each decoded from its bytes alone (kafka.zk.ZkData)."""

from __future__ import annotations

import json

import pytest

from kreplica.sources.zookeeper.znodes import (
    LARGEST,
    Assignment,
    BrokerRegistration,
    ControllerRegistration,
    FinalizedFeatures,
    PartitionState,
    ZnodeError,
    decode,
    decode_epoch,
    decode_id,
)


@pytest.mark.parametrize("data", [None, b""])
def test_an_empty_znode_has_no_value(data: bytes | None) -> None:
    with pytest.raises(ZnodeError, match=r"^it is empty$"):
        decode(data, ControllerRegistration)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"brokerid": 1', "input data was truncated"),
        (b"brokerid=1", "invalid character"),
        (b"{}", "missing required field `brokerid`"),
        (b'{"brokerid": "1"}', "expected `int`, got `str`"),
        (b'{"more": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_value_that_is_not_kafkas_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ZnodeError, match=reason):
        decode(data, ControllerRegistration)


def test_fields_of_newer_versions_are_left_alone() -> None:
    data = b'{"version": 9, "brokerid": 3, "timestamp": "0", "kraftControllerEpoch": 5, "more": [1]}'
    found = decode(data, ControllerRegistration)
    assert (found.brokerid, found.kraft_epoch) == (3, 5)


def test_fields_that_older_versions_lack_have_the_value_that_they_stand_for() -> None:
    assert decode(b'{"version": 1, "brokerid": 3, "timestamp": "0"}', ControllerRegistration).kraft_epoch == -1
    assignment = decode(b'{"version": 1, "partitions": {"0": [1, 2]}}', Assignment)
    assert (assignment.adding_replicas, assignment.removing_replicas, assignment.topic_id) == (None, None, None)
    state = decode(b'{"leader": 1, "leader_epoch": 4, "isr": [1]}', PartitionState)
    assert (state.controller_epoch, state.leader_recovery_state) == (-1, 0)


def test_ids_are_those_of_kafka() -> None:
    """An int of Java, from 0 on; a leader may be -1, none."""
    state = {"leader": -1, "leader_epoch": 0, "isr": [0, 2**31 - 1]}
    assert decode(json.dumps(state).encode(), PartitionState).isr == [0, 2**31 - 1]
    for beyond in (-1, 2**31):
        with pytest.raises(ZnodeError):
            decode(json.dumps({**state, "isr": [beyond]}).encode(), PartitionState)


@pytest.mark.parametrize(
    ("registration", "address"),
    [
        ({"host": "one", "port": 9092, "endpoints": ["SSL://two:9093"]}, ("one", 9092)),
        ({"host": "one", "port": -1, "endpoints": ["SSL://two:9093", "SASL_SSL://three:9094"]}, ("two", 9093)),
        ({"host": "one", "port": 0, "endpoints": ["SSL://two:9093"]}, ("two", 9093)),
        ({"host": "one", "port": 1}, ("one", 1)),
        ({"host": None, "port": 9092, "endpoints": ["SSL://two:9093"]}, ("two", 9093)),
        ({"endpoints": ["SSL://[::1]:9093"]}, ("::1", 9093)),
        (
            {"endpoints": ["SSL://two", "SSL://:9093", "SSL://two:x", "SSL://two:\u00b2", "SSL://two:9094"]},
            ("two", 9094),
        ),
        ({"endpoints": ["two:9093"]}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_the_address_of_a_broker(registration: dict[str, object], address: tuple[str | None, int | None]) -> None:
    """Without a plaintext listener Kafka writes null and -1 for host and port (BrokerIdZNode.encode)."""
    assert decode(json.dumps(registration).encode(), BrokerRegistration).address == address


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        ({"version": 1, "status": 1, "features": {"a": {"min_version_level": 1, "max_version_level": 7}}}, {"a": 7}),
        ({"version": 2, "status": 1, "features": {"a": 3, "b": 0}}, {"a": 3, "b": 0}),
        ({"version": 2, "status": 0, "features": {"a": 3}}, {}),
        ({"version": 2, "features": {"a": 3}}, {}),
        ({"version": 2, "status": 1}, {}),
    ],
)
def test_features_count_where_they_are_enabled(value: dict[str, object], levels: dict[str, int]) -> None:
    """FeatureZNodeStatus: 0 Disabled, 1 Enabled."""
    assert decode(json.dumps(value).encode(), FinalizedFeatures).levels == levels


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("2147483647", LARGEST),
        ("2147483648", None),
        ("9999999999", None),
        ("0000000012", 12),
        ("00000000012", None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        (" 1", None),
        ("one", None),
        ("\u00b2", None),  # superscript two: a digit, and none that int() reads
        ("\u0663", None),  # the three of Arabic, which int() reads
        ("9" * 5000, None),  # int() reads no more than 4,300 digits
    ],
)
def test_a_number_in_a_name_is_of_ascii_digits_and_an_int_of_java(text: str, number: int | None) -> None:
    assert decode_id(text) == number


@pytest.mark.parametrize(("data", "epoch"), [(None, None), (b"0", 0), (b"17", 17), (b"2147483647", 2147483647)])
def test_the_epoch_of_the_controller_is_a_number_in_decimal(data: bytes | None, epoch: int | None) -> None:
    assert decode_epoch(data) == epoch


@pytest.mark.parametrize("data", [b"", b"x", b"-1", b"\xb2", b'"7"', b"2147483648"])
def test_an_epoch_that_is_no_number_is_refused_with_what_was_found(data: bytes) -> None:
    with pytest.raises(ZnodeError) as caught:
        decode_epoch(data)
    assert str(caught.value) == f"expected a number, found {data!r}"


def test_of_a_long_epoch_the_beginning_is_shown() -> None:
    with pytest.raises(ZnodeError) as caught:
        decode_epoch(b"0123456789abcdefghijklmn")
    assert str(caught.value) == "expected a number, found b'0123456789abcdefghij'"
