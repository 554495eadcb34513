"""sasl.jaas.config and the SASL and TLS settings made of it."""

from __future__ import annotations

import ssl

import pytest

from kreplica.client_properties import translate
from kreplica.client_security import parse_jaas
from kreplica.errors import ConfigurationError

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


def test_a_token_endpoint_reaches_both_libraries() -> None:
    jaas = 'OAuthBearerLoginModule required clientId="c" clientSecret="s" scope="kafka";'
    settings = translate(sasl("OAUTHBEARER", jaas, **{"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}))
    assert settings.librdkafka["sasl.oauthbearer.method"] == "oidc"
    assert settings.librdkafka["sasl.oauthbearer.client.secret"] == "s"
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
