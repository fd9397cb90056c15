"""Shapes of secrets that are known with high precision: prose, hashes and UUIDs match none of them.

Each pattern begins with a literal where it can, which is looked for first. Repeats are bounded or possessive, so the
time is linear. A shape looks at both its neighbours or at neither: taking one out then frees at most the next one, and
no chain of secrets can be built that comes apart one round at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = r"[A-Za-z0-9_-]"
_BEFORE = rf"(?<!{_WORD})"
_AFTER = rf"(?!{_WORD})"
# `your-access-token`: words of one case without a digit stand for a secret, they are none.
_NO_WORDS = rf"(?!(?:(?:[a-z]{{1,20}}[-_.]){{2,20}}[a-z]{{1,20}}|(?:[A-Z]{{1,20}}[-_.]){{2,20}}[A-Z]{{1,20}}){_AFTER})"
_MARK = r"\[REDACTED(?::[a-z-]{1,40})?\]"
_UNMARKED = r"(?!\[REDACTED[\]:])"  # what is taken begins with no mark: a second time, nothing is


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. Where its pattern has a group, that part alone is taken out."""

    kind: str
    literals: tuple[str, ...]  # one of them stands in every match, in this case
    pattern: re.Pattern[str]


def _shape(kind: str, literals: str, pattern: str) -> Shape:
    return Shape(kind, tuple(literals.split(" ")), re.compile(pattern))


def _token(kind: str, heads: str, rest: str) -> Shape:
    """A word of its own that begins with one of the heads."""
    literals = [re.escape(head) for head in heads.split(" ")]
    # The head before what may not precede it: the engine then jumps from head to head.
    begins = "|".join(rf"{literal}(?<!{_WORD}{literal})" for literal in literals)
    return _shape(kind, heads, rf"(?:{begins})(?:{rest}){_AFTER}")


_KEY_LABEL = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)"  # also as JSON and shells escape it
# A header that is only spoken of has none of these behind it.
_KEY_FOLLOWS = rf"(?=[A-Za-z0-9+/]|[ \t]*+{_BREAK}|\s*+[A-Za-z0-9+/]{{16}})"
_KEY_CLOSED = rf"(?:(?!-----)[\s\S]){{0,20000}}+-----END {_KEY_LABEL}"
# Cut off: the lines that can belong to it, which are long, alone in their line, or headers.
_KEY_CUT = (
    r"(?:(?:[\s>|]|\\{1,4}[rn])*+[A-Za-z0-9+/=]{16,}+"
    rf"|{_BREAK}[ \t>|]*+[A-Za-z0-9+/=]++(?=[ \t]*+(?:[\r\n\"'`\\]|\Z))"
    rf"|{_BREAK}[ \t>|]*+(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{{0,200}}+{_BREAK}?)++"
)

# A Discord token begins with a number of 17 to 19 digits in base64: each three digits are such four letters.
_DISCORD_ID = r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}+[A-Za-z0-9]{0,3}"


def _written(end: str) -> str:
    """That what follows is no stand-in for a password: our own mark, or up to the end a variable or stars."""
    names = r"\$\{[^}\s]{1,64}\}|\$[A-Z_][A-Z0-9_]{0,63}|\{\{?[^}]{1,64}\}\}?|%s|%\(\w{1,64}\)s|\*{1,64}"
    return rf"{_UNMARKED}(?!(?:{names}){end})"


_PASSWORD_KEY = r"(?i:password|pwd) ?=(?!=) ?"  # noqa: S105 - the name of a field
_VALUE_END = r"(?:[;\s\"'`]|\Z)"
_PASSWORD_VALUE = rf"{_written(_VALUE_END)}([^\s;,\"'`()<>]{{1,128}}+)(?={_VALUE_END})"
_HOST_KEY = r"\b(?i:host|hostaddr|server|data source) ?=(?!=)"


def _pairs(key: str) -> str:
    """The pairs between two keys of a connection string, up to the next of the first key: each is read once.

    A comma and a space part the arguments of a call, which is none.
    """
    return rf"(?:(?!{key}|, )[^\n\"'`()<>]){{0,200}}?[; \t]"


