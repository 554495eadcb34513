"""Failures of an S3 store as errors for its user: what failed, why, and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kreplica.errors import AuthenticationError, ConfigurationError, KreplicaError, UnreachableError, UsageError
from kreplica.system.redaction import without_secrets, without_url_secrets

ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
TAKEN = frozenset({"PreconditionFailed", "412"})
IN_CONFLICT = frozenset({"ConditionalRequestConflict", "409", "OperationAborted"})
"""Two writers at once, neither of which has won yet."""
_NO_CONDITION = frozenset({"NotImplemented", "501"})
_BUSY = frozenset({"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "Throttling"})

_CREDENTIALS_FIX = "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name those that the bucket takes"


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer of a store, and the words for it: {place} is what was asked for, {endpoint} who answered."""

    codes: str
    kind: type[KreplicaError]
    what: str
    fix: str


_REFUSALS = (
    _Refusal("NoSuchBucket", UsageError, "{place}: there is no such bucket at {endpoint}", "make it, or name another"),
    _Refusal(
        "InvalidAccessKeyId SignatureDoesNotMatch ExpiredToken ExpiredTokenException InvalidToken TokenRefreshRequired "
        "Unauthorized 401",
        AuthenticationError,
        "{endpoint} refuses the credentials for {place}",
        _CREDENTIALS_FIX,
    ),
    _Refusal(
        "RequestTimeTooSkewed",
        AuthenticationError,
        "{endpoint} refuses the time of a request for {place}",
        "set the clock of this machine",
    ),
    _Refusal(
        "AccessDenied AllAccessDisabled AccountProblem Forbidden 403",
        UsageError,
        "{place}: access is denied by {endpoint}",
        "reading needs s3:ListBucket and s3:GetObject, writing s3:PutObject and s3:DeleteObject as well",
    ),
    _Refusal(
        "PermanentRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301",
        UsageError,
        "{place}: its bucket is in another region",
        "name that by AWS_REGION",
    ),
    _Refusal(
        "QuotaExceeded InsufficientStorage XMinioStorageFull InsufficientCapacity 507",
        UsageError,
        "{place}: there is no room left at {endpoint}",
        "make room, or name another place",
    ),
)


class NoConditionError(UsageError):
    """A store that cannot make a file only where none is."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"{place} cannot be written to safely",
            "its store does not heed If-None-Match, so that two writers at once would overwrite each other",
            "use a newer release of the store, or another place",
        )


@contextmanager
def explained(place: str, endpoint: str) -> Iterator[None]:
    """Raises a KreplicaError, or the OSError of a file that is not there, in place of what botocore raises.

    Args:
        place: What was read or written, as the user knows it.
        endpoint: Address of the store; empty where it is not known yet.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise _of_answer(error.response, place, _shown(endpoint)) from None
    except BotoCoreError as error:
        raise _of_client(error, place, _shown(endpoint)) from None
    except ValueError as error:  # of an endpoint that is no URL
        raise _of_settings(error, place) from None


def code_of(response: Mapping[str, Any]) -> str:
    """The code of a refusal; of a request without a body the number of HTTP."""
    return str(response.get("Error", {}).get("Code", ""))


def _of_answer(response: Mapping[str, Any], place: str, endpoint: str) -> Exception:
    code, status = code_of(response), response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in ABSENT:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
    if code in _NO_CONDITION:
        return NoConditionError(place)
    said = without_secrets(" ".join(str(response.get("Error", {}).get("Message", "")).split()))
    reason = f"{code}: {said}" if said and said != code else code
    for one in _REFUSALS:
        if {code, str(status)} & set(one.codes.split()):
            return one.kind(one.what.format(place=place, endpoint=endpoint), reason, one.fix)
    if code in _BUSY or status >= 500:
        return UnreachableError(f"{endpoint} does not serve {place}", reason, "try again later")
    return UsageError(f"{place}: refused by {endpoint}", reason)


def _of_client(error: Exception, place: str, endpoint: str) -> KreplicaError:
    from botocore import exceptions as known

    if isinstance(error, known.ConnectionError | known.HTTPClientError | known.IncompleteReadError):
        return _unreachable(error, place, endpoint)
    if isinstance(error, known.NoCredentialsError):
        return ConfigurationError(f"{place}: there are no credentials for S3", "", _CREDENTIALS_FIX)
    if isinstance(error, known.CredentialRetrievalError):  # its words are those of a program that knows the secret
        return ConfigurationError(f"{place}: no credentials for S3 were given", _provider(error), _CREDENTIALS_FIX)
    return _of_settings(error, place)


def _unreachable(error: Exception, place: str, endpoint: str) -> UnreachableError:
    from botocore import exceptions as known

    if isinstance(error, known.ConnectTimeoutError | known.ReadTimeoutError):
        fix = "is AWS_ENDPOINT_URL right, and the network open?"
        return UnreachableError(f"{place}: {endpoint} did not answer in time", "", fix)
    if isinstance(error, known.SSLError):
        fix = "AWS_CA_BUNDLE names the certificates that are trusted"
        return UnreachableError(f"{place}: no secure connection to {endpoint}", _words(error), fix)
    if isinstance(error, known.ProxyConnectionError):
        fix = "are HTTP_PROXY, HTTPS_PROXY and NO_PROXY right?"
        return UnreachableError(f"{place}: the proxy to {endpoint} cannot be reached", "", fix)
    fix = "is AWS_ENDPOINT_URL right, and the store up?"
    return UnreachableError(f"{place}: {endpoint} cannot be reached", "", fix)


def _of_settings(error: Exception, place: str) -> ConfigurationError:
    fix = "these are AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and the files in ~/.aws"
    return ConfigurationError(f"{place}: the settings of S3 cannot be used", _words(error).rstrip("."), fix)


def _provider(error: Exception) -> str:
    provider = getattr(error, "kwargs", {}).get("provider", "")
    return f"{provider} failed" if provider else ""


def _words(error: Exception) -> str:
    return without_secrets(without_url_secrets(" ".join(str(error).split())))


def _shown(endpoint: str) -> str:
    return without_url_secrets(endpoint) or "the store"
