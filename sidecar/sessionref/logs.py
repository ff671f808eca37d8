"""Where log lines go: stderr or a file, quiet by default, and never in anybody's way.

A host that never reads our stderr must not stop us, so lines go through an outlet of their own
and are dropped when it is full. A log line never holds transcript text, and nothing that could
deceive whoever reads it: paths and ids come from elsewhere (contract, section 6; field note 36).
"""

import asyncio
import logging
import os
from types import TracebackType
from typing import Any, Final

from sessionref_protocol.display import printable

from .config import Config
from .faults import told
from .ownfile import open_own
from .stdio import Outlet

_log: Final = logging.getLogger(__name__)

_APPEND: Final = os.O_WRONLY | os.O_APPEND
_MAX_QUEUED_BYTES: Final = 1 << 20


class _OutletHandler(logging.Handler):
    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def emit(self, record: logging.LogRecord) -> None:
        if self._outlet.queued < _MAX_QUEUED_BYTES:
            line = self.format(record) + "\n"
            self._outlet.write(line.encode("utf-8", "backslashreplace"))


class _Formatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (its name there)
        return printable(super().formatMessage(record))

    def formatException(  # noqa: N802 (its name there)
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return "" if ei[1] is None else "\n".join(map(printable, told(ei[1]).split("\n")))


def configure(config: Config) -> Outlet:
    """Send the program's log where the configuration says; needs a running event loop.

    Raises OSError where the log file cannot be opened.
    """
    outlet = Outlet(2 if config.log_file is None else open_own(config.log_file, _APPEND))
    handler = _OutletHandler(outlet)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    asyncio.get_running_loop().set_exception_handler(_heed)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sessionref").setLevel(config.log_level.upper())
    return outlet


def _heed(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody else caught. The loop's own words would show the error, and so what it says."""
    _log.error("Internal error: %s", context["message"], exc_info=context.get("exception"))
