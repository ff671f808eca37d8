"""The faults that the program is put through, and what each may do: the table of `SECURITY.md`.

A test is marked with the row that it `shows`, and takes exit codes and bounds from it; another one
holds the table of the document and the tests that there are against the rows.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

PROMPT = 5
"""Seconds, on a busy machine; what was measured is told at the end of a run."""

CHOKED = 15
"""Seconds: two for the host to take its last answers, one for the index, and some for the machine.
"""


class Fault(NamedTuple):
    """One row."""

    what: str
    answers: str
    codes: tuple[int, ...] = ()
    """Of the exit; none where the process stays. It ends as it should in any case, later on."""
    seconds: int = PROMPT
    """How long after the fault it may still be there."""

    @property
    def exit(self) -> str:
        """The exit code in words."""
        return " or ".join(map(str, self.codes)) or "stays"

    @property
    def within(self) -> str:
        """The bound in words."""
        return f"{self.seconds} s" if self.codes else "–"


HOST_KILLED = Fault("the host is killed", "nobody is left to be answered", (1,))
HOST_KILLED_SIBLING = Fault(
    "the host is killed while a sibling process holds both pipes",
    "nobody is left to be answered",
    (1,),
)
STDIN_CLOSED = Fault(
    "stdin is closed in the midst of a line or a frame",
    "what was whole; the rest with `-32700` (line) or `-32600` (frame)",
    (0,),
)
STDOUT_CLOSED = Fault("stdout is closed", "nobody is left to be answered", (1,))
STDERR_UNREAD = Fault("stderr is never read", "everything")
STDOUT_UNREAD = Fault(
    "300 MB of answers are never read, then SIGTERM",
    "256 MiB wait, the rest is `-32000`",
    (0,),
    CHOKED,
)
STDOUT_UNREAD_EOF = Fault(
    "300 MB of answers are never read, then the end of stdin",
    "256 MiB wait for 30 s, the rest is `-32000`",
    (0,),
    30 + CHOKED,
)
SIGTERM = Fault(
    "SIGTERM at a random moment", "all that was read: its answer, or `-32802`", (0,), CHOKED
)
SIGINT = Fault(
    "SIGINT at a random moment", "all that was read: its answer, or `-32802`", (130,), CHOKED
)
SIGKILL = Fault(
    "SIGKILL at a random moment",
    "nothing wrong, nothing twice",
    (-9,),
)
KILLED_AT_LARGE = Fault(
    "SIGKILL while a process of its own helps to read a large log",
    "nothing; that process goes, too",
    (-9,),
)
HELPER_KILLED = Fault("a process of its own is killed", "everything")
SUSPENDED = Fault(
    "suspended and resumed (SIGSTOP, SIGCONT)", "everything; cancels and deadlines hold"
)
CLOCK_SET = Fault("the clock is set back or forward", "everything, no state of a log missed")
NO_DESCRIPTORS = Fault(
    "out of file descriptors while running",
    "reads `-32014` (`io`, may be retried), lists incomplete; then everything again",
)
NO_DESCRIPTORS_AT_START = Fault(
    "out of file descriptors from the start",
    "the same, or `-32603`; or it does not start",
    (0, 1, 127),
)
CACHE_FULL = Fault("the cache disk is full", "everything; the log says so once")
CACHE_REMOVED = Fault("the cache is removed while running", "everything; it is made again")
ROOT_REMOVED = Fault(
    "a root is removed while running, and put back",
    "lists without it, reads `-32014` (`not_found`); then everything again",
)
ROOT_UNREADABLE = Fault(
    "a root is made unreadable while running, and restored",
    "lists without it, reads `-32014` (`denied`); then everything again",
)
LOG_APPENDED = Fault("a log is appended to while it is read", "as it was; then as it is")
LOG_TRUNCATED = Fault("a log is truncated while it is read", "as it is")
LOG_REPLACED = Fault("a log is replaced while it is read", "as it is")
LOG_REWRITTEN = Fault("a log is written anew in its place while it is read", "as it is")
LOG_MOVED_ON = Fault(
    "a log moves to its next generation while it is read", "as it was; then as it is"
)
LOG_DELETED = Fault("a log is deleted while it is read", "as it was; then `not_found`")
LOG_FORBIDDEN = Fault("a log is made unreadable while it is read", "as it was; then `denied`")
LOGS_WRITTEN = Fault(
    "logs are appended to, torn, cut, replaced and moved on all the time",
    "one state each, never older than the one before; or `changed`",
)

TABLE = (
    HOST_KILLED,
    HOST_KILLED_SIBLING,
    STDIN_CLOSED,
    STDOUT_CLOSED,
    STDERR_UNREAD,
    STDOUT_UNREAD,
    STDOUT_UNREAD_EOF,
    SIGTERM,
    SIGINT,
    SIGKILL,
    KILLED_AT_LARGE,
    HELPER_KILLED,
    SUSPENDED,
    CLOCK_SET,
    NO_DESCRIPTORS,
    NO_DESCRIPTORS_AT_START,
    CACHE_FULL,
    CACHE_REMOVED,
    ROOT_REMOVED,
    ROOT_UNREADABLE,
    LOG_APPENDED,
    LOG_TRUNCATED,
    LOG_REPLACED,
    LOG_REWRITTEN,
    LOG_MOVED_ON,
    LOG_DELETED,
    LOG_FORBIDDEN,
    LOGS_WRITTEN,
)

shown: set[Fault] = set()
"""The rows that have a test."""

times: dict[Fault, list[float]] = {}
"""Seconds from the fault to the end of the process, as they were in this run."""


def shows(*faults: Fault) -> Callable[[Test], Test]:
    """Marks a test with the rows that it shows."""
    shown.update(faults)
    return lambda test: test


def markdown() -> list[str]:
    """The lines of the table."""
    return [
        "| what happens | what is answered | exit code | gone within |",
        "|---|---|---|---:|",
        *(f"| {row.what} | {row.answers} | {row.exit} | {row.within} |" for row in TABLE),
    ]
