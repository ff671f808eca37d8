"""What is said in generated sessions: prose in several scripts with emoji, and output of tools.

Made once from a seed and then only sliced, so that 500 MB of log cost seconds. Everything is kept
twice, as it reads and as it stands in JSON (non-ASCII raw, as the field's writers leave it). Knows
no rows.
"""

import json
from functools import cache
from random import Random
from typing import Final, NamedTuple

_ENGLISH: Final = (
    "the a to of in is it that for on with as this be are not you can we file test error line "
    "code change function value type build run add fix check config token cache request server "
    "client index query thread lock session message write read parse because should would after "
    "before instead otherwise already missing wrong value returns raises failing passing pending "
    "loading login billing shipping pricing searching rendering migration endpoint handler schema "
    "database column transaction retry timeout deploy branch commit review module import export "
    "package version upgrade deprecated parameter argument default optional nullable boolean"
)
_CHINESE: Final = (
    "我们 需要 先 修复 这个 登录 问题 然后 再 运行 测试 因为 配置 文件 已经 改变 数据库 迁移 失败 "
    "请 检查 缓存 是否 过期 接口 返回 错误 用户 会话 消息 的 了 在 把 函数 参数 类型 不 正确 可以"
)
_JAPANESE: Final = (
    "まず ログイン の 不具合 を 修正 して から テスト を 実行 します 設定 ファイル が 変更 された "
    "ため エラー に なります キャッシュ と セッション を 確認 して ください データベース"
)
_OTHERS: Final = (
    "сначала исправим ошибку входа затем запустим тесты "
    "먼저 로그인 오류를 고치고 테스트를 실행합니다"
)
_EMOJI: Final = ("✅", "🚀", "😀", "⚠️", "🐛", "👩‍💻", "🎉", "🔥")

_SENTENCES: Final = 6_000
_LINES: Final = 6_000
_TITLES: Final = 2_000
_GAPS: Final = 4_096


class Words(NamedTuple):
    """Ready-made text. Slices of `tokens` join to prose, slices of `lines` to tool output."""

    tokens: list[str]
    """Prose, cut as a model streams it: a few characters each."""
    quoted_tokens: list[str]
    """The same as JSON strings."""
    escaped_tokens: list[str]
    """The same as JSON strings without their quotes, which join to one."""
    lines: list[str]
    """Lines of tool output, escaped, without quotes and line feeds."""
    titles: list[str]
    """Titles as JSON strings."""
    gaps: list[str]
    """Milliseconds between two deltas."""


def quoted(text: str) -> str:
    """A JSON string as the field's writers spell it."""
    return json.dumps(text, ensure_ascii=False)


@cache
def words(seed: int) -> Words:
    """The text of all sessions of one seed."""
    random = Random(seed)
    tokens = _tokens(random)
    quoted_tokens = [quoted(token) for token in tokens]
    return Words(
        tokens=tokens,
        quoted_tokens=quoted_tokens,
        escaped_tokens=[token[1:-1] for token in quoted_tokens],
        lines=[quoted(_tool_line(random))[1:-1] for _ in range(_LINES)],
        titles=[quoted(_title(random)) for _ in range(_TITLES)],
        gaps=[str(int(random.expovariate(1 / 20))) for _ in range(_GAPS)],
    )


def _tokens(random: Random) -> list[str]:
    tokens: list[str] = []
    for _ in range(_SENTENCES):
        sentence = _sentence(random)
        start = 0
        while start < len(sentence):
            width = random.randint(2, 7) if sentence[start].isascii() else random.randint(1, 2)
            tokens.append(sentence[start : start + width])
            start += width
    return tokens


def _sentence(random: Random) -> str:
    kind = random.random()
    length = random.randint(5, 24)
    if kind < 0.68:
        sentence = " ".join(_some(random, _ENGLISH, length)).capitalize() + ". "
    elif kind < 0.80:
        sentence = "".join(_some(random, _CHINESE, length)) + "。"
    elif kind < 0.88:
        sentence = "".join(_some(random, _JAPANESE, length)) + "。"
    elif kind < 0.93:
        sentence = " ".join(_some(random, _OTHERS, length)) + ". "
    else:
        name, value = _some(random, _ENGLISH, 2)
        sentence = f"\n\n```python\ndef {name}(x):\n\treturn x['{value}'] < {length}\n```\n"
    if random.random() < 0.1:
        sentence += random.choice(_EMOJI) + " "
    return sentence + ("\n\n" if random.random() < 0.1 else "")


def _tool_line(random: Random) -> str:
    one, two, three = _some(random, _ENGLISH, 3)
    number = random.getrandbits(32)
    match random.randrange(6):
        case 0:
            return f"src/{one}/{two}.py:{number % 900}: error: {three} {one} is not {two}"
        case 1:
            return f"2026-03-0{number % 9 + 1}T10:{number % 60:02}:07Z INFO {one} id={number:08x}"
        case 2:
            return f'    {{"{one}": {number}, "{two}": "{three}", "ok": true}},'
        case 3:
            return f"{number % 5000:6}\t    if {one}.{two}({three!r}) < {number % 97}:"
        case 4:
            return f"\x1b[32mPASSED\x1b[0m tests/{one}/test_{two}.py::test_{three}"
        case _:
            return "".join(_some(random, _CHINESE, 8)) + f" {one}: {number % 1000}"


def _title(random: Random) -> str:
    kind = random.random()
    if kind < 0.7:
        title = " ".join(_some(random, _ENGLISH, random.randint(2, 6))).capitalize()
    elif kind < 0.95:
        title = "".join(_some(random, _CHINESE, random.randint(2, 6)))
    else:
        title = "ok"
    return title + (" " + random.choice(_EMOJI) if random.random() < 0.1 else "")


def _some(random: Random, words: str, count: int) -> list[str]:
    return random.choices(words.split(), k=count)
