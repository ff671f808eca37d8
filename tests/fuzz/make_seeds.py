"""Make the seeds of every fuzzer anew, from the recorded cases, the golden frames and the roots.

`PYTHONPATH=tests python -m fuzz.make_seeds`. What a long run found is not among them: that becomes
tests.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from fuzz import rows
from fuzz.targets import TARGETS
from sessions import naive
from support import roots, vectors
from support.logs import frame

SEEDS = Path(__file__).with_name("seeds")
MAX_BYTES = 1_500
MAX_SEEDS = 40
GOLDEN = Path(__file__).parents[1] / "golden"

Seeds = Iterable[tuple[str, bytes]]


def golden() -> Iterator[tuple[str, bytes]]:
    for path in sorted(GOLDEN.glob("*.json")):
        yield path.stem, path.read_bytes().rstrip(b"\n")


CHANGES = (
    (b'"2.0"', b'"1.0"'),
    (b'"id":1', b'"id":null'),
    (b'"id":1', b'"id":1.0'),
    (b'"params":{', b'"params":[],"x":{'),
    (b'"params":{', b'"params":{},"params":{"deep":[[[[{}]]]],'),
    (b'"result":', b'"error":{"code":"x"},"result":'),
    (b'"method":"', b'"method":"\\ud83d'),
)


def payloads() -> Iterator[tuple[str, bytes]]:
    """Golden frames, and one of each kind with something wrong."""
    yield from golden()
    for place, (before, after) in enumerate(CHANGES):
        changed = (payload.replace(before, after) for _, payload in golden() if before in payload)
        yield f"changed {place}", next(changed)


def streams(prefix: bytes, separator: bytes, head: str) -> Iterator[tuple[str, bytes]]:
    """Golden frames one after another, and each with what is put before it."""
    frames = [payload for _, payload in golden() if len(payload) < 200]
    framed = [head.format(len(payload)).encode() + payload for payload in frames]
    for name, some in (("one", framed[:1]), ("three", framed[1:4]), ("all", framed[:7])):
        yield name, prefix + separator.join(some)
        yield f"{name} and an end", prefix + separator.join((*some, b""))
        yield f"{name} behind a mark", prefix + b"\xef\xbb\xbf" + separator.join(some)
        yield f"{name} behind garbage", prefix + b"x: y" + separator + separator.join(some)


def mentions() -> Iterator[tuple[str, bytes]]:
    for kind in ("mentions", "uri"):
        for case in vectors.load(kind)["cases"]:
            text = case["params"].get("text", case["params"].get("uri"))
            if text is not None:
                yield case["name"], text.encode("utf-8", "surrogatepass")


def logs() -> Iterator[tuple[str, bytes, bytes, int]]:
    """The logs of all roots: a name, the file as one of zstandard frames, its lines, its format."""
    with tempfile.TemporaryDirectory() as folder:
        for archive in roots.NAMES:
            root = roots.unpack(archive, Path(folder))
            for path in sorted(root.rglob("session*.jsonl*")):
                found = re.fullmatch(r"session(?:\.v([1-9]))?\.jsonl(\.zstd)?", path.name)
                if found is None or not path.is_file():
                    continue
                file = path.read_bytes()
                content = lines_in(file) if found[2] else file
                file = file if found[2] else frame([content])
                generation = int(found[1] or 0)
                if content and generation < len(rows.HEADERS):
                    name = f"{archive} {path.parents[1].name} {path.parent.name}"
                    yield name, file, content.split(b"\n", 1)[-1], generation


def lines_in(file: bytes) -> bytes:
    """What the whole frames hold that precede any damage."""
    content = b""
    while file:
        reader = zstandard.ZstdDecompressor().decompressobj()
        try:
            content += reader.decompress(file)
        except zstandard.ZstdError:
            break
        file = reader.unused_data
    return content


def marked(lines: bytes, generation: int) -> bytes:
    """Lines with marks for those seqs that are the next ones anyway."""
    log = naive.Log(generation)
    written = []
    for line in lines.split(b"\n"):
        general = rows.marked(line)
        written.append(general if general.replace(b"#", b"%d" % log.seq) == line else line)
        try:
            log.take(line)
        except (naive.BadError, naive.RefusedError, RecursionError):
            log.seq += 1
    return b"\n".join(written)


def frames() -> Iterator[tuple[str, bytes]]:
    for name, file, _, _ in logs():
        yield name, b"\x80" + file


def records() -> Iterator[tuple[str, bytes]]:
    """One line of each type and spelling, in each generation."""
    seen = set()
    for _, _, lines, generation in logs():
        for line in marked(lines, generation).split(b"\n"):
            try:
                row = json.loads(line.replace(b"#", b"0"))
            except (ValueError, RecursionError):
                continue
            if not isinstance(row, dict):
                continue
            shape = generation, str(row.get("type")), *sorted(row), str(row.get("surfaceOp"))[:6]
            if shape not in seen:
                seen.add(shape)
                yield f"v{generation} {row.get('type')} {len(seen)}", bytes((generation, 2)) + line


def folds() -> Iterator[tuple[str, bytes]]:
    for name, _, lines, generation in logs():
        yield name, bytes((generation, 60, 120, 180, 128, 1)) + marked(lines, generation)


def chosen(seeds: Seeds) -> dict[str, bytes]:
    """A spread of small seeds, each content once, by names that any file system takes."""
    small: dict[bytes, str] = {}
    for name, seed in seeds:
        if len(seed) <= MAX_BYTES:
            small.setdefault(seed, re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50])
    picked = list(small.items())
    step = max(1, len(picked) / MAX_SEEDS)
    spread = [picked[int(place * step)] for place in range(min(MAX_SEEDS, len(picked)))]
    return {f"{place:02}-{name}": seed for place, (seed, name) in enumerate(spread)}


def main() -> None:
    made: dict[str, Seeds] = {
        "lines": streams(b"\xff\x20\x80\xc0", b"\n", ""),
        "content-length": streams(b"\xff\x20\x80\xc0", b"\r\n", "Content-Length: {}\r\n\r\n"),
        "codec": payloads(),
        "mentions": mentions(),
        "frames": frames(),
        "records": records(),
        "fold": folds(),
    }
    assert made.keys() == TARGETS.keys()
    for target, seeds in made.items():
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, seed in chosen(seeds).items():
            (folder / name).write_bytes(seed)


if __name__ == "__main__":
    main()
