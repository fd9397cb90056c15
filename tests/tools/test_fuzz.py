"""Any query is safe: 2,000 random and hand-picked ones bring no error but the contract's."""

from __future__ import annotations

import random

from engram.engine.context import Context
from engram.engine.memories import Where, remember
from engram.engine.worker import embed_waiting
from engram.model import Draft
from engram.tools import mem, registry

SEED = 20261201
QUERIES = 2_000
HAND_PICKED = (
    '"', "'", '""', '"unbalanced', 'a"b', "a'b", "fix AND auth", "NOT", "OR OR", "NEAR(a b, 2)", "title:auth", "{title body}: x", "^start",
    "a*", "*", "-minus", "+plus", "(", ")", "()", "[x]", "a:b:c", "multi-agent", "/etc/passwd", "C:\\temp\\x", "%", "_", "%s %d {0}", "${x}",
    "'; drop table memory; --", "1=1", "\\", "\\'", ":name", "::", "a & b | !c", "a:*", "<-> x", "\t\n\r", "   ", "", "...", "?!",
    "😀", "👩‍👩‍👧‍👦", "🇩🇪", "库", "数据", "数据库连接", "デ", "データ", "한국", "ไทย", "ភាសា", "हिन्दी", "שלום עולם", "مرحبا بالعالم", "\u202eabc",
    "İstanbul", "ǅ", "ﬁx", "e\u0301" * 50, "\u0301", "\ufeff", "\u200b", "\u2028", "a\x00b", "\x00", "\ud800", "x\udfffy", "\x1b[31m",
    "x" * 10_000, "x" * 10_001, "ab " * 3_333, "数" * 10_000, "😀" * 5_000, "a.b" * 3_000, "aB" * 5_000, "1.2.3.4.5.6.7.8.9" * 100, "#1", "#999",
    "#1@Personal", "#1@nobody", "01234567-89ab-7def-8123-456789abcdef", "decision/auth", "who is it", "the", "N+1", "C++", "C#", ".NET", "@user",
)  # fmt: skip
ALPHABETS = (
    "abcdefghij ", "\"'`*:^(){}[]-+~/\\|&!<>=;,.?%$#@ \t\n", "éàüßøñçİıſ", "数据库连接池超时", "あいアイ漢字", "한국어 단어", "ไทยภาษา", "אבגד", "ابجد",
    "😀👍🏽🇫🇷\u200d", "\u0300\u0301\u0302", "0123456789.-", "\x00\x01\x1f\x7f\u2028\ufffe", "\ud800\udc00\udfff", "ABCdefGHI_",
)  # fmt: skip


def random_query(dice: random.Random) -> str:
    """A query of one to four alphabets, mostly short."""
    letters = "".join(dice.choice(ALPHABETS) for _ in range(dice.randint(1, 4)))
    return "".join(dice.choice(letters) for _ in range(dice.choice((1, 2, 3, 8, 20, 60, 200))))


def test_no_query_brings_an_error_but_the_contracts(ctx: Context) -> None:
    """Blank, NUL, surrogates and too long are `invalid`; everything else is answered, and the store is unharmed."""
    for title, body in (("Auth middleware", "JWT in src/auth.py"), ("部署", "使用Redis缓存数据库"), ("ไทย", "ภาษาไทย")):
        remember(ctx, Draft(title=title, body=body), Where())
    dice = random.Random(SEED)
    queries = [*HAND_PICKED, *(random_query(dice) for _ in range(QUERIES - len(HAND_PICKED)))]
    refused = 0
    for query in queries:
        answer = registry.call(registry.TOOLS["mem_search"], ctx, {"query": query})
        if answer.is_error:
            assert answer.code == "invalid", (query[:80], answer.text)
            refused += 1
        else:
            assert answer.text.startswith(("Found ", "No memories found for: "))
    assert mem.mem_search
    assert 0 < refused < len(queries) // 2
    for number, question in ((1, "JWT auth middleware"), (2, "数据库缓存"), (3, "ภาษาไทย")):
        answer = registry.call(registry.TOOLS["mem_search"], ctx, {"query": question})
        assert f"[1] #{number} " in answer.text


def test_the_same_call_gives_the_same_answer(ctx: Context) -> None:
    """Equal scores are ordered by id, so nothing jumps between two calls."""
    for i in range(12):
        remember(ctx, Draft(title=f"Note {i}", body="the cache is warm"), Where())
    while embed_waiting(ctx.engine):  # what a search embeds itself in its 300 ms depends on the machine
        pass
    call = {"query": "is the cache warm", "limit": 20}
    answers = {registry.call(registry.TOOLS["mem_search"], ctx, call).text for _ in range(4)}
    assert len(answers) == 1
