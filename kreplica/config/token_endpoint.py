"""A token of OAUTHBEARER from its endpoint, by the client credentials grant of RFC 6749, section 4.4.

The client's secret goes to the endpoint that was named and to no other: redirects are not followed, and the deadline
also ends an answer that arrives slowly.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kreplica.errors import AuthenticationError, KreplicaError, UnreachableError
from kreplica.system.pool import Pool
from kreplica.system.redaction import remember_secret, without_url_secrets

if TYPE_CHECKING:
    from kreplica.system.deadline import Deadline

_WHAT = "no token from sasl.oauthbearer.token.endpoint.url"
_LARGEST_ANSWER = 1 << 20


def fetch_token(client: Mapping[str, str], trusted: str | None, deadline: Deadline) -> str:
    """Exchanges the client's credentials for a token.

    Args:
        client: ``endpoint``, ``client``, ``secret`` and ``scope``.
        trusted: Trusted certificates as PEM for verifying the endpoint's; the system's if None.
        deadline: For name look-up, connection, TLS and the whole answer together.

    Raises:
        AuthenticationError: The endpoint refuses the client, sends it elsewhere, or answers no token.
        UnreachableError: It does not answer in time.
    """
    shown = without_url_secrets(client["endpoint"])
    pool = Pool({shown: lambda: _ask(client, trusted, deadline.remaining())}, deadline)
    for _, token, error in pool.results():
        if error is not None:
            raise _explained(error, shown) from None
        remember_secret(str(token))
        return str(token)
    raise UnreachableError(_WHAT, f"{shown}: no whole answer within {deadline.seconds:g} s")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Does not follow a redirect: it counts as an answer without a token."""


def _ask(client: Mapping[str, str], trusted: str | None, timeout: float) -> str:
    # As Kafka's HttpJwtRetriever sends it; user and password in the URL itself go nowhere, as in Java.
    url = urllib.parse.urlsplit(client["endpoint"])
    endpoint = url._replace(netloc=url.netloc.rpartition("@")[2], fragment="").geturl()
    form = {"grant_type": "client_credentials", **({"scope": client["scope"]} if client["scope"] else {})}
    credentials = base64.b64encode(f"{client['client']}:{client['secret']}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json"}
    request = urllib.request.Request(endpoint, urllib.parse.urlencode(form).encode(), headers)
    handlers = [_NoRedirects(), urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=trusted))]
    if url.scheme == "http":  # that is loopback, which no proxy is between
        handlers.append(urllib.request.ProxyHandler({}))
    with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
        content = answer.read(_LARGEST_ANSWER)
        if answer.length:
            raise http.client.IncompleteRead(content, answer.length)
    token: object = json.loads(content)["access_token"]
    if not isinstance(token, str) or not token:
        raise TypeError
    return token


def _explained(error: BaseException, shown: str) -> KreplicaError:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        fix = "name the endpoint itself: the client's secret is not sent on" if error.code // 100 == 3 else ""
        return AuthenticationError(_WHAT, f"{shown} answers HTTP {error.code} {error.reason}", fix)
    if isinstance(error, OSError):
        return UnreachableError(_WHAT, f"{shown}: {getattr(error, 'reason', error)}")
    if isinstance(error, http.client.HTTPException):
        return UnreachableError(_WHAT, f"{shown}: its answer is cut short or is not HTTP")
    return AuthenticationError(_WHAT, f"{shown} answers no access_token")
