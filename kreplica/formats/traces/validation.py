"""Validation of a cluster's own trace: the metadata log of KRaft, or the transaction logs of ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kreplica.engine.settings import Value
from kreplica.errors import UsageError
from kreplica.formats.traces.kraft.validation import Validation, validate_metadata_log
from kreplica.formats.traces.zookeeper.validation import transaction_logs, validate_transaction_logs


def whatif_validate(
    paths: Sequence[str], kafka_version: str | None = None, settings: Mapping[str, Value] | None = None
) -> Validation:
    """Judges the decisions of a cluster's controllers by the engine's rules.

    Args:
        paths: Metadata logs of KRaft nodes, directories with some, segments or checkpoints; or ``version-2`` of a
            ZooKeeper server, a directory above it, or its files ``log.ZXID``.
        kafka_version: Release of the KRaft controllers; None for what the log says of it.
        settings: Timers of a KRaft cluster, ``broker.session.timeout.ms`` and ``replica.lag.time.max.ms``: a change
            that comes sooner is refused. Where one is not given, what comes sooner than its default is a warning.

    Raises:
        UsageError: The release is not known, a setting is no timer, or the logs are of several clusters.
        InputError: There is no log, it cannot be read, or it is older than the engine's rules.
    """
    found = transaction_logs(paths)
    if not found:
        return validate_metadata_log(paths, kafka_version, settings)
    if settings:
        raise UsageError("timers are not judged in ZooKeeper's transaction logs", "", "leave --set out")
    return validate_transaction_logs(found)
