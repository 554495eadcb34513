"""Groups as a coordinator has them after reading their records, which are laid out by hand from Kafka's schemas."""

from __future__ import annotations

import struct

import pytest

from kreplica.formats.consumer_offsets.groups import GroupReplay, GroupState
from kreplica.formats.damage import Damage


def text(value: str | None) -> bytes:
    """A string of a message that is not flexible."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def classic(members: list[str], *, changed: int | None, protocol_type: str = "connect") -> bytes:
    """GroupMetadataValue of version 3, or of version 1, which does not tell when the state changed."""
    version = 1 if changed is None else 3
    value = struct.pack(">h", version) + text(protocol_type) + struct.pack(">i", 7)
    value += text("sessioned" if members else None) + text(members[0] if members else None)
    value += b"" if changed is None else struct.pack(">q", changed)
    value += struct.pack(">i", len(members))
    for member in members:
        value += text(member) + (b"" if changed is None else text("static-" + member)) + text("client") + text("/host")
        value += struct.pack(">ii", 60_000, 10_000) + struct.pack(">i", 0) * 2
    return value


def groups_of(records: dict[bytes, bytes | None]) -> list[GroupState]:
    damage: list[Damage] = []
    replay = GroupReplay(last={key: (offset, value) for offset, (key, value) in enumerate(records.items())})
    found = list(replay.groups("f", damage))
    assert damage == []
    return found


@pytest.mark.parametrize(
    ("changed", "told"),
    [(1_700_000_000_000, 1_700_000_000_000), (0, 0), (-1, None), (None, None)],
)
def test_a_classic_group_is_stable_with_members(changed: int | None, told: int | None) -> None:
    (group,) = groups_of({b"\0\2" + text("app"): classic(["m1", "m2"], changed=changed)})
    assert (group.group, group.type, group.state, group.epoch) == ("app", "classic", "Stable", 7)
    assert (group.protocol_type, group.protocol, group.leader) == ("connect", "sessioned", "m1")
    assert group.changed == told
    assert [(one["member_id"], one["client_id"], one["client_host"]) for one in group.members] == [
        ("m1", "client", "/host"),
        ("m2", "client", "/host"),
    ]


def test_a_classic_group_without_members_is_empty() -> None:
    (group,) = groups_of({b"\0\2" + text("app"): classic([], changed=5, protocol_type="")})
    assert (group.state, group.epoch, group.members) == ("Empty", 7, ())
    assert (group.protocol_type, group.protocol, group.leader) == (None, None, None)


def test_a_group_that_was_removed_is_none() -> None:
    kept, removed = b"\0\2" + text("kept"), b"\0\2" + text("removed")
    assert [group.group for group in groups_of({removed: None, kept: classic([], changed=5)})] == ["kept"]
