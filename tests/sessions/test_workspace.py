"""Whether two recorded directories mean the same workspace."""

import os
import subprocess
from pathlib import Path

import pytest

from sessionref.sessions.home import archived_sessions
from sessionref.sessions.workspace import Workspaces


def same(one: str | Path, other: str | Path, renamed: dict[str, str] | None = None) -> bool:
    workspaces = Workspaces()
    first = workspaces.identity(str(one), renamed or {})
    return first == workspaces.identity(str(other), renamed or {})


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("spelling", ["{}/", "{}/.", "{}/src/..", "{}//", "/.{}"])
def test_spellings_of_one_folder(shop: Path, spelling: str) -> None:
    assert same(shop, spelling.format(shop))
    assert not same(shop, spelling.format(shop) + "/src")


def test_a_symbolic_link_is_what_it_leads_to(shop: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shop)
    assert same(link / "src", shop / "src")
    assert not same(link, tmp_path)


def test_a_folder_that_is_gone_is_compared_by_its_path(shop: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shop)
    assert same(shop / "gone" / "deep", link / "gone" / "." / "deep/")
    assert not same(shop / "gone", shop / "Gone")
    assert not same(shop / "gone", shop)


def test_a_worktree_is_its_main_checkout(shop: Path, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=shop, check=True, capture_output=True)

    git("init", "--quiet")
    (shop / "src" / "kept").write_text("x")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    tree = tmp_path / "tree"
    git("worktree", "add", "--quiet", str(tree))
    assert same(tree, shop)
    assert same(tree / "src", shop / "src")
    assert not same(tree, shop / "src")


def test_a_submodule_is_a_workspace_of_its_own(shop: Path) -> None:
    private = shop / ".git" / "modules" / "part"
    private.mkdir(parents=True)
    part = shop / "part"
    part.mkdir()
    (part / ".git").write_text("gitdir: ../.git/modules/part\n")
    assert not same(part, shop)


@pytest.mark.parametrize("pointer", ["", "gitdir:", "gitdir: /nowhere\n", "\udcff"])
def test_a_git_file_that_leads_nowhere_is_no_error(shop: Path, pointer: str) -> None:
    (shop / ".git").write_bytes(os.fsencode(pointer))
    assert same(shop, f"{shop}/")


def test_renamed_roots(shop: Path, tmp_path: Path) -> None:
    former = {str(tmp_path / "old"): str(shop), str(tmp_path / "old" / "part"): str(tmp_path)}
    assert same(tmp_path / "old", shop, former)
    assert same(tmp_path / "old" / "src", shop / "src", former)
    assert same(tmp_path / "old" / "part" / "shop", shop, former)
    assert not same(tmp_path / "older", shop, former)
    assert not same(tmp_path / "old", shop)


def test_paths_of_another_system() -> None:
    assert same("C:\\Users\\a", "c:/users/A/")
    assert not same("C:\\a", "D:\\a")
    assert not same("C:\\a", "/a")


@pytest.mark.parametrize("path", ["", ".", "relative/x", "\0", "/\0", "/\ud800"])
def test_a_path_that_no_folder_can_have_is_no_error(path: str) -> None:
    assert same(path, path)
    assert not same(path, "/somewhere/else")


class TestArchived:
    @staticmethod
    def root(tmp_path: Path, text: str | None) -> str:
        storages = tmp_path / "storages"
        storages.mkdir()
        if text is not None:
            (storages / "workspace.json").write_text(text)
        return str(tmp_path / "sessions")

    def test_ids_that_the_home_says(self, tmp_path: Path) -> None:
        root = self.root(tmp_path, '{"global":{"archivedSessionIds":["a","\\ud800"],"x":1}}')
        assert archived_sessions(root) == {"a", "\ud800"}

    @pytest.mark.parametrize("text", [None, "", "{", '{"global":{"archivedSessionIds":[1]}}'])
    def test_nothing_where_it_cannot_be_read(self, tmp_path: Path, text: str | None) -> None:
        assert archived_sessions(self.root(tmp_path, text)) is None

    def test_a_fifo_is_not_waited_for(self, tmp_path: Path) -> None:
        root = self.root(tmp_path, None)
        os.mkfifo(tmp_path / "storages" / "workspace.json")
        assert archived_sessions(root) is None
