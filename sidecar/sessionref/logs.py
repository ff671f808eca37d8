"""Where log lines go: stderr or a file, quiet by default, and never in anybody's way.

A host that never reads our stderr must not stop us, so lines go through an outlet of their own
and are dropped when it is full. A log line never holds transcript text (contract, section 6;
field note 36).
"""

import logging
import os
from typing import Final

from .config import Config
from .stdio import Outlet

_MAX_QUEUED_BYTES: Final = 1 << 20


class _OutletHandler(logging.Handler):
    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def emit(self, record: logging.LogRecord) -> None:
        if self._outlet.queued < _MAX_QUEUED_BYTES:
            line = self.format(record) + "\n"
            self._outlet.write(line.encode("utf-8", "backslashreplace"))


def configure(config: Config) -> Outlet:
    """Send the program's log where the configuration says; needs a running event loop.

    Raises OSError where the log file cannot be opened.
    """
    outlet = Outlet(2 if config.log_file is None else _open(config.log_file))
    handler = _OutletHandler(outlet)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sessionref").setLevel(config.log_level.upper())
    return outlet


def _open(path: str) -> int:
    """Private to the user, and never through somebody else's symbolic link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)
