"""Foreign text in Markdown, as renderers have it: CommonMark, GitHub's and editors' dialects."""

import html
import itertools
import re
from collections.abc import Callable, Iterator

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessionref.lsp import markdown, preview
from sessionref.reference.glance import Glance
from sessionref.reference.projection import Item
from sessionref.reference.retention import Stats
from sessionref_protocol.errors import ErrorKind, RpcError

HOSTILE = [
    "![pixel](http://evil.example/p.png)",
    "[here](javascript:alert(1)) [x]: http://evil.example [x]",
    "<img src=x onerror=alert(1)> <script>x</script> <!-- x --> <?x?> <![CDATA[x]]>",
    "<http://evil.example> <a@evil.example> &lt;b&gt; &#60;b&#62; &amp;lt;",
    "http://evil.example https://evil.example/?a=b&c ftp://evil.example HTTP://EVIL.EXAMPLE",
    "www.evil.example evil.example //evil.example mailto:a@evil.example xmpp:a@evil.example/b",
    "a@evil.example a.b-c_d@evil.example @@evil.example a@@b.c a`@`b@c.d \\@evil.example a\\@b.cd",
    "# heading",
    "heading\n=======",
    "heading\n---",
    "> quote",
    "- item",
    "+ item",
    "* [ ] task",
    "1. item",
    "1) item",
    "123456789. item",
    "2024.",
    "***",
    "---",
    "___",
    "    code",
    "\tcode",
    "```js\nfence\n```",
    "~~~\nfence\n~~~",
    "`code` ``co`de``",
    "*a* **b** ***c*** _d_ __e__ ~~f~~ ==g== ^h^ ~i~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "[^1] [^1]: note $x$ $$y$$ :smile: $(flame) {#id} [[wiki]] %%comment%%",
    "a\u202eb \u200bhttp\u200b://evil.example a\u2028# b\x0b# c\x85# d\x00<b>",
    "\\<b> \\\\<b> \\[x](y) \\\\[x](y) \\",
    "trailing  ",
    "**",
    "a **",
    "…",
    "command:workbench.action file:///etc/passwd vscode://x data:text/html,<b>",
]

PIECES = st.sampled_from(
    [
        *"\\`*_{}[]()#+-.!|~$^@<>&;:/=\"'\n\r\t ab1中😀\u00a0\u200b\ud83d",
        "http://",
        "www.",
        "evil.example",
        "a@b.cd",
        "mailto:",
        "xmpp:",
        "](",
        "![",
        "<b>",
        "&lt;",
        "12. ",
        "```",
        "    ",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=30)


def tokens(found: list[Token]) -> Iterator[Token]:
    for token in found:
        yield token
        yield from tokens(token.children or [])


def markdown_it(preset: str) -> Callable[[str], str]:
    """HTML of our paragraphs; anything but text in them fails."""
    parser = MarkdownIt(preset, {"html": True})

    def render(source: str) -> str:
        kinds = {token.type for token in tokens(parser.parse(source))}
        assert kinds <= {
            "paragraph_open",
            "paragraph_close",
            "inline",
            "text",
            "code_inline",
            "strong_open",
            "strong_close",
        }
        rendered: str = parser.render(source)
        return rendered

    return render


def github(source: str) -> str:
    rendered: str = cmarkgfm.github_flavored_markdown_to_html(source, Options.CMARK_OPT_UNSAFE)
    return rendered


RENDERERS = {
    "commonmark": markdown_it("commonmark"),
    "markdown-it": markdown_it("default"),
    "with links": markdown_it("gfm-like"),
    "github": github,
}
EACH = pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
Render = Callable[[str], str]


def shown(rendered: str) -> list[str]:
    """What stands in each paragraph. Fails where there is any tag but those of our own making."""
    paragraphs = re.findall(r"<p>(.*)</p>\n", rendered)
    assert "".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs) == rendered
    plain = [re.sub(r"<code>(@+)</code>", r"\1", paragraph) for paragraph in paragraphs]
    assert not re.search(r"<(?!/?strong>)", "".join(plain))
    return plain


def as_text(paragraph: str) -> str:
    assert "<" not in paragraph
    return html.unescape(paragraph)


def check(foreign: str, render: Render) -> None:
    expected = markdown.shortened(foreign, 400)
    source = markdown.text(foreign, 400)
    assert "\n" not in source
    assert [as_text(each) for each in shown(render(source))] == ([expected] if expected else [])


@EACH
@pytest.mark.parametrize("foreign", HOSTILE)
def test_what_looks_like_markup_is_text(render: Render, foreign: str) -> None:
    check(foreign, render)
    for before, after in itertools.product(("x", "x ", ""), ("y", " y", "")):
        check(before + foreign + after, render)


@EACH
@given(foreign=TEXTS)
def test_any_text_is_text(render: Render, foreign: str) -> None:
    check(foreign, render)


def glance(title: str, cwd: str | None, *items: Item) -> Glance:
    return Glance(
        title=title,
        cwd=cwd,
        created_at=0,
        last_activity_at=None,
        messages=len(items),
        exchange=items,
        kept=Stats(
            compacted=False,
            original_messages=1,
            retained_messages=1,
            omitted_messages=0,
            omitted_bytes=0,
            truncated=False,
        ),
        size=7,
        degraded=None,
    )


@EACH
@given(title=TEXTS, cwd=TEXTS, asked=TEXTS, answered=TEXTS)
def test_a_preview_is_our_words_and_foreign_text(
    render: Render, title: str, cwd: str, asked: str, answered: str
) -> None:
    items = Item.of("user", asked), Item.of("assistant", answered)
    content = preview.content(glance(title, cwd, *items), 86_400.0, as_markdown=True)
    assert content.kind == lsp.MarkupKind.Markdown

    def line(text: str, limit: int) -> str:
        return markdown.shortened(text, limit)

    expected = [
        f"<strong>{line(title, 160)}</strong>",
        f"{line(cwd, 160)} · begun 1 day ago · 2 messages",
        f"<strong>User:</strong> {line(asked, 400)}",
        f"<strong>Agent:</strong> {line(answered, 400)}",
        "A snapshot would keep all of it, 7 bytes.",
    ]
    if not line(title, 160):
        del expected[0]
    found = [html.unescape(each).strip() for each in shown(render(content.value))]
    assert found == [each.strip() for each in expected]


@EACH
@given(message=TEXTS)
def test_a_failure_is_text(render: Render, message: str) -> None:
    error = RpcError(ErrorKind.READ_FAILED, message)
    content = preview.content(error, 0.0, as_markdown=True)
    expected = markdown.shortened(message, 160)
    found = [as_text(each) for each in shown(render(content.value))]
    assert found == ([expected] if expected else [])
