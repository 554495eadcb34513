"""Java's .properties format, and the table that gives both client libraries the same settings."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from kreplica.config.java_properties import parse_properties
from kreplica.config.properties import (
    HARMLESS_KEYS,
    PLAIN_SETTINGS,
    SECURITY_KEYS,
    UNTRANSLATED_KEYS,
    property_warnings,
    translate,
)
from kreplica.errors import ConfigurationError

# From the documentation of java.util.Properties.load, and what the JDK's own parser makes of each line.
JAVA_EXAMPLES = [
    ("Truth = Beauty", {"Truth": "Beauty"}),
    ("  Truth:Beauty", {"Truth": "Beauty"}),
    ("Truth\t\t\t:Beauty", {"Truth": "Beauty"}),
    ("fruits  apple, banana, \\\n        cantaloupe", {"fruits": "apple, banana, cantaloupe"}),
    ("cheeses", {"cheeses": ""}),
    ("# comment\n! comment\n\n   # indented\na=1", {"a": "1"}),
    ("a=#no comment", {"a": "#no comment"}),
    ("a=b=c:d", {"a": "b=c:d"}),
    ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
    ("a=\\u00e9\\ud83d\\ude00", {"a": "é😀"}),
    ("a=tab\\there\\nline\\\\end\\q", {"a": "tab\there\nline\\endq"}),
    ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
    ("a=1\\\n# no comment", {"a": "1# no comment"}),
    ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
    ("a=  kept at the end  ", {"a": "kept at the end  "}),
    ("a=1\na=2", {"a": "2"}),
    ("a=open\\", {"a": "open"}),
    ("", {}),
]


@pytest.mark.parametrize(("text", "expected"), JAVA_EXAMPLES)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text, "x") == expected


def test_a_malformed_escape_names_file_and_line_and_no_value() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_properties("a=1\npassword=hush\\u12\n", "client.properties")
    assert "client.properties, line 2" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_plain_settings_reach_both_libraries() -> None:
    settings = translate({"client.id": "me", "request.timeout.ms": "5000", "receive.buffer.bytes": "-1"})
    assert settings.librdkafka == {"client.id": "me", "security.protocol": "PLAINTEXT", "socket.timeout.ms": 5000}
    assert settings.kafka_python == {"client_id": "me", "security_protocol": "PLAINTEXT", "request_timeout_ms": 5000}


def test_librdkafka_takes_every_setting_of_the_table() -> None:
    from confluent_kafka.admin import AdminClient

    values = {key: "use_all_dns_ips" if key == "client.dns.lookup" else "70000" for key in PLAIN_SETTINGS}
    settings = translate(values).librdkafka
    AdminClient(settings)  # type: ignore[arg-type]
    assert len(settings) == len(PLAIN_SETTINGS) + 1


def test_a_value_that_is_no_number_is_not_quoted() -> None:
    with pytest.raises(ConfigurationError) as caught:
        translate({"request.timeout.ms": "hush"})
    assert str(caught.value) == "client property request.timeout.ms is not a number"


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"):
        translate({"security.protocol": "TLS"})


@pytest.mark.parametrize(
    ("key", "clause"),
    [
        (
            "sasl.mechanizm",
            "client property sasl.mechanizm is not known and has no effect; did you mean sasl.mechanism?",
        ),
        ("zzz", "client property zzz is not known and has no effect"),
        (
            "ssl.engine.factory.class",
            "client property ssl.engine.factory.class has no effect: Java classes cannot be used",
        ),
    ],
)
def test_a_property_without_effect_is_a_warning_without_its_value(key: str, clause: str) -> None:
    assert property_warnings({key: "hush"}) == (clause,)
    assert translate({key: "hush"}).warnings == (clause,)


def test_every_key_is_in_one_list_only() -> None:
    lists = [set(PLAIN_SETTINGS), set(SECURITY_KEYS), set(HARMLESS_KEYS), set(UNTRANSLATED_KEYS)]
    assert sum(map(len, lists)) == len(set.union(*lists))


def test_translated_and_harmless_keys_give_no_warning() -> None:
    keys = {*PLAIN_SETTINGS, *SECURITY_KEYS, *HARMLESS_KEYS}
    assert property_warnings(dict.fromkeys(keys, "x")) == ()


def test_settings_do_not_show_secrets() -> None:
    jaas = 'PlainLoginModule required username="u" password="hush";'
    settings = translate({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    assert settings.librdkafka["sasl.password"] == settings.kafka_python["sasl_plain_password"] == "hush"
    assert "hush" not in repr(settings)


def loaded_by_java() -> Iterator[tuple[str, dict[str, str] | None]]:
    """Texts and what java.util.Properties.load makes of each, None where it refuses; how it was made stands beside."""
    kept = Path(__file__).parents[2] / "golden" / "java-properties" / "loaded.tsv"
    for line in kept.read_text(encoding="ascii").splitlines():
        text, *pairs = line.split("\t")
        if pairs == ["refused"]:
            yield _plain(text), None
        else:
            yield (
                _plain(text),
                {_plain(key): _plain(value) for key, _, value in (pair.partition(":") for pair in pairs)},
            )


def _plain(encoded: str) -> str:
    return base64.b64decode(encoded).decode("utf-8")


def test_random_texts_are_read_as_java_reads_them() -> None:
    wrong = []
    for text, expected in loaded_by_java():
        try:
            found: dict[str, str] | None = parse_properties(text, "x")
        except ConfigurationError:
            found = None
        if found != expected:
            wrong.append((text, expected, found))
    assert wrong == []
