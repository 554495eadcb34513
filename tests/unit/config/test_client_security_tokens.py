"""Tokens and mechanisms that need a package of their own."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from kreplica.config.properties import property_warnings, translate
from kreplica.errors import ConfigurationError
from kreplica.sources.kafka.connections.failures import Address, CredentialsRefusedError
from kreplica.sources.kafka.connections.sasl import next_bytes, sasl_client
from kreplica.system.redaction import without_secrets

MSK = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}
ADDRESS = Address("b-1.example", 9098)


def token_properties(path: Path) -> dict[str, str]:
    url = path.as_uri()
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
    }


def test_a_token_in_a_file_reaches_both_libraries_and_is_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text("header.claims.signature\n")
    settings = translate(token_properties(file))
    assert settings.kafka_python["sasl_oauth_token"] == "header.claims.signature"
    callback: Any = settings.librdkafka["oauth_cb"]
    assert callback("")[0] == "header.claims.signature"
    file.write_text("the-next-one")
    assert callback("")[0] == "the-next-one"
    assert without_secrets("x header.claims.signature the-next-one") == "x (hidden) (hidden)"


@pytest.mark.parametrize(
    ("content", "told"), [(None, "no such file"), ("", "holds no token"), ("a b", "holds no token")]
)
def test_a_file_without_a_token_is_told(content: str | None, told: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigurationError, match=told):
        translate(token_properties(file))


def test_msk_needs_botocore_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "botocore", None)
    assert property_warnings(MSK) == ()
    settings = translate(MSK).kafka_python
    with pytest.raises(ConfigurationError, match="needs the package botocore; pip install botocore"):
        sasl_client("AWS_MSK_IAM", settings, ADDRESS)


@pytest.mark.parametrize("has_credentials", [True, False])
def test_msk_signs_what_botocore_knows(has_credentials: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No AWS is at hand: the package is played, the signed request is looked at (aws-msk-iam-auth, 2020_10_22)."""
    frozen = types.SimpleNamespace(access_key="AKIA", secret_key="hush", token=None)
    credentials = types.SimpleNamespace(get_frozen_credentials=lambda: frozen)

    class Session:
        def get_credentials(self) -> Any:
            return credentials if has_credentials else None

        def get_config_variable(self, name: str) -> str:
            return {"region": "eu-west-1"}[name]

    module = types.ModuleType("botocore.session")
    module.Session = Session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "botocore", types.ModuleType("botocore"))
    monkeypatch.setitem(sys.modules, "botocore.session", module)
    client = sasl_client("AWS_MSK_IAM", translate(MSK).kafka_python, ADDRESS)
    if not has_credentials:
        with pytest.raises(CredentialsRefusedError, match="could not be asked: AWS_MSK_IAM"):
            next_bytes(client, "AWS_MSK_IAM", ADDRESS)
        return
    sent = json.loads(next_bytes(client, "AWS_MSK_IAM", ADDRESS))
    assert (sent["version"], sent["host"], sent["action"]) == ("2020_10_22", "b-1.example", "kafka-cluster:Connect")
    assert sent["x-amz-credential"].startswith("AKIA/")
    assert "/eu-west-1/kafka-cluster/aws4_request" in sent["x-amz-credential"]
    assert "hush" not in json.dumps(sent)
