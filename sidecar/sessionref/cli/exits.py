"""The exit codes of all commands: one table, which the help shows and the README repeats.

Of an error it knows whether there was time enough; what is told of it is the command's concern.
"""

import enum

from sessionref_protocol.errors import ErrorKind, RpcError


class Exit(enum.IntEnum):
    """Every code that a command of ours ends with, and what it means."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "Exit":
        """A row of the table."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    DONE = 0, "Done. `serve`: after `shutdown` and `exit`, at the end of stdin, or at SIGTERM."
    FAILED = 1, "Not done; stderr says why. `serve`: after `exit` alone, or when the host is gone."
    USAGE = 2, "A bad option, argument or environment variable."
    LATE = 3, "Not everything could be read within `--wait` seconds; what could is shown."
    INTERRUPTED = 130, "Ctrl-C, or another SIGINT."


def exit_code(error: RpcError) -> Exit:
    """The code of a command whose one question was answered with an error."""
    return Exit.LATE if error.kind is ErrorKind.TIMED_OUT else Exit.FAILED


def table() -> str:
    """The table as the help shows it."""
    rows = (f"  {code:3}  {code.meaning.replace('`', '')}" for code in Exit)
    return "exit codes:\n" + "\n".join(rows) + "\n"
