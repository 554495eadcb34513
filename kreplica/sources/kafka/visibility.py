"""Finds out if credentials may describe every topic that could exist, so that none can be hidden from them.

    DescribeAcls, of topics                       the names and prefixes that any access control list tells apart
    Metadata, by such names and by invented ones  which of them may be described

Kafka's authorizers go only by which lists match a name (StandardAuthorizerData.findResult,
AclAuthorizer.matchingAcls). So names of topics fall into as many kinds as the lists tell apart: each literal name, each
prefix, and the rest. One name of each kind stands for all of it; for a name that may not be described Kafka answers
TOPIC_AUTHORIZATION_FAILED, even if there is no such topic. The requests create nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kreplica.sources.kafka.connections.messages import NO_ERROR, DescribeAclsRequest, DescribeAclsResponse, error_name
from kreplica.sources.kafka.layout import hidden_topics

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.connection import BrokerConnection

_TOPIC = 2
_ANY = 1
_PREFIXED = 4
_WILDCARD = "*"
_SECURITY_DISABLED = 54
_FIRST_WITH_PREFIXES = 1


def why_topics_may_be_hidden(connection: BrokerConnection, visible: Collection[str]) -> str:
    """Explains why there may be topics that the credentials may not describe; empty if there can be none.

    Args:
        connection: To a broker, with the credentials.
        visible: Topics that are known to be visible.

    Raises:
        BrokerFailure: The broker stopped answering; RequestUnsupportedError where it is too old to be asked.
    """
    names, refusal = _names_told_apart(connection)
    invented = f"kreplica-{uuid.uuid4().hex}"
    if hidden_topics(connection, {invented, *names} - set(visible)):
        return "the credentials may not describe every topic"
    return f"access control lists could not be read, {refusal}" if refusal else ""


def _names_told_apart(connection: BrokerConnection) -> tuple[set[str], str]:
    """A name for each name or prefix that has a list, and Kafka's error name where the lists may not be read."""
    request = DescribeAclsRequest(
        resource_type_filter=_TOPIC,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    answer: Any = connection.send(request, DescribeAclsResponse, oldest=_FIRST_WITH_PREFIXES)
    if answer.error_code == _SECURITY_DISABLED:  # no authorizer: everybody may do everything
        return set(), ""
    if answer.error_code != NO_ERROR:
        return set(), error_name(answer.error_code)
    names = {
        one.resource_name + uuid.uuid4().hex if one.pattern_type == _PREFIXED else one.resource_name
        for one in answer.resources
    }
    return names - {_WILDCARD}, ""
