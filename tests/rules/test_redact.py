"""Private parts and secrets go, everything else stays."""

from __future__ import annotations

import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.redact import is_only_private, redact

# Built here, so that no scanner trips over the repository.
A62 = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9nP2rS5uV8xY1"
HEX = "0123456789abcdef"
SECRETS = {
    "private-key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END " + "RSA PRIVATE KEY-----",
    "aws-access-key": "AKIA"
    + "IOSFODNN7EXAMPLE"[:16].replace("0", "2").replace("1", "3").replace("8", "4").replace("9", "5"),
    "aws-secret-key": "aws_secret_access_key = " + A62[:40],
    "github-token": "ghp_" + A62[:36],
    "gitlab-token": "glpat-" + A62[:20],
    "slack-token": "xoxb-" + "1234567890-" + A62[:24],
    "slack-webhook": "https://hooks.slack.com/" + "services/T00000000/B00000000/" + A62[:24],
    "stripe-key": "sk_live_" + A62[:24],
    "anthropic-key": "sk-ant-" + "api03-" + A62[:40],
    "openai-key": "sk-proj-" + A62[:48],
    "google-api-key": "AIza" + A62[:35],
    "google-oauth": "ya29." + A62[:40],
    "google-oauth-secret": "GOCSPX-" + A62[:28],
    "npm-token": "npm_" + A62[:36],
    "pypi-token": "pypi-AgE" + A62[:50],
    "huggingface-token": "hf_" + A62[:34],
    "sendgrid-key": "SG." + A62[:22] + "." + A62[:43],
    "digitalocean-token": "dop_v1_" + HEX * 4,
    "shopify-token": "shpat_" + HEX * 2,
    "azure-storage-key": "AccountKey=" + (A62 + A62)[:86] + "==",
    "vault-token": "hvs." + A62[:30],
    "linear-key": "lin_api_" + A62[:40],
    "databricks-token": "dapi" + HEX * 2,
    "doppler-token": "dp.pt." + A62[:43],
    "age-key": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "telegram-token": "123456789:AA" + A62[:33],
    "engram-token": "eng_" + A62[:43],
    "jwt": "eyJ" + A62[:20] + ".eyJ" + A62[:30] + "." + A62[:43],
    "bearer-token": "Authorization: Bearer " + A62[:32],
    "connection-password": "postgres://ada:" + "s3cr3t" + "@db.example.org:5432/shop",
    "openrouter-key": "sk-or-v1-" + HEX * 4,
    "discord-webhook": "https://discord.com/" + "api/webhooks/123456789012345678/" + A62 * 2,
    "stripe-webhook-secret": "whsec_" + A62[:32],
}
HARMLESS = (
    hashlib.md5(b"x", usedforsecurity=False).hexdigest(), hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
    hashlib.sha256(b"x").hexdigest(), str(uuid.UUID(int=7)), "commit 3f2a9b1c", "sk-learn, task-force and risk-free",
    "ask-me-anything about xoxo-kisses", "https://example.org:8080/path@v2", "git@github.com:owner/name.git",
    "ssh://git@example.org/x", "http://localhost:5432/db", "AIza is how Google keys begin", "eyJ is base64 for an opening",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "the bearer of good news",
    "private matters stay private", "a < private > b", "x <privateer> y", "12:30:45 and 1:AA", "SG. and hf_ and npm_",
    "def f(password): return password", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
)  # fmt: skip


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_a_secret_of_each_kind_goes_and_the_text_around_it_stays(kind: str) -> None:
    """Its kind stands in its place; nothing of the secret part is left."""
    secret = SECRETS[kind]
    shown, found = redact(f"before {secret} after")
    assert (found.secrets, found.kinds) == (1, (kind,)), shown
    assert f"[REDACTED:{kind}]" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    for part in (A62[:20], HEX * 2, "s3cr3t", "MIIEow"):
        assert part not in shown


@pytest.mark.parametrize("text", [text for text in HARMLESS if "< private >" not in text])
def test_prose_hashes_and_ids_stay_as_they_are(text: str) -> None:
    """High precision: what is no secret is never touched."""
    assert redact(text) == (text, redact("")[1])


def test_secrets_stay_where_the_setting_says_so_private_parts_never() -> None:
    """ENGRAM_REDACT_SECRETS=false ends the patterns alone."""
    token = SECRETS["github-token"]
    shown, found = redact(f"{token} <private>x</private>", secrets=False)
    assert shown == f"{token} [REDACTED]"
    assert (found.private, found.secrets) == (1, 0)


@pytest.mark.parametrize(
    ("text", "shown", "private", "unclosed"),
    [
        ("a <private>x</private> b", "a [REDACTED] b", 1, 0),
        ("<PRIVATE>x</Private>", "[REDACTED]", 1, 0),
        ("<private reason='y'>x</private >", "[REDACTED]", 1, 0),
        ("<private>a<private>b</private>c</private>d", "[REDACTED]d", 1, 0),
        ("<private>a</private><private>b</private>", "[REDACTED][REDACTED]", 2, 0),
        ("a <private>never closed", "a [REDACTED]", 1, 21),
        ("a </private> b", "a </private> b", 0, 0),
        ("<private/> <private-x>y</private-x> <private", "<private/> <private-x>y</private-x> <private", 0, 0),
    ],
)
def test_private_parts_go_however_they_are_written(text: str, shown: str, private: int, unclosed: int) -> None:
    """Any case, spaces, attributes, nested; unclosed to the end; what is no tag stays."""
    result, found = redact(text)
    assert (result, found.private, found.unclosed_characters) == (shown, private, unclosed)


def test_a_secret_inside_a_private_part_is_counted_once() -> None:
    """It went with the part."""
    _, found = redact(f"<private>{SECRETS['github-token']}</private>")
    assert (found.private, found.secrets) == (1, 0)


def test_only_private_is_told_from_partly_private() -> None:
    """The caller refuses the first and keeps the second."""
    for text, expected in (
        ("<private>x</private>", True),
        (" <private>x</private>\n", True),
        ("a <private>x", False),
        ("a", False),
    ):
        assert is_only_private(text, redact(text)[0]) is expected


PIECES = st.sampled_from(
    [*SECRETS.values(), *HARMLESS, "<private>", "</private>", "<private ", ">", " ", "\n", "/", "@", "x"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """What is stored passes through again at every edit."""
    once, _ = redact(text)
    twice, found = redact(once)
    assert twice == once
    assert not found


@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    """No input raises, and text without a tag or a secret's shape stays."""
    shown, found = redact(text)
    assert found or shown == text
