"""Control records: records that brokers and the quorum write among the data of a log.

    key      | version int16 | type int16 |
    type     0 ABORT, 1 COMMIT     value: | version int16 | coordinator epoch int32 |        end of a transaction
             2 LEADER_CHANGE       value: flexible message, as are those below              KRaft
             3 SNAPSHOT_HEADER, 4 SNAPSHOT_FOOTER
             5 KRAFT_VERSION, 6 KRAFT_VOTERS                                                KIP-853

Kafka: org.apache.kafka.common.record.ControlRecordType, ControlRecordUtils, EndTransactionMarker.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kreplica.formats.schema import Array, Field, Fields, SchemaError, message_reader

_KEY = struct.Struct(">hh")
_VERSION = struct.Struct(">h")

ABORT, COMMIT = 0, 1
"""Types of the markers that end a transaction."""

LEADER_CHANGE: Final = "LEADER_CHANGE"
SNAPSHOT_HEADER: Final = "SNAPSHOT_HEADER"
SNAPSHOT_FOOTER: Final = "SNAPSHOT_FOOTER"
KRAFT_VERSION: Final = "KRAFT_VERSION"
KRAFT_VOTERS: Final = "KRAFT_VOTERS"

_VOTER = Array((Field("voterId", "int32"), Field("voterDirectoryId", "uuid", since=1)))
_VERSIONED = Field("version", "int16")
_VOTERS = Array(
    (
        Field("voterId", "int32"),
        Field("voterDirectoryId", "uuid"),
        Field("endpoints", Array((Field("name", "string"), Field("host", "string"), Field("port", "uint16")))),
        Field("kRaftVersionFeature", (Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16"))),
    )
)


@dataclass(frozen=True, slots=True)
class _Form:
    name: str
    newest: int
    fields: Fields
    flexible: bool = True


_MARKER: Fields = (_VERSIONED, Field("coordinatorEpoch", "int32"))
_FORMS: Mapping[int, _Form] = {
    ABORT: _Form("ABORT", 0, _MARKER, flexible=False),
    COMMIT: _Form("COMMIT", 0, _MARKER, flexible=False),
    2: _Form(
        LEADER_CHANGE,
        1,
        (_VERSIONED, Field("leaderId", "int32"), Field("voters", _VOTER), Field("grantingVoters", _VOTER)),
    ),
    3: _Form(SNAPSHOT_HEADER, 0, (_VERSIONED, Field("lastContainedLogTimestamp", "int64"))),
    4: _Form(SNAPSHOT_FOOTER, 0, (_VERSIONED,)),
    5: _Form(KRAFT_VERSION, 0, (_VERSIONED, Field("kRaftVersion", "int16"))),
    6: _Form(KRAFT_VOTERS, 0, (_VERSIONED, Field("voters", _VOTERS))),
}


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """One decoded control record.

    Args:
        type: Its type; ``CONTROL_9`` where that is not known.
        data: Its fields by name; None where type or version are not known.
    """

    type: str
    data: Mapping[str, Any] | None


def decode_control_record(key: bytes, value: bytes) -> ControlRecord:
    """Decodes key and value of a record of a control batch.

    Raises:
        SchemaError: They are not what the type says.
    """
    if len(key) < _KEY.size:
        raise SchemaError(0, f"a control key of {len(key)} bytes, not {_KEY.size}")
    _, number = _KEY.unpack_from(key)
    form = _FORMS.get(number)
    if form is None:
        return ControlRecord(f"CONTROL_{number}", None)
    if len(value) < _VERSION.size:
        raise SchemaError(0, f"cut off in the version of {form.name}")
    version = _VERSION.unpack_from(value)[0]
    if not 0 <= version <= form.newest:
        return ControlRecord(form.name, None)
    data, _ = message_reader(form.fields, version, flexible=form.flexible)(value, 0)
    return ControlRecord(form.name, data)
