"""Hostile logs, each a function that writes one, and what is to become of it."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hostile import frames, table
from hostile.table import Row
from support import logs

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
ID = "hostile"
CWD = "/work"

CORRUPT, TOO_LARGE = "corrupt", "larger than any that we read"
TOO_MUCH, TOO_LONG = "says more than we keep", "takes longer than we take"
TOO_MANY = "holds more than any that we read"


class Case(NamedTuple):
    """One log: how to write it into a root, and what is to become of it."""

    row: Row
    """Of the table; what becomes of it in words."""
    write: Callable[[Path], None]
    refused: str = ""
    """Part of the reason for which it can't be read; empty where it is answered."""
    messages: int = 0
    """How many the snapshot is made of, where it is answered."""
    is_listed: bool = True
    is_slow: bool = False
    """It takes much of the time that there is, and is asked for only once."""
    budget: bool = False
    """It is read, but does not fit any budget."""

    @property
    def name(self) -> str:
        """What there is in it."""
        return self.write.__name__.replace("_", " ")


def put(
    root: Path,
    *content: bytes | Iterable[bytes],
    zstd: bool = True,
    rows: Iterable[logs.Row] = (),
    session_id: str = ID,
) -> Path:
    """A log with an ordinary beginning, and that behind it."""
    path = logs.write_log(root, session_id, list(rows), cwd=CWD, zstd=zstd)
    with path.open("ab") as file:
        for each in content:
            file.writelines([each] if isinstance(each, bytes) else each)
    return path


def row(seq: int, row: logs.Row) -> bytes:
    """One line."""
    return logs.line(row if isinstance(row, bytes) else {"seq": seq, "time": seq, **row})


def rows(*written: Any) -> bytes:
    """A frame of some rows."""
    return frames.compressed(row(seq, each) for seq, each in enumerate(written))


def many(count: int, each: logs.Row, first: int = 0) -> Iterator[bytes]:
    """Very many lines that differ in their seq only."""
    before, after = row(-1, each).split(b"-1", 1)
    return (b"%b%d%b" % (before, seq, after) for seq in range(first, first + count))


Q = logs.user("q")
OPEN = b'{"type":"user/message","seq":%d,"time":1,"surfaceOp":"append","data":{"content":['
CLOSE = b'],"source":{"kind":"user"}}}\n'


def said(seq: int, *text: bytes) -> bytes:
    """A frame with a person's message, the JSON of whose text is given in pieces."""
    return frames.compressed([OPEN % seq, b'{"type":"text","text":"', *text, b'"}', CLOSE])


def record(*pieces: bytes) -> bytes:
    """A frame with one line, given in pieces."""
    return frames.compressed([*pieces, b"\n"])


# Decompression bombs


def a_bomb_that_declares_its_size(root: Path) -> None:
    put(root, frames.repeated(b"\0", 2 * GIB, declared=2 * GIB))


def a_bomb_that_does_not_declare_its_size(root: Path) -> None:
    put(root, frames.repeated(b"\0", 2 * GIB))


def a_bomb_of_line_feeds(root: Path) -> None:
    put(root, frames.repeated(b"\n", 2 * GIB))


