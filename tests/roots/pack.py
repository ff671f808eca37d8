"""Pack session roots into the archives beside this script: `pack.py FOLDER…`.

Each FOLDER becomes `<its name>.tar.gz`, byte for byte the same on every run: sorted members, no
times, no owners. A folder that was copied through something without symbolic links holds small
files in their place, or nothing; `LINKS` says what they were. `.gitkeep` marks an empty folder.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent

LINKS = {
    "corrupt": {
        "207-symlinked-project-directory/--linked--": (
            "../207-symlinked-project-directory-elsewhere"
        ),
        "208-symlinked-session-directory/--w--/alias": "healthy",
        "209-symlinked-session-file/--w--/victim/session.jsonl.zstd": "real.bin",
        "210-dangling-session-file/--w--/victim/session.jsonl.zstd": "nowhere.bin",
    }
}
"""Archive name -> path inside it -> what the symbolic link there points to."""


def members(folder: Path) -> list[tuple[str, Path | None, str | None]]:
    """`(path, file, link)` of everything in the archive; a folder has neither file nor link."""
    links = dict(LINKS.get(folder.name, {}))
    found: dict[str, tuple[Path | None, str | None]] = {".": (None, None)}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            links.setdefault(name, str(path.readlink()))
        elif path.is_dir():
            found[name] = (None, None)
        elif path.name != ".gitkeep":
            found[name] = (path, None)
    for name, target in links.items():
        for parent in Path(name).parents:
            found.setdefault(parent.as_posix(), (None, None))
        found[name] = (None, target)
    return [(name, *found[name]) for name in sorted(found)]


def pack(folder: Path) -> bytes:
    """The archive of one folder."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, file, link in members(folder):
            info = tarfile.TarInfo(folder.name if name == "." else f"{folder.name}/{name}")
            if link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, link
                archive.addfile(info)
            elif file is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            else:
                content = file.read_bytes()
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def main(folders: list[str]) -> None:
    for folder in map(Path, folders):
        (HERE / f"{folder.resolve().name}.tar.gz").write_bytes(pack(folder.resolve()))


if __name__ == "__main__":
    main(sys.argv[1:])
