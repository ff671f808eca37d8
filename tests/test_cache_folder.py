"""Where the index is kept on each system, unless somebody says where."""

import os
from pathlib import Path

import pytest

from sessionref.config import default_cache_folder


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {}, "~/.cache/sessionref"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/sessionref"),
        ("linux", {"XDG_CACHE_HOME": "x"}, "~/.cache/sessionref"),
        ("linux", {"XDG_CACHE_HOME": ""}, "~/.cache/sessionref"),
        ("darwin", {}, "~/Library/Caches/sessionref"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/x/sessionref"),
        ("linux", {"SESSIONREF_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/x"}, "/own"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/sessionref/Cache"),
        ("win32", {"LOCALAPPDATA": "/local", "SESSIONREF_CACHE_DIR": "/own"}, "/own"),
    ],
)
def test_the_folder(
    platform: str,
    environ: dict[str, str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = default_cache_folder(environ, platform)
    assert found == expected.replace("~", str(tmp_path)).replace("/", os.sep)