def a_bomb_of_line_feeds_in_a_torn_frame(root: Path) -> None:
    put(root, rows(Q), frames.repeated(b"\n", GIB // 8, torn=True))


def an_endless_bomb_in_a_torn_frame(root: Path) -> None:
    put(root, rows(Q), frames.repeated(b"\n", 256 * GIB, torn=True))


def endless_lines_that_almost_end_a_turn(root: Path) -> None:
    lines = b'"turn/end"x\n' * (MIB // 12)
    put(root, rows(Q), frames.compressed((lines for _ in range(2048)), torn=True))


def a_first_line_of_two_gigabytes(root: Path) -> None:
    put(root).write_bytes(frames.repeated(b" ", 2 * GIB))


def a_conversation_of_a_quarter_of_a_gigabyte(root: Path) -> None:
    put(root, frames.compressed(many(256, logs.user("a" * MIB))))


def a_quarter_of_a_gigabyte_of_what_nobody_quotes(root: Path) -> None:
    call = {"type": "tool/call", "data": "a" * MIB}
    put(root, rows(Q), frames.compressed(many(256, call, first=1)))


# Records that are more in memory than on disk


def a_text_of_60_megabytes(root: Path) -> None:
    put(root, said(0, b"a" * 60 * MIB))


def a_text_that_one_emoji_makes_four_times_as_wide(root: Path) -> None:
    put(root, said(0, "😀".encode(), b"a" * 60 * MIB))


def a_text_that_escapes_make_six_times_as_long(root: Path) -> None:
    put(root, said(0, b"<" * 18 * MIB))


def a_text_of_lone_surrogates(root: Path) -> None:
    put(root, said(0, b"\\ud83d" * (MIB + 200 * KIB)))


def twelve_million_strings_in_a_packed_record(root: Path) -> None:
    head = b'{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,'
    put(root, record(head, b'"texts":["ab"', b',"ab"' * 12 * MIB, b'],"dt":[]}}'))


def ten_million_citations(root: Path) -> None:
    cited = [b'"sourceEventSeqs":[[0,0]', b",[0,0]" * 10 * MIB, b"],"]
    put(root, rows(Q), record(b"{", *cited, (OPEN % 1)[1:], CLOSE.rstrip()))


def two_million_blocks_in_a_message(root: Path) -> None:
    block = b'{"type":"text","text":"a"}'
    put(root, record(OPEN % 0, block, (b"," + block) * 2 * MIB, CLOSE.rstrip()))


def a_million_keys_in_a_record(root: Path) -> None:
    keys = b"".join(b',"%x":1' % number for number in range(MIB))
    put(root, record(b'{"type":"future/thing","seq":0,"time":1', keys, b"}"))


def one_key_very_often(root: Path) -> None:
    put(root, rows(Q), record(b'{"type":"future/thing","time":1', b',"seq":1' * 100_000, b"}"))


def a_title_of_60_megabytes(root: Path) -> None:
    put(root, rows(Q, logs.title("short"), logs.title("t" * 60 * MIB)))


def a_million_and_a_half_tool_calls(root: Path) -> None:
    calls = b"".join(b',{"type":"tool-call","id":"%x"}' % number for number in range(3 * MIB // 2))
    said = [(OPEN % 0).replace(b"user", b"assistant").replace(b'"data":', b'"data":{"message":')]
    put(root, record(*said, calls[1:], CLOSE.rstrip() + b"}"))


# Windows


def a_window_over_the_limit(root: Path) -> None:
    put(root, frames.start(window_log=31) + b"\1\0\0")


def a_frame_that_declares_more_than_there_is_in_the_world(root: Path) -> None:
    put(root, frames.MAGIC + b"\xe0" + (2**62).to_bytes(8, "little") + b"\1\0\0")


def a_window_of_128_megabytes(root: Path, session_id: str = ID) -> None:
    call = {"type": "tool/call", "data": os.urandom(2 * MIB).hex()}
    pieces = (row(seq, call if seq else Q) for seq in range(40))
    put(root, frames.compressed(pieces, window_log=27), session_id=session_id)


def everything_as_large_as_it_may_be(root: Path, session_id: str = ID) -> None:
    """A window, what is kept, and a record behind it."""
    call = b'{"type":"tool/call","seq":32,"time":1,"data":"%b"}\n' % (b"a" * 62 * MIB)
    pieces = list(many(32, logs.user("a" * (MIB // 4))))
    pieces += [call, call.replace(b":32,", b":33,"), call.replace(b":32,", b":34,")]
    put(root, frames.compressed(pieces, window_log=27), session_id=session_id)


# Lines


def a_line_of_two_gigabytes_in_a_sparse_file(root: Path) -> None:
    os.truncate(put(root, zstd=False, rows=[Q]), 2 * GIB)


def a_sparse_file_of_two_gigabytes(root: Path) -> None:
    path = put(root, zstd=False)
    os.truncate(path, 0)
    os.truncate(path, 2 * GIB)


def a_sparse_compressed_file_of_a_terabyte(root: Path) -> None:
    os.truncate(put(root, rows(Q)), TIB)


def a_compressed_line_of_two_gigabytes(root: Path) -> None:
    put(root, rows(Q), frames.repeated(b"a", 2 * GIB))


# Frames


def a_million_tiny_frames(root: Path) -> None:
    lines = many(1_000_000, b'{"type":"step/start","seq":-1}', first=1)
    put(root, rows(Q), map(frames.raw, lines))


def very_many_tiny_frames_of_messages(root: Path) -> None:
    put(root, map(frames.raw, many(600_000, logs.user("hi"))))


def a_million_empty_frames(root: Path) -> None:
    put(root, rows(Q), frames.raw(b"") * 1_000_000)


def a_frame_for_each_byte(root: Path) -> None:
    lines = b"".join(many(20_000, b'{"type":"step/start","seq":-1}', first=1))
    put(root, rows(Q), (frames.raw(bytes([byte])) for byte in lines))


def two_million_empty_blocks(root: Path) -> None:
    put(root, rows(Q), frames.empty_blocks(2_000_000))


# Depth


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def depth_where_it_is_looked_at(root: Path) -> None:
    put(root, record(OPEN % 0, deep(20_000), CLOSE.rstrip()))


def depth_where_nobody_looks(root: Path) -> None:
    call = b'{"type":"tool/call","seq":1,"time":1,"data":%b}' % deep(20_000)
    put(root, rows(Q), record(call))


def depth_in_the_first_line(root: Path) -> None:
    head = logs.line(logs.header(ID, cwd=CWD)).rstrip(b"}\n") + b',"x":%b}' % deep(20_000)
    put(root).write_bytes(record(head) + rows(Q))


def depth_in_a_title(root: Path) -> None:
    title = b'{"type":"session/title","seq":1,"time":1,"data":%b}' % deep(20_000)
    put(root, rows(Q), record(title))


def thirty_million_levels(root: Path) -> None:
    call = b'{"type":"tool/call","seq":1,"time":1,"data":'
    put(root, rows(Q), record(call, b"[" * 30 * MIB, b"]" * 30 * MIB, b"}"))


def depth_again_and_again(root: Path) -> None:
    call = b'{"type":"tool/call","seq":-1,"time":1,"data":%b}' % deep(20_000)
    put(root, rows(Q), frames.compressed(many(50, call, first=1)))


# Compactions


def replacing(first: int, last: int, cited: list[Any]) -> logs.Row:
    operation = {"op": "replace", "start": first, "end": last}
    return logs.checkpoint("c") | {"surfaceOp": operation, "sourceEventSeqs": cited}


def a_chain_of_compactions(root: Path) -> None:
    chain = (row(seq, replacing(seq - 1, seq - 1, [seq - 1])) for seq in range(1, 60_000))
    put(root, rows(Q), frames.compressed(chain))


def compactions_that_cite_all_that_was(root: Path) -> None:
    chain = (row(seq, replacing(seq - 1, seq - 1, list(range(seq)))) for seq in range(1, 2_500))
    put(root, rows(Q), frames.compressed(chain))


def a_compaction_of_each_message(root: Path) -> None:
    count = 40_000
    each = (row(count + seq, replacing(seq, seq, [[seq, seq]])) for seq in range(count))
    put(root, frames.compressed(many(count, Q)), frames.compressed(each))


def more_checkpoints_than_fit_anywhere(root: Path) -> None:
    put(root, frames.compressed(many(60_000, logs.checkpoint("c"))))


def seqs_with_one_hash(root: Path) -> None:
    """The numbers that Python's hash takes for one: a set of them is quadratic."""
    cited = [number * (2**61 - 1) for number in range(1, 100_000)]
    operation = {"surfaceOp": {"op": "replace", "start": 0, "end": 0}, "sourceEventSeqs": cited}
    put(root, rows(Q, logs.user("r") | operation))


def events_that_nobody_knows(root: Path) -> None:
    put(root, rows(Q), frames.compressed(many(60_000, b'{"type":"x","seq":-1}', first=1)))


CASES = [
    Case(table.BOMBS, a_bomb_that_declares_its_size, TOO_LARGE),
    Case(table.BOMBS, a_bomb_that_does_not_declare_its_size, TOO_LARGE),
    Case(table.BOMBS, a_compressed_line_of_two_gigabytes, TOO_LARGE),
    Case(table.BOMBS, a_first_line_of_two_gigabytes, TOO_LARGE, is_listed=False),
    Case(table.SPARSE, a_line_of_two_gigabytes_in_a_sparse_file, TOO_LARGE),
    Case(table.SPARSE, a_sparse_file_of_two_gigabytes, TOO_LARGE, is_listed=False),
    Case(table.SPARSE, a_sparse_compressed_file_of_a_terabyte, "is no zstandard frame"),
    Case(table.LINE_FEEDS, a_bomb_of_line_feeds, "a whole frame holds a bad record", is_slow=True),
    Case(table.LINE_FEEDS, a_bomb_of_line_feeds_in_a_torn_frame, messages=1, is_slow=True),
    Case(table.ENDLESS, an_endless_bomb_in_a_torn_frame, TOO_LONG, is_slow=True),
    Case(table.ENDLESS, endless_lines_that_almost_end_a_turn, TOO_LONG, is_slow=True),
    Case(table.TALK, a_conversation_of_a_quarter_of_a_gigabyte, TOO_MUCH),
    Case(table.TALK, very_many_tiny_frames_of_messages, TOO_MUCH, is_slow=True),
    Case(table.TALK, a_text_of_60_megabytes, TOO_MUCH),
    Case(table.TALK, a_text_that_one_emoji_makes_four_times_as_wide, TOO_MUCH),
    Case(table.UNQUOTED, a_quarter_of_a_gigabyte_of_what_nobody_quotes, messages=1, is_slow=True),
    Case(table.UNQUOTED, a_title_of_60_megabytes, messages=1),
    Case(table.UNQUOTED, one_key_very_often, messages=1),
    Case(table.UNQUOTED, events_that_nobody_knows, messages=1),
    Case(table.LONGER, a_text_that_escapes_make_six_times_as_long, messages=1),
    Case(table.ODD, a_text_of_lone_surrogates, "of an odd shape is larger"),
    Case(table.MANY, twelve_million_strings_in_a_packed_record, TOO_MANY),
    Case(table.MANY, ten_million_citations, TOO_MANY),
    Case(table.MANY, two_million_blocks_in_a_message, TOO_MANY),
    Case(table.MANY, a_million_keys_in_a_record, TOO_MANY),
    Case(table.MANY, a_million_and_a_half_tool_calls, TOO_MANY),
    Case(table.MANY, thirty_million_levels, TOO_MANY),
    Case(table.OVER, a_window_over_the_limit, "a frame of the log is damaged"),
    Case(table.OVER, a_frame_that_declares_more_than_there_is_in_the_world, "is damaged"),
    Case(table.LARGEST, a_window_of_128_megabytes, messages=1),
    Case(table.LARGEST, everything_as_large_as_it_may_be, messages=32, is_slow=True),
    Case(table.TINY, a_million_tiny_frames, messages=1, is_slow=True),
    Case(table.TINY, a_million_empty_frames, messages=1, is_slow=True),
    Case(table.TINY, a_frame_for_each_byte, messages=1, is_slow=True),
    Case(table.TINY, two_million_empty_blocks, messages=1),
    Case(table.DEEP, depth_where_nobody_looks, messages=1),
    Case(table.DEEP, depth_in_the_first_line, messages=1),
    Case(table.DEEP, depth_in_a_title, messages=1),
    Case(table.DEEP, depth_again_and_again, messages=1),
    Case(table.TOO_DEEP, depth_where_it_is_looked_at, "is not a list of blocks"),
    Case(table.CHAINS, a_chain_of_compactions, messages=1),
    Case(table.CHAINS, compactions_that_cite_all_that_was, messages=1),
    Case(table.NO_ROOM, a_compaction_of_each_message, budget=True),
    Case(table.NO_ROOM, more_checkpoints_than_fit_anywhere, budget=True),
    Case(table.ONE_HASH, seqs_with_one_hash, "cites one that is not earlier"),
]
