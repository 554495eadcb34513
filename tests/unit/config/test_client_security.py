"""sasl.jaas.config and the SASL and TLS settings made of it."""

from __future__ import annotations

import ssl

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.config.properties import translate
from kreplica.config.security import IDENTIFICATION, parse_jaas, security_warnings
from kreplica.config.zookeeper_security import zookeeper_security
from kreplica.control.elect import librdkafka_settings
from kreplica.errors import ConfigurationError
from kreplica.system.deadline import Deadline

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def sasl(mechanism: str, jaas: str, **more: str) -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas} | more


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f'{PLAIN} required username="alice" password="secret";', {"username": "alice", "password": "secret"}),
        (
            f'{PLAIN} required\n  username = "alice"\n  password="a b;=c" ;\n',
            {"username": "alice", "password": "a b;=c"},
        ),
        (f'{PLAIN} required password="quote \\" and \\\\ slash";', {"password": 'quote " and \\ slash'}),
        (f"{PLAIN} REQUIRED debug=true user_x=1;", {"debug": "true", "user_x": "1"}),
        (f"{PLAIN} required;", {}),
    ],
)
def test_jaas_is_read_as_kafka_reads_it(text: str, options: dict[str, str]) -> None:
    module = parse_jaas(text)
    assert (module.class_name, dict(module.options)) == (PLAIN, options)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected `LoginModule required"),
        (f'{PLAIN} required password="hush"', "expected `LoginModule required"),
        (f'{PLAIN} password="hush";', "no control flag"),
        (f'{PLAIN} required password "hush";', "not of the form key=value"),
        (f'{PLAIN} required password="hush;', "a quote is not closed"),
    ],
)
def test_malformed_jaas_is_told_without_being_quoted(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_jaas(text)
    assert told in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_reach_both_libraries(mechanism: str) -> None:
    settings = translate(sasl(mechanism, 'X required username="u" password="p";'))
    assert {key: settings.librdkafka[key] for key in ("sasl.mechanism", "sasl.username", "sasl.password")} == {
        "sasl.mechanism": mechanism,
        "sasl.username": "u",
        "sasl.password": "p",
    }
    assert settings.kafka_python["sasl_mechanism"] == mechanism
    assert settings.kafka_python["sasl_plain_username"] == "u"
    assert settings.kafka_python["sasl_plain_password"] == "p"


def test_a_token_endpoint_reaches_what_fetches_the_token() -> None:
    jaas = 'OAuthBearerLoginModule required clientId="c" clientSecret="s" scope="kafka";'
    settings = translate(sasl("OAUTHBEARER", jaas, **{"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}))
    # librdkafka gets the token itself: it would follow redirects with the secret.
    assert "s" not in settings.librdkafka.values()
    assert settings.kafka_python["sasl_oauth_oidc"] == {
        "endpoint": "https://idp/token",
        "client": "c",
        "secret": "s",
        "scope": "kafka",
    }


def test_gssapi_is_javas_default_mechanism() -> None:
    settings = translate({"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka"})
    assert settings.kafka_python["sasl_mechanism"] == "GSSAPI"
    assert settings.kafka_python["sasl_kerberos_service_name"] == "kafka"


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing; PLAIN takes"),
        (sasl("PLAIN", 'X required username="u";'), "password is missing"),
        (sasl("DIGEST-MD5", "X required;"), "sasl.mechanism is not known here; expected one of PLAIN"),
        (sasl("OAUTHBEARER", "X required;"), "sasl.oauthbearer.token.endpoint.url is missing"),
    ],
)
def test_unusable_sasl_is_told(properties: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        translate(properties)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "told"),
    [
        ("http://idp.example/token", "the client's secret would go in clear to idp.example; give an https endpoint"),
        ("http://127.0.0.1.example/token", "in clear to 127.0.0.1.example"),
        ("ftp://idp.example/token", "expected https://HOST/PATH"),
        ("https:///token", "expected https://HOST/PATH"),
        ("https://[::1/token", "it is no URL"),
    ],
)
def test_the_secret_of_a_client_goes_to_no_endpoint_in_clear(endpoint: str, told: str) -> None:
    jaas = 'OAuthBearerLoginModule required clientId="c" clientSecret="hush";'
    with pytest.raises(ConfigurationError) as caught:
        translate(sasl("OAUTHBEARER", jaas, **{"sasl.oauthbearer.token.endpoint.url": endpoint}))
    assert told in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["http://localhost:1/t", "http://127.1.2.3/t", "http://[::1]:8080/t"])
def test_an_endpoint_of_this_machine_needs_no_tls(endpoint: str) -> None:
    jaas = 'OAuthBearerLoginModule required clientId="c" clientSecret="s";'
    settings = translate(sasl("OAUTHBEARER", jaas, **{"sasl.oauthbearer.token.endpoint.url": endpoint}))
    client = settings.kafka_python["sasl_oauth_oidc"]
    assert isinstance(client, dict)
    assert client["endpoint"] == endpoint


