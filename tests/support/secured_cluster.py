"""Certificates that are wrong on purpose, and access control entries of a secured sandbox."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moves import connection_to
from waiting import until

from kreplica.sandbox import Listener, Sandbox
from kreplica.sources.permissions import Permission, Resource

RESOURCES = {
    Resource.CLUSTER: ("BROKER", "kafka-cluster"),
    Resource.TOPIC: ("TOPIC", "*"),
    Resource.GROUP: ("GROUP", "*"),
}
"""Kind, as librdkafka calls it, and the name that stands for each of them."""

WIRE_CODES = {"TOPIC": 2, "GROUP": 3, "BROKER": 4}


@contextlib.contextmanager
def posing(certificate: Path) -> Iterator[str]:
    """A server whose certificate no broker of the sandbox has: only the handshake is played."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    accepted, _ = server.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), context.wrap_socket(accepted, server_side=True) as connection:
                    connection.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def self_signed(name: str | None, days: int) -> bytes:
    """Key and certificate as PEM, of this host unless a name is given, ending in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "posing")])
    ends = datetime.now(UTC) + timedelta(days=days)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(ends - timedelta(days=9)).not_valid_after(ends)
    entry = x509.DNSName(name) if name else x509.IPAddress(ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([entry]), critical=False)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem + builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


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
