"""A root of known sessions, and an editor on it that the tests of one module share."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import logs
from support.editor import Editor

HOSTILE = (
    "look ![pixel](http://evil.example/p.png) [here](javascript:alert(1)) <img src=x onerror=y>\n"
    "# heading\n```js\nfence\n``` www.evil.example https://evil.example a@evil.example *bold* `c`"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions of /work/a and /work/b: best first `login`, `other one`, then `hostile`."""
    made = tmp_path_factory.mktemp("root")
    now = int(time.time() * 1000)
    hour = 3_600_000
    talk = [logs.user("fix the login"), logs.assistant("done"), logs.title("Fix login 页面")]
    logs.write_log(made, "login", talk, cwd="/work/a", created_at=now - 2 * hour)
    logs.write_log(made, "other one", [logs.user("q")], cwd="/work/a", created_at=now - 50 * hour)
    hostile = [logs.user(HOSTILE), logs.assistant("</b>"), logs.title("<b>[x](y)")]
    logs.write_log(made, "hostile", hostile, cwd="/work/b", created_at=now - 5 * hour)
    path = logs.write_log(made, "broken", [logs.user("q")], cwd="/work/c", created_at=1)
    log = path.read_bytes()
    path.write_bytes(log[:-1] + bytes([log[-1] ^ 1]))
    return made


@pytest.fixture(scope="module")
def editor(root: Path) -> Iterator[Editor]:
    """An editor with one document open; each test writes it anew."""
    with Editor(root) as started:
        started.open("")
        yield started
