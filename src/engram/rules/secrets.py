"""Shapes of secrets that are known with high precision: prose, hashes and UUIDs match none of them.

Every pattern begins with a literal, which is looked for first, and repeats within bounds: the time is linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BEFORE = r"(?<![A-Za-z0-9_-])"
_AFTER = r"(?![A-Za-z0-9_-])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. ``group`` is the part that is taken out; 0 is all."""

    kind: str
    literals: tuple[str, ...]  # one of them stands in every match, in this case
    pattern: re.Pattern[str]
    group: int = 0


def _shape(kind: str, literals: str, body: str, *, group: int = 0) -> Shape:
    return Shape(kind, tuple(literals.split(" ")), re.compile(body), group)


def _token(kind: str, literals: str, body: str) -> Shape:
    return _shape(kind, literals, f"{_BEFORE}(?:{body}){_AFTER}")


_KEY_LINES = r"(?:(?!-----)[A-Za-z0-9+/=\s:,.\\-]){0,20000}"

SHAPES: tuple[Shape, ...] = (
    _shape(
        "private-key",
        "PRIVATE",
        rf"-----BEGIN (?:[A-Z0-9]{{1,20}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----{_KEY_LINES}"
        r"(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _shape(
        "aws-secret-key",
        "ecret ECRET",
        r"(?i:aws.{0,20}?secret.{0,20}?|secret_?access_?key)[\"']?\s{0,5}[:=]{1,2}>?\s{0,5}[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        group=1,
    ),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,251}"),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token("gitlab-token", "glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,64}"),
    _token("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xapp-", r"(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,250}"),
    _shape(
        "slack-webhook", "hooks.slack.com", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,120}"
    ),
    _shape(
        "discord-webhook",
        "discord",
        r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{40,100}",
    ),
    _token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}"),
    _shape("stripe-webhook-secret", "whsec_", rf"{_BEFORE}whsec_[A-Za-z0-9+/]{{24,128}}={{0,2}}(?![A-Za-z0-9+/=])"),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,200}"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,250}"),
    _token("openai-key", "T3BlbkFJ", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    _token("openai-key", "sk-", r"sk-(?=[A-Za-z]{0,47}[0-9])(?=[a-z0-9]{0,47}[A-Z])[A-Za-z0-9]{48}"),
    _token("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _token("google-api-key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth", "ya29.", r"ya29\.[A-Za-z0-9_-]{30,500}"),
    _token("google-oauth-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _token("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{34}"),
    _token("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _shape("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)", group=1),
    _token("vault-token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,250}"),
    _token("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _token("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _token("doppler-token", "dp.pt. dp.st.", r"dp\.[ps]t\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _shape("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _token("telegram-token", ":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    _token("engram-token", "eng_", r"eng_[A-Za-z0-9_-]{43}"),
    _token("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000}"),
    _shape(
        "bearer-token",
        "earer EARER",
        r"(?i:authorization[\"']?\s{0,5}[:=]\s{0,5}[\"']?bearer)\s{1,5}([A-Za-z0-9._~+/-]{20,4000}={0,2})",
        group=1,
    ),
    _shape(
        "connection-password",
        "://",
        r"\b[a-z][a-z0-9+.-]{1,30}://[^\s:/@\"'<>\[\]]{0,128}:([^\s:/@\"'<>\[\]][^\s/@\"'<>]{0,255})@[^\s/@]",
        group=1,
    ),
)
