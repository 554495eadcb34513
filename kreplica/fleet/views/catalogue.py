"""Every view of a history, besides that of partitions, which an audit has of dumps as well."""

from __future__ import annotations

from kreplica.fleet.views.samples import DISKS, OFFSETS
from kreplica.fleet.views.states import view_of_states
from kreplica.fleet.views.topics import TOPICS
from kreplica.fleet.views.view import View
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, LOG_DIRS, QUORUM

VIEWS: tuple[View, ...] = (
    TOPICS,
    view_of_states(BROKERS, "a broker", ("down_since_ms",)),
    view_of_states(LOG_DIRS, "a log directory"),
    DISKS,
    view_of_states(CONFIGS, "a setting of a topic or a broker"),
    view_of_states(GROUPS, "a partition that a consumer group has committed"),
    OFFSETS,
    view_of_states(QUORUM, "a node of the metadata quorum"),
)
BY_NAME = {view.name: view for view in VIEWS}