SHAPES: tuple[Shape, ...] = (
    _shape("private-key", "PRIVATE", rf"-----BEGIN {_KEY_LABEL}{_KEY_FOLLOWS}(?:{_KEY_CLOSED}|{_KEY_CUT})"),
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),
    _shape(
        "aws-secret-key",
        "ecret ECRET",
        r"(?i:aws.{0,20}?secret.{0,20}?|secret_?access_?key)[\"']?\s{0,5}[:=]{1,2}>?\s{0,5}[\"']?"
        r"(?![0-9a-f]{40})([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,251}"),
    _token("github-token", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glptt-",
        rf"{_NO_WORDS}[A-Za-z0-9_-]{{20,300}}+(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?",
    ),
    _token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe.xoxb- xoxe.xoxp- xapp-",
        rf"{_NO_WORDS}[A-Za-z0-9-]{{10,250}}",
    ),
    _shape(
        "slack-webhook", "hooks.slack.com", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,120}"
    ),
    _shape(
        "discord-webhook",
        "discord",
        r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{40,100}",
    ),
    _shape(
        "discord-token",
        "MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz",
        rf"{_BEFORE}{_DISCORD_ID}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,45}}{_AFTER}",
    ),
    _token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[A-Za-z0-9]{16,247}"),
    _token("stripe-webhook-secret", "whsec_", r"[A-Za-z0-9+/]{24,128}={0,2}"),
    _token("anthropic-key", "sk-ant-", rf"[a-z0-9]{{2,12}}-{_NO_WORDS}[A-Za-z0-9_-]{{20,200}}"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin-", rf"{_NO_WORDS}[A-Za-z0-9_-]{{20,250}}"),
    _token("openai-key", "sk-", r"[A-Za-z0-9]{32,64}"),
    _token("openrouter-key", "sk-or-v1-", r"[0-9a-f]{64}"),
    _token("google-api-key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _token("google-oauth", "ya29.", rf"{_NO_WORDS}[A-Za-z0-9_-]{{30,1000}}"),
    _token("google-oauth-secret", "GOCSPX-", r"[A-Za-z0-9_-]{28}"),
    _token("npm-token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgE", r"[A-Za-z0-9_-]{50,1000}"),
    _token("huggingface-token", "hf_", r"[A-Za-z0-9]{34}"),
    _token("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("twilio-key", "SK", r"[0-9a-f]{32}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),
    _shape(
        "azure-storage-key",
        "AccountKey= AccessKey=",
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43}(?:[A-Za-z0-9+/]{43}=)?=)",
    ),
    _token("vault-token", "hvs. hvb.", rf"{_NO_WORDS}[A-Za-z0-9_-]{{24,500}}"),
    _token("linear-key", "lin_api_", r"[A-Za-z0-9]{40}"),
    _token("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _token("doppler-token", "dp.pt. dp.st.", r"(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _token("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    _shape("telegram-token", ":AA", rf"(?:(?<=/bot)|{_BEFORE})[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_AFTER}"),
    _token("engram-token", "eng_", r"[A-Za-z0-9_-]{43}"),
    _token("jwt", "eyJ", r"[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+"),
    _shape(
        "bearer-token",
        "earer EARER",
        r"(?i:authorization[\"'\]]{0,3}\s{0,5}[:=]\s{0,5}[bf]?[\"'`]?bearer)\s{1,5}"
        rf"{_NO_WORDS}([A-Za-z0-9._~+/-]{{20,}}+={{0,2}})",
    ),
    # Up to the last `@` of what may be a password: an unescaped one in it is common, and drivers take it.
    _shape(
        "connection-password",
        "://",
        rf"://(?<=[A-Za-z0-9]://)(?:{_MARK}|[^\s:/@\"'`<>\[\]]){{0,128}}+:"
        rf"(?!\d{{1,5}}[?#]){_written('@')}([^\s/\"'`<>]{{1,255}})@[^\s/@]",
    ),
    _shape(
        "connection-password",
        "assword ASSWORD wd WD",
        rf"{_HOST_KEY}{_pairs(_HOST_KEY)}{_PASSWORD_KEY}{_PASSWORD_VALUE}",
    ),
    _shape(
        "connection-password",
        "assword ASSWORD wd WD",
        rf"\b{_PASSWORD_KEY}{_PASSWORD_VALUE}(?={_pairs(_PASSWORD_KEY)}{_HOST_KEY})",
    ),
)
