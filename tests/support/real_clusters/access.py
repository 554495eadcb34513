"""Access control entries of a secured sandbox."""

from __future__ import annotations

from waiting import until

from kreplica.sandbox import Listener, Sandbox
from kreplica.sources.permissions import Permission, Resource
from real_clusters.moves import connection_to

RESOURCES = {
    Resource.CLUSTER: ("BROKER", "kafka-cluster"),
    Resource.TOPIC: ("TOPIC", "*"),
    Resource.GROUP: ("GROUP", "*"),
}
"""Kind, as librdkafka calls it, and the name that stands for each of them."""

WIRE_CODES = {"TOPIC": 2, "GROUP": 3, "BROKER": 4}


def grant(sandbox: Sandbox, user: str, permissions: tuple[Permission, ...], *, remove: bool = False) -> None:
    """Adds or removes entries by confluent-kafka, as Kafka's own tool does, and waits until every broker heeds them."""
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    kinds = AclBindingFilter if remove else AclBinding
    entries = [
        kinds(
            ResourceType[RESOURCES[one.resource][0]],
            RESOURCES[one.resource][1],
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[_operation(one)],
            AclPermissionType.ALLOW,
        )
        for one in permissions
    ]
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers_of(Listener.PLAINTEXT)})
    changed = admin.delete_acls(entries) if remove else admin.create_acls(entries)
    for future in changed.values():
        future.result(timeout=30)

    def heeded() -> bool:
        told = [told_permissions(sandbox, broker, user) for broker in sandbox.running_brokers()]
        return not any({*permissions} & found if remove else {*permissions} - found for found in told)

    until(heeded, f"every broker to know what {user} may do")


def told_permissions(sandbox: Sandbox, broker: int, user: str) -> set[Permission]:
    """What a broker's own authorizer lets the user do with resources of every name."""
    from kafka.protocol.admin.acl import ACLOperation, DescribeAclsRequest, DescribeAclsResponse

    anything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    request = DescribeAclsRequest(
        principal_filter=f"User:{user}", resource_name_filter=None, host_filter=None, **anything
    )
    with connection_to(sandbox, broker) as connection:
        answer = connection.send(request, DescribeAclsResponse)
    named = {(WIRE_CODES[kind], name): resource for resource, (kind, name) in RESOURCES.items()}
    return {
        Permission(ACLOperation(entry.operation).name.title().replace("_", ""), resource)
        for found in answer.resources
        if (resource := named.get((found.resource_type, found.resource_name))) is not None
        for entry in found.acls
    }


def _operation(permission: Permission) -> str:
    return "".join(f"_{c}" if c.isupper() else c.upper() for c in permission.operation).strip("_").upper()
