"""A broker on loopback with settings that can be read and changed, lists among them, as Kafka's brokers keep them.

ConfigurationControlManager.incrementalAlterConfigResource: APPEND leaves out what the list has, SUBTRACT of the last
entry leaves an empty list, and a change that is refused refuses the others of the same topic or broker.
"""

from __future__ import annotations

from typing import Any

from kreplica.sources.kafka.connections.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    MetadataRequest,
    MetadataResponse,
)
from loopback.answering_broker import AnsweringBroker

TOPIC, BROKER = 2, 4
TOPIC_ORIGIN, BROKER_ORIGIN, CLUSTER_ORIGIN, DEFAULT_ORIGIN = 1, 2, 3, 5
SET, DELETE, APPEND, SUBTRACT = range(4)
NONE, CLUSTER_AUTHORIZATION_FAILED, INVALID_CONFIG = 0, 31, 40


class SettingsBroker(AnsweringBroker):
    """One broker of a cluster.

    Args:
        node: Its id.
        stored: Settings by resource (type and name) and setting, shared by all brokers of the cluster.
        features: As of AnsweringBroker.

    Attributes:
        others: The other brokers, by id.
        refused: Error codes by resource.
    """

    def __init__(
        self, node: int, stored: dict[tuple[int, str], dict[str, str]], features: dict[str, int] | None = None
    ) -> None:
        self.node, self.stored = node, stored
        self.others: dict[int, SettingsBroker] = {}
        self.refused: dict[tuple[int, str], int] = {}
        answers = {
            MetadataRequest: self._metadata,
            DescribeConfigsRequest: self._described,
            IncrementalAlterConfigsRequest: self._altered,
        }
        super().__init__(answers, features=features)

    @property
    def changes(self) -> list[dict[tuple[int, str], list[tuple[str, int, str | None]]]]:
        """What each request asked to change: name, operation and value by resource."""
        return [
            {
                (one.resource_type, one.resource_name): [
                    (config.name, config.config_operation, config.value) for config in one.configs
                ]
                for one in request.resources
            }
            for request in self.asked
            if isinstance(request, IncrementalAlterConfigsRequest)
        ]

    def _metadata(self, _: Any) -> Any:
        nodes = {self.node: self.port} | {node: one.port for node, one in self.others.items()}
        kind = MetadataResponse.MetadataResponseBroker
        brokers = [kind(node_id=node, host="127.0.0.1", port=port) for node, port in nodes.items()]
        return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=min(nodes), topics=[])

    def _described(self, request: Any) -> Any:
        results = [self._of(one.resource_type, one.resource_name, one.configuration_keys) for one in request.resources]
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)

    def _of(self, kind: int, name: str, keys: list[str] | None) -> Any:
        result = DescribeConfigsResponse.DescribeConfigsResult
        layers = [(self.stored.get((kind, name), {}), {TOPIC: TOPIC_ORIGIN}.get(kind, BROKER_ORIGIN))]
        if kind == BROKER:
            default = self.stored.get((BROKER, ""), {}), CLUSTER_ORIGIN
            layers = [default, *layers] if name else [default]
        else:
            layers = [(dict.fromkeys(keys or (), ""), DEFAULT_ORIGIN), *layers]
        found = {key: (value, origin) for values, origin in layers for key, value in values.items()}
        configs = [
            result.DescribeConfigsResourceResult(
                name=key, value=value, read_only=False, config_source=origin, is_sensitive=False, synonyms=[]
            )
            for key, (value, origin) in found.items()
            if keys is None or key in keys
        ]
        return result(
            error_code=self.refused.get((kind, name), NONE),
            error_message=None,
            resource_type=kind,
            resource_name=name,
            configs=configs,
        )

    def _altered(self, request: Any) -> Any:
        kind = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        responses = []
        for one in request.resources:
            key = (one.resource_type, one.resource_name)
            code, message = self.refused.get(key, NONE), None
            values = dict(self.stored.get(key, {}))
            for config in one.configs:
                if config.config_operation in (APPEND, SUBTRACT) and values.get(config.name) == "*":
                    code, message = INVALID_CONFIG, "* stands alone"
                _change(values, config)
            if code == NONE:
                self.stored[key] = values
            responses.append(kind(error_code=code, error_message=message, resource_type=key[0], resource_name=key[1]))
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)


def _change(values: dict[str, str], config: Any) -> None:
    listed = [entry for entry in values.get(config.name, "").split(",") if entry]
    named = (config.value or "").split(",")
    if config.config_operation == DELETE:
        values.pop(config.name, None)
    elif config.config_operation == SET:
        values[config.name] = config.value
    elif config.config_operation == APPEND:
        values[config.name] = ",".join([*listed, *(entry for entry in named if entry not in listed)])
    else:
        values[config.name] = ",".join(entry for entry in listed if entry not in named)
