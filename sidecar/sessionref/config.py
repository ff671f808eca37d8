"""One frozen configuration and the one table of limits, read once and passed explicitly.

Nothing here reads files or knows the wire. Sources: the contract, section 6 (`config`, rule 9).
"""

from typing import Final

import msgspec

KIB: Final = 1024
MIB: Final = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Every bound of the program, in one place; `initialize` answers with this table."""

    max_line_bytes: int = 64 * MIB
    """One frame on the wire, in bytes without its line feed."""
    max_requests_in_flight: int = 1024
    max_queued_output_bytes: int = 256 * MIB
    eof_drain_seconds: int = 30
    """How long requests in flight may go on after the end of the input."""
    max_record_bytes: int = 64 * MIB
    """One line of a session log, decompressed."""
    max_zstd_window_bytes: int = 128 * MIB
    max_nesting: int = 512
    """Depth of JSON in the parts of a record that we look at."""
    max_concurrent_reads: int = 8
    """Blocking reads that run at one time, in worker threads."""
    max_abandoned_reads: int = 32
    """Reads that were cancelled and have not come back; beyond it new reads are refused."""


LIMITS: Final = Limits()
