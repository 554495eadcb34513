"""Cordons: log directories and brokers that take no new replicas (KIP-1066, Kafka 4.3).

A broker tells of each directory whether it is cordoned; the metadata log tells whether all directories of a broker are.
Where neither is known, the setting ``cordoned.log.dirs`` of the broker counts, as far as the snapshot has settings.
Kafka keeps new partitions away from a broker all of whose directories are cordoned, and still takes reassignments to
one (up to 4.3.1): whoever plans moves has to look.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Mask

SETTING: Final = "cordoned.log.dirs"
EVERY_DIRECTORY: Final = "*"


def cordoned_directories(snapshot: ClusterSnapshot) -> Mask:
    """Rows of the table of log directories that are cordoned; one of which that is not known is not."""
    told = snapshot.log_dirs.booleans("cordoned")
    found = told.is_true().copy()
    settings = _settings(snapshot)
    if not settings:
        return found
    brokers, paths = snapshot.log_dirs["broker"].to_list(), snapshot.log_dirs["path"].to_list()
    for row in np.flatnonzero(told.is_null()).tolist():
        named = settings.get(str(brokers[row]), settings.get("", ()))
        found[row] = EVERY_DIRECTORY in named or str(paths[row]) in named
    return found


def cordoned_brokers(snapshot: ClusterSnapshot) -> set[int]:
    """Brokers that take no new replicas: every directory of theirs that is online is cordoned."""
    online = snapshot.log_dirs.strings("error").codes < 0
    brokers, cordoned = snapshot.log_dirs.integers("broker").values, cordoned_directories(snapshot)
    listed = set(brokers[online].tolist())
    found = listed - set(brokers[online & ~cordoned].tolist())
    registered = snapshot.brokers.integers("broker").values
    told = snapshot.brokers.booleans("cordoned")
    found |= set(registered[told.is_true()].tolist()) - listed
    settings = _settings(snapshot)
    silent = set(registered[told.is_null()].tolist()) - listed
    return found | {one for one in silent if EVERY_DIRECTORY in settings.get(str(one), settings.get("", ()))}


def _settings(snapshot: ClusterSnapshot) -> dict[str, tuple[str, ...]]:
    """Cordoned directories by the settings of each broker, and under the empty name those of all brokers."""
    names = snapshot.configs.strings("name")
    rows = np.flatnonzero(names.codes == _code(names.dictionary))
    found = {}
    for row in map(snapshot.configs.row, rows.tolist()):
        if row["entity_type"] in ("broker", "broker-default") and row["value"] is not None:
            found[str(row["entity"])] = tuple(one.strip() for one in str(row["value"]).split(",") if one.strip())
    return found


def _code(dictionary: tuple[str, ...]) -> int:
    """Position of the setting among the names, one that no row has where it is not there."""
    return dictionary.index(SETTING) if SETTING in dictionary else len(dictionary)
