"""What is measured must be what people have: generated logs are valid, alike, and as asked for."""

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest
import zstandard

from benchmarks import floor, plots, table
from benchmarks.corpus import KB, Corpus, Session, Shape, append_turn, corpus
from benchmarks.measure import Pairs
from support.requests import AGENT, prepare
from support.roots import SidecarAt
from support.sidecar import Sidecar

MIXED = Shape(sessions=40, median=50 * KB, large=(500 * KB,))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus(MIXED, tmp_path_factory.mktemp("mixed"))


def rows_of(log: Path) -> list[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(
        log.read_bytes(), read_across_frames=True
    ) as reader:
        return reader.read().splitlines(keepends=True)


def frames_of(log: Path) -> list[bytes]:
    content, raw = [], log.read_bytes()
    while raw:
        frame = zstandard.ZstdDecompressor().decompressobj()
        content.append(frame.decompress(raw))
        raw = frame.unused_data
    return content


def snapshot_of(sidecar: Sidecar, session: Session) -> tuple[dict[str, Any], str]:
    """The reference to a session, and the text of its snapshot."""
    context = sidecar.call("prepare", prepare(session.id))["additionalContext"]
    return context["source"]["references"][0], context["content"][0]["text"]


def test_equal_shapes_give_equal_bytes(mixed: Corpus, tmp_path: Path) -> None:
    again = corpus(MIXED, tmp_path)
    assert again.sessions == mixed.sessions
    assert [log.read_bytes() for log in again.logs()] == [log.read_bytes() for log in mixed.logs()]


def test_another_seed_gives_other_sessions(mixed: Corpus, tmp_path: Path) -> None:
    other = corpus(msgspec.structs.replace(MIXED, sessions=1, large=(), seed=2), tmp_path)
    assert other.sessions[0].id != mixed.sessions[0].id


def test_a_corpus_that_is_there_is_not_made_again(mixed: Corpus) -> None:
    log = mixed.logs()[0]
    before = log.stat()
    assert corpus(MIXED, mixed.root.parent.parent) == mixed
    assert log.stat() == before


def test_sizes_are_logical_and_as_asked_for(mixed: Corpus) -> None:
    sizes = [session.size for session in mixed.sessions]
    assert sizes == [sum(map(len, rows_of(log))) for log in mixed.logs()]
    assert 35 * KB < median(sizes) < 75 * KB
    assert 500 * KB <= sizes[-1] < 550 * KB


def test_most_bytes_are_stream_deltas_and_tool_results(mixed: Corpus) -> None:
    sizes: Counter[str] = Counter()
    for log in mixed.logs():
        for row in rows_of(log):
            sizes[msgspec.json.decode(row)["type"]] += len(row)
    deltas = ("assistant/chunk", "text-chunks", "reasoning-chunks", "tool/result")
    assert 0.70 < sum(sizes[kind] for kind in deltas) / sizes.total() < 0.82


def test_a_live_writer_flushes_small_frames_of_whole_rows(mixed: Corpus) -> None:
    frames = [frame for log in mixed.logs() for frame in frames_of(log)]
    assert len(frames) == sum(session.frames for session in mixed.sessions)
    assert all(frame.endswith(b"\n") for frame in frames)
    assert 600 < sum(map(len, frames)) / len(frames) < 800


def test_frames_are_like_those_of_the_field(mixed: Corpus) -> None:
    parameters = zstandard.get_frame_parameters(mixed.logs()[0].read_bytes()[:18])
    assert parameters.has_checksum
    assert parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN
    assert parameters.window_size == 2**21


def test_one_event_a_frame_means_that(tmp_path: Path) -> None:
    made = corpus(Shape(large=(20 * KB,), writing="event"), tmp_path)
    (session,) = made.sessions
    frames = frames_of(made.log(session))
    assert {frame.count(b"\n") for frame in frames} == {1}
    assert len(frames) == session.frames == session.events + 1


def test_the_program_lists_and_reads_all_of_it(mixed: Corpus, sidecar_at: SidecarAt) -> None:
    sidecar = sidecar_at(mixed.root)
    found = sidecar.call("listCandidates", {"agent": AGENT, "limit": 100})["candidates"]
    assert {each["sessionId"] for each in found} == {each.id for each in mixed.sessions}
    assert {each["cwd"] for each in found if "cwd" in each} == {
        each.cwd for each in mixed.sessions if each.cwd
    }
    assert not [each for each in found if each["label"] == each["sessionId"]]
    assert not [each for each in found if "degraded" in each]
    told = [snapshot_of(sidecar, session) for session in mixed.sessions]
    assert [reference["capturedThroughSeq"] for reference, _ in told] == [
        session.events - 1 for session in mixed.sessions
    ]
    assert set("的テи🚀") <= set("".join(text for _, text in told))


def test_some_large_sessions_are_compacted(tmp_path: Path) -> None:
    made = corpus(Shape(sessions=6, median=1_500 * KB, spread=0.1), tmp_path)
    with Sidecar(roots=[made.root]) as sidecar:
        told = [snapshot_of(sidecar, session)[0]["compacted"] for session in made.sessions]
    assert {True, False} == set(told)


def test_a_copy_grows_by_one_frame_of_one_turn(mixed: Corpus, tmp_path: Path) -> None:
    session = mixed.sessions[0]
    before = mixed.log(session).read_bytes()
    alone = mixed.alone(session, tmp_path)
    grown = append_turn(alone, append_turn(alone, session))
    assert grown == Session(
        id=session.id,
        cwd=session.cwd,
        path=session.path,
        size=sum(map(len, rows_of(alone.log(session)))),
        frames=session.frames + 2,
        events=session.events + 6,
    )
    with Sidecar(roots=[alone.root]) as sidecar:
        reference, _ = snapshot_of(sidecar, session)
    assert reference["capturedThroughSeq"] == grown.events - 1
    assert mixed.log(session).read_bytes() == before


def test_the_floor_counts_every_line_of_every_log(mixed: Corpus) -> None:
    assert floor.count_lines(mixed.logs()) == sum(len(rows_of(log)) for log in mixed.logs())


def test_a_row_says_whether_it_is_what_was_wanted() -> None:
    taken = Pairs([0.030, 0.020, 0.040], [0.010, 0.010, 0.016])
    assert taken.ratio == 2.5
    met, missed = table.row("a", taken, table.times(3)), table.row("b", taken, table.at_most(0.01))
    assert table.markdown(met) == "| a | 30 ms | 10 ms | 2.50 | ≤ 3 x |"
    assert table.markdown(missed) == "| b | 30 ms | 10 ms | 2.50 | ≤ 10 ms **missed** |"


def test_what_grows_tenfold_a_decade_is_a_straight_line() -> None:
    plot = plots.Plot("size", "a < b", "bytes")
    points = [table.Point("size", "s", 10.0**power, 10.0 ** (power - 6)) for power in (3, 4, 5)]
    drawn = ET.fromstring(plots.svg(plot, points))
    (line,) = drawn.iter("{http://www.w3.org/2000/svg}polyline")
    (x0, y0), (x1, y1), (x2, y2) = (
        map(float, pair.split(",")) for pair in line.attrib["points"].split()
    )
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert x0 < x1
    assert y0 > y1
