"""The client's side of SASL, by kafka-python's mechanisms, and the tokens of OAUTHBEARER."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from kreplica.config.token_endpoint import fetch_token
from kreplica.errors import ConfigurationError
from kreplica.sources.kafka.connections.failures import CredentialsRefusedError
from kreplica.sources.kafka.connections.messages import AbstractTokenProvider, get_sasl_mechanism

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.failures import Address
    from kreplica.system.deadline import Deadline

TOKEN, OIDC = "sasl_oauth_token", "sasl_oauth_oidc"
_TOKEN_LIFETIME = 3600
_PACKAGES = {
    "GSSAPI": ("gssapi", "pip install gssapi, then kinit"),
    "AWS_MSK_IAM": ("botocore", "pip install botocore; it takes credentials and region as the AWS tools do"),
}


class SaslClient(Protocol):
    """Exchange of a SASL mechanism: bytes out, bytes in, until it is done."""

    def auth_bytes(self) -> bytes:
        """Returns the bytes to send next."""

    def receive(self, auth_bytes: bytes) -> object:
        """Takes the bytes that the broker sent."""

    def is_done(self) -> bool:
        """True if the exchange is over."""


def sasl_client(mechanism: str, settings: Mapping[str, object], address: Address) -> SaslClient:
    """The client of a mechanism.

    Raises:
        ConfigurationError: GSSAPI or AWS_MSK_IAM without its library.
        CredentialsRefusedError: There is no usable Kerberos ticket, or AWS_MSK_IAM without TLS.
    """
    options = {**settings, "host": address.host}
    if TOKEN in settings:
        options["sasl_oauth_token_provider"] = _TokenProvider(str(settings[TOKEN]))
    try:
        client: SaslClient = get_sasl_mechanism(mechanism)(**options)
    except RuntimeError:
        package, fix = _PACKAGES.get(mechanism, ("", ""))
        raise ConfigurationError(f"sasl.mechanism {mechanism} needs the package {package}", "", fix) from None
    except Exception as error:  # gssapi raises classes of its own, unknown where it is not installed
        raise CredentialsRefusedError(address, f"could not be asked: {mechanism}: {error}") from None
    return client


def next_bytes(client: SaslClient, mechanism: str, address: Address) -> bytes:
    """Returns the bytes that the client sends next.

    Raises:
        CredentialsRefusedError: It has nothing to send: no ticket, no credentials in the environment.
    """
    try:
        return client.auth_bytes()
    except Exception as error:  # gssapi and botocore raise classes of their own
        raise CredentialsRefusedError(address, f"could not be asked: {mechanism}: {error}") from None


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token


def with_token(settings: Mapping[str, object], deadline: Deadline) -> Mapping[str, object]:
    """Settings for OAUTHBEARER with their token, fetched once for all brokers; other settings as they are.

    Raises:
        AuthenticationError: The token endpoint refuses the client.
        UnreachableError: It does not answer.
    """
    if "sasl_oauth_unsecured_subject" in settings:
        token = _unsecured_token(str(settings["sasl_oauth_unsecured_subject"]), int(time.time()))
        return {**settings, TOKEN: token}
    client = settings.get(OIDC)
    if not isinstance(client, dict):
        return settings
    trusted = settings.get("sasl_oauth_trusted")
    token = fetch_token(client, trusted if isinstance(trusted, str) else None, deadline)
    return {**settings, TOKEN: token}


def _unsecured_token(subject: str, now: int) -> str:
    # A JSON web token of algorithm "none" (RFC 7519, section 6), which brokers accept only in test set-ups.
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + _TOKEN_LIFETIME})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, ""])
