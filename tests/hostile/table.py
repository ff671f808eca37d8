"""What hostile logs and places become, and what they may cost: the table of `SECURITY.md`.

Tests say which row each cost is of. Another test holds the table of the document against the rows.
"""

from typing import NamedTuple

MAX_BYTES = 256 * 2**20
MAX_SECONDS = 10.0


class Row(NamedTuple):
    """One row: what there is, what becomes of it, and the test that shows it."""

    what: str
    becomes: str
    test: str


_LOGS = "test_hostile_logs.py::test_a_hostile_log_costs_no_more_than_its_bounds"
_PLACES = "test_hostile_places.py::test_"

BOMBS = Row(
    "2 GiB in 70 KB: a size that is declared or not, one line, a first line",
    "refused at a record of 64 MiB",
    _LOGS,
)
SPARSE = Row(
    "sparse files of 2 GiB and 1 TiB",
    "refused at a record of 64 MiB, or as no frame",
    _LOGS,
)
LINE_FEEDS = Row(
    "2 GiB of line feeds; 128 MiB in a torn frame",
    "refused; what precedes a torn frame is answered",
    _LOGS,
)
ENDLESS = Row(
    "256 GiB of line feeds, or of lines that must be looked at, in a torn frame",
    "refused after 6 s of a processor",
    _LOGS,
)
TALK = Row(
    "256 MiB of conversation, 600,000 messages in a frame each, a text of 60 MiB",
    "refused at 80 MiB in memory",
    _LOGS,
)
UNQUOTED = Row(
    "256 MiB of tool calls, a title of 60 MiB, 60,000 unknown events, a key 100,000 times",
    "answered",
    _LOGS,
)
LONGER = Row("a text that takes six times as much in JSON", "answered, cut to its budget", _LOGS)
ODD = Row(
    "a record of lone surrogates that takes much care", "refused at 8 MiB of such a record", _LOGS
)
MANY = Row(
    "a record of a million strings, citations, blocks, keys, tool calls or levels",
    "refused at 524,288 of them",
    _LOGS,
)
OVER = Row(
    "a window of 2 GiB; a frame of 4 EiB", "refused before any memory is taken for it", _LOGS
)
LARGEST = Row(
    "a window of 128 MiB, with records and texts around it as large as they may be",
    "answered",
    _LOGS,
)
TINY = Row(
    "a million tiny frames, a million empty ones, a frame a byte, two million empty blocks",
    "answered",
    _LOGS,
)
DEEP = Row("20,000 levels of nesting in a first line, a title, 50 tool calls", "answered", _LOGS)
TOO_DEEP = Row("20,000 levels where a message has its text", "refused at 512", _LOGS)
CHAINS = Row(
    "60,000 compactions of each other; 2,500 that cite all that was before", "answered", _LOGS
)
NO_ROOM = Row(
    "40,000 compactions of a message each, 60,000 checkpoints",
    "refused, since no budget has room for them (`-32015`)",
    _LOGS,
)
ONE_HASH = Row("100,000 seqs with one hash", "refused: they are not of the log", _LOGS)
WINDOWS = Row(
    "three logs at once, each with a window of 128 MiB",
    "answered, one after another",
    "test_hostile_logs.py::test_large_windows_are_read_one_after_another",
)
AFTER = Row(
    "the largest of these logs behind one of 60 MiB of conversation, again and again",
    "answered, in no more memory",
    "test_hostile_logs.py::test_what_was_read_before_leaves_room_for_what_is_read_next",
)

IDS = Row(
    "ids that spell ways out of the root, or much else",
    "`not_found`",
    _PLACES + "an_id_leads_nowhere_but_to_its_own_folder",
)
HEADERS = Row(
    "headers that name another place",
    "not listed, refused (`corrupt`)",
    _PLACES + "a_header_is_believed_only_in_the_place_that_it_names",
)
NAMES = Row(
    "names of folders that are no text, or deceive",
    "passed over",
    _PLACES + "names_of_folders_are_only_names",
)
LINKS_TO_LOGS = Row(
    "a link to a log outside of the root",
    "answered if its header names the place of the link",
    _PLACES + "a_link_is_followed_to_a_log_whose_header_names_the_place_of_the_link",
)
LINKS_TO_OTHERS = Row(
    "a link to another log",
    "not listed, refused (`corrupt`)",
    _PLACES + "a_link_to_another_log_is_not_followed",
)
LINKS_TO_NONE = Row(
    "a link to itself, a password file, a pipe, a device, the process's own memory",
    "not listed, refused (`io` or `corrupt`), nothing waited for",
    _PLACES + "a_link_to_what_is_no_log_leads_nowhere",
)
LINKS_TO_FOLDERS = Row(
    "a link to a folder, outside of the root or around it",
    "`not_found`",
    _PLACES + "links_to_folders_are_no_folders",
)
NO_FILES = Row(
    "a folder, pipe, socket or device in a log's place",
    "not listed, refused (`io`), nothing waited for",
    _PLACES + "only_regular_files_are_read_and_nothing_is_waited_for",
)
OF_OTHERS = Row(
    "files and folders of others",
    "not listed, refused (`denied`)",
    _PLACES + "what_others_do_not_show_is_denied",
)

TABLE = (
    *(BOMBS, SPARSE, LINE_FEEDS, ENDLESS, TALK, UNQUOTED, LONGER, ODD, MANY, OVER, LARGEST),
    *(TINY, DEEP, TOO_DEEP, CHAINS, NO_ROOM, ONE_HASH, WINDOWS, AFTER),
    *(IDS, HEADERS, NAMES, LINKS_TO_LOGS, LINKS_TO_OTHERS, LINKS_TO_NONE, LINKS_TO_FOLDERS),
    *(NO_FILES, OF_OTHERS),
)


class Cost(NamedTuple):
    """Of a process and those that it began."""

    peak: int
    """Bytes of memory: the most at any time, of the one that took most."""
    seconds: float
    """Of processors, of all together."""

    def charge(self, row: Row) -> None:
        """Put it down in the table, and see that it is within the bounds."""
        so_far = measured.get(row, Cost(0, 0.0))
        measured[row] = Cost(max(so_far.peak, self.peak), max(so_far.seconds, self.seconds))
        assert self.peak <= MAX_BYTES
        assert self.seconds <= MAX_SECONDS


measured: dict[Row, Cost] = {}
"""The most that anything of a row has cost in this run."""


def markdown() -> list[str]:
    """The lines of the table; what was measured is told as in this run."""
    lines = [
        "| what | what becomes of it | peak | seconds | test |",
        "|---|---|---:|---:|---|",
    ]
    for row in TABLE:
        cost = measured.get(row, Cost(0, 0.0))
        figures = f"{cost.peak / 2**20:.0f} MiB | {cost.seconds:.1f}"
        lines.append(f"| {row.what} | {row.becomes} | {figures} | `tests/hostile/{row.test}` |")
    return lines
