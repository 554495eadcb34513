"""One blocking connection to one broker that speaks the messages of kafka-python.

kafka-python brings the messages of the protocol and the SASL mechanisms; the socket, TLS and the order of the opening
exchange are here, because only then has every wait one deadline and every failure a reason that names what was tried:

    TCP connect -> TLS handshake -> ApiVersions -> SaslHandshake, SaslAuthenticate ... -> requests, one at a time

Each request is sent in the newest version that both sides know; one that the broker does not know is refused here,
before it is sent, because a broker answers such a request by closing the connection.
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kreplica.sources.kafka.connections.failures import (
    Address,
    BrokerFailure,
    BrokerSilentError,
    CredentialsRefusedError,
    RequestUnsupportedError,
    connect,
    explain_connect_error,
    explain_foreign_bytes,
    explain_tls_error,
)
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    ApiVersionsRequest,
    ApiVersionsResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    error_name,
    release_of,
)
from kreplica.sources.permissions import ANONYMOUS, Permission, needed, principal_of
from kreplica.system.deadline import waiting_for

if TYPE_CHECKING:
    from kreplica.system.deadline import Deadline

LARGEST_RESPONSE = 1 << 30
LARGEST_FIRST_RESPONSE = 1 << 20
"""ApiVersions answers have a few kilobytes; before them, four bytes may be anything: a TLS alert reads as 352 MB."""
RECEIVED_AT_ONCE = 1 << 18
_UNSUPPORTED_VERSION = 35
_UNSUPPORTED_SASL_MECHANISM = 33
_HEADER_SLICE = 64
_SOFTWARE = "kreplica"


Response = TypeVar("Response")


class BrokerConnection:
    """An open, authenticated connection; the constructor opens it.

    Args:
        address: The broker.
        settings: ClientSettings.kafka_python.
        deadline: When every wait ends.
        proven: Whether another broker of the cluster has answered with these settings: what breaks a connection then is
            not the security of its listener.

    Raises:
        BrokerFailure: It cannot be opened; CredentialsRefusedError and BrokerSilentError are its kinds.
    """

    def __init__(
        self, address: Address, settings: Mapping[str, object], deadline: Deadline, *, proven: bool = False
    ) -> None:
        self.address = address
        self.requests = 0
        self.features: dict[str, int] = {}
        self._settings = settings
        self._deadline = deadline
        self._versions: dict[int, tuple[int, int]] = {}
        self._proven = proven
        with waiting_for(str(address)):
            self._open()

    def _open(self) -> None:
        self._socket = self._connect()
        try:
            self._start_tls()
            self._ask_versions()
            self._authenticate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection; further requests fail."""
        self._socket.close()

    def __enter__(self) -> BrokerConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def milliseconds_left(self) -> int:
        """Time until the deadline, for requests that carry a timeout for the broker."""
        return int(self._deadline.remaining() * 1000)

    @property
    def anonymous(self) -> bool:
        """True if the client gives the broker no credentials."""
        return principal_of(self._settings) == ANONYMOUS

    def lacks(self, permission: Permission) -> str:
        """Permission that the credentials lack where ``permission`` was refused, with the command that grants it."""
        return needed(permission, self._settings)

    def release(self) -> str:
        """The oldest release of Kafka that knows the requests this broker knows, such as ``4.0``."""
        return release_of(self._versions)

    def supports(self, request: type[Any], version: int = 0) -> bool:
        """True if the broker knows this request in ``version`` or a newer one."""
        _, newest = self._versions.get(request.API_KEY, (0, -1))
        return newest >= version

    def send(self, request: Any, response: type[Response], *, oldest: int = 0, newest: int | None = None) -> Response:
        """Sends a request in the newest version both sides know and waits for its response.

        Args:
            request: An instance of a kafka-python request class.
            response: The response class that belongs to it.
            oldest: The oldest version that has the meaning wanted.
            newest: The newest version that has the meaning wanted; the library's newest if None.

        Raises:
            RequestUnsupportedError: The broker knows no version in that range.
            BrokerFailure: The connection broke or the deadline passed.
        """
        version = self._version(request, oldest, request.max_version if newest is None else newest)
        with waiting_for(str(self.address)):
            answer: Response = self._exchange(request, response, version)
        self._proven = True
        return answer

    def _version(self, request: Any, oldest: int, newest: int) -> int:
        broker_oldest, broker_newest = self._versions.get(request.API_KEY, (0, -1))
        version = min(newest, broker_newest)
        if version < max(oldest, broker_oldest):
            raise RequestUnsupportedError(self.address, request.name.removesuffix("Request"))
        return version

    def _exchange(self, request: Any, response: Any, version: int) -> Any:
        self.requests += 1
        request.API_VERSION = version
        request.with_header(correlation_id=self.requests, client_id=str(self._settings["client_id"]))
        self._write(request.encode(header=True, framed=True))
        payload = self._read_frame()
        return self._decode(payload, response, version)

    def _decode(self, payload: bytes, response: Any, version: int) -> Any:
        start = io.BytesIO(payload[:_HEADER_SLICE])
        try:
            header = response.parse_header(start, version=version)
            if header.correlation_id != self.requests:
                raise BrokerFailure(self.address, "answered another request than was asked: not a Kafka broker")
            return response.decode(memoryview(payload)[start.tell() :], version=version)
        except (ValueError, IndexError, struct.error, UnicodeDecodeError):
            name = response.name.removesuffix("Response")
            raise BrokerFailure(self.address, f"its {name} answer cannot be read: not a Kafka broker") from None

    def _connect(self) -> socket.socket:
        try:
            limit = self._wait("socket_connection_setup_timeout_ms")
            opened = connect(self.address.host, self.address.port, limit)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            reason = explain_connect_error(error)
            if isinstance(error, TimeoutError):
                raise BrokerSilentError(self.address, reason) from None
            raise BrokerFailure(self.address, reason) from None
        return opened

    def _start_tls(self) -> None:
        context: Any = self._settings.get("ssl_context")
        if context is None:
            return
        self._socket.settimeout(self._wait())
        try:
            self._socket = context.wrap_socket(self._socket, server_hostname=self.address.host)
        except TimeoutError:
            raise BrokerSilentError(self.address, "no answer to the TLS handshake") from None
        except OSError as error:
            raise self._tls_failure(error) from None
        except ValueError as error:  # a name that TLS cannot ask for
            raise BrokerFailure(self.address, f"TLS handshake failed: {error}") from None

    def _ask_versions(self) -> None:
        version: int = ApiVersionsRequest.max_version
        for _ in range(2):
            request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version="0")
            answer: Any = self._exchange(request, ApiVersionsResponse, version)
            if answer.error_code != _UNSUPPORTED_VERSION:
                break
            # A broker that does not know this version answers in version 0 and names what it knows.
            known = [one.max_version for one in answer.api_keys if one.api_key == ApiVersionsRequest.API_KEY]
            version = min(known[0], version) if known else 0
        if answer.error_code != NO_ERROR:
            raise BrokerFailure(self.address, f"ApiVersions failed: {error_name(answer.error_code)}")
        self._versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        self.features = {one.name: one.max_version_level for one in answer.finalized_features or ()}

    def _authenticate(self) -> None:
        mechanism = self._settings.get("sasl_mechanism")
        if mechanism is None:
            return
        request = SaslHandshakeRequest(mechanism=mechanism)
        # Version 1 announces that the tokens come inside SaslAuthenticate requests (KIP-152, Kafka 1.0).
        answer: Any = self.send(request, SaslHandshakeResponse, oldest=1)
        if answer.error_code == _UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(answer.mechanisms) or "none"
            raise CredentialsRefusedError(
                self.address, f"it does not take sasl.mechanism {mechanism}, it takes {offered}"
            )
        if answer.error_code != NO_ERROR:
            raise CredentialsRefusedError(
                self.address, "its listener does not use SASL: security.protocol is PLAINTEXT or SSL there"
            )
        self._exchange_tokens(str(mechanism))

    def _exchange_tokens(self, mechanism: str) -> None:
        from kreplica.sources.kafka.connections.sasl import next_bytes, sasl_client

        client = sasl_client(mechanism, self._settings, self.address)
        for _ in range(10):
            if client.is_done():
                return
            request = SaslAuthenticateRequest(auth_bytes=next_bytes(client, mechanism, self.address))
            answer: Any = self.send(request, SaslAuthenticateResponse)
            if answer.error_code != NO_ERROR:
                raise CredentialsRefusedError(self.address, _refusal(answer))
            try:
                client.receive(answer.auth_bytes)
            except (ValueError, KeyError):
                raise CredentialsRefusedError(self.address, "its part of the SASL exchange is wrong") from None
        raise CredentialsRefusedError(self.address, "the SASL exchange does not end")

    def _write(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._wait())
            self._socket.sendall(data)
        except TimeoutError:
            raise BrokerSilentError(self.address, self._silence()) from None
        except OSError as error:
            self._broken(error)

    def _read_frame(self) -> bytes:
        start = self._read(4)
        (size,) = struct.unpack(">i", start)
        if not 4 <= size <= (LARGEST_RESPONSE if self._versions else LARGEST_FIRST_RESPONSE):
            raise BrokerFailure(self.address, explain_foreign_bytes(start))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        buffer = bytearray()  # grows as bytes arrive: a length that is garbage takes no memory
        while len(buffer) < size:
            try:
                self._socket.settimeout(self._wait())
                piece = self._socket.recv(min(size - len(buffer), RECEIVED_AT_ONCE))
            except TimeoutError:
                raise BrokerSilentError(self.address, self._silence()) from None
            except OSError as error:
                self._broken(error)
            if not piece:
                self._broken(None)
            buffer += piece
        return bytes(buffer)

    def _broken(self, error: OSError | None) -> NoReturn:
        import ssl

        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            # In TLS 1.3 the broker judges the client's certificate after the handshake has ended here.
            raise self._tls_failure(error) from None
        if not self._versions:
            hint = "" if self._settings.get("ssl_context") else ", as one does that wants TLS (security.protocol)"
            raise BrokerFailure(self.address, f"closed the connection at the first request{hint}")
        if not self._proven and not self._settings.get("sasl_mechanism"):
            # ApiVersions is the one request that a SASL listener answers anybody.
            raise BrokerFailure(self.address, "closed the connection: its listener may want SASL (security.protocol)")
        raise BrokerFailure(self.address, "closed the connection")

    def _tls_failure(self, error: OSError) -> BrokerFailure:
        has_certificate = bool(self._settings.get("ssl_has_certificate"))
        return explain_tls_error(self.address, error, has_certificate=has_certificate)

    def _silence(self) -> str:
        return f"no answer within {self._deadline.seconds:g} s"

    def _wait(self, limit: str = "request_timeout_ms") -> float:
        """Seconds that the next step may take; a socket takes 0 for "do not block", so the deadline is checked here."""
        left = self._deadline.remaining()
        if left <= 0:
            raise TimeoutError
        milliseconds = self._settings.get(limit)
        return min(left, milliseconds / 1000) if isinstance(milliseconds, int) and milliseconds > 0 else left


def _refusal(answer: Any) -> str:
    return str(answer.error_message or error_name(answer.error_code)).rstrip(".")