@pytest.mark.parametrize(("algorithm", "checked"), [(None, True), ("https", True), ("HTTPS", True), ("", False)])
def test_host_names_are_checked_unless_switched_off(algorithm: str | None, checked: bool) -> None:
    properties = {"security.protocol": "SSL"}
    if algorithm is not None:
        properties["ssl.endpoint.identification.algorithm"] = algorithm
    settings = translate(properties)
    context = settings.kafka_python["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.check_hostname is checked
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert settings.librdkafka["ssl.endpoint.identification.algorithm"] == ("https" if checked else "none")


@pytest.mark.parametrize("algorithm", ["htps", "none", "false", "LDAPS", "http s"])
@pytest.mark.parametrize("zookeeper", [False, True])
def test_another_word_does_not_switch_the_check_of_host_names_off(algorithm: str, zookeeper: bool) -> None:
    """Java's trust manager refuses every connection then: "Unknown identification algorithm"."""
    properties = {"security.protocol": "SSL", IDENTIFICATION: algorithm}
    if zookeeper:
        properties = {"zookeeper.ssl.client.enable": "true", f"zookeeper.{IDENTIFICATION}": algorithm}
    with pytest.raises(ConfigurationError, match="https checks host names, an empty value switches") as caught:
        zookeeper_security(properties) if zookeeper else translate(properties)
    assert ("did you mean https?" in str(caught.value)) is (algorithm in ("htps", "http s"))


CLEAR = {"security.protocol": "SASL_PLAINTEXT", "ssl.truststore.location": "ca.pem"}


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_credentials_do_not_go_in_clear_where_tls_is_set_up(mechanism: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"in clear; ssl.truststore.location says .*security.protocol=SASL_SSL"
    ):
        translate({**sasl(mechanism, 'X required username="u" password="p";'), **CLEAR})


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"security.protocol": "SSL", IDENTIFICATION: ""}, ["host names of brokers are not checked"]),
        ({"security.protocol": "SSL", IDENTIFICATION: "https", "ssl.truststore.location": "x"}, []),
        (
            {"ssl.truststore.location": "x"},
            ["ssl.truststore.location has no effect", "PLAINTEXT where it is not given"],
        ),
        ({"sasl.jaas.config": "x"}, ["sasl.jaas.config has no effect", "the connection is without login"]),
        ({"sasl.mechanism": "PLAIN", "security.protocol": "SSL"}, ["sasl.mechanism has no effect", "protocol is SSL,"]),
        ({**CLEAR, "sasl.mechanism": "SCRAM-SHA-256"}, ["ssl.truststore.location has no effect", "without TLS"]),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "ssl.keystore.location": "x"}, []),
        ({"ssl.truststore.location": ""}, []),
    ],
)
def test_what_is_set_up_and_does_not_protect_is_told(properties: dict[str, str], told: list[str]) -> None:
    warnings = security_warnings(properties)
    assert len(warnings) == bool(told)
    assert all(words in warnings[0] for words in told)


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({}, ["zookeeper.ssl.truststore.location has no effect", "zookeeper.ssl.client.enable is not true"]),
        ({"zookeeper.ssl.client.enable": "true"}, []),
        (
            {"zookeeper.ssl.client.enable": "true", f"zookeeper.{IDENTIFICATION}": ""},
            [f"zookeeper.{IDENTIFICATION} is empty: host names of ZooKeeper servers are not checked"],
        ),
    ],
)
def test_the_same_is_told_of_zookeeper(properties: dict[str, str], told: list[str]) -> None:
    warnings = security_warnings(
        {"zookeeper.ssl.truststore.location": "x", "sasl.mechanism": "PLAIN", **properties}, by_zookeeper=True
    )
    assert len(warnings) == bool(told)
    assert all(words in warnings[0] for words in told)


@pytest.mark.parametrize(
    ("protocols", "told"),
    [("TLSv1.4", "'TLSv1.4' is no version of TLS"), ("TLSv1,SSLv3", "older versions than TLSv1.2 are not used")],
)
def test_protocols_that_cannot_be_used_are_told(protocols: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        translate({"security.protocol": "SSL", "ssl.enabled.protocols": protocols})


@pytest.mark.parametrize(
    ("protocols", "refused"), [("TLSv1.3", True), ("TLSv1.2", True), ("TLSv1.2,TLSv1.3", False), ("", False)]
)
def test_elections_are_refused_where_librdkafka_would_not_keep_to_the_protocols(protocols: str, refused: bool) -> None:
    """librdkafka has no setting for them (CONFIGURATION.md)."""
    handle = ClusterHandle("x", "h:1", properties={"security.protocol": "SSL", "ssl.enabled.protocols": protocols})
    try:
        told = str(librdkafka_settings(handle, Deadline(1)))
    except ConfigurationError as error:
        told = str(error)
    assert ("which has no setting for ssl.enabled.protocols" in told) is refused


def test_enabled_protocols_bound_the_versions() -> None:
    def versions(protocols: str) -> tuple[int, int]:
        context = translate({"security.protocol": "SSL", "ssl.enabled.protocols": protocols}).kafka_python[
            "ssl_context"
        ]
        assert isinstance(context, ssl.SSLContext)
        return context.minimum_version, context.maximum_version

    assert versions("TLSv1.3") == (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)
    assert versions("TLSv1.2") == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    assert versions("TLSv1,TLSv1.2,TLSv1.3") == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
