"""Private parts and secrets go, everything else stays."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import uuid
from collections.abc import Iterator
from re import _constants as opcodes  # pyright: ignore[reportAttributeAccessIssue] - no public way to read a pattern
from re import _parser as reader  # pyright: ignore[reportAttributeAccessIssue] - the same
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.model import Redactions
from engram.rules import redact as rules
from engram.rules.redact import is_only_private, redact
from engram.rules.secrets import SHAPES

property_test = settings(deadline=None)  # a busy machine is no failure

# Built here, so that no scanner trips over the repository.
A62 = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9nP2rS5uV8xY1"
HEX = "0123456789abcdef"
BEGIN, END = "-----BEGIN ", "-----END "
KEY_LINES = f"{A62}{A62[:13]}\n{A62[:40]}\nMIIEow=="
PEM = f"{BEGIN}RSA PRIVATE KEY-----\n{KEY_LINES}\n{END}RSA PRIVATE KEY-----"
DISCORD = base64.b64encode(b"123456789012345678").decode() + ".GaBcDe." + A62[:38]
SECRETS = [
    ("private-key", PEM),
    ("private-key", PEM.replace("RSA ", "")),
    ("private-key", PEM.replace("\n", "\r\n")),
    ("private-key", PEM.replace("\n", "\\n")),
    ("private-key", PEM.replace("\n", " ")),
    ("private-key", PEM.replace("\n", "")),
    ("private-key", PEM.replace("\n", "\n> ")),
    ("private-key", PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n")),
    ("private-key", PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    ("aws-access-key", "AKIA" + "IOSFODNN7ABCDEFG"),
    ("aws-access-key", "ASIA" + "0123456789ABCDEF"),
    ("aws-secret-key", "aws_secret_access_key = " + A62[:40]),
    ("aws-secret-key", '"SecretAccessKey": "' + A62[:38] + '/+"'),
    *(("github-token", f"gh{letter}_" + A62[:36]) for letter in "pousr"),
    ("github-token", "github_pat_" + A62[:22] + "_" + (A62 + A62)[:59]),
    ("gitlab-token", "glpat-" + A62[:20]),
    ("gitlab-token", "glpat-" + A62[:27] + ".01.0a1b2c3d4"),
    ("slack-token", "xoxb-" + "1234567890-" + A62[:24]),
    ("slack-token", "xoxe.xoxp-" + "1-" + A62),
    ("slack-webhook", "https://hooks.slack.com/" + "services/T00000000/B00000000/" + A62[:24]),
    ("discord-webhook", "https://discord.com/" + "api/webhooks/123456789012345678/" + A62 * 2),
    ("discord-token", DISCORD),
    ("stripe-key", "sk_live_" + A62[:24]),
    ("stripe-key", "rk_live_" + A62[:24]),
    ("stripe-webhook-secret", "whsec_" + A62[:32]),
    ("anthropic-key", "sk-ant-" + "api03-" + A62[:40]),
    ("openai-key", "sk-" + A62[:48]),
    ("openai-key", "sk-" + A62[:20] + "T3BlbkFJ" + A62[:20]),
    ("openai-key", "sk-proj-" + A62[:48]),
    ("openrouter-key", "sk-or-v1-" + HEX * 4),
    ("google-api-key", "AIza" + A62[:35]),
    ("google-oauth", "ya29." + A62[:40]),
    ("google-oauth-secret", "GOCSPX-" + A62[:28]),
    ("npm-token", "npm_" + A62[:36]),
    ("pypi-token", "pypi-AgE" + A62[:50]),
    ("huggingface-token", "hf_" + A62[:34]),
    ("sendgrid-key", "SG." + A62[:22] + "." + A62[:43]),
    ("twilio-key", "SK" + HEX * 2),
    ("digitalocean-token", "dop_v1_" + HEX * 4),
    ("shopify-token", "shpat_" + HEX * 2),
    ("azure-storage-key", "AccountKey=" + (A62 + A62)[:86] + "=="),
    ("azure-storage-key", "SharedAccessKey=" + A62[:43] + "="),
    ("vault-token", "hvs." + A62[:30]),
    ("linear-key", "lin_api_" + A62[:40]),
    ("databricks-token", "dapi" + HEX * 2),
    ("doppler-token", "dp.pt." + A62[:43]),
    ("age-key", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("telegram-token", "123456789:AA" + A62[:33]),
    ("telegram-token", "https://api.telegram.org/bot123456789:AA" + A62[:33] + "/getMe"),
    ("engram-token", "eng_" + A62[:43]),
    ("jwt", "eyJ" + A62[:20] + ".eyJ" + A62[:30] + "." + A62[:43]),
    ("jwt", "eyJ" + A62[:20] + ".eyJ" + A62 * 400 + "." + A62[:43]),
    ("bearer-token", "Authorization: Bearer " + A62[:32]),
    ("bearer-token", 'headers["authorization"] = f"bearer ' + A62[:32] + '"'),
    ("connection-password", "postgres://ada:" + "s3cr3t" + "@db.example.org:5432/shop"),
    ("connection-password", "postgres://user:" + "s3cr3t" + "@localhost"),
    ("connection-password", "redis://:" + "s3cr3t" + "@cache:6379/0"),
    ("connection-password", "mongodb+srv://ada:" + "p@s3cr3t" + "@a.example.org,b.example.org/x?y=z"),
    ("connection-password", "host=db port=5432 user=ada password=" + "s3cr3t" + " sslmode=require"),
    ("connection-password", "user=ada password=" + "s3cr3t" + " host=db"),
    ("connection-password", "Server=tcp:db.example.org,1433;User Id=sa;Password=" + "s3cr3t" + ";Encrypt=True"),
]
PARTS = (A62[:20], HEX * 2, "s3cr3t", "MIIEow", "GaBcDe", "0a1b2c3d4")  # what a reader could use
SHORT = [secret for _, secret in SECRETS if len(secret) < 1000]
HARMLESS = [
    hashlib.md5(b"x", usedforsecurity=False).hexdigest(),
    hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    "sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    "aws secret: " + hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
    str(uuid.UUID(int=7)),
    "commit 3f2a9b1c",
    "sk-learn, task-force and risk-free, keys begin with sk-... or sk-proj-... or sk-ant-...",
    "task-0123456789abcdef0123456789abcdef",
    "ask-me-anything about xoxo-kisses",
    "set it to xoxb-your-bot-token, glpat-your-personal-access-token or sk-proj-put-your-own-key-here",
    "Authorization: Bearer your-access-token-goes-here",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
    "Authorization: Bearer $TOKEN",
    "the bearer of good news",
    "npm_config_registry and npm_lifecycle_event are variables",
    "eng_ begins our tokens",
    "https://example.org:8080/path@v2",
    "https://example.org:8080?mail=ada@example.org",
    "see http://localhost:3000, or write to ada@example.org",
    "git@github.com:owner/name.git",
    "ssh://git@example.org/x",
    "http://localhost:5432/db",
    "postgres://user:${DB_PASSWORD}@localhost/x",
    "postgres://user:$DB_PASSWORD@localhost/x",
    "postgres://{user}:{password}@localhost/x",
    "postgres://user:<password>@localhost/x",
    "postgres://user:****@localhost/x",
    "connect(host=HOST, user=USER, password=PASSWORD)",
    "connect(\n    host=HOST, password=PASSWORD\n)",
    "host=db password=$PGPASSWORD user=ada",
    "if server == ours and password == theirs: host = x",
    "AIza is how Google keys begin",
    "eyJ is base64 for an opening",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "private matters stay private",
    "x <privateer> y",
    "12:30:45 and 1:AA",
    "SG. and hf_ and npm_",
    "def f(password): return password",
    f"{BEGIN}CERTIFICATE-----\nMIIB\n{END}CERTIFICATE-----",
    f"{BEGIN}PUBLIC KEY-----\n{KEY_LINES}\n{END}PUBLIC KEY-----",
    f"The file starts with {BEGIN}PRIVATE KEY----- and then come lines of base64.",
    f"A key stands between {BEGIN}PRIVATE KEY----- and {END}PRIVATE KEY-----, in lines.",
    f"It begins with\n{BEGIN}PRIVATE KEY-----\nand goes on in base64.",
]
NOTHING = Redactions()


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_secret_of_each_kind_goes_and_the_text_around_it_stays(kind: str, secret: str) -> None:
    """Its kind stands in its place; nothing of the secret part is left."""
    for before, after in (("before ", " after"), ("é: ", "\nafter"), ("(`", "`)."), ("KEY=", "\n"), ("", "")):
        shown, found = redact(f"{before}{secret}{after}")
        assert (found.secrets, found.kinds) == (1, (kind,)), shown
        assert f"[REDACTED:{kind}]" in shown
        assert shown.startswith(before)
        assert shown.endswith(after)
        assert not [part for part in PARTS if part in shown]


def test_every_kind_has_its_example() -> None:
    """A shape without a true positive above would be a claim."""
    assert {kind for kind, _ in SECRETS} == {shape.kind for shape in SHAPES}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://ada:pw1@db:5432/x?a=b", "postgres://ada:[REDACTED:connection-password]@db:5432/x?a=b"),
        (
            "u=postgres://a:b@c, v=redis://:d@e",
            "u=postgres://a:[REDACTED:connection-password]@c, v=redis://:[REDACTED:connection-password]@e",
        ),
        ("host=h password=p dbname=d", "host=h password=[REDACTED:connection-password] dbname=d"),
        (
            "Authorization: Bearer " + A62[:32] + "\nAccept: */*",
            "Authorization: Bearer [REDACTED:bearer-token]\nAccept: */*",
        ),
        (
            "aws_secret_access_key=" + A62[:40] + "\nregion=x",
            "aws_secret_access_key=[REDACTED:aws-secret-key]\nregion=x",
        ),
        (
            "AccountName=a;AccountKey=" + "a" * 86 + "==;X=y",
            "AccountName=a;AccountKey=[REDACTED:azure-storage-key];X=y",
        ),
        ("a://<private>bob</private>:pw@db/x", "a://[REDACTED]:[REDACTED:connection-password]@db/x"),
    ],
)
def test_only_the_secret_part_of_an_assignment_goes(text: str, shown: str) -> None:
    """User, host and name of a field are worth remembering."""
    assert redact(text)[0] == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_prose_hashes_and_ids_stay_as_they_are(text: str) -> None:
    """High precision: what is no secret is never touched."""
    assert redact(text) == (text, NOTHING)


@property_test
@given(st.binary(min_size=1, max_size=3000), st.uuids())
def test_no_digest_image_or_uuid_is_taken_for_a_secret(data: bytes, some: uuid.UUID) -> None:
    """Whatever the bytes are."""
    digests = [hashlib.new(name, data).hexdigest() for name in ("sha1", "sha256", "sha512")]
    text = "\n".join([str(some), *digests, "data:image/png;base64," + base64.b64encode(data).decode()])
    assert redact(text) == (text, NOTHING)


@pytest.mark.parametrize("rest", ["", "\n", f"\n{KEY_LINES}", f'\n{A62}\\n{A62[:9]}"}}'])
def test_a_key_that_is_cut_off_goes_as_far_as_it_reaches(rest: str) -> None:
    """Half a key is still half a key; the prose behind it is none."""
    shown, found = redact(f"{BEGIN}OPENSSH PRIVATE KEY-----\n{A62}{A62[:13]}\n{A62[:30]}{rest}")
    assert found.kinds == ("private-key",)
    assert shown.strip().strip('"}') == "[REDACTED:private-key]"
    shown, _ = redact(f"{BEGIN}PRIVATE KEY-----\n{KEY_LINES}\n\nThe end of the note is kept.")
    assert shown == "[REDACTED:private-key]\n\nThe end of the note is kept."


def test_secrets_stay_where_the_setting_says_so_private_parts_never() -> None:
    """ENGRAM_REDACT_SECRETS=false ends the patterns alone."""
    token = "ghp_" + A62[:36]
    shown, found = redact(f"{token} <private>x</private>", secrets=False)
    assert shown == f"{token} [REDACTED]"
    assert (found.private, found.secrets) == (1, 0)


@pytest.mark.parametrize(
    ("text", "shown", "private", "unclosed"),
    [
        ("a <private>x</private> b", "a [REDACTED] b", 1, 0),
        ("a <private></private> b", "a [REDACTED] b", 1, 0),
        ("<PRIVATE>x</Private>", "[REDACTED]", 1, 0),
        ("< private >x< / private >", "[REDACTED]", 1, 0),
        ("<\nprivate\n>x\ny</private\t>z", "[REDACTED]z", 1, 0),
        ("<private reason='y' level=3 open>x</private >", "[REDACTED]", 1, 0),
        ('<private note="a > b">x</private>c', "[REDACTED]c", 1, 0),
        ("<private note=\"a < b\" other='<i>'>x</private>c", "[REDACTED]c", 1, 0),
        ("<private it's>x</private>, isn't it", "[REDACTED], isn't it", 1, 0),
        ('<private>x</private note="y">z', "[REDACTED]z", 1, 0),
        ("<private>a<private>b</private>c</private>d", "[REDACTED]d", 1, 0),
        ("<private>a<PRIVATE x>b<private>c</private></private>d</private>e", "[REDACTED]e", 1, 0),
        ("<private>a</private><private>b</private>", "[REDACTED][REDACTED]", 2, 0),
        ("<private>a<private/>b<private />c<private-x></private>d", "[REDACTED]d", 1, 0),
        ("a <private>never closed", "a [REDACTED]", 1, 21),
        ("a <private>b</private> c <private>d<private>e</private>f", "a [REDACTED] c [REDACTED]", 2, 31),
        ("<private>", "[REDACTED]", 1, 9),
        ("a </private> b", "a </private> b", 0, 0),
        ("a </private> <private>b</private> </private> c", "a </private> [REDACTED] </private> c", 1, 0),
        ("<private/> <private-x>y</private-x> <private", "<private/> <private-x>y</private-x> <private", 0, 0),
        ("<private /> <private note='x'/> stay", "<private /> <private note='x'/> stay", 0, 0),
        ("<privates>x</privates> <notprivate>y", "<privates>x</privates> <notprivate>y", 0, 0),
        ("if a <private and b <c> d", "if a <private and b <c> d", 0, 0),
        ('<private note="a <b>', '<private note="a <b>', 0, 0),
        ("a <private b <private>c</private> d", "a <private b [REDACTED] d", 1, 0),
        ("<private <private>x</private>>y", "<private [REDACTED]>y", 1, 0),
        ("&lt;private&gt; x", "&lt;private&gt; x", 0, 0),
        ("", "", 0, 0),
    ],
)
def test_private_parts_go_however_they_are_written(text: str, shown: str, private: int, unclosed: int) -> None:
    """Any case, spaces, attributes, nested; unclosed to the end; what is no tag stays."""
    assert redact(text) == (shown, Redactions(private=private, unclosed_characters=unclosed))


@property_test
@given(st.lists(st.sampled_from(["<private>", "</private>", "<b>", "x", " ", "<private a='<'>"]), max_size=30))
def test_private_parts_are_what_a_count_of_tags_finds(pieces: list[str]) -> None:
    """The scan agrees with reading the tags one by one."""
    expected, depth = "", 0
    for piece in pieces:
        if piece.startswith("<private"):
            expected += "" if depth else "[REDACTED]"
            depth += 1
        elif piece == "</private>" and depth:
            depth -= 1
        elif not depth:
            expected += piece
    assert redact("".join(pieces))[0] == expected


def test_a_secret_inside_a_private_part_is_counted_once() -> None:
    """It went with the part."""
    for _, secret in SECRETS:
        assert redact(f"<private>{secret}</private>") == ("[REDACTED]", Redactions(private=1))


def test_secrets_are_counted_each_and_their_kinds_once() -> None:
    """Two of one kind and one of another are three secrets of two kinds."""
    token, key = "ghp_" + A62[:36], "AIza" + A62[:35]
    _, found = redact(f"{token} {key} {token}")
    assert (found.secrets, sorted(found.kinds)) == (3, ["github-token", "google-api-key"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<private>x</private>", True),
        (" <private>x</private>\n\u200b<private>y</private>", True),
        ("<private>x", True),
        ("a <private>x", False),
        ("a", False),
        ("", False),
        ("[REDACTED]", False),
        ("ghp_" + A62[:36], False),
    ],
)
def test_only_private_is_told_from_partly_private(text: str, expected: bool) -> None:  # noqa: FBT001 - a table's column
    """The caller refuses the first and keeps the second."""
    assert is_only_private(text, redact(text)[0]) is expected


def test_a_secret_that_touches_another_goes_too() -> None:
    """It is a word of its own only once the other is gone."""
    token, hook = (
        "github_pat_" + A62[:22] + "_" + (A62 + A62)[:59],
        "https://hooks.slack.com/" + "services/T0/B0/" + A62,
    )
    assert redact(token + hook)[0] == "[REDACTED:github-token][REDACTED:slack-webhook]"


def test_secrets_that_touch_come_apart_in_few_rounds() -> None:
    """No chain of them needs a round each, which would make the time grow with the square."""
    examples = [*SHORT, "whsec_" + "A" * 30 + "=", "whsec_" + "A" * 128, "host=h;password=pw;", "npm_" + "A" * 36]
    for first, second in itertools.product(examples, repeat=2):
        text, rounds, taken = (first + second) * 4, 0, ["first"]
        while taken:
            text, taken = rules._one_round(text)
            rounds += 1
            assert rounds <= rules.ROUNDS_MAX // 2, (first, second)


def test_a_mark_is_no_secret() -> None:
    """Also where marks stand side by side, or in the place of a password, a token or an attribute."""
    places = "{0} {0}{0} a://b:{0}@c a://{0}@c host=h password={0} Authorization: Bearer {0} <private {0}> eyJ{0}"
    for mark in ("[REDACTED]", *(f"[REDACTED:{shape.kind}]" for shape in SHAPES)):
        text = places.format(mark)
        assert redact(text) == (text, NOTHING)


def repeats(pattern: Any, path: int = 1) -> Iterator[tuple[int, int]]:
    """(most rounds, choices with the repeats around it) of each repeat that can go back; a possessive one can not."""
    if isinstance(pattern, reader.SubPattern):
        for op, arguments in pattern:
            if op in {opcodes.MAX_REPEAT, opcodes.MIN_REPEAT}:
                low, high, body = arguments
                choices = path * (int(high) - int(low) + 1)
                yield int(high), choices
                yield from repeats(body, choices)
            else:
                yield from repeats(arguments, path)
    elif isinstance(pattern, tuple | list):
        for part in pattern:
            yield from repeats(part, path)


@pytest.mark.parametrize("pattern", [rules._TAG, *(shape.pattern for shape in SHAPES)])
def test_no_pattern_can_go_back_without_bound(pattern: re.Pattern[str]) -> None:
    """What is repeated without end is possessive, what can go back is short: hostile text costs linear time."""
    for most, choices in repeats(reader.parse(pattern.pattern, pattern.flags)):
        assert most <= 1000
        assert choices <= 1000


def test_a_pattern_that_could_go_back_without_bound_is_seen() -> None:
    """The reading above is no empty walk."""
    assert max(most for most, _ in repeats(reader.parse("(?:a|b(?=c+))d"))) > 1000
    assert max(choices for _, choices in repeats(reader.parse("(?:a{0,99}b){0,99}"))) == 100 * 100
    assert not list(repeats(reader.parse("(?:[^a]++b)*+")))


PIECES = st.sampled_from(
    [
        *SHORT,
        *HARMLESS,
        *(
            "<private>",
            "</private>",
            "<private ",
            "<private a='",
            "'",
            ">",
            "<",
            " ",
            "\n",
            "/",
            "@",
            ":",
            "x",
            "=",
            "-",
        ),
        *(literal for shape in SHAPES for literal in shape.literals),
    ]
)


@property_test
@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """What is stored passes through again at every edit."""
    once, _ = redact(text)
    assert redact(once) == (once, NOTHING)


@property_test
@given(st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    """No input raises, and text without a tag or a secret's shape stays."""
    shown, found = redact(text)
    assert found or shown == text
